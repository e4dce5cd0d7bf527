// pages.ts - which page an address has. Each is a file of its own, loaded when it is first opened.
// SPDX-License-Identifier: Apache-2.0
import type { JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useReturn } from "./reach";

export type Shown = (of: { id: string }) => JSX.Element;
export type Open = () => Promise<Shown>;

export const PAGES: Record<string, Open> = {
  "/": async () => (await import("./pages/overview")).OverviewPage,
  "/live": async () => (await import("./pages/live")).LivePage,
  "/compare": async () => (await import("./pages/compare")).ComparePage,
  "/sessions": async () => (await import("./pages/sessions")).SessionsPage,
  "/agents": async () => (await import("./pages/agents")).AgentsPage,
  "/incidents": async () => (await import("./pages/incidents")).IncidentsPage,
  "/policy": async () => (await import("./pages/policy")).PolicyPage,
  "/orders": async () => (await import("./pages/orders")).OrdersPage,
  "/optimize": async () => (await import("./pages/optimize")).OptimizePage,
  "/decisions": async () => (await import("./pages/decisions")).DecisionsPage,
  "/reasoning": async () => (await import("./pages/reasoning")).ReasoningPage,
  "/providers": async () => (await import("./pages/providers")).ProvidersPage,
  "/keys": async () => (await import("./pages/keys")).KeysPage,
  "/system": async () => (await import("./pages/system")).SystemPage,
};

// Pages of one thing: /KIND/ID.
export const ONES: Record<string, Open> = {
  sessions: async () => (await import("./pages/session")).SessionPage,
  agents: async () => (await import("./pages/agents")).AgentPage,
  workflows: async () => (await import("./pages/agents")).WorkflowPage,
  runs: async () => (await import("./pages/run")).RunPage,
  incidents: async () => (await import("./pages/incidents")).IncidentPage,
  orders: async () => (await import("./pages/orders")).OrderPage,
};

export function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

const opened = new Map<Open, Shown>();

// The page, at once if it was open before; null while it is loaded.
export function useOpened(open: Open | undefined): Shown | null | "failed" {
  const [failed, fail] = useState<Open | null>(null);
  const [, again] = useState({});
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    if (!open || opened.has(open)) return;
    let here = true;
    open().then(
      (shown) => (opened.set(open, shown), here && again({})),
      () => here && fail(() => open),
    );
    return () => void (here = false);
  }, [open, turn]);
  useReturn(() => {
    fail(null);
    setTurn((n) => n + 1);
  }, failed !== null);
  return (open && opened.get(open)) ?? (failed && failed === open ? "failed" : null);
}
