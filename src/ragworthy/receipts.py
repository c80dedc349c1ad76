"""Making receipts, and re-deriving verdicts from them."""

import json
from collections.abc import Sequence
from datetime import date, timedelta
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from ragworthy import flow
from ragworthy.errors import RagworthyError, data_error, policy_error, usage_error
from ragworthy.gates import Gate
from ragworthy.ids import natural
from ragworthy.index.blocks import corpus_files
from ragworthy.load.packs import BUNDLED_PACKS
from ragworthy.load.plugins import METRICS, load_file, load_point
from ragworthy.metrics.facts.redirects import Table
from ragworthy.names import VERSION
from ragworthy.policy.declare import Declared, Input
from ragworthy.policy.proofs import CLUSTERS, proving_of
from ragworthy.policy.read import load_policy
from ragworthy.policy.sections import check_settings
from ragworthy.proving import Proving
from ragworthy.report import receipt
from ragworthy.suites import SUITES
from ragworthy.suites.answers.suite import pack_path
from ragworthy.suites.opened import lock_of
from ragworthy.suites.retrieval import TREC
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
            shared = role in ("policy", "baseline") or role.startswith("plugin:")
            found[role if shared else f"{prefix}{role}"] = path
    return found


def _files(request: flow.Request) -> dict[str, Path]:
    found: dict[str, Path] = {}
    for one in SUITES[request.suite].inputs:
        given = request.get(one.key)
        if given is not None and not one.written:
            found |= _paths(one, given)
    beside = {"policy": request.policy, "baseline": request.baseline, "lock": _lock(request)}
    found |= {role: Path(path) for role, path in beside.items() if path is not None}
    for name in getattr(request.settings, "rule_packs", ()):
        if name not in BUNDLED_PACKS:
            found[f"pack:{name}"] = pack_path(request, name)
    found |= {f"plugin:{one.name}": one.path for one in request.plugins if one.path is not None}
    return found


def _lock(request: flow.Request) -> Path | None:
    gold = SUITES[request.suite].by_role("gold")
    return lock_of(request, request.get(gold.key)) if gold is not None else None


def _paths(one: Input, given: Any) -> dict[str, Path]:
    """The files of an input, by their roles."""
    role = one.receipt_role
    if one.form == "files":
        if any(isinstance(table, Table) for table in given):
            raise usage_error(f"a receipt needs files: {role} were given as a table")
        return {f"{role}:{nth}": Path(path) for nth, path in enumerate(given)}
    if not isinstance(given, (str, Path)):
        raise usage_error(f"a receipt needs files: {role} was given as records")
    return corpus_files(Path(given), role) if one.form == "corpus" else {role: Path(given)}


def _options(requests: Sequence[flow.Request]) -> dict[str, Any]:
    """What the files do not say: for a policy only the flags, else the settings and gates too."""
    request = requests[0]
    options: dict[str, Any] = {"unfrozen": request.unfrozen, "allow_gold_errors": request.allow_gold_errors}
    if plugins := flow.plugins_of(requests):
        options["plugins"] = [one.told() for one in plugins]
    if request.policy is not None:
        # Only waivers depend on the day; without them the same inputs give the same bytes on every day.
        if request.waivers and request.today is not None:
            options["today"] = request.today.isoformat()
        return options | {"baseline_from_command_line": request.baseline_override}
    written = request.settings._asdict().items()
    settings = {key: list(value) if isinstance(value, tuple) else value for key, value in written}
    gates = [_written(gate) for gate in request.gates]
    trec = any(request.get(key) is not None for key in TREC)
    return options | _proven(request) | {"suite": request.suite, "trec": trec, "settings": settings, "gates": gates}


def _proven(request: flow.Request) -> dict[str, Any]:
    """How losses were to be proven, where it is not the usual way."""
    given = {**request.proving._asdict(), "cluster": request.cluster}
    usual = {**Proving()._asdict(), "cluster": CLUSTERS[0]}
    return {key: value for key, value in given.items() if value != usual[key]}


