"""ΔS of every first citation: recorded by the pipeline, or worked out from the texts with one named model."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any, NamedTuple

from ragworthy.errors import PolicyError, Problem, data_error
from ragworthy.gates import MAX, Gate
from ragworthy.index.blocks import Corpus
from ragworthy.load.lock import Lock
from ragworthy.metrics.facts.convergence import Arm, RunKey, with_distances
from ragworthy.metrics.facts.distance import BANDS, Calibration, band, exact, verdict
from ragworthy.metrics.facts.runs import Reading
from ragworthy.names import DEFAULT_MODEL
from ragworthy.stats import percentile
from ragworthy.suites.request import Request

RAW = "distances are raw: the thresholds mean nothing for this model until it is calibrated"
GATED = {
    "retrieval.delta_s_median": "median",
    "retrieval.delta_s_p90": "p90",
    "retrieval.delta_s_mean": "mean",
}


class Source(NamedTuple):
    """Where distances come from: the mode, the model behind them, and why there are none."""

    mode: str
    model: tuple[str, str] | None = None
    calibration: Calibration | None = None
    missing: str | None = None

    @property
    def scaled(self) -> bool:
        """Whether the bands mean something: calibrated, or recorded by a pipeline on a scale of its own."""
        return self.mode == "calibrated" or (self.mode == "recorded" and self.model is None)

    @property
    def as_setting(self) -> str:
        """The source as two runs must share it to be compared."""
        model = f"{self.model[0]}:{self.model[1][:16]}" if self.model else "unnamed"
        return f"{self.mode} ({model})" if self.mode != "none" else "none"


def choose(asked: str, arm: Arm, corpus: Corpus | None, lock: Lock | None) -> Source:
    """The source that is asked for, or else (auto) the best there is."""
    stored = _stored(lock)
    recorded = any(reading.recorded is not None for one in arm.asked for reading in one.runs.values())
    traced = arm.models[0] if len(arm.models) == 1 else None
    if stored is not None and asked in ("auto", "calibrated"):
        model = (stored.model, stored.weights)
        if not stored.separates:
            why = f"{stored.model} does not tell relevant from unrelated text here (r90 ≥ n10)"
            return Source("calibrated", model, stored, missing=why)
        if corpus is not None or traced == model:
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
    return Source("recorded", traced, stored if stored and traced == (stored.model, stored.weights) else None)


def _stored(lock: Lock | None) -> Calibration | None:
    """The calibration that the lock keeps."""
    if lock is None or not lock.calibration:
        return None
    try:
        return Calibration.from_json(lock.calibration)
    except (KeyError, TypeError, ValueError, ZeroDivisionError):
        message = "expected a calibration as 'gold freeze --corpus' writes it, got something else"
        raise data_error("RW-L01", message, where=lock.gold, field="calibration") from None


class Filled(NamedTuple):
    """An arm with its distances, and the raw ones beside them."""

    arm: Arm
    source: Source
    raw: list[Fraction]


def fill(arm: Arm, source: Source, corpus: Corpus | None) -> Filled:
    """Give every first citation its distance."""
    if source.missing is not None:
        return Filled(arm, source, [])
    if source.mode != "recorded" and corpus is not None:
        source, raw = _from_texts(arm, source, corpus)
    else:
        raw = {
            (one.wanted.qid, key): exact(reading.recorded)
            for one in arm.asked
            for key, reading in one.runs.items()
            if reading.recorded is not None and (source.mode == "recorded" or reading.model == source.model)
        }
    scale = source.calibration.of if source.mode == "calibrated" and source.calibration else None

    def of(qid: str, key: RunKey, reading: Reading) -> Fraction | None:
        value = raw.get((qid, key))
        return value if value is None or scale is None else scale(value)

    return Filled(with_distances(arm, of, scaled=source.scaled), source, _by_question(arm, raw))


def _by_question(arm: Arm, raw: Mapping[tuple[str, RunKey], Fraction]) -> list[Fraction]:
    """The raw distance of each answered question: the mean over its runs, as the metrics have it."""
    found = []
    for one in arm.asked:
        values = [raw[key] for run in one.runs if (key := (one.wanted.qid, run)) in raw]
        if values and one.wanted.answerable:
            found.append(sum(values, Fraction(0)) / len(values))
    return found


def _from_texts(arm: Arm, source: Source, corpus: Corpus) -> tuple[Source, dict[tuple[str, RunKey], Fraction]]:
    """Raw distances between each wording and the text of what it cites first."""
    from ragworthy.index.embed import load, text_distances

    embedder = load(source.model[0] if source.model else DEFAULT_MODEL)
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
    distances = text_distances(embedder, questions, texts)
    raw = {key: exact(float(value)) for key, value in zip(keys, distances, strict=True)}
    return source._replace(model=(embedder.name, embedder.weights)), raw


def wording(wordings: Sequence[str], paraphrase: int) -> str:
    """The wording a run was asked in, where its trace does not say."""
    return wordings[paraphrase] if 0 <= paraphrase < len(wordings) else wordings[0] if wordings else ""


def check_reachable(request: Request, source: Source) -> None:
    """Refuse a gate on a distance that a perfect retriever could not pass; one that nobody named is not judged."""
    where = str(request.policy or "")
    problems = [
        Problem("RW-P13", message, where, gate.metric)
        for gate in request.gates
        if not gate.kept and (message := _unreachable(gate, source))
    ]
    if problems:
        raise PolicyError(problems)


def _unreachable(gate: Gate, source: Source) -> str | None:
    """Why no retriever could pass a gate on a distance."""
    calibration, field = source.calibration, GATED.get(gate.metric)
    if calibration is None or source.mode == "recorded" or source.missing is not None:
        return None
    if field is None or gate.op != MAX or gate.slice is not None:
        return None
    best: Fraction = getattr(calibration.perfect if source.mode == "calibrated" else calibration.perfect_raw, field)
    if best <= Fraction(gate.threshold):
        return None
    return f"max = {gate.threshold} can never pass: perfect retrieval scores {float(best):.4f} ({source.mode})"


def meaningless(gate: Gate, source: Source) -> str | None:
    """Why a default gate on a distance, which nobody named, says nothing about this index."""
    if not gate.kept or gate.metric not in GATED or source.missing is not None:
        return None
    return _unreachable(gate, source) or (None if source.scaled else RAW)


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
