"""The same sets for every suite, to be read in every way: by one process, by several, in parts that are merged, on a
cluster. A report must have the same bytes from all of them.

`SQUAD` holds sets of real questions and answers: SQuAD 2.0, and what three published systems said. `MADE` holds made
ones with all that files may hold besides: repeated and missing records, records of no question, errors, warm-ups.
Each function writes its files into a folder and gives the words that follow `ragworthy score`.
"""

import gzip
import json
import random
from collections.abc import Callable, Iterator
from functools import cache
from pathlib import Path
from typing import Any

import cases as c
from conftest import Row, write_jsonl
from places import DATA

RUNS = {
    "answers": "--trace",
    "retrieval": "--trace",
    "structured": "--outputs",
    "stability": "--runs",
    "latency": "--runs",
    "agreement": "--trace",
}
"""The flag for what is scored, by suite: the file that is read in parts."""
SYSTEMS = ("bert_single", "bidaf_selfattn_elmo", "nlnet_single")
"""Three systems of different strength."""
BROKEN_LINES = (5, 21, 31)
"""The lines that `broken` breaks."""
STRANGE_LINES = (9, 200)
"""The lines that `strange` changes."""

Writer = Callable[[Path], list[str]]


def path_of(words: list[str], flag: str) -> Path:
    """The file that a flag names."""
    return Path(words[words.index(flag) + 1])


def runs_of(words: list[str]) -> Path:
    """The file with what is scored."""
    return path_of(words, RUNS[words[0]])


def broken(words: list[str]) -> list[str]:
    """The same command, once three lines of what is scored are broken: cut off, of another type, no object."""
    path = runs_of(words)
    lines = path.read_text(encoding="utf-8").splitlines()
    for number, text in zip(BROKEN_LINES, ('{"qid": "q1", ', '{"qid": 5, "id": 5}', "[]"), strict=True):
        lines[number - 1] = text
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return words


def strange(words: list[str]) -> list[str]:
    """The same command, once two of the runs are of a question that the gold set does not have."""
    path = runs_of(words)
    lines = path.read_text(encoding="utf-8").splitlines()
    for number in STRANGE_LINES:
        lines[number - 1] = json.dumps(json.loads(lines[number - 1]) | {"qid": "zz", "warmup": False})
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return words


def _written(folder: Path, suite: str, gold: list[Row], runs: list[Row], *more: str) -> list[str]:
    """Both files of a suite, and its command."""
    asked = "--questions" if suite == "structured" else "--gold"
    gold_file, runs_file = folder / "gold.jsonl", folder / "runs.jsonl"
    write_jsonl(gold_file, gold)
    write_jsonl(runs_file, runs)
    return [suite, asked, str(gold_file), RUNS[suite], str(runs_file), *more]


# SQuAD 2.0


@cache
def _squad(name: str) -> list[Row]:
    data = gzip.decompress((DATA / "squad2" / "dev" / f"{name}.jsonl.gz").read_bytes())
    return [json.loads(line) for line in data.splitlines()]


def _asked(every: int) -> list[Row]:
    """Every so manieth question."""
    return _squad("gold")[::every]


def _said(system: str, every: int) -> list[Row]:
    """What a system said to these questions."""
    traces = {row["qid"]: row for row in _squad(f"trace_{system}")}
    return [traces[row["qid"]] for row in _asked(every)]


def _nth(rows: list[Row]) -> Iterator[tuple[int, Row]]:
    """Rows with their numbers; some have an error instead of an answer, some are not there."""
    for nth, row in enumerate(rows):
        if nth % 47 == 5:
            yield nth, {"qid": row["qid"], "error": "timeout"}
        elif nth % 53:
            yield nth, row


def squad_answers(folder: Path) -> list[str]:
    """All questions."""
    traces = [row for _, row in _nth(_said(SYSTEMS[0], 1))]
    return _written(folder, "answers", _asked(1), traces)


def squad_stability(folder: Path) -> list[str]:
    """Three systems as three runs of one pipeline: their answers differ as those of real pipelines do."""
    runs = [row | {"seed": seed} for seed, name in enumerate(SYSTEMS) for _, row in _nth(_said(name, 17))]
    return _written(folder, "stability", _asked(17), runs)


