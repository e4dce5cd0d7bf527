#!/usr/bin/env python3
"""A drive-through window for orders, with a streaming model that makes every kind of mistake.

    test/e2e/window_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import http.client
import json
import os
import random
import re
import signal
import socket
import subprocess
import threading
import time
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from command import BINARY, PATIENCE, Case, Terminal, environment, main, run
from gateway import Gateway, digest, until
from order_test import COFFEE, MENU, SORRY, Shop, config_of, get, http_ask

AGAIN = "Sorry, I didn't catch that. Could you say it again?"
LOOKUP = ("lookup_menu_item", {"item_name": "coffee"})


def reply(text="", *calls, thought="", **more):
    """A reply of the model; a call is (name, arguments), arguments a dict or raw text."""
    return {"text": text, "thought": thought, "calls": [
        {"id": f"call_{os.urandom(4).hex()}", "type": "function", "function": {
            "name": name, "arguments": a if isinstance(a, str) else json.dumps(a)}}
        for name, a in calls], **more}


def look(name="coffee"):
    return reply("<reasoning>I look it up.</reasoning>", ("lookup_menu_item", {"item_name": name}))


def add(**more):
    return reply("<reasoning>I add it.</reasoning>", ("add_item_to_order", {**COFFEE, **more}))


def tool(name, text="<reasoning>It is time.</reasoning>"):
    return reply(text, (name, {}))


OK = reply("<reasoning>All is well.</reasoning>OK")


class Lane:
    """Streams its replies in order, in pieces of `cut` characters (0: whole) and in packets divided
    anywhere. A number is an HTTP status, "hang" waits for the test, a function is called."""

    def __init__(self, *replies, cut=1, pause=0.0):
        self.replies, self.cut, self.pause = list(replies), cut, pause
        self.asked, self.free = [], threading.Event()
        lane = self

        class Handler(BaseHTTPRequestHandler):
            disable_nagle_algorithm = True  # head and body are written separately
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                try:
                    lane.answer(self)
                except OSError:
                    self.close_connection = True

            def log_message(self, *_):
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True).start()
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}/v1"

    def answer(self, handler):
        self.asked.append(json.loads(handler.rfile.read(int(handler.headers["content-length"]))))
        said = self.replies.pop(0) if self.replies else 500
        said = said(self.asked[-1]) if callable(said) else said
        handler.close_connection = True
        if said == "hang":
            self.free.wait(PATIENCE)
            return
        handler.send_response(said if isinstance(said, int) else 200)
        handler.send_header("content-type", "text/event-stream" if isinstance(said, dict) else "application/json")
        handler.send_header("connection", "close")
        handler.end_headers()
        if isinstance(said, int):
            handler.wfile.write(b'{"error": {"message": "no", "type": "no"}}')
        elif isinstance(said, bytes):
            handler.wfile.write(said)
        else:
            self.stream(handler, said)

    def stream(self, handler, said):
        for event in self.events(said):
            line = f"data: {json.dumps(event, ensure_ascii=random.random() < 0.5)}\n\n".encode()
            at = random.randrange(len(line))
            for part in (line[:at], line[at:]):
                handler.wfile.write(part)
                handler.wfile.flush()
            time.sleep(self.pause)
        if said.get("breaks"):
            handler.connection.shutdown(socket.SHUT_RDWR)
            return
        handler.wfile.write(b"data: [DONE]\n\n")

    def pieces(self, text):
        step = self.cut or max(len(text), 1)
        return [text[i:i + step] for i in range(0, len(text), step)]

    def events(self, said):
        deltas = [{"role": "assistant", "content": ""}]
        deltas += [{"reasoning_content": p} for p in self.pieces(said["thought"])]
        deltas += [{"content": p} for p in self.pieces(said["text"])]
        for i, c in enumerate(said["calls"]):
            f = c["function"]
            deltas.append({"tool_calls": [{**c, "index": i, "function": {"name": f["name"], "arguments": ""}}]})
            deltas += [{"tool_calls": [{"index": i, "function": {"arguments": p}}]}
                       for p in self.pieces(f["arguments"])]
        for delta in deltas:
            yield {"choices": [{"index": 0, "delta": delta, "finish_reason": None}]}
        if not said.get("breaks"):
            why = said.get("stop", "tool_calls" if said["calls"] else "stop")
            yield {"choices": [{"index": 0, "delta": {}, "finish_reason": why}]}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.free.set()
        self.server.shutdown()
        self.server.server_close()


def results(state):
    return [json.loads(m["content"]) for m in state["messages"] if m["role"] == "tool"]


def lines(state):
    return [(i["item_id"], i["size"], i["quantity"], [m["modifier_id"] for m in i["modifiers"]])
            for i in state["current_order"]["items"]]


class Guards(Case):
    """Each guard gives the model an error and leaves the order unchanged."""

    def refused(self, words, *replies, said="x\n", order=()):
        """Checks that the last tool's error has these words."""
        with Lane(*replies, OK) as lane, Shop(lane) as shop:
            self.assertTrue(self.good(shop.order(said)).endswith(b"OK\n"))
            state = shop.state()
            self.assertIn(words, results(state)[-1].get("error", ""), results(state)[-1])
            self.assertEqual(lines(state), list(order))
            self.assertFalse(state["finalized"])
            told = lane.asked[-1]["messages"][-1]
            self.assertEqual((told["role"], json.loads(told["content"])), ("tool", results(state)[-1]))

    def all_refused(self, words, *replies):
        """Checks that each reply causes an error with these words; a turn allows 14."""
        said = [r for n, r in enumerate(replies) for r in ([OK, r] if n and n % 13 == 0 else [r])]
        with Lane(look(), *said, OK, cut=0) as lane, Shop(lane) as shop:
            turns = said.count(OK) + 1
            self.good(shop.order("x\n" * turns), "OK\n" * turns)
            state = shop.state()
            told = results(state)[1:]
            self.assertEqual(len(told), len(replies))
            for r, got in zip(replies, told):
                self.assertIn(words, got.get("error", "none"), r)
            self.assertEqual((lines(state), state["finalized"]), ([], False))

    def test_a_quantity_is_a_whole_number_from_1_to_100(self):
        self.all_refused("/quantity", *(add(quantity=q) for q in (
            0, -1, 101, 1e9, 10**30, 1.5, 1e-3, "two", "2", "", True, [], [2], {})))

    def test_a_size_is_one_of_the_items(self):
        self.all_refused("/size", *(add(size=size) for size in (
            "huge", "regular", 5, ["large"], {"size": "large"}, "large; drop table")))

    def test_a_modifier_is_one_of_the_items(self):
        self.all_refused("/modifiers", *(add(modifiers=modifiers) for modifiers in (
            "Oat Milk", ["Ketchup"], [None], [1], [[]], {}, [{"name": "Ketchup"}], [{}], ["Oat Milk", "Ketchup"])))

    def test_an_item_is_on_the_menu_under_its_id_name_and_category(self):
        self.all_refused("/item_id", add(item_id="none"), add(item_id=""), add(item_id=None), add(item_id=[]))
        self.all_refused("/item_name", add(item_name="Tea"), add(item_name=7), add(item_name=""))
        self.all_refused("/category_name", add(category_name="Food"), add(category_name=None))

    def test_what_was_not_looked_up_is_not_added(self):
        self.refused("looked up", add())
        self.refused("looked up", look("black tea"), add())
        self.refused("looked up", look("coffe"), add())  # a similar name is not found
        self.refused("looked up", reply("", LOOKUP, ("add_item_to_order", COFFEE)))

    def test_arguments_that_are_no_object_are_an_error(self):
        self.all_refused("", *(reply("", ("add_item_to_order", raw)) for raw in (
            "null", "[]", "3", '"x"', "{", '{"item_id":', "{}{}", "nonsense", "\x00", "{" * 5000,
            json.dumps(COFFEE)[:-1], "```json\n{}\n```", "x" * 100000)))

    def test_there_are_four_tools(self):
        self.all_refused("there is no tool", *(reply("", (name, COFFEE)) for name in (
            "drop_order", "", "ADD_ITEM_TO_ORDER", "add_item_to_order\n", "x" * 500)))

    def test_what_is_finalized_was_read_back_and_confirmed(self):
        one = [("hd-01", "medium", 1, [])]
        self.refused("empty", tool("finalize_order"))
        self.refused("empty", tool("get_current_order"), OK, tool("finalize_order"), said="x\nyes\n")
        self.refused("not read back", look(), add(), tool("finalize_order"), order=one)
        self.refused("not read back", look(), add(), OK, tool("finalize_order"), said="x\nyes\n", order=one)
        self.refused("has not confirmed", look(), add(), tool("get_current_order"),
                     tool("finalize_order"), order=one)
        self.refused("not read back", look(), add(), tool("get_current_order"), OK, add(),
                     tool("finalize_order"), said="x\none more\n", order=[("hd-01", "medium", 2, [])])
        self.refused("same step", look(), add(), tool("get_current_order"), OK, reply(
            "", ("add_item_to_order", COFFEE), ("finalize_order", {})), said="x\nyes\n",
            order=[("hd-01", "medium", 2, [])])
        self.refused("", look(), add(), reply("", ("get_current_order", {}), ("finalize_order", {})),
                     order=one)

    def test_what_was_finalized_is_closed(self):
        with Lane(look(), add(), tool("get_current_order"), OK, tool("finalize_order"), add(), OK,
                  tool("finalize_order"), OK) as lane, Shop(lane) as shop:
            self.good(shop.order("a coffee\nyes\none more\nsend it\n"))
            state = shop.state()
            self.assertTrue(state["finalized"])
            self.assertEqual(lines(state), [("hd-01", "medium", 1, [])])
            self.assertEqual(["error" in r for r in results(state)[-2:]], [True, True])

    def test_lines_are_told_apart_by_size_and_modifiers(self):
        with Lane(look(), add(size="small"), add(size="LARGE"), add(size="small", quantity=2.0),
                  add(size="small", modifiers=["Oat Milk", "decaf"]),
                  add(size="small", modifiers=[{"modifier_id": "decaf"}, {"name": "oat milk"}, "Decaf"]),
                  add(size=None, quantity=None, modifiers=None), OK) as lane, Shop(lane) as shop:
            self.good(shop.order("coffees"))
            self.assertEqual(lines(shop.state()), [
                ("hd-01", "small", 3, []), ("hd-01", "large", 1, []),
                ("hd-01", "small", 2, ["decaf", "oat-milk"]), ("hd-01", "medium", 1, [])])

    def test_a_model_in_a_circle_is_stopped(self):
        with Lane(*[tool("get_current_order")] * 20, cut=0) as lane, Shop(lane) as shop:
            self.assertIn(b"Someone will be with you", self.good(shop.order("x")))
            self.assertEqual(len(lane.asked), 16)

    def test_a_history_is_one_that_every_provider_takes(self):
        with Lane(look(), reply("", ("add_item_to_order", "{nonsense"), ("", "3")), OK) as lane, \
                Shop(lane) as shop:
            self.good(shop.order("x"), "OK\n")
            for m in lane.asked[-1]["messages"]:
                for c in m.get("tool_calls", ()):
                    self.assertIsInstance(json.loads(c["function"]["arguments"]), dict)
                    self.assertTrue(c["function"]["name"] and c["id"])


