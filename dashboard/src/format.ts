// format.ts - numbers and times for people. SPDX-License-Identifier: Apache-2.0

const whole = new Intl.NumberFormat("en");
const compact = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });

export function count(n: number | null | undefined): string {
  return n == null || !Number.isFinite(n) ? "–" : whole.format(n);
}

// 950, 12.3K: where room is short.
export function short(n: number | null | undefined): string {
  return n == null || !Number.isFinite(n) ? "–" : n < 10000 ? whole.format(n) : compact.format(n);
}

export function plural(n: number, one: string, many = `${one}s`): string {
  return `${count(n)} ${n === 1 ? one : many}`;
}

// As a clock that runs: whole seconds.
export function seconds(ms: number): string {
  const s = Math.max(0, Math.round(ms / 1000));
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
}

// The same words as those of the commands (clock_duration).
export function duration(ms: number | null | undefined): string {
  if (ms == null || !Number.isFinite(ms)) return "–";
  const tenths = Math.round(ms / 100), min = Math.round(ms / 60_000), h = Math.round(ms / 3600_000);
  if (ms < 999.5) return `${Math.round(ms)} ms`;
  if (tenths < 600) return `${(tenths / 10).toFixed(1)} s`;
  if (ms < 3599_500) return seconds(ms);
  return min < 24 * 60 ? `${Math.floor(min / 60)} h ${min % 60} min` : `${Math.floor(h / 24)} d ${h % 24} h`;
}

// Of the sums over time, whose lowest class is not divided.
export function latency(ms: number | null | undefined): string {
  return ms != null && ms < 64 ? "< 64 ms" : duration(ms);
}

export function money(usd: number | null | undefined): string {
  if (usd == null || !Number.isFinite(usd)) return "–";
  if (usd === 0) return "$0";
  return usd < 0.01 ? `$${usd.toFixed(5)}` : usd < 10 ? `$${usd.toFixed(3)}` : `$${whole.format(Math.round(usd * 100) / 100)}`;
}

export function percent(part: number): string {
  return Number.isFinite(part) ? `${Math.round(100 * part)} %` : "–";
}

export function bytes(n: number | null | undefined): string {
  if (n == null || !Number.isFinite(n)) return "–";
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let i = 0;
  while (n >= 1024 && i < units.length - 1) {
    n /= 1024;
    i++;
  }
  return `${i && n < 10 ? n.toFixed(1) : Math.round(n)} ${units[i]}`;
}

const clock = new Intl.DateTimeFormat("en-GB", { hour: "2-digit", minute: "2-digit", second: "2-digit" });
const day = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short" });
const dayOfYear = new Intl.DateTimeFormat("en-GB", { day: "numeric", month: "short", year: "numeric" });
// With the zone, as a title of times without one.
const full = new Intl.DateTimeFormat("en-GB", { dateStyle: "medium", timeStyle: "long" });

export function time(us: number | null | undefined): string {
  if (!us) return "–";
  const d = new Date(us / 1000);
  const now = new Date();
  if (now.toDateString() === d.toDateString()) return clock.format(d);
  return `${(now.getFullYear() === d.getFullYear() ? day : dayOfYear).format(d)}, ${clock.format(d)}`;
}

export function fullTime(us: number | null | undefined): string {
  return us ? full.format(new Date(us / 1000)) : "–";
}

export function ago(us: number | null | undefined, now = Date.now()): string {
  if (!us) return "–";
  const s = Math.max(0, Math.round((now - us / 1000) / 1000));
  if (s < 60) return `${s} s ago`;
  if (s < 3600) return `${Math.floor(s / 60)} min ago`;
  if (s < 86400) return `${Math.floor(s / 3600)} h ago`;
  return time(us);
}

// "Thought for 15 s · 1,204 tokens · 61 % of cap"
export function thought(t: { ms?: number | null; tokens?: number | null; cap?: number | null; cut?: boolean; exact?: boolean }): string {
  const said = [t.ms != null && t.ms > 0 ? `Thought for ${t.ms < 1000 ? duration(t.ms) : seconds(t.ms)}` : "Thought"];
  if (t.tokens != null && t.tokens > 0)
    said.push(`${t.exact === false ? "about " : ""}${plural(t.tokens, "token")}`);
  if (t.cut) said.push(t.cap ? `stopped at the cap of ${count(t.cap)}` : "stopped at its cap");
  else if (t.cap && t.tokens) said.push(`${percent(t.tokens / t.cap)} of cap`);
  return said.join(" · ");
}
