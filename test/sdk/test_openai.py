"""OpenAI's Python SDK: Chat Completions."""
# SPDX-License-Identifier: Apache-2.0
import json

import openai
from pysuite import KEY, ROOT, SCHEMA, SHOW, TOOLS, Claims, Reply, main, model, prompt

STOPS = {"stop": "end", "length": "length", "tool_calls": "tool"}
FUNCTIONS = [{"type": "function", "function": {"name": n, "description": d, "parameters": SCHEMA}}
             for n, d in TOOLS]


def reply(message, finish, usage, seen, history):
    calls = message.get("tool_calls") or []
    kept = {"role": "assistant", "content": message.get("content") or None}
    if calls:
        kept["tool_calls"] = calls
    thought = (usage.completion_tokens_details.reasoning_tokens or 0
               if usage.completion_tokens_details else 0)
    return Reply(message.get("content") or "", message.get("reasoning_content") or "",
                 [(c["id"], c["function"]["name"], json.loads(c["function"]["arguments"]))
                  for c in calls], STOPS[finish],
                 (usage.prompt_tokens, usage.completion_tokens, thought), seen, [*history, kept])


class OpenAIChat(Claims):
    errors = {400: openai.BadRequestError, 401: openai.AuthenticationError,
              404: openai.NotFoundError, 429: openai.RateLimitError,
              500: openai.InternalServerError}

    def ask(self, slug, said=None, **q):
        client = openai.OpenAI(base_url=f"{ROOT}/v1", api_key=q.get("key", KEY), max_retries=0)
        history = [] if q.get("bad") else q.get("history") or [
            {"role": "system", "content": "Be brief."}, {"role": "user", "content": said or prompt()}]
        body = {"model": model(self.kind, slug) if slug else "no-such-model", "messages": history,
                "extra_headers": SHOW if q.get("show") else {}}
        if q.get("tools"):
            body["tools"] = FUNCTIONS
        if q.get("max"):
            body["max_tokens"] = q["max"]
        if q.get("think"):
            body["reasoning_effort"] = "high"
        with client:
            if not q.get("stream"):
                r = client.chat.completions.create(**body)
                c = r.choices[0]
                return reply(c.message.model_dump(), c.finish_reason, r.usage, r.model_dump_json(),
                             history)
            with client.chat.completions.create(**body, stream=True,
                                                stream_options={"include_usage": True}) as stream:
                return self.gather(stream, history, q.get("abort"))

    def gather(self, stream, history, abort):
        message, finish, usage, seen = {"content": ""}, None, None, []
        for chunk in stream:
            seen.append(chunk.model_dump_json())
            usage = chunk.usage or usage
            if not chunk.choices:
                continue
            finish = chunk.choices[0].finish_reason or finish
            delta = chunk.choices[0].delta.model_dump()
            message["content"] += delta.get("content") or ""
            for name in ("reasoning", "reasoning_content"):
                if delta.get(name):
                    message[name] = message.get(name, "") + delta[name]
            for c in delta.get("tool_calls") or []:
                calls = message.setdefault("tool_calls", [])
                if c["index"] == len(calls):
                    calls.append({"id": c["id"], "type": "function", "function": {
                        "name": c["function"]["name"], "arguments": ""}})
                calls[c["index"]]["function"]["arguments"] += c["function"]["arguments"] or ""
            if abort and len(message["content"]) > 20:
                abort()
        self.assertEqual(message.get("reasoning"), message.get("reasoning_content"))
        return reply(message, finish, usage, "\n".join(seen), history)

    def results(self, reply, texts):
        return [*reply.history, *({"role": "tool", "tool_call_id": c[0], "content": t}
                                  for c, t in zip(reply.calls, texts))]


if __name__ == "__main__":
    main(OpenAIChat, "openai", ["anthropic", "gemini"])
