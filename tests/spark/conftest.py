"""Every test here needs Spark, which is skipped where it cannot run."""

from collections.abc import Iterator
from pathlib import Path

import pytest

import spark_running as spark


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """A skip says what to install."""
    for item in items:
        if spark.LACKING and Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.skip(reason=f"SKIPPED: no Spark: {spark.LACKING}"))


@pytest.fixture(scope="package")
def master(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The URL of a cluster of one master and two workers."""
    with spark.cluster(tmp_path_factory.mktemp("cluster")) as url:
        yield url
