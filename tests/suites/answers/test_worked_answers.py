"""The worked examples W-01 … W-21 of the spec, through the command line, with their arithmetic.

Values marked [ref] there are those of the sources' own scorer and are checked with `--profile reference`.
"""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from conftest import G1, G2, G3, T1, T2, T3, Done, Row, run_cli, write_jsonl
from ragworthy.load.packs import load_pack
from ragworthy.metrics.facts.constraints import contradicted

EXAMPLE_GOLD = [G1(), G2(), G3()]
EXAMPLE_TRACES = [T1(), T2(), T3()]


class Scored(NamedTuple):
    """A default-profile report, with short ways to its parts."""

    code: int
    report: Row
    rows: list[Row]

    @property
    def suite(self) -> Row:
        suite: Row = self.report["suites"]["answers"]
        return suite

    @property
    def counts(self) -> dict[str, int]:
        counts: dict[str, int] = self.suite["counts"]
        return counts

    def ratio(self, metric: str) -> tuple[int, int | None]:
        number = self.suite["metrics"][f"answers.{metric}"]
        return number["num"], number["den"]

    def value(self, metric: str) -> float | None:
        value: float | None = self.suite["metrics"][f"answers.{metric}"]["value"]
        return value

    def gate(self, metric: str) -> Row:
        return next(gate for gate in self.report["gates"] if gate["metric"] == f"answers.{metric}")

    def outcome(self, metric: str) -> str:
        return str(self.gate(metric)["outcome"])

    def warned(self) -> set[str]:
        return {warning["name"] for warning in self.suite["warnings"]}

    def labels(self) -> dict[str, str]:
        return {row["qid"]: row["label"] for row in self.rows}


