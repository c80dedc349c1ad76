"""What was found becomes the part of a report, its rows and what a receipt keeps. The same for every suite."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from ragworthy import gates as g
from ragworthy.metrics.causes import Went, depth_of, waterfall
from ragworthy.names import Cause, Stage, Verdict
from ragworthy.report import able, model
from ragworthy.report.part import Part, release_warnings
from ragworthy.report.show import plural
from ragworthy.rows import encoded
from ragworthy.suites.comparing import steps_of
from ragworthy.suites.crowds import telling
from ragworthy.suites.evidence import Case, Extra, Found
from ragworthy.suites.protocol import Suite

_COMMON = (
    "profile", "inputs", "settings", "frozen", "counts", "metrics", "slices", "labels", "stages", "causes",
    "waterfall", "clusters", "offenders", "warnings",
)  # fmt: skip
"""The keys that every suite has in a report, in their order."""


def describe(suite: Suite, found: Found) -> Part:
    """What the suite contributes to the report."""
    extra = suite.extra(found)
    invalid = _invalid(found, extra)
    ships = g.verdict(found.judged, invalid) is Verdict.SHIP
    evidence = found.evidence
    common = {
        "profile": evidence.profile,
        "inputs": found.opened.inputs(dict(evidence.records)),
        "settings": evidence.settings,
        "frozen": found.frozen.state,
        "counts": evidence.counts,
        "metrics": {
            name.id: model.number(found.value(name.id)) | {"ledger": suite.ledger(name, found)._asdict()}
            for name in found.summary.names
        },
        "slices": _slices(suite, found),
        "labels": _labels(suite, found.cases),
        "stages": _stages(suite, found.cases),
        "causes": _causes(suite, found.cases),
        "waterfall": _waterfall(suite, found),
        "clusters": telling(suite.crowd(found)),
        "offenders": [] if ships else [one.as_dict() for one in suite.offenders(found, found.request.most_offenders)],
        "warnings": [*extra.warnings, *_release(found)],
    }
    body: dict[str, Any] = {}
    for key in _COMMON:
        body |= {**extra.body.get(key, {}), key: common[key]}
    body |= {"can_show": able.entries(found.judged), **_compared(suite, found), "rows": _kept(found)}
    return Part(
        suite=suite.name,
        body=body,
        judged=found.judged,
        invalid=invalid,
        steps=_steps(found, extra),
        provenance=found.opened.provenance(),
        rows=partial(_as_dicts, suite, found),
        files=extra.files,
        texts=extra.texts,
        evidence=dict(extra.kept) if extra.kept is not None else {"rows_sha256": rows_hash(suite, found)},
    )


def _compared(suite: Suite, found: Found) -> dict[str, Any]:
    """What changed against the baseline, where there is one."""
    if found.opened.earlier is None:
        return {}
    from ragworthy.suites.changes import against_baseline

    return {"compared": against_baseline(suite, found)}


def _kept(found: Found) -> dict[str, Any]:
    """The rows of the questions, or why there are none."""
    rows = found.summary.rows
    return encoded(rows) if rows is not None else {"none": found.summary.rowless}


def _steps(found: Found, extra: Extra) -> list[dict[str, str]]:
    """What a pattern means and what to do; how many more questions decide what is undecided."""
    steps = [*extra.steps, *steps_of(found.judged), *able.steps(found.judged)]
    return [{"pattern": pattern, "do": do} for pattern, do in steps]


def _invalid(found: Found, extra: Extra) -> list[str]:
    """Why the evidence cannot carry a verdict."""
    judged = model.unmeasured(found.judged) if found.judged else []  # a suite that takes no gate says so itself
    why = found.request.unblessed
    lacking = [why] if why and not any(why in reason for reason in judged) else []
    return [*broken(found), *extra.invalid, *judged, *lacking]


def broken(found: Found) -> list[str]:
    """Why the files cannot carry a verdict, whatever was asked of them."""
    evidence = found.evidence
    reasons = [reason for counted in evidence.errored for reason in model.mostly_errors(*counted)]
    missing, what = evidence.missing
    if missing:
        reasons.append(f"{plural(missing, 'question has', 'questions have')} no {what}")
    reasons += evidence.invalid
    if found.frozen.state == "broken":
        reasons.append(found.frozen.reason)
    return reasons


def _release(found: Found) -> list[dict[str, Any]]:
    earlier = found.opened.earlier
    return release_warnings(found.frozen, earlier.verdict if earlier is not None else None, found.judged)


def _slices(suite: Suite, found: Found) -> dict[str, Any]:
    groups = dict.fromkeys(group for group, _ in found.summary.values if group is not None)
    return {
        group: {name.id: model.number(found.summary.values[group, name.id]) for name in found.summary.names}
        for group in suite.slice_order(groups)
    }


def _labels(suite: Suite, cases: Sequence[Case]) -> dict[str, int]:
    counts: Counter[str] = Counter()
    for case in cases:
        if case.label is not None:
            counts[case.label] += case.weight
    return {label.value: counts[label] for label in suite.labels if counts[label]}


def _stages(suite: Suite, cases: Sequence[Case]) -> dict[str, int]:
    """How many questions each stage is to blame for."""
    counts: Counter[Stage] = Counter()
    for case in cases:
        if case.stage is not None and suite.offends(case):
            counts[case.stage] += case.weight
    return {stage.value: counts[stage] for stage in Stage if counts[stage]}


def _causes(suite: Suite, cases: Sequence[Case]) -> dict[str, int]:
    """How many questions went wrong in each way."""
    counts: Counter[Cause] = Counter()
    for case in cases:
        if case.cause is not None and suite.offends(case):
            counts[case.cause] += case.weight
    return {cause.value: counts[cause] for cause in Cause if counts[cause]}


def _waterfall(suite: Suite, found: Found) -> dict[str, Any]:
    """How far the answerable questions came."""
    known = (
        Went(case.steps, case.weight, fine=not suite.offends(case)) for case in found.cases if case.steps is not None
    )
    return {"k": depth_of(found.evidence.settings.get("k") or ()), "steps": waterfall(known)}


# rows


def _as_dicts(suite: Suite, found: Found) -> Iterator[dict[str, Any]]:
    return (row.as_dict() for row in suite.rows(found))


def rows_hash(suite: Suite, found: Found) -> str:
    """The hash of all rows, by which a receipt notices when one of them moves."""
    digest = hashlib.sha256()
    encode = msgspec.json.Encoder(order="deterministic").encode
    for row in _as_dicts(suite, found):
        digest.update(encode(row) + b"\n")
    return digest.hexdigest()
