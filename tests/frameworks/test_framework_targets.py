"""Chains, engines and pipelines of the real frameworks as targets, with no line of glue.

What is expected is worked out by the framework and the stand-in for the model, without Ragworthy: which documents are
found, under which ids, and what is said of them.
"""

import json
import os
import re
from pathlib import Path
from typing import Any

import pytest

from conftest import write_jsonl
from framework_scripts import script
from places import ROOT, TESTS

TARGETS = TESTS / "frameworks" / "targets"
NAMES = "How long is a bucket name blocked?"
PARTS = "How large is the largest part of an upload?"
NOTHING = "Who painted the Mona Lisa in Florence?"
QUESTIONS = (NAMES, PARTS, NOTHING)
REFUSAL = "I don't know based on the provided context."
Row = dict[str, Any]


def asked(tmp_path: Path, file: str, *names: str) -> dict[str, Row]:
    gold = write_jsonl(
        tmp_path / "gold.jsonl",
        [{"qid": f"Q{n}", "question": one, "answerable": one != NOTHING} for n, one in enumerate(QUESTIONS)],
    )
    path = os.pathsep.join([str(ROOT / "src"), str(TARGETS)])
    done = script(TARGETS / "ask.py", gold, file, *names, cwd=tmp_path, PYTHONPATH=path)
    told: dict[str, Row] = json.loads(done.splitlines()[-1])
    return told


def expected(which: str, tmp_path: Path) -> dict[str, Row]:
    told: dict[str, Row] = json.loads(script(TARGETS / "expected.py", which, *QUESTIONS, cwd=tmp_path).splitlines()[-1])
    return told


def answer(said: str, ids: list[str]) -> Row:
    """A text with one marker at its end, as a claim with its citation."""
    found = re.fullmatch(r"(.*) \[(\d)\]", said)
    return {"claim": found[1], "citations": [ids[int(found[2]) - 1]]} if found else {"claim": said, "citations": []}


def replies(done: Row) -> list[tuple[list[str], Row]]:
    assert (done["code"], done["err"]) == (0, []), done
    assert len(done["traces"]) == len(QUESTIONS)
    return [(one["retrieved_ids"], one["answer_json"]) for one in done["traces"]]


def wanted(by_hand: dict[str, Row]) -> list[tuple[list[str], Row]]:
    return [(one["ids"], answer(one["said"], one["ids"])) for one in by_hand.values()]


# LangChain


def test_chains_of_langchain(tmp_path: Path) -> None:
    by_hand = expected("lc", tmp_path)
    names = ("plain", "keyed", "retrieval", "spoken,--knob,language=en", "plain,--concurrency,1")
    done = asked(tmp_path, "lc.py", *names)
    for name in names:
        assert replies(done[name]) == wanted(by_hand), name
        assert done[name]["traces"][0]["usage"]["model"] == "m-1"
        texts = {one["chunk_id"]: one["text"] for one in done[name]["chunks"]}
        assert texts == {
            key: text for one in by_hand.values() for key, text in zip(one["ids"], one["texts"], strict=True)
        }
    first = done["plain"]["traces"][0]
    assert first["answer_json"] == {
        "claim": "A bucket name is blocked for 45 days after the bucket is gone.",
        "citations": ["buckets.md@0"],
    }
    assert first["usage"]["total_tokens"] == first["usage"]["prompt_tokens"] + 7
    assert done["plain"]["traces"][2]["answer_json"] == {"claim": REFUSAL, "citations": []}
    assert f'1 answer reads like a refusal, e.g. "{REFUSAL}"; --refusal-pack en makes them refusals, leave it out if ' \
        "they are answers (docs/refusals.md)" in done["plain"]["out"]  # fmt: skip
    assert {one["doc_id"] for one in done["plain"]["chunks"]} <= {"buckets.md", "parts.md", "keys.md"}


