"""The corpus of a suite: what is read of an index is what its manifest vouches for."""

import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from conftest import Done, run_cli, write_jsonl
from ragworthy.errors import DataError
from ragworthy.index.blocks import chunk_source, load_corpus
from ragworthy.index.found import corpus_files
from ragworthy.load.chunks import read_chunks

PIECES = ("ten seconds", "linen bag")
DOCS = {
    "guide.md": "# Guide\n\n## Doors\n\nThe doors close by themselves.\n",
    "bread.md": "# Bread\n\n## Storing\n\nKeep the loaf in a dry place.\n",
}
POLICY = """version = 1
[answers]
gold = "gold.jsonl"
traces = "traces.jsonl"
corpus = "{corpus}"

[[gate]]
metric = "answers.support"
min = 0.99
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("built")
    (root / "docs").mkdir()
    for name, text in DOCS.items():
        (root / "docs" / name).write_text(text)
    done = run_cli("index", "build", "--docs", root / "docs", "--out", root / "idx", "--dense", "none")
    assert done.code == 0, done
    return root / "idx"


@pytest.fixture
def home(built: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An index, and answers that are not in it: each cites a chunk that does not say what it claims."""
    monkeypatch.chdir(tmp_path)
    shutil.copytree(built, tmp_path / "idx")
    ids = [json.loads(line)["chunk_id"] for line in (built / "chunks.jsonl").read_text().splitlines()]
    gold: list[dict[str, Any]] = []
    traces: list[dict[str, Any]] = []
    for nth, piece in enumerate(PIECES):
        name = ids[nth]
        gold.append({"qid": f"q{nth}", "question": f"What, {nth}?", "answerable": True, "gold_claim_substr": [piece],
                     "gold_citations": [name]})  # fmt: skip
        traces.append({"qid": f"q{nth}", "retrieved_ids": [name], "e2e_ms": 5, "config_id": "a",
                       "answer_json": {"claim": f"It is {piece}.", "citations": [name]}})  # fmt: skip
    write_jsonl(tmp_path / "gold.jsonl", gold)
    write_jsonl(tmp_path / "traces.jsonl", traces)
    return tmp_path


def forge(index: Path) -> None:
    """Have every chunk say whatever is asked; the manifest stays as it is."""
    rows = [json.loads(line) for line in (index / "chunks.jsonl").read_text(encoding="utf-8").splitlines()]
    write_jsonl(index / "chunks.jsonl", [row | {"text": " ".join((row["text"], *PIECES))} for row in rows])


def forge_with_the_same_size(index: Path) -> None:
    path = index / "chunks.jsonl"
    data = path.read_bytes()
    path.write_bytes(data.replace(b"by themselves", b"ten seconds!!").replace(b"dry place", b"linen bag"))
    assert path.stat().st_size == len(data) and path.read_bytes() != data


def by_policy(corpus: str, *command: str) -> Done:
    Path("ragworthy.toml").write_text(POLICY.format(corpus=corpus))
    return run_cli(*command, "-c", "ragworthy.toml")


FILES = ("--gold", "gold.jsonl", "--trace", "traces.jsonl", "--corpus")
COMMANDS: dict[str, Callable[[str], Done]] = {
    "answers": lambda corpus: run_cli("score", "answers", *FILES, corpus, "--gates", "answers.support=0.99"),
    "gate": lambda corpus: by_policy(corpus, "gate"),
    "selftest": lambda corpus: by_policy(corpus, "gate", "--selftest"),
    "doctor": lambda corpus: run_cli("doctor", *FILES, corpus),
    "doctor by policy": lambda corpus: by_policy(corpus, "doctor"),
    "latency": lambda corpus: run_cli("score", "latency", "--gold", "gold.jsonl", "--runs", "traces.jsonl",
                                      "--corpus", corpus),
    "agreement": lambda corpus: run_cli("score", "agreement", *FILES, corpus),
}  # fmt: skip


@pytest.mark.parametrize("change", [forge, forge_with_the_same_size])
@pytest.mark.parametrize("given", ["idx", "idx/manifest.json"])
@pytest.mark.parametrize("command", COMMANDS)
def test_an_index_with_forged_chunks_is_refused(
    home: Path, command: str, given: str, change: Callable[[Path], None]
) -> None:
    assert COMMANDS[command](given).code != 2
    change(home / "idx")
    done = COMMANDS[command](given)
    assert done.code == 2 and done.out == "", done
    assert done.err.startswith("idx/chunks.jsonl: expected ") and "[RW-I02]" in done.err


