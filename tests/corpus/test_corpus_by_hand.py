"""Blocks of real pages, read in the source by a person: section, type, first words, offsets.

Offsets of Markdown follow from the positions in the source (`structure`, by another parser), less what goes away:
- `rules.md`: 45 bytes of front matter; 1 trailing blank (after "Naming"), 1 double blank, 1 empty line before
  "Calculating average latency".
- `dockerswarm.md`: 42 bytes of front matter.
- FastAPI, English: nothing before "Multiple path …", where one empty line too many goes.
- FastAPI, Chinese: one empty line after the title of `docker.md` and `query-params.md`; `</details>` and its line.
Pages in HTML start with the logo (38 or 41 bytes), the tagline (40) and the title or headings, an empty line between.
"""

from functools import cache

import pytest

from places import SHARED
from ragworthy.corpus.ingest import ingest
from ragworthy.corpus.model import Document
from ragworthy.corpus.sources import read_documents

DATA = SHARED / "data" / "docs_ingest"
pytestmark = pytest.mark.data("data/docs_ingest")

PROMETHEUS, ENGLISH, CHINESE, SQLITE = (
    "prometheus_live_2025-02",
    "fastapi_en_live_2025-08",
    "fastapi_zh_2026-08",
    "sqlite_html",
)
RULES, SWARM, CYCLE = "practices/rules.md", "guides/dockerswarm.md", "introduction/release-cycle.md"
QUERY, DOCKER, METADATA = "tutorial/query-params.md", "deployment/docker.md", "tutorial/metadata.md"

# set, document, section, number in the section, type, offsets, first words, heading path
BLOCKS = [
    (PROMETHEUS, RULES, "1", "001", "prose", (19, 270), "A consistent naming scheme", "Recording rules"),
    (PROMETHEUS, RULES, "1.1", "001", "prose", (367, 742), "* Recording rules should be", "Recording rules > Naming"),
    (PROMETHEUS, RULES, "1.1", "004", "prose", (1027, 1184), "If there is no obvious", "Recording rules > Naming"),
    (PROMETHEUS, RULES, "1.2", "001", "prose", (1202, 1950), "* When aggregating up", "Recording rules > Aggregation"),
    (
        PROMETHEUS,
        RULES,
        "1.3",
        "003",
        "code",
        (2280, 2480),
        "```\n- record: instance_path",
        "Recording rules > Examples",
    ),
    (
        PROMETHEUS,
        RULES,
        "1.3",
        "005",
        "code",
        (2570, 3519),
        "```\n- record: instance_path",
        "Recording rules > Examples",
    ),
    (
        PROMETHEUS,
        RULES,
        "1.3",
        "007",
        "code",
        (3585, 4349),
        "```\n- record: instance_path",
        "Recording rules > Examples",
    ),
    (PROMETHEUS, RULES, "1.3", "009", "code", (4450, 4609), "```\n- record: job:request", "Recording rules > Examples"),
    (PROMETHEUS, SWARM, "1", "001", "prose", (16, 167), "Prometheus can discover", "Docker Swarm"),
    (
        PROMETHEUS,
        SWARM,
        "1.3",
        "004",
        "code",
        (1517, 1591),
        '```json\n{\n  "metrics-addr"',
        "Docker Swarm > Monitoring Docker daemons",
    ),
    (
        PROMETHEUS,
        CYCLE,
        "1.1",
        "001",
        "table",
        (908, 1483),
        "<table class=",
        "Long Term Support > List of LTS releases",
    ),
    (ENGLISH, QUERY, "1", "005", "code", (348, 400), "```\nhttp://127.0.0.1:8000", "Query Parameters"),
    (ENGLISH, QUERY, "1", "007", "prose", (432, 493), "* `skip`: with a value of `0`\n* `limit`", "Query Parameters"),
    (
        ENGLISH,
        QUERY,
        "1.1",
        "004",
        "code",
        (1179, 1215),
        "```\nhttp://127.0.0.1:8000/items/\n",
        "Query Parameters > Defaults",
    ),
    (ENGLISH, QUERY, "1.2", "004", "prose", (1793, 1802), "/// check", "Query Parameters > Optional parameters"),
    (
        ENGLISH,
        QUERY,
        "1.5",
        "007",
        "code",
        (3439, 3483),
        "```\nhttp://",
        "Query Parameters > Required query parameters",
    ),
    (CHINESE, QUERY, "1", "005", "code", (339, 391), "```\nhttp://127.0.0.1:8000", "查询参数"),
    (CHINESE, DOCKER, "1", "001", "prose", (67, 260), "部署 FastAPI 应用时", "容器中的 FastAPI - Docker"),
    (CHINESE, DOCKER, "1", "007", "code", (554, 949), "```Dockerfile\nFROM python:3.14", "容器中的 FastAPI - Docker"),
    (
        CHINESE,
        DOCKER,
        "1.1",
        "001",
        "prose",
        (996, 1208),
        "容器（主要是 Linux 容器）",
        "容器中的 FastAPI - Docker > 什么是容器",
    ),
    (CHINESE, METADATA, "1.1", "002", "table", (255, 2230), "| 参数 | 类型 | 描述 |", "元数据和文档 URL > API 元数据"),
    (SQLITE, "stricttables.html", "0", "002", "prose", (40, 80), "Small. Fast. Reliable.", "STRICT Tables"),
    (
        SQLITE,
        "stricttables.html",
        "1",
        "001",
        "prose",
        (116, 632),
        "SQLite strives to be flexible",
        "STRICT Tables > 1. Introduction",
    ),
    (
        SQLITE,
        "stricttables.html",
        "3",
        "003",
        "table",
        (4377, 4670),
        "| STRICT | ordinary",
        "STRICT Tables > 3. The ANY datatype",
    ),
    (
        SQLITE,
        "c3ref/open.html",
        "2",
        "001",
        "code",
        (146, 654),
        "```\nint sqlite3_open(\n  const char",
        "Opening A New Database Connection",
    ),
    (
        SQLITE,
        "lang_datefunc.html",
        "1",
        "013",
        "table",
        (1939, 2353),
        "| | | |\n| --- | --- | --- |\n| %d | |",
        "Date And Time Functions > 1. Overview",
    ),
    (
        SQLITE,
        "queryplanner.html",
        "2.1",
        "002",
        "code",
        (1941, 2020),
        "```\nCREATE TABLE FruitsForSale(",
        "Query Planning > 1. Searching > 1.1. Tables Without Indices",
    ),
    (
        SQLITE,
        "queryplanner.html",
        "2.1",
        "004",
        "figure",
        (2120, 2150),
        "![figure 1](images/qp/tab.gif)",
        "Query Planning > 1. Searching > 1.1. Tables Without Indices",
    ),
    (
        SQLITE,
        "queryplanner.html",
        "2.1",
        "005",
        "caption",
        (2152, 2201),
        "Figure 1: Logical Layout",
        "Query Planning > 1. Searching > 1.1. Tables Without Indices",
    ),
]


