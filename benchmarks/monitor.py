"""Live records replayed: rate on one core, peak memory, growth.

    python benchmarks/monitor.py [RECORDS …]     default: 100,000 and 1,000,000

Writes generated logs to a temporary folder, replays each with `ragworthy monitor --once` in a process of its own, and
prints records for each second of the processor and the peak of memory, as the system saw them.
"""

import json
import os
import random
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PER_MINUTE = 60_000
"""A thousand questions a second."""
START = 1_780_000_020  # a full minute
_QUESTIONS = 20_000
_BLOCK = 10_000


def lines(count: int, seed: int = 16) -> "list[bytes]":
    """A block of records, with `TS` where the time goes."""
    draw = random.Random(seed)
    made = []
    for n in range(count):
        question = min(int(draw.expovariate(1 / 2000)), _QUESTIONS)
        ids = [f"doc{(question * 7 + k) % 5000}#s{k}" for k in range(10)]
        if draw.random() < 0.02:
            draw.shuffle(ids)
        distance = round(min(0.95, max(0.02, draw.gauss(0.3, 0.08))), 4)
        record = {
            "qid": f"q{n}-%s",
            "question": f"How do I configure feature {question} for a customer?",
            "retrieval": {"topk": ids, "metric": "cosine", "analyzer": "standard", "index_hash": "sha256:4f2a",
                          "embed_model": "m1", "ΔS_list": [distance] * 10, "λ_states": ["→"]},
            "answer": {"citations": ids[:1], "coverage": round(draw.betavariate(9, 2), 3), "ΔS": distance,
                       "λ_final": "→" if draw.random() < 0.97 else "<>"},
            "perf": {"t_retrieve_ms": round(draw.lognormvariate(4, 0.4), 1),
                     "t_reason_ms": round(draw.lognormvariate(6.5, 0.4), 1)},
            "context": {"client": f"c{draw.randrange(500)}", "build": "b42", "region": draw.choice(["eu", "us"])},
            "ts": "TS",
        }  # fmt: skip
        made.append(json.dumps(record, ensure_ascii=False).encode())
    return made


def write(path: Path, count: int) -> None:
    """A log of so many records, a thousand a second."""
    block = [line.replace(b'"TS"', b"%d.%03d") for line in lines(min(count, _BLOCK))]
    with path.open("wb") as file:
        for first in range(0, count, len(block)):
            some = block[: min(len(block), count - first)]
            out = []
            for n, line in enumerate(some, first):
                second, milli = divmod(n * 60_000 // PER_MINUTE, 1000)
                out.append(line % (b"%d" % first, START + second, milli))
            file.write(b"\n".join(out) + b"\n")


def replayed(path: Path, folder: Path, more: "list[str] | None" = None) -> tuple[float, float, int, str]:
    """Seconds, seconds of the processor, peak memory in KiB, and what it said in the end."""
    command = [sys.executable, "-m", "ragworthy", "monitor", str(path), "--once", "--format", "json"]
    command += ["--alerts", str(folder / f"{path.stem}.alerts.jsonl"), *(more or [])]
    begun = time.perf_counter()
    child = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    said = child.stdout.read() if child.stdout else ""
    _, status, usage = os.wait4(child.pid, 0)
    child.returncode = status >> 8
    if child.returncode not in (0, 1, 3):
        raise SystemExit(f"exit {child.returncode}")
    return time.perf_counter() - begun, usage.ru_utime + usage.ru_stime, usage.ru_maxrss, said


def main() -> None:
    counts = [int(word.replace(",", "").replace("_", "")) for word in sys.argv[1:]] or [100_000, 1_000_000]
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    print("| records | log | state | seconds | of the processor | records/s of it | peak memory |")
    print("|---|---|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        for count in counts:
            log = folder / f"live-{count}.jsonl"
            write(log, count)
            for state in (False, True):
                more = ["--state", str(folder / f"{count}.db")] if state else []
                seconds, busy, peak, said = replayed(log, folder, more)
                records = json.loads(said)["records"]
                size = f"{log.stat().st_size / 2**20:,.0f} MiB"
                rate = f"{records / busy:,.0f}"
                print(f"| {records:,} | {size} | {'SQLite' if state else 'none'} | {seconds:.1f} | {busy:.1f} | "
                      f"{rate} | {peak / 1024:.0f} MiB |", flush=True)  # fmt: skip
            log.unlink()


if __name__ == "__main__":
    main()
