#!/usr/bin/env python3
"""Hidden reasoning: no byte of it reaches a client, wherever a provider repeats it.

    test/e2e/hidden_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import time
import unittest

import asking
from asking import SHOW, events, request, start
from command import BINARY
from corners_test import Upstream, plain, sse
from gateway import Gateway, digest
from watcher import Watcher

SECRET = "Ponderous"
TAGS = f"<think>{SECRET}</think>"
DONE = b"data: [DONE]\n\n"


def setUpModule():
    up = asking.world.up = Upstream()
    v1 = up.root + "/v1"
    asking.world.gateway = Gateway(BINARY, {"store": "none", "providers": {
        "chat": {"kind": "openai", "base_url": v1, "models": ["chat"], "retries": 0},
        "tags": {"kind": "openai", "base_url": v1, "models": ["tags"], "format": "think"},
        "responses": {"kind": "responses", "base_url": v1, "models": ["responses"]},
        "ollama": {"kind": "ollama", "base_url": up.root, "models": ["llama"]},
        "gemini": {"kind": "gemini", "base_url": up.root, "models": ["gemini-2.5-flash"]},
        "anthropic": {"kind": "anthropic", "base_url": up.root, "models": ["claude-opus-5-5"]},
        "gemini-tags": {"kind": "gemini", "base_url": up.root, "models": ["gemma"],
                        "format": "think"},
    }}).__enter__()


def tearDownModule():
    asking.world.gateway.stop()
    asking.world.up.server.shutdown()


def chunk(delta, why=None, **choice):
    return {"id": "c", "object": "chat.completion.chunk", "created": 1, "model": "u", "choices": [
        {"index": 0, "delta": delta, "finish_reason": why, **choice}]}


def stream(*frames):
    kind, text = sse(*frames)
    return kind, text + DONE


def whole(message, **choice):
    top = choice.pop("top", {})
    return plain({"id": "c", "object": "chat.completion", "model": "u", "choices": [
        {"index": 0, "message": {"role": "assistant", "content": "Yes.", **message},
         "finish_reason": "stop", **choice}], **top})


def logprobs(*tokens):
    return {"content": [{"token": t, "logprob": -0.5, "bytes": None, "top_logprobs": []}
                        for t in tokens]}


# Members that repeat the reasoning beside the one that the gateway reads.
IN_MESSAGE = {
    "litellm": {"provider_specific_fields": {"reasoning_content": SECRET, "kept": 1,
                                             "thinking_blocks": [{"thinking": SECRET}]}},
    "blocks": {"thinking_blocks": [{"type": "thinking", "thinking": SECRET}]},
    "object": {"reasoning": {"content": SECRET}, "reasoning_content": None},
    "list": {"reasoning_content": [{"type": "text", "text": SECRET}]},
    "other name": {"Thought_Process": SECRET},
    "copilot": {"cot_summary": SECRET, "cot_id": "kept", "reasoning_opaque": "kept"},
    "capital letters": {"cotSummary": {"text": SECRET}},
    "analysis": {"analysis": SECRET},
    "cohere": {"tool_plan": SECRET},
    "think": {"think": [SECRET]},
    "scratchpad": {"extra": {"inner_monologue": SECRET, "scratchpad": SECRET}},
}

# Other members of a message: all of them pass.
OTHERS = {"reasoning_effort": "high", "thought_signature": "c2ln", "annotations": [{"a": 1}],
          "provider_specific_fields": {"kept": 1}, "reasoning_opaque": "c2Vh", "cot_id": "rs_1",
          "cotton": "kept", "psychoanalysis": "kept", "rethinker": "kept", "extra_content": {
              "google": {"thought_signature": "c2ln"}}}

# Members of a choice or of the whole reply that repeat its text or its tokens.
DUMPS = {
    "text": {"text": TAGS + "Yes."},
    "token_ids": {"token_ids": [SECRET]},
    "logprobs": {"logprobs": {"content": [{"token": SECRET, "logprob": -0.5, "bytes": None,
                                           "top_logprobs": []}]}},
    "raw_output": {"raw_output": {"completion": TAGS + "Yes."}},
    "prompt": {"prompt_token_ids": [SECRET], "prompt_text": SECRET, "prompt_logprobs": [{"1": {"decoded_token": SECRET}}]},
}

# Reasoning chunks of a content list, in the forms of several hosts.
CHUNKS = {
    "databricks": {"type": "reasoning", "summary": [{"type": "summary_text", "text": SECRET,
                                                     "signature": "s"}]},
    "reasoning": {"type": "reasoning", "text": SECRET},
    "reasoning, by its name": {"type": "reasoning", "reasoning": SECRET},
    "reasoning_content": {"type": "reasoning_content", "reasoning_content": {"text": SECRET}},
    "reasoning_text": {"type": "reasoning_text", "text": SECRET},
    "reasoning.summary": {"type": "reasoning.summary", "summary": SECRET},
    "reasoning.encrypted": {"type": "reasoning.encrypted", "data": SECRET},
    "thinking": {"type": "thinking", "thinking": SECRET},
    "redacted": {"type": "redacted_thinking", "data": SECRET},
    "odd thinking": {"type": "thinking", "thinking": [{"type": "reference", "of": SECRET}]},
}
SEALED = ("reasoning.encrypted", "redacted", "odd thinking")


def by_dialect(model, stream):
    """The same question in each dialect: path and body."""
    said = [{"role": "user", "content": "hi"}]
    way = "streamGenerateContent?alt=sse" if stream else "generateContent"
    return {
        "openai": ("/v1/chat/completions", {"model": model, "messages": said, "stream": stream}),
        "responses": ("/v1/responses", {"model": model, "input": "hi", "stream": stream}),
        "anthropic": ("/v1/messages", {"model": model, "max_tokens": 4000, "messages": said,
                                       "stream": stream}),
        "gemini": (f"/v1beta/models/{model}:{way}", {"contents": [
            {"role": "user", "parts": [{"text": "hi"}]}]}),
        "ollama": ("/api/chat", {"model": model, "messages": said, "stream": stream}),
    }


class Hidden(unittest.TestCase):
    def setUp(self):
        self.up = asking.world.up

    def ask(self, path, body, reply, headers=None):
        self.up.reply = lambda *_: reply
        r = request(path, body, headers or {})
        self.assertEqual(r.status, 200, r.body)
        return r

    def chat(self, reply, model="chat", headers=None, **more):
        return self.ask("/v1/chat/completions", {"model": model, "messages": [
            {"role": "user", "content": "hi"}], **more}, reply, headers)

    def hides(self, r, answer=b"Yes."):
        self.assertNotIn(SECRET.encode(), r.body)
        self.assertIn(answer, r.body)
        return r

    def test_members_that_repeat_it_are_taken_out(self):
        for name, members in IN_MESSAGE.items():
            with self.subTest(name):
                message = {"reasoning_content": SECRET, **members}
                self.hides(self.chat(whole(message)))
                r = self.hides(self.chat(stream(chunk(message), chunk({"content": "Yes."}),
                                                chunk({}, "stop")), stream=True))
                self.assertTrue(r.body.endswith(DONE))
                # Alone in a frame, while the member that the gateway reads is empty.
                self.hides(self.chat(stream(chunk({**message, "reasoning_content": None, **members}),
                                            chunk({"content": "Yes."}), chunk({}, "stop")),
                                     stream=True))

    def test_chunks_of_content_that_are_reasoning_are_hidden(self):
        text = {"type": "text", "text": "Yes."}
        for name, part in CHUNKS.items():
            for stream_it in (False, True):
                # In one frame, and divided into two.
                replies = [stream(chunk({"content": [part]}), chunk({"content": [text]}),
                                  chunk({}, "stop")),
                           stream(chunk({"content": [part, text]}), chunk({}, "stop"))]
                for reply in replies if stream_it else [whole({"content": [part, text]})]:
                    for dialect, (path, body) in by_dialect("chat", stream_it).items():
                        with self.subTest(name, client=dialect, stream=stream_it):
                            self.hides(self.ask(path, body, reply))
                            shown = self.ask(path, body, reply, SHOW).body
                            self.assertIn(b"Yes.", shown)
                            if name not in SEALED:
                                self.assertIn(SECRET.encode(), shown)

    def test_reasoning_goes_on_in_the_next_part(self):
        parts = [f"<think>{SECRET}", f"more {SECRET}</think>Yes."]
        reply = plain({"id": "r", "object": "response", "created_at": 1, "status": "completed",
                       "model": "u", "output": [
                           {"id": "m", "type": "message", "status": "completed",
                            "role": "assistant", "content": [
                                {"type": "output_text", "text": t, "annotations": []}
                                for t in parts]}]})
        r = self.hides(self.ask("/v1/responses", {"model": "responses", "input": "hi"}, reply))
        texts = [p["text"] for p in json.loads(r.body)["output"][0]["content"]]
        self.assertEqual(texts, ["", "Yes."])
        blocks = plain({"id": "m", "type": "message", "role": "assistant", "model": "u",
                        "content": [{"type": "text", "text": t} for t in parts],
                        "stop_reason": "end_turn", "stop_sequence": None,
                        "usage": {"input_tokens": 1, "output_tokens": 2}})
        self.hides(self.ask("/v1/messages", {"model": "claude-opus-5-5", "max_tokens": 100,
                                             "messages": [{"role": "user", "content": "hi"}]},
                            blocks))
        call = {"functionCall": {"name": "f", "args": {}}}
        candidate = plain({"candidates": [{"index": 0, "finishReason": "STOP", "content": {
            "role": "model", "parts": [{"text": parts[0]}, call, {"text": parts[1]}]}}]})
        self.hides(self.ask("/v1beta/models/gemini-2.5-flash:generateContent",
                            {"contents": [{"role": "user", "parts": [{"text": "hi"}]}]}, candidate))
        called = {"tool_calls": [{"index": 0, "id": "c", "type": "function",
                                  "function": {"name": "f", "arguments": "{}"}}]}
        self.hides(self.chat(stream(chunk({"content": parts[0]}), chunk(called),
                                    chunk({"content": parts[1]}), chunk({}, "stop")), stream=True))

    def test_a_field_of_its_own_does_not_switch_splitting_off(self):
        for thought in ("\n", SECRET):
            for path, body in by_dialect("chat", False).values():
                self.hides(self.ask(path, body, whole({"reasoning_content": thought,
                                                       "content": TAGS + "Yes."})))
            self.hides(self.chat(stream(chunk({"reasoning_content": thought}),
                                        chunk({"content": TAGS[:9]}),
                                        chunk({"content": TAGS[9:] + "Yes."}), chunk({}, "stop")),
                                 stream=True))

    def test_what_is_not_reasoning_stays(self):
        kept = OTHERS
        none = {"prompt_logprobs": None, "prompt_token_ids": None}
        reply = whole({"reasoning_content": SECRET, **kept}, logprobs=None,
                      top={"service_tier": "default", **none})
        doc = json.loads(self.hides(self.chat(reply)).body)
        self.assertEqual({k: doc["choices"][0]["message"][k] for k in kept}, kept)
        self.assertEqual(doc["service_tier"], "default")
        self.assertEqual({k: doc[k] for k in none}, none)
        same = whole({"tool_calls": [{"id": "a", "type": "function", "function": {
            "name": "think", "arguments": '{"thinking": "loud"}'}}], **kept},
            logprobs=logprobs("Yes", "."))
        self.assertEqual(self.chat(same).body, same[1])

    def test_where_it_is_shown_nothing_is_taken_out(self):
        for members in IN_MESSAGE.values():
            r = self.chat(whole({"reasoning_content": SECRET, **members}), headers=SHOW)
            message = json.loads(r.body)["choices"][0]["message"]
            for k, v in members.items():
                self.assertEqual(message[k], v)

    def test_omitted_thinking_leaves_its_signature(self):
        """Claude's "display: omitted": a client that may see reasoning gets the provider's block,
        which has only a signature."""
        reply = plain({"id": "m", "type": "message", "role": "assistant", "model": "u", "content": [
            {"type": "thinking", "thinking": "", "signature": "c2lnbmF0dXJl"},
            {"type": "text", "text": "Yes."}], "stop_reason": "end_turn", "stop_sequence": None,
            "usage": {"input_tokens": 1, "output_tokens": 2}})
        body = {"model": "claude-opus-5-5", "max_tokens": 100, "messages": [
            {"role": "user", "content": "hi"}], "thinking": {"type": "adaptive", "display": "omitted"}}
        shown = json.loads(self.ask("/v1/messages", body, reply, SHOW).body)
        self.assertEqual(shown["content"], json.loads(reply[1])["content"])
        self.assertNotIn(b"signature", self.ask("/v1/messages", body, reply).body)

    def test_the_text_before_it_was_split_is_taken_out(self):
        self.hides(self.chat(whole({"reasoning_content": SECRET},
                                   top={"__verbose": {"content": TAGS + "Yes."}})))
        last = chunk({}, "stop")
        last["__verbose"] = {"content": TAGS + "Yes."}
        self.hides(self.chat(stream(chunk({"content": "Yes."}), last), stream=True))

    def test_copies_of_the_text_and_of_its_tokens_are_taken_out(self):
        """Whole, and in streams divided at every position, with other members that a chunk may
        have."""
        for name, dump in DUMPS.items():
            with self.subTest(name):
                self.hides(self.chat(whole({"content": TAGS + "Yes."}, **dump)))
                self.hides(self.chat(whole({"reasoning": SECRET}, **dump)))
                if name in ("raw_output", "prompt"):
                    self.hides(self.chat(whole({"reasoning": SECRET}, top=dump)))
                for i in range(1, len(TAGS)):
                    for role in ({}, {"role": "assistant"}):
                        frames = [chunk({**role, "content": TAGS[:i]}, **dump),
                                  chunk({"content": TAGS[i:] + "Yes."}, "stop", **dump)]
                        self.hides(self.chat(stream(*frames), stream=True))
                late = [chunk({"content": TAGS}), chunk({"content": "Yes."}), chunk({}, **dump),
                        chunk({}, "stop", **dump)]
                self.hides(self.chat(stream(*late), stream=True))
                late[0] = chunk({"reasoning_content": SECRET})
                self.hides(self.chat(stream(*late), stream=True))

    def test_copies_are_passed_on_where_there_is_no_reasoning(self):
        for dump in ({"logprobs": logprobs("Yes", ".")}, {"token_ids": [1, 2]}):
            reply = whole({}, **dump)
            self.assertEqual(self.chat(reply).body, reply[1])
            reply = stream(chunk({"role": "assistant", "content": ""}, **dump),
                           chunk({"content": "Yes."}, **dump), chunk({}, "stop", **dump))
            self.assertEqual(self.chat(reply, stream=True).body, reply[1])
        thought = [chunk({"reasoning_content": SECRET}), chunk({"content": "Yes."},
                   logprobs=logprobs("Yes", ".")), chunk({}, "stop")]
        r = self.hides(self.chat(stream(*thought), stream=True))
        self.assertEqual([c["choices"][0].get("logprobs") for c in events(r.body)],
                         [logprobs("Yes", "."), None])

    def test_tokens_of_another_chunk_are_no_copy_of_this_one(self):
        """Hosts that buffer text send the tokens of one chunk with the text of another."""
        for tokens in ((SECRET,), (SECRET, "Yes", "."), ("Yes", ".", SECRET)):
            for first in ({"reasoning_content": SECRET}, {"content": TAGS}):
                frames = [chunk(first), chunk({"content": "Yes."}, logprobs=logprobs(*tokens)),
                          chunk({"content": " No."}, logprobs=logprobs(" No", ".")), chunk({}, "stop")]
                r = self.hides(self.chat(stream(*frames), stream=True))
                kept = [c["choices"][0]["logprobs"] for c in events(r.body)
                        if c["choices"] and c["choices"][0].get("logprobs")]
                self.assertEqual(kept, [logprobs(" No", ".")])

    def fails(self, path, body, reply, headers=None):
        self.up.reply = lambda *_: reply
        return request(path, body, headers or {})

    def test_an_error_in_a_stream_does_not_quote_it(self):
        """With the reasoning divided at every position, before and after the first bytes of the
        answer."""
        thought = f"{SECRET} thoughts, of many words."
        tags = f"<think>{thought}"
        error = {"error": {"message": f"stopped after: {thought[3:]}", "type": "server_error",
                           "code": "overloaded"}}
        inner = {"error": {"message": "stopped", "code": "overloaded", "metadata": {"raw": thought}}}
        short = {"error": {"message": f"stopped after: {SECRET}", "code": "overloaded"}}
        for i in range(1, len(tags)):
            frames = [chunk({"content": tags[:i]}), chunk({"content": tags[i:]})]
            for said in ([], [chunk({"content": "</think>Yes."})]):
                for wrong in (error, inner):
                    r = self.fails(*by_dialect("chat", True)["openai"], stream(*frames, *said, wrong))
                    self.assertNotIn(b"thoughts", r.body)
                    self.assertIn(b'"code":"overloaded"', r.body.replace(b" ", b""))
        for dialect, (path, body) in by_dialect("chat", True).items():
            with self.subTest(dialect):
                for frames in ([chunk({"content": TAGS}), chunk({"content": "Yes."}), short],
                               [chunk({"reasoning": SECRET}), chunk({"content": "Yes."}), short]):
                    r = self.fails(path, body, stream(*frames))
                    self.assertNotIn(SECRET.encode(), r.body)
                    self.assertIn(b"quotes reasoning", r.body)
                    r = self.fails(path, body, stream(*frames), SHOW)
                    self.assertIn(f"stopped after: {SECRET}".encode(), r.body)

    def test_a_viewer_gets_no_error_that_quotes_it(self):
        """The client requests the reasoning by a header, and one of two viewers of its key does."""
        thought = f"{SECRET} thoughts, of many words."
        failure = {"error": {"message": f"stopped after: {thought}", "code": "overloaded"}}
        path, body = by_dialect("chat", True)["openai"]
        for more in ({"store": "none"}, {}):
            with Gateway(BINARY, {"keys": [{"name": "bob", "sha256": digest("key-bob")}], "providers": {
                    "chat": {"kind": "openai", "base_url": self.up.root + "/v1", "models": ["chat"],
                             "retries": 0}}, **more}) as g, \
                    Watcher(g.port, headers={"x-api-key": "key-bob"}) as blind, \
                    Watcher(g.port, headers={"x-api-key": "key-bob", **SHOW}) as shown:
                for viewer in (blind, shown):
                    viewer.subscribe("dashboard_updates")
                self.up.reply = lambda *_: stream(chunk({"reasoning": thought}), chunk({"content": "Yes."}), failure)
                r = request(path, body, {"authorization": "Bearer key-bob", **SHOW}, at=g)
                self.assertIn(b"stopped after: " + thought.encode(), r.body)
                for kind in ("llm_interaction", "session_status_change"):
                    while "stopped after" not in (shown.data(kind)["error_message"] or ""):
                        pass
                    while "quotes reasoning" not in (blind.data(kind)["error_message"] or ""):
                        pass
                self.assertNotIn(SECRET, json.dumps(blind.seen))

    def test_an_error_does_not_quote_the_end_of_long_reasoning(self):
        """For any length of the reasoning and any number of pieces."""
        thought = "".join(f"thought {i:x}, " for i in range(8000))
        for size in (1000, 70000, len(thought)):
            frames = [chunk({"reasoning": thought[i:i + size]})
                      for i in range(0, len(thought), size)]
            for said in (thought[:60], thought[-60:]):
                wrong = {"error": {"message": f"stopped after: {said}", "code": "overloaded"}}
                r = self.fails(*by_dialect("chat", True)["openai"],
                               stream(*frames, chunk({"content": "Yes."}), wrong))
                self.assertNotIn(said.encode(), r.body)
                self.assertIn(b'"code":"overloaded"', r.body.replace(b" ", b""))

    def test_a_long_error_after_long_reasoning_takes_no_time(self):
        """The search for quoted reasoning must not compare every pair of positions."""
        thought = "".join(f"{i:x} " for i in range(100000))
        said = "".join(f"{i:o}-" for i in range(60000))
        path, body = by_dialect("chat", True)["openai"]
        body = {**body, "messages": [{"role": "user", "content": "hi"}, {
            "role": "assistant", "content": "Yes.", "reasoning_content": thought},
            {"role": "user", "content": "so?"}]}
        began = time.monotonic()
        for message, passes in ((said, True), (said + thought[-40:], False),
                                ("".join(f"{i:o}-" for i in range(200000)), False)):
            wrong = {"error": {"message": message, "code": "overloaded"}}
            r = self.fails(path, body, stream(chunk({"content": "Yes."}), wrong))
            self.assertEqual(said.encode() in r.body, passes)
            self.assertIn(b'"code":"overloaded"', r.body.replace(b" ", b""))
        self.assertLess(time.monotonic() - began, 10)

    def test_only_an_error_that_quotes_it_is_changed(self):
        """After so much of the answer that the client has received some."""
        said = [chunk({"reasoning": SECRET}), *[chunk({"content": "Yes."})] * 4000]
        for message, passes in (("The server is overloaded: try again.", True),
                                (f"Failed after {SECRET}", False)):
            wrong = {"error": {"message": message, "code": "overloaded"}}
            r = self.fails(*by_dialect("chat", True)["openai"], stream(*said, wrong))
            self.assertEqual(r.status, 200)
            self.assertEqual(b"data: " + json.dumps(wrong).encode() + b"\n\n" in r.body, passes)
            self.assertNotIn(SECRET.encode(), r.body)
            self.assertIn(b"overloaded", r.body)

    def test_a_refusal_does_not_quote_earlier_reasoning(self):
        """A refused request contains the reasoning of earlier turns."""
        thought = f"{SECRET} thoughts, of many words."
        for path, body, refusal in (
                ("/v1/messages", {"model": "claude-opus-5-5", "max_tokens": 100, "messages": [
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": [
                        {"type": "thinking", "thinking": thought, "signature": "c2ln"},
                        {"type": "text", "text": "Yes."}]}, {"role": "user", "content": "so?"}]},
                 {"type": "error", "error": {"type": "invalid_request_error", "message":
                                             "messages.1.content.0: Expected %s"}}),
                ("/v1/chat/completions", {"model": "chat", "messages": [
                    {"role": "user", "content": "hi"},
                    {"role": "assistant", "content": "Yes.", "reasoning_content": thought},
                    {"role": "user", "content": "so?"}]},
                 {"error": {"type": "invalid_request_error", "message": "input should be %s",
                            "param": None, "code": None}})):
            def refused(what):
                text = json.dumps(refusal).replace("%s", what).encode()
                return 400, "application/json", text
            with self.subTest(path):
                r = self.fails(path, body, refused(f"'{thought[4:]}'"))
                self.assertEqual(r.status, 400)
                self.assertNotIn(b"thoughts", r.body)
                self.assertEqual(json.loads(r.body)["error"]["type"], "invalid_request_error")
                named = refused("`thinking` or `redacted_thinking`")
                self.assertEqual(self.fails(path, body, named).body, named[2])
                r = self.fails(path, body, refused(f"'{thought[4:]}'"), SHOW)
                self.assertIn(thought[4:].encode(), r.body)

    def test_a_refusal_of_very_much_reasoning_is_an_error_and_no_more(self):
        """Texts with escapes, tiny and large, each of which must be decoded."""
        parts = [{"type": "reasoning", "summary": [{"type": "summary_text", "text": t}]}
                 for t in ["\n"] * 20000 + ["\n" * 300000, "\t" * 500000]]
        r = self.fails("/v1/chat/completions", {"model": "chat", "messages": [
            {"role": "user", "content": "hi"}, {"role": "assistant", "content": parts},
            {"role": "user", "content": "so?"}]}, (
                400, "application/json", b'{"error":{"message":"no","type":"invalid_request_error"}}'))
        self.assertEqual(r.status, 400)
        self.hides(self.chat(whole({"reasoning": SECRET})))

    def test_an_error_that_repeats_what_was_generated_does_not_tell_its_reasoning(self):
        wrong = json.dumps({"error": {"message": "Failed to call a function.", "code": "tool_use_failed",
                                      "type": "invalid_request_error",
                                      "failed_generation": f"{TAGS}<function=f>"}}).encode()
        r = self.fails(*by_dialect("chat", False)["openai"], (400, "application/json", wrong))
        self.assertEqual(json.loads(r.body)["error"]["code"], "tool_use_failed")
        self.assertNotIn(SECRET.encode(), r.body)

    def test_an_error_without_a_message_does_not_tell_its_reasoning_either(self):
        wrong = {"type": "error", "error": {"type": "invalid_request_error", "message": "",
                                            "generated": f"after {SECRET}"}}
        said = [{"type": "message_start", "message": {
                    "id": "m", "type": "message", "role": "assistant", "model": "u", "content": [],
                    "stop_reason": None, "stop_sequence": None,
                    "usage": {"input_tokens": 1, "output_tokens": 1}}},
                {"type": "content_block_start", "index": 0,
                 "content_block": {"type": "thinking", "thinking": "", "signature": ""}},
                {"type": "content_block_delta", "index": 0,
                 "delta": {"type": "thinking_delta", "thinking": SECRET}}]
        r = self.fails(*by_dialect("claude-opus-5-5", True)["anthropic"], sse(*said, wrong))
        self.assertNotIn(SECRET.encode(), r.body)
        self.assertIn(b"invalid_request_error", r.body)

    def test_a_message_beside_the_delta_is_taken_out(self):
        said = {"role": "assistant", "content": TAGS + "Yes."}
        self.hides(self.chat(stream(
            chunk({"content": TAGS[:10]}, message={**said, "content": TAGS[:10]}),
            chunk({"content": TAGS[10:] + "Yes."}, message=said),
            chunk({}, "stop", message=said)), "tags", stream=True))
        said = {"role": "assistant", "content": "Yes.", "reasoning_content": SECRET}
        alone = {"id": "c", "choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}
        self.hides(self.chat(stream(alone), stream=True))
        self.hides(self.chat(stream(chunk({"reasoning_content": SECRET}),
                                    chunk({"content": "Yes."}), alone), stream=True))

    def test_its_tokens_are_not_told_one_by_one(self):
        mine = logprobs("Yes", ".")
        mixed = {"content": logprobs(SECRET)["content"] + mine["content"]}
        apart = {**mine, "reasoning_content": logprobs(SECRET)["content"]}
        self.hides(self.chat(whole({"reasoning_content": SECRET}, logprobs=mixed)))
        self.hides(self.chat(whole({"content": TAGS + "Yes."}, logprobs=mixed), "tags"))
        r = self.hides(self.chat(whole({}, logprobs=apart)))
        self.assertEqual(json.loads(r.body)["choices"][0]["logprobs"], mine)
        tokens = stream(chunk({"reasoning_content": SECRET}, logprobs=logprobs(SECRET)),
                        chunk({"content": "Yes."}, logprobs=mine), chunk({}, "stop"))
        self.hides(self.chat(tokens, stream=True))
        for model, reply in (("chat", tokens), ("tags", stream(
                chunk({"content": TAGS}, logprobs=logprobs("<think>", SECRET, "</think>")),
                chunk({"content": "Yes."}, logprobs=mine), chunk({}, "stop")))):
            r = self.hides(self.chat(reply, model, reasoning_effort="low"))  # streamed upstream
            self.assertEqual(json.loads(r.body)["choices"][0]["logprobs"], mine)

    def test_gemini_and_ollama_tell_no_tokens_of_it_either(self):
        chosen = {"chosenCandidates": [{"token": SECRET}, {"token": "Yes."}]}
        self.hides(self.ask(
            "/v1beta/models/gemini-2.5-flash:generateContent",
            {"contents": [{"parts": [{"text": "hi"}]}]}, plain({"candidates": [{
                "content": {"role": "model", "parts": [{"text": SECRET, "thought": True},
                                                       {"text": "Yes."}]},
                "finishReason": "STOP", "logprobsResult": chosen, "thoughtSummary": SECRET}]})))
        self.hides(self.ask(
            "/api/chat", {"model": "llama", "stream": False, "messages": [
                {"role": "user", "content": "hi"}]}, plain({
                    "model": "u", "created_at": "2025-01-01T00:00:00Z", "done": True,
                    "done_reason": "stop", "logprobs": [{"token": SECRET}, {"token": "Yes."}],
                    "message": {"role": "assistant", "content": "Yes.", "thinking": SECRET}})))

    def test_tokens_beside_a_text_that_is_split_are_not_told(self):
        """In Gemini, Ollama and Responses, whole and in streams divided at every position."""
        text = TAGS + "Yes."
        odds = logprobs("<think>", SECRET, "</think>", "Yes", ".")["content"]

        def gemini(said, **more):
            return {"candidates": [{"index": 0, "content": {"role": "model", "parts": [{"text": said}]},
                                    "logprobsResult": {"chosenCandidates": odds}, **more}]}

        def ollama(said, done):
            return {"model": "u", "created_at": "2025-01-01T00:00:00Z", "done": done,
                    "message": {"role": "assistant", "content": said},
                    **({"logprobs": odds} if said else {})}

        item = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": [
            {"type": "output_text", "text": text, "annotations": [], "logprobs": odds}]}
        response = {"id": "r", "object": "response", "created_at": 1, "status": "completed",
                    "model": "u", "output": [item]}
        at = {"item_id": "m", "output_index": 0, "content_index": 0}

        def responses(*pieces):
            part = {"type": "output_text", "text": "", "annotations": []}
            return [{"type": "response.created", "response": {**response, "output": []}},
                    {"type": "response.output_item.added", "output_index": 0,
                     "item": {**item, "content": []}},
                    {"type": "response.content_part.added", "part": part, **at},
                    *[{"type": "response.output_text.delta", "delta": p, "logprobs": odds, **at}
                      for p in pieces],
                    {"type": "response.output_text.done", "text": text, "logprobs": odds, **at},
                    {"type": "response.content_part.done", "part": item["content"][0], **at},
                    {"type": "response.output_item.done", "output_index": 0, "item": item},
                    {"type": "response.completed", "response": response}]

        models = {"gemini": "gemini-2.5-flash", "ollama": "llama", "responses": "responses"}
        for dialect, doc in (("gemini", gemini(text, finishReason="STOP")),
                             ("ollama", ollama(text, True)), ("responses", response)):
            with self.subTest(dialect):
                self.hides(self.ask(*by_dialect(models[dialect], False)[dialect], plain(doc)))
                for i in range(1, len(TAGS)):
                    pieces = text[:i], text[i:]
                    if dialect == "gemini":
                        reply = sse(gemini(pieces[0]), gemini(pieces[1], finishReason="STOP"))
                    elif dialect == "ollama":
                        reply = "application/x-ndjson", b"".join(
                            json.dumps(ollama(p, not p)).encode() + b"\n" for p in (*pieces, ""))
                    else:
                        reply = sse(*[{**e, "sequence_number": n}
                                      for n, e in enumerate(responses(*pieces))])
                    self.hides(self.ask(*by_dialect(models[dialect], True)[dialect], reply))

    def test_images_and_code_that_gemini_thinks_of_are_hidden(self):
        path = "/v1beta/models/gemini-2.5-flash:"
        body = {"contents": [{"parts": [{"text": "hi"}]}]}
        drawn = {"inlineData": {"mimeType": "image/png", "data": "Yes."}}
        thought = [{"inlineData": {"mimeType": "image/png", "data": SECRET}, "thought": True},
                   {"executableCode": {"language": "PYTHON", "code": SECRET}, "thought": True}]
        reply = {"candidates": [{"index": 0, "finishReason": "STOP", "content": {
            "role": "model", "parts": [*thought, drawn]}}]}
        for way, said in (("generateContent", plain(reply)),
                          ("streamGenerateContent?alt=sse", sse(reply))):
            r = self.hides(self.ask(path + way, body, said))
            self.assertIn(json.dumps(drawn).encode(), r.body)
            self.assertEqual(self.ask(path + way, body, said, SHOW).body.count(SECRET.encode()), 2)

    def test_every_choice_is_split(self):
        texts = [[TAGS[i:i + 3] for i in range(0, len(TAGS), 3)] + [f"Yes {n}."] for n in (0, 1)]
        frames = [{**chunk({}), "choices": [{"index": n, "delta": {"content": t}}]}
                  for pair in zip(*texts) for n, t in enumerate(pair)]
        frames += [{**chunk({}), "choices": [{"index": n, "delta": {}, "finish_reason": "stop"}]}
                   for n in (0, 1)]
        both = plain({"id": "c", "choices": [{"index": n, "finish_reason": "stop", "message": {
            "role": "assistant", "content": f"{TAGS} Yes {n}."}} for n in (0, 1)]})
        for headers, thought in (({}, ""), (SHOW, SECRET)):
            r = self.chat(stream(*frames), "tags", headers, n=2, stream=True)
            for n in (0, 1):
                said = [c["delta"] for e in events(r.body) for c in e["choices"] if c["index"] == n]
                self.assertEqual(("".join(d.get("content") or "" for d in said),
                                  "".join(d.get("reasoning_content") or "" for d in said)),
                                 (f"Yes {n}.", thought))
            r = self.chat(both, "tags", headers, n=2)
            self.assertEqual([(c["message"]["content"], c["message"].get("reasoning", ""))
                              for c in json.loads(r.body)["choices"]],
                             [("Yes 0.", thought), ("Yes 1.", thought)])
        self.hides(self.ask(
            "/v1beta/models/gemma:generateContent", {"contents": [{"parts": [{"text": "hi"}]}]},
            plain({"candidates": [{"index": n, "finishReason": "STOP", "content": {
                "role": "model", "parts": [{"text": f"{TAGS}Yes {n}."}]}} for n in (0, 1)]})),
            b"Yes 1.")

    def test_no_event_of_a_response_has_it(self):
        item = {"type": "reasoning", "id": "rs", "summary": [{"type": "summary_text", "text": SECRET}],
                "content": [{"type": "reasoning_text", "text": SECRET}], "encrypted_content": "c2Vh",
                "thinking": SECRET}
        answer = {"type": "message", "id": "msg", "role": "assistant", "status": "completed",
                  "content": [{"type": "output_text", "text": "Yes.", "annotations": []}]}
        body = {"id": "resp", "object": "response", "created_at": 1, "status": "completed",
                "model": "u", "output": [item, answer], "usage": {
                    "input_tokens": 1, "output_tokens": 2, "total_tokens": 3}}
        at = {"item_id": "rs", "output_index": 0, "content_index": 0}
        part = {"type": "reasoning_text", "text": SECRET}
        for odd in ([{"type": "response.output_item.added", "output_index": 0, "item": item}],
                    [{"type": "response.output_item.added", "output_index": 0,
                      "item": {**item, "summary": [], "content": []}},
                     {"type": "response.reasoning_part.added", "part": {**part, "text": ""}, **at},
                     {"type": "response.reasoning_text.delta", "delta": SECRET, **at},
                     {"type": "response.reasoning_text.done", "text": SECRET, **at},
                     {"type": "response.reasoning_part.done", "part": part, **at}],
                    [{"type": "response.reasoning.delta", "delta": {"text": SECRET}, **at},
                     {"type": "response.reasoning_summary.delta", "delta": SECRET, **at},
                     {"type": "response.reasoning_summary.done", "text": SECRET, **at}]):
            frames = [{"type": "response.created", "response": {**body, "output": []}}, *odd,
                      {"type": "response.output_item.done", "output_index": 0, "item": item},
                      {"type": "response.output_item.added", "output_index": 1,
                       "item": {**answer, "content": []}},
                      {"type": "response.output_text.delta", "item_id": "msg", "output_index": 1,
                       "content_index": 0, "delta": "Yes."},
                      {"type": "response.output_item.done", "output_index": 1, "item": answer},
                      {"type": "response.completed", "response": body}]
            frames = [{**f, "sequence_number": n} for n, f in enumerate(frames)]
            r = self.hides(self.ask("/v1/responses", {"model": "responses", "input": "hi",
                                                      "stream": True}, sse(*frames)))
            self.assertIn(b"c2Vh", r.body)  # encrypted reasoning may be returned
            numbers = [e["sequence_number"] for e in events(r.body)]
            self.assertEqual(numbers, sorted(set(numbers)))
        self.hides(self.ask("/v1/responses", {"model": "responses", "input": "hi"}, plain(body)))


class Record(unittest.TestCase):
    """Earlier reasoning in a client's request is recorded no more than that of replies."""

    def sent_back(self, gateway):
        said = {"role": "user", "content": "hi"}
        for path, body in (
                ("/v1/chat/completions", {"messages": [said, {
                    "role": "assistant", "content": "Kept.", "reasoning_content": SECRET,
                    "reasoning": SECRET, "reasoning_details": [{"type": "reasoning.text",
                                                                "text": SECRET}]}, said]}),
                ("/v1/messages", {"max_tokens": 9, "messages": [said, {"role": "assistant", "content": [
                    {"type": "thinking", "thinking": SECRET, "signature": "s"},
                    {"type": "text", "text": "Kept."}]}, said]}),
                ("/v1/responses", {"input": [said, {"type": "reasoning", "id": "rs", "summary": [
                    {"type": "summary_text", "text": SECRET}]},
                    {"role": "assistant", "content": "Kept."}, said]}),
                ("/api/chat", {"messages": [said, {"role": "assistant", "content": "Kept.",
                                                   "thinking": SECRET}, said]}),
                ("/v1beta/models/chat:generateContent", {"contents": [
                    {"role": "user", "parts": [{"text": "hi"}]},
                    {"role": "model", "parts": [{"text": SECRET, "thought": True},
                                                {"text": "Kept."}]},
                    {"role": "user", "parts": [{"text": "so?"}]}]})):
            r = request(path, {"model": "chat", "stream": True, **body} if "contents" not in body
                        else body, {}, at=gateway)
            self.assertEqual(r.status, 200, r.body)

    def test_it_is_kept_only_where_the_configuration_says_so(self):
        up = asking.world.up
        up.reply = lambda _, body: stream(chunk({"content": "Yes."}, "stop")) \
            if body.get("stream") else whole({})
        for keep, count in (("none", 0), ("summary", 0), ("text", 5)):
            with Gateway(BINARY, {"reasoning": {"keep": keep}, "durability": "durable", "providers": {
                    "chat": {"kind": "openai", "base_url": up.root + "/v1", "models": ["chat"]}}}
                    ) as gateway:
                self.sent_back(gateway)
                page = json.loads(request("/api/v1/history/sessions", at=gateway).body)
                rows = [request(f"/api/v1/history/sessions/{s['session_id']}", at=gateway).body
                        for s in page["sessions"]]
                spool = b"".join(f.read_bytes() for f in gateway.folder.rglob("*.seg"))
                self.assertGreaterEqual(spool.count(b"Kept."), 5)
                self.assertGreaterEqual(spool.count(SECRET.encode()), count)
                if not count:
                    self.assertNotIn(SECRET.encode(), spool + b"".join(rows))


