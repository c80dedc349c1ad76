"""Tiny valid inputs of every suite, and the three ways to have them scored: by command, by policy, in Python."""

import hashlib
import json
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import ragworthy as rw
from conftest import Row, run_cli, write_jsonl
from structured_case import both

COMMAND, POLICY, PYTHON = "command", "policy", "python"
WAYS = (COMMAND, POLICY, PYTHON)
FLAGS = {
    "traces": "--trace",
    "slices": "--slice",
    "fixes": "--fix",
    "refusals": "--refusal",
    "rule_packs": "--rule-pack",
    "scu": "--scu-enforced",
    "refusal_packs": "--refusal-pack",
    "refusal_starts": "--refusal-start",
    "refusal_patterns": "--refusal-pattern",
}
"""Flags that are not named like the key of the policy."""
REFUSAL = "not in context"


class Case(NamedTuple):
    """Files that one form of a suite is scored from, all in one folder."""

    name: str
    suite: str
    files: dict[str, Any]
    """Names of files by the keys that a policy has for them."""
    metric: str
    """A metric that every one of these questions is a case of, as gates name it."""
    gold: str | None = None
    """The key of the gold set, where there is one."""

    least: float = 0.5
    """A value that the metric has here and could fail."""

    @property
    def runs(self) -> str:
        """The key of what is scored against the gold set."""
        return next(key for key in self.files if key != self.gold)

    @property
    def qid(self) -> str:
        """What a question's id is called."""
        return "id" if self.suite == "structured" else "qid"


# records


def topic(nth: int, topics: int) -> str:
    return f"t{nth % topics}"


def qids(size: int) -> list[str]:
    return [f"q{nth}" for nth in range(1, size + 1)]


def answers_gold(size: int, topics: int) -> list[Row]:
    """Questions on some topics; the last one cannot be answered."""
    rows: list[Row] = [
        {
            "qid": qid,
            "question": f"What about {qid}?",
            "answerable": True,
            "gold_claim_substr": [f"answer {qid}"],
            "gold_citations": [f"d#{qid}"],
            "constraints": [f"Say answer {qid}."],
            "topic": topic(nth, topics),
        }
        for nth, qid in enumerate(qids(size))
    ]
    rows[-1] |= {"answerable": False, "gold_claim_substr": [], "gold_citations": [], "constraints": []}
    return rows


def trace(qid: str, **more: Any) -> Row:
    """A right answer."""
    answer = {"claim": f"It is answer {qid}.", "citations": [f"d#{qid}"]}
    return {"qid": qid, "retrieved_ids": [f"d#{qid}", "z#1"], "answer_json": answer} | more


def answers_traces(size: int, **more: Any) -> list[Row]:
    *known, last = qids(size)
    refused = trace(last, answer_json={"claim": REFUSAL, "citations": []})
    return [row | more for row in (*(trace(qid) for qid in known), refused)]


def runs(size: int) -> list[Row]:
    """Two runs of each question, timed."""
    twice = [answers_traces(size, seed=seed, e2e_ms=100 + seed, load_rps=5) for seed in (0, 1)]
    return [one for pair in zip(*twice, strict=True) for one in pair]


def retrieval_gold(size: int, topics: int) -> list[Row]:
    return [
        {
            "qid": qid,
            "paraphrases": [f"What about {qid}?", f"And {qid}?", f"Tell {qid}"],
            "relevant": [f"S.1.p.{qid}"],
            "relevant_offsets": {f"S.1.p.{qid}": [nth, nth + 1]},
            "anchor_section": "S.1",
            "topic": topic(nth, topics),
        }
        for nth, qid in enumerate(qids(size))
    ]


def retrieval_traces(size: int) -> list[Row]:
    found = [{"id": f"S.1.p.{qid}", "offsets": [nth, nth + 1]} for nth, qid in enumerate(qids(size))]
    other = {"id": "S.2.p.z", "offsets": [size, size + 1]}
    return [
        {"qid": qid, "topk": [one, other], "answer_citations": [one]}
        for qid, one in zip(qids(size), found, strict=True)
    ]


DEFINITION = """version = 1
id = "invoice"
expected = ""

[[field]]
name = "total"
kind = "number"
weight = 1
"""
PROMPT = "---\nversion: 3\n---\nAnswer in JSON.\n"
MADE = {
    "prompt_sha256": hashlib.sha256(PROMPT.encode()).hexdigest(),
    "prompt_version": "3",
    "index_version": "i7",
    "model_id": "m",
    "adapter_id": "none",
}


def questions(size: int, topics: int) -> list[Row]:
    return [
        {"id": qid, "question": f"What about {qid}?", "expected": {"total": nth}, "topic": topic(nth, topics)}
        for nth, qid in enumerate(qids(size))
    ]