def test_documents_that_change_after_retrieval_count_as_the_model_saw_them(tmp_path: Path) -> None:
    by_hand = expected("lc", tmp_path)
    done = asked(tmp_path, "lc.py", "reranked", "compressed", "ensemble", "qa")
    for name, keep in (("reranked", 3), ("compressed", 2)):
        for (ids, said), one in zip(replies(done[name]), by_hand.values(), strict=True):
            assert ids == one["ids"][::-1][:keep], name
            if said["citations"]:
                place = one["ids"].index(said["citations"][0])
                assert said["claim"] in one["texts"][place]
    for (ids, _), one in zip(replies(done["ensemble"]), by_hand.values(), strict=True):
        assert set(ids) == set(one["ids"])  # once each, though two retrievers found them
        assert len(ids) == len(set(ids))
    assert [ids for ids, _ in replies(done["qa"])] == [one["ids"] for one in by_hand.values()]


def test_a_retriever_inside_of_another_one_does_not_count(tmp_path: Path) -> None:
    by_hand = expected("lc", tmp_path)
    done = asked(tmp_path, "lc.py", "wrapped", "folded", "awrapped")
    for name in ("wrapped", "folded", "awrapped"):
        assert replies(done[name]) == replies(done["wrapped"]), name
        for (ids, said), one in zip(replies(done[name]), by_hand.values(), strict=True):
            assert ids == one["ids"][::-1][:2], name
            for cited in said["citations"]:
                assert said["claim"] in one["texts"][one["ids"].index(cited)]
    told = "note: in 3 replies the prompt does not hold 3 of 9 retrieved texts: those that it holds count, in its order"
    assert told in done["folded"]["out"]
    assert not any(line.startswith("note:") for line in done["wrapped"]["out"])


def test_of_retrievers_side_by_side_the_numbered_one_counts_or_none(tmp_path: Path) -> None:
    by_hand = expected("lc", tmp_path)
    done = asked(tmp_path, "lc.py", "few", "few,--concurrency,1", "unnumbered,--keep-going")
    assert replies(done["few"]) == wanted(by_hand)
    assert replies(done["few,--concurrency,1"]) == wanted(by_hand)
    undecided = done["unnumbered,--keep-going"]["traces"]
    assert [one["error_code"] for one in undecided] == ["RW-J15"] * 3
    assert undecided[0]["error"] == (
        "bad reply: documents: expected one list of documents, got several retrievers side by side whose documents are "
        'not numbered in one order in the prompt: give back {"answer": text, "context": documents}'
    )


def test_a_chain_that_raises_keeps_what_was_retrieved(tmp_path: Path) -> None:
    by_hand = expected("lc", tmp_path)
    done = asked(tmp_path, "lc.py", "raising,--keep-going")["raising,--keep-going"]
    assert [one["error"] for one in done["traces"]] == ["raised: RuntimeError: rate limit"] * 3
    assert [one["retrieved_ids"] for one in done["traces"]] == [one["ids"] for one in by_hand.values()]
    assert {one["chunk_id"] for one in done["chunks"]} == {name for one in by_hand.values() for name in one["ids"]}


def test_a_chain_that_can_only_be_awaited_is_awaited(tmp_path: Path) -> None:
    by_hand = expected("lc", tmp_path)
    done = asked(tmp_path, "lc.py", "awaited", "coroutine", "awaited,--concurrency,1")
    for name in ("awaited", "coroutine", "awaited,--concurrency,1"):
        assert replies(done[name]) == wanted(by_hand), name


def test_a_first_step_that_does_not_say_what_it_takes_is_asked_with_the_text(tmp_path: Path) -> None:
    by_hand = expected("lc", tmp_path)
    done = asked(tmp_path, "lc.py", "untyped", "mixed", "nameless")
    assert replies(done["untyped"]) == wanted(by_hand)
    assert replies(done["mixed"]) == wanted(by_hand)
    assert done["nameless"]["err"][0].endswith("got one that takes root, language [RW-J13]"), done["nameless"]["err"]


def test_graphs_of_langgraph(tmp_path: Path) -> None:
    by_hand = expected("lc", tmp_path)
    done = asked(tmp_path, "graph.py", "graph", "chat")
    assert replies(done["graph"]) == wanted(by_hand)
    assert replies(done["chat"]) == wanted(by_hand)


