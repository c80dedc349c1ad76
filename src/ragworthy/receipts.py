"""Making receipts, and re-deriving verdicts from them."""

import json
from collections.abc import Iterable, Mapping, Sequence
from datetime import date, timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

import msgspec

from ragworthy import flow
from ragworthy.errors import Problem, RagworthyError, UsageError, data_error, policy_error, usage_error
from ragworthy.gates import Gate
from ragworthy.history.commit import same_commit
from ragworthy.ids import natural
from ragworthy.index.found import corpus_files
from ragworthy.load.packs import WITHOUT_FILE
from ragworthy.load.plugins import METRICS, load_file, load_point
from ragworthy.load.uri import Uri
from ragworthy.metrics.facts.redirects import Table
from ragworthy.names import VERSION
from ragworthy.policy.declare import Declared, Input
from ragworthy.policy.kept import BLESSED, is_own
from ragworthy.policy.packs import known_packs
from ragworthy.policy.proving import CLUSTERS, proving_of
from ragworthy.policy.read import Policy, load_policy, parse_policy, policy_table
from ragworthy.policy.sections import LOCK, check_settings
from ragworthy.proving import Proving
from ragworthy.report import receipt
from ragworthy.report.placed import Placed, placed
from ragworthy.suites import SUITES
from ragworthy.suites.locked import pack_path
from ragworthy.suites.opened import lock_files
from ragworthy.suites.request import Attempts
from ragworthy.suites.retrieval import TREC
from ragworthy.text import described


def make(
    run: flow.Run, requests: Sequence[flow.Request], root: Path, moved: Mapping[str, str] = MappingProxyType({})
) -> bytes:
    """The receipt of a run; paths in it are relative to `root`, the folder it will be in. `moved` has the paths of
    those inputs, by role, that stood elsewhere when the receipt was made first.
    """
    options, named = options_of(requests), files(requests)
    if "policy" in named and "baseline" in named:
        written = {role: moved.get(role) or receipt.relative(named[role], root) for role in ("policy", "baseline")}
        said = policy_table(named["policy"], Path(written["policy"]).name).get("baseline")
        options["baseline_from_command_line"] |= not is_own(said, **written)
    return receipt.build(run.report, run.parts, options, named, root, moved)


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
    beside = {"policy": request.policy, "baseline": request.baseline, **_lock(request)}
    found |= {role: Path(path) for role, path in beside.items() if path is not None}
    for name in getattr(request.settings, "rule_packs", ()):
        if name not in WITHOUT_FILE:
            found[f"pack:{name}"] = pack_path(request, name)
    found |= {f"plugin:{one.name}": one.path for one in request.plugins if one.path is not None}
    return found


def _lock(request: flow.Request) -> dict[str, Path]:
    gold = SUITES[request.suite].by_role("gold")
    return lock_files(request, request.get(gold.key)) if gold is not None else {}


def _paths(one: Input, given: Any) -> dict[str, Path]:
    """The files of an input, by their roles."""
    role = one.receipt_role
    for each in given if one.form == "files" else (given,):
        if not isinstance(each, (str, Path)):
            kind = {Table: "a table", Uri: "a URI"}.get(type(each), "records")
            raise usage_error(f"a receipt needs files: {role} was given as {kind}")
    if one.form == "files":  # the first run has the role for itself
        return {f"{role}:{nth}": Path(path) for nth, path in enumerate(given, start=int(one.key == "reruns"))}
    return corpus_files(Path(given), role) if one.form == "corpus" else {role: Path(given)}