SECRETS = [
    "<reasoning>SECRET</reasoning>Hello", "<reasoning>a<reasoning>SECRET</reasoning>SECRET</reasoning>Hello",
    "Hello<reasoning>SECRET", "Hello <reasoning>SECRET</reasoning", "SECRET</reasoning>Hello",
    "<think>SECRET</reasoning>SECRET</think>Hello", "<reasoning>SECRET</think>SECRET</reasoning>Hello",
    "<Reasoning >SECRET</ REASONING>Hello", "< reasoning\n>SECRET</reasoning\n>Hello",
    "<reasoning lang='>' n=\"</reasoning>\">SECRET</reasoning>Hello",
    "<thinking>SECRET<think>SECRET</think>SECRET</thinking>Hello",
    "```\n<reasoning>SECRET</reasoning>```Hello", "`<reasoning>`SECRET`</reasoning>`Hello",
    "<reasoning>" * 40 + "SECRET" + "</reasoning>" * 40 + "Hello",
    "Hello" + "<reasoning>" * 40 + "SECRET" + "</reasoning>" * 39 + "SECRET",
    "<reasoning>SECRET</reasoning><reasoning>SECRET</reasoning>Hello<reasoning>SECRET</reasoning>",
    "<<b>reasoning>SECRET</<b>reasoning>Hello", "&lt;reasoning&gt;SECRET&lt;/reasoning&gt;Hello",
    "\u25c1think\u25b7SECRET\u25c1/think\u25b7Hello", "\uff1creasoning\uff1eSECRET\uff1c/reasoning\uff1eHello",
    "<rea\u00adsoning>SECRET</rea\u200bsoning>Hello", "[THINK]SECRET[/THINK]Hello",
    "<|START_THINKING|>SECRET<|END_THINKING|>Hello", "<|channel>thought\nSECRET<channel|>Hello",
    "<|channel|>analysis<|message|>SECRET<|end|><|start|>assistant<|channel|>final<|message|>Hello<|return|>",
    "<tool_call>{\"name\": \"SECRET\"}</tool_call>Hello", "<answer>Hello</answer>",
    "<reasoning>SECRET</thinking>Hello", "<!-- SECRET -->Hello", "Hello<!-- SECRET",
    "**Reasoning:** SECRET\n\nHello", "Reasoning: SECRET\nSECRET\n\nHello", "Hello\n\nThought: SECRET",
    "Thinking: SECRET\n\nSECRET\n\nAnswer: Hello", "Analysis: SECRET. Reply: Hello", "SECRET\n\nFinal answer: Hello",
    "Hello (reasoning: SECRET (and SECRET) SECRET)", "<think>SECRET</think>Hello\nReasoning: SECRET",
    json.dumps({"reasoning": "SECRET", "reply": "Hello"}), json.dumps({"answer": "Hello", "thoughts": ["SECRET"]}, indent=2),
    "```json\n" + json.dumps({"chain_of_thought": {"x": "SECRET"}, "message": "Hello"}) + "\n```",
]
# The customer gets nothing of these replies.
NOTHING = ["Reasoning: SECRET", "(reasoning: SECRET)", "<!-- SECRET", json.dumps({"rationale": "SECRET"}),
           '{"reply": "Hello", "reasoning": "SECRET', "<reasoning>SECRET", "**Thinking:**\n\nSECRET"]
