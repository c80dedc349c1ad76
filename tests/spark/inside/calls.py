"""What Python gives with a session of its own: prints one JSON object. The first argument is the gold set, the second
its traces; the folder they are in is /logs of the file system viewfs://eval, which only Hadoop knows.
"""

import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from pyarrow import parquet
from pyspark.sql import SparkSession

import ragworthy as rw
from ragworthy.spark import session

HERE = "viewfs://eval/logs"


def error(**given: Any) -> str:
    """The first line of what is wrong."""
    try:
        rw.score("answers", **given)
    except (rw.RagworthyError, TypeError) as wrong:
        return str(wrong).splitlines()[0]
    return "nothing"


def score(engine: Any = "local", **given: Any) -> rw.Result:
    """A score of answers."""
    return rw.score("answers", engine=engine, **given)


def main() -> None:
    session._LEAST = 2048
    mount = f"file://{Path.cwd()}"
    name = "spark.hadoop.fs.viewfs.mounttable.eval.link./logs"
    spark = (
        SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false").config(name, mount).getOrCreate()
    )
    gold, traces = sys.argv[1:]
    plain = score(gold=gold, traces=traces)
    mine = score(spark, gold=gold, traces=traces)
    lines = Path(traces).read_bytes().splitlines(keepends=True)
    for day, some in (("1", lines[:30]), ("2", lines[30:])):
        Path("month", day).mkdir(parents=True)
        Path("month", day, "traces.jsonl").write_bytes(b"".join(some))
    Path("month/_SUCCESS").touch()
    remote = score(spark, gold=f"{HERE}/{gold}", traces=f"{HERE}/{traces}")
    folder = score("spark", gold=gold, traces=f"{HERE}/month")
    here = score(gold=gold, traces="month")
    pattern = score(spark, gold=gold, traces=f"{HERE}/month/*/*.jsonl")
    Path("again.jsonl").write_bytes(b"".join(lines[:-1]))
    again = [
        score(one, gold=gold, traces=[first, "again.jsonl"])
        for one, first in (("local", traces), (spark, f"{HERE}/{traces}"))
    ]
    broken = Path("month/2/traces.jsonl")
    remote.write(f"{HERE}/rows.parquet")
    plain.write("rows.parquet.one.parquet")
    rows = [parquet.read_table(name).to_pylist() for name in ("rows.parquet", "rows.parquet.one.parquet")]
    pages = [Path(name) for name in ("remote.html", "plain.html")]
    remote.write(pages[0])
    plain.write(pages[1])
    Path("eval").mkdir()
    for one in (gold, traces):
        shutil.copy(one, "eval")
    Path("eval/ragworthy.toml").write_text(f'version = 1\n[answers]\ngold = "{gold}"\ntraces = "{traces}"\n')
    gates = [rw.gate("eval/ragworthy.toml", engine=one).report for one in ("local", spark)]
    text = broken.read_text().splitlines()
    text[11] = '{"qid": 7}'
    broken.write_text("\n".join(text) + "\n")
    wrong: dict[str, dict[str, Any]] = {
        "broken": {"traces": f"{HERE}/month"},
        "nothing there": {"traces": f"{HERE}/none.jsonl"},
        "no file system": {"traces": "nofs://x/y.jsonl"},
        "a pattern of nothing": {"traces": f"{HERE}/*.none"},
        "other files": {"traces": f"{HERE}/eval"},
        "no engine": {"traces": f"{HERE}/{traces}", "engine": "local"},
        "another engine": {"engine": "dask"},
        "no session": {"engine": 3},
        "two masters": {"master": "local[2]"},
        "a master alone": {"engine": "local", "master": "local[2]"},
        "a run twice": {"traces": [f"{HERE}/{traces}"] * 2},
        "a corpus": {"corpus": "s3a://x/y.jsonl"},
    }
    usual: dict[str, Any] = {"engine": spark, "gold": gold, "traces": traces}
    told = {
        "a session": mine.report == plain.report,
        "its rows": list(mine.rows()) == list(plain.rows()),
        "a URI": remote.report == plain.report,
        "a folder": folder.report == here.report,
        "a pattern": pattern.metrics == plain.metrics,
        "two runs": again[0].report == again[1].report and again[0].report["suites"]["answers"]["counts"]["runs"] == 2,
        "rows by executors": rows[0] == rows[1],
        "pages": pages[0].read_bytes() == pages[1].read_bytes(),
        "a policy": gates[0] == gates[1],
        **{name: error(**usual | given) for name, given in wrong.items()},
    }
    try:
        remote.write(f"{HERE}/rows.parquet")
    except rw.RagworthyError as taken:
        told["taken"] = str(taken).splitlines()[0]
    print(json.dumps(told))
    os._exit(0)


if __name__ == "__main__":
    main()
