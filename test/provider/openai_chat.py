"""OpenAI Chat Completions of OpenAI and the hosts that imitate it, and Mistral's variant."""
# SPDX-License-Identifier: Apache-2.0
import json
import re
import time

from checks import (estimate, is_int, is_json_object, known_names, need, number_in, question,
                    text_of, tool_name)
from script import Ask, pieces

EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
ROLES = ("system", "developer", "user", "assistant", "tool", "function")
PARTS = {
    "user": ("text", "image_url", "input_audio", "file", "document_url"),
    "assistant": ("text", "refusal", "thinking", "reference"),
    "system": ("text", "thinking"), "developer": ("text",), "tool": ("text", "image_url"),
}
OPENAI_NAMES = set(
    "audio frequency_penalty function_call functions logit_bias logprobs max_completion_tokens "
    "max_tokens messages metadata modalities model n parallel_tool_calls prediction presence_penalty "
    "prompt_cache_key prompt_cache_retention reasoning_effort response_format safety_identifier seed "
    "service_tier stop store stream stream_options temperature tool_choice tools top_logprobs top_p "
    "user verbosity web_search_options".split())
MISTRAL_NAMES = set(
    "model temperature top_p max_tokens stream stop random_seed metadata messages response_format "
    "tools tool_choice presence_penalty frequency_penalty n prediction parallel_tool_calls "
    "reasoning_effort prompt_mode guardrails prompt_cache_key service_tier safe_prompt".split())
MISTRAL_MESSAGE = {
    "system": {"role", "content"},
    "user": {"role", "content"},
    "assistant": {"role", "content", "tool_calls", "prefix"},
    "tool": {"role", "content", "tool_call_id", "name"},
}
WISHES = ("reasoning_effort", "reasoning", "thinking", "thinking_token_budget", "enable_thinking",
          "chat_template_kwargs", "thinking_budget_tokens", "reasoning_budget_tokens",
          "custom_params", "prompt_mode", "temperature", "top_p", "reasoning_control")
STOPS = {"end": "stop", "length": "length", "tool": "tool_calls"}
# The members in which a host sends reasoning; OpenAI itself sends none.
FIELDS = {"openai": (), "azure": (), "vllm": ("reasoning",), "openrouter": ("reasoning",),
          "both": ("reasoning", "reasoning_content"), "text": ("reasoning_text",)}


def fields(turn):
    return FIELDS.get(turn.script.arg("as", "deepseek"), ("reasoning_content",))


# ---- reading ----

def check_messages(messages):
    need(isinstance(messages, list) and messages,
         "Invalid 'messages': empty array. Expected an array with minimum length 1.", "messages")
    open_calls = []
    for i, m in enumerate(messages):
        where = f"messages[{i}]"
        need(isinstance(m, dict), f"Invalid type for '{where}': expected an object.", where)
        role = m.get("role")
        need(role in ROLES, f"Invalid value: '{role}'. Supported values are: {ROLES}.",
             where + ".role")
        if open_calls and role != "tool":
            need(False, "An assistant message with 'tool_calls' must be followed by tool messages "
                 "responding to each 'tool_call_id'. The following tool_call_ids did not have "
                 f"response messages: {', '.join(open_calls)}", where + ".role")
        check_content(role, m, where)
        if role == "tool":
            call = m.get("tool_call_id")
            need(isinstance(call, str), f"Missing required parameter: '{where}.tool_call_id'.",
                 where + ".tool_call_id")
            need(call in open_calls, "messages with role 'tool' must be a response to a preceeding "
                 f"message with 'tool_calls'; {call} is not open.", where + ".role")
            open_calls.remove(call)
        if role == "assistant":
            open_calls = check_calls(m.get("tool_calls"), where)
    need(not open_calls, "An assistant message with 'tool_calls' must be followed by tool messages "
         f"responding to each 'tool_call_id': {', '.join(open_calls)}", "messages")


