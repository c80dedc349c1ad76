"""Jitters: what each changes, what none may touch, and what holds for any text."""

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.errors import UsageError
from ragworthy.metrics.facts.jitters import JITTERS, VERSION_IDS, apply, run_id, varied
from ragworthy.records import Run

STEADY = settings(deadline=None, derandomize=True, database=None)
PIECES = st.sampled_from(
    ["explain", "List", "SHOW", "compare", "with citations", "in one sentence", "and", "what", "is", "北京", "什么",
     "？", "?", "??", ",", " ,", ", ", ":", " : ", "1,000", "12:30", "https://a.b/c,d?e=1", "`f(a,b) ?`", "`",
     "–", "—", "-", " ", "  ", "\n", "\u3000", ".", "!", "x", "7", "¿qué", "مرحبا", "🙂", "e\u0301", '"', ")"]
)  # fmt: skip
TEXTS = st.one_of(st.text(max_size=40), st.lists(PIECES, max_size=12).map("".join), st.lists(PIECES).map(" ".join))
NAMES = st.sampled_from(sorted(JITTERS))


def test_the_table_names_every_jitter_with_its_version() -> None:
    assert list(JITTERS) == ["none", "ws", "punct", "syn", "order"]
    assert VERSION_IDS == {"none": "none@1", "ws": "ws@1", "punct": "punct@1", "syn": "syn@1", "order": "order@1"}
    assert all(one.name == name and one.description for name, one in JITTERS.items())


@pytest.mark.parametrize(
    ("name", "text", "wanted"),
    [
        ("none", " As  it , stands ", " As  it , stands "),
        ("ws", "Compare A ,B and C", "Compare A, B and C"),
        ("ws", "Name two :  A  and B", "Name two: A and B"),
        ("ws", "Is 1,000 more than 1, 000?", "Is 1,000 more than 1, 000?"),
        ("ws", "Does it open at 12:30 or 12 :30?", "Does it open at 12:30 or 12 :30?"),
        ("ws", "What is https://a.b/c,d , a page?", "What is https://a.b/c,d , a page?"),
        ("ws", "What does `f(a,b)` do ,please", "What does `f(a,b)` do, please"),
        ("ws", "   ", "   "),
        ("punct", "What is X?", "What is X ?"),
        ("punct", "What is X", "What is X ?"),
        ("punct", "Say what X is.", "Say what X is."),
        ("punct", 'Who said "why?"', 'Who said "why?"'),
        ("punct", "1990–2000 — why?", "1990-2000 - why ?"),
        ("punct", "What is http://a.b/?c=1 for?", "What is http://a.b/?c=1 for ?"),
        ("punct", "什么是空键", "什么是空键？"),
        ("punct", "什么是空键？", "什么是空键？"),
        ("punct", "ما هذا؟", "ما هذا؟"),
        ("punct", "", ""),
        ("punct", " ", " "),
        ("syn", "Explain X", "Describe X"),
        ("syn", "list all keys", "enumerate all keys"),
        ("syn", "COMPARE A and B", "CONTRAST A and B"),
        ("syn", "  Show me X", "  Display me X"),
        ("syn", "Which list is sorted?", "Which list is sorted?"),
        ("syn", "Listing X", "Listing X"),
        ("syn", "List-based sets", "List-based sets"),
        ("order", "Explain X with citations, in one sentence.", "Explain X in one sentence, with citations."),
        ("order", "Explain X in one sentence and with citations", "Explain X with citations and in one sentence"),
        (
            "order",
            "Explain X with citations, in one sentence, for Y",
            "Explain X with citations, in one sentence, for Y",
        ),
        ("order", "Explain X with citations", "Explain X with citations"),
    ],
)
def test_what_a_jitter_changes(name: str, text: str, wanted: str) -> None:
    assert apply(name, text) == wanted


def test_an_unknown_jitter_is_an_error() -> None:
    with pytest.raises(UsageError) as caught:
        apply("noise", "What is X?")
    wanted = 'expected one of the jitters none, ws, punct, syn, order, got "noise" [RW-U01]'
    assert str(caught.value).splitlines()[0] == wanted


def digits(text: str) -> list[str]:
    return [sign for sign in text if sign.isdigit()]


@STEADY
@given(NAMES, TEXTS)
def test_no_jitter_empties_a_text_or_touches_a_number(name: str, text: str) -> None:
    changed = apply(name, text)
    assert bool(changed.strip()) == bool(text.strip())
    assert digits(changed) == digits(text)
    assert re.findall(r"\d+,\d+", changed) == re.findall(r"\d+,\d+", text)


@STEADY
@given(st.sampled_from(["none", "ws", "punct", "syn"]), TEXTS)
def test_once_is_enough(name: str, text: str) -> None:
    once = apply(name, text)
    assert apply(name, once) == once


@STEADY
@given(TEXTS)
def test_order_twice_is_the_text_again_and_loses_nothing(text: str) -> None:
    changed = apply("order", text)
    assert sorted(changed) == sorted(text)
    assert apply("order", changed) == text


@STEADY
@given(TEXTS)
def test_ws_keeps_every_word_and_sign(text: str) -> None:
    changed = apply("ws", text)
    assert "".join(changed.split()) == "".join(text.split())
    assert re.findall(r"\w+", changed) == re.findall(r"\w+", text)


@STEADY
@given(TEXTS)
def test_punct_changes_only_question_marks_blanks_and_dashes(text: str) -> None:
    def rest(given: str) -> str:
        return re.sub(r"[\s?？–—-]", "", given)

    assert rest(apply("punct", text)) == rest(text)


@STEADY
@given(TEXTS)
def test_syn_changes_only_the_first_word(text: str) -> None:
    changed = apply("syn", text)
    assert changed.split()[1:] == text.split()[1:]


@STEADY
@given(NAMES, st.sampled_from(["`a ,b  c?`", "http://x.y/a,b?c=–", "www.x.y/?a,b"]), TEXTS)
def test_code_and_addresses_survive(name: str, kept: str, text: str) -> None:
    around = text.replace("`", "")
    assert kept in apply(name, f"{around} {kept} {around}")


def test_run_ids_say_what_was_varied() -> None:
    assert run_id(Run(qid="q", run_id="own", seed=1)) == "own"
    assert run_id(Run(q_id="q", seed=0, jitter="ws")) == "q#seed=0;j=ws"
    first, second = Run(qid="q", knobs={"a": 1, "b": 2}), Run(qid="q", knobs={"b": 2, "a": 1})
    assert run_id(first) == run_id(second) != run_id(Run(qid="q", knobs={"a": 2, "b": 1}))
    assert varied(Run(qid="q", knobs="k=5")).config == "k=5"
