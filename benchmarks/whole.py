"""Everything that `make bench` measures, one subject after the other: RESULTS.md, and the two charts of the README.

    python benchmarks/whole.py [--scale 0.1] [--only Answers,Stability] [--out FOLDER]

Every other tool gets the same input in the same run. The peers are those of `make peers`; without that environment
their rows are left out, and the page says so.
"""

import argparse
import json
import os
import sys
import tempfile
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path

from runner import ROOT, Bench, Subject, is_quiet, machine, page, size_chart, speed_chart
from subjects import answers, ranks, records, startup, texts, whole_runs

TIMES = 3
HEAD = """Written by `make bench`. Every side of a table got the same input in the same run. *× ours* says how many
times our time the other side needs for as many items, by the clock and in time of the processor (all cores together).
Ours is the one of several runs that took the least of the processor; the others run once. *growth* is the exponent of
that time over items, between a smaller input and this one: 1 is in proportion. *peak MB* is the largest process.
*numbers* says how far both sides agree."""


def subjects(bench: Bench) -> list[Callable[[], list[Subject]]]:
    """What is measured, in the order of the page."""
    return [
        lambda: [answers.measured(bench)],
        lambda: [ranks.trec(bench)],
        lambda: [ranks.jsonl(bench)],
        lambda: [records.structured(bench)],
        lambda: [records.stability(bench)],
        lambda: [texts.delta_s(bench)],
        lambda: list(texts.search(bench)),
        lambda: [whole_runs.report(bench)],
        lambda: [whole_runs.monitor(bench)],
        lambda: [startup.cold(bench)],
        lambda: [startup.imported(bench)],
        lambda: [startup.sizes(bench)],
    ]


def write(out: Path, charts: Path, found: list[Subject], head: list[str], *, quiet: bool) -> None:
    """The page, the same as JSON, and the charts."""
    out.mkdir(parents=True, exist_ok=True)
    (out / "RESULTS.md").write_text(page(found, head), encoding="utf-8")
    (charts / "bench-speed.svg").write_text(speed_chart(found, quiet=quiet), encoding="utf-8")
    sizes = next((one.sizes for one in found if one.sizes), ())
    if sizes:
        (charts / "bench-size.svg").write_text(size_chart(sizes), encoding="utf-8")


def main() -> int:
    """Measure everything and write it down."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--scale", type=float, default=1.0, help="of all inputs (default: 1)")
    parser.add_argument("--times", type=int, default=TIMES, help=f"runs of ours, of which the fastest counts ({TIMES})")
    parser.add_argument("--only", type=int, nargs="*", help="numbers of subjects, from 0")
    parser.add_argument("--out", type=Path, help="where RESULTS.md and the charts go (default: here and docs/)")
    parser.add_argument("--peers", type=Path, default=ROOT / ".venv-peers/bin/python", help="the Python with the peers")
    given = parser.parse_args()
    begun, at = os.getloadavg(), datetime.now(UTC)
    found: list[Subject] = []
    with tempfile.TemporaryDirectory(prefix="ragworthy-bench-") as temporary:
        bench = Bench(Path(temporary), given.scale, given.times, given.peers if given.peers.exists() else None)
        for nth, measured in enumerate(subjects(bench)):
            if given.only is None or nth in given.only:
                found += measured()
    took = (datetime.now(UTC) - at).total_seconds()
    scale = "" if given.scale == 1 else f" **Inputs were scaled by {given.scale:g}.**"
    ended = os.getloadavg()
    head = [HEAD + scale, "", *machine(begun, ended), f"- {at:%Y-%m-%d}, {took / 60:.0f} minutes"]
    write(given.out or ROOT / "benchmarks", given.out or ROOT / "docs", found, head, quiet=is_quiet(begun, ended))
    print(json.dumps({"subjects": len(found), "minutes": round(took / 60, 1)}))
    return 0


if __name__ == "__main__":
    sys.exit(main())
