"""What goes into a store comes out of it; what is changed behind its back is named."""

import contextlib
import json
import sqlite3
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import inspect, text

from conftest import run_cli, write_jsonl
from ragworthy.errors import DataError, RagworthyError
from ragworthy.history import broken_attempts, next_attempt, open_store
from ragworthy.history import engine as database
from ragworthy.history.checked import problems
from ragworthy.history.commit import commit_of
from ragworthy.history.lines import Line, Written
from ragworthy.history.migrations import STEPS, VERSION
from ragworthy.history.places import Place, find_place, place_of
from ragworthy.history.store import Store
from ragworthy.history.tables import METADATA
from ragworthy.rows import Rows, encoded
from ragworthy.safe import json_text

Report = dict[str, Any]
ROWS = Rows(("a", "b"), ("d", "e"), ("OK", "ANS_NO_HIT"), (None, None), (1, 1), ((), ("type=table",)), {
    "answers.precision": (True, False), "answers.chr": (None, True),
})  # fmt: skip


def clock(*times: str) -> Any:
    """A clock that stands still, or goes through these times."""
    left = list(times)
    return lambda: left.pop(0) if len(left) > 1 else left[0]


def with_rows(report: Report, **change: Any) -> Report:
    body = report["suites"]["answers"] | {"rows": encoded(ROWS)}
    return {**report, "suites": {"answers": body}, **change}


@pytest.fixture
def store(place: str, report: Report) -> Store:
    """Three runs of a commit, the second blessed."""
    made = open_store(place, now=clock("2026-03-01T00:00:00Z"))
    for verdict in ("NO-SHIP", "SHIP", "INCONCLUSIVE"):
        made.add(with_rows(report, verdict=verdict), commit="c0ffee", receipt=verdict.encode())
    made.bless(made.runs()[1].id, name="main", by="Ada", reason="first release", flips={"answers.chr": "1/20"})
    return made


def forged(store: Store, statement: str, **values: object) -> list[str]:
    """What `check` says after somebody wrote into the database."""
    with database.writing(store.engine) as connection:
        connection.execute(text(statement), values)
    return store.check()


def test_what_goes_in_comes_out(place: str, report: Report) -> None:
    store = open_store(place, now=clock("2026-03-01T00:00:00Z"))
    given = with_rows(report)
    added = store.add(given, commit="c0ffee", receipt=b"the receipt")
    assert (added.new, added.attempt.number) == (True, 1)
    run = store.find(added.run[:6])
    assert json_text(store.report(run.id)) == json_text(given)
    assert list(store.report(run.id)["suites"]["answers"])[-1] == "rows"  # in its place
    assert store.rows(run.id, "answers") == ROWS
    assert store.receipt(run.id) == b"the receipt"
    assert (run.created_at, run.verdict, run.commit) == ("2026-03-01T00:00:00Z", "SHIP", "c0ffee")
    assert run.gold_sha256 == report["suites"]["answers"]["inputs"][0]["sha256"]
    numbers = {one.metric: one for one in store.summaries(run.id)}
    precision = report["suites"]["answers"]["metrics"]["answers.precision"]
    assert (numbers["answers.precision"].num, numbers["answers.precision"].den) == (precision["num"], precision["den"])
    assert numbers["answers.precision"].low == precision["low"]
    assert store.check() == []


def test_the_same_run_again_is_no_new_attempt(place: str, report: Report) -> None:
    store = open_store(place)
    first = store.add(report, commit="c0ffee")
    again = store.add(report, commit="c0ffee", receipt=b"late")
    assert (again.run, again.new, again.attempt) == (first.run, False, first.attempt)
    assert store.receipt(first.run) == b"late"
    assert store.add(report, commit="other").attempt.number == 1  # another commit counts for itself
    assert len(store.runs()) == 2
    assert store.check() == []


