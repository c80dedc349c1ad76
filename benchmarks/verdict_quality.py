"""How often verdicts are wrong: pairs of runs in which nothing changed, and in which something did, judged as in CI.

Real systems answered the questions (SQuAD 2.0: BERT and NLNet; BM25 and hybrid search over its paragraphs). A share of
the questions is answered by one of them in the first run and by the other in the second, in random order: the two runs
are exchangeable, with real difficulty and real disagreement, and every difference between them is noise. A drop is
planted by making right answers of the second run wrong.

Beside the verdicts of Ragworthy stand those of a gate with a fixed tolerance, as other tools have it, and of the point
rule on the same thresholds. The exit code is 1 where a promise of docs/verdict-quality.md does not hold.
"""

import argparse
import gzip
import json
import math
import multiprocessing
import os
import random
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Callable, Collection, Iterator, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import ragworthy as rw
from ragworthy import gates as g
from ragworthy.differences import difference, pair
from ragworthy.loss_tests import prove
from ragworthy.metrics.fold import value_of
from ragworthy.metrics.registry import MetricName, find
from ragworthy.names import Outcome, Verdict
from ragworthy.paired.clusters import totals, wilson_clustered
from ragworthy.paired.exact import mcnemar
from ragworthy.proving import Proving
from ragworthy.rows import Rows, Word, decoded, words_of
from ragworthy.stats import wilson
from ragworthy.suites.answers.rules import REGRESSION

SQUAD = Path(__file__).resolve().parents[2] / "shared/data/squad2/dev"
SIZES = (50, 200, 500, 2000)
SHARES = {"same traces": 0.0, "2 %": 0.12, "5 %": 0.3, "17 %": 1.0}
"""The share of questions that the two systems answer, and how many flip then."""
TOLERANCE = Fraction("0.02")
ALPHA = 0.05
LEAST_COVERAGE, LEAST_BLAMED = 93, 95
TOPICS = 3
SAME = 3
"""How many pairs of the same traces are judged: all are alike."""
RETRIEVAL = (
    g.Gate("retrieval.recall@5", g.DROP, "0.02"),
    g.Gate("retrieval.recall@1", g.DROP, "0.02"),
    g.Gate("retrieval.ndcg@5", g.WORSE, "0.03"),
    g.Gate("retrieval.mrr", g.WORSE, "0.03"),
)


class Pool(NamedTuple):
    """What two systems did with the same questions, as two runs of one suite."""

    first: Rows
    second: Rows
    topics: tuple[str, ...]
    """The document of each question."""


class Pair(NamedTuple):
    """Two runs that are compared."""

    old: Rows
    new: Rows


# real runs


def answers_pool() -> Pool:
    """The answers of two systems."""
    return _pool(_scored, ("bert_single", "nlnet_single"))


def _scored(name: str) -> dict[str, Any]:
    result = rw.score("answers", gold=SQUAD / "gold.jsonl.gz", traces=SQUAD / f"trace_{name}.jsonl.gz")
    body: dict[str, Any] = result.report["suites"]["answers"]
    return body


def retrieval_pool(folder: Path) -> Pool:
    """The results of two ways to search the paragraphs."""
    gold = folder / "gold.jsonl"
    _cli("index", "build", "--docs", SQUAD / "corpus.jsonl", "--out", folder / "index")
    with gold.open("w", encoding="utf-8") as file:
        for one in _lines(SQUAD / "gold.jsonl.gz"):
            if one["answerable"]:
                row = {"qid": one["qid"], "question": one["question"], "paraphrases": [one["question"]]}
                file.write(json.dumps(row | {"relevant": one["gold_citations"]}) + "\n")

    def scored(mode: str) -> dict[str, Any]:
        traces = folder / f"{mode}.jsonl"
        _cli("retrieve", "--index", folder / "index", "--gold", gold, "--seeds", "1", "--mode", mode, "-o", traces)
        result = rw.score("retrieval", gold=gold, traces=traces, gates="recall@5=0.1", defaults=False)
        body: dict[str, Any] = result.report["suites"]["retrieval"]
        return body

    return _pool(scored, ("bm25", "hybrid"))


