"""The two things that can be written: a blessing and a step of a rollout, by the rules of the commands."""

import json
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

import rollouts_laid
import site_laid
from conftest import run_cli
from viewer_served import Here, serving


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("signed") / "site"
    site_laid.history(folder)
    return folder


@pytest.fixture
def folder(made: Path, tmp_path: Path) -> Path:
    shutil.copytree(made, tmp_path / "site")
    return tmp_path / "site"


@pytest.fixture
def here(folder: Path) -> Iterator[Here]:
    with serving(folder) as found:
        yield found


def _history(folder: Path, *words: object) -> str:
    done = run_cli("history", *words, "-c", folder / "ragworthy.toml")
    assert done.code == 0, done.out + done.err
    return done.out


def _blessings(folder: Path) -> list[dict[str, str]]:
    found: list[dict[str, str]] = json.loads(_history(folder, "list", "--format", "json"))["blessings"]
    return found


# blessing


def test_a_run_that_is_blessed_by_the_form_is_the_baseline_of_every_command(here: Here, folder: Path) -> None:
    run = site_laid.runs_of(folder)[2]
    done = here.sent(f"/runs/{run}", f"/runs/{run}/bless", by="Grace Hopper", reason="a <b>fair</b> run", name="main")
    assert done.status == 200 and "Blessed." in done.body
    last = _blessings(folder)[-1]
    assert (last["run"], last["name"], last["by"], last["reason"]) == (run, "main", "Grace Hopper", "a <b>fair</b> run")
    line = json.loads((folder / "eval/history.jsonl").read_text().splitlines()[-1])
    assert (line["run"], line["baseline"], line["by"]) == (run, "main", "Grace Hopper")
    assert "as they were written" in _history(folder, "verify", "--against", folder / "eval/history.jsonl")
    copy = json.loads((folder / ".ragworthy/baselines/main.json").read_text())
    assert copy["flips"], "the file that the policy names is written too"
    page = here.get(f"/runs/{run}").body
    assert "baseline main" in page and "a &lt;b&gt;fair&lt;/b&gt; run" in page and "<b>fair" not in page


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"by": " ", "reason": "x"}, "by: expected a text, got nothing"),
        ({"by": "Ada", "reason": ""}, "reason: expected a text, got nothing"),
        ({"by": "Ada", "reason": "x", "name": "../../x"}, "name: expected letters, digits"),
        ({"by": "Ada", "reason": "x"}, "expected 3 runs of this gold set and commit, got 1 run"),
    ],
)
def test_what_the_command_refuses_the_form_refuses(here: Here, folder: Path, fields: dict[str, str], said: str) -> None:
    run, before = site_laid.runs_of(folder)[4], len(_blessings(folder))
    done = here.sent(f"/runs/{run}", f"/runs/{run}/bless", **fields)
    assert done.status == 409 and said in done.body.replace("&#39;", "'"), done.body[-3000:]
    assert "Not blessed" in done.body and (f'value="{fields["by"]}"' in done.body)
    assert len(_blessings(folder)) == before
    assert here.sent(f"/runs/{run}", f"/runs/{run}/bless", by="Ada", reason="known", single="yes").status == 200


def test_a_history_that_was_changed_is_not_blessed_over(here: Here, folder: Path) -> None:
    import sqlite3

    run = site_laid.runs_of(folder)[2]
    with sqlite3.connect(folder / ".ragworthy/history.db") as db:
        db.execute("UPDATE ragworthy_summaries SET value = 0.99, exact = '99/100' WHERE run = ?", (run,))
    done = here.sent(f"/runs/{run}", f"/runs/{run}/bless", by="Eve", reason="better")
    assert done.status == 409 and "RW-R07" in done.body


# the rollout


@pytest.fixture
def rollout(tmp_path: Path) -> Path:
    folder = tmp_path / "index"
    folder.mkdir()
    rollouts_laid.lay(folder)
    rollouts_laid.judged(folder)
    rollouts_laid.begun(folder)
    (folder / ".ragworthy").mkdir()
    site_laid_store(folder)
    return folder


def site_laid_store(folder: Path) -> None:
    report, _ = rollouts_laid.judged(folder)
    done = run_cli("history", "add", report, "--commit", "a1" * 20, "--store", folder / ".ragworthy/history.db")
    assert done.code == 0, done.err


def _shown(folder: Path, *words: object) -> "list[object]":
    return ["--ledger", folder / "rollout.jsonl", *words]


RECEIPT = "receipt:b.receipt.json"
SIGNED = {"by": "Grace Hopper", "reason": "the gold run"}


def test_a_step_that_is_signed_by_the_form_stands_in_the_ledger(rollout: Path) -> None:
    with serving(rollout, *_shown(rollout, "--receipt", "b.receipt.json")) as here:
        assert "canary 5 %" in here.get("/rollout").body
        done = here.sent("/rollout", "/rollout/advance", proof=RECEIPT, to="eligible", **SIGNED)
        assert done.status == 200 and "Moved." in done.body
    last = rollouts_laid.moves(rollout / "rollout.jsonl")[-1]
    assert (last["state"], last["by"], last["reason"]) == ("eligible", "Grace Hopper", "the gold run")
    assert last["evidence"]["verified"] is True and last["evidence"]["path"] == "b.receipt.json"
    assert rollouts_laid.verified(rollout / "rollout.jsonl")[0] == 0


