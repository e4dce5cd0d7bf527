#!/usr/bin/env python3
"""`rationale split --batch`: every case of test/cases/split.jsonl in all divisions, and invalid
lines.

    test/e2e/batch_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import random
import tempfile

from command import SOURCE, Case, main, run

SIZES = (1, 2, 3, 5, 7, 11, 23)
ACCOUNTED = ("reasoning", "answer", "tool", "framing")


def cases():
    text = (SOURCE / "test/cases/split.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.split("\n") if line.strip()]


def lines(*rows):
    return "".join((row if isinstance(row, str) else json.dumps(row)) + "\n" for row in rows)


def results(out):
    return [json.loads(line) for line in out.split(b"\n")[:-1]]


class Cases(Case):
    """The expected results, whatever the division."""

    def setUp(self):
        self.cases = cases()
        self.assertGreater(len(self.cases), 100)

    def asked(self, case, **more):
        keep = ("id", "format", "starts_in_reasoning", "input", "chunks", "join")
        return {**{k: case[k] for k in keep if k in case}, **more}

    def check(self, tasks):
        """Checks one result per case, in order."""
        out = results(self.good(run("split", "--batch", stdin=lines(*tasks))))
        self.assertEqual(len(out), len(self.cases))
        for case, got in zip(self.cases, out):
            with self.subTest(case["id"]):
                for key in ("id", "reasoning", "content", "state", "flags"):
                    if key in case:
                        self.assertEqual(got[key], case[key], key)
                if "tool_calls" in case:
                    self.assertEqual([(c["name"], c["arguments"]) for c in got["tool_calls"]],
                                     [(c["name"], c["arguments"]) for c in case["tool_calls"]])
                self.assertEqual(sum(got["accounted"][k] for k in ACCOUNTED),
                                 len(self.text(case).encode()))
        return out

    def text(self, case):
        return "".join(case["chunks"]) if case.get("chunks") else case["input"]

    def test_whole(self):
        self.check([self.asked(case) for case in self.cases])

    def test_every_chunk_size(self):
        whole = self.check([self.asked(case) for case in self.cases])
        for size in SIZES:
            self.assertEqual(
                self.check([self.asked(case, chunk_size=size) for case in self.cases]), whole, size)

    def test_random_chunks(self):
        whole = self.check([self.asked(case) for case in self.cases])
        for seed in range(5):
            chance, tasks = random.Random(seed), []
            for case in self.cases:
                text, chunks = self.text(case), []
                while text:
                    size = chance.choice((0, 1, 1, 2, 3, 5, 8, 40))
                    chunks.append(text[:size])
                    text = text[size:]
                task = self.asked(case, chunks=chunks)
                task.pop("input", None)
                tasks.append(task)
            self.assertEqual(self.check(tasks), whole, f"seed {seed}")

    def test_the_command_says_the_same(self):
        """--json on one text gives the same as its line in a batch."""
        out = results(run("split", "--batch", stdin=lines(*map(self.asked, self.cases))).out)
        for case, got in list(zip(self.cases, out))[::7]:
            args = ["--inside"] if case.get("starts_in_reasoning") else []
            one = json.loads(self.good(run("split", "--json", "--format", case["format"], *args,
                                           stdin=self.text(case).encode())))
            if case.get("join"):
                continue
            del got["id"], one["format"]
            self.assertEqual(one, got, case["id"])


class Lines(Case):
    # What is wrong with a line, the line, and a word of the error.
    BAD = (
        ("no JSON", "not json", "JSON"),
        ("JSON cut short", '{"id": 1, "input": "a', "JSON"),
        ("two values", '{"input": "a"} {"input": "b"}', "JSON"),
        ("a list", "[1]", "a case must be an object"),
        ("a string", '"input"', "a case must be an object"),
        ("nothing to split", {}, 'neither "input" nor "chunks"'),
        ("no text but null", {"input": None}, 'neither "input" nor "chunks"'),
        ("an input that is no text", {"input": 5}, '"input" must be a string'),
        ("chunks that are no list", {"chunks": "a"}, '"chunks" must be a list of strings'),
        ("chunks that are not text", {"chunks": ["a", 1]}, '"chunks" must be a list of strings'),
        ("an unknown format", {"format": "nope", "input": ""}, 'no format "nope"'),
        ("an empty format", {"format": "", "input": ""}, 'no format ""'),
        ("a format that is no text", {"format": 5, "input": ""}, '"format" must be a string'),
        ("a join that is no text", {"join": 5, "input": ""}, '"join" must be a string'),
        ("inside that is no boolean", {"starts_in_reasoning": 1, "input": ""},
         '"starts_in_reasoning" must be true or false'),
        ("a size of nothing", {"chunk_size": 0, "input": "a"}, '"chunk_size" must be'),
        ("a negative size", {"chunk_size": -1, "input": "a"}, '"chunk_size" must be'),
        ("a fraction", {"chunk_size": 1.5, "input": "a"}, '"chunk_size" must be'),
        ("a size as text", {"chunk_size": "1", "input": "a"}, '"chunk_size" must be'),
        ("a size without end", '{"chunk_size": 1e400, "input": "a"}', '"chunk_size" must be'),
        ("half a surrogate pair", '{"input": "\\ud800"}', "JSON"),
        ("too deep", '{"id": ' + "[" * 600 + "]" * 600 + ', "input": "a"}', "JSON"),
    )

    def test_a_bad_line_is_one_error_and_the_rest_goes_on(self):
        good = {"id": "good", "input": "<think>a</think>b"}
        for what, line, says in self.BAD:
            with self.subTest(what):
                done = run("split", "--batch", stdin=lines(good, line, good))
                self.bad(done, 1, "line 2: ", says)
                first, error, last = results(done.out)
                self.assertEqual(first, last)
                self.assertEqual((first["id"], first["content"]), ("good", "b"))
                self.assertEqual(set(error), {"id", "line", "error"})
                self.assertEqual((error["id"], error["line"]), (None, 2))
                self.assertIn(says, error["error"])

    def test_bad_bytes_in_a_line(self):
        for line in (b'{"input": "\xff"}', b'{"input": "a\x00"}', b"\x00", b"\xff\xfe"):
            done = run("split", "--batch", stdin=line + b'\n{"input": "b"}\n')
            self.bad(done, 1, "line 1: JSON")
            error, good = results(done.out)
            self.assertIn("JSON", error["error"])
            self.assertNotIn("line 1", error["error"])
            self.assertEqual(good["content"], "b")

    def test_all_bad_lines_at_once(self):
        done = run("split", "--batch", stdin=lines(*[line for _, line, _ in self.BAD]))
        self.assertEqual((done.code, done.err.count("\n")), (1, len(self.BAD)))
        self.assertEqual([e["line"] for e in results(done.out)], list(range(1, len(self.BAD) + 1)))

    def test_the_id_of_a_bad_line_is_kept(self):
        done = run("split", "--batch", stdin=lines({"id": [1, {"a": None}], "input": 5}))
        self.assertEqual(results(done.out)[0]["id"], [1, {"a": None}])

    def test_a_complaint_carries_no_escapes(self):
        done = run("split", "--batch", stdin=lines({"format": "\x1b[2J" + "x" * 500, "input": ""}))
        self.bad(done, 1, "no format", "lists them")
        self.assertNotIn("\x1b", done.err)

    def test_ids_of_any_type_come_back(self):
        ids = [1, -0.5, "a", "\u00e9\n\"", None, True, [], [1, [2]], {"a": {"b": [1.5e300]}}, ""]
        out = results(self.good(run("split", "--batch",
                                    stdin=lines(*[{"id": i, "input": "a"} for i in ids]))))
        self.assertEqual([r["id"] for r in out], ids)
        out = self.good(run("split", "--batch", stdin='{"id":12345678901234567890.10,"input":""}'))
        self.assertTrue(out.startswith(b'{"id":12345678901234567890.10,'), out)
        out = results(self.good(run("split", "--batch", stdin='{"input":"a"}')))
        self.assertEqual(out[0]["id"], None)

    def test_line_ends(self):
        one, two = '{"id": 1, "input": "a"}', '{"id": 2, "input": "b"}'
        for text in (f"{one}\n{two}\n", f"{one}\n{two}", f"{one}\r\n{two}\r\n", f"{one}\r\n{two}",
                     f"\n{one}\n\n  \t\n{two}\n\r\n\n", f"\ufeff{one}\n{two}\n"):
            out = results(self.good(run("split", "--batch", stdin=text)))
            self.assertEqual([(r["id"], r["content"]) for r in out], [(1, "a"), (2, "b")], text)

    def test_blank_lines_count_in_line_numbers(self):
        self.bad(run("split", "--batch", stdin="\n\n[]\n"), 1, "line 3: ")

    def test_null_is_not_given(self):
        row = {"id": None, "format": None, "starts_in_reasoning": None, "chunks": None,
               "chunk_size": None, "join": None, "input": "<think>a</think>b"}
        out = results(self.good(run("split", "--batch", stdin=lines(row))))
        self.assertEqual((out[0]["reasoning"], out[0]["content"]), ("a", "b"))

    def test_options_hold_where_a_line_does_not_say(self):
        text = lines({"input": "a</think>b"}, {"input": "a</think>b", "starts_in_reasoning": False},
                     {"input": "[THINK]a[/THINK]b", "format": "mistral"})
        out = results(self.good(run("split", "--batch", "--inside", stdin=text)))
        self.assertEqual([r["content"] for r in out], ["b", "a</think>b", "b"])
        text = lines({"input": "[a]x[/a]y"}, {"input": "<think>x</think>y", "format": "think"})
        out = results(self.good(run("split", "--batch", "--open=[a]", "--close=[/a]", stdin=text)))
        self.assertEqual([r["content"] for r in out], ["y", "y"])

    def test_join(self):
        text = ("<|channel|>final<|message|>one<|end|><|start|>assistant<|channel|>final<|message|>"
                "two<|return|>")
        for join, content in ((None, "onetwo"), ("", "onetwo"), ("\n", "one\ntwo"),
                              (" + ", "one + two")):
            out = results(self.good(run("split", "--batch", stdin=lines(
                {"format": "harmony", "input": text, "join": join}))))
            self.assertEqual(out[0]["content"], content)

    def test_sizes_of_chunks_are_bytes(self):
        text = "<think>é€🌍</think>é€🌍"
        for size in (1, 2, 3, 4, 5, 1.0, 10**9, 2**62):
            out = results(self.good(run("split", "--batch", stdin=lines(
                {"input": text, "chunk_size": size}))))
            self.assertEqual((out[0]["reasoning"], out[0]["content"]), ("é€🌍", "é€🌍"), size)
        out = results(self.good(run("split", "--batch", stdin=lines(
            {"chunks": ["<th", "ink>a</t", "hink>b"], "chunk_size": 1}))))
        self.assertEqual((out[0]["reasoning"], out[0]["content"]), ("a", "b"))

    def test_no_chunks_are_an_empty_text(self):
        text = lines({"chunks": []}, {"input": ""})
        out = results(self.good(run("split", "--batch", stdin=text)))
        self.assertEqual(out[0], out[1])
        self.assertEqual((out[0]["content"], out[0]["state"]), ("", "none"))

    def test_tool_calls(self):
        text = '<tool_call>\n{"name": "f", "arguments": {"a": [1, "é"]}}\n</tool_call>'
        out = results(self.good(run("split", "--batch", stdin=lines(
            {"format": "qwen3", "input": text * 3}))))
        calls = out[0]["tool_calls"]
        self.assertEqual([set(c) for c in calls], [{"name", "arguments"}] * 3)
        self.assertEqual(json.loads(calls[0]["arguments"]), {"a": [1, "é"]})

    def test_from_a_file(self):
        with tempfile.NamedTemporaryFile("w", suffix=".jsonl") as file:
            file.write(lines({"id": 1, "input": "a"}))
            file.flush()
            self.assertEqual(results(self.good(run("split", "--batch", file.name)))[0]["id"], 1)

    def test_many_lines_and_one_long_one(self):
        rows = [{"id": i, "input": f"<think>{i}</think>{i * 2}"} for i in range(20_000)]
        out = results(self.good(run("split", "--batch", stdin=lines(*rows))))
        self.assertEqual([(r["id"], r["reasoning"], r["content"]) for r in out],
                         [(i, str(i), str(i * 2)) for i in range(20_000)])
        text = "é" * 5_000_000
        out = results(self.good(run("split", "--batch", stdin=lines(
            {"input": "<think>" + text + "</think>b", "chunk_size": 4096}))))
        self.assertEqual((len(out[0]["reasoning"]), out[0]["content"]), (5_000_000, "b"))


if __name__ == "__main__":
    main()
