#!/usr/bin/env python3
"""The way back to an older release, with its real program:

    tests/campaign/way_back.py NEW OLD SCHEMA

Fills an installation with the program NEW (policies, calls, a tool call), backs it up, restores it into the schema
that OLD knows, has OLD serve it, compares what both answer, makes calls through OLD, and has NEW take the folder over
again. Exits with 1 and the difference where OLD reads anything else. Release 4.1.0 has schema 11; its program is
`cargo build` at its commit. SQLite, loopback, one process at a time; about half a minute.
"""

import json
import os
import socket
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request

NEW, OLD, SCHEMA = sys.argv[1:4]
PHRASE = "Not here."
CARD = "My card is 4111 1111 1111 1111"
PATIENCE = 60
STARTED = []


def fail(what):
    sys.exit(f"way back: {what}")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


def until(what, look):
    deadline = time.monotonic() + PATIENCE
    while True:
        found = look()
        if found is not None:
            return found
        if time.monotonic() > deadline:
            fail(f"not within {PATIENCE} s: {what}")
        time.sleep(0.1)


def command(program, data, *arguments):
    done = subprocess.run([program, *arguments, "--data-dir", data], env={}, capture_output=True, text=True)
    if done.returncode:
        fail(f"monitor {' '.join(arguments)}: {done.stderr}")
    return done.stdout


class Server:
    def __init__(self, program, data, log):
        self.gateway, self.analysis, operations = free_ports(3)
        variables = {
            "GATEWAY_LISTEN": f"127.0.0.1:{self.gateway}",
            "ANALYSIS_LISTEN": f"127.0.0.1:{self.analysis}",
            "OPERATIONS_LISTEN": f"127.0.0.1:{operations}",
        }
        self.data, self.program, self.key = data, program, None
        with open(log, "ab") as file:
            arguments = [program, "all", "--data-dir", data]
            self.process = subprocess.Popen(arguments, env=variables, stdout=subprocess.DEVNULL, stderr=file)
        STARTED.append(self.process)
        self.log = log
        self.operations = operations
        until(f"{program} is ready", self.ready)

    def ready(self):
        if self.process.poll() is not None:
            with open(self.log) as log:
                fail(f"{self.program} ended with {self.process.returncode}: {log.read()[-2000:]}")
        try:
            self.send(self.operations, "GET", "/readyz")
            return True
        except (urllib.error.URLError, ConnectionError):
            return None

    def send(self, port, method, path, body=None, **headers):
        names = {name.replace("_", "-"): value for name, value in headers.items()}
        data = None if body is None else json.dumps(body).encode()
        names["Content-Type"] = "application/json"
        request = urllib.request.Request(f"http://127.0.0.1:{port}{path}", data, names, method=method)
        with urllib.request.urlopen(request, timeout=PATIENCE) as answer:
            return answer.read()

    def api(self, method, path, body=None, **headers):
        return json.loads(self.send(self.analysis, method, path, body, Authorization=f"Bearer {self.key}", **headers))

    def call(self, text, application):
        body = {"model": "demo-small", "messages": [{"role": "user", "content": text}]}
        headers = {"X_Monitor_Api_Key": self.key, "X_Application_Id": application}
        answer = json.loads(self.send(self.gateway, "POST", "/v1/chat/completions", body, **headers))
        return answer["choices"][0]["message"]["content"]

    def records(self):
        """The whole records by id."""
        page = self.api("GET", "/records?limit=200")
        if page["next_before"]:
            fail("more records than one page")
        found = {}
        for row in page["records"]:
            whole = self.api("GET", f"/records/{row['request_id']}")
            found[row["request_id"]] = whole
        return found

    def has(self, count):
        def look():
            found = self.api("GET", "/records?limit=200")["records"]
            return True if len(found) >= count else None

        until(f"{count} records", look)

    def policy(self, application):
        return self.api("GET", f"/applications/{application}/policy")["policy"]

    def stop(self):
        self.process.terminate()
        if self.process.wait(PATIENCE):
            fail(f"{self.program} ended with {self.process.returncode}")


