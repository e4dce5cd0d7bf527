// agents.tsx - agents and workflows of the configuration: what each is, a box to try it, its runs.
// SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useState } from "preact/hooks";
import { send, useApi } from "../api";
import { useDraft } from "../draft";
import { useProblem } from "../reach";
import { count, duration, money, plural, short } from "../format";
import { Approval } from "../parts/approval";
import { Badge, Copy, Disclosure, Empty, Json, Loaded, State, Text, Title, When } from "../parts/basics";
import { isOver, RunView } from "../parts/run";
import { useNarrow } from "../parts/narrow";
import { CompareBar, Pick, usePicked, type Picked } from "../parts/picked";
import { go, usePlace, withQuery } from "../route";
import type { Question, RunResult } from "../runs";
import { useFresh } from "../watch";

interface Agent {
  name: string;
  description: string;
  model: string;
  level: string;
  strategy: string;
  tools: string[];
  approve: string[];
  handoff: string[];
  output: unknown;
  limits: { steps: number; tokens: number; usd: number; time_ms: number };
  guard: { input: string | null; output: string | null };
}

interface Workflow {
  name: string;
  stages: { agents: string[]; parallel: boolean; success: string }[];
}

const EXAMPLE = `agents:
  librarian:
    model: MODEL
    prompt: You keep a library. Answer in one sentence.
    tools: [library]
    approve: [library.lend]
tools:
  library: {mcp: {command: python3, args: [library.py]}}`;

// ---- what is defined ----

function agentAddress(name: string): string {
  return `/agents/${encodeURIComponent(name)}`;
}

function Names({ of, link }: { of: string[]; link?: boolean }) {
  return <>{of.map((n) => (link ? <a href={agentAddress(n)}><Text>{n}</Text></a> : <code><Text>{n}</Text></code>))}</>;
}

function limits(l: Agent["limits"]): string {
  const said = [`${count(l.steps)} steps`];
  if (l.tokens > 0) said.push(`${count(l.tokens)} tokens`);
  if (l.usd > 0) said.push(money(l.usd));
  if (l.time_ms > 0) said.push(l.time_ms % 60_000 ? duration(l.time_ms) : `${count(l.time_ms / 60_000)} min`);
  return said.join(" · ");
}

function Guards({ of, agents }: { of: Agent["guard"]; agents: string[] }) {
  return (
    <>
      {(["input", "output"] as const).map((k) => of[k] ? <span>{k}: {agents.includes(of[k]) ? <a href={agentAddress(of[k])}><Text>{of[k]}</Text></a> : <code><Text>{of[k]}</Text></code>}</span> : null)}
    </>
  );
}

function Definition({ a, agents }: { a: Agent; agents: string[] }) {
  const rows: [string, ComponentChildren][] = [["Model", <><code><Text>{a.model}</Text></code>{a.level ? <Badge title="How much it thinks">{a.level}</Badge> : null}</>], ["Strategy", a.strategy], ["Limits", limits(a.limits)]];
  rows.push(["Tools", a.tools.length ? <Names of={a.tools} /> : "none"]);
  if (a.approve.length) rows.push(["Asks a person before", <Names of={a.approve} />]);
  if (a.handoff.length) rows.push(["May hand over to", <Names of={a.handoff} link />]);
  if (a.guard.input || a.guard.output) rows.push(["Guards", <Guards of={a.guard} agents={agents} />]);
  return <dl class="definition">{rows.map(([k, v]) => <div><dt>{k}</dt><dd>{v}</dd></div>)}</dl>;
}

function Stages({ of }: { of: Workflow["stages"] }) {
  return (
    <ol class="flow" aria-label="Stages">
      {of.map((s, i) => (
        <li><span class="quiet">{i + 1}</span><Names of={s.agents} link />
          {s.agents.length > 1 ? <span class="quiet">{s.parallel ? "at once" : "one after the other"}, {s.success === "all" ? "all must succeed" : "one must succeed"}</span> : null}
        </li>
      ))}
    </ol>
  );
}

function NoAgents() {
  return (
    <Empty title="No agent is defined">
      <p>An agent is a few lines in the configuration: a model, a prompt, and the tools it may call.</p>
      <pre class="code">{EXAMPLE}</pre>
      <Copy text={EXAMPLE} label="Copy the example" />
      <p>Put them into the configuration, check it with <code>rationale config check rationale.yaml</code>, and start the gateway again or send it SIGHUP.</p>
    </Empty>
  );
}

// ---- what waits ----

interface WaitingRun {
  run_id: string;
  app: string;
  pending: (Question & { kind: string }) | null;
}

function RunLink({ id }: { id: string }) {
  const root = id.split("/")[0] ?? id;
  return <a href={`/runs/${encodeURIComponent(root)}`}>run {root.slice(-8)}</a>;
}

