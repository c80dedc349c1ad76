"""The files of a request, opened: sources, the lock of the gold set, the baseline, and what the report says of them."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy import gates as g
from ragworthy.comparison.likeness import Made, of_baseline
from ragworthy.files import sha256_of, shown_path
from ragworthy.load.lock import Lock, is_frozen, load_lock, weights_there
from ragworthy.load.lock import lock_path as default_lock
from ragworthy.load.sources import Source
from ragworthy.report.part import Frozen
from ragworthy.suites.request import Request

if TYPE_CHECKING:
    from ragworthy.index.blocks import Corpus
    from ragworthy.load.baseline import Earlier


class Listed(NamedTuple):
    """An input as a report names it."""

    path: str
    sha256: Callable[[], str]


class Opened:
    """Everything that is read for one suite: what a report lists, and what may not change meanwhile."""

    def __init__(self, request: Request, gold: Any) -> None:
        self.request = request
        self.sources: dict[str, Source] = {}
        self.listed: dict[str, Listed] = {}
        """What a report can list, by role."""
        self.lock_path = lock_of(request, gold)
        self.lock: Lock | None = None
        self.earlier: Earlier | None = None

    def enter(self, source: Source) -> Source:
        """Remember an opened source under its role."""
        self.sources[source.role] = source
        self.listed[source.role] = Listed(source.label, source.sha256)
        return source

    def enter_file(self, role: str, path: Path) -> Path:
        """Remember a file that code of its own reads."""
        self.listed[role] = Listed(shown_path(path), lambda: sha256_of(path))
        return path

    def enter_corpus(self, corpus: "Corpus", role: str = "corpus") -> "Corpus":
        """Remember an index, or a file of its chunks."""
        if corpus.source is not None:
            self.sources[role] = corpus.source
        self.listed[role] = Listed(corpus.label, lambda: corpus.sha256)
        return corpus

    def read_rules(self) -> None:
        """Read the lock and the baseline."""
        request = self.request
        self.lock = load_lock(self.lock_path) if self.lock_path is not None else None
        if request.baseline is not None:
            from ragworthy.load.baseline import load_report

            self.earlier = load_report(request.baseline, request.suite)

    def __getitem__(self, role: str) -> Source:
        return self.sources[role]

    def check_unchanged(self) -> None:
        """Raise when a file changed while it was being read."""
        for source in self.sources.values():
            source.check_unchanged()

    def hash_all(self) -> None:
        """Hash every source; the hashes are remembered."""
        for one in self.listed.values():
            one.sha256()

    def inputs(self, records: dict[str, int]) -> list[dict[str, Any]]:
        """The inputs as the report has them."""
        return [
            {
                "role": role,
                "path": self.listed[role].path,
                "sha256": self.listed[role].sha256(),
                "records": count,
            }
            for role, count in records.items()
        ]

    # what they mean

    def baseline(self, now: Made) -> g.Baseline | None:
        """The numbers of the baseline, or why they cannot be compared."""
        earlier = self.earlier
        if earlier is None:
            why = self.request.unblessed
            return g.Baseline({}, {}, why, name="") if why else None
        from ragworthy.load.baseline import as_baseline

        return as_baseline(earlier, of_baseline(earlier.made, now, self.request.allowed, self.request.suite))

    def frozen(self, gold_sha256: str | None) -> Frozen:
        """Whether the gold set is the one that was signed."""
        if gold_sha256 is None:
            return Frozen("none", "")
        signers, lock = self.request.signers, self.lock
        if lock is None and not signers:
            return Frozen("unlocked", "")
        if lock is None:
            reason = f"the policy asks for the signature of {', '.join(signers)}, but the gold set has no lock"
            return Frozen("broken", reason)
        missing = [name for name in signers if name not in lock.signers]
        if lock.sha256 != gold_sha256 and not self._same_evidence(lock):
            reason = "the gold set is not the frozen one (its SHA-256 differs from the lock)"
        elif missing:
            reason = f"the lock lacks the signature of {', '.join(missing)}"
        else:
            return Frozen("frozen", "")
        # A flag cannot lift what the policy demands: with signers named there, --unfrozen is no way round them.
        return Frozen("unfrozen" if self.request.unfrozen and not signers else "broken", reason)

    def _same_evidence(self, lock: Lock) -> bool:
        """Whether the gold set differs from the frozen one only in the chunks that its evidence was bound to."""
        gold = self.sources.get("gold")
        return gold is not None and is_frozen(lock, gold)

    def provenance(self) -> dict[str, Any]:
        """Where the rules came from."""
        request, found = self.request, dict[str, Any]()
        if request.policy is not None:
            found["policy"] = {"path": shown_path(request.policy), "sha256": sha256_of(request.policy)}
        if self.lock is not None and self.lock_path is not None:
            signers: dict[str, Any] = {"signers": self.lock.signers}
            if self.lock.label is not None:
                signers["label"] = self.lock.label
            found["lock"] = {"path": shown_path(self.lock_path), "sha256": sha256_of(self.lock_path)} | signers
        if request.regression:
            found["regression"] = {"E_resonance": "not_measured"}  # it needs vectors that no trace holds
        if self.earlier is not None:
            found["baseline"] = {"path": self.earlier.path, "sha256": self.earlier.sha256}
        return found


def lock_files(request: Request, gold: Any) -> dict[str, Path]:
    """The lock file by its role, and the weights of distances beside it, where the suite has distances."""
    lock = lock_of(request, gold)
    if lock is None:
        return {}
    weights = weights_there(lock) if request.suite == "retrieval" else None
    return {"lock": lock} | ({f"lock/{weights.name}": weights} if weights is not None else {})


def lock_of(request: Request, gold: Any) -> Path | None:
    """The lock file of the gold set: the one named, else the one beside it when there is one."""
    if gold is None:
        return None
    if request.lock is None and isinstance(gold, (str, Path)) and Path(gold).is_file():
        beside = default_lock(Path(gold))
        return beside if os.path.lexists(beside) else None  # a link that leads nowhere is an error, not no lock
    return request.lock