LEAK = re.compile(r"SECRET|[<>\[\]\uff1c\uff1e\u25c1\u25b7]|&[lg]t;|reason|think|THINK", re.I)


class Tags(Case):
    def test_no_tag_and_no_thought_is_seen_at_any_cut(self):
        for cut in (0, 1, 2, 7):
            with self.subTest(cut=cut), Lane(*map(reply, SECRETS), cut=cut) as lane, Shop(lane) as shop:
                out = self.good(shop.order("".join(f"hi {i}\n" for i in range(len(SECRETS))))).decode()
                self.assertEqual(out.count("Hello"), len(SECRETS), out)
                self.assertIsNone(LEAK.search(out), out)
                state = shop.state()
                self.assertEqual(len(state["reasoning"]), len(SECRETS))
                self.assertFalse([r for r in state["reasoning"] if "<" in r or "[/" in r])

    def test_where_only_reasoning_was_written_the_customer_is_asked_again(self):
        for cut in (0, 1, 7):
            with self.subTest(cut=cut), Lane(*map(reply, NOTHING), cut=cut) as lane, Shop(lane) as shop:
                self.good(shop.order("x\n" * len(NOTHING)), f"{AGAIN}\n" * len(NOTHING))
                self.assertNotIn("SECRET", json.dumps(shop.state()["messages"]))

    def test_a_reply_that_ends_at_any_byte_shows_no_tag(self):
        whole = "Hi<reasoning>SECRET</reasoning> there<think>SECRET</think>"
        cuts = [whole[:n] for n in range(len(whole) + 1)]
        with Lane(*(reply(c, stop="length") for c in cuts), cut=3) as lane, Shop(lane) as shop:
            out = self.good(shop.order("x\n" * len(cuts))).decode()
            self.assertIsNone(LEAK.search(out), out)
            self.assertEqual(out.splitlines()[-1], "Hi there")

    def test_a_thought_in_arguments_is_taken_out_of_them(self):
        raw = "<reasoning>SECRET</reasoning>" + json.dumps(COFFEE)
        inside = {**COFFEE, "item_name": "<reasoning>SECRET<think>SECRET</think></reasoning>Coffee",
                  "size": "large<think>SECRET", "modifiers": ["<reasoning>SECRET</reasoning>Decaf"]}
        for cut in (0, 1, 5):
            with self.subTest(cut=cut), Lane(
                    reply("", ("lookup_menu_item", {"item_name": "<think>SECRET</think>coffee"})),
                    reply("", ("add_item_to_order", raw)), reply("", ("add_item_to_order", inside)),
                    reply("", ("add_item_to_order", '{"item_id": "hd-01<reasoning>SECRET')), OK,
                    cut=cut) as lane, Shop(lane) as shop:
                self.good(shop.order("x"), "OK\n")
                state = shop.state()
                self.assertEqual(lines(state), [("hd-01", "medium", 1, []), ("hd-01", "large", 1, ["decaf"])])
                self.assertIn("error", results(state)[-1])
                for text in (state["messages"], lane.asked[-1]["messages"][1:]):
                    self.assertNotIn("SECRET", json.dumps(text))
                self.assertEqual(state["reasoning"][:2], ["[TOOL_CALL] lookup_menu_item: SECRET",
                                                          "[TOOL_CALL] add_item_to_order: SECRET"])

    def test_a_reply_with_nothing_to_say_asks_again(self):
        for empty in (reply(""), reply("<reasoning>SECRET</reasoning>"), reply("<reasoning>SECRET", stop="length"),
                      reply("", stop="content_filter"), reply("  \n"), reply("", thought="SECRET")):
            with self.subTest(empty=empty), Lane(empty) as lane, Shop(lane) as shop:
                self.good(shop.order("x"), AGAIN + "\n")


