#!/usr/bin/env python3
"""Replies that a provider compresses although the gateway requests uncompressed ones.

    test/e2e/packed_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import gzip
import json
import zlib

from asking import start
from client_headers_test import KINDS, WHOLE, Case, Upstream


def raw_deflate(data):
    packer = zlib.compressobj(wbits=-15)
    return packer.compress(data) + packer.flush()


PACKERS = {"gzip": gzip.compress, "x-gzip": gzip.compress, "deflate": zlib.compress, "Deflate": raw_deflate}


class Packed(Case):
    """The upstream compresses the answers of `Upstream`, and sends them in pieces of `size` bytes."""

    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.up.answer = cls.answer
        cls.cut, cls.size, cls.pack, cls.plain = 0, 0, gzip.compress, None

    @classmethod
    def answer(cls, path, body, status):
        kind, plain = Upstream.answer(cls.up, path, body, status)
        data = cls.pack(plain if cls.plain is None else cls.plain)
        data = data[:len(data) - cls.cut]
        size = cls.size or len(data)
        return kind, (data[at:at + size] for at in range(0, len(data), size))

    def packed(self, client, kind, stream, coding, status=200, **more):
        for name, value in {"cut": 0, "size": 0, "pack": PACKERS.get(coding), "plain": None, **more}.items():
            setattr(type(self), name, staticmethod(value) if callable(value) else value)
        self.up.headers, self.up.statuses = [("content-encoding", coding)], [status]
        return self.ask(client, f"{kind}-m", stream)

    def test_every_reply_is_that_of_a_provider_that_does_not_pack(self):
        for kind in (*KINDS, "mistral"):
            client = "anthropic" if kind == "mistral" else kind
            for stream in (False, True):
                plain = self.packed(client, kind, stream, "identity", pack=lambda data: data)
                for coding in PACKERS:
                    for size in (1, 7, 0):
                        with self.subTest(kind, stream=stream, coding=coding, size=size):
                            got = self.ok(self.packed(client, kind, stream, coding, size=size))
                            self.assertNotIn("content-encoding", dict(got.headers))
                            if client == kind:
                                self.assertEqual(got.body, plain.body)
                            else:
                                self.assertEqual(len(got.body), len(plain.body))

    def test_an_error_is_read_too(self):
        for kind in KINDS:
            r = self.packed(kind, kind, False, "gzip", 429, size=5, plain=json.dumps(
                {"error": {"message": "slow down", "type": "t", "code": 429}}).encode())
            self.assertEqual(r.status, 429)
            self.assertIn(b"slow down", r.body)

    def test_what_cannot_be_unpacked_is_an_error_that_says_so(self):
        for words, coding, more in (
                ("cannot be unpacked: it is cut short", "gzip", {"cut": 1}),
                ("cannot be unpacked: it is cut short", "deflate", {"cut": 5}),
                ("cannot be unpacked: the body is not whole gzip", "gzip", {"pack": lambda data: data}),
                ("cannot unpack the reply of the provider: br", "br", {"pack": lambda data: data})):
            for size in (0, 3):
                with self.subTest(words, size=size):
                    r = self.packed("openai", "openai", False, coding, size=size, **more)
                    self.assertEqual(r.status, 502, r.body)
                    self.assertIn(words, json.loads(r.body)["error"]["message"])

    def test_a_stream_that_is_cut_short_gives_what_came(self):
        r = self.ok(self.packed("openai", "openai", True, "gzip", size=9, pack=lambda data: gzip.compress(
            data.split(b"\n\n")[0] + b"\n\n")[:-8]))
        self.assertIn(b"Yes.", r.body)
        self.assertIn(b"cut short", r.body)
        self.assertNotIn(b"[DONE]", r.body)

    def test_a_bomb_is_an_error(self):
        for stream in (False, True):
            r = self.packed("openai", "openai", stream, "gzip", plain=b" " * (33 << 20))
            self.assertEqual(r.status, 502, r.body[:200])
            self.assertIn("larger than 32 MiB", json.loads(r.body)["error"]["message"])
        self.ok(self.packed("openai", "openai", False, "gzip"))


assert set(WHOLE) >= set(KINDS)

if __name__ == "__main__":
    start()
