#!/usr/bin/env python3
"""Failures of providers, and clients that disconnect.

    test/e2e/failures_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import socket
import time

from asking import (KEY, KINDS, ODD, SHOW, GatewayCase, answer_to, chat, question, said_in,
                    setUpModule, start, tearDownModule, world)
from gateway import until, within


class Failures(GatewayCase):
    """Failures of providers."""

    def test_a_server_error_is_tried_again(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    world.provider.forget()
                    said = question()
                    self.assertEqual(said_in(self.ok(chat(f"{kind}-twice500", said,
                                                          stream=stream)))[0], answer_to(said))
                    self.assertEqual([e["status"] for e in self.upstream(said)], [500, 500, 200])

    def test_retry_after_is_kept_to(self):
        world.provider.forget()
        said = question()
        self.ok(chat("openai-once429", said))
        first, second = self.upstream(said, 2)
        self.assertGreaterEqual(second["at"] - first["end_ms"], 990)

    def test_an_error_that_stays_is_told(self):
        for kind in KINDS:
            with self.subTest(kind):
                r = chat(f"{kind}-never", question())
                self.assertIn(r.status, (500, 502), r.body)
                self.assertIn("message", json.loads(r.body)["error"])

    def test_too_many_requests_says_when_to_come_back(self):
        r = chat("openai-full", question())
        self.assertEqual(r.status, 429)
        self.assertGreaterEqual(int(r.headers["retry-after"]), 1)

    def test_nothing_is_tried_again_once_the_client_has_seen_some(self):
        for kind in KINDS:
            for name in ("cut", "reset", "mid"):
                with self.subTest(kind, name=name):
                    said = question()
                    body = b""
                    try:
                        r = chat(f"{kind}-{name}", said, stream=True)
                        body = r.body
                        self.assertIn(b'"error"', body)
                        self.assertNotIn(b"[DONE]", body)
                    except http.client.IncompleteRead as cut:
                        body = cut.partial
                    self.assertIn(b"You", body)
                    self.upstream(said, 1)

    def test_nonsense_is_an_error_and_not_an_answer(self):
        for kind in KINDS:
            for name in ("html", "void", "broken"):
                with self.subTest(kind, name=name):
                    r = chat(f"{kind}-{name}", question())
                    self.assertGreaterEqual(r.status, 500, r.body)
                    self.assertIn("message", json.loads(r.body)["error"])

    def test_odd_streams_are_read_all_the_same(self):
        for kind in KINDS:
            for name in ODD:
                name = name.split(":")[0]
                if kind == "ollama" and name in ("cr", "crlf"):
                    continue  # Ollama's stream has no events
                if kind in ("gemini", "ollama") and name == "after-done":
                    continue  # no end marker follows the last chunk
                with self.subTest(kind, odd=name):
                    said = question()
                    text, thought = said_in(self.ok(chat(f"{kind}-odd-{name}", said, stream=True,
                                                         headers=SHOW)))
                    self.assertTrue(text.startswith(answer_to(said)), text[:200])
                    self.assertTrue(thought.endswith("So I know."), thought)
                    self.assertEqual(text.count("You said"), 1)

    def test_a_fallback_takes_over(self):
        for stream in (False, True):
            said = question()
            r = self.ok(chat("falls-first", said, stream=stream))
            self.assertEqual(said_in(r)[0], answer_to(said))
            self.assertEqual([e["status"] for e in self.upstream(said)], [503, 200])

    def test_refused_parameters_are_left_out_the_second_time(self):
        for kind in KINDS:
            with self.subTest(kind):
                said = question()
                r = self.ok(chat(f"{kind}-rejects", said, reasoning_effort="low"))
                self.assertEqual(said_in(r)[0], answer_to(said))
                first, second = self.upstream(said, 2)
                self.assertIn(first["status"], (400, 422))
                self.assertNotIn("temperature", json.dumps(second["json"]))

    def test_silence_has_an_end(self):
        for model in ("stalls", "mute"):
            began = time.monotonic()
            try:
                r = chat(model, question(), stream=True)
                self.assertTrue(r.status >= 500 or b'"error"' in r.body, r.body)
            except http.client.IncompleteRead:
                pass
            self.assertLess(time.monotonic() - began, 50)  # the model is silent for 60 s

    def leave(self, kind):
        """The milliseconds between the client's disconnect and the closing of the upstream."""
        said = question()
        body = json.dumps({"model": f"{kind}-endless", "stream": True, "messages": [
            {"role": "user", "content": said}]}).encode()
        s = socket.create_connection(("127.0.0.1", world.gateway.port))
        s.sendall(b"POST /v1/chat/completions HTTP/1.1\r\nhost: x\r\n"
                  b"authorization: Bearer %s\r\ncontent-length: %d\r\n\r\n%s"
                  % (KEY.encode(), len(body), body))
        have = b""
        while b"You" not in have:
            piece = s.recv(65536)
            self.assertTrue(piece, have)
            have += piece
        left = time.time() * 1000
        s.close()
        return until(lambda: self.upstream(said, 1)[0]["closed_ms"], 50) - left

    def test_a_client_that_leaves_ends_the_upstream(self):
        for kind in KINDS:
            with self.subTest(kind):
                late = within(1000, lambda: self.leave(kind))
                print(f"  {kind}: upstream closed {late:.1f} ms after the client left")


if __name__ == "__main__":
    start()
