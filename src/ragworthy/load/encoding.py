"""In which encoding a text seems to be, by its bytes."""

import codecs

_LOOKED_AT = 4096


def likely_encoding(data: bytes) -> str:
    """The name of an encoding that fits a text; empty for UTF-8, and where none is likely.

    >>> [likely_encoding("Höhe,Breite".encode(name)) for name in ("utf-8", "cp1252", "utf-16", "utf-16-le")]
    ['', 'cp1252', 'utf-16', 'utf-16-le']
    """
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        return "utf-16"
    head = data[: _LOOKED_AT - _LOOKED_AT % 2]
    for name, first in (("utf-16-le", 1), ("utf-16-be", 0)):  # of Latin letters and commas every second byte is 0
        if 4 * head[first::2].count(0) > len(head[first::2]) and not head[1 - first :: 2].count(0):
            return name
    for name in ("utf-8", "cp1252"):
        try:
            codecs.getincrementaldecoder(name)().decode(data)  # the end may be cut off
        except UnicodeDecodeError:
            continue
        return name.removeprefix("utf-8")
    return ""