def check_content(role, m, where):
    content = m.get("content")
    if content is None:
        need(role == "assistant" and (m.get("tool_calls") or m.get("refusal") or m.get("audio")
                                      or m.get("reasoning_content") or m.get("reasoning")),
             f"Invalid value for 'content': expected a string, got null. ({where})",
             where + ".content")
        return
    if isinstance(content, str):
        return
    need(isinstance(content, list) and content,
         f"Invalid type for '{where}.content': expected a string or an array.", where + ".content")
    for p in content:
        kind = p.get("type") if isinstance(p, dict) else None
        need(kind in PARTS.get(role, ()), f"Invalid value: '{kind}' in '{where}.content' of {role}.",
             where + ".content")
        if kind == "text":
            need(isinstance(p.get("text"), str), f"'{where}.content' has a text part without text.")


def check_calls(calls, where):
    if calls is None:
        return []
    need(isinstance(calls, list) and calls, f"Invalid '{where}.tool_calls': empty array.",
         where + ".tool_calls")
    ids = []
    for c in calls:
        need(isinstance(c.get("id"), str) and c["id"], f"Missing '{where}.tool_calls[].id'.")
        need(c.get("type", "function") == "function", f"'{where}.tool_calls[].type' is not function")
        f = c.get("function")
        need(isinstance(f, dict) and tool_name(f.get("name")), f"Invalid name in '{where}'.")
        need(isinstance(f.get("arguments"), str),
             f"Invalid type for '{where}.tool_calls[].function.arguments': expected a string.")
        need(is_json_object(f["arguments"]), f"arguments in '{where}' are no JSON object.")
        ids.append(c["id"])
    need(len(set(ids)) == len(ids), f"Duplicate tool call ids in '{where}'.")
    return ids


def check_tools(body):
    tools = body.get("tools")
    if tools is not None:
        need(isinstance(tools, list) and tools, "Invalid 'tools': empty array.", "tools")
        for i, t in enumerate(tools):
            need(isinstance(t, dict) and t.get("type") == "function",
                 f"Missing required parameter: 'tools[{i}].type'.", f"tools[{i}].type")
            f = t.get("function")
            need(isinstance(f, dict) and tool_name(f.get("name")),
                 f"Missing required parameter: 'tools[{i}].function.name'.", f"tools[{i}].function")
            need(isinstance(f.get("parameters", {}), dict),
                 f"Invalid type for 'tools[{i}].function.parameters'.")
    choice = body.get("tool_choice")
    if choice is None:
        return
    need(tools, "'tool_choice' is only allowed when 'tools' are specified.", "tool_choice")
    if isinstance(choice, dict):
        name = choice.get("function", {}).get("name")
        need(name in [t["function"]["name"] for t in tools],
             f"Tool choice '{name}' not found in 'tools' parameter.", "tool_choice")
    else:
        need(choice in ("auto", "none", "required", "any"), f"Invalid tool_choice: {choice!r}",
             "tool_choice")


def check_numbers(body):
    number_in(body, "temperature", 0, 2)
    number_in(body, "top_p", 0, 1)
    number_in(body, "frequency_penalty", -2, 2)
    number_in(body, "presence_penalty", -2, 2)
    for name in ("max_tokens", "max_completion_tokens", "n", "seed", "random_seed"):
        value = body.get(name)
        need(value is None or is_int(value, None if "seed" in name else 1),
             f"Invalid type for '{name}': expected an integer.", name)
    need(not ("max_tokens" in body and "max_completion_tokens" in body),
         "Setting 'max_tokens' and 'max_completion_tokens' at the same time is not supported.",
         "max_tokens", code="invalid_parameter_combination")
    for name in ("stream", "parallel_tool_calls", "reasoning_control"):
        need(isinstance(body.get(name, False), (bool, type(None))),
             f"Invalid type for '{name}': expected a boolean.", name)
    effort = body.get("reasoning_effort")
    need(effort is None or effort in EFFORTS, f"Invalid value: '{effort}'. Supported values are: "
         f"{EFFORTS}.", "reasoning_effort")


