"""What the labels of answers allow the numbers beside them to be, question by question and in all."""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple, Protocol

from ragworthy.rows import Rows

NEVER, NO, YES = None, False, True
SAYS: Mapping[str, Mapping[str, tuple[bool | None, ...]]] = {
    "OK": {"precision": (YES, NEVER), "chr": (YES, NEVER), "containment": (YES, NEVER), "over_refusal": (NO,),
           "under_refusal": (NEVER,)},
    "REFUSAL_OK": {"precision": (NEVER,), "chr": (NEVER,), "containment": (NEVER,), "over_refusal": (NEVER,),
                   "under_refusal": (NO,)},
    "OVER_REFUSAL": {"precision": (NEVER,), "chr": (NEVER,), "containment": (NO, NEVER), "over_refusal": (YES,)},
    "HALLUCINATION": {"precision": (NO, NEVER), "containment": (NEVER,), "under_refusal": (YES,)},
    "OUT_OF_SCOPE": {"precision": (NO, NEVER), "chr": (NO,), "over_refusal": (NO,)},
    "ANS_NO_HIT": {"precision": (NO, NEVER), "chr": (NO,), "over_refusal": (NO,)},
    "ANS_NO_CONTAIN": {"precision": (NO, NEVER), "containment": (NO, NEVER), "over_refusal": (NO,)},
    "SCU_VIOLATION": {"precision": (NO, NEVER), "containment": (YES, NEVER), "over_refusal": (NO,)},
    "EMPTY_CLAIM": {"precision": (NO, NEVER), "containment": (NO, NEVER), "over_refusal": (NO,)},
    "ERROR": {"precision": (NO, NEVER), "over_refusal": (NEVER,), "under_refusal": (NEVER,)},
}  # fmt: skip
"""What metrics of answers may say of a question with a label: None where it does not count for the metric."""


class Number(Protocol):
    """A number as a report has it."""

    @property
    def num(self) -> int | None:
        """What was counted."""

    @property
    def den(self) -> int | None:
        """Of how many."""

    @property
    def exact(self) -> Fraction | None:
        """The number itself; None where it is undefined."""


class Astray(NamedTuple):
    """A number that does not follow from what is beside it."""

    field: str
    got: str
    """What is there."""
    rows: str
    """What that says."""
    expected: str = "numbers that follow from the rows"

    def __str__(self) -> str:
        return f"expected {self.expected}, got {self.got} where they say {self.rows}"


def mislabelled(rows: Rows) -> Astray | None:
    """The first question of answers whose label and words cannot both be."""
    for label, columns in SAYS.items():
        places = [nth for nth, one in enumerate(rows.labels) if one == label]
        for metric, allowed in columns.items() if places else ():
            words = rows.words.get(f"answers.{metric}")
            for nth in places if words is not None else ():
                if words is not None and words[nth] not in allowed:
                    got = f"answers.{metric} {'nothing' if words[nth] is None else words[nth]} for {rows.qids[nth]}"
                    return Astray("rows", got, label, "words that follow from the labels")
    return None


def contradicted(labels: Mapping[str, int], metrics: Mapping[str, Number], answers: int) -> Astray | None:
    """The first number of a suite that cannot be where so many answers have these labels; that takes no rows.

    What has no label, or one that says nothing of a metric, may count either way.
    """
    unlabelled = max(0, answers - sum(labels.values()))
    for metric in dict.fromkeys(name for columns in SAYS.values() for name in columns) if labels else ():
        number = metrics.get(f"answers.{metric}")
        if number is None or number.num is None or number.den is None:
            continue
        allowed = {label: SAYS.get(label, {}).get(metric, (YES, NO, NEVER)) for label in labels}
        for word, many in ((YES, number.num), (NO, number.den - number.num)):
            least = sum(count for label, count in labels.items() if allowed[label] == (word,))
            most = unlabelled + sum(count for label, count in labels.items() if word in allowed[label])
            if not least <= many <= most:
                got = f"{text_of(number)} ({many} {'for' if word else 'against'} it)"
                said = str(least) if least == most else f"{least} to {most}"
                return Astray(f"metrics.answers.{metric}", got, said, "numbers that follow from the labels")
    return None


def text_of(number: Number) -> str:
    """A number as somebody finds it in the file."""
    if number.num is None:
        return f"{float(number.exact or 0):.6g}"
    return str(number.num) if number.den is None else f"{number.num}/{number.den}"
