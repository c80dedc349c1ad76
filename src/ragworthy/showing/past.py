"""The past of a question: what became of it in the runs that the history keeps."""

from collections.abc import Callable
from typing import TYPE_CHECKING, NamedTuple

from ragworthy.errors import RagworthyError, lacking
from ragworthy.report.sheet import Earlier

if TYPE_CHECKING:
    from ragworthy.history.home import Home

MOST = 10
"""So many of the last runs are looked into."""
Past = Callable[[str, str], list[Earlier]]
"""What became of a question in earlier runs, by its suite and its id, the newest first."""


def past_of(suite: str, qid: str) -> list[Earlier]:
    """What became of a question where no run was kept: nothing is known."""
    return []


class Kept(NamedTuple):
    """The past as a history has it; or why it cannot be told."""

    past: Past
    why: str = ""


def kept_in(home: "Home", given: str | None = None) -> Kept:
    """The past of questions by the history of a policy; nothing where it has none."""
    try:
        from ragworthy.history.home import store_at

        store = store_at(home.place(given))
        if store is None:
            return Kept(past_of)
        from ragworthy.history.past import Told

        return Kept(Told(store, store.runs()[-MOST:]).past)
    except RagworthyError as error:
        return Kept(past_of, f"its past: {error.lines()[0]}")
    except ModuleNotFoundError as error:
        if (missing := lacking(error)) is None:
            raise
        return Kept(past_of, f"its past: {missing.problems[0]}")
