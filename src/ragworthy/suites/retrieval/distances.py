"""ΔS of every first citation: recorded by the pipeline, or worked out from the texts with one named model."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from ragworthy.errors import PolicyError, Problem, data_error
from ragworthy.gates import MAX, MIN, Gate
from ragworthy.index.blocks import Corpus
from ragworthy.load.lock import Lock
from ragworthy.metrics.facts.convergence import Arm, RunKey, with_distances
from ragworthy.metrics.facts.distance import ACCEPT, BANDS, Calibration, band, cut, plain, verdict
from ragworthy.metrics.facts.runs import Reading
from ragworthy.names import DEFAULT_MODEL
from ragworthy.stats import percentile
from ragworthy.suites.request import Request

if TYPE_CHECKING:
    from ragworthy.index.calibrate import Asked
    from ragworthy.index.measure import Measure

RAW = "distances are raw: the thresholds mean nothing for this model until it is calibrated"
UNASKED = f'{RAW} (\'ragworthy gold freeze --corpus INDEX\'), unless delta_s = "raw" or "recorded" asks for it as it is'
"""Why a limit on such distances is not judged."""
WITHIN, FIRST_WITHIN = "retrieval.delta_s_within", "retrieval.delta_s_top1_within"
UNSTABLE, FAR = "retrieval.delta_s_unstable", "retrieval.delta_s_far"
"""The metrics that have a threshold inside them: of what is cited first, and of what is returned first."""
GATED = {
    "retrieval.delta_s_median": "median",
    "retrieval.delta_s_p90": "p90",
    "retrieval.delta_s_mean": "mean",
}
OF_RESULTS = ("retrieval.delta_s_topk_median", "retrieval.delta_s_topk_p90")


class Source(NamedTuple):
    """Where distances come from: the mode, the model behind them, and why there are none."""

    mode: str
    model: tuple[str, str] | None = None
    calibration: Calibration | None = None
    missing: str | None = None
    measure: "Measure | None" = None
    """What works them out, where they are worked out from texts."""
    asked: bool = False
    """Whether somebody asks in so many words for distances as a model has them."""
    results: str | None = None
    """Why the distances that traces record of their results mean nothing: their model does not separate."""

    @property
    def scaled(self) -> bool:
        """Whether the bands mean something: calibrated, or recorded by a pipeline on a scale of its own."""
        return self.mode == "calibrated" or (self.mode == "recorded" and self.model is None)

    @property
    def as_setting(self) -> str:
        """The source as two runs must share it to be compared."""
        model = f"{self.model[0]}:{self.model[1][:16]}" if self.model else "unnamed"
        return f"{self.mode} ({model})" if self.mode != "none" else "none"


class Wish(NamedTuple):
    """What is asked for: where distances come from, and the model behind them, where one is named."""

    mode: str = "auto"
    model: str | None = None

    def takes(self, model: str | None) -> bool:
        """Whether a model is the one that is asked for."""
        return self.model in (None, model)


class Known(NamedTuple):
    """What distances can be worked out with: the corpora (the one that is judged first), the lock and where it is."""

    corpora: Sequence[Corpus] = ()
    lock: Lock | None = None
    path: Path | None = None

    @property
    def corpus(self) -> Corpus | None:
        """The corpus of the arm that is judged."""
        return self.corpora[0] if self.corpora else None


def choose(wish: Wish, arm: Arm, known: Known) -> Source:
    """The source that is asked for, or else (auto) the best there is; none where its model does not separate.

    What traces record of their results may come from another model than what is cited is measured with.
    """
    source = _source(wish, arm, known)._replace(asked=wish.mode in ("raw", "recorded"))
    if source.missing is None and source.mode != "calibrated":
        source = _separating(_of_model(source, wish, known) if source.mode == "raw" else source, arm, known)
    if recorded_by(arm) == source.model:
        return source._replace(results=source.missing if source.model is not None else None)
    return source._replace(results=_separating(_recorded(arm, known), arm, known).missing)


def recorded_by(arm: Arm) -> tuple[str, str] | None:
    """The one model that the traces name as that of their distances."""
    return arm.models[0] if len(arm.models) == 1 else None


def _recorded(arm: Arm, known: Known) -> Source:
    """Distances as the traces have them, with the calibration of their model, where the lock keeps it."""
    stored, traced = calibration_of(known.lock), recorded_by(arm)
    return Source("recorded", traced, stored if stored and traced == (stored.model, stored.weights) else None)


def _source(wish: Wish, arm: Arm, known: Known) -> Source:
    """The source by what is there: a calibration, distances in the traces, a corpus."""
    stored, asked, corpus = calibration_of(known.lock), wish.mode, known.corpus
    recorded = any(reading.recorded is not None for one in arm.asked for reading in one.runs.values())
    traced = recorded_by(arm)
    if asked == "auto" and corpus is not None and not wish.takes(traced[0] if traced else None):
        recorded = False  # somebody wants another model than that of the traces
    if stored is not None and asked in ("auto", "calibrated"):
        model = (stored.model, stored.weights)
        if not wish.takes(stored.model):
            why = f"the policy names the model {wish.model}, the lock was calibrated with {stored.model}: freeze again"
            return Source("calibrated", model, stored, missing=why)
        if not stored.separates:
            return Source("calibrated", model, stored, missing=unseparated(stored.model))
        if corpus is not None:
            return _calibrated(stored, known)
        if traced == model:
            return Source("calibrated", model, stored)
    if asked == "calibrated":
        why = "the lock of the gold set has no calibration" if stored is None else "no corpus was given"
        return Source("calibrated", missing=f"{why} ('ragworthy gold freeze --corpus INDEX' makes one)")
    if asked == "raw" or (asked == "auto" and not recorded):
        if corpus is None:
            return Source(
                "raw" if asked == "raw" else "none", missing="no distances are recorded, and no corpus was given"
            )
        return Source("raw", (stored.model, stored.weights) if stored else None, stored)
    if len(arm.models) > 1:
        return Source("recorded", missing="the recorded distances come from several models")
    return _recorded(arm, known)


def unseparated(model: str) -> str:
    """Why a model measures nothing."""
    return f"{model} does not tell relevant from unrelated text here (r90 ≥ n10)"


def _calibrated(stored: Calibration, known: Known) -> Source:
    """Distances of the lock's model, where its weights can be had."""
    from ragworthy.index.measure import stored as again

    model = (stored.model, stored.weights)
    measure = again(*model, known.path, [partial(_texts, one) for one in known.corpora])
    if isinstance(measure, str):
        return Source("calibrated", model, stored, missing=measure)
    return Source("calibrated", (measure.name, measure.weights), stored, measure=measure)


