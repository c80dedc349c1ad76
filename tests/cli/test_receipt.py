"""The receipt: canonical bytes, and `verify`, which notices one changed byte anywhere."""

import contextlib
import hashlib
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import rfc8785

from conftest import Done as Ran
from conftest import run_cli as ragworthy
from ragworthy import starter
from ragworthy.names import VERSION

RECEIPT = Path(".ragworthy/receipt.json")
PACK = "id = \"mine\"\n[[rule]]\nlocked = 'never'\nclaim = 'always'\n"
INPUTS = {
    "baseline": "base.json",
    "corpus": "chunks.jsonl",
    "gold": "gold.jsonl",
    "lock": "gold.lock",
    "pack:pack.toml": "pack.toml",
    "policy": "ragworthy.toml",
    "trace": "runs/candidate.jsonl",
}


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The bundled example with every kind of input, gated."""
    folder = tmp_path_factory.mktemp("made")
    starter.demo(folder)
    policy = (folder / "candidate.toml").read_text().replace("scu = true", 'scu = true\nrule_packs = ["pack.toml"]')
    (folder / "pack.toml").write_text(PACK)
    with contextlib.chdir(folder):
        assert ragworthy("gold", "freeze", "gold.jsonl", "--signer", "Ada", "--reason", "first").code == 0
        Path("ragworthy.toml").write_text(policy)
        assert ragworthy("gate", "-q", "-o", "base.json").code == 0
        Path("ragworthy.toml").write_text(f'baseline = "base.json"\n{policy}max_drop = 0.02\n')
        assert ragworthy("gate", "-q").code == 0
    return folder


@pytest.fixture
def here(made: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of it to damage, as the working folder."""
    folder = tmp_path / "copy"
    shutil.copytree(made, folder)
    monkeypatch.chdir(folder)
    return folder


def test_the_receipt_verifies(here: Path) -> None:
    done = ragworthy("verify", RECEIPT)
    assert (done.code, done.err) == (0, "")
    *gates, commit, gold, policy, attempts, last = done.out.splitlines()
    assert (commit, attempts) == ("commit: not known", "attempts: not counted")
    hashes = {one["role"]: one["sha256"] for one in json.loads(RECEIPT.read_text())["inputs"]}
    assert (gold, policy) == (f"gold set: sha256 {hashes['gold']}", f"policy: sha256 {hashes['policy']}")
    assert last == f"verified: SHIP re-derives byte for byte from {len(INPUTS)} inputs (exit 0)"
    assert len(gates) == len(json.loads(RECEIPT.read_text())["gates"])
    assert gates[0] == "gate: answers.precision >= 0.80: pass (0.9348)"


def test_it_is_canonical_json_with_one_line_end(here: Path) -> None:
    data = RECEIPT.read_bytes()
    body = json.loads(data)
    assert data == rfc8785.dumps(body) + b"\n"
    # The same by hand: no spaces, keys sorted, all numbers whole (so that RFC 8785's float form never matters).
    numbers: list[str] = []
    json.loads(data, parse_float=lambda text: numbers.append(text))
    assert numbers == []
    assert data == json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode() + b"\n"
    start = b'{"exit_code":0,"gates":[{"den":46,"evidence":"point","metric":"answers.precision","num":43,"op":">=",'
    assert data.startswith(start + b'"outcome":"pass","slice":null,"threshold":"0.80","waiver":null},{')
    assert data.endswith(f'"tool":{{"name":"ragworthy","version":"{VERSION}"}},"verdict":"SHIP"}}\n'.encode())


def test_it_names_every_input_with_its_hash_and_a_relative_path(here: Path) -> None:
    inputs = json.loads(RECEIPT.read_text())["inputs"]
    assert inputs == [
        {"role": role, "path": f"../{name}", "sha256": hashlib.sha256(Path(name).read_bytes()).hexdigest()}
        for role, name in sorted(INPUTS.items())
    ]


def test_the_same_bytes_twice_and_with_more_processes(here: Path) -> None:
    first = RECEIPT.read_bytes()
    for jobs in (1, 2, 1):
        assert ragworthy("gate", "-q", "--jobs", jobs).code == 0
        assert RECEIPT.read_bytes() == first
        assert ragworthy("verify", RECEIPT, "--jobs", jobs).code == 0


