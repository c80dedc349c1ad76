"""The file of a rollout: only added to, and every other change is found."""

import itertools
import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import run_cli
from places import TESTS
from ragworthy.rollout.stages import SHARES, Move, Plan, Stage, State, after, stages
from rollouts_laid import SIGNED, Row, advanced, begun, judged, lay, moves, rolled_back, verified


@pytest.fixture
def filled(tmp_path: Path) -> Path:
    """A ledger of six moves: two rollouts, of which the second is at the canary."""
    lay(tmp_path)
    report, receipt = judged(tmp_path)
    ledger = begun(tmp_path)
    rolled_back(ledger)
    begun(tmp_path, name="docs-3")
    assert advanced(ledger, "--receipt", receipt)[0] == 0
    assert advanced(ledger, "--report", report)[0] == 0
    assert verified(ledger) == (0, verified(ledger)[1])
    return ledger


def test_a_line_has_what_was_decided_by_whom_and_on_what(filled: Path) -> None:
    lines = moves(filled)
    assert [(one["move"], one["state"], one["share"]) for one in lines] == [
        ("start", "shadow", "0"), ("rollback", "rolled_back", "0"), ("start", "shadow", "0"),
        ("advance", "eligible", "0"), ("advance", "canary", "0.05"),
    ]  # fmt: skip
    assert {(one["by"], one["reason"]) for one in lines} == {("Ada Byron", "new chunker")}
    assert [one["previous"] for one in lines] == ["", *(one["hash"] for one in lines[:-1])]
    first, second = lines[3]["evidence"], lines[4]["evidence"]
    assert (first["kind"], first["verified"], first["eligible"], first["shadow_index"]) == ("receipt", True, True, "b")
    assert (second["kind"], second["verified"]) == ("report", False)
    assert first["recall"] == {"live": "1", "shadow": "1"} and first["flip"] == {"live": "0", "shadow": "0"}


