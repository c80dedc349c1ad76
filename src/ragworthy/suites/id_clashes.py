"""Whether whoever wrote the traces says that some of their ids name several texts."""

from typing import Any

import msgspec

from ragworthy.load.sources import Source
from ragworthy.names import AMBIGUOUS_IDS
from ragworthy.report.show import plural
from ragworthy.text import clip

_UP_TO = 32 << 20
"""Larger files are not gone through once more."""
_KEY = AMBIGUOUS_IDS.encode()


def id_clashes(traces: Source) -> list[str]:
    """Why numbers of citations and of what was retrieved mean nothing here; none where every id names one text."""
    found: dict[str, None] = {}
    for block in traces.blocks() if traces.size <= _UP_TO else ():
        lines = block.data.splitlines() if _KEY in block.data else ()
        for line in lines:
            names = msgspec.json.decode(line).get(AMBIGUOUS_IDS) if _KEY in line else None
            found |= dict.fromkeys(_texts(names))
    if not found:
        return []
    some = clip(", ".join(list(found)[:3]), 120)
    names = plural(len(found), "id names", "ids name")
    return [f"{names} several texts ({some}): make the traces again with --doc-id content"]


def _texts(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list) else []