def outputs(size: int) -> list[Row]:
    return [{"id": qid, "raw": json.dumps({"total": nth}), "meta": MADE} for nth, qid in enumerate(qids(size))]


def votes(size: int, last: str) -> list[Row]:
    """The votes of one validator: VALID on all but the last answer."""
    *others, odd = qids(size)
    return [*({"qid": qid, "label": "VALID"} for qid in others), {"qid": odd, "label": last}]


def pair_votes(size: int) -> list[Row]:
    """What two validators say; they do not agree on the last answer."""
    return [
        {"qid": one["qid"], "scholar": {"label": one["label"]}, "auditor": {"label": two["label"]}}
        for one, two in zip(votes(size, "VALID"), votes(size, "REJECT"), strict=True)
    ]


def ratings(size: int) -> list[Row]:
    return [{"qid": qid, "rater": rater, "label": "good"} for qid in qids(size) for rater in ("ada", "bob")]


def marks(size: int) -> list[Row]:
    return [
        {"qid": qid, "operator": name, "correct": True, "expected_snippet": qid, "candidate_snippet": f"It is {qid}.",
         "ΔS": 0.3, "cost_usd": 0.02, "fix": "rerank"}
        for qid in qids(size)
        for name in ("ada", "bob", "cyd")
    ]  # fmt: skip


# files


def answers(folder: Path, size: int = 3, topics: int = 2) -> Case:
    write_jsonl(folder / "gold.jsonl", answers_gold(size, topics))
    write_jsonl(folder / "traces.jsonl", answers_traces(size))
    return Case("answers", "answers", {"gold": "gold.jsonl", "traces": "traces.jsonl"}, "answers.recall@5", "gold")


def retrieval(folder: Path, size: int = 3, topics: int = 2) -> Case:
    write_jsonl(folder / "gold.jsonl", retrieval_gold(size, topics))
    write_jsonl(folder / "traces.jsonl", retrieval_traces(size))
    files = {"gold": "gold.jsonl", "traces": "traces.jsonl"}
    return Case("retrieval", "retrieval", files, "retrieval.recall@5", "gold")


def trec(folder: Path, size: int = 3, topics: int = 2) -> Case:
    """Judgements and a run; such files have no fields, so the number of topics is of no use."""
    del topics
    (folder / "qrels.txt").write_text("".join(f"{qid} 0 S.1.p.{qid} 1\n" for qid in qids(size)))
    (folder / "run.txt").write_text("".join(f"{qid} Q0 S.1.p.{qid} 1 0.5 tag\n" for qid in qids(size)))
    return Case("trec", "retrieval", {"qrels": "qrels.txt", "run": "run.txt"}, "retrieval.recall@5", "qrels")


def structured(folder: Path, size: int = 3, topics: int = 2) -> Case:
    (folder / "definition.toml").write_text(DEFINITION)
    write_jsonl(folder / "questions.jsonl", questions(size, topics))
    write_jsonl(folder / "outputs.jsonl", outputs(size))
    files = {"questions": "questions.jsonl", "outputs": "outputs.jsonl", "definition": "definition.toml"}
    return Case("structured", "structured", files, "structured.score", "questions", least=50)


def bundled(folder: Path, size: int = 3) -> Case:
    """Structured answers of the bundled definition, the only one of the reference profile."""
    asked, written = both(size)
    write_jsonl(folder / "questions.jsonl", asked)
    write_jsonl(folder / "outputs.jsonl", written)
    files = {"questions": "questions.jsonl", "outputs": "outputs.jsonl"}
    return Case("bundled", "structured", files, "structured.score", "questions", least=50)


def stability(folder: Path, size: int = 3, topics: int = 2) -> Case:
    write_jsonl(folder / "gold.jsonl", answers_gold(size, topics))
    write_jsonl(folder / "runs.jsonl", runs(size))
    return Case("stability", "stability", {"gold": "gold.jsonl", "runs": "runs.jsonl"}, "stability.acr", "gold")


def latency(folder: Path, size: int = 3, topics: int = 2) -> Case:
    write_jsonl(folder / "gold.jsonl", answers_gold(size, topics))
    write_jsonl(folder / "runs.jsonl", runs(size))
    return Case("latency", "latency", {"gold": "gold.jsonl", "runs": "runs.jsonl"}, "answers.precision", "gold")


def agreement(folder: Path, size: int = 3, topics: int = 2) -> Case:
    """The form with a gold set and traces, on which the built-in validators vote."""
    write_jsonl(folder / "gold.jsonl", answers_gold(size, topics))
    write_jsonl(folder / "traces.jsonl", answers_traces(size))
    files = {"gold": "gold.jsonl", "traces": "traces.jsonl"}
    return Case("agreement", "agreement", files, "agreement.percent", "gold")


