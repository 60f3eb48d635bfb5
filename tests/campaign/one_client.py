#!/usr/bin/env python3
"""The memory that one hostile client can take of an analysis server: `tests/campaign/one_client.py --monitor PROGRAM`.

Starts `monitor analysis` on loopback with the default limits and prints, for each kind of request, how the peak memory
grows while 500 connections without an access token, or with an invented one, send it but for its last bytes, and the
rest three seconds later. The allocator returns free pages at once, so that they do not count. The gateway's port has
the test `one_invented_key_takes_a_bounded_part_of_the_memory`. Exit code 1 beyond 64 MiB.
"""

import argparse
import collections
import json
import os
import pathlib
import re
import socket
import subprocess
import sys
import tempfile
import threading
import time

MOST_MIB = 64
LAST = 10


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def memory(process, name):
    """MiB, from the kernel's account of the process."""
    status = pathlib.Path(f"/proc/{process.pid}/status").read_text()
    return int(re.search(rf"{name}:\s+(\d+)", status).group(1)) // 1024


def post(path, body, headers="", content_type="application/json"):
    head = f"POST {path} HTTP/1.1\r\nHost: monitor\r\nContent-Type: {content_type}\r\n{headers}Content-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


def requests(analysis, operations):
    """Rows of (name, port, connections, request)."""
    message = json.dumps({"message": "x" * 4_000_000}).encode()
    invented = "Authorization: Bearer invented\r\n"
    lines = "".join(f"X-Header-{number}: {'y' * 8_000}\r\n" for number in range(60))
    head = f"GET /records HTTP/1.1\r\nHost: monitor\r\n{lines}\r\n".encode()
    form = "application/x-www-form-urlencoded"
    yield "forms of 4 MB before sign-in", analysis, 500, post("/ui/sign-in", b"a" * 4_000_000, content_type=form)
    yield "messages of 4 MB without a token", analysis, 500, post("/process_request/", message)
    yield "messages of 4 MB, invented token", analysis, 500, post("/process_request/", message, invented)
    yield "messages of 60 KB, invented token", analysis, 500, post("/process_request/", message[:60_000], invented)
    yield "heads of 480 KB", analysis, 500, head
    yield "heads of 480 KB, operations port", operations, 64, head


def flood(port, connections, request):
    """Answers by status, or by the error of the connection."""
    answers, lock = collections.Counter(), threading.Lock()

    def client():
        try:
            with socket.create_connection(("127.0.0.1", port)) as one:
                one.settimeout(20)
                one.sendall(request[:-LAST])
                time.sleep(3)
                one.sendall(request[-LAST:])
                answer = one.recv(4096)[9:12].decode() or "closed"
        except OSError as error:
            answer = type(error).__name__
        with lock:
            answers[answer] += 1

    threads = [threading.Thread(target=client, daemon=True) for _ in range(connections)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return dict(answers)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--monitor", default="target/release/monitor")
    arguments = parser.parse_args()
    analysis, operations = free_port(), free_port()
    most = 0
    with tempfile.TemporaryDirectory(prefix="monitor-one-client-") as folder:
        lines = [f"listen: 127.0.0.1:{analysis}", f"operations: 127.0.0.1:{operations}", f"data_dir: {folder}/data"]
        config = pathlib.Path(folder, "monitor.yaml")
        config.write_text("\n".join([*lines, "first_token: mon_one_client_first_token"]) + "\n")
        environment = {**os.environ, "_RJEM_MALLOC_CONF": "dirty_decay_ms:0,muzzy_decay_ms:0"}
        log = open(pathlib.Path(folder, "log"), "w")
        command = [arguments.monitor, "analysis", "--config", str(config)]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
        try:
            for _ in range(600):
                if process.poll() is not None:
                    sys.exit("monitor ended at its start")
                try:
                    socket.create_connection(("127.0.0.1", analysis)).close()
                    break
                except OSError:
                    time.sleep(0.05)
            # The detection models are unpacked behind the start.
            time.sleep(5)
            for name, port, connections, request in requests(analysis, operations):
                before = memory(process, "VmRSS")
                # The peak begins anew.
                pathlib.Path(f"/proc/{process.pid}/clear_refs").write_text("5")
                answers = flood(port, connections, request)
                grown = memory(process, "VmHWM") - before
                most = max(most, grown)
                print(f"{name:36} {connections} connections  {grown:3} MiB  {answers}", flush=True)
                time.sleep(2)
        finally:
            process.terminate()
            process.wait(60)
            log.close()
    sys.exit(1 if most > MOST_MIB else 0)


if __name__ == "__main__":
    main()
