#!/usr/bin/env python3
"""Calls that are repeated: after a provider's failure, after a budget was spent, by the next
process, from a cassette.

    test/e2e/again_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import signal
import socketserver
import threading
import unittest

from asking import SHOW, comments, events, request, start
from command import BINARY
from gateway import Gateway, digest, until

SAID = [{"role": "user", "content": "hi"}]
WORD = " think"  # one token
USAGE = {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15}
KEY = {"authorization": "Bearer sk-spends"}
ROUTES = {
    "chat": ("/v1/chat/completions", {"messages": SAID, "reasoning_effort": "low"}),
    "responses": ("/v1/responses", {"input": "hi", "reasoning": {"effort": "low"}}),
    "messages": ("/v1/messages", {"messages": SAID, "max_tokens": 900,
                                  "output_config": {"effort": "low"}}),
    "gemini": ("/v1beta/models/m:generateContent", {
        "contents": [{"parts": [{"text": "hi"}]}],
        "generationConfig": {"thinkingConfig": {"thinkingLevel": "LOW"}}}),
    "ollama": ("/api/chat", {"messages": SAID, "think": "low", "stream": False}),
    "generate": ("/generate", {"messages": SAID, "reasoning_effort": "low", "stream": False}),
}


class Upstream:
    """Answers with the bytes that `reply` returns for a request (the nth since `asked` was
    cleared), then closes the connection."""

    def __init__(self):
        self.asked, self.heads, self.raw, self.reply = [], [], [], None
        outer = self

        class Handler(socketserver.StreamRequestHandler):
            def handle(self):
                head = b""
                while not head.endswith(b"\r\n\r\n"):
                    line = self.rfile.readline()
                    if not line:
                        return
                    head += line
                fields = dict(f.split(": ", 1) for f in head.decode().lower().split("\r\n")[1:-2])
                raw = self.rfile.read(int(fields["content-length"]))
                body = json.loads(raw)
                outer.raw.append(raw)
                outer.heads.append(fields)
                outer.asked.append(body)
                self.wfile.write(outer.reply(len(outer.asked), body))

        class Server(socketserver.ThreadingTCPServer):
            daemon_threads = True

        self.server = Server(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()

    def forget(self):
        self.asked.clear()
        self.heads.clear()
        self.raw.clear()


def delta(why=None, **said):
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "u", "choices": [
        {"index": 0, "delta": said, "finish_reason": why}]}


def stream(*frames, whole=True):
    """A reply as an event stream; without its end if `whole` is false."""
    out = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\ntransfer-encoding: chunked\r\n\r\n"
    for f in (*frames, *([{"id": "c", "choices": [], "usage": USAGE}, None] if whole else [])):
        event = b"data: " + (b"[DONE]" if f is None else json.dumps(f).encode()) + b"\n\n"
        out += b"%x\r\n%s\r\n" % (len(event), event)
    return out + (b"0\r\n\r\n" if whole else b"")


def plain(status, doc):
    body = json.dumps(doc).encode()
    return b"HTTP/1.1 %d X\r\ncontent-type: application/json\r\nconnection: close\r\n" \
        b"content-length: %d\r\n\r\n%s" % (status, len(body), body)


def whole(text, **more):
    return plain(200, {"id": "c", "object": "chat.completion", "created": 1, "model": "u",
                       "choices": [{"index": 0, "finish_reason": "stop", "message": {
                           "role": "assistant", "content": text, **more}}], "usage": USAGE})


def answer(text, body, **more):
    if not body.get("stream"):
        return whole(text, **more)
    front = [delta(**more)] if more else []
    return stream(*front, delta(content=text), delta("stop"))


def error(status, message):
    return plain(status, {"error": {"message": message, "type": "invalid_request_error"}})


def provider(up, **more):
    return {"kind": "openai", "base_url": up.root + "/v1", "models": ["m"], "backoff": "10ms", **more}


class Again(unittest.TestCase):
    def setUp(self):
        self.up = Upstream()
        self.addCleanup(self.up.server.shutdown)

    def serve(self, env=None, **more):
        # With "always", an effort in any dialect's own parameter selects a preset too.
        config = {"store": "none", "providers": {"chat": provider(self.up)}, **more,
                  "reasoning": {"presets": "always", **more.get("reasoning", {})}}
        gateway = Gateway(BINARY, config, env=env).__enter__()
        self.addCleanup(gateway.stop)
        return gateway

    def ask(self, gateway, dialect="chat", headers=None, **more):
        path, body = ROUTES[dialect]
        return request(path, {"model": "m", **body, **more}, headers or {}, at=gateway)

    def ok(self, r):
        self.assertEqual(r.status, 200, r.body)
        return r


SECRET = "ghp_" + "a1B2c3D4e5F6" * 3  # looks like a GitHub token


class Logged(Again):
    """The gateway logs failures of providers for its operator."""

    def lines(self, gateway, message):
        return [line for line in gateway.log.read_text().splitlines() if f'msg="{message}"' in line]

    def test_each_failed_attempt_is_a_line(self):
        self.up.reply = lambda n, body: error(500, "boom of " + SECRET) if n < 3 else \
            answer("Yes.", body)
        gateway = self.serve(providers={
            "first": provider(self.up, models={"m": "upstream-m"}, retries=1, fallback=["spare"]),
            "spare": provider(self.up, models=["other"])})
        r = self.ok(self.ask(gateway))
        self.assertIsNone(r.headers.get("x-rationale-provider"))
        first, second = self.lines(gateway, "provider failed")
        for line, after in ((first, "next=retry"), (second, 'next="fallback spare"')):
            for part in ("level=warn", f"id={r.headers['x-rationale-id']}", "provider=first",
                         "model=upstream-m", "status=500", "boom of", after):
                self.assertIn(part, line)
            self.assertNotIn(SECRET, line)

    def test_an_error_names_its_provider(self):
        self.up.reply = lambda *_: error(401, "Incorrect API key provided")
        gateway = self.serve(keys=[{"name": "key", "sha256": digest("sk-key")}])
        for streamed in (False, True):
            r = self.ask(gateway, headers={"authorization": "Bearer sk-key"}, stream=streamed)
            self.assertEqual((r.status, r.headers.get("x-rationale-provider")), (401, "chat"))
        self.assertIn("next=none", self.lines(gateway, "provider failed")[0])
        r = self.ask(gateway, headers={"authorization": "Bearer sk-wrong"})
        self.assertEqual((r.status, r.headers.get("x-rationale-provider")), (401, None))

    def test_a_parameter_that_was_left_out_is_named(self):
        self.up.reply = lambda _, body: error(
            400, "Unsupported parameter: 'temperature' is not supported with this model.") \
            if "temperature" in body else answer("Yes.", body)
        gateway = self.serve(providers={"chat": provider(self.up, models={"m": "upstream-m"})},
                             reasoning={"presets": "asked"})
        self.ok(self.ask(gateway, temperature=0.5))
        # A line without a warning is written at the end of the loop's round, after the reply.
        line, = until(lambda: self.lines(
            gateway, "a provider refused parameters and is asked again without"))
        self.assertIn("model=upstream-m", line)
        self.assertIn("left_out=temperature", line)


class Died(Again):
    """The provider closes the connection in the middle."""

    def test_who_has_seen_nothing_is_given_another_try(self):
        # A whole reply for the client, streamed upstream because of the cap.
        for front in ([], [delta(role="assistant", content="")],
                      [delta(reasoning_content="Hm."), delta(content="No, ")]):
            self.up.reply = lambda n, _: stream(*front, whole=False) if n < 3 else stream(
                delta(reasoning_content="So."), delta(content="Yes."), delta("stop"))
            gateway = self.serve()
            for dialect in ROUTES:
                for headers in ({}, SHOW):
                    with self.subTest(dialect, front=len(front), headers=headers):
                        self.up.forget()
                        r = self.ok(self.ask(gateway, dialect, headers))
                        self.assertEqual(len(self.up.asked), 3)
                        self.assertIn(b"Yes.", r.body)
                        self.assertNotIn(b"No, ", r.body)
                        self.assertNotIn(b"Hm.", r.body)
                        self.assertEqual(b"So." in r.body, bool(headers))

    def test_a_stream_of_which_nothing_has_left_is_tried_again(self):
        self.up.reply = lambda n, _: stream(delta(role="assistant", content=""), whole=False) \
            if n < 3 else stream(delta(content="Yes."), delta("stop"))
        gateway = self.serve()
        r = self.ok(request("/v1beta/models/m:streamGenerateContent?alt=sse",
                            ROUTES["gemini"][1], {}, at=gateway))
        self.assertEqual(len(self.up.asked), 3)
        self.assertIn(b"Yes.", r.body)

    def test_a_stream_that_has_begun_is_not(self):
        self.up.reply = lambda *_: stream(delta(content="No, "), whole=False)
        gateway = self.serve()
        for dialect in ("chat", "responses", "messages", "ollama", "generate"):
            self.up.forget()
            r = self.ok(self.ask(gateway, dialect, stream=True))
            self.assertEqual(len(self.up.asked), 1, dialect)
            self.assertIn(b"error", r.body)

    def test_what_was_said_to_its_end_counts_though_the_line_broke(self):
        self.up.reply = lambda *_: stream(delta(content="Yes."), delta("stop"), whole=False)
        gateway = self.serve()
        for dialect in ROUTES:
            for streamed in (False, True):
                with self.subTest(dialect, streamed=streamed):
                    self.up.forget()
                    more = {"stream": streamed} if dialect != "gemini" else {}
                    r = self.ok(self.ask(gateway, dialect, **more))
                    self.assertEqual(len(self.up.asked), 1)
                    self.assertIn(b"Yes.", r.body)
                    self.assertNotIn(b'"error"', r.body.replace(b'"error":null', b""))

    def test_the_record_has_the_last_try_alone(self):
        self.up.reply = lambda n, _: stream(delta(content="No, "), whole=False) if n < 3 \
            else stream(delta(content="Yes."), delta("stop"))
        gateway = self.serve(store="sqlite:history.db")
        r = self.ok(self.ask(gateway))
        path = f"/api/v1/history/sessions/{r.headers['x-rationale-session']}"
        kept = until(lambda: request(path, headers={}, at=gateway).body)
        self.assertIn(b"Yes.", kept)
        self.assertNotIn(b"No, ", kept)


class Second(Again):
    """The second call, after a cut, fails too."""
    LONG = stream(delta(reasoning_content=WORD * 200), delta(content="No."), delta("stop"))

    def test_it_is_tried_again_though_the_first_was_seen(self):
        self.up.reply = lambda n, body: self.LONG if n == 1 else error(503, "busy") if n < 4 \
            else answer("Yes.", body)
        gateway = self.serve()
        for headers in ({}, SHOW):
            self.up.forget()
            r = self.ok(self.ask(gateway, headers=headers, stream=True))
            self.assertEqual(len(self.up.asked), 4, r.body[-300:])
            self.assertIn(b"Yes.", r.body)
            self.assertNotIn(b"busy", r.body)

    def test_a_prefill_that_is_refused_is_restated_and_not_tried_again(self):
        self.up.reply = lambda n, body: self.LONG if n == 1 \
            else error(400, "continue_final_message is not supported") \
            if body["messages"][-1]["role"] == "assistant" else answer("Yes.", body)
        gateway = self.serve(providers={"vllm": provider(self.up)})
        for again in (False, True):
            self.up.forget()
            r = self.ok(self.ask(gateway, headers=SHOW, stream=True))
            self.assertEqual([b["messages"][-1]["role"] for b in self.up.asked],
                             ["user", "user"] if again else ["user", "assistant", "user"])
            self.assertTrue(all(b["chat_template_kwargs"]["enable_thinking"] is False
                                for b in self.up.asked[1:]))
            self.assertIn(b"Yes.", r.body)
            self.assertIn("reasoning_tokens=128; cap=128; cut=budget", " ".join(comments(r.body)))


class Refused(Again):
    def test_only_what_may_be_about_parameters_is_asked_otherwise(self):
        gateway = self.serve()
        for message, calls in (("Unsupported parameter: 'reasoning_effort'", 2), ("", 2),
                               ("unknown field \"think\"", 2), ("Bad Request", 2),
                               ("the thinking budget is too long", 2),
                               ("This model's maximum context length is 8 tokens.", 1),
                               ("Your prompt was flagged by our content policy.", 1)):
            self.up.reply = lambda *_: error(400, message)
            for dialect in ROUTES:
                self.up.forget()
                r = self.ask(gateway, dialect)
                self.assertEqual((r.status, len(self.up.asked)), (400, calls), (dialect, message))

    def test_a_mark_in_front_and_capitals_in_the_type_lose_no_reply(self):
        gateway = self.serve(providers={"chat": provider(self.up, retries=0)})
        said = stream(delta(content="Yes."), delta("stop")).replace(b"text/event", b"Text/Event")
        body = b"\xef\xbb\xbf" + whole("Yes.").split(b"\r\n\r\n", 1)[1]
        one = b"HTTP/1.1 200 OK\r\nContent-Type: Application/JSON; charset=utf-8\r\n" \
            b"Connection: close\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)
        for reply in (said, one):
            self.up.reply = lambda *_: reply
            for streamed in (False, True):
                r = request("/v1/chat/completions", {
                    "model": "m", "messages": SAID, "stream": streamed}, {}, at=gateway)
                self.assertEqual((r.status, b"Yes." in r.body), (200, True), r.body)


class Spent(Again):
    """A restart does not reset a key's total spending."""

    def test_a_restart_gives_nothing_back(self):
        self.up.reply = lambda _, body: answer("Yes.", body)
        prices = {"m": {"input": 100000, "output": 100000}}  # 1.5 USD per call
        gateway = self.serve(store="sqlite:history.db",
                             providers={"chat": provider(self.up, prices=prices)},
                             keys=[{"name": "spends", "sha256": digest("sk-spends"), "spend_usd": 2},
                                   {"name": "other", "sha256": digest("sk-other"), "spend_usd": 2}])
        asked = lambda key=KEY: self.ask(gateway, headers=key).status  # noqa: E731
        self.assertEqual([asked(), asked(), asked()], [200, 200, 429])
        for number in (signal.SIGTERM, signal.SIGKILL):
            gateway.signal(number)
            gateway.child.wait()
            gateway.start()
            self.assertEqual(asked(), 429)
        self.assertEqual(asked({"authorization": "Bearer sk-other"}), 200)

    def test_what_came_of_a_reply_without_its_end_is_paid_for(self):
        words = "four" * 400
        start = {"type": "message_start", "message": {
            "id": "a", "type": "message", "role": "assistant", "model": "m", "content": [],
            "stop_reason": None, "usage": {"input_tokens": 100, "output_tokens": 1}}}
        text = {"type": "content_block_delta", "index": 0,
                "delta": {"type": "text_delta", "text": words}}
        call = {"index": 0, "id": "call_a", "type": "function",
                "function": {"name": "f", "arguments": '{"x":"' + words}}
        unfinished = {
            "told the beginning": ("anthropic", "messages", [start, {
                "type": "content_block_start", "index": 0,
                "content_block": {"type": "text", "text": ""}}, text]),
            "words": ("openai", "chat", [delta(content=words)]),
            "hidden thoughts": ("openai", "chat", [delta(reasoning_content=WORD * 400)]),
            "arguments": ("openai", "chat", [delta(tool_calls=[call])])}
        for name, (kind, dialect, frames) in unfinished.items():
            self.up.reply = lambda *_: stream(*frames, whole=False)
            one = provider(self.up, retries=0, prices={"m": {"output": 10000}})
            if kind == "anthropic":
                one.update(kind=kind, base_url=self.up.root)
            gateway = self.serve(providers={"p": one}, keys=[
                {"name": "spends", "sha256": digest("sk-spends"), "role": "operator"}])
            path, body = ROUTES[dialect]
            body = {k: v for k, v in body.items() if k in ("messages", "max_tokens")}
            request(path, {"model": "m", "stream": True, **body}, KEY, at=gateway)
            key = json.loads(request("/api/v1/keys", None, KEY, at=gateway).body)["keys"][0]
            self.assertAlmostEqual(key["spent"], 4, delta=0.1, msg=name)

    def test_an_image_is_not_as_many_tokens_as_a_text_of_its_size(self):
        self.up.reply = lambda _, body: answer("Yes.", body)
        gateway = self.serve(keys=[{"name": "spends", "sha256": digest("sk-spends"), "tpm": 200000}])
        data = "iVBORw0KGgo" + "A" * 1000001
        image = {"type": "image", "source": {
            "type": "base64", "media_type": "image/png", "data": data}}
        tool = {"role": "assistant", "content": [
            {"type": "tool_use", "id": "t", "name": "look", "input": {}}]}
        result = {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "t", "content": [image]}]}
        url = f"data:image/png;base64,{data}"
        asked = {
            "chat": {"messages": [{"role": "user", "content": [
                {"type": "image_url", "image_url": {"url": url}}]}]},
            "responses": {"input": [{"role": "user", "content": [
                {"type": "input_image", "image_url": url}]}]},
            "messages": {"messages": [{"role": "user", "content": [image]}, tool, result]},
            "gemini": {"contents": [{"parts": [
                {"inlineData": {"mimeType": "image/png", "data": data}}]}]},
            "ollama": {"messages": [{"role": "user", "content": "hi", "images": [data]}]},
        }
        for dialect, body in asked.items():
            path, usual = ROUTES[dialect]
            r = request(path, {"model": "m", **usual, **body}, KEY, at=gateway)
            self.assertEqual(r.status, 200, (dialect, r.body[:300]))
        r = request("/v1/chat/completions", {"model": "m", "messages": [
            {"role": "user", "content": data}]}, KEY, at=gateway)
        self.assertEqual(r.status, 429)


