"""What to do next: from what the whole run shows and from the stages to blame, never against them."""

from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ragworthy as rw
from ragworthy.names import Verdict

Row = dict[str, Any]
GATES = "precision=0.95,chr=0.95,under=0.05,over=0.05"
WHOLE_RUN = {
    "the traces answer other questions",
    "errors instead of answers",
    "questions without a trace",
    "gold ids are in no trace",
    "gold set changed",
    "all answers are empty",
    "no trace has retrieved_ids",
    "no answer cites anything",
    "ids differ in form",
    "every citation is an id that was never retrieved",
    "every answerable question was refused",
}


def gold(n: int, answerable: bool = True) -> Row:
    item: Row = {"qid": f"Q{n:02d}", "question": f"Question {n}?", "answerable": answerable}
    return item | ({"gold_claim_substr": [f"answer {n}"], "gold_citations": [f"g#{n}"]} if answerable else {})


def right(n: int, **extra: Any) -> Row:
    return {
        "qid": f"Q{n:02d}",
        "retrieved_ids": [f"g#{n}", f"h#{n}"],
        "answer_json": {"claim": f"It is answer {n}.", "citations": [f"g#{n}"]},
    } | extra


def answer(n: int, claim: str, *citations: str) -> Row:
    return right(n, answer_json={"claim": claim, "citations": list(citations)})


REFUSED = "not in context"


def made(kind: str, n: int) -> Row | None:
    """A trace in which one thing went wrong."""
    text = f"It is answer {n}."
    return {
        "right": right(n),
        "error": {"qid": f"Q{n:02d}", "error": "status 500"},
        "missing": None,
        "refused": answer(n, REFUSED),
        "refused blind": answer(n, REFUSED) | {"retrieved_ids": [f"h#{n}"]},
        "empty": answer(n, "", f"g#{n}"),
        "uncited": answer(n, text),
        "miscited": answer(n, text, f"h#{n}"),
        "out of scope": answer(n, text, "zz#99"),
        "not retrieved": answer(n, text, f"h#{n}") | {"retrieved_ids": [f"h#{n}"]},
        "wrong text": answer(n, "Something else.", f"g#{n}"),
    }[kind]


KINDS = ("right", "error", "refused", "refused blind", "empty", "uncited", "miscited", "out of scope", "not retrieved",
         "wrong text")  # fmt: skip


def score(questions: list[Row], traces: list[Row]) -> rw.Result:
    return rw.score("answers", gold=questions, traces=traces, gates=GATES)


def steps(result: rw.Result) -> list[tuple[str, str]]:
    return [(one["pattern"], one["do"]) for one in result.report["next"]]


def run_of(*kinds: str) -> rw.Result:
    """A run with one trace of each kind, and two unanswerable questions that are refused."""
    count = len(kinds)
    questions = [gold(n) for n in range(count)] + [gold(n, answerable=False) for n in (count, count + 1)]
    traces = [trace for n, kind in enumerate(kinds) if (trace := made(kind, n)) is not None]
    return score(questions, traces + [answer(n, REFUSED) for n in (count, count + 1)])


@pytest.mark.parametrize(
    ("kinds", "pattern", "do"),
    [
        (
            ["error"] * 8,
            "errors instead of answers",
            "8 of 10 questions ended in an error (status 500): fix the pipeline and run it again",
        ),
        (
            ["right"] * 6 + ["error"] * 2,
            "errors instead of answers",
            "2 of 10 questions ended in an error (status 500): fix the pipeline and run it again",
        ),
        (
            ["uncited"] * 8,
            "no answer cites anything",
            "none of 8 answers has a citation: make the pipeline cite, or gate on answers.containment and "
            "answers.hit@5 instead of precision and CHR",
        ),
        (
            ["out of scope"] * 8,
            "every citation is an id that was never retrieved",
            "all of 8 citations: let answers cite the ids of the results that they were given",
        ),
        (
            ["empty"] * 8,
            "all answers are empty",
            "none of 8 answers has a claim: write the text of the answer to answer_json.claim",
        ),
        (
            ["refused"] * 8,
            "every answerable question was refused",
            "8 of 8: the guard refuses whatever it is given",
        ),
        (
            ["refused blind"] * 8 + ["right"] * 3,
            "retrieval, 8 of 13 questions",
            "8 refused without gold evidence: none was retrieved: raise k, or look at the search and its ranking, "
            "then for index or manifest drift",
        ),
        (
            ["not retrieved"] * 3 + ["right"] * 5,
            "retrieval, 3 of 10 questions",
            "3 answered without gold evidence: none was retrieved: raise k, or look at the search and its ranking, "
            "then for index or manifest drift",
        ),
        (
            ["miscited"] * 3 + ["right"] * 5,
            "citation, 3 of 10 questions",
            "3 not citing the gold evidence that was retrieved: look at how citations are chosen",
        ),
        (
            ["wrong text"] * 3 + ["right"] * 5,
            "generation, 3 of 10 questions",
            "3 citing the right evidence in a claim without the gold text: tighten the claim's schema, or check the "
            "gold pieces",
        ),
        (
            ["refused"] * 3 + ["right"] * 5,
            "refusal, 3 of 10 questions",
            "3 refused although gold evidence was retrieved: the guard is too strict, or facts are split by chunking",
        ),
    ],
)
def test_the_first_step_names_the_cause(kinds: list[str], pattern: str, do: str) -> None:
    result = run_of(*kinds)
    assert result.verdict in (Verdict.NO_SHIP, Verdict.INVALID)
    assert steps(result)[0] == (pattern, do)
    assert not any("grounding" in text for step in steps(result) for text in step)


