"""What is established about one question of the answers suite, once, as a set of flags.

The flags of a question are its row. A count per distinct flag set is the tally, which merges exactly, and every
metric in `answers.py` is a pure function of the flags.
"""

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from ragworthy.metrics.facts.citations import HIT as HIT
from ragworthy.metrics.facts.citations import IN_SCOPE as IN_SCOPE
from ragworthy.metrics.facts.citations import NESTED_CITATION as NESTED_CITATION
from ragworthy.metrics.facts.citations import REPEATED as REPEATED
from ragworthy.metrics.facts.citations import WELL_FORMED as WELL_FORMED
from ragworthy.metrics.facts.citations import citation_flags
from ragworthy.metrics.facts.constraints import CONTRADICTED as CONTRADICTED
from ragworthy.metrics.facts.constraints import KEPT as KEPT
from ragworthy.metrics.facts.constraints import NOT_ECHOED as NOT_ECHOED
from ragworthy.metrics.facts.constraints import OVER_ECHOED, UNRULED, Contradictions, constraint_flags, unruled
from ragworthy.metrics.facts.errored import is_error as is_error
from ragworthy.metrics.facts.errored import said_error as said_error
from ragworthy.metrics.facts.near import reads_like_refusal
from ragworthy.metrics.facts.pieces import ALL_OF as ALL_OF
from ragworthy.metrics.facts.pieces import GONE as GONE
from ragworthy.metrics.facts.pieces import LETTERLESS as LETTERLESS
from ragworthy.metrics.facts.pieces import LOST as LOST
from ragworthy.metrics.facts.pieces import NO_LETTERS as NO_LETTERS
from ragworthy.metrics.facts.pieces import NOT_NFC as NOT_NFC
from ragworthy.metrics.facts.pieces import ONLY_SHORT as ONLY_SHORT
from ragworthy.metrics.facts.pieces import RESCUABLE as RESCUABLE
from ragworthy.metrics.facts.pieces import SHORT_ENTRY as SHORT_ENTRY
from ragworthy.metrics.facts.pieces import SUPPORTABLE as SUPPORTABLE
from ragworthy.metrics.facts.pieces import SUPPORTED as SUPPORTED
from ragworthy.metrics.facts.pieces import UNKNOWN_CHUNK as UNKNOWN_CHUNK
from ragworthy.metrics.facts.pieces import UNMEETABLE as UNMEETABLE
from ragworthy.metrics.facts.pieces import all_met, every_piece, group_flags, looked_up, occurs, piece_flags, tells
from ragworthy.metrics.facts.tops import RETRIEVED as RETRIEVED
from ragworthy.metrics.facts.tops import TOP, grouped_tops, several_tops
from ragworthy.names import MIN_SUBSTR, REFUSAL
from ragworthy.records import Gold, Trace
from ragworthy.text import fold, is_nfc, trim_fold

if TYPE_CHECKING:
    from ragworthy.metrics.facts.compared import Compared
    from ragworthy.metrics.facts.refusals import Refusals

# One number holds everything that is known of a question: a million of them fit into eight megabytes, two of them are
# joined by `|`, and a Counter of them is the tally. Its bits, from the lowest:
#    0-15  what metrics count, in the order of the fields of `Facts`, which `unpack` fills by position
#   16-31  what is only worth a warning or a lint error
#   32-47  two for each k: all gold citations among the first k, any of them; so 8 different k have room
#   48     a refusal by rule, a word in a row
#   49-54  gold that asks for all of several pieces, pieces that say nothing, gold text that was not retrieved, evidence
#          that is not in the corpus
#   55-58  how locked constraints are broken: by the echo, by the claim; whether a rule knows them, what else is echoed
# Those of gold pieces and chunk texts are in `pieces.py`, of ranks in `tops.py`, of constraints in `constraints.py`, of
# citations in `citations.py`.
# Receipts keep these numbers: a bit that is given another meaning makes every earlier receipt disagree.

# What the metrics count.
ANSWERABLE = 1 << 0
PRESENT = 1 << 1
REFUSED = 1 << 2
ERRORED = 1 << 3
CLAIM = 1 << 4
CONTAINS = 1 << 5
CONSTRAINED = 1 << 9
EVIDENCE = 1 << 11
UNBOUND = 1 << 15