class Bench:
    """Writes gold and traces, and scores them in either profile."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def run(self, gold: list[Row], traces: list[Row], *flags: str) -> Done:
        gold_path = write_jsonl(self.folder / "gold.jsonl", gold)
        trace_path = write_jsonl(self.folder / "trace.jsonl", traces)
        return run_cli("score", "answers", "--gold", gold_path, "--trace", trace_path, *flags)

    def score(self, gold: list[Row], traces: list[Row], *flags: str) -> Scored:
        rows = self.folder / "rows.jsonl"
        done = self.run(gold, traces, "--format", "json", "--rows", str(rows), *flags)
        assert done.err == ""
        report = json.loads(done.out)
        assert report["exit_code"] == done.code
        return Scored(done.code, report, [json.loads(line) for line in rows.read_text().splitlines()])

    def refused(self, gold: list[Row], traces: list[Row], *flags: str) -> str:
        """What stderr says when nothing is scored: exit 2, no report."""
        done = self.run(gold, traces, *flags)
        assert (done.code, done.out) == (2, "")
        assert "Traceback" not in done.err
        return done.err

    def reference(self, gold: list[Row], traces: list[Row], *flags: str) -> Row:
        done = self.run(gold, traces, "--profile", "reference", *flags)
        assert done.err == ""
        printed: Row = json.loads(done.out)
        assert done.code == (0 if printed["pass"] else 1)  # C-20a: the exit code follows the verdict
        return printed

    def reference_stops(self, gold: list[Row], traces: list[Row], *flags: str) -> None:
        """The reference scorer crashes there; ours says so."""
        assert "[RW-U02]" in self.refused(gold, traces, "--profile", "reference", *flags)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def shown(printed: Row, *keys: str) -> tuple[Any, ...]:
    return tuple(printed[key] for key in keys)


def claiming(claim: Any, trace: Callable[[], Row] = T2) -> Row:
    changed = trace()
    changed["answer_json"]["claim"] = claim
    return changed


def without(row: Row, key: str) -> Row:
    return {name: value for name, value in row.items() if name != key}


# W-01


def test_w01_seed_example(bench: Bench) -> None:
    scored = bench.score(EXAMPLE_GOLD, EXAMPLE_TRACES)
    assert (scored.code, scored.report["verdict"]) == (0, "SHIP")
    assert scored.counts == {
        "gold": 3, "answered": 2, "refused": 1, "missing": 0, "errored": 0, "answerable": 2,
        "unanswerable": 1, "duplicate_traces": 0, "orphan_traces": 0,
    }  # fmt: skip
    assert scored.ratio("precision") == (2, 2)  # A0001 and A0003 of the two shipped
    assert scored.ratio("chr") == (2, 2)
    assert scored.ratio("under_refusal") == (0, 1)
    assert scored.ratio("over_refusal") == (0, 2)
    assert scored.ratio("recall@5") == (2, 2)
    assert scored.ratio("compliance") == (3, 3)
    assert scored.ratio("missing") == (0, None)
    assert scored.labels() == {"A0001": "OK", "A0002": "REFUSAL_OK", "A0003": "OK"}


def test_w01_reference_bytes(bench: Bench) -> None:
    done = bench.run(EXAMPLE_GOLD, EXAMPLE_TRACES, "--profile", "reference")
    # The `gates` object takes 6 lines (C-17), strings as given.
    assert (done.code, done.err) == (0, "")
    assert done.out == (
        '{\n  "answered": 2,\n  "refused": 1,\n  "answerable": 2,\n  "unanswerable": 1,\n'
        '  "precision": 1.0,\n  "chr": 1.0,\n  "under_refusal": 0.0,\n  "over_refusal": 0.0,\n'
        '  "recall@k": 1.0,\n  "k": 5,\n  "gates": {\n    "precision": "0.80",\n    "chr": "0.75",\n'
        '    "under": "0.05",\n    "over": "0.10"\n  },\n  "pass": true\n}\n'
    )


# W-02


def test_w02_scu_without_echo(bench: Bench) -> None:
    scored = bench.score(EXAMPLE_GOLD, EXAMPLE_TRACES, "--scu-enforced")
    # A0001 is locked and echoes nothing: K false. A0003 has no constraints: K true.
    assert scored.ratio("scu_violations") == (1, None)
    assert scored.ratio("precision") == (1, 2)  # 1/2 = 0.5
    assert scored.ratio("chr") == (2, 2)
    assert scored.ratio("scu") == (1, 2)
    assert scored.outcome("scu_violations") == "fail"
    assert (scored.code, scored.labels()["A0001"]) == (1, "SCU_VIOLATION")


def test_w02_scu_with_echo(bench: Bench) -> None:
    echoing = T1()
    echoing["answer_json"]["constraints_echo"] = ["X rejects null keys. "]  # C-14: trimmed
    scored = bench.score(EXAMPLE_GOLD, [echoing, T2(), T3()], "--scu-enforced")
    assert (scored.ratio("scu_violations"), scored.ratio("precision")) == ((0, None), (2, 2))
    assert scored.code == 0


def test_w02_scu_is_off_without_being_asked_for(bench: Bench) -> None:
    scored = bench.score(EXAMPLE_GOLD, EXAMPLE_TRACES)  # C-05: constraints in gold do not switch it on
    assert scored.ratio("scu_violations") == (0, None)
    assert "scu_not_in_use" in scored.warned()
    by_gate = bench.score(EXAMPLE_GOLD, EXAMPLE_TRACES, "--gates", "precision=0.80,scu_violations=0")
    assert (by_gate.ratio("scu_violations"), by_gate.ratio("precision")) == ((1, None), (1, 2))


# W-03, W-04: missing traces. The examples say "gate missing ≤ 0 fails"; design §5 makes that INVALID, exit 4.


def test_w03_missing_trace_answerable(bench: Bench) -> None:
    scored = bench.score(EXAMPLE_GOLD, [T2(), T3()])
    counts = scored.counts
    assert (counts["answered"], counts["refused"], counts["missing"]) == (1, 1, 1)
    assert scored.ratio("precision") == (1, 1)
    assert scored.ratio("chr") == (1, 1)
    assert scored.ratio("recall@5") == (1, 2)  # the missing question stays in the denominator
    assert (scored.ratio("missing"), scored.outcome("missing")) == ((1, None), "fail")
    assert (scored.code, scored.report["verdict"]) == (4, "INVALID")
    printed = bench.reference(EXAMPLE_GOLD, [T2(), T3()])
    # Folded into "answered": S = 2, one of them right.
    assert shown(printed, "answered", "precision", "chr") == (2, 0.5, 0.5)
    assert shown(printed, "over_refusal", "recall@k", "pass") == (0.0, 0.5, False)


def test_w04_missing_trace_unanswerable(bench: Bench) -> None:
    scored = bench.score(EXAMPLE_GOLD, [T1(), T3()])
    assert scored.ratio("under_refusal") == (0, 1)  # neither an answer nor a refusal
    assert scored.ratio("missing") == (1, None)
    assert (scored.code, scored.report["verdict"]) == (4, "INVALID")
    printed = bench.reference(EXAMPLE_GOLD, [T1(), T3()])
    # 2 right of 3 "shipped" = 0.6667; the unanswerable one counts as answered: 1/1.
    assert shown(printed, "answered", "precision", "chr") == (3, 0.6667, 0.6667)
    assert shown(printed, "under_refusal", "pass") == (1.0, False)


# W-05


def test_w05_missing_trace_scored_as_correct(bench: Bench) -> None:
    bare = {"qid": "B1", "question": "?", "answerable": True, "gold_claim_substr": [], "gold_citations": []}
    said = bench.refused([bare], [])
    assert "RW-G06" in said
    assert "answerable_without_citations" in said
    printed = bench.reference([bare], [])
    assert shown(printed, "precision", "chr", "recall@k", "pass") == (1.0, 1.0, 1.0, True)


def test_w05_forced(bench: Bench) -> None:
    bare = {"qid": "B1", "question": "?", "answerable": True, "gold_claim_substr": [], "gold_citations": []}
    other = {"qid": "other", "retrieved_ids": [], "answer_json": {"claim": "not in context"}}
    scored = bench.score([bare], [other], "--allow-gold-errors")
    # Spec §4: bucket M, never a true positive; the item leaves both sides of recall.
    assert (scored.counts["missing"], scored.code) == (1, 4)
    assert scored.ratio("precision") == (0, 0)
    assert scored.ratio("recall@5") == (0, 0)
    assert scored.value("precision") is None


# W-06


def w06() -> tuple[list[Row], list[Row]]:
    gold: list[Row] = [
        {
            "qid": f"Q{i}",
            "question": f"Question {i}?",
            "answerable": True,
            "gold_claim_substr": ["alpha beta"],
            "gold_citations": [f"d#{i}"],
        }
        for i in range(1, 5)
    ]
    gold.append({"qid": "U1", "question": "None?", "answerable": False})
    gold[-1] |= {"gold_claim_substr": [], "gold_citations": []}

    def trace(qid: str, retrieved: list[str], claim: str, citations: Any) -> Row:
        answer = {"claim": claim, "citations": citations}
        return {"qid": qid, "retrieved_ids": retrieved, "answer_json": answer}

    right = "Alpha beta holds"
    traces = [
        trace("Q1", ["d#1", "x#1"], right, ["d#1"]),
        trace("Q2", ["x#1", "d#2"], right, ["x#1"]),
        trace("Q3", ["x#1", "x#2"], right, ["x#1"]),
        trace("Q4", ["d#4"], "not in context", []),
        trace("U1", ["x#1"], right, "x#1"),
    ]
    return gold, traces


def test_w06_five_items(bench: Bench) -> None:
    scored = bench.score(*w06(), "--k", "5,1")
    # Shipped: Q1, Q2, Q3, U1. Right and cited: Q1.
    assert scored.ratio("precision") == (1, 4)
    assert scored.ratio("chr") == (1, 4)
    assert scored.ratio("under_refusal") == (1, 1)
    assert scored.ratio("over_refusal") == (1, 4)  # Q4
    assert scored.ratio("recall@5") == (3, 4)  # all but Q3
    assert scored.ratio("recall@1") == (2, 4)  # Q1 and Q4 have it first
    assert scored.ratio("hit@5") == (3, 4)
    assert scored.ratio("hit@1") == (2, 4)
    assert scored.ratio("chr_ceiling@5") == (2, 4)  # Q1, Q2 of the shipped (the spec's chr_ub)
    assert scored.ratio("chr_ceiling@1") == (1, 4)  # Q1
    assert (scored.ratio("compliance"), scored.value("compliance")) == ((4, 5), 0.8)  # U1: not a list
    assert (scored.code, scored.report["verdict"]) == (1, "NO-SHIP")
    assert [(one["qid"], one["label"]) for one in scored.suite["offenders"]] == [
        ("U1", "HALLUCINATION"),
        ("Q2", "ANS_NO_HIT"),
        ("Q3", "ANS_NO_HIT"),
        ("Q4", "OVER_REFUSAL"),
    ]


@pytest.mark.parametrize(("k", "recall"), [("5", 0.75), ("1", 0.5)])
def test_w06_reference(bench: Bench, k: str, recall: float) -> None:
    printed = bench.reference(*w06(), "--k", k)
    assert shown(printed, "precision", "chr", "under_refusal", "over_refusal") == (0.25, 0.25, 1.0, 0.25)
    assert shown(printed, "recall@k", "pass") == (recall, False)


# W-07


@pytest.mark.parametrize(
    ("claim", "refused", "warning"),
    [
        ("not in context", True, None),
        (" NOT in Context\n", True, "refusal_not_exact"),
        ("\u00a0not in context\u3000", True, "refusal_not_exact"),
        ("not in context.", False, "near_refusal"),
        ("not  in context", False, "near_refusal"),
    ],
)
def test_w07_refusal_spelling(bench: Bench, claim: str, refused: bool, warning: str | None) -> None:
    scored = bench.score([G2()], [claiming(claim)])
    assert (scored.counts["refused"], scored.counts["answered"]) == (int(refused), int(not refused))
    assert scored.ratio("under_refusal") == (int(not refused), 1)
    assert scored.labels() == {"A0002": "REFUSAL_OK" if refused else "HALLUCINATION"}
    assert scored.warned() & {"refusal_not_exact", "near_refusal"} == ({warning} if warning else set())
    assert bench.reference([G2()], [claiming(claim)])["under_refusal"] == float(not refused)


# W-08


def pieces(value: Any) -> list[Row]:
    return [G1() | {"gold_claim_substr": value}]


@pytest.mark.parametrize(
    ("gold", "precision"),
    [
        (pieces(["null"]), 0.0),  # 4 characters
        (pieces([""]), 0.0),
        (pieces(["null", "NULL KEYS"]), 1.0),
        (pieces([" null"]), 1.0),  # 5 with the blank
        (pieces([]), 1.0),  # vacuous
        ([without(G1(), "gold_claim_substr")], 0.0),  # only [] is vacuous there (C-02)
        (pieces(None), 0.0),
        (pieces("rejects null keys"), 0.0),  # letter by letter
    ],
)
def test_w08_containment_reference(bench: Bench, gold: list[Row], precision: float) -> None:
    assert shown(bench.reference(gold, [T1()]), "precision", "chr") == (precision, 1.0)


def test_w08_number_stops_the_reference(bench: Bench) -> None:
    bench.reference_stops(pieces([12345]), [T1()])
    assert "RW-G03" in bench.refused(pieces([12345]), [T1()])


@pytest.mark.parametrize(
    ("gold", "warning"),
    [
        (pieces(["null", "NULL KEYS"]), "short_entries"),
        (pieces([" null"]), None),
        (pieces([]), "vacuous_containment"),
        ([without(G1(), "gold_claim_substr")], "vacuous_containment"),  # C-02: absent ≡ null ≡ []
        (pieces(None), "vacuous_containment"),
    ],
)
def test_w08_containment_default(bench: Bench, gold: list[Row], warning: str | None) -> None:
    scored = bench.score(gold, [T1()], "--short-substr", "reject")
    assert (scored.ratio("precision"), scored.ratio("chr")) == ((1, 1), (1, 1))
    assert scored.warned() & {"short_entries", "vacuous_containment"} == ({warning} if warning else set())


@pytest.mark.parametrize(
    ("value", "code"),
    [
        (["null"], "RW-G07"),
        ([""], "RW-G07"),
        ("rejects null keys", "RW-G03"),
    ],
)
def test_w08_containment_lint(bench: Bench, value: Any, code: str) -> None:
    assert code in bench.refused(pieces(value), [T1()], "--short-substr", "reject")


def test_w08_short_entries_count_as_words_by_default(bench: Bench) -> None:
    scored = bench.score(pieces(["null"]), [T1()])
    assert (scored.ratio("precision"), scored.report["suites"]["answers"]["settings"]["short_substr"]) == (
        (1, 1),
        "word",
    )
    assert bench.score(pieces(["ull"]), [T1()]).ratio("precision") == (0, 1)  # not a word of the claim


# W-09


def citing(value: Any) -> Row:
    trace = T1()
    trace["answer_json"]["citations"] = value
    return trace


def citing_nothing() -> Row:
    trace = T1()
    del trace["answer_json"]["citations"]
    return trace


@pytest.mark.parametrize(
    ("trace", "right", "label", "compliant"),
    [
        (citing("p1#2"), 0, "ANS_NO_HIT", 0),
        (citing(None), 0, "ANS_NO_HIT", 1),  # the same as an empty list
        (citing({"p1#2": 1}), 0, "ANS_NO_HIT", 0),
        (citing(["p1#2", "zz"]), 0, "OUT_OF_SCOPE", 1),  # one id outside spoils the hit
        (citing(["p1#2", "p1#2"]), 1, "OK", 1),
        (citing_nothing(), 0, "ANS_NO_HIT", 1),
    ],
)
def test_w09_citations(bench: Bench, trace: Row, right: int, label: str, compliant: int) -> None:
    scored = bench.score([G1()], [trace])
    assert (scored.ratio("precision"), scored.ratio("chr")) == ((right, 1), (right, 1))
    assert scored.ratio("compliance") == (compliant, 1)
    assert scored.labels() == {"A0001": label}
    assert shown(bench.reference([G1()], [trace]), "precision", "chr") == (float(right), float(right))


def test_w09_repeated_citation_is_a_warning(bench: Bench) -> None:
    assert "repeated_citation" in bench.score([G1()], [citing(["p1#2", "p1#2"])]).warned()


def test_w09_objects_as_citations(bench: Bench) -> None:
    bench.reference_stops([G1()], [citing([{"id": "p1#2"}])])
    assert "RW-T02" in bench.refused([G1()], [citing([{"id": "p1#2"}])])


# W-10


def test_w10_unanswerable_with_gold_citations(bench: Bench) -> None:
    gold = [G2() | {"gold_citations": ["p1#1"]}]
    traces = [claiming("Z is a thing")]
    traces[0]["answer_json"]["citations"] = ["p1#1"]
    assert shown(bench.reference(gold, traces), "chr", "under_refusal") == (0.0, 1.0)
    assert "RW-G08" in bench.refused(gold, traces)
    forced = bench.score(gold, traces, "--allow-gold-errors")
    assert (forced.ratio("chr"), forced.ratio("under_refusal")) == ((1, 1), (1, 1))  # prose (C-06)
    assert forced.ratio("precision") == (0, 1)


# W-11


ABSENT = without(G1(), "answerable")
NOT_BOOLEAN = G1() | {"gold_claim_substr": [], "gold_citations": []}


@pytest.mark.parametrize(
    ("gold", "claim", "citations", "expected"),
    [
        # shipped and right: scored like an answerable one, counted as unanswerable, never as under-refusal
        (ABSENT, "X rejects null keys.", ["p1#2"],
         {"unanswerable": 1, "precision": 1.0, "under_refusal": 0.0, "recall@k": 0.0}),
        (ABSENT, "not in context", [], {"unanswerable": 1, "refused": 1}),
        (G1() | {"answerable": "true"}, "not in context", [], {"answerable": 1, "over_refusal": 0.0}),
        (NOT_BOOLEAN | {"answerable": "false"}, "Z", [], {"answerable": 1, "precision": 1.0}),
    ],
)  # fmt: skip
def test_w11_answerable_oddities(bench: Bench, gold: Row, claim: str, citations: Any, expected: Row) -> None:
    trace = claiming(claim, T1)
    trace["answer_json"]["citations"] = citations
    printed = bench.reference([gold], [trace])
    assert printed["pass"] is True
    assert {key: printed[key] for key in expected} == expected
    assert "RW-G04" in bench.refused([gold], [trace])


# W-12


@pytest.mark.parametrize(("k", "recall"), [("5", 1.0), ("1", 0.5), ("0", 0.0), ("-1", 1.0)])
def test_w12_k_reference(bench: Bench, k: str, recall: float) -> None:
    # k 1: p1#2 is second; k 0: an empty prefix; k −1 drops only the last id.
    assert bench.reference(EXAMPLE_GOLD, EXAMPLE_TRACES, "--k", k)["recall@k"] == recall


def test_w12_k_default(bench: Bench) -> None:
    assert bench.score(EXAMPLE_GOLD, EXAMPLE_TRACES, "--k", "1").ratio("recall@1") == (1, 2)
    for k in ("0", "-1"):
        assert "[RW-" in bench.refused(EXAMPLE_GOLD, EXAMPLE_TRACES, "--k", k)


# W-13


def test_w13_empty_gold(bench: Bench) -> None:
    printed = bench.reference([], EXAMPLE_TRACES)
    assert shown(printed, "precision", "chr", "recall@k", "pass") == (1.0, 1.0, 0.0, True)
    assert "RW-G05" in bench.refused([], EXAMPLE_TRACES)


def test_w13_all_refuse(bench: Bench) -> None:
    traces = [claiming("not in context", trace) for trace in (T1, T2, T3)]
    printed = bench.reference(EXAMPLE_GOLD, traces)
    assert shown(printed, "answered", "precision", "chr", "over_refusal", "pass") == (0, 1.0, 1.0, 1.0, False)
    scored = bench.score(EXAMPLE_GOLD, traces)
    # The example says "fail"; by design §5, which stands, a gate that was not measured makes it INVALID.
    assert (scored.outcome("precision"), scored.outcome("chr")) == ("not_measured", "not_measured")
    assert (scored.outcome("over_refusal"), scored.ratio("over_refusal")) == ("fail", (2, 2))
    assert (scored.code, scored.report["verdict"]) == (4, "INVALID")
    metric = scored.suite["metrics"]["answers.precision"]
    assert metric["value"] is None
    assert metric["undefined"]


# W-14


def test_w14_last_trace_wins(bench: Bench) -> None:
    traces = [T1(), claiming("not in context", T1)]
    scored = bench.score([G1()], traces)
    assert (scored.ratio("over_refusal"), scored.counts["duplicate_traces"]) == ((1, 1), 1)
    assert bench.reference([G1()], traces)["over_refusal"] == 1.0


def test_w14_gold_twice(bench: Bench) -> None:
    gold = [G1(), G2() | {"qid": "A0001"}]
    printed = bench.reference(gold, [T1()])
    assert shown(printed, "answerable", "unanswerable", "under_refusal") == (0, 1, 1.0)
    assert "RW-G02" in bench.refused(gold, [T1()])


@pytest.mark.parametrize("name", [{"q_id": "A0001"}, {"qid": "", "q_id": "A0001"}])
def test_w14_alias(bench: Bench, name: Row) -> None:
    trace = name | without(T1(), "qid")
    assert bench.score([G1()], [trace]).ratio("precision") == (1, 1)
    assert bench.reference([G1()], [trace])["precision"] == 1.0


def test_w14_alias_in_gold(bench: Bench) -> None:
    gold = [{"q_id": "A0001"} | without(G1(), "qid")]
    bench.reference_stops(gold, [T1()])
    assert bench.score(gold, [T1()]).ratio("precision") == (1, 1)


def test_w14_numbers_as_ids(bench: Bench) -> None:
    gold, trace = [G1() | {"qid": 1}], T1() | {"qid": "1"}
    assert bench.reference(gold, [trace])["precision"] == 0.0  # 1 and "1" do not join
    assert "RW-G03" in bench.refused(gold, [trace])
    zero = T1() | {"qid": 0}
    assert bench.reference([G1()], [zero])["precision"] == 0.0  # the trace is ignored
    assert "RW-T02" in bench.refused([G1()], [zero])


# W-15


def crowd(right: int, wrong: int, refused: int, answered: int) -> tuple[list[Row], list[Row]]:
    """Answerable questions answered right or wrong (but cited), unanswerable ones refused or answered."""
    gold: list[Row] = []
    traces: list[Row] = []
    for i in range(right + wrong):
        qid = f"Q{i:05d}"
        gold.append(G1() | {"qid": qid, "question": f"Question {qid}?"})
        claim = "X rejects null keys." if i < right else "No idea, really."
        traces.append(claiming(claim, T1) | {"qid": qid})
    for i in range(refused + answered):
        qid = f"U{i:05d}"
        gold.append(G2() | {"qid": qid, "question": f"Question {qid}?"})
        traces.append(claiming("not in context" if i < refused else "Z is a thing.") | {"qid": qid})
    return gold, traces


@pytest.mark.parametrize(
    ("made", "metric", "ratio", "reference", "code"),
    [
        (crowd(4, 1, 1, 0), "precision", (4, 5), 0.8, 0),  # 0.8 ≥ 0.80
        (crowd(5, 0, 19, 1), "under_refusal", (1, 20), 0.05, 0),  # 0.05 ≤ 0.05; precision 5/6
        (crowd(5, 0, 18, 1), "under_refusal", (1, 19), 0.0526, 1),  # 1/19 > 0.05
    ],
)
def test_w15_boundaries(
    bench: Bench,
    made: tuple[list[Row], list[Row]],
    metric: str,
    ratio: tuple[int, int],
    reference: float,
    code: int,
) -> None:
    scored = bench.score(*made)
    assert scored.ratio(metric) == ratio
    assert scored.outcome(metric) == ("fail" if code else "pass")
    assert scored.code == code
    assert shown(bench.reference(*made), metric, "pass") == (reference, not code)


# W-16


def test_w16_rounding(bench: Bench) -> None:
    made = crowd(15999, 4001, 1, 0)
    printed = bench.reference(*made)
    assert shown(printed, "precision", "pass") == (0.8, False)  # rounded for print, compared unrounded
    scored = bench.score(*made)
    # The example lets the default print 0.8. Design §5 and §7 stand: `value` is the exact number, and what
    # people see never rounds across a threshold. 15999/20000 = 0.79995 < 0.80.
    assert (scored.ratio("precision"), scored.value("precision")) == ((15999, 20000), 0.79995)
    gate = scored.gate("precision")
    assert (gate["value"], gate["threshold"], gate["outcome"]) == (0.79995, "0.80", "fail")
    assert (scored.code, scored.report["verdict"]) == (1, "NO-SHIP")
    text = bench.run(*made, "--full").out
    line = next(line for line in text.splitlines() if "answers.precision" in line and "0.80" in line)
    assert "0.79995" in line


# W-17


def test_w17_length_is_counted_after_lower_casing(bench: Bench) -> None:
    gold, traces = pieces(["İİİ"]), [claiming("aİİİb", T1)]  # 3 letters, 6 code points when lower-cased
    assert bench.score(gold, traces).ratio("precision") == (1, 1)
    assert bench.reference(gold, traces)["precision"] == 1.0


def test_w17_composed_and_decomposed(bench: Bench) -> None:
    gold, traces = pieces(["cafe\u0301 rules"]), [claiming("The caf\u00e9 rules apply.", T1)]
    scored = bench.score(gold, traces)
    assert scored.ratio("precision") == (1, 1)  # NFC on both sides
    assert "not_nfc" in scored.warned()
    assert bench.reference(gold, traces)["precision"] == 0.0


# W-18

BLANKS = "precision=0.80, chr=0.75, under=0.05, over=0.10"
LONG_NAMES = "precision=0.80,chr=0.75,under_refusal=0.05,over_refusal=0.10"
EXTRA = "precision=0.80,chr=0.75,under=0.05,over=0.10,recall=0.99"


@pytest.mark.parametrize("gates", [BLANKS, LONG_NAMES])
def test_w18_gate_texts(bench: Bench, gates: str) -> None:
    bench.reference_stops(EXAMPLE_GOLD, EXAMPLE_TRACES, "--gates", gates)
    scored = bench.score(EXAMPLE_GOLD, EXAMPLE_TRACES, "--gates", gates)
    assert [(gate["metric"], gate["op"], gate["threshold"]) for gate in scored.report["gates"]] == [
        ("answers.precision", ">=", "0.80"),
        ("answers.chr", ">=", "0.75"),
        ("answers.under_refusal", "<=", "0.05"),
        ("answers.over_refusal", "<=", "0.10"),
        ("answers.missing", "<=", "0"),
    ]
    assert scored.code == 0


def test_w18_space_form(bench: Bench) -> None:
    scored = bench.score(EXAMPLE_GOLD, EXAMPLE_TRACES, "--gates", *LONG_NAMES.split(","))
    assert (scored.code, len(scored.report["gates"])) == (0, 5)


def test_w18_extra_names(bench: Bench) -> None:
    printed = bench.reference(EXAMPLE_GOLD, EXAMPLE_TRACES, "--gates", EXTRA, "--k", "1")
    assert shown(printed, "recall@k", "pass") == (0.5, True)  # echoed, not enforced
    assert printed["gates"]["recall"] == "0.99"
    assert "RW-P04" in bench.refused(EXAMPLE_GOLD, EXAMPLE_TRACES, "--gates", EXTRA)
    enforced = EXTRA.replace("recall=", "recall@k=")
    assert bench.score(EXAMPLE_GOLD, EXAMPLE_TRACES, "--gates", enforced).code == 0
    short = bench.score(EXAMPLE_GOLD, EXAMPLE_TRACES, "--gates", enforced, "--k", "1")
    assert (short.outcome("recall@1"), short.code) == ("fail", 1)  # 1/2 < 0.99


# W-19


def test_w19_precision_never_exceeds_chr(bench: Bench) -> None:
    wrong_claim = bench.score([G1()], [claiming("Something else.", T1)])
    assert (wrong_claim.ratio("precision"), wrong_claim.ratio("chr")) == ((0, 1), (1, 1))
    wrong_citation = bench.score([G1()], [citing(["p1#1"])])
    assert (wrong_citation.ratio("precision"), wrong_citation.ratio("chr")) == ((0, 1), (0, 1))
    printed = bench.reference(pieces(["null"]), [T1()])
    assert shown(printed, "precision", "chr") == (0.0, 1.0)


# W-20

LOCKS = ["X rejects null keys.", "Only domain example.com is allowed."]
ROTATION = ["Tokens must be rotated.", "Never share keys."]


@pytest.mark.parametrize(
    ("locked", "claim", "fires"),
    [
        (LOCKS, "X rejects null keys.", False),
        (LOCKS, "X supports null keys.", True),
        (LOCKS, "X does not support null keys.", True),  # a false alarm: blind to negation
        (LOCKS, "Emails from gmail.com are blocked.", True),  # a false alarm
        (LOCKS, "Users may write", False),
        (ROTATION, "It can be set in May.", True),  # a false alarm
    ],
)
def test_w20_contradiction_pack(locked: list[str], claim: str, fires: bool) -> None:
    pack = load_pack("wfgy-neg-4", Path())
    assert len(pack.rules) == 4
    assert contradicted(locked, claim, pack.rules) is fires


def test_w20_through_the_command_line(bench: Bench) -> None:
    trace = claiming("X does not support null keys; it rejects null keys.", T1)
    trace["answer_json"]["constraints_echo"] = ["X rejects null keys."]
    traces = [trace, T2(), T3()]
    plain = bench.score(EXAMPLE_GOLD, traces, "--scu-enforced")  # echo equality only (C-15)
    assert (plain.ratio("scu_violations"), plain.code) == ((0, None), 0)
    packed = bench.score(EXAMPLE_GOLD, traces, "--scu-enforced", "--rule-pack", "wfgy-neg-4")
    assert (packed.ratio("scu_violations"), packed.ratio("precision")) == ((1, None), (1, 2))
    assert (packed.labels()["A0001"], packed.code) == ("SCU_VIOLATION", 1)
    assert [pack["id"] for pack in packed.suite["settings"]["rule_packs"]] == ["wfgy-neg-4"]


# W-21


def w21() -> tuple[list[Row], list[Row]]:
    """Example 08's data in our formats: its gold_ids are gold_citations, its claim no gold_claim_substr."""
    gold: list[Row] = [
        {"qid": "q1", "question": "One?", "answerable": True, "gold_citations": ["p1#1"]},
        {"qid": "q2", "question": "Two?", "answerable": True, "gold_citations": ["p2#1"]},
        {"qid": "q3", "question": "Three?", "answerable": False, "gold_citations": []},
        {"qid": "q4", "question": "Four?", "answerable": False, "gold_citations": []},
    ]
    told = {
        "q1": (["p1#1"], "One is so.", ["p1#1"]),
        "q2": (["p2#1"], "not in context", []),
        "q3": (["p1#1"], "not in context", []),
        "q4": (["p9#9"], "Four is so.", ["p9#9"]),
    }
    traces = [
        {"qid": qid, "retrieved_ids": ids, "answer_json": {"claim": claim, "citations": cited}}
        for qid, (ids, claim, cited) in told.items()
    ]
    return gold, traces