function Waiting() {
  const all = useApi<{ runs: WaitingRun[] }>("/api/v1/runs?status=waiting");
  const rows = (all.data?.runs ?? []).filter((r) => r.app.split(".")[0] === "agents" && r.pending);
  useFresh(all.reload, rows.length > 0);
  const questions = rows.filter((r) => r.pending?.kind !== "client");
  const calls = rows.filter((r) => r.pending?.kind === "client");
  if (!rows.length) return null;
  return (
    <section class="stack" aria-label="Waiting">
      {questions.length ? <h2>Waiting for you</h2> : null}
      {questions.map((r) => r.pending ? (
        <Approval key={`${r.run_id} ${r.pending.seq}`} q={r.pending} by={<>asked by <RunLink id={r.run_id} /></>} decided={all.reload} />
      ) : null)}
      {calls.length ? <p class="quiet row">Waiting for tools of their callers: {calls.map((r) => <RunLink id={r.run_id} />)}</p> : null}
    </section>
  );
}

export function AgentsPage() {
  const agents = useApi<{ agents: Agent[] }>("/api/v1/agents");
  const flows = useApi<{ workflows: Workflow[] }>("/api/v1/workflows").data?.workflows ?? [];
  return (
    <>
      <Title title="Agents" about="Models with tools: what is defined, what each has done, and what waits for you." />
      <Loaded of={agents}>
        {({ agents: list }) => list.length ? (
          <>
            <Waiting />
            <ul class="defined">
              {list.map((a) => (
                <li class="card" key={a.name}>
                  <h2><a href={agentAddress(a.name)} data-item><Text>{a.name}</Text></a></h2>
                  {a.description ? <p class="quiet"><Text>{a.description}</Text></p> : null}
                  <Definition a={a} agents={list.map((x) => x.name)} />
                </li>
              ))}
            </ul>
            {flows.length ? <h2>Workflows</h2> : null}
            <ul class="defined">
              {flows.map((w) => (
                <li class="card" key={w.name}>
                  <h3><a href={`/workflows/${encodeURIComponent(w.name)}`} data-item><Text>{w.name}</Text></a></h3>
                  <Stages of={w.stages} />
                </li>
              ))}
            </ul>
          </>
        ) : <NoAgents />}
      </Loaded>
    </>
  );
}

// ---- one of them ----

// POST /api/v1/agents/NAME or /api/v1/workflows/NAME, at `path`.
function Try({ path, name }: { path: string; name: string }) {
  const { query } = usePlace();
  const [input, setInput] = useDraft("input");
  const [thread, setThread] = useState(query.get("thread") ?? "");
  const [problem, setProblem] = useProblem();
  const [busy, setBusy] = useState(false);
  const start = async (e: { preventDefault(): void }) => {
    e.preventDefault();
    if (!input.trim() || busy) return;
    setBusy(true);
    setProblem("");
    try {
      const body = { input: input.trim(), background: true, ...(thread.trim() && { thread: thread.trim() }) };
      const { run_id } = await send<{ run_id: string }>("POST", `${path}/runs`, body);
      setInput("");
      go(withQuery({ run: run_id, thread: thread.trim() }));
    } catch (err) {
      setProblem((err as Error).message);
    }
    setBusy(false);
  };
  return (
    <form class="card ask" onSubmit={start} aria-label={`Try ${name}`}>
      <label for="input">Try it</label>
      <textarea id="input" rows={2} placeholder="What is it to do?" value={input} onInput={(e) => setInput(e.currentTarget.value)}
        onKeyDown={(e) => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing) void start(e); }} />
      <div class="row">
        <label class="field"><span>Thread</span><input placeholder="a new conversation" value={thread} maxLength={200} spellcheck={false} onInput={(e) => setThread(e.currentTarget.value)} /></label>
        <span class="spring" />
        <button type="submit" class="primary" disabled={busy || !input.trim()}>{busy ? "Starting…" : "Run"}</button>
      </div>
      {problem ? <p class="problem" role="alert"><Text>{problem}</Text></p> : null}
    </form>
  );
}

function Row({ r, picked }: { r: RunResult; picked: Picked }) {
  const u = r.usage;
  return (
    <tr>
      <td class="pick-cell"><Pick picked={picked} id={r.run_id} name={r.input || r.run_id} /></td>
      <td class="main">
        <a href={`/runs/${encodeURIComponent(r.run_id)}`} data-item><Text>{r.input || r.run_id}</Text></a>
        <span class="under"><Text>{[r.thread, isOver(r.status) ? r.text : ""].filter(Boolean).join(" · ")}</Text></span>
      </td>
      <td><State of={r.status} /></td>
      <td class="n" data-label="calls">{count(u.model_calls)}{u.tool_calls ? <small> + {plural(u.tool_calls, "tool call")}</small> : null}</td>
      <td class="n" data-label="tokens">{short(u.input_tokens + u.output_tokens)}</td>
      <td class="n" data-label="cost">{money(u.cost_usd)}</td>
      <td class="n" data-label="took">{isOver(r.status) ? duration((r.updated_at_us - r.created_at_us) / 1000) : "–"}</td>
      <td class="n when"><When us={r.created_at_us} /></td>
    </tr>
  );
}

