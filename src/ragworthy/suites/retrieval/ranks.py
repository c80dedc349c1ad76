"""Rank metrics straight from TREC files, by the conventions of trec_eval."""

from collections.abc import Iterator
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import Any

from ragworthy import gates as g
from ragworthy.errors import usage_error
from ragworthy.files import sha256_of, shown_path
from ragworthy.load.extras import load_report
from ragworthy.metrics.registry import MetricName, find
from ragworthy.report import model
from ragworthy.report.part import Frozen, Part
from ragworthy.report.show import plural
from ragworthy.report.warn import plain, release_warnings
from ragworthy.stats import wilson_mean
from ragworthy.suites import common as evidence
from ragworthy.suites.request import Request
from ragworthy.trec.ranking import Ranked
from ragworthy.trec.ranking import score as rank
from ragworthy.trec.read import read_qrels, read_run

ONLY_RANKS = "TREC files hold ids and ranks only"
NO_GATE = "no gate was given, so nothing was judged: add --gates, e.g. --gates recall@5=0.80"


_NOTHING: dict[str, Any] = {"slices": {}, "labels": {}, "stages": {}, "offenders": []}
"""What ids and ranks alone do not show."""


def score_files(request: Request) -> Part:
    """Score a run against judgements: every judged query counts, with 0 where the run has no results for it."""
    qrels_path, run_path = Path(request.get("qrels")), Path(request.get("run"))
    ks = evidence.depths(request)
    qrels, run = read_qrels(qrels_path), read_run(run_path)
    ranked = rank(qrels, run, ks)
    names = evidence.names("retrieval", ks)
    values = _values(names, ranked)
    settings = {"k": list(ks), "conventions": "trec_eval", "slices": []}
    earlier = load_report(request.baseline, "retrieval") if request.baseline is not None else None
    hashes = {path: sha256_of(path) for path in (qrels_path, run_path)}
    sizes = {"gold": len(qrels.query), "trace": len(run.query)}
    before = evidence.baseline(earlier, hashes[qrels_path], settings)
    judged = g.judge(request.gates, values, baseline=before, waivers=request.waivers, each=_each(request, ranked))
    invalid = model.unmeasured(judged) if judged else [NO_GATE]
    body = {
        "profile": "default",
        "inputs": [
            {"role": role, "path": shown_path(path), "sha256": sha256, "records": records}
            for (role, records), (path, sha256) in zip(sizes.items(), hashes.items(), strict=True)
        ],
        "settings": settings,
        "frozen": "unlocked",
        "counts": _counts(ranked),
        "metrics": {
            name.id: model.number(values[None, name.id]) | {"ledger": _ledger(values[None, name.id], ranked)}
            for name in names
        },
        **_NOTHING,
        "warnings": _warnings(ranked, run.extra)
        + release_warnings(Frozen("", ""), earlier and earlier.verdict, judged),
    }
    found = {"per_query": _evidence(ranked)}
    provenance = evidence.provenance(request, None, None, earlier)
    return Part("retrieval", body, judged, invalid, [], provenance, partial(_rows, ranked, names), found)


def _values(names: list[MetricName], ranked: Ranked) -> dict[tuple[str | None, str], g.Value]:
    means = ranked.means()
    return {(None, one.id): _value(one, means, len(ranked.qids)) for one in names}


def _value(name: MetricName, means: dict[str, Fraction | float | None], cases: int) -> g.Value:
    metric = name.metric
    base = g.Value(0, 0, better=metric.better, cases="judged queries", event=metric.event)
    local = name.id.partition(".")[2]
    if metric.id == "retrieval.missing":
        return base._replace(num=0, den=None)
    if local not in means:
        return base._replace(undefined=ONLY_RANKS)
    mean = means[local]
    exact = mean if isinstance(mean, Fraction) else Fraction(mean or 0)
    return base._replace(
        num=exact.numerator, den=exact.denominator, n=cases, counts=False, interval=wilson_mean(exact, cases)
    )


