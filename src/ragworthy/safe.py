"""Text from data, made safe for what it is written into: a terminal, Markdown, a table file, XML, JSON.

Whatever a gold set, a trace or a file name holds stays text there: it cannot steer a terminal or a CI system that reads
its log, forge a heading, a link or a mention, become a formula, or break a file's structure.
"""

import codecs
import re
import sys
from collections.abc import Callable, Collection, Iterable
from typing import Any

from ragworthy.text import compiled, squeeze, visible

# a terminal, and the log of a CI system

_COMMAND = r"#(?=#\w*\[)|^(?P<indent> *):(?=:)"
"""What CI systems take for commands: `::error::` at the start of a line (GitHub), `##[error]` (GitHub), `##vso[…]`
(Azure) and `##teamcity[…]` anywhere in it."""


def terminal(text: str) -> str:
    r"""A line for a terminal or a log: nothing in it steers a terminal or a CI system.

    >>> terminal("a\x1b[31mb\n"), terminal("::error::x")
    ('a\\x1b[31mb\\n', '\\x3a:error::x')
    """
    return uncommanded(visible(text))


def uncommanded(line: str) -> str:
    r"""A line of which a CI system does not take any part for a command.

    >>> uncommanded("see ##vso[task.complete]"), uncommanded("## [1]")
    ('see \\x23#vso[task.complete]', '## [1]')
    """
    if "##" not in line and "::" not in line:
        return line

    def shown(found: re.Match[str]) -> str:
        return r"\x23" if found["indent"] is None else rf"{found['indent']}\x3a"

    return compiled(_COMMAND).sub(shown, line)


_SPELLINGS = """
    ≥ >= ≤ <= ≠ != ≈ ~ ± +- × x − - … ... · . → -> ← <- – - — - ─ - │ | ✓ ok ✗ x ⟦ [[ ⟧ ]] ‘ ' ’ ' “ " ” "
    λ lambda Δ delta κ kappa α alpha ρ rho τ tau σ sigma μ mu
    """
_PAIRS = _SPELLINGS.split()
_SPELLED = str.maketrans(dict(zip(_PAIRS[::2], _PAIRS[1::2], strict=True)) | {"\u00a0": " ", "\u202f": " "})
"""How signs of ours are written where there is only ASCII; all others become escapes."""
SPELLED = "ragworthy.spelled"
"""The name of what to do with signs that a stream cannot take."""


def _unencodable(error: UnicodeError) -> tuple[str, int]:
    if not isinstance(error, UnicodeEncodeError):
        raise error
    signs = error.object[error.start : error.end].translate(_SPELLED)
    return signs.encode("ascii", "backslashreplace").decode(), error.end


codecs.register_error(SPELLED, _unencodable)


def spelled(text: str, encoding: str) -> str:
    r"""A text in the signs of an encoding: ours are spelled, others escaped.

    >>> spelled("chr ≥ 0.75 … 人", "ascii"), spelled("1 × 2 ≤ 人", "latin-1")
    ('chr >= 0.75 ... \\u4eba', '1 × 2 <= \\u4eba')
    """
    return text if text.isascii() else text.encode(encoding, SPELLED).decode(encoding)


def shell(words: Iterable[str]) -> str:
    r"""Words as a shell takes them, on one line that steers no terminal; what cannot be typed is escaped as Bash does.

    >>> print(shell(["show", "q 1", "q\x9b'2"]))
    show 'q 1' $'q\u009b\'2'
    """
    import shlex

    return " ".join(shlex.quote(word) if word.isprintable() else f"$'{''.join(map(_typed, word))}'" for word in words)


def _typed(sign: str) -> str:
    if sign.isprintable():
        return f"\\{sign}" if sign in "\\'" else sign
    code = ord(sign)
    return rf"\x{code:02x}" if code < 0x80 else rf"\u{code:04x}" if code < 0x10000 else rf"\U{code:08x}"


# Markdown


class Markdown(str):
    """Text that is Markdown already: what puts lines together leaves it as it is and escapes everything else."""

    __slots__ = ()


