"""`gold lint | subset | freeze | verify | bind | rebind | diff`."""

import argparse
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ragworthy.cli.naming import policy_of
from ragworthy.cli.outputs import keep_inputs
from ragworthy.cli.say import print, show, tell
from ragworthy.codes import CATALOGUE
from ragworthy.corpus.binding import HOW
from ragworthy.errors import usage_error
from ragworthy.files import write_whole
from ragworthy.gold import commands, lint_text
from ragworthy.gold.sarif import sarif
from ragworthy.load.foreign import check, elsewhere
from ragworthy.load.lock import load_lock, lock_path
from ragworthy.load.questions import BrokenArray
from ragworthy.load.sources import open_source
from ragworthy.names import VERSION, Exit
from ragworthy.report.show import plural
from ragworthy.safe import json_text, shell, terminal
from ragworthy.text import clip

if TYPE_CHECKING:
    from ragworthy.gold import suggest as suggesting

_SHOWN = 50
_EXAMPLES = 3
SIGNED = ("--signer", "YOUR NAME", "--reason", "first set")
"""What a person has to put in."""
LONGEST_LABEL = 60
"""So many characters the name of a version may have: it is in tables."""


def lint(given: argparse.Namespace) -> int:
    """Print what is wrong or doubtful; exit 1 when there is an error."""
    form = given.format or _BY_SUFFIX.get(Path(given.output or "").suffix, "text")
    if form == "json" and len(given.gold) > 1:
        raise usage_error(f"--format json: expected one gold set, got {len(given.gold)}")
    several = [_linted(name, given) for name in given.gold]
    if form == "sarif":
        text = json_text(sarif(several, VERSION))
    elif form == "json":
        text = json_text(_as_json(several[0]))
    elif form == "github":
        from ragworthy.cli.placing import annotated

        text = annotated([finding for linted in several for finding in linted.findings])
    else:
        text = "".join("\n".join(map(terminal, _told(one, given))) + "\n" for one in several)
    if given.output:
        keep_inputs([given.output], [*given.gold, given.corpus, given.definition])
        write_whole(Path(given.output), text.encode())
    elif form == "text":
        tell(text.removesuffix("\n"))
    else:
        show(text)
    return int(Exit.NO_SHIP if any(linted.errors for linted in several) else Exit.SHIP)


_BY_SUFFIX = {".json": "json", ".sarif": "sarif"}


def _linted(name: str, given: argparse.Namespace) -> commands.Linted:
    corpus, definition = (Path(one) if one else None for one in (given.corpus, given.definition))
    short_words = given.short_substr == "word"
    try:
        return lint_text.linted(Path(name), corpus=corpus, definition=definition, short_words=short_words)
    except BrokenArray as error:
        source = open_source("gold", name)
        if elsewhere(source, "lint") is not None:
            check(source, "Gold", strict=False)
        return commands.Linted(commands.unreadable(error.problems), 0, name)


def _told(linted: commands.Linted, given: argparse.Namespace) -> list[str]:
    """The findings of one set as text, with the next command before the last line; a file has no next command."""
    *told, last = lint_text.lines(linted)
    return [*told, *([] if given.output else [f"next: {shell(_after(linted))}"]), last]


def _after(linted: commands.Linted) -> list[str]:
    """What to do next: look at the first error, else seal the set, or see that it is still the sealed one."""
    errors = [finding.problem.code for finding in linted.findings if finding.level == "error"]
    if errors:
        return ["ragworthy", "explain", errors[0]]
    if lock_path(Path(linted.label)).exists():
        return ["ragworthy", "gold", "verify", linted.label]
    return ["ragworthy", "gold", "freeze", linted.label, *SIGNED]


def _as_json(linted: commands.Linted) -> dict[str, object]:
    return {
        "schema": "ragworthy.lint/1",
        "items": linted.items,
        **({"distinct": linted.distinct._asdict()} if linted.distinct is not None else {}),
        "errors": linted.errors,
        "rescued_by_short_substr_word": linted.rescued,
        "findings": [
            {
                "level": finding.level,
                "code": finding.problem.code,
                "name": finding.name,
                "qid": finding.qid,
                "where": finding.problem.where,
                "field": finding.problem.field,
                "message": finding.problem.message,
            }
            for finding in linted.findings
        ],
    }


