"""What was tested: the target, the model, the commit, the gold set and who signed it, the baseline, the index."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ragworthy.names import MADE
from ragworthy.report.made import WIDEST, several
from ragworthy.report.show import plural
from ragworthy.text import in_words

TITLE = "What was tested"
HASH = 12
"""So many digits of a hash are shown; the inputs below have all of them."""
_MODEL = ("model_id", "model", "answerer", "llm")
"""Where runs say which model answered: in how outputs were made, or among the knobs."""
_NOUNS = {"index_hash": "index"}
_EVIDENCE = {
    "trace": "traces", "run": "TREC run", "runs": "runs", "outputs": "outputs", "pairs": "votes", "raters": "votes",
    "scholar": "votes of the scholar", "auditor": "votes of the auditor", "operators": "records of operators",
}  # fmt: skip
"""What was scored, by the role of its file."""
LIVE = "compared with"
SHOWN = 3
"""So many files are named."""
_WANTED = ("target", "model", "commit", "index", "baseline")
_LAST = ("gold set", LIVE, "baseline")


class Fact(NamedTuple):
    """One line of what was tested."""

    what: str
    said: str


def facts(report: Mapping[str, Any]) -> list[Fact]:
    """What is known of what was tested, and at the end what nothing says. With several suites a line that is the same
    for all of them is told once.
    """
    suites: Mapping[str, Mapping[str, Any]] = report["suites"]
    told = {name: dict(_of_suite(report, name, body)) for name, body in suites.items()}
    found: list[Fact] = []
    for what in _in_order(told.values()):
        values = {name: one[what] for name, one in told.items() if what in one}
        if len(values) == len(suites) and len(set(values.values())) == 1:
            found.append(Fact(what, next(iter(values.values()))))
        else:
            alike: dict[str, list[str]] = {}
            for name, said in values.items():
                alike.setdefault(said, []).append(name)
            found += [Fact(f"{what} ({', '.join(names)})", said) for said, names in alike.items()]
    known = {what for one in told.values() for what in one}
    silent = [what for what in _WANTED if what not in known and not (what == "baseline" and LIVE in known)]
    return [*found, *([Fact("not said", ", ".join(silent))] if silent else [])]


def _in_order(told: Iterable[dict[str, str]]) -> list[str]:
    names = dict.fromkeys(name for one in told for name in one)
    return sorted(names, key=lambda name: _LAST.index(name) + 1 if name in _LAST else 0)


def _of_suite(report: Mapping[str, Any], suite: str, body: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    provenance: Mapping[str, Any] = report.get("provenance") or {}
    made: Mapping[str, Any] = body.get("provenance") or {}
    if ran := (provenance.get("ran") or {}).get(suite):
        yield "target", in_words(ran["target"], WIDEST)
    if model := _model(made):
        yield "model", model
    if commit := made.get("commit") or (report.get("attempts") or {}).get("commit"):
        yield "commit", in_words(commit, WIDEST)
    for key in MADE:
        if key in (made.get("differs") or {}):
            yield _NOUNS.get(key, key), f"the traces differ: {several(made, key)}"
        elif key != "commit" and made.get(key) is not None:
            yield _NOUNS.get(key, key), in_words(made[key], WIDEST)
    if made.get("index_hash") is None and (corpus := [one for one in body["inputs"] if one["role"] == "corpus"]):
        yield "index", _file(corpus[0])
    if gold := _gold(suite, body, provenance):
        yield "gold set", gold
    for role, noun in _EVIDENCE.items():
        if files := [one for one in body["inputs"] if one["role"].partition(":")[0] == role]:
            more = f" and {plural(len(files) - SHOWN, 'more file')}" if len(files) > SHOWN else ""
            yield noun, "; ".join(map(_file, files[:SHOWN])) + more
    if live := [one for one in body["inputs"] if one["role"].partition(":")[0] in ("live", "live_run")]:
        yield LIVE, _file(live[0])
    if baseline := provenance.get("baseline"):
        yield "baseline", f"{baseline['path']}, sha256 {baseline['sha256'][:HASH]}"


def _model(made: Mapping[str, Any]) -> str:
    """The model that answered, where the traces or outputs say it."""
    knobs = made.get("knobs") if isinstance(made.get("knobs"), dict) else {}
    found = (said for place in (made, knobs) for key in _MODEL if (said := (place or {}).get(key)))
    return next((in_words(said, WIDEST) for said in found), "")


def _gold(suite: str, body: Mapping[str, Any], provenance: Mapping[str, Any]) -> str:
    """The gold set: file, size, version, and who signed it."""
    inputs = [one for one in body["inputs"] if one["role"].partition(":")[0] in ("gold", "questions", "qrels")]
    lock = provenance.get(f"lock.{suite}") or provenance.get("lock") or {}
    label = f", version {lock['label']}" if lock.get("label") else ""
    files = [_file(one) for one in inputs[:1]]
    return "".join([*files, label, f", {_signed(body['frozen'], lock.get('signers') or ())}"]) if files else ""


def _file(one: Mapping[str, Any]) -> str:
    return f"{one['path']}, {plural(one['records'], 'record')}, sha256 {one['sha256'][:HASH]}"


def _signed(frozen: str, signers: Sequence[str]) -> str:
    """Whether the gold set is the one that was signed, and by whom."""
    by = f" and signed by {', '.join(signers)}" if signers else ""
    return {
        "frozen": f"frozen{by}",
        "unlocked": "not frozen: nobody signed it",
        "broken": "NOT the frozen one",
        "unfrozen": "NOT the frozen one (--unfrozen)",
    }.get(frozen, frozen)
