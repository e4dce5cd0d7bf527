// overview.tsx - the first page: what needs a person, and how calls went over time. All of its state is in the address.
// SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import { address, ask, useApi, type CallRow, type Overview, type OverviewSums } from "../api";
import { count, latency, money, percent, plural, short } from "../format";
import { CallTable } from "../parts/calllist";
import { Badge, Choice, Empty, Figure, Loaded, SearchedBack, Text, Title } from "../parts/basics";
import { Chart, type Axis, type Series } from "../parts/chart";
import { Attention } from "../parts/attention";
import { go, goTyping, usePlace, withQuery } from "../route";
import { fromField, momentIn, OWN_ZONE, rangeOf, SPANS, toField, type Range } from "../zone";

const GROUPS_DRAWN = 5;
const REFRESH_MS = 30_000;
const OUTCOMES: [string, string][] = [["", "all calls"], ["failed", "failed"], ["cut", "cut by budget"], ["starved", "starved"]];

const set = (change: Record<string, string | null>) => go(withQuery(change));

function RangePicker({ range, zone, q }: { range: Range; zone: string; q: URLSearchParams }) {
  const from = useRef<HTMLInputElement>(null), to = useRef<HTMLInputElement>(null);
  const span = ["range", "from", "to"].map((name) => q.get(name) ?? "").join(" ");
  const [opened, setOpened] = useState<string | null>(null); // the span at which a custom one was asked for
  const custom = range.custom || opened === span;
  const [problem, setProblem] = useState("");
  const apply = (e: Event) => {
    e.preventDefault();
    const a = fromField(from.current?.value ?? "", zone), b = fromField(to.current?.value ?? "", zone);
    if (!Number.isFinite(a) || !Number.isFinite(b)) return setProblem("Both times are needed.");
    if (b <= a) return setProblem("The first time must be before the second.");
    setProblem("");
    set({ range: null, from: new Date(a).toISOString().slice(0, 16) + "Z", to: new Date(b).toISOString().slice(0, 16) + "Z", at: null });
  };
  const zones: [string, string][] = OWN_ZONE === "UTC" ? [["", "UTC"]] : [["", OWN_ZONE], ["UTC", "UTC"]];
  return (
    <div class="range">
      <div class="row">
        <Choice label="Time" value={custom ? "custom" : (q.get("range") ?? "24h")} options={[...SPANS.map(([v, words]): [string, string] => [v, words]), ["custom", "custom range"]]}
          onChange={(v) => {
            setOpened(v === "custom" ? span : null);
            if (v !== "custom") set({ range: v === "24h" ? null : v, from: null, to: null, at: null });
          }} />
        <Choice label="Time zone" value={q.get("tz") === "UTC" ? (OWN_ZONE === "UTC" ? "" : "UTC") : ""} options={zones} onChange={(v) => set({ tz: v || null })} />
      </div>
      {custom ? (
        <form class="row custom" onSubmit={apply} key={`${zone} ${range.custom ? span : ""}`}>
          <label class="field"><span>From</span><input ref={from} type="datetime-local" defaultValue={toField(range.from, zone)} required /></label>
          <label class="field"><span>To</span><input ref={to} type="datetime-local" defaultValue={toField(range.to, zone)} required /></label>
          <button type="submit" class="small">Show</button>
          {problem ? <span class="problem" role="alert">{problem}</span> : null}
        </form>
      ) : null}
    </div>
  );
}

function tickDuration(ms: number): string {
  if (!ms) return "0";
  return ms < 1000 ? `${ms} ms` : ms < 60_000 ? `${ms / 1000} s` : `${+(ms / 60_000).toFixed(1)} min`;
}

const share = (s: { reasoning_tokens: number; output_tokens: number }) => (s.output_tokens ? Math.min(1, s.reasoning_tokens / s.output_tokens) : NaN);

// A number of calls that leads to them.
function Calls({ n, outcome, words }: { n: number; outcome: string; words: string }) {
  return n ? <a href={`${withQuery({ outcome })}#calls`} aria-label={`${count(n)}: show the calls that ${words}`}>{count(n)}</a> : <>0</>;
}

