#!/usr/bin/env python3
"""previous_response_id with providers that store nothing: the earlier messages are sent again, or
the client gets an error; they are never lost silently.

    test/e2e/previous_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import unittest

from asking import BINARY, start
from gateway import Gateway, Provider, digest, upstream

KINDS = ("openai", "anthropic", "gemini", "mistral", "ollama")
KEYS = {"alice": "sk-alice", "bob": "sk-bob", "ops": "sk-ops"}
TOOL = {"type": "function", "name": "get_weather", "description": "weather", "strict": False,
        "parameters": {"type": "object", "properties": {"city": {"type": "string"}}}}


def setUpModule():
    Past.provider = Provider(key="upstream-key").__enter__()
    models = {"plain": "plain", "keeps": "refuse-signature+loud", "calls": "tools", "echo": "echo"}
    providers = {f"p-{k}": upstream(Past.provider, k, {f"{k}-{n}": b for n, b in models.items()})
                 for k in (*KINDS, "responses")}
    Past.gateway = Gateway(BINARY, {"providers": providers, "keys": [
        {"name": n, "sha256": digest(k), **({"role": "operator"} if n == "ops" else {})}
        for n, k in KEYS.items()]}).__enter__()


def tearDownModule():
    Past.gateway.stop()
    Past.provider.stop()


def request(method, path, body, key="alice"):
    c = http.client.HTTPConnection("127.0.0.1", Past.gateway.port, timeout=120)
    c.request(method, path, json.dumps(body), {"authorization": f"Bearer {KEYS[key]}"})
    r = c.getresponse()
    out = r.status, r.read(), r.headers
    c.close()
    return out


def gateway_post(gateway, body):
    c = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=120)
    c.request("POST", "/v1/responses", json.dumps(body))
    r = c.getresponse()
    out = r.status, r.read()
    c.close()
    return out


def texts(asked):
    """The messages with their roles, from any provider's request, without system prompts."""
    body = asked["json"]
    out = []
    for m in body.get("messages") or body.get("contents") or body.get("input"):
        role = {"model": "assistant"}.get(m.get("role"), m.get("role"))
        said = m.get("content", m.get("parts", ""))
        if not isinstance(said, str):
            said = "".join(p.get("text", "") for p in said or [])
        if role in ("user", "assistant") and said:
            out.append((role, said))
    return out


