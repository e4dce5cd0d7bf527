// sessions.tsx - all sessions: found, filtered, paged. What is shown is in the address. SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { address, useApi, type SessionList } from "../api";
import { count, plural } from "../format";
import { live } from "../live";
import { Choice, Copy, Empty, Loaded, Marked, Search, SearchedBack, Title, UntilChip, When } from "../parts/basics";
import { AbsentNote } from "../parts/reasoning";
import { SessionTable, sessionAddress } from "../parts/sessions";
import { go, usePlace, withQuery } from "../route";
import { RANGES, since } from "../range";

const PAGE_SIZE = 25;
const SEARCH_MIN = 3;
const STATUSES = ["completed", "in_progress", "failed", "pending"];
const SORTS: [string, string][] = [
  ["", "newest first"],
  ["started_at_us", "oldest first"],
  ["-duration_ms", "longest"],
  ["-total_tokens", "most tokens"],
  ["-cost_usd", "most expensive"],
];

interface Options {
  agent_types?: string[];
  alert_types?: string[];
  models?: string[];
  keys?: string[];
  tools?: string[];
}

// Sessions in the order of the list one came from, to step through with [ and ].
let order: string[] = [];
export function neighbours(id: string): { before: string | null; after: string | null } {
  const at = order.indexOf(id);
  return { before: at > 0 ? (order[at - 1] ?? null) : null, after: at >= 0 ? (order[at + 1] ?? null) : null };
}

function Filters({ q }: { q: URLSearchParams }) {
  const options = useApi<Options>("/api/v1/history/filter-options").data ?? {};
  const set = (change: Record<string, string | null>) => go(withQuery({ ...change, page: null }));
  const statuses = q.get("status")?.split(",") ?? [];
  const toggle = (s: string) => set({ status: (statuses.includes(s) ? statuses.filter((x) => x !== s) : [...statuses, s]).join(",") });
  // A filter of a shared link is shown even if no session on record has its value.
  const pick = (name: string, label: string, from: string[] = []) => {
    const chosen = q.get(name) ?? "";
    const values = [...new Set(chosen ? [...from, chosen] : from)];
    return values.length ? <Choice label={label} value={chosen} options={[["", "any"], ...values.map((v): [string, string] => [v, v])]} onChange={(v) => set({ [name]: v })} /> : null;
  };
  const [open, setOpen] = useState([...q.keys()].some((k) => !["search", "status", "page"].includes(k)));
  return (
    <div class={`filters ${open ? "open" : ""}`} role="search">
      <Search label="Search words or reasoning:word" value={q.get("search") ?? ""} query={(search) => ({ search, page: null })} />
      <div class="chips" role="group" aria-label="Status">
        {STATUSES.map((s) => <button type="button" class="chip" aria-pressed={statuses.includes(s)} onClick={() => toggle(s)}>{s.replace("_", " ")}</button>)}
        <button type="button" class="chip more-filters" aria-expanded={open} onClick={() => setOpen(!open)}>more filters</button>
      </div>
      <div class="row">
        {pick("model", "Model", options.models)}
        {pick("key", "Key", options.keys)}
        {pick("tool", "Tool", options.tools)}
        {pick("agent_type", "Kind", options.agent_types)}
        {pick("alert_type", "Type", options.alert_types)}
        <Choice label="Time" value={q.get("range") ?? ""} options={RANGES} onChange={(v) => set({ range: v })} />
        <UntilChip until={q.get("until")} onClear={() => set({ until: null })} />
        <Choice label="Order" value={q.get("sort") ?? ""} options={SORTS} onChange={(v) => set({ sort: v })} />
        <label class="check"><input type="checkbox" checked={q.get("has_reasoning") === "true"} onChange={(e) => set({ has_reasoning: e.currentTarget.checked ? "true" : null })} /> with reasoning</label>
      </div>
    </div>
  );
}

function Pager({ list, newest }: { list: SessionList; newest: boolean }) {
  const { page, total_pages, total_items, total_is_exact, page_size } = list.pagination;
  const first = (page - 1) * page_size + 1;
  const to = (n: number) => go(withQuery({ page: n > 1 ? String(n) : null }));
  const [before, after] = newest ? ["Newer", "Older"] : ["Previous", "Next"];
  return (
    <nav class="pager" aria-label="Pages of the list">
      <button type="button" class="small" disabled={page <= 1} data-prev onClick={() => to(page - 1)}>{before}</button>
      <span class="numbers">{total_items ? `${count(first)} to ${count(Math.min(total_items, first + list.sessions.length - 1))} of ${total_is_exact === false ? "more than " : ""}${plural(total_items, "session")}` : ""}</span>
      <button type="button" class="small" disabled={page >= total_pages} data-next onClick={() => to(page + 1)}>{after}</button>
    </nav>
  );
}

