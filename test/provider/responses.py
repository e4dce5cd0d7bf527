"""OpenAI Responses: items as input and output, and a stream in which every item has a beginning and
an end. Reasoning is sent as a summary and as encrypted content."""
# SPDX-License-Identifier: Apache-2.0
import json
import time

from checks import estimate, is_int, is_json_object, need, number_in, question, text_of, tool_name
from script import Ask, issued, pieces

NAMES = set(
    "background client_metadata conversation context_management include input instructions max_output_tokens "
    "max_tool_calls metadata model parallel_tool_calls previous_response_id prompt prompt_cache_key "
    "prompt_cache_retention prompt_cache_options reasoning safety_identifier service_tier store "
    "stream stream_options temperature text tool_choice tools top_logprobs top_p truncation "
    "user".split())
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
PARTS = {"user": ("input_text", "input_image", "input_file", "input_audio"),
         "system": ("input_text", "input_image", "input_file"),
         "developer": ("input_text", "input_image", "input_file"),
         "assistant": ("output_text", "refusal")}
kept = {}  # response id -> its output items, for previous_response_id


def check_item(i, item, calls):
    kind = item.get("type", "message")
    where = f"input[{i}]"
    if kind == "message":
        role = item.get("role")
        need(role in PARTS, f"Invalid value: '{role}'.", where + ".role")
        content = item.get("content")
        need(isinstance(content, (str, list)), f"Missing required parameter: '{where}.content'.",
             where + ".content")
        for j, p in enumerate(content if isinstance(content, list) else ()):
            need(p.get("type") in PARTS[role], f"Invalid value: '{p.get('type')}'. Supported values "
                 f"are: {PARTS[role]}.", f"{where}.content[{j}]")
    elif kind == "function_call":
        need(isinstance(item.get("call_id"), str), f"Missing '{where}.call_id'.", where)
        need(tool_name(item.get("name")), f"Missing '{where}.name'.", where)
        need(isinstance(item.get("arguments"), str) and is_json_object(item["arguments"]),
             f"Invalid '{where}.arguments': expected JSON text.", where)
        need(item.get("id") is None or item["id"].startswith("fc"),
             f"Invalid '{where}.id': Expected an ID that begins with 'fc'.", where + ".id")
        calls[item["call_id"]] = False
    elif kind == "function_call_output":
        call = item.get("call_id")
        need(call in calls, f"No tool call found for function call output with call_id {call}.",
             "input")
        need(isinstance(item.get("output"), (str, list)), f"Missing '{where}.output'.", where)
        calls[call] = True
    elif kind == "reasoning":
        need(isinstance(item.get("summary"), list), f"Missing '{where}.summary'.", where)
        need(item.get("id") is None or item["id"].startswith("rs"),
             f"Invalid '{where}.id': Expected an ID that begins with 'rs'.", where + ".id")
        secret = item.get("encrypted_content")
        known = [v[1] for v in issued.values()] if secret else []
        need(not secret or secret in known or secret.startswith("cHJvdmlkZXIu"),
             "The encrypted content for item could not be verified.", code="invalid_encrypted_content")
    else:
        need(kind in ("item_reference", "custom_tool_call", "custom_tool_call_output", "compaction"),
             f"Invalid value: '{kind}'.", where + ".type")


def check_order(items):
    """A reasoning item must be followed by its message or call."""
    for i, item in enumerate(items):
        if item.get("type") == "reasoning":
            after = items[i + 1] if i + 1 < len(items) else {}
            good = after.get("type") in ("function_call", "reasoning", "custom_tool_call") or \
                after.get("role") == "assistant"
            need(good, f"Item '{item.get('id')}' of type 'reasoning' was provided without its "
                 "required following item.", "input")


def check_tools(body):
    names = []
    for i, t in enumerate(body.get("tools") or []):
        need(isinstance(t, dict) and isinstance(t.get("type"), str),
             f"Missing required parameter: 'tools[{i}].type'.", f"tools[{i}].type")
        if t["type"] != "function":
            continue
        need("function" not in t, f"Unknown parameter: 'tools[{i}].function'.",
             f"tools[{i}].function")
        need(tool_name(t.get("name")), f"Missing required parameter: 'tools[{i}].name'.",
             f"tools[{i}].name")
        schema = t.get("parameters")
        need(schema is None or isinstance(schema, dict), f"Invalid 'tools[{i}].parameters'.")
        if t.get("strict"):
            need(schema and schema.get("additionalProperties") is False,
                 f"Invalid schema for function '{t['name']}': 'additionalProperties' is required to "
                 "be supplied and to be false.", f"tools[{i}].parameters",
                 code="invalid_function_parameters")
        names.append(t["name"])
    choice = body.get("tool_choice")
    if isinstance(choice, dict) and choice.get("type") == "function":
        need(choice.get("name") in names, f"Tool choice '{choice.get('name')}' not found in 'tools'.",
             "tool_choice")
    elif choice is not None and not isinstance(choice, dict):
        need(choice in ("auto", "none", "required"), f"Invalid tool_choice {choice!r}", "tool_choice")
    return names


