"""What a reference says that can be checked word by word: numbers, dates, quantities, names, terms, identifiers.

A detail is a set of keys, any of which will do: `5 %` is the quantity, or the bare number in an answer that names no
unit. A claim is the set of all keys that it states. Everything is compared by value or in one spelling.
"""

import re
from collections.abc import Iterable, Iterator
from fractions import Fraction
from typing import NamedTuple

from ragworthy.metrics.facts.languages import FUNCTION_WORDS, groups_by_dots, is_german, normal, without_unspaced
from ragworthy.metrics.facts.quantities import Dated, Key, Number, dates, measured, numbers, times, with_one
from ragworthy.metrics.facts.spelled import spelled_out
from ragworthy.text import compiled, has_cjk, squeeze

LONGEST = 20_000
"""So many characters of a text are looked at."""
LONGEST_TERM = 80
MOST_WORDS = 5
"""A longer quotation is not a term, but text like any other."""
_QUOTED = (
    rf'"([^"\n]{{1,{LONGEST_TERM}}})"|“([^”\n]{{1,{LONGEST_TERM}}})”|„([^“”\n]{{1,{LONGEST_TERM}}})[“”]'
    rf"|«([^»\n]{{1,{LONGEST_TERM}}})»|`([^`\n]{{1,{LONGEST_TERM}}})`|「([^」\n]{{1,{LONGEST_TERM}}})」"
    rf"|『([^』\n]{{1,{LONGEST_TERM}}})』|《([^》\n]{{1,{LONGEST_TERM}}})》"
)
_ENDINGS = (
    "c|cfg|conf|cpp|csv|css|db|doc|docx|exe|gz|go|h|html|ini|ipynb|java|js|json|jsonl|jpg|log|md|parquet|pdf|png|py|rb"
    "|rs|rst|sh|sql|svg|tar|toml|ts|tsv|txt|xls|xlsx|xml|yaml|yml|zip|zst"
)
_IDENTIFIER = (
    r"https?://[^\s<>()\"，。；、]{1,200}"
    r"|[\w.+-]{1,60}@[\w-]{1,60}\.[\w.-]{2,60}"
    r"|(?<![A-Za-z0-9_-])--[A-Za-z][\w-]{1,60}"
    r"|(?<![A-Za-z0-9_-])-[A-Za-z](?![A-Za-z0-9_-])"
    rf"|(?<![A-Za-z0-9_./-])[\w./-]{{0,100}}\w\.(?:{_ENDINGS})(?![\w.]?\w)"
    r"|(?<![A-Za-z0-9_./])(?:~|\.{1,2})?/[\w.-]{1,60}(?:/[\w.-]{1,60})+"
    r"|(?<![A-Za-z0-9_])[A-Za-z]\w{0,60}(?:\.\w{1,60}){0,5}\(\)"
    r"|(?<![A-Za-z0-9_])(?=[A-Za-z0-9]{0,60}_)[A-Za-z0-9_]{3,80}(?![A-Za-z0-9_])"
    r"|(?<![A-Za-z0-9_.])(?!\d{1,3}(?:\.\d{3})+(?![\d.]\d)|\d{1,2}\.\d{1,2}\.[12]\d{3}(?![\d.]\d))"
    r"v?\d{1,9}(?:\.\d{1,9}){2,}(?:[-+][\w.]{1,30})?(?![A-Za-z0-9_])"
    r"|(?<![A-Za-z0-9_])v\d{1,9}(?:\.\d{1,9})?(?![A-Za-z0-9_])"
    r"|(?<![A-Za-z0-9_-])(?=[A-Za-z-]{0,20}[A-Z])[A-Za-z]{1,20}(?:-[A-Za-z]{1,20})?-?\d{1,12}[A-Za-z0-9]{0,20}(?:-[A-Za-z0-9]{1,20})*"
    r"(?![A-Za-z0-9_-])"
    r"|(?<![A-Za-z0-9_])(?![ckm]?m[23])[a-z]{1,20}\d{1,12}[A-Za-z]?(?![A-Za-z0-9_])"
    r"|(?<!\d)\d{16,100}(?!\d)"
)
_NUMBERED = (
    r"(?:(?i:\b(?:versions?|ver|release|v)\b\.?)\ ?|(?:版本|版)\ ?"
    r"|\b(?!(?:USD|EUR|GBP|CHF|CNY|RMB|JPY|INR|About|Roughly|Only|Over|Nearly|Some|Around|Approximately|Exactly|Almost"
    r"|Under|Between|Up|Just|At|Etwa|Rund|Knapp|Circa|Ca|Nur|Fast|Bis|Am|Vom|Mit|Bei|Von|Zu|Im|Um|Es|Der|Die|Das)\b)"
    r"[A-Z][\w+#]*\ )(?P<nr>\d{1,4}\.(?!\d{3}(?!\d))\d{1,9})(?![\w%])(?!\.\d)"
)
"""A number right behind a name or `version` is an identifier: Python 3.10 is not Python 3.1."""
_ARTICLE = (
    r"(?:\b(?:der|die|das|den|dem|des|eine?[nmrs]?|keine?[nmrs]?)"
    r"|(?:^|[.!?:;]\s)(?:D(?:er|ie|as|en|em|es)|Eine?|Keine?))\s+$"
)
_WORD = r"[^\W\d_]+(?:['’][^\W\d_]+)*"
_INITIALS = r"(?<![\w.])(?:[A-Z]\.){2,}"
_STARTS = r"(?:^|[.!?:;。！？：…\n•*|>]|\s[-–—])[\s\"'“”„«(\[*_#>-]*$"
_SHORTENED = r"(?:\b(?:Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|No|Nr|Fig|Mt|[A-Z])|\be\.g|\bi\.e|\bz\.B|\bca|\betc)\.\s$"


