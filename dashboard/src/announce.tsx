// announce.tsx - for screen readers: says which page is open and what has changed on it.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "preact/hooks";
import { Cell, useCell } from "./cell";

const said = new Cell("");
let timer = 0;

// Announces the words after a pause; of several calls within it only the last.
export function announce(words: string, ms = 400): void {
  clearTimeout(timer);
  timer = window.setTimeout(() => (said.value = words), ms);
}

let here = ""; // the path that was named last
let moved = false; // left the first page, whose name the browser announces itself

// Called when the page is drawn, which on a slow connection is long after the address has changed.
export function namePage(title: string): void {
  document.title = `${title} · Rationale`;
  moved ||= here !== "" && here !== location.pathname;
  here = location.pathname;
  if (moved) announce(title, 300);
}

// The region that screen readers read out. After a change of page the focus moves into the page, because
// the link that had it may be gone.
export function Announcer({ path }: { path: string }) {
  const words = useCell(said);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) return void (first.current = false);
    const main = document.getElementById("main");
    if (!main?.contains(document.activeElement)) main?.focus({ preventScroll: true });
  }, [path]);
  return <p class="unseen" role="status" data-testid="announcer">{words}</p>;
}
