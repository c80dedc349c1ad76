"""A pipeline of Haystack as a target: the question goes into every open input that takes it, and the answer, the
documents that the model saw and the tokens are found in what the components give back.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, get_args

from ragworthy.adapters.replies import Given, usage_of
from ragworthy.adapters.tokens import together, tokens
from ragworthy.load.values import Refused
from ragworthy.runner.targets.advice import unfit_input
from ragworthy.text import clip

_QUESTION = ("query", "question", "prompt", "text", "user_query", "user_input")
_ANSWER = ("answer", "text", "response", "reply", "output")
_FOUND = ("documents", "replies", "answers")


class Pipeline:
    """A pipeline; `knobs` are the names of inputs, `NAME` or `COMPONENT.NAME`, that are given beside the question.

    Those in `asks` are given the question itself.
    """

    def __init__(self, pipeline: Any, name: str, knobs: Iterable[str], asks: frozenset[str] = frozenset()) -> None:
        self._pipeline = pipeline
        self._inputs: Mapping[str, Mapping[str, Any]] = pipeline.inputs()
        self._asked = [
            (part, key) for part, key, about in self._open() if _takes(key, about) or {f"{part}.{key}", key} & asks
        ]
        self._check(name, frozenset(knobs))
        outputs = pipeline.outputs(include_components_with_connected_outputs=True)
        self._shown = {part for part, own in outputs.items() if any(key in own for key in _FOUND)}
        self._edges = [(one[0], one[1]) for one in pipeline.graph.edges]

    def __call__(self, *, q: str, knobs: Mapping[str, Any], **_: Any) -> Given:
        """What it gives back, with what was retrieved for it."""
        given: dict[str, dict[str, Any]] = {}
        for part, key, _about in self._open():
            name = next((name for name in (f"{part}.{key}", key) if name in knobs), None)
            if name is not None:
                given.setdefault(part, {})[key] = knobs[name]
            elif (part, key) in self._asked:
                given.setdefault(part, {})[key] = q
        return self._read(self._pipeline.run(given, include_outputs_from=self._shown))

    def _open(self) -> list[tuple[str, str, Mapping[str, Any]]]:
        return [(part, key, about) for part, own in self._inputs.items() for key, about in own.items()]

    def _check(self, name: str, knobs: frozenset[str]) -> None:
        """Refuse a pipeline that nothing takes the question of, or that needs more."""
        needed = [
            f"{part}.{key}"
            for part, key, about in self._open()
            if about.get("is_mandatory") and (part, key) not in self._asked and not {f"{part}.{key}", key} & knobs
        ]
        if needed or not self._asked:
            got = f"one that needs {', '.join(needed)}" if needed else "one without an open input for it"
            expected = f"a pipeline that takes the question as {', '.join(_QUESTION[:4])}"
            raise unfit_input(name, expected, got, "run({…}, include_outputs_from={…})")

    # what came out

    def _read(self, out: Mapping[str, Mapping[str, Any]]) -> Given:
        found = {part: own for part, own in out.items() if isinstance(own, Mapping)}
        usage = _usage(found) or None
        parts = self._last(part for part, own in found.items() if isinstance(own.get("documents"), list))
        documents = [one for part in parts for one in found[part]["documents"]]
        where = ", ".join(f"{part}.documents" for part in parts) or "documents"
        answered = self._last(part for part, own in found.items() if own.get("answers"))
        if len(answered) == 1:
            answer = found[answered[0]]["answers"][0]
            names = (f"{answered[0]}.answers", where, "citations")
            cited = _referenced(answer, getattr(self._pipeline.get_component(answered[0]), "reference_pattern", None))
            return Given(getattr(answer, "data", answer), documents, cited, usage, None, names, by_text=True)
        said = self._last(part for part, own in found.items() if own.get("replies"))
        if len(said) == 1:
            names = (f"{said[0]}.replies", where, "citations")
            return Given(found[said[0]]["replies"][0], documents, None, usage, None, names)
        texts = [(part, key) for part, own in found.items() for key in _ANSWER if isinstance(own.get(key), str)]
        if len(texts) == 1 and not answered and not said:
            part, key = texts[0]
            return Given(found[part][key], documents, None, usage, None, (f"{part}.{key}", where, "citations"))
        several = [*answered, *said, *(".".join(one) for one in texts)]
        got = f"several: {', '.join(several)}" if several else f"outputs of {clip(', '.join(found), 200) or 'nothing'}"
        raise Refused(f"expected one component with answers or replies, got {got}", ".answer")

    def _last(self, parts: Iterable[str]) -> list[str]:
        """Those of some components that lead to no other one of them: of documents a ranker's, not a retriever's."""
        some = list(parts)
        return [part for part in some if not self._below(part) & set(some)]

    def _below(self, part: str) -> set[str]:
        found: set[str] = set()
        level = {part}
        while level:
            level = {end for begin, end in self._edges if begin in level} - found
            found |= level
        return found - {part}


def _takes(key: str, about: Mapping[str, Any]) -> bool:
    """Whether an open input takes the question; prompts and texts only where they have to be given."""
    kind = about.get("type")
    fits = kind in (str, Any) or str in get_args(kind)
    return key in _QUESTION and fits and (bool(about.get("is_mandatory")) or key in ("query", "question"))


def _referenced(answer: Any, pattern: Any) -> list[Any] | None:
    """What an answer builder found cited; None where it did not look.

    Numbers of no document leave no trace in its list: they are looked for in the text, by the builder's own pattern.
    """
    documents: Sequence[Any] = getattr(answer, "documents", None) or ()
    about = [(one, getattr(one, "meta", None) or {}) for one in documents]
    strays: list[str] = []
    if isinstance(pattern, str) and isinstance(text := getattr(answer, "data", None), str):
        known = {meta.get("source_index") for _, meta in about}
        numbers = [held for held in re.findall(pattern, text) if isinstance(held, str) and held.isdecimal()]
        strays = [f"[{int(held)}]" for held in numbers if int(held) not in known]
    if not strays and not any("referenced" in meta for _, meta in about):
        return None
    return [*(one for one, meta in about if meta.get("referenced")), *strays]


def _usage(found: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """The tokens of every generator together."""
    calls = []
    for own in found.values():
        if not own.get("replies"):
            continue
        meta = own.get("meta")
        about = meta[0] if isinstance(meta, list) and meta and isinstance(meta[0], Mapping) else {}
        counted = about.get("usage")
        held = tokens(counted) if isinstance(counted, Mapping) else usage_of(own["replies"][0])
        model = about.get("model")
        calls.append(held | {"model": model} if held and isinstance(model, str) else held)
    return together(calls)