class Breaks(Case):
    def test_a_reply_that_breaks_off_is_asked_for_again(self):
        with Lane({**reply("<reasoning>a</reasoning>Hel"), "breaks": True}, look(),
                  {**add(), "breaks": True}, add(), OK) as lane, Shop(lane) as shop:
            self.good(shop.order("x"), "OK\n")
            self.assertEqual(lines(shop.state()), [("hd-01", "medium", 1, [])])
            self.assertEqual(len(lane.asked), 5)

    def test_one_that_always_does_is_told_kindly_and_kept(self):
        with Lane(*[{**reply("Hel"), "breaks": True}] * 3, OK) as lane, Shop(lane) as shop:
            done = shop.order("x\nnever heard\n")
            self.assertTrue(done.out.decode().startswith(SORRY), done)
            self.assertEqual((done.code, done.out.count(b"\n")), (5, 1))
            self.good(shop.order(""), "OK\n")
            self.assertEqual([m["content"] for m in shop.state()["messages"]], ["x", "OK"])

    def test_nonsense_from_a_provider_is_no_crash(self):
        for body in (b"", b"null", b"{}", b"[1]", b"<html>", b'{"choices": null}', b"data: {\n\n", b"\xff\xfe\x00"):
            with self.subTest(body=body), Lane(body, body, body, body, OK) as lane, Shop(lane) as shop:
                done = shop.order("x")
                self.assertIn(done.code, (0, 5), done)
                self.assertTrue(done.out.startswith(b"Sorry"), done)