def thinking(body, ask):
    """Any host's parameters for thinking: on, off, or an amount."""
    effort = body.get("reasoning_effort")
    reasoning = body.get("reasoning") or {}
    effort = reasoning.get("effort", effort)
    switch = (body.get("thinking") or {}).get("type")
    template = body.get("chat_template_kwargs") or {}
    off = effort == "none" or switch == "disabled" or reasoning.get("enabled") is False or \
        template.get("enable_thinking") is False or template.get("thinking") is False or \
        body.get("enable_thinking") is False
    ask.think = "off" if off else "on" if effort or switch or reasoning else "unset"
    ask.visible = not reasoning.get("exclude") and body.get("include_reasoning") is not False
    for value in (body.get("thinking_token_budget"), body.get("thinking_budget_tokens"),
                  body.get("reasoning_budget_tokens"), reasoning.get("max_tokens"),
                  (body.get("custom_params") or {}).get("thinking_budget")):
        if value is not None:
            need(is_int(value, 0), "a thinking budget is a number of tokens")
            ask.budget = value
            if value == 0:
                ask.think = "off"


def reasoning_text(m):
    for name in ("reasoning_content", "reasoning"):
        if m.get(name) is not None:
            return m[name]
    if isinstance(m.get("content"), list):
        return "".join(text_of(p.get("thinking")) for p in m["content"]
                       if p.get("type") == "thinking")
    return None


def signature_of(m, text):
    """These hosts do not sign; the text itself must come back."""
    from script import sign
    return sign(text) if text else ""


def read(body, headers, path, script):
    need(isinstance(body.get("model"), str), "you must provide a model parameter", "model")
    check_messages(body.get("messages"))
    check_tools(body)
    check_numbers(body)
    options = body.get("stream_options")
    need(options is None or body.get("stream"),
         "The 'stream_options' parameter is only allowed when 'stream' is enabled.",
         "stream_options")
    if script.arg("as") in ("openai", "azure"):
        known_names(body, OPENAI_NAMES, "Unrecognized request argument supplied: {0}")
        need("max_tokens" not in body, "Unsupported parameter: 'max_tokens' is not supported with "
             "this model. Use 'max_completion_tokens' instead.", "max_tokens",
             code="unsupported_parameter")
    return common(body, script, usage=bool((options or {}).get("include_usage")))


def read_mistral(body, headers, path, script):
    need(isinstance(body.get("model"), str), "model: Field required", "model", status=422)
    for name in body:
        need(name in MISTRAL_NAMES, f"{name}: Extra inputs are not permitted", name, status=422)
    check_messages(body.get("messages"))
    for i, m in enumerate(body["messages"]):
        need(m["role"] in MISTRAL_MESSAGE, f"messages.{i}.role: Input should be system, user, "
             "assistant or tool", status=422)
        for name in m:
            need(name in MISTRAL_MESSAGE[m["role"]],
                 f"messages.{i}.{m['role']}.{name}: Extra inputs are not permitted", status=422)
        for call in [c["id"] for c in m.get("tool_calls") or []] + [m.get("tool_call_id")]:
            need(call is None or re.fullmatch(r"[a-zA-Z0-9]{9}", call), f"Tool call id was {call} "
                 "but must be a-z, A-Z, 0-9, with a length of 9.")
    last = body["messages"][-1]
    need(last["role"] in ("user", "tool") or last.get("prefix"),
         "Expected last role User or Tool (or Assistant with prefix True) for serving but got "
         "assistant")
    check_tools(body)
    check_numbers(body)
    need(body.get("reasoning_effort") in (None, *EFFORTS[:6]), "reasoning_effort: bad value",
         status=422)
    ask = common(body, script, usage=True)
    ask.call_prefix = "c"  # nine letters and digits in total
    return ask


