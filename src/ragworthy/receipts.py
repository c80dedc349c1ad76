"""Making receipts, and re-deriving verdicts from them."""

import json
from pathlib import Path
from typing import Any, NamedTuple

from ragworthy import flow
from ragworthy.errors import RagworthyError, usage_error
from ragworthy.gates import Gate
from ragworthy.load.extras import BUNDLED_PACKS
from ragworthy.load.policy import Answers, load_policy
from ragworthy.names import VERSION
from ragworthy.report import receipt


def make(run: flow.Run, request: flow.Request, root: Path) -> bytes:
    """The receipt of a run; paths in it are relative to `root`, the folder it will stand in."""
    return receipt.build(run.report, run.measured.tally, _options(request), files(request), root)


def files(request: flow.Request) -> dict[str, Path]:
    """Every file that decides the result, by role."""
    found: dict[str, Path] = {}
    given = {
        "gold": request.gold,
        "trace": request.traces,
        "corpus": request.corpus,
        "policy": request.policy,
        "baseline": request.baseline,
        "lock": flow.lock_of(request),
    }
    for role, path in given.items():
        if isinstance(path, (str, Path)):
            found[role] = Path(path)
        elif path is not None:
            raise usage_error(f"a receipt needs files: {role} was given as records")
    for name in request.settings.rule_packs:
        if name not in BUNDLED_PACKS:
            found[f"pack:{name}"] = flow.pack_path(request, name)
    return found


def _options(request: flow.Request) -> dict[str, Any]:
    """What the files do not say: for a policy only the flags, else the settings and gates too."""
    options: dict[str, Any] = {"unfrozen": request.unfrozen, "allow_gold_errors": request.allow_gold_errors}
    if request.policy is not None:
        options["baseline_from_command_line"] = request.baseline_override
    if request.policy is None:
        settings = request.settings
        options |= {
            "k": list(settings.ks),
            "short_substr": settings.short_substr,
            "refusals": list(settings.refusals),
            "scu": settings.scu,
            "rule_packs": list(settings.rule_packs),
            "slices": list(settings.slices),
            "gates": [{**gate._asdict(), "must_pass": list(gate.must_pass)} for gate in request.gates],
        }
    return options


def _request(given: receipt.Receipt, root: Path) -> flow.Request:
    """The request a receipt was made from."""
    found = receipt.files_of(given, root)
    options = given.request
    flags = {"unfrozen": options["unfrozen"], "allow_gold_errors": options["allow_gold_errors"]}
    if "policy" in found:
        asked = flow.from_policy(load_policy(found["policy"], today=None), **flags)
        return asked.with_baseline(found["baseline"]) if options["baseline_from_command_line"] else asked
    settings = Answers(
        ks=tuple(options["k"]),
        short_substr=options["short_substr"],
        refusals=tuple(options["refusals"]),
        scu=options["scu"],
        rule_packs=tuple(options["rule_packs"]),
        slices=tuple(options["slices"]),
    )
    gates = tuple(
        Gate(
            **{
                **gate,
                "must_pass": tuple(gate["must_pass"]),
                "review": gate["review"] and tuple(gate["review"]),
            }
        )
        for gate in options["gates"]
    )
    return flow.Request(
        gold=found["gold"],
        traces=found["trace"],
        corpus=found.get("corpus"),
        baseline=found.get("baseline"),
        lock=found.get("lock"),
        packs={role.removeprefix("pack:"): path for role, path in found.items() if role.startswith("pack:")},
        settings=settings,
        gates=gates,
        **flags,
    )


class Checked(NamedTuple):
    """What verifying a receipt showed."""

    verdict: str
    inputs: int
    differences: list[str]

    @property
    def agrees(self) -> bool:
        """Whether every byte was re-derived."""
        return not self.differences


def check(path: Path, *, jobs: int | None = None) -> Checked:
    """Recompute a receipt from the files it names, and say what differs."""
    given, body, canonical = receipt.read(path)
    root = path.parent
    nothing = Checked(given.verdict, len(given.inputs), [])
    moved = receipt.moved(given, root)
    if given.tool.version != VERSION:
        made_by = f"tool: the receipt was made by version {given.tool.version}, this is {VERSION}"
        return nothing._replace(differences=[made_by, *moved])
    if moved:
        return nothing._replace(differences=moved)
    try:
        request = _request(given, root)._replace(jobs=jobs)
        again = make(flow.score(request), request, root)
    except RagworthyError as error:
        return nothing._replace(differences=error.lines())
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        return nothing._replace(
            differences=[f"request: expected what the command was given, got something else ({error})"]
        )
    if again == canonical:
        return nothing
    return nothing._replace(differences=receipt.differences(json.loads(again), body))