def test_w21_example_08(bench: Bench) -> None:
    scored = bench.score(*w21())
    assert scored.ratio("precision") == (1, 2)  # shipped: q1, q4; right: q1
    assert scored.ratio("chr") == (1, 2)  # over shipped, not over answerable
    assert scored.ratio("under_refusal") == (1, 2)  # q4 of q3, q4
    assert scored.ratio("over_refusal") == (1, 2)  # q2 of q1, q2
    labels = {"q1": "OK", "q2": "OVER_REFUSAL", "q3": "REFUSAL_OK", "q4": "HALLUCINATION"}
    assert scored.labels() == labels
    assert scored.suite["labels"] == {"OK": 1, "REFUSAL_OK": 1, "HALLUCINATION": 1, "OVER_REFUSAL": 1}
    assert (scored.code, scored.report["verdict"]) == (1, "NO-SHIP")


def test_w21_a_second_trace_is_not_a_second_question(bench: Bench) -> None:
    gold, traces = w21()
    scored = bench.score(gold, [*traces, traces[0]])  # C-20: by qid, keep the last
    assert (scored.counts["gold"], scored.counts["duplicate_traces"]) == (4, 1)
    assert scored.ratio("precision") == (1, 2)


# an error, and gold without text


def test_what_came_before_an_error_is_no_answer(bench: Bench) -> None:
    traces = [T1() | {"error": "timeout after 30 s"}, T2(), T3()]
    assert bench.score(EXAMPLE_GOLD, EXAMPLE_TRACES).report["verdict"] == "SHIP"
    scored = bench.score(EXAMPLE_GOLD, traces)
    assert (scored.code, scored.report["verdict"]) == (1, "NO-SHIP")
    assert scored.ratio("precision") == (1, 2)  # the right answer beside the error does not count
    assert scored.ratio("containment") == (1, 2)
    assert scored.ratio("compliance") == (2, 3)
    assert (scored.counts["errored"], scored.rows[0]["facts"]["errored"]) == (1, True)
    assert (scored.rows[0]["label"], scored.rows[0]["stage"]) == ("ERROR", "pipeline")
    refused = bench.score(EXAMPLE_GOLD, [T1(), T2() | {"error": "timeout"}, T3()])
    assert refused.ratio("under_refusal") == (
        0,
        0,
    )  # it is not an answer, and the refusal beside it does not count either
    assert (refused.ratio("precision"), refused.rows[1]["label"]) == ((2, 3), "ERROR")
    assert bench.reference(EXAMPLE_GOLD, traces) == bench.reference(EXAMPLE_GOLD, EXAMPLE_TRACES)


