"""What is asked of the files of traces: the gold set as each side has it, and the rules by which traces are read."""

from functools import partial

from ragworthy.records import RetrievalGold
from ragworthy.suites.opened import Opened
from ragworthy.suites.reading import Flaws, reader
from ragworthy.suites.request import Request
from ragworthy.suites.retrieval.arms import Side, Sides
from ragworthy.suites.retrieval.passes import Asked
from ragworthy.suites.retrieval.read import Job, read_gold


def asked_of(opened: Opened, request: Request, sides: Sides, fields: tuple[str, ...]) -> dict[str, Asked]:
    """What is asked of each file of traces, by its role."""
    jobs = {"trace": _job(opened, request, sides.shadow, fields)}
    if "live" in opened.sources:
        jobs["live"] = _job(opened, request, sides.live, fields)._replace(damage=None)
    found: dict[str, Asked] = {}
    for role, job in jobs.items():
        flaws = Flaws()
        found[role] = Asked(job, read_gold(job, flaws), flaws)
    return found


def _job(opened: Opened, request: Request, side: Side, fields: tuple[str, ...]) -> Job:
    corpus = side.corpus
    own = corpus if side.its_own else None
    return Job(
        gold=reader(opened["gold"], RetrievalGold),
        rules=side.rules,
        slice_fields=fields,
        tokens=partial(corpus.tokens, subtree=side.rules.subtree) if corpus else lambda section: 0,
        known=own.places if own else None,
        index_hash=corpus.index_hash if corpus else None,
        limits=own.lengths if own else None,
        canonical=own.canonical if own else None,
        allow_gold_errors=request.allow_gold_errors,
        damage=request.damage,
    )
