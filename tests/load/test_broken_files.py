"""Broken input files: each says exactly what is wrong, where, and what to do; nothing is scored, nothing falls over.

The small files are in `broken/`, byte for byte; the large ones are made here. All commands run with `broken/` (or
the folder of the made files) as the working folder.
"""

import contextlib
import gzip
import io
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import textwrap
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import pytest
import zstandard

from places import BROKEN, TESTS
from ragworthy import files
from ragworthy.cli.main import main
from ragworthy.codes import CATALOGUE
from ragworthy.load import lines, sources
from soak import SOAK

# What each code advises, as it is below the first problem with that code.
ADVICE = {
    "RW-F01": (
        "  file_missing: Check the path; it is relative to the working folder, or to the policy's "
        "folder when the policy names it."
    ),
    "RW-F02": "  is_a_folder: Name the file inside the folder. "
    "Where records are read, a folder that holds nothing but records (.jsonl, .gz, .parquet …) stands for its files.",
    "RW-F03": "  unreadable: Check its permissions.",
    "RW-F04": "  empty_file: Check how it was written; a gate never passes on nothing.",
    "RW-F05": (
        "  line_too_long: JSONL needs one record per line; was a JSON array or a single huge object written instead?"
    ),
    "RW-F06": "  not_utf8: Write it as UTF-8 (a BOM is tolerated).",
    "RW-F07": "  bad_json: Write one JSON object per line; NaN and Infinity are not JSON.",
    "RW-F08": "  not_an_object: Write one JSON object per line.",
    "RW-F09": "  cut_off: The writer died or the disk was full: write the file again.",
    "RW-F10": "  nul_byte: The file is damaged or not UTF-8 (UTF-16?): write it again as UTF-8.",
    "RW-F11": "  too_deep: A record is flat; look at what wrote this line.",
    "RW-F12": "  bad_compression: Compress it again.",
    "RW-F13": "  bad_parquet: Check that it is a whole Parquet file.",
    "RW-F14": ("  cannot_write: Check the folder, its permissions and the free space; the old file is untouched."),
    "RW-F15": "  extra_missing: Install it with the pip line shown.",
    "RW-F16": "  changed_meanwhile: Let the writer finish, then run again.",
    "RW-F22": (
        "  foreign_file: Do as the line says, and give what comes of it; docs/troubleshooting.md has every case."
    ),
    "RW-F17": (
        "  unknown_format: Use one of those that are named; reports are .html .json .md .xml .txt, "
        "rows .jsonl .parquet .csv."
    ),
    "RW-G01": "  gold_qid: Give every item a non-empty string as qid.",
    "RW-G02": (
        "  gold_qid_repeated: Make every qid unique; clone an item under a new qid instead of changing its meaning."
    ),
    "RW-G03": '  gold_type: Change the value to the type named; ids are texts, so quote numbers: "4", not 4.',
    "RW-G04": "  gold_answerable: Set answerable to true or false (a JSON boolean).",
    "RW-G05": "  gold_empty: An empty gold set can show nothing: add questions.",
    "RW-G06": (
        "  answerable_without_citations: Write what a right claim contains (gold_claim_substr), or name the evidence: "
        "its text (gold_evidence), where it stands (gold_source) or the ids of its chunks (gold_citations)."
    ),
    "RW-G07": (
        '  only_short_substr: Give a longer piece, or leave short_substr at "word" (the default), under which short '
        "pieces count as whole words."
    ),
    "RW-G08": "  unanswerable_with_gold: Empty gold_claim_substr and gold_citations (in gold of retrieval: relevant), "
    "remove gold_reference and gold_evidence, or set answerable to true.",
    "RW-T01": "  trace_qid: Write the qid of the gold item as a string in qid (or q_id).",
    "RW-T02": '  trace_type: Change what the pipeline writes (ids are texts, so quote numbers: "4", not 4); '
    "see the trace contract in docs/formats.md.",
    "RW-C01": "  chunk_record: Chunks need chunk_id and text, both strings.",
    "RW-K01": "  pack: A pack has an id and [[rule]] tables with locked and claim, both regular expressions.",
    "RW-B01": "  baseline_unreadable: Name a JSON report written with -o FILE.json by an accepted run.",
    "RW-L01": "  lock_unreadable: Freeze the gold set again with 'ragworthy gold freeze'.",
    "RW-L02": (
        "  gold_not_frozen: Restore it, or freeze the change with 'ragworthy gold freeze --signer "
        "NAME --reason WHY'; --unfrozen scores it anyway, marked."
    ),
    "RW-L03": "  signer_missing: Have them freeze it: 'ragworthy gold freeze --signer NAME --reason WHY'.",
    "RW-R01": "  receipt_unreadable: Name a receipt written by 'ragworthy gate' or 'score --receipt'.",
    "RW-R02": (
        "  receipt_differs: The line says which input changed or which part differs; run the gate "
        "again on the files you mean."
    ),
}

