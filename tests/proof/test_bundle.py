"""One zip that is verified anywhere, from nothing but itself, whatever was scored."""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

import cases as c
from conftest import run_cli, write_jsonl
from places import ROOT
from ragworthy import starter
from repacked import files_of

EMPTY = "elsewhere"


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "made").mkdir()
    monkeypatch.chdir(tmp_path / "made")


def elsewhere(monkeypatch: pytest.MonkeyPatch, bundle: str = "evidence.zip") -> Path:
    """The bundle alone in an empty folder, which becomes the working folder; nothing else is left."""
    here = Path.cwd()
    home = here.parent / EMPTY
    home.mkdir()
    shutil.move(bundle, home / bundle)
    monkeypatch.chdir(home)
    shutil.rmtree(here)
    return Path(bundle)


def last(text: str) -> str:
    return text.splitlines()[-1]


@pytest.mark.parametrize("name", c.EVERY)
def test_a_score_of_every_suite_verifies_from_its_bundle_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = c.EVERY[name](Path())
    more = {} if name == "bundled" else c.more_files(case)
    done = run_cli(*c.command(case, "--bundle", "evidence.zip", "-q", **more))
    assert done.code in (0, 1, 3, 4), done
    verified = run_cli("verify", elsewhere(monkeypatch))
    assert (verified.code, last(verified.out)[:9]) == (0, "verified:"), verified


