"""What must hold for every gold set and every run: the invariants of spec answers §3, the ledger, the rows,
and an independent oracle written straight from the formulas.
"""

import random
import re
import unicodedata
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ragworthy
import ragworthy.result
from conftest import Row
from soak import examples

STEADY = settings(
    max_examples=examples(300),
    deadline=None,
    derandomize=True,
    database=None,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large],
)
ABSENT = object()

CHUNKS = ["d#1", "d#2", "d#3", "p1#2", "é#1", "长#1", " d#1"]
LONG_PIECES = [
    "alpha beta", "Rejects NULL keys", "caf\u00e9 rules", "cafe\u0301 rules", "İİİ", " null",
    "只允许一个域名",
]  # fmt: skip
SHORT_PIECES = ["null", "1990", "Rome", "北京", "京", "C++", "é"]
CLAIMS = [
    "Alpha BETA holds.", "It rejects null keys.", "The caf\u00e9 rules.", "The cafe\u0301 rules.", "aİİİb",
    "Romeo in Rome, 1990.", "Romeo 19901", "他住在北京城", "东京", "C++ and C", "alpha  beta", "Alpha", "é",
    "not in context.", "not  in context", "\u200bnot in context",
]  # fmt: skip
REFUSALS = ["not in context", " NOT in Context\n", "\u00a0not in context\u3000", "Not In Context"]
EMPTY: list[Any] = [ABSENT, None, "", "  ", "\u3000"]
LOCKS = ["X rejects null keys.", "Keys are caf\u00e9s.", "  Never share. "]
ECHOES: list[Any] = [
    ABSENT, None, [], "X rejects null keys.", ["X rejects null keys. "], ["x rejects null keys."], [3],
    ["Keys are cafe\u0301s."], ["Keys are caf\u00e9s.", "X rejects null keys.", "X rejects null keys."],
    ["Never share."],
]  # fmt: skip
ODD_CITATIONS: list[Any] = [ABSENT, None, "d#1", "", {}, {"d#1": 1}, 0, 5, True, [1], ["d#1", None], ["zz"]]
CORPUS = [
    {"chunk_id": "d#1", "text": "Here ALPHA beta stands."},
    {"chunk_id": "d#2", "text": "X rejects null keys. Rome, 1990."},
    {"chunk_id": "é#1", "text": "The cafe\u0301 rules. 北京城"},
]


def present(**fields: Any) -> Row:
    return {name: value for name, value in fields.items() if value is not ABSENT}


ids = st.sampled_from(CHUNKS)


@st.composite
def gold_items(draw: st.DrawFn, qid: str, short: bool) -> Row:
    """A gold item that the lint lets pass; with `short` also one whose pieces are all short."""
    nothing: st.SearchStrategy[Any] = st.sampled_from([ABSENT, None, []])
    constraints = draw(st.sampled_from([ABSENT, None, [], LOCKS[:1], LOCKS[:2], LOCKS[2:]]))
    if not draw(st.sampled_from([True, True, False])):
        return present(
            qid=qid,
            question=f"{qid}?",
            answerable=False,
            gold_claim_substr=draw(nothing),
            gold_citations=draw(nothing),
            constraints=constraints,
        )
    some_short = st.lists(st.sampled_from(SHORT_PIECES), max_size=2)
    pieces: Any = draw(nothing)
    if draw(st.integers(0, 3)):
        pieces = [*draw(some_short), draw(st.sampled_from(LONG_PIECES)), *draw(some_short)]
        if short and draw(st.booleans()):
            pieces = [draw(st.sampled_from(SHORT_PIECES))]
    return present(
        qid=qid,
        question=f"{qid}?",
        answerable=True,
        gold_claim_substr=pieces,
        gold_citations=draw(st.lists(ids, min_size=1, max_size=3)),
        constraints=constraints,
    )


