"""Single queries of TREC files: what the run returned, with what was judged relevant."""

from pathlib import Path

import numpy as np

from ragworthy.names import HARMLESS
from ragworthy.report.sheet import Expected, Sheet, Viewed, passages_of
from ragworthy.suites.evidence import Found, Row
from ragworthy.trec.ranking import Run
from ragworthy.trec.read import read_qrels


def look(row: Row, found: Found) -> Viewed:
    """One judged query."""
    qrels = read_qrels(Path(found.request.get("qrels")))
    mine = np.flatnonzero((qrels.query == qrels.qids.index(row.qid)) & (qrels.grade > 0))
    gold = sorted(name.decode() for name in qrels.docs.at(mine).pieces())
    good = row.label in HARMLESS
    return Viewed(
        Sheet(
            suite="retrieval",
            qid=row.qid,
            good=good,
            label=row.label,
            stage=row.stage,
            why="" if good else "no relevant document is in the run" if gold else "nothing was judged relevant",
            expected=Expected(ids=gold),
            passages=passages_of(gold, [], _returned(found.own.run, row.qid)),
            metrics=row.metrics,
            undefined=row.undefined,
            notes=["no texts: TREC files hold ids and ranks only"],
        )
    )


def _returned(run: Run, qid: str) -> list[str]:
    """The documents of a query, best first; ties by id, descending in byte order, as everywhere here."""
    if qid not in run.qids:
        return []
    mine = np.flatnonzero(run.query == run.qids.index(qid))
    scored = zip(run.score[mine].tolist(), run.docs.at(mine).pieces(), strict=True)
    return [name.decode() for _, name in sorted(scored, reverse=True)]
