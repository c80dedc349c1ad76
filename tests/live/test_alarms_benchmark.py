"""The benchmark of alarms in short: real questions, two days without a change, a drop of ten points."""

import importlib.util
import sys
from typing import Any

import pytest

from places import ROOT


@pytest.fixture(scope="module")
def bench() -> Any:
    path = ROOT / "benchmarks/alarms.py"
    spec = importlib.util.spec_from_file_location("alarms_benchmark", path)
    assert spec is not None
    assert spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = made
    spec.loader.exec_module(made)
    return made


@pytest.mark.data("data/squad2/dev")
def test_a_day_of_real_questions_without_a_false_alarm_where_a_z_test_cries_wolf(bench: Any) -> None:
    real = bench.pool()
    assert real.size == 6608
    step = bench.methods(bench.accepted(real, 2000, 5), bench.FIELDS, 100, rules=False)
    counts: dict[str, int] = {}
    for minute in bench.stream(real, 1440, 100, 41):
        for name in step(minute):
            counts[name] = counts.get(name, 0) + 1
    assert "anytime" not in counts
    assert "cusum" not in counts
    assert counts["z-test 5 %"] > 20


@pytest.mark.data("data/squad2/dev")
def test_ten_points_fewer_right_answers_are_seen_within_an_hour(bench: Any) -> None:
    found = bench.delays(bench.pool(), bench.Drop("cited", 101, 0.10), 20_000, 3, 120)
    assert len(found["anytime"]) == 3
    assert max(found["anytime"]) <= 60
    assert found["cusum"]
    assert found["fixed, rates"] == []  # 0.69 is far from the floor of 0.6