class Recorded(Again):
    """A cassette replays its recorded calls, and no others."""

    def cassette(self, gateway, lines):
        path = gateway.folder / "calls.jsonl"
        return until(lambda: path.exists() and path.read_text().count("\n") > lines and path)

    def record(self, reply, lines, *questions):
        """A gateway that replays another gateway's recording of these questions."""
        self.up.reply = reply
        gateway = self.serve({"RECORDED_KEY": "sk-kept-by-the-operator"}, providers={
            "chat": provider(self.up, record="calls.jsonl", api_key_env="RECORDED_KEY")})
        for q in questions:
            request("/v1/chat/completions", {"model": "m", **q}, {}, at=gateway)
        path = self.cassette(gateway, lines)
        player = self.serve(providers={"played": {"kind": "replay", "cassette": str(path),
                                                  "models": ["m"]}})
        return player, path.read_text()

    def test_what_goes_without_saying_makes_no_other_request(self):
        player, _ = self.record(lambda _, body: answer("Yes.", body), 2, {"messages": SAID},
                                {"messages": SAID, "stream": True})
        for more in ({}, {"stream": False}, {"temperature": None, "user": "me"}, {"stream": True}):
            r = request("/v1/chat/completions", {"model": "m", "messages": SAID, **more}, {}, at=player)
            self.assertEqual((r.status, b"Yes." in r.body), (200, True), r.body)
            self.assertEqual(r.body.startswith(b"data:"), more.get("stream", False))
        r = request("/v1/chat/completions", {"model": "m", "messages": SAID, "temperature": 1}, {},
                    at=player)
        self.assertEqual(r.status, 501)
        self.assertIn(b"differs first at", r.body)

    def test_a_call_that_was_cut_is_played_again(self):
        low = {"messages": SAID, "reasoning_effort": "low", "stream": True}
        player, _ = self.record(lambda n, body: Second.LONG if n == 1 else answer("Yes.", body),
                                2, low)
        r = self.ok(self.ask(player, headers=SHOW, stream=True))
        self.assertIn(b"Yes.", r.body)
        self.assertIn("reasoning_tokens=128; cap=128; cut=budget", " ".join(comments(r.body)))

    def test_no_key_is_in_it(self):
        _, text = self.record(lambda *_: error(401, "bad key: sk-kept-by-the-operator"), 1,
                              {"messages": SAID})
        self.assertIn("bad key: [key]", text)
        self.assertNotIn("sk-kept", text)

    def test_no_part_of_a_key_is_in_it(self):
        parts = '{"error": {"message": "bad key: sk-kept-by', '-the-operator"}}'
        chunks = "".join(f"{len(x):x}\r\n{x}\r\n" for x in (*parts, ""))
        _, text = self.record(lambda *_: b"HTTP/1.1 401 No\r\ncontent-type: application/json\r\n"
                              b"transfer-encoding: chunked\r\n\r\n" + chunks.encode(), 1,
                              {"messages": SAID})
        self.assertIn("bad key: [key]", text)
        self.assertNotIn("operator", text)


