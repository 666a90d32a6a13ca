#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A store of profiles on loopback: store_server.py [PORT]. Prints its URL; what came is in the file `seen`.

The first part of the path says how it answers: a status, STATUS-once (busy, then well), echo (400, with the request's
headers), partial, half, away, none, 307-same, 307-other, 307-loop, 307-file, 302-same, 429-long.
"""
import gzip
import http.server
import os
import pathlib
import re
import subprocess
import sys
import time
import urllib.parse

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from pprof_decode import Profile

PROTO = re.search(r'PROTO = """(.*?)"""', (pathlib.Path(__file__).parents[1] / "e2e/otlp.py").read_text(), re.S)[1]
TEXT = b"no, \x1b[31msaid the store\n" + b"x" * 100000
asked = {}


def see(*words):
    with open("seen", "a") as file:
        print(*words, file=file)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", size=None, **headers):
        self.send_response(status)
        if status != 204:
            self.send_header("Content-Length", str(len(body) if size is None else size))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(body)

    def decode(self, path, body):
        if path.endswith("/ingest"):
            pathlib.Path("body").write_bytes(body)
            profile = Profile("body")
            for sample in profile.samples:
                names = [name for location in sample.stack for name in profile.functions_at(location)]
                see("pprof", ";".join(reversed(names)), sample.values[0])
        else:
            pathlib.Path("request.proto").write_text(PROTO)
            text = subprocess.run(["protoc", "--decode", "Request", "request.proto"], input=gzip.decompress(body),
                                  capture_output=True, check=True).stdout.decode()
            see(text)

    def do_POST(self):
        url = urllib.parse.urlsplit(self.path)
        mode = url.path.split("/")[1]
        asked[mode] = asked.get(mode, 0) + 1
        see("request", time.monotonic())
        size = int(self.headers["Content-Length"])
        body = self.rfile.read(size)
        see("path", url.path)
        for name, values in urllib.parse.parse_qs(url.query).items():
            see(name, *values)
        for name, value in self.headers.items():
            see("header", name, value)
        self.decode(url.path, body)
        return self.respond(mode)

    def respond(self, mode):
        once = mode.removesuffix("-once")
        if mode != once:
            if asked[mode] % 2 == 0:
                return self.answer(200)
            return self.answer(int(once), TEXT, **({"Retry_After": "1"} if once == "429" else {}))
        if mode == "429-long":
            return self.answer(429, TEXT, Retry_After="3600")
        if mode == "echo":
            return self.answer(400, str(self.headers).encode())
        if mode == "partial": # 1: { 1: 1 rejected, 2: "too old" }
            return self.answer(200, b"\x0a\x0b\x08\x01\x12\x07too old", Content_Type="application/x-protobuf")
        if mode in ("half", "away", "none"):
            if mode == "half":
                self.answer(200, b"o", 2)
            if mode == "none":
                time.sleep(3)
            self.close_connection = True
            return None
        if mode.startswith("30"):
            to = {"same": "/200/ingest", "other": "http://localhost:9/x?secret", "loop": "/307-loop/ingest",
                  "file": "file:///etc/passwd"}[mode[4:]]
            return self.answer(int(mode[:3]), Location=to)
        return self.answer(int(mode), b"" if mode in ("200", "204") else TEXT)


server = http.server.ThreadingHTTPServer(("127.0.0.1", int((sys.argv[1:] or ["0"])[0])), Handler)
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
