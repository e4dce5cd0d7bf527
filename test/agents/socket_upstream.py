"""The Responses API over WebSocket, in front of the scripted provider: each `response.create`
becomes a request to the provider, and each event of its stream a message. Other requests pass
unchanged.

    with SocketUpstream(provider.port) as up: ...      up.root; up.handshakes, up.messages, up.closed

A request with a previous_response_id gets the items of that response prepended, as by the real
API. Model names select faults: "close-CODE" closes the socket with that code, "cut" drops the
connection in the middle of a reply, "stall" stops sending there, "flood" sends FLOOD_COUNT large
events first. A message of the type "rest" is answered after `up.rested` is set; until then
nothing is read.
"""
# SPDX-License-Identifier: Apache-2.0
import base64
import ctypes
import hashlib
import http.client
import json
import socket
import struct
import threading

GUID = b"258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
FLOOD_COUNT, FLOOD_SIZE = 96, 1 << 20
TIMEOUT = 240
UNPACKED_MAX = 16 << 20


def unpack_zstd(data):
    lib = ctypes.CDLL("libzstd.so.1")
    lib.ZSTD_decompress.restype = ctypes.c_size_t
    out = ctypes.create_string_buffer(UNPACKED_MAX)
    size = lib.ZSTD_decompress(out, ctypes.c_size_t(len(out)), data, ctypes.c_size_t(len(data)))
    return out.raw[:size]


def read_exactly(f, n):
    data = f.read(n)
    if len(data) < n:
        raise ConnectionError("the other side has left")
    return data


