"""What of a report goes into a store: facts, numbers, rows. A report that was taken apart is put together again."""

import zlib
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

import msgspec

from ragworthy.errors import data_error
from ragworthy.history.entries import Summary, canonical, run_id, sha256
from ragworthy.rows import UnreadableError, decoded
from ragworthy.safe import json_text
from ragworthy.stats import ratio

_LARGEST = 2**63 - 1
"""The largest number that a column of a database holds."""


class Taken(NamedTuple):
    """A report as a store takes it."""

    id: str
    commit: str
    report_sha256: str
    verdict: str
    suites: tuple[str, ...]
    gold_sha256: str
    golds: tuple[str, ...]
    """What the gold sets are known by, of each suite for itself: see `golds_of`."""
    gold_label: str | None
    policy_sha256: str | None
    index_hash: str | None
    signers: tuple[tuple[str, str], ...]
    """Who signed the gold sets, each with the path of the lock."""
    summaries: tuple[Summary, ...]
    rows: Mapping[str, dict[str, Any]]
    """By suite, as the report has them."""
    body: bytes
    """The report without its rows, packed."""

    def facts(self) -> dict[str, Any]:
        """What the ledger says of the run."""
        return {
            "run": self.id,
            "report": self.report_sha256,
            "verdict": self.verdict,
            "suites": list(self.suites),
            "gold": self.gold_sha256,
            "golds": list(self.golds),
            "label": self.gold_label,
            "policy": self.policy_sha256,
            "commit": self.commit,
            "index": self.index_hash,
            "rows": {suite: body["sha256"] for suite, body in self.rows.items()},
            "summaries": summaries_hash(self.summaries),
            "body": sha256(self.body),
        }


def take(report: Mapping[str, Any], *, commit: str, where: str = "") -> Taken:
    """Take a report apart; changed rows are found here. How often it was tried is not part of a run: the store
    itself counts that.
    """
    report = {key: one for key, one in report.items() if key != "attempts"}
    written = json_text(report).encode()
    report_sha256 = sha256(written)
    suites: dict[str, Any] = {}
    rows: dict[str, dict[str, Any]] = {}
    for suite, body in report["suites"].items():
        kept = body.get("rows")
        if isinstance(kept, dict) and "none" not in kept:  # too many questions: the report says why
            _check_rows(kept, where, suite)
            rows[suite] = kept
            body = {**body, "rows": None}
        suites[suite] = body
    rest = {**report, "suites": suites}
    provenance = report.get("provenance", {})
    return Taken(
        id=run_id(report_sha256, commit),
        commit=commit,
        report_sha256=report_sha256,
        verdict=str(report["verdict"]),
        suites=tuple(suites),
        gold_sha256=gold_of(report),
        golds=golds_of(report),
        gold_label=label_of(report),
        policy_sha256=provenance.get("policy", {}).get("sha256"),
        index_hash=_index_of(report),
        signers=tuple((name, lock.get("path", "")) for lock in _locks(provenance) for name in lock.get("signers", ())),
        summaries=tuple(_summaries(report)),
        rows=rows,
        body=packed(msgspec.json.encode(rest)),
    )


def _check_rows(kept: dict[str, Any], where: str, suite: str) -> None:
    try:
        decoded(kept)
    except UnreadableError as error:
        raise data_error("RW-H06", str(error), where=where, field=f"suites.{suite}.rows") from None


def together(body: bytes, rows: Mapping[str, Any]) -> dict[str, Any]:
    """The report that was taken apart."""
    report: dict[str, Any] = msgspec.json.decode(unpacked(body))
    for suite, kept in rows.items():
        report["suites"][suite]["rows"] = kept
    return report


def packed(data: bytes) -> bytes:
    """Bytes as a store keeps them."""
    return zlib.compress(data, 6)


def unpacked(data: bytes) -> bytes:
    """The bytes that were packed."""
    return zlib.decompress(data)


