// run.tsx - a run of an agent: what it was asked, its steps as they come, what it waits for, its
// answer. SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { send, useApi, type ApiError } from "../api";
import { announce } from "../announce";
import { useCell } from "../cell";
import { count, duration, money, plural } from "../format";
import { errorWords } from "../labels";
import { partTitle, reasonWords, toolName, useRun, type ErrorStep, type ModelStep, type Part, type RunLog, type RunResult, type Step, type ToolStep } from "../runs";
import { go, usePlace } from "../route";
import { useSession } from "../watch";
import { Approval } from "./approval";
import { Approved } from "./approved";
import { Badge, Boundary, Copy, Disclosure, Figure, Json, Problem, State, Text, When } from "./basics";
import { CallCard } from "./call";
import { Markdown } from "./markdown";
import { compareAddress } from "./picked";
import { ReasoningDisplay } from "./reasoning";
import { sessionAddress } from "./sessions";
import { Timeline, type Group, type Item } from "./timeline";

const OVER = ["done", "stopped", "failed", "cancelled"];

export function isOver(status: string): boolean {
  return OVER.includes(status);
}

function size(v: unknown): number {
  return (typeof v === "string" ? v : (JSON.stringify(v) ?? "")).length;
}

// ---- steps ----

function OnRecord({ session, entry, what }: { session: string; entry: string; what: string }) {
  return session && entry ? <a class="anchor" href={sessionAddress(session, entry)}>{what}</a> : null;
}

function ModelView({ s, session, answer }: { s: ModelStep; session: string; answer: string }) {
  const reasoning = s.tokens?.reasoning ?? 0;
  const is = s.text !== "" && s.text === answer && !s.calls.length;
  return (
    <>
      <header>
        <span class="kind">model</span>
        <strong class="name"><Text>{s.model}</Text></strong>
        <span class="spring" />
        <span class="numbers quiet">{[s.tokens ? `${count(s.tokens.input)} in · ${count(s.tokens.output)} out` : "", s.ms === null ? "" : duration(s.ms)].filter(Boolean).join(" · ")}</span>
        <OnRecord session={session} entry={s.call} what="call" />
      </header>
      {s.reasoning || reasoning > 0 ? <ReasoningDisplay id={s.call} of={{ text: s.reasoning || null, has: true, tokens: reasoning || null }} /> : null}
      {s.text && !is ? <div class="said-beside"><Boundary words="Text unavailable"><Markdown text={s.text} /></Boundary></div> : null}
      {is ? <p class="about">Gave the answer below.</p> : null}
      {s.calls.length ? <p class="about">asks for {s.calls.map((c) => <code><Text>{toolName(c)}</Text></code>)}</p> : null}
    </>
  );
}

function Waits({ s, run }: { s: ToolStep; run: string }) {
  const line = `curl ${location.origin}/api/v1/runs/${encodeURIComponent(run)}/tool_results \\\n  -d '{"call_id": "${s.id}", "result": "..."}'`;
  return (
    <div class="caller">
      <p>The program that started the run carries this call out and posts its result with the call id <code><Text>{s.id}</Text></code> <Copy text={s.id} label="Copy call id" /></p>
      <Disclosure title="How to post it">{() => <><pre class="code">{line}</pre><Copy text={line} label="Copy the command" /></>}</Disclosure>
    </div>
  );
}

function toolState(s: ToolStep, over: boolean): [string, string] {
  if (s.done) return s.ok ? ["good", "done"] : ["bad", "failed"];
  if (over) return ["warm", "no result"];
  return s.client ? ["warm", "waits for the caller"] : ["busy", "running"];
}

