// ask.tsx - a box to ask from: a first call for who has none yet. The reply is read here and shown on
// the board with all the others. SPDX-License-Identifier: Apache-2.0
import { useEffect, useRef, useState } from "preact/hooks";
import { keyHeaders, needLogin, useApi } from "../api";
import type { Board, Call } from "../calls";
import { useDraft } from "../draft";
import { NO_ANSWER, useProblem } from "../reach";
import { Choice, Text } from "./basics";

interface Question {
  id: string;
  label: string;
  model: string;
  prompt: string;
  level?: string;
  tools?: unknown[];
}

const LEVELS = ["none", "low", "medium", "high"];
const CHANNEL = "ask";

// ---- the reply ----

class Reply {
  private usage: Record<string, number> | null = null;
  constructor(private readonly board: Board, readonly call: Call) {}

  private tell(type: string, data: Record<string, unknown>): void {
    this.board.take({ type, channel: CHANNEL, at_us: 0, data: { ...data, interaction_id: this.call.id } });
  }

  event(name: string, data: Record<string, unknown>): void {
    if (name === "analysis") this.analysis(data);
    else if (name === "reasoning_delta") this.tell("reasoning_delta", { text: data.text });
    else if (name === "reasoning" && !this.call.reasoning.text) this.tell("reasoning_delta", { text: data.text });
    else if (name === "token") this.tell("answer_delta", { text: data.text });
    else if (name === "tool_call") this.tell("answer_delta", { text: `${data.name} ${typeof data.arguments === "string" ? data.arguments : JSON.stringify(data.arguments, null, 2)}\n` });
    else if (name === "usage") this.usage = data as Record<string, number>;
    else if (name === "error") this.end(String(data.message ?? "the call failed"));
  }

  private analysis(data: Record<string, unknown>): void {
    if (data.state === "started") return this.tell("reasoning_status", { state: "thinking", shown: true });
    const ms = this.call.thoughtAt ? performance.now() - this.call.began : null;
    this.tell("reasoning_status", { state: "answering", reasoning_tokens: data.tokens, cap_tokens: data.cap, thinking_ms: ms, shown: true });
  }

  // ": reasoning_tokens=128; cap=128; cut=budget"
  comment(text: string): void {
    const found = /reasoning_tokens=(\d+); cap=(\d+|none); cut=(\w+)/.exec(text);
    if (!found) return;
    const cut = found[3] === "none" ? "" : found[3];
    this.tell("reasoning_status", { reasoning_tokens: Number(found[1]), cap_tokens: Number(found[2]) || null, cut, shown: true });
  }

  end(problem?: string): void {
    if (this.call.result) return;
    const u = this.usage;
    const tokens = u ? { input: u.input_tokens, output: (u.final_tokens ?? 0) + (u.reasoning_tokens ?? 0) } : {};
    this.tell("llm_interaction", { ...(problem ? { success: false, error_message: problem } : { success: true }), tokens, duration_ms: performance.now() - this.call.began });
  }
}

async function readEvents(body: ReadableStream<Uint8Array>, reply: Reply): Promise<void> {
  const reader = body.pipeThrough(new TextDecoderStream() as unknown as ReadableWritablePair<string, Uint8Array>).getReader();
  let rest = "", name = "", data = "";
  const line = (text: string) => {
    if (text === "") {
      if (data) reply.event(name, JSON.parse(data) as Record<string, unknown>);
      name = data = "";
    } else if (text.startsWith(":")) reply.comment(text);
    else if (text.startsWith("event:")) name = text.slice(6).trim();
    else if (text.startsWith("data:")) data += text.slice(5).trim();
  };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop() ?? "";
    lines.forEach(line);
  }
}

interface Asked {
  model: string;
  prompt: string;
  reasoning_effort: string;
  tools?: unknown[];
}