def options_of(requests: Sequence[flow.Request]) -> dict[str, Any]:
    """What the files do not say: for a policy only the flags, else the settings and gates too."""
    request = requests[0]
    options: dict[str, Any] = {"unfrozen": request.unfrozen, "allow_gold_errors": request.allow_gold_errors}
    allowed = () if request.policy is not None else request.allowed
    options |= {key: one for key, one in (("commit", request.commit), ("allow", [*allowed])) if one}
    if request.attempts is not None:
        options["attempts"] = request.attempts.told()
    if plugins := flow.plugins_of(requests):
        options["plugins"] = [one.told() for one in plugins]
    if packs := flow.packs_of(requests):
        options["packs"] = [one.told() for one in packs]
    if request.more_packs:
        options["packs_from_command_line"] = list(request.more_packs)
    if request.policy is not None:
        if request.waivers and request.today is not None:
            options["today"] = request.today.isoformat()
        return options | {"baseline_from_command_line": request.baseline_override}
    written = request.settings._asdict().items()
    settings = {key: list(value) if isinstance(value, tuple) else value for key, value in written}
    gates = [_written(gate) for gate in request.gates]
    trec = any(request.get(key) is not None for key in TREC)
    return options | _proven(request) | {"suite": request.suite, "trec": trec, "settings": settings, "gates": gates}


def _proven(request: flow.Request) -> dict[str, Any]:
    """How losses were to be proven and whether default gates hold, where it is not the usual way."""
    given = {**request.proving._asdict(), "cluster": request.cluster, "defaults": request.defaults}
    usual = {**Proving()._asdict(), "cluster": CLUSTERS[0], "defaults": True}
    return {key: value for key, value in given.items() if value != usual[key]}


def _written(gate: Gate) -> dict[str, Any]:
    """A gate as a receipt keeps it; that nobody wrote it, or named it, is said only where it is so."""
    fields = {**gate._asdict(), "must_pass": list(gate.must_pass)}
    del fields["packed"]  # it says which default gates hold besides, and those are kept too
    return {key: value for key, value in fields.items() if key not in UNSAID or value}


UNSAID = ("usual", "kept", "min_effect", "rerun", "pack", "instead", "replaces", "over")
"""What is said of a gate only where it is so."""


def _requests(given: receipt.Receipt, found: Placed, *, trusted: bool) -> list[flow.Request]:
    """The requests a receipt was made from; gates and settings are checked when they are scored, as everywhere."""
    asked, paths = given.request, found.paths
    flags: dict[str, Any] = {"unfrozen": asked.unfrozen, "allow_gold_errors": asked.allow_gold_errors}
    flags |= {"attempts": attempts_of(asked), "commit": asked.commit or ""}
    if "policy" in paths:
        policy, packs = _policy(given, found, trusted=trusted)
        if policy.waivers and asked.today is None:
            message = "expected the day on which waivers were judged, got a receipt without one"
            raise data_error("RW-R01", message, field="request.today")
        requests = flow.from_policy(policy, blessed=paths.get("baseline"), **flags)
        if packs:
            requests = [one._replace(packs=packs) for one in requests]
        if asked.baseline_from_command_line and "baseline" in paths:
            requests = [one.with_baseline(paths["baseline"]) for one in requests]
        return requests
    if not trusted and asked.plugins:
        raise _somebodys_code([one.get("name", "") for one in asked.plugins])
    SUITES.also([asked.suite or ""])
    named = [one.get("name", "") for one in asked.plugins or () if one.get("name") != asked.suite]
    flags["plugins"] = tuple(
        load_file(paths[f"plugin:{name}"], name) if f"plugin:{name}" in paths else load_point(METRICS, name)
        for name in named
    )
    return [scored_again(asked, paths, flags)]


def attempts_of(asked: receipt.Asked) -> Attempts | None:
    """The attempts that a receipt counts, the run itself the last of them."""
    told = asked.attempts
    if told is None:
        return None
    if told.count != len(told.chain) or not told.chain:
        message = f"expected the number of hashes in its chain ({len(told.chain)}), got {told.count}"
        raise data_error("RW-R01", message, field="request.attempts.count")
    if not same_commit(told.commit, asked.commit or ""):
        message = f"expected the commit of the request ({described(asked.commit)}), got {described(told.commit)}"
        raise data_error("RW-R01", message, field="request.attempts.commit")
    return Attempts(told.count, tuple(told.chain), told.commit)


