// session.tsx - one session: its calls and its tools in the order they ran. SPDX-License-Identifier: Apache-2.0
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import { send, useApi, type SessionDetail } from "../api";
import type { Board } from "../calls";
import { useCell } from "../cell";
import { fullTime, plural } from "../format";
import { withApprovals } from "../parts/approved";
import { Badge, Copy, Disclosure, Json, Loaded, State, Status, Text, Title } from "../parts/basics";
import { CallCard } from "../parts/call";
import { eventGroups } from "../parts/event";
import { Markdown } from "../parts/markdown";
import { compareAddress } from "../parts/picked";
import { expandAlways } from "../parts/reasoning";
import { GivenParts, StartedBy, TouchedParts, useGiven } from "../parts/request";
import { SessionNumbers } from "../parts/sessions";
import { Timeline } from "../parts/timeline";
import { go, usePlace } from "../route";
import { runningNow, useAgreement, useSession } from "../watch";
import { neighbours } from "./sessions";

// The prompt that an application used, and its other metadata.
function metadataOf(s: SessionDetail): { prompt: string; other: unknown } {
  const { prompt_id, ...other } = (s.session_metadata ?? {}) as { prompt_id?: unknown };
  return typeof prompt_id === "string" ? { prompt: prompt_id, other } : { prompt: "", other: s.session_metadata };
}

function isEmpty(v: unknown): boolean {
  return v == null || v === "" || (typeof v === "object" && Object.keys(v).length === 0);
}

function Erase({ id }: { id: string }) {
  const dialog = useRef<HTMLDialogElement>(null);
  const [told, setTold] = useState("");
  const erase = async () => {
    try {
      const receipt = await send<{ receipt_id: string }>("DELETE", `/api/v1/history/sessions/${encodeURIComponent(id)}`);
      setTold(`Erased. Receipt ${receipt.receipt_id}`);
      setTimeout(() => go("/sessions"), 1500);
    } catch (e) {
      setTold((e as Error).message);
    }
  };
  return (
    <>
      <button type="button" class="small" onClick={() => dialog.current?.showModal()}>Erase</button>
      <dialog ref={dialog} class="dialog" aria-labelledby="erase-title">
        <h2 id="erase-title">Erase this session?</h2>
        <p>Its calls, tools and decisions are taken out of the history for good. That it was done stays in the audit log.</p>
        {told ? <p role="status"><Text>{told}</Text></p> : null}
        <div class="actions">
          <button type="button" onClick={() => dialog.current?.close()}>Keep it</button>
          <button type="button" class="danger" onClick={erase}>Erase</button>
        </div>
      </dialog>
    </>
  );
}

// Links to the sessions before and after in the list that the reader came from.
function Steps({ of }: { of: string }) {
  const { before, after } = neighbours(of);
  const step = (id: string | null) => id && go(`/sessions/${encodeURIComponent(id)}`);
  if (!before && !after) return null;
  return (
    <span class="steps">
      <button type="button" class="small" disabled={!before} data-prev aria-label="The session before in the list" onClick={() => step(before)}>[</button>
      <button type="button" class="small" disabled={!after} data-next aria-label="The next session in the list" onClick={() => step(after)}>]</button>
    </span>
  );
}

function Actions({ s }: { s: SessionDetail }) {
  const path = `/api/v1/history/sessions/${encodeURIComponent(s.session_id)}/export`;
  const always = useCell(expandAlways) === "yes";
  return (
    <>
      <button type="button" class="small" aria-pressed={always} data-expand onClick={() => (expandAlways.value = always ? "no" : "yes")}>{always ? "Fold reasoning" : "Unfold reasoning"}</button>
      <a class="button small" href={compareAddress("session", "", s.session_id)}>Compare</a>
      {["json", "csv", "otlp"].map((f) => <a class="button small" download href={`${path}?format=${f}`} aria-label={`Export as ${f.toUpperCase()}`}>{f.toUpperCase()}</a>)}
      <Erase id={s.session_id} />
    </>
  );
}

interface RunRow {
  run_id: string;
  app: string;
  status: string;
}

// The runs of agents whose calls these are.
function Runs({ runs }: { runs: RunRow[] }) {
  if (!runs.length) return null;
  return <p class="facts" aria-label="Runs"><span class="quiet">{runs.length === 1 ? "Run" : "Runs"}</span>{runs.map((r) => <span><a href={`/runs/${encodeURIComponent(r.run_id)}`}>{r.run_id}</a> <State of={r.status} /></span>)}</p>;
}

