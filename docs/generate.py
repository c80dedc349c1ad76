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
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

import sources

from ragworthy import glossary
from ragworthy.cli import layout
from ragworthy.cli.arguments import EPILOG, parser
from ragworthy.cli.explain import formats, schema
from ragworthy.codes import CATALOGUE
from ragworthy.glossary import Kind
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
    """Every metric, from what is above its function."""
    found = all_metrics().values()
    lines = [
        MADE,
        "# Metrics",
        "",
        "Every metric of every suite. A metric's id is its address: `answers.precision` is the function",
        "`precision` in `metrics/answers.py`. `ragworthy explain METRIC` prints the same with the line it is on.",
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
    "S": "Parts of a score",
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
        "shown at once. Warnings are in the report and change no exit code. `ragworthy explain CODE` prints a line",
        "of this page.",
    ]
    letters = list(dict.fromkeys(code[3] for code in CATALOGUE))
    for letter in letters:
        lines += ["", f"## {GROUPS[letter]}", "", "| Code | Name | Meaning | What to do |", "|---|---|---|---|"]
        for code, entry in CATALOGUE.items():
            if code[3] == letter:
                lines.append(f"| {code} | `{entry.name}` | {sources.cell(entry.means)} | {sources.cell(entry.do)} |")
    return "\n".join(lines) + "\n"


# docs/cli.md


def cli_page() -> str:
    """The help of every command."""
    top = parser()
    lines = [
        MADE,
        "# Commands",
        "",
        "What `--help` and `ragworthy help COMMAND` print, command by command. `python -m ragworthy` is the same",
        "program. A name that is not there is an error in one line, with the nearest one: `did you mean score?`",
        "",
        f"E{EPILOG[1:]}. [verdicts.md](verdicts.md) explains them.",
    ]
    known = list(commands(top))
    of = {one.name: one for one in known[1:]}
    (group,) = layout.groups_of(top)
    for title, names in layout.grouped(group.choices):
        there = [one for one in of if one.split()[1] in names]
        lines += ["", f"**{title}**", "", "| Command | What it does |", "|---|---|"]
        lines += [f"| [`{name}`](#{_anchor(name)}) | {of[name].about} |" for name in there]
    for command in known:
        lines += ["", f"## {command.name}", "", command.about, ""]
        lines += ["```text", *layout.block(command.parser, WIDTH), "```"]
    return "\n".join(lines) + "\n"


class Command(NamedTuple):
    """One command with its arguments."""

    name: str
    about: str
    parser: argparse.ArgumentParser


def commands(one: argparse.ArgumentParser, name: str = "ragworthy") -> Iterator[Command]:
    """Every command that does something, in the order of the help."""
    groups = list(layout.groups_of(one))
    if not groups or name == "ragworthy":
        yield Command(name, one.description or "", one)
    for group in groups:
        for word, child in group.choices.items():
            yield from commands(child, f"{name} {word}")


# docs/glossary.md

TITLES = {
    Kind.VERDICT: "Verdicts",
    Kind.OUTCOME: "Outcomes of a gate",
    Kind.LABEL: "Labels of a question",
    Kind.CAUSE: "Causes",
    Kind.STAGE: "Stages",
    Kind.FATE: "Fates of a question",
    Kind.FAILURE: "Failures of a structured answer",
    Kind.WORD: "Words",
}


def glossary_page() -> str:
    """Every word that reports use."""
    lines = [
        MADE,
        "# Glossary",
        "",
        "What the words of reports and policies mean, each with an example. `ragworthy explain WORD` prints the same.",
        "Metrics have a [page of their own](metrics.md), and so have [error codes](codes.md).",
        "",
    ]
    for kind, title in TITLES.items():
        linked = (f"[{one.name}](#{glossary.anchor(one)})" for one in glossary.ENTRIES if one.kind is kind)
        lines.append(f"- **{title}:** {', '.join(linked)}")
    for kind, title in TITLES.items():
        lines += ["", f"## {title}"]
        for one in glossary.ENTRIES:
            if one.kind is kind:
                lines += ["", *_explained(one)]
    return "\n".join(lines) + "\n"


