// draft.ts - what a person has typed and not yet sent. It outlives the form: a restarted gateway may ask for
// a login in between. SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";

const drafts = new Map<string, string>();

// As useState, for the field of that name on the page that is open.
export function useDraft(name: string, initial = ""): [string, (text: string) => void] {
  const [key] = useState(() => `${location.pathname} ${name}`);
  const [text, set] = useState(() => drafts.get(key) ?? initial);
  return [text, (now) => {
    if (now && now !== initial) drafts.set(key, now);
    else drafts.delete(key);
    set(now);
  }];
}

export function forgetDrafts(): void {
  drafts.clear();
}
