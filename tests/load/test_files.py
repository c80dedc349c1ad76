"""What is opened and what is written: regular files only, with limits; nothing that was read is replaced."""

import gzip
import hashlib
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import zstandard

import ragworthy as rw
from conftest import run_cli, write_jsonl
from ragworthy import files, starter
from ragworthy.errors import DataError, UsageError
from ragworthy.load import unpack
from ragworthy.load.decode import Decoder
from ragworthy.load.sources import open_source
from ragworthy.records import Gold, Trace

Row = dict[str, Any]


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


@pytest.fixture
def _patience() -> Iterator[None]:
    """Whatever hangs is ended and fails."""

    def late(*_: object) -> None:
        raise TimeoutError("the command hangs")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(30)
    yield
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


def _laid() -> None:
    """The starter files, and one good file of every other kind that commands take."""
    starter.init(Path())
    shutil.copy("gold/answers.jsonl", "g.jsonl")
    shutil.copy("runs/latest/traces.jsonl", "t.jsonl")
    write_jsonl(Path("rg.jsonl"), [{"qid": "Q1", "relevant": ["d#1"], "anchor_section": "S.1", "paraphrases": ["a"]}])
    write_jsonl(Path("rt.jsonl"), [{"qid": "Q1", "topk": [{"id": "d#1"}], "answer_citations": ["d#1"]}])
    Path("qrels.txt").write_text("1 0 d1 1\n")
    Path("run.txt").write_text("1 Q0 d1 1 0.5 tag\n")
    write_jsonl(Path("pairs.jsonl"), [{"qid": "q", "scholar": {"label": "VALID"}, "auditor": {"label": "VALID"}}])
    write_jsonl(Path("votes.jsonl"), [{"qid": "q", "label": "VALID"}])
    runs = [{"qid": row["qid"], "seed": n, "e2e_ms": 5} | row for row in _rows("t.jsonl") for n in (0, 1)]
    write_jsonl(Path("runs.jsonl"), runs)
    Path("docs").mkdir()
    Path("docs/a.md").write_text("# A\n\nText.\n")
    Path("pack.toml").write_text("id = \"mine\"\n[[rule]]\nlocked = 'never'\nclaim = 'always'\n")
    Path("gates.toml").write_text("precision = 0.5\n")


def _rows(name: str) -> list[Row]:
    return [json.loads(line) for line in Path(name).read_text().splitlines()]


