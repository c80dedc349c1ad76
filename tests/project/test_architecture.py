"""Rules that keep the tree honest: layers, sizes, imports, public names."""

import argparse
import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import CycleError, TopologicalSorter
from pathlib import Path

import pytest

import ragworthy
from places import ROOT
from ragworthy import starter

SRC = Path(ragworthy.__file__).parent

LAYERS: list[tuple[tuple[str, ...], ...]] = [
    (
        ("collector", "glossary", "names", "threaded"),
        ("text", "edits"),
        ("codes", "safe"),
        ("errors", "cited"),
        ("ids", "records", "files", "stats"),
        ("rows", "paired", "proving", "mustpass", "value"),
        ("gates",),
        ("metrics",),
        ("differences",),
        ("loss_tests", "comparison", "unerrored", "live"),
    ),
    (("wire",), ("load",), ("policy",)),
    (
        ("corpus", "report", "trec"),
        ("adapters", "index"),
        ("gold", "pipeline", "suites"),
        ("runner", "reference", "spark"),
        ("recorders",),
    ),
    (("rendering",), ("flow",)),
    (
        ("history", "selftest", "doctor", "starter", "given", "prefill", "monitor"),
        ("single",),
        ("receipts", "frames"),
        ("proof", "result", "showing", "shards"),
        ("api", "experiments"),
        ("api_run", "comparing"),
        ("pytest_marks",),
        ("pytest_items",),
        ("mirror",),
        ("rollout",),
    ),
    (("demo", "viewer"), ("cli", "pytest_plugin")),
]
"""Six layers. Inside one, what stands further left is below: `runner` may import `gold`, never the other way."""
PLACE = {
    name: (level, step) for level, steps in enumerate(LAYERS) for step, names in enumerate(steps) for name in names
}
PURE = {"comparison", "live", "metrics", "stats", "gates", "paired", "proving", "differences", "loss_tests"}
LONG_FUNCTIONS = {
    "cli.arguments:parser": "a list of commands",
    "metrics.facts.answers:flags_of": "the hot loop: calls cost more than lines",
    "metrics.facts.answers:trace_flags": "holds the hot loop",
    "reference.answers:score": "the sources' scorer in one piece",
}


def modules() -> list[Path]:
    return sorted(SRC.rglob("*.py"))


def name_of(path: Path) -> str:
    """The name under which a file is imported, without the first part; of a package that of its folder."""
    parts = path.relative_to(SRC).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def unit(path: Path) -> str:
    """The layer member a file belongs to: its folder, or its own name at the top."""
    parts = path.relative_to(SRC).parts
    return parts[0].removesuffix(".py")


def imported(path: Path) -> list[tuple[int, str]]:
    """Every module of ours that a file imports, in functions and by name too."""
    found: list[tuple[int, str]] = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and node.module and node.module.split(".")[0] == "ragworthy":
            rest = node.module.split(".")[1:]
            found += [(node.lineno, name) for name in ([rest[0]] if rest else [alias.name for alias in node.names])]
        elif isinstance(node, ast.Import):
            found += [(node.lineno, a.name.split(".")[1]) for a in node.names if a.name.startswith("ragworthy.")]
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # import_module and the like
            named = re.fullmatch(r"ragworthy\.(\w+)(\.[\w.{}]*)?", node.value)
            found += [(node.lineno, named[1])] if named and named[1] in PLACE else []
    return found


def test_imports_point_down_in_functions_and_by_name_too() -> None:
    wrong = []
    for path in modules():
        here = unit(path)
        if here in ("__init__", "__main__"):
            continue
        for line, there in imported(path):
            if there != here and PLACE[there] >= PLACE[here]:
                wrong.append(f"{path.relative_to(SRC)}:{line} {here} imports {there}")
    assert wrong == []