def test_what_cannot_be_known_of_a_chain_is_said(tmp_path: Path) -> None:
    done = asked(tmp_path, "lc.py", "unfilled", "unheard,--keep-going", "retriever,--keep-going", "splitter")
    where = TARGETS / "lc.py"
    assert done["unfilled"]["err"] == [
        f"{where}:unfilled: expected a chain that takes the question, got one that takes context, question [RW-J13]",
        "  framework_input: Give what else it needs with --knob NAME=VALUE, say where the question goes with "
        "--knob NAME={q}, or write these lines around it:",
        "  import ragworthy as rw",
        "  def answer(question):",
        '      return rw.reply(text, documents)  # of unfilled.invoke({"context": …, "question": …})',
    ]
    unheard = done["unheard,--keep-going"]
    told = "bad reply: documents: expected what was retrieved, got a text and no retriever that was heard: "
    told += 'give back {"answer": text, "documents": documents}'
    assert [one.get("error") for one in unheard["traces"]] == [told, None, None]  # a refusal may do without
    assert done["retriever,--keep-going"]["traces"][0]["error"] == (
        "bad reply: answer: expected an answer, got documents: a retriever alone gives none"
    )
    assert done["splitter"]["err"][0] == (
        f"{where}:splitter: expected a callable, a chain, a query engine or a pipeline, "
        "got RecursiveCharacterTextSplitter [RW-J14]"
    )


# LlamaIndex


def test_engines_of_llamaindex(tmp_path: Path) -> None:
    by_hand = expected("li", tmp_path)
    done = asked(tmp_path, "li.py", "citing", "engine", "streaming", "empty", "chat", "index")
    assert replies(done["citing"]) == wanted(by_hand)
    ids = [one["ids"] for one in by_hand.values()]
    for name in ("engine", "streaming", "chat"):
        assert [found for found, _ in replies(done[name])] == ids, name
        assert all("score" in one for trace in done[name]["traces"] for one in trace["topk"])
    assert replies(done["streaming"]) == replies(done["engine"])
    # every question begins without a memory of the one before
    assert {said["claim"] for _, said in replies(done["chat"])} == {"1 of a user"}
    assert replies(done["empty"]) == [([], {"claim": "Empty Response", "citations": []})] * 3
    assert any("3 answers read like a refusal" in line for line in done["empty"]["out"]), done["empty"]["out"]
    assert {one["doc_id"].rpartition("/")[2] for one in done["citing"]["chunks"]} <= {
        "buckets.md",
        "parts.md",
        "keys.md",
    }
    assert all(one["attrs"] == {"retrieved": True} for one in done["citing"]["chunks"])  # no date, no size
    where = TARGETS / "li.py"
    assert done["index"]["err"] == [
        f"{where}:index: expected a callable, a chain, a query engine or a pipeline, got SummaryIndex [RW-J14]",
        "  target_object: Name the chain, engine or pipeline itself, or write these lines around it:",
        f"  engine = index.as_query_engine()  # and --target {where}:engine",
    ]


# Haystack


def test_pipelines_of_haystack(tmp_path: Path) -> None:
    by_hand = expected("hs", tmp_path)
    names = ("plain", "answers", "chat", "joined", "spoken,--knob,language=en", "spoken,--knob,translator.language=en")
    done = asked(tmp_path, "hs.py", *names, "ranked", "spoken", "several,--keep-going")
    for name in names:
        assert replies(done[name]) == wanted(by_hand), name
        assert done[name]["traces"][0]["usage"] == {"prompt_tokens": 5, "completion_tokens": 2, "model": "m-1"}
    for (ids, said), one in zip(replies(done["ranked"]), by_hand.values(), strict=True):
        assert ids == one["ids"][::-1][:2]
        assert not said["citations"] or said["citations"][0] in ids
    where = TARGETS / "hs.py"
    assert done["spoken"]["err"] == [
        f"{where}:spoken: expected a pipeline that takes the question as query, question, prompt, text, "
        "got one that needs translator.language [RW-J13]",
        "  framework_input: Give what else it needs with --knob NAME=VALUE, say where the question goes with "
        "--knob NAME={q}, or write these lines around it:",
        "  import ragworthy as rw",
        "  def answer(question):",
        "      return rw.reply(text, documents)  # of spoken.run({…}, include_outputs_from={…})",
    ]
    told = "bad reply: answer: expected one component with answers or replies, got several: llm, second"
    assert [one["error"] for one in done["several,--keep-going"]["traces"]] == [told] * 3


