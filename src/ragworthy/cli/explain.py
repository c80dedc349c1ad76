"""`explain`, `doctor` and `completion`."""

import argparse
import inspect
import json
import textwrap
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy import glossary
from ragworthy.cli import layout
from ragworthy.cli.say import print, show, tell
from ragworthy.codes import CATALOGUE
from ragworthy.errors import missing_extra, usage_error
from ragworthy.metrics.aliases import ALIASES, folded
from ragworthy.metrics.registry import Metric, all_metrics, sharing
from ragworthy.names import DEFAULT_K, Exit

if TYPE_CHECKING:
    from ragworthy.policy.packs import Pack


def explain(given: argparse.Namespace) -> int:
    """Print a definition, or the list of all."""
    from ragworthy.load.plugins import load_metrics, using_metrics
    from ragworthy.suites import SUITES

    SUITES.also(topic.partition(".")[0] for topic in given.topic[:1] if "." in topic)
    with using_metrics([load_metrics(name, Path()) for name in given.plugin]):
        return _explain(given.topic)


def _explain(topic: list[str]) -> int:
    if not topic:
        for metric in all_metrics().values():
            print(f"{metric.id + ('@k' if metric.at_k else ''):<26} {metric.definition}")
        print()
        show("\n".join(_kinds()) + "\n\n")
        print(f"{len(CATALOGUE)} codes, from RW-F01 to RW-X70: ragworthy explain CODE")
        print(f"file formats: ragworthy explain schema {' | '.join(formats())}")
        print("what a structured answer looks like: ragworthy explain definition")
        print("what a model is told to write one: ragworthy explain prompt")
        print("maps of HTTP services: ragworthy explain map")
        print("gate packs: ragworthy explain packs")
    elif topic[0] == "schema":
        show(json.dumps(schema(topic[1] if len(topic) > 1 else ""), indent=2) + "\n")
    elif topic[0] == "packs" or topic[:-1] == ["pack"]:
        _packs(topic[1:])
    elif code := _code(topic[0]):
        entry, words = CATALOGUE[code], map(_entry, glossary.find(topic[0]))
        tell("\n\n".join([*words, f"{code} {entry.name}\n  {entry.means}\n  {entry.do}"]))
    elif topic[0] == "map":
        _map(topic[1:])
    elif topic[0] == "definition":
        from ragworthy.load.definition import new_text

        show(new_text())
    elif topic[0] == "prompt":
        from ragworthy.load.prompt import bundled_text

        show(bundled_text())
    else:
        word = " ".join(topic)
        tell("\n\n".join([*map(_entry, glossary.find(word)), *map(_metric, _find(word)), *_named_too(word)]))
    return int(Exit.SHIP)


def _map(names: list[str]) -> None:
    """Print a bundled map, so that it can be copied and changed, or list them."""
    from ragworthy.load.map import PRESETS, preset

    if names:
        show(preset(names[0]))
        return
    for name in PRESETS:
        print(f"{name:<18} {preset(name).splitlines()[0].removeprefix('# ')}")


def _packs(names: list[str]) -> None:
    """Print a gate pack, or list them, suite by suite."""
    from ragworthy.load.checker import Checker
    from ragworthy.policy.packs import find_packs, load_pack, pack_names, rules_of
    from ragworthy.suites import SUITES

    if names:
        check = Checker("explain pack")
        found = find_packs(check, names, list(SUITES), "")
        check.stop()
        tell("\n\n".join(map(_pack, found)))
        return
    order = list(SUITES)
    every = map(load_pack, pack_names())
    for one in sorted(every, key=lambda pack: (len(pack.suites) > 1, order.index(pack.suites[0]))):
        print(f"{one.name:<18} {one.title} ({', '.join(one.suites)})")
        print(f"{'':<18} source: {one.source}")
        for rule in rules_of(one):
            print(f"{'':<20} {rule}")
    print()
    print('packs = ["NAME"] in a policy, --pack NAME on the command line, packs=["NAME"] in Python')


def _pack(pack: "Pack") -> str:
    """A pack with all that it holds."""
    from ragworthy.policy.packs import rules_of
    from ragworthy.suites import SUITES

    lines = [f"{pack.name}  ({', '.join(pack.suites)})", f"  {pack.title}", f"  source    {pack.source}"]
    lines += [f"  includes  {', '.join(pack.includes)}"] if pack.includes else []
    lines += [f"  gates     {rule}" if not nth else f"            {rule}" for nth, rule in enumerate(rules_of(pack))]
    if pack.setting:
        limits = SUITES[pack.suites[0]].settings._field_defaults[pack.setting]
        lines.append(f"  {pack.setting:<9} {', '.join(limits)} (of each question; the setting {pack.setting})")
    lines += ["  proven    no loss may be proven, however small (min_effect = 0)"] if pack.proven else []
    lines += [f'  use       packs = ["{pack.name}"], --pack {pack.name}', f"  sha256    {pack.sha256}"]
    return "\n".join(lines)


