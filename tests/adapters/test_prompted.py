"""What the model saw of what was retrieved: worked out from the prompt that it was given."""

import json

import pytest

from ragworthy.adapters.prompted import UNDECIDED, Call, Undecided, beside, letters, outermost, seen

A = "Names of buckets stay blocked for 45 days after the bucket is gone."
B = "Parts of an upload have at most 5 GB, and there are at most 10,000."
C = "Keys are rotated every 90 days by whoever has the role of an owner."


def picks(lists: list[list[str]], *prompts: str, answer: str = "", side_by_side: bool = False) -> list[tuple[int, int]]:
    return seen(lists, prompts, answer, side_by_side=side_by_side).picks


@pytest.mark.parametrize(
    "prompt",
    [
        f"[1] {A}\n[2] {B}\n\nQuestion: how long?",
        "Context:\n" + f"{A} {B}".replace(" ", "\n  "),
        json.dumps([{"text": A}, {"text": B}]),
        json.dumps({"context": json.dumps([A, B])}),
        f"<p>{A.replace(' ', '&nbsp;')}</p><p>{B}</p>",
    ],
)
def test_however_the_texts_are_written_the_usual_list_stays(prompt: str) -> None:
    found = seen([[A, B]], [prompt], "x", side_by_side=False)
    assert (found.picks, found.missing, found.sure) == ([(0, 0), (0, 1)], 0, True)


def test_the_order_of_the_prompt_wins() -> None:
    assert picks([[A, B, C]], f"[1] {C}\n[2] {A}\n[3] {B}") == [(0, 2), (0, 0), (0, 1)]


def test_what_stands_in_no_prompt_was_not_seen() -> None:
    found = seen([[A, B, C]], [f"[1] {C}\n[2] {A}"], "x", side_by_side=False)
    assert (found.picks, found.missing, found.total, found.sure) == ([(0, 2), (0, 0)], 1, 3, True)


def test_a_text_of_which_a_part_is_there_leaves_the_list_as_it_is() -> None:
    found = seen([[A, B]], [f"{B}\n{A[:55]}…"], "x", side_by_side=False)
    assert (found.picks, found.missing, found.sure) == ([(0, 0), (0, 1)], 1, False)


def test_what_neighbouring_chunks_share_is_no_part_of_the_one_that_is_not_there() -> None:
    first, second = f"{A} {B}", f"{B} {C}"
    assert picks([[second, first]], f"[1] {first}") == [(0, 1)]


def test_a_prompt_with_none_of_the_texts_decides_nothing() -> None:
    found = seen([[A, B]], ["Make this polite: it is blocked."], "x", side_by_side=False)
    assert (found.picks, found.missing, found.sure) == ([(0, 0), (0, 1)], 2, False)


def test_texts_that_were_given_one_by_one_stay_as_they_are() -> None:
    """As in `refine`: the last prompt holds the last text only."""
    assert picks([[A, B, C]], f"Answer from {A}", f"Refine by {B}", f"Refine by {C}") == [(0, 0), (0, 1), (0, 2)]


def test_an_earlier_prompt_counts_where_the_last_one_holds_nothing() -> None:
    assert picks([[A, B]], f"[1] {B}\n[2] {A}", "Make it polite.") == [(0, 1), (0, 0)]


def test_lists_side_by_side() -> None:
    both = [["Example one: yes.", "Example two: no."], [A, B]]
    numbered = f"Like: Example one: yes. / Example two: no.\n[1] {A}\n[2] {B}"
    assert picks(both, numbered, answer="45 days [1].", side_by_side=True) == [(1, 0), (1, 1)]
    assert picks(both, f"[1] {A}\n[2] {B}", answer="45 days [1].", side_by_side=True) == [(1, 0), (1, 1)]
    merged = f"[1] {A}\n[2] Example two: no.\n[3] {B}"
    assert picks(both, merged, answer="45 days [1].", side_by_side=True) == [(1, 0), (0, 1), (1, 1)]
    plain = f"Example one: yes.\nExample two: no.\n{A}\n{B}"
    assert picks(both, plain, answer="45 days.", side_by_side=True) == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for prompts in ([plain], ["nothing of it"], []):
        with pytest.raises(Undecided) as raised:
            seen(both, prompts, "45 days [1].", side_by_side=True)
        assert (raised.value.reason, raised.value.code) == (UNDECIDED, "RW-J15")


def test_calls_inside_of_others() -> None:
    outer = Call("chain", 1, 10, [A], "thread 1")
    inner = Call("chain", 2, 5, [B, C], "thread 1")
    assert outermost([inner, outer], {}) == [1]
    # another thread: side by side, although the one is over before the other
    other = inner._replace(worker="thread 2")
    assert outermost([other, outer], {}) == [1, 0]
    assert beside([outer, other], [["chain"], ["chain"]], {})
    # spans do not say where they ran: the outer one gives back what the inner one found
    assert outermost([inner._replace(worker="", texts=[A, B]), outer._replace(worker="")], {}) == [1]
    assert outermost([inner._replace(worker=""), outer._replace(worker="")], {}) == [1, 0]
    steps = {"chain": "RunnableParallel<a,b>"}
    assert outermost([inner._replace(worker="", texts=[A]), outer._replace(worker="")], steps) == [1, 0]


def test_steps_of_a_parallel_are_side_by_side_whenever_they_ran() -> None:
    first, second = Call("a", 1, 2, [A]), Call("b", 3, 4, [B])
    above = [["a", "both", "all"], ["b", "both", "all"]]
    assert beside([first, second], above, {"both": "RunnableParallel<a,b>"})
    assert not beside([first, second], above, {"both": "RunnableSequence"})


def test_letters() -> None:
    assert letters('{"a": "Gr\\u00f6\\u00dfe\\n1"}') == letters("a: GRÖSSE 1")
