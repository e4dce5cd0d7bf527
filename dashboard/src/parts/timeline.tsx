// timeline.tsx - steps one after the other, of a session or of a run: in groups and steps that fold,
// with an outline that stays, a time axis, and ways to the next error, cut or tool. Only what is near
// the window is drawn. SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren, VNode } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { announce } from "../announce";
import { duration, plural } from "../format";
import { Boundary, Text } from "./basics";
import { TimeAxis, type Span } from "./axis";
import { VirtualList, type Row, type Scroller } from "./virtual";

export interface Item extends Span {
  kind: string; // of its look: model, tool, approval, error
  cut: boolean;
  calls: number; // tool calls, as docs/reference/history.md counts them
  readonly head: string; // what it did, and with what or why: while it is folded. Of a long timeline only those on screen are read.
  readonly line: string;
  readonly numbers: string;
  card: () => ComponentChildren;
}

export interface Group {
  key: string;
  title: string;
  state?: ComponentChildren;
  items: Item[];
}

const OPEN_MAX = 40; // steps: of more, each is one line until somebody opens it
const LONG = 12; // steps from which on there is an outline

const JUMPS: [string, string, string, (i: Item) => boolean][] = [
  ["e", "error", "Errors", (i) => i.bad],
  ["c", "cut", "Cuts", (i) => i.cut],
  ["t", "tool", "Tools", (i) => i.calls > 0],
];

// ---- rows ----

function StepRow({ i, open, marked, toggle, place, alone }: { i: Item; open: boolean; marked: boolean; toggle: () => void; place: object; alone: boolean }) {
  const look = `event ${i.kind} ${i.bad ? "bad" : ""} ${i.cut ? "cut" : ""} ${marked ? "marked" : ""} ${open ? "" : "folded"}`;
  return (
    <li id={i.key} data-key={i.key} class={look} tabIndex={-1} data-item {...place}>
      {alone ? null : (
        <button type="button" class="fold" aria-expanded={open} aria-label={open ? `Fold ${i.name}` : undefined} onClick={toggle}>
          <i class="chevron" aria-hidden="true" />
          {open ? null : <><span class="kind">{i.kind}</span><span class="words"><strong class="name"><Text>{i.head}</Text></strong>{" "}<span class="line"><Text>{i.line}</Text></span></span>{i.bad ? <span class="badge bad">failed</span> : null}{i.cut ? <span class="badge warm">cut</span> : null}<span class="numbers quiet">{i.numbers}</span></>}
        </button>
      )}
      {open ? <Boundary words="This step could not be shown">{i.card()}</Boundary> : null}
    </li>
  );
}

function sum(items: Item[]): string {
  const tools = items.reduce((n, i) => n + i.calls, 0), bad = items.filter((i) => i.bad).length;
  const from = Math.min(...items.map((i) => i.from)), to = Math.max(...items.map((i) => i.to));
  return [plural(items.length, "step"), tools ? plural(tools, "tool call") : "", bad ? `${bad} failed` : "", to > from ? duration((to - from) / 1000) : ""].filter(Boolean).join(" · ");
}

function GroupRow({ g, n, open, toggle, place }: { g: Group; n: number; open: boolean; toggle: () => void; place: object }) {
  return (
    <li class="turn" data-key={g.key} {...place}>
      <button type="button" class="turn-head" aria-expanded={open} onClick={toggle}>
        <i class="chevron" aria-hidden="true" />
        <span class="turn-n">{n}</span>
        <strong class="turn-title"><Text>{g.title}</Text></strong>
        {g.state ?? null}
        <span class="numbers quiet">{sum(g.items)}</span>
      </button>
    </li>
  );
}

// ---- the outline ----

const OUTLINE_ROW = 28;

interface Entry {
  key: string;
  readonly words: string;
  group: boolean;
  look: string;
}

function Outline({ of, at, to }: { of: Entry[]; at: string; to: (key: string) => void }) {
  const box = useRef<HTMLDivElement>(null);
  const [top, setTop] = useState(0);
  const height = box.current?.clientHeight ?? 600;
  const now = of.findIndex((e) => e.key === at);
  useEffect(() => {
    const e = box.current;
    if (!e || now < 0) return;
    const y = now * OUTLINE_ROW;
    if (y < e.scrollTop || y > e.scrollTop + e.clientHeight - OUTLINE_ROW) e.scrollTop = y - e.clientHeight / 2;
  }, [now]);
  const from = Math.max(0, Math.floor(top / OUTLINE_ROW) - 5), till = Math.min(of.length, Math.ceil((top + height) / OUTLINE_ROW) + 5);
  return (
    <nav class="outline" aria-label="Outline">
      <div ref={box} class="outline-box" onScroll={(e) => setTop(e.currentTarget.scrollTop)} tabIndex={0} role="group" aria-label="Steps">
        <div class="outline-all" style={{ height: `${of.length * OUTLINE_ROW}px` }}>
          {of.slice(from, till).map((e, i) => (
            <a key={e.key} class={`outline-row ${e.group ? "group" : ""} ${e.look}`} href={`#${encodeURIComponent(e.key)}`} aria-current={e.key === at ? "step" : undefined} style={{ top: `${(from + i) * OUTLINE_ROW}px` }} onClick={(x) => {
              x.preventDefault();
              to(e.key);
            }}><i aria-hidden="true" /><span><Text>{e.words}</Text></span>{/bad|cut/.test(e.look) ? <small>{e.look.includes("bad") ? "failed" : "cut"}</small> : null}</a>
          ))}
        </div>
      </div>
    </nav>
  );
}

// ---- all of it ----

// The place of a row does not change while its list is the same.
function drawOnce(draw: Row["draw"]): Row["draw"] {
  let drawn: VNode | undefined;
  return (place) => (drawn ??= draw(place));
}