def _named_too(topic: str) -> list[str]:
    """What else has this name: a gate pack, a program of the sources."""
    from ragworthy.policy.packs import load_pack, pack_names
    from ragworthy.suites import SUITES

    packs = [_pack(load_pack(topic))] if topic in pack_names() else []
    programs = [
        f"{suite.program}  ({suite.page})\n  what it prints: ragworthy score {name} --profile {suite.program}"
        for name, suite in SUITES.items()
        if suite.is_program(topic) or (suite.program and topic == "reference")
    ]
    last = topic.replace("\\", "/").rpartition("/")[2]
    tools = [
        f"{tool}  ({suite.page})\n  what does its work: ragworthy {instead}"
        for suite in SUITES.values()
        for tool, instead in suite.tools.items()
        if last in (tool, tool.removesuffix(".py"))
    ]
    return [*packs, *programs, *tools]


def _code(topic: str) -> str | None:
    """The code a topic means: the code itself, or its name."""
    return next((code for code, entry in CATALOGUE.items() if topic.upper() == code or topic == entry.name), None)


def _find(name: str) -> list[Metric]:
    base, at, _ = name.partition("@")
    found = [metric for metric in all_metrics().values() if {folded(name), folded(base)} & metric.spellings]
    found = [metric for metric in found if metric.at_k or not at] or found
    found = [metric for metric in found if metric.id == base] or found
    found = found or sharing(name)
    if not found and not glossary.find(name) and not _named_too(name):
        raise usage_error(_unknown(name))
    return found


def _unknown(name: str) -> str:
    """The message for what nothing explains, with the closest names."""
    from ragworthy.load.checker import closest
    from ragworthy.metrics import registry
    from ragworthy.policy.packs import pack_names

    several = [one.id for one in registry.meant(name, default_k=DEFAULT_K)]
    if len(several) > 1:
        return f'expected one metric ({" or ".join(several)}), got "{name}"'
    every = (*registry.every_name(), *glossary.names(), *CATALOGUE, *pack_names())
    known = {glossary.folded(one): one for one in every}
    close = [known[one] for one in closest(glossary.folded(name), known, n=3, cutoff=0.6)]
    hint = f" (did you mean {' or '.join(close)}?)" if close else ""
    return f'expected a metric, a word of reports or a code, got "{name}"{hint}'


def _kinds() -> list[str]:
    """The words that are explained, by kind."""
    lines = []
    for kind in glossary.Kind:
        words = ", ".join(one.name for one in glossary.ENTRIES if one.kind is kind)
        lines += textwrap.wrap(f"{kind.value}: {words}", layout.width(), subsequent_indent="  ", break_on_hyphens=False)
    return lines


def _entry(one: glossary.Entry) -> str:
    """A word with its example, as wide as the terminal."""
    told = {"example": one.example, "do": one.do, "see": ", ".join(one.see), "also": ", ".join(glossary.others(one))}
    lines = [f"{one.name}  ({one.kind.value})", *_wrapped("  ", one.means)]
    lines += [line for name, text in told.items() if text for line in _wrapped(f"  {name:<9}", text)]
    return "\n".join(lines)


def _wrapped(head: str, text: str) -> list[str]:
    """A text behind a heading, with a hanging indent."""
    width = layout.width()
    return textwrap.wrap(text, width, initial_indent=head, subsequent_indent=" " * len(head), break_on_hyphens=False)


def _metric(metric: Metric) -> str:
    direction = f"{metric.better} is better"
    lines = [
        f"{metric.id}{'@k' if metric.at_k else ''}  ({metric.kind}, {direction})",
        f"  {inspect.getdoc(metric.of)}",
        f"  counts        {metric.event}, among the {metric.cases}",
        f"  undefined     {metric.undefined}",
        *([f"  short names   {', '.join(metric.short)}"] if metric.short else []),
        *([f"  in sources    {', '.join(ALIASES[metric.id])}"] if metric.id in ALIASES else []),
        f"  source        {metric.source}",
        f"  defined in    {metric.place}",
    ]
    return "\n".join(lines)


