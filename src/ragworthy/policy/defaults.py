"""Which default gates of a suite hold beside the gates that were named."""

from collections.abc import Iterable

from ragworthy.gates import AGAINST, EACH, Gate, with_evidence


def with_defaults(named: tuple[Gate, ...], usual: Iterable[Gate], evidence: str) -> tuple[Gate, ...]:
    """The gates that were named, and the default ones of the suite that none of them replaces.

    A limit on the same number (all questions, no slice) replaces a default limit, and a comparison a default one;
    `must_pass`, slices and a comparison that may be unmeasured say something else. What a pack says replaces a default
    limit only where it is as strict: naming a pack lets nothing pass that failed before. Where nobody named a gate, the
    default ones are as good as named. A gate that replaces one which may give way is marked: what judges in the place
    of that one holds beside the new one too.

    >>> from ragworthy.gates import DROP, MIN
    >>> usual = [Gate("answers.precision", MIN, "0.80"), Gate("answers.chr", MIN, "0.75")]
    >>> gates = with_defaults((usual[0]._replace(threshold="0.9"),), usual, "point")
    >>> [(one.metric, one.threshold, one.kept) for one in gates]
    [('answers.precision', '0.9', False), ('answers.chr', '0.75', True)]
    >>> [one.op for one in with_defaults((Gate("answers.precision", DROP, "0.02"),), usual[:1], "point")]
    ['drop<=', '>=']
    >>> [one.threshold for one in with_defaults((Gate("answers.chr", MIN, "0.6", packed=True),), usual[1:], "point")]
    ['0.6', '0.75']
    """
    usual = tuple(usual)
    rest = [gate for gate in usual if not any(_replaces(one, gate) for one in named)]
    yielding = [gate for gate in usual if gate.usual]
    marked = tuple(one._replace(replaces=any(_replaces(one, gate) for gate in yielding)) for one in named)
    return marked + tuple(with_evidence(gate, evidence)._replace(kept=bool(named)) for gate in rest)


def _replaces(gate: Gate, usual: Gate) -> bool:
    against = gate.op in AGAINST
    if gate.slice is not None or gate.op == EACH or against != (usual.op in AGAINST):
        return False
    if (gate.metric, gate.suite) != (usual.metric, usual.suite):
        return False
    if gate.packed:
        plain = not (against or gate.optional or gate.review)
        return plain and gate.strictness >= usual.strictness
    return not (against and gate.optional)
