"""Ollama's /api/chat: NDJSON, arguments as objects, thinking beside the content."""
# SPDX-License-Identifier: Apache-2.0
import datetime

from checks import estimate, need, question
from script import Ask, pieces

STOPS = {"end": "stop", "length": "length", "tool": "stop"}


def go(field, want, value):
    """The error of Go's decoder for a wrong type."""
    kinds = {str: "string", int: "number", float: "number", list: "array", dict: "object",
             bool: "bool", type(None): "null"}
    return f"json: cannot unmarshal {kinds[type(value)]} into Go struct field {field} of type {want}"


def check_message(i, m):
    need(isinstance(m, dict), go("ChatRequest.messages", "api.Message", m))
    need(m.get("role") in ("system", "user", "assistant", "tool", "developer"),
         f"invalid role: {m.get('role')}")
    need(isinstance(m.get("content", ""), str),
         go(f"ChatRequest.messages.{i}.content", "string", m.get("content")))
    need(isinstance(m.get("thinking", ""), str), go("Message.thinking", "string", m.get("thinking")))
    for image in m.get("images") or []:
        need(isinstance(image, str), go("Message.images", "api.ImageData", image))
    for c in m.get("tool_calls") or []:
        f = c.get("function")
        need(isinstance(f, dict) and isinstance(f.get("name"), str), "tool call without a name")
        need(isinstance(f.get("arguments"), dict),
             go("ToolCallFunction.arguments", "api.ToolCallFunctionArguments", f.get("arguments")))


def read(body, headers, path, script):
    need(isinstance(body.get("model"), str) and body["model"], "model is required")
    messages = body.get("messages")
    need(isinstance(messages, list), go("ChatRequest.messages", "[]api.Message", messages))
    need(messages, "messages is required")
    for i, m in enumerate(messages):
        check_message(i, m)
    think = body.get("think")
    need(think is None or isinstance(think, bool) or think in ("low", "medium", "high", "max"),
         f"invalid think value: {think!r} (must be \"high\", \"medium\", \"low\", \"max\", true, or "
         "false)")
    need(isinstance(body.get("options") or {}, dict), go("ChatRequest.options", "map", 1))
    need(isinstance(body.get("stream", True), bool), go("ChatRequest.stream", "bool", 1))
    tools = body.get("tools") or []
    for t in tools:
        need(isinstance(t, dict) and isinstance(t.get("function"), dict), "tool without a function")
    options = body.get("options") or {}
    last = messages[-1]
    ask = Ask(body["model"], body.get("stream", True), input_tokens=estimate(body))
    ask.user = question(m["content"] for m in messages if m["role"] == "user")
    ask.system = "\n".join(m["content"] for m in messages if m["role"] == "system")
    ask.tail = last.get("content", "") + last.get("thinking", "")
    ask.prefill = last["role"] == "assistant"
    for m in reversed(messages):
        if m["role"] != "tool":
            break
        ask.results.insert(0, m["content"])
    ask.tools = [t["function"]["name"] for t in tools]
    ask.max_tokens = max(0, options.get("num_predict", 0))
    ask.think = "off" if think is False else "on" if think else "unset"
    ask.wishes = [w for w in ("think",) if body.get(w) is not None]
    ask.wishes += [w for w in ("temperature", "top_p") if options.get(w) is not None]
    return ask


def now():
    return datetime.datetime.now(datetime.timezone.utc).isoformat().replace("+00:00", "Z")


def call(block, index):
    return {"id": block.id, "function": {"index": index, "name": block.name,
                                         "arguments": block.args}}


def counts(turn):
    if "no-usage" in turn.script:
        return {}
    if "bad-usage" in turn.script:
        return {"prompt_eval_count": -1, "eval_count": 1e300}
    return {"total_duration": 5000000, "load_duration": 1000, "prompt_eval_duration": 2000,
            "prompt_eval_count": turn.ask.input_tokens, "eval_duration": 3000,
            "eval_count": turn.output_tokens}


def whole(turn):
    message = {"role": "assistant", "content": turn.text("text")}
    if turn.text("reasoning"):
        message["thinking"] = turn.text("reasoning")
    if turn.calls():
        message["tool_calls"] = [call(c, i) for i, c in enumerate(turn.calls())]
    return {"model": turn.ask.model, "created_at": now(), "message": message,
            "done_reason": STOPS[turn.stop], "done": True, **counts(turn)}


def stream(turn):
    def line(message, **more):
        return None, {"model": turn.ask.model, "created_at": now(),
                      "message": {"role": "assistant", "content": "", **message},
                      "done": False, **more}

    index = 0
    for b in turn.blocks:
        if b.kind == "call":
            yield line({"tool_calls": [call(b, index)]})
            index += 1
            continue
        for piece in pieces(b.text):
            yield line({"thinking" if b.kind == "reasoning" else "content": piece})
    name, last = line({}, done_reason=STOPS[turn.stop], **counts(turn))
    yield "done", {**last, "done": True}


def error(status, message, param=None, code=None, kind=None):
    return {"error": message}


def error_event(turn):
    return None, {"error": "an error was encountered while running the model: unexpected EOF"}


def reject(name):
    if name == "think":
        return {"message": "\"this model\" does not support thinking"}
    return {"message": f"invalid option provided: {name}"}
