"""Middleware that registers calls of an application of your own with the analysis API, before and after it answers.

For FastAPI, Starlette and every other ASGI framework:

    app.add_middleware(MonitorMiddleware, monitor=AsyncClient(URL, TOKEN), paths={"/chat"})

It is for applications that call a model without the gateway; the gateway registers calls by itself.
"""

import asyncio
import hashlib
import json
import logging
import uuid
from collections.abc import Awaitable, Callable, Collection, Coroutine, MutableMapping
from typing import Any

from . import chat, types
from .client import AsyncClient
from .errors import MonitorError, StatusError

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]
App = Callable[[Scope, Receive, Send], Awaitable[None]]
#: Decides by a verdict: a response, such as one of Starlette, that is sent in place of the application's; or none.
Refuse = Callable[[types.Analysis], App | None]

_LOG = logging.getLogger("monitor_gateway_client")


class MonitorMiddleware:
    """Registers POST calls of some paths.

    - `monitor` makes the calls; closing it is left to the application, after its end.
    - `paths` are registered, and no others.
    - `application_id` may be missing where the access token is bound to an application.
    - `prompt(body)` and `answer(body, content_type)` find the texts; by default those of the chat API format.
    - `refuse(verdict)`: with it, a call waits for its verdict, and a response that it returns is sent in place of the
      application's. Without it no call waits.
    - `is_closed`: without a verdict, a call that waits for one is answered with 503. Otherwise it passes.
    - `max_body` bounds how much of a body is read, and `max_pending` the registrations that wait; what is beyond them
      passes, is logged, and its record says so.
    """

    def __init__(
        self,
        app: App,
        *,
        monitor: AsyncClient,
        paths: Collection[str],
        application_id: str | None = None,
        prompt: Callable[[bytes], str | None] = chat.prompt,
        answer: Callable[[bytes, str], str | None] = chat.answer,
        refuse: Refuse | None = None,
        is_closed: bool = False,
        max_body: int = 1 << 20,
        max_pending: int = 1000,
    ) -> None:
        self._app = app
        self._monitor = monitor
        self._paths = frozenset(paths)
        self._application_id = application_id
        self._prompt = prompt
        self._answer = answer
        self._refuse = refuse
        self._is_closed = is_closed
        self._max_body = max_body
        self._max_pending = max_pending
        self._pending: set[asyncio.Task[None]] = set()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await self._app(scope, self._draining(receive), send)
        elif scope["type"] == "http" and scope["method"] == "POST" and scope["path"] in self._paths:
            await self._exchange(scope, receive, send)
        else:
            await self._app(scope, receive, send)

    async def drain(self) -> None:
        """Waits until everything is registered. The end of the application waits for it."""
        while self._pending:
            await asyncio.wait(self._pending)

    def _draining(self, receive: Receive) -> Receive:
        async def until_the_end() -> Message:
            message = await receive()
            if message["type"] == "lifespan.shutdown":
                await self.drain()
            return message

        return until_the_end

    async def _exchange(self, scope: Scope, receive: Receive, send: Send) -> None:
        body, replayed = await _read(receive, self._max_body)
        prompt = None if body is None else _found(lambda: self._prompt(body))
        parameters = _parameters(scope)
        if prompt is None:
            _LOG.warning("a call of %s has no prompt that can be read: it is not checked", scope["path"])
            parameters["unchecked"] = True
        before = self._message(prompt or "", parameters)
        if self._refuse is None:
            registered = self._later(self._register(self._monitor.process_request, before))
        else:
            registered = None
            refused = await self._verdict(before, parameters)
            if refused is not None:
                await refused(scope, replayed, send)
                return
        captured = _Captured(send, self._max_body)
        try:
            await self._app(scope, replayed, captured.send)
        except BaseException as error:
            captured.failure = type(error).__name__
            raise
        finally:
            self._later(self._after(captured, parameters, registered))

    async def _verdict(self, message: types.Message, parameters: dict[str, Any]) -> App | None:
        """What is sent in place of the application's answer, if anything is."""
        assert self._refuse is not None
        try:
            verdict = await self._monitor.process_request(message)
        except MonitorError as error:
            _LOG.warning("a call has no verdict: %s", _named(error))
            parameters["unchecked"] = True
        else:
            refused = self._refuse(verdict)
            if refused is not None or "unchecked" not in parameters:
                return refused
        return _unavailable if self._is_closed else None

    async def _after(
        self, captured: "_Captured", parameters: dict[str, Any], registered: asyncio.Task[None] | None
    ) -> None:
        # The records of an exchange are registered in their order.
        if registered is not None:
            await asyncio.wait([registered])
        text = _found(lambda: self._answer(bytes(captured.body), captured.content_type))
        await self._register(self._monitor.process_response, self._message(text or "", parameters | captured.facts()))

    def _message(self, text: str, parameters: dict[str, Any]) -> types.Message:
        message: types.Message = {"message": text, "additional_parameters": dict(parameters)}  # type: ignore[typeddict-item]
        if self._application_id is not None:
            message["application_id"] = self._application_id
        return message

    async def _register(
        self, call: Callable[[types.Message], Awaitable[types.Analysis]], message: types.Message
    ) -> None:
        try:
            await call(message)
        except MonitorError as error:
            _LOG.warning("a record is lost: %s", _named(error))

    def _later(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None] | None:
        if len(self._pending) >= self._max_pending:
            work.close()
            _LOG.warning("a record is lost: %d others wait (max_pending)", self._max_pending)
            return None
        task = asyncio.create_task(work)
        self._pending.add(task)
        task.add_done_callback(self._pending.discard)
        return task


