"""What is put in place of sound values: as JSON text, as TOML text, and by what a key means."""

import json

ROOT = "{ROOT}"
"""Stands for the folder around the case, whose name is new in every run."""

TOKENS = (
    b"{", b"}", b"[", b"]", b",", b":", b'"', b"null", b"true", b"false", b"NaN", b"-Infinity", b"1e999", b"-0",
    b"0.1", b"12345678901234567890123", b'""', b"{}", b"[]", b"\\", b"\\u0000", b"\\ud83d", b"\\ude00", b"\x00",
    b"\n", b"\r", b"\r\n", b"\n\n", b" ", b"\t", b"\xef\xbb\xbf", b"\xff", b"\xe4\xba", b"\xc0\x80", b"\xed\xa0\x80",
    b"\xe2\x80\xa8", b"\x1b[31m", b"\xc2\x9b31m", b"\xe2\x80\xae", b"//", b"'", b'"qid":', b'"q_id":"A1",',
    b'"answerable":1,', b'{"qid":"A1"}\n', b"[" * 1200, b"]" * 1200, b'{"a":' * 1200, b"9" * 400, b"9" * 5000,
    b"1e999999999", b"\x93NUMPY\x01\x00", b"PK\x03\x04", b"\x28\xb5\x2f\xfd", b"\x1f\x8b\x08",
)  # fmt: skip
TEXTS = (
    "", " ", "A1", "S1", "true", "not in context", "NOT IN CONTEXT ", "x" * 3000, "\x00", "\x1b[2J", "\x9b31m", "a\nb",
    "a\tb", "a\rb", "\u2028", "\u202eabc", "\ufeff", "e\u0301", "é", "ﬁ", "北", "İ", "ß", "\U0001f600", "=1+1", "@user",
    "|", "<b>", "]]>", "`", "..", "/", "../x", "a b", "1/0", "1e99999999", "1e999999999", "-1e999999999", "0x1", "1_0",
    "٣", "NaN", "inf", "-0", "0.1", "½", "x\n\n## ✅ Ragworthy: SHIP\n", "x\nverdict: SHIP (exit 0)\n",
    "topic=t0", "topic=nope", "answers.precision", "sha256:x", "0" * 64,
    "1" * 5000, "1/" + "3" * 5000,
)  # fmt: skip
RAW = (
    "null", "true", "false", "0", "1", "-1", "4", "1.5", "-0", "-0.0", "1.0", "1e308", "1e309", "-1e309", "1e-400",
    "1e999999999", "1e-999999999", "9223372036854775808", "18446744073709551616", "1" + "0" * 30, "9" * 400,
    "9" * 5000, "0." + "1" * 5000, "NaN", "Infinity", "-Infinity", "[]", "[[]]", "[null]", "[1]", '["p1#2"]',
    '["p1#2", 4]', '[{"id": "p1#2"}]', json.dumps(["p1#2"] * 50), "{}", '{"": {}}', '{"claim": "x"}', '{"claim": 1}',
    '{"citations": [{}]}', '{"a": 1, "a": 2}', '"\\ud800"', '"\\udc00x"', '"\\u0000"', '"\\u001b[2J"', '"\\u009b1m"',
    "[" * 200 + "]" * 200, "[" * 3000 + "]" * 3000, '{"a":' * 200 + "1" + "}" * 200, "[0, 0]", "[5, 1]", "[-1, 1e400]",
    "[0, 1e300]", '["1/0", "1"]', "0.8", "0.05", "100",
)  # fmt: skip
TOML = (
    "0", "1", "-1", "true", "false", "nan", "inf", "-inf", "1e400", "1e-400", "0.8", "-0.0", "0x1", "0o7", "0b1",
    "0x" + "f" * 5000, "-9223372036854775809", "9" * 400, "9" * 5000, "1979-05-27", "1979-05-27T07:32:00Z", "07:32:00",
    '""', '" "', '"x"', '"\\u0000"', '"\\u001b[2J"', '"\\ud800"', '"""\na\nb"""', "'a'", "[]", "[[]]", "[1]", '["x"]',
    '["x", 1]', "[1, 2, 3]", "[0.1, 0.9]", "[0.9, 0.1]", "{}", "{ a = 1 }", "[" * 200 + "]" * 200, "[ 1,",
    "{ a = 1, a = 2 }",     "1_000", "1__0", "+1", "1e1_0", "0.5 0.6", "topic", "1e30", "1e-30", "[nan]", "[true]",
    json.dumps("x" * 3000),
)  # fmt: skip
PATHS = (
    "", ".", "..", "/", "nothing.jsonl", "gold.jsonl", "trace.jsonl", "ragworthy.toml", "gold.lock",
    "../outside/precious.txt", f"{ROOT}/outside/precious.txt", f"{ROOT}/outside/bashrc", "../outside/bashrc",
    "../outside/new.txt", f"{ROOT}/outside/new.txt", "a\tb", "../odd/folder", "../odd/folder/notes.txt",
    "../odd/loop", "../odd/away", "../odd/dangling", "/dev/null", "../odd/fifo", "/dev/zero",
    "../odd/zero", "/proc/self/mem", "/dev/stdin", "a" * 300, "a\x00b", "~", "~root", "file:///etc/passwd",
    "http://127.0.0.1:9/x", "gold.jsonl/x", "./gold.jsonl", "\udcff.jsonl",
)  # fmt: skip
WRITTEN = tuple(path for path in PATHS if "/dev/" not in path and "/proc/" not in path and "odd/zero" not in path)
"""Paths for what is written: none that a harness run as root could replace on the machine itself."""
METRICS = (
    "answers.precision", "answers.chr", "answers.under_refusal", "answers.over_refusal", "answers.containment",
    "answers.recall@5", "answers.recall@0", "answers.recall@99999999999", "answers.support", "answers.missing",
    "answers.scu", "answers.scu_violations", "answers.nope", "precision", "retrieval.recall@5", "retrieval.coverage",
    "retrieval.missing", "structured.score", "structured.missing", "stability.acr", "stability.failing_questions",
    "latency.p95", "latency.errors", "latency.tail", "cost.per_correct", "agreement.kappa", "agreement.percent", "",
    "answers", "answers.", "answers.precision@5",
)  # fmt: skip
_NUMBERS = ("0", "1", "0.8", "-1", "1.5", "0.0", "1e-30", "1e-300", "1e30", "100", "0.9999999999999999999", "-0.0")
_GATE_KEYS = ("min", "max", "max_drop", "max_worse", "slice", "min_n", "evidence", "must_pass", "optional", "review",
              "why", "suite", "metric")  # fmt: skip


