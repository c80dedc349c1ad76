"""Sound files, and the commands that read them. Kept cases edit these files: add scenarios, do not change them."""

import json
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from fuzz import material as m
from fuzz import recorded as r
from fuzz.edits import Files
from fuzz.material import lines
from fuzz.room import Room, run

Args = list[str]


class Scenario(NamedTuple):
    """Files, commands of which one (or one row) is run, flags that may be added, and the files worth damaging."""

    files: Files
    commands: list[list[Args]]
    targets: list[str]
    flags: Sequence[Args] = ()


_ROOM: list[Room] = []


def use(room: Room) -> None:
    """Where files are made that only commands can make."""
    _ROOM[:] = [room]


def _made(files: Files, *commands: str) -> Files:
    """The files, and what these commands leave beside them; times are set to a fixed one so that bytes repeat."""
    room = _ROOM[0]
    room.lay(files)
    for command in commands:
        ending = run(command.split())
        if ending.code not in (0, 1, 3, 4):
            raise RuntimeError(f"a scenario cannot be made: {command}: {ending}")
        for name in ("gold.lock", "out/journal.jsonl", "out/timings.jsonl"):
            if Path(name).is_file():
                text = Path(name).read_text(encoding="utf-8")
                text = re.sub(r'"(frozen_at|when|started)":( ?)"[^"]*"', r'"\1":\2"2026-01-02T03:04:05Z"', text)
                Path(name).write_text(re.sub(r'"e2e_ms":( ?)[0-9.e-]+', r'"e2e_ms":\g<1>1.5', text), encoding="utf-8")
    found: Files = dict(room.seen())
    room.clear()
    return found


def words(*commands: str) -> list[list[Args]]:
    """Command lines, each a case of its own; ` && ` joins several to one case."""
    return [[one.split() for one in command.split(" && ")] for command in commands]


def _flags(*given: str) -> list[Args]:
    return [one.split() for one in given]


OUTPUTS = _flags("-o report.json", "-o report.md", "-o report.xml -o report.txt", "--rows rows.jsonl",
                 "--rows rows.parquet", "--receipt receipt.json", "--format markdown", "--format junit",
                 "--format text", "-q")  # fmt: skip


def answers() -> Scenario:
    """Gold, traces and corpus of answers."""
    files: Files = {"gold.jsonl": lines(m.GOLD), "trace.jsonl": lines(m.TRACES), "chunks.jsonl": lines(m.CHUNKS)}
    base = "score answers --gold gold.jsonl --trace trace.jsonl --format json"
    flags = _flags("--slice topic", "--slice topic --slice qid", "--k 1,3", "--scu-enforced", "--allow-gold-errors",
                   "--short-substr word", "--evidence interval", "--scu-enforced --rule-pack wfgy-neg-4",
                   "--gates precision=0.5,recall=0.3", "--allow-gold-errors --slice topic", "--refusal nothing",
                   "--profile reference", *(" ".join(one) for one in OUTPUTS))  # fmt: skip
    commands = words(base, base, base, f"{base} --corpus chunks.jsonl", "gold lint gold.jsonl",
                     "doctor --gold gold.jsonl --trace trace.jsonl --corpus chunks.jsonl")  # fmt: skip
    return Scenario(files, commands, list(files), flags)


def retrieval() -> Scenario:
    """Gold, traces, live traces, redirects and chunks of retrieval."""
    files: Files = {
        "gold.jsonl": lines(m.RETRIEVAL_GOLD),
        "trace.jsonl": lines(m.RETRIEVAL_TRACES),
        "live.jsonl": lines(m.LIVE_TRACES),
        "chunks.jsonl": lines(m.RETRIEVAL_CHUNKS),
        "moves.json": lines([m.REDIRECTS]),
    }
    base = "score retrieval --gold gold.jsonl --trace trace.jsonl --format json"
    flags = _flags("--k 1,3", "--delta-s recorded", "--delta-s raw", "--anchor-scope subtree", "--slice topic",
                   "--gates recall@5=0.5", "--evidence interval", "--profile reference",
                   *(" ".join(one) for one in OUTPUTS))  # fmt: skip
    commands = words(base, f"{base} --live live.jsonl", f"{base} --corpus chunks.jsonl",
                     f"{base} --redirects moves.json", f"{base} --live live.jsonl --redirects moves.json",
                     "gold lint gold.jsonl", "gold lint gold.jsonl --corpus chunks.jsonl",
                     "gold rebind gold.jsonl --redirects moves.json -o bound.jsonl",
                     "export trec --gold gold.jsonl --trace trace.jsonl --qrels-out q.txt --run-out r.txt")  # fmt: skip
    return Scenario(files, commands, list(files), flags)


