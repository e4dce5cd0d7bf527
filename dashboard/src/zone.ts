// zone.ts - the time zone that times are shown in, and ranges of time within it. SPDX-License-Identifier: Apache-2.0
import { answeredAt } from "./reach";

export const OWN_ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone || "UTC";

// The zone with its distance from UTC now, such as "Europe/Berlin (GMT+1)".
export function ownZoneWords(): string {
  const offset = formatter(OWN_ZONE, { timeZoneName: "shortOffset" }).formatToParts(Date.now()).find((p) => p.type === "timeZoneName")?.value ?? "";
  return OWN_ZONE === "UTC" ? OWN_ZONE : `${OWN_ZONE} (${offset})`;
}

const HOUR = 3600_000;
const DAY = 24 * HOUR;

// Name in the address, words, length in ms.
export const SPANS: [string, string, number][] = [
  ["1h", "last hour", HOUR],
  ["6h", "last 6 hours", 6 * HOUR],
  ["24h", "last 24 hours", DAY],
  ["7d", "last 7 days", 7 * DAY],
  ["30d", "last 30 days", 30 * DAY],
  ["90d", "last 90 days", 90 * DAY],
];

export interface Range {
  from: number; // ms
  to: number;
  custom: boolean;
}

// The range of the address: two times, or a span up to now, rounded to the minute so that it changes rarely.
export function rangeOf(q: URLSearchParams): Range {
  const from = Date.parse(q.get("from") ?? ""), to = Date.parse(q.get("to") ?? "");
  if (Number.isFinite(from) && Number.isFinite(to) && to > from) return { from, to, custom: true };
  const span = (SPANS.find(([name]) => name === q.get("range")) ?? SPANS[2])?.[2] ?? DAY;
  const now = Math.ceil(answeredAt() / 60_000) * 60_000;
  return { from: now - span, to: now, custom: false };
}

const cache = new Map<string, Intl.DateTimeFormat>();

function formatter(zone: string, options: Intl.DateTimeFormatOptions): Intl.DateTimeFormat {
  const key = zone + JSON.stringify(options);
  let f = cache.get(key);
  if (!f) cache.set(key, (f = new Intl.DateTimeFormat("en-GB", { ...options, timeZone: zone })));
  return f;
}

export function clockIn(ms: number, zone: string): string {
  return formatter(zone, { hour: "2-digit", minute: "2-digit" }).format(ms);
}

export function dayIn(ms: number, zone: string): string {
  return formatter(zone, { day: "numeric", month: "short" }).format(ms);
}

export function momentIn(ms: number, zone: string): string {
  return formatter(zone, { day: "numeric", month: "short", hour: "2-digit", minute: "2-digit" }).format(ms);
}

// How far the zone is ahead of UTC then.
function ahead(ms: number, zone: string): number {
  const parts = formatter(zone, { year: "numeric", month: "numeric", day: "numeric", hour: "numeric", minute: "numeric", second: "numeric", hourCycle: "h23" }).formatToParts(ms);
  const n = (type: string) => Number(parts.find((p) => p.type === type)?.value ?? 0);
  return Date.UTC(n("year"), n("month") - 1, n("day"), n("hour"), n("minute"), n("second")) - Math.floor(ms / 1000) * 1000;
}

// As a field for date and time has it, and back.
export function toField(ms: number, zone: string): string {
  return new Date(ms + ahead(ms, zone)).toISOString().slice(0, 16);
}

export function fromField(text: string, zone: string): number {
  const as = Date.parse(`${text}:00Z`);
  const first = as - ahead(as, zone);
  return as - ahead(first, zone); // again, because the zone may have changed between the two
}

// Round places for marks on the axis: at most so many, at midnight or at whole hours of the zone.
export function ticksIn(from: number, to: number, most: number, zone: string): number[] {
  const steps = [5, 10, 15, 30, 60, 120, 180, 360, 720, 1440, 2880, 7 * 1440, 14 * 1440, 28 * 1440, 84 * 1440].map((m) => m * 60_000);
  const step = steps.find((s) => (to - from) / s <= most) ?? steps[steps.length - 1] ?? DAY;
  const out: number[] = [];
  let at = Math.ceil((from + ahead(from, zone)) / step) * step;
  for (; out.length < 50; at += step) {
    const ms = at - ahead(at - ahead(at, zone), zone);
    if (ms > to) break;
    if (ms >= from) out.push(ms);
  }
  return out;
}
