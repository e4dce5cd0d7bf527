// compare.tsx - two calls, sessions, runs or prompts side by side, with what differs. SPDX-License-Identifier: Apache-2.0
import { useRef } from "preact/hooks";
import { useApi, type Event, type Fetched, type SessionDetail } from "../api";
import { diff } from "../diff";
import { count, duration, fullTime, money } from "../format";
import { label } from "../labels";
import { Choice, Empty, Problem, Text, Title, When } from "../parts/basics";
import { sessionAddress } from "../parts/sessions";
import { compareAddress, type Kind } from "../parts/picked";
import { go, usePlace, withQuery } from "../route";

const KINDS: [Kind, string][] = [["call", "calls"], ["session", "sessions"], ["run", "runs"], ["prompt", "prompts"]];
const PATHS: Record<Kind, string> = { call: "/api/v1/history/interactions/", session: "/api/v1/history/sessions/", run: "/api/v1/runs/", prompt: "/api/v1/prompts/" };
const TEXT_MIN = 120; // a longer value is a text
const DEPTH_MAX = 4;

// One of the two: short values, and texts that are compared line by line.
interface Side {
  href: string | null;
  facts: Map<string, string>;
  texts: Map<string, string>;
}

function shown(name: string, v: unknown): string {
  if (typeof v === "number") {
    if (/_us$/.test(name) && v > 1e12) return fullTime(v);
    if (/_ms$/.test(name)) return duration(v);
    if (/cost_usd$/.test(name)) return money(v);
    return count(v);
  }
  return typeof v === "boolean" ? (v ? "yes" : "no") : String(v);
}

// The text of messages as people read them; anything else as JSON, laid out.
function laidOut(v: unknown): string {
  let value = v;
  if (typeof v === "string") {
    try {
      value = JSON.parse(v);
    } catch {
      return v;
    }
    if (!value || typeof value !== "object") return v;
  }
  if (Array.isArray(value) && value.length && value.every((m) => m && typeof m === "object" && "role" in m))
    return value.map((m) => `[${m.role}]\n${typeof m.content === "string" ? m.content : JSON.stringify(m.content ?? m.tool_calls ?? m, null, 2)}`).join("\n\n");
  return JSON.stringify(value, null, 2) ?? "";
}

function add(side: Side, name: string, v: unknown, depth = 0): void {
  if (v === null || v === undefined || v === "") return;
  if (typeof v === "object") {
    if (!Array.isArray(v) && depth < DEPTH_MAX && (depth === 0 || Object.keys(v).length < 40)) for (const [k, inner] of Object.entries(v)) add(side, name ? `${name}.${k}` : k, inner, depth + 1);
    else if (Object.keys(v).length) side.texts.set(name, laidOut(v));
  } else if (typeof v === "string" && (v.length > TEXT_MIN || v.includes("\n"))) side.texts.set(name, laidOut(v));
  else side.facts.set(name, shown(name, v));
}

function step(e: Event): string {
  const d = e.details ?? {};
  if (e.type !== "llm_interaction") return `tool ${d.tool_name ?? d.communication_type ?? ""} ${d.parameters ? JSON.stringify(d.parameters) : ""}${d.success === false ? ` failed: ${d.error_message ?? ""}` : ""}`;
  return `${d.model_name ?? "model"}: ${d.error_message ? `failed: ${d.error_message}` : (d.decision ?? "")}`;
}

function sideOf(kind: Kind, id: string, data: unknown): Side {
  const side: Side = { href: null, facts: new Map(), texts: new Map() };
  if (kind === "session") {
    const { chronological_timeline, summary, final_analysis, session_metadata, alert_data, ...rest } = data as SessionDetail;
    side.href = sessionAddress(id);
    add(side, "", rest);
    side.texts.set("steps", (chronological_timeline ?? []).map(step).join("\n"));
    add(side, "answer", final_analysis);
    add(side, "input", alert_data);
    add(side, "metadata", session_metadata);
  } else if (kind === "call") {
    const { details, segments, request, reply, ...rest } = data as Record<string, unknown>;
    const { segments: _, request: asked, reply: raw, ...more } = (details ?? {}) as Record<string, unknown>;
    const all = { ...rest, ...more };
    side.href = typeof all.session_id === "string" ? sessionAddress(all.session_id, id) : null;
    for (const name of ["prompt", "reasoning_content", "reasoning_summary", "response", "tool_calls"]) {
      if (all[name]) side.texts.set(name, laidOut(all[name]));
      delete all[name];
    }
    add(side, "", all);
    if (request ?? asked) side.texts.set("request", laidOut(request ?? asked));
  } else {
    side.href = kind === "run" ? `/runs/${encodeURIComponent(id)}` : "/policy";
    add(side, "", data);
  }
  return side;
}

