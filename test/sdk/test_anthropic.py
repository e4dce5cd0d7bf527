"""Anthropic's Python SDK: Messages."""
# SPDX-License-Identifier: Apache-2.0
import anthropic
from pysuite import KEY, ROOT, SCHEMA, SHOW, TOOLS, Claims, Reply, main, model, prompt

STOPS = {"end_turn": "end", "max_tokens": "length", "tool_use": "tool"}


def reply(message, seen, history):
    doc = message.model_dump()
    of = lambda kind: [b for b in doc["content"] if b["type"] == kind]  # noqa: E731
    usage = doc["usage"]
    thought = (usage.get("output_tokens_details") or {}).get("thinking_tokens", 0)
    kept = {"role": "assistant", "content": [
        b.model_dump(exclude_none=True) for b in message.content]}
    return Reply("".join(b["text"] for b in of("text")),
                 "".join(b["thinking"] for b in of("thinking")),
                 [(b["id"], b["name"], b["input"]) for b in of("tool_use")],
                 STOPS[doc["stop_reason"]],
                 (usage["input_tokens"], usage["output_tokens"], thought), seen, [*history, kept])


class AnthropicMessages(Claims):
    errors = {400: anthropic.BadRequestError, 401: anthropic.AuthenticationError,
              404: anthropic.NotFoundError, 429: anthropic.RateLimitError,
              500: anthropic.InternalServerError}

    def ask(self, slug, said=None, **q):
        client = anthropic.Anthropic(base_url=ROOT, api_key=q.get("key", KEY), max_retries=0)
        history = [] if q.get("bad") else q.get("history") or [
            {"role": "user", "content": said or prompt()}]
        body = {"model": model(self.kind, slug) if slug else "no-such-model", "messages": history,
                "max_tokens": q.get("max", 8000), "system": "Be brief.",
                "extra_headers": SHOW if q.get("show") else {}}
        if q.get("tools"):
            body["tools"] = [{"name": n, "description": d, "input_schema": SCHEMA}
                             for n, d in TOOLS]
        if q.get("think"):
            body["thinking"] = {"type": "enabled", "budget_tokens": 4000}
        with client:
            if not q.get("stream"):
                message = client.messages.create(**body)
                return reply(message, message.model_dump_json(), history)
            seen, size = [], 0
            with client.messages.stream(**body) as stream:
                for event in stream:
                    seen.append(event.model_dump_json())
                    size += len(event.text) if event.type == "text" else 0
                    if q.get("abort") and size > 20:
                        q["abort"]()
                return reply(stream.get_final_message(), "\n".join(seen), history)

    def results(self, reply, texts):
        return [*reply.history, {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": c[0], "content": t}
            for c, t in zip(reply.calls, texts)]}]


if __name__ == "__main__":
    main(AnthropicMessages, "anthropic", ["openai", "gemini"])
