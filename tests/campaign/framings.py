#!/usr/bin/env python3
"""Second readers of the gateway's HTTP/1: generated framings, each read by the gateway and by nginx, HAProxy,
Node.js and Python's h11.

    tests/campaign/framings.py --monitor PROGRAM [--port gateway|analysis] [--cases 10000] [--seed 1] [--show 10]

Needs h11, nginx, haproxy and node. Three questions, each asked of every case; the goal of each is 0:

1. Read side by side: does another server read other requests than the gateway? One of the two may refuse and
   close where the other goes on; both may not go on with different requests.
2. Behind: does a model server that is one of the others see the requests that the gateway judged?
3. Before: where nginx or HAProxy forwards to the gateway, is there a request behind it that did not come
   through them?

With `--port analysis` the port of the analysis API is read instead. It forwards nothing, and its answers name no
request, but the paths asked for have an answer each. So the first question is which requests it reads, in which
order; the second is not asked; the third is whether nginx or HAProxy before it get the answers to what they read.
All of it on loopback."""

import argparse
import asyncio
import collections
import difflib
import json
import pathlib
import re
import sys

from framings_generate import ANALYSIS, GATEWAY, cases
from framings_readers import Readers, free_port, h11_reader

AT_ONCE = 64
# A server that has said nothing for so long waits for more. A difference that rests on it is looked at again
# with the second, alone.
SILENCE, LONG_SILENCE = 0.4, 3.0
OPEN, CLOSED = "waits", "closed"
REFUSED = "refused"
# The request of a case that no path names, and the paths that the analysis API answers the others with.
FIRST = "first"
OTHERS = ["sessions", "statistics", "applications"]

Reading = collections.namedtuple("Reading", ["requests", "end"])


def line_of(status, _, body):
    """The line with which a reader names a request."""
    return body.decode("latin-1") if status == b"200" else REFUSED


def name_of_line(status, fields, body):
    """The request that a reader's line names, by its path alone: "first" or another that no analysis API knows."""
    text = line_of(status, fields, body)
    return text if text == REFUSED else named(text.split(" | ")[1])


def name_of_answer(status, fields, body):
    """The request that the analysis API answers. An answer that is not its own is that of a parser. It refuses a body
    that is announced as too large, and closes behind one whose end it does not look for or does not find."""
    try:
        error = json.loads(body)["error"]["message"] if status != b"200" else ""
    except (ValueError, KeyError, TypeError):
        return REFUSED
    name = named(error)
    closes = fields.get(b"connection") == b"close" or "incomplete" in error
    return REFUSED if status == b"413" or (name == FIRST and closes) else name


def named(text):
    """The path in a text that another one of those asked for is meant by; a byte of it may be odd."""
    words = re.findall(r"/([^/?# ]+)", text)
    close = [word for word in words for word in difflib.get_close_matches(word, OTHERS, 1, 0.75)]
    return f"/{close[0].removesuffix('s')}" if close else FIRST


class Side:
    """A server that reads, and how its answers name the requests."""

    def __init__(self, port, name=line_of):
        self.port, self.name = port, name


async def one_response(reader, name):
    """What one answer names."""
    while True:
        head = await reader.readuntil(b"\r\n\r\n")
        status, *fields = head.split(b"\r\n")
        if status.split(b" ")[1:2] == [b"101"]:
            return "upgraded"
        if not status.split(b" ")[1:2][0].startswith(b"1"):
            break
    fields = {name.strip().lower(): value.strip() for name, _, value in (field.partition(b":") for field in fields)}
    if fields.get(b"transfer-encoding") == b"chunked":
        body = b""
        while size := int(await reader.readuntil(b"\r\n"), 16):
            body += (await reader.readexactly(size + 2))[:-2]
        await reader.readuntil(b"\r\n")
    elif b"content-length" in fields:
        body = await reader.readexactly(int(fields[b"content-length"]))
    else:
        body = await reader.read()
    return name(status.split(b" ")[1], fields, body)


async def read_by(side, bytes_, silence):
    """What a server reads of a case."""
    requests = []
    reader, writer = await asyncio.open_connection("127.0.0.1", side.port)
    try:
        writer.write(bytes_)
        while True:
            requests.append(await asyncio.wait_for(one_response(reader, side.name), silence))
    except asyncio.TimeoutError:
        return Reading(requests, OPEN)
    except (asyncio.IncompleteReadError, ConnectionError, IndexError, ValueError):
        return Reading(requests, CLOSED)
    finally:
        writer.close()


async def read_all(side, of, silence=SILENCE, at_once=AT_ONCE):
    """The readings of all cases, by number."""
    places, readings = asyncio.Semaphore(at_once), {}

    async def read(number, bytes_):
        async with places:
            readings[number] = await read_by(side, bytes_, silence)

    await asyncio.gather(*(read(number, bytes_) for number, bytes_ in of.items()))
    return readings


def without_front(request):
    """What counts of a request: whether a target keeps its scheme, host and fragment is no question of framing."""
    if " | " not in request:
        return request
    method, target, *rest, _ = request.split(" | ")
    path = target.removeprefix("http://a.test").partition("#")[0]
    return [method, path, *rest]


def has_refused(reading, at):
    """Whether a server has ended the connection with this request at the latest."""
    rest = reading.requests[at:]
    return reading.end == CLOSED and rest in ([], [REFUSED])


