#!/usr/bin/env python3
"""Parameters that a provider refuses: the gateway drops only these, and only in requests that need
it.

    test/e2e/refused_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
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
                    (LOW, {"top_p": 0.8}, (None, 0.8), 1),  # the client's has priority over the preset's
                    (LOW, {"temperature": 0.1}, (0.1, None), 1)):
                self.up.forget()
                self.ok(self.chat(gateway, headers, **more))
                last = self.up.asked[-1]
                self.assertEqual((last.get("temperature"), last.get("top_p")), left, more)
                self.assertEqual(len(self.up.asked), calls, more)


class Usage(Levels):
    """Streams request their usage; a host may refuse that without naming it."""

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


class Anthropic(Levels):
    """A model with an unknown name accepts a budget, or is adaptive and accepts an effort."""

    ENABLED = '"thinking.type.enabled" is not supported for this model. Use "thinking.type.adaptive" and ' \
        '"output_config.effort" to control thinking behavior.'
    ADAPTIVE = ("adaptive thinking is not supported on this model",
                "thinking: Input tag 'adaptive' found using 'type' does not match any of the expected tags: "
                "'disabled', 'enabled'", "This model does not support the effort parameter.",
                "output_config: Extra inputs are not permitted")
    EDITS = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}

    def only(self, way, words):
        """A provider that accepts one type of thinking."""
        def reply(_, body):
            thinking = body.get("thinking", {}).get("type", "disabled")
            return said("Yes.") if thinking in ("disabled", way) else refuse(words)
        return reply

    def sent(self, gateway, model, calls, headers=HIGH, **more):
        """Checks that a call takes so many requests and the next call one; returns the last
        request."""
        for n in (calls, 1):
            self.up.forget()
            self.ok(request("/v1/messages", {"model": model, "max_tokens": 4000, "messages": SAID, **more},
                            headers, at=gateway))
            self.assertEqual(len(self.up.asked), n, self.up.asked)
        return self.up.asked[-1]

    def test_an_alias_of_an_adaptive_model_keeps_the_level(self):
        self.up.reply = self.only("adaptive", self.ENABLED)
        gateway = self.serve(providers=self.one("anthropic"))
        body = self.sent(gateway, "my-alias", 2)
        self.assertEqual((body["thinking"], body["output_config"]), ({"type": "adaptive"}, {"effort": "high"}))
        self.up.forget()
        self.ok(request("/v1/chat/completions", {"model": "my-alias", "messages": SAID, "reasoning_effort": "low"},
                        {}, at=gateway))
        self.assertEqual(self.up.asked[-1]["output_config"], {"effort": "low"})

    def test_what_the_client_asks_adaptively_stays_so(self):
        self.up.reply = self.only("adaptive", self.ENABLED)
        body = self.sent(self.serve(providers=self.one("anthropic")), "my-alias", 1,
                         thinking={"type": "adaptive"}, output_config={"effort": "max"},
                         context_management=self.EDITS)
        self.assertEqual((body["thinking"], body["output_config"], body["context_management"]),
                         ({"type": "adaptive"}, {"effort": "high"}, self.EDITS))

    def test_a_model_that_is_not_adaptive_has_a_budget(self):
        for words in self.ADAPTIVE:
            self.up.reply = self.only("enabled", words)
            body = self.sent(self.serve(providers=self.one("anthropic")), "claude-latest", 2,
                             context_management=self.EDITS)
            self.assertEqual(body["thinking"]["type"], "enabled", words)
            self.assertEqual((body.get("output_config"), body["context_management"]), (None, self.EDITS))


if __name__ == "__main__":
    start()
