"""The pytest plugin: a verdict, its gates and the questions of a gold set as tests. Inert until a test uses it.

Nothing of Ragworthy is imported before that: this module is loaded wherever pytest runs and Ragworthy is installed.
"""

from collections.abc import Generator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from ragworthy.pytest_items import How, Judgement, Named, Question, Said
    from ragworthy.result import Result

_MARKERS = (
    "ragworthy(policy=, gold=, target=, traces=, must_pass=, **of run and score): what the tests below ask and judge",
    "ragworthy_question(**the same): one test for each question of the gold set",
    "ragworthy_gates(**the same): one test for each gate, and one for the verdict",
)
_SHARED = "ragworthy_shared"
_OUT = "ragworthy_verdicts"
_WANTED = "ragworthy_wanted"
_FIXTURES = frozenset({"ragworthy_gate", "ragworthy_result", "ragworthy_question", "ragworthy_gates"})
"""The fixtures that judge."""
_RECORDED = object()
"""The target where nobody names one: the recorded traces of the policy, or of the marker, are judged."""
_NOTHING = "nothing was judged"


class _Session:
    """What a test session has asked and judged, each once."""

    def __init__(self, config: pytest.Config) -> None:
        self.config = config
        self.judged: dict[str, Any] = {}
        self.targets: list[Any] = []
        """What was asked: kept, so that no other object gets the same identity."""
        self.failed: dict[str, Any] = {}
        """What could not be asked, and why."""
        self.verdicts: dict[str, tuple[str, str]] = {}
        """What was judged, and the verdict."""
        self.wanted = False
        """Whether some test of the session asks for a judgement."""
        self.folder: Path | None = None

    def home(self) -> Path:
        """The folder for runs: that of all workers, or one of this process."""
        if self.folder is None:
            import tempfile

            shared = getattr(self.config, "workerinput", {}).get(_SHARED)
            self.folder = Path(shared or tempfile.mkdtemp(prefix="ragworthy-pytest-"))
        return self.folder

    def clear(self) -> None:
        """Remove the runs; those of workers are removed by the process that started them."""
        if self.folder is not None and not hasattr(self.config, "workerinput"):
            import shutil

            shutil.rmtree(self.folder, ignore_errors=True)


_KEY = pytest.StashKey[_Session]()


def pytest_addoption(parser: pytest.Parser) -> None:
    """One option."""
    group = parser.getgroup("ragworthy")
    group.addoption(
        "--ragworthy-policy",
        metavar="FILE",
        help="the policy that ragworthy judges by (default: ragworthy.toml, or [tool.ragworthy] in pyproject.toml)",
    )


def pytest_configure(config: pytest.Config) -> None:
    """Make the markers known."""
    for line in _MARKERS:
        config.addinivalue_line("markers", line)
    config.stash[_KEY] = _Session(config)


def pytest_unconfigure(config: pytest.Config) -> None:
    """Leave nothing behind."""
    session = config.stash.get(_KEY, None)
    if session is not None:
        session.clear()


# what is asked and judged


def _folders(config: pytest.Config) -> tuple[Path, Path]:
    return Path(config.invocation_params.dir), Path(config.rootpath)


def _how(config: pytest.Config, named: dict[str, Any]) -> "How":
    from ragworthy import pytest_items

    given = config.getoption("--ragworthy-policy")
    folders = _folders(config)
    return pytest_items.how(named, folders[0] / given if given else pytest_items.policy_in(*folders))


def _named(node: Any, *markers: str) -> dict[str, Any]:
    """The keywords of the closest markers; those of the one named last count most."""
    found: dict[str, Any] = {}
    for name in ("ragworthy", *markers):
        marker = node.get_closest_marker(name)
        if marker is not None:
            from ragworthy.pytest_marks import keywords

            found |= keywords(marker)
    return found


def _target(request: pytest.FixtureRequest, named: dict[str, Any]) -> Any:
    """The pipeline that the marker names, or the fixture; None where neither is there."""
    where = "target" if "target" in named else "ragworthy_target"
    target = named["target"] if "target" in named else request.getfixturevalue(where)
    if target is None:
        from ragworthy.pytest_marks import no_target

        raise no_target(where)
    return None if target is _RECORDED else target


def _judged(request: pytest.FixtureRequest, named: dict[str, Any]) -> "Judgement":
    """The judgement that the keywords ask for. What was asked once is not asked again, nor what could not be."""
    from ragworthy import pytest_items
    from ragworthy.errors import RagworthyError
    from ragworthy.pytest_marks import options_of

    session, told = request.config.stash[_KEY], ""
    try:
        how = _how(request.config, named)
        target = _target(request, named)
        how.of_run.update({**options_of(request.getfixturevalue("ragworthy_options")), **how.of_run})
        key = how.key(target)
        if key not in session.judged:
            session.judged[key] = _made(session, how, target)
            session.targets.append((target, how))
        if isinstance(session.judged[key], pytest_items.Judgement):
            found: pytest_items.Judgement = session.judged[key]
            return found
        told = str(session.judged[key])
    except RagworthyError as error:
        told = str(error)
    pytest.fail(told, pytrace=False)


