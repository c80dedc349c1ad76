"""Code from elsewhere: a file of metrics that a policy names, and packages that announce something."""

import json
import os
import re
import subprocess
import sys
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pyarrow import parquet

import cases
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
        (OWN + OWN, "cannot be loaded: ValueError: metric answers.in_scope is defined twice"),
        (OWN.replace('"higher"', '"bigger"'), 'answers.in_scope: better: expected higher or lower, got "bigger"'),
        (OWN.replace("source=", 'over="bogus", source='), 'over: expected question or run or all, got "bogus"'),
        (OWN.replace("source=", "highest=-1, source="), "highest: expected a whole number from 1 up or None, got -1"),
        (OWN.replace("source=", 'short=("precision",), source='), "metric answers.in_scope is defined twice"),
        (OWN.replace('suite="answers", ', ""), 'metric in_scope: expected suite="…", got none'),
        (OWN.replace('suite="answers"', 'suite="nosuch"'), "metric nosuch.in_scope: expected a suite (answers, "),
        (OWN.replace('    """Share', '    f"""Share'), "expected a docstring, whose first line reports show, got none"),
        ("import sys; sys.exit(0)", "eval/metrics.py cannot be loaded: SystemExit: 0"),
        ("raise BaseException('no')", "eval/metrics.py cannot be loaded: BaseException: no"),
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
        ("5", "expected a number from 0 to 1 (or highest=None), got 5"),
        ("-0.5", "expected a number from 0 to 1 (or highest=None), got -0.5"),
        ("(1, 2)", "expected a number or None, got tuple"),
        ("__import__('sys').exit(0)", "failed: SystemExit: 0"),
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


def words(kind: str, *given: str, highest: str = "1") -> Done:
    """The end of a score with a metric that says these, one per question, and has a gate that any value passes."""
    text = OWN.replace("source=", f'kind="{kind}", highest={highest}, source=')
    text = text.replace("return facts.in_scope if facts.shipped else None", "return next(SAID, None)")
    text += f"\nSAID = iter([{', '.join(given)}])\n"
    Path("eval/own.py").write_text(text)
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl")
    return run_cli("score", "answers", *files, "--plugin", "eval/own.py", "--gates", "precision=0.1", "-o", "own.json")


@pytest.mark.parametrize(
    ("kind", "said", "highest", "value"),
    [
        ("mean", ("True", "0.5"), "1", 0.75),  # (1 + 1/2) / 2
        ("mean", ("3", "1"), "None", 2.0),
        ("median", ("3", "1"), "None", 2.0),
        ("count", ("True", "False"), "1", 1),
        ("share", ("(1, 2)", "(2, 2)"), "1", 0.75),  # 3 of 4
        ("share", ("(0, 0)", "(0, 0)"), "1", None),
        ("rate", ("__import__('numpy').bool_(True)", "__import__('numpy').float32(0)"), "1", 0.5),
    ],
)
def test_words_of_every_kind_are_folded(kind: str, said: tuple[str, ...], highest: str, value: float | None) -> None:
    done = words(kind, *said, highest=highest)
    assert done.code in (0, 1), done
    metric = json.loads(Path("own.json").read_text())["suites"]["answers"]["metrics"]["answers.in_scope"]
    assert metric["value"] == value


@pytest.mark.parametrize(
    ("kind", "said", "message"),
    [
        ("share", "0.5", "expected a pair for the kind share (a part and a whole), got 0.5"),
        ("share", "(3, 2)", "expected a part of a whole, both counted, got (3, 2)"),
        ("count", "0.5", "expected a count, got 0.5"),
        ("mean", "10**400", "expected a number of at most 10^18, got a greater one"),
    ],
)
def test_a_word_that_its_kind_cannot_fold_is_an_error(kind: str, said: str, message: str) -> None:
    done = words(kind, said, highest="None")
    assert done.code == 2
    assert message in done.err and "[RW-P15]" in done.err


