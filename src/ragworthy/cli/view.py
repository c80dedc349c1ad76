"""`ragworthy view`: the history in a browser."""

import argparse
from pathlib import Path
from typing import TYPE_CHECKING

from ragworthy.cli.say import print
from ragworthy.errors import usage_error
from ragworthy.history.home import Home, home_of
from ragworthy.names import Exit

if TYPE_CHECKING:
    from ragworthy.viewer.site import Files

RECEIPT = ".ragworthy/receipt.json"
"""Where a gate leaves its receipt."""


def view(given: argparse.Namespace) -> int:
    """Serve pages until Ctrl-C."""
    from ragworthy.viewer import serve
    from ragworthy.viewer.site import Site

    where = serve.address(given.host, given.port)
    token, made = serve.token_for(where, given.token_env)
    serve.check_installed()
    home = home_of(given.config)
    site = Site(home, given.store, given.config, _files(given, home))
    site.opened()  # says what is wrong with it before anyone looks
    listening = serve.Listening(site, where, token, given.allow_host)
    print(f"viewer: {listening.url} (Ctrl-C ends it)", flush=True)
    if made:
        print(f"token: {token}", flush=True)
        print("  asked for once by each browser; programs send it as Authorization: Bearer TOKEN", flush=True)
    if given.open:
        _opened(listening.url)
    listening.run()
    print("viewer: ended")
    return int(Exit.SHIP)


def _files(given: argparse.Namespace, home: Home) -> "Files":
    """The files besides the history: those that were named, else those that are where commands leave them."""
    from ragworthy.rollout.logs import Logs
    from ragworthy.viewer.site import Files

    for name in (*given.receipt, *given.report):
        if not Path(name).is_file():
            raise usage_error(f"expected a receipt or a report, got nothing at {name}")
    receipts = [Path(name) for name in given.receipt]
    usual = home.folder / RECEIPT
    return Files(
        ledger=Path(given.ledger),
        receipts=tuple(receipts or ([usual] if usual.is_file() else [])),
        reports=tuple(Path(name) for name in given.report),
        logs=Logs(tuple(given.log), tuple(given.live_log), tuple(given.canary_log)),
        alerts=Path(given.alerts) if given.alerts else None,
        monitor=Path(given.state),
    )


def _opened(url: str) -> None:
    """A browser, in a thread of its own: some wait until it ends."""
    import threading
    import webbrowser

    threading.Thread(target=webbrowser.open, args=(url,), daemon=True).start()
