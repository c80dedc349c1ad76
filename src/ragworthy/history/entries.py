"""What a store holds: runs, attempts, blessings. All of it can be written down as JSON and hashed."""

import hashlib
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

SHORT = 12
"""So many characters of a hash are the id of a run."""
LEAST = 4
"""So many of them must be given to name a run."""


class Run(NamedTuple):
    """One run, as lists show it."""

    id: str
    number: int
    """Its place in the ledger."""
    created_at: str
    verdict: str
    suites: tuple[str, ...]
    gold_sha256: str
    """One hash for all gold sets of the run; empty where it has none."""
    gold_label: str | None
    policy_sha256: str | None
    commit: str
    """Empty where it is not known."""
    index_hash: str | None
    report_sha256: str


class Summary(NamedTuple):
    """One number of a run."""

    suite: str
    metric: str
    slice: str
    """Empty for all questions."""
    num: int | None
    den: int | None
    value: float | None
    exact: str | None
    """The number as a fraction, where it is one."""
    low: float | None
    high: float | None


class Attempt(NamedTuple):
    """One try to get past the gates on a gold set and a commit. Each one seals the one before it; no clock is in it.
    Gold set and commit are those of the first try; whatever counts as the same set or commit follows it.
    """

    gold_sha256: str
    commit: str
    number: int
    """From 1, for each gold set and commit."""
    run: str
    report_sha256: str
    verdict: str
    previous: str
    """The hash of the attempt before it on the same gold set and commit; empty for the first."""
    hash: str


class Blessing(NamedTuple):
    """A run that became the baseline of a name."""

    number: int
    """Its place in the ledger."""
    name: str
    run: str
    by: str
    reason: str
    at: str
    previous: str | None
    """The run that it took the place of."""
    runs: tuple[str, ...] = ()
    """The runs of the same gold set and commit that were known, its own among them."""
    flips: Mapping[str, str] = {}
    """How many questions change between two of these runs, by metric, as a fraction of all."""


class Signature(NamedTuple):
    """Who is behind a run: a signer of its gold set, or who blessed it."""

    run: str
    what: str
    """gold or blessing."""
    by: str
    reason: str
    at: str


class Link(NamedTuple):
    """One entry of the ledger; its hash covers what it says and the hash of the entry before it."""

    number: int
    kind: str
    """run, receipt, bless or prune."""
    body: str
    previous: str
    hash: str


def canonical(value: Any) -> bytes:
    """A value as the bytes that are hashed: sorted keys, no spaces.

    >>> canonical({"b": 1, "a": [None, "é"]}).decode()
    '{"a":[null,"é"],"b":1}'
    """
    return msgspec.json.encode(value, order="deterministic")


def sha256(data: bytes) -> str:
    """The hash of some bytes."""
    return hashlib.sha256(data).hexdigest()


def run_id(report_sha256: str, commit: str) -> str:
    """The id of a run: the same report of the same commit is the same run."""
    return sha256(canonical({"commit": commit, "report": report_sha256}))[:SHORT]


def next_attempt(
    earlier: Sequence[Attempt], *, gold_sha256: str, commit: str, report_sha256: str, verdict: str, run: str = ""
) -> Attempt:
    """The attempt that follows earlier ones on the same gold set and commit; the same run again is the same attempt.
    `run` is its id where its commit is spelled in another way than that of the first attempt.

    >>> first = next_attempt([], gold_sha256="g", commit="c", report_sha256="r", verdict="NO-SHIP")
    >>> first.number, first.previous, attempt_hash(first) == first.hash
    (1, '', True)
    >>> second = next_attempt([first], gold_sha256="g", commit="c", report_sha256="s", verdict="SHIP")
    >>> second.number, second.previous == first.hash
    (2, True)
    """
    run = run or run_id(report_sha256, commit)
    known = next((one for one in earlier if one.report_sha256 == report_sha256), None)
    if known is not None:
        return known
    previous = earlier[-1].hash if earlier else ""
    made = Attempt(gold_sha256, commit, len(earlier) + 1, run, report_sha256, verdict, previous, "")
    return made._replace(hash=attempt_hash(made))


def attempt_hash(one: Attempt) -> str:
    """The hash of an attempt, over all of it but the hash itself."""
    return sha256(canonical({key: value for key, value in one._asdict().items() if key != "hash"}))


def broken_attempts(given: Sequence[Attempt]) -> list[str]:
    """What is wrong with the attempts on one gold set and commit: changed, removed, or put in another order."""
    found, previous = [], ""
    for nth, one in enumerate(given, 1):
        what = f"attempt {one.number} (run {one.run})"
        if one.number != nth:
            found.append(f"{what}: expected attempt {nth}, got {one.number}: one was removed or added")
        elif one.previous != previous:
            found.append(f"{what}: expected the hash of the attempt before it, got another")
        if attempt_hash(one) != one.hash:
            found.append(f"{what}: expected what its hash covers, got something that was changed")
        previous = one.hash
    return found


def link(number: int, kind: str, body: Mapping[str, Any], previous: str) -> Link:
    """The next entry of the ledger."""
    text = canonical(body).decode()
    return Link(number, kind, text, previous, link_hash(number, kind, text, previous))


def link_hash(number: int, kind: str, body: str, previous: str) -> str:
    """The hash of an entry of the ledger."""
    return sha256(canonical([number, kind, body, previous]))
