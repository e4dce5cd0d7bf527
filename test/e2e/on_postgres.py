"""Shared by the tests of gateways on PostgreSQL: a database and a provider for each test. Run under
tools/postgres-run.
"""
# SPDX-License-Identifier: Apache-2.0
import ctypes
import http.client
import json
import os
import subprocess
import threading
import unittest

from command import BINARY
from gateway import PATIENCE, Gateway, Provider, digest, upstream

SERVER = os.environ.get("RATIONALE_TEST_POSTGRES", "")
ALICE, BOB, OPERATOR = "sk-alice", "sk-bob", "sk-operator"


class Connections:
    """Keeps one connection per database: tests poll many times a second, and starting psql for each
    query would take more CPU time than the daemons."""
    DONE = (1, 2)  # PGRES_COMMAND_OK, PGRES_TUPLES_OK

    def __init__(self):
        self.lib, self.kept, self.lock = ctypes.CDLL("libpq.so.5"), {}, threading.Lock()
        for name in ("PQconnectdb", "PQexec"):
            getattr(self.lib, name).restype = ctypes.c_void_p
        for name in ("PQerrorMessage", "PQgetvalue"):
            getattr(self.lib, name).restype = ctypes.c_char_p

    def connect(self, database):
        c = ctypes.c_void_p(self.lib.PQconnectdb(SERVER.replace("%s", database).encode()))
        if self.lib.PQstatus(c) != 0:
            why = self.lib.PQerrorMessage(c).decode()
            self.lib.PQfinish(c)
            raise RuntimeError(why)
        return c

    def rows(self, result):
        columns = range(self.lib.PQnfields(result))
        return [[self.lib.PQgetvalue(result, i, k).decode() for k in columns]
                for i in range(self.lib.PQntuples(result))]

    def ask(self, sql, database):
        """The rows of the last statement. Reconnects if the connection was closed."""
        with self.lock:
            while True:
                new = database not in self.kept
                c = self.kept[database] = self.connect(database) if new else self.kept[database]
                result = ctypes.c_void_p(self.lib.PQexec(c, sql.encode()))
                rows = self.rows(result) if self.lib.PQresultStatus(result) in self.DONE else None
                self.lib.PQclear(result)
                if rows is not None:
                    return rows
                why = self.lib.PQerrorMessage(c).decode()
                lost = self.lib.PQstatus(c) != 0
                if lost:
                    self.lib.PQfinish(self.kept.pop(database))
                if new or not lost:
                    raise RuntimeError(f"{sql}: {why}")


connections = Connections() if SERVER else None


def psql(sql, database="postgres"):
    """The non-empty values that the last statement returns, row by row."""
    return [value for row in connections.ask(sql, database) for value in row if value]


class OnPostgres(unittest.TestCase):
    def setUp(self):
        self.database = self.id().rsplit(".", 1)[1][:60]
        psql(f'CREATE DATABASE "{self.database}"')
        self.provider = Provider()
        self.provider.start()
        self.addCleanup(self.provider.stop)

    def gateway(self, **more):
        g = Gateway(BINARY, {
            "store": SERVER.replace("%s", self.database),
            "providers": {"test": upstream(self.provider, "openai", {"plain": "plain"})},
            "keys": [{"name": "alice", "sha256": digest(ALICE)},
                     {"name": "bob", "sha256": digest(BOB)},
                     {"name": "operator", "sha256": digest(OPERATOR), "role": "operator"}],
            **more})
        g.config["spool"] = str(g.folder / "spool")
        return g

    def ask(self, g, method, path, body=None, key=ALICE, session=""):
        c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=PATIENCE)
        c.request(method, path, json.dumps(body) if body is not None else None, {
            "authorization": f"Bearer {key}", "content-type": "application/json",
            **({"x-rationale-session": session} if session else {})})
        r = c.getresponse()
        text = r.read()
        c.close()
        return r.status, text

    def ok(self, got):
        self.assertEqual(got[0] // 100, 2, got)
        return json.loads(got[1]) if got[1] else None

    def put(self, g, thread, number, parent=None):
        return self.ask(g, "PUT", f"/api/v1/threads/{thread}/checkpoints/{number:04}", {
            "parent_id": f"{parent:04}" if parent else None, "metadata": {},
            "checkpoint": {"channel_versions": {"said": number}},
            "values": {"said": {"type": "json", "json": list(range(number))}}})

    def said(self, g, thread):
        got = self.ok(self.ask(g, "GET", f"/api/v1/threads/{thread}/state"))
        return got["values"]["said"]

    def call(self, g, session, key=ALICE):
        self.ok(self.ask(g, "POST", "/v1/chat/completions", {
            "model": "plain", "messages": [{"role": "user", "content": "hi"}]}, key, session))

    def sessions(self):
        return sorted(psql("SELECT session_id FROM llm_interactions", self.database))

    def cut_connections(self):
        psql("SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
             f" WHERE datname = '{self.database}'")

    def history(self, g):
        return self.ok(self.ask(g, "GET", "/api/v1/history/health", key=OPERATOR))["details"]

    def verify(self, g):
        """Runs `rationale audit verify` over all daemons."""
        got = subprocess.run([BINARY, "audit", "verify", "--config", str(g.path)], text=True,
                             capture_output=True, check=False)
        self.assertEqual(got.returncode, 0, got.stdout + got.stderr)

    def check_whole(self, *gateways):
        for g in gateways:
            self.assertNotIn("left out", g.log.read_text())
        self.assertEqual(psql("SELECT count(*) - max(seq) FROM audit_log", self.database), ["0"])