def _quoted(texts: tuple[str, ...]) -> tuple[str, ...]:
    return tuple(json.dumps(text) for text in texts)


MEANINGS: dict[str, tuple[str, ...]] = {
    "metric": _quoted(METRICS),
    **dict.fromkeys(("min", "max", "max_drop", "max_worse", "good", "weight", "tolerance"), _NUMBERS),
    "threshold": (*_quoted(_NUMBERS), *_quoted(("1/0", "1e99999999", "-1/3", "nan", "0.80", "1e400", " 0.8")), "0.8"),
    "op": _quoted((">=", "<=", "drop<=", "worse<=", "each", "<", "", ">==")),
    "slice": _quoted(("topic=t0", "topic=nope", "", "=", "topic", "load=5", "qid=S1", "topic=t0, load=5")),
    "min_n": ("0", "-5", "1", "999999999", "1.0", "true"),
    "evidence": _quoted(("point", "interval", "paired", "")),
    "must_pass": ("[]", '["S1"]', '["nope"]', '["S1", "S1"]', "[1]", '"S1"'),
    "optional": ("true", "false", '"yes"', "1"),
    "review": ("[0.1, 0.2]", "[0.2, 0.1]", "[]", "[0]", '["1/0", "1"]', "null", "[0, 1e400]", "[-1, 2]"),
    "suite": _quoted(("answers", "retrieval", "structured", "stability", "latency", "agreement", "bogus", "")),
    "expires": ("2020-01-01", "9999-12-31", "0001-01-01", '"2099-12-31"', '"tomorrow"', "2099-12-31T00:00:00Z"),
    "gate": _quoted(("answers.precision", "answers.containment", "*", "", "answers.precision[topic=t0]")),
    "reason": ('""', '" "', "1"), "owner": ('""', '" "', "1"),
    "version": ("0", "2", "1.0", "true", '"1"', '"99.0.0"', "-1"),
    "schema": _quoted(("ragworthy.receipt/1", "ragworthy.receipt/2", "", "ragworthy.report/1", "ragworthy.lock/1")),
    "k": ("0", "-1", "1", "[]", "[0]", "[5, 5]", "999999999999", "1.5", "true", "[1, 2, 3]"),
    "ks": ("[]", "[0]", "[-1]", "[5, 5]", "5", "null", "[999999999999]"),
    "short_substr": _quoted(("word", "reject", "bogus")), "delta_s": _quoted(("raw", "calibrated", "recorded", "auto")),
    "refusals": ("[]", '[""]', '["garbage"]', '["not in context", "garbage"]', '"garbage"', "[1]"),
    "slices": ("[]", '["topic"]', '["qid"]', '["nope"]', '["topic", "topic"]', '["gold_citations"]'),
    "rule_packs": ("[]", '["wfgy-neg-4"]', '["pack.toml"]', '["../odd/fifo"]', '["/dev/zero"]', '["nothing"]'),
    "signers": ("[]", '["Ada"]', '["Mallory"]', '[""]'),
    "limits": ("{}", "{ acr = 0 }", "{ acr = 2 }", "{ ned50 = 1 }", "{ nope = 1 }", "{ acr = 0.5, css = 0.1 }"),
    "use": _quoted(("batch", "interactive", "x")), "frontier": _quoted(("usual", "strict", "x")),
    "configuration": _quoted(("depth-0", "depth-10", "nope", "")),
    "verdict": _quoted(("SHIP", "NO-SHIP", "INVALID", "INCONCLUSIVE", "ship", "SHIP\u001b[2K\rverified: SHIP", "")),
    "exit_code": ("0", "1", "false", "true", "0.0", "-0", "null", '"0"'),
    "outcome": _quoted(("pass", "fail", "undecided", "not_measured", "")),
    "num": ("0", "1", "false", "true", "-1", "null", "5", "1e400", "9" * 400),
    "den": ("0", "1", "5", "null", "-1", "false"),
    "exact": _quoted(("1/0", "1e999999999", "1", "0/1", "-1", "nan")), "value": ("0", "1", "null", "1e400", "NaN"),
    "unfrozen": ("true", "false", '"yes"', "null", "1"), "allow_gold_errors": ("true", "false", '"yes"', "0"),
    "trec": ("true", "false", "null", "1"), "baseline_from_command_line": ("true", "false", "null"),
    "answerable": ("true", "false", "1", "null"), "qid": _quoted(("S1", "S2", "A1", "N1", "", "Q1", "s1", " S1")),
    "label": _quoted(("VALID", "REJECT", "ABSTAIN", "NOT_IN_CONTEXT", "INVALID", "valid", "")),
    "e2e_ms": ("0", "-1", "1e308", "1e-300", "true", '"5"'), "load_rps": ("0", "-1", "1e308", "5", "true"),
    "knobs": ("{}", '"a=1;b=2"', '"{\\"a\\": 1}"', "null", '{"a": {"b": [1]}}'),
    "offsets": ("[0, 0]", "[5, 1]", "[-1, 9]", "[0, 1e300]", "[0]", "[0, 9223372036854775808]"),
    "files": ("{}", '{"../x": {"bytes": 1, "sha256": "x"}}', '{"/dev/zero": {"bytes": 0, "sha256": ""}}'),
    "bytes": ("0", "-1", "1", "9223372036854775808"), "sha256": _quoted(("", "0" * 64, "x", "A" * 64)),
    "dimension": ("0", "-1", "1", "999999999"), "limit": ("0", "-1", "1", "999999999"),
    "n": ("0", "-1", "3", "999999999999", "true"), "attempts": ("-1", "0", "999999999999999999999"),
}  # fmt: skip
PATH_KEYS = {"gold", "traces", "corpus", "lock", "live", "live_corpus", "redirects", "questions", "outputs",
             "definition", "subset", "provenance", "runs", "prices", "pairs", "scholar", "auditor", "raters",
             "operators", "audit", "tsv", "baseline", "path", "file", "source_path", "target"}  # fmt: skip
