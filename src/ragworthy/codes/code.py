"""What a code says."""

from typing import NamedTuple


class Code(NamedTuple):
    """One line of the catalogue."""

    name: str
    means: str
    do: str
