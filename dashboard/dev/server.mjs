// server.mjs - the dashboard on a made-up history, for development and for browser tests of what is
// hard to provoke: node dev/server.mjs [PORT]. SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { createServer } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gunzipSync } from "node:zlib";
import { callList, decisions, history, NEW, overview, REASONING, rest } from "./fixtures.mjs";
import { accept } from "./ws.mjs";

const TYPES = { html: "text/html; charset=utf-8", js: "text/javascript; charset=utf-8", css: "text/css; charset=utf-8", svg: "image/svg+xml" };
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self'; connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'; trusted-types 'none'";
const PAGE = /^\/((sessions|agents|incidents|orders)(\/[^/]+)?|(workflows|runs)\/[^/]+|live|compare|policy|optimize|decisions|reasoning|providers|keys|system)?$/;
const BUILD = fileURLToPath(new URL("../../tools/dashboard-build", import.meta.url));

// The files as the binary would have them.
function bundle() {
  const out = mkdtempSync(join(tmpdir(), "dashboard-"));
  try {
    execFileSync(BUILD, [out], { stdio: ["ignore", "inherit", "inherit"] });
    const packed = readdirSync(out).filter((name) => name.endsWith(".gz"));
    return { sizes: JSON.parse(readFileSync(join(out, "sizes.json"), "utf8")), files: Object.fromEntries(packed.map((name) => [name.slice(0, -3), gunzipSync(readFileSync(join(out, name)))])) };
  } finally {
    rmSync(out, { recursive: true });
  }
}

let built; // shared by the servers of one process

const pause = (ms) => new Promise((r) => setTimeout(r, ms));

