"""What `view` takes. Imports nothing heavier than the argument parser."""

import argparse

from ragworthy.cli.earlier import store
from ragworthy.cli.flags import number
from ragworthy.cli.rolling import ledger_flag, log_flags

PORT = 8765


def view_flags(one: argparse.ArgumentParser) -> None:
    """Every flag of `view`."""
    one.add_argument("--host", default="127.0.0.1", metavar="ADDRESS",
                     help="where to listen (default: 127.0.0.1); beyond this machine a token is asked for")  # fmt: skip
    one.add_argument("--port", type=lambda text: number(text, 0, 65535), default=PORT, metavar="N",
                     help=f"the port; 0 takes a free one (default: {PORT})")  # fmt: skip
    one.add_argument("--open", action="store_true", help="open it in a browser")
    one.add_argument(
        "--token-env", metavar="NAME", help="the variable with the token (default: one is made and printed)"
    )
    one.add_argument("--allow-host", action="append", default=[], metavar="NAME",
                     help="a name under which browsers reach it, besides its address (repeatable)")  # fmt: skip
    store(one)
    one.add_argument("--state", default=".ragworthy/monitor.db", metavar="FILE",
                     help="the state of a monitor (default: .ragworthy/monitor.db)")  # fmt: skip
    one.add_argument("--alerts", metavar="FILE", help="the alerts that a monitor writes")
    one.add_argument("--receipt", action="append", default=[], metavar="FILE",
                     help="what a step of the rollout may rest on (default: .ragworthy/receipt.json)")  # fmt: skip
    one.add_argument("--report", action="append", default=[], metavar="FILE", help="the same for a JSON report")
    log_flags(one)
    ledger_flag(one)