def _made(session: _Session, how: "How", target: Any) -> Any:
    from ragworthy import pytest_items
    from ragworthy.errors import RagworthyError

    key, asked, what = how.key(target), how.key_of_run(target), ""
    home = session.home() / asked
    try:
        if asked in session.failed:
            raise session.failed[asked]
        what = pytest_items.told(how, target)
        with pytest_items.alone(home):
            judgement = pytest_items.Judgement(pytest_items.result_of(how, target, home), how)
    except RagworthyError as error:
        session.verdicts[key] = what, _NOTHING
        if target is not None and not pytest_items.asked_in(home):
            session.failed[asked] = error
        return error
    session.verdicts[key] = what, judgement.result.text().partition("\n")[0]
    return judgement


@pytest.fixture(scope="session")
def ragworthy_target() -> Any:
    """The pipeline under test; override it. Where nobody does, the traces that the policy names are judged."""
    return _RECORDED


@pytest.fixture(scope="session")
def ragworthy_options() -> dict[str, Any]:
    """Keywords of `ragworthy.run` for every run of the session; override it."""
    return {}


@pytest.fixture
def ragworthy_gate(
    request: pytest.FixtureRequest, ragworthy_target: Any, ragworthy_options: dict[str, Any]
) -> "Result":
    """The result of the policy, made once for each target and its options: `ragworthy_gate.assert_ship()`."""
    return _judged(request, {}).result


@pytest.fixture
def ragworthy_result(
    request: pytest.FixtureRequest, ragworthy_target: Any, ragworthy_options: dict[str, Any]
) -> "Result":
    """The result of what the marker `ragworthy` of the test names; without one, of the policy."""
    return _judged(request, _named(request.node)).result


@pytest.fixture
def ragworthy_question(request: pytest.FixtureRequest) -> "Question":
    """One question of the gold set, with what became of it; for tests with the marker of the same name."""
    if not hasattr(request, "param"):
        pytest.fail("ragworthy_question: expected the marker pytest.mark.ragworthy_question on the test", pytrace=False)
    judgement = _judged(request, _named(request.node, "ragworthy_question"))
    found = judgement.question(request.param)
    request.node.user_properties += [("ragworthy", "question"), ("ragworthy_label", found.label)]
    return found


@pytest.fixture
def ragworthy_gates(request: pytest.FixtureRequest) -> "list[dict[str, Any]]":
    """What the report has of one gate (several, where each load has its own); for tests with the marker."""
    if not hasattr(request, "param"):
        pytest.fail("ragworthy_gates: expected the marker pytest.mark.ragworthy_gates on the test", pytrace=False)
    judgement = _judged(request, _named(request.node, "ragworthy_gates"))
    return judgement.result.gates if request.param is None else judgement.gates(request.param)


# what is collected


def _uses(item: pytest.Item) -> bool:
    return bool(_params(item)) or not _FIXTURES.isdisjoint(getattr(item, "fixturenames", ()))


@pytest.hookimpl(wrapper=True)
def pytest_make_collect_report(
    collector: pytest.Collector,
) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
    """A marker that does nothing is an error: who wrote it believes that something is judged."""
    report = yield
    items = [one for one in report.result if isinstance(one, pytest.Item)] if report.passed else []
    if any(marker.name.startswith("ragworthy") for item in items for marker in item.iter_markers()):
        from ragworthy import pytest_marks

        config = collector.config
        known = {line.partition(":")[0].partition("(")[0].strip() for line in config.getini("markers")}
        wrong = pytest_marks.check(collector, report.result, known, lambda named: _how(config, named))
        if wrong:
            report.outcome, report.longrepr, report.result = "failed", "\n".join(wrong), []
    return report


def pytest_collection_finish(session: pytest.Session) -> None:
    """Whether a test that is about to run asks for a judgement."""
    if not session.config.option.collectonly:
        session.config.stash[_KEY].wanted = any(map(_uses, session.items))