def test_two_plugins_may_not_define_the_same_metric(team: Path) -> None:
    (team / "eval/other.py").write_text(OWN.replace("facts.in_scope", "True"))
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl", "--plugin", "eval/metrics.py")
    assert run_cli("score", "answers", *files, "--plugin", "eval/metrics.py", "-q").code == 0  # the same one, twice
    done = run_cli("score", "answers", *files, "--plugin", "eval/other.py")
    assert done.code == 2 and "metric answers.in_scope is defined twice [RW-P15]" in done.err


def test_threads_that_name_the_same_file_run_it_once(team: Path) -> None:
    (team / "eval/slow.py").write_text(f"import time\ntime.sleep(0.3)\n{OWN}")
    with ThreadPoolExecutor(3) as pool:
        asked = [
            pool.submit(rw.score, "answers", gold="gold.jsonl", traces="traces.jsonl", plugins=["eval/slow.py"])
            for _ in range(3)
        ]
    assert {one.result().metrics["answers.in_scope"].value for one in asked} == {1.0}


def test_what_is_no_list_of_plugins_is_refused() -> None:
    for plugins in ("eval/metrics.py", ["eval/metrics.py", 3]):
        with pytest.raises(rw.RagworthyError, match="plugins: expected "):
            rw.score("answers", gold="gold.jsonl", traces="traces.jsonl", plugins=plugins)  # type: ignore[arg-type]


def test_what_a_plugin_prints_does_not_stand_before_the_report(team: Path) -> None:
    (team / "eval/metrics.py").write_text(OWN + "\nprint('hello')\n")
    done = run_cli("gate", "--format", "json")
    assert json.loads(done.out)["verdict"] == "SHIP"


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
unread = unread:DECLARED
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
        "unread.py": whole_suite().replace('"brevity"', '"unread"').replace("def read(", "def unread("),
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


def test_the_suite_of_the_page_drops_no_row(installed: Path, team: Path) -> None:
    write_jsonl(team / "traces.jsonl", [T1(), T2(), {"qid": "A0003", "error": "timeout"}])
    ragworthy(installed, "score", "brevity", "--trace", "traces.jsonl", "-o", "r.json", "--rows", "rows.parquet")
    metric = json.loads(Path("r.json").read_text())["suites"]["brevity"]["metrics"]["brevity.short"]
    assert (metric["num"], metric["den"]) == (2, 3)  # the error is not short
    (team / "traces.jsonl").write_text('{"qid": "A0001", "retrieved_ids": 5}\n')
    done = ragworthy(installed, "score", "brevity", "--trace", "traces.jsonl")
    assert done.code == 2 and "traces.jsonl:1: retrieved_ids: expected" in done.err


def test_what_fails_in_a_suite_of_another_package_is_named(installed: Path, team: Path) -> None:
    (team / "traces.jsonl").write_text('{"qid": "A0001", "answer_json": {"claim": "a"}}\n')
    done = ragworthy(installed, "score", "brevity", "--trace", "traces.jsonl", "--most", "1e-5")
    assert done.code == 1, done
    assert "definition" not in ragworthy(installed, "explain", "brevity.short").err


def test_a_suite_without_a_reader_is_an_error_with_its_name(installed: Path) -> None:
    done = ragworthy(installed, "score", "unread", "--trace", "traces.jsonl")
    assert done.code == 2, done
    assert "unread (brevity 1.2.0) cannot be loaded: TypeError: Can't instantiate abstract class Brevity" in done.err


def test_metrics_renderers_and_targets_of_a_package_are_used_when_they_are_named(installed: Path) -> None:
    files = ("--gold", "gold.jsonl", "--trace", "traces.jsonl")
    done = ragworthy(installed, "score", "answers", *files, "--plugin", "scope", "--gates", "in_scope=0.5",
                     "--no-default-gates", "-o", "r.brief", "--format", "brief")  # fmt: skip
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


# metrics of every suite, worked by hand


