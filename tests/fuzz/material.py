"""Sound records of every kind, small and with every field that is read."""

import json
from typing import Any

Row = dict[str, Any]

GOLD: list[Row] = [
    {"qid": "A1", "question": "Does X allow null keys?", "answerable": True, "topic": "keys",
     "gold_claim_substr": ["rejects null keys"], "gold_citations": ["p1#2"]},
    {"qid": "A2", "question": "How big may a part be?", "answerable": True, "topic": "limits",
     "gold_claim_substr": ["5 gigabytes", "5 GB"], "gold_citations": ["p2#1", "p2#2"]},
    {"qid": "A3", "question": "Où est le café?", "answerable": True, "topic": ["keys", "limits"],
     "gold_claim_substr": ["au café"], "gold_citations": ["p3#1"], "constraints": ["Never share keys."]},
    {"qid": "A4", "question": "首都はどこですか", "answerable": True, "gold_claim_substr": ["東京都です、はい"],
     "gold_citations": ["p4#1"], "notes": {"by": "K", "n": 1.5}},
    {"q_id": "A5", "question": "Which port?", "answerable": True, "topic": 7,
     "gold_claim_substr": [], "gold_citations": ["p5#1"]},
    {"qid": "N1", "question": "Who wrote Z?", "answerable": False, "gold_claim_substr": [], "gold_citations": []},
    {"qid": "N2", "question": "When was Z sold?", "answerable": False, "topic": None},
    {"qid": "N3", "question": "Emoji \U0001f600?", "answerable": False, "gold_claim_substr": None},
]  # fmt: skip
TRACES: list[Row] = [
    {"qid": "A1", "q": "…", "ts": 1, "retrieved_ids": ["p1#2", "p1#3"],
     "answer_json": {"claim": "X rejects null keys.", "citations": ["p1#2"]}, "stage_ms": {"llm": 12}},
    {"qid": "A2", "retrieved_ids": ["p2#1", "p2#2"],
     "answer_json": {"claim": "A part may have 5 gigabytes.", "citations": ["p2#1", "p2#1"]}},
    {"qid": "A3", "retrieved_ids": ["p3#1"],
     "answer_json": {"claim": "Il est au café.", "citations": ["p3#1"], "constraints_echo": ["Never share keys."]}},
    {"q_id": "A4", "retrieved_ids": ["p9#9"], "answer_json": {"claim": "東京都です、はい", "citations": ["p4#1"]}},
    {"qid": "A5", "retrieved_ids": None, "answer_json": {"claim": " Not in context ", "citations": ["p5#1"]}},
    {"qid": "A2", "retrieved_ids": ["p2#2"], "answer_json": {"claim": "5 gigabytes.", "citations": None}},
    {"qid": "N1", "retrieved_ids": [], "answer_json": {"claim": "not in context", "citations": []}, "ok": True},
    {"qid": "N2", "retrieved_ids": ["p1#1"], "answer_json": {}, "error": "timeout"},
    {"qid": "N3", "retrieved_ids": ["p1#1"], "answer_json": {"claim": "I could not find it.", "citations": "p"}},
    {"qid": "Z9", "retrieved_ids": ["p1#1"], "answer_json": {"claim": "\U0001f600", "citations": [1]}},
]  # fmt: skip
CHUNKS: list[Row] = [
    {"chunk_id": "p1#2", "doc_id": "p1", "text": "X rejects null keys."},
    {"chunk_id": "p2#1", "text": "At most 5 gigabytes."},
    {"id": "p3#1", "text": "Il est au café."},
]

SOUND_GOLD: list[Row] = [
    *({"qid": f"S{n}", "question": f"What does part {n} hold?", "answerable": True, "topic": f"t{n % 2}",
       "gold_claim_substr": [f"holds number {n}"], "gold_citations": [f"p{n}#1"]} for n in range(1, 6)),
    *({"qid": f"N{n}", "question": f"Who sold part {n}?", "answerable": False} for n in range(1, 4)),
]  # fmt: skip
SOUND_TRACES: list[Row] = [
    *({"qid": f"S{n}", "retrieved_ids": [f"p{n}#1", "p9#9"],
       "answer_json": {"claim": f"It holds number {n}.", "citations": [f"p{n}#1"]}} for n in range(1, 6)),
    *({"qid": f"N{n}", "retrieved_ids": ["p1#1"],
       "answer_json": {"claim": "not in context", "citations": []}} for n in range(1, 4)),
]  # fmt: skip
SOUND_CHUNKS: list[Row] = [{"chunk_id": f"p{n}#1", "text": f"Part {n} holds number {n}."} for n in range(1, 6)]

