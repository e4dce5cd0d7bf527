// policy.tsx - verdicts on policies: to be reviewed, decided, and how they are made. SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { send, useApi } from "../api";
import { count, percent } from "../format";
import { live } from "../live";
import { microseconds, type Result } from "../policy";
import { Badge, Bar, Disclosure, Empty, Loaded, Text, Title, When } from "../parts/basics";
import { ProposalsCard } from "../parts/proposals";
import { Documents } from "../parts/reverify";
import { ReviewBody, ReviewQueue, Verdict } from "../parts/review";
import { sessionAddress } from "../parts/sessions";
import { useNarrow } from "../parts/narrow";
import { CompareBar, Pick, usePicked } from "../parts/picked";
import { traceStep, type TraceStep } from "../trace";
import { NotConfigured } from "../parts/absent";

interface Rollout {
  react_use_llm_controller?: boolean;
  react_shadow_mode?: boolean;
  react_fallback_enabled?: boolean;
  react_ab_test_ratio?: number;
  prompt_ab_test_ratio?: number;
  counts?: Record<string, number>;
  discrepancies?: { case_id: string; criterion_id?: string; primary?: Found; shadow?: Found; timestamp?: number }[];
}

interface Found {
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

function Step({ n, of }: { n: number; of: TraceStep }) {
  return (
    <li>
      <span class="kindmark">{n}</span>
      <div>
        <p class={of.bad ? "refused" : ""}><strong>{of.did}</strong>{of.with ? <>: <Text>{of.with}</Text></> : null}</p>
        {of.text ? <p class="quiet"><Text>{of.text}</Text></p> : null}
        {of.facts.length ? <dl class="named">{of.facts.map(([k, v]) => <div><dt><Text>{k}</Text></dt><dd><Text>{v}</Text></dd></div>)}</dl> : null}
      </div>
    </li>
  );
}

function VerdictCard({ r, reload }: { r: Result; reload: () => void }) {
  const b = r.confidence_breakdown;
  return (
    <li class="card verdict">
      <header>
        <Verdict of={r.review?.status ?? r.status} />
        <strong><Text>{r.criterion_id}</Text></strong>
        <span class="quiet"><Text>{r.case_id}</Text></span>
        {r.reason_code ? <Badge tone="warm" title="Why it is not certain">{r.reason_code}</Badge> : null}
        <span class="spring" />
        {r.controller ? <Badge>{r.controller}</Badge> : null}
        {r.mode && r.mode !== r.controller ? <Badge>{r.mode}</Badge> : null}
        <When us={microseconds(r.timestamp)} />
      </header>
      {r.review ? <p class="overridden"><strong><Text>{r.review.decided_by}</Text></strong> {r.review.status === r.status ? "confirmed it" : <>changed it from {r.status} to {r.review.status}</>}: <Text>{r.review.reason}</Text></p> : null}
      <p><Text>{r.rationale}</Text></p>
      <p class="under">
        <Bar part={r.confidence} tone={r.confidence < 0.65 ? "warm" : ""} label={`confidence ${percent(r.confidence)}`} />
        <span class="numbers">{percent(r.confidence)}</span>
        {b ? <span class="quiet numbers">section {b.c_tree} · passage {b.c_span} · verdict {b.c_final}</span> : null}
        {r.citation ? <span class="cite"><Text>{r.citation.section}</Text> <small>{r.citation.doc} {r.citation.version}, p. {r.citation.pages?.join(", ")}</small></span> : null}
      </p>
      {r.evidence ? <blockquote class="evidence"><Text>{r.evidence.text_excerpt ?? ""}</Text><small> {r.evidence.doc_id ?? "the case names no document"}{r.evidence.page ? `, p. ${r.evidence.page}` : ""}</small></blockquote> : null}
      <Disclosure title="How it was decided" note={`${r.reasoning_trace?.length ?? 0} steps${r.retrieval_method ? `, ${r.retrieval_method}` : ""}`}>
        {() => (
          <ol class="trace">
            {(r.reasoning_trace ?? []).map((s) => <Step n={s.step} of={traceStep(s.action, s.observation)} />)}
            <li class="under">{r.prompt_id ? <span>prompt <code>{r.prompt_id}</code></span> : null}{r.session_id ? <a href={sessionAddress(r.session_id)}>the session</a> : null}</li>
          </ol>
        )}
      </Disclosure>
      <Disclosure title={r.review ? "Review it again" : "Review it"}>{() => <ReviewBody result={r} done={reload} />}</Disclosure>
    </li>
  );
}

function Switch({ name, words, value, set }: { name: string; words: string; value: boolean; set: (c: Record<string, unknown>) => void }) {
  return <label class="check"><input type="checkbox" checked={value} onChange={(e) => set({ [name]: e.currentTarget.checked })} /> {words}</label>;
}

const RATIOS = [0, 0.1, 0.5, 1];

const COUNTS: Record<string, string> = {
  llm_react: "decided by the model",
  assigned_react: "given to the model by share",
  assigned_heuristic: "given to the heuristic by share",
  fallbacks: "decided by the heuristic after the model failed",
  shadow_compared: "compared",
  shadow_differs: "compared, and different",
  shadow_dropped: "not compared: the queue was full",
};

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
            <Switch name="react_use_llm_controller" words="the model decides every case" value={Boolean(r.react_use_llm_controller)} set={set} />
            <Switch name="react_shadow_mode" words="the model also decides, only to compare" value={Boolean(r.react_shadow_mode)} set={set} />
            <Switch name="react_fallback_enabled" words="if the model fails, the heuristic decides" value={Boolean(r.react_fallback_enabled)} set={set} />
            <p class="quiet">Share of cases for the model, if neither of the first two is on:</p>
            <div class="chips" role="group" aria-label="Share of cases that the model decides">
              {RATIOS.map((x) => <button type="button" class="chip" aria-pressed={(r.react_ab_test_ratio ?? 0) === x} onClick={() => set({ react_ab_test_ratio: x })}>{percent(x)}</button>)}
            </div>
            <dl class="facts-list">{Object.entries(r.counts ?? {}).map(([k, n]) => <div><dt>{COUNTS[k] ?? k.replace(/_/g, " ")}</dt><dd>{count(n)}</dd></div>)}</dl>
            {r.discrepancies?.length ? (
              <Disclosure title="Where the model would decide otherwise" note={count(r.discrepancies.length)}>
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
  const picked = usePicked();
  const prompts = useApi<{ prompts: Prompt[] }>("/api/v1/prompts");
  const [told, setTold] = useState("");
  const move = (p: Prompt, verb: string) => void send("POST", `/api/v1/prompts/${encodeURIComponent(p.id)}/${verb}`).then(() => (setTold(""), prompts.reload()), (e: Error) => setTold(e.message));
  return (
    <section class="card" aria-label="Prompts">
      <h2>Prompts</h2>
      <Loaded of={prompts}>
        {(d) => d.prompts.length ? (
          <><CompareBar kind="prompt" picked={picked} /><ul class="prompts">
            {d.prompts.map((p) => {
              const next = NEXT[p.state];
              return (
                <li>
                  <Pick picked={picked} id={p.id} name={p.id} /><code><Text>{p.id}</Text></code><Badge tone={p.state === "active" ? "cap" : ""}>{p.state}</Badge>
                  {p.scores ? <small class="numbers">{Object.entries(p.scores).map(([k, v]) => `${k} ${typeof v === "number" ? v.toFixed(2) : String(v)}`).join(" · ")}</small> : null}
                  <span class="spring" />
                  {next ? <button type="button" class="small" onClick={() => move(p, next[0])}>{next[1]}</button> : null}
                </li>
              );
            })}
          </ul></>
        ) : <p class="quiet">The prompt that comes with the program is in use.</p>}
      </Loaded>
      {told ? <p class="problem" role="alert"><Text>{told}</Text></p> : null}
    </section>
  );
}

const FIRST = 15; // verdicts, before what follows them

export function PolicyPage() {
  const all = useApi<{ results: Result[] }>("/api/v1/policy/results?limit=50");
  const [turn, setTurn] = useState(0);
  const [shown, setShown] = useState(FIRST);
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
  const results = all.data?.results ?? [];
  const { rows, filters } = useNarrow(results, { label: "Search verdicts", text: (r) => [r.case_id, r.criterion_id, r.rationale, r.policy_document_id, r.citation?.section].join(" "), state: (r) => r.status });
  if (all.error?.code === "not_configured") return <><Title title="Policy" /><NotConfigured section="policy" example={"policy:\n  documents: {lumbar-mri: policy.md}\n  search: bm25"} /></>;
  return (
    <>
      <Title title="Policy" about="Whether a case meets a policy: each verdict with its section, its evidence and its confidence." />
      <ReviewQueue newest={`${turn} ${results[0]?.result_id}`} reload={all.reload} />
      <h2>Verdicts</h2>
      <Loaded of={all}>
        {() => results.length ? <>{filters}<ol class="verdicts">{rows.slice(0, shown).map((r) => <VerdictCard key={r.result_id} r={r} reload={() => (all.reload(), setTurn((n) => n + 1))} />)}</ol>{rows.length > shown ? <button type="button" onClick={() => setShown(rows.length)}>Show {rows.length - shown} more</button> : null}</>
          : <Empty title="No case has been reviewed"><p>Post one to <code>{location.origin}/reason/auth-review</code>, or run <code>rationale verify CASE.json --policy POLICY.md</code>.</p></Empty>}
      </Loaded>
      <h2>Documents</h2>
      <Documents changed={all.reload} />
      <ProposalsCard />
      <div class="columns pair"><RolloutCard /><PromptsCard /></div>
    </>
  );
}