def test_the_hash_is_the_one_that_anybody_can_compute(filled: Path) -> None:
    """SHA-256 of the line without its hash, keys sorted, no spaces."""
    import hashlib

    for line in moves(filled):
        told = line.pop("hash")
        body = json.dumps(line, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
        assert hashlib.sha256(body).hexdigest() == told


def reworded(lines: list[str], nth: int) -> list[str]:
    return [line.replace("new chunker", "old chunker") if place == nth else line for place, line in enumerate(lines)]


def test_a_changed_removed_moved_or_inserted_line_is_found(filled: Path) -> None:
    whole = filled.read_text(encoding="utf-8")
    lines = whole.splitlines(keepends=True)
    broken: list[list[str]] = [reworded(lines, nth) for nth in range(len(lines))]
    broken += [lines[:nth] + lines[nth + 1 :] for nth in range(len(lines) - 1)]
    broken += [[*lines[:nth], lines[nth], *lines[nth:]] for nth in range(len(lines))]
    broken += [list(order) for order in itertools.permutations(lines) if list(order) != lines]
    broken += [[*lines[:2], "not a move\n", *lines[2:]], [*lines[:2], "\n", *lines[2:]]]
    for nth, one in enumerate(broken):
        filled.write_text("".join(one), encoding="utf-8")
        code, said = verified(filled)
        assert code == 4 and "[RW-Z02]" in said, nth
        assert said.endswith("INVALID: the file of the rollout is not as it was written (exit 4)\n")
    for verb in ("advance", "rollback"):
        assert run_cli("rollout", verb, *SIGNED, "--ledger", filled).code == 4
    assert run_cli("rollout", "check", "--ledger", filled).code == 4
    filled.write_text(whole, encoding="utf-8")
    assert verified(filled)[0] == 0


@settings(max_examples=25, deadline=None)
@given(place=st.integers(0, 10_000), byte=st.integers(0, 255))
def test_any_changed_byte_is_found(tmp_path_factory: pytest.TempPathFactory, place: int, byte: int) -> None:
    folder = tmp_path_factory.mktemp("byte")
    ledger = begun(folder)
    rolled_back(ledger)
    begun(folder, name="again")
    data = bytearray(ledger.read_bytes())
    place %= len(data) - 1  # without its last line end a line is one that was cut off
    if data[place] == byte:
        return
    data[place] = byte
    ledger.write_bytes(bytes(data))
    assert verified(ledger)[0] == 4


def test_exact_messages(filled: Path) -> None:
    lines = filled.read_text(encoding="utf-8").splitlines(keepends=True)
    filled.write_text("".join(reworded(lines, 1)), encoding="utf-8")
    assert (
        f"{filled}:2: expected what its hash covers, got something that was changed [RW-Z02]\n" in verified(filled)[1]
    )
    filled.write_text("".join([lines[0], *lines[2:]]), encoding="utf-8")
    removed = "expected move 2, got 3: a line was removed, put in or moved"
    assert f"{filled}:2: {removed} [RW-Z02]\n" in verified(filled)[1]
    filled.write_text("".join([*lines[:2], "[]\n"]), encoding="utf-8")
    assert f"{filled}:3: expected a move of a rollout: expected object, got array [RW-Z02]\n" in verified(filled)[1]


def test_lines_cut_off_the_end_are_found_by_whoever_knows_the_head(filled: Path) -> None:
    head = moves(filled)[-1]["hash"]
    assert verified(filled, "--head", head)[0] == 0
    lines = filled.read_text(encoding="utf-8").splitlines(keepends=True)
    filled.write_text("".join(lines[:-1]), encoding="utf-8")
    code, said = verified(filled, "--head", head)
    assert code == 4
    cut = f"expected a line with the hash {head[:12]}…, got none: lines were cut off the end"
    assert f"{filled}: {cut} [RW-Z02]\n" in said


def test_a_swapped_report_is_found(filled: Path) -> None:
    report = filled.parent / "b.report.json"
    kept = report.read_bytes()
    report.write_bytes(kept.replace(b"SHIP", b"SHIP "))
    code, said = verified(filled)
    sha = moves(filled)[4]["evidence"]["sha256"]
    assert code == 4 and f"{report}: expected the report of move 5, sha256 {sha[:12]}…, got " in said
    report.unlink()
    code, said = verified(filled)
    assert code == 0 and f"{report}: the report of move 5 is not here\n" in said
    assert said.endswith("verified, 5 moves, 1 piece of evidence not here: canary 5 % (exit 0)\n")


def test_a_line_that_was_cut_off_while_it_was_written_is_no_move(filled: Path) -> None:
    whole = filled.read_bytes()
    filled.write_bytes(whole + whole.splitlines(keepends=True)[-1][:100])
    code, said = verified(filled)
    assert code == 0 and "the last line was cut off while it was written: it is not a move\n" in said
    rolled_back(filled)
    assert filled.read_bytes().startswith(whole) and verified(filled)[0] == 0
    assert moves(filled)[-1]["state"] == "rolled_back"


def test_a_whole_line_without_its_line_end_counts_and_stays(filled: Path) -> None:
    rolled_back(filled)
    whole = filled.read_bytes()
    filled.write_bytes(whole[:-1])
    code, said = verified(filled)
    assert code == 0 and said.endswith("verified, 6 moves: rolled_back (exit 0)\n")
    assert run_cli("rollout", "check", "--ledger", filled).code == 1
    begun(filled.parent, name="docs-4")
    assert filled.read_bytes().startswith(whole) and len(moves(filled)) == 7 and verified(filled)[0] == 0


def test_what_is_left_of_a_line_is_told_by_every_command(filled: Path) -> None:
    whole = filled.read_bytes()
    filled.write_bytes(whole + b'{"schema":"ragworthy.ro')
    told = f"{filled}:6: the last line was cut off while it was written: it is not a move\n"
    done = run_cli("rollout", "check", "--ledger", filled, "--log", filled)
    assert done.err.startswith(told)
    filled.write_bytes(whole[:-1] + b"x")  # a whole line, and something after it
    assert verified(filled)[0] == 4


def test_a_hash_that_was_not_given_is_none(filled: Path) -> None:
    code, said = verified(filled, "--head", "")
    assert code == 2 and "--head: expected the hash of a line, got nothing" in said


def resealed(line: Row) -> Row:
    """The line with a hash that covers it: what somebody writes who knows how it is made."""
    import hashlib

    body = {key: value for key, value in line.items() if key != "hash"}
    data = json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()
    return line | {"hash": hashlib.sha256(data).hexdigest()}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"state": "promoted", "share": "1"}, "expected a move that eligible allows, got advance to promoted"),
        ({"at": "2001-01-01T00:00:00Z"}, "expected a time from "),
        ({"schema": "ragworthy.rollout/2"}, 'expected "ragworthy.rollout/1", got "ragworthy.rollout/2"'),
    ],
)
def test_a_forged_last_line_with_a_hash_of_its_own_is_held_against_the_rules(
    filled: Path, change: Row, message: str
) -> None:
    *lines, last = moves(filled)
    lines.append(resealed(last | change))
    data = [json.dumps(one, separators=(",", ":"), ensure_ascii=False) + "\n" for one in lines]
    filled.write_text("".join(data), encoding="utf-8")
    code, said = verified(filled)
    assert code == 4 and message in said


