// api.ts - the history API: its shapes, and how it is asked. SPDX-License-Identifier: Apache-2.0
import { useCallback, useEffect, useRef, useState } from "preact/hooks";
import { Cell } from "./cell";
import { forgetDrafts } from "./draft";
import { NO_ANSWER, useReturn } from "./reach";

export interface Session {
  session_id: string;
  alert_id: string | null;
  agent_type: string | null;
  alert_type: string | null;
  status: string;
  started_at_us: number;
  completed_at_us: number | null;
  error_message: string | null;
  duration_ms: number | null;
  llm_interaction_count: number;
  mcp_communication_count: number;
  tool_call_count: number;
  title: string | null;
  model: string | null;
  key_name: string | null;
  subject: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  reasoning_tokens: number | null;
  cost_usd: number | null;
  has_reasoning: boolean;
}

export interface SessionList {
  sessions: Session[];
  pagination: { page: number; page_size: number; total_pages: number; total_items: number; total_is_exact?: boolean; next_cursor?: string | null };
  searched_back_to_us?: number | null;
}

export interface Segment {
  interaction_id?: string;
  n: number;
  kind: string;
  text: string | null;
  tokens: number | null;
  exact: boolean;
  started_us: number | null;
  ended_us: number | null;
  budget: number | null;
  cut: boolean | string | null;
  state: string | null;
}

export interface Details {
  // of a model call
  prompt?: unknown;
  response?: unknown;
  model_name?: string;
  tokens_used?: number | Record<string, number> | null;
  temperature?: number | null;
  reasoning_content?: string | null;
  reasoning_summary?: string | null;
  has_reasoning?: boolean;
  interaction_id?: string;
  provider?: string | null;
  upstream_model?: string | null;
  dialect?: string | null;
  status?: number | string | null;
  stop?: string | null;
  error_code?: string | null;
  error_message?: string | null;
  stream?: boolean;
  complete?: boolean;
  level?: string | null;
  cap_tokens?: number | null;
  reasoning_state?: string | null;
  reasoning_absent?: string | null;
  reasoning_cut?: boolean | string | null;
  reasoning_source?: string | null;
  reasoning_tokens?: number | null;
  reasoning_exact?: boolean;
  reasoning_started_us?: number | null;
  reasoning_ended_us?: number | null;
  input_tokens?: number | null;
  output_tokens?: number | null;
  cache_read_tokens?: number | null;
  cache_write_tokens?: number | null;
  cost_usd?: number | null;
  tool_calls?: unknown;
  tools?: unknown;
  decision?: string | null;
  attempts?: unknown;
  segments?: Segment[] | null;
  first_byte_us?: number | null;
  started_at_us?: number | null;
  ended_at_us?: number | null;
  // of a tool call
  tool_name?: string | null;
  server_name?: string | null;
  communication_type?: string | null;
  parameters?: unknown;
  result?: unknown;
  success?: boolean;
  parent_id?: string | null;
}

export interface Event {
  event_id: string;
  type: string;
  timestamp_us: number;
  step_description: string | null;
  stage?: string | null;
  agent?: string | null;
  details: Details;
  duration_ms: number | null;
}

// A tool call that waited for a person. word is null until somebody decides.
export interface SessionApproval {
  run_id: string;
  seq: number;
  tool: string;
  asked_at_us: number;
  decided_at_us: number | null;
  word: string | null;
  who: string | null;
  note: string | null;
  why: string | null;
}

export interface SessionDetail extends Session {
  alert_data: unknown;
  final_analysis: string | null;
  session_metadata: unknown;
  chronological_timeline: Event[];
  approvals?: SessionApproval[];
  summary: {
    llm_interaction_count?: number;
    tool_call_count?: number;
    total_duration_ms?: number | null;
    errors?: number;
    tokens?: { input?: number; output?: number; reasoning?: number };
    cost_usd?: number | null;
  } | null;
}

export interface Decision {
  decision_id: number;
  interaction_id: string;
  session_id: string | null;
  timestamp_us: number;
  kind: string;
  tools: string[] | null;
  model: string | null;
  state?: string;
  entry: string;
  reasoning_absent?: string | null;
}

