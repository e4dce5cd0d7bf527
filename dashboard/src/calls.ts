// calls.ts - model calls while they run: what the live messages add up to. SPDX-License-Identifier: Apache-2.0
import { Cell, nextFrame } from "./cell";
import type { Message } from "./live";

const CALLS_MAX = 40;
const TEXT_MAX = 256 * 1024;
const DAY_MS = 24 * 3600_000;

// Text that grows. Followers append each new piece; they do not draw the whole text again.
export class Growing {
  text = "";
  private base = 0; // offset of `text` in the whole text: the front may be dropped, or missing
  private followers = new Set<(piece: string | null) => void>();

  // Adds a piece that begins at offset `at` of the whole text; the part that is already here is skipped.
  // A piece that begins before our text and covers it (late subscribers get one) replaces it.
  put(piece: string, at: number): void {
    const end = this.base + this.text.length;
    if (at > end || this.text === "") {
      this.base = at - this.text.length;
      this.add(piece);
    } else if (at < this.base && at + piece.length >= end) {
      this.reset();
      this.base = at;
      this.add(piece);
    } else if (at + piece.length > end) this.add(piece.slice(end - at));
  }

  add(piece: string): void {
    this.text += piece;
    if (this.text.length > 2 * TEXT_MAX) {
      this.base += this.text.length - TEXT_MAX;
      this.text = this.text.slice(-TEXT_MAX);
    }
    for (const f of this.followers) f(piece);
  }

  // Empties the text; followers get null.
  reset(): void {
    this.text = "";
    this.base = 0;
    for (const f of this.followers) f(null);
  }

  follow(f: (piece: string | null) => void): () => void {
    this.followers.add(f);
    return () => void this.followers.delete(f);
  }
}

export type CallState = "waiting" | "thinking" | "answering" | "tool" | "done";

export class Call {
  readonly reasoning = new Growing();
  readonly answer = new Growing();
  readonly changes = new Cell(0);
  session = "";
  model = "";
  provider = "";
  level = "";
  key = "";
  asked = "";
  state: CallState = "waiting";
  cap: number | null = null;
  tokens: number | null = null;
  thinkingMs: number | null = null;
  cut = false;
  shown = true;
  adopted = false; // a reader of its reply adds the text; deltas of the channels are ignored
  missed = 0;
  began = performance.now(); // when the request began, by the clock of the browser
  thoughtAt = 0; // when thinking was first seen
  result: Record<string, unknown> | null = null;

  constructor(readonly id: string, public channel: string) {}

  get running(): boolean {
    return this.state !== "done";
  }

  get thought(): boolean {
    return this.thoughtAt > 0 || (this.tokens ?? 0) > 0 || this.reasoning.text !== "";
  }

  // Redrawn once a frame at most, however many messages came.
  touch(): void {
    nextFrame(this.tell);
  }

  private tell = (): void => {
    this.changes.value++;
  };
}

function number(v: unknown): number | null {
  return typeof v === "number" && Number.isFinite(v) ? v : null;
}

function text(v: unknown): string {
  return typeof v === "string" ? v : "";
}

function grow(to: Growing, { data }: Message): void {
  const at = number(data.at);
  if (at === null) to.add(text(data.text));
  else to.put(text(data.text), at);
}

export class Board {
  readonly changes = new Cell(0); // calls came or went
  private byId = new Map<string, Call>();
  private tell = (): void => {
    this.changes.value++;
  };

  // Newest first.
  get calls(): Call[] {
    return [...this.byId.values()].reverse();
  }

  clear(): void {
    this.byId.clear();
    nextFrame(this.tell);
  }

  // After a lost connection: running calls may have ended meanwhile.
  forgetRunning(): void {
    for (const [id, c] of this.byId) if (c.running) this.byId.delete(id);
    nextFrame(this.tell);
  }

  // Gives a call to a caller that reads the reply itself and adds its text, on a channel of its own.
  adopt(id: string, channel: string): Call {
    const c = this.find(id, channel);
    c.channel = channel;
    c.adopted = true;
    c.reasoning.reset();
    c.answer.reset();
    return c;
  }

  private find(id: string, channel: string): Call {
    let c = this.byId.get(id);
    if (!c) {
      this.byId.set(id, (c = new Call(id, channel)));
      for (const [old, call] of this.byId) {
        if (this.byId.size <= CALLS_MAX) break;
        if (!call.running || this.byId.size > 4 * CALLS_MAX) this.byId.delete(old);
      }
      nextFrame(this.tell);
    }
    return c;
  }

  // Returns whether the message was about a call. Several channels can report a call: pieces with an
  // offset are taken from all of them, pieces without one only from the channel that reported it first.
  take(m: Message): boolean {
    if (m.type === "gap") return this.gap(m);
    const handle = handlers[m.type];
    const id = text(m.data.interaction_id);
    if (!handle || !id) return false;
    const c = this.find(id, m.channel);
    if (m.type.endsWith("_delta") && m.channel !== c.channel && (c.adopted || number(m.data.at) === null)) return true;
    c.session = text(m.data.session_id) || c.session;
    handle(c, m);
    c.touch();
    return true;
  }

  private gap(m: Message): boolean {
    for (const c of this.byId.values())
      if (c.running && c.channel === m.channel) {
        c.missed += number(m.data.missed) ?? 1;
        c.touch();
      }
    return true;
  }
}

const handlers: Record<string, (c: Call, m: Message) => void> = {
  llm_started(c, { data, at_us }) {
    c.model = text(data.model);
    c.provider = text(data.provider);
    c.level = text(data.level);
    c.key = text(data.key_name);
    c.asked = text(data.asked);
    c.cap = number(data.cap_tokens) || null;
    const ago = at_us ? (at_us - (number(data.started_us) ?? at_us)) / 1000 : 0;
    if (ago > 0 && ago < DAY_MS) c.began = performance.now() - ago;
  },
  reasoning_status(c, { data }) {
    const state = text(data.state) as CallState;
    if (c.state !== "done" && ["thinking", "answering", "tool", "done"].includes(state)) c.state = state;
    if (state === "thinking") c.thoughtAt ||= performance.now();
    c.tokens = number(data.reasoning_tokens) ?? c.tokens;
    c.cap = number(data.cap_tokens) || c.cap;
    c.thinkingMs = number(data.thinking_ms) ?? c.thinkingMs;
    c.cut = Boolean(data.cut) && data.cut !== "none";
    if (typeof data.shown === "boolean") c.shown = data.shown;
  },
  reasoning_delta(c, m) {
    if (c.state === "waiting") c.state = "thinking";
    c.thoughtAt ||= performance.now();
    grow(c.reasoning, m);
  },
  answer_delta(c, m) {
    if (c.state === "thinking" || c.state === "waiting") {
      if (c.thoughtAt) c.thinkingMs ??= performance.now() - c.began;
      c.state = "answering";
    }
    grow(c.answer, m);
  },
  llm_interaction(c, { data }) {
    c.state = "done";
    c.result = data;
    c.tokens = number(data.reasoning_tokens) ?? c.tokens;
    c.model ||= text(data.model_used);
  },
};
