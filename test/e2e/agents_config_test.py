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

    def test_each_wrong_setting_of_an_agents_file_is_an_error_with_its_place(self):
        """The file, its line, and words of the error."""
        expected = "expected array, got string: write a list, such as [a, b]"
        table = (
            ("description: 7", 1, "description: expected string, got number: put it in quotes"),
            ("model: qwne", 1, 'model: no model "qwne", did you mean "qwen"?'),
            ('model: ""', 1, "model: must have at least 1 character"),
            ("model: agent/clerk", 1, 'model: no model "agent/clerk"'),
            ("prompt: []", 1, "prompt: expected string, got array"),
            ("prompt: ../prompts/libarian.md", 1, 'did you mean "librarian.md"?'),
            ("prompt: ../prompts", 1, "Is a directory"),
            ("prompt: empty.md", 1, "prompt: has no words: write the prompt"),
            ('prompt: "  "', 1, "prompt: has no words"),
            ("prompt: nul.md", 1, "prompt: has a NUL character"),
            ("prompt: bytes.md", 1, "not UTF-8 text"),
            ("level: hihg", 1, 'level: must be one of "none", "minimal"'),
            ("strategy: reakt", 1, 'strategy: must be one of "native", "react", "classic"'),
            ("tools: stock", 1, "tools: " + expected),
            ("tools: [7]", 1, "tools.0: expected string"),
            ("tools: [stock,\n  stok]", 2, 'tools.1: no tool source "stok", did you mean "stock"?'),
            ("tools: [stock.serch]", 1, 'tools.0: no operation "serch", did you mean "search"?'),
            ("tools: [stock, stock]", 1, "tools.1: it is named twice: remove one"),
            ("tools: [library.lend,\n  library.find,\n  library.lend]", 3, "tools.2: it is named twice: remove one"),
            ("tools: [library]\napprove: [library.lend, library.lend]", 2, "approve.1: it is named twice"),
            ("tools: [stock.]", 1, "tools.0: say which tool after the dot"),
            ("tools: [refund.x]", 1, '"refund" is one tool'),
            ("output: 7", 1, "output: expected string or object"),
            ('output: ""', 1, "output: is empty: name a file"),
            ("output: ../answer.schema.jsn", 1, 'did you mean "answer.schema.json"?'),
            ("output: {type: objekt}", 1, "output: this is not a JSON Schema: schema /type: must be null, boolean"),
            ("limits: 5", 1, "limits: expected object"),
            ("limits: {step: 5}", 1, 'did you mean "steps"?'),
            ("limits: {steps: 0}", 1, "limits.steps: must be 1 to 1000"),
            ("limits: {steps: 1001}", 1, "limits.steps: must be 1 to 1000"),
            ("limits: {steps: 1.5}", 1, "limits.steps: expected integer"),
            ("limits: {tokens: 0}", 1, "limits.tokens: must be 1 to"),
            ("limits: {tokens: 99999999999999999999}", 1, "limits.tokens: must be 1 to"),
            ("limits: {usd: -1}", 1, "limits.usd: must be"),
            ("limits: {usd: .nan}", 1, "is not a finite number"),
            ("limits:\n  steps: 5\n  time: 5x", 3, "limits.time: must be a duration such as"),
            ("limits: {time: 0}", 1, "limits.time: must be 1ms to 1d"),
            ("limits:", 1, "limits: expected object, got null: it is empty; leave it out"),
            ("approve: [stock]", 1, "approve.0: the agent does not have this tool: add it to tools"),
            ("tools: [stock]\napprove: [library]", 2, "approve.0: the agent does not have this tool"),
            ("approve: stock", 1, "approve: " + expected),
            ("handoff: [clerk]", 1, "handoff.0: an agent cannot hand over to itself"),
            ("handoff: [librarain]", 1, 'handoff.0: no agent "librarain", did you mean "librarian"?'),
            ("handoff: [librarian, librarian]", 1, "handoff.1: it is named twice"),
            ("guard: librarian", 1, "guard: expected object"),
            ("guard: {inputs: librarian}", 1, 'did you mean "input"?'),
            ("guard: {input: clerk}", 1, "guard.input: an agent cannot guard itself"),
            ("guard: {input: librarian}", 1, 'the guard "librarian" has guards of its own'),
            ("guard: {output: nobody}", 1, 'guard.output: no agent "nobody"'),
            ("guard: {input: 'ftp://x'}", 1, "guard.input: the URL must begin with http"),
            ("modle: qwen", 1, 'unknown property "modle", did you mean "model"?'),
            ("name: clerk", 1, "name: unknown property \"name\": the agent has the name of its file"),
            ("temperature: 1", 1, "docs/reference/agents.md lists all names"),
            ("prompt: a b\nprompt: c d", 2, '"prompt" is given twice, first in line 1'),
            ("prompt: a b\n\tlevel: low", 2, "a tab indents this line"),
            ("", 1, "the file is empty"),
            ("- prompt", 1, "expected object, got array: begin with prompt: You help."),
        )
        agents = self.folder / "agents"
        for name, bytes in (("empty.md", b" \n"), ("nul.md", b"a b\0"), ("bytes.md", b"\xff\xfe")):
            (agents / name).write_bytes(bytes)
        self.path.write_text(example() + "agents_folder: agents\n")
        for text, line, words in table:
            (agents / "clerk.yaml").write_text(text + "\n")
            done = run("config", "check", "rationale.yaml", cwd=self.folder)
            self.assertEqual(done.code, 3, text)
            self.assertIn(f"{agents}/clerk.yaml:{line}: ", done.err, text)
            self.assertIn(words, done.err, text)

    def test_a_schema_of_arguments_is_one_of_an_object(self):
        for schema, words in (("{type: objekt}", "this is not a JSON Schema: schema /type"),
                              ("{type: string}", "/type: must be object"), ("''", "is empty: name a file")):
            self.path.write_text(example().replace("schema: refund.schema.json", f"schema: {schema}"))
            [found] = [p for p in self.problems() if p["setting"] == "tools.refund.http.schema"]
            self.assertIn(words, found["what"])
            self.assertGreater(found["line"], 0)

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
