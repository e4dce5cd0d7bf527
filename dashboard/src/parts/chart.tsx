// chart.tsx - numbers over time: axes with units, a mark for the bucket that is chosen. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import { clockIn, dayIn, momentIn, ticksIn } from "../zone";

export interface Series {
  name: string;
  values: (number | null)[];
  tone: string; // a class: c0 to c6, warm, bad
}

export interface Axis {
  start: number; // ms
  end: number;
  bucket: number; // ms
  zone: string;
}

interface Props {
  title: string;
  unit: string; // what the numbers are, for the heading
  axis: Axis;
  series: Series[];
  kind: "bars" | "lines"; // bars are stacked
  format: (n: number) => string;
  tick?: (n: number) => string; // for the axis, if that has less room
  whole?: boolean; // only whole numbers are on the axis
  chosen: number | null; // a bucket
  onChoose: (bucket: number | null, byKey: boolean) => void;
}

const HEIGHT = 150;
const TOP = 8;
const BOTTOM = 20;
const LEFT = 46;

// Round numbers from 0 to at least the largest.
function scale(max: number, whole: boolean): number[] {
  if (!(max > 0)) return [0, 1];
  const rough = max / 3;
  const power = 10 ** Math.floor(Math.log10(rough));
  let step = [1, 2, 2.5, 5, 10].map((m) => m * power).find((s) => s >= rough) ?? rough;
  if (whole) step = Math.max(1, Math.ceil(step));
  const out = [0];
  while ((out[out.length - 1] ?? 0) < max) out.push(out.length * step);
  return out;
}

function useWidth(): [preact.RefObject<HTMLDivElement | null>, number] {
  const box = useRef<HTMLDivElement>(null);
  const [width, set] = useState(0);
  useEffect(() => {
    const look = () => set(Math.floor(box.current?.clientWidth ?? 0));
    const seen = new ResizeObserver(look);
    look();
    if (box.current) seen.observe(box.current);
    return () => seen.disconnect();
  }, []);
  return [box, width];
}

function bucketWords(axis: Axis, i: number): string {
  const from = axis.start + i * axis.bucket;
  return `${momentIn(from, axis.zone)} to ${axis.bucket < 86400_000 ? clockIn(from + axis.bucket, axis.zone) : momentIn(from + axis.bucket, axis.zone)}`;
}

export function Chart({ title, unit, axis, series, kind, format, tick = format, whole = false, chosen, onChoose }: Props) {
  const [box, width] = useWidth();
  const [over, setOver] = useState<number | null>(null);
  const n = series[0]?.values.length ?? 0;
  const sums = Array.from({ length: n }, (_, i) => series.reduce((a, s) => (kind === "bars" ? a + (s.values[i] ?? 0) : Math.max(a, s.values[i] ?? 0)), 0));
  const marks = scale(Math.max(0, ...sums), whole);
  const most = marks[marks.length - 1] ?? 1;
  const inner = Math.max(1, width - LEFT - 8);
  const x = (ms: number) => LEFT + (inner * (ms - axis.start)) / (axis.end - axis.start);
  const left = (i: number) => x(axis.start + i * axis.bucket);
  const right = (i: number) => Math.min(LEFT + inner, x(axis.start + (i + 1) * axis.bucket));
  const y = (v: number) => TOP + (HEIGHT - TOP - BOTTOM) * (1 - v / most);
  const ticks = width ? ticksIn(axis.start, axis.end, Math.max(2, Math.floor(inner / 74)), axis.zone) : [];
  const daily = ticks.length > 1 && (ticks[1] ?? 0) - (ticks[0] ?? 0) >= 86400_000 - 3600_000;
  const at = (e: MouseEvent) => {
    const place = e.clientX - (e.currentTarget as Element).getBoundingClientRect().left;
    const i = Math.floor((((place - LEFT) / inner) * (axis.end - axis.start)) / axis.bucket);
    return i >= 0 && i < n ? i : null;
  };
  const shown = over ?? chosen;
  const words = shown === null ? "" : `${bucketWords(axis, shown)}: ${series.map((s) => (s.values[shown] == null || (series.length > 2 && !s.values[shown]) ? "" : `${series.length > 1 ? `${s.name} ` : ""}${format(s.values[shown] ?? 0)}`)).filter(Boolean).join(", ") || "nothing"}`;
  const key = (e: KeyboardEvent) => {
    const to = { ArrowLeft: (chosen ?? n) - 1, ArrowRight: (chosen ?? -1) + 1, Home: 0, End: n - 1 }[e.key];
    if (e.key === "Escape") onChoose(null, true);
    else if (to !== undefined) onChoose(Math.max(0, Math.min(n - 1, to)), true);
    else return;
    e.preventDefault();
  };
  const line = (s: Series) => {
    let pen = "M";
    return s.values.map((v, i) => {
      if (v == null) return (pen = "M"), "";
      const piece = `${pen}${((left(i) + right(i)) / 2).toFixed(1)} ${y(v).toFixed(1)}`;
      return (pen = "L"), piece;
    }).join("");
  };
  return (
    <figure class="chart" data-chart={title}>
      <figcaption><strong>{title}</strong> <small>{unit}</small><span class={`chart-words ${series.length > 2 ? "two" : ""}`}>{words}</span></figcaption>
      <div ref={box} tabIndex={0} role="slider" aria-label={`${title}: choose a time`} aria-valuemin={0} aria-valuemax={Math.max(0, n - 1)} aria-valuenow={chosen ?? 0}
        aria-valuetext={chosen === null ? "none chosen" : words} onKeyDown={key}>
        <svg width={width} height={HEIGHT} aria-hidden="true" onMouseMove={(e) => setOver(at(e))} onMouseLeave={() => setOver(null)}
          onClick={(e) => {
            const i = at(e);
            onChoose(i === chosen ? null : i, false);
          }}>
          {marks.map((m) => <g><line class="grid" x1={LEFT} x2={LEFT + inner} y1={y(m)} y2={y(m)} /><text class="tick" x={LEFT - 6} y={y(m) + 3.5} text-anchor="end">{tick(m)}</text></g>)}
          {ticks.map((t) => <text class="tick" x={Math.min(x(t), LEFT + inner + 6)} y={HEIGHT - 5} text-anchor={x(t) > LEFT + inner - 18 ? "end" : "middle"}>{daily || clockIn(t, axis.zone) === "00:00" ? dayIn(t, axis.zone) : clockIn(t, axis.zone)}</text>)}
          {shown !== null && shown < n ? <rect class={`pick ${shown === chosen ? "chosen" : ""}`} x={left(shown)} width={Math.max(1, right(shown) - left(shown))} y={TOP} height={HEIGHT - TOP - BOTTOM} /> : null}
          {kind === "lines"
            ? series.map((s) => (
                <g class={s.tone}>
                  <path class="line" d={line(s)} />
                  {s.values.map((v, i) => (v == null ? null : <circle cx={(left(i) + right(i)) / 2} cy={y(v)} r={n > 60 ? 1.4 : 2.4} />))}
                </g>
              ))
            : Array.from({ length: n }, (_, i) => {
                let low = 0;
                const wide = Math.max(1, right(i) - left(i) - (right(i) - left(i) > 5 ? 1.5 : 0.3));
                return series.map((s) => {
                  const v = s.values[i] ?? 0;
                  const from = low;
                  low += v;
                  return v > 0 ? <rect class={s.tone} x={left(i)} width={wide} y={y(low)} height={Math.max(0.5, y(from) - y(low))} /> : null;
                });
              })}
        </svg>
      </div>
    </figure>
  );
}
