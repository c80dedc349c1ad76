"""Run the tests with the oldest and the newest dependencies that pyproject.toml allows, on every supported Python.

    python release/matrix.py oldest newest [--smoke] [--python 3.12]

What is tested is what users get: the source distribution is built and unpacked, the wheel is built from it, and the
tests run from the unpacked folder against the installed wheel. Each run has an environment of its own in .venv-matrix,
and beside it one with the core only, without extras, for `tests/project/test_core.py`.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Literal, NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".venv-matrix"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

SMOKE = {
    "bm25s": "index/test_index_lexical.py",
    "faiss-cpu": "index/test_index_dense.py",
    "h11": "monitor/test_listen.py::test_what_is_refused_is_told",
    "httpx": "runner/test_targets.py",
    "jinja2": "report/html/test_html.py::test_hostile_text_makes_no_element_and_steers_nothing",
    "markdown-it-py": "corpus/test_corpus_markdown.py",
    "markupsafe": "report/html/test_html.py::test_sections_stand_in_the_order_in_which_they_are_read",
    "msgspec": "load/test_formats.py cli/test_docs.py::test_generated_pages_are_fresh",
    "numpy": "load/test_trec.py",
    "openpyxl": "adapters/test_tables.py::test_cells_of_a_workbook_are_what_a_person_reads",
    "prometheus-client": "monitor/test_prometheus.py::test_the_sum_over_exporters_is_the_one_of_all_records",
    "psycopg": "history/test_survives.py",
    "pyarrow": "cli/test_api.py",
    "rapidfuzz": "suites/stability/test_stability.py",
    "regex": "suites/answers/test_worked_answers.py",
    "rfc8785": "cli/test_receipt.py",
    "safetensors": "index/test_index_store.py",
    "selectolax": "corpus/test_corpus_html.py corpus/test_corpus_properties.py",
    "shtab": "cli/test_cli.py::test_bash_completes_a_subcommand",
    "sqlalchemy": "history/test_store.py",
    "starlette": "viewer/test_viewer_door.py",
    "tokenizers": "index/test_index_embed.py",
    "uvicorn": "viewer/test_viewer_lifetime.py",
    "vl-convert-python": "report/test_plot.py",
    "wordllama": "runner/test_pipeline.py",
    "zstandard": "load/test_questions.py",
}
"""For each dependency the tests that use it most; together they are the short run of CI."""


CORE = "project/test_core.py"


class Built(NamedTuple):
    """The unpacked source distribution, and the wheel that was made from it."""

    source: Path
    wheel: Path


class Outcome(NamedTuple):
    """How one run ended, and why where it did not pass."""

    name: str
    result: Literal["passed", "FAILED", "SKIPPED"]
    why: str = ""


def main() -> int:
    """Run what was asked for, sum up, and fail when a run failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("which", nargs="+", choices=["oldest", "newest"])
    parser.add_argument("--smoke", action="store_true", help="only the tests that use a dependency most")
    parser.add_argument("--python", action="append", choices=supported(), help="this Python only; may be repeated")
    given = parser.parse_args()
    built = build()
    outcomes = [
        run(version, which, built, smoke=given.smoke)
        for version in given.python or supported()
        for which in given.which
    ]
    print("\n== Summary ==")
    for outcome in outcomes:
        print(": ".join(part for part in outcome if part))
    results = {outcome.result for outcome in outcomes}
    return int("FAILED" in results or "passed" not in results)


def supported() -> list[str]:
    """The Python versions of the classifiers: 3.11 and so on."""
    ends = [classifier.rpartition(" ")[2] for classifier in PROJECT["classifiers"] if "Python :: 3." in classifier]
    return sorted(ends, key=Version)


def interpreter_of(version: str) -> str | None:
    """An interpreter of this version that starts. A shim of pyenv may not, so look where it would lead, too."""
    if sys.version_info[:2] == Version(version).release:
        return sys.executable
    name = f"python{version}"
    on_path = shutil.which(name)
    if on_path is None:
        return None
    behind = sorted(Path(on_path).parents[1].glob(f"versions/{version}.*/bin/{name}"))
    for candidate in (on_path, *map(str, behind)):
        if subprocess.run([candidate, "--version"], capture_output=True).returncode == 0:
            return candidate
    return None


def build() -> Built:
    """The source distribution of this folder, unpacked, and the wheel made from it."""
    shutil.rmtree(HOME / "built", ignore_errors=True)
    uv("build", "--quiet", "--sdist", "--out-dir", HOME / "built", ROOT)
    (packed,) = (HOME / "built").glob("*.tar.gz")
    shutil.unpack_archive(packed, HOME / "built")
    source = packed.with_name(packed.name.removesuffix(".tar.gz"))
    uv("build", "--quiet", "--wheel", "--out-dir", HOME / "built", source)
    (wheel,) = (HOME / "built").glob("*.whl")
    return Built(source, wheel)


