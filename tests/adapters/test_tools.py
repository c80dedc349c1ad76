"""import ragas, deepeval, promptfoo, beir and squad: on files that the tools wrote, and on broken ones.

The files in `files/` were written by ragas 0.4.3, DeepEval 4.3.1 and promptfoo 0.121.20 from six questions of the
bundled example; four of them are answerable.
"""

import gzip
import json
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import run_cli, write_jsonl
from places import DATA, ROOT, SHARED, TESTS
from ragworthy.adapters.documents import content_id
from ragworthy.adapters.ragas import python_list
from ragworthy.codes import CATALOGUE

FILES = TESTS / "adapters" / "files"
EXAMPLES = ROOT / "src" / "ragworthy" / "examples"
SAMPLES = SHARED / "findings" / "samples"


def said(code: str, message: str) -> str:
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


def failed(*words: object) -> str:
    done = run_cli("import", *words, "--dry-run")
    assert (done.code, done.out) == (2, "")
    return done.err


@pytest.fixture(autouse=True)
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def packed(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in gzip.decompress(path.read_bytes()).decode().splitlines()]


def bundled() -> list[dict[str, Any]]:
    """The six questions that the files were made from, as the bundled example has them."""
    gold = lines(EXAMPLES / "gold.jsonl")
    answerable = [item for item in gold if item["answerable"]]
    return [*answerable[:4], *(item for item in gold if not item["answerable"])][:6]


def run_of(qid: str) -> dict[str, Any]:
    return next(trace for trace in lines(EXAMPLES / "runs" / "candidate.jsonl") if trace["qid"] == qid)


# ragas and DeepEval


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ("ragas", "ragas.jsonl"),
        ("ragas", "ragas.csv"),
        ("ragas", "ragas.parquet"),
        ("deepeval", "deepeval_goldens.json"),
        ("deepeval", "deepeval_cases.json"),
        ("jsonl", "ragas.jsonl"),
        ("jsonl", "deepeval_cases.json"),
    ],
)
def test_the_files_of_a_tool_hold_what_was_put_into_them(form: str, name: str) -> None:
    if name.endswith("parquet"):
        pytest.importorskip("pyarrow")
    found = rw.import_file(form, FILES / name)
    texts = {chunk["chunk_id"]: chunk["text"] for chunk in lines(EXAMPLES / "chunks.jsonl")}
    wanted = bundled()
    assert (found.taken, found.skipped) == (6, [])
    assert [item["question"] for item in found.gold] == [item["question"] for item in wanted]
    assert [item["answerable"] for item in found.gold] == [item["answerable"] for item in wanted]
    assert [item["gold_claim_substr"] for item in found.gold] == [
        item["gold_claim_substr"][:1] if item["answerable"] else [] for item in wanted
    ]
    chunks = {chunk["chunk_id"]: chunk["text"] for chunk in found.chunks}
    for item, trace, origin in zip(found.gold, found.traces, wanted, strict=True):
        run = run_of(origin["qid"])
        assert [" ".join(chunks[one].split()) for one in trace["retrieved_ids"]] == [
            " ".join(texts[one].split()) for one in run["retrieved_ids"][:3]
        ]
        assert trace["answer_json"]["claim"] == run["answer_json"]["claim"]
        cited = [one for one in run["answer_json"].get("citations") or [] if one in run["retrieved_ids"][:3]]
        assert trace["answer_json"]["citations"] == [content_id(texts[one]) for one in cited]
        if origin["answerable"]:
            assert item["gold_evidence"] == [texts[origin["gold_citations"][0]].strip()]


def test_tables_of_deepeval_join_passages_which_cannot_always_be_undone() -> None:
    found = rw.import_file("deepeval", FILES / "deepeval_goldens.csv")
    whole = {item["question"]: item for item in rw.import_file("deepeval", FILES / "deepeval_goldens.json").gold}
    assert (found.taken, len(found.gold), len(found.skipped)) == (6, 4, 2)
    for skip in found.skipped:  # two rows hold a Markdown table
        assert skip.why.endswith(
            "passages joined with | that hold tables with | themselves (import the JSON file instead)"
        )
    for item in found.gold:
        assert item.get("gold_evidence") == whole[item["question"]].get("gold_evidence")


