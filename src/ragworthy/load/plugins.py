"""Code from elsewhere: a team's own file of metrics, or a package that announces something under an entry point.

Nothing here runs unless it was named. What is loaded is said by name, version and hash; what cannot be loaded is an
error with its name, never silence.
"""

import _thread
import functools
import hashlib
import math
import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, redirect_stdout
from fractions import Fraction
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.errors import RagworthyError, policy_error
from ragworthy.files import read_bytes, shown_path
from ragworthy.metrics import registry
from ragworthy.metrics.registry import Metric, metrics_in

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

METRICS, SUITES, REPORTS, TARGETS = (f"ragworthy.{name}" for name in ("metrics", "suites", "reports", "targets"))
GROUPS = (METRICS, SUITES, REPORTS, TARGETS)
"""The entry points that a package can announce."""


class Plugin(NamedTuple):
    """Something that was loaded from elsewhere."""

    name: str
    """As it was named: a path, or the name of an entry point."""
    made: Any
    """What it is: a module with metrics, a declaration, a renderer, a target."""
    package: str | None = None
    version: str | None = None
    sha256: str | None = None
    path: Path | None = None
    """The file, where it is one."""

    def metrics(self) -> Iterator[Metric]:
        """The metrics that it defines, in the order of the file."""
        for one in metrics_in(self.made) if isinstance(self.made, ModuleType) else ():
            yield one._replace(of=_guarded(one))

    def told(self) -> dict[str, str]:
        """What a report and a receipt keep of it."""
        kept = {"name": self.name, "package": self.package, "version": self.version, "sha256": self.sha256}
        return {key: value for key, value in kept.items() if value is not None}


def _guarded(metric: Metric) -> Callable[..., Any]:
    """A metric's function; what it raises, or says that is not a word of its kind, is an error with its name."""

    @functools.wraps(metric.of)
    def of(*facts: Any, **depth: Any) -> Any:
        with named(f"{metric.id} ({metric.place})", "failed"):
            word = metric.of(*facts, **depth)
        try:
            return _word(metric, word)
        except ValueError as wrong:
            raise policy_error("RW-P15", f"{metric.id} ({metric.place}): expected {wrong}") from None

    return of


MOST = 10**18
"""No word is greater: beyond that a number cannot be shown as it is."""
_PAIRS = {
    "share": "a part and a whole",
    "ratio": "an amount and whether it bought something",
    "spread": "a key and an amount",
}


def _word(metric: Metric, given: Any) -> Any:
    """What a metric says, as its kind needs it; raises what was expected instead."""
    if given is None:
        return None
    if metric.kind not in _PAIRS:
        return _number(given, metric)
    if not isinstance(given, tuple) or len(given) != 2:
        raise ValueError(f"a pair for the kind {metric.kind} ({_PAIRS[metric.kind]}), got {described_value(given)}")
    if metric.kind == "spread":
        return given[0], _number(given[1])
    part, whole = (_number(one) for one in given)
    if metric.kind == "share" and not (part.denominator == whole.denominator == 1 and 0 <= part <= whole):
        raise ValueError(f"a part of a whole, both counted, got {given}")
    return (int(part), int(whole)) if metric.kind == "share" else (Fraction(part), int(whole))


def _number(given: Any, metric: Metric | None = None) -> Any:
    """An exact number; those of NumPy and floats are taken as what they are."""
    number: Any = given.item() if type(given).__module__ == "numpy" and hasattr(given, "item") else given
    if isinstance(number, float) and math.isfinite(number):
        number = Fraction(number)
    if type(number) not in (bool, int, Fraction):
        raise ValueError(f"a number or None, got {described_value(given)}")
    if abs(number) > MOST:
        raise ValueError("a number of at most 10^18, got a greater one")
    if metric is not None and metric.kind == "count" and (number < 0 or number.denominator != 1):
        raise ValueError(f"a count, got {described_value(number)}")
    if metric is not None and metric.highest is not None and not 0 <= number <= metric.highest:
        raise ValueError(f"a number from 0 to {metric.highest} (or highest=None), got {described_value(number)}")
    return number


def described_value(given: Any) -> str:
    """A value in a message: a number as it is, of all else the type."""
    if isinstance(given, (int, float)):
        return str(given)
    return str(float(given)) if isinstance(given, Fraction) else type(given).__name__


