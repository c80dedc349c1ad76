"""The first step that went wrong with a question, and what to do about it."""

from ragworthy.glossary.entry import Entry, Kind

_CAUSE = Kind.CAUSE

CAUSES = (
    Entry(
        "not_in_corpus",
        _CAUSE,
        "The corpus that was given holds nothing of the gold evidence, and none was retrieved.",
        "Gold evidence is terms#4; none of the 535 chunks of the corpus is it.",
        "Check that the document is indexed, and that the gold set names it as it is today ('ragworthy gold lint').",
        see=("index",),
    ),
    Entry(
        "not_retrieved",
        _CAUSE,
        "No gold evidence is among the results; or, with a corpus, not the chunk with the gold text.",
        "10 results, 0 of the 2 gold chunks among them.",
        "Search the index for the question ('ragworthy index search'); look at embeddings, filters and chunking.",
        see=("retrieval",),
    ),
    Entry(
        "below_k",
        _CAUSE,
        "The first gold evidence is below rank k.",
        "The gold chunk is at rank 8, and k is 5.",
        "Look at the ranking and the reranker, or hand more results to the answer.",
        see=("ranking", "k"),
    ),
    Entry(
        "not_cited",
        _CAUSE,
        "Gold evidence is among the first k, and none of it is cited.",
        "The gold chunk is at rank 2; the answer cites rank 1 only.",
        "Look at how citations are chosen; compare the cited text with the gold text.",
        see=("citation",),
    ),
    Entry(
        "out_of_scope",
        _CAUSE,
        "The answer cites an id that was not retrieved.",
        "Cited is bucket-2, retrieved were buckets#1 to buckets#5.",
        "Let answers cite only what they were given.",
        see=("citation", "OUT_OF_SCOPE"),
    ),
    Entry(
        "claim_wrong",
        _CAUSE,
        "Gold evidence is cited, and the claim is empty or lacks the gold text.",
        'The cited chunk says "30 days", the claim "60 days".',
        "Look at the prompt and the model; or the gold set asks for a wording that no right answer has.",
        see=("generation",),
    ),
    Entry(
        "refused_with_evidence",
        _CAUSE,
        "The pipeline refused, with gold evidence among the first k.",
        "The gold chunk is at rank 1 of 5, and the answer is \"not in context\".",
        "The guard or the threshold of the refusal is too strict, or the fact is split over several chunks.",
        see=("refusal", "OVER_REFUSAL"),
    ),
    Entry(
        "answered_without_evidence",
        _CAUSE,
        "A question that the corpus has no answer to was answered.",
        "3 of 24 unanswerable questions got an answer.",
        "Make the pipeline refuse where nothing that it found answers the question.",
        see=("refusal", "HALLUCINATION"),
    ),
    Entry(
        "constraint_broken",
        _CAUSE,
        "The locked constraints were not echoed, or are contradicted.",
        'Locked is "plan = Pro", the answer echoes 0 of 1 constraints.',
        "Compare constraints_echo with the constraints of the gold item.",
        see=("constraints", "SCU"),
    ),
    Entry(
        "target_error",
        _CAUSE,
        "The pipeline reported an error in place of an answer.",
        'The trace holds "error": "timeout" after 60 seconds.',
        "Look at the error field of the trace, then run it again.",
        see=("pipeline", "ERROR"),
    ),
    Entry(
        "missing",
        _CAUSE,
        "There is no trace of the question.",
        "72 questions, 70 traces.",
        "Run the pipeline over the whole gold set.",
        see=("pipeline", "MISSING"),
    ),
)  # fmt: skip
