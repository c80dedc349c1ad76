"""Definition files: the bundled one, every key, and the exact message for every mistake."""

import hashlib
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import ragworthy
from ragworthy.errors import PolicyError, RagworthyError
from ragworthy.load.definition import RESERVED, bundled, load_definition, parse_definition
from ragworthy.load.keys import KEYS
from ragworthy.metrics.definition import Definition, Field
from ragworthy.metrics.kinds import KINDS, Kind
from ragworthy.metrics.kinds.grounding import Grounding
from ragworthy.metrics.kinds.texts import Keywords, Label, Listed
from ragworthy.metrics.kinds.values import Boolean, Date, Enum, Number

BUNDLED = Path(ragworthy.__file__).parent / "definitions" / "eval-json-v2.toml"
HEAD = 'version = 1\nid = "mine"\n'
LABEL = '[[field]]\nname = "topic"\nkind = "label"\nweight = 1\n'


@pytest.fixture(autouse=True)
def _folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)


def load(text: str) -> Definition:
    Path("mine.toml").write_text(text, encoding="utf-8")
    return load_definition(Path("mine.toml"))


def problems(text: str) -> list[str]:
    """Every problem of a definition, without the file's name."""
    with pytest.raises(RagworthyError) as caught:
        load(text)
    assert isinstance(caught.value, PolicyError)
    shown = [str(problem) for problem in caught.value.problems]
    assert all(one.startswith("mine.toml: ") for one in shown)
    return [one.removeprefix("mine.toml: ") for one in shown]


def field(**keys: str) -> str:
    """A [[field]] table; values as TOML writes them."""
    return "[[field]]\n" + "".join(f"{key} = {value}\n" for key, value in keys.items())


def of(kind: str, **keys: str) -> str:
    return HEAD + field(name='"x"', kind=f'"{kind}"', weight="1", **keys)


def test_the_bundled_definition() -> None:
    tenth = Fraction(1, 10)
    label = Label("fuzzy", Fraction(72, 100), form="exact")
    assert bundled() == Definition(
        id="eval-json-v2",
        fields=(
            Field("target_audience", "label", label, tenth, ("target_audience",)),
            Field("main_topic", "label", label, tenth, ("main_topic",)),
            Field("sub_topic", "label", label, tenth, ("sub_topic",)),
            Field("detailed_description", "list", Listed(12, 8), Fraction(3, 10), ("detailed_description",)),
            Field("original_evidence", "keywords", Keywords(30, 8, 40), Fraction(2, 10), ("original_evidence",)),
            Field("predicted_questions", "list", Listed(10, 5), tenth, ("predicted_questions",)),
            Field("grounding", "grounding", Grounding(12, 6, 6, "context"), tenth, ("source_map",)),
        ),
        expected=("answer_example",),
        placeholders=("string",),
        strata=("target_audience", "main_topic"),
        good=Fraction(95),
        sha256=hashlib.sha256(BUNDLED.read_bytes()).hexdigest(),
    )
    assert bundled() is bundled()


def test_a_copy_of_the_bundled_file_is_the_same_definition() -> None:
    assert load(BUNDLED.read_text(encoding="utf-8")) == bundled()


def test_the_least_a_definition_needs() -> None:
    text = HEAD + LABEL
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert load(text) == Definition("mine", (Field("topic", "label", Label(), Fraction(1), ("topic",)),), sha256=digest)


@pytest.mark.parametrize("kind", ["label", "list", "grounding"])
def test_version_2_compares_texts_under_nfkc_unless_a_field_says_otherwise(kind: str) -> None:
    old, new = of(kind), of(kind).replace("version = 1", "version = 2")
    own = of(kind, form='"exact"').replace("version = 1", "version = 2")
    assert [load(text).fields[0].rules.form for text in (old, new, own)] == ["exact", "nfkc", "exact"]  # type: ignore[attr-defined]


def test_version_2_leaves_kinds_without_texts_alone() -> None:
    assert load(of("number").replace("version = 1", "version = 2")) == load(of("number"))._replace(
        sha256=load(of("number").replace("version = 1", "version = 2")).sha256
    )