def compare(ours, theirs):
    """"same", "we refuse", "they refuse" or "DIFFERS"."""
    for at in range(max(len(ours.requests), len(theirs.requests))):
        if ours.requests[at:] == theirs.requests[at:]:
            return "same"
        if has_refused(ours, at):
            return "we refuse"
        if has_refused(theirs, at):
            return "they refuse"
        pair = [reading.requests[at] if at < len(reading.requests) else None for reading in (ours, theirs)]
        if None in pair:
            return "DIFFERS"
        # Who refused a request and read on must read the same behind it.
        if REFUSED not in pair and without_front(pair[0]) != without_front(pair[1]):
            return "DIFFERS"
    return "same"


def before(ours, theirs):
    """Whether all that came through a front bears its mark."""
    del ours
    marked = [request == REFUSED or request.endswith(" | 1") for request in theirs.requests]
    return "same" if all(marked) else "DIFFERS"


def in_a_chain(alone, chained):
    """As `compare`; a front may also pass on an early answer of the server behind it and await the rest of a body."""
    early = [[*alone.requests, answer] for answer in (REFUSED, FIRST)]
    waits = chained.end == OPEN and chained.requests in early
    return "they refuse" if waits else compare(alone, chained)


class Table:
    """Prints one row for each question, and counts the differences that a second, slower look confirms."""

    def __init__(self, of, show):
        self.of, self.show, self.found = of, show, 0

    def begin(self, text):
        print(text)
        print(" " * 32 + "".join(f"{title:>13}" for title in ["same", "we refuse", "they refuse", "DIFFERS"]))

    async def row(self, title, judge, ours, theirs):
        """`ours` are the readings that were made already, and their side."""
        side, readings = ours
        others = await read_all(theirs, self.of)
        verdicts = {number: judge(readings[number], others[number]) for number in self.of}
        show = self.show
        for number in [number for number, verdict in verdicts.items() if verdict == "DIFFERS"]:
            one = {number: self.of[number]}
            ours_again = (await read_all(side, one, LONG_SILENCE, 1))[number]
            again = (await read_all(theirs, one, LONG_SILENCE, 1))[number]
            verdicts[number] = judge(ours_again, again)
            if verdicts[number] == "DIFFERS" and show > 0:
                show -= 1
                print(f"\n{title}, case {number}: {self.of[number]!r}\n  one: {ours_again}\n  other: {again}\n")
        count = collections.Counter(verdicts.values())
        columns = [count["same"], count["we refuse"], count["they refuse"], count["DIFFERS"]]
        print(f"{title:32}" + "".join(f"{column:>13}" for column in columns), flush=True)
        self.found += count["DIFFERS"]


async def gateway_rows(table, readers, alone):
    wait = asyncio.to_thread
    side = Side(await wait(readers.gateway, alone["h11"]))
    ours = (side, await read_all(side, table.of))
    served = sum(request != REFUSED for reading in ours[1].values() for request in reading.requests)
    firsts = sum("-first" in reading.requests[0] for reading in ours[1].values() if reading.requests)
    table.begin(f"the gateway served {served} requests, the odd one in {firsts}")
    for name, port in alone.items():
        await table.row(name, compare, ours, Side(port))
    for name in ["nginx", "haproxy"]:
        front = await wait(getattr(readers, name), side.port)
        await table.row(f"{name} before the gateway", before, ours, Side(front))
    for name in ["nginx", "haproxy", "node"]:
        port = await wait(readers.gateway, alone[name])
        await table.row(f"{name} behind the gateway", in_a_chain, ours, Side(port))


async def analysis_rows(table, readers, alone):
    wait = asyncio.to_thread
    side = Side(await wait(readers.analysis), name_of_answer)
    ours = (side, await read_all(side, table.of))
    served = collections.Counter(request for reading in ours[1].values() for request in reading.requests)
    table.begin(f"the analysis API read {dict(sorted(served.items()))}")
    for name, port in alone.items():
        await table.row(name, compare, ours, Side(port, name_of_line))
    for name in ["nginx", "haproxy"]:
        itself = Side(alone[name], name_of_line)
        front = Side(await wait(getattr(readers, name), side.port), name_of_answer)
        alone_readings = (itself, await read_all(itself, table.of))
        await table.row(f"{name} before the analysis API", in_a_chain, alone_readings, front)


async def campaign(arguments):
    port, rows = {"gateway": (GATEWAY, gateway_rows), "analysis": (ANALYSIS, analysis_rows)}[arguments.port]
    table = Table(cases(arguments.seed, arguments.cases, port), arguments.show)
    readers = Readers(arguments.monitor.resolve())
    h11_port = free_port()
    server = await asyncio.start_server(h11_reader, "127.0.0.1", h11_port, backlog=4096)
    wait = asyncio.to_thread
    try:
        alone = {
            "nginx": await wait(readers.nginx, h11_port),
            "haproxy": await wait(readers.haproxy, h11_port),
            "node": await wait(readers.node),
            "h11": h11_port,
        }
        print(f"{len(table.of)} framings of seed {arguments.seed}")
        await rows(table, readers, alone)
        print(f"{table.found} read differently")
        return table.found
    finally:
        readers.close()
        server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--monitor", type=pathlib.Path, required=True)
    parser.add_argument("--port", choices=["gateway", "analysis"], default="gateway")
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--show", type=int, default=10, help="how many differences of a row are printed in full")
    return 1 if asyncio.run(campaign(parser.parse_args())) else 0


if __name__ == "__main__":
    sys.exit(main())
