"""Speed and memory of the answers suite, against the sources' own scorer and against merely decoding.

Everything is generated, run and compared in one go; see README.md beside this file. Timings never decide
anything: the exit code is 0 whatever they are.
"""

import argparse
import gc
import json
import multiprocessing
import os
import platform
import random
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy.records import Gold, Trace

SOURCE = Path(__file__).resolve().parents[2] / "shared/seeds/seed003_rag_precision_recall_with_scorer.md"
OURS = (sys.executable, "-m", "ragworthy")
BLOCK = 1 << 17
SAMPLE_EVERY = 0.020
TIMES, COLD_TIMES = 3, 15
MOST_OVER_SEED_COLD, LEAST_OVER_SEED, MOST_OVER_FLOOR, MOST_GB, MOST_GROWTH = 4.0, 12.0, 1.5, 0.6, 10.5


class Row(NamedTuple):
    """One line of the table; `ok` is None where there is no budget."""

    what: str
    measured: float | str
    unit: str = ""
    budget: str = ""
    ok: bool | None = None

    def cells(self) -> tuple[str, str, str, str]:
        value = self.measured if isinstance(self.measured, str) else f"{self.measured:,.2f}"
        word = "" if self.ok is None else "ok" if self.ok else "over"
        return self.what, f"{value} {self.unit}".strip(), self.budget, word


class Pair(NamedTuple):
    """A gold set and its traces."""

    gold: Path
    traces: Path

    @property
    def arguments(self) -> tuple[str, ...]:
        return "--gold", str(self.gold), "--trace", str(self.traces)

    @property
    def size(self) -> int:
        return self.gold.stat().st_size + self.traces.stat().st_size


# the input

_LETTERS = "abcdefghijklmnopqrstuvwxyz"
_ACCENTED = ("café", "Größe", "naïve", "señal", "Łódź", "東京都", "日本語", "Москва", "Ελλάδα", "µ-law")
_REFUSAL = "not in context"
_LIKE_REFUSALS = ("Not in context", "I could not find this in the documentation.", "The passages do not say.")


class Words:
    """A seeded vocabulary: about one word in forty is not ASCII."""

    def __init__(self, rng: random.Random) -> None:
        plain = ["".join(rng.choices(_LETTERS, k=rng.randint(3, 9))) for _ in range(3000)]
        self.words = plain + [rng.choice(_ACCENTED) for _ in range(75)]
        self.rng = rng

    def some(self, count: int) -> str:
        """That many words, with blanks between."""
        return " ".join(self.rng.choices(self.words, k=count))

    def chunk(self) -> str:
        """The id of some chunk."""
        draw = self.rng.random
        return f"doc{int(draw() * 20_000):05d}#{int(draw() * 40)}"


def question(number: int, words: Words) -> tuple[dict[str, Any], dict[str, Any]]:
    """A gold item and its trace: mostly right, and wrong in every usual way."""
    rng, draw = words.rng, words.rng.random
    answerable = draw() < 0.7
    qid, asked = f"Q{number:07d}", words.some(6).capitalize() + "?"
    piece = words.some(3)
    wanted = [words.chunk() for _ in range(1 + (draw() < 0.3))] if answerable else []
    retrieved = [words.chunk() for _ in range(rng.randint(5, 8))]
    for one in wanted:
        if draw() < 0.95:
            retrieved[int(draw() * len(retrieved))] = one
    shipped = draw() < (0.93 if answerable else 0.04)
    claim, citations = _REFUSAL, list[str]()
    if shipped:
        claim = f"The answer is {piece.upper() if draw() < 0.1 else piece} {words.some(3)}."
        citations = [wanted[0]] if wanted and draw() < 0.94 else [retrieved[0]]
        if len(wanted) > 1 and draw() < 0.5:
            citations.append(wanted[1])
        fate = draw()
        if fate < 0.06:
            claim = f"It is {words.some(6)}."
        elif fate < 0.08:
            citations.append(words.chunk())
        elif fate < 0.085:
            claim = rng.choice(_LIKE_REFUSALS)
    gold = {
        "qid": qid,
        "question": asked,
        "answerable": answerable,
        "gold_claim_substr": [piece] if answerable else [],
        "gold_citations": wanted,
        "constraints": [],
    }
    trace = {
        "ts": 1_723_430_400 + number,
        "qid": qid,
        "q": asked,
        "retrieved_ids": retrieved,
        "answer_json": {"claim": claim, "citations": citations, "constraints_echo": []},
        "ok": True,
        "reason": "ok",
    }
    return gold, trace