def test_every_key_of_every_kind_is_read() -> None:
    tables = [
        field(name='"a"', kind='"label"', weight="0.1", match='"exact"', threshold="0.5", form='"nfkc"', at='"o.a"'),
        field(name='"b"', kind='"list"', weight="0.1", cap="3", limit="0", match='"exact"', threshold="1",
              form='"folded"', required="false"),
        field(name='"c"', kind='"keywords"', weight="0.1", first="9", hits="9", length="1"),
        field(name='"d"', kind='"grounding"', weight="0.1", entries="1", refs="2", anchors="3",
              anchor_scope='"file"', form='"letters"'),
        field(name='"e"', kind='"number"', weight="0.1", tolerance="0.5", relative="0.01"),
        field(name='"f"', kind='"date"', weight="0.1", tolerance_days="2"),
        field(name='"g"', kind='"enum"', weight="0.1", values='["low", "high"]'),
        field(name='"h"', kind='"boolean"', weight="0.3"),
    ]  # fmt: skip
    top = 'expected = "right.fields"\nplaceholders = ["TODO", "x"]\nstrata = ["g", "h", "a"]\ngood = 80.5\n'
    found = load(HEAD + top + "".join(tables))
    rules: list[Kind] = [
        Label("exact", Fraction(1, 2), form="nfkc"),
        Listed(3, 0, "exact", Fraction(1), form="folded"),
        Keywords(9, 9, 1),
        Grounding(1, 2, 3, "file", "letters"),
        Number(Fraction(1, 2), Fraction(1, 100)),
        Date(2),
        Enum(("low", "high")),
        Boolean(),
    ]
    assert [one.rules for one in found.fields] == rules
    assert [one.at for one in found.fields][:2] == [("o", "a"), ("b",)]
    assert [one.required for one in found.fields][:3] == [True, False, True]
    assert found[2:6] == (("right", "fields"), ("TODO", "x"), ("g", "h", "a"), Fraction(161, 2))


def test_empty_lists_and_the_expected_object_itself() -> None:
    found = load(HEAD + 'expected = ""\nplaceholders = []\nstrata = []\n' + LABEL)
    assert (found.expected, found.placeholders, found.strata) == ((), (), ())


def test_every_setting_of_every_kind_is_described_and_no_other() -> None:
    described = {name.removeprefix("field."): list(keys) for name, keys in KEYS.items() if name.startswith("field.")}
    assert described == {name: list(getattr(kind, "_fields", ())) for name, kind in KINDS.items()}


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", [
            "version: expected 1 or 2, got nothing [RW-P11]",
            "id: expected a text, got nothing [RW-P11]",
            "field: expected [[field]] tables, got nothing [RW-P11]",
        ]),
        ('version = 3\nid = " "\nfield = []\n', [
            "version: expected 1 or 2, got 3 [RW-P03]",
            "field: expected [[field]] tables, got an empty list [RW-P03]",
            'id: expected a text, got " " [RW-P03]',
        ]),
        ("version = true\nid = 7\nfield = 3\n", [
            "version: expected 1 or 2, got true [RW-P03]",
            "field: expected [[field]] tables, got 3 [RW-P03]",
            "id: expected a text, got 7 [RW-P03]",
        ]),
        (HEAD + "field = [1]\n", ["field[0]: expected a table, got 1 [RW-P03]"]),
        (HEAD + "stratum = []\n" + LABEL,
         ["stratum: expected a known key, got an unknown one (did you mean strata?) [RW-P02]"]),
        (HEAD + "zzz = 1\n" + LABEL,
         ["zzz: expected a known key, got an unknown one (one of: version, id, expected, placeholders, strata, good, "
          "field) [RW-P02]"]),
        (HEAD + 'expected = "a..b"\n' + LABEL,
         ['expected: expected keys with dots between them, got "a..b" [RW-P03]']),
        (HEAD + "expected = 1\n" + LABEL, ["expected: expected keys with dots between them, got 1 [RW-P03]"]),
        (HEAD + 'placeholders = "string"\n' + LABEL,
         ['placeholders: expected a list of strings, got "string" [RW-P03]']),
        (HEAD + 'placeholders = [""]\n' + LABEL, ['placeholders[0]: expected a non-empty string, got "" [RW-P03]']),
        (HEAD + "good = 0\n" + LABEL, ["good: expected a number above 0 and up to 100, got 0 [RW-P03]"]),
        (HEAD + "good = 100.1\n" + LABEL, ["good: expected a number above 0 and up to 100, got 100.1 [RW-P03]"]),
        (HEAD + 'good = "95"\n' + LABEL, ['good: expected a number above 0 and up to 100, got "95" [RW-P03]']),
        (HEAD + "good = nan\n" + LABEL, ["good: expected a number above 0 and up to 100, got NaN [RW-P03]"]),
    ],
)  # fmt: skip
def test_mistakes_at_the_top(text: str, said: list[str]) -> None:
    assert problems(text) == said


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (HEAD + "[[field]]\n", [
            "field[0].name: expected a text, got nothing [RW-P11]",
            "field[0].kind: expected a kind, got nothing [RW-P11]",
            "field[0].weight: expected a number, got nothing [RW-P11]",
        ]),
        (HEAD + field(name='"Topic"', kind='"label"', weight="1"),
         ['field[0].name: expected small letters, digits and _, got "Topic" [RW-P03]']),
        (HEAD + field(name='"1a"', kind='"label"', weight="1"),
         ['field[0].name: expected small letters, digits and _, got "1a" [RW-P03]']),
        (HEAD + field(name="5", kind='"label"', weight="1"), ["field[0].name: expected a text, got 5 [RW-P03]"]),
        (HEAD + 2 * field(name='"a"', kind='"label"', weight="0.5"),
         ['field[1].name: expected each name once, got "a" again [RW-P03]']),
        (HEAD + field(name='"a"', kind='"lable"', weight="1"),
         ["field[0].kind: expected one of label, list, keywords, grounding, number, date, enum, boolean, "
          'got "lable" (did you mean label?) [RW-P03]']),
        (HEAD + field(name='"a"', kind="1", weight="1"), ["field[0].kind: expected a kind, got 1 [RW-P03]"]),
        (of("label", at='""'), ['field[0].at: expected keys with dots between them, got "" [RW-P03]']),
        (of("label", at='"a."'), ['field[0].at: expected keys with dots between them, got "a." [RW-P03]']),
        (of("label", required="1"), ["field[0].required: expected true or false, got 1 [RW-P03]"]),
        (of("label", thresold="0.5"),
         ["field[0].thresold: expected a known key, got an unknown one (did you mean threshold?) [RW-P02]"]),
        (of("label", zzz="1"),
         ["field[0].zzz: expected a known key, got an unknown one "
          "(a field of kind label takes match, threshold, contained, form) [RW-P02]"]),
        (of("label", cap="3"),
         ["field[0].cap: expected a known key, got an unknown one "
          "(a field of kind label takes match, threshold, contained, form) [RW-P02]"]),
        (of("boolean", values='["a"]'),
         ["field[0].values: expected a known key, got an unknown one "
          "(a field of kind boolean takes no other key) [RW-P02]"]),
        (HEAD + field(name='"a"', kind='"lable"', weight="1", cap="3", capp="3"),
         ["field[0].kind: expected one of label, list, keywords, grounding, number, date, enum, boolean, "
          'got "lable" (did you mean label?) [RW-P03]',
          "field[0].capp: expected a known key, got an unknown one (did you mean cap?) [RW-P02]"]),
    ],
)  # fmt: skip
def test_mistakes_in_a_field(text: str, said: list[str]) -> None:
    assert problems(text) == said


