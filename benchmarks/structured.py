"""Speed and memory of the structured suite, against merely decoding the same files.

Everything is generated from the real texts beside the project, run and compared in one go; see README.md beside this
file. Timings never decide anything: the exit code is 0 whatever they are.
"""

import argparse
import contextlib
import gc
import gzip
import json
import os
import random
import resource
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from answers import BLOCK, OURS, Row, machine, peak_memory, run, table
from ragworthy.records import StructuredGold, StructuredOutput

TEXTS = Path(__file__).resolve().parents[2] / "shared/data/graphrag/dev"
TIMES = 2
BROKEN = 0.10
MOST_GROWTH = 10.5
META = {
    "prompt_sha256": "ab" * 32,
    "prompt_version": "bench",
    "index_version": "bench",
    "model_id": "bench",
    "adapter_id": "none",
}
Json = dict[str, Any]


class Pair(NamedTuple):
    """A question set and the outputs for it."""

    questions: Path
    outputs: Path

    @property
    def size(self) -> int:
        return self.questions.stat().st_size + self.outputs.stat().st_size


# the input


class Text(NamedTuple):
    """A real question with its expected answer and the chunks that were retrieved for it."""

    question: str
    answer: Json
    source_map: list[Json]
    chunks: list[Json]


def texts() -> list[Text]:
    """The real items, each with the references and the context of its perfect answer."""
    golds = [json.loads(line) for line in (TEXTS / "gold.jsonl").read_text(encoding="utf-8").splitlines()]
    known = {gold["key"]: gold for gold in golds}
    with gzip.open(TEXTS / "cases.jsonl.gz", "rt", encoding="utf-8") as file:
        cases = [case for case in map(json.loads, file) if case["kind"] == "gold"]
    found = []
    for case in cases:
        gold = known[case["question_key"]]
        refs = json.loads(case["raw_output"])["source_map"]
        found.append(Text(gold["question"], gold["expected"]["answer_example"], refs, case["context_chunks"]))
    return found


def numbered(text: Text, number: int) -> Text:
    """The item with its number in every text, so that no two are alike."""
    answer = text.answer | {
        "sub_topic": f"{text.answer['sub_topic']} {number}",
        "detailed_description": [f"{item}（{number}）" for item in text.answer["detailed_description"]],
        "original_evidence": f"第{number}條 {text.answer['original_evidence']}",
        "predicted_questions": [f"{number}. {item}" for item in text.answer["predicted_questions"]],
    }
    chunks = [chunk | {"text": f"第{number}條 {chunk['text']}"} for chunk in text.chunks]
    return Text(f"{text.question} ({number})", answer, text.source_map, chunks)


def answered(mine: Text, other: Text, draw: Callable[[], float]) -> Json:
    """An answer of some quality: mostly right, and spoilt in every usual way."""
    answer = mine.answer | {"source_map": mine.source_map}
    fate = draw()
    if fate < 0.15:
        answer["detailed_description"] = answer["detailed_description"][::2]
    elif fate < 0.30:
        answer["detailed_description"] = other.answer["detailed_description"] + answer["detailed_description"]
    elif fate < 0.40:
        answer["original_evidence"] = answer["original_evidence"][:24]
    elif fate < 0.50:
        answer["source_map"] = [*other.source_map, {"part": "main_topic", "refs": [{"file": "none.doc"}]}]
    elif fate < 0.60:
        answer |= {"main_topic": other.answer["main_topic"], "predicted_questions": answer["predicted_questions"][:1]}
    elif fate < 0.65:
        answer = other.answer | {"source_map": other.source_map}
    return answer


def broken(answer: Json, draw: Callable[[], float]) -> str:
    """An answer that fails, for one of the usual reasons."""
    raw = json.dumps(answer, ensure_ascii=False)
    fate = int(draw() * 6)
    if fate == 0:
        return f"```json\n{raw}\n```"
    if fate == 1:
        return f"Here is the answer:\n{raw}"
    if fate == 2:
        return raw[: int(len(raw) * draw())]
    if fate == 3:
        return "I could not find this in the documents."
    spoilt = answer | {"detailed_description": "string"} if fate == 4 else dict(list(answer.items())[1:])
    return json.dumps(spoilt, ensure_ascii=False)


def generate(folder: Path, items: int, seed: int = 7) -> Pair:
    """Write a question set and its outputs, in the same order."""
    known, rng = texts(), random.Random(seed)
    encode = json.JSONEncoder(ensure_ascii=False).encode
    pair = Pair(folder / "questions.jsonl", folder / "outputs.jsonl")
    with pair.questions.open("w", encoding="utf-8") as questions, pair.outputs.open("w", encoding="utf-8") as outputs:
        for number in range(items):
            mine = numbered(known[number % len(known)], number)
            answer = answered(mine, rng.choice(known), rng.random)
            wrong = rng.random() < BROKEN
            raw = broken(answer, rng.random) if wrong else json.dumps(answer, ensure_ascii=False)
            name = f"Q{number:07d}"
            expected = {"answer_example": mine.answer, "source_map": mine.source_map}
            questions.write(encode({"id": name, "question": mine.question, "expected": expected}) + "\n")
            outputs.write(encode({"id": name, "raw": raw, "context": mine.chunks, "meta": META}) + "\n")
    return pair


