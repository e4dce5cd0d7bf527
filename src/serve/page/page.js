// The first page: asks /generate and shows the reply as it comes. What a model says is only ever
// put into the page as text. SPDX-License-Identifier: Apache-2.0

const $ = (id) => document.getElementById(id);
let key = ""; // in memory only
let questions = [];
let running = null; // the AbortController of the reply at hand

function headers(more) {
  return key ? { ...more, authorization: `Bearer ${key}` } : { ...more };
}

function element(name, className, text) {
  const e = document.createElement(name);
  if (className) e.className = className;
  if (text !== undefined) e.textContent = text;
  return e;
}

function seconds(ms) {
  const s = Math.round(ms / 1000);
  return s < 60 ? `${s} s` : `${Math.floor(s / 60)} min ${s % 60} s`;
}

function count(n, what) {
  return `${n} ${what}${n === 1 ? "" : "s"}`;
}

// ---- one reply ----

class Reply {
  constructor(question) {
    const root = $("reply").content.firstElementChild.cloneNode(true);
    const part = (name) => root.querySelector(`.${name}`);
    Object.assign(this, {
      root, thinking: part("thinking"), summary: part("summary"), words: part("words"), tail: part("tail"),
      answer: part("answer"), calls: part("calls"), problem: part("problem"), footer: root.querySelector("footer"),
      bar: part("bar"), usageWords: part("usage"),
      began: 0, thought: 0, timer: 0, tokens: null, cap: null, cut: false, usage: null, pending: new Map(), frame: 0,
    });
    part("question").textContent = question;
    this.summary.disabled = true;
    this.summary.addEventListener("click", () => {
      const open = this.thinking.classList.toggle("open");
      this.summary.setAttribute("aria-expanded", String(open));
      this.tail.scrollTop = 0;
    });
    root.setAttribute("aria-busy", "true");
    $("replies").prepend(root);
  }

  // Text is put in once a frame, however many pieces have come.
  add(to, text) {
    this.pending.set(to, (this.pending.get(to) ?? "") + text);
    this.frame ||= requestAnimationFrame(() => this.flush());
  }

  flush() {
    cancelAnimationFrame(this.frame);
    this.frame = 0;
    for (const [to, text] of this.pending) to.append(text);
    this.pending.clear();
    if (this.thinking.classList.contains("live")) this.tail.scrollTop = this.tail.scrollHeight;
  }

  startThinking() {
    this.began = performance.now() - this.thought;
    this.thinking.hidden = false;
    this.thinking.className = "thinking live";
    this.tick();
    this.timer ||= setInterval(() => this.tick(), 250);
  }

  tick() {
    this.words.textContent = `Thinking… ${seconds(performance.now() - this.began)}`;
  }

  endThinking() {
    if (!this.thinking.classList.contains("live")) return;
    clearInterval(this.timer);
    this.timer = 0;
    this.thought = performance.now() - this.began;
    this.flush();
    this.thinking.className = "thinking settled";
    this.tail.scrollTop = 0;
    this.summary.disabled = this.tail.textContent === "";
    this.settle();
  }

  // "Thought for 15 s · 204 tokens · 80 % of cap"
  settle() {
    const said = [`Thought for ${seconds(this.thought)}`];
    if (this.tokens !== null) said.push(count(this.tokens, "token"));
    if (this.cut) said.push(`stopped at the cap of ${this.cap}`);
    else if (this.cap && this.tokens !== null) said.push(`${Math.round((100 * this.tokens) / this.cap)} % of cap`);
    this.words.textContent = said.join(" · ");
  }

  analysis(data) {
    if (data.state === "started") return this.startThinking();
    this.tokens = data.tokens ?? this.tokens;
    this.cap = data.cap ?? this.cap;
    this.endThinking();
  }

  call(data) {
    const box = element("div", "call");
    const args = typeof data.arguments === "string" ? data.arguments : JSON.stringify(data.arguments, null, 2);
    box.append(element("h3", "", "The model asks the application to run a tool"),
               element("pre", "", `${data.name} ${args}`));
    this.calls.append(box);
  }

  fail(words, hint) {
    this.problem.replaceChildren(element("p", "", words));
    if (hint) this.problem.append(element("p", "", hint));
    this.problem.hidden = false;
  }

  // ": reasoning_tokens=128; cap=128; cut=budget"
  comment(text) {
    const found = /reasoning_tokens=(\d+); cap=(\d+|none); cut=(\w+)/.exec(text);
    if (!found) return;
    this.tokens = Number(found[1]);
    this.cap = found[2] === "none" ? null : Number(found[2]);
    this.cut = found[3] !== "none";
  }

  event(name, data) {
    if (name === "analysis") this.analysis(data);
    else if (name === "reasoning_delta") this.add(this.tail, data.text);
    else if (name === "reasoning" && this.tail.textContent === "") this.whole(data.text);
    else if (name === "token") this.add(this.answer, data.text);
    else if (name === "tool_call") this.call(data);
    else if (name === "usage") this.usage = data;
    else if (name === "error") this.fail(...explain(data.status, data.message));
  }

  whole(text) {
    this.tail.textContent = text;
    this.summary.disabled = text === "";
  }

  end() {
    this.endThinking();
    this.flush();
    this.root.classList.remove("writing");
    this.root.removeAttribute("aria-busy");
    if (!this.thinking.hidden) this.settle();
    if (this.usage) this.foot();
  }

