"""Locked constraints: one meaning in every suite, what contradicts them, and which of the two was broken."""

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from conftest import Row, run_cli, write_jsonl
from places import DATA
from ragworthy.load.packs import load_pack
from ragworthy.metrics.facts.constraints import contradicted

LOCK = "X rejects null keys."
GOLD = {
    "qid": "A0001",
    "question": "Does X support null keys?",
    "answerable": True,
    "gold_claim_substr": ["null keys"],
    "gold_citations": ["p1#2"],
    "constraints": [LOCK],
}
ECHOED, OPPOSITE = [LOCK], "X supports null keys."
RIGHT = "X rejects null keys."


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("gold.jsonl"), [GOLD])


def answered(claim: str, echo: list[str] | None, **fields: Any) -> Row:
    answer = {"claim": claim, "citations": ["p1#2"], "constraints_echo": echo}
    return {"qid": "A0001", "retrieved_ids": ["p1#1", "p1#2"], "answer_json": answer} | fields


def score(suite: str, claim: str, echo: list[str] | None, *flags: str) -> tuple[Row, Row]:
    """What a suite says of one question with a lock: the whole report, and its own part."""
    runs = [answered(claim, echo, seed=seed, e2e_ms=100.0) for seed in (0, 1)]
    write_jsonl(Path("runs.jsonl"), runs[:1] if suite in ("answers", "agreement") else runs)
    given = "--trace" if suite in ("answers", "agreement") else "--runs"
    done = run_cli("score", suite, "--gold", "gold.jsonl", given, "runs.jsonl", "--format", "json", *flags)
    assert done.err == ""
    report: Row = json.loads(done.out)
    body: Row = report["suites"][suite]
    return report, body


def keeps(suite: str, body: Row) -> bool:
    """Whether the question counts as right."""
    if suite == "answers":
        return bool(body["metrics"]["answers.precision"]["value"] == 1)
    if suite == "latency":
        return bool(body["metrics"]["answers.precision"]["value"] == 1)
    if suite == "stability":
        return bool(body["metrics"]["stability.failing_questions"]["value"] == 0)
    return not body["counts"]["red_flags"]


SUITES = ("answers", "stability", "latency", "agreement")


@pytest.mark.parametrize("suite", SUITES)
@pytest.mark.parametrize(("claim", "echo"), [(RIGHT, None), (RIGHT, ["another"]), (OPPOSITE, ECHOED)])
def test_a_broken_constraint_counts_where_it_is_enforced_and_nowhere_else(
    suite: str, claim: str, echo: list[str] | None
) -> None:
    _, unasked = score(suite, claim, echo)
    assert keeps(suite, unasked)
    told = {one["code"]: one["message"] for one in unasked["warnings"]}
    assert told["RW-W14"] == "1 gold item carries constraints that were not checked"
    _, enforced = score(suite, claim, echo, "--scu-enforced")
    assert not keeps(suite, enforced)
    assert "RW-W14" not in {one["code"] for one in enforced["warnings"]}


@pytest.mark.parametrize("suite", SUITES)
def test_a_kept_constraint_counts_nowhere(suite: str) -> None:
    for flags in ((), ("--scu-enforced",), ("--scu-enforced", "--rule-pack", "none")):
        assert keeps(suite, score(suite, RIGHT, ECHOED, *flags)[1])


@pytest.mark.parametrize("suite", SUITES)
def test_the_rules_are_switched_off_by_name_and_the_report_says_so(suite: str) -> None:
    _, usual = score(suite, OPPOSITE, ECHOED, "--scu-enforced")
    assert [pack["id"] for pack in usual["settings"]["rule_packs"]] == ["opposites-en"]
    _, off = score(suite, OPPOSITE, ECHOED, "--scu-enforced", "--rule-pack", "none")
    assert keeps(suite, off)
    assert (off["settings"]["scu"], off["settings"]["rule_packs"]) == (True, [])


@pytest.mark.parametrize(
    ("suite", "gate"),
    [
        ("answers", "scu_violations=0"),
        ("answers", "scu=1"),
        ("stability", "scu_consistency=1"),
        ("latency", "answers.scu_violations=0"),
    ],
)
def test_a_gate_that_needs_constraints_enforces_them(suite: str, gate: str) -> None:
    report, _ = score(suite, OPPOSITE, ECHOED, "--gates", gate)
    assert report["verdict"] == "NO-SHIP"


