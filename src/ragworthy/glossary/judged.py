"""Verdicts, outcomes of gates, fates of questions, and stages."""

from ragworthy.glossary.entry import Entry, Kind

_VERDICT, _OUTCOME, _FATE, _STAGE = Kind.VERDICT, Kind.OUTCOME, Kind.FATE, Kind.STAGE
_LEDGER = "Of 72 questions in the ledger of precision: 47 scored, 20 refused, 1 missing, 2 errored, 2 not applicable."

JUDGED = (
    Entry(
        "SHIP",
        _VERDICT,
        "Every gate passes on valid evidence; exit code 0.",
        "5 of 5 gates pass, precision with 0.93 against at least 0.80: SHIP, exit 0.",
        see=("gate", "docs/verdicts.md"),
    ),
    Entry(
        "NO-SHIP",
        _VERDICT,
        "At least one gate fails on valid evidence; exit code 1.",
        "Precision is 28 of 47 = 0.5957 against at least 0.80: NO-SHIP, exit 1.",
        "Read the gates that fail, then 'ragworthy show QID' for a question that went wrong.",
        also=("NOSHIP", "NO_SHIP"),
        see=("gate", "docs/verdicts.md"),
    ),
    Entry(
        "INCONCLUSIVE",
        _VERDICT,
        "No gate fails, and at least one cannot be decided on these questions; exit code 3.",
        "6 of 100 answers got worse and 1 better, where a drop of 0.02 is allowed: 0.05 is more, but p = 0.063 does "
        "not prove it: INCONCLUSIVE, exit 3.",
        "Ask more questions: the report says how many are needed.",
        see=("undecided", "docs/verdicts.md"),
    ),
    Entry(
        "INVALID",
        _VERDICT,
        "The evidence supports no verdict at all, for example because traces are missing or a gate was not measured; "
        "exit code 4.",
        "2 of 72 questions have no trace: INVALID, exit 4, whatever the other 70 say.",
        "Fix what the report lists as not valid, then run the gate again.",
        see=("not_measured", "docs/verdicts.md"),
    ),
    Entry(
        "pass",
        _OUTCOME,
        "The value is on the good side of the threshold, or exactly on it.",
        "0.80 against at least 0.80 passes; 15999 of 20000 = 0.79995 does not.",
        see=("margin",),
    ),
    Entry(
        "fail",
        _OUTCOME,
        "The value is on the bad side of the threshold; where a gate compares two runs, a loss is proven.",
        "3 of 24 unanswerable questions were answered: 0.125 against at most 0.05 fails.",
        see=("paired",),
    ),
    Entry(
        "undecided",
        _OUTCOME,
        "Neither pass nor fail can be shown: too few cases, a value in the review band, an interval on both sides of "
        "the threshold, or a loss that is not proven.",
        'Under evidence = "interval", 17 of 18 right is 0.944 with an interval from 0.742 to 0.990: at least 0.80 is '
        "undecided.",
        "Ask more questions.",
        see=("interval", "min_n", "paired"),
    ),
    Entry(
        "not_measured",
        _OUTCOME,
        "The metric has no value here, so the gate cannot be judged; unless the gate is optional, the verdict is "
        "INVALID.",
        "Every answer was a refusal, so precision is 0 of 0: not measured, and not 0.",
        "Give the files that the metric needs, or mark the gate optional = true.",
        also=("not measured",),
        see=("INVALID",),
    ),
    Entry("scored", _FATE, "The question counts as a case of the metric.", _LEDGER, see=("ledger",)),
    Entry(
        "refused",
        _FATE,
        "The pipeline refused, so a metric of answers has nothing to look at.",
        _LEDGER,
        see=("ledger", "refusal"),
    ),
    Entry(
        "missing",
        _FATE,
        "There is no trace of the question; one missing trace makes the verdict INVALID.",
        _LEDGER,
        "Run the pipeline over the whole gold set.",
        see=("ledger", "answers.missing"),
    ),
    Entry(
        "errored",
        _FATE,
        "The trace has an error instead of an answer; it counts against the gates, never as an answer or a refusal.",
        "30 of 50 replies are errors: more than half, so the verdict is INVALID.",
        "Ask these questions again: 'ragworthy run … --resume --retry-errors'.",
        see=("ledger", "ERROR"),
    ),
    Entry(
        "not_applicable",
        _FATE,
        "The metric does not ask about this question.",
        "Under-refusal is about the 24 unanswerable questions of 72; to the other 48 it does not apply.",
        also=("not applicable",),
        see=("ledger",),
    ),
    Entry(
        "pipeline",
        _STAGE,
        "The pipeline as a whole: there is no trace, or an error instead of an answer.",
        "5 of 72 traces hold \"error\": \"timeout\": stage pipeline 5.",
        "Look at the error of the trace and run it again.",
    ),
    Entry(
        "index",
        _STAGE,
        "The index: what answers the question is not in it, or is as far from the question as unrelated text.",
        "The gold chunk terms#4 is in none of the 535 chunks: stage index.",
        "Check that the document is indexed: 'ragworthy index check INDEX --gold GOLD'.",
    ),
    Entry(
        "chunking",
        _STAGE,
        "The way documents are cut: the right section was found, but not the chunk that answers.",
        "Section 1.2 came back at rank 1 with its first chunk; the answer is in its second.",
        "Build the index with another --limit, or compare two with 'ragworthy index diff'.",
    ),
    Entry(
        "retrieval",
        _STAGE,
        "The search: no relevant chunk was returned, though the index has one.",
        "None of 10 results is one of the 2 relevant chunks.",
        "Try the question: 'ragworthy index search INDEX QUESTION'; look at embeddings and filters.",
    ),
    Entry(
        "ranking",
        _STAGE,
        "The order of the results: a relevant chunk was returned, but below rank k.",
        "The relevant chunk is at rank 8, and k is 5.",
        "Look at the reranker, or hand more results to the answer.",
    ),
    Entry(
        "citation",
        _STAGE,
        "What the answer cites: the evidence was there, and something else was cited, or an id that was never "
        "retrieved.",
        "H001 cites bucket-2; retrieved was buckets#2.",
        "Compare the ids in answers with those of the index.",
    ),
    Entry(
        "generation",
        _STAGE,
        "The text of the answer: the right evidence is cited, and the claim is empty or says something else.",
        'The cited chunk says 30 days, the claim "60 days".',
        "Look at the prompt and the model, or at the wording that the gold set asks for.",
    ),
    Entry(
        "refusal",
        _STAGE,
        "The decision to answer or not: refused with the evidence at hand, or answered where there is none.",
        "4 of 24 unanswerable questions were answered: stage refusal 4.",
        "Move the threshold of the guard: 'ragworthy experiment tune' does it for the built-in pipeline.",
    ),
    Entry(
        "constraints",
        _STAGE,
        "Locked constraints: a right and cited answer does not echo them, or contradicts one.",
        '1 of 12 items with "plan = Pro" was answered for another plan.',
        "Compare constraints_echo of the trace with constraints of the gold item.",
    ),
    Entry(
        "votes",
        _STAGE,
        "The two validators: they disagree, or only one voted.",
        "7 of 40 pairs disagree: stage votes 7.",
        "Look at the pairs with 'ragworthy score agreement … --item ID'.",
    ),
)  # fmt: skip
