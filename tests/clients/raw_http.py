"""HTTP clients that read JSON and events themselves."""

import asyncio
import json
import socket
import subprocess
from urllib.parse import urlsplit

from asking import BASE, MODEL, WEATHER, Answer, headers, joined, user

URL = f"{BASE}/chat/completions"


def message(lines):
    answer = json.loads("\n".join(lines))
    return answer["choices"][0]["message"], answer["id"]


def whole(lines):
    said, one = message(lines)
    return Answer(said["content"], one)


def streamed(lines):
    events = [json.loads(line.removeprefix("data: ")) for line in lines if line.startswith("data: {")]
    return joined((choice["delta"].get("content"), event["id"]) for event in events for choice in event["choices"])


def called(lines):
    said, _ = message(lines)
    call = said["tool_calls"][0]["function"]
    return Answer(f"{call['name']} {json.loads(call['arguments'])['city']}")


class RawHttp:
    def ask(self, read, app, text, **changes):
        """What is read of the lines of an answer."""
        return read(self.lines(headers(app), {"model": MODEL, "messages": user(text)} | changes))

    def call(self, app, text):
        return self.ask(whole, app, text)

    def stream(self, app, text):
        return self.ask(streamed, app, text, stream=True)

    def tools(self, app, text):
        return self.ask(called, app, text, tools=[WEATHER])


class Curl(RawHttp):
    package = None
    options = []

    def lines(self, own, body):
        own = [part for header in own.items() for part in ("-H", ": ".join(header))]
        body = ["-H", "Content-Type: application/json", "-d", json.dumps(body)]
        command = ["curl", "-sSN", *self.options, URL, *own, *body]
        return subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()


class CurlHttp2(Curl):
    """HTTP/2 without TLS: curl fails where the server does not speak it."""

    options = ["--http2-prior-knowledge"]


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


class H2(RawHttp):
    """Asks on several streams of one connection at once, over HTTP/2 without TLS."""

    package = "h2"
    streams = 3

    def ask(self, read, app, text, **changes):
        body = {"model": MODEL, "messages": user(text)} | changes
        answers = [read(lines) for lines in self.exchanges(headers(app), body)]
        texts = {answer.text for answer in answers}
        if len(texts) != 1:
            raise ValueError(f"the streams differ: {texts}")
        return Answer(texts.pop(), *(one for answer in answers for one in answer.ids))

    def exchanges(self, own, body):
        """The lines of each stream's answer."""
        import h2.connection

        place = urlsplit(URL)
        body = json.dumps(body).encode()
        head = {":method": "POST", ":scheme": "http", ":authority": place.netloc, ":path": place.path}
        head |= {"content-type": "application/json", "content-length": str(len(body))}
        head |= {name.lower(): value for name, value in own.items()}
        connection = h2.connection.H2Connection()
        connection.initiate_connection()
        opened = [connection.get_next_available_stream_id() + 2 * turn for turn in range(self.streams)]
        for stream in opened:
            connection.send_headers(stream, list(head.items()))
        for stream in opened:
            connection.send_data(stream, body, end_stream=True)
        with socket.create_connection((place.hostname, place.port), timeout=60) as wire:
            wire.sendall(connection.data_to_send())
            answers = self.received(connection, wire, opened)
        return [answers[stream].decode().splitlines() for stream in opened]

    def received(self, connection, wire, opened):
        """The body of each stream's answer, once all have ended."""
        import h2.events as events

        answers, waiting = {stream: b"" for stream in opened}, set(opened)
        while waiting:
            came = wire.recv(65536)
            if not came:
                raise ConnectionError("the connection ended before its streams")
            for event in connection.receive_data(came):
                match event:
                    case events.ResponseReceived() if (status := dict(event.headers)[b":status"]) != b"200":
                        raise ValueError(f"status {status.decode()}")
                    case events.DataReceived():
                        answers[event.stream_id] += event.data
                        connection.acknowledge_received_data(event.flow_controlled_length, event.stream_id)
                    case events.StreamEnded():
                        waiting.discard(event.stream_id)
                    case events.StreamReset() | events.ConnectionTerminated():
                        raise ConnectionError(f"error code {event.error_code}")
            wire.sendall(connection.data_to_send())
        return answers
