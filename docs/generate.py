"""Write the pages that the code already knows: metrics, codes, commands, policy keys, schemas, the picture.

`make docs` runs it. With `--check` it writes nothing and exits 1, naming the files that are stale.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import sources

from ragworthy import starter
from ragworthy.cli.arguments import EPILOG, parser
from ragworthy.cli.explain import formats, schema
from ragworthy.codes import CATALOGUE
from ragworthy.metrics.aliases import ALIASES
from ragworthy.metrics.fold import percent_of
from ragworthy.metrics.kinds import KINDS
from ragworthy.metrics.registry import Metric, all_metrics
from ragworthy.policy.packs import load_pack, pack_names, rules_of
from ragworthy.policy.sections import every_key
from ragworthy.suites import SUITES

ROOT = Path(__file__).resolve().parents[1]
WIDTH = 100
MADE = "<!-- Written by docs/generate.py from the code; change the code and run `make docs`. -->"


# docs/metrics.md

WORDS = {
    "rate": "the share of its cases for which the event holds",
    "count": "the number of them",
    "mean": "over one number per question, in retrieval itself the mean over the question's runs; κ and the variance "
    "of "
    "operators are numbers of all items at once",
    "share": "parts added up, over wholes added up, over all questions",
    "percentiles": "percentiles of one number per question, for times per run; linear between neighbours",
    "tail": "p99 over median",
    "sum": "all numbers added up",
    "ratio": "a sum for each case of another kind",
    "spread": "standard deviation over mean",
}
"""How the words of questions or runs become one number, by the kind of the metric."""


def metrics_page() -> str:
    """Every metric, from what stands above its function."""
    found = all_metrics().values()
    lines = [
        MADE,
        "# Metrics",
        "",
        "Every metric of every suite. A metric's id is its address: `answers.precision` is the function",
        "`precision` in `metrics/answers.py`. `ragworthy explain METRIC` prints the same with the line it stands on.",
        "",
        "*Shipped* means: there is a trace, and it does not refuse. A number without cases is undefined, never 0 and",
        "never 1. How many words become one number:",
        "",
        *[f"- **{_kinds() if kind == 'percentiles' else kind}**: {words}" for kind, words in WORDS.items()],
        "",
        "The suite `latency` also reports some metrics of `answers`, over its own runs: [latency.md](latency.md).",
        "",
        "A metric is found by its id, by the id without the suite, by its short names, and by the names that the",
        "sources give it, in any case: `CHR`, `P@5`, `ΔS_med`. That goes for gates, waivers, `explain`, trends and",
        "`result.metrics`. A name that several metrics have is an error that names them: `CHR@5` may be the rate or "
        "its",
        "upper bound (`chr_ub@5`). Write the whole id then.",
        "",
        "The last metrics of `structured` are those of the fields of the bundled definition. A definition of your own",
        "has one for each of its fields instead: [structured.md](structured.md#write-a-definition-of-your-own).",
        "",
        "| Metric | Better | Definition |",
        "|---|---|---|",
        *[f"| [`{_full(one)}`](#{_anchor(_full(one))}) | {one.better} | {one.definition} |" for one in found],
    ]
    for one in found:
        lines += ["", *_metric(one)]
    return "\n".join(lines) + "\n"


def _kinds() -> str:
    """The percentiles that metrics are, from the lowest."""
    there = {percent: one.kind for one in all_metrics().values() if (percent := percent_of(one.kind)) is not None}
    return ", ".join(there[percent] for percent in sorted(there))


def _full(metric: Metric) -> str:
    return f"{metric.id}@k" if metric.at_k else metric.id


def _anchor(heading: str) -> str:
    """The anchor that code hosts give to a heading."""
    return "".join(ch for ch in heading.lower().replace(" ", "-") if ch.isalnum() or ch in "-_")


def _metric(metric: Metric) -> list[str]:
    short = ", ".join(f"`{name}{'@k' if metric.at_k else ''}`" for name in metric.short)
    named = ", ".join(f"`{name}{'@k' if metric.at_k else ''}`" for name in ALIASES.get(metric.id, ()))
    return [
        f"## {_full(metric)}",
        "",
        metric.definition,
        "",
        f"- **Kind:** {metric.kind}; {metric.better} is better",
        f"- **Counts:** {metric.event}",
        f"- **Cases:** {metric.cases}",
        f"- **Undefined:** {metric.undefined}",
        f"- **Short names:** {short or 'none'}",
        *([f"- **In the sources:** {named}"] if named else []),
        f"- **Source:** {metric.source}",
        f"- **Place:** `{metric.place.rpartition(':')[0]}`",
    ]


# docs/packs.md


def _sentence(text: str) -> str:
    """A text that begins a sentence: a Greek letter is a symbol, and stays as it is."""
    return text[0].upper() + text[1:] if text[0].isascii() else text


def packs_page() -> str:
    """Every gate pack, from its file."""
    order = list(SUITES)
    packs = sorted(map(load_pack, pack_names()), key=lambda one: (len(one.suites) > 1, order.index(one.suites[0])))
    lines = [
        MADE,
        "# Gate packs",
        "",
        'Sets of thresholds under a name: `packs = ["canary"]` in a policy, `--pack canary` on the command line,',
        '`packs=["canary"]` in Python. How they go together with other gates: [policy.md](policy.md#gate-packs).',
        "",
        "`max_drop` and `max_worse` compare with live or the baseline: in points, and as a share.",
        "`@*` is a gate at every k of the run: those of `--k`, and those that other gates name.",
        "An optional gate may be unmeasured.",
        "Limits on indexes and redirects are those of `index check` and `index migrate`,",
        "and those on gold sets of `gold lint`: they need no gate.",
    ]
    for one in packs:
        lines += ["", f"## {one.name}", "", f"{_sentence(one.title)}.", ""]
        lines += [f"- **Suites:** {', '.join(one.suites)}", f"- **Source:** {one.source}"]
        lines += [f"- **Includes:** {', '.join(f'[{name}](#{name})' for name in one.includes)}"] if one.includes else []
        if one.setting:
            limits = ", ".join(SUITES[one.suites[0]].settings._field_defaults[one.setting])
            lines.append(f"- **Of each question** (`{one.setting}`): {limits}")
        if one.proven:
            lines.append("- **Proven:** a loss that is proven fails, however small (`min_effect = 0`)")
        lines += [
            "- **Gates:**",
            *(f"  - `{name}` {rule}" for name, _, rule in (r.partition(" ") for r in rules_of(one))),
        ]
    return "\n".join(lines) + "\n"


# docs/codes.md

GROUPS = {
    "F": "Files",
    "G": "Gold",
    "Q": "Questions with structured answers",
    "T": "Traces and runs",
    "V": "Votes",
    "E": "TREC files",
    "A": "Import",
    "D": "Documents",
    "I": "Indexes",
    "M": "Redirects",
    "C": "Chunks",
    "K": "Rule packs and prices",
    "B": "Baseline",
    "L": "Lock",
    "R": "Receipts",
    "H": "History",
    "N": "The built-in pipeline",
    "J": "Journals of runs",
    "P": "Policy and gates",
    "O": "Live traffic",
    "U": "Usage",
    "Y": "Comparisons",
    "Z": "Rollouts and mirrors",
    "X": "A defect of ours",
    "W": "Warnings",
}


def codes_page() -> str:
    """Every error and warning code."""
    lines = [
        MADE,
        "# Errors and fixes",
        "",
        "An error says where, what was expected, what was found, and its code; the next line says what to do:",
        "",
        "```text",
        "gold.jsonl:17: gold_citations[2]: expected a string, got 4 [RW-G03]",
        f"  {CATALOGUE['RW-G03'].name}: {CATALOGUE['RW-G03'].do}",
        "```",
        "",
        "A code keeps its meaning for ever. Errors end with exit code 2: nothing was scored. Up to 20 problems are",
        "shown at once. Warnings stand in the report and change no exit code. `ragworthy explain CODE` prints a line",
        "of this page.",
    ]
    letters = list(dict.fromkeys(code[3] for code in CATALOGUE))
    for letter in letters:
        lines += ["", f"## {GROUPS[letter]}", "", "| Code | Name | Meaning | What to do |", "|---|---|---|---|"]
        for code, entry in CATALOGUE.items():
            if code[3] == letter:
                lines.append(f"| {code} | `{entry.name}` | {_cell(entry.means)} | {_cell(entry.do)} |")
    return "\n".join(lines) + "\n"


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("<", "&lt;")


# docs/cli.md


def cli_page() -> str:
    """The help of every command.

    The layout is made here and not by argparse, which lays help out differently from one Python to the next.
    """
    top = parser()
    lines = [
        MADE,
        "# Commands",
        "",
        "What `--help` says, command by command. `python -m ragworthy` is the same program.",
        "",
        f"E{EPILOG[1:]}. [verdicts.md](verdicts.md) explains them.",
        "",
        "| Command | What it does |",
        "|---|---|",
    ]
    known = list(commands(top))
    lines += [f"| [`{one.name}`](#{_anchor(one.name)}) | {one.about} |" for one in known[1:]]
    for command in known:
        lines += ["", f"## {command.name}", "", command.about, "", "```text", *_help(command), "```"]
    return "\n".join(lines) + "\n"


class Command(NamedTuple):
    """One command with its arguments."""

    name: str
    about: str
    arguments: list[argparse.Action]


def commands(one: argparse.ArgumentParser, name: str = "ragworthy") -> Iterator[Command]:
    """Every command that does something, in the order of the help."""
    groups = [action for action in one._actions if isinstance(action, argparse._SubParsersAction)]
    if not groups or name == "ragworthy":
        arguments = [action for action in one._actions if action not in groups]
        yield Command(name, one.description or "", arguments)
    for group in groups:
        for word, child in group.choices.items():
            yield from commands(child, f"{name} {word}")


def _help(command: Command) -> list[str]:
    """Usage, then arguments and options in two columns."""
    shown = [action for action in command.arguments if action.help != argparse.SUPPRESS]
    usage = [command.name]
    if command.name == "ragworthy":
        usage.append("COMMAND …")
    if any(action.option_strings and not action.required for action in shown):
        usage.insert(1, "[options]")
    usage += [f"{action.option_strings[-1]} {_value(action)}" for action in shown if _needed_option(action)]
    usage += [_positional(action) for action in shown if not action.option_strings]
    lines = textwrap.wrap(f"usage: {' '.join(usage)}", WIDTH, subsequent_indent="       ")
    rows = [(_name(action), _about(action)) for action in shown]
    column = min(34, max((len(name) for name, _ in rows), default=0) + 4)
    lines.append("")
    for name, about in rows:
        wrapped = textwrap.wrap(about, WIDTH - column) or [""]
        head = f"  {name}"
        if len(head) + 2 > column:
            lines.append(head)
            head = ""
        lines += [f"{head:<{column}}{wrapped[0]}".rstrip(), *[" " * column + more for more in wrapped[1:]]]
    return lines


def _needed_option(action: argparse.Action) -> bool:
    return bool(action.option_strings) and action.required


def _value(action: argparse.Action) -> str:
    if action.nargs == 0:
        return ""
    if action.choices is not None:
        return "|".join(str(choice) for choice in action.choices)
    name = action.metavar if isinstance(action.metavar, str) else action.dest.upper()
    return f"{name} …" if action.nargs == "+" else name


def _positional(action: argparse.Action) -> str:
    return {"?": f"[{_value(action)}]", "*": f"[{_value(action)} …]"}.get(str(action.nargs), _value(action))


def _name(action: argparse.Action) -> str:
    if not action.option_strings:
        return _value(action)
    return f"{', '.join(action.option_strings)} {_value(action)}".rstrip()


def _about(action: argparse.Action) -> str:
    about = " ".join((action.help or "").split()).replace("%%", "%")
    return f"{about} (required)" if _needed_option(action) else about


# docs/policy-keys.md


def keys_page() -> str:
    """Every key of the policy."""
    lines = [
        MADE,
        "# Policy keys",
        "",
        "Every key that `ragworthy.toml` takes, or `[tool.ragworthy]` in `pyproject.toml`, and every key of a",
        "definition of structured answers. Any other key is an error. [policy.md](policy.md) and",
        "[structured.md](structured.md) show how to use them.",
    ]
    titles = {"": "Top level", "gate": "[[gate]]", "waiver": "[[waiver]]"}
    titles |= {"definition": "Definition: top level", "field": "Definition: [[field]]"}
    for section, keys in every_key(SUITES).items():
        kind = section.removeprefix("field.")
        title = f"Definition: fields of kind {kind}" if kind in KINDS else titles.get(section, f"[{section}]")
        lines += ["", f"## {title}", ""]
        if kind in KINDS:
            lines += [(KINDS[kind].__doc__ or "").partition("\n")[0], ""]
        if keys:
            lines += ["| Key | Meaning |", "|---|---|", *[f"| `{key}` | {_cell(keys[key])} |" for key in keys]]
        else:
            lines.append("No further key.")
    return "\n".join(lines) + "\n"


# schemas/*.json


def schema_file(name: str) -> str:
    """The JSON Schema of one file format."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


