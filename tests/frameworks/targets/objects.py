"""Gives objects of a framework to `ragworthy.run`, and tells whether the command gives the same traces.

python objects.py GOLD FILE.py NAME …
"""

import json
import sys
from importlib import import_module
from pathlib import Path

import ragworthy as rw

gold, file, *names = sys.argv[1:]
sys.path.insert(0, str(Path(__file__).parent))
module = import_module(Path(file).stem)
told = {}
for name in names:
    ran = rw.run(getattr(module, name), gold)
    command = rw.run(f"{Path(__file__).parent / file}:{name}", gold)
    told[name] = [len(ran.traces), len(ran.chunks), ran.errors, ran.traces == command.traces]
print(json.dumps(told))
