"""Runs that are INVALID for want of a baseline alone: their own numbers are sound, and nobody could compare them."""

from collections.abc import Mapping
from typing import Any

from ragworthy.comparison.likeness import OTHER_GOLD
from ragworthy.policy.kept import is_unblessed

_NOT_MEASURED = " was not measured: "
_UNLIKE = f"the baseline is not comparable: {OTHER_GOLD}"


def unjudged(report: Mapping[str, Any]) -> str:
    """Why the baseline of an INVALID run could not be used, where that is all that is wrong with it; else empty.

    >>> unjudged({"verdict": "INVALID", "invalid": ["3 questions have no trace"]})
    ''
    >>> unjudged({"verdict": "INVALID", "invalid": [
    ...     "a.b was not measured: the baseline is not comparable: it was scored on another gold set"]})
    'the baseline was of another gold set'
    """
    if report["verdict"] != "INVALID" or not report["invalid"]:
        return ""
    reasons = {_reason(str(one).rpartition(_NOT_MEASURED)[2]) for one in report["invalid"]}
    return " and ".join(sorted(reasons)) if all(reasons) else ""


def _reason(text: str) -> str:
    if is_unblessed(text):
        return text.partition(" yet (")[0].replace("is blessed", "was blessed")
    return "the baseline was of another gold set" if text == _UNLIKE else ""


def accepted(report: Mapping[str, Any]) -> str:
    """What somebody accepts who blesses such a run; empty for a run that came to a verdict."""
    why = unjudged(report)
    if not why:
        return ""
    failed = [one["metric"] for one in report["gates"] if one["outcome"] == "fail"]
    rest = f"these gates failed: {', '.join(dict.fromkeys(failed))}" if failed else "no gate failed"
    return f"a run that was compared with nothing, since {why}; {rest}"