@st.composite
def answers(draw: st.DrawFn, gold: Row, retrieved: Any) -> Any:
    kind = draw(st.integers(0, 11))
    if kind == 0:
        return draw(st.sampled_from([ABSENT, None, [], {}]))
    if kind <= 3:
        claim = draw(st.sampled_from(REFUSALS))
    elif kind == 4:
        claim = draw(st.sampled_from(EMPTY))
    elif kind <= 7 and gold.get("gold_claim_substr"):
        claim = f"So: {draw(st.sampled_from(gold['gold_claim_substr']))}!"
    else:
        claim = draw(st.sampled_from(CLAIMS))
    seen = list(retrieved) if isinstance(retrieved, list) else []
    wanted = [one for one in gold.get("gold_citations") or [] if one in seen]
    citations: Any = draw(st.sampled_from(ODD_CITATIONS))
    if draw(st.integers(0, 3)):
        citations = draw(st.lists(st.sampled_from(wanted or seen or CHUNKS), max_size=3))
        citations += draw(st.lists(st.sampled_from(seen or CHUNKS), max_size=1))
    return present(claim=claim, citations=citations, constraints_echo=draw(st.sampled_from(ECHOES)))


@st.composite
def traces_of(draw: st.DrawFn, gold: Row) -> Row:
    """A messy trace: odd types where they are findings, the alias, no answer, an error instead of one."""
    name = draw(st.integers(0, 5))
    named = {"qid": gold["qid"]}
    if name == 0:
        named = {"q_id": gold["qid"]}
    elif name == 1:
        named = {"qid": draw(st.sampled_from(["", None])), "q_id": gold["qid"]}
    retrieved: Any = draw(st.sampled_from([ABSENT, None]))
    if draw(st.integers(0, 7)):
        retrieved = draw(st.lists(ids, max_size=4)) + draw(
            st.lists(st.sampled_from(gold.get("gold_citations") or CHUNKS), max_size=2)
        )
    trace = named | present(retrieved_ids=retrieved, answer_json=draw(answers(gold, retrieved)))
    if "answer_json" not in trace and draw(st.booleans()):
        trace["error"] = "timeout"
    return trace


class Case(NamedTuple):
    gold: list[Row]
    traces: list[Row]


@st.composite
def cases(draw: st.DrawFn, *, repeat: bool = True, short: bool = False) -> Case:
    """Clean gold and messy traces: some missing, some unknown and (with `repeat`) some repeated."""
    gold = [draw(gold_items(f"q{i}", short)) for i in range(draw(st.integers(1, 6)))]
    traces = [draw(traces_of(item)) for item in gold if draw(st.integers(0, 6))]
    if repeat:
        traces += [draw(traces_of(item)) for item in draw(st.lists(st.sampled_from(gold), max_size=2))]
    strangers = draw(st.integers(0, 2))
    traces += [{"qid": f"unknown{i}", "answer_json": {"claim": "Alpha beta"}} for i in range(strangers)]
    if not traces:
        traces = [{"qid": "unknown", "retrieved_ids": []}]  # a file without any trace is an error of its own
    return Case(gold, draw(st.permutations(traces)))


def score(case: Case, **options: Any) -> ragworthy.Result:
    return ragworthy.score("answers", gold=case.gold, traces=case.traces, **options)


def suite(result: ragworthy.Result) -> Row:
    found: Row = result.report["suites"]["answers"]
    return found


def num(number: ragworthy.result.Number) -> int:
    assert number.num is not None
    return number.num


def pairs(result: ragworthy.Result) -> dict[str, tuple[int, int | None]]:
    return {name: (num(number), number.den) for name, number in result.metrics.items()}


# invariants of the numbers


@STEADY
@given(case=cases(), scu=st.booleans())
def test_precision_never_exceeds_chr(case: Case, scu: bool) -> None:
    metrics = score(case, scu=scu).metrics
    precision, hits = metrics["answers.precision"], metrics["answers.chr"]
    assert precision.den == hits.den
    assert num(precision) <= num(hits)


KS = [1, 2, 3, 5, 50]


