#!/usr/bin/env python3
"""Agents of the configuration, run over HTTP and by the command.

    test/e2e/agent_runs_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import re
import shutil
import signal
import sys
import tempfile
import threading
import time
import unittest
import urllib.parse
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, main, run
from gateway import Gateway, digest, until
from scripted_model import Model, last, results

SERVER = str(SOURCE / "test/mcp/tools_server.py")
TITLE = {"type": "object", "properties": {"title": {"type": "string"}}, "required": ["title"]}
TOOLS = [
    {"name": "find", "description": "Finds a book", "schema": TITLE, "text": "Dune is on shelf 7",
     "annotations": {"readOnlyHint": True}},
    {"name": "lend", "description": "Lends a book", "schema": TITLE, "text": "lent {}"},
]


def tool(ask, name):
    """The name of a server's tool in the model's list."""
    for t in ask.get("tools", []):
        if t["function"]["name"].endswith(name):
            return t["function"]["name"]
    raise AssertionError(f"no tool {name} in {ask.get('tools')}")


def plain(result):
    """A tool's result without the marks around it."""
    return re.sub(r"</?data[^>]*>", "", result).strip().splitlines()[0]


def librarian(ask):
    """Finds the book, lends it if requested, and answers."""
    done = results(ask)
    if not done:
        return {"reasoning": "I look it up.", "calls": [(tool(ask, "find"), {"title": "Dune"})]}
    if "lend" in last(ask, "user") and len(done) == 1:
        return {"text": "She wants to have it.", "calls": [(tool(ask, "lend"), {"title": "Dune"})]}
    return "Done: " + plain(done[-1])


class Library(Gateway):
    """A daemon with a librarian and its tools."""

    def __init__(self, model, agents=None, key="", **more):
        super().__init__(BINARY, {}, key)
        self.key = key
        (self.folder / "tools.json").write_text(json.dumps(TOOLS))
        self.calls_log = self.folder / "calls"
        self.config.update({
            "providers": {"scripted": model.provider()},
            "tools": {"library": {"mcp": {"command": sys.executable,
                                          "args": ["-SB", SERVER, str(self.folder / "tools.json"),
                                                   str(self.calls_log)]}}},
            "agents": agents or {"librarian": {"model": "m", "prompt": "You keep a library.", "tools": ["library"]}},
            **more})

    def ask(self, method, path, body=None, key=None, headers=None):
        c = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        sent = {"content-type": "application/json", **(headers or {})}
        if key or self.key:
            sent["authorization"] = "Bearer " + (key or self.key)
        c.request(method, path, body if body is None or isinstance(body, str) else json.dumps(body), sent)
        r = c.getresponse()
        text = r.read().decode()
        c.close()
        return r.status, json.loads(text) if r.headers.get("content-type", "").startswith("application/json") else text

    def go(self, input, agent="librarian", **more):
        status, said = self.ask("POST", f"/api/v1/agents/{agent}/runs", {"input": input, **more})
        assert status in (200, 202), (status, said, self.log_tail())
        return said

    def one(self, id):
        return self.ask("GET", f"/api/v1/runs/{urllib.parse.quote(id, safe='')}")[1]

    def ended(self, id, *status):
        return until(lambda: (r := self.one(id))["status"] in (status or ("done", "failed", "stopped")) and r)

    def events(self, id, after=None, **headers):
        if after is not None:
            headers["last-event-id"] = after
        status, text = self.ask("GET", f"/api/v1/runs/{id}/events", headers=headers)
        assert status == 200, text
        return events_of(text)

    def called(self):
        lines = self.calls_log.read_text().splitlines() if self.calls_log.exists() else []
        return [json.loads(x)["tool"] for x in lines]


def events_of(text):
    """Parses an event stream to (name, id, data)."""
    out = []
    for block in text.split("\n\n"):
        fields = dict(x.split(": ", 1) for x in block.splitlines() if ": " in x and not x.startswith(":"))
        if "data" in fields:
            out.append((fields.get("event"), fields.get("id", ""), json.loads(fields["data"])))
    return out


def approving(**more):
    return {"librarian": {"model": "m", "prompt": "You keep a library.", "tools": ["library"],
                          "approve": ["library.lend"], **more}}