def trec() -> Scenario:
    """TREC judgements, runs and topics."""
    files: Files = {"qrels.txt": m.QRELS.encode(), "run.txt": m.TREC_RUN.encode(), "topics.jsonl": m.TOPICS.encode()}
    score = "score retrieval --qrels qrels.txt --run run.txt --gates recall@5=0.70 --format json"
    commands = words(score, f"{score} --k 1,5",
                     "import trec --qrels qrels.txt --run run.txt --topics topics.jsonl --gold-out g --trace-out t",
                     )  # fmt: skip
    return Scenario(files, commands, list(files), OUTPUTS)


def structured() -> Scenario:
    """Questions, outputs, definition, provenance and subset of structured answers."""
    array = b"[" + b",".join(lines(m.QUESTIONS).splitlines()) + b"]\n"
    files: Files = {
        "questions.jsonl": lines(m.QUESTIONS), "questions.json": array, "outputs.jsonl": lines(m.OUTPUTS),
        "made.json": lines([m.META]), "invoices.jsonl": lines(m.INVOICES), "definition.toml": m.DEFINITION.encode(),
        "paid.jsonl": lines([{"id": "I1", "raw": '{"amount": {"total": 119.0}, "due": "2026-03-01", "currency": "EUR"}',
                              "context": [], "meta": m.META}]),
    }  # fmt: skip
    files = _made(files, "gold subset questions.jsonl -o subset.json --size 2")
    out = "--outputs outputs.jsonl --format json"
    commands = words(
        f"score structured --questions questions.jsonl {out}", f"score structured --questions questions.json {out}",
        f"score structured --questions questions.jsonl --subset subset.json {out}",
        f"score structured --questions subset.json {out}",
        f"score structured --questions questions.jsonl --provenance made.json {out}",
        "score structured --questions invoices.jsonl --outputs paid.jsonl --definition definition.toml --format json",
        "gold subset questions.json -o out.json --size 2", "gold lint questions.json",
        "gold lint invoices.jsonl --definition definition.toml",
        "score structured --questions questions.jsonl --outputs outputs.jsonl --item Q1",
    )  # fmt: skip
    flags = _flags("--repair", "--slice level", "--profile reference", "--evidence interval",
                   *(" ".join(one) for one in OUTPUTS))  # fmt: skip
    return Scenario(files, commands, list(files), flags)


def stability() -> Scenario:
    """Runs over seeds and jitters."""
    files: Files = {"gold.jsonl": lines(m.SOUND_GOLD), "runs.jsonl": lines(m.RUNS)}
    flags = _flags("--limits acr=0.90,ned50=0.30", "--slice topic", "--profile reference", "--short-substr word",
                   *(" ".join(one) for one in OUTPUTS))  # fmt: skip
    base = "score stability --gold gold.jsonl --runs runs.jsonl --format json"
    return Scenario(files, words(base), list(files), flags)


def latency() -> Scenario:
    """Timed runs as JSON lines and as a table, and prices."""
    files: Files = {"gold.jsonl": lines(m.SOUND_GOLD), "runs.jsonl": lines(m.TIMED), "runs.csv": m.TABLE.encode(),
                    "prices.toml": m.PRICES.encode(), "chunks.jsonl": lines(m.SOUND_CHUNKS)}  # fmt: skip
    base = "score latency --gold gold.jsonl --format json"
    commands = words(f"{base} --runs runs.jsonl", f"{base} --runs runs.csv",
                     f"{base} --runs runs.jsonl --prices prices.toml",
                     f"{base} --runs runs.jsonl --prices prices.toml --corpus chunks.jsonl")  # fmt: skip
    flags = _flags("--use batch", "--frontier strict", "--batch-p95 90", "--configuration depth-0", "--slice topic",
                   "--profile reference", *(" ".join(one) for one in OUTPUTS))  # fmt: skip
    return Scenario(files, commands, list(files), flags)