@pytest.mark.data("findings/samples")
@pytest.mark.parametrize(
    ("form", "name", "count"),
    [
        ("ragas", "ragas_evaluationdataset.jsonl", 2),
        ("deepeval", "deepeval_goldens.json", 2),
        ("deepeval", "deepeval_latest_test_run.json", 1),
    ],
)
def test_captured_files(form: str, name: str, count: int) -> None:
    found = rw.import_file(form, SAMPLES / name)
    assert (found.taken, len(found.gold), len(found.traces), found.skipped) == (count, count, count, [])
    assert found.gold[0]["gold_claim_substr"] == ["45 days"]
    first = found.traces[0]
    assert first["answer_json"]["claim"].endswith("before anybody can take it again.")
    assert first["answer_json"]["citations"] == first["retrieved_ids"][:1]
    assert found.gold[0]["gold_evidence"][0].split() == found.chunks[0]["text"].split()


@pytest.mark.parametrize(
    ("cell", "texts"),
    [
        ("['a', \"b's\"]", ["a", "b's"]),
        ("[]", []),
        ("['a' 'b']", None),  # numpy: Python would read one text
        ("['a'\n 'b']", None),
        ("['a', 1]", None),
        ("[__import__('os').getcwd()]", None),
        ("('a',)", None),
        ("['a'", None),
        ("[" * 5000, None),
        ("['" + "a" * (1 << 20) + "']", None),
    ],
)
def test_lists_as_python_prints_them(cell: str, texts: list[str] | None) -> None:
    assert python_list(cell) == texts


def test_samples_that_do_not_fit_are_skipped_with_the_reason() -> None:
    Path("a.csv").write_text("user_input,retrieved_contexts,reference\nA?,['x' 'y'],a\nB?,\"['x', 'y']\",b\n")
    found = rw.import_file("ragas", "a.csv")
    why = "retrieved_contexts: no list as Python or JSON writes it (export JSON lines instead)"
    assert [tuple(skip) for skip in found.skipped] == [("line 2", why)]
    assert len(found.traces[0]["retrieved_ids"]) == 2
    write_jsonl(Path("b.jsonl"), [{"user_input": [{"content": "hi", "type": "human"}], "reference": "x"},
                                  {"user_input": "A?", "reference": "x"}])  # fmt: skip
    assert rw.import_file("ragas", "b.jsonl").skipped[0].why == "a conversation of several turns"
    write_jsonl(Path("c.jsonl"), [{"turns": [], "scenario": "s"}, {"input": "A?", "expected_output": "x"}])
    assert rw.import_file("deepeval", "c.jsonl").skipped[0].why == "a conversation of several turns"


def test_ids_of_contexts_are_kept_where_ragas_has_them() -> None:
    write_jsonl(Path("a.jsonl"), [
        {"user_input": "A?", "reference": "a", "response": "a [2]", "retrieved_contexts": ["one", "two"],
         "retrieved_context_ids": ["d1", "d2"], "reference_context_ids": ["d2"]},
    ])  # fmt: skip
    found = rw.import_file("ragas", "a.jsonl")
    assert found.gold[0]["gold_citations"] == ["d2"]
    assert found.traces[0]["retrieved_ids"] == ["d1", "d2"]
    assert found.traces[0]["answer_json"]["citations"] == ["d2"]
    assert found.chunks == [{"chunk_id": "d1", "text": "one"}, {"chunk_id": "d2", "text": "two"}]


@pytest.mark.parametrize(
    ("form", "question", "answer", "expected"),
    [("ragas", "user_input", "response", "reference"), ("deepeval", "input", "actual_output", "expected_output")],
)
def test_a_later_run_gets_the_qids_of_a_gold_set_that_is_there(
    form: str, question: str, answer: str, expected: str
) -> None:
    write_jsonl(Path("gold.jsonl"), [{"qid": "K1", "question": "Who?", "answerable": True},
                                     {"qid": "K2", "question": "When?", "answerable": False}])  # fmt: skip
    rows = [{question: "When?", answer: "Now.", expected: "never"}, {question: "Why?", answer: "So.", expected: "no"}]
    Path("run.json").write_text(json.dumps(rows))
    found = rw.import_file(form, "run.json", gold="gold.jsonl")
    assert [(one["qid"], one["answer_json"]["claim"]) for one in found.traces] == [("K2", "Now.")]
    assert (found.gold, found.taken) == ([], 2), "the gold set is there: what the run expected makes no other one"
    assert [skip.why for skip in found.skipped] == ["its question is not in the gold set"]
    assert run_cli("import", form, "run.json", "--gold", "gold.jsonl", "--gold-out", "g.jsonl").code == 0
    assert [json.loads(line)["qid"] for line in Path("g.jsonl").read_text().splitlines()] == ["K2"]


