#!/usr/bin/env python3
"""Replies that end by length inside their reasoning: for which clients the gateway requests the
answer.

    test/e2e/starved_test.py BINARY SOURCE_ROOT [NAME OF A TEST...]
"""
# SPDX-License-Identifier: Apache-2.0
from again_test import SAID, WORD, plain, whole
from asking import request, start
from levels_test import CLAUDE, LOW, Levels, claude_code, told


class Starved(Levels):
    """A reply that ends by length inside its reasoning. A second call costs money too."""

    def calls(self, gateway, dialect, headers, doc):
        """The number of requests; after a single one the client must get the provider's bytes."""
        path, starves, answers = {
            "openai": ("/v1/chat/completions", plain(200, {"id": "c", "choices": [{
                "index": 0, "finish_reason": "length",
                "message": {"role": "assistant", "content": "", "reasoning_content": WORD * 20}}]}),
                whole("Yes.")),
            "anthropic": ("/v1/messages", plain(200, {
                "id": "msg_1", "type": "message", "role": "assistant", "model": CLAUDE, "stop_reason": "max_tokens",
                "content": [{"type": "thinking", "thinking": WORD * 20, "signature": "c2ln"}],
                "usage": {"input_tokens": 5, "output_tokens": 20}}), plain(200, {
                    "id": "msg_2", "type": "message", "role": "assistant", "model": CLAUDE,
                    "stop_reason": "end_turn", "content": [{"type": "text", "text": "Yes."}],
                    "usage": {"input_tokens": 5, "output_tokens": 20}}))}[dialect]
        self.up.reply = lambda n, _: starves if n == 1 else answers
        self.up.forget()
        r = self.ok(request(path, doc, headers, at=gateway))
        self.assertEqual(b"Yes." in r.body, len(self.up.asked) > 1)
        if len(self.up.asked) == 1:
            self.assertEqual(r.body, starves.split(b"\r\n\r\n", 1)[1])
            self.assertIn("starved=yes", told(r))
        return len(self.up.asked)

    def test_it_passes_unless_a_level_of_ours_was_asked_for(self):
        edits = {"edits": [{"type": "clear_thinking_20251015", "keep": "all"}]}
        own = (("openai", {"model": "m", "messages": SAID}),
               ("openai", {"model": "m", "messages": SAID, "reasoning_effort": "high", "max_tokens": 900}),
               ("anthropic", claude_code(stream=False)),
               ("anthropic", claude_code(stream=False, output_config={"effort": "max"}, context_management=edits)))
        for setting, by_own, by_level in (({}, 1, 2), ({"repair_starved": "asked"}, 1, 2),
                                          ({"repair_starved": True}, 2, 2), ({"repair_starved": False}, 1, 1)):
            gateway = self.serve(reasoning={"show": True, **setting}, providers={
                **self.one("openai", models=["m"]), **self.one("anthropic", models=[CLAUDE])})
            for dialect, doc in own:
                with self.subTest(setting, doc=doc):
                    self.assertEqual(self.calls(gateway, dialect, {}, doc), by_own)
                    self.assertEqual(self.calls(gateway, dialect, LOW, doc), by_level)

    def test_with_presets_for_all_words_it_is_repaired(self):
        gateway = self.serve(reasoning={"show": True, "presets": "always"})
        ask = {"model": "m", "messages": SAID}
        self.assertEqual(self.calls(gateway, "openai", {}, {**ask, "reasoning_effort": "low"}), 2)
        self.assertEqual(self.calls(gateway, "openai", {}, ask), 1)

    def test_a_presets_own_word_holds(self):
        gateway = self.serve(reasoning={"show": True}, llm={"reasoning_presets": {"low": {"repair_starved": False}}})
        ask = {"model": "m", "messages": SAID}
        self.assertEqual(self.calls(gateway, "openai", LOW, ask), 1)
        self.assertEqual(self.calls(gateway, "openai", {"x-rationale-level": "high"}, ask), 2)


if __name__ == "__main__":
    start()