# Problems by file, without the file's name. The file's name tells which input it stands for (see `command`).
EXACT: dict[str, list[str]] = {
    "baseline-array.json": [": expected object, got array [RW-B01]"],
    "baseline-cut-off.json": [": input data was truncated [RW-B01]"],
    "baseline-den-text.json": [": suites[...].metrics[...].den: expected int | null, got str [RW-B01]"],
    "baseline-gates-broken.json": [": gates[0].op: expected a value, got nothing [RW-B01]"],
    "baseline-gates-number.json": [": gates: expected array, got int [RW-B01]"],
    "baseline-gates-threshold.json": [': gates[0].threshold: expected a number, got "high" [RW-B01]'],
    "baseline-inputs-null.json": [": suites[...].inputs[0]: expected object, got null [RW-B01]"],
    "baseline-inputs-number.json": [": suites[...].inputs: expected array, got int [RW-B01]"],
    "baseline-latin1.json": [": expected UTF-8, got byte 0xe9 at offset 12 [RW-F06]"],
    "baseline-metrics-list.json": [": suites[...].metrics: expected object, got array [RW-B01]"],
    "baseline-no-num.json": [": suites[...].metrics[...].num: expected a value, got nothing [RW-B01]"],
    "baseline-no-suite.json": [": suites.answers: expected this suite, got a report without it [RW-B01]"],
    "baseline-num-infinite.json": [": JSON is malformed: invalid character (byte 292) [RW-B01]"],
    "baseline-num-nan.json": [": JSON is malformed: invalid character (byte 292) [RW-B01]"],
    "baseline-other.json": [": schema: expected a value, got nothing [RW-B01]"],
    "baseline-receipt.json": [': schema: expected "ragworthy.report/1", got "ragworthy.receipt/1" [RW-B01]'],
    "baseline-settings-list.json": [": suites[...].settings: expected object, got array [RW-B01]"],
    "baseline-slices-list.json": [": suites[...].slices: expected object, got array [RW-B01]"],
    "baseline-suites-list.json": [": suites: expected object, got array [RW-B01]"],
    "baseline-suites-null.json": [": suites: expected object, got null [RW-B01]"],
    "baseline-text.json": [": JSON is malformed: invalid character (byte 0) [RW-B01]"],
    "chunks-array.jsonl": [":1: expected a JSON object, got a list [RW-F08]"],
    "chunks-bad-json.jsonl": [':2: expected a JSON object, got {"chunk_id": (Input data was truncated) [RW-F07]'],
    "chunks-empty-id.jsonl": [":1: chunk_id: expected a non-empty string, got nothing [RW-C01]"],
    "chunks-empty.jsonl": [": expected chunks, got none [RW-F04]"],
    "chunks-id-number.jsonl": [":1: chunk_id: expected a string, got 12 [RW-C01]"],
    "chunks-no-id.jsonl": [":3: chunk_id: expected a non-empty string, got nothing [RW-C01]"],
    "chunks-no-text.jsonl": [":1: text: expected a string, got nothing [RW-C01]"],
    "chunks-text-null.jsonl": [":1: text: expected a string, got null [RW-C01]"],
    "chunks-text-number.jsonl": [":3: text: expected a string, got 5 [RW-C01]"],
    "gold-alias-number.jsonl": [":2: q_id: expected a string, got 2 [RW-G03]"],
    "gold-answerable-missing.jsonl": [":2: answerable: expected true or false, got nothing [RW-G04]"],
    "gold-answerable-null.jsonl": [":2: answerable: expected true or false, got null [RW-G04]"],
    "gold-answerable-one.jsonl": [":2: answerable: expected true or false, got 1 [RW-G04]"],
    "gold-answerable-string.jsonl": [':2: answerable: expected true or false, got "true" [RW-G04]'],
    "gold-array-line.jsonl": [":2: expected a JSON object, got a list [RW-F08]"],
    "gold-bad-escape.jsonl": [
        ':2: expected a JSON object, got {"qid": "A2", "question": "\\x big may a… (invalid escape '
        "character in string (byte 29)) [RW-F07]"
    ],
    "gold-bad-json.jsonl": [
        ':2: expected a JSON object, got {"qid": "A2", "answerable": true,, } (object keys must be strings '
        "(byte 33)) [RW-F07]"
    ],
    "gold-bad-then-lint.jsonl": [
        (':2: expected a JSON object, got {"qid": "A2",, } (object keys must be strings (byte 13)) [RW-F07]'),
        ":4: gold_citations: expected gold text or evidence for an answerable question, got neither [RW-G06]",
    ],
    "gold-bad-then-no-qid.jsonl": [
        ":2: expected a JSON object, got a list [RW-F08]",
        ":3: qid: expected a non-empty string, got nothing [RW-G01]",
    ],
    "gold-bad-then-repeated.jsonl": [
        (':1: expected a JSON object, got {"qid": "A0",, } (object keys must be strings (byte 13)) [RW-F07]'),
        ':4: qid: expected a unique id, got "A1" again [RW-G02]',
    ],
    "gold-blank-lines-then-bad.jsonl": [":6: qid: expected a string, got 7 [RW-G03]"],
    "gold-blank.jsonl": [": expected gold records, got none [RW-G05]"],
    "gold-bom-in-the-middle.jsonl": [":2: expected JSON, got a byte order mark inside the file [RW-F07]"],
    "gold-bom-twice.jsonl": [":1: expected JSON, got a byte order mark inside the file [RW-F07]"],
    "gold-citation-many.jsonl": [
        ":2: gold_citations[0]: expected a string, got 1 [RW-G03]",
        ":2: gold_citations[1]: expected a string, got null [RW-G03]",
        ":2: gold_citations[2]: expected a string, got true [RW-G03]",
        ":2: gold_citations[3]: expected a string, got an object [RW-G03]",
        ":2: gold_citations[4]: expected a string, got a list [RW-G03]",
        ":2: gold_citations[5]: expected a string, got 1.5 [RW-G03]",
    ],
    "gold-citation-number.jsonl": [":2: gold_citations[2]: expected a string, got 4 [RW-G03]"],
    "gold-citations-object.jsonl": [":2: gold_citations: expected a list of strings, got an object [RW-G03]"],
    "gold-citations-string.jsonl": [':2: gold_citations: expected a list of strings, got "p2#1" [RW-G03]'],
    "gold-comma-between.jsonl": [
        (
            ':1: expected a JSON object, got {"qid": "A1", "question": "Does X allow… (trailing '
            "characters (byte 145)) [RW-F07]"
        ),
        (
            ':2: expected a JSON object, got {"qid": "A2", "question": "How big may … (trailing '
            "characters (byte 138)) [RW-F07]"
        ),
    ],
    "gold-constraints-number.jsonl": [":2: constraints[0]: expected a string, got 7 [RW-G03]"],
    "gold-control-character.jsonl": [
        ':2: expected a JSON object, got {"qid": "A2", "question": "H\\x1b[31mow … (invalid character '
        "(byte 28)) [RW-F07]"
    ],
    "gold-cut-in-string.jsonl": [":3: expected a whole record, got the end of the file in the middle of one [RW-F09]"],
    "gold-cut-off.jsonl": [":3: expected a whole record, got the end of the file in the middle of one [RW-F09]"],
    "gold-cut-utf8.jsonl": [":3: expected UTF-8, got byte 0xe4 at column 31 [RW-F06]"],
    "gold-cut-with-newline.jsonl": [
        ':3: expected a JSON object, got {"qid": "N1", "quest (invalid character (byte 20)) [RW-F07]'
    ],
    "gold-damaged.jsonl.gz": [
        ": expected a whole gz file, got: Compressed file ended before the end-of-stream marker was reached [RW-F12]"
    ],
    "gold-empty.jsonl": [": expected gold records, got none [RW-G05]"],
    "gold-latin1-skipped.jsonl": [":2: expected UTF-8, got byte 0xe9 at column 152 [RW-F06]"],
    "gold-latin1.jsonl": [":2: expected UTF-8, got byte 0xf9 at column 29 [RW-F06]"],
    "gold-lint-all.jsonl": [
        ":1: gold_citations: expected gold text or evidence for an answerable question, got neither [RW-G06]",
        (":2: gold_claim_substr: expected an entry of 5 characters or more, got only shorter ones [RW-G07]"),
        (":3: answerable: expected no gold text or citations for an unanswerable question, got some [RW-G08]"),
        'short_substr = "word" would make 1 of these items scorable',
    ],
    "gold-nan.jsonl": [
        ':2: expected a JSON object, got {"qid": "A2", "question": "How big may … (invalid character (byte '
        "148)) [RW-F07]"
    ],
    "gold-no-citations-field.jsonl": [
        ":2: gold_citations: expected gold text or evidence for an answerable question, got neither [RW-G06]"
    ],
    "gold-no-citations.jsonl": [
        ":2: gold_citations: expected gold text or evidence for an answerable question, got neither [RW-G06]"
    ],
    "gold-not-json.jsonl": [
        ":2: expected a JSON object, got qid,question,answerable (invalid character (byte 0)) [RW-F07]"
    ],
    "gold-nul-tail.jsonl": [":4: expected JSON, got a NUL byte at column 1 [RW-F10]"],
    "gold-nul.jsonl": [":2: expected JSON, got a NUL byte at column 29 [RW-F10]"],
    "gold-null-line.jsonl": [":2: expected a JSON object, got null [RW-F08]"],
    "gold-old-mac.jsonl": [
        ':1: expected a JSON object, got {"qid": "A1", "question": "Does X allow… (trailing characters '
        "(byte 146)) [RW-F07]"
    ],
    "gold-one-array.json": [
        ": this is a JSON array, and not one object per line: read it with "
        "'ragworthy import jsonl gold-one-array.json --gold-out gold.jsonl' [RW-F22]"
    ],
    "gold-only-bom.jsonl": [": expected gold records, got none [RW-G05]"],
    "gold-only-empty-substr.jsonl": [
        ":2: gold_claim_substr: expected an entry of 5 characters or more, got only shorter ones [RW-G07]"
    ],
    "gold-only-short.jsonl": [
        (":2: gold_claim_substr: expected an entry of 5 characters or more, got only shorter ones [RW-G07]"),
        'short_substr = "word" would make 1 of these items scorable',
    ],
    "gold-over-two-lines.jsonl": [
        (
            ':2: expected a JSON object, got {"qid": "A2", "question": "How big may … (Input data was '
            "truncated) [RW-F07]"
        ),
        (
            ':3: expected a JSON object, got "answerable": true, "gold_claim_substr"… (trailing '
            "characters (byte 13)) [RW-F07]"
        ),
    ],
    "gold-pretty-array.json": [
        ": this is a JSON array, and not one object per line: read it with "
        "'ragworthy import jsonl gold-pretty-array.json --gold-out gold.jsonl' [RW-F22]"
    ],
    "gold-qid-empty.jsonl": [":2: qid: expected a non-empty string, got nothing [RW-G01]"],
    "gold-qid-escape.jsonl": [':3: qid: expected a unique id, got "A\\x1b[31m1" again [RW-G02]'],
    "gold-qid-missing.jsonl": [":2: qid: expected a non-empty string, got nothing [RW-G01]"],
    "gold-qid-null.jsonl": [":2: qid: expected a non-empty string, got nothing [RW-G01]"],
    "gold-qid-number.jsonl": [":2: qid: expected a string, got 2 [RW-G03]"],
    "gold-qid-thrice.jsonl": [
        ':3: qid: expected a unique id, got "A1" again [RW-G02]',
        ':5: qid: expected a unique id, got "A1" again [RW-G02]',
    ],
    "gold-qid-twice.jsonl": [':4: qid: expected a unique id, got "A2" again [RW-G02]'],
    "gold-question-list.jsonl": [":2: question: expected a string, got a list [RW-G03]"],
    "gold-several-faults.jsonl": [
        ":2: constraints: expected a list of strings, got an object [RW-G03]",
        ':2: gold_citations: expected a list of strings, got "p" [RW-G03]',
        ":2: gold_claim_substr[0]: expected a string, got 7 [RW-G03]",
        ":2: qid: expected a string, got 5 [RW-G03]",
        ":2: question: expected a string, got 6 [RW-G03]",
        ':2: answerable: expected true or false, got "no" [RW-G04]',
    ],
    "gold-single-quotes.jsonl": [
        ":2: expected a JSON object, got {'qid': 'A2'} (object keys must be strings (byte 1)) [RW-F07]"
    ],
    "gold-string-line.jsonl": [':2: expected a JSON object, got "A2" [RW-F08]'],
    "gold-substr-string.jsonl": [':2: gold_claim_substr: expected a list of strings, got "5 gigabytes" [RW-G03]'],
    "gold-surrogate-low.jsonl": [":2: expected JSON, got half of a surrogate pair (\\ud8xx) [RW-F07]"],
    "gold-surrogate-skipped.jsonl": [":2: expected JSON, got half of a surrogate pair (\\ud8xx) [RW-F07]"],
    "gold-surrogate.jsonl": [":2: expected JSON, got half of a surrogate pair (\\ud8xx) [RW-F07]"],
    "gold-text.parquet": [
        ": expected a Parquet file, got: Parquet magic bytes not found in footer. Either the file is "
        "corrupted or this is not a parquet file. [RW-F13]"
    ],
    "gold-trailing-comma.jsonl": [
        ':2: expected a JSON object, got {"qid": "A2", "question": "How big may … (trailing comma in '
        "object (byte 137)) [RW-F07]"
    ],
    "gold-two-on-a-line.jsonl": [
        ':1: expected a JSON object, got {"qid": "A1", "question": "Does X allow… (trailing characters '
        "(byte 145)) [RW-F07]"
    ],
    "gold-unanswerable-with-citations.jsonl": [
        ":3: answerable: expected no gold text or citations for an unanswerable question, got some [RW-G08]"
    ],
    "gold-unanswerable-with-text.jsonl": [
        ":3: answerable: expected no gold text or citations for an unanswerable question, got some [RW-G08]"
    ],
    "gold-utf16-no-bom.jsonl": [
        ":1: expected JSON, got a NUL byte at column 2 [RW-F10]",
        ":2: expected JSON, got a NUL byte at column 1 [RW-F10]",
        ":3: expected JSON, got a NUL byte at column 1 [RW-F10]",
        ":4: expected JSON, got a NUL byte at column 1 [RW-F10]",
    ],
    "gold-utf16.jsonl": [
        ":1: expected UTF-8, got byte 0xff at column 1 [RW-F06]",
        ":2: expected JSON, got a NUL byte at column 1 [RW-F10]",
        ":3: expected JSON, got a NUL byte at column 1 [RW-F10]",
        ":4: expected JSON, got a NUL byte at column 1 [RW-F10]",
    ],
    "gold-value-escape.jsonl": [
        ':2: answerable: expected true or false, got "\\x1b[31mred\\x1b[0m\\nlong long long long…" [RW-G04]'
    ],
    "lock-array.lock": [": expected object, got array [RW-L01]"],
    "lock-cut-off.lock": [": input data was truncated [RW-L01]"],
    "lock-items-text.lock": [": items: expected int, got str [RW-L01]"],
    "lock-no-sha.lock": [": sha256: expected a value, got nothing [RW-L01]"],
    "lock-text.lock": [": JSON is malformed: invalid character (byte 5) [RW-L01]"],
    "lock-version.lock": [': schema: expected "ragworthy.lock/1", got "ragworthy.lock/2" [RW-L01]'],
    "pack-bad-pattern.toml": [
        ": rule[0].claim: expected a regular expression, got one that fails: missing ), unterminated "
        "subpattern at position 0 [RW-K01]"
    ],
    "pack-claim-number.toml": [": rule[0].claim: expected a pattern, got 5 [RW-K01]"],
    "pack-id-number.toml": [": id: expected a text, got 7 [RW-K01]"],
    "pack-latin1.toml": [": expected UTF-8, got byte 0xef at offset 7 [RW-F06]"],
    "pack-no-claim.toml": [": rule[0].claim: expected a pattern, got nothing [RW-K01]"],
    "pack-no-id.toml": [": id: expected a text, got nothing [RW-K01]"],
    "pack-no-rules.toml": [": expected [[rule]] tables, got none [RW-K01]"],
    "pack-rule-list.toml": [": rule[0].locked: expected a pattern, got nothing [RW-K01]"],
    "pack-rule-number.toml": [": expected [[rule]] tables, got another value [RW-K01]"],
    "pack-rule-text.toml": [": expected [[rule]] tables, got another value [RW-K01]"],
    "pack-syntax.toml": [
        ": expected TOML, got: Expected ']]' at the end of an array declaration (at line 2, column 7) [RW-K01]"
    ],
    "receipt-array.json": [": expected object, got array [RW-R01]"],
    "receipt-bare.json": [": tool: expected a value, got nothing [RW-R01]"],
    "receipt-big-number.json": [
        ": expected a receipt, got: 12345678901234567890 exceeds safe integer domain for JSON floats [RW-R01]",
    ],
    "receipt-edited.json": [": expected canonical JSON, got bytes that were edited [RW-R02]"],
    "receipt-inputs-number.json": [": inputs: expected array, got int [RW-R01]"],
    "receipt-inputs-text.json": [": inputs[0]: expected object, got str [RW-R01]"],
    "receipt-nan.json": [": expected a receipt, got: JSON is malformed: invalid character (byte 105) [RW-R01]"],
    "receipt-other.json": [': schema: expected "ragworthy.receipt/1", got "ragworthy.report/1" [RW-R01]'],
    "receipt-surrogate.json": [": expected a receipt, got half of a surrogate pair (\\ud8xx) [RW-R01]"],
    "receipt-text.json": [": expected a receipt, got: JSON is malformed: invalid character (byte 0) [RW-R01]"],
    "receipt-tool-null.json": [": tool: expected object, got null [RW-R01]"],
    "trace-alias-number.jsonl": [":2: q_id: expected a string, got 2 [RW-T02]"],
    "trace-answer-encoded.jsonl": [
        ':2: answer_json: expected an object, got "{"claim": "A part may have 5 gigabytes.…" [RW-T02]'
    ],
    "trace-answer-list.jsonl": [":2: answer_json: expected an object, got a list [RW-T02]"],
    "trace-answer-string.jsonl": [':2: answer_json: expected an object, got "A part may have 5 gigabytes." [RW-T02]'],
    "trace-answer-true.jsonl": [":2: answer_json: expected an object, got true [RW-T02]"],
    "trace-array-line.jsonl": [":2: expected a JSON object, got a list [RW-F08]"],
    "trace-bad-json.jsonl": [
        ':2: expected a JSON object, got {"qid": "A2" "retrieved_ids": []} (expected \',\' or \'}\' (byte 13)) [RW-F07]'
    ],
    "trace-bad-line.jsonl.gz": [":4: qid: expected a string, got 1 [RW-T02]"],
    "trace-bad-then-no-qid.jsonl": [
        ":2: qid: expected a string, got 5 [RW-T02]",
        ":3: qid: expected a non-empty string, got nothing [RW-T01]",
    ],
    "trace-bom-in-the-middle.jsonl": [":2: expected JSON, got a byte order mark inside the file [RW-F07]"],
    "trace-citations-lists.jsonl": [
        ":2: answer_json.citations[1]: expected a string, got an object or a list [RW-T02]",
    ],
    "trace-citations-objects-and-bad-json.jsonl": [
        ":2: answer_json.citations[0]: expected a string, got an object or a list [RW-T02]",
        ':3: expected a JSON object, got {"qid": "N1", (Input data was truncated) [RW-F07]',
    ],
    "trace-citations-objects.jsonl": [
        ":2: answer_json.citations[0]: expected a string, got an object or a list [RW-T02]",
    ],
    "trace-claim-list.jsonl": [":2: answer_json.claim: expected a string, got a list [RW-T02]"],
    "trace-claim-number.jsonl": [":2: answer_json.claim: expected a string, got 5 [RW-T02]"],
    "trace-crc.jsonl.gz": [": expected a whole gz file, got: CRC check failed 0x0 != 0x75fee838 [RW-F12]"],
    "trace-cut-at-the-end.jsonl.zst": [
        ": expected a whole zst file, got: the end of the file in the middle of a frame [RW-F12]",
    ],
    "trace-cut-off.jsonl": [":3: expected a whole record, got the end of the file in the middle of one [RW-F09]"],
    "trace-cut.jsonl.gz": [
        ": expected a whole gz file, got: Compressed file ended before the end-of-stream marker was reached [RW-F12]"
    ],
    "trace-cut.jsonl.zst": [": expected a whole zst file, got: the end of the file in the middle of a frame [RW-F12]"],
    "trace-damaged.jsonl.gz": [
        ": expected a whole gz file, got: Error -3 while decompressing data: invalid code -- missing "
        "end-of-block [RW-F12]"
    ],
    "trace-damaged.jsonl.zst": [
        ": expected a whole zst file, got: zstd decompressor error: Restored data doesn't match checksum [RW-F12]",
    ],
    "trace-empty.parquet": [": expected a Parquet file, got: Parquet file size is 0 bytes [RW-F13]"],
    "trace-header-only.jsonl.zst": [
        ": expected a whole zst file, got: the end of the file in the middle of a frame [RW-F12]",
    ],
    "trace-huge-number.jsonl": [":2: qid: expected a string, got 100000000000000000000000000000000000000… [RW-T02]"],
    "trace-latin1-skipped.jsonl": [":2: expected UTF-8, got byte 0xe8 at column 131 [RW-F06]"],
    "trace-latin1.jsonl": [":2: expected UTF-8, got byte 0xe8 at column 72 [RW-F06]"],
    "trace-magic-only.parquet": [
        ": expected a Parquet file, got: Parquet file size is 8 bytes, smaller than the size reported by "
        "footer's (827474256bytes) [RW-F13]"
    ],
    "trace-nan.jsonl": [
        ':2: expected a JSON object, got {"qid": "A2", "retrieved_ids": ["p2#1"]… (invalid character (byte '
        "131)) [RW-F07]"
    ],
    "trace-nul.jsonl": [":2: expected JSON, got a NUL byte at column 71 [RW-F10]"],
    "trace-number-line.jsonl": [":2: expected a JSON object, got 42 [RW-F08]"],
    "trace-over-two-lines.jsonl": [
        (
            ':2: expected a JSON object, got {"qid": "A2", "retrieved_ids": ["p2#1"], (Input data was '
            "truncated) [RW-F07]"
        ),
        (
            ':3: expected a JSON object, got "answer_json": {"claim": "A part may ha… (trailing '
            "characters (byte 14)) [RW-F07]"
        ),
    ],
    "trace-qid-empty.jsonl": [":2: qid: expected a non-empty string, got nothing [RW-T01]"],
    "trace-qid-missing.jsonl": [":2: qid: expected a non-empty string, got nothing [RW-T01]"],
    "trace-qid-null.jsonl": [":2: qid: expected a non-empty string, got nothing [RW-T01]"],
    "trace-qid-number.jsonl": [":2: qid: expected a string, got 2 [RW-T02]"],
    "trace-retrieved-numbers.jsonl": [
        ":2: retrieved_ids[1]: expected a string, got 1 [RW-T02]",
        ":2: retrieved_ids[2]: expected a string, got null [RW-T02]",
    ],
    "trace-retrieved-string.jsonl": [':2: retrieved_ids: expected a list of strings, got "p2#1" [RW-T02]'],
    "trace-several-faults.jsonl": [
        ":2: answer_json.claim: expected a string, got an object [RW-T02]",
        ":2: qid: expected a string, got 5 [RW-T02]",
        ":2: retrieved_ids[0]: expected a string, got 1 [RW-T02]",
    ],
    "trace-surrogate-pair-cut.jsonl": [
        ':2: expected a JSON object, got {"qid": "A2", "retrieved_ids": ["p2#1"]… (invalid character in '
        "unicode escape (byte 78)) [RW-F07]"
    ],
    "trace-surrogate.jsonl": [":2: expected JSON, got half of a surrogate pair (\\ud8xx) [RW-F07]"],
    "trace-tail.jsonl.gz": [": expected a whole gz file, got: Not a gzipped file (b'ta') [RW-F12]"],
    "trace-tail.jsonl.zst": [
        ": expected a whole zst file, got: zstd decompressor error: Unknown frame descriptor [RW-F12]",
    ],
    "trace-text.jsonl.gz": [": expected a whole gz file, got: Not a gzipped file (b'{\"') [RW-F12]"],
    "trace-text.jsonl.zst": [
        ": expected a whole zst file, got: zstd decompressor error: Unknown frame descriptor [RW-F12]",
    ],
    "trace-two-on-a-line.jsonl": [
        ':1: expected a JSON object, got {"qid": "A1", "retrieved_ids": ["p1#2",… (trailing characters '
        "(byte 122)) [RW-F07]"
    ],
}

