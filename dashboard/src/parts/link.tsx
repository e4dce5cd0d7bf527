// link.tsx - where a link of a model leads, said before it is followed. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "preact/hooks";
import { Cell, useCell } from "../cell";
import { Copy, Text } from "./basics";

const asked = new Cell<string | null>(null);

export function confirmLink(url: string): void {
  asked.value = url;
}

export function LinkDialog() {
  const url = useCell(asked);
  const dialog = useRef<HTMLDialogElement>(null);
  const close = () => (asked.value = null);

  useEffect(() => {
    if (url && !dialog.current?.open) dialog.current?.showModal();
    if (!url) dialog.current?.close();
  }, [url]);
  return (
    <dialog ref={dialog} class="dialog" aria-labelledby="link-title" onClose={close}>
      {url ? (
        <>
          <h2 id="link-title">This link was written by a model</h2>
          <p class="quiet">It leads out of the dashboard, to this address:</p>
          <p class="whole-address"><Text>{url}</Text></p>
          <div class="actions">
            <button type="button" onClick={close}>Stay here</button>
            <Copy text={url} label="Copy the address" />
            <a class="button" href={url} target="_blank" rel="noopener noreferrer nofollow" onClick={close}>Open in a new tab</a>
          </div>
        </>
      ) : null}
    </dialog>
  );
}
