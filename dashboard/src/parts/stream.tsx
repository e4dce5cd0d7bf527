// stream.tsx - text while it is generated: new text is appended once a frame, old text is not drawn
// again; the box has a fixed height and shows the end. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "preact/hooks";
import type { Growing } from "../calls";
import { nextFrame } from "../cell";
import { plain } from "../visible";

const NODES_MAX = 400; // text nodes in one box; beyond it the oldest are removed
const FIRST_MAX = 16_000; // characters of earlier text that the box begins with

export function Stream({ of, kind, label }: { of: Growing; kind: "reasoning" | "answer"; label: string }) {
  const box = useRef<HTMLDivElement>(null);

  useEffect(() => {
    const div = box.current;
    if (!div) return;
    let fresh = "";
    const flush = () => {
      if (!fresh) return;
      div.append(plain(fresh));
      fresh = "";
      while (div.childNodes.length > NODES_MAX) div.firstChild?.remove();
      toEnd();
    };
    // The upper edge fades if the text is longer than the box.
    const toEnd = () => {
      if (div.scrollHeight > div.clientHeight) div.dataset.full = "";
      div.scrollTop = div.scrollHeight;
    };
    div.replaceChildren(plain(of.text.slice(-FIRST_MAX)));
    toEnd();
    return of.follow((piece) => {
      if (piece === null) {
        fresh = "";
        div.replaceChildren();
        delete div.dataset.full;
        return;
      }
      fresh += piece;
      nextFrame(flush);
    });
  }, [of]);
  return <div ref={box} class={`stream ${kind}`} dir="auto" role="log" aria-live="off" aria-label={label} tabIndex={0} />;
}
