// orders.tsx - orders being taken: what was said, what is on the order, why. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import { events, useApi } from "../api";
import { useCell } from "../cell";
import { useDraft } from "../draft";
import { count, plural } from "../format";
import { live } from "../live";
import { Copy, Empty, Loaded, Text, Title, When } from "../parts/basics";
import { CallCard } from "../parts/call";
import { type Live, type Order, type Ordered, Talk, Ticket } from "../parts/order";
import { sessionAddress } from "../parts/sessions";
import { useNarrow } from "../parts/narrow";
import { go } from "../route";
import { useSession } from "../watch";
import { NotConfigured } from "../parts/absent";

interface Row {
  thread_id: string;
  session_id: string | null;
  item_count: number;
  finalized: boolean;
  updated_at_us: number | null;
}

interface MenuItem {
  item_id: string;
  name: string;
  category_name: string;
  price?: number | null;
  prices?: Record<string, number> | null;
}

function newThread(): string {
  return `web-${Math.random().toString(36).slice(2, 10)}`;
}

export function OrdersPage() {
  const all = useApi<{ orders: Row[] }>("/api/v1/orders");
  useEffect(() => live.subscribe("dashboard_updates", (m) => {
    if (m.type === "again" || m.type === "llm_interaction") all.reload();
  }), []);
  const list = all.data?.orders ?? [];
  const { rows, filters } = useNarrow(list, { label: "Search orders", text: (r) => r.thread_id, state: (r) => (r.finalized ? "finalised" : "open") });
  return (
    <>
      <Title title="Orders" about="Conversations that end in an order, each decision with its reason.">
        <button type="button" class="primary" onClick={() => go(`/orders/${newThread()}`)}>Take an order</button>
      </Title>
      {all.error?.code === "not_configured" ? <NotConfigured section="orders" example={"orders:\n  menu: menu.json"} /> : (
        <Loaded of={all}>
          {() => list.length ? (
            <>{filters}<ul class="slips">
              {rows.map((r) => (
                <li key={r.thread_id}>
                  <a class={`slip ${r.finalized ? "final" : ""}`} href={`/orders/${encodeURIComponent(r.thread_id)}`} data-item>
                    <strong><Text>{r.thread_id}</Text></strong>
                    <span class={`status ${r.finalized ? "good" : "busy"}`}><i aria-hidden="true" />{r.finalized ? "finalised" : "open"}</span>
                    <span class="numbers">{plural(r.item_count ?? 0, "piece")}</span>
                    <small><When us={r.updated_at_us} /></small>
                  </a>
                </li>
              ))}
            </ul></>
          ) : <Empty title="Nobody has ordered yet"><p>Take an order here, or with <code>rationale order</code> in a terminal.</p></Empty>}
        </Loaded>
      )}
    </>
  );
}

const TRY = ["Two large coffees with oat milk, please", "What burgers do you have?", "A Smokehouse Burger and an iced tea"];

function Say({ onSay, busy, words }: { onSay: (text: string) => Promise<boolean>; busy: boolean; words: { text: string } }) {
  const [text, setText] = useDraft("say");
  const box = useRef<HTMLInputElement>(null);
  useEffect(() => {
    if (!busy) box.current?.focus({ preventScroll: true });
  }, [busy]);
  useEffect(() => {
    if (!words.text) return;
    setText(words.text);
    box.current?.focus();
  }, [words]);
  const submit = async (e: { preventDefault(): void }) => {
    e.preventDefault();
    const said = text.trim();
    if (!said || busy) return;
    setText("");
    if (!(await onSay(said))) setText(said);
  };
  return (
    <form class="row say" onSubmit={submit}>
      <input ref={box} class="wide" value={text} placeholder="Say something" aria-label="What the customer says" maxLength={2000} disabled={busy} onInput={(e) => setText(e.currentTarget.value)} />
      <button type="submit" class="primary" disabled={busy || !text.trim()}>Say</button>
    </form>
  );
}

function cost(i: MenuItem): string {
  const all = i.prices ? Object.values(i.prices) : i.price == null ? [] : [i.price];
  if (!all.length) return "";
  const [low, high] = [Math.min(...all), Math.max(...all)];
  return low === high ? low.toFixed(2) : `${low.toFixed(2)} – ${high.toFixed(2)}`;
}