_SPECIAL = r"""
    [\\*\[\]{}\#@$~^]                  # emphasis, links, footnotes, mentions, issues, math, labels
    | (?<![^\W_])_ | _(?![^\W_])       # emphasis: inside a word an underscore is just that
    | // | (?i:www\.)                  # addresses
    | [^\W_]\.[^\W\d_]{2}              # host names, which some viewers link, and with them file names and metric ids
    | :\S*: | :[\w+-]+(?!\S)           # emoji, with a colon of ours behind it too
    | &\S | !\w | %[\w"] | == | \+\+   # entities, GitLab's epics, merge requests and milestones, marks
    | (?<![^\W_])(?:[0-9a-fA-F]{7,}(?![^\W_]) | (?i:gh|gl|ghsa|cve)-\w)  # commits, issues, advisories
    """
"""A word with any of this is shown as code. GitHub and GitLab look for mentions, references and addresses in the text
that is left when backslashes and entities are gone, so neither `\\@name` nor `&#64;name` helps; in code they do not
look (github/markup#1168, github/cmark-gfm#181). The word itself stays as it is, and can be searched for."""
_OPENING = r"[-+=]+|\d{1,9}[.)]|/\w\S*"
"""A first word that starts a list, a line or one of GitLab's quick actions."""
_BEFORE, _AFTER = "(\"'", ".,;:!?)\"'"
"""The punctuation of a sentence around a word."""
_APART = r"([|`<>]+|#(?=#\w*\[))"
"""Signs that are not left to a code span: a pipe ends a cell inside it too, and a backtick ends the span."""
_SIGNS = str.maketrans({"|": r"\|", "`": "&#96;", "<": "&lt;", ">": "&gt;", "#": "&#35;", "&": "&amp;"})


def markdown(text: str) -> Markdown:
    r"""Text on one line that is read as text wherever it is in Markdown; what is Markdown already stays.

    >>> print(markdown("ask @ann about p1#2 or <b>a|b</b>"))
    ask `@ann` about `p1#2` or &lt;b&gt;a\|b&lt;/b&gt;
    """
    if isinstance(text, Markdown):
        return text
    line = visible(squeeze(text))
    if not compiled(_SPECIAL, re.VERBOSE).search(line) and not compiled(_OPENING).match(line):
        return Markdown(line.translate(_SIGNS))
    words = enumerate(line.split(" "))
    return Markdown(_together(_marked(word, first=nth == 0) for nth, word in words))


def code(text: str) -> Markdown:
    """An id, a path or a name: always shown as code.

    >>> print(code("runs/a.jsonl:7"), code("a|b"))
    `runs/a.jsonl:7` `a`\\|`b`
    """
    return Markdown(_together(map(_code, visible(squeeze(text)).split(" "))))


def _marked(word: str, *, first: bool) -> str:
    """A word of a sentence, as code if it needs it, without the punctuation around it."""
    special = compiled(_SPECIAL, re.VERBOSE).search(word) or (first and compiled(_OPENING).fullmatch(word))
    if not special:
        return word.translate(_SIGNS)
    core = word.lstrip(_BEFORE).rstrip(_AFTER)
    if not core or "(" in core:
        return _code(word)
    before, after = word.split(core, 1)
    return f"{before}{_code(core)}{after}"


def _code(word: str) -> str:
    """A word as code, with the signs that no code can hold between the pieces."""
    pieces = compiled(_APART).split(word)  # every second piece is such a sign
    return "".join(piece.translate(_SIGNS) if nth % 2 else f"`{piece}`" for nth, piece in enumerate(pieces) if piece)


def _together(words: Iterable[str]) -> str:
    """Words as a line: code beside code becomes one span."""
    return " ".join(words).replace("` `", " ")


def fill(template: str, *texts: str) -> Markdown:
    """A line of Markdown with texts in its places, each escaped unless it is Markdown already.

    >>> print(fill("- **{}**: {}", "a*b", Markdown("*c*")))
    - **`a*b`**: *c*
    """
    return Markdown(template.format(*map(markdown, texts)))


def row(cells: Iterable[str]) -> Markdown:
    """A row of a Markdown table.

    >>> print(row(("a|b", "1")))
    | a\\|b | 1 |
    """
    return Markdown("| " + " | ".join(map(markdown, cells)) + " |")


# workflow commands of GitHub Actions

_WORKFLOW = str.maketrans({"%": "%25", "\r": "%0D", "\n": "%0A"})
_WORKFLOW_VALUE = {**_WORKFLOW, **str.maketrans({":": "%3A", ",": "%2C"})}


def workflow_text(text: str) -> str:
    r"""The message of a workflow command, which the runner unescapes.

    >>> print(workflow_text("50 %\x1b"))
    50 %25\x1b
    """
    return terminal(text).translate(_WORKFLOW)