def same(what, newer, older):
    if newer != older:
        fail(f"{what}: {newer!r} by the newer program, {older!r} by the older one")
    print(f"the same: {what}")


def create(server, name, policy):
    body = {"name": name, "policy": policy, "rules": {"keep_original": True}}
    return server.api("POST", "/applications", body)["id"]


def fill(server):
    """What only the newer version knows is among it."""
    plain = server.api("GET", "/applications")["applications"][0]["id"]
    sync = {"app_mode": "sync", "phrase": PHRASE}
    strict = create(server, "strict", sync)
    newer = {"scan_roles": ["user_turn"], "stream_in_sync": "replay", "check_tool_arguments": False}
    later = create(server, "later", sync | newer)
    for application in (plain, strict, later):
        server.call("Hello", application)
    same("a block of the newer program", PHRASE, server.call(CARD, strict))
    server.call(CARD, plain)
    server.has(9)
    exchange = server.api("GET", "/records?limit=1")["records"][0]["request_id"]
    call = {"application_id": plain, "tool_name": "mail", "tool_call_id": "call-1", "tool_input": {"to": "a@example.com"}}
    call["additional_parameters"] = {"request_id": exchange, "user_id": "u"}
    server.api("POST", "/process_tool_call/", call)
    server.has(10)
    return plain, strict, later


def compare(newer, older, count):
    same(f"ids of {count} records", sorted(newer), sorted(older))
    for name in ("cleaned_text", "message", "stage", "created_at_ms", "application_id", "user_id", "dataclean"):
        shown = [{id: record.get(name) for id, record in found.items()} for found in (newer, older)]
        if any(value is not None for value in shown[0].values()):
            same(f"{name} of the records", *shown)


def main():
    with tempfile.TemporaryDirectory() as folder:
        try:
            go(folder)
        finally:
            for process in STARTED:
                process.kill()
                process.wait()


def go(folder):
    data, back, archive = (os.path.join(folder, name) for name in ("data", "back", "backup"))
    log = os.path.join(folder, "log")
    server = Server(NEW, data, log)
    server.key = key = command(NEW, data, "token", "create", "--name", "way", "--scope", "ingest,read,admin").strip()
    plain, strict, later = fill(server)
    newer = server.records()
    names = {one["id"]: one["name"] for one in server.api("GET", "/applications")["applications"]}
    policy = server.policy(strict)
    server.stop()
    command(NEW, data, "backup", archive)
    print(command(NEW, back, "restore", archive, "--schema", SCHEMA), end="")

    server = Server(OLD, back, log)
    server.key = key
    older = server.records()
    compare(newer, older, len(newer))
    same("applications", names, {one["id"]: one["name"] for one in server.api("GET", "/applications")["applications"]})
    known = server.policy(strict)
    same("the policy", {name: policy[name] for name in known}, known)
    print(f"the later policy as the older one reads it: {json.dumps(server.policy(later))}")
    same("a block", PHRASE, server.call(CARD, strict))
    same("a block by the later policy", PHRASE, server.call(CARD, later))
    server.call("Hello again", plain)
    server.has(len(newer) + 4)
    chain = server.api("GET", "/chain")["gateways"]
    same("complete chains", [True] * len(chain), [one["complete"] for one in chain])
    server.stop()

    server = Server(NEW, back, log)
    server.key = key
    forward = server.records()
    if len(forward) < len(newer) + 4 or not newer.keys() <= forward.keys():
        fail(f"{len(forward)} records after the way forward, {len(newer) + 4} expected")
    same("a block after the way forward", PHRASE, server.call(CARD, strict))
    server.stop()
    print(f"{OLD} served {len(newer)} records of schema {SCHEMA} and added {len(forward) - len(newer)}")


if __name__ == "__main__":
    main()
