"""Seeded swaps of clusters: against every swap gone through, the exact test, and themselves on other machines."""

import itertools
import math
import os
import random
import subprocess
import sys
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ragworthy.paired import exact, plain, swaps
from ragworthy.paired.swaps import swap_all

SEED = swaps.seed_of(14, "swap")


def brute(columns: list[dict[str, int]]) -> tuple[list[Fraction], list[Fraction]]:
    """Raw and step-down max-T p-values from the definition; scores are compared by their exact squares."""
    names = sorted({name for column in columns for name, value in column.items() if value})
    squares = [sum(value * value for value in column.values()) for column in columns]
    live = [nth for nth, square in enumerate(squares) if square]

    def score(nth: int, signs: dict[str, int]) -> Fraction:
        total = sum(value * signs.get(name, 1) for name, value in columns[nth].items())
        return Fraction(total * abs(total), squares[nth])

    seen = {nth: score(nth, {}) for nth in live}
    drawn = [dict(zip(names, signs, strict=True)) for signs in itertools.product((1, -1), repeat=len(names))]
    scores = [{nth: score(nth, signs) for nth in live} for signs in drawn]
    raw, adjusted, highest = [Fraction(1)] * len(columns), [Fraction(1)] * len(columns), Fraction(0)
    order = sorted(live, key=lambda nth: -seen[nth])
    for rank, nth in enumerate(order):
        raw[nth] = Fraction(sum(one[nth] >= seen[nth] for one in scores), len(scores))
        joint = sum(max(one[other] for other in order[rank:]) >= seen[nth] for one in scores)
        highest = max(highest, Fraction(joint, len(scores)))
        adjusted[nth] = highest
    return raw, adjusted


column = st.dictionaries(st.sampled_from("abcdef"), st.integers(-3, 3), max_size=6)


@settings(deadline=None)
@given(st.lists(column, min_size=1, max_size=4))
def test_few_clusters_are_gone_through(columns: list[dict[str, int]]) -> None:
    found = swap_all(columns, seed=SEED)
    raw, adjusted = brute(columns)
    assert found.exact
    assert found.p == tuple(map(float, raw))
    assert found.adjusted == tuple(map(float, adjusted))
    assert found.changed == tuple(sum(value != 0 for value in column.values()) for column in columns)


@settings(deadline=None)
@given(st.integers(0, 7), st.integers(0, 7))
def test_single_questions_are_mcnemar(worse: int, better: int) -> None:
    column = {str(n): 1 if n < worse else -1 for n in range(worse + better)}
    found = swap_all([column], seed=SEED)
    assert found.p == found.adjusted == (exact.mcnemar(worse, better),)


def test_three_sizes_are_the_exact_swap() -> None:
    """A rate of 3/4 as integers over 4: right or wrong 4, wrong or no case 3, right or no case 1."""
    sizes = [4] * 3 + [-4] + [3] * 3 + [-3] * 2 + [1] * 4 + [-1]
    found = swap_all([{str(n): size for n, size in enumerate(sizes)}], seed=SEED)
    assert found.exact
    assert found.p[0] == pytest.approx(exact.swap((3, 1), (3, 2), (4, 1), Fraction(3, 4)), rel=1e-12)


def test_draws_come_near_the_exact_test_and_are_never_zero() -> None:
    column = {str(n): 1 if n < 60 else -1 for n in range(100)}
    found = swap_all([column, {str(n): 1 for n in range(60)}], seed=SEED)
    assert not found.exact
    assert found.p[0] == pytest.approx(exact.mcnemar(60, 40), abs=4 * math.sqrt(0.028 * 0.972 / 9999))
    assert found.p[1] == found.adjusted[1] == 1 / 10_000
    assert swap_all([column], seed=SEED, draws=99).p[0] * 100 == pytest.approx(round(found.p[0] * 100), abs=5)


def test_many_parts_draw_what_one_part_draws(monkeypatch: pytest.MonkeyPatch) -> None:
    columns = [{str(n): (n * 7 + m) % 5 - 2 for n in range(130)} for m in range(3)]
    whole = swap_all(columns, seed=SEED)
    monkeypatch.setattr(swaps, "_CELLS", 10_000)
    assert swap_all(columns, seed=SEED) == whole


