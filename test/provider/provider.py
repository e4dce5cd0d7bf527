#!/usr/bin/env python3
"""A test provider: every dialect, whole and streamed, strict about requests, with faults on demand.

    test/provider/provider.py [--port N] [--key KEY] [--scripts JSON]
                                        prints "port N" and serves until it is ended

Routes: POST /v1/chat/completions (OpenAI and hosts that imitate it; llama.cpp's /control), /v1/responses, /v1/messages and
/v1/messages/count_tokens (Anthropic), /v1beta/models/M:generateContent, :streamGenerateContent and
:countTokens (Gemini), /mistral/v1/chat/completions (Mistral), /api/chat (Ollama); GET /v1/models,
/v1beta/models, /api/tags. With --key, a request without that key in its dialect's header is refused.

The model's name selects the behaviour: steps joined by +, arguments after colons. With --scripts, a
JSON object of names and steps, models have names that clients know.

Content. Answers repeat the last user message, which identifies their stream; reasoning always
contains the word "ponder", answers never do.
    plain               an answer
    think               reasoning, then an answer. As with the real services, Anthropic shows it only
                        if thinking is on, Gemini with includeThoughts, Responses if a summary is requested
    think+loud          ... and shown in any case
    tools, think-tools  one call of the first tool; with its result in the request, an answer about it
    parallel, think-parallel      two calls at once
    tags:FORMAT         reasoning inside the text, in the tags of FORMAT (script.py, TAGS)
    obedient            if the system prompt asks for a <tag>, reasoning in that tag; else plain
    long-think:N[:obey] N words of reasoning, then an answer; with thinking off, or with its own
                        reasoning in the request (a continued or restated call), it answers at once;
                        with obey it keeps to a token budget
    starve              reasoning up to max_tokens, no answer, stop reason length
    echo, empty, long:N the question; nothing at all; N more words of answer
    refuse-signature    like think-tools, but a tool result is refused with 400 unless the reasoning of
                        the call comes back exactly: Anthropic's signed block, Gemini's
                        thoughtSignature, Responses' encrypted item, reasoning_content, Mistral's
                        thinking chunk; Ollama refuses nothing
    reject-reasoning    400 that names the parameter, if the request has one for reasoning or sampling
    reject:NAME[:NAME]  400 that names the first of these parameters in the request
    task                a coding agent's model: it reads two files with the tools of the request, writes
                        their sum to a third, and answers. It thinks before each step. task.py
    control:N[:HOW]     the reasoning of a stream pauses before its Nth event until a control call:
                        control.py
Form.
    as:NAME             OpenAI chat as deepseek (default), xai, openrouter, vllm, sglang, llamacpp,
                        openai, azure, both, text; Anthropic as adaptive; Gemini as gemini3
    strict              refuses all that the provider documents as refused: strict.py
    redacted            a redacted_thinking block before the thinking (Anthropic)
    omitted             the thinking has its signature and no text (Anthropic)
    no-usage, bad-usage, same-id
    tag:TEXT            no effect: makes the name unique, and so its counters
    claude-X, gemini-X, gpt-X   no effect: for gateways that derive features from names
Faults.
    error:STATUS[:times=N][:retry-after=S][:body=html|empty]   that status, the first N times
    error-mid           an error event in the middle of the stream
    cut:BYTES, rst:BYTES    the connection ends there, with FIN or RST
    silent:MS           no byte for so long; hush:MS: the head at once, then no byte for so long
    stall:MS            a pause in the middle; slow:MS: a pause before each event
    hold:N[:M...]       a stream pauses before its Nth event, and again before its Mth, each time
                        until it is released (below)
    badjson, html, empty-body   invalid JSON, a web page, no body
    wrong-type[:json]   the content type text/plain, or application/json
    no-done, double-done, after-done          the end marker missing, twice, before more events
    huge-line[:BYTES]   one event of 1 MiB
    drip, random-cuts, split-utf8   single bytes; random pieces; writes that end in a character
    crlf, cr, bom, comments, no-space         other valid forms of an event stream
    until-close, gzip   a body that ends with the connection; a compressed one

Log: GET /__log returns the requests as JSON, DELETE /__log clears them and all counters. Each has: id, at (ms of wall time), method, path, headers, body, json, model, status, first_ms (first
byte sent), sent (bytes of body), reply (their text, the first 64 KiB), end_ms, done (all was sent),
closed_ms (the client disconnected first), held (how often hold has paused it). With ?has=TEXT only
those with that text in their body.

Holds: POST /__go?has=TEXT releases requests with that text in their body once, also one that has not
paused yet or has not arrived.
"""
# SPDX-License-Identifier: Apache-2.0
import argparse
import asyncio
import gzip
import json
import random
import socket
import struct
import time
import urllib.parse