@STEADY
@given(case=cases())
def test_recall_and_k(case: Case) -> None:
    metrics = score(case, k=KS).metrics
    for k in KS:
        recall, hit = metrics[f"answers.recall@{k}"], metrics[f"answers.hit@{k}"]
        assert recall.den == hit.den
        assert num(recall) <= num(hit)
    for name in ("recall", "hit", "chr_ceiling"):
        counted = [num(metrics[f"answers.{name}@{k}"]) for k in KS]
        assert counted == sorted(counted)
    # No list here is longer than 50, so the ceiling at 50 bounds the citation hit rate.
    ceiling, hits = metrics["answers.chr_ceiling@50"], metrics["answers.chr"]
    assert ceiling.den == hits.den
    assert num(hits) <= num(ceiling)


@STEADY
@given(case=cases(), scu=st.booleans())
def test_counts_and_ledger_close(case: Case, scu: bool) -> None:
    result = score(case, scu=scu, corpus=CORPUS)
    counts = suite(result)["counts"]
    total = len(case.gold)
    assert counts["gold"] == total
    assert counts["answered"] + counts["refused"] + counts["missing"] + counts["errored"] == total
    assert counts["answerable"] + counts["unanswerable"] == total
    named = [trace.get("qid") or trace["q_id"] for trace in case.traces]
    known = [qid for qid in named if not qid.startswith("unknown")]
    assert counts["orphan_traces"] == len(named) - len(known)
    assert counts["duplicate_traces"] == len(known) - len(set(known))
    assert counts["missing"] == total - len(set(known)) == result.metrics["answers.missing"].num
    assert sum(suite(result)["labels"].values()) == total
    for name, metric in suite(result)["metrics"].items():
        ledger = dict(metric["ledger"])
        expected = ledger.pop("expected")
        assert expected == sum(ledger.values()) == total, name
        assert set(ledger) == {"scored", "refused", "missing", "errored", "not_applicable"}
        assert ledger["missing"] == counts["missing"]
        assert min(ledger.values()) >= 0


@STEADY
@given(case=cases(), scu=st.booleans())
def test_values_are_shares(case: Case, scu: bool) -> None:
    for name, number in score(case, scu=scu, corpus=CORPUS).metrics.items():
        if number.den is None:
            assert name in ("answers.missing", "answers.scu_violations")
            assert 0 <= num(number) <= len(case.gold)
            assert number.value == number.num
        elif number.den == 0:
            assert (number.num, number.value) == (0, None)
            assert number.undefined
        else:
            assert 0 <= num(number) <= number.den <= len(case.gold)
            assert number.value == num(number) / number.den
            assert number.undefined is None
            assert number.low is not None
            assert number.high is not None
            assert 0 <= number.low <= number.value <= number.high <= 1


# what must not matter


def numbers(result: ragworthy.Result) -> Row:
    """Everything in a report that is a number or follows from numbers alone."""
    found = suite(result)
    return {
        "verdict": result.verdict,
        "gates": result.gates,
        "warned": {(warning["code"], warning["count"]) for warning in found["warnings"]},
        **{key: found[key] for key in ("counts", "metrics", "labels", "stages")},
    }


def renamed(case: Case) -> Case:
    """Every qid and every chunk id replaced, one for one, in a way that turns their order round."""
    chunk = {name: f"chunk-{len(CHUNKS) - i:03d}" for i, name in enumerate([*CHUNKS, "zz"])}

    def swap(value: Any) -> Any:
        return [chunk.get(one, one) if isinstance(one, str) else one for one in value]

    gold = []
    for item in case.gold:
        new = item | {"qid": f"z{9 - int(item['qid'][1:])}"}
        if new.get("gold_citations"):
            new["gold_citations"] = swap(new["gold_citations"])
        gold.append(new)
    qids = {old["qid"]: new["qid"] for old, new in zip(case.gold, gold, strict=True)}
    traces = []
    for trace in case.traces:
        new = dict(trace)
        for key in ("qid", "q_id"):
            if new.get(key):
                new[key] = qids.get(new[key], new[key])
        if new.get("retrieved_ids"):
            new["retrieved_ids"] = swap(new["retrieved_ids"])
        answer = new.get("answer_json")
        if isinstance(answer, dict) and isinstance(answer.get("citations"), list):
            new["answer_json"] = answer | {"citations": swap(answer["citations"])}
        traces.append(new)
    return Case(gold, traces)