class Running(unittest.TestCase):
    def test_a_run_is_waited_for(self):
        with Model(librarian) as model, Library(model) as d:
            said = d.go("Is Dune here?", metadata={"ticket": 7})
            self.assertEqual((said["status"], said["agent"]), ("done", "librarian"))
            self.assertEqual(said["text"], "Done: Dune is on shelf 7")
            self.assertEqual(said["usage"]["input_tokens"], 200)
            self.assertEqual(said["metadata"], {"ticket": 7})
            self.assertEqual(d.called(), ["find"])
            self.assertTrue(model.asked[0]["messages"][0]["content"].startswith("You keep a library."))
            replay = d.ask("GET", f"/api/v1/runs/{said['run_id']}/replay")[1]
            self.assertTrue(replay["same"])
            self.assertEqual([a["name"] for a in d.ask("GET", "/api/v1/agents")[1]["agents"]], ["librarian"])

    def test_a_run_is_streamed_and_the_stream_goes_on_from_any_event(self):
        with Model(librarian) as model, Library(model) as d:
            status, text = d.ask("POST", "/api/v1/agents/librarian/runs", {"input": "Is Dune here?", "stream": True})
            self.assertEqual(status, 200)
            all = events_of(text)
            self.assertEqual([e[0] for e in all], ["started", "reasoning", "message", "tool_call", "tool_result",
                                                   "message", "ended"])
            id = all[0][2]["run_id"]
            for i, e in enumerate(all):
                self.assertEqual(d.events(id, e[1]), all[i + 1:])
            self.assertEqual(d.events(id), all)

    def test_a_run_in_the_background(self):
        with Model(librarian) as model, Library(model) as d:
            status, said = d.ask("POST", "/api/v1/agents/librarian/runs", {"input": "x", "background": True})
            self.assertEqual((status, said["status"]), (202, "running"))
            self.assertEqual(d.ended(said["run_id"])["status"], "done")

    def test_approval_shows_the_models_reason(self):
        with Model(librarian) as model, Library(model, approving()) as d:
            said = d.go("Please lend me Dune")
            self.assertEqual(said["status"], "waiting")
            self.assertEqual(said["pending"]["why"], "She wants to have it.")
            self.assertEqual(d.called(), ["find"])
            answer = {"seq": said["pending"]["seq"], "word": "approve"}
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{said['run_id']}/answer", answer)[0], 200)
            self.assertEqual(d.ended(said["run_id"])["status"], "done")
            self.assertEqual(d.called(), ["find", "lend"])
            names = [e[0] for e in d.events(said["run_id"])]
            self.assertEqual(names[names.index("approval"):], ["approval", "decided", "tool_call", "tool_result",
                                                               "message", "ended"])

    def test_the_session_says_who_decided_and_why(self):
        with Model(librarian) as model, Library(model, approving()) as d:
            said = d.go("Please lend me Dune")
            at = f"/api/v1/history/sessions/{said['session_id']}"
            asked = {"run_id": said["run_id"], "seq": said["pending"]["seq"], "tool": "library__lend", "why": "She wants to have it."}
            open_one, = d.ask("GET", at)[1]["approvals"]
            self.assertEqual({k: open_one[k] for k in (*asked, "word", "who", "note", "decided_at_us")},
                             {**asked, "word": None, "who": None, "note": None, "decided_at_us": None})
            answer = {"seq": asked["seq"], "word": "deny", "note": "It is reserved."}
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{said['run_id']}/answer", answer)[0], 200)
            d.ended(said["run_id"])
            one, = d.ask("GET", at)[1]["approvals"]
            self.assertEqual({k: one[k] for k in (*asked, "word", "note")}, {**asked, "word": "deny", "note": "It is reserved."})
            self.assertTrue(one["who"])
            self.assertGreaterEqual(one["decided_at_us"], one["asked_at_us"])

    def test_a_thread_remembers(self):
        def echo(ask):
            return f"{len([m for m in ask['messages'] if m['role'] == 'user'])}: {last(ask)}"
        with Model(echo) as model, Library(model) as d:
            self.assertEqual(d.go("one", thread="t")["text"], "1: one")
            self.assertEqual(d.go("two", thread="t")["text"], "2: two")
            self.assertEqual(d.go("three", thread="u")["text"], "1: three")

    def test_limits_have_reasons(self):
        def forever(ask):
            return {"calls": [(tool(ask, "find"), {"title": str(len(ask["messages"]))})]}
        for limits, reason in (({"steps": 3}, "max_iterations_reached"), ({"tokens": 250}, "token_budget_exceeded"),
                               ({"time": "1ms"}, "time_limit_exceeded")):
            agents = {"librarian": {"model": "m", "prompt": "You help.", "tools": ["library"], "limits": limits}}
            with self.subTest(reason=reason), Model(forever) as model, Library(model, agents) as d:
                said = d.go("x")
                self.assertEqual((said["status"], said["reason"]), ("stopped", reason))

    def test_the_answer_is_checked_by_its_schema(self):
        said = iter(["not JSON", '{"shelf": "seven"}', '{"shelf": 7}'])
        with Model(lambda ask: next(said)) as model:
            d = Library(model, {"librarian": {"model": "m", "prompt": "You help.", "output": "answer.json"}})
            (d.folder / "answer.json").write_text(json.dumps(
                {"type": "object", "properties": {"shelf": {"type": "integer"}}, "required": ["shelf"]}))
            with d:
                out = d.go("Where is Dune?")
                self.assertEqual((out["status"], out["output"]), ("done", {"shelf": 7}))
                self.assertIn("/shelf", last(model.asked[2]))

    def test_mistakes_of_the_model_are_reported_to_it(self):
        turns = iter([{"calls": [("no_such_tool", {})]}, {"calls": [("FIND", "{not json")]}, "sorry"])

        def clumsy(ask):
            said = next(turns)
            if isinstance(said, dict) and said["calls"][0][0] == "FIND":
                said = {"calls": [(tool(ask, "find"), "{not json")]}
            return said
        with Model(clumsy) as model, Library(model) as d:
            self.assertEqual(d.go("x")["text"], "sorry")
            self.assertIn("there is no tool", results(model.asked[1])[0])
            self.assertIn("JSON", results(model.asked[2])[1])
            self.assertEqual(d.called(), [])

    def test_calls_written_as_markup_are_calls(self):
        def markup(ask):
            if results(ask):
                return "Done: " + plain(results(ask)[0])
            call = json.dumps({"name": tool(ask, "find"), "arguments": {"title": "Dune"}})
            return f"I look.\n<tool_call>\n{call}\n</tool_call>"
        with Model(markup) as model, Library(model) as d:
            self.assertEqual(d.go("Is Dune here?")["text"], "Done: Dune is on shelf 7")
            self.assertEqual(d.called(), ["find"])

    def test_a_model_that_repeats_itself_is_stopped(self):
        def again(ask):
            return {"calls": [(tool(ask, "find"), {"title": "Dune"})]}
        with Model(again) as model, Library(model) as d:
            self.assertEqual(d.go("x")["reason"], "loop_detected")

    def test_every_strategy(self):
        def classic(ask):
            if "shelf 7" in last(ask):
                return json.dumps({"answer": "It is on shelf 7"})
            names = re.findall(r"[\w.-]*find\b", json.dumps(ask["messages"]))
            return json.dumps({"reason": "to look", "tools": [{"tool": names[0], "parameters": {"title": "Dune"}}]})

        def react(ask):
            if "shelf 7" in last(ask):
                return "Thought: found\nFinal Answer: It is on shelf 7"
            names = re.findall(r"[\w.-]*find\b", json.dumps(ask["messages"]))
            return f'Thought: look\nAction: {names[0]}\nAction Input: {{"title": "Dune"}}'
        for strategy, reply in (("react", react), ("classic", classic)):
            agents = {"librarian": {"model": "m", "prompt": "You help.", "tools": ["library"], "strategy": strategy}}
            with self.subTest(strategy), Model(reply) as model, Library(model, agents) as d:
                said = d.go("Is Dune here?")
                self.assertEqual((said["status"], said["text"]), ("done", "It is on shelf 7"), model.asked[-1])
                self.assertEqual(d.called(), ["find"])
                self.assertNotIn("tools", model.asked[0])

    def test_a_run_is_cancelled(self):
        hold = threading.Event()

        def slow(ask):
            hold.wait(PATIENCE)
            return "late"
        with Model(slow) as model, Library(model) as d:
            id = d.go("x", background=True)["run_id"]
            until(lambda: model.asked)
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{id}/cancel")[0], 200)
            self.assertEqual(d.ended(id, "cancelled")["reason"], "cancelled")
            hold.set()

    def test_a_run_that_ends_while_its_tools_are_listed(self):
        agents = {"librarian": {"model": "m", "prompt": "You help.", "tools": ["late", "library"]}}
        late = {"late": {"mcp": {"command": "sh", "args": ["-c", "sleep 1"]}}}
        with Model(librarian) as model:
            d = Library(model, agents)
            d.config["tools"] = {**late, **d.config["tools"]}
            with d:
                cancelled = d.go("Is Dune here?", background=True)["run_id"]
                self.assertEqual(d.ask("POST", f"/api/v1/runs/{cancelled}/cancel")[0], 200)
                said = d.ended(cancelled, "cancelled", "failed")
                self.assertEqual((said["status"], said["reason"]), ("cancelled", "cancelled"))
                left = d.go("Is Dune here?", background=True)["run_id"]
                d.signal(signal.SIGTERM)
                d.child.wait(PATIENCE)
                d.start()
                self.assertEqual(d.ended(left)["status"], "done")

    def test_a_client_that_leaves_does_not_end_the_run(self):
        hold = threading.Event()

        def slow(ask):
            if results(ask):
                hold.wait(PATIENCE)
            return librarian(ask)
        with Model(slow) as model, Library(model) as d:
            c = http.client.HTTPConnection("127.0.0.1", d.port, timeout=PATIENCE)
            c.request("POST", "/api/v1/agents/librarian/runs", json.dumps({"input": "x", "stream": True}),
                      {"content-type": "application/json"})
            r = c.getresponse()
            seen = b""
            while b"tool_result" not in seen:
                seen += r.read1(65536)
            c.close()
            hold.set()
            first = events_of(seen.decode().rsplit("\n\n", 1)[0])
            id = first[0][2]["run_id"]
            self.assertEqual(d.ended(id)["status"], "done")
            rest = d.events(id, first[-1][1])
            self.assertEqual([e[0] for e in first + rest], [e[0] for e in d.events(id)])

    def test_secrets_are_masked_on_record(self):
        secret = "sk-" + "a1B2" * 12
        with Model(lambda ask: "fine") as model, Library(model) as d:
            said = d.go(f"The key is {secret}", thread="t")
            self.assertIn(secret, last(model.asked[0]))
            self.assertNotIn(secret, json.dumps(d.one(said["run_id"])))
            self.assertNotIn(secret, json.dumps(d.ask("GET", "/api/v1/threads/t/checkpoints")[1]))
            self.assertTrue(d.ask("GET", f"/api/v1/runs/{said['run_id']}/replay")[1]["same"])

    def test_bad_requests_are_refused_with_a_sentence(self):
        with Model(librarian) as model, Library(model) as d:
            for path, body, status, words in (
                    ("agents/libarian/runs", {"input": "x"}, 404, "librarian"),
                    ("agents/librarian/runs", {}, 400, "input"),
                    ("agents/librarian/runs", {"input": 7}, 400, "input"),
                    ("agents/librarian/runs", {"input": "x", "session": "s" * 257}, 400, "session: is longer"),
                    ("agents/librarian/runs", {"input": "x", "tools": [{"description": "d"}]}, 400, "name"),
                    ("workflows/none/runs", {"input": "x"}, 404, "none")):
                got, said = d.ask("POST", "/api/v1/" + path, body)
                self.assertEqual(got, status, said)
                self.assertIn(words, json.dumps(said))
            path = f"/api/v1/runs/{d.go('Where is Dune?')['run_id']}/events"
            for id in ("zzz", "-1", "1,x", "x=", "1;2", "99999999999999999999", "1,,2"):
                for query, headers in ((f"?after={id}", {}), ("", {"last-event-id": id})):
                    got, said = d.ask("GET", path + query, headers=headers)
                    self.assertEqual((got, said["detail"]["message"]), (
                        400, f'"{id}" is not the id of an event: send one as it was received, such as 7 or '
                        "7,1.logs=4, or none for all events"))