def read_frame(f):
    """Reads one frame; returns (opcode, payload). No fragments."""
    first, size = read_exactly(f, 2)
    masked, size = size & 128, size & 127
    if size == 126:
        size = struct.unpack("!H", read_exactly(f, 2))[0]
    elif size == 127:
        size = struct.unpack("!Q", read_exactly(f, 8))[0]
    mask = read_exactly(f, 4) if masked else b"\0\0\0\0"
    data = read_exactly(f, size)
    if masked:
        pad = mask * (len(data) // 4 + 1)
        data = (int.from_bytes(data, "big") ^ int.from_bytes(pad[:len(data)], "big")).to_bytes(
            len(data), "big")
    return first & 15, data


def make_frame(opcode, data, mask=False):
    size = len(data)
    head = bytes([128 | opcode])
    flag = 128 if mask else 0
    if size < 126:
        head += bytes([flag | size])
    elif size < 65536:
        head += bytes([flag | 126]) + struct.pack("!H", size)
    else:
        head += bytes([flag | 127]) + struct.pack("!Q", size)
    return head + (b"\0\0\0\0" if mask else b"") + data


class SocketUpstream:
    def __init__(self, port):
        self.port = port
        self.handshakes, self.messages, self.closed = [], [], []
        self.packed = 0  # requests with a compressed body
        self.no_sockets = False  # handshakes get 426
        self.rested = threading.Event()
        self.flooded = 0  # large events sent so far
        self.items = {}  # response id -> all items up to and including it
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.root = f"http://127.0.0.1:{self.listener.getsockname()[1]}"

    def __enter__(self):
        threading.Thread(target=self.accept, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()

    def accept(self):
        while True:
            try:
                conn, _ = self.listener.accept()
            except OSError:
                return
            threading.Thread(target=self.serve, args=(conn,), daemon=True).start()

    def serve(self, conn):
        f = conn.makefile("rb")
        try:
            while self.one(conn, f):
                pass
        except (OSError, ConnectionError, ValueError):
            pass
        finally:
            conn.close()

    def one(self, conn, f):
        first = f.readline().decode("latin-1").split()
        if len(first) < 3:
            return False
        headers = {}
        while (line := f.readline().strip()):
            name, value = line.decode("latin-1").split(":", 1)
            headers[name.lower()] = value.strip()
        if self.no_sockets and first[0] == "GET" and "upgrade" in headers:
            conn.sendall(b"HTTP/1.1 426 Upgrade Required\r\ncontent-length: 0\r\n\r\n")
            return True
        if headers.get("upgrade", "").lower() == "websocket":
            self.handshakes.append((first[1], headers))
            self.socket(conn, f, headers)
            return False
        body = f.read(int(headers.get("content-length", 0)))
        if headers.get("content-encoding") == "zstd":
            body = unpack_zstd(body)
            self.packed += 1
            del headers["content-encoding"]
        c, r = self.ask(first[0], first[1], headers, body)
        conn.sendall(f"HTTP/1.1 {r.status} X\r\ncontent-type: {r.getheader('content-type')}\r\n"
                     "transfer-encoding: chunked\r\n\r\n".encode())
        while piece := r.read1(65536):
            conn.sendall(b"%x\r\n%s\r\n" % (len(piece), piece))
        conn.sendall(b"0\r\n\r\n")
        c.close()
        return True

    def ask(self, method, path, headers, body):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=TIMEOUT)
        c.request(method, path, body, {k: v for k, v in headers.items() if k not in (
            "host", "content-length", "connection", "upgrade", "transfer-encoding")})
        return c, c.getresponse()

    def socket(self, conn, f, headers):
        accept = base64.b64encode(hashlib.sha1(headers["sec-websocket-key"].encode() + GUID).digest())
        conn.sendall(b"HTTP/1.1 101 Switching Protocols\r\nUpgrade: websocket\r\nConnection: Upgrade\r\n"
                     b"x-upstream: yes\r\nSec-WebSocket-Accept: " + accept + b"\r\n\r\n")
        while True:
            opcode, data = read_frame(f)
            if opcode == 8:
                self.closed.append(struct.unpack("!H", data[:2])[0] if data else 1005)
                return
            if opcode == 9:
                conn.sendall(make_frame(10, data))
            if opcode == 1:
                self.messages.append(data)
                if not self.answer(conn, headers, json.loads(data)):
                    return

    def answer(self, conn, headers, doc):
        model = doc.get("model", "")
        if doc.get("type") == "rest":
            self.rested.wait(TIMEOUT)
        if doc.get("type") != "response.create":
            conn.sendall(make_frame(1, b'{"type":"seen","what":"other"}'))
            return True
        if model.startswith("close-"):
            conn.sendall(make_frame(8, struct.pack("!H", int(model[6:])) + b"because"))
            return False
        if model == "flood":
            big = json.dumps({"type": "response.noise", "x": "y" * FLOOD_SIZE}).encode()
            for _ in range(FLOOD_COUNT):
                conn.sendall(make_frame(1, big))
                self.flooded += 1
            model = doc["model"] = "think"
        items = self.items.get(doc.pop("previous_response_id", None), [])
        given = doc["input"]
        given = [{"role": "user", "content": given}] if isinstance(given, str) else given
        body = {k: v for k, v in doc.items() if k not in ("type", "generate")}
        body.update(input=items + given, stream=True)
        if doc.get("generate") is False:
            return self.warm_up(conn, body)
        body["model"] = "think" if model in ("cut", "stall") else model
        c, r = self.ask("POST", "/v1/responses", {**headers, "content-type": "application/json"},
                        json.dumps(body))
        if r.status != 200:
            error = json.loads(r.read())
            conn.sendall(make_frame(1, json.dumps({"type": "error", "status": r.status,
                                                   **error}).encode()))
            return True
        for n, line in enumerate(r):
            if not line.startswith(b"data: ") or line.startswith(b"data: [DONE]"):
                continue
            data = line[6:].strip()
            event = json.loads(data)
            if event["type"] == "response.completed":
                done = event["response"]
                self.items[done["id"]] = body["input"] + done["output"]
            conn.sendall(make_frame(1, data))
            if model in ("cut", "stall") and n > 8:
                return model == "stall"
        c.close()
        return True

    def warm_up(self, conn, body):
        name = f"resp_warm{len(self.items)}"
        self.items[name] = body["input"]
        reply = {"id": name, "object": "response", "status": "completed", "output": [],
                 "model": body["model"], "created_at": 1,
                 "usage": {"input_tokens": 1, "output_tokens": 0, "total_tokens": 1,
                           "input_tokens_details": {"cached_tokens": 0},
                           "output_tokens_details": {"reasoning_tokens": 0}}}
        for kind in ("response.created", "response.completed"):
            status = "in_progress" if kind.endswith("created") else "completed"
            conn.sendall(make_frame(1, json.dumps(
                {"type": kind, "response": {**reply, "status": status}}).encode()))
        return True
