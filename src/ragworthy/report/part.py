"""What a suite contributes to a report, and the warnings that every suite gives alike."""

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol, TypeVar

from ragworthy import gates as g
from ragworthy.codes import CATALOGUE
from ragworthy.names import Outcome, too_small
from ragworthy.proving import apart, fallen
from ragworthy.report import able, changes
from ragworthy.report.show import plural
from ragworthy.safe import shell

if TYPE_CHECKING:
    from ragworthy.report.sheet import Viewed


class Frozen(NamedTuple):
    """The state of the gold set: unlocked, frozen, broken, or unfrozen (broken, and scored on purpose)."""

    state: str
    reason: str
    """Why it is broken; or why it cannot have a lock, where it is unlocked and that is nothing to warn of."""


class Table(NamedTuple):
    """A table that only one suite has."""

    header: tuple[str, ...]
    rows: list[tuple[str, ...]]
    lines: tuple[str, ...] = ()
    """What is said below it."""
    last: bool = False
    """Whether it is behind the slices."""


class Column(NamedTuple):
    """A column that only rows of one suite have."""

    name: str
    kind: str
    """int, bool, text, json or counts."""


class Voice(Protocol):
    """What a suite says to people besides its metrics, from the body of its report alone, and what its rows hold."""

    reference_note: str
    shows_undefined: bool
    claims_always: bool
    facts: tuple[str, ...]
    columns: tuple[Column, ...]

    def counts_line(self, counts: dict[str, Any]) -> str:
        """How many questions there were, and what became of them."""

    def lead(self, body: dict[str, Any]) -> list[str]:
        """What is said first, before the gates: the answer that somebody came for."""

    def lines(self, body: dict[str, Any]) -> list[str]:
        """Lines of its own."""

    def tables(self, body: dict[str, Any]) -> list[Table]:
        """Tables of its own."""

    def pulls_down(self, offender: dict[str, Any], metric: str) -> bool:
        """Whether an offender of the report has to do with a metric."""

    def looking(self, body: dict[str, Any], policy: str | None, qid: str) -> str:
        """The command that shows one question of the report; nothing where there is none."""


Voices = Callable[[str], Voice]
"""The voice of a suite by its name; handed in, because renderers are below the suites."""


def partial_notes(report: dict[str, Any], voices: Voices) -> list[str]:
    """What the verdict does not cover, or what it rests on, that nobody should overlook."""
    attempts = report.get("attempts", {"count": 1})
    notes = [attempted(attempts)] if attempts["count"] > 1 else []
    for suite, body in report["suites"].items():
        if (body.get("subset") or {}).get("scored") == "subset":
            notes.append("the dev subset only: the whole set was not scored")
        if body["profile"] == "reference":
            notes.append(voices(suite).reference_note)
        notes += [one["message"] for one in body.get("warnings", ()) if one["code"] in LEADING]
    return notes


def attempted(attempts: Mapping[str, Any]) -> str:
    """How often this was tried, in words.

    >>> attempted({"count": 3, "chain": ["…", "…"], "commit": "4f1c2d3e4f5a6b7c"})
    'attempt 3 on this gold set and commit 4f1c2d3e4f5a'
    """
    count, commit = attempts["count"], attempts["commit"]
    nth = "the first attempt" if count == 1 else f"attempt {count:,}"
    return f"{nth} on this gold set and commit {commit[:12]}"


def blamed(report: dict[str, Any], voices: Voices, most: int) -> list[dict[str, Any]]:
    """The offenders of all suites; where gates fail, those that have to do with one of them come first. The first ones,
    as many as will be shown, are of each label in turn.
    """
    failing = [gate for gate in report["gates"] if gate["outcome"] == "fail" and "waiver" not in gate]
    first: list[dict[str, Any]] = []
    rest: list[dict[str, Any]] = []
    for suite, body in report["suites"].items():
        own = [gate for gate in failing if (gate.get("suite") or gate["metric"].partition(".")[0]) == suite]
        for one in body["offenders"]:
            guilty = any(
                one["qid"] in gate["failing"] if gate["op"] == g.EACH else voices(suite).pulls_down(one, gate["metric"])
                for gate in own
            )
            (first if guilty else rest).append(one)
    shown = some_of_each(first, most, lambda one: one["label"])
    shown += some_of_each(rest, most - len(shown), lambda one: one["label"])
    return shown + [one for one in first + rest if not any(one is other for other in shown)]