def common(body, script, usage):
    messages = body["messages"]
    last = messages[-1]
    ask = Ask(body["model"], bool(body.get("stream")), usage=usage, input_tokens=estimate(body))
    ask.user = question(m["content"] for m in messages if m["role"] == "user")
    ask.system = "\n".join(text_of(m["content"]) for m in messages
                           if m["role"] in ("system", "developer"))
    ask.tail = text_of(last.get("content")) + (reasoning_text(last) or "" if last["role"] != "tool"
                                               else "")
    ask.prefill = last["role"] == "assistant"
    for m in reversed(messages):
        if m["role"] in ("developer", "system"):
            continue
        if m["role"] != "tool":
            break
        ask.results.insert(0, text_of(m["content"]))
    ask.tools = [t["function"]["name"] for t in body.get("tools") or []]
    choice = body.get("tool_choice")
    ask.no_tools = choice == "none"
    ask.forced = choice["function"]["name"] if isinstance(choice, dict) else \
        "any" if choice in ("required", "any") else ""
    ask.max_tokens = body.get("max_completion_tokens") or body.get("max_tokens") or 0
    thinking(body, ask)
    ask.wants_back = bool(FIELDS.get(script.arg("as", "deepseek"), True))
    ask.wishes = [w for w in WISHES if body.get(w) is not None]
    for m in messages:
        for c in m.get("tool_calls") or []:
            text = reasoning_text(m)
            ask.returned[c["id"]] = (text or "", signature_of(m, text))
    return ask


# ---- writing ----

def usage(turn):
    flavour = turn.script.arg("as", "deepseek")
    out, thought, inp = turn.output_tokens, turn.reasoning_tokens, turn.ask.input_tokens
    if "bad-usage" in turn.script:
        return {"prompt_tokens": "many", "completion_tokens": -5, "total_tokens": 1e300,
                "completion_tokens_details": {"reasoning_tokens": 10 ** 15}}
    u = {"prompt_tokens": inp, "completion_tokens": out, "total_tokens": inp + out}
    if flavour == "xai":  # reasoning is not included in the completion
        u["completion_tokens"] = out - thought
        u["completion_tokens_details"] = {"reasoning_tokens": thought}
    elif flavour == "sglang":
        u["reasoning_tokens"] = thought
    elif flavour != "llamacpp":
        u["completion_tokens_details"] = {"reasoning_tokens": thought}
        u["prompt_tokens_details"] = {"cached_tokens": 0}
    return u


def details(text, index=0):
    return [{"type": "reasoning.text", "text": text, "format": "unknown", "index": index}]


def calls(turn):
    return [{"id": c.id, "type": "function",
             "function": {"name": c.name, "arguments": json.dumps(c.args, ensure_ascii=False)}}
            for c in turn.calls()]


def head(turn, kind):
    return {"id": f"chatcmpl-{turn.id}", "object": kind, "created": int(time.time()),
            "model": turn.ask.model, "system_fingerprint": "fp_test"}


def whole(turn):
    message = {"role": "assistant", "content": turn.text("text")}
    thought = turn.text("reasoning") if turn.ask.visible else ""
    for name in fields(turn):
        if thought:
            message[name] = thought
    if thought and turn.script.arg("as") == "openrouter":
        message["reasoning_details"] = details(thought)
    if turn.calls():
        message["tool_calls"] = calls(turn)
        message["content"] = None
    reply = {**head(turn, "chat.completion"),
             "choices": [{"index": 0, "message": message, "logprobs": None,
                          "finish_reason": STOPS[turn.stop]}]}
    if "no-usage" not in turn.script:
        reply["usage"] = usage(turn)
    if turn.script.arg("as") == "llamacpp":
        reply["timings"] = {"predicted_n": turn.output_tokens, "predicted_ms": 1.5}
    return reply


def stream(turn):
    """Events as (name, data); data is a dict or a text."""
    top = head(turn, "chat.completion.chunk")

    def chunk(delta, finish=None):
        return None, {**top, "choices": [{"index": 0, "delta": delta, "logprobs": None,
                                          "finish_reason": finish}]}

    if turn.script.arg("as") == "azure":
        yield None, {**top, "choices": [], "prompt_filter_results": []}
    yield chunk({"role": "assistant", "content": ""})
    index = 0
    for block in turn.blocks:
        if block.kind == "reasoning" and turn.ask.visible:
            for piece in pieces(block.text):
                delta = {name: piece for name in fields(turn)}
                if turn.script.arg("as") == "openrouter":
                    delta["reasoning_details"] = details(piece)
                if delta:
                    yield chunk(delta)
        elif block.kind == "text":
            for piece in pieces(block.text):
                yield chunk({"content": piece})
        elif block.kind == "call":
            yield chunk({"tool_calls": [{"index": index, "id": block.id, "type": "function",
                                         "function": {"name": block.name, "arguments": ""}}]})
            for piece in pieces(json.dumps(block.args, ensure_ascii=False)):
                yield chunk({"tool_calls": [{"index": index, "function": {"arguments": piece}}]})
            index += 1
    yield chunk({}, STOPS[turn.stop])
    if turn.ask.usage and "no-usage" not in turn.script:
        yield None, {**top, "choices": [], "usage": usage(turn)}
    yield "done", "[DONE]"


