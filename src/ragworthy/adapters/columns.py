"""Which column holds what: recognised by the names in use, or as `--map` says."""

import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy.errors import DataError, data_error
from ragworthy.text import clip

NAMES: dict[str, tuple[str, ...]] = {
    "qid": ("qid", "q id", "id", "question id", "questionid", "example id", "case id", "row id", "nr", "no", "key",
            "编号", "序号", "編號", "番号"),
    "question": ("question", "query", "user input", "user query", "user question", "input", "prompt", "q",
                 "question text", "questions", "frage", "frage text", "fragen", "pregunta", "domanda", "pergunta",
                 "问题", "問題", "提问", "質問", "질문"),
    "answer": ("expected answer", "expected output", "expected response", "expected", "reference", "reference answer",
               "ground truth", "ground truths", "ground truth answer", "gold", "gold answer", "correct answer",
               "right answer", "ideal answer", "ideal", "target", "targets", "answer ref", "gold claim substr",
               "gold reference", "erwartete antwort", "antwort", "richtige antwort", "respuesta", "réponse",
               "risposta", "resposta", "答案", "标准答案", "標準答案", "参考答案", "參考答案",
               "回答", "正解", "解答", "정답"),
    "response": ("response", "actual output", "actual answer", "actual response", "actual", "prediction", "predicted",
                 "predicted answer", "generated answer", "generated", "model answer", "model output", "bot answer",
                 "chatbot answer", "system answer", "output", "outputs", "completion", "claim", "模型回答", "实际答案"),
    "source": ("source", "sources", "document", "documents", "doc", "docs", "doc id", "file", "file name", "filename",
               "source file", "source document", "path", "url", "link", "source url", "expected doc", "gold source",
               "quelle", "datei", "dokument", "fuente", "fichier", "来源", "來源", "文档", "文檔", "文件", "出典"),
    "section": ("section", "section id", "heading", "chapter", "abschnitt", "kapitel", "sección", "章节", "章節"),
    "page": ("page", "pages", "page number", "seite", "página", "页码", "頁碼", "页", "頁", "ページ"),
    "evidence": ("evidence", "gold evidence", "reference contexts", "reference context", "context", "passage",
                 "passages", "supporting text", "supporting evidence", "quote", "excerpt", "ground truth context",
                 "ground truth contexts", "gold context", "gold contexts", "beleg", "证据", "證據", "依据"),
    "answerable": ("answerable", "is answerable", "has answer", "beantwortbar", "可回答", "是否可回答"),
    "unanswerable": ("unanswerable", "is unanswerable", "is impossible", "impossible"),
    "gold_citations": ("gold citations", "gold ids", "gold id", "reference context ids", "relevant", "relevant ids",
                       "expected citations", "gold chunk ids"),
    "paraphrases": ("paraphrases", "wordings"),
    "anchor_section": ("anchor section", "target section"),
    "constraints": ("constraints",),
    "retrieved": ("retrieved contexts", "retrieval context", "retrieved", "retrieved documents", "retrieved passages",
                  "retrieved chunks", "contexts", "retrieved context", "source documents", "source nodes", "chunks"),
    "retrieved_ids": ("retrieved ids", "retrieved context ids", "retrieved doc ids", "retrieved chunk ids"),
    "citations": ("citations", "citation", "cited", "cited ids", "cited sources"),
    "error": ("error",),
}  # fmt: skip
"""What each field is called, in lower case, with blanks for other signs. The first name that is there counts."""
ALIASES = {"claim": "response", "reference": "answer", "contexts": "retrieved", "document": "source", "id": "qid"}
"""Other names of fields in --map."""
NEEDED = ("answer", "response", "evidence", "source", "gold_citations", "anchor_section", "retrieved", "retrieved_ids")
"""Besides the question, one of these must be there."""
DECIDING = ("question", "answer", "response")
"""Fields for which a guess would be a wrong number: two columns that could be meant are an error."""


