"""What every suite asks of its files: the lock and its signatures, the baseline, and what the report says of them."""

import hashlib
import os
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec

from ragworthy import gates as g
from ragworthy.errors import MOST_PROBLEMS, Problem, policy_error
from ragworthy.files import sha256_of, shown_path
from ragworthy.load.decode import Decoder, record_offsets
from ragworthy.load.extras import Earlier, Lock, as_baseline
from ragworthy.load.extras import lock_path as default_lock
from ragworthy.load.sources import Source
from ragworthy.metrics.registry import MetricName, all_metrics, find
from ragworthy.policy.gate_text import MOST_KS
from ragworthy.report.part import Frozen
from ragworthy.suites import SUITES
from ragworthy.suites.reading import Reader
from ragworthy.suites.request import Progress, Request

if TYPE_CHECKING:
    from ragworthy.suites.reading import Flaws

FREE_SETTINGS = ("slices", "k")
"""Settings that may differ between two runs that are compared."""


def lock_of(request: Request) -> Path | None:
    """The lock file of the gold set: the one named, else the one beside it when there is one."""
    declared = SUITES[request.suite].by_role("gold")
    gold = request.get(declared.key) if declared is not None else None
    if request.lock is None and isinstance(gold, (str, Path)) and Path(gold).is_file():
        beside = default_lock(Path(gold))
        return beside if os.path.lexists(beside) else None  # a link that leads nowhere is an error, not no lock
    return request.lock


def reader(source: Source, kind: type) -> Reader:
    """How the engine reads a source."""
    return Reader(source.blocks, source.block_at, partial(Decoder, kind), partial(record_offsets, kind))


def depths(request: Request) -> tuple[int, ...]:
    """Every k that is reported: those of the settings, and those that gates ask for."""
    asked = [name.k for gate in request.gates if (name := find(gate.metric, default_k=1)) and name.k]
    own = getattr(request.settings, "ks", ())
    ks = tuple(dict.fromkeys((*own, *asked)))
    if len(ks) > MOST_KS:
        raise policy_error("RW-P03", f"expected at most {MOST_KS} different k, got {len(ks)}", field="k")
    return ks


def slice_fields(request: Request) -> tuple[str, ...]:
    """Every gold field that the numbers are split by."""
    gated = [gate.slice.partition("=")[0] for gate in request.gates if gate.slice]
    fields = dict.fromkeys((*request.settings.slices, *gated))
    if request.suite == "retrieval":
        fields.pop("type", None)  # there it is the type of the first relevant block, and always reported
    return tuple(fields)


def names(suite: str, ks: tuple[int, ...]) -> list[MetricName]:
    """Every metric of a suite, once for each k where it has one."""
    found: list[MetricName] = []
    for metric in all_metrics(suite).values():
        found += [MetricName(metric, k) for k in ks] if metric.at_k else [MetricName(metric, None)]
    return found


def told(progress: Progress | None, total: int) -> Any:
    """A function that takes how much was read since the last call."""
    if progress is None:
        return None
    read = 0

    def tell(size: int) -> None:
        nonlocal read
        read += size
        progress(read, total)

    return tell


def problems(flaws: "Flaws", sources: Mapping[str, Source]) -> Iterator[Problem]:
    """What is wrong with the files, each with its line; `sources` by the role that a flaw names."""
    for flaw in flaws.some[:MOST_PROBLEMS]:
        source = sources[flaw.role]
        line = source.lines_at([flaw.offset])[flaw.offset]
        yield Problem(flaw.code, flaw.message, f"{source.given}:{line}", flaw.field)


def rows_hash(rows: Iterable[dict[str, Any]]) -> str:
    """The hash of all rows, by which a receipt notices when one of them moves."""
    digest = hashlib.sha256()
    encode = msgspec.json.Encoder(order="deterministic").encode
    for row in rows:
        digest.update(encode(row) + b"\n")
    return digest.hexdigest()


def baseline(
    earlier: Earlier | None, gold_sha256: str, settings: dict[str, Any], profile: str = "default"
) -> g.Baseline | None:
    """The numbers of the baseline, or why they cannot be compared."""
    if earlier is None:
        return None
    gold = next((one.sha256 for one in earlier.suite.inputs if one.role == "gold"), None)
    theirs = earlier.suite.settings
    unlike = None
    if gold != gold_sha256:
        unlike = "it was scored on another gold set"
    elif earlier.suite.profile != profile:
        unlike = "it was scored with another profile"
    elif earlier.suite.frozen in ("unfrozen", "broken"):
        unlike = "its gold set was not the frozen one"
    elif earlier.verdict == "INVALID":
        unlike = "its own evidence was not valid"
    else:
        moved = [key for key in settings if settings[key] != theirs.get(key) and key not in FREE_SETTINGS]
        if moved:
            unlike = f"it was scored with another setting of {', '.join(moved)}"
    return as_baseline(earlier, unlike)


def frozen(request: Request, lock: Lock | None, gold_sha256: str) -> Frozen:
    """Whether the gold set is the one that was signed."""
    if lock is None and not request.signers:
        return Frozen("unlocked", "")
    if lock is None:
        reason = f"the policy asks for the signature of {', '.join(request.signers)}, but the gold set has no lock"
        return Frozen("broken", reason)
    missing = [name for name in request.signers if name not in lock.signers]
    if lock.sha256 != gold_sha256:
        reason = "the gold set is not the frozen one (its SHA-256 differs from the lock)"
    elif missing:
        reason = f"the lock lacks the signature of {', '.join(missing)}"
    else:
        return Frozen("frozen", "")
    # A flag cannot lift what the policy demands: with signers named there, --unfrozen is no way round them.
    return Frozen("unfrozen" if request.unfrozen and not request.signers else "broken", reason)


def provenance(request: Request, lock: Lock | None, lock_path: Path | None, earlier: Earlier | None) -> dict[str, Any]:
    """Where the rules came from."""
    found: dict[str, Any] = {}
    if request.policy is not None:
        found["policy"] = {"path": shown_path(request.policy), "sha256": sha256_of(request.policy)}
    if lock is not None and lock_path is not None:
        found["lock"] = {"path": shown_path(lock_path), "sha256": sha256_of(lock_path), "signers": lock.signers}
    if request.regression:
        found["regression"] = {"E_resonance": "not_measured"}  # it needs vectors that no trace holds
    if earlier is not None:
        found["baseline"] = {"path": earlier.path, "sha256": earlier.sha256}
    return found