@pytest.mark.parametrize("name", RESERVED)
def test_names_of_other_metrics_are_taken(name: str) -> None:
    assert problems(HEAD + field(name=f'"{name}"', kind='"label"', weight="1")) == [
        "field[0].name: expected another name than score, schema_pass_rate, score_median, score_p95, missing, "
        f'got "{name}" [RW-P03]'
    ]


@pytest.mark.parametrize(
    ("kind", "key", "value", "said"),
    [
        ("label", "threshold", "0", "a number above 0 and up to 1, got 0"),
        ("label", "threshold", "1.01", "a number above 0 and up to 1, got 1.01"),
        ("label", "threshold", "true", "a number above 0 and up to 1, got true"),
        ("label", "match", '"near"', '"fuzzy" or "exact", got "near"'),
        ("label", "form", "1", '"exact" or "nfkc" or "folded" or "letters", got 1'),
        ("list", "cap", "0", "a whole number from 1 up, got 0"),
        ("list", "cap", "1.0", "a whole number from 1 up, got 1.0"),
        ("list", "limit", "-1", "a whole number from 0 up, got -1"),
        ("list", "threshold", "-0.5", "a number above 0 and up to 1, got -0.5"),
        ("keywords", "first", "true", "a whole number from 1 up, got true"),
        ("keywords", "hits", "31", "no more than first (30), got 31"),
        ("keywords", "length", '"40"', 'a whole number from 1 up, got "40"'),
        ("grounding", "anchor_scope", '"chunk"', '"context" or "file", got "chunk"'),
        ("grounding", "refs", "0", "a whole number from 1 up, got 0"),
        ("number", "tolerance", "-0.1", "a number from 0 up, got -0.1"),
        ("number", "relative", "inf", "a number from 0 up, got Infinity"),
        ("number", "tolerance", "1e40", "a number from 0 up, got 1E+40"),
        ("date", "tolerance_days", "-1", "a whole number from 0 up, got -1"),
        ("enum", "values", "[]", "at least one text, got an empty list"),
        ("enum", "values", '"a"', 'a list of strings, got "a"'),
    ],
)
def test_settings_that_a_kind_cannot_take(kind: str, key: str, value: str, said: str) -> None:
    assert problems(of(kind, **{key: value})) == [f"field[0].{key}: expected {said} [RW-P03]"]


def test_an_enum_needs_values_that_differ() -> None:
    assert problems(of("enum")) == ["field[0].values: expected a list of strings, got nothing [RW-P11]"]
    assert problems(of("enum", values='["a", "b", "a"]')) == [
        'field[0].values[2]: expected each text once, got "a" again [RW-P03]'
    ]
    assert problems(of("enum", values='["a", " "]')) == [
        'field[0].values[1]: expected a non-empty string, got " " [RW-P03]'
    ]


