// virtual.tsx - a list of any length of which only what is near the window is drawn. The page scrolls,
// not the list. SPDX-License-Identifier: Apache-2.0
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const DRAW_ALL = 90; // as many are drawn at once
const AROUND_PX = 900; // drawn above and below the window

export interface Row {
  key: string;
  estimate: number; // of its height, until it was drawn
  draw: (place: { "aria-setsize": number; "aria-posinset": number }) => VNode; // an li
}

export interface Scroller {
  to: (key: string, focus?: boolean) => void;
  first: () => string; // the row at the top of the window
}

interface Range {
  from: number;
  to: number;
}

// Where each row begins, and where the last one ends.
function offsets(rows: Row[], heights: Map<string, number>, gap: number): Float64Array {
  const at = new Float64Array(rows.length + 1);
  rows.forEach((r, i) => (at[i + 1] = (at[i] ?? 0) + (heights.get(r.key) ?? r.estimate) + gap));
  return at;
}

// The row at a height, by halves.
function rowAt(at: Float64Array, y: number): number {
  let low = 0, high = Math.max(0, at.length - 2);
  while (low < high) {
    const mid = (low + high + 1) >> 1;
    if ((at[mid] ?? 0) <= y) low = mid;
    else high = mid - 1;
  }
  return low;
}

export function VirtualList({ rows, label, name, scroller, moved }: { rows: Row[]; label: string; name: string; scroller?: { current: Scroller | null }; moved?: (first: string) => void }) {
  const list = useRef<HTMLOListElement>(null);
  const heights = useRef(new Map<string, number>());
  const all = rows.length <= DRAW_ALL;
  const [range, setRange] = useState<Range>({ from: 0, to: Math.min(rows.length, DRAW_ALL) });
  const gap = useRef(0);
  const now = useRef(rows);
  const wanted = useRef({ key: "", focus: false, tries: 0 });
  now.current = rows;

  // Rows grow when something in them is folded out.
  const measure = (): boolean => {
    let changed = false;
    for (const e of list.current?.children ?? []) {
      const { key } = (e as HTMLElement).dataset;
      const height = (e as HTMLElement).offsetHeight;
      if (!key || heights.current.get(key) === height) continue;
      heights.current.set(key, height);
      changed = true;
    }
    return changed;
  };

  const look = () => {
    const box = list.current;
    if (!box) return;
    measure();
    const at = offsets(now.current, heights.current, gap.current);
    const top = -box.getBoundingClientRect().top;
    moved?.(now.current[rowAt(at, top + 90)]?.key ?? "");
    if (now.current.length <= DRAW_ALL) return;
    const from = rowAt(at, top - AROUND_PX), to = rowAt(at, top + window.innerHeight + AROUND_PX) + 1;
    setRange((r) => (r.from === from && r.to === to ? r : { from, to }));
  };

  useLayoutEffect(() => {
    gap.current = list.current ? parseFloat(getComputedStyle(list.current).rowGap) || 0 : 0;
    let frame = 0;
    const soon = () => (frame ||= requestAnimationFrame(() => {
      frame = 0;
      look();
    }));
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon);
    look();
    return () => {
      removeEventListener("scroll", soon);
      removeEventListener("resize", soon);
      cancelAnimationFrame(frame);
    };
  }, []);

  // What was drawn is measured. The one that is wanted may be there now, or nearer.
  useLayoutEffect(() => {
    const changed = measure();
    if (wanted.current.key) approach();
    else if (changed && !all) look();
  });

  const approach = () => {
    const { key, focus } = wanted.current;
    const e = [...(list.current?.children ?? [])].find((c) => (c as HTMLElement).dataset.key === key) as HTMLElement | undefined;
    if (e) {
      wanted.current = { key: "", focus: false, tries: 0 };
      e.scrollIntoView({ block: "start" });
      if (focus) e.focus({ preventScroll: true });
      return;
    }
    const i = now.current.findIndex((r) => r.key === key);
    if (i < 0 || ++wanted.current.tries > 5 || !list.current) return void (wanted.current.key = "");
    const at = offsets(now.current, heights.current, gap.current);
    window.scrollTo(0, window.scrollY + list.current.getBoundingClientRect().top + (at[i] ?? 0) - 60);
    look();
  };

  if (scroller)
    scroller.current = {
      to: (key, focus = false) => {
        wanted.current = { key, focus, tries: 0 };
        approach();
      },
      first: () => (list.current ? now.current[rowAt(offsets(now.current, heights.current, gap.current), 90 - list.current.getBoundingClientRect().top)]?.key ?? "" : ""),
    };

  // The focus does not fall out of the page with a row that goes.
  useEffect(() => {
    if (document.activeElement === document.body && list.current?.dataset.held) list.current.focus({ preventScroll: true });
    if (list.current) list.current.dataset.held = list.current.contains(document.activeElement) ? "yes" : "";
  });

  const from = all ? 0 : Math.min(range.from, rows.length), to = all ? rows.length : Math.min(range.to, rows.length);
  const at = offsets(rows, heights.current, gap.current);
  const above = at[from] ?? 0, below = (at[rows.length] ?? 0) - (at[to] ?? 0);
  return (
    <ol ref={list} class={name} aria-label={label} tabIndex={-1}>
      {above > 0 ? <li key="above" class="spacer" aria-hidden="true" style={{ height: `${above - gap.current}px` }} /> : null}
      {rows.slice(from, to).map((r, i) => r.draw({ "aria-setsize": rows.length, "aria-posinset": from + i + 1 }))}
      {below > 0 ? <li key="below" class="spacer" aria-hidden="true" style={{ height: `${below - gap.current}px` }} /> : null}
    </ol>
  );
}