def _policy(given: receipt.Receipt, found: Placed, *, trusted: bool) -> tuple[Policy, dict[str, Path]]:
    """The policy of a receipt, and where its rule packs are, should they be elsewhere.

    Where an input moved, the paths of the policy lead nowhere any more: each is replaced by where the input is.
    """
    path, today = found.paths["policy"], given.request.today
    more = given.request.packs_from_command_line or ()
    if not found.moved:
        return load_policy(path, SUITES, today=today, packs=more), {}
    written = next(one.path for one in given.inputs if one.role == "policy")
    table = policy_table(path, Path(written).name)
    if table.get("plugins") and not trusted:
        raise _somebodys_code(table["plugins"])
    SUITES.also(key for key, value in table.items() if isinstance(value, dict))
    suites = [name for name in SUITES if isinstance(table.get(name), dict)]
    packs: dict[str, Path] = {}
    for name in suites:
        prefix = "" if len(suites) == 1 else f"{name}."
        table[name] = _moved_section(table[name], SUITES[name], found.paths, prefix)
        mine = f"{prefix}pack:"
        packs |= {role.removeprefix(mine): at for role, at in found.paths.items() if role.startswith(mine)}
    if isinstance(table.get("baseline"), str) and not table["baseline"].startswith(BLESSED):
        override = given.request.baseline_from_command_line or "baseline" not in found.paths
        table["baseline"] = None if override else str(found.paths["baseline"].absolute())
    plugins = {role.removeprefix("plugin:"): at for role, at in found.paths.items() if role.startswith("plugin:")}
    for name in table.get("plugins") or ():
        if str(name).endswith(".py") and name not in plugins:
            raise _unnamed("plugins", name)
    table = {key: value for key, value in table.items() if value is not None}
    return parse_policy(table, SUITES, path.as_posix(), path, today, plugins, more), packs


def _moved_section(
    section: Mapping[str, Any], suite: Declared, paths: Mapping[str, Path], prefix: str
) -> dict[str, Any]:
    """The section of a suite with the inputs where they are."""
    table = dict(section)
    for one in suite.inputs:
        role = f"{prefix}{one.receipt_role}"
        if one.written or not one.meaning or not table.get(one.key):
            continue
        if one.form == "files" and isinstance(table[one.key], list):
            roles = [f"{role}:{nth}" for nth in range(len(table[one.key]))]
        else:
            roles = [role]
        if lacking := [each for each in roles if each not in paths]:
            raise _unnamed(lacking[0], table[one.key])
        at = [str(paths[each].absolute()) for each in roles]
        table[one.key] = at if one.form == "files" else at[0]
    for name in table.get("rule_packs") or ():
        if name not in WITHOUT_FILE and f"{prefix}pack:{name}" not in paths:
            raise _unnamed(f"{prefix}pack:{name}", name)
    if f"{prefix}lock" in paths:
        table[LOCK] = str(paths[f"{prefix}lock"].absolute())
    elif table.get(LOCK):
        raise _unnamed(f"{prefix}lock", table[LOCK])
    return table


def _unnamed(role: str, path: Any) -> RagworthyError:
    return data_error("RW-R13", f"expected an input of the receipt, got {described(path)}", where="policy", field=role)


def _somebodys_code(names: Iterable[Any]) -> RagworthyError:
    message = f"expected --run-plugins, got a bundle with code of plugins ({', '.join(map(str, names))})"
    return UsageError([Problem("RW-R06", message)])


def scored_again(asked: receipt.Asked, found: dict[str, Path], flags: dict[str, Any]) -> flow.Request:
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
    flags |= {"allowed": tuple(asked.allow or ()), "defaults": asked.defaults, **proving_of(how, "request")._asdict()}
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
        gate_packs=known_packs((one.get("name", "") for one in asked.packs or ()), declared.name, "request"),
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


def requests_of(path: Path) -> tuple[list[flow.Request], list[str]]:
    """What a receipt was made from; nothing, and why, where something is not as it was."""
    given, body, _ = receipt.read(path)
    if given is None:
        return [], [f"the receipt was made by version {body['tool']['version']}, this is {VERSION}"]
    found = placed(given.inputs, path.parent, path.parent, None)
    lost = [*found.gone, *found.changed]
    return ([], lost) if lost else (_requests(given, found, trusted=True), [])


