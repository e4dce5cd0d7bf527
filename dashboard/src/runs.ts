// runs.ts - a run of an agent: its events, put together into parts and steps. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import { ApiError, follow } from "./api";
import { Cell, nextFrame } from "./cell";

export interface RunResult {
  run_id: string;
  agent?: string;
  workflow?: string;
  status: string;
  reason: string;
  detail: string;
  input: string;
  text: string;
  output?: unknown;
  usage: { input_tokens: number; output_tokens: number; reasoning_tokens: number; model_calls: number; tool_calls: number; cost_usd: number | null };
  session_id: string;
  thread: string | null;
  created_at_us: number;
  updated_at_us: number;
}

export interface Question {
  run_id: string;
  seq: number;
  tool: string;
  arguments?: unknown;
  why?: string | null;
  kind?: string;
}

export interface Decided {
  word: string;
  who?: string;
  note?: string;
  arguments?: unknown;
  at_us?: number;
}

export interface ModelStep {
  kind: "model";
  seq: number;
  call: string; // the call on record
  model: string;
  reasoning: string;
  text: string;
  calls: string[];
  tokens: { input: number; output: number; reasoning: number } | null;
  ms: number | null;
  from: number; // us; 0: not known
}

export interface ToolStep {
  kind: "tool";
  seq: number;
  id: string;
  tool: string;
  arguments: unknown;
  client: boolean; // the caller of the run carries it out
  done: boolean;
  ok: boolean;
  result: unknown;
  ms: number | null;
  from: number; // us; 0: not known
}

export interface ApprovalStep {
  kind: "approval";
  seq: number;
  question: Question;
  decided: Decided | null;
}

export interface ErrorStep {
  kind: "error";
  seq: number;
  error: unknown;
}

export type Step = ModelStep | ToolStep | ApprovalStep | ErrorStep;

export interface Part {
  run: string;
  name: string; // after "RUN/"; "": the run itself
  created: number;
  steps: Step[];
  ended: { status: string; reason: string } | null;
}

type Data = Record<string, unknown>;

function text(v: unknown): string {
  return typeof v === "string" ? v : "";
}

function number(v: unknown): number {
  return typeof v === "number" && Number.isFinite(v) ? v : 0;
}

function took(data: Data): number | null {
  const ms = (number(data.ended_at_us) - number(data.started_at_us)) / 1000;
  return number(data.ended_at_us) > 0 && ms >= 0 ? ms : null;
}

// The steps of a run, from its events. The result does not depend on how the events were divided into
// reads.
export class RunLog {
  readonly changes = new Cell(0);
  last = ""; // the id of the last event; the next read continues after it
  state: "running" | "waiting" | "ended" = "running";
  session = "";
  private byRun = new Map<string, Part>();

  constructor(readonly id: string) {}

  // The run itself first, then its parts in the order in which they began.
  get parts(): Part[] {
    const all = [...this.byRun.values()];
    return all.sort((a, b) => (a.name ? 1 : 0) - (b.name ? 1 : 0) || a.created - b.created || (a.run < b.run ? -1 : 1));
  }

  get root(): Part {
    return this.part(this.id);
  }

  // Calls on record that the steps have.
  get known(): Set<string> {
    return new Set(this.parts.flatMap((p) => p.steps).flatMap((s) => (s.kind === "model" && s.call ? [s.call] : [])));
  }

  get questions(): Question[] {
    return this.parts.flatMap((p) => (p.ended ? [] : p.steps.flatMap((s) => (s.kind === "approval" && !s.decided ? [s.question] : []))));
  }

  get clientCalls(): ToolStep[] {
    return this.parts.flatMap((p) => (p.ended ? [] : p.steps.flatMap((s) => (s.kind === "tool" && s.client && !s.done ? [s] : []))));
  }

  private part(run: string): Part {
    let p = this.byRun.get(run);
    if (!p) this.byRun.set(run, (p = { run, name: run === this.id ? "" : run.slice(this.id.length + 1), created: 0, steps: [], ended: null }));
    return p;
  }

  take(name: string, data: Data, id = ""): void {
    if (id) this.last = id;
    if (name === "waiting") this.state = "waiting";
    else if (this.state === "waiting") this.state = "running";
    const part = this.part(text(data.run_id) || this.id);
    handlers[name]?.(part, data);
    if (name === "started" && !part.name) this.session = text(data.session_id);
    if (name === "ended" && !part.name) this.state = "ended";
    nextFrame(this.tell);
  }

  private tell = (): void => {
    this.changes.value++;
  };
}

function find<K extends Step["kind"]>(p: Part, kind: K, seq: number): Extract<Step, { kind: K }> | undefined {
  return p.steps.find((s) => s.kind === kind && s.seq === seq) as Extract<Step, { kind: K }> | undefined;
}

function modelStep(p: Part, data: Data): ModelStep {
  const seq = number(data.seq);
  let s = find(p, "model", seq);
  if (!s) p.steps.push((s = { kind: "model", seq, call: "", model: "", reasoning: "", text: "", calls: [], tokens: null, ms: null, from: 0 }));
  s.call ||= text(data.interaction_id);
  return s;
}