# one item each


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with one of the two markers becomes one for each question, or for each gate."""
    marked = [
        name for name in ("ragworthy_question", "ragworthy_gates") if metafunc.definition.get_closest_marker(name)
    ]
    for name in marked:
        from ragworthy import pytest_items
        from ragworthy.errors import RagworthyError

        try:
            how = _how(metafunc.config, _named(metafunc.definition, name))
            if name == "ragworthy_question":
                ids = pytest_items.questions(how)
                values: list[str | Named | None] = list(ids)
            else:
                gates = pytest_items.gates(how)
                ids, values = [*(one.id for one in gates), pytest_items.VERDICT], [*gates, None]
        except RagworthyError as error:
            raise pytest.Collector.CollectError(str(error)) from None
        if name not in metafunc.fixturenames:
            metafunc.fixturenames.append(name)
        metafunc.parametrize(name, values, ids=[_id(one) for one in ids], indirect=True)


def _id(text: str) -> str:
    """An id as pytest can show and select it."""
    return text.encode("ascii", "backslashreplace").decode()


_ONE_EACH = ("ragworthy_question", "ragworthy_gates")


def _params(item: pytest.Item) -> dict[str, Any]:
    """Which question or gate a test is of."""
    params = getattr(getattr(item, "callspec", None), "params", {})
    return {name: params[name] for name in _ONE_EACH if name in params}


@pytest.hookimpl(trylast=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    """Ask and judge before the body of a test, also where its function takes no argument for it."""
    for name in _params(item):
        if isinstance(item, pytest.Function) and name not in item.funcargs:
            item.funcargs[name] = item._request.getfixturevalue(name)


@pytest.hookimpl(trylast=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    """After the body of a test: what the question or the gate itself says."""
    params = _params(item)
    if not params or not isinstance(item, pytest.Function):
        return
    if "ragworthy_question" in params:
        from ragworthy import pytest_items

        question: Any = item.funcargs["ragworthy_question"]
        _say(pytest_items.said_of_question(question))
    if "ragworthy_gates" in params:
        _say_gates(item, params["ragworthy_gates"])


def _say_gates(item: pytest.Function, named: Any) -> None:
    from ragworthy import pytest_items

    if named is None:
        result = _judged(item._request, _named(item, "ragworthy_gates")).result
        _say(pytest_items.Said("pass" if _ships(result.verdict) else "fail", result.text()))
        return
    found: Any = item.funcargs["ragworthy_gates"]
    if not found:
        pytest.fail(f"{named.id}: the report has no such gate", pytrace=False)
    said = [pytest_items.said_of_gate(one) for one in found]
    for outcome in ("fail", "xfail", "skip"):
        why = [one.why for one in said if one.outcome == outcome]
        if why:
            _say(pytest_items.Said(outcome, "\n".join(why)))


def _say(said: "Said") -> None:
    if said.outcome == "fail":
        pytest.fail(said.why, pytrace=False)
    if said.outcome == "xfail":
        pytest.xfail(said.why)
    if said.outcome == "skip":
        pytest.skip(said.why)


# several processes, and what is said at the end


@pytest.hookimpl(optionalhook=True)
def pytest_configure_node(node: Any) -> None:
    """The workers of pytest-xdist share a folder, so that one of them asks and the others read."""
    session = node.config.stash[_KEY]
    node.workerinput[_SHARED] = str(session.home())


@pytest.hookimpl(optionalhook=True)
def pytest_testnodedown(node: Any, error: object) -> None:
    """What a worker judged."""
    session, out = node.config.stash[_KEY], getattr(node, "workeroutput", {})
    session.verdicts.update(out.get(_OUT, {}))
    session.wanted |= out.get(_WANTED, False)


@pytest.hookimpl(trylast=True)
def pytest_sessionfinish(session: pytest.Session) -> None:
    """No session that judged something else than SHIP ends with 0, whatever its tests say."""
    own = session.config.stash[_KEY]
    if hasattr(session.config, "workeroutput"):
        session.config.workeroutput |= {_OUT: own.verdicts, _WANTED: own.wanted}
    elif session.exitstatus == pytest.ExitCode.OK and not all(_ships(told) for _, told in own.verdicts.values()):
        session.exitstatus = pytest.ExitCode.TESTS_FAILED


def _ships(headline: str) -> bool:
    return headline.partition(":")[0] == "SHIP"


def pytest_terminal_summary(terminalreporter: "pytest.TerminalReporter", config: pytest.Config) -> None:
    """How the questions went, what was judged, and the verdict."""
    session = config.stash[_KEY]
    verdicts = list(session.verdicts.values()) or ([("", _NOTHING)] if session.wanted else [])
    counts = {outcome: _count(terminalreporter, outcome) for outcome in ("passed", "xfailed", "failed")}
    if not verdicts and not any(counts.values()):
        return
    terminalreporter.write_sep("=", "ragworthy")
    total = sum(counts.values())
    if total:
        from ragworthy.pytest_items import went

        terminalreporter.write_line(f"questions: {went(counts, total)}")
    for what, headline in dict.fromkeys(map(tuple, verdicts)):
        if what:
            terminalreporter.write_line(f"judged: {what}")
        terminalreporter.write_line(f"verdict: {headline}", green=_ships(headline), red=not _ships(headline), bold=True)


def _count(reporter: "pytest.TerminalReporter", outcome: str) -> int:
    reports = reporter.stats.get(outcome, [])
    return sum(("ragworthy", "question") in getattr(one, "user_properties", ()) for one in reports)
