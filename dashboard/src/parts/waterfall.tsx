// waterfall.tsx - when each call ran, beside the others; the part it thought is hatched. SPDX-License-Identifier: Apache-2.0
import type { Event } from "../api";
import { duration } from "../format";

const ROWS_MAX = 60;

interface Span {
  from: number;
  to: number;
  thought: [number, number] | null;
}

function span(e: Event): Span {
  const d = e.details ?? {};
  const from = d.started_at_us ?? e.timestamp_us;
  const to = d.ended_at_us ?? from + (e.duration_ms ?? 0) * 1000;
  const began = d.reasoning_started_us, ended = d.reasoning_ended_us;
  return { from, to: Math.max(from, to), thought: began && ended && ended > began ? [began, ended] : null };
}

export function Waterfall({ events }: { events: Event[] }) {
  const rows = events.slice(0, ROWS_MAX).map((e) => ({ e, s: span(e) }));
  const from = Math.min(...rows.map((r) => r.s.from));
  const all = Math.max(1, Math.max(...rows.map((r) => r.s.to)) - from);
  const at = (us: number) => `${(100 * (us - from)) / all}%`;
  const wide = (a: number, b: number) => `${Math.max(0.4, (100 * (b - a)) / all)}%`;
  return (
    <section class="waterfall card" aria-label="When each call ran">
      {rows.map(({ e, s }) => {
        const tool = e.type === "mcp_communication";
        const name = tool ? e.details?.tool_name || "tool" : e.details?.model_name || "model";
        return (
          <a class="fall" href={`#${encodeURIComponent(e.event_id)}`} title={`${name}: ${duration((s.to - s.from) / 1000)}`}>
            <span class="fall-name">{tool ? "⚙ " : ""}{name}</span>
            <span class="fall-lane">
              <span class={`fall-bar ${tool ? "tool" : ""}`} style={{ left: at(s.from), width: wide(s.from, s.to) }} />
              {s.thought ? <span class="fall-thought" style={{ left: at(s.thought[0]), width: wide(s.thought[0], s.thought[1]) }} /> : null}
            </span>
            <span class="fall-time">{duration((s.to - s.from) / 1000)}</span>
          </a>
        );
      })}
      {events.length > ROWS_MAX ? <p class="quiet">and {events.length - ROWS_MAX} more below</p> : null}
    </section>
  );
}
