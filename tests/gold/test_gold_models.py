"""Which model of distances a lock keeps, and that everything afterwards goes by it."""

import json
from contextlib import suppress
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import ragworthy
from conftest import Done, run_cli, write_jsonl
from ragworthy.codes import CATALOGUE
from ragworthy.errors import missing_extra
from ragworthy.index.measure import read_weights
from ragworthy.index.ngrams import Ngram, Table, count

Row = dict[str, Any]
CHUNKS = {
    "lift#1": "The doors close after ten seconds, and a light barrier keeps them open.",
    "lift#2": "Press the yellow bell button for three seconds to call the control centre.",
    "bread#1": "Bake the sourdough loaf at 240 degrees for twenty minutes.",
    "bread#2": "Keep the loaf in a linen bag and never in the fridge.",
    "sea#1": "Spring tides follow the full moon and the new moon.",
    "sea#2": "Every litre of sea water holds thirty five grams of salt.",
    "law#1": "A lease of an apartment ends three months after written notice.",
    "law#2": "Income tax returns are due at the end of July.",
}
QUESTIONS = [
    "After how many seconds do the doors close?",
    "Which yellow button do I press to call the control centre?",
    "At how many degrees do I bake the sourdough loaf?",
    "Do I keep the loaf in a linen bag?",
    "Which moon do spring tides follow?",
    "How many grams of salt are in a litre of sea water?",
    "When does the lease of an apartment end?",
    "When are income tax returns due?",
]
DS = "delta_s_median=0.45"
UNASKED = (
    "distances are raw: the thresholds mean nothing for this model until it is calibrated "
    '(\'ragworthy gold freeze --corpus INDEX\'), unless delta_s = "raw" or "recorded" asks for it as it is'
)


def said(code: str, message: str) -> str:
    return f"{message} [{code}]\n  {CATALOGUE[code].name}: {CATALOGUE[code].do}\n"


