"""Chunk texts: what a corpus file holds."""

from ragworthy.errors import MOST_PROBLEMS, DataError, Problem, data_error
from ragworthy.load.decode import Decoder, Fault, record_offsets
from ragworthy.load.sources import Source
from ragworthy.records import Chunk
from ragworthy.text import fold


def load_chunks(source: Source) -> dict[str, str]:
    """Chunk texts by id, folded for comparison."""
    return {chunk.name: fold(chunk.text) for chunk in read_chunks(source)}


def read_chunks(source: Source) -> list[Chunk]:
    """Every chunk of a file, in its order."""
    decoder = Decoder(Chunk)
    found: list[Chunk] = []
    nameless: list[int] = []
    for block in source.blocks():
        chunks = decoder.records(block)
        if not all(chunk.name for chunk in chunks):
            offsets = record_offsets(Chunk, block)
            nameless += [offset for offset, chunk in zip(offsets, chunks, strict=True) if not chunk.name]
        found += chunks
    missing = "expected a non-empty string, got nothing"
    faults = sorted([*decoder.faults, *(Fault(offset, "RW-C01", "chunk_id", missing) for offset in nameless)])
    if faults:
        lines = source.lines_at(fault.offset for fault in faults[:MOST_PROBLEMS])
        problems = [
            Problem(fault.code, fault.message, f"{source.given}:{lines[fault.offset]}", fault.field)
            for fault in faults[:MOST_PROBLEMS]
        ]
        raise DataError(problems, len(faults))
    if not found:
        raise data_error("RW-F04", "expected chunks, got none", where=source.given)
    return found
