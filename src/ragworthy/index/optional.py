"""Optional packages, imported where they are used."""

import importlib
import warnings
from typing import Any

from ragworthy.errors import missing_extra


def need(module: str, package: str, extra: str, purpose: str) -> Any:
    """The module, or an error that says how to install it."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DeprecationWarning)
        try:
            return importlib.import_module(module)
        except ImportError:
            raise missing_extra(package, extra, purpose) from None
