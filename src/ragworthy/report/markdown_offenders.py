"""The worst questions in the Markdown report: what was asked, answered and expected; the ids are folded below."""

from collections.abc import Sequence
from typing import Any

from ragworthy.report import blamed as blame
from ragworthy.report.markdown_details import Section, details, table
from ragworthy.report.part import Voices, to_look
from ragworthy.report.show import of_all
from ragworthy.safe import code, fill
from ragworthy.text import clip

QUESTION, ANSWER, EXPECTED = 160, 200, 160
"""So many characters of each text are shown; `ragworthy show` has all of them."""
IDS = 10

Json = dict[str, Any]


def offenders(report: Json, suite: str, voices: Voices, *, named: bool) -> Section:
    """The offenders of one suite."""
    body = report["suites"][suite]
    title = f"Worst offenders ({suite})" if named else "Worst offenders"
    worst = body["offenders"]
    if not worst:
        return Section(title, [])
    look = to_look(report, suite, voices, worst[0]["qid"])
    last = [fill("Everything about one of them: {}", code(look)), ""] if look else []
    head = fill("### {}", title + of_all(body))
    ids = details("Ids: cited, expected, retrieved", _ids_table(worst))
    return Section(title, [head, "", *_table(worst), "", *ids.lines, *last])


def brief_offenders(worst: Sequence[Json], most: int) -> list[str]:
    """The first offenders of all suites, for a notebook."""
    if not worst:
        return []
    more = f" ({most} of {len(worst)})" if len(worst) > most else ""
    return [f"**Worst offenders**{more}", "", *_table(worst[:most]), ""]


def _table(worst: Sequence[Json]) -> list[str]:
    """What can be read: no ids but the question's own."""
    asked = any(one.get("question") for one in worst)
    expected = any("expected" in one for one in worst)
    scored = any("score" in one for one in worst)
    header = ["qid", *(["question"] if asked else []), "answer", *(["expected"] if expected else [])]
    rows = []
    for one in worst:
        cells = [one["qid"]]
        cells += [clip(one.get("question") or "", QUESTION)] if asked else []
        cells.append(clip(one.get("claim") or "", ANSWER))
        cells += [clip(one.get("expected") or "", EXPECTED)] if expected else []
        cells += [f"{one['score']:g}" if "score" in one else ""] if scored else []
        rows.append([*cells, f"{one['label']}: {blame.named(one)}: {one['why']}"])
    return table([*header, *(["score"] if scored else []), "what went wrong"], rows)


def _ids_table(worst: Sequence[Json]) -> list[str]:
    rows = [
        (one["qid"], *(_ids(one.get(key)) for key in ("citations", "gold_citations", "retrieved_ids"))) for one in worst
    ]
    return table(("qid", "cites", "gold", "retrieved"), rows)


def _ids(listed: Any) -> str:
    if not isinstance(listed, list):
        return "" if listed is None else str(listed)
    more = f" … {len(listed) - IDS} more" if len(listed) > IDS else ""
    return ", ".join(map(str, listed[:IDS])) + more
