// health.ts - the health of the record, as the gateway reports it on the live channel. SPDX-License-Identifier: Apache-2.0
import { Cell } from "./cell";
import { live, type Message } from "./live";

export interface Health {
  status: string; // healthy, degraded, unhealthy
  message: string; // why it is not healthy
}

export const health = new Cell<Health>({ status: "healthy", message: "" });

function take(m: Message): void {
  if (m.type !== "system_health") return;
  const services = m.data.services as { store?: { message?: string } } | undefined;
  health.value = { status: String(m.data.status ?? "healthy"), message: services?.store?.message ?? "" };
}

// The gateway sends the health after each subscription, so a new connection corrects an old report.
export function followHealth(): () => void {
  return live.subscribe("system_health", take);
}
