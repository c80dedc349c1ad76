"""`report RUN -o FILE`: a run that was scored before, written again in any format."""

import argparse
from pathlib import Path
from typing import Any

from ragworthy import flow
from ragworthy.cli.keep import warned
from ragworthy.cli.outputs import keep_inputs, tell_code
from ragworthy.cli.say import print
from ragworthy.errors import usage_error
from ragworthy.files import check_writable, write_whole
from ragworthy.history.home import Home, fetched, home_of, is_stored
from ragworthy.names import Exit
from ragworthy.policy.kept import BLESSED
from ragworthy.receipts import files
from ragworthy.report.html.gather import with_history
from ragworthy.report.html.material import History
from ragworthy.report.write import form_of, render
from ragworthy.showing import given_run


def report(given: argparse.Namespace) -> int:
    """Write the report of a run again; the exit code says whether that could be done, and nothing of the verdict."""
    for name in given.output:
        if form_of(Path(name)) == "rows":
            raise usage_error(f"-o: expected .html .md .json .xml or .txt, got {name}")
    home = home_of(given.config)
    path = fetched(given.run, home, given.store) if is_stored(given.run) else Path(given.run)
    run = given_run.open_run(path)
    keep_inputs(given.output, [str(path), *files(run.requests).values()])
    for name in given.output:
        check_writable(Path(name))
    tell_code(run.requests)
    _write(given, path, run, home)
    for name in given.output:
        print(f"wrote {name}")
    return int(Exit.SHIP)


def _write(given: argparse.Namespace, path: Path, run: given_run.Given, home: Home) -> None:
    from ragworthy.report.html.page import render as page
    from ragworthy.showing.page import material_of

    material = material_of(path, run)
    for name in given.output:
        if form_of(Path(name)) == "html":
            history = _history(given, home, material.report) if is_stored(given.run) else History()
            text = page(with_history(material, history))
        else:
            text = render(material.report, form_of(Path(name)), flow.voice_of)
        write_whole(Path(name), text.encode())


def _history(given: argparse.Namespace, home: Home, made: dict[str, Any]) -> History:
    """What the runs before a run of the history tell."""
    from ragworthy.history import open_store
    from ragworthy.history.course import history_of

    found = [History()]
    with warned("history: earlier runs are not shown"):
        store = open_store(home.place(given.store))
        found.append(history_of(store, made, store.find(given.run.removeprefix(BLESSED)).id))
    return found[-1]
