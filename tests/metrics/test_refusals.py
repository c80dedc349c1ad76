"""Refusals by rule: what each pack takes for a refusal and what not, beginnings, patterns, and that an answer wins."""

import time
from types import SimpleNamespace

import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from ragworthy.errors import PolicyError
from ragworthy.load.refusal_packs import load_refusal_pack, names_of, refusals_of
from ragworthy.metrics.facts import answers as f
from ragworthy.metrics.facts.refusals import LONGEST, Refusals, refusing, sentences, wrong_pattern
from ragworthy.names import REFUSAL_PACKS
from ragworthy.records import Answer, Gold, Trace
from ragworthy.text import fold, piece_occurs


def rules(*packs: str, starts: tuple[str, ...] = (), patterns: tuple[str, ...] = ()) -> Refusals:
    given = SimpleNamespace(refusal_packs=packs, refusal_starts=starts, refusal_patterns=patterns)
    made = refusals_of(given)
    assert made is not None
    return made


REFUSALS = {
    "en": {
        "On this, the documents contain no information.": "absent",
        "The provided text passages do not mention that.": "absent",
        "I cannot make a statement about this.": "cannot",
        "I'm sorry, I couldn't find that in our documentation.": "cannot",
        "I don't know.": "cannot",
        "None": "bare",
        "Evidence: [none]": "bare",
        "Not in context.": "not in",
        "It is not mentioned in the provided context.": "not in",
        "The provided context does not contain information about the merger.": "absent",
        "**The context does not mention** the founder. It only discusses the products.": "absent",
        "Unfortunately, the documents do not mention who founded it. Please contact support.": "absent",
        "Based on the provided context, I cannot determine the date.": "cannot",
        "I am unable to answer this question based on the given passages.": "cannot",
        "The answer cannot be determined from the text.": "unanswerable",
        "There is no information about this in the documents.": "nothing",
        "No information available.": "nothing",
        "Although the article covers the war, it is not possible to determine who began it.": "unanswerable",
        '"I don\'t know."': "cannot",
        "None of the documents mention the salary.": "absent",
        "Nothing in the context says who signed the treaty.": "absent",
        "That's not covered in the documents.": "not in",
        "The context mentions Normandy, but it does not say when the Normans came.": "absent",
        "The Fleet Reserve Association (FRA) is not mentioned in the provided documents.": "not in",
        "The context (ops#3) does not mention the fee, as the documents only cover backups.": "absent",
        "I cannot answer this because the documents do not mention it.": "cannot",
        "There is no information on the founder in the documents.": "nothing",
        "There is no information about the founder.": "nothing",
        "No information is available.": "nothing",
        "There is no reference to a treaty.": "nothing",
        "The context mentions Bob but does not say when he was born.": "absent",
        "I don't know what the answer is, sorry.": "cannot",
        "I cannot help with that, as I only have access to the documentation.": "cannot",
    },
    "zh-Hans": {
        "抱歉，我无法根据提供的文档回答该问题。": "cannot",
        "文档信息不足，因此我无法基于提供的文档回答该问题。": "absent",
        "上下文中没有提到他的出生日期。": "absent",
        "根据所提供的资料，无法确定具体日期。": "cannot",
        "不知道。": "bare",
        "文中未提及该公司的创始人，只介绍了其产品。": "absent",
        "对不起，我不知道答案。": "cannot",
        "没有找到相关信息。": "cannot",
        "该问题在材料中没有答案。": "unanswerable",
        "文章提到了战争，但没有说明开始的年份。": "absent",
        "文档没有说明会议在何时。": "absent",
    },
    "zh-Hant": {
        "抱歉，我無法根據提供的文件回答該問題。": "cannot",
        "文件資訊不足，因此我無法回答該問題。": "absent",
        "上下文中沒有提到他的出生日期。": "absent",
        "根據所提供的資料，無法確定具體日期。": "cannot",
        "不知道。": "bare",
        "文中未提及該公司的創始人，只介紹了其產品。": "absent",
        "根據所給內容，無法得知答案。": "cannot",
        "文章提到了戰爭，但沒有說明開始的年份。": "absent",
        "基於提供的文件，無法確定日期。": "cannot",
    },
    "ja": {
        "申し訳ありませんが、提供された文書にはその情報が含まれていません。": "absent",
        "わかりません。": "cannot",
        "文書には記載されていません。": "absent",
        "提供された情報からは判断できません。": "cannot",
        "コンテキストには創業者についての言及がありません。": "absent",
        "資料には記載がないため、お答えできません。": "absent",
        "文書には記載されていませんでした。": "absent",
    },
    "es": {
        "Al respecto, los documentos no contienen información.": "absent",
        "No puedo pronunciarme al respecto.": "cannot",
        "Lo siento, no puedo responder a esa pregunta con la información proporcionada.": "cannot",
        "El contexto no menciona la fecha.": "absent",
        "No lo sé.": "cannot",
        "No hay información sobre eso en los documentos.": "nothing",
        "La respuesta no se encuentra en el documento.": "not in",
        "El texto no lo menciona.": "absent",
        "El documento no contiene información sobre la firma.": "absent",
        "El texto menciona Normandía, pero no dice cuándo llegaron.": "absent",
    },
    "de": {
        "Dazu enthalten die Dokumente keine Angaben.": "absent",
        "Darüber geben die Quellen keine Auskunft.": "absent",
        "Die bereitgestellten Textabschnitte erwähnen das nicht.": "absent",
        "Hierzu liegen keine Informationen vor.": "nothing",
        "Dazu liegen in den Dokumenten keine Angaben vor.": "nothing",
        "Dazu kann ich keine Aussage treffen.": "cannot",
        "Dazu lässt sich leider nichts sagen.": "cannot",
        "Es tut mir leid, dazu gibt es keine Informationen im Kontext.": "nothing",
        "Der Kontext enthält keine Informationen über das Datum.": "absent",
        "Ich weiß es nicht.": "cannot",
        "Die Frage kann anhand des Textes nicht beantwortet werden.": "cannot",
        "Das Datum wird im bereitgestellten Dokument nicht erwähnt.": "not in",
        "Leider kann ich diese Frage nicht beantworten.": "cannot",
        "Das steht nicht im Kontext.": "not in",
        "Das steht nicht im Text.": "not in",
        "Das steht nicht in den Dokumenten.": "not in",
        "Die Antwort steht nicht im Kontext.": "not in",
        "Die Information ist nicht im Kontext enthalten.": "not in",
        "Leider enthalten die Dokumente keine Informationen dazu.": "absent",
        "Mir liegen keine Informationen dazu vor.": "found nothing",
        "Dazu habe ich keine Informationen gefunden.": "found nothing",
        "Darüber steht nichts im Text.": "not in",
        "Laut Kontext ist das nicht angegeben.": "not in",
        "Der Kontext erwähnt nicht, wer der Chef ist.": "absent",
        "Der Text erwähnt die Normandie, aber er sagt nicht, wann die Normannen kamen.": "absent",
    },
    "fr": {
        "À ce sujet, les documents ne contiennent aucune information.": "absent",
        "Désolé, je ne trouve pas cette information dans les documents.": "cannot",
        "Le contexte ne mentionne pas la date.": "absent",
        "Je ne sais pas.": "cannot",
        "Il n'y a pas d'information à ce sujet dans le texte.": "nothing",
        "La réponse n'est pas mentionnée dans le document fourni.": "not in",
        "Le document ne contient aucune information sur la signature.": "absent",
        "Le texte ne permet pas de répondre à la question.": "absent",
        "Le texte parle de la Normandie, mais il ne précise pas la date.": "absent",
    },
}
ANSWERS = {
    "en": [
        "On this, the committee did not vote.",
        "I cannot make a statement about the price, which is 5 dollars.",
        "I don't know the exact date, but it was 1990.",
        "The handbook says: 'not in context'.",
        'The handbook says: "not in context"',
        "“The context does not mention it” is what the guard prints.",
        "The company could not find a buyer.",
        "Scientists do not know why whales sing.",
        "Although the context does not give the year, it was 1990.",
        "There is no evidence that aspirin cures cancer.",
        "He could not answer the question in court.",
        "The treaty was not mentioned in the will.",
        "The context does not say when. It happened in 1990.",
        "No.",
        "None of the three kings signed it.",
        "The plan does not include support.",
        "The documents do not mention any river other than the Epte.",
        "You cannot delete a bucket that is not empty.",
        "The function returns None.",
        "Users cannot find the button.",
        "The Normans signed it in Deabolis. Evidence: [none]",
        "I could not find it in the documents, it's probably Bob.",
        "The context does not mention it (the CEO is Bob).",
        "The context does not mention the CEO (Bob).",
        "The context does not mention it [the CEO is Bob].",
        "The context does not mention it given that Bob resigned.",
        "The context does not mention it, as the fee was abolished in 2019.",
        "The context does not mention it as the fee was abolished in 2019.",
        "The context does not mention it, since Bob resigned in 2019.",
        "The context does not mention it because Bob resigned in 2019.",
        "The context does not mention the CEO Bob Miller, who took over in 2019.",
        "I don't know, maybe Bob.",
        "I could not find it in the documents, Bob is the CEO.",
        "I don't know, Bob.",
        "I don't know. I think it is Bob.",
        "The context does not say so and the CEO is Bob.",
        "The context mentions that Bob is the CEO, but it does not say when he came.",
        "The context mentions 20 euros, but it does not say when.",
        "It does not say when.",
        "There is no information desk at the airport.",
        "There is no information on the label.",
        "No information is stored on the device.",
        "No information on the label is binding.",
        "The passage does not mention him because he was already dead in 1066.",
    ],
    "zh-Hans": [
        "他无法回答记者的问题。",
        "文档没有提到具体日期，但应该是1990年。",
        "手册写道：“不知道”。",
        "该公司没有找到买家。",
        "信息技术没有边界。",
        "虽然文中没有提到日期，但那是1990年。",
        "他不知道答案。",
        "该文档未提供英文版。",
        "资料不足时请致电客服。",
        "无法确定时，请选择默认值。",
        "我不知道，可能是鲍勃。",
        "我不知道是鲍勃。",
        "我不知道大概是鲍勃",
        "上下文中没有提到（总裁是鲍勃）。",
        "文中没有提到他因为他死于1990年。",
        "文章提到了1990年，但没有说明月份。",
    ],
    "zh-Hant": [
        "他無法回答記者的問題。",
        "文件沒有提到具體日期，但應該是1990年。",
        "手冊寫道：「不知道」。",
        "該文件未提供英文版。",
        "資料不足時請致電客服。",
        "無法確定時，請選擇預設值。",
        "我不知道，可能是鮑勃。",
        "我不知道也許是鮑勃",
    ],
    "ja": [
        "警察は犯人を特定できませんでした。",
        "文書には「わかりません」と書かれています。",
        "1990年です。",
        "資料には記載がないが、実際は1990年である。",
        "資料には記載がないものの、1990年である。",
        "資料には記載がないが、1990年である。",
        "資料には記載がありませんが、1990年です。",
        "わかりません。おそらく1990年です。",
        "資料には記載がなく、1990年である。",
        "文書に記載がないので1990年です。",
        "資料には記載がないけど1990年です。",
        "資料には記載がありません（1990年）。",
    ],
    "es": [
        "Sobre esto no hay dudas: fue en 1990.",
        "La empresa no encontró comprador.",
        "No sé la fecha exacta, pero fue en 1990.",
        "El manual dice: «no lo sé».",
        "No lo sé, quizás Bob.",
        "El contexto no lo menciona, Bob es el jefe.",
        "No lo sé, Bob.",
        "El contexto no menciona la fecha porque Bob murió en 1990.",
        "El contexto no menciona al jefe, que desde 2019 es Bob.",
        "El contexto no lo menciona (es Bob).",
        "El documento no incluye firma.",
        "El contexto no lo menciona, tal vez 1990.",
    ],
    "de": [
        "Dazu enthalten die Produkte keine Allergene.",
        "Dazu enthalten die Dokumente keine Angaben, aber es war 1990.",
        "Dazu kann ich keine Aussage treffen, vermutlich Bob.",
        "Hierzu liegen keine Gesetze vor.",
        "Die Textabschnitte sind nicht lang.",
        "Die Firma fand keinen Käufer.",
        "Ich weiß das genaue Datum nicht, aber es war 1990.",
        "Es heißt: „unbekannt“.",
        "Ich weiß es nicht, vermutlich Bob.",
        "Der Kontext erwähnt das Datum nicht und es war 1990.",
        "Ich weiß es nicht, Bob.",
        "Der Kontext erwähnt es nicht, weil Bob 2019 zurücktrat.",
        "Der Kontext erwähnt den Chef nicht, der seit 2019 Bob heißt.",
        "Der Kontext erwähnt es nicht (der Chef ist Bob).",
        "Das Dokument enthält keine Unterschrift.",
        "Ich weiß es nicht. Wahrscheinlich ist es Bob.",
        "Der Kontext erwähnt es nicht, es ist Bob.",
    ],
    "fr": [
        "À ce sujet, la loi ne change pas avant 1990.",
        "L'entreprise n'a pas trouvé d'acheteur.",
        "Je ne sais pas la date exacte, mais c'était en 1990.",
        "Le manuel dit : « je ne sais pas ».",
        "Je ne sais pas, peut-être Bob.",
        "Je ne sais pas, Bob.",
        "Le contexte ne mentionne pas la date, probablement 1990.",
        "Le contexte ne mentionne pas la date car Bob est mort en 1990.",
        "Le contexte ne le mentionne pas (c'est Bob).",
        "Le contexte ne mentionne pas le chef, qui est Bob depuis 2019.",
        "Le document ne contient pas de signature.",
    ],
}


