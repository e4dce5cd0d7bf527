#!/usr/bin/env python3
"""Two keys on one daemon: a run, its thread, its session and its texts belong to the key that
started it.

    test/e2e/agent_keys_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import threading
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from agent_runs_test import ORDER, Library, approving, librarian, orders
from command import main
from gateway import digest, until
from scripted_model import Model

ANN, BOB, BOSS = "ann-key", "bob-key", "boss-key"
QUESTION = "Is Dune here?"


def keys(**more):
    """Two clients and an operator; `more` adds members to keys by name."""
    return [{"name": n, "sha256": digest(n + "-key"), "role": "operator" if n == "boss" else "client",
             **more.get(n, {})} for n in ("ann", "bob", "boss")]


def waits_for_bob(d, path):
    return until(lambda: d.ask("GET", path, key=BOB)[0] == 200)


class Owners(unittest.TestCase):
    def library(self, model, agents=None, **more):
        return Library(model, agents, keys=keys(**more), key=ANN, workflows={"w": [{"agent": "librarian"}]})

    def routes(self, d, id):
        """Status and body of each route with a run's id, as bob gets them."""
        for method, path, body in (("GET", "", None), ("GET", "/events", None), ("GET", "/replay", None),
                                   ("POST", "/tool_results", {"call_id": "x", "result": 1}),
                                   ("POST", "/tool_results", {"results": []}),
                                   ("POST", "/answer", {"seq": 1, "word": "approve"}), ("POST", "/cancel", None)):
            status, said = d.ask(method, f"/api/v1/runs/{id}{path}", body, key=BOB)
            yield method + path, status, json.dumps(said).replace(id, "ID")

    def test_a_run_of_another_key_is_as_one_that_does_not_exist(self):
        with Model(orders) as model, self.library(model) as d:
            said = d.go("Order Dune", tools=[ORDER], thread="t")
            id, call = said["run_id"], said["pending"]["calls"][0]
            before = d.one(id)
            nobody = "0" * len(id)
            theirs, none = list(self.routes(d, id)), list(self.routes(d, nobody))
            self.assertEqual(theirs, none)
            self.assertEqual({s for _, s, _ in theirs}, {404, 403})
            chat = {"model": "agent/librarian", "tools": [{"type": "function", "function": ORDER}], "messages": [
                {"role": "user", "content": "x"}, {"role": "assistant", "content": None, "tool_calls": [
                    {"id": f"{id}.{call['call_id']}", "type": "function",
                     "function": {"name": "order", "arguments": "{}"}}]},
                {"role": "tool", "tool_call_id": f"{id}.{call['call_id']}", "content": "stolen"}]}
            self.assertEqual(d.ask("POST", "/v1/chat/completions", chat, key=BOB)[0], 404)
            self.assertEqual(d.one(id), before)
            self.assertEqual(d.ask("GET", "/api/v1/runs", key=BOB)[1]["runs"], [])

    def test_naming_a_session_or_a_thread_takes_nothing_over(self):
        with Model(librarian) as model, self.library(model) as d:
            said = d.go(QUESTION, thread="t", session="s")
            id, before = said["run_id"], d.one(said["run_id"])
            path = "/api/v1/history/sessions"
            until(lambda: [x["status"] for x in d.ask("GET", path)[1]["sessions"]] == ["completed"])
            sessions = d.ask("GET", path)[1]["sessions"]
            for name in (id, "s", "t"):
                for how in ({"session": name}, {"thread": name + "2", "session": name}):
                    status, mine = d.ask("POST", "/api/v1/agents/librarian/runs", {"input": "mine", **how}, key=BOB)
                    self.assertEqual((status, mine["status"]), (200, "done"))
                    waits_for_bob(d, f"/api/v1/runs/{mine['run_id']}")
                chat = {"model": "agent/librarian", "messages": [{"role": "user", "content": "mine"}]}
                self.assertEqual(d.ask("POST", "/v1/chat/completions", chat, key=BOB,
                                       headers={"x-rationale-session": name})[0], 200)
            self.assertEqual(d.ask("GET", f"/api/v1/runs/{id}", key=BOB)[0], 404)
            self.assertNotIn(id, [r["run_id"] for r in d.ask("GET", "/api/v1/runs", key=BOB)[1]["runs"]])
            self.assertEqual(d.one(id), before)
            until(lambda: len(d.ask("GET", path, key=BOB)[1]["sessions"]) == 5)  # three beside "s", two others
            self.assertEqual(d.ask("GET", path)[1]["sessions"], sessions)
            self.assertEqual(d.ask("GET", path + "/s", key=BOB)[0], 404)

    def test_a_thread_of_another_key_is_refused_before_anything_starts(self):
        with Model(librarian) as model, self.library(model) as d:
            d.go(QUESTION, thread="t")
            asked, called = len(model.asked), len(d.called())
            for path in ("agents/librarian", "workflows/w"):
                status, said = d.ask("POST", f"/api/v1/{path}/runs", {"input": "lend", "thread": "t"}, key=BOB)
                self.assertEqual(status, 404, said)
                self.assertIn("choose another name", json.dumps(said))
            self.assertEqual((len(model.asked), len(d.called())), (asked, called))
            self.assertEqual(d.ask("GET", "/api/v1/runs", key=BOB)[1]["runs"], [])
            self.assertEqual(d.go("again", thread="t")["status"], "done")


    def test_no_dialect_gives_a_result_to_another_keys_run(self):
        tool = {"type": "function", "name": "order", "parameters": {"type": "object"}}
        with Model(orders) as model, self.library(model) as d:
            said = d.go("Order Dune", tools=[ORDER])
            run, before = said["run_id"], d.one(said["run_id"])
            id = f"{run}.{said['pending']['calls'][0]['call_id']}"
            asked = len(model.asked)
            ask = {"role": "user", "content": "x"}
            bodies = {
                "/v1/chat/completions": {"messages": [ask, {"role": "assistant", "content": None, "tool_calls": [
                    {"id": id, "type": "function", "function": {"name": "order", "arguments": "{}"}}]},
                    {"role": "tool", "tool_call_id": id, "content": "stolen"}]},
                "/v1/responses": {"tools": [tool], "input": [
                    ask, {"type": "function_call", "call_id": id, "name": "order", "arguments": "{}"},
                    {"type": "function_call_output", "call_id": id, "output": "stolen"}]},
                "/v1/messages": {"max_tokens": 99, "messages": [
                    ask, {"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "order", "input": {}}]},
                    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "stolen"}]}]},
                "/v1beta/models/agent/librarian:generateContent": {"contents": [
                    {"role": "user", "parts": [{"text": "x"}]},
                    {"role": "model", "parts": [{"functionCall": {"id": id, "name": "order", "args": {}}}]},
                    {"role": "user", "parts": [{"functionResponse": {"id": id, "name": "order",
                                                                     "response": {"result": "stolen"}}}]}]},
            }
            for path, body in bodies.items():
                for stream in (False, True):
                    with self.subTest(path, stream=stream):
                        if "v1beta" in path:
                            path = path.replace(":generate", ":streamGenerate") if stream else path
                        else:
                            body = {**body, "model": "agent/librarian", "stream": stream}
                        status, text = d.ask("POST", path, body, key=BOB)
                        self.assertEqual(status, 404, text)
            self.assertEqual((d.one(run), len(model.asked)), (before, asked))

    def test_the_record_of_another_keys_run_stays(self):
        with Model(librarian) as model, self.library(model) as d:
            id = d.go(QUESTION, thread="t", session="s")["run_id"]
            path = "/api/v1/history/sessions/s"
            until(lambda: [x["status"] for x in d.ask("GET", "/api/v1/history/sessions")[1]["sessions"]] == ["completed"])
            before = d.ask("GET", path)[1]
            for method, where in (("GET", "history/sessions/s"), ("DELETE", "history/sessions/s"),
                                  ("GET", "history/sessions/s/export"), ("GET", "threads/t/checkpoints"),
                                  ("DELETE", "threads/t"), ("GET", "threads/t/state")):
                status, said = d.ask(method, "/api/v1/" + where, key=BOB)
                self.assertNotIn("shelf 7", json.dumps(said), where)
                self.assertTrue(status >= 400 or said in ({}, {"checkpoints": []}), (where, status, said))
            self.assertEqual(d.ask("GET", path)[1], before)
            self.assertEqual((d.one(id)["status"], d.ask("GET", "/api/v1/threads/t/checkpoints")[0]), ("done", 200))