def test_no_trace_has_retrieved_ids() -> None:
    traces = [{name: value for name, value in right(n).items() if name != "retrieved_ids"} for n in range(8)]
    told = steps(score([gold(n) for n in range(8)], traces))
    assert told[0] == (
        "no trace has retrieved_ids",
        "write the ranked ids that the pipeline saw: without them retrieval is not known and no citation counts",
    )
    assert not any(pattern.startswith(("retrieval", "citation")) for pattern, _ in told)


def test_answers_to_what_has_none_and_claims_that_read_like_refusals() -> None:
    questions = [gold(n) for n in range(6)] + [gold(n, answerable=False) for n in range(6, 9)]
    sorry = "I'm sorry, I couldn't find that in our documentation."
    told = steps(score(questions, [right(n) for n in range(6)] + [answer(n, sorry) for n in range(6, 9)]))
    assert told[0] == (
        "near-refusals",
        f'3 claims that count as answers read like a refusal: "{sorry}"; if that is what they are, '
        "--refusal-pack en or refusal_packs = [\"en\"] under [answers] ('ragworthy doctor' shows more)",
    )
    assert told[1] == (
        "refusal, 3 of 9 questions",
        "3 answering what the corpus has no answer to: strengthen refusals or retrieval constraints",
    )


def test_a_few_claims_that_read_like_refusals_come_last() -> None:
    questions = [gold(n) for n in range(6)] + [gold(n, answerable=False) for n in range(6, 9)]
    made_up = [answer(7, "It is 12."), answer(8, "It is 13.")]
    told = steps(score(questions, [right(n) for n in range(6)] + [answer(6, "I could not find this."), *made_up]))
    assert [pattern for pattern, _ in told] == ["refusal, 3 of 9 questions", "near-refusals"]


def test_a_run_that_ships_needs_no_advice() -> None:
    result = run_of(*["right"] * 8)
    assert (result.verdict, steps(result)) == (Verdict.SHIP, [])


@settings(max_examples=250, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sampled_from([*KINDS, "missing"]), min_size=1, max_size=14),
    st.lists(st.sampled_from(["right", "refused", "error", "miscited"]), max_size=5),
)
def test_the_advice_agrees_with_the_stages(kinds: list[str], beside: list[str]) -> None:
    """The first step is about the whole run, or names the stage that the report blames for most questions."""
    questions = [gold(n) for n in range(len(kinds))]
    questions += [gold(n, answerable=False) for n in range(len(kinds), len(kinds) + len(beside))]
    traces = [trace for n, kind in enumerate([*kinds, *beside]) if (trace := made(kind, n)) is not None]
    if not traces:
        return
    result = score(questions, traces)
    told, stages = steps(result), result.report["suites"]["answers"]["stages"]
    failing = [one for one in result.gates if one["outcome"] == "fail"]
    if not failing:
        return
    assert told, (stages, failing)
    first = told[0][0]
    named = {pattern.partition(",")[0]: pattern for pattern, _ in told if ", " in pattern and " of " in pattern}
    assert set(named) <= set(stages)
    assert all(f", {stages[stage]} of " in pattern for stage, pattern in named.items())
    most = max(stages.values())
    lost = any("ended in errors" in (one["reason"] or "") for one in result.gates)
    if first == "errors instead of answers" and not lost:
        assert stages["pipeline"] == most
    assert first in WHOLE_RUN or (first in named.values() and stages[first.partition(",")[0]] == most), (told, stages)


def test_claims_that_are_wrong_besides_are_told_where_nothing_is_cited() -> None:
    """Five answers cite nothing; two of them are wrong as well, which no citation would mend."""
    questions = [gold(n) for n in range(5)]
    traces = [made("uncited", n) or {} for n in range(5)]
    for trace in traces[:2]:
        trace["answer_json"]["claim"] = "Something else."
    told = steps(score(questions, traces))
    assert [pattern for pattern, _ in told][:2] == ["no answer cites anything", "claims are wrong too"]
    assert told[1][1] == (
        "2 answers without gold citations lack the gold text too, with the evidence at hand: look at what the model is "
        "given and told: it has the evidence and does not use it"
    )


def test_markers_of_another_form_are_named() -> None:
    """Nothing is cited, and two of three claims end with a source's number: there is a flag that reads it."""
    questions = [gold(n) for n in range(3)]
    traces = [made("uncited", n) or {} for n in range(3)]
    for trace in traces[:2]:
        trace["answer_json"]["claim"] += " (Quelle 3)"
    told = dict(steps(score(questions, traces)))
    assert told["no answer cites anything"] == (
        'none of 3 answers has a citation: 2 claims hold something like a marker, e.g. "(Quelle 3)": run or import '
        "with --marker '\\(Quelle (\\d+)\\)'; else make the pipeline cite, or gate on answers.containment and "
        "answers.hit@5 instead of precision and CHR"
    )
