"""The Python package, as built, against the real binary: operations, retries, errors and the middleware.

Arguments: folder with the installed package; base URL of the analysis API; base URL of one that takes two requests a
second; an address that refuses connections; access key; application. Exits non-zero with the reason on anything that
is not as it should be.
"""

import asyncio
import contextlib
import json
import logging
import socket
import sys
import threading

FOLDER, ANALYSIS, BUSY, NOBODY, KEY, APPLICATION = sys.argv[1:]
sys.path.insert(0, FOLDER)

import httpx  # noqa: E402
import uvicorn  # noqa: E402
from fastapi import FastAPI  # noqa: E402
from fastapi.responses import JSONResponse, StreamingResponse  # noqa: E402
import monitor_gateway_client as package  # noqa: E402
from monitor_gateway_client import AsyncClient, Client, Retries, StatusError  # noqa: E402
from monitor_gateway_client.asgi import MonitorMiddleware  # noqa: E402
from monitor_gateway_client.operation import Operation, written  # noqa: E402

QUICK = Retries(attempts=3, first=0.01)
CARD = "My card is 4111 1111 1111 1111"


def expect(condition, what):
    if not condition:
        raise AssertionError(what)


def raises(kind, call):
    try:
        call()
    except kind as error:
        expect(type(error) is kind, f"{type(error).__name__} instead of {kind.__name__}")
        expect(KEY not in str(error) and KEY not in repr(error), "the error names the key")
        return error
    raise AssertionError(f"{kind.__name__} was expected")


def message(text, **parameters):
    return {"application_id": APPLICATION, "message": text, "additional_parameters": parameters}


def operations(monitor):
    with open(f"{FOLDER}/openapi.json", encoding="utf-8") as file:
        paths = json.load(file)["paths"]
    listed = [one["operationId"] for item in paths.values() for one in item.values() if one.get("security") != []]
    for client in (Client, AsyncClient):
        own = [name for name in dir(client) if not name.startswith("_") and name != "close"]
        expect(len(own) == len(listed), f"{own} instead of {listed}")
    verdict = monitor.process_request(message("Write to anna@example.com", user_id="u-python"))
    expect(verdict["dataclean"]["cleaned_text"] == "Write to [EMAILS]", verdict)
    files = [("a.txt", b"to anna@example.com", "text/plain"), ("b.txt", b"nothing", "text/plain")]
    attached = monitor.attach_to_prompt(verdict["request_id"], files)
    expect([file["name"] for file in attached] == ["a.txt", "b.txt"], attached)
    record = monitor.get_record(verdict["request_id"])
    expect(len(record["attachments"]) == 2, record)
    expect(monitor.list_records(user_id="u-python", limit=1)["records"][0]["user_id"] == "u-python", "no record")
    line = json.dumps({"stage": "post", "body": message("fine")})
    expect(json.loads(monitor.process_batch(line))["status"] == 200, "the batch")
    exported = monitor.export_records(user_id="u-python", format="csv")
    expect(exported.startswith(b"seq,"), exported)
    made = monitor.create_application({"name": "python"})
    changed = monitor.change_application(made["id"], {"description": "x"}, if_match=f'"{made["version"]}"')
    expect(changed["version"] == made["version"] + 1, changed)
    expect(monitor.remove_application(made["id"], version=changed["version"]) is None, "an answer without a body")


def typed_errors(monitor):
    missing = raises(package.NotFoundError, lambda: monitor.get_record("00000000-0000-4000-8000-000000000000"))
    expect((missing.status, missing.kind) == (404, "invalid_request_error"), missing)
    raises(package.InvalidRequestError, lambda: monitor.create_token({"name": "", "scopes": ["read"]}))
    raises(package.ConflictError, lambda: monitor.change_application(APPLICATION, {"version": 999, "name": "x"}))
    raises(package.ConflictError, lambda: monitor.change_application(APPLICATION, {"name": "x"}))
    made = monitor.create_token({"name": "ingest", "scopes": ["ingest"]})
    with Client(ANALYSIS, made["value"]) as weak:
        raises(package.PermissionDeniedError, weak.list_tokens)
    with Client(ANALYSIS, "mon_invented") as stranger:
        raises(package.AuthenticationError, stranger.list_tokens)
    with Client(NOBODY, KEY, retries=QUICK) as lost:
        raises(package.ConnectionFailed, lost.list_tokens)
    raises(ValueError, lambda: Client(ANALYSIS, f"{KEY}\n"))