def _pool(scored: Callable[[str], dict[str, Any]], names: tuple[str, str]) -> Pool:
    first, second = (decoded(scored(name)["rows"]) for name in names)
    where = {one["qid"]: one["article"] for one in _lines(SQUAD / "meta.jsonl.gz")}
    wanted = {gate.metric for gate in (*REGRESSION, *RETRIEVAL)}
    return Pool(_only(first, wanted), _only(second, wanted), tuple(where[qid] for qid in first.qids))


def _only(rows: Rows, metrics: Collection[str]) -> Rows:
    """With the words of some metrics."""
    return rows._replace(words={name: words for name, words in rows.words.items() if name in metrics})


def _lines(path: Path) -> Iterator[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def _cli(*words: object) -> None:
    subprocess.run([sys.executable, "-m", "ragworthy", *map(str, words)], check=True, capture_output=True)


# pairs of runs


def noise(pool: Pool, cases: int, share: float, rng: random.Random) -> Pair:
    """Two exchangeable runs over some of the questions."""
    chosen = rng.sample(range(len(pool.first.qids)), cases)
    sides = []
    for _ in chosen:
        mixed = rng.random() < share
        sides.append((0, 0) if not mixed else (0, 1) if rng.random() < 0.5 else (1, 0))
    return Pair(_run(pool, chosen, [one for one, _ in sides]), _run(pool, chosen, [one for _, one in sides]))


def _run(pool: Pool, chosen: Sequence[int], sides: Sequence[int]) -> Rows:
    both = (pool.first, pool.second)

    def column(of: Callable[[Rows], Sequence[Any]]) -> tuple[Any, ...]:
        one = (of(both[0]), of(both[1]))
        return tuple(one[side][nth] for side, nth in zip(sides, chosen, strict=True))

    qids = tuple(pool.first.qids[nth] for nth in chosen)
    return Rows(
        qids=qids,
        clusters=qids,
        labels=column(lambda rows: rows.labels),
        causes=(None,) * len(qids),
        runs=(1,) * len(qids),
        slices=tuple((f"topic={hash_of(pool.topics[nth]) % TOPICS}",) for nth in chosen),
        words={name: column(partial(_said, name)) for name in both[0].words},
    )


def _said(name: str, rows: Rows) -> Sequence[Word]:
    return rows.words[name]


def hash_of(text: str) -> int:
    """A number that is the same everywhere."""
    return sum(map(ord, text))


def with_drop(given: Pair, metric: str, drop: float, rng: random.Random) -> Pair:
    """The same with right words of the second run made wrong, so many points of all cases on average."""
    better = _named(metric).metric.better
    right, words = better == "higher", list(given.new.words[metric])
    cases = [nth for nth, word in enumerate(words) if word is not None]
    there = [nth for nth in cases if bool(words[nth]) is right]
    each = min(1.0, drop * len(cases) / max(1, len(there)))
    for nth in there:
        if rng.random() < each:
            words[nth] = not right
    return given._replace(new=given.new._replace(words={**given.new.words, metric: tuple(words)}))


# judging them


def _named(metric: str) -> MetricName:
    found = find(metric, default_k=5)
    assert found is not None, metric
    return found


def _value(metric: str, rows: Rows, group: str | None) -> g.Value:
    words: list[Any] = [
        word for word, names in zip(_words(rows, metric), rows.slices, strict=True) if not group or group in names
    ]
    return value_of(_named(metric).metric, words)


def _words(rows: Rows, metric: str) -> Sequence[Word]:
    return words_of(rows, metric) or ()


class Found(NamedTuple):
    """What one pair of runs was called."""

    verdict: Verdict
    failing: frozenset[str]
    point: Verdict
    """By the same thresholds on point values."""
    fixed: bool
    """Whether a gate with a fixed tolerance of 2 points passes everything."""


def judged(pairs: Sequence[Pair], gates: Sequence[Sequence[g.Gate]], seed: int) -> Found:
    """All gates of all suites on their pairs of runs, as one verdict."""
    differences, values, before = {}, {}, {}
    for nth, (one, some) in enumerate(zip(pairs, gates, strict=True)):
        joined = pair(one.old, one.new)
        for gate in some:
            part = joined.of({n for n, names in enumerate(one.new.slices) if gate.slice in names}) \
                if gate.slice else joined  # fmt: skip
            found = difference(gate, _named(gate.metric).metric, part)
            if not isinstance(found, str):
                differences[nth, gate] = found
            values[nth, gate] = _value(gate.metric, one.new, gate.slice)
            before[nth, gate] = _value(gate.metric, one.old, gate.slice).exact
    tested = prove(differences, Proving(alpha=str(ALPHA), seed=seed))
    outcomes: list[g.Judged] = []
    points: list[g.Judged] = []
    fixed = True
    for (nth, gate), value in values.items():
        old, key = before[nth, gate], (gate.slice, gate.metric)
        baseline = g.Baseline({} if old is None else {key: old}, {})
        kept = {gate: tested[nth, gate]} if (nth, gate) in tested else {}
        outcomes += g.judge((gate,), {key: value}, baseline=baseline, tested=kept)
        if not gate.guard:
            points += g.judge((gate._replace(evidence="point"),), {key: value}, baseline=baseline)
        number = value.exact
        if number is not None and old is not None and not gate.guard:
            fixed = fixed and (old - number if value.better == "higher" else number - old) <= TOLERANCE
    failing = frozenset(g.name_of(one.gate) for one in outcomes if one.outcome is Outcome.FAIL)
    return Found(_verdict(outcomes), failing, _verdict(points), fixed)


def _verdict(outcomes: Sequence[g.Judged]) -> Verdict:
    """Without the rule that something must have been measured: small sets may lack a slice."""
    seen = {one.outcome for one in outcomes}
    if Outcome.FAIL in seen:
        return Verdict.NO_SHIP
    return Verdict.INCONCLUSIVE if Outcome.UNDECIDED in seen else Verdict.SHIP


RULE_B = tuple(g.with_evidence(gate, "point") for gate in REGRESSION if not gate.guard)
"""The regression gates with the smallest effect that their tolerance has: nothing ships that did not before."""
RULE_D = tuple(g.with_evidence(gate._replace(min_effect="0"), "point") for gate in REGRESSION)
"""As `regression = true` has them: nothing may be proven worse."""


def rng_of(*what: object) -> random.Random:
    """Randomness of its own for each cell, the same in every run."""
    return random.Random("|".join(map(str, what)))


# the tables


class Cell(NamedTuple):
    """How a kind of pair was judged, in shares of all pairs."""

    no_ship: float
    inconclusive: float
    ship: float
    point: float
    """NO-SHIP by the point rule."""
    fixed: float
    """Failed by a fixed tolerance."""
    other_ships: int
    """Pairs that ship under one of the rules, point and paired, and not under the other."""


def cell(found: Sequence[Found]) -> Cell:
    """The shares of some pairs."""
    count: Counter[str] = Counter(str(one.verdict.value) for one in found)
    total = len(found)

    def share(number: int) -> float:
        return 100 * number / total

    return Cell(
        share(count["NO-SHIP"]),
        share(count["INCONCLUSIVE"]),
        share(count["SHIP"]),
        share(sum(one.point is Verdict.NO_SHIP for one in found)),
        share(sum(not one.fixed for one in found)),
        sum((one.verdict is Verdict.SHIP) is not (one.point is Verdict.SHIP) for one in found),
    )


def unchanged(pool: Pool, repeats: int, gates: Sequence[g.Gate], sizes: Sequence[int]) -> dict[tuple[str, int], Cell]:
    """Pairs in which nothing changed, under the regression gates of the answers suite."""

    def one(flips: str, cases: int) -> Cell:
        rng, share = rng_of("unchanged", flips, cases), SHARES[flips]
        times = range(repeats if share else SAME)
        return cell([judged([noise(pool, cases, share, rng)], [gates], nth) for nth in times])

    return _each(one, [(flips, cases) for flips in SHARES for cases in sizes])


def _each(one: Callable[..., Any], keys: Sequence[Any]) -> dict[Any, Any]:
    """What a function says of every cell; forked processes share the work, for there are many."""
    global _TASK
    _TASK = one
    with multiprocessing.get_context("fork").Pool(os.cpu_count()) as pool:
        return dict(zip(keys, pool.map(_task, keys, chunksize=1), strict=True))


_TASK: Callable[..., Any] | None = None


def _task(key: Sequence[Any]) -> Any:
    assert _TASK is not None
    return _TASK(*key)


def family(answers: Pool, results: Pool, repeats: int, sizes: Sequence[int]) -> dict[tuple[str, int], Cell]:
    """The same under twelve gates: of answers, of retrieval, and of precision in three topics."""
    slices = [
        g.Gate("answers.precision", g.WORSE, "0.03", slice=f"topic={nth}", evidence="paired", min_effect="0")
        for nth in range(TOPICS)
    ]
    of_answers = [gate for gate in RULE_D if not gate.guard] + slices
    of_results = [g.with_evidence(gate._replace(min_effect="0"), "point") for gate in RETRIEVAL]

    def one(flips: str, cases: int) -> Cell:
        rng, share, found = rng_of("family", flips, cases), SHARES[flips], []
        for nth in range(repeats if share else SAME):
            pairs = [noise(answers, cases, share, rng), noise(results, cases // 2, share, rng)]
            found.append(judged(pairs, [of_answers, of_results], nth))
        return cell(found)

    return _each(one, [(flips, cases) for flips in SHARES for cases in sizes])


class Power(NamedTuple):
    """How often a planted drop is proven, and how often the exact test alone would prove it."""

    proven: float
    exact: float
    fixed: float


def power(pool: Pool, metric: str, repeats: int, sizes: Sequence[int], drops: Sequence[int]) -> dict[Any, Power]:
    """Planted drops under one gate with `min_effect = 0`."""
    gate = g.Gate(metric, g.DROP, str(float(TOLERANCE)), evidence="paired", min_effect="0")
    pool = pool._replace(first=_only(pool.first, {metric}), second=_only(pool.second, {metric}))

    def one(flips: str, cases: int, drop: int) -> Power:
        rng, found, exact = rng_of("power", metric, flips, cases, drop), [], 0
        for nth in range(repeats):
            pair_of = with_drop(noise(pool, cases, SHARES[flips], rng), metric, drop / 100, rng)
            found.append(judged([pair_of], [[gate]], nth))
            exact += _exact(gate, pair_of) <= ALPHA
        told = cell(found)
        return Power(told.no_ship, 100 * exact / repeats, told.fixed)

    return _each(one, [(flips, cases, drop) for flips in SHARES for cases in sizes for drop in drops])


def _exact(gate: g.Gate, given: Pair) -> float:
    """The exact test, written out here: McNemar where every case is counted in both runs, else by all swaps."""
    better = _named(gate.metric).metric.better
    old, new = _words(given.old, gate.metric), _words(given.new, gate.metric)
    good = {True: 1, False: 0} if better == "higher" else {True: 0, False: 1}
    pairs = [(a, b) for a, b in zip(old, new, strict=True) if a is not None or b is not None]
    if all(a is not None and b is not None for a, b in pairs):
        worse = sum(good[bool(a)] > good[bool(b)] for a, b in pairs)
        return mcnemar(worse, sum(good[bool(a)] < good[bool(b)] for a, b in pairs))
    parts = [(good[bool(a)] if a is not None else 0, a is not None) for a, _ in pairs]
    others = [(good[bool(b)] if b is not None else 0, b is not None) for _, b in pairs]
    rate = Fraction(sum(p for p, _ in (*parts, *others)), sum(c for _, c in (*parts, *others)))
    moved = [(a[0] - rate * a[1]) - (b[0] - rate * b[1]) for a, b in zip(parts, others, strict=True)]
    return _tail([one for one in moved if one])


def _tail(moved: Sequence[Fraction]) -> float:
    """How often random signs give at least the sum: by counting every sum that can be reached."""
    ways: dict[Fraction, float] = {Fraction(0): 1.0}
    for size, times in sorted(Counter(map(abs, moved)).items()):
        step = {size * (2 * k - times): math.comb(times, k) / 2**times for k in range(times + 1)}
        ways = _sums(ways, step)
    seen = sum(moved, Fraction(0))
    return math.fsum(chance for total, chance in ways.items() if total >= seen)


def _sums(ways: dict[Fraction, float], step: dict[Fraction, float]) -> dict[Fraction, float]:
    found: dict[Fraction, float] = {}
    for total, chance in ways.items():
        for more, other in step.items():
            if chance * other > 1e-15:
                found[total + more] = found.get(total + more, 0.0) + chance * other
    return found


class Coverage(NamedTuple):
    """How often a 95 % interval holds the truth."""

    plain: float
    clustered: float


def coverage(pool: Pool, metric: str, repeats: int) -> dict[tuple[int, int], Coverage]:
    """Gold sets of whole articles, drawn with replacement: so many articles, so many questions of each."""
    words = _words(pool.first, metric)
    inside: dict[str, list[Word]] = {}
    for word, topic in zip(words, pool.topics, strict=True):
        if word is not None:
            inside.setdefault(topic, []).append(word)
    truth = math.fsum(sum(map(bool, some)) / len(some) for some in inside.values()) / len(inside)
    cells = {}
    for articles, questions in ((10, 20), (10, 50), (20, 25), (18, 100)):
        rng, plain, clustered = rng_of("coverage", metric, articles, questions), 0, 0
        for _ in range(repeats):
            drawn = enumerate(rng.choices(list(inside), k=articles))
            some = [(str(nth), bool(word)) for nth, topic in drawn for word in rng.choices(inside[topic], k=questions)]
            one = wilson(sum(word for _, word in some), len(some))
            other = wilson_clustered(totals([int(word) for _, word in some], [name for name, _ in some]))
            assert one is not None and other is not None
            plain += one.low <= truth <= one.high
            clustered += other.low <= truth <= other.high
        cells[articles, questions] = Coverage(100 * plain / repeats, 100 * clustered / repeats)
    return cells


# what is promised


# stage blame


K, PLANTED = 5, 100
"""How deep the pipeline looks, and how many questions each defect is planted in."""
OUTSIDE = "elsewhere#1"


class Spoiled(NamedTuple):
    """A perfect trace of a real question that was spoiled in one way."""

    cause: str
    answerable: bool
    rank: int | None = 1
    """Where the paragraph with the answer stands; None: nowhere."""
    cites: str = "gold"
    """gold, another, outside."""
    claim: str | None = None
    """What is said in the place of the right claim."""


DEFECTS = (
    Spoiled("not_in_corpus", True, None, "another"),
    Spoiled("not_retrieved", True, None, "another"),
    Spoiled("below_k", True, 8, "another"),
    Spoiled("not_cited", True, 2, "another"),
    Spoiled("out_of_scope", True, 1, "outside"),
    Spoiled("claim_wrong", True, claim="It is another thing."),
    Spoiled("refused_with_evidence", True, claim="not in context"),
    Spoiled("answered_without_evidence", False, None, "another", "It is another thing."),
    Spoiled("constraint_broken", True),
    Spoiled("target_error", True),
    Spoiled("missing", True),
    Spoiled("nothing", True, 4),
)
"""One for each cause, in the order in which they are asked for; the last is a right answer."""


def blame(seed: str = "blame") -> dict[str, Counter[str]]:
    """What is blamed for each planted cause: questions and paragraphs of SQuAD, a perfect trace each, spoiled."""
    rng = rng_of(seed)
    chunks = [json.loads(line) for line in (SQUAD / "corpus.jsonl").read_text(encoding="utf-8").splitlines()]
    texts = {one["id"]: one["text"].lower() for one in chunks}
    golds = list(_lines(SQUAD / "gold.jsonl.gz"))
    rng.shuffle(golds)
    usable = [one for one in golds if one["answerable"] and _stands(one, texts)]
    asked = {True: iter(usable), False: iter([one for one in golds if not one["answerable"]])}
    lost: set[str] = set()
    rows, traces, planted = [], [], dict[str, str]()
    for one in DEFECTS:
        for _ in range(PLANTED):
            gold = next(asked[one.answerable])
            while lost & {*gold["gold_citations"]}:
                gold = next(asked[one.answerable])
            lost |= {*gold["gold_citations"]} if one.cause == "not_in_corpus" else set()
            if one.cause == "constraint_broken":
                gold = gold | {"constraints": ["answer in metres"]}
            rows.append(gold)
            planted[gold["qid"]] = one.cause
            traces += [] if one.cause == "missing" else [_spoiled(one, gold, rng.sample(list(texts), 14))]
    corpus = [one for one in chunks if one["id"] not in lost]
    found: dict[str, Counter[str]] = {one.cause: Counter() for one in DEFECTS}
    for row in rw.score("answers", gold=rows, traces=traces, corpus=corpus, k=K, scu=True).rows():
        found[planted[row["qid"]]][row["cause"] or "nothing"] += 1
    return found


def _stands(gold: dict[str, Any], texts: dict[str, str]) -> bool:
    """Whether the answer stands in the paragraph that has it, and is long enough to stand in few others."""
    said = gold["gold_claim_substr"][0]
    return len(said) > 5 and said.lower() in texts[gold["gold_citations"][0]]


def _spoiled(one: Spoiled, gold: dict[str, Any], others: list[str]) -> dict[str, Any]:
    if one.cause == "target_error":
        return {"qid": gold["qid"], "retrieved_ids": [], "error": "timeout"}
    wanted = gold["gold_citations"]
    ids = [name for name in others if name not in wanted][:10]
    if wanted and one.rank:
        ids[one.rank - 1] = wanted[0]
    cited = {"gold": wanted[:1], "outside": [OUTSIDE], "another": [next(name for name in ids if name not in wanted)]}
    claim = one.claim if one.claim is not None else f"It is {gold['gold_claim_substr'][0]}."
    citations = [] if one.cause == "refused_with_evidence" else cited[one.cites]
    answer = {"claim": claim, "citations": citations, "constraints_echo": []}
    return {"qid": gold["qid"], "retrieved_ids": ids, "answer_json": answer}


def right(cause: str, found: Counter[str]) -> float:
    """The share of the questions in which that is blamed which was planted, in per cent."""
    return 100 * found[cause] / found.total()


def most(repeats: int) -> float:
    """5 % and two standard errors, in points."""
    return 100 * (ALPHA + 2 * math.sqrt(ALPHA * (1 - ALPHA) / repeats))


def broken(tables: "Tables", repeats: int) -> list[str]:
    """The promises that do not hold."""
    return [*_false_alarms(tables, repeats), *_too_weak(tables), *_wrongly_blamed(tables)]


def _wrongly_blamed(tables: "Tables") -> Iterator[str]:
    for cause, found in tables.blame.items():
        if right(cause, found) < LEAST_BLAMED:
            yield f"{cause} is blamed in {right(cause, found):.1f} % of the questions in which it was planted"


def _false_alarms(tables: "Tables", repeats: int) -> Iterator[str]:
    for name, cells in (("paired", tables.paired), ("strict", tables.proven), ("twelve gates", tables.family)):
        for (flips, cases), one in cells.items():
            if one.no_ship > most(repeats):
                yield f"{name}, flips {flips}, {cases} questions: NO-SHIP in {one.no_ship:.1f} %"
            if flips == "same traces" and one.ship < 100:
                yield f"{name}, {cases} questions: the same traces do not always ship"
    for (flips, cases), one in tables.paired.items():
        if one.other_ships:
            yield f"flips {flips}, {cases} questions: {one.other_ships} pairs ship under one rule only"


def _too_weak(tables: "Tables") -> Iterator[str]:
    for (metric, *where), found in tables.power.items():
        if found.proven < 0.95 * found.exact:
            yield f"{metric} {where}: proven in {found.proven:.1f} %, the exact test in {found.exact:.1f} %"
    for (metric, *where), held in tables.coverage.items():
        if held.clustered < LEAST_COVERAGE:
            yield f"{metric} {where}: the interval holds the truth in {held.clustered:.1f} %"


class Tables(NamedTuple):
    """Everything that was measured."""

    paired: dict[tuple[str, int], Cell]
    proven: dict[tuple[str, int], Cell]
    family: dict[tuple[str, int], Cell]
    power: dict[Any, Power]
    coverage: dict[Any, Coverage]
    blame: dict[str, Counter[str]]


def measured(repeats: int, sizes: Sequence[int] = SIZES, drops: Sequence[int] = (2, 5, 10)) -> Tables:
    """All tables."""
    answers = answers_pool()
    with tempfile.TemporaryDirectory() as folder:
        results = retrieval_pool(Path(folder))
    found = [(answers, "answers.precision"), (answers, "answers.under_refusal"), (results, "retrieval.recall@5")]
    return Tables(
        unchanged(answers, repeats, RULE_B, sizes),
        unchanged(answers, repeats, RULE_D, sizes),
        family(answers, results, repeats, sizes),
        {
            (metric, *where): one
            for pool, metric in found
            for where, one in power(pool, metric, max(repeats // 5, 20), sizes, drops).items()
        },
        {
            (metric, *where): one
            for pool, metric in found[1:]
            for where, one in coverage(pool, metric, 4 * repeats).items()
        },
        blame(),
    )


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Rows under a head, as Markdown has them."""
    return "\n".join(f"| {' | '.join(row)} |" for row in (head, ["---"] * len(head), *rows))


def shown(tables: Tables) -> Iterator[str]:
    """The tables as Markdown."""
    head = ["flips", "questions", "NO-SHIP", "INCONCLUSIVE", "SHIP", "point rule: NO-SHIP", "2-point tolerance: fails"]
    for title, cells in (
        ("Nothing changed, the tolerances of the regression gates (`min_effect` = tolerance)", tables.paired),
        ("Nothing changed, `regression = true` (nothing may be proven worse)", tables.proven),
        ("Nothing changed, twelve gates of two suites", tables.family),
    ):
        yield f"\n### {title}\n"
        yield table(
            head,
            [[flips, f"{cases:,}", *(f"{share:.1f}" for share in one[:5])] for (flips, cases), one in cells.items()],
        )
    yield "\n### A planted drop: how often it is stopped\n"
    head = ["metric", "flips", "questions", "drop", "Ragworthy", "exact test", "2-point tolerance"]
    yield table(
        head,
        [
            [metric, flips, f"{cases:,}", f"{drop} points", *(f"{share:.1f}" for share in one)]
            for (metric, flips, cases, drop), one in tables.power.items()
        ],
    )
    yield "\n### 95 % intervals when questions come from the same documents: how often they hold the truth\n"
    yield table(
        ["metric", "documents × questions", "as if unrelated", "Ragworthy"],
        [
            [metric, f"{articles} × {questions}", f"{one.plain:.1f}", f"{one.clustered:.1f}"]
            for (metric, articles, questions), one in tables.coverage.items()
        ],
    )
    yield "\n### What is blamed, by what was planted\n"
    yield blame_table(tables.blame)


def blame_table(found: dict[str, Counter[str]]) -> str:
    """The share that is blamed rightly, and on what the others are blamed."""
    rows = []
    for cause, seen in found.items():
        others = ", ".join(f"{name} {count}" for name, count in seen.most_common() if name != cause)
        rows.append([cause, str(seen.total()), f"{right(cause, seen):.1f}", others or "–"])
    return table(["planted", "questions", "blamed rightly", "blamed on something else"], rows)


def main() -> int:
    """Measure, print, and say which promises do not hold."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--repeats", type=int, default=500, help="pairs of runs in every cell (default: 500)")
    repeats = parser.parse_args().repeats
    tables = measured(repeats)
    for line in shown(tables):
        print(line)
    wrong = broken(tables, repeats)
    print("\nEvery promise holds." if not wrong else "\nNot kept:\n" + "\n".join(f"- {one}" for one in wrong))
    return int(bool(wrong))


if __name__ == "__main__":
    raise SystemExit(main())
