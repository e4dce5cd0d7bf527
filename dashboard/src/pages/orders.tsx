// orders.tsx - orders being taken: what was said, what is on the order, why. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import { send, useApi } from "../api";
import { useCell } from "../cell";
import { count, plural } from "../format";
import { live } from "../live";
import { Badge, Copy, Empty, Loaded, Text, Title, When } from "../parts/basics";
import { CallCard } from "../parts/call";
import { sessionAddress } from "../parts/sessions";
import { go } from "../route";
import { useSession } from "../watch";
import { NotConfigured } from "./incidents";

interface Row {
  thread_id: string;
  session_id: string | null;
  item_count: number;
  finalized: boolean;
  updated_at_us: number | null;
}

interface Item {
  item_id: string;
  name: string;
  size?: string | null;
  quantity: number;
  modifiers?: (string | { name: string })[];
}

interface Message {
  role?: string;
  type?: string;
  content?: unknown;
}

interface Order {
  thread_id: string;
  session_id: string | null;
  current_order: { order_id?: string; items: Item[]; total?: number } | null;
  reasoning: (string | { entry?: string; text?: string })[];
  messages: Message[];
  finalized: boolean;
  updated_at_us: number | null;
}

interface MenuItem {
  item_id: string;
  name: string;
  category_name: string;
  sizes?: string[];
}

function newThread(): string {
  return `web-${Math.random().toString(36).slice(2, 10)}`;
}

export function OrdersPage() {
  const all = useApi<{ orders: Row[] }>("/api/v1/orders");
  useEffect(() => live.subscribe("dashboard_updates", (m) => {
    if (m.type === "again" || m.type === "llm_interaction") all.reload();
  }), []);
  const rows = all.data?.orders ?? [];
  return (
    <>
      <Title title="Orders" about="Conversations that end in an order, each decision with its reason.">
        <button type="button" class="primary" onClick={() => go(`/orders/${newThread()}`)}>Take an order</button>
      </Title>
      {all.error?.code === "not_configured" ? <NotConfigured section="orders" example={"orders:\n  menu: menu.json"} /> : (
        <Loaded of={all}>
          {() => rows.length ? (
            <table class="rows even">
              <thead><tr><th>Conversation</th><th>State</th><th class="n">Items</th><th class="n">Last word</th></tr></thead>
              <tbody>
                {rows.map((r) => (
                  <tr key={r.thread_id}>
                    <td class="main"><a href={`/orders/${encodeURIComponent(r.thread_id)}`} data-item><Text>{r.thread_id}</Text></a></td>
                    <td><span class={`status ${r.finalized ? "good" : "busy"}`}><i aria-hidden="true" />{r.finalized ? "finalised" : "open"}</span></td>
                    <td class="n" data-label="items">{count(r.item_count)}</td>
                    <td class="n when"><When us={r.updated_at_us} /></td>
                  </tr>
                ))}
              </tbody>
            </table>
          ) : <Empty title="Nobody has ordered yet"><p>Take an order here, or with <code>rationale order</code> in a terminal.</p></Empty>}
        </Loaded>
      )}
    </>
  );
}

function said(m: Message): string {
  if (typeof m.content === "string") return m.content;
  if (Array.isArray(m.content)) return m.content.map((p) => (typeof p?.text === "string" ? p.text : "")).join("");
  return "";
}

const WHO: Record<string, string> = { user: "customer", human: "customer", assistant: "counter", ai: "counter" };

function Talk({ messages }: { messages: Message[] }) {
  const end = useRef<HTMLLIElement>(null);
  useEffect(() => end.current?.scrollIntoView({ block: "nearest" }), [messages.length]);
  const lines = messages.map((m) => ({ who: WHO[m.role ?? m.type ?? ""], text: said(m) })).filter((l) => l.who && l.text.trim());
  return (
    <ol class="dialogue" aria-label="What was said">
      {lines.map((l) => <li class={l.who}><span class="role">{l.who}</span><p><Text>{l.text}</Text></p></li>)}
      <li ref={end} class="end" />
    </ol>
  );
}

function Ticket({ order, finalized }: { order: Order["current_order"]; finalized: boolean }) {
  const items = order?.items ?? [];
  const pieces = items.reduce((n, i) => n + (i.quantity || 0), 0);
  return (
    <section class={`card ticket ${finalized ? "final" : ""}`} aria-label="The order" aria-live="polite">
      <h2>Order {finalized ? <Badge tone="cap">finalised</Badge> : null}</h2>
      {items.length ? (
        <ul>
          {items.map((i) => (
            <li key={`${i.item_id} ${i.size} ${JSON.stringify(i.modifiers)}`}>
              <span class="n">{i.quantity} ×</span>
              <span><Text>{i.name}</Text>{i.size ? <small> {i.size}</small> : null}
                {i.modifiers?.length ? <small class="mods"><Text>{i.modifiers.map((m) => (typeof m === "string" ? m : m.name)).join(", ")}</Text></small> : null}
              </span>
            </li>
          ))}
        </ul>
      ) : <p class="quiet">Nothing on it yet.</p>}
      {items.length ? <p class="quiet total">{plural(pieces, "piece")}{order?.total == null ? null : <strong class="numbers">{order.total.toFixed(2)}</strong>}</p> : null}
    </section>
  );
}