class Past(unittest.TestCase):
    provider = gateway = None
    number = 0

    def word(self):
        Past.number += 1
        return f"word{Past.number:04d}x"

    def respond(self, model, said, stream=False, status=200, key="alice", **more):
        code, body, _ = request("POST", "/v1/responses",
                                {"model": model, "input": said, "stream": stream, **more}, key)
        self.assertEqual(code, status, body)
        if status != 200 or not stream:
            return json.loads(body)
        last = [x for x in body.split(b"\n") if x.startswith(b"data: {")][-1]
        return json.loads(last[6:])["response"]

    def answer(self, reply):
        return "".join(p["text"] for i in reply["output"] if i["type"] == "message"
                       for p in i["content"])

    def test_a_conversation_goes_on_by_ids_alone(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind=kind, stream=stream):
                    said, before = [], {}
                    for turn in range(4):
                        word = self.word()
                        items = word if turn % 2 else [{"role": "user", "content": [
                            {"type": "input_text", "text": word}]}]
                        reply = self.respond(f"{kind}-plain", items, stream, **before)
                        self.assertEqual(reply["previous_response_id"],
                                         before.get("previous_response_id"))
                        said.append(("user", word))
                        self.assertEqual(texts(self.provider.log(word)[-1]), said)
                        said.append(("assistant", self.answer(reply)))
                        before = {"previous_response_id": reply["id"]}

    def test_instructions_are_those_of_the_request_at_hand(self):
        first, second = self.word(), self.word()
        one = self.respond("openai-plain", first, instructions="speak as a pirate")
        self.respond("openai-plain", second, previous_response_id=one["id"], instructions="be brief")
        asked = json.dumps(self.provider.log(second)[-1]["json"])
        self.assertIn(first, asked)
        self.assertIn("be brief", asked)
        self.assertNotIn("pirate", asked)

    def test_a_tools_result_finds_its_call_and_what_was_signed(self):
        for kind in KINDS:
            for stream in (False, True):
                with self.subTest(kind=kind, stream=stream):
                    word = self.word()
                    one = self.respond(f"{kind}-keeps", word, stream, tools=[TOOL],
                                       reasoning={"effort": "low"})
                    call = next(i for i in one["output"] if i["type"] == "function_call")
                    two = self.respond(f"{kind}-keeps", [
                        {"type": "function_call_output", "call_id": call["call_id"],
                         "output": "sunny"}], stream, tools=[TOOL], reasoning={"effort": "low"},
                        previous_response_id=one["id"])
                    self.assertTrue(self.answer(two))
                    self.assertIn("sunny", json.dumps(self.provider.log(word)[-1]["json"]))

    def test_two_that_go_on_from_one_do_not_hear_of_each_other(self):
        words = [self.word() for _ in range(3)]
        one = self.respond("anthropic-plain", words[0])
        for word in words[1:]:
            self.respond("anthropic-plain", word, previous_response_id=one["id"])
            self.assertEqual([t for r, t in texts(self.provider.log(word)[-1]) if r == "user"],
                             [words[0], word])

    def test_what_is_not_known_is_refused_and_nobody_is_asked(self):
        kept = self.respond("openai-plain", self.word())
        forgotten = self.respond("openai-plain", self.word(), store=False)
        gone_on = self.respond("openai-plain", self.word(), previous_response_id=kept["id"],
                               store=False)
        for previous, key in ((forgotten["id"], "alice"), (gone_on["id"], "alice"),
                              (kept["id"], "bob"), ("resp_never", "alice"), ("x" * 5000, "alice")):
            for stream in (False, True):
                word = self.word()
                error = self.respond("openai-plain", word, stream, 400, key,
                                     previous_response_id=previous)["error"]
                self.assertEqual(error["code"], "previous_response_not_found")
                self.assertEqual(error["param"], "previous_response_id")
                self.assertIn("send the whole conversation", error["message"])
                self.assertEqual(self.provider.log(word), [])

    def test_what_only_a_provider_could_have_is_refused(self):
        for more in ({"conversation": "conv_1"}, {"conversation": {"id": "conv_1"}},
                     {"prompt": {"id": "pmpt_1"}}):
            word = self.word()
            error = self.respond("gemini-plain", word, status=400, **more)["error"]
            self.assertEqual(error["param"], next(iter(more)))
            self.assertEqual(self.provider.log(word), [])
            self.respond("responses-plain", word, **more)
            self.assertEqual(self.provider.log(word)[-1]["json"][next(iter(more))],
                             next(iter(more.values())))
        self.respond("gemini-plain", self.word(), conversation=None, previous_response_id=None)

    def test_a_provider_that_keeps_responses_is_left_to_it(self):
        first, second = self.word(), self.word()
        one = self.respond("responses-plain", first)
        self.respond("responses-plain", second, previous_response_id=one["id"])
        asked = self.provider.log(second)[-1]["json"]
        self.assertEqual(asked["previous_response_id"], one["id"])
        self.assertNotIn(first, json.dumps(asked))

    def test_ours_goes_whole_to_a_provider_that_has_not_seen_it(self):
        first, second = self.word(), self.word()
        one = self.respond("openai-plain", first)
        self.respond("responses-plain", second, previous_response_id=one["id"])
        asked = self.provider.log(second)[-1]["json"]
        self.assertNotIn("previous_response_id", asked)
        self.assertEqual([t for r, t in texts({"json": asked}) if r == "user"], [first, second])

    def test_items_may_be_named_by_their_ids(self):
        for kind in KINDS:
            with self.subTest(kind=kind):
                first, second, third = self.word(), self.word(), self.word()
                one = self.respond(f"{kind}-plain", first)
                names = [{"type": "item_reference", "id": i["id"]} for i in one["output"]]
                items = [{"role": "user", "content": first}, *names,
                         {"role": "user", "content": second}]
                two = self.respond(f"{kind}-plain", items, stream=True)
                said = [("user", first), ("assistant", self.answer(one)), ("user", second)]
                self.assertEqual(texts(self.provider.log(second)[-1]), said)
                self.respond(f"{kind}-plain", third, previous_response_id=two["id"])
                self.assertEqual(texts(self.provider.log(third)[-1]), [
                    *said, ("assistant", self.answer(two)), ("user", third)])
        word = self.word()
        items = [{"role": "user", "content": word}, {"type": "item_reference", "id": "msg_nobody"}]
        error = self.respond("openai-plain", items, status=400)["error"]
        self.assertEqual((error["code"], error["param"]), ("item_not_found", "input"))
        self.assertEqual(self.provider.log(word), [])
        self.respond("responses-plain", items)
        self.assertEqual(self.provider.log(word)[-1]["json"]["input"], items)

    def test_what_is_erased_is_not_gone_on_from(self):
        code, body, headers = request("POST", "/v1/responses", {
            "model": "openai-plain", "input": self.word()})
        self.assertEqual(code, 200)
        session = headers["x-rationale-session"]
        code, erased, _ = request("DELETE", f"/api/v1/history/sessions/{session}", {}, "ops")
        self.assertEqual(code, 200, erased)
        self.respond("openai-plain", self.word(), status=400,
                     previous_response_id=json.loads(body)["id"])

    def restart(self):
        self.gateway.child.terminate()
        self.gateway.child.wait(60)
        self.gateway.start()

    def test_what_is_on_record_is_gone_on_from_after_a_restart(self):
        talks = {}
        for kind in KINDS:
            words = [self.word(), self.word()]
            one = self.respond(f"{kind}-plain", words[0], stream=kind == "openai")
            two = self.respond(f"{kind}-plain", [{"role": "user", "content": words[1]}],
                               previous_response_id=one["id"])
            talks[kind] = two["id"], [("user", words[0]), ("assistant", self.answer(one)),
                                      ("user", words[1]), ("assistant", self.answer(two))]
        self.restart()
        for kind, (previous, said) in talks.items():
            for stream in (False, True):
                with self.subTest(kind, stream=stream):
                    third, fourth = self.word(), self.word()
                    reply = self.respond(f"{kind}-plain", third, stream,
                                         previous_response_id=previous)
                    self.assertEqual(texts(self.provider.log(third)[-1]), [*said, ("user", third)])
                    self.respond(f"{kind}-plain", fourth, stream, previous_response_id=reply["id"])
                    self.assertEqual(texts(self.provider.log(fourth)[-1]), [
                        *said, ("user", third), ("assistant", self.answer(reply)),
                        ("user", fourth)])

    def test_a_tools_result_finds_its_call_after_a_restart(self):
        word = self.word()
        one = self.respond("openai-calls", word, tools=[TOOL])
        call = next(i for i in one["output"] if i["type"] == "function_call")
        self.restart()
        two = self.respond("openai-calls", [
            {"type": "function_call_output", "call_id": call["call_id"], "output": "sunny"}],
            tools=[TOOL], previous_response_id=one["id"])
        self.assertTrue(self.answer(two))
        asked = self.provider.log(word)[-1]["json"]["messages"]
        self.assertEqual([c["function"]["arguments"] for m in asked
                          for c in m.get("tool_calls", [])], [call["arguments"]])

    def test_after_a_restart_it_is_still_only_whose_it_is(self):
        kept = self.respond("openai-plain", self.word())
        forgotten = self.respond("openai-plain", self.word(), store=False)
        gone_on = self.respond("openai-plain", self.word(), previous_response_id=kept["id"],
                               store=False)
        code, body, headers = request("POST", "/v1/chat/completions", {
            "model": "openai-plain", "messages": [{"role": "user", "content": self.word()}]})
        self.assertEqual(code, 200, body)
        code, body, erased = request("POST", "/v1/responses", {
            "model": "openai-plain", "input": self.word()})
        self.assertEqual(code, 200, body)
        self.restart()
        session = erased["x-rationale-session"]
        self.assertEqual(request("DELETE", f"/api/v1/history/sessions/{session}", {}, "ops")[0], 200)
        for previous, key in ((kept["id"], "bob"), (kept["id"], "ops"), (forgotten["id"], "alice"),
                              (gone_on["id"], "alice"), (json.loads(body)["id"], "alice"),
                              (f"resp_{headers['x-rationale-id']}", "alice"),
                              ("resp_" + "0" * 8 + "-0000-7000-8000-" + "0" * 12, "alice")):
            with self.subTest(previous, key=key):
                word = self.word()
                error = self.respond("openai-plain", word, status=400, key=key,
                                     previous_response_id=previous)["error"]
                self.assertEqual(error["code"], "previous_response_not_found")
                self.assertEqual(self.provider.log(word), [])
        self.respond("openai-plain", self.word(), previous_response_id=kept["id"])

    def test_no_input_at_all_is_what_was_said_before(self):
        word = self.word()
        one = self.respond("openai-plain", word)
        code, body, _ = request("POST", "/v1/responses", {
            "model": "openai-plain", "previous_response_id": one["id"]})
        self.assertEqual(code, 200, body)
        self.assertEqual(texts(self.provider.log(word)[-1])[0], ("user", word))

    def test_a_large_item_that_is_named_many_times_is_refused(self):
        one = self.respond("openai-echo", "w " * 2000000)
        named = {"type": "item_reference", "id": one["output"][-1]["id"]}
        error = self.respond("openai-plain", [named] * 200, status=413)["error"]
        self.assertEqual(error["code"], "conversation_too_large")

    def test_a_conversation_is_whole_or_refused(self):
        providers = {"p": upstream(self.provider, "openai", {"long": "long:2000", "plain": "plain"})}
        with Gateway(BINARY, {"providers": providers, "body_max": "1KiB"}) as gateway:
            for words, status in ((1, 200), (2000, 413)):
                with self.subTest(words=words):
                    said = []
                    for body in ({"model": "long" if words > 1 else "plain", "input": self.word()},
                                 {"model": "plain", "input": self.word()}):
                        if said:
                            body["previous_response_id"] = json.loads(said[-1][1])["id"]
                        said.append(gateway_post(gateway, body))
                    self.assertEqual([s for s, _ in said], [200, status], said[-1][1])


if __name__ == "__main__":
    start()
