// session.tsx - one session: its calls and its tools in the order they ran. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import { send, useApi, type SessionDetail } from "../api";
import type { Board } from "../calls";
import { useCell } from "../cell";
import { count, duration, fullTime, money } from "../format";
import { Badge, Copy, Disclosure, Figure, Json, Loaded, State, Status, Text, Title } from "../parts/basics";
import { CallCard } from "../parts/call";
import { EventCard } from "../parts/event";
import { Markdown } from "../parts/markdown";
import { expandAlways } from "../parts/reasoning";
import { Waterfall } from "../parts/waterfall";
import { go, usePlace } from "../route";
import { runningNow, useAgreement, useSession } from "../watch";
import { neighbours } from "./sessions";

function isEmpty(v: unknown): boolean {
  return v == null || v === "" || (typeof v === "object" && Object.keys(v).length === 0);
}

function Numbers({ s }: { s: SessionDetail }) {
  const t = s.summary?.tokens ?? {};
  const reasoning = t.reasoning ?? s.reasoning_tokens;
  const output = t.output ?? s.output_tokens;
  const errors = s.summary?.errors ?? 0;
  return (
    <dl class="figures">
      <Figure label="Model calls" value={count(s.summary?.llm_interaction_count ?? s.llm_interaction_count)} />
      <Figure label="Tool calls" value={count(s.summary?.mcp_communication_count ?? s.mcp_communication_count)} />
      <Figure label="Took" value={duration(s.summary?.total_duration_ms ?? s.duration_ms)} />
      <Figure label="Tokens" value={`${count(t.input ?? s.input_tokens)} in`} note={`${count(output)} out`} />
      <Figure label="Thought" value={count(reasoning)} note={output && reasoning ? `${Math.round((100 * Math.min(reasoning, output)) / output)} % of out` : "tokens"} />
      <Figure label="Cost" value={money(s.summary?.cost_usd ?? s.cost_usd)} />
      {errors ? <Figure label="Errors" value={count(errors)} tone="warm" /> : null}
    </dl>
  );
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

// To the neighbours in the list one came from; there before the session itself is.
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
      {["json", "csv", "otlp"].map((f) => <a class="button small" download href={`${path}?format=${f}`} aria-label={`Export as ${f.toUpperCase()}`}>{f.toUpperCase()}</a>)}
      <Erase id={s.session_id} />
    </>
  );
}

function useJump(hash: string, ready: boolean): void {
  useEffect(() => {
    if (!hash || !ready) return;
    const target = document.getElementById(hash);
    target?.scrollIntoView({ block: "start" });
    target?.focus({ preventScroll: true });
  }, [hash, ready]);
}

// The runs of agents whose calls these are.
function Runs({ of }: { of: string }) {
  const all = useApi<{ runs: { run_id: string; app: string; status: string }[] }>(`/api/v1/runs?session=${encodeURIComponent(of)}`).data?.runs ?? [];
  const runs = all.filter((r) => r.app === "agents").reverse();
  if (!runs.length) return null;
  return <p class="facts" aria-label="Runs"><span class="quiet">{runs.length === 1 ? "Run" : "Runs"}</span>{runs.map((r) => <span><a href={`/runs/${encodeURIComponent(r.run_id)}`}>{r.run_id}</a> <State of={r.status} /></span>)}</p>;
}

function Body({ s, board, hash }: { s: SessionDetail; board: Board; hash: string }) {
  useCell(board.changes);
  const { cards, done: events } = runningNow(board, s.chronological_timeline ?? []);
  const model = events.filter((e) => e.type === "llm_interaction");
  useJump(hash, true);
  return (
    <>
      <p class="facts">
        <Status of={s.status} />
        {s.model ? <Badge>{s.model}</Badge> : null}
        {s.key_name ? <span class="quiet">key {s.key_name}</span> : null}
        {s.subject ? <span class="quiet">for <Text>{s.subject}</Text></span> : null}
        <span class="quiet">{fullTime(s.started_at_us)}</span>
        <code class="id">{s.session_id}</code><Copy text={s.session_id} label="Copy id" />
      </p>
      {s.agent_type === "gateway" ? null : <Runs of={s.session_id} />}
      {s.error_message ? <p class="problem"><Text>{s.error_message}</Text></p> : null}
      <Numbers s={s} />
      {events.length > 1 ? <Waterfall events={events} /> : null}
      {!isEmpty(s.alert_data) ? <Disclosure title="What it was given">{() => <Json value={s.alert_data} />}</Disclosure> : null}
      {!isEmpty(s.session_metadata) ? <Disclosure title="Metadata">{() => <Json value={s.session_metadata} />}</Disclosure> : null}
      <ol class="timeline" aria-label="Timeline">
        {events.map((e) => <EventCard key={e.event_id} e={e} marked={e.event_id === hash} open={model.length <= 3 || e === model[model.length - 1]} />)}
      </ol>
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
