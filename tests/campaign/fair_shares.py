#!/usr/bin/env python3
"""One tenant's sync checks while five others flood: `tests/campaign/fair_shares.py --monitor target/release/monitor`.

Starts `monitor all` on loopback with six applications in sync mode, each with an access key of its own. Every
prompt holds a card number, so a call ends with the verdict and no model server has a part in its time. The
measured tenant calls at a steady pace, with short messages and with messages of 100 KiB; the others call on six
connections each as fast as they are answered: first with 2 MiB, then with 1 KiB. Idle rounds are measured between the
floods. Clients on other machines would take no processor from the server: the flood runs when nothing else wants one
(SCHED_IDLE), and the measured client is not kept waiting for one (SCHED_FIFO, as root). Exit code 1 where a p99 is
above twice the idle one.
"""

import argparse
import http.client
import json
import multiprocessing
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import threading
import time

KEY = "mon_fair_shares_first_key"
TENANTS = 6
CONNECTIONS = 6
CARD = "my card is 4111 1111 1111 1111. "


def free_port():
    with socket.socket() as one:
        one.bind(("127.0.0.1", 0))
        return one.getsockname()[1]


def application(number):
    return f"6f1c0000-0000-4000-8000-00000000000{number}"


def body(size):
    words = "The quick brown fox jumps over the lazy dog and reads the news. "
    text = (CARD + words * (size // len(words) + 1))[: max(size, len(CARD))]
    return json.dumps({"model": "m", "messages": [{"role": "user", "content": text}]}).encode()


def call(connection, key, number, content):
    headers = {
        "Content-Type": "application/json",
        "X-Monitor-Api-Key": key,
        "X-Application-Id": application(number),
    }
    connection.request("POST", "/v1/chat/completions", content, headers)
    answer = connection.getresponse()
    answer.read()
    return answer.status, answer.getheader("X-Request-Id")


def flood(port, keys, size, stop, count):
    """Five tenants on six connections each."""
    os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
    content = body(size)

    def one(number):
        while not stop.is_set():
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
            try:
                while not stop.is_set():
                    call(connection, keys[number], number, content)
                    with count.get_lock():
                        count.value += 1
            except OSError:
                time.sleep(0.05)
            finally:
                connection.close()

    threads = [threading.Thread(target=one, args=(number,), daemon=True) for number in range(1, TENANTS) for _ in range(CONNECTIONS)]
    for thread in threads:
        thread.start()
    stop.wait()
    for thread in threads:
        thread.join(timeout=30)


def measure(port, key, calls, size):
    """Seconds of each call of the measured tenant, at a steady pace on one connection."""
    content = body(size)
    if os.geteuid() == 0:
        os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=120)
    times, failed = [], 0
    for _ in range(calls):
        began = time.perf_counter()
        try:
            status, _ = call(connection, key, 0, content)
            failed += status != 200
        except OSError:
            failed += 1
            connection.close()
        times.append(time.perf_counter() - began)
        time.sleep(0.01)
    connection.close()
    # What is started next is no measured client.
    os.sched_setscheduler(0, os.SCHED_OTHER, os.sched_param(0))
    return sorted(times), failed


def quantile(times, part):
    return times[min(len(times) - 1, int(len(times) * part))] * 1000


def wait_ready(port, process):
    for _ in range(600):
        if process.poll() is not None:
            sys.exit("monitor ended at its start")
        try:
            connection = http.client.HTTPConnection("127.0.0.1", port, timeout=1)
            connection.request("GET", "/readyz")
            if connection.getresponse().status == 200:
                return
        except OSError:
            pass
        time.sleep(0.05)
    sys.exit("monitor was not ready in 30 seconds")


def api(port, method, path, content):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=30)
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {KEY}"}
    connection.request(method, path, json.dumps(content), headers)
    answer = connection.getresponse()
    text = answer.read()
    if answer.status >= 300:
        sys.exit(f"{method} {path}: {answer.status} {text!r}")
    return json.loads(text)


def settle(operations):
    """Waits until nothing of a flood is left."""
    for _ in range(600):
        connection = http.client.HTTPConnection("127.0.0.1", operations, timeout=5)
        connection.request("GET", "/status")
        status = json.loads(connection.getresponse().read())
        connection.close()
        if status["analysis"]["running"] + status["analysis"]["waiting"] + status["spool"]["in_memory"] == 0:
            return
        time.sleep(0.1)


def rounds(gateway, operations, keys, calls):
    """Rows of (what the others do, size of the measured messages, times, failed, calls of the others)."""
    sizes = (1024, 100 * 1024)
    for what, size in (("idle", 0), ("2 MiB", 2 << 20), ("idle", 0), ("1 KiB", 1024), ("idle", 0)):
        stop, count = multiprocessing.Event(), multiprocessing.Value("L", 0)
        others = multiprocessing.Process(target=flood, args=(gateway, keys, size, stop, count)) if size else None
        if others:
            others.start()
            time.sleep(3)
        for measured in sizes:
            before = count.value
            times, failed = measure(gateway, keys[0], calls, measured)
            yield what, measured, times, failed, count.value - before
        if others:
            stop.set()
            others.join(60)
            if others.is_alive():
                others.terminate()
            settle(operations)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--monitor", default="target/release/monitor")
    parser.add_argument("--calls", type=int, default=500)
    arguments = parser.parse_args()
    gateway, analysis, operations = free_port(), free_port(), free_port()
    with tempfile.TemporaryDirectory(prefix="monitor-fair-") as folder:
        lines = [f"listen: 127.0.0.1:{gateway}", f"operations: 127.0.0.1:{operations}", f"data_dir: {folder}/data"]
        lines += ["analysis:", f"  listen: 127.0.0.1:{analysis}", f"  first_token: {KEY}", "applications:"]
        lines += [f"- {{id: {application(number)}, name: tenant-{number}, app_mode: sync, phrase: no}}" for number in range(TENANTS)]
        config = pathlib.Path(folder, "monitor.yaml")
        config.write_text("\n".join(lines) + "\n")
        log = open(pathlib.Path(folder, "log"), "w")
        process = subprocess.Popen([arguments.monitor, "all", "--config", str(config)], stdout=log, stderr=log)
        try:
            wait_ready(operations, process)
            keys = []
            for number in range(TENANTS):
                token = {"name": f"tenant-{number}", "scopes": ["ingest"], "application_id": application(number)}
                keys.append(api(analysis, "POST", "/tokens", token)["value"])
            measure(gateway, keys[0], 100, 1024)
            idle, failures = {}, 0
            for what, size, times, failed, others in rounds(gateway, operations, keys, arguments.calls):
                p50, p99 = quantile(times, 0.5), quantile(times, 0.99)
                if what == "idle":
                    idle.setdefault(size, []).append(p99)
                ratio = p99 / (sum(idle[size]) / len(idle[size]))
                failures += failed or (what != "idle" and ratio > 2)
                print(f"others: {what:6}  message: {size // 1024:3} KiB  p50 {p50:7.2f} ms  p99 {p99:7.2f} ms  "
                      f"p99/idle {ratio:5.2f}  not answered: {failed}  calls of the others: {others}", flush=True)
            status = http.client.HTTPConnection("127.0.0.1", operations, timeout=5)
            status.request("GET", "/status")
            print("analysis:", json.loads(status.getresponse().read())["analysis"])
        finally:
            process.terminate()
            process.wait(60)
            log.close()
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
