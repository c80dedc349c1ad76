"""What every subject of `make bench` shares: a side is a process, timed by the system; then the page and its charts."""

import json
import math
import os
import platform
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

ROOT = Path(__file__).resolve().parents[1]
SHARED = ROOT.parent / "shared"
OURS = (sys.executable, "-m", "ragworthy")
SIDES = str(Path(__file__).with_name("sides.py"))
UNLIKE = "another distance"
"""Beside a side that does not do the same work: it is in the table, and not in the chart."""
ENDED = (0, 1, 3, 4)
"""Exit codes of a run that did its work: a verdict is no failure of a benchmark."""
QUIET = {"RAGAS_DO_NOT_TRACK": "true", "DEEPEVAL_TELEMETRY_OPT_OUT": "1", "TOKENIZERS_PARALLELISM": "false"}


class Ran(NamedTuple):
    """A process that has ended: by the clock, of the processor (its children's too), and its largest process."""

    seconds: float
    processor: float
    peak_mb: float
    output: str

    @property
    def told(self) -> dict[str, Any]:
        """The JSON that a side prints as its last line."""
        found: dict[str, Any] = json.loads(self.output.splitlines()[-1])
        return found


class Line(NamedTuple):
    """A line of a table."""

    side: str
    size: int
    """How many items went in."""
    ran: Ran
    growth: float | None = None
    agrees: str = ""
    work: Mapping[str, float] | None = None
    """`seconds` and `processor` of the work that is compared, where that is not the whole process."""

    @property
    def seconds(self) -> float:
        """By the clock."""
        return self.work["seconds"] if self.work is not None else self.ran.seconds

    @property
    def processor(self) -> float:
        """Of the processor, all cores together."""
        return self.work["processor"] if self.work is not None else self.ran.processor

    @property
    def rate(self) -> float:
        """Items a second."""
        return self.size / self.seconds


class Subject(NamedTuple):
    """A table with a sentence above it."""

    name: str
    about: str
    unit: str
    lines: tuple[Line, ...] = ()
    facts: tuple[tuple[str, str], ...] = ()
    """Where there is nothing to time twice: a name and a value each."""
    skipped: tuple[str, ...] = ()
    sizes: tuple["Size", ...] = ()


class Size(NamedTuple):
    """What an installation weighs."""

    name: str
    packages: int
    megabytes: float


class Bench(NamedTuple):
    """Where and how large a run is."""

    folder: Path
    scale: float
    times: int
    peers: Path | None
    """The Python that has the peers."""

    def count(self, items: int) -> int:
        """So many items at this scale, at least 20."""
        return max(20, round(items * self.scale))


def run(command: Sequence[str | Path], times: int = 1) -> Ran:
    """The fastest of some runs of a fresh process, by its time of the processor: the clock counts others' work."""
    return min((_run([str(word) for word in command]) for _ in range(times)), key=lambda ran: ran.processor)


def _run(command: list[str]) -> Ran:
    environment = {**os.environ, **QUIET, "RAGWORTHY_STORE": "off"}
    with tempfile.TemporaryFile("w+b") as out, tempfile.TemporaryFile("w+b") as err:
        begin = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, stdin=subprocess.DEVNULL, env=environment)
        _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - begin
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        if process.returncode not in ENDED:
            err.seek(0)
            raise SystemExit(f"{' '.join(command)}\nended with {process.returncode}: {err.read().decode()[-2000:]}")
        return Ran(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1000, out.read().decode())


def side(python: str | Path, name: str, *words: object, times: int = 1) -> Ran:
    """A side of `sides.py`, in the Python that has its packages."""
    return run([python, SIDES, name, *map(str, words)], times)


def exponent(small: tuple[int, float], large: tuple[int, float]) -> float:
    """How time grows: seconds ~ items^exponent between two sizes; 1 is in proportion.

    >>> exponent((10, 1.0), (1000, 100.0))
    1.0
    """
    return round(math.log(large[1] / small[1]) / math.log(large[0] / small[0]), 2)


def alone(ran: Ran, agrees: str) -> str:
    """What agrees, and how long the work took without imports, where the whole process is compared."""
    return f"{agrees}; its metrics alone: {ran.told['seconds']:.2f} s"


def furthest(one: Mapping[str, float], other: Mapping[str, float]) -> str:
    """The largest difference of two sets of numbers, as a table shows it; a name that one lacks is a difference.

    >>> furthest({"a": 1.0}, {"a": 0.75}), furthest({"a": 1.0}, {"a": 1.0}), furthest({"a": 1.0}, {})
    ('differs by 2.5e-01', 'same', 'not the same numbers')
    """
    if set(one) != set(other):
        return "not the same numbers"
    most = max(abs(one[name] - other[name]) for name in one)
    return "same" if most < 1e-9 else f"differs by {most:.1e}"


def progress(text: str) -> None:
    """What is going on, on stderr."""
    print(f"… {text}", file=sys.stderr, flush=True)


# the page


def is_quiet(begun: Sequence[float], ended: Sequence[float]) -> bool:
    """Whether nobody else worked on this machine, as far as its load shows."""
    return begun[0] < 1 and ended[0] <= len(os.sched_getaffinity(0)) + 0.5


