"""A claim against a reference: F1 as SQuAD's script has it, and details by value. The arithmetic is beside it."""

import collections
import gzip
import json
import re
import string
from fractions import Fraction
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from places import DATA
from ragworthy.metrics.facts.compared import Compared
from ragworthy.metrics.facts.details import contradicts, details_of, stated, stated_by
from ragworthy.metrics.facts.reference import compare, f1, tokens
from ragworthy.metrics.facts.spelled import spelled_out
from ragworthy.records import Gold

# The official script of SQuAD 2.0, written again: what English is compared with.


def official_tokens(text: str) -> list[str]:
    text = "".join(sign for sign in text.lower() if sign not in set(string.punctuation))
    return re.sub(r"\b(a|an|the)\b", " ", text).split()


def official_f1(gold: str, predicted: str) -> float:
    ours, theirs = official_tokens(gold), official_tokens(predicted)
    common = sum((collections.Counter(ours) & collections.Counter(theirs)).values())
    if not ours or not theirs:
        return float(ours == theirs)
    if common == 0:
        return 0.0
    precision, recall = common / len(theirs), common / len(ours)
    return 2 * precision * recall / (precision + recall)


ENGLISH = st.lists(
    st.sampled_from(
        ["the", "A", "an", "Normans", "U.S.", "in", "1,000", "well-known", "it's", "$5", "(x)", "-", "cat"]
    ),
    max_size=8,
).map(" ".join)
ANY = st.text(max_size=60)


@given(ENGLISH, ENGLISH)
def test_english_is_compared_as_the_official_script_does(one: str, other: str) -> None:
    assert float(f1(one, other)) == pytest.approx(official_f1(other, one), abs=1e-12)


def packed(name: str) -> list[dict[str, Any]]:
    data = gzip.decompress((DATA / f"squad2/dev/{name}.jsonl.gz").read_bytes())
    return [json.loads(line) for line in data.splitlines()]


@pytest.mark.data("data/squad2/dev")
def test_the_official_values_of_three_systems() -> None:
    """All that differ hold a sign that is not ASCII, which the official script leaves where it is."""
    gold = {one["qid"]: one["gold_claim_substr"] for one in packed("gold") if one["answerable"]}
    compared = 0
    for system in ("bert_single", "bidaf_selfattn_elmo", "nlnet_single"):
        for trace in packed(f"trace_{system}"):
            claim, answers = trace["answer_json"]["claim"], gold.get(trace["qid"])
            if answers is None or claim == "not in context":
                continue
            compared += 1
            ours = max(float(f1(claim, one)) for one in answers)
            if abs(ours - trace["label"]["squad_f1"]) >= 2e-6:
                assert not all(map(str.isascii, (claim, *answers)))
    assert compared == 2857 + 2443 + 2752


@given(ANY, ANY)
def test_f1_is_a_share_and_symmetric(one: str, other: str) -> None:
    value = f1(one, other)
    assert 0 <= value <= 1
    assert value == f1(other, one)
    assert f1(one, one) == 1


@given(st.permutations(["thirty", "days", "after", "the", "invoice", "was", "sent", "to", "Acme"]))
def test_the_order_of_words_does_not_matter(words: list[str]) -> None:
    assert f1(" ".join(words), "thirty days after the invoice was sent to Acme") == 1


@given(ANY)
def test_a_reference_states_itself(text: str) -> None:
    details, said = details_of(text), stated_by(text)
    assert stated(details, said) == len(details.wanted)
    assert not contradicts(details, said)


@given(st.lists(st.sampled_from([
    "30 days", "one day", "twenty-one days", '"a term"', "On 3 May 2021", "U.S.", "IPv6", "--fast", "the first week",
    "三百人", "5 %", "`x`", "12:30", "1.000", "-5 °C", "Dr. Smith", "$5 million", "2021年", "v1.2.3", "two and three",
]), max_size=6).map(" ".join))  # fmt: skip
def test_a_reference_of_many_details_states_itself(text: str) -> None:
    details, said = details_of(text), stated_by(text)
    assert stated(details, said) == len(details.wanted)
    assert not contradicts(details, said)


def test_f1_worked_out() -> None:
    # they are kept for 30 days (6) · backups are kept for 30 days in dublin (8): 5 in common, 2 · 5 / 14
    assert f1("They are kept for 30 days.", "Backups are kept for 30 days in Dublin.") == Fraction(10, 14)
    assert f1("", "something") == 0
    assert f1("…", "!!!") == 1  # as in the official script: both are empty


