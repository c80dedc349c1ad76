"""What a selftest does to the runs of the stability suite."""

from ragworthy.records import Answer, Run
from ragworthy.suites.damage import NOWHERE, WRONG, Damage, dropped, refused_run, replied, wrong_run

_OF_ANSWERS = ("failing_questions", "unstable", "acr", "cghc", "css", "ned50", "iaa", "refusal_rate", "scu_consistency")


def damages() -> tuple[Damage, ...]:
    """Every damage."""
    of_answers = tuple(f"stability.{name}" for name in _OF_ANSWERS)
    return (
        Damage("another wrong answer in every run", of_answers, _another),
        Damage("every other run refused", ("stability.rcr",), _every_other_refused),
        Damage("every run dropped", ("stability.missing",), dropped),
    )


def _another(run: Run) -> Run:
    """Another wrong answer in every run."""
    place = f"{run.seed}{run.jitter}{run.paraphrase}"
    return replied(run, Answer(f"{WRONG}: {place * 9}", [f"{NOWHERE}:{place}"], None))


def _every_other_refused(run: Run) -> Run:
    """Refused for every other seed and jitter."""
    odd = ((run.seed or 0) + len(run.jitter or "") + (run.paraphrase or 0)) % 2
    return refused_run(run) if odd else wrong_run(run)
