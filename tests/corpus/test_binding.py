"""Evidence bound to chunks: each step on texts small enough to check by eye."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ragworthy.corpus.binding import Binder, Bound
from ragworthy.records import Chunk, GoldSource

HANDBOOK = [
    Chunk(chunk_id="a#1", doc_id="docs/buckets.md", section_id="1", title="Limits",
          text="A bucket holds at most **5 GB** of data. It can't be moved\u2014ever."),
    Chunk(chunk_id="a#2", doc_id="docs/buckets.md", section_id="1.2", title="Keys", attrs={"page": 2},
          text="1. Keys are at most 64 characters long.\n2. Keys never hold spaces."),
    Chunk(chunk_id="b#1", doc_id="users.md",
          text="A user may own 12 buckets, 512 GB each. Keys are rota-\nted yearly."),
]  # fmt: skip


def bind(
    evidence: list[str], *sources: str | GoldSource, chunks: list[Chunk] = HANDBOOK, keys: tuple[str, ...] = ()
) -> Bound:
    return Binder(chunks).bind(evidence, sources, keys)


@pytest.mark.parametrize(
    ("text", "group", "how"),
    [
        ("A bucket holds at most **5 GB** of data.", ("a#1",), "exact"),
        ("a bucket  holds at most 5\u00a0GB of data", ("a#1",), "normalised"),
        ("It can\u2019t be moved -- ever", ("a#1",), "normalised"),
        ("Keys are at most 64 characters long. Keys never hold spaces.", ("a#2",), "normalised"),
        ("keys are rotated yearly", ("b#1",), "normalised"),
        ("5 GB", ("a#1",), "exact"),
    ],
)
def test_a_text_is_found_whatever_its_format(text: str, group: tuple[str, ...], how: str) -> None:
    assert bind([text]) == Bound((group,), how=(how,))


def test_a_number_inside_another_one_is_not_the_text() -> None:
    """`12 GB` is inside `512 GB`."""
    found = bind(["12 GB"])
    assert found.groups == ()
    assert found.how == ("unbound",)


def test_an_edited_text_needs_three_quarters_of_its_words_and_every_number() -> None:
    # 7 of 9 words are there in this order (0.78); below 7 of 8 are, but not the number
    assert bind(["Every bucket holds at most 5 GB of information"]).how == ("overlap",)
    other = bind(["A bucket holds at most 6 GB of data"])
    assert other.groups == ()
    assert other.unbound[0].why == "a#1 holds 88 % of its words, but not 6"
    assert other.unbound[0].nearest == ("a#1",)


def test_what_comes_nearest_is_named() -> None:
    found = bind(["A bucket holds whatever you like to put into it"])
    assert found.unbound[0].why == "no chunk holds it"


CUT = "one two three four five six seven eight nine ten"


@pytest.mark.parametrize(
    ("left", "right", "groups", "how"),
    [
        (6, 6, (("l",),), "overlap"),  # 6 of 10 words are on the left: 0.60
        (5, 5, (("l",), ("r",)), "parts"),  # neither side has enough
        (4, 4, (("r",),), "overlap"),
        (6, 3, (("l", "r"),), "overlap"),  # 6 and 7 words: both hold most of it
        (7, 0, (("l", "r"),), "overlap"),  # the right one holds all, the left one most: somebody should look
        (2, 6, (), "unbound"),  # 2 + 4 words
        (3, 7, (("l",), ("r",)), "parts"),  # 3 + 3 words, but four in the middle are nowhere: 0.60 together
    ],
)
def test_a_text_cut_by_a_border_belongs_to_the_side_with_most_of_it(
    left: int, right: int, groups: tuple[tuple[str, ...], ...], how: str
) -> None:
    words = CUT.split()
    chunks = [
        Chunk(id="l", doc_id="d", text="before it came " + " ".join(words[:left])),
        Chunk(id="r", doc_id="d", text=" ".join(words[right:]) + " and then no more"),
    ]
    found = bind([CUT], chunks=chunks)
    assert (found.groups, found.how) == (groups, (how,))


def test_a_border_inside_a_word() -> None:
    chunks = [
        Chunk(id="l", text="x y z one two three four five six sev"),
        Chunk(id="r", text="en eight nine ten. Then"),
    ]
    assert bind([CUT], chunks=chunks).groups == (("l",),)


def test_a_text_longer_than_the_chunks_is_held_by_all_of_them() -> None:
    words = [f"w{n}" for n in range(40)]
    chunks = [Chunk(id=f"c{n}", doc_id="d", text=" ".join(words[n : n + 10])) for n in range(0, 40, 10)]
    found = bind([" ".join(words[5:35])], chunks=chunks)
    assert found.how == ("parts",)
    assert found.groups == (("c10",), ("c20",))  # 20 of 30 words are most of it: the halves at the ends are not needed


def test_copies_are_alternatives_and_other_documents_no_part() -> None:
    copies = [*HANDBOOK, Chunk(chunk_id="c#1", doc_id="old.md", text="A bucket holds at most 5 GB of data.")]
    assert bind(["A bucket holds at most 5 GB of data."], chunks=copies).groups == (("a#1", "c#1"),)
    halves = [
        Chunk(id="l", doc_id="d", text="one two three four five"),
        Chunk(id="r", doc_id="e", text="six seven eight nine ten"),
    ]
    assert bind([CUT], chunks=halves).how == ("unbound",)


def test_chinese_is_compared_by_character() -> None:
    chunks = [Chunk(id="1", text="他住在北京城,已经三十年了。"), Chunk(id="2", text="上海是一座城市。")]
    assert bind(["住在北京城"], chunks=chunks) == Bound((("1",),), how=("exact",))
    assert bind(["他住在\uff02北京城\uff02,已经30年了"], chunks=chunks).how == ("unbound",)
    assert bind(["她住在北京城,已经三十年了"], chunks=chunks) == Bound((("1",),), how=("overlap",))  # 10 of 11
    assert bind(["城"], chunks=chunks).groups == (("1", "2"),)


ORGANS = "在2006年後期，中國官員承認中國器官移植手術所使用的人體器官大部分來源於被判處死刑犯人的自願捐助。"
CHANCE = [
    Chunk(id="wrong", doc_id="d2", text="恆星的光度會由中心向邊緣逐漸減弱，與地球的距離是三百光年。在2006年，絕"),
    Chunk(id="wrong2", doc_id="d3", text="我們喜歡貓。在2006年"),
]


def test_a_few_characters_at_the_border_of_another_document_are_no_evidence() -> None:
    whole = Chunk(id="right", doc_id="d1", text=f"{ORGANS}其他文字。")
    assert bind([ORGANS], chunks=[whole, *CHANCE], keys=("2006年",)) == Bound((("right",),), how=("exact",))
    cut = [
        Chunk(id="left", doc_id="d1", text=f"以前的文字。{ORGANS[:12]}"),
        Chunk(id="right", doc_id="d1", text=f"{ORGANS[12:]}其他文字。"),
    ]
    assert bind([ORGANS], chunks=[*cut, *CHANCE], keys=("2006年",)) == Bound((("left",),), how=("overlap",))
    alone = bind([ORGANS], chunks=CHANCE, keys=("2006年",))
    assert (alone.groups, alone.how) == ((), ("unbound",))


def test_the_same_few_words_elsewhere_in_the_document_are_no_evidence() -> None:
    """Two chunks of the document end with the first words of the text; one of them in the place where it stands."""
    text = "In 2006 the company opened its first plant in Ohio and hired two hundred people."
    chunks = [
        Chunk(id="1", doc_id="d", text="The founder was born in Texas. The treaty was signed. In 2006 the"),
        Chunk(id="2", doc_id="d", text="It was a small firm. Nobody knew of its plans. In 2006 the company"),
        Chunk(id="3", doc_id="d", text=f"of its plans. {text} Other text follows."),
    ]
    assert bind([text], chunks=chunks, keys=("In 2006",)) == Bound((("2", "3"),), how=("overlap",))
    assert bind([text], chunks=chunks, keys=("two hundred",)) == Bound((("3",),), how=("exact",))


TYPO = "In 2006 the compnay opened its first plant and hired all people who came from the town of Akron"


@pytest.mark.parametrize(
    ("key", "group"),
    [
        ("Akron", ("right",)),  # 15 of 19 words (0.79) are on the left, but not the answer
        ("In 2006", ("left",)),
        ("Cleveland", ("left",)),  # not in the text: most of it counts
    ],
)
def test_an_edited_text_that_a_border_cuts_belongs_to_the_side_with_the_answer(
    key: str, group: tuple[str, ...]
) -> None:
    right = TYPO.replace("compnay", "company")
    at = right.index("town")
    chunks = [
        Chunk(id="left", doc_id="d", text=f"It was a small firm. {right[:at]}"),
        Chunk(id="right", doc_id="d", text=f"{right[at:]}. Later it moved on."),
        Chunk(id="other", doc_id="e", text="Nobody ever left the town of Akron"),
    ]
    assert bind([TYPO], chunks=chunks, keys=(key,)) == Bound((group,), how=("overlap",))


def test_an_edited_text_of_which_no_side_has_most_is_found_by_the_answer() -> None:
    right = TYPO.replace("compnay", "company")
    at = right.index("all people")
    chunks = [
        Chunk(id="left", doc_id="d", text=f"It was a small firm. {right[:at]}"),
        Chunk(id="right", doc_id="d", text=f"{right[at:]}. Later it moved on."),
    ]
    assert bind([TYPO], chunks=chunks, keys=("Akron",)) == Bound((("right",),), how=("overlap",))
    assert bind([TYPO], chunks=chunks).how == ("unbound",)  # 9 and 9 of 19 words


@pytest.mark.parametrize(
    ("source", "group"),
    [
        ("docs/buckets.md", ("a#1", "a#2")),
        ("/srv/handbook/Buckets.md", ("a#1", "a#2")),
        ("buckets", ("a#1", "a#2")),
        ("USERS.pdf", ("b#1",)),
        (GoldSource("buckets.md", section="Keys"), ("a#2",)),
        (GoldSource("buckets.md", section="1"), ("a#1",)),
        (GoldSource("buckets.md", page=2), ("a#2",)),
        (GoldSource("buckets.md", page="02"), ("a#2",)),
    ],
)
def test_a_source_without_text_is_all_its_chunks(source: str | GoldSource, group: tuple[str, ...]) -> None:
    assert bind([], source) == Bound((group,), how=("source",))


@pytest.mark.parametrize(
    ("source", "why"),
    [
        ("keys.md", "no chunk is of a document named keys.md"),
        (GoldSource("buckets.md", section="9"), "no chunk of buckets.md is in a section 9"),
        (GoldSource("buckets.md", page=9), "no chunk of buckets.md is on page 9"),
        (GoldSource("users.md", page=1), "no chunk of users.md says on which page it stands"),
    ],
)
def test_a_source_that_is_not_there_says_why(source: str | GoldSource, why: str) -> None:
    found = bind([], source)
    assert (found.groups, found.how, found.unbound[0].why) == ((), ("unbound",), why)


def test_a_text_is_looked_for_in_its_source_first_and_elsewhere_with_a_note() -> None:
    twice = [*HANDBOOK, Chunk(id="c#1", doc_id="old.md", text="Keys never hold spaces.")]
    assert bind(["Keys never hold spaces."], "old.md", chunks=twice) == Bound((("c#1",),), how=("exact",))
    outside = bind(["Keys never hold spaces."], "users.md")
    assert outside.groups == (("a#2",),)
    assert outside.notes == ("found outside users.md",)
    nowhere = bind(["Keys never hold spaces."], "gone.md")
    assert nowhere.groups == (("a#2",),)
    assert nowhere.notes == ("no chunk is of a document named gone.md",)


def test_every_text_is_a_group_of_its_own() -> None:
    found = bind(["at most 64 characters", "A user may own 12 buckets", "nobody ever wrote this down"])
    assert found.groups == (("a#2",), ("b#1",))
    assert found.how == ("exact", "exact", "unbound")
    assert [one.text for one in found.unbound] == ["nobody ever wrote this down"]


@pytest.mark.parametrize("text", ["", "  ", "\u00ad"])
def test_an_empty_text_is_held_by_nothing(text: str) -> None:
    assert bind([text]).how == ("unbound",)


def test_a_text_of_marks_is_looked_for_as_it_is() -> None:
    chunks = [Chunk(id="1", text="use `=>` here"), Chunk(id="2", text="or ->")]
    assert bind(["=>"], chunks=chunks) == Bound((("1",),), how=("exact",))


# What holds for every corpus

WORDS = st.lists(st.sampled_from([f"word{n}" for n in range(300)]), min_size=20, max_size=80, unique=True)


def chunked(words: list[str], size: int, overlap: int) -> list[Chunk]:
    """Chunks of a text, each with so many words of the one before in front."""
    return [
        Chunk(id=f"c{at}", doc_id="d", text=" ".join(words[max(at - overlap, 0) : at + size]))
        for at in range(0, len(words), size)
    ]


def recalled(found: Bound, retrieved: set[str]) -> bool:
    return bool(found.groups) and not found.unbound and all(retrieved & set(group) for group in found.groups)


@given(WORDS, st.data())
def test_order_copies_and_overlap_never_lower_recall(words: list[str], data: st.DataObject) -> None:
    size = data.draw(st.integers(5, 20))
    begin = data.draw(st.integers(0, len(words) - 6))
    evidence = [" ".join(words[begin : begin + data.draw(st.integers(5, 25))])]
    plain = chunked(words, size, 0)
    before = bind(evidence, chunks=plain)
    retrieved = set(data.draw(st.lists(st.sampled_from([chunk.name for chunk in plain]))))
    assert bind(evidence, chunks=data.draw(st.permutations(plain))) == before
    copies = [Chunk(id=f"copy of {one.name}", doc_id="e", text=one.text) for one in plain]
    doubled = bind(evidence, chunks=[*plain, *copies])
    assert recalled(doubled, retrieved) >= recalled(before, retrieved)
    assert all(set(group) >= set(old) for group, old in zip(doubled.groups, before.groups, strict=True))
    overlapping = bind(evidence, chunks=chunked(words, size, data.draw(st.integers(0, size))))
    if before.how != ("parts",):  # of a text over several chunks, others may be the fewest that hold most of it
        assert recalled(overlapping, retrieved) >= recalled(before, retrieved)


@given(st.text(max_size=60), st.lists(st.text(max_size=60), max_size=6))
def test_any_text_is_bound_or_listed(evidence: str, texts: list[str]) -> None:
    chunks = [Chunk(id=str(n), text=text) for n, text in enumerate(texts)]
    found = bind([evidence], chunks=chunks)
    assert bool(found.groups) != bool(found.unbound)
    assert found == bind([evidence], chunks=list(reversed(chunks)))


@pytest.mark.parametrize("name", ["Yuan_dynasty#3", "Yuan_dynasty|3", "Yuan_dynasty::part::3", "Yuan_dynasty@v2", "c7"])
def test_a_chunk_that_names_no_document_is_called_by_the_beginning_of_its_id_or_by_its_title(name: str) -> None:
    chunks = [
        Chunk(id=name, text="Kublai founded it.", title="Yuan_dynasty" if name == "c7" else None),
        Chunk(id="x1", doc_id="ming.md", text="It came later.", title="Yuan_dynasty"),
        Chunk(id="Yuan_dynasty#4", doc_id="tang.md", text="It came before."),
    ]
    assert bind([], "Yuan_dynasty", chunks=chunks) == Bound(((name,),), how=("source",))


def test_what_a_chunk_says_of_its_document_counts_before_what_it_may_be_called() -> None:
    chunks = [Chunk(id="a#1", doc_id="buckets.md", text="One."), Chunk(id="b", text="Two.", title="Buckets")]
    assert bind([], "Buckets", chunks=chunks).groups == (("a#1",),)


def test_a_document_that_is_not_there_shows_the_nearest_names() -> None:
    names = ("Yuan_dynasty", "Ming_dynasty", "Norman_conquest")
    chunks = [Chunk(id=f"{name}#1", text="Text.") for name in names]
    lost = bind([], "Yuan dynasti", chunks=chunks).unbound[0]
    assert lost.why == "no chunk is of a document named Yuan dynasti; nearest: Yuan_dynasty"
    assert bind([], "Photosynthesis", chunks=chunks).unbound[0].why.endswith("named Photosynthesis")