CALL = {"id": "functions.refund:0", "type": "function", "function": {"name": "refund", "arguments": "{}"}}
REMINDER = "<system-reminder>Be brief.</system-reminder>"


class Conversations(unittest.TestCase):
    """A provider that numbers its calls from 0 in every reply: the reasoning of one conversation is
    never sent in another of the same key."""

    @staticmethod
    def question(body):
        """The user's last words, and the number of results after them."""
        said, results = "", 0
        for m in body["messages"]:
            parts = m["content"] if isinstance(m["content"], list) else [{"type": "text", "text": m["content"] or ""}]
            results += m["role"] == "tool" or any(p["type"] == "tool_result" for p in parts)
            words = [p["text"] for p in parts if p["type"] == "text" and REMINDER not in p["text"]]
            if m["role"] == "user" and words:
                said, results = words[-1], 0
        return f"{said} step {results}"

    def chat_reply(self, _, body):
        name = self.question(body)
        thought = {} if "Mute" in name else {"reasoning_content": f"Thought of {name}"}
        return whole({"content": None, **thought, "tool_calls": [CALL]}, finish_reason="tool_calls")

    def messages_reply(self, _, body):
        name = self.question(body)
        return plain({"id": "m", "type": "message", "role": "assistant", "model": "u", "content": [
            {"type": "thinking", "thinking": f"Thought of {name}", "signature": f"Signed {name}"},
            {"type": "tool_use", "id": "call_0", "name": "refund", "input": {}}], "stop_reason": "tool_use",
            "stop_sequence": None, "usage": {"input_tokens": 1, "output_tokens": 1}})

    def chat(self, messages):
        r = request("/v1/chat/completions", {"model": "chat", "messages": messages, "tools": [
            {"type": "function", "function": {"name": "refund", "parameters": {"type": "object"}}}]}, {})
        self.assertEqual(r.status, 200, r.body)
        m = json.loads(r.body)["choices"][0]["message"]
        messages += [{k: m[k] for k in ("role", "content", "tool_calls")},
                     {"role": "tool", "tool_call_id": m["tool_calls"][0]["id"], "content": "ok"}]
        return [m.get("reasoning_content") for m in asking.world.up.asked[-1]["messages"] if m["role"] == "assistant"]

    def messages(self, messages):
        r = request("/v1/messages", {"model": "claude-opus-5-5", "max_tokens": 4096, "messages": messages,
                                     "thinking": {"type": "adaptive"},
                                     "tools": [{"name": "refund", "input_schema": {"type": "object"}}]}, {})
        self.assertEqual(r.status, 200, r.body)
        content = [b for b in json.loads(r.body)["content"] if b["type"] == "tool_use"]
        messages += [{"role": "assistant", "content": content}, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "call_0", "content": "ok"}]}]
        sent = [[b["thinking"] for b in m["content"] if b["type"] == "thinking"]
                for m in asking.world.up.asked[-1]["messages"] if m["role"] == "assistant"]
        self.assertLessEqual({len(s) for s in sent}, {0, 1}, sent)
        return [s[0] if s else None for s in sent]

    def check(self, turn):
        alice, carol = [{"role": "user", "content": "Alice"}], [{"role": "user", "content": "Carol"}]
        for m in (alice, carol):
            self.assertEqual(turn(m), [])
        self.assertEqual(turn(alice), ["Thought of Alice step 0"])
        self.assertEqual(turn(carol), ["Thought of Carol step 0"])
        alice.append({"role": "user", "content": "Another"})  # the same id a third and a fourth time
        both = ["Thought of Alice step 0", "Thought of Alice step 1"]
        self.assertEqual(turn(alice), both)
        self.assertEqual(turn(alice), [*both, "Thought of Another step 0"])
        carol[0] = {"role": "user", "content": [{"type": "text", "text": REMINDER}, {"type": "text", "text": " Carol\n"}]}
        self.assertEqual(turn(carol), ["Thought of Carol step 0", "Thought of Carol step 1"])

    def test_chat(self):
        asking.world.up.reply = self.chat_reply
        self.check(self.chat)
        mute = [{"role": "user", "content": "Mute"}]  # a call without reasoning
        self.chat(mute)
        self.assertEqual(self.chat(mute), [None])

    def test_messages(self):
        asking.world.up.reply = self.messages_reply
        self.check(self.messages)


if __name__ == "__main__":
    start()
