"""What the frameworks themselves retrieve for each question, and what the stand-in says of it: nothing of Ragworthy.

python expected.py lc|li|hs QUESTION …
"""

import hashlib
import json
import sys

import standin

which, *questions = sys.argv[1:]


def found(question: str) -> list[tuple[str, str]]:
    """Ids and texts, best first."""
    if which == "lc":
        import lc

        documents = lc.retriever.invoke(question)
        return [(f"{one.metadata['source']}@{one.metadata['start_index']}", one.page_content) for one in documents]
    if which == "hs":
        import hs

        documents = hs.InMemoryBM25Retriever(hs.store, top_k=3).run(query=question)["documents"]
        return [(one.id, one.content) for one in documents]
    import li

    texts = [one.node.get_content() for one in li.retriever.retrieve(question)]
    ids = [hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16] for text in texts]
    return [(f"sha256:{name}", text) for name, text in zip(ids, texts, strict=True)]


told = {}
for question in questions:
    pairs = found(question)
    told[question] = {
        "ids": [name for name, _ in pairs],
        "texts": [text for _, text in pairs],
        "said": standin.said(question, [text for _, text in pairs]),
    }
print(json.dumps(told))
