"""What was found becomes the part of a report, its rows and what a receipt keeps. The same for every suite."""

import hashlib
from collections import Counter
from collections.abc import Iterator, Sequence
from functools import partial
from typing import Any

import msgspec

from ragworthy import gates as g
from ragworthy.comparison.likeness import ALIKE
from ragworthy.metrics.causes import Steps, Went, depth_of, waterfall
from ragworthy.names import MADE, Cause, Stage, Verdict
from ragworthy.policy.packs import load_pack
from ragworthy.proving import INTERVAL, errors_of
from ragworthy.report import able, model
from ragworthy.report.part import Part, noted, plain, regrouped, release_warnings
from ragworthy.report.show import plural
from ragworthy.rows import encoded
from ragworthy.suites.clusters import QUESTION
from ragworthy.suites.comparing import steps_of
from ragworthy.suites.crowds import telling
from ragworthy.suites.evidence import Case, Extra, Found
from ragworthy.suites.made import mixed
from ragworthy.suites.protocol import Suite

_COMMON = (
    "profile", "inputs", "settings", "frozen", "counts", "metrics", "slices", "labels", "stages", "causes",
    "waterfall", "clusters", "offenders", "provenance", "warnings",
)  # fmt: skip
"""The keys that every suite has in a report, in their order."""


def describe(suite: Suite, found: Found) -> Part:
    """What the suite contributes to the report."""
    extra = suite.extra(found)
    invalid = _invalid(found, extra)
    ships = g.verdict(found.judged, invalid) is Verdict.SHIP
    evidence, ledgers = found.evidence, suite.ledgers(found)
    common = {
        "profile": evidence.profile,
        "inputs": found.opened.inputs(dict(evidence.records)),
        "settings": evidence.settings,
        "frozen": found.frozen.state,
        "counts": evidence.counts,
        "metrics": {
            name.id: model.number(found.value(name.id)) | {"ledger": ledgers[name.id]._asdict()}
            for name in found.summary.names
        },
        "slices": _slices(suite, found),
        "labels": _labels(suite, found.cases),
        "stages": _stages(suite, found.cases),
        "causes": _causes(suite, found.cases),
        "waterfall": _waterfall(suite, found),
        "clusters": telling(suite.crowd(found)),
        "offenders": [] if ships else [one.as_dict() for one in suite.offenders(found, found.request.most_offenders)],
        "provenance": dict(evidence.provenance),
        "warnings": [*extra.warnings, *noted(mixed(evidence.provenance)), *_release(found)],
    }
    body: dict[str, Any] = {}
    for key in _COMMON:
        body |= {**extra.body.get(key, {}), key: common[key]}
    body |= {"can_show": able.entries(found.judged), **_compared(suite, found, extra), "rows": _kept(found)}
    return Part(
        suite=suite.name,
        body=body,
        judged=found.judged,
        invalid=invalid,
        steps=_steps(found, extra),
        provenance=found.opened.provenance(),
        rows=partial(_written, suite, found),
        files=extra.files,
        texts=extra.texts,
        evidence=dict(extra.kept) if extra.kept is not None else {"rows_sha256": rows_hash(suite, found)},
    )


def _compared(suite: Suite, found: Found, extra: Extra) -> dict[str, Any]:
    """What changed against the baseline, where there is one."""
    if found.opened.earlier is None:
        return {}
    from ragworthy.suites.changes import against_baseline

    return {"compared": against_baseline(suite, found, extra.texts)}


def _kept(found: Found) -> dict[str, Any]:
    """The rows of the questions, or why there are none."""
    rows = found.summary.rows
    return encoded(rows) if rows is not None else {"none": found.summary.rowless}


def _steps(found: Found, extra: Extra) -> list[dict[str, str]]:
    """What a pattern means and what to do; how many more questions decide what is undecided."""
    steps = [*extra.steps, *_mixed(found), *steps_of(found.judged), *able.steps(found.judged)]
    return [{"pattern": pattern, "do": do} for pattern, do in steps]


