"""What LangChain and OpenTelemetry hand to a recorder, by its shape; the real ones are in tests/frameworks/inside."""

from dataclasses import dataclass, field
from enum import Enum
from types import SimpleNamespace
from typing import Any

Row = dict[str, Any]


@dataclass
class Document:
    page_content: str
    metadata: Row = field(default_factory=dict)
    id: str | None = None


@dataclass
class Message:
    content: str
    usage_metadata: Row | None = None
    type: str = "ai"


def result(text: str, **usage: int) -> SimpleNamespace:
    return SimpleNamespace(generations=[[SimpleNamespace(message=Message(text, usage or None))]], llm_output=None)


class Code(Enum):
    UNSET = 0
    ERROR = 2


def span(number: int, parent: int, name: str = "step", **attributes: object) -> SimpleNamespace:
    """A span with what the SDK's have."""
    return SimpleNamespace(
        context=SimpleNamespace(trace_id=7, span_id=number),
        parent=SimpleNamespace(trace_id=7, span_id=parent, is_remote=False) if parent else None,
        name=name,
        start_time=1_700_000_000_000_000_000 + number,
        end_time=1_700_000_001_000_000_000 - number,
        attributes={key.replace("__", "."): value for key, value in attributes.items()},
        status=SimpleNamespace(status_code=Code.UNSET, description=None),
        events=(),
        dropped_attributes=0,
    )
