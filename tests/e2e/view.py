#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""cairn view: one file, once, for the viewer's page alone, and nothing for anybody else."""
import gzip
import http.client
import json
import os
import re
import socket
import subprocess
import time
import urllib.parse

from checks import check, finish

CAIRN = os.environ["CAIRN"]
FIREFOX, SPEEDSCOPE = "https://profiler.firefox.com", "https://www.speedscope.app"

with open("a b<i>.collapsed", "w", encoding="ascii") as file:
    file.write("main;work 7\nmain;rest 3\n")


def begin(*options):
    """The command, the address that it prints, and the port and path that are in it."""
    command = subprocess.Popen([CAIRN, "view", "--no-open", *options, "a b<i>.collapsed"], text=True,
                               stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    address = command.stdout.readline().strip()
    inner = urllib.parse.unquote(re.split(r"from-url/|#profileURL=", address)[1])
    parts = urllib.parse.urlsplit(inner)
    return command, address, parts.port, parts.path


def ask(port, path, method="GET", host=None, origin=None):
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    headers = {"Host": host or f"127.0.0.1:{port}", **({"Origin": origin} if origin else {})}
    connection.request(method, path, headers=headers)
    answer = connection.getresponse()
    body = answer.read()
    connection.close()
    return answer, body


def end(command, status):
    error = command.communicate(timeout=30)[1]
    check(command.returncode == status, "status", command.returncode, error)
    return error


# The Firefox Profiler: what is not its own is refused, and then the file is taken.
command, address, port, path = begin()
check(address.startswith(f"{FIREFOX}/from-url/http%3A%2F%2F127.0.0.1%3A"), "address", address)
check(re.fullmatch(r"/[0-9a-f]{32}/a-b-i-\.collapsed\.firefox\.json\.gz", path), "path", path)
idle = socket.create_connection(("127.0.0.1", port))  # as browsers open some ahead
for what, wanted, arguments in (
        ("another path", 404, {"path": "/"}), ("a part of the path", 404, {"path": path[:-1]}),
        ("more than the path", 404, {"path": path + "x"}), ("a post", 404, {"path": path, "method": "POST"}),
        ("another origin", 403, {"path": path, "origin": "https://example.org"}),
        ("an origin that begins alike", 403, {"path": path, "origin": FIREFOX + ".example.org"}),
        ("another host", 403, {"path": path, "host": f"example.org:{port}"}),
        ("the host by name", 403, {"path": path, "host": f"localhost:{port}"})):
    answer, body = ask(port, **arguments)
    check(answer.status == wanted and not body, what, answer.status, body[:100])
answer, _ = ask(port, path, "OPTIONS", origin=FIREFOX)
check(answer.status == 204 and answer.headers["Access-Control-Allow-Private-Network"] == "true", "what is asked before")
check(command.poll() is None, "it ended before the file was taken")
others = subprocess.run(["sh", "-c", f"cat /proc/net/tcp | grep -ci ':{port:04X} 00000000:0000 0A'"], check=False,
                        capture_output=True, text=True).stdout.strip()
local = subprocess.run(["sh", "-c", f"cat /proc/net/tcp | grep -ci '0100007F:{port:04X} 00000000:0000 0A'"], check=False,
                       capture_output=True, text=True).stdout.strip()
check(others == local == "1", "it listens on the loopback alone", others, local)
answer, body = ask(port, path, origin=FIREFOX)
check(answer.status == 200 and answer.headers["Access-Control-Allow-Origin"] == FIREFOX, "headers", answer.headers)
profile = json.loads(gzip.decompress(body))
check(profile["meta"]["preprocessedProfileVersion"] == 66, "the file")
check("has taken the file" in end(command, 0), "the last line")
idle.close()

# speedscope, with a request in pieces.
command, address, port, path = begin("--speedscope")
check(address.startswith(f"{SPEEDSCOPE}/#profileURL=http%3A%2F%2F127.0.0.1%3A"), "address", address)
pieces = socket.create_connection(("127.0.0.1", port))
for piece in (f"GET {path} HTTP/1.1\r\nHo", f"st: 127.0.0.1:{port}\r\nOrigin: {SPEEDSCOPE}\r\n", "\r\n"):
    pieces.sendall(piece.encode())
    time.sleep(0.1)
data = b""
while block := pieces.recv(65536):
    data += block
check(json.loads(gzip.decompress(data.partition(b"\r\n\r\n")[2]))["exporter"].startswith("cairn@"), "in pieces")
end(command, 0)

# Hostile: a request without an end, many connections, bytes that are no request.
command, address, port, path = begin("--wait", "3")
crowd = [socket.create_connection(("127.0.0.1", port)) for _ in range(40)]
for number, one in enumerate(crowd):
    try:
        one.sendall([b"\0" * 20000, b"GET " + b"a" * 20000, b"\r\n\r\n", b"GET / HTTP/1.1\r\n"][number % 4])
    except OSError:
        pass  # it was given up
answer, body = ask(port, path)
check(answer.status == 200 and gzip.decompress(body), "after a crowd")
end(command, 0)

# Nobody comes; and what is no profile.
began = time.monotonic()
command, *_ = begin("--wait", "0.3")
check("nobody took the file within 0.3 s" in end(command, 1) and time.monotonic() - began < 20, "nobody came")
check(subprocess.run([CAIRN, "view"], capture_output=True, check=False).returncode == 2, "without a file")
check(subprocess.run([CAIRN, "view", "none"], capture_output=True, check=False).returncode == 1, "a file that is not there")
finish("one file, once, for the viewer's page")
