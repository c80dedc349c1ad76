"""Indexes: lexical, dense and hybrid search over chunks, kept in a folder that can be checked."""

from importlib.util import find_spec

from ragworthy.errors import missing_extra

if find_spec("numpy") is None:
    raise missing_extra("numpy", "", "an index")
