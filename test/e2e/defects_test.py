#!/usr/bin/env python3
"""Defects of the applications' original designs, by their number: tests of the binary, for those
that no other file tests.

    test/e2e/defects_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

tools/defects has the numbers, and checks that each has a test whose name contains it.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from alerts_test import ALERT, Daemon
from command import BINARY, PATIENCE, main, run
from gateway import BASES, Gateway, Provider, digest, upstream
from operator_model import Operator

# The paths that a provider of each kind receives after its base URL.
ASKED = {"openai": "/chat/completions", "responses": "/responses", "anthropic": "/v1/messages",
         "gemini": "/v1beta/models/m-gemini:generateContent", "mistral": "/chat/completions", "ollama": "/api/chat"}
# Provider names with a built-in address, which a base_url replaces.
NAMES = ("openai", "anthropic", "gemini", "mistral", "ollama", "openrouter", "groq", "deepseek", "xai", "vllm")


class Listener:
    """Records the requested paths, and has no contents."""

    def __enter__(self):
        self.paths = paths = []

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                self.rfile.read(int(self.headers.get("content-length") or 0))
                paths.append(self.path)
                self.send_response(404)
                self.send_header("content-length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.root = f"http://127.0.0.1:{self.server.server_address[1]}"
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()


def ask(port, method, path, body=None, key=None):
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    c.request(method, path, None if body is None else json.dumps(body),
              {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {})})
    r = c.getresponse()
    data = r.read()
    c.close()
    return r.status, data


class Defects(unittest.TestCase):
    def test_defect_2_the_base_url_of_every_kind_reaches_the_upstream(self):
        with Listener() as listener:
            providers = {f"at-{k}": {"kind": k, "base_url": f"{listener.root}/team/{k}", "models": [f"m-{k}"],
                                     "api_key_env": "UPSTREAM_KEY", "retries": 0} for k in BASES}
            with Gateway(BINARY, {"providers": providers}) as g:
                for kind, path in ASKED.items():
                    with self.subTest(kind=kind):
                        listener.paths.clear()
                        ask(g.port, "POST", "/v1/chat/completions",
                            {"model": f"m-{kind}", "messages": [{"role": "user", "content": "where?"}]})
                        self.assertEqual([p.split("?")[0] for p in listener.paths], [f"/team/{kind}{path}"])

    def test_defect_2_a_base_url_wins_over_the_address_that_a_name_has(self):
        with Listener() as listener:
            providers = {n: {"base_url": f"{listener.root}/{n}", "models": [f"m-{n}"], "api_key_env": "UPSTREAM_KEY",
                             "retries": 0} for n in NAMES}
            with Gateway(BINARY, {"providers": providers}) as g:
                for name in NAMES:
                    with self.subTest(name=name):
                        listener.paths.clear()
                        ask(g.port, "POST", "/v1/chat/completions",
                            {"model": f"m-{name}", "messages": [{"role": "user", "content": "where?"}]})
                        self.assertEqual(len(listener.paths), 1)
                        self.assertTrue(listener.paths[0].startswith(f"/{name}/"), listener.paths)

    def test_defect_2_an_investigation_asks_there_too(self):
        with Operator() as model, Daemon(model) as d:
            id = d.send()[1]["alert_id"]
            d.until(id, "completed")
            self.assertTrue(model.asked)

    def test_defect_20_a_machines_key_may_do_all_that_its_role_allows(self):
        keys = [{"name": n, "sha256": digest(n), **({"role": "operator"} if n == "robot-boss" else {})}
                for n in ("robot", "robot-boss")]
        with Operator() as model, Daemon(model, keys=keys) as d:
            id = d.send(key="robot")[1]["alert_id"]
            d.until(id, "completed", key="robot")
            own = (("GET", f"/processing-status/{id}", None, 200), ("GET", f"/api/v1/incidents/{id}", None, 200),
                   ("POST", f"/api/v1/incidents/{id}/chat", {"question": "Why?"}, 200),
                   ("POST", f"/api/v1/incidents/{id}/cancel", {}, 409),
                   ("GET", f"/api/v1/history/sessions/{id}", None, 200), ("GET", "/api/v1/runs", None, 200))
            for method, path, body, status in own:
                with self.subTest(path=path):
                    self.assertEqual(d.ask(method, path, body, "robot")[0], status)
            # Operator routes: a machine's operator key gets the same answer as a person's, other
            # keys get 403, nobody gets 405.
            prompt = d.ask("GET", "/api/v1/prompts", key="robot-boss")[1]["built_in"][0]["id"]
            bosses = (("POST", f"/api/v1/prompts/{prompt}/approve", {}, (404, 409)),
                      ("POST", "/api/v1/runs/nothing/answer", {"seq": 0, "word": "deny"}, (404,)),
                      ("POST", "/api/v1/runs/nothing/cancel", {}, (404,)),
                      ("POST", "/api/v1/policy/rollout", {"react_shadow_mode": False}, (200, 404)),
                      ("POST", "/api/v1/audit/verify", {}, (200,)), ("GET", "/api/v1/optimize", None, (200,)),
                      ("DELETE", f"/api/v1/history/sessions/{id}", None, (200, 202, 204)))
            for method, path, body, good in bosses:
                with self.subTest(path=path):
                    self.assertEqual(d.ask(method, path, body, "robot")[0], 403)
                    self.assertIn(d.ask(method, path, body, "robot-boss")[0], good)
            self.assertEqual(d.ask("GET", f"/api/v1/incidents/{id}")[0], 401)


class Holes(unittest.TestCase):
    def test_hole_3_blocks_of_any_number_name_and_end_are_told_apart(self):
        cases = (
            ("think", "<think>a</think>x\n<think>b</think>y", "ab", "x\ny"),
            ("think", "<think>never closed", "never closed", ""),
            ("think", "x\n```\n<think>in a fence</think>\n```\n", "", "x\n```\n<think>in a fence</think>\n```\n"),
            ("think", "Say `<think>` to think.", "", "Say `<think>` to think."),
            ("reasoning", "<reasoning>r</reasoning>x", "r", "x"),
            ("thinking", "<thinking>t</thinking>x", "t", "x"),
            ("harmony", "<|channel|>analysis<|message|>h<|end|><|start|>assistant<|channel|>final<|message|>x", "h",
             "x"))
        lines, want = [], []
        for form, text, reasoning, content in cases:
            for size in (0, 1, 3):  # whole, in single bytes, in threes
                lines.append(json.dumps({"input": text, "format": form, **({"chunk_size": size} if size else {})}))
                want.append((reasoning, content.strip()))
        done = run("split", "--batch", stdin="\n".join(lines) + "\n")
        got = [json.loads(line) for line in done.out.splitlines()]
        self.assertEqual([(g["reasoning"], g["content"].strip()) for g in got], want, done.err)
        self.assertEqual(got[3]["state"], "unclosed")

    def test_hole_8_none_hidden_cut_and_unclosed_are_states_of_their_own(self):
        with Provider() as provider:
            models = {"plain": "plain", "thinks": "think+loud", "lengthy": "long-think:600+loud",
                      "secretive": "think+as:openai"}
            config = {"reasoning": {"keep": "text", "presets": "always"}, "providers": {
                "o": upstream(provider, "openai", models, retries=0),
                "t": upstream(provider, "openai", {"broken": "long-think:200+tags:think+cut:600"}, retries=0,
                              format="think"),
                "r": upstream(provider, "responses", {"sealed": "think"}, retries=0),
                "a": upstream(provider, "anthropic", {"redacts": "think+redacted"}, retries=0)}}
            with Gateway(BINARY, config) as g:
                for model, more, state in (("plain", {}, "none"), ("thinks", {}, "complete"),
                                           ("lengthy", {"reasoning_effort": "low"}, "cut"),
                                           ("broken", {}, "unclosed"), ("secretive", {}, "hidden"),
                                           ("sealed", {}, "opaque")):
                    with self.subTest(state=state):
                        ask(g.port, "POST", "/v1/chat/completions", {
                            "model": model, "stream": True, "user": state,
                            "messages": [{"role": "user", "content": f"be {state}"}], **more})
                        self.assertEqual(self.details(g, f"be {state}")["reasoning_state"], state)

    def details(self, g, said):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            listed = json.loads(ask(g.port, "GET", "/api/v1/history/sessions?page_size=100")[1])["sessions"]
            for s in listed:
                one = json.loads(ask(g.port, "GET", f"/api/v1/history/sessions/{s['session_id']}")[1])
                for e in one["chronological_timeline"]:
                    if said in json.dumps(e["details"].get("prompt")) and e["details"]["ended_at_us"]:
                        return e["details"]
            time.sleep(0.05)
        raise AssertionError(f"nothing of {said!r} is on record")

    def test_hole_10_reasoning_has_routes_of_its_own_beside_those_that_were_there(self):
        with Provider() as provider:
            config = {"reasoning": {"keep": "text"},
                      "providers": {"o": upstream(provider, "openai", {"thinks": "think+loud"}, retries=0)}}
            with Gateway(BINARY, config) as g:
                ask(g.port, "POST", "/v1/chat/completions",
                    {"model": "thinks", "messages": [{"role": "user", "content": "be routed"}]})
                details = self.details(g, "be routed")
                for name in ("reasoning_content", "reasoning_summary", "has_reasoning"):  # where EP-0009 has them
                    self.assertTrue(details[name])
                for path in (f"/api/v1/history/sessions/{details['session_id']}/segments",
                             f"/api/v1/history/interactions/{details['interaction_id']}/segments"):
                    status, body = ask(g.port, "GET", path)
                    self.assertEqual(status, 200, path)
                    self.assertIn(b'"reasoning"', body)
                status, body = ask(g.port, "GET", "/api/v1/reasoning")
                self.assertEqual([r["model"] for r in json.loads(body)["rows"]], ["thinks"])


if __name__ == "__main__":
    main()