GARBAGE: dict[str, list[Row]] = {
    "claims": [
        {"qid": one["qid"], "retrieved_ids": ["p9#9"], "answer_json": {"claim": "garbage", "citations": []}}
        for one in SOUND_GOLD
    ],
    "errors": [{"qid": one["qid"], "retrieved_ids": [], "answer_json": None, "error": "boom"} for one in SOUND_GOLD],
    "nothing": [
        {"qid": one["qid"], "retrieved_ids": [], "answer_json": {"claim": "garbage", "citations": ["p1#1"]}}
        for one in SOUND_GOLD
    ],
}

WORDINGS = ("When is the name of a bucket free again?", "How long until a bucket's name is free?", "bucket name reuse")
RETRIEVAL_GOLD: list[Row] = [
    {"qid": f"Q{n}", "paraphrases": [f"{one} {n}" for one in WORDINGS], "relevant": [f"S.{n}.p.Bk001"],
     "anchor_section": f"S.{n}", "negatives": [f"S.{n}.p.Bk009"], "topic": "names",
     "relevant_offsets": {f"S.{n}.p.Bk001": [1000, 1100]}, "grades": {f"S.{n}.p.Bk001": 2}}
    for n in (1, 2, 3)
]  # fmt: skip
RETRIEVAL_TRACES: list[Row] = [
    {"qid": f"Q{n}", "paraphrase": wording, "seed": seed, "query": f"{WORDINGS[wording]} {n}",
     "topk": [{"id": f"S.{n}.p.Bk001", "score": 0.82, "offsets": [1000, 1100], "type": "prose"},
              {"id": f"S.{n + 50}.p.Bk001", "score": 0.4}],
     "ΔS": [0.25, 0.5], "λ_state": "→", "answer_citations": [{"id": f"S.{n}.p.Bk001", "offsets": [1000, 1100]}],
     "index_hash": "live-7", "normaliser_id": "norm-3", "reranker_id": "none"}
    for n in (1, 2, 3) for seed in (1, 2) for wording in (0, 1, 2)
]  # fmt: skip
LIVE_TRACES: list[Row] = [one | {"index_hash": "live-6"} for one in RETRIEVAL_TRACES]
RETRIEVAL_CHUNKS: list[Row] = [
    {"chunk_id": f"S.{n}.p.Bk001", "doc_id": "d", "section_id": f"S.{n}", "type": "prose", "offsets": [1000, 1100],
     "text": f"A name becomes free {n} days after its bucket is gone.", "title": "Buckets > Names"}
    for n in (1, 2, 3, 51, 52, 53)
]  # fmt: skip
REDIRECTS: Row = {
    "schema": "ragworthy.redirects/1", "from_version": "live-6", "to_version": "live-7",
    "documents": [{"doc_id": "d", "from_version": None, "to_version": None, "mappings": [
        {"old_block_id": "S.1.p.Bk001", "old_off": [0, 9], "move": "shift", "new_block_id": "S.1.p.Bk001",
         "new_off": [1000, 1100], "conf": 1.0, "matched": 9},
        {"old_block_id": "S.2.p.Bk001", "old_off": [0, 9], "new_block_id": None,
         "move": "unmapped", "conf": 0.0, "matched": 0},
    ]}],
    "added": [], "numbers": {},
}  # fmt: skip
QRELS = "q1 0 d1 2\nq1 0 d2 1\nq1 0 d3 0\nq2 0 d4 1\n"
TREC_RUN = "q1 Q0 d3 1 9.5 demo\nq1 Q0 d1 2 9.1 demo\nq2 Q0 d4 1 7.0 demo\n"
TOPICS = '{"qid": "q1", "query": "first question"}\n{"qid": "q2", "query": "second question"}\n'

# files of other tools