@pytest.mark.parametrize(
    ("pack", "claim", "rule"), [(pack, claim, rule) for pack, some in REFUSALS.items() for claim, rule in some.items()]
)
def test_refusals_are_known_by_their_rule(pack: str, claim: str, rule: str) -> None:
    assert rules(pack).rule(claim) == f"{pack}:{rule}"
    assert rules(pack).rule(f"  {claim.title()}\n") == f"{pack}:{rule}"


@pytest.mark.parametrize(("pack", "claim"), [(pack, claim) for pack, some in ANSWERS.items() for claim in some])
def test_answers_are_left_alone(pack: str, claim: str) -> None:
    assert rules(pack).rule(claim) is None


def test_zh_stands_for_both_scripts() -> None:
    assert names_of(("zh",)) == ("zh-Hans", "zh-Hant")
    assert [rules("zh").rule(claim) for claim in ("不知道。", "上下文中沒有提到。")] == [
        "zh-Hans:bare",
        "zh-Hant:absent",
    ]


def test_every_pack_is_there_and_every_rule_compiles_and_is_tried() -> None:
    for pack in {one for names in REFUSAL_PACKS.values() for one in names}:
        loaded = load_refusal_pack(pack)
        assert loaded.id == pack
        assert len(loaded.sha256) == 64
        assert set(REFUSALS[pack].values()) <= {rule.name for rule in loaded.rules}
        for claim in REFUSALS[pack]:
            assert any(hint in fold(claim) for hint in loaded.hints)


