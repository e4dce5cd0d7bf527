#!/usr/bin/env python3
"""Reasoning through the gateway: hidden, shown, counted, requested, capped, and sent back.

    test/e2e/reasoning_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json

from asking import (BINARY, KINDS, MARK, SHOW, TOOL, Gateway, GatewayCase, answer_to, chat, comments,
                    config, events, facts, question, request, said_in, setUpModule, start,
                    system_text, tearDownModule)


class Reasoning(GatewayCase):
    """Hidden from clients that may not see it, separated from the answer, and always counted."""

    def test_it_is_hidden_unless_asked_for(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    said = question()
                    r = self.ok(chat(f"{kind}-think", said, stream=stream))
                    self.assertEqual(said_in(r), (answer_to(said), ""))
                    self.assertNotIn(MARK.encode(), r.body)
                    self.assertGreater(facts(r)[0], 3)

    def test_it_is_shown_under_both_names(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    said = question()
                    r = self.ok(chat(f"{kind}-think", said, stream=stream, headers=SHOW))
                    text, thought = said_in(r)
                    self.assertEqual(text, answer_to(said))
                    self.assertTrue(thought.startswith("Let me ponder this."), thought)
                    self.assertEqual(r.body.count(b'"reasoning"'),
                                     r.body.count(b'"reasoning_content"'))

    def test_hole_11_what_is_to_be_shown_is_asked_for_in_the_models_own_way(self):
        models = [f"{kind}-quiet" for kind in KINDS] + ["new-claude", "new-gemini"]
        for model in models:
            for level in ("low", "high"):
                with self.subTest(model, level=level):
                    said = question()
                    r = self.ok(chat(model, said, headers=SHOW, reasoning_effort=level))
                    self.assertIn(MARK, said_in(r)[1])
                    self.upstream(said, 1)

    def test_a_key_that_hides_is_stronger_than_a_header_that_shows(self):
        r = self.ok(chat("openai-plain", question(),
                         headers={"authorization": "Bearer sk-few", **SHOW}))
        self.assertNotIn(b"reasoning_content", r.body)

    def test_tags_are_taken_out(self):
        for model in ("in-tags", "in-qwen", "in-r1"):
            for stream in (False, True):
                with self.subTest(model, stream=stream):
                    said = question()
                    r = self.ok(chat(model, said, stream=stream))
                    self.assertEqual(said_in(r)[0].strip(), answer_to(said))
                    self.assertNotIn(b"think>", r.body)
                    r = self.ok(chat(model, said, stream=stream, headers=SHOW))
                    self.assertIn(MARK, said_in(r)[1])

    def test_a_model_that_cannot_think_is_asked_to(self):
        for stream in (False, True):
            said = question()
            r = self.ok(chat("asked", said, stream=stream))
            self.assertEqual(said_in(r)[0].strip(), answer_to(said))
            [entry] = self.upstream(said, 1)
            self.assertIn("<thinking>", system_text(entry))
            self.assertIn(MARK, said_in(self.ok(chat("asked", said, stream=stream,
                                                     headers=SHOW)))[1])

    def test_the_usage_is_told_before_the_end(self):
        r = self.ok(chat("openai-think", question(), stream=True))
        lines = [line for line in r.body.decode().split("\n") if line]
        at = next(i for i, line in enumerate(lines) if line.startswith(": reasoning_tokens="))
        self.assertLess(at, lines.index("data: [DONE]"))
        self.assertEqual(facts(r)[1:], (None, "none"))

    def test_reasoning_is_counted_where_nobody_says_how_much(self):
        for model in ("openai-no-usage", "openai-bad-usage", "ollama-think"):
            tokens = facts(self.ok(chat(model, question())))[0]
            self.assertTrue(3 < tokens < 100, (model, tokens))


class Levels(GatewayCase):
    """low, medium and high, set in any way, select sampling parameters, prompt texts and a cap."""

    def ways(self, kind, level):
        yield f"{kind}-plain", {}, {"reasoning_effort": level}
        yield f"{kind}-plain-{level}", {}, {}
        yield f"{kind}-plain", {"x-rationale-level": level}, {}

    def test_each_way_to_ask_brings_the_preset(self):
        presets = {"low": (0.6, 0.9, 128), "medium": (0.7, 0.92, 256), "high": (0.85, 0.95, 512)}
        for level, (temperature, top_p, cap) in presets.items():
            for model, headers, body in self.ways("openai", level):
                with self.subTest(level, model=model, headers=headers):
                    said = question()
                    r = self.ok(chat(model, said, headers=headers, **body))
                    self.assertEqual(facts(r)[1], cap)
                    doc = self.upstream(said, 1)[0]["json"]
                    self.assertEqual((doc["temperature"], doc["top_p"]), (temperature, top_p))
                    self.assertEqual(doc["reasoning_effort"], level)
                    self.assertEqual(doc["model"], "plain")

    def test_the_words_stand_in_the_system_prompt_once(self):
        for kind in KINDS:
            with self.subTest(kind):
                said = question()
                self.ok(chat(f"{kind}-plain", said, reasoning_effort="low"))
                words = system_text(self.upstream(said)[-1])
                self.assertEqual(words.count("[REASONING LEVEL]"), 1, words)
                self.assertIn("effort: LOW", words)
        said = question()
        self.ok(request("/v1/chat/completions", {
            "model": "openai-plain", "reasoning_effort": "low", "messages": [
                {"role": "system", "content": "[REASONING LEVEL] ours"},
                {"role": "user", "content": said}]}))
        self.assertEqual(system_text(self.upstream(said, 1)[0]).count("[REASONING LEVEL]"), 1)

    def test_the_clients_own_settings_stay(self):
        said = question()
        self.ok(chat("openai-plain", said, reasoning_effort="low", temperature=0.123))
        self.assertEqual(self.upstream(said, 1)[0]["json"]["temperature"], 0.123)

    def test_the_header_is_stronger_than_the_body(self):
        r = self.ok(chat("openai-plain", question(), reasoning_effort="high",
                         headers={"x-rationale-level": "low"}))
        self.assertEqual(facts(r)[1], 128)

    def test_a_level_that_is_none_of_them_is_refused(self):
        self.check_error(chat("openai-plain", question(), headers={"x-rationale-level": "lots"}),
                         400, "lots")

    def test_without_a_level_nothing_is_added(self):
        said = question()
        self.ok(chat("openai-plain", said))
        doc = self.upstream(said, 1)[0]["json"]
        self.assertEqual(set(doc), {"model", "messages"})

    def test_the_cap_is_kept_and_the_answer_comes(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    said = question()
                    r = self.ok(chat(f"{kind}-lengthy", said, stream=stream, headers=SHOW,
                                     reasoning_effort="low"))
                    text, thought = said_in(r)
                    self.assertEqual(text, answer_to(said))
                    self.assertTrue(20 < len(thought.split()) <= 128, len(thought.split()))
                    tokens, cap, cut = facts(r)
                    self.assertEqual((cap, cut), (128, "budget"))
                    first, *rest = self.upstream(said)
                    self.assertEqual(bool(first["json"].get("stream")) or "stream" in first["path"].lower(), stream)
                    if not stream:  # a whole reply is truncated here, and the billed tokens are reported
                        self.assertEqual(rest, [])
                        continue
                    self.assertLessEqual(tokens, 128)
                    self.assertFalse(first["done"], "the first call was left to run")
                    self.assertEqual(len(rest), 1)

    def test_a_cut_shows_in_the_usage_once(self):
        r = self.ok(chat("openai-lengthy", question(), headers=SHOW, reasoning_effort="low",
                         stream=True, stream_options={"include_usage": True}))
        [usage] = [e["usage"] for e in events(r.body) if e.get("usage")]
        thought = usage["completion_tokens_details"]["reasoning_tokens"]
        self.assertLessEqual(thought, 128)
        self.assertLess(thought, usage["completion_tokens"])

    def test_what_fits_under_the_cap_is_not_touched(self):
        r = self.ok(chat("openai-think", question(), headers=SHOW, reasoning_effort="low"))
        self.assertEqual(facts(r)[2], "none")
        self.assertTrue(said_in(r)[1].endswith("So I know."))

    def test_a_starved_answer_is_repaired(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    said = question()
                    r = self.ok(chat(f"{kind}-starved", said, stream=stream, max_tokens=200))
                    self.assertIn("You said:", said_in(r)[0])
                    self.assertNotIn(MARK.encode(), r.body)
                    self.assertEqual(len(self.upstream(said)), 2)
                    words = r.headers.get("x-rationale-usage") or " ".join(comments(r.body))
                    self.assertIn("starved=repaired", words)


class Unrecorded(GatewayCase):
    """Without a record less of a reply is copied; the output must be the same."""

    def both(self, bare, model, calls, **more):
        """What the client and, in the last request, the provider received, with a record and
        without."""
        out = []
        for at in (None, bare):
            said = question()
            r = self.ok(chat(model, said, at=at, **more))
            told = json.dumps(self.upstream(said, calls)[-1]["json"], ensure_ascii=False)
            out.append([told.replace(said, "?"), [t.replace(said, "?") for t in said_in(r)],
                        facts(r)])
        self.assertEqual(*out)
        return out[0]

    def test_a_reply_and_what_comes_of_it_are_those_of_a_recorded_one(self):
        with Gateway(BINARY, config(store="none")) as bare:
            for kind in KINDS:
                for more in ({}, {"headers": SHOW}, {"stream": True}):
                    with self.subTest(kind, **more):
                        self.both(bare, f"{kind}-think", 1, **more)
                        told = self.both(bare, f"{kind}-starved", 2, max_tokens=200, **more)[0]
                        self.assertIn("Let me ponder this.", told)
                        self.both(bare, f"{kind}-no-usage", 1, **more)


class Vault(GatewayCase):
    """Data that a provider needs back is sent back although the client dropped it."""

    def test_a_client_that_drops_reasoning_goes_on(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    said = question()
                    history = [{"role": "user", "content": said}]
                    r = self.ok(chat(f"{kind}-keeps", said, tools=[TOOL], stream=stream))
                    if stream:
                        calls = {}
                        for e in events(r.body):
                            for d in (e.get("choices") or [{"delta": {}}])[0]["delta"].get(
                                    "tool_calls") or []:
                                c = calls.setdefault(d["index"], {"type": "function", "function": {
                                    "name": "", "arguments": ""}})
                                c["id"] = d.get("id") or c["id"]
                                for name, piece in d["function"].items():
                                    c["function"][name] += piece
                        calls = list(calls.values())
                    else:
                        calls = json.loads(r.body)["choices"][0]["message"]["tool_calls"]
                    self.assertEqual(len(calls), 1)
                    history += [{"role": "assistant", "content": None, "tool_calls": calls},
                                {"role": "tool", "tool_call_id": calls[0]["id"], "content": "sun"}]
                    r = self.ok(request("/v1/chat/completions", {
                        "model": f"{kind}-keeps", "messages": history, "tools": [TOOL],
                        "stream": stream}))
                    self.assertEqual(said_in(r)[0], "The tools said: sun.")

    def test_nothing_signed_goes_to_another_model(self):
        said = question()
        r = self.ok(chat("anthropic-keeps", said, tools=[TOOL]))
        calls = json.loads(r.body)["choices"][0]["message"]["tool_calls"]
        for kind in KINDS:
            with self.subTest(kind):
                self.ok(request("/v1/chat/completions", {
                    "model": f"{kind}-plain", "tools": [TOOL], "messages": [
                        {"role": "user", "content": said},
                        {"role": "assistant", "content": None, "tool_calls": calls},
                        {"role": "tool", "tool_call_id": calls[0]["id"], "content": "sun"}]}))
                self.assertNotIn(MARK, self.upstream(said)[-1]["body"])


if __name__ == "__main__":
    start()
