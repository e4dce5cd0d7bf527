#!/usr/bin/env python3
"""Our MCP client against real servers, and our server against real clients, all from npm.

    test/e2e/mcp_peers_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]

MCP_DRIVER is the program that controls our client (test/mcp_driver.c). tools/mcp-setup downloads
the peers; without a registry it fails, and so do the tests.
"""
# SPDX-License-Identifier: Apache-2.0
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
import unittest
from pathlib import Path

from command import BINARY, PATIENCE, SOURCE, environment

DRIVER = os.environ.get("MCP_DRIVER") or str(SOURCE / "build/test/mcp_driver")
PEERS = SOURCE / "test/mcp"
MODULES = PEERS / "node_modules/@modelcontextprotocol"
NODE = None


def setUpModule():
    global NODE
    got = subprocess.run([SOURCE / "tools/mcp-setup"], text=True, stdout=subprocess.PIPE, timeout=900)
    if got.returncode:
        raise AssertionError("tools/mcp-setup failed: the MCP peers are not there")
    NODE = got.stdout.strip()


def server(name):
    return [NODE, str(MODULES / f"server-{name}/dist/index.js")]


class Driver:
    """Controls our client: one line in, one line of JSON out."""

    def __init__(self, *words, **env):
        self.process = subprocess.Popen([DRIVER, *words], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True, env=environment(**env))

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(PATIENCE)
        self.process.stdout.close()

    def ask(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return json.loads(self.process.stdout.readline())

    def call(self, name, arguments=None, verb="call"):
        return self.ask(f"{verb} {name} {json.dumps(arguments or {})}")

    def tools(self):
        return {tool["name"]: tool for tool in self.ask("tools")["tools"]}

    def children(self):
        out = subprocess.run(["pgrep", "-P", str(self.process.pid)], text=True, stdout=subprocess.PIPE)
        return [int(pid) for pid in out.stdout.split()]


class Peers(unittest.TestCase):
    def ok(self, answer):
        self.assertNotIn("error", answer, answer)
        return answer

    def said(self, answer):
        self.ok(answer)
        self.assertFalse(answer["is_error"], answer)
        return answer["text"]


class Everything(Peers):
    """All features of the reference server `everything`, over stdio."""

    def setUp(self):
        self.driver = Driver("stdio", *server("everything"), "stdio")
        self.addCleanup(self.driver.__exit__)

    def test_it_is_told_to_be_of_the_legacy_era(self):
        self.assertEqual(self.driver.ask("era"), {"era": "legacy", "version": "2025-11-25"})

    def test_all_its_tools_are_listed_in_order(self):
        names = [tool["name"] for tool in self.driver.ask("tools")["tools"]]
        self.assertIn("echo", names)
        self.assertGreaterEqual(len(names), 12)
        self.assertEqual(names, sorted(names))

    def test_an_echo_comes_back(self):
        self.assertIn("hällo 世界", self.said(self.driver.call("echo", {"message": "hällo 世界"})))

    def test_arguments_that_are_wrong_are_an_error_to_read(self):
        answer = self.driver.call("echo", {"message": 7})
        self.assertTrue(answer.get("is_error") or "error" in answer, answer)

    def test_an_unknown_tool_is_an_error(self):
        answer = self.driver.call("nothing-of-the-kind")
        self.assertTrue(answer.get("is_error") or "error" in answer, answer)

    def test_structured_content_is_checked_and_given(self):
        answer = self.driver.call("get-structured-content", {"location": "New York"})
        self.said(answer)
        self.assertIn("temperature", answer["structured"])

    def test_images_and_links_are_parts_of_their_kind(self):
        self.assertIn("image", self.ok(self.driver.call("get-tiny-image"))["parts"])
        links = self.ok(self.driver.call("get-resource-links", {"count": 2}))
        self.assertEqual(links["parts"].count("link"), 2)
        reference = self.driver.call("get-resource-reference", {"resourceType": "Text", "resourceId": 1})
        self.assertIn("resource", self.ok(reference)["parts"])

    def test_progress_is_reported_and_keeps_a_call_alive(self):
        with Driver("stdio", *server("everything"), "stdio", CALL_MS="5000") as driver:
            self.ok(driver.ask("tools"))
            answer = driver.call("trigger-long-running-operation", {"duration": 8, "steps": 8}, "progress")
            self.said(answer)
            self.assertGreaterEqual(answer["progress"], 4)

    def test_a_call_without_a_sign_of_life_times_out(self):
        with Driver("stdio", *server("everything"), "stdio", CALL_MS="5000") as driver:
            self.ok(driver.ask("tools"))
            answer = driver.call("trigger-long-running-operation", {"duration": 60, "steps": 1})
            self.assertEqual(answer.get("code"), "timeout", answer)
            self.assertIn("after", self.said(driver.call("echo", {"message": "after"})))

    def test_a_call_can_be_cancelled(self):
        began = time.monotonic()
        answer = self.driver.ask('cancel 300 trigger-long-running-operation {"duration":60,"steps":1}')
        self.assertEqual(answer.get("code"), "cancelled", answer)
        self.assertLess(time.monotonic() - began, 50)
        self.assertIn("after", self.said(self.driver.call("echo", {"message": "after"})))

    def test_what_the_server_asks_is_answered(self):
        tools = self.driver.tools()
        self.assertIn("trigger-sampling-request", tools)
        answer = self.driver.call("trigger-sampling-request", {"prompt": "x", "maxTokens": 5})
        self.assertIn("sampled by the driver", self.said(answer))
        self.said(self.driver.call("trigger-elicitation-request"))
        self.assertIn("file:///tmp", self.said(self.driver.call("get-roots-list")))

    def test_resources_and_prompts_are_reached(self):
        resources = self.ok(self.driver.ask("request resources/list {}"))["result"]["resources"]
        uri = resources[0]["uri"]
        read = self.ok(self.driver.ask(f"request resources/read {json.dumps({'uri': uri})}"))
        self.assertEqual(read["result"]["contents"][0]["uri"], uri)
        self.assertIn("prompts", self.ok(self.driver.ask("request prompts/list {}"))["result"])

    def test_a_server_that_dies_is_started_again(self):
        self.ok(self.driver.ask("tools"))
        for turn in range(3):
            for pid in self.driver.children():
                os.kill(pid, signal.SIGKILL)
            answer = self.driver.call("echo", {"message": f"turn {turn}"})
            if "error" in answer:  # sent before the client noticed the kill
                answer = self.driver.call("echo", {"message": f"turn {turn}"})
            self.assertIn(f"turn {turn}", self.said(answer))

    def test_nothing_is_left_behind(self):
        self.ok(self.driver.ask("tools"))
        children = self.driver.children()
        self.assertTrue(children)
        self.driver.__exit__()
        for pid in children:
            self.assertFalse(Path(f"/proc/{pid}").exists(), pid)


class EverythingOverHttp(Peers):
    """The same server over streamable HTTP: sessions, streams, and server requests on them."""

    @classmethod
    def setUpClass(cls):
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            cls.port = free.getsockname()[1]
        cls.server = subprocess.Popen([*server("everything"), "streamableHttp"],
                                      env=environment(PORT=str(cls.port)), stdout=subprocess.DEVNULL,
                                      stderr=subprocess.DEVNULL)
        until = time.monotonic() + PATIENCE
        while time.monotonic() < until:
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", cls.port)) == 0:
                    return
            time.sleep(0.1)
        raise AssertionError("server-everything does not listen")

    @classmethod
    def tearDownClass(cls):
        cls.server.kill()
        cls.server.wait()

    def driver(self):
        return Driver("http", f"http://127.0.0.1:{self.port}/mcp")

    def test_it_is_found_to_be_of_the_legacy_era(self):
        with self.driver() as driver:
            self.assertEqual(driver.ask("era"), {"era": "legacy", "version": "2025-11-25"})

    def test_tools_are_listed_and_called(self):
        with self.driver() as driver:
            self.assertIn("echo", driver.tools())
            self.assertIn("over http", self.said(driver.call("echo", {"message": "over http"})))
            answer = driver.call("get-structured-content", {"location": "Chicago"})
            self.assertIn("temperature", self.ok(answer)["structured"])

    def test_progress_comes_on_the_stream(self):
        with self.driver() as driver:
            answer = driver.call("trigger-long-running-operation", {"duration": 1, "steps": 4}, "progress")
            self.said(answer)
            self.assertGreaterEqual(answer["progress"], 3)

    def test_what_the_server_asks_on_the_stream_is_answered(self):
        with self.driver() as driver:
            answer = driver.call("trigger-sampling-request", {"prompt": "x", "maxTokens": 5})
            self.assertIn("sampled by the driver", self.said(answer))

    def test_a_server_that_is_not_there_is_told_in_a_sentence(self):
        with Driver("http", "http://127.0.0.1:9/mcp", TIMEOUT_MS="5000") as driver:
            answer = driver.ask("tools")
            self.assertIn("127.0.0.1:9", answer["error"])


class OtherServers(Peers):
    def test_filesystem_reads_writes_and_refuses(self):
        with tempfile.TemporaryDirectory(dir="/tmp") as folder:  # the root that our client announces
            folder = os.path.realpath(folder)
            with Driver("stdio", *server("filesystem"), folder) as driver:
                tools = driver.tools()
                self.assertTrue(tools["read_text_file"]["read_only"])
                self.said(driver.call("write_file", {"path": f"{folder}/a.txt", "content": "a line\n"}))
                self.assertEqual(Path(folder, "a.txt").read_text(), "a line\n")
                read = driver.call("read_text_file", {"path": f"{folder}/a.txt"})
                self.assertIn("a line", self.said(read))
                outside = self.ok(driver.call("read_text_file", {"path": "/etc/passwd"}))
                self.assertTrue(outside["is_error"])
                self.assertIn("denied", outside["text"])

    def test_memory_remembers(self):
        with tempfile.TemporaryDirectory() as folder:
            entity = {"name": "Ada", "entityType": "person", "observations": ["wrote programs"]}
            with Driver("stdio", *server("memory"), MEMORY_FILE_PATH=f"{folder}/m.json") as driver:
                self.said(driver.call("create_entities", {"entities": [entity]}))
            with Driver("stdio", *server("memory"), MEMORY_FILE_PATH=f"{folder}/m.json") as driver:
                self.assertIn("wrote programs", self.said(driver.call("search_nodes", {"query": "Ada"})))

    def test_a_server_that_is_noisy_on_stderr_does_not_block(self):
        with Driver("stdio", *server("sequential-thinking")) as driver:
            for number in range(1, 31):
                answer = driver.call("sequentialthinking", {
                    "thought": "x" * 3000, "thoughtNumber": number, "totalThoughts": 30,
                    "nextThoughtNeeded": number < 30})
                self.said(answer)

    def test_a_modern_server_of_the_sdk_is_spoken_to_as_one(self):
        with Driver("stdio", NODE, str(PEERS / "modern_server.mjs")) as driver:
            self.assertEqual(driver.ask("era"), {"era": "modern", "version": "2026-07-28"})
            self.assertIn("add", driver.tools())
            self.assertEqual(self.said(driver.call("add", {"a": 2, "b": 3})), "5")

    def test_a_program_that_is_no_server_is_told_in_a_sentence(self):
        for words, part in ((["/bin/false"], "has ended"), (["/no/such/program"], "no/such")):
            with Driver("stdio", *words, TIMEOUT_MS="5000") as driver:
                self.assertIn(part, driver.ask("tools")["error"])


class OurServer(Peers):
    """The official clients against `rationale mcp`: SDK v1 (legacy) and v2 (both eras)."""

    def run_script(self, name, *words):
        done = subprocess.run([NODE, str(PEERS / name), *words], text=True, cwd=PEERS, timeout=PATIENCE,
                              env=environment(RATIONALE=BINARY), stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        return json.loads(done.stdout.splitlines()[-1])

    def check(self, got, version):
        self.assertEqual(got["version"], version)
        self.assertIn("split_text", got["tools"])
        self.assertEqual(got["structured"]["reasoning"], "because")
        self.assertEqual(got["structured"]["content"], "answer")
        self.assertTrue(got["wrong"], "a call without its argument must be an error of the tool")

    def test_the_v1_client_over_stdio(self):
        self.check(self.run_script("v1_client.mjs", "stdio"), "2025-11-25")

    def test_the_v1_client_over_http(self):
        self.check(self.run_script("v1_client.mjs", "http"), "2025-11-25")

    def test_the_v2_client_over_stdio_is_modern(self):
        self.check(self.run_script("v2_client.mjs", "stdio"), "2026-07-28")

    def test_the_v2_client_over_http_is_modern(self):
        self.check(self.run_script("v2_client.mjs", "http"), "2026-07-28")

    def test_our_client_and_our_server_agree_in_both_eras(self):
        for era, version in (("legacy", "2025-11-25"), ("modern", "2026-07-28"), ("auto", "2026-07-28")):
            with Driver("stdio", BINARY, "mcp", "--conformance", RATIONALE_ERA=era) as driver:
                self.assertEqual(driver.ask("era")["version"], version)
                self.assertIn("because", self.said(driver.call(
                    "split_text", {"text": "<think>because</think>answer"})))
                self.assertIn("sampled", self.said(driver.call("test_sampling", {"prompt": "p"})))
                self.assertIn("accept", self.said(driver.call("test_elicitation_sep1034_defaults")))
                self.assertIn("John Doe", self.said(driver.call("test_elicitation_sep1034_defaults")))
                rounds = driver.call("test_input_required_result_multi_round")
                self.assertIn("complete", self.said(rounds))
                progress = driver.call("test_tool_with_progress", {}, "progress")
                self.assertEqual(self.ok(progress)["progress"], 3)

    def test_our_client_and_our_server_agree_over_http(self):
        child = subprocess.Popen([BINARY, "mcp", "--conformance", "--http", "127.0.0.1:0"], text=True,
                                 stdout=subprocess.PIPE, env=environment())
        self.addCleanup(child.stdout.close)
        self.addCleanup(child.wait)
        self.addCleanup(child.terminate)
        url = child.stdout.readline().split()[-1]
        for era, version in (("legacy", "2025-11-25"), ("modern", "2026-07-28"), ("auto", "2026-07-28")):
            with Driver("http", url, RATIONALE_ERA=era) as driver:
                self.assertEqual(driver.ask("era")["version"], version)
                for region in ("us-west1", "Hällo, 世界", " padded ", ""):
                    self.said(driver.call("test_custom_header", {"region": region, "priority": -7}))
                self.assertIn("sampled", self.said(driver.call("test_sampling", {"prompt": "p"})))
                progress = driver.call("test_tool_with_progress", {}, "progress")
                self.assertEqual(self.ok(progress)["progress"], 3)
                self.assertTrue(self.ok(driver.call("test_error_handling"))["is_error"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0], *sys.argv[3:]])
