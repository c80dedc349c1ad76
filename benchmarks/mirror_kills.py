"""A mirror under load, killed twenty times (SIGKILL): nothing is lost, nothing counts twice, the budget holds.

python benchmarks/mirror_kills.py [KILLS] [QUESTIONS]
"""

import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
SERVER = ROOT / "tests" / "servers" / "mirrored.py"


def main() -> int:
    kills, questions = (int(word) for word in (*sys.argv[1:], "20", "4000")[:2]) if sys.argv[1:] else (20, 4000)
    with tempfile.TemporaryDirectory() as folder:
        return run(Path(folder), kills, questions)


def run(folder: Path, kills: int, questions: int) -> int:
    """Kill, go on, and count."""
    log, notes, out = folder / "log.jsonl", folder / "notes", folder / "out"
    rows = [{"qid": f"q{nth:05}", "question": f"What is number {nth}?", "retrieval": {"topk": ["doc1#1"]},
             "answer": {"citations": ["doc1#1"]}} for nth in range(questions)]  # fmt: skip
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    notes.touch()
    server = subprocess.Popen([sys.executable, str(SERVER), str(notes), "0.02"], stdout=subprocess.PIPE, text=True)
    assert server.stdout is not None
    url = f"http://127.0.0.1:{server.stdout.readline().strip()}/ask"
    words = [sys.executable, "-m", "ragworthy", "mirror", "--live", str(log), "--shadow", url, "--share", "1", "--out",
             str(out), "--budget", str(2 * questions), "--concurrency", "16", "--resume", "-q"]  # fmt: skip
    chance, done = random.Random(1), 0
    try:
        while done < kills:
            one = subprocess.Popen(words, stdout=subprocess.DEVNULL)
            before = notes.stat().st_size
            while notes.stat().st_size == before and one.poll() is None:
                time.sleep(0.005)
            time.sleep(chance.uniform(0.0, 0.5))
            if one.poll() is not None:
                break
            os.kill(one.pid, signal.SIGKILL)
            one.wait()
            done += 1
        ended = subprocess.run(words, check=False)
        asked = [line.split()[1] for line in notes.read_text().splitlines()]
        shadow = [json.loads(line)["qid"] for line in (out / "shadow.jsonl").read_text().splitlines()]
        report = json.loads((out / "mirror.json").read_text())
    finally:
        server.kill()
        server.communicate()
    sent = (out / "shadow" / "requests").stat().st_size
    whole = shadow == [row["qid"] for row in rows]
    twice = len(asked) - len(set(asked))
    print(f"killed {done} times, exit {ended.returncode}, {len(shadow)} of {questions} records, each once: {whole}")
    print(f"requests noted {sent}, seen by the server {len(asked)}, {twice} of them asked again after a kill")
    print(
        f"the report counts {report['asked']['shadow']['asked']} asked, {report['asked']['shadow']['errored']} errored"
    )
    return int(not whole or sent < len(asked) or sent > 2 * questions or done < kills)


if __name__ == "__main__":
    sys.exit(main())
