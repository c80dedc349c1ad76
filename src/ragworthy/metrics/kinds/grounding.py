"""The kind of field that refers to what was retrieved."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from ragworthy.metrics.context import Context
from ragworthy.metrics.kinds.base import FORMS, NONE, Detail, Form, Match
from ragworthy.text import clip, described


class Grounding(NamedTuple):
    """References to what was retrieved: the share that names a file of the context and quotes an anchor found in it."""

    entries: int = 12
    refs: int = 6
    anchors: int = 6
    anchor_scope: Literal["context", "file"] = "context"
    form: Form = "exact"

    def wrong(self, value: Any) -> str | None:
        return None if isinstance(value, list) else f"expected a list, got {described(value)}"

    def unfit(self, value: Any) -> str | None:
        return None

    def compare(self, expected: Any, got: Any, context: Context) -> Match:
        words = [word for _, word in self._refs(got, context)]
        good = words.count("")
        return Match(Fraction(good, len(words)) if words else NONE, (good, len(words)))

    def details(self, expected: Any, got: Any, context: Context) -> list[Detail]:
        lines = [Detail(not why, None, text, why or "in the context") for text, why in self._refs(got, context)]
        lines = lines or [Detail(False, None, None, "no reference")]
        entries = [entry["refs"] for entry in got if isinstance(entry, dict) and isinstance(entry.get("refs"), list)]
        if len(got) > self.entries or any(len(refs) > self.refs for refs in entries):
            beyond = f"only {self.entries} entries with {self.refs} refs each are looked at"
            lines.append(Detail(False, None, None, beyond))
        return lines

    def _refs(self, got: list[Any], context: Context) -> Iterator[tuple[str, str]]:
        """Every reference that counts as (text, why it fails); the reason is empty where it holds."""
        for entry in got[: self.entries]:
            refs = entry.get("refs") if isinstance(entry, dict) else None
            if not isinstance(refs, list):
                yield clip(str(entry), 60), "not an entry with a list of refs"
                continue
            for ref in refs[: self.refs]:
                yield self._ref(ref, context)

    def _ref(self, ref: Any, context: Context) -> tuple[str, str]:
        if not isinstance(ref, dict):
            return clip(str(ref), 60), "not an object"
        file, anchors = ref.get("file"), ref.get("anchors")
        quoted = [one for one in anchors[: self.anchors] if isinstance(one, str)] if isinstance(anchors, list) else []
        if not isinstance(file, str):
            return ", ".join(quoted), "no file"
        text = f"{file}: {', '.join(quoted)}"
        if file not in context.paths:
            return text, "the file is not in the context"
        if not quoted:
            return text, "no anchor"
        within = file if self.anchor_scope == "file" else None
        if any(context.has(one, self.form, FORMS[self.form], within) for one in quoted):
            return text, ""
        return text, "no anchor is in the context"
