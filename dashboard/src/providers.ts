// providers.ts - how a provider is: its breakers, and the last look at its address. SPDX-License-Identifier: Apache-2.0
import { plural } from "./format";

export type Breaker = string | { state?: string; failures?: number } | null;

export interface ProviderModel {
  alias?: string;
  name?: string;
  upstream?: string;
  prices?: Record<string, number | null> | null;
  breaker?: Breaker;
}

export interface Probe {
  state: "reachable" | "unreachable" | "unknown" | "off";
  error: string | null;
  checked_at_us: number | null;
  took_ms: number | null;
}

export interface ProviderState {
  name: string;
  models?: (ProviderModel | string)[];
  breaker?: Breaker;
  key_missing?: boolean;
  probe?: Probe;
}

const BREAKER: Record<string, string> = { open: "left alone for a while: its breaker is open", half_open: "being tried again", "half-open": "being tried again" };

function state(b: Breaker | undefined): string {
  return (typeof b === "string" ? b : b?.state) ?? "closed";
}

// How it is: "" if all is well.
export function breakerTrouble(b: Breaker | undefined): string {
  return state(b) === "closed" ? "" : (BREAKER[state(b)] ?? state(b));
}

export function modelsOf(p: ProviderState): ProviderModel[] {
  return (p.models ?? []).map((m) => (typeof m === "string" ? { alias: m, upstream: m } : m));
}

export function providerTrouble(p: ProviderState): string {
  const models = modelsOf(p);
  const down = models.filter((m) => breakerTrouble(m.breaker)).length;
  const failing = models.reduce((n, m) => Math.max(n, typeof m.breaker === "object" ? (m.breaker?.failures ?? 0) : 0), 0);
  if (p.probe?.state === "unreachable") return `cannot be reached: ${p.probe.error ?? ""}`;
  if (breakerTrouble(p.breaker)) return breakerTrouble(p.breaker);
  if (down) return `${down} of ${models.length} models ${down === 1 ? "is" : "are"} left alone`;
  if (failing) return `its last ${failing === 1 ? "call" : plural(failing, "call")} failed`;
  return p.key_missing ? "its key is not set" : "";
}