def suggest(given: argparse.Namespace) -> int:
    """Propose evidence for questions that have none, or write what was accepted into the gold set."""
    from ragworthy.gold import suggest as suggesting

    gold, target = Path(given.gold), Path(given.output)
    keep_inputs([given.output], [given.gold, given.corpus, given.accept])
    if bool(given.corpus) == bool(given.accept):
        raise usage_error("expected --corpus to suggest from, or --accept FILE with what was accepted")
    if given.accept:
        done = suggesting.accept(gold, Path(given.accept))
        write_whole(target, done.text)
        print(f"accepted {done.accepted:,}, refused {done.refused:,}, not answered {done.open:,}")
        print(f"wrote {target}")
        return int(Exit.SHIP)
    found = suggesting.suggest(gold, Path(given.corpus), everything=given.all, most=given.candidates)
    write_whole(target, suggesting.lines(found))
    for line in _suggested(found, given):
        print(line)
    return int(Exit.SHIP)


def _suggested(found: "suggesting.Suggested", given: argparse.Namespace) -> list[str]:
    """Three suggestions as they are in the file, the counts, and what to do with it."""
    held = sum(one.held for one in found.suggestions)
    lines = []
    for one in found.suggestions[:_EXAMPLES]:
        lines.append(f"{one.qid}  {clip(one.question, 90)}")
        lines += [f"  {nth}  {each.chunk}: {clip(each.evidence, 90)}" for nth, each in enumerate(one.candidates, 1)]
    left = (
        (found.bound, "have evidence (--all for these too)"),
        (found.without_answer, "have no text of an answer"),
        (found.unanswerable, "are unanswerable"),
    )
    lines += [
        f"{plural(len(found.suggestions), 'question')}: the answer is in the corpus for {held:,}",
        *(f"not asked for: {count:,} that {why}" for count, why in left if count),
        f"wrote {given.output}: set accept to a candidate's number (a list for several, 0 for none), then",
        f"next: ragworthy gold suggest {given.gold} --accept {given.output} -o NEW_GOLD.jsonl",
    ]
    return lines


def subset(given: argparse.Namespace) -> int:
    """Draw a smaller question set that stands for the whole."""
    from ragworthy.gold import structured

    target = Path(given.output)
    keep_inputs([given.output], [given.questions, given.definition])
    if target.suffix in (".gz", ".zst", ".parquet"):
        raise usage_error(f"-o: expected a .json file, got {target}")
    definition = Path(given.definition) if given.definition else None
    done = structured.subset(Path(given.questions), target, size=given.size, seed=given.seed, definition=definition)
    drawn = done.drawn
    taken = len(drawn.places)
    print(
        f"{plural(done.items, 'item')}, {plural(drawn.distinct, 'distinct question')}, {plural(drawn.groups, 'group')}"
    )
    why = f": all there are, fewer than the {given.size:,} asked for" if taken < given.size else ""
    print(f"taken: {plural(taken, 'question')}{why}")
    if drawn.groups_taken < drawn.groups:
        print(f"{plural(drawn.groups - drawn.groups_taken, 'group')} without a question: there are more than {taken:,}")
    print(f"parent: sha256 {done.parent_sha256}")
    print(f"subset: {target}")
    return int(Exit.SHIP)


