// request.tsx - what was new in a request since the one before; the results of the tools that a model
// asked its client for; the sub-agents it started. SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { address, ask, useApi, type Decision, type Event, type Session, type SessionDetail, type SessionList } from "../api";
import { diff } from "../diff";
import { count, duration, money, plural } from "../format";
import { decisionParts, isTool, parsed, toolCalls, touched, type ToolCall } from "../steps";
import { Badge, Disclosure, Json, Pre, Status, Text } from "./basics";
import { sessionAddress } from "./sessions";

export interface NewPart {
  interaction_id: string;
  previous_id: string | null;
  same_count: number;
  dropped_count: number;
  system: unknown;
  tools: unknown;
  messages: unknown[];
}

// ---- read as they are needed, a few at a time ----

const AT_ONCE = 2, KEPT_MAX = 400;
const kept = new Map<string, Promise<NewPart | null>>();
const waiting: (() => void)[] = [];
let running = 0;

// A read has ended: starts the next one that waits.
function next(): void {
  const go = waiting.shift();
  if (go) go();
  else running--;
}

function read(id: string): Promise<NewPart | null> {
  const have = kept.get(id);
  if (have) return have;
  const free = running < AT_ONCE;
  if (free) running++;
  const turn = free ? Promise.resolve() : new Promise<void>((go) => waiting.push(go));
  const made = turn.then(() => ask<NewPart>(`/api/v1/history/interactions/${encodeURIComponent(id)}/new`)).catch(() => {
    kept.delete(id);
    return null;
  }).finally(next);
  for (const old of kept.keys()) {
    if (kept.size < KEPT_MAX) break;
    kept.delete(old);
  }
  kept.set(id, made);
  return made;
}

// Null until it is read, undefined if it could not be.
export function useNew(id: string | null): NewPart | null | undefined {
  const [part, set] = useState<NewPart | null | undefined>(null);
  useEffect(() => {
    let gone = false;
    set(null);
    if (id) void read(id).then((p) => gone || set(p ?? undefined));
    return () => void (gone = true);
  }, [id]);
  return part;
}

// ---- messages of every dialect ----

type Block = Record<string, unknown>;

function blocks(message: unknown): Block[] {
  const m = (message ?? {}) as Block;
  const content = m.content ?? m.parts ?? (m.type ? undefined : m);
  if (typeof m.type === "string" && m.type !== "message") return [m];
  if (Array.isArray(content)) return content.map((c) => (typeof c === "string" ? { type: "text", text: c } : (c as Block)));
  return typeof content === "string" ? [{ type: "text", text: content }] : [];
}

export function textOf(v: unknown): string {
  if (typeof v === "string") return v;
  if (Array.isArray(v)) return v.map(textOf).filter(Boolean).join("\n");
  if (!v || typeof v !== "object") return v == null ? "" : String(v);
  const b = v as Block;
  return typeof b.text === "string" ? b.text : b.parts || b.content ? textOf(b.parts ?? b.content) : JSON.stringify(b);
}

export interface Result {
  id: string;
  name: string;
  bad: boolean;
  value: unknown;
}

function results(messages: unknown[]): Result[] {
  return messages.flatMap((m): Result[] => {
    const { role, tool_call_id, content, name } = (m ?? {}) as Block;
    if (role === "tool") return [{ id: String(tool_call_id ?? ""), name: String(name ?? ""), bad: false, value: textOf(content) }];
    return blocks(m).flatMap((b): Result[] => {
      if (b.type === "tool_result") return [{ id: String(b.tool_use_id ?? ""), name: "", bad: b.is_error === true, value: textOf(b.content) }];
      if (/_output$/.test(String(b.type ?? ""))) return [{ id: String(b.call_id ?? ""), name: "", bad: false, value: textOf(b.output) }];
      const f = b.functionResponse as Block | undefined;
      return f ? [{ id: String(f.id ?? ""), name: String(f.name ?? ""), bad: false, value: f.response }] : [];
    });
  });
}

// Messages other than results of tools and the model's own, both of which are shown as steps.
function others(messages: unknown[]): { role: string; text: string }[] {
  return messages.flatMap((m) => {
    const { role = "", type } = (m ?? {}) as Block;
    if (typeof m === "string") return [{ role: "user", text: m }];
    if (["assistant", "model", "tool"].includes(String(role)) || ["function_call", "reasoning", "custom_tool_call"].includes(String(type ?? ""))) return [];
    const text = blocks(m).filter((b) => b.type !== "tool_result" && !b.functionResponse && !/_output$/.test(String(b.type ?? ""))).map((b) => textOf(b)).join("\n");
    return text ? [{ role: String(role), text }] : [];
  });
}