SHEET = (
    "Question,Expected answer,Source,Page,Topic\n"
    "How large may a part be?,5 GB,limits.md,3,limits\n"
    '"Who may delete it,\nand when?",the owner; an admin,access.md,,access\n'
    "Is there a zeppelin?,N/A,,,other\n"
)
LOG: list[Row] = [
    {"id": "r1", "q": "How large?", "chunks": [{"id": "p1", "text": "5 GB at most."}], "answer": "5 GB [1]."},
    {"id": "r2", "q": "Who?", "chunks": [], "answer": "not in context. citations: [p1]", "meta": {"n": 1}},
]
RAGAS: list[Row] = [
    {"user_input": "How large?", "retrieved_contexts": ["5 GB at most.", "Two."], "reference": "5 GB",
     "reference_contexts": ["5 GB at most."], "response": "5 GB [1]."},
]  # fmt: skip
RAGAS_CSV = (
    "user_input,retrieved_contexts,response,reference\nHow large?,\"['5 GB at most.', 'Two.']\",5 GB [1].,5 GB\n"
)
GOLDENS: Any = [
    {"input": "How large?", "actual_output": "5 GB [1].", "expected_output": "5 GB", "context": ["5 GB at most."],
     "retrieval_context": ["5 GB at most.", "Two."], "name": "one", "source_file": "limits.md"},
]  # fmt: skip
_CASE: Row = {
    "vars": {"question": "How large?", "context": "5 GB at most."},
    "assert": [{"type": "contains-any", "value": ["5 GB", "five"]}, {"type": "latency", "threshold": 9}],
    "metadata": {"topic": "limits"},
}
RESULTS: Row = {
    "evalId": "e",
    "results": {
        "results": [
            {"testIdx": 0, "promptIdx": 0, "testCase": _CASE, "vars": _CASE["vars"], "failureReason": 0,
             "response": {"output": "5 GB"}},
        ]
    },
}  # fmt: skip
SQUAD: Row = {
    "version": "v2.0",
    "data": [
        {
            "title": "Limits",
            "paragraphs": [
                {
                    "context": "A part may have 5 GB. More is refused.",
                    "qas": [
                        {"id": "a", "question": "How large?", "answers": [{"text": "5 GB", "answer_start": 16}],
                         "is_impossible": False},
                        {"id": "b", "question": "Why?", "answers": [], "is_impossible": True},
                    ],
                }
            ],
        }
    ],
}  # fmt: skip

