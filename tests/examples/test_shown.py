"""The pages show exactly the files of the examples: a block below `<!-- file: PATH -->` is the file, or lines of it.

`RAGWORTHY_ACCEPT=1 python -m pytest tests/examples/test_shown.py` writes the blocks again; look at line numbers first.
"""

import os
import re
from pathlib import Path
from typing import NamedTuple

import pytest

from example_folders import FOLDER, NAMES
from places import ROOT

PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md")), *sorted(FOLDER.glob("**/README.md"))]
MARK = "<!-- file: "


class Shown(NamedTuple):
    """A block that is said to be a file, or lines of it."""

    page: Path
    file: str
    lines: tuple[int, int] | None
    text: str

    def __str__(self) -> str:
        return f"{self.page.name}:{self.file}{self.lines or ''}"


def shown(page: Path, text: str) -> list[Shown]:
    """Every block of a page that is said to be a file; a mark that no block follows is an error."""
    found = re.findall(r"^<!-- file: ([^\s#]+)(?:#L(\d+)-L(\d+))? -->\n(`{3,})\w+\n(.*?)^\4$", text, re.M | re.S)
    assert len(found) == text.count(f"\n{MARK}"), f"{page}: a mark without a block right below it"
    return [
        Shown(page, file, (int(first), int(last)) if first else None, block) for file, first, last, _, block in found
    ]


def lines_of(path: Path, lines: tuple[int, int] | None) -> str:
    text = path.read_text(encoding="utf-8")
    if lines is None:
        return text
    first, last = lines
    whole = text.splitlines(keepends=True)
    assert 1 <= first <= last <= len(whole), f"{path} has {len(whole)} lines"
    return "".join(whole[first - 1 : last])


def accept(one: Shown) -> None:
    """Put the file into the page."""
    text = one.page.read_text(encoding="utf-8")
    lines = f"#L{one.lines[0]}-L{one.lines[1]}" if one.lines else ""
    head, block = text.partition(f"{MARK}{one.file}{lines} -->\n")[::2]
    fence, rest = block.partition("\n")[::2]
    assert rest.startswith(one.text)
    made = f"{head}{MARK}{one.file}{lines} -->\n{fence}\n{lines_of(ROOT / one.file, one.lines)}{rest[len(one.text) :]}"
    one.page.write_text(made, encoding="utf-8")


ALL = [one for page in PAGES for one in shown(page, page.read_text(encoding="utf-8"))]


@pytest.mark.parametrize("one", ALL, ids=str)
def test_a_page_shows_the_file_as_it_is(one: Shown) -> None:
    assert (ROOT / one.file).is_file(), one.file
    if os.environ.get("RAGWORTHY_ACCEPT") == "1":
        accept(one)
        return
    assert one.text == lines_of(ROOT / one.file, one.lines), f"{one.page}: not {one.file} as it is"


@pytest.mark.parametrize("name", NAMES)
def test_a_page_of_the_docs_shows_the_example(name: str) -> None:
    files = {one.file for one in ALL if one.page.parent.name == "docs"}
    assert any(file.startswith(f"examples/{name}/") for file in files)


def test_blocks_and_marks_are_found() -> None:
    text = "a\n<!-- file: x/y.py#L2-L3 -->\n```python\nb\nc\n```\n\n<!-- file: z.toml -->\n```toml\n```\n"
    page = Path("p.md")
    assert shown(page, text) == [Shown(page, "x/y.py", (2, 3), "b\nc\n"), Shown(page, "z.toml", None, "")]
    with pytest.raises(AssertionError, match="a mark without a block"):
        shown(page, "a\n<!-- file: x.py -->\n\n```python\n```\n")


def test_lines_of_a_file(tmp_path: Path) -> None:
    path = tmp_path / "f.py"
    path.write_text("a\nb\nc\n")
    assert (lines_of(path, (2, 3)), lines_of(path, None)) == ("b\nc\n", "a\nb\nc\n")
    with pytest.raises(AssertionError, match="has 3 lines"):
        lines_of(path, (2, 4))
