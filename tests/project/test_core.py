"""What an installation without extras can do: the built wheel beside the packages of the core, and nothing else.

`RAGWORTHY_CORE` names the interpreter of an environment that was installed elsewhere (`release/matrix.py` does);
without it the wheel is unpacked into a fresh environment, with the packages of the core as they are installed here.
"""

import contextlib
import os
import shutil
import subprocess
import sys
import tomllib
import venv
import zipfile
from importlib.metadata import Distribution, distribution
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

import cases
from conftest import run_cli, write_jsonl
from places import ROOT
from ragworthy import starter
from ragworthy.errors import PARTS, RETRIEVAL

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS: dict[str, list[str]] = PROJECT["optional-dependencies"]
MOST_PACKAGES, MOST_BYTES = 8, 30_000_000


def needed(names: list[str]) -> dict[str, Distribution]:
    """These packages and all that they ask for, as they are installed here."""
    found: dict[str, Distribution] = {}
    while names:
        requirement = Requirement(names.pop())
        name = canonicalize_name(requirement.name)
        if name in found or (requirement.marker is not None and not requirement.marker.evaluate({"extra": ""})):
            continue
        found[name] = distribution(requirement.name)
        names += found[name].requires or []
    return found


def size_of(packages: dict[str, Distribution]) -> int:
    """The bytes of their files; compiled modules are counted where an installation makes them."""
    files = [Path(str(each.locate_file(file))) for each in packages.values() for file in each.files or ()]
    return sum(file.stat().st_size for file in {file.resolve() for file in files} if file.is_file())