ANSWERS = ("score", "answers", "-q", "--gold", "g.jsonl", "--trace", "t.jsonl")
RETRIEVAL = ("score", "retrieval", "-q", "--gold", "rg.jsonl", "--trace", "rt.jsonl", "--gates", "recall@5=0.5")
ARGUMENTS: list[tuple[str, ...]] = [
    ("gate", "-q", "-c", "ODD"),
    ("gate", "-q", "--baseline", "ODD"),
    ("score", "answers", "-q", "--gold", "ODD", "--trace", "t.jsonl"),
    ("score", "answers", "-q", "--gold", "g.jsonl", "--trace", "ODD"),
    (*ANSWERS, "--corpus", "ODD"),
    (*ANSWERS, "--baseline", "ODD"),
    (*ANSWERS, "--lock", "ODD"),
    (*ANSWERS, "--rule-pack", "ODD", "--scu-enforced"),
    (*ANSWERS, "--gates", "ODD"),
    ("score", "answers", "--profile", "reference", "--gold", "ODD", "--trace", "t.jsonl"),
    ("score", "answers", "--profile", "reference", "--gold", "g.jsonl", "--trace", "ODD"),
    (*RETRIEVAL, "--redirects", "ODD"),
    (*RETRIEVAL, "--live", "ODD"),
    (*RETRIEVAL, "--corpus", "ODD"),
    ("score", "retrieval", "-q", "--qrels", "ODD", "--run", "run.txt", "--gates", "recall@5=0.5"),
    ("score", "retrieval", "-q", "--qrels", "qrels.txt", "--run", "ODD", "--gates", "recall@5=0.5"),
    ("score", "structured", "-q", "--questions", "ODD", "--outputs", "t.jsonl"),
    ("score", "structured", "-q", "--questions", "g.jsonl", "--outputs", "t.jsonl", "--definition", "ODD"),
    ("score", "structured", "-q", "--questions", "g.jsonl", "--outputs", "t.jsonl", "--provenance", "ODD"),
    ("score", "structured", "-q", "--questions", "g.jsonl", "--outputs", "t.jsonl", "--subset", "ODD"),
    ("score", "stability", "-q", "--gold", "g.jsonl", "--runs", "ODD"),
    ("score", "stability", "--profile", "reference", "--gold", "ODD", "--runs", "runs.jsonl"),
    ("score", "latency", "-q", "--gold", "g.jsonl", "--runs", "ODD"),
    ("score", "latency", "-q", "--gold", "g.jsonl", "--runs", "runs.jsonl", "--prices", "ODD"),
    ("score", "agreement", "-q", "--pairs", "ODD"),
    ("score", "agreement", "-q", "--scholar", "votes.jsonl", "--auditor", "ODD"),
    ("score", "agreement", "--profile", "reference", "--pairs", "ODD"),
    ("verify", "ODD"),
    ("gold", "lint", "ODD"),
    ("gold", "freeze", "ODD", "--signer", "me", "--reason", "why"),
    ("gold", "verify", "g.jsonl", "--lock", "ODD"),
    ("gold", "diff", "ODD", "g.jsonl"),
    ("gold", "rebind", "rg.jsonl", "--redirects", "ODD", "-o", "out.jsonl"),
    ("history", "trend", "ODD", "ODD"),
    ("index", "build", "--docs", "ODD", "--out", "idx", "--dense", "none"),
    ("import", "trec", "--qrels", "ODD", "--gold-out", "out.jsonl"),
    ("import", "trec", "--qrels", "qrels.txt", "--topics", "ODD", "--gold-out", "out.jsonl"),
    ("run", "-q", "--target", "replay:ODD", "--gold", "g.jsonl", "--out", "out"),
    ("run", "-q", "--target", "replay:t.jsonl", "--gold", "ODD", "--out", "out"),
    ("run", "-q", "--target", "replay:t.jsonl", "--gold", "g.jsonl", "--out", "out", "--knobs", "ODD"),
]


@pytest.mark.parametrize("kind", ["pipe", "device", "null", "folder", "loop", "nothing"])
def test_what_is_no_file_is_refused_wherever_a_file_is_expected(kind: str, _patience: None) -> None:
    _laid()
    odd = Path("odd.toml")
    if kind == "pipe":
        os.mkfifo(odd)
    elif kind == "folder":
        odd.mkdir()
    elif kind == "loop":
        odd.symlink_to(odd)
    elif kind != "nothing":
        odd.symlink_to("/dev/zero" if kind == "device" else "/dev/null")
    for words in ARGUMENTS:
        if kind == "folder" and words[:2] == ("index", "build"):
            continue  # a folder is what it takes
        began = time.monotonic()
        done = run_cli(*(word.replace("ODD", "odd.toml") for word in words))
        assert done.code == 2, (words, done)
        assert "[RW-" in done.err and "RW-X70" not in done.err, (words, done)
        assert time.monotonic() - began < 10, words


def test_large_files_are_refused_where_small_ones_are_read_whole() -> None:
    with Path("policy.toml").open("wb") as file:
        file.truncate(3 << 30)  # sparse: it takes no room
    done = run_cli("gate", "-c", "policy.toml")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "policy.toml: expected a file of at most 64 MiB, got 3,221,225,472 bytes [RW-F19]",
    )


def _packed(path: Path, data: bytes) -> Path:
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else zstandard.ZstdCompressor().compress(data))
    return path


