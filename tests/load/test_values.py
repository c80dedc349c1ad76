"""Values of Python as JSON has them: what is read, what is refused, and where it stood."""

import dataclasses
import datetime
import decimal
import enum
import importlib
import json
import uuid
from collections import OrderedDict, UserDict, deque
from types import MappingProxyType
from typing import Any, ClassVar, NamedTuple

import msgspec
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragworthy.errors import UsageError
from ragworthy.load.memory import as_lines
from ragworthy.load.values import Refused, endless, is_plain, outline, plain

pd: Any = importlib.import_module("pandas")


class TextAccessor(str):
    """As langchain_core.messages.base has it: a text that can also be called."""

    __slots__ = ()

    def __str__(self) -> str:
        return "not the text"

    def __call__(self) -> str:
        return "called"


class Whole(int):
    def __int__(self) -> int:
        return -1


class Share(float):
    pass


class Colour(enum.Enum):
    RED = "red"


class Level(enum.IntEnum):
    HIGH = 3


class Word(enum.StrEnum):
    YES = "yes"


class Hit(NamedTuple):
    id: str
    score: float


@dataclasses.dataclass
class Answer:
    claim: str
    citations: list[str]
    kind: ClassVar[str] = "not a field"


class Struct(msgspec.Struct, rename="camel"):
    answer_text: str
    ids: tuple[str, ...] = ()


class Model:
    """What a model of pydantic has that is looked for."""

    def __init__(self, **fields: Any) -> None:
        self.fields = fields

    def model_dump(self) -> dict[str, Any]:
        return self.fields


class Document:
    """As langchain_core.documents has it, which is a model of pydantic too."""

    def __init__(self) -> None:
        self.page_content, self.metadata, self.id = "x", {"a": 1}, None

    def model_dump(self) -> dict[str, Any]:
        raise AssertionError("refused before it is unpacked")


class AIMessage:
    content, response_metadata = "x", {"a": 1}


class NodeWithScore:
    node, score, node_id, metadata = object(), 0.5, "n", {"a": 1}


class TextNode:
    node_id, metadata = "n", {"a": 1}


class Response:
    """As llama_index has it."""

    response, source_nodes = "x", [1]


class GeneratedAnswer:
    """As haystack has it."""

    data, query, documents = "x", "q", [1]


@pytest.mark.parametrize(
    ("value", "wanted"),
    [
        (TextAccessor("the text"), "the text"),
        (Whole(7), 7),
        (Share(0.25), 0.25),
        (Colour.RED, "red"),
        (Level.HIGH, 3),
        (Word.YES, "yes"),
        (True, True),
        (np.float32(0.5), 0.5),
        (np.float64(0.1), 0.1),
        (np.int64(4), 4),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (np.array([[1, 2], [3, 4]]), [[1, 2], [3, 4]]),
        (np.array(5), 5),
        (np.array(["a", "b"], dtype=object), ["a", "b"]),
        (("a", ("b",)), ["a", ["b"]]),
        (Hit("a", np.float64(0.5)), {"id": "a", "score": 0.5}),
        (Answer(TextAccessor("c"), ["x"]), {"claim": "c", "citations": ["x"]}),
        (Struct("t", (TextAccessor("i"),)), {"answerText": "t", "ids": ["i"]}),
        (Model(claim=TextAccessor("c"), at=Colour.RED), {"claim": "c", "at": "red"}),
        (OrderedDict(b=1, a=2), {"b": 1, "a": 2}),
        (MappingProxyType({"a": (1,)}), {"a": [1]}),
        (UserDict({"a": 1}), {"a": 1}),
        ({Colour.RED: 1, TextAccessor("k"): 2, 3: 4}, {"red": 1, "k": 2, "3": 4}),
        (datetime.date(2024, 2, 1), "2024-02-01"),
        (decimal.Decimal("1.50"), "1.50"),
        (uuid.UUID(int=1), "00000000-0000-0000-0000-000000000001"),
        (pd.NA, None),
        (pd.NaT, None),
        (pd.Timestamp("2024-02-01 10:30"), "2024-02-01T10:30:00"),
    ],
)
def test_what_is_read(value: Any, wanted: Any) -> None:
    for given_, expected in ((value, wanted), ({"a": [value]}, {"a": [wanted]})):
        got = plain(given_)
        assert got == expected
        assert is_plain([got])
        json.dumps(got)


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (object(), "expected what JSON can hold, got an object"),
        (Document(), "expected what JSON can hold, got a Document: write its id, or its text (page_content)"),
        (AIMessage(), "expected what JSON can hold, got an AIMessage: write its text (content)"),
        (NodeWithScore(), "expected what JSON can hold, got a NodeWithScore: write its id (node_id), or its text"),
        (TextNode(), "expected what JSON can hold, got a TextNode: write its id (node_id), or its text"),
        (
            Response(),
            "expected what JSON can hold, got a Response: write its text, str(response), and ids of source_nodes",
        ),
        (
            GeneratedAnswer(),
            "expected what JSON can hold, got a GeneratedAnswer: write its text (data), and the ids of its documents",
        ),
        ({"a"}, "expected a list, got a set, which has no order"),
        (frozenset("a"), "expected a list, got a frozenset, which has no order"),
        ((one for one in "ab"), "expected what JSON can hold, got a generator"),
        (deque(["a"]), "expected what JSON can hold, got a deque"),
        ({("a", "b"): 1}, "expected keys that are texts, got a tuple"),
        (print, "expected what JSON can hold, got a builtin_function_or_method"),
    ],
)
def test_what_is_refused_names_its_field(value: Any, message: str) -> None:
    with pytest.raises(Refused) as caught:
        plain(value)
    assert (str(caught.value), caught.value.field) == (message, "")
    with pytest.raises(Refused) as caught:
        plain({"reply": {"retrieved_ids": ("a", value)}})
    assert str(caught.value) == f"reply.retrieved_ids[1]: {message}"


