"""Code from elsewhere: a file of metrics that a policy names, and packages that announce something."""

import json
import os
import re
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import ragworthy as rw
from conftest import G1, G2, G3, T1, T2, T3, Done, run_cli, write_jsonl
from places import ROOT
from ragworthy.metrics.registry import all_metrics

OWN = '''
import ragworthy

@ragworthy.metric(
    suite="answers", better="higher", cases="shipped answers", event="citing only what was retrieved",
    undefined="nothing was shipped", source="decision 12",
)
def in_scope(facts):
    """Share of shipped answers that cite nothing outside what was retrieved."""
    return facts.in_scope if facts.shipped else None
'''
POLICY = """version = 1
plugins = ["eval/metrics.py"]

[answers]
gold = "gold.jsonl"
traces = "traces.jsonl"

[[gate]]
metric = "answers.in_scope"
min = 0.5
"""


@pytest.fixture(autouse=True)
def team(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "gold.jsonl", [G1(), G2(), G3()])
    write_jsonl(tmp_path / "traces.jsonl", [T1(), T2(), T3()])
    (tmp_path / "eval").mkdir()
    (tmp_path / "eval/metrics.py").write_text(OWN)
    (tmp_path / "ragworthy.toml").write_text(POLICY)
    return tmp_path


def test_a_metric_of_ones_own_is_gated_reported_in_rows_and_in_the_receipt() -> None:
    done = run_cli("gate", "-o", "r.json", "--rows", "rows.jsonl", "--receipt", "receipt.json")
    assert done.code == 0, done
    report = json.loads(Path("r.json").read_text())
    # two answers were shipped, both cite what was retrieved
    metric = report["suites"]["answers"]["metrics"]["answers.in_scope"]
    assert (metric["num"], metric["den"], metric["value"]) == (2, 2, 1.0)
    rows = [json.loads(line) for line in Path("rows.jsonl").read_text().splitlines()]
    assert [row["metrics"].get("answers.in_scope") for row in rows] == [1.0, None, 1.0]
    sha256 = {one["role"]: one["sha256"] for one in json.loads(Path("receipt.json").read_text())["inputs"]}
    assert report["provenance"]["plugins"] == [{"name": "eval/metrics.py", "sha256": sha256["plugin:eval/metrics.py"]}]
    done = run_cli("verify", "receipt.json")
    assert done.code == 0
    assert f"ran the code of the plugin eval/metrics.py {sha256['plugin:eval/metrics.py']}" in done.out


def test_verify_does_not_run_a_file_that_changed(team: Path) -> None:
    run_cli("gate", "--receipt", "receipt.json")
    (team / "eval/metrics.py").write_text(OWN + "\nraise SystemExit(9)\n")
    done = run_cli("verify", "receipt.json")
    assert done.code == 1
    assert "eval/metrics.py" in done.out


def test_the_command_and_python_take_plugins_too() -> None:
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl")
    done = run_cli("score", "answers", *files, "--plugin", "eval/metrics.py", "--gates", "in_scope=0.5", "-o", "r.json",
                   "--receipt", "receipt.json")  # fmt: skip
    assert done.code == 0, done
    result = rw.score("answers", gold="gold.jsonl", traces="traces.jsonl", plugins=["eval/metrics.py"],
                      gates={"in_scope": 0.5})  # fmt: skip
    assert result.report == json.loads(Path("r.json").read_text())
    assert run_cli("verify", "receipt.json").code == 0
    assert "decision 12" in run_cli("explain", "in_scope", "--plugin", "eval/metrics.py").out


def test_a_metric_of_a_plugin_is_known_only_where_it_was_named() -> None:
    assert run_cli("gate", "-q").code == 0
    assert "answers.in_scope" not in all_metrics("answers")
    plain = rw.score("answers", gold="gold.jsonl", traces="traces.jsonl")
    assert "answers.in_scope" not in plain.metrics
    assert "plugins" not in plain.report["provenance"]


def test_the_selftest_proves_that_a_gate_on_it_can_fail() -> None:
    done = run_cli("gate", "--selftest")
    assert done.code == 0
    assert "can fail     answers.in_scope" in done.out


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("import nosuch", "eval/metrics.py cannot be loaded: ModuleNotFoundError: No module named 'nosuch'"),
        ("x = 1", "expected a function with @ragworthy.metric in eval/metrics.py, got none"),
        ("def f(:", "eval/metrics.py cannot be loaded: SyntaxError: invalid syntax (metrics.py, line 1)"),
        (
            OWN.replace('better="higher"', 'better="higher", kind="p0"'),
            "eval/metrics.py cannot be loaded: ValueError: metric answers.in_scope: expected a kind (rate, mean, "
            'count, share, median, tail, sum, ratio, spread or a percentile such as p95), got "p0"',
        ),
        (OWN.replace("def in_scope", "def precision"), "metric answers.precision is defined twice"),
    ],
)
def test_a_plugin_that_cannot_be_loaded_is_an_error_with_its_name(team: Path, text: str, message: str) -> None:
    (team / "eval/metrics.py").write_text(text)
    done = run_cli("gate")
    assert done.code == 2
    assert message in done.err and "[RW-P15]" in done.err


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("facts.nothing", "failed: AttributeError: 'Facts' object has no attribute 'nothing'"),
        ("'yes'", "expected a number or None, got str"),
        ("float('nan')", "expected a number or None, got nan"),
    ],
)
def test_a_plugin_that_fails_while_scoring_is_an_error_with_its_name(team: Path, body: str, message: str) -> None:
    (team / "eval/metrics.py").write_text(OWN.replace("facts.in_scope if", f"{body} if"))
    done = run_cli("gate")
    assert done.code == 2
    assert re.search(r"^answers\.in_scope \(\S*eval/metrics\.py:\d+\)", done.err), done.err
    assert message in done.err and "[RW-P15]" in done.err


