"""What commands write. Outputs never replace inputs, which is said before anything is scored; `files` says it once more
when it writes. Heavy modules load where they are used: many commands write something, few of them score.
"""

import argparse
import os
import sys
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.cli.progress import on_terminal
from ragworthy.cli.say import print, show
from ragworthy.cli.screen import screen
from ragworthy.errors import UsageError, usage_error
from ragworthy.files import check_inside, check_ours, check_readable, check_writable, files_of, write_whole
from ragworthy.load.uri import is_uri
from ragworthy.policy.declare import Declared, Input
from ragworthy.suites import SUITES

if TYPE_CHECKING:
    from ragworthy import flow
    from ragworthy.cli.keep import Keeper
    from ragworthy.cli.pages import OwnPage
    from ragworthy.report.html.material import History


# before anything is scored


def keep_inputs(outputs: Iterable[str | None], inputs: Iterable[object]) -> None:
    """Refuse an output that is one of the inputs, lies in a folder that is one, or is another output."""
    every = [each for one in inputs for each in (one if isinstance(one, tuple) else (one,))]
    named = [Path(one) for one in every if isinstance(one, (str, Path))]
    read = [_real(each) for one in named for each in (one, *(() if one.is_dir() else files_of(one) or ()))]
    seen: set[Path] = set()
    for output in outputs:
        if output is None:
            continue
        target = _real(output)
        if any(target == one or (one.is_dir() and target.is_relative_to(one)) for one in read):
            raise usage_error(f"{output}: expected a new file, got one that is read")
        if target in seen:
            raise usage_error(f"{output}: expected a file for each output, got the same for two")
        seen.add(target)


def _real(path: str | Path) -> Path:
    """Where a path leads; a link that leads in a circle leads to itself, and so does what is no path at all."""
    try:
        return Path(os.path.realpath(path))
    except ValueError:  # a NUL in it: whoever opens it says so
        return Path(path)


def plain_lines(output: str) -> None:
    """Refuse a name that promises a packed file where plain JSON lines are written."""
    if Path(output).suffix in (".gz", ".zst", ".parquet"):
        raise usage_error(f"{output}: expected a .jsonl file")


def options(given: argparse.Namespace) -> dict[str, Any]:
    """What every scoring command takes besides its files."""
    from ragworthy.report.write import form_of

    for name in given.output:
        form_of(Path(name))
    if given.rows and form_of(Path(given.rows)) != "rows":
        raise usage_error(f"--rows: expected a .jsonl, .parquet or .csv file, got {given.rows}")
    bundle = _check_proof(given)
    wants_rows = bool(given.rows or bundle) or any(form_of(Path(name)) == "rows" for name in given.output)
    return {
        "unfrozen": given.unfrozen,
        "allow_gold_errors": given.allow_gold_errors,
        "jobs": given.jobs,
        "keep_rows": wants_rows,
    }


def _check_proof(given: argparse.Namespace) -> str | None:
    """Refuse what cannot become a bundle or a signature; the bundle, where one is asked for."""
    bundle: str | None = getattr(given, "bundle", None)
    key: str | None = getattr(given, "sign", None)
    if bundle and Path(bundle).suffix != ".zip":
        raise usage_error(f"--bundle: expected a .zip file, got {bundle}")
    if key and not (bundle or given.receipt or given.command == "gate"):
        raise usage_error("--sign: expected --receipt or --bundle besides it, got neither")
    if key:
        check_readable(Path(key).expanduser())
    return bundle


def guard(given: argparse.Namespace, requests: Sequence["flow.Request"], outputs: Sequence[str | None]) -> None:
    """Refuse outputs that would replace what is read, and what cannot be a file."""
    from ragworthy import receipts

    folders = [
        request.get(one.key)
        for request in requests
        for one in SUITES[request.suite].inputs
        if one.form == "corpus"  # nothing is written into an index that is read
    ]
    keep_inputs(outputs, [*receipts.files([one.on_disk() for one in requests]).values(), *named_files(given), *folders])
    for output in outputs:
        if output is not None:
            check_writable(Path(output))


