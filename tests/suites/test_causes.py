"""What went wrong with a question: defects planted in a perfect run are found again, and suites agree on the cause."""

import gzip
import itertools
import json
import random
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import ragworthy as rw
from places import DATA
from ragworthy.metrics import answers, runs_blamed
from ragworthy.metrics.causes import STAGE_OF, Steps, Went, cause_of, stage_of, waterfall
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.runs import read
from ragworthy.metrics.facts.wanted import Rules, wanted_of
from ragworthy.names import HARMLESS, Cause, Stage
from ragworthy.records import Gold, RetrievalGold, RetrievalTrace, Trace
from ragworthy.report.blamed import lines
from ragworthy.suites.crowds import _chance, telling

Row = dict[str, Any]

# the decision


def every_way() -> Iterator[Steps]:
    told = (True, False, None)
    for answerable, present, errored, refused in itertools.product((True, False), repeat=4):
        for rest in itertools.product(told, repeat=7):
            in_corpus, retrieved, in_top, cited, in_scope, right, kept = rest
            yield Steps(
                answerable, present, errored, refused, in_corpus, retrieved, in_top, cited, in_scope, right, kept
            )


def broken(one: Steps) -> set[Cause]:
    """Everything that is wrong, each by itself."""
    answered = not one.refused
    found = {
        Cause.NOT_IN_CORPUS: one.in_corpus is False and not one.retrieved,
        Cause.NOT_RETRIEVED: one.retrieved is False,
        Cause.BELOW_K: one.in_top is False,
        Cause.NOT_CITED: answered and one.cited is False and one.in_scope is not False,
        Cause.OUT_OF_SCOPE: answered and one.in_scope is False,
        Cause.CLAIM_WRONG: answered and one.right is False,
        Cause.REFUSED: one.refused,
        Cause.CONSTRAINT_BROKEN: answered and one.kept is False,
    }
    return {cause for cause, holds in found.items() if holds}


def test_the_earliest_broken_step_is_to_blame() -> None:
    """All 34,992 combinations: no trace and errors first, then the first cause that applies, in their order."""
    order = list(Cause)
    for one in every_way():
        expected: Cause | None
        if not one.present or one.errored:
            expected = Cause.TARGET_ERROR if one.present else Cause.MISSING
        elif not one.answerable:
            expected = None if one.refused else Cause.ANSWERED
        else:
            expected = min(broken(one), key=order.index, default=None)
        assert cause_of(one) is expected, one


def test_every_cause_has_a_stage() -> None:
    assert set(STAGE_OF) == set(Cause)
    assert {stage_of(cause) for cause in Cause} == set(Stage) - {Stage.CHUNKING, Stage.VOTES}
    assert stage_of(None) is None


def test_a_waterfall_adds_up() -> None:
    good = Steps(True, in_corpus=True, retrieved=True, in_top=True, cited=True, in_scope=True, right=True)
    known = [
        Went(good, 50), Went(good._replace(right=False), 4), Went(good._replace(in_top=False, refused=True), 1),
        Went(good._replace(in_top=False), 2, fine=True), Went(good._replace(refused=True), 2),
        Went(Steps(True, present=False), 1), Went(Steps(False), 100),
    ]  # fmt: skip
    way = waterfall(known)
    assert {one["step"]: one["fine"] for one in way if one["fine"]} == {"in_top": 2}
    assert [(one["step"], one["left"], one["lost"]) for one in way] == [
        ("asked", 60, 0), ("traced", 59, 1), ("in_corpus", 59, 0), ("retrieved", 59, 0), ("in_top", 56, 3),
        ("answered", 54, 2), ("in_scope", 54, 0), ("cited", 54, 0), ("right", 50, 4),
    ]  # fmt: skip
    assert waterfall([Went(Steps(False), 3)]) == []