class Ended(unittest.TestCase):
    def test_a_cancelled_run_takes_no_result(self):
        tools = [{"type": "function", "function": ORDER}]
        with Model(orders) as model, Library(model) as d:
            body = {"model": "agent/librarian", "messages": [{"role": "user", "content": "x"}], "tools": tools}
            first = d.ask("POST", "/v1/chat/completions", body)[1]["choices"][0]["message"]
            whole = first["tool_calls"][0]["id"]
            id, call = whole.split(".", 1)
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{id}/cancel")[0], 200)
            asked = len(model.asked)
            body["messages"] += [first, {"role": "tool", "tool_call_id": whole, "content": "ordered"}]
            for path, sent in (("/v1/chat/completions", body),
                               (f"/api/v1/runs/{id}/tool_results", {"call_id": call, "result": "ordered"})):
                for _ in range(2):
                    status, said = d.ask("POST", path, sent)
                    self.assertEqual(status, 409, said)
                    self.assertIn("start a new", json.dumps(said))
            self.assertEqual((d.one(id)["status"], len(model.asked)), ("cancelled", asked))

    def test_an_ended_run_takes_no_answer(self):
        agents = {**approving(), "other": {**approving()["librarian"]}}
        flows = {"both": [{"agents": ["librarian", "other"], "parallel": True, "success": "all"}]}
        with Model(librarian) as model, Library(model, agents, workflows=flows) as d:
            said = d.go("Please lend me Dune")
            answer = {"seq": said["pending"]["seq"], "word": "approve"}
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{said['run_id']}/cancel")[0], 200)
            self.assertEqual(d.ask("POST", f"/api/v1/runs/{said['run_id']}/answer", answer)[0], 409)
            said = d.ask("POST", "/api/v1/workflows/both/runs", {"input": "Please lend me Dune"})[1]
            parts = [r for r in d.ask("GET", "/api/v1/runs?status=waiting")[1]["runs"] if "/" in r["run_id"]]
            self.assertEqual(len(parts), 2)
            paths = [f"/api/v1/runs/{p['run_id'].replace('/', '%2F')}" for p in parts]
            self.assertEqual(d.ask("POST", paths[0] + "/cancel")[0], 200)
            status, why = d.ask("POST", paths[1] + "/answer", {"seq": parts[1]["pending"]["seq"], "word": "approve"})
            self.assertEqual((status, d.one(said["run_id"])["status"]), (409, "cancelled"), why)
            self.assertNotIn("lend", d.called())


