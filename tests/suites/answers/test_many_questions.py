"""What is worked out once for many questions: places, clusters, sums, rows and crowds, each against the long way."""

import random
from collections import Counter
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path

import pytest

from conftest import run_cli, write_jsonl
from ragworthy import rows as r
from ragworthy.api import score
from ragworthy.ids import TYPE_TAGS, parse, section_key
from ragworthy.load.baseline import load_report
from ragworthy.metrics.facts.placed import Place, place_of
from ragworthy.paired.clusters import wilson_clustered
from ragworthy.records import Gold
from ragworthy.stats import wilson
from ragworthy.suites.answers.second import places_of
from ragworthy.suites.clusters import topic_of
from ragworthy.suites.crowds import Crowd, Home, add_homes, add_to, home_of

DOCUMENTS = 12
FORMS: tuple[Callable[[int, int], str], ...] = (
    lambda doc, nth: f"doc{doc}#{nth}",
    lambda doc, nth: f"doc{doc}.md|r=8c1e9a02|s=1.{doc}|p=000|b={nth:03d}{'ab'[nth % 2] if nth % 3 else ''}",
    lambda doc, nth: f"S.{doc}.{nth % 4}.t.Bk{nth:03d}",
    lambda doc, nth: f"doc{doc}#s0{nth % 3}#p{nth:03d}",
    lambda doc, nth: f"c_{doc}_{nth}",
)


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def stands(name: str) -> Place:
    """Where an id stands, by all its fields."""
    found = parse(name)
    if found.form == "opaque":
        return Place(None, None)
    return Place(found.doc, section_key(found.section or ""), TYPE_TAGS.get(found.type or ""))


def test_an_id_stands_where_its_fields_say() -> None:
    rng = random.Random(3)
    pieces = ["doc", "#", "#s", "#p", "0", "17", "٣", "|s=", "S.", "1.2", "|p=", "|b=", ".Bk", "a", "é", " ", "\n", "-"]
    names = ["".join(rng.choices(pieces, k=rng.randint(1, 8))) for _ in range(20_000)]
    names += [form(rng.randrange(99), rng.randrange(2000)) for form in FORMS for _ in range(500)]
    assert [(name, place_of(name)) for name in names] == [(name, stands(name)) for name in names]


def questions(rng: random.Random, count: int) -> tuple[list[dict[str, object]], list[dict[str, object]]]:
    """Questions about a few documents, some of which say something else of where they belong, with their traces."""
    gold, traces = list[dict[str, object]](), list[dict[str, object]]()
    for nth in range(count):
        doc, form = rng.randrange(DOCUMENTS), rng.choice(FORMS)
        qid, cited = f"q{nth:04d}", form(doc, rng.randrange(40))
        item: dict[str, object] = {"qid": qid, "question": f"What is {nth}?", "answerable": rng.random() < 0.8}
        if item["answerable"]:
            item |= {"gold_claim_substr": ["forty days"], "gold_citations": [cited, form(doc + 1, 3)]}
        if rng.random() < 0.1:
            item["gold_source"] = [f"doc{doc}.md"]
        if rng.random() < 0.1:
            item["cluster"] = rng.choice(["one", 2, ""])
        item["kind"] = rng.choice("ab")
        gold.append(item)
        claim = rng.choice(["It is forty days.", "FORTY DAYS, see 3.", "not in context", "It is fifty."])
        cites = rng.choice([[cited], [cited, "x"], [], ["x"]])
        traces.append({"qid": qid, "retrieved_ids": [cited], "answer_json": {"claim": claim, "citations": cites}})
    return gold, traces


def test_many_questions_belong_where_each_of_them_does() -> None:
    golds = [
        Gold(**{key: value for key, value in one.items() if key != "kind"})  # type: ignore[arg-type]
        for one in questions(random.Random(5), 400)[0]
    ]
    topics, homes = places_of(golds, None, place_of)
    assert topics == [topic_of(one) for one in golds]
    assert homes == [home_of(one) for one in golds]