def test_a_long_claim_says_something() -> None:
    assert rules("en").rule("I don't know." + " " * LONGEST + "x") is None


@pytest.mark.parametrize("pack", sorted(REFUSALS))
@pytest.mark.parametrize("tail", ["x" * 1900, "x " * 900, "(" * 1900, ", as x" * 300, "不" * 1900, "ない、" * 600])
def test_hostile_claims_take_no_time(pack: str, tail: str) -> None:
    heads = (
        "The context mentions ",
        "Der Kontext erwähnt ",
        "El texto menciona ",
        "Le texte mentionne ",
        "文章提到了",
        "",
    )
    own = rules(pack)
    own.rule("None")  # patterns are compiled
    started = time.perf_counter()
    for head in heads:
        own.rule(f"{head}{tail} not nicht no pas"[:LONGEST])
    assert time.perf_counter() - started < 2


# an answer wins


PIECES = ["Denver Broncos", "1990", "北京", "St. Louis", "42.5"]
HEADS = [claim for claims in REFUSALS.values() for claim in claims]
TAILS = ["It only mentions {}.", "Please see {}.", "The context only discusses {}.", "文中只介绍了{}。", "({})", "{}"]


@settings(max_examples=600, deadline=None)
@given(
    head=st.sampled_from(HEADS),
    tail=st.sampled_from(TAILS),
    piece=st.sampled_from(PIECES),
    packs=st.lists(st.sampled_from(list(REFUSAL_PACKS)), min_size=1, unique=True),
    first=st.booleans(),
)
def test_a_gold_piece_outside_of_the_refusing_sentences_is_an_answer(
    head: str, tail: str, piece: str, packs: list[str], first: bool
) -> None:
    said = tail.format(piece)
    assume(piece_occurs([piece], fold(said), short_words=True))  # a year inside a word is not an answer anywhere
    claim = f"{said}\n{head}" if first else f"{head}\n{said}"
    assert rules(*packs).rule(claim, [piece]) is None


