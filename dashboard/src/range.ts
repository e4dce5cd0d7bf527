// range.ts - spans of time one can choose. SPDX-License-Identifier: Apache-2.0
import { answeredAt } from "./reach";

const HOUR = 3600_000;
const SPANS: Record<string, number> = { "1h": HOUR, "24h": 24 * HOUR, "7d": 168 * HOUR, "30d": 720 * HOUR };

export const RANGES: [string, string][] = [
  ["", "all time"],
  ["1h", "last hour"],
  ["24h", "last 24 hours"],
  ["7d", "last 7 days"],
  ["30d", "last 30 days"],
];

// Where the span began, to the minute so that the same question has the same address for a while.
export function since(range: string | null): number | null {
  const ms = range ? SPANS[range] : undefined;
  return ms ? Math.floor((answeredAt() - ms) / 60_000) * 60_000_000 : null;
}