@STEADY
@given(case=cases())
def test_names_do_not_matter(case: Case) -> None:
    # Of an id only the document that it may name matters, for that is what questions share.
    before, after = (score(one, scu=True, cluster="question") for one in (case, renamed(case)))
    assert numbers(before) == numbers(after)
    assert [row["metrics"] for row in before.rows()] == [row["metrics"] for row in after.rows()]


@STEADY
@given(case=cases(repeat=False), seed=st.integers(0, 1000))
def test_order_does_not_matter(case: Case, seed: int) -> None:
    chance = random.Random(seed)
    gold, traces = list(case.gold), list(case.traces)
    chance.shuffle(gold)
    chance.shuffle(traces)
    before, after = score(case, scu=True), score(Case(gold, traces), scu=True)
    assert numbers(before) == numbers(after)
    assert suite(before)["offenders"] == suite(after)["offenders"]
    by_qid = {row["qid"]: row for row in before.rows()}
    assert by_qid == {row["qid"]: row for row in after.rows()}


# rows


@STEADY
@given(case=cases(), scu=st.booleans(), k=st.sampled_from([5, [1, 3]]))
def test_rows_add_up(case: Case, scu: bool, k: Any) -> None:
    result = score(case, scu=scu, k=k, corpus=CORPUS)
    rows = list(result.rows())
    assert [row["qid"] for row in rows] == [item["qid"] for item in case.gold]
    names = set(result.metrics)
    for row in rows:
        assert not set(row["metrics"]) & set(row["undefined"])
        assert set(row["metrics"]) | set(row["undefined"]) == names
        assert set(row["metrics"].values()) <= {0.0, 1.0}
        assert all(row["undefined"].values())
        assert sum(row["facts"][fate] for fate in ("answered", "refused", "missing", "errored")) == 1
    for name, number in result.metrics.items():
        values = [row["metrics"][name] for row in rows if name in row["metrics"]]
        assert sum(values) == number.num
        if number.den is not None:
            assert len(values) == number.den
    labels = [row["label"] for row in rows]
    assert suite(result)["labels"] == {label: labels.count(label) for label in suite(result)["labels"]}


# the oracle: spec answers §3, §4 and §6 once more, from the formulas


def same_form(text: str) -> str:
    return unicodedata.normalize("NFC", text).lower()


def occurs(piece: str, text: str, short: bool) -> bool:
    """From five characters up anywhere; shorter ones (§1.1, "word") as a word, or as two CJK characters."""
    piece, text = same_form(piece), same_form(text)
    if len(piece) >= 5 or not short:
        return len(piece) >= 5 and piece in text
    if len(piece) >= 2 and any("\u4e00" <= letter <= "\u9fff" for letter in piece):
        return piece in text
    padded = f" {text} "
    starts = [i for i in range(1, len(text) + 1) if padded.startswith(piece, i)]
    around = [padded[i - 1] + padded[i + len(piece)] for i in starts]
    return any(not re.search(r"\w", pair) for pair in around)


class Expected(NamedTuple):
    pairs: dict[str, tuple[int, int | None]]
    labels: dict[str, str]


