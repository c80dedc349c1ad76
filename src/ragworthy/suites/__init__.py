"""The suites: each a folder that says what it reads, how it is set and how records become cases.

A new suite is a folder, its metrics, and its name in `names.SUITES`.
"""

from importlib import import_module

from ragworthy import names
from ragworthy.suites.declare import Declared

SUITES: dict[str, Declared] = {name: import_module(f"ragworthy.suites.{name}").DECLARED for name in names.SUITES}
"""What every suite says of itself, in the order of reports."""
