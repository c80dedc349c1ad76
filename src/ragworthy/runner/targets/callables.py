"""A target that is a Python callable, sync or async, called with keyword arguments.

Sync callables run in daemon threads, async ones on an event loop in a daemon thread of its own: one that is stuck can
neither stop the clock of the others nor keep the program from ending. What comes back is read there, too: even the text
of an exception is code of the pipeline. Where one question is asked at a time, a sync callable runs in the main thread,
which is where its module was imported: what belongs to that thread works.
"""

import asyncio
import inspect
import os
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import suppress
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from types import ModuleType, TracebackType
from typing import TYPE_CHECKING, Any

import msgspec

from ragworthy.errors import Problem, RagworthyError, UsageError, usage_error
from ragworthy.files import check_readable
from ragworthy.load.values import Refused
from ragworthy.runner.contract import Ask, Options, Reply, checked, late, unfit
from ragworthy.runner.targets import guard
from ragworthy.runner.targets.advice import unimportable, unknown, unnamed
from ragworthy.runner.targets.frameworks import framework_call, is_known
from ragworthy.runner.targets.heard import Interrupted
from ragworthy.runner.targets.mainthread import MainThread, possible
from ragworthy.text import clip, sound

if TYPE_CHECKING:
    from ragworthy.adapters.replies import Rules

USUAL = Options()
Outcome = tuple[Any, BaseException | None]
"""What a call gave back, or what it raised."""
_GRACE = 1.0
"""So many seconds an async call has to end once it is cancelled."""


def imported(module: str, name: str, options: Options = USUAL) -> "Called":
    """The callable of a module; the working folder is looked in first."""
    _look_in(os.getcwd())  # noqa: PTH109 - sys.path holds texts
    return _found(module, name, "module", lambda: import_module(module), options)


def from_file(file: str, name: str, options: Options = USUAL) -> "Called":
    """The callable of a Python file; modules beside it can be imported as if it were run."""
    path = Path(file)
    check_readable(path)
    _look_in(str(path.parent.absolute()))
    return _found(file, name, "file", lambda: _loaded(path), options)


def _look_in(folder: str) -> None:
    if folder not in sys.path:
        sys.path.insert(0, folder)


def _loaded(path: Path) -> ModuleType:
    """A file as a module, under its own name where no other module has that."""
    known = sys.modules.get(path.stem)
    if known is not None and getattr(known, "__file__", None) == str(path.absolute()):
        return known
    name = path.stem if known is None and path.stem not in sys.stdlib_module_names else f"_target_{path.stem}"
    spec = spec_from_file_location(name, path.absolute())
    if spec is None or spec.loader is None:
        raise ImportError("it is not a Python file")
    module = module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def _found(where: str, name: str, what: str, load: Callable[[], ModuleType], options: Options) -> "Called":
    with guard.hosting():
        module, error = _attempt(load)
        found, error = _attempt(lambda: _member(module, name)) if error is None else (None, error)
    if isinstance(error, KeyboardInterrupt):
        raise error
    if error is not None:
        raise unimportable(f"expected a {what} that can be imported, got {_said(error)}", where, _raised_at(error))
    if found is None:
        raise unnamed(name, where, module, is_known)
    call = call_of(found, f"{where}:{name}", options)
    if call is None:
        raise unknown(found, name, where)
    return Called(f"{where}:{name}", call, options=options)


def call_of(found: Any, name: str, options: Options) -> Callable[..., Any] | None:
    """What to call: what an object of a framework is asked with, or the callable itself."""
    with guard.hosting():
        call, error = _attempt(lambda: framework_call(found, name, options))
    if isinstance(error, UsageError | KeyboardInterrupt):
        raise error
    if error is not None:
        raise usage_error(f"{name}: expected an object that says what it takes, got {_said(error)}")
    return call or (found if callable(found) else None)


def _member(found: Any, name: str) -> Any:
    for part in name.split("."):
        found = getattr(found, part, None)
    return found


