#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""A debuginfod on loopback that behaves as well or as badly as its mode says: debuginfod_server.py FOLDER MODE LOG.

Prints its URL. FOLDER has BUILDID/debuginfo and BUILDID/executable. Each request is a line "PATH" in LOG.

    right   what FOLDER has, else 404        html    a page with status 200
    wrong   of every file the first one      slow    one byte a second
    404, 500  that status                    none    the connection stays open without an answer
    cut     half of the file                 empty   status 200 without a byte
    endless bytes without an end             away    ends the connection at once
    moved   a redirection to file:///etc/passwd
"""
import http.server
import pathlib
import sys
import time

FOLDER, MODE, LOG = pathlib.Path(sys.argv[1]), sys.argv[2], open(sys.argv[3], "a", buffering=1)


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        pass

    def answer(self, status, body=b"", size=None, **headers):
        self.send_response(status)
        self.send_header("Content-Length", str(len(body) if size is None else size))
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def give(self):
        parts = self.path.split("/")
        path = FOLDER / parts[2] / parts[3] if len(parts) == 4 and parts[1] == "buildid" else FOLDER / "none"
        if MODE == "wrong":
            path = sorted(FOLDER.glob("*/debuginfo"))[0]
        if not path.is_file():
            return self.answer(404, b"not found")
        body = path.read_bytes()
        if MODE == "cut":
            self.answer(200, body[:len(body) // 2], len(body))
            self.close_connection = True
            return None
        return self.answer(200, body)

    def do_GET(self):
        print(self.path, file=LOG)
        if MODE in ("404", "500"):
            return self.answer(int(MODE), b"sorry")
        if MODE == "html":
            return self.answer(200, b"<html><title>Log in</title></html>" * 1000)
        if MODE == "empty":
            return self.answer(200)
        if MODE == "moved":
            return self.answer(302, Location="file:///etc/passwd")
        if MODE in ("none", "slow", "endless", "away"):
            self.close_connection = True
        if MODE == "away":
            return None
        if MODE == "none":
            return time.sleep(60)
        if MODE in ("slow", "endless"):
            self.send_response(200)
            self.end_headers()
            self.wfile.write(b"\x7fELF")
            while True:
                self.wfile.write(bytes(1 if MODE == "slow" else 1 << 16))
                if MODE == "slow":
                    time.sleep(1)
        return self.give()

    def handle(self):
        try:
            super().handle()
        except OSError:  # the client has gone
            pass


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
server.daemon_threads = True
print(f"http://127.0.0.1:{server.server_port}", flush=True)
server.serve_forever()
