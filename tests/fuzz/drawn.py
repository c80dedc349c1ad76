"""Rules made up from scratch: whole policies, gate files and lists of gates in receipts, sound ones among them."""

import json
import random

from fuzz import values

_METRICS = ("answers.precision", "answers.containment", "answers.chr", "answers.under_refusal", "answers.over_refusal",
            "answers.recall@5", "answers.support", "answers.scu", "answers.scu_violations", "answers.missing",
            "precision")  # fmt: skip
_NUMBERS = ("0", "0.0", "-1", "1", "0.8", "0.5", "1e-9", "0.05", "0.95", "0.999", "2", "1e9", "100")
_SLICES = ("topic=t0", "topic=nope", "answerable=true", "qid=S1")


def policy(rng: random.Random) -> str:
    """A policy of the suite answers with one to three gates, and perhaps a waiver."""
    head = ["version = 1"]
    if rng.random() < 0.2:
        head.append(f'evidence = "{rng.choice(("point", "interval"))}"')
    if rng.random() < 0.3:
        head.append('baseline = "baseline.json"')
    if rng.random() < 0.1:
        head.append(f"regression = {rng.choice(('true', 'false'))}")
    suite = ["[answers]", 'gold = "gold.jsonl"', 'traces = "trace.jsonl"']
    for key in ("refusals", "slices", "k", "short_substr", "rule_packs"):
        if rng.random() < 0.12:
            suite.append(f"{key} = {rng.choice(values.MEANINGS[key])}")
    if rng.random() < 0.3:
        suite.append('corpus = "chunks.jsonl"')
    gates = [gate(rng) for _ in range(rng.choice((0, 1, 1, 1, 2, 3)))]
    waivers = [_waiver(rng)] if rng.random() < 0.15 else []
    return "\n".join((*head, *suite, *gates, *waivers)) + "\n"


def gate(rng: random.Random) -> str:
    """One gate as TOML."""
    lines = ["[[gate]]", f'metric = "{rng.choice(_METRICS)}"']
    for key in rng.sample(("min", "max", "max_drop", "max_worse"), rng.choice((1, 1, 1, 2))):
        lines.append(f"{key} = {rng.choice(_NUMBERS)}")
    if rng.random() < 0.1:
        lines[2:] = [f"must_pass = {rng.choice(values.MEANINGS['must_pass'])}"]
    if rng.random() < 0.3:
        lines.append("optional = true")
    if rng.random() < 0.2:
        lines.append(f'slice = "{rng.choice(_SLICES)}"')
    for key in ("min_n", "evidence", "review"):
        if rng.random() < 0.08:
            lines.append(f"{key} = {rng.choice(values.MEANINGS[key])}")
    return "\n".join(lines)


def _waiver(rng: random.Random) -> str:
    gate_name = rng.choice((*_METRICS, "*", "answers.precision[topic=t0]"))
    reason, owner = rng.choice(("", " ", "tracked")), rng.choice(("", " ", "search team"))
    expires = rng.choice(("2020-01-01", "2099-01-01"))
    return f'[[waiver]]\ngate = "{gate_name}"\nreason = "{reason}"\nowner = "{owner}"\nexpires = {expires}'


def gate_file(rng: random.Random) -> str:
    """A gate file."""
    return "\n".join(gate(rng) for _ in range(rng.choice((0, 1, 1, 2)))) + "\n"


def receipt_gates(rng: random.Random) -> str:
    """The gates of a request as a receipt has them, in JSON."""
    gates = []
    for _ in range(rng.choice((0, 1, 1, 1, 2))):
        gates.append(
            {
                "metric": rng.choice(_METRICS),
                "op": rng.choice((">=", ">=", "<=", "<=", "drop<=", "worse<=", "each")),
                "threshold": rng.choice(_NUMBERS),
                "slice": rng.choice((None, None, None, *_SLICES)),
                "min_n": rng.choice((0, 0, 0, -5, 99)),
                "evidence": rng.choice(("point", "point", "interval", "paired")),
                "must_pass": rng.choice(([], [], ["S1"], ["nope"])),
                "optional": rng.random() < 0.4,
                "review": rng.choice((None, None, ["0.1", "0.2"])),
                "why": None,
                "suite": rng.choice((None, None, "answers", "latency")),
            }
        )
    return json.dumps(gates)
