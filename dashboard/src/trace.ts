// trace.ts - the steps of a verdict as words: an action such as facts_get(field_name='age') and its result,
// which is JSON and may be cut short. SPDX-License-Identifier: Apache-2.0

export interface TraceStep {
  did: string;
  with: string; // the arguments
  facts: [string, string][]; // fields of the result, named
  text: string; // a result without fields
  bad: boolean;
}

const DID: Record<string, string> = {
  think: "thought", retrieve: "found sections", read: "read the rules", link: "linked facts of the case", decide: "decided",
  pi_search: "searched the policy", facts_get: "asked for a fact of the case", spans_tighten: "looked for the passage", finish: "proposed a verdict",
  policy_xref: "followed references", temporal_lookup: "compared dates", confidence_score: "computed the confidence",
  contradiction_detector: "looked for contradictions", code_validator: "checked codes", pubmed_search: "searched PubMed",
};
// Places in files and numbers of sections, which no reader needs.
const SKIPPED = /^(success|bbox|start|end|score|(\w+_)?node_id|top_k|trajectory)$/;
const UNNAMED = /^(title|text|text_preview|query|field_name|message)$/;

function label(name: string): string {
  return name.replace(/^c_/, "").replace(/doc_id$/, "document").replace(/_/g, " ");
}

function plainValue(v: unknown): string {
  if (v === null || v === undefined) return "none";
  if (typeof v === "boolean") return v ? "yes" : "no";
  if (Array.isArray(v)) return v.map(plainValue).join(", ") || "none";
  if (typeof v !== "object") return String(v);
  return Object.entries(v).filter(([k, x]) => !SKIPPED.test(k) && x !== null && x !== "").map(([k, x]) => named(k, x)).join(" · ");
}

function named(name: string, v: unknown): string {
  if (/^pages?$/.test(name)) return `p. ${plainValue(v)}`;
  return UNNAMED.test(name) ? plainValue(v) : `${label(name)} ${plainValue(v)}`;
}

// JSON that was cut at its end, with what is open closed.
function parsedCut(text: string): unknown {
  const body = text.replace(/(\.\.\.|…)$/, "");
  for (let end = body.length; end > 0; end = body.lastIndexOf(",", end - 1)) {
    const open: string[] = [];
    let quoted = false;
    for (let i = 0; i < end; i++) {
      const c = body[i] ?? "";
      if (quoted && c === "\\") i++;
      else if (c === '"') quoted = !quoted;
      else if (!quoted && (c === "{" || c === "[")) open.unshift(c === "{" ? "}" : "]");
      else if (!quoted && (c === "}" || c === "]")) open.shift();
    }
    try {
      return JSON.parse(body.slice(0, end) + (quoted ? '…"' : "") + open.join(""));
    } catch {
      // without its last member
    }
  }
  return null;
}

// key='text', key=1, key=[1, 2]
function argumentWords(text: string): string {
  const found = [...text.matchAll(/(\w+)=('(?:[^'\\]|\\.)*'|\[[^\]]*\]|[^,]*)/g)];
  return found.filter(([, k]) => !SKIPPED.test(k ?? "")).map(([, k = "", v = ""]) => named(k, v.replace(/^['[]|['\]]$/g, "").replace(/\\(['\\])/g, "$1"))).join(" · ");
}

export function traceStep(action: string, observation: string): TraceStep {
  const [, name = action, given = ""] = /^([\w.]+)\((.*)\)?$/s.exec(action.replace(/\)$/, "")) ?? [];
  const value = observation.startsWith("{") ? parsedCut(observation) : null;
  const fields = value && typeof value === "object" ? Object.entries(value).filter(([k, v]) => !SKIPPED.test(k) && k !== "field_name" && v !== null && v !== "") : [];
  const facts = fields.flatMap(([k, v]): [string, string][] => {
    const name = k === "nodes" ? "section" : k === "spans" ? "passage" : label(k);
    return Array.isArray(v) && v.some((x) => x && typeof x === "object") ? v.map((x): [string, string] => [name, plainValue(x)]) : [[name, plainValue(v)]];
  }).filter(([, words]) => words);
  return { did: DID[name] ?? label(name), with: argumentWords(given), facts, text: value ? "" : observation, bad: (value as { success?: boolean } | null)?.success === false };
}
