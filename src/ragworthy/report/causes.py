"""What each cause means and what to do about it, for `explain`."""

from ragworthy.names import Cause

CAUSES: dict[Cause, tuple[str, str]] = {
    Cause.NOT_IN_CORPUS: (
        "The corpus that was given holds nothing of the gold evidence, and none was retrieved.",
        "Check that the document is indexed, and that the gold set names it as it is today ('ragworthy gold lint').",
    ),
    Cause.NOT_RETRIEVED: (
        "No gold evidence is among the results; or, with a corpus, not the chunk with the gold text.",
        "Search the index for the question ('ragworthy index search'); look at embeddings, filters and chunking.",
    ),
    Cause.BELOW_K: (
        "The first gold evidence stands below rank k.",
        "Look at the ranking and the reranker, or hand more results to the answer.",
    ),
    Cause.NOT_CITED: (
        "Gold evidence is among the first k, and none of it is cited.",
        "Look at how citations are chosen; compare the cited text with the gold text.",
    ),
    Cause.OUT_OF_SCOPE: (
        "The answer cites an id that was not retrieved.",
        "Let answers cite only what they were given.",
    ),
    Cause.CLAIM_WRONG: (
        "Gold evidence is cited, and the claim is empty or lacks the gold text.",
        "Look at the prompt and the model; or the gold set asks for a wording that no right answer has.",
    ),
    Cause.REFUSED: (
        "Refused, with gold evidence among the first k.",
        "The guard or the threshold of the refusal is too strict, or the fact is split over several chunks.",
    ),
    Cause.ANSWERED: (
        "A question that the corpus has no answer to was answered.",
        "Make the pipeline refuse where nothing that it found answers the question.",
    ),
    Cause.CONSTRAINT_BROKEN: (
        "The locked constraints were not echoed, or are contradicted.",
        "Compare constraints_echo with the constraints of the gold item.",
    ),
    Cause.TARGET_ERROR: (
        "The pipeline reported an error in place of an answer.",
        "Look at the error field of the trace, then run it again.",
    ),
    Cause.MISSING: ("There is no trace of the question.", "Run the pipeline over the whole gold set."),
}
