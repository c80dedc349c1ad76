"""What runs cost: exact, or not known with the reason; and the price list with each of its mistakes."""

from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragworthy import gates as g
from ragworthy.errors import DataError
from ragworthy.metrics.cost import Budget, Price, Prices, over_budget, price_of, projected, spend_of
from ragworthy.names import Outcome
from ragworthy.suites.latency.prices import load_prices


def price(model: str | None, stage: str | None, into: str, out: str) -> Price:
    return Price(model, stage, Fraction(into), Fraction(out))


FLAT = Prices("USD", (price(None, None, "0.006", "0.006"),))
TWO = Prices("USD", (price("m", None, "0.001", "0.002"), price(None, "rerank", "0.1", "0.1")))


def test_w47_cost_against_a_baseline() -> None:
    # W-47: 3770 × 0.006 / 1000 = 0.02262; over 40 correct answers 0.0005655; against 0.00045 a rise of 25.7 %.
    spend = spend_of({"total_tokens": 3770}, FLAT)
    assert spend == Fraction("0.02262")
    each = Fraction("0.02262") / 40
    assert each == Fraction("0.0005655")
    value = g.Value(each.numerator, each.denominator, better="lower", counts=False, rate=False)
    before = g.Baseline({(None, "cost.per_correct"): Fraction("0.00045")}, {})
    for limit, outcome in (("0.3", Outcome.PASS), ("0.25", Outcome.FAIL)):
        gate = g.Gate("cost.per_correct", g.WORSE, limit)
        (judged,) = g.judge((gate,), {(None, "cost.per_correct"): value}, baseline=before)
        assert judged.outcome is outcome


def test_w47_the_month() -> None:
    assert projected(Budget(Fraction(100), Fraction(60), 15, 30)) == 120
    assert over_budget(Budget(Fraction(100), Fraction(60), 15, 30))
    assert not over_budget(Budget(Fraction(100), Fraction(55), 15, 30))  # 110 on the day is not more than 110 %


@pytest.mark.parametrize(
    ("usage", "prices", "model", "spend"),
    [
        ({"prompt_tokens": 1000, "completion_tokens": 500}, TWO, "m", "0.002"),
        ({"input_tokens": 1000, "output_tokens": 500, "model": "m"}, TWO, None, "0.002"),
        ({"prompt_tokens": 1000, "total_tokens": 1500, "model": "m"}, TWO, "other", "0.002"),
        ({"completion_tokens": 500, "total_tokens": 1500, "model": "m"}, TWO, None, "0.002"),
        ({"llm": {"prompt_tokens": 1000, "completion_tokens": 0}, "rerank": {"total_tokens": 10}}, TWO, "m", "0.002"),
        ({"reason": {"total_tokens": 500}, "model": "x"}, FLAT, None, "0.003"),
        ({"prompt_tokens": 400, "completion_tokens": 100, "total_tokens": 500}, FLAT, None, "0.003"),
        # a total below its parts never makes a run cheaper
        ({"prompt_tokens": 400, "completion_tokens": 100, "total_tokens": 1}, FLAT, None, "0.003"),
        ({"prompt_tokens": 500, "completion_tokens": 0, "prompt_tokens_details": {"cached_tokens": 0}}, FLAT, "m",
         "0.003"),
        ({"prompt_tokens": 0, "completion_tokens": 0}, FLAT, None, "0"),
    ],
)  # fmt: skip
def test_spend(usage: dict[str, Any], prices: Prices, model: str | None, spend: str) -> None:
    assert spend_of(usage, prices, model) == Fraction(spend)


@pytest.mark.parametrize(
    ("usage", "prices", "reason"),
    [
        ({"total_tokens": 1}, None, "no prices were given (--prices)"),
        (None, FLAT, "usage is not recorded"),
        ({}, FLAT, "usage is not recorded"),
        ({"seconds": 3}, FLAT, "usage has no token counts for the stage llm"),
        ({"llm": {"total_tokens": 1}, "rerank": {}}, FLAT, "usage has no token counts for the stage rerank"),
        ({"total_tokens": -1}, FLAT, "usage has a total_tokens that is not a whole number from 0"),
        ({"total_tokens": True}, FLAT, "usage has a total_tokens that is not a whole number from 0"),
        ({"prompt_tokens": 1.5}, FLAT, "usage has a prompt_tokens that is not a whole number from 0"),
        ({"total_tokens": 9, "model": "x"}, TWO, "no price for the model x"),
        ({"total_tokens": 9}, TWO, "no price for the stage llm, and no model is named"),
        ({"total_tokens": 9, "model": "m"}, TWO, "usage does not tell tokens in from tokens out"),
        ({"prompt_tokens": 9, "total_tokens": 8, "model": "m"}, TWO,
         "usage has fewer tokens in all than in one direction"),
    ],
)  # fmt: skip
def test_why_a_spend_is_not_known(usage: dict[str, Any] | None, prices: Prices | None, reason: str) -> None:
    assert spend_of(usage, prices) == reason