def freeze(given: argparse.Namespace) -> int:
    """Seal a gold set."""
    if not all(name.strip() for name in given.signer):
        raise usage_error("--signer: expected a name, got nothing")
    if not given.reason.strip():
        raise usage_error("--reason: expected a text, got nothing")
    now = datetime.now(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    lock = Path(given.lock) if given.lock else None
    path = Path(given.gold)
    before = lock or (lock_path(path) if path.is_file() else None)
    earlier = load_lock(before).calibration if before is not None and before.exists() else None
    extra, calibration, keep = _extra(path, given, before or lock_path(path), earlier)
    if given.label is not None:
        extra = extra | {"label": _label(given.label)}
    kept: list[Path] = []
    sealed = commands.freeze(
        path,
        signers=given.signer,
        reason=given.reason,
        now=now,
        lock=lock,
        extra=extra,
        first=lambda target: kept.extend(filter(None, [keep(target)])),
    )
    entry = sealed["history"][-1]
    for kind in ("added", "removed", "changed"):
        for qid in entry.get(kind, [])[:_SHOWN]:
            print(f"{kind}: {qid}")
        if len(entry.get(kind, [])) > _SHOWN:
            print(f"{kind}: … and {len(entry[kind]) - _SHOWN:,} more")
    names, label = ", ".join(given.signer), f" as {sealed['label']}" if "label" in sealed else ""
    print(f"frozen: {plural(sealed['items'], 'item')}{label}, sha256 {sealed['sha256']}, signed by {names}")
    for line in calibration:
        print(line)
    print(f"lock: {sealed['path']}")
    for weights in kept:
        print(f"weights: {weights}")
    print(f"next: {shell(_frozen(given, path))}")
    return int(Exit.SHIP)


def _frozen(given: argparse.Namespace, path: Path) -> list[str]:
    """What to do with a sealed set: score a run with it, where a policy names it, else look at its seal."""
    policy = policy_of(given.config, path)
    if policy is not None:
        return ["ragworthy", "gate", "-c", policy]
    return ["ragworthy", "gold", "verify", given.gold, *(["--lock", given.lock] if given.lock else [])]


def _label(text: str) -> str:
    """What a version is called: one short line."""
    if not text.strip() or len(text) > LONGEST_LABEL or not text.isprintable():
        raise usage_error(
            f"--label: expected a text of up to {LONGEST_LABEL} characters, got {clip(text, 60) or 'none'}"
        )
    return text.strip()


def _extra(
    path: Path, given: argparse.Namespace, lock: Path, earlier: dict[str, Any] | None
) -> tuple[dict[str, Any], list[str], Callable[[Path], Path | None]]:
    """What the lock of a retrieval gold set keeps besides, the same in words, and what writes the weights beside it."""
    if not given.corpus:
        gone = ["the calibration of the earlier lock is gone: freeze with --corpus to make one"]
        return {}, gone if earlier is not None else [], lambda _: None
    if commands.suite_of(open_source("gold", path)) == "structured":
        raise usage_error("--corpus: only a gold set that names evidence is calibrated")
    from ragworthy.gold import retrieval
    from ragworthy.policy.read import named_model

    chosen = retrieval.calibrate(path, Path(given.corpus), given.dense or named_model(given.config))
    retrieval.check_weights(lock, chosen)
    lines = retrieval.calibration_lines(chosen)
    before = (earlier or {}).get("model", chosen.model.name)
    if before != chosen.model.name:
        lines.append(f"the earlier lock had {before}: runs with it and runs from now on are not compared")
    return retrieval.lock_extra(path, Path(given.corpus), chosen), lines, partial(retrieval.write_weights, chosen)


def bind(given: argparse.Namespace) -> int:
    """Write the chunks that hold the evidence of a gold set; exit 1 when some evidence is in none."""
    from ragworthy.gold import bind as binding

    target, review = Path(given.output), Path(given.review) if given.review else None
    keep_inputs([given.output, given.review], [given.gold, given.corpus])
    for flag, path in (("-o", target), ("--review", review)):
        if path is not None and path.suffix in (".gz", ".zst", ".parquet"):
            raise usage_error(f"{flag}: expected a .jsonl file, got {path}")
    found = binding.bind(Path(given.gold), Path(given.corpus), target, review)
    code = Exit.NO_SHIP if found.unbound else Exit.SHIP
    if given.format == "json":
        counts = {step: found.how[step] for step in HOW}
        body = {"schema": "ragworthy.gold-bind/1", "items": len(found.items), "how": counts, "without": found.without}
        show(json_text(body | {"evidence": [piece.row() for piece in found.pieces]}))
        return int(code)
    for piece in found.unbound[:_SHOWN]:
        print(f'unbound: {piece.qid}: "{clip(piece.text, 80)}": {piece.why}')
    if len(found.unbound) > _SHOWN:
        print(f"unbound: … and {len(found.unbound) - _SHOWN:,} more")
    noted = [piece for piece in found.pieces if piece.notes]
    for piece in noted[:_SHOWN]:
        print(f"note: {piece.qid}: {'; '.join(piece.notes)}")
    how = ", ".join(f"{found.how[step]:,} {step}" for step in HOW if found.how[step])
    print(f"{plural(len(found.items), 'item')}, {plural(len(found.pieces), 'piece')} of evidence: {how}")
    if found.without:
        print(f"{plural(found.without, 'answerable item')} without evidence: as before")
    print("wrote " + ", ".join(str(path) for path in (target, review) if path is not None))
    print(f"bind: {plural(len(found.unbound), 'piece')} of evidence in no chunk (exit {int(code)})")
    return int(code)


def rebind(given: argparse.Namespace) -> int:
    """Rewrite a gold set or traces for a new index; exit 1 when somebody has to look."""
    from ragworthy.corpus.migration import read_table
    from ragworthy.gold import retrieval

    target = Path(given.output)
    written = [str(path) for path in retrieval.rebound_files(target)]
    keep_inputs(written, [given.file, *given.redirects, given.old, given.new])
    if target.suffix in (".gz", ".zst", ".parquet"):
        raise usage_error(f"-o: expected a .jsonl file, got {target}")
    tables = [read_table(Path(one)) for one in given.redirects]
    corpora = [Path(one) if one else None for one in (given.old, given.new)]
    done = retrieval.rebind(Path(given.file), tables, target, old=corpora[0], new=corpora[1])
    for one in done.rebound.review[:_SHOWN]:
        print(f"review: {' '.join(filter(None, (one.qid, one.field, one.id)))}: {one.why}")
    if len(done.rebound.review) > _SHOWN:
        print(f"review: … and {len(done.rebound.review) - _SHOWN:,} more")
    print(f"{plural(len(done.rebound.items), 'record')}, {plural(len(done.rebound.log), 'value')} rewritten")
    print("wrote " + ", ".join(str(path) for path in done.files))
    code = Exit.NO_SHIP if done.rebound.review else Exit.SHIP
    if done.rebound.review and not (given.old and given.new):
        print("next: give --old OLD and --new NEW, and the review list has the texts of the old and the new blocks")
    elif done.rebound.review:
        print("next: gold_evidence or gold_source instead of ids needs no rebinding: see docs/gold.md, 'gold bind'")
    print(f"rebind: {plural(len(done.rebound.review), 'entry', 'entries')} to review (exit {int(code)})")
    return int(code)


def verify(given: argparse.Namespace) -> int:
    """Say whether a gold set is the frozen one."""
    lock = Path(given.lock) if given.lock else None
    seen = commands.verify(Path(given.gold), required=given.signer, lock=lock)
    for kind, qids in seen.moved.items():
        for qid in qids[:_SHOWN]:
            print(f"{kind}: {qid}")
        if len(qids) > _SHOWN:
            print(f"{kind}: … and {len(qids) - _SHOWN:,} more")
    for name in seen.unsigned:
        print(f"not signed by {name}")
    if seen.same and not seen.unsigned:
        print(f"frozen: the gold set is the one signed by {', '.join(seen.signers)} (exit 0)")
        return int(Exit.SHIP)
    if not seen.same and seen.same_items:
        print("the items are the same, but the bytes of the file differ (order or spacing)")
    code = "RW-L02" if not seen.same else "RW-L03"
    print(f"not frozen: {CATALOGUE[code].do} [{code}] (exit {int(Exit.INVALID)})")
    return int(Exit.INVALID)


def diff(given: argparse.Namespace) -> int:
    """Say what changed between two gold sets."""
    changes = commands.diff(Path(given.old), Path(given.new))
    if given.format == "json":
        listed = [change._asdict() | {"fields": list(change.fields)} for change in changes]
        show(json_text({"schema": "ragworthy.gold-diff/1", "changes": listed}))
        return int(Exit.SHIP)
    for change in changes:
        fields = f" ({', '.join(change.fields)})" if change.fields else ""
        print(f"{change.kind}: {change.qid}{fields}: {change.meaning}")
    counts = {kind: sum(change.kind == kind for change in changes) for kind in ("added", "removed", "changed")}
    scored = [change for change in changes if not change.meaning.startswith("not scored")]
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    print("runs over the two sets are not comparable" if scored else "runs over the two sets are comparable")
    return int(Exit.SHIP)