@cache
def documents(name: str) -> dict[str, Document]:
    return {document.doc_id: document for document in ingest(read_documents(DATA / name / "dev.jsonl.gz")).documents}


@pytest.mark.parametrize(("name", "doc", "section", "block", "type_", "offsets", "words", "path"), BLOCKS)
def test_blocks_read_by_a_person(
    name: str, doc: str, section: str, block: str, type_: str, offsets: tuple[int, int], words: str, path: str
) -> None:
    document = documents(name)[doc]
    (chunk,) = [chunk for chunk in document.chunks if chunk.chunk_id == f"{doc}|s={section}|p=000|b={block}"]
    assert (chunk.section_id, chunk.type, chunk.offsets, chunk.title) == (section, type_, offsets, path)
    assert chunk.text.startswith(words)
    assert document.text.encode()[slice(*offsets)].decode() == chunk.text


def test_details_read_by_a_person() -> None:
    strict = documents(SQLITE)["stricttables.html"]
    listed = next(chunk for chunk in strict.chunks if chunk.chunk_id == "stricttables.html|s=2|p=000|b=002")
    assert "\n2. The datatype must be one of following:\n   - INT\n   - INTEGER\n" in listed.text
    assert "\n   No other datatype names are allowed" in listed.text
    swarm = {section.section_id: section for section in documents(PROMETHEUS)[SWARM].sections}
    assert [section.title for section in swarm.values()][5:9] == [
        "Discovered labels",
        "Scraping metrics via a certain network only",
        "Scraping global tasks only",
        "Adding a docker_node label to the targets",
    ]
    assert swarm["1.5"].children == ("1.5.1", "1.5.2", "1.5.3")
    assert swarm["1.5.2"].anchor == "Global tasks run on every daemon."
    assert swarm["1.5.1"].anchor == "- source_labels: [__meta_dockerswarm_network_name]"
    query = {section.section_id: section for section in documents(CHINESE)[QUERY].sections}
    assert (query["1.1"].title, query["1.1"].slug) == ("默认值", "默认值")
    assert query["1.1"].anchor == "查询参数不是路径的固定内容，它是可选的，还支持默认值。"