def first_of(pair: Pair, items: int, folder: Path) -> Pair:
    """The first items only."""
    small = Pair(folder / f"questions-{items}.jsonl", folder / f"outputs-{items}.jsonl")
    for whole, part in zip(pair, small, strict=True):
        with whole.open("rb") as source, part.open("wb") as target:
            target.writelines(islice(source, items))
    return small


# the decode floors: this file runs itself with --floor


def _decoded(pair: Pair, decoders: Sequence[Callable[[bytes], Any]]) -> Iterator[Any]:
    for path, decode in zip(pair, decoders, strict=True):
        with path.open("rb") as file:
            for line in file:
                yield decode(line)


def _typed(pair: Pair) -> Iterator[Any]:
    return _decoded(pair, [msgspec.json.Decoder(kind).decode for kind in (StructuredGold, StructuredOutput)])


def _answers_too(pair: Pair) -> Iterator[Any]:
    for record in _typed(pair):
        if isinstance(record, StructuredOutput):
            with contextlib.suppress(ValueError):
                json.loads(record.raw or "")
        yield record


FLOORS: dict[str, tuple[str, Callable[[Pair], Iterator[Any]]]] = {
    "json": ("decode floor (a): json", lambda pair: _decoded(pair, [json.loads] * 2)),
    "msgspec": ("decode floor (b): msgspec, untyped", lambda pair: _decoded(pair, [msgspec.json.decode] * 2)),
    "typed": ("decode floor (c): msgspec, our records", _typed),
    "answers": ("decode floor (d): (c) and json on each answer", _answers_too),
}


def floor(name: str, pair: Pair) -> int:
    """Decode both files, line by line, and drop every record at once; the number of records."""
    gc.disable()
    return sum(1 for _ in FLOORS[name][1](pair))


# the parts of the table


def _progress(text: str) -> None:
    print(f"… {text}", file=sys.stderr, flush=True)


def score(pair: Pair, *more: str) -> list[str]:
    files = ["--questions", str(pair.questions), "--outputs", str(pair.outputs)]
    return [*OURS, "score", "structured", *files, "--format", "json", *more]


def floor_command(name: str, pair: Pair) -> list[str]:
    return [sys.executable, __file__, "--floor", name, str(pair.questions), str(pair.outputs)]


class Timed(NamedTuple):
    """A process that has ended: seconds by the clock and of the processor (its children's too), memory, output."""

    seconds: float
    processor: float
    own_gb: float
    output: str


def timed(command: list[str]) -> Timed:
    """Run a fresh process."""
    before = _used()
    done = run(command)
    return Timed(done.seconds, _used() - before, done.own_gb, done.output)


