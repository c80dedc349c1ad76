"""Maps: paths into a reply, templates of a request, and what is told of a map that cannot be used."""

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragworthy.errors import PolicyError
from ragworthy.load.map import PRESETS, load_map, preset, read_map
from ragworthy.load.paths import At, Lost, find, parsed
from ragworthy.load.templates import filled, placeholders, text

# paths


REPLY = {
    "choices": [{"index": 0, "message": {"content": "x", "a.b": 1}}, {"index": 1, "message": {"content": "y"}}],
    "sources": [{"id": "a", "n": [1, 2]}, {"id": "b", "n": [3]}],
    "output": [{"type": "search"}, {"type": "message", "content": [{"type": "text", "text": "z"}]}],
    "7": "a key",
    "none": None,
    "empty": [],
}


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("choices.0.message.content", ["x"]),
        ("choices.-1.message.content", ["y"]),
        ("choices[0].message.content", ["x"]),
        ("$.choices[1].message.content", ["y"]),
        ("choices.0.message.'a.b'", [1]),
        ('choices.0.message."a.b"', [1]),
        ("choices.0.message['a.b']", [1]),
        ("sources.*.id", ["a", "b"]),
        ("sources[*].n.*", [1, 2, 3]),
        ("output.[type=message].content.[type=text].text", ["z"]),
        ("output[type=message].content[0].text", ["z"]),
        ("output.[type=other].content", []),
        ("7", ["a key"]),
        ("none", [None]),
        ("none.*.id", []),
        ("empty.*.id", []),
        ("nothing.at.all?", []),
        ("output.*.content.*.text?", ["z"]),
        ("$", [REPLY]),
    ],
)
def test_a_path_leads_to_what_stands_there(path: str, found: list[Any]) -> None:
    assert [at.value for at in find(REPLY, parsed(path))] == found


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("choices.0.delta.content", "choices.0 has index, message"),
        ("choices.5.message", "choices is a list of 2"),
        ("answer", "the reply has 7, choices, empty, none, output, sources"),
        ("choices.0.message.content.text", "choices.0.message.content is a text"),
        ("choices.*.message.a.b", "choices.0.message has a.b, content"),
        ("sources.id", "sources is a list of 2"),
        ("empty.0", "empty is an empty list"),
        ("none.x", "none is null"),
        ("choices.0.index.*", "choices.0.index is a number"),
    ],
)
def test_a_path_that_leads_to_nothing_says_how_far_it_led(path: str, told: str) -> None:
    with pytest.raises(Lost) as lost:
        find(REPLY, parsed(path))
    assert str(lost.value) == told


@pytest.mark.parametrize(
    ("path", "told"),
    [
        ("", "got nothing"),
        ("a.", "got one that ends with a dot"),
        ("a..b", "got one that cannot be read from '.b' on"),
        ("a.[b", "got one that cannot be read from '[b' on"),
        ('a."b', "got one that cannot be read from '\"b' on"),
        ("a?.b", "got one that cannot be read from '?.b' on"),
    ],
)
def test_a_path_that_is_none(path: str, told: str) -> None:
    with pytest.raises(ValueError, match="expected a path") as error:
        parsed(path)
    assert str(error.value) == f"expected a path such as choices.0.message.content or sources.*.id, {told}"


names = st.text(min_size=1).filter(lambda name: '"' not in name)
trees = st.recursive(
    st.integers() | st.text() | st.none(),
    lambda inner: st.lists(inner, min_size=1, max_size=4) | st.dictionaries(names, inner, min_size=1, max_size=4),
    max_leaves=20,
)


def leaves(tree: Any, path: tuple[str, ...] = ()) -> list[tuple[str, Any]]:
    """Every leaf of a tree with its path, written by hand as the page says."""
    if isinstance(tree, dict):
        return [leaf for key, one in tree.items() for leaf in leaves(one, (*path, f'"{key}"'))]
    if isinstance(tree, list):
        return [leaf for n, one in enumerate(tree) for leaf in leaves(one, (*path, str(n)))]
    return [(".".join(path) or "$", tree)]