class Traced(Again):
    def test_the_state_of_a_trace_goes_on_with_it(self):
        self.up.reply = lambda _, body: answer("Yes.", body)
        gateway = self.serve()
        parent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"
        for headers, state in (({"traceparent": parent, "tracestate": "a=1,b=2"}, "a=1,b=2"),
                               ({"tracestate": "a=1"}, None), ({"traceparent": parent}, None)):
            self.up.forget()
            self.ok(self.ask(gateway, headers=headers))
            self.assertEqual(self.up.heads[0].get("tracestate"), state)
            self.assertEqual(parent[:36] in self.up.heads[0]["traceparent"],
                             "traceparent" in headers)


class Behind(Again):
    def test_text_behind_the_cap_is_none_of_the_answer(self):
        """The reply as one event, as two, or one event per letter."""
        text = "<thinking>" + WORD * 200 + "</thinking>\n\nNo."
        for size in (1, 700, 5000):
            pieces = [delta(content=text[i:i + size]) for i in range(0, len(text), size)]
            self.up.reply = lambda n, body: stream(*pieces, delta("stop")) if n == 1 \
                else answer("Yes.", body)
            gateway = self.serve(providers={"chat": provider(self.up, enable_reasoning=True)})
            for dialect in ROUTES:
                for streamed in (False, True):
                    if dialect == "gemini" and streamed:
                        continue
                    with self.subTest(dialect, size=size, streamed=streamed):
                        self.up.forget()
                        more = {"stream": streamed} if dialect != "gemini" else {}
                        r = self.ok(self.ask(gateway, dialect, SHOW, **more))
                        # At the cap a stream is closed; a whole reply is truncated and keeps its
                        # answer.
                        said, other = (b"Yes.", b"No.") if streamed else (b"No.", b"Yes.")
                        self.assertIn(said, r.body)
                        self.assertNotIn(other, r.body)
        both = delta(reasoning_content=WORD * 200, content="No.")
        self.up.reply = lambda n, body: stream(both, delta("stop")) if n == 1 \
            else answer("Yes.", body)
        gateway = self.serve()
        for streamed in (False, True):
            self.up.forget()
            r = self.ok(self.ask(gateway, stream=streamed))
            said = "".join(c["delta"].get("content") or "" for e in events(r.body)
                           for c in e["choices"]) if streamed else \
                json.loads(r.body)["choices"][0]["message"]["content"]
            self.assertEqual(said, "Yes." if streamed else "No.")


if __name__ == "__main__":
    start()