class Lossy(httpx.HTTPTransport):
    """Loses the first answers: the server has them sent."""

    def __init__(self, losses):
        super().__init__()
        self.losses, self.sent = losses, 0

    def handle_request(self, request):
        response = super().handle_request(request)
        self.sent += 1
        if self.sent > self.losses:
            return response
        response.read()
        raise httpx.ReadError("lost", request=request)


def a_message_is_sent_again_and_stored_once(monitor):
    transport = Lossy(2)
    with Client(ANALYSIS, KEY, retries=QUICK, transport=transport) as lossy:
        verdict = lossy.process_request(message("hello", user_id="u-lossy-python"))
    expect(transport.sent == 3, transport.sent)
    records = monitor.list_records(user_id="u-lossy-python")["records"]
    expect([one["request_id"] for one in records] == [verdict["request_id"]], records)


def what_would_happen_twice_is_not_sent_again(monitor):
    transport = Lossy(1)
    with Client(ANALYSIS, KEY, retries=QUICK, transport=transport) as lossy:
        raises(package.ConnectionFailed, lambda: lossy.create_application({"name": "once-python"}))
    expect(transport.sent == 1, transport.sent)
    expect(len(monitor.list_applications(name="once-python")["applications"]) == 1, "made twice")


def messages_are_identified():
    """What is missing of the ids of a message is filled in, and nothing else is changed."""
    operation = Operation("POST", "/x", sends="json", identified_by=("request_id", "tool_call_id"))

    def sent(body):
        call = written(operation, body=body)
        expect(call.is_repeatable, "it is not sent again")
        return call.arguments["json"]

    given = {"tool_call_id": "c", "additional_parameters": {"request_id": "r", "user_id": "u"}}
    expect(sent(given) == given, "given ids are changed")
    among = {"additional_parameters": {"request_id": "r", "tool_call_id": "c"}}
    expect(sent(among) == among, "an id among the parameters is not seen")
    made = sent({"tool_name": "t", "additional_parameters": None})
    expect(len(made["tool_call_id"]) == len(made["additional_parameters"]["request_id"]) == 36, made)


def retry_after_is_followed():
    with Client(BUSY, KEY, retries=Retries(attempts=1)) as hasty:
        for _ in range(1000):
            try:
                hasty.list_tokens()
            except package.RateLimitError as error:
                expect(error.retry_after >= 1, error)
                break
        else:
            raise AssertionError("there is no limit")
    with Client(BUSY, KEY, retries=Retries(attempts=10)) as patient:
        for _ in range(4):
            expect(patient.list_tokens()["tokens"], "no tokens")


def delays():
    """Which outcomes are followed by another attempt, and after how long."""
    retries = Retries(attempts=3, first=1.0, longest=5.0)

    def answer(status, **headers):
        return httpx.Response(status, headers=headers)

    again = [
        (answer(429), False),
        (answer(503), True),
        (answer(504), True),
        (httpx.ConnectError("refused"), False),
        (httpx.ReadTimeout("late"), True),
    ]
    for outcome, is_repeatable in again:
        for attempt, most in ((1, 1.0), (2, 2.0)):
            wait = retries.wait(attempt, is_repeatable, outcome)
            expect(wait is not None and 0 <= wait <= most, f"{outcome}: {wait}")
        expect(retries.wait(3, is_repeatable, outcome) is None, "a fourth attempt")
    never = [
        (answer(503), False),
        (answer(500), True),
        (answer(422), True),
        (httpx.ReadError("cut"), False),
        (answer(429, **{"Retry-After": "6"}), False),
    ]
    for outcome, is_repeatable in never:
        expect(retries.wait(1, is_repeatable, outcome) is None, outcome)
    expect(retries.wait(1, False, answer(429, **{"Retry-After": "4"})) == 4, "Retry-After")