def run_nodes(node: ast.AST) -> Iterator[ast.AST]:
    """Every node below one, but for what only a type checker reads."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.If) and ast.unparse(child.test) in ("TYPE_CHECKING", "typing.TYPE_CHECKING"):
            for other in child.orelse:
                yield other
                yield from run_nodes(other)
            continue
        yield child
        yield from run_nodes(child)


def needed(path: Path, known: set[str]) -> set[str]:
    """The modules that a file imports, at the top or in a function, as they are named below the package."""
    found: set[str] = set()
    for node in run_nodes(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{path}:{node.lineno} a relative import"
            if node.module and node.module.split(".")[0] == "ragworthy":
                home = node.module.removeprefix("ragworthy").removeprefix(".")
                inner = {alias.name: f"{home}.{alias.name}".removeprefix(".") for alias in node.names}
                found |= {whole if whole in known else home for whole in inner.values()}
        elif isinstance(node, ast.Import):
            found |= {alias.name.removeprefix("ragworthy.") for alias in node.names} & known
    return found


def test_no_modules_import_each_other_not_even_in_functions() -> None:
    known = {name_of(path) for path in modules()}
    graph = {name_of(path): needed(path, known) - {name_of(path)} for path in modules()}
    assert {"metrics.facts.answers", "errors"} <= graph["load.gold"]
    assert "report.write" in graph["cli.outputs"]  # which it imports in a function
    try:
        TopologicalSorter(graph).prepare()
    except CycleError as error:
        pytest.fail(" imports ".join(reversed(error.args[1])))


def test_every_module_has_a_layer() -> None:
    assert {unit(path) for path in modules()} - {"__init__", "__main__", "examples"} == set(PLACE)


def test_pure_modules_do_no_input_or_output() -> None:
    forbidden = {"os", "pathlib", "io", "time", "datetime", "random", "subprocess", "socket", "tempfile"}
    wrong = []
    for path in modules():
        if unit(path) in PURE:
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                names = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
                names += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
                wrong += [f"{path.name}: {name}" for name in names if name.split(".")[0] in forbidden]
                if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("open", "print"):
                    wrong.append(f"{path.name}:{node.lineno} {node.func.id}")
    assert wrong == []


def test_sizes() -> None:
    wrong = []
    long: dict[str, int] = {}
    for path in modules():
        text = path.read_text(encoding="utf-8")
        name = name_of(path)
        if len(text.splitlines()) > 400:
            wrong.append(f"{name}: {len(text.splitlines())} lines")
        for node in ast.walk(ast.parse(text)):
            if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
                body = node.body[1:] if ast.get_docstring(node) else node.body
                lines = (node.end_lineno or 0) - body[0].lineno + 1 if body else 0
                if lines > 40:
                    long[f"{name}:{node.name}"] = lines
    assert wrong == []
    assert {one: lines for one, lines in long.items() if one not in LONG_FUNCTIONS} == {}
    assert LONG_FUNCTIONS.keys() - long.keys() == set(), "excused, and not long"


def test_broad_excepts_stand_only_where_something_is_handed_on() -> None:
    allowed = {"cli/main.py": 1, "suites/fork.py": 1, "runner/trace_writer.py": 1, "runner/targets/callables.py": 1}
    allowed["runner/aside.py"] = 1  # the thread that waits raises it again
    allowed["pipeline/threads.py"] = 1  # the same
    allowed["load/plugins.py"] = 1  # whatever a plugin raises is an error with its name
    allowed["runner/targets/langchain.py"] = 2  # what a chain raises is raised again, with what it had retrieved
    allowed["recorders/sink.py"] = 1  # whatever goes wrong in a recorder is a line of its file, or counted
    allowed["viewer/door.py"] = 1  # whatever goes wrong with a page is one line, and the server goes on
    allowed["cli/keep.py"] = 1  # whatever goes wrong in a history is told, and the verdict stays
    found: dict[str, int] = {}
    for path in modules():
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            broad = isinstance(node, ast.ExceptHandler) and (
                node.type is None
                or (isinstance(node.type, ast.Name) and node.type.id in ("Exception", "BaseException"))
            )
            if broad:
                name = path.relative_to(SRC).as_posix()
                found[name] = found.get(name, 0) + 1
    assert found == allowed


def modules_after(code: str) -> set[str]:
    """Every module that a fresh interpreter has loaded after running the code."""
    script = f"import sys\n{code}\nprint('\\n'.join(sorted(sys.modules)))"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    return set(done.stdout.split())


def loaded_by(code: str) -> set[str]:
    """The top-level modules of these."""
    return {name.split(".")[0] for name in modules_after(code)}


def foreign(names: set[str]) -> set[str]:
    """Those outside the standard library that a bare interpreter does not load by itself."""
    ours = {name for name in names if name not in sys.stdlib_module_names and not name.startswith(("_", "ragworthy"))}
    return ours - loaded_by("")


@pytest.mark.parametrize(
    "code",
    [
        "import ragworthy",
        "import ragworthy.cli.main",
        "import contextlib, io\nfrom ragworthy.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()):\n  try: main(['--help'])\n  except SystemExit: pass",
    ],
)
def test_importing_and_help_load_the_standard_library_only(code: str) -> None:
    assert foreign(loaded_by(code)) == set()


def test_help_runs_where_nothing_else_is_installed() -> None:
    code = f"import sys; sys.path.insert(0, {str(SRC.parent)!r}); from ragworthy.cli.main import main; main(['--help'])"
    bare = [sys.executable, "-S", "-I", "-c", code]
    done = subprocess.run(bare, capture_output=True, text=True, check=True)
    assert "exit codes: 0 SHIP" in done.stdout


def command(*words: str) -> str:
    """Code that runs a command and prints nothing."""
    return (
        "import contextlib, io\nfrom ragworthy.cli.main import main\n"
        "with contextlib.redirect_stdout(io.StringIO()), contextlib.suppress(SystemExit):\n"
        f"  main({list(words)!r})"
    )


def of_ours(names: set[str], *inside: str) -> set[str]:
    """Those of some packages and modules of ours, by their names without the first part; packages themselves apart."""
    ours = {name.removeprefix("ragworthy.") for name in names}
    return {name for name in ours if any(name == one or name.startswith(f"{one}.") for one in inside)}


def test_scoring_small_files_loads_the_decoder_and_nothing_else(tmp_path: Path) -> None:
    laid = starter.init(tmp_path)
    names = modules_after(command("score", "answers", "--gold", str(laid.gold), "--trace", str(laid.traces[0])))
    loaded = {name.split(".")[0] for name in names}
    assert foreign(loaded) - {"typing_extensions"} == {"msgspec"}  # msgspec takes typing_extensions where it is there
    # what the budget of the cold start cannot afford
    dear = {"dataclasses", "asyncio", "zstandard", "tomllib", "difflib", "multiprocessing", "threading", "subprocess"}
    assert loaded & (dear | {"shutil", "json", "importlib.metadata"}) == set()
    # what has nothing to do in it: earlier runs, policies, single questions, files of other kinds
    idle = ("history", "policy.read", "policy.kept", "load.baseline", "report.sheet", "suites.looking", "suites.again")
    other = ("load.memory", "load.parquet", "load.several", "load.chunks", "load.packs", "load.unpack.zstd")
    far = ("metrics.facts.wanted", "metrics.facts.distance", "metrics.retrieval", "suites.retrieval", "index", "corpus")
    own = ("cli.driving", "cli.indexing", "cli.earlier", "cli.rolling", "cli.watching", "cli.viewing", "cli.beginning")
    assert of_ours(names, *idle, *other, *far, *own, "runner", "report.html", "glossary") == set()


def test_a_gate_loads_nothing_that_asks_a_pipeline_or_reads_an_index(tmp_path: Path) -> None:
    starter.init(tmp_path)
    page = ("-o", str(tmp_path / "report.json"))
    names = modules_after(command("gate", "-c", str(tmp_path / "ragworthy.toml"), "--no-history", *page))
    assert of_ours(names, "runner", "index", "corpus") == {"runner", "runner.ended", "index", "index.found"}
    assert {"sqlalchemy", "numpy"} & names == set()


@pytest.mark.parametrize("words", [("--help",), ("gate", "--help")])
def test_help_opens_no_files(words: tuple[str, ...]) -> None:
    names = modules_after(command(*words))
    assert {"hashlib", "pathlib", "json", "msgspec"} & (names - modules_after("")) == set()
    assert of_ours(names, "files", "codes", "flow", "load", "report") == set()


def test_only_the_flags_of_the_command_that_is_called_are_made() -> None:
    from ragworthy.cli import layout
    from ragworthy.cli.arguments import NAMES, parser

    (every,) = layout.groups_of(parser())
    assert set(every.choices) == NAMES
    for name in every.choices:
        (alone,) = layout.groups_of(parser((name,)))
        assert list(alone.choices) == [name]
        assert layout.page(alone.choices[name], 80) == layout.page(every.choices[name], 80)
    (named,) = layout.groups_of(parser(("--help",)))
    assert list(named.choices) == list(every.choices)
    assert layout.page(parser(("--help",)), 80) == layout.page(parser(), 80)


def test_the_collector_is_at_work_again_when_a_command_begins(tmp_path: Path) -> None:
    """Started as a program: it rests while code is loaded, and what is loaded then is not looked at again."""
    code = (
        "import gc, sys\nfrom ragworthy import __main__\nfrom ragworthy.cli import front\n"
        "front.help_of = lambda given: print(gc.isenabled(), gc.get_freeze_count() > 10_000) or 0\n"
        "sys.argv[1:] = ['help']\n__main__.entry()"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "True True\n"


def test_the_collector_of_who_calls_from_python_is_left_alone() -> None:
    code = f"import gc\nkept = gc.get_freeze_count()\n{command('help')}"
    code += "\nassert gc.isenabled() and gc.get_freeze_count() == kept"
    modules_after(code)


def test_public_names_are_sorted_complete_and_there() -> None:
    assert sorted(ragworthy.__all__) == ragworthy.__all__
    for name in ragworthy.__all__:
        assert getattr(ragworthy, name) is not None
    assert dir(ragworthy) == sorted(ragworthy.__all__)
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = ragworthy.nothing


def test_every_metric_describes_itself() -> None:
    from ragworthy.metrics.registry import all_metrics

    for metric in all_metrics().values():
        module, _, name = metric.id.partition(".")
        assert metric.of.__module__ == f"ragworthy.metrics.{module}"
        if metric.of.__name__ == "part":  # the fields of a structured answer share one function
            name = "part"
        assert metric.of.__name__ == name
        assert metric.definition.endswith("."), metric.id
        assert metric.source, metric.id
        path, _, line = metric.place.partition(":")
        assert f"def {name}(" in (ROOT / path).read_text(encoding="utf-8").splitlines()[int(line) - 1 :][:12].__str__()


def test_no_command_reaches_into_the_module_of_another() -> None:
    """What several commands need is in a module that is not a command."""
    from ragworthy.cli.arguments import parser

    def handlers(one: argparse.ArgumentParser) -> set[str]:
        found = {str(one.get_default("handler")).partition(":")[0]} - {"None"}
        groups = [action for action in one._actions if isinstance(action, argparse._SubParsersAction)]
        return found.union(*(handlers(child) for group in groups for child in group.choices.values()))

    commands = handlers(parser())
    assert {"score", "gate", "experiment", "index"} <= commands
    for path in sorted((SRC / "cli").glob("*.py")):
        text = path.read_text(encoding="utf-8")
        named = set(re.findall(r"^\s*from ragworthy\.cli\.(\w+) import", text, re.M))
        for listed in re.findall(r"^\s*from ragworthy\.cli import (.+)$", text, re.M):
            named |= {word.split()[0] for word in listed.split(",")}
        assert named & commands == set(), path.name