@pytest.mark.parametrize("name", [*c.SUITES, "pairs"])
def test_a_policy_of_every_suite_verifies_from_its_bundle_alone(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    case = c.EVERY[name](Path())
    options = c.more_files(case)
    baseline = {"baseline": str(c.baseline(case))} if case.suite == "answers" else {}
    policy = c.write_policy(case, c.gate(case, min=case.least), **options, **baseline)
    done = run_cli("gate", "-q", "-c", policy, "--bundle", "evidence.zip")
    assert done.code in (0, 1, 3, 4), done
    verified = run_cli("verify", elsewhere(monkeypatch))
    assert (verified.code, last(verified.out)[:9]) == (0, "verified:"), verified


FOUR = """version = 1
[answers]
gold = "answers/gold.jsonl"
traces = "answers/traces.jsonl"
[retrieval]
gold = "retrieval/gold.jsonl"
traces = "retrieval/traces.jsonl"
corpus = "index"
[structured]
questions = "structured/questions.jsonl"
outputs = "structured/outputs.jsonl"
definition = "structured/definition.toml"
[stability]
gold = "answers/gold.jsonl"
runs = "stability/runs.jsonl"
"""


def test_four_suites_and_an_index_verify_from_one_bundle(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("answers", "retrieval", "structured", "stability"):
        Path(name).mkdir()
        c.EVERY[name](Path(name))
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# S\n\nIt is q1.\n\n## T\n\nIt is q2.\n")
    assert run_cli("index", "build", "--docs", "docs", "--out", "index", "--dense", "none").code == 0
    Path("ragworthy.toml").write_text(FOUR)
    done = run_cli("gate", "-q", "--bundle", "evidence.zip")
    assert done.code in (0, 1, 3, 4), done
    names = set(files_of(Path("evidence.zip")))
    index = {name for name in os.listdir("index") if Path("index", name).is_file()}
    held = {name.rpartition("/")[2] for name in names if "retrieval.corpus" in name}
    assert index <= held  # an index is searched: all of its files are needed, not only its chunks
    assert sum(name.endswith("/gold.jsonl") and "answers" in name for name in names) == 1  # for two suites, once
    verified = run_cli("verify", elsewhere(monkeypatch))
    assert (verified.code, last(verified.out)[:9]) == (0, "verified:"), verified


def test_it_verifies_in_another_process_with_nothing_in_its_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    starter.init(Path())
    assert run_cli("gate", "-q", "--bundle", "evidence.zip").code == 0
    bundle = elsewhere(monkeypatch)
    before = {path: path.read_bytes() for path in Path().iterdir()}
    bare = {"PATH": os.defpath, "PYTHONPATH": str(ROOT / "src"), "TMPDIR": str(Path.cwd().parent)}
    done = subprocess.run(
        [sys.executable, "-m", "ragworthy", "verify", bundle, "--expect", "SHIP"],
        capture_output=True, text=True, check=False, env=bare,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    assert last(done.stdout) == "verified: SHIP re-derives byte for byte from 3 inputs (exit 0)"
    assert {path: path.read_bytes() for path in Path().iterdir()} == before
    assert [path.name for path in Path.cwd().parent.iterdir() if path.name.startswith("ragworthy-")] == []


def test_it_is_a_plain_zip_with_the_same_bytes_each_time() -> None:
    starter.init(Path())
    assert run_cli("gate", "-q", "--bundle", "one.zip").code == 0
    os.utime("gold/answers.jsonl", (1, 1))
    assert run_cli("gate", "-q", "--jobs", "2", "--bundle", "two.zip").code == 0
    assert Path("one.zip").read_bytes() == Path("two.zip").read_bytes()
    with zipfile.ZipFile("one.zip") as file:
        assert file.testzip() is None
        assert file.namelist() == sorted(file.namelist())
        assert {(one.compress_type, one.date_time, one.external_attr >> 16) for one in file.infolist()} == {
            (zipfile.ZIP_STORED, (1980, 1, 1, 0, 0, 0), 0o100644)
        }


def test_the_manifest_names_every_file_with_its_roles_and_its_hash() -> None:
    starter.init(Path())
    assert run_cli("gate", "-q", "--bundle", "evidence.zip", "--receipt", "r.json").code == 0
    files = files_of(Path("evidence.zip"))
    manifest = json.loads(files.pop("manifest.json"))
    assert manifest["schema"] == "ragworthy.bundle/1"
    assert manifest["files"] == [
        {"bytes": len(data), "name": name, "roles": roles, "sha256": hashlib.sha256(data).hexdigest()}
        for (name, data), roles in zip(
            sorted(files.items()), (["gold"], ["policy"], ["trace"], [], [], [], []), strict=True
        )
    ]
    assert files["receipt.json"] == Path("r.json").read_bytes()
    assert files["inputs/01-gold/answers.jsonl"] == Path("gold/answers.jsonl").read_bytes()
    assert files["report.md"].startswith("## ✅ Ragworthy: SHIP".encode())
    assert [json.loads(line)["qid"] for line in files["rows.jsonl"].splitlines()] == [
        json.loads(line)["qid"] for line in Path("gold/answers.jsonl").read_text().splitlines()
    ]


def test_paths_of_every_kind_in_a_policy_do_not_matter(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Absolute, through a link, with signs that no zip should have: each input is found by its bytes."""
    starter.init(Path())
    odd = tmp_path / "a b ü\\c"
    odd.mkdir()
    shutil.move("gold/answers.jsonl", odd / "g öld.jsonl")
    Path("linked").symlink_to(Path("runs/latest").resolve())
    policy = (
        Path("ragworthy.toml").read_text().replace("gold/answers.jsonl", f"{odd}/g öld.jsonl".replace("\\", "\\\\"))
    )
    Path("ragworthy.toml").write_text(policy.replace("runs/latest", "linked"))
    assert run_cli("gate", "-q", "--bundle", "evidence.zip").code == 0
    assert "inputs/01-gold/g-ld.jsonl" in files_of(Path("evidence.zip"))
    shutil.rmtree(odd)
    assert run_cli("verify", elsewhere(monkeypatch)).code == 0


def test_packed_inputs_keep_their_format(monkeypatch: pytest.MonkeyPatch) -> None:
    import gzip

    case = c.answers(Path())
    Path("traces.jsonl.gz").write_bytes(gzip.compress(Path("traces.jsonl").read_bytes()))
    files = ("--gold", case.files["gold"], "--trace", "traces.jsonl.gz")
    assert run_cli("score", "answers", *files, "-q", "--bundle", "evidence.zip").code in (0, 3)
    assert run_cli("verify", elsewhere(monkeypatch)).code == 0


PLUGIN = '''
import ragworthy
from pathlib import Path

Path({mark!r}).write_text("ran")

@ragworthy.metric(suite="answers", better="higher", cases="answers", event="in scope", undefined="none", source="x")
def in_scope(facts):
    """Share of answers in scope."""
    return facts.in_scope if facts.shipped else None
'''


@pytest.mark.parametrize("way", [c.POLICY, c.COMMAND])
def test_code_in_a_bundle_is_run_only_on_demand(way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = c.answers(Path())
    mark = tmp_path / "mark"
    Path("own.py").write_text(PLUGIN.format(mark=str(mark)))
    if way == c.POLICY:
        gate = '[[gate]]\nmetric = "answers.in_scope"\nmin = 0.5\n'
        words = ["gate", "-c", c.write_policy(case, gate, plugins=["own.py"])]
    else:
        words = [*c.command(case, "--plugin", "own.py", "--gates", "in_scope=0.5")]
    assert run_cli(*words, "-q", "--bundle", "evidence.zip").code in (0, 3)
    bundle = elsewhere(monkeypatch)
    mark.unlink()
    for name in [name for name in sys.modules if name.startswith("ragworthy_plugin_")]:
        del sys.modules[name]  # as in a new process
    done = run_cli("verify", bundle)
    assert (done.code, done.out, mark.exists()) == (2, "", False)
    assert done.err.splitlines()[0] == ("expected --run-plugins, got a bundle with code of plugins (own.py) [RW-R06]")
    done = run_cli("verify", bundle, "--run-plugins")
    assert (done.code, mark.read_text()) == (0, "ran"), done
    assert "ran the code of the plugin own.py " in done.out


def test_what_cannot_be_a_bundle_is_refused_before_anything_is_scored() -> None:
    starter.init(Path())
    done = run_cli("gate", "--bundle", "evidence.tar")
    assert (done.code, done.err.splitlines()[0]) == (2, "--bundle: expected a .zip file, got evidence.tar [RW-U01]")
    Path("gold.zip").write_bytes(Path("gold/answers.jsonl").read_bytes())
    policy = Path("ragworthy.toml")
    policy.write_text(policy.read_text().replace("gold/answers.jsonl", "gold.zip"))
    done = run_cli("gate", "--bundle", "gold.zip")
    assert (done.code, done.err.splitlines()[0]) == (2, "gold.zip: expected a new file, got one that is read [RW-U01]")
    done = run_cli("gate", "--selftest", "--bundle", "e.zip")
    assert done.code == 2
    assert not Path(".ragworthy").exists()


def test_a_bundle_of_another_version_says_so() -> None:
    from repacked import canonical, packed, sealed

    starter.init(Path())
    assert run_cli("gate", "-q", "--bundle", "e.zip").code == 0
    files = files_of(Path("e.zip"))
    files["receipt.json"] = canonical(files["receipt.json"], lambda body: body["tool"].update(version="0.1.0"))
    done = run_cli("verify", packed(Path("old.zip"), sealed(files)))
    assert (done.code, done.out.splitlines()[0]) == (
        1, "tool: the receipt was made by version 0.1.0, this is 0.2.0: verify it with that version",
    )  # fmt: skip


def test_inputs_are_no_choice_for_a_bundle() -> None:
    write_jsonl(Path("x"), [])
    starter.init(Path())
    assert run_cli("gate", "-q", "--bundle", "e.zip").code == 0
    done = run_cli("verify", "e.zip", "--inputs", ".")
    assert (done.code, done.err.splitlines()[0]) == (
        2, "--inputs: expected a receipt besides it, got a bundle, which holds its inputs [RW-U01]",
    )  # fmt: skip