def test_models_of_pydantic() -> None:
    pydantic = pytest.importorskip("pydantic", reason="SKIPPED: pydantic is not installed")

    class Reply(pydantic.BaseModel):  # type: ignore[misc,name-defined]
        claim: str
        ids: tuple[str, ...]

    assert plain([Reply(claim="x", ids=("a",))]) == [{"claim": "x", "ids": ["a"]}]


def test_a_circle_ends() -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(RecursionError):
        plain(circle)
    assert not is_plain([circle])
    assert outline(circle) == "[[[[[[<list>]]]]]]"


PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**60), 2**60) | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(), inner, max_size=4),
    max_leaves=20,
)


@given(PLAIN)
def test_what_json_has_stays_as_it_is(value: Any) -> None:
    assert is_plain([value])
    assert plain(value) == value
    assert len(outline(value, 100)) <= 100


def wrapped(value: Any) -> Any:
    """The same in types that JSON does not have."""
    if isinstance(value, dict):
        return OrderedDict((TextAccessor(key), wrapped(one)) for key, one in value.items())
    if isinstance(value, list):
        return tuple(map(wrapped, value))
    if isinstance(value, str):
        return TextAccessor(value)
    if isinstance(value, float):
        return np.float64(value)
    return value


@given(PLAIN)
def test_what_is_wrapped_comes_out_as_it_was(value: Any) -> None:
    assert plain(wrapped(value)) == value
    assert is_plain([plain(wrapped(value))])


def test_numbers_that_json_cannot_hold() -> None:
    assert endless({"a": [1, {"b": float("nan")}]}) == "a[1].b: expected a finite number, got nan"
    assert endless({"a": [1, 2.5]}) == ""


def test_an_outline_is_short_and_runs_no_code_of_the_value() -> None:
    class Rude:
        def __repr__(self) -> str:
            raise AssertionError

        __str__ = __repr__

    assert outline({"a": Rude(), "b": [True, None, 1.5]}) == '{"a": <Rude>, "b": [true, null, 1.5]}'
    assert outline(TextAccessor("x\ny")) == '"x y"'
    long = outline({"a": ["word"] * 10_000, "b": 1}, 50)
    assert (len(long), long[:14], long[-1]) == (50, '{"a": ["word",', "…")


@given(st.lists(PLAIN, max_size=6))
def test_records_at_once_and_one_by_one_give_the_same_lines(values: list[Any]) -> None:
    wanted = b"".join(msgspec.json.encode(one) + b"\n" for one in values)
    assert as_lines(values, "<gold>") == wanted
    assert as_lines(map(wrapped, values), "<gold>") == wanted


def test_a_record_among_many_is_named() -> None:
    records: list[Any] = [{"qid": f"Q{n}", "ids": ["a"]} for n in range(2500)]
    records[2345]["ids"].append({"b"})
    with pytest.raises(UsageError, match=r"^<gold>:2346: ids\[1\]: expected a list, got a set, which has no order"):
        as_lines(records, "<gold>")