def test_where_only_the_first_result_counts_the_waterfall_says_so() -> None:
    first = Steps(True, retrieved=True, in_top=True, first=True)
    known = [Went(first, 5), Went(first._replace(in_top=False), 2), Went(Steps(True, retrieved=False), 1)]
    told = [(one["step"], one["left"], one["lost"]) for one in waterfall(known)]
    assert told == [("asked", 8, 0), ("retrieved", 7, 1), ("first", 5, 2)]
    answered = Went(Steps(True, retrieved=True, in_top=True, cited=True))
    assert [one["step"] for one in waterfall([*known, answered])] == ["asked", "retrieved", "in_top", "cited"]


# two suites, one cause

TEXTS = {"a": "kept for 45 days", "b": "harbor sync copies", "c": "something else", "d": "one more"}
WANTED = [["a"], ["a", "b"], ["gone"]]


@given(
    wanted=st.sampled_from(WANTED),
    piece=st.sampled_from(["45 days", "harbor sync"]),
    retrieved=st.lists(st.sampled_from("abcdxy"), max_size=8),
    cited=st.lists(st.sampled_from("abcdxy"), max_size=3),
    claim=st.sampled_from(["For 45 days.", "By harbor sync.", "Nothing of it.", "", "not in context"]),
    error=st.sampled_from([None, None, None, "timeout"]),
    answerable=st.sampled_from([True, True, True, False]),
    corpus=st.booleans(),
)
@settings(max_examples=600, deadline=None)
def test_answers_and_retrieval_name_the_same_cause(
    wanted: list[str],
    piece: str,
    retrieved: list[str],
    cited: list[str],
    claim: str,
    error: str | None,
    answerable: bool,
    corpus: bool,
) -> None:
    """Where both suites see something wrong with a trace, it is the same thing."""
    evidence = {"gold_claim_substr": [piece], "gold_citations": wanted} if answerable else {}
    item: Row = {"qid": "q", "question": "?", "answerable": answerable, **evidence}
    trace = {"qid": "q", "retrieved_ids": retrieved, "answer_json": {"claim": claim, "citations": cited}}
    trace |= {"error": error} if error else {}
    texts = TEXTS | {"x": "x", "y": "y"} if corpus else None

    rules = f.Rules(ks=(3,), chunks=texts)
    gold = msgspec.convert(item, Gold)
    flags = f.gold_flags(rules)(gold) | f.trace_flags(rules)(gold, msgspec.convert(trace, Trace))
    facts = f.unpack(flags, rules.ks)
    one = answers.blame(facts, 3)

    looked = Rules(ks=(3,), refusals=frozenset({"not in context"}), texts=texts)
    asked = wanted_of(msgspec.convert(item, RetrievalGold), looked, lambda section: 0, ())
    run = read(asked, msgspec.convert(trace, RetrievalTrace), looked).facts
    held = None if texts is None else any(name in texts for name in wanted)
    other = runs_blamed.blame(run, 3, held=held)
    if one.cause is not None and other.cause is not None:
        assert one.cause is other.cause, (one, other)
    if answerable and other.cause is not None:  # and what this one sees, that one does not overlook
        assert one.cause is not None or answers.label(facts) in HARMLESS
        assert one.cause is not None or other.cause in (Cause.BELOW_K, Cause.NOT_CITED)


# planted defects, as in a perfect run over paragraphs of real articles

K, EACH = 5, 12
REFUSAL = "not in context"


