#!/usr/bin/env python3
"""Commands act on the store of their configuration, whichever process listens at its address.

    test/e2e/stores_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

There are two stores. The daemon has A; B has no daemon, and its configuration has the daemon's
address as its `listen`.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import signal
import sqlite3
import subprocess

from command import BINARY, Case, environment, main, read_until, run
from gateway import Gateway, Provider, upstream, until


def say(gateway, session, text):
    c = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=120)
    body = {"model": "plain", "messages": [{"role": "user", "content": text}]}
    c.request("POST", "/v1/chat/completions", json.dumps(body),
              {"content-type": "application/json", "x-rationale-session": session})
    assert c.getresponse().status == 200
    c.close()


def rows(path):
    """All rows of a store's tables that commands may change."""
    db = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    tables = ("sessions", "llm_interactions", "audit_log", "prompt_versions", "runs")
    known = {r[0] for r in db.execute("SELECT name FROM sqlite_master")}
    out = {t: db.execute(f"SELECT * FROM {t} ORDER BY 1").fetchall() for t in tables if t in known}
    db.close()
    return out


class World:
    pass


world = World()


def setUpModule():
    world.provider = Provider().__enter__()
    config = {"providers": {"up": upstream(world.provider, "openai", ["plain"])}}
    world.config = config
    # A daemon of its own fills B, and ends.
    world.b = Gateway(BINARY, config).__enter__()
    say(world.b, "in-b", "the badger is in B")
    say(world.b, "both", "the bear of B")
    say(world.b, "twins", "the bison of B")
    world.b.signal(signal.SIGTERM)
    world.b.child.wait(120)
    world.a = Gateway(BINARY, config).__enter__()
    say(world.a, "in-a", "the axolotl is in A")
    say(world.a, "both", "the ape of A")
    say(world.a, "twins", "the asp of A")
    until(lambda: "twins" in cli(world.a.path, "list").out.decode())
    world.path = world.b.folder / "b.yaml"
    world.path.write_text(json.dumps({**world.b.config, "listen": f"127.0.0.1:{world.a.port}"}))


def tearDownModule():
    world.a.stop()
    world.b.stop()
    world.provider.stop()


def cli(path, command, *args, **more):
    return run(command, *args, "--config", str(path), env=environment(UPSTREAM_KEY="k"), **more)


class Stores(Case):
    def setUp(self):
        self.before = rows(world.a.folder / "history.db")

    def tearDown(self):
        self.assertEqual(rows(world.a.folder / "history.db"), self.before)

    def b(self, command, *args, code=0):
        done = cli(world.path, command, *args)
        self.assertEqual(done.code, code, done)
        return done.out.decode() + done.err

    def test_what_is_read_is_of_the_own_store(self):
        for args in (("list",), ("search", "badger"), ("export",), ("show", "in-b")):
            out = self.b(*args)
            self.assertIn("in-b", out, args)
            self.assertNotIn("in-a", out, args)
        self.b("show", "in-a", code=1)
        self.assertIn("bear", self.b("show", "both"))
        for args in (("stats",), ("decisions",), ("runs",), ("prompts",), ("audit", "list"),
                     ("audit", "verify"), ("doctor", "--offline")):
            self.assertNotIn("axolotl", self.b(*args))

    def test_the_doctor_speaks_of_no_other_daemon(self):
        self.assertNotIn("the daemon puts calls on record", self.b("doctor", "--offline"))

    def test_what_is_erased_is_of_the_own_store(self):
        self.b("erase", "--session", "in-a", "--yes", code=1)
        self.assertIn("1 session,", self.b("erase", "--session", "twins", "--yes"))
        self.b("show", "twins", code=1)
        self.assertEqual(cli(world.a.path, "show", "twins").code, 0)

    def test_prompts_are_of_the_own_store(self):
        file = world.b.folder / "prompt.txt"
        file.write_text("Say why.")
        version = json.loads(self.b("prompts", "add", "policy", str(file), "--json"))["id"]
        self.b("prompts", "approve", version)
        self.b("prompts", "activate", version)
        self.assertIn("active", self.b("prompts"))
        self.assertNotIn(version, cli(world.a.path, "prompts").out.decode())

    def test_an_answer_to_a_run_of_another_store_finds_no_run(self):
        self.b("runs", "approve", "nothing", "4", code=1)

    def test_tail_follows_the_own_store(self):
        with subprocess.Popen([BINARY, "tail", "--config", str(world.path)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              env=environment(UPSTREAM_KEY="k")) as tail:
            read_until(tail.stderr.fileno(), b"following the store")
            tail.terminate()
            tail.wait(120)
            self.assertNotIn(b"axolotl", tail.stdout.read())


class Owners(Case):
    """Addresses that a daemon left in the spool, and a daemon that has the store."""

    def killed(self):
        """A daemon with its own store, killed, so that its address remains."""
        g = Gateway(BINARY, world.config)
        g.start()
        self.addCleanup(g.stop)
        say(g, "mine", "the mole is mine")
        until(lambda: "mine" in cli(g.path, "list").out.decode())
        g.child.kill()
        g.child.wait(120)
        self.assertTrue((g.folder / "history.db.spool" / "address").exists())
        return g

    def test_an_old_address_is_not_believed(self):
        g = self.killed()
        spool = g.folder / "history.db.spool" / "address"
        lines = spool.read_text().splitlines()
        self.assertEqual(len(lines), 2)
        # Simulates that another daemon has taken the port.
        spool.write_text(f"127.0.0.1:{world.a.port}\n{lines[1]}\n")
        before = rows(world.a.folder / "history.db")
        self.assertEqual(cli(g.path, "erase", "--session", "in-a", "--yes").code, 1)
        self.assertFalse(spool.exists())  # opening the store removes the address
        self.good(cli(g.path, "erase", "--session", "mine", "--yes"))
        self.assertEqual(rows(world.a.folder / "history.db"), before)

    def test_nobody_answers_at_an_old_address(self):
        g = self.killed()
        self.good(cli(g.path, "erase", "--session", "mine", "--yes"))

    def test_a_daemon_that_cannot_be_reached_is_named_with_its_store(self):
        """The store is locked, and a daemon of another store listens at its owner's address."""
        g = Gateway(BINARY, world.config)
        g.start()
        self.addCleanup(g.stop)
        say(g, "mine", "the mole is mine")
        spool = g.folder / "history.db.spool" / "address"
        spool.write_text(f"127.0.0.1:{world.a.port}\n{spool.read_text().splitlines()[1]}\n")
        self.bad(cli(g.path, "erase", "--session", "mine", "--yes"), 6, "history.db.spool",
                 f"process {g.child.pid}", f"127.0.0.1:{world.a.port}", "has another store")

    def test_the_owner_does_the_work(self):
        say(world.a, "owned", "the otter of A")
        until(lambda: "owned" in cli(world.a.path, "list").out.decode())
        self.good(cli(world.a.path, "erase", "--session", "owned", "--yes"))
        self.assertEqual(cli(world.a.path, "show", "owned").code, 1)


if __name__ == "__main__":
    main()
