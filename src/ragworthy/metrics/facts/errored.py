"""Traces that hold an error, or no answer at all, where an answer should be."""

import msgspec

from ragworthy.records import Run, Trace
from ragworthy.text import clip

NO_ANSWER_AT_ALL = "the trace has no answer_json"
NO_ANSWER_IN_RUN = "the run has no answer_json"
_LONGEST = 300


def is_error(trace: Trace) -> bool:
    """Whether a trace holds an error, or no answer at all, where an answer should be."""
    return trace.error is not None or trace.answer_json is None


def said_error(trace: Trace | Run) -> str:
    """What an errored trace or run says went wrong, on one line.

    >>> said_error(Trace(error={"code": 500})), said_error(Trace())
    ('{"code":500}', 'the trace has no answer_json')
    """
    if trace.error is None:
        return NO_ANSWER_AT_ALL if isinstance(trace, Trace) else NO_ANSWER_IN_RUN
    text = trace.error if isinstance(trace.error, str) else msgspec.json.encode(trace.error).decode()
    code = f" [{trace.error_code}]" if trace.error_code else ""
    return (clip(text, _LONGEST) or "an error without a text") + code