class World:
    """Questions of SQuAD 2.0, each with a perfect trace, to be spoiled."""

    def __init__(self) -> None:
        self.random = random.Random(20261116)
        with gzip.open(DATA / "squad2/dev/gold.jsonl.gz", "rt", encoding="utf-8") as lines:
            golds = [json.loads(line) for line in lines]
        with (DATA / "squad2/dev/corpus.jsonl").open(encoding="utf-8") as lines:
            self.chunks = [json.loads(line) for line in lines]
        self.ids = [one["id"] for one in self.chunks]
        texts = {one["id"]: one["text"].lower() for one in self.chunks}
        usable = [
            one for one in golds
            if one["answerable"] and len(one["gold_claim_substr"][0]) > 5
            and one["gold_claim_substr"][0].lower() in texts[one["gold_citations"][0]]
        ]  # fmt: skip
        self.random.shuffle(usable)
        self.answerable = iter(usable)
        self.none = iter([one for one in golds if not one["answerable"]])
        self.lost: set[str] = set()
        self.golds: list[Row] = []
        self.traces: list[Row] = []
        self.planted: dict[str, str] = {}

    def trace(self, gold: Row, rank: int | None = 1) -> Row:
        """Ten paragraphs, the gold one at this rank; a right claim that cites it."""
        wanted = gold["gold_citations"]
        others = [name for name in self.random.sample(self.ids, 14) if name not in wanted][:10]
        if wanted and rank:
            others[rank - 1] = wanted[0]
        said = gold["gold_claim_substr"][0] if gold["answerable"] else ""
        answer = {"claim": f"It is {said}.", "citations": wanted[:1], "constraints_echo": gold["constraints"]}
        return {"qid": gold["qid"], "retrieved_ids": others, "answer_json": answer}

    def refused(self, trace: Row) -> Row:
        return trace | {"answer_json": {"claim": REFUSAL, "citations": []}}

    def cites(self, trace: Row, *names: str) -> Row:
        return trace | {"answer_json": trace["answer_json"] | {"citations": list(names)}}

    def other(self, trace: Row, gold: Row) -> str:
        """A paragraph that was retrieved, and is not the gold one."""
        return str(next(name for name in trace["retrieved_ids"] if name not in gold["gold_citations"]))

    def plant(self, name: str, spoil: Callable[[Row], Row | None], *, answerable: bool = True) -> None:
        for _ in range(EACH):
            gold = next(self.answerable if answerable else self.none)
            while set(gold["gold_citations"]) & self.lost:
                gold = next(self.answerable)
            trace = spoil(gold)
            self.golds.append(gold)
            self.planted[gold["qid"]] = name
            if trace is not None:
                self.traces.append(trace)


def unheld(world: World, gold: Row) -> Row:
    world.lost.update(gold["gold_citations"])
    trace = world.trace(gold, rank=None)
    return world.cites(trace, world.other(trace, gold))


def below(world: World, gold: Row) -> Row:
    trace = world.trace(gold, rank=8)
    return world.cites(trace, world.other(trace, gold))


def elsewhere(world: World, gold: Row) -> Row:
    trace = world.trace(gold, rank=2)
    return world.cites(trace, world.other(trace, gold))


def says(world: World, gold: Row, claim: str) -> Row:
    trace = world.trace(gold)
    return trace | {"answer_json": trace["answer_json"] | {"claim": claim}}


def constrained(world: World, gold: Row) -> Row:
    gold["constraints"] = ["answer in metres"]
    trace = world.trace(gold)
    return trace | {"answer_json": trace["answer_json"] | {"constraints_echo": []}}


def unfound(world: World, gold: Row) -> Row:
    trace = world.trace(gold, rank=None)
    return world.cites(trace, world.other(trace, gold))


def part(world: World, gold: Row) -> Row:
    """Two gold chunks: one is retrieved and cited, the text is in the other."""
    piece = gold["gold_claim_substr"]
    texts = {one["id"]: one["text"].lower() for one in world.chunks}
    held = [name for name in world.ids if name not in world.lost]
    without = [name for name in held if not any(one.lower() in texts[name] for one in piece)]
    more, *others = world.random.sample(without, 10)
    gold["gold_citations"] = [*gold["gold_citations"], more]
    answer = {"claim": "It is another thing.", "citations": [more], "constraints_echo": []}
    return {"qid": gold["qid"], "retrieved_ids": [more, *others], "answer_json": answer}


def failed(world: World, gold: Row) -> Row:
    return {"qid": gold["qid"], "retrieved_ids": [], "error": "timeout"}