def chunked(bench: Bench) -> Path:
    rows = [{"chunk_id": "p1#2", "text": "X rejects null keys."}, {"chunk_id": "pB#1", "text": "Nothing."}]
    return write_jsonl(bench.folder / "chunks.jsonl", rows)


def test_an_answer_without_gold_text_to_look_for_is_not_supported(bench: Bench) -> None:
    corpus = str(chunked(bench))
    assert bench.score(EXAMPLE_GOLD, EXAMPLE_TRACES, "--corpus", corpus).ratio("support") == (1, 2)
    bare = [G1() | {"gold_claim_substr": []}, G2(), G3()]
    assert bench.score(bare, EXAMPLE_TRACES, "--corpus", corpus).ratio("support") == (0, 2)  # it stays in the whole
    for gate in ("", "support=0.90"):
        none = [bare[0], G2(), G3() | {"gold_claim_substr": []}]  # nothing to look for in any question: no number
        scored = bench.score(none, EXAMPLE_TRACES, "--corpus", corpus, *(["--gates", gate] if gate else []))
        assert (scored.ratio("support"), scored.value("support")) == ((0, 0), None)
        undefined = scored.suite["metrics"]["answers.support"]["undefined"]
        assert (undefined, scored.code) == ("no gold text to look for", 4 if gate else 0)