# Traces that say nothing: no fault, but every trace is missing.
NO_TRACES = [
    "trace-blank.jsonl",
    "trace-empty.jsonl",
    "trace-empty.jsonl.gz",
    "trace-empty.jsonl.zst",
    "trace-nothing-inside.jsonl.gz",
    "trace-nothing-inside.jsonl.zst",
]

# Two records are on a line, but a blank line or a spread-out record makes the counts agree: read as they stand.
UNTIDY = [
    "gold-counts-agree.jsonl",
    "gold-two-on-a-line-and-a-blank.jsonl",
    "gold-two-with-a-blank-between.jsonl",
    "trace-two-on-a-line-and-a-blank.jsonl",
]

# Files that are odd, but sound: they score like the plain ones.
GOOD = sorted(path.name for path in BROKEN.glob("good-*") if "warnings" not in path.name)

# Codes of these families that no file of the answers suite can reach, and why.
EXCUSED: dict[str, str] = {}


class Ended(NamedTuple):
    """How a command ended."""

    code: int
    out: str
    err: str


@pytest.fixture
def attempt(monkeypatch: pytest.MonkeyPatch) -> Callable[..., Ended]:
    """A command in this process, in a folder (default: `broken/`)."""

    def attempted(*args: str | Path, cwd: Path = BROKEN) -> Ended:
        monkeypatch.chdir(cwd)
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            code = main([str(arg) for arg in args])
        return Ended(code, out.getvalue(), err.getvalue())

    return attempted


