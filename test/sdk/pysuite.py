"""The requirements for the Python SDKs over each kind of upstream; suite.mjs has the same for
JavaScript. A suite derives from Claims, implements the calls of its SDK, and calls main()."""
# SPDX-License-Identifier: Apache-2.0
import functools
import json
import os
import ssl
import sys
import threading
import time
import unittest
import urllib.request
from collections import namedtuple
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = os.environ["SDK_ROOT"]
PROVIDER = os.environ["SDK_PROVIDER"]
KEY = os.environ["SDK_KEY"]
DIRECT = os.environ.get("DIRECT") == "1"
SHOW = {"x-rationale-reasoning": "show"}
MARK = "ponder"
SCHEMA = {"type": "object", "properties": {"city": {"type": "string"}, "note": {"type": "string"}},
          "required": ["city"]}
TOOLS = [("get_weather", "The weather in a city"), ("get_time", "The time in a city")]
MODELS = json.loads((Path(__file__).parent / "models.json").read_text())
# Every question has its own client. Each client would load the system's certificates, which takes
# ten times as long as the rest of its start.
ssl.create_default_context = functools.cache(ssl.create_default_context)
THOUGHT = r"(?s)^Let me ponder this\. .*So I know\.$"

Reply = namedtuple("Reply", "text reasoning calls stop usage seen history")  # usage: in, out, thought
numbers = iter(range(1, 10 ** 9))


def prompt():
    return f"question py{os.getpid()}-{next(numbers)}. «é»"


def answer_to(said):
    return f"You said: {said} Grüße, 世界 🌍."


def model(kind, slug):
    script = {**MODELS["good"], **MODELS["bad"]}[slug]
    if not DIRECT:
        return f"{kind}-{slug}"
    return f"{script}+as:both" if kind == "openai" and "think" in script else script


def logged(text):
    with urllib.request.urlopen(f"{PROVIDER}/__log?has={text.split()[1]}") as reply:
        return json.load(reply)


class Claims:
    """Mixed into one TestCase per kind of upstream."""
    kind = ""
    errors = {}

    def ask(self, slug, said=None, **q):
        raise NotImplementedError

    def results(self, reply, texts):
        raise NotImplementedError

    def trip(self, slug, count, stream):
        said = prompt()
        r = self.ask(slug, said, tools=True, stream=stream)
        self.assertEqual([c[1] for c in r.calls], [t[0] for t in TOOLS[:count]])
        self.assertEqual([c[2]["city"] for c in r.calls], ["Paris", "Tōkyō"][:count])
        texts = [f"result {i} is sunny" for i in range(count)]
        back = self.ask(slug, said, tools=True, stream=stream, history=self.results(r, texts))
        self.assertEqual(back.text, f"The tools said: {' | '.join(texts)}.")

    def test_says_the_answer(self):
        for stream in (False, True):
            said = prompt()
            r = self.ask("plain", said, stream=stream)
            self.assertEqual((r.text, r.stop), (answer_to(said), "end"))
            self.assertTrue(r.usage[0] > 0 and r.usage[1] > 0, r.usage)

    def test_calls_a_tool(self):
        self.trip("tools", 1, False)
        self.trip("tools", 1, True)

    def test_calls_two_tools_at_once(self):
        self.trip("parallel", 2, False)
        self.trip("parallel", 2, True)

    def test_shows_reasoning(self):
        for stream in (False, True):
            said = prompt()
            r = self.ask("think", said, stream=stream, show=True, think=True)
            self.assertEqual(r.text, answer_to(said))
            self.assertRegex(r.reasoning, THOUGHT)
            self.assertGreater(r.usage[2], 3)

    @unittest.skipIf(DIRECT, "the gateway hides it")
    def test_hides_reasoning(self):
        for stream in (False, True):
            said = prompt()
            r = self.ask("think", said, stream=stream)
            self.assertEqual(r.text, answer_to(said))
            self.assertNotIn(MARK, r.seen)

    @unittest.skipIf(DIRECT, "the gateway brings it back")
    def test_brings_back_what_was_thought(self):
        self.trip("keeps", 1, False)
        self.trip("keeps", 1, True)

    def test_stops_at_the_limit(self):
        self.assertEqual(self.ask("long", max=40).stop, "length")

    def test_errors_are_the_sdks_own(self):
        ways = {400: {"bad": True}, 401: {"key": "wrong"}}
        for status, kind in self.errors.items():
            for stream in (False, True):
                slug = {404: None, 429: "e429", 500: "e500"}.get(status, "plain")
                with self.subTest(status=status, stream=stream), self.assertRaises(kind):
                    self.ask(slug, stream=stream, **ways.get(status, {}))

    def test_sees_that_a_stream_was_cut(self):
        for slug in ("cut", "reset", "mid"):
            with self.subTest(slug), self.assertRaises(Exception):
                self.ask(slug, stream=True)

    def test_a_closed_stream_ends_the_upstream(self):
        said, at = prompt(), []

        def leave():
            at.append(time.time() * 1000)
            raise InterruptedError

        with self.assertRaises(InterruptedError):
            self.ask("endless", said, stream=True, abort=leave)
        until = time.monotonic() + 30
        while time.monotonic() < until:
            entry = logged(said)[0]
            if entry["closed_ms"]:
                late = entry["closed_ms"] - at[0]
                print(f"  {self.id()}: upstream closed {late:.1f} ms after the close")
                return
            time.sleep(0.02)
        self.fail("the provider still holds the connection")

    def test_keeps_16_streams_apart(self):
        said = [prompt() for _ in range(16)]
        start = threading.Barrier(16)

        def one(text):
            start.wait()
            return self.ask("busy", text, stream=True).text

        with ThreadPoolExecutor(16) as pool:
            for text, reply in zip(said, pool.map(one, said)):
                self.assertTrue(reply.startswith(answer_to(text)), reply)


def main(claims, dialect, others):
    words = sys.argv[1:]
    suite = unittest.TestSuite()
    for kind in [dialect] if DIRECT else [dialect, *others]:
        case = type(f"{claims.__name__}_{kind}", (claims, unittest.TestCase), {"kind": kind})
        for test in unittest.defaultTestLoader.loadTestsFromTestCase(case):
            if all(w in test.id() for w in words):
                suite.addTest(test)
    result = unittest.TextTestRunner(stream=sys.stdout, verbosity=0).run(suite)
    lost = sorted({t.id().split(" ")[0] for t, _ in result.failures + result.errors})
    print(f"[  PASSED  ] {result.testsRun - len(lost) - len(result.skipped)} tests.")
    if lost:
        print(f"[  FAILED  ] {len(lost)} tests, listed below:", *lost, sep="\n")
    sys.exit(1 if lost or not result.testsRun else 0)