def chained(path: Path, lines: list[Row]) -> None:
    """Lines as somebody writes them who redoes every hash."""
    made: list[Row] = []
    for nth, line in enumerate(lines, 1):
        made.append(resealed(line | {"number": nth, "previous": made[-1]["hash"] if made else ""}))
    data = [json.dumps(one, separators=(",", ":"), ensure_ascii=False) + "\n" for one in made]
    path.write_text("".join(data), encoding="utf-8")


CHECKED = {"sha256": "0" * 64, "decision": "go on", "until": "2026-03-01T13:00:00Z"}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({}, ""),
        ({"by": " "}, "expected a name and a reason, got a move that nobody stands behind"),
        ({"reason": ""}, "expected a name and a reason, got a move that nobody stands behind"),
        ({"rollout": "other"}, "expected a move of docs-3, got one of other"),
        ({"evidence": None}, "expected a report or a receipt that allows canary 10 %, got a move without evidence"),
        ({"evidence": {"verdict": "NO-SHIP"}}, "expected the verdict SHIP, got NO-SHIP"),
        ({"check": None}, "expected a check that said go on, got none"),
        ({"check": CHECKED | {"decision": "wait"}}, "expected a check that said go on, got wait"),
        ({"check": CHECKED | {"until": "2026-03-01T12:59:00Z"}},
         "expected canary 5 % to be held for 60 minutes, got 59"),
        ({"at": "2026-03-01T12:58:00Z"},
         "expected a move after what was checked, which ends 2026-03-01T13:00:00Z, got one at 2026-03-01T12:58:00Z"),
    ],
)  # fmt: skip
def test_every_line_is_held_against_what_its_move_needs(filled: Path, change: Row, message: str) -> None:
    lines = [one | {"at": "2026-03-01T12:00:00Z"} for one in moves(filled)]
    forged = lines[-1] | {"share": "0.10", "check": CHECKED, "at": "2026-03-01T13:00:00Z"}
    if change.get("evidence"):
        change = {"evidence": forged["evidence"] | change["evidence"]}
    chained(filled, [*lines, forged | change])
    code, said = verified(filled)
    assert (code == 4 and f"{filled}:6: {message} [RW-Z02]\n" in said) if message else code == 0, said


def test_evidence_of_earlier_lines_is_held_against_its_move_too(filled: Path) -> None:
    lines = moves(filled)
    lines[3]["evidence"]["eligible"] = False
    chained(filled, lines)
    code, said = verified(filled)
    assert code == 4 and f"{filled}:4: expected an index that is eligible for a canary, got one that is not" in said


@pytest.mark.parametrize("change", [{"hold": 0}, {"shares": []}, {"shares": ["0.1", "0.05"]}, {"shares": ["many"]},
                                    {"p95_ms": "slow"}])  # fmt: skip
def test_a_plan_that_no_start_takes_is_found(filled: Path, change: Row) -> None:
    lines = moves(filled)
    lines[2]["plan"] |= change
    lines[4]["share"] = "many"
    chained(filled, lines)
    code, said = verified(filled)
    assert code == 4 and f"{filled}:3: expected a plan with rising shares between 0 and 1 and a hold" in said, said


# at once