class Talk(Case):
    def test_lines_of_any_kind_are_utterances(self):
        with Lane(*[OK] * 6) as lane, Shop(lane) as shop:
            said = b"a\r\nb\x00c\n\xff\xfe\n \t\n\n" + "\u00fc\u2615".encode() + b"\nlast"
            self.good(run("order", "--config", str(shop.path), "--thread", "t", stdin=said), "OK\n" * 5)
            heard = [m["content"] for m in shop.state()["messages"] if m["role"] == "user"]
            self.assertEqual((heard[0], heard[3:]), ("a", ["\u00fc\u2615", "last"]))

    def test_what_is_too_long_is_refused_and_the_rest_is_heard(self):
        for long in ("a" * 4001, "a" * 300000):
            with self.subTest(size=len(long)), Lane(*[OK] * 3) as lane, Shop(lane) as shop:
                done = shop.order(f"one\n{long}\ntwo\n")
                self.assertEqual(done.code, 1)
                self.assertRegex(done.out.decode(), r"^OK\nSorry, that was too much.*\nOK\n$")
                heard = [m["content"] for m in shop.state()["messages"] if m["role"] == "user"]
                self.assertEqual(heard, ["one", "two"])

    def test_the_state_is_seen_while_an_order_is_taken(self):
        with Lane(look(), add(), OK) as lane, Shop(lane) as shop:
            child = subprocess.Popen([BINARY, "order", "--config", str(shop.path), "--thread", "t"],
                                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment())
            child.stdin.write(b"a coffee\n")
            child.stdin.flush()
            self.assertEqual(child.stdout.readline(), b"OK\n")
            self.assertEqual(lines(shop.state()), [("hd-01", "medium", 1, [])])
            child.stdin.close()
            self.assertEqual(child.wait(PATIENCE), 0)
            child.stdout.close()

    def test_processes_on_one_thread_take_turns(self):
        def model(body):
            last = max(i for i, m in enumerate(body["messages"]) if m["role"] == "user")
            return (look(), add(), OK)[sum(m["role"] == "assistant" for m in body["messages"][last:])]
        with Lane(*[model] * 9, cut=0) as lane, Shop(lane) as shop:
            children = [subprocess.Popen([BINARY, "order", "--config", str(shop.path), "--thread", "t"],
                                         stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                         stderr=subprocess.PIPE, env=environment()) for _ in range(3)]
            for c in children:
                c.stdin.write(b"a coffee\n")
                c.stdin.close()
                c.stdin = None
            ends = [(*c.communicate(timeout=PATIENCE), c.returncode) for c in children]
            # On a slow machine a process may have given up waiting, with a message.
            taken = sum(e[0] == b"OK\n" and e[2] == 0 for e in ends)  # a waiting process prints a message
            self.assertTrue(taken and all(e[2] in (0, 6) for e in ends), ends)
            self.assertEqual(lines(shop.state()), [("hd-01", "medium", taken, [])])

    def test_a_kill_at_any_time_adds_nothing_twice(self):
        def model(body):
            last = max(i for i, m in enumerate(body["messages"]) if m["role"] == "user")
            return (look(), add(quantity=2), OK)[sum(m["role"] == "assistant" for m in body["messages"][last:])]
        for asked in (1, 2, 3):
            for later in (0, 0.01, 0.03):
                with self.subTest(asked=asked, later=later), Lane(*[model] * 9, cut=0, pause=0.005) as lane, \
                        Shop(lane) as shop:
                    child = subprocess.Popen([BINARY, "order", "--config", str(shop.path), "--thread", "t"],
                                             stdin=subprocess.PIPE, stdout=subprocess.DEVNULL, env=environment())
                    child.stdin.write(b"two coffees\n")
                    child.stdin.flush()
                    until(lambda: len(lane.asked) >= asked)
                    time.sleep(later)
                    child.send_signal(signal.SIGKILL)
                    child.wait()
                    child.stdin.close()
                    self.assertIn(self.good(shop.order("")), (b"OK\n", b""))
                    state = shop.state()
                    self.assertEqual(lines(state), [("hd-01", "medium", 2, [])])
                    self.assertEqual([m["role"] for m in state["messages"]],
                                     ["user", "assistant", "tool", "assistant", "tool", "assistant"])
                    self.assertEqual(len(state["reasoning"]), 3)

    def test_threads_have_any_name_but_a_menus(self):
        for name, good in (("a/b", True), ("\u00fc \u2615", True), ("-x", True), ("a'b\";--", True),
                           ("menu:x", False), ("", False), ("x" * 201, False)):
            with self.subTest(name=name), Lane(OK) as lane, Shop(lane) as shop:
                done = shop.order("hi", thread=name)
                self.assertEqual((done.code, done.out), (0, b"OK\n") if good else (2, b""), done)

    def test_a_person_sees_the_words_as_they_come_and_not_those_beside_a_call(self):
        beside = reply("<reasoning>a</reasoning>Let me look at this for a moment or two, will you? " * 3, LOOKUP)
        with Lane(beside, reply("<reasoning>a</reasoning>Here you are, my friend."), cut=4,
                  pause=0.002) as lane, Shop(lane) as shop:
            terminal = Terminal(BINARY, "order", "--config", str(shop.path), "--thread", "t")
            terminal.wait_for(b"> ")
            terminal.type(b"coffee\n")
            terminal.wait_for(b"my friend.")
            terminal.type(b"\x04")
            seen, code = terminal.end()
            self.assertEqual(code, 0)
            self.assertRegex(seen, rb"Let me look.*\r(\x1b\[\d+A)?\x1b\[J.*Here you are, my friend\.")
            self.assertEqual(seen.count(b"Here you are"), 1)