def _written(gate: Gate) -> dict[str, Any]:
    """A gate as a receipt keeps it; that nobody wrote it, or named it, is said only where it is so."""
    fields = {**gate._asdict(), "must_pass": list(gate.must_pass)}
    return {key: value for key, value in fields.items() if key not in ("usual", "kept", "min_effect") or value}


def _requests(given: receipt.Receipt, root: Path) -> list[flow.Request]:
    """The requests a receipt was made from; gates and settings are checked when they are scored, as everywhere."""
    found = receipt.files_of(given, root)
    asked = given.request
    flags: dict[str, Any] = {"unfrozen": asked.unfrozen, "allow_gold_errors": asked.allow_gold_errors}
    if "policy" in found:
        policy = load_policy(found["policy"], SUITES, today=asked.today)
        if policy.waivers and asked.today is None:
            message = "expected the day on which waivers were judged, got a receipt without one"
            raise data_error("RW-R01", message, field="request.today")
        requests = flow.from_policy(policy, **flags)
        if asked.baseline_from_command_line and "baseline" in found:
            requests = [one.with_baseline(found["baseline"]) for one in requests]
        return requests
    SUITES.also([asked.suite or ""])
    named = [one.get("name", "") for one in asked.plugins or () if one.get("name") != asked.suite]
    flags["plugins"] = tuple(
        load_file(found[f"plugin:{name}"], name) if f"plugin:{name}" in found else load_point(METRICS, name)
        for name in named
    )
    return [_scored(asked, found, flags)]


def _scored(asked: receipt.Asked, found: dict[str, Path], flags: dict[str, Any]) -> flow.Request:
    """The request of a receipt of `score`."""
    declared = SUITES.get(asked.suite or "")
    if declared is None or asked.settings is None or asked.gates is None or "trace" not in found:
        message = f"expected a suite with its settings, gates and traces, got {described(asked.suite)}"
        raise data_error("RW-R01", message, field="request")
    if odd := asked.settings.keys() - set(declared.settings._fields):
        raise data_error("RW-R01", f"expected settings of {asked.suite}, got {min(odd)}", field="request.settings")
    if asked.trec and not {*TREC} <= {one.key for one in declared.inputs}:
        raise policy_error("RW-P03", f"expected the suite retrieval for TREC files, got {asked.suite}")
    written = {key: tuple(value) if isinstance(value, list) else value for key, value in asked.settings.items()}
    settings = declared.settings(**written)
    check_settings(settings, declared, "")
    gates = [msgspec.structs.asdict(gate) for gate in asked.gates]
    how = {"alpha": asked.alpha, "seed": asked.seed, "cluster": asked.cluster}
    flags = flags | proving_of(how, "request")._asdict()
    return flow.Request(
        suite=declared.name,
        given=_given(declared, settings, found, trec=bool(asked.trec)),
        settings=settings,
        gates=tuple(
            Gate(**gate | {"must_pass": tuple(gate["must_pass"]), "review": gate["review"] and tuple(gate["review"])})
            for gate in gates
        ),
        baseline=found.get("baseline"),
        lock=found.get("lock"),
        packs={role.removeprefix("pack:"): path for role, path in found.items() if role.startswith("pack:")},
        **flags,
    )


def _given(declared: Declared, settings: Any, found: dict[str, Path], *, trec: bool) -> dict[str, Any]:
    """The inputs of a receipt by the keys of the suite; TREC files have the roles of gold and traces."""
    other = ("gold", "traces") if trec else TREC
    given: dict[str, Any] = {}
    for one in declared.inputs_of(settings):
        role = one.receipt_role
        if one.form == "files":
            given[one.key] = tuple(found[name] for name in sorted(found, key=natural) if name.startswith(f"{role}:"))
        elif not one.written and one.key not in other and role in found:
            given[one.key] = found[role]
    return {key: paths for key, paths in given.items() if paths}


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