class _Captured:
    """What an application sends, passed on at once."""

    def __init__(self, send: Send, limit: int) -> None:
        self._send = send
        self._limit = limit
        self._is_whole = False
        self.status = 0
        self.content_type = ""
        self.body = bytearray()
        self.failure: str | None = None

    async def send(self, message: Message) -> None:
        if message["type"] == "http.response.start":
            self.status = message["status"]
            headers = dict(message.get("headers", []))
            self.content_type = headers.get(b"content-type", b"").decode("latin-1")
        elif message["type"] == "http.response.body":
            chunk = message.get("body", b"")
            self.body += chunk[: self._limit - len(self.body)]
            if not message.get("more_body", False):
                self._is_whole = len(self.body) < self._limit
        await self._send(message)

    def facts(self) -> dict[str, Any]:
        """What the record says about the answer beside its text."""
        facts: dict[str, Any] = {} if self._is_whole else {"incomplete": True}
        if self.failure is not None or self.status >= 400:
            facts["error"] = {"type": self.failure or "status", "code": self.status or 500}
        return facts


async def _read(receive: Receive, limit: int) -> tuple[bytes | None, Receive]:
    """The body of a request, or none where it is longer; and the same request for the application."""
    messages: list[Message] = []
    body = bytearray()
    more = True
    while more and len(body) <= limit:
        message = await receive()
        messages.append(message)
        body += message.get("body", b"")
        more = message.get("more_body", False)
    left = iter(messages)

    async def again() -> Message:
        message = next(left, None)
        return await receive() if message is None else message

    return (None if len(body) > limit else bytes(body)), again


def _parameters(scope: Scope) -> dict[str, Any]:
    """The exchange, and whom the headers of the gateway name."""
    headers = dict(scope["headers"])
    parameters: dict[str, Any] = {"request_id": str(uuid.uuid4())}
    for name, header in (("user_id", b"x-user-id"), ("session_id", b"x-session-id")):
        if headers.get(header):
            parameters[name] = _bounded(headers[header].decode("latin-1"))
    return parameters


def _bounded(name: str) -> str:
    """The API takes 512 bytes. A longer name ends in a hash of the whole, so that two of them stay two."""
    if len(name.encode()) <= 512:
        return name
    return f"{name[:200]}…{hashlib.sha256(name.encode()).hexdigest()}"


def _found(find: Callable[[], str | None]) -> str | None:
    """A text, or none where a body has another form than the function expects."""
    try:
        return find()
    except (ValueError, LookupError, TypeError, AttributeError):
        return None


def _named(error: MonitorError) -> str:
    # The message of an answer may come from anywhere between.
    return f"{type(error).__name__} {error.status}" if isinstance(error, StatusError) else str(error)


async def _unavailable(_scope: Scope, _receive: Receive, send: Send) -> None:
    message = "the call could not be checked; try again later"
    body = json.dumps({"error": {"message": message, "type": "gateway_error", "code": 503}}).encode()
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(body)).encode())]
    await send({"type": "http.response.start", "status": 503, "headers": headers})
    await send({"type": "http.response.body", "body": body})
