// approval.tsx - a call that waits for a person: what it would do, why the model wants it, and the
// answer. SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useId, useState } from "preact/hooks";
import { send } from "../api";
import { useDraft } from "../draft";
import { useProblem } from "../reach";
import { toolName, type Question } from "../runs";
import { Json, Text } from "./basics";

// The call's new arguments, or what is wrong with them.
function readArguments(text: string): { value?: Record<string, unknown>; problem?: string } {
  try {
    const value: unknown = JSON.parse(text);
    if (value && typeof value === "object" && !Array.isArray(value)) return { value: value as Record<string, unknown> };
  } catch {
    // said below
  }
  return { problem: "The arguments must be a JSON object, for example {\"amount\": 10}." };
}

const BUSY: Record<string, string> = { approve: "Approving…", change: "Sending…", deny: "Denying…" };

function Reason({ why, unknown }: { why: string | null | undefined; unknown: boolean }) {
  if (unknown) return <p>It was being called when the process ended; nobody knows whether it was done. Approve to call it again.</p>;
  if (!why || why === "approval") return <p class="quiet">The model gave no reason. Its agent calls this tool only if a person allows it.</p>;
  return <figure class="why"><figcaption>The model’s reason</figcaption><blockquote><Text>{why}</Text></blockquote></figure>;
}

export function Approval({ q, by, decided }: { q: Question; by?: ComponentChildren; decided: () => void }) {
  const [sent, setSent] = useState("");
  const [problem, setProblem] = useProblem();
  const [note, setNote] = useDraft(`note ${q.run_id} ${q.seq}`);
  const [typed, setTyped] = useDraft(`arguments ${q.run_id} ${q.seq}`);
  const [changing, setChanging] = useState(typed !== "");
  const changed = changing ? typed : null;
  const id = useId();
  const answer = (word: string) => {
    const given = word === "change" ? readArguments(changed ?? "") : {};
    if (given.problem) return setProblem(given.problem);
    setSent(word);
    setProblem("");
    send("POST", `/api/v1/runs/${encodeURIComponent(q.run_id)}/answer`, { seq: q.seq, word, ...(given.value && { arguments: given.value }), ...(note.trim() && { note: note.trim() }) })
      .then(decided, (e: Error) => {
        setSent("");
        setProblem(e.message);
        decided(); // somebody else may have answered
      });
  };
  const word = changed === null ? "approve" : "change";
  return (
    <section class="card approval" aria-label={`Approval of ${toolName(q.tool)}`}>
      <h2>May it call <code><Text>{toolName(q.tool)}</Text></code>?</h2>
      {by ? <p class="under">{by}</p> : null}
      <Reason why={q.why} unknown={q.kind === "unknown" || q.why === "unknown"} />
      {changed !== null ? (
        <label class="arguments"><span>Arguments of the call, as JSON</span>
          <textarea rows={Math.min(12, changed.split("\n").length + 1)} spellcheck={false} value={changed} onInput={(e) => setTyped(e.currentTarget.value)} />
        </label>
      ) : q.arguments === undefined || q.arguments === null ? null : <Json value={q.arguments} />}
      <div class="note">
        <label for={id}>Note</label>
        <input id={id} class="wide" value={note} maxLength={2000} placeholder="Optional; the model reads it if you deny" onInput={(e) => setNote(e.currentTarget.value)} />
      </div>
      {problem ? <p class="problem" role="alert"><Text>{problem}</Text></p> : null}
      <p class="row">
        <button type="button" class="primary" disabled={!!sent} onClick={() => answer(word)}>{sent === word ? BUSY[word] : word === "change" ? "Approve with these arguments" : "Approve"}</button>
        <button type="button" disabled={!!sent} onClick={() => { setProblem(""); setTyped(changing ? "" : JSON.stringify(q.arguments ?? {}, null, 2)); setChanging(!changing); }}>{changed === null ? "Change…" : "Do not change"}</button>
        <button type="button" class="danger" disabled={!!sent} onClick={() => answer("deny")}>{sent === "deny" ? BUSY.deny : "Deny"}</button>
      </p>
    </section>
  );
}