def test_a_knob_says_where_the_question_goes(tmp_path: Path) -> None:
    by_hand = expected("hs", tmp_path)
    names = ("other_name,--knob,user_text={q}", "other_name,--knob,prompt.user_text={q}")
    done = asked(tmp_path, "hs.py", *names, "other_name")
    for name in names:
        assert replies(done[name]) == wanted(by_hand), name
    assert done["other_name"]["err"][0].endswith("got one that needs prompt.user_text [RW-J13]")
    assert "--knob NAME={q}" in done["other_name"]["err"][1]


def test_a_knob_says_which_input_of_a_chain_or_graph_takes_the_question(tmp_path: Path) -> None:
    by_hand = expected("lc", tmp_path)
    done = asked(tmp_path, "lc.py", "spoken,--knob,language=en,--knob,question={q}")
    assert replies(done["spoken,--knob,language=en,--knob,question={q}"]) == wanted(by_hand)
    done = asked(tmp_path, "graph.py", "graph,--knob,question={q}")
    assert replies(done["graph,--knob,question={q}"]) == wanted(by_hand)


def test_an_answer_builder_hides_no_citation_of_nothing(tmp_path: Path) -> None:
    """Each answer cites `[n][9]`, and there are three documents: the builder leaves out the second."""
    by_hand = expected("hs", tmp_path)
    names = ("invented", "invented_all", "invented_round")
    done = asked(tmp_path, "hs.py", *names)
    right = wanted(by_hand)
    assert [bool(said["citations"]) for _, said in right] == [True, True, False]
    for name in names:
        for (ids, said), (wanted_ids, one) in zip(replies(done[name]), right, strict=True):
            assert ids == wanted_ids
            assert said["citations"] == [*one["citations"], *(["[9]"] if one["citations"] else [])], name


@pytest.mark.parametrize("rule", ["content", "metadata:file"])
def test_ids_by_a_rule(rule: str, tmp_path: Path) -> None:
    done = asked(tmp_path, "hs.py", f"plain,--doc-id,{rule}")[f"plain,--doc-id,{rule}"]
    ids = {name for found, _ in replies(done) for name in found}
    if rule == "content":
        assert all(re.fullmatch(r"sha256:[0-9a-f]{16}", name) for name in ids)
    else:
        assert ids <= {"buckets.md", "parts.md", "keys.md"}
        assert any(re.search(r"ids? names? several texts", line) for line in done["out"]), done["out"]


# the stubs, with a real object instead of the one that only makes them run


@pytest.mark.parametrize(
    ("kind", "which", "imported"),
    [
        ("langchain", "lc", "from lc import retrieval as chain"),
        ("llamaindex", "li", "from li import citing as query_engine"),
        ("haystack", "hs", "from hs import plain as pipeline"),
    ],
)
def test_stubs_with_the_real_thing(kind: str, which: str, imported: str, tmp_path: Path) -> None:
    stub = (ROOT / "src" / "ragworthy" / "stubs" / f"{kind}.txt").read_text(encoding="utf-8")
    kept, mark, _ = stub.partition("# Remove what follows")
    assert mark
    text, count = re.subn(r"^# from my_app import .*$", imported, kept, count=1, flags=re.M)
    assert count == 1
    (tmp_path / "rag_target.py").write_text(text, encoding="utf-8")
    body = text.partition("def answer")[2].rstrip().splitlines()
    assert len(body) == 3  # with the line of `def`
    done = asked(tmp_path, str(tmp_path / "rag_target.py"), "answer")
    assert replies(done["answer"]) == wanted(expected(which, tmp_path))