def _texts(corpus: Corpus) -> list[str]:
    return list(corpus.texts.values())


def _of_model(source: Source, wish: Wish, known: Known) -> Source:
    """Raw distances with the model that is asked for, else the lock's, else the default one."""
    from ragworthy.index.measure import measure

    if source.model is not None and wish.takes(source.model[0]) and source.calibration is not None:
        found = _calibrated(source.calibration, known)
        return found._replace(mode="raw", asked=source.asked)
    if known.corpus is None:
        return source
    made = measure(wish.model or DEFAULT_MODEL, partial(_texts, known.corpus))
    return source._replace(model=(made.name, made.weights), calibration=None, measure=made)


def _separating(source: Source, arm: Arm, known: Known) -> Source:
    """The same source, with nothing measured where its model is known not to separate.

    A lock says so; without one the gold set and the corpus do, for models that come with this package.
    """
    calibration, corpus = source.calibration, known.corpus
    if source.missing is not None or source.model is None:
        return source
    if calibration is not None:
        return source if calibration.separates else source._replace(missing=unseparated(calibration.model))
    if corpus is None:
        return source
    from ragworthy.index.calibrate import probed
    from ragworthy.index.measure import built_in

    made = source.measure or built_in(*source.model, partial(_texts, corpus))
    found, whole = probed(_asked(arm, corpus), corpus, made) if made is not None else (None, False)
    if made is None or found is None or found.separates:
        return source._replace(calibration=found if whole and source.mode == "raw" else None)
    why = f"{unseparated(made.name)}; 'ragworthy gold freeze --corpus INDEX' looks for a model that does"
    return source._replace(missing=why)