class Menus(Case):
    def menu(self, shop, *items):
        path = shop.folder / "own-menu.json"
        path.write_text(json.dumps({"menu_name": "Own", "items": list(items)}))
        return str(path)

    def item(self, id, name, sizes=("regular",), **more):
        return {"item_id": id, "name": name, "category_name": "Food", "sizes": list(sizes), **more}

    def take(self, items, *wanted):
        """The order after looking up and adding these: (id, name, more)."""
        replies = []
        for id, name, more in wanted:
            replies += [look(name), reply("", ("add_item_to_order", {
                "item_id": id, "item_name": name, "category_name": "Food", **more}))]
        with Lane(*replies, OK) as lane, Shop(lane) as shop:
            self.good(shop.order("x", "--menu", self.menu(shop, *items)), "OK\n")
            return lines(shop.state())

    def test_both_items_of_one_name_can_be_had(self):
        items = [self.item("b1", "Big Breakfast"), self.item("b2", "Big Breakfast", ["large"])]
        self.assertEqual(self.take(items, ("b2", "big breakfast", {}), ("b1", "Big Breakfasts", {})),
                         [("b2", "large", 1, []), ("b1", "regular", 1, [])])

    def test_menus_may_be_loose(self):
        items = [self.item(7, "Pie", [], available_modifiers=["Cream"], default_size=None),
                 self.item("c", "Cr\u00e8me Br\u00fbl\u00e9e", [{"name": "s", "price": 1}, "l"]),
                 self.item("k", "\u5496\u5561", price=None, prices=None, extra={"x": 1})]
        self.assertEqual(self.take(items, (7, "pie", {"modifiers": ["cream"]}), ("c", "creme brulee", {"size": "L"}),
                                   ("k", "\u5496\u5561", {})),
                         [("7", "regular", 1, ["Cream"]), ("c", "l", 1, []), ("k", "regular", 1, [])])

    def test_a_large_menu_is_no_trouble(self):
        items = [self.item(f"p{i}", f"Pie {i}") for i in range(2000)]
        self.assertEqual(self.take(items, ("p1999", "Pie 1999", {})), [("p1999", "regular", 1, [])])

    def test_a_conversation_keeps_its_menu(self):
        with Lane(look("pie"), OK, reply("", ("add_item_to_order", {
                "item_id": "p", "item_name": "Pie", "category_name": "Food"})), OK) as lane, Shop(lane) as shop:
            self.good(shop.order("x", "--menu", self.menu(shop, self.item("p", "Pie"))), "OK\n")
            self.good(shop.order("x", "--menu", MENU), "OK\n")
            self.assertEqual(lines(shop.state()), [("p", "regular", 1, [])])