Attempt = Callable[..., Ended]


def command(name: str) -> list[str]:
    """The command that reads a broken file, told by the beginning of its name."""
    gold, trace, more = "gold.jsonl", "trace.jsonl", []
    role = re.split(r"[-.]", name)[0]
    if role == "receipt":
        return ["verify", name]
    if role == "gold" or (role == "good" and "gold" in name):
        gold = name
    elif role in ("trace", "good"):
        trace = name
    else:
        flag = {"chunks": "--corpus", "pack": "--rule-pack", "baseline": "--baseline", "lock": "--lock"}[role]
        more = [flag, name]
    if any("RW-G07" in line for line in EXACT.get(name, ())):
        more = ["--short-substr", "reject"]
    return ["score", "answers", "--gold", gold, "--trace", trace, *more]


def said(*problems: str) -> str:
    """The whole of stderr for these lines: the advice is below the first problem of each code."""
    lines: list[str] = []
    seen: set[str] = set()
    for problem in problems:
        lines.append(problem)
        code = problem[-7:-1]
        if code in ADVICE and problem.endswith(f"[{code}]") and code not in seen:
            seen.add(code)
            lines.append(ADVICE[code])
    return "".join(f"{line}\n" for line in lines)


def lines_of(name: str) -> list[str]:
    """The expected lines of a file of the table; a line that starts without a colon is not about a place."""
    return [f"{name}{line}" if line.startswith(":") else line for line in EXACT[name]]


def dump(*records: Any) -> str:
    return "".join(f"{one if isinstance(one, str) else json.dumps(one)}\n" for one in records)


@pytest.mark.parametrize("name", EXACT)
def test_the_message_is_exact(name: str, attempt: Attempt) -> None:
    assert attempt(*command(name)) == (2, "", said(*lines_of(name)))


@pytest.mark.parametrize("name", NO_TRACES)
def test_traces_that_say_nothing_are_missing(name: str, attempt: Attempt) -> None:
    done = attempt(*command(name))
    assert (done.code, done.err) == (4, "")
    assert "  not valid: 3 questions have no trace\n" in done.out
    done = attempt(*command(name), "--format", "json")
    report = json.loads(done.out)
    counts = report["suites"]["answers"]["counts"]
    assert (done.code, done.err, report["verdict"], report["exit_code"]) == (4, "", "INVALID", 4)
    assert (counts["gold"], counts["answered"], counts["refused"], counts["missing"]) == (3, 0, 0, 3)


def suite_of(done: Ended) -> dict[str, Any]:
    """The answers suite of a report printed as JSON."""
    suite: dict[str, Any] = json.loads(done.out)["suites"]["answers"]
    return suite


@pytest.mark.parametrize("name", UNTIDY)
def test_two_records_on_a_line_are_refused_whatever_else_the_block_holds(name: str, attempt: Attempt) -> None:
    """A blank line or a record over two lines beside it makes as many records as lines; that excuses nothing."""
    done = attempt(*command(name), "--format", "json")
    assert (done.code, done.out) == (2, "")
    assert re.match(
        rf"{re.escape(name)}:1: expected a JSON object, got .* \(trailing characters .*\[RW-F07\]\n", done.err
    )


@pytest.mark.parametrize("name", GOOD)
def test_odd_but_sound_files_score_like_plain_ones(name: str, attempt: Attempt) -> None:
    plain = attempt(*command("gold.jsonl"), "--format", "json")
    done = attempt(*command(name), "--format", "json")
    assert (plain.code, plain.err, done.code, done.err) == (0, "", 0, "")
    suites = [json.loads(one.out)["suites"]["answers"] for one in (plain, done)]
    for suite in suites:
        suite["inputs"] = [one["records"] for one in suite["inputs"]]
    assert suites[0] == suites[1]


def changed(line: str, **over: Any) -> str:
    return json.dumps(json.loads(line) | over)


UNTIDY_AND: dict[str, tuple[str, dict[str, Any]]] = {
    "a gold item repeated": ("gold", {"qid": "A1"}),
    "a gold item without citations": ("gold", {"answerable": True}),
    "a gold item without a qid": ("gold", {"qid": ""}),
    "a gold item to warn of": ("gold", {"answerable": True, "gold_citations": ["p"]}),
    "a trace without a qid": ("trace", {"qid": ""}),
    "a trace to warn of": ("trace", {"answer_json": {"claim": " Not in context"}}),
    "objects as citations": ("trace", {"answer_json": {"claim": "x", "citations": [{}]}}),
    "a chunk without an id": ("chunks", {"chunk_id": ""}),
}


