"""Rows as a folder of Parquet files, which the executors write."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import msgspec

from ragworthy.report.part import Column, Voice
from ragworthy.report.write import batch, columns_of, schema_of

_MANY = 20_000
"""So many rows are written at once."""


def write_rows(session: Any, uri: str, rows: Iterable[dict[str, Any]], suites: Sequence[Voice]) -> None:
    """Hand rows to the executors, which write them in this order. Spark shows the folder once all of it is there."""
    from pyspark.sql.pandas.types import from_arrow_schema

    own, schema = columns_of(suites), schema_of(suites)
    encode, left = msgspec.json.Encoder().encode, iter(rows)
    packed = []
    while some := list(islice(left, _MANY)):
        packed.append((encode(some),))
    cores = max(session.sparkContext.defaultParallelism, 1)
    handed = session.sparkContext.parallelize(packed, max(1, min(len(packed), cores)))
    frame = session.createDataFrame(handed, "rows binary")
    frame.mapInArrow(_task(own, schema), from_arrow_schema(schema)).write.mode("errorifexists").parquet(uri)


def _task(own: Sequence[Column], schema: Any) -> Callable[[Iterable[Any]], Iterator[Any]]:
    def task(batches: Iterable[Any]) -> Iterator[Any]:
        for some in batches:
            for packed in some.column("rows"):
                yield batch(msgspec.json.decode(packed.as_py()), own, schema)

    return task
