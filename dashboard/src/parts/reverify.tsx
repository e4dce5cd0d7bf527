// reverify.tsx - versions of documents, their cases verified again, and what flipped. SPDX-License-Identifier: Apache-2.0
import { useEffect, useState } from "preact/hooks";
import { send, useApi } from "../api";
import { count } from "../format";
import { type Brief, type Doc, microseconds, type Node, type Reverification } from "../policy";
import { Badge, Bar, Choice, Disclosure, State, Text, When } from "./basics";
import { Verdict } from "./review";

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

function dates(d: Doc): string {
  if (!d.effective_from && !d.effective_to) return "no dates";
  return d.effective_from && d.effective_to ? `${d.effective_from} to ${d.effective_to}` : d.effective_from ? `from ${d.effective_from}` : `to ${d.effective_to}`;
}

function Side({ words, of }: { words: string; of: Brief | null }) {
  if (!of) return null;
  return <p><span class="quiet">{words}</span> <Verdict of={of.status} /> <small><Text>{`version ${of.version}, ${of.section}`}</Text></small><br /><Text>{of.rationale}</Text></p>;
}

function Job({ id, over }: { id: string; over: () => void }) {
  const job = useApi<Reverification>(`/api/v1/policy/reverify/${encodeURIComponent(id)}`);
  const running = job.data?.status === "running";
  useEffect(() => {
    if (!running) return;
    const timer = setInterval(job.reload, 500);
    return () => (clearInterval(timer), over());
  }, [running]);
  const d = job.data;
  if (!d) return null;
  return (
    <div class="reverified">
      <p class="under" role="status">
        <State of={d.status} />
        <Bar part={d.total ? d.done / d.total : 1} label={`${d.done} of ${d.total} cases`} />
        <span class="numbers">{count(d.done)} of {count(d.total)} cases, {count(d.flipped)} {d.flipped === 1 ? "verdict" : "verdicts"} flipped{d.failed ? `, ${count(d.failed)} failed` : ""}</span>
        <small><Text>{d.created_by}</Text>, <When us={microseconds(d.created_at)} /></small>
        {running ? <button type="button" class="small" onClick={() => void send("DELETE", `/api/v1/policy/reverify/${encodeURIComponent(id)}`).then(job.reload, job.reload)}>Cancel</button> : null}
      </p>
      {d.error ? <p class="problem"><Text>{d.error}</Text></p> : null}
      {d.changes?.length ? (
        <ul class="flips" aria-label="What flipped">
          {d.changes.map((c) => (
            <li><strong><Text>{c.criterion_id ?? ""}</Text></strong> <span class="quiet"><Text>{c.case_id}</Text></span>
              {c.error ? <p class="problem"><Text>{c.error}</Text></p> : <div class="readers"><Side words="was" of={c.old} /><Side words="is" of={c.new} /></div>}
            </li>
          ))}
        </ul>
      ) : d.status === "done" ? <p class="quiet">No verdict changed.</p> : null}
    </div>
  );
}

function Again({ id, docs, changed }: { id: string; docs: Doc[]; changed: () => void }) {
  const jobs = useApi<{ reverifications: Reverification[] }>("/api/v1/policy/reverify");
  const [version, setVersion] = useState("");
  const [told, setTold] = useState("");
  const last = jobs.data?.reverifications.find((j) => j.document_id === id);
  if (jobs.error && !jobs.data) return null;
  const start = () => void send("POST", "/api/v1/policy/reverify", { document_id: id, version: version || undefined }).then(() => (setTold(""), jobs.reload()), (e: Error) => setTold(e.message));
  return (
    <>
      <div class="again">
        <Choice label="Version" value={version} options={[["", "each case's own, or in force today"], ...docs.map((d): [string, string] => [d.version, d.version])]} onChange={setVersion} />
        <button type="button" onClick={start}>Verify the cases again</button>
      </div>
      {told ? <p class="problem" role="alert"><Text>{told}</Text></p> : null}
      {last ? <Job key={last.id} id={last.id} over={changed} /> : null}
    </>
  );
}

export function Documents({ changed }: { changed: () => void }) {
  const docs = useApi<{ documents: Doc[] }>("/api/v1/policy/documents").data?.documents ?? [];
  const ids = [...new Set(docs.map((d) => d.id))];
  return (
    <>
      {ids.map((id) => {
        const mine = docs.filter((d) => d.id === id);
        return (
          <section class="card document" aria-label={`Document ${id}`}>
            <h3><Text>{mine[mine.length - 1]?.title || id}</Text> <code><Text>{id}</Text></code></h3>
            {mine.map((d) => (
              <Disclosure key={d.version} title={<><Text>{`Version ${d.version}`}</Text>{d.in_force ? <> <Badge tone="cap">in force</Badge></> : null}</>} note={dates(d)}>{() => <Tree nodes={d.structure ?? []} />}</Disclosure>
            ))}
            <Again id={id} docs={mine} changed={changed} />
          </section>
        );
      })}
    </>
  );
}
