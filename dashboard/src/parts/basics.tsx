// basics.tsx - the small parts that every page is made of. SPDX-License-Identifier: Apache-2.0
import { Component, type ComponentChildren } from "preact";
import { useEffect, useRef, useState } from "preact/hooks";
import { namePage } from "../announce";
import { logout, type ApiError, type Fetched } from "../api";
import { useCell } from "../cell";
import { ago, count, fullTime, time } from "../format";
import { endTyping, goTyping, withQuery } from "../route";
import { downSince } from "../reach";
import { pieces } from "../visible";

// Text of others, with its controls written out.
export function Text({ children }: { children: string | null | undefined }) {
  if (children == null) return null;
  return (
    <>
      {pieces(String(children)).map((p) => (p.control ? <span class="control" title="a character that cannot be seen">{p.text}</span> : p.text))}
    </>
  );
}

// The words of a search, without "answer:" and the like.
function searched(q: string): RegExp | null {
  const words = q.split(/\s+/).map((w) => w.replace(/^(asked|answer|reasoning|error):/i, "").replace(/^[^\p{L}\p{N}]+|[^\p{L}\p{N}]+$/gu, "")).filter((w) => w.length > 1);
  return words.length ? new RegExp(`(${words.map((w) => w.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|")})`, "giu") : null;
}

// Text of others with the words of a search marked.
export function Marked({ q, children }: { q: string; children: string | null | undefined }) {
  const at = searched(q);
  if (!at || children == null) return <Text>{children}</Text>;
  return <>{String(children).split(at).map((piece, i) => (i % 2 ? <mark><Text>{piece}</Text></mark> : <Text>{piece}</Text>))}</>;
}

export class Boundary extends Component<{ words: string; children: ComponentChildren }, { failed: boolean }> {
  override state = { failed: false };

  static override getDerivedStateFromError() {
    return { failed: true };
  }

  override render() {
    if (this.state.failed) return <p class="unavailable" role="status">{this.props.words}</p>;
    return this.props.children;
  }
}

export function Badge({ tone, title, children }: { tone?: string; title?: string; children: ComponentChildren }) {
  return <span class={`badge ${tone ?? ""}`} title={title}>{children}</span>;
}

// The cap a call's reasoning was held to.
export function CapBadge({ cap }: { cap: number | null | undefined }) {
  if (!cap) return null;
  return <Badge tone="cap" title={`Reasoning is held to ${count(cap)} tokens`}>R cap: {cap}</Badge>;
}

const STATUS: Record<string, [string, string]> = {
  completed: ["good", "completed"],
  in_progress: ["busy", "in progress"],
  pending: ["", "pending"],
  failed: ["bad", "failed"],
};

export function Status({ of }: { of: string }) {
  const [tone, words] = STATUS[of] ?? ["", of];
  return <span class={`status ${tone}`}><i aria-hidden="true" />{words}</span>;
}

const TONES: Record<string, string> = { completed: "good", done: "good", finished: "good", running: "busy", processing: "busy", waiting: "warm", error: "bad", failed: "bad", cancelled: "warm", stopped: "warm" };

// Of an incident or of a run.
export function State({ of }: { of: string }) {
  return <span class={`status ${TONES[of] ?? ""}`}><i aria-hidden="true" />{of.replace(/_/g, " ")}</span>;
}

export function When({ us }: { us: number | null | undefined }) {
  const [, again] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => again((n) => n + 1), 30_000);
    return () => clearInterval(timer);
  }, []);
  if (!us) return <>–</>;
  return <time dateTime={new Date(us / 1000).toISOString()} title={fullTime(us)}>{ago(us)}</time>;
}

// Browsers offer navigator.clipboard only on https and on this machine.
function copyByEvent(text: string): boolean {
  document.addEventListener("copy", (e) => {
    e.clipboardData?.setData("text/plain", text);
    e.preventDefault();
  }, { once: true });
  return document.execCommand("copy");
}