# promptfoo


@pytest.mark.parametrize("name", ["promptfoo.json", "promptfoo.jsonl"])
def test_results_of_promptfoo(name: str) -> None:
    found = rw.import_file("promptfoo", FILES / name)
    wanted = bundled()
    assert [item["question"] for item in found.gold] == [item["question"] for item in wanted[:5]]
    assert [item["gold_claim_substr"] for item in found.gold] == [
        ["45 days"],  # contains
        ["UP TO 250"],  # icontains; containment ignores case as well
        ["kept in Dock", "something else"],  # contains-any
        ["900 bytes"],  # equals
        [],  # icontains "not in context": the question has no answer
    ]
    assert [item["answerable"] for item in found.gold] == [True, True, True, True, False]
    assert [skip.why for skip in found.skipped] == [
        "no assert that says what the answer is (contains, icontains, contains-any, equals)"
    ]
    assert found.notes[:2] == ["left out: 1 × assert of type latency", "left out: 1 × assert of type javascript"]
    assert found.traces[0]["answer_json"]["claim"] == run_of(wanted[0]["qid"])["answer_json"]["claim"]
    assert [item["topic"] for item in found.gold] == ["buckets"] * 5
    assert all("error" not in trace for trace in found.traces)  # a failed assert is not an error of the pipeline


def result(**more: Any) -> dict[str, Any]:
    case = {"vars": {"question": "A?"}, "assert": [{"type": "contains", "value": "a"}]}
    return {"testIdx": 0, "promptIdx": 0, "testCase": case, "vars": case["vars"], "response": {"output": "a"}} | more


def test_errors_several_prompts_and_odd_results_of_promptfoo() -> None:
    write_jsonl(Path("e.jsonl"), [result(failureReason=2, error="API error: 500", response=None)])
    assert rw.import_file("promptfoo", "e.jsonl").traces[0]["error"] == "API error: 500"
    write_jsonl(Path("p.jsonl"), [result(), result(promptIdx=1, response={"output": "b"})])
    assert failed("promptfoo", "p.jsonl") == said(
        "RW-A03",
        "p.jsonl: expected the results of one prompt and provider, got 2; say which: --prompt 0 or --prompt 1",
    )
    assert rw.import_file("promptfoo", "p.jsonl", prompt="1").traces[0]["answer_json"]["claim"] == "b"
    assert failed("promptfoo", "p.jsonl", "--prompt", "7") == said(
        "RW-A03", "p.jsonl: --prompt: expected one of 0, 1, got 7"
    )
    write_jsonl(Path("o.jsonl"), [result(response={"output": {"x": 1}}), result(testIdx=1)])
    assert rw.import_file("promptfoo", "o.jsonl").skipped[0].why == (
        "response.output: an object where a text is expected"
    )
    two = {"vars": {"x": "A?"}, "assert": [{"type": "contains", "value": "a"}, {"type": "icontains", "value": "b"}]}
    write_jsonl(Path("t.jsonl"), [result(testCase=two, vars=two["vars"])])
    found = rw.import_file("promptfoo", "t.jsonl")  # the only variable is the question
    assert found.gold[0]["question"] == "A?"
    assert "1 questions have several asserts on the text: here one of the texts is enough" in found.notes


# broken files of each tool