class Killed(unittest.TestCase):
    def test_a_killed_run_goes_on_and_calls_nothing_twice(self):
        hold, release = threading.Event(), threading.Event()

        def held(ask):
            if len(results(ask)) == 2 and not release.is_set():
                hold.set()
                release.wait(PATIENCE)
            return librarian(ask)
        with Model(held) as model, Library(model) as d:
            id = d.go("Please lend me Dune", background=True)["run_id"]
            hold.wait(PATIENCE)
            d.signal(signal.SIGKILL)
            d.child.wait()
            release.set()
            d.start()
            self.assertEqual(d.ended(id)["status"], "done")
            self.assertEqual(d.called(), ["find", "lend"])

    def test_new_runs_are_not_taken_up_as_unfinished_ones(self):
        with Model(librarian) as model, Library(model) as d:
            d.signal(signal.SIGTERM)
            d.child.wait()
            model.asked.clear()
            d.start()
            ids = [d.go("Is Dune here?", background=True)["run_id"] for _ in range(8)]
            for id in ids:
                d.ended(id)
            self.assertEqual(len(model.asked), 16)


ORDER = {"name": "order", "description": "Orders a book", "parameters": TITLE}


def orders(ask):
    done = results(ask)
    return f"It is {plain(done[0])}" if done else {"calls": [("order", {"title": "Dune"})]}