@pytest.fixture
def lab(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gold set over eight chunks of four documents, and traces that cite what is right."""
    monkeypatch.chdir(tmp_path)
    write_jsonl(tmp_path / "chunks.jsonl", [{"chunk_id": name, "text": text} for name, text in CHUNKS.items()])
    items = enumerate(zip(QUESTIONS, CHUNKS, strict=True))
    gold: list[Row] = [{"qid": f"Q{n}", "question": text, "relevant": [name]} for n, (text, name) in items]
    write_jsonl(tmp_path / "gold.jsonl", gold)
    write_jsonl(tmp_path / "t.jsonl", [trace(one["qid"], one["relevant"][0]) for one in gold])
    return tmp_path


def trace(qid: str, name: str) -> Row:
    return {"qid": qid, "topk": [{"id": name}], "answer_citations": [name]}


def freeze(*flags: object) -> Done:
    return run_cli("gold", "freeze", "gold.jsonl", "--signer", "A", "--reason", "x", "--corpus", "chunks.jsonl", *flags)


def kept() -> Row:
    found: Row = json.loads(Path("gold.lock").read_text())["calibration"]
    return found


def score(*flags: object, corpus: str | None = "chunks.jsonl") -> Row:
    more = ["--corpus", corpus] if corpus else []
    given = ["--gold", "gold.jsonl", "--trace", "t.jsonl", *more, "--no-default-gates", "--format", "json"]
    done = run_cli("score", "retrieval", *given, "--gates", DS, *flags)
    assert done.err == ""
    report: Row = json.loads(done.out)
    return report


def outcome(report: Row) -> tuple[str, str | None]:
    gate = next(one for one in report["gates"] if one["metric"] == "retrieval.delta_s_median")
    return gate["outcome"], gate["reason"]


def test_freezing_says_what_both_models_do_and_keeps_the_better_one(lab: Path) -> None:
    done = freeze()
    assert (done.code, done.err) == (0, "")
    lines, lock = done.out.splitlines(), kept()
    tried = lock["tried"]
    assert [one["model"] for one in tried] == ["wordllama", "ngram"]
    for line, one in zip(lines[1:3], tried, strict=True):
        assert line.startswith(f"ΔS of {one['model']}: relevant text r90 = {float(one['r90']):.4f} (8 pairs), ")
        assert f"n10 = {float(one['n10']):.4f} (80 pairs), AUC {one['separation']:.4f}" in line
        assert line.endswith(": does not separate") is (Fraction(one["r90"]) >= Fraction(one["n10"]))
    fit = [one for one in tried if Fraction(one["r90"]) < Fraction(one["n10"])]
    best = max(fit, key=lambda one: float(one["separation"]))
    assert (lock["model"], lock["weights"]) == (best["model"], best["weights"])
    assert lines[3] == f"{best['model']} separates best here: the lock keeps it"


def test_the_weights_of_ngrams_stand_beside_the_lock(lab: Path) -> None:
    done = freeze("--dense", "ngram")
    assert (
        done.out.endswith("lock: gold.lock\nweights: gold.ngrams\nnext: ragworthy gold verify gold.jsonl\n")
        and "separates best" not in done.out
    )
    table = Table.from_bytes(Path("gold.ngrams").read_bytes())
    assert table.sha256 == count(list(CHUNKS.values())).sha256 == kept()["weights"]
    assert kept()["model"] == "ngram" and "tried" not in kept()
    report = score()
    body = report["suites"]["retrieval"]
    assert body["settings"]["delta_s"] == f"calibrated (ngram:{kept()['weights'][:16]})"
    assert (body["delta_s"]["model"], body["delta_s"]["weights"]) == ("ngram", kept()["weights"])
    assert outcome(report) == ("pass", None)
    perfect = float(kept()["perfect"]["median"])
    assert body["metrics"]["retrieval.delta_s_median"]["value"] == pytest.approx(perfect, abs=1e-6)


def test_the_policy_names_the_model(lab: Path) -> None:
    Path("ragworthy.toml").write_text('version = 1\n[retrieval]\ndelta_s_model = "ngram"\n')
    assert freeze().code == 0 and kept()["model"] == "ngram"
    assert freeze("--dense", "wordllama").code == 0 and kept()["model"] == "wordllama"
    Path("other.toml").write_text('version = 1\n[retrieval]\ndelta_s_model = "wordllama"\n')
    done = freeze("-c", "other.toml")
    assert done.code == 0 and kept()["model"] == "wordllama"
    done = freeze()
    assert "the earlier lock had wordllama: runs with it and runs from now on are not compared\n" in done.out


def test_another_model_than_the_locks_is_not_measured(lab: Path) -> None:
    freeze("--dense", "ngram")
    why = "the policy names the model wordllama, the lock was calibrated with ngram: freeze again"
    assert outcome(score("--delta-s-model", "wordllama")) == ("not_measured", why)
    assert outcome(score("--delta-s-model", "ngram"))[0] == "pass"
    raw = score("--delta-s-model", "wordllama", "--delta-s", "raw")
    assert raw["suites"]["retrieval"]["delta_s"]["model"] == "wordllama"


def test_an_index_with_other_chunks_is_scored_with_the_weights_of_the_lock(lab: Path) -> None:
    freeze("--dense", "ngram")
    model = Ngram(Table.from_bytes(Path("gold.ngrams").read_bytes()))
    shadow = {name: f"{text} See the handbook for more of it." for name, text in CHUNKS.items()}
    write_jsonl(lab / "shadow.jsonl", [{"chunk_id": name, "text": text} for name, text in shadow.items()])
    freeze_blocks(None)
    found = score(corpus="shadow.jsonl")["suites"]["retrieval"]["delta_s"]
    wanted = sorted(model.distances(QUESTIONS, list(shadow.values())).tolist())
    assert found["raw"]["median"] == pytest.approx((wanted[3] + wanted[4]) / 2, abs=1e-6)
    assert wanted != sorted(Ngram(count(list(shadow.values()))).distances(QUESTIONS, list(shadow.values())).tolist())
    Path("gold.ngrams").unlink()
    why = (
        "the weights of ngram are not there (gold.ngrams), and the corpus is another one: "
        "freeze the gold set with --corpus, and keep that file beside its lock"
    )
    assert outcome(score(corpus="shadow.jsonl")) == ("not_measured", why)
    assert outcome(score())[0] == "pass"  # the corpus that it was frozen on gives the same weights
    Path("gold.ngrams").write_bytes(count(list(shadow.values())).as_bytes())
    assert outcome(score(corpus="shadow.jsonl")) == ("not_measured", why)  # other weights are none
    report = score("--live-corpus", "chunks.jsonl", corpus="shadow.jsonl")
    assert report["suites"]["retrieval"]["delta_s"]["raw"] == found["raw"]  # the index in use has the right ones


def freeze_blocks(blocks: Row | None) -> None:
    """Let the lock remember other texts of blocks, so that an index may have other ones."""
    lock = json.loads(Path("gold.lock").read_text())
    Path("gold.lock").write_text(json.dumps(lock | {"corpus": blocks}))


def test_locks_that_differ_in_their_last_part_keep_weights_of_their_own(lab: Path) -> None:
    ending = "lock: gold.v1\nweights: gold.v1.ngrams\nnext: ragworthy gold verify gold.jsonl --lock gold.v1\n"
    assert freeze("--dense", "ngram", "--lock", "gold.v1").out.endswith(ending)
    first = Path("gold.v1.ngrams").read_bytes()
    rows = [json.loads(line) for line in Path("chunks.jsonl").read_text().splitlines()]
    write_jsonl(Path("chunks.jsonl"), [row | {"text": f"{row['text']} And more."} for row in rows])
    assert freeze("--dense", "ngram", "--lock", "gold.v2").code == 0
    assert Path("gold.v1.ngrams").read_bytes() == first != Path("gold.v2.ngrams").read_bytes()
    Path("gold.v1.ngrams").rename("gold.ngrams")  # where an earlier version wrote them
    table = read_weights(Path("gold.v1"))
    assert table is not None and table.as_bytes() == first


def test_weights_are_there_before_the_lock_that_names_them(lab: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def cut(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("ragworthy.gold.commands.write_lock", cut)
    with suppress(KeyboardInterrupt):
        freeze("--dense", "ngram")
    assert Path("gold.ngrams").exists() and not Path("gold.lock").exists()


DAMAGED: list[Row] = [
    {"model": 5},
    {"weights": None},
    {"separation": "x"},
    {"r50": "-0.1"},
    {"r50": "0.9", "r90": "0.8"},
    {"r90": "7"},
    {"auc": True},
    {"relevant_pairs": -1},
    {"perfect": {"median": "2", "p90": "0", "mean": "0"}},
]


@pytest.mark.parametrize("change", DAMAGED)
def test_a_damaged_calibration_is_refused(change: Row, lab: Path) -> None:
    freeze("--dense", "ngram")
    lock = json.loads(Path("gold.lock").read_text())
    lock["calibration"] |= change
    Path("gold.lock").write_text(json.dumps(lock))
    done = run_cli("score", "retrieval", "--gold", "gold.jsonl", "--trace", "t.jsonl", "--corpus", "chunks.jsonl")
    message = "expected a calibration as 'gold freeze --corpus' writes it, got something else"
    assert done == Done(2, "", said("RW-L01", f"gold.jsonl: calibration: {message}"))


def test_weights_replace_nothing_that_is_not_ours(lab: Path) -> None:
    Path("gold.ngrams").write_text("mine")
    done = freeze("--dense", "ngram")
    assert done == Done(2, "", said("RW-U03", "gold.ngrams: expected a new file, or one of ours, got another file"))
    assert not Path("gold.lock").exists() and Path("gold.ngrams").read_text() == "mine"
    assert freeze("--dense", "wordllama").code == 0


def test_a_lock_from_before_keeps_its_model_and_its_numbers(lab: Path) -> None:
    freeze("--dense", "wordllama")
    now = score()["suites"]["retrieval"]
    lock = json.loads(Path("gold.lock").read_text())
    for key in ("separation", "r50", "nearest", "tried"):
        lock["calibration"].pop(key, None)
    Path("gold.lock").write_text(json.dumps(lock))
    then = score()["suites"]["retrieval"]
    assert then["settings"]["delta_s"].startswith("calibrated (wordllama:") and then["metrics"] == now["metrics"]
    assert sorted(then["delta_s"]["calibration"]) == [
        "auc", "model", "n10", "perfect", "perfect_raw", "r90", "relevant_pairs", "separates", "unrelated_pairs",
        "weights",
    ]  # fmt: skip


@pytest.mark.parametrize("flags", [(), ("--delta-s", "raw"), ("--delta-s-model", "ngram")])
def test_what_does_not_separate_is_not_measured_without_a_lock_either(lab: Path, flags: tuple[str, ...]) -> None:
    """Every question is bound to a chunk of another document."""
    names = list(CHUNKS)
    wrong: list[Row] = [
        {"qid": f"Q{n}", "question": text, "relevant": [names[(n + 3) % 8]]} for n, text in enumerate(QUESTIONS)
    ]
    write_jsonl(lab / "gold.jsonl", wrong)
    write_jsonl(lab / "t.jsonl", [trace(one["qid"], one["relevant"][0]) for one in wrong])
    report = score(*flags)
    model = "ngram" if "ngram" in flags else "wordllama"
    why = (
        f"{model} does not tell relevant from unrelated text here (r90 ≥ n10); "
        "'ragworthy gold freeze --corpus INDEX' looks for a model that does"
    )
    assert outcome(report) == ("not_measured", why)
    assert report["suites"]["retrieval"]["metrics"]["retrieval.delta_s_mean"]["value"] is None
    assert (report["verdict"], report["exit_code"]) == ("INVALID", 4)


def test_recorded_distances_of_a_model_that_does_not_separate_are_not_measured(lab: Path) -> None:
    names = list(CHUNKS)
    wrong: list[Row] = [
        {"qid": f"Q{n}", "question": text, "relevant": [names[n - 3]]} for n, text in enumerate(QUESTIONS)
    ]
    write_jsonl(lab / "gold.jsonl", wrong)
    from ragworthy.index.embed import load

    named = {"name": "wordllama", "weights": load().weights}
    rows = [trace(one["qid"], one["relevant"][0]) | {"ΔS": [0.1]} for one in wrong]
    write_jsonl(lab / "t.jsonl", [row | {"delta_s_model": named} for row in rows])
    assert outcome(score())[0] == "not_measured"
    without = score(corpus=None)  # without texts nobody can tell: judged only as somebody asks for it
    assert outcome(without) == ("undecided", UNASKED)
    assert outcome(score("--delta-s", "recorded", corpus=None))[0] == "pass"
    write_jsonl(lab / "t.jsonl", rows)
    assert outcome(score())[0] == "pass"  # a scale of the pipeline's own


def test_a_limit_on_raw_distances_is_judged_only_where_somebody_asks_for_them(lab: Path) -> None:
    """Every question cites its own chunk, and no lock says what 0.40 means for the model."""
    given = ["score", "retrieval", "--gold", "gold.jsonl", "--trace", "t.jsonl", "--corpus", "chunks.jsonl"]
    told = json.loads(run_cli(*given, "--format", "json").out)  # the default gates alone
    default = {one["metric"]: (one["outcome"], one["reason"]) for one in told["gates"]}
    assert default["retrieval.delta_s_median"] == default["retrieval.delta_s_p90"] == ("undecided", UNASKED)
    named = score()  # and nobody said which scale
    assert outcome(named) == ("undecided", UNASKED) and named["verdict"] == "INCONCLUSIVE"
    asked = [*given, "--delta-s", "raw", "--no-default-gates", "--gates"]
    body = json.loads(run_cli(*asked, "delta_s_median=0.9", "--format", "json").out)["suites"]["retrieval"]
    perfect = float(body["delta_s"]["calibration"]["perfect_raw"]["median"])
    assert body["metrics"]["retrieval.delta_s_median"]["value"] == pytest.approx(perfect, abs=1e-6)
    assert run_cli(*asked, f"delta_s_median={perfect + 0.000001:.6f}").code == 0
    never = "is out of reach where everything is answered: perfect retrieval scores"
    message = f"retrieval.delta_s_median: max = 0.01 {never} {perfect:.4f} (raw)"
    assert run_cli(*asked, "delta_s_median=0.01") == Done(2, "", said("RW-P13", message))


def test_a_canary_is_not_eligible_by_raw_distances(lab: Path) -> None:
    named = {"delta_s_model": {"name": "mine", "weights": "1"}, "ΔS": [0.1]}
    rows = [trace(f"Q{n}", name) | named for n, name in enumerate(CHUNKS)]
    write_jsonl(lab / "t.jsonl", [row | {"index_hash": "b"} for row in rows])
    write_jsonl(lab / "l.jsonl", [row | {"index_hash": "a"} for row in rows])
    canary = score("--live", "l.jsonl", corpus=None)["suites"]["retrieval"]["live"]["canary"]
    checks = {one["metric"]: (one["outcome"], one["reason"]) for one in canary["checks"]}
    assert checks["retrieval.delta_s_median"] == checks["retrieval.delta_s_p90"] == ("undecided", UNASKED)


def test_the_receipt_has_the_weights(lab: Path) -> None:
    freeze("--dense", "ngram")
    score("--receipt", "receipt.json")
    named = {one["role"]: one["path"] for one in json.loads(Path("receipt.json").read_text())["inputs"]}
    assert named["lock/gold.ngrams"] == "gold.ngrams"
    assert run_cli("verify", "receipt.json").code == 0
    write_jsonl(lab / "shadow.jsonl", [{"chunk_id": name, "text": f"{text} So?"} for name, text in CHUNKS.items()])
    score("--bundle", "bundle.zip", corpus="shadow.jsonl")
    (lab / "else").mkdir()
    Path("bundle.zip").rename("else/bundle.zip")
    assert run_cli("verify", "else/bundle.zip").code == 0
    data = Path("gold.ngrams").read_bytes()
    Path("gold.ngrams").write_bytes(data[:-1] + b"\x07")
    done = run_cli("verify", "receipt.json")
    assert done.code != 0 and "lock/gold.ngrams: gold.ngrams changed" in done.out + done.err


# the bundled example


def test_the_bundled_example_calibrates_and_its_canary_measures_distances(tmp_path: Path) -> None:
    home, gold = Path(ragworthy.__path__[0]) / "examples", tmp_path / "gold.jsonl"
    gold.write_bytes((home / "retrieval_gold.jsonl").read_bytes())
    index, traces = tmp_path / "live", tmp_path / "t.jsonl"
    assert run_cli("index", "build", "--docs", home / "corpus", "--out", index).code == 0
    done = run_cli("gold", "freeze", gold, "--signer", "A", "--reason", "x", "--corpus", index)
    assert done.code == 0 and "ngram separates best here: the lock keeps it\n" in done.out
    assert run_cli("retrieve", "--index", index, "--gold", gold, "-o", traces).code == 0
    first = json.loads(traces.read_text("utf-8").splitlines()[0])
    weights = json.loads((tmp_path / "gold.lock").read_text())["calibration"]["weights"]
    assert first["delta_s_model"] == {"name": "ngram", "weights": weights}
    args = ["score", "retrieval", "--gold", gold, "--trace", traces, "--format", "json"]
    reports = [json.loads(run_cli(*args, *more).out) for more in (["--corpus", index], [])]
    for report in reports:  # from the texts, and as they were recorded
        gates = {one["metric"]: one["outcome"] for one in report["gates"]}
        assert (gates["retrieval.delta_s_median"], gates["retrieval.delta_s_p90"]) == ("pass", "pass")
    names = ("retrieval.delta_s_median", "retrieval.delta_s_p90", "retrieval.delta_s_mean")
    values = [[one["suites"]["retrieval"]["metrics"][name] for name in names] for one in reports]
    assert values[0] == values[1]


def test_a_model_that_is_not_installed_is_an_error_that_names_the_lock(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    home, gold = Path(ragworthy.__path__[0]) / "examples", tmp_path / "gold.jsonl"
    gold.write_bytes((home / "retrieval_gold.jsonl").read_bytes())
    index = tmp_path / "live"
    assert run_cli("index", "build", "--docs", home / "corpus", "--out", index, "--dense", "none").code == 0
    assert run_cli("gold", "freeze", gold, "--signer", "A", "--reason", "x", "--corpus", index).code == 0
    lock = json.loads((tmp_path / "gold.lock").read_text())
    lock["calibration"]["model"] = "minilm"
    (tmp_path / "gold.lock").write_text(json.dumps(lock))

    def absent(*_: object) -> None:
        raise missing_extra("torch", "minilm", "the model minilm")

    monkeypatch.setattr("ragworthy.index.models.Minilm.__init__", absent)
    done = run_cli("retrieve", "--index", index, "--gold", gold, "-o", tmp_path / "t.jsonl")
    told = "gold.lock: it was calibrated with the model minilm: the model minilm needs torch: pip install torch"
    assert done.code == 2 and done.err.startswith(told)


def test_recorded_distances_of_results_follow_the_same_rule_as_those_of_citations(lab: Path) -> None:
    """Whichever gate asks: a model that does not separate measures nothing, frozen or not, with answers or without."""
    from ragworthy.index.embed import load

    names = list(CHUNKS)
    wrong: list[Row] = [
        {"qid": f"Q{n}", "question": text, "relevant": [names[n - 3]]} for n, text in enumerate(QUESTIONS)
    ]
    write_jsonl(lab / "gold.jsonl", wrong)
    named = {"name": "wordllama", "weights": load().weights}
    rows = [trace(one["qid"], one["relevant"][0]) | {"ΔS": [0.1], "delta_s_model": named} for one in wrong]
    bare = [{key: value for key, value in row.items() if key != "answer_citations"} for row in rows]
    gate = ("--gates", "delta_s_topk_median=0.4,delta_s_topk_p90=0.55")
    for frozen in (False, True):
        if frozen:
            freeze("--dense", "ngram")
        for given in (rows, bare):
            write_jsonl(lab / "t.jsonl", given)
            for flags in ((), ("--delta-s", "recorded")):
                report = score(*gate, *flags)
                told = {one["metric"]: (one["outcome"], one["reason"]) for one in report["gates"]}
                outcome, why = told["retrieval.delta_s_topk_median"]
                assert outcome == told["retrieval.delta_s_topk_p90"][0] == "not_measured"
                assert "does not tell relevant from unrelated text" in why or "by another model" in why
                assert report["verdict"] == "INVALID"


def test_raw_distances_of_results_are_said_to_be_raw(lab: Path) -> None:
    from ragworthy.index.embed import load

    named = {"name": "mine", "weights": load().weights}
    gold = [json.loads(line) for line in (lab / "gold.jsonl").read_text().splitlines()]
    rows = [{"qid": one["qid"], "topk": [{"id": one["relevant"][0]}], "ΔS": [0.1]} for one in gold]
    for model, codes in ((named, {"RW-W39"}), (None, set())):
        write_jsonl(lab / "t.jsonl", [row | ({"delta_s_model": model} if model else {}) for row in rows])
        report = score("--gates", "delta_s_topk_median=0.4")
        warned = {one["code"] for one in report["suites"]["retrieval"]["warnings"]}
        assert warned & {"RW-W39"} == codes