def workflow_value(text: str) -> str:
    """A property of a workflow command, which ends at a comma or at two colons.

    >>> workflow_value("a,b::c")
    'a%2Cb%3A%3Ac'
    """
    return terminal(text).translate(_WORKFLOW_VALUE)


# SARIF


def unlinked(text: str) -> str:
    r"""A message of a SARIF file, in which `[text](place)` would be a link.

    >>> print(unlinked("see [x](http://e.org)"))
    see [x] (http://e.org)
    """
    return visible(text).replace("](", "] (")


# table files

_FORMULA = tuple("=+-@'\"＝＋－＠")
"""What makes a spreadsheet calculate or a reader look for the end of a quotation; and the sign that prevents it."""


def field(text: str) -> str:
    r"""A field of a table file: on one line, no formula, and different for different texts.

    Backslashes are doubled and control characters escaped as Python does it. A field that a spreadsheet would calculate
    has an apostrophe before it, and so has one with an apostrophe of its own.

    >>> print(field("=1+1"), field("a\tb"), field("'x"), field("-"))
    '=1+1 a\tb ''x '-
    """
    shown = visible(text.replace("\\", r"\\"))
    return f"'{shown}" if shown.lstrip(" ").startswith(_FORMULA) else shown


def tsv(rows: Iterable[Iterable[str]]) -> str:
    """Rows as a table with tabs between the fields."""
    return "".join("\t".join(map(field, cells)) + "\n" for cells in rows)


# XML

_XML = str.maketrans({"&": "&amp;", "<": "&lt;", ">": "&gt;", '"': "&quot;"})
_XML_COMMAND = {"#": "&#35;", ":": "&#58;"}


def xml(text: str) -> str:
    r"""Text on one line of an element, or of an attribute in double quotes.

    >>> print(xml('a<"b">]]>\x00'))
    a&lt;&quot;b&quot;&gt;]]&gt;\x00
    """
    shown = visible(text).translate(_XML)
    return compiled(_COMMAND).sub(lambda found: found[0][:-1] + _XML_COMMAND[found[0][-1]], shown)


# JSON

_STEERING = r"[\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069\ufeff\ud800-\udfff]|#(?=#\w*\[)"
"""Controls, directions, ends of lines, halves of characters; and commands of CI systems."""


def json_text(value: Any, *, nan: bool = False) -> str:
    r"""A value as JSON for people and files, with escapes for what could steer a terminal or end a line.

    >>> print(json_text(["é \x9b \x1b"]), end="")
    [
      "é \u009b \u001b"
    ]
    """
    from json import JSONEncoder

    plain = JSONEncoder(ensure_ascii=False, allow_nan=nan).encode
    flat: dict[str, Callable[[Any], str]] = {}
    pieces: list[str] = []

    def write(one: Any, line: str) -> None:
        """The lines that `json.dumps` writes with an indentation: a step of Python for every word of a list. Lists and
        objects of plain words are written at once here, with the end of a line as what stands between them.
        """
        if not one or not isinstance(one, (dict, list, tuple)):
            pieces.append(_unsteered(plain(one)))
            return
        inner, named = f"{line}  ", isinstance(one, dict)
        values: Collection[Any] = one.values() if isinstance(one, dict) else one
        pieces.append(f"{'{' if named else '['}{inner}")
        if not any(issubclass(kind, (dict, list, tuple)) for kind in set(map(type, values))):
            if inner not in flat:
                flat[inner] = JSONEncoder(ensure_ascii=False, allow_nan=nan, separators=(f",{inner}", ": ")).encode
            pieces.append(_unsteered(flat[inner](one)[1:-1]))
        else:
            for nth, (key, value) in enumerate(zip(one, values, strict=True)):
                pieces.append(f",{inner}" if nth else "")
                if named:
                    pieces.append(_unsteered(plain(key) if isinstance(key, str) else plain({key: 0})[1:-4]) + ": ")
                write(value, inner)
        pieces.append(f"{line}{'}' if named else ']'}")

    write(value, "\n")
    return "".join([*pieces, "\n"])


def _unsteered(text: str) -> str:
    """JSON without what could steer a terminal."""
    if text.isascii() and "#" not in text and "\x7f" not in text:  # as mostly, and looked at many times as fast
        return text
    return compiled(_STEERING).sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def tell(line: str) -> None:
    """A line for the person at the terminal, from where no command prints."""
    sys.stderr.write(f"{terminal(line)}\n")
