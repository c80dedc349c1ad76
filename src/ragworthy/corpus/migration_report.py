"""The numbers of a redirect table against their targets, as data and as text for a terminal."""

from collections import Counter
from collections.abc import Iterable, Sequence
from fractions import Fraction
from typing import Any

from ragworthy.ids import natural, stable
from ragworthy.metrics.facts.redirects import (
    COVERAGE_TARGET,
    RISKY_BELOW,
    DocumentRedirects,
    Redirect,
    Redirects,
    Table,
    redirect_coverage,
)
from ragworthy.safe import terminal
from ragworthy.text import clip

MOVES = ("shift", "split", "merge", "unmapped")
ONE_TO_ONE_TARGET = Fraction("0.95")
DRIFT_TARGET = Fraction("0.005")
SAME_DOCUMENTS = Fraction("0.95")
"""From this share of unchanged documents on, blocks that moved were cut differently, and not edited."""
RECHUNKED = "n/a"
_BORDERS = (Fraction("0.85"), RISKY_BELOW, Fraction(1))


def confidence(matched: int, size: int) -> float:
    """The matched share with three decimals, never rounded up to a border that it does not reach.

    >>> confidence(605, 622), confidence(9999, 10000), confidence(17, 20)
    (0.973, 0.999, 0.85)
    """
    share = Fraction(matched, size) if size else Fraction(0)
    shown = round(share, 3)
    if any(share < border <= shown for border in _BORDERS):
        shown -= Fraction(1, 1000)
    return float(shown)


def numbers(documents: Sequence[DocumentRedirects], added: Sequence[str]) -> dict[str, Any]:
    """Everything that is counted about the redirects of some documents and the new blocks without an old one."""
    rows = [row for document in documents for row in document.mappings]
    new = [id for id, _ in {(part.id, part.off): None for row in rows for part in row.targets}] + list(added)
    moves: Counter[str] = Counter(row.move for row in rows)
    kept = sum(row.new_block_id == row.old_block_id and row.move == "shift" for row in rows)
    moved = {row.old_block_id for row in rows if all(part.id != row.old_block_id for part in row.targets)}
    drifts = [drift for document in documents for drift in _drifts(document)]
    return {
        "old_blocks": len(rows),
        "new_blocks": len(new),
        "moves": {move: moves[move] for move in MOVES},
        "added": len(added),
        "one_to_one": _ratio(moves["shift"], len(rows)),
        "redirect_coverage": _ratio(len(rows) - moves["unmapped"], len(rows)),
        "offset_drift": {
            "unchanged": len(drifts),
            "over": sum(drift > DRIFT_TARGET for drift in drifts),
            "max": round(float(max(drifts, default=Fraction(0))), 6),
        },
        "high_risk": sum(row.risky for row in rows),
        "kept_ids": kept,
        "reused_ids": len(moved & set(new)),
        "id_collisions": {"old": _repeated(row.old_block_id for row in rows), "new": _repeated(new)},
    }


def _ratio(num: int, den: int) -> dict[str, Any]:
    return {"num": num, "den": den, "value": num / den if den else None}


def _repeated(ids: Iterable[str]) -> list[str]:
    counts = Counter(stable(one) for one in ids)
    return sorted((one for one, count in counts.items() if count > 1), key=natural)


def _drifts(document: DocumentRedirects) -> list[Fraction]:
    """How far each unchanged block moved within its document, as a share of the document's new length."""
    return [
        Fraction(abs(row.new_off[0] - row.old_off[0]), document.to_bytes)
        for row in document.mappings
        if row.unchanged and row.new_off and row.new_doc_id is None and document.to_bytes
    ]


def report(table: Table, *, sample: Sequence[str] | None = None, same_source: bool = False) -> dict[str, Any]:
    """The numbers against their targets and the rows that somebody should look at, the worst first.

    `sample` are the old ids that must resolve (all of them by default). Offsets may not drift when both versions were
    read from the same source; after edits a drift is a warning.
    """
    counted = numbers(table.documents, table.added)
    wanted = [row.old_block_id for row in table.rows] if sample is None else list(sample)
    coverage = redirect_coverage(Redirects.from_tables([table]), wanted, table.live)
    again = rechunked(table)
    drift, collisions = counted["offset_drift"], counted["id_collisions"]
    share = Fraction(counted["one_to_one"]["num"], counted["one_to_one"]["den"] or 1)
    drifted = "pass" if not drift["over"] else "fail" if same_source else "warning"
    repeated = len(collisions["old"]) + len(collisions["new"])
    return {
        "schema": "ragworthy.migration/1",
        "from_version": table.from_version,
        "to_version": table.to_version,
        "rechunked": again,
        "numbers": counted,
        "checks": [
            _check("redirect_coverage", _ratio(coverage.num, coverage.den), ">= 0.995", coverage.reached),
            _check("one_to_one", counted["one_to_one"], ">= 0.95", share >= ONE_TO_ONE_TARGET)
            | ({"outcome": RECHUNKED} if again else {}),
            {"name": "offset_drift", **drift, "target": "<= 0.005", "outcome": drifted},
            {"name": "id_collisions", "num": repeated, "target": "= 0", "outcome": "fail" if repeated else "pass"},
        ],
        "lost": list(coverage.lost),
        "high_risk": [_worth_a_look(row) for row in high_risk(table)],
    }


