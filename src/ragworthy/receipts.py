"""Making receipts, and re-deriving verdicts from them."""

import json
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy import flow
from ragworthy.errors import RagworthyError, data_error, usage_error
from ragworthy.gates import Gate
from ragworthy.ids import natural
from ragworthy.index.blocks import corpus_files
from ragworthy.load.extras import BUNDLED_PACKS
from ragworthy.metrics.facts.redirects import Table
from ragworthy.names import VERSION
from ragworthy.policy.read import load_policy
from ragworthy.policy.settings import SUITE_OF, Answers
from ragworthy.report import receipt
from ragworthy.suites.answers.suite import pack_path
from ragworthy.suites.common import lock_of
from ragworthy.text import described


def make(run: flow.Run, requests: Sequence[flow.Request], root: Path) -> bytes:
    """The receipt of a run; paths in it are relative to `root`, the folder it will stand in."""
    return receipt.build(run.report, run.parts, _options(requests), files(requests), root)


def files(requests: Sequence[flow.Request]) -> dict[str, Path]:
    """Every file that decides the result, by role; with several suites the role carries its suite."""
    found: dict[str, Path] = {}
    for request in requests:
        prefix = "" if len(requests) == 1 else f"{request.suite}."
        for role, path in _files(request).items():
            found[role if role in ("policy", "baseline") else f"{prefix}{role}"] = path
    return found


def _files(request: flow.Request) -> dict[str, Path]:
    given = {
        "gold": request.gold,
        "trace": request.traces,
        "second": request.second,
        "prices": request.prices,
        "live": request.live,
        "corpus": request.corpus,
        "live_corpus": request.live_corpus,
        "policy": request.policy,
        "baseline": request.baseline,
        "lock": None if request.trec else lock_of(request),
        "definition": request.definition,
        "subset": request.subset,
        "provenance": request.made,
    }
    found: dict[str, Path] = {}
    for role, path in given.items():
        if isinstance(path, (str, Path)):
            found |= corpus_files(Path(path), role) if role.endswith("corpus") else {role: Path(path)}
        elif path is not None:
            raise usage_error(f"a receipt needs files: {role} was given as records")
    for nth, table in enumerate(request.redirects):
        if isinstance(table, Table):
            raise usage_error("a receipt needs files: redirects were given as a table")
        found[f"redirects:{nth}"] = table
    if isinstance(request.settings, Answers):
        for name in request.settings.rule_packs:
            if name not in BUNDLED_PACKS:
                found[f"pack:{name}"] = pack_path(request, name)
    return found


def _options(requests: Sequence[flow.Request]) -> dict[str, Any]:
    """What the files do not say: for a policy only the flags, else the settings and gates too."""
    request = requests[0]
    options: dict[str, Any] = {"unfrozen": request.unfrozen, "allow_gold_errors": request.allow_gold_errors}
    if request.policy is not None:
        # Only waivers depend on the day; without them the same inputs give the same bytes on every day.
        if request.waivers and request.today is not None:
            options["today"] = request.today.isoformat()
        return options | {"baseline_from_command_line": request.baseline_override}
    settings = {key: list(value) if isinstance(value, tuple) else value for key, value in _plain(request).items()}
    gates = [{**gate._asdict(), "must_pass": list(gate.must_pass)} for gate in request.gates]
    return options | {"suite": request.suite, "trec": request.trec, "settings": settings, "gates": gates}


_PATHS = ("gold", "traces", "live", "corpus", "live_corpus", "redirects", "lock", "questions", "outputs", "definition",
          "subset", "provenance", "runs", "prices", "pairs", "scholar", "auditor", "raters", "operators",
          "tsv")  # fmt: skip


def _plain(request: flow.Request) -> dict[str, Any]:
    """The settings without the paths, which stand among the inputs."""
    return {key: value for key, value in request.settings._asdict().items() if key not in _PATHS}


