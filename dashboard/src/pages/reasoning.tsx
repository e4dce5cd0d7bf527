// reasoning.tsx - how much models think, at which level, and what it brings. SPDX-License-Identifier: Apache-2.0
import { address, useApi, type ReasoningRow, type UsageGroup } from "../api";
import { count, duration, money, percent, plural, short } from "../format";
import { Badge, Bar, CapBadge, Choice, Empty, Figure, Loaded, Title } from "../parts/basics";
import { RANGES, since } from "../range";
import { go, usePlace, withQuery } from "../route";

// Calls by how much of the cap they used, in tenths.
function Saturation({ of }: { of: number[] | null }) {
  const buckets = of ?? [];
  const max = Math.max(0, ...buckets);
  if (!max) return <span class="quiet">no cap</span>;
  const words = buckets.map((n, i) => (n ? `${i * 10} to ${i * 10 + 10} %: ${plural(n, "call")}` : "")).filter(Boolean).join("; ");
  return (
    <span class="histogram" role="img" aria-label={`Use of the cap: ${words}`} title={words}>
      {buckets.map((n, i) => <i class={i === buckets.length - 1 ? "full" : ""} style={{ height: `${n ? Math.max(6, (100 * n) / max) : 0}%` }} />)}
    </span>
  );
}

function Row({ r }: { r: ReasoningRow }) {
  const share = r.share ?? (r.output_tokens ? Math.min(1, r.reasoning_tokens / r.output_tokens) : 0);
  return (
    <tr>
      <td class="main"><strong>{r.model}</strong><span class="under">{r.level ? <Badge>{r.level}</Badge> : null}<CapBadge cap={r.cap_tokens} /></span></td>
      <td class="n" data-label="calls">{count(r.calls)}<small> {count(r.with_reasoning)} thought</small></td>
      <td class="n" data-label="reasoning tokens">{short(r.reasoning_tokens)}</td>
      <td data-label="share of output"><span class="sharing"><Bar part={share} label={`${percent(share)} of the output is reasoning`} />{percent(share)}</span></td>
      <td data-label="use of the cap"><Saturation of={r.saturation} /></td>
      <td class="n" data-label="cut">{r.cut ? <Badge tone="warm">{count(r.cut)}</Badge> : "0"}</td>
      <td class="n" data-label="starved">{r.starved ? <Badge tone="bad">{count(r.starved)}</Badge> : "0"}</td>
      <td class="n" data-label="time p50, p95">{duration(r.thinking_ms_p50)}<span class="unseen">, </span><small>{duration(r.thinking_ms_p95)}</small></td>
    </tr>
  );
}

function Sums({ rows }: { rows: ReasoningRow[] }) {
  const sum = (f: (r: ReasoningRow) => number) => rows.reduce((n, r) => n + (f(r) || 0), 0);
  const calls = sum((r) => r.calls), thought = sum((r) => r.reasoning_tokens), out = sum((r) => r.output_tokens);
  return (
    <dl class="figures">
      <Figure label="Calls" value={count(calls)} note={`${count(sum((r) => r.with_reasoning))} thought`} />
      <Figure label="Reasoning tokens" value={short(thought)} />
      <Figure label="Share of output" value={out ? percent(Math.min(1, thought / out)) : "–"} />
      <Figure label="Cut by budget" value={count(sum((r) => r.cut))} tone={sum((r) => r.cut) ? "warm" : ""} />
      <Figure label="Starved answers" value={count(sum((r) => r.starved))} tone={sum((r) => r.starved) ? "warm" : ""} />
    </dl>
  );
}

function Usage({ range }: { range: string }) {
  const { query: q } = usePlace();
  const by = q.get("by") ?? "model";
  const usage = useApi<{ groups: UsageGroup[] }>(address("/api/v1/usage", { group_by: by, start_date_us: since(range) }));
  const groups = ["model", "provider", "key", "level", "day"];
  return (
    <section aria-label="Usage and cost">
      <h2>Usage and cost</h2>
      <div class="chips" role="group" aria-label="Group by">
        {groups.map((g) => <button type="button" class="chip" aria-pressed={by === g} onClick={() => go(withQuery({ by: g === "model" ? null : g }))}>by {g}</button>)}
      </div>
      <Loaded of={usage}>
        {(data) => data.groups.length ? (
          <div class="wide"><table class="rows">
            <thead><tr><th>{by.slice(0, 1).toUpperCase() + by.slice(1)}</th><th class="n">Calls</th><th class="n">Failed</th><th class="n">In</th><th class="n">Out</th><th class="n">Thought</th><th class="n">From cache</th><th class="n">Cost</th></tr></thead>
            <tbody>
              {data.groups.map((g) => (
                <tr>
                  <td class="main"><strong>{g.key || "none"}</strong></td>
                  <td class="n" data-label="calls">{count(g.calls)}</td>
                  <td class="n" data-label="failed">{g.failed ? <Badge tone="bad">{count(g.failed)}</Badge> : "0"}</td>
                  <td class="n" data-label="in">{short(g.input_tokens)}</td>
                  <td class="n" data-label="out">{short(g.output_tokens)}</td>
                  <td class="n" data-label="thought">{short(g.reasoning_tokens)}</td>
                  <td class="n" data-label="from cache">{short(g.cache_read_tokens)}</td>
                  <td class="n" data-label="cost">{money(g.cost_usd)}</td>
                </tr>
              ))}
            </tbody>
          </table></div>
        ) : <p class="quiet">Nothing was used in this time.</p>}
      </Loaded>
    </section>
  );
}

export function ReasoningPage() {
  const { query: q } = usePlace();
  const range = q.get("range") ?? "";
  const rows = useApi<{ rows: ReasoningRow[] }>(address("/api/v1/reasoning", { start_date_us: since(range) }));
  return (
    <>
      <Title title="Reasoning" about="How much each model thinks at each level, how close it comes to its cap, and whether tokens were left for the answer.">
        <Choice label="Time" value={range} options={RANGES} onChange={(v) => go(withQuery({ range: v }))} />
      </Title>
      <Loaded of={rows}>
        {(data) => data.rows.length ? (
          <>
            <Sums rows={data.rows} />
            <div class="wide"><table class="rows thinking">
              <thead><tr><th>Model and level</th><th class="n">Calls</th><th class="n">Tokens thought</th><th>Share of output</th><th>Use of the cap</th><th class="n" title="Reasoning that was ended at its cap">Cut</th><th class="n" title="Thinking left no tokens for an answer">Starved</th><th class="n" title="How long it thought: the median, and 95 of 100">Time p50, p95</th></tr></thead>
              <tbody>{data.rows.map((r) => <Row key={`${r.model} ${r.level}`} r={r} />)}</tbody>
            </table></div>
          </>
        ) : (
          <Empty title="Nobody has thought yet"><p>Ask a model that thinks: <code>x-rationale-level: low</code> holds it to a small cap, <code>high</code> to a larger one. <a href="/live">Or ask on the Live page.</a></p></Empty>
        )}
      </Loaded>
      {rows.data || rows.error ? <Usage range={range} /> : null}
    </>
  );
}