def _counts(ranked: Ranked) -> dict[str, int]:
    cases = len(ranked.qids)
    return {
        "gold": cases,
        "runs": cases,
        "answered": 0,
        "missing": 0,
        "empty": int((ranked.returned == 0).sum()),
        "errored": 0,
        "answerable": int((ranked.relevant > 0).sum()),
        "unanswerable": int((ranked.relevant == 0).sum()),
        "duplicate_traces": 0,
        "orphan_traces": len(ranked.unjudged),
    }


def _ledger(value: g.Value, ranked: Ranked) -> dict[str, int]:
    cases = len(ranked.qids)
    scored = 0 if value.undefined else cases
    zeros = dict.fromkeys(("refused", "missing", "errored"), 0)
    return {"expected": cases, "scored": scored, **zeros, "not_applicable": cases - scored}


def _warnings(ranked: Ranked, extra: int) -> list[dict[str, Any]]:
    entries = []
    if ranked.unjudged:
        n, some = len(ranked.unjudged), ", ".join(ranked.unjudged[:3])
        message = f"{plural(n, 'query of the run has', 'queries of the run have')} no judgements, e.g. {some}"
        entries.append(plain("RW-W32", message, n, ranked.unjudged[:3]))
    empty = [qid for qid, count in zip(ranked.qids, ranked.returned.tolist(), strict=True) if not count]
    if empty:
        message = (
            f"{plural(len(empty), 'judged query has', 'judged queries have')} no results and count 0, e.g. {empty[0]}"
        )
        entries.append(plain("RW-W05", message, len(empty), empty[:3]))
    if extra:
        entries.append(plain("RW-W04", f"{plural(extra, 'line has', 'lines have')} text after the tag", extra))
    return entries


def _each(request: Request, ranked: Ranked) -> dict[tuple[str, str], bool | None]:
    wanted = [gate for gate in request.gates if gate.must_pass]
    if not wanted:
        return {}
    values, place = ranked.values(), {qid: nth for nth, qid in enumerate(ranked.qids)}
    said: dict[tuple[str, str], bool | None] = {}
    for gate in wanted:
        name = find(gate.metric, default_k=5)
        column = values.get(gate.metric.partition(".")[2]) if name else None
        for qid in gate.must_pass:
            if qid not in place:
                raise usage_error(f'must_pass: expected a judged query, got "{qid}"')
            said[gate.metric, qid] = None if column is None else bool(column[place[qid]] == 1)
    return said


def _evidence(ranked: Ranked) -> str:
    """The hash of everything that was counted."""
    import hashlib

    digest = hashlib.sha256()
    digest.update("\n".join(ranked.qids).encode())
    for k in ranked.ks:
        digest.update(ranked.found[k].astype("<i8").tobytes())
    for column in (ranked.relevant, ranked.first, ranked.returned):
        digest.update(column.astype("<i8").tobytes())
    return digest.hexdigest()


def _rows(ranked: Ranked, names: list[MetricName]) -> Iterator[dict[str, Any]]:
    """Every judged query's row, in natural order."""
    columns = {f"retrieval.{name}": column.tolist() for name, column in ranked.values().items()}
    columns["retrieval.missing"] = [0.0] * len(ranked.qids)
    undefined = {name.id: ONLY_RANKS for name in names if name.id not in columns}
    for nth, qid in enumerate(ranked.qids):
        yield {
            "qid": qid,
            "label": "OK" if ranked.first[nth] else "NOT_RETRIEVED",
            "stage": None if ranked.first[nth] else "retrieval",
            "metrics": {name: column[nth] for name, column in columns.items()},
            "undefined": undefined,
            "facts": {
                "answerable": bool(ranked.relevant[nth]),
                "answered": False,
                "missing": False,
                "hit": bool(ranked.first[nth]),
            },
        }