def test_attempts_are_a_chain_that_can_be_checked_alone(store: Store) -> None:
    attempts = store.attempts(store.runs()[0].gold_sha256, "c0ffee")
    assert [(one.number, one.verdict) for one in attempts] == [(1, "NO-SHIP"), (2, "SHIP"), (3, "INCONCLUSIVE")]
    assert broken_attempts(attempts) == []
    assert broken_attempts(attempts[1:])[0] == (
        f"attempt 2 (run {attempts[1].run}): expected attempt 1, got 2: one was removed or added"
    )
    lied = [attempts[0]._replace(verdict="SHIP"), *attempts[1:]]
    assert broken_attempts(lied) == [
        f"attempt 1 (run {attempts[0].run}): expected what its hash covers, got something that was changed"
    ]
    told = next_attempt(
        attempts[:2], gold_sha256=attempts[2].gold_sha256, commit="c0ffee",
        report_sha256=attempts[2].report_sha256, verdict="INCONCLUSIVE",
    )  # fmt: skip
    assert told == attempts[2]  # what a receipt can say before the store has it


FORGERIES = [
        ("UPDATE ragworthy_runs SET verdict = 'SHIP' WHERE id = '{first}'", "run {first}: verdict was changed"),
        ("UPDATE ragworthy_runs SET commit_id = 'beef' WHERE id = '{first}'", "run {first}: commit was changed"),
        ("UPDATE ragworthy_summaries SET num = 0 WHERE metric = 'answers.precision' AND run = '{first}'",
         "run {first}: a number was changed"),
        ("UPDATE ragworthy_rows SET body = (SELECT body FROM ragworthy_reports WHERE run = '{first}') "
         "WHERE run = '{first}'",
         "run {first}: a row of answers was changed"),
        ("DELETE FROM ragworthy_rows WHERE run = '{first}'", "run {first}: the rows of answers were removed"),
        ("DELETE FROM ragworthy_receipts WHERE run = '{first}'", "run {first}: the receipt was removed"),
        ("UPDATE ragworthy_reports SET body = (SELECT body FROM ragworthy_reports WHERE run = '{second}') "
         "WHERE run = '{first}'", "run {first}: the report was changed"),
        ("DELETE FROM ragworthy_runs WHERE id = '{first}'", "run {first}: expected a run, got none: it was removed"),
        ("DELETE FROM ragworthy_attempts WHERE run = '{first}'",
         "attempt 2 (run {second}): expected attempt 1, got 2: one was removed or added"),
        ("DELETE FROM ragworthy_attempts WHERE run = '{third}'",
         "attempt of run {third}: expected an attempt, got none: it was removed or changed"),
        ("UPDATE ragworthy_baselines SET run = '{third}'", "blessing of {second} as main: it was moved to {third}"),
        ("UPDATE ragworthy_baselines SET reason = 'no reason'", "blessing of {second} as main: it was changed"),
        ("UPDATE ragworthy_baselines SET flips = '{{}}'", "blessing of {second} as main: it was changed"),
        ("DELETE FROM ragworthy_baselines",
         "blessing of {second} as main: expected a blessing, got none: it was removed"),
        ("UPDATE ragworthy_signatures SET signed_by = 'Eve'",
         "blessing of {second} as main: the signature was changed"),
        ("DELETE FROM ragworthy_signatures", "blessing of {second} as main: the signature was changed"),
        ("DELETE FROM ragworthy_ledger WHERE number = 2", "ledger: entry 3 (run): expected entry 2: one was removed"),
        ("UPDATE ragworthy_ledger SET kind = 'prune', body = '{{\"at\":\"\",\"runs\":[]}}' WHERE number = 1",
         "ledger: entry 1 (prune): expected what its hash covers, got something that was changed"),
    ]  # fmt: skip
"""What somebody writes into the database, and what is said of it."""


def test_whatever_is_changed_behind_its_back_is_named(store: Store) -> None:
    assert store.check() == []
    ids = dict(zip(("first", "second", "third"), (one.id for one in store.runs()), strict=True))
    for statement, said in FORGERIES:
        with store.engine.connect() as connection, connection.begin() as tried:
            connection.exec_driver_sql(statement.format(**ids))
            found = problems(connection)
            tried.rollback()
        assert said.format(**ids) in found, statement
    assert store.check() == []