@pytest.mark.parametrize("suffix", [".gz", ".zst"])
def test_a_small_file_that_unpacks_to_a_huge_one_is_refused(suffix: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(unpack, "UNPACKED", 1 << 20)
    path = _packed(Path(f"qrels.txt{suffix}"), b"1 0 d 1\n" * (1 << 20))
    done = run_cli("score", "retrieval", "--qrels", path, "--run", path, "--gates", "recall@5=0.5")
    assert done.code == 2
    assert "MiB unpacked from a file of this size, got more [RW-F20]" in done.err.splitlines()[0]
    ordinary = _packed(Path(f"ordinary.txt{suffix}"), "".join(f"{n} 0 d{n * n} 1\n" for n in range(200_000)).encode())
    assert len(unpack.whole(ordinary, limit=1 << 30)) > 1 << 20


def test_a_text_that_many_rows_of_a_parquet_file_share_is_counted_for_each_of_them() -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    shared = pyarrow.DictionaryArray.from_arrays(pyarrow.array([0] * 2048, pyarrow.int32()), ["a" * (4 << 20)])
    parquet.write_table(pyarrow.table({"qid": shared}), "bomb.parquet", compression="zstd")
    assert Path("bomb.parquet").stat().st_size < 4096
    done = run_cli("score", "answers", "--gold", "bomb.parquet", "--trace", "bomb.parquet")
    assert (done.code, done.err.splitlines()[0]) == (
        2,
        "bomb.parquet: expected at most 256 MiB unpacked from a file of this size, got more [RW-F20]",
    )


def test_blank_lines_cost_next_to_nothing() -> None:
    _laid()
    blank = b"\n" * (64 << 20)
    _packed(Path("many.jsonl.gz"), blank + Path("t.jsonl").read_bytes() + blank)
    began = time.process_time()
    done = run_cli("score", "answers", "-q", "--gold", "g.jsonl", "--trace", "many.jsonl.gz", "--jobs", "1")
    assert (done.code, done.out) == (0, "verdict: SHIP (exit 0)\n")
    assert time.process_time() - began < 60  # it took minutes line by line; the limit is generous on purpose


TWO = b'{"qid":"a","answerable":false}\n{"qid":"b","answerable":false}\n'


@pytest.mark.parametrize(
    "data",
    [
        b'{"qid":"a","answerable":false},{"qid":"b","answerable":false}\n{"qid":"c"\n"answerable":false}\n',
        b'{"qid":"a","answerable":false} {"qid":"b","answerable":false}\n{"qid":"c",\n"answerable":false}\n',
        b'{"qid":"a","answerable":false}{"qid":"b","answerable":false}\n{"qid":"c",\r\n"answerable":false}\n',
        b'{"qid":"a","x":[{}\n{}],"answerable":false}\n{"qid":"b","answerable":false},{"qid":"c","answerable":false}\n',
        b'{"qid":"a","x":[{},\n{}],"answerable":false}\n{"qid":"b","answerable":false}{"qid":"c","answerable":false}\n',
    ],
)
def test_lines_that_are_only_records_together_are_refused(data: bytes) -> None:
    """Records and lines are equally many; but a record is on two lines, and two are on one."""
    Path("gold.jsonl").write_bytes(data)
    decoder = Decoder(Gold)
    for block in open_source("gold", Path("gold.jsonl")).blocks():
        decoder.records(block)
    assert decoder.faults


@pytest.mark.parametrize("data", [TWO, TWO[:-1], TWO.replace(b"\n", b"\r\n"), b"\n \n" + TWO, TWO.replace(b"}", b"} ")])
def test_every_usual_form_of_json_lines_is_read(data: bytes) -> None:
    Path("gold.jsonl").write_bytes(data)
    decoder = Decoder(Gold)
    found = [gold.qid for block in open_source("g", Path("gold.jsonl")).blocks() for gold in decoder.records(block)]
    assert (found, decoder.faults) == (["a", "b"], [])


def test_a_trace_with_very_many_ids_is_scored_in_time() -> None:
    ids = [f"d{n}#1" for n in range(200_000)]
    gold = [{"qid": "q", "answerable": True, "gold_claim_substr": ["the text"], "gold_citations": [ids[-1]]}]
    trace = {"qid": "q", "retrieved_ids": ids, "answer_json": {"claim": "the text", "citations": ids}}
    began = time.process_time()
    result = rw.score("answers", gold=gold, traces=[trace], gates="chr=0.5")
    assert result.metrics["answers.chr"].value == 1.0
    assert time.process_time() - began < 20  # it took minutes


# outputs


def test_an_output_is_never_one_of_the_inputs() -> None:
    _laid()
    run_cli("gold", "freeze", "g.jsonl", "--signer", "me", "--reason", "why")
    run_cli("gold", "freeze", "gold/answers.jsonl", "--signer", "me", "--reason", "why")
    run_cli("index", "build", "--docs", "docs", "--out", "live", "--dense", "none")
    run_cli("index", "build", "--docs", "docs", "--out", "next", "--dense", "none")
    run_cli("index", "migrate", "live", "next", "-o", "redirects.json")
    shutil.copy("g.jsonl", "g.json")
    shutil.copy("pairs.jsonl", "p.json")
    Path("ag.json").write_text(Path("g.jsonl").read_text())
    Path("queries.txt").write_text("text\n")
    before = {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
    reference = ("--profile", "reference")
    commands: list[tuple[str, ...]] = [
        ("gate", "--receipt", "gold/answers.lock"),
        ("gate", "--receipt", "gold/answers.jsonl"),
        ("gate", "--receipt", "ragworthy.toml"),
        (*ANSWERS, "--receipt", "g.lock"),
        (*ANSWERS, "--rule-pack", "pack.toml", "--receipt", "pack.toml"),
        (*ANSWERS, "--gates", "gates.toml", "--receipt", "gates.toml"),
        (*RETRIEVAL, "--redirects", "redirects.json", "--receipt", "redirects.json"),
        (*RETRIEVAL, "--corpus", "live", "--receipt", "live/manifest.json"),
        ("score", "answers", *reference, "--gold", "g.json", "--trace", "t.jsonl", "-o", "g.json"),
        ("score", "stability", *reference, "--gold", "ag.json", "--runs", "runs.jsonl", "-o", "ag.json"),
        ("score", "agreement", *reference, "--pairs", "p.json", "-o", "p.json"),
        ("index", "diff", "live", "next", "--gold", "rg.jsonl", "-o", "live/manifest.json"),
        ("index", "diff", "live", "next", "--gold", "rg.jsonl", "-o", "rg.jsonl"),
        ("index", "diff", "live", "next", "--gold", "rg.jsonl", "--queries", "queries.txt", "-o", "queries.txt"),
        ("gold", "rebind", "rg.jsonl", "--redirects", "redirects.json", "-o", "redirects.json"),
        ("import", "trec", "--qrels", "qrels.txt", "--run", "run.txt", "--gold-out", "zz", "--trace-out", "zz"),
        ("import", "trec", "--qrels", "qrels.txt", "--gold-out", "qrels.txt"),
    ]
    for words in commands:
        done = run_cli(*words)
        assert done.code == 2, (words, done)
        after = {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
        assert after == before, words


def test_what_was_read_is_not_replaced_even_where_no_command_looked_first() -> None:
    Path("in.txt").write_text("mine")
    Path("link.txt").symlink_to("in.txt")
    os.link("in.txt", "twin.txt")
    with files.remembering():
        assert files.read_text(Path("in.txt")) == "mine"
        for name in ("in.txt", "./in.txt", "link.txt", "twin.txt"):
            with pytest.raises(UsageError, match="expected a new file, got one that is read"):
                files.write_whole(Path(name), b"report")
        files.write_whole(Path("in.txt"), b"renewed", renews=True)
        assert files.sha256_of(Path("in.txt")) == hashlib.sha256(b"renewed").hexdigest()
    files.write_whole(Path("in.txt"), b"later")  # another command may
    assert Path("in.txt").read_text() == "later"


def test_what_is_pinned_is_what_was_read() -> None:
    Path("policy.toml").write_bytes(b"read")
    with files.remembering():
        files.read_bytes(Path("policy.toml"))
        Path("policy.toml").write_bytes(b"changed by somebody since")
        assert files.sha256_of(Path("policy.toml")) == hashlib.sha256(b"read").hexdigest()
    assert files.sha256_of(Path("policy.toml")) == hashlib.sha256(b"changed by somebody since").hexdigest()


def test_a_python_result_never_replaces_what_it_was_made_from() -> None:
    _laid()
    result = rw.score("answers", gold="g.jsonl", traces="t.jsonl")
    for name in ("g.jsonl", "t.jsonl"):
        with pytest.raises(rw.RagworthyError, match="got one that is read"):
            result.write(name)
    result.write("rows.jsonl")
    result.write("rows.jsonl")
    assert len(_rows("rows.jsonl")) == len(_rows("g.jsonl"))


def test_a_device_gets_the_bytes_and_stays_a_device(tmp_path: Path) -> None:
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    files.write_whole(Path("/dev/null"), b"receipt")
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    _laid()
    assert run_cli("gate", "-q", "--receipt", "/dev/null").code == 0
    assert stat.S_ISCHR(os.stat("/dev/null").st_mode)
    assert not list(Path("/dev").glob("*.part"))


def test_a_pipe_gets_the_bytes_and_one_that_nobody_reads_is_an_error() -> None:
    os.mkfifo("pipe")
    with pytest.raises(DataError, match="pipe: cannot be written: No such device or address"):
        files.write_whole(Path("pipe"), b"receipt")
    reader = subprocess.Popen([sys.executable, "-c", "print(open('pipe').read())"], stdout=subprocess.PIPE)
    while True:
        try:
            files.write_whole(Path("pipe"), b"receipt")
            break
        except DataError:  # the reader has not opened it yet
            time.sleep(0.01)
    assert reader.communicate(timeout=30)[0] == b"receipt\n"
    assert stat.S_ISFIFO(Path("pipe").stat().st_mode)


def test_a_link_is_followed_and_stays_a_link() -> None:
    Path("real").mkdir()
    Path("real/report.json").write_text("old")
    Path("report.json").symlink_to("real/report.json")
    files.write_whole(Path("report.json"), b"new")
    assert Path("report.json").is_symlink() and Path("real/report.json").read_text() == "new"
    Path("loop").symlink_to("loop")
    with pytest.raises(DataError, match="loop: cannot be written: Too many levels of symbolic links"):
        files.write_whole(Path("loop"), b"x")
    with pytest.raises(DataError, match="real: cannot be written: Is a directory"):
        files.write_whole(Path("real"), b"x")
    assert sorted(path.name for path in Path().iterdir()) == ["loop", "real", "report.json"]


AGREEMENT = 'version = 1\n[agreement]\npairs = "pairs.jsonl"\ntsv = "{}"\n'


@pytest.mark.parametrize("place", ["../fake_bashrc", "{tmp}/fake_bashrc", "link/fake_bashrc", "notes.txt"])
def test_a_policy_writes_only_inside_its_folder_and_only_over_its_own(place: str, tmp_path: Path) -> None:
    """A policy may come with somebody else's pull request: it must not choose what is overwritten."""
    (tmp_path / "fake_bashrc").write_text("export A=1\n")
    home = tmp_path / "repo"
    home.mkdir()
    (home / "link").symlink_to(tmp_path)
    (home / "notes.txt").write_text("mine\n")
    row = {"qid": "$(touch PWNED)", "scholar": {"label": "VALID"}, "auditor": {"label": "REJECT"}}
    write_jsonl(home / "pairs.jsonl", [row])
    (home / "ragworthy.toml").write_text(AGREEMENT.format(place.format(tmp=tmp_path)))
    done = run_cli("gate", "-q", "-c", home / "ragworthy.toml")
    assert (done.code, done.out) == (2, "")
    assert "[RW-U03]" in done.err
    assert (tmp_path / "fake_bashrc").read_text() == "export A=1\n"
    assert (home / "notes.txt").read_text() == "mine\n"
    assert not (home / ".ragworthy").exists()
    (home / "ragworthy.toml").write_text(AGREEMENT.format("out/apart.tsv"))
    for _ in range(2):  # a table of ours is replaced
        assert run_cli("gate", "-q", "-c", home / "ragworthy.toml").code == 1
    assert (home / "out/apart.tsv").read_text().startswith("qid\tscholar\t")


@pytest.mark.parametrize("trap", ["folder", "file", "foreign"])
def test_the_usual_place_of_the_receipt_leads_nowhere_else(trap: str, tmp_path: Path) -> None:
    home = tmp_path / "repo"
    starter.init(home)
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "receipt.json").write_text("precious\n")
    if trap == "folder":
        (home / ".ragworthy").symlink_to(outside)
    else:
        (home / ".ragworthy").mkdir()
        if trap == "file":
            (home / ".ragworthy/receipt.json").symlink_to(outside / "receipt.json")
        else:
            (home / ".ragworthy/receipt.json").write_text("precious\n")
    done = run_cli("gate", "-q", "-c", home / "ragworthy.toml")
    assert (done.code, "[RW-U03]" in done.err) == (2, True)
    assert (outside / "receipt.json").read_text() == "precious\n"
    assert (home / ".ragworthy/receipt.json").read_text() == "precious\n"


def test_arguments_that_are_not_utf8_are_refused_before_anything_happens() -> None:
    _laid()
    odd = os.fsdecode(b"g\xff.jsonl")
    shutil.copy("g.jsonl", odd)
    for words in (
        ("score", "answers", "-q", "--gold", odd, "--trace", "t.jsonl", "--receipt", "r.json"),
        ("run", "-q", "--target", "replay:t.jsonl", "--gold", odd, "--out", "out"),
        ("run", "-q", "--target", "replay:t.jsonl", "--gold", "g.jsonl", "--out", os.fsdecode(b"o\xff")),
        ("gold", "freeze", odd, "--signer", "me", "--reason", "why"),
        ("gold", "freeze", "g.jsonl", "--signer", os.fsdecode(b"\xff"), "--reason", "why"),
        (*ANSWERS, "--slice", os.fsdecode(b"\xff")),
        (*ANSWERS, "--refusal", os.fsdecode(b"\xff"), "--receipt", "r.json"),
    ):
        done = run_cli(*words)
        assert (done.code, "[RW-U04]" in done.err, done.out) == (2, True, ""), words
    assert not Path("r.json").exists() and not Path("out").exists()


def test_traces_without_names_still_have_their_line_named() -> None:
    """The strict reading of lines keeps the numbers of lines right."""
    Path("t.jsonl").write_bytes(b'\n{"qid":"a"}\n\n  \n{"qid":1}\n')
    source = open_source("trace", Path("t.jsonl"))
    decoder = Decoder(Trace)
    records = [record for block in source.blocks() for record in decoder.records(block)]
    assert len(records) + len(decoder.faults) == 2
    assert source.lines_at(fault.offset for fault in decoder.faults) == {17: 5}


def test_a_machine_without_memory_is_named_and_is_no_defect() -> None:
    with Path("q.json").open("wb") as file:
        file.write(b"[")
        file.truncate(900 << 20)  # an array that is read in one piece
    limited = (
        "import resource; resource.setrlimit(resource.RLIMIT_AS, (900 << 20, 900 << 20)); "
        "from ragworthy.cli.main import entry; entry()"
    )
    command = ["score", "structured", "--questions", "q.json", "--outputs", "q.json"]
    done = subprocess.run([sys.executable, "-c", limited, *command], capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.endswith("got no more memory [RW-F21]\n")


# what a second look found


def test_a_run_does_not_remove_what_it_reads() -> None:
    starter.init(Path())
    shutil.copy("runs/latest/traces.jsonl", "recorded.jsonl")
    shutil.copy("gold/answers.jsonl", "runs/latest/timings.jsonl")
    before = {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()}
    latest = ("--out", "runs/latest")
    for words in (
        ("run", "--target", "replay:runs/latest/traces.jsonl", "--gold", "gold/answers.jsonl", *latest),
        ("run", "--target", "replay:recorded.jsonl", "--gold", "runs/latest/timings.jsonl", *latest),
        ("run", "--target", "replay:recorded.jsonl", "--gold", "gold/answers.jsonl", "--knobs",
         "runs/latest/timings.jsonl", *latest),
        ("experiment", "stability", "--target", "replay:runs/latest/traces.jsonl", "--gold", "gold/answers.jsonl",
         *latest),
    ):  # fmt: skip
        done = run_cli(*words)
        assert (done.code, "got one that is read" in done.err) == (2, True), (words, done)
        assert {path: path.read_bytes() for path in sorted(Path().rglob("*")) if path.is_file()} == before, words


@pytest.mark.parametrize("profile", ["default", "reference"])
def test_disagreements_are_written_only_where_somebody_says(profile: str) -> None:
    row = {"qid": "a", "scholar": {"label": "VALID"}, "auditor": {"label": "REJECT"}}
    write_jsonl(Path("pairs.jsonl"), [row])
    words = ("score", "agreement", "--pairs", "pairs.jsonl", "--profile", profile)
    before = sorted(Path().rglob("*"))
    assert run_cli(*words).code == 1
    assert sorted(Path().rglob("*")) == before
    assert run_cli(*words, "--tsv", "apart/table.tsv").code == 1
    assert Path("apart/table.tsv").read_text().startswith("qid\t")
    assert run_cli(*words, "--tsv", "pairs.jsonl").code == 2


def test_commands_that_name_files_themselves_replace_only_their_own() -> None:
    Path("d").mkdir()
    Path("d/chunks.jsonl").write_text("mine\n")
    done = run_cli("demo", "-q", "--recorded", "--out", "d")
    assert (done.code, "[RW-U03]" in done.err, Path("d/chunks.jsonl").read_text()) == (2, True, "mine\n")
    assert run_cli("demo", "-q", "--recorded", "--out", "e").code == 0
    assert run_cli("demo", "-q", "--recorded", "--out", "e").code == 0
    _laid()
    for version in ("old", "new"):
        run_cli("index", "build", "--docs", "docs", "--out", version, "--dense", "none")
    run_cli("index", "migrate", "old", "new", "-o", "table.json")
    rebind = ("gold", "rebind", "rg.jsonl", "--redirects", "table.json", "-o", "out.jsonl")
    Path("out.log.jsonl").write_text("mine\n")
    done = run_cli(*rebind)
    assert (done.code, "[RW-U03]" in done.err, Path("out.log.jsonl").read_text()) == (2, True, "mine\n")
    Path("out.log.jsonl").unlink()
    assert run_cli(*rebind).code == run_cli(*rebind).code
    assert Path("out.log.jsonl").exists()


def test_an_index_is_not_built_from_itself() -> None:
    _laid()
    run_cli("index", "build", "--docs", "docs", "--out", "live", "--dense", "none")
    before = {path: path.read_bytes() for path in Path("live").rglob("*") if path.is_file()}
    for docs in ("live", "live/canonical", "live/chunks.jsonl"):
        done = run_cli("index", "build", "--docs", docs, "--out", "live", "--dense", "none")
        assert (done.code, "expected documents outside --out" in done.err) == (2, True), docs
    assert {path: path.read_bytes() for path in Path("live").rglob("*") if path.is_file()} == before


def test_a_journal_is_not_written_through_a_link_that_leads_to_nothing() -> None:
    _laid()
    Path("out").mkdir()
    Path("out/journal.jsonl").symlink_to("../.bash_aliases")
    done = run_cli("run", "-q", "--target", "replay:t.jsonl", "--gold", "g.jsonl", "--out", "out")
    assert (done.code, "it is a link that leads to nothing [RW-F14]" in done.err) == (2, True)
    assert not Path(".bash_aliases").exists()


@pytest.mark.parametrize("kind", ["values", "nulls", "rows"])
def test_values_that_cost_no_bytes_in_a_parquet_file_are_counted(kind: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    count = 5_000_000
    whole = pyarrow.array([0, count], pyarrow.int32())
    columns: dict[str, Callable[[], Any]] = {
        "values": lambda: [["x" * 6] * count],
        "nulls": lambda: pyarrow.ListArray.from_arrays(whole, pyarrow.nulls(count, pyarrow.string())),
        "rows": lambda: pyarrow.nulls(count, pyarrow.string()),
    }
    parquet.write_table(pyarrow.table({"gold_claim_substr": columns[kind]()}), "bomb.parquet", compression="zstd")
    assert Path("bomb.parquet").stat().st_size < 100_000
    done = run_cli("gold", "lint", "bomb.parquet")
    assert (done.code, "[RW-F20]" in done.err) == (2, True), done
