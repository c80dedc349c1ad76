"""What is kept of a claim that was compared with a reference."""

from typing import NamedTuple

from ragworthy.records import Gold


class Compared(NamedTuple):
    """A claim against the reference of its question, in whole numbers: part of the tally, beside the flags."""

    num: int
    den: int
    """The F1 of both as a fraction in lowest terms."""
    stated: int
    details: int
    """How many of the reference's details the claim states, and how many there are."""
    contradicted: bool
    """Whether the claim states another number than the reference in the same unit."""
    alone: bool
    """Whether the question has no pieces of gold text besides."""


def has_reference(gold: Gold) -> bool:
    """Whether claims are compared with a reference too."""
    return gold.gold_reference is not None and gold.answerable
