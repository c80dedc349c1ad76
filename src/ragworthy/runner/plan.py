"""Every question of a run, in order, in every variation. Pure."""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from ragworthy.ids import config_id
from ragworthy.metrics.facts import jitters as changes
from ragworthy.runner.contract import Ask
from ragworthy.runner.outputs import Making


class Wordings(NamedTuple):
    """One question of a gold set in all its wordings."""

    qid: str
    texts: tuple[str, ...]


class Planned(NamedTuple):
    """One question to ask, and what it is called in the results."""

    ask: Ask
    run_id: str
    noop: bool
    """Whether the variation left the wording as it was."""


class Plan(NamedTuple):
    """Everything a run asks, in the order of the results."""

    gold: str
    gold_sha256: str
    asks: tuple[Planned, ...]
    questions: int
    seeds: tuple[int, ...]
    jitters: tuple[str, ...]
    """The variations with their versions."""
    knobs: dict[str, Any]
    config_id: str
    sha256: str
    settings: dict[str, str]
    """What was chosen by hand, as a message shows it."""
    making: Making | None = None
    """What is known of the outputs of structured questions; None where answers are asked for."""

    @property
    def about(self) -> dict[str, str]:
        """What decides the replies besides the target and its knobs."""
        return {} if self.making is None else self.making.about


def make(
    gold: str,
    gold_sha256: str,
    questions: Sequence[Wordings],
    *,
    seeds: Sequence[int],
    jitters: Sequence[str],
    knobs: Mapping[str, Any],
    settings: Mapping[str, str],
) -> Plan:
    """Questions × wordings × jitters × seeds."""
    own = dict(knobs)
    asks = tuple(
        planned(one.qid, text, nth, jitter, seed, own)
        for one in questions
        for nth, text in enumerate(one.texts)
        for jitter in jitters
        for seed in seeds
    )
    versions = tuple(changes.VERSION_IDS[name] for name in jitters)
    return Plan(
        gold=gold,
        gold_sha256=gold_sha256,
        asks=asks,
        questions=len(questions),
        seeds=tuple(seeds),
        jitters=versions,
        knobs=own,
        config_id=config_id(own),
        sha256=fingerprint(asks, versions, own),
        settings=dict(settings),
    )


def planned(qid: str, text: str, paraphrase: int, jitter: str, seed: int, knobs: dict[str, Any]) -> Planned:
    """One wording in one variation.

    >>> planned("A1", "Show all", 1, "syn", 2, {})[1:]
    ('A1#seed=2;j=syn;p=1', False)
    >>> planned("A1", "Why?", 0, "syn", 0, {})[1:]
    ('A1#seed=0;j=syn', True)
    """
    asked = changes.apply(jitter, text)
    run_id = f"{qid}#seed={seed};j={jitter}{f';p={paraphrase}' if paraphrase else ''}"
    ask = Ask(qid=qid, q=asked, seed=seed, jitter=jitter, knobs=knobs, paraphrase=paraphrase)
    return Planned(ask, run_id, jitter != "none" and asked == text)


def fingerprint(asks: Iterable[Planned], versions: Sequence[str], knobs: Mapping[str, Any]) -> str:
    """What tells a plan from others."""
    whole = [[[one.run_id, one.ask.q] for one in asks], versions, knobs]
    return hashlib.sha256(msgspec.json.encode(whole, order="deterministic")).hexdigest()