SECRET, THOUGHT = "the secret is 7", "I ponder in private."


def everything(d, id, key):
    """All that a key can read of a run and its parts."""
    out = [d.ask("GET", "/api/v1/runs", key=key)[1]]
    for part in ("", *(r["run_id"][len(id):] for r in d.ask("GET", "/api/v1/runs", key=BOSS)[1]["runs"]
                       if r["run_id"].startswith(id + "/"))):
        path = "/api/v1/runs/" + (id + part).replace("/", "%2F")
        out += [d.ask("GET", path + more, key=key) for more in ("", "/replay", "/events")]
    return json.dumps(out)


def guarded(ask):
    """A front agent that hands over, an agent that reveals a secret, a guard that denies secrets."""
    system = ask["messages"][0]["content"]
    if system.startswith("guard"):
        return {"reasoning": SECRET, "text": json.dumps({"allow": SECRET not in json.dumps(ask), "reason": "no"})}
    if system.startswith("front"):
        return {"calls": [("handoff_to_teller", {"reason": "it knows"})]}
    if system.startswith("Limited"):
        return {"text": SECRET, "calls": [("handoff_to_nobody", {})]}
    return {"reasoning": SECRET, "text": SECRET}


class Denied(unittest.TestCase):
    def test_what_an_output_guard_denied_is_an_operators_to_read(self):
        agents = {"teller": {"model": "m", "prompt": "You tell."},
                  "safe": {"model": "m", "prompt": "You tell all.", "guard": {"output": "check"}},
                  "front": {"model": "m", "prompt": "front desk", "handoff": ["teller"], "guard": {"output": "check"}},
                  "limited": {"model": "m", "prompt": "Limited you are.", "limits": {"steps": 2},
                              "guard": {"output": "check"}},
                  "check": {"model": "m", "prompt": "guard of all"}}
        with Model(guarded) as model, Library(model, agents, keys=keys(ann={"reasoning": "show"}), key=ANN,
                                              workflows={"w": [{"agent": "front"}]}) as d:
            for path in ("agents/safe", "agents/front", "workflows/w"):
                with self.subTest(path):
                    status, text = d.ask("POST", f"/api/v1/{path}/runs", {"input": "x", "stream": True})
                    self.assertEqual(status, 200)
                    self.assertNotIn(SECRET, text)
                    self.assertIn("guard_denied", text)
                    id = json.loads(text.split("data: ", 1)[1].split("\n", 1)[0])["run_id"]
                    self.assertNotIn(SECRET, everything(d, id, ANN))
                    self.assertIn(SECRET, everything(d, id, BOSS))
            self.assertNotIn(SECRET, json.dumps(d.go("x", "limited")["text"]))
            for name in ("safe", "front"):
                said = d.ask("POST", "/v1/chat/completions", {"model": "agent/" + name, "messages": [
                    {"role": "user", "content": "x"}]}, headers={"x-rationale-reasoning": "show"})
                self.assertNotIn(SECRET, json.dumps(said))

    def test_what_it_allowed_is_shown(self):
        agents = {"safe": {"model": "m", "prompt": "You tell all.", "guard": {"output": "check"}},
                  "check": {"model": "m", "prompt": "guard of all"}}

        def kind(ask):
            return '{"allow": true}' if ask["messages"][0]["content"].startswith("guard") else SECRET
        with Model(kind) as model, Library(model, agents, keys=keys(), key=ANN) as d:
            said = d.go("x", "safe")
            self.assertEqual(said["text"], SECRET)
            self.assertEqual([e[2]["text"] for e in d.events(said["run_id"]) if e[0] == "message"][0], SECRET)
            self.assertTrue(d.ask("GET", f"/api/v1/runs/{said['run_id']}/replay")[1]["same"])

    def test_each_guard_has_an_idempotency_key_of_its_own(self):
        seen = []

        class Hook(BaseHTTPRequestHandler):
            def log_message(self, *_):
                pass

            def do_POST(self):
                self.rfile.read(int(self.headers["content-length"]))
                seen.append(self.headers["idempotency-key"])
                self.send_response(200)
                self.send_header("content-length", "15")
                self.end_headers()
                self.wfile.write(b'{"allow": true}')
        hook = ThreadingHTTPServer(("127.0.0.1", 0), Hook)
        threading.Thread(target=hook.serve_forever, args=(0.02,), daemon=True).start()
        url = f"http://127.0.0.1:{hook.server_port}/check"
        agents = {"librarian": {"model": "m", "prompt": "You help.", "guard": {"input": url, "output": url}}}
        with Model(lambda ask: "hello") as model, Library(model, agents) as d:
            self.assertEqual(d.go("hi")["text"], "hello")
        hook.shutdown()
        hook.server_close()
        self.assertEqual((len(seen), len(set(seen))), (2, 2), seen)