@given(trees)
def test_every_leaf_of_any_reply_can_be_named(tree: Any) -> None:
    for path, value in leaves(tree):
        ((_, found),) = find(tree, parsed(path))
        assert found is value or found == value


@given(st.text(max_size=40))
def test_any_text_is_a_path_or_a_reason_why_it_is_none(text: str) -> None:
    try:
        path = parsed(text)
    except ValueError as error:
        assert "expected a path" in str(error)
        return
    assert path.steps or text.strip().removesuffix("?") == "$"


# templates


@given(st.text(), st.integers())
def test_whatever_the_question_is_it_arrives_as_it_is(question: str, seed: int) -> None:
    body = {"messages": [{"content": "{q}"}], "n": "{seed}", "t": "<{q}> {seed} {{q}}", "{q}": 1}
    made = filled(body, {"q": question, "seed": seed})
    assert made == {"messages": [{"content": question}], "n": seed, "t": f"<{question}> {seed} {{q}}", question: 1} or (
        question in ("messages", "n", "t")
    )
    assert type(made["n"]) is int or question == "n"


@given(st.text(alphabet=st.characters(exclude_characters="{}")) | st.sampled_from(['{"a": {"b": 1}}', "{}", "{ q }"]))
def test_braces_around_other_things_are_text(plain: str) -> None:
    assert filled(plain, {"q": "x"}) == plain
    assert list(placeholders(plain, "body")) == []


def test_types_and_what_may_be_left_out() -> None:
    values = {"knobs.k": [1, 2], "knobs.on": True, "knobs": {"k": [1, 2]}, "q": "x"}
    template = {"a": "{knobs.k}", "b": "{knobs.on}", "c": "{knobs.no?}", "d": ["{knobs.no?}", "{q}"], "e": "{knobs}"}
    assert filled(template, values) == {"a": [1, 2], "b": True, "d": ["x"], "e": {"k": [1, 2]}}
    assert text("{knobs.k} {knobs.on} {knobs.no?}.", values) == "[1,2] true ."
    found = list(placeholders({"a": ["{q} {knobs.k?}", {"b": "{env.KEY} {{q}} {nonsense}"}]}, "request.body"))
    assert [(one.field, one.name, one.optional, one.known) for one in found] == [
        ("request.body.a[0]", "q", False, True),
        ("request.body.a[0]", "knobs.k", True, True),
        ("request.body.a[1].b", "env.KEY", False, True),
        ("request.body.a[1].b", "nonsense", False, False),
    ]


# maps


@pytest.mark.parametrize("name", PRESETS)
def test_a_bundled_map_is_one_that_can_be_copied(name: str, tmp_path: Path) -> None:
    copied = tmp_path / "rag.toml"
    copied.write_text(preset(name), encoding="utf-8")
    bundled, own = load_map(name), load_map(str(copied))
    assert bundled._replace(name="") == own._replace(name="")
    assert len(bundled.sha256) == 64
    assert {"claim"} <= bundled.reply.paths.keys()


GOOD = '[request]\nbody = { question = "{q}" }\n[reply]\nclaim = "answer"\n'


def told(map_text: str) -> list[str]:
    with pytest.raises(PolicyError) as error:
        read_map(map_text, "rag.toml")
    return [str(one) for one in error.value.problems]