Ranked = TypeVar("Ranked")


def some_of_each(worst: Sequence[Ranked], most: int, kind: Callable[[Ranked], Any]) -> list[Ranked]:
    """At most so many of a list, the first of each kind, then the second of each …; in the order of the list.

    >>> some_of_each(["a1", "a2", "a3", "a4", "b1", "c1", "c2"], 5, lambda one: one[0])
    ['a1', 'a2', 'b1', 'c1', 'c2']
    """
    seen: Counter[Any] = Counter()
    turns = []
    for nth, one in enumerate(worst):
        turns.append((seen[kind(one)], nth))
        seen[kind(one)] += 1
    return [worst[nth] for nth in sorted(nth for _, nth in sorted(turns)[:most])]


def to_look(report: dict[str, Any], suite: str, voices: Voices, qid: str) -> str:
    """The command that shows one question of a report; nothing where none would, or where its files are elsewhere."""
    if report.get(AWAY):
        return ""
    policy = (report.get("provenance") or {}).get("policy")
    return voices(suite).looking(report["suites"][suite], policy["path"] if policy else None, qid)


def steps(report: dict[str, Any], voices: Voices) -> list[dict[str, str]]:
    """What to do next: first, to look at the questions that are wrong and were right in the baseline.

    The commands name files where the report is shown: they are not part of it, so that it is the same everywhere.
    """
    found = []
    told = report["verdict"] != "SHIP" and not report.get(AWAY)
    for suite, body in report["suites"].items() if told else ():
        compared = body.get("compared")
        if not compared or not compared["broken"]:
            continue
        loads = "question" in body["rows"].get("own", {})  # rows of latency are questions under a load
        one = "" if loads else to_look(report, suite, voices, compared["broken"][0]["qid"])
        every = f"{shell(['ragworthy', 'compare', compared['against']])} REPORT.json --all"
        first = f"see one of them with {one}, all with" if one else "see all of them with"
        broken = plural(len(compared["broken"]), "question is", "questions are")
        pattern = f"{broken} newly broken against {compared['against']}"
        do = f"{first} {every}, where REPORT.json is this report (-o REPORT.json)"
        found.append({"pattern": pattern, "do": do})
    return [*found, *report["next"]]


AWAY = "away"
"""The key of a report that is rendered for people who do not have its files where it names them."""
LEADING = ("RW-W93", "RW-W109", "RW-W150")
"""Warnings that are beside the verdict: what the numbers rest on."""


Content = Callable[[dict[str, Any], str], bytes]
"""What is in a file besides a report, from the suite's part of the report and the suffix of the file."""


class Part(NamedTuple):
    """What one suite contributes to the report and to the receipt."""

    suite: str
    body: dict[str, Any]
    judged: list[g.Judged]
    invalid: list[str]
    """Why the evidence is not valid."""
    steps: list[dict[str, str]]
    provenance: dict[str, Any]
    rows: Callable[[], Iterator[dict[str, Any]]]
    evidence: dict[str, Any]
    """What the receipt keeps of the facts."""
    files: Mapping[str, Content] = {}
    """What can be written besides the report, by the key of the output that is declared for it."""
    texts: Callable[[], Mapping[str, Mapping[str, Any]]] | None = None
    """Texts of each question, for rows as a table that people read."""
    look: "Callable[[Sequence[str]], list[Viewed]] | None" = None
    """Everything that is known of some questions, from the files once more."""
    before: Callable[[Sequence[str]], Mapping[str, str]] | None = None
    """What the run that is compared with answered to some questions, as far as its files are as they were."""

    def content(self, key: str, path: Path) -> bytes:
        """What is in a file that is written besides the report."""
        return self.files[key](self.body, path.suffix)


