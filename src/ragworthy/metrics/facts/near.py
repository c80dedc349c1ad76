"""Claims that read like a refusal, in a few languages. Wide on purpose: a hint for people, never a score."""

import re

from ragworthy.text import compiled, looks_like_refusal

OPENING = 200
"""Characters of a claim that are looked at."""
_OF_FRAMEWORKS = frozenset(("empty response", "empty response."))
"""What a framework says where nothing was retrieved: LlamaIndex."""
_LONGEST = max(map(len, _OF_FRAMEWORKS))
_HINTS = (
    "nothing", "found no", "find no", "nicht", "keine", "aucun", "je n", "n'est", "ne sont", "ne figure", "ne contien",
    "ne mention", "ne précis", "ne trouv", "no se ", "no lo s", "no encontr", "no encuentr", "no tengo", "no hay",
    "no puedo", "no dispongo", "no aparece", "ningun",
)  # fmt: skip
"""One of these is in every text that the pattern finds: looking for them is far cheaper."""
_WIDE_HINTS = (
    *_HINTS,
    "weiß",
    "n'",
    "n’",
    "désol",
    "no sé",
    "ningún",
    "抱歉",
    "不",
    "没",
    "沒",
    "无",
    "無",
    "未",
    "ません",
    "ない",
)
_SEED = (
    r"n(?:o(?:(?<=\bno)|(?<=canno)|(?<=unkno))|'|/a|icht|ingun|e\ ?(?:est|sont|figure|contien|mention|trouv)"
    r"|(?<=un)(?:a|cl)|(?<=in)suff|(?<=kein)e|(?<=aucun)|(?<=je\ n))"
)
"""What every text without accents has in which a pattern is found, here and in `looks_like_refusal`, from an n on:
looking for one letter and then around it is many times as fast as looking for each hint. A "no" inside a word is none.
"""
_WIDE_SEED = rf"{_SEED}|n’|ne\ ?précis|ningún|weiß|désol|ません|な[いく]|[抱不没沒无無未找信資资]"
_LIKE = r"""
    \b(?:dazu|hierzu|darüber|leider|ich|wir|mir|uns)\b.{0,60}\b(?:nichts?|keine[nr]?)\b.{0,60}
        \b(?:gefunden|finden|find|finde|sagen|wei(?:ß|ss)|wissen|beantworten|vor|auskunft|informationen?|angaben?|antwort)\b
    | \b(?:finde|wei(?:ß|ss)|habe|kann|konnte|liegen)\b.{0,40}\b(?:nichts?|keine[nr]?)\b
    | \bkeine[nr]?\ (?:\w+\ )?(?:informationen?|angaben?|antwort|auskunft|hinweise?|daten)\b
    | \bnicht\ (?:im|in|aus)\ (?:dem\ |den\ |der\ )?(?:kontext|dokument|text|unterlagen|quellen)
    | \bje\ (?:n[e'’]\ ?|suis\ désolé).{0,40}(?:\bpas\b|\baucune?\b|\brien\b|\btrouv|\bsa[iv])
    | \baucune?\ (?:information|réponse|mention|donnée|résultat)
    | \bn[e'’]\ ?(?:est|sont|figure|contien|mentionn|trouv|précis).{0,40}\b(?:pas|aucune?)\b
    | \bno\ (?:sé|se\ (?:menciona|indica|encuentra|especifica|proporciona)|lo\ sé|encontr\w*|encuentro|tengo|hay|puedo
        |dispongo|aparece)\b | \bning[uú]na?\ (?:información|respuesta|mención|referencia|dato)
    | \b(?:i|we)\b.{0,12}\b(?:found|find|have)\ (?:nothing|no\ (?:information|answer|mention|details?|data))\b
    | 抱歉 | 不(?:知道|清楚|确定|確定|能回答) | (?:没|沒)有?(?:找到|提到|提及|相关|相關|说明|說明|足够|足夠|给出|給出)
    | (?:无|無)法(?:回答|确定|確定|找到|得知|判断|判斷) | 未(?:提及|提到|找到|说明|說明|给出|給出)
    | (?:わか|分か|解か|見つか|あ|答え|含まれてい|記載されてい|書かれてい|でき)(?:り|られ)?ません
    | (?:情報|記載|記述|回答|答え)(?:が|は)(?:ない|なく|ありません)
    | 不明です
"""


def reads_like_refusal(folded: str) -> bool:
    """Whether a folded claim that counts as an answer reads like a refusal.

    >>> reads_like_refusal("dazu habe ich leider nichts gefunden."), reads_like_refusal("die grenze ist 5 gb.")
    (True, False)
    """
    if len(folded) <= _LONGEST and folded in _OF_FRAMEWORKS:
        return True
    if compiled(_SEED if folded.isascii() else _WIDE_SEED).search(folded) is None:
        return False
    if looks_like_refusal(folded):
        return True
    opening = folded[:OPENING]
    for hint in _HINTS if opening.isascii() else _WIDE_HINTS:
        if hint in opening:
            return compiled(_LIKE, re.VERBOSE).search(opening) is not None
    return False
