// narrow.tsx - the filters of a list that is all here: words and a state, both in the address. SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { go, usePlace, withQuery } from "../route";
import { Search } from "./basics";

// The rows that match the filters of the address, and the fields that set them; no fields for one row.
export function useNarrow<T>(rows: T[], of: { text: (row: T) => string; state?: (row: T) => string; label: string }): { rows: T[]; filters: ComponentChildren } {
  const { query: q } = usePlace();
  const find = q.get("find") ?? "", state = q.get("state") ?? "";
  const states = of.state ? [...new Set(rows.map(of.state))].filter(Boolean).sort() : [];
  if (rows.length < 2 && !find && !state) return { rows, filters: null };
  const words = find.toLowerCase().split(/\s+/).filter(Boolean);
  const left = rows.filter((r) => (!state || of.state?.(r) === state) && words.every((w) => of.text(r).toLowerCase().includes(w)));
  const set = (change: Record<string, string | null>) => go(withQuery(change));
  const filters = (
    <div class="filters open" role="search">
      <Search label={of.label} value={find} query={(find) => ({ find })} />
      {states.length > 1 || state ? (
        <div class="chips" role="group" aria-label="State">
          {[...new Set([...states, state])].filter(Boolean).map((s) => <button type="button" class="chip" aria-pressed={s === state} onClick={() => set({ state: s === state ? null : s })}>{s.replace(/_/g, " ")}</button>)}
        </div>
      ) : null}
      {left.length ? null : <span class="quiet" role="status">None is like that.</span>}
    </div>
  );
  return { rows: left, filters };
}