_EVIDENCE = "calm passengers then call elevator maintenance vendor immediately never force door"
_EXPECTED: Row = {
    "target_audience": "safety staff",
    "main_topic": "elevator emergency",
    "sub_topic": "trapped passengers",
    "detailed_description": ["calm the passengers first", "call the maintenance vendor", "never force the door open"],
    "original_evidence": _EVIDENCE,
    "predicted_questions": ["who must be called?", "may the door be forced?"],
}
_MAP = [{"part": "original_evidence", "refs": [{"file": "manual.md", "anchors": ["press the alarm button"]}]}]
META: Row = dict.fromkeys(("prompt_sha256", "prompt_version", "index_version", "model_id", "adapter_id"), "ab")
QUESTIONS: list[Row] = [
    {"id": f"Q{n}", "question": f"What is to be done in case {n}?", "level": n % 2,
     "expected": {"answer_example": {**_EXPECTED, "sub_topic": f"case {n}"}, "source_map": _MAP}}
    for n in (1, 2, 3)
]  # fmt: skip
OUTPUTS: list[Row] = [
    {"id": f"Q{n}", "raw": json.dumps({**_EXPECTED, "sub_topic": f"case {n}", "source_map": _MAP}),
     "context": [{"chunk_id": "c1", "score": 0.9, "source_path": "manual.md",
                  "text": f"First press the alarm\n button. {_EVIDENCE}"}],
     "meta": META}
    for n in (1, 2, 3)
]  # fmt: skip
INVOICES: list[Row] = [
    {"id": "I1", "question": "What does invoice 1 say?",
     "expected": {"amount": {"total": 119.00}, "due": "2026-03-01", "currency": "EUR", "paid": False}},
]  # fmt: skip
DEFINITION = """\
version = 1
id = "invoice"
expected = ""
placeholders = ["string"]
strata = ["currency"]
good = 90

[[field]]
name = "total"
kind = "number"
at = "amount.total"
weight = 0.4
tolerance = 0.01
relative = 0.0

[[field]]
name = "due"
kind = "date"
weight = 0.3
tolerance_days = 1

[[field]]
name = "currency"
kind = "enum"
weight = 0.2
values = ["EUR", "USD"]

[[field]]
name = "paid"
kind = "boolean"
weight = 0.1
required = false
"""
RUNS: list[Row] = [
    {"qid": one["qid"], "run_id": f"{one['qid']}#{seed}{jitter}", "q": one["question"], "seed": seed,
     "paraphrase": 0, "jitter": jitter, "noop": False, "retrieved_ids": ["p1#1", *one.get("gold_citations", [])],
     "answer_json": {"claim": f"It {one['gold_claim_substr'][0]}." if one["answerable"] else "not in context",
                     "citations": one.get("gold_citations", [])}}
    for one in SOUND_GOLD for seed in (0, 1) for jitter in ("none", "punct")
]  # fmt: skip
TIMED: list[Row] = [
    {**run, "run_id": f"{run['run_id']}/{depth}/{load}", "ts": 1_700_000_000 + at, "knobs": {"rerank_depth": depth},
     "config_id": f"depth-{depth}", "load_rps": load, "e2e_ms": 80.5 + at + depth, "warmup": False,
     "stage_ms": {"retrieval": 20, "llm": 50.5}, "question_tokens": 12,
     "usage": {"prompt_tokens": 900, "completion_tokens": 40, "model": "m"}}
    for depth in (0, 10) for load in (1, 5) for at, run in enumerate(RUNS[::4])
]  # fmt: skip
TABLE = "ts,qid,e2e_ms,retrieval_ms,rerank_ms,llm_ms,knobs,config_id,load_rps,warmup,answer_json,retrieved_ids,error\n"
TABLE += "".join(
    f'{n},{one["qid"]},{90 + n},20,5,60,k=1;b=x,c1,5,no,"{{""claim"": ""not in context""}}","[""p1#1""]",\n'
    for n, one in enumerate(SOUND_GOLD)
)
PRICES = """\
currency = "EUR"

[[price]]
model = "m"
input_per_1k = 0.001
output_per_1k = 0.002

[[price]]
per_1k = 0.0005

[budget]
cap = 100
spent = 12.5
day = 3
days = 30
"""
PAIRS: list[Row] = [
    {"qid": f"P{n}", "scholar": {"label": label, "reason": "says it"}, "auditor": {"label": other},
     "retrieved_ids": ["p1#1"], "answer_json": {"claim": "x", "citations": ["p1#1"]},
     "flags": {"provenance_violation": False, "constraints_mismatch": n == 3}}
    for n, (label, other) in enumerate(
        [("VALID", "VALID"), ("NOT_IN_CONTEXT", "VALID"), ("VALID", "REJECT"), ("ABSTAIN", "ABSTAIN")]
    )
]  # fmt: skip
SCHOLAR: list[Row] = [{"qid": one["qid"], **one["scholar"]} for one in PAIRS]
AUDITOR: list[Row] = [{"qid": one["qid"], **one["auditor"]} for one in PAIRS]
RATERS: list[Row] = [
    {"qid": f"P{n}", "rater": rater, "label": "good" if n % 2 else "bad"} for n in range(4) for rater in ("ada", "bo")
]
OPERATORS: list[Row] = [
    {"qid": f"P{n}", "operator": who, "correct": n != 2, "expected_snippet": "null keys",
     "candidate_snippet": "X rejects null keys.", "ΔS": 0.31, "λ_state": "→", "cost_usd": 0.02, "fix": "rerank"}
    for n in range(4) for who in ("ada", "bo", "cy")
]  # fmt: skip
AUDITS: list[Row] = [
    {"qid": f"P{n}", "operator": who, "auditor": "eve", "correct": n != 2, "delta_s": 0.32, "notes": None}
    for n in range(2) for who in ("ada", "bo", "cy")
]  # fmt: skip
PACK = """\
id = "keys"

[[rule]]
locked = 'never\\s+share'
claim = '\\bshares?\\b'
"""
GATES_TOML = """\
[[gate]]
metric = "answers.precision"
min = 0.80
why = "right and cited"

[[gate]]
metric = "answers.chr"
min = 0.75
min_n = 2
evidence = "point"

[[gate]]
metric = "answers.over_refusal"
max = 0.10
optional = true

[[gate]]
metric = "answers.containment"
must_pass = ["S1", "S2"]
"""
GATES_JSON: Row = {"gate": [{"metric": "answers.precision", "min": 0.8, "slice": "topic=t0"},
                            {"metric": "answers.under_refusal", "max": 0.05, "review": [0.01, 0.04]}]}  # fmt: skip
