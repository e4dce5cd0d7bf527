"""Gemini's generateContent and streamGenerateContent. Like the service, it accepts names in
camelCase and snake_case and refuses unknown ones."""
# SPDX-License-Identifier: Apache-2.0
import re

from checks import estimate, is_int, is_number, need, question, tool_name
from script import Ask, issued, pieces

TOP = set("contents systemInstruction tools toolConfig generationConfig safetySettings "
          "cachedContent labels model".split())
CONFIG = set(
    "stopSequences responseMimeType responseSchema responseJsonSchema responseModalities "
    "candidateCount maxOutputTokens temperature topP topK seed presencePenalty frequencyPenalty "
    "responseLogprobs logprobs thinkingConfig speechConfig mediaResolution "
    "enableEnhancedCivicAnswers imageConfig".split())
DATA = set("text inlineData fileData functionCall functionResponse executableCode "
           "codeExecutionResult toolCall toolResponse".split())
PART = DATA | {"thought", "thoughtSignature", "videoMetadata", "mediaResolution", "partMetadata"}
SCHEMA = set(
    "type format title description nullable enum maxItems minItems properties required minProperties "
    "maxProperties minLength maxLength pattern example anyOf propertyOrdering default items minimum "
    "maximum".split())
STOPS = {"end": "STOP", "length": "MAX_TOKENS", "tool": "STOP"}


def camel(name):
    return re.sub(r"_([a-z])", lambda m: m[1].upper(), name)


def names(thing, known, where):
    """The object with its names in camelCase; refuses unknown names."""
    need(isinstance(thing, dict), f"Invalid value at '{where}': expected an object")
    out = {}
    for name, value in thing.items():
        need(camel(name) in known, f"Invalid JSON payload received. Unknown name \"{name}\""
             f"{f' at {where!r}' if where else ''}: Cannot find field.")
        out[camel(name)] = value
    return out


def check_schema(schema, where):
    schema = names(schema, SCHEMA, where)
    kind = schema.get("type")
    need(kind is None or isinstance(kind, str) and kind.upper() in (
        "STRING", "NUMBER", "INTEGER", "BOOLEAN", "ARRAY", "OBJECT", "NULL"),
        f"Invalid value at '{where}.type' (type.googleapis.com/google.ai.generativelanguage."
        f"v1beta.Type), {kind!r}")
    for name, inner in (schema.get("properties") or {}).items():
        check_schema(inner, f"{where}.properties[{name}]")
    if schema.get("items") is not None:
        check_schema(schema["items"], f"{where}.items")


def check_tools(body):
    out = []
    for i, tool in enumerate(body.get("tools") or []):
        need(isinstance(tool, dict), "Invalid value at 'tools'")
        for f in tool.get("functionDeclarations") or tool.get("function_declarations") or []:
            where = f"tools[{i}].function_declarations"
            f = names(f, {"name", "description", "parameters", "parametersJsonSchema", "response",
                          "responseJsonSchema", "behavior"}, where)
            need(tool_name(f.get("name")), f"{where}: Invalid function name.")
            need(not ("parameters" in f and "parametersJsonSchema" in f),
                 f"{where}: parameters and parameters_json_schema may not both be set.")
            if f.get("parameters") is not None:
                check_schema(f["parameters"], f"{where}.parameters")
            out.append(f["name"])
    return out


def check_content(c, where):
    c = names(c, {"role", "parts"}, where)
    need(c.get("role", "user") in ("user", "model", "function"),
         "Please use a valid role: user, model.")
    need(isinstance(c.get("parts"), list) and c["parts"], f"{where}.parts: must not be empty.")
    parts = []
    for p in c["parts"]:
        p = names(p, PART, f"{where}.parts")
        data = [n for n in p if n in DATA]
        need(len(data) == 1 or (not data and "thoughtSignature" in p),
             f"{where}.parts: required oneof field 'data' must have one initialized field")
        if "functionCall" in p:
            call = names(p["functionCall"], {"id", "name", "args"}, f"{where}.function_call")
            need(tool_name(call.get("name")), f"{where}.function_call.name: required")
            need(isinstance(call.get("args", {}), dict), f"{where}.function_call.args: not a Struct")
        if "functionResponse" in p:
            r = names(p["functionResponse"], {"id", "name", "response", "willContinue",
                                              "scheduling", "parts"}, f"{where}.function_response")
            need(tool_name(r.get("name")), f"GenerateContentRequest.{where}.function_response.name: "
                 "Name cannot be empty.")
            need(isinstance(r.get("response"), dict),
                 f"{where}.function_response.response: not a Struct")
        parts.append(p)
    return {"role": c.get("role", "user"), "parts": parts}