def squad_latency(folder: Path) -> list[str]:
    """Three systems as three configurations; a longer answer took longer."""
    runs = [
        row
        | {
            "run_id": f"{name}/{nth}",
            "config_id": name,
            "load_rps": 5,
            "e2e_ms": 200 + 300 * at + nth % 97 + len(json.dumps(row)) / 8,
            "stage_ms": {"retrieve": 20 + nth % 7, "llm": 100.5 + nth % 89},
        }
        for at, name in enumerate(SYSTEMS)
        for nth, row in _nth(_said(name, 23))
    ]
    return _written(folder, "latency", _asked(23), runs)


def squad_retrieval(folder: Path) -> list[str]:
    """The paragraph of each question among others of its article, at a place that follows from the number of the
    question, in two wordings; some are not found.
    """
    asked = [row for row in _asked(11) if row["answerable"]]
    gold = [
        {
            "qid": row["qid"],
            "paraphrases": [row["question"], row["question"].lower()],
            "relevant": row["gold_citations"],
            "anchor_section": row["gold_citations"][0].partition("#")[0],
        }
        for row in asked
    ]
    traces = []
    citations = {row["qid"]: row["gold_citations"][0] for row in asked}
    for nth, row in _nth(asked):
        article, _, place = citations[row["qid"]].partition("#")
        for wording in (0, 1):
            if "error" in row:
                traces.append(row | {"paraphrase": wording})
                continue
            first = int(place) - (nth + wording) % 6
            found = [f"{article}#{first + step}" for step in range(8) if first + step >= 0 and (nth % 5 or step)]
            topk = [{"id": name, "score": 0.9 - at / 10} for at, name in enumerate(found)]
            cited = [{"id": name} for name in found[: 1 + nth % 2]]
            traces.append({"qid": row["qid"], "paraphrase": wording, "topk": topk, "answer_citations": cited})
    return _written(folder, "retrieval", gold, traces)


SQUAD_DEFINITION = """version = 1
id = "squad"
expected = ""

[[field]]
name = "answer"
kind = "label"
weight = 0.75

[[field]]
name = "paragraph"
kind = "label"
weight = 0.25
"""


def squad_structured(folder: Path) -> list[str]:
    """The answer and its paragraph as an object of two fields; some are fenced, some no JSON at all."""
    gold = [
        {
            "id": row["qid"],
            "question": row["question"],
            "expected": {"answer": row["gold_claim_substr"][0], "paragraph": row["gold_citations"][0]},
        }
        for row in _asked(9)
        if row["answerable"]
    ]
    there = {row["id"] for row in gold}
    outputs = []
    for nth, row in _nth([row for row in _said(SYSTEMS[1], 9) if row["qid"] in there]):
        answer = row.get("answer_json", {"claim": "", "citations": []})
        cited = (answer["citations"] or ["none"])[0]
        text = json.dumps({"answer": answer["claim"], "paragraph": cited})
        raw = f"```json\n{text}\n```" if nth % 11 == 3 else text[: -(nth % 13 == 4) or None]
        failed = {"error": row["error"]} if "error" in row else {"raw": raw}
        outputs.append({"id": row["qid"], "meta": c.MADE, **failed})
    (folder / "definition.toml").write_text(SQUAD_DEFINITION)
    more = ("--definition", str(folder / "definition.toml"))
    return _written(folder, "structured", gold, outputs, *more)


def squad_agreement(folder: Path) -> list[str]:
    """The built-in validators vote on what one system said."""
    return _written(folder, "agreement", _asked(9), [row for _, row in _nth(_said(SYSTEMS[2], 9))])


# made


SIZE = 60
"""So many questions a made set has."""
LEFT_OUT = ("q3", "q17")
"""Questions that nothing was recorded for."""


