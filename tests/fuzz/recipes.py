"""Files that would be large in the repository; they are made when a kept case needs them."""

import gzip
import io
import json

GOLD_LINE = {
    "qid": "A1",
    "question": "Does X allow null keys?",
    "answerable": True,
    "gold_claim_substr": ["rejects null keys"],
    "gold_citations": ["p1#2"],
}


def parquet_dictionary_bomb() -> bytes:
    """Two thousand rows that share one text of 4 MB: two kilobytes on disk, gigabytes as records."""
    import pyarrow as pa
    from pyarrow import parquet

    many = 2048
    claim = pa.DictionaryArray.from_arrays(pa.array([0] * many, pa.int32()), pa.array(["x" * (4 << 20)]))
    table = pa.table(
        {
            "qid": pa.array([f"A{n}" for n in range(many)]),
            "question": claim,
            "answerable": pa.array([False] * many),
        }
    )
    out = io.BytesIO()
    parquet.write_table(table, out, compression="zstd", use_dictionary=True)
    return out.getvalue()


def blank_lines_gz() -> bytes:
    """256 MB of blank lines in 256 kB."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=9, mtime=0) as file:
        for _ in range(256):
            file.write(b"\n" * (1 << 20))
    return out.getvalue()


def question_array_gz() -> bytes:
    """A question array of one gigabyte of spaces in one megabyte."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6, mtime=0) as file:
        file.write(b"[")
        for _ in range(1024):
            file.write(b" " * (1 << 20))
        file.write(b"]")
    return out.getvalue()


def qrels_gz() -> bytes:
    """Judgements of one line with a gigabyte of letters, in one megabyte."""
    out = io.BytesIO()
    with gzip.GzipFile(fileobj=out, mode="wb", compresslevel=6, mtime=0) as file:
        file.write(b"q1 0 ")
        for _ in range(1024):
            file.write(b"d" * (1 << 20))
        file.write(b" 1\n")
    return out.getvalue()


def long_retrieved() -> bytes:
    """One trace that retrieves and cites 60,000 ids."""
    ids = [f"p{n}#1" for n in range(60_000)]
    answer = {"claim": "X rejects null keys.", "citations": ids}
    return json.dumps({"qid": "A1", "retrieved_ids": ids, "answer_json": answer}).encode() + b"\n"


def long_claims() -> bytes:
    """Four runs of one question with claims of a megabyte that differ everywhere."""
    rows = []
    for seed in range(4):
        claim = " ".join(f"{(n * 7919 + seed * 104729) % 100_003}" for n in range(170_000))
        answer = {"claim": claim, "citations": ["p1#2"]}
        rows.append({"qid": "A1", "seed": seed, "retrieved_ids": ["p1#2"], "answer_json": answer})
    return b"".join(json.dumps(row).encode() + b"\n" for row in rows)