def named_files(given: argparse.Namespace) -> list[str]:
    """Files that decide the result and are part of no request: a file of gates."""
    gates = getattr(given, "gates", None)
    return [gates[0]] if gates and len(gates) == 1 and "=" not in gates[0] else []


def tell_code(requests: Sequence["flow.Request"]) -> None:
    """Say on stderr whose code was run, by a command that only looks."""
    from ragworthy import flow

    for one in flow.plugins_of(requests):
        print(f"ran the code of the plugin {' '.join(one.told().values())}", file=sys.stderr)


# scoring and writing


class Kept(NamedTuple):
    """What a gate does besides: it keeps its run, and writes a page where nobody asked for one."""

    keeper: "Keeper"
    also: Sequence[Path]
    """What the keeper writes."""
    page: "OwnPage"


def finish(
    given: argparse.Namespace,
    requests: Sequence["flow.Request"],
    receipt: Path | None,
    kept: Kept | None = None,
    following: str = "",
) -> int:
    """Score, keep the run, write every file that was asked for, print. `following` is the next command if it ships."""
    from ragworthy import flow

    outputs, engine = _outputs(given, requests, receipt, kept), requests[0].engine
    if any(outputs):
        guard(given, requests, outputs)
    there = _rows_there(given)
    if engine is not None and there:
        engine.check_new(there)
    if kept is not None:
        outputs += kept.page.check(requests, outputs)
    run = flow.score_all(requests, on_terminal(quiet=given.quiet))
    if kept is not None and (attempts := kept.keeper.attempts(run)) is not None:
        requests, run = [one._replace(attempts=attempts) for one in requests], flow.with_attempts(run, attempts)
    made = None
    root = receipt.parent if receipt is not None else Path(given.bundle).parent if given.bundle else None
    if root is not None:
        from ragworthy import receipts

        made = receipts.make(run, requests, root)
    if engine is not None and there:
        engine.write_rows(there, run.rows(), list(map(flow.voice_of, run.report["suites"])))
    _write_besides(requests, run)
    if made is not None:
        _prove(given, run, requests, receipt, made)
    history: History | None = None
    if kept is not None:
        kept.keeper.rest(run, made)
        history = kept.keeper.told(run) if any(name and Path(name).suffix == ".html" for name in outputs) else None
        kept.page.write(run, history)
    written = Written([name for name in dict.fromkeys([*outputs, there]) if name], history)
    proof = (receipt, made) if receipt is not None and made is not None else None
    return publish(given, run, proof, written, following)


def _outputs(
    given: argparse.Namespace, requests: Sequence["flow.Request"], receipt: Path | None, kept: Kept | None
) -> list[str | None]:
    """Every file that is written."""
    besides = [one.name for request in requests for one in _besides(request)]
    signed = [f"{receipt}.sig"] if receipt and given.sign else []
    proof = [str(receipt) if receipt else None, *signed, given.bundle]
    return [*given.output, _rows_here(given), *proof, *besides, *map(str, kept.also if kept is not None else ())]


def _rows_here(given: argparse.Namespace) -> str | None:
    """The file of this machine that rows go to."""
    return None if _rows_there(given) else given.rows


def _rows_there(given: argparse.Namespace) -> str | None:
    """The URI that rows go to; only an engine can write there."""
    if not is_uri(given.rows):
        return None
    if getattr(given, "engine", "local") == "local":
        raise usage_error(f"--rows: expected a path on this machine, got {given.rows}")
    return str(given.rows)


def _prove(
    given: argparse.Namespace, run: "flow.Run", requests: Sequence["flow.Request"], receipt: Path | None, made: bytes
) -> None:
    """Write what goes with a receipt: its signature, and the bundle of all that it rests on."""
    key = Path(given.sign).expanduser() if given.sign else None
    if key is not None and receipt is not None:
        from ragworthy.proof.signing import SUFFIX, sign

        write_whole(receipt.with_name(receipt.name + SUFFIX), sign(made + b"\n", key))
    if given.bundle:
        from ragworthy.proof import bundle

        bundle.write(Path(given.bundle), made, run, requests, key)


class Written(NamedTuple):
    """What is written, as the report on the screen names it."""

    names: Sequence[str]
    """Every file."""
    history: "History | None" = None
    """What earlier runs tell, for pages."""