class Refused(unittest.TestCase):
    def test_a_request_that_cannot_be_meant_is_refused_with_its_member(self):
        with Model(librarian) as model, Library(model) as d:
            for name, value in (("stream", "yes"), ("stream", 1), ("background", "no"), ("thread", "a\0b"),
                                ("thread", "a\n"), ("session", "\0"), ("session", "s" * 2000)):
                status, said = d.ask("POST", "/api/v1/agents/librarian/runs", {"input": "Is Dune here?", name: value})
                self.assertEqual(status, 400, (name, said))
                self.assertTrue(said["detail"]["message"].startswith(name + ": "), said)
            self.assertEqual(model.asked, [])

    def test_an_input_without_words_is_refused(self):
        with Model(librarian) as model, Library(model) as d:
            for input, words in (("", "is missing or empty"), (" \t\n", "has only white space"),
                                 ("Is Dune\0 here?", "has a NUL character")):
                status, said = d.ask("POST", "/api/v1/agents/librarian/runs", {"input": input})
                self.assertEqual(status, 400, said)
                self.assertIn("input: " + words, said["detail"]["message"])
                status, said = d.ask("POST", "/v1/chat/completions", {
                    "model": "agent/librarian", "messages": [{"role": "user", "content": input}]})
                self.assertEqual(status, 400, said)
            self.assertEqual((model.asked, d.ask("GET", "/api/v1/runs")[1]["runs"]), ([], []))

    def test_parameters_of_the_callers_tools_are_checked_before_the_run(self):
        with Model(orders) as model, Library(model) as d:
            for parameters, words in (({"type": "objekt"}, "/type"), ({"type": "object", "required": "title"}, "/required"),
                                      ({"properties": {"title": {"type": "strng"}}}, "/properties/title/type"),
                                      ({"type": "string"}, "must be object"), ([], "must be a JSON Schema"),
                                      ("object", "must be a JSON Schema")):
                status, said = d.ask("POST", "/api/v1/agents/librarian/runs",
                                     {"input": "x", "tools": [{**ORDER, "parameters": parameters}]})
                self.assertEqual(status, 400, (parameters, said))
                self.assertIn('tools: the parameters of "order": ', said["detail"]["message"])
                self.assertIn(words, said["detail"]["message"])
                status, said = d.ask("POST", "/v1/chat/completions", {
                    "model": "agent/librarian", "messages": [{"role": "user", "content": "x"}],
                    "tools": [{"type": "function", "function": {**ORDER, "parameters": parameters}}]})
                self.assertEqual(status, 400, said)
            self.assertEqual((model.asked, d.ask("GET", "/api/v1/runs")[1]["runs"]), ([], []))
            said = d.go("x", tools=[{**ORDER, "parameters": None}])
            self.assertEqual(said["status"], "waiting", said)

    def test_a_member_that_is_not_known_is_refused_with_the_nearest(self):
        with Model(librarian) as model, Library(model, approving()) as d:
            run = d.go("Please lend me Dune")["run_id"]
            asked = len(model.asked)
            for path, body, words in (
                    ("agents/librarian/runs", {"input": "x", "back_ground": True}, "back_ground: there is no such "
                     'member here, did you mean "background"?'),
                    ("agents/librarian/runs", {"input": "x", "q": 1}, "q: there is no such member here: there are "
                     "input, thread"),
                    ("agents/librarian/runs", {"input": "x", "tools": [{"name": "t", "parametres": {}}]},
                     'tools: parametres: there is no such member here, did you mean "parameters"?'),
                    ("agents/librarian/runs", {"input": "x", "tools": [{"type": "function", "function": {
                        "name": "t", "descripton": "x"}}]}, 'did you mean "description"?'),
                    (f"runs/{run}/tool_results", {"results": [{"call_id": "x", "resutl": 1}]}, 'did you mean "result"?'),
                    (f"runs/{run}/tool_results", {"results": [], "call_id": "x"}, "there are results"),
                    (f"runs/{run}/answer", {"seq": 1, "word": "approve", "reason": "x"}, "reason: there is no"),
                    (f"runs/{run}/tool_results", {"call_id": "x", "results_": []}, 'did you mean "results"?'),
                    ("prompts/x/activate", {"force": True}, "force: there is no such member here"),
                    ("audit/verify", {"limit": 1}, "limit: there is no such member here"),
                    ("watch", {"upstream": {}}, 'did you mean "upstreams"?')):
                status, said = d.ask("POST", "/api/v1/" + path, body)
                self.assertEqual(status, 422 if path.endswith("answer") else 400, (path, said))
                self.assertIn(words, said["detail"]["message"])
            self.assertEqual((d.one(run)["status"], len(model.asked)), ("waiting", asked))

    def test_a_tool_of_the_caller_with_a_name_of_the_agents_is_refused(self):
        with Model(orders) as model, Library(model, {**approving(handoff=["other"]),
                                                     "other": {"model": "m", "prompt": "You help."}}) as d:
            for name in ("library__find", "library__later", "result_search", "handoff_to_other"):
                status, said = d.ask("POST", "/api/v1/agents/librarian/runs",
                                     {"input": "x", "tools": [{**ORDER, "name": name}]})
                self.assertEqual(status, 400, said)
                self.assertIn(f'"{name}" is the name of a tool of the agent', said["detail"]["message"])
            status, said = d.ask("POST", "/v1/chat/completions", {
                "model": "agent/librarian", "messages": [{"role": "user", "content": "x"}],
                "tools": [{"type": "function", "function": {**ORDER, "name": "library__find"}}]})
            self.assertEqual(status, 400, said)
            status, said = d.ask("POST", "/api/v1/agents/librarian/runs", {"input": "x", "tools": [ORDER, ORDER]})
            self.assertEqual(status, 400, said)
            self.assertIn('two tools have the name "order"', said["detail"]["message"])
            self.assertEqual(model.asked, [])
            for name in ("library", "library_find", "handoff_to_nobody"):
                self.assertEqual(d.go("x", tools=[{**ORDER, "name": name}, ORDER])["status"], "waiting")


