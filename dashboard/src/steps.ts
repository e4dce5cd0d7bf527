// steps.ts - the calls of a session as steps: in turns, with what they touched. SPDX-License-Identifier: Apache-2.0
import type { Event } from "./api";

export function parsed(v: unknown): unknown {
  if (typeof v !== "string" || !/^\s*[[{]/.test(v)) return v;
  try {
    return JSON.parse(v);
  } catch {
    return v;
  }
}

export interface ToolCall {
  id: string;
  name: string;
  args: unknown;
}

export function toolCalls(v: unknown): ToolCall[] {
  const list = parsed(v);
  if (!Array.isArray(list)) return [];
  return list.map((c) => {
    const f = c?.function ?? c ?? {};
    return { id: String(c?.id ?? c?.call_id ?? ""), name: String(f.name ?? c?.tool ?? "a tool"), args: f.arguments ?? f.input ?? f.args ?? null };
  });
}

export function isTool(e: Event): boolean {
  return e.type === "mcp_communication";
}

export function isBad(e: Event): boolean {
  const d = e.details ?? {};
  return isTool(e) ? d.success === false : Boolean(d.error_code || d.error_message) || (typeof d.status === "number" && d.status >= 400);
}

// Whether the reply ended too early. A refused call has no reply that could.
export function isBrokenOff(e: Event): boolean {
  const d = e.details ?? {};
  return d.complete === false && Boolean(!isBad(e) || d.response || d.has_reasoning || d.output_tokens || toolCalls(d.tool_calls).length);
}

// Whether the reasoning was cut or not closed, or the reply is incomplete.
export function isCut(e: Event): boolean {
  const { reasoning_cut: cut, reasoning_state: state } = e.details ?? {};
  return (typeof cut === "string" ? cut !== "" && cut !== "none" : Boolean(cut)) || state === "cut" || state === "unclosed" || isBrokenOff(e);
}

export function nameOf(e: Event): string {
  const d = e.details ?? {};
  return (isTool(e) ? d.tool_name || d.communication_type || "tool" : d.model_name || "model") ?? "";
}

// Divides "[TOOL_CALL] names: reason" and "[DIRECT] reason" into what precedes the reason, and the reason.
export function decisionParts(entry: string): [string, string] {
  const [, head = "", why = entry] = /^(\[TOOL_CALL\](?: [^:]*:)?|\[\w+\]) ?([\s\S]*)$/.exec(entry) ?? [];
  return [head, why];
}

// The entry of the decision log, without its reason if one of the texts shown with it contains the reason.
export function decisionBeside(entry: string, texts: string[]): string {
  const [head, why] = decisionParts(entry);
  const start = why.replace(/\.\.\.$/, "").trim().slice(0, 200);
  return start && texts.some((t) => t.includes(start)) ? head.replace(/:$/, "") : entry;
}

// A question and the calls that answer it. The calls of an application are grouped by agent.
export interface Turn {
  key: string;
  title: string;
  events: Event[];
}

function promptOf(e: Event): string {
  return typeof e.details?.prompt === "string" ? e.details.prompt : "";
}

export function turnsOf(events: Event[]): Turn[] {
  const turns: Turn[] = [];
  const agents = new Map<string, Turn>();
  let last = "";
  for (const e of events) {
    const agent = [e.stage, e.agent].filter(Boolean).join(" / ");
    let turn = agent ? agents.get(agent) : turns[turns.length - 1];
    const prompt = isTool(e) ? "" : promptOf(e);
    if (!turn || (!agent && prompt && prompt !== last)) {
      turn = { key: `turn ${e.event_id}`, title: agent || prompt.trim().split("\n")[0] || nameOf(e), events: [] };
      turns.push(turn);
      if (agent) agents.set(agent, turn);
    }
    if (!agent && prompt) last = prompt;
    turn.events.push(e);
  }
  return turns;
}

// ---- what was touched ----

const FILE = ["file_path", "filePath", "path", "notebook_path", "filename", "file"];
const COMMAND = ["command", "cmd"];

export interface Touched {
  files: string[];
  commands: string[];
}

function texts(args: Record<string, unknown>, names: string[]): string[] {
  return names.flatMap((n) => {
    const v = args[n];
    if (typeof v === "string" && v) return [v];
    return Array.isArray(v) && v.length && v.every((x) => typeof x === "string") ? [v.join(" ")] : [];
  });
}

export function touchedBy(name: string, given: unknown): Touched {
  const args = parsed(given);
  if (!args || typeof args !== "object" || Array.isArray(args)) return { files: [], commands: [] };
  const patch = Object.values(args).find((v) => typeof v === "string" && v.startsWith("*** Begin Patch")) as string | undefined;
  const files = patch ? [...patch.matchAll(/^\*\*\* (?:Add|Update|Delete) File: (.+)$/gm)].map((m) => m[1] ?? "") : texts(args as Record<string, unknown>, FILE);
  return { files, commands: /patch/i.test(name) ? [] : texts(args as Record<string, unknown>, COMMAND) };
}

// The files and commands of a session, each with the ids of the steps that used it.
export function touched(events: Event[]): { files: Map<string, string[]>; commands: Map<string, string[]> } {
  const all = { files: new Map<string, string[]>(), commands: new Map<string, string[]>() };
  for (const e of events) {
    const calls = isTool(e) ? [{ name: nameOf(e), args: e.details.parameters }] : e.details?.prompt != null || e.details?.tool_calls ? toolCalls(e.details.tool_calls) : [];
    for (const c of calls)
      for (const [kind, names] of Object.entries(touchedBy(c.name, c.args)) as ["files" | "commands", string[]][])
        for (const n of names) all[kind].set(n, [...(all[kind].get(n) ?? []), e.event_id]);
  }
  return all;
}