def own(suite: str, name: str, body: str, **said: object) -> str:
    """A metric of one's own, whose function gives `body`."""
    usual = {"suite": suite, "better": "higher", "cases": "cases", "event": "good", "undefined": "nothing to count"}
    given = ", ".join(f"{key}={value!r}" for key, value in ({**usual, "source": "us"} | said).items())
    depth = ", *, k" if said.get("at_k") else ""
    return (
        f'import ragworthy\n@ragworthy.metric({given})\ndef {name}(facts{depth}):\n    """Ours."""\n    return {body}\n'
    )


class Scored(NamedTuple):
    done: Done
    report: dict[str, Any]
    rows: list[dict[str, Any]]

    def metric(self, name: str) -> dict[str, Any]:
        found: dict[str, Any] = self.report["suites"][name.partition(".")[0]]["metrics"][name]
        return found

    def gate(self) -> tuple[str, list[str]]:
        one = self.report["gates"][0]
        return one["outcome"], one.get("failing", [])


def gated(case: cases.Case, code: str, gate: str) -> Scored:
    """One gate on files of a suite, with a plugin."""
    Path("own.py").write_text(code)
    files = "".join(f"{key} = {json.dumps(value)}\n" for key, value in case.files.items())
    head = f'version = 1\nplugins = ["own.py"]\n[{case.suite}]\n{files}'
    Path("own.toml").write_text(f"{head}\n[[gate]]\n{gate}\n")
    for path in map(Path, ("own.json", "own.jsonl", "own.receipt")):
        path.unlink(missing_ok=True)
    words: list[object] = ["gate", "-c", "own.toml"]
    if case.name == "trec":  # which no policy names
        Path("gates.toml").write_text(f"[[gate]]\n{gate}\n")
        words = cases.command(case, "--gates", "gates.toml", "--plugin", "own.py")
    done = run_cli(*words, "-o", "own.json", "--rows", "own.jsonl", "--receipt", "own.receipt")
    if done.code == 2:
        return Scored(done, {}, [])
    assert run_cli("verify", "own.receipt").code == 0
    rows = [json.loads(line) for line in Path("own.jsonl").read_text().splitlines()]
    return Scored(done, json.loads(Path("own.json").read_text()), rows)


def test_must_pass_on_votes_says_what_the_metric_says(team: Path) -> None:
    case = cases.pairs(team)  # VALID and VALID, VALID and VALID, VALID and REJECT
    rejected = own("agreement", "rejected", "facts.auditor == 'REJECT'", needs="pairs")
    found = gated(case, rejected, 'metric = "agreement.rejected"\nmust_pass = ["q1", "q3"]')
    assert [row["metrics"]["agreement.rejected"] for row in found.rows] == [0.0, 0.0, 1.0]
    assert found.gate() == ("fail", ["q1"])
    lower = rejected.replace("'higher'", "'lower'")
    assert gated(case, lower, 'metric = "agreement.rejected"\nmust_pass = ["q1", "q3"]').gate() == ("fail", ["q3"])
    # the usual ones ask for agreement, which there is on all items but the last
    for name in ("percent", "kappa"):
        assert gated(case, rejected, f'metric = "{name}"\nmust_pass = ["q1", "q3"]').gate() == ("fail", ["q3"])


def test_must_pass_on_the_spread_of_operators_asks_for_agreement(team: Path) -> None:
    case = cases.operators(team)
    marks = cases.marks(3)
    marks[0]["correct"] = False  # ada alone finds q1 wrong
    write_jsonl(team / "operators.jsonl", marks)
    found = gated(case, own("agreement", "any", "True"), 'metric = "operator_variance"\nmust_pass = ["q1", "q2"]')
    assert found.gate() == ("fail", ["q1"])


def test_must_pass_on_structured_answers_says_what_the_metric_says(team: Path) -> None:
    case = cases.structured(team)
    code = own("structured", "cheap", "facts.score < 50")
    found = gated(case, code, 'metric = "structured.cheap"\nmust_pass = ["q1"]')  # every score is 100
    assert found.gate() == ("fail", ["q1"])
    assert gated(case, code, 'metric = "structured.score"\nmust_pass = ["q1"]').gate() == ("pass", [])