def say_stream(gateway, thread, words, key="", accept=True):
    """Returns the status, and the events as (name, data)."""
    c = http.client.HTTPConnection("127.0.0.1", gateway.port, timeout=PATIENCE)
    head = {"content-type": "application/json", **({"authorization": f"Bearer {key}"} if key else {}),
            **({"accept": "text/event-stream"} if accept else {})}
    body = {"text": words} if accept else {"text": words, "stream": True}
    c.request("POST", f"/api/v1/orders/{thread}/say", json.dumps(body), head)
    r = c.getresponse()
    text = r.read().decode()
    c.close()
    if r.getheader("content-type") != "text/event-stream":
        return r.status, json.loads(text)
    blocks = [dict(line.split(": ", 1) for line in b.split("\n")) for b in text.split("\n\n") if b and b[0] != ":"]
    return r.status, [(b["event"], json.loads(b["data"])) for b in blocks]


def heard(events):
    """The text that a customer has received at the end."""
    text = ""
    for name, data in events:
        text = text + data["text"] if name == "delta" else "" if name == "withdrawn" else text
    return text


class Streams(Case):
    def test_words_decisions_and_the_order_come_as_they_are_made(self):
        with Lane(look(), reply("<reasoning>I add it.</reasoning>Adding that now!", (
                "add_item_to_order", COFFEE)), reply("<reasoning>Done.</reasoning>One coffee it is. Anything else?"),
                cut=3, pause=0.001) as lane, Gateway(BINARY, config_of(lane)) as gateway:
            for accept in (True, False):
                status, events = say_stream(gateway, f"lane-{accept}", "a coffee", accept=accept)
                names = [n for n, _ in events]
                self.assertEqual((status, names[0], names[-1]), (200, "heard", "reply"))
                self.assertEqual([d["entry"] for n, d in events if n == "decision"][:2], [
                    "[TOOL_CALL] lookup_menu_item: I look it up.", "[TOOL_CALL] add_item_to_order: I add it."])
                self.assertGreater(names.count("delta"), 3)
                self.assertIn("withdrawn", names)
                order = next(d for n, d in events if n == "order")
                self.assertEqual(order["current_order"]["items"][0]["quantity"], 1)
                last = events[-1][1]
                self.assertEqual((heard(events), last["reply"]), ("One coffee it is. Anything else?",) * 2)
                del last["reply"]
                self.assertEqual(get(gateway, f"/api/v1/orders/lane-{accept}")[1], last)
                lane.replies = [look(), reply("<reasoning>I add it.</reasoning>Adding that now!", (
                    "add_item_to_order", COFFEE)), reply("<reasoning>Done.</reasoning>One coffee it is. Anything else?")]

    def test_no_tag_is_heard_at_any_cut(self):
        for cut in (0, 1, 5):
            with self.subTest(cut=cut), Lane(*map(reply, SECRETS), cut=cut) as lane, \
                    Gateway(BINARY, config_of(lane)) as gateway:
                for n, text in enumerate(SECRETS):
                    status, events = say_stream(gateway, f"t{n}", "hi")
                    self.assertEqual((status, events[-1][0]), (200, "reply"), text)
                    for name, data in events:
                        if name == "delta":
                            self.assertIsNone(LEAK.search(data["text"]), (text, events))
                    self.assertEqual(heard(events), events[-1][1]["reply"], text)
                    self.assertNotIn("withdrawn", [e for e, _ in events], text)

    def test_secrets_are_masked_as_they_are_kept(self):
        with Lane(reply("<reasoning>a</reasoning>Card 4111 1111 1111 1111, is that right? Yes?"), cut=2) as lane, \
                Gateway(BINARY, config_of(lane)) as gateway:
            _, events = say_stream(gateway, "t", "hi")
            self.assertNotIn("1111", json.dumps(events))
            self.assertEqual(heard(events), events[-1][1]["reply"])

    def test_what_fails_before_it_was_heard_has_a_status_and_later_an_event(self):
        with Lane(503, 503, 503, OK, "hang", OK) as lane, Gateway(BINARY, config_of(lane)) as gateway:
            self.assertEqual(say_stream(gateway, "t", "")[0], 400)
            self.assertEqual(say_stream(gateway, "a%01b", "x")[0], 400)
            status, events = say_stream(gateway, "t", "hello")
            self.assertEqual([n for n, _ in events], ["heard", "error"])
            error = events[-1][1]
            self.assertEqual((status, error["status"], error["detail"]["error"]), (200, 503, "model_unavailable"))
            self.assertTrue(error["reply"].startswith(SORRY) and error["retry_after_s"] > 0)
            # The customer's text was stored; the reply to the next text covers it.
            self.assertEqual(say_stream(gateway, "t", "hello?")[1][-1][1]["reply"], "OK")
            first = threading.Thread(target=lambda: say_stream(gateway, "t", "again"))
            first.start()
            until(lambda: len(lane.asked) == 5)
            self.assertEqual(say_stream(gateway, "t", "me too")[0], 409)
            lane.free.set()
            first.join()

    def test_who_may_not_see_reasons_is_sent_none(self):
        keys = [{"name": "a", "sha256": digest("ka"), "reasoning": "hide"}, {"name": "b", "sha256": digest("kb")}]
        with Lane(look(), OK, OK) as lane, Gateway(BINARY, config_of(lane, keys=keys)) as gateway:
            _, events = say_stream(gateway, "t", "hi", "ka")
            self.assertEqual(([n for n, _ in events if n == "decision"], events[-1][1]["reasoning"]), ([], []))
            self.assertEqual(say_stream(gateway, "t", "hi", "kb")[0], 404)

    def test_a_turn_whose_listener_leaves_ends_all_the_same(self):
        with Lane(look(), add(), OK, pause=0.01) as lane, Gateway(BINARY, config_of(lane)) as gateway:
            s = socket.create_connection(("127.0.0.1", gateway.port))
            body = b'{"text": "a coffee", "stream": true}'
            s.sendall(b"POST /api/v1/orders/t/say HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n"
                      b"content-length: %d\r\n\r\n%s" % (len(body), body))
            self.assertIn(b"200", s.recv(20))
            s.close()
            until(lambda: len(get(gateway, "/api/v1/orders/t")[1].get("reasoning", ())) == 3)
            self.assertEqual(lines(get(gateway, "/api/v1/orders/t")[1]), [("hd-01", "medium", 1, [])])