def run(version: str, which: str, built: Built, *, smoke: bool) -> Outcome:
    """Install into a fresh environment, check what was installed, run the tests."""
    name = f"Python {version}, {which} dependencies"
    print(f"\n== {name} ==", flush=True)
    interpreter = interpreter_of(version)
    if interpreter is None:
        return Outcome(name, "SKIPPED", f"Python {version} is not on this machine")
    folder = HOME / f"{version}-{which}"
    python = folder / "bin" / "python"
    try:
        uv("venv", "--quiet", "--clear", "--python", interpreter, folder)
        versions = install(python, which, built)
        core = install_core(interpreter, folder, which, built)
    except subprocess.CalledProcessError as error:
        return Outcome(name, "FAILED", f"uv {error.cmd[1]} ended with {error.returncode}")
    print(", ".join(f"{package} {installed}" for package, installed in versions.items()), flush=True)
    # Later Pythons may lack the wheels of old versions, so only the first one can prove a bound.
    if which == "oldest" and version == supported()[0] and (wrong := wrong_bounds(versions)):
        return Outcome(name, "FAILED", "; ".join(wrong))
    tests = [f"tests/{name}" for names in (*SMOKE.values(), CORE) for name in names.split()] if smoke else ["tests"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    environment["RAGWORTHY_CORE"] = str(core)
    command = [str(python), "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *tests]
    code = subprocess.run(command, cwd=built.source, env=environment).returncode
    return Outcome(name, "FAILED", f"pytest ended with {code}") if code else Outcome(name, "passed")


def install(python: Path, which: str, built: Built) -> dict[str, Version]:
    """Install the wheel and the test tools; the versions of our dependencies, in which the tools have no say."""
    chosen = python.parents[1] / f"{which}.txt"
    resolution = "lowest-direct" if which == "oldest" else "highest"
    common = ("--quiet", "--python", python, "--only-binary", ":all:")
    project = ("--extra", "all", built.source / "pyproject.toml")
    uv("pip", "compile", *common, "--resolution", resolution, *project, "-o", chosen)
    pinned = pins(chosen.read_text(encoding="utf-8"))
    versions = {requirement.name: pinned[canonicalize_name(requirement.name)] for requirement in dependencies()}
    chosen.write_text("".join(f"{name}=={version}\n" for name, version in versions.items()), encoding="utf-8")
    tools = built.source / "requirements-test.txt"
    uv("pip", "install", *common, "-c", chosen, "-r", tools, f"ragworthy[all] @ {built.wheel.as_uri()}")
    return versions


def install_core(interpreter: str, beside: Path, which: str, built: Built) -> Path:
    """An environment with the wheel and what it cannot do without, in the versions of the large one; its Python."""
    python = beside.with_name(f"{beside.name}-core") / "bin" / "python"
    uv("venv", "--quiet", "--clear", "--python", interpreter, python.parents[1])
    chosen = beside / f"{which}.txt"
    uv("pip", "install", "--quiet", "--python", python, "--only-binary", ":all:", "-c", chosen, built.wheel)
    return python


def uv(*arguments: str | Path) -> None:
    """Run uv as it is installed beside this interpreter; it finds no other Python and no settings by itself."""
    subprocess.run([Path(sys.executable).parent / "uv", *arguments, "--no-config", "--no-python-downloads"], check=True)


def dependencies() -> list[Requirement]:
    """Every dependency that `all` installs."""
    extras = PROJECT["optional-dependencies"]
    (everything,) = (Requirement(text) for text in extras["all"])
    texts = [*PROJECT["dependencies"], *(text for extra in everything.extras for text in extras[extra])]
    return sorted((Requirement(text) for text in texts), key=lambda requirement: requirement.name)


def lower_bound(requirement: Requirement) -> Version:
    """The version behind `>=`; every dependency has one."""
    (bound,) = (one.version for one in requirement.specifier if one.operator == ">=")
    return Version(bound)


def pins(text: str) -> dict[str, Version]:
    """The `name==version` lines of a file of uv."""
    lines = (line.partition("==") for line in text.splitlines() if "==" in line and not line.startswith((" ", "#")))
    return {canonicalize_name(name): Version(version.strip()) for name, _, version in lines}


def wrong_bounds(versions: dict[str, Version]) -> list[str]:
    """Bounds that promise a version which cannot be installed with the others."""
    return [
        f"pyproject.toml says {requirement}, the oldest that can be installed is {versions[requirement.name]}"
        for requirement in dependencies()
        if versions[requirement.name] != lower_bound(requirement)
    ]


if __name__ == "__main__":
    sys.exit(main())