def ponders(ask):
    """Lends a book by the prompt's strategy, with reasoning each time."""
    system, text = ask["messages"][0]["content"], json.dumps(ask["messages"])
    lend = re.findall(r"[\w.-]*lend\b", json.dumps(ask))[0]
    done = "lent" in text
    if system.startswith("React"):
        return f"Thought: {THOUGHT}\n" + ("Final Answer: done" if done else
                                          f'Action: {lend}\nAction Input: {{"title": "Dune"}}')
    if system.startswith("Classic"):
        return json.dumps({"answer": "done"} if done else {"reason": THOUGHT, "tools": [
            {"tool": lend, "parameters": {"title": "Dune"}}]})
    return {"reasoning": THOUGHT, **({"text": "done"} if done else {"calls": [(lend, {"title": "Dune"})]})}


class Thoughts(unittest.TestCase):
    agents = {s: {"model": "m", "prompt": s.title() + " you are.", "strategy": s, "tools": ["library"],
                  "approve": ["library.lend"]} for s in ("native", "react", "classic")}

    def test_reasoning_is_shown_to_keys_that_may_see_it_everywhere_or_nowhere(self):
        for ann, seen in (({}, False), ({"reasoning": "hide"}, False), ({"reasoning": "show"}, True)):
            with Model(ponders) as model, Library(model, self.agents, keys=keys(ann=ann), key=ANN) as d:
                for name in self.agents:
                    with self.subTest(agent=name, key=ann):
                        check = self.assertIn if seen else self.assertNotIn
                        status, text = d.ask("POST", f"/api/v1/agents/{name}/runs", {"input": "lend", "stream": True})
                        check(THOUGHT, text)
                        id = json.loads(text.split("data: ", 1)[1].split("\n", 1)[0])["run_id"]
                        check(THOUGHT, everything(d, id, ANN))
                        self.assertIn(THOUGHT, everything(d, id, BOSS))
                        waiting = [r for r in d.ask("GET", "/api/v1/runs", key=BOSS)[1]["runs"] if r["run_id"] == id][0]
                        self.assertEqual(waiting["pending"]["why"], THOUGHT)
                        d.ask("POST", f"/api/v1/runs/{id}/answer",
                              {"seq": waiting["pending"]["seq"], "word": "approve"}, key=BOSS)
                        until(lambda: d.one(id)["status"] == "done")
                        check(THOUGHT, everything(d, id, ANN))

    def test_an_agent_as_a_model_hides_reasoning_by_the_policy_of_models(self):
        def thinks(ask):
            return {"reasoning": THOUGHT, "text": "done"}
        body = {"messages": [{"role": "user", "content": "x"}]}
        for more, seen in (({}, False), ({"reasoning": {"show": True}}, True)):
            with Model(thinks) as model, Library(model, **more) as d:
                for stream in (False, True):
                    plain, agent = (json.dumps(d.ask("POST", "/v1/chat/completions", {**body, "model": m, "stream": stream}))
                                    for m in ("m", "agent/librarian"))
                    self.assertEqual((THOUGHT in plain, THOUGHT in agent), (seen, seen), more)


