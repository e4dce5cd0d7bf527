// policy.tsx - verdicts on policies: results with their citations, rollout, prompts, documents. SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { send, useApi } from "../api";
import { count, percent } from "../format";
import { live } from "../live";
import { Badge, Bar, Disclosure, Empty, Loaded, Text, Title, When } from "../parts/basics";
import { sessionAddress } from "../parts/sessions";
import { NotConfigured } from "./incidents";

interface Result {
  case_id: string;
  session_id?: string | null;
  criterion_id: string;
  status: string;
  rationale: string;
  confidence: number;
  confidence_breakdown: { c_tree: number; c_span: number; c_final: number; c_joint: number } | null;
  citation: { doc: string; version: string; section: string; pages: number[] } | null;
  evidence: { doc_id: string | null; page: number | null; text_excerpt?: string | null } | null;
  reason_code: string | null;
  reasoning_trace: { step: number; action: string; observation: string }[];
  retrieval_method?: string | null;
  controller?: string;
  mode?: string;
  prompt_id?: string | null;
  timestamp?: number | string | null;
}

interface Rollout {
  react_use_llm_controller?: boolean;
  react_shadow_mode?: boolean;
  react_fallback_enabled?: boolean;
  react_ab_test_ratio?: number;
  prompt_ab_test_ratio?: number;
  counts?: Record<string, number>;
  discrepancies?: { case_id: string; criterion_id?: string; primary?: Verdict; shadow?: Verdict; timestamp?: number }[];
}

interface Verdict {
  status: string;
  confidence: number;
}

interface Prompt {
  id: string;
  name: string;
  state: string;
  parent?: string | null;
  run_id?: string | null;
  scores?: Record<string, number> | null;
  created_us?: number | null;
}

interface Node {
  node_id: string;
  title: string;
  start_index?: number;
  end_index?: number;
  nodes?: Node[];
}

interface Doc {
  id: string;
  title?: string | null;
  version?: string | null;
  nodes?: Node[];
  structure?: Node[];
}

const TONES: Record<string, string> = { met: "good", ready: "good", missing: "bad", not_ready: "bad", uncertain: "warm" };

function microseconds(t: Result["timestamp"]): number | null {
  if (typeof t === "number") return t > 1e14 ? t : t > 1e11 ? t * 1000 : t * 1e6;
  const ms = typeof t === "string" ? Date.parse(t) : NaN;
  return Number.isNaN(ms) ? null : ms * 1000;
}

function Verdicts({ r }: { r: Result }) {
  const b = r.confidence_breakdown;
  return (
    <li class="card verdict">
      <header>
        <span class={`status ${TONES[r.status] ?? ""}`}><i aria-hidden="true" />{r.status}</span>
        <strong><Text>{r.criterion_id}</Text></strong>
        <span class="quiet"><Text>{r.case_id}</Text></span>
        {r.reason_code ? <Badge tone="warm" title="Why it is not certain">{r.reason_code}</Badge> : null}
        <span class="spring" />
        {r.controller ? <Badge>{r.controller}</Badge> : null}
        {r.mode && r.mode !== r.controller ? <Badge>{r.mode}</Badge> : null}
        <When us={microseconds(r.timestamp)} />
      </header>
      <p><Text>{r.rationale}</Text></p>
      <p class="under">
        <Bar part={r.confidence} tone={r.confidence < 0.65 ? "warm" : ""} label={`confidence ${percent(r.confidence)}`} />
        <span class="numbers">{percent(r.confidence)}</span>
        {b ? <span class="quiet numbers">tree {b.c_tree} · span {b.c_span} · final {b.c_final}</span> : null}
        {r.citation ? <span class="cite"><Text>{r.citation.section}</Text> <small>{r.citation.doc} {r.citation.version}, p. {r.citation.pages?.join(", ")}</small></span> : null}
      </p>
      {r.evidence ? <blockquote class="evidence"><Text>{r.evidence.text_excerpt ?? ""}</Text><small> {r.evidence.doc_id ?? "the case names no document"}{r.evidence.page ? `, p. ${r.evidence.page}` : ""}</small></blockquote> : null}
      <Disclosure title="How it was decided" note={`${r.reasoning_trace?.length ?? 0} steps${r.retrieval_method ? `, ${r.retrieval_method}` : ""}`}>
        {() => (
          <ol class="trace">
            {(r.reasoning_trace ?? []).map((s) => <li><span class="kindmark">{s.step}</span><div><code><Text>{s.action}</Text></code><p class="quiet"><Text>{s.observation}</Text></p></div></li>)}
            <li class="under">{r.prompt_id ? <span>prompt <code>{r.prompt_id}</code></span> : null}{r.session_id ? <a href={sessionAddress(r.session_id)}>the session</a> : null}</li>
          </ol>
        )}
      </Disclosure>
    </li>
  );
}

function Switch({ name, words, value, set }: { name: string; words: string; value: boolean; set: (c: Record<string, unknown>) => void }) {
  return <label class="check"><input type="checkbox" checked={value} onChange={(e) => set({ [name]: e.currentTarget.checked })} /> {words}</label>;
}

const RATIOS = [0, 0.1, 0.5, 1];