def test_the_price_that_fits_best() -> None:
    every, stage = price(None, None, "1", "1"), price(None, "llm", "2", "2")
    model, both = price("m", None, "3", "3"), price("m", "llm", "4", "4")
    prices = (every, stage, model, both)
    assert price_of(prices, "m", "llm") == both
    assert price_of(prices[:3], "m", "llm") == model
    assert price_of(prices[:2], "m", "llm") == stage
    assert price_of(prices, "m", "rerank") == model
    assert price_of(prices, "x", "rerank") == every
    assert price_of((model,), "x", "rerank") is None


@given(st.integers(0, 10**9), st.integers(0, 10**9), st.decimals(0, 9, places=7), st.decimals(0, 9, places=7))
def test_spend_is_exact(into: int, out: int, dear: Any, cheap: Any) -> None:
    prices = Prices("EUR", (price(None, None, str(dear), str(cheap)),))
    spend = spend_of({"prompt_tokens": into, "completion_tokens": out}, prices)
    assert spend == (into * Fraction(dear) + out * Fraction(cheap)) / 1000


def write(folder: Path, text: str) -> Path:
    path = folder / "prices.toml"
    path.write_text(text)
    return path


def test_a_price_list(tmp_path: Path) -> None:
    text = """
    currency = "EUR"
    [[price]]
    model = "m"
    input_per_1k = 0.1
    output_per_1k = 2
    [[price]]
    stage = "retrieve"
    per_1k = 0.006
    [budget]
    cap = 100.5
    spent = 0
    day = 1
    days = 31
    """
    assert load_prices(write(tmp_path, text)) == Prices(
        "EUR",
        (price("m", None, "0.1", "2"), price(None, "retrieval", "0.006", "0.006")),
        Budget(Fraction("100.5"), Fraction(0), 1, 31),
    )


ONE = "[[price]]\nper_1k = 1\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("x", "expected TOML, got: Expected '=' after a key in a key/value pair (at end of document)"),
        ("", "price: expected [[price]] tables, got none"),
        ("price = 3", "price: expected [[price]] tables, got another value"),
        ("prices = 3", "prices: expected a known key (one of: currency, price, budget), got an unknown one"),
        ("currency = 3\n" + ONE, "currency: expected a text, got 3"),
        ("[[price]]\nmodel = ''\nper_1k = 1", 'price[0].model: expected a non-empty text, got ""'),
        ("[[price]]\nper_1k = 'x'", 'price[0].per_1k: expected a number from 0, got "x"'),
        ("[[price]]\nper_1k = -0.5", "price[0].per_1k: expected a number from 0, got -0.5"),
        ("[[price]]\nper_1k = nan", "price[0].per_1k: expected a number from 0, got NaN"),
        ("[[price]]\nmodel = 'm'", "price[0]: expected per_1k, or input_per_1k and output_per_1k, got another choice"),
        ("[[price]]\ninput_per_1k = 1",
         "price[0]: expected per_1k, or input_per_1k and output_per_1k, got another choice"),
        ("[[price]]\nper_1k = 1\noutput_per_1k = 1",
         "price[0]: expected per_1k, or input_per_1k and output_per_1k, got another choice"),
        (ONE + ONE, "price[1]: expected one price for each model and stage, got two"),
        (ONE + "[budget]\ncap = 1\nspent = 1\nday = 1", "budget.days: expected a number from 0, got nothing"),
        (ONE + "[budget]\ncap = 0\nspent = 1\nday = 1\ndays = 30", "budget.cap: expected a number above 0, got 0"),
        (ONE + "[budget]\ncap = 1\nspent = 1\nday = 1.5\ndays = 30",
         "budget.day: expected a whole number from 1 to 30, got 1.5"),
        (ONE + "[budget]\ncap = 1\nspent = 1\nday = 1\ndays = 32",
         "budget.days: expected a whole number from 1 to 31, got 32"),
    ],
)  # fmt: skip
def test_mistakes_in_a_price_list(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, message: str) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path, text)
    with pytest.raises(DataError) as caught:
        load_prices(Path("prices.toml"))
    assert caught.value.lines()[0] == f"prices.toml: {message} [RW-K02]"