  foot() {
    const u = this.usage;
    const said = [`${u.input_tokens} in`];
    if (u.reasoning_tokens) said.push(`${u.reasoning_tokens} thought`);
    said.push(`${u.final_tokens} answered`);
    this.usageWords.textContent = `Tokens: ${said.join(" · ")}${this.cap ? ` · cap ${this.cap}` : ""}`;
    if (this.cap) {
      this.bar.hidden = false;
      this.bar.classList.toggle("cut", this.cut);
      this.bar.firstElementChild.style.width = `${Math.min(100, (100 * (this.tokens ?? 0)) / this.cap)}%`;
    }
    this.footer.hidden = false;
  }
}

// What went wrong, and what to do about it.
function explain(status, message) {
  const hints = {
    401: "Give a key that this gateway knows.",
    404: "Choose a model from the list.",
    429: "Wait a moment, then ask again.",
    501: questions.length ? "The demo only plays its recordings: choose one of the questions above." : "",
  };
  return [message || `The gateway answered with status ${status}.`, hints[status] ?? ""];
}

// ---- server-sent events ----

async function readEvents(body, reply) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = "", name = "", data = "";

  const line = (text) => {
    if (text === "") {
      if (data) reply.event(name, JSON.parse(data));
      name = data = "";
    } else if (text.startsWith(":")) reply.comment(text);
    else if (text.startsWith("event:")) name = text.slice(6).trim();
    else if (text.startsWith("data:")) data += text.slice(5).trim();
  };
  for (;;) {
    const { value, done } = await reader.read();
    if (done) break;
    const lines = (rest + value).split("\n");
    rest = lines.pop();
    lines.forEach(line);
  }
}

async function run(body, reply, signal) {
  const response = await fetch("/generate", {
    method: "POST",
    headers: headers({ "content-type": "application/json", "x-rationale-reasoning": "show" }),
    body: JSON.stringify(body),
    signal,
  });
  if (!response.ok) {
    const told = await response.json().catch(() => null);
    if (response.status === 401) askForKey(told?.error?.message);
    reply.fail(...explain(response.status, told?.error?.message));
    return;
  }
  await readEvents(response.body, reply);
}

async function ask(body) {
  running?.abort();
  const mine = (running = new AbortController());
  const reply = new Reply(body.prompt);
  reply.root.classList.add("writing");
  $("send").textContent = "Stop";
  try {
    await run(body, reply, mine.signal);
  } catch (e) {
    if (e.name === "AbortError") reply.fail("Stopped.");
    else reply.fail("The gateway does not answer.", "Is it still running? Then ask again.");
  }
  reply.end();
  if (running === mine) {
    running = null;
    $("send").textContent = "Ask";
  }
}

// ---- the page ----

function modelName() {
  return $("model").hidden ? $("model-name").value.trim() : $("model").value;
}

function submit(event) {
  event.preventDefault();
  if (running) return running.abort();
  const prompt = $("prompt").value.trim();
  const body = { model: modelName(), prompt, reasoning_effort: $("level").value };
  const known = questions.find((q) => q.tools && q.prompt === prompt);
  if (prompt) ask(known ? { ...body, tools: known.tools } : body);
}

function showQuestions() {
  for (const q of questions) {
    const button = element("button", "", q.label);
    button.type = "button";
    button.addEventListener("click", () => {
      $("prompt").value = q.prompt;
      $("model").value = q.model;
      $("level").value = q.level ?? "medium";
      ask({ model: q.model, prompt: q.prompt, reasoning_effort: $("level").value, ...(q.tools && { tools: q.tools }) });
    });
    $("questions").append(button);
  }
  $("questions").hidden = questions.length === 0;
}

function askForKey(message) {
  $("key-form").hidden = false;
  $("key-error").textContent = key ? message ?? "" : "";
  $("key").focus();
}

async function showModels() {
  const response = await fetch("/v1/models", { headers: headers() }).catch(() => null);
  if (!response) return void ($("state").textContent = "the gateway does not answer");
  const told = await response.json().catch(() => ({}));
  if (response.status === 401) {
    $("state").textContent = "a key is needed";
    return askForKey(told.error?.message);
  }
  const models = told.data ?? [];
  $("key-form").hidden = true;
  $("model").replaceChildren(...models.map((m) => new Option(m.id, m.id)));
  $("model").hidden = models.length === 0;
  $("model-name").hidden = models.length > 0;
  $("state").textContent = models.length ? `${count(models.length, "model")} served` : "any model is served";
}

function showBases() {
  const at = location.origin;
  const rows = [["OpenAI", `${at}/v1`], ["Anthropic", at], ["Gemini", at], ["Ollama", at]];
  for (const [name, url] of rows) {
    const dd = element("dd");
    dd.append(element("code", "", url));
    $("bases").append(element("dt", "", name), dd);
  }
}

$("ask").addEventListener("submit", submit);
$("prompt").addEventListener("keydown", (e) => {
  if (e.key === "Enter" && !e.shiftKey && !e.isComposing) {
    e.preventDefault();
    $("ask").requestSubmit();
  }
});
$("key-form").addEventListener("submit", (e) => {
  e.preventDefault();
  key = $("key").value.trim();
  $("key").value = "";
  showModels();
});
showBases();
questions = await fetch("/page/questions.json").then((r) => r.json()).catch(() => []);
await showModels();
showQuestions();