@pytest.mark.parametrize("case", UNTIDY_AND)
def test_untidy_lines_with_something_else_wrong(case: str, made: Path, attempt: Attempt) -> None:
    """The place is the third line, or that of the untidy line itself; never another, and never a defect."""
    role, over = UNTIDY_AND[case]
    lines = (BROKEN / f"{role}.jsonl").read_text().splitlines()
    name = f"{role}-untidy.jsonl"
    (made / name).write_text(dump(lines[0] + lines[1], "", changed(lines[-1], **over)))
    done = attempt(*command(name), "--format", "json", cwd=made)
    assert done.code in (0, 1, 2, 4), done.err
    if done.code == 2:
        assert done.err.startswith((f"{name}:3: ", f"{name}:1: expected a JSON object, got "))
    else:
        assert {f"{name}:3"} == {place for one in suite_of(done)["warnings"] for place in one["places"]}


def test_blank_lines_count_as_lines(attempt: Attempt) -> None:
    """Warnings name the physical line: blank lines, CRLF and a BOM do not move it."""
    files = ["--gold", "good-blank-warnings-gold.jsonl", "--trace", "good-blank-warnings-trace.jsonl"]
    done = attempt("score", "answers", *files, "--format", "json")
    warnings = json.loads(done.out)["suites"]["answers"]["warnings"]
    places = {one["code"]: one["places"] for one in warnings if one["where"]}
    assert places == {
        "RW-W01": ["good-blank-warnings-trace.jsonl:9"],
        "RW-W04": ["good-blank-warnings-trace.jsonl:6"],
        "RW-W08": ["good-blank-warnings-gold.jsonl:5"],
    }


@pytest.mark.parametrize(("name", "code"), [("trace-answer-empty-list.jsonl", 1), ("trace-huge-exponent.jsonl", 0)])
def test_findings_are_not_faults(name: str, code: int, attempt: Attempt) -> None:
    """An empty list for answer_json is an empty answer; a field that is never scored may hold any number."""
    done = attempt(*command(name), "-q")
    assert (done.code, done.err) == (code, "")


def test_lint_errors_can_be_allowed(attempt: Attempt) -> None:
    for name in EXACT:
        codes = {line[-7:-1] for line in EXACT[name] if line.startswith(":")}
        if codes <= {"RW-G06", "RW-G07", "RW-G08"}:
            done = attempt(*command(name), "--allow-gold-errors", "-q")
            assert done.code in (0, 1, 4), name
            assert done.err == ""


# every file against every command that reads files of its kind: no defect, no traceback, nothing left behind


SWEEPS: dict[str, tuple[str, list[str]]] = {
    "score with slices": ("", ["score", "answers", "FILES", "--slice", "topic", "--slice", "qid"]),
    "score in spite of lint": ("", ["score", "answers", "FILES", "--allow-gold-errors", "--format", "junit"]),
    "score constraints": ("", ["score", "answers", "FILES", "--scu-enforced", "--rule-pack", "wfgy-neg-4"]),
    "doctor": ("", ["doctor", "FILES"]),
    "reference": ("", ["score", "answers", "FILES", "--profile", "reference"]),
    "lint": ("gold", ["gold", "lint", "NAME"]),
    "lint as sarif": ("gold", ["gold", "lint", "NAME", "--format", "sarif", "--short-substr", "word"]),
    "lint as json": ("gold", ["gold", "lint", "NAME", "--format", "json"]),
    "diff": ("gold", ["gold", "diff", "gold.jsonl", "NAME", "--format", "json"]),
    "verify": ("gold", ["gold", "verify", "NAME", "--lock", "lock-other-gold.lock"]),
}


@pytest.mark.parametrize("kind", SWEEPS)
def test_no_command_falls_over(kind: str, attempt: Attempt) -> None:
    only, pattern = SWEEPS[kind]
    fallen = {}
    for path in sorted(BROKEN.iterdir()):
        name = path.name
        if not name.startswith(("gold", "trace", "chunks", "good")) or only not in name:
            continue
        files = command(name)[2:] if kind != "reference" else command(name)[2:6]
        if kind == "doctor" and files[-2] == "--short-substr":  # it looks as scoring does unless told otherwise
            files = files[:-2]
        args = [part for one in pattern for part in (files if one == "FILES" else [name] if one == "NAME" else [one])]
        done = attempt(*args)
        orderly = (
            done.code in (0, 1, 2, 3, 4)
            and "Traceback" not in done.err + done.out
            and all(ch.isprintable() or ch == "\n" for ch in done.err + done.out)
            and (done.code != 2 or (done.out == "" and re.search(r"\[RW-[A-Z]\d\d\]", done.err)))
        )
        if not orderly:
            fallen[name] = done
    assert fallen == {}


@pytest.mark.parametrize("name", sorted(path.name for path in BROKEN.glob("receipt-*")))
def test_no_receipt_falls_over(name: str, attempt: Attempt) -> None:
    done = attempt("verify", name)
    assert done.code in (1, 2), done.err
    assert not re.search(r"Traceback|[A-Z]\w+Error\(", done.err + done.out)


def test_a_lone_repeated_field_is_no_fault(attempt: Attempt, tmp_path: Path) -> None:
    """JSON lets a key are twice; the last one counts, as in every JSON reader of the sources."""
    shutil.copytree(BROKEN, tmp_path, dirs_exist_ok=True)
    lines = (BROKEN / "trace.jsonl").read_text().splitlines()
    (tmp_path / "t.jsonl").write_text("\n".join([lines[0].replace("{", '{"qid": "N1", ', 1), *lines[1:]]) + "\n")
    done = attempt("score", "answers", "--gold", "gold.jsonl", "--trace", "t.jsonl", "-q", cwd=tmp_path)
    assert (done.code, done.err) == (0, "")


def aliased(line: str) -> str:
    """The record with q_id instead of qid."""
    record = json.loads(line)
    return json.dumps({"q_id": record.pop("qid"), **record})


def test_a_trace_without_a_qid_is_no_answer_to_an_alias(made: Path, attempt: Attempt) -> None:
    gold, traces = ((made / f"{role}.jsonl").read_text().splitlines() for role in ("gold", "trace"))
    (made / "g.jsonl").write_text(dump(gold[0], aliased(gold[1]), gold[2]))
    (made / "t.jsonl").write_text(dump(traces[0], changed(traces[1], qid=None), traces[2]))
    done = attempt("score", "answers", "--gold", "g.jsonl", "--trace", "t.jsonl", cwd=made)
    assert done == (2, "", said("t.jsonl:2: qid: expected a non-empty string, got nothing [RW-T01]"))


def test_aliases_are_joined_by_their_value(made: Path, attempt: Attempt) -> None:
    gold, traces = ((made / f"{role}.jsonl").read_text().splitlines() for role in ("gold", "trace"))
    (made / "g.jsonl").write_text(dump(gold[0], aliased(gold[1]), aliased(gold[2])))
    (made / "t.jsonl").write_text(dump(traces[0], aliased(traces[2]), aliased(traces[1])))
    done = attempt("score", "answers", "--gold", "g.jsonl", "--trace", "t.jsonl", "--format", "json", cwd=made)
    assert suite_of(done)["labels"] == {"OK": 2, "REFUSAL_OK": 1}


# nothing there, a folder there, no permission

ROLES = ("--gold", "--trace", "--corpus", "--baseline", "--lock", "--rule-pack", "receipt", "lint", "diff", "freeze")


def reading(role: str, name: str) -> list[str]:
    """A command that reads `name` in this role."""
    if role == "receipt":
        return ["verify", name]
    if role in ("lint", "diff", "freeze"):
        more = {"lint": [], "diff": [name], "freeze": ["--signer", "Ada", "--reason", "why"]}[role]
        return ["gold", role, name, *more]
    files = {"--gold": "gold.jsonl", "--trace": "trace.jsonl"} | {role: name}
    return ["score", "answers", *(part for pair in files.items() for part in pair)]


@pytest.mark.parametrize("role", ROLES)
def test_a_missing_file(role: str, attempt: Attempt) -> None:
    expected = said("nowhere/x.jsonl: expected a file, got nothing at this path [RW-F01]")
    assert attempt(*reading(role, "nowhere/x.jsonl")) == (2, "", expected)


@pytest.mark.parametrize("role", ROLES)
def test_a_folder_instead_of_a_file(role: str, attempt: Attempt, tmp_path: Path) -> None:
    shutil.copytree(BROKEN, tmp_path, dirs_exist_ok=True)
    (tmp_path / "folder.jsonl").mkdir()
    expected = said("folder.jsonl: expected a file, got a folder [RW-F02]")
    assert attempt(*reading(role, "folder.jsonl"), cwd=tmp_path) == (2, "", expected)


@pytest.mark.parametrize("name", ["x.jsonl", "x.jsonl.gz", "x.jsonl.zst", "x.parquet"])
def test_a_missing_file_of_every_format(name: str, attempt: Attempt) -> None:
    expected = said(f"{name}: expected a file, got nothing at this path [RW-F01]")
    assert attempt(*reading("--trace", name)) == (2, "", expected)