# What is only worth a warning or a lint error.
VACUOUS = 1 << 16
NOT_EXACT = 1 << 19
REFUSED_CITING = 1 << 20
NEAR_REFUSAL = 1 << 21
NO_RETRIEVED = 1 << 23
NO_CITATIONS = 1 << 25
STRAY_GOLD = 1 << 28
NO_QUESTION = 1 << 29
NOTHING = 1 << 31
BY_RULE = 1 << 48
"""A refusal by a pack, a beginning or a pattern, not by an exact text."""

LINT = {
    NOTHING: (
        "RW-G06",
        "gold_citations",
        "expected gold text or evidence for an answerable question, got neither",
    ),
    ONLY_SHORT: (
        "RW-G07",
        "gold_claim_substr",
        "expected an entry of 5 characters or more, got only shorter ones",
    ),
    NO_LETTERS: (
        "RW-G30",
        "gold_claim_substr",
        "expected an entry with a letter or a digit, got none",
    ),
    UNMEETABLE: (
        "RW-G31",
        "gold_claim_all",
        "expected groups that a claim can meet, got one without a piece that counts",
    ),
    STRAY_GOLD: (
        "RW-G08",
        "answerable",
        "expected no gold text or citations for an unanswerable question, got some",
    ),
}
"""Gold errors that stop scoring, unless they are allowed."""


_FINAL = "Σ"
"""The one letter whose small form depends on the letters around it: what holds a piece may not hold it any more."""


class Rules(NamedTuple):
    """How claims are compared; part of the policy and of the receipt."""

    ks: tuple[int, ...] = (5,)
    refusals: tuple[str, ...] = (REFUSAL,)
    short_words: bool = False
    scu: bool = False
    contradictions: Contradictions = ()
    chunks: Mapping[str, str] | None = None
    by_rule: "Refusals | None" = None
    """What else is a refusal, besides the exact texts."""


class Facts(NamedTuple):
    """The flags of one question, unpacked for the metrics to read."""

    answerable: bool
    present: bool
    refused: bool
    errored: bool
    claim: bool
    contains: bool
    well_formed: bool
    in_scope: bool
    hit: bool
    constrained: bool
    kept: bool
    evidence: bool
    supportable: bool
    supported: bool
    retrieved: bool
    unbound: bool
    """The question names evidence that no chunk is known to hold: none does, or there is no corpus to look in."""
    all_in_top: frozenset[int]
    any_in_top: frozenset[int]
    compared: "Compared | None" = None
    """What was found of a question with a reference."""
    lost: bool = False
    """The gold text is in a gold chunk and in none that was retrieved; known only with a corpus."""
    gone: bool = False
    """The corpus has nothing of the gold evidence."""
    not_echoed: bool = False
    """The echo is not the set of locked constraints; known only where these are checked."""
    contradicted: bool = False
    """The claim contradicts one of them."""
    unlisted: bool = False
    """An answer that does not say what was retrieved."""
    over_echoed: bool = False
    """The echo has all locked constraints, and more."""
    textless: bool = False
    """The question has an answer, and no gold text to look for."""

    @property
    def by_reference(self) -> bool:
        """Only the reference says what a right claim is: there is no piece of text to look for."""
        return self.compared is not None and self.compared.alone

    @property
    def missing(self) -> bool:
        """No trace at all."""
        return not self.present

    @property
    def shipped(self) -> bool:
        """There is an answer: a trace that neither refuses nor ends in an error."""
        return self.present and not self.refused and not self.errored

    @property
    def tried(self) -> bool:
        """There should be an answer: one was shipped, or an error is in its place."""
        return self.present and not self.refused

    @property
    def by_text(self) -> bool:
        """Only its text can be judged: it has an answer, and nobody says where that stands."""
        return self.answerable and not self.evidence

    @property
    def astray(self) -> bool:
        """It cites what was not retrieved. Without evidence that is known only where the trace lists what was."""
        return not self.in_scope and not (self.by_text and self.unlisted)


_TICKED = Facts._fields[:-10]
"""The fields that are one bit each, the lowest first."""
# A field in another place than its bit would give metrics the wrong fact without any error.
assert all(globals()[name.upper()] == 1 << bit for bit, name in enumerate(_TICKED))  # noqa: S101 - checked once