@contextmanager
def named(what: str, did: str, *, where: str = "", field: str = "") -> Iterator[None]:
    """Whatever code from elsewhere raises is an error with its name; an exit too, or it would be taken for ours."""
    try:
        yield
    except (RagworthyError, KeyboardInterrupt):
        raise
    except BaseException as error:
        message = f"{what} {did}: {type(error).__name__}: {error}"
        raise policy_error("RW-P15", message, where=where, field=field) from error


class Installed(NamedTuple):
    """An entry point that a package announces."""

    group: str
    name: str
    package: str
    version: str
    point: "EntryPoint"


def installed(group: str | None = None) -> list[Installed]:
    """What is there to be loaded, in the order of names. Nothing is loaded for it."""
    from importlib.metadata import entry_points  # which loads a lot, and hardly ever has to

    found = []
    for one in GROUPS if group is None else (group,):
        for point in sorted(entry_points(group=one), key=lambda point: point.name):
            package = point.dist
            name, version = (package.name, package.version) if package is not None else ("", "")
            found.append(Installed(one, point.name, name, version, point))
    return found


def load_point(group: str, name: str, *, where: str = "", field: str = "") -> Plugin:
    """Load what a package announces under a name."""
    found = [one for one in installed(group) if one.name == name]
    if not found:
        there = ", ".join(one.name for one in installed(group)) or "none"
        message = f'expected an installed plugin of {group} ({there}), got "{name}"'
        raise policy_error("RW-P15", message, where=where, field=field)
    if len(found) > 1:
        both = " and ".join(one.package for one in found)
        raise policy_error("RW-P15", f'expected one plugin "{name}", got {both}', where=where, field=field)
    one = found[0]
    what = f"{name} ({one.package} {one.version})"
    with named(what, "cannot be loaded", where=where, field=field), redirect_stdout(sys.stderr):
        made = one.point.load()
    return Plugin(name, made, one.package, one.version)


def load_file(path: Path, written: str, *, where: str = "", field: str = "") -> Plugin:
    """Run a file of a team's own metrics. Its bytes are hashed first, and those that were hashed are run."""
    source = read_bytes(path)
    digest = hashlib.sha256(source).hexdigest()
    name = f"ragworthy_plugin_{digest[:16]}"
    with _LOADING:  # two threads that name the same file run it once
        made = sys.modules.get(name) or _run(source, path, name, where, field)
    plugin = Plugin(written, made, sha256=digest, path=path)
    if not any(plugin.metrics()):
        message = f"expected a function with @ragworthy.metric in {shown_path(path)}, got none"
        raise policy_error("RW-P15", message, where=where, field=field)
    return plugin


def _run(source: bytes, path: Path, name: str, where: str, field: str) -> ModuleType:
    made = ModuleType(name)
    made.__file__ = str(path)
    sys.modules[name] = made  # as an import does: a class of the file finds its own module
    try:
        with named(shown_path(path), "cannot be loaded", where=where, field=field), redirect_stdout(sys.stderr):
            exec(compile(source, str(path), "exec"), made.__dict__)  # noqa: S102 - a policy named this file
    except RagworthyError:
        del sys.modules[name]
        raise
    return made


_LOADING = _thread.allocate_lock()
"""That of `threading`, without the rest of it."""


def load_metrics(written: str, folder: Path, *, where: str = "", field: str = "") -> Plugin:
    """A plugin of metrics as a policy names it: a file ending in .py, relative to the policy, else an entry point."""
    if written.endswith(".py"):
        path = Path(written)
        return load_file(path if path.is_absolute() else folder / path, written, where=where, field=field)
    return load_point(METRICS, written, where=where, field=field)


@contextmanager
def using_metrics(plugins: Iterable[Plugin], where: str = "") -> Iterator[None]:
    """With the metrics of plugins, which are known only inside the block."""
    try:
        added = registry.using(metric for plugin in plugins for metric in plugin.metrics())
        with added:
            yield
    except registry.UnusableError as error:
        raise policy_error("RW-P15", str(error), where=where, field="plugins") from None


def called(plugin: Plugin, *given: Any) -> Any:
    """What a plugin makes of something; what it raises is an error with its name."""
    with named(f"{plugin.name} ({plugin.package} {plugin.version})", "failed"):
        return plugin.made(*given)
