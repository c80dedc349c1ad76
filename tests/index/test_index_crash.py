"""Builds that are killed at every step they take on disk, and builds that meet."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="SKIPPED: this system cannot fork")

DRIVER = '''
import json, os, signal, sys
from pathlib import Path

from ragworthy.errors import DataError
from ragworthy.index import store
from ragworthy.records import Chunk

folder = Path(sys.argv[1])
out = folder / "ix"


class Tiny:
    name, dimension, weights = "tiny", 2, "0"

    def embed(self, texts):
        import numpy as np
        return np.array([[1, 0] for _ in texts], dtype=np.float32)


def build(text):
    chunk = Chunk(chunk_id="d#0", doc_id="d", section_id="1", type="prose", offsets=(0, len(text)), text=text)
    document = store.CanonicalText("d", "d.md", "0", text)
    return store.build(
        out, chunks=[chunk], documents=[document], normaliser="n/1", chunker="c/1", embedder=Tiny()
    ).index_hash


def in_child(work):
    child = os.fork()
    if not child:
        work()
        os._exit(0)
    return child


def dying(step):
    """Build, and die right before the given step on disk."""
    left = [step]

    def hook(event, args):
        if event in ("open", "os.mkdir", "os.rename", "os.remove", "os.rmdir", "shutil.rmtree") and args:
            if isinstance(args[0], (str, os.PathLike)) and str(args[0]).startswith(str(folder)):
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

    sys.addaudithook(hook)
    build("the new text")


notes = []


def seen():
    """What a reader finds: the text, after every file was checked; or the code of the error."""
    notes.clear()
    try:
        index = store.open_index(out, say=notes.append)
        assert store.check(index) == []
        return index.chunks[0].text
    except DataError as error:
        return str(error)


def left_behind():
    return sorted(path.name for path in folder.iterdir() if path.name != "ix")


states = []
for step in range(1000):
    build("the old text")
    assert left_behind() == [], left_behind()
    status = os.waitpid(in_child(lambda: dying(step)), 0)[1]
    state = {"killed": os.WIFSIGNALED(status), "seen": seen(), "there": out.exists(), "left": left_behind()}
    inside = [sorted(path.name for path in (folder / name).iterdir()) for name in state["left"]]
    states.append(state | {"notes": list(notes), "inside": inside})
    if not os.WIFSIGNALED(status):
        break

texts = [f"text number {n}" for n in range(6)]
children = [in_child(lambda text=text: build(text)) for text in texts]
together = [os.waitpid(child, 0)[1] for child in children]
print(json.dumps({"states": states, "together": together, "seen": seen() in texts, "left": left_behind()}))
'''


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory) -> dict[str, object]:
    folder = tmp_path_factory.mktemp("crash")
    # NumPy has threads, and Python from 3.12 on warns of a fork then; the children only write files.
    command = [sys.executable, "-W", "ignore::DeprecationWarning", "-c", DRIVER, str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert (done.returncode, done.stderr) == (0, "")
    found: dict[str, object] = json.loads(done.stdout)
    return found


def test_a_killed_build_leaves_the_old_index_or_the_new_one(story: dict[str, object]) -> None:
    states = story["states"]
    assert isinstance(states, list)
    assert len(states) > 25  # killed at so many steps
    assert all(state["killed"] for state in states[:-1])
    assert [state["seen"] for state in states if state["seen"] not in ("the old text", "the new text")] == []
    turned = [state["seen"] == "the new text" for state in states]
    assert turned == sorted(turned)  # old up to one step, new from there on
    assert states[0]["seen"] == "the old text"
    last = {"killed": False, "seen": "the new text", "there": True, "left": [], "notes": [], "inside": []}
    assert states[-1] == last
    assert all(len(state["left"]) <= 1 for state in states)
    assert all(name.startswith(".ragworthy-build-") for state in states for name in state["left"])
    # The kill between the two renames is among them: nothing at the place itself, and still an index to read, with a
    # note that says so. Nobody is told anything in all other cases.
    away = [state for state in states if not state["there"]]
    assert [state["inside"] for state in away] == [[["mark", "new", "old"]]]
    assert [state["seen"] for state in away] == ["the old text"]
    assert [len(state["notes"]) for state in away] == [1]
    assert " is away: a build was cut off" in away[0]["notes"][0]
    assert sum(len(state["notes"]) for state in states) == 1


def test_builds_that_meet_wait_for_each_other(story: dict[str, object]) -> None:
    assert story["together"] == [0] * 6
    assert story["seen"] is True
    assert story["left"] == []


def test_an_error_in_the_middle_leaves_the_old_folder(tmp_path: Path) -> None:
    from ragworthy.index import swap

    target = tmp_path / "ix"
    with swap.replacing(target) as folder:
        (folder / "a").write_text("old")
    with pytest.raises(KeyboardInterrupt), swap.replacing(target) as folder:
        (folder / "a").write_text("new")
        raise KeyboardInterrupt
    assert (target / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["ix"]


def test_a_rename_that_fails_puts_the_old_folder_back(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from ragworthy.index import swap

    target = tmp_path / "ix"
    with swap.replacing(target) as folder:
        (folder / "a").write_text("old")
    real = Path.rename

    def rename(self: Path, to: Path) -> Path:
        if self.name == "new":
            raise OSError(28, "No space left on device")
        return real(self, to)

    monkeypatch.setattr(Path, "rename", rename)
    with pytest.raises(OSError, match="No space left"), swap.replacing(target) as folder:
        (folder / "a").write_text("new")
    assert (target / "a").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["ix"]
