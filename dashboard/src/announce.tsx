// announce.tsx - words for those who hear the page: where one has come to, and what has changed there.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "preact/hooks";
import { Cell, useCell } from "./cell";

const said = new Cell("");
let timer = 0;

// Said once things are quiet: of several changes at once the last.
export function announce(words: string, ms = 400): void {
  clearTimeout(timer);
  timer = window.setTimeout(() => (said.value = words), ms);
}

let here = ""; // the path that was named last
let moved = false; // no longer on the page that was opened: its name the browser says itself

// The page's name, set when the page is there: on a slow connection that is long after its address.
export function namePage(title: string): void {
  document.title = `${title} · Rationale`;
  moved ||= here !== "" && here !== location.pathname;
  here = location.pathname;
  if (moved) announce(title, 300);
}

// The region that is read out. After a change of the page the focus is in the page and not on a link
// that is gone.
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