import anthropic_messages
import control
import gemini
import ollama_chat
import openai_chat
import responses
import script
import strict
from script import Refused, Script, compose

LOG_MAX = 5000
BODY_MAX = 64 << 20
REPLY_MAX = 64 << 10


class Dialect:
    def __init__(self, name, module, framing="sse", auth=("authorization", "Bearer "), **own):
        self.name, self.framing, self.auth = name, framing, auth
        for what in ("read", "whole", "stream", "error", "error_event", "reject"):
            setattr(self, what, own.get(what) or getattr(module, what))


DIALECTS = {
    "openai": Dialect("openai", openai_chat),
    "mistral": Dialect("mistral", openai_chat, read=openai_chat.read_mistral,
                       whole=openai_chat.mistral_whole, stream=openai_chat.mistral_stream,
                       error=openai_chat.mistral_error),
    "responses": Dialect("responses", responses, error=openai_chat.error),
    "anthropic": Dialect("anthropic", anthropic_messages, auth=("x-api-key", "")),
    "gemini": Dialect("gemini", gemini, auth=("x-goog-api-key", "")),
    "ollama": Dialect("ollama", ollama_chat, framing="ndjson"),
}
PATHS = {
    "/v1/chat/completions": "openai", "/chat/completions": "openai",
    "/mistral/v1/chat/completions": "mistral", "/v1/responses": "responses",
    "/v1/messages": "anthropic", "/v1/messages/count_tokens": "anthropic", "/api/chat": "ollama",
}


def wall_ms():
    return round(time.time() * 1000, 3)


class Gone(Exception):
    """The client disconnected."""


