"""Parse, dispatch, and turn every ending into an exit code. Imports nothing heavier than the argument parser."""

import gc
import os
import signal
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib import import_module
from itertools import pairwise
from typing import NoReturn

from ragworthy.cli import layout
from ragworthy.cli.arguments import parser
from ragworthy.cli.say import print, show
from ragworthy.collector import begin
from ragworthy.errors import RagworthyError, lacking, usage_error
from ragworthy.names import VERSION, Exit
from ragworthy.safe import SPELLED


def main(argv: Sequence[str] | None = None, *, loaded: Callable[[], None] = lambda: None) -> int:
    """Run one command and return its exit code. `loaded` is called when its code is there, before it begins."""
    words = sys.argv[1:] if argv is None else list(argv)
    try:
        if signal.getsignal(signal.SIGINT) is signal.SIG_DFL:
            signal.signal(signal.SIGINT, signal.default_int_handler)  # from here on Ctrl-C is answered in words
        if not words:
            show(layout.overview(parser(("--help",)), layout.width()))
            return int(Exit.USAGE)  # for a script whose variable is empty, 0 would mean SHIP
        return _run(words, loaded)
    except RagworthyError as error:
        for line in error.lines():
            _say(line)
        if _for_github(words):
            _annotate(error)
        return int(Exit.USAGE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Exit.USAGE)
    except OSError as error:
        _say(_failed(error))
        return int(Exit.USAGE)
    except MemoryError:
        _say("expected a machine with more memory, or a smaller input, got no more memory [RW-F21]")
        return int(Exit.USAGE)
    except KeyboardInterrupt:
        _say("interrupted")
        return int(Exit.INTERRUPTED)
    except ModuleNotFoundError as error:
        missing = lacking(error)
        if missing is None:
            return _defect(error)
        for line in missing.lines():
            _say(line)
        return int(Exit.USAGE)
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback reaches a user
        return _defect(error)


def _run(words: Sequence[str], loaded: Callable[[], None]) -> int:
    given = parser(tuple(words)).parse_args(words)
    module, _, function = given.handler.partition(":")
    _check_words(words)
    from ragworthy.files import remembering  # here, as help has no use for it

    run = getattr(import_module(f"ragworthy.cli.{module}"), function)
    loaded()
    with remembering():
        return int(run(given))


def _for_github(words: Sequence[str]) -> bool:
    """Whether GitHub is to show what is wrong beside the lines; the command line itself may be what is wrong."""
    return "--format=github" in words or ("--format", "github") in pairwise(words)


def _annotate(error: RagworthyError) -> None:
    from ragworthy.cli import placing
    from ragworthy.cli.say import show

    with suppress(OSError, ValueError):  # as in `_say`
        show(placing.problems(error), flush=True)


def _check_words(words: Sequence[str]) -> None:
    """Refuse arguments that are not UTF-8: what they name could not be written into a receipt, a lock or a journal."""
    for nth, word in enumerate(words, 1):
        if not word.isascii() and any("\ud800" <= sign <= "\udfff" for sign in word):
            raise usage_error(f"argument {nth}: expected UTF-8, got {word}", code="RW-U04")


def _failed(error: OSError) -> str:
    """A failure of the system that nobody looked after: which file, and why."""
    what = f"{error.filename}: " if error.filename is not None else ""
    return f"{what}cannot be read or written: {error.strerror or error} [RW-F14]"


def _say(line: str) -> None:
    """A line on stderr; should that be closed or full, the exit code still tells."""
    with suppress(OSError, ValueError):
        print(line, file=sys.stderr, flush=True)


def _defect(error: Exception) -> int:
    """Say that it is our fault, where it happened and where to report it."""
    trace = error.__traceback__
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    place = ""
    if trace is not None:
        code = trace.tb_frame.f_code
        place = f" in {code.co_name} ({os.path.basename(code.co_filename)}:{trace.tb_lineno})"  # noqa: PTH119
    detail = " ".join(str(error).split())[:300]
    _say(f"a defect of ragworthy {VERSION}: {type(error).__name__}: {detail}{place} [RW-X70]")
    _say("  please report it in the project's issue tracker, with this line and the command you ran")
    return int(Exit.DEFECT)


def entry() -> NoReturn:
    """The console script: sound streams first, then the command."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors=SPELLED)
    try:
        code = main(loaded=begin)
    except SystemExit as ended:  # --help, --version, and a command line that does not parse
        code = ended.code if isinstance(ended.code, int) else int(Exit.SHIP if ended.code is None else Exit.USAGE)
    if not gc.isenabled():  # no command has begun: all that there is is code
        gc.freeze()
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # all is done; a second Ctrl-C must not end it in a traceback
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        _say(f"stdout: cannot be written: {error.strerror} [RW-F14]")
        os._exit(int(Exit.USAGE))  # an ordinary exit would try to flush again
    gc.freeze()  # the process ends: what it still has need not be looked at for cycles once more
    sys.exit(code)
