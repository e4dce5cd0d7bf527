// picked.tsx - two things of a list, chosen to be compared. SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";

export type Kind = "call" | "session" | "run" | "prompt";

export interface Picked {
  ids: string[];
  toggle: (id: string) => void;
}

// At most two ids; a third replaces the first.
export function usePicked(): Picked {
  const [ids, set] = useState<string[]>([]);
  return { ids, toggle: (id) => set((now) => (now.includes(id) ? now.filter((x) => x !== id) : [...now, id].slice(-2))) };
}

// If one id is "", the page lists the newest things to choose from.
export function compareAddress(kind: Kind, a: string, b: string): string {
  return `/compare?kind=${kind}&a=${encodeURIComponent(a)}&b=${encodeURIComponent(b)}`;
}

export function Pick({ picked, id, name }: { picked: Picked; id: string; name: string }) {
  return <input type="checkbox" class="pick-box" aria-label={`Compare ${name}`} title="Choose two to compare them" checked={picked.ids.includes(id)} onChange={() => picked.toggle(id)} />;
}

export function CompareBar({ kind, picked }: { kind: Kind; picked: Picked }) {
  const [a, b] = picked.ids;
  if (!a) return null;
  return (
    <p class="compare-bar" role="status">
      {b ? <a class="button small" href={compareAddress(kind, a, b)}>Compare the two {kind}s</a> : <span class="quiet">Choose a second {kind} to compare it with.</span>}
    </p>
  );
}
