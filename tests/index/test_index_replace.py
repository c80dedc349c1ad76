"""What a build may remove: its own, and nothing else, whatever it is called and wherever it lies."""

import os
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from conftest import Done, run_cli
from ragworthy.errors import DataError
from ragworthy.index import store, swap
from ragworthy.index.ranking import Floats
from ragworthy.records import Chunk

OLD, NEW = "The old text of the handbook.", "The new text of the handbook."
TOKEN = "0123456789abcdef"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A folder with documents in it, and nothing else."""
    (tmp_path / "docs").mkdir()
    return tmp_path


def built(home: Path, text: str, name: str = "idx") -> Done:
    (home / "docs" / "a.md").write_text(f"# A\n\n{text}\n")
    return run_cli("index", "build", "--docs", home / "docs", "--out", home / name, "--dense", "none")


def searched(index: Path) -> Done:
    return run_cli("index", "search", index, "handbook")


def tree(folder: Path) -> dict[str, bytes | None]:
    """Every file and folder below a folder."""
    return {
        path.relative_to(folder).as_posix(): path.read_bytes() if path.is_file() else None
        for path in sorted(folder.rglob("*"))
    }


def names(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


def killed_between_the_renames(home: Path, text: str, name: str = "idx") -> Path:
    """Build in a process that dies when the old index is aside and the new one not yet in its place."""
    (home / "docs" / "a.md").write_text(f"# A\n\n{text}\n")
    script = (
        "import os, signal, sys\n"
        "from ragworthy.cli.main import main\n"
        "def hook(event, args):\n"
        "    if event == 'os.rename' and os.path.basename(args[0]) == 'new':\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "sys.addaudithook(hook)\n"
        "main(sys.argv[1:])\n"
    )
    build = ["index", "build", "--docs", str(home / "docs"), "--out", str(home / name), "--dense", "none"]
    done = subprocess.run([sys.executable, "-c", script, *build], check=False, timeout=60)
    assert done.returncode == -9
    (left,) = home.glob(".ragworthy-build-*")
    assert names(left) == {"mark", "new", "old"}
    return left


# folders of others


@pytest.mark.parametrize("there", [False, True])
def test_folders_that_others_have_made_stay(home: Path, there: bool) -> None:
    if there:
        assert built(home, OLD).code == 0
    ours = [".idx.old", ".idx.new", ".ragworthy-build-mine", f".ragworthy-build-{TOKEN}", ".ragworthy"]
    for name in ours:
        (home / name).mkdir()
        (home / name / "notes.txt").write_text(f"precious {name}")
    (home / f".ragworthy-build-{TOKEN[::-1]}").write_text("a file")
    kept = {name: tree(home / name) for name in ours}
    before = names(home)
    assert built(home, NEW).code == 0
    assert {name: tree(home / name) for name in ours} == kept
    assert names(home) == before | {"idx"}
    assert NEW in searched(home / "idx").out


def test_a_backup_made_by_hand_stays_and_is_not_read(home: Path) -> None:
    assert built(home, OLD).code == 0
    for name in (".idx.old", ".idx.new"):
        (home / "idx").rename(home / name)
        kept = tree(home / name)
        done = searched(home / "idx")
        assert (done.code, done.out) == (2, "")
        assert done.err.startswith(f"{home / 'idx'}: expected an index, got nothing at this path [RW-I01]\n")
        assert built(home, NEW).code == 0
        assert tree(home / name) == kept
    assert names(home) == {"docs", "idx", ".idx.old", ".idx.new"}


@pytest.mark.parametrize(
    "mark",
    [
        b"",
        b"ragworthy.build/1 0123456789abcdef other\n",  # of another target
        b"ragworthy.build/1 fedcba9876543210 idx\n",  # of another folder: this is a copy
        b"ragworthy.build/2 0123456789abcdef idx\n",
        b"ragworthy.build/1 0123456789abcdef idx\nand more",
    ],
)
def test_a_working_folder_without_our_mark_is_not_ours(home: Path, mark: bytes) -> None:
    assert built(home, OLD).code == 0
    left = home / f".ragworthy-build-{TOKEN}"
    (left / "new").mkdir(parents=True)
    (home / "idx").rename(left / "old")
    (left / "mark").write_bytes(mark)
    kept = tree(left)
    assert searched(home / "idx").code == 2
    assert built(home, NEW).code == 0
    assert tree(left) == kept


# what a crash leaves


def test_what_a_crash_left_is_read_with_a_note_and_put_back_by_the_next_build(home: Path) -> None:
    assert built(home, OLD).code == 0
    before = tree(home / "idx")
    left = killed_between_the_renames(home, NEW)
    assert not (home / "idx").exists()
    done = searched(home / "idx")
    assert done.code == 0 and OLD in done.out
    note = "is away: a build was cut off, or is just ending; read instead what it replaces,"
    assert done.err == f"note: {home / 'idx'} {note} {left / 'old'}\n"
    assert run_cli("index", "check", home / "idx").err == done.err
    assert tree(left / "old") == before  # nobody who only reads has changed anything
    (home / "docs" / "a.md").write_text("")
    assert built(home, "A third text of the handbook.").code == 0
    assert names(home) == {"docs", "idx"}
    done = searched(home / "idx")
    assert "third" in done.out and done.err == ""


def test_a_build_that_fails_after_a_crash_leaves_the_old_index_in_its_place(home: Path) -> None:
    assert built(home, OLD).code == 0
    before = tree(home / "idx")
    killed_between_the_renames(home, NEW)
    with pytest.raises(KeyboardInterrupt), swap.replacing(home / "idx"):
        raise KeyboardInterrupt
    assert tree(home / "idx") == before
    assert names(home) == {"docs", "idx"}


def test_a_suite_does_not_take_what_a_crash_left(home: Path) -> None:
    assert built(home, OLD).code == 0
    killed_between_the_renames(home, NEW)
    gold = home / "g.jsonl"
    gold.write_text('{"qid": "q", "answerable": true, "gold_claim_substr": ["handbook"], "gold_citations": ["a"]}\n')
    for suite in ("answers", "agreement"):
        for corpus in (home / "idx", home / "idx" / "manifest.json"):
            done = run_cli("score", suite, "--gold", gold, "--trace", gold, "--corpus", corpus)
            assert done.code == 2 and done.err.startswith(
                f"{corpus}: expected a file, got nothing at this path [RW-F01]"
            )


def test_an_index_put_in_the_place_of_a_lost_one_is_the_one_that_is_read(home: Path) -> None:
    assert built(home, OLD, "backup").code == 0
    assert built(home, OLD).code == 0
    left = killed_between_the_renames(home, NEW)
    (home / "backup").rename(home / "idx")
    done = searched(home / "idx")
    assert (done.code, done.err) == (0, "")
    (left / "new").rename(home / "saved")  # then the build was not cut off there
    (home / "idx").rename(home / "aside")
    assert searched(home / "idx").code == 2


def test_what_others_put_into_our_working_folder_stays(home: Path) -> None:
    assert built(home, OLD).code == 0
    left = killed_between_the_renames(home, NEW)
    (left / "notes.txt").write_text("mine")
    assert built(home, NEW).code == 0
    assert names(left) == {"mark", "notes.txt"}
    assert NEW in searched(home / "idx").out
    assert built(home, OLD).code == 0
    assert (left / "notes.txt").read_text() == "mine"


def test_without_locks_nobody_removes_what_may_be_at_work(home: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    import fcntl

    def no_locks(*_: object) -> None:
        raise OSError(95, "Operation not supported")

    assert built(home, OLD).code == 0
    left = killed_between_the_renames(home, NEW)
    kept = tree(left)
    monkeypatch.setattr(fcntl, "flock", no_locks)
    assert built(home, NEW).code == 0
    assert tree(left) == kept
    assert NEW in searched(home / "idx").out


# what is at the target


@pytest.mark.parametrize("name", ["notes", "canonical/notes"])
def test_a_folder_of_others_inside_an_index_keeps_it_from_being_replaced(home: Path, name: str) -> None:
    assert built(home, OLD).code == 0
    (home / "idx" / name).mkdir()
    kept = tree(home / "idx")
    done = built(home, NEW)
    assert done.code == 2
    assert done.err.startswith(f"{home / 'idx'}: expected only the files of an index, got {name} too [RW-I09]\n")
    (home / "idx" / name).rmdir()
    (home / "idx" / name).symlink_to(home / "docs")
    done = built(home, NEW)
    assert done.code == 2 and "[RW-I09]" in done.err
    (home / "idx" / name).unlink()
    assert tree(home / "idx") == {key: value for key, value in kept.items() if key != name}
    assert (home / "docs" / "a.md").exists()


def test_a_folder_of_empty_folders_is_not_replaced(home: Path) -> None:
    (home / "idx" / "photos").mkdir(parents=True)
    done = built(home, NEW)
    assert done.code == 2
    assert done.err.startswith(f"{home / 'idx'}: expected an index or nothing, got a folder with photos [RW-I09]\n")
    assert tree(home / "idx") == {"photos": None}


def test_what_was_put_there_during_the_build_stays(home: Path) -> None:
    """Embedding may take an hour: what is at the target is looked at again when the new index is whole."""
    out = home / "idx"

    class Slow:
        name, dimension, weights = "slow", 2, "0"

        def embed(self, texts: Sequence[str]) -> Floats:
            (out / "notes.txt").parent.mkdir(exist_ok=True)
            (out / "notes.txt").write_text("mine")
            return np.array([[1, 0] for _ in texts], dtype=np.float32)

    chunk = Chunk(chunk_id="d#0", doc_id="d", type="prose", offsets=(0, 4), text="text")
    document = store.CanonicalText("d", "d.md", "0", "text")
    for _ in range(2):
        with pytest.raises(DataError) as caught:
            store.build(out, chunks=[chunk], documents=[document], normaliser="n/1", chunker="c/1", embedder=Slow())
        assert [problem.code for problem in caught.value.problems] == ["RW-I09"]
        assert tree(out)["notes.txt"] == b"mine"
        assert names(home) == {"docs", "idx"}
        (out / "notes.txt").unlink()
        assert built(home, OLD).code == 0


# links


def test_a_link_stays_and_the_index_behind_it_is_replaced(home: Path) -> None:
    (home / "disk").mkdir()
    assert built(home, OLD, "disk/real").code == 0
    (home / "idx").symlink_to("disk/real")
    (home / "disk" / ".real.old").mkdir()
    assert built(home, NEW).code == 0
    assert (home / "idx").readlink() == Path("disk/real")
    assert NEW in searched(home / "disk/real").out
    assert names(home) == {"docs", "disk", "idx"} and names(home / "disk") == {"real", ".real.old"}


def test_a_link_that_leads_nowhere_leads_to_the_new_index(home: Path) -> None:
    (home / "idx").symlink_to("disk/real")
    assert built(home, NEW).code == 0
    assert (home / "idx").is_symlink()
    assert NEW in searched(home / "disk/real").out


def test_what_a_crash_left_is_found_behind_a_link_too(home: Path) -> None:
    (home / "idx").symlink_to("real")
    assert built(home, OLD).code == 0
    killed_between_the_renames(home, NEW)
    done = searched(home / "idx")
    assert done.code == 0 and OLD in done.out and done.err.startswith(f"note: {home / 'idx'} is away")
    assert built(home, NEW).code == 0
    assert names(home) == {"docs", "idx", "real"}


def test_links_in_a_circle_are_refused(home: Path) -> None:
    (home / "idx").symlink_to("other")
    (home / "other").symlink_to("idx")
    for done, code in ((built(home, NEW), "RW-I09"), (searched(home / "idx"), "RW-I01")):
        assert done.code == 2 and f"[{code}]" in done.err
    assert names(home) == {"docs", "idx", "other"}


def test_a_working_folder_that_is_a_link_is_not_followed(home: Path) -> None:
    assert built(home, OLD).code == 0
    left = killed_between_the_renames(home, NEW)
    left.rename(home / "elsewhere")
    left.symlink_to("elsewhere")
    kept = tree(home / "elsewhere")
    assert searched(home / "idx").code == 2
    assert built(home, NEW).code == 0
    assert tree(home / "elsewhere") == kept and left.is_symlink()


def test_a_name_as_long_as_names_may_be(home: Path) -> None:
    long = "x" * 255
    for text in (OLD, NEW):
        assert built(home, text, long).code == 0
    assert names(home) == {"docs", long}


def test_a_folder_that_may_not_be_changed_is_left_as_it_is(home: Path) -> None:
    if os.geteuid() == 0:
        pytest.skip("SKIPPED: root may change everything")
    assert built(home, OLD).code == 0
    before = tree(home / "idx")
    (home / "idx").chmod(0o555)
    done = built(home, NEW)
    (home / "idx").chmod(0o755)
    assert done.code == 2 and "[RW-F14]" in done.err
    assert tree(home / "idx") == before
    assert names(home) == {"docs", "idx"}


def test_an_old_folder_goes_with_all_its_files_and_what_links_lead_to_stays(tmp_path: Path) -> None:
    beside = tmp_path / "beside"
    beside.mkdir()
    (beside / "kept.txt").write_text("kept")
    target = tmp_path / "idx"
    (target / "deep" / "er").mkdir(parents=True)
    for nth in range(40):
        (target / "deep" / f"{nth}.txt").write_text(OLD)
        (target / "deep" / "er" / f"{nth}.txt").write_text(OLD)
    (target / "deep" / "folder").symlink_to(beside, target_is_directory=True)
    (target / "file").symlink_to(beside / "kept.txt")
    with swap.replacing(target) as folder:
        (folder / "a.txt").write_text(NEW)
    assert tree(target) == {"a.txt": NEW.encode()}
    assert tree(beside) == {"kept.txt": b"kept"}
    assert names(tmp_path) == {"idx", "beside"}
