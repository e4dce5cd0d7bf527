// watch.ts - a session while it runs: its calls, live, beside what is on record. SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import type { Event } from "./api";
import { Board, type Call } from "./calls";
import { live } from "./live";

// Calls that run now: below what is on record, and in the place of what is there of them so far.
export function runningNow(board: Board, events: Event[]): { cards: Call[]; done: Event[] } {
  const ended = new Set(events.filter((e) => e.details?.ended_at_us).map((e) => e.event_id));
  const known = new Set(events.map((e) => e.event_id));
  const cards = board.calls.filter((c) => (c.running ? !ended.has(c.id) : !known.has(c.id))).reverse();
  const shown = new Set(cards.map((c) => c.id));
  return { cards, done: events.filter((e) => !shown.has(e.event_id)) };
}

// The calls of a session as they run; the page is told when there is more to read.
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