def generate(folder: Path, questions: int, seed: int = 7) -> Pair:
    """Write a gold set and its traces, in the same order."""
    words = Words(random.Random(seed))
    encode = json.JSONEncoder(ensure_ascii=False).encode
    pair = Pair(folder / "gold.jsonl", folder / "traces.jsonl")
    with pair.gold.open("w", encoding="utf-8") as golds, pair.traces.open("w", encoding="utf-8") as traces:
        for number in range(questions):
            gold, trace = question(number, words)
            golds.write(encode(gold) + "\n")
            traces.write(encode(trace) + "\n")
    return pair


def shuffled(pair: Pair, folder: Path) -> Pair:
    """The same traces in another order."""
    lines = pair.traces.read_bytes().splitlines(keepends=True)
    random.Random(11).shuffle(lines)
    target = folder / "traces-shuffled.jsonl"
    with target.open("wb") as file:
        file.writelines(lines)
    return Pair(pair.gold, target)


def first_of(pair: Pair, questions: int, folder: Path) -> Pair:
    """The first questions only."""
    small = Pair(folder / f"gold-{questions}.jsonl", folder / f"traces-{questions}.jsonl")
    for whole, part in zip(pair, small, strict=True):
        with whole.open("rb") as source, part.open("wb") as target:
            target.writelines(islice(source, questions))
    return small


class Asked(NamedTuple):
    """One question of the sources' example."""

    qid: str
    question: str
    piece: str
    cited: str
    retrieved: str
    claim: str


_EXAMPLE = (
    Asked(
        "A0001",
        "Does X support null keys?",
        "rejects null keys",
        "p1#2",
        "p1#1 p1#2 p2#1",
        "X rejects null keys.",
    ),
    Asked("A0002", "Explain Z.", "", "", "p1#1 p2#1", _REFUSAL),
    Asked(
        "A0003",
        "What domain is allowed?",
        "only domain example.com",
        "pB#1",
        "pB#1 p1#2",
        "Only domain example.com is allowed.",
    ),
)


def example(folder: Path) -> Pair:
    """The three questions of the sources' example."""
    pair = Pair(folder / "gold-three.jsonl", folder / "traces-three.jsonl")
    golds, traces = [], []
    for one in _EXAMPLE:
        citations = one.cited.split()
        gold = {
            "qid": one.qid,
            "question": one.question,
            "answerable": bool(citations),
            "gold_claim_substr": [one.piece] if one.piece else [],
            "gold_citations": citations,
        }
        trace = {
            "qid": one.qid,
            "q": one.question,
            "retrieved_ids": one.retrieved.split(),
            "answer_json": {"claim": one.claim, "citations": citations},
        }
        golds.append(json.dumps(gold) + "\n")
        traces.append(json.dumps(trace) + "\n")
    pair.gold.write_text("".join(golds), encoding="utf-8")
    pair.traces.write_text("".join(traces), encoding="utf-8")
    return pair


def sources_scorer(folder: Path) -> Path | None:
    """The scorer of the sources, taken out of their page; never stored in the project."""
    if not SOURCE.exists():
        return None
    page = SOURCE.read_text(encoding="utf-8")
    listings = re.findall(r"^```python\n(.*?)^```", page, re.DOTALL | re.MULTILINE)
    scorer = folder / "score_eval.py"
    scorer.write_text(next(one for one in listings if "def main" in one), encoding="utf-8")
    return scorer