def _gold() -> list[Row]:
    """Questions of which some cannot be answered, and one has no evidence."""
    gold = c.answers_gold(SIZE, 3)
    for row in gold[6::7]:
        row |= {"answerable": False, "gold_claim_substr": [], "gold_citations": [], "constraints": []}
    gold[10] |= {"gold_citations": []}
    return gold


def _traces() -> list[Row]:
    """Right answers to these, which keep what is locked, and refusals where there is none."""
    traces = c.answers_traces(SIZE)
    for row in traces:
        row["answer_json"]["constraints_echo"] = [f"Say answer {row['qid']}."]
    for row in traces[6::7]:
        row["answer_json"] = {"claim": c.REFUSAL, "citations": []}
    return traces


def _again(rows: list[Row], qid: str, rnd: random.Random) -> list[Row]:
    """The rows with some repeated with other contents, and some of questions that the gold set does not have, in
    another order than the gold set.
    """
    rows = [row for row in rows if row[qid] not in LEFT_OUT]
    changed = [json.loads(json.dumps(row).replace("q1", "q2")) | {qid: row[qid]} for row in rows]
    strange = [row | {qid: f"zz{nth % 2}"} for nth, row in enumerate(rnd.sample(rows, 5))]
    rows = [*rows, *rnd.sample(changed, 9), *strange]
    rnd.shuffle(rows)
    return rows


def _wrong(row: Row, rnd: random.Random) -> Row:
    """A trace as it is, or with another claim, another citation, no answer, an error or a refusal."""
    kind, answer = rnd.randrange(12), row["answer_json"]
    if kind == 0:
        return row | {"answer_json": {"claim": c.REFUSAL, "citations": []}}
    if kind == 1:
        return {**{key: value for key, value in row.items() if key != "answer_json"}, "error": {"code": "timeout"}}
    if kind == 2:
        return row | {"answer_json": answer | {"claim": f"That is none of q{rnd.randrange(9)}, I think."}}
    if kind == 3:
        return row | {"answer_json": answer | {"citations": ["z#1", f"d#q{rnd.randrange(9)}"]}}
    if kind == 4:
        return row | {"retrieved_ids": ["z#1", "z#2"]}
    if kind == 5:
        return row | {"answer_json": answer | {"claim": f"{answer['claim']} Surely."}}
    if kind == 6:
        return row | {"answer_json": answer | {"constraints_echo": rnd.choice(([], ["Say so.", "Say it."]))}}
    return row


def made_answers(folder: Path) -> list[str]:
    rnd = random.Random("answers")
    traces = [_wrong(row, rnd) for row in _traces()]
    return _written(folder, "answers", _gold(), _again(traces, "qid", rnd), "--slice", "topic", "--scu-enforced")


def made_retrieval(folder: Path) -> list[str]:
    rnd = random.Random("retrieval")
    traces = []
    for row in c.retrieval_traces(SIZE):
        for wording in range(3):
            topk = rnd.sample([{"id": f"S.1.p.q{nth}", "offsets": [nth, nth + 1]} for nth in range(9)], 4)
            more = {"paraphrase": wording, "seed": wording % 2}
            traces.append(row | more | {"topk": [*topk, *row["topk"]][rnd.randrange(6) :]})
    gold = c.retrieval_gold(SIZE, 3)
    return _written(folder, "retrieval", gold, _again(traces, "qid", rnd), "--slice", "topic", "--k", "1,3")


def made_structured(folder: Path) -> list[str]:
    rnd = random.Random("structured")
    outputs = c.outputs(SIZE)
    for row in rnd.sample(outputs, 12):
        row["raw"] = rnd.choice(['{"total": 1}', '{"total": "1"}', "{", "```json\n{}\n```"])
    for row in outputs[5:8]:
        del row["raw"]
        row["error"] = "timeout"
    (folder / "definition.toml").write_text(c.DEFINITION)
    more = ("--definition", str(folder / "definition.toml"), "--slice", "topic")
    return _written(folder, "structured", c.questions(SIZE, 3), _again(outputs, "id", rnd), *more)