def _asked(arm: Arm, corpus: Corpus) -> "list[Asked]":
    """The questions with the blocks of the corpus that answer them."""
    from ragworthy.index.calibrate import Asked

    return [
        Asked(
            one.wanted.qid,
            [text for text in one.wanted.wordings if text.strip()],
            [name for name in one.wanted.ids if name in corpus.texts],
        )
        for one in arm.asked
        if one.wanted.answerable
    ]


def calibration_of(lock: Lock | None) -> Calibration | None:
    """The calibration that the lock keeps."""
    if lock is None or not lock.calibration:
        return None
    try:
        return Calibration.from_json(lock.calibration)
    except (KeyError, TypeError, ValueError, ZeroDivisionError, OverflowError):
        message = "expected a calibration as 'gold freeze --corpus' writes it, got something else"
        raise data_error("RW-L01", message, where=lock.gold, field="calibration") from None


class Filled(NamedTuple):
    """An arm with its distances, and the raw ones beside them, which nothing is cut from."""

    arm: Arm
    source: Source
    raw: list[Fraction]


def fill(arm: Arm, source: Source, corpus: Corpus | None) -> Filled:
    """Give every first citation its distance."""
    if source.missing is not None:
        return Filled(arm, source, [])
    if source.mode != "recorded" and source.measure is not None and corpus is not None:
        raw = _from_texts(arm, source.measure, corpus)
    else:
        raw = {
            (one.wanted.qid, key): plain(reading.recorded)
            for one in arm.asked
            for key, reading in one.runs.items()
            if reading.recorded is not None and (source.mode == "recorded" or reading.model == source.model)
        }
    scale = source.calibration.of if source.mode == "calibrated" and source.calibration else None

    def of(qid: str, key: RunKey, reading: Reading) -> Fraction | None:
        value = raw.get((qid, key))
        return None if value is None else cut(value) if scale is None else scale(cut(value))

    return Filled(with_distances(arm, of, scaled=source.scaled), source, _by_question(arm, raw))


def _by_question(arm: Arm, raw: Mapping[tuple[str, RunKey], Fraction]) -> list[Fraction]:
    """The raw distance of each answered question: the mean over its runs, as the metrics have it."""
    found = []
    for one in arm.asked:
        values = [raw[key] for run in one.runs if (key := (one.wanted.qid, run)) in raw]
        if values and one.wanted.answerable:
            found.append(sum(values, Fraction(0)) / len(values))
    return found


def _from_texts(arm: Arm, measure: "Measure", corpus: Corpus) -> dict[tuple[str, RunKey], Fraction]:
    """Raw distances between each wording and the text of what it cites first."""
    keys: list[tuple[str, RunKey]] = []
    questions: list[str] = []
    texts: list[str] = []
    for one in arm.asked:
        for key, reading in one.runs.items():
            query = reading.query or wording(one.wanted.wordings, key[0])
            if reading.first is not None and query:
                keys.append((one.wanted.qid, key))
                questions.append(query)
                texts.append(corpus.texts.get(reading.first, ""))
    distances = measure.distances(questions, texts)
    return {key: plain(float(value)) for key, value in zip(keys, distances, strict=True)}


def wording(wordings: Sequence[str], paraphrase: int) -> str:
    """The wording a run was asked in, where its trace does not say."""
    return wordings[paraphrase] if 0 <= paraphrase < len(wordings) else wordings[0] if wordings else ""


def check_reachable(request: Request, source: Source) -> None:
    """Refuse a gate on a distance that nothing could pass; one that nobody named is not judged."""
    where = str(request.policy or "")
    problems = [
        Problem("RW-P13", message, where, gate.metric)
        for gate in request.gates
        if not gate.kept and (message := _impossible(gate, source))
    ]
    if problems:
        raise PolicyError(problems)