class ClientTools(unittest.TestCase):
    def test_the_caller_carries_out_its_own_tools(self):
        with Model(orders) as model, Library(model) as d:
            said = d.go("Order Dune", tools=[ORDER])
            self.assertEqual((said["status"], said["reason"]), ("waiting", "client_tools"))
            call = said["pending"]["calls"][0]
            self.assertEqual((call["tool"], call["arguments"]), ("order", {"title": "Dune"}))
            seen = d.events(said["run_id"])
            self.assertTrue(seen[-2][2]["client"])
            self.assertEqual(seen[-1][0], "waiting")
            path = f"/api/v1/runs/{said['run_id']}/tool_results"
            self.assertEqual(d.ask("POST", path, {"call_id": "nothing", "result": "x"})[0], 404)
            self.assertEqual(d.ask("POST", path, {"call_id": call["call_id"], "result": "ordered"})[0], 200)
            self.assertEqual(d.ended(said["run_id"])["result"]["text"], "It is ordered")
            self.assertEqual(d.ask("POST", path, {"call_id": call["call_id"], "result": "again"})[0], 200)
            self.assertEqual(d.one(said["run_id"])["result"]["text"], "It is ordered")
            self.assertEqual(len(model.asked), 2)

    def test_a_wrong_result_after_the_last_right_one_does_not_stop_the_run(self):
        with Model(orders) as model, Library(model) as d:
            said = d.go("Order Dune", tools=[ORDER])
            call = said["pending"]["calls"][0]["call_id"]
            status, _ = d.ask("POST", f"/api/v1/runs/{said['run_id']}/tool_results", {
                "results": [{"call_id": call, "result": "ordered"}, {"call_id": "nothing", "result": "x"}]})
            self.assertEqual(status, 404)
            self.assertEqual(d.ended(said["run_id"])["result"]["text"], "It is ordered")

    def test_a_run_whose_metadata_has_lines_is_one_line_in_a_stream(self):
        with Model(orders) as model, Library(model) as d:
            body = json.dumps({"input": "Order Dune", "tools": [ORDER], "metadata": {"a": {"b": [1]}}}, indent=2)
            for lines in (body, body.replace("\n", "\r\n")):
                status, said = d.ask("POST", "/api/v1/agents/librarian/runs", lines)
                self.assertEqual((status, said["metadata"]), (200, {"a": {"b": [1]}}))
                name, _, waiting = d.events(said["run_id"])[-1]
                self.assertEqual((name, waiting["metadata"]), ("waiting", {"a": {"b": [1]}}))

    def test_both_sides_may_be_killed_meanwhile(self):
        with Model(orders) as model, Library(model) as d:
            id = d.go("Order Dune", tools=[ORDER])["run_id"]
            d.signal(signal.SIGKILL)
            d.child.wait()
            d.start()
            call = d.one(id)["pending"]["calls"][0]
            d.ask("POST", f"/api/v1/runs/{id}/tool_results", {"results": [{"call_id": call["call_id"],
                                                                           "error": "sold out"}]})
            self.assertIn("sold out", d.ended(id)["result"]["text"])

    def test_a_large_error_and_a_deep_schema_of_a_caller_end_no_more_than_their_run(self):
        def model(ask):
            return "Done." if results(ask) else orders(ask)
        with Model(model) as model, Library(model) as d:
            said = d.go("Order Dune", tools=[ORDER])
            d.ask("POST", f"/api/v1/runs/{said['run_id']}/tool_results",
                  {"call_id": said["pending"]["calls"][0]["call_id"], "error": "line\n" * (1 << 20)})
            self.assertEqual(d.ended(said["run_id"])["status"], "done")
            deep = {"name": "deep", "parameters": {"type": "object", "default": json.loads("[" * 508 + "]" * 508)}}
            self.assertIn("levels deep", d.go("hi", tools=[deep])["detail"])
            self.assertEqual(d.go("Order Dune", tools=[ORDER])["status"], "waiting")

    def test_a_run_that_waits_for_its_caller_can_be_cancelled(self):
        with Model(orders) as model, Library(model) as d:
            id = d.go("Order Dune", tools=[ORDER])["run_id"]
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{id}/cancel")[0], 200)
            self.assertEqual(d.one(id)["status"], "cancelled")


