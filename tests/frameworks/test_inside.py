"""The tests of the recorders that need LangChain and OpenTelemetry run where these are."""

import re

import pytest

from framework_scripts import script
from places import ROOT, TESTS

INSIDE = TESTS / "frameworks" / "inside"


@pytest.mark.parametrize("name", sorted(path.stem for path in INSIDE.glob("test_*.py")))
def test_inside(name: str) -> None:
    said = script("-m", "pytest", "-q", "-p", "no:cacheprovider", INSIDE / f"{name}.py", cwd=ROOT, PYTHONWARNINGS="")
    found = re.search(r"^(\d+) passed(?:, (\d+) skipped)? in", said, re.M)
    assert found is not None, said
    assert int(found[1]) >= 15
    if found[2]:
        pytest.skip("SKIPPED: " + "; ".join(re.findall(r"^SKIPPED .*$", said, re.M)))