@pytest.mark.parametrize("name", [*cases.SUITES, "pairs", "trec"])
@pytest.mark.parametrize(
    "said",
    [
        {"kind": "median", "highest": None},
        {"kind": "p95", "highest": None},
        {"kind": "mean", "highest": None},
        {"kind": "count"},
        {"kind": "mean", "over": "all"},
        {"kind": "spread", "better": "lower"},
    ],
)
def test_must_pass_needs_a_best_value(team: Path, name: str, said: dict[str, Any]) -> None:
    case = cases.EVERY[name](team)
    metric = f"{case.suite}.amount"
    done = gated(case, own(case.suite, "amount", "3", **said), f'metric = "{metric}"\nmust_pass = ["q1"]').done
    assert done.code == 2
    assert f"{metric}: must_pass: expected min, max, max_drop or max_worse [RW-P03]" in done.err


@pytest.mark.parametrize("name", cases.SUITES)
def test_must_pass_compares_with_the_best_value(team: Path, name: str) -> None:
    case = cases.EVERY[name](team)
    gate = f'metric = "{case.suite}.stars"\nmust_pass = ["q1"]'
    for word, outcome in (("5", "pass"), ("1", "fail"), ("4.5", "fail")):
        code = own(case.suite, "stars", word, kind="mean", highest=5)
        assert gated(case, code, gate).gate()[0] == outcome, word


def test_trec_files_say_how_many_documents_were_returned(team: Path) -> None:
    case = cases.trec(team)
    (team / "run.txt").write_text("q1 Q0 S.1.p.q1 1 0.5 tag\nq1 Q0 z 2 0.4 tag\nq2 Q0 z 1 0.4 tag\n")
    code = own("retrieval", "returned", "facts.returned", over="run", kind="mean", highest=None)
    found = gated(case, code, 'metric = "retrieval.returned"\nmin = 0.5')
    assert [row["metrics"]["retrieval.returned"] for row in found.rows] == [2.0, 1.0, 0.0]
    assert found.metric("retrieval.returned")["exact"] == "1/1"  # (2 + 1 + 0) / 3
    code = own("retrieval", "anchored", "facts.anchored", over="run")
    found = gated(case, code, 'metric = "retrieval.anchored"\nmin = 0.5')
    assert found.metric("retrieval.anchored")["undefined"] == "TREC files hold ids and ranks only"
    code = own("retrieval", "wrong", "facts.nosuch", over="run")  # a typo is not a lack of the files
    assert "has no attribute 'nosuch'" in gated(case, code, 'metric = "mrr"\nmin = 0.1').done.err


# all items at once

ALL = {
    "answers": "sum(count for facts, count in facts if facts.shipped)",  # two answers and a refusal
    "retrieval": "max(0, sum(bool(one.runs) for one in facts) - 1)",  # three questions; some types of blocks have none
    "structured": "sum(one.ok for one in facts) - 1",
    "stability": "sum(len(one.runs) for one in facts) - 4",  # two runs of each
    "latency": "len(facts) - 4",
    "agreement": "len(facts) - 1",
    "trec": "sum(one.facts[0].returned for one in facts) - 1",
}
"""What gives 2 over all three questions."""


@pytest.mark.parametrize("name", ALL)
@pytest.mark.parametrize(
    ("form", "value"),
    [
        ("{}", 2.0),
        ("({}) / 4", 0.5),
        ("__import__('fractions').Fraction({}, 8)", 0.25),
        ("({}) == 2", 1.0),
        ("({}) - 2", 0.0),
        ("None", None),
    ],
)
def test_a_metric_may_look_at_all_items_at_once(team: Path, name: str, form: str, value: float | None) -> None:
    case = cases.EVERY[name](team)
    metric = f"{case.suite}.everything"
    code = own(case.suite, "everything", form.format(ALL[name]), over="all", kind="mean", highest=None)
    found = gated(case, code, f'metric = "{metric}"\nmin = 0.2')
    one = found.metric(metric)
    assert (one["value"], one["undefined"]) == (value, None if value is not None else "nothing to count")
    assert one["n"] == (6 if name == "latency" else 3) == one["ledger"]["expected"]
    assert found.gate()[0] == ("not_measured" if value is None else "pass" if value >= 0.2 else "fail")
    assert {row["undefined"][metric] for row in found.rows} == {"a number of all items at once"}


