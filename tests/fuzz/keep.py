"""Failing cases: told apart, made smaller, kept."""

import hashlib
import re
from pathlib import Path

from fuzz.case import Case, load
from fuzz.pool import Pool, Result

KEPT = Path(__file__).parent / "kept"


def signature(result: Result) -> str:
    """Failures that look alike count as one."""
    if result.blame:
        return re.sub(r":\d+", "", result.blame.partition(" < ")[0])
    command = " ".join(result.case.commands[-1][:2])
    problem = result.problem.partition(":")[0].partition(" through ")[0]
    return f"{command}: {re.sub(r'[0-9]+', '', problem)}"


def smaller(result: Result, pool: Pool) -> Result:
    """The same failure with fewer edits, commands and flags, as far as trying each once leads."""
    wanted, best = signature(result), result
    for at in reversed(range(len(best.case.edits))):
        edits = best.case.edits[:at] + best.case.edits[at + 1 :]
        best = _tried(best.case._replace(edits=edits), wanted, best, pool)
    for at in reversed(range(len(best.case.commands))):
        if len(best.case.commands) > 1:
            commands = best.case.commands[:at] + best.case.commands[at + 1 :]
            best = _tried(best.case._replace(commands=commands), wanted, best, pool)
    for nth, command in enumerate(best.case.commands):
        for at in reversed([i for i, word in enumerate(command) if word.startswith("-") and i > 1]):
            end = next((i for i in range(at + 1, len(command)) if command[i].startswith("-")), len(command))
            commands = [*best.case.commands]
            commands[nth] = best.case.commands[nth][:at] + best.case.commands[nth][end:]
            before = best
            best = _tried(best.case._replace(commands=commands), wanted, best, pool)
            command = best.case.commands[nth] if best is not before else command
    return best


def _tried(case: Case, wanted: str, best: Result, pool: Pool) -> Result:
    again = pool.case(case)
    return again if again.problem and signature(again) == wanted else best


def known() -> set[str]:
    """The names of the failures that are kept already."""
    return {path.stem for path in KEPT.glob("*.json")}


def name_of(result: Result) -> str:
    """A file name for a failure: its kind, and a hash of what it looks like."""
    return f"{result.case.kind}-{hashlib.sha256(signature(result).encode()).hexdigest()[:10]}"


def keep(result: Result, folder: Path) -> Path:
    """Write a failing case down."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name_of(result)}.json"
    wrong = f"{result.problem} ({result.blame})" if result.blame else result.problem
    path.write_text(result.case._replace(wrong=wrong).text(), encoding="utf-8")
    return path


def kept_cases() -> dict[str, Case]:
    """Every kept case by name."""
    return {path.stem: load(path) for path in sorted(KEPT.glob("*.json"))}
