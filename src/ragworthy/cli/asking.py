"""`index ask` with a chat model: the answer, what it cites, and what it took."""

import argparse
import hashlib
import sys
from pathlib import Path
from typing import Any

import msgspec

from ragworthy.cli.outputs import keep_inputs, plain_lines
from ragworthy.cli.say import print, show
from ragworthy.codes import CATALOGUE
from ragworthy.errors import data_error, usage_error
from ragworthy.files import check_ours, check_writable
from ragworthy.load.sources import BOM
from ragworthy.names import Exit
from ragworthy.pipeline import Begun, Pipeline
from ragworthy.report.show import plural
from ragworthy.safe import json_text
from ragworthy.text import clip

_OF_A_TRACE = ("topk", "retrieved_ids", "answer_json", "error")
"""What a trace has, and no gold item."""
_SNIPPET, _WROTE = 240, 1200


def ask_model(given: argparse.Namespace, pipeline: Pipeline, begun: Begun) -> int:
    """Ask a chat model one question and show what came of it; the exit code is 1 where it gave no answer."""
    chat = pipeline.chat(begun)
    if begun.needs_model:
        reply = pipeline.asked(begun, chat, qid="ask", seed=given.seed, timeout=given.timeout)
    else:
        reply = pipeline.extracted(begun)
    keep_trace(given, pipeline, reply)
    code = Exit.NO_SHIP if "error" in reply else Exit.SHIP
    if given.format == "json":
        show(json_text({"question": given.question, **reply, "notes": chat.endpoint.notes}))
        return int(code)
    if "error" in reply:
        _print_error(reply)
    else:
        print(reply["answer_json"]["claim"])
        print("cites:" if reply["answer_json"]["citations"] else "cites: nothing")
    _print_passages(begun, reply)
    for line in _took(reply):
        print(line)
    for note in chat.endpoint.notes:
        print(f"note: {note}")
    if "error" in reply:
        print(f"ask: no answer (exit {int(code)})")
    return int(code)


def check_trace(given: argparse.Namespace) -> None:
    """Refuse a file for traces that cannot be one, before anything is asked."""
    if given.qid and not given.trace:
        raise usage_error("--qid: expected --trace FILE beside it, got none")
    if given.trace:
        plain_lines(given.trace)
        keep_inputs([given.trace], [given.index, given.pipeline])
        check_writable(Path(given.trace))
        check_ours(Path(given.trace), _is_of_traces)


def _is_of_traces(start: bytes) -> bool:
    """Whether a file begins with a trace, or with nothing yet."""
    first = next(filter(None, map(bytes.strip, start.removeprefix(BOM).splitlines())), None)
    if first is None:
        return True
    try:
        record = msgspec.json.decode(first)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return False
    return isinstance(record, dict) and "qid" in record and not record.keys().isdisjoint(_OF_A_TRACE)


def keep_trace(given: argparse.Namespace, pipeline: Pipeline, reply: dict[str, Any]) -> None:
    """Append what was asked and answered to a file of traces, where one is named; times are left out."""
    if not given.trace:
        return
    from ragworthy.index.store import open_index
    from ragworthy.runner.retrieve import distances_of
    from ragworthy.runner.trace_writer import TraceWriter

    index = open_index(Path(given.index), verify=False)
    measured = distances_of(index, given.question, [one["id"] for one in reply.get("topk", ())])
    qid = given.qid or f"ask-{hashlib.sha256(given.question.encode('utf-8', 'surrogatepass')).hexdigest()[:8]}"
    told = {key: value for key, value in reply.items() if key not in ("stage_ms", "qid", "q")}
    with TraceWriter(given.trace) as traces:
        asked = {"qid": qid, "q": given.question, "query": given.question}
        if not traces.append({**asked, **told, **measured, "index_hash": pipeline.index_hash}):
            raise data_error("RW-F14", f"expected to append a trace, got {traces.last_error}", where=given.trace)
    print(f"trace: {qid}: {given.trace}", file=sys.stderr)


def _print_error(reply: dict[str, Any]) -> None:
    code = CATALOGUE[reply["error_code"]]
    print(f"{reply['error']} [{reply['error_code']}]")
    print(f"  {code.name}: {code.do}")
    if "raw" in reply:
        print(f"the model wrote: {clip(reply['raw'], _WROTE)}")


def _print_passages(begun: Begun, reply: dict[str, Any]) -> None:
    """What is cited, with its text, and what else the model had before it."""
    cited = reply.get("answer_json", {}).get("citations", ())
    others = []
    for number, chunk in enumerate(begun.got.chunks, 1):
        if chunk.name in cited:
            print(f"  [{number}] {chunk.name}{f'  {chunk.title}' if chunk.title else ''}")
            print(f"      {clip(chunk.text, _SNIPPET)}")
        else:
            others.append(f"[{number}] {chunk.name}")
    if others:
        print(f"{'also' if cited else 'it'} had: {', '.join(others)}")
    if not begun.got.chunks:
        print("nothing was retrieved: the model was not asked")


def _took(reply: dict[str, Any]) -> list[str]:
    """Time by stage, tokens, attempts, and how the reply was held to its form."""
    usage = reply["usage"]
    lines = []
    if "stage_ms" in reply:
        lines.append("time: " + ", ".join(f"{stage} {ms:,.0f} ms" for stage, ms in reply["stage_ms"].items()))
    if "prompt_tokens" in usage:
        cached = f" ({usage['cached_tokens']:,} from the server's cache)" if usage.get("cached_tokens") else ""
        lines.append(f"tokens: {usage['prompt_tokens']:,} read{cached}, {usage.get('completion_tokens', 0):,} written")
    if "format" in usage:
        lines.append(f"{plural(usage['attempts'], 'attempt')}, held to: {usage['format']}")
    return lines