function Menu({ open, onPick }: { open: boolean; onPick: ((name: string) => void) | null }) {
  const menu = useApi<{ items: MenuItem[]; menu_name?: string }>("/api/v1/menu").data;
  if (!menu?.items) return null;
  const by = new Map<string, MenuItem[]>();
  for (const i of menu.items) by.set(i.category_name, [...(by.get(i.category_name) ?? []), i]);
  return (
    <details class="menu" open={open}><summary>{menu.menu_name ? <Text>{menu.menu_name}</Text> : "The menu"} <small>{count(menu.items.length)} items</small></summary>
      <div class="board">
        {[...by].map(([name, items]) => (
          <section><h3><Text>{name}</Text></h3>
            <ul>{items.map((i) => <li>{onPick ? <button type="button" onClick={() => onPick(i.name)}><Text>{i.name}</Text></button> : <span><Text>{i.name}</Text></span>}<i aria-hidden="true" /><span class="n">{cost(i)}</span></li>)}</ul>
          </section>
        ))}
      </div>
    </details>
  );
}

const NONE: Live = { said: "", entries: [], text: "", order: null };

// A turn while it runs. The page shows the order as it was before, until the turn has ended.
function useTurn(id: string, over: (order: Order | null) => void) {
  const [turn, set] = useState<Live | null>(null);
  const [problem, setProblem] = useState("");
  const say = async (text: string): Promise<boolean> => {
    let at: Live = { ...NONE, said: text };
    let order: Order | null = null;
    let heard = false;
    const show = (change: Partial<Live>) => set((at = { ...at, ...change }));
    setProblem("");
    show({});
    try {
      await events(`/api/v1/orders/${encodeURIComponent(id)}/say`, { text }, (name, data) => {
        heard = true;
        if (name === "delta") show({ text: at.text + String(data.text ?? "") });
        if (name === "withdrawn") show({ text: "" });
        if (name === "decision") show({ entries: [...at.entries, String(data.entry ?? "")] });
        if (name === "order") show({ order: data.current_order as Ordered });
        if (name === "reply") order = data as unknown as Order;
        if (name === "error") setProblem(String(data.reply ?? "It could not be answered; what you said is kept."));
      });
    } catch (e) {
      setProblem((e as Error).message);
    }
    over(order);
    set(null);
    return heard;
  };
  return { turn, problem, say };
}

export function OrderPage({ id }: { id: string }) {
  const one = useApi<Order>(`/api/v1/orders/${encodeURIComponent(id)}`);
  const [mine, setMine] = useState<Order | null>(null);
  const [frozen, setFrozen] = useState<Order | null>(null);
  const [words, setWords] = useState({ text: "" });
  const fresh = one.error?.status === 404 && one.error.code !== "not_configured";
  const read = one.data;
  const newest = mine && (mine.updated_at_us ?? 0) >= (read?.updated_at_us ?? 0) ? mine : read;
  const empty: Order = { thread_id: id, session_id: null, current_order: null, reasoning: [], messages: [], finalized: false, updated_at_us: null };
  const { turn, problem, say } = useTurn(id, (order) => {
    setMine(order);
    setFrozen(null);
    if (!order) one.reload();
  });
  const order = (turn && frozen) || newest || empty;
  const board = useSession(order.session_id ?? id, one.reload);
  useCell(board.changes);
  const begin = (text: string) => {
    setFrozen(order);
    return say(text);
  };
  const began = order.messages.length > 0 || turn !== null;
  return (
    <>
      <p class="crumbs"><a href="/orders">Orders</a></p>
      <Title title={began ? `Order ${id}` : "A new order"}>
        {order.session_id ? <a class="button small" href={sessionAddress(order.session_id)}>The whole session</a> : null}
        <Copy text={id} label="Copy id" />
      </Title>
      {newest || fresh ? (
        <>
          <div class="desk">
            <Ticket of={turn?.order ?? order.current_order} finalized={order.finalized} name={id} />
            <section class="card window" aria-label="Conversation">
              {began ? <Talk order={order} live={turn} /> : (
                <div class="greeting"><p>Say what a customer would, or try one of these.</p>
                  <p class="tries">{TRY.map((t) => <button type="button" class="small" onClick={() => void begin(t)}>{t}</button>)}</p>
                </div>
              )}
              {problem ? <p class="problem" role="alert"><Text>{problem}</Text></p> : null}
              {order.finalized ? <p class="sent">The order is in. <a href={`/orders/${newThread()}`}>Take another</a>.</p> : <Say onSay={begin} busy={turn !== null} words={words} />}
            </section>
          </div>
          {turn || mine ? null : board.calls.filter((c) => c.running).map((c) => <CallCard key={c.id} call={c} />)}
          <Menu open={!began} onPick={order.finalized ? null : (name) => setWords({ text: `One ${name}, please` })} />
        </>
      ) : <Loaded of={one}>{() => null}</Loaded>}
    </>
  );
}
