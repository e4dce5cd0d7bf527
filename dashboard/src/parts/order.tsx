// order.tsx - an order and how it came about: the talk with its decisions, the ticket. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef } from "preact/hooks";
import { plural } from "../format";
import { Badge, Text } from "./basics";

export interface Item {
  item_id: string;
  name: string;
  size?: string | null;
  quantity: number;
  price?: number | null;
  modifiers?: (string | { name: string })[];
}

export interface Ordered {
  order_id?: string;
  items: Item[];
  total?: number | null;
}

export interface Message {
  role?: string;
  content?: unknown;
  tool_call_id?: string;
  tool_calls?: { id: string; function: { name: string; arguments: string } }[];
}

export interface Order {
  thread_id: string;
  session_id: string | null;
  current_order: Ordered | null;
  reasoning: string[];
  messages: Message[];
  finalized: boolean;
  updated_at_us: number | null;
}

// A turn while it is taken: what was said, what was decided so far, the words as they come.
export interface Live {
  said: string;
  entries: string[];
  text: string;
  order: Ordered | null;
}

interface Done {
  id: string;
  name: string;
  about: string;
  result: string;
  bad: boolean;
}

type Line = { kind: "customer" | "counter"; text: string; typing?: boolean } | { kind: "step"; calls: Done[]; why: string } | { kind: "reason"; why: string };

const HEAD = /^\[(TOOL_CALL|DIRECT)\]\s*/;

// An entry without its kind and the names that stand beside it anyway.
function reason(entry: string | undefined, names: string[]): string {
  const text = (entry ?? "").replace(HEAD, "");
  const head = `${names.join(", ")}: `;
  const why = names.length && text.startsWith(head) ? text.slice(head.length) : text;
  return names.some((n) => why.startsWith(`${n}(`)) ? "" : why; // only the calls again
}

function parsed(text: unknown): Record<string, unknown> {
  try {
    const value = JSON.parse(String(text));
    return value && typeof value === "object" ? value : {};
  } catch {
    return {};
  }
}

const words = (v: unknown): string => (typeof v === "string" || typeof v === "number" ? String(v) : "");

function about(name: string, given: string): string {
  const a = parsed(given);
  if (name === "lookup_menu_item") return words(a.item_name);
  if (name === "add_item_to_order") return [words(a.quantity), words(a.size), words(a.item_name)].filter(Boolean).join(" ");
  return "";
}

function outcome(r: Record<string, unknown>): [string, boolean] {
  const item = (r.item ?? {}) as Partial<Item>;
  if (r.error) return [words(r.error), true];
  if (r.found === true) return [`on the menu: ${item.name ?? ""}`, false];
  if (r.found === false) {
    const near = Array.isArray(r.suggestions) ? r.suggestions.map(words).filter(Boolean) : [];
    return [near.length ? `not on the menu; near: ${near.join(", ")}` : "not on the menu", false];
  }
  if (r.added) return [`+ ${item.quantity ?? 1} × ${item.name ?? ""}${item.size ? `, ${item.size}` : ""}`, false];
  if (r.finalized) return ["sent to the kitchen", false];
  return [r.order ? "read back" : "", false];
}

// What was said and decided, in order: the n-th reply of the model has the n-th entry.
function linesOf(messages: Message[], reasoning: string[]): Line[] {
  const out: Line[] = [];
  let replies = 0;
  let step: Done[] = [];
  let beside = "";
  for (const m of messages) {
    const text = typeof m.content === "string" ? m.content : "";
    if (m.role === "user") out.push({ kind: "customer", text });
    if (m.role === "tool") {
      const call = step.find((c) => c.id === m.tool_call_id && !c.result);
      if (call) [call.result, call.bad] = outcome(parsed(m.content));
      // Words beside a call are not for the customer, but for the one that ends it all.
      if (call?.name === "finalize_order" && !call.bad && beside.trim()) out.push({ kind: "counter", text: beside });
    }
    if (m.role !== "assistant") continue;
    const entry = reasoning[replies++];
    const names = (m.tool_calls ?? []).map((c) => c.function.name);
    const why = reason(entry, names);
    beside = text;
    if (names.length) {
      step = (m.tool_calls ?? []).map((c) => ({ id: c.id, name: c.function.name, about: about(c.function.name, c.function.arguments), result: "", bad: false }));
      out.push({ kind: "step", calls: step, why });
      continue;
    }
    if (why && why !== text.slice(0, why.length)) out.push({ kind: "reason", why });
    if (text.trim()) out.push({ kind: "counter", text });
  }
  return out;
}