class Allowed(unittest.TestCase):
    def test_a_list_of_models_names_agents(self):
        agents = {n: {"model": "m", "prompt": "You help."} for n in ("one", "two")}
        flows = {"w1": [{"agent": "one"}], "w2": [{"agent": "one"}, {"agent": "two"}]}
        lists = keys(ann={"models": ["agent/one"]}, bob={"models": ["m"]})
        with Model(lambda ask: "done") as model, Library(model, agents, keys=lists, key=ANN, workflows=flows) as d:
            for key, model_status, one, two, w1, w2 in ((ANN, 403, 200, 403, 200, 403), (BOB, 200, 403, 403, 403, 403),
                                                        (BOSS, 200, 200, 200, 200, 200)):
                chat = {"messages": [{"role": "user", "content": "x"}]}
                for name, status in (("m", model_status), ("agent/one", one), ("agent/two", two)):
                    self.assertEqual(d.ask("POST", "/v1/chat/completions", {**chat, "model": name}, key=key)[0], status)
                for name, status in (("agents/one", one), ("agents/two", two), ("workflows/w1", w1),
                                     ("workflows/w2", w2)):
                    got, said = d.ask("POST", f"/api/v1/{name}/runs", {"input": "x"}, key=key)
                    self.assertEqual(got, status, (name, key, said))
                    if got == 403:
                        self.assertIn("agent/", json.dumps(said))
                    else:
                        self.assertEqual(said["status"], "done")


if __name__ == "__main__":
    main()