@pytest.mark.parametrize("table", [one for one in METADATA.tables if one != "ragworthy_schema"])
def test_nonsense_in_any_cell_is_named_and_never_a_defect(table: str, tmp_path: Path, report: Report) -> None:
    path = tmp_path / "history.db"
    store = open_store(path)
    lock = {"path": "gold/answers.lock", "sha256": "1", "signers": ["Ada"], "label": "v3"}
    run = store.add({**with_rows(report), "provenance": {"lock": lock}}, commit="c0ffee", receipt=b"r").run
    store.bless(run, name="main", by="Ada", reason="x")
    whole = path.read_bytes()
    for column in METADATA.tables[table].columns:
        path.write_bytes(whole)
        with contextlib.closing(sqlite3.connect(path)) as raw, raw:
            first = f"SELECT min(rowid) FROM {table}"
            raw.execute(f"UPDATE {table} SET {column.name} = 'nonsense' WHERE rowid = ({first})")
        for words in (["list"], ["show", run], ["verify"]):
            done = run_cli("history", *words, "--store", path)
            assert done.code in (0, 1, 2), (column, words, done.err)
            assert done.code or words != ["verify"], column


def test_the_end_cut_off_is_found_by_what_was_written_down_elsewhere(store: Store) -> None:
    head, last = store.head(), store.runs()[-1].id
    forged(store, "DELETE FROM ragworthy_signatures WHERE number > 2")
    forged(store, "DELETE FROM ragworthy_baselines")
    forged(store, "DELETE FROM ragworthy_attempts WHERE run = :run", run=last)
    forged(store, "DELETE FROM ragworthy_runs WHERE id = :run", run=last)
    assert forged(store, "DELETE FROM ragworthy_ledger WHERE number > 2") == []  # a chain alone does not know its end
    written = Written(Path("lines.jsonl"), (Line("lines.jsonl:4", {"run": last, "verdict": "SHIP", "head": head}),))
    assert store.check([written]) == [
        f"ledger: expected the entry {head[:12]} that was written down elsewhere, got none",
        f"lines.jsonl:4: run {last}: expected an entry of the ledger, got none",
    ]


def test_pruning_keeps_blessed_runs_and_every_attempt(store: Store, report: Report) -> None:
    first, second, third = (one.id for one in store.runs())
    assert store.prune([first, second, third, "nothing"]) == [first, third]
    assert [one.id for one in store.runs()] == [second]
    assert [one.number for one in store.attempts(store.runs()[0].gold_sha256, "c0ffee")] == [1, 2, 3]
    assert store.check() == []
    assert store.summaries(first) == []
    back = store.add(with_rows(report, verdict="NO-SHIP"), commit="c0ffee")  # the same run comes back as it was
    assert (back.run, back.new, back.attempt.number) == (first, True, 1)
    assert store.check() == []


def test_a_name_stands_for_its_last_blessing(store: Store) -> None:
    first, second, _ = (one.id for one in store.runs())
    assert store.find("main").id == store.find("history:main").id == second
    made = store.bless(first, name="main", by="Bo", reason="roll back")
    assert (made.previous, store.find("main").id) == (second, first)
    assert [(one.run, one.by, one.previous) for one in store.blessings()] == [
        (second, "Ada", None), (first, "Bo", second),
    ]  # fmt: skip
    assert dict(store.blessings()[0].flips) == {"answers.chr": "1/20"}
    assert store.check() == []


def test_runs_are_found_by_their_beginning_and_by_commit(store: Store) -> None:
    run = store.runs()[-1]
    assert store.find(run.id[:5]) == store.find("commit:c0ff") == store.find("history:commit:c0ffee") == run
    for wrong in ("zzzz", run.id[:3], "commit:beef"):
        with pytest.raises(DataError, match="RW-H07"):
            store.find(wrong)


def test_gold_labels_and_signers_come_along(place: str, report: Report) -> None:
    lock = {"path": "gold/answers.lock", "sha256": "1", "signers": ["Ada", "Bo"], "label": "v3"}
    given = {**report, "provenance": {**report["provenance"], "lock": lock}}
    store = open_store(place)
    run = store.find(store.add(given).run)
    assert run.gold_label == "v3"
    assert [(one.what, one.by) for one in store.signatures(run.id)] == [("gold", "Ada"), ("gold", "Bo")]
    assert store.check() == []


def test_rows_that_were_changed_are_not_kept(place: str, report: Report) -> None:
    given = with_rows(report)
    given["suites"]["answers"]["rows"]["words"]["answers.precision"]["codes"] = "11"
    with pytest.raises(DataError) as caught:
        open_store(place).add(given)
    assert caught.value.lines()[0] == (
        "report: suites.answers.rows: expected rows with the hash beside them, got rows that were changed [RW-H06]"
    )