def oracle(
    case: Case,
    k: int = 5,
    *,
    scu: bool = False,
    short: bool = False,
    corpus: bool = False,
) -> Expected:
    last = {trace.get("qid") or trace.get("q_id"): trace for trace in case.traces}
    texts = {chunk["chunk_id"]: chunk["text"] for chunk in CORPUS}
    names = [
        "precision", "chr", "under_refusal", "over_refusal", "recall", "hit", "chr_ceiling", "scu",
        "compliance", "containment", "support",
    ]  # fmt: skip
    num, den = dict.fromkeys(names, 0), dict.fromkeys(names, 0)
    labels: dict[str, str] = {}
    missing = violations = 0

    def count(name: str, among: bool, holds: bool) -> None:
        den[name] += among
        num[name] += among and holds

    for x in case.gold:
        trace = last.get(x["qid"])
        A, U = x["answerable"], not x["answerable"]
        answer = (trace or {}).get("answer_json") or {}
        claim, retrieved = answer.get("claim") or "", (trace or {}).get("retrieved_ids") or []
        cited = answer.get("citations")
        cited = [] if cited is None else cited
        wanted, pieces = set(x.get("gold_citations") or []), x.get("gold_claim_substr") or []
        locks = {unicodedata.normalize("NFC", one.strip()) for one in x.get("constraints") or []}
        echo: Any = answer.get("constraints_echo")
        M = trace is None
        E = trace is not None and (trace.get("error") is not None or trace.get("answer_json") is None)  # design §5
        answer, claim, cited = (
            ({}, "", []) if E else (answer, claim, cited)
        )  # what was retrieved before an error counts
        R = not M and not E and claim.strip().lower() == "not in context"
        S = not M and not R and not E
        text = claim.strip()
        C = bool(text) and (not pieces or any(occurs(piece, text, short) for piece in pieces))
        H = isinstance(cited, list) and bool(set(cited) & wanted) and set(cited) <= set(retrieved)
        strings = isinstance(echo, list) and all(isinstance(one, str) for one in echo)
        echoed = {unicodedata.normalize("NFC", one.strip()) for one in echo} if strings else set()
        K = not scu or not locks or echoed == locks
        ids_only = isinstance(cited, list) and all(isinstance(one, str) for one in cited)
        top = set(retrieved[:k])
        count("precision", S or E, S and A and C and H and K)
        count("chr", S or E, S and H)
        count("under_refusal", U and not E, S)
        count("over_refusal", A and not E, R)
        count("recall", A, wanted <= top)
        count("hit", A, bool(wanted & top))
        count("chr_ceiling", S or E, bool(wanted & top))
        count("scu", S or E, S and K)
        count("compliance", S or R or E, R or (bool(text) and ids_only))
        count("containment", A, S and C)
        listed = cited if isinstance(cited, list) else []
        held = [texts.get(one, "") for one in listed if isinstance(one, str)]
        count("support", corpus and (S or E) and A, S and any(occurs(p, one, short) for p in pieces for one in held))
        missing += M
        violations += S and bool(locks) and not K
        outside = isinstance(cited, list) and not set(cited) <= set(retrieved)
        applies = {
            "MISSING": M, "ERROR": E, "HALLUCINATION": S and U, "OVER_REFUSAL": R and A, "REFUSAL_OK": R,
            "EMPTY_CLAIM": not text, "OUT_OF_SCOPE": outside, "ANS_NO_HIT": not H, "ANS_NO_CONTAIN": not C,
            "SCU_VIOLATION": not K, "OK": True,
        }  # fmt: skip
        labels[x["qid"]] = next(label for label, holds in applies.items() if holds)
    if not any(x.get("gold_claim_substr") for x in case.gold if x["answerable"]):
        num["support"] = den["support"] = 0  # no gold text at all: nothing could be supported
    deep = {"recall": f"recall@{k}", "hit": f"hit@{k}", "chr_ceiling": f"chr_ceiling@{k}"}
    found: dict[str, tuple[int, int | None]] = {
        f"answers.{deep.get(name, name)}": (num[name], den[name]) for name in names
    }
    found |= {"answers.missing": (missing, None), "answers.scu_violations": (violations, None)}
    return Expected(found, labels)


WORST_FIRST = [
    "HALLUCINATION", "SCU_VIOLATION", "OUT_OF_SCOPE", "ANS_NO_HIT", "ANS_NO_CONTAIN", "EMPTY_CLAIM",
    "ERROR", "MISSING", "OVER_REFUSAL",
]  # fmt: skip