function RolloutCard() {
  const rollout = useApi<Rollout>("/api/v1/policy/rollout");
  const [told, setTold] = useState("");
  const set = (change: Record<string, unknown>) => void send("POST", "/api/v1/policy/rollout", change).then(() => (setTold(""), rollout.reload()), (e: Error) => setTold(e.message));
  return (
    <section class="card" aria-label="Rollout">
      <h2>Rollout</h2>
      <Loaded of={rollout}>
        {(r) => (
          <>
            <Switch name="react_use_llm_controller" words="model decides" value={Boolean(r.react_use_llm_controller)} set={set} />
            <Switch name="react_shadow_mode" words="model in the shadow" value={Boolean(r.react_shadow_mode)} set={set} />
            <Switch name="react_fallback_enabled" words="fall back to the heuristic" value={Boolean(r.react_fallback_enabled)} set={set} />
            <div class="chips" role="group" aria-label="Share of cases that the model decides">
              {RATIOS.map((x) => <button type="button" class="chip" aria-pressed={(r.react_ab_test_ratio ?? 0) === x} onClick={() => set({ react_ab_test_ratio: x })}>{percent(x)}</button>)}
            </div>
            <dl class="facts-list">{Object.entries(r.counts ?? {}).map(([k, n]) => <div><dt>{k.replace(/_/g, " ")}</dt><dd>{count(n)}</dd></div>)}</dl>
            {r.discrepancies?.length ? (
              <Disclosure title="Where the shadow differs" note={count(r.discrepancies.length)}>
                {() => <ul>{r.discrepancies?.map((d) => <li class="under"><Text>{`${d.case_id} ${d.criterion_id ?? ""}`}</Text> <span>{d.primary?.status} {d.primary?.confidence} → {d.shadow?.status} {d.shadow?.confidence}</span></li>)}</ul>}
              </Disclosure>
            ) : null}
          </>
        )}
      </Loaded>
      {told ? <p class="problem" role="alert"><Text>{told}</Text></p> : null}
    </section>
  );
}

const NEXT: Record<string, [string, string]> = { draft: ["approve", "Approve"], approved: ["activate", "Activate"], active: ["retire", "Retire"] };

function PromptsCard() {
  const prompts = useApi<{ prompts: Prompt[] }>("/api/v1/prompts");
  const [told, setTold] = useState("");
  const move = (p: Prompt, verb: string) => void send("POST", `/api/v1/prompts/${encodeURIComponent(p.id)}/${verb}`).then(() => (setTold(""), prompts.reload()), (e: Error) => setTold(e.message));
  return (
    <section class="card" aria-label="Prompts">
      <h2>Prompts</h2>
      <Loaded of={prompts}>
        {(d) => d.prompts.length ? (
          <ul class="prompts">
            {d.prompts.map((p) => {
              const next = NEXT[p.state];
              return (
                <li>
                  <code><Text>{p.id}</Text></code><Badge tone={p.state === "active" ? "cap" : ""}>{p.state}</Badge>
                  {p.scores ? <small class="numbers">{Object.entries(p.scores).map(([k, v]) => `${k} ${typeof v === "number" ? v.toFixed(2) : String(v)}`).join(" · ")}</small> : null}
                  <span class="spring" />
                  {next ? <button type="button" class="small" onClick={() => move(p, next[0])}>{next[1]}</button> : null}
                </li>
              );
            })}
          </ul>
        ) : <p class="quiet">The prompt that comes with the program is in use.</p>}
      </Loaded>
      {told ? <p class="problem" role="alert"><Text>{told}</Text></p> : null}
    </section>
  );
}

function Tree({ nodes }: { nodes: Node[] }) {
  return (
    <ul class="tree">
      {nodes.map((n) => (
        <li><code>{n.node_id}</code> <Text>{n.title}</Text> <small>p. {n.start_index === n.end_index ? n.start_index : `${n.start_index}–${n.end_index}`}</small>
          {n.nodes?.length ? <Tree nodes={n.nodes} /> : null}
        </li>
      ))}
    </ul>
  );
}

function Documents() {
  const docs = useApi<{ documents: Doc[] }>("/api/v1/policy/documents").data?.documents ?? [];
  return <>{docs.map((d) => <Disclosure title={<Text>{d.title || d.id}</Text>} note={[d.id, d.version].filter(Boolean).join(" ")}>{() => <Tree nodes={d.nodes ?? d.structure ?? []} />}</Disclosure>)}</>;
}

export function PolicyPage() {
  const all = useApi<{ results: Result[] }>("/api/v1/policy/results?limit=50");
  useEffect(() => {
    const end = live.subscribe("dashboard_updates", (m) => {
      if (m.type === "again" || m.type === "llm_interaction") all.reload();
    });
    const timer = setInterval(all.reload, 5000);
    return () => {
      end();
      clearInterval(timer);
    };
  }, []);
  const rows = all.data?.results ?? [];
  if (all.error?.code === "not_configured") return <><Title title="Policy" /><NotConfigured section="policy" example={"policy:\n  documents: {lumbar-mri: policy.md}\n  search: bm25"} /></>;
  return (
    <>
      <Title title="Policy" about="Whether a case meets a policy: each verdict with its section, its evidence and its confidence." />
      <div class="columns"><RolloutCard /><PromptsCard /></div>
      <Documents />
      <h2>Verdicts</h2>
      <Loaded of={all}>
        {() => rows.length ? <ol class="verdicts">{rows.map((r) => <Verdicts key={`${r.case_id} ${r.criterion_id} ${r.timestamp}`} r={r} />)}</ol>
          : <Empty title="No case has been reviewed"><p>Post one to <code>{location.origin}/reason/auth-review</code>, or run <code>rationale verify CASE.json --policy POLICY.md</code>.</p></Empty>}
      </Loaded>
    </>
  );
}
