"""Anthropic Messages, with its rules about roles, tool results and signed thinking."""
# SPDX-License-Identifier: Apache-2.0
import json
import re

from checks import estimate, is_int, is_number, need, question, text_of, tool_name
from script import Ask, is_signed, issued, pieces

NAMES = set(
    "model messages max_tokens system metadata stop_sequences stream temperature top_k top_p tools "
    "tool_choice thinking service_tier container context_management mcp_servers output_config "
    "output_format betas cache_control inference_geo speed".split())
BLOCKS = {
    "user": ("text", "image", "document", "tool_result", "search_result", "container_upload"),
    "assistant": ("text", "thinking", "redacted_thinking", "tool_use", "server_tool_use"),
    "system": ("text",),
}
THINKING = ("thinking", "redacted_thinking")
thought_before = {}  # call id -> the thinking blocks of its message, which must come back unchanged
omitted = set()      # signatures of thinking whose text was omitted
STOPS = {"end": "end_turn", "length": "max_tokens", "tool": "tool_use"}


def blocks_of(content):
    return [{"type": "text", "text": content}] if isinstance(content, str) else content


def check_block(role, b, where):
    need(isinstance(b, dict) and b.get("type") in BLOCKS[role],
         f"{where}: Input tag '{b.get('type') if isinstance(b, dict) else b}' found using 'type' "
         f"does not match any of the expected tags: {BLOCKS[role]}")
    if b["type"] == "text":
        need(isinstance(b.get("text"), str) and b["text"].strip(),
             f"{where}: text content blocks must be non-empty")
    if b["type"] == "tool_use":
        need(re.fullmatch(r"[a-zA-Z0-9_-]+", b.get("id") or ""),
             f"{where}.tool_use.id: String should match pattern '^[a-zA-Z0-9_-]+$'")
        need(tool_name(b.get("name"), 128), f"{where}.tool_use.name: Field required")
        need(isinstance(b.get("input"), dict),
             f"{where}.tool_use.input: Input should be a valid dictionary")
    if b["type"] == "thinking":
        need(isinstance(b.get("thinking"), str), f"{where}.thinking.thinking: Field required")
        need(isinstance(b.get("signature"), str), f"{where}.thinking.signature: Field required")
        need(is_signed(b["thinking"], b["signature"]) or (not b["thinking"] and b["signature"] in omitted),
             f"{where}: Invalid `signature` in `thinking` block")
    if b["type"] == "redacted_thinking":
        need(isinstance(b.get("data"), str), f"{where}.redacted_thinking.data: Field required")
    if b["type"] == "tool_result":
        need(isinstance(b.get("tool_use_id"), str), f"{where}.tool_result.tool_use_id: required")
        for part in blocks_of(b.get("content") or []):
            need(isinstance(part, dict) and part.get("type") in ("text", "image", "document",
                                                                 "search_result"),
                 f"{where}.tool_result.content: bad part")


def check_system_message(messages, i, script):
    """A message of role system follows a user message, and only models from Opus 4.8 on accept it."""
    where = f"messages.{i}"
    need("strict" in script and script.arg("as") == "adaptive",
         f"{where}: role 'system' is not supported on this model")
    need(i > 0 and messages[i - 1]["role"] == "user",
         f"{where}: a system message must come immediately after a user message")
    extra = set(messages[i]) - {"role", "content", "output_config"}
    need(not extra, f"{where}.{', '.join(extra)}: Extra inputs are not permitted")
    for j, b in enumerate(blocks_of(messages[i].get("content") or [])):
        check_block("system", b, f"{where}.content.{j}")