def test_it_verifies_from_another_folder(here: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    monkeypatch.chdir(elsewhere)
    assert ragworthy("verify", here / RECEIPT).code == 0
    assert ragworthy("verify", Path("../copy") / RECEIPT).code == 0


def test_it_verifies_where_the_whole_folder_was_moved(here: Path, tmp_path: Path) -> None:
    shutil.copytree(here, tmp_path / "moved")
    assert ragworthy("verify", tmp_path / "moved" / RECEIPT).code == 0


def flip_first(data: bytes) -> bytes:
    return bytes([data[0] ^ 1]) + data[1:]


def flip_middle(data: bytes) -> bytes:
    middle = len(data) // 2
    return data[:middle] + bytes([data[middle] ^ 1]) + data[middle + 1 :]


def flip_last(data: bytes) -> bytes:
    return data[:-1] + bytes([data[-1] ^ 1])


def blank_inside(data: bytes) -> bytes:
    """A blank that changes no value: beside a separator of JSON, or beside the first = of TOML."""
    for sign in (b": ", b" = "):
        if sign in data:
            return data.replace(sign, sign + b" ", 1)
    raise AssertionError("no place for a blank")


def line_end(data: bytes) -> bytes:
    return data + b"\n"


@pytest.mark.parametrize("change", [flip_first, flip_middle, flip_last, blank_inside, line_end])
@pytest.mark.parametrize("role", INPUTS)
def test_one_changed_byte_of_any_input_is_caught(here: Path, role: str, change: Callable[[bytes], bytes]) -> None:
    path = Path(INPUTS[role])
    before = path.read_bytes()
    path.write_bytes(change(before))
    was, now = (hashlib.sha256(data).hexdigest() for data in (before, path.read_bytes()))
    assert ragworthy("verify", RECEIPT) == Ran(
        1,
        f"{role}: ../{INPUTS[role]} changed: sha256 was {was}, is {now}\n"
        "not verified: the receipt says SHIP, but it does not re-derive (exit 1)\n",
        "",
    )


@pytest.mark.parametrize("role", INPUTS)
def test_a_missing_input_is_named(here: Path, role: str) -> None:
    Path(INPUTS[role]).unlink()
    done = ragworthy("verify", RECEIPT)
    said = f"{role}: ../{INPUTS[role]}: expected a file, got nothing at this path"
    assert (done.code, done.out.splitlines()) == (2, [said, "cannot be verified: inputs are not here (exit 2)"])


def test_a_lock_that_appears_later_is_caught(here: Path) -> None:
    Path("gold.lock").rename("kept.lock")
    assert ragworthy("gate", "-q").code == 0
    Path("kept.lock").rename("gold.lock")
    assert ragworthy("verify", RECEIPT).code == 1


def rewritten(**changes: Any) -> None:
    """Edit the receipt so that it is still canonical."""
    body = json.loads(RECEIPT.read_text()) | changes
    RECEIPT.write_bytes(rfc8785.dumps(body) + b"\n")


def test_an_edited_verdict_is_caught(here: Path) -> None:
    rewritten(verdict="NO-SHIP")
    assert ragworthy("verify", RECEIPT) == Ran(
        1,
        'verdict: the receipt says "NO-SHIP", re-derived "SHIP"\n'
        "not verified: the receipt says NO-SHIP, but it does not re-derive (exit 1)\n",
        "",
    )


@pytest.mark.parametrize("key", ["exit_code", "gates", "invalid", "report_sha256", "suites", "inputs"])
def test_an_edited_part_is_caught(here: Path, key: str) -> None:
    body = json.loads(RECEIPT.read_text())
    edits: dict[str, Any] = {
        "exit_code": 1,
        "gates": [body["gates"][0] | {"threshold": "0.10"}, *body["gates"][1:]],
        "invalid": ["nothing"],
        "report_sha256": "0" * 64,
        "suites": {"answers": body["suites"]["answers"] | {"frozen": "unlocked"}},
        "inputs": [one for one in body["inputs"] if one["role"] != "corpus"],
    }
    rewritten(**{key: edits[key]})
    done = ragworthy("verify", RECEIPT)
    assert done.code == 1
    assert re.match(rf"{key}[\w.\[\]]*: the receipt says ", done.out)


def test_edited_options_are_caught_by_what_they_would_have_given(here: Path) -> None:
    rewritten(request={"allow_gold_errors": True, "unfrozen": False})
    assert ragworthy("verify", RECEIPT).code == 1
    rewritten(request={})
    assert ragworthy("verify", RECEIPT).code == 2


@pytest.mark.parametrize(
    "edit",
    [
        lambda data: data.replace(b",", b", ", 1),
        lambda data: data.replace(b'"num":43', b'"num":43.0', 1),
        lambda data: data[:-1],
        lambda data: data + b"\n",
        lambda data: b"\xef\xbb\xbf" + data,
        lambda data: data.replace(b'"exit_code":0', b'"exit_code":1,"exit_code":0', 1),
        lambda data: data.replace(b'"pass"', b'"p\\u0061ss"', 1),
    ],
    ids=["blank", "float", "no line end", "two line ends", "byte order mark", "key twice", "escape"],
)
def test_bytes_that_change_no_value_are_caught_too(here: Path, edit: Callable[[bytes], bytes]) -> None:
    before = RECEIPT.read_bytes()
    RECEIPT.write_bytes(edit(before))
    assert RECEIPT.read_bytes() != before
    done = ragworthy("verify", RECEIPT)
    assert done.code in (1, 2), done
    assert "RW-R0" in done.err


def test_another_version_of_the_tool_is_said(here: Path) -> None:
    rewritten(tool={"name": "ragworthy", "version": "0.0.1"})
    done = ragworthy("verify", RECEIPT)
    assert done.code == 1
    assert done.out.splitlines()[0] == (
        f"tool: the receipt was made by version 0.0.1, this is {VERSION}: verify it with that version"
    )


@pytest.mark.parametrize(
    "body",
    [
        b"", b"[]", b"{", b'{"schema":"other"}', b'{"schema":"ragworthy.receipt/1"}',
        b'{"inputs":3,"schema":"ragworthy.receipt/1"}', b'{"inputs":[3],"schema":"ragworthy.receipt/1"}',
        b'{"inputs":[],"schema":"ragworthy.receipt/1","tool":3}',
    ],
)  # fmt: skip
def test_what_is_no_receipt_is_an_error_and_never_a_defect(here: Path, body: bytes) -> None:
    RECEIPT.write_bytes(body + b"\n")
    done = ragworthy("verify", RECEIPT)
    assert done.code in (1, 2), done.err
    assert "Traceback" not in done.err


def test_a_baseline_named_on_the_command_line_is_part_of_the_receipt(here: Path) -> None:
    shutil.copy("base.json", "other.json")
    assert ragworthy("gate", "-q", "--baseline", "other.json").code == 0
    [path] = [one["path"] for one in json.loads(RECEIPT.read_text())["inputs"] if one["role"] == "baseline"]
    assert path == "../other.json"
    done = ragworthy("verify", RECEIPT)
    assert done.code == 0, done.out


SCORE = ["score", "answers", "-q", "--gold", "gold.jsonl", "--trace", "runs/candidate.jsonl", "--receipt", "out/r.json"]


@pytest.mark.parametrize(
    "more",
    [
        "",
        "--k 1,5 --slice topic --refusal Unknown. --scu-enforced --short-substr word",
        "--gates precision=0.99 recall@10=0.7 --evidence interval --rule-pack wfgy-neg-4",
        "--corpus chunks.jsonl --baseline base.json --lock gold.lock --rule-pack pack.toml",
    ],
)
def test_a_receipt_of_score_verifies_anywhere(here: Path, more: str, monkeypatch: pytest.MonkeyPatch) -> None:
    code = ragworthy(*SCORE, *more.split()).code
    assert code in (0, 1, 3)
    assert ragworthy("verify", "out/r.json").code == 0
    monkeypatch.chdir(here / "out")
    done = ragworthy("verify", "r.json")
    assert done.code == 0, done.out
    (here / "runs/candidate.jsonl").write_bytes(blank_inside((here / "runs/candidate.jsonl").read_bytes()))
    done = ragworthy("verify", "r.json")
    assert (done.code, done.out.split(":")[0]) == (1, "trace")
