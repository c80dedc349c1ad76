"""A service behind HTTP with a language of its own: a map says how it is asked and where in its reply things stand."""

import os
import re
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import quote, urlencode, urlsplit

import msgspec

from ragworthy.errors import PolicyError, Problem
from ragworthy.load.map import Map, load_map
from ragworthy.load.templates import Placeholder, filled, placeholders, text
from ragworthy.runner.contract import Ask, Options, Reply, checked, shown, without
from ragworthy.runner.hidden import Hiding, hidden
from ragworthy.runner.reported import kept_in, written
from ragworthy.runner.targets.extract import Reader, Said, Unfit
from ragworthy.runner.targets.http import Asked, How, Http
from ragworthy.runner.targets.streams import broken_off, values_of
from ragworthy.text import clip
from ragworthy.wire.client import Answer, Broken
from ragworthy.wire.secret import sendable

_ACCEPTED = {
    "none": "application/json",
    "sse": "text/event-stream, application/json",
    "ndjson": "application/x-ndjson, application/json",
}
_SHOWN = 400
_KNOB = re.compile(r"(?<!\{)\{knobs\.([^{}?]+)\??\}(?!\})")


class Mapped(Http):
    """An address and a map as a target."""

    def __init__(self, url: str, options: Options) -> None:
        self._map: Map = load_map(options.map or "")
        self._reader = Reader(self._map.reply, options.rules)
        self._prompt = options.prompt
        self._secret = _environment(self._map)
        headers = _headers(self._map, self._secret)
        accept = {"Accept": _ACCEPTED[self._map.reply.stream]}
        how = How(self._map.request.method, accept | headers, tuple(self._secret.values()))
        super().__init__(url, options, how)
        self._url = urlsplit(url)
        self._path = self._map.request.path if self._url.path in ("", "/") else ""
        self.name = self.name.removesuffix("/") + self._path if self._path else self.name
        self._template = self.name
        self.about = options.told | {"map": self._map.name, "map_sha256": self._map.sha256}

    def check_knobs(self, knobs: Mapping[str, Any]) -> None:
        """Refuse knobs that the map does not send, and a map whose knobs are not given."""
        found = self._map.placeholders()
        used = {one.knob for one in found if one.knob is not None}
        problems = self._of_prompt([one for one in found if one.name == "prompt"])
        for one in found:
            if one.knob is not None and not one.optional and one.knob not in self._map.knobs.keys() | knobs.keys():
                message = f"expected a value for {{{one.name}}}, got none: give --knob {one.knob}=VALUE"
                problems.append(Problem("RW-J19", message, self._map.name, one.field))
        for name in knobs:
            if name not in used and not any(one.name == "knobs" for one in found):
                sends = (
                    f"a knob that the map sends ({', '.join(sorted(used))})" if used else "none, as the map sends none"
                )
                problems.append(Problem("RW-J19", f'expected {sends}, got "{clip(name, 60)}"', self._map.name, "knobs"))
        if problems:
            raise PolicyError(list(dict.fromkeys(problems)))
        values = {**self._map.knobs, **knobs}
        self.name = _KNOB.sub(lambda one: quote(str(values.get(one[1], one[0])), safe="{}"), self._template)

    def _of_prompt(self, sent: list[Placeholder]) -> list[Problem]:
        """What is wrong where a prompt is given and the map does not send it, or the other way round."""
        if self._prompt and not sent:
            message = "expected {prompt} in the request, got none: the service would never see the prompt"
            return [Problem("RW-J19", message, self._map.name, "request.body")]
        message = "expected a prompt for {prompt}, got none: give --prompt FILE"
        needed = [] if self._prompt else [one for one in sent if not one.optional]
        return [Problem("RW-J19", message, self._map.name, one.field) for one in needed]

    def _values(self, ask: Ask) -> dict[str, Any]:
        request = ask.request()
        knobs = self._map.knobs | request["knobs"]
        return request | {"knobs": knobs} | {f"knobs.{name}": one for name, one in knobs.items()} | self._secret

    def _asked(self, ask: Ask) -> Asked:
        values = self._values(ask)
        body = self._map.request.body
        made = b"" if body is None else msgspec.json.encode(filled(body, values))
        return Asked(made, self._address(values))

    def _address(self, values: Mapping[str, Any], *, hidden: bool = False) -> str:
        """Where a request goes; `hidden` leaves out what of the target's own address is secret."""
        query = "&".join(part for part in ("" if hidden else self._url.query, self._query(values)) if part)
        path = text(self._path, values, lambda value: quote(value, safe="")) or self._url.path
        place = self._url.netloc.rpartition("@")[2]
        return self._url._replace(netloc=place, path=path, query=query, fragment="").geturl()

    def _query(self, values: Mapping[str, Any]) -> str:
        made = filled(self._map.request.query, values)
        pairs = [(name, one) for name, value in made.items() for one in (value if isinstance(value, list) else [value])]
        return urlencode(
            [(name, one if isinstance(one, str) else msgspec.json.encode(one).decode()) for name, one in pairs]
        )

    def sent(self, ask: Ask) -> str:
        """What is sent for a question, as it may be shown."""
        asked = self._asked(ask)
        whole = f"{self._map.request.method} {self._address(self._values(ask), hidden=True)} {asked.body.decode()}"
        return clip(self._client.secrets.masked(whole), _SHOWN)

    async def ask(self, ask: Ask, timeout: float) -> Reply:
        """Send one question as the map says, again where that may help, all within so many seconds."""
        reply = await super().ask(ask, timeout)
        return reply if reply.error is None else msgspec.structs.replace(reply, sent=self.sent(ask))

    def _read(self, body: bytes, ask: Ask, attempts: int) -> Reply:
        secrets = self._client.secrets
        raw = shown(body, secrets)
        if (came := broken_off(body, self._map.reply.stream, self._reader.ended)) is not None:
            kept = kept_in(without(self._reader.known(came), secrets.masked)) | written(raw)
            why = "the stream ended in the middle of an event"
            if not self._reader.ended(came):
                why = f"the stream ended without {self._reader.end}"
            return hidden(Reply(kept, f"died: the connection broke: {why}", attempts, raw=raw), secrets)
        try:
            values = values_of(body, self._map.reply.stream)
        except ValueError:
            return Reply(written(raw), f"bad reply: {self._malformed(body)}", attempts, raw=raw)
        hide = Hiding(secrets.masked_reply)
        reply = self._extracted(without(values, secrets.masked_reply) if secrets else values, attempts, hide)
        if reply.error is not None and secrets:  # what is wrong may be shown: short secrets go out, too
            reply = self._extracted(without(values, secrets.masked), attempts, Hiding(secrets.masked))
        fields = reply.fields if reply.error is None else reply.fields | written(raw)
        reply = msgspec.structs.replace(reply, fields=fields, raw=raw)
        return hidden(reply, secrets, pieces=hide.found)

    def _may_pass(self, got: Answer | Broken) -> bool:
        if isinstance(got, Answer) and got.is_success:  # a stream that broke off is a connection that broke
            return broken_off(got.body, self._map.reply.stream, self._reader.ended) is not None
        return super()._may_pass(got)

    def _malformed(self, body: bytes) -> str:
        """What is wrong with a body that is not JSON; it is cut for a message only when its secrets are out."""
        masked = self._client.secrets.masked(body.decode("utf-8", "replace"))
        try:
            values_of(masked.encode("utf-8", "replace"), self._map.reply.stream)
        except ValueError as error:
            return str(error)
        return "expected JSON, got something else"

    def _extracted(self, values: list[Any], attempts: int, hide: Callable[[str], str]) -> Reply:
        outputs = self._rules is not None and self._rules.instead is not None
        try:
            fields, places, chunks = (self._reader.output if outputs else self._reader.read)(values, hide)
        except Unfit as unfit:
            kept, misfits = kept_in(self._reader.known(values)), ((unfit.field, unfit.message),)
            return Reply(kept, f"bad reply: {unfit}", attempts, misfits=misfits)
        except Said as said:
            kept = kept_in(self._reader.known(values))
            return Reply(kept, f"error in reply: {said}", attempts, reported=True)
        reply = checked(fields, attempts, rules=self._rules if outputs else None)
        return msgspec.structs.replace(reply, places=places, chunks=chunks)


def _environment(given: Map) -> dict[str, str]:
    """The values of the environment variables that a map names."""
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for one in given.placeholders():
        if one.variable is None:
            continue
        value = os.environ.get(one.variable, "").strip()
        if not value and not one.optional:
            message = f"expected an environment variable that is set, got {one.variable}, which is not"
            problems.append(Problem("RW-J19", message, given.name, one.field))
        elif value:
            found[one.name] = value
    if problems:
        raise PolicyError(list(dict.fromkeys(problems)))
    return found


def _headers(given: Map, secret: Mapping[str, str]) -> dict[str, str]:
    """The headers of a map; one whose variable may be absent, and is, is left out."""
    made: dict[str, str] = {}
    for name, template in given.request.headers.items():
        field = f"request.headers.{name}"
        if any(one.name not in secret for one in placeholders(template, field)):
            continue
        made[name] = text(template, secret)
        if not sendable(made[name]):
            message = "expected printable ASCII text in its environment variable, got something else"
            raise PolicyError([Problem("RW-J19", message, given.name, field)])
    return made