# docs/picture.svg

COLUMNS = 88
CHARACTER, LINE, MARGIN, BAR = 7.25, 17, 16, 30
TONES = {"NO-SHIP": "bad", "✗": "bad", "✓": "good"}
STYLE = """
  .page { fill: #ffffff; stroke: #d0d7de; }
  .bar { fill: #f3f5f7; }
  text { font: 12px ui-monospace, SFMono-Regular, Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f; }
  .good { fill: #1a7f37; font-weight: 600; }
  .bad { fill: #c9252d; font-weight: 600; }
  .dim { fill: #6e7781; }
  @media (prefers-color-scheme: dark) {
    .page { fill: #0d1117; stroke: #30363d; }
    .bar { fill: #161b22; }
    text { fill: #e6edf3; }
    .good { fill: #3fb950; }
    .bad { fill: #ff7b72; }
    .dim { fill: #8b949e; }
  }
"""


def picture() -> str:
    """What `ragworthy gate` prints about the example that README.md breaks, as a drawing of a terminal."""
    lines = ["$ ragworthy gate", *_gated()]
    width = round(COLUMNS * CHARACTER + 2 * MARGIN)
    height = BAR + LINE * len(lines) + 2 * MARGIN - 6
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="ragworthy gate: the verdict on a run that cites what it never retrieved">',
        f"<style>{STYLE}</style>",
        f'<rect class="page" x="0.5" y="0.5" width="{width - 1}" height="{height - 1}" rx="8"/>',
        f'<rect class="bar" x="1" y="1" width="{width - 2}" height="{BAR - 6}" rx="7"/>',
        *[f'<circle class="dim" cx="{MARGIN + 16 * i}" cy="13" r="4.5" fill="#8b949e"/>' for i in range(3)],
    ]
    for number, line in enumerate(lines):
        if line:
            drawn.append(_text(line, BAR + MARGIN + LINE * number))
    return "\n".join([*drawn, "</svg>", ""])