function Figures({ t }: { t: OverviewSums }) {
  return (
    <dl class="figures many" aria-label="Sums of the range">
      <Figure label="Calls" value={count(t.calls)} />
      <Figure label="Errors" value={<Calls n={t.failed} outcome="failed" words="failed" />} note={t.calls ? `${((100 * t.failed) / t.calls).toFixed(t.failed && t.failed / t.calls < 0.1 ? 1 : 0)} %` : ""} tone={t.failed ? "warm" : ""} />
      <Figure label="Latency p50" value={latency(t.p50_ms)} />
      <Figure label="Latency p95" value={latency(t.p95_ms)} />
      <Figure label="Tokens" value={short(t.input_tokens + t.output_tokens)} />
      <Figure label="Reasoning share" value={percent(share(t))} />
      <Figure label="Cost" value={money(t.cost_usd)} />
      <Figure label="Cut by budget" value={<Calls n={t.cut} outcome="cut" words="were cut" />} tone={t.cut ? "warm" : ""} />
      <Figure label="Starved" value={<Calls n={t.starved} outcome="starved" words="starved" />} tone={t.starved ? "warm" : ""} />
    </dl>
  );
}

// One series for each of the largest groups and one for the rest, or one for all.
function split(data: Overview, by: string, value: (s: OverviewSums["series"], i: number) => number | null, name: string): Series[] {
  const indexes = Array.from({ length: data.buckets }, (_, i) => i);
  if (!by || !data.groups.length) return [{ name, tone: "c0", values: indexes.map((i) => value(data.total.series, i)) }];
  const drawn = data.groups.filter((g) => g.key !== null).slice(0, GROUPS_DRAWN), rest = data.groups.filter((g) => !drawn.includes(g));
  const out: Series[] = drawn.map((g, k) => ({ name: g.key || "none", tone: `c${k}`, values: indexes.map((i) => value(g.series, i)) }));
  if (rest.length) out.push({ name: "others", tone: "c5", values: indexes.map((i) => rest.reduce((a, g) => a + (value(g.series, i) ?? 0), 0)) });
  return out;
}

function Charts({ data, by, zone, chosen }: { data: Overview; by: string; zone: string; chosen: number | null }) {
  const axis: Axis = { start: data.start_us / 1000, end: data.end_us / 1000, bucket: data.bucket_s * 1000, zone };
  const onChoose = (i: number | null, byKey: boolean) => (byKey ? goTyping : go)(withQuery({ at: i === null ? null : new Date(axis.start + i * axis.bucket).toISOString().slice(0, 16) + "Z", cursor: null }));
  const all = { axis, chosen, onChoose };
  const s = data.total.series;
  const shares = split(data, by, (x, i) => (x.output_tokens[i] ? Math.min(100, (100 * (x.reasoning_tokens[i] ?? 0)) / (x.output_tokens[i] ?? 1)) : null), "share").filter((one) => one.name !== "others");
  return (
    <>
      {by && data.groups.length ? (
        <ul class="legend" aria-label="Colours">{split(data, by, () => 0, "").map((one) => <li><i class={one.tone} aria-hidden="true" /><Text>{one.name}</Text></li>)}</ul>
      ) : null}
      <div class="charts">
        <Chart {...all} title="Calls" unit="number" kind="bars" whole series={split(data, by, (x, i) => x.calls[i] ?? 0, "calls")} format={short} />
        <Chart {...all} title="Errors" unit="failed calls" kind="bars" whole series={by ? split(data, by, (x, i) => x.failed[i] ?? 0, "errors") : [{ name: "errors", tone: "bad", values: s.failed }]} format={short} />
        {by ? (
          <Chart {...all} title="Latency p95" unit="of answered calls" kind="lines" series={split(data, by, (x, i) => x.p95_ms[i] ?? null, "p95").filter((one) => one.name !== "others")} format={latency} tick={tickDuration} />
        ) : (
          <Chart {...all} title="Latency" unit="p50 and p95 of answered calls" kind="lines" series={[{ name: "p50", tone: "c0", values: s.p50_ms }, { name: "p95", tone: "warm", values: s.p95_ms }]} format={latency} tick={tickDuration} />
        )}
        <Chart {...all} title="Tokens" unit={by ? "in and out" : "out below, in above"} kind="bars" whole format={short}
          series={by ? split(data, by, (x, i) => (x.input_tokens[i] ?? 0) + (x.output_tokens[i] ?? 0), "tokens") : [{ name: "out", tone: "c0", values: s.output_tokens }, { name: "in", tone: "c0 soft", values: s.input_tokens }]} />
        <Chart {...all} title="Reasoning" unit="% of output tokens" kind="lines" series={shares} format={(n) => `${Math.round(n)} %`} />
        <Chart {...all} title="Cost" unit="US dollars" kind="bars" series={split(data, by, (x, i) => x.cost_usd[i] ?? 0, "cost")} format={(n) => (n && n < 0.01 ? `$${n.toPrecision(1)}` : n < 1 ? `$${+n.toFixed(2)}` : `$${short(Math.round(n * 10) / 10)}`)} />
        <Chart {...all} title="Cut and starved" unit="calls" kind="bars" whole format={short}
          series={by ? split(data, by, (x, i) => (x.cut[i] ?? 0) + (x.starved[i] ?? 0), "cut or starved") : [{ name: "cut by budget", tone: "warm", values: s.cut }, { name: "starved", tone: "bad", values: s.starved }]} />
      </div>
    </>
  );
}