class Called:
    """A callable as a target."""

    def __init__(
        self, name: str, call: Callable[..., Any], about: Mapping[str, str] | None = None, options: Options = USUAL
    ) -> None:
        self.name = name
        self.about = dict(about or {}) | options.told
        self._rules = options.rules
        self._prompt = "" if options.prompt else None
        self._call = call
        self._is_async = inspect.iscoroutinefunction(call) or inspect.iscoroutinefunction(type(call).__call__)
        self._loop: asyncio.AbstractEventLoop
        self.alone = False
        """Whether it is called with the question alone; known once it is open."""
        self._streams: guard.Streams
        self._closing = threading.Event()

    async def open(self) -> None:
        """See that it takes a question, and start the loop for what has to be awaited."""
        self.alone = _takes_the_question_alone(self._call, self.name, self._prompt)
        self._streams = guard.Streams()
        self._closing.clear()
        self._loop = asyncio.new_event_loop()
        threading.Thread(target=_serve, args=(self._loop, self._closing), daemon=True).start()

    @property
    def notes(self) -> tuple[str, ...]:
        """What the pipeline's object noticed."""
        return tuple(getattr(self._call, "notes", ()))

    @property
    def can_be_asked_here(self) -> bool:
        """Whether it can be called in the main thread."""
        return not self._is_async and possible()

    def ask_here(self, ask: Ask, timeout: float, here: MainThread) -> Reply:
        """Call it in this thread, which is the main one, and give it so long."""
        try:
            with guard.hosting():
                return here.within(timeout, lambda: self._called(ask))
        finally:
            self._streams.mend()

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """Call it with copies of everything, and wait for so long."""
        future: Future[Reply] = Future()
        running: Future[Any] = future
        if self._is_async:
            running = Future()
            running.set_running_or_notify_cancel()
            future = asyncio.run_coroutine_threadsafe(self._awaited(ask, running), self._loop)
        else:
            future.set_running_or_notify_cancel()
            threading.Thread(target=lambda: future.set_result(self._called(ask)), daemon=True).start()
        waiting = asyncio.wrap_future(future)
        try:
            done, _ = await asyncio.wait({waiting}, timeout=timeout)
        finally:
            waiting.cancel()
            self._streams.mend()
        if not done:
            return Reply({}, late(timeout), running=running)
        return Reply({}, "raised: CancelledError") if waiting.cancelled() else waiting.result()

    async def close(self) -> None:
        """End the event loop; what is stuck ends with the program."""
        self._closing.set()
        self._loop.call_soon_threadsafe(self._loop.stop)
        self._streams.restore()

    def _given(self, ask: Ask) -> Any:
        """What it gives back: called with the question, or with copies of everything."""
        return self._call(ask.q) if self.alone else self._call(**ask.request())

    def _called(self, ask: Ask) -> Reply:
        """The reply of a sync callable."""
        return _read(*_attempt(lambda: self._finished(self._given(ask))), ask.qid, self._rules)

    async def _awaited(self, ask: Ask, running: "Future[Any]") -> Reply:
        """The reply of an async callable, which has a task of its own: whatever that raises stays in it."""
        task = asyncio.ensure_future(_started(lambda: self._given(ask)))
        task.add_done_callback(lambda _: running.set_result(None))
        try:
            await asyncio.wait({task})
        finally:
            task.cancel()
        if task.cancelled():
            return Reply({}, "raised: CancelledError")
        error = task.exception()
        return _read(task.result() if error is None else None, error, ask.qid, self._rules)

    def _finished(self, given: Any) -> Any:
        """What a sync callable gave back, awaited where that is needed."""
        if not inspect.isawaitable(given):
            return given
        return asyncio.run_coroutine_threadsafe(_started(lambda: given), self._loop).result()


_ADAPTER = """\
  def answer(*, q, **rest):
      text, documents = my_pipeline(q)
      return {"answer": text, "documents": documents}"""


def _takes_the_question_alone(call: Callable[..., Any], name: str, prompt: str | None = None) -> bool:
    """Whether a callable takes the question and nothing else, and not the whole request; one that takes neither is
    refused, and so is one that would not hear of the prompt.
    """
    try:
        takes = inspect.signature(call)
    except ValueError:
        return False  # it does not tell; the first question will
    request = Ask("", "", prompt=prompt).request()
    try:
        takes.bind(**request)
    except TypeError as error:
        if prompt is not None:
            message = f"expected a callable that takes qid, q, seed, jitter, knobs and prompt, got one with: {error}"
            raise UsageError([Problem("RW-U16", message, name)]) from None
        needed = [one for one in takes.parameters.values() if one.default is one.empty and one.kind not in _ANY]
        if len(needed) == 1 and needed[0].kind in _BY_PLACE and needed[0].name not in request.keys() - {"q"}:
            return True
        expected = "expected a callable that takes the question, or qid, q, seed, jitter and knobs"
        problem = Problem("RW-J11", f"{expected}, got one with: {error}", name)
        raise UsageError([problem], advice=_ADAPTER) from None
    return False


_ANY = (inspect.Parameter.VAR_POSITIONAL, inspect.Parameter.VAR_KEYWORD)
_BY_PLACE = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)


def _serve(loop: asyncio.AbstractEventLoop, closing: threading.Event) -> None:
    """Run the loop until we stop it, whatever a pipeline does to it; then give what is left on it a moment to end."""
    loop.set_exception_handler(lambda *_: None)
    while not closing.is_set():
        with suppress(SystemExit, KeyboardInterrupt):  # the task that raised it keeps it
            loop.run_forever()
    left = asyncio.all_tasks(loop)
    for task in left:
        task.cancel()
    with suppress(SystemExit, KeyboardInterrupt):
        if left:
            loop.run_until_complete(asyncio.wait(left, timeout=_GRACE))
    loop.close()