def read(body, headers, path, script):
    for name in body:
        need(name in NAMES, f"Unknown parameter: '{name}'.", name, code="unknown_parameter")
    need(isinstance(body.get("model"), str), "Missing required parameter: 'model'.", "model")
    given = body.get("input")
    need(isinstance(given, (str, list)) and (given or body.get("previous_response_id")),
         "Missing required parameter: 'input'.", "input")
    items = [{"role": "user", "content": given}] if isinstance(given, str) else given
    before = body.get("previous_response_id")
    if before is not None:
        need(before in kept, f"Previous response with id '{before}' not found.",
             "previous_response_id", code="previous_response_not_found")
        items = kept[before] + items
    calls = {}
    for i, item in enumerate(items):
        need(isinstance(item, dict), f"Invalid type for 'input[{i}]'.", f"input[{i}]")
        check_item(i, item, calls)
    for call, answered in calls.items():
        need(answered, f"No tool output found for function call {call}.", "input")
    check_order(items)
    tools = check_tools(body)
    number_in(body, "temperature", 0, 2)
    number_in(body, "top_p", 0, 1)
    need(body.get("max_output_tokens") is None or is_int(body["max_output_tokens"], 16),
         "Invalid 'max_output_tokens': integer below minimum value. Expected a value >= 16.",
         "max_output_tokens", code="integer_below_min_value")
    reasoning = body.get("reasoning") or {}
    need(reasoning.get("effort") in (None, *EFFORTS), "Invalid value in 'reasoning.effort'.",
         "reasoning.effort")
    need(reasoning.get("summary") in (None, "auto", "concise", "detailed"),
         "Invalid value in 'reasoning.summary'.", "reasoning.summary")
    need(not set(reasoning) - {"effort", "summary", "generate_summary", "mode", "context"},
         "Unknown parameter in 'reasoning'.", "reasoning", code="unknown_parameter")
    return ask_of(body, items, tools, script)


def ask_of(body, items, tools, script):
    ask = Ask(body["model"], bool(body.get("stream")), input_tokens=estimate(body))
    messages = [i for i in items if i.get("type", "message") == "message"]
    ask.user = question(m["content"] for m in messages if m["role"] == "user")
    ask.system = "\n".join([body.get("instructions") or ""] + [
        text_of(m["content"]) for m in messages if m["role"] in ("system", "developer")])
    last = items[-1]
    ask.tail = text_of(last.get("content")) if last.get("type", "message") == "message" else ""
    for item in reversed(items):
        if item.get("role") in ("developer", "system"):
            continue
        if item.get("type") != "function_call_output":
            break
        ask.results.insert(0, text_of(item["output"]))
    ask.tools = tools
    choice = body.get("tool_choice")
    ask.no_tools = choice == "none"
    ask.forced = choice.get("name", "") if isinstance(choice, dict) else \
        "any" if choice == "required" else ""
    ask.max_tokens = body.get("max_output_tokens") or 0
    reasoning = body.get("reasoning") or {}
    ask.think = "off" if reasoning.get("effort") == "none" else "on" if reasoning else "unset"
    ask.visible = "loud" in script or bool(reasoning.get("summary"))
    ask.signs = True
    if "task" in script and ask.think == "unset":
        ask.think = "on"  # the gpt-5 family thinks by default
    ask.wishes = [w for w in ("reasoning", "temperature", "top_p") if body.get(w) is not None]
    secret = ""
    for item in items:
        if item.get("type") == "reasoning":
            secret = item.get("encrypted_content") or ""
        elif item.get("type") == "function_call":
            call = item["call_id"]
            ask.returned[call] = (issued.get(call, ("", ""))[0], secret)
        elif item.get("role") != "assistant":
            secret = ""
    ask.items = items
    return ask


# ---- writing ----

def usage(turn):
    if "bad-usage" in turn.script:
        return {"input_tokens": "many", "output_tokens": -5, "total_tokens": None}
    inp, out = turn.ask.input_tokens, turn.output_tokens
    return {"input_tokens": inp, "input_tokens_details": {"cached_tokens": 0},
            "output_tokens": out, "output_tokens_details": {"reasoning_tokens":
                                                            turn.reasoning_tokens},
            "total_tokens": inp + out}


