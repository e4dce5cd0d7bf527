// decisions.tsx - the decision log: why a tool was called, or none. SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { address, ask, useApi, type Decision } from "../api";
import { plural } from "../format";
import { Choice, Empty, Loaded, Marked, Search, SearchedBack, Text, Title, UntilChip, When } from "../parts/basics";
import { AbsentNote } from "../parts/reasoning";
import { sessionAddress } from "../parts/sessions";
import { RANGES, since } from "../range";
import { go, usePlace, withQuery } from "../route";

const LIMIT = 50;
const SNIPPET = 80; // characters of an answer in an entry without reasoning

interface Page {
  decisions: Decision[];
  reasoning_absent?: string | null;
  searched_back_to_us?: number | null;
  next_cursor?: string | null;
}

// Entries whose why is not on record because of a setting: said once above the list.
function Absent({ of }: { of: Page }) {
  const code = of.reasoning_absent ?? of.decisions.find((d) => d.reasoning_absent && !["none_given", "no_reply", "provider_keeps_it"].includes(d.reasoning_absent))?.reasoning_absent;
  const n = of.decisions.filter((d) => d.reasoning_absent === code).length;
  return <AbsentNote code={code} of={n ? `${plural(n, "entry", "entries")} without reasoning` : ""} />;
}

const HEAD = /^\[(TOOL_CALL|DIRECT)\]\s*/;

function Entry({ d, q, onTool }: { d: Decision; q: string; onTool: (t: string) => void }) {
  const tool = d.kind === "TOOL_CALL", tools = d.tools ?? [], names = `${tools.join(", ")}: `;
  const text = d.entry.replace(HEAD, "");
  // The names are below the text. Without reasoning, the text of an answer is its beginning.
  const why = tool && text.startsWith(names) && text.length > names.length ? text.slice(names.length)
    : !tool && d.reasoning_absent && [...text].length === SNIPPET ? `${text}…` : text;
  return (
    <li class="entry">
      <span class={`kindmark ${tool ? "tool" : ""}`}>{tool ? "tool call" : "direct answer"}</span>
      <div>
        <a class="why" href={sessionAddress(d.session_id ?? "", d.interaction_id)} data-item title={d.entry}><Marked q={q}>{why}</Marked></a>
        <span class="under">
          {[...new Set(tools)].map((t) => <button type="button" class="chip tiny" onClick={() => onTool(t)} title={`Only ${t}`}><Text>{t}</Text>{tools.filter((x) => x === t).length > 1 ? ` × ${tools.filter((x) => x === t).length}` : ""}</button>)}
          {d.state === "cut" ? <span class="mark" title="The reply broke off before it was complete">cut short</span> : null}
          {d.model ? <span>{d.model}</span> : null}
          <When us={d.timestamp_us} />
        </span>
      </div>
    </li>
  );
}

export function DecisionsPage() {
  const { query: q } = usePlace();
  const url = address("/api/v1/history/decisions", {
    q: q.get("q"), kind: q.get("kind"), tool: q.get("tool"), model: q.get("model"), session_id: q.get("session_id"), start_date_us: since(q.get("range")), end_date_us: q.get("until"), limit: LIMIT,
  });
  const first = useApi<Page>(url);
  const [more, setMore] = useState<Page[]>([]);
  const [busy, setBusy] = useState(false);
  const set = (change: Record<string, string | null>) => go(withQuery(change));
  useEffect(() => setMore([]), [first.data]);
  const last = more[more.length - 1] ?? first.data;
  const next = async () => {
    setBusy(true);
    const page = await ask<Page>(`${url}&cursor=${encodeURIComponent(last?.next_cursor ?? "")}`).catch(() => null);
    setBusy(false);
    if (page) setMore((m) => [...m, page]);
  };
  const kinds: [string, string][] = [["", "All"], ["TOOL_CALL", "Tool calls"], ["DIRECT", "Direct answers"]];
  return (
    <>
      <Title title="Decisions" about="Why a tool was called, or why none was: one entry for each model call." />
      <div class="filters open" role="search">
        <Search label="Why was this tool called?" value={q.get("q") ?? ""} query={(q) => ({ q })} />
        <div class="chips" role="group" aria-label="Kind">
          {kinds.map(([v, words]) => <button type="button" class="chip" aria-pressed={(q.get("kind") ?? "") === v} onClick={() => set({ kind: v })}>{words}</button>)}
        </div>
        <div class="row">
          <label class="field"><span>Tool</span><input value={q.get("tool") ?? ""} spellcheck={false} placeholder="any" onChange={(e) => set({ tool: e.currentTarget.value.trim() })} /></label>
          <Choice label="Time" value={q.get("range") ?? ""} options={RANGES} onChange={(v) => set({ range: v })} />
          <UntilChip until={q.get("until")} onClear={() => set({ until: null })} />
          {q.get("session_id") ? <button type="button" class="chip" aria-pressed="true" onClick={() => set({ session_id: null })}>one session ×</button> : null}
        </div>
      </div>
      <Loaded of={first}>
        {(data) => data.decisions.length || data.next_cursor ? (
          <>
            <Absent of={data} />
            {[data, ...more].some((p) => p.decisions.length) ? null : <p class="quiet">No decision is like that in the part that was searched.</p>}
            <ol class="entries">{[data, ...more].flatMap((p) => p.decisions).map((d) => <Entry key={d.decision_id} d={d} q={q.get("q") ?? ""} onTool={(t) => set({ tool: t, kind: null })} />)}</ol>
            {last?.next_cursor ? <p class="pager"><button type="button" class="small" disabled={busy} data-next onClick={next}>{busy ? "Loading…" : "Older entries"}</button></p> : null}
            <SearchedBack us={last?.searched_back_to_us} what="Decisions" further />
          </>
        ) : [...q.keys()].length ? (
          <Empty title="No decision is like that"><Absent of={data} /><SearchedBack us={data.searched_back_to_us} what="Decisions" further /><p>Take a filter away, or <a href="/decisions">see all</a>.</p></Empty>
        ) : (
          <Empty title="No decisions yet"><p>Each call that goes through leaves one. <a href="/live">Ask something on the Live page</a>, with tools or without.</p></Empty>
        )}
      </Loaded>
    </>
  );
}
