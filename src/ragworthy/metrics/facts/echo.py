"""Claims that are the question over again. A hint for people, never a score.

Only a claim that says nothing besides counts: one that holds the question and an answer does not, and neither does one
that says with the words of the question what it asks ("It is possible to …" for "Is it possible to …?"); but "The limit
applies to guests." says nothing that "What limit applies to guests?" does not. In Spanish, Italian, Portuguese, Chinese
and Japanese a question may become a statement by its marks alone; so without a question mark a claim repeats a question
only where that begins with a word that asks.
"""

import re

from ragworthy import edits
from ragworthy.text import compiled, has_cjk, letters

MOST, LEAST = 4, 2
"""A claim of more than four times the length of the question, or less than half of it, says something else."""
CUT = 0.8
"""So much of a question must be in a claim that is cut off, or lacks a few of its words."""
OPENING = 60
"""So many characters tell at once that most claims are not a question."""
FEW = 3
"""A claim of no more words may be an answer that the question holds."""
NEAR, LONG = 10, 20
"""A claim of 20 letters or more that ends as a question and differs from it in a tenth of them says the same."""
_MARKS = frozenset("?？؟¿;")
_LEAD = (
    r"^\W*(?:the\s+|original\s+|user\s+)?(?:question|query|q|answer|frage|antwort|pregunta|respuesta|问题|質問)"
    r"(?:\s+to\s+(?:this|the)\s+question)?\s*(?:is|was|:|：)+[\s:：]*"
)
_OPEN = (
    " what which who whom whose when where why how wer was wen wem wann wo warum wieso weshalb wie wohin woher welche"
    " welcher welches welchen welchem wieviel quel quelle quels quelles qui quand où pourquoi comment combien"
    " qué cuál cuáles quién quiénes cuándo dónde cómo cuánto cuánta cuántos cuántas"
    " quale quali chi dove perché quanto quanta quanti quante qual quais quem onde porquê quantos quantas "
)
"""Words that ask for something: what is left of a question without them says nothing."""
_ASKS = (
    f"{_OPEN}is are were do does did can could will would should may might must has have had in on at for from to by"
    " with under after before about of as during through into until since ist sind kann darf muss wird werden hat haben"
    " que por che cosa quando come "
)
"""Words that begin a question, or are before the word that asks; none of them begins a statement of that form."""
_ARTICLES = " a an the der die das den dem des ein eine einen einem einer le la les un une el los las "


def repeats(claim: str, question: str) -> bool:
    """Whether a claim is the question and nothing else: as it stands, cut off, or with a few words gone or changed.

    >>> repeats("For how long is a grant valid?", "For how long is a grant valid?")
    True
    >>> repeats("Question: who wrote the Book of Days", "Who wrote the Book of Days?")
    True
    >>> repeats("Tolkien wrote the Book of Days.", "Who wrote the Book of Days?")
    False
    >>> repeats("Who wrote it? Tolkien.", "Who wrote it?"), repeats("Es posible.", "¿Es posible?")
    (False, False)
    """
    if not question or not len(question) <= LEAST * len(claim) <= 2 * MOST * len(question):
        return False
    begins, second = _first(question)
    opening = claim[:OPENING].lower()
    if not begins or (begins not in opening and second not in opening):
        return False
    said = compiled(_LEAD, re.IGNORECASE).sub("", claim)
    ours, theirs = letters(said), letters(question)
    asks = not _MARKS.isdisjoint(claim) or (_among(begins, _ASKS) and not has_cjk(question))
    if ours == theirs:
        return asks
    if _differs_little(said, ours, theirs):
        return True
    if not asks or has_cjk(question) or not _among(begins, _ASKS):
        return False
    return (theirs.startswith(ours) and len(ours) >= CUT * len(theirs)) or _lacks_few(said, question)


def _first(text: str) -> tuple[str, str]:
    """The first two words, in lower case; the first signs of a script without spaces."""
    found = [word.lower() for word in compiled(r"\w+").findall(text[:OPENING])]
    first, second = (*found, "", "")[:2]
    return first[:2] if has_cjk(first) else first, second or first


def _differs_little(said: str, ours: str, theirs: str) -> bool:
    """Whether a claim ends as a question does, and is that question but for a word or two."""
    if len(ours) < LONG or said.rstrip("\"'”’»」』*_ \n")[-1:] not in _MARKS:
        return False
    most = len(theirs) // NEAR
    if abs(len(ours) - len(theirs)) > most:
        return False
    return edits.distance(ours, theirs) <= most


def _lacks_few(claim: str, question: str) -> bool:
    """Whether the words of a claim are those of the question in the same order, from the first on, without a few."""
    ours, theirs = _words(claim), _words(question)
    if ours == theirs[1:] and len(ours) > FEW and _among(theirs[0], _OPEN):
        return True
    if not ours or ours[0] != theirs[0] or not CUT * len(theirs) <= len(ours) <= len(theirs):
        return False
    left = iter(theirs)
    return all(word in left for word in ours)


def _words(text: str) -> list[str]:
    return [word for word in compiled(r"\w+").findall(text.lower()) if not _among(word, _ARTICLES)]


def _among(word: str, listed: str) -> bool:
    return f" {word} " in listed
