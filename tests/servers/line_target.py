"""A pipeline that is a process: one JSON line in, one out. What it does is in the question.

`die 3`, `garbage`, `twice` (one reply too many), `hang`, `huge`, `half` (dies in the middle of a line), `kill`, `slow`,
`shape`, `chatter` (much on stderr); it says how often it was asked in `usage`.
"""

import json
import os
import signal
import sys
import time


def main() -> None:
    for count, line in enumerate(sys.stdin, 1):
        asked = json.loads(line)
        verb, _, rest = asked["q"].partition(" ")
        reply = {
            "answer_json": {"claim": f"{asked['qid']}: {asked['q']}", "citations": []},
            "retrieved_ids": ["a"],
            "usage": {"asked": count, "pid": os.getpid()},
        }
        text = json.dumps(reply)
        if verb == "die":
            print("first complaint\nthe last complaint", file=sys.stderr, flush=True)
            sys.exit(int(rest))
        if verb == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if verb == "hang":
            time.sleep(3600)
        if verb == "slow":
            time.sleep(0.05)
        if verb == "garbage":
            text = "Loading the model …"
        if verb == "shape":
            text = "[]"
        if verb == "huge":
            text = "[" * (17 << 20)
        if verb == "chatter":
            sys.stderr.write("x" * (1 << 20))
        if verb == "half":
            sys.stdout.write(text[:20])
            sys.stdout.flush()
            sys.exit(0)
        if verb == "twice":
            text += "\n" + json.dumps(reply | {"answer_json": {"claim": "out of step", "citations": []}})
        print(text, flush=True)


if __name__ == "__main__":
    main()