# measuring


class Finished(NamedTuple):
    """A process that has ended."""

    seconds: float
    own_gb: float
    output: str


def run(command: Sequence[str]) -> Finished:
    """Run a fresh process; its wall time, the most memory of its first process, and what it printed."""
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as err:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        if process.returncode not in (0, 1, 3):  # SHIP, NO-SHIP, INCONCLUSIVE
            err.seek(0)
            raise SystemExit(f"{' '.join(command)}\nended with {process.returncode}: {err.read().decode()}")
        return Finished(seconds, usage.ru_maxrss / 2**20, out.read().decode())


def best(command: Sequence[str], times: int = TIMES) -> Finished:
    """The fastest of some runs."""
    return min(run(command) for _ in range(times))


def best_in_turn(commands: Sequence[Sequence[str]], times: int) -> list[Finished]:
    """The fastest run of each command, run in turn so that a noisy moment hits all alike."""
    rounds = [[run(command) for command in commands] for _ in range(times)]
    return [min(runs) for runs in zip(*rounds, strict=True)]


@contextmanager
def watching() -> Iterator[list[float]]:
    """Look at the memory of all processes below this one, again and again; the list holds the peak in GB.

    Looking costs time (the kernel walks the page tables), so timed runs are not watched.
    """
    peak, done = [0.0], threading.Event()

    def watch() -> None:
        while not done.wait(SAMPLE_EVERY):
            peak[0] = max(peak[0], sum(map(_memory, _below(os.getpid()))) / 2**20)

    watcher = threading.Thread(target=watch, daemon=True)
    watcher.start()
    try:
        yield peak
    finally:
        done.set()
        watcher.join()


def _below(pid: int) -> list[int]:
    """Every process started by this one, and by those."""
    found: list[int] = []
    for task in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(child) for child in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [child, *_below(child)]
    return found


def _memory(pid: int) -> int:
    """Proportional set size in KiB (pages that processes share count once), or resident set size."""
    for name, key in (("smaps_rollup", "Pss:"), ("status", "VmRSS:")):
        try:
            text = Path(f"/proc/{pid}/{name}").read_text()
        except OSError:
            continue
        for line in text.splitlines():
            if line.startswith(key):
                return int(line.split()[1])
    return 0


def peak_memory(command: Sequence[str]) -> float:
    """The most memory of the whole process tree, in GB, from a run of its own."""
    with watching() as peak:
        own = run(command).own_gb
    return max(peak[0], own if peak[0] == 0 else 0.0)


# the decode floors: this file runs itself with --floor


def _lines(path: Path, part: int, parts: int) -> Iterator[list[bytes]]:
    """Batches of lines of one byte range."""
    for block in _blocks(path, part, parts):
        yield block.splitlines(keepends=True)


def _blocks(path: Path, part: int, parts: int) -> Iterator[bytes]:
    """Blocks of whole lines of one byte range."""
    start, stop = _range(path, part, parts)
    rest = b""
    with path.open("rb", buffering=0) as file:
        file.seek(start)
        left = stop - start
        while left > 0 and (chunk := file.read(min(BLOCK, left))):
            left -= len(chunk)
            cut = chunk.rfind(b"\n") + 1
            yield rest + chunk[:cut]
            rest = chunk[cut:]
    if rest:
        yield rest