def pairs(folder: Path, size: int = 3) -> Case:
    write_jsonl(folder / "pairs.jsonl", pair_votes(size))
    return Case("pairs", "agreement", {"pairs": "pairs.jsonl"}, "agreement.percent")


def two_files(folder: Path, size: int = 3) -> Case:
    write_jsonl(folder / "scholar.jsonl", votes(size, "VALID"))
    write_jsonl(folder / "auditor.jsonl", votes(size, "REJECT"))
    files = {"scholar": "scholar.jsonl", "auditor": "auditor.jsonl"}
    return Case("two_files", "agreement", files, "agreement.percent")


def raters(folder: Path, size: int = 3) -> Case:
    write_jsonl(folder / "raters.jsonl", ratings(size))
    return Case("raters", "agreement", {"raters": "raters.jsonl"}, "agreement.pairwise")


def operators(folder: Path, size: int = 3) -> Case:
    write_jsonl(folder / "operators.jsonl", marks(size))
    return Case("operators", "agreement", {"operators": "operators.jsonl"}, "agreement.pairwise")


SUITES: dict[str, Callable[..., Case]] = {
    one.__name__: one for one in (answers, retrieval, structured, stability, latency, agreement)
}
"""One case for each suite, all with a gold set that has the field `topic`."""
VOTES: dict[str, Callable[..., Case]] = {one.__name__: one for one in (pairs, two_files, raters, operators)}
"""The forms of agreement without a gold set."""
EVERY: dict[str, Callable[..., Case]] = {**SUITES, **VOTES, "bundled": bundled, "trec": trec}


# files besides

CHUNKS = [{"chunk_id": f"d#{qid}", "text": f"It is answer {qid}.", "tokens": 4} for qid in qids(3)]
BLOCKS = [
    {
        "chunk_id": f"S.1.p.{qid}",
        "text": f"It is {qid}.",
        "section_id": "S.1",
        "type": "prose",
        "offsets": [nth, nth + 1],
    }
    for nth, qid in enumerate(qids(3))
]
PACK = "id = \"mine\"\n[[rule]]\nlocked = 'never'\nclaim = 'always'\n"
PRICES = "[[price]]\nper_1k = 0.5\n"
TABLE = {"schema": "ragworthy.redirects/1", "from_version": "a", "to_version": "b", "documents": [], "added": []}


def more_files(case: Case) -> dict[str, Any]:
    """Every other file that this case can be scored with, in the working folder, by the keys of the policy.

    The gold set is frozen, with the lock in its usual place.
    """
    if case.name == "trec":
        Path("live.txt").write_text(Path(case.files["run"]).read_text().replace("tag", "old"))
        return {"live_run": "live.txt"}
    if case.name == "operators":
        looks = [row | {"auditor": "eve"} for row in lines_of(Path(case.files["operators"]))]
        return {"audit": write_jsonl(Path("audit.jsonl"), looks).name}
    if case.gold is None:
        return {}
    options: dict[str, Any] = {}
    if case.suite in ("answers", "stability", "latency", "agreement"):
        options["corpus"] = write_jsonl(Path("chunks.jsonl"), CHUNKS).name
    if case.suite in ("answers", "stability", "latency", "agreement"):
        Path("pack.toml").write_text(PACK)
        options |= {"scu": True, "rule_packs": ["pack.toml"]}
    if case.suite == "latency":
        Path("prices.toml").write_text(PRICES)
        options["prices"] = "prices.toml"
    if case.suite == "retrieval":
        options["corpus"] = write_jsonl(Path("chunks.jsonl"), BLOCKS).name
        options["live"] = write_jsonl(Path("live.jsonl"), retrieval_traces(3)).name
        options["live_corpus"] = write_jsonl(Path("live_chunks.jsonl"), BLOCKS).name
        Path("table.json").write_text(json.dumps(TABLE))
        options["redirects"] = ["table.json"]
    if case.suite == "structured":
        Path("made.json").write_text(json.dumps(MADE))
        Path("prompt.md").write_text(PROMPT)
        done = run_cli(
            "gold",
            "subset",
            case.files["questions"],
            "-o",
            "subset.json",
            "--size",
            "2",
            "--definition",
            "definition.toml",
        )
        assert done.code == 0, done
        options |= {"subset": "subset.json", "prompt": "prompt.md", "provenance": "made.json"}
    freeze(case)
    return options


def freeze(case: Case, *more: object) -> Path:
    """The lock of the gold set, in its usual place unless `--lock FILE` names another."""
    gold = Path(case.files[case.gold or ""])
    done = run_cli("gold", "freeze", gold, "--signer", "Ada", "--reason", "first", *more)
    assert done.code == 0, done
    return Path(str(more[-1])) if more else gold.with_suffix(".lock")