AS_NOBODY = """
import contextlib, io, os, sys
from ragworthy.cli.main import main
files = ["--gold", "gold.jsonl", "--trace", "trace.jsonl", "--corpus", "chunks.jsonl", "--rule-pack", "wfgy-neg-4"]
with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
    main(["score", "answers", *files])  # now everything is imported: root's Python may be closed to others
    main(["score", "answers", "--gold", "gold-not-json.jsonl", "--trace", "trace.jsonl"])  # what looks at misfits, too
    main(["gold", "lint", "gold.jsonl"])
    main(["verify", "receipt-edited.json"])
if os.geteuid() == 0:
    os.setgroups([]); os.setgid(65534); os.setuid(65534)
sys.exit(main(sys.argv[1:]))
"""


@pytest.fixture
def open_folder() -> Iterator[Path]:
    """A folder anybody may enter (those of pytest are private)."""
    folder = Path(tempfile.mkdtemp(prefix="ragworthy-open-"))
    try:
        folder.chmod(0o755)
        shutil.copytree(BROKEN, folder, dirs_exist_ok=True)
        yield folder
    finally:
        shutil.rmtree(folder)


def as_nobody(folder: Path, *args: str) -> Ended:
    """A command run without root's right to read everything."""
    line = [sys.executable, "-c", AS_NOBODY, *args]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, timeout=60, check=False)
    return Ended(done.returncode, done.stdout, done.stderr)


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs POSIX users")
@pytest.mark.parametrize("role", ROLES)
def test_a_file_without_permission(role: str, open_folder: Path) -> None:
    (open_folder / "secret.jsonl").write_text("{}\n")
    (open_folder / "secret.jsonl").chmod(0)
    expected = said("secret.jsonl: expected a readable file, got: Permission denied [RW-F03]")
    assert as_nobody(open_folder, *reading(role, "secret.jsonl")) == (2, "", expected)


@pytest.mark.skipif(not hasattr(os, "setuid"), reason="needs POSIX users")
def test_a_folder_without_permission(open_folder: Path) -> None:
    (open_folder / "closed").mkdir()
    (open_folder / "closed/trace.jsonl").write_text("{}\n")
    (open_folder / "closed").chmod(0)
    expected = said("closed/trace.jsonl: expected a readable file, got: Permission denied [RW-F03]")
    assert as_nobody(open_folder, *reading("--trace", "closed/trace.jsonl")) == (2, "", expected)


# codes that need more than a file


