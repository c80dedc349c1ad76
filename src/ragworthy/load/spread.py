"""JSON objects one after another, each over several lines, as jq prints them: no file of ours, and easily made one."""

import json
from typing import Any

_MOST = 200


def spread(text: bytes) -> list[dict[str, Any]]:
    """The first objects of such a file; none where it is another.

    >>> spread(b'{\\n"a": 1\\n}\\n{\\n"a": 2\\n}')
    [{'a': 1}, {'a': 2}]
    >>> spread(b'{"a": 1}\\n{"a": 2}')
    []
    """
    rest, found = text.decode("utf-8", "ignore"), list[dict[str, Any]]()
    decoder, end, lines = json.JSONDecoder(), 0, 0
    while len(found) < _MOST and (begin := rest.find("{", end)) >= 0 and not rest[end:begin].strip():
        try:
            one, end = decoder.raw_decode(rest, begin)
        except (ValueError, RecursionError):
            break
        found.append(one)
        lines += rest.count("\n", begin, end)
    return found if len(found) > 1 and lines >= len(found) else []