def check_messages(messages, script):
    need(isinstance(messages, list) and messages, "messages: at least one message is required")
    want, open_calls = "user", []
    for i, m in enumerate(messages):
        where = f"messages.{i}"
        need(isinstance(m, dict) and m.get("role") in BLOCKS,
             f"{where}: Input should be 'user' or 'assistant'")
        if m["role"] == "system":
            check_system_message(messages, i, script)
            continue
        extra = set(m) - {"role", "content"}
        need(not extra, f"{where}.{', '.join(extra)}: Extra inputs are not permitted")
        need(m["role"] == want, "messages: roles must alternate between \"user\" and \"assistant\", "
             f"but found multiple \"{m['role']}\" roles in a row" if i else
             "messages: first message must use the \"user\" role")
        want = "assistant" if want == "user" else "user"
        content = m.get("content")
        need(isinstance(content, (str, list)), f"{where}.content: Field required")
        need(content or (m["role"] == "assistant" and i == len(messages) - 1),
             f"{where}: all messages must have non-empty content except for the optional final "
             "assistant message")
        blocks = blocks_of(content)
        for j, b in enumerate(blocks):
            check_block(m["role"], b, f"{where}.content.{j}")
        open_calls = check_calls(blocks, open_calls, where)
    last = messages[-1]
    if last["role"] == "assistant":
        need(not open_calls, f"messages.{len(messages) - 1}: `tool_use` ids were found without "
             f"`tool_result` blocks immediately after: {', '.join(open_calls)}")
        need(text_of(last["content"]) == text_of(last["content"]).rstrip(),
             "messages: final assistant content cannot end with trailing whitespace")


def check_calls(blocks, open_calls, where):
    results = [b["tool_use_id"] for b in blocks if b["type"] == "tool_result"]
    for r in results:
        need(r in open_calls, f"{where}.content: unexpected `tool_use_id` found in `tool_result` "
             f"blocks: {r}. Each `tool_result` block must have a corresponding `tool_use` block in "
             "the previous message.")
    need(len(set(results)) == len(results), f"{where}: each tool_use must have a single result.")
    missing = set(open_calls) - set(results)
    need(not missing, f"{where}: `tool_use` ids were found without `tool_result` blocks immediately "
         f"after: {', '.join(sorted(missing))}.")
    kinds = [b["type"] for b in blocks]
    if results:
        need(kinds[:len(results)] == ["tool_result"] * len(results),
             f"{where}: tool_result blocks must come first in the content of the message")
    ids = [b["id"] for b in blocks if b["type"] == "tool_use"]
    need(len(set(ids)) == len(ids), f"{where}: `tool_use` ids must be unique")
    return ids


def check_thinking(body, script):
    t = body.get("thinking")
    if t is None:
        return
    need(isinstance(t, dict) and t.get("type") in ("enabled", "disabled", "adaptive"),
         "thinking.type: Input should be 'enabled', 'disabled' or 'adaptive'")
    if t["type"] == "enabled":
        need(script.arg("as") != "adaptive", "\"thinking.type.enabled\" is not supported for this "
             "model. Use \"thinking.type.adaptive\" and \"output_config.effort\".")
        need(is_int(t.get("budget_tokens"), 1024),
             "thinking.enabled.budget_tokens: Input should be greater than or equal to 1024")
        need(t["budget_tokens"] < body["max_tokens"],
             "`max_tokens` must be greater than `thinking.budget_tokens`.")
        need(body.get("tool_choice", {}).get("type", "auto") in ("auto", "none"),
             "Thinking may not be enabled when tool_choice forces tool use.")
        last = next((m for m in reversed(body["messages"]) if m["role"] == "assistant"), None)
        if last and body["messages"][-1] is not last:
            first = blocks_of(last["content"])[0]["type"]
            used = any(b["type"] == "tool_use" for b in blocks_of(last["content"]))
            need(not used or first in ("thinking", "redacted_thinking"),
                 f"messages: Expected `thinking` or `redacted_thinking`, but found `{first}`. When "
                 "`thinking` is enabled, a final `assistant` message must start with a thinking "
                 "block.")
    if t["type"] != "disabled":
        need(body.get("temperature") in (None, 1),
             "`temperature` may only be set to 1 when thinking is enabled.")
        need(body.get("top_k") is None, "`top_k` must be unset when thinking is enabled.")
        need(body.get("top_p") is None or body["top_p"] >= 0.95,
             "`top_p` must be greater than or equal to 0.95 or unset when thinking is enabled.")
        need(body["messages"][-1]["role"] == "user" or t["type"] == "adaptive",
             "When thinking is enabled, the final message may not be a prefilled assistant turn.")


