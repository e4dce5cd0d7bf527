#!/usr/bin/env python3
"""`rationale optimize --app`: prompts that improve, with a model whose behaviour depends on its
prompt.

    test/e2e/tune_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

The model takes orders well only if its system prompt has a certain sentence; for a reflection
prompt, it proposes the prompt with that sentence. So the right outcome is known, and all other
parts are real: the command, the gateway, the store, the registry.
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import signal
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, Case, environment, main, run

SENTENCE = "Look every item up, then add it at once."
ITEMS = {"Cola": ("cd-01", "Cold Drinks"), "Lemonade": ("cd-03", "Cold Drinks"),
         "Iced Tea": ("cd-06", "Cold Drinks"), "Coffee": ("hd-01", "Hot Drinks")}


class Model:
    """Counts its calls."""

    def __init__(self):
        self.calls, self.reflections, self.proposal = 0, 0, None
        model = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                body = json.loads(self.rfile.read(int(self.headers["content-length"])))
                model.calls += 1
                said = json.dumps({"id": "x", "object": "chat.completion", "created": 1, "model": body["model"],
                                   "choices": [{"index": 0, **model.answer(body)}],
                                   "usage": {"prompt_tokens": 9, "completion_tokens": 9, "total_tokens": 18}}).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(said)))
                self.end_headers()
                self.wfile.write(said)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.port = self.server.server_address[1]

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    @staticmethod
    def call(name, **arguments):
        call = {"id": f"call_{name}", "type": "function",
                "function": {"name": name, "arguments": json.dumps(arguments)}}
        return {"message": {"role": "assistant", "content": None, "tool_calls": [call]}, "finish_reason": "tool_calls"}

    @staticmethod
    def text(words):
        return {"message": {"role": "assistant", "content": words}, "finish_reason": "stop"}

    def reflect(self, prompt):
        self.reflections += 1
        if self.proposal:
            return self.text(self.proposal)
        fenced = prompt.split("```")[1]
        return self.text(f"What is missing is a rule.\n```\n{fenced.strip()}\n{SENTENCE}\n```")

    def answer(self, body):
        messages = body["messages"]
        if messages[0]["role"] != "system":
            return self.reflect(messages[0]["content"])
        if SENTENCE not in messages[0]["content"]:
            return self.text("Of course.")
        asked = next(m["content"] for m in reversed(messages) if m["role"] == "user")
        name = next(n for n in ITEMS if n.lower() in asked.lower())
        done = sum(m["role"] == "tool" for m in messages)
        if done == 0:
            return self.call("lookup_menu_item", item_name=name)
        if done == 1:
            return self.call("add_item_to_order", item_id=ITEMS[name][0], item_name=name,
                             category_name=ITEMS[name][1], quantity=1)
        return self.text(f"One {name}.")


class Tune(Case):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp())
        self.model = Model()
        self.addCleanup(self.model.close)
        cases = self.folder / "cases"
        cases.mkdir()
        (cases / "all.jsonl").write_text("".join(
            json.dumps({"id": n, "turns": [f"One {n.lower()}, please."], "expected": [{"item_id": i}]}) + "\n"
            for n, (i, _) in ITEMS.items()))
        self.config = self.folder / "rationale.yaml"
        self.write()

    def write(self, **more):
        self.config.write_text(json.dumps({
            "store": f"sqlite:{self.folder / 'h.db'}", "log": {"level": "error"},
            "orders": {"menu": str(SOURCE / "example/orders/menu.json")},
            "providers": {"test": {"kind": "openai", "base_url": f"http://127.0.0.1:{self.model.port}/v1",
                                   "models": ["lane"], "enable_reasoning": False, "retries": 0}}, **more}))

    def optimize(self, *args):
        return run("optimize", "--app", "orders", "--config", str(self.config), *args)

    def begin(self, *args):
        return self.optimize("--train", str(self.folder / "cases"), *args)

    def prompts(self):
        done = run("prompts", "list", "--json", "--config", str(self.config))
        self.assertEqual(done.code, 0, done.err)
        return json.loads(done.out)

    def events(self, text):
        return [json.loads(line) for line in text.splitlines()]

    def test_what_wins_becomes_a_draft_with_parent_run_and_scores(self):
        done = self.begin("--budget", "40", "--run", "first", "--json")
        self.assertEqual(done.code, 0, done.err)
        events = self.events(done.out)
        last = events[-1]
        self.assertEqual((last["event"], last["best"], last["mean"]), ("finish", 1, 1))
        self.assertEqual(last["calls"], 14)  # of 40: the seed, a minibatch twice, the perfect candidate
        self.assertIn(SENTENCE, last["texts"]["system_prompt"])
        drafts = [p for p in self.prompts() if p["state"] == "draft"]
        self.assertEqual(len(drafts), 1)
        self.assertEqual((drafts[0]["name"], drafts[0]["run_id"]), ("orders", "first"))
        self.assertTrue(drafts[0]["parent"].startswith("orders@"))
        self.assertEqual(drafts[0]["scores"]["score"], 1)
        self.assertLess(drafts[0]["scores"]["parent"], 1)
        shown = run("prompts", "show", drafts[0]["id"], "--config", str(self.config))
        self.assertIn(SENTENCE, shown.out.decode())

    def test_killed_and_resumed_it_ends_the_same_and_asks_nothing_twice(self):
        whole = self.begin("--budget", "40", "--run", "whole", "--json")
        self.assertEqual(whole.code, 0, whole.err)
        asked = self.model.calls
        self.model.calls = 0
        child = subprocess.Popen([BINARY, "optimize", "--app", "orders", "--config", str(self.config), "--run", "cut",
                                  "--train", str(self.folder / "cases"), "--budget", "40", "--json"],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        deadline = time.monotonic() + PATIENCE
        while self.model.calls < 6 and time.monotonic() < deadline:
            time.sleep(0.005)
        child.send_signal(signal.SIGKILL)
        child.wait()
        self.assertGreaterEqual(self.model.calls, 6)
        done = self.optimize("--resume", "cut", "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(done.out, whole.out)
        # Only calls in progress at the kill (four evaluations of up to three calls) are repeated.
        self.assertLessEqual(self.model.calls, asked + 12)

    def test_a_model_that_cannot_be_asked_is_no_score(self):
        whole = self.begin("--budget", "40", "--run", "whole", "--json")
        self.assertEqual(whole.code, 0, whole.err)
        nobody = {"test": {"kind": "openai", "base_url": "http://127.0.0.1:9/v1", "models": ["lane"], "retries": 0}}
        self.write(providers=nobody)
        cut = self.begin("--budget", "40", "--run", "cut")
        self.assertEqual(cut.code, 5, cut.err)
        self.assertIn("the model could not be asked", cut.err)
        self.write()
        done = self.optimize("--resume", "cut", "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(done.out, whole.out)

    def test_ctrl_c_leaves_it_to_be_gone_on_with(self):
        child = subprocess.Popen([BINARY, "optimize", "--app", "orders", "--config", str(self.config), "--run", "left",
                                  "--train", str(self.folder / "cases"), "--budget", "4000"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=environment())
        deadline = time.monotonic() + PATIENCE
        while self.model.calls < 5 and time.monotonic() < deadline:
            time.sleep(0.005)
        child.send_signal(signal.SIGINT)
        out, err = child.communicate(timeout=PATIENCE)
        if child.returncode == 0:  # it ended before the signal
            return
        self.assertEqual(child.returncode, 7, err)
        self.assertIn("--resume left", out)

    def test_a_resumed_run_has_the_settings_it_started_with(self):
        options = ("--budget", "40", "--frontier", "instance", "--seed", "7")
        whole = self.begin(*options, "--run", "whole", "--json")
        self.assertEqual(whole.code, 0, whole.err)
        self.model.calls = 0
        child = subprocess.Popen([BINARY, "optimize", "--app", "orders", "--config", str(self.config), "--run", "cut",
                                  "--train", str(self.folder / "cases"), *options],
                                 stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, env=environment())
        deadline = time.monotonic() + PATIENCE
        while self.model.calls < 6 and time.monotonic() < deadline:
            time.sleep(0.005)
        child.kill()
        child.wait()
        fewer = self.folder / "fewer"
        fewer.mkdir()
        (fewer / "one.jsonl").write_text((self.folder / "cases" / "all.jsonl").read_text().splitlines()[0])
        for option, value, says in (("--budget", "9", "was started with --budget 40"),
                                    ("--seed", "8", "was started with --seed 7"),
                                    ("--frontier", "hybrid", "was started with --frontier instance"),
                                    ("--train", str(fewer), "have changed since run cut was started")):
            self.bad(self.optimize("--resume", "cut", option, value), 1, says)
        cases = self.folder / "cases" / "all.jsonl"
        text = cases.read_text()
        cases.write_text(text.replace("cd-03", "cd-04"))
        self.assertNotEqual(cases.read_text(), text)
        self.bad(self.optimize("--resume", "cut"), 1, "have changed since run cut was started")
        cases.write_text(text)
        done = self.optimize("--resume", "cut", "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual(done.out, whole.out)

    def test_a_proposal_that_loses_a_tool_or_copies_a_case_is_dropped(self):
        self.model.proposal = "```\nBe nice.\n```"
        done = self.begin("--budget", "24", "--run", "lost")
        self.assertEqual(done.code, 0, done.err)
        self.assertIn("loses a name", done.err)
        self.assertGreater(self.model.reflections, 0)
        self.assertEqual([p for p in self.prompts() if p["state"] == "draft"], [])
        self.assertIn("Nothing beat", done.out.decode())

    def test_a_case_may_have_several_lines(self):
        cases = self.folder / "cases"
        for i, line in enumerate((cases / "all.jsonl").read_text().splitlines()):
            (cases / f"{i}.json").write_text(json.dumps(json.loads(line), indent=2))
        (cases / "all.jsonl").unlink()
        done = self.begin("--budget", "40", "--run", "lines", "--json")
        self.assertEqual(done.code, 0, done.err)
        self.assertEqual([p["scores"]["score"] for p in self.prompts() if p["state"] == "draft"], [1])

    def test_mistakes_are_said(self):
        self.bad(self.optimize("--budget", "9"), 2, "--train")
        self.bad(self.optimize("--train", str(self.folder / "nothing")), 1, "nothing")
        self.bad(self.begin("--budget", "many"), 2, "--budget")
        self.bad(self.optimize("--resume", "unknown"), 1, "unknown")
        (self.folder / "empty").mkdir()
        self.bad(self.optimize("--train", str(self.folder / "empty")), 1, "no labelled cases")
        wrong = self.folder / "wrong"
        wrong.mkdir()
        (wrong / "a.json").write_text(json.dumps({"turns": ["One tea."], "expected": [{"item_id": "none"}]}))
        self.bad(self.optimize("--train", str(wrong)), 1, "a.json: expected: an item_id is not on the menu")
        self.bad(self.begin("--budget", "1", "--run", "small"), 1, "does not even validate the seed")
        small = self.begin("--budget", "5", "--run", "small")  # the first left nothing behind
        self.assertEqual((small.out.count(b"a budget of 5"), small.err.count("a budget of 5")), (1, 0))

    def test_the_dashboard_is_told(self):
        self.assertEqual(self.begin("--budget", "40", "--run", "seen").code, 0)
        with Served(self.config) as port:
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            c.request("GET", "/api/v1/optimize")
            runs = json.loads(c.getresponse().read())["runs"]
            self.assertEqual([(r["run_id"], r["status"], r["best_score"]) for r in runs], [("seen", "finished", 1)])
            c.request("GET", "/api/v1/optimize/seen")
            one = json.loads(c.getresponse().read())
            self.assertEqual((one["events"][0]["event"], one["events"][-1]["event"]), ("start", "finish"))
            self.assertIn("system_prompt", one["input"]["texts"])
            c.request("GET", "/api/v1/optimize/none")
            self.assertEqual(c.getresponse().status, 404)


class Reader(Model):
    """Reads a policy before it decides, if its prompt says so; otherwise it is uncertain."""

    def answer(self, body):
        messages = body["messages"]
        if messages[0]["role"] != "system":
            return self.reflect(messages[0]["content"])
        if SENTENCE not in messages[0]["content"]:
            return self.text("I do not know.")
        results = [m["content"] for m in messages if m["role"] == "tool"]
        if len(results) == 0:
            return self.call("pi_search", query="age of the patient", top_k=3)
        if len(results) == 1:
            return self.call("facts_get", field_name="patient_age")
        age = json.loads(results[1])["value"]
        return self.call("finish", status="met" if age >= 18 else "missing", confidence=0.95, policy_section="Age",
                         rationale=f"The patient is {age}, and 18 is the least.", policy_pages=[1],
                         evidence_doc_id="chart", evidence_page=1)


class TunePolicy(Case):
    def optimize(self, **policy):
        folder = Path(tempfile.mkdtemp())
        model = Reader()
        self.addCleanup(model.close)
        for part, ages in (("train", (18, 17, 40)), ("val", (19, 16))):
            (folder / part).mkdir()
            for age in ages:
                field = {"field_name": "patient_age", "value": age, "confidence": 0.95, "doc_id": "chart", "page": 1,
                         "bbox": [0, 0, 1, 1]}
                (folder / part / f"{age}.json").write_text(json.dumps({
                    "case_bundle": {"case_id": f"case-{age}", "policy_id": "lumbar-mri", "fields": [field],
                                    "metadata": {"policy_document_id": "lumbar-mri", "criteria": ["age"]}},
                    "expect": [{"criterion_id": "age", "status": "met" if age >= 18 else "missing",
                                  "section": "Lumbar spine MRI > Who is covered > Age"}]}))
        config = folder / "rationale.yaml"
        config.write_text(json.dumps({
            "store": f"sqlite:{folder / 'h.db'}", "log": {"level": "error"},
            "policy": {"documents": {"lumbar-mri": str(SOURCE / "example/policy/lumbar-mri.md")}, "search": "bm25",
                       **policy},
            "providers": {"test": {"kind": "openai", "base_url": f"http://127.0.0.1:{model.port}/v1",
                                   "models": ["reader"], "enable_reasoning": False, "retries": 0}}}))
        done = run("optimize", "--app", "policy", "--config", str(config), "--train", str(folder / "train"),
                   "--val", str(folder / "val"), "--budget", "60", "--run", "p", "--json")
        self.assertEqual(done.code, 0, done.err)
        return config, [json.loads(line) for line in done.out.splitlines()]

    def test_the_limits_of_a_verification_are_those_of_an_evaluation(self):
        _, events = self.optimize(max_tokens=30)
        self.assertEqual({e["objectives"]["status"] for e in events if e["event"] == "valset"}, {0})

    def test_an_evaluation_is_a_run_of_the_controller_judged_by_four_metrics(self):
        config, events = self.optimize()
        seed = next(e for e in events if e["event"] == "valset")
        self.assertEqual(set(seed["objectives"]), {"citation", "coherence", "calibration", "status"})
        self.assertEqual(seed["objectives"]["status"], 0)
        last = events[-1]
        self.assertGreater(last["mean"], seed["mean"] + 0.3)
        best = [e for e in events if e["event"] == "valset" and e["candidate"] == last["best"]][0]
        self.assertEqual((best["objectives"]["status"], best["objectives"]["citation"]), (1, 1))
        listed = json.loads(run("prompts", "list", "--json", "--config", str(config)).out)
        self.assertEqual([(p["name"], p["run_id"]) for p in listed if p["state"] == "draft"], [("policy", "p")])
        # Tools that no run has called get no turn, and the prompt that every run uses comes first.
        turns = [name for e in events if e["event"] == "components" for name in e["names"]]
        self.assertEqual(turns[0], "system_prompt")
        self.assertLessEqual(set(turns), {"system_prompt", "pi_search", "facts_get", "finish"})
        # An approver sees each metric, and which of them are below their floors.
        scores = next(p["scores"] for p in listed if p["state"] == "draft")
        floors = {"citation": 0.85, "coherence": 0.75, "calibration": 0.70, "status": 0.90}
        self.assertEqual(scores["objectives"], best["objectives"])
        self.assertEqual(scores["below_floor"], [n for n, least in floors.items() if scores["objectives"][n] < least])
        with Served(config) as port:
            self.check_metrics(port, last, scores)

    def check_metrics(self, port, last, scores):
        deadline = time.monotonic() + PATIENCE
        while True:
            c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
            c.request("GET", "/metrics")
            page = dict(line.rsplit(" ", 1) for line in c.getresponse().read().decode().splitlines() if line[0] != "#")
            if page.get('gepa_optimizations_total{status="finished"}') == "1" or time.monotonic() > deadline:
                break
            time.sleep(0.05)
        self.assertEqual(page['gepa_optimizations_total{status="finished"}'], "1")
        self.assertEqual(page['gepa_optimizations_total{status="failed"}'], "0")
        self.assertEqual(page["gepa_optimization_duration_seconds_count"], "1")
        self.assertEqual(page["gepa_evaluations_per_run_sum"], str(last["calls"]))
        self.assertAlmostEqual(float(page['gepa_prompt_score{metric_type="total"}']), last["mean"], 5)
        for name, mean in scores["objectives"].items():
            self.assertAlmostEqual(float(page[f'gepa_prompt_score{{metric_type="{name}"}}']), mean, 5)


class Served:
    """The daemon with this configuration, on a free port."""

    def __init__(self, config):
        self.config = config

    def __enter__(self):
        self.child = subprocess.Popen([BINARY, "serve", "--config", str(self.config), "--listen", "127.0.0.1:0"],
                                      stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True, env=environment())
        return int(self.child.stdout.readline().rsplit(":", 1)[1])

    def __exit__(self, *_):
        self.child.terminate()
        self.child.wait(PATIENCE)
        self.child.stdout.close()


if __name__ == "__main__":
    main()
