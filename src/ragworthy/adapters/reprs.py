"""What Python's `repr` of a framework's object says, where a recorder wrote that instead of JSON."""

import ast
import re
from collections.abc import Iterator

_QUOTED = r"('(?:[^'\\]|\\.)*'|\"(?:[^\"\\]|\\.)*\")"
_MESSAGE = re.compile(r"ChatMessage\(")
_ASSISTANT = re.compile(r"ChatRole\.ASSISTANT|role='assistant'")
_TEXT = re.compile(rf"TextContent\(text={_QUOTED}", re.DOTALL)
_ANSWER = re.compile(rf"(?:GeneratedAnswer|ExtractedAnswer)\((?:[a-z_]+=[\d.]+, )?(?:data|answer)={_QUOTED}", re.DOTALL)
_NODES = (
    re.compile(r"<?NodeWithScore\(node=\w+\(id_=(.*)\), score=[^()]*\)>?", re.DOTALL),
    re.compile(r"Node ID: (\S+)\s.*", re.DOTALL),
)


def answer_text(text: str) -> str | None:
    """The text of an answer or of a model's message in Haystack's `repr`; None where it is something else.

    >>> answer_text("GeneratedAnswer(data='45 days [1].', query='How long?', documents=[])")
    '45 days [1].'
    >>> answer_text("ChatMessage(_role=<ChatRole.USER: 'user'>, _content=[TextContent(text='How long?')])") is None
    True
    """
    if found := _ANSWER.match(text):
        return _literal(found[1])
    if _MESSAGE.match(text) and _ASSISTANT.search(text[:200]):
        texts = [_literal(one[1]) for one in _TEXT.finditer(text)]
        return "".join(one for one in texts if one) or None
    return None


def node_id(text: str) -> str:
    """The id of a node of LlamaIndex in its `repr`; empty where it is something else.

    >>> node_id("<NodeWithScore(node=TextNode(id_=a.md@4), score=0.6)>"), node_id("Passage 4")
    ('a.md@4', '')
    """
    found = next(_matches(text), None)
    return found[1].strip() if found else ""


def _matches(text: str) -> Iterator[re.Match[str]]:
    for pattern in _NODES:
        if found := pattern.fullmatch(text):
            yield found


def _literal(quoted: str) -> str | None:
    try:
        value = ast.literal_eval(quoted)
    except (ValueError, SyntaxError):
        return None
    return value if isinstance(value, str) else None