# warnings that every suite gives alike


def release_warnings(frozen: Frozen, baseline_verdict: str | None, judged: Sequence[g.Judged]) -> list[dict[str, Any]]:
    """Warnings about the lock, the baseline and gates that were loosened, the same for every suite."""
    entries = []
    if frozen.state == "unlocked" and not frozen.reason:
        entries.append(plain("RW-W13", "the gold set has no lock file", 0))
    if frozen.state == "unfrozen":
        entries.append(plain("RW-W16", f"scored although {frozen.reason}", 0))
    if baseline_verdict not in (None, "SHIP"):
        entries.append(plain("RW-W22", f"the baseline's verdict is {baseline_verdict}", 0))
    for one in judged:
        if one.previous is not None and all(map(_looser, _of_one_rule(one.gate, judged))):
            message = f"{g.name_of(one.gate)}: the threshold was {one.previous}, now it is {one.gate.threshold}"
            entries.append(plain("RW-W23", message, 0))
        if one.gate.instead is not None:
            rule = f"the pack {one.gate.pack} has {one.gate.instead}, and a gate of your own replaces it"
            entries.append(plain("RW-W139", f"{g.name_of(one.gate)}: {rule}", 0))
        if one.gate.over is not None:
            rule = f"at this load it takes the place of {one.gate.over}, which is judged at other loads only"
            entries.append(plain("RW-W139", f"{g.name_of(one.gate)}: {rule}", 0))
    if sharp := able.sharp_note(judged):
        entries.append(plain("RW-W115", sharp, 0))
    return entries + _proven(judged)


def with_unused(parts: Sequence[Part]) -> list[Part]:
    """The parts, with a warning where a baseline is given that nothing compares with."""
    found = list(parts)
    first = next((nth for nth, part in enumerate(found) if "baseline" in part.provenance), None)
    if first is None or any(one.gate.op in g.AGAINST for part in found for one in part.judged):
        return found
    lost = [name for part in found for name in changes.worsened(part.body.get("compared"))]
    unused = "a baseline is given, and no gate compares with it: max_drop, max_worse or regression = true judge a loss"
    proven = f"a loss against the baseline is proven, and no gate judges it: {', '.join(lost)}"
    body = found[first].body
    entry = plain("RW-W150", proven, len(lost)) if lost else plain("RW-W108", unused, 0)
    warned = body | {"warnings": [*body["warnings"], entry]}
    found[first] = found[first]._replace(body=warned)
    return found


def _proven(judged: Sequence[g.Judged]) -> list[dict[str, Any]]:
    """Losses that are proven and too small to fail, and questions that are not part of the proof."""
    entries, unpaired = [], dict[str, None]()
    for one in judged:
        tested = one.tested
        if tested is None:
            continue
        if tested.proven and one.outcome is Outcome.PASS:
            message = f"{g.name_of(one.gate)}: a loss is proven, and not beyond min_effect = {one.gate.effect_text}"
            entries.append(plain("RW-W106", message, 0))
        unpaired |= dict.fromkeys((*tested.only_old, *tested.only_new))
    if unpaired:
        message = f"{plural(len(unpaired), 'question is', 'questions are')} in one of the compared runs only"
        entries.append(plain("RW-W107", message, len(unpaired), list(unpaired)[:3]))
    return entries + _lumped(judged)


def regrouped(judged: Sequence[g.Judged]) -> list[dict[str, Any]]:
    """That the compared runs do not agree which questions are of one document."""
    count = max((one.tested.regrouped for one in judged if one.tested is not None), default=0)
    return [plain("RW-W149", apart(count), count)] if count else []