def test_the_command_that_shows_a_question_names_the_rules_it_was_judged_by() -> None:
    write_jsonl(Path("runs.jsonl"), [answered(OPPOSITE, None)])
    files = ("score", "answers", "--gold", "gold.jsonl", "--trace", "runs.jsonl", "--scu-enforced")
    assert "--scu-enforced\n" in run_cli(*files).out
    assert "--scu-enforced --rule-pack none\n" in run_cli(*files, "--rule-pack", "none").out
    assert "--scu-enforced --rule-pack wfgy-neg-4\n" in run_cli(*files, "--rule-pack", "wfgy-neg-4").out


def test_a_receipt_without_rules_verifies() -> None:
    write_jsonl(Path("runs.jsonl"), [answered(OPPOSITE, ECHOED)])
    Path("ragworthy.toml").write_text(
        'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "runs.jsonl"\nscu = true\nrule_packs = ["none"]\n'
        '[[gate]]\nmetric = "answers.precision"\nmin = 1\n'
    )
    run_cli("gate", "--receipt", "receipt.json")
    assert run_cli("verify", "receipt.json").code == 0


# advice


AGAINST = "lock the constraints in the prompt; where the claims are right after all, --rule-pack none stops looking"
WORDS = {
    "not echoed": (
        RIGHT,
        None,
        "right, but the locked constraints were not echoed",
        "1 right, without an echo of the locked constraints: lock the constraints in the prompt and write "
        "them to answer_json.constraints_echo; the claims are not the reason",
    ),
    "contradicted": (
        OPPOSITE,
        ECHOED,
        "the claim contradicts a locked constraint",
        f"1 contradicting a locked constraint: {AGAINST}",
    ),
    "both": (
        OPPOSITE,
        None,
        "the claim contradicts a locked constraint, and these were not echoed",
        f"1 contradicting a locked constraint, without an echo: {AGAINST}",
    ),
}


@pytest.mark.parametrize("which", WORDS)
def test_advice_tells_a_broken_echo_from_a_wrong_claim(which: str) -> None:
    claim, echo, why, do = WORDS[which]
    report, body = score("answers", claim, echo, "--scu-enforced")
    assert body["metrics"]["answers.containment"]["value"] == 1
    assert body["metrics"]["answers.chr"]["value"] == 1
    [worst] = body["offenders"]
    assert (worst["label"], worst["stage"], worst["cause"], worst["why"]) == (
        "SCU_VIOLATION", "constraints", "constraint_broken", why,
    )  # fmt: skip
    steps = [one for one in report["next"] if one["pattern"].startswith("constraints")]
    assert [one["do"] for one in steps] == [do]
    assert "gold text" not in json.dumps(report["next"])


def test_stability_says_which_of_the_two_it_was() -> None:
    report, body = score("stability", RIGHT, None, "--scu-enforced")
    assert body["offenders"][0]["why"].startswith("the locked constraints were not echoed in every run: ")
    assert report["next"][0]["pattern"] == "constraints are not echoed (1 question)"
    report, body = score("stability", RIGHT, [*ECHOED, "Others."], "--scu-enforced")
    assert body["offenders"][0]["why"].startswith("more was echoed than the locked constraints in 2 of 2 runs: ")
    assert report["next"][0]["pattern"] == "more is echoed than the locked constraints (1 question)"
    report, body = score("stability", OPPOSITE, ECHOED, "--scu-enforced")
    assert body["offenders"][0]["why"].startswith("the claim contradicts a locked constraint in 2 of 2 runs: ")
    assert report["next"][0]["pattern"] == "claims contradict locked constraints (1 question)"


# the bundled rules

