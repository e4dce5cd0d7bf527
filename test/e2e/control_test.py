#!/usr/bin/env python3
"""Reasoning that exceeds its cap at a provider whose reasoning can be ended by a control call: one
stream, one call.

    test/e2e/control_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import re
import sqlite3
import threading

import asking
from asking import (AUTH, KEY, MARK, SHOW, TOOL, GatewayCase, answer_to, chat, events, facts, question,
                    request, said_in, start, world)
from command import BINARY
from gateway import PATIENCE, Gateway, Provider, digest, until, upstream
from planted import recorded
from watcher import Text, Watcher

CAP = 128
CAP_WORDS = 127  # words of reasoning that are as many tokens as the cap
LOW = {"x-rationale-level": "low"}
# 600 words of reasoning, paused at the 200th, beyond the cap, until a control call ends it.
THINK = "long-think:600+loud+as:llamacpp"
MODELS = {"told": f"{THINK}+control:200", "tools": f"{THINK}+control:200+think-tools",
          "chatty": "long-think:600+loud+control:200",  # its usage includes the reasoning
          "short": "think+loud+as:llamacpp+control:200", "obeys": "long-think:600:obey+loud+as:llamacpp+control:200",
          **{how: f"{THINK}+control:200:{how}" for how in (
              "404", "501", "mute", "refuse", "late", "missed", "over", "broken")},
          "deaf": "long-think:9000+loud+as:llamacpp+control:200:deaf",
          "leaves": f"{THINK}+control:200:mute+tag:leaves",
          **{odd: f"{THINK}+control:200+{odd}" for odd in ("drip", "random-cuts", "crlf", "comments")},
          "no-budget": f"{THINK}+control:200+reject:reasoning_budget_tokens:reasoning_effort",
          "no-control": f"{THINK}+control:200+reject:reasoning_control",
          "nothing": f"{THINK}+control:200+reject-reasoning",
          "wrong": f"{THINK}+control:200+error:400:times=3"}
# Control calls that fail, so they are not tried again.
FAILING = ("404", "501", "mute", "refuse", "deaf")


def setUpModule():
    world.provider = Provider(key="upstream-key").__enter__()
    up = lambda models, **more: upstream(world.provider, "openai", models, **more)  # noqa: E731
    try:
        world.gateway = Gateway(BINARY, {
            "keys": [{"name": "tests", "sha256": digest(KEY)}], "reasoning": {"keep": "text"},
            "providers": {
                "llama.cpp": up(MODELS),
                "llama-server": up({"tags": f"tags:think+{THINK}+control:200",
                                    "tags-404": f"tags:think+{THINK}+control:200:404"}, format="think"),
                "vllm": up({"other": f"{THINK}+control:200+tag:vllm"})}}).__enter__()
    except BaseException:
        world.provider.stop()
        raise


tearDownModule = asking.tearDownModule


def cuts():
    """The number of cuts by each action."""
    page = request("/metrics").body.decode()
    return {m[1]: int(m[2]) for m in re.finditer(
        r'^rationale_reasoning_cut_total\{by="gateway",action="(\w+)"\} (\d+)', page, re.M)}


def is_control(entry):
    return entry["path"].endswith("/control")


class Case(GatewayCase):
    def setUp(self):
        super().setUp()
        world.provider.forget()
        self.before = cuts()

    def lever(self, name):
        """Checks that only this action was used since the last check, once."""
        used = {k: n - self.before.get(k, 0) for k, n in cuts().items()}
        self.assertEqual({k: n for k, n in used.items() if n}, {name: 1})
        self.before = cuts()

    def asked(self):
        """The provider's log since it was cleared: calls, and control calls."""
        log = world.provider.log()
        return [e for e in log if not is_control(e)], [e for e in log if is_control(e)]

    def capped(self, r, said, thought=None):
        """Checks that the answer is complete and that the cap was kept."""
        text, shown = said_in(r)
        self.assertEqual(text, answer_to(said))
        if thought is not None:
            self.assertEqual(shown, thought)
        tokens, cap, cut = facts(r)
        self.assertEqual((cap, cut), (CAP, "budget"))
        # Reasoning beyond the cap is billed as reasoning, and is not passed on.
        self.assertGreaterEqual(tokens, CAP)
        if shown:
            self.assertEqual(len(shown.split()), CAP_WORDS)
        return shown

    def row(self, r):
        """The call's row in the record."""
        with sqlite3.connect(world.gateway.folder / "history.db") as db:
            db.row_factory = sqlite3.Row
            find = lambda: db.execute("SELECT * FROM llm_interactions WHERE interaction_id = ?",  # noqa: E731
                                      (r.headers["x-rationale-id"],)).fetchone()
            row = dict(until(find))
        details = recorded(world.gateway.path, env=world.gateway.env)[row["interaction_id"]]
        return {**row, "answer": details["response"], "attempts": json.dumps(details["attempts"]),
                "reasoning_content": details["reasoning_content"]}