def test_support_from_the_chunks_of_an_index(bench: Bench) -> None:
    docs = bench.folder / "docs"
    docs.mkdir()
    (docs / "maps.md").write_text("# Maps\n\nX rejects null keys.\n\n# Other\n\nNothing of the kind.\n")
    index = bench.folder / "index"
    assert run_cli("index", "build", "--docs", docs, "--out", index, "--dense", "none").code == 0
    ids = [json.loads(line)["chunk_id"] for line in (index / "chunks.jsonl").read_text().splitlines()]
    gold = [G1() | {"qid": f"q{n}", "gold_citations": [one]} for n, one in enumerate(ids)]
    answer = T1()["answer_json"]
    traces = [
        {"qid": f"q{n}", "retrieved_ids": ids, "answer_json": answer | {"citations": [one]}}
        for n, one in enumerate(ids)
    ]
    receipt = bench.folder / "receipt.json"
    scored = bench.score(gold, traces, "--corpus", str(index), "--receipt", str(receipt))
    held = [json.loads(line)["text"] for line in (index / "chunks.jsonl").read_text().splitlines()]
    assert scored.ratio("support") == (sum("rejects null keys" in text for text in held), len(held)) == (1, 2)
    manifest = bench.score(gold, traces, "--corpus", str(index / "manifest.json"))
    assert manifest.ratio("support") == (1, 2)
    assert run_cli("verify", receipt).code == 0
    (index / "chunks.jsonl").write_text((index / "chunks.jsonl").read_text().replace("null keys", "no keys"))
    assert run_cli("verify", receipt).code == 1


@pytest.mark.parametrize("flag", ["--receipt", "--rows"])
def test_the_reference_profile_writes_no_receipts_or_rows(bench: Bench, flag: str) -> None:
    path = bench.folder / "more.jsonl"
    said = bench.refused(EXAMPLE_GOLD, EXAMPLE_TRACES, "--profile", "reference", flag, str(path))
    assert said.splitlines()[0] == "--profile reference writes no receipts or rows [RW-U01]"
    assert not path.exists()
