#!/usr/bin/env python3
"""Runs gateway and analysis server for hours under load while everything around them changes, and fits a line
through what they hold:

    tests/campaign/soak.py --monitor PROGRAM [--hours 8] [--rate 50] [--folder DIR]

Calls at a fixed rate, one in five a stream; every few minutes a reload, a rotated access log, an upgrade to
the same program, and a minute without the backend. Sampled from /proc: resident memory, descriptors and
threads of both processes, bytes of the spool. After a fifth of the time, the warm-up, the slope of each is
to be 0: the table shows it a day, with the lowest and highest value. Ends with 1 when a call failed or a
record is missing from `GET /chain`. Loopback only; ends what it started."""

import argparse
import asyncio
import contextlib
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

TOKEN = "soak-token-of-this-machine"
WARM = 0.2
SAMPLES = 500
MINUTE = 60.0
# What happens, and how often.
RELOAD, ROTATE, UPGRADE, OUTAGE, OUTAGE_LENGTH = 5 * MINUTE, 7 * MINUTE, 30 * MINUTE, 20 * MINUTE, MINUTE
BODY = '{"model":"m","stream":%s,"messages":[{"role":"user","content":"My card is 4276 5493 6034 4563, call %d"}]}'


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Backend:
    """A TCP proxy before the analysis server that can be switched off."""

    def __init__(self, port):
        self.port, self.is_open, self.connections = port, True, set()

    async def serve(self, listen):
        return await asyncio.start_server(self.connect, "127.0.0.1", listen)

    async def connect(self, reader, writer):
        if not self.is_open:
            writer.transport.abort()
            return
        try:
            other_reader, other_writer = await asyncio.open_connection("127.0.0.1", self.port)
        except OSError:
            writer.transport.abort()
            return
        pair = (writer, other_writer)
        self.connections.add(pair)
        with contextlib.suppress(asyncio.CancelledError):
            await asyncio.gather(self.copy(reader, other_writer), self.copy(other_reader, writer))
        self.connections.discard(pair)

    @staticmethod
    async def copy(reader, writer):
        with contextlib.suppress(OSError, asyncio.CancelledError):
            while piece := await reader.read(65536):
                writer.write(piece)
                await writer.drain()
        with contextlib.suppress(OSError):
            writer.close()

    def close(self):
        self.is_open = False
        for pair in list(self.connections):
            for writer in pair:
                writer.transport.abort()


class Service:
    """One role of the program. An upgrade leaves another process in its place: the one that holds the port."""

    def __init__(self, program, role, folder, environment):
        self.program, self.role, self.folder = program, role, folder
        self.environment = {"PATH": os.environ["PATH"], "MONITOR_DATA_DIR": str(folder / role), **environment}
        self.log = open(folder / f"{role}.log", "wb")
        self.child = subprocess.Popen([program, role], env=self.environment, stdout=self.log, stderr=self.log)

    def command(self, *words):
        done = subprocess.run([self.program, *words], env=self.environment, capture_output=True, text=True, timeout=120)
        return done.returncode == 0

    def folder_mark(self):
        return f"MONITOR_DATA_DIR={self.folder / self.role}".encode()

    def pids(self):
        """The processes of this data folder that run; an upgrade has two for a while."""
        found = []
        for entry in pathlib.Path("/proc").iterdir():
            with contextlib.suppress(OSError):
                words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
                is_ours = words[1:2] == [self.role.encode()] and self.folder_mark() in (entry / "environ").read_bytes()
                found += [int(entry.name)] if is_ours else []
        return found

    def pid(self):
        """The newest of them."""
        return max(self.pids(), default=None)

    def sample(self):
        place = pathlib.Path(f"/proc/{self.pid()}")
        status = dict(line.split(":", 1) for line in (place / "status").read_text().splitlines() if ":" in line)
        return {
            f"{self.role}: memory, MiB": int(status["VmRSS"].split()[0]) / 1024,
            f"{self.role}: descriptors": len(os.listdir(place / "fd")),
            f"{self.role}: threads": int(status["Threads"]),
        }

    def stop(self):
        for pid in self.pids():
            with contextlib.suppress(ProcessLookupError):
                os.kill(pid, signal.SIGTERM)
        with contextlib.suppress(subprocess.TimeoutExpired):
            self.child.wait(60)
        self.log.close()


async def one_call(port, number, result):
    body = (BODY % ("true" if number % 5 == 0 else "false", number)).encode()
    head = (
        f"POST /v1/chat/completions HTTP/1.1\r\nHost: soak\r\nX-Monitor-Api-Key: {TOKEN}\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\nConnection: close\r\n\r\n"
    )
    try:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        writer.write(head.encode() + body)
        answer = await asyncio.wait_for(reader.read(-1), 60)
        writer.close()
        result["answered" if answer.startswith(b"HTTP/1.1 200") else "failed"] += 1
    except (OSError, asyncio.TimeoutError):
        result["failed"] += 1


async def load(port, rate, end, result):
    number, calls = 0, set()
    begin = time.monotonic()
    while time.monotonic() < end:
        number += 1
        call = asyncio.create_task(one_call(port, number, result))
        calls.add(call)
        call.add_done_callback(calls.discard)
        await asyncio.sleep(max(0, begin + number / rate - time.monotonic()))
    await asyncio.gather(*calls)


async def every(period, end, act):
    while time.monotonic() + period < end:
        await asyncio.sleep(period)
        await act()