class Together(unittest.TestCase):
    def test_a_conversation_is_passed_on_with_its_reason(self):
        def desk(ask):
            system = ask["messages"][0]["content"]
            if system.startswith("front"):
                return {"calls": [(tool(ask, "handoff_to_cataloguer"), {"reason": "a catalogue question"})]}
            return "catalogued: " + last(ask)
        agents = {"front": {"model": "m", "prompt": "front desk, kind", "handoff": ["cataloguer"]},
                  "cataloguer": {"model": "m", "prompt": "You catalogue."}}
        with Model(desk) as model, Library(model, agents) as d:
            said = d.go("Where does Dune belong?", "front")
            self.assertEqual(said["status"], "done")
            self.assertIn("a catalogue question", said["text"])
            self.assertEqual(said["usage"]["model_calls"], 2)
            self.assertTrue(d.ask("GET", f"/api/v1/runs/{said['run_id']}/replay")[1]["same"])
            parts = {e[2]["run_id"] for e in d.events(said["run_id"])}
            self.assertEqual(parts, {said["run_id"], said["run_id"] + "/cataloguer"})

    def test_an_agent_that_was_handed_to_may_wait_for_approval(self):
        def desk(ask):
            if ask["messages"][0]["content"].startswith("front"):
                return {"calls": [(tool(ask, "handoff_to_librarian"), {"reason": "a loan"})]}
            if any("lent" in x for x in results(ask)):
                return "lent"
            return {"text": "They want it.", "calls": [(tool(ask, "lend"), {"title": "Dune"})]}
        agents = {"front": {"model": "m", "prompt": "front desk, kind", "handoff": ["librarian"]}, **approving()}
        with Model(desk) as model, Library(model, agents) as d:
            said = d.go("lend me Dune", "front")
            self.assertEqual((said["status"], said["pending"]["why"]), ("waiting", "They want it."))
            self.assertTrue(d.ask("GET", f"/api/v1/runs/{said['run_id']}/replay")[1]["same"])
            self.assertEqual(said["pending"]["run_id"], said["run_id"] + "/librarian")
            answer = {"seq": said["pending"]["seq"], "word": "approve"}
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{said['run_id']}/answer", answer)[0], 200)
            self.assertEqual(d.ended(said["run_id"])["result"]["text"], "lent")
            self.assertEqual(d.called(), ["lend"])
            id = d.go("lend me Dune", "front")["run_id"]
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{id}/cancel")[0], 200)
            self.assertEqual((d.one(id)["status"], d.one(id + "/librarian")["status"]), ("cancelled", "cancelled"))
            replay = d.ask("GET", f"/api/v1/runs/{id}/replay")[1]
            self.assertEqual((replay["same"], replay["status"], replay["reason"]), (True, "cancelled", "cancelled"))
            self.assertEqual(d.called(), ["lend"])

    def test_guards_allow_or_deny_with_a_reason(self):
        def guarded(ask):
            if ask["messages"][0]["content"].startswith("guard"):
                text = last(ask)
                return json.dumps({"allow": "secret" not in text, "reason": "no secrets"})
            return "the secret is 7" if "tell" in last(ask) else "hello"
        agents = {"librarian": {"model": "m", "prompt": "You help.", "guard": {"input": "check", "output": "check"}},
                  "check": {"model": "m", "prompt": "guard of all"}}
        with Model(guarded) as model, Library(model, agents) as d:
            self.assertEqual(d.go("hi")["text"], "hello")
            for words, which in (("a secret", "input"), ("tell", "output")):
                said = d.go(words)
                self.assertEqual((said["status"], said["reason"], said["text"]), ("stopped", "guard_denied", ""))
                self.assertIn(which, said["detail"])
                self.assertIn("no secrets", said["detail"])
                self.assertNotIn("the secret is 7", json.dumps([e for e in d.events(said["run_id"])]))

    def test_a_guard_may_be_a_request(self):
        seen = []

        class Hook(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            def log_message(self, *_):
                pass

            def do_POST(self):
                said = json.loads(self.rfile.read(int(self.headers["content-length"])))
                seen.append(said)
                body = json.dumps({"allow": "secret" not in said["input"], "reason": "no secrets"}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
        hook = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
        threading.Thread(target=hook.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{hook.server_port}/check"
        agents = {"librarian": {"model": "m", "prompt": "You help.", "guard": {"input": url}}}
        with Model(lambda ask: "hello") as model, Library(model, agents) as d:
            self.assertEqual(d.go("hi")["text"], "hello")
            said = d.go("a secret")
            self.assertEqual((said["reason"], said["detail"]), ("guard_denied", "the input was denied: no secrets"))
            self.assertEqual([x["input"] for x in seen], ["hi", "a secret"])
            hook.shutdown()
            hook.server_close()
            self.assertIn("no verdict", d.go("hi")["detail"])

    def test_a_workflow_has_stages_side_by_side(self):
        def team(ask):
            who = ask["messages"][0]["content"].split()[-1]
            if who == "broken":
                return 400
            return f"{who} says {len(last(ask).split())}" if who != "judge" else "judged: " + last(ask)
        agents = {n: {"model": "m", "prompt": "You are " + n} for n in ("logs", "metrics", "broken", "judge")}
        flows = {"triage": [{"agents": ["logs", "metrics"], "parallel": True, "success": "all"}, {"agent": "judge"}],
                 "any": [{"agents": ["logs", "broken"], "parallel": True, "success": "any"}, {"agent": "judge"}],
                 "all": [{"agents": ["logs", "broken"], "success": "all"}, {"agent": "judge"}]}
        with Model(team) as model, Library(model, agents, workflows=flows) as d:
            status, said = d.ask("POST", "/api/v1/workflows/triage/runs", {"input": "it is slow"})
            self.assertEqual((status, said["status"], said["workflow"]), (200, "done", "triage"))
            session = d.ask("GET", "/api/v1/history/sessions/" + said["session_id"])[1]
            self.assertEqual(session["status"], "completed")
            self.assertGreaterEqual(session["completed_at_us"], session["started_at_us"])
            self.assertIn("logs says 3", said["text"])
            self.assertIn("metrics says 3", said["text"])
            self.assertEqual(said["usage"]["model_calls"], 3)
            replay = d.ask("GET", f"/api/v1/runs/{said['run_id']}/replay")[1]
            self.assertEqual((replay["same"], replay["status"], replay["text"]), (True, "done", said["text"]))
            names = [e[0] for e in d.events(said["run_id"])]
            self.assertEqual(names.count("ended"), 4)
            self.assertEqual(names[-1], "ended")
            self.assertEqual(d.ask("POST", "/api/v1/workflows/any/runs", {"input": "x"})[1]["status"], "done")
            self.assertEqual(d.ask("POST", "/api/v1/workflows/all/runs", {"input": "x"})[1]["status"], "failed")


class Command(unittest.TestCase):
    def test_the_command_runs_an_agent_by_itself(self):
        with Model(librarian) as model:
            d = Library(model)
            d.write()
            done = run("run", "librarian", "Is Dune here?", "--config", str(d.path))
            self.assertEqual((done.code, done.out.decode()), (0, "Done: Dune is on shelf 7\n"), done.err)
            order = [done.err.index(x) for x in ("thinks: I look it up.", "calls: ", "result: ")]
            self.assertEqual(order, sorted(order))
            done = run("run", "librarian", "Is Dune here?", "--json", "--config", str(d.path))
            lines = [json.loads(x) for x in done.out.decode().splitlines()]
            self.assertEqual([x["event"] for x in lines][:2], ["started", "reasoning"])
            self.assertEqual(lines[-1]["status"], "done")
            done = run("agents", "--config", str(d.path))
            self.assertIn(b"librarian", done.out)
            self.assertEqual(run("run", "libarian", "x", "--config", str(d.path)).code, 1)

    def test_a_failed_model_call_is_one_sentence_and_json_keeps_the_structure(self):
        with Model(librarian) as model:
            d = Library(model)
            d.write()
        done = run("run", "librarian", "Is Dune here?", "--config", str(d.path))  # the model has stopped
        self.assertEqual((done.code, done.out), (5, b""), done.err)
        lines = done.err.splitlines()
        self.assertEqual(len(lines), 1, done.err)
        self.assertRegex(lines[0], r'^rationale: the model call \(\S+\) of "librarian" failed: .*the connection was refused; '
                                   r"`rationale doctor` tests the model's provider \(llm_error, run [0-9a-f-]{36}\)$")
        done = run("run", "librarian", "Is Dune here?", "--json", "--config", str(d.path))
        events = {x["event"]: x for x in map(json.loads, done.out.decode().splitlines())}
        self.assertEqual(events["error"]["error"]["code"], "upstream_error")
        self.assertEqual((events["ended"]["status"], events["ended"]["reason"]), ("failed", "llm_error"))
        self.assertEqual(done.err, "")

    def test_the_command_asks_the_daemon_that_has_the_store(self):
        with Model(librarian) as model, Library(model, approving()) as d:
            done = run("run", "librarian", "Please lend me Dune", "--config", str(d.path))
            self.assertEqual(done.code, 7, done.err)
            self.assertIn("why: She wants to have it.", done.err)
            self.assertIn("rationale runs approve", done.err)
            waiting = d.ask("GET", "/api/v1/runs?status=waiting")[1]["runs"][0]
            self.assertEqual(run("runs", "approve", waiting["run_id"], str(waiting["pending"]["seq"]),
                                 "--config", str(d.path)).code, 0)
            d.ended(waiting["run_id"])
            done = run("run", "--run", waiting["run_id"], "--config", str(d.path))
            self.assertEqual(done.code, 0, done.err)
            self.assertIn(b"lent", done.out)

    def test_a_conversation_at_the_command(self):
        def echo(ask):
            return f"{len([m for m in ask['messages'] if m['role'] == 'user'])}: {last(ask)}"
        with Model(echo) as model:
            d = Library(model)
            d.write()
            done = run("chat", "librarian", "--thread", "t", "--config", str(d.path), stdin="one\ntwo\n")
            self.assertEqual(done.out.decode(), "1: one\n2: two\n", done.err)


class Manual(unittest.TestCase):
    def test_the_agent_of_the_manual_runs_as_it_is_written(self):
        yaml = (SOURCE / "docs/how-to/build-an-agent.md").read_text().split("```yaml\n")[1].split("```")[0]
        self.assertLessEqual(len(yaml.splitlines()), 20)

        def reply(ask):
            if not results(ask):
                return {"text": "They ask for it.", "calls": [(tool(ask, "lend" if "lend" in last(ask) else "find"),
                                                               {"title": "Dune"})]}
            return plain(results(ask)[-1])
        with Model(reply) as model, tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "rationale.yaml"
            path.write_text(yaml.replace("http://127.0.0.1:8000", model.root))
            shutil.copy(SOURCE / "example/agents/library.py", folder)
            done = run("run", "librarian", "Is Dune available?", cwd=folder)
            self.assertEqual((done.code, done.out.decode()), (0, "Dune: 2 on the shelf.\n"), done.err)
            done = run("run", "librarian", "Please lend me Dune", cwd=folder)
            self.assertEqual(done.code, 7, done.err)
            self.assertIn("why: They ask for it.", done.err)
            approve = re.search(r"rationale runs approve '(\S+)' (\d+)", done.err)
            self.assertEqual(run("runs", "approve", approve[1], approve[2], cwd=folder).code, 0)
            done = run("run", "--run", approve[1], cwd=folder)
            self.assertEqual(done.out.decode(), "Dune is lent: 1 left.\n", done.err)
            done = run("chat", "librarian", cwd=folder, stdin="Is Dune available?\n")
            self.assertIn("on the shelf", done.out.decode())

    def test_agents_are_tools_of_rationale_mcp(self):
        with Model(librarian) as model:
            d = Library(model)
            d.write()
            asks = [{"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
                        "protocolVersion": "2025-06-18", "capabilities": {},
                        "clientInfo": {"name": "t", "version": "1"}}},
                    {"jsonrpc": "2.0", "method": "notifications/initialized"},
                    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
                    {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {
                        "name": "librarian", "arguments": {"input": "Is Dune here?"}}}]
            done = run("mcp", "--config", str(d.path), stdin="".join(json.dumps(x) + "\n" for x in asks))
            said = {x["id"]: x["result"] for x in map(json.loads, done.out.decode().splitlines())}
            self.assertIn("librarian", [t["name"] for t in said[2]["tools"]])
            self.assertEqual(said[3]["content"][0]["text"], "Done: Dune is on shelf 7")


if __name__ == "__main__":
    main()
