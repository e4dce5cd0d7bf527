// live.ts - one WebSocket for all that is live: channels, reconnects, gaps. SPDX-License-Identifier: Apache-2.0
import { ask, needLogin, type ApiError } from "./api";
import { Cell } from "./cell";
import { downSince, returns } from "./reach";

export interface Message {
  type: string; // of the data: llm_started, reasoning_delta, ..., gap; "again" after a reconnect
  channel: string;
  at_us: number; // by the server's clock, or 0
  data: Record<string, unknown>;
}

type Listener = (m: Message) => void;
const WAIT_FIRST_MS = 500;
const WAIT_MAX_MS = 8_000;
const PING_MS = 25_000;

export type Link = "connecting" | "open" | "lost";

class Live {
  readonly link = new Cell<Link>("connecting");
  private socket: WebSocket | null = null;
  private channels = new Map<string, Set<Listener>>();
  private wait = WAIT_FIRST_MS;
  private timer = 0;
  private was = false; // open before
  private lostAt = 0; // ms; 0: open
  private heard = true; // since the last ping
  private readonly who = `web-${Math.random().toString(36).slice(2, 10)}`;

  subscribe(channel: string, f: Listener): () => void {
    let set = this.channels.get(channel);
    if (!set) {
      this.channels.set(channel, (set = new Set()));
      this.say("subscribe", channel);
    }
    set.add(f);
    this.connect();
    return () => {
      set.delete(f);
      if (set.size || this.channels.get(channel) !== set) return;
      this.channels.delete(channel);
      this.say("unsubscribe", channel);
    };
  }

  // After a login: whoever was refused may come in now.
  restart(): void {
    this.wait = WAIT_FIRST_MS;
    clearTimeout(this.timer);
    this.timer = 0;
    this.socket?.close();
    this.socket = null;
    if (this.channels.size) this.connect();
  }

  private say(type: string, channel?: string): void {
    if (this.socket?.readyState === WebSocket.OPEN) this.socket.send(JSON.stringify(channel ? { type, channel } : { type }));
  }

  private connect(): void {
    if (this.socket || this.timer || needLogin.value) return; // restart() follows the login
    const socket = new WebSocket(`${location.protocol === "https:" ? "wss:" : "ws:"}//${location.host}/ws/dashboard/${this.who}`);
    let ping = 0;
    this.socket = socket;
    socket.onopen = () => {
      for (const channel of this.channels.keys()) this.say("subscribe", channel);
      this.heard = true;
      ping = window.setInterval(() => {
        if (!this.heard) return over(); // a gateway that vanished closes nothing
        this.heard = false;
        this.say("ping");
      }, PING_MS);
      this.wait = WAIT_FIRST_MS;
      this.link.value = "open";
      this.lostAt = downSince.value = 0;
      if (this.was) {
        this.tellAll({ type: "again", channel: "", at_us: 0, data: {} });
        returns.value++;
      }
      this.was = true;
    };
    socket.onmessage = (e) => {
      this.heard = true;
      this.take(String(e.data));
    };
    const over = (socket.onclose = () => {
      clearInterval(ping);
      if (this.socket !== socket) return;
      this.socket = null;
      if (this.lostAt) void this.lookForGateway(this.lostAt);
      else this.lostAt = Date.now();
      this.link.value = "lost";
      this.timer = window.setTimeout(() => {
        this.timer = 0;
        if (this.channels.size) this.connect();
      }, this.wait * (0.75 + Math.random() / 2));
      this.wait = Math.min(WAIT_MAX_MS, this.wait * 2);
    });
  }

  // A connection that was refused says nothing about the reason: a request does.
  private async lookForGateway(since: number): Promise<void> {
    const status = await ask("/api/v1/history/health").then(() => 200, (e: ApiError) => e.status);
    if (this.lostAt !== since) return;
    if (!status) return void (downSince.value = since);
    if (downSince.value) returns.value++;
    downSince.value = 0;
  }

  private tellAll(m: Message): void {
    for (const set of [...this.channels.values()]) for (const f of [...set]) f(m);
  }

  private take(text: string): void {
    let m: Record<string, unknown>;
    try {
      m = JSON.parse(text) as Record<string, unknown>;
    } catch {
      return;
    }
    if (!m || typeof m !== "object") return;
    const data = (m.data && typeof m.data === "object" ? m.data : m) as Record<string, unknown>;
    const type = String(data.type ?? m.type ?? "");
    const channel = String(m.channel ?? data.channel ?? (m.type === "system_health" ? "system_health" : ""));
    const at_us = Number(m.timestamp_us ?? data.timestamp_us ?? 0);
    if (type === "batched_session_updates" && Array.isArray(data.updates)) {
      for (const one of data.updates as Record<string, unknown>[]) this.give({ type: String(one.type ?? ""), channel, at_us, data: one });
      return;
    }
    this.give({ type, channel, at_us, data });
  }

  private give(m: Message): void {
    for (const f of [...(this.channels.get(m.channel) ?? [])]) f(m);
  }
}

export const live = new Live();
