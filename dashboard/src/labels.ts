// labels.ts - what fields of the API are called on pages. SPDX-License-Identifier: Apache-2.0

// A field that is not here is its own name, with spaces.
const LABELS: Record<string, string> = {
  agent_type: "kind", alert_id: "incident", alert_type: "type", attempts: "attempts", cache_read_tokens: "tokens from cache", cache_write_tokens: "tokens to cache",
  cap_tokens: "cap", completed_at_us: "ended", cost_usd: "cost", created_at_us: "started", created_us: "created", approved_us: "approved", moved_us: "last moved", dialect: "API of the client", duration_ms: "took", ended_at_us: "ended",
  error_code: "error", error_message: "error in words", first_byte_us: "first byte", has_reasoning: "reasoned", input_tokens: "tokens in", interaction_id: "call", key_name: "key",
  llm_interaction_count: "model calls", mcp_communication_count: "exchanges with tool servers", model_name: "model", output_tokens: "tokens out", parent_id: "call that it belongs to",
  reasoning_absent: "why no reasoning is shown", reasoning_content: "reasoning", reasoning_cut: "reasoning cut by", reasoning_ended_us: "reasoning ended", reasoning_exact: "provider counted its reasoning",
  reasoning_source: "reasoning came as", reasoning_started_us: "reasoning began", reasoning_state: "state of the reasoning", reasoning_summary: "reasoning in short", reasoning_tokens: "tokens thought", response: "answer",
  run_id: "run", app: "application", session_id: "session", started_at_us: "started", status: "status", stop: "ended with", stream: "streamed", subject: "for", tokens_used: "tokens in and out", tool_call_count: "tool calls",
  updated_at_us: "last change", upstream_dialect: "API of the provider", upstream_model: "model at the provider",
};

// The error of a call in words. A provider's error without a code of its own has the code "upstream".
export function errorWords(code: string | null | undefined, status: number | string | null | undefined): string {
  const said = !code || /^\d+$/.test(code) ? "" : code.replace(/^upstream(_error)?$/, "provider error").replace(/_/g, " ");
  return said || `status ${code || status}`;
}

// Of a field inside another, "usage.input_tokens", both.
export function label(name: string): string {
  return name.split(".").map((part) => LABELS[part] ?? part.replace(/_(us|ms)$/, "").replace(/_/g, " ")).join(": ");
}