class Columns(NamedTuple):
    """Where each field is, and the columns that are kept under their own names."""

    fields: dict[str, str]
    """From a field to a column, or to a path into JSON."""
    others: list[str]
    nested: tuple[str, ...] = ()
    """Columns with objects in them, which are left out."""

    @property
    def told(self) -> str:
        """How the columns were understood, for the preview."""
        told = ", ".join(f"{field} ← {column}" for field, column in self.fields.items())
        kept = f"; kept as they are: {', '.join(self.others)}" if self.others else ""
        left = f"; left out, with objects in them: {', '.join(self.nested)}" if self.nested else ""
        return f"columns: {told}{kept}{left}"


def plain(name: str) -> str:
    """A column name as it is compared.

    >>> plain("Expected_Answer (EN)"), plain("expectedOutput"), plain("  Frage: ")
    ('expected answer', 'expected output', 'frage')
    """
    text = re.sub(r"(?<=[a-z0-9])(?=[A-Z])", " ", unicodedata.normalize("NFKC", name))
    return " ".join(re.sub(r"\([^()]*\)|[\W_]", " ", text).casefold().split())


def recognise(names: Sequence[str], given: Mapping[str, str], where: str) -> Columns:
    """The column of each field; what `given` names stands, and the rest is found by name."""
    if "answer_json" in names and "response" not in given:
        message = "expected records of another tool, got traces with answer_json: score them as they are"
        raise data_error("RW-A03", message, where=where)
    fields = {field: column for field, column in given.items() if column}
    free = [name for name in names if name not in fields.values()]
    by_name: dict[str, list[str]] = {}
    for name in free:
        by_name.setdefault(plain(name), []).append(name)
    candidates = {
        field: [column for one in known for column in by_name.get(one, ())]
        for field, known in NAMES.items()
        if field not in given
    }
    _settle(candidates, by_name, fields, given)
    for field in DECIDING:
        if len(candidates.get(field, ())) > 1:
            raise _several(field, candidates[field], names, fields, where)
    for field, columns in candidates.items():
        if columns and columns[0] not in fields.values():
            fields[field] = columns[0]
    _check(fields, names, where)
    ordered = {field: fields[field] for field in NAMES if field in fields}
    return Columns(ordered, [name for name in names if name not in fields.values() and not _inside(name, fields)])


def _settle(
    candidates: dict[str, list[str]],
    by_name: Mapping[str, list[str]],
    fields: Mapping[str, str],
    given: Mapping[str, str],
) -> None:
    """Names that mean one thing in a gold set and another beside the answers of a pipeline."""
    answers = by_name.get("answer", []) + by_name.get("answers", [])
    expected = "answer" in fields or bool(candidates.get("answer"))
    retrieved = any(by_name.get(name) for name in NAMES["retrieved"] + NAMES["retrieved_ids"] if name != "contexts")
    if answers and "response" not in given and (expected or retrieved) and not candidates.get("response"):
        candidates["response"] = answers  # beside `ground_truth`, or beside `chunks`, it is what the pipeline said
    elif answers and "answer" not in given:
        candidates["answer"] = answers if not expected else candidates.get("answer", [])
    replied = "response" in fields or bool(candidates.get("response"))
    contexts = by_name.get("contexts", [])
    if contexts and not replied and "evidence" not in given and not candidates.get("evidence"):
        candidates["evidence"], candidates["retrieved"] = contexts, []
    gold_too = "answer" in fields or bool(candidates.get("answer"))
    sources = by_name.get("sources", [])
    if sources and replied and not gold_too and "source" not in given and "retrieved" not in given:
        candidates["source"] = []  # beside nothing but a reply, sources are what was retrieved for it
        candidates["retrieved"] = candidates.get("retrieved") or sources


def _check(fields: Mapping[str, str], names: Sequence[str], where: str) -> None:
    if "question" not in fields and not {"qid", "response"} <= fields.keys():
        raise _missing("the question", "question", fields, names, where)
    if not any(field in fields for field in NEEDED):
        raise _missing("the expected answer", "answer", fields, names, where)


def _missing(what: str, field: str, fields: Mapping[str, str], names: Sequence[str], where: str) -> DataError:
    free = [name for name in names if name not in fields.values()]
    line = _map_line({**fields, field: free[0] if free else "COLUMN"})
    return data_error(
        "RW-A01", f"expected a column with {what}, got the columns {_listed(names)}; say which: {line}", where=where
    )