def test_no_verdict_is_bought_by_editing_the_index(home: Path) -> None:
    assert by_policy("idx", "gate").code == 1
    receipt = Path(".ragworthy/receipt.json")
    assert run_cli("verify", receipt).code == 0
    forge(home / "idx")
    assert by_policy("idx", "gate").code == 2
    assert run_cli("verify", receipt).code != 0
    # the chunks alone are a file like any other: its own hash is in the report, and another one after an edit
    assert by_policy("idx/chunks.jsonl", "gate").code == 0


def test_a_forged_manifest_without_its_chunks_is_refused(home: Path) -> None:
    forge(home / "idx")
    path = home / "idx" / "manifest.json"
    content = json.loads(path.read_bytes())
    content["files"].pop("chunks.jsonl")
    path.write_text(json.dumps(content))
    for command in COMMANDS:
        done = COMMANDS[command]("idx")
        assert done.code == 2 and "[RW-I03]" in done.err


@pytest.mark.parametrize("command", COMMANDS)
def test_a_folder_that_is_no_index_is_refused(home: Path, command: str) -> None:
    (home / "empty").mkdir()
    done = COMMANDS[command]("empty")
    assert done.code == 2 and done.err.startswith("empty: expected ")
    assert "[RW-I01]" in done.err or "[RW-F02]" in done.err


def test_the_numbers_are_those_of_the_chunk_file(home: Path) -> None:
    reports, made = [], []
    for corpus in ("idx", "idx/manifest.json", "idx/chunks.jsonl"):
        done = run_cli("score", "answers", *FILES, corpus, "--format", "json")
        reports.append(json.loads(done.out)["suites"]["answers"])
        made.append(reports[-1].pop("provenance"))
    assert reports[0] == reports[1] == reports[2]
    assert made[0] == made[1] and made[0]["index_hash"] is not None
    assert made[2]["index_hash"] is None  # only a manifest says which index it is
    assert reports[0]["metrics"]["answers.support"]["num"] == 0
    assert [one["path"] for one in reports[0]["inputs"]] == ["gold.jsonl", "traces.jsonl", "idx/chunks.jsonl"]


def test_what_is_decoded_is_what_was_hashed(home: Path) -> None:
    """The file changes after the index was opened and before it is read, and keeps its size and time."""
    import os

    source = chunk_source(home / "idx")
    status = (home / "idx/chunks.jsonl").stat()
    forge_with_the_same_size(home / "idx")
    os.utime(home / "idx/chunks.jsonl", ns=(status.st_atime_ns, status.st_mtime_ns))
    with pytest.raises(DataError) as caught:
        read_chunks(source)
    assert "[RW-I02]" in str(caught.value)


def test_texts_need_neither_the_other_files_nor_numpy(home: Path) -> None:
    shutil.rmtree(home / "idx" / "canonical")
    script = (
        "import sys; from ragworthy.cli.main import main; code = main(sys.argv[1:]); "
        "print(code, 'numpy' in sys.modules)"
    )
    command = ["score", "answers", "-q", *FILES, "idx", "--gates", "answers.support=0.99"]
    done = subprocess.run([sys.executable, "-c", script, *command], capture_output=True, text=True, check=False)
    assert done.stdout.splitlines()[-1] == "1 False"
    with pytest.raises(DataError):  # whoever asks for the whole corpus has every file compared
        load_corpus(home / "idx")


def test_the_files_that_decide_what_is_read(home: Path) -> None:
    index = {"corpus": home / "idx/manifest.json", "corpus/chunks.jsonl": home / "idx/chunks.jsonl"}
    assert corpus_files(home / "idx") == corpus_files(home / "idx/manifest.json") == index
    assert corpus_files(home / "idx/chunks.jsonl") == {"corpus": home / "idx/chunks.jsonl"}
    assert list(corpus_files(home / "idx", "live_corpus")) == ["live_corpus", "live_corpus/chunks.jsonl"]


def test_a_chunk_file_that_changes_while_it_is_read_is_refused(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ragworthy.load.sources import PlainFile

    real = PlainFile.sha256

    def late(self: PlainFile) -> str:
        self.path.write_bytes(self.path.read_bytes() + b"\n")
        return real(self)

    monkeypatch.setattr(PlainFile, "sha256", late)
    with pytest.raises(DataError) as caught:
        load_corpus(home / "idx/chunks.jsonl")
    assert "[RW-F16]" in str(caught.value)
