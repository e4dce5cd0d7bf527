#!/usr/bin/env python3
"""Running calls as viewers see them.

    test/e2e/live_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import signal
import socket
import threading
import time
import unittest

from asking import BINARY, start
from gateway import PATIENCE, Gateway, Provider, cpu_seconds, digest, upstream
from watcher import Closed, Stream, Text, Watcher, frame

MODELS = {"plain": "plain", "think": "think+loud", "slow": "long-think:60+loud+slow:10",
          "long": "long:400+slow:5", "held": "long:400+hold:200",
          "parts": "long:400+hold:50:100:150:200:250", "tools": "tools", "never": "error:500",
          "echo": "echo+slow:2", "flood": "long:100000", "large": "plain+huge-line:200000",
          "steady": "long:20+slow:5"}


def setUpModule():
    Live.provider = Provider().__enter__()


def tearDownModule():
    Live.provider.stop()


def config(**more):
    return {"providers": {"test": upstream(Live.provider, "openai", MODELS, retries=0)},
            "threads": 2, "reasoning": {"show": True}, **more}


class Live(unittest.TestCase):
    provider = None

    def gateway(self, **more):
        return Gateway(BINARY, config(**more))

    def ask(self, g, model, session="s1", key="", stream=True, headers=None,
            said="why is the sky blue", **more):
        body = {"model": model, "stream": stream,
                "messages": [{"role": "user", "content": said}], **more}
        c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=PATIENCE)
        c.request("POST", "/v1/chat/completions", json.dumps(body), {
            "content-type": "application/json", "x-rationale-session": session,
            **({"authorization": f"Bearer {key}"} if key else {}), **(headers or {})})
        r = c.getresponse()
        text = r.read().decode()
        c.close()
        return r, text

    def later(self, *args, **more):
        t = threading.Thread(target=self.ask, args=args, kwargs=more, daemon=True)
        t.start()
        return t

    def answer_of(self, text):
        out, thought = "", ""
        for line in text.splitlines():
            if line.startswith("data: {"):
                for c in json.loads(line[6:]).get("choices", []):
                    out += c["delta"].get("content") or ""
                    thought += c["delta"].get("reasoning_content") or ""
        return out, thought

    # ---- messages ----

    def test_reasoning_is_told_while_it_arrives(self):
        """A busy machine may deliver several pieces at once, which become one message, so the test
        tries several times."""
        with self.gateway() as g, Watcher(g.port) as w:
            w.subscribe("session_s1")
            most = 0
            for _ in range(20):
                before = len(w.seen)
                self.ask(g, "slow")
                w.data("llm_interaction")
                kinds = [m["data"]["type"] for m in w.seen[before:] if m["type"] == "session_update"]
                most = max(most, kinds.count("reasoning_delta"))
                if most > 3:
                    break
            self.assertGreater(most, 3)

    def test_a_call_is_told_from_its_start_to_its_end(self):
        with self.gateway() as g, Watcher(g.port, user="ann%20b") as w:
            self.assertEqual(w.next()["user_id"], "ann b")
            self.assertEqual(w.seen[0]["type"], "connection_established")
            r = w.subscribe("session_s1")
            self.assertTrue(r["success"])
            self.assertEqual((r["action"], r["channel"]), ("subscribe", "session_s1"))
            reply, text = self.ask(g, "slow")
            answer, thought = self.answer_of(text)
            end = w.data("llm_interaction")
            kinds = [m["data"]["type"] for m in w.seen if m["type"] == "session_update"]
            self.assertEqual(kinds[:2], ["session_status_change", "llm_started"])
            got = {"reasoning_delta": Text(), "answer_delta": Text()}
            states = []
            for m in w.seen:
                d = m.get("data", {})
                if d.get("type") in got:
                    got[d["type"]].take(d)
                if d.get("type") == "reasoning_status":
                    states.append(d["state"])
                    self.assertTrue(d["shown"])
                if "data" in m:
                    self.assertEqual((m["channel"], m["session_id"]), ("session_s1", "s1"))
            self.assertEqual(str(got["reasoning_delta"]), thought)
            self.assertEqual(str(got["answer_delta"]), answer)
            self.assertEqual([s for i, s in enumerate(states) if i == 0 or states[i - 1] != s],
                             ["thinking", "answering", "done"])
            self.assertEqual(end["interaction_id"], reply.headers["x-rationale-id"])
            self.assertEqual((end["success"], end["status"], end["has_tools"]),
                             (True, "completed", False))
            self.assertTrue(end["has_reasoning"])
            self.assertGreater(end["reasoning_tokens"], 10)
            self.assertEqual(end["tokens"]["reasoning"], end["reasoning_tokens"])
            self.assertGreater(end["duration_ms"], 0)
            self.assertEqual(w.data("session_status_change")["status"], "completed")
            started = next(m["data"] for m in w.seen if m.get("data", {}).get("type") == "llm_started")
            self.assertEqual(started["asked"], "why is the sky blue")
            self.assertEqual((started["model"], started["provider"]), ("slow", "test"))

    def test_the_dashboard_is_told_of_all_calls_and_not_too_often(self):
        with self.gateway() as g, Watcher(g.port) as w:
            w.subscribe("dashboard_updates")
            began = time.monotonic()
            _, text = self.ask(g, "long", session="other")
            took = time.monotonic() - began
            w.data("llm_interaction")
            text_of = Text()
            pieces = [m["data"] for m in w.seen if m.get("data", {}).get("type") == "answer_delta"]
            for d in pieces:
                text_of.take(d)
            self.assertEqual(str(text_of), self.answer_of(text)[0])
            self.assertLessEqual(len(pieces), took * 20 + 3)
            self.assertGreater(len(pieces), 3)

    def test_tools_and_failures_are_told(self):
        with self.gateway() as g, Watcher(g.port) as w:
            w.subscribe("dashboard_updates")
            tool = {"type": "function", "function": {"name": "get_weather", "parameters": {
                "type": "object", "properties": {"city": {"type": "string"}}}}}
            self.ask(g, "tools", tools=[tool])
            text = Text()
            while not (end := w.next()).get("data", {}).get("type") == "llm_interaction":
                if end.get("data", {}).get("type") == "tool_delta":
                    text.take(end["data"])
            self.assertTrue(end["data"]["has_tools"])
            self.assertTrue(str(text).startswith("get_weather {"), str(text))
            self.ask(g, "never")
            end = w.data("llm_interaction")
            self.assertEqual((end["success"], end["status"]), (False, "failed"))
            self.assertTrue(end["error_message"])
            self.assertEqual(w.data("session_status_change")["status"], "failed")

    def test_what_runs_is_in_the_history_as_in_progress(self):
        with self.gateway() as g:
            call = self.later(g, "held", session="now", said="what runs now")
            self.provider.held("what runs now")
            c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=30)
            c.request("GET", "/api/v1/history/active-sessions")
            active = json.loads(c.getresponse().read())
            c.close()
            self.assertEqual([a["session_id"] for a in active], ["now"])
            self.provider.go_on("what runs now")
            call.join()

    def test_who_comes_late_is_told_what_it_missed(self):
        with self.gateway() as g:
            call = self.later(g, "held", session="late", said="who comes late")
            self.provider.held("who comes late")
            with Watcher(g.port) as w, Stream(g.port, "?channel=session_late") as s:
                w.subscribe("session_late")
                texts = {w: Text(), s: Text()}
                for viewer, text in texts.items():
                    viewer.data("llm_started")
                    viewer.data("reasoning_status", state="answering")
                    first = viewer.data("answer_delta")
                    self.assertEqual(first["at"], 0)
                    self.assertGreater(len(first["text"]), 200)
                    text.take(first)
                self.provider.go_on("who comes late")
                for viewer, text in texts.items():
                    while (d := viewer.next().get("data", {})).get("type") != "llm_interaction":
                        if d.get("type") == "answer_delta":
                            text.take(d)
                    self.assertGreater(len(str(text)), len(first["text"]))
            call.join()

    def test_a_stream_resumes_where_it_was_cut(self):
        with self.gateway() as g:
            text, last, call = Text(), "", None
            for part in range(4):
                with Stream(g.port, "?channel=session_cut",
                            {"Last-Event-ID": last} if last else {}) as s:
                    self.assertEqual(s.next()["type"], "connection_established")
                    call = call or self.later(g, "parts", session="cut", said="in five parts")
                    had = len(text.units)
                    while len(text.units) == had:
                        d = s.next()["data"]
                        self.assertNotEqual(d["type"], "gap")
                        if last and d["type"] == "answer_delta":
                            self.assertEqual(d["at"] * 2, len(text.units))  # exactly where it belongs
                        if d["type"] == "answer_delta":
                            text.take(d)
                        last = s.last or last
                    self.assertTrue(last)
                self.provider.held("in five parts", part + 1)
                self.provider.go_on("in five parts")
                self.provider.held("in five parts", part + 2)
            self.provider.go_on("in five parts")
            with Stream(g.port, f"?channel=session_cut&last_event_id={last}") as s:
                while (d := s.next().get("data", {})).get("type") != "llm_interaction":
                    if d.get("type") == "answer_delta":
                        self.assertEqual(d["at"] * 2, len(text.units))
                        text.take(d)
            call.join()
            self.assertGreater(len(str(text)), 1000)

    def test_a_number_that_is_not_known_is_a_gap(self):
        with self.gateway() as g, Stream(g.port, "?channel=session_x",
                                         {"Last-Event-ID": "17"}) as s:
            s.next()
            self.assertEqual(s.next()["data"], {"type": "gap", "channel": "session_x",
                                                "missed": None})

    def test_what_is_no_number_is_refused(self):
        with self.gateway() as g:
            for query, headers in (("last_event_id=zzz", {}), ("last_event_id=-1", {}), ("", {"Last-Event-ID": "1x"}),
                                   ("last_event_id=1&last_event_id=2", {})):
                c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=PATIENCE)
                c.request("GET", "/api/v1/live?channel=session_x&" + query, headers=headers)
                r = c.getresponse()
                self.assertIn("last_event_id", json.loads(r.read())["detail"].get("message", ""), r.status)
                self.assertIn(r.status, (400, 422))
                c.close()

    # ---- the WebSocket ----

    def test_mistakes_are_told_and_forgiven(self):
        with self.gateway() as g, Watcher(g.port) as w:
            w.next()
            for bad, code in [(b"{", "invalid_json"), (b"[]", "invalid_message"),
                              (b'{"type":3}', "invalid_message"),
                              (b'{"type":"dance"}', "unknown_type"),
                              (b'{"type":"subscribe"}', "invalid_message"),
                              (b'{"type":"subscribe","channel":7}', "invalid_message")]:
                w.sock.sendall(frame(1, bad))
                m = w.next()
                self.assertEqual((m["type"], m["code"]), ("error", code), bad)
                self.assertTrue(m["message"])
            w.sock.sendall(frame(2, b"{}"))
            self.assertEqual(w.next()["code"], "invalid_message")
            for channel in ("nonsense", "session_", "session_" + "x" * 600):
                w.send({"type": "subscribe", "channel": channel})
                if len(channel) < 500:
                    r = w.next()
                    self.assertEqual((r["type"], r["success"]), ("subscription_response", False))
                self.assertEqual(w.next()["code"], "unknown_channel")
            r = w.subscribe("session_1", "unsubscribe")
            self.assertFalse(r["success"])
            w.next()
            for i in range(32):
                self.assertTrue(w.subscribe(f"session_{i}")["success"])
            self.assertTrue(w.subscribe("session_3")["success"])
            self.assertFalse(w.subscribe("session_99")["success"])
            self.assertEqual(w.next()["code"], "too_many_subscriptions")
            self.assertTrue(w.subscribe("session_3", "unsubscribe")["success"])
            self.assertTrue(w.subscribe("session_99")["success"])
            w.send({"type": "ping"})
            self.assertEqual(w.next()["type"], "pong")

    def test_frames_in_any_pieces_are_the_same(self):
        with self.gateway() as g, Watcher(g.port) as w:
            w.next()
            whole = json.dumps({"type": "subscribe", "channel": "session_ü"}).encode()
            parts = (frame(1, whole[:9], fin=False) + frame(9, b"are you there") +
                     frame(0, whole[9:30], fin=False) + frame(0, whole[30:]))
            for i in range(len(parts)):
                w.sock.sendall(parts[i:i + 1])
            self.assertEqual(w.next(), {"type": "pong frame", "payload": b"are you there"})
            r = w.next()
            self.assertEqual((r["success"], r["channel"]), (True, "session_ü"))

    def test_what_breaks_the_protocol_is_closed_with_its_code(self):
        with self.gateway() as g:
            for bytes_, code in [(frame(1, b"{}", mask=False), 1002), (frame(3, b""), 1002),
                                 (frame(1, b"x" * 65537), 1009), (frame(1, b"\xff\xfe"), 1007),
                                 (frame(8, b"\x03\xe8bye"), 1000)]:
                with Watcher(g.port) as w:
                    w.next()
                    w.sock.sendall(bytes_)
                    with self.assertRaises(Closed) as c:
                        w.next()
                    self.assertEqual(c.exception.code, code)

    def test_a_handshake_that_is_none_is_refused(self):
        with self.gateway() as g:
            for headers, status in [({"Upgrade": "h2c"}, 400), ({"Sec-WebSocket-Key": "x"}, 400),
                                    ({"Sec-WebSocket-Version": "8"}, 426),
                                    ({"Origin": "http://evil.example"}, 403),
                                    ({"Origin": "null"}, 403)]:
                with Watcher(g.port, headers=headers) as w:
                    self.assertEqual(w.status, status, headers)
            for path in ("/ws/dashboard/a/b", "/ws/dashboard/%zz", "/ws/dashboard/" + "x" * 300):
                with Watcher(g.port, path=path) as w:
                    self.assertEqual(w.status, 404, path)
            with Watcher(g.port, headers={"Origin": f"http://127.0.0.1:{g.port}"}) as w:
                self.assertEqual(w.status, 101)

    # ---- visibility ----

    def keys(self, **more):
        return [{"name": "ann", "sha256": digest("key-ann")},
                {"name": "bob", "sha256": digest("key-bob"), **more}]

    def test_a_key_sees_its_own_calls_only(self):
        with self.gateway(keys=self.keys()) as g:
            for headers, status in [({}, 401), ({"Authorization": "Bearer wrong"}, 401),
                                    ({"Authorization": "Bearer key-ann"}, 101),
                                    ({"x-api-key": "key-ann"}, 101),
                                    ({"Sec-WebSocket-Protocol": "rationale.v1, bearer.key-ann"}, 101),
                                    ({"Sec-WebSocket-Protocol": "bearer.key-ann"}, 101),
                                    ({"Sec-WebSocket-Protocol": "bearer.no"}, 401),
                                    ({"x-api-key": "key-ann", "Origin": "http://evil"}, 403)]:
                with Watcher(g.port, headers=headers) as w:
                    self.assertEqual(w.status, status, headers)
                    offered = headers.get("Sec-WebSocket-Protocol", "")
                    if status == 101 and offered:
                        self.assertEqual(w.headers["sec-websocket-protocol"], offered.split(",")[0])
            with Watcher(g.port, headers={"x-api-key": "key-ann"}) as ann, \
                    Watcher(g.port, headers={"x-api-key": "key-bob"}) as bob:
                for w in (ann, bob):
                    w.subscribe("dashboard_updates")
                    w.subscribe("session_shared")
                self.ask(g, "think", session="shared", key="key-bob")
                self.ask(g, "plain", session="shared", key="key-ann")
                ann.data("llm_interaction")
                bob.data("llm_interaction")
                for w, name in ((ann, "ann"), (bob, "bob")):
                    names = {m["data"]["key_name"] for m in w.seen
                             if m.get("data", {}).get("type") == "llm_started"}
                    self.assertEqual(names, {name})
            with Stream(g.port) as s:
                self.assertEqual(s.status, 401)

    def test_a_key_that_may_not_see_reasoning_does_not(self):
        with self.gateway(keys=self.keys(reasoning="hide"), reasoning={"keep": "text"}) as g, \
                Watcher(g.port, headers={"x-api-key": "key-bob"}) as bob:
            bob.subscribe("dashboard_updates")
            self.ask(g, "slow", key="key-bob")
            bob.data("llm_interaction")
            kinds = {m["data"]["type"] for m in bob.seen if "data" in m}
            self.assertNotIn("reasoning_delta", kinds)
            self.assertIn("answer_delta", kinds)
            for m in bob.seen:
                if m.get("data", {}).get("type") == "reasoning_status":
                    self.assertFalse(m["data"]["shown"])

    def test_what_is_kept_is_live_for_operators_and_not_for_clients_unless_shown(self):
        for more, show, sees in (({}, False, False), ({"reasoning": "show"}, False, True),
                                 ({}, True, True), ({"role": "operator"}, False, True)):
            with self.subTest(more=more, show=show), \
                    self.gateway(keys=self.keys(**more), reasoning={"show": show}) as g, \
                    Watcher(g.port, headers={"x-api-key": "key-bob"}) as bob:
                bob.subscribe("dashboard_updates")
                self.ask(g, "slow", key="key-bob")
                bob.data("llm_interaction")
                kinds = {m["data"]["type"] for m in bob.seen if "data" in m}
                self.assertEqual("reasoning_delta" in kinds, sees)
                self.assertIn("answer_delta", kinds)

    def test_a_client_may_ask_for_reasoning_by_header_unless_its_key_hides_it(self):
        for more, asked, sees in (({}, "show", True), ({"reasoning": "hide"}, "show", False),
                                  ({"reasoning": "show"}, "hide", False)):
            headers = {"x-api-key": "key-bob", "x-rationale-reasoning": asked}
            with self.subTest(more=more, asked=asked), self.gateway(keys=self.keys(**more)) as g, \
                    Watcher(g.port, headers=headers) as bob:
                bob.subscribe("dashboard_updates")
                self.ask(g, "slow", key="key-bob")
                bob.data("llm_interaction")
                kinds = {m["data"]["type"] for m in bob.seen if "data" in m}
                self.assertEqual("reasoning_delta" in kinds, sees)

    def test_an_operator_sees_all_calls_and_a_cookie_is_a_key(self):
        with self.gateway(keys=self.keys(role="operator")) as g:
            c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=30)
            c.request("POST", "/api/v1/login", json.dumps({"key": "key-bob"}),
                      {"content-type": "application/json"})
            r = c.getresponse()
            cookie = r.headers["set-cookie"].split(";")[0]
            r.read()
            c.close()
            with Watcher(g.port, headers={"Cookie": cookie}) as bob, \
                    Stream(g.port, headers={"Cookie": cookie}) as s:
                bob.subscribe("dashboard_updates")
                self.assertEqual(s.status, 200)
                self.ask(g, "plain", key="key-ann")
                for w in (bob, s):
                    self.assertEqual(w.data("llm_started")["key_name"], "ann")
            evil = {"Cookie": cookie, "Origin": "http://evil.example"}
            with Watcher(g.port, headers=evil) as w:
                self.assertEqual(w.status, 403)
            with Watcher(g.port, headers={"Cookie": "rationale_session=" + "0" * 64}) as w:
                self.assertEqual(w.status, 401)

    def test_secrets_are_masked_before_anybody_sees_them(self):
        secret = "sk-proj-" + "Ab3" * 16
        with self.gateway(reasoning={"keep": "text", "show": True}) as g, Watcher(g.port) as w, \
                Stream(g.port, "?channel=session_echo") as s:
            w.subscribe("dashboard_updates")
            body = {"messages": [{"role": "user", "content": f"my key is {secret}, keep it"}]}
            _, text = self.ask(g, "echo", session="echo", **body)
            self.assertIn(secret, self.answer_of(text)[0])
            for viewer in (w, s):
                answer, all_ = Text(), ""
                while (m := viewer.next()).get("data", {}).get("type") != "llm_interaction":
                    all_ += json.dumps(m)
                    if m.get("data", {}).get("type") == "answer_delta":
                        answer.take(m["data"])
                all_ += json.dumps(m)
                self.assertNotIn("Ab3Ab3", all_)
                self.assertIn("[MASKED:", str(answer))
                self.assertIn("keep it", str(answer))

    def test_slow_patterns_have_a_bounded_time_for_what_is_shown(self):
        letters = "abcdefghijklmnopqrstuvwxyz" * 1000
        slow = {"custom_patterns": [{"name": "slow", "pattern": "[a-z]{1,3000}[XY]"}]}
        with self.gateway(store="none", data_masking=slow) as g, Watcher(g.port) as w:
            w.subscribe("session_watched")
            for n in range(8):
                before = cpu_seconds(g.child.pid)
                _, text = self.ask(g, "echo", session="watched", said=f"{n} {letters}")
                self.assertIn(letters, self.answer_of(text)[0])
                shown = ""
                while (m := w.next()).get("data", {}).get("type") != "llm_interaction":
                    shown += json.dumps(m)
                self.assertTrue("[MASKED:slow]" in shown, len(shown))
                self.assertLess(cpu_seconds(g.child.pid) - before, 0.5)

    def test_a_key_that_is_taken_away_ends_its_viewers(self):
        with self.gateway(keys=self.keys()) as g, \
                Watcher(g.port, headers={"x-api-key": "key-bob"}) as bob, \
                Stream(g.port, headers={"x-api-key": "key-bob"}) as stream, \
                Watcher(g.port, headers={"x-api-key": "key-ann"}) as ann:
            ann.next(), bob.next(), stream.next()
            g.reload({**g.config, "keys": self.keys()[:1]})
            with self.assertRaises(Closed) as c:
                bob.next()
            self.assertEqual(c.exception.code, 1008)
            with self.assertRaises(Closed):
                stream.next()
            ann.send({"type": "ping"})
            self.assertEqual(ann.next()["type"], "pong")

    def test_reasoning_that_is_hidden_and_not_kept_is_not_told(self):
        with self.gateway(reasoning={"show": False, "keep": "none"}) as g, Watcher(g.port) as w:
            w.subscribe("dashboard_updates")
            self.ask(g, "slow")
            w.data("llm_interaction")
            kinds = {m["data"]["type"] for m in w.seen if "data" in m}
            self.assertNotIn("reasoning_delta", kinds)
            status = [m["data"] for m in w.seen if m.get("data", {}).get("type") == "reasoning_status"]
            self.assertEqual(status[0]["state"], "thinking")
            self.assertTrue(all(not s["shown"] for s in status))
            self.assertGreater(status[-1]["reasoning_tokens"], 10)

    # ---- the event stream ----

    def test_a_stream_is_one_by_the_standard(self):
        with self.gateway(timeouts={"keepalive": "700ms"}) as g:
            with Stream(g.port) as s:
                self.assertEqual((s.status, s.headers["content-type"]), (200, "text/event-stream"))
                self.assertEqual(s.next()["type"], "connection_established")
                for _ in range(20):  # the pauses grow longer
                    time.sleep(1.5)
                    self.ask(g, "plain")
                    s.data("llm_interaction")
                    if s.comments:
                        break
                self.assertGreaterEqual(s.comments, 1)
            for query, code in [("?channel=x", "unknown_channel"), ("?channel=%zz", "invalid_query"),
                                ("?chanel=system_health", "invalid_parameter"),
                                ("?" + "&".join(f"channel=session_{i}" for i in range(40)),
                                 "too_many_subscriptions")]:
                with Stream(g.port, query) as s:
                    self.assertEqual(s.status, 400)
                    self.assertEqual(json.loads(s.file.read())["detail"]["error"], code)

    def test_health_is_told(self):
        with self.gateway() as g, Watcher(g.port) as w, \
                Stream(g.port, "?channel=system_health") as s:
            w.subscribe("system_health")
            for viewer in (w, s):
                m = viewer.until(lambda m: m["type"] == "system_health")
                self.assertEqual((m["status"], m["channel"]), ("healthy", "system_health"))
                self.assertEqual(m["services"]["store"]["status"], "healthy")

    # ---- slow viewers, and the end ----

    def metrics(self, g):
        c = http.client.HTTPConnection("127.0.0.1", g.port, timeout=PATIENCE)
        c.request("GET", "/metrics")
        text = c.getresponse().read().decode()
        c.close()
        return text

    def dropped(self, g):
        return sum(int(x.split()[1]) for x in self.metrics(g).splitlines()
                   if x.startswith("rationale_live_dropped_total{"))

    def test_a_slow_viewer_is_told_of_a_gap_and_then_of_what_runs(self):
        with self.gateway() as g, Watcher(g.port, small=True) as w:
            w.subscribe("dashboard_updates")
            w.subscribe("session_flood")
            while not self.dropped(g):  # a viewer that reads nothing for a minute is dropped
                _, text = self.ask(g, "large", session="flood")
                self.assertIn("[DONE]", text)
            call = self.later(g, "held", session="flood", said="behind the flood")
            self.provider.held("behind the flood")
            gap = w.data("gap")
            self.assertGreater(gap["missed"], 0)
            w.data("llm_started", model="held")
            self.provider.go_on("behind the flood")
            w.data("llm_interaction", model_used=MODELS["held"])
            call.join()
            self.assertIn('rationale_live_clients{transport="ws"} 1\n', self.metrics(g))

    def test_a_drain_does_not_wait_for_viewers(self):
        with self.gateway(timeouts={"drain": "300s"}) as g:
            stalled = Watcher(g.port, small=True)
            stalled.subscribe("session_s1")
            stuck = Stream(g.port, "?channel=session_s1", version="1.1", small=True)
            stuck.next()
            self.ask(g, "flood")
            with Watcher(g.port) as w, Stream(g.port) as s:
                w.next(), s.next()
                began = time.monotonic()
                g.signal(signal.SIGTERM)
                with self.assertRaises(Closed) as c:
                    w.next()
                self.assertEqual(c.exception.code, 1001)
                w.sock.sendall(frame(8, b"\x03\xe9"))
                with self.assertRaises(Closed):
                    s.next()
                self.assertEqual(g.child.wait(PATIENCE), 0, g.log_tail())
                self.assertLess(time.monotonic() - began, PATIENCE)
            stalled.sock.close()
            stuck.__exit__()

    def latencies(self, g, n):
        took = []
        for _ in range(n):
            began = time.monotonic()
            _, text = self.ask(g, "plain")
            took.append(time.monotonic() - began)
            self.assertIn("[DONE]", text)
        return sorted(took)

    def test_stalled_viewers_do_not_slow_calls(self):
        viewers = int(os.environ.get("RATIONALE_VIEWERS", "60"))
        p99 = lambda x: x[int(len(x) * 0.99) - 1]  # noqa: E731
        with self.gateway() as g:
            self.latencies(g, 50)
            before = self.latencies(g, 200)
            watchers = [Watcher(g.port, small=i % 2 == 0) for i in range(viewers)]
            stop = threading.Event()

            def read(w):
                w.sock.settimeout(0.2)
                while not stop.is_set():
                    try:
                        w.sock.recv(65536)
                    except socket.timeout:
                        pass
                    except OSError:
                        return
            for w in watchers:
                w.send({"type": "subscribe", "channel": "dashboard_updates"})
            threads = [threading.Thread(target=read, args=(w,), daemon=True) for w in watchers[1::2]]
            for t in threads:
                t.start()
            for _ in range(2):
                self.ask(g, "flood")
            # The machine also runs the viewers and other work: the bound is generous, and the best
            # of three counts.
            for _ in range(3):
                after = self.latencies(g, 200)
                if p99(after) < p99(before) * 3 + 0.25:
                    break
            stop.set()
            for t in threads:
                t.join()
            for w in watchers:
                w.sock.close()
        print(f"{viewers} viewers, half of them stalled: p50 {before[100] * 1e3:.1f} -> "
              f"{after[100] * 1e3:.1f} ms, p99 {p99(before) * 1e3:.1f} -> {p99(after) * 1e3:.1f} ms")
        self.assertLess(p99(after), p99(before) * 3 + 0.25)


if __name__ == "__main__":
    start()
