"""The keys of a policy and of a definition, section by section, with what they mean; suites declare their own."""

_FORM = 'how texts are made comparable: "exact", "nfkc", "folded" or "letters"; default "nfkc" (version 1: "exact")'

KEYS: dict[str, dict[str, str]] = {
    "": {
        "version": "the policy format; 1",
        "evidence": '"point" (the value decides) or "interval" (the 95 % interval decides), for gates on one number; '
        "gates that compare are decided by the questions that changed",
        "alpha": "how often a verdict may call a loss proven where nothing changed; default 0.05",
        "cluster": 'which questions stand or fall together: those of one "document" (default), or each "question"',
        "seed": "where chance begins when a loss is tested; default 0",
        "defaults": "whether the default gates of a suite hold beside those that are named; default true",
        "packs": "gate packs that hold: sets of thresholds by name, e.g. canary; 'ragworthy explain packs' lists them",
        "plugins": "metrics of your own: paths of Python files, or names of installed plugins; their code is run",
        "baseline": 'path of the JSON report of an accepted run, for max_drop; or "history:NAME", a blessed run',
        "allow": "what may differ from the baseline or from live, because that is what is tried: normaliser, reranker, "
        "retriever",
        "regression": "whether the usual rules against the baseline are added",
        "freeze": "who must sign the gold set",
        "history": "where earlier runs are kept",
        "gate": "a rule; repeat [[gate]]",
        "waiver": "a failing gate that may be ignored for a while; repeat [[waiver]]",
    },
    "freeze": {"signers": "names that must be among the signers of the lock"},
    "history": {
        "store": 'path of the store, or postgresql://…; default ".ragworthy/history.db"; RAGWORTHY_STORE overrides it',
        "eval": "a folder that gets last_report.json, report.md and a line in history.jsonl after each gate",
    },
    "gate": {
        "metric": "id or short name of the metric",
        "min": "the least value that passes",
        "max": "the greatest value that passes",
        "max_drop": "how much worse than live or the baseline the value may be, in absolute points",
        "max_worse": "how much worse than live or the baseline, as a share of it: 0.15 is 15 %",
        "suite": 'the suite to judge, for a metric that another one borrows: "latency" with answers.precision',
        "slice": 'judge only the questions of this slice, e.g. "topic=billing"',
        "min_n": "with fewer cases than this the gate is undecided",
        "evidence": 'overrides what decides this gate: "point", "interval", or "paired" (the questions that changed), '
        'which is the default of max_drop and max_worse; there "anytime" is for evidence that grows until it decides',
        "min_effect": "with max_drop or max_worse: a proven loss fails the gate only beyond this; default: that limit",
        "must_pass": "qids that must each be good; of several runs in most of them",
        "rerun": "with must_pass: a question that fails in its only run leaves the gate undecided, to be asked again",
        "optional": "when true, the gate may be unmeasured",
        "review": "[low, high]: a value inside is for a person to decide; with max_drop or max_worse, a loss inside",
        "why": "shown in reports",
    },
    "waiver": {
        "gate": "the gate's metric (with [slice] where it has one)",
        "reason": "why it may be ignored",
        "owner": "who answers for it",
        "expires": "the last day it holds, YYYY-MM-DD",
    },
    "definition": {
        "version": "the format of a definition: 2, or 1, in which texts are compared as they are written",
        "id": "the name that reports show",
        "expected": 'dotted keys below expected of a question that lead to the right fields; "" for expected itself; '
        'default "answer_example"',
        "placeholders": 'texts that show that a template was not filled in; default ["string"]',
        "strata": "fields that results are split by and that a subset is drawn evenly over; default none",
        "good": "the score from which an answer counts as good; default 95",
        "field": "a scored field; repeat [[field]]",
    },
    "field": {
        "name": "the name of the field in reports: small letters, digits and _",
        "kind": "label, list, keywords, grounding, number, date, enum or boolean",
        "weight": "its part of the score; all weights sum to exactly 1",
        "at": "dotted keys that lead to the field in the answer; default: its name",
        "required": "whether an answer without it is not a valid answer; default true",
    },
    "field.label": {
        "match": '"fuzzy" (one contains the other, or they are alike) or "exact"; default "fuzzy"',
        "threshold": "how alike the character pairs must be, above 0 and up to 1; default 0.72",
        "contained": "the least share of the longer text that a contained one must have; default 0: any text will do",
        "form": _FORM,
    },
    "field.list": {
        "cap": "how many items of the answer count; default 12",
        "limit": "more items than this are a warning; 0 for no limit; default 0",
        "match": '"fuzzy" (one contains the other, or they are alike) or "exact"; default "fuzzy"',
        "threshold": "how alike the character pairs must be, above 0 and up to 1; default 0.72",
        "contained": "the least share of the longer text that a contained one must have; default 0: any text will do",
        "form": _FORM,
    },
    "field.keywords": {
        "first": "how many keywords of the expected text count; default 30",
        "hits": "how many of them give full marks; default 8",
        "length": "texts with fewer characters get less; default 40",
    },
    "field.grounding": {
        "entries": "how many entries of the answer count; default 12",
        "refs": "how many references of an entry count; default 6",
        "anchors": "how many anchors of a reference count; default 6",
        "anchor_scope": '"context" (an anchor may stand anywhere in it) or "file" (in the file named); '
        'default "context"',
        "form": _FORM,
    },
    "field.number": {
        "tolerance": "how far off a number may be; default 0",
        "relative": "the same as a share of the expected number; the wider one counts; default 0",
    },
    "field.date": {"tolerance_days": "how many days off a date may be; default 0"},
    "field.enum": {"values": "the texts that the field can have"},
    "field.boolean": {},
}
