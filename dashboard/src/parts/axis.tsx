// axis.tsx - when each call ran: a lane for each model and tool, a time axis, a legend. However many
// calls there are, it has the same size and as few elements. SPDX-License-Identifier: Apache-2.0
import { useMemo, useState } from "preact/hooks";
import { duration, plural } from "../format";
import { Text } from "./basics";

const LANES_MAX = 10;
const WIDTH = 1000; // of the drawing, in its own units
const LANE = 20, BAR = 10;
const TICKS = 5;
const STEPS_S = [86400, 43200, 21600, 7200, 3600, 1800, 900, 600, 300, 120, 60, 30, 15, 10, 5, 2, 1, 0.5, 0.2, 0.1, 0.05, 0.02, 0.01, 0.005, 0.002, 0.001];

export interface Span {
  key: string;
  name: string;
  tool: boolean;
  bad: boolean;
  from: number; // us
  to: number;
  thought: [number, number] | null;
}

// Time in which nothing runs is cut short: a session may wait for its person for days.
interface Scale {
  at: (us: number) => number; // 0 to WIDTH
  pauses: { x: number; ms: number }[];
  ticks: { x: number; ms: number }[];
}

function scale(spans: Span[]): Scale {
  const order = [...spans].sort((a, b) => a.from - b.from);
  const busy: [number, number][] = [];
  for (const s of order) {
    const last = busy[busy.length - 1];
    if (last && s.from <= last[1]) last[1] = Math.max(last[1], s.to);
    else busy.push([s.from, s.to]);
  }
  const begin = busy[0]?.[0] ?? 0, end = busy[busy.length - 1]?.[1] ?? 1;
  const worked = busy.reduce((n, [a, b]) => n + b - a, 0);
  const longest = Math.max(1_000_000, worked * 0.3); // a longer pause is drawn shortened
  const marks: [number, number][] = []; // time, and where it is drawn
  const pauses: { us: number; ms: number }[] = [];
  let x = 0;
  busy.forEach(([a, b], i) => {
    const before = busy[i - 1];
    if (before) {
      const wait = a - before[1];
      if (wait > longest) pauses.push({ us: before[1] + wait / 2, ms: wait / 1000 });
      x += Math.min(wait, longest);
    }
    marks.push([a, x]);
    x += b - a;
    marks.push([b, x]);
  });
  const all = Math.max(1, x);
  const at = (us: number) => {
    let i = 0;
    for (let high = marks.length - 1; i < high;) {
      const mid = (i + high) >> 1;
      if ((marks[mid]?.[0] ?? 0) >= us) high = mid;
      else i = mid + 1;
    }
    const [t1, x1] = marks[i] ?? [end, all], [t0, x0] = marks[i - 1] ?? [t1, x1];
    return (WIDTH * (t1 > t0 ? x0 + ((x1 - x0) * (Math.min(us, t1) - t0)) / (t1 - t0) : x1)) / all;
  };
  const back = (drawn: number) => {
    const i = Math.max(1, marks.findIndex(([, m]) => m >= drawn));
    const [t0, x0] = marks[i - 1] ?? [begin, 0], [t1, x1] = marks[i] ?? [end, all];
    return x1 > x0 ? t0 + ((t1 - t0) * (drawn - x0)) / (x1 - x0) : t1;
  };
  const after = (i: number) => (back((all * i) / TICKS) - begin) / 1000; // ms
  const ticks = Array.from({ length: TICKS + 1 }, (_, i) => {
    if (i === 0 || i === TICKS) return { x: (WIDTH * i) / TICKS, ms: after(i) };
    const room = Math.min(after(i) - after(i - 1), after(i + 1) - after(i));
    const step = 1000 * (STEPS_S.find((s) => s <= room / 2000) ?? 0.001); // a round time, near the even place
    const ms = Math.round(after(i) / step) * step;
    return { x: at(begin + ms * 1000), ms };
  });
  return { at, pauses: pauses.map((p) => ({ x: at(p.us), ms: p.ms })), ticks };
}

// "10 min", not "10 min 0 s".
const tickLabel = (ms: number) => duration(ms).replace(/ 0 (s|min)$|\.0(?= s)/, "");

interface Lane {
  name: string;
  tool: boolean;
  spans: Span[];
}

// By name, models first; tools that are called least share the last lane.
function lanes(spans: Span[]): Lane[] {
  const by = new Map<string, Lane>();
  for (const s of spans) {
    const key = `${s.tool} ${s.name}`;
    if (!by.has(key)) by.set(key, { name: s.name, tool: s.tool, spans: [] });
    by.get(key)?.spans.push(s);
  }
  const all = [...by.values()].sort((a, b) => Number(a.tool) - Number(b.tool) || b.spans.length - a.spans.length);
  if (all.length <= LANES_MAX) return all;
  const rest = all.splice(LANES_MAX - 1);
  return [...all, { name: plural(rest.length, "other name"), tool: true, spans: rest.flatMap((l) => l.spans) }];
}