// Announces changes of the status to screen readers.
function useSaid(s: SessionDetail): void {
  const was = useRef({ id: "", status: "", calls: 0 });
  useEffect(() => {
    const before = was.current;
    was.current = { id: s.session_id, status: s.status, calls: s.llm_interaction_count };
    if (before.id !== s.session_id) return;
    if (before.status !== s.status) announce(`The session is ${s.status.replace("_", " ")}.`);
    else if (before.calls !== s.llm_interaction_count) announce(`${plural(s.llm_interaction_count, "model call")} so far.`, 3000);
  }, [s]);
}

function Body({ s, board, hash }: { s: SessionDetail; board: Board; hash: string }) {
  useCell(board.changes);
  useSaid(s);
  const { cards, done: events } = runningNow(board, s.chronological_timeline ?? []);
  const model = events.filter((e) => e.type === "llm_interaction");
  const client = s.agent_type === "gateway";
  const given = useGiven(client && model.length > 1 ? (model[0]?.event_id ?? null) : null);
  const all = useApi<{ runs: RunRow[] }>(client ? null : `/api/v1/runs?session=${encodeURIComponent(s.session_id)}`).data?.runs ?? [];
  const runs = all.filter((r) => r.app === "agents").reverse();
  const { prompt, other } = metadataOf(s);
  const run = runs.length === 1 ? runs[0]?.run_id : undefined;
  const groups = useMemo(() => {
    const link = (id: string, entry = "") => <a class="anchor" href={`/runs/${encodeURIComponent(id)}${entry && `#${encodeURIComponent(entry)}`}`}>run</a>;
    const over = ["completed", "failed"].includes(s.status);
    return withApprovals(eventGroups(events, given, run ? (e) => link(run, e.event_id) : undefined), s.approvals ?? [], over,
      (id) => runs.some((r) => r.run_id === id) ? link(id) : null);
  }, [events.length, s, given, run]);
  // While a call streams, the page is drawn in each frame: these parts only when the record changes.
  const parts = useMemo(() => <TouchedParts events={events} />, [events.length, s]);
  const timeline = useMemo(() => <Timeline groups={groups} hash={hash} />, [groups, hash]);
  return (
    <>
      <p class="facts">
        <Status of={s.status} />
        {s.model ? <Badge>{s.model}</Badge> : null}
        {prompt ? <span class="quiet">prompt <a href={compareAddress("prompt", "", prompt)}>{prompt}</a></span> : null}
        {s.key_name ? <span class="quiet">key {s.key_name}</span> : null}
        {s.subject ? <span class="quiet">for <Text>{s.subject}</Text></span> : null}
        <span class="quiet">{fullTime(s.started_at_us)}</span>
        {s.alert_id ? <a href={`/incidents/${encodeURIComponent(s.alert_id)}`}>incident</a> : null}
        <code class="id">{s.session_id}</code><Copy text={s.session_id} label="Copy id" />
      </p>
      <Runs runs={runs} />
      <StartedBy s={s} />
      {s.error_message ? <p class="problem"><Text>{s.error_message}</Text></p> : null}
      <SessionNumbers s={s} />
      {!isEmpty(s.alert_data) ? <Disclosure title="What it was given">{() => <Json value={s.alert_data} />}</Disclosure> : null}
      {!isEmpty(other) ? <Disclosure title="Metadata">{() => <Json value={other} />}</Disclosure> : null}
      <GivenParts given={given} />
      {parts}
      {timeline}
      {cards.map((c) => <CallCard key={c.id} call={c} />)}
      {s.final_analysis && s.final_analysis !== model[model.length - 1]?.details?.response ? <section class="card"><h2>Final analysis</h2><Markdown text={s.final_analysis} /></section> : null}
    </>
  );
}

export function SessionPage({ id }: { id: string }) {
  const { hash } = usePlace();
  const detail = useApi<SessionDetail>(`/api/v1/history/sessions/${encodeURIComponent(id)}`);
  const board = useSession(id, detail.reload);
  const s = detail.data?.session_id === id ? detail.data : null;
  useAgreement(detail, s, board);
  return (
    <>
      <p class="crumbs"><a href="/sessions">Sessions</a></p>
      <Title title={s?.title || (s?.agent_type === "gateway" ? "" : s?.alert_type) || id}>{s ? <Actions s={s} /> : null}<Steps of={id} /></Title>
      <Loaded of={{ ...detail, data: s }}>{(data) => <Body s={data} board={board} hash={hash} />}</Loaded>
    </>
  );
}
