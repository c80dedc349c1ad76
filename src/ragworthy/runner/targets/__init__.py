"""Targets: the pipelines under test, each kind in a module of its own."""

from ragworthy.errors import usage_error
from ragworthy.runner.contract import Options, Target
from ragworthy.wire.address import shown

FORMS = "module:callable, file.py:callable, http://… or https://…, cmd:COMMAND, replay:FILE, builtin:INDEX"


def open_target(text: str, options: Options) -> Target:
    """The target that a text names; nothing is started or connected before it is opened."""
    scheme, colon, rest = text.partition(":")
    if text.lower().startswith(("http://", "https://")):
        if options.map is not None:
            from ragworthy.runner.targets.mapped import Mapped

            return Mapped(text, options)
        from ragworthy.runner.targets.http import Http

        return Http(text, options)
    check_http_only(options)
    if scheme == "cmd" and rest.strip():
        from ragworthy.runner.targets.command import Command

        return Command(rest, options)
    if scheme == "replay" and rest:
        from ragworthy.runner.targets.replay import Replay

        return Replay(rest, options)
    if scheme == "plugin" and rest:
        return _of_plugin(rest, options)
    file, _, name = text.rpartition(":")
    if file.endswith(".py") and _dotted(name):
        from ragworthy.runner.targets.callables import from_file

        return from_file(file, name, options)
    if colon and _dotted(scheme) and _dotted(rest):
        from ragworthy.runner.targets.callables import imported

        return imported(scheme, rest, options)
    raise usage_error(f'expected a target such as {FORMS}, got "{shown(text)}"')


def check_http_only(options: Options) -> None:
    """Refuse what only an http address takes."""
    for flag, given in (("--header", options.headers), ("--map", options.map)):
        if given:
            raise usage_error(f"{flag}: expected a target that is an http address, got another one")


def _of_plugin(text: str, options: Options) -> Target:
    """A target of another package: plugin:NAME, or plugin:NAME:REST with what it is to be opened with."""
    from ragworthy.load.plugins import TARGETS, called, load_point
    from ragworthy.runner.targets.callables import Called

    name, _, rest = text.partition(":")
    plugin = load_point(TARGETS, name)
    made = called(plugin, rest)
    if hasattr(made, "ask"):
        target: Target = made
        return target
    if not callable(made):
        raise usage_error(f"plugin:{name}: expected a target or a callable, got {type(made).__name__}", code="RW-P15")
    return Called(f"plugin:{name}", made, {"plugin": f"{plugin.package} {plugin.version}"}, options)


def _dotted(text: str) -> bool:
    return all(part.isidentifier() for part in text.split("."))