function liveLines(live: Live): Line[] {
  const out: Line[] = [{ kind: "customer", text: live.said }];
  for (const entry of live.entries) {
    const [head = ""] = entry.replace(HEAD, "").split(": ", 1);
    const names = entry.startsWith("[TOOL_CALL]") ? head.split(", ") : [];
    const why = reason(entry, names);
    if (names.length) out.push({ kind: "step", calls: names.map((name) => ({ id: "", name, about: "", result: "", bad: false })), why });
    else if (why && !live.text.startsWith(why)) out.push({ kind: "reason", why });
  }
  out.push({ kind: "counter", text: live.text, typing: true });
  return out;
}

function Step({ line }: { line: Extract<Line, { kind: "step" }> }) {
  return (
    <li class="decided">
      {line.why ? <p class="because"><Text>{line.why}</Text></p> : null}
      <ul>
        {line.calls.map((c) => (
          <li><code>{c.name}</code>{c.about ? <span class="quiet"><Text>{c.about}</Text></span> : null}
            {c.result ? <span class={c.bad ? "result bad" : "result"}><Text>{c.result}</Text></span> : null}
          </li>
        ))}
      </ul>
    </li>
  );
}

function One({ line }: { line: Line }) {
  if (line.kind === "step") return <Step line={line} />;
  if (line.kind === "reason") return <li class="decided"><p class="because"><Text>{line.why}</Text></p></li>;
  return (
    <li class={line.kind} aria-busy={line.typing}>
      <span class="role">{line.kind}</span>
      <p>{line.text ? <Text>{line.text}</Text> : <span class="dots" aria-label="thinking"><i /><i /><i /></span>}</p>
    </li>
  );
}

export function Talk({ order, live }: { order: Order; live: Live | null }) {
  const end = useRef<HTMLLIElement>(null);
  const lines = [...linesOf(order.messages, order.reasoning ?? []), ...(live ? liveLines(live) : [])];
  useEffect(() => {
    if (live) end.current?.scrollIntoView({ block: "nearest" });
  }, [lines.length, live?.text]);
  return (
    <ol class="dialogue" aria-label="What was said, and why">
      {lines.map((l) => <One line={l} />)}
      <li ref={end} class="end" />
    </ol>
  );
}

const mods = (i: Item): string => (i.modifiers ?? []).map((m) => (typeof m === "string" ? m : m.name)).join(", ");

export function Ticket({ of, finalized, name }: { of: Ordered | null; finalized: boolean; name: string }) {
  const items = of?.items ?? [];
  const pieces = items.reduce((n, i) => n + (i.quantity || 0), 0);
  return (
    <section class={`ticket ${finalized ? "final" : ""}`} aria-label="The order" aria-live="polite">
      <h2><span>Order <small><Text>{name}</Text></small></span> {finalized ? <Badge tone="cap">finalised</Badge> : null}</h2>
      {items.length ? (
        <ul>
          {items.map((i) => (
            <li key={`${i.item_id} ${i.size} ${i.quantity} ${mods(i)}`}>
              <span class="n">{i.quantity} ×</span>
              <span><Text>{i.name}</Text>{i.size && i.size !== "regular" ? <small> {i.size}</small> : null}{mods(i) ? <small class="mods"><Text>{mods(i)}</Text></small> : null}</span>
              <span class="n">{i.price == null ? "" : (i.price * i.quantity).toFixed(2)}</span>
            </li>
          ))}
        </ul>
      ) : <p class="quiet none">Nothing on it yet.</p>}
      <p class="total"><span class="quiet">{items.length ? plural(pieces, "piece") : " "}</span>{of?.total == null || !items.length ? null : <strong class="numbers">{of.total.toFixed(2)}</strong>}</p>
    </section>
  );
}
