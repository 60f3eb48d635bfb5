#!/usr/bin/env python3
"""Second readers of the gateway's HTTP/1: generated framings, each read by the gateway and by nginx, HAProxy,
Node.js and Python's h11.

    tests/campaign/framings.py --monitor PROGRAM [--cases 10000] [--seed 1] [--show 10]

Needs h11, nginx, haproxy and node. Three questions, each asked of every case; the goal of each is 0:

1. Read side by side: does another server read other requests than the gateway? One of the two may refuse and
   close where the other goes on; both may not go on with different requests.
2. Behind: does a model server that is one of the others see the requests that the gateway judged?
3. Before: where nginx or HAProxy forwards to the gateway, is there a request behind it that did not come
   through them?
All of it on loopback."""

import argparse
import asyncio
import collections
import pathlib
import sys

from framings_generate import cases
from framings_readers import Readers, free_port, h11_reader

SIDE_BY_SIDE = ["nginx", "haproxy", "node", "h11"]
AT_ONCE = 64
# A server that has said nothing for so long waits for more. A difference that rests on it is looked at again
# with the second, alone.
SILENCE, LONG_SILENCE = 0.4, 3.0
OPEN, CLOSED = "waits", "closed"
REFUSED = "refused"

Reading = collections.namedtuple("Reading", ["requests", "end"])


async def one_response(reader):
    """The line of one answer, REFUSED for another status, None at the end."""
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
    return body.decode("latin-1") if b" 200" in status[:13] else REFUSED


async def read_by(port, bytes_, silence):
    """What the server at a port reads of a case."""
    requests = []
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        writer.write(bytes_)
        while True:
            requests.append(await asyncio.wait_for(one_response(reader), silence))
    except asyncio.TimeoutError:
        return Reading(requests, OPEN)
    except (asyncio.IncompleteReadError, ConnectionError, IndexError, ValueError):
        return Reading(requests, CLOSED)
    finally:
        writer.close()


async def read_all(port, of, silence=SILENCE, at_once=AT_ONCE):
    """The readings of all cases, by number."""
    places, readings = asyncio.Semaphore(at_once), {}

    async def read(number, bytes_):
        async with places:
            readings[number] = await read_by(port, bytes_, silence)

    await asyncio.gather(*(read(number, bytes_) for number, bytes_ in of.items()))
    return readings


def without_front(request):
    """What counts of a request: whether a target keeps its scheme, host and fragment is no question of framing."""
    if request == REFUSED:
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


async def ask(name, judge, ours, port, of, show):
    """One row of the table; gives the number of differences that a second, slower look confirms."""
    theirs = await read_all(port, of)
    verdicts = {number: judge(ours[number], theirs[number]) for number in of}
    doubtful = [number for number, verdict in verdicts.items() if verdict == "DIFFERS"]
    for number in doubtful:
        one = {number: of[number]}
        ours_again = (await read_all(ask.gateway, one, LONG_SILENCE, 1))[number]
        again = (await read_all(port, one, LONG_SILENCE, 1))[number]
        verdicts[number] = judge(ours_again, again)
        if verdicts[number] == "DIFFERS" and show > 0:
            show -= 1
            print(f"\n{name}, case {number}: {of[number]!r}\n  gateway: {ours_again}\n  {name}: {again}\n")
    count = collections.Counter(verdicts.values())
    columns = [count["same"], count["we refuse"], count["they refuse"], count["DIFFERS"]]
    print(f"{name:28}" + "".join(f"{column:>13}" for column in columns), flush=True)
    return count["DIFFERS"]


async def campaign(arguments):
    of = cases(arguments.seed, arguments.cases)
    readers = Readers(arguments.monitor.resolve())
    h11_port = free_port()
    server = await asyncio.start_server(h11_reader, "127.0.0.1", h11_port, backlog=4096)
    wait = asyncio.to_thread
    try:
        node = await wait(readers.node)
        alone = {
            "nginx": await wait(readers.nginx, h11_port),
            "haproxy": await wait(readers.haproxy, h11_port),
            "node": node,
            "h11": h11_port,
        }
        gateway = ask.gateway = await wait(readers.gateway, h11_port)
        ours = await read_all(gateway, of)
        served = sum(request != REFUSED for reading in ours.values() for request in reading.requests)
        firsts = sum("-first" in reading.requests[0] for reading in ours.values() if reading.requests)
        print(f"{len(of)} framings of seed {arguments.seed}; the gateway served {served} requests, the odd one in {firsts}")
        print(" " * 28 + "".join(f"{title:>13}" for title in ["same", "we refuse", "they refuse", "DIFFERS"]))
        found = 0
        for name, port in alone.items():
            found += await ask(name, compare, ours, port, of, arguments.show)
        for name in ["nginx", "haproxy"]:
            front = await wait(getattr(readers, name), gateway)
            found += await ask(f"{name} before the gateway", before, ours, front, of, arguments.show)
        for name in ["nginx", "haproxy", "node"]:
            port = await wait(readers.gateway, alone[name])
            found += await ask(f"{name} behind the gateway", compare, ours, port, of, arguments.show)
        print(f"{found} read differently")
        return found
    finally:
        readers.close()
        server.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--monitor", type=pathlib.Path, required=True)
    parser.add_argument("--cases", type=int, default=10_000)
    parser.add_argument("--seed", default="1")
    parser.add_argument("--show", type=int, default=10, help="how many differences of a row are printed in full")
    return 1 if asyncio.run(campaign(parser.parse_args())) else 0


if __name__ == "__main__":
    sys.exit(main())