def _used() -> float:
    """Seconds of the processor that all processes started from here, and ended, have used."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def best_in_turn(commands: dict[str, list[str]], times: int) -> dict[str, Timed]:
    """The fastest run of each command, run in turn so that a noisy moment hits all alike."""
    found: dict[str, Timed] = {}
    for turn in range(times):
        for name, command in commands.items():
            _progress(f"round {turn + 1} of {times}: {name}")
            done = timed(command)
            found[name] = min(found.get(name, done), done, key=lambda one: one.seconds)
    return found


def warm(paths: Sequence[Path]) -> None:
    """Read files into the page cache, so that no run pays for the disk.

    Block by block: on Linux a new process counts the memory of the one that started it as its own peak.
    """
    for path in paths:
        with path.open("rb", buffering=0) as file:
            while file.read(BLOCK):
                pass


class Side(NamedTuple):
    """One way to run the suite."""

    what: str
    items: int
    command: list[str]
    alone: bool
    """Whether one process does the work, so that its own memory is all there is."""


def sides(pair: Pair, tenth: Pair, items: int) -> dict[str, Side]:
    """Every way to run the suite that is timed."""
    cores, few = len(os.sched_getaffinity(0)), items // 10
    one, two = ("--jobs", "1"), ("--profile", "reference")
    return {
        "tenth, one": Side(f"default, {few:,} items, 1 process", few, score(tenth, *one), True),
        "tenth": Side(f"default, {few:,} items, {cores} processes", few, score(tenth), False),
        "one": Side(f"default, {items:,} items, 1 process", items, score(pair, *one), True),
        "all": Side(f"default, {items:,} items, {cores} processes", items, score(pair), False),
        "reference, one": Side(f"reference, {few:,} items, 1 process", few, score(tenth, *two, *one), True),
        "reference": Side(f"reference, {few:,} items, {cores} processes", few, score(tenth, *two), False),
    }


def _numbers(done: Timed) -> Any:
    return json.loads(done.output)["suites"]["structured"]


def _agree(what: str, same: bool) -> Row:
    return Row(what, "yes" if same else "NO", "", "yes", same)


def measured(pair: Pair, tenth: Pair, items: int, times: int) -> list[Row]:
    """Time, speed and memory of every side, the floors, and how they compare."""
    warm([*pair, *tenth])
    ways = sides(pair, tenth, items)
    commands = {name: side.command for name, side in ways.items()} | {
        name: floor_command(name, pair) for name in FLOORS
    }
    done = best_in_turn(commands, times)
    _progress("peak memory of several processes, in runs of their own")
    peaks = {name: done[name].own_gb if side.alone else peak_memory(side.command) for name, side in ways.items()}
    rows = []
    for name, side in ways.items():
        rows += [
            Row(side.what, done[name].seconds, "s"),
            Row("  of the processor", done[name].processor, "s"),
            Row("  speed", side.items / done[name].seconds, "items/s"),
            Row("  peak memory", peaks[name], "GB"),
        ]
    own = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    rows.append(Row("peak memory of this benchmark (no process shows less)", own, "GB"))
    rows += [Row(FLOORS[name][0], done[name].seconds, "s") for name in FLOORS]
    return rows + _compared(done, peaks) + _checked(done, items) + _quality(_numbers(done["one"]))


def _compared(done: dict[str, Timed], peaks: dict[str, float]) -> list[Row]:
    rows = [
        Row(f"default, 1 process / floor ({letter})", done["one"].seconds / done[name].seconds, "×")
        for name, letter in zip(FLOORS, "abcd", strict=True)
    ]
    reference = done["reference, one"].seconds / done["tenth, one"].seconds
    rows.append(Row("default: 1 process / several", done["one"].seconds / done["all"].seconds, "×"))
    rows.append(Row("reference / default, 1 process", reference, "×"))
    for what, large, small in (("1 process", "one", "tenth, one"), ("several", "all", "tenth")):
        growth = done[large].processor / done[small].processor
        rows += [
            Row(f"growth: time, ten times the items, {what}", done[large].seconds / done[small].seconds, "×"),
            Row("  of the processor", growth, "×", f"≤ {MOST_GROWTH:g} ×", growth <= MOST_GROWTH),
            Row("  memory", peaks[large] / peaks[small], "×"),
        ]
    return rows


def _checked(done: dict[str, Timed], items: int) -> list[Row]:
    pairs = (("tenth, one", "tenth"), ("one", "all"), ("reference, one", "reference"))
    same = all(_numbers(done[one]) == _numbers(done[other]) for one, other in pairs)
    counts = {done[name].output.strip() for name in FLOORS}
    return [
        _agree("same numbers with 1 process and several", same),
        _agree("the floors decoded every record", counts == {str(2 * items)}),
    ]


def _quality(suite: Json) -> list[Row]:
    """What the generated outputs are like."""
    rate = suite["metrics"]["structured.schema_pass_rate"]["value"]
    return [
        Row("the outputs: mean score", suite["metrics"]["structured.score"]["value"]),
        Row("the outputs: share that fails", 100 * (1 - rate), "%"),
        Row("the outputs: different questions", f"{suite['counts']['distinct_questions']:,}"),
    ]


# the whole


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    add = parser.add_argument
    add("--items", type=int, default=100_000, metavar="N", help="how many (default: 100,000)")
    add("--times", type=int, default=TIMES, metavar="N", help=f"repeats, of which the best counts (default: {TIMES})")
    add("--keep", type=Path, metavar="DIR", help="generate into this folder and leave it there")
    add("--json", type=Path, metavar="FILE", help="also write the table as JSON")
    add("--floor", choices=FLOORS, help=argparse.SUPPRESS)
    add("files", nargs="*", type=Path, help=argparse.SUPPRESS)
    return parser.parse_args()


def main() -> int:
    """Run the benchmark, or one floor of it."""
    given = _arguments()
    if given.floor:
        print(floor(given.floor, Pair(*given.files)))
        return 0
    if not TEXTS.is_dir():
        print(f"{TEXTS} is not there: nothing was measured")
        return 0
    about = machine()
    with tempfile.TemporaryDirectory(prefix="ragworthy-bench-") as temporary:
        folder = given.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        _progress(f"generating {given.items:,} items in {folder}")
        pair = generate(folder, given.items)
        size = Row(f"input: {given.items:,} items, questions and outputs", pair.size / 1e6, "MB")
        rows = [size, *measured(pair, first_of(pair, given.items // 10, folder), given.items, given.times)]
    rows.append(Row("load of the machine at the end", os.getloadavg()[0]))
    print(about)
    print(table(rows))
    if given.json:
        content = {"machine": about, "items": given.items, "rows": [row._asdict() for row in rows]}
        given.json.write_text(json.dumps(content, indent=2, ensure_ascii=False) + "\n", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
