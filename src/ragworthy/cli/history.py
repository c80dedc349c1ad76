"""`history trend`."""

import argparse
from pathlib import Path

from ragworthy import history as trending
from ragworthy.cli.outputs import keep_inputs
from ragworthy.cli.say import print, show
from ragworthy.files import write_whole
from ragworthy.names import Exit
from ragworthy.report.show import plural
from ragworthy.safe import json_text


def trend(given: argparse.Namespace) -> int:
    """How the numbers of several reports move; exit 1 on an alert, 4 where they cannot be compared."""
    keep_inputs([given.output], given.reports)
    found = trending.trend([Path(name) for name in given.reports], suite=given.suite_name, repeated=given.repeated)
    text = json_text(trending.as_json(found))
    if given.output:
        write_whole(Path(given.output), text.encode())
    code = Exit.INVALID if found.unlike else Exit.NO_SHIP if found.alerts else Exit.SHIP
    if given.format == "json":
        show(text)
        return int(code)
    for line in trending.as_text(found):
        print(line)
    said = "not comparable" if found.unlike else plural(found.alerts, "alert")
    print(f"trend: {said} (exit {int(code)})")
    return int(code)
