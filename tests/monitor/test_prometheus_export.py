"""`monitor export`: files for Prometheus and Grafana, and what is said when it cannot be done."""

import json
import re
from pathlib import Path

import pytest
import yaml

from ragworthy.cli.main import main


def test_rules_go_to_a_file_or_to_stdout(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "accepted.json").write_text('{"retrieve_ms": 100, "reason_ms": 1000}')
    flags = ["--baseline", str(tmp_path / "accepted.json")]
    assert main(["monitor", "export", "prometheus-rules", "--out", str(tmp_path / "r.yml"), *flags]) == 0
    assert capsys.readouterr().out == f"{tmp_path}/r.yml: 167 recording rules, 16 alerts\n"
    assert main(["monitor", "export", "prometheus-rules", *flags]) == 0
    text = capsys.readouterr().out
    assert text == (tmp_path / "r.yml").read_text(encoding="utf-8")
    rules = yaml.safe_load(text)["groups"][0]["rules"]
    assert sum("alert" in rule for rule in rules) == 16


def test_rules_by_a_label_add_up_by_it(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["monitor", "export", "prometheus-rules", "--by", "job"]) == 0
    rules = yaml.safe_load(capsys.readouterr().out)["groups"][0]["rules"]
    grown = [rule["expr"] for rule in rules if re.search(r":delta\d+m$", rule.get("record", ""))]
    assert grown
    assert all(expr.startswith("sum by (job) (") for expr in grown)


def test_each_dashboard_is_a_file(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["monitor", "export", "grafana", "--out", str(tmp_path / "boards")]) == 0
    names = sorted(path.name for path in (tmp_path / "boards").iterdir())
    assert names == [f"ragworthy-{name}.json" for name in ("index", "latency", "rerank", "service", "slices", "slo")]
    assert len(capsys.readouterr().out.splitlines()) == 6
    for path in (tmp_path / "boards").iterdir():
        assert json.loads(path.read_text(encoding="utf-8"))["uid"] == path.stem


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["export"], "monitor export: expected prometheus-rules or grafana, got nothing [RW-U01]"),
        (["export", "nagios"], "monitor export: expected prometheus-rules or grafana, got nagios [RW-U01]"),
        (["export", "grafana"],
         "monitor export grafana: expected --out DIR, got none: there is a file for each board [RW-U01]"),
    ],
)  # fmt: skip
def test_what_cannot_be_exported_is_named(words: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["monitor", *words]) == 2
    assert message in capsys.readouterr().err


def test_a_label_that_is_none_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["monitor", "export", "prometheus-rules", "--by", "job) or vector(1"])
    assert ended.value.code == 2
    assert "expected the name of a label: letters, digits and _" in capsys.readouterr().err
