"""`python -m ragworthy`."""

from ragworthy.cli.main import entry

entry()
