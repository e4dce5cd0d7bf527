// incidents.tsx - alerts and what became of them: the queue, one investigation, its report. SPDX-License-Identifier: Apache-2.0
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import { send, useApi, type Fetched, type SessionDetail } from "../api";
import type { Board } from "../calls";
import { useCell } from "../cell";
import { useDraft } from "../draft";
import { useProblem } from "../reach";
import { count, duration } from "../format";
import { Approval } from "../parts/approval";
import { Badge, Bar, Copy, Disclosure, Empty, Json, Loaded, State, Text, Title, When } from "../parts/basics";
import { CallCard } from "../parts/call";
import { eventGroups } from "../parts/event";
import { Markdown } from "../parts/markdown";
import { NotConfigured } from "../parts/absent";
import { useNarrow } from "../parts/narrow";
import { SessionNumbers, sessionAddress } from "../parts/sessions";
import { Timeline } from "../parts/timeline";
import type { Question } from "../runs";
import { runningNow, useAgreement, useFresh, useSession } from "../watch";

interface Incident {
  alert_id: string;
  session_id: string | null;
  alert_type: string;
  severity: string | null;
  status: string;
  progress: number | null;
  current_step: string | null;
  current_agent: string | null;
  agent?: string | null;
  started_at_us: number | null;
  completed_at_us: number | null;
  duration_ms: number | null;
  resolved_at_us: number | null;
  alert_count: number;
  firing_count: number;
  error: string | null;
}

interface Alert {
  name: string;
  state: "firing" | "resolved";
  severity: string;
  source: string;
  fingerprint: string;
  seen: number;
  starts_at_us: number;
  ended_at_us: number | null;
  last_seen_at_us: number;
  data: unknown;
}

interface Stage {
  name: string;
  status: string;
  agents?: { name: string; status: string; strategy?: string | null }[];
}

interface Pending extends Question {
  stage?: string | null;
  agent?: string | null;
}

interface Message {
  id: string;
  target: string;
  event: string;
  status: string;
  tries: number;
  error: string | null;
  updated_at_us: number;
  next_try_at_us: number | null;
}

interface IncidentDetail extends Incident {
  notifications?: Message[];
  silence_proposal?: unknown;
  pending?: Pending[];
  alert?: unknown;
  alerts?: Alert[];
  runbook?: string | null;
  stages?: Stage[];
  report?: string | null;
  summary?: string | null;
  input_tokens?: number | null;
  output_tokens?: number | null;
  reasoning_tokens?: number | null;
  tools?: string[];
}

const OVER = ["completed", "error", "failed", "cancelled"];

const SEVERE: Record<string, string> = { critical: "bad", error: "bad", high: "bad", warning: "warm" };

function Row({ a }: { a: Incident }) {
  const running = !OVER.includes(a.status);
  return (
    <tr>
      <td class="main">
        <a href={`/incidents/${encodeURIComponent(a.alert_id)}`} data-item><Text>{a.alert_type}</Text></a>
        <span class="under"><Text>{[a.agent ?? a.current_agent, running ? a.current_step : a.error, a.alert_count > 1 ? `${a.alert_count} alerts` : null].filter(Boolean).join(" · ")}</Text></span>
      </td>
      <td><State of={a.status} /></td>
      <td data-label="severity">{a.severity ? <Badge tone={SEVERE[a.severity]}>{a.severity}</Badge> : "–"}</td>
      <td data-label="progress">{running ? <Bar part={(a.progress ?? 0) / 100} label={`${a.progress ?? 0} %`} /> : null}</td>
      <td class="n" data-label="took">{duration(a.duration_ms)}</td>
      <td class="n when"><When us={a.started_at_us} /></td>
    </tr>
  );
}

function Send() {
  const line = `curl ${location.origin}/alerts -H 'content-type: application/json' \\\n  -d '{"alert_type": "kubernetes", "runbook": "RUNBOOK.md", "data": {"namespace": "shop"}}'`;
  return (
    <Empty title="No alert has come in">
      <p>Post one, or point Alertmanager’s webhook at <code>{location.origin}/alerts</code>:</p>
      <pre class="code">{line}</pre>
      <Copy text={line} label="Copy the command" />
    </Empty>
  );
}

