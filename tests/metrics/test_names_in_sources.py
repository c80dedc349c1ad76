"""Metrics, profiles and outputs under the names that the sources give them."""

import json
import re
import shutil
import subprocess
from collections import Counter
from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import G1, G2, G3, T1, T2, T3, run_cli, write_jsonl
from places import SHARED
from ragworthy.metrics.aliases import ALIASES, folded
from ragworthy.metrics.registry import all_metrics, find, meant, suite_of
from ragworthy.suites import SUITES

NAMES = {
    "CHR": "answers.chr",
    "chr": "answers.chr",
    "Precision (answered)": "answers.precision",
    "Under-refusal": "answers.under_refusal",
    "over_refusal": "answers.over_refusal",
    "SCU violations": "answers.scu_violations",
    "P@5": "retrieval.precision@5",
    "R@10": "retrieval.recall@10",
    "p@1": "retrieval.precision@1",
    "Precision@5": "retrieval.precision@5",
    "Coverage": "retrieval.coverage",
    "Citation accuracy": "retrieval.citation_accuracy",
    "Anchor hit@3": "retrieval.anchor_hit@3",
    "anchor_proximity": "retrieval.anchor_distance",
    "ΔS_med": "retrieval.delta_s_median",
    "∆S_med": "retrieval.delta_s_median",
    "Î”S_p90": "retrieval.delta_s_p90",
    "ΔS_P90": "retrieval.delta_s_p90",
    "eval_score_avg": "structured.score",
    "schema_pass_rate": "structured.schema_pass_rate",
    "detailed_description_f1": "structured.detailed_description",
    "predicted_questions_f1": "structured.predicted_questions",
    "grounding": "structured.grounding",
    "ACR": "stability.acr",
    "CGHC": "stability.cghc",
    "CSS": "stability.css",
    "NED50": "stability.ned50",
    "NED₅₀": "stability.ned50",
    "RCR": "stability.rcr",
    "SCU-Cons": "stability.scu_consistency",
    "I-AA": "stability.iaa",
    "PA": "agreement.percent",
    "Percent Agreement": "agreement.percent",
    "κ": "agreement.kappa",
    "abstain_rate": "agreement.abstain",
    "P95": "latency.p95",
    "P99": "latency.p99",
    "Tail amplification": "latency.tail",
    "cost_per_correct": "cost.per_correct",
    "Retrieval.P@5": "retrieval.precision@5",
}


@pytest.mark.parametrize(("name", "metric"), NAMES.items())
def test_the_name_of_a_source_is_that_of_a_metric(name: str, metric: str) -> None:
    found = find(name, default_k=5) or find(name.partition(".")[2], default_k=5, suite=suite_of(metric))
    assert found is not None and found.id == metric
    shown = run_cli("explain", name)
    assert shown.code == 0, shown
    assert any(line.startswith(metric.partition("@")[0]) for line in shown.out.splitlines()), shown


def test_every_alias_is_of_a_metric_and_of_one_in_its_suite() -> None:
    metrics = all_metrics()
    assert ALIASES.keys() <= metrics.keys()
    for suite in SUITES:
        mine = all_metrics(suite).values()
        names = Counter((folded(name), one.at_k) for one in mine for name in {*map(folded, one.names)})
        assert [name for name, count in names.items() if count > 1] == [], suite


