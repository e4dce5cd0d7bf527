// event.tsx - one entry of a timeline: a call of a model or of a tool. SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { useApi, type Details, type Event, type Segment } from "../api";
import { count, duration, money, plural, time } from "../format";
import { Badge, Boundary, Copy, Disclosure, Json, Loaded, Text } from "./basics";
import { Markdown } from "./markdown";
import { ReasoningDisplay, type Reasoning } from "./reasoning";

function parsed(v: unknown): unknown {
  if (typeof v !== "string" || !/^\s*[[{]/.test(v)) return v;
  try {
    return JSON.parse(v);
  } catch {
    return v;
  }
}

function words(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((p) => (typeof p === "string" ? p : typeof p?.text === "string" ? p.text : JSON.stringify(p, null, 2))).join("\n");
  return content == null ? "" : JSON.stringify(content, null, 2);
}

// ---- what was asked ----

function Prompt({ value }: { value: unknown }) {
  const p = parsed(value) as { messages?: unknown } | unknown[] | string | null;
  const messages = Array.isArray(p) ? p : p && typeof p === "object" && Array.isArray(p.messages) ? p.messages : null;
  if (!messages) return typeof p === "string" ? <pre class="said"><Text>{p}</Text></pre> : <Json value={p} />;
  return (
    <>
      {(messages as Record<string, unknown>[]).map((m) => (
        <div class="message"><span class="role">{String(m?.role ?? "")}</span><pre class="said"><Text>{words(m?.content ?? m)}</Text></pre></div>
      ))}
    </>
  );
}

function promptSize(value: unknown): string {
  const n = typeof value === "string" ? value.length : (JSON.stringify(value) ?? "").length;
  return plural(n, "letter");
}

// ---- what came back ----

function whole(d: Details): Reasoning {
  const ms = d.reasoning_started_us && d.reasoning_ended_us ? (d.reasoning_ended_us - d.reasoning_started_us) / 1000 : null;
  return {
    text: d.reasoning_content, summary: d.reasoning_summary, state: d.reasoning_state, absent: d.reasoning_absent, source: d.reasoning_source, has: d.has_reasoning,
    tokens: d.reasoning_tokens, exact: d.reasoning_exact, ms, cap: d.cap_tokens, cut: d.reasoning_cut,
  };
}

// One of several stretches of thought: what ended the last ended it alone.
function stretch(s: Segment, d: Details, first: boolean): Reasoning {
  return {
    text: s.text, absent: s.text ? null : d.reasoning_absent, state: s.state ?? (s.text ? "complete" : d.reasoning_state), source: d.reasoning_source, has: true, tokens: s.tokens, exact: s.exact,
    ms: s.started_us && s.ended_us ? (s.ended_us - s.started_us) / 1000 : null, cap: first ? (s.budget ?? d.cap_tokens) : null, cut: s.cut,
  };
}

// Thought and answer. A model that thinks several times is shown in the order in which it did.
function Reply({ d }: { d: Details }) {
  const parts = Array.isArray(d.segments) ? d.segments : [];
  const thoughts = parts.filter((s) => s.kind === "reasoning");
  if (thoughts.length < 2 || d.reasoning_state === "hidden")
    return <><ReasoningDisplay of={whole(d)} /><Boundary words="Answer unavailable"><Answer d={d} /></Boundary></>;
  const said = parts.filter((s) => s.kind === "answer" && s.text);
  const order = said.length ? parts.filter((s) => s.kind === "reasoning" || (s.kind === "answer" && s.text)) : thoughts;
  const number = (s: Segment) => thoughts.indexOf(s) + 1;
  return (
    <>
      {order.map((s) => s.kind === "reasoning"
        ? <ReasoningDisplay of={stretch(s, d, number(s) === 1)} index={`${number(s)} of ${thoughts.length}`} />
        : <Boundary words="Answer unavailable"><div class="answer"><Markdown text={s.text ?? ""} /></div></Boundary>)}
      {said.length ? null : <Boundary words="Answer unavailable"><Answer d={d} /></Boundary>}
    </>
  );
}

// The bodies as they were, fetched when somebody looks.
function Whole({ id }: { id: string }) {
  const call = useApi<{ request?: unknown; reply?: unknown; details?: { request?: unknown; reply?: unknown } }>(`/api/v1/history/interactions/${encodeURIComponent(id)}`);
  return (
    <Loaded of={call}>
      {(c) => {
        const request = c.request ?? c.details?.request, reply = c.reply ?? c.details?.reply;
        return <>{request ? <><h4>Request</h4><Json value={request} /></> : <p class="about">The request was not kept.</p>}{reply ? <><h4>Reply</h4><Json value={reply} /></> : null}</>;
      }}
    </Loaded>
  );
}

interface ToolCall {
  name: string;
  args: unknown;
}

function toolCalls(v: unknown): ToolCall[] {
  const list = parsed(v);
  if (!Array.isArray(list)) return [];
  return list.map((c) => {
    const f = c?.function ?? c ?? {};
    return { name: String(f.name ?? c?.tool ?? "a tool"), args: f.arguments ?? f.input ?? f.args ?? null };
  });
}

function Calls({ value }: { value: unknown }) {
  return (
    <>
      {toolCalls(value).map((c) => (
        <div class="toolcall">
          <h4>asks for <code><Text>{c.name}</Text></code></h4>
          {c.args != null && c.args !== "" ? <Json value={c.args} /> : null}
        </div>
      ))}
    </>
  );
}

function Answer({ d }: { d: Details }) {
  const text = words(d.response);
  if (text) return <div class="answer"><Markdown text={text} /><div class="answer-foot"><Copy text={text} label="Copy answer" /></div></div>;
  if (d.error_message || toolCalls(d.tool_calls).length) return null;
  const starved = d.stop === "length" && (d.reasoning_tokens ?? 0) > 0;
  return <p class="about">{starved ? "No answer: thinking took all the tokens there were." : "No answer is on record."}</p>;
}

// ---- usage ----

function Usage({ d, ms }: { d: Details; ms: number | null }) {
  const said: [string, string][] = [];
  const add = (label: string, v: number | null | undefined) => v ? said.push([label, count(v)]) : 0;
  add("in", d.input_tokens);
  add("out", d.output_tokens);
  add((d.reasoning_tokens ?? 0) <= (d.output_tokens ?? 0) ? "of it thought" : "thought", d.reasoning_tokens);
  const over = d.reasoning_exact && !d.reasoning_cut && d.cap_tokens != null ? (d.reasoning_tokens ?? 0) - d.cap_tokens : 0;
  if (over > 0) said.push(["over the cap", `${count(over)}, which the provider does not show`]);
  add("from cache", d.cache_read_tokens);
  add("to cache", d.cache_write_tokens);
  if (d.cost_usd != null) said.push(["cost", money(d.cost_usd)]);
  if (d.first_byte_us && d.started_at_us) said.push(["first byte", duration((d.first_byte_us - d.started_at_us) / 1000)]);
  if (ms != null) said.push(["took", duration(ms)]);
  if (d.stop) said.push(["stop", d.stop]);
  if (d.temperature != null) said.push(["temperature", String(d.temperature)]);
  return <dl class="usage">{said.map(([k, v]) => <div><dt>{k}</dt><dd>{v}</dd></div>)}</dl>;
}

function names(v: unknown): string[] {
  const list = parsed(v);
  return Array.isArray(list) ? list.map((t) => (typeof t === "string" ? t : String(t?.function?.name ?? t?.name ?? "?"))) : [];
}

function ModelCall({ e, open }: { e: Event; open: boolean }) {
  const d = e.details;
  const attempts = parsed(d.attempts);
  const several = Array.isArray(attempts) && attempts.length > 0;
  const offered = names(d.tools);
  return (
    <>
      {d.prompt ? (
        <Disclosure title="Prompt" note={promptSize(d.prompt)} open={open && typeof d.prompt === "string" && d.prompt.length < 400}>
          {() => <Prompt value={d.prompt} />}
        </Disclosure>
      ) : null}
      <Reply d={d} />
      <Boundary words="Tool calls unavailable"><Calls value={d.tool_calls} /></Boundary>
      {d.error_message ? <p class="problem">{d.error_code ? <code>{d.error_code}</code> : null} <Text>{d.error_message}</Text></p> : null}
      {d.decision ? <p class="decision"><Text>{d.decision}</Text></p> : null}
      {offered.length ? <Disclosure title="Tools offered" note={count(offered.length)}>{() => <p class="wrap">{offered.map((t) => <code><Text>{t}</Text></code>)}</p>}</Disclosure> : null}
      {several ? <Disclosure title="Attempts" note={count((attempts as unknown[]).length)}>{() => <Json value={attempts} />}</Disclosure> : null}
      <Disclosure title="Whole request and reply">{() => <Whole id={e.event_id} />}</Disclosure>
      <Usage d={d} ms={e.duration_ms} />
    </>
  );
}

function ToolUse({ e }: { e: Event }) {
  const d = e.details;
  return (
    <>
      {d.parameters != null && d.parameters !== "" ? <><h4>Given</h4><Json value={d.parameters} /></> : null}
      {d.result != null && d.result !== "" ? <Disclosure title="Result" note={promptSize(d.result)} open={promptSize(d.result).length < 11}>{() => <Json value={d.result} />}</Disclosure> : null}
      {d.error_message ? <p class="problem"><Text>{d.error_message}</Text></p> : null}
    </>
  );
}

export function EventCard({ e, marked, open }: { e: Event; marked: boolean; open: boolean }) {
  const [linked, setLinked] = useState(false);
  const d = e.details ?? {};
  const tool = e.type === "mcp_communication";
  const bad = tool ? d.success === false : Boolean(d.error_code || d.error_message) || (typeof d.status === "number" && d.status >= 400);
  const share = async () => {
    history.replaceState(null, "", `#${encodeURIComponent(e.event_id)}`);
    await navigator.clipboard?.writeText(location.href).then(() => setLinked(true), () => undefined);
  };
  return (
    <li id={e.event_id} class={`event ${tool ? "tool" : "model"} ${bad ? "bad" : ""} ${marked ? "marked" : ""}`} tabIndex={-1} data-item>
      <header>
        <span class="kind">{tool ? "tool" : "model"}</span>
        <strong class="name"><Text>{(tool ? d.tool_name || d.communication_type : d.model_name) ?? ""}</Text></strong>
        {tool && d.server_name ? <span class="quiet"><Text>{d.server_name}</Text></span> : null}
        {d.upstream_model && d.upstream_model !== d.model_name ? <span class="quiet"><Text>{d.upstream_model}</Text></span> : null}
        {d.provider ? <span class="quiet"><Text>{d.provider}</Text></span> : null}
        {d.level ? <Badge>{d.level}</Badge> : null}
        {bad ? <Badge tone="bad">failed</Badge> : null}
        {d.complete === false ? <Badge tone="warm">cut short</Badge> : null}
        <span class="spring" />
        <span class="numbers quiet">{duration(e.duration_ms)}</span>
        <a class="anchor" href={`#${encodeURIComponent(e.event_id)}`} aria-label="Link to this entry" onClick={share}>{linked ? "copied" : time(e.timestamp_us)}</a>
      </header>
      {e.step_description && (tool || e.agent) ? <p class="quiet"><Text>{e.step_description}</Text></p> : null}
      <Boundary words="This entry could not be shown">{tool ? <ToolUse e={e} /> : <ModelCall e={e} open={open} />}</Boundary>
    </li>
  );
}