def check_turns(contents):
    """Function calls follow a user turn, and the next turn has the results of all of them."""
    before = None
    for c in contents:
        calls = sum("functionCall" in p for p in c["parts"])
        answers = sum("functionResponse" in p for p in c["parts"])
        need(not calls or (before and before["role"] != "model"),
             "Please ensure that function call turn comes immediately after a user turn or after a "
             "function response turn.")
        waiting = sum("functionCall" in p for p in before["parts"]) if before else 0
        need(answers == waiting, "Please ensure that the number of function response parts is equal "
             "to the number of function call parts of the function call turn.")
        need(not calls or c["role"] == "model", "a function call is the model's")
        before = c
    last = sum("functionCall" in p for p in contents[-1]["parts"])
    need(not last, "Please ensure that function call turns are answered.")


def check_config(config, script):
    config = names(config, CONFIG, "generation_config")
    need(config.get("maxOutputTokens") is None or is_int(config["maxOutputTokens"], 1),
         "max_output_tokens must be positive.")
    need(config.get("temperature") is None or is_number(config["temperature"], 0, 2),
         "temperature must be in the range [0.0, 2.0].")
    need(config.get("topP") is None or is_number(config["topP"], 0, 1), "top_p: out of range")
    t = names(config.get("thinkingConfig") or {}, {"includeThoughts", "thinkingBudget",
                                                   "thinkingLevel"}, "thinking_config")
    need(not ("thinkingBudget" in t and "thinkingLevel" in t),
         "You can only set only one of thinking budget and thinking level.")
    need(t.get("thinkingBudget") is None or is_int(t["thinkingBudget"], -1, 32768),
         "The thinking budget is out of range.")
    need(str(t.get("thinkingLevel", "LOW")).upper() in ("MINIMAL", "LOW", "MEDIUM", "HIGH",
                                                        "THINKING_LEVEL_UNSPECIFIED"),
         "Invalid value at 'thinking_level'")
    if script.arg("as") == "gemini3":
        need("thinkingBudget" not in t, "thinking_budget is not supported by this model.")
    return config, t


def read(body, headers, path, script):
    body = names(body, TOP, "")
    need(isinstance(body.get("contents"), list) and body["contents"],
         "* GenerateContentRequest.contents: contents is not specified")
    contents = [check_content(c, f"contents[{i}]") for i, c in enumerate(body["contents"])]
    check_turns(contents)
    tools = check_tools(body)
    config, t = check_config(body.get("generationConfig") or {}, script)
    mode = names(body.get("toolConfig") or {}, {"functionCallingConfig", "retrievalConfig",
                                                "includeServerSideToolInvocations"}, "tool_config")
    mode = names(mode.get("functionCallingConfig") or {}, {"mode", "allowedFunctionNames"}, "mode")
    need(mode.get("mode", "AUTO") in ("AUTO", "ANY", "NONE", "VALIDATED", "MODE_UNSPECIFIED"),
         "Invalid value at 'tool_config.function_calling_config.mode'")
    system = check_content(body["systemInstruction"], "system_instruction") \
        if body.get("systemInstruction") else {"parts": []}
    ask = Ask(path_model(path), "streamGenerateContent" in path, input_tokens=estimate(body))
    last = contents[-1]
    ask.user = question(c["parts"] for c in contents if c["role"] == "user")
    ask.system = texts(system)
    ask.tail = texts(last, thoughts=True)
    ask.prefill = last["role"] == "model"
    ask.results = [result_text(p["functionResponse"]) for p in last["parts"]
                   if "functionResponse" in p]
    ask.tools = tools
    ask.no_tools = mode.get("mode") == "NONE"
    ask.forced = (mode.get("allowedFunctionNames") or ["any"])[0] if mode.get("mode") == "ANY" \
        else ""
    ask.max_tokens = config.get("maxOutputTokens") or 0
    ask.budget = t.get("thinkingBudget", -1)
    ask.think = "off" if ask.budget == 0 else "on" if t else "unset"
    ask.visible = "loud" in script or bool(t.get("includeThoughts"))
    ask.wishes = [w for w in ("thinkingConfig", "temperature", "topP") if config.get(w) is not None]
    returned(contents, ask)
    return ask