class Told(Case):
    def test_the_stream_goes_on_and_answers(self):
        thoughts = set()
        for again in (False, True):
            for show in (False, True):
                with self.subTest(again=again, show=show):
                    world.provider.forget()
                    said = question()
                    r = self.ok(chat("told", said, stream=True, headers={**LOW, **(SHOW if show else {})}))
                    thought = self.capped(r, said)
                    self.assertEqual(bool(thought), show)
                    thoughts.add(thought)
                    if not show:
                        self.assertNotIn(MARK.encode(), r.body)
                    [call], [told] = self.asked()
                    self.assertTrue(call["done"], "the stream was not left to end")
                    self.assertIs(call["json"]["reasoning_control"], True)
                    self.assertEqual(call["json"]["reasoning_budget_tokens"], CAP)
                    first = json.loads(call["reply"].split("\n")[0][6:])
                    self.assertEqual(told["json"], {"id": first["id"], "action": "reasoning_end",
                                                    "model": MODELS["told"]})
                    self.assertEqual(told["fields"]["authorization"], "Bearer upstream-key")
                    self.assertNotIn("event-stream", told["fields"].get("accept", ""))
                    self.assertEqual(told["status"], 200)
                    self.lever("control")
                    row = self.row(r)
                    self.assertEqual((row["answer"], row["reasoning_cut"], row["complete"]),
                                     (answer_to(said), "budget", 1))
                    self.assertEqual([a["what"] for a in json.loads(row["attempts"])],
                                     ["told to end its reasoning"])
                    thoughts.add(row["reasoning_content"])
        self.assertEqual(len(thoughts - {""}), 1)
        self.assertTrue(thoughts.pop() or thoughts.pop())

    def test_every_client_gets_the_same(self):
        said = question()
        turn = [{"role": "user", "content": said}]
        clients = {
            "/v1/messages": {"max_tokens": 4000, "messages": turn},
            "/v1/responses": {"input": said}, "/api/chat": {"messages": turn},
            "/generate": {"messages": turn}, "/v1beta/models/told": {"contents": [
                {"role": "user", "parts": [{"text": said}]}]}}
        for path, body in clients.items():
            for show in (False, True):
                with self.subTest(path, show=show):
                    world.provider.forget()
                    if path.startswith("/v1beta"):
                        verb = ":streamGenerateContent?alt=sse"
                    else:
                        verb, body = "", {**body, "model": "told", "stream": True}
                    r = self.ok(request(path + verb, body, {**AUTH, **LOW, **(SHOW if show else {})}))
                    words = "".join(re.findall(r'"(?:text|delta|content)": ?"([^"]*)"', r.body.decode()))
                    self.assertIn(answer_to(said), words)
                    self.assertEqual(MARK.encode() in r.body, show)
                    tokens = re.search(rf"reasoning_tokens=(\d+); cap={CAP}; cut=budget",
                                       r.headers.get("x-rationale-usage") or r.body.decode())
                    self.assertGreaterEqual(int(tokens[1]), CAP)
                    calls, told = self.asked()
                    self.assertEqual((len(calls), len(told)), (1, 1))
                    self.lever("control")

    def test_the_bytes_may_be_cut_anywhere(self):
        seen = set()
        for model in ("told", "drip", "random-cuts", "crlf", "comments"):
            with self.subTest(model):
                said = question()
                seen.add(self.capped(self.ok(chat(model, said, stream=True, headers={**LOW, **SHOW})), said))
                self.lever("control")
        self.assertEqual(len(seen), 1)

    def test_reasoning_in_tags_is_ended_too(self):
        said = question()
        self.capped(self.ok(chat("tags", said, stream=True, headers={**LOW, **SHOW})), said)
        self.lever("control")

    def test_a_call_may_be_what_it_comes_to(self):
        r = self.ok(chat("tools", question(), stream=True, tools=[TOOL], headers=LOW))
        self.assertIn(b"get_weather", r.body)
        self.assertIn(b'"tool_calls"', r.body)
        self.assertEqual(facts(r)[1:], (CAP, "budget"))
        calls, told = self.asked()
        self.assertEqual((len(calls), len(told)), (1, 1))
        self.lever("control")

    def test_the_usage_has_all_that_was_thought(self):
        """Reasoning beyond the cap is billed as reasoning, not as answer."""
        said = question()
        r = self.ok(chat("chatty", said, stream=True, headers=LOW, stream_options={"include_usage": True}))
        self.capped(r, said)
        usage = events(r.body)[-1]["usage"]
        told = usage["completion_tokens_details"]["reasoning_tokens"]
        self.assertEqual(told, facts(r)[0])
        self.assertGreaterEqual(told, 200)  # the control call ended it there
        self.assertGreater(usage["completion_tokens"], told)

    def test_those_who_watch_see_no_more(self):
        said = question()
        with Watcher(world.gateway.port, headers={**AUTH, **SHOW}) as w:
            w.subscribe("session_watched")
            r = self.ok(chat("told", said, stream=True, headers={
                **LOW, **SHOW, "x-rationale-session": "watched"}))
            w.data("llm_interaction")
            thought = Text()
            for m in w.seen:
                if m.get("data", {}).get("type") == "reasoning_delta":
                    thought.take(m["data"])
        self.capped(r, said, str(thought))

    def test_what_ends_by_itself_needs_no_telling(self):
        said = question()
        r = self.ok(chat("short", said, stream=True, headers=LOW))
        self.assertEqual((said_in(r)[0], facts(r)[1:]), (answer_to(said), (CAP, "none")))
        [call], told = self.asked()
        self.assertIs(call["json"]["reasoning_control"], True)
        self.assertEqual(told, [])

    def test_a_budget_in_other_tokens_than_ours_costs_no_second_call(self):
        said = question()  # stops after so many words, which are slightly more tokens
        self.capped(self.ok(chat("obeys", said, stream=True, headers=LOW)), said)
        self.assertEqual(len(self.asked()[0]), 1)
        self.lever("control")

    def test_an_answer_that_comes_first_is_not_waited_for(self):
        said = question()
        self.capped(self.ok(chat("late", said, stream=True, headers=LOW)), said)
        [call], [told] = self.asked()
        self.assertTrue(call["done"])
        until(lambda: self.asked()[1][0]["closed_ms"])
        self.lever("control")

    def test_a_reply_that_was_over_before_it_was_told_is_whole(self):
        said = question()
        self.capped(self.ok(chat("missed", said, stream=True, headers=LOW)), said)
        calls, told = self.asked()
        self.assertEqual((len(calls), len(told)), (1, 1))
        self.lever("control")


    def test_a_recording_of_it_is_played(self):
        one = lambda **more: {"store": "none", "reasoning": {"show": True}, "providers": {  # noqa: E731
            "llama.cpp": {**more, "models": {"told": MODELS["told"]}}}}
        record = world.gateway.folder / "calls.jsonl"
        up = upstream(world.provider, "openai", {}, record=str(record))
        said, seen = question(), []
        with Gateway(BINARY, one(**up)) as live:
            seen.append(self.capped(self.ok(chat("told", said, at=live, headers=LOW)), said))
        world.provider.forget()
        with Gateway(BINARY, one(kind="replay", cassette=str(record))) as played:
            seen.append(self.capped(self.ok(chat("told", said, at=played, headers=LOW)), said))
        self.assertEqual(*seen)
        self.assertEqual(self.asked(), ([], []))

    def test_a_client_that_reads_late_gets_it_all(self):
        said = question()
        c = http.client.HTTPConnection("127.0.0.1", world.gateway.port, timeout=PATIENCE)
        c.request("POST", "/v1/chat/completions", json.dumps({
            "model": "told", "stream": True, "messages": [{"role": "user", "content": said}]}),
            {"content-type": "application/json", **AUTH, **LOW, **SHOW})
        until(lambda: any(e["done"] for e in self.asked()[0]))
        r = c.getresponse()
        body = asking.Reply(r.status, {k.lower(): v for k, v in r.getheaders()}, r.read())
        c.close()
        self.capped(body, said)
        self.lever("control")