@pytest.mark.parametrize("name", ALL)
def test_a_count_of_all_items_at_once_has_no_ceiling(team: Path, name: str) -> None:
    case = cases.EVERY[name](team)
    code = own(case.suite, "everything", ALL[name], over="all", kind="count", better="lower")
    found = gated(case, code, f'metric = "{case.suite}.everything"\nmax = 1')
    assert found.metric(f"{case.suite}.everything")["value"] == 2
    assert found.gate()[0] == "fail"


def test_all_items_of_a_slice(team: Path) -> None:
    for name, shipped in (("answers", "sum(count for one, count in facts)"), ("retrieval", "len(facts)")):
        case = cases.EVERY[name](team)
        code = own(name, "everything", shipped, over="all", kind="mean", highest=None)
        found = gated(case, code, f'metric = "{name}.everything"\nmin = 0.2\nslice = "topic=t0"')
        assert found.report["gates"][0]["value"] == 2  # q1 and q3 are on t0, q2 is on t1
        assert found.metric(f"{name}.everything")["value"] == 3


def test_all_items_against_the_index_in_use(team: Path) -> None:
    case = cases.retrieval(team)
    write_jsonl(team / "live.jsonl", cases.retrieval_traces(3))
    case.files["live"] = "live.jsonl"
    code = own("retrieval", "everything", "len(facts)", over="all", kind="mean", highest=None)
    found = gated(case, code, 'metric = "retrieval.everything"\nmin = 0.2')
    delta = found.report["suites"]["retrieval"]["live"]["deltas"]["retrieval.everything"]
    assert (delta["up"], delta["down"], delta["same"]) == (0, 0, 0)


def test_answers_of_timed_runs_all_at_once(team: Path) -> None:
    code = own("answers", "answered", ALL["answers"], over="all", kind="mean", highest=None)
    found = gated(cases.latency(team), code, 'metric = "answers.answered"\nsuite = "latency"\nmin = 0.5')
    one = found.report["suites"]["latency"]["metrics"]["answers.answered"]
    assert one["value"] == 4  # two of three questions were answered, in both runs


# several runs of a question


def asked_twice(team: Path) -> cases.Case:
    """q1 twice: with the relevant block among 1 and then among 4 results; q2 once, with 1 result that is not."""
    case = cases.retrieval(team, size=2)
    (first, _), others = cases.retrieval_traces(2), [{"id": f"S.3.p.z{nth}"} for nth in range(3)]
    relevant = first["topk"][0]
    write_jsonl(
        team / "traces.jsonl",
        [
            {"qid": "q1", "seed": 0, "topk": [relevant], "answer_citations": [relevant]},
            {"qid": "q1", "seed": 1, "topk": [relevant, *others], "answer_citations": [relevant]},
            {"qid": "q2", "seed": 0, "topk": others[:1], "answer_citations": []},
        ],
    )
    return case


@pytest.mark.parametrize(
    ("kind", "body", "words", "exact"),
    [
        ("share", "(len(facts.relevant), facts.returned)", [2 / 5, 0.0], (2, 6)),  # 1/1 and 1/4; 0/1
        ("ratio", "(facts.returned, len(facts.relevant))", [5 / 2, None], (3, 1)),  # 5 + 1 results for 2
        ("sum", "facts.returned / 2", [5 / 2, 1 / 2], (3, 1)),
        ("mean", "facts.returned", [5 / 2, 1.0], (7, 4)),
        ("median", "facts.returned", [5 / 2, 1.0], (7, 4)),
    ],
)
def test_runs_of_a_question(
    team: Path, kind: str, body: str, words: list[float | None], exact: tuple[int, int]
) -> None:
    code = own("retrieval", "ours", body, over="run", kind=kind, highest=None)
    found = gated(asked_twice(team), code, 'metric = "retrieval.ours"\nmin = 0.1')
    assert [row["metrics"].get("retrieval.ours") for row in found.rows] == words
    one = found.metric("retrieval.ours")
    assert one["value"] == exact[0] / exact[1]
    if kind == "share":
        assert (one["num"], one["den"]) == exact