async function run(board: Board, body: Asked, demo: boolean, signal: AbortSignal): Promise<string | null> {
  const began = performance.now();
  const response = await fetch("/generate", {
    method: "POST",
    credentials: "same-origin",
    headers: { "content-type": "application/json", "x-rationale-reasoning": "show", ...keyHeaders() },
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) {
    const told = await response.json().catch(() => null);
    if (response.status === 401) needLogin.value = true;
    const words = told?.error?.message ?? told?.detail?.message ?? `The gateway answered with status ${response.status}.`;
    return response.status === 501 && demo ? `${words} The demo only plays its recordings: choose one of the questions above.` : words;
  }
  const call = board.adopt(response.headers.get("x-rationale-id") ?? `ask-${began}`, CHANNEL);
  call.model ||= body.model;
  call.level ||= body.reasoning_effort;
  call.asked ||= body.prompt;
  call.session ||= response.headers.get("x-rationale-session") ?? "";
  call.began = began;
  call.touch();
  const reply = new Reply(board, call);
  try {
    if (response.body) await readEvents(response.body, reply);
    reply.end();
  } catch (e) {
    reply.end((e as Error).name === "AbortError" ? "Stopped." : "The reply was cut.");
  }
  return null;
}

// ---- the box ----

export function AskBox({ board }: { board: Board }) {
  const questions = useApi<Question[]>("/page/questions.json").data ?? [];
  const models = (useApi<{ data?: { id: string }[] }>("/v1/models").data?.data ?? []).map((m) => m.id);
  const [prompt, setPrompt] = useDraft("prompt");
  const [model, setModel] = useState("");
  const [level, setLevel] = useState("medium");
  const [problem, setProblem] = useProblem();
  const [busy, setBusy] = useState(false);
  const running = useRef<AbortController | null>(null);
  const chosen = model || models[0] || "";

  useEffect(() => () => running.current?.abort(), []);
  const ask = async (body: Asked) => {
    running.current?.abort();
    const mine = (running.current = new AbortController());
    setProblem("");
    setBusy(true);
    const words = await run(board, body, questions.length > 0, mine.signal).catch((e: Error) => (e.name === "AbortError" ? null : `${NO_ANSWER} Check that it runs, then ask again.`));
    if (running.current !== mine) return;
    running.current = null;
    setBusy(false);
    setProblem(words ?? "");
  };
  const submit = (e: { preventDefault(): void }) => {
    e.preventDefault();
    if (busy) return running.current?.abort();
    const known = questions.find((q) => q.prompt === prompt.trim());
    if (prompt.trim()) void ask({ model: chosen, prompt: prompt.trim(), reasoning_effort: level, ...(known?.tools && { tools: known.tools }) });
  };
  const choose = (q: Question) => {
    setPrompt(q.prompt);
    setModel(q.model);
    setLevel(q.level ?? "medium");
    void ask({ model: q.model, prompt: q.prompt, reasoning_effort: q.level ?? "medium", ...(q.tools && { tools: q.tools }) });
  };
  return (
    <form id="ask" class="card ask" onSubmit={submit}>
      {questions.length ? (
        <div id="questions" class="questions">
          <span class="quiet">Recorded questions, to watch one think:</span>
          {questions.map((q) => <button type="button" class="chip" onClick={() => choose(q)}>{q.label}</button>)}
        </div>
      ) : null}
      <label class="unseen" for="prompt">Your question</label>
      <textarea id="prompt" rows={2} placeholder="Ask a model something" value={prompt} onInput={(e) => setPrompt(e.currentTarget.value)}
        onKeyDown={(e) => { if (e.key === "Enter" && !e.shiftKey && !e.isComposing) submit(e); }} />
      <div class="row">
        {models.length
          ? <Choice label="Model" value={chosen} options={models} onChange={setModel} />
          : <label class="field"><span>Model</span><input placeholder="provider/model" value={model} spellcheck={false} onInput={(e) => setModel(e.currentTarget.value)} /></label>}
        <Choice label="Thinking" value={level} options={LEVELS} onChange={setLevel} />
        <span class="spring" />
        <button type="submit" class="primary">{busy ? "Stop" : "Ask"}</button>
      </div>
      {problem ? <p class="problem" role="alert"><Text>{problem}</Text></p> : null}
    </form>
  );
}
