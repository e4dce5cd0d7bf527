// watch.ts - a session while it runs: its calls, live, beside what is on record. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import type { Event, Fetched, SessionDetail } from "./api";
import { Board, type Call } from "./calls";
import { useCell } from "./cell";
import { live } from "./live";
import { useReturn } from "./reach";

const AGAIN_FIRST_MS = 500;
const AGAIN_MAX_MS = 30_000;

// Splits a session into cards of calls that are not completely on record, and recorded events of the others.
export function runningNow(board: Board, events: Event[]): { cards: Call[]; done: Event[] } {
  const ended = new Set(events.filter((e) => e.details?.ended_at_us).map((e) => e.event_id));
  const known = new Set(events.map((e) => e.event_id));
  const cards = board.calls.filter((c) => (c.running ? !ended.has(c.id) : !known.has(c.id))).reverse();
  const shown = new Set(cards.map((c) => c.id));
  return { cards, done: events.filter((e) => !shown.has(e.event_id)) };
}

// The live calls of a session; `reload` is called when the record has changed.
export function useSession(id: string, reload: () => void): Board {
  const [board] = useState(() => new Board());
  useEffect(() => {
    let timer = 0;
    const soon = () => (timer ||= window.setTimeout(() => {
      timer = 0;
      reload();
    }, 300));
    if (!id) return;
    const end = live.subscribe(`session_${id}`, (m) => {
      if (m.type === "again") board.forgetRunning();
      else board.take(m);
      if (["again", "gap", "llm_interaction", "mcp_communication", "session_status_change"].includes(m.type)) soon();
    });
    return () => {
      end();
      clearTimeout(timer);
      board.clear();
    };
  }, [id]);
  return board;
}

// Live events and the record arrive separately: the record is loaded again until it has all ended calls.
export function useAgreement(detail: Fetched<SessionDetail>, s: SessionDetail | null, board: Board): void {
  const wait = useRef(AGAIN_FIRST_MS);
  useCell(board.changes);
  const known = new Set(s?.chronological_timeline?.map((e) => e.event_id));
  const behind = s
    ? board.calls.some((c) => !c.running && !known.has(c.id)) || (s.status === "in_progress" && !board.calls.some((c) => c.running))
    : detail.error?.status === 404 && board.calls.length > 0;
  useEffect(() => {
    if (detail.loading) return;
    if (!behind) {
      wait.current = AGAIN_FIRST_MS;
      return;
    }
    const timer = setTimeout(detail.reload, wait.current);
    wait.current = Math.min(AGAIN_MAX_MS, wait.current * 2);
    return () => clearTimeout(timer);
  }, [behind, detail.loading]);
}

const STATE_MS = 30_000;

// For what changes without an event: calls `reload` now and then, and when the gateway answers again.
export function useNowAndThen(reload: () => void): void {
  useReturn(reload);
  useEffect(() => {
    const timer = setInterval(() => document.hidden || reload(), STATE_MS);
    return () => clearInterval(timer);
  }, []);
}

// Calls `reload` after live events and, while `busy`, every two seconds.
export function useFresh(reload: () => void, busy: boolean): void {
  useEffect(() => {
    let timer = 0;
    const soon = () => (timer ||= window.setTimeout(() => {
      timer = 0;
      reload();
    }, 400));
    const end = live.subscribe("dashboard_updates", (m) => {
      if (["again", "llm_interaction", "mcp_communication", "session_status_change", "alert_status"].includes(m.type)) soon();
    });
    return () => {
      end();
      clearTimeout(timer);
    };
  }, []);
  useEffect(() => {
    if (!busy) return;
    const timer = setInterval(reload, 2000);
    return () => clearInterval(timer);
  }, [busy]);
}
