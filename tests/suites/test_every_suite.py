"""Every suite, by every way in: the same mistake gets the same answer, and the same settings the same report.

Everything goes through the command line and the public API, so that nothing here knows how a suite is built. Which
files, settings and outputs there are is read off the declarations.
"""

import itertools
import json
import re
import subprocess
import sys
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest

import cases as c
import ragworthy as rw
from conftest import run_cli, write_jsonl
from places import ROOT
from ragworthy.policy.declare import Declared, Input, Setting
from ragworthy.suites import SUITES

Key = tuple[str, ...]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("GITHUB_STEP_SUMMARY", raising=False)


def params(keys: Iterable[Key]) -> list[Any]:
    """Parameters named after themselves."""
    return [pytest.param(*key, id="-".join(key)) for key in keys]


def each(names: Iterable[str], ways: Iterable[str] = c.WAYS) -> list[Key]:
    return [*itertools.product(names, ways)]


GOLDS = each(c.SUITES)
WITH_TREC = [*GOLDS, ("trec", c.COMMAND)]


def line(way: str, code: str, field: str, message: str) -> str:
    """The first line of an error about settings: the policy is named where it comes from one."""
    where = "policy.toml: " if way == c.POLICY else ""
    return f"{where}{field}: {message} [{code}]"


def assert_refused(said: c.Said, wanted: str) -> None:
    """Exit 2 with this very line, and nothing was scored."""
    assert (said.code, said.line) == (2, wanted)
    assert not said.report
    assert not Path(".ragworthy").exists()


# a. slices


