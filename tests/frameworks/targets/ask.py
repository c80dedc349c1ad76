"""Asks objects of a framework through the command line and tells, as JSON, what came of each.

python ask.py GOLD FILE.py NAME[,FLAG…] …
"""

import contextlib
import io
import json
import sys
import tempfile
from pathlib import Path

from ragworthy.cli.main import main

gold, file, *names = sys.argv[1:]
told = {}
for one in names:
    name, *flags = one.split(",")
    out, err = io.StringIO(), io.StringIO()
    with tempfile.TemporaryDirectory() as folder, contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        target = f"{Path(__file__).parent / file}:{name}"
        code = main(["run", "--target", target, "--gold", gold, "--out", f"{folder}/out", *flags])
        made = {path.name: path.read_text("utf-8") for path in Path(folder, "out").glob("*.jsonl")}
    read = {key: [json.loads(line) for line in text.splitlines()] for key, text in made.items()}
    told[one] = {
        "code": code,
        "out": out.getvalue().splitlines(),
        "err": err.getvalue().splitlines(),
        "traces": read.get("traces.jsonl", []),
        "chunks": read.get("chunks.jsonl", []),
    }
print(json.dumps(told))