const PAGE = 20;

// gone: the configuration does not have it any more.
function Runs({ path, name, turn, gone }: { path: string; name: string; turn: number; gone?: boolean }) {
  const [size, setSize] = useState(PAGE);
  const all = useApi<{ runs: RunResult[] }>(`${path}/runs?limit=${size}`);
  const runs = all.data?.runs ?? [];
  const { rows, filters } = useNarrow(runs, { label: "Search runs", text: (r) => [r.input, r.run_id, r.thread, r.text].join(" "), state: (r) => r.status });
  const picked = usePicked();
  const [seen, setSeen] = useState(turn);
  if (seen !== turn) {
    setSeen(turn);
    all.reload();
  }
  useFresh(all.reload, runs.some((r) => r.status === "running"));
  return (
    <section aria-label="Runs">
      <h2>Runs</h2>
      <Loaded of={all}>
        {() => runs.length ? (
          <>{filters}<CompareBar kind="run" picked={picked} /><table class="rows runs">
            <thead><tr><th><span class="unseen">Compare</span></th><th>Asked</th><th>Status</th><th class="n">Calls</th><th class="n">Tokens</th><th class="n">Cost</th><th class="n">Took</th><th class="n">Started</th></tr></thead>
            <tbody>{rows.map((r) => <Row key={r.run_id} r={r} picked={picked} />)}</tbody>
          </table></>
        ) : gone ? <p class="quiet">No run of it is on record.</p> : <Empty title="It has not run yet"><p>Try it above, or from a terminal with <code>rationale run {name} "…"</code>.</p></Empty>}
      </Loaded>
      {runs.length === size && size < 100 ? <p class="pager"><button type="button" class="small" onClick={() => setSize(100)}>Show more</button></p> : null}
    </section>
  );
}

function Tried({ path, name, children }: { path: string; name: string; children: ComponentChildren }) {
  const { query } = usePlace();
  const [turn, setTurn] = useState(0);
  const run = query.get("run");
  return (
    <>
      {children}
      <Try path={path} name={name} />
      {run ? <RunView key={run} id={run} changed={() => setTurn((n) => n + 1)} /> : null}
      <Runs path={path} name={name} turn={turn} />
    </>
  );
}

function About({ a, agents }: { a: Agent; agents: string[] }) {
  return (
    <section class="card" aria-label="Definition">
      <Definition a={a} agents={agents} />
      {a.output !== null ? <Disclosure title="Schema of its answer">{() => <Json value={a.output} />}</Disclosure> : null}
      <p class="under">Every client can use it as the model <code>agent/{a.name}</code> <Copy text={`agent/${a.name}`} label="Copy name" /></p>
    </section>
  );
}

export function AgentPage({ id }: { id: string }) {
  const all = useApi<{ agents: Agent[] }>("/api/v1/agents");
  const list = all.data?.agents ?? [];
  const a = list.find((x) => x.name === id);
  const path = `/api/v1/agents/${encodeURIComponent(id)}`;
  return (
    <>
      <p class="crumbs"><a href="/agents">Agents</a></p>
      <Title title={id} about={a?.description} />
      <Loaded of={all}>
        {() => a ? <Tried path={path} name={id}><About a={a} agents={list.map((x) => x.name)} /></Tried> : (
          <>
            <Empty title="The configuration does not have this agent"><p>It may have been renamed or taken out. <a href="/agents">All agents</a></p></Empty>
            <Runs path={path} name={id} turn={0} gone />
          </>
        )}
      </Loaded>
    </>
  );
}

export function WorkflowPage({ id }: { id: string }) {
  const all = useApi<{ workflows: Workflow[] }>("/api/v1/workflows");
  const w = all.data?.workflows.find((x) => x.name === id);
  const path = `/api/v1/workflows/${encodeURIComponent(id)}`;
  return (
    <>
      <p class="crumbs"><a href="/agents">Agents</a></p>
      <Title title={id} about="A workflow: its stages run one after the other." />
      <Loaded of={all}>
        {() => w ? <Tried path={path} name={id}><section class="card" aria-label="Definition"><Stages of={w.stages} /></section></Tried>
          : <Empty title="The configuration does not have this workflow"><p><a href="/agents">All agents and workflows</a></p></Empty>}
      </Loaded>
    </>
  );
}