def _impossible(gate: Gate, source: Source) -> str | None:
    """Why no retriever could pass a gate on a distance: on a raw scale what even a perfect one fails is a mistake.

    On the calibrated scale a pipeline may refuse the questions that are far from their evidence, and pass with those
    that it answers: only what is nearer than any relevant text is out of reach.
    """
    above = beyond_perfect(gate, source)
    if above is None or source.mode == "raw":
        return above if source.asked else None  # else it is not judged
    nearest = source.calibration.nearest if source.calibration else None
    if nearest is None or source.calibration is None:
        return None
    best = source.calibration.of(nearest)
    limit = ACCEPT if gate.metric in (WITHIN, FIRST_WITHIN) else Fraction(gate.threshold)
    if best <= limit:
        return None
    return f"{_limit(gate)} can never pass: the nearest relevant text is at {float(best):.6f} ({source.mode})"


def beyond_perfect(gate: Gate, source: Source) -> str | None:
    """Why a retriever that answers every question could not pass a gate on a distance, however good it is."""
    calibration, field = source.calibration, GATED.get(gate.metric)
    if calibration is None or source.mode == "recorded" or source.missing is not None or gate.slice is not None:
        return None
    perfect = calibration.perfect if source.mode == "calibrated" else calibration.perfect_raw
    if gate.metric in (WITHIN, FIRST_WITHIN) and gate.op == MIN:
        all_near = source.mode != "calibrated" or Fraction(gate.threshold) < 1 or perfect.p90 <= ACCEPT
        best = None if all_near else f"has a p90 of {float(perfect.p90):.6f}"
    elif field is not None and gate.op == MAX and getattr(perfect, field) > Fraction(gate.threshold):
        best = f"scores {float(getattr(perfect, field)):.4f}"
    else:
        best = None
    told = f"{_limit(gate)} is out of reach where everything is answered: perfect retrieval"
    return None if best is None else f"{told} {best} ({source.mode})"


def _limit(gate: Gate) -> str:
    return f"{'min' if gate.op == MIN else 'max'} = {gate.threshold}"


def out_of_reach(request: Request, source: Source) -> list[str]:
    """The gates that pass only where a pipeline refuses questions, and why."""
    named = ((gate, beyond_perfect(gate, source)) for gate in request.gates if not gate.kept)
    return [f"{gate.metric}: {why}" for gate, why in named if why is not None]


def meaningless(gate: Gate, source: Source, *, raw_results: bool) -> str | None:
    """Why a limit on a distance says nothing about this index; `raw_results` when those of results are on a model's
    scale.

    On the scale of a model a limit is judged only where somebody asks for that scale in so many words, and names the
    gate or no gate at all; a default gate beside named ones is not judged where perfect retrieval would fail it.
    """
    if gate.op not in (MIN, MAX):
        return None
    if gate.metric in OF_RESULTS:
        return UNASKED if raw_results and not source.asked else None
    if gate.metric not in GATED or source.missing is not None:
        return None
    if gate.kept:
        return beyond_perfect(gate, source) or (None if source.scaled else RAW)
    return None if source.scaled or source.asked else UNASKED


def described(filled: Filled, values: Iterable[Fraction]) -> dict[str, Any]:
    """What the report says of the distances beside the metrics."""
    source, raw = filled.source, sorted(filled.raw)
    bands = dict.fromkeys([name for name, _ in BANDS] + ["danger"], 0)
    verdicts = dict.fromkeys(("accept", "review", "block"), 0)
    for value in values:
        bands[band(value)] += 1
        verdicts[verdict(value)] += 1
    found: dict[str, Any] = {
        "source": source.mode,
        "model": source.model[0] if source.model else None,
        "weights": source.model[1] if source.model else None,
        "missing": source.missing,
        "scaled": source.scaled,
        "bands": bands,
        "verdicts": verdicts,
        "raw": {"median": float(percentile(raw, 50)), "p90": float(percentile(raw, 90))} if raw else None,
        "calibration": None,
    }
    if source.calibration is not None:
        found["calibration"] = source.calibration.as_json() | {"separates": source.calibration.separates}
    return found