function ToolView({ s, part, session, over }: { s: ToolStep; part: Part; session: string; over: boolean }) {
  const [tone, words] = toolState(s, over);
  const empty = s.arguments == null || size(s.arguments) <= 2;
  return (
    <>
      <header>
        <span class="kind">tool</span>
        <strong class="name"><Text>{toolName(s.tool)}</Text></strong>
        {s.client ? <Badge>of the caller</Badge> : null}
        <span class={`status ${tone}`} role={s.done ? undefined : "status"}><i aria-hidden="true" />{words}</span>
        <span class="spring" />
        <span class="numbers quiet">{s.ms === null ? "" : duration(s.ms)}</span>
        {s.done ? <OnRecord session={session} entry={s.id} what="entry" /> : null}
      </header>
      {empty ? null : <Json value={s.arguments} />}
      {s.client && !s.done && !over ? <Waits s={s} run={part.run} /> : null}
      {s.done && s.result !== null && s.result !== "" ? <Disclosure title={s.ok ? "Result" : "Error"} note={plural(size(s.result), "letter")} open={size(s.result) < 600}>{() => <Json value={s.result} />}</Disclosure> : null}
    </>
  );
}

interface Failed {
  status?: number;
  code?: string;
  message?: unknown;
  error?: { message?: unknown };
}

function messageOf(e: unknown): string {
  const o = e as Failed | null;
  const found = typeof e === "string" ? e : (o?.message ?? o?.error?.message);
  return typeof found === "string" ? found : (JSON.stringify(e) ?? "the model could not be asked");
}

function ErrorView({ s }: { s: ErrorStep }) {
  const { status, code } = (s.error ?? {}) as Failed;
  return (
    <>
      <header><span class="kind">model</span><Badge tone="bad">failed</Badge></header>
      <p class="problem">{status || code ? <><strong><Text>{errorWords(code, status)}</Text></strong>: </> : null}<Text>{messageOf(s.error)}</Text></p>
    </>
  );
}

interface StepOf {
  s: Step;
  part: Part;
  session: string;
  answer: string;
  over: boolean;
}

function isBad(s: Step): boolean {
  return s.kind === "error" || (s.kind === "tool" && !s.ok);
}

// Its entry in the session has the same id.
function stepId(s: Step): string {
  return (s.kind === "model" ? s.call : s.kind === "tool" ? s.id : "") || `${s.kind} ${s.seq}`;
}

function StepBody({ s, part, session, answer, over }: StepOf) {
  return (
    <Boundary words="This step could not be shown">
      {s.kind === "model" ? <ModelView s={s} session={session} answer={answer} />
        : s.kind === "tool" ? <ToolView s={s} part={part} session={session} over={over} />
        : s.kind === "approval" ? <Approved q={s.question} decided={s.decided} over={over} /> : <ErrorView s={s} />}
    </Boundary>
  );
}

function StepCard(of: StepOf & { hash: string }) {
  const id = stepId(of.s);
  return (
    <li id={id} class={`event ${of.s.kind} ${isBad(of.s) ? "bad" : ""} ${id === of.hash ? "marked" : ""}`} tabIndex={-1} data-item data-seq={of.s.seq}>
      <StepBody {...of} />
    </li>
  );
}

// ---- a long run ----

const SHORT_MAX = 40; // steps that are shown one below the other, in full

function stepItem(of: StepOf): Item {
  const { s } = of;
  const timed = s.kind === "model" || s.kind === "tool";
  const from = timed ? s.from || of.part.created : of.part.created;
  const args = s.kind === "tool" ? (typeof s.arguments === "string" ? s.arguments : JSON.stringify(s.arguments)) : "";
  return {
    key: stepId(s), kind: s.kind, tool: s.kind === "tool", calls: Number(s.kind === "tool"), bad: isBad(s), cut: false, from, to: from + (timed ? (s.ms ?? 0) * 1000 : 0), thought: null,
    name: s.kind === "model" ? s.model : s.kind === "tool" ? toolName(s.tool) : s.kind === "approval" ? toolName(s.question.tool) : "error",
    head: s.kind === "model" ? (s.calls.length ? `→ ${s.calls.map(toolName).join(", ")}` : "answers") : s.kind === "tool" ? toolName(s.tool) : s.kind === "approval" ? `approve ${toolName(s.question.tool)}` : "error",
    line: (s.kind === "model" ? s.reasoning || s.text : args ?? "").replace(/\s+/g, " ").slice(0, 200),
    numbers: [s.kind === "model" && s.tokens ? `${count(s.tokens.input)} in · ${count(s.tokens.output)} out` : "", timed && s.ms !== null ? duration(s.ms) : ""].filter(Boolean).join(" · "),
    card: () => <StepBody {...of} />,
  };
}

