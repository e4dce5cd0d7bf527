// reasoning.tsx - ReasoningDisplay: what a model thought, folded away, and each way in which it may not
// be there told apart. SPDX-License-Identifier: Apache-2.0
import type { ComponentChildren } from "preact";
import { useEffect, useId, useRef, useState } from "preact/hooks";
import type { Call } from "../calls";
import { stored, useCell } from "../cell";
import { seconds, thought } from "../format";
import { Boundary, CapBadge, Copy } from "./basics";
import { LongMarkdown } from "./markdown";
import { Stream } from "./stream";

export type Look = "shown" | "hidden" | "redacted" | "summary" | "cut" | "unclosed" | "none";

export interface Reasoning {
  text?: string | null;
  summary?: string | null;
  state?: string | null; // as the API has it
  absent?: string | null; // why there is no text, likewise
  source?: string | null;
  has?: boolean;
  tokens?: number | null;
  exact?: boolean;
  ms?: number | null;
  cap?: number | null;
  cut?: boolean | string | null;
}

export const expandAlways = stored("rationale.expand", "no");

function isCut(r: Reasoning): boolean {
  return r.state === "cut" || (typeof r.cut === "string" ? r.cut !== "" && r.cut !== "none" : Boolean(r.cut));
}

export function lookOf(r: Reasoning): Look {
  if (r.state === "opaque" || r.state === "redacted" || (r.source === "opaque" && !r.text)) return "redacted";
  if (isCut(r)) return "cut";
  if (r.state === "unclosed") return "unclosed";
  if (r.text) return r.state === "summary" || r.source === "summary" ? "summary" : "shown";
  if (r.state === "summary" || (r.summary && (r.state !== "hidden" || r.absent === "summary_only"))) return "summary";
  if (r.state === "hidden" || r.has || (r.tokens ?? 0) > 0) return "hidden";
  return "none";
}

const MARK: Record<Look, string> = {
  shown: "",
  hidden: "hidden by policy",
  redacted: "redacted",
  summary: "summary only",
  cut: "cut by budget",
  unclosed: "unclosed",
  none: "",
};

const ABOUT: Record<Look, string> = {
  shown: "",
  hidden: "The text was not kept, or this key may not see it. Its tokens and its time are always counted.",
  redacted: "The provider keeps this reasoning to itself. It came sealed: it goes back to the model with the conversation, and nobody here can read it.",
  summary: "The provider gives a summary in the place of what the model thought.",
  cut: "It reached its cap and was ended there; the model answered from what it had.",
  unclosed: "The reply ended while the model was still thinking: no answer followed.",
  none: "The model gave no reasoning for this call.",
};

// Why there is no reasoning, and which setting changes that; by the API's reasoning_absent.
const ABSENT: Record<string, { mark: string; about: string }> = {
  not_kept: { mark: "not kept", about: "reasoning.keep was none when this call was recorded, so its text was not kept. Set it to text in the configuration to keep it from now on. Tokens and time are always counted." },
  summary_only: { mark: "summary only", about: "reasoning.keep was summary when this call was recorded, so only this was kept. Set it to text in the configuration to keep the whole text from now on." },
  provider_keeps_it: { mark: "not given", about: "The provider keeps this reasoning to itself. Its tokens are counted." },
  no_reply: { mark: "", about: "No reply came from the provider." },
  hidden_from_key: { mark: "hidden by policy", about: "This key may not see reasoning. reasoning: show for the key, or reasoning.show, changes that. Tokens and time are always counted." },
};

function absentWords(code: string | null | undefined): string {
  return ABSENT[code ?? ""]?.about ?? "";
}

// The same of a list, or of a search that found nothing.
const ABSENT_THERE: Record<string, string> = {
  not_kept: "no reasoning was kept: reasoning.keep was none. Set it to text in the configuration to keep it from now on.",
  summary_only: "no reasoning was kept but summaries: reasoning.keep was summary. Set it to text in the configuration to keep it from now on.",
  provider_keeps_it: "the provider keeps its reasoning to itself.",
  hidden_from_key: "this key may not see reasoning. reasoning: show for the key, or reasoning.show, changes that.",
};

export function AbsentNote({ code, of = "" }: { code: string | null | undefined; of?: string }) {
  const words = ABSENT_THERE[code ?? ""];
  if (!words) return null;
  return <p class="quiet" data-testid="reasoning-absent">{of ? `${of}: ${words}` : words.charAt(0).toUpperCase() + words.slice(1)}</p>;
}

function mark(look: Look, r: Reasoning): string {
  return look === "hidden" ? ABSENT[r.absent ?? ""]?.mark ?? MARK.hidden : MARK[look];
}