@settings(max_examples=400, deadline=None)
@given(
    parts=st.lists(
        st.sampled_from([*HEADS, *(text for some in ANSWERS.values() for text in some)]), min_size=1, max_size=4
    ),
    pack=st.sampled_from([one for names in REFUSAL_PACKS.values() for one in names]),
)
def test_the_rest_holds_every_sentence_that_does_not_refuse(parts: list[str], pack: str) -> None:
    """Whatever is put together: a sentence is in the rest, word for word, unless it refuses by itself."""
    text = fold("\n".join(parts).strip())
    assert "".join(one.whole for one in sentences(text)) == text
    found = refusing(text, load_refusal_pack(pack))
    if found is None:
        return
    for one in sentences(text):
        alone = refusing(one.whole.strip(), load_refusal_pack(pack))
        if alone is None and one.whole.strip(" \n.。"):
            said = one.whole.strip().partition(", but it does not ")[0]  # which refuses where a refusal is before it
            assert said in found.rest
    assert not piece_occurs(["zebra stripes"], found.rest, short_words=True)


def test_a_word_for_no_answer_can_be_the_answer() -> None:
    assert rules("en").rule("None", ["none"]) is None
    assert rules("en").rule("None", ["1990"]) == "en:bare"
    assert rules("en").rule("The context does not mention the Denver Broncos.", ["Denver Broncos"]) == "en:absent"