function Facts({ a, b }: { a: Side; b: Side }) {
  const names = [...new Set([...a.facts.keys(), ...b.facts.keys()])];
  const differ = names.filter((n) => a.facts.get(n) !== b.facts.get(n));
  const same = names.filter((n) => !differ.includes(n));
  return (
    <>
      <h2>Facts <small>{differ.length ? `${differ.length} differ` : "all are the same"}</small></h2>
      <div class="wide"><table class="rows compared">
        <thead><tr><th>Name</th><th>First</th><th>Second</th></tr></thead>
        <tbody>
          {[...differ, ...same].map((n) => (
            <tr class={differ.includes(n) ? "differs" : ""}>
              <th scope="row">{label(n)}</th><td data-label="first"><Text>{a.facts.get(n) ?? "–"}</Text></td><td data-label="second"><Text>{b.facts.get(n) ?? "–"}</Text></td>
            </tr>
          ))}
        </tbody>
      </table></div>
    </>
  );
}

// Lines of both sides in rows: a removed line beside the added one that follows it.
function rows(from: string, to: string): [string | null, string | null][] {
  const out: [string | null, string | null][] = [];
  let open = 0; // removed lines that have no added one beside them yet
  for (const line of diff(from, to)) {
    if (line.kind === "removed") out.push([line.text, null]), open++;
    else if (line.kind === "added" && open) (out[out.length - open] as [string | null, string | null])[1] = line.text, open--;
    else if (line.kind === "added") out.push([null, line.text]);
    else out.push([line.text, line.text]), (open = 0);
  }
  return out;
}

const AROUND = 3; // equal lines that are shown around a difference

function TextDiff({ name, a, b }: { name: string; a: string; b: string }) {
  if (a === b) return <section class="textdiff"><h3>{label(name)} <small>the same</small></h3></section>;
  const all = rows(a, b);
  const near = new Set<number>();
  all.forEach(([x, y], i) => {
    if (x !== y) for (let k = i - AROUND; k <= i + AROUND; k++) near.add(k);
  });
  const shownRows: preact.JSX.Element[] = [];
  let skipped = 0;
  const gap = () => skipped && shownRows.push(<tr class="gap"><td colSpan={2}>{skipped} equal {skipped === 1 ? "line" : "lines"}</td></tr>);
  all.forEach(([x, y], i) => {
    if (!near.has(i)) return void skipped++;
    gap();
    skipped = 0;
    const cell = (text: string | null, mark: string) => <td class={x === y ? "" : text === null ? "none" : mark}>{x === y || text === null ? null : <span class="unseen">{mark} </span>}<Text>{text ?? ""}</Text></td>;
    shownRows.push(<tr>{cell(x, "removed")}{cell(y, "added")}</tr>);
  });
  gap();
  const changed = all.filter(([x, y]) => x !== y).length;
  return (
    <section class="textdiff">
      <h3>{label(name)} <small>{changed} {changed === 1 ? "line differs" : "lines differ"}</small></h3>
      <div class="wide" tabIndex={0} role="group" aria-label={`${label(name)}, both sides`}><table><thead class="unseen"><tr><th>First</th><th>Second</th></tr></thead><tbody>{shownRows}</tbody></table></div>
    </section>
  );
}

function Both({ kind, ids, of }: { kind: Kind; ids: [string, string]; of: [Fetched<unknown>, Fetched<unknown>] }) {
  const [x, y] = of;
  if (x.error || y.error) return <>{x.error ? <Problem error={x.error} retry={x.reload} /> : null}{y.error ? <Problem error={y.error} retry={y.reload} /> : null}</>;
  if (!x.data || !y.data) return <p class="loading" role="status">Loading…</p>;
  const a = sideOf(kind, ids[0], x.data), b = sideOf(kind, ids[1], y.data);
  const names = [...new Set([...a.texts.keys(), ...b.texts.keys()])];
  const link = (s: Side, id: string, which: string) => <p><span class="quiet">{which}</span> {s.href ? <a href={s.href}><Text>{id}</Text></a> : <Text>{id}</Text>}</p>;
  return (
    <>
      <div class="sides">{link(a, ids[0], "First")}{link(b, ids[1], "Second")}</div>
      <Facts a={a} b={b} />
      {names.map((n) => <TextDiff key={n} name={n} a={a.texts.get(n) ?? ""} b={b.texts.get(n) ?? ""} />)}
    </>
  );
}

