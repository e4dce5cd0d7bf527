#!/usr/bin/env python3
"""`rationale keys` and `rationale config`: keys are generated and shown once, files are checked.

    test/e2e/keys_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import json
import re
import shutil
import tempfile
from pathlib import Path

from command import Case, environment, main, run

PROVIDER = "providers: {anthropic: {api_key_env: UPSTREAM_KEY}}\n"


class Files(Case):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)

    def write(self, text):
        path = self.folder / "c.yaml"
        path.write_text(text)
        return str(path)


class Keys(Files):
    def test_a_new_key_is_in_no_file(self):
        done = run("keys", "new", "ci", "--models", "a, b", "--levels=low", "--rpm", "60",
                   "--tpm", "1000", "--spend-usd", "0.5", "--reasoning", "hide", "--role", "operator")
        self.assertEqual((done.code, done.err), (0, ""))
        key, _, entry = done.out.decode().partition("\n\n")
        self.assertRegex(key, r"^rk-[0-9A-Za-z]{43}$")
        self.assertNotIn(key, entry)
        self.assertIn(hashlib.sha256(key.encode()).hexdigest(), entry)
        path = self.write(PROVIDER + "keys:\n" + entry)
        listed = json.loads(run("keys", "list", "--json", "-c", path).out)
        self.assertEqual(listed, [{
            "name": "ci", "sha256_begins": hashlib.sha256(key.encode()).hexdigest()[:8],
            "role": "operator", "models": ["a", "b"], "levels": ["low"], "rpm": 60, "tpm": 1000, "spend_usd": 0.5,
            "reasoning": "hide"}])
        plain = run("keys", "list", "-c", path).out.decode()
        self.assertTrue(plain.startswith("ci\t"), plain)
        self.assertIsNone(re.search(r"[0-9a-f]{9}", plain))
        self.assertIn("\trole=operator\t", plain)
        self.assertEqual(json.loads(run("keys", "new", "x", "--role", "client", "--json").out)["entry"]["role"], "client")
        self.bad(run("keys", "new", "x", "--role", "root"), 2, "--role", "client operator")

    def test_keys_differ(self):
        made = {json.loads(run("keys", "new", "x", "--json").out)["key"] for _ in range(8)}
        self.assertEqual(len(made), 8)

    def test_hash_reads_standard_input(self):
        digest = hashlib.sha256(b"rk-abc").hexdigest()
        for text in ("rk-abc", "rk-abc\n", "  rk-abc\r\n"):
            self.assertEqual(run("keys", "hash", stdin=text).out.decode(), f'sha256: "{digest}"\n')
        self.assertEqual(json.loads(run("keys", "hash", "--json", stdin="rk-abc").out),
                         {"sha256": digest})

    def test_mistakes_are_told(self):
        for args, stdin, words in (
                (["keys"], "", "keys needs a word: new, hash or list"),
                (["keys", "nwe"], "", 'did you mean "new"?'),
                (["keys", "new"], "", "a key needs a name"),
                (["keys", "new", "a b"], "", "a name has 1 to 64 letters"),
                (["keys", "new", "a", "--rpm", "0"], "", "rpm: must be 1 to"),
                (["keys", "new", "a", "--rpm", "x"], "", "rpm: expected integer"),
                (["keys", "new", "a", "--levels", "loud"], "", "levels.0: "),
                (["keys", "hash"], "", "there is no key on standard input"),
                (["keys", "hash"], 20000 * "x", "standard input has more than 16383 bytes"),
                (["keys", "hash", "rk-secret"], "x", "a key is read from standard input")):
            done = run(*args, stdin=stdin)
            self.assertEqual((done.code, done.out), (2, b""), args)
            self.assertIn(words, done.err)
            self.assertNotIn("rk-secret", done.err)


class Config(Files):
    def test_a_good_file_is_ok_and_its_warnings_are_told(self):
        path = self.write(PROVIDER + 'listen: "127.0.0.1:0"\n')  # another process may use the default port
        done = run("config", "check", path)
        self.assertEqual((done.code, done.out.decode()), (0, f"{path}: ok\n"))
        self.assertIn("the environment variable UPSTREAM_KEY is not set", done.err)
        done = run("config", "check", path, env=environment(UPSTREAM_KEY="sk-1"))
        self.assertEqual((done.code, done.err), (0, ""))

    def test_a_bad_file_is_told_by_line(self):
        path = self.write(PROVIDER + "lisen: x\n")
        done = run("config", "check", path)
        self.assertEqual((done.code, done.out), (3, b""))
        self.assertIn(f'{path}:2: lisen: unknown property "lisen", did you mean "listen"?', done.err)
        told = json.loads(run("config", "check", "--json", path).out)
        self.assertFalse(told["ok"])
        self.assertIn("did you mean", told["error"])
        for args in (["config", "-c", path], ["keys", "list", "-c", path],
                     ["config", "check", str(self.folder / "nowhere.yaml")]):
            self.assertEqual(run(*args).code, 3, args)

    def test_what_is_in_force_has_its_source_and_no_secret(self):
        path = self.write(PROVIDER + "listen: 127.0.0.1:${PORT}\n")
        done = run("config", "--config", path, env=environment(PORT="99", UPSTREAM_KEY="sk-1"))
        self.assertEqual((done.code, done.err), (0, ""))
        text = done.out.decode()
        self.assertRegex(text, rf'listen: "127.0.0.1:\$\{{PORT\}}" +# {re.escape(path)}:2\n')
        self.assertRegex(text, r"\n  idle: 60s +# default\n")
        self.assertNotIn("sk-1", text)
        again = self.write(text)
        self.assertEqual(run("config", "check", again, env=environment(PORT="1")).code, 0)
        self.assertEqual(run("config", "check", again).code, 3)

    def test_what_is_in_force_is_json_for_programs(self):
        path = self.write(PROVIDER + "listen: 127.0.0.1:99\n")
        done = run("config", "show", "--json", "--config", path, env=environment(UPSTREAM_KEY="sk-1"))
        self.assertEqual(done.code, 0, done)
        items = {i["path"]: i for i in json.loads(done.out)["config"]}
        self.assertEqual(items["listen"], {"path": "listen", "value": "127.0.0.1:99",
                                           "origin": "file", "line": 2})
        self.assertEqual(items["timeouts.idle"]["origin"], "default")
        self.assertNotIn("sk-1", done.out.decode())

    def test_mistakes_are_told(self):
        for args, words in ((["config", "chekc"], 'did you mean "check"?'),
                            (["config", "check", "a", "-c", "b"], "the file is given twice")):
            done = run(*args)
            self.assertEqual((done.code, done.out), (2, b""), args)
            self.assertIn(words, done.err)


if __name__ == "__main__":
    main()