# beginnings and patterns


def test_beginnings_and_patterns_decide_alone() -> None:
    own = rules(starts=("Sorry, I",), patterns=(r"\bcannot\b.*\bhelp\b",))
    assert own.rule("SORRY, I know: 1990", ["1990"]) == "start 1"
    assert own.rule("We Cannot, alas, help.") == "pattern 1"
    assert own.rule("I am sorry, I") is None


def test_a_pattern_that_takes_for_ever_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragworthy.metrics.facts.refusals.PATIENCE", 0.05)
    own = rules(patterns=("(a|aa)+$",))
    with pytest.raises(PolicyError) as caught:
        own.rule("a" * 60 + "b")
    said = "refusal_patterns: expected a pattern that ends within 0.05 s, got (a|aa)+$ [RW-P17]"
    assert str(caught.value).splitlines()[0] == said


def test_patterns_that_cannot_be_used() -> None:
    assert wrong_pattern("sorry") is None
    assert wrong_pattern("x*") == "expected a pattern that can fail, got one that matches an empty text"
    failing = "expected a regular expression, got one that fails: missing ), unterminated subpattern at position 0"
    assert wrong_pattern("(") == failing


# flags


def flags_of(claim: str, *, answerable: bool = True, by_rule: Refusals | None) -> int:
    gold = Gold(qid="q", question="?", answerable=answerable, gold_claim_substr=["1990"], gold_citations=["d#1"])
    trace = Trace(qid="q", retrieved_ids=["d#1"], answer_json=Answer(claim=claim, citations=["d#1"]))
    return f.trace_flags(f.Rules(short_words=True, by_rule=by_rule))(gold, trace)


def test_a_refusal_by_rule_is_a_refusal_and_says_so() -> None:
    claim = "The context does not mention the year."
    by_rule = flags_of(claim, by_rule=rules("en"))
    assert by_rule & f.REFUSED
    assert by_rule & f.BY_RULE
    assert not flags_of(claim, by_rule=None) & f.REFUSED
    assert flags_of(claim, by_rule=None) & f.NEAR_REFUSAL
    exact = flags_of("not in context", by_rule=rules("en"))
    assert exact & f.REFUSED
    assert not exact & f.BY_RULE


def test_a_right_answer_is_never_swallowed() -> None:
    claim = "The context does not mention the month. The text only discusses 1990."
    assert flags_of(claim, by_rule=rules("en")) & (f.REFUSED | f.CONTAINS) == f.CONTAINS