class Connection:
    """One client's connection: reads requests, and watches for a disconnect while a reply is sent."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.have = b""
        self.watch = None
        self.gone = asyncio.Event()
        self.sleeper = None  # the future of a pause
        sock = writer.get_extra_info("socket")
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    async def fill(self):
        piece = await self.reader.read(65536)
        self.have += piece
        return bool(piece)

    async def request(self):
        """Returns (method, target, headers, body), or None at the end."""
        while b"\r\n\r\n" not in self.have:
            if not await self.fill():
                return None
        head, self.have = self.have.split(b"\r\n\r\n", 1)
        first, *lines = head.decode("latin-1").split("\r\n")
        method, target, _ = first.split(" ", 2)
        headers = [tuple(s.strip() for s in line.split(":", 1)) for line in lines]
        fields = {k.lower(): v for k, v in headers}
        if fields.get("expect", "").lower() == "100-continue":
            self.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        if "chunked" in fields.get("transfer-encoding", "").lower():
            body = await self.chunked()
        else:
            size = min(int(fields.get("content-length", 0)), BODY_MAX)
            while len(self.have) < size:
                if not await self.fill():
                    return None
            body, self.have = self.have[:size], self.have[size:]
        return method, target, headers, body

    async def chunked(self):
        body = b""
        while True:
            while b"\r\n" not in self.have:
                if not await self.fill():
                    return body
            line, self.have = self.have.split(b"\r\n", 1)
            size = int(line.split(b";")[0], 16)
            while len(self.have) < size + 2:
                if not await self.fill():
                    return body
            body, self.have = body + self.have[:size], self.have[size + 2:]
            if size == 0:
                return body

    def start_watch(self):
        async def look():
            try:
                while await self.fill():
                    pass
            except OSError:
                pass
            self.gone.set()
            self.wake()
        self.watch = asyncio.ensure_future(look())

    async def stop_watch(self):
        if self.watch and not self.watch.done():
            self.watch.cancel()
            try:
                await self.watch
            except asyncio.CancelledError:
                pass

    def wake(self):
        if self.sleeper and not self.sleeper.done():
            self.sleeper.set_result(None)

    async def pause(self, ms):
        """Sleeps until the time is over or the client disconnects. A stream pauses after each
        event: asyncio.wait_for would create two tasks each time and take longer than the event."""
        loop = asyncio.get_running_loop()
        self.sleeper = loop.create_future()
        timer = loop.call_later(ms / 1000, self.wake)
        try:
            if not self.gone.is_set():
                await self.sleeper
        finally:
            timer.cancel()
        if self.gone.is_set():
            raise Gone

    async def either(self, event):
        """Waits for the event or a disconnect."""
        both = [asyncio.ensure_future(e.wait()) for e in (event, self.gone)]
        await asyncio.wait(both, return_when=asyncio.FIRST_COMPLETED)
        for one in both:
            one.cancel()
        if self.gone.is_set():
            raise Gone

    async def write(self, data):
        if self.gone.is_set():
            raise Gone
        self.writer.write(data)
        try:
            await self.writer.drain()
        except OSError as broken:
            self.gone.set()
            self.wake()
            raise Gone from broken

    def reset(self):
        """Ends the connection with a RST."""
        sock = self.writer.get_extra_info("socket")
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


class Reply:
    """Writes one reply: a head, then the body in pieces, with the faults of the script."""

    def __init__(self, connection, entry, steps):
        self.c, self.entry, self.steps = connection, entry, steps
        self.reply = entry["bytes"] = bytearray()
        self.chunked = False
        self.keep = True
        self.limit = None
        for word in ("cut", "rst"):
            if word in steps:
                self.limit = (steps.number(word), word)

    async def head(self, status, kind, size=None, **more):
        reason = {200: "OK", 400: "Bad Request", 401: "Unauthorized", 404: "Not Found",
                  429: "Too Many Requests", 500: "Internal Server Error"}.get(status, "Status")
        lines = [f"HTTP/1.1 {status} {reason}", f"Content-Type: {kind}"]
        if size is not None:
            lines.append(f"Content-Length: {size}")
        elif "until-close" in self.steps:
            self.keep = False
        else:
            self.chunked = True
            lines.append("Transfer-Encoding: chunked")
        lines += [f"{k.replace('_', '-')}: {v}" for k, v in more.items()]
        if not self.keep:
            lines.append("Connection: close")
        self.entry["status"] = status
        await self.c.write("\r\n".join(lines + ["", ""]).encode("latin-1"))
        self.entry.setdefault("first_ms", wall_ms())

    async def body(self, data):
        """Writes a piece of the body; ends the connection where the script says so."""
        end = None
        if self.limit:
            left = self.limit[0] - self.entry["sent"]
            if len(data) >= left:
                data, end = data[:left], self.limit[1]
        if data:
            self.entry["sent"] += len(data)
            if len(self.reply) < REPLY_MAX:
                self.reply += data
            await self.c.write(b"%x\r\n%s\r\n" % (len(data), data) if self.chunked else data)
        if end:
            self.keep = False
            if end == "rst":
                await asyncio.sleep(0.02)  # the peer must receive all data before the RST
                self.c.reset()
            raise Cut

    async def finish(self):
        if self.chunked:
            await self.c.write(b"0\r\n\r\n")


class Cut(Exception):
    """The script has ended the connection."""


def frame(event, framing, steps):
    """One event as bytes."""
    name, data = event
    text = data if isinstance(data, str) else json.dumps(data, ensure_ascii=False)
    if framing == "ndjson":
        return (text + "\n").encode()
    space = "" if "no-space" in steps else " "
    lines = [f"event:{space}{name}"] if name and name != "done" else []
    lines.append(f"data:{space}{text}")
    end = "\r\n" if "crlf" in steps else "\r" if "cr" in steps else "\n"
    comment = f": still here{end}{end}" if "comments" in steps else ""
    return (comment + end.join(lines) + end + end).encode()


def frames(dialect, turn):
    """The stream as a list of bytes, one item per event, with the faults that the events contain."""
    steps = turn.script
    events = list(dialect.stream(turn))
    if "error-mid" in steps:
        events = events[:max(2, len(events) // 2)] + [dialect.error_event(turn)]
    if "no-done" in steps:
        events = events[:-1]
    if "double-done" in steps:
        events.append(events[-1])
    if "after-done" in steps:
        events.append(events[len(events) // 2])
    out = [frame(e, dialect.framing, steps) for e in events]
    if "badjson" in steps:
        broken = (None, '{"id": "x", "choices": [{"delta": {"content": "bro')
        out.insert(len(out) // 2, frame(broken, dialect.framing, steps))
    if "bom" in steps and out:
        out[0] = b"\xef\xbb\xbf" + out[0]
    return out


def writes(data, steps):
    """The bytes of one event, divided into writes."""
    if "drip" in steps:
        return [data[i:i + 1] for i in range(len(data))]
    if "random-cuts" in steps:
        chance, out = random.Random(len(data)), []
        while data:
            n = chance.randint(1, 40)
            out.append(data[:n])
            data = data[n:]
        return out
    if "split-utf8" in steps:
        at = next((i + 1 for i, b in enumerate(data) if b >= 0xc0), None)
        return [data[:at], data[at:]] if at else [data]
    return [data]


class Provider:
    def __init__(self, key="", scripts=None):
        self.key = key
        self.scripts = scripts or {}
        self.log = []
        self.count = 0
        self.fails = {}
        self.controls = control.Controls()
        self.gone_on = []  # one text per released hold
        self.told = asyncio.Event()  # set by the next release

    # -- one connection --

    async def serve(self, reader, writer):
        c = Connection(reader, writer)
        try:
            while True:
                got = await c.request()
                if got is None or not await self.one(c, *got):
                    break
        except (OSError, ValueError, Gone, Cut):
            pass
        finally:
            await c.stop_watch()
            writer.close()

    async def one(self, c, method, target, headers, body):
        """Serves one request; returns whether the connection stays open."""
        path = urllib.parse.unquote(target.split("?")[0])
        fields = {k.lower(): v for k, v in headers}
        if path == "/__log":
            return await self.show_log(c, method, target)
        if path == "/__go":
            return await self.go_on(c, target)
        self.count += 1
        entry = {"id": self.count, "at": wall_ms(), "method": method, "path": target,
                 "headers": headers, "body": body.decode("utf-8", "replace"), "json": None,
                 "model": None, "status": None, "sent": 0, "done": False, "closed_ms": None,
                 "end_ms": None, "held": 0, "bytes": bytearray()}
        self.log.append(entry)
        del self.log[:-LOG_MAX]
        c.start_watch()
        reply = Reply(c, entry, Script("plain"))
        try:
            reply = await self.answer(c, entry, method, path, target, fields, body)
            entry["done"] = True
        except Gone:
            entry["closed_ms"] = wall_ms()
            raise
        finally:
            entry["end_ms"] = wall_ms()
            await c.stop_watch()
        return reply.keep and fields.get("connection", "").lower() != "close" \
            and not c.gone.is_set()

    async def show_log(self, c, method, target):
        has = urllib.parse.parse_qs(target.partition("?")[2]).get("has", [""])[0]
        if method == "DELETE":
            self.log.clear()
            self.fails.clear()
            self.gone_on.clear()
            script.reset()
        text = json.dumps([{**e, "bytes": None, "reply": e["bytes"].decode("utf-8", "replace")}
                           for e in self.log if has in e["body"]], ensure_ascii=False).encode()
        await self.text(c, {"sent": 0}, Script("plain"), 200, "application/json", text)
        return True

    async def go_on(self, c, target):
        has = urllib.parse.parse_qs(target.partition("?")[2]).get("has", [""])[0]
        self.gone_on.append(has)
        self.told.set()
        self.told = asyncio.Event()
        await self.text(c, {"sent": 0}, Script("plain"), 200, "application/json", b"{}")
        return True

    async def hold(self, c, entry):
        """Waits until this request has been released as often as it has been held."""
        entry["held"] += 1
        while sum(has in entry["body"] for has in self.gone_on) < entry["held"]:
            await c.either(self.told)

    # -- one answer --

    async def answer(self, c, entry, method, path, target, fields, body):
        name = PATHS.get(path) or ("gemini" if "/models/" in path and ":" in path else None)
        if method == "GET":
            return await self.lists(c, entry, path)
        if path == control.PATH:
            return await self.control(c, entry, fields, body)
        if name is None or method != "POST":
            return await self.whole(c, entry, Script("plain"), 404, openai_chat.error(
                404, f"Invalid URL ({method} {path})"))
        dialect, steps = DIALECTS[name], Script("plain")
        entry["dialect"] = name
        try:
            self.authorize(dialect, fields, target)
            doc = parse(body)
            entry["json"] = doc
            entry["model"] = gemini.path_model(path) if name == "gemini" else doc.get("model")
            steps = Script(self.scripts.get(entry["model"], str(entry["model"])))
            if path.endswith(("count_tokens", ":countTokens")):
                return await self.counted(c, entry, doc, path)
            found = await self.failing(c, entry, dialect, steps)
            if found:
                return found
            if "strict" in steps and name in strict.RULES:
                strict.RULES[name](doc, fields, steps)
            ask = dialect.read(doc, fields, path, steps)
            ask.doc = doc
            refused = ask.wishes if "reject-reasoning" in steps else \
                [n for n in steps.steps.get("reject", []) if doc.get(n) is not None]
            if refused:
                raise Refused(**dialect.reject(refused[0]))
            turn = compose(steps, ask)
        except Refused as no:
            return await self.whole(c, entry, Script("plain"), no.status, dialect.error(
                no.status, no.message, no.param, no.code, no.kind))
        if "silent" in steps:
            await c.pause(steps.number("silent"))
        if "html" in steps:
            return await self.text(c, entry, steps, 200, "text/html",
                                   b"<!DOCTYPE html><html><body><h1>Bad gateway</h1></body></html>")
        if ask.stream:
            return await self.stream(c, entry, dialect, turn, target)
        return await self.whole(c, entry, steps, 200, dialect.whole(turn),
                                gzipped="gzip" in fields.get("accept-encoding", ""))

    async def control(self, c, entry, fields, body):
        try:
            self.authorize(DIALECTS["openai"], fields, "")
            entry["json"] = parse(body)
            status, doc = await self.controls.answer(c, entry["json"])
        except Refused as no:
            status, doc = no.status, openai_chat.error(no.status, no.message)
        return await self.whole(c, entry, Script("plain"), status, doc)

    def authorize(self, dialect, fields, target):
        name, prefix = dialect.auth
        given = fields.get(name, "")
        if dialect.name == "anthropic" and not given:
            given, prefix = fields.get("authorization", ""), "Bearer "
        if dialect.name == "gemini" and not given:
            given = urllib.parse.parse_qs(target.partition("?")[2]).get("key", [""])[0]
        if dialect.name == "ollama" and not given:
            return  # Ollama has no keys, but a proxy before it may
        if self.key and given != prefix + self.key:
            raise Refused("Incorrect API key provided.", 401)

    async def failing(self, c, entry, dialect, steps):
        if "error" not in steps:
            return None
        options = steps.options("error")
        key = (dialect.name, steps.name)
        self.fails[key] = self.fails.get(key, 0) + 1
        if "times" in options and self.fails[key] > int(options["times"]):
            return None
        status = steps.number("error", 500)
        more = {"Retry_After": options["retry-after"]} if "retry-after" in options else {}
        if options.get("body") in ("html", "empty"):
            text = b"<html>no</html>" if options["body"] == "html" else b""
            return await self.text(c, entry, Script("plain"), status, "text/html", text, **more)
        return await self.whole(c, entry, Script("plain"), status, dialect.error(
            status, f"This model always answers {status}."), **more)

    async def counted(self, c, entry, doc, path):
        n = len(json.dumps(doc).split())
        return await self.whole(c, entry, Script("plain"), 200, {"totalTokens": n} if
                                path.endswith(":countTokens") else {"input_tokens": n})

    async def lists(self, c, entry, path):
        names = list(self.scripts) or ["plain", "think", "tools"]
        if path == "/api/tags":
            doc = {"models": [{"name": n, "model": n} for n in names]}
        elif path == "/v1beta/models":
            doc = {"models": [{"name": f"models/{n}"} for n in names]}
        elif path in ("/v1/models", "/mistral/v1/models"):
            doc = {"object": "list", "data": [{"id": n, "object": "model", "created": 1,
                                               "owned_by": "test"} for n in names]}
        else:
            return await self.whole(c, entry, Script("plain"), 404, openai_chat.error(404, "no"))
        return await self.whole(c, entry, Script("plain"), 200, doc)

    async def text(self, c, entry, steps, status, kind, text, **more):
        reply = Reply(c, entry, steps)
        await reply.head(status, kind, len(text), **more)
        await reply.body(text)
        return reply

    async def whole(self, c, entry, steps, status, doc, gzipped=False, **more):
        text = json.dumps(doc, ensure_ascii=False).encode()
        if "badjson" in steps:
            text = text[:len(text) // 2]
        if "empty-body" in steps:
            text = b""
        if "gzip" in steps and gzipped:
            text = gzip.compress(text)
            more["Content_Encoding"] = "gzip"
        kind = "text/plain" if "wrong-type" in steps else "application/json"
        reply = Reply(c, entry, steps)
        await reply.head(status, kind, None if "until-close" in steps else len(text), **more)
        if "hush" in steps:
            await c.pause(steps.number("hush"))
        for piece in writes(text, steps):
            await reply.body(piece)
        await reply.finish()
        return reply

    async def stream(self, c, entry, dialect, turn, target):
        steps = turn.script
        kind = "application/x-ndjson" if dialect.framing == "ndjson" else "text/event-stream"
        array = dialect.name == "gemini" and "alt=sse" not in target
        if array or steps.arg("wrong-type") == "json":
            kind = "application/json"
        elif "wrong-type" in steps:
            kind = "text/plain"
        reply = Reply(c, entry, steps)
        await reply.head(200, kind)
        if "hush" in steps:
            await c.pause(steps.number("hush"))
        out = as_array(dialect, turn) if array else frames(dialect, turn)
        if "empty-body" in steps:
            out = []
        controlled = self.controls.open(entry["json"], turn, out)
        try:
            await self.events(c, entry, reply, out, controlled)
        except control.Broken as end:
            raise Cut from end
        finally:
            self.controls.close(turn, controlled)
        return reply

    async def events(self, c, entry, reply, out, controlled):
        steps = reply.steps
        holds = {int(n) for n in steps.steps.get("hold", [])}
        for i, data in enumerate(out):
            if controlled and not await controlled.before(c, i):
                continue
            if i in holds:
                await self.hold(c, entry)
            if "stall" in steps and i == len(out) // 2:
                await c.pause(steps.number("stall"))
            if "slow" in steps:
                await c.pause(steps.number("slow"))
            for piece in writes(data, steps):
                await reply.body(piece)
                if piece is not data:
                    await asyncio.sleep(0)
        await reply.finish()


def as_array(dialect, turn):
    """Gemini without alt=sse: one JSON array, sent element by element."""
    out = [json.dumps(data, ensure_ascii=False) for _, data in dialect.stream(turn)]
    return [(("[" if i == 0 else ",\r\n") + text + ("]" if i == len(out) - 1 else "")).encode()
            for i, text in enumerate(out)]


def parse(body):
    try:
        doc = json.loads(body)
    except ValueError as bad:
        raise Refused("We could not parse the JSON body of your request. (HINT: This likely means "
                      "you aren't using your HTTP library correctly.)") from bad
    if not isinstance(doc, dict):
        raise Refused("the body must be a JSON object")
    return doc


async def main():
    options = argparse.ArgumentParser()
    options.add_argument("--port", type=int, default=0)
    options.add_argument("--key", default="")
    options.add_argument("--scripts", type=json.loads, default={})
    given = options.parse_args()
    provider = Provider(given.key, given.scripts)
    server = await asyncio.start_server(provider.serve, "127.0.0.1", given.port, backlog=1024)
    print(f"port {server.sockets[0].getsockname()[1]}", flush=True)
    async with server:
        await server.serve_forever()


def run():
    try:
        asyncio.run(main())
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    run()