class Failing(Case):
    def test_what_cannot_be_told_is_cut_and_continued(self):
        for how in FAILING + ("tags-404",):
            for again in (False, True) if how == "tags-404" else (False,):
                with self.subTest(how, again=again):
                    world.provider.forget()
                    said = question()
                    r = self.ok(chat(how, said, stream=True, headers={**LOW, **SHOW}))
                    thought = self.capped(r, said)
                    (first, second), told = self.asked()
                    self.assertEqual(len(told), 0 if again else 1)
                    if told and how != "deaf":  # which pauses; another reply may end before it is cut
                        self.assertFalse(first["done"], "the first call was left to run")
                    self.assertNotIn("reasoning_control", second["json"])
                    last = second["json"]["messages"][-1]
                    self.assertEqual(last["role"], "assistant")
                    self.assertIn(thought, last["content"])
                    self.lever("prefill")
                    row = self.row(r)
                    self.assertEqual((row["reasoning_content"], row["reasoning_cut"]), (thought, "budget"))
                    if told:
                        self.assertEqual([a["what"] for a in json.loads(row["attempts"])],
                                         ["told to end its reasoning", "control failed",
                                          "cut, continued by prefill"])

    def test_what_has_failed_is_not_tried_again(self):
        for how in FAILING:
            with self.subTest(how):
                self.ok(chat(how, question(), stream=True, headers=LOW))
                world.provider.forget()
                said = question()
                self.capped(self.ok(chat(how, said, stream=True, headers=LOW)), said)
                calls, told = self.asked()
                self.assertEqual((len(calls), len(told)), (2, 0))
                self.assertNotIn("reasoning_control", calls[0]["json"])

    def test_a_reply_without_an_answer_is_continued(self):
        for how in ("over", "broken"):
            for _ in range(2):  # the second call uses control too: the first control call succeeded
                with self.subTest(how):
                    world.provider.forget()
                    said = question()
                    self.capped(self.ok(chat(how, said, stream=True, headers={**LOW, **SHOW})), said)
                    calls, told = self.asked()
                    self.assertEqual((len(calls), len(told)), (2, 1))
                    self.lever("prefill")

    def test_parameters_that_are_refused_leave_this_one(self):
        said = question()
        self.capped(self.ok(chat("no-budget", said, stream=True, headers=LOW)), said)
        (refused, taken), [told] = self.asked()
        self.assertEqual(refused["status"], 400)
        self.assertNotIn("reasoning_budget_tokens", taken["json"])
        self.assertIs(taken["json"]["reasoning_control"], True)
        self.lever("control")

    def test_it_is_itself_refused(self):
        for tries in (2, 1):
            world.provider.forget()
            said = question()
            self.capped(self.ok(chat("no-control", said, stream=True, headers=LOW)), said)
            calls, told = self.asked()
            self.assertEqual((len(calls), len(told)), (tries + 1, 0))
            self.assertNotIn("reasoning_control", calls[tries - 1]["json"])
            self.assertEqual(calls[tries - 1]["json"]["reasoning_budget_tokens"], CAP)
            self.lever("prefill")

    def test_a_provider_that_takes_no_parameter_answers(self):
        said = question()
        self.capped(self.ok(chat("nothing", said, stream=True, headers=LOW)), said)
        calls, told = self.asked()
        self.assertEqual(told, [])
        self.assertNotIn("reasoning_control", calls[-1]["json"])
        self.lever("restate")


    def test_a_request_that_is_wrong_says_nothing_about_it(self):
        self.assertEqual(chat("wrong", question(), stream=True, headers=LOW).status, 400)
        self.assertEqual([("reasoning_control" in e["json"], "stream_options" in e["json"])
                          for e in self.asked()[0]], [(True, True), (True, False), (False, False)])
        said = question()
        self.capped(self.ok(chat("wrong", said, stream=True, headers=LOW)), said)
        self.lever("control")


