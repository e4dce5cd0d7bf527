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

export function usePlace(): Place {
  return useCell(place);
}

export function go(to: string, replace = false): void {
  const url = new URL(to, location.href);
  if (url.origin !== location.origin) return;
  const moved = url.pathname !== location.pathname;
  history[replace ? "replaceState" : "pushState"](null, "", url);
  place.value = read();
  if (moved) window.scrollTo(0, 0);
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
  addEventListener("popstate", () => (place.value = read()));
  addEventListener("hashchange", () => (place.value = read()));
  document.addEventListener("click", onClick);
}
