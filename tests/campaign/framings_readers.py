"""The servers of the second readers: nginx, HAProxy, Node.js, Python's h11, and the program itself, each on
a free loopback port. A reader answers a request with one line: method, target, length and hash of the body as
it was read, and the headers X-Mark and X-Front. nginx and HAProxy forward what they read to h11, which
answers in their place."""

import asyncio
import contextlib
import hashlib
import os
import pathlib
import shutil
import socket
import subprocess
import tempfile
import time

import h11

from framings_generate import KEY

HERE = pathlib.Path(__file__).parent
NGINX = """
daemon off; master_process off; worker_processes 1; pid {folder}/nginx.pid; error_log {folder}/nginx.log crit;
events {{ worker_connections 8192; }}
http {{
  access_log off; keepalive_timeout 60s; keepalive_requests 1000000; client_max_body_size 0;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/f;
  uwsgi_temp_path {folder}/u; scgi_temp_path {folder}/s;
  upstream next {{ server 127.0.0.1:{next}; keepalive 64; }}
  server {{
    listen 127.0.0.1:{port} backlog=4096;
    location / {{
      proxy_pass http://next; proxy_http_version 1.1; proxy_set_header Connection "";
      proxy_set_header X-Front 1;
    }}
  }}
}}
"""
HAPROXY = """
global
  maxconn 4000
defaults
  mode http
  timeout connect 5s
  timeout client 60s
  timeout server 60s
  timeout http-request 60s
  timeout http-keep-alive 60s
  http-reuse always
frontend in
  bind 127.0.0.1:{port} backlog 4096
  http-request set-header X-Front 1
  default_backend out
backend out
  server next 127.0.0.1:{next}
"""


def line(method, target, body, headers):
    values = lambda name: b", ".join(value for key, value in headers if key == name) or b"-"
    hash_ = hashlib.sha256(body).hexdigest()[:12]
    parts = [method, target, str(len(body)).encode(), hash_.encode(), values(b"x-mark"), values(b"x-front")]
    return b" | ".join(parts)


async def h11_reader(reader, writer):
    """One connection read by h11."""
    connection = h11.Connection(h11.SERVER, max_incomplete_event_size=65536)
    request, body = None, b""
    try:
        while True:
            event = connection.next_event()
            if event is h11.NEED_DATA:
                if connection.they_are_waiting_for_100_continue:
                    writer.write(connection.send(h11.InformationalResponse(status_code=100, headers=[])))
                connection.receive_data(await reader.read(65536))
            elif event is h11.PAUSED:
                if connection.our_state is not h11.DONE:
                    break
                connection.start_next_cycle()
            elif isinstance(event, h11.Request):
                request, body = event, b""
            elif isinstance(event, h11.Data):
                body += bytes(event.data)
            elif isinstance(event, h11.EndOfMessage):
                answer = line(request.method, request.target, body, request.headers)
                head = h11.Response(status_code=200, headers=[("Content-Length", str(len(answer)))])
                answer_bytes = connection.send(head) + connection.send(h11.Data(data=answer))
                writer.write(answer_bytes + connection.send(h11.EndOfMessage()))
                await writer.drain()
                if connection.our_state is h11.MUST_CLOSE:
                    break
            else:
                break
    except h11.RemoteProtocolError:
        if connection.our_state in (h11.IDLE, h11.SEND_RESPONSE):
            writer.write(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
    except (ConnectionError, asyncio.CancelledError):
        pass
    finally:
        writer.close()


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Readers:
    """The running servers. What this started it ends, each by its own handle."""

    def __init__(self, monitor):
        self.monitor = monitor
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="monitor-framings-"))
        self.children = []

    def close(self):
        for child in self.children:
            child.kill()
        for child in self.children:
            child.wait()
        shutil.rmtree(self.folder, ignore_errors=True)

    def start(self, port, *command, env=None):
        log = open(self.folder / f"{pathlib.Path(command[0]).name}-{port}.log", "wb")
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=log, stderr=log, env=env, cwd=self.folder)
        self.children.append(child)
        self.await_port(port, child, log.name)
        return port

    def await_port(self, port, child, log):
        end = time.monotonic() + 60
        while time.monotonic() < end and child.poll() is None:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                return
            time.sleep(0.05)
        raise SystemExit(f"{child.args[0]} does not listen:\n{pathlib.Path(log).read_text()[-2000:]}")

    def configured(self, name, text, next_port):
        port = free_port()
        folder = self.folder / f"{name}-{port}"
        folder.mkdir()
        path = folder / f"{name}.cfg"
        path.write_text(text.format(port=port, next=next_port, folder=folder))
        return port, folder, path

    def nginx(self, next_port):
        port, folder, path = self.configured("nginx", NGINX, next_port)
        program = shutil.which("nginx") or "/usr/sbin/nginx"
        return self.start(port, program, "-p", str(folder), "-c", str(path), "-e", str(folder / "nginx.log"))

    def haproxy(self, next_port):
        port, _, path = self.configured("haproxy", HAPROXY, next_port)
        return self.start(port, shutil.which("haproxy") or "/usr/sbin/haproxy", "-db", "-f", str(path))

    def node(self):
        port = free_port()
        return self.start(port, "node", str(HERE / "framings_reader.mjs"), str(port))

    def monitor_at(self, command, listen, **variables):
        port, operations = free_port(), free_port()
        environment = {
            "PATH": os.environ.get("PATH", ""),
            listen: f"127.0.0.1:{port}",
            "OPERATIONS_LISTEN": f"127.0.0.1:{operations}",
            "MONITOR_DATA_DIR": str(self.folder / f"data-{port}"),
            **variables,
        }
        return self.start(port, str(self.monitor), *command, env=environment)

    def gateway(self, next_port):
        return self.monitor_at(["gateway"], "GATEWAY_LISTEN", UPSTREAM_URL=f"http://127.0.0.1:{next_port}")

    def analysis(self):
        configuration = self.folder / "analysis.yaml"
        configuration.write_text(f"first_token: {KEY}\n")
        return self.monitor_at(["analysis", "--config", str(configuration)], "ANALYSIS_LISTEN")
