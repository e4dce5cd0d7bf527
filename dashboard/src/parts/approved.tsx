// approved.tsx - a call that waited for a person, and the decision: who, when, with which note. SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import type { SessionApproval } from "../api";
import { toolName, type Decided, type Question } from "../runs";
import { Json, Text, When } from "./basics";
import type { Group, Item } from "./timeline";

const SAID: Record<string, [string, string]> = { approve: ["good", "approved"], change: ["good", "approved with other arguments"], deny: ["bad", "denied"] };

function given(d: Decided): unknown {
  if (typeof d.arguments !== "string") return d.arguments;
  try {
    return JSON.parse(d.arguments);
  } catch {
    return d.arguments;
  }
}

function decisionWords(decided: Decided | null, over: boolean): [string, string] {
  return decided ? (SAID[decided.word] ?? ["", decided.word]) : over ? ["warm", "not answered"] : ["warm", "waits for a person"];
}

export function Approved({ q, decided: d, over, more }: { q: Question; decided: Decided | null; over: boolean; more?: ComponentChildren }) {
  const [tone, words] = decisionWords(d, over);
  const why = q.why && !["approval", "unknown"].includes(q.why) ? q.why : "";
  return (
    <>
      <header>
        <span class="kind">approval</span>
        <strong class="name"><Text>{toolName(q.tool)}</Text></strong>
        <span class={`status ${tone}`}><i aria-hidden="true" />{words}</span>
        {d?.who ? <span class="quiet">by <Text>{d.who}</Text></span> : null}
        {more || d?.at_us ? <span class="spring" /> : null}
        {more ?? null}
        {d?.at_us ? <span class="quiet"><When us={d.at_us} /></span> : null}
      </header>
      {why ? <p class="because"><Text>{why}</Text></p> : null}
      {d?.word === "change" && d.arguments !== undefined ? <Json value={given(d)} /> : null}
      {d?.note ? <p class="about">Note: <Text>{d.note}</Text></p> : null}
    </>
  );
}

// ---- in the timeline of a session ----

function item(a: SessionApproval, over: boolean, more?: ComponentChildren): Item {
  const decided = a.word ? { word: a.word, who: a.who ?? "", note: a.note ?? "", at_us: a.decided_at_us ?? 0 } : null;
  const [, words] = decisionWords(decided, over);
  return {
    key: `approval ${a.run_id} ${a.seq}`, kind: "approval", name: toolName(a.tool), tool: false, bad: false, cut: false, calls: 0, from: a.asked_at_us, to: a.decided_at_us ?? a.asked_at_us,
    thought: null, head: `approve ${toolName(a.tool)}`, line: [words, a.who ? `by ${a.who}` : "", a.note ? `· ${a.note}` : ""].filter(Boolean).join(" "), numbers: "",
    card: () => <Approved q={{ run_id: a.run_id, seq: a.seq, tool: a.tool, why: a.why }} decided={decided} over={over} more={more} />,
  };
}

// Adds each approval to the group of its call: before the call that it allowed, otherwise by time.
export function withApprovals(groups: Group[], approvals: SessionApproval[], over: boolean, link: (run: string) => ComponentChildren): Group[] {
  if (!approvals.length || !groups.length) return groups;
  const all = groups.map((g) => ({ ...g, items: [...g.items] }));
  for (const a of approvals) {
    const allowed = (i: Item) => a.word !== null && a.word !== "deny" && i.tool && i.from >= a.asked_at_us && (a.tool === i.name || a.tool.endsWith(`__${i.name}`));
    const before = all.find((g) => g.items.some(allowed));
    const after = [...all].reverse().find((g) => (g.items[0]?.from ?? 0) <= a.asked_at_us) ?? all[0];
    const { items } = before ?? after ?? { items: [] };
    const later = items.findIndex(before ? allowed : (i) => i.from > a.asked_at_us);
    items.splice(later < 0 ? items.length : later, 0, item(a, over, link(a.run_id)));
  }
  return all;
}