def test_a_plugin_that_is_not_there_is_an_error_with_its_name(team: Path) -> None:
    (team / "ragworthy.toml").write_text(POLICY.replace("eval/metrics.py", "eval/gone.py"))
    assert "eval/gone.py: expected a file, got nothing at this path [RW-F01]" in run_cli("gate").err
    (team / "ragworthy.toml").write_text(POLICY.replace("eval/metrics.py", "gone"))
    message = 'plugins[0]: expected an installed plugin of ragworthy.metrics (none), got "gone" [RW-P15]'
    assert message in run_cli("gate").err


# packages

RENDERER = """
def render(report):
    return f"{report['verdict']} by {len(report['gates'])} gates\\n"

def broken(report):
    raise KeyError("nothing")

def echo(rest):
    return lambda qid, q, seed, jitter, knobs: {"answer_json": {"claim": rest}, "retrieved_ids": []}
"""
ENTRY_POINTS = """[ragworthy.suites]
brevity = brevity:DECLARED
terse = terse:DECLARED

[ragworthy.metrics]
scope = team_metrics

[ragworthy.reports]
brief = renderer:render
broken = renderer:broken

[ragworthy.targets]
echo = renderer:echo
gone = renderer:gone
"""


def whole_suite() -> str:
    """The suite that the page on plugins shows."""
    page = (ROOT / "design/plugins.md").read_text(encoding="utf-8")
    (block,) = re.findall(r"^```python\n(.*?)^```$", page, re.M | re.S)
    return str(block)


def with_a_damage() -> str:
    """The same suite under another name, which says how a selftest can damage its traces."""
    text = whole_suite().replace("brevity", "terse")
    text = text.replace("class Brevity(Suite):", f"{LENGTHENED}\n\nclass Brevity(Suite):{DAMAGES}")
    return text.replace("self.case(item.record,", "self.case((request.damage or same)(item.record),")