interface Other {
  id: string;
  name: string;
  us: number | null | undefined;
}

type Lists = { sessions?: { session_id: string; title?: string | null; started_at_us: number }[]; interactions?: { interaction_id: string; title?: string | null; started_at_us: number }[];
  runs?: { run_id: string; app: string; created_at_us: number }[]; prompts?: { id: string; state: string; created_us?: number | null }[] };

const NEWEST: Record<Kind, string> = { call: "/api/v1/history/interactions?limit=20", session: "/api/v1/history/sessions?page_size=20", run: "/api/v1/runs?limit=20", prompt: "/api/v1/prompts" };

function others(of: Lists): Other[] {
  return [
    ...(of.sessions ?? []).map((s) => ({ id: s.session_id, name: s.title || s.session_id, us: s.started_at_us })),
    ...(of.interactions ?? []).map((c) => ({ id: c.interaction_id, name: c.title || c.interaction_id, us: c.started_at_us })),
    ...(of.runs ?? []).filter((r) => !r.run_id.includes("/")).map((r) => ({ id: r.run_id, name: `${r.app} ${r.run_id}`, us: r.created_at_us })),
    ...(of.prompts ?? []).map((p) => ({ id: p.id, name: `${p.id}, ${p.state}`, us: p.created_us })),
  ];
}

// Lists the newest things of the same kind, for an address with one id.
function ChooseOther({ kind, id }: { kind: Kind; id: string }) {
  const list = useApi<Lists>(NEWEST[kind]);
  const found = others(list.data ?? {}).filter((o) => o.id !== id);
  return (
    <section aria-label="The other">
      <h2>Compare <Text>{id}</Text> with</h2>
      {list.error ? <Problem error={list.error} retry={list.reload} /> : null}
      {list.data && !found.length ? <p class="quiet">No other {kind} is on record.</p> : null}
      <ul class="others">{found.map((o) => <li><a href={compareAddress(kind, o.id, id)} data-item><Text>{o.name}</Text></a> <span class="quiet">{o.us ? <When us={o.us} /> : null}</span></li>)}</ul>
    </section>
  );
}

export function ComparePage() {
  const { query: q } = usePlace();
  const kind = KINDS.find(([k]) => k === q.get("kind"))?.[0] ?? "session";
  const ids: [string, string] = [q.get("a") ?? "", q.get("b") ?? ""];
  const ready = Boolean(ids[0] && ids[1]), one = ids[0] || ids[1];
  const url = (id: string) => (ready ? PATHS[kind] + encodeURIComponent(id) : null);
  const of: [Fetched<unknown>, Fetched<unknown>] = [useApi<unknown>(url(ids[0])), useApi<unknown>(url(ids[1]))];
  const first = useRef<HTMLInputElement>(null), second = useRef<HTMLInputElement>(null);
  const plural = KINDS.find(([k]) => k === kind)?.[1] ?? "";
  return (
    <>
      <Title title="Compare" about={`Two ${plural} side by side: what differs comes first.`}>
        {ready ? <button type="button" class="small" onClick={() => go(withQuery({ a: ids[1], b: ids[0] }))}>Swap</button> : null}
      </Title>
      <form class="row" key={ids.join("\n")} onSubmit={(e) => {
        e.preventDefault();
        go(withQuery({ a: first.current?.value.trim() ?? "", b: second.current?.value.trim() ?? "" }));
      }}>
        <Choice label="Two" value={kind} options={KINDS} onChange={(v) => go(withQuery({ kind: v, a: null, b: null }))} />
        <label class="field"><span>First</span><input ref={first} defaultValue={ids[0]} placeholder="id" spellcheck={false} required /></label>
        <label class="field"><span>Second</span><input ref={second} defaultValue={ids[1]} placeholder="id" spellcheck={false} required /></label>
        <button type="submit" class="small">Compare</button>
      </form>
      {ready ? <Both kind={kind} ids={ids} of={of} /> : one ? <ChooseOther kind={kind} id={one} /> : (
        <Empty title={`Choose two ${plural}`}>
          <p>Give their ids above, or tick two in a list: calls on the <a href="/">Overview</a>, <a href="/sessions">sessions</a>, runs of an <a href="/agents">agent</a>, prompts on <a href="/policy">Policy</a>.</p>
        </Empty>
      )}
    </>
  );
}
