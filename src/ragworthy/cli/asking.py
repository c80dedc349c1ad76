"""`index ask` with a chat model: the answer, what it cites, and what it took."""

import argparse
from typing import Any

from ragworthy.cli.say import print, show
from ragworthy.codes import CATALOGUE
from ragworthy.names import Exit
from ragworthy.pipeline import Begun, Pipeline
from ragworthy.report.show import plural
from ragworthy.safe import json_text
from ragworthy.text import clip

_SNIPPET, _WROTE = 240, 1200


def ask_model(given: argparse.Namespace, pipeline: Pipeline, begun: Begun) -> int:
    """Ask a chat model one question and show what came of it; the exit code is 1 where it gave no answer."""
    chat = pipeline.chat(begun)
    if begun.needs_model:
        reply = pipeline.asked(begun, chat, qid="ask", seed=given.seed, timeout=given.timeout)
    else:
        reply = pipeline.extracted(begun)
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
