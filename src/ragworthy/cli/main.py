"""Parse, dispatch, and turn every ending into an exit code. Imports nothing heavier than the argument parser."""

import os
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import NoReturn

from ragworthy.cli.arguments import parser
from ragworthy.errors import RagworthyError, missing_extra
from ragworthy.names import VERSION, Exit

PACKAGES = {
    "bm25s": "bm25s",
    "markdown_it": "markdown-it-py",
    "msgspec": "msgspec",
    "numpy": "numpy",
    "rapidfuzz": "rapidfuzz",
    "rfc8785": "rfc8785",
    "safetensors": "safetensors",
    "selectolax": "selectolax",
    "tokenizers": "tokenizers",
    "wordllama": "wordllama",
    "zstandard": "zstandard",
}
"""The packages that every installation has, by the name under which they are imported."""


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command and return its exit code."""
    given = parser().parse_args(argv)
    module, _, function = given.run.partition(":")
    try:
        return int(getattr(import_module(f"ragworthy.cli.{module}"), function)(given))
    except RagworthyError as error:
        for line in error.lines():
            print(line, file=sys.stderr)
        return int(Exit.USAGE)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return int(Exit.USAGE)
    except OSError as error:
        print(f"cannot write: {error.strerror} [RW-F14]", file=sys.stderr)
        return int(Exit.USAGE)
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        return int(Exit.INTERRUPTED)
    except ModuleNotFoundError as error:
        package = PACKAGES.get((error.name or "").partition(".")[0])
        if package is None:
            return _defect(error)
        print(*missing_extra(package, "", "ragworthy").lines(), sep="\n", file=sys.stderr)
        return int(Exit.USAGE)
    except Exception as error:  # noqa: BLE001 - the last line of defence: no traceback reaches a user
        return _defect(error)


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
    print(f"a defect of ragworthy {VERSION}: {type(error).__name__}: {detail}{place} [RW-X70]", file=sys.stderr)
    print("  please report it in the project's issue tracker, with this line and the command you ran", file=sys.stderr)
    return int(Exit.DEFECT)


def entry() -> NoReturn:
    """The console script: sound streams first, then the command."""
    for name in ("stdout", "stderr"):
        stream = getattr(sys, name)
        if stream is None:  # closed by the caller
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123
        elif hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")
    code = main()
    try:
        sys.stdout.flush()
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except OSError as error:
        print(f"stdout: cannot be written: {error.strerror} [RW-F14]", file=sys.stderr)
        os._exit(int(Exit.USAGE))  # an ordinary exit would try to flush again
    sys.exit(code)
