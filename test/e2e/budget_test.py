#!/usr/bin/env python3
"""Limits of a call's reasoning and cost: spellings of levels, several choices, token counts, money.

    test/e2e/budget_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import threading
from concurrent.futures import ThreadPoolExecutor

from again_test import ROUTES, WORD, Again, answer, delta, error, plain, provider, stream, whole
from asking import SHOW, USAGE, comments, events, request, start
from gateway import digest, until

KEY = {"authorization": "Bearer sk-key"}
LONG = stream(delta(reasoning_content=WORD * 200), delta(content="No."), delta("stop"))
STARVED = stream(delta(reasoning_content=WORD * 50), delta("length"))


def key(**more):
    return [{"name": "key", "sha256": digest("sk-key"), **more}]


def choice(number, why=None, **said):
    chunk = delta(why, **said)
    chunk["choices"][0]["index"] = number
    return chunk


def facts(r):
    words = r.headers.get("x-rationale-usage") or " ".join(comments(r.body))
    return USAGE.search(words).groups()


class Spelt(Again):
    """A level reaches a provider of the same dialect in the client's spelling."""

    def test_in_capitals(self):
        self.up.reply = lambda *_: whole("Yes.") if not self.up.asked[-1].get("stream") else stream(
            delta(content="Yes."), delta("stop"))
        gateway = self.serve()
        for word in ("HIGH", "Low", "high", "xhigh", "max", "none", "hi", "", "high ", 3):
            self.ok(self.ask(gateway, reasoning_effort=word))
            self.assertEqual(self.up.asked[-1]["reasoning_effort"], word)

    def test_what_another_dialect_calls_it(self):
        line = {"model": "u", "created_at": "2025-01-01T00:00:00Z", "done": True,
                "done_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}
        self.up.reply = lambda *_: plain(200, line)
        gateway = self.serve(providers={"ollama": {"kind": "ollama", "base_url": self.up.root,
                                                   "models": ["m"]}})
        for word in ("HIGH", "minimal", "none", "high", True):
            self.ok(self.ask(gateway, "ollama", think=word))
            self.assertEqual(self.up.asked[-1]["think"], word)
        for word, sent in (("HIGH", True), ("minimal", True), ("none", False)):
            self.ok(self.ask(gateway, "chat", reasoning_effort=word))
            self.assertEqual(self.up.asked[-1]["think"], sent, word)


class Raised(Again):
    """Level medium becomes high if the reasoning expresses doubt."""
    DOUBTS = " I am not sure. But wait, that is unclear." * 60

    def test_not_above_what_its_key_may_ask_for(self):
        self.up.reply = lambda n, body: stream(
            delta(reasoning_content=self.DOUBTS), delta("stop")) if n == 1 else answer("Yes.", body)
        for levels, cap in (("low medium", "256"), ("medium high", "512")):
            gateway = self.serve(reasoning={"adaptive": True}, keys=key(levels=levels.split()))
            for streamed in (False, True):
                self.up.forget()
                r = self.ok(self.ask(gateway, headers=KEY, stream=streamed,
                                     reasoning_effort="medium"))
                # A whole reply is not stopped at the cap: all of its reasoning is billed.
                self.assertEqual(facts(r), (cap if streamed else "720", cap, "budget"))


class Wrong(Again):
    """Client mistakes, and errors that say how to correct them."""

    def test_an_amount_above_its_key_says_which_level_it_is(self):
        gateway = self.serve(keys=key(levels=["none", "low"]))
        r = self.ask(gateway, "messages", headers=KEY, max_tokens=9000, output_config={},
                     thinking={"type": "enabled", "budget_tokens": 2000})
        self.assertEqual(r.status, 403)
        self.assertRegex(json.loads(r.body)["error"]["message"],
                         r"^2000 tokens of reasoning count as level \w+; this key allows none, low$")

    def test_a_wrong_base_url_is_told_the_right_one(self):
        gateway = self.serve()
        root = f"http://127.0.0.1:{gateway.port}"
        for path, meant, base in (("/chat/completions", "/v1/chat/completions", root + "/v1"),
                                  ("/v1/v1/chat/completions", "/v1/chat/completions", root + "/v1"),
                                  ("/responses", "/v1/responses", root + "/v1"),
                                  ("/v1/v1/messages", "/v1/messages", root),
                                  ("/messages", "/v1/messages", root)):
            r = request(path, {"model": "m"}, {}, at=gateway)
            doc = json.loads(r.body)
            self.assertEqual((r.status, doc["error"]["message"]), (
                404, f"no route {path}; did you mean {meant}? Set the SDK's base URL to {base}"))
            self.assertEqual(doc.get("type"), "error" if "messages" in path else None)
        r = request("/v1/nothing", {"model": "m"}, {}, at=gateway)
        self.assertEqual(json.loads(r.body)["error"]["message"], "no route /v1/nothing; /docs/reference/http-api lists them")

    def test_a_reasoning_header_takes_show_or_hide(self):
        self.up.reply = lambda _, body: answer("Yes.", body)
        gateway = self.serve()
        r = self.ask(gateway, headers={"x-rationale-reasoning": "yes"})
        self.assertEqual(r.status, 400)
        self.assertIn("it takes show or hide", json.loads(r.body)["error"]["message"])
        for word in ("show", "Hide"):
            self.ok(self.ask(gateway, headers={"x-rationale-reasoning": word}))


class Counted(Again):
    """The gateway's own counts in addition to the provider's."""

    def test_what_was_counted_is_told_beside_what_the_provider_tells(self):
        """The provider uses another tokenizer, and some leave reasoning out of their count, so both
        counts are reported."""
        self.up.reply = lambda _, body: answer("Yes.", body, reasoning_content=WORD * 50)
        r = self.ok(self.ask(self.serve()))
        usage = json.loads(r.body)["usage"]
        self.assertEqual((usage["completion_tokens"], usage["total_tokens"]), (5, 15))
        self.assertEqual(usage["completion_tokens_details"]["reasoning_tokens"], 50)
        self.assertEqual(facts(r), ("50", "128", "none"))

    def test_who_leaves_pays_for_what_there_was(self):
        """Anthropic's streams begin with one output token; the total is reported at their end."""
        front = [{"type": "message_start", "message": {
            "id": "m", "type": "message", "role": "assistant", "model": "u", "content": [],
            "stop_reason": None, "usage": {"input_tokens": 5, "output_tokens": 1}}},
            {"type": "content_block_start", "index": 0,
             "content_block": {"type": "text", "text": ""}},
            {"type": "content_block_delta", "index": 0,
             "delta": {"type": "text_delta", "text": "word " * 800}}]

        def reply(*_):
            head = b"HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\n\r\n"
            return head + b"".join(b"event: %s\ndata: %s\n\n" % (
                f["type"].encode(), json.dumps(f).encode()) for f in front)
        self.up.reply = reply
        gateway = self.serve(keys=key(), providers={"claude": {
            "kind": "anthropic", "base_url": self.up.root, "models": ["m"],
            "prices": {"m": {"input": 0, "output": 1000}}}})
        r = self.ask(gateway, "messages", headers=KEY, stream=True)  # the stream ends early
        self.assertIn(b"word word", r.body)
        spent = until(lambda: re.search(r'rationale_cost_usd_total\{.*\} ([\d.e-]+)',
                                        request("/metrics", headers=KEY, at=gateway).body.decode()))
        self.assertGreater(float(spent[1]), 0.9)


class Spent(Again):
    USED = {"prompt_tokens": 1000, "completion_tokens": 1000, "total_tokens": 2000}

    def paid(self, gateway):
        seen = request("/metrics", headers=KEY, at=gateway).body.decode()
        return sum(float(n) for n in re.findall(r"rationale_cost_usd_total\{.*\} ([\d.e-]+)", seen))

    def test_a_budget_holds_without_a_price_in_the_configuration(self):
        self.up.reply = lambda *_: plain(200, {
            "id": "1", "object": "chat.completion", "created": 1, "model": "gpt-5", "usage": self.USED,
            "choices": [{"index": 0, "finish_reason": "stop",
                         "message": {"role": "assistant", "content": "Yes."}}]})
        models = {"m": "gpt-5-2025-08-07", "new": "gpt-5-of-next-year"}
        chat = provider(self.up, models=models)
        gateway = self.serve(providers={"chat": chat}, keys=key(spend_usd=0.05))
        got = [self.ask(gateway, headers=KEY, max_tokens=10).status for _ in range(10)]
        # 0.01125 USD each: the fifth call spends the last cent.
        self.assertEqual(got, [200] * 5 + [429] * 5)
        self.assertAlmostEqual(self.paid(gateway), 5 * 0.01125)
        # The price of the other model is unknown, so nothing is charged.
        gateway = self.serve(providers={"chat": chat}, keys=key(spend_usd=0.05))
        got = [self.ask(gateway, headers=KEY, model="new").status for _ in range(10)]
        self.assertEqual((got, self.paid(gateway)), ([200] * 10, 0))
        gateway = self.serve(providers={"chat": chat}, keys=key(spend_usd=0.05), prices="none")
        self.assertEqual([self.ask(gateway, headers=KEY).status for _ in range(10)], [200] * 10)

    def test_a_spent_budget_is_an_error_that_no_client_retries(self):
        self.up.reply = lambda _, body: answer("Yes.", body)
        prices = {"m": {"input": 1000, "output": 1000}}
        gateway = self.serve(providers={"chat": provider(self.up, prices=prices)},
                             keys=key(spend_usd=0.01))
        self.ok(self.ask(gateway, headers=KEY))
        said = 'the key "key" has spent its limit of 0.01 USD; an operator can raise its spend_usd'
        words = {"chat": (429, {"type": "insufficient_quota", "code": "insufficient_quota"}),
                 "responses": (429, {"type": "insufficient_quota", "code": "insufficient_quota"}),
                 "messages": (402, {"type": "billing_error"}),
                 "gemini": (429, {"status": "RESOURCE_EXHAUSTED"})}
        for dialect, (status, members) in words.items():
            for streamed in (False, True):
                with self.subTest(dialect, streamed=streamed):
                    r = self.ask(gateway, dialect, headers=KEY, stream=streamed)
                    said_error = json.loads(r.body)["error"]
                    self.assertEqual((r.status, said_error["message"]), (status, said))
                    self.assertEqual({k: said_error[k] for k in members}, members)
                    self.assertEqual(r.headers.get("x-should-retry"), "false")
                    self.assertIsNone(r.headers.get("retry-after"))

    def test_calls_at_once_spend_no_more_than_one_after_the_other(self):
        go = threading.Event()

        def reply(_, body):
            go.wait(60)
            return answer("Yes.", body)
        self.up.reply = reply
        self.addCleanup(go.set)
        prices = {"m": {"input": 100000, "output": 100000}}  # 1.5 USD per call
        gateway = self.serve(providers={"chat": provider(self.up, prices=prices)},
                             keys=key(spend_usd=3))
        with ThreadPoolExecutor(8) as pool:
            ask = lambda _: self.ask(gateway, headers=KEY, max_tokens=10)  # noqa: E731
            asked = pool.submit(ask, 0)
            until(lambda: self.up.asked)
            others = list(pool.map(ask, range(6)))
            go.set()
            self.ok(asked.result())
        # A prompt and up to 10 tokens cost more than what the first call leaves of the 3 USD.
        self.assertEqual([r.status for r in others], [429] * 6)
        self.assertTrue(all(r.headers["retry-after"] == "1" for r in others))
        self.assertIn(b"under way", others[0].body)
        self.assertEqual([self.ask(gateway, headers=KEY, max_tokens=10).status for _ in range(2)],
                         [200, 429])


class Second(Again):
    """The second call, after a repair or a cut, fails after its answer has begun."""

    def test_who_has_seen_nothing_is_given_another_try(self):
        dies = stream(delta(content="No, "), whole=False)
        self.up.reply = lambda n, body: STARVED if n % 2 else dies if n < 4 else answer("Yes.", body)
        gateway = self.serve()
        for dialect in ROUTES:
            for headers in ({}, SHOW):
                self.up.forget()
                r = self.ok(self.ask(gateway, dialect, headers))
                self.assertEqual(len(self.up.asked), 4)
                self.assertIn(b"Yes.", r.body)
                self.assertNotIn(b"No", r.body)
                self.assertEqual(facts(r), ("50", "128", "none"))

    def test_but_not_for_ever(self):
        dies = stream(delta(content="No, "), whole=False)
        self.up.reply = lambda n, _: STARVED if n % 2 else dies
        gateway = self.serve(providers={"chat": provider(self.up, retries=2)})
        r = self.ask(gateway)
        self.assertEqual((r.status, len(self.up.asked)), (502, 6))

    def test_and_then_by_another_provider(self):
        dies, other = stream(delta(content="No, "), whole=False), self.up.__class__()
        self.addCleanup(other.server.shutdown)
        self.up.reply = lambda n, _: STARVED if n % 2 else dies
        other.reply = lambda _, body: answer("Yes.", body)
        for retries in (0, 1):
            self.up.forget()
            gateway = self.serve(providers={
                "chat": provider(self.up, retries=retries, fallback=["other"]),
                "other": provider(other)})
            self.assertIn(b"Yes.", self.ok(self.ask(gateway)).body)
            self.assertEqual(len(self.up.asked), 2 * (retries + 1))

    def test_a_stream_that_has_begun_is_told(self):
        dies = stream(delta(content="No, "), whole=False)
        self.up.reply = lambda n, _: LONG if n == 1 else dies
        r = self.ok(self.ask(self.serve(), stream=True))
        self.assertEqual(len(self.up.asked), 2)
        self.assertIn("error", events(r.body)[-1])

    def test_the_record_says_which_lever_it_was(self):
        self.up.reply = lambda n, body: LONG if n == 1 else answer("Yes.", body)
        for name, what in (("vllm", "cut, continued by prefill"), ("chat", "cut, restated")):
            gateway = self.serve(store="sqlite:history.db", providers={name: provider(self.up)})
            self.up.forget()
            r = self.ok(self.ask(gateway, stream=True))
            path = f"/api/v1/history/sessions/{r.headers['x-rationale-session']}"
            until(lambda: what.encode() in request(path, headers={}, at=gateway).body)


class Inside(Again):
    """The second call to a model that starts in reasoning may also start in reasoning."""

    def serve_inside(self, **more):
        return self.serve(providers={"chat": provider(
            self.up, format="deepseek_r1", starts_in_reasoning=True, **more)})

    def test_it_is_not_taken_for_the_answer(self):
        gateway = self.serve_inside()
        for why, first in (("stop", WORD * 200), ("length", WORD * 50)):
            for second in ([" Once", " more.</th", "ink>\n\nYe", "s."], ["Ye", "s."],
                           ["<think>Once more.</think>Yes."]):
                self.up.reply = lambda n, _: stream(delta(content=first), delta(why)) if n == 1 \
                    else stream(*(delta(content=t) for t in second), delta("stop"))
                for streamed in (False, True) if why == "length" else (True,):
                    self.up.forget()
                    r = self.ok(self.ask(gateway, stream=streamed))
                    got = "".join(e["choices"][0]["delta"].get("content") or ""
                                  for e in events(r.body) if e.get("choices")) if streamed \
                        else json.loads(r.body)["choices"][0]["message"]["content"]
                    self.assertEqual((got, len(self.up.asked)), ("Yes.", 2), second)

    def test_nor_if_it_does_not_come_to_one(self):
        gateway = self.serve_inside()
        self.up.reply = lambda *_: stream(delta(content=WORD * 50), delta("length"))
        for dialect in ROUTES:
            r = self.ok(self.ask(gateway, dialect))
            self.assertNotIn(b"think think", r.body)
            self.assertTrue(r.headers["x-rationale-usage"].endswith("; starved=yes"), dialect)


    def test_another_provider_may_mark_it_otherwise(self):
        self.up.reply = lambda n, _: LONG if n == 1 else error(503, "busy") if n == 2 else stream(
            delta(content="<think>Once more."), delta(content="</think>Yes."), delta("stop"))
        gateway = self.serve(providers={
            "chat": provider(self.up, retries=0, fallback=["tags"]),
            "tags": provider(self.up, format="think")})
        for dialect in ROUTES:
            if dialect == "gemini":
                continue
            self.up.forget()
            r = self.ok(self.ask(gateway, dialect, stream=True))
            self.assertEqual((len(self.up.asked), b"Yes." in r.body), (3, True))
            self.assertNotIn(b"Once", r.body)


class Choices(Again):
    """With n, each choice has its own cap and one answer."""

    def ask_two(self, gateway, streamed, headers=SHOW):
        r = self.ok(self.ask(gateway, headers=headers, stream=streamed, n=2))
        said = [["", "", []], ["", "", []]]
        for e in events(r.body) if streamed else [json.loads(r.body)]:
            for c in e["choices"]:
                to, part = said[c["index"]], c.get("delta") or c.get("message") or {}
                to[0] += part.get("content") or ""
                to[1] += part.get("reasoning") or ""
                self.assertEqual(part.get("reasoning"), part.get("reasoning_content"))
                to[2] += [c["finish_reason"]] if c.get("finish_reason") else []
        return r, said

    def test_none_is_answered_twice(self):
        self.up.reply = lambda n, _: stream(
            choice(0, reasoning_content=WORD * 100), choice(1, reasoning_content=WORD * 10),
            choice(1, content="One."), choice(1, "stop"),
            choice(0, reasoning_content=WORD * 100), choice(0, content="Two."), choice(0, "stop"))
        gateway = self.serve()
        for streamed in (False, True):
            self.up.forget()
            r, said = self.ask_two(gateway, streamed)
            self.assertEqual(said, [["Two.", WORD * 128, ["stop"]], ["One.", WORD * 10, ["stop"]]])
            self.assertEqual((facts(r), len(self.up.asked)), (("210", "128", "budget"), 1))

    def test_each_has_the_cap(self):
        answers = [choice(0, "stop", content="Two."), choice(1, "stop", content="One.")]
        self.up.reply = lambda n, _: stream(
            choice(0, reasoning_content=WORD * 10), choice(1, reasoning_content=WORD * 200),
            choice(0, reasoning_content=WORD * 10), *answers) if n == 1 else stream(
            choice(1, reasoning_content=WORD), *answers)
        gateway = self.serve()
        for streamed in (False, True):
            for headers in (SHOW, {}):
                self.up.forget()
                r, said = self.ask_two(gateway, streamed, headers)
                # At the cap of the second choice a stream is closed; a whole reply is truncated and
                # continues.
                first = 10 if streamed else 20
                thought = [WORD * first, WORD * 128] if headers else ["", ""]
                self.assertEqual(said, [["Two.", thought[0], ["stop"]], ["One.", thought[1], ["stop"]]])
                # Reasoning that the client does not get is counted too: of the second call, or
                # beyond the cap.
                self.assertEqual((facts(r), len(self.up.asked)),
                                 (("139" if streamed else "220", "128", "budget"), 2 if streamed else 1))

    def test_one_that_is_starved_is_no_reason_to_ask_again(self):
        self.up.reply = lambda *_: stream(
            choice(0, reasoning_content=WORD * 10), choice(1, reasoning_content=WORD * 10),
            choice(1, content="One."), choice(1, "stop"), choice(0, "length"))
        gateway = self.serve()
        for streamed in (False, True):
            self.up.forget()
            _, said = self.ask_two(gateway, streamed)
            self.assertEqual(said, [["", WORD * 10, ["length"]], ["One.", WORD * 10, ["stop"]]])
            self.assertEqual(len(self.up.asked), 1)


if __name__ == "__main__":
    start()