export interface ReasoningRow {
  model: string;
  level: string | null;
  calls: number;
  with_reasoning: number;
  reasoning_tokens: number;
  output_tokens: number;
  share: number | null;
  cap_tokens: number | null;
  saturation: number[] | null;
  cut: number;
  starved: number;
  thinking_ms_p50: number | null;
  thinking_ms_p95: number | null;
}

export interface UsageGroup {
  key: string | null;
  calls: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  cache_read_tokens: number;
  cost_usd: number | null;
  starved: number;
  cut: number;
}

type Numbers = (number | null)[];

export interface OverviewSums {
  calls: number;
  failed: number;
  input_tokens: number;
  output_tokens: number;
  reasoning_tokens: number;
  starved: number;
  cut: number;
  cost_usd: number | null;
  p50_ms: number | null;
  p95_ms: number | null;
  series: { calls: number[]; failed: number[]; input_tokens: number[]; output_tokens: number[]; reasoning_tokens: number[]; starved: number[]; cut: number[]; cost_usd: Numbers; p50_ms: Numbers; p95_ms: Numbers };
}

export interface Overview {
  start_us: number;
  end_us: number;
  bucket_s: number;
  buckets: number;
  total: OverviewSums;
  groups: (OverviewSums & { key: string | null; members: number })[];
}

export interface CallRow {
  interaction_id: string;
  session_id: string | null;
  title: string | null;
  model: string | null;
  provider: string | null;
  key_name: string | null;
  application: string;
  started_at_us: number;
  duration_ms: number | null;
  status: number | null;
  error_code: string | null;
  complete: boolean;
  level: string | null;
  input_tokens: number | null;
  output_tokens: number | null;
  reasoning_tokens: number | null;
  has_reasoning: boolean;
  cost_usd: number | null;
  cut: boolean;
  starved: boolean;
}

export class ApiError extends Error {
  constructor(readonly status: number, readonly code: string, message: string) {
    super(message);
  }
}

// Whether a login is needed; the number of logins since the page was opened.
export const needLogin = new Cell(false);
export const visits = new Cell(0);
// Whether this browser was let in before a login was needed.
export const expired = new Cell(false);
let inside = false;
// The key, in memory only, for model calls; the history API uses the cookie.
let key = "";

export function keyHeaders(): Record<string, string> {
  return key ? { authorization: `Bearer ${key}` } : {};
}

type Params = Record<string, string | number | boolean | string[] | null | undefined>;

export function address(path: string, params: Params = {}): string {
  const query = new URLSearchParams();
  for (const [name, value] of Object.entries(params)) {
    for (const v of Array.isArray(value) ? value : [value])
      if (v !== null && v !== undefined && v !== "") query.append(name, String(v));
  }
  const text = query.toString();
  return text ? `${path}?${text}` : path;
}

async function failure(reply: Response): Promise<ApiError> {
  const told = await reply.json().catch(() => null);
  const detail = told?.detail ?? told?.error ?? {};
  const message = typeof detail === "string" ? detail : detail.message;
  return new ApiError(reply.status, String(detail.error ?? detail.code ?? ""), message || `The gateway answered with status ${reply.status}.`);
}

async function reach(url: string, init: RequestInit): Promise<Response> {
  let reply: Response;
  try {
    reply = await fetch(url, { credentials: "same-origin", mode: "same-origin", redirect: "error", ...init });
  } catch (e) {
    if ((e as Error).name === "AbortError") throw e;
    throw new ApiError(0, "unreachable", NO_ANSWER);
  }
  if (!reply.ok) {
    const e = await failure(reply);
    if (e.status === 401) {
      expired.value ||= inside;
      inside = false;
      needLogin.value = true;
    }
    throw e;
  }
  inside = true;
  return reply;
}

export async function ask<T>(url: string, init: RequestInit = {}): Promise<T> {
  return (await (await reach(url, init)).json()) as T;
}

export function send<T>(method: string, url: string, body?: unknown): Promise<T> {
  return ask<T>(url, { method, headers: { "content-type": "application/json" }, body: body === undefined ? undefined : JSON.stringify(body) });
}

type OnEvent = (name: string, data: Record<string, unknown>, id: string) => void;

// Sends a request whose answer is a stream of events; `on` gets each event.
export async function events(url: string, body: unknown, on: OnEvent): Promise<void> {
  await readEvents(await reach(url, { method: "POST", headers: { "content-type": "application/json", accept: "text/event-stream" }, body: JSON.stringify(body) }), on);
}