const handlers: Record<string, (p: Part, data: Data) => void> = {
  started(p, data) {
    p.created = number(data.created_at_us);
  },
  reasoning(p, data) {
    modelStep(p, data).reasoning = text(data.text);
  },
  message(p, data) {
    const s = modelStep(p, data);
    const usage = (data.usage ?? {}) as Data;
    s.model = text(data.model);
    s.text = text(data.text);
    s.calls = (Array.isArray(data.tool_calls) ? (data.tool_calls as Data[]) : []).map((c) => text(c?.name));
    s.tokens = { input: Math.max(0, number(usage.input_tokens)), output: Math.max(0, number(usage.output_tokens)), reasoning: Math.max(0, number(usage.reasoning_tokens)) };
    s.ms = took(data);
    s.from = number(data.started_at_us);
  },
  error(p, data) {
    p.steps.push({ kind: "error", seq: number(data.seq), error: data.error });
  },
  tool_call(p, data) {
    p.steps.push({ kind: "tool", seq: number(data.seq), id: text(data.call_id), tool: text(data.tool), arguments: data.arguments, client: data.client === true, done: false, ok: true, result: null, ms: null, from: number(data.started_at_us) });
  },
  tool_result(p, data) {
    const s = find(p, "tool", number(data.seq));
    if (!s) return;
    Object.assign(s, { done: true, ok: data.ok !== false, result: data.result, ms: took(data), from: number(data.started_at_us) });
  },
  approval(p, data) {
    p.steps.push({ kind: "approval", seq: number(data.seq), question: { run_id: p.run, seq: number(data.seq), tool: text(data.tool), arguments: data.arguments, why: text(data.why) }, decided: null });
  },
  decided(p, data) {
    const s = find(p, "approval", number(data.seq));
    if (s && data.answer && typeof data.answer === "object") s.decided = data.answer as Decided;
  },
  ended(p, data) {
    p.ended = { status: text(data.status), reason: text(data.reason) };
  },
};

// The name of a tool in the configuration (library.lend) from the name that models see (library__lend).
export function toolName(name: string): string {
  return name.replace("__", ".");
}

// The title of a part by the last component of its name: "guard.input", "cataloguer" or "1.0.logs".
export function partTitle(name: string): string {
  const last = name.split("/").pop() ?? name;
  const guard = /^guard\.(\w+)$/.exec(last);
  if (guard) return `Guard of the ${guard[1]}`;
  const stage = /^(\d+)\.\d+\.(.+)$/.exec(last);
  return stage ? `Stage ${stage[1]}: ${stage[2]}` : `Handed over to ${last}`;
}

const REASONS: Record<string, string> = {
  approval_needed: "It waits for a person to allow a call.",
  client_tools: "It waits for its caller to carry out a call and to post the result.",
  guard_waits: "A guard of it waits for a person.",
  max_iterations_reached: "It has used all the steps that limits.steps allows.",
  token_budget_exceeded: "It has used all the tokens that limits.tokens allows.",
  cost_limit_exceeded: "It has reached the cost that limits.usd allows.",
  time_limit_exceeded: "It has used the time that limits.time allows.",
  memory_limit_exceeded: "Its replies and results have become too large.",
  loop_detected: "It was ended because the model made the same calls over and over.",
  guard_denied: "A guard denied it.",
  output_invalid: "The answer did not fit the output schema, also after three corrections.",
  llm_error: "The model could not be asked.",
  rate_limit_exceeded: "The provider refused the model call: its rate limit is reached.",
  tools_error: "The tools of the agent do not fit the configuration.",
  agent_not_found: "The configuration does not have this agent any more.",
  replay_mismatch: "The run does not fit the configuration any more: its prompt, model or tools were changed.",
  cannot_resume: "The run could not go on from its log.",
  cancelled: "Somebody cancelled it.",
};

export function reasonWords(reason: string): string {
  return REASONS[reason] ?? (reason ? reason.replace(/_/g, " ") : "");
}

const RETRY_MS = 1000;
const WAITING_MS = 2000; // between two reads of a waiting run: another person may have answered
const REFUSED = [400, 401, 403, 404];

export interface Followed {
  log: RunLog;
  error: ApiError | null;
  look: () => void; // now, without waiting
}

// Follows a run: its recorded events, then new ones; reconnects after a lost connection.
export function useRun(id: string): Followed {
  const [log] = useState(() => new RunLog(id));
  const [error, setError] = useState<ApiError | null>(null);
  const poke = useRef<() => void>(() => undefined);
  useEffect(() => {
    const mine = new AbortController();
    const pause = (ms: number) => new Promise<void>((done) => {
      const timer = setTimeout(done, ms);
      poke.current = () => {
        clearTimeout(timer);
        done();
      };
    });
    const read = async () => {
      try {
        await follow(`/api/v1/runs/${encodeURIComponent(id)}/events`, log.last, mine.signal, (name, data, at) => log.take(name, data, at), () => setError(null));
      } catch (e) {
        if (mine.signal.aborted) return;
        setError(e instanceof ApiError ? e : new ApiError(0, "broken", "The events of the run could not be read."));
        if (e instanceof ApiError && REFUSED.includes(e.status)) return mine.abort();
      }
    };
    void (async () => {
      for (;;) {
        await read();
        if (mine.signal.aborted || log.state === "ended") return;
        await pause(log.state === "waiting" ? WAITING_MS : RETRY_MS);
      }
    })();
    return () => mine.abort();
  }, []);
  return { log, error, look: () => poke.current() };
}
