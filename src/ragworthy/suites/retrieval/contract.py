"""What the answers of an arm say of the traceability contract: how many keep it, and what breaks it."""

from collections.abc import Iterator

from ragworthy.metrics.facts.contract import MEANS, OK
from ragworthy.metrics.facts.convergence import Arm
from ragworthy.metrics.facts.runs import Facts
from ragworthy.metrics.retrieval import is_answer
from ragworthy.report.part import Note
from ragworthy.report.show import plural

NO_CLAIM = "no trace holds what was answered (answer_json.claim)"
REFUSALS = "every answer is a refusal, which needs no citation"
NO_PAYLOAD = "no citation carries the traceability payload (section_id, source_url, offsets, tokens)"


def _answers(arm: Arm) -> Iterator[tuple[str, Facts]]:
    return ((one.wanted.qid, facts) for one in arm.asked for facts in one.question.runs.values() if is_answer(facts))


def there(arm: Arm) -> dict[str, bool]:
    """Whether the traces hold claims and payloads, which metrics of citing need.

    Where nothing is cited at all, there is no payload to look for: every answer breaks the contract.
    """
    answers = [facts for _, facts in _answers(arm)]
    bare = bool(answers) and not any(one.answered for one in answers)
    return {"claims": any(one.claims for one in answers), "payload": bare or any(one.payload for one in answers)}


def lacking(arm: Arm) -> dict[str, str | None]:
    """Why metrics of citing cannot be measured."""
    held = there(arm)
    refused = any(facts.refused for one in arm.asked for facts in one.question.runs.values())
    claims = None if held["claims"] else REFUSALS if refused else NO_CLAIM
    return {"claims": claims, "payload": None if held["payload"] else NO_PAYLOAD}


def counted(arm: Arm) -> dict[str, int] | None:
    """How many answers keep the contract, and how many break it by which code; None where nobody speaks it."""
    if not there(arm)["payload"]:
        return None
    codes = [facts.contract for _, facts in _answers(arm)]
    return {code: codes.count(code) for code in (OK, *MEANS) if code in codes}


def notes(arm: Arm) -> list[Note]:
    """What breaks the contract, a line for each code, and ranges that could not be read."""
    found = [
        Note("RW-W143", count, f"{code}: {plural(count, 'answer')}: {MEANS[code]}",
             list(dict.fromkeys(qid for qid, facts in _answers(arm) if facts.contract == code)))
        for code, count in (counted(arm) or {}).items()
        if code != OK
    ]  # fmt: skip
    left = plural(arm.left_out, "range was", "ranges were")
    return [*found, Note("RW-W144", arm.left_out, f"{left} left out: characters, of a text that is not at hand")]