class Checked(NamedTuple):
    """What verifying a receipt showed."""

    verdict: str
    inputs: int
    differences: list[str]
    gone: bool = False
    """Whether inputs are not here, so that nothing could be derived."""
    run: flow.Run | None = None
    """What was derived again, where it could be."""
    baseline: "Compared | None" = None
    """What it was compared with."""
    request: flow.Request | None = None
    """The first of its requests, for the flags."""
    notes: tuple[str, ...] = ()
    """Inputs that were found elsewhere, in words."""
    disputed: bool = False  # it was derived again, and it is the history that says otherwise

    @property
    def agrees(self) -> bool:
        """Whether every byte was re-derived."""
        return self.run is not None and not self.differences


class Compared(NamedTuple):
    """A baseline: where it is, if a suite needed it; its path in the receipt; what the policy calls its own."""

    path: Path | None
    written: str
    said: str | None
    from_command_line: bool
    own: bool
    """Whether it is where the policy's own does."""


def _compared(given: receipt.Receipt, found: Placed) -> Compared | None:
    """What a receipt was compared with, where it has a policy."""
    written = {one.role: one.path for one in given.inputs}
    if "policy" not in written or not ("baseline" in written or given.request.baseline_from_command_line):
        return None
    said = policy_table(found.paths["policy"], Path(written["policy"]).name).get("baseline")
    path, overrides = found.paths.get("baseline"), bool(given.request.baseline_from_command_line)
    name = written.get("baseline", "another run that no suite needed")
    own = is_own(said, policy=written["policy"], baseline=name)
    return Compared(path, name, said if isinstance(said, str) else None, overrides, own)


class How(NamedTuple):
    """How a receipt is verified."""

    today: date
    jobs: int | None = None
    inputs: Path | None = None
    """A folder in which inputs are looked for by their bytes."""
    bundled: bool = False
    """Whether inputs are in that folder only: it is what a bundle holds."""
    run_plugins: bool = False
    """Whether the code of plugins in a bundle may be run."""


def check(path: Path, how: How) -> Checked:
    """Recompute a receipt from the files it names, and say what differs."""
    given, body, canonical = receipt.read(path)
    if given is None:
        version = body["tool"]["version"]
        made_by = f"tool: the receipt was made by version {version}, this is {VERSION}: verify it with that version"
        return Checked(str(body.get("verdict")), 0, [made_by])
    root = path.parent
    nothing = Checked(given.verdict, len(given.inputs), [])
    beside = None if how.bundled else root
    found = placed(given.inputs, beside, beside, how.inputs)
    nothing = nothing._replace(notes=() if how.bundled else tuple(found.said()))
    if found.gone or found.changed:
        return nothing._replace(differences=[*found.gone, *found.changed], gone=bool(found.gone))
    if given.request.today is not None and given.request.today > how.today + timedelta(days=1):
        return nothing._replace(differences=[f"request.today: the receipt is of {given.request.today}, to come yet"])
    try:
        trusted = how.run_plugins or not how.bundled
        requests = [
            one._replace(jobs=how.jobs, keep_rows=how.bundled) for one in _requests(given, found, trusted=trusted)
        ]
        run = flow.score_all(requests)
        again = make(run, requests, root, found.moved)
    except RagworthyError as error:
        if any(one.code == "RW-R06" for one in error.problems):
            raise
        return nothing._replace(differences=error.lines())
    except (TypeError, ValueError, LookupError, AttributeError, ArithmeticError) as error:
        # A receipt may combine what no command would: whatever that leads to, it does not re-derive.
        what = f"{type(error).__name__}: {error}"
        return nothing._replace(
            differences=[f"request: expected what a command was given, got something else ({what})"]
        )
    derived = nothing._replace(run=run, request=requests[0], baseline=_compared(given, found))
    if again == canonical:
        return derived
    return derived._replace(differences=receipt.differences(json.loads(again), body) or ["the bytes differ"])
