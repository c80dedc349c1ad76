"""The viewer over stores of both kinds."""

import re
from pathlib import Path
from typing import Any

import site_laid
from conftest import run_cli
from ragworthy.history.store import open_store
from viewer_served import serving


def test_a_store_of_either_kind_is_shown_and_blessed(place: str, report: dict[str, Any], tmp_path: Path) -> None:
    site_laid.lay(tmp_path / "site")
    store = open_store(place)
    for nth in range(3):
        told = {**report["provenance"], "nth": nth}
        store.add({**report, "provenance": told}, commit="a1" * 20, at=f"2026-03-0{nth + 1}T12:00:00Z")
    runs = [one.id for one in store.runs()]
    with serving(tmp_path / "site", "--store", place) as here:
        body = here.get("/runs").body
        assert all(one in body for one in runs) and "3 of 3" in body
        password = re.search(r"History: .*?</span>", body)
        assert password is not None and "search_path" not in password[0]
        for path in ("/trend", "/questions", f"/compare?a={runs[0]}&b={runs[2]}", f"/runs/{runs[1]}"):
            assert here.get(path).status == 200, path
        for odd in ("/runs?commit=%27%20OR%201%3D1--", "/runs/%27%3B%20DROP%20TABLE%20ragworthy_runs%3B--"):
            assert here.get(odd).status in (200, 404)
        done = here.sent(f"/runs/{runs[1]}", f"/runs/{runs[1]}/bless", by="Ada Byron", reason="the middle one")
        assert done.status == 200, done.body[-2000:]
    blessed = open_store(place, create=False).baseline("main")
    assert blessed is not None and (blessed.run, blessed.by) == (runs[1], "Ada Byron")
    assert run_cli("history", "verify", "--store", place).code == 0