@pytest.mark.parametrize(
    ("one", "other", "wanted"),
    [
        # 人口是三百万 (6 characters) · 人口为三百万 (6): 5 in common
        ("人口是三百万。", "人口为三百万", Fraction(10, 12)),
        # German keeps `an`: die frist endet an ihrem tag (6) · die frist endet am tag und ist (7): die frist endet tag
        ("Die Frist endet an ihrem Tag", "Die Frist endet am Tag und ist", Fraction(8, 13)),
        # Arabic by word, vowel signs aside: 3 and 3 words, 2 in common
        ("عاصمة مصر القاهرة", "عَاصِمَة مصر الكبيرة", Fraction(4, 6)),
        ("ｆｕｌｌ　ｗｉｄｔｈ", "full width", Fraction(1)),
        ("don’t stop", "don't stop", Fraction(1)),
        ("kept[1] for 30 days [2, 3].", "kept for 30 days", Fraction(1)),
        ("ไทย", "ไทย", Fraction(1)),
    ],
)
def test_other_scripts(one: str, other: str, wanted: Fraction) -> None:
    assert f1(one, other) == wanted


def test_articles_go_only_where_they_are_articles() -> None:
    assert tokens("The A股 an", articles=False) == ["the", "a", "股", "an"]
    assert f1("va a la casa de su madre", "va la casa de su madre") == Fraction(12, 13)
    assert f1("a cat", "the cat") == 1


# details


def share(reference: str, claim: str) -> tuple[int, int, bool]:
    details, said = details_of(reference), stated_by(claim)
    return stated(details, said), len(details.wanted), contradicts(details, said)


@pytest.mark.parametrize(
    ("reference", "claim"),
    [
        ("It costs 1,000 dollars.", "It costs $1000."),
        ("It costs 1,000 dollars.", "one thousand dollars"),
        ("The fee is 5 %.", "five percent"),
        ("The fee is 5 %.", "The fee is 5."),
        ("It was on 3 May 2021.", "2021-05-03"),
        ("It was on 3 May 2021.", "May 3rd, 2021"),
        ("It was on 3 May 2021.", "am 3. Mai 2021"),
        ("Es war am 3.5.2021.", "am 3. Mai 2021"),
        ("It was on 3 May 2021.", "于2021年5月3日"),
        ("It was in 2021.", "on 3 May 2021"),
        ("It takes 24 hours.", "one day"),
        ("It takes 2 years.", "24 months"),
        ("It holds 3.5 million people.", "3,500,000 people"),
        ("Die Stadt hat 1.234.567 Einwohner.", "1,234,567 inhabitants"),
        ("Es sind 0,5 Prozent.", "0.5 percent"),
        ("It starts at 3:30 pm.", "15:30"),
        ("Twenty-five hundred were sold.", "2500"),
        ("共有三百人。", "300人"),
        ("增长了百分之五。", "5%"),
        ("销量为131万。", "1,310,000"),
        ("二〇二一年成立。", "2021年"),
        ("عدد الأيام ٣٠", "30"),
        ("See `ragworthy.toml`.", "the file ragworthy.toml, then"),
        ("Pass --fast to skip it.", "use --fast"),
        ("He lives in the U.S. now.", "in the US"),
        ("They call it “the last mile”.", "it is the last mile problem"),
        ("片名为《长津湖》。", "长津湖"),
        ("使用ChatGPT回答。", "chatgpt"),
        ("We met Acme's founder.", "the founder of Acme"),
        ("Es kostet 20 Euro.", "20 €"),
        ("Es kostet 20 Euros.", "20 EUR"),
        ("Es kostet 20 eur.", "20 euro"),
        ("增长了百分之三点五。", "3.5%"),
        ("增长了百分之十二点五。", "12.5%"),
        ("全长三点五公里。", "3.5 km"),
        ("下午3点开始。", "15:00"),
        ("下午三点半开始。", "3:30 pm"),
        ("重2公斤。", "重4斤"),  # 1 斤 is 500 g
        ("Version 2.10 is needed.", "v. 2.10"),
        ("Der Saal hat 1.500 Plätze.", "1500"),
        ("Der Saal hat 1.500 Plätze.", "1,500 seats"),
    ],
)  # fmt: skip
def test_the_same_detail_in_another_spelling(reference: str, claim: str) -> None:
    assert share(reference, claim) == (1, 1, False)


@pytest.mark.parametrize(
    ("reference", "claim"),
    [
        ("Backups are kept for 30 days.", "Backups are kept for 60 days."),
        ("The fee is 5 %.", "The fee is 7 percent."),
        ("It was on 3 May 2021.", "It was on 4 May 2021."),
        ("It began in 1990.", "It began in 1991."),
        ("It costs $5.", "It costs 6 dollars."),
        ("共有三百人。", "共有五百人。"),
        ("Es kostet 20 Euro.", "Es kostet 90 Euro."),
        ("It costs 20 Euros.", "It costs 90 euros."),
        ("增长了百分之三点五。", "增长了百分之三。"),
        ("Es kostet 1.500 Euro im Jahr für den Platz.", "Der Platz kostet 1,5 Euro im Jahr."),
    ],
)
def test_another_value_in_the_same_unit_contradicts(reference: str, claim: str) -> None:
    assert share(reference, claim) == (0, 1, True)


