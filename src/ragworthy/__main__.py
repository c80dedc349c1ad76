"""`python -m ragworthy`, and the console script."""

import gc
import signal
from typing import NoReturn


def entry() -> NoReturn:
    """Start the command line. Until it can say "interrupted" in words, Ctrl-C ends the process without any."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:  # else somebody has it ignored: leave it so
        signal.signal(signal.SIGINT, signal.SIG_DFL)
    gc.disable()  # loading code makes many objects and no garbage; `main` starts the collector again
    from ragworthy.cli import main

    main.entry()


if __name__ == "__main__":
    entry()