def unpack(flags: int, ks: tuple[int, ...], compared: "Compared | None" = None) -> Facts:
    """The facts behind a flag set, and what was found of a question with a reference.

    >>> unpack(ANSWERABLE | PRESENT | REFUSED, (5,)).shipped
    False
    """
    ticked = [bool(flags >> bit & 1) for bit in range(len(_TICKED))]
    all_in = frozenset(k for i, k in enumerate(ks) if flags >> (TOP + 2 * i) & 1)
    any_in = frozenset(k for i, k in enumerate(ks) if flags >> (TOP + 2 * i + 1) & 1)
    more = (bool(flags & bit) for bit in (LOST, GONE, NOT_ECHOED, CONTRADICTED, NO_RETRIEVED, OVER_ECHOED, VACUOUS))
    return Facts._make((*ticked, all_in, any_in, compared, *more))


def gold_flags(rules: Rules) -> Callable[[Gold], int]:
    """A function that tells what a gold item alone establishes: the whole row of a question without a trace.

    >>> item = Gold(answerable=True, qid="q", question="?", gold_claim_substr=["1990"], gold_citations=["d#1"])
    >>> bool(gold_flags(Rules())(item) & ONLY_SHORT), bool(gold_flags(Rules(short_words=True))(item) & ONLY_SHORT)
    (True, False)
    """
    short_words = rules.short_words

    def flags_of(gold: Gold) -> int:
        pieces, cited, question = gold.gold_claim_substr, gold.gold_citations, gold.question
        if gold.answerable:
            flags = ANSWERABLE | EVIDENCE if cited and gold.gold_groups is None else _evidence_flags(gold)
            if pieces:
                if (
                    len(pieces) != 1
                    or len(piece := pieces[0]) < MIN_SUBSTR
                    or not (piece.isascii() or is_nfc(piece))
                    or not piece[0].isalnum()
                ):
                    flags |= piece_flags(pieces, short_words)
            elif gold.gold_reference is None and not gold.gold_claim_all:
                flags |= VACUOUS | NOTHING if flags & NO_CITATIONS else VACUOUS
            if gold.gold_claim_all:
                flags |= group_flags(gold.gold_claim_all, short_words)
        else:
            stray = bool(pieces or cited or gold.gold_evidence or gold.gold_groups or gold.gold_claim_all)
            stray = stray or gold.gold_reference is not None
            flags = 0 if not stray else STRAY_GOLD | EVIDENCE if cited else STRAY_GOLD
        if gold.constraints:
            loose = rules.scu and unruled(gold.constraints, rules.contradictions)
            flags |= CONSTRAINED | UNRULED if loose else CONSTRAINED
        if not question:
            flags |= NO_QUESTION
        elif not question.isascii() and not is_nfc(question):
            flags |= NOT_NFC
        return flags

    return flags_of


def _evidence_flags(gold: Gold) -> int:
    """What is known of the evidence of an answerable question, where it is not a plain list of ids."""
    if gold.gold_groups:
        lost = UNBOUND if not all(gold.gold_groups) else 0
        return ANSWERABLE | EVIDENCE | (lost if any(gold.gold_groups) else UNBOUND | GONE)
    if gold.gold_citations:
        return ANSWERABLE | EVIDENCE
    return ANSWERABLE | UNBOUND if gold.gold_evidence or gold.gold_source else ANSWERABLE | NO_CITATIONS