def rechunked(table: Table) -> bool:
    """Whether both versions are of the same documents, cut differently: one block cannot become one block then."""
    documents = [one for one in table.documents if one.mappings]
    same = sum(one.from_version is not None and one.from_version == one.to_version for one in documents)
    if not documents or Fraction(same, len(documents)) < SAME_DOCUMENTS:
        return False
    moves = Counter(row.move for row in table.rows)
    found = Fraction(len(table.rows) - moves["unmapped"], len(table.rows))
    return found >= COVERAGE_TARGET and Fraction(moves["shift"], len(table.rows)) < ONE_TO_ONE_TARGET


def _check(name: str, ratio: dict[str, Any], target: str, reached: bool) -> dict[str, Any]:
    return {"name": name, **ratio, "target": target, "outcome": "pass" if reached else "fail"}


def high_risk(table: Table) -> list[Redirect]:
    """The rows that are unmapped or of which less than 0.90 matched, the worst first."""
    return sorted((row for row in table.rows if row.risky), key=lambda row: (row.share, natural(row.old_block_id)))


def _worth_a_look(row: Redirect) -> dict[str, Any]:
    return {
        "old_block_id": row.old_block_id,
        "move": row.move,
        "conf": row.conf,
        "new_block_ids": [part.id for part in row.targets],
        "bytes": row.old_off[1] - row.old_off[0],
        "old_text": row.old_text,
        "best": None if row.best is None else {"id": row.best.id, "conf": row.best.conf},
    }


def render(
    table: Table, *, sample: Sequence[str] | None = None, same_source: bool = False, most: int = 20, width: int = 100
) -> str:
    """The report as text for a terminal."""
    told = report(table, sample=sample, same_source=same_source)
    counted = told["numbers"]
    moves = ", ".join(f"{counted['moves'][move]:,} {move}" for move in MOVES)
    lines = [
        f"redirects {table.from_version} → {table.to_version}",
        f"{counted['old_blocks']:,} old blocks: {moves}",
        f"{counted['new_blocks']:,} new blocks: {counted['added']:,} without an old one",
        f"ids: {counted['kept_ids']:,} kept, {counted['reused_ids']:,} now name another text",
        *(_check_line(check) for check in told["checks"]),
    ]
    if told["rechunked"]:
        lines.append("re-chunked: the documents are the same and cut differently, so one_to_one is not a target here")
        lines.append(
            "gold_evidence or gold_source is bound to both chunkings ('ragworthy gold bind'); ids have to be moved"
        )
    risky = told["high_risk"]
    lines.append(f"{len(risky):,} {'row' if len(risky) == 1 else 'rows'} to look at (unmapped, or conf below 0.90)")
    for row in risky[:most]:
        best = row["best"]
        near = f"nearest {best['id']} {best['conf']:.3f}" if best else "nothing like it"
        where = " + ".join(row["new_block_ids"]) or near
        lines.append(f"  {row['move']} {row['conf']:.3f} {row['old_block_id']} → {where}")
        lines.append(f"    {clip(row['old_text'] or '', width)}")
    if len(risky) > most:
        lines.append(f"  … and {len(risky) - most:,} more")
    return "".join(terminal(line) + "\n" for line in lines)


def _check_line(check: dict[str, Any]) -> str:
    name, target, outcome = check["name"], check["target"], check["outcome"]
    if name == "offset_drift":
        shown = (
            f"{check['over']:,} of {check['unchanged']:,} unchanged blocks drifted further, at most {check['max']:.4f}"
        )
    elif "den" in check:
        shown = f"{check['num']:,} of {check['den']:,}" + (f" = {_share(check)}" if check["den"] else "")
    else:
        shown = f"{check['num']:,}"
    return f"{outcome:7} {name} {target}: {shown}"


def _share(check: dict[str, Any]) -> str:
    """The share with as many decimals, from four on, as it takes to stay on its side of the target."""
    share, target = Fraction(check["num"], check["den"]), Fraction(check["target"].split()[-1])
    decimals = 4
    while (round(share, decimals) >= target) != (share >= target):
        decimals += 1
    return f"{float(round(share, decimals)):.{decimals}f}"
