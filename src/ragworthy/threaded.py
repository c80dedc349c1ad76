"""Records that several threads read at once."""

from typing import TypeVar

import msgspec

Record = TypeVar("Record")


def threaded(kind: type[Record]) -> type[Record]:
    """The record, made ready for several threads.

    msgspec works out the fields of a record when it is first read; a thread that reads it meanwhile finds half of
    them, and the interpreter crashes. Here they are worked out before there is a second thread.
    """
    msgspec.json.Decoder(kind)
    return kind