def _range(path: Path, part: int, parts: int) -> tuple[int, int]:
    """A byte range moved to line starts."""
    size = path.stat().st_size
    edges = []
    with path.open("rb") as file:
        for offset in (size * part // parts, size * (part + 1) // parts):
            if 0 < offset < size:
                file.seek(offset - 1)
                file.readline()
                offset = file.tell()
            edges.append(offset)
    return edges[0], edges[1]


def _typed_lines(path: Path, kind: type, part: int, parts: int) -> int:
    decode: Callable[[bytes], object] = msgspec.json.Decoder(kind).decode
    count = 0
    for lines in _lines(path, part, parts):
        for line in lines:
            decode(line)
        count += len(lines)
    return count


def _typed_blocks(path: Path, kind: type, part: int, parts: int) -> int:
    decode: Callable[[bytes], list[object]] = msgspec.json.Decoder(kind).decode_lines
    return sum(len(decode(block)) for block in _blocks(path, part, parts))


def _untyped_lines(path: Path, _: type, part: int, parts: int) -> int:
    decode: Callable[[bytes], object] = msgspec.json.decode
    count = 0
    for lines in _lines(path, part, parts):
        for line in lines:
            decode(line)
        count += len(lines)
    return count


FLOORS: dict[str, tuple[str, Callable[[Path, type, int, int], int]]] = {
    "lines": ("decode floor (a): typed, line by line", _typed_lines),
    "blocks": ("decode floor (b): typed, 128 KiB blocks", _typed_blocks),
    "untyped": ("decode floor (c): untyped, line by line", _untyped_lines),
}


def _floor_part(name: str, pair: Pair, part: int, parts: int) -> int:
    gc.disable()
    decode = FLOORS[name][1]
    return decode(pair.gold, Gold, part, parts) + decode(pair.traces, Trace, part, parts)


def floor(name: str, pair: Pair, jobs: int) -> int:
    """Decode both files and drop every record at once; the number of records."""
    if jobs == 1:
        return _floor_part(name, pair, 0, 1)
    context = multiprocessing.get_context("fork" if sys.platform == "linux" else "spawn")
    with context.Pool(jobs) as pool:
        return sum(pool.starmap(_floor_part, [(name, pair, part, jobs) for part in range(jobs)], chunksize=1))


def floor_command(name: str, pair: Pair, jobs: int) -> list[str]:
    """The command that times a floor."""
    return [sys.executable, __file__, "--floor", name, "--jobs", str(jobs), str(pair.gold), str(pair.traces)]


# the parts of the table


def _progress(text: str) -> None:
    print(f"… {text}", file=sys.stderr, flush=True)


def _at_most(what: str, value: float, limit: float, unit: str = "×") -> Row:
    return Row(what, value, unit, f"≤ {limit:g} {unit}", value <= limit)


_LOADED_BY_HELP = """
import sys
before = set(sys.modules)
from ragworthy.cli.main import main
try:
    main(["--help"])
except SystemExit:
    pass
found = {name.partition(".")[0] for name in set(sys.modules) - before} - {"ragworthy"}
print("\\n" + ",".join(sorted(found - sys.stdlib_module_names)))
"""


def cold_start(folder: Path, seed: Path | None) -> list[Row]:
    """Small work: what a user waits for on three questions and on --help."""
    _progress("cold start")
    pair = example(folder)
    commands = [[*OURS, "score", "answers", *pair.arguments], [*OURS, "--help"]]
    if seed is not None:
        commands.append([sys.executable, str(seed), *pair.arguments])
    ours, usage, *theirs = best_in_turn(commands, COLD_TIMES)
    rows = [Row("cold start, three questions: ours", ours.seconds * 1000, "ms")]
    for one in theirs:
        rows.append(Row("cold start, three questions: sources' scorer", one.seconds * 1000, "ms"))
        ratio = ours.seconds / one.seconds
        rows.append(_at_most("cold start: ours / sources' scorer", ratio, MOST_OVER_SEED_COLD))
    loaded = run([sys.executable, "-c", _LOADED_BY_HELP]).output.splitlines()[-1]
    rows.append(Row("--help", usage.seconds * 1000, "ms"))
    rows.append(Row("--help: modules beyond the standard library", loaded or "none", "", "none", not loaded))
    return rows


def _score(pair: Pair, jobs: int | None) -> list[str]:
    wanted = ["--jobs", str(jobs)] if jobs else []
    return [*OURS, "score", "answers", *pair.arguments, "--format", "json", *wanted]


class Inputs(NamedTuple):
    """Everything that was generated."""

    questions: int
    pair: Pair
    mixed: Pair
    half: Pair
    tenth: Pair


def many(given: Inputs, seed: Path | None, jobs: int | None) -> list[Row]:
    """Large work: all questions, in order and shuffled, against the sources' scorer and the decode floors."""
    cores = jobs or len(os.sched_getaffinity(0))
    pair = given.pair
    for path in {*pair, *given.mixed, *given.half, *given.tenth}:
        path.read_bytes()  # into the page cache, so that no run pays for the disk
    commands = {
        "ours": _score(pair, jobs),
        "one": _score(pair, 1),
        "mixed": _score(given.mixed, jobs),
        "half": _score(given.half, jobs),
        "tenth": _score(given.tenth, jobs),
        **{name: floor_command(name, pair, cores) for name in FLOORS},
        "blocks-one": floor_command("blocks", pair, 1),
    }
    _progress(f"ours and the decode floors, best of {TIMES}")
    done = dict(zip(commands, best_in_turn(list(commands.values()), TIMES), strict=True))
    _progress("peak memory, in runs of their own")
    peaks = {name: peak_memory(commands[name]) for name in ("ours", "one", "mixed", "tenth")}
    ours, one = done["ours"].seconds, done["one"].seconds
    rows = [
        Row(f"ours, {cores} processes", ours, "s"),
        Row("ours, 1 process", one, "s"),
        Row("ours, shuffled traces", done["mixed"].seconds, "s"),
    ]
    rows += [Row(FLOORS[name][0], done[name].seconds, "s") for name in FLOORS]
    rows += [
        _at_most(f"ours / floor ({letter})", ours / done[name].seconds, MOST_OVER_FLOOR)
        for name, letter in zip(FLOORS, "abc", strict=True)
    ]
    rows += [
        Row("ours shuffled / floor (b)", done["mixed"].seconds / done["blocks"].seconds, "×"),
        Row("ours, 1 process / floor (b), 1 process", one / done["blocks-one"].seconds, "×"),
        _at_most("peak memory, all processes", peaks["ours"], MOST_GB, "GB"),
        _at_most("peak memory, 1 process", peaks["one"], MOST_GB, "GB"),
        _at_most("peak memory, shuffled traces", peaks["mixed"], MOST_GB, "GB"),
    ]
    rows += _against(seed, pair, done["ours"])
    rows += [
        _at_most("growth: time, ten times the questions", ours / done["tenth"].seconds, MOST_GROWTH),
        Row("growth: time, twice the questions", ours / done["half"].seconds, "×"),
        Row("growth: memory, ten times the questions", peaks["ours"] / peaks["tenth"], "×"),
    ]
    reports = [_numbers(done[name].output) for name in ("ours", "one", "mixed")]
    rows.append(_agree("same numbers: processes, order of traces", all(one == reports[0] for one in reports)))
    counts = {done[name].output.strip() for name in (*FLOORS, "blocks-one")}
    rows.append(_agree("the floors decoded every record", counts == {str(2 * given.questions)}))
    return rows


def _against(seed: Path | None, pair: Pair, ours: Finished) -> list[Row]:
    if seed is None:
        return [Row("sources' scorer", "skipped: ../shared is not there")]
    _progress("the sources' scorer, once")
    theirs = run([sys.executable, str(seed), *pair.arguments])
    ratio = theirs.seconds / ours.seconds
    return [
        Row("sources' scorer, once", theirs.seconds, "s"),
        Row("sources' scorer: peak memory", theirs.own_gb, "GB"),
        Row("sources' scorer / ours", ratio, "×", f"≥ {LEAST_OVER_SEED:g} ×", ratio >= LEAST_OVER_SEED),
        _agree("same numbers as the sources' scorer", rounded(ours.output) == printed(theirs.output)),
    ]


def _agree(what: str, same: bool) -> Row:
    return Row(what, "yes" if same else "NO", "", "yes", same)


_COUNTS = ("answered", "refused", "answerable", "unanswerable")
_RATES = ("precision", "chr", "under_refusal", "over_refusal")


def printed(output: str) -> dict[str, Any]:
    """What the sources' scorer prints, without its gates."""
    printed = json.loads(output)
    return {key: printed[key] for key in (*_COUNTS, *_RATES, "recall@k")}


def rounded(output: str) -> dict[str, Any]:
    """The same from our report."""
    suite = json.loads(output)["suites"]["answers"]
    found = suite["metrics"].items()
    values = {name: round(one["value"], 4) for name, one in found if one["value"] is not None}
    rates = {key: values[f"answers.{key}"] for key in _RATES} | {"recall@k": values["answers.recall@5"]}
    return {key: suite["counts"][key] for key in _COUNTS} | rates


def _numbers(output: str) -> list[Any]:
    """Everything in a report that does not name a file."""
    report = json.loads(output)
    suite = report["suites"]["answers"]
    kept = ("counts", "metrics", "labels", "offenders")
    return [report["verdict"], report["gates"], *(suite[key] for key in kept)]


# the whole


def table(rows: list[Row]) -> str:
    """The rows under one head, in plain text."""
    cells = [("what", "measured", "budget", ""), *(row.cells() for row in rows)]
    wide = [max(len(row[i]) for row in cells) for i in range(4)]
    lines = [f"{a:<{wide[0]}}  {b:>{wide[1]}}  {c:<{wide[2]}}  {d}".rstrip() for a, b, c, d in cells]
    return "\n".join([lines[0], "-" * (sum(wide) + 6), *lines[1:]])


def machine() -> str:
    """What the numbers were measured on."""
    cores = len(os.sched_getaffinity(0))
    load = os.getloadavg()[0]
    versions = f"Python {platform.python_version()}, msgspec {msgspec.__version__}"
    return f"{versions}, {cores} cores, load {load:.1f} at the start"


def _keep_bytecode(folder: Path) -> None:
    """Let every process find compiled modules, as after an install; else a cold start times the compiler."""
    os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
    os.environ["PYTHONPYCACHEPREFIX"] = str((folder / "bytecode").resolve())


def bench(folder: Path, questions: int, jobs: int | None, *, with_seed: bool) -> list[Row]:
    """Generate, run everything, and give the table."""
    _keep_bytecode(folder)
    seed = sources_scorer(folder) if with_seed else None
    if with_seed and seed is None:
        print(f"{SOURCE} is not there: the rows of the sources' scorer are skipped")
    _progress(f"generating {questions:,} questions in {folder}")
    pair = generate(folder, questions)
    mixed = shuffled(pair, folder)
    half, tenth = (first_of(pair, questions // share, folder) for share in (2, 10))
    size = Row(f"input: {questions:,} questions, gold and traces", pair.size / 1e6, "MB")
    return [*cold_start(folder, seed), size, *many(Inputs(questions, pair, mixed, half, tenth), seed, jobs)]


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--questions", type=int, default=1_000_000, metavar="N", help="how many (default: 1,000,000)")
    add("--keep", type=Path, metavar="DIR", help="generate into this folder and leave it there")
    add("--skip-seed", action="store_true", help="leave the sources' scorer out")
    add("--jobs", type=int, metavar="N", help="processes, ours and the floors' (default: one a core)")
    add("--json", type=Path, metavar="FILE", help="also write the table as JSON")
    add("--floor", choices=FLOORS, help=argparse.SUPPRESS)
    add("files", nargs="*", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Run the benchmark, or one floor of it."""
    given = _arguments()
    if given.floor:
        print(floor(given.floor, Pair(*given.files), given.jobs))
        return 0
    about = machine()
    with tempfile.TemporaryDirectory(prefix="ragworthy-bench-") as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        rows = bench(folder, given.questions, given.jobs, with_seed=not given.skip_seed)
    print(about)
    print(table(rows))
    if given.json:
        content = {"machine": about, "questions": given.questions, "rows": [row._asdict() for row in rows]}
        given.json.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