def baseline(case: Case) -> Path:
    """The report of an earlier run."""
    path = Path("earlier.json")
    done = run_cli(
        *command(case, "--tsv", "earlier.tsv", "-o", path) if case.suite == "agreement" else command(case, "-o", path)
    )
    assert path.is_file(), done
    return path


# ways in


class Said(NamedTuple):
    """How scoring ended: the exit code, the first line of what is wrong, and the report where there is one."""

    code: int
    line: str
    report: Row


def flag(key: str) -> str:
    return FLAGS.get(key, "--" + key.replace("_", "-"))


def words(options: Mapping[str, Any]) -> list[str]:
    """Options as the command takes them: a list repeats its flag, and a table is written as name=value."""
    found: list[str] = []
    for key, value in options.items():
        if isinstance(value, bool):
            found += [flag(key)] if value else []
        elif isinstance(value, Mapping):
            found += [flag(key), ",".join(f"{name}={one}" for name, one in value.items())]
        elif key == "k" and isinstance(value, list):
            found += [flag(key), ",".join(map(str, value))]
        else:
            several = value if isinstance(value, list) else [value]
            found += [word for one in several if one != REFUSAL for word in (flag(key), str(one))]
    return found


def command(case: Case, *more: object, **options: Any) -> list[object]:
    """The words of `score` for a case whose files are in the working folder."""
    files = {flag(key): name for key, name in case.files.items()}
    return ["score", case.suite, *(word for pair in files.items() for word in pair), *words(options), *more]


def toml(value: Any) -> str:
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{name} = {toml(one)}" for name, one in value.items()) + " }"
    return json.dumps(value)


def write_policy(case: Case, gates: str = "", /, **options: Any) -> Path:
    """A policy in the working folder."""
    top = [f"{key} = {toml(options.pop(key))}" for key in ("evidence", "baseline", "plugins") if key in options]
    lines = [f"{key} = {toml(value)}" for key, value in {**case.files, **options}.items()]
    path = Path("policy.toml")
    path.write_text("\n".join(["version = 1", *top, f"[{case.suite}]", *lines, gates]), encoding="utf-8")
    return path


def score(way: str, case: Case, gates: str = "", *, alone: bool = False, **options: Any) -> Said:
    """Score in one of the ways, in the working folder; `gates` are [[gate]] tables, in a file where needed.

    Where they stand `alone`, the default gates of the suite are left out.
    """
    report = Path("report.json")
    report.unlink(missing_ok=True)
    if alone:
        options |= {"no_default_gates": True} if way == COMMAND else {"defaults": False}
    if way == PYTHON:
        return _in_python(case, gates, options)
    if way == POLICY:
        done = run_cli("gate", "-c", write_policy(case, gates, **options), "-o", report)
    else:
        named = ["--gates", gate_file(gates)] if gates else []
        done = run_cli(*command(case, *named, "-o", report, **options))
    line = done.err.splitlines()[0] if done.err else ""
    return Said(done.code, line, json.loads(report.read_text()) if report.is_file() else {})


def _in_python(case: Case, gates: str, options: Mapping[str, Any]) -> Said:
    given: dict[str, Any] = {"gates": gate_file(gates)} if gates else {}
    try:
        done = rw.score(case.suite, **case.files, **given, **options)
    except rw.RagworthyError as error:
        return Said(2, str(error).splitlines()[0], {})
    return Said(done.exit_code, "", done.report)


def gate_file(gates: str) -> Path:
    """A file of gates, for the ways that take no tables."""
    path = Path("gates.toml")
    path.write_text(gates, encoding="utf-8")
    return path


def gate(case: Case, **rule: Any) -> str:
    """A [[gate]] table on the metric of a case."""
    borrowed = {} if case.metric.startswith(f"{case.suite}.") else {"suite": case.suite}
    table = {"metric": case.metric, **borrowed, **rule}
    return "\n".join(["[[gate]]", *(f"{key} = {toml(value)}" for key, value in table.items()), ""])


def lines_of(path: Path) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def add_rows(path: Path, rows: Sequence[Row]) -> int:
    """Write more lines below those that are there; gives the number of the last one."""
    return len(lines_of(write_jsonl(path, [*lines_of(path), *rows])))


def listed(text: str) -> list[str]:
    """The findings of a lint as JSON, each as a line of text has it, in the order of the file."""
    return [
        f"{one['level']}: {': '.join(filter(None, (one['where'], one['field'], one['message'])))} [{one['code']}]"
        for one in json.loads(text)["findings"]
    ]
