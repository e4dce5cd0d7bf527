// live.tsx - calls as they run. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import { useApi, type SessionList } from "../api";
import { Board } from "../calls";
import { useCell } from "../cell";
import { count, duration, percent } from "../format";
import { live, type Message } from "../live";
import { AskBox } from "../parts/ask";
import { Copy, Empty, Figure, Problem, Title } from "../parts/basics";
import { CallCard } from "../parts/call";
import { SessionTable } from "../parts/sessions";

const CATCH_UP_MAX = 12;
const board = new Board();

interface Active {
  session_id: string;
}

// Running calls that began before we came: their sessions tell what was missed.
function useCatchUp(sessions: Active[] | null, still: { current: boolean }): void {
  const ids = (sessions ?? []).slice(0, CATCH_UP_MAX).map((s) => s.session_id);
  useEffect(() => {
    const ends = ids.map((id) => live.subscribe(`session_${id}`, (m) => void (still.current || board.take(m))));
    return () => ends.forEach((end) => end());
  }, [ids.join(" ")]);
}

function useSoon(f: () => void, ms: number): () => void {
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  return () => {
    timer.current ||= window.setTimeout(() => {
      timer.current = 0;
      f();
    }, ms);
  };
}

interface Metrics {
  [name: string]: number | null | undefined;
}

function Figures({ m }: { m: Metrics | null }) {
  const pick = (...names: string[]) => names.map((n) => m?.[n]).find((v) => typeof v === "number");
  const rate = pick("error_rate");
  const sessions = (n: number | null | undefined) => ({ value: count(n), note: n === 1 ? "session" : "sessions" });
  return (
    <dl class="figures">
      <Figure label="Running" {...sessions(pick("active_sessions"))} />
      <Figure label="Last 24 hours" {...sessions(pick("sessions_last_24h", "last_24h_sessions", "sessions_24h"))} />
      <Figure label="Model calls" value={count(pick("total_llm_interactions", "llm_interactions", "total_interactions"))} note="on record" />
      <Figure label="Average" value={duration(pick("average_duration_ms", "avg_duration_ms", "average_session_duration_ms"))} note="a session" />
      <Figure label="Failed" value={rate == null ? "–" : percent(rate > 1 ? rate / 100 : rate)} note="of sessions" tone={rate ? "warm" : ""} />
    </dl>
  );
}

/* In the demo, a question that it has a recording of. */
function FirstCall() {
  const models = useApi<{ data?: { id: string }[] }>("/v1/models").data?.data ?? [];
  const recorded = useApi<{ model: string; prompt: string }[]>("/page/questions.json").data?.[0];
  const body = JSON.stringify({ model: recorded?.model ?? models[0]?.id ?? "MODEL", stream: true, messages: [{ role: "user", content: recorded?.prompt ?? "Why is the sky blue?" }] });
  const line = `curl ${location.origin}/v1/chat/completions \\\n  -H 'content-type: application/json' \\\n  -d '${body.replaceAll("'", "'\\''")}'`;
  return (
    <Empty title="Nothing runs right now">
      <p>Ask above, or from a terminal; it shows up here while it thinks:</p>
      <pre class="code">{line}</pre>
      <Copy text={line} label="Copy the command" />
      <p class="quiet">An application changes its base URL and nothing else: <code>{location.origin}/v1</code> for OpenAI, <code>{location.origin}</code> for Anthropic, Gemini and Ollama.</p>
    </Empty>
  );
}

export function LivePage() {
  const active = useApi<Active[]>("/api/v1/history/active-sessions");
  const metrics = useApi<Metrics>("/api/v1/history/metrics");
  const recent = useApi<SessionList>("/api/v1/history/sessions?page_size=8");
  const [paused, setPaused] = useState(false);
  const still = useRef(false);
  const refresh = useSoon(() => {
    metrics.reload();
    recent.reload();
  }, 1000);
  const link = useCell(live.link);
  useCell(board.changes);
  useCatchUp(Array.isArray(active.data) ? active.data : null, still);

  useEffect(() => {
    const take = (m: Message) => {
      if (m.type === "again") {
        board.forgetRunning();
        active.reload();
        return refresh();
      }
      if (!still.current) board.take(m);
      if (["llm_started", "llm_interaction", "session_status_change"].includes(m.type)) refresh();
    };
    const end = live.subscribe("dashboard_updates", take);
    return () => {
      end();
      board.forgetRunning();
    };
  }, []);
  const pause = () => {
    still.current = !paused;
    setPaused(!paused);
  };
  const calls = board.calls;
  return (
    <>
      <Title title="Live" about={link === "open" ? "Calls as they run." : link === "lost" ? "The connection was lost; trying again." : "Connecting…"}>
        <button type="button" class="small" aria-pressed={paused} onClick={pause}>{paused ? "Go on" : "Pause"}</button>
      </Title>
      <Figures m={metrics.data} />
      <AskBox board={board} />
      <section aria-label="Calls" class="calls">
        {calls.length ? calls.map((c) => <CallCard key={c.id} call={c} />) : active.error ? <Problem error={active.error} retry={active.reload} /> : <FirstCall />}
      </section>
      {recent.data?.sessions?.length ? (
        <section aria-label="Recent sessions">
          <h2>Recent sessions <a class="more" href="/sessions">All of them</a></h2>
          <SessionTable sessions={recent.data.sessions} />
        </section>
      ) : null}
    </>
  );
}
