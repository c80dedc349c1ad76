"""The commands a new user meets, run as they would run them."""

import contextlib
import json
import os
import pty
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from conftest import run_cli, write_jsonl
from ragworthy.cli.main import main
from ragworthy.codes import CATALOGUE
from ragworthy.metrics.registry import all_metrics

RAGWORTHY = [sys.executable, "-m", "ragworthy"]


def test_init_then_gate_then_verify(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init"]) == 0
    assert capsys.readouterr().out.splitlines()[-1] == "next: ragworthy gate"
    assert main(["gate"]) == 0
    out = capsys.readouterr().out
    assert out.startswith("SHIP: all 5 gates hold\n")
    assert out.endswith("verdict: SHIP (exit 0)\n")
    assert main(["verify", ".ragworthy/receipt.json"]) == 0
    assert "re-derives byte for byte from 3 inputs" in capsys.readouterr().out


def test_init_never_overwrites(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    policy = tmp_path / "ragworthy.toml"
    policy.write_text("mine")
    assert main(["init", str(tmp_path)]) == 2
    assert capsys.readouterr().err == (
        f"{policy}: already there [RW-U03]\n  would_overwrite: Choose another place; nothing of yours is overwritten.\n"
    )
    assert policy.read_text() == "mine"
    assert [path.name for path in tmp_path.iterdir()] == ["ragworthy.toml"]


def test_bundled_example_is_what_it_says() -> None:
    from ragworthy.starter import example

    gold = [json.loads(line) for line in example("gold.jsonl").splitlines()]
    chunks = {chunk["chunk_id"]: chunk["text"] for chunk in map(json.loads, example("chunks.jsonl").splitlines())}
    closed = [item for item in gold if not item["answerable"]]
    assert len(gold) >= 60
    assert len(closed) * 3 == len(gold)
    assert sum(bool(item.get("constraints")) for item in gold) >= 12
    for item in gold:
        assert set(item["gold_citations"]) <= set(chunks)
        for piece in item["gold_claim_substr"]:
            assert any(piece.lower() in chunks[cited].lower() for cited in item["gold_citations"]), item["qid"]


@pytest.mark.parametrize("metric", [metric.id for metric in all_metrics().values()])
def test_explain_prints_definition_source_and_place(metric: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", metric]) == 0
    out = capsys.readouterr().out
    known = all_metrics()[metric]
    assert known.definition in out
    assert known.source in out
    assert f"src/ragworthy/metrics/{metric.partition('.')[0]}.py:" in out


@pytest.mark.parametrize("code", CATALOGUE)
def test_explain_knows_every_code(code: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", code.lower()]) == 0
    out = capsys.readouterr().out
    assert CATALOGUE[code].name in out and CATALOGUE[code].do in out


def test_explain_lists_and_refuses(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain"]) == 0
    assert "answers.precision" in capsys.readouterr().out
    assert main(["explain", "schema", "gold.answers"]) == 0
    assert json.loads(capsys.readouterr().out)["$id"] == "ragworthy.gold.answers/1"
    assert main(["explain", "precison"]) == 2
    asked = 'expected a metric, a word of reports or a code, got "precison" (did you mean precision'
    assert asked in capsys.readouterr().err


@pytest.mark.parametrize(
    ("topic", "shown"),
    [
        ("reference", "ragworthy score answers --profile score_eval.py"),
        ("reference", "ragworthy score structured --profile eval_json_v2.py"),
        ("make_eval_subset.py", "what does its work: ragworthy gold subset"),
        ("graphrag_saas/backend/scripts/make_eval_subset.py", "ragworthy gold subset"),
    ],
)
def test_explain_knows_the_programs_of_the_sources(topic: str, shown: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", topic]) == 0
    assert shown in capsys.readouterr().out


def test_explain_takes_names_of_codes(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", "near_refusal"]) == 0
    assert capsys.readouterr().out.startswith("RW-W03 near_refusal")


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_completion_scripts_are_accepted_by_their_shell(
    shell: str, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    assert main(["completion", shell]) == 0
    script = capsys.readouterr().out
    assert "doctor" in script and "selftest" in script
    program = shutil.which(shell)
    if program is None:
        pytest.skip(f"SKIPPED: {shell} is not on this machine")
    file = tmp_path / "completion"
    file.write_text(script)
    subprocess.run([program, "-n", str(file)], check=True)


def test_bash_completes_a_subcommand(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    main(["completion", "bash"])
    file = tmp_path / "completion"
    file.write_text(capsys.readouterr().out)
    words = "COMP_WORDS=(ragworthy go); COMP_CWORD=1; COMP_LINE='ragworthy go'"
    script = f"source {file}; {words}; _shtab_ragworthy; echo ${{COMPREPLY[@]}}"
    done = subprocess.run(["bash", "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.split() == ["gold"]


def test_wrong_usage_exits_two(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(["score", "poetry"])
    assert stop.value.code == 2
    assert main([]) == 2


@pytest.mark.parametrize(
    ("args", "unknown"),
    [
        (["index", "ask", "INDEX", "Why?", "--k", "3"], "--k: did you mean --knob?"),
        (["score", "answers", "--gold", "g", "--trace", "t", "--rec", "r"], "--rec: did you mean --receipt?"),
        (["gate", "--self"], "--self: did you mean --selftest?"),
        (["history", "trend", "a", "b", "--rep"], "--rep: did you mean --repeated?"),
    ],
)
def test_options_are_not_abbreviated(args: list[str], unknown: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as stop:
        main(args)
    assert stop.value.code == 2
    assert capsys.readouterr().err.splitlines()[0].endswith(f": there is no flag {unknown} [RW-U01]")


@pytest.mark.parametrize("flag", ["--receipt", "--rows"])
def test_the_reference_profile_of_retrieval_writes_no_receipts_or_rows(flag: str, tmp_path: Path) -> None:
    gold = {"qid": "q", "paraphrases": ["a?", "b?", "c?"], "relevant": ["d#1"], "anchor_section": "d"}
    trace = {"qid": "q", "paraphrase_id": 0, "seed": 0, "topk": [], "citations": []}
    files = ("--gold", write_jsonl(tmp_path / "g.jsonl", [gold]), "--trace", write_jsonl(tmp_path / "t.jsonl", [trace]))
    args = ("score", "retrieval", *files, "--profile", "reference")
    assert run_cli(*args).err == ""
    done = run_cli(*args, flag, tmp_path / "more.jsonl")
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == "--profile reference writes no receipts or rows [RW-U01]"
    assert not (tmp_path / "more.jsonl").exists()


@pytest.mark.parametrize(
    ("flags", "named"),
    [
        (("-o", "z.json", "--receipt", "z.json"), "z.json"),
        (("-o", "z.json", "--receipt", "sub/../z.json"), "sub/../z.json"),
        (("-o", "z.json", "--receipt", "link.json"), "link.json"),
        (("-o", "z.json", "-o", "./z.json"), "./z.json"),
        (("-o", "z.jsonl", "--rows", "z.jsonl"), "z.jsonl"),
        (("--rows", "z.jsonl", "--receipt", "z.jsonl"), "z.jsonl"),
    ],
)
def test_two_outputs_on_one_path_are_refused(
    flags: tuple[str, ...], named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sub").mkdir()
    Path("link.json").symlink_to("z.json")
    write_jsonl(Path("g.jsonl"), [{"qid": "q", "question": "Who wrote Z?", "answerable": False}])
    write_jsonl(Path("t.jsonl"), [{"qid": "q", "retrieved_ids": [], "answer_json": {"claim": "not in context"}}])
    args = ("score", "answers", "--gold", "g.jsonl", "--trace", "t.jsonl")
    before = sorted(os.listdir())
    done = run_cli(*args, *flags)
    assert (done.code, done.out) == (2, "")
    assert done.err.splitlines()[0] == f"{named}: expected a file for each output, got the same for two [RW-U01]"
    assert sorted(os.listdir()) == before
    done = run_cli(*args, "-o", "z.json", "-o", "z.jsonl", "--rows", "y.jsonl", "--receipt", "y.json")
    assert done.err == ""
    assert set(os.listdir()) - set(before) == {"z.json", "z.jsonl", "y.jsonl", "y.json"}


def test_the_table_and_the_pairs_need_a_file_each(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("g.jsonl"), [{"qid": "q", "question": "Who wrote Z?", "answerable": False}])
    write_jsonl(Path("t.jsonl"), [{"qid": "q", "retrieved_ids": [], "answer_json": {"claim": "not in context"}}])
    args = ("score", "agreement", "--gold", "g.jsonl", "--trace", "t.jsonl", "--tsv", "x")
    for flags in (("--pairs-out", "x"), ("--pairs-out", "y", "--receipt", "y")):
        done = run_cli(*args, *flags)
        assert (done.code, done.out) == (2, "")
        named = flags[-1] if len(flags) == 2 else "y"
        assert done.err.splitlines()[0] == f"{named}: expected a file for each output, got the same for two [RW-U01]"
        assert sorted(os.listdir()) == ["g.jsonl", "t.jsonl"]
    assert run_cli(*args, "--pairs-out", "y").err == ""
    assert sorted(os.listdir()) == ["g.jsonl", "t.jsonl", "x", "y"]


def test_a_defect_shows_no_traceback(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    from ragworthy import flow, starter

    def broken(*_: object) -> None:
        raise ZeroDivisionError("on purpose")

    laid = starter.init(tmp_path)
    monkeypatch.setattr(flow, "summarise", broken)
    assert main(["gate", "-c", str(laid.policy)]) == 70
    err = capsys.readouterr().err
    assert "Traceback" not in err
    assert "ZeroDivisionError: on purpose in broken (test_cli.py:" in err
    assert "please report it" in err


def test_a_closed_pipe_is_quiet(tmp_path: Path) -> None:
    subprocess.run([*RAGWORTHY, "init", str(tmp_path)], check=True, capture_output=True)
    done = subprocess.run(
        ["bash", "-c", f"{' '.join(RAGWORTHY)} gate -c {tmp_path}/ragworthy.toml | head -1"],
        capture_output=True,
        text=True,
    )
    assert done.stdout == "SHIP: all 5 gates hold\n"
    assert "Traceback" not in done.stderr


def test_colours_on_a_terminal_only(tmp_path: Path) -> None:
    subprocess.run([*RAGWORTHY, "init", str(tmp_path)], check=True, capture_output=True)
    command = [*RAGWORTHY, "gate", "-c", f"{tmp_path}/ragworthy.toml"]

    def on_terminal(*more: str, **variables: str) -> bytes:
        ours, theirs = pty.openpty()
        environment = {key: value for key, value in os.environ.items() if key != "NO_COLOR"} | variables
        subprocess.run([*command, *more], stdout=theirs, stderr=subprocess.DEVNULL, env=environment, check=True)
        os.close(theirs)
        seen = os.read(ours, 65536)
        os.close(ours)
        return seen

    assert b"\x1b[" in on_terminal()
    assert b"\x1b[" not in on_terminal("--no-color")
    assert b"\x1b[" not in on_terminal(NO_COLOR="1")
    assert b"\x1b[" not in subprocess.run(command, capture_output=True, check=True).stdout


def large_files(folder: Path) -> list[str]:
    """Gold and traces above the size from which several processes are used."""
    gold, traces = folder / "gold.jsonl", folder / "traces.jsonl"
    with gold.open("w") as one, traces.open("w") as other:
        for i in range(40_000):
            item = {"qid": f"q{i:06d}", "question": "why? " * 20, "answerable": True}
            one.write(json.dumps(item | {"gold_claim_substr": ["because"], "gold_citations": ["d#1"]}) + "\n")
            answer = {"claim": "because " * 20, "citations": ["d#1"]}
            other.write(json.dumps({"qid": item["qid"], "retrieved_ids": ["d#1"], "answer_json": answer}) + "\n")
    assert gold.stat().st_size + traces.stat().st_size > 16 << 20
    return ["score", "answers", "--gold", str(gold), "--trace", str(traces), "--gates", "precision=0.8"]


@pytest.mark.parametrize("jobs", ["1", "2"])
def test_an_interrupt_ends_every_process_without_a_traceback(jobs: str, tmp_path: Path) -> None:
    command = [*RAGWORTHY, *large_files(tmp_path), "--jobs", jobs]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True, text=True
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and not (children.read_text() if jobs == "2" else "msgspec" in maps(process.pid)):
        time.sleep(0.002)
    os.killpg(process.pid, signal.SIGINT)
    try:
        out, err = process.communicate(timeout=20)
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(process.pid, signal.SIGKILL)
    assert (process.returncode, out, err) == (130, "", "interrupted\n")
    with pytest.raises(ProcessLookupError):
        os.killpg(process.pid, 0)


def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    process = subprocess.Popen(
        [*RAGWORTHY, *large_files(tmp_path), "--jobs", "2"], stdout=subprocess.PIPE, start_new_session=True
    )
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    while process.poll() is None and len(children.read_text().split()) < 2:
        time.sleep(0.002)
    os.kill(process.pid, signal.SIGKILL)
    process.communicate(timeout=20)  # comes back when no process holds the pipe any more


def maps(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/maps").read_text()
    except OSError:
        return ""


def test_progress_on_a_terminal_and_nothing_on_a_pipe(tmp_path: Path) -> None:
    command = [*RAGWORTHY, *large_files(tmp_path)]
    ours, theirs = pty.openpty()
    subprocess.run(command, stdout=subprocess.DEVNULL, stderr=theirs, check=True)
    os.close(theirs)
    seen = os.read(ours, 1 << 16)
    os.close(ours)
    assert b"reading traces" in seen and b"100 %" in seen
    assert subprocess.run(command, capture_output=True, check=True).stderr == b""
