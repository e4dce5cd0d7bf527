// review.tsx - a result that waits for a person: its sentence in the page, the facts beside it, and the
// person's verdict. SPDX-License-Identifier: Apache-2.0
import { useEffect, useId, useState } from "preact/hooks";
import { address, send, useApi } from "../api";
import { useDraft } from "../draft";
import { type Block, type Fact, microseconds, type Result, type ReviewItem, TONES } from "../policy";
import { Badge, Disclosure, Loaded, Text, When } from "./basics";

export function Verdict({ of }: { of: string }) {
  return <span class={`status ${TONES[of] ?? ""}`}><i aria-hidden="true" />{of}</span>;
}

// Offsets count characters, of which some are two units of a string.
function Marked({ block }: { block: Block }) {
  if (block.start === null || block.end === null) return <p><Text>{block.text}</Text></p>;
  const all = Array.from(block.text);
  return (
    <p>
      <Text>{all.slice(0, block.start).join("")}</Text>
      <mark><Text>{all.slice(block.start, block.end).join("")}</Text></mark>
      <Text>{all.slice(block.end).join("")}</Text>
    </p>
  );
}

function Facts({ facts }: { facts: Fact[] }) {
  const row = (f: Fact) => (
    <div class={f.used ? "used" : ""}>
      <dt><Text>{f.field_name}</Text></dt>
      <dd><strong><Text>{typeof f.value === "string" ? f.value : JSON.stringify(f.value)}</Text></strong><span class="unseen">, </span>
        <small><Text>{`${f.doc_id || "no document"}, p. ${f.page}, confidence ${f.confidence}`}</Text></small></dd>
    </div>
  );
  const others = facts.filter((f) => !f.used);
  const used = facts.filter((f) => f.used);
  return (
    <div class="case-facts">
      <h3>Facts</h3>
      {used.length ? <dl>{used.map(row)}</dl> : <p class="quiet">No fact of the case is named by the sentence.</p>}
      {others.length ? <Disclosure title="Other facts of the case" note={String(others.length)} open={!used.length}>{() => <dl>{others.map(row)}</dl>}</Disclosure> : null}
    </div>
  );
}

const STATUSES = ["met", "missing", "uncertain"];

function Decide({ of, done }: { of: Result; done: () => void }) {
  const [status, setStatus] = useState("");
  const [reason, setReason] = useDraft(`reason ${of.result_id}`);
  const [told, setTold] = useState("");
  const [busy, setBusy] = useState(false);
  const id = useId();
  const submit = (e: { preventDefault(): void }) => {
    e.preventDefault();
    if (!status || !reason.trim()) return setTold("Choose a verdict and say why.");
    setBusy(true);
    send("POST", "/api/v1/policy/review", { result_id: of.result_id, status, reason, section: of.citation?.section || undefined }).then(
      () => (setBusy(false), setTold(""), setReason(""), setStatus(""), done()),
      (err: Error) => (setBusy(false), setTold(err.message)),
    );
  };
  return (
    <form class="decide" onSubmit={submit}>
      <fieldset>
        <legend>Your verdict</legend>
        {STATUSES.map((s) => <label class="check"><input type="radio" name={`${id}-status`} value={s} checked={status === s} onChange={() => setStatus(s)} /> {s}</label>)}
      </fieldset>
      <label class="field"><span>Reason</span><textarea rows={2} maxLength={2000} value={reason} onInput={(e) => setReason(e.currentTarget.value)} /></label>
      <button type="submit" disabled={busy}>Record the verdict</button>
      {told ? <p class="problem" role="alert"><Text>{told}</Text></p> : null}
    </form>
  );
}

// All that a person needs to decide, fetched when it is opened.
export function ReviewBody({ result, done }: { result: Result; done: () => void }) {
  const item = useApi<ReviewItem>(address("/api/v1/policy/review/item", { result_id: result.result_id }));
  const after = () => {
    item.reload();
    done();
  };
  return (
    <Loaded of={item}>
      {(d) => (
        <div class="reviewing">
          {d.result.readers ? (
            <div class="readers">
              {(["model", "rules"] as const).map((who) => {
                const r = d.result.readers?.[who];
                return r ? <p><span class="quiet">The {who === "model" ? "model says" : "rules say"}</span> <Verdict of={r.status} /><br /><Text>{r.rationale}</Text></p> : null;
              })}
            </div>
          ) : null}
          <div class="beside">
            {d.policy ? (
              <div class="page">
                <h3><Text>{`${d.policy.document_id} ${d.policy.version}, page ${d.policy.page}`}</Text></h3>
                {d.policy.blocks.map((b) => <><h4><Text>{b.title}</Text></h4><Marked block={b} /></>)}
                {d.policy.truncated ? <p class="quiet">The page is longer than this.</p> : null}
              </div>
            ) : <p class="quiet"><Text>{d.policy_absent ?? ""}</Text></p>}
            <Facts facts={d.facts} />
          </div>
          {d.reviews.length ? (
            <ul class="said" aria-label="What was decided">
              {d.reviews.map((v) => <li><Verdict of={v.status} /> <Text>{v.reason}</Text> <small><Text>{v.decided_by}</Text>, <When us={microseconds(v.decided_at)} /></small></li>)}
            </ul>
          ) : null}
          <Decide of={d.result} done={after} />
        </div>
      )}
    </Loaded>
  );
}

export function ReviewQueue({ newest, reload }: { newest: string; reload: () => void }) {
  const queue = useApi<{ results: Result[]; open: number }>("/api/v1/policy/review?limit=20");
  const rows = queue.data?.results ?? [];
  useEffect(queue.reload, [newest]);
  const done = () => {
    queue.reload();
    reload();
  };
  if (!queue.data || !queue.data.open) return null;
  return (
    <section class="queue" aria-label="To review">
      <h2>To review <Badge tone="warm">{queue.data.open}</Badge></h2>
      <p class="quiet">Uncertain results, and those on which the model and the rules disagree.</p>
      <ol class="verdicts">
        {rows.map((r, i) => (
          <li class="card verdict" key={r.result_id}>
            <header>
              <Verdict of={r.status} />
              <strong><Text>{r.criterion_id}</Text></strong>
              <span class="quiet"><Text>{r.case_id}</Text></span>
              {r.reason_code ? <Badge tone="warm" title="Why it is not certain">{r.reason_code}</Badge> : null}
              <span class="spring" />
              {r.policy_version ? <Badge title="The version of the policy">version {r.policy_version}</Badge> : null}
              <When us={microseconds(r.timestamp)} />
            </header>
            <p><Text>{r.rationale}</Text></p>
            <Disclosure title="Review it" open={i === 0}>{() => <ReviewBody result={r} done={done} />}</Disclosure>
          </li>
        ))}
      </ol>
      {queue.data.open > rows.length ? <p class="quiet">{queue.data.open - rows.length} more wait after these.</p> : null}
    </section>
  );
}