@pytest.mark.parametrize(
    ("form", "name", "data", "code", "message"),
    [
        ("ragas", "x.jsonl", '{"input": "A?"}', "RW-A03",
         'x.jsonl: expected a data set of ragas with user_input, got "input"'),
        ("ragas", "x.csv", "a,b\n1,2\n", "RW-A03",
         'x.csv: expected a data set of ragas with user_input, got "a", "b"'),
        ("deepeval", "x.json", '[{"user_input": "A?"}]', "RW-A03",
         'x.json: expected goldens or test cases of DeepEval with input, got "user_input"'),
        ("deepeval", "x.json", '{"testRunData": {"x": 1}}', "RW-A03",
         "x.json: expected a list at testRunData.testCases, got nothing"),
        ("promptfoo", "x.json", '[{"a": 1}]', "RW-A03",
         'x.json: expected results of promptfoo with testCase, got "a"'),
        ("promptfoo", "x.json", '{"evalId": "e", "results": {"table": 1}}', "RW-A03",
         "x.json: expected a list at results.results, got nothing"),
        ("promptfoo", "x.csv", "Description,question\n", "RW-A03",
         "x.csv: expected results with their asserts, got CSV, which has none: run promptfoo with -o results.json"),
        ("squad", "x.json", "[1]", "RW-A03", "x.json: expected a list of articles in data, got a list"),
        ("squad", "x.json", '{"version": "1"}', "RW-A03",
         "x.json: expected a list of articles in data, got an object without it"),
        ("squad", "x.json", '{"data": []}', "RW-A02", "x.json: expected questions, got none"),
        ("squad", "x.json", '{"data": [{"title"', "RW-F09",
         "x.json: expected a whole JSON file, got the end of the file in the middle of it"),
        ("beir", "x.json", "{}", "RW-A03", "x.json: expected a folder with corpus.jsonl, queries.jsonl and qrels"),
    ],
)  # fmt: skip
def test_files_of_another_shape(form: str, name: str, data: str, code: str, message: str) -> None:
    Path(name).write_text(data)
    assert failed(form, name) == said(code, message)


@pytest.mark.parametrize("form", ["ragas", "deepeval", "promptfoo", "squad"])
def test_files_that_are_not_there_or_empty(form: str) -> None:
    assert failed(form, "no.json") == said("RW-F01", "no.json: expected a file, got nothing at this path")
    Path("e.json").write_bytes(b"")
    assert failed(form, "e.json") == said("RW-F04", "e.json: expected records, got none")


# SQuAD


def article(**qa: Any) -> dict[str, Any]:
    text = "Rollo led them. He swore fealty to Charles III in 911. Denmark was home."
    whole = {"id": "q1", "question": "Who?", "answers": [{"text": "Charles III", "answer_start": 35}]} | qa
    return {"data": [{"title": "The Normans", "paragraphs": [{"context": text, "qas": [whole]}]}]}


def test_squad_by_hand() -> None:
    Path("s.json").write_text(json.dumps(article()))
    found = rw.import_file("squad", "s.json")
    assert found.gold[0] | {"imported": 0} == {
        "qid": "q1", "question": "Who?", "answerable": True, "gold_claim_substr": ["Charles III"],
        "gold_citations": ["the-normans#0"], "gold_evidence": ["He swore fealty to Charles III in 911."],
        "gold_source": ["The Normans"], "imported": 0,
    }  # fmt: skip
    assert found.chunks[0]["offsets"] == [0, 72]
    Path("s.json").write_text(json.dumps(article(is_impossible=True)))
    assert rw.import_file("squad", "s.json").gold[0]["answerable"] is False
    Path("s.json").write_text(json.dumps(article(answers=[{"text": "Charles III", "answer_start": 3}])))
    moved = rw.import_file("squad", "s.json")
    assert moved.gold[0]["gold_evidence"] == found.gold[0]["gold_evidence"]
    assert moved.notes[0] == "1 answer is not where answer_start says"
    Path("s.json").write_text(json.dumps(article(answers=[], is_impossible=False)))
    done = run_cli("import", "squad", "s.json", "--gold-out", "g.jsonl")
    assert (done.code, done.err) == (2, said("RW-U01", "--gold-out: expected gold in the data, got only chunks"))
    assert "written" not in done.out
    assert "  skipped 1: no answer, and is_impossible is false (data.0.paragraphs.0.qas.0)" in done.out.splitlines()