OPPOSITES = [
    (LOCK, "X supports null keys."),
    (LOCK, "It accepts the null keys, too."),
    (LOCK, "X rejects null keys. X supports null keys."),
    ("X does not support null keys.", "X supports null keys."),
    ("X supports null keys.", "X does not support null keys."),
    ("X supports null keys.", "X rejects null keys."),
    ("Users must sign in.", "Users may sign in."),
    ("Users must sign in.", "Users do not have to sign in."),
    ("Never share keys.", "You can share keys."),
    ("Keys must not be shared.", "Keys may be shared."),
    ("Keys must be rotated.", "Keys need not be rotated."),
    ("Only domain example.com is allowed.", "We allow any domain."),
    ("Only domain example.com is allowed.", "You can use any domain."),
    ("Only domain example.com is allowed.", "Any domain is allowed."),
    ("Only domain example.com is allowed.", "All domains can be used."),
    (LOCK, "Null keys are supported by X."),
    (LOCK, "Null keys are supported."),
    (LOCK, "Yes, X also supports null keys."),
    (LOCK, "Supports null keys."),
    ("Never allow null keys.", "X allows null keys."),
    ("X supports null keys.", "Null keys are not supported by X."),
    ("X supports null keys.", "Null keys are rejected."),
    ("Users must sign in.", "Signing in is optional."),
    ("Users must rotate keys.", "Rotating keys is not required."),
    ("Never share keys.", "Keys can be shared."),
    ("X rejects version 2.0.", "X accepts version 2.0."),
    ("The API rejects requests without a token.", "The API\naccepts requests without a token."),
    (LOCK, "X no longer rejects null keys."),
    (LOCK, "It no longer rejects null keys."),
    ("X supports null keys.", "X no longer supports null keys."),
    ("X must not log secrets.", "X logs secrets"),
    ("The service never pushes images.", "Yes, the service still pushes images."),
]
AGREEING = [
    (LOCK, "X does not support null keys."),
    (LOCK, "X rejects null keys."),
    (LOCK, "X supports null values."),
    (LOCK, "X supports null."),
    (LOCK, "Does X support null keys? No."),
    (LOCK, "X rejects null keys, while Y supports null keys."),
    (LOCK, "No, X never accepts null keys."),
    (LOCK, "It is not true that X supports null keys."),
    (LOCK, "If X supports null keys, it is another X."),
    (LOCK, "X no longer supports null keys."),
    (LOCK, "Y supports null keys."),
    (LOCK, "Null keys are supported by Y."),
    (LOCK, "X allows null keys, never."),
    (LOCK, "Null keys are not supported by X."),
    ("X supports null keys.", "Y rejects null keys."),
    ("X supports null keys.", "Null keys are rejected by Y."),
    ("X supports null keys.", "Null keys are supported by X."),
    ("Users must sign in.", "Signing up is optional."),
    ("Users must sign in.", "If signing in is optional, this is another page."),
    ("Never share keys.", "Lists can be shared."),
    ("Never share keys.", "Keys can be shared, never."),
    ("Never share keys.", "Can keys be shared?"),
    ("Only domain example.com is allowed.", "Any domain is allowed, never."),
    ("Only domain example.com is allowed.", "Any path is allowed."),
    ("Never share keys.", "It can be set in May."),
    ("X rejects version 2.0.", "X accepts version 2.1."),
    ("Users must sign in.", "Users must sign in, and may stay."),
    ("Users must sign in.", "Users may sign in with a key."),
    ("Keys must not be shared.", "Lists may be shared."),
    ("Only domain example.com is allowed.", "Only domain example.com is allowed."),
    ("Only domain example.com is allowed.", "No, it does not allow any domain."),
    (LOCK, "It is wrong that X supports null keys; X rejects null keys."),
    ("X supports null keys.", "It is false that X rejects null keys."),
    ("X supports null keys.", "X no longer rejects null keys."),
    (LOCK, "Y no longer rejects null keys."),
    ("Files on a disk that does not support locks.", "Files on a disk that does not support locks."),
    ("does not support prefix queries.", "does not support prefix queries."),
    ("X must not log secrets.", "X does not log secrets."),
    ("X must not log secrets.", "X never logs secrets."),
    ("X must not log secrets.", "X logs secrets? No."),
    ("X must not log secrets.", "Y logs secrets."),
    ("X must not log secrets.", "If X logs secrets, stop it."),
]


@pytest.mark.parametrize(("lock", "claim"), OPPOSITES)
def test_the_opposite_of_a_lock_contradicts_it(lock: str, claim: str) -> None:
    assert contradicted([lock], claim, load_pack("opposites-en", Path()).rules)


@pytest.mark.parametrize(("lock", "claim"), AGREEING)
def test_what_agrees_with_a_lock_or_is_about_something_else_does_not(lock: str, claim: str) -> None:
    assert not contradicted([lock], claim, load_pack("opposites-en", Path()).rules)


@pytest.mark.parametrize("words", ["a ", "must ", "allows any ", "supports null "])
def test_the_bundled_rules_end_in_time_on_any_claim(words: str) -> None:
    locks = [LOCK, "Users must sign in.", "Never share keys.", "Only domain example.com.", "never must reject " * 99]
    assert not contradicted(locks, words * 100_000, load_pack("opposites-en", Path()).rules)


def test_a_claim_may_repeat_what_a_group_of_the_lock_matched() -> None:
    Path("own.toml").write_text(
        "id = 'own'\n[[rule]]\nlocked = 'deletes (?P<what>[a-z]+)'\nclaim = 'keeps (?P=what)'\n"
    )
    rules = load_pack("own.toml", Path("own.toml")).rules
    assert contradicted(["It deletes logs."], "It keeps LOGS for ever.", rules)
    assert not contradicted(["It deletes logs."], "It keeps files for ever.", rules)
    assert not contradicted(["It deletes logs."], "It deletes logs.", rules)