def summaries_hash(given: tuple[Summary, ...]) -> str:
    """The hash of the numbers of a run, in the order of their names."""
    return sha256(canonical(sorted([_plain(one) for one in given])))


def _plain(one: Summary) -> list[str]:
    return [repr(cell) for cell in one]


def gold_of(report: Mapping[str, Any]) -> str:
    """One hash for the gold sets of a report: that of the set, or, of several, the hash of theirs; empty for none."""
    found = {one["sha256"] for body in report["suites"].values() for one in body["inputs"] if one["role"] == "gold"}
    if len(found) > 1:
        return sha256(canonical(sorted(found)))
    return str(min(found, default=""))


def golds_of(report: Mapping[str, Any]) -> tuple[str, ...]:
    """What the gold sets of a report are known by when attempts are counted: the bytes of each file, and the questions
    of each suite with what they are about. A blank line, or one more suite, makes no other set of a set.
    """
    found = {one["sha256"] for body in report["suites"].values() for one in body["inputs"] if one["role"] == "gold"}
    for suite, body in report["suites"].items():
        kept = body.get("rows")
        if isinstance(kept, dict) and "none" not in kept:
            rows = decoded(kept)
            found.add(sha256(canonical([suite, sorted(zip(rows.qids, rows.clusters, strict=True))])))
    return tuple(sorted(found))


def label_of(report: Mapping[str, Any]) -> str | None:
    """The version of the gold set as its lock calls it; of several sets all that have one. A set that is not the frozen
    one has none, whatever the lock beside it is called.
    """
    told = report.get("provenance", {})
    sound = [suite for suite, body in report["suites"].items() if body.get("frozen") not in ("broken", "unfrozen")]
    locks = [told.get(f"lock.{suite}") or told.get("lock") for suite in sound]
    labels = [lock["label"] for lock in locks if isinstance(lock, dict) and lock.get("label")]
    return " + ".join(dict.fromkeys(labels)) or None


def _locks(provenance: Mapping[str, Any]) -> list[dict[str, Any]]:
    found = (one for key, one in provenance.items() if key == "lock" or key.startswith("lock."))
    return [one for one in found if isinstance(one, dict)]


def _index_of(report: Mapping[str, Any]) -> str | None:
    """The index that was searched by its own hash; else the hash of the index or the chunks that the report names."""
    made = (body.get("provenance") or {} for body in report["suites"].values())
    if named := next((str(one["index_hash"]) for one in made if one.get("index_hash")), None):
        return named
    found = (one for body in report["suites"].values() for one in body["inputs"] if one["role"] == "corpus")
    return next((str(one["sha256"]) for one in found), None)


def _summaries(report: Mapping[str, Any]) -> Iterator[Summary]:
    for suite, body in report["suites"].items():
        for group, metrics in (("", body["metrics"]), *body["slices"].items()):
            for name, number in metrics.items():
                yield _summary(suite, group, name, number)


def _summary(suite: str, group: str, name: str, number: Mapping[str, Any]) -> Summary:
    num, den = number.get("num"), number.get("den")
    if number["value"] is None:
        exact = None
    elif number.get("exact") is not None:
        exact = str(number["exact"])
    else:
        exact = f"{num}/{den}" if den else None if num is None else str(num)
    small = [one if one is None or abs(one) <= _LARGEST else None for one in (num, den)]
    value = None if number["value"] is None else float(number["value"])
    return Summary(suite, name, group, small[0], small[1], value, exact, number.get("low"), number.get("high"))


def was_checked(metric: str, settings: Mapping[str, Any]) -> bool:
    """Whether a number was measured at all: constraints that nobody checked are all kept.

    >>> was_checked("answers.scu", {"scu": False}), was_checked("answers.precision", {})
    (False, True)
    """
    return not metric.startswith("answers.scu") or bool(settings.get("scu"))


def exact_of(one: Summary) -> Any:
    """The number as a fraction; None where it is undefined."""
    return ratio(one.exact) if one.exact is not None else None