def item_of(turn, i, b):
    n = f"{turn.id}_{i}"
    if b.kind == "reasoning":
        summary = [{"type": "summary_text", "text": b.text}] if turn.ask.visible else []
        return {"type": "reasoning", "id": f"rs_{n}", "summary": summary,
                "encrypted_content": b.signature}
    if b.kind == "text":
        return {"type": "message", "id": f"msg_{n}", "role": "assistant", "status": "completed",
                "content": [{"type": "output_text", "text": b.text, "annotations": [],
                             "logprobs": []}]}
    return {"type": "function_call", "id": f"fc_{n}", "call_id": b.id, "name": b.name,
            "status": "completed", "arguments": json.dumps(b.args, ensure_ascii=False)}


def response(turn, status, output):
    out = {"id": f"resp_{turn.id}", "object": "response", "created_at": int(time.time()),
           "status": status, "background": False, "error": None, "incomplete_details": None,
           "instructions": None, "max_output_tokens": turn.ask.max_tokens or None,
           "model": turn.ask.model, "output": output, "parallel_tool_calls": True,
           "previous_response_id": None, "reasoning": {"effort": None, "summary": None},
           "store": True, "temperature": 1.0, "text": {"format": {"type": "text"}},
           "tool_choice": "auto", "tools": [], "top_p": 1.0, "truncation": "disabled",
           "usage": None, "user": None, "metadata": {}}
    if status == "incomplete":
        out["incomplete_details"] = {"reason": "max_output_tokens"}
    if status != "in_progress" and "no-usage" not in turn.script:
        out["usage"] = usage(turn)
    return out


def final(turn):
    output = [item_of(turn, i, b) for i, b in enumerate(turn.blocks)]
    out = response(turn, "incomplete" if turn.stop == "length" else "completed", output)
    if len(kept) > 10000:
        kept.clear()
    kept[out["id"]] = turn.ask.items + output
    return out


def whole(turn):
    return final(turn)


def stream(turn):
    count = 0

    def event(kind, **more):
        nonlocal count
        count += 1
        return kind, {"type": kind, "sequence_number": count - 1, **more}

    yield event("response.created", response=response(turn, "in_progress", []))
    yield event("response.in_progress", response=response(turn, "in_progress", []))
    for i, b in enumerate(turn.blocks):
        done = item_of(turn, i, b)
        empty = {**done, "status": "in_progress"}
        for name in ("summary", "content"):
            if name in empty:
                empty[name] = []
        if b.kind == "call":
            empty["arguments"] = ""
        if b.kind == "reasoning":
            empty.pop("status")
        yield event("response.output_item.added", output_index=i, item=empty)
        at = {"item_id": done["id"], "output_index": i}
        writer = {"reasoning": summary_events, "text": text_events, "call": call_events}[b.kind]
        for kind, more in writer(turn, b, done):
            yield event(kind, **at, **more)
        yield event("response.output_item.done", output_index=i, item=done)
    last = final(turn)
    yield event(f"response.{last['status']}", response=last)


def summary_events(turn, b, done):
    if not done["summary"]:
        return
    part = {"type": "summary_text", "text": ""}
    yield "response.reasoning_summary_part.added", {"summary_index": 0, "part": part}
    for p in pieces(b.text):
        yield "response.reasoning_summary_text.delta", {"summary_index": 0, "delta": p}
    yield "response.reasoning_summary_text.done", {"summary_index": 0, "text": b.text}
    yield "response.reasoning_summary_part.done", {"summary_index": 0,
                                                   "part": {**part, "text": b.text}}


def text_events(turn, b, done):
    part = {"type": "output_text", "text": "", "annotations": [], "logprobs": []}
    yield "response.content_part.added", {"content_index": 0, "part": part}
    for p in pieces(b.text):
        yield "response.output_text.delta", {"content_index": 0, "delta": p, "logprobs": []}
    yield "response.output_text.done", {"content_index": 0, "text": b.text, "logprobs": []}
    yield "response.content_part.done", {"content_index": 0, "part": {**part, "text": b.text}}


def call_events(turn, b, done):
    for p in pieces(done["arguments"]):
        yield "response.function_call_arguments.delta", {"delta": p}
    yield "response.function_call_arguments.done", {"arguments": done["arguments"], "name": b.name}


def error_event(turn):
    return "error", {"type": "error", "sequence_number": 3, "code": "server_error",
                     "message": "The server had an error while processing your request. Sorry!",
                     "param": None}


def reject(name):
    if name == "reasoning":
        return {"message": "Unsupported parameter: 'reasoning.effort' is not supported with this "
                           "model.", "param": "reasoning.effort", "code": "unsupported_parameter"}
    return {"message": f"Unsupported parameter: '{name}' is not supported with this model.",
            "param": name, "code": None}