def _requests(given: receipt.Receipt, root: Path) -> list[flow.Request]:
    """The requests a receipt was made from; gates and settings are checked when they are scored, as everywhere."""
    found = receipt.files_of(given, root)
    asked = given.request
    flags: dict[str, Any] = {"unfrozen": asked.unfrozen, "allow_gold_errors": asked.allow_gold_errors}
    if "policy" in found:
        policy = load_policy(found["policy"], today=asked.today)
        if policy.waivers and asked.today is None:
            message = "expected the day on which waivers were judged, got a receipt without one"
            raise data_error("RW-R01", message, field="request.today")
        requests = flow.from_policy(policy, **flags)
        if asked.baseline_from_command_line and "baseline" in found:
            requests = [one.with_baseline(found["baseline"]) for one in requests]
        return requests
    return [_scored(asked, found, flags)]


def _scored(asked: receipt.Asked, found: dict[str, Path], flags: dict[str, Any]) -> flow.Request:
    """The request of a receipt of `score`."""
    kind: Any = next((one for one, suite in SUITE_OF.items() if suite == asked.suite), None)
    if kind is None or asked.settings is None or asked.gates is None or "trace" not in found:
        message = f"expected a suite with its settings, gates and traces, got {described(asked.suite)}"
        raise data_error("RW-R01", message, field="request")
    if odd := asked.settings.keys() - set(kind._fields):
        raise data_error("RW-R01", f"expected settings of {asked.suite}, got {min(odd)}", field="request.settings")
    settings = {key: tuple(value) if isinstance(value, list) else value for key, value in asked.settings.items()}
    gates = [msgspec.structs.asdict(gate) for gate in asked.gates]
    return flow.Request(
        gold=found.get("gold"),
        traces=found["trace"],
        second=found.get("second"),
        prices=found.get("prices"),
        corpus=found.get("corpus"),
        live=found.get("live"),
        live_corpus=found.get("live_corpus"),
        redirects=tuple(found[role] for role in sorted(found, key=natural) if role.startswith("redirects:")),
        trec=bool(asked.trec),
        definition=found.get("definition"),
        subset=found.get("subset"),
        made=found.get("provenance"),
        baseline=found.get("baseline"),
        lock=found.get("lock"),
        packs={role.removeprefix("pack:"): path for role, path in found.items() if role.startswith("pack:")},
        settings=kind(**settings),
        gates=tuple(
            Gate(**gate | {"must_pass": tuple(gate["must_pass"]), "review": gate["review"] and tuple(gate["review"])})
            for gate in gates
        ),
        **flags,
    )


class Checked(NamedTuple):
    """What verifying a receipt showed."""

    verdict: str
    inputs: int
    differences: list[str]
    gone: bool = False
    """Whether inputs are not here, so that nothing could be derived."""
    run: flow.Run | None = None
    """What was derived again, where it could be."""
    request: flow.Request | None = None
    """The first of its requests, for the flags."""

    @property
    def agrees(self) -> bool:
        """Whether every byte was re-derived."""
        return self.run is not None and not self.differences


def check(path: Path, *, today: date, jobs: int | None = None) -> Checked:
    """Recompute a receipt from the files it names, and say what differs."""
    given, body, canonical = receipt.read(path)
    root = path.parent
    if given is None:
        version = body["tool"]["version"]
        made_by = f"tool: the receipt was made by version {version}, this is {VERSION}: verify it with that version"
        return Checked(str(body.get("verdict")), 0, [made_by])
    nothing = Checked(given.verdict, len(given.inputs), [])
    moved = receipt.moved(given.inputs, root)
    if moved.gone or moved.changed:
        return nothing._replace(differences=[*moved.gone, *moved.changed], gone=bool(moved.gone))
    if given.request.today is not None and given.request.today > today + timedelta(days=1):
        return nothing._replace(differences=[f"request.today: the receipt is of {given.request.today}, to come yet"])
    try:
        requests = [request._replace(jobs=jobs) for request in _requests(given, root)]
        run = flow.score_all(requests)
        again = make(run, requests, root)
    except RagworthyError as error:
        return nothing._replace(differences=error.lines())
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        # A receipt may combine what no command would: whatever that leads to, it does not re-derive.
        what = f"{type(error).__name__}: {error}"
        return nothing._replace(
            differences=[f"request: expected what a command was given, got something else ({what})"]
        )
    found = nothing._replace(run=run, request=requests[0])
    if again == canonical:
        return found
    return found._replace(differences=receipt.differences(json.loads(again), body) or ["the bytes differ"])