LENGTHENED = """
import msgspec
from ragworthy.suites.damage import Damage

def same(trace):
    return trace

def longer(trace):
    answer = msgspec.structs.replace(trace.answer_json, claim="so " * 99)
    return msgspec.structs.replace(trace, answer_json=answer)
"""
DAMAGES = """
    def damages(self, request):
        return (Damage("every answer made long", ("terse.short",), longer),)
"""


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A package with one of each, built as a wheel and installed from it."""
    folder = tmp_path_factory.mktemp("wheel")
    wheel = folder / "brevity-1.2.0-py3-none-any.whl"
    info = "brevity-1.2.0.dist-info"
    files = {
        "brevity.py": whole_suite(),
        "terse.py": with_a_damage(),
        "team_metrics.py": OWN,
        "renderer.py": RENDERER,
        f"{info}/METADATA": "Metadata-Version: 2.1\nName: brevity\nVersion: 1.2.0\n",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
        f"{info}/entry_points.txt": ENTRY_POINTS,
    }
    files[f"{info}/RECORD"] = "".join(f"{name},,\n" for name in (*files, f"{info}/RECORD"))
    with zipfile.ZipFile(wheel, "w") as made:
        for name, text in files.items():
            made.writestr(name, text)
    there = folder / "site"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-index", "--no-deps"]
    subprocess.run([*pip, "--target", str(there), str(wheel)], check=True)
    return there


def ragworthy(installed: Path, *words: str) -> Done:
    path = os.pathsep.join([str(installed), str(Path(rw.__file__).parents[1])])
    done = subprocess.run(
        [sys.executable, "-m", "ragworthy", *words],
        capture_output=True, text=True, check=False, env={**os.environ, "PYTHONPATH": path},
    )  # fmt: skip
    return Done(done.returncode, done.stdout, done.stderr)


def test_the_suite_of_the_page_takes_no_more_room_than_it_says() -> None:
    code = [line for line in whole_suite().splitlines() if line.strip() and not line.startswith(("from", "import"))]
    assert len(code) <= 40


def test_a_suite_of_another_package_has_flags_gates_rows_receipts_and_a_policy_section(
    installed: Path, team: Path
) -> None:
    done = ragworthy(installed, "score", "brevity", "--trace", "traces.jsonl", "--most", "3", "-o", "r.json", "--rows",
                     "rows.jsonl", "--receipt", "receipt.json")  # fmt: skip
    assert done.code == 1, done
    report = json.loads(Path("r.json").read_text())
    # "X rejects null keys." has four words, "not in context" three, "Only domain example.com is allowed." five
    claims = [trace["answer_json"]["claim"] for trace in (T1(), T2(), T3())]
    short = sum(len(claim.split()) <= 3 for claim in claims)
    metric = report["suites"]["brevity"]["metrics"]["brevity.short"]
    assert (metric["num"], metric["den"]) == (short, 3)
    assert metric["ledger"]["scored"] == 3
    told = [{"name": "brevity", "package": "brevity", "version": "1.2.0"}]
    assert report["provenance"]["plugins"] == told
    assert json.loads(Path("receipt.json").read_text())["request"]["plugins"] == told
    assert len(Path("rows.jsonl").read_text().splitlines()) == 3
    verified = ragworthy(installed, "verify", "receipt.json")
    assert verified.code == 0 and "ran the code of the plugin brevity brevity 1.2.0" in verified.out
    (team / "ragworthy.toml").write_text('version = 1\n[brevity]\ntraces = "traces.jsonl"\nmost = 3\n')
    gated = ragworthy(installed, "gate", "-o", "gate.json")
    assert gated.code == 1
    assert json.loads(Path("gate.json").read_text())["suites"] == report["suites"]


def test_a_suite_of_another_package_can_say_how_it_is_damaged(installed: Path, team: Path) -> None:
    (team / "ragworthy.toml").write_text('version = 1\n[terse]\ntraces = "traces.jsonl"\n')
    done = ragworthy(installed, "gate", "--selftest")
    assert done.code == 0, done
    assert done.out.startswith("can fail     terse.short ≥ 0.90: every answer made long → fail\n")


def test_a_selftest_says_so_where_a_suite_names_no_damage(installed: Path, team: Path) -> None:
    (team / "ragworthy.toml").write_text('version = 1\n[brevity]\ntraces = "traces.jsonl"\n')
    done = ragworthy(installed, "gate", "--selftest")
    assert done.code == 1, done
    said = "the suite brevity names no damage, so every record dropped → not_measured (none)"
    assert done.out.startswith(f"CANNOT FAIL  brevity.short ≥ 0.90: {said}\n")


def test_a_wrong_setting_of_it_is_answered_like_that_of_any_suite(installed: Path, team: Path) -> None:
    (team / "ragworthy.toml").write_text('version = 1\n[brevity]\ntraces = "traces.jsonl"\nmost = -3\nleast = 1\n')
    done = ragworthy(installed, "gate")
    assert done.code == 2
    assert "ragworthy.toml: brevity.least: expected a known key" in done.err
    assert "ragworthy.toml: brevity.most: expected a number above 0, got -3 [RW-P03]" in done.err


def test_metrics_renderers_and_targets_of_a_package_are_used_when_they_are_named(installed: Path) -> None:
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl")
    done = ragworthy(installed, "score", "answers", *files, "--plugin", "scope", "--gates", "in_scope=0.5", "-o",
                     "r.brief", "--format", "brief")  # fmt: skip
    assert (done.code, done.out) == (0, "SHIP by 2 gates\n")
    assert Path("r.brief").read_text() == done.out
    done = ragworthy(installed, "run", "--target", "plugin:echo:not in context", "--gold", "gold.jsonl", "--out", "run")
    assert done.code == 0, done
    traces = [json.loads(line) for line in Path("run/traces.jsonl").read_text().splitlines()]
    assert {trace["answer_json"]["claim"] for trace in traces} == {"not in context"}


def test_what_fails_in_a_package_is_named(installed: Path) -> None:
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl")
    done = ragworthy(installed, "score", "answers", *files, "--format", "broken")
    assert done.code == 2
    assert "broken (brevity 1.2.0) failed: KeyError: 'nothing' [RW-P15]" in done.err
    done = ragworthy(installed, "run", "--target", "plugin:gone", "--gold", "gold.jsonl", "--out", "run")
    assert done.code == 2
    assert "gone (brevity 1.2.0) cannot be loaded: AttributeError" in done.err
    assert not Path("run").exists()


def test_doctor_lists_what_is_installed_and_what_cannot_be_loaded(installed: Path) -> None:
    done = ragworthy(installed, "doctor", "--gold", "gold.jsonl", "--trace", "traces.jsonl")
    assert done.code == 0
    assert "  brevity (ragworthy.suites of brevity 1.2.0): can be loaded" in done.out
    assert "  scope (ragworthy.metrics of brevity 1.2.0): can be loaded" in done.out
    assert re.search(r"^  gone \(ragworthy\.targets of brevity 1\.2\.0\): gone .* cannot be loaded", done.out, re.M)


def test_an_installed_package_changes_nothing_by_being_there(installed: Path) -> None:
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl", "--format", "json")
    assert ragworthy(installed, "score", "answers", *files).out == run_cli("score", "answers", *files).out
    assert ragworthy(installed, "score", "nosuch").code == 2
