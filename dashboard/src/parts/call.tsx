// call.tsx - one model call while it runs and just after: two streams that cannot be mistaken for each
// other, in a card that keeps its size. SPDX-License-Identifier: Apache-2.0
import type { Call } from "../calls";
import { useCell } from "../cell";
import { count, duration, money } from "../format";
import { decisionBeside } from "../steps";
import { Badge, Boundary, Text } from "./basics";
import { Markdown } from "./markdown";
import { LiveReasoning, Seconds } from "./reasoning";
import { Stream } from "./stream";

const WORDS: Record<string, string> = { waiting: "waiting", thinking: "thinking", answering: "answering", tool: "calling a tool", done: "done" };

function address(call: Call): string | null {
  return call.session ? `/sessions/${encodeURIComponent(call.session)}#${encodeURIComponent(call.id)}` : null;
}

function failed(call: Call): boolean {
  const r = call.result;
  return r !== null && (r.success === false || r.status === "failed" || (typeof r.status === "number" && r.status >= 400));
}

function Foot({ call }: { call: Call }) {
  const r = call.result;
  if (!r) return null;
  const tokens = (r.tokens ?? {}) as Record<string, number>;
  const said: string[] = [];
  if (typeof r.duration_ms === "number") said.push(duration(r.duration_ms));
  if (tokens.input != null) said.push(`${count(tokens.input)} in`);
  if (tokens.output != null) said.push(`${count(tokens.output)} out`);
  if (typeof r.cost_usd === "number" && r.cost_usd > 0) said.push(money(r.cost_usd));
  return <span class="numbers">{said.join(" · ")}</span>;
}

export function CallCard({ call }: { call: Call }) {
  useCell(call.changes);
  const to = address(call);
  const bad = failed(call);
  return (
    <article class={`card call state-${call.state} ${bad ? "bad" : ""}`} data-call={call.id} aria-busy={call.running}>
      <header>
        <span class={`status ${bad ? "bad" : call.running ? "busy" : "good"}`}><i aria-hidden="true" />{bad ? "failed" : WORDS[call.state]}</span>
        <strong class="name">{call.model || "a model"}</strong>
        {call.level ? <Badge>{call.level}</Badge> : null}
        {call.provider ? <span class="quiet">{call.provider}</span> : null}
        {call.key ? <span class="quiet">{call.key}</span> : null}
        <span class="spring" />
        {call.running ? <span class="numbers quiet"><Seconds since={call.began} words="" /></span> : <Foot call={call} />}
        {to ? <a href={to}>Open</a> : null}
      </header>
      {call.asked ? <p class="asked"><Text>{call.asked}</Text></p> : null}
      <LiveReasoning call={call} />
      {call.running || !call.answer.text
        ? <Stream of={call.answer} kind="answer" label="Answer as it comes" />
        : <div class="settled"><Boundary words="Answer unavailable"><Markdown text={call.answer.text} /></Boundary></div>}
      {call.missed ? <p class="about">{call.missed} messages were missed here; the record has them all.</p> : null}
      {typeof call.result?.decision === "string" ? <p class="decision"><Text>{decisionBeside(call.result.decision, [call.reasoning.text, call.answer.text])}</Text></p> : null}
      {typeof call.result?.error_message === "string" && call.result.error_message ? <p class="problem"><Text>{call.result.error_message}</Text></p> : null}
    </article>
  );
}
