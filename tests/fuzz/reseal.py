"""What somebody with the Python API can do: make the receipt that a (damaged) request leads to."""

from pathlib import Path

from ragworthy import flow, receipts
from ragworthy.report import receipt
from ragworthy.report.placed import placed

_requests = receipts._requests  # looked up here, so that a new name is noticed at the start


def _derived(path: Path) -> bytes | None:
    """The bytes that the request of a receipt leads to; None where it leads to none, however that ends."""
    if not path.is_file():
        return None
    try:
        given, _, _ = receipt.read(path)
        if given is None:  # of another version
            return None
        found = placed(given.inputs, path.parent, path.parent, None)
        requests = _requests(given, found, trusted=True)
        return receipts.make(flow.score_all(requests), requests, path.parent, found.moved) + b"\n"
    except Exception:  # noqa: BLE001 - a request that makes no sense may raise anything here; verify must not
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
