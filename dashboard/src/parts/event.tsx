// event.tsx - one entry of a timeline: a call of a model or of a tool. SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { announce } from "../announce";
import { useApi, type Details, type Event, type Segment } from "../api";
import { count, duration, fullTime, money, plural, short, time } from "../format";
import { errorWords } from "../labels";
import { decisionBeside, decisionParts, isBad, isBrokenOff, isCut, isTool, nameOf, parsed, toolCalls, touchedBy, turnsOf } from "../steps";
import { Badge, Boundary, Copy, copyText, Disclosure, Json, Loaded, Pre, Text } from "./basics";
import { LongMarkdown, Markdown } from "./markdown";
import { compareAddress } from "./picked";
import { ReasoningDisplay, type Reasoning } from "./reasoning";
import { CallResult, NewInRequest, SubAgent, type Given } from "./request";
import type { Group, Item } from "./timeline";

function words(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content)) return content.map((p) => (typeof p === "string" ? p : typeof p?.text === "string" ? p.text : JSON.stringify(p, null, 2))).join("\n");
  return content == null ? "" : JSON.stringify(content, null, 2);
}

// ---- what was asked ----

function Prompt({ value }: { value: unknown }) {
  const p = parsed(value) as { messages?: unknown } | unknown[] | string | null;
  const messages = Array.isArray(p) ? p : p && typeof p === "object" && Array.isArray(p.messages) ? p.messages : null;
  if (!messages) return typeof p === "string" ? <Pre name="said" text={p} /> : <Json value={p} />;
  return (
    <>
      {(messages as Record<string, unknown>[]).map((m) => (
        <div class="message"><span class="role">{String(m?.role ?? "")}</span><Pre name="said" text={words(m?.content ?? m)} /></div>
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

// One of several stretches of reasoning. Each has its own `cut`; the first one shows the cap.
function stretch(s: Segment, d: Details, first: boolean): Reasoning {
  return {
    text: s.text, absent: s.text ? null : d.reasoning_absent, state: s.state ?? (s.text ? "complete" : d.reasoning_state), source: d.reasoning_source, has: true, tokens: s.tokens, exact: s.exact,
    ms: s.started_us && s.ended_us ? (s.ended_us - s.started_us) / 1000 : null, cap: first ? (s.budget ?? d.cap_tokens) : null, cut: s.cut,
  };
}

// Reasoning and answer; several stretches of reasoning are in the order in which they arrived.
function Reply({ d, id }: { d: Details; id: string }) {
  const parts = Array.isArray(d.segments) ? d.segments : [];
  const thoughts = parts.filter((s) => s.kind === "reasoning");
  if (thoughts.length < 2 || d.reasoning_state === "hidden")
    return <><ReasoningDisplay of={whole(d)} id={id} /><Boundary words="Answer unavailable"><Answer d={d} /></Boundary></>;
  const said = parts.filter((s) => s.kind === "answer" && s.text);
  const order = said.length ? parts.filter((s) => s.kind === "reasoning" || (s.kind === "answer" && s.text)) : thoughts;
  const number = (s: Segment) => thoughts.indexOf(s) + 1;
  return (
    <>
      {order.map((s) => s.kind === "reasoning"
        ? <ReasoningDisplay of={stretch(s, d, number(s) === 1)} id={`${id} ${s.n}`} index={`${number(s)} of ${thoughts.length}`} />
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
        return <>{request ? <><h3 class="label">Request</h3><Json value={request} /></> : <p class="about">The request was not kept.</p>}{reply ? <><h3 class="label">Reply</h3><Json value={reply} /></> : null}</>;
      }}
    </Loaded>
  );
}

function Calls({ e, next, until }: { e: Event; next: string | null; until?: number }) {
  return (
    <>
      {toolCalls(e.details.tool_calls).map((c, i) => {
        const { files, commands } = touchedBy(c.name, c.args);
        return (
          <div class="toolcall">
            <h3>asks for <code><Text>{c.name}</Text></code></h3>
            {files.length || commands.length ? <p class="wrap">{[...files, ...commands].slice(0, 12).map((f) => <code class="touch"><Text>{f.slice(0, 200)}</Text></code>)}</p> : null}
            {c.args != null && c.args !== "" ? <Json value={c.args} /> : null}
            <CallResult call={c} next={next} n={i} />
            <SubAgent call={c} event={e} until={until} />
          </div>
        );
      })}
    </>
  );
}

function Answer({ d }: { d: Details }) {
  const text = words(d.response);
  if (text) return <div class="answer"><LongMarkdown text={text} /><div class="answer-foot"><Copy text={text} label="Copy answer" /></div></div>;
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

// What a timeline knows besides the call itself.
export interface Place {
  repeats: boolean; // its prompt is shown with the call before
  before: Event | null; // the call before it in its conversation
  next: Event | null; // the call after it
  given: Given | null;
}

const ALONE: Place = { repeats: false, before: null, next: null, given: null };

// What went wrong, and the status that the client got, unless the words have it already.
function Failure({ d }: { d: Details }) {
  const what = errorWords(d.error_code, d.status), said = d.error_message ?? "";
  const status = Number(d.status) >= 400 && !`${what} ${said}`.includes(String(d.status)) ? `, status ${d.status}` : "";
  return <p class="problem"><strong><Text>{what + status}</Text></strong>{said ? <>: <Text>{said}</Text></> : null}</p>;
}

function ModelCall({ e, open, place }: { e: Event; open: boolean; place: Place }) {
  const d = e.details;
  const attempts = parsed(d.attempts);
  const beside = decisionBeside(d.decision ?? "", [words(d.reasoning_content), words(d.reasoning_summary), words(d.response)]);
  const several = Array.isArray(attempts) && attempts.length > 0;
  return (
    <>
      {d.prompt && !place.repeats ? (
        <Disclosure title="Prompt" note={promptSize(d.prompt)} open={open && typeof d.prompt === "string" && d.prompt.length < 400}>
          {() => <Prompt value={d.prompt} />}
        </Disclosure>
      ) : null}
      <Disclosure title="New in this request">{() => <NewInRequest id={e.event_id} given={place.given} />}</Disclosure>
      <Reply d={d} id={e.event_id} />
      <Boundary words="Tool calls unavailable"><Calls e={e} next={e.agent ? null : place.next?.event_id ?? null} until={place.next?.timestamp_us} /></Boundary>
      {isBad(e) ? <Failure d={d} /> : null}
      {d.decision && beside !== "[DIRECT]" ? <p class="decision"><Text>{beside}</Text></p> : null}
      {several ? <Disclosure title="Attempts" note={count((attempts as unknown[]).length)}>{() => <Json value={attempts} />}</Disclosure> : null}
      <Disclosure title="Whole request and reply">{() => <Whole id={e.event_id} />}</Disclosure>
      <div class="usage-row"><Usage d={d} ms={e.duration_ms} /><a class="anchor" href={compareAddress("call", place.before?.event_id ?? "", e.event_id)}>{place.before ? "compare with the call before" : "compare"}</a></div>
    </>
  );
}

function ToolUse({ e }: { e: Event }) {
  const d = e.details;
  return (
    <>
      {d.parameters != null && d.parameters !== "" ? <><h3 class="label">Given</h3><Json value={d.parameters} /></> : null}
      {d.result != null && d.result !== "" ? <Disclosure title="Result" note={promptSize(d.result)} open={promptSize(d.result).length < 11}>{() => <Json value={d.result} />}</Disclosure> : null}
      {d.error_message ? <p class="problem"><Text>{d.error_message}</Text></p> : null}
    </>
  );
}

export function EventBody({ e, open, place = ALONE, more }: { e: Event; open: boolean; place?: Place; more?: ComponentChildren }) {
  const [linked, setLinked] = useState(false);
  const d = e.details ?? {};
  const tool = isTool(e), bad = isBad(e);
  const share = async () => {
    history.replaceState(null, "", `#${encodeURIComponent(e.event_id)}`);
    if (!(await copyText(location.href))) return;
    setLinked(true);
    announce("The link to this entry is copied.");
  };
  return (
    <>
      <header>
        <span class="kind">{tool ? "tool" : "model"}</span>
        <strong class="name"><Text>{(tool ? d.tool_name || d.communication_type : d.model_name) ?? ""}</Text></strong>
        {tool && d.server_name ? <span class="quiet"><Text>{d.server_name}</Text></span> : null}
        {d.upstream_model && d.upstream_model !== d.model_name ? <span class="quiet"><Text>{d.upstream_model}</Text></span> : null}
        {d.provider ? <span class="quiet"><Text>{d.provider}</Text></span> : null}
        {d.level ? <Badge>{d.level}</Badge> : null}
        {bad ? <Badge tone="bad">failed</Badge> : null}
        {isBrokenOff(e) ? <Badge tone="warm">cut short</Badge> : null}
        <span class="spring" />
        {more ?? null}
        <span class="numbers quiet">{duration(e.duration_ms)}</span>
        <a class="anchor" href={`#${encodeURIComponent(e.event_id)}`} title={fullTime(e.timestamp_us)} aria-label={`${linked ? "copied" : time(e.timestamp_us)}: link to this entry`} onClick={share}>{linked ? "copied" : <time dateTime={new Date(e.timestamp_us / 1000).toISOString()}>{time(e.timestamp_us)}</time>}</a>
      </header>
      {e.step_description && (tool || e.agent) ? <p class="quiet"><Text>{e.step_description}</Text></p> : null}
      <Boundary words="This entry could not be shown">{tool ? <ToolUse e={e} /> : <ModelCall e={e} open={open} place={place} />}</Boundary>
    </>
  );
}

// ---- all of a session's ----

// The first part of a folded step: the tool, the tools that the model calls, "answers" or "fails".
function head(e: Event): string {
  if (isTool(e)) return nameOf(e);
  const asked = toolCalls(e.details?.tool_calls).map((c) => c.name);
  return asked.length ? `→ ${asked.join(", ")}` : isBad(e) ? "fails" : "answers";
}

// The second part: the error, the arguments, or the reason.
function line(e: Event): string {
  const d = e.details ?? {};
  if (isTool(e)) return d.error_message || words(d.parameters).slice(0, 200);
  const touched = toolCalls(d.tool_calls).flatMap((c) => Object.values(touchedBy(c.name, c.args)).flat()).join(", ");
  const why = decisionParts(d.decision ?? "")[1];
  return [d.error_message || touched, why || words(d.response)].filter(Boolean).join(" · ").replace(/\s+/g, " ").slice(0, 240);
}

function numbers(e: Event): string {
  const d = e.details ?? {};
  return [d.input_tokens ? `${short(d.input_tokens)} in` : "", d.output_tokens ? `${short(d.output_tokens)} out` : "", d.cost_usd ? money(d.cost_usd) : "", duration(e.duration_ms)].filter(Boolean).join(" · ");
}

function item(e: Event, open: boolean, client: boolean, place: Place, more?: ComponentChildren): Item {
  const d = e.details ?? {};
  const from = d.started_at_us ?? e.timestamp_us;
  const began = d.reasoning_started_us, ended = d.reasoning_ended_us;
  return {
    calls: isTool(e) ? Number(d.communication_type !== "tool_list") : client ? toolCalls(d.tool_calls).length : 0,
    key: e.event_id, kind: isTool(e) ? "tool" : "model", name: nameOf(e), tool: isTool(e), bad: isBad(e), cut: !isTool(e) && isCut(e),
    from, to: Math.max(from, d.ended_at_us ?? from + (e.duration_ms ?? 0) * 1000), thought: began && ended && ended > began ? [began, ended] : null,
    get head() { return head(e); }, get line() { return line(e); }, get numbers() { return numbers(e); }, card: () => <EventBody e={e} open={open} place={place} more={more} />,
  };
}

export function eventGroups(events: Event[], given: Given | null, more?: (e: Event) => ComponentChildren): Group[] {
  const model = events.filter((e) => !isTool(e));
  const last = model[model.length - 1];
  const client = !events.some(isTool); // who carries its tools out
  const at = new Map(model.map((e, i) => [e, i]));
  const near = (e: Event, by: number) => model[(at.get(e) ?? -2) + by] ?? null;
  return turnsOf(events).map((t) => {
    let prompt: unknown;
    return {
      key: t.key, title: t.title,
      items: t.events.map((e) => {
        const repeats = !isTool(e) && !e.agent && e.details?.prompt === prompt;
        if (!isTool(e)) prompt = e.details?.prompt;
        return item(e, model.length <= 3 || e === last, client, { repeats, before: near(e, -1), next: near(e, 1), given }, more?.(e));
      }),
    };
  });
}
