"""A report in one line of JSON, under the names that the sources' own programs print: for scripts that read those."""

import json
from typing import Any

from ragworthy.gates import DROP, EACH, WORSE
from ragworthy.metrics.registry import all_metrics
from ragworthy.names import DEFAULT_K

TYPE = "type="
"""How slices begin that hold one type of block."""
KINDS = ("prose", "code", "table", "figure")
"""Types of blocks as seed001 lists them; others come after."""
RETRIEVAL = {
    "P@": "retrieval.precision@",
    "R@": "retrieval.recall@",
    "coverage": "retrieval.coverage",
    "citation_accuracy": "retrieval.citation_accuracy",
    "ΔS_med": "retrieval.delta_s_median",
    "ΔS_p90": "retrieval.delta_s_p90",
}
"""What seed001 names, in its order; an @ is followed by the depth."""
_RULES = {DROP: "max_drop", WORSE: "max_worse", EACH: "must_pass"}
"""Gates that are not a limit, by what a policy calls them."""


def render(report: dict[str, Any]) -> str:
    """The line; of several suites each under its name."""
    made = {suite: _suite(suite, body, report) for suite, body in report["suites"].items()}
    told = next(iter(made.values())) if len(made) == 1 else {**made, "pass": report["pass"]}
    return json.dumps(told, ensure_ascii=False) + "\n"


def _suite(suite: str, body: dict[str, Any], report: dict[str, Any]) -> dict[str, Any]:
    if suite == "retrieval" and "bad_qids" in body:
        return _retrieval(body)
    own = [gate for gate in report["gates"] if (gate.get("suite") or gate["metric"].partition(".")[0]) == suite]
    ends = {"gates": {_named_gate(gate, suite): gate["threshold"] for gate in own}, "pass": report["pass"]}
    if suite == "answers":
        return _answers(body) | ends
    return {name.partition(".")[2]: metric["value"] for name, metric in body["metrics"].items()} | ends


def _answers(body: dict[str, Any]) -> dict[str, Any]:
    """What score_eval.py prints, by the rules of this report."""
    k = body["settings"]["k"][0]
    numbers = {name.partition(".")[2]: metric["value"] for name, metric in body["metrics"].items()}
    rates = {name: numbers[name] for name in ("precision", "chr", "under_refusal", "over_refusal")}
    counts = {name: body["counts"][name] for name in ("answered", "refused", "answerable", "unanswerable")}
    return counts | rates | {"recall@k": numbers[f"recall@{k}"], "k": k}


def _named_gate(gate: dict[str, Any], suite: str) -> str:
    """A gate by the name that its number has in the line; of answers by the one that score_eval.py is given."""
    base, at, k = gate["metric"].partition("@")
    metric = all_metrics().get(base) if suite == "answers" else None
    name = metric.short[0] if metric is not None and metric.short else base.partition(".")[2]
    rule = _RULES.get(gate["op"])  # a limit goes by the name alone
    return f"{name}{at}{k}" + (f"[{gate['slice']}]" if gate["slice"] else "") + (f" {rule}" if rule else "")


def _retrieval(body: dict[str, Any]) -> dict[str, Any]:
    ks = body["settings"]["k"]
    depth = DEFAULT_K if DEFAULT_K in ks else max(ks)
    groups = {name.removeprefix(TYPE): of for name, of in body["slices"].items() if name.startswith(TYPE)}
    kinds = sorted(groups, key=lambda kind: (KINDS.index(kind) if kind in KINDS else len(KINDS), kind))
    by_type = {kind: _named(groups[kind], depth) for kind in kinds}
    return {**_named(body["metrics"], depth), "bad_qids": body["bad_qids"], "by_type": by_type}


def _named(metrics: dict[str, Any], depth: int) -> dict[str, Any]:
    """The numbers that seed001 names; null where one was not measured."""
    found = {}
    for name, key in RETRIEVAL.items():
        k = str(depth) if name.endswith("@") else ""
        found[f"{name}{k}"] = metrics.get(f"{key}{k}", {}).get("value")
    return found
