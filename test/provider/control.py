"""Replies whose reasoning a control call can end while they run, as in llama.cpp's server.

A stream requested with reasoning_control stops before an event of its reasoning (step
control:N), until POST /v1/chat/completions/control names its id. The step's HOW selects what
happens then:

    (none)      success; a few words of reasoning that were already sent, then the answer
    STATUS      that status, and no effect
    mute        no answer, and no effect
    refuse      no success, and no effect
    deaf        success, but the reasoning continues
    late        the reasoning ends, and the control call is never answered
    missed      the reply ends normally, and then the call fails, because the id is gone
    over        success, and the reply ends without an answer: stop reason length
    broken      success, and the connection ends
"""
# SPDX-License-Identifier: Apache-2.0
import asyncio

from checks import need
from script import TAGS

ON_ITS_WAY = 3
PATH = "/v1/chat/completions/control"


class Broken(Exception):
    """The connection must end here."""


class Running:
    """A stream, and its remaining frames after a control call."""

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
        if self.how == "over":  # the stop reason's frame, and [DONE]
            frames[-3:] = [f.replace(b'"finish_reason": "stop"', b'"finish_reason": "length"')
                           for f in frames[-3:]]
            self.answer = len(frames) - 3 if b'"usage"' in frames[-2] else len(frames) - 2

    async def before(self, connection, i):
        """Whether to send the ith event; waits for the control call before event `at`."""
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
        """Registers a stream; returns None if it cannot be controlled."""
        if "control" not in turn.script or not doc.get("reasoning_control") or turn.ask.prefill:
            return None
        one = self.running[f"chatcmpl-{turn.id}"] = Running(turn, frames)
        return one

    def close(self, turn, one):
        if one:
            del self.running[f"chatcmpl-{turn.id}"]
            one.sent.set()

    async def answer(self, connection, doc):
        """Returns (status, body) of a control call."""
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
