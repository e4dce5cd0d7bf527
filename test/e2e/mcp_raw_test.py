#!/usr/bin/env python3
"""`rationale mcp` byte by byte: stdio and HTTP, both eras, authentication, the record.

    test/e2e/mcp_raw_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import hashlib
import http.client
import json
import sqlite3
import subprocess
import sys
import time
import unittest

from command import BINARY, PATIENCE, SOURCE, environment, run
from gateway import Gateway
from planted import plant

MODERN = "2026-07-28"
META = {"io.modelcontextprotocol/protocolVersion": MODERN,
        "io.modelcontextprotocol/clientInfo": {"name": "raw", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {}}
BEGIN = {"jsonrpc": "2.0", "id": 0, "method": "initialize", "params": {
    "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "raw", "version": "1"}}}


def request(number, method, **params):
    return {"jsonrpc": "2.0", "id": number, "method": method, "params": params}


def modern(number, method, caps=None, **params):
    meta = {**META, "io.modelcontextprotocol/clientCapabilities": caps or {}}
    return request(number, method, **params, _meta=meta)


def talk(*messages, flags=(), env=None):
    """Sends messages over stdio; returns the replies as dicts. A str is sent unchanged."""
    lines = "".join((m if isinstance(m, str) else json.dumps(m)) + "\n" for m in messages)
    done = run("mcp", *flags, stdin=lines, env=env)
    assert done.code == 0, done
    return [json.loads(line) for line in done.out.decode().splitlines()]


class Stdio(unittest.TestCase):
    def test_a_legacy_client_gets_the_version_it_asks_for(self):
        for asked, given in (("2024-11-05", "2024-11-05"), ("2025-06-18", "2025-06-18"),
                             ("2025-11-25", "2025-11-25"), ("1999-01-01", "2025-11-25")):
            begin = {**BEGIN, "params": {**BEGIN["params"], "protocolVersion": asked}}
            self.assertEqual(talk(begin)[0]["result"]["protocolVersion"], given)

    def test_a_modern_client_needs_no_beginning(self):
        found, listed = talk(modern(1, "server/discover"), modern("b", "tools/list"))
        self.assertEqual(found["result"]["supportedVersions"], [MODERN])
        self.assertEqual(found["result"]["capabilities"], {"tools": {}})
        self.assertEqual(listed["id"], "b")
        self.assertEqual([t["name"] for t in listed["result"]["tools"]], ["split_text"])
        for reply in (found, listed):
            self.assertEqual(reply["result"]["resultType"], "complete")
            self.assertGreaterEqual(reply["result"]["ttlMs"], 0)

    def test_both_eras_at_once(self):
        replies = talk(BEGIN, modern(1, "tools/list"), request(2, "tools/list"))
        self.assertIn("resultType", replies[1]["result"])
        self.assertNotIn("resultType", replies[2]["result"])

    def test_what_is_no_message_is_told_so(self):
        cases = [("{", -32700), ("[]", -32600), ("7", -32600), ('{"jsonrpc":"2.0","id":1}', -32600),
                 ('{"jsonrpc":"1.0","id":1,"method":"ping"}', -32600),
                 ('{"jsonrpc":"2.0","id":1.5,"method":"ping"}', -32600),
                 ('{"jsonrpc":"2.0","id":null,"method":"ping"}', -32600),
                 ('{"jsonrpc":"2.0","id":1,"method":"ping","params":[]}', -32602),
                 ('{"jsonrpc":"2.0","id":1,"method":""}', -32600)]
        for line, code in cases:
            self.assertEqual(talk(line)[0]["error"]["code"], code, line)

    def test_nothing_is_done_before_the_beginning(self):
        self.assertEqual(talk(request(1, "tools/list"))[0]["error"]["code"], -32600)
        self.assertEqual(talk(request(1, "ping"))[0]["result"], {})

    def test_methods_of_the_other_era_are_unknown(self):
        for method in ("ping", "logging/setLevel", "initialize", "resources/subscribe", "nothing"):
            self.assertEqual(talk(modern(1, method))[0]["error"]["code"], -32601, method)
        self.assertEqual(talk(BEGIN, request(1, "subscriptions/listen"))[1]["error"]["code"], -32601)

    def test_a_version_that_is_not_spoken_is_refused_with_those_that_are(self):
        asked = modern(1, "tools/list")
        asked["params"]["_meta"]["io.modelcontextprotocol/protocolVersion"] = "2031-01-01"
        error = talk(asked)[0]["error"]
        self.assertEqual((error["code"], error["data"]),
                         (-32022, {"supported": [MODERN], "requested": "2031-01-01"}))

    def test_a_text_is_split(self):
        reply = talk(modern(1, "tools/call", name="split_text",
                            arguments={"text": "<think>a</think>b"}))[0]
        self.assertEqual(reply["result"]["structuredContent"]["reasoning"], "a")
        self.assertEqual(json.loads(reply["result"]["content"][0]["text"]),
                         reply["result"]["structuredContent"])

    def test_wrong_arguments_are_for_the_model_to_read(self):
        for arguments in ({}, {"text": 1}, {"text": "x", "more": 1}, {"text": "x", "format": "no"}):
            reply = talk(modern(1, "tools/call", name="split_text", arguments=arguments))[0]
            self.assertTrue(reply["result"]["isError"], arguments)

    def test_an_unknown_tool_is_an_error(self):
        self.assertEqual(talk(modern(1, "tools/call", name="no"))[0]["error"]["code"], -32602)
        for params in ({}, {"name": ""}, {"name": 3}):
            self.assertEqual(talk(modern(1, "tools/call", **params))[0]["error"]["message"], "params.name must be the name of a tool")

    def test_a_client_of_the_legacy_era_is_asked_on_the_stream(self):
        begin = {**BEGIN, "params": {**BEGIN["params"], "capabilities": {"elicitation": {}}}}
        replies = talk(begin, request(5, "tools/call", name="test_elicitation",
                                      arguments={"message": "who?"}),
                       {"jsonrpc": "2.0", "id": 1, "result": {"action": "accept",
                                                              "content": {"response": "me"}}},
                       flags=["--conformance"])
        self.assertEqual(replies[1]["method"], "elicitation/create")
        self.assertIn("me", replies[2]["result"]["content"][0]["text"])

    def test_nothing_is_asked_that_the_client_cannot_do(self):
        for message in (modern(1, "tools/call", name="test_elicitation", arguments={"message": "x"}),
                        modern(1, "tools/call", name="test_missing_capability", arguments={})):
            error = talk(message, flags=["--conformance"])[0]["error"]
            self.assertEqual(error["code"], -32021)

    def test_who_listens_is_told_of_changes_and_of_nothing_else(self):
        replies = talk(modern(7, "subscriptions/listen", notifications={"toolsListChanged": True}),
                       modern(8, "tools/call", name="test_trigger_prompt_change", arguments={}),
                       modern(9, "tools/call", name="test_trigger_tool_change", arguments={}),
                       {"jsonrpc": "2.0", "method": "notifications/cancelled", "params": {"requestId": 7}},
                       modern(10, "tools/call", name="test_trigger_tool_change", arguments={}),
                       flags=["--conformance"])
        notes = [r for r in replies if "method" in r]
        self.assertEqual([n["method"] for n in notes], ["notifications/subscriptions/acknowledged",
                                                        "notifications/tools/list_changed"])
        for note in notes:
            self.assertEqual(note["params"]["_meta"]["io.modelcontextprotocol/subscriptionId"], 7)

    def test_a_line_that_is_too_long_ends_it_with_a_word(self):
        done = run("mcp", stdin=b'{"x":"' + b"a" * (17 << 20))
        self.assertNotEqual(done.code, 0)
        self.assertIn("larger than", done.err)


class Http(unittest.TestCase):
    flags = ["--conformance"]

    @classmethod
    def setUpClass(cls):
        cls.process = subprocess.Popen([BINARY, "mcp", *cls.flags, "--http", "127.0.0.1:0"], text=True,
                                       stdout=subprocess.PIPE, env=environment())
        cls.port = int(cls.process.stdout.readline().split(":")[-1].split("/")[0])

    @classmethod
    def tearDownClass(cls):
        cls.process.terminate()
        assert cls.process.wait(PATIENCE) == 0
        cls.process.stdout.close()

    def ask(self, message=None, method="POST", path="/mcp", **headers):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        body = message if isinstance(message, (bytes, type(None))) else json.dumps(message).encode()
        fields = {"content-type": "application/json", "accept": "application/json, text/event-stream"}
        if isinstance(message, dict) and "_meta" in message.get("params", {}):
            fields.update({"mcp-protocol-version": MODERN, "mcp-method": message["method"]})
            name = message["params"].get("name") or message["params"].get("uri")
            if name:
                fields["mcp-name"] = name
        fields.update({k.replace("_", "-"): v for k, v in headers.items()})
        c.request(method, path, body, {k: v for k, v in fields.items() if v is not None})
        reply = c.getresponse()
        reply.text = reply.read().decode()
        c.close()
        return reply

    def begin(self):
        reply = self.ask(BEGIN)
        self.assertEqual(reply.status, 200)
        return reply.headers["mcp-session-id"]

    def test_only_this_machine_by_its_own_names_may_come(self):
        for headers in ({"host": "evil.example.com"}, {"origin": "http://evil.example.com"},
                        {"origin": "null"}, {"host": "localhost.evil.com:80"}):
            self.assertEqual(self.ask(modern(1, "tools/list"), **headers).status, 403, headers)
        for headers in ({"host": "localhost:1"}, {"host": "[::1]:1"}, {"origin": "http://localhost:5"},
                        {"origin": "http://127.0.0.1"}):
            self.assertEqual(self.ask(modern(1, "tools/list"), **headers).status, 200, headers)

    def test_paths_methods_and_types_that_are_not_there(self):
        self.assertEqual(self.ask(modern(1, "tools/list"), path="/").status, 404)
        self.assertEqual(self.ask(method="PUT").status, 405)
        self.assertEqual(self.ask(method="GET").status, 405)
        self.assertEqual(self.ask(method="DELETE").status, 405)
        self.assertEqual(self.ask(modern(1, "tools/list"), content_type="text/plain").status, 415)
        self.assertEqual(self.ask(b"{").status, 400)
        self.assertEqual(json.loads(self.ask(b"{").text)["error"]["code"], -32700)

    def test_headers_that_say_something_else_are_refused(self):
        call = modern(3, "tools/call", name="test_simple_text", arguments={})
        for headers in ({"mcp_protocol_version": "2025-11-25"}, {"mcp_method": "tools/list"},
                        {"mcp_name": "other"}, {"mcp_name": None}, {"mcp_method": None},
                        {"mcp_name": "=?base64?!?="}):
            reply = self.ask(call, **headers)
            self.assertEqual((reply.status, json.loads(reply.text)["error"]["code"]), (400, -32020), headers)
            self.assertEqual(json.loads(reply.text)["id"], 3)
        self.assertEqual(self.ask(call, mcp_name="=?base64?dGVzdF9zaW1wbGVfdGV4dA==?=").status, 200)

    def test_arguments_that_are_headers_too_must_agree(self):
        call = modern(3, "tools/call", name="test_custom_header", arguments={"region": "ü", "priority": 42})
        good = {"mcp_param_region": "=?base64?w7w=?=", "mcp_param_priority": "42"}
        self.assertEqual(self.ask(call, **good).status, 200)
        self.assertEqual(self.ask(call, **{**good, "mcp_param_priority": "42.0"}).status, 200)
        for wrong in ({"mcp_param_region": "u"}, {"mcp_param_priority": "41"}, {"mcp_param_priority": None}):
            self.assertEqual(self.ask(call, **{**good, **wrong}).status, 400, wrong)

    def test_a_session_begins_lives_and_ends(self):
        session = self.begin()
        self.assertRegex(session, r"^[\x21-\x7e]+$")
        note = {"jsonrpc": "2.0", "method": "notifications/initialized"}
        self.assertEqual(self.ask(note, mcp_session_id=session).status, 202)
        listed = self.ask(request(1, "tools/list"), mcp_session_id=session)
        self.assertIn("tools", json.loads(listed.text)["result"])
        self.assertEqual(self.ask(method="DELETE", mcp_session_id=session).status, 204)
        self.assertEqual(self.ask(request(1, "tools/list"), mcp_session_id=session).status, 404)
        self.assertEqual(self.ask(method="GET", mcp_session_id=session).status, 404)
        self.assertEqual(self.ask(request(1, "tools/list")).status, 400)

    def test_a_state_is_good_for_the_tool_that_gave_it_only(self):
        caps = {"elicitation": {}, "sampling": {}, "roots": {}}
        ask = modern(1, "tools/call", caps, name="test_input_required_result_request_state", arguments={})
        state = json.loads(self.ask(ask).text)["result"]["requestState"]
        answers = {"confirm": {"action": "accept", "content": {"ok": True}}}
        other = state[:-5] + ("B" if state[-5] == "A" else "A") + state[-4:]
        for name, given, good in (("request_state", state, True), ("request_state", other, False),
                                  ("request_state", "1." + state, False), ("request_state", "", False),
                                  ("tampered_state", state, False)):
            again = modern(2, "tools/call", caps, name=f"test_input_required_result_{name}", arguments={},
                           inputResponses=answers, requestState=given)
            reply = json.loads(self.ask(again).text)
            self.assertEqual("result" in reply, good, (name, given))

    def test_an_event_stream_carries_progress_and_then_the_answer(self):
        call = modern(1, "tools/call", name="test_tool_with_progress", arguments={})
        call["params"]["_meta"]["progressToken"] = "p"
        reply = self.ask(call)
        self.assertEqual(reply.headers["content-type"], "text/event-stream")
        events = [json.loads(line[6:]) for line in reply.text.splitlines() if line.startswith("data: ")]
        self.assertEqual([e.get("method") for e in events], ["notifications/progress"] * 3 + [None])
        self.assertEqual(events[0]["params"]["progressToken"], "p")

    def test_a_stream_that_is_left_is_forgotten(self):
        for _ in range(20):
            c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
            message = modern(1, "subscriptions/listen", notifications={"toolsListChanged": True})
            c.request("POST", "/mcp", json.dumps(message), {
                "content-type": "application/json", "mcp-protocol-version": MODERN,
                "mcp-method": "subscriptions/listen"})
            reply = c.getresponse()
            self.assertIn(b"acknowledged", reply.readline() + reply.readline())
            c.close()
        change = modern(2, "tools/call", name="test_trigger_tool_change", arguments={})
        self.assertEqual(self.ask(change).status, 200)

    def test_a_body_that_is_too_large_is_refused(self):
        self.assertEqual(self.ask(b" " * ((16 << 20) + 1)).status, 413)


class Record(unittest.TestCase):
    """The tools of the store: what is recorded, and who may see it."""

    @classmethod
    def setUpClass(cls):
        keys = [{"name": name, "sha256": hashlib.sha256(f"sk-{name}".encode()).hexdigest(), **more}
                for name, more in (("alice", {}), ("bob", {}), ("root", {"role": "operator"}))]
        demo = SOURCE / "example/demo/thinker.jsonl"
        cls.gateway = Gateway(BINARY, {"keys": keys, "providers": {
            "demo": {"kind": "replay", "cassette": str(demo), "format": "think", "models": ["m"]}}})
        cls.gateway.__enter__()
        cls.config = cls.gateway.path
        db = sqlite3.connect(cls.gateway.folder / "history.db", timeout=30)
        now = int(time.time() * 1e6)
        db.execute("INSERT INTO alert_sessions (session_id, status, started_at_us, key_name) VALUES "
                   "('log', 'completed', ?, 'alice')", (now,))
        for i, (entry, tool) in enumerate((("[TOOL_CALL] lookup: the user wants two coffees", "lookup"),
                                           ("[TOOL_CALL] add: confirmed the muffin", "add"))):
            for text, *args in plant(interaction_id=f"log-{i}", session_id="log", model="m",
                                     started_ms=now // 1000, ended_ms=now // 1000 + i,
                                     tools=json.dumps([tool]), decision=entry):
                db.execute(text, args)
        for text, *args in plant(interaction_id="log-thought", session_id="log", key_name="alice",
                                 started_ms=now // 1000, ended_ms=now // 1000 + 5, status=200,
                                 complete=1, has_reasoning=1, reasoning_state="complete",
                                 reasoning_content="a zither, surely", answer="yes"):
            db.execute(text, args)
        db.commit()
        db.close()

    @classmethod
    def tearDownClass(cls):
        cls.gateway.stop()

    def call(self, name, **arguments):
        return talk(modern(1, "tools/call", name=name, arguments=arguments),
                    flags=["--config", str(self.config)])[0]["result"]

    def test_the_tools_are_there_with_a_store_only(self):
        tools = talk(modern(1, "tools/list"), flags=["--config", str(self.config)])[0]["result"]["tools"]
        self.assertEqual([t["name"] for t in tools],
                         ["split_text", "search_decisions", "why_was_this_called", "show_session"])

    def test_decisions_are_found_by_their_words(self):
        found = self.call("search_decisions", query="muffin")["structuredContent"]["decisions"]
        self.assertEqual([d["interaction_id"] for d in found], ["log-1"])
        self.assertEqual(len(self.call("search_decisions")["structuredContent"]["decisions"]), 2)
        self.assertEqual(self.call("search_decisions", query="nowhere")["structuredContent"]["decisions"], [])

    def test_why_a_tool_was_called(self):
        said = self.call("why_was_this_called", tool="lookup")["structuredContent"]
        self.assertIn("two coffees", said["decisions"][0]["entry"])
        self.assertEqual(self.call("why_was_this_called", tool="never")["structuredContent"]["decisions"], [])

    def test_a_session_is_shown(self):
        self.assertEqual(self.call("show_session", session_id="log")["structuredContent"]["session_id"], "log")
        self.assertTrue(self.call("show_session", session_id="none")["isError"])

    def test_over_http_a_key_sees_what_is_its_own(self):
        child = subprocess.Popen([BINARY, "mcp", "--config", str(self.config), "--http", "127.0.0.1:0"],
                                 text=True, stdout=subprocess.PIPE, env=environment())
        try:
            port = int(child.stdout.readline().split(":")[-1].split("/")[0])
            for key, seen in ((None, None), ("wrong", None), ("sk-alice", True), ("sk-bob", False),
                              ("sk-root", True)):
                message = modern(1, "tools/call", name="show_session", arguments={"session_id": "log"})
                c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
                headers = {"content-type": "application/json", "mcp-protocol-version": MODERN,
                           "mcp-method": "tools/call", "mcp-name": "show_session"}
                if key:
                    headers["authorization"] = f"Bearer {key}"
                c.request("POST", "/mcp", json.dumps(message), headers)
                reply = c.getresponse()
                text = reply.read()
                c.close()
                self.assertEqual(reply.status, 401 if seen is None else 200, key)
                if seen is not None:
                    self.assertEqual("isError" not in json.loads(text)["result"], seen, key)
                # Reasoning is recorded, but shown to operators only, because reasoning.show is
                # false.
                self.assertEqual(b"zither" in text, key == "sk-root", key)
        finally:
            child.terminate()
            child.wait()
            child.stdout.close()


class Words(unittest.TestCase):
    def test_without_keys_it_does_not_listen_to_the_world(self):
        done = run("mcp", "--http", "0.0.0.0:0")
        self.assertNotEqual(done.code, 0)
        self.assertIn("loopback only", done.err)

    def test_mistakes_are_told(self):
        for words in (["--http", "nonsense"], ["--config", "/no/such/file"], ["word"],
                      ["--conformance-client"]):
            done = run("mcp", *words)
            self.assertNotEqual(done.code, 0, words)
            self.assertTrue(done.err.startswith("rationale: "), done.err)


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