@pytest.mark.parametrize(
    ("map_text", "problems"),
    [
        ("", ["rag.toml: request: expected a table, got nothing", "rag.toml: reply: expected a table, got nothing"]),
        (
            GOOD + "[extra]\n",
            ["rag.toml:5: extra: expected a known key, got an unknown one (one of: request, reply, knobs)"],
        ),
        (
            GOOD + "claims = 1\n",
            ["rag.toml:5: reply.claims: expected a known key, got an unknown one (did you mean claim?)"],
        ),
        (GOOD + "ids = 4\n", ["rag.toml:5: reply.ids: expected a path as a text, got 4"]),
        (
            GOOD + 'ids = ["a", "b."]\n',
            [
                (
                    "rag.toml:5: reply.ids[1]: expected a path such as choices.0.message.content or sources.*.id,"
                    " got one that ends with a dot"
                )
            ],
        ),
        (GOOD + "ids = []\n", ["rag.toml:5: reply.ids: expected a path, got an empty list"]),
        (GOOD + 'stream = "yes"\n', ['rag.toml:5: reply.stream: expected "none" or "sse" or "ndjson", got "yes"']),
        (GOOD + "base = 2\n", ["rag.toml:5: reply.base: expected 0 or 1, got 2"]),
        (GOOD + "base = true\n", ["rag.toml:5: reply.base: expected 0 or 1, got true"]),
        (
            GOOD + "marker = '('\n",
            [
                (
                    'rag.toml:5: reply.marker: expected none or a regular expression, got "(" (missing ), untermi'
                    "nated subpattern at position 0)"
                )
            ],
        ),
        (
            GOOD + "marker = 'a*'\n",
            [('rag.toml:5: reply.marker: expected none or a regular expression, got "a*" (it matches the empty text)')],
        ),
        (GOOD + 'done = "x"\n', ['rag.toml:5: reply.done: expected stream = "sse" or "ndjson" with it, got none']),
        (GOOD + 'scores = "x"\n', ["rag.toml:5: reply.scores: expected ids or texts that have them, got none"]),
        (GOOD + 'documents = "d"\nids = "x"\n', ["rag.toml:6: reply.ids: expected documents or this, got both"]),
        (GOOD + 'id_from = ["url"]\n', ["rag.toml:5: reply.id_from: expected the path to documents with it, got none"]),
        (
            GOOD + 'documents = "d"\ndoc_id = "name"\n',
            ['rag.toml:6: reply.doc_id: expected id, content or metadata:KEY,KEY, got "name"'],
        ),
        (
            GOOD + 'documents = "d"\ndoc_id = "id"\nid_from = "url"\n',
            ["rag.toml:6: reply.doc_id: expected id_from or this, got both"],
        ),
        (GOOD + 'parse = "json"\n', ["rag.toml:3: reply.parsed: expected a table, got nothing"]),
        (
            GOOD + '[reply.parsed]\nclaim = "x"\n',
            ['rag.toml:5: reply.parsed: expected parse = "json" with it, got none'],
        ),
        (
            GOOD + 'parse = "json"\n[reply.parsed]\nids = "x"\n',
            ["rag.toml:6: reply.parsed.claim: expected the path to the answer, got nothing"],
        ),
        (
            '[request]\nbody = { q = "{q}" }\n[reply]\nids = "x"\n',
            ["rag.toml:3: reply.claim: expected the path to the answer, got nothing"],
        ),
        (
            '[request]\nmethod = "PUT"\nbody = "{q}"\n[reply]\nclaim = "x"\n',
            ['rag.toml:2: request.method: expected "POST" or "GET", got "PUT"'],
        ),
        (
            '[request]\nmethod = "GET"\nbody = "{q}"\n[reply]\nclaim = "x"\n',
            ["rag.toml:3: request.body: expected none with GET, got one: write it as query, or take POST"],
        ),
        (
            '[request]\nquery = { q = "{q}" }\n[reply]\nclaim = "x"\n',
            ['rag.toml:1: request.body: expected what is sent, such as { question = "{q}" }, got nothing'],
        ),
        (
            '[request]\nbody = { a = "{qq}" }\n[reply]\nclaim = "x"\n',
            [
                (
                    "rag.toml:2: request.body.a: expected {q}, {qid}, {seed}, {jitter}, {prompt}, {knobs.NAME} or "
                    "{env.NAME}, got {qq}: in doubled braces it is text"
                )
            ],
        ),
        (
            '[request]\nbody = { a = "b" }\n[reply]\nclaim = "x"\n',
            [("rag.toml:1: request: expected {q}, the question, somewhere in body, query or path, got it nowhere")],
        ),
        (
            '[request]\npath = "ask?x"\nbody = "{q}"\n[reply]\nclaim = "x"\n',
            [('rag.toml:2: request.path: expected a path such as /v1/ask, without query and spaces, got "ask?x"')],
        ),
        (
            '[request]\nbody = "{q}"\n[request.query]\nt = { a = 1 }\n[reply]\nclaim = "x"\n',
            ["rag.toml:4: request.query.t: expected a text, a number or a list of them, got a table"],
        ),
        (
            '[request]\nbody = "{q}"\n[request.headers]\nAuthorization = "sk-secret"\n[reply]\nclaim = "x"\n',
            [
                (
                    'rag.toml:4: request.headers.Authorization: expected an environment variable, such as "Bearer'
                    ' {env.API_KEY}", got something else'
                )
            ],
        ),
        (
            '[request]\nbody = "{q}"\n[request.headers]\n"no header" = "{env.X}"\n[reply]\nclaim = "x"\n',
            ["rag.toml:4: request.headers.no header: expected the name of a header, got something else"],
        ),
        (
            '[request]\nbody = { a = "{q}", d = 2026-01-01 }\n[reply]\nclaim = "x"\n',
            ["rag.toml:2: request.body.d: expected what JSON can hold, got 2026-01-01: write it in quotes"],
        ),
        (
            '[request]\nbody = { a = "{q}", d = inf }\n[reply]\nclaim = "x"\n',
            ["rag.toml:2: request.body.d: expected a finite number, got inf"],
        ),
    ],
)
def test_what_is_wrong_with_a_map_is_told_with_its_line(map_text: str, problems: list[str]) -> None:
    assert told(map_text) == [f"{one} [RW-J17]" for one in problems]