def test_an_output_that_cannot_be_written(attempt: Attempt, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    target = tmp_path / "file" / "report.json"
    done = attempt(*command("gold.jsonl"), "-o", target)
    assert (done.code, done.out) == (2, "")
    assert done.err in [
        said(f"{target}: cannot be written: {why} [RW-F14]") for why in ("Not a directory", "File exists")
    ]


def test_an_output_format_that_is_not_known(attempt: Attempt, tmp_path: Path) -> None:
    known = ".json .md .html .xml .txt .jsonl .parquet .csv"
    expected = said(f"report.pdf: expected one of {known}, got .pdf [RW-F17]")
    assert attempt(*command("gold.jsonl"), "-o", "report.pdf") == (2, "", expected)
    expected = said(f"report: expected one of {known}, got no suffix [RW-F17]")
    assert attempt(*command("gold.jsonl"), "-o", "report") == (2, "", expected)


def test_an_extra_that_is_not_installed(attempt: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    expected = said("gold-text.parquet: reading Parquet needs pyarrow: pip install pyarrow (extra: parquet) [RW-F15]")
    assert attempt(*command("gold-text.parquet")) == (2, "", expected)
    target = tmp_path / "rows.parquet"
    expected = said("writing Parquet needs pyarrow: pip install pyarrow (extra: parquet) [RW-F15]")
    assert attempt(*command("gold.jsonl"), "--rows", target) == (2, "", expected)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["gold.jsonl", "trace.jsonl", "chunks.jsonl"])
def test_a_file_that_changes_while_it_is_read(
    name: str, attempt: Attempt, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    shutil.copytree(BROKEN, tmp_path, dirs_exist_ok=True)
    plain = files.sha256_of

    def slow(path: Path) -> str:
        digest = plain(path)
        if path.name == name:
            with path.open("ab") as file:
                file.write(b"\n")
        return digest

    monkeypatch.setattr(lines, "sha256_of", slow)
    expected = said(f"{name}: the file changed while it was being read [RW-F16]")
    assert attempt(*command("gold.jsonl"), "--corpus", "chunks.jsonl", cwd=tmp_path) == (2, "", expected)


def test_a_gold_set_that_is_not_the_frozen_one(attempt: Attempt) -> None:
    done = attempt("gold", "verify", "gold.jsonl", "--lock", "lock-other-gold.lock", "--signer", "Ada")
    assert (done.code, done.err) == (4, "")
    assert done.out == (
        "added: A1\nadded: A2\nadded: N1\n"
        "not frozen: Restore it, or freeze the change with 'ragworthy gold freeze --signer NAME --reason WHY'; "
        "--unfrozen scores it anyway, marked. [RW-L02] (exit 4)\n"
    )
    scored = attempt(*command("lock-other-gold.lock"), "-q")
    why = "the gold set is not the frozen one (its SHA-256 differs from the lock)"
    assert scored == (4, f"verdict: INVALID (exit 4): {why}\n", "")


def test_a_signature_that_is_missing(attempt: Attempt, tmp_path: Path) -> None:
    shutil.copytree(BROKEN, tmp_path, dirs_exist_ok=True)
    assert attempt("gold", "freeze", "gold.jsonl", "--signer", "Ada", "--reason", "r", cwd=tmp_path).code == 0
    done = attempt("gold", "verify", "gold.jsonl", "--signer", "Ada", "--signer", "Bob", cwd=tmp_path)
    assert (done.code, done.err) == (4, "")
    assert done.out == (
        "not signed by Bob\n"
        "not frozen: Have them freeze it: 'ragworthy gold freeze --signer NAME --reason WHY'. [RW-L03] (exit 4)\n"
    )


def test_every_code_has_an_exact_message() -> None:
    """Each code of every family of errors is in an expectation of this file or of another, or is excused."""
    here = Path(__file__)
    wanted = {code for code in CATALOGUE if code[3] not in "UWXP"}
    found = re.compile(r"RW-[A-Z]\d{2,3}")
    tested = set(found.findall(here.read_text(encoding="utf-8").partition("\n}\n")[2]))
    others = [path for path in TESTS.rglob("test_*.py") if path != here]
    elsewhere = {code for path in others for code in found.findall(path.read_text(encoding="utf-8"))}
    assert set(ADVICE) <= wanted
    assert wanted - tested - elsewhere == set()
    assert set(ADVICE) - tested == set(EXCUSED)


def test_every_broken_file_is_used() -> None:
    here = {path.name for path in BROKEN.iterdir() if not path.name.startswith(".")}
    sound = {"gold.jsonl", "trace.jsonl", "chunks.jsonl"} | {name for name in here if name.startswith("good-")}
    others = {
        "lock-other-gold.lock",
        "receipt-inputs-empty.json",
        "trace-answer-empty-list.jsonl",
        "trace-huge-exponent.jsonl",
    }
    assert set(EXACT) | set(NO_TRACES) | set(UNTIDY) == here - sound - others


# made files: deep, many, long


@pytest.fixture
def made(tmp_path: Path) -> Path:
    """A folder with the sound files, to add others."""
    for name in ("gold.jsonl", "trace.jsonl", "chunks.jsonl"):
        shutil.copy(BROKEN / name, tmp_path)
    return tmp_path


DEEP = "[" * 100_000 + "]" * 100_000
NESTED = {
    "whole line": DEEP,
    "never closed": "[" * 100_000,
    "objects": '{"a":' * 100_000 + "1" + "}" * 100_000,
    "in a field that is skipped": f'{{"qid": "A1", "answerable": true, "notes": {DEEP}}}',
    "in a field of another type": f'{{"qid": {DEEP}, "answerable": true}}',
    "after a field of the wrong type": f'{{"qid": 5, "answerable": "no", "notes": {DEEP}}}',
    "in a list of strings": f'{{"qid": "A1", "answerable": true, "gold_citations": {DEEP}, "retrieved_ids": {DEEP}}}',
    "in the answer": f'{{"qid": "A1", "answerable": true, "answer_json": {{"claim": "x", "citations": {DEEP}}}}}',
}


@pytest.mark.parametrize("where", NESTED)
@pytest.mark.parametrize("role", ["gold", "trace", "chunks"])
def test_deeply_nested_json(role: str, where: str, made: Path, attempt: Attempt) -> None:
    name = f"{role}-deep.jsonl"
    (made / name).write_text("\n" + NESTED[where] + "\n")
    expected = said(f"{name}:2: expected a flat record, got JSON nested too deeply [RW-F11]")
    assert attempt(*command(name), cwd=made) == (2, "", expected)


@pytest.mark.parametrize("role", ["--baseline", "--lock", "--rule-pack", "receipt", "lint", "diff", "freeze"])
def test_deeply_nested_small_files(role: str, made: Path, attempt: Attempt) -> None:
    (made / "deep.json").write_text("a = " + DEEP if role == "--rule-pack" else DEEP)
    done = attempt(*reading(role, "deep.json"), cwd=made)
    assert done.code == (1 if role == "lint" else 2), done.err
    assert re.search(r"\[RW-(F11|B01|L01|K01|R01)\]", done.err + done.out)


def fault(nth: int) -> tuple[str, str]:
    """A broken trace and what is said about it; each nth is another fault."""
    kinds = [
        ('{"qid": %d}', "qid: expected a string, got %d [RW-T02]"),
        ('{"qid": "x", "retrieved_ids": "%d"}', 'retrieved_ids: expected a list of strings, got "%d" [RW-T02]'),
        ('{"qid": "x", "answer_json": %d}', "answer_json: expected an object, got %d [RW-T02]"),
        ('{"qid": "x", "answer_json": {"claim": %d}}', "answer_json.claim: expected a string, got %d [RW-T02]"),
        ("%d", "expected a JSON object, got %d [RW-F08]"),
    ]
    line, message = kinds[nth % len(kinds)]
    return line % nth, message % nth


def test_twenty_problems_are_shown_and_the_rest_counted(made: Path, attempt: Attempt) -> None:
    broken = [fault(nth) for nth in range(1, 26)]
    (made / "t.jsonl").write_text(dump(*(line for line, _ in broken)))
    done = attempt("score", "answers", "--gold", "gold.jsonl", "--trace", "t.jsonl", cwd=made)
    shown = [f"t.jsonl:{i}: {message}" for i, (_, message) in enumerate(broken[:20], 1)]
    assert done == (2, "", said(*shown, "… and 5 more"))


def test_gold_problems_come_first(made: Path, attempt: Attempt) -> None:
    (made / "g.jsonl").write_text(dump("{", "{", {"qid": 1, "answerable": True}))
    (made / "t.jsonl").write_text(dump(*(fault(nth)[0] for nth in range(50))))
    done = attempt("score", "answers", "--gold", "g.jsonl", "--trace", "t.jsonl", cwd=made)
    places = [line.split(": ")[0] for line in done.err.splitlines() if not line.startswith("  ")]
    assert places == [*(f"g.jsonl:{i}" for i in (1, 2, 3)), *(f"t.jsonl:{i}" for i in range(1, 18)), "… and 33 more"]


LONG_LINE = """
import io, json, resource, sys
from contextlib import redirect_stderr
from ragworthy.cli.main import main

def peak():
    most = max(resource.getrusage(who).ru_maxrss for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return most / (1024 if sys.platform == "linux" else 1 << 20)

def attempt(gold, trace, jobs):
    with redirect_stderr(io.StringIO()) as err:
        return main(["score", "answers", "--gold", gold, "--trace", trace, "-q", "--jobs", jobs]), err.getvalue()

attempt("gold.jsonl", "trace.jsonl", "1")
before = peak()
code, err = attempt(*sys.argv[1:])
print(json.dumps([code, err, peak() - before]))
"""


def write_long(path: Path, before: str, megabytes: int) -> None:
    """A file with one line of this many megabytes behind some others."""
    block = b"x" * (1 << 20)
    openers: dict[str, Any] = {".gz": gzip.open, ".zst": zstandard.open, ".jsonl": open}
    with openers[path.suffix](path, "wb") as file:
        file.write(before.encode() + b'{"qid": "')
        for _ in range(megabytes):
            file.write(block)


@pytest.mark.parametrize(
    ("gold", "trace", "jobs"),
    [
        ("gold.jsonl", "long.jsonl", "1"),
        ("gold.jsonl", "long.jsonl", "2"),
        ("long.jsonl", "trace.jsonl", "1"),
        ("gold.jsonl", "long.jsonl.gz", "1"),
        ("gold.jsonl", "long.jsonl.zst", "1"),
    ],
)
def test_a_line_of_200_megabytes_is_refused_in_little_memory(gold: str, trace: str, jobs: str, made: Path) -> None:
    name, before = (gold, "gold.jsonl") if gold.startswith("long") else (trace, "trace.jsonl")
    write_long(made / name, (BROKEN / before).read_text(), 200)
    line = [sys.executable, "-c", LONG_LINE, gold, trace, jobs]
    done = subprocess.run(line, cwd=made, capture_output=True, text=True, timeout=120, check=True)
    code, err, megabytes = json.loads(done.stdout.splitlines()[-1])
    assert err == said(f"{name}:4: expected lines of at most 32 MiB, got a longer one [RW-F05]")
    assert (code, done.stderr) == (2, "")
    assert megabytes < 150


def test_a_long_line_is_fine_below_the_limit(made: Path, attempt: Attempt) -> None:
    lines = (made / "trace.jsonl").read_text().splitlines()
    lines[0] = lines[0][:-1] + f', "prompt": "{"x" * (31 << 20)}"}}'
    (made / "t.jsonl").write_text("\n".join(lines) + "\n")
    done = attempt("score", "answers", "--gold", "gold.jsonl", "--trace", "t.jsonl", "-q", cwd=made)
    assert done == (0, "verdict: SHIP (exit 0)\n", "")


# large files: the same words from one process and from two

QUESTIONS = 60_000
STARTED = textwrap.dedent(
    """
    import multiprocessing.process, os, sys
    started = []
    plain = multiprocessing.process.BaseProcess.start
    multiprocessing.process.BaseProcess.start = lambda self: (started.append(1), plain(self))[1]
    from ragworthy.cli.main import main
    code = main(sys.argv[2:])
    open(sys.argv[1], "w").write(str(len(started)))
    sys.exit(code)
    """
)


def gold_line(i: int, **over: Any) -> str:
    made: dict[str, Any] = {
        "qid": f"q{i:06}",
        "question": f"What is the answer to number {i}?",
        "answerable": i % 5 > 0,
    }
    made |= {"gold_claim_substr": [f"answer {i}"] if i % 5 else [], "gold_citations": [f"d#{i}"] if i % 5 else []}
    return json.dumps(made | over)


def trace_line(i: int, **over: Any) -> str:
    claim = f"It is answer {i}, as it is written." if i % 5 else "not in context"
    made: dict[str, Any] = {"qid": f"q{i:06}", "retrieved_ids": [f"d#{i}", f"d#{i + 1}"]}
    made |= {"answer_json": {"claim": claim, "citations": [f"d#{i}"] if i % 5 else []}}
    return json.dumps(made | over)


@pytest.fixture(scope="module")
def large() -> tuple[list[str], list[str]]:
    """The lines of a large gold set and of its traces."""
    return [gold_line(i) for i in range(QUESTIONS)], [trace_line(i) for i in range(QUESTIONS)]


class Swap(NamedTuple):
    """Lines to replace (from 1), or to add behind the last."""

    gold: Mapping[int, str] = MappingProxyType({})
    trace: Mapping[int, str] = MappingProxyType({})


def with_swaps(lines: list[str], swaps: Mapping[int, str]) -> str:
    lines = list(lines)
    for at, line in swaps.items():
        if at > len(lines):
            lines.append(line)
        else:
            lines[at - 1] = line
    return "\n".join(lines) + "\n"


def nested(i: int) -> str:
    return trace_line(i, answer_json={"claim": "x", "citations": [{"id": "d"}]})


LARGE: dict[str, tuple[Swap, list[str]]] = {
    "one fault near each end": (
        Swap(gold={3: '{"qid": 3}'}, trace={2: "42", 59_999: "[]"}),
        [
            "gold.jsonl:3: qid: expected a string, got 3 [RW-G03]",
            "gold.jsonl:3: answerable: expected true or false, got nothing [RW-G04]",
            "trace.jsonl:2: expected a JSON object, got 42 [RW-F08]",
            "trace.jsonl:59999: expected a JSON object, got a list [RW-F08]",
        ],
    ),
    "25 faults": (
        Swap(trace={2_000 * nth: fault(nth)[0] for nth in range(1, 26)}),
        [*(f"trace.jsonl:{2_000 * nth}: {fault(nth)[1]}" for nth in range(1, 21)), "… and 5 more"],
    ),
    "thousands of faults, gold last": (
        Swap(gold={59_000: "{"}, trace=dict.fromkeys(range(1, 3_001), "{}")),
        [
            "gold.jsonl:59000: expected a JSON object, got { (Input data was truncated) [RW-F07]",
            *(f"trace.jsonl:{i}: qid: expected a non-empty string, got nothing [RW-T01]" for i in range(1, 20)),
            "… and 2,981 more",
        ],
    ),
    "gold repeated across the halves": (
        Swap(gold={59_990: gold_line(7)}),
        ['gold.jsonl:59990: qid: expected a unique id, got "q000007" again [RW-G02]'],
    ),
    "gold repeated in one half": (
        Swap(gold={20_000: gold_line(7)}),
        ['gold.jsonl:20000: qid: expected a unique id, got "q000007" again [RW-G02]'],
    ),
    "gold repeated on neighbouring lines": (
        Swap(gold={45_001: gold_line(44_999)}),
        ['gold.jsonl:45001: qid: expected a unique id, got "q044999" again [RW-G02]'],
    ),
    "gold repeated many times": (
        Swap(gold=dict.fromkeys(range(10_000, 60_001, 2_000), gold_line(1))),
        [
            *(
                f'gold.jsonl:{i}: qid: expected a unique id, got "q000001" again [RW-G02]'
                for i in range(10_000, 50_000, 2_000)
            ),
            "… and 6 more",
        ],
    ),
    "ids missing in the second half": (
        Swap(gold={50_000: gold_line(1, qid="")}, trace={50_001: trace_line(1, qid=None)}),
        [
            "gold.jsonl:50000: qid: expected a non-empty string, got nothing [RW-G01]",
            "trace.jsonl:50001: qid: expected a non-empty string, got nothing [RW-T01]",
        ],
    ),
    "lint errors behind a fault in the same block": (
        Swap(gold={50_000: "{,}", 50_002: gold_line(50_001, gold_citations=[], gold_claim_substr=[])}),
        [
            "gold.jsonl:50000: expected a JSON object, got {,} (object keys must be strings (byte 1)) [RW-F07]",
            "gold.jsonl:50002: gold_citations: "
            "expected gold text or evidence for an answerable question, got neither [RW-G06]",
        ],
    ),
    "objects as citations in both halves": (
        Swap(trace={100: nested(99), 50_000: nested(49_999)}),
        [
            f"trace.jsonl:{i}: answer_json.citations[0]: expected a string, got an object or a list [RW-T02]"
            for i in (100, 50_000)
        ],
    ),
    "thousands of objects as citations": (
        Swap(trace={i: nested(QUESTIONS + 9 - i) for i in range(10, 60_001, 10)}),
        [
            *(
                f"trace.jsonl:{i}: answer_json.citations[0]: expected a string, got an object or a list [RW-T02]"
                for i in range(10, 201, 10)
            ),
            "… and 5,980 more",
        ],
    ),
    "a fault in one half, objects as citations in the other": (
        Swap(trace={100: "[]", 50_000: nested(49_999)}),
        [
            "trace.jsonl:100: expected a JSON object, got a list [RW-F08]",
            "trace.jsonl:50000: answer_json.citations[0]: expected a string, got an object or a list [RW-T02]",
        ],
    ),
    "cut off": (
        Swap(trace={60_001: '{"qid": "q0000'}),
        ["trace.jsonl:60001: expected a whole record, got the end of the file in the middle of one [RW-F09]"],
    ),
    "a line that is too long in the second half": (
        Swap(trace={50_000: '{"qid": "' + "x" * (33 << 20) + '"}'}),
        ["trace.jsonl:50000: expected lines of at most 32 MiB, got a longer one [RW-F05]"],
    ),
}


@pytest.mark.parametrize("case", LARGE)
def test_one_process_and_two_say_the_same(case: str, large: tuple[list[str], list[str]], tmp_path: Path) -> None:
    swap, lines = LARGE[case]
    texts = {"gold.jsonl": with_swaps(large[0], swap.gold), "trace.jsonl": with_swaps(large[1], swap.trace)}
    if case == "cut off":
        texts["trace.jsonl"] = texts["trace.jsonl"].rstrip("\n")
    for name, text in texts.items():
        (tmp_path / name).write_text(text)
    assert sum(map(len, texts.values())) > 16 << 20
    for jobs in (1, 2, 3) if SOAK else (1, 2):
        args = ["score", "answers", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "--jobs", str(jobs)]
        line = [sys.executable, "-c", STARTED, "started", *args]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        assert (jobs, done.stderr) == (jobs, said(*lines))
        assert (done.returncode, done.stdout) == (2, "")
        assert (tmp_path / "started").read_text() == str(jobs if jobs > 1 else 0)


def test_untidy_lines_are_judged_alike_by_one_process_and_by_several(
    large: tuple[list[str], list[str]], tmp_path: Path
) -> None:
    """Where a block ends depends on the number of processes; what is said must not."""
    (tmp_path / "gold.jsonl").write_text(with_swaps(large[0], {}))
    path = tmp_path / "trace.jsonl"
    path.write_text(with_swaps(large[1], {}))
    data = path.read_bytes()
    blocks = list(sources.open_source("trace", path).blocks())
    border = blocks[len(blocks) * 3 // 4].offset
    joint, after = data.rindex(b"\n", 0, border - 1), data.index(b"\n", border) + 1
    path.write_bytes(data[:joint] + data[joint + 1 : after] + b"\n" + data[after:])
    endings = {}
    for jobs in ("1", "2", "3"):
        args = ["score", "answers", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "-q", "--jobs", jobs]
        line = [sys.executable, "-m", "ragworthy", *args]
        done = subprocess.run(line, cwd=tmp_path, capture_output=True, text=True, timeout=120, check=False)
        endings[jobs] = Ended(done.returncode, done.stdout, done.stderr)
    assert endings["1"] == endings["2"] == endings["3"]


def test_objects_as_citations_come_in_the_order_of_the_file(made: Path, attempt: Attempt) -> None:
    (made / "g.jsonl").write_text(dump(*map(gold_line, range(30))))
    (made / "t.jsonl").write_text(dump(*(nested(i) if i % 6 else trace_line(i) for i in reversed(range(30)))))
    done = attempt("score", "answers", "--gold", "g.jsonl", "--trace", "t.jsonl", cwd=made)
    places = [30 - i for i in reversed(range(30)) if i % 6][:20]
    message = "answer_json.citations[0]: expected a string, got an object or a list [RW-T02]"
    assert done == (2, "", said(*(f"t.jsonl:{place}: {message}" for place in places), "… and 5 more"))


MANY = 10_000
ALL_WRONG: dict[str, tuple[Callable[[int], str], Callable[[int], str], str]] = {
    "no qid": (gold_line, lambda i: trace_line(i, qid=""), "trace.jsonl"),
    "no qid, gzip": (gold_line, lambda i: trace_line(i, qid=""), "trace.jsonl.gz"),
    "gold repeated": (lambda i: gold_line(i // 2), trace_line, "trace.jsonl"),
    "gold without citations": (lambda i: gold_line(i * 5, answerable=True), trace_line, "trace.jsonl"),
    "objects as citations": (gold_line, nested, "trace.jsonl"),
    "objects as citations, gzip": (gold_line, nested, "trace.jsonl.gz"),
}


@pytest.mark.parametrize("case", ALL_WRONG)
def test_a_file_that_is_all_wrong_takes_no_longer(case: str, tmp_path: Path, attempt: Attempt) -> None:
    """Only 20 problems are shown, so looking for the others' places would be time lost."""
    gold, trace, name = ALL_WRONG[case]
    sound, wrong = tmp_path / "sound", tmp_path / "wrong"
    taken = []
    for folder, makers in ((sound, (gold_line, trace_line)), (wrong, (gold, trace))):
        folder.mkdir()
        (folder / "gold.jsonl").write_text(dump(*map(makers[0], range(MANY))))
        text = dump(*map(makers[1], range(MANY))).encode()
        (folder / name).write_bytes(gzip.compress(text, 1) if name.endswith(".gz") else text)
        start = time.perf_counter()
        done = attempt("score", "answers", "--gold", "gold.jsonl", "--trace", name, "-q", cwd=folder)
        taken.append(time.perf_counter() - start)
        assert done.code == (0 if folder == sound else 2)
    assert done.err.splitlines()[-1].startswith("… and ")
    assert taken[1] < 8 * taken[0] + 1


def test_ids_that_are_empty_or_repeated_are_all_counted(made: Path, attempt: Attempt) -> None:
    """The first 20 are shown with their place; those in later blocks are only counted, and none twice."""
    ids = ["" if i % 50 == 7 else f"q{i * 7 % 2500:05d}" for i in range(3000)]
    item = {"question": "why " * 60, "answerable": True, "gold_claim_substr": ["because"], "gold_citations": ["d"]}
    (made / "g.jsonl").write_text(dump(*(json.dumps({"qid": qid} | item) for qid in ids)))
    (made / "t.jsonl").write_text(dump(json.dumps({"qid": "q00000", "retrieved_ids": [], "answer_json": {}})))
    wrong = [i for i, qid in enumerate(ids) if not qid or qid in ids[:i]]
    done = attempt("score", "answers", "--gold", "g.jsonl", "--trace", "t.jsonl", cwd=made)
    shown = [line for line in done.err.splitlines() if line.startswith("g.jsonl:")]
    assert [int(line.split(":")[1]) - 1 for line in shown] == wrong[:20]
    assert done.err.splitlines()[-1] == f"… and {len(wrong) - 20} more"