def error(status, message, param=None, code=None, kind=None):
    names = {401: "invalid_request_error", 403: "insufficient_permissions", 404: "invalid_request_error",
             429: "rate_limit_error", 500: "server_error", 502: "server_error",
             503: "server_error"}
    codes = {401: "invalid_api_key", 404: "model_not_found", 429: "rate_limit_exceeded"}
    return {"error": {"message": message, "type": kind or names.get(status, "invalid_request_error"),
                      "param": param, "code": code or codes.get(status)}}


def error_event(turn):
    return None, error(500, "The server had an error while processing your request. Sorry!")


def reject(name):
    """The error for a parameter that the model does not accept."""
    if name in ("temperature", "top_p"):
        return {"message": f"Unsupported value: '{name}' does not support 0.6 with this model. Only "
                           "the default (1) value is supported.", "param": name,
                "code": "unsupported_value"}
    return {"message": f"Unsupported parameter: '{name}' is not supported with this model.",
            "param": name, "code": "unsupported_parameter"}


# ---- Mistral ----

def chunks(turn):
    """Mistral's form of content: a text, or a list that includes the thinking."""
    out = []
    for block in turn.blocks:
        if block.kind == "reasoning":
            out.append({"type": "thinking", "thinking": [{"type": "text", "text": block.text}],
                        "closed": turn.stop != "length"})
        elif block.kind == "text":
            out.append({"type": "text", "text": block.text})
    return out if any(c["type"] == "thinking" for c in out) else turn.text("text")


def indexed(turn):
    return [{**c, "index": i} for i, c in enumerate(calls(turn))]


def mistral_usage(turn):
    out, inp = turn.output_tokens, turn.ask.input_tokens
    return {"prompt_tokens": inp, "completion_tokens": out, "total_tokens": inp + out}


def mistral_whole(turn):
    reply = whole(turn)
    message = {"role": "assistant", "content": chunks(turn), "tool_calls": indexed(turn) or None}
    reply["choices"][0] = {"index": 0, "message": message, "finish_reason": STOPS[turn.stop]}
    if "no-usage" not in turn.script:
        reply["usage"] = mistral_usage(turn)
    return reply


def mistral_stream(turn):
    top = head(turn, "chat.completion.chunk")

    def chunk(delta, finish=None, **more):
        return None, {**top, "choices": [{"index": 0, "delta": delta, "finish_reason": finish}],
                      **more}

    yield chunk({"role": "assistant", "content": ""})
    for block in turn.blocks:
        for piece in pieces(block.text) if block.kind != "call" else ():
            if block.kind == "reasoning":
                yield chunk({"content": [{"type": "thinking",
                                          "thinking": [{"type": "text", "text": piece}]}]})
            else:
                yield chunk({"content": piece})
    last = {"content": ""}
    if turn.calls():
        last["tool_calls"] = indexed(turn)
    more = {} if "no-usage" in turn.script else {"usage": mistral_usage(turn)}
    yield chunk(last, STOPS[turn.stop], **more)
    yield "done", "[DONE]"


def mistral_error(status, message, param=None, code=None, kind=None):
    if status == 422:
        return {"object": "error", "message": {"detail": [
            {"type": "extra_forbidden", "loc": ["body", param], "msg": message}]},
            "type": "invalid_request_error", "param": None, "code": None}
    if status == 401:
        return {"detail": "Unauthorized"}
    return {"object": "error", "message": message, "type": kind or "invalid_request_error",
            "param": param, "code": code}