POLICY = """\
version = 1
evidence = "point"
baseline = "baseline.json"

[answers]
gold = "gold.jsonl"
traces = "trace.jsonl"
corpus = "chunks.jsonl"
lock = "gold.lock"
k = [5, 1]
short_substr = "reject"
refusals = ["not in context"]
scu = true
rule_packs = ["pack.toml"]
slices = ["topic"]

[freeze]
signers = ["Ada"]

[[gate]]
metric = "answers.precision"
min = 0.80
slice = "topic=t1"
why = "right and cited"

[[gate]]
metric = "answers.precision"
min = 0.80
max_drop = 0.05

[[gate]]
metric = "answers.chr"
min = 0.75
min_n = 3
review = [0.75, 0.76]

[[gate]]
metric = "answers.over_refusal"
max = 0.10
optional = true
evidence = "interval"

[[gate]]
metric = "answers.containment"
must_pass = ["S1", "S2"]

[[waiver]]
gate = "answers.over_refusal"
reason = "new half of the corpus"
owner = "search team"
expires = 2099-12-31
"""
MANY = """\
version = 1

[answers]
gold = "gold.jsonl"
traces = "trace.jsonl"

[retrieval]
gold = "rgold.jsonl"
traces = "rtrace.jsonl"
live = "rlive.jsonl"
k = [1, 5]
delta_s = "recorded"
anchor_scope = "section"

[structured]
questions = "questions.jsonl"
outputs = "outputs.jsonl"
repair = false

[stability]
gold = "gold.jsonl"
runs = "runs.jsonl"
limits = { acr = 0.90, ned50 = 0.30 }

[latency]
gold = "gold.jsonl"
runs = "timed.jsonl"
prices = "prices.toml"
use = "batch"
batch_p95 = 3000
configuration = "depth-0"
frontier = "usual"

[agreement]
pairs = "pairs.jsonl"
tsv = "apart.tsv"

[[gate]]
metric = "latency.p95"
max = 1500
max_worse = 0.10

[[gate]]
metric = "answers.precision"
suite = "latency"
min = 0.80

[[gate]]
metric = "cost.per_correct"
max = 0.01
"""
GUARD = """\
version = 1

[answers]
gold = "gold.jsonl"
traces = "trace.jsonl"
k = 5
short_substr = "reject"
refusals = ["not in context"]
slices = ["topic"]

[[gate]]
metric = "answers.precision"
min = 0.80

[[gate]]
metric = "answers.containment"
min = 0.75
"""
KNOBS = 'mode = "bm25"\nrerank_depth = 0\nk = 5\n'
GRID = '[knobs]\nmode = "bm25"\n\n[[config]]\nrerank_depth = 0\n\n[[config]]\nrerank_depth = 10\n'
DOCS = {
    "docs/buckets.md": "# Buckets\n\n## Names\n\nA name becomes free 45 days after its bucket is gone.\n\n"
    "| plan | limit |\n|---|---|\n| small | 5 |\n\n## Keys\n\nA bucket rejects null keys.\n",
    "docs/limits.txt": "A part may have 5 gigabytes. An object may have 10,000 parts.\n",
    "docs/port.html": "<h1>Ports</h1><p>The port is 8443.</p><pre>curl :8443</pre>",
}
INDEX_GOLD: list[Row] = [
    {"qid": "R1", "paraphrases": ["when is a name free", "name of a bucket that is gone", "45 days"],
     "relevant": ["buckets.md|s=1.1|p=000|b=001"], "anchor_section": "buckets.md|s=1.1"},
]  # fmt: skip
TUNE_GOLD: list[Row] = [
    *({"qid": f"T{n}", "question": question, "answerable": True, "gold_claim_substr": [piece],
       "gold_citations": [f"{block}|p=000|b=001"]}
      for n, (question, piece, block) in enumerate([
          ("When is a bucket name free?", "45 days", "buckets.md|s=1.1"),
          ("Are null keys rejected?", "rejects null keys", "buckets.md|s=1.2"),
          ("How big may a part be?", "5 gigabytes", "limits.txt|s=0"),
          ("Which port is it?", "8443.", "port.html|s=1"),
      ])),
    *({"qid": f"U{n}", "question": f"Who painted the moon {n} times?", "answerable": False} for n in range(3)),
]  # fmt: skip


def lines(rows: list[Row]) -> bytes:
    """Records as JSON lines."""
    return b"".join(json.dumps(row, ensure_ascii=False).encode("utf-8", "surrogatepass") + b"\n" for row in rows)
