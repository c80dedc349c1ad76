"""`show QID`: single questions with everything known of them, in every suite that has them."""

import argparse
from collections.abc import Sequence
from datetime import date
from pathlib import Path

from ragworthy import flow, showing
from ragworthy.cli.flags import value_of
from ragworthy.cli.keep import blessed_of
from ragworthy.cli.outputs import keep_inputs, tell_code
from ragworthy.cli.say import print
from ragworthy.cli.say import show as show_text
from ragworthy.cli.screen import coloured, columns
from ragworthy.cli.taken import shown_request
from ragworthy.errors import usage_error
from ragworthy.files import check_writable, shown_path, write_whole
from ragworthy.history.home import fetched, home_of, is_stored
from ragworthy.names import Exit
from ragworthy.policy.read import find_policy, load_policy
from ragworthy.receipts import files
from ragworthy.report.sheet import Style
from ragworthy.suites import SUITES

FORMS = {".txt": "text", ".md": "markdown", ".json": "json"}
"""The format of a file by its suffix."""


def show(given: argparse.Namespace) -> int:
    """Show questions; exit 0 when all of them are as they should be, 1 when not."""
    _check(given)
    found = _found(given)
    if given.output:
        write_whole(Path(given.output), found.render(FORMS[Path(given.output).suffix], Style(given.full)).encode())
    code = Exit.SHIP if found.good == len(found.shown) else Exit.NO_SHIP
    if not given.quiet or given.format != "text":
        show_text(found.render(given.format, Style(given.full, coloured(given), columns())))
    if given.format == "text":
        print(f"questions: {found.good} of {len(found.shown)} good (exit {int(code)})")
    return int(code)


def _check(given: argparse.Namespace) -> None:
    if given.suite_name is not None and given.suite_name not in SUITES:
        raise usage_error(f'--suite: expected one of {", ".join(SUITES)}, got "{given.suite_name}"')
    if given.output and Path(given.output).suffix not in FORMS:
        raise usage_error(f"-o: expected a {', '.join(FORMS)} file, got {given.output}")


def _found(given: argparse.Namespace) -> showing.Seen:
    if _has_files(given):
        if given.config or (given.run and not getattr(given, "qrels", None)):
            raise usage_error("expected files, or -c, or --run, got two of them")
        return _looked(given, [_from_files(given)], "files")
    if given.run:
        return _of_run(given)
    path = find_policy(given.config)
    policy = load_policy(path, SUITES, today=date.today())
    requests = flow.from_policy(policy, blessed=blessed_of(policy, given.store))
    tell_code(requests)
    return _looked(given, _only(given, requests, str(path)), f"policy {shown_path(path)}")


def _looked(given: argparse.Namespace, requests: Sequence[flow.Request], source: str) -> showing.Seen:
    _guard(given, requests)
    allowed = [one._replace(allow_gold_errors=True) for one in requests] if given.allow_gold_errors else requests
    past = showing.NO_PAST if _has_files(given) else showing.kept_in(home_of(given.config), given.store)
    return showing.look(allowed, given.qids, source=source, past=past)


def _guard(given: argparse.Namespace, requests: Sequence[flow.Request]) -> None:
    """Refuse an output that would replace what is read."""
    if given.output:
        keep_inputs([given.output], [*files(requests).values(), *([given.run] if given.run else [])])
        check_writable(Path(given.output))


def _only(given: argparse.Namespace, requests: Sequence[flow.Request], where: str) -> list[flow.Request]:
    kept = [one for one in requests if given.suite_name in (None, one.suite)]
    if not kept:
        there = ", ".join(one.suite for one in requests) or "none"
        raise usage_error(f"--suite: expected a suite of {where} ({there}), got {given.suite_name}")
    return kept


# files


def _has_files(given: argparse.Namespace) -> bool:
    """Whether files were given, as `score` takes them."""
    if given.suite_name is None:
        return bool(given.gold or given.trace or given.corpus)
    options = [one.option for one in SUITES[given.suite_name].inputs if one.help and one.option != "--run"]
    return any(value_of(given, option) for option in options)


def _from_files(given: argparse.Namespace) -> flow.Request:
    if given.suite_name is not None:
        given.lock, given.profile = None, getattr(given, "profile", "default")
        return shown_request(given, SUITES[given.suite_name])
    if not given.gold or not given.trace:
        raise usage_error("expected --gold and --trace, or --suite SUITE with its files")
    from ragworthy.gold.commands import suite_of
    from ragworthy.load.questions import open_questions

    suite = SUITES[suite_of(open_questions("gold", Path(given.gold)))]
    roles = {"gold": given.gold, "trace": given.trace, "corpus": given.corpus}
    named = {one.key: Path(path) for role, path in roles.items() if path and (one := suite.by_role(role))}
    settings = suite.settings()
    return flow.Request(suite.name, named, settings, suite.default_gates(settings, named))


# an earlier run


def _of_run(given: argparse.Namespace) -> showing.Seen:
    from ragworthy.showing import given_run

    home = home_of(given.config)
    path = fetched(given.run, home, given.store) if is_stored(given.run) else Path(given.run)
    run = given_run.open_run(path)
    tell_code(run.requests)
    source = f"run {given.run if is_stored(given.run) else shown_path(path)}"
    lost = {suite: one for suite, one in run.lost.items() if given.suite_name in (None, suite)}
    requests = [one for one in run.requests if given.suite_name in (None, one.suite)]
    if not lost:
        return _looked(given, _only(given, run.requests, given.run), source)
    _guard(given, requests)
    past = showing.kept_in(home, given.store)
    return showing.look_back(requests, lost, given.qids, source=source, path=path, past=past)