const bar = (x: number, y: number, w: number, h: number) => `M${x.toFixed(1)} ${y}h${w.toFixed(1)}v${h}h-${w.toFixed(1)}z`;

// Bars that would lie on one another are drawn as one.
function path(spans: [number, number][], y: number, h: number): string {
  let d = "", from = -1, to = -1;
  for (const [a, b] of spans.sort((p, q) => p[0] - q[0])) {
    if (a <= to + 0.6) to = Math.max(to, b);
    else {
      if (to > from) d += bar(from, y, to - from, h);
      from = a;
      to = b;
    }
  }
  return to > from ? d + bar(from, y, to - from, h) : d;
}

function drawn(l: Lane, i: number, s: Scale): { kind: string; d: string }[] {
  const y = i * LANE + (LANE - BAR) / 2;
  const place = (x: Span): [number, number] => {
    const a = Math.min(s.at(x.from), WIDTH - 2);
    return [a, Math.max(a + 2, s.at(x.to))];
  };
  return [
    { kind: l.tool ? "tool" : "model", d: path(l.spans.filter((x) => !x.bad).map(place), y, BAR) },
    { kind: "bad", d: path(l.spans.filter((x) => x.bad).map(place), y, BAR) },
    { kind: "thought", d: path(l.spans.flatMap((x): [number, number][] => (x.thought ? [[s.at(x.thought[0]), s.at(x.thought[1])]] : [])), y, BAR) },
  ].filter((p) => p.d);
}

export function TimeAxis({ spans, open }: { spans: Span[]; open: (key: string) => void }) {
  const [near, setNear] = useState<Span | null>(null);
  const { all, s, paths } = useMemo(() => {
    const all = lanes(spans), s = scale(spans);
    return { all, s, paths: all.flatMap((l, i) => drawn(l, i, s)) };
  }, [spans]);
  if (spans.length < 2) return null;
  const height = all.length * LANE;
  const at = (e: MouseEvent): Span | null => {
    const box = (e.currentTarget as Element).getBoundingClientRect();
    const lane = all[Math.floor(((e.clientY - box.top) / box.height) * all.length)];
    const x = ((e.clientX - box.left) / box.width) * WIDTH;
    const far = (p: Span) => Math.max(s.at(p.from) - x, x - s.at(p.to), 0);
    return lane?.spans.reduce<Span | null>((best, p) => (!best || far(p) < far(best) ? p : best), null) ?? null;
  };
  const kinds = [["model", "a model writes"], ["thought", "it thinks"], ["tool", "a tool works"], ["bad", "failed"]].filter(([k]) =>
    k === "bad" ? spans.some((x) => x.bad) : k === "thought" ? spans.some((x) => x.thought) : spans.some((x) => !x.bad && x.tool === (k === "tool")));
  return (
    <section class="axis card" aria-label="When each call ran">
      <div class="axis-grid">
        <ul class="axis-names">{all.map((l) => <li title={l.name}><span><Text>{l.name}</Text></span><small>{l.spans.length}</small></li>)}</ul>
        <svg class="axis-lanes" aria-hidden="true" viewBox={`0 0 ${WIDTH} ${height}`} preserveAspectRatio="none" height={height}
          onMouseMove={(e) => setNear(at(e))} onMouseLeave={() => setNear(null)} onClick={(e) => {
            const one = at(e);
            if (one) open(one.key);
          }}>
          <defs><pattern id="hatch" width="5" height="5" patternUnits="userSpaceOnUse" patternTransform="rotate(-45)"><rect width="2.4" height="5" class="hatch" /></pattern></defs>
          {s.ticks.map((t) => <line x1={t.x} x2={t.x} y1="0" y2={height} class="tick" vector-effect="non-scaling-stroke" />)}
          {s.pauses.map((p) => <line x1={p.x} x2={p.x} y1="0" y2={height} class="pause" vector-effect="non-scaling-stroke" />)}
          {paths.map((p) => <path class={`span-${p.kind}`} d={p.d} fill={p.kind === "thought" ? "url(#hatch)" : undefined} />)}
        </svg>
        <div class="axis-ticks" aria-hidden="true">{s.ticks.map((t, i) => <span class={i === 0 ? "first" : i === TICKS ? "last" : ""} style={{ left: `${t.x / (WIDTH / 100)}%` }}>{i ? tickLabel(t.ms) : "0"}</span>)}</div>
      </div>
      <p class="axis-legend quiet">
        {kinds.map(([k, words]) => <span><i class={`key-${k}`} aria-hidden="true" />{words}</span>)}
        {s.pauses.length ? <span><i class="key-pause" aria-hidden="true" />{plural(s.pauses.length, "pause")} cut short</span> : null}
        <span class="spring" />
        <span>{near ? <><Text>{near.name}</Text> · {duration((near.to - near.from) / 1000)}</> : null}</span>
      </p>
    </section>
  );
}
