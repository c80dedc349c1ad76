"""What the citations of an answer show, as flags of their question: `answers.py` says how the bits are shared out."""

from ragworthy.metrics.facts.tops import MANY

WELL_FORMED = 1 << 6
IN_SCOPE = 1 << 7
HIT = 1 << 8
REPEATED = 1 << 22
NESTED_CITATION = 1 << 30


def citation_flags(cited: object, wanted: list[str] | None, retrieved: list[str]) -> int:
    """Whether citations are a list of ids, all retrieved, one of them gold."""
    if cited is None:
        return WELL_FORMED | IN_SCOPE
    if not isinstance(cited, list):
        return IN_SCOPE
    if len(cited) == 2:  # the most usual list of several
        one, other = cited
        if one in retrieved and other in retrieved and type(one) is str is type(other):
            flags = WELL_FORMED | IN_SCOPE if one != other else WELL_FORMED | IN_SCOPE | REPEATED
            return flags | HIT if wanted and (one in wanted or other in wanted) else flags
    flags = WELL_FORMED | IN_SCOPE
    found = 0
    # Short lists are searched fastest as they are; a reply with ten thousand ids would take minutes that way.
    known = retrieved if len(cited) < MANY else frozenset(retrieved)
    for one in cited:
        if type(one) is not str:
            flags &= ~(IN_SCOPE | WELL_FORMED)
            if type(one) in (dict, list):
                flags |= NESTED_CITATION
        elif one in known:
            if wanted and one in wanted:
                found = HIT
        else:
            flags &= ~IN_SCOPE
    if flags & IN_SCOPE:
        flags |= found
    if len(cited) > 1 and flags & WELL_FORMED and len(set(cited)) < len(cited):
        flags |= REPEATED
    return flags
