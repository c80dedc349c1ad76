"""Which column holds what: recognised by the names in use, or as `--map` says."""

import difflib
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
               "gold reference", "erwartete antwort", "richtige antwort", "korrekte antwort", "soll antwort",
               "sollantwort", "musterantwort", "muster antwort", "musterlösung", "referenzantwort", "referenz antwort",
               "respuesta esperada", "respuesta correcta", "respuesta de referencia", "réponse attendue",
               "reponse attendue", "réponse correcte", "réponse de référence", "bonne réponse", "标准答案", "標準答案",
               "参考答案", "參考答案", "正确答案", "正確答案", "期望答案", "预期答案", "預期答案", "正解", "正答",
               "模範解答", "模範回答", "想定回答", "期待回答", "期待される回答", "期待する回答", "参照回答", "정답"),
    "response": ("response", "actual output", "actual answer", "actual response", "actual", "prediction", "predicted",
                 "predicted answer", "generated answer", "generated", "model answer", "model output", "model response",
                 "bot answer", "bot response", "bot reply", "chatbot answer", "chatbot response", "system answer",
                 "ai answer", "ai response", "llm answer", "llm response", "rag answer", "reply", "output", "outputs",
                 "answer text", "completion", "claim", "bot antwort", "botantwort", "antwort bot", "antwort des bots",
                 "chatbot antwort", "ist antwort", "istantwort", "ki antwort", "modellantwort", "modell antwort",
                 "systemantwort", "system antwort", "generierte antwort", "tatsächliche antwort", "respuesta del bot",
                 "respuesta bot", "respuesta generada", "respuesta del modelo", "respuesta del sistema",
                 "respuesta obtenida", "respuesta real", "réponse du bot", "reponse du bot", "réponse bot",
                 "réponse générée", "réponse du modèle", "réponse du système", "réponse obtenue", "réponse réelle",
                 "模型回答", "模型答案", "模型输出", "模型回复", "机器人回答", "机器人回复", "機器人回答", "系统回答",
                 "系统答案", "实际答案", "实际回答", "实际输出", "生成答案", "生成的答案", "ボットの回答", "ボット回答",
                 "モデルの回答", "モデル回答", "システムの回答", "システム回答", "aiの回答", "ai回答", "生成回答",
                 "生成された回答", "実際の回答"),
    "gold_claim_all": ("gold claim all", "claim all", "must contain all", "all of"),
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
    "negatives": ("negatives", "hard negatives"),
    "constraints": ("constraints",),
    "retrieved": ("retrieved contexts", "retrieval context", "retrieved", "retrieved documents", "retrieved passages",
                  "retrieved chunks", "contexts", "retrieved context", "source documents", "source nodes", "chunks"),
    "retrieved_ids": ("retrieved ids", "retrieved context ids", "retrieved doc ids", "retrieved chunk ids"),
    "citations": ("citations", "citation", "cited", "cited ids", "cited sources", "cited chunks"),
    "error": ("error",),
}  # fmt: skip
"""What each field is called, in lower case, with spaces for other characters. The first name that is there counts."""
ANSWERS = ("answer", "answers", "antwort", "antworten", "respuesta", "respuestas", "réponse", "réponses", "reponse",
           "risposta", "resposta", "答案", "回答", "答え", "解答", "答复", "答覆", "답변")  # fmt: skip
"""Names of an answer that do not say whose it is: the expected one, unless something shows that a pipeline gave it."""
RESULTS = ("results", "hits", "items", "topk", "top k", "retrieval.topk")
"""Names of what was retrieved, where traces are asked for and nothing else is called so."""
ALIASES = {"claim": "response", "reference": "answer", "contexts": "retrieved", "document": "source", "id": "qid"}
"""Other names of fields in --map."""
NEEDED = ("answer", "gold_claim_all", "response", "evidence", "source", "gold_citations", "anchor_section", "retrieved",
          "retrieved_ids")  # fmt: skip
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