def test_a_step_rests_on_a_file_of_the_list_and_on_no_other(rollout: Path) -> None:
    (rollout / "other.receipt.json").write_bytes((rollout / "b.receipt.json").read_bytes())
    with serving(rollout, *_shown(rollout, "--receipt", "b.receipt.json")) as here:
        for proof in ("receipt:other.receipt.json", "receipt:/etc/passwd", "report:b.report.json", "", "receipt:"):
            done = here.sent("/rollout", "/rollout/advance", proof=proof, to="eligible", **SIGNED)
            assert done.status == 409 and "got none of them" in done.body, proof
    assert len(rollouts_laid.moves(rollout / "rollout.jsonl")) == 1


def test_a_step_that_its_evidence_does_not_allow_is_not_made(rollout: Path) -> None:
    lost = [{"id": rollouts_laid.block(99)}, {"id": rollouts_laid.block(98)}]
    worse = {nth: {"topk": lost, "answer_citations": []} for nth in range(1, 9)}
    rollouts_laid.lay(rollout, shadow="b", change=worse)
    rollouts_laid.judged(rollout, code=1)
    with serving(rollout, *_shown(rollout, "--report", "b.report.json")) as here:
        done = here.sent("/rollout", "/rollout/advance", proof="report:b.report.json", to="eligible", **SIGNED)
        assert done.status == 409 and "does not allow eligible" in done.body
    assert len(rollouts_laid.moves(rollout / "rollout.jsonl")) == 1


@pytest.mark.parametrize("fields", [{"by": " ", "reason": "x"}, {"by": "x", "reason": " "}])
def test_a_step_that_nobody_stands_behind_is_not_made(rollout: Path, fields: dict[str, str]) -> None:
    with serving(rollout, *_shown(rollout, "--receipt", "b.receipt.json")) as here:
        for path in ("/rollout/advance", "/rollout/rollback"):
            done = here.sent("/rollout", path, proof=RECEIPT, **fields)
            assert done.status == 409 and "expected a text, got nothing" in done.body
    assert len(rollouts_laid.moves(rollout / "rollout.jsonl")) == 1


def test_the_same_step_is_made_once(rollout: Path) -> None:
    with serving(rollout, *_shown(rollout, "--receipt", "b.receipt.json")) as here:
        fields = {"proof": RECEIPT, "to": "eligible", **SIGNED}
        assert here.sent("/rollout", "/rollout/advance", **fields).status == 200
        again = here.sent("/rollout", "/rollout/advance", **fields)
        assert again.status == 409 and "expected eligible to be next, got canary 5 %" in again.body
    assert len(rollouts_laid.moves(rollout / "rollout.jsonl")) == 2


def test_out_of_a_canary_live_traffic_decides(rollout: Path) -> None:
    ledger = rollout / "rollout.jsonl"
    then = datetime.now(UTC) - timedelta(minutes=70)
    ledger.unlink()
    rollouts_laid.begun(rollout, "--at", (then - timedelta(minutes=3)).strftime("%Y-%m-%dT%H:%M:%SZ"))
    for nth in (2, 1):
        at = (then - timedelta(minutes=nth)).strftime("%Y-%m-%dT%H:%M:%SZ")
        assert rollouts_laid.advanced(ledger, "--receipt", rollout / "b.receipt.json", "--at", at)[0] == 0
    words = _shown(rollout, "--receipt", "b.receipt.json")
    with serving(rollout, *words) as here:
        assert "start the viewer with <code>--log LOG</code>" in here.get("/rollout").body
    start = then.replace(second=0, microsecond=0)
    rollouts_laid.log(rollout / "bad.jsonl", start, 70, canary={"answer": {"coverage": 0.2}})
    rollouts_laid.log(rollout / "good.jsonl", start, 70)
    fields = {"proof": RECEIPT, "to": "canary 10 %", **SIGNED}
    with serving(rollout, *words, "--log", "bad.jsonl") as here:
        done = here.sent("/rollout", "/rollout/advance", **fields)
        assert done.status == 409 and "not moved: " in done.body and "coverage" in done.body
    assert len(rollouts_laid.moves(ledger)) == 3
    with serving(rollout, *words, "--log", "good.jsonl") as here:
        done = here.sent("/rollout", "/rollout/advance", **fields)
        assert done.status == 200, done.body[-4000:]
    assert rollouts_laid.moves(ledger)[-1]["share"] == "0.10"


def test_it_is_taken_back_from_the_page(rollout: Path) -> None:
    with serving(rollout, *_shown(rollout)) as here:
        done = here.sent("/rollout", "/rollout/rollback", by="Ada", reason="wrong prices")
        assert done.status == 200
        page = here.get("/rollout").body
        assert "rolled back" in page and "Sign the rollback" not in page
        ended = here.get("/rollout")
        assert "/rollout/advance" not in ended.body
    last = rollouts_laid.moves(rollout / "rollout.jsonl")[-1]
    assert (last["state"], last["by"], last["reason"]) == ("rolled_back", "Ada", "wrong prices")


def test_a_ledger_that_was_changed_is_shown_as_such_and_takes_no_step(rollout: Path) -> None:
    ledger = rollout / "rollout.jsonl"
    with serving(rollout, *_shown(rollout, "--receipt", "b.receipt.json")) as here:
        page = here.get("/rollout")
        ledger.write_text(ledger.read_text().replace("new chunker", "no reason"))
        assert "not as it was written" in here.get("/rollout").body
        from viewer_served import SIGN

        found = SIGN.search(page.body)
        assert found is not None
        for path in ("/rollout/advance", "/rollout/rollback"):
            done = here.post(path, {"proof": RECEIPT, **SIGNED, "sign": found[1]})
            assert done.status == 409 and "RW-Z02" in done.body
    assert len(rollouts_laid.moves(ledger)) == 1