def publish(
    given: argparse.Namespace,
    run: "flow.Run",
    receipt: tuple[Path, bytes] | None = None,
    written: "Written | None" = None,
    following: str = "",
) -> int:
    """Write the reports, rows and receipt that were asked for, and print the report."""
    from ragworthy import flow

    report = run.report
    rows = _rows_here(given)
    asked = [*given.output, *([rows] if rows else [])]
    written = written or Written(asked)
    for name in asked:
        flow.write(Path(name), run, written.history)
    if receipt is not None:
        from ragworthy.report import receipt as form

        form.write(*receipt)
    _summary(report)
    text = _printed(given, report, written.names)
    ships = report["exit_code"] == 0 and given.format == "text" and not given.quiet
    show(_with_next(text, following) if following and ships else text)
    return int(report["exit_code"])


def _with_next(text: str, following: str) -> str:
    """A report with the next command; its last line stays the verdict.

    >>> _with_next("a\\nverdict\\n", "ragworthy gate")
    'a\\nnext: ragworthy gate\\nverdict\\n'
    """
    head, _, last = text.rstrip("\n").rpartition("\n")
    return f"{head}\nnext: {following}\n{last}\n"


def _printed(given: argparse.Namespace, report: dict[str, Any], written: Sequence[str]) -> str:
    """The report as stdout gets it."""
    from ragworthy import flow

    if given.format in ("github", "gitlab"):
        from ragworthy.cli import placing

        return placing.render(report, given.format)
    if given.format != "text":  # another format is asked for by whoever reads it
        return flow.render(report, given.format)
    if given.quiet:
        from ragworthy.report.last import verdict_line

        return verdict_line(report, screen(given, full=True)) + "\n"
    if given.full:
        return flow.render(report, "text", screen(given, full=True))
    from ragworthy.report.short import Around

    return flow.short(report, screen(given), Around(written=written, last=screen(given, full=True)))


def _summary(report: dict[str, Any]) -> None:
    """Add the Markdown report to the job summary of GitHub Actions."""
    target = os.environ.get("GITHUB_STEP_SUMMARY")
    if target:
        from ragworthy.flow import voice_of
        from ragworthy.report import markdown

        try:
            with Path(target).open("a", encoding="utf-8") as file:
                file.write(markdown.render(report, voice_of, limit=markdown.SUMMARY - file.tell()))
        except OSError as error:
            print(f"$GITHUB_STEP_SUMMARY: cannot be written: {error.strerror}", file=sys.stderr)


# what suites write besides the report, as they declare it


class Beside(NamedTuple):
    """A file that a suite is asked to write."""

    declared: Input
    name: str
    """As it was written."""


def besides_of(suite: Declared, given: Mapping[str, Any]) -> list[Beside]:
    """Every file that a suite is asked to write, in the order of its declaration."""
    asked = [(one, given[one.key]) for one in suite.inputs if one.written and given.get(one.key) is not None]
    return [Beside(one, str(name)) for one, names in asked for name in (names if one.several else (names,))]


def _besides(request: "flow.Request") -> list[Beside]:
    """The same, checked. A path in a policy may come from somebody else's repository: it stays inside the policy's
    folder and replaces nothing but an earlier file of its kind.
    """
    found = besides_of(SUITES[request.suite], request.given)
    for one, name in found:
        path = Path(name)
        if one.suffixes and path.suffix not in one.suffixes:
            raise usage_error(f"{one.option}: expected a {' or '.join(one.suffixes)} file, got {name}")
        if request.policy is not None:
            check_inside(path, request.policy.parent, one.called or f"the file {one.key}")
            check_ours(path, partial(_begins, one.begins))
    return found


def _begins(begins: bytes, data: bytes) -> bool:
    return bool(begins) and data.startswith(begins)


def _write_besides(requests: Sequence["flow.Request"], run: "flow.Run") -> None:
    for request, part in zip(requests, run.parts, strict=True):
        for one, name in _besides(request):
            try:
                content = part.content(one.key, Path(name))
            except UsageError as error:  # the verdict does not depend on a picture
                print(f"{one.option} {name}: {error.lines()[0]}", file=sys.stderr)
            else:
                write_whole(Path(name), content)
