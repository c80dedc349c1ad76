"""Run the tests with the oldest and the newest dependencies that pyproject.toml allows, on every supported Python.

    python release/matrix.py oldest newest [--smoke] [--python 3.12]

What is tested is what users get: the source distribution is built and unpacked, the wheel is built from it, and the
tests run from the unpacked folder against the installed wheel. Each run has an environment of its own in .venv-matrix.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tarfile
import tomllib
from pathlib import Path
from typing import NamedTuple

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from packaging.version import Version

ROOT = Path(__file__).parents[1]
HOME = ROOT / ".venv-matrix"
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]

SMOKE = {
    "bm25s": "test_index_lexical.py",
    "faiss-cpu": "test_index_dense.py",
    "httpx": "test_targets.py",
    "markdown-it-py": "test_corpus_markdown.py",
    "msgspec": "test_formats.py",
    "numpy": "test_trec.py",
    "pyarrow": "test_api.py",
    "rapidfuzz": "test_stability.py",
    "rfc8785": "test_receipt.py",
    "safetensors": "test_index_store.py",
    "selectolax": "test_corpus_html.py",
    "shtab": "test_cli.py::test_bash_completes_a_subcommand",
    "tokenizers": "test_index_embed.py",
    "vl-convert-python": "test_plot.py",
    "wordllama": "test_pipeline.py",
    "zstandard": "test_questions.py",
}
"""For each dependency the tests that use it most; together they are the short run of CI."""


class Built(NamedTuple):
    """The unpacked source distribution, and the wheel that was made from it."""

    source: Path
    wheel: Path


class Outcome(NamedTuple):
    """How one run ended; `failed` is False for a run that was skipped."""

    name: str
    failed: bool
    told: str


def main() -> int:
    """Run what was asked for, sum up, and fail when a run failed."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("which", nargs="+", choices=["oldest", "newest"])
    parser.add_argument("--smoke", action="store_true", help="only the tests that use a dependency most")
    parser.add_argument("--python", action="append", choices=supported(), help="this Python only; may be repeated")
    given = parser.parse_args()
    built = build()
    outcomes = []
    for version in given.python or supported():
        interpreter = interpreter_of(version)
        for which in given.which:
            name = f"Python {version}, {which} dependencies"
            if interpreter is None:
                outcomes.append(Outcome(name, False, f"SKIPPED: Python {version} is not on this machine"))
            else:
                outcomes.append(run(name, interpreter, which, built, smoke=given.smoke))
    print("\n== Summary ==")
    for outcome in outcomes:
        print(f"{outcome.name}: {outcome.told}")
    return int(any(outcome.failed for outcome in outcomes))


def supported() -> list[str]:
    """The Python versions of the classifiers: 3.11 and so on."""
    ends = [classifier.rpartition(" ")[2] for classifier in PROJECT["classifiers"] if "Python :: 3." in classifier]
    return sorted(ends, key=Version)


def interpreter_of(version: str) -> str | None:
    """An interpreter of this version that starts. A shim of pyenv may not, so look where it would lead, too."""
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
    with tarfile.open(packed) as archive:
        archive.extractall(HOME / "built", filter="data")
    source = packed.with_name(packed.name.removesuffix(".tar.gz"))
    uv("build", "--quiet", "--wheel", "--out-dir", HOME / "built", source)
    (wheel,) = (HOME / "built").glob("*.whl")
    return Built(source, wheel)


def run(name: str, interpreter: str, which: str, built: Built, *, smoke: bool) -> Outcome:
    """Install into a fresh environment, check what was installed, run the tests."""
    print(f"\n== {name} ==", flush=True)
    folder = HOME / f"{Path(interpreter).name}-{which}"
    python = folder / "bin" / "python"
    try:
        uv("venv", "--quiet", "--clear", "--python", interpreter, folder)
        versions = install(python, which, built)
    except subprocess.CalledProcessError as error:
        return Outcome(name, True, f"FAILED: uv {error.cmd[1]} ended with {error.returncode}")
    print(", ".join(f"{name} {version}" for name, version in versions.items()), flush=True)
    if which == "oldest" and (wrong := wrong_bounds(versions, interpreter)):
        return Outcome(name, True, "FAILED: " + "; ".join(wrong))
    tests = [f"tests/{file}" for file in SMOKE.values()] if smoke else ["tests"]
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    command = [str(python), "-m", "pytest", "-q", "-n", "2", "-p", "no:cacheprovider", *tests]
    code = subprocess.run(command, cwd=built.source, env=environment).returncode
    return Outcome(name, code != 0, "passed" if code == 0 else f"FAILED: pytest ended with {code}")


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


def wrong_bounds(versions: dict[str, Version], interpreter: str) -> list[str]:
    """Bounds that promise a version nobody can install, on the oldest Python; later ones may lack old wheels."""
    if not interpreter.endswith(f"python{supported()[0]}"):
        return []
    found = []
    for requirement in dependencies():
        installed = versions[requirement.name]
        if installed != lower_bound(requirement):
            found.append(f"pyproject.toml says {requirement}, the oldest that can be installed is {installed}")
    return found


if __name__ == "__main__":
    sys.exit(main())