// Reads the events after the one with the id `last` ("": all) until the stream ends; `opened` is called before.
export async function follow(url: string, last: string, signal: AbortSignal, on: OnEvent, opened: () => void): Promise<void> {
  const reply = await reach(url, { headers: { accept: "text/event-stream", ...(last && { "last-event-id": last }) }, signal });
  opened();
  await readEvents(reply, on);
}

async function readEvents(reply: Response, on: OnEvent): Promise<void> {
  const reader = reply.body?.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "";
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    const blocks = (rest + part.value).split("\n\n");
    rest = blocks.pop() ?? "";
    for (const block of blocks) {
      const name = /^event: (.*)$/m.exec(block)?.[1];
      const data = /^data: (.*)$/m.exec(block)?.[1];
      const id = /^id: (.*)$/m.exec(block)?.[1];
      if (name && data) on(name, JSON.parse(data), id ?? "");
    }
  }
}

async function loginWith(body: { key: string } | { code: string }): Promise<void> {
  let reply: Response;
  try {
    reply = await fetch("/api/v1/login", { method: "POST", credentials: "same-origin", headers: { "content-type": "application/json" }, body: JSON.stringify(body) });
  } catch {
    throw new ApiError(0, "unreachable", `${NO_ANSWER} Check that it runs, then log in again.`);
  }
  if (!reply.ok) throw await failure(reply);
}

// A link with #login=CODE logs its reader in once. The code is removed from the address.
export async function loginByLink(): Promise<void> {
  const code = /^#login=(\w+)$/.exec(location.hash)?.[1];
  if (!code) return;
  history.replaceState(history.state, "", location.pathname + location.search);
  await loginWith({ code }).catch(() => undefined); // used before: the cookie may still be good
}

export async function login(given: string): Promise<void> {
  await loginWith({ key: given });
  key = given;
  needLogin.value = expired.value = false;
  visits.value++;
}

export async function logout(): Promise<void> {
  key = "";
  await send("POST", "/api/v1/logout").catch(() => undefined);
  forgetDrafts();
  inside = expired.value = false;
  needLogin.value = true;
}

export interface Fetched<T> {
  data: T | null;
  error: ApiError | null;
  loading: boolean;
  reload: () => void;
}

// The answer of an address. The old answer stays until the next one arrives, so that nothing flickers.
const PACE = 4, PACE_MAX_MS = 5000; // a reload waits PACE times as long as the last one took, drawing included

export function useApi<T>(url: string | null): Fetched<T> {
  const [state, set] = useState<{ url: string | null; data: T | null; error: ApiError | null; loading: boolean }>({ url: null, data: null, error: null, loading: true });
  const [turn, setTurn] = useState(0);
  const running = useRef(false);
  const again = useRef(false);
  const free = useRef(0); // when the next reload may begin
  const timer = useRef(0);

  useEffect(() => {
    if (url === null) return;
    const mine = new AbortController();
    const began = performance.now();
    const pace = () => (free.current = performance.now() + Math.min(PACE_MAX_MS, PACE * (performance.now() - began)));
    const over = (change: Partial<typeof state>) => {
      running.current = false;
      set((s) => ({ ...s, data: s.url === url ? s.data : null, ...change, url, loading: false }));
      if (change.data) {
        pace();
        requestAnimationFrame(() => setTimeout(pace));
      }
      if (again.current) reload();
    };
    running.current = true;
    again.current = false;
    set((s) => ({ ...s, loading: true }));
    ask<T>(url, { signal: mine.signal }).then(
      (data) => mine.signal.aborted || over({ data, error: null }),
      (e) => mine.signal.aborted || over({ error: e instanceof ApiError ? e : new ApiError(0, "broken", "The answer could not be read.") }),
    );
    return () => mine.abort();
  }, [url, turn]);
  // A running request is not aborted for a reload: the next one starts after it.
  const reload = useCallback(() => {
    const wait = free.current - performance.now();
    if (running.current) again.current = true;
    else if (wait <= 0) setTurn((n) => n + 1);
    else timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      reload();
    }, wait);
  }, []);
  useEffect(() => () => clearTimeout(timer.current), []);
  useReturn(reload, state.error !== null);
  return { data: state.data, error: state.error, loading: state.loading, reload };
}