class Bounds(Case):
    def test_only_where_it_may_be_of_use(self):
        for model, more in (("told", {}), ("other", {"headers": LOW}), ("told", {"headers": LOW, "n": 2})):
            with self.subTest(model, **more):
                world.provider.forget()
                c = http.client.HTTPConnection("127.0.0.1", world.gateway.port, timeout=PATIENCE)
                c.request("POST", "/v1/chat/completions", json.dumps({
                    "model": model, "messages": [{"role": "user", "content": "hi"}],
                    **{k: v for k, v in more.items() if k != "headers"}}),
                    {"content-type": "application/json", **AUTH, **more.get("headers", {})})
                c.getresponse().read()
                c.close()
                calls, told = self.asked()
                self.assertEqual(told, [])
                self.assertNotIn("reasoning_control", calls[0]["json"])

    def test_who_leaves_takes_both_along(self):
        c = http.client.HTTPConnection("127.0.0.1", world.gateway.port, timeout=PATIENCE)
        c.request("POST", "/v1/chat/completions", json.dumps({
            "model": "leaves", "stream": True, "messages": [{"role": "user", "content": "hi"}]}),
            {"content-type": "application/json", **AUTH, **LOW})
        until(lambda: self.asked()[1])
        c.sock.close()
        until(lambda: all(e["closed_ms"] for e in world.provider.log()))
        calls, told = self.asked()
        self.assertEqual((len(calls), len(told)), (1, 1))

    def test_many_at_once_are_told_apart(self):
        failed = []

        def one():
            try:
                said = question()
                self.capped(self.ok(chat("told", said, stream=True, headers={**LOW, **SHOW})), said)
            except BaseException as e:  # noqa: BLE001
                failed.append(e)
        threads = [threading.Thread(target=one) for _ in range(16)]
        for t in threads:
            t.start()
        for t in threads:
            t.join()
        self.assertEqual(failed, [])
        calls, told = self.asked()
        self.assertEqual((len(calls), len({e["json"]["id"] for e in told})), (16, 16))


if __name__ == "__main__":
    start()
