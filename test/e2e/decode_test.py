#!/usr/bin/env python3
"""`rationale decode`: converts recorded replies to chat events.

    test/e2e/decode_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
import json
import tempfile
from pathlib import Path

from command import Case, main, run

OLLAMA = [
    {"model": "qwen3", "message": {"role": "assistant", "content": "", "thinking": "two "},
     "done": False},
    {"model": "qwen3", "message": {"role": "assistant", "content": "four"}, "done": False},
    {"model": "qwen3", "message": {"role": "assistant", "content": ""}, "done": True,
     "done_reason": "stop", "prompt_eval_count": 3, "eval_count": 2},
]
RESPONSE = {
    "id": "resp_1", "model": "gpt-5", "status": "completed",
    "output": [
        {"type": "reasoning", "id": "rs_1", "encrypted_content": "x",
         "summary": [{"type": "summary_text", "text": "hm"}]},
        {"type": "message", "content": [{"type": "output_text", "text": "four"}]},
        {"type": "function_call", "call_id": "c", "name": "f", "arguments": "{}"},
    ],
    "usage": {"input_tokens": 5, "output_tokens": 4,
              "output_tokens_details": {"reasoning_tokens": 2}},
}


def lines(out):
    return [json.loads(line) for line in out.decode().splitlines()]


class Decode(Case):
    def decode(self, *args, stdin=None):
        return lines(self.good(run("decode", *args, stdin=stdin)))

    def test_lines_of_json(self):
        text = "".join(json.dumps(line) + "\n" for line in OLLAMA)
        want = [
            {"event": "start", "model": "qwen3"},
            {"event": "reasoning", "block": 0, "text": "two "},
            {"event": "text", "block": 1, "text": "four"},
            {"event": "usage", "input": 3, "output": 2},
            {"event": "stop", "name": "stop", "stop": "end"},
            {"event": "end"},
        ]
        self.assertEqual(self.decode("--dialect", "ollama", "--stream", stdin=text), want)
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "reply.jsonl"
            path.write_text(text)
            self.assertEqual(self.decode("-d", "ollama", "-s", str(path)), want)

    def test_a_whole_reply(self):
        seen = self.decode("-d", "responses", stdin=json.dumps(RESPONSE))
        self.assertEqual([event["event"] for event in seen],
                         ["start", "reasoning", "signature", "text", "keep", "call", "arguments",
                          "usage", "stop", "end"])
        self.assertEqual(seen[0], {"event": "start", "id": "resp_1", "model": "gpt-5"})
        self.assertEqual(seen[1], {"event": "reasoning", "block": 0, "summary": True, "text": "hm"})
        self.assertEqual(json.loads(seen[2]["text"]), RESPONSE["output"][0])
        self.assertEqual(seen[4]["id"], "c")
        self.assertEqual(seen[7], {"event": "usage", "input": 5, "output": 4, "reasoning": 2})

    def test_a_stream_says_the_same_as_its_end(self):
        final = {"type": "response.completed", "response": RESPONSE}
        sse = f"event: response.completed\ndata: {json.dumps(final)}\n\n"
        self.assertEqual(self.decode("-d", "responses", "-s", stdin=sse),
                         self.decode("-d", "responses", stdin=json.dumps(RESPONSE)))

    def test_an_error_is_an_event_and_an_exit_code(self):
        for args, text, status in (
                (["-d", "ollama"], '{"error":"no such model"}', 500),
                (["-d", "ollama", "-s"], json.dumps(OLLAMA[0]) + "\n", 502),
                (["-d", "responses"], "not JSON", 502),
                (["-d", "responses", "-s"], 'data: {"type":"error","message":"m",'
                 '"code":"rate_limit_exceeded"}\n\n', 429)):
            done = run("decode", *args, stdin=text)
            self.assertEqual(done.code, 1, done)
            last = lines(done.out)[-1]
            self.assertEqual((last["event"], last["status"]), ("error", status))

    def test_every_dialect_reads_its_error_or_says_what_is_wrong(self):
        for name in ("openai", "responses", "anthropic", "mistral", "ollama", "cohere"):
            done = run("decode", "-d", name, stdin="{}")
            self.assertIn(done.code, (0, 1), name)
            for event in lines(done.out):
                self.assertIn("event", event)

    def test_wrong_command_lines(self):
        self.bad(run("decode", stdin="{}"), 2, "needs --dialect")
        self.bad(run("decode", "-d", "klingon", stdin="{}"), 2, "klingon")
        self.bad(run("decode", "-d", "ollama", "/no/such/file"), 1, "/no/such/file")
        self.bad(run("decode", "-d", "ollama", stdin=""), 1, "nothing in it")


if __name__ == "__main__":
    main()
