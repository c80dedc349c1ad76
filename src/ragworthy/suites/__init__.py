"""The suites: each a folder that says what it reads, how it is set and how records become cases.

A new suite is a folder, its metrics, and its name in `names.SUITES`; or a package of its own that announces it.
"""

from collections.abc import Iterable, Iterator, Mapping
from importlib import import_module

from ragworthy import names
from ragworthy.policy.declare import Declared


class Suites(Mapping[str, Declared]):
    """What every suite says of itself, in the order of reports; each is imported when it is first asked for."""

    def __init__(self) -> None:
        self._outside: dict[str, Declared] = {}

    def __getitem__(self, name: str) -> Declared:
        if name in names.SUITES:
            declared: Declared = import_module(f"ragworthy.suites.{name}").DECLARED
            return declared
        return self._outside[name]

    def __iter__(self) -> Iterator[str]:
        return iter((*names.SUITES, *self._outside))

    def __len__(self) -> int:
        return len(names.SUITES) + len(self._outside)

    def also(self, named: Iterable[str]) -> None:
        """Make the suites of other packages known, where one of these names is one. Nothing else is loaded."""
        unknown = [name for name in named if name not in self]
        if not unknown:
            return
        from ragworthy.errors import policy_error
        from ragworthy.load import plugins
        from ragworthy.metrics.registry import enter_suite

        there = {one.name for one in plugins.installed(plugins.SUITES)}
        for name in unknown:
            if name in there:
                found = plugins.load_point(plugins.SUITES, name)
                if not isinstance(found.made, Declared) or found.made.name != name:
                    message = f"expected a declaration of the suite {name}, got {type(found.made).__name__}"
                    raise policy_error("RW-P15", f"{name} ({found.package} {found.version}): {message}")
                self._outside[name] = found.made._replace(plugin=found)
                enter_suite(name, found.made.package)


SUITES = Suites()
