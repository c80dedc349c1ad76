"""Refusals by rule: packs for a language, beginnings and patterns of your own. Each rule has a name that reports show.

A pack looks at a claim clause by clause, with what is in quotation marks left out. The first clause of substance
must say that the documents do not hold the answer, and nothing after it may be an answer: other clauses refuse too,
tell what the documents are about instead, or give advice. What is in parentheses, reasons and clauses about
somebody are clauses of their own. Whatever else is said counts as an answer, and so do a guess anywhere and a gold
piece outside the refusing sentences.
"""

import re
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from ragworthy.errors import policy_error
from ragworthy.metrics.facts.constraints import PATIENCE, Pattern, limited
from ragworthy.metrics.facts.pieces import occurs
from ragworthy.text import compiled, fold

LONGEST = 2000
"""A longer claim is never a refusal by a pack: it says something."""
BARE = "bare"
"""The rule of claims that are nothing but a word for no answer."""

_QUOTED = (
    r"\"[^\"\n]{1,400}\"|“[^“”\n]{1,400}”|„[^„“”\n]{1,400}[“”]|«[^«»\n]{1,400}»|‹[^‹›\n]{1,400}›|「[^「」\n]{1,400}」"
    r"|『[^『』\n]{1,400}』|《[^《》\n]{1,400}》|(?<!\w)['‘‚][^'‘’‚\n]{1,400}['’](?!\w)"
)
_WHOLE = r"^[\"“„«‹「『'‘]([^\"“”„«»‹›「」『』]+)[\"”“»›」』'’][.。]?$"
_SENTENCE = r"[.!?]+(?=\s|$)|[。！？]+|\n+"
_ASIDE = r"[(（]([^()（）]*)(?:[)）]|$)|\[([^\[\]\s]+(?:\s+[^\[\]\s]+){2,})\]"
_MARKER = (
    r"^(?:\d{1,2}|e?s|[\w./-]*#[\w-]+|(?:see\s+)?(?:context|document|doc|source|passage|quelle|dokument|fuente|文档|文件|资料"
    r"|資料)s?\s*\d{1,3}|\[[\d,\s]+\])?$"
)
_MARKS = r"[*_`#>\[\](){}\"“”„«»‹›「」『』]+"
_EDGES = " ,;:.!?–—-、，。；：！？"


class Rule(NamedTuple):
    """What a refusing clause says; a verbose pattern."""

    name: str
    pattern: str
    after: bool = False
    """Whether it holds only after a clause that refuses or tells what the documents are about ("it does not say")."""


class Pack(NamedTuple):
    """The rules of one language; the files in `packs/` say what each part is for."""

    id: str
    sha256: str
    hints: tuple[str, ...]
    lead: str
    turns: str
    concedes: str
    harmless: str
    about: str
    guesses: str
    rules: tuple[Rule, ...]


class Refusing(NamedTuple):
    """What refuses in a claim."""

    rule: str
    rest: str
    """The folded claim without what refuses; a piece of the gold answer in here is an answer."""


class Refusals(NamedTuple):
    """Every rule in force besides exact texts."""

    packs: tuple[Pack, ...] = ()
    starts: tuple[str, ...] = ()
    patterns: tuple[Pattern, ...] = ()

    def rule(self, claim: str, pieces: Iterable[str] | None = None, *, short_words: bool = True) -> str | None:
        """The name of the rule that makes a claim a refusal; None for an answer.

        Beginnings and patterns are yours and decide alone. A pack gives way to a gold piece that the claim states.

        >>> Refusals(starts=("i'm sorry, i",)).rule("I'm sorry, I can't say.")
        'start 1'
        """
        text = fold(claim.strip())
        for nth, start in enumerate(self.starts, 1):
            if text.startswith(start):
                return f"start {nth}"
        for nth, pattern in enumerate(self.patterns, 1):
            if _found(pattern, claim):
                return f"pattern {nth}"
        for pack in self.packs:
            found = refusing(text, pack)
            if found is not None and not (pieces and occurs(pieces, found.rest, short_words=short_words)):
                return f"{pack.id}:{found.rule}"
        return None


def pattern_of(text: str) -> Pattern:
    """A pattern as it is run: any case, by an engine that knows a time limit."""
    return limited(text, any_case=True)


