// policy.ts - shapes of verdicts, reviews, re-verifications and proposals. SPDX-License-Identifier: Apache-2.0

export interface Reading {
  status: string;
  rationale: string;
}

export interface Review {
  status: string;
  section: string | null;
  reason: string;
  decided_by: string;
  decided_at: string;
}

export interface Result {
  result_id: string;
  case_id: string;
  session_id?: string | null;
  policy_document_id?: string | null;
  policy_version?: string | null;
  review?: Review | null;
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
  readers?: { model: Reading; rules: Reading };
}

export interface Block {
  title: string;
  text: string;
  start: number | null;
  end: number | null;
}

export interface Fact {
  field_name: string;
  value: unknown;
  confidence: number;
  doc_id: string;
  page: number;
  used: boolean;
}

export interface ReviewItem {
  result: Result;
  policy: { document_id: string; version: string; section: string; page: number; blocks: Block[]; truncated: boolean } | null;
  policy_absent: string | null;
  facts: Fact[];
  reviews: (Review & { machine_status: string })[];
}

export interface Brief {
  status: string;
  confidence: number;
  version: string;
  section: string;
  rationale: string;
}

export interface Reverification {
  id: string;
  document_id: string;
  request: { version: string; as_of_date: string; controller: string };
  status: string;
  error: string | null;
  total: number;
  done: number;
  failed: number;
  criteria: number;
  flipped: number;
  created_by: string;
  created_at: string;
  changes?: { case_id: string; criterion_id: string | null; old: Brief | null; new: Brief | null; error: string | null }[];
}

export interface Proposal {
  id: string;
  kind: string;
  state: string;
  document_id: string | null;
  version: string | null;
  case_id: string | null;
  name: string;
  value: unknown;
  quote: string;
  section: string | null;
  page: number;
  decided_by: string | null;
}

export interface Node {
  node_id: string;
  title: string;
  start_index?: number;
  end_index?: number;
  nodes?: Node[];
}

export interface Doc {
  id: string;
  title?: string | null;
  version: string;
  effective_from: string | null;
  effective_to: string | null;
  in_force: boolean;
  structure?: Node[];
}

export const TONES: Record<string, string> = { met: "good", ready: "good", missing: "bad", not_ready: "bad", uncertain: "warm" };

export function microseconds(t: number | string | null | undefined): number | null {
  if (typeof t === "number") return t > 1e14 ? t : t > 1e11 ? t * 1000 : t * 1e6;
  const ms = typeof t === "string" ? Date.parse(t) : NaN;
  return Number.isNaN(ms) ? null : ms * 1000;
}
