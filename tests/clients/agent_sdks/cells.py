"""Asks through an official package of the Responses or the Messages API, retries off, and says what the package hands
over: once from the model server itself and once through a gateway.

Arguments: name of the package; base URLs of the model server and of the gateway, without /v1; an access key; the cells
to fill as JSON, a list of [name, application, whether the model server itself is asked too]. Prints the package's
version and then, in a line each, the cells: {"cell", "direct", "gateway"}. The model server answers by the last
`cell:NAME` of a request.
"""

import base64
import importlib.metadata
import json
import sys

PACKAGE, MODEL, GATEWAY, KEY, CELLS = sys.argv[1:6]
PHOTO = base64.b64encode(bytes(range(256)) * 4).decode()
CITY = {"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"], "additionalProperties": False}


def plain(thing):
    """An answer as JSON, without what the package adds to it on its own."""
    return thing.model_dump(mode="json", warnings=False) if hasattr(thing, "model_dump") else thing


def raised(call):
    """The exception of a call, as its user tells it from others."""
    try:
        got = call()
    except Exception as error:
        response = getattr(error, "response", None)
        return {
            "error": type(error).__name__,
            "status": getattr(error, "status_code", None),
            "message": str(error),
            "body": getattr(error, "body", None),
            "retry_after": response.headers.get("retry-after") if response is not None else None,
        }
    return {"no_error": plain(got)}


class Client:
    def __init__(self, base, application, has_key=True):
        own = {"api_key": "sk-test", "max_retries": 0, "timeout": 20}
        own["default_headers"] = {"X-Application-Id": application}
        if has_key:
            own["default_headers"]["X-Monitor-Api-Key"] = KEY
        self.api = self.connect(base, own)

    def turns(self, name):
        """A call, a stream by its events and by its helper; then, after each whole answer, the next turn."""
        first = [self.user(f"cell:{name}")]
        called, events, streamed = self.ask(first), self.events(first), self.final(first)
        told = [self.ask(first + self.history(answer)) for answer in (called, streamed)]
        return {
            "call": plain(called),
            "events": [plain(event) for event in events],
            "final": plain(streamed),
            "next": [plain(answer) for answer in told],
        }

    def errors(self, name, kinds=("ask", "events", "final")):
        first = [self.user(f"cell:{name}")]
        return {kind: raised(lambda: getattr(self, kind)(first)) for kind in kinds}

    def shows(self, prompt, kinds=("ask", "final")):
        """What a user sees of whole answers: text, calls of tools, and end."""
        return {kind: self.shown(getattr(self, kind)([self.user(prompt)])) for kind in kinds}


class Openai(Client):
    tools = [{"type": "function", "name": "weather", "description": "Of a city", "parameters": CITY, "strict": False}]

    def connect(self, base, own):
        import openai

        return openai.OpenAI(base_url=f"{base}/v1", **own)

    def user(self, text, photo=False):
        parts = [{"type": "input_text", "text": text}]
        if photo:
            parts.insert(0, {"type": "input_image", "detail": "auto", "image_url": f"data:image/png;base64,{PHOTO}"})
        return {"role": "user", "content": parts}

    def body(self, turns):
        return {"model": "m-1", "input": turns, "tools": self.tools, "include": ["reasoning.encrypted_content"]}

    def ask(self, turns):
        return self.api.responses.create(**self.body(turns))

    def events(self, turns):
        return list(self.api.responses.create(**self.body(turns), stream=True))

    def final(self, turns):
        with self.api.responses.stream(**self.body(turns)) as stream:
            return stream.get_final_response()

    def lines(self, turns):
        create = self.api.responses.with_streaming_response.create
        with create(**self.body(turns), stream=True) as answer:
            return list(answer.iter_lines())

    def history(self, answer):
        results = [
            {"type": "function_call_output", "call_id": item.call_id, "output": f"{item.call_id}: sunny"}
            for item in answer.output
            if item.type == "function_call"
        ]
        return list(answer.output) + results + [self.user("cell:told")]

    def shown(self, answer):
        calls = [[item.name, json.loads(item.arguments)] for item in answer.output if item.type == "function_call"]
        return {"id": answer.id, "text": answer.output_text, "calls": calls, "end": answer.status}


class Anthropic(Client):
    tools = [{"name": "weather", "description": "Of a city", "input_schema": CITY}]

    def connect(self, base, own):
        import anthropic

        return anthropic.Anthropic(base_url=base, **own)

    def user(self, text, photo=False):
        parts = [{"type": "text", "text": text}]
        if photo:
            source = {"type": "base64", "media_type": "image/png", "data": PHOTO}
            parts.insert(0, {"type": "image", "source": source})
        return {"role": "user", "content": parts}

    def body(self, turns):
        return {"model": "m-1", "max_tokens": 1000, "messages": turns, "tools": self.tools}

    def ask(self, turns):
        return self.api.messages.create(**self.body(turns))

    def events(self, turns):
        return list(self.api.messages.create(**self.body(turns), stream=True))

    def final(self, turns):
        with self.api.messages.stream(**self.body(turns)) as stream:
            return stream.get_final_message()

    def lines(self, turns):
        create = self.api.messages.with_streaming_response.create
        with create(**self.body(turns), stream=True) as answer:
            return list(answer.iter_lines())

    def history(self, answer):
        results = [
            {"type": "tool_result", "tool_use_id": block.id, "content": f"{block.id}: sunny"}
            for block in answer.content
            if block.type == "tool_use"
        ]
        asked = self.user("cell:told")
        asked["content"] = results + asked["content"]
        return [{"role": "assistant", "content": answer.content}, asked]

    def shown(self, answer):
        text = "".join(block.text for block in answer.content if block.type == "text")
        calls = [[block.name, block.input] for block in answer.content if block.type == "tool_use"]
        return {"id": answer.id, "text": text, "calls": calls, "end": answer.stop_reason}


def image(client):
    turn = [client.user("cell:told", photo=True)]
    return {"call": plain(client.ask(turn)), "final": plain(client.final(turn))}


def slow(client):
    turn = [client.user("cell:slow")]
    events = [plain(event) for event in client.events(turn)]
    return {
        "beats": sum(line in ("event: ping", "event: keepalive") for line in client.lines(turn)),
        "events": [event for event in events if event["type"] != "keepalive"],
        "final": plain(client.final(turn)),
    }


def limited(client):
    """The first call may pass."""
    client.errors("told", ["ask"])
    return client.errors("told", ["ask", "final"])


# Those that are not here have the name of an answer of the model server.
ASKED = {
    "image": image,
    "slow": slow,
    "failing": lambda client: client.errors("failing", ["events", "final"]),
    "broken": lambda client: client.errors("broken", ["events", "final"]),
    "gone": lambda client: client.errors("gone"),
    "no key": lambda client: client.errors("told"),
    "limited": limited,
    "blocked": lambda client: client.shows("My card is 4111 1111 1111 1111, cell:told"),
    "held": lambda client: client.shows("cell:cards"),
}


def fill(name, client):
    if name.startswith("status-"):
        return client.errors(name)
    return ASKED.get(name, lambda client: client.turns(name))(client)


def main():
    kind = {"openai": Openai, "anthropic": Anthropic}[PACKAGE]
    print(json.dumps({"version": importlib.metadata.version(PACKAGE)}))
    for name, application, is_direct in json.loads(CELLS):
        direct = fill(name, kind(MODEL, application)) if is_direct else None
        gateway = fill(name, kind(GATEWAY, application, name != "no key"))
        print(json.dumps({"cell": name, "direct": direct, "gateway": gateway}))


main()