def folder_bytes(folder):
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())


async def watch(services, spool, end, length, samples):
    begin = time.monotonic()
    while time.monotonic() < end:
        await asyncio.sleep(length / SAMPLES)
        values = {}
        with contextlib.suppress(OSError, KeyError):
            for service in services:
                values |= service.sample()
            values["spool, MiB"] = folder_bytes(spool) / 2**20
            samples.append((time.monotonic() - begin, values))


def slope(points):
    """Units a day, by least squares."""
    middle = sum(x for x, _ in points) / len(points)
    spread = sum((x - middle) ** 2 for x, _ in points)
    return 86400 * sum((x - middle) * y for x, y in points) / spread if spread else 0.0


def report(samples, length):
    warm = [(at, values) for at, values in samples if at > WARM * length]
    print(f"{'':28}{'lowest':>10}{'highest':>10}{'slope a day':>14}")
    for name in warm[0][1] if warm else []:
        points = [(at, values[name]) for at, values in warm]
        heights = [y for _, y in points]
        print(f"{name:28}{min(heights):>10.1f}{max(heights):>10.1f}{slope(points):>14.2f}")


def chain(port):
    request = urllib.request.Request(f"http://127.0.0.1:{port}/chain", headers={"Authorization": f"Bearer {TOKEN}"})
    return json.load(urllib.request.urlopen(request, timeout=120))["gateways"]


async def whole(port, calls):
    """Waits until every record of the calls has arrived without a gap."""
    gateways = []
    for _ in range(120):
        gateways = await asyncio.to_thread(chain, port)
        if gateways and all(g["complete"] for g in gateways) and sum(g["count"] for g in gateways) >= 2 * calls:
            return True
        await asyncio.sleep(2)
    print("the chain is not complete:", json.dumps(gateways)[:1000])
    return False


async def first_application(log):
    """The id that the first start prints."""
    while True:
        for line in log.read_text().splitlines():
            if line.split()[:1] == ["application"]:
                return line.split()[1]
        await asyncio.sleep(0.1)


async def soak(arguments, folder):
    length = arguments.hours * 3600
    upstream_port, analysis_port, way_port, port = (free_port() for _ in range(4))
    access = folder / "access.log"
    program = str(arguments.monitor.resolve())
    (folder / "gateway.yaml").write_text(f"log: {{access: {{to: file, file: {access}}}}}\n")
    upstream = subprocess.Popen([program, "demo-upstream", "--listen", f"127.0.0.1:{upstream_port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    operations = lambda: {"OPERATIONS_LISTEN": f"127.0.0.1:{free_port()}"}
    (folder / "analysis.yaml").write_text(f"first_token: {TOKEN}\n")
    analysis = Service(program, "analysis", folder, {"ANALYSIS_LISTEN": f"127.0.0.1:{analysis_port}", "MONITOR_CONFIG": str(folder / "analysis.yaml"), **operations()})
    application = await first_application(folder / "analysis.log")
    backend = Backend(analysis_port)
    way = await backend.serve(way_port)
    gateway = Service(program, "gateway", folder, {
        "GATEWAY_LISTEN": f"127.0.0.1:{port}", "UPSTREAM_URL": f"http://127.0.0.1:{upstream_port}",
        "MONITOR_URL": f"http://127.0.0.1:{way_port}", "MONITOR_CONFIG": str(folder / "gateway.yaml"),
        "MONITOR_APPLICATION_ID": application, **operations(),
    })
    result, samples = {"answered": 0, "failed": 0, "actions": 0, "refused actions": 0}, []

    async def act(service, word):
        done = await asyncio.to_thread(service.command, word)
        result["actions" if done else "refused actions"] += 1

    async def rotate():
        with contextlib.suppress(OSError):
            access.rename(folder / "access.log.1")
        await act(gateway, "reload")

    async def outage():
        backend.close()
        await asyncio.sleep(min(OUTAGE_LENGTH, length / 20))
        backend.is_open = True

    try:
        await asyncio.sleep(5)
        end = time.monotonic() + length
        part = min(1.0, length / 7200)
        await asyncio.gather(
            load(port, arguments.rate, end, result),
            watch([gateway, analysis], folder / "gateway", end, length, samples),
            every(RELOAD * part, end, lambda: act(gateway, "reload")),
            every(ROTATE * part, end, rotate),
            every(UPGRADE * part, end, lambda: act(gateway, "upgrade")),
            every(OUTAGE * part, end, outage),
        )
        is_whole = await whole(analysis_port, result["answered"])
        report(samples, length)
        print(f"{arguments.hours} h: {json.dumps(result)}, " + ("no record is missing" if is_whole else "RECORDS ARE MISSING"))
        return 0 if is_whole and not result["failed"] else 1
    finally:
        gateway.stop()
        analysis.stop()
        upstream.kill()
        upstream.wait()
        way.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--monitor", type=pathlib.Path, required=True)
    parser.add_argument("--hours", type=float, default=8)
    parser.add_argument("--rate", type=float, default=50, help="calls a second")
    parser.add_argument("--folder", type=pathlib.Path, help="where data and logs are kept; by default a new one")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="monitor-soak-") as new:
        folder = (arguments.folder or pathlib.Path(new)).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        return asyncio.run(soak(arguments, folder))


if __name__ == "__main__":
    sys.exit(main())