function Groups({ data, by }: { data: Overview; by: string }) {
  if (!by || !data.groups.length) return null;
  return (
    <div class="wide"><table class="rows even" aria-label={`By ${by}`}>
      <thead><tr><th>{by}</th><th class="n">Calls</th><th class="n">Errors</th><th class="n">p50</th><th class="n">p95</th><th class="n">In</th><th class="n">Out</th><th class="n">Reasoning</th><th class="n">Cost</th><th class="n">Cut</th><th class="n">Starved</th></tr></thead>
      <tbody>
        {data.groups.map((g) => (
          <tr key={g.key ?? "\n"}>
            <td class="main">{g.key === null ? <span class="quiet">{plural(g.members, "other")}</span> : g.key ? <a href={withQuery({ [by]: g.key, by: null })}><Text>{g.key}</Text></a> : "none"}</td>
            <td class="n" data-label="calls">{count(g.calls)}</td>
            <td class="n" data-label="errors">{g.failed ? <Badge tone="bad">{count(g.failed)}</Badge> : "0"}</td>
            <td class="n" data-label="p50">{latency(g.p50_ms)}</td>
            <td class="n" data-label="p95">{latency(g.p95_ms)}</td>
            <td class="n" data-label="in">{short(g.input_tokens)}</td>
            <td class="n" data-label="out">{short(g.output_tokens)}</td>
            <td class="n" data-label="reasoning">{percent(share(g))}</td>
            <td class="n" data-label="cost">{money(g.cost_usd)}</td>
            <td class="n" data-label="cut">{count(g.cut)}</td>
            <td class="n" data-label="starved">{count(g.starved)}</td>
          </tr>
        ))}
      </tbody>
    </table></div>
  );
}

interface CallPage {
  calls: CallRow[];
  searched_back_to_us?: number | null;
  next_cursor?: string | null;
}

interface Kept {
  filter: string;
  url: string;
  pages: CallPage[];
}