def agreement() -> Scenario:
    """Votes in all five forms."""
    files: Files = {
        "pairs.jsonl": lines(m.PAIRS), "scholar.jsonl": lines(m.SCHOLAR), "auditor.jsonl": lines(m.AUDITOR),
        "raters.jsonl": lines(m.RATERS), "operators.jsonl": lines(m.OPERATORS), "gold.jsonl": lines(m.SOUND_GOLD),
        "audit.jsonl": lines(m.AUDITS), "trace.jsonl": lines(m.SOUND_TRACES), "chunks.jsonl": lines(m.SOUND_CHUNKS),
    }  # fmt: skip
    base = "score agreement --format json --tsv apart.tsv"
    commands = words(f"{base} --pairs pairs.jsonl", f"{base} --scholar scholar.jsonl --auditor auditor.jsonl",
                     f"{base} --raters raters.jsonl", f"{base} --operators operators.jsonl",
                     f"{base} --operators operators.jsonl --audit audit.jsonl --spot-check out.jsonl",
                     f"{base} --gold gold.jsonl --trace trace.jsonl --corpus chunks.jsonl --pairs-out out.jsonl",
                     )  # fmt: skip
    flags = _flags("--profile reference", "--evidence interval", *(" ".join(one) for one in OUTPUTS))
    return Scenario(files, commands, list(files), flags)


def _sound() -> Files:
    return {"gold.jsonl": lines(m.SOUND_GOLD), "trace.jsonl": lines(m.SOUND_TRACES),
            "chunks.jsonl": lines(m.SOUND_CHUNKS), "pack.toml": m.PACK.encode(), "gates.toml": m.GATES_TOML.encode(),
            "gates.json": lines([m.GATES_JSON])}  # fmt: skip


_FREEZE = "gold freeze gold.jsonl --signer Ada --reason first"
_SCORE = "score answers --gold gold.jsonl --trace trace.jsonl"


def rules() -> Scenario:
    """Lock, baseline, rule packs and gate files."""
    files = _made(_sound(), _FREEZE, f"{_SCORE} -o baseline.json")
    commands = words(
        f"{_SCORE} --format json --lock gold.lock --baseline baseline.json",
        f"{_SCORE} --format json --scu-enforced --rule-pack pack.toml --slice topic",
        f"{_SCORE} --format json --gates gates.toml --slice topic",
        f"{_SCORE} --format json --gates gates.json --slice topic",
        "gold verify gold.jsonl", "gold verify gold.jsonl --lock gold.lock --signer Ada",
        "history trend baseline.json baseline.json", "gold diff gold.jsonl gold.jsonl",
        "history trend baseline.json baseline.json --repeated --format json",
        f"{_FREEZE} --lock gold.lock",
    )  # fmt: skip
    return Scenario(files, commands, ["gold.lock", "baseline.json", "pack.toml", "gates.toml", "gates.json"], OUTPUTS)


def policy() -> Scenario:
    """A policy of the suite answers with everything that it can name."""
    files = _made(_sound(), _FREEZE, f"{_SCORE} -o baseline.json --corpus chunks.jsonl --scu-enforced "
                  "--rule-pack pack.toml --slice topic --k 5,1")  # fmt: skip
    table = re.sub(r"(?m)^(\[+)", r"\1tool.ragworthy.", m.POLICY)
    files |= {"ragworthy.toml": m.POLICY.encode(), "pyproject.toml": f"[tool.ragworthy]\n{table}".encode()}
    commands = words("gate --format json", "gate --format json -c pyproject.toml", "gate --format json", "doctor",
                     "gate --selftest", "gate --format json --baseline baseline.json")  # fmt: skip
    return Scenario(files, commands, ["ragworthy.toml", "pyproject.toml"] * 3 + ["gold.lock", "baseline.json"], OUTPUTS)


def suites() -> Scenario:
    """A policy with every suite."""
    files: Files = {
        "gold.jsonl": lines(m.SOUND_GOLD), "trace.jsonl": lines(m.SOUND_TRACES), "rgold.jsonl": lines(m.RETRIEVAL_GOLD),
        "rtrace.jsonl": lines(m.RETRIEVAL_TRACES), "rlive.jsonl": lines(m.LIVE_TRACES),
        "questions.jsonl": lines(m.QUESTIONS), "outputs.jsonl": lines(m.OUTPUTS), "runs.jsonl": lines(m.RUNS),
        "timed.jsonl": lines(m.TIMED), "prices.toml": m.PRICES.encode(), "pairs.jsonl": lines(m.PAIRS),
        "ragworthy.toml": m.MANY.encode(),
    }  # fmt: skip
    return Scenario(files, words("gate --format json", "doctor"), ["ragworthy.toml"] * 6 + list(files), OUTPUTS)


