"""A shadow index against the live one: the same questions to both, scored side by side."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy import flow
from ragworthy.errors import data_error
from ragworthy.experiments import equal_context
from ragworthy.files import read_text
from ragworthy.gates import Gate
from ragworthy.index import build as indexing
from ragworthy.index.manifest import drift
from ragworthy.index.store import Index, open_index
from ragworthy.load.decode import read_items
from ragworthy.load.lock import load_lock, lock_path
from ragworthy.load.sources import open_source
from ragworthy.metrics.facts.judgements import ids_of, is_named
from ragworthy.metrics.facts.redirects import Redirects, Table, inverted
from ragworthy.names import Verdict
from ragworthy.records import RetrievalGold
from ragworthy.report import model
from ragworthy.runner.retrieve import How, measure_for, search, traces, wordings
from ragworthy.suites.retrieval import Retrieval
from ragworthy.suites.retrieval.cuts import moot, moot_live
from ragworthy.suites.retrieval.shadow import Results, churn

LISTED = " (every question; those that lost a relevant block are listed above)"


class Query(NamedTuple):
    """A query that nobody judged."""

    name: str
    text: str


class Pair(NamedTuple):
    """Both indexes, and the redirects from one to the other."""

    live: Index
    shadow: Index
    live_path: Path
    shadow_path: Path
    table: Table

    @property
    def drift(self) -> list[str]:
        """Every setting in which the two differ."""
        return drift(self.live.manifest, self.shadow.manifest)


def open_pair(live: Path, shadow: Path) -> Pair:
    """Open both, and work out where the blocks of the live index have gone."""
    return Pair(open_index(live), open_index(shadow), live, shadow, indexing.redirects(live, shadow))


class Whose(NamedTuple):
    """Whose ids a gold set has."""

    side: str
    doubt: str | None = None
    """Why that cannot be told."""


def gold_is_of(pair: Pair, gold: Path) -> Whose:
    """Whose ids a gold set has: its lock or its items may say; else the index that knows more of them.

    Where both know as many, that is not a question as long as the ids name the same texts.
    """
    beside = lock_path(gold)
    corpus = load_lock(beside).corpus if beside.exists() else None
    items, _ = read_items(open_source("gold", gold), RetrievalGold)
    sides = {pair.live.manifest.index_hash: "live", pair.shadow.manifest.index_hash: "shadow"}
    said = [corpus.get("index_hash") if corpus else None, *(item.value.get("index_hash") for item in items[:1])]
    for index_hash in said:
        if index_hash in sides:
            return Whose(sides[index_hash])
    names = [name for item in items if not is_named(item.record) for name in ids_of(item.record)]
    known = [sum(name in index.by_id for name in names) for index in (pair.live, pair.shadow)]
    if known[0] != known[1]:
        return Whose("live" if known[0] > known[1] else "shadow")
    return Whose("live", _doubt(pair, names))


def _doubt(pair: Pair, names: Sequence[str]) -> str | None:
    """Why nobody can tell whose ids these are: both indexes have them, and they name other texts."""
    live, shadow = pair.live.by_id, pair.shadow.by_id
    other = [name for name in names if name in live and name in shadow and live[name].text != shadow[name].text]
    if not other:
        return None
    return (
        f"{len(other):,} of {len(names):,} gold ids name one text in live and another in shadow, e.g. {other[0]}, and "
        "nothing says whose they are: freeze the gold set on its index ('ragworthy gold freeze GOLD --corpus INDEX'), "
        "or say what answers each question as gold_evidence [RW-G26]"
    )


def compare(
    pair: Pair,
    gold: Path,
    *,
    how: How,
    gates: tuple[Gate, ...],
    settings: Retrieval,
    queries: Sequence[Query] = (),
    **options: Any,
) -> flow.Run:
    """Ask both indexes every paraphrase of the gold set, and score the shadow against the live one.

    The report also says in which settings the indexes differ, and how the results of unlabelled queries change.
    """
    asked = wordings(gold)
    arms = [list(traces(index, asked, how, measure_for(gold, index))) for index in (pair.live, pair.shadow)]
    redirects: dict[str, Any] = {"redirects": (pair.table,)}
    whose = gold_is_of(pair, gold)
    if whose.side == "shadow":
        redirects = {"live_redirects": (inverted(pair.table),)}
    models = [index.manifest.embedding for index in (pair.live, pair.shadow)]
    if models[0] != models[1] and settings.delta_s == "auto" and not _calibrated(gold):
        settings = settings._replace(delta_s="raw")  # one model for both sides, not the one each was built with
    given = {"gold": gold, "traces": arms[1], "live": arms[0], "corpus": pair.shadow_path, **redirects}
    request = flow.Request(
        suite="retrieval",
        given=given | {"live_corpus": pair.live_path},
        settings=settings,
        gates=gates,
        allowed=("retriever",),  # both are asked alike: a mode that only one of them has is what is tried
        **options,
    )
    changed = query_churn(pair, queries, how) if queries else None
    context = equal_context.compared((pair.live, pair.shadow), asked, how, request)
    run = _doubted(flow.score(request), whose.doubt)
    return _with(run, {"settings": pair.drift, "queries": changed, "context": context}, _next(pair, gold, run))


def _doubted(run: flow.Run, doubt: str | None) -> flow.Run:
    """The same run, without a verdict where nobody can tell whose ids the gold set has."""
    if doubt is None:
        return run
    reason = "nothing says whose the gold ids are"
    parts = [
        part._replace(
            body=part.body | {"live": moot_live(part.body["live"], reason)},
            judged=moot(part.judged, reason),
            invalid=[doubt, *part.invalid],
        )
        for part in run.parts
    ]
    return flow.Run(model.assemble(parts), parts)


def _with(run: flow.Run, more: Mapping[str, Any], step: Mapping[str, str]) -> flow.Run:
    """The same run, whose comparison of the indexes says more."""
    parts = [
        part._replace(body=part.body | {"live": part.body["live"] | more}, steps=[*part.steps, dict(step)])
        for part in run.parts
    ]
    return flow.Run(model.assemble(parts), parts)


def _next(pair: Pair, gold: Path, run: flow.Run) -> dict[str, str]:
    """The command that most people want after this one."""
    again = f"ragworthy index diff {pair.live_path} {pair.shadow_path} --gold {gold}"
    live = run.parts[0].body["live"]
    if run.verdict is Verdict.INVALID and "moot" in live:
        do = f"give the questions gold_evidence, then ragworthy gold bind {gold} --corpus {pair.live_path} -o BOUND"
    elif run.verdict is Verdict.INVALID:
        do = f"ragworthy index check {pair.shadow_path} --gold {gold}"
    elif run.verdict is Verdict.SHIP and all(one["outcome"] != "not_measured" for one in live["canary"]["checks"]):
        do = f"{again} --canary (what else a canary asks for)"
    else:
        kept = " (every question)" if run.verdict is Verdict.SHIP else LISTED
        do = f"{again} --rows rows.jsonl{kept}"
    return {"pattern": "next", "do": do}


def _calibrated(gold: Path) -> bool:
    beside = lock_path(gold)
    return beside.exists() and load_lock(beside).calibration is not None


class _Written(msgspec.Struct, frozen=True):
    query: str | None = None
    question: str | None = None
    q: str | None = None
    qid: str | None = None


def read_queries(path: Path) -> list[Query]:
    """Unlabelled queries: one per line, plain or as JSON objects with `query`."""
    found = []
    for number, line in enumerate(read_text(path).splitlines(), 1):
        text = line.strip()
        if not text:
            continue
        name = f"line {number}"
        if text.startswith("{"):
            try:
                record = msgspec.json.decode(text, type=_Written)
            except msgspec.MsgspecError as error:
                message = f"expected a query or an object with query, got: {error}"
                raise data_error("RW-F07", message, where=f"{path}:{number}") from None
            name, text = record.qid or name, record.query or record.question or record.q or ""
        if not text:
            raise data_error("RW-F07", "expected a query, got none", where=f"{path}:{number}", field="query")
        found.append(Query(name, text))
    if not found:
        raise data_error("RW-F04", "expected queries, got none", where=str(path))
    return found


def query_churn(pair: Pair, queries: Sequence[Query], how: How) -> dict[str, Any]:
    """How much the results of unlabelled queries change; ids of the live index are followed to the shadow's."""
    redirects = Redirects.from_tables([pair.table])
    texts = [one.text for one in queries]
    before = [[hit.chunk.name for hit in hits] for hits in search(pair.live, texts, how)]
    after = [[hit.chunk.name for hit in hits] for hits in search(pair.shadow, texts, how)]
    now = [[next(iter(redirects.resolve(name)), name) for name in names] for names in before]
    return churn([Results(*query, *results) for query, *results in zip(queries, now, after, strict=True)])