def _text(line: str, y: int) -> str:
    """One line, piece by piece; each has a fixed place and length, so that columns stay columns in every font."""
    dim = line.startswith("$")
    drawn = []
    word = rf"(?<!\S)(?:{'|'.join(TONES)})(?!\w)"
    for found in re.finditer(rf"{word}|\S+(?: \S+)*?(?= {word}|  |$)|\S+", line):
        piece = found.group()
        tone = "dim" if dim else TONES.get(piece)
        shown = f' class="{tone}"' if tone else ""
        drawn.append(
            f'<text{shown} x="{MARGIN + found.start() * CHARACTER:.2f}" y="{y}" '
            f'textLength="{len(piece) * CHARACTER:.2f}" lengthAdjust="spacingAndGlyphs">{escape(piece)}</text>'
        )
    return "\n".join(drawn)


def _gated() -> list[str]:
    """The lines of the real command."""
    environment = {**os.environ, "PYTHONUTF8": "1", "NO_COLOR": "1", "COLUMNS": str(COLUMNS), "RAGWORTHY_STORE": "off"}
    environment.pop("GITHUB_STEP_SUMMARY", None)
    with tempfile.TemporaryDirectory() as folder:
        traces = starter.init(Path(folder)).traces[0]
        broken = traces.read_text(encoding="utf-8").replace('"citations": ["buckets#', '"citations": ["bucket-')
        traces.write_text(broken, encoding="utf-8")
        command = [sys.executable, "-m", "ragworthy", "gate"]
        done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", check=False)
    return done.stdout.splitlines()