// Returns whether the text is in the clipboard.
export async function copyText(text: string): Promise<boolean> {
  return navigator.clipboard ? navigator.clipboard.writeText(text).then(() => true, () => false) : copyByEvent(text);
}

export function Copy({ text, label = "Copy" }: { text: string | (() => string); label?: string }) {
  const [said, setSaid] = useState("");
  const copy = async () => {
    const done = await copyText(typeof text === "string" ? text : text());
    setSaid(done ? "Copied" : "Not copied: select the text");
    setTimeout(() => setSaid(""), 1500);
  };
  return <button type="button" class="small" onClick={copy} aria-live="polite">{said || label}</button>;
}

// What to do about an error, by its status; 0: no answer.
function advice(status: number): ComponentChildren {
  if (status === 0) return <>Check that <code>rationale serve</code> runs and that this browser reaches it, then try again.</>;
  if (status === 403) return "This key may not see it. Log in with the key of an operator.";
  if (status === 404) return "It may have been erased, or retention has deleted it. Check the id in the address.";
  if (status === 429) return "Wait a moment, then try again.";
  if (status === 503) return <>The store is off or does not answer. <a href="/system">System</a> shows its state.</>;
  return status >= 500 ? "The gateway's log has the cause." : null;
}

export function Problem({ error, retry }: { error: ApiError; retry?: () => void }) {
  const next = advice(error.status);
  return (
    <div class="problem" role="alert">
      <p><Text>{error.message}</Text></p>
      {next ? <p class="quiet">{next}</p> : null}
      {error.status === 403 ? <button type="button" class="small" onClick={() => void logout()}>Use another key</button> : null}
      {retry ? <button type="button" class="small" onClick={retry}>Try again</button> : null}
    </div>
  );
}

export function Empty({ title, children }: { title: string; children?: ComponentChildren }) {
  return (
    <div class="empty">
      <h2>{title}</h2>
      {children}
    </div>
  );
}

// The data, or that it is loading, or the error.
export function Loaded<T>({ of, children }: { of: Fetched<T>; children: (data: T) => ComponentChildren }) {
  const down = useCell(downSince) > 0; // a banner says so
  if (of.data) {
    return (
      <>
        {of.error && !(of.error.status === 0 && down) ? <Problem error={of.error} retry={of.reload} /> : null}
        {children(of.data)}
      </>
    );
  }
  if (of.error) return of.error.status === 401 ? null : <Problem error={of.error} retry={of.reload} />;
  return <p class="loading" role="status">Loading…</p>;
}

export function Title({ title, about, children }: { title: string; about?: ComponentChildren; children?: ComponentChildren }) {
  useEffect(() => namePage(title), [title]);
  return (
    <header class="title">
      <div>
        <h1 class={title.length > 48 ? "long" : ""}><Text>{title}</Text></h1>
        {about ? <p class="quiet">{about}</p> : null}
      </div>
      {children ? <div class="actions">{children}</div> : null}
    </header>
  );
}

export function Figure({ label, value, note, tone }: { label: string; value: ComponentChildren; note?: ComponentChildren; tone?: string }) {
  return (
    <div class={`figure ${tone ?? ""}`}>
      <dt>{label}</dt>
      <dd>{value}{note ? <><span class="unseen">, </span><small>{note}</small></> : null}</dd>
    </div>
  );
}

// A bar whose length is a part of 1.
export function Bar({ part, tone, label }: { part: number; tone?: string; label: string }) {
  const width = `${Math.max(0, Math.min(100, 100 * (Number.isFinite(part) ? part : 0)))}%`;
  return <span class={`bar ${tone ?? ""}`} role="img" aria-label={label} title={label}><span style={{ width }} /></span>;
}