export function IncidentsPage() {
  const all = useApi<{ incidents: Incident[] }>("/api/v1/incidents");
  const list = all.data?.incidents ?? [];
  useFresh(all.reload, list.some((a) => !OVER.includes(a.status)));
  const { rows, filters } = useNarrow(list, { label: "Search incidents", text: (a) => [a.alert_type, a.alert_id, a.agent, a.current_agent, a.error, a.severity].join(" "), state: (a) => a.status });
  return (
    <>
      <Title title="Incidents" about="Alerts, who looks into them, and what was found." />
      {all.error?.code === "not_configured" ? <NotConfigured section="incidents" example={"incidents:\n  agents: agents.yaml\n  runbooks: runbooks"} /> : (
        <Loaded of={all}>
          {() => list.length ? (
            <>{filters}<table class="rows">
              <thead><tr><th>Alert</th><th>Status</th><th>Severity</th><th>Progress</th><th class="n">Took</th><th class="n">Received</th></tr></thead>
              <tbody>{rows.map((a) => <Row key={a.alert_id} a={a} />)}</tbody>
            </table></>
          ) : <Send />}
        </Loaded>
      )}
    </>
  );
}

function Stages({ of }: { of: Stage[] }) {
  return (
    <ol class="stages" aria-label="Stages">
      {of.map((s) => (
        <li class="card stage">
          <header><strong><Text>{s.name}</Text></strong><State of={s.status} /></header>
          {(s.agents ?? []).map((a) => <p class="under"><Text>{a.name}</Text>{a.strategy ? <Badge>{a.strategy}</Badge> : null}<State of={a.status} /></p>)}
        </li>
      ))}
    </ol>
  );
}

function Messages({ of }: { of: Message[] }) {
  return (
    <section aria-label="Messages">
      <h2>Messages</h2>
      <table class="rows">
        <thead><tr><th>Target</th><th>Event</th><th>Status</th><th class="n">Tries</th><th class="n">When</th></tr></thead>
        <tbody>{of.map((m) => (
          <tr key={m.id}>
            <td class="main"><Text>{m.target}</Text>{m.error ? <span class="under"><Text>{m.error}</Text></span> : null}</td>
            <td data-label="event">{m.event}</td>
            <td><State of={m.status} /></td>
            <td class="n" data-label="tries">{count(m.tries)}</td>
            <td class="n when"><When us={m.updated_at_us} /></td>
          </tr>
        ))}</tbody>
      </table>
    </section>
  );
}

function Alerts({ of }: { of: Alert[] }) {
  return (
    <section class="card" aria-label="Alerts">
      <h2>Alerts</h2>
      <table class="rows">
        <thead><tr><th>Alert</th><th>State</th><th class="n">Seen</th><th class="n">Began</th><th class="n">Ended</th><th class="n">Last seen</th></tr></thead>
        <tbody>
          {of.map((x) => (
            <tr>
              <td class="main"><Text>{x.name}</Text><span class="under"><Text>{`${x.source} · ${x.fingerprint.slice(0, 16)}`}</Text></span></td>
              <td><Badge tone={x.state === "firing" ? "bad" : undefined}>{x.state}</Badge></td>
              <td class="n" data-label="seen">{x.seen === 1 ? "once" : `${count(x.seen)} times`}</td>
              <td class="n when"><When us={x.starts_at_us} /></td>
              <td class="n when">{x.ended_at_us ? <When us={x.ended_at_us} /> : "–"}</td>
              <td class="n when"><When us={x.last_seen_at_us} /></td>
            </tr>
          ))}
        </tbody>
      </table>
      <Disclosure title="What they say">{() => <Json value={of.map((x) => x.data)} />}</Disclosure>
    </section>
  );
}

type Asked = { questions: { question: string; status: string; answer: string | null; error: string | null }[] };
type Answer = { question: string; answer: string | null; run_id: string; pending: { tool: string } | null };

function Chat({ id }: { id: string }) {
  const earlier = useApi<Asked>(`/api/v1/incidents/${encodeURIComponent(id)}/chat`);
  const [said, setSaid] = useState<{ q: string; a: string }[]>([]);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useProblem();
  const [q, setQ] = useDraft("question");
  const ask = async (e: { preventDefault(): void }) => {
    e.preventDefault();
    const question = q.trim();
    if (!question || busy) return;
    setBusy(true);
    setProblem("");
    await send<Answer>("POST", `/api/v1/incidents/${encodeURIComponent(id)}/chat`, { question }).then(
      (r) => {
        setSaid((s) => [...s, { q: r.question, a: r.answer ?? `A call of ${r.pending?.tool} waits for approval. Approve or deny it in the run ${r.run_id}, then ask the same question again.` }]);
        setQ("");
      },
      (x: Error) => setProblem(`It could not be answered: ${x.message}`));
    setBusy(false);
  };
  return (
    <section class="card" aria-label="Questions about it">
      <h2>Ask about it</h2>
      {(earlier.data?.questions ?? []).map((s) => ({ q: s.question, a: s.answer ?? s.error ?? s.status })).concat(said).map((s) => <div class="talk"><p class="asked"><Text>{s.q}</Text></p><Markdown text={s.a} /></div>)}
      <form class="row" onSubmit={ask}>
        <input class="wide" value={q} placeholder="Why was the memory limit suspected?" aria-label="Question" disabled={busy} onInput={(e) => setQ(e.currentTarget.value)} />
        <button type="submit" class="primary" disabled={busy || !q.trim()}>{busy ? "Asking…" : "Ask"}</button>
      </form>
      {problem ? <p class="problem" role="alert"><Text>{problem}</Text></p> : null}
    </section>
  );
}