def check_tools(body):
    for i, t in enumerate(body.get("tools") or []):
        need(tool_name(t.get("name"), 128), f"tools.{i}.name: String should match pattern")
        if t.get("type", "custom") == "custom":
            schema = t.get("input_schema")
            need(isinstance(schema, dict), f"tools.{i}.custom.input_schema: Field required")
            need(schema.get("type") == "object",
                 f"tools.{i}.custom.input_schema.type: Input should be 'object'")
            extra = set(t) - {"type", "name", "description", "input_schema", "cache_control",
                              "strict", "input_examples", "defer_loading", "allowed_callers",
                              "eager_input_streaming"}
            need(not extra, f"tools.{i}.custom.{', '.join(extra)}: Extra inputs are not permitted")
    choice = body.get("tool_choice")
    if choice is not None:
        need(isinstance(choice, dict) and choice.get("type") in ("auto", "any", "tool", "none"),
             "tool_choice: Input should be an object with type auto, any, tool or none")
        need(body.get("tools"), "tool_choice may only be specified while providing tools.")


def read(body, headers, path, script):
    need(headers.get("anthropic-version"), "anthropic-version: header is required")
    need(isinstance(body.get("model"), str) and body["model"], "model: Field required")
    need(body.get("max_tokens") is not None, "max_tokens: Field required")
    need(is_int(body["max_tokens"], 1), "max_tokens: Input should be greater than or equal to 1")
    for name in body:
        need(name in NAMES, f"{name}: Extra inputs are not permitted")
    for name, low, high in (("temperature", 0, 1), ("top_p", 0, 1), ("top_k", 0, 10 ** 6)):
        need(body.get(name) is None or is_number(body[name], low, high), f"{name}: out of range")
    system = body.get("system")
    need(system is None or isinstance(system, (str, list)), "system: Input should be a valid string")
    for b in system if isinstance(system, list) else ():
        need(b.get("type") == "text" and b.get("text"),
             "system: text content blocks must be non-empty")
    check_messages(body.get("messages"), script)
    check_thinking(body, script)
    check_tools(body)
    effort = (body.get("output_config") or {}).get("effort")
    need(effort in (None, "low", "medium", "high", "xhigh", "max"), "output_config.effort: bad")
    return ask_of(body, script)


def ask_of(body, script):
    messages = body["messages"]
    last = next(m for m in reversed(messages) if m["role"] != "system")
    ask = Ask(body["model"], bool(body.get("stream")), input_tokens=estimate(body))
    ask.user = question(m["content"] for m in messages if m["role"] == "user")
    ask.system = text_of(body.get("system"))
    ask.tail = "".join(b.get("text", "") + b.get("thinking", "") for b in blocks_of(last["content"]))
    ask.prefill = last["role"] == "assistant"
    ask.results = [text_of(blocks_of(b.get("content") or "")) for b in blocks_of(last["content"])
                   if b["type"] == "tool_result"]
    ask.tools = [t["name"] for t in body.get("tools") or []]
    choice = body.get("tool_choice") or {}
    ask.no_tools = choice.get("type") == "none"
    ask.forced = choice.get("name", "") if choice.get("type") == "tool" else \
        "any" if choice.get("type") == "any" else ""
    ask.max_tokens = body["max_tokens"]
    t = body.get("thinking") or {}
    ask.think = {"enabled": "on", "adaptive": "on", "disabled": "off"}.get(t.get("type"), "unset")
    ask.visible = "loud" in script or "refuse-signature" in script or ask.think == "on"
    ask.display = t.get("display") or ("omitted" if script.arg("as") == "adaptive" else "summarized")
    ask.signs = True
    ask.budget = t.get("budget_tokens", -1)
    ask.wishes = [w for w in ("thinking", "output_config", "temperature", "top_p", "top_k")
                  if body.get(w) is not None]
    for m in messages:
        if m["role"] == "assistant":
            blocks = blocks_of(m["content"])
            thought = next((b for b in blocks if b["type"] == "thinking"), {})
            if "refuse-signature" in script:
                check_thoughts(blocks)
            for b in blocks:
                if b["type"] == "tool_use":
                    ask.returned[anchor(b["id"])] = (thought.get("thinking", ""),
                                                     thought.get("signature", ""))
    return ask


def check_thoughts(blocks):
    """A turn that called a tool must have its thinking blocks unchanged and in order, before the
    call."""
    for i, b in enumerate(blocks):
        want = thought_before.get(b.get("id")) if b["type"] == "tool_use" else None
        got = [t for t in blocks[:i] if t["type"] in THINKING]
        need(want is None or got == want, "`thinking` or `redacted_thinking` blocks in the latest assistant message "
             f"cannot be modified: wanted {want}, got {got}")