class Reload(Case):
    def test_a_hangup_brings_another_menu_and_a_bad_one_changes_nothing(self):
        with Lane(*[OK] * 9) as lane, Gateway(BINARY, config_of(lane)) as gateway:
            menu = gateway.folder / "menu.json"
            menu.write_text(json.dumps({"menu_name": "One", "items": [
                {"item_id": "p", "name": "Pie", "category_name": "Food", "sizes": ["s"]}]}))
            gateway.reload({**gateway.config, "orders": {"menu": str(menu)}})
            until(lambda: get(gateway, "/api/v1/menu")[1].get("menu_name") == "One")
            self.assertEqual(http_ask(gateway, "POST", "/api/v1/orders/t/say", {"text": "hi"})[0], 200)
            self.assertIn("Pie", lane.asked[-1]["messages"][0]["content"])
            for bad in ("{", '{"items": []}', '{"items": [{"item_id": "x"}]}'):
                before = gateway.log_tail(10**7).count("the new menu has errors")
                menu.write_text(bad)
                gateway.signal(signal.SIGHUP)
                until(lambda: gateway.log_tail(10**7).count("the new menu has errors") > before)
                self.assertEqual(get(gateway, "/api/v1/menu")[1]["menu_name"], "One")
            menu.write_text(json.dumps({"menu_name": "Two", "items": [
                {"item_id": "q", "name": "Quiche", "category_name": "Food", "sizes": ["s"]}]}))
            gateway.signal(signal.SIGHUP)
            until(lambda: get(gateway, "/api/v1/menu")[1]["menu_name"] == "Two")
            # A conversation keeps its menu; a new one has the new menu.
            http_ask(gateway, "POST", "/api/v1/orders/t/say", {"text": "hi"})
            self.assertIn("Pie", lane.asked[-1]["messages"][0]["content"])
            http_ask(gateway, "POST", "/api/v1/orders/u/say", {"text": "hi"})
            self.assertIn("Quiche", lane.asked[-1]["messages"][0]["content"])


if __name__ == "__main__":
    main()
