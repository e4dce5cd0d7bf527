"""Replies that are told to end their reasoning while they run, as llama.cpp's server has it.

A stream that was asked for with reasoning_control stops before an event of its reasoning (step
control:N), until POST /v1/chat/completions/control names its id. What then happens is the step's HOW:

    (none)      success; a few more words of reasoning, which were on their way, then the answer
    STATUS      that status, and nothing else happens
    mute        no answer, and nothing else happens
    refuse      no success, and nothing else happens
    deaf        success, and it thinks on
    late        the reasoning ends, and the control call is never answered
    missed      the reply ends as it would have, and then there is no success: the id is gone
    over        success, and the reply is over without an answer: stop reason length
    broken      success, and the connection ends
"""
# SPDX-License-Identifier: Apache-2.0
import asyncio

from checks import need
from script import TAGS

ON_ITS_WAY = 3
PATH = "/v1/chat/completions/control"


class Broken(Exception):
    """The connection is to end here."""


class Running:
    """A stream, and what is left of it once it has been told."""

    def __init__(self, turn, frames):
        self.at = turn.script.number("control")
        args = turn.script.steps["control"]
        self.how = args[1] if len(args) > 1 else ""
        self.told, self.sent = asyncio.Event(), asyncio.Event()
        closer = TAGS[turn.script.arg("tags", "think")][1].strip().encode()
        thinks = (lambda data: closer not in data) if "tags" in turn.script else \
            (lambda data: b'"reasoning_content"' in data)
        self.answer = self.at
        while self.answer < len(frames) and thinks(frames[self.answer]):
            self.answer += 1
        if self.how == "over":  # what tells so, and [DONE]
            frames[-3:] = [f.replace(b'"finish_reason": "stop"', b'"finish_reason": "length"')
                           for f in frames[-3:]]
            self.answer = len(frames) - 3 if b'"usage"' in frames[-2] else len(frames) - 2

    async def before(self, connection, i):
        """Whether the ith event is said at all."""
        if i < self.at:
            return True
        if i == self.at:
            await connection.either(self.told)
            if self.how == "broken":
                raise Broken
        return self.how in ("deaf", "missed") or not self.at + ON_ITS_WAY <= i < self.answer


class Controls:
    def __init__(self):
        self.running = {}

    def open(self, doc, turn, frames):
        """None: this one cannot be told."""
        if "control" not in turn.script or not doc.get("reasoning_control") or turn.ask.prefill:
            return None
        one = self.running[f"chatcmpl-{turn.id}"] = Running(turn, frames)
        return one

    def close(self, turn, one):
        if one:
            del self.running[f"chatcmpl-{turn.id}"]
            one.sent.set()

    async def answer(self, connection, doc):
        """(status, body) of a control call."""
        need(isinstance(doc.get("id"), str) and doc["id"], "missing completion id")
        need(doc.get("action") == "reasoning_end", "unknown control action")
        one = self.running.get(doc["id"])
        how = one.how if one else "refuse"
        if how.isdigit():
            return int(how), {"error": {"code": int(how), "message": "File Not Found",
                                        "type": "not_found_error"}}
        if one and how not in ("mute", "refuse"):
            one.told.set()
        if how == "missed":
            await connection.either(one.sent)
        if how in ("mute", "late"):
            await connection.either(asyncio.Event())
        if how in ("refuse", "missed"):
            return 200, {"success": False, "message": "no active completion for this id"}
        return 200, {"success": True}
