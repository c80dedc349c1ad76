"""Every code of an error or a warning: its name, what it means, what to do.

A code is stable: it keeps its meaning for ever. `explain CODE` prints what is here.
"""

from ragworthy.codes.code import Code as Code
from ragworthy.codes.errors import ERRORS
from ragworthy.codes.warnings import WARNINGS

CATALOGUE: dict[str, Code] = ERRORS | WARNINGS