def receipts() -> Scenario:
    """Receipts of a command and of a policy, with everything that they rest on."""
    start = _sound() | {"ragworthy.toml": m.GUARD.encode()}
    files = _made(
        start, _FREEZE, f"{_SCORE} -o baseline.json",
        f"{_SCORE} --gates gates.toml --slice topic --scu-enforced --rule-pack pack.toml --baseline baseline.json "
        "--receipt scored.json", f"{_SCORE} -q --receipt plain.json", "gate -q --receipt gated.json",
    )  # fmt: skip
    files = {name: data for name, data in files.items() if not name.startswith(".ragworthy")}
    names = ["scored.json", "gated.json", "plain.json"]
    return Scenario(files, words(*(f"verify {name}" for name in names)), names)


def bundles() -> Scenario:
    """Bundles of a command and of a policy."""
    start = _sound() | {"ragworthy.toml": m.GUARD.encode()}
    files = _made(start, _FREEZE, f"{_SCORE} -q --bundle scored.zip", "gate -q --bundle gated.zip --receipt r.json")
    names = ["scored.zip", "gated.zip"]
    kept = {name: data for name, data in files.items() if name in (*names, "r.json")}
    commands = words(*(f"verify {name}" for name in names), "receipt diff r.json gated.zip")
    return Scenario(kept, commands, names)


def index() -> Scenario:
    """The folder of an index, and everything that opens one."""
    gold = {"gold.jsonl": lines(m.INDEX_GOLD), "asked.jsonl": lines(m.TUNE_GOLD), "trace.jsonl": lines(m.TRACES)}
    start: Files = {**gold, **{name: text.encode() for name, text in m.DOCS.items()}}
    files = _made(start, "index build --docs docs --out live --dense none",
                  "retrieve --index live --gold gold.jsonl -o rtrace.jsonl")  # fmt: skip
    commands = words(
        "index check live", "index search live bucket --format json", "index check live --gold gold.jsonl",
        "retrieve --index live --gold gold.jsonl -o out.jsonl",
        "score retrieval --gold gold.jsonl --trace rtrace.jsonl --corpus live --format json --delta-s recorded",
        "score answers --gold asked.jsonl --trace trace.jsonl --corpus live --format json",
        "index migrate live live -o moves.json", "run --target builtin:live --gold asked.jsonl --out out",
        "index build --docs docs --out new --dense none", "index build --docs docs --out live --dense none",
    )  # fmt: skip
    targets = [name for name in files if name.startswith("live/")] + ["live/manifest.json"] * 4
    return Scenario(files, commands, [*targets, *m.DOCS])


def vectors() -> Scenario:
    """The same with vectors; slow, because each command reads the model."""
    start: Files = {"gold.jsonl": lines(m.INDEX_GOLD), **{name: text.encode() for name, text in m.DOCS.items()}}
    files = _made(start, "index build --docs docs --out live")
    commands = words("index search live bucket --mode dense --format json", "index check live",
                     "index search live bucket --format json", "gold lint gold.jsonl --corpus live",
                     "index diff live live --gold gold.jsonl")  # fmt: skip
    return Scenario(files, commands, ["live/vectors.npy", "live/manifest.json"])


def journal() -> Scenario:
    """The journal of a run that was interrupted."""
    files = _made(_sound(), "run --target replay:trace.jsonl --gold gold.jsonl --out out --seed 1")
    data = files["out/journal.jsonl"]
    assert isinstance(data, bytes)
    files["out/journal.jsonl"] = b"".join(data.splitlines(keepends=True)[:5])
    for name in ("out/run.json", "out/traces.jsonl", "out/timings.jsonl"):
        files.pop(name, None)
    again = "run --target replay:trace.jsonl --gold gold.jsonl --out out --seed 1 --resume"
    return Scenario(files, words(again), ["out/journal.jsonl"] * 4 + ["trace.jsonl", "gold.jsonl"])