@pytest.mark.parametrize(("name", "way"), params([*GOLDS, *each(c.VOTES)]))
def test_a_slice_by_a_field_that_no_gold_item_has_is_refused_alike(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    said = c.score(way, case, slices=["nosuchfield"])
    message = 'expected a field that gold items have, got "nosuchfield"'
    assert_refused(said, line(way, "RW-P03", f"{case.suite}.slices", message))


@pytest.mark.parametrize(("name", "way"), params(GOLDS))
def test_one_unknown_field_among_known_ones_is_refused_too(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    said = c.score(way, case, slices=["topic", "nosuchfield"])
    message = 'expected a field that gold items have, got "nosuchfield"'
    assert_refused(said, line(way, "RW-P03", f"{case.suite}.slices", message))


@pytest.mark.parametrize(("name", "way"), params(GOLDS))
def test_a_slice_by_a_field_of_the_gold_set_is_in_the_report(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    said = c.score(way, case, slices=["topic"])
    assert {"topic=t0", "topic=t1"} <= set(said.report["suites"][case.suite]["slices"])


def test_trec_files_have_no_field_to_slice_by() -> None:
    said = c.score(c.COMMAND, c.trec(Path()), slices=["topic"])
    assert_refused(said, "--slice: TREC files hold ids and ranks only [RW-U01]")


@pytest.mark.parametrize(("name", "way"), params([*WITH_TREC, *each(c.VOTES)]))
def test_a_gate_on_a_slice_by_a_field_that_no_gold_item_has_is_refused_alike(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    said = c.score(way, case, c.gate(case, min=case.least, slice="nosuch=1"))
    message = 'expected a field that gold items have, got "nosuch"'
    assert_refused(said, line(way, "RW-P03", f"{case.metric}: slice", message))


@pytest.mark.parametrize(("name", "way"), params(GOLDS))
def test_a_gate_on_a_value_that_no_gold_item_has_is_not_measured(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    said = c.score(way, case, c.gate(case, min=case.least, slice="topic=nosuch"), alone=True)
    (reason,) = said.report["invalid"]
    assert said.code == 4
    assert reason.endswith("[topic=nosuch] was not measured: no such number was measured in slice topic=nosuch")


# b. must_pass


@pytest.mark.parametrize(("name", "way"), params(WITH_TREC))
def test_must_pass_with_an_unknown_question_is_refused_alike(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    said = c.score(way, case, c.gate(case, must_pass=["nosuch"]))
    message = 'expected a qid of the gold set, got "nosuch"'
    assert_refused(said, line(way, "RW-P09", f"{case.metric}: must_pass", message))


@pytest.mark.parametrize(("name", "way"), params(each(c.VOTES)))
def test_must_pass_names_a_vote_where_there_is_no_gold_set(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    said = c.score(way, case, c.gate(case, must_pass=["nosuch"]))
    message = 'expected the qid of a vote, got "nosuch"'
    assert_refused(said, line(way, "RW-P09", f"{case.metric}: must_pass", message))


@pytest.mark.parametrize(("name", "way"), params([*WITH_TREC, *each(c.VOTES)]))
def test_must_pass_with_known_questions_is_judged(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    said = c.score(way, case, c.gate(case, must_pass=["q1", "q2"]), alone=True)
    assert (said.code, said.line, said.report["verdict"]) == (0, "", "SHIP")


@pytest.mark.parametrize("way", c.WAYS)
def test_a_gate_of_latency_on_a_borrowed_metric_is_taken_alike(way: str) -> None:
    case = c.latency(Path())
    said = c.score(way, case, c.gate(case, min=case.least).replace('suite = "latency"\n', ""))
    assert (said.code, said.line) == (0, "")


# c. too many slices


@pytest.mark.parametrize(("name", "way"), params(GOLDS))
def test_more_than_200_slices_are_refused_alike(name: str, way: str) -> None:
    case = c.EVERY[name](Path(), size=201, topics=201)
    said = c.score(way, case, slices=["topic"])
    message = "expected at most 200 slices, got 201: slice by a field with fewer values"
    assert_refused(said, line(way, "RW-P03", f"{case.suite}.slices", message))


@pytest.mark.parametrize(("name", "way"), params(GOLDS))
def test_200_slices_are_not_too_many(name: str, way: str) -> None:
    case = c.EVERY[name](Path(), size=200, topics=200)
    said = c.score(way, case, slices=["topic"])
    assert (said.code != 2, said.line) == (True, "")
    assert len([one for one in said.report["suites"][case.suite]["slices"] if one.startswith("topic=")]) == 200


# d. ids


@pytest.mark.parametrize(("name", "way"), params(GOLDS))
def test_a_gold_id_that_stands_twice_is_refused_alike(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    gold = case.files[case.gold or ""]
    number = c.add_rows(Path(gold), c.lines_of(Path(gold))[:1])
    said = c.score(way, case)
    assert_refused(said, f'{gold}:{number}: {case.qid}: expected a unique id, got "q1" again [RW-G02]')


@pytest.mark.parametrize("way", c.WAYS)
@pytest.mark.parametrize("name", c.SUITES)
@pytest.mark.parametrize("change", ["empty", "null", "absent"])
def test_a_gold_item_without_an_id_is_refused_alike(name: str, way: str, change: str) -> None:
    case = c.EVERY[name](Path())
    gold = case.files[case.gold or ""]
    row = c.lines_of(Path(gold))[0] | {case.qid: "" if change == "empty" else None}
    if change == "absent":
        del row[case.qid]
    number = c.add_rows(Path(gold), [row])
    said = c.score(way, case)
    assert_refused(said, f"{gold}:{number}: {case.qid}: expected a non-empty string, got nothing [RW-G01]")


def with_a_stranger(case: c.Case) -> tuple[str, int]:
    """Add a trace of a question that the gold set does not have; gives its file and line."""
    name = case.files[case.runs]
    return name, c.add_rows(Path(name), [c.lines_of(Path(name))[0] | {case.qid: "ghost"}])


@pytest.mark.parametrize(("name", "way"), params(each(("stability", "latency"))))
def test_a_run_of_no_question_is_an_error(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    runs, number = with_a_stranger(case)
    said = c.score(way, case)
    assert_refused(said, f'{runs}:{number}: qid: expected a qid of the gold set, got "ghost" [RW-T11]')


@pytest.mark.parametrize(("name", "way"), params(each(("answers", "retrieval", "structured", "agreement"))))
def test_a_trace_of_no_question_is_left_out_with_the_same_warning(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    with_a_stranger(case)
    body = c.score(way, case).report["suites"][case.suite]
    warned = [one["message"] for one in body["warnings"] if one["code"] == "RW-W07"]
    assert warned == ["1 trace belongs to no gold question, e.g. ghost"]
    assert body["counts"]["orphan_traces"] == 1


# e. outputs on inputs

READ = "{}: expected a new file, got one that is read [RW-U01]"
OUTPUTS = {"-o": ".json", "--rows": ".jsonl", "--receipt": ".json"}
FORMS = {"agreement": "traces", "two_files": "files", "pairs": "pairs", "raters": "raters", "operators": "operators"}
"""The form of votes that each case of agreement is."""


def suite_of(name: str) -> str:
    return {"trec": "retrieval"}.get(name, name if name in c.SUITES else "agreement")


def stand_ins(suite: Declared) -> list[Input]:
    """The inputs that replace those that a suite needs."""
    needed = {one.receipt_role for one in suite.inputs if one.needed}
    return [one for one in suite.inputs if one.receipt_role in needed and not one.needed]


def files_of(name: str) -> tuple[str, ...]:
    """The files that a case reads, by key, as its suite declares them; `lock` is the one beside the gold set, which
    nobody names, and rule packs are files that a setting names.
    """
    suite = SUITES[suite_of(name)]
    others = stand_ins(suite)
    if name == "trec":
        return (*(one.key for one in others), "live_run")
    if name in c.VOTES:
        return (*suite.forms[FORMS[name]], *(["audit"] if name == "operators" else []))
    settings = suite.settings(form=FORMS[name]) if suite.forms else suite.settings()
    read = [one for one in suite.inputs_of(settings) if one.help and not one.written and one not in others]
    read = [one for one in read if one.key != "live_run"]
    packs = [field for field in suite.settings._fields if field == "rule_packs"]
    return (*(one.key for one in read), "lock", *packs)


FILES = {name: files_of(name) for name in c.EVERY if name != "bundled"}
OWN_OUTPUTS = {
    name: {one.option: next(iter(one.suffixes), ".txt") for one in suite.inputs if one.written}
    for name, suite in SUITES.items()
}
"""What each suite writes besides a report, with a suffix that it takes."""
PLUGIN = """
import ragworthy

@ragworthy.metric(suite="{}", better="higher", cases="items", event="there", undefined="none", source="us")
def there(facts, **_):
    "Share of items that are there."
    return True
"""


def plugin_for(case: c.Case) -> str:
    """A file with a metric of one's own."""
    path = Path("own.py")
    path.write_text(PLUGIN.format(case.suite))
    return path.name


def laid(name: str) -> tuple[c.Case, dict[str, str], dict[str, Any]]:
    """A case with every file that it can be scored with: where each role stands, and the options that name them."""
    case = c.EVERY[name](Path())
    options = c.more_files(case) | {"baseline": str(c.baseline(case))}
    roles = {key: one[0] if isinstance(one, list) else str(one) for key, one in {**case.files, **options}.items()}
    if case.gold is not None:
        roles["lock"] = str(Path(case.files[case.gold]).with_suffix(".lock"))
    return case, roles, options


def link_to(path: str, suffix: str) -> Path:
    """Another name of an input, with a suffix that the output has to have."""
    link = Path(f"out{suffix}")
    link.symlink_to(path)
    return link


def by_command() -> list[Key]:
    """Every case with each of its outputs and each of its inputs."""
    found: list[Key] = []
    for name, files in FILES.items():
        for output in (*OUTPUTS, *OWN_OUTPUTS[suite_of(name)]):
            found += [(name, output, role) for role in (*files, "baseline", "gates", "plugin")]
    return found


@pytest.mark.parametrize(("name", "output", "role"), params(by_command()))
def test_no_output_of_a_command_replaces_an_input(name: str, output: str, role: str) -> None:
    case, roles, options = laid(name)
    roles["gates"], roles["plugin"] = c.gate_file(c.gate(case, min=case.least)).name, plugin_for(case)
    options["plugin"] = roles["plugin"]
    before = Path(roles[role]).read_bytes()
    out = link_to(roles[role], (OUTPUTS | OWN_OUTPUTS[case.suite])[output])
    done = run_cli(*c.command(case, "--gates", roles["gates"], output, out, **options))
    no_pairs = f"--pairs-out: expected the votes of two validators, got --{name} [RW-U01]"
    wanted = no_pairs if output == "--pairs-out" and name in ("raters", "operators") else READ.format(out)
    if output == "--spot-check" and name != "operators":
        wanted = "--spot-check: expected operator records with it (--operators), got none [RW-U01]"
    assert (done.code, done.err.partition("\n")[0]) == (2, wanted)
    assert Path(roles[role]).read_bytes() == before


@pytest.mark.parametrize(("name", "role"), params((name, role) for name in FILES for role in FILES[name]))
def test_a_receipt_in_the_place_of_an_input_is_refused_by_its_own_name(name: str, role: str) -> None:
    case, roles, options = laid(name)
    before = Path(roles[role]).read_bytes()
    done = run_cli(*c.command(case, "--receipt", roles[role], **options))
    assert (done.code, done.err.partition("\n")[0]) == (2, READ.format(roles[role]))
    assert Path(roles[role]).read_bytes() == before


def by_policy() -> list[Key]:
    return [
        (name, output, role)
        for name, files in FILES.items()
        if name != "trec"
        for output in OUTPUTS
        for role in (*files, "baseline", "policy", "plugin")
    ]


@pytest.mark.parametrize(("name", "output", "role"), params(by_policy()))
def test_no_output_of_a_policy_replaces_an_input(name: str, output: str, role: str) -> None:
    case, roles, options = laid(name)
    roles["plugin"] = plugin_for(case)
    roles["policy"] = str(c.write_policy(case, **options, plugins=[roles["plugin"]]))
    before = Path(roles[role]).read_bytes()
    out = link_to(roles[role], OUTPUTS[output])
    done = run_cli("gate", "-c", roles["policy"], output, out)
    assert (done.code, done.err.partition("\n")[0]) == (2, READ.format(out))
    assert Path(roles[role]).read_bytes() == before


@pytest.mark.parametrize(
    ("name", "role"),
    params((name, role) for name in FILES if name != "trec" for role in (*FILES[name], "baseline", "gates", "plugin")),
)
def test_no_result_in_python_is_written_over_an_input(name: str, role: str) -> None:
    case, roles, options = laid(name)
    roles["gates"], roles["plugin"] = c.gate_file(c.gate(case, min=case.least)).name, plugin_for(case)
    before = Path(roles[role]).read_bytes()
    out = link_to(roles[role], ".json")
    own: dict[str, Any] = {"gates": roles["gates"], "plugins": [roles["plugin"]]}
    result = rw.score(case.suite, **case.files, **options, **own)
    with pytest.raises(rw.RagworthyError) as caught:
        result.write(out)
    assert str(caught.value).partition("\n")[0] == READ.format(out)
    assert Path(roles[role]).read_bytes() == before


@pytest.mark.parametrize(("name", "role"), params(("agreement", role) for role in FILES["agreement"]))
def test_the_table_that_a_policy_names_replaces_no_input(name: str, role: str) -> None:
    case, roles, options = laid(name)
    before = Path(roles[role]).read_bytes()
    done = run_cli("gate", "-c", c.write_policy(case, **options, tsv=roles[role]))
    message = f"{roles[role]}: expected a new file, or one of ours, got another file [RW-U03]"
    assert (done.code, done.err.partition("\n")[0]) == (2, message)
    assert Path(roles[role]).read_bytes() == before


REFERENCE = {name: FILES[name][:2] for name in ("answers", "retrieval", "stability", "pairs", "two_files")}


@pytest.mark.parametrize(
    ("name", "output", "role"),
    params(
        (name, output, role)
        for name, files in REFERENCE.items()
        for output in ("-o", "--tsv")
        for role in files
        if output == "-o" or suite_of(name) == "agreement"
    ),
)
def test_no_output_of_the_reference_profile_replaces_an_input(name: str, output: str, role: str) -> None:
    case, roles, _ = laid(name)
    before = Path(roles[role]).read_bytes()
    out = link_to(roles[role], ".json" if output == "-o" else ".tsv")
    done = run_cli(*c.command(case, "--profile", "reference", output, out))
    assert (done.code, done.err.partition("\n")[0]) == (2, READ.format(out))
    assert Path(roles[role]).read_bytes() == before


@pytest.mark.parametrize("role", params((role,) for role in FILES["structured"]))
def test_single_items_replace_no_input(role: str) -> None:
    case, roles, options = laid("structured")
    before = Path(roles[role]).read_bytes()
    out = link_to(roles[role], ".txt")
    done = run_cli(*c.command(case, "--item", "q1", "-o", out, **options))
    assert (done.code, done.err.partition("\n")[0]) == (2, READ.format(out))
    assert Path(roles[role]).read_bytes() == before


@pytest.fixture(scope="module")
def indexes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two indexes of the same documents, a gold set, queries, gates and a redirect table."""
    folder = tmp_path_factory.mktemp("indexes")
    (folder / "docs").mkdir()
    (folder / "docs/a.md").write_text("# A\n\nNames are free after a day.\n\n# B\n\nKeys are never null.\n")
    for name in ("old", "new"):
        done = run_cli("index", "build", "--docs", folder / "docs", "--out", folder / name, "--dense", "none")
        assert done.code == 0, done
    block = c.lines_of(folder / "old/chunks.jsonl")[0]
    gold = {"qid": "q1", "paraphrases": ["names", "free names", "a day"], "relevant": [block["chunk_id"]]}
    write_jsonl(folder / "gold.jsonl", [gold | {"anchor_section": block["section_id"]}])
    (folder / "queries.txt").write_text("names\nkeys\n")
    (folder / "gates.toml").write_text('"recall@5" = 0.5\n')
    assert run_cli("index", "migrate", folder / "old", folder / "new", "-o", folder / "table.json").code == 0
    return folder


INDEX_ROLES = {
    "gold": "gold.jsonl",
    "queries": "queries.txt",
    "gates": "gates.toml",
    "live": "old/manifest.json",
    "shadow": "new/chunks.jsonl",
}


@pytest.mark.parametrize("output", ["-o", "--rows"])
@pytest.mark.parametrize("role", INDEX_ROLES)
def test_no_output_of_index_diff_replaces_an_input(indexes: Path, output: str, role: str) -> None:
    target = indexes / INDEX_ROLES[role]
    before = target.read_bytes()
    out = link_to(str(target), OUTPUTS[output])
    files = ("--gold", indexes / "gold.jsonl", "--queries", indexes / "queries.txt", "--gates", indexes / "gates.toml")
    done = run_cli("index", "diff", indexes / "old", indexes / "new", *files, output, out)
    assert (done.code, done.err.partition("\n")[0]) == (2, READ.format(out))
    assert target.read_bytes() == before


REBIND_ROLES = {
    "file": "gold.jsonl",
    "redirects": "table.json",
    "old": "old/chunks.jsonl",
    "new": "new/chunks.jsonl",
}


@pytest.mark.parametrize("role", params([(role,) for role in REBIND_ROLES]))
def test_no_output_of_gold_rebind_replaces_an_input(indexes: Path, role: str) -> None:
    target = indexes / REBIND_ROLES[role]
    before = target.read_bytes()
    out = link_to(str(target), ".jsonl")
    corpora = ("--old", indexes / "old", "--new", indexes / "new")
    table = ("--redirects", indexes / "table.json")
    done = run_cli("gold", "rebind", indexes / "gold.jsonl", *table, *corpora, "-o", out)
    assert (done.code, done.err.partition("\n")[0]) == (2, READ.format(out))
    assert target.read_bytes() == before


# f. the same options everywhere

OUTPUT_KEYS = {name: {one.key for one in suite.inputs if one.written and one.meaning} for name, suite in SUITES.items()}
OF_OPERATORS = ("release", "baseline_cost", "fixes")
"""Settings that only operator records are looked at with."""
NAMED: dict[str, Any] = {
    "configuration": "first",
    "delta_s_model": "ngram",
    "fixes": ["rerank", "rewrite"],
    "refusals": [c.REFUSAL, "no idea"],
    "refusal_packs": ["en"],
    "refusal_starts": ["it is"],
    "refusal_patterns": ["^(it|he) is"],
    "slices": ["topic"],
    "scu": True,
    "rule_packs": ["wfgy-neg-4"],
}
"""Values that the data know."""


def other_than_usual(one: Setting) -> Any:
    """A value of a setting that is not its default."""
    if one.name in NAMED:
        return NAMED[one.name]
    if one.kind is bool:
        return not one.default
    if one.key.choices:
        return [choice for choice in one.key.choices if choice != one.default][-1]
    if one.key.reads == "ks":
        return [1, 2]
    if one.key.reads == "limits":
        return {limit.partition("=")[0]: 0.9 for limit in one.default[:2]}
    assert one.key.reads in ("positive", "share"), f"{one.name}: NAMED needs a value"
    return 0.01


def settings_for(name: str) -> dict[str, Any]:
    """A value for each setting of a case that is not the default, and another lock; packs come with the files."""
    fields = [one for one in SUITES[suite_of(name)].fields() if one.key.meaning and one.name != "rule_packs"]
    if name in c.VOTES:
        return {one.name: other_than_usual(one) for one in fields if name == "operators" and one.name in OF_OPERATORS}
    values = {one.name: other_than_usual(one) for one in fields if one.name not in OF_OPERATORS}
    return {"lock": "other.lock", **values}


TOP = {"evidence": "interval", "baseline": "earlier.json"}
NEEDS = {
    "rule_packs": ("scu",),
    "live_corpus": ("live",),
    "delta_s_model": ("corpus",),
    "batch_p95": ("use",),
    "max_drop": ("live",),
    "against_live": ("live",),
}
"""Keys that say something only with others."""


def policy_keys() -> dict[str, list[str]]:
    """The keys of each suite, as the generated page lists them."""
    page = (ROOT / "docs/policy-keys.md").read_text(encoding="utf-8")
    sections = re.findall(r"^## \[(\w+)\]\n(.*?)(?=^## )", page, re.MULTILINE | re.DOTALL)
    return {suite: re.findall(r"^\| `(\w+)` \|", text, re.MULTILINE) for suite, text in sections if suite in c.SUITES}


def optional_keys(name: str) -> list[str]:
    """The keys that a case can have besides the files that it needs."""
    votes = {key for one in c.VOTES for key in FILES[one]}
    keys = [key for key in policy_keys()[suite_of(name)] if key not in {*OUTPUT_KEYS[suite_of(name)], "defaults"}]
    if name in c.VOTES:
        return [key for key in keys if key in settings_for(name) or (key == "audit" and name == "operators")]
    there = {"gold", "traces", "questions", "outputs", "runs", "definition"}
    return [key for key in keys if key not in there | votes | set(OF_OPERATORS)]


def options_for(name: str, key: str, case: c.Case) -> dict[str, Any]:
    """The option with what it needs, and the files that it names."""
    if key == "baseline":
        c.baseline(case)
    if case.gold is not None:
        c.freeze(case, "--lock", "other.lock")
    known = c.more_files(case) | settings_for(name) | TOP
    return {one: known[one] for one in (key, *NEEDS.get(key, ()))}


def comparable(report: Mapping[str, Any]) -> dict[str, Any]:
    """A report without the name of the policy, and without the advice that names flags or keys of a policy."""
    advice = [step for step in report["next"] if step["pattern"] != "a gate was not measured"]
    return {key: value for key, value in report.items() if key != "provenance"} | {"next": advice}


def varied(name: str, key: str) -> c.Case:
    """A case in which the option makes a difference."""
    case = c.EVERY[name](Path())
    path = Path(case.files[case.runs])
    rows = c.lines_of(path)
    if case.suite == "latency":
        write_jsonl(path, [row | {"config_id": "first"} for row in rows] + [_worse(row) for row in rows])
    if key in ("provenance", "prompt"):
        write_jsonl(path, [{one: value for one, value in row.items() if one != "meta"} for row in rows])
    return case


def _worse(run: Mapping[str, Any]) -> dict[str, Any]:
    """The same run in a slower configuration, and wrong."""
    wrong = {"claim": "It is something else.", "citations": []}
    return {**run, "config_id": "second", "e2e_ms": run["e2e_ms"] + 50, "answer_json": wrong}


def keys_of_every_suite() -> list[Key]:
    return [(name, key) for name in (*c.SUITES, "operators") for key in (*optional_keys(name), *TOP)]


@pytest.mark.parametrize("suite", c.SUITES)
def test_every_key_of_the_policy_is_tried(suite: str) -> None:
    forms = [name for name in FILES if suite_of(name) == suite and name != "trec"]
    files = {key for name in forms for key in c.EVERY[name](Path()).files}
    tried = {key for name in forms for key in optional_keys(name)} | files | OUTPUT_KEYS[suite] | {"defaults"}
    assert tried == set(policy_keys()[suite])


@pytest.mark.parametrize(("name", "key"), params(keys_of_every_suite()))
def test_command_and_policy_take_the_same_option_and_report_the_same(name: str, key: str) -> None:
    case = varied(name, key)
    options = options_for(name, key, case)
    command, policy = (c.score(way, case, **options) for way in (c.COMMAND, c.POLICY))
    assert (command.line, policy.line) == ("", "")
    assert comparable(command.report) == comparable(policy.report)


@pytest.mark.parametrize(("name", "key"), params(keys_of_every_suite()))
def test_command_and_python_take_the_same_option_and_report_the_same(name: str, key: str) -> None:
    case = varied(name, key)
    options = options_for(name, key, case)
    command, python = (c.score(way, case, **options) for way in (c.COMMAND, c.PYTHON))
    assert (command.line, python.line) == ("", "")
    assert comparable(command.report) == comparable(python.report)


@pytest.mark.parametrize(("name", "key"), params(keys_of_every_suite()))
def test_an_option_is_not_ignored(name: str, key: str) -> None:
    case = varied(name, key)
    options = options_for(name, key, case)
    without = {one: value for one, value in options.items() if one != key}
    assert c.score(c.COMMAND, case, **options).report != c.score(c.COMMAND, case, **without).report


@pytest.mark.parametrize(
    ("name", "key"), params((name, key) for name in c.SUITES for key in ("unfrozen", "allow_gold_errors", "jobs"))
)
def test_command_and_python_take_the_same_flags(name: str, key: str) -> None:
    case = c.EVERY[name](Path())
    options: dict[str, Any] = {key: 1 if key == "jobs" else True}
    command, python = (c.score(way, case, **options) for way in (c.COMMAND, c.PYTHON))
    assert (command.line, comparable(command.report)) == ("", comparable(python.report))


@pytest.mark.parametrize("name", params([(name,) for name in (*c.SUITES, "operators")]))
def test_every_declared_setting_is_told_in_a_report_or_said_not_to_be(name: str) -> None:
    case = c.EVERY[name](Path())
    settings = c.score(c.COMMAND, case).report["suites"][case.suite]["settings"]
    fields = list(SUITES[case.suite].fields())
    assert {one.name for one in fields if one.key.told and not one.key.quiet} - settings.keys() == set()
    quiet = {one.name: NAMED[one.name] for one in fields if one.key.quiet} if name != "operators" else {}
    assert not quiet.keys() & settings.keys()
    assert quiet.keys() <= c.score(c.COMMAND, case, **quiet).report["suites"][case.suite]["settings"].keys()


@pytest.mark.parametrize(("name", "way"), params((name, way) for name in c.EVERY for way in c.WAYS if name != "trec"))
def test_default_gates_hold_beside_one_that_is_named_unless_somebody_says_no(name: str, way: str) -> None:
    case = c.EVERY[name](Path())
    gate = c.gate(case, min=case.least) + "optional = true\n"
    both, alone = (c.score(way, case, gate, alone=alone).report["gates"] for alone in (False, True))
    usual = c.score(way, case).report["gates"]
    kept = [one["metric"] for one in both if one.get("kept")]
    assert bool(kept) == (len(usual) > 1)  # raters have one default gate, which the one named replaces
    assert not [one for one in alone if one.get("kept")]
    assert {one["metric"] for one in usual} <= {one["metric"] for one in both}
    assert case.metric not in [one["metric"] for one in both if one.get("kept") and one["slice"] is None]


# g. nothing is written unasked


def written_by(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, *flags: str) -> set[str]:
    """The files that scoring leaves behind, in an empty working folder or beside its inputs."""
    inputs, empty = tmp_path / "inputs", tmp_path / "empty"
    inputs.mkdir()
    empty.mkdir()
    case = c.EVERY[name](inputs)
    before = set(tmp_path.rglob("*"))
    monkeypatch.chdir(empty)
    absolute = {key: str(inputs / file) for key, file in case.files.items()}
    done = run_cli(*c.command(case._replace(files=absolute), *flags))
    assert done.code in (0, 1, 3, 4), done
    return {str(path.relative_to(tmp_path)) for path in set(tmp_path.rglob("*")) - before}


@pytest.mark.parametrize("name", params([(name,) for name in c.EVERY]))
def test_a_score_writes_nothing_unasked(name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    assert written_by(name, tmp_path, monkeypatch) == set()


@pytest.mark.parametrize("name", ["agreement", *c.VOTES])
def test_the_table_of_disagreements_is_written_where_asked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert written_by(name, tmp_path, monkeypatch, "--tsv", "apart.tsv") == {"empty/apart.tsv"}


@pytest.mark.parametrize("name", params([(name,) for name in (*REFERENCE, "bundled", "latency")]))
def test_the_reference_profile_writes_nothing_unasked(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert written_by(name, tmp_path, monkeypatch, "--profile", "reference") == set()


@pytest.mark.parametrize("name", params([(name,) for name in FILES if name != "trec"]))
def test_python_writes_nothing_at_all(name: str, tmp_path: Path) -> None:
    case = c.EVERY[name](Path())
    before = set(tmp_path.rglob("*"))
    rw.score(case.suite, **case.files)
    assert set(tmp_path.rglob("*")) == before


# h. kinds of metrics

TRIAL = """
from ragworthy.metrics.registry import metric

def trial(facts, **_):
    "Trial."
    return 1.0

trial.__module__ = "ragworthy.metrics.retrieval"
told = dict(better="higher", cases="runs", event="trial", undefined="no run", source="trial", over="run")
metric(**told, kind="{kind}")(trial)
"""


def in_a_process(script: str) -> subprocess.CompletedProcess[str]:
    """A script in a process of its own: what it registers is gone afterwards."""
    return subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=60, check=False)


def test_a_metric_of_an_unknown_kind_is_refused_when_it_is_registered() -> None:
    done = in_a_process(TRIAL.format(kind="p750"))
    assert done.returncode != 0
    assert "p750" in done.stderr.splitlines()[-1] and "retrieval.trial" in done.stderr.splitlines()[-1]


def test_a_metric_of_a_known_kind_is_registered() -> None:
    done = in_a_process(TRIAL.format(kind="mean"))
    assert (done.returncode, done.stderr) == (0, "")


# i. what TREC files can show

ONLY_RANKS = "TREC files hold ids and ranks only"


def undefined_in(report: Mapping[str, Any]) -> dict[str, str | None]:
    """Why each metric of retrieval has no value; None for those that have one."""
    return {name: one["undefined"] for name, one in report["suites"]["retrieval"]["metrics"].items()}


def imported() -> c.Case:
    """The same judgements and run as a gold set and traces: nothing but ids and ranks is in them."""
    outputs = ("--gold-out", "gold.jsonl", "--trace-out", "traces.jsonl")
    done = run_cli("import", "trec", "--qrels", "qrels.txt", "--run", "run.txt", *outputs)
    assert done.code == 0, done
    return c.Case(
        "imported", "retrieval", {"gold": "gold.jsonl", "traces": "traces.jsonl"}, "retrieval.recall@5", "gold"
    )


def test_trec_files_lack_something_for_every_metric_that_is_said_to_need_more() -> None:
    case = c.trec(Path())
    direct = undefined_in(c.score(c.COMMAND, case, c.gate(case, min=0.5)).report)
    other = imported()
    native = undefined_in(c.score(c.COMMAND, other, c.gate(other, min=0.5)).report)
    assert direct.keys() == native.keys()
    assert [name for name, why in direct.items() if why == ONLY_RANKS and native[name] is None] == []


def test_metrics_that_trec_files_do_not_give_all_say_why() -> None:
    case = c.trec(Path())
    said = undefined_in(c.score(c.COMMAND, case, c.gate(case, min=0.5)).report)
    assert {why for why in said.values() if why is not None} == {ONLY_RANKS}


def test_a_new_metric_over_ranks_is_not_said_to_need_more_than_trec_files_hold() -> None:
    c.trec(Path())
    command = ["score", "retrieval", "--qrels", "qrels.txt", "--run", "run.txt", "--gates", "recall@5=0.5", "-q"]
    script = f"import ragworthy.metrics.retrieval\n{TRIAL.format(kind='mean')}\n"
    script += f"from ragworthy.cli.main import main\nmain({[*command, '-o', 'trial.json']})\n"
    done = in_a_process(script)
    said = undefined_in(json.loads(Path("trial.json").read_text()))
    assert said["retrieval.trial"] != ONLY_RANKS, done
