"""What one suite is asked to score: what, against what, by which rules."""

from collections.abc import Callable, Mapping, Sequence
from datetime import date
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy import gates as g
from ragworthy.load.plugins import Plugin
from ragworthy.load.uri import Uri
from ragworthy.proving import Proving

if TYPE_CHECKING:
    from ragworthy.suites.parts import Engine

Progress = Callable[[int, int], None]


class Attempts(NamedTuple):
    """How often the same gold set was judged on the same commit: a fact that is given, not derived."""

    number: int
    """This run included."""
    chain: tuple[str, ...]
    """The hashes by which the store of earlier runs seals each of them, this run the last."""
    commit: str

    def told(self) -> dict[str, Any]:
        """What a report and a receipt keep of it."""
        return {"count": self.number, "chain": list(self.chain), "commit": self.commit}


class Cut(NamedTuple):
    """One part of the work, where parts are scored apart and merged later."""

    nth: int
    """Counted from 0."""
    of: int

    def __str__(self) -> str:
        return f"{self.nth + 1}/{self.of}"


class Request(NamedTuple):
    """One suite to score: what, against what, by which rules."""

    suite: str
    given: Mapping[str, Any]
    """The inputs that are there, by the keys of the suite's declaration: paths, or records in memory."""
    settings: Any
    """A NamedTuple of the type that the suite declares."""
    gates: tuple[g.Gate, ...]
    defaults: bool = True
    """Whether rules of the suite hold beside those that were named: without them a baseline adds none of its own."""
    waivers: tuple[g.Waiver, ...] = ()
    baseline: Path | None = None
    baseline_override: bool = False
    unblessed: str = ""
    """Why a baseline that is a blessed run is not there: nothing is compared, and the verdict is INVALID."""
    regression: bool = False
    """Whether the usual rules against the baseline were asked for."""
    allowed: tuple[str, ...] = ()
    """What may differ from the baseline or from live, because that is what is tried."""
    lock: Path | None = None
    packs: Mapping[str, Path] = MappingProxyType({})
    """Where rule packs stand, when it is not the policy's folder."""
    plugins: tuple[Plugin, ...] = ()
    """Metrics from elsewhere that were named."""
    gate_packs: tuple[str, ...] = ()
    """The gate packs that were named, for this suite or another of the policy."""
    more_packs: tuple[str, ...] = ()
    """Those of them that a policy itself does not have."""
    signers: tuple[str, ...] = ()
    policy: Path | None = None
    today: date | None = None
    """The day on which waivers were judged; a receipt keeps it where there are any."""
    unfrozen: bool = False
    allow_gold_errors: bool = False
    jobs: int | None = None
    keep_rows: bool = False
    cluster: str = "document"
    """What stands or falls together: the questions about one `document`, or each `question` for itself."""
    most_offenders: int = 10
    commit: str = ""
    """The commit that is judged, for the receipt; empty where nobody knows it."""
    attempts: Attempts | None = None
    """The runs on the same gold set and commit; None where nothing counts them."""
    wanted: frozenset[str] = frozenset()
    """Questions that somebody wants to look at: what is known of each is kept, however many there are."""
    damage: Any = None
    """What a selftest does to each record that is read (`Damage.do` of `suites/damage.py`); None leaves them alone."""

    parts: Mapping[str, Sequence[Any]] | None = None
    """What parts gave that were read elsewhere, by the role of the file; None where the files are read here."""
    engine: "Engine | None" = None
    """Who reads the files of traces; None for processes of this machine."""
    proving: Proving = Proving()
    """How differences are tested."""

    def get(self, key: str, default: Any = None) -> Any:
        """An input by its key."""
        return self.given.get(key, default)

    def on_disk(self) -> "Request":
        """The same without the inputs that only an engine can read."""
        here = {key: one for key, one in self.given.items() if not isinstance(one, Uri)}
        for key, one in here.items():
            if isinstance(one, tuple):
                here[key] = tuple(each for each in one if not isinstance(each, Uri))
        return self._replace(given=here)

    def with_given(self, **inputs: Any) -> "Request":
        """The same with other inputs; None takes one away."""
        return self._replace(given={key: one for key, one in {**self.given, **inputs}.items() if one is not None})

    def with_baseline(self, path: Path) -> "Request":
        """The same with another baseline than the policy's."""
        from ragworthy.load.baseline import suites_in

        return self._replace(baseline=path, baseline_override=True, unblessed="").with_known(suites_in(path))

    def with_known(self, suites: Sequence[str]) -> "Request":
        """Without a baseline where that has other suites only and no gate of this one needs it."""
        needed = self.get("live") is None and any(gate.op in g.AGAINST for gate in self.gates)
        return self if self.suite in suites or needed else self._replace(baseline=None)