def replies() -> Scenario:
    """What a callable and an address reply: one line of replies.jsonl for each question, by `fuzz.target`."""
    rows = [{"answer_json": one["answer_json"], "retrieved_ids": one["retrieved_ids"], "qid": one["qid"],
             "topk": [{"id": "p1#1", "score": 0.5}], "stage_ms": {"llm": 5}, "usage": {"total_tokens": 7}}
            for one in m.SOUND_TRACES]  # fmt: skip
    files: Files = {"gold.jsonl": lines(m.SOUND_GOLD), "replies.jsonl": lines(rows)}
    common = "--gold gold.jsonl --out out --timeout 2 --retries 0 --concurrency 2"
    after = "score answers --gold gold.jsonl --trace out/traces.jsonl --format json"
    commands = words(f"run --target fuzz.target:answer {common} && {after}",
                     f"run --target http://127.0.0.1:{{PORT}}/ask {common} && {after}",
                     f"run --target replay:replies.jsonl {common}")  # fmt: skip
    return Scenario(files, commands, ["replies.jsonl"])


def knobs() -> Scenario:
    """Knobs, and the file that a tuning leaves."""
    start: Files = {"gold.jsonl": lines(m.TUNE_GOLD), "knobs.toml": m.KNOBS.encode(), "grid.toml": m.GRID.encode(),
                    **{name: text.encode() for name, text in m.DOCS.items()}}  # fmt: skip
    files = _made(start, "index build --docs docs --out live --dense none",
                  "experiment tune --index live --gold gold.jsonl --out tuned --share 0.5")  # fmt: skip
    commands = words(
        "run --target builtin:live --gold gold.jsonl --out out --knobs knobs.toml --limit 2",
        "run --target builtin:live --gold gold.jsonl --out out --pipeline tuned/pipeline.toml --limit 2",
        "experiment latency --target builtin:live --gold gold.jsonl --out out --knobs grid.toml --loads 500 --limit 1 "
        "--warmup 0",
    )  # fmt: skip
    return Scenario(files, commands, ["knobs.toml", "tuned/pipeline.toml", "grid.toml"])


def _garbage(which: str) -> Callable[[], Scenario]:
    def scenario() -> Scenario:
        honest: Files = _sound() | {"ragworthy.toml": m.GUARD.encode()}
        files = _made(honest, _FREEZE, f"{_SCORE} -o baseline.json") | {"trace.jsonl": lines(m.GARBAGE[which])}
        files = _made(files, f"{_SCORE} -q --receipt plain.json --gates precision=0.8,containment=0.75",
                      "gate -q --receipt gated.json")  # fmt: skip
        files = {name: data for name, data in files.items() if not name.startswith(".ragworthy")}
        both = "--gates precision=0.8,containment=0.75"
        commands = words("gate --format json", "gate --format json --baseline baseline.json",
                         f"{_SCORE} --format json {both} --lock gold.lock --baseline baseline.json",
                         f"{_SCORE} --format json --gates gates.toml --slice topic",
                         f"{_SCORE} --format json --gates gates.json --slice topic",
                         "verify plain.json", "verify gated.json")  # fmt: skip
        targets = ["ragworthy.toml", "ragworthy.toml", "gates.toml", "gates.json", "gold.lock", "baseline.json",
                   "plain.json", "gated.json"]  # fmt: skip
        return Scenario(files, commands, targets, _flags("--unfrozen", "--allow-gold-errors"))

    return scenario


def garbage_suites() -> Scenario:
    """Garbage for the suites besides answers, under one policy."""
    empty = [one | {"topk": [], "answer_citations": [], "ΔS": []} for one in m.RETRIEVAL_TRACES]
    timed = [one | {"answer_json": {"claim": "garbage", "citations": []}} for one in m.TIMED]
    files: Files = {
        "gold.jsonl": lines(m.SOUND_GOLD), "timed.jsonl": lines(timed), "rgold.jsonl": lines(m.RETRIEVAL_GOLD),
        "rtrace.jsonl": lines(empty), "questions.jsonl": lines(m.QUESTIONS),
        "outputs.jsonl": lines([one | {"raw": "garbage"} for one in m.OUTPUTS]),
    }  # fmt: skip
    sections = {
        "retrieval": '[retrieval]\ngold = "rgold.jsonl"\ntraces = "rtrace.jsonl"\ndelta_s = "recorded"\n'
        '[[gate]]\nmetric = "retrieval.recall@5"\nmin = 0.5\n[[gate]]\nmetric = "retrieval.coverage"\nmin = 0.7\n',
        "structured": '[structured]\nquestions = "questions.jsonl"\noutputs = "outputs.jsonl"\n'
        '[[gate]]\nmetric = "structured.score"\nmin = 90\n'
        '[[gate]]\nmetric = "structured.schema_pass_rate"\nmin = 0.9\n',
        "latency": '[latency]\ngold = "gold.jsonl"\nruns = "timed.jsonl"\n'
        '[[gate]]\nmetric = "answers.precision"\nsuite = "latency"\nmin = 0.8\n',
    }
    files |= {f"{name}.toml": f"version = 1\n\n{text}".encode() for name, text in sections.items()}
    commands = words(*(f"gate --format json -c {name}.toml" for name in sections))
    return Scenario(files, commands, [f"{name}.toml" for name in sections])


