// system.tsx - the gateway itself: health, store, configuration and where each value comes from. SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { send, useApi } from "../api";
import { bytes, count, duration, fullTime } from "../format";
import { live } from "../live";
import { go, usePlace, withQuery } from "../route";
import { RecordCard, type Backlog } from "../parts/health";
import { Badge, Copy, Disclosure, Figure, Json, Loaded, Search, Text, Title, When } from "../parts/basics";

interface ConfigRow {
  path: string;
  value: unknown;
  origin: string;
}

interface System {
  version?: string;
  uptime?: number;
  uptime_ms?: number;
  uptime_seconds?: number;
  config?: ConfigRow[];
  store?: Backlog & { enabled?: boolean } & Record<string, unknown>;
  [more: string]: unknown;
}

interface Audit {
  head?: { seq?: number; hash?: string; time?: number; time_us?: number; timestamp_us?: number } | null;
  entries?: Record<string, unknown>[];
}

function value(name: string, v: unknown): string {
  if (v == null) return "–";
  if (typeof v === "boolean") return v ? "yes" : "no";
  if (typeof v === "number") {
    if (/bytes|size|free/.test(name)) return bytes(v);
    if (/_ms$/.test(name)) return duration(v);
    if (/_us$/.test(name)) return v > 1e12 ? fullTime(v) : duration(v / 1000);
    return count(v);
  }
  return typeof v === "string" ? v : JSON.stringify(v);
}

// Of the store: the figures that the record's card shows.
const IN_RECORD = /^(ok|tables_ok|why|journal_|pending_)/;

const NAMES: Record<string, string> = {
  stored: "records stored",
  dropped: "records dropped",
  queue_bytes: "waiting to be written",
  free_bytes: "free on the disk",
  commit_ms: "time of a commit, on average",
  window_ms: "lost at a power loss, at most",
};

function Facts({ title, of }: { title: string; of: Record<string, unknown> }) {
  return (
    <section class="card">
      <h2>{title}</h2>
      <dl class="facts-list">
        {Object.entries(of).filter(([, v]) => v !== "").filter(([, v]) => typeof v !== "object" || v === null || Array.isArray(v)).map(([k, v]) => <div><dt>{NAMES[k] ?? k.replace(/_(us|ms|bytes)$/, "").replace(/_/g, " ")}</dt><dd><Text>{value(k, v)}</Text></dd></div>)}
      </dl>
    </section>
  );
}

interface Kept {
  reasoning: string;
  masked: boolean;
  where: string;
  size_bytes: number;
  journal: string;
  journal_bytes: number;
  retention: string;
}

const REASONING: Record<string, string> = {
  text: "kept as text",
  summary: "kept as a summary; reasoning.keep: text keeps it whole",
  none: "not kept; reasoning.keep: text keeps it",
};

function KeptCard({ of: k }: { of: Kept }) {
  const rows: [string, string][] = [
    ["reasoning", REASONING[k.reasoning] ?? k.reasoning],
    ["requests and answers", "kept"],
    ["secrets", k.masked ? "masked before they are written" : "not masked"],
    ["where", k.where],
    ["size now", `${bytes(k.size_bytes)}; journal files ${bytes(k.journal_bytes)}`],
    ["journal", k.journal],
    ["retention", k.retention || "not set, so records stay until you erase them; set retention.age or retention.size to delete old ones"],
  ];
  return (
    <section class="card" aria-label="What is kept" data-testid="kept">
      <h2>What is kept</h2>
      <dl class="facts-list">{rows.filter(([, v]) => v).map(([k, v]) => <div><dt>{k}</dt><dd><Text>{v}</Text></dd></div>)}</dl>
    </section>
  );
}

function Config({ rows }: { rows: ConfigRow[] }) {
  const { query } = usePlace();
  const q = query.get("find") ?? "", all = query.get("defaults") === "true";
  const found = rows.filter((r) => (all || r.origin !== "default" || q) && `${r.path} ${String(r.value)}`.toLowerCase().includes(q.toLowerCase()));
  return (
    <section aria-label="Configuration">
      <h2>Configuration in effect</h2>
      <div class="filters">
        <Search label="Search the configuration" value={q} query={(find) => ({ find })} />
        <label class="check"><input type="checkbox" checked={all} onChange={(e) => go(withQuery({ defaults: e.currentTarget.checked ? "true" : null }))} /> defaults too</label>
      </div>
      {found.length ? (
        <table class="rows config">
          <thead><tr><th>Name</th><th>Value</th><th>From</th></tr></thead>
          <tbody>
            {found.map((r) => (
              <tr>
                <td class="main"><code>{r.path}</code></td>
                <td data-label="value"><code><Text>{typeof r.value === "string" ? r.value : JSON.stringify(r.value)}</Text></code></td>
                <td data-label="from"><Badge tone={r.origin === "default" ? "" : "cap"}>{r.origin}</Badge></td>
              </tr>
            ))}
          </tbody>
        </table>
      ) : <p class="quiet">{q ? "No name or value has these letters." : "All of it is as it comes."}</p>}
    </section>
  );
}