// ---- what was new ----

function letters(v: unknown): number {
  return (typeof v === "string" ? v : (JSON.stringify(v) ?? "")).length;
}

function Said({ role, text }: { role: string; text: string }) {
  return <div class="message"><span class="role">{role}</span><Pre name="said" text={text} /></div>;
}

function Changed({ from, to }: { from: string; to: string }) {
  const lines = diff(from, to).filter((l) => l.kind !== "same");
  return <pre class="code diff" tabIndex={0}>{lines.slice(0, 400).map((l) => <span class={l.kind}>{l.kind === "added" ? "+ " : "- "}<Text>{l.text}</Text>{"\n"}</span>)}</pre>;
}

// The texts of the system prompt and of the tools that the session began with.
export interface Given {
  system: string;
  tools: unknown;
}

export function NewInRequest({ id, given }: { id: string; given: Given | null }) {
  const part = useNew(id);
  if (part === undefined) return <p class="problem" role="alert">The request could not be read. Reload the page to try again.</p>;
  if (!part) return <p class="loading" role="status">Loading…</p>;
  const done = results(part.messages), said = others(part.messages);
  const system = textOf(part.system);
  return (
    <div class="new-part">
      {part.same_count ? <p class="quiet">{plural(part.same_count, "message")} as before{part.dropped_count ? `, ${plural(part.dropped_count, "message")} of the request before left out` : ""}</p> : null}
      {part.previous_id && system && given ? <Disclosure title="The system prompt is another from here on" open>{() => <Changed from={given.system} to={system} />}</Disclosure> : null}
      {part.previous_id && part.tools ? <Disclosure title="Other tools are offered from here on" note={count(toolNames(part.tools).length)}>{() => <Changed from={toolNames(given?.tools).join("\n")} to={toolNames(part.tools).join("\n")} />}</Disclosure> : null}
      {said.filter((m) => m.role !== "system" && m.role !== "developer").map((m) => <Said {...m} />)}
      {done.length ? <p class="quiet">{plural(done.length, "tool result")}, {plural(done.reduce((n, r) => n + letters(r.value), 0), "letter")}: below the calls they answer</p> : null}
      {!said.length && !done.length ? <p class="about">Nothing, or the request was not kept.</p> : null}
    </div>
  );
}

function toolNames(v: unknown): string[] {
  const list = parsed(v);
  if (!Array.isArray(list)) return [];
  return list.flatMap((t) => (Array.isArray(t?.functionDeclarations) ? t.functionDeclarations : [t])).map((t) => String(t?.function?.name ?? t?.name ?? t?.type ?? "?"));
}

// The system prompt and the tools of a conversation, once.
export function useGiven(first: string | null): Given | null {
  const part = useNew(first);
  if (!part) return null;
  const spoken = part.messages.filter((m) => ["system", "developer"].includes(String((m as Block)?.role ?? "")));
  return { system: textOf(part.system) || spoken.map(textOf).join("\n\n"), tools: part.tools };
}

export function GivenParts({ given }: { given: Given | null }) {
  if (!given) return null;
  const names = toolNames(given.tools);
  if (!given.system && !names.length) return null;
  return (
    <div class="given">
      {given.system ? <Disclosure title="System prompt" note={plural(given.system.length, "letter")}>{() => <Pre name="said" text={given.system} />}</Disclosure> : null}
      {names.length ? <Disclosure title="Tools offered" note={count(names.length)}>{() => <><p class="wrap">{names.map((n) => <code><Text>{n}</Text></code>)}</p><Disclosure title="As they were described">{() => <Json value={given.tools} />}</Disclosure></>}</Disclosure> : null}
    </div>
  );
}

// ---- what came of a call ----

export function CallResult({ call, next, n }: { call: ToolCall; next: string | null; n: number }) {
  const part = useNew(next);
  if (!part) return null;
  const all = results(part.messages);
  const one = all.find((r) => r.id && r.id === call.id) ?? (all[n]?.id ? undefined : all[n]);
  if (!one) return null;
  return <Disclosure title={one.bad ? <>Result <Badge tone="bad">error</Badge></> : "Result"} note={plural(letters(one.value), "letter")} open={letters(one.value) < 300}>{() => <Json value={one.value} />}</Disclosure>;
}

// ---- sub-agents ----

const TITLE_MAX = 80; // as the store cuts titles

function firstLine(text: string): string {
  return [...(text.split("\n")[0] ?? "")].slice(0, TITLE_MAX).join("");
}

function promptOf(call: ToolCall): string {
  const args = parsed(call.args) as { prompt?: unknown } | null;
  return /agent|task|delegate|spawn/i.test(call.name) && typeof args?.prompt === "string" ? args.prompt : "";
}

