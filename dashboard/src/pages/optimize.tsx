// optimize.tsx - prompts that improve: score over calls, the front, the candidates and what each changed. SPDX-License-Identifier: Apache-2.0
import { useEffect } from "preact/hooks";
import { useApi } from "../api";
import { diff } from "../diff";
import { count } from "../format";
import { Badge, Copy, Disclosure, Empty, Figure, Loaded, State, Text, Title, When } from "../parts/basics";
import { useNarrow } from "../parts/narrow";
import { usePlace } from "../route";

interface Run {
  run_id: string;
  app: string;
  status: string;
  reason: string | null;
  calls: number;
  budget: number;
  candidates: number;
  best_score: number | null;
  seed_score: number | null;
  prompt_id: string | null;
  created_at_us: number;
  updated_at_us: number;
  input: { texts?: Record<string, string>; train?: string; val?: string; model?: string; reflection_model?: string };
}

interface Event {
  event: string;
  iteration?: number;
  candidate?: number;
  parents?: number[];
  scores?: number[];
  objectives?: Record<string, number>;
  mean?: number;
  calls?: number;
  texts?: Record<string, string>;
  front?: [string, number, number[]][];
}

interface Candidate {
  index: number;
  parents: number[];
  mean: number;
  objectives: Record<string, number>;
  calls: number;
  texts: Record<string, string>;
  keys: number; // how many it wins
}

// The candidates that the events report.
function candidates(run: Run & { events: Event[] }): Candidate[] {
  const all: Candidate[] = [];
  let proposed: Record<string, string> = {};
  for (const e of run.events) {
    if (e.event === "iteration") proposed = {};
    if (e.event === "proposed" || e.event === "merge") proposed = e.texts ?? {};
    if (e.event === "valset") {
      const parents = e.parents ?? [];
      const from = all[parents[0] ?? -1]?.texts ?? run.input.texts ?? {};
      all.push({ index: e.candidate ?? all.length, parents, mean: e.mean ?? 0, objectives: e.objectives ?? {}, calls: e.calls ?? 0, texts: { ...from, ...proposed }, keys: 0 });
    }
    if (e.event === "front") {
      for (const c of all) c.keys = 0;
      for (const [, , who] of e.front ?? []) for (const i of who) if (all[i]) all[i].keys++;
    }
  }
  return all;
}

const W = 640, H = 200, PAD = 34;

function Chart({ of, budget }: { of: Candidate[]; budget: number }) {
  if (of.length < 2) return null;
  const last = Math.max(budget, ...of.map((c) => c.calls));
  const top = Math.max(...of.map((c) => c.mean)), low = Math.min(...of.map((c) => c.mean));
  const x = (calls: number) => PAD + ((W - PAD - 8) * calls) / (last || 1);
  const y = (v: number) => H - 24 - ((H - 40) * (v - low)) / (top - low || 1);
  let best = -1;
  let path = "";
  for (const c of of) {
    if (c.mean <= best) continue;
    path += best < 0 ? `M${x(c.calls)} ${y(c.mean)}` : `H${x(c.calls)}V${y(c.mean)}`;
    best = c.mean;
  }
  path += `H${x(last)}`;
  return (
    <figure class="card chart">
      <svg viewBox={`0 0 ${W} ${H}`} role="img" aria-label={`Best score over calls, from ${low.toFixed(3)} to ${top.toFixed(3)}`}>
        <path class="axis" d={`M${PAD} 8V${H - 24}H${W - 8}`} />
        <text x={PAD - 5} y={y(top) + 4} text-anchor="end">{top.toFixed(2)}</text>
        <text x={PAD - 5} y={y(low) + 4} text-anchor="end">{low.toFixed(2)}</text>
        <text x={W - 8} y={H - 8} text-anchor="end">{count(last)} calls</text>
        <path class="best" d={path} />
        {of.map((c) => <circle cx={x(c.calls)} cy={y(c.mean)} r={c.keys ? 4 : 2.5} class={c.keys ? "front" : ""}><title>{`candidate ${c.index}: ${c.mean.toFixed(3)}`}</title></circle>)}
      </svg>
      <figcaption class="quiet">Score over evaluations; large points are best at something.</figcaption>
    </figure>
  );
}

function Change({ from, to }: { from: string; to: string }) {
  return (
    <pre class="diff">
      {diff(from, to).map((d) => <span class={d.kind}><Text>{`${d.kind === "added" ? "+ " : d.kind === "removed" ? "− " : "  "}${d.text}\n`}</Text></span>)}
    </pre>
  );
}

