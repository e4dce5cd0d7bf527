#!/usr/bin/env python3
"""Orders: the command, the recordings, the routes, kill -9, a model that fails.

    test/e2e/order_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import shutil
import signal
import socket
import sqlite3
import subprocess
import tempfile
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, Case, Terminal, environment, main, run
from gateway import Gateway, digest, until

EXAMPLE = SOURCE / "example" / "orders"
MENU = str(EXAMPLE / "menu.json")
SORRY = "Sorry, I can't take your order right this moment."
COFFEE = {"item_id": "hd-01", "item_name": "Coffee", "category_name": "Hot Drinks"}


def calls(*wanted, text=""):
    """A reply with tool calls, given as (name, arguments)."""
    return {"role": "assistant", "content": text, "tool_calls": [
        {"id": f"call_{os.urandom(4).hex()}", "type": "function",
         "function": {"name": name, "arguments": json.dumps(arguments)}} for name, arguments in wanted]}


def text(words):
    return {"role": "assistant", "content": words}


LOOK = calls(("lookup_menu_item", {"item_name": "coffee"}),
             text="<reasoning>They want coffee, I look it up.</reasoning>")
ADD = calls(("add_item_to_order", {**COFFEE, "quantity": 2}),
            text="<reasoning>Found, two of them.</reasoning>")
DONE = text("<reasoning>Both are in.</reasoning>Two coffees. Anything else?")


class Model:
    """Sends its replies in order; a number is an HTTP status, "hang" waits for the test."""

    def __init__(self, *replies, fields=None):
        self.replies, self.fields = list(replies), fields or {}
        self.asked, self.times, self.free = [], [], threading.Event()
        model = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                model.answer(self)

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def answer(self, handler):
        body = handler.rfile.read(int(handler.headers["content-length"]))
        self.asked.append(json.loads(body))
        self.times.append(time.monotonic())
        reply = self.replies.pop(0) if self.replies else 500
        if reply == "hang":
            self.free.wait(PATIENCE)
        if reply in ("hang", "reset"):
            handler.connection.shutdown(socket.SHUT_RDWR)
            handler.close_connection = True
            return
        status = reply if isinstance(reply, int) else 200
        doc = {"error": {"message": "no", "type": "no"}} if status != 200 else {
            "id": "c", "object": "chat.completion", "created": 1, "model": "lane",
            "choices": [{"index": 0, "message": reply, "finish_reason":
                         "tool_calls" if reply.get("tool_calls") else "stop"}],
            "usage": {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}}
        sent = json.dumps(doc).encode()
        handler.send_response(status)
        handler.send_header("content-type", "application/json")
        for name, value in (self.fields if status != 200 else {}).items():
            handler.send_header(name, value)
        handler.send_header("content-length", str(len(sent)))
        handler.end_headers()
        handler.wfile.write(sent)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free.set()
        self.server.shutdown()
        self.server.server_close()


def config_of(model, folder=None, **more):
    out = {"log": {"level": "error"}, "orders": {"menu": MENU}, "breaker": {"failures": 1000},
           "providers": {"p": {"kind": "openai", "base_url": model.url, "models": ["lane"],
                               "backoff": "10ms", "retries": 2}}, **more}
    if folder:
        out["store"] = f"sqlite:{folder}/o.db"
    return out


class Shop:
    """A folder with a configuration for a model."""

    def __init__(self, model, **more):
        self.folder = Path(tempfile.mkdtemp(prefix="orders-"))
        self.path = self.folder / "c.yaml"
        self.path.write_text(json.dumps(config_of(model, self.folder, **more)))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.folder, ignore_errors=True)

    def order(self, said="", *args, thread="t"):
        return run("order", "--config", str(self.path), "--thread", thread, *args, stdin=said)

    def state(self, thread="t"):
        done = self.order("", "--state", thread=thread)
        assert done.code == 0, done
        return json.loads(done.out)


class Pipe(Case):
    def test_stdout_holds_only_what_the_customer_is_told(self):
        with Model(LOOK, ADD, DONE, text("<think>bye</think>See you!")) as model, Shop(model) as shop:
            out = self.good(shop.order("two coffees\n\n   \nthat's all\n"))
            self.assertEqual(out, b"Two coffees. Anything else?\nSee you!\n")
            state = shop.state()
            self.assertEqual(state["reasoning"], [
                "[TOOL_CALL] lookup_menu_item: They want coffee, I look it up.",
                "[TOOL_CALL] add_item_to_order: Found, two of them.",
                "[DIRECT] Both are in.", "[DIRECT] bye"])
            self.assertEqual([(i["item_id"], i["size"], i["quantity"])
                              for i in state["current_order"]["items"]], [("hd-01", "medium", 2)])
            self.assertFalse(state["finalized"])
            self.assertEqual(state["thread_id"], "t")
            self.assertEqual([m["role"] for m in state["messages"]],
                             ["user", "assistant", "tool", "assistant", "tool", "assistant", "user",
                              "assistant"])
            self.assertNotIn("<", json.dumps([m["content"] for m in state["messages"]
                                              if m["role"] == "assistant"]))

    def test_the_model_is_told_the_rules_the_menu_and_the_order(self):
        with Model(LOOK, ADD, DONE) as model, Shop(model) as shop:
            shop.order("two coffees")
            first, last = (a["messages"][0]["content"] for a in (model.asked[0], model.asked[-1]))
            for words in ("Harbor Lane Drive-Thru", "12 Quay Street", "Smokehouse Burger", "\n14. ",
                          "<reasoning>", "(nothing yet)"):
                self.assertIn(words, first)
            self.assertNotIn("{{", first)
            self.assertIn("2 x Coffee (medium)", last)
            self.assertEqual([t["function"]["name"] for t in model.asked[0]["tools"]],
                             ["lookup_menu_item", "add_item_to_order", "remove_item", "change_item",
                              "get_current_order", "finalize_order"])
            for m in model.asked[-1]["messages"]:
                self.assertLessEqual(set(m), {"role", "content", "tool_calls", "tool_call_id"})

    def test_a_thread_goes_on_in_another_process(self):
        with Model(LOOK, ADD, DONE, calls(("get_current_order", {})), text("Right?"),
                   calls(("finalize_order", {}))) as model, Shop(model) as shop:
            self.good(shop.order("two coffees"), "Two coffees. Anything else?\n")
            self.good(shop.order("that's all"), "Right?\n")
            self.good(shop.order("yes"),
                      "Thank you! Your order is in, that's $4.80. Please drive on to the window.\n")
            self.assertTrue(shop.state()["finalized"])

    def test_the_price_at_the_end_is_in_the_menus_currency(self):
        with Model(LOOK, ADD, DONE, calls(("get_current_order", {})), text("Right?"),
                   calls(("finalize_order", {}))) as model, Shop(model) as shop:
            menu = json.loads(Path(MENU).read_text())
            path = shop.folder / "euro.json"
            path.write_text(json.dumps(menu | {"currency": "EUR"}))
            self.good(shop.order("two coffees", "--menu", str(path)), "Two coffees. Anything else?\n")
            self.good(shop.order("that's all"), "Right?\n")
            self.good(shop.order("yes"),
                      "Thank you! Your order is in, that's 4.80 EUR. Please drive on to the window.\n")

    def test_the_session_is_named_after_the_place_and_the_first_words(self):
        with Model(LOOK, ADD, DONE, text("Bye")) as model, Shop(model) as shop:
            shop.order("two coffees\nthat's all\n")
            with sqlite3.connect(shop.folder / "o.db") as db:
                self.assertEqual(db.execute("SELECT title FROM alert_sessions").fetchall(),
                                 [("Harbor Lane Drive-Thru \u00b7 two coffees",)])
            self.good(run("audit", "verify", "--config", str(shop.path)))

    def test_a_new_thread_has_an_id_of_its_own(self):
        with Model(text("Hi")) as model, Shop(model) as shop:
            done = run("order", "--config", str(shop.path), "--json", stdin="hello")
            event = json.loads(done.out.splitlines()[-1])
            self.assertEqual((event["event"], event["text"]), ("reply", "Hi"))
            self.assertRegex(event["thread_id"], r"^cli-[0-9a-f-]{36}$")

    def test_events_are_json_and_why_goes_to_stderr(self):
        with Model(LOOK, ADD, DONE) as model, Shop(model) as shop:
            done = shop.order("two coffees", "--json")
            events = [json.loads(line) for line in done.out.splitlines()]
            self.assertEqual([e["event"] for e in events],
                             ["decision", "decision", "order", "decision", "reply"])
            self.assertEqual(events[2]["current_order"]["items"][0]["quantity"], 2)
        with Model(text("<reasoning>just so</reasoning>Hi")) as model, Shop(model) as shop:
            done = shop.order("hello", "--why")
            self.assertEqual(done.out, b"Hi\n")
            self.assertIn("[DIRECT] just so", done.err)

    def test_whatever_the_model_sends_no_tag_is_seen(self):
        nasty = ["<reasoning>a<reasoning>b</reasoning>SECRET</reasoning>Hello",
                 "Hello <reasoning>SECRET", "<thinking>SECRET</thinking>Hello",
                 "```xml\n<reasoning>SECRET</reasoning>\n```\nHello", "Hello <reaso",
                 "<REASONING lang='en'>SECRET</REASONING>Hello", "SECRET</reasoning>Hello",
                 "<analysis>SECRET</analysis>`<think>SECRET</think>`Hello", "[THINK]SECRET[/THINK]Hello"]
        with Model(*(text(n) for n in nasty)) as model, Shop(model) as shop:
            out = self.good(shop.order("".join(f"hi {i}\n" for i in range(len(nasty))))).decode()
            self.assertEqual(out.count("Hello"), len(nasty), out)
            for word in ("SECRET", "<", "THINK", "reason"):
                self.assertNotIn(word, out)
            self.assertEqual(len(shop.state()["reasoning"]), len(nasty))

    def test_a_terminal_sees_the_order_grow(self):
        with Model(LOOK, ADD, DONE) as model, Shop(model) as shop:
            terminal = Terminal(BINARY, "order", "--config", str(shop.path), "--thread", "t")
            terminal.wait_for(b"> ")
            terminal.type(b"two coffees\n")
            terminal.wait_for(b"Anything else?")
            terminal.type(b"\x04")
            seen, code = terminal.end()
            self.assertEqual(code, 0)
            self.assertIn(b"| 2 x Coffee (medium)", seen)
            self.assertNotIn(b"Both are in.", seen)


class Wrong(Case):
    def test_what_is_wrong_is_said_with_an_exit_code(self):
        with Model() as model, Shop(model) as shop:
            self.bad(shop.order("", "--state", thread="none"), 1, "none")
            self.bad(run("order", "--config", "/none.yaml"), 3, "/none.yaml")
            self.bad(run("order", "--config", str(shop.path), "--state"), 2, "--thread")
            self.bad(shop.order("", thread="a\nb"), 2, "thread")
            self.bad(shop.order("", "--menu", "/none.json"), 3, "/none.json")
            bad = shop.folder / "menu.json"
            bad.write_text('{"items": [{"item_id": "a", "name": "A", "category_name": "C"}]}')
            self.bad(shop.order("", "--menu", str(bad)), 3, str(bad), "/items/0", "sizes")

    def test_a_store_that_a_daemon_has_open_is_told(self):
        with Model() as model, Gateway(BINARY, config_of(model)) as gateway:
            started = time.monotonic()
            done = run("order", "--config", str(gateway.path), stdin="hi")
            self.bad(done, 6, "in use", "/api/v1/orders/")
            self.assertLess(time.monotonic() - started, 8, "a daemon keeps the store: nothing to wait for")
            self.assertNotIn("waits", done.err)

    def test_it_says_that_it_waits_for_another_process(self):
        with Model(LOOK, ADD, DONE, LOOK, ADD, DONE) as model, Shop(model) as shop:
            first = subprocess.Popen([BINARY, "order", "--config", str(shop.path)], stdin=subprocess.PIPE,
                                     stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
            with first:
                first.stdin.write(b"two coffees\n")
                first.stdin.flush()
                self.assertTrue(first.stdout.readline())  # now it has the store
                second = subprocess.Popen([BINARY, "order", "--config", str(shop.path)], stdin=subprocess.PIPE,
                                          stdout=subprocess.PIPE, stderr=subprocess.PIPE)
                with second:
                    self.assertIn(b"another process has the store: this one waits for it", second.stderr.readline())
                    first.stdin.close()
                    self.assertEqual(first.wait(PATIENCE), 0)
                    self.assertIn(b"coffees", second.communicate(b"two coffees\n", PATIENCE)[0])

    def test_without_a_menu_of_its_own_it_has_ours(self):
        with Model(LOOK, ADD, DONE) as model, Shop(model, orders={}) as shop:
            self.good(shop.order("two coffees"), "Two coffees. Anything else?\n")
            self.assertIn("Smokehouse Burger", model.asked[0]["messages"][0]["content"])


class Failing(Case):
    def test_what_passes_is_tried_again_and_the_rest_is_not(self):
        for status in (408, 409, 425, 429, 500, 502, 503, 529):
            with self.subTest(status=status), Model(status, text("Hi")) as model, Shop(model) as shop:
                self.good(shop.order("hello"), "Hi\n")
                self.assertEqual(len(model.asked), 2)
        with self.subTest("reset"), Model("reset", text("Hi")) as model, Shop(model) as shop:
            self.good(shop.order("hello"), "Hi\n")
        for status in (400, 401, 403, 404, 413, 422):
            with self.subTest(status=status), Model(status, text("Hi")) as model, Shop(model) as shop:
                done = shop.order("hello\nagain\n")
                self.assertEqual(len(model.asked), 1)
                self.assertTrue(done.out.decode().startswith(SORRY), done)
                self.assertEqual(done.out.count(b"\n"), 1)
                self.assertEqual(done.code, 4 if status in (401, 403) else 5)
                self.assertIn(str(status), done.err)
                # The turn was stored: the next process completes it before it reads input.
                self.good(shop.order(""), "Hi\n")
                self.assertEqual(len(shop.state()["messages"]), 2)

    def test_retry_after_is_waited_for(self):
        with Model(429, text("Hi"), fields={"retry-after": "1"}) as model, Shop(model) as shop:
            self.good(shop.order("hello"), "Hi\n")
            self.assertGreaterEqual(model.times[1] - model.times[0], 0.95)

    def test_a_model_that_is_not_there_is_told_kindly(self):
        with Model() as gone:
            pass
        with Shop(gone) as shop:
            done = shop.order("hello")
            self.assertTrue(done.out.decode().startswith(SORRY), done)
            self.assertEqual(done.code, 5)
            self.assertEqual([m["role"] for m in shop.state()["messages"]], ["user"])


class Killed(Case):
    def killed(self, shop, model, asked):
        child = subprocess.Popen([BINARY, "order", "--config", str(shop.path), "--thread", "t"],
                                 stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
        child.stdin.write(b"two coffees\n")
        child.stdin.flush()
        end = time.monotonic() + PATIENCE
        while len(model.asked) < asked and time.monotonic() < end:
            time.sleep(0.01)
        child.send_signal(signal.SIGKILL)
        child.wait()
        child.stdin.close()
        child.stdout.close()

    def test_a_turn_killed_while_the_model_is_asked_ends_without_adding_twice(self):
        for before in ([], [LOOK], [LOOK, ADD]):
            rest = [LOOK, ADD, DONE][len(before):]
            with Model(*before, "hang", *rest) as model, Shop(model) as shop:
                self.killed(shop, model, len(before) + 1)
                self.good(shop.order(""), "Two coffees. Anything else?\n")
                state = shop.state()
                self.assertEqual([i["quantity"] for i in state["current_order"]["items"]], [2])
                self.assertEqual(len(state["reasoning"]), 3)
                self.assertEqual(len(model.asked), 4)
                self.good(shop.order(""), "")

    def test_a_daemon_that_was_killed_ends_the_turn_when_it_comes_back(self):
        with Model(LOOK, ADD, "hang", DONE) as model:
            gateway = Gateway(BINARY, config_of(model))
            with gateway:
                asker = threading.Thread(target=lambda: say(gateway, "lane 1", "two coffees"))
                asker.start()
                end = time.monotonic() + PATIENCE
                while len(model.asked) < 3 and time.monotonic() < end:
                    time.sleep(0.01)
                gateway.signal(signal.SIGKILL)
                gateway.child.wait()
                asker.join()
                gateway.start()
                while time.monotonic() < end:
                    state = get(gateway, "/api/v1/orders/lane%201")[1]
                    if len(state["reasoning"]) == 3:
                        break
                    time.sleep(0.05)
                self.assertEqual(state["reasoning"][-1], "[DIRECT] Both are in.")
                self.assertEqual([i["quantity"] for i in state["current_order"]["items"]], [2])


def http_ask(gateway, method, path, body=None, key="", **headers):
    c = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE)
    try:
        c.request(method, path, None if body is None else json.dumps(body),
                  {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {}),
                   **headers})
        reply = c.getresponse()
        return reply.status, json.loads(reply.read()), dict(reply.getheaders())
    except (OSError, http.client.HTTPException):
        return 0, {}, {}
    finally:
        c.close()


def get(gateway, path, key=""):
    return http_ask(gateway, "GET", path, key=key)


def say(gateway, thread, words, key=""):
    return http_ask(gateway, "POST", f"/api/v1/orders/{thread.replace(' ', '%20')}/say",
                    {"text": words}, key)


class Routes(Case):
    def test_an_order_is_taken_over_http(self):
        with Model(LOOK, ADD, DONE) as model, Gateway(BINARY, config_of(model)) as gateway:
            status, state, _ = say(gateway, "lane 1", "two coffees")
            self.assertEqual((status, state["reply"]), (200, "Two coffees. Anything else?"))
            self.assertEqual(state["current_order"]["items"][0]["quantity"], 2)
            _, orders, _ = get(gateway, "/api/v1/orders")
            row = orders["orders"][0]
            self.assertEqual((row["thread_id"], row["session_id"], row["item_count"], row["finalized"]),
                             ("lane 1", "lane 1", 2, False))
            self.assertGreater(row["updated_at_us"], 1_600_000_000_000_000)
            status, one, _ = get(gateway, "/api/v1/orders/lane%201")
            del state["reply"]
            self.assertEqual((status, one), (200, state))
            self.assertEqual(len(get(gateway, "/api/v1/menu")[1]["items"]), 64)
            self.assertEqual(get(gateway, "/api/v1/orders/none")[0], 404)
            # The session's history has the decisions and tools.
            until(lambda: get(gateway, "/api/v1/history/sessions/lane%201")[1].get("agent_type") == "orders")

    def test_an_order_is_corrected(self):
        change = calls(("change_item", {"item_id": "hd-01", "quantity": 3}))
        remove = calls(("remove_item", {"item_id": "hd-01", "quantity": 2}))
        with Model(LOOK, ADD, DONE, change, text("Three."), remove, text("One.")) as model, \
                Gateway(BINARY, config_of(model, orders={"menu": MENU, "max_pieces": 3})) as gateway:
            for said, left in (("two coffees", 2), ("one more", 3), ("two less", 1)):
                status, state, _ = say(gateway, "t", said)
                self.assertEqual((status, state["current_order"]["items"][0]["quantity"]), (200, left))
                _, orders, _ = get(gateway, "/api/v1/orders")
                self.assertEqual([o["item_count"] for o in orders["orders"]], [left])

    def test_nobody_but_its_turns_writes_the_thread_of_an_order(self):
        agents = {"a": {"model": "lane", "prompt": "You help."}}
        value = {"type": "json", "json": 1}
        put = {"parent_id": None, "metadata": {}, "checkpoint": {"channel_versions": {"x": 1}}, "values": {"x": value}}
        with Model(LOOK, ADD, DONE, text("Bye")) as model, \
                Gateway(BINARY, config_of(model, agents=agents)) as gateway:
            before = say(gateway, "t", "two coffees")[1]["current_order"]
            writes = (("POST", "threads/t/state", {"values": {"current_order": {}}}),
                      ("POST", "threads/t/state?ns=x", {"values": {}, "metadata": {"app": "mine"}}),
                      ("PUT", "threads/t/checkpoints/zz", put),
                      ("PUT", "threads/t/checkpoints/zz?ns=x", put),
                      ("PUT", "threads/t/checkpoints/zz/writes",
                       {"task_id": "1", "writes": [{"channel": "x", "value": value}]}),
                      ("PUT", "threads/u/checkpoints/zz", {**put, "metadata": {"app": "orders"}}),
                      ("POST", "agents/a/runs", {"input": "hi", "thread": "t"}))
            for method, path, body in writes:
                status, doc, _ = http_ask(gateway, method, "/api/v1/" + path, body)
                self.assertEqual(status, 409, (path, doc))
                self.assertIn("order", doc["detail"]["message"])
            self.assertEqual(len(model.asked), 3)
            self.assertEqual(http_ask(gateway, "PUT", "/api/v1/threads/u/checkpoints/zz", put)[0], 200)
            status, state, _ = say(gateway, "t", "thanks")
            self.assertEqual((status, state["current_order"]), (200, before))

    def test_turns_of_one_thread_do_not_run_at_once(self):
        with Model("hang") as model, Gateway(BINARY, config_of(model)) as gateway:
            asker = threading.Thread(target=lambda: say(gateway, "t", "two coffees"))
            asker.start()
            end = time.monotonic() + PATIENCE
            while not model.asked and time.monotonic() < end:
                time.sleep(0.01)
            status, doc, fields = say(gateway, "t", "me too")
            self.assertEqual((status, doc["detail"]["error"]), (409, "turn_in_progress"))
            self.assertIn("retry-after", {k.lower() for k in fields})
            model.free.set()
            asker.join()

    def test_a_repeated_request_with_its_key_says_nothing_twice(self):
        def say_once(words, **body):
            return http_ask(gateway, "POST", "/api/v1/orders/t/say", {"text": words, **body},
                            **{"Idempotency-Key": "4f2c"})
        with Model(LOOK, ADD, DONE) as model, Gateway(BINARY, config_of(model)) as gateway:
            first, second = say_once("two coffees"), say_once("two coffees")
            self.assertEqual((first[0], first[1]["reply"]), (200, "Two coffees. Anything else?"))
            self.assertEqual(second[:2], first[:2])
            self.assertEqual(len(model.asked), 3)
            status, doc, fields = say_once("three coffees")
            self.assertEqual((status, doc["detail"]["error"]), (409, "conflict"))
            self.assertIn("another text", doc["detail"]["message"])
            self.assertNotIn("retry-after", {k.lower() for k in fields})
            c = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE)
            c.request("POST", "/api/v1/orders/t/say", json.dumps({"text": "two coffees", "stream": True}),
                      {"content-type": "application/json", "idempotency-key": "4f2c"})
            events = [e.split("\n") for e in c.getresponse().read().decode().split("\n\n") if e]
            c.close()
            self.assertEqual([e[0] for e in events], ["event: heard", "event: delta", "event: reply"])
            self.assertEqual(json.loads(events[-1][1].removeprefix("data: ")), first[1])
            self.assertEqual(len(model.asked), 3)

    def test_a_model_that_fails_is_a_kind_reply_and_503(self):
        with Model(503, 503, 503, text("Hi")) as model, Gateway(BINARY, config_of(model)) as gateway:
            status, doc, fields = say(gateway, "t", "hello")
            self.assertEqual((status, doc["detail"]["error"]), (503, "model_unavailable"))
            self.assertTrue(doc["reply"].startswith(SORRY))
            self.assertIn("retry-after", {k.lower() for k in fields})
            status, doc, _ = say(gateway, "t", "hello?")
            self.assertEqual((status, doc["reply"]), (200, "Hi"))

    def test_a_key_sees_its_own_orders_and_hidden_reasons_stay_hidden(self):
        keys = [{"name": "one", "sha256": digest("k1"), "reasoning": "show"},
                {"name": "two", "sha256": digest("k2"), "reasoning": "hide"},
                {"name": "boss", "sha256": digest("k3"), "role": "operator"}]
        with Model(*[text("<reasoning>because</reasoning>Hi")] * 3) as model, \
                Gateway(BINARY, config_of(model, keys=keys)) as gateway:
            self.assertEqual(say(gateway, "a", "hello", "k1")[1]["reasoning"], ["[DIRECT] because"])
            self.assertEqual(say(gateway, "b", "hello", "k2")[1]["reasoning"], [])
            self.assertEqual(get(gateway, "/api/v1/orders/a", "k2")[0], 404)
            self.assertEqual(say(gateway, "a", "hello", "k2")[0], 404)
            for key, seen in (("k1", ["a"]), ("k2", ["b"]), ("k3", ["a", "b"])):
                rows = get(gateway, "/api/v1/orders", key)[1]["orders"]
                self.assertEqual(sorted(r["thread_id"] for r in rows), seen)
            self.assertEqual(get(gateway, "/api/v1/orders")[0], 401)


class Recordings(Case):
    """The files of example/orders, unchanged."""

    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="orders-"))
        for name in ("orders.yaml", "menu.json", "orders.jsonl", "utterances.jsonl"):
            os.symlink(EXAMPLE / name, self.folder / name)

    def tearDown(self):
        shutil.rmtree(self.folder)

    def order(self, *args, stdin=""):
        return run("order", "--config", "orders.yaml", *args, stdin=stdin, cwd=self.folder)

    def test_the_conversation_ends_with_an_order(self):
        talk = (EXAMPLE / "conversation.txt").read_text()
        out = self.good(self.order("--thread", "d", stdin=talk)).decode().splitlines()
        self.assertEqual(len(out), len(talk.splitlines()))
        state = json.loads(self.good(self.order("--thread", "d", "--state")))
        self.assertTrue(state["finalized"])
        self.assertEqual(state["current_order"]["total"], 13.8)
        # The guard refused it once: not read back, not confirmed.
        self.assertEqual(sum("finalize_order" in r for r in state["reasoning"]), 2)

    def test_all_utterances_have_full_scores(self):
        out = self.good(self.order("--eval", "utterances.jsonl", "--json"))
        rows = [json.loads(line) for line in out.splitlines()]
        self.assertEqual(len(rows), 26)
        self.assertEqual(len({r["category"] for r in rows[:-1]}), 9)
        for r in rows:
            self.assertEqual((r["order_correctness"], r["tool_protocol"], r["no_hallucinated_items"]),
                             (1, 1, 1), r)
        # Only the menu remains.
        with sqlite3.connect(self.folder / "orders.db") as db:
            names = [n for n, in db.execute("SELECT thread_id FROM threads")]
        self.assertTrue(all(n.startswith("menu:") for n in names), names)
        table = self.good(self.order("--eval", "utterances.jsonl")).decode().splitlines()
        self.assertEqual(len(table), 27)
        self.assertRegex(table[-1], r"^mean +25 utterances +1\.00 +1\.00 +1\.00$")

    def test_an_utterance_that_was_not_recorded_fails_and_says_so(self):
        case = self.folder / "new.jsonl"
        case.write_text('{"id": "new", "turns": ["something else"], "expected": []}\n')
        done = self.order("--eval", "new.jsonl")
        self.assertEqual(done.code, 5)
        case.write_text('{"id": "new"}\n')
        self.bad(self.order("--eval", "new.jsonl"), 1, "new.jsonl:1: ", "expected")

    def test_all_utterances_are_checked_before_the_first_one_is_taken(self):
        good = (self.folder / "utterances.jsonl").read_text().splitlines()[0]
        for bad in ('{"id": "new"}', json.dumps({"turns": ["x" * 5000], "expected": []}),
                    json.dumps({"turns": [" "], "expected": []})):
            (self.folder / "new.jsonl").write_text(f"{good}\n\n{bad}\n")
            done = self.order("--eval", "new.jsonl")
            self.assertEqual((done.code, done.out), (1, b""))
            self.assertIn("new.jsonl:3: ", done.err)


if __name__ == "__main__":
    main()