def wrong_pattern(text: str) -> str | None:
    """Why a text is not a pattern that can be used."""
    try:
        made = pattern_of(text)
    except ValueError as error:
        return str(error)
    return (
        "expected a pattern that can fail, got one that matches an empty text"
        if made.search("", timeout=PATIENCE)
        else None
    )


def _found(pattern: Pattern, claim: str) -> bool:
    try:
        return pattern.search(claim, timeout=PATIENCE) is not None
    except TimeoutError:
        message = f"expected a pattern that ends within {PATIENCE:g} s, got {pattern.pattern}"
        raise policy_error("RW-P17", message, field="refusal_patterns") from None


# a pack


def _verbose(pattern: str) -> re.Pattern[str]:
    return compiled(pattern, re.VERBOSE)


def refusing(folded: str, pack: Pack) -> Refusing | None:
    """What refuses in a folded claim by the rules of a pack; None where something in it is an answer."""
    if not 0 < len(folded) <= LONGEST or not any(hint in folded for hint in pack.hints):
        return None
    first: str | None = None
    about = False
    rest = list[str]()
    for sentence in sentences(folded):
        rules = dict[str, None]()
        beside = list[str]()
        for clause in _clauses(sentence.said, pack):
            if _verbose(pack.guesses).search(clause):
                return None
            rule = _rule_of(clause, pack, after=about or first is not None)
            if rule is not None:
                first = first or rule
                rules[rule] = None
            elif not _verbose(pack.about if first is None else pack.harmless).match(clause):
                return None  # the first clause of substance says something, or an answer follows
            else:
                about = True
                beside.append(clause)
        rest.append(" \n ".join(beside) if rules and BARE not in rules else sentence.whole)
    return None if first is None else Refusing(first, "".join(rest))


class Sentence(NamedTuple):
    """A sentence of a claim, as it is there and with what is in quotation marks left out."""

    whole: str
    said: str


def sentences(folded: str) -> list[Sentence]:
    """The sentences of a claim; joined as they are there they are the claim.

    >>> [one.said for one in sentences('it says "no. never." twice. why?')]
    ['it says ……………………………… twice.', ' why?']
    """
    whole = compiled(_WHOLE).match(folded)
    said = folded if whole else compiled(_QUOTED).sub(lambda found: "…" * len(found[0]), folded)
    ends = [found.end() for found in compiled(_SENTENCE).finditer(said)]
    bounds = [0, *ends] if ends and ends[-1] == len(said) else [0, *ends, len(said)]
    return [Sentence(folded[start:end], said[start:end]) for start, end in pairwise(bounds)]


def _rule_of(clause: str, pack: Pack, *, after: bool) -> str | None:
    rules = (rule for rule in pack.rules if after or not rule.after)
    return next((rule.name for rule in rules if _verbose(rule.pattern).search(clause)), None)


def _clauses(said: str, pack: Pack) -> list[str]:
    """The clauses of substance of a sentence; a concession comes behind what it concedes to, brackets last."""
    asides = list[str]()
    said = compiled(_ASIDE).sub(lambda found: _aside(said[: found.start()], found[1] or found[2] or "", asides), said)
    return [*_main_clauses(said, pack), *(clause for aside in asides for clause in _main_clauses(aside, pack))]


def _aside(before: str, inside: str, asides: list[str]) -> str:
    """What stays of a pair of brackets where it stands: nothing; markers and short forms are not clauses either."""
    inside = inside.strip()
    initials = "".join(word[0] for word in before.split())
    short = inside.isalpha() and len(inside) > 1 and initials.endswith(inside)
    if not short and not compiled(_MARKER).match(inside):
        asides.append(inside)
    return "" if before[-1:].isalpha() else " "


def _main_clauses(said: str, pack: Pack) -> list[str]:
    text = _without_lead(" ".join(compiled(_MARKS).sub(" ", said).split()), pack)
    conceded = _verbose(pack.concedes).match(text)
    if conceded:
        text = text[conceded.end() :].replace(",", ";", 1)
    bare = [clause for part in _verbose(pack.turns).split(text) if part and (clause := _without_lead(part, pack))]
    return [*bare[1:], *bare[:1]] if conceded and len(bare) > 1 else bare


def _without_lead(part: str, pack: Pack) -> str:
    """A clause without apologies and headings before it; empty where it is nothing else."""
    lead = _verbose(pack.lead)
    part = part.strip(_EDGES)
    while (found := lead.match(part)) and found.end():
        part = part[found.end() :].strip(_EDGES)
    return part