interface Hit {
  type: string;
  session_id: string | null;
  interaction_id: string | null;
  timestamp_us: number;
  snippet: string;
}

// Calls and decisions that contain the words of the search.
function Hits({ q }: { q: string }) {
  const data = useApi<{ results: Hit[]; reasoning_absent?: string | null; searched_back_to_us?: number | null }>(q.length >= SEARCH_MIN ? address("/api/v1/history/search", { q, limit: 8 }) : null).data;
  const found = data?.results ?? [];
  if (q.length < SEARCH_MIN) return null;
  if (!found.length) return <><AbsentNote code={data?.reasoning_absent} /><SearchedBack us={data?.searched_back_to_us} what="Passages" /></>;
  return (
    <section class="hits" aria-label="Passages">
      <h2>Passages</h2>
      {found.filter((h) => h.session_id).map((h) => (
        <a class="hit" href={sessionAddress(h.session_id ?? "", h.interaction_id)} data-item>
          <span class="quiet">{h.type} · <When us={h.timestamp_us} /></span>
          <span class="snippet"><Marked q={q}>{h.snippet}</Marked></span>
        </a>
      ))}
      <SearchedBack us={data?.searched_back_to_us} what="Passages" />
    </section>
  );
}

export function SessionsPage() {
  const { query: q } = usePlace();
  const search = q.get("search") ?? "";
  const filters = {
    status: q.get("status")?.split(","),
    search: search.length >= SEARCH_MIN ? search : null,
    model: q.get("model"),
    key: q.get("key"),
    tool: q.get("tool"),
    agent_type: q.get("agent_type"),
    alert_type: q.get("alert_type"),
    has_reasoning: q.get("has_reasoning"),
    start_date_us: since(q.get("range")),
    end_date_us: q.get("until"),
  };
  const list = useApi<SessionList>(address("/api/v1/history/sessions", { page: q.get("page") ?? 1, page_size: PAGE_SIZE, ...filters, sort: q.get("sort") }));
  const [fresh, setFresh] = useState(0);

  useEffect(() => live.subscribe("dashboard_updates", (m) => {
    if (m.type === "session_status_change" || m.type === "again") setFresh((n) => n + 1);
  }), []);
  useEffect(() => setFresh(0), [list.data]);
  if (list.data) order = list.data.sessions.map((s) => s.session_id);
  const filtered = [...q.keys()].length > 0;
  return (
    <>
      <Title title="Sessions" about={`Conversations and runs, ${SORTS.find(([v]) => v === (q.get("sort") ?? ""))?.[1] ?? SORTS[0]?.[1]}.`}>
        {fresh ? <button type="button" class="small" onClick={list.reload}>{plural(fresh, "change")}: refresh</button> : null}
        <a class="button small" download href={address("/api/v1/history/export", { format: "csv", ...filters })}>Export CSV</a>
      </Title>
      <Filters q={q} />
      {search && search.length < SEARCH_MIN ? <p class="quiet">Type at least {SEARCH_MIN} letters.</p> : null}
      <Loaded of={list}>
        {(data) => data.sessions.length ? (
          <>
            <SessionTable sessions={data.sessions} q={search} picks />
            <Pager list={data} newest={!q.get("sort")} />
            <SearchedBack us={data.searched_back_to_us} what="Sessions" further />
          </>
        ) : data.pagination.page > 1 ? (
          <Empty title="The list ends before this page"><p><a href={withQuery({ page: null })}>Go to its first page</a>.</p></Empty>
        ) : filtered ? (
          <Empty title="No session is like that"><SearchedBack us={data.searched_back_to_us} what="Sessions" further /><p>Take a filter away, or <a href="/sessions">see all</a>.</p></Empty>
        ) : (
          <Empty title="No sessions yet">
            <p>Every call through the gateway becomes one. Make a first:</p>
            <pre class="code">{`curl ${location.origin}/v1/models`}</pre>
            <Copy text={`curl ${location.origin}/v1/models`} />
            <p><a href="/live">Or ask from the Live page.</a></p>
          </Empty>
        )}
      </Loaded>
      <Hits q={search} />
    </>
  );
}