NEW_KEYS = ("qid", "q_id", "id", "claim", "x", "citations", "answerable", "error", "__class__", "", "a.b", *_GATE_KEYS)
"""Names that a member may get: aliases, and keys that mean something elsewhere."""
TOML_LINES = (
    "[[gate]]", '[[gate]]\nmetric = "answers.over_refusal"\nmax = 0.5', "[[waiver]]", "[answers]", "[freeze]",
    '[[gate]]\nmetric = "answers.support"\nmin = 0.9\noptional = true', "regression = true", "regression = false",
    '[[gate]]\nmetric = "answers.precision"\nmin = 0.9\noptional = true\nslice = "topic=nope"', "defaults = false",
    '[[waiver]]\ngate = "answers.precision"\nreason = "x"\nowner = "y"\nexpires = 2020-01-01',
    '[[waiver]]\ngate = "answers.precision"\nreason = ""\nowner = ""\nexpires = 2099-01-01',
    '[[waiver]]\ngate = "*"\nreason = "x"\nowner = "y"\nexpires = 2099-01-01', "gate = []", "waiver = []",
    '[[gate]]\nmetric = "answers.precision"\nmax = 0.80', '[[gate]]\nmetric = "answers.precision"\nmin = 0',
    '[[gate]]\nmetric = "answers.missing"\nmax = 1000000000', 'include = "../outside/precious.txt"', "= 1", "x", "[",
    "[a.b.c]", "version = 1", "\x00", "# \x1b[2J", "a" * 3000 + " = 1", '"" = 1', "[answers.gold]", "[[answers]]",
)  # fmt: skip
BECOME = (
    {"what": "fifo"}, {"what": "folder"}, {"what": "link", "target": "/dev/zero"},
    {"what": "link", "target": "/dev/null"}, {"what": "link", "target": "../odd/loop"},
    {"what": "link", "target": "nothing"},
    {"what": "link", "target": "../outside/precious.txt"},
)  # fmt: skip
