"""What the refusal packs are worth: precision and recall on real answers and sentences that they were not written on.

`python benchmarks/refusals.py` prints the table of docs/refusals.md; `--write` puts it there; `--wrong` lists what the
packs get wrong. Questions are split by the hash of their id: rules were written on one half, the table is of the other.
`refusal_labels.json` says which answers of real models refuse, by file and question, read by a person. Gold answers and
sentences of a corpus never refuse: there a pack can only be wrong.
"""

import argparse
import gzip
import hashlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

from ragworthy.load.refusal_packs import refusals_of
from ragworthy.metrics.facts.refusals import Refusals

HERE = Path(__file__).parent
LABELS = HERE / "refusal_labels.json"
PAGE = HERE.parent / "docs/refusals.md"
BEGIN, END = "<!-- measured -->", "<!-- /measured -->"
ENDS = re.compile(r"(?<=[.!?])\s+|(?<=[。！？])|\n+")


class Text(NamedTuple):
    """A text that may be a claim, where it is from, and whether it refuses."""

    source: str
    name: str
    said: str
    refuses: bool = False


class Measured(NamedTuple):
    """How often a pack is right about one source."""

    pack: str
    source: str
    kind: str
    texts: int
    refusals: int
    found: int
    right: int


def held_out(name: str) -> bool:
    """Whether a text belongs to the half that rules were not written on."""
    return bool(int(hashlib.sha256(name.encode()).hexdigest(), 16) % 2)


def lines(path: Path) -> Iterator[dict[str, Any]]:
    """The records of a file."""
    data = path.read_bytes()
    text = gzip.decompress(data) if path.suffix == ".gz" else data
    yield from map(json.loads, text.decode().splitlines())


def answers(data: Path, folder: str) -> Iterator[Text]:
    """Real answers, and whether a person who read them says that they refuse."""
    name = folder.rpartition("/")[2]
    labels: dict[str, list[str]] = json.loads(LABELS.read_text(encoding="utf-8")).get(name, {})
    for path in sorted((data / folder / "dev").glob("trace*.jsonl")):
        refusing = set(labels.get(path.name.removeprefix("trace").removesuffix(".jsonl").removeprefix("."), ()))
        for one in lines(path):
            claim = (one["answer_json"] or {}).get("claim") or ""
            if claim and claim != "not in context":
                yield Text(name, one["qid"], claim, one["qid"] in refusing)


def sentences(data: Path, folder: str) -> Iterator[Text]:
    """Gold answers and sentences of a corpus."""
    name = folder.rpartition("/")[2]
    for path in sorted((data / folder / "dev").glob("gold.jsonl*")):
        for one in lines(path):
            yield from (Text(name, one["qid"], piece) for piece in one["gold_claim_substr"])
    for path in sorted((data / folder / "dev").glob("corpus.jsonl*")):
        for one in lines(path):
            yield from (Text(name, one["id"], part.strip()) for part in ENDS.split(one["text"]) if part.strip())


ANSWERS, SENTENCES = "answers", "sentences"
SOURCES: dict[str, list[tuple[str, str]]] = {
    "en": [
        ("llm_answers/qwen3_squad2", ANSWERS),
        ("llm_answers/clapnq", ANSWERS),
        ("llm_answers/expertqa", ANSWERS),
        ("llm_answers/rag24", ANSWERS),
        ("xquad_en", SENTENCES),
    ],
    "zh-Hans": [("xquad_zh", SENTENCES), ("cmrc2018", SENTENCES), ("llm_answers/rgb_zh", SENTENCES)],
    "zh-Hant": [("drcd", SENTENCES)],
    "de": [("xquad_de", SENTENCES)],
}


def texts_of(data: Path, folder: str, kind: str) -> list[Text]:
    """The texts of one source, of the half that rules were not written on."""
    found = answers(data, folder) if kind == ANSWERS else sentences(data, folder)
    return [one for one in found if held_out(one.name)]


def pack(name: str) -> Refusals:
    """The rules of one pack alone."""
    made = refusals_of(SimpleNamespace(refusal_packs=(name,), refusal_starts=(), refusal_patterns=()))
    assert made is not None
    return made


def measure(data: Path) -> Iterator[tuple[Measured, list[tuple[Text, str | None]]]]:
    """Every source with what the pack of its language gets wrong."""
    for name, sources in SOURCES.items():
        rules = pack(name)
        for folder, kind in sources:
            texts = texts_of(data, folder, kind)
            said = [rules.rule(one.said) for one in texts]
            wrong = [(one, rule) for one, rule in zip(texts, said, strict=True) if bool(rule) != one.refuses]
            right = sum(bool(rule) and one.refuses for one, rule in zip(texts, said, strict=True))
            refusals, found = sum(one.refuses for one in texts), sum(map(bool, said))
            yield Measured(name, folder.rpartition("/")[2], kind, len(texts), refusals, found, right), wrong


def share(part: int, whole: int) -> str:
    """A share as the page has it."""
    return f"{part / whole:.3f} ({part}/{whole})" if whole else "–"


def table(data: Path) -> str:
    """The table of the page."""
    rows = [
        "| Pack | Set | Texts | Refusals in it | Found | Precision | Recall | Wrong among the others |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for one, _ in measure(data):
        others, wrong = one.texts - one.refusals, one.found - one.right
        precision = share(one.right, one.found) if one.refusals else "–"
        counts = f"{one.texts:,} | {one.refusals:,} | {one.found:,} | {precision} | {share(one.right, one.refusals)}"
        rows.append(f"| `{one.pack}` | {one.source}, {one.kind} | {counts} | {wrong:,} of {others:,} |")
    return "\n".join(rows)


def main() -> None:
    """Print the table, or write it, or list what is wrong."""
    asked = argparse.ArgumentParser(description=__doc__)
    asked.add_argument("--data", type=Path, default=HERE.parent.parent / "shared/data")
    asked.add_argument("--write", action="store_true", help="put the table into docs/refusals.md")
    asked.add_argument("--wrong", action="store_true", help="list what the packs get wrong")
    given = asked.parse_args()
    if given.wrong:
        for one, wrong in measure(given.data):
            for text, rule in wrong:
                print(f"{one.pack}\t{text.source}\t{text.name}\t{rule}\t{text.said[:300]!r}")
        return
    made = table(given.data)
    if given.write:
        page = PAGE.read_text(encoding="utf-8")
        before, after = page.split(BEGIN)[0], page.split(END)[1]
        PAGE.write_text(f"{before}{BEGIN}\n\n{made}\n\n{END}{after}", encoding="utf-8")
    else:
        print(made)


if __name__ == "__main__":
    main()