def in_turn(worst: list[tuple[int, str]], most: int) -> list[str]:
    """One question of each label after the other, until there are enough; shown label by label."""
    left = {rank: [qid for other, qid in worst if other == rank] for rank, _ in worst}
    taken: dict[int, list[str]] = {rank: [] for rank in left}
    while any(left.values()):
        for rank in sorted(left):
            if left[rank] and sum(map(len, taken.values())) < most:
                taken[rank].append(left[rank].pop(0))
        if sum(map(len, taken.values())) == most:
            break
    return [qid for rank in sorted(taken) for qid in taken[rank]]


def agree(result: ragworthy.Result, expected: Expected) -> None:
    assert pairs(result) == expected.pairs
    assert {row["qid"]: row["label"] for row in result.rows()} == expected.labels
    if any(gate["outcome"] == "fail" for gate in result.gates):
        bad = {qid: what for qid, what in expected.labels.items() if what in WORST_FIRST}
        worst = [(WORST_FIRST.index(what), qid) for qid, what in bad.items()]
        listed = [one["qid"] for one in suite(result)["offenders"]]
        assert listed == in_turn(sorted(worst), 10)


@settings(STEADY, max_examples=examples(700))
@given(case=cases(), k=st.sampled_from([1, 2, 3, 5]), scu=st.booleans())
def test_oracle(case: Case, k: int, scu: bool) -> None:
    agree(score(case, k=k, scu=scu, short_substr="reject"), oracle(case, k, scu=scu))


@settings(STEADY, max_examples=examples(400))
@given(case=cases(short=True))
def test_oracle_with_short_answers(case: Case) -> None:
    agree(score(case), oracle(case, short=True))  # the default


@STEADY
@given(case=cases())
def test_oracle_of_support(case: Case) -> None:
    """The denominator is S∩A (spec §3, `cited_support`), items without gold text included."""
    agree(score(case, corpus=CORPUS, short_substr="reject"), oracle(case, corpus=True))


@STEADY
@given(case=cases(short=True))
def test_oracle_of_support_where_every_item_has_gold_text(case: Case) -> None:
    text = {item["qid"]: item.get("gold_claim_substr") or ["alpha beta"] for item in case.gold}
    text |= {item["qid"]: [] for item in case.gold if not item["answerable"]}
    gold = [item | {"gold_claim_substr": text[item["qid"]]} for item in case.gold]
    full = Case(gold, case.traces)
    agree(score(full, corpus=CORPUS, short_substr="word"), oracle(full, short=True, corpus=True))


@pytest.mark.parametrize("seed", [1, 2])
def test_oracle_on_a_gold_set_of_many_blocks(seed: int) -> None:
    """Several thousand questions, traces in another order, repeated and unknown ones among them."""
    chance = random.Random(seed)
    gold: list[Row] = []
    traces: list[Row] = []
    for i in range(7000):
        qid, answerable = f"q{i}", chance.random() < 0.7
        item: Row = {"qid": qid, "question": f"Question {i} {'x' * 40}?", "answerable": answerable}
        item["gold_claim_substr"] = [chance.choice(LONG_PIECES)] if answerable else []
        item["gold_citations"] = chance.choices(CHUNKS, k=2) if answerable else []
        gold.append(item)
        for _ in range(chance.choice([0, 1, 1, 1, 1, 1, 1, 2, 3])):
            retrieved = chance.choices(CHUNKS, k=4)
            claim = chance.choice([*CLAIMS, *REFUSALS, *item["gold_claim_substr"] * 20])
            answer = {"claim": claim, "citations": chance.choices(retrieved, k=chance.choice([0, 1, 1, 2]))}
            traces.append({"qid": qid, "retrieved_ids": retrieved, "answer_json": answer})
    traces += [{"qid": f"unknown{i}", "retrieved_ids": []} for i in range(50)]
    chance.shuffle(traces)
    case = Case(gold, traces)
    result = score(case)
    agree(result, oracle(case))
    counts = suite(result)["counts"]
    known = {trace["qid"] for trace in traces} - {f"unknown{i}" for i in range(50)}
    assert counts["orphan_traces"] == 50
    assert counts["duplicate_traces"] == len(traces) - 50 - len(known)
    assert counts["missing"] == len(gold) - len(known)
