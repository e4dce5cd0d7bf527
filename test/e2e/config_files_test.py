#!/usr/bin/env python3
"""Files named by a configuration: found from any working directory, and all checked by `config
check`.

    test/e2e/config_files_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import shutil
import socket
import sqlite3
import subprocess
import tempfile
from pathlib import Path

from command import SOURCE, Case, main, run

GOOD = """store: sqlite:here.db
tls: {cert: tls/c.pem, key: tls/k.pem}
ca_file: tls/c.pem
incidents: {agents: in/agents.yaml, runbooks: in}
policy:
  documents: {a: docs/policy.md}
  train: cases
  val: cases
orders: {menu: menu.json}
providers:
  up: {kind: openai, base_url: "https://127.0.0.1:1/v1", format: think, api_key_file: key,
       record: calls.jsonl, models: [m]}
"""
LISTEN = "listen: 127.0.0.1:0\n"  # the machine may use the default port


def pair(folder, name):
    """Creates a certificate and its key with OpenSSL. An RSA key would take a third of a second."""
    subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                    "-nodes", "-subj", "/CN=x", "-keyout", str(folder / f"{name}k.pem"), "-out", str(folder / f"{name}c.pem")],
                   check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


class Files(Case):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rationale-files-"))
        self.addCleanup(shutil.rmtree, self.folder)
        self.elsewhere = self.folder / "elsewhere"
        self.path = self.folder / "c.yaml"
        for name in ("elsewhere", "tls", "in", "docs", "cases"):
            (self.folder / name).mkdir()
        self.path.write_text(GOOD + LISTEN)
        pair(self.folder / "tls", "")
        pair(self.folder / "tls", "other-")
        (self.folder / "key").write_text("sk-1")
        (self.folder / "key").chmod(0o600)
        (self.folder / "in" / "agents.yaml").write_text("agents: {a: {alert_types: [x]}}\n")
        (self.folder / "docs" / "policy.md").write_text("# Policy\n\n## 1. Rule\n\nBe kind.\n")
        (self.folder / "cases" / "one.json").write_text("{}")
        shutil.copy(SOURCE / "example" / "orders" / "menu.json", self.folder / "menu.json")

    def check(self, *args, cwd=None):
        return run("config", "check", *args, cwd=cwd or self.elsewhere)

    def problems(self):
        done = self.check(str(self.path), "--json")
        told = json.loads(done.out)
        self.assertEqual(told["ok"], not told["problems"])
        self.assertEqual(done.code, 3 if told["problems"] else 0, done)
        self.assertEqual(told["file"], str(self.path))
        return told["problems"]

    def test_every_path_is_found_from_any_folder(self):
        for name, cwd in ((str(self.path), "/"), ("../c.yaml", self.elsewhere), ("c.yaml", self.folder),
                          ("./c.yaml", self.folder)):
            done = self.check(name, cwd=cwd)
            self.assertEqual((done.code, done.err), (0, ""), name)
        shown = {i["path"]: i["value"] for i in json.loads(
            run("config", "--json", "-c", str(self.path), cwd="/").out)["config"]}
        for name, file in (("store", "here.db"), ("tls.cert", "tls/c.pem"), ("orders.menu", "menu.json"),
                           ("policy.train", "cases"), ("incidents.agents", "in/agents.yaml"),
                           ("providers.up.record", "calls.jsonl")):
            self.assertIn(str(self.folder / file), shown[name])

    def test_a_command_finds_the_store_from_any_folder(self):
        done = run("list", "-c", "../c.yaml", cwd=self.elsewhere)
        self.bad(done, 6, f"{self.folder}/elsewhere/../here.db")
        done = run("list", "-c", "nowhere.yaml", cwd=self.elsewhere)
        self.bad(done, 3, f"{self.elsewhere}/nowhere.yaml")

    def test_a_store_that_stayed_in_the_working_directory_is_a_warning(self):
        (self.elsewhere / "here.db").write_text("")
        done = self.check(str(self.path))
        self.assertEqual(done.code, 0, done)
        self.assertIn(f"{self.path}:1: store: the store is {self.folder}/here.db", done.err)
        self.assertIn(f"{self.elsewhere}/here.db does", done.err)

    def test_the_folder_of_recordings_must_exist(self):
        text = self.path.read_text()
        self.path.write_text(text.replace("record: calls.jsonl", "record: missing/calls.jsonl"))
        self.assertEqual([p["setting"] for p in self.problems()], ["providers.up.record"])
        self.path.write_text(text)

    def test_every_file_is_opened(self):
        for file, line, setting in (
                ("tls/c.pem", 2, "tls.cert"), ("tls/k.pem", 2, "tls.cert"), ("tls/c.pem", 3, "ca_file"),
                ("in/agents.yaml", 4, "incidents.agents"), ("in", 4, "incidents.runbooks"),
                ("docs/policy.md", 6, "policy.documents.a"), ("cases", 7, "policy.train"),
                ("cases", 8, "policy.val"), ("menu.json", 9, "orders.menu"),
                ("key", 11, "providers.up.api_key_file")):
            os.rename(self.folder / file, self.folder / "away")
            found = [p for p in self.problems() if p["setting"] == setting]
            os.rename(self.folder / "away", self.folder / file)
            self.assertEqual([(p["line"], bool(p["fix"])) for p in found], [(line, True)], setting)
            self.assertIn(str(self.folder / file), found[0]["what"])

    def test_grammars_and_pairs_are_checked(self):
        (self.folder / "in" / "agents.yaml").write_text("agents:\n  a: {strategy: wild}\n")
        (self.folder / "menu.json").write_text("{")
        (self.folder / "cases" / "two.json").write_text("{]")
        shutil.copy(self.folder / "tls" / "other-k.pem", self.folder / "tls" / "k.pem")
        (self.folder / "bad.jsonl").write_text("{}\n")
        self.path.write_text(GOOD + "  tape: {kind: replay, cassette: bad.jsonl, format: think}\n")
        found = {p["setting"]: p["what"] for p in self.problems()}
        self.assertIn("in/agents.yaml:2: agents.a.strategy: must be one of", found["incidents.agents"])
        self.assertIn("menu.json: JSON", found["orders.menu"])
        self.assertIn("two.json", found["policy.train"])
        self.assertIn("tls/k.pem", found["tls.cert"])
        self.assertIn("bad.jsonl:1: not a cassette", found["providers.tape.cassette"])

    def test_the_agents_of_the_manual_are_good(self):
        text = (SOURCE / "docs/reference/incidents.md").read_text().split("    mcp_servers:\n", 1)[1]
        block = "    mcp_servers:\n" + text.split("\n\n", 1)[0]
        (self.folder / "in" / "agents.yaml").write_text(
            "\n".join(line[4:] for line in block.splitlines()).replace("${KUBECONFIG}", "x"))
        self.assertEqual(self.problems(), [])

    def test_what_serve_would_refuse_is_a_problem(self):
        lock = socket.socket()
        lock.bind(("127.0.0.1", 0))
        lock.listen()
        taken = lock.getsockname()[1]
        (self.folder / "not.db").write_text("not a database, and long enough to be read as one" * 100)
        with sqlite3.connect(self.folder / "newer.db") as db:
            db.execute("CREATE TABLE store_version (version INTEGER PRIMARY KEY, name TEXT NOT NULL)")
            db.execute("INSERT INTO store_version VALUES (9999, 'later')")
        db.close()
        up = "providers: {up: {kind: openai, base_url: 'http://127.0.0.1:1/v1'}}\n"
        key = f"keys: [{{name: k, sha256: '{'0' * 64}'}}]\n"
        for text, setting, words in (
                (f"listen: 192.0.2.1:0\n{key}{up}", "listen", "Cannot assign"),
                (f"{LISTEN}store: sqlite:not.db\n{up}", "store", "not a database"),
                (f"{LISTEN}store: sqlite:newer.db\n{up}", "store", "written by a newer one"),
                (f"{LISTEN}store: postgres://nobody@127.0.0.1:1/x\n{up}", "store", "PostgreSQL"),
                (f"{LISTEN}orders: {{menu: menu.json}}\n{up}", "", "orders: no provider lists a model")):
            with self.subTest(text):
                self.path.write_text(text)
                found = self.problems()
                self.assertEqual([p["setting"] for p in found], [setting])
                self.assertIn(words, found[0]["what"])
                self.assertTrue(found[0]["line"] or not setting)
                done = run("serve", "-c", str(self.path), cwd=self.elsewhere)
                self.assertIn(done.code, (1, 3, 6), "serve refuses it, too")
        (self.folder / "rationale.db").unlink(missing_ok=True)  # by serve
        self.path.write_text(f"listen: 127.0.0.1:{taken}\n{up}")  # an obstacle, but not an error of the file
        done = self.check(str(self.path))
        self.assertEqual(done.code, 0, done)
        self.assertRegex(done.err, rf"warning: .*:1: listen: .*{taken}.*in use")
        self.path.write_text(f"listen: 0.0.0.0:0\n{up}")
        self.assertIn("without keys only a loopback address", self.check(str(self.path)).err)
        lock.close()
        self.assertEqual(list(self.elsewhere.iterdir()), [])
        self.assertFalse((self.folder / "rationale.db").exists(), "a check leaves nothing behind")

    def test_all_problems_of_the_file_itself_are_told(self):
        self.path.write_text("lisen: x\nproviders:\n  a: {kind: openia}\nbody_max: []\n")
        self.assertEqual([p["line"] for p in self.problems()], [1, 3, 4])
        self.path.write_text("listen: x\nbody_max: 1\nproviders:\n  a: {kind: openai, format: thinc}\n"
                             "  b: {kind: openai, base_url: x}\nkeys: [{name: k, sha256: x}]\n")
        self.assertEqual([p["line"] for p in self.problems()], [1, 2, 4, 5, 6])
        mistakes = self.path.read_text()
        self.path.write_text("lisen: y\n" + mistakes)  # an unknown name hides no other mistake
        self.assertEqual([p["line"] for p in self.problems()], [1, 2, 3, 5, 6, 7])
        self.path.write_text(mistakes)
        done = self.check(str(self.path))
        self.assertEqual((done.code, done.err.count("\n")), (3, 5), done)
        self.assertEqual(done.err.count(f"rationale: {self.path}:"), 5, done.err)


if __name__ == "__main__":
    main()
