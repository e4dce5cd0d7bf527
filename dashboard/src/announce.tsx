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

// The region that is read out. After a change of the page its name is said, and the focus is in the
// page and not on a link that is gone.
export function Announcer({ path }: { path: string }) {
  const words = useCell(said);
  const first = useRef(true);
  useEffect(() => {
    if (first.current) return void (first.current = false);
    const main = document.getElementById("main");
    if (!main?.contains(document.activeElement)) main?.focus({ preventScroll: true });
    const named = setTimeout(() => announce(document.title.replace(" · Rationale", ""), 0), 300);
    return () => clearTimeout(named);
  }, [path]);
  return <p class="unseen" role="status" data-testid="announcer">{words}</p>;
}