function AuditLog() {
  const audit = useApi<Audit>("/api/v1/audit");
  const [told, setTold] = useState("");
  const verify = async () => {
    setTold("Verifying…");
    try {
      const r = await send<Record<string, unknown>>("POST", "/api/v1/audit/verify", {});
      const good = r.ok ?? r.valid ?? r.verified;
      const entries = r.entries ?? r.checked ?? r.count;
      setTold(good === false ? `The chain is broken: ${String(r.message ?? r.why ?? JSON.stringify(r))}` : `The chain holds${typeof entries === "number" ? ` over ${count(entries)} entries` : ""}.`);
    } catch (e) {
      setTold((e as Error).message);
    }
  };
  const head = audit.data?.head;
  if (audit.error) return null;
  return (
    <section class="card" aria-label="Audit log">
      <h2>Audit log</h2>
      {head?.hash ? <p class="wrap"><span class="quiet">entry {count(head.seq)}</span><code class="id">{head.hash}</code><Copy text={head.hash} label="Copy the head" /></p> : <p class="quiet">{audit.data ? "Nothing is on record yet." : "Loading…"}</p>}
      <p class="wrap"><button type="button" class="small" onClick={verify}>Verify the chain</button><span role="status">{told}</span></p>
      {audit.data?.entries?.length ? (
        <Disclosure title="Newest entries" note={count(audit.data.entries.length)}>
          {() => <ul class="audit">{audit.data?.entries?.map((e) => <li><When us={Number(e.timestamp_us ?? e.time_us ?? e.at_us ?? 0)} /> <Text>{String(e.action ?? e.kind ?? e.what ?? "")}</Text> <code><Text>{String(e.subject ?? e.target ?? e.session_id ?? e.detail ?? "")}</Text></code></li>)}</ul>}
        </Disclosure>
      ) : null}
    </section>
  );
}

function uptime(s: System): string {
  const ms = s.uptime_ms ?? (s.uptime_seconds ?? s.uptime ?? NaN) * 1000;
  return duration(ms);
}

export function SystemPage() {
  const system = useApi<System>("/api/v1/system");
  const kept = useApi<Kept>("/api/v1/history/kept");
  const health = useApi<{ status?: string; details?: unknown }>("/api/v1/history/health");
  const refresh = () => {
    system.reload();
    health.reload();
    kept.reload();
  };
  useEffect(() => live.subscribe("system_health", refresh), []);
  return (
    <>
      <Title title="System" about="The gateway itself: its health, its store, and every setting with where it comes from.">
        <button type="button" class="small" onClick={refresh}>Refresh</button>
      </Title>
      <Loaded of={system}>
        {(s) => {
          const parts = Object.entries(s).filter(([k, v]) => v && typeof v === "object" && !Array.isArray(v) && k !== "config");
          const plain = Object.entries(s).filter(([k, v]) => (typeof v !== "object" || v === null) && !/^(version|uptime|started)/.test(k));
          return (
            <>
              <dl class="figures">
                <Figure label="Version" value={String(s.version ?? "–")} />
                <Figure label="Up for" value={uptime(s)} />
                <Figure label="History" value={health.data?.status ?? "–"} tone={health.data?.status && health.data.status !== "healthy" ? "warm" : ""} />
                {plain.slice(0, 4).map(([k, v]) => <Figure label={k.replace(/_/g, " ")} value={value(k, v)} />)}
              </dl>
              <div class="columns pair">
                <div class="stack">
                  {s.store?.enabled ? <RecordCard of={s.store} status={health.data?.status ?? ""} /> : null}
                  {kept.data?.reasoning ? <KeptCard of={kept.data} /> : null}
                  {s.config?.length && s.store?.enabled ? <AuditLog /> : null}
                </div>
                {parts.map(([k, v]) => <Facts title={k.replace(/_/g, " ")} of={Object.fromEntries(Object.entries(v as object).filter(([n]) => k !== "store" || !IN_RECORD.test(n)))} />)}
              </div>
              {s.config?.length ? <Config rows={s.config} /> : <p class="quiet" data-testid="operators-only">The configuration and the audit log are shown to the key of an operator.</p>}
              {health.data?.details ? <Disclosure title="Health in detail">{() => <Json value={health.data?.details} />}</Disclosure> : null}
            </>
          );
        }}
      </Loaded>
    </>
  );
}