PLANTED: dict[str, tuple[Callable[[World, Row], Row | None], bool]] = {
    "1 not in corpus": (unheld, True),
    "2 not retrieved": (unfound, True),
    "2b only a part retrieved": (part, True),
    "3a below k, cites another": (below, True),
    "3b below k, refuses": (lambda w, g: w.refused(w.trace(g, 8)), True),
    "3c below k, still cited and right": (lambda w, g: w.trace(g, 8), True),
    "4a retrieved, cites another": (elsewhere, True),
    "4b retrieved, cites nothing": (lambda w, g: w.cites(w.trace(g, 3)), True),
    "5a cites out of scope only": (lambda w, g: w.cites(w.trace(g), "elsewhere#1"), True),
    "5b cites gold and out of scope": (lambda w, g: w.cites(w.trace(g), g["gold_citations"][0], "elsewhere#1"), True),
    "6 claim altered": (lambda w, g: says(w, g, "It is another thing."), True),
    "6b claim empty": (lambda w, g: says(w, g, ""), True),
    "7 refused, evidence at rank 1": (lambda w, g: w.refused(w.trace(g)), True),
    "7b refused, gold not retrieved": (lambda w, g: w.refused(w.trace(g, None)), True),
    "8 answered, unanswerable": (
        lambda w, g: w.trace(g) | {"answer_json": {"claim": "Paris.", "citations": []}},
        False,
    ),
    "9 constraint broken": (constrained, True),
    "10a error, answerable": (failed, True),
    "10b error, unanswerable": (failed, False),
    "11a missing, answerable": (lambda w, g: None, True),
    "11b missing, unanswerable": (lambda w, g: None, False),
    "right": (lambda w, g: w.trace(g, 4), True),
    "rightly refused": (lambda w, g: w.refused(w.trace(g)), False),
}
ANSWERS = {
    "1 not in corpus": ("ANS_NO_HIT", "not_in_corpus"),
    "2 not retrieved": ("ANS_NO_HIT", "not_retrieved"),
    "2b only a part retrieved": ("ANS_NO_CONTAIN", "not_retrieved"),
    "3a below k, cites another": ("ANS_NO_HIT", "below_k"),
    "3b below k, refuses": ("OVER_REFUSAL", "below_k"),
    "3c below k, still cited and right": ("OK", None),
    "4a retrieved, cites another": ("ANS_NO_HIT", "not_cited"),
    "4b retrieved, cites nothing": ("ANS_NO_HIT", "not_cited"),
    "5a cites out of scope only": ("OUT_OF_SCOPE", "out_of_scope"),
    "5b cites gold and out of scope": ("OUT_OF_SCOPE", "out_of_scope"),
    "6 claim altered": ("ANS_NO_CONTAIN", "claim_wrong"),
    "6b claim empty": ("EMPTY_CLAIM", "claim_wrong"),
    "7 refused, evidence at rank 1": ("OVER_REFUSAL", "refused_with_evidence"),
    "7b refused, gold not retrieved": ("OVER_REFUSAL", "not_retrieved"),
    "8 answered, unanswerable": ("HALLUCINATION", "answered_without_evidence"),
    "9 constraint broken": ("SCU_VIOLATION", "constraint_broken"),
    "10a error, answerable": ("ERROR", "target_error"),
    "10b error, unanswerable": ("ERROR", "target_error"),
    "11a missing, answerable": ("MISSING", "missing"),
    "11b missing, unanswerable": ("MISSING", "missing"),
    "right": ("OK", None),
    "rightly refused": ("REFUSAL_OK", None),
}
OK, UNSEEN = ("OK", None), ("UNANSWERABLE", None)
RETRIEVAL = ANSWERS | {
    "1 not in corpus": ("NOT_COVERED", "not_in_corpus"),
    "2 not retrieved": ("NOT_COVERED", "not_retrieved"),
    "2b only a part retrieved": OK,  # a relevant block is returned and cited: what it says is the other suite's matter
    "3a below k, cites another": ("NOT_COVERED", "below_k"),
    "3b below k, refuses": ("NOT_CITED", "below_k"),
    "3c below k, still cited and right": ("NOT_RETRIEVED", "below_k"),
    "4a retrieved, cites another": ("NOT_COVERED", "not_cited"),
    "4b retrieved, cites nothing": ("NOT_CITED", "not_cited"),
    "5a cites out of scope only": ("NOT_COVERED", "out_of_scope"),
    "5b cites gold and out of scope": OK,
    "6 claim altered": OK,
    "6b claim empty": OK,
    "7 refused, evidence at rank 1": ("NOT_CITED", "refused_with_evidence"),
    "7b refused, gold not retrieved": ("NOT_CITED", "not_retrieved"),
    "8 answered, unanswerable": UNSEEN,
    "9 constraint broken": OK,
    "rightly refused": UNSEEN,
}