export function Timeline({ groups, hash = "", label = "Timeline", axis = true, before }: { groups: Group[]; hash?: string; label?: string; axis?: boolean; before?: VNode | null }) {
  const items = useMemo(() => groups.flatMap((g) => g.items), [groups]);
  const compact = items.length > OPEN_MAX;
  const many = groups.length > 1;
  const [folded, setFolded] = useState<Record<string, boolean>>({}); // where somebody has said so
  const [all, setAll] = useState<boolean | null>(null);
  const [at, setAt] = useState("");
  const scroller = useRef<Scroller | null>(null);
  const last = items[items.length - 1]?.key;

  const isOpen = (key: string) => folded[key] === undefined ? (all ?? (!compact || key === last || key === hash)) : !folded[key];
  const isFolded = (g: Group) => many && folded[g.key] === true;
  const toggle = (key: string, to: boolean) => setFolded((f) => ({ ...f, [key]: to }));

  // While the page scrolls these stay the same, so that only new rows are drawn.
  const rows: Row[] = useMemo(() => groups.flatMap((g, n) => [
    ...(many ? [{ key: g.key, estimate: 46, draw: drawOnce((place) => <GroupRow key={g.key} g={g} n={n + 1} open={!isFolded(g)} toggle={() => toggle(g.key, !isFolded(g))} place={place} />) }] : []),
    ...(isFolded(g) ? [] : g.items.map((i): Row => ({
      key: i.key, estimate: isOpen(i.key) ? 320 : 42,
      draw: drawOnce((place) => <StepRow key={i.key} i={i} open={isOpen(i.key)} marked={i.key === hash} toggle={() => toggle(i.key, isOpen(i.key))} place={place} alone={!compact && items.length <= LONG} />),
    }))),
  ]), [groups, folded, all, hash]);

  const go = (key: string, focus = true) => {
    const group = groups.find((g) => g.items.some((i) => i.key === key));
    if (group && isFolded(group)) toggle(group.key, false);
    requestAnimationFrame(() => scroller.current?.to(key, focus));
  };
  const jump = (what: string, by: number) => {
    const [, name, , fits] = JUMPS.find(([, n]) => n === what) ?? [];
    const order = by > 0 ? items : [...items].reverse();
    const focused = document.activeElement?.closest("li.event")?.id || at;
    const from = order.findIndex((i) => i.key === focused);
    const next = [...order.slice(from + 1), ...order.slice(0, Math.max(0, from))].find((i) => fits?.(i));
    if (!next) return announce(`There is no ${name}.`, 0);
    if (compact) toggle(next.key, false);
    go(next.key);
    announce(`Step ${items.indexOf(next) + 1} of ${items.length}: ${next.name}${next.bad ? ", failed" : next.cut ? ", cut" : ""}`, 0);
  };

  useEffect(() => {
    if (hash && items.some((i) => i.key === hash)) go(hash);
  }, [hash, items.length > 0]);
  useEffect(() => {
    const hear = (e: Event) => {
      const { what, by } = (e as CustomEvent<{ what: string; by: number }>).detail;
      jump(what, by);
    };
    document.addEventListener("rationale-jump", hear);
    return () => document.removeEventListener("rationale-jump", hear);
  });
  const [outline, setOutline] = useState(false);
  const long = items.length > LONG;
  const entries: Entry[] = useMemo(() => long ? groups.flatMap((g) => [
    ...(many ? [{ key: g.key, words: g.title, group: true, look: g.items.some((i) => i.bad) ? "bad" : "" }] : []),
    ...(isFolded(g) ? [] : g.items.map((i) => ({ key: i.key, get words() { return i.head; }, group: false, look: `${i.kind} ${i.bad ? "bad" : i.cut ? "cut" : ""}` }))),
  ]) : [], [groups, folded]);
  const open = useRef(go);
  open.current = go;
  const timeAxis = useMemo(() => (axis ? <TimeAxis spans={items.filter((i) => i.kind !== "approval")} open={(key) => open.current(key)} /> : null), [items, axis]);
  const place = items.findIndex((i) => i.key === at);
  return (
    <div class={`steps-page ${long ? "with-outline" : ""} ${outline ? "outline-open" : ""}`}>
      <h2 class="unseen">{label}</h2>
      {timeAxis}
      {before ?? null}
      {long ? (
        <div class="jumps" role="toolbar" aria-label="Steps">
          <span class="numbers quiet">{place >= 0 ? `Step ${place + 1} of ${items.length}` : plural(items.length, "step")}</span>
          {JUMPS.map(([key, what, title, fits]) => {
            const n = items.filter(fits).length;
            return <button type="button" class="small" disabled={!n} aria-keyshortcuts={key} title={`Key ${key}; with shift back`} onClick={() => jump(what, 1)}>{title} <small>{n}</small></button>;
          })}
          <button type="button" class="small" onClick={() => {
            setFolded({});
            setAll(!(all ?? !compact));
          }}>{all ?? !compact ? "Fold steps" : "Open steps"}</button>
          {many ? <button type="button" class="small fold-turns" onClick={() => setFolded((f) => ({ ...f, ...Object.fromEntries(groups.map((g) => [g.key, !groups.every(isFolded)])) }))}>{groups.every(isFolded) ? "Open turns" : "Fold turns"}</button> : null}
          <button type="button" class="small outline-toggle" aria-expanded={outline} onClick={() => setOutline(!outline)}>Outline</button>
        </div>
      ) : null}
      {long ? <Outline of={entries} at={at} to={go} /> : null}
      <VirtualList rows={rows} label={label} name={`timeline ${compact ? "compact" : ""}`} scroller={scroller} moved={(key) => setAt((was) => (was === key ? was : key))} />
    </div>
  );
}