def machine(begun: Sequence[float], ended: Sequence[float]) -> list[str]:
    """What the numbers were measured on, and how busy it was."""
    cores = len(os.sched_getaffinity(0))
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    names = [
        line.partition(":")[2].strip()
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines()
        if line.startswith("model name")
    ]
    busy = f"load {begun[0]:.1f} at the start, {ended[0]:.1f} at the end"
    quiet = is_quiet(begun, ended)
    return [
        f"- {names[0] if names else platform.machine()}, {cores} cores, {memory:.0f} GB, {platform.system()}",
        f"- Python {platform.python_version()}",
        f"- {busy}: {'a quiet machine' if quiet else '**a busy machine: read ratios, and those with care**'}",
    ]


def page(subjects: Sequence[Subject], head: Sequence[str]) -> str:
    """The page RESULTS.md."""
    parts = ["# Results", "", *head, ""]
    for subject in subjects:
        parts += [f"## {subject.name}", "", subject.about, "", *_table(subject), ""]
    return "\n".join(parts)


def _table(subject: Subject) -> list[str]:
    found: list[str] = []
    if subject.lines:
        found += [
            f"| side | {subject.unit} | seconds | of the processor | {subject.unit}/s | × ours | × ours, processor "
            "| peak MB | growth | numbers |",
            "|---|---:|---:|---:|---:|---:|---:|---:|---:|---|",
        ]
        found += [_cells(line, ratios(line, subject.lines)) for line in subject.lines]
    if subject.sizes:
        found += ["| installation | packages | MB |", "|---|---:|---:|"]
        found += [f"| {one.name} | {one.packages} | {one.megabytes:.0f} |" for one in subject.sizes]
    if subject.facts:
        found += [
            *([""] if found else []),
            "| | |",
            "|---|---:|",
            *(f"| {name} | {value} |" for name, value in subject.facts),
        ]
    return [*found, *(f"\nNot measured: {one}." for one in subject.skipped)]


def _cells(line: Line, times: tuple[float, float] | None) -> str:
    growth = f"{line.growth:.2f}" if line.growth is not None else ""
    clock, processor = (f"{one:.1f}" for one in times) if times is not None else ("", "")
    cells = (
        line.side,
        f"{line.size:,}",
        f"{line.seconds:.3f}",
        f"{line.processor:.3f}",
        f"{line.rate:,.0f}",
        clock,
        processor,
        _peak(line.ran.peak_mb),
        growth,
        line.agrees,
    )
    return f"| {' | '.join(cells)} |"


def _peak(megabytes: float) -> str:
    """Linux counts the memory of whoever starts a process as a peak of that: below it, only a bound is known."""
    mine = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1000
    return f"{megabytes:,.0f}" if megabytes > 1.02 * mine else f"≤ {megabytes:,.0f}"


def ratios(line: Line, lines: Sequence[Line]) -> tuple[float, float] | None:
    """How many times our time another side needs, by the clock and of the processor: the first of ours with as many
    items is compared.
    """
    ours = next((one for one in lines if one.side.startswith("ragworthy") and one.size == line.size), None)
    if ours is None or line.side.startswith("ragworthy"):
        return None
    return line.seconds / ours.seconds, line.processor / ours.processor


# the charts

_WIDE, _HIGH, _LEFT = 860, 26, 400


def bars(title: str, rows: Sequence[tuple[str, float, str]], *, logarithmic: bool = False) -> str:
    """A bar for each row (name, length, what stands beside it) as SVG that is read in light and in dark."""
    most = max(value for _, value, _ in rows)
    room = _WIDE - _LEFT - 150

    def length(value: float) -> float:
        share = math.log10(1 + value) / math.log10(1 + most) if logarithmic else value / most
        return max(2.0, room * share)

    height = 44 + _HIGH * len(rows)
    lines = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDE} {height}" role="img"'
        f' aria-label="{escape(title)}"'
        ' font-family="system-ui,sans-serif" font-size="13">',
        "<style>text{fill:#24292f}@media(prefers-color-scheme:dark){text{fill:#e6edf3}}</style>",
        f'<text x="0" y="18" font-weight="600">{escape(title)}</text>',
    ]
    for nth, (name, value, shown) in enumerate(rows):
        top, wide = 34 + _HIGH * nth, length(value)
        fill = "#2da44e" if name.startswith("ragworthy") else "#8c959f"
        lines += [
            f'<text x="{_LEFT - 10}" y="{top + 14}" text-anchor="end">{escape(name)}</text>',
            f'<rect x="{_LEFT}" y="{top}" width="{wide:.1f}" height="18" rx="3" fill="{fill}"/>',
            f'<text x="{_LEFT + wide + 8:.1f}" y="{top + 14}">{escape(shown)}</text>',
        ]
    return "\n".join([*lines, "</svg>", ""])


def speed_chart(subjects: Sequence[Subject], *, quiet: bool) -> str:
    """How many times our time others need, subject by subject: by the clock on a quiet machine; where others worked on
    it, too, the clock tells nothing, and the time of the processor is taken.
    """
    rows = [
        (f"{subject.name}: {line.side}", times[not quiet], f"{times[not quiet]:.1f} ×")
        for subject in subjects
        for line in subject.lines
        if (times := ratios(line, subject.lines)) is not None
        and not line.side.startswith("floor")
        and line.agrees != UNLIKE
    ]
    how = "by the clock" if quiet else "time of the processor, busy machine"
    return bars(f"Time that others need, ragworthy = 1 ({how}, logarithmic)", rows, logarithmic=True)


def size_chart(sizes: Sequence[Size]) -> str:
    """What an installation weighs."""
    rows = [(one.name, one.megabytes, f"{one.megabytes:.0f} MB, {one.packages} packages") for one in sizes]
    return bars("What is installed", rows)