# versions


def hand_made(place: str, versions: int) -> Store:
    """A store as an older ragworthy made it: only the first steps, with a run."""
    made = place_of(place)
    engine = database._file(made, create=True) if made.path is not None else database._server(made)
    kind = "BYTEA" if made.path is None else "BLOB"
    with database.writing(engine) as connection:
        for nth in range(versions):
            for statement in STEPS[nth].format(bytes=kind).split(";"):
                if statement.strip():
                    connection.execute(text(statement))
            connection.execute(text("INSERT INTO ragworthy_schema VALUES (:nth, 'then')"), {"nth": nth + 1})
        connection.execute(text(
            "INSERT INTO ragworthy_runs (id, number, created_at, verdict, suites, gold_sha256, commit_id, "
            "report_sha256) VALUES ('0123456789ab', 1, '2025-01-01T00:00:00Z', 'SHIP', '[\"answers\"]', 'g', 'c', 'r')"
        ))  # fmt: skip
        connection.execute(text(
            "INSERT INTO ragworthy_baselines (number, name, run, blessed_by, reason, at) "
            "VALUES (2, 'main', '0123456789ab', 'Ada', 'first', 'then')"
        ))  # fmt: skip
    return Store(made, engine, clock("now"))


def test_an_older_store_migrates_and_keeps_what_it_has(place: str) -> None:
    hand_made(place, 1)
    store = open_store(place, now=clock("2026-03-01T00:00:00Z"))
    run = store.find("main")
    assert (run.id, run.suites, run.gold_label, run.commit) == ("0123456789ab", ("answers",), None, "c")
    assert store.blessings()[0].runs == ()
    with database.reading(store.engine) as connection:
        made = connection.execute(text("SELECT version, at FROM ragworthy_schema ORDER BY version")).all()
        assert [tuple(one) for one in made] == [(1, "then"), (2, "2026-03-01T00:00:00Z")]


def test_migrated_tables_are_those_of_the_code(place: str) -> None:
    store = open_store(place)
    with database.reading(store.engine) as connection:
        found = {
            name: {one["name"]: (one["nullable"], _kind(one["type"])) for one in inspect(connection).get_columns(name)}
            for name in inspect(connection).get_table_names()
        }
    expected = {
        name: {one.name: (one.nullable, _kind(one.type)) for one in table.columns}
        for name, table in METADATA.tables.items()
    }
    assert found == expected


FLOATS = ("DOUBLE", "DOUBLE_PRECISION", "REAL", "FLOAT")


def _kind(given: Any) -> str:
    name = type(given).__name__.upper()
    kinds = {"BYTEA": "bytes", "BLOB": "bytes", "LARGEBINARY": "bytes", "BIGINTEGER": "int", "BIGINT": "int"}
    return kinds.get(name, "text" if name == "TEXT" else "float" if name in FLOATS else name)


def test_a_newer_store_is_refused_and_left_alone(place: str) -> None:
    store = open_store(place)
    with database.writing(store.engine) as connection:
        connection.execute(text(f"INSERT INTO ragworthy_schema VALUES ({VERSION + 1}, 'later')"))
    with pytest.raises(DataError) as caught:
        open_store(place)
    assert caught.value.lines() == [
        f"{place_of(place)}: expected a store of version 2 or older, got version 3 [RW-H05]",
        "  store_newer: Use that version; nothing was changed.",
    ]


def test_a_step_that_fails_leaves_the_version_before_it(tmp_path: Path) -> None:
    place = str(tmp_path / "history.db")
    older = hand_made(place, 1)
    with database.writing(older.engine) as connection:
        connection.execute(text("CREATE TABLE ragworthy_signatures (x TEXT)"))  # in the way of the second step
    with pytest.raises(DataError, match="RW-H04"):
        open_store(place)
    with database.reading(older.engine) as connection:
        assert [one["name"] for one in inspect(connection).get_columns("ragworthy_baselines")][-1] == "previous"
        assert connection.execute(text("SELECT max(version) FROM ragworthy_schema")).scalar() == 1