function One({ c, all, best }: { c: Candidate; all: Candidate[]; best: number }) {
  const parent = all[c.parents[0] ?? -1];
  const changed = Object.keys(c.texts).filter((name) => c.texts[name] !== parent?.texts[name]);
  return (
    <li class="candidate" style={{ marginLeft: `${depth(c, all) * 1.1}rem` }}>
      <Disclosure title={<>candidate {c.index} <strong class="numbers">{c.mean.toFixed(3)}</strong> {c.index === best ? <Badge tone="cap">best</Badge> : null} {c.parents.length > 1 ? <Badge>merged</Badge> : null}</>}
        note={`${c.parents.length ? `from ${c.parents.join(" and ")}` : "the seed"} · after ${count(c.calls)} calls · best at ${c.keys}`}>
        {() => (
          <>
            <dl class="usage named">{Object.entries(c.objectives).map(([k, v]) => <div><dt>{k}</dt><dd>{v.toFixed(3)}</dd></div>)}</dl>
            {parent ? changed.map((name) => <section><h4><Text>{name}</Text></h4><Change from={parent.texts[name] ?? ""} to={c.texts[name] ?? ""} /></section>)
              : Object.entries(c.texts).map(([name, text]) => <section><h4><Text>{name}</Text></h4><pre class="diff"><Text>{text}</Text></pre></section>)}
          </>
        )}
      </Disclosure>
    </li>
  );
}

function depth(c: Candidate, all: Candidate[]): number {
  let n = 0;
  for (let at: Candidate | undefined = c; at?.parents.length && n < 12; at = all[at.parents[0] ?? -1]) n++;
  return n;
}

function Detail({ id }: { id: string }) {
  const run = useApi<Run & { events: Event[] }>(`/api/v1/optimize/${encodeURIComponent(id)}`);
  const running = run.data?.status === "running";
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(run.reload, 2000);
    return () => clearInterval(timer);
  }, [running]);
  return (
    <>
      <p class="crumbs"><a href="/optimize">Optimizer</a></p>
      <Title title={id}><Copy text={id} label="Copy id" /></Title>
      <Loaded of={run}>
        {(r) => {
          const all = candidates(r);
          const best = all.reduce((b, c) => (c.mean > (all[b]?.mean ?? -1) ? c.index : b), 0);
          return (
            <>
              <p class="facts"><State of={r.status} /><Badge>{r.app}</Badge>{r.input.model ? <span class="quiet">{r.input.model}, reflected on by {r.input.reflection_model}</span> : null}<When us={r.created_at_us} /></p>
              {r.reason ? <p class="problem"><Text>{r.reason}</Text></p> : null}
              <dl class="figures">
                <Figure label="Best" value={r.best_score?.toFixed(3) ?? "–"} note={r.seed_score == null ? "" : `seed ${r.seed_score.toFixed(3)}`} />
                <Figure label="Evaluations" value={count(r.calls)} note={`of ${count(r.budget)}`} />
                <Figure label="Candidates" value={count(all.length)} note={`${all.filter((c) => c.keys).length} on the front`} />
                <Figure label="Draft" value={r.prompt_id ? <code>{r.prompt_id}</code> : "–"} />
              </dl>
              <Chart of={all} budget={r.budget} />
              <h2>Candidates</h2>
              <ol class="candidates">{all.map((c) => <One key={c.index} c={c} all={all} best={best} />)}</ol>
            </>
          );
        }}
      </Loaded>
    </>
  );
}

export function OptimizePage() {
  const { query } = usePlace();
  const id = query.get("run");
  const list = useApi<{ runs: Run[] }>(id ? null : "/api/v1/optimize");
  const { rows, filters } = useNarrow(list.data?.runs ?? [], { label: "Search runs", text: (r) => [r.run_id, r.prompt_id, r.reason, r.app].join(" "), state: (r) => r.status });
  if (id) return <Detail key={id} id={id} />;
  return (
    <>
      <Title title="Optimizer" about="Prompts that improve from graded runs. The best prompt becomes a draft, which a person approves." />
      <Loaded of={list}>
        {(d) => d.runs.length ? (
          <>{filters}<table class="rows">
            <thead><tr><th>Run</th><th>Status</th><th>Of</th><th class="n">Score</th><th class="n">Evaluations</th><th class="n">Begun</th></tr></thead>
            <tbody>
              {rows.map((r) => (
                <tr>
                  <td class="main"><a href={`/optimize?run=${encodeURIComponent(r.run_id)}`} data-item><Text>{r.run_id}</Text></a><span class="under"><Text>{r.prompt_id ?? r.reason ?? ""}</Text></span></td>
                  <td><State of={r.status} /></td>
                  <td data-label="of">{r.app}</td>
                  <td class="n" data-label="score">{r.seed_score?.toFixed(3) ?? "–"} → {r.best_score?.toFixed(3) ?? "–"}</td>
                  <td class="n" data-label="evaluations">{count(r.calls)} / {count(r.budget)}</td>
                  <td class="n when"><When us={r.created_at_us} /></td>
                </tr>
              ))}
            </tbody>
          </table></>
        ) : <Empty title="No prompt has been improved yet"><p>Label some cases, then run this command:</p><pre class="code">rationale optimize --app policy --train cases/train --val cases/val</pre></Empty>}
      </Loaded>
    </>
  );
}
