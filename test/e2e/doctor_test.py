#!/usr/bin/env python3
"""`rationale doctor` on providers that answer, refuse, are slow, or are unreachable.

    test/e2e/doctor_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.server
import json
import shutil
import socket
import ssl
import subprocess
import tempfile
import threading
import time
from pathlib import Path

from command import Case, environment, main, run
from gateway import Provider, upstream

KEY = "sk-a-key-that-nobody-may-see"


HEADERS = (("/v1/models?", "x-api-key"), ("/v1beta/models?", "x-goog-api-key"),
           ("/models", "authorization"))


class Scripted(http.server.BaseHTTPRequestHandler):
    """The first part of the path selects the behaviour."""

    disable_nagle_algorithm = True  # head and body are written separately
    def do_GET(self):
        behaviour = self.path.split("/")[1]
        self.server.seen.append((self.path, dict(self.headers)))
        if behaviour == "slow":
            self.server.ended.wait(60)
            return
        if behaviour == "keyed":  # each dialect has its own header for the key
            name = next(h for p, h in HEADERS if self.path.startswith("/keyed" + p))
            behaviour = "either" if self.headers[name] in (KEY, f"Bearer {KEY}") else "401"
        status, body = {
            "401": (401, b'{"error":{"message":"bad key %s"}}' % KEY.encode()),
            "403": (403, b"{}"), "404": (404, b"not here"), "500": (500, b"<html>"), "429": (429, b"{}"),
            "garbage": (200, b"<html>hello"), "other": (200, b'{"hello":1}'), "302": (302, b""),
            "either": (200, b'{"data":[{"id":"plain"}],"models":[{"name":"models/plain"}]}'),
            "bare": (200, b'[{"id":"plain"}]'), "empty": (200, b'{"data":[]}'),
            "paged": (200, b'{"data":[{"id":"x"}],"has_more":true}'),
            "dated": (200, b'{"data":[{"id":"claude-sonnet-4-5-20250929"},{"id":"gpt-5-mini"}]}'),
            "tags": (200, b'{"models":[{"name":"qwen3:latest"}]}'),
        }[behaviour]
        self.send_response(status)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


class World:
    pass


world = World()


def serve(tls=None):
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scripted)
    server.seen, server.ended, server.daemon_threads = [], threading.Event(), True
    if tls:
        server.socket = tls.wrap_socket(server.socket, server_side=True)
    threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
    return server


def setUpModule():
    world.provider = Provider(key="upstream-key").__enter__()
    world.server = serve()
    world.folder = Path(tempfile.mkdtemp(prefix="rationale-doctor-"))
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=localhost",
                    "-addext", "subjectAltName=DNS:localhost", "-keyout", str(world.folder / "k.pem"),
                    "-out", str(world.folder / "c.pem")], check=True, stdout=subprocess.DEVNULL,
                   stderr=subprocess.DEVNULL)
    tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    tls.load_cert_chain(world.folder / "c.pem", world.folder / "k.pem")
    world.tls = serve(tls)


def tearDownModule():
    world.server.ended.set()
    for server in (world.server, world.tls):
        server.shutdown()
        server.server_close()
    world.provider.stop()
    shutil.rmtree(world.folder)


def scripted(behaviour, **more):
    return {"kind": "openai", "base_url": f"http://127.0.0.1:{world.server.server_port}/{behaviour}",
            "format": "think", "api_key_env": "SCRIPTED_KEY", **more}


class Doctor(Case):
    def doctor(self, providers, *args, **more):
        path = world.folder / "c.yaml"
        path.write_text(json.dumps({"store": "none", "providers": providers, **more}))
        done = run("doctor", "--config", str(path), *args,
                   env=environment(UPSTREAM_KEY="upstream-key", SCRIPTED_KEY=KEY, WRONG_KEY="wrong"))
        self.assertNotIn(KEY, done.out.decode() + done.err)
        return done

    def told(self, providers, **more):
        done = self.doctor(providers, "--json", **more)
        told = json.loads(done.out)
        found = {f["what"].split(":")[0].split(" ")[0]: f for f in told["findings"]
                 if f["group"] == "providers"}
        self.assertEqual(done.code, 1 if any(f["level"] == "error" for f in found.values()) else 0, done)
        return {p["name"]: p for p in told["providers"]}, found

    def test_every_dialect_is_asked_with_its_key(self):
        kinds = ("openai", "responses", "anthropic", "gemini", "mistral", "ollama")
        all_of = {k: {**upstream(world.provider, k, ["plain", "think"]), "api_key_env": "UPSTREAM_KEY"}
                  for k in kinds}
        probes, found = self.told(all_of)
        for kind in kinds:
            self.assertEqual((probes[kind]["state"], probes[kind]["authorised"]), ("ok", True), kind)
            self.assertEqual((probes[kind]["models_listed"], probes[kind]["models_missing"]), (3, []))
            self.assertIn("all of the configuration's among them", found[kind]["what"])

    def test_a_key_that_is_wrong(self):
        for kind in ("openai", "responses", "anthropic", "gemini", "mistral"):
            one = {**scripted("keyed", models=["plain"]), "kind": kind}
            self.assertEqual(self.told({"a": one})[0]["a"]["models_missing"], [])
            probes, found = self.told({"a": {**one, "api_key_env": "WRONG_KEY"}})
            self.assertEqual((probes["a"]["state"], probes["a"]["authorised"], probes["a"]["status"]),
                             ("unauthorised", False, 401), kind)
            self.assertIn("replace it", found["a"]["fix"])
        no_key = {k: v for k, v in one.items() if k != "api_key_env"}
        self.assertIn("api_key_env", self.told({"a": no_key})[1]["a"]["fix"])

    def test_statuses_and_replies(self):
        for behaviour, state, level, words in (
                ("401", "unauthorised", "error", "replace it"), ("403", "unauthorised", "error", "replace"),
                ("404", "unlisted", "warning", "base_url"), ("500", "bad_reply", "error", "try again later"),
                ("429", "bad_reply", "error", "quota"), ("302", "bad_reply", "error", "base_url"),
                ("garbage", "bad_reply", "error", "kind"), ("other", "bad_reply", "error", "kind"),
                ("bare", "ok", "ok", ""), ("empty", "ok", "ok", "")):
            probes, found = self.told({"a": scripted(behaviour, models=["plain"])})
            self.assertEqual((probes["a"]["state"], found["a"]["level"]), (state, level), behaviour)
            self.assertIn(words, found["a"]["fix"], behaviour)
            self.assertTrue(probes["a"]["reachable"])

    def test_models(self):
        probes, found = self.told({"a": scripted("dated", models={
            "alias": "gpt-6", "fine": "gpt-5-mini", "undated": "claude-sonnet-4-5"})})
        self.assertEqual(probes["a"]["models_missing"], ["gpt-6"])
        self.assertIn("does not list gpt-6", found["a"]["what"])
        self.assertEqual(found["a"]["level"], "warning")
        # If a list has more pages, models that are not on the first are not reported as missing.
        self.assertEqual(self.told({"a": scripted("paged", models=["y"])})[0]["a"]["models_missing"], [])
        tags = {**scripted("tags", models=["qwen3", "gemma"]), "kind": "ollama"}
        self.assertEqual(self.told({"a": tags})[0]["a"]["models_missing"], ["gemma"])

    def test_who_is_not_there(self):
        with socket.socket() as s:  # bound but not listening
            s.bind(("127.0.0.1", 0))
            gone = {**scripted("ok"), "base_url": f"http://127.0.0.1:{s.getsockname()[1]}/v1"}
            nameless = {**scripted("ok"), "base_url": "http://no-such-host.invalid/v1"}
            probes, found = self.told({"gone": gone, "nameless": nameless})
        self.assertEqual({p["state"] for p in probes.values()}, {"unreachable"})
        self.assertIn("refused", found["gone"]["what"])
        self.assertIn("start it", found["gone"]["fix"])
        self.assertIn("no-such-host.invalid", found["nameless"]["what"])
        self.assertIn("resolve names", found["nameless"]["fix"])

    def test_slow_ones_are_waited_for_together_and_not_long(self):
        began = time.monotonic()
        probes, found = self.told({f"s{i}": scripted("slow") for i in range(8)} | {"ok": scripted("bare")})
        self.assertLess(time.monotonic() - began, 30)  # in sequence they would take 8 x 5 s
        self.assertEqual(probes["s7"]["state"], "unreachable")
        self.assertIn("no reply within 5 s", found["s0"]["what"])
        self.assertEqual(probes["ok"]["state"], "ok")

    def test_certificates(self):
        port = world.tls.server_port
        tls = lambda host, scheme="https": {**scripted("x"), "base_url": f"{scheme}://{host}:{port}/bare"}  # noqa: E731
        probes, found = self.told({"a": tls("localhost"), "b": {
            **scripted("x"), "base_url": f"https://127.0.0.1:{world.server.server_port}/bare"}})
        self.assertIn("not trusted", found["a"]["what"])
        self.assertIn("ca_file", found["a"]["fix"])
        self.assertIn("TLS", found["b"]["what"])
        self.assertIn("http://", found["b"]["fix"])
        probes, found = self.told({"a": tls("localhost"), "b": tls("127.0.0.1")}, ca_file="c.pem")
        self.assertEqual(probes["a"]["state"], "ok")
        self.assertIn("certificate", found["b"]["what"])
        self.assertIn("name", found["b"]["fix"])

    def test_nobody_is_asked_offline_and_no_cassette_is(self):
        world.server.seen.clear()
        done = self.doctor({"a": scripted("bare")}, "--offline", "--json")
        self.assertEqual((done.code, json.loads(done.out)["providers"]), (0, []))
        self.assertEqual(world.server.seen, [])
        done = self.doctor({"a": {**scripted("bare"), "api_key_env": "NOT_SET"}}, "--json")
        self.assertEqual(json.loads(done.out)["providers"][0]["state"], "skipped")
        self.assertEqual(world.server.seen, [])
        for f in json.loads(done.out)["findings"]:
            if f["group"] == "configuration" and "NOT_SET" in f["what"]:
                self.assertIn("set the variable where the gateway starts", f["fix"])
                break
        else:
            self.fail(done.out)

    def test_people_are_told_what_to_do(self):
        out = self.doctor({"a": scripted("401"), "b": scripted("bare")}).out.decode()
        self.assertIn("error   a: it answers 401\n          to do: the key is wrong", out)
        self.assertRegex(out, r"ok      b answers in \d+ ms and lists 1 models")


if __name__ == "__main__":
    main()