def recognise(names: Sequence[str], given: Mapping[str, str], where: str, role: str = "") -> Columns:
    """The column of each field; what `given` names stands, and the rest is found by name.

    `role` is what the rows are read for, where that is known: `trace`, or `both` gold and traces.
    """
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
    _settle(candidates, by_name, fields, given, role)
    if role == "trace" and "retrieved" not in given and not candidates.get("retrieved"):
        candidates["retrieved"] = [column for name in RESULTS for column in by_name.get(name, ())]
    for field in DECIDING:
        if len(candidates.get(field, ())) > 1:
            raise _several(field, candidates[field], names, fields, where)
    for field, columns in candidates.items():
        if columns and columns[0] not in fields.values():
            fields[field] = columns[0]
    _check(fields, names, where)
    if role == "both" and "response" not in fields and plain(fields.get("answer", "")) in ANSWERS:
        raise _whose(fields["answer"], where)
    ordered = {field: fields[field] for field in NAMES if field in fields}
    return Columns(ordered, [name for name in names if name not in fields.values() and not _inside(name, fields)])


def _settle(
    candidates: dict[str, list[str]],
    by_name: Mapping[str, list[str]],
    fields: Mapping[str, str],
    given: Mapping[str, str],
    role: str,
) -> None:
    """Names that mean one thing in a gold set and another beside the answers of a pipeline."""
    answers = [column for name in ANSWERS for column in by_name.get(name, ())]
    expected = "answer" in fields or bool(candidates.get("answer"))
    retrieved = any(by_name.get(name) for name in NAMES["retrieved"] + NAMES["retrieved_ids"] if name != "contexts")
    replies = "response" in given or bool(candidates.get("response"))
    if answers and not replies and (expected or retrieved or role == "trace"):
        candidates["response"] = answers  # beside `ground_truth`, or beside `chunks`, it is what the pipeline said
    elif answers and "answer" not in given:
        candidates["answer"] = answers if not expected else candidates.get("answer", [])
    replied = "response" in fields or bool(candidates.get("response"))
    contexts = by_name.get("contexts", [])
    if contexts and not replied and "evidence" not in given and not candidates.get("evidence"):
        candidates["evidence"], candidates["retrieved"] = contexts, []
    if replied and not ("answer" in fields or candidates.get("answer")) and "retrieved" not in given:
        _settle_retrieved(candidates, by_name, given, role)


def _settle_retrieved(
    candidates: dict[str, list[str]], by_name: Mapping[str, list[str]], given: Mapping[str, str], role: str
) -> None:
    """Beside nothing but a reply, sources are what was retrieved for it; so are other names, where traces are asked."""
    names: dict[str, tuple[str, ...]] = {"source": ("sources",)}
    if role == "trace":
        names = {"source": ("sources", "documents", "docs"), "evidence": ("context", "passages")}
    for field, known in names.items():
        found = [column for name in known for column in by_name.get(name, ())]
        if found and field not in given:
            candidates[field] = []
            candidates["retrieved"] = candidates.get("retrieved") or found


def _check(fields: Mapping[str, str], names: Sequence[str], where: str) -> None:
    if fields.keys().isdisjoint(("question", "paraphrases")) and not (
        "qid" in fields and {"response", "retrieved", "retrieved_ids"} & fields.keys()
    ):
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
    both = (
        field in ("answer", "response")
        and len({plain(one) for one in found}) == len(found) == 2
        and not {"answer", "response"} & fields.keys()
    )
    line = _map_line({"answer": found[0], "response": found[1]} if both else {field: found[0]})
    message = f"expected one column with the {field}, got {_listed(found)}; say which: {line}"
    return data_error("RW-A01", message, where=where)


def _whose(column: str, where: str) -> DataError:
    """One column of answers, which could be those expected or those given, where both are to be written."""
    lines = " or ".join(_map_line({field: column}) for field in ("answer", "response"))
    message = f'expected the answers and those of the pipeline, got one column "{clip(column, 30)}"; say which: {lines}'
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


def check_mapped(given: Mapping[str, str], names: Sequence[str], where: str) -> None:
    """Raise where `--map` names a column that is not there; of a path into JSON the first step has to be there."""
    for field, column in given.items():
        if column and column not in names and column.split(".")[0] not in names:
            near = difflib.get_close_matches(plain(column), [plain(name) for name in names], 1, 0.6)
            nearest = next((name for name in names if near and plain(name) == near[0]), "")
            hint = f"; nearest: {_map_line({field: nearest})}" if nearest else f": it has {_listed(names)}"
            message = f'expected a column of {where}, got "{clip(column, 40)}"{hint}'
            raise data_error("RW-A09", message, where="--map", field=field)


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