@pytest.fixture(scope="module")
def core(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The interpreter of an environment with the core and nothing else."""
    if given := os.environ.get("RAGWORTHY_CORE"):
        return Path(given)
    home = tmp_path_factory.mktemp("core")
    code = f"from hatchling import build; print(build.build_wheel({str(home)!r}))"
    source = home / "source"
    for name in ("pyproject.toml", "PACKAGE.md", "LICENSE"):
        source.mkdir(exist_ok=True)
        shutil.copy(ROOT / name, source / name)
    shutil.copytree(ROOT / "src", source / "src", ignore=shutil.ignore_patterns("__pycache__"))
    done = subprocess.run([sys.executable, "-c", code], cwd=source, check=True, capture_output=True, text=True)
    venv.create(home / "env", symlinks=True)
    site = next((home / "env" / "lib").glob("python3*/site-packages"))
    with zipfile.ZipFile(home / done.stdout.strip()) as wheel:
        wheel.extractall(site)
    for package in needed(list(PROJECT["dependencies"])).values():
        for top in {file.parts[0] for file in package.files or () if file.parts[0] not in ("..", "__pycache__")}:
            (site / top).symlink_to(Path(str(package.locate_file(top))))
    return home / "env" / "bin" / "python"


def run(core: Path, folder: Path, *words: object) -> subprocess.CompletedProcess[str]:
    command = [str(core), "-I", "-m", "ragworthy", *map(str, words)]
    environment = {name: value for name, value in os.environ.items() if not name.startswith("RAGWORTHY_")}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, encoding="utf-8", timeout=120)


@pytest.fixture
def work(tmp_path: Path) -> Path:
    """The files of `ragworthy init`."""
    return starter.init(tmp_path / "work").policy.parent


# how small it is


def test_the_core_is_small() -> None:
    core = needed(list(PROJECT["dependencies"]))
    code = [path for path in (ROOT / "src/ragworthy").rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    compiled = 1.8 * sum(path.stat().st_size for path in code if path.suffix == ".py")  # 1.75 as pip compiles it
    assert len(core) + 1 <= MOST_PACKAGES, sorted(core)
    assert size_of(core) + sum(path.stat().st_size for path in code) + compiled < MOST_BYTES


def test_no_package_of_the_core_belongs_to_an_extra() -> None:
    core = set(needed(list(PROJECT["dependencies"])))
    assert core.isdisjoint(canonicalize_name(Requirement(text).name) for texts in EXTRAS.values() for text in texts)


def test_the_packages_that_are_named_are_those_of_the_extra() -> None:
    assert RETRIEVAL.split() == [Requirement(text).name for text in EXTRAS["retrieval"]]
    for part in PARTS.values():
        texts = EXTRAS[part.extra] if part.extra else PROJECT["dependencies"]
        assert part.package in [Requirement(text).name for text in texts]


# what works


def test_help_and_version(core: Path, tmp_path: Path) -> None:
    assert run(core, tmp_path, "--help").returncode == 0
    assert run(core, tmp_path, "explain", "answers.precision").returncode == 0


def test_from_nothing_to_a_verdict_a_receipt_and_a_page(core: Path, tmp_path: Path) -> None:
    assert run(core, tmp_path, "init").returncode == 0
    done = run(core, tmp_path, "gate", "-o", "now.json", "--receipt", "receipt.json")
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "verdict: SHIP (exit 0)")
    with contextlib.chdir(tmp_path):
        assert run_cli("gate", "-q", "--no-history", "-o", "with-extras.json").code == 0
    assert (tmp_path / "now.json").read_bytes() == (tmp_path / "with-extras.json").read_bytes()
    verified = run(core, tmp_path, "verify", "receipt.json")
    assert verified.stdout.splitlines()[-1] == "verified: SHIP re-derives byte for byte from 3 inputs (exit 0)"
    assert run(core, tmp_path, "report", "now.json", "-o", "page.html").returncode == 0
    assert (tmp_path / "page.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    assert run(core, tmp_path, "show", "H001").returncode == 0
    assert run(core, tmp_path, "gate", "--selftest").returncode == 0
    assert run(core, tmp_path, "doctor").returncode == 0


def test_a_gate_says_that_its_run_was_not_kept_and_judges_all_the_same(core: Path, work: Path) -> None:
    done = run(core, work, "gate", "-q")
    assert done.returncode == 0
    assert done.stderr == (
        "history: this run was not kept: the history of runs needs sqlalchemy: pip install sqlalchemy (extra: history)"
        " [RW-F15]; --no-history leaves it out\n"
    )
    assert run(core, work, "gate", "-q", "--no-history").stderr == ""


@pytest.mark.parametrize("name", [name for name in cases.EVERY if name != "trec"])
def test_every_suite_gives_the_bytes_that_it_gives_with_all_extras(name: str, core: Path, tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        case = cases.EVERY[name](tmp_path)
        words = cases.command(case, "-o")
        theirs = run(core, tmp_path, *words, "core.json")
        ours = run_cli(*words, "all.json")
    assert (theirs.returncode, theirs.stdout) == (ours.code, ours.out.replace("all.json", "core.json")), theirs.stderr
    assert (tmp_path / "core.json").read_bytes() == (tmp_path / "all.json").read_bytes()


def test_two_runs_are_compared_with_the_same_p_values(core: Path, tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        cases.retrieval(tmp_path, 40)
        traces = cases.lines_of(tmp_path / "traces.jsonl")
        for nth in range(0, 39, 2):  # enough changes that swaps are drawn, not gone through
            traces[nth]["topk"] = [{"id": f"S.3.p.{one}"} for one in range(nth)] + traces[nth]["topk"]
        write_jsonl(tmp_path / "worse.jsonl", traces)
        for out, trace in (("old.json", "traces.jsonl"), ("new.json", "worse.jsonl")):
            run_cli("score", "retrieval", "--gold", "gold.jsonl", "--trace", trace, "-o", out)
        ours = run_cli("compare", "old.json", "new.json", "-o", "all.json")
    theirs = run(core, tmp_path, "compare", "old.json", "new.json", "-o", "core.json")
    assert theirs.returncode == ours.code, theirs.stderr
    assert '"method": "clusters"' in (tmp_path / "all.json").read_text(encoding="utf-8")
    assert (tmp_path / "core.json").read_bytes() == (tmp_path / "all.json").read_bytes()


def test_live_traffic_is_watched(core: Path, work: Path) -> None:
    done = run(core, work, "monitor", "runs/latest/traces.jsonl", "--once")
    assert done.returncode in (0, 3), done.stderr
    assert "[RW-F15]" not in done.stderr


def test_the_chunks_of_an_index_are_evidence(core: Path, tmp_path: Path) -> None:
    with contextlib.chdir(tmp_path):
        cases.answers(tmp_path)
        (tmp_path / "d.md").write_text("# Title\n\nIt is answer q1.\n", encoding="utf-8")
        assert run_cli("index", "build", "--docs", "d.md", "--out", "idx").code == 0
        words = ("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "--corpus", "idx", "-o")
        ours = run_cli(*words, "all.json")
    theirs = run(core, tmp_path, *words, "core.json")
    assert theirs.returncode == ours.code, theirs.stderr
    assert (tmp_path / "core.json").read_bytes() == (tmp_path / "all.json").read_bytes()


# what needs an extra

DELTA_S = "score retrieval --gold gold.jsonl --trace traces.jsonl --corpus chunks.jsonl"
LACKING = {
    "index build --docs d.md --out idx": ("numpy", "retrieval"),
    "index search idx x": ("numpy", "retrieval"),
    "demo --out demo-out": ("numpy", "retrieval"),
    DELTA_S: ("numpy", "retrieval"),
    "score retrieval --qrels qrels.txt --run run.txt": ("numpy", "retrieval"),
    "export trec --gold gold.jsonl --qrels-out out.txt": ("numpy", "retrieval"),
    "history list": ("sqlalchemy", "history"),
    "view": ("starlette uvicorn sqlalchemy", "view"),
    "score answers --gold gold.jsonl.zst --trace traces.jsonl": ("zstandard", "zstd"),
    "score answers --gold gold.parquet --trace traces.jsonl": ("pyarrow", "parquet"),
}


@pytest.mark.parametrize("command", LACKING)
def test_a_command_that_needs_an_extra_says_what_to_run(command: str, core: Path, tmp_path: Path) -> None:
    cases.retrieval(tmp_path)
    cases.trec(tmp_path)
    write_jsonl(tmp_path / "chunks.jsonl", cases.BLOCKS)
    (tmp_path / "gold.jsonl.zst").write_bytes(b"(\xb5/\xfd")
    (tmp_path / "gold.parquet").write_bytes(b"PAR1")
    (tmp_path / "d.md").write_text("# Title\n\nA paragraph.\n", encoding="utf-8")
    done = run(core, tmp_path, *command.split())
    package, extra = LACKING[command]
    packages = RETRIEVAL if extra == "retrieval" else package
    first, *rest = done.stderr.splitlines()
    assert done.returncode == 2
    assert first.endswith(f" needs {package}: pip install {packages} (extra: {extra}) [RW-F15]")
    assert rest == ["  extra_missing: Install it with the pip line shown."]


def test_python_says_it_too(core: Path, tmp_path: Path) -> None:
    cases.trec(tmp_path)
    code = "import ragworthy as rw; rw.score('retrieval', qrels='qrels.txt', run='run.txt')"
    done = subprocess.run([core, "-I", "-c", code], cwd=tmp_path, capture_output=True, encoding="utf-8")
    assert done.returncode == 1
    assert f"MissingExtra: an index, ΔS or a TREC file needs numpy: pip install {RETRIEVAL}" in done.stderr
