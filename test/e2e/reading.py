"""Reads a reply of any dialect, whole or streamed, for tests that compare dialects.

    said = read("anthropic", body, stream=True)
    said.text, said.thought, said.calls, said.input, said.output, said.reasoning
"""
# SPDX-License-Identifier: Apache-2.0
import json
import re

PATHS = {"openai": "/v1/chat/completions", "responses": "/v1/responses", "anthropic": "/v1/messages",
         "ollama": "/api/chat"}


class Said:
    """Joined texts, calls as (name, arguments), counts as numbers or None if absent."""

    def __init__(self):
        self.text = self.thought = ""
        self.calls = []
        self.input = self.output = self.reasoning = None

    def call(self, name, arguments):
        if isinstance(arguments, str):
            try:
                arguments = json.loads(arguments or "{}")
            except ValueError:
                pass
        self.calls.append((name, arguments))

    def __repr__(self):
        return repr(vars(self))


def frames(body):
    """The JSON documents of an event stream or of lines."""
    text = re.sub(r"\r\n?", "\n", body.decode("utf-8-sig"))
    out = []
    for block in text.split("\n\n"):
        data = "\n".join(line[5:].lstrip(" ") for line in block.split("\n") if line.startswith("data:"))
        if data.strip() and data.strip() != "[DONE]":
            out.append(json.loads(data))
    return out


def lines(body):
    return [json.loads(line) for line in body.split(b"\n") if line.strip()]


# ---- Chat Completions, and Mistral's variant ----

def chat_texts(content):
    """Returns (text, thought) of a content: a text, or a list of chunks."""
    if not isinstance(content, list):
        return content or "", ""
    text = thought = ""
    for part in content:
        if part.get("type") == "thinking":
            inner = part.get("thinking") or []
            thought += inner if isinstance(inner, str) else "".join(p.get("text", "") for p in inner)
        else:
            text += part.get("text") or ""
    return text, thought


def chat_thought(message):
    for name in ("reasoning_content", "reasoning", "reasoning_text", "thinking"):
        if isinstance(message.get(name), str) and message[name]:
            return message[name]
    return "".join(d.get("text") or d.get("summary") or "" for d in message.get("reasoning_details") or []
                   if isinstance(d, dict))


def chat_usage(said, usage):
    if not usage:
        return
    said.input, said.output = usage.get("prompt_tokens"), usage.get("completion_tokens")
    details = usage.get("completion_tokens_details") or {}
    said.reasoning = details.get("reasoning_tokens", said.reasoning)


def read_openai(body, stream):
    said, calls = Said(), {}
    for doc in frames(body) if stream else [json.loads(body)]:
        chat_usage(said, doc.get("usage") or (doc.get("x_groq") or {}).get("usage"))
        for choice in (doc.get("choices") or [])[:1]:
            message = choice.get("delta" if stream else "message") or {}
            text, thought = chat_texts(message.get("content"))
            said.text += text + (message.get("refusal") or "")
            said.thought += thought or chat_thought(message)
            for i, c in enumerate(message.get("tool_calls") or []):
                f = c.get("function") or c.get("custom") or {}
                at = calls.setdefault(c.get("index", i), ["", ""])
                at[0] += f.get("name") or ""
                at[1] += f.get("arguments") or f.get("input") or ""
    for name, arguments in calls.values():
        said.call(name, arguments)
    return said


# ---- Responses ----

def read_responses(body, stream):
    said = Said()
    if stream:
        ends = [f["response"] for f in frames(body) if str(f.get("type")) in (
            "response.completed", "response.incomplete", "response.failed")]
        doc = ends[-1]
        if not doc.get("output"):
            doc["output"] = [f["item"] for f in frames(body) if f.get("type") == "response.output_item.done"]
    else:
        doc = json.loads(body)
    thoughts = []
    for item in doc.get("output") or []:
        kind = item.get("type")
        if kind == "message":
            said.text += "".join(p.get("text") or p.get("refusal") or "" for p in item["content"])
        elif kind == "reasoning":
            parts = (item.get("summary") or []) or (item.get("content") or [])
            thoughts.append("\n\n".join(p.get("text") or "" for p in parts))
        elif kind in ("function_call", "custom_tool_call"):
            said.call(item["name"], item.get("arguments") or item.get("input"))
    said.thought = "".join(thoughts)
    usage = doc.get("usage") or {}
    said.input, said.output = usage.get("input_tokens"), usage.get("output_tokens")
    said.reasoning = (usage.get("output_tokens_details") or {}).get("reasoning_tokens")
    return said