@pytest.mark.parametrize("value", ["0", "-0.1", '"1"', "nan", "true"])
def test_weights_are_above_0_and_a_wrong_one_is_told_once(value: str) -> None:
    shown = {"nan": "NaN"}.get(value, value)
    assert problems(HEAD + field(name='"x"', kind='"label"', weight=value)) == [
        f"field[0].weight: expected a number above 0, got {shown} [RW-P03]"
    ]


@pytest.mark.parametrize(
    ("weights", "total"),
    [
        (["0.95"], "0.95"),
        (["0.5", "0.7"], "1.2"),
        (["1", "1"], "2"),
        (["0.1"] * 9, "0.9"),
        (["0.9", "0.1000000000000000000000000001"], "1.0000000000000000000000000001"),
        (["0.9999999999999999999999999999999999999999"], "0.9999999999999999999999999999999999999999"),
    ],
)
def test_weights_sum_to_exactly_1(weights: list[str], total: str) -> None:
    tables = [field(name=f'"f{nth}"', kind='"label"', weight=one) for nth, one in enumerate(weights)]
    assert problems(HEAD + "".join(tables)) == [f"weight: expected weights that sum to 1, got {total} [RW-P14]"]


@given(st.lists(st.integers(1, 999), min_size=1, max_size=8))
def test_decimals_that_sum_to_1_are_taken_and_others_are_not(parts: list[int]) -> None:
    from decimal import Decimal

    total = sum(parts)
    fields: list[dict[str, Any]] = [
        {"name": f"f{nth}", "kind": "boolean", "weight": Decimal(part) / 1000} for nth, part in enumerate(parts)
    ]
    table = {"version": 1, "id": "mine", "field": fields}
    if total == 1000:
        assert sum(one.weight for one in parse_definition(table, "x").fields) == 1
    else:
        with pytest.raises(PolicyError, match=r"\[RW-P14\]"):
            parse_definition(table, "x")
        if total < 1000:  # what is lacking mends it
            rest = {"name": "rest", "kind": "boolean", "weight": Decimal(1000 - total) / 1000}
            assert len(parse_definition(table | {"field": [*fields, rest]}, "x").fields) == len(parts) + 1


@pytest.mark.parametrize(
    ("strata", "said"),
    [
        ('["topics"]', 'strata[0]: expected a label, enum or boolean field, got "topics" (did you mean topic?)'),
        ('["zzz"]', 'strata[0]: expected a label, enum or boolean field, got "zzz"'),
        ('["points"]', 'strata[0]: expected a label, enum or boolean field, got "points", a field of kind list'),
        ('["topic", "topic"]', 'strata[1]: expected each field once, got "topic" again'),
    ],
)
def test_strata_are_fields_with_few_values(strata: str, said: str) -> None:
    fields = field(name='"topic"', kind='"label"', weight="0.5") + field(name='"points"', kind='"list"', weight="0.5")
    assert problems(f"{HEAD}strata = {strata}\n{fields}") == [f"{said} [RW-P03]"]


def test_every_mistake_is_told_at_once() -> None:
    text = 'version = 1\nidd = "x"\nstrata = ["q"]\n' + field(name='"a"', kind='"list"', weight="0.9", cap="0")
    assert problems(text) == [
        "idd: expected a known key, got an unknown one (did you mean id?) [RW-P02]",
        "id: expected a text, got nothing [RW-P11]",
        "field[0].cap: expected a whole number from 1 up, got 0 [RW-P03]",
        "weight: expected weights that sum to 1, got 0.9 [RW-P14]",
        'strata[0]: expected a label, enum or boolean field, got "q" [RW-P03]',
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("version = \n", "expected TOML, got: Invalid value (at line 1, column 11) [RW-P01]"),
        (f"version = 1{'0' * 5000}\n", "expected TOML, got a number with too many digits [RW-P01]"),
        ("good = 1e99999999999999999999\n", "expected TOML, got a number with too many digits [RW-P01]"),
    ],
)
def test_what_is_no_toml(text: str, said: str) -> None:
    assert problems(text) == [said]


def test_files_that_cannot_be_read() -> None:
    with pytest.raises(RagworthyError) as caught:
        load_definition(Path("none.toml"))
    assert str(caught.value.problems[0]) == "none.toml: expected a file, got nothing at this path [RW-F01]"
    Path("latin.toml").write_bytes(b'id = "\xe9"\n')
    with pytest.raises(RagworthyError) as caught:
        load_definition(Path("latin.toml"))
    assert str(caught.value.problems[0]) == "latin.toml: expected UTF-8, got byte 0xe9 at offset 6 [RW-F06]"
