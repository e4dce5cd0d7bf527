#!/usr/bin/env python3
"""Agents in the configuration: the manual's example, refused settings, and a reload.

    test/e2e/agents_config_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import shutil
import tempfile
import unicodedata
import urllib.request
from pathlib import Path

from command import BINARY, SOURCE, Case, environment, in_terminal, main, run
from gateway import Gateway, until

STOCK = {"openapi": "3.0.3", "paths": {"/items": {"get": {"operationId": "search", "parameters": [
    {"name": "q", "in": "query", "required": True, "schema": {"type": "string"}}]}}}}


def cells(text):
    """The columns of a terminal that a text takes."""
    return sum(0 if unicodedata.combining(c) else 2 if unicodedata.east_asian_width(c) in "WF" else 1 for c in text)


def example():
    """The configuration on the page."""
    page = (SOURCE / "docs/reference/agents.md").read_text()
    return re.search(r"```yaml\n(.*?)```", page, re.S).group(1)


class Agents(Case):
    def setUp(self):
        self.folder = Path(tempfile.mkdtemp(prefix="rationale-agents-"))
        self.addCleanup(shutil.rmtree, self.folder)
        (self.folder / "prompts").mkdir()
        (self.folder / "agents").mkdir()
        (self.folder / "prompts" / "librarian.md").write_text("You lend books.\n")
        (self.folder / "answer.schema.json").write_text('{"type": "object"}')
        (self.folder / "refund.schema.json").write_text('{"type": "object"}')
        (self.folder / "stock.json").write_text(json.dumps(STOCK))
        self.path = self.folder / "rationale.yaml"
        self.path.write_text(example())

    def problems(self):
        done = run("config", "check", "rationale.yaml", "--json", cwd=self.folder)
        return json.loads(done.out)["problems"]

    def test_the_example_of_the_page_is_good(self):
        done = run("config", "check", "rationale.yaml", cwd=self.folder)
        self.assertEqual((done.code, done.out.decode()), (0, f"{self.path}: ok\n"), done)
        shown = run("config", "-c", str(self.path)).out
        self.assertIn(b'"librarian": {"model":"qwen"', shown)

    def test_all_problems_are_found_at_once_each_with_its_place(self):
        text = self.path.read_text()
        for good, bad in (("model: qwen\n", "model: qwne\n"), ("stock.search", "stock.serch"),
                          ("[library.lend]", "[libary.lend]"), ("librarian.md", "libarian.md"),
                          ("{agent: policy-check}", "{agent: policy-chek}")):
            text = text.replace(good, bad, 1)
        self.path.write_text(text + "agents_folder: agents\n")
        (self.folder / "agents" / "clerk.yaml").write_text("model: qwen\ntools: [refnd]\n")
        found = {p["setting"]: p for p in self.problems()}
        for setting, near in (("agents.librarian.model", "qwen"), ("agents.librarian.tools.1", "search"),
                              ("agents.librarian.prompt", "librarian.md"), ("tools.0", "refund"),
                              ("agents.librarian.approve.0", "library"),
                              ("workflows.triage.1.agent", "policy-check")):
            self.assertIn(f'did you mean "{near}"?', found[setting]["what"])
            self.assertGreater(found[setting]["line"], 0)
        self.assertEqual(found["tools.0"]["file"], str(self.folder / "agents" / "clerk.yaml"))
        done = run("config", "check", "rationale.yaml", cwd=self.folder)
        self.assertEqual(done.code, 3)
        self.assertIn(f"{self.folder}/agents/clerk.yaml:2: tools.0: no tool source", done.err)

    def test_a_list_is_aligned_by_the_width_of_its_characters(self):
        names = ("qwen", "\u6a21\u578b\u6a21\u578b", "cafe\u0301", "\U0001f4da")
        agents = {f"agent_with_a_long_name_{i}": {"model": name, "prompt": "You help.", "description": 9 * "\u672c "}
                  for i, name in enumerate(names)}
        self.path.write_text(json.dumps({
            "store": "none", "agents": agents, "workflows": {"flow": [{"agent": "agent_with_a_long_name_0"}]},
            "providers": {"up": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "models": names}}},
            ensure_ascii=False))
        lines = run("agents", "-c", str(self.path)).out.decode().splitlines()
        self.assertEqual(len(lines), 6)
        at = lines[0].index("DESCRIPTION")
        for line, of in zip(lines[1:], [9 * "\u672c "] * 4 + ["1 stage"]):
            self.assertEqual(cells(line[:line.index(of)]), at, lines)
        for columns in (30, 50, 70):
            env = environment(COLUMNS=str(columns), TERM="dumb")
            seen = in_terminal("agents", "-c", str(self.path), env=env).out.decode()
            self.assertIn("\u6a21\u578b\u6a21\u578b", seen)
            self.assertLessEqual(max(map(cells, seen.splitlines())), columns, seen)

    def test_a_secret_of_a_tool_is_shown_nowhere(self):
        text = self.path.read_text().replace(
            "schema: refund.schema.json", 'schema: refund.schema.json, headers: {X-Key: "${HUSH}"}')
        self.path.write_text(text)
        for args in (("config",), ("config", "--json"), ("config", "check")):
            done = run(*args, "-c", str(self.path), env={"HUSH": "hush-hush-1"})
            self.assertEqual(done.code, 0, done)
            self.assertNotIn("hush-hush", done.out.decode() + done.err)

    def test_a_bad_definition_leaves_the_old_configuration_in_force(self):
        def config(model, agents):
            return {"store": "none", "agents": agents, "providers": {
                "up": {"kind": "openai", "base_url": "http://127.0.0.1:1/v1", "models": [model]}}}

        with Gateway(BINARY, config("one", {"a": {}})) as d:
            d.reload(config("two", {"a": {"handoff": ["b"]}}))
            until(lambda: "the old one stays in force" in d.log_tail())
            self.assertIn("agents.a.handoff.0: no agent", d.log_tail())
            self.assertEqual(self.models(d), ["one"])
            d.reload(config("three", {"a": {"handoff": ["b"]}, "b": {}}))
            until(lambda: self.models(d) == ["three"])

    def models(self, daemon):
        with urllib.request.urlopen(f"{daemon.root}/v1/models", timeout=30) as reply:
            listed = [m["id"] for m in json.load(reply)["data"]]
        return [m for m in listed if not m.startswith("agent/")]


if __name__ == "__main__":
    main()
