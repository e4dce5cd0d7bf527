// route.ts - addresses: the path says which page, the query what it shows. SPDX-License-Identifier: Apache-2.0
import { Cell, useCell } from "./cell";

export interface Place {
  path: string;
  query: URLSearchParams;
  hash: string;
}

function read(): Place {
  let hash = location.hash.slice(1);
  try {
    hash = decodeURIComponent(hash);
  } catch {
    // as it stands
  }
  return { path: location.pathname, query: new URLSearchParams(location.search), hash };
}

const place = new Cell<Place>(read());
const RETURN_MS = 5000;
let typed = ""; // the address that typing has written

export function usePlace(): Place {
  return useCell(place);
}

export function go(to: string, replace = false): void {
  const url = new URL(to, location.href);
  if (url.origin !== location.origin) return;
  const moved = url.pathname !== location.pathname;
  const step = !replace && url.href !== location.href;
  if (step) history.replaceState({ y: scrollY, link: document.activeElement?.getAttribute("href") }, "");
  history[step ? "pushState" : "replaceState"](null, "", url);
  endTyping();
  place.value = read();
  if (moved) window.scrollTo(0, 0);
}

// For fields that change the address while one types: all keys up to endTyping are one step of the history.
export function goTyping(to: string): void {
  go(to, location.href === typed);
  typed = location.href;
}

export function endTyping(): void {
  typed = "";
}

function onReturn(): void {
  endTyping();
  place.value = read();
}

interface Left {
  y: number;
  link: string | null; // that was followed
}

const STOPS = ["wheel", "touchstart", "pointerdown", "keydown"];

// Scrolls to where the reader left the page, and focuses the link that was followed. The page has to load its
// data first; a reader who scrolls meanwhile has chosen another place.
function returnTo({ y, link }: Left): void {
  const end = performance.now() + RETURN_MS;
  const chosen = new AbortController();
  let steady = 0; // frames: a page may scroll by itself after its data has come
  for (const name of STOPS) addEventListener(name, () => chosen.abort(), { once: true, signal: chosen.signal, passive: true });
  const frame = () => {
    if (chosen.signal.aborted) return;
    if (!document.querySelector(".loading") && document.documentElement.scrollHeight >= y + innerHeight) {
      scrollTo(0, y);
      if (link) document.querySelector<HTMLElement>(`main a[href="${CSS.escape(link)}"]`)?.focus({ preventScroll: true });
      steady++;
    }
    if (steady < 4 && performance.now() < end) requestAnimationFrame(frame);
    else chosen.abort();
  };
  requestAnimationFrame(frame);
}

// The query of this page with some words changed; empty ones are left out.
export function withQuery(change: Record<string, string | null>): string {
  const query = new URLSearchParams(location.search);
  for (const [name, value] of Object.entries(change)) {
    if (value) query.set(name, value);
    else query.delete(name);
  }
  const text = query.toString();
  return location.pathname + (text ? `?${text}` : "");
}

const PAGES = /^\/((sessions|agents|incidents|orders)(\/[^/]+)?|(workflows|runs)\/[^/]+|live|compare|policy|optimize|decisions|reasoning|providers|keys|system)?$/;

export function isPage(path: string): boolean {
  return PAGES.test(path);
}

function onClick(e: MouseEvent): void {
  if (e.defaultPrevented || e.button || e.metaKey || e.ctrlKey || e.shiftKey || e.altKey) return;
  const a = (e.target as Element | null)?.closest?.("a");
  if (!a || a.target || a.hasAttribute("download") || a.origin !== location.origin || !isPage(a.pathname)) return;
  e.preventDefault();
  go(a.href);
}

export function startRouting(): void {
  addEventListener("popstate", (e) => {
    onReturn();
    if (typeof e.state?.y === "number") returnTo(e.state as Left);
  });
  addEventListener("hashchange", onReturn);
  document.addEventListener("click", onClick);
}
