"""Gold items: the check of their ids, the same for every suite; and the questions of the answers suite, read and
checked alike by every suite that takes them.
"""

from collections.abc import Callable, Container, Sequence
from operator import attrgetter
from typing import NamedTuple, TypeAlias

from msgspec.structs import replace

from ragworthy.errors import DataError, Problem, data_error
from ragworthy.load.decode import Decoder, Item, read_items
from ragworthy.load.sources import Block, Source
from ragworthy.metrics.facts import answers as f
from ragworthy.records import Gold, Trace


class Wrong(NamedTuple):
    """What is wrong with a record, without its place."""

    code: str
    field: str
    message: str


def wrong_id(name: str | None, seen: Container[str], field: str = "qid") -> Wrong | None:
    """What is wrong with an id, given those that came before it; `field` is the key that it is under.

    >>> wrong_id("", set()).code, wrong_id("q1", {"q1"}, "id").message, wrong_id("q2", {"q1"})
    ('RW-G01', 'expected a unique id, got "q1" again', None)
    """
    if not name:
        return Wrong("RW-G01", field, "expected a non-empty string, got nothing")
    if name in seen:
        return Wrong("RW-G02", field, f'expected a unique id, got "{name}" again')
    return None


def wrong_reference(gold: Gold) -> Wrong | None:
    """What is wrong with a reference: each must hold a word or a number.

    >>> wrong_reference(Gold(answerable=True, gold_reference=["It is 5.", " "])).field
    'gold_reference[1]'
    """
    given = gold.gold_reference
    if given is None:
        return None
    listed = isinstance(given, list)
    if not given and listed:
        return Wrong("RW-G27", "gold_reference", "expected a text or a list of texts, got an empty list")
    for nth, text in enumerate(given if isinstance(given, list) else [given]):
        if not any(map(str.isalnum, text)):
            field = f"gold_reference[{nth}]" if listed else "gold_reference"
            return Wrong("RW-G27", field, "expected a text with words or numbers, got none")
    return None


def name_of(record: Gold | Trace) -> str:
    """The id, under whichever key it was written."""
    return record.qid or record.q_id or ""


Groups: TypeAlias = list[list[str]]
"""The ids that hold each piece of evidence: any id of a group will do."""
Bind: TypeAlias = Callable[[Gold], Groups]
"""From a gold item to the chunks that hold its evidence; a group without any for what no chunk holds."""
_GROUPS = attrgetter("gold_groups")


def names_evidence(gold: Gold) -> bool:
    """Whether an item says what its evidence is, or where it stands, and not only which chunk holds it."""
    return bool(gold.answerable and (gold.gold_evidence or gold.gold_source))


def has_ids(gold: Gold) -> bool:
    """Whether an item says which chunks hold its evidence."""
    return bool(gold.gold_citations or any(gold.gold_groups or ()))


def resolved(gold: Gold, bind: Bind | None = None) -> Gold:
    """An item as it is scored: with the chunks of the day where there is a corpus to look in, else as it was bound.

    >>> one = resolved(Gold(answerable=True, gold_groups=[["a", "b"], ["c"]], gold_citations=["a"]))
    >>> one.gold_citations, one.gold_groups
    (['a', 'b', 'c'], [['a', 'b'], ['c']])
    """
    groups = bind(gold) if bind is not None and names_evidence(gold) else gold.gold_groups
    if groups is None:
        return gold
    flat = list(dict.fromkeys(name for group in groups for name in group))
    if not groups:
        return replace(gold, gold_groups=None)
    return replace(gold, gold_groups=groups, gold_citations=flat)


class PlainGold(Gold, frozen=True, gc=False):
    """An item whose evidence are ids of chunks, and without a reference, as nearly all are."""

    gold_evidence: None = None
    gold_source: None = None
    gold_groups: None = None
    gold_reference: None = None


class ClosedGold(PlainGold, frozen=True, gc=False, forbid_unknown_fields=True):
    """The same without a field that is not scored."""


class GoldDecoder(Decoder[Gold]):
    """Decodes gold items of the answers suite, each as it is scored."""

    def __init__(self, bind: Bind | None = None) -> None:
        super().__init__(Gold, usual=(ClosedGold, PlainGold))
        self._bind = bind

    def records(self, block: Block) -> list[Gold]:
        """The items of a block; what cannot be read goes to `faults`."""
        found = super().records(block)
        if are_plain(found) or (self._bind is None and list(map(_GROUPS, found)).count(None) == len(found)):
            return found
        return [resolved(one, self._bind) for one in found]


def are_plain(block: Sequence[Gold]) -> bool:
    """Whether there is no reference, and nothing to resolve, in the items of a block: they came in one type."""
    return bool(block) and isinstance(block[0], PlainGold)


def problems_of(
    items: Sequence[Item], at: Callable[[int], str], rules: f.Rules, *, allow_errors: bool = False
) -> list[Problem]:
    """What is wrong with gold questions: ids, and what no answer could satisfy unless that is allowed; `at` says where
    a line stands.
    """
    flags_of = f.gold_flags(rules)
    seen: set[str] = set()
    problems: list[Problem] = []
    for item in items:
        where, qid = at(item.line), name_of(item.record)
        if wrong := wrong_id(qid, seen):
            problems.append(Problem(wrong.code, wrong.message, where, wrong.field))
        seen.add(qid)
        if not allow_errors and (wrong := wrong_reference(item.record)):
            problems.append(Problem(wrong.code, wrong.message, where, wrong.field))
        flags = 0 if allow_errors else flags_of(item.record)
        problems += [Problem(code, text, where, field) for mark, (code, field, text) in f.LINT.items() if flags & mark]
    return problems


def read_gold(source: Source, rules: f.Rules, *, allow_errors: bool, bind: Bind | None = None) -> list[Item]:
    """Every gold question in the order of the file, as it is scored; raises what is wrong with them."""
    items, problems = read_items(source, Gold)
    problems += problems_of(items, source.at, rules, allow_errors=allow_errors)
    if problems:
        raise DataError(problems)
    if not items:
        raise data_error("RW-G05", "expected gold records, got none", where=source.given)
    return [item._replace(record=resolved(item.record, bind)) for item in items]
