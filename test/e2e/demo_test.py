#!/usr/bin/env python3
"""`rationale demo` and the files of the dashboard, as a new user gets them: printed and served.
test/browser tests the use of the pages.

    test/e2e/demo_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import concurrent.futures
import gzip
import http.client
import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, Case, environment, main, read_until, run
from gateway import Gateway

QUESTIONS = {q["id"]: q for q in json.loads((SOURCE / "example/demo/questions.json").read_text())}
SHOW = {"x-rationale-reasoning": "show"}
CAPS = {"low": 128, "medium": 256, "high": 512}


class Demo:
    def __init__(self, *args, folder=None):
        self.args, self.folder = args, folder

    def __enter__(self):
        more = {"TMPDIR": str(self.folder)} if self.folder else {}
        self.child = subprocess.Popen([BINARY, "demo", *self.args], stdout=subprocess.PIPE,
                                      stderr=subprocess.PIPE, env=environment(**more))
        self.said = read_until(self.child.stdout.fileno(), b"Ctrl-C ends it.\n").decode()
        self.port = int(re.search(r"^  http://127\.0\.0\.1:(\d+)/live$", self.said, re.M)[1])
        return self

    def __exit__(self, *_):
        if self.child.poll() is None:
            self.child.kill()
        self.child.communicate()

    def end(self, number):
        self.child.send_signal(number)
        _, err = self.child.communicate(timeout=PATIENCE)
        return self.child.returncode, err.decode()


def ask(port, method, path, body=None, headers=None):
    """Returns (status, headers, text)."""
    c = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE)
    c.request(method, path, json.dumps(body) if isinstance(body, dict) else body, headers or {})
    reply = c.getresponse()
    text = reply.read().decode()
    c.close()
    return reply.status, {k.lower(): v for k, v in reply.getheaders()}, text


def events(text):
    """Returns [(name, data)] of an event stream."""
    found = re.findall(r"^event: (.*)\ndata: (.*)\n$", text, re.M)
    return [(name, json.loads(data)) for name, data in found]


def joined(got, name):
    return "".join(data["text"] for n, data in got if n == name)


def reply_parts(name):
    parts = re.split(r"^--- (.*)\n", (SOURCE / f"example/demo/{name}.reply").read_text(), flags=re.M)
    return {title: text.strip("\n") for title, text in zip(parts[1::2], parts[2::2])}


class Process(Case):
    def folder(self):
        path = Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, path)
        return path

    def test_it_leaves_nothing_behind_however_it_ends(self):
        for number, code in ((signal.SIGINT, 0), (signal.SIGTERM, 0), (signal.SIGHUP, 0),
                             (signal.SIGKILL, -signal.SIGKILL)):
            folder = self.folder()
            with Demo("--listen", "127.0.0.1:0", folder=folder) as demo:
                own = list(folder.iterdir())
                self.assertEqual([(p.is_dir(), p.stat().st_mode & 0o777) for p in own], [(True, 0o700)])
                self.assertEqual(demo.end(number), (code, ""))
                until = time.monotonic() + PATIENCE  # a watcher removes the folder after a kill
                while number == signal.SIGKILL and list(folder.iterdir()) and time.monotonic() < until:
                    time.sleep(0.02)
                self.assertEqual(list(folder.iterdir()), [])

    def test_it_leaves_nothing_behind_if_tmpdir_is_no_absolute_path(self):
        folder = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, folder)
        done = run("demo", "--once", "--listen", "127.0.0.1:0", cwd=folder, env=environment(TMPDIR="."))
        self.assertEqual((done.code, os.listdir(folder)), (0, []), done.err)

    def test_it_takes_the_next_port_that_is_free(self):
        with Demo() as one, Demo() as two:
            self.assertNotEqual(one.port, two.port)  # a lower port may have become free since
            for demo in (one, two):
                self.assertIn(demo.port, range(8484, 8484 + 32))
                self.assertEqual(ask(demo.port, "GET", "/health")[0], 200)

    def test_a_port_that_was_asked_for_and_is_taken(self):
        with Demo("--listen", "127.0.0.1:0") as one:
            folder = self.folder()
            done = run("demo", "--listen", f"127.0.0.1:{one.port}", env=environment(TMPDIR=str(folder)))
            self.bad(done, 1, f"127.0.0.1:{one.port}", "in use", "without --listen the demo takes the next free port")
            self.assertEqual(list(folder.iterdir()), [])

    def test_addresses_that_are_none(self):
        self.bad(run("demo", "--listen", "nonsense"), 2, '"nonsense" is not an address', "127.0.0.1:8484")
        done = run("demo", env=environment(TMPDIR="/no/such"))
        self.bad(done, 1, "/no/such", "No such file or directory")

    def test_a_browser_that_cannot_be_opened_is_no_failure(self):
        folder = self.folder()
        child = subprocess.Popen([BINARY, "demo", "--open", "--listen", "127.0.0.1:0"],
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 env={**environment(), "PATH": str(folder)})
        read_until(child.stderr.fileno(), b"no browser could be opened")
        child.send_signal(signal.SIGINT)
        child.communicate(timeout=PATIENCE)
        self.assertEqual(child.returncode, 0)

    def test_open_gives_the_browser_the_page(self):
        folder = self.folder()
        (folder / "xdg-open").write_text(f'#!/bin/sh\necho "$1" > {folder}/new && mv {folder}/new {folder}/url\n')
        (folder / "xdg-open").chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        with subprocess.Popen([BINARY, "demo", "--open", "--listen", "127.0.0.1:0"],
                              stdout=subprocess.PIPE, env={**environment(), "PATH": path}) as child:
            said = read_until(child.stdout.fileno(), b"Ctrl-C ends it.\n").decode()
            until = time.monotonic() + PATIENCE
            while not (folder / "url").exists() and time.monotonic() < until:
                time.sleep(0.02)
            self.assertIn(f"  {(folder / 'url').read_text()}", said)
            child.send_signal(signal.SIGINT)
            child.communicate(timeout=PATIENCE)


class Asking(Case):
    @classmethod
    def setUpClass(cls):
        cls.demo = Demo("--listen", "127.0.0.1:0").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.demo.__exit__()

    def test_the_printed_commands_work(self):
        commands = re.findall(r"^curl .*?}'$", self.demo.said, re.M | re.S)
        self.assertEqual(len(commands), 3)
        replies = []
        for command in commands:
            words = shlex.split(command.replace("\\\n", " "))
            options = {w: words[i + 1] for i, w in enumerate(words) if w in ("-d", "-H")}
            path = next(w for w in words if w.startswith("http")).split(str(self.demo.port))[1]
            headers = dict([options["-H"].split(": ")]) if "-H" in options else {}
            status, _, text = ask(self.demo.port, "POST", path, options["-d"], headers)
            self.assertEqual(status, 200, text)
            replies.append(text)
        incident, policy = reply_parts("incident"), reply_parts("policy")
        message = json.loads(replies[0])["choices"][0]["message"]
        self.assertEqual(message, {"role": "assistant", "content": incident["answer"]})
        thinking, answer = json.loads(replies[1])["content"]
        self.assertEqual((thinking["type"], thinking["thinking"]), ("thinking", incident["reasoning"]))
        self.assertEqual((answer["type"], answer["text"]), ("text", incident["answer"]))
        got = events(replies[2])
        self.assertTrue(policy["reasoning"].startswith(joined(got, "reasoning_delta")))
        self.assertEqual(joined(got, "token").strip(), policy["answer"])
        self.assertIn("reasoning_tokens=128; cap=128; cut=budget", replies[2])

    def generate(self, q, level):
        body = {"model": q["model"], "prompt": q["prompt"], "reasoning_effort": level}
        if "tools" in q:
            body["tools"] = q["tools"]
        return ask(self.demo.port, "POST", "/generate", body, SHOW)

    def check_reply(self, q, level, text):
        want, got = reply_parts("incident" if q["id"] == "budget" else q["id"]), events(text)
        thought, said = joined(got, "reasoning_delta"), joined(got, "token")
        self.assertEqual(said.strip(), want.get("answer", ""))
        self.assertNotIn("think>", said)
        calls = [data for name, data in got if name == "tool_call"]
        titles = [t for t in want if t.startswith("call ")]
        self.assertEqual([f"call {c['name']}" for c in calls], titles)
        for title, call in zip(titles, calls):
            self.assertEqual(call["arguments"], json.loads(want[title]))
        if level == "none":
            self.assertEqual(thought, "")
            return
        ended = [data for name, data in got if name == "analysis" and data["state"] == "ended"]
        self.assertEqual(ended[0]["cap"], CAPS[level])
        self.assertLessEqual(ended[0]["tokens"], CAPS[level])
        self.assertTrue(want["reasoning"].startswith(thought.strip()), thought)
        self.assertEqual(thought.strip() == want["reasoning"], level != "low")
        self.assertIn(f"cap={CAPS[level]}; cut={'budget' if level == 'low' else 'none'}", text)

    def test_every_question_at_every_level(self):
        with concurrent.futures.ThreadPoolExecutor(16) as pool:
            jobs = [(q, level, pool.submit(self.generate, q, level))
                    for q in QUESTIONS.values() for level in ("none", *CAPS)]
            for q, level, job in jobs:
                status, _, text = job.result()
                self.assertEqual(status, 200, (q["id"], level, text))
                with self.subTest(question=q["id"], level=level):
                    self.check_reply(q, level, text)

    def test_every_dialect(self):
        q, want = QUESTIONS["incident"], reply_parts("incident")
        user = [{"role": "user", "content": q["prompt"]}]
        contents = [{"role": "user", "parts": [{"text": q["prompt"]}]}]
        requests = (
            ("/v1/chat/completions", {"model": q["model"], "messages": user}),
            ("/v1/responses", {"model": q["model"], "input": q["prompt"]}),
            ("/v1/messages", {"model": q["model"], "max_tokens": 1024, "messages": user}),
            (f"/v1beta/models/{q['model']}:generateContent", {"contents": contents}),
            ("/api/chat", {"model": q["model"], "messages": user, "stream": False}),
        )
        for path, body in requests:
            with self.subTest(path):
                status, _, text = ask(self.demo.port, "POST", path, body, SHOW)
                self.assertEqual(status, 200, text)
                self.assertIn(json.dumps(want["answer"]), json.dumps(json.loads(text)))
                self.assertIn(json.dumps(want["reasoning"]), json.dumps(json.loads(text)))

    def test_a_question_that_was_not_recorded(self):
        body = {"model": "demo-thinker", "prompt": "What is the meaning of life?"}
        for _ in range(8):  # must not open the circuit breaker
            status, _, text = ask(self.demo.port, "POST", "/generate", body)
            self.assertEqual(status, 501, text)
            message = json.loads(text)["error"]["message"]
            self.assertIn("no recording of this request; the nearest (line", message)
            self.assertIn('/content: there it has "', message)
        self.assertEqual(self.generate(QUESTIONS["order"], "none")[0], 200)

    def test_models(self):
        _, _, text = ask(self.demo.port, "GET", "/v1/models")
        self.assertEqual([m["id"] for m in json.loads(text)["data"]],
                         ["demo-thinker", "demo-tags", "example-thinker", "policy-thinker", "lane-model"])


class Three(Case):
    """An incident, a policy and an order, all from one command; each decision has its reason."""

    def test_defect_25_one_binary_shows_all_three_and_ends(self):
        done = subprocess.run([BINARY, "demo", "--once", "--listen", "127.0.0.1:0"], capture_output=True,
                              text=True, timeout=4 * PATIENCE, env=environment())
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        parts = re.split(r"^(An incident is investigated|A policy is verified|An order is taken)  (http://\S+)$",
                         done.stdout, flags=re.M)
        titles, links, told = parts[1::3], parts[2::3], parts[3::3]
        self.assertEqual(titles, ["An incident is investigated", "A policy is verified", "An order is taken"])
        for link, page in zip(links, ("/incidents/", "/policy", "/orders/demo")):
            self.assertIn(page, link)
        for text in told:
            self.assertRegex(text, r"(?m)^  why .{20,}$")
        self.assertRegex(told[0], r"(?m)^  found .*db-primary")
        self.assertNotIn("why [DIRECT] **What is wrong", told[0], "the answer is no reason")
        self.assertRegex(told[1], r"(?m)^  verdict conservative_treatment: met ")
        self.assertRegex(told[2], r"(?m)^  counter .*Smokehouse Burger")
        self.assertNotRegex(done.stdout, r"</?think")

    def test_they_are_on_record_afterwards(self):
        with Demo("--listen", "127.0.0.1:0") as demo:
            deadline = time.monotonic() + 4 * PATIENCE
            while time.monotonic() < deadline:
                status, _, text = ask(demo.port, "GET", "/api/v1/orders/demo")
                if status == 200 and json.loads(text)["finalized"]:
                    break
                time.sleep(0.1)
            self.assertTrue(json.loads(text)["finalized"], text)
            found = json.loads(ask(demo.port, "GET", "/api/v1/incidents")[2])["incidents"]
            self.assertEqual([a["status"] for a in found], ["completed"])
            results = json.loads(ask(demo.port, "GET", "/api/v1/policy/results")[2])["results"]
            self.assertEqual([(r["status"], r["controller"]) for r in results], [("met", "react")])
            for session in (found[0]["session_id"], results[0]["session_id"], "demo"):
                got = json.loads(ask(demo.port, "GET", f"/api/v1/history/decisions?session_id={session}")[2])
                self.assertTrue(got["decisions"], session)
                self.assertTrue(all(d["entry"] for d in got["decisions"]))


HTML = {"accept": "text/html,application/xhtml+xml"}
ADDRESSES = ("/", "/live", "/compare", "/agents", "/workflows/some-id", "/runs/some-id", "/sessions", "/sessions/some-id",
             "/incidents", "/incidents/some-id", "/policy",
             "/orders", "/orders/some-id", "/optimize", "/decisions", "/reasoning", "/providers", "/keys", "/system")


class Page(Case):
    FILES = {**{path: "text/html; charset=utf-8" for path in (*ADDRESSES, "/page/index.html")},
             "/page/page.css": "text/css; charset=utf-8", "/page/icon.svg": "image/svg+xml",
             "/page/page.js": "text/javascript; charset=utf-8",
             "/page/questions.json": "application/json"}

    @classmethod
    def setUpClass(cls):
        cls.demo = Demo("--listen", "127.0.0.1:0").__enter__()

    @classmethod
    def tearDownClass(cls):
        cls.demo.__exit__()

    def get(self, path, method="GET", **headers):
        return ask(self.demo.port, method, path,
                   headers={**HTML, **{k.replace("_", "-"): v for k, v in headers.items()}})

    def test_types_and_protection(self):
        for path, kind in self.FILES.items():
            status, headers, text = self.get(path)
            self.assertEqual((status, headers["content-type"]), (200, kind), path)
            self.assertEqual(headers["x-content-type-options"], "nosniff")
            self.assertEqual(headers["referrer-policy"], "no-referrer")
            policy = dict(p.split(" ", 1) for p in headers["content-security-policy"].split("; "))
            self.assertEqual(policy["default-src"], "'none'")
            self.assertEqual(policy["script-src"], "'self'")
            self.assertEqual(policy["style-src"], "'self'")
            self.assertEqual(policy["connect-src"], "'self'")
            self.assertEqual(policy["frame-ancestors"], "'none'")
            self.assertNotIn("unsafe", headers["content-security-policy"])
            self.assertGreater(len(text), 100, path)

    def test_every_address_is_the_same_page(self):
        page = self.get("/page/index.html")[2]
        for path in ADDRESSES:
            self.assertEqual(self.get(path)[2], page, path)

    def test_the_root_is_json_for_who_does_not_ask_for_a_page(self):
        for headers in ({}, {"accept": "*/*"}, {"accept": "application/json"}):
            status, got, text = ask(self.demo.port, "GET", "/", headers=headers)
            self.assertEqual((status, got["content-type"]), (200, "application/json"))
            self.assertEqual(set(json.loads(text)), {"message", "status"})
            self.assertIn("accept", got["vary"])

    def test_packed_for_who_takes_it(self):
        for path in (p for p in self.FILES if not p.endswith(".json")):
            plain = self.get(path)
            self.assertNotIn("content-encoding", plain[1])
            c = http.client.HTTPConnection("127.0.0.1", self.demo.port, timeout=PATIENCE)
            c.request("GET", path, headers={**HTML, "accept-encoding": "gzip"})
            reply = c.getresponse()
            body = reply.read()
            c.close()
            self.assertEqual(reply.getheader("content-encoding"), "gzip", path)
            self.assertIn("accept-encoding", reply.getheader("vary"))
            self.assertEqual(gzip.decompress(body).decode(), plain[2])
            self.assertEqual(reply.getheader("etag"), plain[1]["etag"])

    def test_caching(self):
        for path in ("/", "/sessions", "/page/page.css", "/page/page.js", "/page/icon.svg"):
            _, headers, text = self.get(path)
            self.assertEqual(headers["cache-control"], "no-cache")
            again = self.get(path, if_none_match=headers["etag"])
            self.assertEqual((again[0], again[2]), (304, ""))
            self.assertEqual(again[1]["etag"], headers["etag"])
            other = self.get(path, if_none_match='W/"other"')
            self.assertEqual((other[0], other[2]), (200, text))
            head = self.get(path, method="HEAD")
            self.assertEqual((head[0], head[2], head[1]["etag"]), (200, "", headers["etag"]))

    def test_nothing_inline_and_nothing_from_elsewhere(self):
        page = self.get("/")[2]
        self.assertEqual(re.findall(r"<style|\sstyle=|\son\w+=|javascript:", page), [])
        for tag in re.findall(r"<script[^>]*>[^<]*", page):
            self.assertRegex(tag, r'^<script src="/page/page\.js"[^>]*>$')
        for path in self.FILES:  # names of vocabularies are not addresses
            text = re.sub(r"http://www\.w3\.org/\d+/(svg|xhtml|Math/MathML|xlink)", "", self.get(path)[2])
            found = re.findall(r"https?://[a-z0-9]|url\(|@import|insertAdjacentHTML|document\.write|eval\(|new Function",
                               text)
            self.assertEqual(found, [], path)

    def test_what_is_not_there(self):
        for path in ("/page/", "/page/nope.js", "/page/../page.c", "/page/demo.yaml", "/page/page.js.gz",
                     "/sessions/", "/favicon.ico"):
            self.assertEqual(self.get(path)[0], 404, path)
        self.assertEqual(ask(self.demo.port, "POST", "/", {})[0], 405)

    def test_it_is_the_daemons_too(self):
        config = {"store": "none", "providers": {"openai": {"models": ["m"], "base_url": "http://127.0.0.1:1/v1"}}}
        with Gateway(BINARY, config, client_key="secret") as gateway:
            self.assertEqual(ask(gateway.port, "GET", "/")[0], 200)
            self.assertEqual(ask(gateway.port, "GET", "/page/questions.json")[2], "[]")
            self.assertEqual(ask(gateway.port, "GET", "/v1/models")[0], 401)


if __name__ == "__main__":
    main()