def at_once(*each: list[str]) -> list[tuple[str, int]]:
    """Commands that run at the same time: what each says, and its exit code."""
    words = [sys.executable, "-m", "ragworthy", "rollout"]
    running = [
        subprocess.Popen([*words, *one], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) for one in each
    ]
    return [(one.communicate()[0], one.returncode) for one in running]


def test_of_two_people_at_once_one_wins_and_the_other_is_told(tmp_path: Path) -> None:
    lay(tmp_path)
    report, _ = judged(tmp_path)
    ledger = begun(tmp_path)
    words = ["advance", "--to", "eligible", "--ledger", str(ledger), "--report", str(report), "--reason", "both"]
    said = at_once(*([*words, "--by", f"person {nth}"] for nth in range(6)))
    assert [code for _, code in said].count(0) == 1 and len(moves(ledger)) == 2
    told = [text for text, code in said if code != 0]
    late = "expected eligible to be next, got canary 5 % [RW-Z04]"
    assert all("got a move made meanwhile: advance to eligible by person" in text or late in text for text in told), (
        told
    )
    assert verified(ledger)[0] == 0


def test_the_way_back_wins_over_whoever_else_moves(filled: Path) -> None:
    words = ["rollback", "--ledger", str(filled), "--reason", "both"]
    said = at_once(*([*words, "--by", f"person {nth}"] for nth in range(4)))
    assert [code for _, code in said].count(0) == 1
    assert all("[RW-Z04]" in text for text, code in said if code)
    assert moves(filled)[-1]["state"] == "rolled_back" and verified(filled)[0] == 0


def test_a_move_made_between_reading_and_writing_is_told(tmp_path: Path) -> None:
    from ragworthy.errors import DataError
    from ragworthy.rollout import ledger as kept
    from ragworthy.rollout.entries import Entry

    ledger = begun(tmp_path)
    known = kept.read(ledger)
    rolled_back(ledger)
    entry = Entry(number=0, rollout="docs-2", move=Move.ROLLBACK, state=State.ROLLED_BACK, share="0", by="Eve",
                  reason="late", at="2026-01-01T00:00:00Z", previous="")  # fmt: skip
    with pytest.raises(DataError) as told:
        kept.append(known, entry)
    assert told.value.lines()[0] == (
        f"{ledger}: expected the rollout as it was read, got a move made meanwhile: "
        "rollback to rolled_back by Ada Byron [RW-Z05]"
    )
    assert len(moves(ledger)) == 2


MOVER = """
import sys
from conftest import run_cli
nth = 0
while True:
    nth += 1
    signed = ("--by", "Ada", "--reason", "again", "--ledger", sys.argv[1])
    run_cli("rollout", "start", f"r{nth}", "--live", "v1", "--shadow", "v2", *signed)
    print(nth, flush=True)
    run_cli("rollout", "rollback", *signed)
"""


def test_killed_while_it_moves_the_file_stays_whole(tmp_path: Path) -> None:
    import random
    import time

    ledger, chance = tmp_path / "rollout.jsonl", random.Random(2)
    for _ in range(5):
        mover = subprocess.Popen([sys.executable, "-c", MOVER, str(ledger)], cwd=TESTS, stdout=subprocess.PIPE)
        assert mover.stdout is not None and mover.stdout.readline()
        time.sleep(chance.uniform(0.0, 0.1))
        mover.kill()
        mover.communicate()
        code, said = verified(ledger)
        assert code == 0, said
    assert [one["number"] for one in moves(ledger)] == list(range(1, len(moves(ledger)) + 1))


# the machine itself


@settings(max_examples=300)
@given(st.lists(st.sampled_from(list(Move)), max_size=20))
def test_no_row_of_moves_leads_around_a_stage(row: list[Move]) -> None:
    plan, here = Plan(live="a", shadow="b"), None
    way = stages(plan)
    seen: list[Stage] = []
    for move in row:
        to = after(plan, here, move)
        if to is None:
            continue
        if move is Move.ADVANCE:
            assert here is not None and way.index(to) == way.index(here) + 1
        seen.append(to)
        here = to
    for nth, one in enumerate(seen):
        if one.state is State.PROMOTED:
            assert tuple(seen[nth - len(way) + 1 : nth + 1]) == way
    assert SHARES == ("0.05", "0.10")