def completion(text):
    return {"choices": [{"index": 0, "message": {"role": "assistant", "content": text}}]}


def event(text):
    return f"data: {json.dumps({'choices': [{'index': 0, 'delta': {'content': text}}]})}\n\n"


def application(monitor, go_on, **options):
    """An application of somebody, with the middleware."""
    app = FastAPI(lifespan=closing(monitor))
    app.add_middleware(
        MonitorMiddleware,
        monitor=monitor,
        paths={"/chat", "/stream", "/broken"},
        application_id=APPLICATION,
        max_body=4096,
        **options,
    )

    @app.post("/chat")
    async def chat(body: dict):
        return completion(f"You said: {body['messages'][-1]['content']}")

    @app.post("/stream")
    async def stream():
        async def events():
            yield event("Write to ")
            # Only a client that has the first event lets the second one out.
            await asyncio.to_thread(go_on.wait, 20)
            yield event("anna@example.com")
            yield "data: [DONE]\n\n"

        return StreamingResponse(events(), media_type="text/event-stream")

    @app.post("/broken")
    async def broken():
        return JSONResponse({"detail": "no"}, 500)

    @app.post("/other")
    async def other():
        return {}

    return app


def closing(monitor):
    @contextlib.asynccontextmanager
    async def lifespan(_):
        yield
        await monitor.close()

    return lifespan


@contextlib.contextmanager
def served(app):
    """A client of the application; the application has ended behind it."""
    listener = socket.create_server(("127.0.0.1", 0))
    server = uvicorn.Server(uvicorn.Config(app, log_config=None))
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
    thread.start()
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{listener.getsockname()[1]}", timeout=20) as client:
            yield client
    finally:
        server.should_exit = True
        thread.join()


def asked(text):
    roles = (("system", "Be brief."), ("user", "hi"), ("assistant", "yes?"), ("user", text))
    return {"messages": [{"role": role, "content": content} for role, content in roles]}


def exchange(monitor, user):
    """The records of a user, in their order."""
    records = monitor.list_records(user_id=user)["records"]
    records = [monitor.get_record(one["request_id"]) for one in reversed(records)]
    expect(len({one["exchange_id"] for one in records}) <= 1, records)
    return records


def calls_are_registered_before_and_after(monitor):
    go_on = threading.Event()
    with served(application(AsyncClient(ANALYSIS, KEY), go_on)) as client:
        headers = {"X-User-Id": "u-fastapi", "X-Session-Id": "s-fastapi"}
        answer = client.post("/chat", json=asked(CARD), headers=headers)
        expect(answer.json() == completion(f"You said: {CARD}"), answer.text)
        with client.stream("POST", "/stream", json=asked("stream"), headers={"X-User-Id": "u-stream"}) as answer:
            events = answer.iter_text()
            expect(next(events) == event("Write to "), "the first event")
            go_on.set()
            expect("".join(events).endswith("data: [DONE]\n\n"), "the rest")
        expect(client.post("/broken", json=asked("x"), headers={"X-User-Id": "u-broken"}).status_code == 500, "broken")
        client.post("/other", json=asked("x"), headers={"X-User-Id": "u-other"})
        long = asked("x" * 5000)
        expect(client.post("/chat", json=long, headers={"X-User-Id": "u-long"}).status_code == 200, "a long prompt")
        for end in "ab":
            client.post("/chat", json=asked("hello"), headers={"X-User-Id": "n" * 600 + end})
    before, after = exchange(monitor, "u-fastapi")
    expect((before["stage"], before["session_id"]) == ("pre", "s-fastapi"), before)
    expect(before["cleaned_text"] == "My card is [BANK_CARD_NUMBER]", before)
    expect(after["cleaned_text"] == "You said: My card is [BANK_CARD_NUMBER]", after)
    expect(not after["failed"] and not after["incomplete"], after)
    _, streamed = exchange(monitor, "u-stream")
    expect(streamed["cleaned_text"] == "Write to [EMAILS]", streamed)
    _, broken = exchange(monitor, "u-broken")
    expect(broken["failed"] and broken["additional_parameters"]["error"]["code"] == 500, broken)
    expect(exchange(monitor, "u-other") == [], "another path is registered")
    before, after = exchange(monitor, "u-long")
    expect(before["additional_parameters"]["unchecked"] is True, before)
    expect(after["incomplete"], after)
    users = [one["user_id"] for one in monitor.list_records(stage="pre")["records"]]
    users = [user for user in users if user and user.startswith("nnn")]
    expect(len(users) == 2 and len(set(users)) == 2, users)


