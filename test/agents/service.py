"""An HTTP service for tests of agents. Prints its port, then serves until it is killed.

    GET /items?q=...  the query, as JSON
    POST /refunds     the received body and headers
    GET /redirect     leads to another host
    GET /hang         never answers
    GET /drip         one byte per second
    GET /flood        64 MB
    GET /fails        status 500
    GET /picture      bytes that are not text
    GET /garbage      not HTTP
"""

import json
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


class Service(BaseHTTPRequestHandler):
    disable_nagle_algorithm = True  # head and body are written separately
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def reply(self, status, body, kind="application/json", headers=()):
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        for name, value in headers:
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode()
        seen = {
            "body": json.loads(body),
            "path": self.path,
            "key": self.headers.get("Idempotency-Key", ""),
            "authorization": self.headers.get("Authorization", ""),
        }
        self.reply(200, json.dumps(seen).encode())

    def do_GET(self):
        path = self.path.split("?")[0]
        if path == "/redirect":
            self.reply(302, b"", headers=[("Location", "http://127.0.0.1:1/elsewhere")])
        elif path == "/hang":
            time.sleep(600)
        elif path == "/drip":
            self.send_response(200)
            self.send_header("Content-Length", "1000")
            self.end_headers()
            for _ in range(1000):
                self.wfile.write(b"x")
                self.wfile.flush()
                time.sleep(1)
        elif path == "/flood":
            self.send_response(200)
            self.send_header("Content-Length", str(64 << 20))
            self.end_headers()
            for _ in range(64):
                self.wfile.write(b"x" * (1 << 20))
        elif path == "/fails":
            self.reply(500, b'{"error":"out of paper"}')
        elif path == "/picture":
            self.reply(200, b"\x89PNG\xff\xfe", "image/png")
        elif path == "/garbage":
            self.wfile.write(b"SSH-2.0-OpenSSH\r\n")
            self.close_connection = True
        else:
            self.reply(200, json.dumps({"path": self.path}).encode())

    def handle(self):
        try:
            super().handle()
        except OSError:
            pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Service)
print(server.server_address[1], flush=True)
server.serve_forever()