def trace_flags(rules: Rules) -> Callable[[Gold, Trace], int]:
    """A function that establishes what a trace adds to the facts of its question, under these rules.

    It runs once for every trace, so the usual shapes (one piece, one citation) take the shortest way through it: they
    are decided first, by tests that are all in place, and everything that is the same for all traces is settled here.
    """
    k, one_k = rules.ks[0], len(rules.ks) == 1
    several, grouped = several_tops(rules.ks), grouped_tops(rules.ks)
    in_top = PRESENT | RETRIEVED | 1 << TOP | 1 << (TOP + 1)
    some_in_top = PRESENT | RETRIEVED | 1 << (TOP + 1)
    in_list = PRESENT | RETRIEVED
    right = CLAIM | CONTAINS | WELL_FORMED | IN_SCOPE | HIT | KEPT
    contained, in_scope, hit = CLAIM | CONTAINS, WELL_FORMED | IN_SCOPE, WELL_FORMED | IN_SCOPE | HIT
    both = CONTAINS | HIT
    exact = rules.refusals
    refusals = frozenset(trim_fold(text) for text in rules.refusals)
    longest = max(map(len, refusals), default=0)
    short_words, scu, contradictions = rules.short_words, rules.scu, rules.contradictions
    refuses = None if rules.by_rule is None else rules.by_rule.rule
    plain = not scu and refuses is None
    least = MIN_SUBSTR  # a variable of this function is found faster than one of the module

    def flags_of(gold: Gold, trace: Trace) -> int:
        retrieved, wanted = trace.retrieved_ids, gold.gold_citations
        answer = trace.answer_json
        if answer is None or trace.error is not None:
            # What was retrieved before an error counts. It is not an answer: the question is a case of every
            # other rate that it could have counted for, and counts for none.
            if not retrieved or not wanted:
                return PRESENT | ERRORED
            found = several(wanted, retrieved) if gold.gold_groups is None else grouped(gold.gold_groups, retrieved)
            return PRESENT | ERRORED | found
        if not retrieved:
            flags = PRESENT | NO_RETRIEVED if retrieved is None else PRESENT
            retrieved = []
        elif not wanted:
            flags = PRESENT
        elif gold.gold_groups is not None:
            flags = PRESENT | grouped(gold.gold_groups, retrieved)
        elif one_k and len(wanted) == 1:
            one = wanted[0]
            flags = in_top if one in retrieved[:k] else in_list if one in retrieved else PRESENT
        elif one_k and len(wanted) == 2:
            top = retrieved[:k]
            one, other = wanted
            if one in top:
                flags = in_top if other in top else some_in_top
            elif other in top:
                flags = some_in_top
            else:
                flags = in_list if one in retrieved or other in retrieved else PRESENT
        else:
            flags = PRESENT | several(wanted, retrieved)
        claim, cited = answer.claim, answer.citations
        if claim in exact:
            return flags | REFUSED | REFUSED_CITING if cited else flags | REFUSED
        pieces = gold.gold_claim_substr
        text = claim.strip() if claim else ""
        if (
            plain
            and pieces
            and (text.isascii() or (is_nfc(text) and _FINAL not in text))
            and len(text) > longest
            and len(piece := pieces[0]) >= least
            and piece in text
            and (piece[0].isalnum() or tells(piece))
            and gold.gold_claim_all is None
        ):
            # The usual claim has the first piece letter by letter: nothing has to be folded to know what it says. The
            # usual citations are those of the gold item, and that these were retrieved is known by now.
            if (
                flags == in_top
                and cited == wanted
                and (len(cited) == 1 or (len(cited) == 2 and cited[0] != cited[1]))
                and gold.answerable
                and gold.gold_groups is None
            ):
                return flags | right
            if (
                wanted
                and type(cited) is list
                and len(cited) == 1
                and (one := cited[0]) in wanted
                and one in retrieved
                and gold.answerable
            ):
                return flags | right
            text = text.lower()
            flags |= contained
        else:
            text = text.lower() if text.isascii() else fold(text)
            if len(text) <= longest and text in refusals:
                return flags | REFUSED | NOT_EXACT | REFUSED_CITING if cited else flags | REFUSED | NOT_EXACT
            if refuses is not None and text and refuses(claim or "", every_piece(gold), short_words=short_words):
                return flags | REFUSED | BY_RULE | REFUSED_CITING if cited else flags | REFUSED | BY_RULE
            if text:
                if not pieces:
                    flags |= contained
                else:
                    for piece in pieces:
                        folded = piece.lower() if piece.isascii() else fold(piece)
                        if len(folded) >= least and folded in text and (folded[0].isalnum() or tells(folded)):
                            flags |= contained
                            break
                    else:
                        found = short_words and occurs(pieces, text, short_words=True)
                        flags |= contained if found else CLAIM
                if gold.gold_claim_all and not all_met(gold.gold_claim_all, text, short_words=short_words):
                    flags &= ~CONTAINS
        if type(cited) is list and len(cited) == 1 and (one := cited[0]) in retrieved:
            flags |= hit if wanted and one in wanted else in_scope
        else:
            flags |= citation_flags(cited, wanted, retrieved)
        if not scu or not gold.constraints:
            flags |= KEPT
        else:
            flags |= constraint_flags(gold.constraints, answer.constraints_echo, text, contradictions)
        if (flags & both != both or not gold.answerable) and reads_like_refusal(text):
            flags |= NEAR_REFUSAL
        return flags

    return flags_of if rules.chunks is None else looked_up(flags_of, rules.chunks, short_words=short_words)