def _asked_again(rows: list[Row], rnd: random.Random) -> list[Row]:
    """The runs of an experiment, in another order: some are warm-ups, and some have the id of an earlier run. (Runs of
    other questions are an error.)
    """
    rows = [row for row in rows if row["qid"] not in LEFT_OUT]
    rows += [row | {"warmup": True} for row in rnd.sample(rows, 7)]
    for nth, row in enumerate(rnd.sample(rows, 9)):
        rows += [row | {"run_id": f"again{nth % 4}", "ts": nth % 3}] * (1 + nth % 2)
    rnd.shuffle(rows)
    return rows


def made_stability(folder: Path) -> list[str]:
    """Seeds, jitters, wordings and configurations; some jitters left the question as it was."""
    rnd = random.Random("stability")
    rows = []
    for trace in _traces():
        for nth in range(rnd.randrange(1, 7)):
            jitter = rnd.choice((None, "none", "ws", "syn"))
            how: Row = {"seed": nth % 3 % 2, "jitter": jitter, "paraphrase": nth % 2 or None}
            how |= {"knobs": {"k": 5}} if nth == 4 else {"config_id": "b"} if nth == 5 else {}
            text = f"What  about {trace['qid']}?" if jitter == "syn" else f"What about {trace['qid']}?"
            said = _wrong(trace, rnd) if nth < 3 else trace
            rows.append(said | how | {"q": text, "noop": jitter == "ws"})
    more = ("--slice", "topic", "--scu-enforced", "--limits", "acr=0.8,css=0.5,ned50=0.1")
    return _written(folder, "stability", _gold(), _asked_again(rows, rnd), *more)


PRICES = '[[price]]\nmodel = "m"\nper_1k = 0.5\n\n[[price]]\nstage = "llm"\ninput_per_1k = 0.1\noutput_per_1k = 0.3\n'


def made_latency(folder: Path) -> list[str]:
    """Configurations and loads, with token counts and the times of stages; times repeat, and some are 0."""
    rnd = random.Random("latency")
    rows: list[Row] = []
    for trace in _traces():
        for nth in range(rnd.randrange(4, 7)):
            usage: Any = rnd.choice(({"prompt_tokens": 100 + nth, "completion_tokens": 7}, {"total_tokens": 90}))
            how: Row = {"knobs": {"k": nth % 2, "model": "m"}, "load_rps": 1 + nth // 2 % 2, "seed": nth // 4}
            how |= {"usage": usage} if nth != 3 or rnd.randrange(9) else {}
            how |= {"e2e_ms": rnd.choice((0, 120.25, 99.1, rnd.randrange(50, 4000) / 8)), "ts": 1000 + len(rows) / 2}
            how |= {"q": f"What about {trace['qid']}?", "stage_ms": {"retrieve": nth, "guard": rnd.randrange(40) / 4}}
            rows.append((_wrong(trace, rnd) if nth < 3 else trace) | how)
    (folder / "prices.toml").write_text(PRICES)
    chunks = [{"chunk_id": f"d#q{nth}", "text": f"It is answer q{nth}.", "tokens": 4 + nth} for nth in range(SIZE + 1)]
    write_jsonl(folder / "chunks.jsonl", [*chunks, *({"chunk_id": f"z#{nth}", "text": "No."} for nth in (1, 2))])
    more = ("--slice", "topic", "--prices", str(folder / "prices.toml"), "--corpus", str(folder / "chunks.jsonl"))
    return _written(folder, "latency", _gold(), _asked_again(rows, rnd), *more)


def made_agreement(folder: Path) -> list[str]:
    rnd = random.Random("agreement")
    traces = [_wrong(row, rnd) for row in _traces()]
    return _written(folder, "agreement", _gold(), _again(traces, "qid", rnd), "--slice", "topic")


SQUAD: dict[str, Writer] = {
    "answers": squad_answers,
    "retrieval": squad_retrieval,
    "structured": squad_structured,
    "stability": squad_stability,
    "latency": squad_latency,
    "agreement": squad_agreement,
}
MADE: dict[str, Writer] = {
    "answers": made_answers,
    "retrieval": made_retrieval,
    "structured": made_structured,
    "stability": made_stability,
    "latency": made_latency,
    "agreement": made_agreement,
}
