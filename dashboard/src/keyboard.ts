// keyboard.ts - everything without a mouse. SPDX-License-Identifier: Apache-2.0
import { Cell } from "./cell";
import { go } from "./route";

const SEARCH_WAIT_MS = 5000;

export const helpOpen = new Cell(false);

export const KEYS: [string, string][] = [
  ["/", "search"],
  ["j  k", "the next, the one before"],
  ["Enter", "open it; on a call: fold its reasoning out"],
  ["[  ]", "the session or page before, the next"],
  ["x", "fold all reasoning out, or in"],
  ["e  c  t", "the next error, cut or tool call; with shift the one before"],
  ["g o", "Overview"],
  ["g l", "Live"],
  ["g s", "Sessions"],
  ["g a", "Agents"],
  ["g i", "Incidents"],
  ["g d", "Decisions"],
  ["g r", "Reasoning"],
  ["g p", "Providers and levels"],
  ["g k", "Keys"],
  ["g y", "System"],
  ["?", "this help"],
];

const PLACES: Record<string, string> = { o: "/", l: "/live", s: "/sessions", a: "/agents", i: "/incidents", d: "/decisions", r: "/reasoning", p: "/providers", k: "/keys", y: "/system" };

function typing(e: KeyboardEvent): boolean {
  const t = e.target as HTMLElement | null;
  return Boolean(t?.closest?.("input, textarea, select, [contenteditable]"));
}

function move(by: number): void {
  const items = [...document.querySelectorAll<HTMLElement>("main [data-item]")];
  const at = items.findIndex((i) => i === document.activeElement || i.contains(document.activeElement));
  const next = items[at < 0 ? (by > 0 ? 0 : items.length - 1) : Math.max(0, Math.min(items.length - 1, at + by))];
  next?.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
}

function press(selector: string): void {
  document.querySelector<HTMLElement>(`main ${selector}:not(:disabled)`)?.click();
}

function focusSearch(): boolean {
  const box = document.querySelector<HTMLInputElement>("main [data-search]");
  box?.focus();
  box?.select();
  return Boolean(box);
}

// On a page without a search, in that of Sessions; it may have to be loaded first.
function search(): void {
  if (focusSearch()) return;
  const until = performance.now() + SEARCH_WAIT_MS;
  const retry = () => void (focusSearch() || performance.now() > until || requestAnimationFrame(retry));
  go("/sessions");
  retry();
}

function jump(what: string, by: number): () => void {
  return () => document.dispatchEvent(new CustomEvent("rationale-jump", { detail: { what, by } }));
}

const ACTIONS: Record<string, () => void> = {
  e: jump("error", 1), E: jump("error", -1),
  c: jump("cut", 1), C: jump("cut", -1),
  t: jump("tool", 1), T: jump("tool", -1),
  "/": search,
  j: () => move(1),
  k: () => move(-1),
  "[": () => press("[data-prev]"),
  "]": () => press("[data-next]"),
  x: () => press("[data-expand]"),
  "?": () => (helpOpen.value = !helpOpen.value),
};

export function startKeyboard(): void {
  let going = -Infinity; // when g was pressed
  document.addEventListener("keydown", (e) => {
    if (e.key === "Escape" && typing(e)) return (e.target as HTMLElement).blur();
    if (e.metaKey || e.ctrlKey || e.altKey || typing(e) || document.querySelector("dialog[open]")) return;
    const place = e.timeStamp - going < 1500 ? PLACES[e.key] : undefined;
    going = e.key === "g" ? e.timeStamp : -Infinity;
    const item = e.target as HTMLElement;
    if (place) go(place);
    else if (e.key === "Enter" && item.matches?.("li[data-item]")) item.querySelector<HTMLElement>(item.matches(".folded") ? ".fold" : ".reasoning-head")?.click();
    else if (ACTIONS[e.key]) ACTIONS[e.key]?.();
    else return;
    e.preventDefault();
  });
}
