"""Gates and the verdict: a small pure judgement of numbers against rules."""

from collections.abc import Mapping
from fractions import Fraction
from typing import NamedTuple

from ragworthy.mustpass import Asked, Each, passing
from ragworthy.names import Outcome, Verdict
from ragworthy.proving import (
    IMPLIED,
    INTERVAL,
    NO_TEST,
    PAIRED,
    POINT,
    UNEVEN,
    Loss,
    Tested,
    decide,
    despite_errors,
    hidden_by_errors,
    lacks,
)
from ragworthy.rows import Rows
from ragworthy.value import Value as Value


class Gate(NamedTuple):
    """One rule on one metric; thresholds keep the text they were written in."""

    metric: str
    op: str
    threshold: str
    slice: str | None = None
    min_n: int = 0
    evidence: str = "point"
    must_pass: tuple[str, ...] = ()
    optional: bool = False
    review: tuple[str, str] | None = None
    why: str | None = None
    suite: str | None = None
    """The suite that is judged, where it is not the metric's own."""
    usual: bool = False
    """Whether nobody wrote it: a rule of the suite, which may give way where the evidence cannot show its metric."""
    kept: bool = False
    """Whether nobody named it: a default gate that stays beside the ones that were named."""
    min_effect: str | None = None
    """The loss that must be exceeded before a proven one fails a gate that compares; None for its tolerance."""
    rerun: bool = False
    """Whether a question that must pass and does not in its only run is to be asked again before that is a failure."""
    pack: str | None = None
    """The gate pack that has it, where one was named."""
    instead: str | None = None
    """The rule of that pack which it replaces, where somebody wrote another."""
    packed: bool = False  # nobody wrote it: it comes from its pack
    replaces: bool = False  # it takes the place of a default rule that may give way, and what judges then holds too
    over: str | None = None  # the rule of another pack, for all loads, whose place it takes at its load

    @property
    def effect_text(self) -> str:
        """The same, with its default."""
        return self.threshold if self.min_effect is None else self.min_effect

    @property
    def guard(self) -> bool:
        """Whether it compares without any tolerance that could be exceeded: it fails by proof alone."""
        return self.op == DROP and self.min_effect is not None and Fraction(self.threshold) >= 1

    @property
    def strictness(self) -> Fraction:
        """Its threshold, so that more is stricter, whichever side is the good one."""
        return Fraction(self.threshold) if self.op == MIN else -Fraction(self.threshold)


MIN, MAX, DROP, WORSE, EACH = ">=", "<=", "drop<=", "worse<=", "each"
"""The kinds of gate: at least, at most, at most so much worse than the baseline, or such a share of it, one by one."""
AGAINST = (DROP, WORSE)
"""The kinds that need a baseline."""


def with_evidence(gate: Gate, evidence: str) -> Gate:
    """A gate decided as is usual: one that compares by the questions that changed, any other by what was asked for.

    >>> [with_evidence(Gate("answers.chr", op, "0.02"), "interval").evidence for op in (MIN, DROP)]
    ['interval', 'paired']
    """
    return gate._replace(evidence=PAIRED if gate.op in AGAINST else evidence)


class Waiver(NamedTuple):
    """A failing gate that may be ignored for a while, with a name under it."""

    gate: str
    reason: str
    owner: str
    expires: str