function Child({ s }: { s: Session }) {
  const detail = useApi<SessionDetail>(`/api/v1/history/sessions/${encodeURIComponent(s.session_id)}`).data;
  const events = detail?.chronological_timeline ?? [];
  return (
    <ol class="child">
      {events.slice(0, 200).map((e) => {
        const d = e.details ?? {};
        const calls = isTool(e) ? [] : toolCalls(d.tool_calls);
        return (
          <li>
            <a href={sessionAddress(s.session_id, e.event_id)}>{isTool(e) ? d.tool_name : calls.length ? calls.map((c) => c.name).join(", ") : "answers"}</a>
            <span class="quiet"> <Text>{decisionParts(d.decision ?? "")[1].slice(0, 160)}</Text></span>
            {calls.map((c, i) => <SubAgent key={i} call={c} event={e} until={events[events.indexOf(e) + 1]?.timestamp_us} />)}
          </li>
        );
      })}
    </ol>
  );
}

// The session that a call of this kind started: it begins while the call runs, with the call's words.
export function SubAgent({ call, event, until }: { call: ToolCall; event: Event; until?: number }) {
  const prompt = promptOf(call);
  const from = event.details?.first_byte_us ?? event.timestamp_us;
  const found = useApi<SessionList>(prompt ? address("/api/v1/history/sessions", { start_date_us: from, end_date_us: until ?? from + 600_000_000, page_size: 100, sort: "started_at_us" }) : null).data;
  const s = found?.sessions.find((x) => x.title === firstLine(prompt.trimStart()));
  if (!s) return null;
  return (
    <div class="subagent">
      <p class="facts"><Badge>sub-agent</Badge><a href={sessionAddress(s.session_id)}><Text>{s.title}</Text></a><Status of={s.status} /><span class="quiet numbers">{[plural(s.llm_interaction_count, "call"), plural(s.tool_call_count, "tool call"), duration(s.duration_ms), money(s.cost_usd)].join(" · ")}</span></p>
      <Disclosure title="Its steps" note={count(s.llm_interaction_count)}>{() => <Child s={s} />}</Disclosure>
    </div>
  );
}

// The call that started this session as a sub-agent, if one did.
export function StartedBy({ s }: { s: SessionDetail }) {
  const [by, set] = useState<Decision | null>(null);
  useEffect(() => {
    if (s.agent_type !== "gateway" || !s.title) return;
    let gone = false;
    void (async () => {
      const url = address("/api/v1/history/decisions", { kind: "TOOL_CALL", start_date_us: s.started_at_us - 60_000_000, end_date_us: s.started_at_us + 1_000_000, limit: 20 });
      const { decisions } = await ask<{ decisions: Decision[] }>(url);
      for (const d of decisions) {
        if (gone || !d.tools?.some((t) => /agent|task|delegate|spawn/i.test(t)) || d.session_id === s.session_id) continue;
        const { tool_calls } = await ask<{ tool_calls?: unknown }>(`/api/v1/history/interactions/${encodeURIComponent(d.interaction_id)}`);
        if (toolCalls(tool_calls).some((c) => firstLine(promptOf(c).trimStart()) === s.title)) return void (gone || set(d));
      }
    })().catch(() => undefined);
    return () => void (gone = true);
  }, [s.session_id]);
  return by?.session_id ? <p class="facts"><span class="quiet">Sub-agent of</span><a href={sessionAddress(by.session_id, by.interaction_id)}><Text>{by.session_id}</Text></a></p> : null;
}

// ---- files and commands ----

const SHOWN_MAX = 60;

export function TouchedParts({ events }: { events: Event[] }) {
  const { files, commands } = touched(events);
  const list = (of: Map<string, string[]>) => (
    <ul class="touched">
      {[...of].slice(0, SHOWN_MAX).map(([name, steps]) => <li><a href={`#${encodeURIComponent(steps[0] ?? "")}`}><code><Text>{name.slice(0, 300)}</Text></code></a>{steps.length > 1 ? <small>{plural(steps.length, "time")}</small> : null}</li>)}
      {of.size > SHOWN_MAX ? <li class="quiet">and {of.size - SHOWN_MAX} more</li> : null}
    </ul>
  );
  if (!files.size && !commands.size) return null;
  return (
    <div class="given">
      {files.size ? <Disclosure title="Files touched" note={count(files.size)}>{() => list(files)}</Disclosure> : null}
      {commands.size ? <Disclosure title="Commands run" note={count(commands.size)}>{() => list(commands)}</Disclosure> : null}
    </div>
  );
}