@pytest.mark.data("data/squad2/dev")
def test_squad_2_is_what_another_converter_made_of_it() -> None:
    """The set in its own form, put together again from what the data folder has of it."""
    folder = DATA / "squad2" / "dev"
    gold = packed(folder / "gold.jsonl.gz")
    by_id = {item["qid"]: item for item in gold}
    asked: dict[str, list[dict[str, Any]]] = {}
    for meta in packed(folder / "meta.jsonl.gz"):
        item = by_id[meta["qid"]]
        qa = {"id": meta["qid"], "question": item["question"], "answers": meta["answers"]}
        asked.setdefault(meta["context_id"], []).append(qa | {"is_impossible": not item["answerable"]})
    articles: dict[str, list[dict[str, Any]]] = {}
    corpus = lines(folder / "corpus.jsonl")
    for chunk in corpus:
        articles.setdefault(chunk["title"], []).append({"context": chunk["text"], "qas": asked.get(chunk["id"], [])})
    data = [{"title": title, "paragraphs": paragraphs} for title, paragraphs in articles.items()]
    Path("squad.json").write_text(json.dumps({"version": "v2.0", "data": data}))
    found = rw.import_file("squad", "squad.json")
    assert (found.taken, found.skipped) == (6608, [])
    assert [(one["chunk_id"], one["offsets"], one["text"]) for one in found.chunks] == [
        (one["id"], one["offsets"], one["text"]) for one in corpus
    ]
    for item in found.gold:
        other = by_id[item["qid"]]
        assert item["answerable"] == other["answerable"]
        assert set(item["gold_claim_substr"]) == {one.strip() for one in other["gold_claim_substr"]}
        assert item["gold_citations"] == other["gold_citations"]
        for evidence in item.get("gold_evidence", ()):
            assert any(answer in evidence for answer in item["gold_claim_substr"])


# BEIR


def beir(folder: Path, **files: str) -> Path:
    whole = {
        "corpus.jsonl": '{"_id": "d1", "title": "T", "text": "one"}\n{"_id": "d2", "text": "two"}\n'
        '{"_id": "d3", "text": ""}\n',
        "queries.jsonl": '{"_id": "q1", "text": "first?"}\n{"_id": "q2", "text": "second?"}\n'
        '{"_id": "q3", "text": "x?"}\n',
        "qrels/test.tsv": "query-id\tcorpus-id\tscore\nq1\td2\t1\nq1\td1\t2\nq1\td9\t0\nq2\td2\t0\nq9\td1\t1\n",
    } | files
    for name, text in whole.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def test_a_folder_of_beir(lab: Path) -> None:
    done = run_cli("import", "beir", beir(lab / "b"), "--gold-out", "g.jsonl", "--chunks-out", "c.jsonl")
    assert done.code == 0
    assert done.out.splitlines()[-8:] == [
        "in 3 = written 2 + skipped 1",
        "  skipped 1: judged, and not in queries.jsonl (test.tsv:6)",
        "note: 1 documents have no text and are left out",
        "note: 1 judged documents are not in corpus.jsonl",
        "note: 1 queries of queries.jsonl are not judged in test.tsv",
        "gold: 2 questions: g.jsonl",
        "chunks: 2 chunks: c.jsonl",
        "next: ragworthy index build --docs c.jsonl --out index",
    ]
    first, second = lines(Path("g.jsonl"))
    assert (first["paraphrases"], first["relevant"], first["negatives"]) == (["first?"], ["d1", "d2"], ["d9"])
    assert (first["grades"], second["answerable"]) == ({"d1": 2, "d2": 1}, False)
    assert [(one["chunk_id"], one["text"]) for one in lines(Path("c.jsonl"))] == [("d1", "T\n\none"), ("d2", "two")]
    assert run_cli("index", "build", "--docs", "c.jsonl", "--out", "index", "--dense", "none").code == 0
    assert run_cli("retrieve", "--index", "index", "--gold", "g.jsonl", "-o", "t.jsonl").code == 0