def test_homes_are_counted_as_if_each_question_came_by_itself() -> None:
    rng = random.Random(8)
    documents, sections, types = ["a", "b", None], ["a 1", None], ["table", None]
    given = [
        (Home(rng.choice(documents), rng.choice(sections), rng.choice(types)), rng.choice([None, "x"]))
        for _ in range(500)
    ]
    fast: Crowd = {}
    add_homes(fast, given)
    slow: Crowd = {}
    for home, what in given:
        add_to(slow, home, (), what)
    assert fast == slow


def test_intervals_are_those_of_the_sums_of_every_document() -> None:
    gold, traces = questions(random.Random(11), 600)
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("traces.jsonl"), traces)
    done = run_cli("score", "answers", "--gold", "gold.jsonl", "--trace", "traces.jsonl", "-q", "-o", "report.json",
                   "--slice", "kind")  # fmt: skip
    assert done.code in (0, 1, 3), done
    rows = load_report(Path("report.json"), "answers").rows
    assert rows is not None
    whole = score("answers", gold="gold.jsonl", traces="traces.jsonl", slices=["kind"])
    sizes = Counter(rows.clusters)
    apart = {name for name, size in sizes.items() if size == 1}
    body = whole.report["suites"]["answers"]
    seen = 0
    for group, metrics in {None: body["metrics"], **body["slices"]}.items():
        for metric, words in rows.words.items():
            found = metrics.get(metric)
            if found is None or found.get("low") is None or "deff" not in found:
                continue
            sums: dict[str, tuple[int, int]] = {}
            for word, cluster, slices in zip(words, rows.clusters, rows.slices, strict=True):
                if word is not None and (group is None or group in slices):
                    total, cases = sums.get(cluster, (0, 0))
                    sums[cluster] = total + int(word), cases + 1  # type: ignore[arg-type]  # all of them say yes or no
            expected = wilson_clustered(sums, apart=apart)
            assert expected is not None
            assert (found["low"], found["high"]) == pytest.approx(expected, abs=1e-3), (group, metric)
            assert found["clusters"] == len(sums)
            seen += 1
    assert seen > 12


def test_rows_that_know_which_are_alike_are_written_as_any_others() -> None:
    rng = random.Random(2)
    for different in (3, 400):  # of many different values each has a number, and not a sign
        words = [Fraction(nth, 401) for nth in range(different)]
        others = [rng.choice([None, True, 0.25, (3, 4)]) for _ in words]
        alike = [*range(different), *(rng.randrange(different) for _ in range(900))]
        size = len(alike)
        rows = r.Rows(
            tuple(f"q{nth}" for nth in range(size)), ("d",) * size, ("OK",) * size, (None,) * size, (1,) * size,
            ((),) * size, {"m": tuple(words[nth] for nth in alike), "n": tuple(others[nth] for nth in alike)},
        )  # fmt: skip
        assert r.encoded(rows._replace(alike=alike)) == r.encoded(rows)


def test_an_interval_without_clusters_is_the_plain_one() -> None:
    assert wilson_clustered({f"q{nth}": (nth % 2, 1) for nth in range(40)}) == wilson(20, 40)


@pytest.mark.parametrize("jobs", [1, 2, 3])
def test_the_last_trace_of_a_question_counts_in_any_order(jobs: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("ragworthy.suites.fork.SMALL", 0)
    rng = random.Random(4)
    names = [f"q{nth:05d}" for nth in range(6000)]
    padding = "long " * 20  # so that each part has several blocks of gold items, and traces wait for them
    gold = [{"qid": one, "question": f"{padding}{one}?", "answerable": False} for one in names]
    traces = [
        {"qid": one, "retrieved_ids": [], "answer_json": {"claim": rng.choice(["not in context", "It is."])}}
        for one in names * 3
    ]
    rng.shuffle(traces)
    write_jsonl(Path("gold.jsonl"), gold)
    write_jsonl(Path("traces.jsonl"), traces)
    last = {one["qid"]: one["answer_json"] for one in traces}
    refused = sum(one == {"claim": "not in context"} for one in last.values())
    found = score("answers", gold="gold.jsonl", traces="traces.jsonl", jobs=jobs).report["suites"]["answers"]["counts"]
    assert (found["refused"], found["answered"]) == (refused, len(names) - refused)
    assert found["duplicate_traces"] == 2 * len(names)
