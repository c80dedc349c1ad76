"""Damage gold and trace files at random and prove that the scorer always ends in an orderly way.

    python tests/fuzz_loader.py --seconds 60 [--seed N] [--keep-going]

Each case must end with exit code 0 … 4, without an exception and without a traceback; what is scored must print a
report whose ledgers close; the same input must give the same bytes again, and also when it is read in tiny blocks
or by two processes. The offending files of a violation are saved and their folder is printed.
"""

import argparse
import contextlib
import copy
import gzip
import io
import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import zstandard

from ragworthy.cli.main import main
from ragworthy.engine import fork
from ragworthy.load import sources

Json = dict[str, Any]
SCORED = (0, 1, 3, 4)
ALLOWED = (*SCORED, 2)
PATIENCE = 20
"""Seconds after which a case counts as hanging."""

GOLD: list[Json] = [
    {"qid": "A1", "question": "Does X allow null keys?", "answerable": True, "topic": "keys",
     "gold_claim_substr": ["rejects null keys"], "gold_citations": ["p1#2"]},
    {"qid": "A2", "question": "How big may a part be?", "answerable": True, "topic": "limits",
     "gold_claim_substr": ["5 gigabytes", "5 GB"], "gold_citations": ["p2#1", "p2#2"]},
    {"qid": "A3", "question": "Où est le café?", "answerable": True, "topic": ["keys", "limits"],
     "gold_claim_substr": ["au café"], "gold_citations": ["p3#1"], "constraints": ["Never share keys."]},
    {"qid": "A4", "question": "首都はどこですか", "answerable": True, "gold_claim_substr": ["東京都です、はい"],
     "gold_citations": ["p4#1"], "notes": {"by": "K", "n": 1.5}},
    {"q_id": "A5", "question": "Which port?", "answerable": True, "topic": 7,
     "gold_claim_substr": [], "gold_citations": ["p5#1"]},
    {"qid": "N1", "question": "Who wrote Z?", "answerable": False, "gold_claim_substr": [], "gold_citations": []},
    {"qid": "N2", "question": "When was Z sold?", "answerable": False, "topic": None},
    {"qid": "N3", "question": "Emoji \U0001f600?", "answerable": False, "gold_claim_substr": None},
]  # fmt: skip
TRACES: list[Json] = [
    {"qid": "A1", "q": "…", "ts": 1, "retrieved_ids": ["p1#2", "p1#3"],
     "answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]}, "stage_ms": {"llm": 12}},
    {"qid": "A2", "retrieved_ids": ["p2#1", "p2#2"],
     "answer_json": {"claim": "A part may have 5 gigabytes.", "citations": ["p2#1", "p2#1"]}},
    {"qid": "A3", "retrieved_ids": ["p3#1"],
     "answer_json": {"claim": "Il est au café.", "citations": ["p3#1"], "constraints_echo": ["Never share keys."]}},
    {"q_id": "A4", "retrieved_ids": ["p9#9"], "answer_json": {"claim": "東京都です、はい", "citations": ["p4#1"]}},
    {"qid": "A5", "retrieved_ids": None, "answer_json": {"claim": " Not in context ", "citations": ["p5#1"]}},
    {"qid": "A2", "retrieved_ids": ["p2#2"], "answer_json": {"claim": "5 gigabytes.", "citations": None}},
    {"qid": "N1", "retrieved_ids": [], "answer_json": {"claim": "not in context", "citations": []}, "ok": True},
    {"qid": "N2", "retrieved_ids": ["p1#1"], "answer_json": {}, "error": "timeout"},
    {"qid": "N3", "retrieved_ids": ["p1#1"], "answer_json": {"claim": "I could not find it.", "citations": "p"}},
    {"qid": "Z9", "retrieved_ids": ["p1#1"], "answer_json": {"claim": "\U0001f600", "citations": [1]}},
]  # fmt: skip
CHUNKS: list[Json] = [
    {"chunk_id": "p1#2", "doc_id": "p1", "text": "X rejects null keys."},
    {"chunk_id": "p2#1", "text": "At most 5 gigabytes."},
    {"id": "p3#1", "text": "Il est au café."},
]
TOKENS = (
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"null", b"true", b"false", b"NaN", b"-Infinity", b"1e999", b"-0",
    b"0.1", b"12345678901234567890123", b'""', b"{}", b"[]", b"\\", b"\\u0000", b"\\ud83d", b"\\ude00", b"\x00",
    b"\n", b"\r", b"\r\n", b"\n\n", b" ", b"\t", b"\xef\xbb\xbf", b"\xff", b"\xe4\xba", b"\xc0\x80", b"\xed\xa0\x80",
    b"\xe2\x80\xa8", b"\x1b[31m", b"//", b"'", b'"qid":', b'"q_id":"A1",', b'"answerable":1,', b'{"qid":"A1"}\n',
    b"[" * 1200, b"]" * 1200, b'{"a":' * 1200, b"9" * 400,
)  # fmt: skip
VALUES: tuple[Any, ...] = (
    None, True, False, 0, 1, -1, 4, 1.5, 1e308, 2**63, 2**64, 10**30, "", " ", "A1", "true", "not in context",
    "NOT IN CONTEXT ", "x" * 3000, "\x00", "\x1b[2J", "a\nb", "\u2028", "e\u0301", "北", [], [[]], [None], [1],
    ["p1#2"], ["p1#2", 4], [{"id": "p1#2"}], ["p1#2"] * 50, {}, {"claim": "x"}, {"claim": 1}, {"citations": [{}]},
)  # fmt: skip
FLAGS: tuple[tuple[str, ...], ...] = (
    (), (), (), ("--slice", "topic"), ("--slice", "topic", "--slice", "qid"), ("--k", "1,3"), ("--scu-enforced",),
    ("--allow-gold-errors",), ("--short-substr", "word"), ("--evidence", "interval"), ("--rows", "rows.jsonl"),
    ("--scu-enforced", "--rule-pack", "wfgy-neg-4"), ("--gates", "precision=0.5,recall=0.3"),
    ("--allow-gold-errors", "--slice", "topic", "--rows", "rows.jsonl"), ("--corpus", "chunks.jsonl"),
)  # fmt: skip


class Hanging(BaseException):
    """A case that takes too long; not an Exception, so that nothing catches it."""


class Ending(NamedTuple):
    """How one run ended; `fault` tells what went wrong with the run itself."""

    code: int
    out: str
    err: str
    fault: str = ""


class Case(NamedTuple):
    """The files of one case and the command line."""

    files: dict[str, bytes]
    args: list[str]


# making cases


def encoded(records: list[Any], rng: random.Random) -> bytes:
    """Records as JSON lines, with or without escapes."""
    plain = rng.random() < 0.5
    return b"".join(json.dumps(one, ensure_ascii=plain).encode("utf-8", "surrogatepass") + b"\n" for one in records)


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """Every container of a JSON value with each of its keys."""
    if isinstance(value, dict | list):
        for key, inner in list(value.items() if isinstance(value, dict) else enumerate(value)):
            yield value, key
            yield from places(inner)


def swap_types(records: list[Any], rng: random.Random) -> list[Any]:
    """The records with a few values replaced, removed, doubled or moved."""
    records = copy.deepcopy(records)
    for _ in range(rng.randint(1, 4)):
        found = list(places(records))
        if not found:
            break
        holder, key = rng.choice(found)
        act = rng.random()
        if act < 0.6:
            holder[key] = copy.deepcopy(rng.choice(VALUES))
        elif act < 0.75:
            del holder[key]
        elif isinstance(holder, list):
            holder.insert(rng.randint(0, len(holder)), copy.deepcopy(holder[key]))
        else:
            holder[rng.choice(("qid", "q_id", "claim", "x", "citations", "answerable"))] = copy.deepcopy(holder[key])
    if rng.random() < 0.2:
        rng.shuffle(records)
    return list(records)


def spoil(data: bytes, other: bytes, rng: random.Random) -> bytes:
    """The bytes with one to five mutations."""
    changed = bytearray(data)
    for _ in range(rng.choice((1, 1, 1, 2, 3, 5))):
        size = len(changed)
        at = rng.randint(0, size)
        span = min(rng.choice((1, 1, 2, 8, 64, 300)), size - at)
        act = rng.randrange(8)
        if act == 0 and at < size:
            changed[at] ^= 1 << rng.randrange(8)
        elif act == 1 and at < size:
            changed[at] = rng.randrange(256)
        elif act == 2:
            del changed[at : at + span]
        elif act == 3:
            changed[at:at] = changed[at : at + span]
        elif act == 4:
            start = rng.randint(0, len(other))
            changed[at : at + rng.choice((0, span))] = other[start : start + rng.choice((1, 8, 64, 300))]
        elif act == 5 and rng.random() < 0.4:
            del changed[at:]
        elif act == 6:
            lines = bytes(changed).split(b"\n")
            one, two = rng.randrange(len(lines)), rng.randrange(len(lines))
            lines[one], lines[two] = rng.choice(((lines[two], lines[one]), (lines[one], lines[one])))
            changed = bytearray(b"\n".join(lines))
        else:
            changed[at:at] = rng.choice(TOKENS)
    return bytes(changed)


def packed(data: bytes, suffix: str) -> bytes:
    """The bytes as a file of this suffix holds them."""
    if suffix == ".gz":
        return gzip.compress(data, compresslevel=1, mtime=0)
    if suffix == ".zst":
        compressor = zstandard.ZstdCompressor(write_checksum=len(data) % 2 == 0)
        half = len(data) // 2
        if len(data) % 3 == 0:
            return compressor.compress(data[:half]) + compressor.compress(data[half:])
        return compressor.compress(data)
    return data


def as_parquet(records: list[Any]) -> bytes:
    """Records as a Parquet file; empty where pyarrow is missing or the records do not fit columns."""
    try:
        import pyarrow as pa
        from pyarrow import parquet

        fields = dict.fromkeys(field for one in records for field in one)
        table = pa.Table.from_pylist([{field: one.get(field) for field in fields} for one in records])
        out = io.BytesIO()
        parquet.write_table(table, out, compression=None)
        return out.getvalue()
    except (ImportError, TypeError, ValueError, AttributeError, OverflowError, NotImplementedError):
        return b""


def make_case(rng: random.Random) -> Case:
    """A case: damaged gold, damaged traces, or both, plain or compressed."""
    sides: dict[str, tuple[list[Json], str]] = {"gold": (GOLD, ""), "trace": (TRACES, "")}
    target = rng.choice(("gold", "trace", "trace", "both"))
    files: dict[str, bytes] = {"chunks.jsonl": encoded(CHUNKS, rng)}
    names = {}
    for role, (records, _) in sides.items():
        other = encoded(TRACES if role == "gold" else GOLD, rng)
        suffix = rng.choice((".jsonl",) * 7 + (".jsonl.gz", ".jsonl.zst", ".parquet"))
        hit = target in (role, "both")
        how = rng.random()
        listed: list[Any] = list(records)
        if hit and how < 0.5:
            listed = swap_types(listed, rng)
        data = encoded(listed, rng)
        if hit and (how >= 0.5 or how < 0.1):
            data = spoil(data, other, rng)
        if suffix == ".parquet":
            kept = [{key: one[key] for key in one if key not in ("topic", "notes")} for one in records]
            stored = as_parquet(swap_types(kept, rng) if how < 0.3 else kept)
            suffix = ".parquet" if stored else ".jsonl"
        if suffix != ".parquet":
            stored = packed(data, Path(f"x{suffix}").suffix)
        if suffix != ".jsonl" and hit and rng.random() < 0.5:
            stored = spoil(stored, other, rng)
        name = names[role] = f"{role}{suffix}"
        files[name] = stored
    flags = list(rng.choice(FLAGS))
    if "--corpus" in flags and rng.random() < 0.7:
        files["chunks.jsonl"] = spoil(files["chunks.jsonl"], b"", rng)
    args = ["score", "answers", "--gold", names["gold"], "--trace", names["trace"], "--format", "json", *flags]
    return Case(files, args)


# running and judging them


def run(args: list[str]) -> Ending:
    """The command in this process."""
    out, err = io.StringIO(), io.StringIO()
    signal.setitimer(signal.ITIMER_REAL, PATIENCE)
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main(args)
    except Hanging:
        return Ending(-1, out.getvalue(), err.getvalue(), f"did not end within {PATIENCE} s")
    except (Exception, SystemExit) as error:  # noqa: BLE001 - this is what the fuzzer looks for
        return Ending(-1, out.getvalue(), err.getvalue(), f"raised {error!r}")
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
    return Ending(code, out.getvalue(), err.getvalue())


@contextlib.contextmanager
def tiny_blocks(size: int, jobs: int) -> Iterator[None]:
    """Read in blocks of a few bytes, and let small files be worth several processes."""
    block, small = sources.BLOCK, fork.SMALL
    sources.BLOCK, fork.SMALL = size, 0 if jobs > 1 else small
    try:
        yield
    finally:
        sources.BLOCK, fork.SMALL = block, small


def wrong(ending: Ending) -> str:
    """What is wrong with the way a run ended; empty when nothing is."""
    if ending.fault:
        return ending.fault
    if ending.code not in ALLOWED:
        return f"exit {ending.code}: {ending.err.strip()[:300]}"
    if "Traceback" in ending.err or "Traceback" in ending.out:
        return "a traceback was shown"
    if ending.code == 2:
        if ending.out:
            return "exit 2 with something on stdout"
        if "[RW-" not in ending.err:
            return f"exit 2 without a code: {ending.err.strip()[:300]}"
        if not all(ch.isprintable() or ch == "\n" for ch in ending.err):
            return f"control characters on stderr: {ending.err.strip()[:300]!r}"
        return ""
    return wrong_report(ending)


def wrong_report(ending: Ending) -> str:
    """What is wrong with a printed report."""
    if ending.err:
        return f"exit {ending.code} with something on stderr: {ending.err.strip()[:300]}"
    try:
        report = json.loads(ending.out, parse_constant=lambda name: 1 / 0)
        suite = report["suites"]["answers"]
        counts = suite["counts"]
        total = counts["gold"]
        ledgers = {name: metric["ledger"] for name, metric in suite["metrics"].items()}
    except (ValueError, KeyError, TypeError, ZeroDivisionError) as error:
        return f"the report does not parse: {error!r}"
    if report["exit_code"] != ending.code:
        return f"exit {ending.code}, but the report says {report['exit_code']}"
    for name, ledger in ledgers.items():
        if ledger["expected"] != total or sum(ledger.values()) != 2 * total:
            return f"the ledger of {name} does not close: {ledger}"
    if counts["answered"] + counts["refused"] + counts["missing"] != total or not total:
        return f"the counts do not close: {counts}"
    if sum(suite["labels"].values()) != total:
        return f"the labels do not add up: {suite['labels']}"
    return ""


def differs(one: Ending, two: Ending) -> bool:
    """Whether two ways of reading disagree; where both files are damaged, either may be named first."""
    damaged = ("[RW-F12]", "[RW-F13]")
    both = one.code == two.code == 2 and all(any(code in end.err for code in damaged) for end in (one, two))
    return one != two and not both


def judge(case: Case, rng: random.Random) -> tuple[Ending, str]:
    """Run a case in the working folder, several times and ways; the first ending, and what is wrong."""
    for name, data in case.files.items():
        Path(name).write_bytes(data)
    first = run(case.args)
    problem = wrong(first)
    if problem:
        return first, problem
    if run(case.args) != first:
        return first, "the same input twice gives different bytes"
    size = rng.choice((1, 7, 64, 300))
    with tiny_blocks(size, 1):
        again = run(case.args)
    if differs(first, again):
        return first, f"read in blocks of {size} bytes it gives different bytes: {again.code} {again.err.strip()[:300]}"
    if rng.random() < 0.05:
        with tiny_blocks(64, 2):
            again = run([*case.args, "--jobs", "2"])
        if differs(first, again):
            return first, f"two processes give different bytes: {again.code} {again.err.strip()[:300]}"
    leftover = [name for name in os.listdir() if name.endswith(".part")]
    return first, f"left behind: {leftover}" if leftover else ""


def save(case: Case, first: Ending, problem: str, number: int, seed: int) -> Path:
    """Keep the files of a violation, with the command and what was wrong."""
    folder = Path(tempfile.mkdtemp(prefix=f"ragworthy-fuzz-{seed}-{number}-"))
    for name, data in case.files.items():
        (folder / name).write_bytes(data)
    said = f"seed {seed}, case {number}\n{problem}\n\nragworthy {' '.join(case.args)}\n\n{first.err}\n{first.out}"
    (folder / "violation.txt").write_text(said, encoding="utf-8", errors="backslashreplace")
    return folder


def kind_of(problem: str) -> str:
    """Violations that look alike count as one kind."""
    if problem.startswith("exit 70"):
        problem = " ".join(problem.partition("[RW-")[0].split()[-3:])  # the place
    else:
        problem = problem.partition(":")[0]
    return "".join(ch for ch in problem if not ch.isdigit())


def fuzz(seconds: float, seed: int, keep_going: bool, say: Callable[[str], None]) -> int:
    """Run cases until the time is over; the number of violations."""
    endings: Counter[int] = Counter()
    kinds: Counter[str] = Counter()
    end = time.monotonic() + seconds
    number = 0
    while time.monotonic() < end:
        rng = random.Random(f"{seed}/{number}")
        case = make_case(rng)
        first, problem = judge(case, rng)
        endings[first.code] += 1
        if problem:
            kind = kind_of(problem)
            kinds[kind] += 1
            if kinds[kind] == 1:
                say(f"violation: case {number}: {problem}\n  saved in {save(case, first, problem, number, seed)}")
            if not keep_going:
                break
        number += 1
    codes = ", ".join(f"exit {code}: {count}" for code, count in sorted(endings.items()))
    found = sum(kinds.values())
    say(f"fuzz: seed {seed}, {sum(endings.values())} cases ({codes}), {found} violations of {len(kinds)} kinds")
    return found


def _hang(*_: object) -> None:
    raise Hanging


def entry() -> int:
    """The command line."""
    parser = argparse.ArgumentParser(description="Damage input files at random and score them.")
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--seed", type=int, default=None, help="default: a new one each time, printed at the end")
    parser.add_argument("--keep-going", action="store_true", help="go on after a violation; save one of each kind")
    given = parser.parse_args()
    seed = given.seed if given.seed is not None else random.SystemRandom().randrange(1 << 32)
    signal.signal(signal.SIGALRM, _hang)
    warnings.simplefilter("error")
    home = Path.cwd()
    work = tempfile.mkdtemp(prefix="ragworthy-fuzz-work-")
    os.chdir(work)
    try:
        found = fuzz(given.seconds, seed, given.keep_going, lambda line: print(line, flush=True))
    finally:
        os.chdir(home)
        shutil.rmtree(work, ignore_errors=True)
    return int(bool(found))


if __name__ == "__main__":
    sys.exit(entry())