@pytest.fixture(scope="module")
def world() -> World:
    made = World()
    for name, (spoil, answerable) in PLANTED.items():
        made.plant(name, lambda gold, spoil=spoil: spoil(made, gold), answerable=answerable)  # type: ignore[misc]
    made.random.shuffle(made.golds)
    return made


def found(world: World, suite: str, **more: Any) -> tuple[Row, dict[str, Counter[tuple[str, str | None]]]]:
    """The report, and what became of the questions of each planted row."""
    corpus = [one for one in world.chunks if one["id"] not in world.lost]
    done = rw.score(suite, gold=world.golds, traces=world.traces, corpus=corpus, k=K, **more)
    rows: dict[str, Counter[tuple[str, str | None]]] = {}
    for row in done.rows():
        rows.setdefault(world.planted[row["qid"]], Counter())[row["label"], row["cause"]] += 1
        assert row["stage"] == (None if row["cause"] is None else STAGE_OF[Cause(row["cause"])])
    return done.report["suites"][suite], rows


@pytest.mark.data("data/squad2/dev/gold.jsonl.gz")
@pytest.mark.parametrize(("suite", "expected"), [("answers", ANSWERS), ("retrieval", RETRIEVAL)])
def test_planted_defects_are_found(world: World, suite: str, expected: dict[str, tuple[str, str | None]]) -> None:
    more = {"scu": True} if suite == "answers" else {}
    body, rows = found(world, suite, **more)
    assert set(rows) == set(expected)
    for name, counts in rows.items():
        assert counts[expected[name]] >= 0.95 * EACH, (name, counts)
    if suite == "answers":
        bad = Counter(cause for name, (_, cause) in expected.items() if cause for _ in range(EACH))
        assert body["causes"] == {cause.value: bad[cause] for cause in Cause if bad[cause]}
        lost = {one["step"]: one["lost"] for one in body["waterfall"]["steps"]}
        # Of answerable questions: 2 rows without a trace or answer; 1; 2, 2b and 7b; 3a to 3c; 7; 4a and 4b; 5a and
        # 5b; 6 and 6b; 9.
        assert lost == {
            "asked": 0, "traced": 2 * EACH, "in_corpus": EACH, "retrieved": 3 * EACH, "in_top": 3 * EACH,
            "answered": EACH, "in_scope": 2 * EACH, "cited": 2 * EACH, "right": 2 * EACH, "kept": EACH,
        }  # fmt: skip
        assert body["waterfall"]["steps"][-1]["left"] == EACH


@pytest.mark.data("data/squad2/dev/gold.jsonl.gz")
def test_errors_are_no_answers_and_no_refusals(world: World) -> None:
    body, _ = found(world, "answers", scu=True)
    under, over = body["metrics"]["answers.under_refusal"], body["metrics"]["answers.over_refusal"]
    # Unanswerable: 12 answered, 12 refused, 12 without a trace; 12 errors are no case. Answerable: three rows refuse.
    assert (under["num"], under["den"]) == (EACH, 3 * EACH)
    assert (over["num"], over["den"]) == (3 * EACH, 17 * EACH)
    assert under["ledger"]["errored"] == over["ledger"]["errored"] == 2 * EACH
    assert all(one["label"] != "HALLUCINATION" or one["claim"] == "Paris." for one in body["offenders"])


# clusters


