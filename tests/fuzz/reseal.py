"""What somebody with the Python API can do: make the receipt that a (damaged) request leads to."""

from pathlib import Path

import rfc8785

from ragworthy import flow, receipts
from ragworthy.errors import RagworthyError
from ragworthy.report import receipt

# What a request that makes no sense may raise on its way to a receipt; then there is none.
_NO_RECEIPT = (RagworthyError, KeyError, TypeError, AttributeError, ValueError, ArithmeticError, LookupError,
               StopIteration, OSError, rfc8785.CanonicalizationError, RecursionError, AssertionError)  # fmt: skip


def _derived(path: Path) -> bytes | None:
    """The bytes that the request of a receipt leads to, or None."""
    try:
        given, _, _ = receipt.read(path)
        requests = receipts._requests(given, path.parent)
        return receipts.make(flow.score_all(requests), requests, path.parent) + b"\n"
    except _NO_RECEIPT:
        return None


def reseal(name: str) -> None:
    """Write the receipt again as its request leads to it, where it leads to one."""
    path = Path(name)
    made = _derived(path)
    if made is not None:
        path.write_bytes(made)


def difference(name: str) -> str:
    """Why a receipt that was verified should not have been; empty when its bytes do come out again."""
    path = Path(name)
    made = _derived(path)
    if made is None:
        return "verified, but the request leads to no receipt"
    return "" if made == path.read_bytes() else "verified byte for byte, but the bytes that come out differ"