export async function start({ port = 0, total = 240, key = "", fresh = true } = {}) {
  let { files, sizes } = (built ??= bundle());
  const past = history(total);
  const all = decisions();
  const sockets = new Set();
  const state = { total, empty: false, slow: 0, sessions: {}, health: { status: "healthy", message: "" }, searchedBack: null }; // sessions: in the place of those of the history

  function list(q) {
    const size = Math.min(100, Number(q.get("page_size") ?? 20)), page = Number(q.get("page") ?? 1);
    const wanted = q.getAll("status"), words = (q.get("search") ?? "").toLowerCase();
    const fits = (s) => (!wanted.length || wanted.includes(s.status)) && (!words || s.title.toLowerCase().includes(words));
    const rows = [];
    let found = 0;
    const narrow = wanted.length || words;
    if (!narrow && !state.empty) {
      found = past.total;
      for (let i = (page - 1) * size; i < Math.min(found, page * size); i++) rows.push(past.at(i));
    } else if (!state.empty) {
      for (let i = 0; i < past.total; i++) if (fits(past.at(i)) && ++found > (page - 1) * size && rows.length < size) rows.push(past.at(i));
    }
    const sessions = rows.map(({ chronological_timeline, summary, ...s }) => s);
    return { sessions, pagination: { page, page_size: size, total_pages: Math.ceil(found / size), total_items: found, next_cursor: null }, filters_applied: {}, searched_back_to_us: state.searchedBack };
  }

  function decided(q) {
    const from = Number(q.get("cursor") ?? 0), limit = Number(q.get("limit") ?? 50);
    const fit = all.filter((d) => (!q.get("kind") || d.kind === q.get("kind")) && (!q.get("tool") || d.tools.includes(q.get("tool"))) && (!q.get("q") || d.entry.includes(q.get("q"))));
    const searched_back_to_us = state.searchedBack;
    return state.empty ? { decisions: [], searched_back_to_us, next_cursor: null } : { decisions: fit.slice(from, from + limit), searched_back_to_us, next_cursor: from + limit < fit.length ? String(from + limit) : null };
  }

  const emptied = { "/api/v1/agents": { agents: [] }, "/api/v1/reasoning": { rows: [] }, "/api/v1/usage": { groups: [] }, "/api/v1/keys": { keys: [] }, "/api/v1/providers": { providers: [] } };

  function api(path, q, method) {
    const one = /^\/api\/v1\/history\/sessions\/([^/]+)$/.exec(path)?.[1];
    const fresh = /^\/api\/v1\/history\/interactions\/([^/]+)\/new$/.exec(path)?.[1];
    if (path === "/api/v1/history/sessions") return list(q);
    const whole = /^\/api\/v1\/history\/interactions\/([^/]+)$/.exec(path)?.[1];
    if (whole) return past.fixed.flatMap((s) => s.chronological_timeline).find((e) => e.event_id === whole)?.details ?? null;
    if (fresh) return NEW[fresh] ?? { interaction_id: fresh, previous_id: null, dialect: "openai", same_count: 0, dropped_count: 0, system: null, tools: null, messages: [{ role: "user", content: "What is new." }] };
    if (one && method === "DELETE") return { receipt_id: "r-1", erased_at_us: 1, sessions: 1 };
    if (one) return state.sessions[one] ?? past.find(decodeURIComponent(one)) ?? null;
    if (path === "/api/v1/history/decisions") return decided(q);
    if (path === "/api/v1/overview") return state.empty ? { ...overview(q), total: { ...overview(q).total, calls: 0 } } : overview(q);
    if (path === "/api/v1/history/interactions") return callList(q);
    if (path === "/api/v1/history/search") return { results: past.fixed.slice(0, 3).map((s) => ({ type: "interaction", session_id: s.session_id, interaction_id: s.chronological_timeline[0].event_id, timestamp_us: s.started_at_us, snippet: `… ${q.get("q")} …` })), searched_back_to_us: state.searchedBack };
    if (path === "/api/v1/history/health") return { ...rest[path], status: state.health.status };
    if (path === "/api/v1/history/active-sessions") return state.empty ? [] : [{ session_id: "s-000001", duration_seconds: 4 }];
    if (path === "/api/v1/audit/verify") return { ok: true, entries: 3 };
    if (state.empty && emptied[path]) return emptied[path];
    return rest[path] ?? null;
  }

  // ---- what is live ----

  const seen = [];
  function push(channel, data) {
    const m = channel === "dashboard_updates" ? { type: "dashboard_update", channel, data } : { type: "session_update", session_id: data.session_id, channel, data };
    for (const s of sockets) if (s.channels.has(channel)) s.link.send(m);
  }
  const healthMessage = () => ({ type: "system_health", channel: "system_health", status: state.health.status, services: { store: state.health } });
  function sendHealth(status, message) {
    state.health = { status, message };
    for (const s of sockets) if (s.channels.has("system_health")) s.link.send(healthMessage());
  }
  function tell(data) {
    push("dashboard_updates", data);
    push(`session_${data.session_id}`, data);
  }
  let calls = 0;
  // The last word of the thought waits for the promise hold.thought, that of the answer for hold.answer.
  async function stream({ rate = 60, thought = REASONING, answer = "Roll back the 14:02 deploy, then free the slots.", session = "live-1", cap = 256, shown = true, cut = false, wait = 150, tokens = 190, hold = {} } = {}) {
    const id = `live-call-${++calls}`;
    const about = { interaction_id: id, session_id: session };
    const began = Date.now();
    tell({ type: "llm_started", ...about, model: "demo-thinker", provider: "demo", level: "medium", cap_tokens: cap, key_name: "checkout-app", asked: "Checkout is slow since the 14:02 deploy. Why, and what do we do?", stream: true, started_us: began * 1000 });
    await pause(wait);
    const pieces = async (type, text, held) => {
      const words = text.match(/\s*\S+/g) ?? [];
      const from = Date.now();
      for (let i = 0, at = 0; i < words.length; at += words[i++].length) {
        if (i === words.length - 1) await held;
        tell({ type, ...about, text: words[i], at });
        const due = from + ((i + 1) * 1000) / rate;
        if (due > Date.now()) await pause(due - Date.now());
      }
    };
    if (thought) {
      tell({ type: "reasoning_status", ...about, state: "thinking", thinking_ms: 0, reasoning_tokens: 0, cap_tokens: cap, cut: false, shown });
      if (shown) await pieces("reasoning_delta", thought, hold.thought);
      else await (hold.thought ?? pause(800));
    }
    tell({ type: "reasoning_status", ...about, state: "answering", thinking_ms: thought ? Date.now() - began : 0, reasoning_tokens: thought ? tokens : 0, cap_tokens: cap, cut, shown });
    await pieces("answer_delta", answer, hold.answer);
    tell({ type: "llm_interaction", ...about, step_description: "model call", model_used: "demo-thinker", success: true, duration_ms: Date.now() - began, has_tools: false, reasoning_state: cut ? "cut" : thought ? (shown ? "complete" : "hidden") : "none", reasoning_tokens: thought ? tokens : 0, has_reasoning: Boolean(thought), decision: "[DIRECT] Roll back the deploy.", tokens: { input: 412, output: 391 }, cost_usd: 0.0042, status: 200 });
    return id;
  }

  async function generate(response) {
    response.writeHead(200, { "content-type": "text/event-stream", "x-rationale-id": `asked-${++calls}`, "x-rationale-session": "agent-run" });
    const say = (name, data) => response.write(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`);
    say("analysis", { state: "started" });
    for (const w of REASONING.match(/\s*\S+/g)) {
      say("reasoning_delta", { text: w });
      await pause(8);
    }
    say("analysis", { state: "ended", tokens: 190, cap: 256 });
    for (const w of "Roll back the deploy, **then** fix it.".match(/\s*\S+/g)) say("token", { text: w });
    say("usage", { input_tokens: 40, reasoning_tokens: 190, final_tokens: 12 });
    response.end(": reasoning_tokens=190; cap=256; cut=none\n\n");
  }

  async function handle(request, response) {
    const url = new URL(request.url, "http://x");
    const path = url.pathname;
    const json = (status, body) => {
      response.writeHead(status, { "content-type": "application/json", "cache-control": "no-store" });
      response.end(JSON.stringify(body));
    };
    const file = PAGE.test(path) ? "index.html" : path.startsWith("/page/") ? path.slice(6) : "";
    if (files[file]) {
      if (!fresh && file === "page.js") ({ files, sizes } = bundle());
      response.writeHead(200, { "content-type": TYPES[file.split(".").pop()], "content-security-policy": POLICY, "x-content-type-options": "nosniff", "cache-control": "no-cache" });
      return response.end(files[file]);
    }
    if (path === "/api/v1/login") {
      let body = "";
      for await (const piece of request) body += piece;
      if (JSON.parse(body).key !== key) return json(401, { detail: { error: "invalid_api_key", message: "the key is not known here" } });
      response.setHeader("set-cookie", "rationale_session=in; HttpOnly; SameSite=Strict; Path=/");
      return json(200, { ok: true });
    }
    if (key && path.startsWith("/api/") && !request.headers.cookie?.includes("rationale_session=in")) return json(401, { detail: { error: "invalid_api_key", message: "a key is needed" } });
    if (path === "/generate") return generate(response);
    if (state.slow) await pause(state.slow);
    if (!path.startsWith("/api/") && !path.startsWith("/page/") && request.headers.accept?.includes("text/html")) {
      response.writeHead(404, { "content-type": TYPES.html, "content-security-policy": POLICY });
      return response.end(files["index.html"]);
    }
    const body = api(path, url.searchParams, request.method);
    return body ? json(200, body) : json(404, { detail: { error: "not_found", message: "there is nothing of that name" } });
  }

  const server = createServer((a, b) => void handle(a, b).catch((e) => {
    console.error(e);
    b.destroy();
  }));
  server.on("upgrade", (request, socket) => {
    const one = { channels: new Set(), link: null };
    one.link = accept(request, socket, (m) => {
      seen.push(m);
      if (m.type === "subscribe") one.channels.add(m.channel);
      if (m.type === "unsubscribe") one.channels.delete(m.channel);
      if (m.type === "ping") one.link.send({ type: "pong" });
      else one.link.send({ type: "subscription_response", action: m.type, channel: m.channel, success: true, message: "" });
      if (m.type === "subscribe" && m.channel === "system_health") one.link.send(healthMessage());
    }, () => sockets.delete(one));
    sockets.add(one);
    one.link.send({ type: "connection_established", user_id: request.url.split("/").pop() });
  });
  await new Promise((r) => server.listen(port, "127.0.0.1", r));
  return {
    root: `http://127.0.0.1:${server.address().port}`, stream, push, tell, sendHealth, state, seen, sizes,
    drop: () => [...sockets].forEach((s) => s.link.end()),
    stop: () => {
      [...sockets].forEach((s) => s.link.end());
      server.closeAllConnections();
      return new Promise((r) => server.close(r));
    },
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const dev = await start({ port: Number(process.argv[2] ?? 5173), fresh: false });
  console.log(dev.root);
  for (;;) {
    await dev.stream();
    await pause(4000);
  }
}
