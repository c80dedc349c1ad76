"""The gold items that a file of traces answers: `subset.py GOLD TRACES > OUT`."""

import gzip
import json
import sys


def rows(path):
    opened = gzip.open if path.endswith(".gz") else open
    with opened(path, "rt", encoding="utf-8") as file:
        return [json.loads(line) for line in file]


answered = {trace["qid"] for trace in rows(sys.argv[2])}
for item in rows(sys.argv[1]):
    if item["qid"] in answered:
        print(json.dumps(item, ensure_ascii=False))