class Judged(NamedTuple):
    """What a gate says, and everything needed to show why."""

    gate: Gate
    outcome: Outcome
    reason: str
    value: Value | None
    baseline: Fraction | None = None
    previous: str | None = None
    waiver: Waiver | None = None
    failing: tuple[str, ...] = ()
    excused: bool = False
    """Whether it is only listed: a default gate that nobody named and that this evidence cannot measure."""
    by_errors: bool = False
    """Whether it was not measured because errors took its cases away: these can be had, so nothing excuses it."""
    tested: Tested | None = None
    """What the questions of both runs say, where it compares and is not decided by its point."""
    apart: str = ""
    """What keeps it from being compared with the baseline, in one word, where that is why it was not measured."""
    family: int = 1
    """How many gates of the verdict compare, over all suites."""

    @property
    def lost(self) -> Fraction | None:
        """How much was lost against the baseline, in the unit of the threshold; None where nothing is compared."""
        if self.baseline is None or self.value is None or self.value.exact is None:
            return None
        return _lost(self.gate, self.value, self.baseline)

    @property
    def upper(self) -> Fraction | None:
        """The loss that is not excluded, in the unit of the threshold; None where there is no bound."""
        return None if self.baseline is None else _upper(self.gate, self.value, self.baseline, self.tested or NO_TEST)

    @property
    def unmeasured(self) -> bool:
        """Whether a number is lacking without which there is no verdict."""
        return self.outcome is Outcome.NOT_MEASURED and not self.gate.optional and not self.excused

    @property
    def margin(self) -> Fraction | None:
        """How far the value is on the good side of the threshold; negative on the bad side."""
        number = None if self.value is None else self.value.exact
        if number is None or self.gate.op == EACH or self.by_errors:
            return None
        limit = Fraction(self.gate.threshold)
        if self.gate.op in AGAINST:
            lost = self.lost
            return None if lost is None or self.gate.guard else limit - lost
        return number - limit if self.gate.op == MIN else limit - number


class Baseline(NamedTuple):
    """What an earlier accepted run says: values by (slice, metric), thresholds by gate, and why it cannot be used."""

    values: Mapping[tuple[str | None, str], Fraction]
    thresholds: Mapping[tuple[str, str, str | None], str]
    unlike: str | None = None
    name: str = "the baseline"  # empty for one that is only named, and not there yet
    rows: Rows | None = None
    """What every metric said of every question of it; None where that is not known."""
    rowless: str = ""
    """Why its rows are not known, for people."""
    passed: Mapping[tuple[str, str], bool] = {}
    """Whether questions that must pass ever did, by metric and qid, as far as its rows say."""
    flips: Mapping[str, Fraction] = {}
    """The share of questions that changed between its own runs, by metric, where that was kept."""
    apart: str = ""
    """What `unlike` is about, in one word."""
    gone: tuple[int, int] = (0, 0)
    """How many of its questions ended in an error, and of how many."""


Values = Mapping[tuple[str | None, str], Value]
"""Values by (slice, metric id); the slice None is the whole gold set."""


def judge(
    gates: tuple[Gate, ...],
    values: Values,
    *,
    baseline: Baseline | None = None,
    waivers: tuple[Waiver, ...] = (),
    each: Each | None = None,
    tested: Mapping[Gate, Tested] | None = None,
) -> list[Judged]:
    """Every gate's outcome. `each` holds the per-question results that `must_pass` gates ask for, run by run where
    there are several, `tested` what the questions of both runs say of gates that compare.
    """
    waived = {waiver.gate: waiver for waiver in waivers}
    judged = []
    for gate in gates:
        value = values.get((gate.slice, gate.metric))
        one = _judge_one(gate, value, baseline, each or {}, (tested or {}).get(gate))
        if one.outcome in (Outcome.FAIL, Outcome.UNDECIDED):
            one = one._replace(waiver=waived.get(name_of(gate)))
        judged.append(one)
    return judged


def excuse(judged: list[Judged]) -> list[Judged]:
    """The outcomes of one suite, in which default gates that could not be measured are only listed.

    That is so where a gate that somebody named was judged; else nothing at all would have been.
    """
    if not any(decides(one) and not one.gate.kept for one in judged):
        return judged
    late = [one.gate.kept and one.outcome is Outcome.NOT_MEASURED and not one.by_errors for one in judged]
    return [one._replace(excused=True) if listed else one for one, listed in zip(judged, late, strict=True)]


def name_of(gate: Gate) -> str:
    """How a waiver names a gate: the metric, with the slice where it has one, after the suite where that is another's.

    >>> name_of(Gate("answers.chr", ">=", "0.75", slice="topic=billing"))
    'answers.chr[topic=billing]'
    """
    metric = f"{gate.suite}:{gate.metric}" if gate.suite else gate.metric
    return f"{metric}[{gate.slice}]" if gate.slice else metric


