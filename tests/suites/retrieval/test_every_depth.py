"""A loss is seen at every k in use: the pack `acceptance` judges each of them, and the comparison shows each."""

from pathlib import Path
from typing import Any

import pytest

import ragworthy as rw
from conftest import run_cli, write_jsonl

Row = dict[str, Any]
COUNT = 30
"""Questions, each with two relevant blocks."""


def block(section: int, number: int = 1) -> str:
    return f"S.{section}.p.Bk{number:03d}"


GOLD = [
    {
        "qid": f"Q{n}",
        "paraphrases": [f"{word} {n}?" for word in ("how", "what", "when")],
        "relevant": [block(n, 1), block(n, 2)],
        "anchor_section": f"S.{n}",
        "relevant_offsets": {block(n, 1): [1000, 1100], block(n, 2): [1200, 1300]},
    }
    for n in range(1, COUNT + 1)
]


def traces(index: str, second: int) -> list[Row]:
    """Ten results: one relevant block is first, the other at the rank `second`; it is absent where that is 0."""
    return [
        {
            "qid": f"Q{n}",
            "paraphrase": wording,
            "seed": seed,
            "topk": [
                {"id": block(n, 1) if rank == 1 else block(n, 2) if rank == second else block(900 + n, rank)}
                for rank in range(1, 11)
            ],
            "ΔS": [0.3] * 10,
            "answer_citations": [{"id": block(n, 1), "offsets": [1000, 1100]}],
            "index_hash": index,
        }
        for n in range(1, COUNT + 1)
        for wording in range(3)
        for seed in (1, 2)
    ]


LIVE, SHADOW = traces("old", 8), traces("new", 0)
"""Both find one of two blocks in the first five, 1/2; in the first ten live has both, 2/2, and the shadow one, 1/2."""


def outcomes(result: rw.Result) -> dict[str, str]:
    gates: list[Row] = result.report["gates"]
    return {one["metric"].removeprefix("retrieval."): one["outcome"] for one in gates}


def score(**options: Any) -> rw.Result:
    return rw.score("retrieval", gold=GOLD, traces=SHADOW, live=LIVE, packs=["acceptance"], defaults=False, **options)


@pytest.mark.parametrize("ks", [[10], [5, 10], None])
def test_a_loss_at_ten_is_not_accepted_though_five_is_as_it_was(ks: list[int] | None) -> None:
    found = score(k=ks)
    assert found.verdict == "NO-SHIP"
    recall = {name: outcome for name, outcome in outcomes(found).items() if name.startswith("recall@")}
    expected = {f"recall@{k}": "fail" if k == 10 else "pass" for k in ks or [1, 3, 5, 10]}
    assert recall == expected
    assert found.metrics["retrieval.recall@10"].value == 0.5  # 1 of 2 blocks of every question; live: 2 of 2


def test_what_is_not_in_use_is_not_judged() -> None:
    assert score(k=[5]).verdict == "SHIP"
    assert "recall@10" not in outcomes(score(k=[5]))


def test_a_k_that_only_a_gate_names_is_in_use_too() -> None:
    """Recall@10 is 0.5: the limit that somebody wrote holds, and the loss of half against live does not pass."""
    found = score(k=[5], gates={"recall@10": 0.4})
    of_ten = [(one["op"], one["outcome"]) for one in found.report["gates"] if one["metric"] == "retrieval.recall@10"]
    assert sorted(of_ten) == [(">=", "pass"), ("drop<=", "fail")]


def test_flags_policies_and_receipts_judge_alike(tmp_path: Path) -> None:
    files = {name: write_jsonl(tmp_path / f"{name}.jsonl", rows) for name, rows in
             (("gold", GOLD), ("trace", SHADOW), ("live", LIVE))}  # fmt: skip
    flags = [part for name, path in files.items() for part in (f"--{name}", path)]
    receipt = tmp_path / "receipt.json"
    done = run_cli("score", "retrieval", "--full", *flags, "--pack", "acceptance", "--no-default-gates", "--k", "5,10",
                   "--receipt", receipt)  # fmt: skip
    assert done.code == 1 and "NO-SHIP: retrieval.recall@10 fails" in done.out
    assert run_cli("verify", receipt).code == 0
    policy = tmp_path / "ragworthy.toml"
    policy.write_text(
        'version = 1\npacks = ["acceptance"]\ndefaults = false\n'
        '[retrieval]\ngold = "gold.jsonl"\ntraces = "trace.jsonl"\nlive = "live.jsonl"\nk = [5, 10]\n',
        encoding="utf-8",
    )
    assert outcomes(rw.gate(policy)) == outcomes(score(k=[5, 10]))


def test_the_comparison_shows_every_k(tmp_path: Path) -> None:
    files = {name: write_jsonl(tmp_path / f"{name}.jsonl", rows) for name, rows in
             (("gold", GOLD), ("trace", SHADOW), ("live", LIVE))}  # fmt: skip
    flags = [part for name, path in files.items() for part in (f"--{name}", path)]
    done = run_cli("score", "retrieval", *flags, "--k", "3,10", "--against-live", "--full")
    table = done.out.partition("shadow against live")[2].partition("\n\n")[0].splitlines()
    rows = {line.split()[0]: line.split()[1:] for line in table if line.strip().startswith("retrieval.")}
    assert rows["retrieval.recall@3"] == ["0.5", "0.5", "0", "0", "0"]
    assert rows["retrieval.recall@10"] == ["1.0", "0.5", "-0.5", "0", str(COUNT)]  # worse for all