def test_the_chance_of_a_crowd_is_that_of_a_draw() -> None:
    """Against scipy: so many of the bad ones among the cases of a group, or more."""
    from scipy.stats import hypergeom

    for whole, bad, cases in ((40, 10, 8), (200, 3, 50), (1000, 400, 20), (30, 29, 12)):
        for wrong in range(max(1, bad + cases - whole), min(bad, cases) + 1):
            expected = hypergeom.sf(wrong - 1, whole, bad, cases)
            assert _chance(wrong, cases, bad, whole) == pytest.approx(expected, rel=1e-9, abs=1e-300)


def test_a_document_with_more_than_its_share_is_named() -> None:
    """20 documents of 10 questions. In one of them 8 were not retrieved; elsewhere every tenth claim is wrong."""
    golds: list[Row] = []
    traces: list[Row] = []
    for nth in range(200):
        wanted, lost = f"doc{nth // 10}#{nth % 10}", nth // 10 == 7 and nth % 10 < 8
        golds.append(
            {"qid": f"q{nth:03d}", "question": f"{nth}?", "answerable": True, "gold_claim_substr": [f"answer {nth}"],
             "gold_citations": [wanted], "kind": "xyz"[nth % 3]}
        )  # fmt: skip
        claim = "No idea." if nth % 10 == 9 else f"It is answer {nth}."
        found = "other#1" if lost else wanted
        answer = {"claim": claim, "citations": [found]}
        traces.append({"qid": f"q{nth:03d}", "retrieved_ids": [found, "other#2"], "answer_json": answer})
    for suite in ("answers", "retrieval"):
        report = rw.score(suite, gold=golds, traces=traces, slices=["kind"]).report
        # 28 of 200 questions are wrong for answers, 8 for retrieval, which does not look at claims.
        of_all = 28 if suite == "answers" else 8
        wrong = 9 if suite == "answers" else 8
        assert report["suites"][suite]["clusters"] == [
            {"by": "document", "name": "doc7", "wrong": wrong, "cases": 10, "of_all": of_all, "cause": "not_retrieved"}
        ]
        told = f"more than its share went wrong in: document doc7 {wrong} of 10 (most of them not_retrieved)"
        assert lines(report["suites"][suite])[-1] == told


def test_no_crowd_where_failures_are_spread() -> None:
    """5,000 documents of 20 questions, a tenth of all wrong by chance: none of them is named."""
    draw = random.Random(7)
    crowd = {}
    for nth in range(5000):
        wrong = sum(draw.random() < 0.1 for _ in range(20))
        crowd["document", f"d{nth}"] = Counter({"not_retrieved": wrong, None: 20 - wrong})
    assert telling(crowd) == []
    crowd["document", "d17"] = Counter({"below_k": 17, None: 3})
    assert [one["name"] for one in telling(crowd)] == ["d17"]


# other suites


def test_k_decides_what_comes_too_late() -> None:
    """Evidence at rank 8: too late for k = 5, and in time for k = 10, whichever suite looks."""
    ids = [f"x#{nth}" for nth in range(7)] + ["g#1"]
    gold = [
        {"qid": "q", "question": "?", "answerable": True, "gold_claim_substr": ["forty"], "gold_citations": ["g#1"]}
    ]
    trace = {"qid": "q", "retrieved_ids": ids, "answer_json": {"claim": "forty", "citations": ["x#0"]}}
    for suite in ("answers", "retrieval"):
        for k, cause in ((5, "below_k"), (10, "not_cited"), ([5, 10], "below_k"), ([3, 10], "not_cited")):
            (row,) = rw.score(suite, gold=gold, traces=[trace], k=k).rows()
            assert row["cause"] == cause, (suite, k)