# writing and checking


def pages() -> dict[str, Callable[[], str]]:
    """Every generated file by its path from the root."""
    made: dict[str, Callable[[], str]] = {
        "docs/metrics.md": metrics_page,
        "docs/packs.md": packs_page,
        "docs/codes.md": codes_page,
        "docs/cli.md": cli_page,
        "docs/policy-keys.md": keys_page,
        "docs/sources.md": sources.page,
        "docs/picture.svg": picture,
    }
    for name in formats():
        made[f"schemas/{name}.json"] = partial(schema_file, name)
    return made


def stale() -> dict[str, str]:
    """The files that are not what they should be, with what they should be."""
    found = {}
    for name, make in pages().items():
        path, text = ROOT / name, make()
        if not path.is_file() or path.read_text(encoding="utf-8") != text:
            found[name] = text
    return found


def main() -> int:
    """Write what is stale, or with --check only name it."""
    options = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    options.add_argument("--check", action="store_true", help="write nothing; exit 1 when a file is stale")
    check = options.parse_args().check
    found = stale()
    for name, text in found.items():
        if check:
            print(f"stale: {name}")
        else:
            (ROOT / name).parent.mkdir(parents=True, exist_ok=True)
            (ROOT / name).write_text(text, encoding="utf-8")
            print(f"wrote {name}")
    if check and found:
        print("run: make docs")
    return int(check and bool(found))


if __name__ == "__main__":
    sys.exit(main())