# places


def test_the_place_is_the_nearest_that_somebody_named(tmp_path: Path) -> None:
    usual = find_place(None, tmp_path, None, {})
    assert usual == Place(tmp_path / ".ragworthy/history.db")
    assert find_place(None, tmp_path, "kept/runs.db", {}) == Place(tmp_path / "kept/runs.db")
    assert find_place(None, tmp_path, "x.db", {"RAGWORTHY_STORE": "/y.db"}) == Place(Path("/y.db"))
    assert find_place("z.db", tmp_path, "x.db", {"RAGWORTHY_STORE": "/y.db"}) == Place(Path("z.db"))
    assert place_of("sqlite:///a/b.db") == Place(Path("a/b.db"))
    with pytest.raises(RagworthyError, match="RW-U03"):
        find_place(None, tmp_path, "../outside.db", {})


def test_a_password_is_never_shown() -> None:
    place = place_of("postgres://me:s3cret@127.0.0.1:1/eval?connect_timeout=1")
    with pytest.raises(DataError) as caught:
        open_store(place)
    said = "\n".join(caught.value.lines())
    assert "s3cret" not in said
    assert said.startswith("postgresql://me@127.0.0.1:1/eval: expected a store that can be used, got: ")
    assert "[RW-H04]" in said


def test_an_address_that_cannot_be_read_is_said_so() -> None:
    with pytest.raises(DataError) as caught:
        open_store("postgresql://me@host:port/db")
    assert caught.value.lines()[0] == (
        "postgresql://me@host:port/db: expected postgresql://USER@HOST/DATABASE, got an address that cannot be read "
        "[RW-H03]"
    )


def test_a_path_may_have_any_sign_in_it(tmp_path: Path, report: Report) -> None:
    path = tmp_path / "a?b=c#d %20é" / "history.db"
    run = open_store(path).add(report).run
    assert path.is_file()
    assert open_store(path, create=False).find(run).verdict == "SHIP"


def test_other_things_are_no_stores(tmp_path: Path) -> None:
    other = write_jsonl(tmp_path / "gold.jsonl", [{"qid": "a" * 40}])
    before = other.read_bytes()
    for path, said in (
        (other, "expected a store, got another file [RW-H02]"),
        (tmp_path, "expected a store, got no regular file [RW-H02]"),
    ):
        with pytest.raises(DataError) as caught:
            open_store(path)
        assert caught.value.lines()[0] == f"{path}: {said}"
    assert other.read_bytes() == before
    with pytest.raises(RagworthyError) as wrong:
        place_of("mysql://host/db")
    assert wrong.value.lines()[0] == "expected a path or postgresql://…, got mysql://… [RW-H03]"
    with pytest.raises(DataError) as caught:
        open_store(tmp_path / "none.db", create=False)
    assert caught.value.lines()[0] == f"{tmp_path}/none.db: expected a store, got nothing at this path [RW-H01]"
    assert not (tmp_path / "none.db").exists()


def test_a_damaged_file_is_an_error_in_words(tmp_path: Path, report: Report) -> None:
    path = tmp_path / "history.db"
    store = open_store(path)
    store.add(report)
    data = bytearray(path.read_bytes())
    data[4096:] = b"\xff" * (len(data) - 4096)
    path.write_bytes(bytes(data))
    for beside in ("-wal", "-shm"):
        Path(f"{path}{beside}").unlink(missing_ok=True)
    with pytest.raises(DataError, match="RW-H04"):
        open_store(path).runs()


def test_the_commit_is_that_of_the_build_server_or_of_git(tmp_path: Path) -> None:
    assert commit_of(tmp_path, {"GITHUB_SHA": "abc", "RAGWORTHY_COMMIT": "def"}) == "def"
    assert commit_of(tmp_path, {"GITHUB_SHA": "two words"}) == ""
    assert commit_of(tmp_path, {}) == ""


def test_a_report_is_one_run_whatever_its_layout(tmp_path: Path, report: Report) -> None:
    store = open_store(tmp_path / "history.db")
    first = store.add(report)
    assert not store.add(json.loads(json.dumps(report, indent=7))).new
    assert store.find(first.run).report_sha256 == store.attempts(first.attempt.gold_sha256, "")[0].report_sha256