const HEAD = /^\[(TOOL_CALL|DIRECT)\]\s*/;

function Reasons({ of, session }: { of: Order["reasoning"]; session: string | null }) {
  if (!of.length) return null;
  return (
    <section aria-label="Why">
      <h2>Why {session ? <a class="more" href={sessionAddress(session)}>the whole session</a> : null}</h2>
      <ol class="entries">
        {of.map((r) => {
          const entry = typeof r === "string" ? r : (r.entry ?? r.text ?? "");
          const kind = HEAD.exec(entry)?.[1] ?? "";
          return <li class="entry"><span class={`kindmark ${kind === "TOOL_CALL" ? "tool" : ""}`}>{kind}</span><span class="why"><Text>{entry.replace(HEAD, "")}</Text></span></li>;
        })}
      </ol>
    </section>
  );
}

function Say({ onSay, busy, closed }: { onSay: (text: string) => Promise<boolean>; busy: boolean; closed: boolean }) {
  const [text, setText] = useState("");
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!busy) box.current?.focus();
  }, [busy]);
  const submit = async (e: { preventDefault(): void }) => {
    e.preventDefault();
    if (text.trim() && !busy && (await onSay(text.trim()))) setText("");
  };
  if (closed) return <p class="quiet">The order is finalised. <a href={`/orders/${newThread()}`}>Take another</a>.</p>;
  return (
    <form class="row say" onSubmit={submit}>
      <input ref={box} class="wide" value={text} placeholder="Two large coffees, please" aria-label="What the customer says" disabled={busy} onInput={(e) => setText(e.currentTarget.value)} />
      <button type="submit" class="primary" disabled={busy || !text.trim()}>{busy ? "…" : "Say"}</button>
    </form>
  );
}

function Menu() {
  const menu = useApi<{ items: MenuItem[]; menu_name?: string }>("/api/v1/menu").data;
  if (!menu?.items) return null;
  const by = new Map<string, MenuItem[]>();
  for (const i of menu.items) by.set(i.category_name, [...(by.get(i.category_name) ?? []), i]);
  return (
    <details class="menu"><summary>The menu ({count(menu.items.length)} items)</summary>
      <div class="columns">{[...by].map(([name, items]) => <section><h3><Text>{name}</Text></h3><ul>{items.map((i) => <li><Text>{i.name}</Text> <small>{i.sizes?.join(", ")}</small></li>)}</ul></section>)}</div>
    </details>
  );
}

export function OrderPage({ id }: { id: string }) {
  const one = useApi<Order>(`/api/v1/orders/${encodeURIComponent(id)}`);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState("");
  const [pending, setPending] = useState("");
  const fresh = one.error?.status === 404 && one.error.code !== "not_configured";
  const order: Order = one.data ?? { thread_id: id, session_id: null, current_order: null, reasoning: [], messages: [], finalized: false, updated_at_us: null };
  const board = useSession(order.session_id ?? id, one.reload);
  useCell(board.changes);
  const say = async (text: string) => {
    setBusy(true);
    setProblem("");
    setPending(text);
    const ok = await send("POST", `/api/v1/orders/${encodeURIComponent(id)}/say`, { text }).then(() => true, (e: Error) => (setProblem(e.message), false));
    setPending("");
    setBusy(false);
    one.reload();
    return ok;
  };
  const messages = pending ? [...order.messages, { role: "user", content: pending }] : order.messages;
  return (
    <>
      <p class="crumbs"><a href="/orders">Orders</a></p>
      <Title title={`Order ${id}`}><Copy text={id} label="Copy id" /></Title>
      {one.data || fresh ? (
        <>
          <div class="desk">
            <section class="card" aria-label="Conversation">
              {messages.length ? <Talk messages={messages} /> : <p class="quiet">Say something to begin.</p>}
              {problem ? <p class="problem" role="alert"><Text>{problem}</Text></p> : null}
              <Say onSay={say} busy={busy} closed={order.finalized} />
            </section>
            <Ticket order={order.current_order} finalized={order.finalized} />
          </div>
          {board.calls.filter((c) => c.running).map((c) => <CallCard key={c.id} call={c} />)}
          <Reasons of={order.reasoning ?? []} session={order.session_id} />
          <Menu />
        </>
      ) : <Loaded of={one}>{() => null}</Loaded>}
    </>
  );
}