def returned(contents, ask):
    """The first call of a turn has the signature of the reasoning before it."""
    for c in contents:
        p = next((p for p in c["parts"] if "functionCall" in p), None)
        if p is None:
            continue
        signature = p.get("thoughtSignature", "")
        call = p["functionCall"].get("id", "")
        if call not in issued:
            call = next((k for k, v in issued.items() if v[1] == signature), call or "without an id")
        ask.returned[call] = (issued.get(call, ("", ""))[0], signature)


def texts(content, thoughts=False):
    return "".join(p.get("text", "") for p in content["parts"] if thoughts or not p.get("thought"))


def result_text(response):
    r = response.get("response") or {}
    for name in ("output", "result", "content", "error"):
        if isinstance(r.get(name), str):
            return r[name]
    return str(r)


def path_model(path):
    return path.split("/models/", 1)[1].rsplit(":", 1)[0]


def usage(turn):
    if "bad-usage" in turn.script:
        return {"promptTokenCount": "many", "candidatesTokenCount": -5}
    inp, out, thought = turn.ask.input_tokens, turn.output_tokens, turn.reasoning_tokens
    u = {"promptTokenCount": inp, "candidatesTokenCount": out - thought,
         "totalTokenCount": inp + out}
    if thought:
        u["thoughtsTokenCount"] = thought
    return u


def parts(turn, block, first_call, in_pieces):
    """The parts of one block; in pieces as in a stream."""
    cut = pieces if in_pieces else (lambda text: [text] if text else [])
    if block.kind == "reasoning":
        return [{"text": p, "thought": True} for p in cut(block.text)] if turn.ask.visible else []
    if block.kind == "text":
        return [{"text": p} for p in cut(block.text)]
    part = {"functionCall": {"id": block.id, "name": block.name, "args": block.args}}
    thought = next((b for b in turn.blocks if b.kind == "reasoning"), None)
    if first_call and thought:
        part["thoughtSignature"] = thought.signature
    return [part]


def reply(turn, some, finish=None, with_usage=True):
    candidate = {"content": {"parts": some, "role": "model"}, "index": 0}
    if finish:
        candidate["finishReason"] = finish
    out = {"candidates": [candidate], "modelVersion": turn.ask.model, "responseId": turn.id}
    if with_usage and "no-usage" not in turn.script:
        out["usageMetadata"] = usage(turn)
    return out


def all_parts(turn, in_pieces):
    seen = False
    for b in turn.blocks:
        for part in parts(turn, b, b.kind == "call" and not seen, in_pieces):
            yield part
        seen = seen or b.kind == "call"


def whole(turn):
    return reply(turn, list(all_parts(turn, False)), STOPS[turn.stop])


def stream(turn):
    some = list(all_parts(turn, True))
    for part in some[:-1]:
        yield None, reply(turn, [part])
    yield "done", reply(turn, some[-1:] or [{"text": ""}], STOPS[turn.stop])


def error(status, message, param=None, code=None, kind=None):
    kinds = {400: "INVALID_ARGUMENT", 401: "UNAUTHENTICATED", 403: "PERMISSION_DENIED",
             404: "NOT_FOUND", 429: "RESOURCE_EXHAUSTED", 500: "INTERNAL", 503: "UNAVAILABLE",
             504: "DEADLINE_EXCEEDED"}
    return {"error": {"code": status, "message": message,
                      "status": kind or kinds.get(status, "UNKNOWN")}}


def error_event(turn):
    return None, error(503, "The model is overloaded. Please try again later.")


def reject(name):
    if name == "thinkingConfig":
        return {"message": "Unable to submit request because thinking is not supported by this "
                           "model. (thinking_config)"}
    return {"message": f"{name} is not supported by this model."}
