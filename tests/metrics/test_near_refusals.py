"""Claims that read like a refusal in several languages, and such that only look like it."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from conftest import run_cli, write_jsonl
from ragworthy import text as t
from ragworthy.load.refusal_packs import load_refusal_pack
from ragworthy.metrics.facts import near
from ragworthy.metrics.facts.near import reads_like_refusal
from ragworthy.metrics.facts.refusals import refusing
from ragworthy.text import fold, trim_fold


@pytest.mark.parametrize(
    "claim",
    [
        "Sorry, I found nothing on this.",
        "Dazu habe ich leider nichts gefunden.",
        "Dazu liegen mir keine Informationen vor.",
        "Das weiß ich leider nicht.",
        "Je ne sais pas.",
        "Je n'ai trouvé aucune information à ce sujet.",
        "No encontré nada sobre eso.",
        "No tengo información sobre eso.",
        "抱歉，我不知道。",
        "文档中没有提到。",
        "資料中沒有提及。",
        "わかりません。",
        "記載されていません。",
    ],
)
def test_it_is_noticed_in_other_languages_too(claim: str) -> None:
    assert reads_like_refusal(trim_fold(claim))


@pytest.mark.parametrize(
    ("seed", "hints"),
    [
        (near._SEED, t._HINTS),
        (near._SEED, near._HINTS),
        (near._WIDE_SEED, t._WIDE_HINTS),
        (near._WIDE_SEED, near._WIDE_HINTS),
    ],
)
def test_whatever_has_a_hint_has_a_seed(seed: str, hints: tuple[str, ...]) -> None:
    wide = seed == near._WIDE_SEED
    unfound = [one for one in hints if (wide or one.isascii()) and not t.compiled(seed).search(f"x {one}y")]
    assert not unfound


WORDS = (
    "no", "not", "cannot", "canno", "unknown", "known", "another", "nothing", "anothing", "ne",
    "est", "ne est", "neest", "n'est", "n’est", "pas", "aucune", "je", "je n", "je suis",
    "désolé", "found", "find", "i", "we", "information", "answer", "n/a", "none", "unclear",
    "nuclear", "kein", "keine", "nicht", "nichts", "is", "isn't", "mentioned", "do", "contain",
    "in", "the", "context", "ich", "finden", "sé", "se", "menciona", "bueno", "情報が", "なく", "ない",
    "不", "無法", "没有", "est", "trouve", "précis", "ningun", "ninguna", "respuesta", "unable", "to",
    "una", "insufficient",
)  # fmt: skip


@given(st.lists(st.sampled_from(WORDS), max_size=8), st.sampled_from([" ", "", "\n", ". "]))
@settings(max_examples=1000)
def test_whatever_a_pattern_finds_has_a_seed(words: list[str], between: str) -> None:
    text = fold(between.join(words))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(near, "_SEED", "")
        patch.setattr(near, "_WIDE_SEED", "")
        long = reads_like_refusal(text)
    assert reads_like_refusal(text) == long


@pytest.mark.parametrize(
    "claim",
    ["Es kostet nichts.", "Nicht vor 1990.", "There is no limit.", "No, the limit is 5 GB.", "在北京。", "東京です。"],
)
def test_plain_answers_are_not(claim: str) -> None:
    assert not reads_like_refusal(trim_fold(claim))


@pytest.mark.parametrize(
    ("claim", "refuses"),
    [
        ("Dazu habe ich leider nichts gefunden.", True),
        ("Entschuldigung, dazu finde ich nichts.", True),
        ("Hierzu kann ich keine Auskunft geben.", True),
        ("Ich konnte dazu nichts finden.", True),
        ("Ich weiß es nicht genau, aber es war 1990.", False),
        ("Die Firma konnte keinen Käufer finden.", False),
        ("Er hat nichts gefunden außer Gold.", False),
    ],
)
def test_the_german_pack(claim: str, refuses: bool) -> None:
    assert (refusing(trim_fold(claim), load_refusal_pack("de")) is not None) == refuses


def test_answers_without_a_claim_are_a_field_of_another_name(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    gold = [{"qid": f"q{n}", "question": f"{n}?", "answerable": True, "gold_claim_substr": ["forty"]} for n in range(6)]
    traces = [{"qid": f"q{n}", "answer_json": {"answer": "It is forty.", "citations": []}} for n in range(6)]
    write_jsonl(tmp_path / "g.jsonl", gold)
    write_jsonl(tmp_path / "t.jsonl", traces)
    done = run_cli("score", "answers", "--gold", "g.jsonl", "--trace", "t.jsonl")
    said = "no answer_json has claim; 6 of 6 have answer: write the text of the answer to answer_json.claim"
    assert (done.code, done.err.splitlines()[0]) == (2, f"t.jsonl: {said} [RW-T14]")


def test_a_tenth_of_other_questions_is_too_many(tmp_path, monkeypatch) -> None:  # type: ignore[no-untyped-def]
    monkeypatch.chdir(tmp_path)
    gold = [{"qid": f"q{n}", "question": f"Number {n}?", "answerable": n < 20, "gold_claim_substr": ["forty"][: n < 20]}
            for n in range(25)]  # fmt: skip
    for shifted, code in ((2, 0), (3, 4)):
        traces = [
            {"qid": f"q{n}", "question": f"Something else {n}?" if n < shifted else f"number {n}",
             "answer_json": {"claim": "It is forty." if n < 20 else "not in context", "citations": []}}
            for n in range(25)
        ]  # fmt: skip
        write_jsonl(tmp_path / "g.jsonl", gold)
        write_jsonl(tmp_path / "t.jsonl", traces)
        done = run_cli("score", "answers", "--gold", "g.jsonl", "--trace", "t.jsonl")
        assert done.code == code, done.out  # 2 of 25 are named; 3 of 25 are more than a tenth
        assert "another question than the gold set asks" in done.out or "answer other questions" in done.out
