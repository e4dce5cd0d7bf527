#!/usr/bin/env python3
"""Several daemons on one PostgreSQL: they share its tables, and a daemon that was taken over writes
nothing under its old lease.

    tools/postgres-run test/e2e/daemons_test.py BINARY SOURCE_ROOT
"""
# SPDX-License-Identifier: Apache-2.0
import signal
import subprocess
import sys
import threading
import time
import unittest

from command import BINARY
from gateway import PATIENCE, until
from on_postgres import OPERATOR, SERVER, OnPostgres, psql

# While this trigger exists, a daemon that lost its lease cannot register again.
NO_RETURN = """
CREATE FUNCTION no_return() RETURNS trigger LANGUAGE plpgsql AS
    $$ BEGIN RAISE EXCEPTION 'no return'; END $$;
CREATE TRIGGER no_return BEFORE UPDATE ON daemons FOR EACH ROW
    WHEN (OLD.state = 'gone' AND NEW.state = 'running') EXECUTE FUNCTION no_return();
"""


class Daemons(OnPostgres):
    def states(self):
        return sorted(psql("SELECT state FROM daemons", self.database))

    def audit_entries(self):
        return psql("SELECT count(*) FROM audit_log", self.database)

    def test_two_daemons_write_side_by_side(self):
        with self.gateway() as a, self.gateway() as b:
            expected = []
            threads = []

            def work(g, name):
                for i in range(20):
                    self.call(g, f"{name}-{i}")
            for g, name in ((a, "a"), (b, "b")):
                expected += [f"{name}-{i}" for i in range(20)]
                threads.append(threading.Thread(target=work, args=(g, name)))
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            until(lambda: self.sessions() == sorted(expected))
            self.assertEqual(self.states(), ["running", "running"])
            # Each daemon shows the other's calls.
            for g, name in ((a, "b-3"), (b, "a-3")):
                got = self.ok(self.ask(g, "GET", f"/api/v1/history/sessions/{name}"))
                self.assertEqual(got["llm_interaction_count"], 1)
            self.check_whole(a, b)
            self.verify(a)

    def test_a_daemon_that_wakes_up_after_takeover_writes_nothing_under_its_old_lease(self):
        with self.gateway() as a, self.gateway() as b:
            self.call(a, "one")
            until(lambda: self.sessions() == ["one"])
            self.ok(self.put(a, "kept", 1))
            psql(NO_RETURN, self.database)
            a.signal(signal.SIGSTOP)
            until(lambda: self.states() == ["gone", "running"])
            self.call(b, "two")
            until(lambda: self.sessions() == ["one", "two"])
            a.signal(signal.SIGCONT)
            self.call(a, "three")
            until(lambda: "another daemon took over" in self.history(a)["message"])
            # Each attempt fails, not only the first, on each of its connections.
            errors = self.history(a)["errors"]
            until(lambda: self.history(a)["errors"] >= errors + 2)
            self.assertEqual(self.put(a, "kept", 2, 1)[0] // 100, 5)
            self.assertEqual(psql("SELECT count(*) FROM thread_checkpoints", self.database), ["1"])
            self.assertEqual(self.sessions(), ["one", "two"])
            # It registers again, and stores the calls that it acknowledged from its journal.
            psql("DROP TRIGGER no_return ON daemons", self.database)
            until(lambda: self.sessions() == ["one", "three", "two"])
            self.ok(self.put(a, "kept", 2, 1))
            self.assertEqual(self.states(), ["running", "running"])
            self.check_whole(a, b)
            self.verify(b)

    def test_a_daemon_that_stops_in_a_transaction_does_not_hold_up_the_others(self):
        with self.gateway() as a, self.gateway() as b:
            self.call(a, "one")
            until(lambda: self.sessions() == ["one"])
            # Its next transaction pauses here while it holds the turn.
            psql("CREATE FUNCTION slow() RETURNS trigger LANGUAGE plpgsql AS"
                 " $$ BEGIN IF NEW.session_id = 'slow' THEN PERFORM pg_sleep(2); END IF;"
                 " RETURN NEW; END $$;"
                 " CREATE TRIGGER slow BEFORE INSERT ON llm_interactions FOR EACH ROW"
                 " EXECUTE FUNCTION slow();", self.database)
            self.call(a, "slow")
            until(lambda: psql("SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep'"))
            a.signal(signal.SIGSTOP)
            self.call(b, "two")
            until(lambda: "two" in self.sessions())
            until(lambda: self.states() == ["gone", "running"])
            a.signal(signal.SIGCONT)
            until(lambda: self.sessions() == ["one", "slow", "two"])
            self.check_whole(a, b)
            self.verify(b)

    def test_a_daemon_that_was_killed_goes_on_with_its_journal(self):
        with self.gateway() as a, self.gateway() as b:
            self.call(a, "one")
            a.signal(signal.SIGKILL)
            a.child.wait(PATIENCE)
            self.call(b, "two")
            until(lambda: "two" in self.sessions())
            until(lambda: self.states() == ["gone", "running"])
            a.start()
            until(lambda: self.sessions() == ["one", "two"])
            self.assertEqual(self.states(), ["running", "running"])
            b.signal(signal.SIGTERM)
            b.child.wait(PATIENCE)
            until(lambda: self.states() == ["running", "stopped"])
            self.check_whole(a, b)
            self.verify(a)

    def test_daemons_that_start_at_once_make_the_tables_once(self):
        daemons = [self.gateway() for _ in range(3)]
        try:
            threads = [threading.Thread(target=g.start) for g in daemons]
            for t in threads:
                t.start()
            for t in threads:
                t.join()
            for i, g in enumerate(daemons):
                self.call(g, f"s{i}")
            until(lambda: self.sessions() == ["s0", "s1", "s2"])
            # Health and the command list all daemons.
            until(lambda: [d["state"] for d in self.history(daemons[0])["daemons"]]
                  == ["running"] * 3)
            # The list has an address after a heartbeat of its daemon and of the daemon that
            # answers.
            until(lambda: {d["address"].rpartition(":")[2] for d in self.history(daemons[0])["daemons"]}
                  == {str(g.port) for g in daemons})
            got = self.history(daemons[0])["daemons"]
            self.assertEqual([d["self"] for d in got].count(True), 1)
            told = self.store(daemons[1], "daemons")
            self.assertEqual((told.returncode, told.stdout.count("running")), (0, 3), told)
            self.verify(daemons[2])
        finally:
            for g in daemons:
                g.stop()

    def test_a_daemon_goes_on_while_a_newer_one_has_added_to_the_tables(self):
        """A rolling upgrade: running daemons continue after a later version extends the tables, but
        they cannot start again."""
        with self.gateway() as a:
            self.call(a, "before")
            psql("INSERT INTO store_version SELECT max(version) + 1, 'later' FROM store_version;"
                 " ALTER TABLE agent_runs ADD COLUMN later TEXT NOT NULL DEFAULT '';"
                 " ALTER TABLE llm_interactions ADD COLUMN later TEXT", self.database)
            self.call(a, "after")
            until(lambda: self.sessions() == ["after", "before"])
            self.cut_connections()
            self.call(a, "reconnected")
            until(lambda: "reconnected" in self.sessions())
            self.ok(self.ask(a, "GET", "/api/v1/history/sessions/reconnected"))
            late = self.gateway()
            late.write()
            done = subprocess.run([BINARY, "serve", "--config", str(late.path)], text=True, capture_output=True,
                                  check=False, timeout=PATIENCE)
            self.assertNotEqual(done.returncode, 0)
            self.assertIn("it was written by a newer one", done.stdout + done.stderr)
            psql("DELETE FROM store_version WHERE name = 'later'", self.database)  # for the audit below
            self.verify(a)

    def store(self, g, *words):
        return subprocess.run([BINARY, "store", *words, "--config", str(g.path)], text=True,
                              capture_output=True, check=False)

    def away(self, away):
        """Makes PostgreSQL refuse connections to the database, or accept them again."""
        psql(f'ALTER DATABASE "{self.database}" ALLOW_CONNECTIONS {not away}')
        if away:
            self.cut_connections()

    def test_a_replicated_call_is_acknowledged_once_the_database_has_it(self):
        with self.gateway(durability="replicated") as a:
            for i in range(20):
                self.call(a, f"s{i}")
                self.assertIn(f"s{i}", self.sessions())
            self.away(True)
            late = threading.Thread(target=self.call, args=(a, "late"))
            late.start()
            late.join(2)
            self.assertTrue(late.is_alive())
            self.away(False)
            late.join(PATIENCE)
            self.assertIn("late", self.sessions())
            # If the database stays unavailable, calls get an error and no new call starts.
            self.away(True)
            got = self.ask(a, "POST", "/v1/chat/completions", {
                "model": "plain", "messages": [{"role": "user", "content": "hi"}]}, session="lost")
            self.assertEqual(got[0], 503, got)
            began = time.monotonic()
            got = self.ask(a, "POST", "/v1/chat/completions", {
                "model": "plain", "messages": [{"role": "user", "content": "hi"}]})
            self.assertEqual(got[0], 503, got)
            self.assertLess(time.monotonic() - began, 20)
            self.away(False)
            until(lambda: "lost" in self.sessions())
            until(lambda: self.ask(a, "POST", "/v1/chat/completions", {
                "model": "plain", "messages": [{"role": "user", "content": "hi"}]})[0] == 200)
            self.verify(a)

    def test_the_journal_of_a_lost_machine_is_adopted(self):
        with self.gateway() as a, self.gateway() as b:
            self.call(a, "one")
            until(lambda: self.sessions() == ["one"])
            spool = a.config["spool"]
            got = self.store(b, "adopt", spool)
            self.assertNotEqual(got.returncode, 0)
            self.assertIn("which runs and takes it in itself", got.stderr)
            self.away(True)
            for i in range(5):
                self.call(a, f"kept-{i}")
            a.signal(signal.SIGKILL)
            a.child.wait(PATIENCE)
            self.away(False)
            until(lambda: self.store(b, "adopt", spool).returncode == 0)
            self.assertEqual(self.sessions(), sorted(["one"] + [f"kept-{i}" for i in range(5)]))
            got = self.store(b, "adopt", spool)
            self.assertIn("0 records", got.stdout, got.stderr)
            got = self.store(b, "adopt", str(b.folder))
            self.assertIn("not the folder of a journal", got.stderr)
            self.call(b, "two")
            until(lambda: "two" in self.sessions())
            self.check_whole(a, b)
            self.verify(b)

    def test_an_erasure_reaches_the_journals_of_all_daemons(self):
        def in_journal(g):
            return any(b"a-rare-word" in f.read_bytes()
                       for f in (g.folder / "spool").iterdir() if f.is_file())

        with self.gateway() as a, self.gateway() as b:
            self.ok(self.ask(a, "POST", "/v1/chat/completions", {
                "model": "plain", "messages": [{"role": "user", "content": "a-rare-word"}]},
                session="gone"))
            self.call(b, "stays")
            until(lambda: self.sessions() == ["gone", "stays"])
            self.assertTrue(in_journal(a))
            receipt = self.ok(self.ask(b, "DELETE", "/api/v1/history/sessions/gone", key=OPERATOR))
            self.assertEqual(receipt["interactions"], 1)
            self.assertEqual(self.sessions(), ["stays"])
            until(lambda: not in_journal(a))
            self.call(a, "after")
            until(lambda: self.sessions() == ["after", "stays"])
            self.verify(a)


if __name__ == "__main__":
    if not SERVER:
        print("skipped: this runs under tools/postgres-run")
        sys.exit(77)
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
