#!/usr/bin/env python3
"""Special cases of the gateway, against an upstream that sends exactly the bytes a test chooses.

    test/e2e/corners_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import re
import sqlite3
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import asking
from asking import SHOW, USAGE, comments, events, request, start
from command import BINARY
from gateway import Gateway, digest

ALL = {"authorization": "Bearer sk-all"}
CALL = {"function": {"name": "f", "arguments": {"x": 1}}}


class Upstream:
    """Answers with the result of `reply` (a body and its type, perhaps with a status before them),
    and records the requests."""

    def __init__(self):
        self.asked, self.reply = [], None
        outer = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                outer.asked.append(body)
                *status, kind, reply = outer.reply(self.path, body)
                self.send_response(*status or [200])
                self.send_header("content-type", kind)
                self.send_header("content-length", str(len(reply)))
                self.end_headers()
                self.wfile.write(reply)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.root = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()


class Refusing:
    """Answers every request with one status and one body; entering it gives its root URL."""

    def __init__(self, status, body):
        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                self.send_response(status)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)

    def __enter__(self):
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        return f"http://127.0.0.1:{self.server.server_port}"

    def __exit__(self, *_):
        self.server.shutdown()


def sse(*frames):
    return "text/event-stream", b"".join(
        (f"event: {f['type']}\n" if "type" in f else "").encode() + b"data: "
        + json.dumps(f).encode() + b"\n\n" for f in frames)


def plain(doc):
    return "application/json", json.dumps(doc).encode()


def chat_reply(_, body, **message):
    usage = {"prompt_tokens": 5, "completion_tokens": 20, "total_tokens": 25,
             "completion_tokens_details": {"reasoning_tokens": 20}}
    said = {"role": "assistant", "content": "Yes.", "reasoning_content": "Hm.", **message}
    why = "stop" if said["content"] else "length"
    if body.get("stream"):
        kind, text = sse({"id": "c", "choices": [{"index": 0, "delta": said}]},
                         {"id": "c", "choices": [{"index": 0, "delta": {}, "finish_reason": why}]},
                         {"id": "c", "choices": [], "usage": usage})
        return kind, text + b"data: [DONE]\n\n"
    return plain({"id": "c", "object": "chat.completion", "model": "u", "usage": usage, "choices": [
        {"index": 0, "message": said, "finish_reason": why}]})


def anthropic_stream(*texts):
    return sse({"type": "message_start", "message": {
        "id": "m", "type": "message", "role": "assistant", "model": "u", "content": [],
        "stop_reason": None, "usage": {"input_tokens": 5, "output_tokens": 1}}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        *({"type": "content_block_delta", "index": 0,
           "delta": {"type": "text_delta", "text": t}} for t in texts),
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 9}},
        {"type": "message_stop"})


def setUpModule():
    up = asking.world.up = Upstream()
    v1 = up.root + "/v1"
    asking.world.gateway = Gateway(BINARY, {"store": "none", "timeouts": {"keepalive": "100ms"},
                                             "reasoning": {"presets": "always"}, "providers": {
        "chat": {"kind": "openai", "base_url": v1, "models": ["chat", "other"],
                 "prices": {"chat": {"input": 1000000, "output": 1000000}}},
        "claude": {"kind": "anthropic", "base_url": up.root, "models": ["claude-sonnet-4-5"]},
        "tags": {"kind": "anthropic", "base_url": up.root, "models": ["tags"], "format": "think"},
        "tools": {"kind": "openai", "base_url": v1, "models": ["llama-tools"]},
        "ollama": {"kind": "ollama", "base_url": up.root, "models": ["llama"]},
        "gemini": {"kind": "gemini", "base_url": up.root, "models": ["gemini-2.5-flash"]},
    }, "keys": [{"name": "all", "sha256": digest("sk-all")},
                {"name": "one", "sha256": digest("sk-one"), "models": ["chat"]},
                {"name": "poor", "sha256": digest("sk-poor"), "spend_usd": 30}]}).__enter__()


def tearDownModule():
    asking.world.gateway.stop()
    asking.world.up.server.shutdown()


class Corners(unittest.TestCase):
    def setUp(self):
        self.up = asking.world.up
        self.up.asked.clear()
        self.up.reply = chat_reply

    def ask(self, path, body, headers=ALL, **more):
        r = request(path, body, {**ALL, **headers}, **more)
        self.assertEqual(r.status, 200, r.body)
        return r

    def chat(self, model, headers=ALL, **more):
        return self.ask("/v1/chat/completions", {
            "model": model, "messages": [{"role": "user", "content": "hi"}], **more}, headers)

    def test_thoughts_asked_for_without_an_amount_are_medium(self):
        r = self.ask("/v1beta/models/chat:generateContent", {
            "contents": [{"parts": [{"text": "hi"}]}],
            "generationConfig": {"thinkingConfig": {"includeThoughts": True}}})
        self.assertEqual(USAGE.search(r.headers["x-rationale-usage"])[2], "256")
        self.assertEqual(self.up.asked[0]["reasoning_effort"], "medium")
        self.assertIn("effort: MEDIUM", json.dumps(self.up.asked[0]))

    def test_a_cap_below_the_smallest_budget_asks_for_that_one(self):
        for level in ("low", "medium", "high"):
            self.up.reply = lambda *_: anthropic_stream("Yes.")
            self.chat("claude-sonnet-4-5", reasoning_effort=level)
            self.assertEqual(self.up.asked[-1]["thinking"],
                             {"type": "enabled", "budget_tokens": 1024})
        self.up.reply = lambda *_: sse({"candidates": [{
            "content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}]})
        self.chat("gemini-2.5-flash", reasoning_effort="high")
        thinking = self.up.asked[-1]["generationConfig"]["thinkingConfig"]
        self.assertEqual(thinking["thinkingBudget"], 512)

    def test_a_budget_that_the_provider_used_up_is_counted_as_its_cut(self):
        def native():
            found = re.search(rb'^rationale_reasoning_cut_total\{by="upstream",action="native"\} (\d+)',
                              request("/metrics", headers=ALL).body, re.M)
            return int(found[1]) if found else 0

        for thought, more in ((127, 0), (128, 1), (140, 1)):
            self.up.reply = lambda *_: sse({
                "candidates": [{"content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}],
                "usageMetadata": {"promptTokenCount": 3, "candidatesTokenCount": 2, "thoughtsTokenCount": thought}})
            before = native()
            self.chat("gemini-2.5-flash", reasoning_effort="low")
            self.assertEqual(native() - before, more, thought)

    def test_the_end_of_a_text_that_is_split_is_not_lost(self):
        for text in ("Yes. \n", "Yes <thi", "<think>Hm.</think>Yes <", "<think>Hm.</think>\n\nYes "):
            for size in (1, 4, 100):
                with self.subTest(text, size=size):
                    pieces = [text[i:i + size] for i in range(0, len(text), size)]
                    self.up.reply = lambda *_, p=pieces: anthropic_stream(*p)
                    r = self.ask("/v1/messages", {
                        "model": "tags", "max_tokens": 99, "stream": True,
                        "messages": [{"role": "user", "content": "hi"}]})
                    open_, said = set(), ""
                    for e in events(r.body):
                        if e["type"] == "content_block_start":
                            open_.add(e["index"])
                        elif e["type"] == "content_block_stop":
                            open_.remove(e["index"])
                        elif e["type"] == "content_block_delta":
                            self.assertIn(e["index"], open_)
                            said += e["delta"]["text"]
                    self.assertEqual((said, open_),
                                     (text.replace("<think>Hm.</think>", "").lstrip(), set()))

    def test_calls_without_an_id_get_one_that_no_other_turn_has(self):
        self.up.reply = lambda *_: plain({
            "model": "u", "created_at": "2025-01-01T00:00:00Z", "done": True, "done_reason": "stop",
            "message": {"role": "assistant", "content": "", "thinking": "Hm.",
                        "tool_calls": [CALL, CALL]}})
        seen = set()
        for _ in range(3):
            message = json.loads(self.chat("llama").body)["choices"][0]["message"]
            seen |= {c["id"] for c in message["tool_calls"]}
        self.assertEqual(len(seen), 6)
        calls = message["tool_calls"]
        self.chat("llama", messages=[
            {"role": "user", "content": "hi"}, {"role": "assistant", "content": None,
                                                "tool_calls": calls},
            *({"role": "tool", "tool_call_id": c["id"], "content": "1"} for c in calls)])
        self.assertEqual(self.up.asked[-1]["messages"][1]["thinking"], "Hm.")

    def test_a_second_model_gets_past_no_key(self):
        body = b'{"model":"other","messages":[{"role":"user","content":"hi"}],"model":"chat"}'
        r = request("/v1/chat/completions", body, {"authorization": "Bearer sk-one"})
        self.assertEqual((r.status, self.up.asked), (400, []), r.body)
        self.assertIn("model", json.loads(r.body)["error"]["message"])

    def test_counting_keeps_to_the_models_of_a_key(self):
        body = {"model": "other", "messages": [{"role": "user", "content": "hi"}]}
        path = "/v1/messages/count_tokens"
        r = request(path, body, {"x-api-key": "sk-one"})
        self.assertEqual(r.status, 403, r.body)
        self.assertEqual(json.loads(r.body)["error"]["type"], "permission_error")
        r = request(path, {**body, "model": "chat-high"}, {"x-api-key": "sk-one"})
        self.assertEqual(r.status, 200, r.body)
        self.assertGreater(json.loads(r.body)["input_tokens"], 0)

    def test_errors_of_our_own_have_a_type(self):
        for path, body in (("/v1/responses", {"model": "nobody", "input": "hi"}),
                           ("/v1/chat/completions", {"model": "nobody", "messages": [
                               {"role": "user", "content": "hi"}]}),
                           ("/generate", {"model": "nobody", "prompt": "hi"})):
            r = request(path, body, ALL)
            self.assertEqual((r.status, json.loads(r.body)["error"]["type"]),
                             (404, "not_found_error"))

    def test_what_is_not_there_is_told_in_the_clients_words_too(self):
        for method, path, status, good in (
                ("GET", "/v1/messages", 405, lambda e: e["type"] == "error"),
                ("POST", "/v1/messages/batches", 404, lambda e: e["type"] == "error"),
                ("GET", "/v1beta/models/chat:generateContent", 405, lambda e: e["error"]["code"] == 405),
                ("POST", "/api/create", 404, lambda e: "/api/create" in e["error"]),
                ("POST", "/v1/files", 404, lambda e: e["error"]["code"] == "unknown_url")):
            r = request(path, None if method == "GET" else {}, ALL, method)
            self.assertEqual(r.status, status, r.body)
            self.assertTrue(good(json.loads(r.body)), r.body)

    def test_a_gemini_stream_that_cannot_begin_harms_nobody(self):
        for path in ("nobody:streamGenerateContent", "nobody:streamGenerateContent?alt=sse"):
            for _ in range(20):
                r = request(f"/v1beta/models/{path}", {"contents": [{"parts": [{"text": "hi"}]}]}, ALL)
                self.assertEqual((r.status, json.loads(r.body)["error"]["status"]),
                                 (404, "NOT_FOUND"))
        self.assertEqual(request("/health").status, 200)

    def test_a_stream_is_kept_alive_in_every_dialect(self):
        self.up.reply = lambda path, body: (time.sleep(0.5), chat_reply(path, body))[1]
        says = {"messages": [{"role": "user", "content": "hi"}], "model": "chat", "stream": True}
        gemini = {"contents": [{"parts": [{"text": "hi"}]}]}
        for path, body, sign in (
                ("/v1/chat/completions", says, ": thinking"),
                ("/v1/messages", {**says, "max_tokens": 9}, ": thinking"),
                ("/v1/responses", {"model": "chat", "input": "hi", "stream": True}, ": thinking"),
                ("/generate", {"model": "chat", "prompt": "hi"}, ": thinking"),
                ("/v1beta/models/chat:streamGenerateContent?alt=sse", gemini, "\n"),
                ("/v1beta/models/chat:streamGenerateContent", gemini, "\n"),
                ("/api/chat", says, '{"model":"chat"')):
            with self.subTest(path):
                r = self.ask(path, body)
                self.assertTrue(r.body.decode().startswith(sign), r.body[:200])
                self.assertIn(b"Yes.", r.body)
                if path == "/api/chat":
                    lines = [json.loads(line) for line in r.body.split(b"\n") if line]
                    self.assertEqual([m["message"]["content"] for m in lines][:2], ["", ""])
                if "alt" not in path and "Generate" in path:
                    self.assertIsInstance(json.loads(r.body), list)

    def test_a_comment_for_gemini_stands_behind_all_that_was_said(self):
        """LiteLLM takes a comment for the beginning of data, and ignores all that follows."""
        r = self.ask("/v1beta/models/chat:streamGenerateContent?alt=sse",
                     {"contents": [{"parts": [{"text": "hi"}]}]}, SHOW)
        lines = [line for line in r.body.decode().split("\n") if line]
        self.assertTrue(lines[-1].startswith(": reasoning_tokens="), r.body)
        self.assertIn("finishReason", lines[-2])
        self.assertTrue(all(line.startswith("data: ") for line in lines[:-1]), r.body)

    def test_a_thread_is_refused_in_the_words_that_anthropics_sdk_goes_on_from(self):
        says = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 2000}
        for thread in ({"type": "create"}, {"type": "continue", "previous_message_id": "m"}):
            r = request("/v1/messages", {**says, "model": "chat", "thread": thread}, ALL)
            error = json.loads(r.body)["error"]
            self.assertEqual((r.status, error["type"]), (400, "invalid_request_error"))
            self.assertEqual(error["details"], {"error_code": "thread_unsupported_request"})
        self.ask("/v1/messages", {**says, "model": "chat", "thread": None})
        self.assertEqual(len(self.up.asked), 1)

    def test_a_thread_that_goes_on_is_given_no_system_prompt(self):
        self.up.reply = lambda path, body: anthropic_stream("Yes.")
        for thread, system in (({"type": "create"}, True),
                               ({"type": "continue", "previous_message_id": "m"}, False)):
            self.ask("/v1/messages", {
                "model": "claude-sonnet-4-5", "max_tokens": 2000, "stream": True, "thread": thread,
                "messages": [{"role": "user", "content": "hi"}]}, {"x-rationale-level": "low"})
            body = self.up.asked[-1]
            self.assertEqual((body["thread"], "system" in body), (thread, system))

    def test_a_turn_of_gemini_in_pieces_is_one(self):
        """Google's SDKs store each piece of a stream as a content of its own."""
        self.ask("/v1beta/models/chat:generateContent", {"contents": [
            {"role": "user", "parts": [{"text": "hi"}]},
            *({"role": "model", "parts": [{"text": t, "thought": True}]} for t in ("Hm", ", so", ".")),
            {"role": "model", "parts": [{"text": "I "}]}, {"role": "model", "parts": [{"text": "look."}]},
            {"role": "model", "parts": [{"functionCall": {"id": "a", "name": "f", "args": {}}}]},
            {"role": "model", "parts": [{"text": ""}]},
            {"role": "user", "parts": [{"functionResponse": {"id": "a", "name": "f",
                                                             "response": {"result": "ok"}}}]}],
            "tools": [{"functionDeclarations": [{"name": "f"}]}]})
        said = self.up.asked[-1]["messages"]
        self.assertEqual([m["role"] for m in said], ["user", "assistant", "tool"])
        self.assertEqual((said[1]["content"], said[1]["tool_calls"][0]["id"]), ("I look.", "a"))
        self.assertEqual(said[1]["reasoning_content"], "Hm, so.")

    def test_a_call_of_ollama_without_an_id_has_that_of_its_result(self):
        """LiteLLM omits the id in the call and sends it with the result."""
        call = lambda name, **more: {**more, "function": {"name": name, "arguments": {}}}  # noqa: E731
        self.ask("/api/chat", {"model": "chat", "stream": False, "messages": [
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": "",
             "tool_calls": [call("f"), call("g", id="own"), call("f"), call("h")]},
            {"role": "tool", "content": "1", "tool_call_id": "x"},
            {"role": "tool", "content": "2", "tool_call_id": "own"},
            {"role": "tool", "content": "3", "tool_call_id": "y", "tool_name": "f"},
            {"role": "tool", "content": "4"}]})
        said = self.up.asked[-1]["messages"]
        ids = [c["id"] for c in said[1]["tool_calls"]]
        self.assertEqual(ids[:3], ["x", "own", "y"])
        self.assertEqual([m["tool_call_id"] for m in said[2:]], ids)

    def test_an_error_names_its_request_where_sdks_look(self):
        says = {"messages": [{"role": "user", "content": "hi"}], "max_tokens": 9}
        for path, name in (("/v1/chat/completions", "x-request-id"), ("/v1/responses", "x-request-id"),
                           ("/v1/messages", "request-id")):
            for body in ({**says, "model": "nobody"}, {"model": 1}):
                r = request(path, body, ALL)
                self.assertGreaterEqual(r.status, 400)
                self.assertEqual(r.headers[name], r.headers["x-rationale-id"])

    def test_googles_own_sdks_are_sent_no_comments(self):
        """They treat any line that is neither empty nor data as a broken reply."""
        self.up.reply = lambda path, body: (time.sleep(0.5), chat_reply(path, body))[1]
        r = self.ask("/v1beta/models/chat:streamGenerateContent?alt=sse",
                     {"contents": [{"parts": [{"text": "hi"}]}]},
                     {"x-goog-api-client": "google-genai-sdk/2.34.0 gl-python/3.11"})
        self.assertTrue(r.body.startswith(b"\n\n"), r.body[:200])
        self.assertIn(b"Yes.", r.body)
        # The Go SDK splits at empty lines and treats all other text as events.
        for event in r.body.split(b"\n\n"):
            self.assertTrue(not event or event.startswith(b"data: "), event)
        for line in r.body.decode().splitlines():
            self.assertTrue(not line or json.loads(line.removeprefix("data: ")), line)

    def test_generate_takes_the_first_model_if_none_is_named(self):
        r = self.ask("/generate", {"prompt": "hi", "stream": False})
        self.assertEqual(json.loads(r.body)["model"], "chat")

    def test_generate_tells_the_reasoning_only_if_it_is_not_dropped(self):
        names = lambda r: [line[7:] for line in r.body.decode().split("\n")  # noqa: E731
                           if line.startswith("event: ")]
        ask = {"model": "chat", "prompt": "hi"}
        self.assertNotIn("reasoning", names(self.ask("/generate", ask)))
        self.assertIn("reasoning", names(self.ask("/generate", {**ask, "drop_from_history": False})))
        self.assertIn("reasoning", names(self.ask("/generate", ask, SHOW)))
        self.assertNotIn("reasoning", names(self.ask(
            "/generate", {**ask, "drop_from_history": True}, SHOW)))
        self.assertEqual(request("/generate", {**ask, "drop_from_history": 1}, ALL).status, 400)

    def test_a_repaired_answer_tells_what_both_calls_used(self):
        for stream in (False, True):
            self.up.asked.clear()
            self.up.reply = lambda path, body: chat_reply(
                path, body, content="" if len(self.up.asked) == 1 else "Yes.")
            r = self.chat("chat", {**ALL, "x-rationale-level": "low"}, stream=stream,
                          stream_options={"include_usage": True} if stream else None)
            words = r.headers.get("x-rationale-usage") or " ".join(comments(r.body))
            self.assertIn("reasoning_tokens=40; cap=128; cut=none; starved=repaired", words)
            doc = events(r.body)[-1] if stream else json.loads(r.body)
            self.assertEqual((doc["usage"]["prompt_tokens"], doc["usage"]["completion_tokens"],
                              doc["usage"]["completion_tokens_details"]["reasoning_tokens"]),
                             (10, 40, 40))

    def test_money_that_is_spent_shows_in_the_metrics(self):
        poor = {"authorization": "Bearer sk-poor"}
        page = lambda: request("/metrics", None, ALL).body.decode()  # noqa: E731
        self.assertIn('rationale_key_budget_remaining_ratio{key="poor"} 1\n', page())
        self.chat("chat", poor)  # 5 + 20 tokens at one dollar each
        self.assertIn('rationale_key_budget_remaining_ratio{key="poor"} 0.1666', page())
        self.chat("chat", poor)
        r = request("/v1/chat/completions", {"model": "chat", "messages": [
            {"role": "user", "content": "hi"}]}, poor)
        self.assertEqual(r.status, 429, r.body)
        self.assertIn('rationale_key_budget_remaining_ratio{key="poor"} 0\n', page())
        self.assertIn('rationale_rejected_total{reason="budget"} 1\n', page())


    def test_calls_that_share_an_id_get_back_their_own_reasoning(self):
        """A host that numbers its calls from 0 in every reply, and clients that drop the reasoning."""
        def call(city):
            return {"id": "call_0", "type": "function", "function": {
                "name": "weather", "arguments": json.dumps({"city": city, "days": 1})}}

        def replies(_, body):
            city = body["messages"][0]["content"]
            return chat_reply(_, body, content=None, reasoning_content=f"Hm, {city}.",
                              tool_calls=[call(city)])

        self.up.reply = replies
        for city in ("Oslo", "Rome"):
            self.ask("/v1/chat/completions", {"model": "llama-tools", "messages": [
                {"role": "user", "content": city}]})
        for city, told in (("Oslo", "Hm, Oslo."), ("Rome", "Hm, Rome."), ("Bern", None)):
            again = call(city)  # the same call in other words
            again["function"]["arguments"] = json.dumps({"days": 1, "city": city}, indent=1)
            self.ask("/v1/chat/completions", {"model": "llama-tools", "messages": [
                {"role": "user", "content": city},
                {"role": "assistant", "content": None, "tool_calls": [again]},
                {"role": "tool", "tool_call_id": "call_0", "content": "sun"}]})
            self.assertEqual(self.up.asked[-1]["messages"][1].get("reasoning_content"), told, city)

    def test_calls_that_share_their_ids_with_another_models_get_back_their_own(self):
        calls = [{"id": i, "type": "function", "function": {"name": "f", "arguments": '{"x": 1}'}}
                 for i in ("call_0", "call_1")]
        self.up.reply = lambda path, body: chat_reply(path, body, content=None, tool_calls=calls)
        self.chat("llama-tools")
        parts = [{"functionCall": {"id": c["id"], "name": "f", "args": {"x": 1}}} for c in calls]
        parts[0]["thoughtSignature"] = "c2lnbmVk"  # only the first has a signature
        self.up.reply = lambda *_: plain({"candidates": [{
            "content": {"role": "model", "parts": parts}, "finishReason": "STOP"}]})
        self.chat("gemini-2.5-flash")
        self.chat("gemini-2.5-flash", messages=[
            {"role": "user", "content": "hi"},
            {"role": "assistant", "content": None, "tool_calls": calls},
            *({"role": "tool", "tool_call_id": c["id"], "content": "1"} for c in calls)])
        self.assertEqual([p.get("thoughtSignature") for p in
                          self.up.asked[-1]["contents"][1]["parts"]], ["c2lnbmVk", None])

    def test_an_image_by_url_reaches_every_kind_of_provider_or_is_refused(self):
        url = "https://example.org/a.png?x=1"
        image = {"type": "image_url", "image_url": {"url": url}}
        said = [{"role": "user", "content": [{"type": "text", "text": "what?"}, image]}]
        self.up.reply = lambda *_: anthropic_stream("Yes.")
        self.chat("claude-sonnet-4-5", messages=said, stream=True)
        self.assertEqual(self.up.asked[-1]["messages"][0]["content"][1],
                         {"type": "image", "source": {"type": "url", "url": url}})
        self.up.reply = lambda *_: plain({"candidates": [{
            "content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}]})
        self.chat("gemini-2.5-flash", messages=said)
        self.assertEqual(self.up.asked[-1]["contents"][0]["parts"][1],
                         {"fileData": {"mimeType": "image/png", "fileUri": url}})
        count = len(self.up.asked)
        r = request("/v1/chat/completions", {"model": "llama", "messages": said}, ALL)
        self.assertEqual((r.status, len(self.up.asked)), (400, count), r.body)
        self.assertIn("not by URL", json.loads(r.body)["error"]["message"])

    def test_a_schema_for_the_answer_reaches_every_kind_of_provider(self):
        schema = {"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
                  "additionalProperties": False}
        asks = {"response_format": {"type": "json_schema", "json_schema": {
            "name": "n", "schema": schema, "strict": True}}}
        self.up.reply = lambda *_: anthropic_stream("{}")
        self.chat("claude-sonnet-4-5", stream=True, **asks)
        self.assertEqual(self.up.asked[-1]["output_config"]["format"],
                         {"type": "json_schema", "schema": schema})
        self.up.reply = lambda *_: plain({"candidates": [{
            "content": {"role": "model", "parts": [{"text": "{}"}]}, "finishReason": "STOP"}]})
        self.chat("gemini-2.5-flash", **asks)
        self.assertEqual(self.up.asked[-1]["generationConfig"]["responseJsonSchema"], schema)
        self.up.reply = lambda *_: plain({
            "model": "u", "created_at": "2025-01-01T00:00:00Z", "done": True,
            "done_reason": "stop", "message": {"role": "assistant", "content": "{}"}})
        self.chat("llama", **asks)
        self.assertEqual(self.up.asked[-1]["format"], schema)
        self.up.reply = chat_reply
        self.ask("/v1/messages", {"model": "chat", "max_tokens": 50, "messages": [
            {"role": "user", "content": "hi"}], "output_format": {
                "type": "json_schema", "schema": schema}})
        self.assertEqual(self.up.asked[-1]["response_format"]["json_schema"]["schema"], schema)

    def test_a_body_that_is_too_large_is_refused_in_the_clients_words(self):
        words = {"/v1/chat/completions": lambda e: e["error"]["code"] == "request_too_large",
                 "/v1/responses": lambda e: e["error"]["code"] == "request_too_large",
                 "/v1/messages": lambda e: e["error"]["type"] == "request_too_large"
                 and e["type"] == "error",
                 "/v1beta/models/chat:generateContent": lambda e: e["error"]["code"] == 413
                 and e["error"]["status"] == "INVALID_ARGUMENT",
                 "/api/chat": lambda e: "too large" in e["error"]}
        for path, good in words.items():
            with self.subTest(path=path):
                c = http.client.HTTPConnection("127.0.0.1", asking.world.gateway.port, timeout=30)
                c.putrequest("POST", path)
                c.putheader("content-length", str((32 << 20) + 1))
                c.putheader("authorization", "Bearer sk-all")
                c.endheaders()
                r = c.getresponse()
                body = json.loads(r.read())
                self.assertEqual(r.status, 413)
                self.assertTrue(r.headers["x-rationale-id"])
                self.assertTrue(good(body), body)
                c.close()

    def test_calls_that_are_refused_are_counted(self):
        def count():
            page = request("/metrics", None, ALL).body.decode()
            found = [line for line in page.splitlines() if line.startswith("rationale_requests_total")
                     and 'provider="none"' in line and 'route="/v1/messages"' in line]
            return sum(float(line.split()[-1]) for line in found)

        before = count()
        for body, headers, status in (({}, ALL, 400), ({"model": "nobody", "max_tokens": 5, "messages": [
                {"role": "user", "content": "hi"}]}, ALL, 404), ({}, {"x-api-key": "wrong"}, 401)):
            r = request("/v1/messages", body, headers)
            self.assertEqual(r.status, status, r.body)
        self.assertEqual(count() - before, 3)


    def test_a_stream_without_comments_tells_what_was_counted_all_the_same(self):
        long = lambda path, body: chat_reply(  # noqa: E731
            path, body, reasoning_content=" think" * 200 if len(self.up.asked) == 1 else None)
        for think, words in (("low", "reasoning_tokens=148; cap=128; cut=budget"),
                             (None, "reasoning_tokens=20; cap=none; cut=none")):
            self.up.asked.clear()
            self.up.reply = long
            r = self.ask("/api/chat", {"model": "chat", "think": think, "messages": [
                {"role": "user", "content": "hi"}]})
            lines = [json.loads(line) for line in r.body.split(b"\n") if line]
            self.assertEqual([m["x-rationale-usage"] for m in lines if "x-rationale-usage" in m],
                             [words])
            self.assertTrue(lines[-1]["done"])

    def test_characters_that_a_host_cut_in_two_are_whole_again(self):
        piece = lambda raw: (b'data: {"id":"c","choices":[{"index":0,"delta":{"content":"'  # noqa: E731
                             + raw + b'"}}]}\n\n')
        globe = "\U0001f30d".encode()
        end = b'data: {"id":"c","choices":[{"index":0,"delta":{},"finish_reason":"stop"}]}\n\n'
        for halves in ((b"a\\ud83c", b"\\udf0db"), (b"a" + globe[:3], globe[3:] + b"b")):
            self.up.reply = lambda *_: ("text/event-stream", b"".join(map(piece, halves)) + end)
            r = self.chat("chat", stream=True)
            self.assertEqual("".join(e["choices"][0]["delta"].get("content", "")
                                     for e in events(r.body)), "a\U0001f30db")
            r = self.ask("/v1/messages", {"model": "chat", "max_tokens": 9, "stream": True,
                                          "messages": [{"role": "user", "content": "hi"}]})
            self.assertEqual("".join(e["delta"]["text"] for e in events(r.body)
                                     if e["type"] == "content_block_delta"), "a\U0001f30db")

    def test_a_key_that_a_provider_repeats_reaches_no_client(self):
        key, said = "kept-by-the-operator", "bad key: kept-by-the-operator."
        self.up.reply = lambda *_: (
            "text/event-stream", b'data: {"error":{"message":"%s"}}\n\n' % said.encode()) \
            if self.up.asked[-1].get("stream") else ("application/json", b"no")
        whole = json.dumps({"error": {"message": said, "code": key}, "twice": key}).encode()
        with Refusing(401, whole) as refusing, Gateway(BINARY, {"providers": {
                "refuses": {"kind": "openai", "base_url": refusing + "/v1", "models": ["refuses"],
                            "api_key_env": "REFUSED_KEY"},
                "streams": {"kind": "openai", "base_url": self.up.root + "/v1",
                            "models": ["streams"], "api_key_env": "REFUSED_KEY", "retries": 0}}},
                env={"REFUSED_KEY": key}) as gateway:
            for model in ("refuses", "streams"):
                for path in ("/v1/chat/completions", "/v1/messages", "/api/chat"):
                    r = request(path, {"model": model, "max_tokens": 9, "stream": model[0] == "s",
                                       "messages": [{"role": "user", "content": "hi"}]}, {},
                                at=gateway)
                    self.assertNotIn(key.encode(), r.body)
                    self.assertIn(b"bad key: [key].", r.body)
            for file in gateway.folder.rglob("*"):
                self.assertFalse(file.is_file() and key.encode() in file.read_bytes(), file)

    def test_words_between_a_call_and_its_arguments_do_not_end_it(self):
        said = lambda **delta: {"id": "c", "choices": [{"index": 0, "delta": delta}]}  # noqa: E731
        piece = lambda text, **more: said(tool_calls=[  # noqa: E731
            {"index": 0, "function": {"arguments": text, **more}}])
        for pieces in (["", said(content="\n"), '{"x": [1, "}"]}'],
                       ['{"x": [1, "}', said(content="So."), '"]', said(reasoning="Hm."), "}"]):
            frames = [piece(p) if isinstance(p, str) else p for p in pieces]
            frames[0]["choices"][0]["delta"]["tool_calls"][0]["id"] = "call_a"
            frames[0]["choices"][0]["delta"]["tool_calls"][0]["function"]["name"] = "f"
            self.up.reply = lambda *_: sse(*frames, {"id": "c", "choices": [
                {"index": 0, "delta": {}, "finish_reason": "tool_calls"}]})
            r = self.ask("/v1/responses", {"model": "chat", "input": "hi", "stream": True})
            items = [i for i in events(r.body)[-1]["response"]["output"]
                     if i["type"] == "function_call"]
            got = [json.loads(i["arguments"]) for i in items]
            r = self.ask("/v1beta/models/chat:streamGenerateContent?alt=sse",
                         {"contents": [{"parts": [{"text": "hi"}]}]})
            got += [p["functionCall"]["args"] for e in events(r.body)
                    for p in e["candidates"][0]["content"]["parts"] if "functionCall" in p]
            says = {"model": "chat", "messages": [{"role": "user", "content": "hi"}]}
            r = self.ask("/api/chat", says)
            got += [c["function"]["arguments"] for line in r.body.split(b"\n") if line
                    for c in json.loads(line)["message"].get("tool_calls", [])]
            r = self.ask("/generate", says)
            got += [e["arguments"] for e in events(r.body) if "arguments" in e]
            self.assertEqual(got, 4 * [{"x": [1, "}"]}])

    def test_a_stream_that_nobody_asked_for_is_put_together(self):
        _, reply = chat_reply("", {"stream": True}, tool_calls=[
            {"index": 0, "id": "a", "type": "function",
             "function": {"name": "f", "arguments": "{}"}}])
        self.up.reply = lambda *_: ("text/event-stream", reply)
        doc = json.loads(self.chat("chat").body)
        self.assertEqual(doc["object"], "chat.completion")
        self.assertEqual(doc["choices"][0]["message"]["content"], "Yes.")
        self.assertEqual(doc["choices"][0]["message"]["tool_calls"][0]["function"]["name"], "f")
        self.assertEqual(doc["usage"]["completion_tokens"], 20)
        self.up.reply = lambda *_: anthropic_stream("Y", "es.")
        doc = json.loads(self.ask("/v1/messages", {
            "model": "claude-sonnet-4-5", "max_tokens": 9,
            "messages": [{"role": "user", "content": "hi"}]}).body)
        self.assertEqual(doc["content"], [{"type": "text", "text": "Yes."}])

    def test_an_array_is_no_event_stream(self):
        r = self.ask("/v1beta/models/chat:streamGenerateContent",
                     {"contents": [{"parts": [{"text": "hi"}]}]})
        self.assertTrue(r.headers["content-type"].startswith("application/json"), r.headers)
        self.assertIsInstance(json.loads(r.body), list)

    def test_a_system_prompt_alone_is_a_question(self):
        said = [{"role": "system", "content": "One."}, {"role": "system", "content": "Two."}]
        self.up.reply = lambda *_: anthropic_stream("Yes.")
        self.chat("claude-sonnet-4-5", messages=said, stream=True)
        asked = self.up.asked[-1]
        self.assertEqual((asked["system"], asked["messages"]), (
            [{"type": "text", "text": "One."}],
            [{"role": "user", "content": [{"type": "text", "text": "Two."}]}]))
        self.up.reply = lambda *_: plain({"candidates": [{
            "content": {"role": "model", "parts": [{"text": "Yes."}]}, "finishReason": "STOP"}]})
        self.chat("gemini-2.5-flash", messages=said[1:])
        self.assertEqual(self.up.asked[-1]["contents"],
                         [{"role": "user", "parts": [{"text": "Two."}]}])

    def test_parts_of_a_prompt_do_not_run_together(self):
        self.up.reply = lambda *_: plain({
            "model": "u", "created_at": "2025-01-01T00:00:00Z", "done": True,
            "done_reason": "stop", "message": {"role": "assistant", "content": "Yes."}})
        self.ask("/v1/messages", {
            "model": "llama", "max_tokens": 50,
            "system": [{"type": "text", "text": "One."}, {"type": "text", "text": "Two."}],
            "messages": [{"role": "user", "content": [{"type": "text", "text": "Three."},
                                                      {"type": "text", "text": "Four."}]}]})
        self.assertEqual([m["content"] for m in self.up.asked[-1]["messages"]],
                         ["One.\n\nTwo.", "Three.\n\nFour."])

    def test_the_share_of_reasoning_is_never_more_than_all(self):
        self.up.reply = lambda *_: sse(
            {"id": "c", "choices": [{"index": 0, "finish_reason": "stop", "delta": {
                "reasoning_content": " think" * 100, "content": "Yes."}}]},
            {"id": "c", "choices": [], "usage": {"prompt_tokens": 5, "completion_tokens": 2}})
        r = self.ask("/generate", {"model": "chat", "prompt": "hi", "stream": False})
        self.assertLessEqual(json.loads(r.body)["usage"]["reasoning_ratio"], 1)

    def test_what_a_host_says_of_the_usage_is_not_guessed_over(self):
        self.up.reply = lambda *_: plain({
            "id": "c", "choices": [{"index": 0, "finish_reason": "stop",
                                    "message": {"role": "assistant", "content": "Yes."}}],
            "usage": {"prompt_tokens": 12345}})
        doc = json.loads(self.ask("/v1/messages", {
            "model": "chat", "max_tokens": 9,
            "messages": [{"role": "user", "content": "hi"}]}).body)
        self.assertEqual(doc["usage"]["input_tokens"], 12345)
        self.assertGreater(doc["usage"]["output_tokens"], 0)

    def test_an_error_in_a_field_of_its_own_reaches_every_client(self):
        begun = sse({"id": "c", "choices": [{"index": 0, "delta": {"content": "Yes"}}]})
        error = b'error: {"code":500,"message":"out of room"}\n\n'
        self.up.reply = lambda *_: (begun[0], begun[1] + error)
        said = [{"role": "user", "content": "hi"}]
        for path, body in (("/v1/chat/completions", {"messages": said}),
                           ("/v1/messages", {"messages": said, "max_tokens": 9}),
                           ("/v1/responses", {"input": "hi"}), ("/api/chat", {"messages": said})):
            with self.subTest(path=path):
                r = self.ask(path, {"model": "chat", "stream": True, **body})
                self.assertIn(b"out of room", r.body)
                self.assertNotIn(b"\nerror: ", r.body)

    def test_a_request_over_several_lines_breaks_no_event(self):
        self.up.reply = lambda *_: sse(
            {"id": "c", "choices": [{"index": 0, "finish_reason": "stop",
                                     "delta": {"content": "Yes."}}]})
        body = {"model": "chat", "input": "hi", "stream": True, "metadata": {"k": "v"},
                "tools": [{"type": "function", "name": "f", "parameters": {"type": "object"}}]}
        r = request("/v1/responses", json.dumps(body, indent=2).encode(), ALL)
        self.assertEqual(events(r.body)[-1]["response"]["tools"], body["tools"])


def resident(pid):
    with open(f"/proc/{pid}/status") as status:
        return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


class StoreDown(unittest.TestCase):
    """Another process has locked the tables, so they cannot be written."""

    def load(self, gateway, seconds):
        """As many calls as four clients make in that time; returns their number."""
        made, until = [], time.monotonic() + seconds
        body = {"model": "chat", "messages": [{"role": "user", "content": "hi " * 2000}]}

        def client():
            while time.monotonic() < until:
                r = request("/v1/chat/completions", body, {}, at=gateway)
                made.append(r.status)

        threads = [threading.Thread(target=client) for _ in range(4)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(set(made), {200})
        return len(made)

    def test_memory_stays_while_the_tables_do_not_follow(self):
        up = asking.world.up
        up.reply = chat_reply
        # Otherwise the test would measure the memory that the sanitizer keeps in quarantine.
        env = {"ASAN_OPTIONS": os.environ.get("ASAN_OPTIONS", "") + ":quarantine_size_mb=1"}
        with Gateway(BINARY, {"threads": 1, "providers": {"chat": {
                "kind": "openai", "base_url": up.root + "/v1", "models": ["chat"]}}},
                     env=env) as gateway:
            for _ in range(10):  # until its memory stops growing
                before = resident(gateway.child.pid)
                self.load(gateway, 2)
                if resident(gateway.child.pid) <= before * 1.01:
                    break
            db = sqlite3.connect(gateway.folder / "history.db", isolation_level=None, timeout=30)
            db.execute("BEGIN IMMEDIATE")
            before, count = resident(gateway.child.pid), self.load(gateway, 8)
            self.assertLessEqual(resident(gateway.child.pid), before * 1.05, f"{count} calls")
            db.execute("ROLLBACK")
            db.close()


if __name__ == "__main__":
    start()