class Details(NamedTuple):
    """The details of a reference, each as the keys that state it; and its values by unit."""

    wanted: tuple[frozenset[Key], ...]
    slots: dict[str, frozenset[Key]]
    """For each unit, the values that the reference has in it."""


class Stated(NamedTuple):
    """What a claim states."""

    keys: frozenset[Key]
    slots: dict[str, frozenset[Key]]
    text: str
    """The claim in one spelling, for terms and identifiers."""


def details_of(reference: str) -> Details:
    """The details of a reference, each once.

    >>> found = details_of("On 3 May 2021 the EU raised the fee to 5 % for Acme's --fast mode.")
    >>> sorted(str(sorted(keys, key=str)[0][:3]) for keys in found.wanted)
    ["('date', 2021, 5)", "('is', Fraction(5, 1))", "('text', '--fast')", "('word', 'acme')", "('word', 'eu')"]
    """
    text, literals = _literals(normal(reference[:LONGEST]))
    found, german = _found(with_one(spelled_out(text, loose=False))), is_german(text)
    wanted: dict[frozenset[Key], None] = dict.fromkeys(frozenset({("text", one)}) for one in literals)
    wanted |= dict.fromkeys(frozenset(("date", *date) for date in one.readings) for one in found.dates)
    wanted |= dict.fromkeys(frozenset({("time", one)}) for one in found.times)
    wanted |= dict.fromkeys(map(_number_keys, found.numbers))
    wanted |= dict.fromkeys(frozenset({("word", name)}) for name in _names(found.rest, german=german))
    return Details(tuple(wanted), _slots(found))


def _number_keys(one: Number) -> frozenset[Key]:
    if one.unit is None:
        return frozenset(("number", value) for value in one.values)
    full: Iterable[Key] = ((one.unit.dimension, value * one.unit.factor) for value in one.values)
    return frozenset((*full, *(("is", value) for value in one.values)))


def stated_by(claim: str) -> Stated:
    """Everything that a claim states: read as a reference is, and once more with all that may be a number."""
    text = normal(claim[:LONGEST])
    masked, literals = _literals(text)
    as_reference, freely = with_one(spelled_out(masked, loose=False)), spelled_out(text, loose=True)
    strict = _found(as_reference)
    loose = strict if freely == as_reference else _found(freely)
    words = (("word", word) for word in (*_words(text), *_names(strict.rest, german=is_german(masked))))
    keys = frozenset((*_keys(strict), *_keys(loose), *words, *(("text", one) for one in literals)))
    slots, more = _slots(strict), _slots(loose)
    both = {name: slots.get(name, frozenset()) | more.get(name, frozenset()) for name in slots | more}
    return Stated(keys, both, f" {squeeze(text).lower()} ")


def _keys(found: "_Found") -> Iterator[Key]:
    for dated in found.dates:
        for year, month, day in dated.readings:
            yield from ((("date", year, month, day)), ("date", year, month, 0), ("date", 0, month, day))
            yield from (("date", 0, month, 0), ("date", year, 0, 0), ("number", Fraction(year)))
    for minutes in found.times:
        yield ("time", minutes)
    for one in found.numbers:
        for value in one.values:
            yield ("number", value)
            yield ("is", value) if one.unit is None else (one.unit.dimension, value * one.unit.factor)
            if one.year:
                yield ("date", int(value), 0, 0)


def stated(details: Details, claim: Stated) -> int:
    """How many of the details a claim states."""
    return sum(any(key in claim.keys or _says(claim.text, key) for key in keys) for keys in details.wanted)


def _says(text: str, key: Key) -> bool:
    """Whether a text holds a term or an identifier, not inside another word."""
    if key[0] != "text":
        return False
    term = str(key[1])
    start = text.find(term)
    while start >= 0:
        before, after = text[start - 1 : start], text[start + len(term) : start + len(term) + 1]
        if (not _joins(before, term[0])) and not _joins(after, term[-1]):
            return True
        start = text.find(term, start + 1)
    return False


def _joins(beside: str, edge: str) -> bool:
    """Whether a character beside a term makes it a part of a longer word; Chinese has no word borders."""
    return beside.isalnum() and edge.isalnum() and not has_cjk(beside + edge)