def imports() -> Scenario:
    """Files of other tools."""
    files: Files = {
        "sheet.csv": m.SHEET.encode(), "map.toml": b'question = "Question"\nanswer = "Expected answer"\n',
        "log.jsonl": lines(m.LOG), "records.json": b'{"data": [' + b",".join(lines(m.LOG).splitlines()) + b"]}",
        "ragas.jsonl": lines(m.RAGAS), "ragas.csv": m.RAGAS_CSV.encode(),
        "deepeval.json": b"[" + lines(m.GOLDENS).strip() + b"]\n",
        "promptfoo.json": lines([m.RESULTS]), "squad.json": lines([m.SQUAD]),
        "beir/corpus.jsonl": lines([{"_id": "d1", "title": "T", "text": "one"}, {"_id": "d2", "text": "two"}]),
        "beir/queries.jsonl": lines([{"_id": "q1", "text": "first?"}, {"_id": "q2", "text": "second?"}]),
        "beir/qrels/test.tsv": b"query-id\tcorpus-id\tscore\nq1\td1\t1\nq1\td2\t0\nq2\td2\t2\n",
    }  # fmt: skip
    out = "--gold-out g.jsonl"
    commands = words(
        f"import csv sheet.csv {out}", f"import csv sheet.csv --map map.toml --split-on ; {out}",
        "import jsonl log.jsonl --trace-out t.jsonl", "import jsonl records.json --records data --trace-out t.jsonl",
        f"import ragas ragas.jsonl {out} --trace-out t.jsonl --chunks-out c.jsonl", f"import ragas ragas.csv {out}",
        f"import deepeval deepeval.json {out}", f"import promptfoo promptfoo.json {out} --trace-out t.jsonl",
        f"import squad squad.json {out} --chunks-out c.jsonl", f"import beir beir {out} --chunks-out c.jsonl",
    )  # fmt: skip
    return Scenario(files, commands, list(files))


def recordings() -> Scenario:
    """Traces that other tools recorded."""
    files: Files = {
        "otlp.jsonl": lines(r.OTLP), "sdk.json": json.dumps(r.SDK, indent=1).encode(), "runs.jsonl": lines(r.RUNS),
        "langfuse.jsonl": lines(r.LANGFUSE), "mlflow.jsonl": lines(r.MLFLOW), "phoenix.jsonl": lines(r.PHOENIX),
        "gold.jsonl": lines(m.GOLD),
    }  # fmt: skip
    out = "--trace-out t.jsonl"
    commands = words(
        f"import otel otlp.jsonl --gold gold.jsonl {out} --chunks-out c.jsonl",
        f"import otel sdk.json otlp.jsonl {out}",
        f"import otel otlp.jsonl --doc-id content --marker none --skip-damaged {out}",
        f"import langsmith runs.jsonl {out}", f"import langfuse langfuse.jsonl {out} --gold-out g.jsonl",
        f"import mlflow mlflow.jsonl {out} --answer root", f"import phoenix phoenix.jsonl {out}",
    )  # fmt: skip
    return Scenario(files, commands, list(files))


SCENARIOS: dict[str, Callable[[], Scenario]] = {
    "answers": answers, "retrieval": retrieval, "trec": trec, "structured": structured, "stability": stability,
    "latency": latency, "agreement": agreement, "rules": rules, "policy": policy, "suites": suites,
    "receipts": receipts, "bundles": bundles, "index": index, "vectors": vectors,
    "journal": journal, "replies": replies, "knobs": knobs,
    "garbage-claims": _garbage("claims"), "garbage-errors": _garbage("errors"), "garbage-nothing": _garbage("nothing"),
    "garbage-suites": garbage_suites, "imports": imports, "recordings": recordings,
}  # fmt: skip


@cache
def scenario(name: str) -> Scenario:
    """A scenario by name; its files are made once."""
    return SCENARIOS[name]()
