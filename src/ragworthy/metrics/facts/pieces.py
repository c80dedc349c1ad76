"""The pieces of gold text that a right claim has: any of `gold_claim_substr`, and one of every group of
`gold_claim_all`. A piece without a letter or a digit is in nearly every text, so it never counts.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence

from ragworthy.ids import stable
from ragworthy.names import MIN_SUBSTR
from ragworthy.records import Gold, Pieces, RetrievalGold, Trace
from ragworthy.text import can_count_when_short, fold, is_nfc, piece_occurs

# What pieces themselves show, as flags of their question: `answers.py` says how the bits are shared out.
NOT_NFC = 1 << 18
SHORT_ENTRY = 1 << 17
ONLY_SHORT = 1 << 26
RESCUABLE = 1 << 27
ALL_OF = 1 << 49
"""The gold item has `gold_claim_all`."""
LETTERLESS = 1 << 50
NO_LETTERS = 1 << 51
"""Some, or all, of `gold_claim_substr` have neither letter nor digit."""
UNMEETABLE = 1 << 52
"""No claim can meet a group of `gold_claim_all`."""

# What chunk texts show of an answer.
_REFUSED = 1 << 2
_ERRORED = 1 << 3
_CONTAINS = 1 << 5
SUPPORTABLE = 1 << 12
SUPPORTED = 1 << 13
UNKNOWN_CHUNK = 1 << 24
LOST = 1 << 53
"""The gold text is in a gold chunk and in no chunk that was retrieved."""
GONE = 1 << 54
"""The corpus has nothing of the gold evidence: none of its ids, and no chunk that holds its text."""

Flags = Callable[[Gold, Trace], int]


def tells(piece: str) -> bool:
    """Whether a piece has a letter or a digit: without one, nearly every text has it.

    >>> tells("."), tells(" – "), tells("5 %"), tells("北京")
    (False, False, True, True)
    """
    return any(map(str.isalnum, piece))


def occurs(pieces: Iterable[str], folded: str, *, short_words: bool) -> bool:
    """Whether any piece that counts occurs in a folded text.

    >>> occurs([".", "in 1973"], "he was bored (in 1974).", short_words=True)
    False
    """
    return piece_occurs(filter(tells, pieces), folded, short_words=short_words)


def can_count(piece: str, *, short_words: bool) -> bool:
    """Whether some claim could have this piece, as claims are compared.

    >>> can_count("1990", short_words=True), can_count("1990", short_words=False), can_count("...", short_words=True)
    (True, False, False)
    """
    folded = fold(piece)
    long = len(folded) >= MIN_SUBSTR or (short_words and can_count_when_short(folded))
    return long and tells(piece)


def grouped(given: Pieces | None) -> list[list[str]]:
    """The groups of `gold_claim_all`; a text is a group of one.

    >>> grouped([["45 days", "forty-five days"], "sync"])
    [['45 days', 'forty-five days'], ['sync']]
    """
    return [[one] if isinstance(one, str) else one for one in given or ()]


def needed(gold: Gold | RetrievalGold) -> list[list[str]]:
    """Everything that a right claim needs, as groups: any piece of each will do. The any-of pieces are one group."""
    return [*([gold.gold_claim_substr] if gold.gold_claim_substr else []), *grouped(gold.gold_claim_all)]


def has_pieces(gold: Gold) -> bool:
    """Whether a gold item says what text a right claim has."""
    return bool(gold.gold_claim_substr or gold.gold_claim_all)


def every_piece(gold: Gold | RetrievalGold) -> list[str]:
    """All pieces of a gold item, whatever they are needed for."""
    return [*(gold.gold_claim_substr or ()), *(one for group in grouped(gold.gold_claim_all) for one in group)]


def all_met(given: Pieces, folded: str, *, short_words: bool) -> bool:
    """Whether a folded claim has a piece of every group.

    >>> all_met([["45 days", "forty-five days"], "sync"], "after forty-five days, with harbor cp", short_words=True)
    False
    """
    return all(occurs(group, folded, short_words=short_words) for group in grouped(given))


def contains(gold: Gold, folded: str, *, short_words: bool) -> bool:
    """Whether a folded claim has the gold text: without any to look for, each claim has it."""
    return all(occurs(group, folded, short_words=short_words) for group in needed(gold))


def named(group: Iterable[str]) -> str:
    """A group as people read it.

    >>> named(["45 days", "forty-five days"])
    '45 days or forty-five days'
    """
    return " or ".join(group)


# what they are themselves


def piece_flags(pieces: list[str], short_words: bool) -> int:
    """What is known of pieces of which a claim needs any."""
    flags = 0
    telling = [fold(piece) if tells(piece) else "" for piece in pieces]
    if any(piece and not known for piece, known in zip(pieces, telling, strict=True)):
        flags |= LETTERLESS if any(telling) else LETTERLESS | NO_LETTERS
    if any(len(fold(piece)) < MIN_SUBSTR or piece.isspace() for piece in pieces):
        flags |= SHORT_ENTRY
    if all(len(piece) < MIN_SUBSTR for piece in telling) and not flags & NO_LETTERS:
        rescuable = any(map(can_count_when_short, telling))
        if rescuable:
            flags |= RESCUABLE
        if not (rescuable and short_words):
            flags |= ONLY_SHORT
    if not all(map(is_nfc, pieces)):
        flags |= NOT_NFC
    return flags


def group_flags(given: Pieces, short_words: bool) -> int:
    """What is known of groups that a claim must all meet."""
    flags = ALL_OF
    for group in grouped(given):
        if not any(can_count(piece, short_words=short_words) for piece in group):
            flags |= UNMEETABLE
        if not all(map(tells, group)):
            flags |= LETTERLESS
        if not all(map(is_nfc, group)):
            flags |= NOT_NFC
    return flags


# with the texts of chunks


def looked_up(flags_of: Flags, chunks: Mapping[str, str], *, short_words: bool) -> Flags:
    """The same flags, and what the texts of the chunks show: whether what is cited holds the gold text, and whether
    that was retrieved at all, and in the corpus at all.
    """
    known = chunks.keys() | {stable(name) for name in chunks if "|r=" in name}

    def with_texts(gold: Gold, trace: Trace) -> int:
        flags = flags_of(gold, trace)
        if not gold.answerable:
            return flags
        if flags & _ERRORED:
            return flags | SUPPORTABLE
        if gold.gold_citations and not any(one in known or stable(one) in known for one in gold.gold_citations):
            flags |= GONE
        answer = trace.answer_json
        if not flags & _REFUSED:
            flags |= _support(gold, answer.citations if answer is not None else None, chunks, short_words)
        if not flags & _CONTAINS and gold.gold_citations:
            claim = "" if flags & _REFUSED or answer is None else fold(answer.claim or "")
            gold_ids, retrieved = gold.gold_citations, trace.retrieved_ids or []
            if is_lost(needed(gold), gold_ids, claim, retrieved, chunks, short_words=short_words):
                flags |= LOST
        return flags

    return with_texts


def _support(gold: Gold, cited: object, chunks: Mapping[str, str], short_words: bool) -> int:
    """Whether the cited chunks hold the gold text: of everything that is needed, each in one of them."""
    flags, texts = SUPPORTABLE, list[str]()
    for one in cited if isinstance(cited, list) else ():
        text = chunks.get(one) if isinstance(one, str) else None
        if text is None:
            flags |= UNKNOWN_CHUNK
        else:
            texts.append(text)
    groups = needed(gold)
    held = [any(occurs(group, text, short_words=short_words) for text in texts) for group in groups]
    return flags | SUPPORTED if groups and all(held) else flags


def is_lost(
    groups: Sequence[Sequence[str]],
    gold_ids: Iterable[str],
    claim: str,
    retrieved: Sequence[str],
    chunks: Mapping[str, str],
    *,
    short_words: bool,
) -> bool:
    """Whether something that a claim lacks is in a gold chunk, and in none that was retrieved.

    Nothing is said where the texts of what was retrieved are not known, or where no gold chunk has the text: an answer
    may say in other words what a document says.
    """
    lacking = [group for group in groups if not occurs(group, claim, short_words=short_words)]
    if not lacking or any(name not in chunks for name in retrieved):
        return False
    seen = [chunks[name] for name in retrieved]
    gold_texts = [chunks[name] for name in gold_ids if name in chunks]
    for group in lacking:
        if any(occurs(group, text, short_words=short_words) for text in seen):
            continue
        if any(occurs(group, text, short_words=short_words) for text in gold_texts):
            return True
    return False
