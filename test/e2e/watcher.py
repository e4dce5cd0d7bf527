"""Viewers of live updates: a WebSocket by RFC 6455, and a stream of server-sent events.

    with Watcher(gateway.port) as w:
        w.subscribe("dashboard_updates")
        message = w.until(lambda m: m["type"] == "dashboard_update")
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import hashlib
import json
import os
import socket
import struct
import time

GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Closed(Exception):
    def __init__(self, code):
        super().__init__(f"closed with {code}")
        self.code = code


def frame(op, payload, fin=True, mask=True):
    head = bytes([(0x80 if fin else 0) | op])
    bit, n = (0x80 if mask else 0), len(payload)
    if n < 126:
        head += bytes([bit | n])
    elif n < 65536:
        head += bytes([bit | 126]) + struct.pack(">H", n)
    else:
        head += bytes([bit | 127]) + struct.pack(">Q", n)
    if not mask:
        return head + payload
    key = os.urandom(4)
    return head + key + bytes(b ^ key[i % 4] for i, b in enumerate(payload))


class Watcher:
    def __init__(self, port, user="tests", headers=None, small=False, path=None):
        self.sock = socket.socket()
        if small:  # so that the socket buffers hold little
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.settimeout(120)
        self.sock.connect(("127.0.0.1", port))
        self.rest = b""
        self.seen = []
        key = base64.b64encode(os.urandom(16)).decode()
        lines = {"Host": f"127.0.0.1:{port}", "Connection": "Upgrade", "Upgrade": "websocket",
                 "Sec-WebSocket-Version": "13", "Sec-WebSocket-Key": key, **(headers or {})}
        self.sock.sendall((f"GET {path or '/ws/dashboard/' + user} HTTP/1.1\r\n" + "".join(
            f"{k}: {v}\r\n" for k, v in lines.items() if v is not None) + "\r\n").encode())
        while b"\r\n\r\n" not in self.rest:
            self.more()
        head, self.rest = self.rest.split(b"\r\n\r\n", 1)
        first, *fields = head.decode().split("\r\n")
        self.status = int(first.split()[1])
        self.headers = {k.lower(): v.strip() for k, v in (f.split(":", 1) for f in fields)}
        if self.status == 101:
            want = base64.b64encode(hashlib.sha1((key + GUID).encode()).digest()).decode()
            assert self.headers["sec-websocket-accept"] == want
        else:
            while len(self.rest) < int(self.headers.get("content-length", 0)):
                self.more()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.sock.close()

    def more(self):
        got = self.sock.recv(65536)
        if not got:
            raise Closed(1006)
        self.rest += got

    def take(self, n):
        while len(self.rest) < n:
            self.more()
        got, self.rest = self.rest[:n], self.rest[n:]
        return got

    def frame(self):
        a, b = self.take(2)
        assert not b & 0x80, "a server's frames are not masked"
        n = b & 0x7F
        if n == 126:
            n = struct.unpack(">H", self.take(2))[0]
        elif n == 127:
            n = struct.unpack(">Q", self.take(8))[0]
        return a & 0x0F, self.take(n)

    def next(self):
        """The next message, as JSON."""
        while True:
            op, payload = self.frame()
            if op == 1:
                m = json.loads(payload)
                assert isinstance(m["timestamp_us"], int), m
                self.seen.append(m)
                return m
            if op == 8:
                raise Closed(struct.unpack(">H", payload[:2])[0] if len(payload) > 1 else 1005)
            if op == 9:
                self.sock.sendall(frame(10, payload))
            if op == 10:
                self.seen.append({"type": "pong frame", "payload": payload})
                return self.seen[-1]

    def until(self, wanted, seconds=120):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            m = self.next()
            if wanted(m):
                return m
        raise AssertionError(f"it did not come; seen: {self.seen[-5:]}")

    def data(self, kind, **more):
        """The next update of this type with these members."""
        return self.until(lambda m: m.get("data", {}).get("type") == kind and all(
            m["data"].get(k) == v for k, v in more.items()))["data"]

    def send(self, message):
        self.sock.sendall(frame(1, json.dumps(message).encode()))

    def subscribe(self, channel, action="subscribe"):
        self.send({"type": action, "channel": channel})
        return self.until(lambda m: m["type"] == "subscription_response")


class Stream:
    """Server-sent events as curl receives them."""

    def __init__(self, port, query="", headers=None, version="1.0", small=False):
        self.sock = socket.socket()
        if small:
            self.sock.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        self.sock.settimeout(120)
        self.sock.connect(("127.0.0.1", port))
        lines = {"Host": f"127.0.0.1:{port}", **(headers or {})}
        self.sock.sendall((f"GET /api/v1/live{query} HTTP/{version}\r\n" + "".join(
            f"{k}: {v}\r\n" for k, v in lines.items()) + "\r\n").encode())
        self.file = self.sock.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers, self.last, self.comments = {}, "", 0
        while (line := self.file.readline().strip()):
            k, v = line.decode().split(":", 1)
            self.headers[k.lower()] = v.strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.sock.close()

    def next(self):
        data, kind = [], ""
        while True:
            line = self.file.readline()
            if not line:
                raise Closed(1006)
            line = line.decode().rstrip("\n")
            if line.startswith(":"):
                self.comments += 1
            elif line.startswith("data: "):
                data.append(line[6:])
            elif line.startswith("id: "):
                self.last = line[4:]
            elif line.startswith("event: "):
                kind = line[7:]
            elif not line and data:
                assert kind == "message"
                return json.loads("\n".join(data))

    until, data, seen = Watcher.until, Watcher.data, []


class Text:
    """A text assembled from its pieces, by the rule of docs/reference/live.md."""

    def __init__(self):
        self.units = b""

    def take(self, data):
        more = data["text"].encode("utf-16-le", "surrogatepass")
        assert data["at"] * 2 <= len(self.units), (data, len(self.units))
        self.units = self.units[:data["at"] * 2] + more

    def __str__(self):
        return self.units.decode("utf-16-le")
