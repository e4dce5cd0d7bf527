#!/usr/bin/env python3
"""`reasoning.keep`: commands, API and doctor report which reasoning is recorded, where, how large
it is, and why none is.

    test/e2e/keep_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import sys
import unittest

from again_test import Upstream, plain, provider
from command import BINARY, environment, run
from gateway import Gateway, Provider, digest, upstream

KEY = "sk-client"


class World:
    provider = None


world = World()


def setUpModule():
    world.provider = Provider().__enter__()


def tearDownModule():
    world.provider.stop()


class Kept(unittest.TestCase):
    def serve(self, **more):
        config = {"providers": {
            "test": upstream(world.provider, "openai", {"think": "think+as:deepseek", "plain": "plain",
                                                         "slow": "think+as:deepseek+slow:120"}),
            "claude": upstream(world.provider, "anthropic", {"sealed": "think+redacted"})}, **more}
        gateway = Gateway(BINARY, config)
        gateway.start()
        self.addCleanup(gateway.stop)
        return gateway

    def ask(self, g, path, body=None, **headers):
        c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=60)
        c.request("POST" if body else "GET", path, json.dumps(body) if body else None, headers)
        r = c.getresponse()
        got = json.loads(r.read())
        c.close()
        self.assertEqual(r.status, 200, (path, got))
        return r.headers, got

    def get(self, g, path, **headers):
        return self.ask(g, "/api/v1/history/" + path, **headers)[1]

    def call(self, g, model, **headers):
        body = {"model": model, "messages": [{"role": "user", "content": "a question"}]}
        named = {"content-type": "application/json", "x-rationale-session": model, **headers}
        return self.ask(g, "/v1/chat/completions", body, **named)[0]["x-rationale-id"]

    def cli(self, g, *args, code=0):
        done = run(args[0], "--config", str(g.path), *args[1:], env=environment(UPSTREAM_KEY="k"))
        self.assertEqual(done.code, code, done)
        return done.out.decode()

    def test_the_default_is_text(self):
        g = self.serve()
        ids = {m: self.call(g, m) for m in ("think", "plain", "sealed")}
        call = self.get(g, "interactions/" + ids["think"])
        self.assertIn("ponder", call["reasoning_content"])
        self.assertIsNone(call["reasoning_absent"])
        self.assertEqual(self.get(g, "interactions/" + ids["plain"])["reasoning_absent"], "none_given")
        out = self.cli(g, "search", "reasoning:ponder")
        self.assertIn("think", out)
        self.assertNotIn("note:", out)
        self.assertIn("ponder", self.cli(g, "decisions", "--session", "think"))
        self.assertIn("ponder", self.cli(g, "show", "think"))
        # Reasoning is recorded, but does not have this word.
        self.assertNotIn("note:", self.cli(g, "search", "reasoning:xylophone"))

    def test_a_stream_of_seconds_is_on_record_once(self):
        """The record gets the text of a long stream in pieces: none twice, none missing."""
        g = self.serve()
        c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=60)
        body = {"model": "slow", "stream": True, "messages": [{"role": "user", "content": "a question"}]}
        c.request("POST", "/v1/chat/completions", json.dumps(body), {"content-type": "application/json"})
        r = c.getresponse()
        r.read()
        c.close()
        long = self.get(g, "interactions/" + r.headers["x-rationale-id"])
        short = self.get(g, "interactions/" + self.call(g, "think"))
        for member in ("reasoning_content", "response"):
            self.assertEqual(long[member], short[member])

    def test_where_nothing_was_kept_it_is_said_why(self):
        for keep, code in (("none", "not_kept"), ("summary", "summary_only")):
            g = self.serve(reasoning={"keep": keep})
            ids = {m: self.call(g, m) for m in ("think", "plain")}
            why = f"no reasoning kept: reasoning.keep is {keep} in {g.path}; set it to text"
            call = self.get(g, "interactions/" + ids["think"])
            self.assertEqual((call["reasoning_absent"], call["reasoning_content"]), (code, None))
            self.assertEqual(self.get(g, "search?q=reasoning:ponder"),
                             {"results": [], "searched_back_to_us": None, "reasoning_absent": code})
            self.assertIn(f"note: {why}\n", self.cli(g, "search", "reasoning:ponder"))
            self.assertIn(f"note: {why}\n", self.cli(g, "list", "--search", "reasoning:ponder"))
            self.assertEqual(json.loads(self.cli(g, "search", "reasoning:ponder", "--json")),
                             {"results": [], "searched_back_to_us": None, "reasoning_absent": code})
            self.assertNotIn("note:", self.cli(g, "search", "question"))
            out = self.cli(g, "decisions")
            self.assertIn(f"note: {why} (1 of 2)\n", out)
            self.assertIn("note: 1 of 2 entries are from the answer; the model sent no separate reasoning\n", out)
            rows = json.loads(self.cli(g, "decisions", "--json"))
            self.assertEqual({r["session_id"]: r["reasoning_absent"] for r in rows["decisions"]},
                             {"think": code, "plain": "none_given"})
            self.assertIsNone(rows["reasoning_absent"])
            self.assertIn(why, self.cli(g, "decisions", "xylophone"))
            self.assertIn(why, self.cli(g, "show", "think"))
            self.assertIn("the model gave no reasoning", self.cli(g, "show", "plain"))
            # After a change of the setting, text that was not recorded stays missing.
            g.reload({**g.config, "reasoning": {"keep": "text"}})
            self.assertIn(f"reasoning.keep was {keep} then; it is text now", self.cli(g, "show", "think"))

    def test_a_list_without_rows_says_so(self):
        g = self.serve()
        self.get(g, "interactions/" + self.call(g, "think"))
        for words, said in ((("decisions", "--tool", "nosuch"), "no decisions match --tool nosuch"),
                            (("search", "reasoning:zebra"), 'no calls match "reasoning:zebra"')):
            for more in ((), ("--json",)):
                done = run(words[0], "--config", str(g.path), *words[1:], *more,
                           env=environment(UPSTREAM_KEY="k"))
                self.assertEqual((done.code, done.err), (0, "" if more else f"rationale: {said}\n"))

    def test_a_call_without_a_reply_is_said_so(self):
        g = self.serve(providers={"gone": {
            "kind": "openai", "base_url": "http://127.0.0.1:1/v1", "models": ["m"], "retries": 0}})
        c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=60)
        c.request("POST", "/v1/chat/completions", json.dumps(
            {"model": "m", "messages": [{"role": "user", "content": "hi"}]}),
            {"content-type": "application/json", "x-rationale-session": "gone"})
        r = c.getresponse()
        r.read()
        c.close()
        self.assertEqual(r.status, 502)
        call = self.get(g, "interactions/" + r.headers["x-rationale-id"])
        self.assertEqual(call["reasoning_absent"], "no_reply")
        out = self.cli(g, "show", "gone")
        self.assertIn("no reply from the provider", out)
        self.assertNotIn("the model gave no reasoning", out)

    def test_hidden_reasoning_over_the_cap_is_shown(self):
        up = Upstream()
        self.addCleanup(up.server.shutdown)
        up.reply = lambda *_: plain(200, {
            "id": "c", "object": "chat.completion", "created": 1, "model": "u", "choices": [
                {"index": 0, "finish_reason": "stop",
                 "message": {"role": "assistant", "content": "Yes."}}],
            "usage": {"prompt_tokens": 10, "completion_tokens": 520, "total_tokens": 530,
                      "completion_tokens_details": {"reasoning_tokens": 512}}})
        g = self.serve(providers={"chat": provider(up)})
        said = "384 tokens over the cap, which the provider does not show"
        call = self.get(g, "interactions/" + self.call(g, "m", **{"x-rationale-level": "low"}))
        self.assertEqual((call["cap_tokens"], call["reasoning_tokens"]), (128, 512))
        self.assertIn(said, self.cli(g, "show", "m"))
        self.get(g, "interactions/" + self.call(g, "m", **{"x-rationale-session": "free"}))
        self.assertNotIn("over the cap", self.cli(g, "show", "free"))

    def test_what_the_provider_keeps_to_itself_is_said_so(self):
        g = self.serve()
        id = self.call(g, "sealed")
        call = self.get(g, "interactions/" + id)
        self.assertEqual((call["reasoning_content"], call["reasoning_absent"]),
                         (None, "provider_keeps_it"))
        self.assertIn("the provider keeps this reasoning to itself", self.cli(g, "show", "sealed"))

    def test_who_may_not_see_it_learns_nothing(self):
        for keep in ("text", "none"):
            g = self.serve(reasoning={"keep": keep}, keys=[
                {"name": "c", "sha256": digest(KEY), "reasoning": "hide"}])
            auth = {"authorization": "Bearer " + KEY}
            call = self.get(g, "interactions/" + self.call(g, "think", **auth), **auth)
            self.assertEqual(call["reasoning_absent"], "hidden_from_key")
            for word in ("ponder", "xylophone"):
                self.assertEqual(self.get(g, "search?q=reasoning:" + word, **auth),
                                 {"results": [], "searched_back_to_us": None,
                                  "reasoning_absent": "hidden_from_key"})
                got = self.get(g, "sessions?search=reasoning:" + word, **auth)
                self.assertEqual((got["sessions"], got["reasoning_absent"]), ([], "hidden_from_key"))
            self.assertIsNone(self.get(g, "sessions?search=nothing", **auth)["reasoning_absent"])

    def test_doctor_and_the_api_say_what_is_kept_and_where(self):
        g = self.serve(retention={"age": "90d", "size": "20GiB"})
        self.call(g, "think")
        path = (g.folder / "history.db").resolve()
        kept = self.get(g, "kept")
        self.assertEqual({k: v for k, v in kept.items() if not k.endswith("_bytes")}, {
            "reasoning": "text", "answers": True, "requests": True, "masked": True,
            "where": str(path), "journal": f"{path}.spool", "retention": "age 90d, size 20GiB"})
        self.assertGreater(kept["size_bytes"], 4096)
        self.assertGreater(kept["journal_bytes"], 0)
        out = self.cli(g, "doctor")
        self.assertIn("kept: requests, answers and the text of reasoning; secrets are masked first", out)
        self.assertRegex(out, rf"where: {path} \([\d.]+ [KM]iB\), journal {path}.spool \(")
        self.assertIn("retention: age 90d, size 20GiB", out)
        found = {f["what"] for f in json.loads(self.cli(g, "doctor", "--json"))["findings"]
                 if f["group"] == "record"}
        self.assertEqual(len(found), 3)

    def test_doctor_says_which_setting_keeps_more(self):
        g = self.serve(reasoning={"keep": "none"}, data_masking={"enabled": False})
        out = self.cli(g, "doctor")
        self.assertIn("kept: requests, answers and no reasoning; nothing is masked", out)
        self.assertIn(f"reasoning.keep is none in {g.path}; set it to text to keep reasoning", out)
        self.assertIn("retention: not set, so records stay until you erase them; set retention.age or retention.size to delete old ones", out)

    def test_paths_are_for_operators(self):
        g = self.serve(keys=[{"name": "c", "sha256": digest(KEY)}])
        kept = self.get(g, "kept", authorization="Bearer " + KEY)
        self.assertEqual((kept["where"], kept["journal"], kept["reasoning"]), ("", "", "text"))


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