def test_the_draws_are_the_bits_of_the_generator() -> None:
    """Word by word: every draw takes ⌈G/64⌉ of them, the lowest bit is the first cluster by name."""
    columns = [{f"{n:03}": (n * 11) % 7 - 2 for n in range(70)}]
    values = np.array([columns[0][name] for name in sorted(columns[0])])
    reached, source = 1, np.random.PCG64(SEED)
    for _ in range(500):
        first, second = (int(word) for word in source.random_raw(2))
        turned = [(first >> n) & 1 for n in range(64)] + [(second >> n) & 1 for n in range(6)]
        reached += int((values * (1 - 2 * np.array(turned))).sum()) >= values.sum()
    assert swap_all(columns, seed=SEED, draws=500).p == (reached / 501,)


@settings(deadline=None)
@given(st.lists(column, min_size=1, max_size=4))
def test_without_numpy_swaps_are_gone_through_alike(columns: list[dict[str, int]]) -> None:
    found = swap_all(columns, seed=SEED)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(swaps, "find_spec", lambda name: None)
        assert swap_all(columns, seed=SEED) == found


def test_without_numpy_the_same_bits_are_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(6)
    columns = [{str(n): draw.randint(-3, 4) << 60 * (m % 2) for n in range(131)} for m in range(5)]
    found = swap_all(columns, seed=SEED, draws=999, slack=(0, 0, 0, 0, 2))
    monkeypatch.setattr(swaps, "find_spec", lambda name: None)
    assert swap_all(columns, seed=SEED, draws=999, slack=(0, 0, 0, 0, 2)) == found


@given(st.integers(0, 2**128 - 1))
def test_the_stream_without_numpy_is_that_of_numpy(seed: int) -> None:
    ours = plain.pcg64(seed)
    assert [next(ours) for _ in range(3)] == np.random.PCG64(seed).random_raw(3).tolist()


def test_the_order_of_clusters_and_columns_makes_no_difference() -> None:
    draw = random.Random(3)
    columns = [{str(n): draw.randint(-2, 3) for n in range(50)} for _ in range(4)]
    found = swap_all(columns, seed=SEED)
    shuffled = [dict(sorted(column.items(), key=lambda item: item[0][::-1])) for column in reversed(columns)]
    other = swap_all(shuffled, seed=SEED)
    assert (other.p[::-1], other.adjusted[::-1], other.changed[::-1]) == (found.p, found.adjusted, found.changed)


def test_adding_a_gate_leaves_raw_values_and_lifts_adjusted_ones() -> None:
    draw = random.Random(4)
    columns = [{str(n): draw.choice([-1, 0, 0, 1, 1]) for n in range(60)} for _ in range(5)]
    alone, five = swap_all(columns[:1], seed=SEED), swap_all([*columns, {}], seed=SEED)
    assert alone.adjusted == alone.p
    assert five.p[:5] == swap_all(columns, seed=SEED).p
    assert five.p[5:] == five.adjusted[5:] == (1.0,)
    assert all(adjusted >= p for p, adjusted in zip(five.p, five.adjusted, strict=True))
    assert max(five.adjusted[:5]) <= 5 * max(five.p[:5])


def test_equal_gates_cost_nothing() -> None:
    """Twelve times the same column, in other units, are one gate: Holm would multiply by twelve."""
    draw = random.Random(5)
    column = {str(n): draw.choice([-1, 0, 1, 1]) for n in range(80)}
    found = swap_all([{name: value * scale for name, value in column.items()} for scale in range(1, 13)], seed=SEED)
    assert set(found.p) == set(found.adjusted) == set(swap_all([column], seed=SEED).p)


