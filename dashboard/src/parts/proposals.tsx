// proposals.tsx - criteria and facts that a model proposed, for a person to confirm. SPDX-License-Identifier: Apache-2.0
import { useState } from "preact/hooks";
import { send, useApi } from "../api";
import type { Doc, Proposal } from "../policy";
import { Text } from "./basics";

interface Extracted {
  proposals: Proposal[];
  dropped: Record<string, number>;
  failures: { part: number; reason: string }[];
}

// What came of an extraction, in words.
function words(x: Extracted): string {
  const dropped = Object.entries(x.dropped).filter(([, n]) => n > 0).map(([k, n]) => `${n} ${k.replace(/_/g, " ")}`);
  const failed = x.failures.map((f) => `part ${f.part}: ${f.reason}`);
  return [`${x.proposals.length} proposed`, dropped.length ? `dropped: ${dropped.join(", ")}` : "", ...failed].filter(Boolean).join("; ");
}

export function ProposalsCard() {
  const list = useApi<{ proposals: Proposal[] }>("/api/v1/policy/proposals?state=proposed");
  const docs = useApi<{ documents: Doc[] }>("/api/v1/policy/documents").data?.documents ?? [];
  const [told, setTold] = useState("");
  const [busy, setBusy] = useState(false);
  if (!list.data) return null;
  const decide = (p: Proposal, state: string) => void send("POST", "/api/v1/policy/proposals", { ids: [p.id], state }).then(() => (setTold(""), list.reload()), (e: Error) => setTold(e.message));
  const extract = (id: string) => {
    setBusy(true);
    setTold("The model reads…");
    send<Extracted>("POST", "/api/v1/policy/extract", { kind: "criteria", document_id: id }).then(
      (x) => (setBusy(false), setTold(words(x)), list.reload()),
      (e: Error) => (setBusy(false), setTold(e.message)),
    );
  };
  return (
    <section class="card proposing" aria-label="Proposals">
      <h2>Proposals</h2>
      <p class="quiet">Criteria and facts that a model found. Only confirmed ones are used.</p>
      <div class="chips">{[...new Set(docs.map((d) => d.id))].map((id) => <button type="button" class="chip" disabled={busy} onClick={() => extract(id)}>Propose criteria of <Text>{id}</Text></button>)}</div>
      {told ? <p role="status"><Text>{told}</Text></p> : null}
      <ul class="proposals">
        {list.data.proposals.map((p) => (
          <li key={p.id}>
            <div><strong><Text>{p.name}</Text></strong>{p.kind === "fact" ? <Text>{` = ${JSON.stringify(p.value)}`}</Text> : null} <small><Text>{`${p.section ?? p.case_id ?? ""}, ${p.document_id ?? ""} ${p.version ?? ""}, p. ${p.page}`}</Text></small>
              <blockquote class="evidence"><Text>{p.quote}</Text></blockquote></div>
            <div class="actions">
              <button type="button" class="small" aria-label={`Confirm ${p.name}`} onClick={() => decide(p, "confirmed")}>Confirm</button>
              <button type="button" class="small" aria-label={`Reject ${p.name}`} onClick={() => decide(p, "rejected")}>Reject</button>
            </div>
          </li>
        ))}
      </ul>
    </section>
  );
}