async def _started(call: Callable[[], Awaitable[Any]]) -> Any:
    return await call()


def _read(given: Any, error: BaseException | None, qid: str, rules: "Rules | None") -> Reply:
    """What a call gave back or raised, as a reply."""
    if isinstance(error, RagworthyError) and error.problems[0].code == "RW-U06":  # rw.reply could not read a part
        problem = error.problems[0]
        return unfit(Refused(problem.message, f".{problem.field}"))
    if isinstance(error, Refused):  # an object of a framework gave back something else than expected
        return msgspec.structs.replace(unfit(error), code=getattr(error, "code", None))
    if isinstance(error, Interrupted):
        return _kept(_raised(error.error), error.documents, rules)
    if error is not None:
        return _raised(error)
    reply, error = _attempt(lambda: checked(given, qid=qid, rules=rules))
    if error is not None:
        return Reply({}, f"bad reply: expected what JSON can hold, got: {_said(error)}")
    assert isinstance(reply, Reply)  # noqa: S101 - what `checked` gives
    return reply


def _kept(reply: Reply, documents: list[Any], rules: "Rules | None") -> Reply:
    """An error with what was retrieved before it."""
    found, _ = _attempt(lambda: checked({"answer": "", "documents": documents}, rules=rules))
    if not isinstance(found, Reply) or found.error is not None:
        return reply
    kept = {name: found.fields[name] for name in ("retrieved_ids", "topk") if name in found.fields}
    return msgspec.structs.replace(reply, fields=kept | reply.fields, chunks=found.chunks)


def _raised(error: BaseException) -> Reply:
    """What an exception says; what it has as `reply`, an error of the contract, says more."""
    lost = bool(_attempt(lambda: _lost(error))[0])
    text = f"{'unreachable' if lost else 'raised'}: {_said(error)}"
    given, _ = _attempt(lambda: error.reply)  # type: ignore[attr-defined]
    told, _ = _attempt(lambda: checked({"error": text, **given}))
    if isinstance(told, Reply) and told.reported:
        return msgspec.structs.replace(told, raw=_place(error))
    code = error.problems[0].code if isinstance(error, RagworthyError) and error.problems else None
    return Reply({}, text, unreachable=lost, raw=_place(error), code=code)


_LOST = frozenset({"ConnectError", "ConnectTimeout", "APIConnectionError", "ClientConnectorError", "NewConnectionError",
                   "ConnectionRefusedError", "gaierror"})  # fmt: skip
"""Exceptions by which clients say that nothing could be reached, of whatever library."""


def _lost(error: BaseException | None) -> bool:
    """Whether an exception, or what it was raised from, says that nothing could be reached."""
    for _ in range(10):
        if error is None:
            return False
        if type(error).__name__ in _LOST:
            return True
        reason = getattr(error, "reason", None)  # of urllib
        error = reason if isinstance(reason, BaseException) else error.__cause__
    return False


def _attempt(work: Callable[[], Any]) -> Outcome:
    try:
        return work(), None
    except BaseException as error:  # noqa: BLE001 - whatever a pipeline raises is its reply
        return None, error


def _said(error: BaseException) -> str:
    """The name and the text of an exception, as far as they can be told and written."""
    name, _ = _attempt(lambda: sound(clip(type(error).__name__, 80)))
    text, _ = _attempt(lambda: sound(clip(str(error), 300)))
    return f"{name or 'an exception'}{f': {text}' if text else ''}"


_LIBRARY = (str(Path(os.__file__).parent), "<frozen")
"""Where code of Python itself, and what is installed beside it, is."""


def _place(error: BaseException) -> str:
    """Where an exception was raised: the last line of the pipeline's own code, or of any where it has none."""
    codes = [(trace.tb_frame.f_code, trace.tb_lineno) for trace in _traces(error.__traceback__)]
    codes = [one for one in codes if one[0].co_filename != __file__]
    own = [one for one in codes if not one[0].co_filename.startswith(_LIBRARY)]
    for code, line in (own or codes)[-1:]:
        return sound(f"{code.co_filename}, line {line}, in {code.co_name}")
    return ""


def _raised_at(error: BaseException) -> str:
    """The line of the user's own code at which an import failed; empty where it did not come to that."""
    if isinstance(error, SyntaxError) and error.filename:
        return sound(f"{error.filename}, line {error.lineno}")
    frames = [(trace.tb_frame.f_code.co_filename, trace.tb_lineno) for trace in _traces(error.__traceback__)]
    own = [one for one in frames if one[0] != __file__ and not one[0].startswith(_LIBRARY)]
    return sound(f"{own[-1][0]}, line {own[-1][1]}") if own else ""


def _traces(trace: TracebackType | None) -> Iterator[TracebackType]:
    while trace is not None:
        yield trace
        trace = trace.tb_next