def test_stability_goes_by_most_runs_and_latency_by_the_worst() -> None:
    gold = [{"qid": "q", "question": "?", "answerable": True, "gold_claim_substr": ["forty"], "gold_citations": ["g"]}]
    wrong = {"retrieved_ids": ["g", "x"], "answer_json": {"claim": "fifty", "citations": ["g"]}}
    blind = {"retrieved_ids": ["x"], "answer_json": {"claim": "fifty", "citations": ["x"]}}
    refused = {"retrieved_ids": ["x"], "answer_json": {"claim": "not in context", "citations": []}}
    error = {"error": "timeout"}

    def cause(suite: str, *runs: Row) -> tuple[Any, ...]:
        rows = [{"qid": "q", "seed": nth, "e2e_ms": 5, **one} for nth, one in enumerate(runs)]
        (row,) = rw.score(suite, gold=gold, runs=rows).rows()
        return row["label"], row["cause"], row["stage"]

    assert cause("stability", blind, blind, wrong, refused) == ("ANS_NO_HIT", "not_retrieved", "retrieval")
    assert cause("stability", wrong, wrong, blind, error) == ("ANS_NO_HIT", "claim_wrong", "generation")
    assert cause("stability", refused, refused, wrong) == ("OVER_REFUSAL", "not_retrieved", "retrieval")
    assert cause("stability", error, error, wrong) == ("ERROR", "target_error", "pipeline")
    assert cause("latency", wrong, blind) == ("ANS_NO_HIT", "not_retrieved", "retrieval")
    assert cause("latency", error, wrong) == ("ANS_NO_CONTAIN", "claim_wrong", "generation")


def test_an_answer_that_cites_only_what_was_never_retrieved_is_not_counted_as_citing_evidence() -> None:
    """What the answer rests on is asked first: nobody can tell once it names an id that it was never given."""
    way = Steps(True, retrieved=True, in_top=True, in_scope=False, cited=False, right=True)
    assert cause_of(way) is Cause.OUT_OF_SCOPE
    steps = {one["step"]: (one["left"], one["lost"]) for one in waterfall([Went(way)])}
    assert list(steps)[-3:] == ["in_scope", "cited", "right"]
    assert (steps["in_scope"], steps["cited"], steps["right"]) == ((0, 1), (0, 0), (0, 0))


def test_a_corpus_gives_one_question_one_cause_in_every_suite() -> None:
    """Evidence that no chunk has, evidence that a chunk has and nobody retrieved, and a text bound to another chunk."""
    gold = [
        {"qid": qid, "question": f"{qid}?", "answerable": True, "gold_claim_substr": ["forty"], **named}
        for qid, named in {
            "gone": {"gold_citations": ["nowhere#1"]},
            "unseen": {"gold_citations": ["g#1"]},
            "bound": {"gold_evidence": ["The limit is forty bytes a day."]},
        }.items()
    ]
    chunks = [
        {"chunk_id": "g#1", "doc_id": "g", "text": "The limit is forty bytes a day."},
        {"chunk_id": "x#1", "doc_id": "x", "text": "Nothing of use."},
    ]
    refused = {"retrieved_ids": ["x#1"], "answer_json": {"claim": "not in context", "citations": []}}
    traces = [{"qid": one["qid"], "e2e_ms": 5, **refused} for one in gold]
    runs = [{**one, "seed": seed} for one in traces for seed in range(2)]
    asked = [{**one, "relevant": one.get("gold_citations", ["g#1"])} for one in gold]
    ranked = [{"qid": one["qid"], "retrieved_ids": ["x#1"]} for one in gold]
    found = {
        "answers": rw.score("answers", gold=gold, traces=traces, corpus=chunks),
        "retrieval": rw.score("retrieval", gold=asked, traces=ranked, corpus=chunks),
        "stability": rw.score("stability", gold=gold, runs=runs, corpus=chunks),
        "latency": rw.score("latency", gold=gold, runs=runs, corpus=chunks),
    }
    expected = {
        "gone": ("not_in_corpus", "index"),
        "unseen": ("not_retrieved", "retrieval"),
        "bound": ("not_retrieved", "retrieval"),
    }
    for suite, result in found.items():
        told = {row["qid"]: (row["cause"], row["stage"]) for row in result.rows()}
        assert told == expected, suite
    (entry,) = [one for one in found["stability"].report["suites"]["stability"]["inputs"] if one["role"] == "corpus"]
    assert entry["records"] == 2