@pytest.mark.parametrize(
    ("reference", "claim", "wanted"),
    [
        ("Kept for 30 days.", "30 days, not 60 days", (1, 1, False)),  # the value of the reference is there too
        ("Kept for 30 days.", "for 30 hours", (0, 1, False)),  # another unit is not stated, and no contradiction
        ("Kept for 30 days.", "for a while", (0, 1, False)),
        ("重2公斤。", "重4磅", (0, 1, False)),  # pounds are not converted
        ("Version 2.10 is needed.", "Version 2.1 is needed.", (0, 1, False)),  # text, not a value
        ("It needs Python 3.10.", "It needs Python 3.1.", (1, 2, False)),  # the name is there
        ("It needs Python 3.10.", "It needs Python 3.10.2 or 3.10.", (2, 2, False)),
        ("Der Saal hat 1.500 Plätze.", "Der Saal hat 1,5 Plätze.", (0, 1, False)),
        ("1.500 Plätze", "1,5 Plätze", (1, 2, False)),  # too short to tell that Plätze is not a name
        ("In Berlin 3.5 million live.", "3,500,000 in Berlin", (2, 2, False)),  # a count behind a name
        ("About 2.50 were left.", "2.5", (1, 1, False)),
        ("有一点一滴的进步。", "进步", (0, 0, False)),
        ("It was 30 days.", "on the 20th day", (0, 1, False)),  # the 20th day is not 20 days
        ("The flow is 2,290 m3/s.", "2,290 m3/s, 400 m wide", (2, 2, False)),  # m3 is a code, not metres
    ],
)
def test_what_is_no_contradiction(reference: str, claim: str, wanted: tuple[int, int, bool]) -> None:
    assert share(reference, claim) == wanted


def test_names_are_not_the_words_that_start_sentences() -> None:
    # Acme and Dublin are names; Backups and Then start sentences, and 30 days is a quantity: 3 details
    assert share("Backups are at Acme. Then 30 days in Dublin.", "Acme keeps them in Dublin") == (2, 3, False)
    # in German every noun has a capital: only BASF and the quantity are details
    assert share("Die Frist für den Antrag bei der BASF ist 14 Tage.", "BASF") == (1, 2, False)
    # short German: only the quantity
    assert share("Die Kündigungsfrist beträgt drei Monate.", "drei Monate") == (1, 1, False)
    assert share("Kündigungsfrist: drei Monate zum Quartalsende.", "3 Monate") == (1, 1, False)
    # nobody can tell the language, but nouns are behind articles: no detail
    assert share("Es gewinnt die Frist.", "?") == (0, 0, False)
    assert share("Gerhard Schröder met Angela Merkel.", "Merkel") == (1, 3, False)  # Gerhard starts the sentence


def test_a_term_is_not_found_inside_another_word() -> None:
    assert share('It is called "cat".', "concatenate") == (0, 1, False)


def test_numbers_in_words() -> None:
    assert spelled_out("two hundred million and five", loose=False) == "200000005"
    assert spelled_out("one of them", loose=False) == "one of them"
    assert spelled_out("统一 一些 十五年 三千五百万元", loose=True) == "统一 一些 15年 35000000元"


def test_alternatives_count_by_the_best_of_them() -> None:
    item = Gold(answerable=True, gold_reference=["Kept for 30 days.", "Removed in June."])
    # against the first: removed in june / kept for 30 days share nothing; against the second all 3 words
    assert compare(item, "removed in June") == Compared(1, 1, 1, 1, False, True)
    # 30 days of the first: details 1 of 1; words: 2 of 2 and 4, so 2 · 2 / 6
    assert compare(item, "30 days") == Compared(2, 3, 1, 1, False, True)


def test_without_a_claim_everything_is_nought_and_details_are_counted() -> None:
    item = Gold(answerable=True, gold_reference="Kept for 30 days in Dublin.", gold_claim_substr=["30 days"])
    assert compare(item, None) == compare(item, "  ") == Compared(0, 1, 0, 2, False, False)


@pytest.mark.parametrize("text", ["1" * 30_000, "九" * 30_000, "1,000" * 5000, '"a' * 20_000, "1:" * 9000, "\ud800 5"])
def test_hostile_texts_are_compared_all_the_same(text: str) -> None:
    assert compare(Gold(answerable=True, gold_reference=text), text).num == 1
