"""What one part of the traces of an index gives, in memory and as it is written."""

from collections import Counter
from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from ragworthy.load.sources import Source
from ragworthy.metrics.facts.convergence import RunKey
from ragworthy.metrics.facts.runs import Reading, Runs
from ragworthy.metrics.facts.wanted import Wanted
from ragworthy.records import RetrievalTrace
from ragworthy.suites.parts import Pass, Tell
from ragworthy.suites.reading import Flaws, Reader, reader
from ragworthy.suites.retrieval.read import Gathered, Job, gather
from ragworthy.suites.retrieval.units import Ranged


class Written(NamedTuple):
    """What a part gives, in types that JSON has."""

    runs: list[tuple[str, list[tuple[RunKey, Reading]]]]
    hashes: dict[str, int]
    normalisers: list[str]
    rerankers: list[str]
    models: list[tuple[str, str]]
    orphans: dict[str, int]
    types: list[str]
    unknown: list[str]
    bare: list[str]
    seeded: bool
    unnamed: bool
    traces: int
    replaced: int
    left_out: int


def written(found: Gathered) -> Written:
    """What a part gives, to be written or sent."""
    return Written(
        runs=[(qid, list(runs.items())) for qid, runs in found.runs.items()],
        hashes=found.hashes,
        orphans=dict(found.orphans),
        bare=list(found.bare),
        normalisers=sorted(found.normalisers),
        rerankers=sorted(found.rerankers),
        models=sorted(found.models),
        types=sorted(found.types),
        unknown=sorted(found.unknown),
        seeded=found.seeded,
        unnamed=found.unnamed,
        traces=found.traces,
        replaced=found.replaced,
        left_out=found.left_out,
    )


def gathered(given: Written) -> Gathered:
    """The same as it was."""
    found = Gathered()
    found.runs = {qid: dict(runs) for qid, runs in given.runs}
    found.hashes = dict(given.hashes)
    found.orphans = Counter(given.orphans)
    found.bare = dict.fromkeys(given.bare)
    for name in ("normalisers", "rerankers", "models", "types", "unknown"):
        setattr(found, name, set(getattr(given, name)))
    for name in ("seeded", "unnamed", "traces", "replaced", "left_out"):
        setattr(found, name, getattr(given, name))
    return found


class Asked(NamedTuple):
    """The questions of one side, before traces are read."""

    job: Job
    wanted: list[Wanted]
    flaws: Flaws


def pass_of(asked: Asked, source: Source, sources: Mapping[str, Source]) -> Pass:
    """The reading of one file of traces."""
    by_id = {one.qid: one for one in asked.wanted}

    def stop(found: Gathered) -> None:
        flaws = (asked.flaws, found.flaws)
        Flaws([each for some in flaws for each in some.some], sum(some.count for some in flaws)).stop(sources)

    return Pass(
        role=source.role,
        source=source,
        work=partial(_gather, asked.job, by_id, source.role, reader(source, RetrievalTrace)),
        sound=lambda found: not found.flaws.count,
        stop=stop,
        form=Written,
        pack=written,
        unpack=gathered,
        weight=4,
    )


def _gather(
    job: Job, by_id: Mapping[str, Wanted], role: str, traces: Reader, part: int, parts: int, tell: Tell
) -> Gathered:
    """Every trace of one part, joined with its question; the last record of a run counts."""
    decoder = traces.decoder()
    whole, runs = Gathered(), Runs(job.rules)
    for block in traces.blocks(part, parts):
        records: list[RetrievalTrace] = decoder.records(block)
        here = gather(job, by_id, records, whole.hashes, runs, Ranged.of(block.data))
        if here.troubles or here.firsts:
            offsets = traces.offsets(block)
            here.found.hashes = {name: offsets[nth] for name, nth in here.firsts.items()}
            for nth, trouble in here.troubles.items():
                whole.flaws.add(role, offsets[nth], *trouble)
        whole.add(here.found)
        if tell is not None:
            tell(len(block.data))
    for fault in decoder.faults:
        whole.flaws.add(role, *fault)
    return whole