function about(look: Look, r: Reasoning): string {
  const why = absentWords(r.absent);
  if (look === "hidden" || (look === "none" && r.absent === "no_reply") || (look === "summary" && r.absent === "summary_only")) return why || ABOUT[look];
  if ((look === "cut" || look === "unclosed") && !r.text) return `${ABOUT[look]} ${why || "The text was not kept."}`;
  return ABOUT[look];
}

function headline(look: Look, r: Reasoning): string {
  if (look === "none") return r.absent === "no_reply" ? "No reply" : "No reasoning";
  const t = { ms: r.ms, tokens: r.tokens, cap: r.cap, exact: r.exact };
  return look === "cut" ? thought({ ...t, cut: true }) : thought(t);
}

function Body({ look, r }: { look: Look; r: Reasoning }) {
  const text = r.text || (look === "summary" ? r.summary : null);
  if (text !== null && text !== undefined && typeof text !== "string") throw new TypeError("reasoning that is no text");
  return (
    <>
      {about(look, r) ? <p class="about">{about(look, r)}</p> : null}
      {text ? (
        <>
          <LongMarkdown text={text} dim />
          <div class="reasoning-foot"><Copy text={text} label="Copy reasoning" /></div>
        </>
      ) : null}
    </>
  );
}

// Remembers what a person unfolded, because a long list removes rows that are out of view.
const unfolded = new Set<string>();

function Display({ r, index, name }: { r: Reasoning; index?: string; name?: string }) {
  const look = lookOf(r);
  const always = useCell(expandAlways) === "yes";
  const [open, show] = useState((always && look !== "none") || unfolded.has(name ?? ""));
  const id = useId();
  const was = useRef(always);
  const setOpen = (to: boolean) => {
    show(to);
    if (name) unfolded[to ? "add" : "delete"](name);
  };
  useEffect(() => {
    if (was.current !== always) setOpen(always && look !== "none");
    was.current = always;
  }, [always]);
  return (
    <div role="group" class={`reasoning look-${look}`} data-testid="reasoning-display" data-state={look} aria-label="Reasoning">
      <button type="button" class="reasoning-head" aria-expanded={open} aria-controls={id} onClick={() => setOpen(!open)}>
        <i class="chevron" aria-hidden="true" />
        <span class="words">{index ? `${index} · ` : ""}{headline(look, r)}</span>
        {mark(look, r) ? <span class="mark">{mark(look, r)}</span> : null}
        <CapBadge cap={r.cap} />
      </button>
      <div id={id} class="reasoning-body" hidden={!open}>{open ? <Boundary words="Reasoning unavailable"><Body look={look} r={r} /></Boundary> : null}</div>
    </div>
  );
}

function Unavailable({ children }: { children: ComponentChildren }) {
  return <Boundary words="Reasoning unavailable">{children}</Boundary>;
}

export function ReasoningDisplay({ of, index, id }: { of: Reasoning; index?: string; id?: string }) {
  return <Unavailable><Display r={of} index={index} name={id} /></Unavailable>;
}

// ---- while the call runs ----

export function Seconds({ since, words }: { since: number; words: string }) {
  const [, again] = useState(0);
  useEffect(() => {
    const timer = setInterval(() => again((n) => n + 1), 250);
    return () => clearInterval(timer);
  }, []);
  return <>{`${words} ${seconds(performance.now() - since)}`}</>;
}

function Running({ call }: { call: Call }) {
  const waiting = call.state === "waiting";
  return (
    <div role="group" class="reasoning look-live" data-testid="reasoning-display" data-state="live" aria-label="Reasoning" aria-busy="true">
      <p class="reasoning-head">
        <i class="pulse" aria-hidden="true" />
        <span class="words" role="timer"><Seconds since={call.began} words={waiting ? "Waiting…" : "Thinking…"} /></span>
        <CapBadge cap={call.cap} />
      </p>
      {waiting || call.shown ? <Stream of={call.reasoning} kind="reasoning" label="Reasoning as it comes" /> : <p class="about">Hidden by policy: counted, not shown.</p>}
    </div>
  );
}

// Thinking, then settled at the first word of the answer. The call tells when it changes.
export function LiveReasoning({ call }: { call: Call }) {
  useCell(call.changes);
  if (call.state === "waiting" || call.state === "thinking") return <Unavailable><Running call={call} /></Unavailable>;
  const result = (call.result ?? {}) as Record<string, string | null | undefined>;
  const r: Reasoning = {
    text: call.reasoning.text || null,
    state: result.reasoning_state ?? (call.thought && !call.reasoning.text ? "hidden" : null),
    has: call.thought,
    tokens: call.tokens,
    ms: call.thought ? call.thinkingMs : null,
    cap: call.cap,
    cut: call.cut,
  };
  return <ReasoningDisplay of={r} />;
}