def test_splits_and_broken_folders_of_beir(lab: Path) -> None:
    folder = beir(lab / "b", **{"qrels/dev.tsv": "q2\td1\t1\n"})
    assert [one["qid"] for one in rw.import_file("beir", folder, split="dev").gold] == ["q2"]
    assert failed("beir", "b", "--split", "x") == said("RW-A03", 'b: --split: expected a split (dev, test), got "x"')
    (folder / "qrels" / "test.tsv").rename(folder / "qrels" / "train.tsv")
    assert failed("beir", "b") == said(
        "RW-A03", "b: --split: expected a split (dev, train), got several: say which with --split"
    )
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\nq1 d2 1\n")
    assert failed("beir", "b") == said(
        "RW-A03", "b/qrels/test.tsv:2: expected a query, a document and a grade with tabs between them, got q1 d2 1"
    )
    (folder / "qrels" / "test.tsv").write_text("query-id\tcorpus-id\tscore\n")
    assert failed("beir", "b") == said("RW-F04", "b/qrels/test.tsv: expected judgements, got none")
    (folder / "queries.jsonl").write_text('{"text": "x"}\n')
    (folder / "qrels" / "test.tsv").write_text("q1\td2\t1\n")
    assert failed("beir", "b") == said("RW-A03", "b/queries.jsonl:1: _id: expected an id, got none")
    (folder / "queries.jsonl").unlink()
    assert failed("beir", "b") == said("RW-F01", "b/queries.jsonl: expected a file, got nothing at this path")
    assert failed("beir", ".") == said("RW-A03", ".: expected judgements in qrels/*.tsv, got none")
    assert "expected a new file, got one that is read" in run_cli(
        "import", "beir", "b", "--gold-out", "b/gold.jsonl"
    ).err  # fmt: skip


@pytest.mark.data("data/ir_corpora/cranfield")
def test_cranfield_in_the_form_of_beir(lab: Path) -> None:
    origin = DATA / "ir_corpora" / "cranfield"
    documents = packed(origin / "corpus.jsonl.gz")
    queries = lines(origin / "queries.jsonl")
    judged = [line.split() for line in (origin / "qrels.txt").read_text().splitlines()]
    folder = beir(
        lab / "cranfield",
        **{
            "corpus.jsonl": "".join(
                json.dumps({"_id": one["id"], "title": one["title"], "text": one["text"]}) + "\n" for one in documents
            ),
            "queries.jsonl": "".join(json.dumps({"_id": one["qid"], "text": one["query"]}) + "\n" for one in queries),
            "qrels/test.tsv": "query-id\tcorpus-id\tscore\n"
            + "".join(f"{qid}\t{name}\t{grade}\n" for qid, _, name, grade in judged),
        },
    )
    found = rw.import_file("beir", folder)
    assert found.taken == len({line[0] for line in judged}) == len(found.gold)
    relevant = {item["qid"]: set(item["relevant"]) for item in found.gold}
    for qid, _, name, grade in judged:
        assert (name in relevant[qid]) == (int(grade) > 0)


def test_squad_answers_that_stand_elsewhere_and_nowhere_are_counted_each() -> None:
    said_twice = [{"text": "Charles III", "answer_start": 3}, {"text": "911", "answer_start": 0}]
    Path("s.json").write_text(json.dumps(article(answers=[{"text": "Paris", "answer_start": 3}, *said_twice])))
    found = rw.import_file("squad", "s.json")
    assert found.notes[:2] == [
        "2 answers are not where answer_start says",
        "1 answer is nowhere in the paragraph; where a question has no other, its evidence is the whole paragraph",
    ]
    assert found.gold[0]["gold_evidence"] == ["He swore fealty to Charles III in 911."]
    Path("s.json").write_text(json.dumps(article(answers=[{"text": "Paris", "answer_start": 3}])))
    assert rw.import_file("squad", "s.json").gold[0]["gold_evidence"] == [found.chunks[0]["text"]]


def test_beir_names_the_splits_that_are_not_read() -> None:
    Path("set/qrels").mkdir(parents=True)
    write_jsonl(Path("set/queries.jsonl"), [{"_id": "q", "text": "Who?"}])
    write_jsonl(Path("set/corpus.jsonl"), [{"_id": "d", "text": "He."}])
    for name in ("dev", "test", "train"):
        Path(f"set/qrels/{name}.tsv").write_text("query-id\tcorpus-id\tscore\nq\td\t1\n")
    told = "not read: the judgements of dev, train; --split dev reads them instead of test"
    assert told in rw.import_file("beir", "set").notes


def test_an_output_that_a_format_does_not_give_is_named() -> None:
    Path("s.json").write_text(json.dumps(article()))
    done = run_cli("import", "squad", "s.json", "--trace-out", "t.jsonl")
    message = "--trace-out: import squad gives --gold-out and --chunks-out, and no traces"
    assert (done.code, done.out, done.err) == (2, "", said("RW-U01", message))