def contradicts(details: Details, claim: Stated) -> bool:
    """Whether a claim gives other values than the reference in a unit that both use, and none of the reference's.

    >>> contradicts(details_of("It is kept for 30 days."), stated_by("It is kept for 60 days."))
    True
    >>> contradicts(details_of("It is kept for 30 days."), stated_by("30 days, after 60 days of trial"))
    False
    """
    for unit, values in details.slots.items():
        given = claim.slots.get(unit)
        if given and not given & values and not any(value in claim.keys for value in values):
            return True
    return False


# reading


class _Found(NamedTuple):
    dates: list[Dated]
    times: list[int]
    numbers: list[Number]
    rest: str
    """The text without dates, times and numbers."""


def _found(text: str) -> _Found:
    if compiled(r"\d").search(text) is None:
        return _Found([], [], [], text)
    dated, text = dates(text)
    clock, text = times(text) if compiled("[:点點时時]").search(text) else ([], text)
    dotted = compiled(r"\d\.\d{3}(?!\d)").search(text) is not None
    return _Found(dated, clock, *numbers(text, grouped=dotted and groups_by_dots(text)))


def _slots(found: _Found) -> dict[str, frozenset[Key]]:
    """The values by unit; full dates, and years, are units of their own."""
    slots: dict[str, set[Key]] = {}
    for one in found.numbers:
        if one.unit is not None:
            values = ((one.unit.dimension, abs(value) * one.unit.factor) for value in one.values)
            slots.setdefault(one.unit.name, set()).update(values)
        elif one.year:
            slots.setdefault("year of the calendar", set()).add(("date", int(one.values[0]), 0, 0))
    for dated in found.dates:
        for date in dated.readings:
            if all(date):
                slots.setdefault("date", set()).add(("date", *date))
            if date[0]:
                slots.setdefault("year of the calendar", set()).add(("date", date[0], 0, 0))
    return {name: frozenset(values) for name, values in slots.items()}


def _literals(text: str) -> tuple[str, list[str]]:
    """The text with spaces in place of quoted terms and identifiers, and these as they are compared."""
    found: dict[str, None] = {}

    def quoted(match: "re.Match[str]") -> str:
        term = squeeze(next(group for group in match.groups() if group is not None)).strip(".,;:!?。，").lower()
        if len(term.split()) > MOST_WORDS:
            return match[0]
        if term:
            found[term] = None
        return f" {'.' if match[0][-2:-1] in '.!?' else ' '} "

    def named(match: "re.Match[str]") -> str:
        whole = match[0].rstrip(".,;:!?")
        found[whole.lower()] = None
        return f" x{match[0][len(whole) :]} "

    def numbered(match: "re.Match[str]") -> str:
        found[match["nr"]] = None
        return f"{match[0][: match.start('nr') - match.start()]} x "

    text = compiled(_QUOTED).sub(quoted, text)
    text = compiled(_IDENTIFIER).sub(named, text)
    if compiled(r"\d\.\d").search(text):
        text = compiled(f"{_NUMBERED}(?!{measured()})").sub(numbered, text)
    return text, list(found)


def _words(text: str) -> Iterator[str]:
    """Every word as names are compared."""
    for word in compiled(_WORD).findall(without_unspaced(text)):
        yield _bare(word)
        yield word.lower()
    for initials in compiled(_INITIALS).findall(text):
        yield initials.replace(".", "").lower()


def _bare(word: str) -> str:
    """A word in lower case, without a genitive and apostrophes.

    >>> _bare("Acme's"), _bare("O’Brien")
    ('acme', 'obrien')
    """
    return compiled(r"['’]s$").sub("", word.lower()).replace("'", "").replace("’", "")


def _names(text: str, *, german: bool) -> Iterator[str]:
    """Words in capitals, words with a capital that start no sentence; in Chinese and Japanese every Latin word."""
    cjk = has_cjk(text)
    for initials in compiled(_INITIALS).findall(text):
        yield initials.replace(".", "").lower()
    for found in compiled(_WORD).finditer(without_unspaced(compiled(_INITIALS).sub("\0", text))):
        word = found[0]
        if len(word) < 2 or word.lower() in FUNCTION_WORDS or not _is_latin_or_cased(word):
            continue
        shouted = word.isupper() or compiled(r"[a-zß-ÿ][A-ZÀ-Þ]").search(word) is not None
        if (
            shouted
            or (cjk and word.isascii())
            or (word[0].isupper() and not german and not _no_name(found.string, found.start()))
        ):
            yield _bare(word)


def _is_latin_or_cased(word: str) -> bool:
    """Whether a word is of a script with capitals."""
    return word.lower() != word.upper() and not has_cjk(word)


def _no_name(text: str, place: int) -> bool:
    """Whether a capital says nothing: at the start of a sentence, and behind a German article."""
    nearest = text[max(0, place - 40) : place]
    if compiled(_ARTICLE).search(nearest):
        return True
    return compiled(_STARTS).search(nearest) is not None and compiled(_SHORTENED).search(nearest) is None
