// attention.tsx - what needs a person: approvals, reviews, providers that fail, a backlog. SPDX-License-Identifier: Apache-2.0
import { useApi } from "../api";
import { useCell } from "../cell";
import { plural } from "../format";
import { health } from "../health";
import { providerTrouble, type ProviderState } from "../providers";
import { useNowAndThen } from "../watch";
import { Text } from "./basics";

interface Item {
  tone: "bad" | "warm";
  words: string;
  note?: string;
  href: string;
  go: string;
}

interface WaitingRun {
  app: string;
  pending: { kind?: string; more?: unknown[] } | null;
}

// Calls that wait for a person, not for a tool of the caller: those of incidents, and all others.
function approvals(runs: WaitingRun[]): { n: number; href: string }[] {
  const at = { "/incidents": 0, "/agents": 0 };
  for (const { app, pending } of runs)
    if (pending && pending.kind !== "client") at[app.split(".")[0] === "incidents" ? "/incidents" : "/agents"] += 1 + (pending.more?.length ?? 0);
  return Object.entries(at).flatMap(([href, n]) => (n ? [{ n, href }] : []));
}

export function Attention() {
  const runs = useApi<{ runs: WaitingRun[] }>("/api/v1/runs?status=waiting&limit=1000");
  const waiting = runs.data?.runs ?? [];
  const apps = useApi<{ applications?: string[] }>("/api/v1/system").data?.applications ?? [];
  const review = useApi<{ open: number }>(apps.includes("policy") ? "/api/v1/policy/review?limit=1" : null);
  const reviews = review.data?.open ?? 0;
  const state = useApi<{ providers: ProviderState[] }>("/api/v1/providers");
  const providers = state.data?.providers ?? [];
  useNowAndThen(() => [runs, review, state].forEach((one) => one.reload()));
  const record = useCell(health);
  const items: Item[] = [];
  if (record.status !== "healthy") items.push({ tone: record.status === "unhealthy" ? "bad" : "warm", words: `The record is ${record.status}`, note: record.message, href: "/system", go: "See System" });
  for (const p of providers) {
    const why = providerTrouble(p);
    if (why) items.push({ tone: "bad", words: `Provider ${p.name}`, note: why, href: "/providers", go: "See Providers" });
  }
  for (const { n, href } of approvals(waiting)) items.push({ tone: "warm", words: `${plural(n, "tool call")} ${n === 1 ? "waits" : "wait"} for approval`, href, go: "Decide" });
  if (reviews) items.push({ tone: "warm", words: `${plural(reviews, "policy result")} ${reviews === 1 ? "waits" : "wait"} for a review`, href: "/policy", go: "Review" });
  if (!items.length && !runs.data) return null; // unknown; the page says why
  if (!items.length) return <p class="quiet attention-none" role="status">Nothing waits for a person.</p>;
  return (
    <ul class="attention" aria-label="Needs a person">
      {items.map((i) => <li class={i.tone}><p><strong><Text>{i.words}</Text></strong>{i.note ? <>{i.note.startsWith("cannot") ? " " : ": "}<Text>{i.note}</Text></> : null}</p><a href={i.href}>{i.go}</a></li>)}
    </ul>
  );
}