def _lumped(judged: Sequence[g.Judged]) -> list[dict[str, Any]]:
    """Losses that prove nothing only because the questions are of a few documents, which are swapped as one each."""
    fell: dict[str, int] = {}
    few: dict[int, int] = {}
    for one in judged:
        tested = one.tested
        if tested is None or tested.without is not None or tested.proven or one.excused:
            continue
        if tested.clusters == tested.cases:  # each question stands for itself
            continue
        for name, count in tested.felled:
            fell[name] = max(count, fell.get(name, 0))
        if not tested.felled and tested.hit < tested.fewest <= tested.worse and tested.hit < tested.worse:
            few[tested.hit] = max(tested.worse, few.get(tested.hit, 0))
    own = 'cluster = "question" judges each for itself'
    entries = []
    if fell:
        what = f"swapped as {_documents(len(fell))} this proves nothing"
        entries.append(plain("RW-W109", f"{fallen([*fell.items()])}: {what}; {own}", sum(fell.values())))
    for hit, worse in few.items():
        message = f"the {worse} questions that are worse are of {_documents(hit)}, which proves nothing; {own}"
        entries.append(plain("RW-W109", message, worse))
    return entries


def _documents(count: int) -> str:
    return "one document" if count == 1 else f"{count} documents"


def _of_one_rule(gate: g.Gate, judged: Sequence[g.Judged]) -> list[g.Judged]:
    """All gates of one kind on one number: what the strictest of them says holds."""
    rule = (gate.metric, gate.op, gate.slice)
    return [one for one in judged if (one.gate.metric, one.gate.op, one.gate.slice) == rule]


def _looser(one: g.Judged) -> bool:
    return one.previous is not None and one.gate.strictness < one.gate._replace(threshold=one.previous).strictness


def plain(code: str, message: str, count: int, qids: list[str] | None = None) -> dict[str, Any]:
    """A warning without a place."""
    return {
        "code": code,
        "name": CATALOGUE[code].name if code in CATALOGUE else code,  # a suite of another package has its own
        "message": message,
        "where": None,
        "count": count,
        "qids": qids or [],
    }


class Note(NamedTuple):
    """Something that may be noticed: it is said when it happened at least once."""

    code: str
    times: int
    message: str
    qids: Sequence[str] = ()


def noted(notes: Sequence[Note]) -> list[dict[str, Any]]:
    """The warnings of what happened, each with the first few ids."""
    return [plain(one.code, one.message, one.times, list(one.qids[:3])) for one in notes if one.times]


def unchecked_note(qids: Sequence[str]) -> Note:
    """Questions with evidence and ids, where there is no corpus to hold one against the other."""
    items = plural(len(qids), "gold item names", "gold items name")
    return Note("RW-G20", len(qids), f"{items} evidence and ids: the ids were not checked: give --corpus", qids)


def again_note(times: int) -> Note:
    """Chunks that are in a corpus more than once."""
    return Note("RW-G19", times, f"{plural(times, 'chunk is', 'chunks are')} in the corpus again, with the same text")


def orphan_note(times: int, some: Sequence[str], *, listed: bool = True) -> Note:
    """Traces that no gold question asked for, with some of their ids; `listed` says whether the ids stand apart too.

    >>> orphan_note(2, ["q8", "q9"]).message
    '2 traces belong to no gold question, e.g. q8, q9'
    """
    belong = f"{plural(times, 'trace belongs', 'traces belong')} to no gold question, e.g. {', '.join(some)}"
    return Note("RW-W07", times, belong, some if listed else ())


def size_note(cases: int, noun: str, suite: str, *, regression: bool = False) -> Note:
    """What a gold set of this size is too small for.

    >>> size_note(12, "question", "answers").message, size_note(30, "question", "answers").times
    ('12 questions: a release needs at least 30', 0)
    >>> size_note(1, "question", "retrieval").message
    '1 question: a smoke test needs at least 10'
    """
    lacks = too_small(cases, suite, regression=regression)
    if lacks is None:
        return Note("RW-W15", 0, "")
    return Note("RW-W15", cases, f"{plural(cases, noun)}: {lacks.use} needs at least {lacks.least}")
