"""HTTP clients that read JSON and events themselves."""

import asyncio
import json
import subprocess

from asking import BASE, MODEL, WEATHER, Answer, headers, joined, user

URL = f"{BASE}/chat/completions"


class RawHttp:
    def ask(self, app, text, **changes):
        """The lines of an answer."""
        return self.lines(headers(app), {"model": MODEL, "messages": user(text)} | changes)

    def message(self, app, text, **changes):
        answer = json.loads("\n".join(self.ask(app, text, **changes)))
        return answer["choices"][0]["message"], answer["id"]

    def call(self, app, text):
        message, one = self.message(app, text)
        return Answer(message["content"], one)

    def stream(self, app, text):
        lines = self.ask(app, text, stream=True)
        events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
        return joined((choice["delta"].get("content"), event["id"]) for event in events for choice in event["choices"])

    def tools(self, app, text):
        message, _ = self.message(app, text, tools=[WEATHER])
        call = message["tool_calls"][0]["function"]
        return Answer(f"{call['name']} {json.loads(call['arguments'])['city']}")


class Curl(RawHttp):
    package = None

    def lines(self, own, body):
        own = [part for header in own.items() for part in ("-H", ": ".join(header))]
        body = ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        command = ["curl", "-sSN", URL, *own, *body]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


class Httpx(RawHttp):
    package = "httpx"

    def lines(self, own, body):
        import httpx

        with httpx.stream("POST", URL, headers=own, json=body) as answer:
            answer.raise_for_status()
            return list(answer.iter_lines())


class Aiohttp(RawHttp):
    package = "aiohttp"

    def lines(self, own, body):
        import aiohttp

        async def read():
            async with aiohttp.ClientSession(headers=own, raise_for_status=True) as session:
                async with session.post(URL, json=body) as answer:
                    return [line.decode().rstrip("\r\n") async for line in answer.content]

        return asyncio.run(read())
