#!/usr/bin/env python3
"""The real binary, with raw HTTP clients in front and the test provider behind.

    test/e2e/gateway_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

Authentication, bytes passed through, /generate, signals and crashes. test/sdk tests the official
SDKs; reasoning_test.py and failures_test.py test the rest.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import re
import resource
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from asking import (AUTH, KEY, MARK, SHOW, GatewayCase, answer_to, chat, config, question, request,
                    said_in, setUpModule, start, tearDownModule, world)
from command import BINARY
from gateway import PATIENCE, Gateway, until, upstream


class Doors(GatewayCase):
    """Authentication, and routes that need none."""

    def test_each_way_to_show_a_key_is_taken(self):
        for headers in ({"authorization": f"Bearer {KEY}"}, {"authorization": f"bearer {KEY}"},
                        {"x-api-key": KEY}, {"x-goog-api-key": KEY}):
            self.ok(request("/v1/chat/completions", {"model": "openai-plain", "messages": [
                {"role": "user", "content": "x"}]}, headers))

    def test_no_key_and_a_wrong_key_are_refused_in_each_dialect(self):
        shapes = {"/v1/chat/completions": ("error", "message"), "/v1/responses": ("error", "message"),
                  "/v1/messages": ("error", "type"), "/api/chat": ("error",),
                  "/v1beta/models/gemini-plain:generateContent": ("error", "status")}
        for path, members in shapes.items():
            for headers in ({}, {"authorization": "Bearer wrong"}, {"x-api-key": ""}):
                r = request(path, {"model": "openai-plain"}, headers)
                self.check_error(r, 401)
                doc = json.loads(r.body)
                for name in members:
                    self.assertIn(name, doc)
                    doc = doc[name] if isinstance(doc[name], dict) else doc
                self.assertNotIn(b"wrong", r.body)

    def test_a_key_may_be_bound_to_models_and_to_silence(self):
        few = {"authorization": "Bearer sk-few"}
        self.ok(chat("openai-plain", question(), headers=few))
        self.assertEqual(chat("openai-think", question(), headers=few).status, 403)

    def test_a_key_has_so_many_requests_a_minute(self):
        slow = {"authorization": "Bearer sk-slow"}
        replies = [chat("openai-plain", question(), headers=slow) for _ in range(4)]
        self.assertEqual([r.status for r in replies][:2], [200, 200])
        self.check_error(replies[-1], 429)
        self.assertGreaterEqual(int(replies[-1].headers["retry-after"]), 1)

    def test_every_reply_has_an_id_of_its_own(self):
        seen = set()
        for r in (chat("openai-plain", "x"), chat("openai-plain", "x", stream=True),
                  chat("openai-ids", "x"), chat("openai-ids", "x"), chat("nobody", "x"),
                  request("/health"), request("/nowhere"), request("/v1/models", headers={}),
                  request("/v1/chat/completions", b"{")):
            self.assertIn("x-rationale-id", r.headers, r.status)
            seen.add(r.headers["x-rationale-id"])
        self.assertEqual(len(seen), 9)

    def test_the_clients_key_stays_here(self):
        said = question()
        self.ok(chat("openai-plain", said, headers={"x-api-key": KEY, "cookie": "a=b"}))
        [entry] = self.upstream(said, 1)
        self.assertNotIn(KEY, json.dumps(entry["headers"]))
        self.assertNotIn("cookie", entry["fields"])
        self.assertEqual(entry["fields"]["authorization"], "Bearer upstream-key")
        self.assertEqual(entry["fields"]["accept-encoding"], "identity")

    def test_wrong_requests_are_told_what_is_wrong(self):
        self.check_error(request("/v1/chat/completions", b"{nope"), 400)
        self.check_error(request("/v1/chat/completions", {"model": "openai-plain"}), 400, "messages")
        self.check_error(chat("nobody", "x"), 404, "nobody")
        self.check_error(request("/nowhere"), 404)
        r = request("/v1/chat/completions")
        self.check_error(r, 405)
        self.assertIn("POST", r.headers["allow"])

    def test_health_ready_and_metrics(self):
        health = json.loads(self.ok(request("/health", headers={})).body)
        self.assertEqual(health["status"], "healthy")
        self.assertTrue(health["services"]["database"]["connected"])
        self.assertTrue(json.loads(self.ok(request("/ready", headers={})).body)["ready"])
        self.ok(chat("openai-think", question()))
        text = self.ok(request("/metrics")).body.decode()
        for name in ("rationale_requests_total", "rationale_tokens_total",
                     "rationale_request_duration_seconds_bucket", "rationale_build_info"):
            self.assertRegex(text, rf"(?m)^{name}[{{ ]")
        for line in text.splitlines():
            self.assertRegex(line, r"^(# (HELP|TYPE|UNIT|EOF).*|[a-zA-Z_:][\w:]*(\{.*\})? \S+.*)?$")
        self.assertNotIn(KEY, text)

    def test_the_models_are_listed_in_each_dialect(self):
        ids = [m["id"] for m in json.loads(self.ok(request("/v1/models")).body)["data"]]
        self.assertIn("openai-plain", ids)
        names = [m["name"] for m in json.loads(self.ok(request("/v1beta/models")).body)["models"]]
        self.assertIn("models/gemini-plain", names)
        names = [m["name"] for m in json.loads(self.ok(request("/api/tags")).body)["models"]]
        self.assertIn("ollama-plain", names)
        self.assertEqual(json.loads(self.ok(request("/v1/models/openai-plain")).body)["id"],
                         "openai-plain")


class Bytes(GatewayCase):
    """With the same dialect on both sides no body is rewritten."""

    ODD_BODY = ('{"zeta": 1.0, "model":"plain","temperature":1e0 ,"messages":[{"role":"user",'
                '"content":"caf\\u00e9 \\ud83c\\udf0d %s","name":"n"}],"big":12345678901234567890123,'
                '"alpha":{"b":[1.50,-0.0,1E+2],"a":{}},\n\t"stream":%s,"last":null}')

    def test_a_request_goes_through_to_the_byte(self):
        for stream in ("false", "true"):
            said = question()
            body = (self.ODD_BODY % (said, stream)).encode()
            self.ok(request("/v1/chat/completions", body))
            [entry] = self.upstream(said, 1)
            if stream == "true":  # every stream requests its usage
                body = body[:-1] + b',"stream_options":{"include_usage":true}}'
            self.assertEqual(entry["body"].encode(), body)

    def test_only_the_model_is_changed_if_it_has_another_name(self):
        said = question()
        body = (self.ODD_BODY % (said, "false")).replace('"plain"', '"openai-plain"').encode()
        self.ok(request("/v1/chat/completions", body))
        [entry] = self.upstream(said, 1)
        self.assertEqual(entry["body"].encode(), body.replace(b'"openai-plain"', b'"plain"'))

    def test_a_whole_reply_goes_through_to_the_byte(self):
        said = question()
        r = self.ok(chat("plain", said))
        [entry] = self.upstream(said, 1)
        self.assertEqual(r.body.decode(), entry["reply"])

    def test_a_stream_goes_through_to_the_byte_but_for_usage_that_nobody_asked_for(self):
        for options, extra in (({"stream_options": {"include_usage": True}}, None), ({}, '"choices": []')):
            said = question()
            r = self.ok(chat("plain", said, stream=True, **options))
            [entry] = self.upstream(said, 1)
            frames = entry["reply"].split("\n\n")
            self.assertEqual(len([f for f in frames if '"choices": []' in f]), 1)
            self.assertEqual(r.body.decode(), "\n\n".join(f for f in frames if not extra or extra not in f))

    def test_signed_thinking_goes_through_to_the_byte(self):
        for stream in (False, True):
            said = question()
            r = self.ok(request("/v1/messages", {
                "model": "think+loud", "max_tokens": 5000, "stream": stream,
                "messages": [{"role": "user", "content": said}]},
                {**AUTH, **SHOW, "anthropic-version": "2023-06-01"}))
            [entry] = self.upstream(said, 1)
            self.assertEqual(re.sub(r"(?m)^:.*\n\n?", "", r.body.decode()), entry["reply"])

    def test_an_error_goes_through_in_the_providers_words(self):
        r = chat("openai-full", question())
        self.check_error(r, 429, "This model always answers 429.")

    def test_streams_say_that_nobody_should_hold_them_back(self):
        r = self.ok(chat("openai-plain", question(), stream=True))
        self.assertTrue(r.headers["content-type"].startswith("text/event-stream"))
        self.assertEqual(r.headers["x-accel-buffering"], "no")
        self.assertIn("no-cache", r.headers["cache-control"])


class Generate(GatewayCase):
    """/generate: named events."""

    def named(self, body):
        out = []
        for block in body.decode().split("\n\n"):
            name = re.search(r"(?m)^event: ?(.*)$", block)
            data = re.search(r"(?m)^data: ?(.*)$", block)
            if name and data:
                out.append((name[1], json.loads(data[1])))
        return out

    def test_tokens_usage_and_end(self):
        said = question()
        r = self.ok(request("/generate", {"model": "openai-think", "prompt": said, "stream": True}))
        got = self.named(r.body)
        names = [n for n, _ in got]
        self.assertEqual(names[-2:], ["usage", "end"])
        self.assertGreater(names.count("token"), 3)
        self.assertNotIn(MARK.encode(), r.body)
        usage = dict(got)["usage"]
        for name in ("reasoning_tokens", "final_tokens", "reasoning_ratio"):
            self.assertIn(name, usage)

    def test_reasoning_is_an_event_for_who_may_see_it(self):
        r = self.ok(request("/generate", {"model": "openai-think", "prompt": question(),
                                          "stream": True}, {**AUTH, **SHOW}))
        got = self.named(r.body)
        self.assertIn("analysis", [n for n, _ in got])
        self.assertIn(MARK, json.dumps([data for n, data in got if n == "reasoning"]))

    def test_an_error_is_an_event_or_a_status(self):
        r = request("/generate", {"model": "openai-never", "prompt": "x", "stream": True})
        self.assertTrue(r.status >= 500 or "error" in [n for n, _ in self.named(r.body)], r)


class Life(GatewayCase):
    """Signals, limits, and data that survives a crash; each test has its own gateway."""

    def own(self, env=None, **more):
        g = Gateway(BINARY, config(**more), env=env)
        self.addCleanup(g.stop)
        g.start()
        return g

    def test_a_body_that_is_too_large_is_refused(self):
        g = self.own(body_max="64KiB")
        r = request("/v1/chat/completions", {"model": "openai-plain", "messages": [
            {"role": "user", "content": "x" * 70000}]}, at=g)
        self.check_error(r, 413)
        self.assertIn("x-rationale-id", r.headers)
        self.ok(chat("openai-plain", "small", at=g))

    def test_a_silent_stream_gives_signs_of_life(self):
        g = self.own(timeouts={"keepalive": "300ms"})
        for model in ("openai-hush", "openai-silent", "anthropic-silent"):
            with self.subTest(model):
                said = question()
                r = self.ok(chat(model, said, at=g, stream=True))
                text = r.body.decode()
                first = text.index("data:")
                self.assertGreaterEqual(sum(line.startswith(":") for line in
                                            text[:first].split("\n")), 2, text[:300])
                self.assertEqual(said_in(r)[0], answer_to(said))

    def held_stream(self, g, said):
        """Starts a stream in the background; it continues when the provider is released."""
        out = []
        thread = threading.Thread(target=lambda: out.append(
            chat("openai-held", said, at=g, stream=True)))
        thread.start()
        world.provider.held(said)
        return thread, out

    def leaves(self, g):
        """Whether it accepts no more calls."""
        try:
            return request("/ready", at=g).status == 503
        except OSError:
            return True  # a refused connection counts too

    def test_sigterm_lets_streams_end_and_takes_no_more(self):
        g = self.own(timeouts={"drain": "300s"})
        said = question()
        thread, out = self.held_stream(g, said)
        g.signal(signal.SIGTERM)
        until(lambda: self.leaves(g))
        world.provider.go_on(said)
        thread.join(PATIENCE)
        self.assertTrue(out and said_in(out[0])[0].startswith(answer_to(said)), out)
        self.assertEqual(g.child.wait(PATIENCE), 0)

    def test_applications_refuse_requests_while_the_gateway_drains(self):
        g = self.own(timeouts={"drain": "300s"})
        said = question()
        thread, _ = self.held_stream(g, said)
        begun = []
        for _ in range(20):  # running requests are read to their end
            begun.append(socket.create_connection(("127.0.0.1", g.port), timeout=PATIENCE))
            begun[-1].sendall(f"GET /api/v1/policy/documents HTTP/1.1\r\nhost: x\r\nx-api-key: {KEY}\r\n".encode())
        g.signal(signal.SIGTERM)
        until(lambda: self.leaves(g))
        for sock in begun:
            time.sleep(0.05)
            sock.sendall(b"connection: close\r\n\r\n")
            with sock, sock.makefile("rb") as reply:
                text = reply.read()
            self.assertRegex(text, rb"^HTTP/1.1 (404|503) ")  # 404: no policies here, and not draining yet
        self.assertIn(b'"draining"', text)
        world.provider.go_on(said)
        thread.join(PATIENCE)
        self.assertEqual(g.child.wait(PATIENCE), 0, g.log_tail())

    def test_a_second_sigterm_does_not_wait(self):
        # The process ends with running threads on purpose, so ThreadSanitizer must not report them
        # as leaks.
        g = self.own(timeouts={"drain": "300s"}, env={
            "TSAN_OPTIONS": os.environ.get("TSAN_OPTIONS", "") + " report_thread_leaks=0"})
        thread = self.stream_in_background_quietly(g, question())
        g.signal(signal.SIGTERM)
        until(lambda: self.leaves(g))
        g.signal(signal.SIGTERM)
        g.child.wait(PATIENCE)
        thread.join(PATIENCE)

    def stream_in_background_quietly(self, g, said):
        def ask():
            try:
                chat("openai-held", said, at=g, stream=True)
            except (OSError, http.client.HTTPException):
                pass
        thread = threading.Thread(target=ask)
        thread.start()
        world.provider.held(said)
        return thread

    def test_sighup_takes_a_good_configuration_and_leaves_a_bad_one(self):
        g = self.own()
        said = question()
        thread, out = self.held_stream(g, said)
        new = json.loads(json.dumps(g.config))
        new["providers"]["added"] = upstream(world.provider, "openai", {"brand-new": "plain"})
        self.assertEqual(chat("brand-new", "x", at=g).status, 404)
        g.reload(new)
        until(lambda: chat("brand-new", "x", at=g).status == 200)
        g.reload({**new, "provders": {}})
        until(lambda: "provders" in g.log_tail())
        self.ok(chat("brand-new", "x", at=g))
        world.provider.go_on(said)
        thread.join(PATIENCE)
        self.assertTrue(said_in(out[0])[0].startswith(answer_to(said)), "a reload cut a stream")

    def rows(self, g):
        with sqlite3.connect(f"file:{g.folder / 'history.db'}?mode=ro", uri=True) as db:
            return db.execute("SELECT interaction_id, status FROM llm_interactions").fetchall()

    def test_what_was_answered_is_on_record_after_kill_9(self):
        g = self.own()
        for _ in range(3):
            acked, lock, stop = [], threading.Lock(), threading.Event()

            def ask():
                while not stop.is_set():
                    try:
                        r = chat("openai-plain", question(), at=g, stream=bool(len(acked) % 2))
                    except (OSError, http.client.HTTPException):
                        return
                    with lock:
                        acked.append(r.headers["x-rationale-id"])

            threads = [threading.Thread(target=ask) for _ in range(8)]
            for t in threads:
                t.start()
            time.sleep(1)
            until(lambda: len(acked) >= 20)
            g.signal(signal.SIGKILL)
            stop.set()
            for t in threads:
                t.join(PATIENCE)
            g.child.wait()
            g.start()
            end = time.monotonic() + PATIENCE
            while True:
                ids = [i for i, _ in self.rows(g)]
                lost = set(acked) - set(ids)
                if not lost or time.monotonic() > end:
                    break
                time.sleep(0.1)
            self.assertFalse(lost, f"{len(lost)} of {len(acked)} answered calls are not on record")
            self.assertEqual(len(ids), len(set(ids)))
            self.assertTrue(acked)

    def test_secrets_are_in_no_file(self):
        g = self.own()
        self.ok(chat("openai-think", question(), at=g))
        g.signal(signal.SIGTERM)
        self.assertEqual(g.child.wait(PATIENCE), 0)
        for path in g.folder.rglob("*"):
            if path.is_file():
                data = path.read_bytes()
                self.assertNotIn(KEY.encode(), data, path)
                self.assertNotIn(b"upstream-key", data, path)

    def test_no_command_dumps_its_memory(self):
        _, most = resource.getrlimit(resource.RLIMIT_CORE)
        if most == 0:
            self.skipTest("nothing is dumped here")
        with tempfile.TemporaryDirectory() as folder, subprocess.Popen(
                [BINARY, "split"], cwd=folder, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_CORE, (most, most))) as child:
            child.stdin.write(b"<think>a</think>b")
            child.stdin.flush()
            self.assertEqual(child.stdout.read(1), b"b")
            limits = Path(f"/proc/{child.pid}/limits").read_text()
            child.send_signal(signal.SIGABRT)
            child.wait(PATIENCE)
            self.assertEqual(list(Path(folder).iterdir()), [])
        # A limit of 0 would not prevent core dumps that are piped to a program; a limit of 1 does.
        self.assertRegex(limits, r"Max core file size +1 +1 ")

    def test_a_bad_configuration_does_not_start(self):
        g = Gateway(BINARY, {"providers": {"a": {"kind": "opnai"}}})
        self.addCleanup(g.stop)
        with self.assertRaises(RuntimeError):
            g.start()
        self.assertEqual(g.child.returncode, 3)
        self.assertIn("providers.a.kind", g.log_tail())


if __name__ == "__main__":
    start()