def test_all_problems_are_told_at_once() -> None:
    found = told('[request]\nmethod = 4\n[reply]\nclaims = "x"\nbase = 7\n')
    assert [one.partition(" expected")[0] for one in found] == [
        "rag.toml:2: request.method:",
        "rag.toml:1: request.body:",
        "rag.toml:4: reply.claims:",
        "rag.toml:5: reply.base:",
        "rag.toml:3: reply.claim:",
    ]


def test_a_map_that_cannot_be_read(tmp_path: Path) -> None:
    def of(given: str) -> str:
        with pytest.raises(PolicyError) as error:
            load_map(given)
        return str(error.value.problems[0])

    names = ", ".join(PRESETS)
    assert of("opnai") == f'--map: expected a file or one of {names}, got "opnai" (did you mean openai?) [RW-J16]'
    assert of("zzz") == f'--map: expected a file or one of {names}, got "zzz" [RW-J16]'
    absent = str(tmp_path / "rag.toml")
    assert of(absent) == f"{absent}: expected a file, got nothing at this path [RW-J16]"
    assert of(str(tmp_path)) == f"{tmp_path}: expected a file, got a folder [RW-J16]"
    assert of("") == f'--map: expected a file or one of {names}, got "" [RW-J16]'
    (tmp_path / "rag.toml").write_text("[request]\nbody =\n")
    assert of(absent) == f"{absent}:2: expected TOML, got: Invalid value (at line 2, column 7) [RW-J16]"


def test_a_secret_in_a_header_is_not_repeated() -> None:
    with pytest.raises(PolicyError) as error:
        read_map(GOOD.replace("[reply]", 'headers = { A = "sk-very-secret" }\n[reply]'), "rag.toml")
    assert "sk-very-secret" not in str(error.value)


def test_places_are_written_as_paths() -> None:
    (found,) = find({"a.b": [{"c": 1}]}, parsed('"a.b".*.c'))
    assert found == At('"a.b".0.c', 1)
    assert json.dumps([at.value for at in find({"a.b": [{"c": 1}]}, parsed(found.place))]) == "[1]"