function LongRun({ log, answer, hash }: { log: RunLog; answer: string; hash: string }) {
  const groups: Group[] = log.parts.filter((p) => p.steps.length).map((part) => ({
    key: `part ${part.run}`, title: part.name ? partTitle(part.name) : "The run itself",
    items: part.steps.map((s) => stepItem({ s, part, session: log.session, answer, over: part.ended !== null || log.state === "ended" })),
  }));
  return <Timeline groups={groups} hash={hash} label="Steps" />;
}

function PartView({ part, log, answer, hash }: { part: Part; log: RunLog; answer: string; hash: string }) {
  const over = part.ended !== null || log.state === "ended";
  if (!part.steps.length && !part.name) return null;
  return (
    <section class={part.name ? "part" : ""} aria-label={part.name ? partTitle(part.name) : "Steps"}>
      {part.name ? <h3><Text>{partTitle(part.name)}</Text> {part.ended ? <State of={part.ended.status} /> : <State of={log.state === "waiting" ? "waiting" : "running"} />}</h3> : null}
      <ol class="timeline">{part.steps.map((s) => <StepCard key={`${s.kind} ${s.seq}`} s={s} part={part} session={log.session} answer={answer} over={over} hash={hash} />)}</ol>
    </section>
  );
}

// ---- the whole ----

// Model calls that run now, word by word. The steps have them once they have ended.
function Thinking({ log }: { log: RunLog }) {
  const board = useSession(log.session, () => undefined);
  useCell(board.changes);
  const known = log.known;
  if (log.state === "ended") return null;
  return <>{[...board.calls].reverse().filter((c) => !known.has(c.id)).map((c) => <CallCard key={c.id} call={c} />)}</>;
}

function Cancel({ id, after }: { id: string; after: () => void }) {
  const [sent, setSent] = useState(false);
  const [problem, setProblem] = useState("");
  const cancel = () => {
    setSent(true);
    setProblem("");
    send("POST", `/api/v1/runs/${encodeURIComponent(id)}/cancel`).then(after, (e: Error) => {
      setSent(false);
      setProblem(e.message);
    });
  };
  return (
    <>
      <button type="button" class="small danger" disabled={sent} onClick={cancel}>{sent ? "Cancelling…" : "Cancel"}</button>
      {problem ? <span class="problem" role="alert"><Text>{problem}</Text></span> : null}
    </>
  );
}

function Answer({ r }: { r: RunResult }) {
  const output = r.output !== null && r.output !== undefined;
  if (!r.text && !output) return null;
  return (
    <section class="card answer-card" aria-label="Answer">
      <div class="heading"><h2>Answer</h2><Copy text={output ? JSON.stringify(r.output, null, 2) : r.text} label="Copy answer" /></div>
      {output ? <Json value={r.output} /> : <Boundary words="Answer unavailable"><Markdown text={r.text} /></Boundary>}
    </section>
  );
}

function Numbers({ r }: { r: RunResult }) {
  return (
    <dl class="figures">
      <Figure label="Model calls" value={count(r.usage.model_calls)} />
      <Figure label="Tool calls" value={count(r.usage.tool_calls)} />
      <Figure label="Took" value={duration((r.updated_at_us - r.created_at_us) / 1000)} />
      <Figure label="Tokens" value={`${count(r.usage.input_tokens)} in`} note={`${count(r.usage.output_tokens)} out`} />
      <Figure label="Thought" value={count(r.usage.reasoning_tokens)} note="tokens" />
      <Figure label="Cost" value={money(r.usage.cost_usd)} />
    </dl>
  );
}