@pytest.mark.parametrize("kind", ["count", "spread"])
def test_counts_are_of_questions_not_of_runs(team: Path, kind: str) -> None:
    code = own("retrieval", "ours", "True", over="run", kind=kind)
    done = gated(asked_twice(team), code, 'metric = "retrieval.ours"\nmin = 1').done
    message = f'metric retrieval.ours: expected over="question" with the kind {kind}, got "run"'
    assert done.code == 2
    assert message in done.err and "[RW-P15]" in done.err
    code = own("latency", "ours", "True", over="run", kind="count")  # there every run counts for itself
    assert gated(cases.latency(team), code, 'metric = "latency.ours"\nmin = 1').metric("latency.ours")["value"] == 6


@pytest.mark.parametrize("name", cases.SUITES)
@pytest.mark.parametrize(("kind", "body"), [("share", "(0, 0)"), ("ratio", "(1, 0)")])
def test_a_part_of_nothing_is_no_number(team: Path, name: str, kind: str, body: str) -> None:
    case = cases.EVERY[name](team)
    metric = f"{case.suite}.ours"
    found = gated(case, own(case.suite, "ours", body, kind=kind, over="run"), f'metric = "{metric}"\nmin = 0.1')
    assert found.metric(metric)["undefined"] == "nothing to count"
    assert all(metric in row["undefined"] and metric not in row["metrics"] for row in found.rows)


@pytest.mark.parametrize("kind", ["mean", "sum", "median"])
def test_whole_numbers_and_floats_may_be_mixed(team: Path, kind: str) -> None:
    code = own("stability", "ours", "1 if facts.answerable else 0.5", kind=kind, highest=None)
    found = gated(cases.stability(team), code, 'metric = "stability.ours"\nmin = 0.1')
    value = {"mean": 2.5 / 3, "sum": 2.5, "median": 1.0}[kind]  # 1, 1 and 0.5
    assert found.metric("stability.ours")["value"] == pytest.approx(value)


def test_rows_of_structured_answers_have_metrics_of_ones_own(team: Path) -> None:
    case = cases.structured(team)
    outputs = cases.outputs(3)
    write_jsonl(team / "outputs.jsonl", outputs[:2])
    code = own("structured", "half", "facts.score / 200 if facts.ok else None", kind="mean")
    found = gated(case, code, 'metric = "structured.half"\nmin = 0.1')
    assert [row["metrics"].get("structured.half") for row in found.rows] == [0.5, 0.5, None]
    assert [row["undefined"].get("structured.half") for row in found.rows] == [None, None, "no output"]


def test_a_percentile_of_ones_own_does_not_stand_for_times(team: Path) -> None:
    code = own("latency", "ours", "7", over="run", kind="p95", better="lower", highest=None)
    code += own("latency", "low", "7", over="run", kind="p10", better="lower", highest=None)
    found = gated(cases.latency(team), code, 'metric = "latency.p95"\nmax = 500')
    assert found.metric("latency.ours")["value"] == 7
    whole = run_cli("gate", "-c", "own.toml", "--full").out
    assert re.search(r"^  configuration +load +P50 ms +P90 +P95 +P99 +tail ", whole, re.M), whole
    assert re.search(r"^  \w+ +5/s +100\.5 +101 +101 +101 +1 ", whole, re.M)


def test_rows_of_a_suite_without_facts_can_be_parquet(installed: Path) -> None:
    done = ragworthy(installed, "score", "brevity", "--trace", "traces.jsonl", "--rows", "rows.parquet")
    assert done.code in (0, 1), done
    table = parquet.read_table("rows.parquet")
    assert table.num_rows == 3
    assert "facts" not in table.column_names
    assert [dict(one)["brevity.short"] for one in table["metrics"].to_pylist()] == [1.0, 1.0, 1.0]