def _judge_one(gate: Gate, value: Value | None, baseline: Baseline | None, each: Each, tested: Tested | None) -> Judged:
    previous = None if baseline is None else baseline.thresholds.get((gate.metric, gate.op, gate.slice))
    if value is None:
        where = f" in slice {gate.slice}" if gate.slice else ""
        return Judged(gate, Outcome.NOT_MEASURED, f"no such number was measured{where}", None)
    if value.exact is None:
        outcome = Outcome.FAIL if value.endless else Outcome.NOT_MEASURED
        return Judged(gate, outcome, value.undefined or "", value, previous=previous)
    if gate.op == EACH:
        return _judge_each(gate, value, baseline, each)
    if gate.op == MAX and value.most and Fraction(gate.threshold) >= value.most:
        reason = f"it can never fail: there are only {value.most} {value.cases}"
        return Judged(gate, Outcome.NOT_MEASURED, reason, value, previous=previous)
    compared: Fraction | None = None
    if gate.op in AGAINST:
        if baseline is None:
            return Judged(gate, Outcome.NOT_MEASURED, "no baseline was given", value)
        if baseline.unlike is not None:
            told = f"{baseline.name} is not comparable: {baseline.unlike}" if baseline.name else baseline.unlike
            return Judged(gate, Outcome.NOT_MEASURED, told, value, apart=baseline.apart)
        compared = baseline.values.get((gate.slice, gate.metric))
        if compared is None:
            return Judged(gate, Outcome.NOT_MEASURED, lacks(baseline.name, gate.slice, baseline.values), value)
    seen = tested or NO_TEST
    if lacking := seen.lacking or ((gate.guard or seen.without == UNEVEN) and seen.without):
        return Judged(gate, Outcome.NOT_MEASURED, lacking, value, baseline=compared, by_errors=bool(seen.lacking))
    tested = seen if compared is not None and gate.evidence != POINT else None
    outcome, reason = _compare(gate, value, compared, seen)
    if compared is not None and baseline is not None and hidden_by_errors(gate.metric):
        gone = seen.gone if seen.without is None else baseline.gone
        second = _without_errors(gate, value, seen)
        outcome, reason = despite_errors((outcome, reason), second, seen, gone, baseline.name)
    return Judged(gate, outcome, reason, value, baseline=compared, previous=previous, tested=tested)


def _judge_each(gate: Gate, value: Value, baseline: Baseline | None, each: Each) -> Judged:
    known = {} if baseline is None or baseline.unlike else baseline.passed
    good = value.better == "higher"
    asked = [Asked.of(qid, each.get((gate.metric, qid)), good, known.get((gate.metric, qid))) for qid in gate.must_pass]
    outcome, reason, failing = passing(asked, gate.rerun)
    if outcome is Outcome.PASS and (few := _too_few(gate, value)):
        outcome, reason = Outcome.UNDECIDED, few
    return Judged(gate, outcome, reason, value, failing=failing)


def _lost(gate: Gate, value: Value, baseline: Fraction) -> Fraction | None:
    """How much worse it is (negative: better), in its unit or as a share of the baseline; None: a share of nothing."""
    number = value.exact or Fraction(0)
    drop = baseline - number if value.better == "higher" else number - baseline
    if gate.op == DROP or not drop:
        return drop
    return drop / abs(baseline) if baseline else None if drop > 0 else Fraction(0)


def _for_a_person(gate: Gate, number: Fraction | None) -> bool:
    """Whether a value, or a loss against the baseline, lies in the review band; the threshold itself is decided."""
    if gate.review is None or number is None or number == Fraction(gate.threshold):
        return False
    low, high = map(Fraction, gate.review)
    return low <= number <= high


def _too_few(gate: Gate, value: Value) -> str | None:
    """Why there are too few cases to decide; a count has as many as were looked at."""
    cases = value.size if value.size is not None else value.most
    if cases is None or cases >= gate.min_n:
        return None
    return f"{cases} {value.cases} are fewer than min_n = {gate.min_n}"


def _upper(gate: Gate, value: Value | None, baseline: Fraction, tested: Tested) -> Fraction | None:
    """The loss that is not excluded, in the unit of the threshold; of a rate no more than there is to lose."""
    if tested.upper is None or (gate.op == WORSE and not baseline):
        return None
    upper = Fraction(tested.upper)
    if value is not None and value.rate and value.den is not None:
        upper = min(upper, baseline if value.better == "higher" else value.top - baseline)
    return upper / abs(baseline) if gate.op == WORSE else upper