function Decided({ detail, board, over }: { detail: Fetched<SessionDetail>; board: Board; over: boolean }) {
  useCell(board.changes);
  const { cards, done } = runningNow(board, detail.data?.chronological_timeline ?? []);
  const groups = useMemo(() => eventGroups(done, null), [done.length, detail.data]);
  const session = detail.data?.session_id;
  return (
    <section aria-label="How it was decided">
      <h2>How it was decided {session ? <a class="more" href={sessionAddress(session)}>the whole session</a> : null}</h2>
      <Timeline groups={groups} label="How it was decided" />
      {cards.map((c) => <CallCard key={c.id} call={c} />)}
      {!over && !done.length && !cards.length ? <p class="quiet">Nothing has been asked yet.</p> : null}
    </section>
  );
}

function Body({ a, reload }: { a: IncidentDetail; reload: () => void }) {
  const over = OVER.includes(a.status);
  const said = useRef("");
  const [told, setTold] = useState("");
  useFresh(reload, !over);
  const detail = useApi<SessionDetail>(a.session_id ? `/api/v1/history/sessions/${encodeURIComponent(a.session_id)}` : null);
  const board = useSession(a.session_id ?? "", detail.reload);
  useAgreement(detail, detail.data, board);
  useEffect(() => {
    if (said.current && said.current !== a.status) {
      announce(`The investigation is ${a.status}.`);
      detail.reload();
    }
    said.current = a.status;
  }, [a.status]);
  const cancel = () => send("POST", `/api/v1/incidents/${encodeURIComponent(a.alert_id)}/cancel`).then(reload, (e: Error) => setTold(e.message));
  return (
    <>
      <p class="facts">
        <State of={a.status} />
        {a.severity ? <Badge tone={SEVERE[a.severity]}>{a.severity}</Badge> : null}
        {a.agent ? <span class="quiet">by <Text>{a.agent}</Text></span> : null}
        {a.runbook ? <span class="quiet">runbook <Text>{a.runbook}</Text></span> : null}
        <When us={a.started_at_us} />
        {a.session_id ? <a href={sessionAddress(a.session_id)}>session</a> : null}
        <code class="id">{a.alert_id}</code><Copy text={a.alert_id} label="Copy id" />
        {over ? null : <button type="button" class="small danger" onClick={() => void cancel()}>Cancel</button>}
      </p>
      {told ? <p class="problem" role="alert"><Text>{told}</Text></p> : null}
      {over ? null : <p class="step" role="status"><Bar part={(a.progress ?? 0) / 100} label={`${a.progress ?? 0} %`} /> <Text>{a.current_step ?? "waiting"}</Text></p>}
      {a.error ? <p class="problem"><Text>{a.error}</Text></p> : null}
      {(a.pending ?? []).map((p) => <Approval key={`${p.run_id} ${p.seq}`} q={p} by={<Text>{[p.stage, p.agent].filter(Boolean).join(" · ")}</Text>} decided={reload} />)}
      {detail.data ? <SessionNumbers s={detail.data} /> : null}
      {a.stages?.length ? <Stages of={a.stages} /> : null}
      {a.summary ? <section class="card"><h2>In short</h2><Markdown text={a.summary} /></section> : null}
      {a.report ? <section class="card report"><div class="heading"><h2>Report</h2><Copy text={a.report} label="Copy Markdown" /></div><Markdown text={a.report} /></section> : null}
      {a.notifications?.length ? <Messages of={a.notifications} /> : null}
      {a.silence_proposal ? <Disclosure title="A proposed silence">{() => <><p class="quiet">Nothing was silenced. Check the matchers, then create it in Alertmanager.</p><Json value={a.silence_proposal} /></>}</Disclosure> : null}
      {a.alerts?.length ? <Alerts of={a.alerts} /> : a.alert ? <Disclosure title="The alert">{() => <Json value={a.alert} />}</Disclosure> : null}
      {a.session_id ? <Decided detail={detail} board={board} over={over} /> : null}
      {over && a.report ? <Chat id={a.alert_id} /> : null}
    </>
  );
}

export function IncidentPage({ id }: { id: string }) {
  const one = useApi<IncidentDetail>(`/api/v1/incidents/${encodeURIComponent(id)}`);
  return (
    <>
      <p class="crumbs"><a href="/incidents">Incidents</a></p>
      <Title title={one.data?.alert_type ?? id} />
      <Loaded of={one}>{(a) => <Body a={a} reload={one.reload} />}</Loaded>
    </>
  );
}
