"""Requests that providers refuse (step "strict"), beyond the checks of every request of a dialect.

Each rule is documented by the provider, and has the service's error text. The models are those
that coding agents use: Claude from Opus 4.7 on (as:adaptive) or before it, and the gpt-5 family.
"""
# SPDX-License-Identifier: Apache-2.0
from checks import need

CONTEXT_BETA = "context-management-2025-06-27"
UPDATES_BETA = "thinking-display-updates-2026-08-18"
TURNS_BETA = "per-turn-control-2026-07-01"
TOOLS_BETA = "advanced-tool-use-2025-11-20"
EDITS = ("clear_thinking_20251015", "clear_tool_uses_20250919", "compact_20260112")
INCLUDES = ("file_search_call.results", "web_search_call.results", "web_search_call.action.sources",
            "message.input_image.image_url", "computer_call_output.output.image_url",
            "code_interpreter_call.outputs", "reasoning.encrypted_content",
            "message.output_text.logprobs")
EFFORTS = ("none", "low", "medium", "high", "xhigh")


def anthropic(body, headers, script):
    betas = {b.strip() for b in headers.get("anthropic-beta", "").split(",")}
    thinking = body.get("thinking") or {}
    thinks = thinking.get("type") in ("enabled", "adaptive")
    context = body.get("context_management")
    if context is not None:
        need(CONTEXT_BETA in betas, "context_management: Extra inputs are not permitted")
        for i, edit in enumerate(context.get("edits") or []):
            where = f"context_management.edits.{i}"
            need(edit.get("type") in EDITS, f"{where}: Input tag '{edit.get('type')}' is not known")
            if edit["type"] == EDITS[0]:
                need(thinks, f"{where}: `clear_thinking_20251015` strategy requires `thinking` to be "
                     "enabled or adaptive")
                need(i == 0, f"{where}: `clear_thinking_20251015` must be the first edit")
    need(thinking.get("display") in (None, "summarized", "omitted", "updates"),
         "thinking.display: Input should be 'summarized' or 'omitted'")
    need(thinking.get("display") != "updates" or UPDATES_BETA in betas,
         "thinking.display: Input should be 'summarized' or 'omitted'")
    for i, message in enumerate(body.get("messages") or []):
        need("output_config" not in message or TURNS_BETA in betas,
             f"messages.{i}.output_config: Extra inputs are not permitted")
    for i, tool in enumerate(body.get("tools") or []):
        need("defer_loading" not in tool or TOOLS_BETA in betas,
             f"tools.{i}.custom.defer_loading: Extra inputs are not permitted")
    if script.arg("as") == "adaptive":
        for name, usual in (("temperature", 1), ("top_p", 1), ("top_k", None)):
            need(body.get(name) in (None, usual), f"`{name}` is not supported for this model.")
        need(body["messages"][-1].get("role") != "assistant", "This model does not support "
             "assistant message prefill. The conversation must end with a user message.")


def responses(body, headers, script):
    for i, name in enumerate(body.get("include") or []):
        need(name in INCLUDES, f"Invalid value: '{name}'.", f"include[{i}]", code="invalid_value")
    sampling(body)
    effort((body.get("reasoning") or {}).get("effort"), "reasoning.effort")
    items = [i for i in body.get("input") or [] if isinstance(i, dict)]
    ids = [i["id"] for i in items if i.get("id")]
    for one in ids:
        need(ids.count(one) == 1, f"Duplicate item found with id {one}. Remove duplicate items from "
             "your input and try again.", "input")
    if body.get("store") is False:
        for i in items:
            need(i.get("type") != "item_reference", f"Item with id '{i.get('id')}' not found. Items "
                 "are not persisted when `store` is set to false.", "input")
            need(i.get("type") != "reasoning" or i.get("encrypted_content"), f"Item with id "
                 f"'{i.get('id')}' not found. Items are not persisted when `store` is set to false.",
                 "input")


def chat(body, headers, script):
    if script.arg("as") == "openai":
        sampling(body)
        effort(body.get("reasoning_effort"), "reasoning_effort")


def sampling(body):
    """The gpt-5 family accepts only the default values."""
    for name in ("temperature", "top_p"):
        need(body.get(name) in (None, 1), f"Unsupported value: '{name}' does not support "
             f"{body.get(name)} with this model. Only the default (1) value is supported.", name,
             code="unsupported_value")


def effort(value, where):
    need(value in (None, *EFFORTS), f"Unsupported value: '{value}' is not supported with this model. "
         f"Supported values are: {EFFORTS}.", where, code="unsupported_value")


RULES = {"anthropic": anthropic, "responses": responses, "openai": chat}