# ---- Messages ----

def read_anthropic(body, stream):
    said, blocks, usage = Said(), {}, {}
    for doc in frames(body) if stream else [json.loads(body)]:
        kind = doc.get("type")
        if kind == "message":
            blocks = {i: dict(b) for i, b in enumerate(doc["content"])}
            usage = doc["usage"]
        elif kind == "message_start":
            usage = dict(doc["message"]["usage"])
        elif kind == "message_delta":
            usage.update({k: v for k, v in (doc.get("usage") or {}).items() if v is not None})
        elif kind == "content_block_start":
            blocks[doc["index"]] = dict(doc["content_block"], json="")
        elif kind == "content_block_delta":
            delta, b = doc["delta"], blocks[doc["index"]]
            for name in ("text", "thinking"):
                b[name] = b.get(name, "") + delta[name] if name in delta else b.get(name, "")
            b["json"] += delta.get("partial_json", "")
    for b in blocks.values():
        said.text += b.get("text") or "" if b["type"] == "text" else ""
        said.thought += b.get("thinking") or "" if b["type"] == "thinking" else ""
        if b["type"] == "tool_use":
            said.call(b["name"], b["json"] if b.get("json") else b.get("input"))
    if usage:
        said.input = (usage.get("input_tokens") or 0) + (usage.get("cache_read_input_tokens") or 0) \
            + (usage.get("cache_creation_input_tokens") or 0)
        said.output = usage.get("output_tokens")
    return said


# ---- Gemini ----

def read_gemini(body, stream):
    said = Said()
    for doc in frames(body) if stream else [json.loads(body)]:
        for c in (doc.get("candidates") or [])[:1]:
            for part in (c.get("content") or {}).get("parts") or []:
                if "functionCall" in part:
                    said.call(part["functionCall"]["name"], part["functionCall"].get("args") or {})
                elif part.get("thought"):
                    said.thought += part.get("text") or ""
                else:
                    said.text += part.get("text") or ""
        usage = doc.get("usageMetadata") or {}
        if "promptTokenCount" in usage:
            thoughts = usage.get("thoughtsTokenCount")
            said.input = (usage.get("promptTokenCount") or 0) + (usage.get("toolUsePromptTokenCount") or 0)
            said.output = (usage.get("candidatesTokenCount") or 0) + (thoughts or 0)
            said.reasoning = thoughts
    return said


# ---- Ollama ----

def read_ollama(body, stream):
    said = Said()
    for doc in lines(body) if stream else [json.loads(body)]:
        message = doc.get("message") or {}
        said.text += message.get("content") or ""
        said.thought += message.get("thinking") or ""
        for c in message.get("tool_calls") or []:
            said.call(c["function"]["name"], c["function"].get("arguments") or {})
        if doc.get("done"):
            said.input, said.output = doc.get("prompt_eval_count"), doc.get("eval_count")
    return said


READERS = {"openai": read_openai, "mistral": read_openai, "responses": read_responses,
           "anthropic": read_anthropic, "gemini": read_gemini, "ollama": read_ollama}


def read(dialect, body, stream):
    return READERS[dialect](body, stream)


def ask_in(dialect, model, said, stream, usage=False):
    """Returns (path, body) of a question in a dialect; `usage` makes a stream of Chat Completions
    request it."""
    turn = [{"role": "user", "content": said}]
    if dialect == "gemini":
        verb = "streamGenerateContent?alt=sse" if stream else "generateContent"
        return f"/v1beta/models/{model}:{verb}", {"contents": [{"role": "user", "parts": [{"text": said}]}]}
    if dialect == "responses":
        return PATHS[dialect], {"model": model, "input": said, "stream": stream}
    body = {"model": model, "messages": turn, "stream": stream}
    if dialect == "anthropic":
        body["max_tokens"] = 9000
    if dialect == "openai" and stream and usage:
        body["stream_options"] = {"include_usage": True}
    return PATHS[dialect], body