def formats() -> dict[str, type]:
    """The file formats that can be printed as a schema: the records that suites declare, and what all of them share."""
    from ragworthy import records
    from ragworthy.comparison.records import Compared
    from ragworthy.load.lock import Lock
    from ragworthy.metrics.facts.redirects import Table
    from ragworthy.report.sheet import Page
    from ragworthy.runner.contract import Replied
    from ragworthy.runner.outputs import Output
    from ragworthy.suites import SUITES

    declared = [one for suite in SUITES.values() for one in suite.inputs if one.schema]
    shared = {
        "reply": Replied,
        "reply.structured": Output,
        "chunks": records.Chunk,
        "redirects": Table,
        "lock": Lock,
        "compare": Compared,
        "show": Page,
    }
    return {one.schema: getattr(records, one.record) for one in declared} | shared


def schema(name: str) -> dict[str, object]:
    """The JSON Schema of a file format."""
    import msgspec

    kinds = formats()
    if name not in kinds:
        raise usage_error(f'expected one of {", ".join(kinds)}, got "{name}"')
    made: dict[str, object] = _steady(_reply() if name == "reply" else msgspec.json.schema(kinds[name]))
    head: dict[str, object] = {"$schema": "https://json-schema.org/draft/2020-12/schema", "$id": f"ragworthy.{name}/1"}
    own = {"chunks": ("chunk_id", "id"), "lock": (), "redirects": (), "reply": (), "compare": (), "show": ()}
    own |= {"gold.structured": ("id", "qid"), "outputs.structured": ("id", "qid")}
    aliases = own.get(name, ("qid", "q_id"))
    if aliases:
        head["anyOf"] = [{"required": [alias]} for alias in aliases]
    return head | made


def _reply() -> dict[str, object]:
    """A reply has one of two shapes: an answer, or an error."""
    import msgspec

    from ragworthy.runner.contract import Replied
    from ragworthy.runner.reported import Failed

    choices, shapes = msgspec.json.schema_components((Replied, Failed), ref_template="#/$defs/{name}")
    return {"anyOf": list(choices), "$defs": shapes}


def _steady(part: Any) -> Any:
    """The same schema on every Python and with every msgspec.

    They differ in where `null` is among several choices, and in how far the lines of a docstring are indented.
    """
    if isinstance(part, list):
        return sorted(map(_steady, part), key=lambda choice: choice == {"type": "null"})
    if not isinstance(part, dict):
        return part
    steady = {key: _steady(value) for key, value in part.items()}
    if isinstance(told := steady.get("description"), str):
        steady["description"] = inspect.cleandoc(told)
    return steady


def doctor(given: argparse.Namespace) -> int:
    """Say what files can and cannot show."""
    from ragworthy import flow
    from ragworthy.cli.keep import blessed_of
    from ragworthy.cli.outputs import tell_code
    from ragworthy.doctor import examine, plugins
    from ragworthy.gold.commands import suite_of
    from ragworthy.load.questions import open_questions
    from ragworthy.policy.read import find_policy, load_policy
    from ragworthy.suites import SUITES

    if given.files:
        raise usage_error(f"{given.files[0]}: expected --gold or --trace before it, to say what the file is")
    if given.gold and given.trace:
        suite = SUITES[suite_of(open_questions("gold", Path(given.gold)))]
        roles = {"gold": given.gold, "trace": given.trace, "corpus": given.corpus}
        named = {one.key: Path(path) for role, path in roles.items() if path and (one := suite.by_role(role))}
        settings = suite.settings()
        requests = [flow.Request(suite.name, named, settings, suite.default_gates(settings, named))]
    elif given.gold or given.trace:
        from ragworthy.single import gold_lines, trace_lines

        for line in gold_lines(Path(given.gold)) if given.gold else trace_lines(Path(given.trace)):
            print(line)
        return int(Exit.SHIP)
    else:
        policy = load_policy(find_policy(given.config), SUITES, today=date.min)
        requests = flow.from_policy(policy, blessed=blessed_of(policy))
        tell_code(requests)
    for line in (*examine(requests), *(["", *there] if (there := plugins()) else ())):
        print(line)
    return int(Exit.SHIP)


def completion(given: argparse.Namespace) -> int:
    """Print a completion script."""
    try:
        import shtab
    except ImportError:
        raise missing_extra("shtab", "completion", "shell completion") from None
    from ragworthy.cli.arguments import parser

    show(shtab.complete(parser(), given.shell) + "\n")
    return int(Exit.SHIP)
