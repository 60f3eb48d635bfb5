#!/usr/bin/env python3
"""Conformance to HTTP/2 as h2spec sees it: all of its cases against the gateway, in clear text and over TLS.

    tests/campaign/h2spec.py --monitor PROGRAM [--h2spec PROGRAM]

Needs h2spec (github.com/summerwind/h2spec, by default the one in PATH) and openssl. h2spec sends no access key, so it
asks for a page that needs none and, for the path of a call, for one that is refused without a key; what is malformed
is refused before that. The analysis port speaks HTTP/1.1 alone: it must choose that where a client offers both, and
refuse a connection that begins with HTTP/2. Prints each case that is not passed with what came instead; exits with 1
where it is not among those that are known. All of it on loopback.
"""

import argparse
import contextlib
import os
import pathlib
import shutil
import socket
import ssl
import subprocess
import sys
import tempfile
import time
import xml.etree.ElementTree as ElementTree

PATHS = ["/openapi.json", "/v1/models"]
# Seconds for an answer; a busy machine does not always give one within the usual 2.
PATIENCE = "10"
# The gateway's port in clear text speaks HTTP/1.1 as well: what does not begin with the preface of HTTP/2 gets its 400.
# The second is a race: where the whole answer has left before the window grows, the stream is reset with NO_ERROR.
OVER_WINDOW = "http2/6.9.1 Sends multiple WINDOW_UPDATE frames increasing the flow control window to above 2^31-1 on a stream"
KNOWN = {
    ("gateway", "http2/3.5 Sends invalid connection preface"),
    ("gateway", OVER_WINDOW),
    ("gateway-tls", OVER_WINDOW),
}
PREFACE = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Server:
    """`monitor all` with each of its two ports once in clear text and once over TLS."""

    def __init__(self, monitor, folder):
        self.ports = {name: free_port() for name in ["gateway", "gateway-tls", "analysis", "analysis-tls"]}
        key, certificate = folder / "key.pem", folder / "cert.pem"
        options = ["-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost", "-days", "2"]
        files = ["-keyout", str(key), "-out", str(certificate)]
        subprocess.run(["openssl", "req", "-x509", *options, *files], check=True, capture_output=True)
        tls = f"tls: {{cert: {certificate}, key: {key}}}"
        address = {name: f"address: 127.0.0.1:{port}" for name, port in self.ports.items()}
        listeners = lambda name: f"[{{{address[name]}}}, {{{address[name + '-tls']}, {tls}}}]"
        configuration = folder / "monitor.yaml"
        configuration.write_text(f"listen: {listeners('gateway')}\nanalysis: {{listen: {listeners('analysis')}}}\n")
        self.log = folder / "monitor.log"
        environment = {
            "OPERATIONS_LISTEN": f"127.0.0.1:{free_port()}",
            "MONITOR_DATA_DIR": str(folder / "data"),
        }
        with open(self.log, "wb") as log:
            command = [monitor, "all", "--config", configuration]
            self.process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)

    def await_ready(self):
        end = time.monotonic() + 60
        while time.monotonic() < end and self.process.poll() is None:
            with contextlib.suppress(OSError):
                for port in self.ports.values():
                    socket.create_connection(("127.0.0.1", port), 1).close()
                return
            time.sleep(0.05)
        sys.exit(f"the program does not listen:\n{self.log.read_text()[-2000:]}")

    def end(self):
        self.process.kill()
        self.process.wait()


def run(h2spec, port, path, report, *options):
    """Number of cases, and the failed ones with what came instead."""
    command = [h2spec, "-h", "127.0.0.1", "-p", str(port), "-P", path, "-o", PATIENCE, "-S", "-j", report, *options]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if not report.exists():
        sys.exit(f"h2spec made no report:\n{done.stdout[-2000:]}")
    cases, failed = 0, {}
    for suite in ElementTree.parse(report).iter("testsuite"):
        for case in suite.iter("testcase"):
            cases += 1
            for wrong in [*case.iter("failure"), *case.iter("error"), *case.iter("skipped")]:
                name = f"{case.get('package')} {case.get('classname')}"
                failed[name] = f"{wrong.tag}: {' '.join((wrong.text or '').split())}"
    report.unlink()
    return cases, failed


def refuses_http2(port, context):
    """Whether a port chooses HTTP/1.1 and refuses a connection that begins with HTTP/2."""
    with contextlib.ExitStack() as opened:
        line = opened.enter_context(socket.create_connection(("127.0.0.1", port), 10))
        if context:
            line = opened.enter_context(context.wrap_socket(line))
            if line.selected_alpn_protocol() != "http/1.1":
                return False
        line.sendall(PREFACE)
        answer = b""
        with contextlib.suppress(ConnectionError):
            while piece := line.recv(65536):
                answer += piece
        return answer == b"" or answer.startswith((b"HTTP/1.1 4", b"HTTP/1.1 5"))


def ask_gateway(h2spec, name, port, report):
    """Prints what h2spec finds at a port; gives how many of it are not known."""
    found = 0
    options = ["-t", "-k"] if name.endswith("-tls") else []
    for path in PATHS:
        cases, failed = run(h2spec, port, path, report, *options)
        print(f"{name} {path}: {cases} cases, {cases - len(failed)} passed")
        for case, what in failed.items():
            is_known = (name, case) in KNOWN
            found += not is_known
            print(f"  {case}{' (known)' if is_known else ''}: {what}")
    return found


def ask_analysis(name, port):
    context = None
    if name.endswith("-tls"):
        context = ssl._create_unverified_context()
        context.set_alpn_protocols(["h2", "http/1.1"])
    refuses = refuses_http2(port, context)
    print(f"{name}: {'HTTP/1.1 alone' if refuses else 'DOES NOT REFUSE HTTP/2'}")
    return not refuses


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--monitor", type=pathlib.Path, required=True)
    parser.add_argument("--h2spec", default=shutil.which("h2spec"))
    arguments = parser.parse_args()
    if not arguments.h2spec:
        sys.exit("missing: h2spec; install it or name it with --h2spec")
    found = 0
    with tempfile.TemporaryDirectory(prefix="monitor-h2spec-") as folder:
        folder = pathlib.Path(folder)
        server = Server(arguments.monitor.resolve(), folder)
        try:
            server.await_ready()
            for name in ["gateway", "gateway-tls"]:
                found += ask_gateway(arguments.h2spec, name, server.ports[name], folder / "report.xml")
            for name in ["analysis", "analysis-tls"]:
                found += ask_analysis(name, server.ports[name])
        finally:
            server.end()
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
