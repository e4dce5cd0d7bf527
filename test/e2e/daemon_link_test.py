#!/usr/bin/env python3
"""Commands that ask the store's daemon, and daemons that give faulty answers.

    test/e2e/daemon_link_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import shutil
import socket
import tempfile
import threading
import unittest
from pathlib import Path

from command import BINARY, environment, main, run
from gateway import Gateway, digest

ID = "0123456789abcdef" * 2
CONFIG = """\
store: sqlite:history.db
providers: {p: {kind: openai, base_url: 'http://127.0.0.1:1/v1', models: [m]}}
"""


class Impostor:
    """A daemon that proves that it has the store, and then answers each request with these bytes."""

    def __init__(self, reply):
        self.reply, self.asked = reply, []
        self.folder = Path(tempfile.mkdtemp())
        self.path = self.folder / "rationale.yaml"
        self.path.write_text(CONFIG)

    def __enter__(self):
        self.listener = socket.create_server(("127.0.0.1", 0))
        spool = self.folder / "history.db.spool"
        spool.mkdir()
        (spool / "address").write_text(f"127.0.0.1:{self.listener.getsockname()[1]}\n{ID}\n")
        threading.Thread(target=self.serve, daemon=True).start()
        return self

    def __exit__(self, *_):
        self.listener.close()
        shutil.rmtree(self.folder)

    def serve(self):
        while True:
            try:
                side = self.listener.accept()[0]
            except OSError:
                return
            with side:
                health = json.dumps({"store_id": ID, "stored_records": 0, "pending_records": 0})
                self.take(side)
                side.sendall(f"HTTP/1.1 200 OK\r\nContent-Length: {len(health)}\r\n\r\n{health}".encode())
                if request := self.take(side):
                    self.asked.append(request)
                    side.sendall(self.reply)

    @staticmethod
    def take(side):
        have = b""
        while b"\r\n\r\n" not in have and (piece := side.recv(65536)):
            have += piece
        return have


class Replies(unittest.TestCase):
    def ask(self, reply, *words):
        with Impostor(reply) as daemon:
            return run(*words, "--config", str(daemon.path))

    def test_a_reply_that_is_cut_is_an_error(self):
        body = b'{"documents": [{"id": "lumbar", "version": "1"}], "proposals": []}'
        head = b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(body)
        done = self.ask(head + body, "policy", "versions")
        self.assertEqual((done.code, done.err), (0, ""), done)
        self.assertIn(b"lumbar", done.out)
        for words in (("policy", "versions"), ("policy", "versions", "--json"), ("policy", "proposals")):
            for n in (0, 20, len(body) - 1):
                with self.subTest(words=words, n=n):
                    done = self.ask(head + body[:n], *words)
                    self.assertEqual((done.code, done.out), (5, b""), done)
                    self.assertEqual(done.err, "rationale: the daemon went away: see its log\n")


    def test_what_a_refusal_says_is_a_sentence(self):
        for body, said in (('{"detail":{"error":"not_found","message":"there is no \\"x\\u001b[2J\\""}}', 'there is no "x?[2J"'),
                           ('{"error":{"message":"too much"}}', "too much"), ("not JSON", "not JSON"),
                           ("", "it gives no reason")):
            reply = f"HTTP/1.1 404 Not Found\r\nContent-Length: {len(body)}\r\n\r\n{body}".encode()
            for words in (("prompts", "approve", "policy@0"), ("erase", "--session", "x", "--yes")):
                with self.subTest(words=words, body=body):
                    done = self.ask(reply, *words)
                    self.assertEqual((done.code, done.err), (1, f"rationale: the daemon refuses: {said}\n"))


class Keys(unittest.TestCase):
    def test_a_key_is_sent_without_the_end_of_its_line_and_only_if_it_can_be(self):
        with Gateway(BINARY, {"providers": {"p": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "models": ["m"]}},
                              "keys": [{"name": "ops", "role": "operator", "sha256": digest("key-1")}]}) as g:
            for key, code in (("key-1", 1), ("key-1\r\n", 1), ("key-2", 4), ("key 1", 4), ("key-1\r\nx: y", 4),
                              ("k" * 20000, 4), ("", 4)):
                done = run("erase", "--session", "nobody", "--yes", "--config", str(g.path),
                           env=environment(RATIONALE_KEY=key))
                self.assertEqual(done.code, code, (key[:20], done))


if __name__ == "__main__":
    main()