def _compare(gate: Gate, value: Value, baseline: Fraction | None, tested: Tested) -> tuple[Outcome, str]:
    if few := _too_few(gate, value):
        return Outcome.UNDECIDED, few
    band = f"in the review band {' … '.join(gate.review or ())}: a person decides"
    if baseline is None:
        return (Outcome.UNDECIDED, band) if _for_a_person(gate, value.exact) else _hold(gate, value)
    lost = _lost(gate, value, baseline)
    loss = Loss(lost, Fraction(gate.threshold), Fraction(gate.effect_text), _upper(gate, value, baseline, tested))
    if _for_a_person(gate, lost) and not loss.shown_by(gate.evidence, tested):
        return Outcome.UNDECIDED, band
    worded = "dropped too far" if value.better == "higher" else "rose too far"
    return decide(gate.evidence, loss, tested, worded)


def _without_errors(gate: Gate, value: Value, tested: Tested) -> tuple[Outcome, str] | None:
    """The outcome over the questions that ended in an error in neither run; None where there is none."""
    rest = tested.unerrored
    if rest is None:
        return None
    value = value._replace(num=rest.new.numerator, den=rest.new.denominator, independent=None, n=None)
    return _compare(gate._replace(min_n=0, review=None), value, rest.old, rest.tested)


def _hold(gate: Gate, value: Value) -> tuple[Outcome, str]:
    """A number against its threshold; under `interval` its interval, which a count needs not: it is not an estimate."""
    number, limit, interval = value.exact or Fraction(0), Fraction(gate.threshold), value.interval
    if gate.evidence == INTERVAL and value.den is not None:
        if interval is None:
            return Outcome.UNDECIDED, f"it has no interval: {value.boundless or 'none is known for such a number'}"
        low, high = map(Fraction, interval)
        if (low >= limit) if gate.op == MIN else (high <= limit):
            worst = value.doubtful or interval
            if (worst[0] >= limit) if gate.op == MIN else (worst[1] <= limit):
                return Outcome.PASS, ""
            told = f"{value.homeless:,} cases have no known document, and might stand or fall together"
            return Outcome.UNDECIDED, f"{told}: then the interval would be {worst[0]:.3f} … {worst[1]:.3f}"
        if (high < limit) if gate.op == MIN else (low > limit):
            return Outcome.FAIL, "the whole interval is on the wrong side"
        return Outcome.UNDECIDED, "the interval straddles the threshold"
    if number >= limit if gate.op == MIN else number <= limit:
        return Outcome.PASS, ""
    return Outcome.FAIL, "below the threshold" if gate.op == MIN else "above the threshold"


def decides(one: Judged) -> bool:
    """Whether a gate was measured, on something that says more than that there are answers.

    >>> count = Value(0, None, most=12)
    >>> decides(Judged(Gate("answers.missing", MAX, "0"), Outcome.PASS, "", count))
    False
    """
    if one.outcome is Outcome.NOT_MEASURED or one.gate.metric.partition(".")[2] in IMPLIED:
        return False
    return one.value is None or one.value.most != 0  # a count over no case at all is 0 whatever happened


def verdict(judged: list[Judged], invalid: list[str]) -> Verdict:
    """The one verdict: INVALID before NO-SHIP before INCONCLUSIVE before SHIP.

    `invalid` lists why the evidence is not valid, apart from gates that were not measured. At least one gate
    must have been measured on something that decides, or whatever was answered would ship. Where nobody asked for a
    gate, nothing was judged.

    >>> verdict([], []), verdict([], ["a question has no trace"])
    (<Verdict.INCONCLUSIVE: 'INCONCLUSIVE'>, <Verdict.INVALID: 'INVALID'>)
    """
    if not judged and not invalid:
        return Verdict.INCONCLUSIVE
    counted = [one for one in judged if one.waiver is None]
    if invalid or any(one.unmeasured for one in counted) or not any(map(decides, judged)):
        return Verdict.INVALID
    if any(one.outcome is Outcome.FAIL for one in counted):
        return Verdict.NO_SHIP
    if any(one.outcome is Outcome.UNDECIDED for one in counted):
        return Verdict.INCONCLUSIVE
    return Verdict.SHIP
