"""Write docs/sources.md from docs/sources/*.toml: every line of the sources, what becomes of it, how to see it."""

import re
import tomllib
from pathlib import Path
from typing import Any

HOME = Path(__file__).resolve().parent / "sources"
MADE = "<!-- Written by docs/generate.py from docs/sources/*.toml; change those and run `make docs`. -->"
WORDS = {"works": "WORKS", "deviates": "DEVIATES"}
TOP = """
Ragworthy implements what its sources describe. This page has every line of them: the words of the source, what
Ragworthy does, and a command that shows it. Find a line by the heading it has in the source, or by searching for its
words.

- **WORKS**: as the source says. The block at the top of each section lays down the files; the command ends with the
  exit code and prints the words that are shown behind the arrow (blanks may be more).
- **DEVIATES**: done differently, with the reason, and what to use instead.

A test runs every command, and another compares every quotation with the source.
"""


def seeds() -> list[dict[str, Any]]:
    """The sources in the order of their numbers, the pages that they link to last."""
    return [tomllib.loads(path.read_text(encoding="utf-8")) for path in sorted(HOME.glob("*.toml"))]


def page() -> str:
    """The whole page."""
    found = seeds()
    lines = [MADE, "# The sources, line by line", TOP]
    lines += ["| Source | Lines | WORKS | DEVIATES |", "|---|---|---|---|"]
    total = dict.fromkeys(WORDS, 0)
    for seed in found:
        counts = count(seed)
        for status in WORDS:
            total[status] += counts[status]
        lines.append(f"| [{seed['title']}](#{anchor(_heading(seed))}): {seed['file']} | {_numbers(counts)} |")
    lines.append(f"| all | {_numbers(total)} |")
    for seed in found:
        lines += ["", *_seed(seed)]
    return "\n".join(lines) + "\n"


def rows(seed: dict[str, Any]) -> list[dict[str, Any]]:
    """The lines of a source, in order."""
    return [row for part in seed["part"] for row in part["row"]]


def count(seed: dict[str, Any]) -> dict[str, int]:
    """How many lines have each status."""
    found = [row.get("status", "works") for row in rows(seed)]
    return {status: found.count(status) for status in WORDS}


def anchor(heading: str) -> str:
    """The anchor that code hosts give to a heading."""
    return "".join(ch for ch in heading.lower().replace(" ", "-") if ch.isalnum() or ch in "-_")


def _numbers(counts: dict[str, int]) -> str:
    return " | ".join(str(number) for number in (sum(counts.values()), *counts.values()))


def _heading(seed: dict[str, Any], part: dict[str, Any] | None = None) -> str:
    """The heading of a source, or of one of its parts: with its name, so that no two are the same."""
    return f"{seed['name']}: {seed['title']}" if part is None else f"{seed['name']} {part['heading']}"


def _seed(seed: dict[str, Any]) -> list[str]:
    lines = [f"## {_heading(seed)}", "", seed["about"].strip(), ""]
    lines += [f"- [{part['heading']}](#{anchor(_heading(seed, part))})" for part in seed["part"]]
    if setup := seed.get("setup"):
        summary = "<summary>The files for the commands of this section: run this in an empty folder</summary>"
        lines += ["", "<details>", summary, "", "```sh", setup.strip(), "```", "", "</details>"]
    number = 0
    for part in seed["part"]:
        lines += [
            "",
            f"### {_heading(seed, part)}",
            "",
            "| # | The source says | Ragworthy | Try it |",
            "|---|---|---|---|",
        ]
        for row in part["row"]:
            number += 1
            lines.append(f"| {seed['name']}-{number:02d} | {cell(row['says'])} | {_does(row)} | {_try(row)} |")
    return lines


def _does(row: dict[str, Any]) -> str:
    told = " ".join(row[key].strip() for key in ("does", "why") if key in row)
    link = f" [{row['page'].partition('#')[0]}]({row['page']})" if "page" in row else ""
    return f"**{WORDS.get(row.get('status', 'works'), 'BUILDING')}** {cell(told)}{link}"


def _try(row: dict[str, Any]) -> str:
    if "run" not in row:
        return "–"
    shown = row.get("shows", [])
    told = ", ".join(_code(text) for text in ([shown] if isinstance(shown, str) else shown))
    return f"{_code(row['run'])} → exit {row.get('exit', 0)}{': ' if told else ''}{told}"


def cell(text: str) -> str:
    """Text in a table: bars are escaped, and so is what would begin a tag; in code a tag is shown as it is."""
    escaped = re.sub(r"`[^`]*`|<", lambda found: "&lt;" if found[0] == "<" else found[0], text)
    return " ".join(escaped.split()).replace("|", "\\|")


def _code(text: str) -> str:
    """A span of code in a table: a bar is escaped, and back quotes ask for two around it."""
    text = text.replace("|", "\\|")
    return f"`` {text} ``" if "`" in text else f"`{text}`"