def _several(
    field: str, found: Sequence[str], names: Sequence[str], fields: Mapping[str, str], where: str
) -> DataError:
    line = _map_line({field: found[0]})
    message = f"expected one column with the {field}, got {_listed(found)}; say which: {line}"
    return data_error("RW-A01", message, where=where)


def _map_line(fields: Mapping[str, str]) -> str:
    pairs = ",".join(f"{field}={column}" for field, column in fields.items())
    return f"--map '{pairs}'" if re.search(r"[^\w=,.]", pairs) else f"--map {pairs}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(f'"{clip(name, 30)}"' for name in list(names)[:20])


def _inside(name: str, fields: Mapping[str, str]) -> bool:
    """Whether a path of the mapping begins with this column."""
    return any(path.split(".")[0] == name for path in fields.values())


# --map


def mapping(given: str | Iterable[str] | Mapping[str, str]) -> dict[str, str]:
    """What `--map` says: `field=column`, several with commas between them, or a TOML file of such lines.

    In Python it may be a dict. A field without a column says that no column holds it.

    >>> mapping(["question=Frage, answer=Antwort", "claim=choices.0.message.content"])
    {'question': 'Frage', 'answer': 'Antwort', 'response': 'choices.0.message.content'}
    """
    if isinstance(given, Mapping):
        pairs = list(given.items())
    else:
        texts = [given] if isinstance(given, str) else given
        pairs = [pair for text in texts for pair in (_file_pairs(Path(text)) if _is_file(text) else _pairs(text))]
    found: dict[str, str] = {}
    for name, column in pairs:
        field = ALIASES.get(name, name)
        if field not in NAMES:
            known = ", ".join(NAMES)
            raise data_error("RW-A04", f'expected a field ({known}), got "{clip(name, 40)}"', where="--map")
        if field in found:
            raise data_error("RW-A04", f"expected each field once, got {field} again", where="--map")
        found[field] = column
    return found


def _is_file(text: str) -> bool:
    return text.endswith(".toml") and "=" not in text


def _pairs(text: str) -> list[tuple[str, str]]:
    pairs = []
    for piece in text.split(","):
        name, sign, column = piece.partition("=")
        if not sign or not name.strip():
            raise data_error("RW-A04", f'expected FIELD=COLUMN, got "{clip(piece, 40)}"', where="--map")
        pairs.append((name.strip(), column.strip()))
    return pairs


def _file_pairs(path: Path) -> list[tuple[str, str]]:
    import tomllib

    from ragworthy.files import read_text

    try:
        table = tomllib.loads(read_text(path))
    except (ValueError, RecursionError) as error:  # numbers of thousands of digits among them
        raise data_error("RW-A04", f"expected TOML, got: {error}", where=str(path)) from None
    table = table.get("map", table)
    for name, column in table.items():
        if not isinstance(column, str):
            message = f"expected the name of a column, got {type(column).__name__}"
            raise data_error("RW-A04", message, where=str(path), field=name)
    return list(table.items())


# paths into JSON


def pick(record: Mapping[str, Any], path: str) -> Any:
    """The value of a column, or what a path leads to; `*` takes every item of a list. None where nothing is.

    >>> pick({"sources": [{"id": "a"}, {"id": "b"}]}, "sources.*.id"), pick({"a.b": 1}, "a.b")
    (['a', 'b'], 1)
    >>> pick({"choices": [{"text": "x"}]}, "choices.0.text"), pick({}, "a.b")
    ('x', None)
    """
    if path in record or "." not in path:
        return record.get(path)
    return _walk(record, path.split("."))


def _walk(value: Any, steps: Sequence[str]) -> Any:
    for nth, step in enumerate(steps):
        if step == "*":
            if not isinstance(value, list):
                return None
            return [found for one in value if (found := _walk(one, steps[nth + 1 :])) is not None]
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.isdigit():
            value = value[int(step)] if int(step) < len(value) else None
        else:
            return None
    return value