function Facts({ r, log, look }: { r: RunResult; log: RunLog; look: () => void }) {
  const over = log.state === "ended";
  const status = over || log.state === "waiting" ? (log.root.ended?.status ?? log.state) : "running";
  return (
    <p class="facts">
      <State of={status} />
      {r.agent ? <a href={`/agents/${encodeURIComponent(r.agent)}`}>{r.agent}</a> : <a href={`/workflows/${encodeURIComponent(r.workflow ?? "")}`}>{r.workflow}</a>}
      {r.thread ? <span class="quiet">thread <Text>{r.thread}</Text></span> : null}
      <When us={r.created_at_us} />
      <a href={sessionAddress(r.session_id)}>session</a>
      <a href={compareAddress("run", "", r.run_id)}>compare</a>
      <code class="id">{r.run_id}</code><Copy text={r.run_id} label="Copy id" />
      {over ? null : <Cancel id={r.run_id} after={look} />}
    </p>
  );
}

// A run that no agent has may be an application's, which is shown on a page of that application. Its id may have
// slashes: the id of an order's run contains that of its thread.
function Elsewhere({ id, error }: { id: string; error: ApiError }) {
  const run = useApi<{ app: string; session_id: string }>(`/api/v1/runs/${encodeURIComponent(id)}`).data;
  useEffect(() => {
    if (!run) return;
    const app = run.app.split(".")[0] ?? "";
    const one = { incidents: id.split("/")[0], orders: run.session_id }[app];
    go(one === undefined ? sessionAddress(run.session_id) : `/${app}/${encodeURIComponent(one)}`, true);
  }, [run]);
  return <Problem error={error} />;
}

export function RunView({ id, whole = id, changed }: { id: string; whole?: string; changed?: () => void }) {
  const { log, error, look } = useRun(id);
  useCell(log.changes);
  const result = useApi<RunResult>(log.session ? `/api/v1/runs/${encodeURIComponent(id)}/result` : null);
  const state = log.state;
  useEffect(() => {
    if (!log.session) return;
    result.reload();
    changed?.();
  }, [state, log.session]);
  const r = result.data;
  const { hash } = usePlace();
  useEffect(() => {
    const target = hash ? document.getElementById(hash) : null;
    target?.scrollIntoView({ block: "start" });
    target?.focus({ preventScroll: true });
  }, [hash, r !== null, state]);
  useEffect(() => {
    if (r) announce(`The run is ${state === "ended" ? "over" : state}.`);
  }, [state]);
  const ended = state === "ended" && r && isOver(r.status) ? r : null;
  const reason = ended ? reasonWords(ended.reason) : state === "waiting" ? reasonWords(r?.reason ?? "") : "";
  if (error && !log.session) return error.status === 404 ? <Elsewhere id={whole} error={error} /> : <Problem error={error} />;
  if (!r) return result.error ? <Problem error={result.error} retry={result.reload} /> : <p class="loading" role="status">Loading…</p>;
  return (
    <article class="run" data-run={id} data-state={state} aria-busy={state === "running"} aria-label="Run">
      <Facts r={r} log={log} look={look} />
      {error ? <p class="quiet" role="status">The connection was lost: <Text>{error.message}</Text> It is tried again.</p> : null}
      <p class="asked"><Text>{r.input}</Text></p>
      {log.parts.reduce((n, p) => n + p.steps.length, 0) > SHORT_MAX
        ? <LongRun log={log} answer={ended?.text ?? ""} hash={hash} />
        : log.parts.map((p) => <PartView key={p.run} part={p} log={log} answer={ended?.text ?? ""} hash={hash} />)}
      {log.session ? <Thinking log={log} /> : null}
      {log.questions.map((q) => <Approval key={`${q.run_id} ${q.seq}`} q={q} by={q.run_id === id ? null : <Text>{partTitle(q.run_id.slice(id.length + 1))}</Text>} decided={look} />)}
      {reason ? <p class={`because ${ended?.status === "failed" ? "problem" : ""}`} role="status">{ended?.detail && ended.status !== "cancelled" ? <>{reason.replace(/\.$/, ": ")}<Text>{ended.detail}</Text></> : reason}</p> : null}
      {ended ? <><Answer r={ended} /><Numbers r={ended} /></> : null}
    </article>
  );
}
