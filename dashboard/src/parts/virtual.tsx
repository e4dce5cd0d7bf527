// virtual.tsx - a list of any length of which only what is near the window is drawn. The page scrolls,
// not the list. SPDX-License-Identifier: Apache-2.0
import type { VNode } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";

const DRAW_ALL = 90; // as many are drawn at once
const AROUND_PX = 500; // drawn above and below the window
const SPARE_PX = 200; // of that; when less is left, the list is drawn again. Other frames only scroll.
const MOVED_MS = 100; // between two reports of the row at the top

export interface Row {
  key: string;
  estimate: number; // of its height, until it was drawn
  draw: (place: { "aria-setsize": number; "aria-posinset": number }) => VNode; // an li
}

export interface Scroller {
  to: (key: string, focus?: boolean) => void;
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
  const wanted = useRef({ key: "", focus: false, tries: 0 });
  const from = all ? 0 : Math.min(range.from, rows.length), to = all ? rows.length : Math.min(range.to, rows.length);
  const at = offsets(rows, heights.current, gap.current);
  const now = useRef({ rows, from, to, at, moved });
  now.current = { rows, from, to, at, moved };

  // The row at the top of the window.
  const first = () => (list.current ? now.current.rows[rowAt(now.current.at, 90 - list.current.getBoundingClientRect().top)]?.key ?? "" : "");

  const look = () => {
    const box = list.current, { rows, from, to, at } = now.current;
    if (!box || rows.length <= DRAW_ALL) return;
    const top = -box.getBoundingClientRect().top, bottom = top + window.innerHeight;
    const above = top - (at[from] ?? 0), below = (at[to] ?? 0) - bottom;
    if ((from === 0 || above >= SPARE_PX) && (to === rows.length || below >= SPARE_PX) && above + below < 4 * AROUND_PX) return;
    const next = { from: rowAt(at, top - AROUND_PX), to: rowAt(at, bottom + AROUND_PX) + 1 };
    setRange((r) => (r.from === next.from && r.to === next.to ? r : next));
  };

  // Rows are measured after each layout in which one has another height: new ones, and those in which
  // something is folded out. To ask each row in each frame would cost as much as to draw it.
  const sizes = useRef<ResizeObserver | null>(null);
  const seen = useRef(new Set<Element>());
  const watch = () => {
    sizes.current ??= new ResizeObserver((entries) => {
      for (const { target, borderBoxSize } of entries) {
        const { key } = (target as HTMLElement).dataset;
        if (key && target.isConnected) heights.current.set(key, borderBoxSize[0]?.blockSize ?? 0);
      }
      now.current.at = offsets(now.current.rows, heights.current, gap.current);
      look();
    });
    const drawn = new Set(list.current?.children);
    for (const e of seen.current) if (!drawn.has(e)) sizes.current.unobserve(e);
    for (const e of drawn) if (!seen.current.has(e)) sizes.current.observe(e);
    seen.current = drawn;
  };

  useLayoutEffect(() => {
    gap.current = list.current ? parseFloat(getComputedStyle(list.current).rowGap) || 0 : 0;
    let frame = 0, timer = 0;
    const soon = () => {
      frame ||= requestAnimationFrame(() => {
        frame = 0;
        look();
      });
      timer ||= window.setTimeout(() => {
        timer = 0;
        now.current.moved?.(first());
      }, MOVED_MS);
    };
    addEventListener("scroll", soon, { passive: true });
    addEventListener("resize", soon);
    now.current.moved?.(first());
    return () => {
      removeEventListener("scroll", soon);
      removeEventListener("resize", soon);
      cancelAnimationFrame(frame);
      clearTimeout(timer);
      sizes.current?.disconnect();
    };
  }, []);

  // The row that is wanted may be there now, or nearer.
  useLayoutEffect(() => {
    watch();
    if (wanted.current.key) approach();
    else look();
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
    const { rows, at } = now.current;
    const i = rows.findIndex((r) => r.key === key);
    if (i < 0 || ++wanted.current.tries > 5 || !list.current) return void (wanted.current.key = "");
    window.scrollTo(0, window.scrollY + list.current.getBoundingClientRect().top + (at[i] ?? 0) - 60);
    look();
  };

  if (scroller)
    scroller.current = {
      to: (key, focus = false) => {
        wanted.current = { key, focus, tries: 0 };
        approach();
      },
    };

  // The focus does not fall out of the page with a row that goes.
  useEffect(() => {
    if (document.activeElement === document.body && list.current?.dataset.held) list.current.focus({ preventScroll: true });
    if (list.current) list.current.dataset.held = list.current.contains(document.activeElement) ? "yes" : "";
  });

  const above = at[from] ?? 0, below = (at[rows.length] ?? 0) - (at[to] ?? 0);
  return (
    <ol ref={list} class={name} aria-label={label} tabIndex={-1}>
      {above > 0 ? <li key="above" class="spacer" aria-hidden="true" style={{ height: `${above - gap.current}px` }} /> : null}
      {rows.slice(from, to).map((r, i) => r.draw({ "aria-setsize": rows.length, "aria-posinset": from + i + 1 }))}
      {below > 0 ? <li key="below" class="spacer" aria-hidden="true" style={{ height: `${below - gap.current}px` }} /> : null}
    </ol>
  );
}