def test_huge_integers_are_rounded_so_that_p_can_only_grow() -> None:
    """Thirds and sevenths of 2^80: sums that are equal as fractions are found, though 53 bits cannot hold them."""
    unit = 3 * 7 * 2**80
    small = {"a": 21, "b": 14, "c": 7, "d": -3, "e": 9, "f": 12}
    column = {name: value * unit // 21 for name, value in small.items()} | {"g": 1}
    raw, _ = brute([column])
    assert swap_all([column], seed=SEED).p[0] >= float(raw[0])
    assert swap_all([column], seed=SEED).p[0] == swap_all([small | {"g": 0}], seed=SEED).p[0]
    scaled = {name: value * unit for name, value in small.items()}
    assert swap_all([scaled], seed=SEED) == swap_all([small], seed=SEED)


@settings(deadline=None)
@given(st.lists(st.integers(-(2**90), 2**90), min_size=1, max_size=8))
def test_huge_integers_against_every_swap(values: list[int]) -> None:
    """Never below the exact share, and not above that of the swaps which come within a trillionth of what was seen."""
    column = {str(n): value for n, value in enumerate(values)}
    raw, _ = brute([column])
    near = sum(values) - sum(map(abs, values)) // 10**12
    swapped = itertools.product((1, -1), repeat=len(values))
    close = sum(sum(v * sign for v, sign in zip(values, signs, strict=True)) >= near for signs in swapped)
    assert float(raw[0]) <= swap_all([column], seed=SEED).p[0] <= close / 2 ** len(values)


def test_nothing_changed() -> None:
    assert swap_all([], seed=SEED) == ((), (), True, ())
    assert swap_all([{"a": 0}, {}], seed=SEED) == ((1.0, 1.0), (1.0, 1.0), True, (0, 0))


def test_a_family_of_gates_keeps_five_per_cent() -> None:
    """Twelve dependent gates without a true change, 300 times: some gate is proven in at most 5 % + 2.5 SE."""
    draw, false = np.random.default_rng(7), 0
    for _ in range(300):
        flips = draw.integers(-1, 2, size=(40, 12)) * (draw.random((40, 1)) < 0.5)
        signs = draw.choice([-1, 1], size=(40, 1))
        columns = [{str(g): int(value) for g, value in enumerate(column)} for column in (flips * signs).T]
        false += min(swap_all(columns, seed=SEED, draws=199).adjusted) <= 0.05
    assert 0 < false <= 300 * 0.05 + 2.5 * math.sqrt(300 * 0.05 * 0.95)


SCRIPT = """
import random
from ragworthy.paired.swaps import seed_of, swap_all
draw = random.Random(9)
columns = [{f"doc{n}": draw.randint(-9, 9) for n in draw.sample(range(500), 400)} for _ in range(6)]
print(repr(swap_all(columns, seed=seed_of("a", "swap", 2), draws=999)))
"""


def test_the_same_bytes_in_other_processes() -> None:
    def said(hashing: str, threads: str) -> str:
        more = {"PYTHONHASHSEED": hashing, "OPENBLAS_NUM_THREADS": threads}
        done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, env=os.environ | more)
        assert done.returncode == 0, done.stderr
        return done.stdout

    assert said("1", "1") == said("2", "2")


def test_seeds_and_sums() -> None:
    """SHA-256 of "0\\nswap\\n0", worked out by sha256sum."""
    assert swaps.seed_of(0, "swap") >> 96 == int("2fa07c98", 16)
    assert len({swaps.seed_of(seed, what, n) for seed in (0, 1) for what in ("swap", "flip") for n in (0, 1)}) == 8
    assert swaps.sums([2, -2, 1], ["x", "x", "y"]) == {"x": 0, "y": 1}
    with pytest.raises(ValueError, match="shorter"):
        swaps.sums([1, 2], ["x"])


def test_sums_that_are_equal_but_for_rounding_count_as_reached() -> None:
    """Nine thirds worse and three better, as a file of floats has them: 299 of 4,096 swaps are as bad, 0.0730."""
    exact = {f"q{nth}": 1 if nth < 9 else -1 for nth in range(12)}
    thirds = [333_333_333, 333_333_334]
    rounded = {name: sign * thirds[nth % 2] for nth, (name, sign) in enumerate(exact.items())}
    reached = sum(math.comb(12, worse) for worse in range(9, 13))
    assert swap_all([exact], seed=SEED).p == (reached / 4096,)
    assert swap_all([rounded], seed=SEED).p[0] < reached / 4096
    assert swap_all([rounded], seed=SEED, slack=[24]).p == (reached / 4096,)
    both = swap_all([rounded, exact], seed=SEED, slack=[24, 0])
    assert both.p == both.adjusted == (reached / 4096,) * 2