def test_a_name_of_several_suites_is_an_error_that_names_them(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert [one.id for one in meant("Recall@5", default_k=5)] == ["answers.recall@5", "retrieval.recall@5"]
    sections = '[answers]\ngold = "g"\ntraces = "t"\n', '[retrieval]\ngold = "g"\ntraces = "t"\n'
    gate = '[[gate]]\nmetric = "Recall@5"\nmin = 1'
    for section in sections:  # in a policy of one suite it is that of the suite
        Path("p.toml").write_text(f"version = 1\n{section}{gate}")
        assert "RW-P04" not in run_cli("gate", "-c", "p.toml").err
    Path("p.toml").write_text(f"version = 1\n{''.join(sections)}{gate}")
    done = run_cli("gate", "-c", "p.toml")
    line = "p.toml: gate[0].metric: expected one metric (answers.recall@5 or retrieval.recall@5), got"
    assert done.err.splitlines()[0] == f'{line} "Recall@5" [RW-P04]'
    assert [one.id for one in meant("recall@5", default_k=5)] == ["answers.recall@5"]  # as it always was
    assert [one.id for one in meant("Recall@5", default_k=5, suite="retrieval")] == ["retrieval.recall@5"]
    assert meant("P@0", default_k=5) == [] and meant("P", default_k=5) == []


@pytest.mark.parametrize("name", ["CHR@5", "chr@5", "answers.chr@5"])
def test_chr_at_k_may_be_the_rate_or_its_upper_bound(name: str, example: tuple[str, ...]) -> None:
    done = run_cli(*example, "--gates", f"{name}=0.75")
    line = f'--gates: {name}: expected one metric (answers.chr or answers.chr_ceiling@5), got "{name}" [RW-P04]'
    assert (done.code, done.err.splitlines()[0]) == (2, line)
    assert run_cli(*example, "--gates", "chr_ub@5=0.5").code == 0
    assert run_cli("explain", "CHR@5").out.startswith("answers.chr_ceiling@k ")


@pytest.fixture
def example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[str, ...]:
    """The example of seed000 §1, in the working folder."""
    monkeypatch.chdir(tmp_path)
    write_jsonl(Path("gold.jsonl"), [G1(), G2(), G3()])
    write_jsonl(Path("trace.jsonl"), [T1(), T2(), T3()])
    return "score", "answers", "--gold", "gold.jsonl", "--trace", "trace.jsonl"


def test_names_of_sources_wherever_a_metric_is_named(example: tuple[str, ...]) -> None:
    done = run_cli(*example, "--gates", "CHR=0.75", "Under-refusal=0.05", "--format", "json")
    assert [one["metric"] for one in json.loads(done.out)["gates"]][:2] == ["answers.chr", "answers.under_refusal"]
    result = rw.score("answers", gold="gold.jsonl", traces="trace.jsonl", gates={"CHR": 0.75})
    assert result.metrics["CHR"] == result.metrics["answers.chr"]
    assert result.metrics["Recall@5"] == result.metrics["answers.recall@5"]
    assert "CHR" not in result.metrics and result.metrics.get("P@5") is None
    with pytest.raises(KeyError):
        result.metrics["P@5"]
    waived = '[[waiver]]\ngate = "CHR"\nreason = "r"\nowner = "o"\nexpires = 2099-12-31\n'
    head = 'version = 1\n[answers]\ngold = "gold.jsonl"\ntraces = "trace.jsonl"\n'
    Path("p.toml").write_text(f'{head}[[gate]]\nmetric = "CHR"\nmin = 1\n{waived}')
    write_jsonl(Path("trace.jsonl"), [{**T1(), "retrieved_ids": []}, T2(), T3()])
    gate = rw.gate("p.toml").report["gates"][0]
    assert (gate["metric"], gate["outcome"], gate["waiver"]["gate"]) == ("answers.chr", "fail", "answers.chr")


def test_trends_and_comparisons_take_the_names_too(example: tuple[str, ...]) -> None:
    for name in ("a.json", "b.json"):
        run_cli(*example, "-o", name)
    done = run_cli("history", "trend", "a.json", "b.json", "--metric", "CHR")
    assert "answers.chr" in done.out and "answers.precision" not in done.out, done
    assert rw.compare("a.json", "b.json").metrics["CHR"].a == 1.0


# profiles by the name of a program


def test_the_reference_profile_is_found_by_the_program_it_follows(example: tuple[str, ...]) -> None:
    for name in ("score_eval.py", "ProblemMap/eval/score_eval.py", "score_eval"):
        assert run_cli(*example, "--profile", name) == run_cli(*example, "--profile", "reference")
    assert run_cli(*example, "--profile", "latency_sweep.py").code == 2  # of another suite
    for name, suite in SUITES.items():
        shown = run_cli("explain", suite.program)
        assert shown.code == 0
        assert shown.out == (
            f"{suite.program}  ({suite.page})\n  what it prints: ragworthy score {name} --profile {suite.program}\n"
        )
        assert suite.program in run_cli("score", name, "--help").out.replace("\n", "")


@pytest.mark.data("seeds")
def test_programs_are_named_as_the_seeds_name_them() -> None:
    seeds = "".join(path.read_text(encoding="utf-8") for path in sorted((SHARED / "seeds").glob("*.md")))
    for suite in ("answers", "retrieval", "structured"):
        assert SUITES[suite].program in seeds
        for page in re.findall(r"seed\d+_\w+\.md", SUITES[suite].page):
            assert (SHARED / "seeds" / page).is_file()


# outputs for scripts


def jq(rule: str, path: Path) -> bool:
    """What `jq -e RULE` says of a file; where there is no jq, what the two rules of seed000 mean."""
    if shutil.which("jq"):
        return subprocess.run(["jq", "-e", rule, str(path)], capture_output=True, check=False).returncode == 0
    assert rule == ".pass == true"
    return json.loads(path.read_text(encoding="utf-8")).get("pass") is True


def test_the_jq_line_of_seed000_holds_on_every_json(example: tuple[str, ...]) -> None:
    report = Path("last_report.json")
    for form in ("json", "compact"):
        report.write_text(run_cli(*example, "--format", form).out, encoding="utf-8")
        assert jq(".pass == true", report)
    run_cli(*example, "-o", "written.json")
    assert jq(".pass == true", Path("written.json"))
    write_jsonl(
        Path("trace.jsonl"), [T1(), {**T2(), "answer_json": T1()["answer_json"]}, T3()]
    )  # an unanswerable answered
    for form in ("json", "compact"):
        done = run_cli(*example, "--format", form)
        report.write_text(done.out, encoding="utf-8")
        assert done.code == 1 and not jq(".pass == true", report)
    write_jsonl(Path("trace.jsonl"), [T1(), T3()])  # not valid is not passed either
    done = run_cli(*example, "--format", "json")
    assert (done.code, json.loads(done.out)["pass"]) == (4, False)


def test_compact_answers_have_the_keys_of_score_eval(example: tuple[str, ...]) -> None:
    told = json.loads(run_cli(*example, "--format", "compact").out)
    printed = json.loads(run_cli(*example, "--profile", "score_eval.py").out)
    assert list(told) == list(printed)
    assert {key: told[key] for key in told if key != "gates"} == {key: printed[key] for key in told if key != "gates"}
    assert told["gates"] == {**printed["gates"], "missing": "0"}


def test_compact_gates_say_their_rule_where_it_is_no_limit(example: tuple[str, ...]) -> None:
    gate = '[[gate]]\nmetric = "precision"\n'
    Path("gates.toml").write_text(
        f'{gate}min = 0.80\n{gate}max_drop = 0.02\noptional = true\n{gate}must_pass = ["{G1()["qid"]}"]\n'
    )
    told = json.loads(run_cli(*example, "--gates", "gates.toml", "--no-default-gates", "--format", "compact").out)
    assert {name: limit for name, limit in told["gates"].items() if name.startswith("precision")} == {
        "precision": "0.80", "precision max_drop": "0.02", "precision must_pass": "1",
    }  # fmt: skip


def test_compact_gates_of_other_suites_have_the_names_of_their_numbers(tmp_path: Path) -> None:
    pair = {"qid": "1", "scholar": {"label": "VALID"}, "auditor": {"label": "VALID"}}
    pairs = write_jsonl(tmp_path / "pairs.jsonl", [pair])
    told = json.loads(run_cli("score", "agreement", "--pairs", pairs, "--format", "compact").out)
    assert told["gates"] == {"percent": "0.90", "kappa": "0.75", "abstain": "0.02"}
    assert told["gates"].keys() < told.keys()


def test_compact_retrieval_is_the_object_of_seed001(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    block = {"id": "S.4.2.p.Bk011a", "offsets": [1000, 1100], "type": "prose"}
    other = {"id": "S.4.1.p.Bk010", "offsets": [0, 900], "type": "code"}
    gold: list[dict[str, Any]] = [
        {
            "qid": name,
            "relevant": [block["id"]],
            "anchor_section": "S.4.2",
            "relevant_offsets": {block["id"]: [1000, 1100]},
        }
        for name in ("Q-1", "Q-2")
    ]
    cited = [{"id": block["id"], "offsets": [1010, 1090]}], [{"id": other["id"], "offsets": [0, 900]}]
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(
        Path("trace.jsonl"),
        [
            {"qid": "Q-1", "topk": [block, other], "ΔS": [0.31, 0.59], "answer_citations": cited[0]},
            {"qid": "Q-2", "topk": [other, block], "ΔS": [0.62, 0.31], "answer_citations": cited[1]},
        ],
    )
    done = run_cli(
        "score", "retrieval", "--gold", "gold.jsonl", "--trace", "trace.jsonl", "--delta-s", "recorded",
        "--format", "compact",
    )  # fmt: skip
    assert done.out.count("\n") == 1
    told = json.loads(done.out)
    keys = ["P@5", "R@5", "coverage", "citation_accuracy", "ΔS_med", "ΔS_p90"]
    assert list(told) == [*keys, "bad_qids", "by_type"]
    assert [told[key] for key in keys[:4]] == [0.5, 1.0, 0.5, 0.5]
    assert told["bad_qids"] == ["Q-2"]
    assert list(told["by_type"]) == ["prose", "code", "table", "figure"]
    assert all(list(one) == keys for one in told["by_type"].values())


@pytest.mark.parametrize(
    ("name", "metric"),
    [("ΔS", "retrieval.delta_s_p90"), ("λ_observe", "retrieval.lambda_rate"), ("λ", "retrieval.convergence")],
)
def test_a_name_that_several_metrics_share_explains_them_all_and_a_gate_must_say_which(name: str, metric: str) -> None:
    score = ("score", "retrieval", "--gold", "gold.jsonl", "--trace", "trace.jsonl")
    refused = run_cli(*score, "--gates", f"{name}=0.5")
    assert refused.code == 2 and refused.err.startswith(f"--gates: {name}: expected one metric (retrieval.")
    assert f"{metric} or " in refused.err and "latency." not in refused.err and "[RW-P04]" in refused.err
    done = run_cli("explain", name)
    assert done.code == 0 and f"{metric}  (" in done.out and done.out.count("  counts        ") > 3