class Held(httpx.AsyncHTTPTransport):
    """Sends nothing until it is let go."""

    def __init__(self):
        super().__init__()
        self.go = threading.Event()

    async def handle_async_request(self, request):
        await asyncio.to_thread(self.go.wait, 20)
        return await super().handle_async_request(request)


def the_end_waits_for_the_records(monitor):
    held = Held()
    with served(application(AsyncClient(ANALYSIS, KEY, transport=held), None)) as client:
        client.post("/chat", json=asked("last words"), headers={"X-User-Id": "u-end"})
        # Behind the beginning of the end.
        threading.Timer(0.5, held.go.set).start()
    expect(len(exchange(monitor, "u-end")) == 2, "records are lost at the end")


def refuse(verdict):
    if verdict["dataclean"]["flagged"]:
        return JSONResponse({"detail": "refused"}, 403)
    return None


def calls_are_refused_by_their_verdict(monitor):
    with served(application(AsyncClient(ANALYSIS, KEY), None, refuse=refuse)) as client:
        answer = client.post("/chat", json=asked(CARD), headers={"X-User-Id": "u-refused"})
        expect((answer.status_code, answer.json()) == (403, {"detail": "refused"}), answer.text)
        answer = client.post("/chat", json=asked("hello"), headers={"X-User-Id": "u-let"})
        expect(answer.json() == completion("You said: hello"), answer.text)
    expect([one["stage"] for one in exchange(monitor, "u-refused")] == ["pre"], "the application was called")
    expect([one["stage"] for one in exchange(monitor, "u-let")] == ["pre", "post"], "the records")


def without_a_verdict_the_setting_decides():
    for is_closed, status in ((True, 503), (False, 200)):
        lost = AsyncClient(NOBODY, KEY, retries=QUICK)
        with served(application(lost, None, refuse=refuse, is_closed=is_closed)) as client:
            answer = client.post("/chat", json=asked(CARD))
            expect(answer.status_code == status, answer.text)
    with served(application(AsyncClient(ANALYSIS, KEY), None, refuse=refuse, is_closed=True)) as client:
        expect(client.post("/chat", json=asked("x" * 5000)).status_code == 503, "an unread prompt passes")


def main():
    lines = []
    handler = logging.Handler()
    handler.emit = lambda record: lines.append(record.getMessage())
    logging.getLogger("monitor_gateway_client").addHandler(handler)
    with Client(ANALYSIS, KEY) as monitor:
        operations(monitor)
        typed_errors(monitor)
        a_message_is_sent_again_and_stored_once(monitor)
        what_would_happen_twice_is_not_sent_again(monitor)
        calls_are_registered_before_and_after(monitor)
        the_end_waits_for_the_records(monitor)
        calls_are_refused_by_their_verdict(monitor)
    without_a_verdict_the_setting_decides()
    messages_are_identified()
    retry_after_is_followed()
    delays()
    expect(issubclass(package.RateLimitError, StatusError), "the classes")
    expect(lines, "nothing was logged")
    expect(not any(word in line for line in lines for word in (KEY, "4111", "xxx")), lines)
    print("the Python package works")


main()