function CallsBelow({ q, from, to, words, zone }: { q: URLSearchParams; from: number; to: number; words: string; zone: string }) {
  const now = address("/api/v1/history/interactions", {
    start_date_us: from * 1000, end_date_us: to * 1000 - 1, model: q.get("model"), key: q.get("key"), application: q.get("application"), outcome: q.get("outcome"), limit: 20,
  });
  // Older pages and their time range stay loaded until a filter changes.
  const filter = q.toString();
  const [kept, setKept] = useState<Kept | null>(null);
  const [busy, setBusy] = useState(false);
  const { url, pages }: Kept = kept?.filter === filter ? kept : { filter, url: now, pages: [] };
  const first = useApi<CallPage>(url);
  const last = pages[pages.length - 1] ?? first.data;
  const place = usePlace();
  const box = useRef<HTMLElement>(null);
  useEffect(() => {
    if (place.hash !== "calls") return;
    box.current?.scrollIntoView({ block: "start" });
    box.current?.focus({ preventScroll: true });
  }, [place]);
  const next = async () => {
    setBusy(true);
    setKept({ filter, url, pages });
    const page = await ask<CallPage>(`${url}&cursor=${encodeURIComponent(last?.next_cursor ?? "")}`).catch(() => null);
    setBusy(false);
    if (page) setKept((k) => (k?.filter === filter ? { filter, url, pages: [...pages, page] } : k));
  };
  return (
    <section id="calls" ref={box} tabIndex={-1} aria-label="Calls of the range">
      <h2>Calls <small>{words}</small></h2>
      <div class="chips" role="group" aria-label="Which calls">
        {OUTCOMES.map(([v, name]) => <button type="button" class="chip" aria-pressed={(q.get("outcome") ?? "") === v} onClick={() => set({ outcome: v })}>{name}</button>)}
        {q.get("at") ? <button type="button" class="chip" aria-pressed="true" title="All of the range again" onClick={() => set({ at: null })}>{words} ×</button> : null}
      </div>
      <Loaded of={first}>
        {(data) => {
          const calls = [data, ...pages].flatMap((p) => p.calls);
          return (
            <>
              {calls.length ? <CallTable calls={calls} zone={zone} /> : <p class="quiet">No calls are like that in {last?.next_cursor ? "the part that was searched" : "this time"}.</p>}
              {last?.next_cursor ? <p class="pager"><button type="button" class="small" disabled={busy || first.loading} data-next onClick={next}>{busy ? "Loading…" : "Older calls"}</button></p> : null}
              <SearchedBack us={last?.searched_back_to_us} what="Calls" />
            </>
          );
        }}
      </Loaded>
    </section>
  );
}

export function OverviewPage() {
  const { query: q } = usePlace();
  const [, tick] = useState(0);
  const zone = q.get("tz") === "UTC" ? "UTC" : OWN_ZONE;
  const range = rangeOf(q);
  const by = ["model", "key", "application"].includes(q.get("by") ?? "") ? (q.get("by") ?? "") : "";
  const data = useApi<Overview>(address("/api/v1/overview", { start_date_us: range.from * 1000, end_date_us: range.to * 1000, by, model: q.get("model"), key: q.get("key"), application: q.get("application") }));
  useEffect(() => {
    const timer = setInterval(() => document.hidden || tick((n) => n + 1), REFRESH_MS); // a span up to now moves on
    return () => clearInterval(timer);
  }, []);
  const at = Date.parse(q.get("at") ?? "");
  const d = data.data;
  const chosen = d && Number.isFinite(at) && at >= d.start_us / 1000 && at < d.end_us / 1000 ? Math.floor((at - d.start_us / 1000) / (d.bucket_s * 1000)) : null;
  const from = chosen === null || !d ? range.from : d.start_us / 1000 + chosen * d.bucket_s * 1000;
  const to = chosen === null || !d ? range.to : from + d.bucket_s * 1000;
  const words = `${momentIn(from, zone)} to ${momentIn(to, zone)}`;
  return (
    <>
      <Title title="Overview" about={<>Times are in <strong>{zone}</strong>. Latencies of 64 ms and more are accurate to 13 %.</>}>
        <RangePicker range={range} zone={zone} q={q} />
      </Title>
      <Attention />
      <div class="filters open">
        <div class="chips" role="group" aria-label="Group by">
          {["", "model", "key", "application"].map((g) => <button type="button" class="chip" aria-pressed={by === g} onClick={() => set({ by: g || null })}>{g ? `by ${g}` : "all together"}</button>)}
        </div>
        <div class="chips">
          {["model", "key", "application"].map((name) => (q.get(name) ? <button type="button" class="chip" aria-pressed="true" title="Take the filter away" onClick={() => set({ [name]: null })}>{name}: <Text>{q.get(name)}</Text> ×</button> : null))}
        </div>
      </div>
      <Loaded of={data}>
        {(o) => o.total.calls ? (
          <>
            <Figures t={o.total} />
            <Charts data={o} by={by} zone={zone} chosen={chosen} />
            <Groups data={o} by={by} />
          </>
        ) : (
          <Empty title="No calls in this time"><p>Choose a longer range, take a filter away, or <a href="/live">ask a model on the Live page</a>.</p></Empty>
        )}
      </Loaded>
      {d?.total.calls ? <CallsBelow q={q} from={from} to={to} words={words} zone={zone} /> : null}
    </>
  );
}