def test_a_group_that_the_lock_does_not_have_is_an_error() -> None:
    Path("own.toml").write_text("id = 'own'\n[[rule]]\nlocked = 'a'\nclaim = 'keeps (?P=what)'\n")
    write_jsonl(Path("runs.jsonl"), [answered(RIGHT, ECHOED)])
    done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "runs.jsonl", "--rule-pack", "own.toml")
    assert done.code == 2
    assert done.err.splitlines()[0] == (
        "own.toml: rule[0].claim: expected a regular expression, got one that fails: unknown group name 'what' at "
        "position 10 [RW-K01]"
    )


@pytest.mark.parametrize("suite", ["answers", "stability", "latency", "agreement"])
def test_locks_that_no_rule_knows_are_counted(suite: str) -> None:
    write_jsonl(Path("gold.jsonl"), [GOLD | {"constraints": ["Prices are in euros."]}])
    body = score(suite, RIGHT, ["Prices are in euros."], "--scu-enforced")[1]
    told = [one["message"] for one in body["warnings"] if one["code"] == "RW-W157"]
    assert told == ["1 gold item carries constraints that no rule knows: only the echo of these was checked"]
    for flags in (["--scu-enforced", "--rule-pack", "none"], []):
        more = score(suite, RIGHT, ["Prices are in euros."], *flags)[1]["warnings"]
        assert "RW-W157" not in [one["code"] for one in more]


def test_locks_that_a_rule_knows_are_not() -> None:
    body = score("answers", RIGHT, ECHOED, "--scu-enforced")[1]
    assert "RW-W157" not in [one["code"] for one in body["warnings"]]


def test_an_echo_with_one_more_is_called_that() -> None:
    report, body = score("answers", RIGHT, [LOCK, "And more."], "--scu-enforced")
    (one,) = body["offenders"]
    assert one["why"] == "right, but more was echoed than the locked constraints"
    assert any("more in the echo" in step["do"] for step in report["next"])
    both = score("answers", f"{RIGHT} {OPPOSITE}", [LOCK, "And more."], "--scu-enforced")[1]
    assert both["offenders"][0]["why"].endswith("contradicts a locked constraint, and more than these was echoed")


def test_locks_echo_and_rule_are_shown_wherever_a_question_is() -> None:
    known = {
        "locked": [LOCK],
        "echo": [],
        "against": [{"lock": LOCK, "rule": "opposites-en: rejects X × supports X, X is supported"}],
    }
    body = score("answers", f"{RIGHT} {OPPOSITE}", [], "--scu-enforced", "--rows", "rows.jsonl")[1]
    assert body["offenders"][0]["constraints"] == known
    assert json.loads(Path("rows.jsonl").read_text())["constraints"] == known
    shown = run_cli(
        "show", "A0001", "--suite", "answers", "--gold", "gold.jsonl", "--trace", "runs.jsonl", "--scu-enforced"
    ).out
    assert f"locked: {LOCK}" in shown
    assert "echoed: nothing" in shown
    assert "by the rule opposites-en: rejects X × supports X" in " ".join(shown.split())


SENTENCE = re.compile(r"(?<=[.!?])\s+|\n+")


def sentences(text: str) -> list[str]:
    return [one.strip() for one in SENTENCE.split(text) if 15 < len(one.strip()) < 400]


def pages() -> Iterator[str]:
    with gzip.open(DATA / "docs_ingest/fastapi_en_live_2025-08/dev.jsonl.gz", "rt") as lines:
        yield from (json.loads(line)["text"] for line in lines)


@pytest.mark.data("data/docs_ingest/fastapi_en_live_2025-08")
def test_no_sentence_of_a_page_contradicts_another() -> None:
    rules, known = load_pack("opposites-en", Path()).rules, 0
    for page in pages():
        for lock in sentences(page):
            if any(rule.locked.search(lock.lower(), timeout=2.0) for rule in rules):
                known += 1
                assert [one for one in sentences(page)[:300] if contradicted([lock], one, rules)] == []
    assert known > 100


@pytest.mark.data("data/llm_answers/expertqa/dev")
def test_no_claim_that_experts_call_supported_contradicts_its_evidence() -> None:
    folder, rules = DATA / "llm_answers/expertqa/dev", load_pack("opposites-en", Path()).rules
    evidence: dict[str, list[str]] = {}
    for line in (folder / "evidence_corpus.jsonl").read_text().splitlines():
        one = json.loads(line)
        evidence.setdefault(one["section_id"], []).extend(sentences(one["text"]))
    looked = 0
    for line in (folder / "trace.jsonl").read_text().splitlines():
        one = json.loads(line)
        for claim in (each["text"] for each in one["label"]["claims"] if each["support"] == "Complete"):
            looked += 1
            assert not contradicted(evidence.get(one["qid"], []), claim, rules), claim
    assert looked > 700
