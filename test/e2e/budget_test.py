#!/usr/bin/env python3
"""What a call may think and spend: levels as they are spelt, several choices, counts, money.

    test/e2e/budget_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import threading
from concurrent.futures import ThreadPoolExecutor

from again_test import WORD, Again, answer, delta, provider, stream
from asking import USAGE, comments, start
from gateway import digest, until

KEY = {"authorization": "Bearer sk-key"}
LONG = stream(delta(reasoning_content=WORD * 200), delta(content="No."), delta("stop"))


def key(**more):
    return [{"name": "key", "sha256": digest("sk-key"), **more}]


def choice(number, why=None, **said):
    chunk = delta(why, **said)
    chunk["choices"][0]["index"] = number
    return chunk


def facts(r):
    words = r.headers.get("x-rationale-usage") or " ".join(comments(r.body))
    return USAGE.search(words).groups()


class Spent(Again):
    def test_calls_at_once_spend_no_more_than_one_after_the_other(self):
        go = threading.Event()

        def reply(_, body):
            go.wait(60)
            return answer("Yes.", body)
        self.up.reply = reply
        self.addCleanup(go.set)
        prices = {"m": {"input": 100000, "output": 100000}}  # 1.5 USD a call
        gateway = self.serve(providers={"chat": provider(self.up, prices=prices)},
                             keys=key(spend_usd=3))
        with ThreadPoolExecutor(8) as pool:
            ask = lambda _: self.ask(gateway, headers=KEY, max_tokens=10)  # noqa: E731
            asked = pool.submit(ask, 0)
            until(lambda: self.up.asked)
            others = list(pool.map(ask, range(6)))
            go.set()
            self.ok(asked.result())
        # At most 10 tokens and a prompt are more than the 3 USD that the first may cost.
        self.assertEqual([r.status for r in others], [429] * 6)
        self.assertTrue(all(r.headers["retry-after"] == "1" for r in others))
        self.assertIn(b"under way", others[0].body)
        self.assertEqual([self.ask(gateway, headers=KEY, max_tokens=10).status for _ in range(2)],
                         [200, 429])


if __name__ == "__main__":
    start()