def anchor(call_id):
    """Tool calls have ids toolu_N; the script numbers them as call_N."""
    own = call_id.replace("toolu_", "call_", 1)
    return own if own in issued else call_id


def tool_id(block):
    return block.id.replace("call_", "toolu_", 1)


def usage(turn, out=None):
    if "bad-usage" in turn.script:
        return {"input_tokens": "many", "output_tokens": -5}
    u = {"input_tokens": turn.ask.input_tokens, "cache_creation_input_tokens": 0,
         "cache_read_input_tokens": 0,
         "output_tokens": turn.output_tokens if out is None else out}
    if out is None and turn.reasoning_tokens:
        u["output_tokens_details"] = {"thinking_tokens": turn.reasoning_tokens}
    return u


def blocks(turn):
    out = []
    for b in turn.blocks:
        if b.kind == "reasoning" and turn.ask.visible:
            if "redacted" in turn.script:
                out.append({"type": "redacted_thinking", "data": b.signature})
            if "omitted" in turn.script:
                omitted.add(b.signature)
            out.append({"type": "thinking", "thinking": "" if "omitted" in turn.script else b.text,
                        "signature": b.signature})
        elif b.kind == "text":
            out.append({"type": "text", "text": b.text})
        elif b.kind == "call":
            thought_before[tool_id(b)] = [t for t in out if t["type"] in THINKING]
            out.append({"type": "tool_use", "id": tool_id(b), "name": b.name, "input": b.args})
    return out


def head(turn):
    return {"id": f"msg_{turn.id}", "type": "message", "role": "assistant",
            "model": turn.ask.model}


def whole(turn):
    reply = {**head(turn), "content": blocks(turn), "stop_reason": STOPS[turn.stop],
             "stop_sequence": None}
    if "no-usage" not in turn.script:
        reply["usage"] = usage(turn)
    return reply


def stream(turn):
    def event(kind, **more):
        return kind, {"type": kind, **more}

    yield event("message_start", message={**head(turn), "content": [], "stop_reason": None,
                                          "stop_sequence": None, "usage": usage(turn, 1)})
    yield event("ping")
    for i, b in enumerate(blocks(turn)):
        kind = b["type"]
        start = {"text": {"type": "text", "text": ""},
                 "thinking": {"type": "thinking", "thinking": "", "signature": ""},
                 "redacted_thinking": b}.get(kind, {**b, "input": {}})
        yield event("content_block_start", index=i, content_block=start)
        deltas = []
        if kind == "text":
            deltas = [{"type": "text_delta", "text": p} for p in pieces(b["text"])]
        elif kind == "thinking":
            deltas = [{"type": "thinking_delta", "thinking": p} for p in pieces(b["thinking"])]
            if b["signature"]:
                deltas.append({"type": "signature_delta", "signature": b["signature"]})
        elif kind == "tool_use":
            deltas = [{"type": "input_json_delta", "partial_json": p}
                      for p in ["", *pieces(json.dumps(b["input"], ensure_ascii=False))]]
        for delta in deltas:
            yield event("content_block_delta", index=i, delta=delta)
        yield event("content_block_stop", index=i)
    more = {} if "no-usage" in turn.script else {"usage": usage(turn)}
    yield event("message_delta", delta={"stop_reason": STOPS[turn.stop], "stop_sequence": None},
                **more)
    yield event("message_stop")


def error(status, message, param=None, code=None, kind=None):
    kinds = {400: "invalid_request_error", 401: "authentication_error", 403: "permission_error",
             404: "not_found_error", 413: "request_too_large", 429: "rate_limit_error",
             500: "api_error", 529: "overloaded_error", 503: "overloaded_error"}
    return {"type": "error", "error": {"type": kind or kinds.get(status, "invalid_request_error"),
                                       "message": message}, "request_id": "req_test"}


def error_event(turn):
    return "error", {"type": "error", "error": {"type": "overloaded_error",
                                                "message": "Overloaded"}}


def reject(name):
    if name in ("thinking", "output_config"):
        return {"message": f"{name}: this model does not support extended thinking."}
    return {"message": f"`{name}` is not supported on this model."}