def _explained(one: glossary.Entry) -> list[str]:
    """One word."""
    lines = [f"### {glossary.heading(one)}", "", _prose(one.means), "", f"- **Example:** {_prose(one.example)}"]
    lines += [f"- **What to do:** {_prose(one.do)}"] if one.do else []
    lines += [f"- **Also:** {', '.join(map(_prose, others))}"] if (others := glossary.others(one)) else []
    return [*lines, *([f"- **See:** {', '.join(map(_see, one.see))}"] if one.see else [])]


def _prose(text: str) -> str:
    """Plain text as Markdown."""
    return re.sub(r"([\\`*_{}<>#|\[\]])", r"\\\1", text)


def _see(name: str) -> str:
    """A link to a metric, a page or another word."""
    if name.startswith("docs/"):
        page = name.removeprefix("docs/")
        return f"[{page}]({page})"
    if (metric := all_metrics().get(name)) is not None:
        return f"[`{name}`](metrics.md#{_anchor(_full(metric))})"
    return f"[{name}](#{glossary.anchor(glossary.find(name)[0])})"


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
            lines += ["| Key | Meaning |", "|---|---|", *[f"| `{key}` | {sources.cell(keys[key])} |" for key in keys]]
        else:
            lines.append("No further key.")
    return "\n".join(lines) + "\n"


# schemas/*.json


def schema_file(name: str) -> str:
    """The JSON Schema of one file format."""
    return json.dumps(schema(name), indent=2, ensure_ascii=False) + "\n"


# docs/picture.svg

COLUMNS = 100
CHARACTER, LINE, MARGIN, BAR = 7.25, 17, 16, 30
TONES = {"NO-SHIP": "bad", "SHIP": "good", "✗": "bad", "✓": "good", "OUT_OF_SCOPE": "bad"}
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
    """The first two acts of `ragworthy demo`, as a drawing of a terminal."""
    lines = ["$ ragworthy demo", *_demo()]
    width = round(COLUMNS * CHARACTER + 2 * MARGIN)
    height = BAR + LINE * len(lines) + 2 * MARGIN - 6
    drawn = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" height="{height}" '
        'role="img" aria-label="ragworthy demo: a release that ships, and the same with a defect that is caught">',
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
    dim = line.startswith("$") or bool(re.match(r"\d  ", line))
    drawn = []
    word = rf"(?<!\S)(?:{'|'.join(TONES)})(?=[\s:])"
    for found in re.finditer(rf"{word}|\S+(?: \S+)*?(?= {word}|  |$)|\S+", line):
        piece = found.group()
        tone = "dim" if dim else TONES.get(piece)
        shown = f' class="{tone}"' if tone else ""
        drawn.append(
            f'<text{shown} x="{MARGIN + found.start() * CHARACTER:.2f}" y="{y}" '
            f'textLength="{len(piece) * CHARACTER:.2f}" lengthAdjust="spacingAndGlyphs">{escape(piece)}</text>'
        )
    return "\n".join(drawn)


def _demo() -> list[str]:
    """The lines up to the act that needs an index, from the real command."""
    environment = {**os.environ, "PYTHONUTF8": "1", "NO_COLOR": "1", "COLUMNS": str(COLUMNS)}
    environment.pop("GITHUB_STEP_SUMMARY", None)
    with tempfile.TemporaryDirectory() as folder:
        done = subprocess.run(
            [sys.executable, "-m", "ragworthy", "demo", "--recorded", "--out", "demo-out"],
            cwd=folder,
            env=environment,
            capture_output=True,
            encoding="utf-8",
            check=True,
        )
    lines = done.stdout.splitlines()
    return lines[: lines.index("3  The report to open") - 1]


# writing and checking


def pages() -> dict[str, Callable[[], str]]:
    """Every generated file by its path from the root."""
    made: dict[str, Callable[[], str]] = {
        "docs/metrics.md": metrics_page,
        "docs/packs.md": packs_page,
        "docs/codes.md": codes_page,
        "docs/cli.md": cli_page,
        "docs/glossary.md": glossary_page,
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