def _mixed(found: Found) -> list[tuple[str, str]]:
    """What to do about runs that were made in different ways: their answers flip for reasons that are not theirs."""
    names = [key for key in found.evidence.provenance.get("differs", {}) if key in MADE]
    return [(f"the traces were made in different ways ({', '.join(names)})", ALIKE)] if names else []


def _invalid(found: Found, extra: Extra) -> list[str]:
    """Why the evidence is not valid."""
    judged = model.unmeasured(found.judged) if found.judged else []  # a suite that takes no gate says so itself
    why = found.request.unblessed
    lacking = [why] if why and not any(why in reason for reason in judged) else []
    return list(dict.fromkeys([*broken(found), *extra.invalid, *judged, *lacking]))


def broken(found: Found) -> list[str]:
    """Why the files do not support a verdict, whatever was asked of them."""
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
    verdict = None if earlier is None or earlier.accepted else earlier.verdict
    told = [*release_warnings(found.frozen, verdict, found.judged), *_errors_before(found), *_unpacked(found)]
    told += _homeless(found)
    return told if found.request.cluster == QUESTION else [*told, *regrouped(found.judged)]


def _errors_before(found: Found) -> list[dict[str, Any]]:
    """That the run which is compared with has errors: they count as wrong there, so these questions cannot be lost."""
    against = found.against
    if against is None or against.unlike is not None or not against.gone[0]:
        return []
    hidden = "they count as wrong there, so what would be lost of them cannot be seen"
    return [plain("RW-W170", f"{errors_of(against.name, against.gone)}: {hidden}", against.gone[0])]


def _homeless(found: Found) -> list[dict[str, Any]]:
    """Gates that go by an interval, of whose cases nobody knows which are about one document."""
    told = []
    for one in found.judged:
        if one.value is not None and one.value.homeless and one.gate.evidence == INTERVAL:
            cases = plural(one.value.homeless, "case has", "cases have")
            do = "add cluster or gold_source to these gold items"
            message = f"{g.name_of(one.gate)}: {cases} no known document, while other questions have one: {do}"
            told.append(plain("RW-W171", message, one.value.homeless))
    return told


def _unpacked(found: Found) -> list[dict[str, Any]]:
    """Settings that hold thresholds of a gate pack that was named, and are others here."""
    settings = found.request.settings
    warnings = []
    for pack in map(load_pack, found.request.gate_packs):
        if pack.setting not in settings._fields or pack.suites != (found.request.suite,):
            continue
        usual, now = settings._field_defaults[pack.setting], getattr(settings, pack.setting)
        if now != usual:
            here, there = (
                ", ".join(one for one in some if one not in others) for some, others in ((now, usual), (usual, now))
            )
            warnings.append(plain("RW-W139", f"{pack.setting}: the pack {pack.name} has {there}, here it is {here}", 0))
    return warnings


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
    counts: Counter[tuple[Steps, bool]] = Counter()
    for case in found.cases:
        if case.steps is not None:
            counts[case.steps, not suite.offends(case)] += case.weight
    known = (Went(steps, count, fine=fine) for (steps, fine), count in counts.items())
    return {"k": depth_of(found.evidence.settings.get("k") or ()), "steps": waterfall(known)}


# rows


def _as_dicts(suite: Suite, found: Found) -> Iterator[dict[str, Any]]:
    return (row.as_dict() for row in suite.rows(found))


def _written(suite: Suite, found: Found) -> Iterator[dict[str, Any]]:
    """The rows as files have them: with the questions that stand or fall together, where the report has rows too."""
    kept = found.summary.rows
    clusters = {} if kept is None else dict(zip(kept.qids, kept.clusters, strict=True))
    return ({**row, "cluster": clusters.get(row["qid"])} for row in _as_dicts(suite, found))


def rows_hash(suite: Suite, found: Found) -> str:
    """The hash of all rows, by which a receipt notices when one of them moves."""
    digest = hashlib.sha256()
    encode = msgspec.json.Encoder(order="deterministic").encode
    for row in _as_dicts(suite, found):
        digest.update(encode(row) + b"\n")
    return digest.hexdigest()