export function Choice({ label, value, options, onChange }: { label: string; value: string; options: (string | [string, string])[]; onChange: (v: string) => void }) {
  return (
    <label class="field">
      <span>{label}</span>
      <select value={value} onChange={(e) => onChange(e.currentTarget.value)}>
        {options.map((o) => {
          const [v, words] = typeof o === "string" ? [o, o] : o;
          return <option value={v} selected={v === value}>{words}</option>;
        })}
      </select>
    </label>
  );
}

// A search box that puts its text into the address when typing pauses, as `query` says. A new `value` from
// elsewhere, such as a link or the back button, replaces the text; the value of the box itself does not.
export function Search({ value, label, query }: { value: string; label: string; query: (v: string) => Record<string, string | null> }) {
  const [typed, setTyped] = useState(value);
  const seen = useRef(value);
  const told = useRef(value);
  const timer = useRef(0);
  useEffect(() => () => clearTimeout(timer.current), []);
  if (seen.current !== value) {
    seen.current = value;
    if (told.current !== value) {
      told.current = value;
      clearTimeout(timer.current);
      setTyped(value);
    }
  }
  const report = (v: string) => {
    clearTimeout(timer.current);
    if (told.current !== v.trim()) goTyping(withQuery(query((told.current = v.trim()))));
  };
  const change = (v: string) => {
    setTyped(v);
    clearTimeout(timer.current);
    timer.current = window.setTimeout(() => report(v), 250);
  };
  // Enter was pressed, or the box was left.
  const finish = (v: string) => {
    report(v);
    endTyping();
  };
  return (
    <label class="search">
      <span class="unseen">{label}</span>
      <input type="search" placeholder={label} value={typed} spellcheck={false} data-search
        onInput={(e) => change(e.currentTarget.value)} onChange={(e) => finish(e.currentTarget.value)} />
      <kbd aria-hidden="true">/</kbd>
    </label>
  );
}

export function Disclosure({ title, note, open = false, children }: { title: ComponentChildren; note?: ComponentChildren; open?: boolean; children: () => ComponentChildren }) {
  const [shown, setShown] = useState(open);
  return (
    <div class={`disclosure ${shown ? "open" : ""}`}>
      <button type="button" class="disclose" aria-expanded={shown} onClick={() => setShown(!shown)}>
        <i class="chevron" aria-hidden="true" /><span>{title}</span>{note ? <small>{note}</small> : null}
      </button>
      {shown ? <div class="disclosed">{children()}</div> : null}
    </div>
  );
}

// JSON as it is, laid out; any text that is none, as text.
export function Json({ value }: { value: unknown }) {
  let text: string;
  if (typeof value === "string") {
    text = value;
    try {
      const inner: unknown = JSON.parse(value);
      if (inner && typeof inner === "object") text = JSON.stringify(inner, null, 2);
    } catch {
      // text
    }
  } else text = JSON.stringify(value, null, 2) ?? "";
  return <Pre name="code" text={text} />;
}

// Text in a box that scrolls if there is much of it; then it can be reached with the keyboard.
export function Pre({ name, text }: { name: string; text: string }) {
  return <pre class={name} tabIndex={text.length > 800 || text.split("\n").length > 14 ? 0 : undefined}><Text>{text}</Text></pre>;
}

// How far back a question looked, if not at the whole record. `further`: the page can look before that.
export function SearchedBack({ us, what, further }: { us: number | null | undefined; what: string; further?: boolean }) {
  if (us == null) return null;
  return (
    <p class="quiet" data-testid="searched-back">
      {what} searched back to <time dateTime={new Date(us / 1000).toISOString()} title={fullTime(us)}>{time(us)}</time>
      {further ? <>; narrow the dates to look further, or <a href={withQuery({ until: String(us), page: null })}>look before that time</a></> : null}.
    </p>
  );
}

// The end of the span that is searched, as SearchedBack put it into the address.
export function UntilChip({ until, onClear }: { until: string | null; onClear: () => void }) {
  if (!Number(until)) return null;
  return <button type="button" class="chip" aria-pressed="true" title="Search up to now again" onClick={onClear}>until {time(Number(until))} ×</button>;
}
