// providers.tsx - who answers, under which names, and what the levels mean. SPDX-License-Identifier: Apache-2.0
import { useApi } from "../api";
import { count, duration, money } from "../format";
import { Badge, Disclosure, Empty, Json, Loaded, Text, Title, When } from "../parts/basics";
import { useNowAndThen } from "../watch";
import { breakerTrouble, modelsOf, providerTrouble, type ProviderModel, type ProviderState } from "../providers";

interface Provider extends ProviderState {
  kind?: string;
  base_url?: string | null;
  enable_reasoning?: boolean | null;
  format?: string | null;
  fallback?: string[] | null;
}

function prices(m: ProviderModel): string {
  const p = m.prices ?? {};
  return Object.entries(p).filter(([, v]) => v != null && v > 0).map(([k, v]) => `${k.replace(/_/g, " ").replace(/ per m.*| usd/g, "")} ${money(v)}`).join(" · ") || "–";
}

function ProviderCard({ p }: { p: Provider }) {
  const models = modelsOf(p);
  const bad = providerTrouble(p);
  const seen = p.probe?.state === "reachable";
  const priced = models.some((m) => prices(m) !== "–");
  return (
    <article class="card provider">
      <header>
        <strong class="name">{p.name}</strong>
        {p.kind ? <Badge>{p.kind}</Badge> : null}
        <span class={`status wrap ${bad ? "bad" : seen || !p.probe || p.probe.state === "off" ? "good" : ""}`}><i aria-hidden="true" /><Text>{bad || (seen ? "reachable" : "no failures seen")}</Text></span>
        {p.probe?.checked_at_us ? <small>looked at <When us={p.probe.checked_at_us} />{seen && p.probe.took_ms != null ? `, connected in ${duration(p.probe.took_ms)}` : ""}</small> : null}
        <span class="spring" />
        {p.base_url ? <code class="quiet">{p.base_url}</code> : null}
      </header>
      <dl class="usage named">
        {p.enable_reasoning ? <div><dt>reasoning</dt><dd>asked for in the prompt</dd></div> : null}
        {p.format ? <div><dt>format</dt><dd>{p.format}</dd></div> : null}
        {p.fallback?.length ? <div><dt>falls back to</dt><dd>{p.fallback.join(", ")}</dd></div> : null}
      </dl>
      {models.length ? (
        <table class="rows plain">
          <thead><tr><th>Model</th><th>Upstream</th>{priced ? <th>Prices, a million tokens</th> : null}</tr></thead>
          <tbody>
            {models.map((m) => (
              <tr>
                <td class="main"><strong>{m.alias ?? m.name}</strong>{breakerTrouble(m.breaker) ? <span class="under"><span class="status bad"><i aria-hidden="true" />{breakerTrouble(m.breaker)}</span></span> : null}</td>
                <td data-label="upstream"><code>{m.upstream ?? m.alias ?? m.name}</code></td>
                {priced ? <td class="numbers" data-label="prices">{prices(m)}</td> : null}
              </tr>
            ))}
          </tbody>
        </table>
      ) : <p class="quiet">Any model, as <code>{p.name}/model</code>.</p>}
    </article>
  );
}

interface Level {
  name: string;
  [more: string]: unknown;
}

function cell(v: unknown): string {
  if (v == null || v === "") return "–";
  if (typeof v === "number") return count(v);
  if (typeof v === "boolean") return v ? "yes" : "no";
  return typeof v === "string" ? v : JSON.stringify(v);
}

function Levels({ levels }: { levels: Level[] }) {
  const columns = [...new Set(levels.flatMap((l) => Object.keys(l)))].filter((k) => k !== "name" && levels.some((l) => l[k] != null && typeof l[k] !== "object")).slice(0, 7);
  return (
    <table class="rows">
      <thead><tr><th>Level</th>{columns.map((c) => <th class="n">{c.replace(/_/g, " ")}</th>)}</tr></thead>
      <tbody>{levels.map((l) => <tr><td class="main"><strong>{l.name}</strong></td>{columns.map((c) => <td class="n" data-label={c.replace(/_/g, " ")}>{cell(l[c])}</td>)}</tr>)}</tbody>
    </table>
  );
}

function rows<T>(v: unknown, name: string): T[] {
  const list = Array.isArray(v) ? v : (v as Record<string, unknown> | null)?.[name];
  return Array.isArray(list) ? (list as T[]) : [];
}

export function ProvidersPage() {
  const providers = useApi<unknown>("/api/v1/providers");
  const levels = useApi<unknown>("/api/v1/levels");
  useNowAndThen(providers.reload);
  return (
    <>
      <Title title="Providers and levels" about="Who answers, under which names; and how much thinking a level allows." />
      <Loaded of={providers}>
        {(data) => {
          const all = rows<Provider>(data, "providers");
          return all.length ? <div class="stack">{all.map((p) => <ProviderCard p={p} />)}</div> : (
            <Empty title="No provider is set up">
              <p>Name one in the configuration; it is read again on SIGHUP:</p>
              <pre class="code">{"providers:\n  openai: {api_key_env: OPENAI_API_KEY, models: [gpt-5]}"}</pre>
            </Empty>
          );
        }}
      </Loaded>
      <h2>Levels</h2>
      <Loaded of={levels}>
        {(data) => {
          const all = rows<Level>(data, "levels");
          return all.length ? <Levels levels={all} /> : <Disclosure title="As they are set">{() => <Json value={data} />}</Disclosure>;
        }}
      </Loaded>
    </>
  );
}
