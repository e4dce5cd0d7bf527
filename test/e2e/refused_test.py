#!/usr/bin/env python3
"""What a provider refuses of a request: only that goes, and only where it is in the way.

    test/e2e/refused_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json

from again_test import SAID, answer, error, plain
from asking import events, request, start
from levels_test import LOW, Levels

HIGH = {"x-rationale-level": "high"}


def refuse(words):
    return plain(400, {"type": "error", "error": {"type": "invalid_request_error", "message": words}})


def said(text):
    return plain(200, {"id": "msg_1", "type": "message", "role": "assistant", "model": "m",
                       "content": [{"type": "text", "text": text}], "stop_reason": "end_turn",
                       "stop_sequence": None, "usage": {"input_tokens": 5, "output_tokens": 5}})


class Sampling(Levels):
    def test_two_values_that_exclude_each_other_are_fine_alone(self):
        for words in ("`temperature` and `top_p` cannot both be specified for this model. Please use only one.",
                      "Only one of temperature and top_p may be given."):
            self.up.reply = lambda _, body: error(400, words) if {"temperature", "top_p"} <= body.keys() \
                else answer("Yes.", body)
            gateway = self.serve()
            for headers, more, left, calls in (
                    ({}, {"temperature": 0.5, "top_p": 0.9}, (0.5, None), 2),
                    ({}, {"temperature": 0.5, "top_p": 0.9}, (0.5, None), 1),  # remembered
                    ({}, {"temperature": 0.5}, (0.5, None), 1),
                    ({}, {"top_p": 0.9}, (None, 0.9), 1),
                    (LOW, {}, (0.6, None), 2),
                    (LOW, {"top_p": 0.8}, (None, 0.8), 1),  # the client's goes before the preset's
                    (LOW, {"temperature": 0.1}, (0.1, None), 1)):
                self.up.forget()
                self.ok(self.chat(gateway, headers, **more))
                last = self.up.asked[-1]
                self.assertEqual((last.get("temperature"), last.get("top_p")), left, more)
                self.assertEqual(len(self.up.asked), calls, more)


class Usage(Levels):
    """Streams are asked for their usage; a host may refuse that and not say so."""

    WORDS = (b"bad request", b"", b'{"error":{"message":"Invalid request"}}',
             b'{"error":{"message":"Validation error","param":"stream_options"}}')

    def raw(self, status, body):
        return b"HTTP/1.1 %d No\r\ncontent-type: application/json\r\nconnection: close\r\n" \
            b"content-length: %d\r\n\r\n%s" % (status, len(body), body)

    def test_any_words_do(self):
        for words in self.WORDS:
            for status in (400, 422):
                self.up.reply = lambda _, body: self.raw(status, words) if "stream_options" in body \
                    else answer("Yes.", body)
                gateway = self.serve()
                for headers in ({}, LOW):
                    for calls in (2, 1):
                        with self.subTest(words, status=status, headers=headers, calls=calls):
                            self.up.forget()
                            self.assertIn(b"Yes.", self.ok(self.chat(gateway, headers, stream=True)).body)
                            self.assertEqual(len(self.up.asked), calls)
                            self.assertEqual("reasoning_effort" in self.up.asked[-1], bool(headers))
                self.up.forget()
                r = self.ok(request("/v1/responses", {"model": "m", "input": "hi", "stream": True}, {},
                                    at=gateway))
                self.assertNotIn("stream_options", self.up.asked[-1])
                self.assertEqual(events(r.body)[-1]["type"], "response.completed")
                own = self.chat(gateway, stream=True, stream_options={"include_usage": True})
                self.assertEqual((own.status, own.body), (status, words) if words.startswith(b"{") else
                                 (status, own.body))

    def test_a_wrong_guess_is_not_remembered(self):
        self.up.reply = lambda _, body: error(400, "Bad request") if "reasoning_effort" in body \
            else answer("Yes.", body)
        gateway = self.serve()
        for calls in (3, 1):
            self.up.forget()
            self.ok(self.chat(gateway, LOW, stream=True))
            self.assertEqual(len(self.up.asked), calls)
        self.assertIn("stream_options", self.up.asked[-1])

    def test_what_names_something_else_is_passed_on_at_once(self):
        named = {"error": {"message": "Invalid value", "type": "invalid_request_error", "param": "messages"}}
        long = {"error": {"message": "This model's maximum context length is 8192 tokens.",
                          "type": "invalid_request_error"}}
        for doc in (named, long):
            self.up.reply = lambda *_: plain(400, doc)
            self.up.forget()
            r = self.chat(self.serve(), stream=True)
            self.assertEqual((r.status, len(self.up.asked)), (400, 1), doc)


if __name__ == "__main__":
    start()
