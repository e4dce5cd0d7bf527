// states.test.mjs - states that are hard to provoke, on a generated history: every form of reasoning, hostile
// text, a hundred thousand sessions, a lost connection, empty pages. SPDX-License-Identifier: Apache-2.0
import { XSS } from "../../dashboard/dev/fixtures.mjs";
import { start } from "../../dashboard/dev/server.mjs";
import { assert, eachLook, finish, gate, isTooWide, json, loaded, LOOKS as ALL_LOOKS, NARROW, shot, sleep, test, until } from "./kit.mjs";

const dev = await start({ total: 100_000 });
const few = await start({ total: 300 }); // for searches, which read every session
const keyed = await start({ total: 3, key: "sk-good" });
const bare = await start({ total: 0 });
bare.state.empty = true;
const PAGES = { overview: "/", overviewBy: "/?by=model&range=7d&tz=UTC", live: "/live", compare: "/compare?kind=session&a=agent-run&b=state-shown", sessions: "/sessions", session: "/sessions/agent-run", agents: "/agents", decisions: "/decisions", reasoning: "/reasoning", providers: "/providers", keys: "/keys", system: "/system" };
const DISPLAY = '[data-testid="reasoning-display"]';

// Opens the page and waits until the gateway has its subscription.
async function openLive(page) {
  const before = dev.seen.length;
  await page.goto(`${dev.root}${PAGES.live}`);
  await until("the socket", () => dev.seen.slice(before).some((m) => m.type === "subscribe" && m.channel === "dashboard_updates"));
}

const LOOKS = {
  shown: ["Thought for 6 s · 190 tokens · 74 % of cap", "Little's law"],
  hidden: ["512 tokens", "The text was not kept, or this key may not see it"],
  redacted: ["redacted", "The provider keeps this reasoning to itself"],
  summary: ["summary only", "Weighing the options"],
  cut: ["128 tokens · stopped at the cap of 128", "It reached its cap"],
  unclosed: ["unclosed", "still thinking"],
  none: ["No reasoning", "gave no reasoning"],
};

for (const [look, [head, body]] of Object.entries(LOOKS))
  test(`reasoning that is ${look} has its own look, folded until asked for`, async ({ page }) => {
    await page.goto(`${dev.root}/sessions/state-${look}`);
    const display = page.locator(DISPLAY);
    await display.waitFor();
    assert.equal(await display.count(), 1);
    assert.equal(await display.getAttribute("data-state"), look);
    const toggle = display.locator("button[aria-expanded]").first();
    assert.equal(await toggle.getAttribute("aria-expanded"), "false");
    assert.match(await display.innerText(), new RegExp(head.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")));
    assert.ok(!(await display.innerText()).includes(body));
    await shot(display, `reasoning-${look}-folded`);
    await toggle.click();
    assert.equal(await toggle.getAttribute("aria-expanded"), "true");
    assert.ok((await display.innerText()).includes(body), await display.innerText());
    await shot(display, `reasoning-${look}`);
    await toggle.click();
    assert.equal(await toggle.getAttribute("aria-expanded"), "false");
  });

test("the looks can be told apart without reading", async ({ page }) => {
  const seen = new Map();
  for (const look of Object.keys(LOOKS)) {
    await page.goto(`${dev.root}/sessions/state-${look}`);
    await page.locator(DISPLAY).waitFor();
    const style = await page.locator(DISPLAY).evaluate((e) => {
      const s = getComputedStyle(e), m = e.querySelector(".mark");
      return [s.borderLeftStyle, s.borderLeftColor, s.backgroundImage, s.backgroundColor, m ? getComputedStyle(m).backgroundColor : ""].join(" | ");
    });
    assert.ok(!seen.has(style), `${look} looks like ${seen.get(style)}`);
    seen.set(style, look);
  }
});

test("reasoning that cannot be drawn says so, and the page stands", async ({ page }) => {
  await page.goto(`${dev.root}/sessions/state-broken`);
  await page.locator(`${DISPLAY} button[aria-expanded]`).click();
  await page.getByText("Reasoning unavailable").waitFor();
  assert.ok(await page.getByText("Roll it back now").isVisible());
  assert.ok((await page.locator("nav a").count()) > 10, "the navigation is there");
});

test("several thoughts of one call stay apart and in order", async ({ page }) => {
  await page.goto(`${dev.root}/sessions/agent-run`);
  const second = page.locator("#run-2");
  await second.waitFor();
  assert.equal(await second.locator(DISPLAY).count(), 2);
  const text = await second.innerText();
  assert.ok(text.indexOf("1 of 2") < text.indexOf("2 of 2"));
  assert.ok(text.indexOf("Checking the deploy.") > text.indexOf("1 of 2") && text.indexOf("Checking the deploy.") < text.indexOf("2 of 2"), "what was said between them stands between them");
});

// ---- hostile text ----

test("nothing a model writes is run, loaded or followed", async ({ page, asked }) => {
  for (const path of ["/sessions/xss", "/sessions", "/"]) {
    await page.goto(dev.root + path);
    await page.locator("main a, main li").first().waitFor();
    if (path === "/sessions/xss") {
      await page.locator("[data-expand]").click();
      await until("all of it", async () => (await page.locator(`${DISPLAY} .markdown`).count()) === XSS.length);
      await page.evaluate(() => document.querySelectorAll(".disclose[aria-expanded=false]").forEach((b) => b.click()));
    }
    await until("data", async () => (await page.locator(".loading").count()) === 0);
    await sleep(150);
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    const bad = await page.evaluate(() => [...document.querySelectorAll("main script, main iframe, main img, main object, main embed, main style, main link, main base, main meta, main video, main math, main svg:not([aria-hidden])")].map((e) => e.outerHTML));
    assert.deepEqual(bad, []);
    const handlers = await page.evaluate(() => [...document.querySelectorAll("*")].flatMap((e) => [...e.attributes]).filter((a) => /^on|^srcdoc$|^formaction$/.test(a.name)).map((a) => a.name));
    assert.deepEqual(handlers, []);
    const away = await page.evaluate(() => [...document.querySelectorAll("a[href]")].map((a) => a.href).filter((h) => !h.startsWith(`${location.origin}/`)));
    assert.deepEqual(away, [], "no link leads out before it was asked for");
  }
  await shot(page, "hostile");
  assert.ok(![...asked].some((u) => u.includes("leak.invalid")));
  await page.goto(`${dev.root}/sessions/xss`);
  for (const one of ["<script>window.pwned=1</script>", "<svg/onload=window.pwned=3>"])
    await until(`${one} as text`, async () => (await page.locator("main").innerText()).includes(one));
}, { complaints: [/404/] });

test("what cannot be seen is written out", async ({ page }) => {
  await page.goto(`${dev.root}/sessions/xss`);
  const event = page.locator(`#xss-${XSS.findIndex((x) => x.includes("\u202e"))} .answer .markdown`);
  await event.waitFor();
  const text = await event.innerText();
  for (const code of ["U+202E", "U+202C", "U+2066", "U+200B", "U+0007", "U+001B"]) assert.ok(text.includes(code), `${code} in ${text}`);
  assert.ok(!/[\u202a-\u202e\u2066-\u2069\u200b\u0007\u001b]/.test(text));
  const tags = await page.locator(`#xss-${XSS.findIndex((x) => x.startsWith("tags:"))} .answer .markdown`).innerText();
  assert.match(tags, /U\+E0041/);
});

test("a link shows its whole address first, and is then opened apart from us", async ({ page, context }) => {
  await page.goto(`${dev.root}/sessions/xss`);
  const index = XSS.findIndex((x) => x.startsWith("[https://bank"));
  await page.locator(`#xss-${index} .answer button.link`).click();
  const dialog = page.locator("dialog[open]");
  await dialog.waitFor();
  assert.ok((await dialog.innerText()).includes("https://evil.example/login"));
  const out = dialog.locator("a");
  assert.equal(await out.getAttribute("target"), "_blank");
  assert.match(await out.getAttribute("rel"), /noopener/);
  await page.keyboard.press("Escape");
  await until("it closed", async () => (await page.locator("dialog[open]").count()) === 0);
  assert.equal(context.pages().length, 1);
  const odd = page.locator(`#xss-${XSS.findIndex((x) => x.includes("\u0430pple"))} .answer button.link`);
  await odd.click();
  assert.match(await dialog.innerText(), /xn--/);
});

// ---- size ----

test("of 100,000 sessions a page is drawn", async ({ page }) => {
  await page.goto(`${dev.root}/sessions`);
  await page.locator("tbody tr").first().waitFor();
  const rows = await page.locator("tbody tr").count();
  assert.ok(rows <= 100, `${rows} rows in the page`);
  assert.match(await page.locator(".pager").innerText(), /of 100,0\d\d sessions/);
  await page.locator("[data-next]").click();
  await until("the second page", async () => /26 to 50/.test(await page.locator(".pager").innerText()));
  assert.match(page.url(), /page=2/);
});

test("a first visit loads less than 64 KiB, whatever the page", async ({ page }) => {
  const loaded = new Map();
  page.on("response", (r) => loaded.set(new URL(r.url()).pathname, r.status()));
  await page.goto(`${dev.root}/keys`);
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  assert.ok([...loaded.keys()].some((p) => p.startsWith("/page/keys-")), [...loaded.keys()].join(" "));
  assert.ok(![...loaded.keys()].some((p) => p.startsWith("/page/sessions-")), "a page that nobody opened was loaded");
  const { pages, files } = dev.sizes;
  assert.ok(Object.keys(pages).length >= 14, Object.keys(pages).join(" "));
  for (const [name, size] of Object.entries(pages)) assert.ok(size < 64 * 1024, `${name}: ${size}`);
  for (const [name, size] of Object.entries(files)) assert.ok(size < 24 * 1024, `${name}: ${size}`);
});

test("a page whose file is gone says so, and loads after a reload", async ({ page }) => {
  await page.goto(`${dev.root}/keys`);
  await page.getByRole("heading", { name: "Keys" }).waitFor();
  await page.route(/\/page\/decisions-/, (route) => route.fulfill({ status: 404, body: "" }));
  await page.getByRole("link", { name: "Decisions" }).click();
  await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
  await page.unroute(/\/page\/decisions-/);
  await page.getByRole("button", { name: "Reload" }).click();
  await page.getByRole("heading", { name: "Decisions" }).waitFor();
}, { complaints: [/status of 404/] });

test("an entry of the decision log begins with the reason and names each tool once", async ({ page }) => {
  await page.goto(`${dev.root}/decisions`);
  const entry = (text) => page.locator(".entry", { has: page.getByText(text, { exact: true }) }).first();
  const chips = async (text) => (await entry(text).waitFor(), entry(text).locator("button").allInnerTexts());
  assert.deepEqual(await chips("The test name says Sunday: read the file first."), ["Read", "Task"]);
  assert.deepEqual(await chips("the deploy at 14:02 is the only change in the window, so roll it back and watch"), ["deploys", "rollback × 2"]);
  await entry("The 14:02 deploy leaks transactions: each request opens one and leaves it open f…").getByText("direct answer", { exact: true }).waitFor();
});

// ---- live ----

test("200 tokens a second: text is appended a frame at a time and nothing moves", async ({ page }) => {
  await openLive(page);
  const thought = Array.from({ length: 500 }, (_, i) => `word${i}`).join(" ");
  const thinks = gate();
  const done = dev.stream({ rate: 200, thought, answer: thought, session: "fast", tokens: 500, cap: 512, hold: { thought: thinks.opened } });
  const box = page.locator("article.call .stream.reasoning").first();
  await until("the first words", async () => (await box.innerText()).includes("word3"));
  await page.evaluate(() => {
    const box = document.querySelector("article.call .stream.reasoning");
    window.seen = { shifts: 0, heights: new Set(), mutations: 0, removed: 0, frames: 0, long: 0 };
    new PerformanceObserver((l) => l.getEntries().forEach((e) => (window.seen.shifts += e.value))).observe({ type: "layout-shift" });
    new PerformanceObserver((l) => (window.seen.long += l.getEntries().length)).observe({ type: "longtask" });
    new MutationObserver((l) => {
      window.seen.mutations++;
      for (const m of l) window.seen.removed += m.removedNodes.length;
    }).observe(box, { childList: true, characterData: true, subtree: true });
    const frame = () => {
      window.seen.frames++;
      window.seen.heights.add(box.isConnected ? box.clientHeight : 0);
      if (box.isConnected) requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  await until("all but its last word", async () => (await box.evaluate((e) => e.textContent)).endsWith("word498"));
  const seen = await page.evaluate(() => ({ ...window.seen, heights: [...window.seen.heights] }));
  await shot(page, "live-200-tokens");
  thinks.open();
  assert.ok(seen.mutations <= seen.frames + 2, `${seen.mutations} changes in ${seen.frames} frames`);
  assert.equal(seen.removed, 0, "what stands is never drawn again");
  assert.equal(seen.shifts, 0, "nothing moved");
  assert.deepEqual(seen.heights.length, 1, `heights ${seen.heights}`);
  await done;
  await until("it settled", async () => /Thought for \d+ m?s · 500 tokens · 98 % of cap/.test(await page.locator("article.call").first().innerText()));
});

test("it thinks, settles at the first word of the answer, and the two cannot be mistaken", async ({ page }) => {
  await openLive(page);
  const thinks = gate(), answers = gate();
  const done = dev.stream({ hold: { thought: thinks.opened, answer: answers.opened }, rate: 25, session: "calm", thought: "Let me see what is waiting, and for what it waits. ".repeat(4), answer: "Roll back now, and then look at the pool in peace. ".repeat(4) });
  const card = page.locator("article.call").first();
  await until("thinking", async () => /Thinking… \d+ s/.test(await card.locator(DISPLAY).innerText()));
  assert.match(await card.innerText(), /R cap: 256/);
  const looks = await card.evaluate((c) => ["color", "backgroundColor", "fontSize"].map((p) => getComputedStyle(c.querySelector(".stream.reasoning"))[p]));
  await shot(page, "live-thinking");
  thinks.open();
  const answer = card.locator(".stream.answer");
  await until("the answer", async () => (await answer.innerText()).includes("Roll"));
  assert.match(await card.locator(DISPLAY).innerText(), /Thought for \d+ m?s · 190 tokens · 74 % of cap/, "settled while the answer is still coming");
  assert.equal(await card.getAttribute("aria-busy"), "true");
  assert.equal(await card.locator("button[aria-expanded]").getAttribute("aria-expanded"), "false");
  const other = await card.evaluate((c) => ["color", "backgroundColor", "fontSize"].map((p) => getComputedStyle(c.querySelector(".stream.answer"))[p]));
  assert.notDeepEqual(looks, other);
  await shot(page, "live-answering");
  answers.open();
  await done;
  await until("done", async () => (await card.getAttribute("aria-busy")) === "false");
  await card.locator("button[aria-expanded]").click();
  assert.ok((await card.innerText()).includes("for what it waits"));
  assert.ok((await card.innerText()).includes("[DIRECT]"));
});

test("reasoning hidden by policy is counted while it runs, and not shown", async ({ page }) => {
  await openLive(page);
  const thinks = gate();
  const done = dev.stream({ session: "quiet", shown: false, tokens: 77, hold: { thought: thinks.opened } });
  const card = page.locator("article.call").first();
  await until("it says so", async () => /Hidden by policy/.test(await card.innerText()));
  thinks.open();
  await done;
  await until("settled", async () => (await card.locator(DISPLAY).getAttribute("data-state")) === "hidden");
  assert.match(await card.innerText(), /77 tokens/);
});

test("what changes while a card is being put up is on it", async ({ page }) => {
  await openLive(page);
  for (let wait = 0; wait < 80; wait += 2) {
    const thinks = gate();
    const done = dev.stream({ session: "sudden", shown: false, wait, answer: "", hold: { thought: thinks.opened } });
    const card = page.locator(`article.call[aria-busy="true"]`);
    await until(`it says so after ${wait} ms`, async () => /Hidden by policy/.test(await card.innerText()));
    thinks.open();
    await done;
    await until("settled", async () => (await card.count()) === 0);
  }
});

test("a connection that is lost comes back, and a gap is told", async ({ page }) => {
  await openLive(page);
  await until("the socket", () => page.locator(".side .status.good").isVisible());
  await page.evaluate(() => { // the page may reconnect before a check from outside
    window.words = [];
    new MutationObserver(() => window.words.push(document.querySelector(".side .status").textContent)).observe(document.querySelector(".side"), { subtree: true, childList: true, characterData: true, attributes: true });
  });
  await page.route("**/generate", (route) => route.abort());
  await page.fill("#prompt", "a question");
  await page.getByRole("button", { name: "Ask", exact: true }).click();
  await page.getByText("then ask again").waitFor();
  dev.drop();
  await until("lost", () => page.evaluate(() => window.words.includes("reconnecting")));
  await until("back", () => page.locator(".side .status.good").isVisible());
  await until("the form no longer says that there is no answer", async () => (await page.getByText("then ask again").count()) === 0);
  const thinks = gate();
  const done = dev.stream({ rate: 40, session: "gap", hold: { thought: thinks.opened } });
  const card = page.locator("article.call").first();
  await until("thinking", async () => /Thinking…/.test(await card.innerText()));
  dev.push("dashboard_updates", { type: "gap", channel: "dashboard_updates", missed: 12 });
  await until("the gap", async () => /12 messages were missed/.test(await card.innerText()));
  thinks.open();
  await done;
}, { complaints: [/ERR_FAILED/] });

// Opens the page of a live session that is like state-shown except for `change`.
async function pageOf(page, id, change) {
  const whole = await (await fetch(`${dev.root}/api/v1/history/sessions/state-shown`)).json();
  dev.state.sessions[id] = { ...whole, session_id: id, ...change };
  await page.goto(`${dev.root}/sessions/${id}`);
  await page.locator(".facts").waitFor();
  await until("the channel", () => dev.seen.some((m) => m.channel === `session_${id}`));
  return whole;
}

test("what is told again behind a gap is not shown twice", async ({ page }) => {
  await pageOf(page, "again", {});
  const say = (text, at) => dev.push("session_again", { type: "reasoning_delta", interaction_id: "again-1", session_id: "again", text, at });
  const box = page.locator('article.call[data-call="again-1"] .stream.reasoning');
  const shows = (text) => until(text, async () => (await box.evaluate((e) => e.textContent)) === text);
  say("second, ", 7);
  await shows("second, ");
  say("first, second, third", 0);
  await shows("first, second, third");
  say("second, third, fourth", 7);
  await shows("first, second, third, fourth");
  say("third", 15);
  say(" and the last", 28);
  await shows("first, second, third, fourth and the last");
});

test("a record that is behind what was seen live is asked for again", async ({ page }) => {
  let asks = 0;
  page.on("request", (r) => (asks += r.url().endsWith("/api/v1/history/sessions/behind")));
  const whole = await pageOf(page, "behind", { status: "in_progress", chronological_timeline: [] });
  dev.tell({ type: "llm_interaction", interaction_id: "behind-1", session_id: "behind", success: true });
  await page.locator('article.call[data-call="behind-1"]').waitFor();
  const before = asks;
  await until("asked for in vain", () => asks > before + 1);
  dev.state.sessions.behind = { ...whole, session_id: "behind", chronological_timeline: [{ ...whole.chronological_timeline[0], event_id: "behind-1" }] };
  await page.locator('li.event[id="behind-1"]').waitFor();
  await until("the card gave way", async () => (await page.locator("article.call").count()) === 0);
});

test("text from right to left begins at the right, and a written-out character stays in its line", async ({ page }) => {
  const arabic = "لماذا السماء زرقاء؟ اشرح (مثل API).";
  const at = await json(`${dev.root}/api/v1/history/sessions/agent-run`);
  at.title = arabic;
  for (const e of at.chronological_timeline) if (e.type === "llm_interaction") e.details.prompt = `a\u202Eb ${arabic}`;
  dev.state.sessions["agent-run"] = at;
  try {
    await page.goto(`${dev.root}/sessions/agent-run`);
    await page.locator("li.event").first().waitFor();
    const [first, last] = await page.locator("h1").evaluate(({ firstChild: text }) => [0, text.length - 1].map((at) => {
      const range = document.createRange();
      range.setStart(text, at);
      range.setEnd(text, at + 1);
      return range.getBoundingClientRect().left;
    }));
    assert.ok(last < first, "the full stop is at the left end");
    const said = page.locator("li.event .said").first();
    if (!(await said.count())) await page.locator("li.event .disclose").first().click();
    await said.waitFor();
    const line = await said.locator(".control").evaluate((e) => [e.getBoundingClientRect().width, e.parentElement.getBoundingClientRect().width]);
    assert.ok(line[0] < line[1] / 3, `${line}`);
  } finally {
    delete dev.state.sessions["agent-run"];
  }
});

test("a copy button copies exactly, also where the browser has no clipboard for scripts", async ({ page }) => {
  const session = await json(`${dev.root}/api/v1/history/sessions/state-none`);
  const answer = (session.chronological_timeline[0].details.response = "a\tb \r\n  عربي \u202E 😀  \n\n");
  dev.state.sessions["state-none"] = session;
  const clipboard = () => page.evaluate(() => navigator.clipboard.readText());
  try {
    await page.goto(`${dev.root}/sessions/state-none`);
    for (const plainHttp of [false, true]) {
      await page.evaluate(() => navigator.clipboard.writeText("old"));
      if (plainHttp) await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true }));
      await page.locator(".answer-foot button").click();
      await page.getByRole("button", { name: "Copied" }).waitFor();
      await page.evaluate(() => delete navigator.clipboard);
      await until("the answer is copied", async () => (await clipboard()) === answer);
    }
  } finally {
    delete dev.state.sessions["state-none"];
  }
});

// ---- login and keys ----

test("a key is asked for when one is needed, and only then", async ({ page }) => {
  await page.goto(`${keyed.root}/sessions`);
  await page.getByText("A key is needed").waitFor();
  await shot(page, "login");
  await page.fill("#key", "sk-wrong");
  await page.click("#key-form button");
  await page.getByText("the key is not known here").waitFor();
  await page.fill("#key", "sk-good");
  await page.click("#key-form button");
  await page.locator("tbody tr").first().waitFor();
  assert.equal(await page.evaluate(() => document.cookie + Object.keys(localStorage).join() + Object.keys(sessionStorage).join()), "", "no script can read what stands for the key");
  await page.reload();
  await page.locator("tbody tr").first().waitFor();
}, { complaints: [/401/, /WebSocket/] });

test("everything works from the keyboard", async ({ page }) => {
  await page.goto(`${dev.root}/live`);
  await page.locator("#prompt").waitFor();
  await page.keyboard.press("?");
  await page.getByRole("heading", { name: "Keyboard" }).waitFor();
  for (const keys of ["gp", "gk", "gy"]) assert.equal((await page.locator(".keys dt").allInnerTexts()).filter((t) => t.replace(/\s/g, "") === keys).length, 1, `${keys} is in the help`);
  await shot(page, "help");
  await page.keyboard.press("Escape");
  await page.keyboard.press("g");
  await page.keyboard.press("s");
  await page.locator(".pager").waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("j");
  await page.keyboard.press("k");
  await page.keyboard.press("Enter");
  await until("the first session", () => page.url().endsWith("/sessions/agent-run"));
  await page.locator("li.event").first().waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  await until("unfolded", async () => (await page.locator(`li.event ${DISPLAY} button`).first().getAttribute("aria-expanded")) === "true");
  await page.locator(".skip").press("Enter");
  assert.equal(await page.evaluate(() => document.activeElement.id), "main", "the link that skips the navigation does");
  await page.keyboard.press("]");
  await until("the next session", () => page.url().endsWith("/sessions/state-shown"));
  await page.keyboard.press("[");
  await until("the one before", () => page.url().endsWith("/sessions/agent-run"));
  await page.keyboard.press("/");
  await until("the search box", () => page.evaluate(() => document.activeElement?.matches("[data-search]")));
  await page.keyboard.type("policy j k ?");
  assert.equal(await page.inputValue("[data-search]"), "policy j k ?", "letters in a box are letters");
});

test("Back returns to the row that was opened", async ({ page }) => {
  await page.goto(`${few.root}/sessions`);
  await page.locator("tbody tr").nth(20).locator("a").focus();
  const at = () => page.evaluate(() => [document.activeElement.textContent, scrollY]);
  const [row, y] = await at();
  assert.ok(y > 300, "far below");
  await page.keyboard.press("Enter");
  await page.locator(".crumbs").waitFor();
  await page.goBack();
  await until("the row", async () => JSON.stringify(await at()) === JSON.stringify([row, y]));
}, { complaints: [/404/] }); // the history has no such session

test("letters stay in the search box whenever they are typed, and a link's words take their place", async ({ page }) => {
  await page.addInitScript(() => {
    // Types a letter in the frame in which the box appears, before any code that runs after the paint.
    new MutationObserver(() => {
      const box = document.querySelector("[data-search]");
      if (!box || box.dataset.typed) return;
      box.dataset.typed = "yes";
      box.value = "p";
      box.dispatchEvent(new Event("input", { bubbles: true }));
    }).observe(document, { childList: true, subtree: true });
  });
  await page.goto(`${few.root}/sessions`);
  const box = page.locator("[data-search]");
  await page.locator(".pager").waitFor();
  await until("it is looked for", () => page.url().endsWith("search=p"));
  assert.equal(await box.inputValue(), "p");
  await box.press("End");
  await page.keyboard.type("ool ");
  await until("the word is looked for", () => page.url().endsWith("search=pool"));
  await page.keyboard.type("size");
  await until("both are", () => page.url().endsWith("search=pool+size"));
  assert.equal(await box.inputValue(), "pool size");
  await page.locator('nav a[href="/sessions"]').click();
  await until("an address without words", async () => (await box.inputValue()) === "");
}, { ownTab: true });

test("the list of sessions shows the filters, order and page of its address", async ({ page }) => {
  await page.goto(`${few.root}/sessions?model=left-the-record&sort=started_at_us`);
  await loaded(page);
  const model = page.locator(".field", { hasText: /^Model/ }).locator("select");
  assert.ok(await model.isVisible());
  assert.equal(await model.inputValue(), "left-the-record");
  assert.match(await page.locator(".title").innerText(), /oldest first/);
  assert.match(await page.locator(".pager").innerText(), /Previous[\s\S]*Next/);
  await page.goto(`${few.root}/sessions?page=999`);
  await page.getByRole("link", { name: "Go to its first page" }).click();
  await until("the first page", async () => /1 to 25 of \d+ sessions/.test(await page.locator(".pager").innerText()));
  assert.ok(await page.locator("[data-search]").evaluate((box) => {
    const pen = document.createElement("canvas").getContext("2d"), style = getComputedStyle(box);
    pen.font = style.font;
    return pen.measureText(box.placeholder).width <= box.clientWidth - parseFloat(style.paddingLeft) - parseFloat(style.paddingRight);
  }), "the words in the search box are not cut");
}, NARROW);

test("Back undoes one choice at a time; what is typed at once is one choice", async ({ page }) => {
  const steps = () => page.evaluate(() => history.length);
  const back = async (search) => {
    await page.goBack();
    await until(`the address ${search}`, () => new URL(page.url()).search === search);
  };
  await page.goto(`${few.root}/sessions`);
  await loaded(page);
  const box = page.locator("[data-search]"), failed = page.getByRole("button", { name: "failed", exact: true });
  await failed.click();
  await until("the status", () => page.url().endsWith("?status=failed"));
  const before = await steps();
  await box.focus();
  for (const typed of ["p", "po", "pool"]) {
    await page.keyboard.type(typed.slice(-1));
    if (typed === "pool") await page.keyboard.press("Backspace");
    if (typed === "pool") await page.keyboard.type("ol");
    await until(typed, () => page.url().endsWith(`search=${typed}`));
  }
  assert.equal(await steps(), before + 1, "one step for all letters");
  await page.keyboard.press("Enter");
  await page.keyboard.type(" size");
  await until("more words", () => page.url().endsWith("search=pool+size"));
  assert.equal(await steps(), before + 2, "Enter ends the step");
  await back("?status=failed&search=pool");
  assert.equal(await box.inputValue(), "pool");
  await back("?status=failed");
  assert.equal(await box.inputValue(), "");
  assert.equal(await failed.getAttribute("aria-pressed"), "true");
  await back("");
  assert.equal(await failed.getAttribute("aria-pressed"), "false");
  for (const [path, choose, chosen] of [
    ["/", (p) => p.getByRole("button", { name: "by model" }).click(), "?by=model"],
    ["/decisions", (p) => p.getByRole("button", { name: "Tool calls" }).click(), "?kind=TOOL_CALL"],
    ["/system", (p) => p.getByLabel("defaults too").check(), "?defaults=true"],
  ]) {
    await page.goto(few.root + path);
    await loaded(page);
    await choose(page);
    await until(chosen, () => new URL(page.url()).search === chosen);
    await back("");
    assert.equal(new URL(page.url()).pathname, path);
  }
  // The arrow keys of a chart are one step, too.
  await page.goto(`${few.root}/`);
  await page.getByRole("slider", { name: "Calls: choose a time" }).press("End");
  await until("a time", () => /at=/.test(page.url()));
  const first = page.url(), charted = await steps();
  await page.keyboard.press("ArrowLeft");
  await until("another time", () => page.url() !== first);
  assert.equal(await steps(), charted);
  await back("");
});

async function checkNames(page, path) {
  const bad = await page.evaluate(() => [...document.querySelectorAll("button, a[href], input, select, textarea, [role=img]")].filter((e) => {
    const name = e.getAttribute("aria-label") || e.innerText || e.textContent || e.title || (e.labels?.length ? e.labels[0].textContent : "");
    return !name?.trim();
  }).map((e) => e.outerHTML.slice(0, 120)));
  assert.deepEqual(bad, [], path);
  assert.equal(await page.locator("h1").count(), 1, path);
  const ids = await page.evaluate(() => [...document.querySelectorAll("[id]")].map((e) => e.id));
  assert.equal(new Set(ids).size, ids.length, `${path}: an id twice`);
  assert.equal(await page.locator("nav [aria-current=page]").count(), 1, path);
}

// Two phones, a tablet, a screen; axe looks at screens in the dark theme.
const TABLET = { width: 820, height: 1100, dark: true, name: "dark-820" };
const SIZES = ALL_LOOKS.flatMap((look) => (look.width > NARROW.width && look.dark ? [TABLET] : [look]));

test("every control has a name, every page one heading; light and dark, wide and narrow nothing is wider than the page, and text can be read", async ({ page }) => {
  for (const [name, path] of Object.entries(PAGES)) {
    await page.goto(dev.root + path);
    await loaded(page);
    await eachLook(page, async (look) => {
      await shot(page, `${name}-${look.name}`);
      await checkNames(page, path);
      const zones = await page.locator("main").evaluate((main) => (main.querySelector("time") ? main.innerText.match(/Times are in [\w/]+/g)?.length : 1));
      assert.equal(zones, 1, `${path} names the zone of its times once`);
      assert.ok(!(await isTooWide(page)), `${name} is too wide, ${look.name}`);
      assert.deepEqual(await page.evaluate(contrast), [], `${name}, ${look.name}`);
    }, SIZES);
  }
}, NARROW);

// ---- the health of the record ----

const ILL = [["degraded", "the tables are behind: 637 MB in about 31022 records wait in the journal, the oldest for 42 s; new calls wait for them"], ["unhealthy", "the journal cannot be written: no space left on device <b>sda</b>"]];

for (const [status, why] of ILL)
  test(`a record that is ${status} has a banner on every page, light and dark, wide and narrow`, async ({ page }) => {
    dev.sendHealth(status, why);
    const banner = page.getByTestId("health-banner");
    try {
      for (const [name, path] of Object.entries(PAGES)) {
        await page.goto(dev.root + path);
        await banner.waitFor();
        assert.equal(await banner.getByRole("link", { name: "System" }).count(), path === "/system" ? 0 : 1, path);
        await loaded(page);
        await eachLook(page, async (look) => {
          assert.ok((await banner.innerText()).includes(`The record is ${status}: ${why}.`), await banner.innerText());
          await shot(page, `${status}-${name}-${look.name}`);
          assert.ok(!(await isTooWide(page)), `${name} is too wide, ${look.name}`);
          assert.deepEqual(await page.evaluate(contrast), [], `${name}, ${look.name}`);
        });
      }
    } finally {
      dev.sendHealth("healthy", "");
    }
    await until("the banner goes", async () => (await banner.count()) === 0);
  }, NARROW);

test("the banner is announced once, is reached with the keyboard, and follows the gateway", async ({ page }) => {
  await page.goto(`${dev.root}/sessions`);
  await page.locator(".pager").waitFor();
  await until("the channel", () => page.locator(".side .status.good").isVisible());
  const banner = page.getByTestId("health-banner");
  assert.equal(await banner.count(), 0);
  const said = page.locator('main > [role="status"]');
  assert.equal(await said.innerText(), "");
  dev.sendHealth("degraded", "12 records wait");
  await banner.getByText("12 records wait").waitFor();
  assert.equal(await said.innerText(), "The record is degraded.");
  const before = await said.evaluateHandle((e) => e.firstChild);
  dev.sendHealth("degraded", "13 records wait");
  await banner.getByText("13 records wait").waitFor();
  assert.ok(await said.evaluate((e, was) => e.firstChild === was && e.innerText === "The record is degraded.", before), "a new figure is not announced");
  await page.locator("main").focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await until("System", () => page.url().endsWith("/system"));
  await page.getByTestId("record").getByText("degraded").waitFor();
  dev.sendHealth("healthy", "");
  await page.getByTestId("record").getByText("healthy").waitFor();
  await until("the banner goes", async () => (await banner.count()) === 0);
  assert.equal(await said.innerText(), "");
});

test("a list that was not searched to its end says how far, and can look further back", async ({ page }) => {
  const us = Date.parse("2026-03-04T05:06:07Z") * 1000;
  few.state.searchedBack = us;
  try {
    for (const [path, list, lines] of [["/sessions?search=checkout", "sessions", 2], ["/sessions?search=nothinglikeit", "sessions", 2], ["/decisions?q=deploy", "decisions", 1]]) {
      await page.goto(few.root + path);
      const line = page.getByTestId("searched-back");
      await until("the lines", async () => (await line.count()) === lines);
      assert.match(await line.first().innerText(), /searched back to 4 Mar, \d\d:06:07; narrow the dates to look further, or look before that time\./);
      await shot(page, `searched-back-${list}`, { fullPage: true });
      const asked = page.waitForRequest((r) => r.url().includes(`/history/${list}?`) && r.url().includes(`end_date_us=${us}`));
      await line.first().getByRole("link").click();
      await asked;
      await page.getByRole("button", { name: /^until 4 Mar/ }).click();
      await until("all of the time again", () => !page.url().includes("until="));
    }
  } finally {
    few.state.searchedBack = null;
  }
  await page.goto(`${few.root}/sessions?search=checkout`);
  await page.locator(".hit").first().waitFor();
  assert.equal(await page.getByTestId("searched-back").count(), 0);
});

// Text whose contrast with its background is below 4.5.
function contrast() {
  const canvas = document.createElement("canvas").getContext("2d", { willReadFrequently: true });
  const known = new Map(); // cache: a page has a dozen colours and a thousand elements
  const rgb = (c) => {
    if (!known.has(c)) {
      canvas.clearRect(0, 0, 1, 1);
      canvas.fillStyle = c;
      canvas.fillRect(0, 0, 1, 1);
      known.set(c, canvas.getImageData(0, 0, 1, 1).data);
    }
    return known.get(c);
  };
  const light = ([r, g, b]) => [r, g, b].map((v) => (v / 255 <= 0.04045 ? v / 255 / 12.92 : ((v / 255 + 0.055) / 1.055) ** 2.4)).reduce((a, v, i) => a + v * [0.2126, 0.7152, 0.0722][i], 0);
  const behind = (e) => {
    for (; e; e = e.parentElement) {
      const c = rgb(getComputedStyle(e).backgroundColor);
      if (c[3] > 200) return c;
    }
    return [255, 255, 255];
  };
  const out = new Set();
  for (const e of document.querySelectorAll("main *, aside *")) {
    const own = [...e.childNodes].some((n) => n.nodeType === 3 && n.textContent.trim());
    if (!own || !e.checkVisibility({ opacityProperty: true, visibilityProperty: true }) || e.closest(":disabled, .unseen, [aria-hidden=true], select")) continue;
    const a = light(rgb(getComputedStyle(e).color)) + 0.05, b = light(behind(e)) + 0.05;
    const ratio = Math.max(a, b) / Math.min(a, b);
    if (ratio < 4.5) out.add(`${e.tagName}.${e.className}: ${ratio.toFixed(2)}`);
  }
  return [...out];
}

test("the colours are as one chooses, and stay", async ({ page }) => {
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  await page.goto(`${dev.root}/`);
  const light = await ground();
  await page.getByRole("button", { name: "Theme: system" }).click();
  assert.equal(await ground(), light);
  await page.getByRole("button", { name: "Theme: light" }).click();
  const dark = await ground();
  assert.notEqual(dark, light);
  await page.reload();
  await page.getByRole("button", { name: "Theme: dark" }).waitFor();
  assert.equal(await ground(), dark);
});

test("a page without data says what to do next", async ({ page }) => {
  const next = { "/": "Live page", "/live": "curl ", "/sessions": "curl ", "/decisions": "Live page", "/agents": "agents:", "/reasoning": "x-rationale-level", "/keys": "rationale keys new", "/providers": "providers:" };
  for (const [path, words] of Object.entries(next)) {
    await page.goto(bare.root + path);
    await page.locator(".empty").first().waitFor();
    assert.ok((await page.locator(".empty").first().innerText()).includes(words), path);
  }
  await page.goto(`${bare.root}/sessions/nobody`);
  await page.getByText("there is nothing of that name").waitFor();
  await page.goto(`${bare.root}/`);
  await shot(page, "empty");
}, { complaints: [/404/] });

// What the gateway answers, and what the page must say about it.
const FAILURES = {
  "no answer": [(r) => r.abort(), "rationale serve"],
  "not allowed": [(r) => r.fulfill({ status: 403, json: { detail: { error: "forbidden", message: "not for this key" } } }), "the key of an operator"],
  "an error": [(r) => r.fulfill({ status: 500, json: { detail: { error: "internal", message: "the disk is full" } } }), "log has the cause"],
};

for (const [name, [answer, advice]] of Object.entries(FAILURES))
  test(`after ${name} every page says what is wrong and what to do, and claims nothing else`, async ({ page }) => {
    await page.route(/\/api\/v1\//, answer);
    for (const path of [...Object.values(PAGES), "/runs/nothing", "/agents/nothing", "/incidents", "/policy", "/orders", "/optimize"]) {
      await page.goto(dev.root + path);
      await page.locator(".problem").first().waitFor();
      const words = await page.locator("main").innerText();
      assert.ok(words.includes(advice), `${path}: ${words}`);
      assert.doesNotMatch(words, /Nothing (waits|runs)/, path);
    }
    if (name !== "not allowed") return;
    await page.getByRole("button", { name: "Use another key" }).first().click();
    await page.locator("#key-form").waitFor();
  }, { complaints: [/Failed to load/, /ERR_FAILED/, /status of/] });

// ---- a gateway that stops ----

test("while the gateway is down every page says so and keeps what it has, and goes on by itself when it is back", async ({ page }) => {
  let gateway = await start({ total: 300 });
  const { root } = gateway, port = Number(new URL(root).port);
  const banner = page.getByTestId("down-banner");
  const open = (name) => page.locator("nav").getByRole("link", { name, exact: true }).click();
  const rows = page.locator("tbody tr");
  try {
    await page.goto(`${root}/`);
    await page.locator(".charts").waitFor();
    await page.evaluate(() => (window.mark = "the same page"));
    await open("Live");
    await page.fill("#prompt", "half a question");
    await open("Sessions");
    await rows.nth(5).waitFor();
    await until("the socket", () => page.locator(".side .status.good").isVisible());
    await gateway.stop();
    await banner.getByText(/^The gateway has not answered since \d\d:\d\d:\d\d\.$/).waitFor();
    const words = await banner.innerText();
    assert.ok((await rows.count()) > 5, "the list is still there");
    await eachLook(page, async (look) => {
      assert.deepEqual(await page.evaluate(contrast), [], look.name);
      assert.ok(!(await isTooWide(page)), look.name);
      await shot(page, `down-${look.name}`);
    }, [ALL_LOOKS[0], TABLET]);
    await open("Live");
    await page.getByRole("button", { name: "Ask", exact: true }).click();
    await page.getByText("Check that it runs, then ask again.").waitFor();
    assert.equal(await page.inputValue("#prompt"), "half a question");
    await open("Overview");
    await page.locator("main .problem").first().waitFor();
    await open("Decisions"); // its file was never loaded
    await page.getByRole("heading", { name: "This page could not be loaded" }).waitFor();
    assert.equal(await banner.innerText(), words, "on every page, and announced once");
    gateway = await start({ total: 300, port });
    await until("the banner goes", async () => (await banner.count()) === 0);
    await page.locator(".entry").first().waitFor();
    await open("Overview");
    await page.locator(".charts").waitFor();
    await open("Live");
    assert.equal(await page.inputValue("#prompt"), "half a question");
    assert.equal(await page.evaluate(() => window.mark), "the same page");
  } finally {
    await gateway.stop().catch(() => undefined);
  }
}, { complaints: [/WebSocket/, /ERR_/, /Failed to load/] });

test("a login that a restart has ended is asked for again, with what was typed", async ({ page }) => {
  await page.goto(`${keyed.root}/live`);
  await page.fill("#key", "sk-good");
  await page.click("#key-form button");
  await page.fill("#prompt", "half a question");
  await page.context().clearCookies(); // as if the gateway did not know the cookie any more
  keyed.drop();
  await page.getByText("Your login has ended").waitFor();
  await page.fill("#key", "sk-good");
  await page.click("#key-form button");
  await until("the words", async () => (await page.inputValue("#prompt")) === "half a question");
}, { complaints: [/401/, /WebSocket/] });

// ---- narrow ----

test("no label is broken in the middle of a word", async ({ page }) => {
  await page.goto(dev.root + PAGES.system);
  await page.locator(".facts-list dt").first().waitFor();
  await until("data", async () => (await page.locator(".loading").count()) === 0);
  const broken = await page.evaluate(() => [...document.querySelectorAll(".facts-list dt")].flatMap((label) => {
    const text = label.firstChild, range = document.createRange();
    return [...text.data.matchAll(/\S+/g)].filter((word) => {
      range.setStart(text, word.index);
      range.setEnd(text, word.index + word[0].length);
      return range.getClientRects().length > 1;
    }).map((word) => word[0]);
  }));
  assert.deepEqual(broken, []);
  assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth));
  assert.deepEqual(await page.locator(".config .main").evaluateAll((all) => all.filter((e) => e.offsetHeight > 40).map((e) => e.innerText)), [], "names of settings in one line");
  await page.goto(`${dev.root}/sessions/state-cut`);
  const head = page.locator(`${DISPLAY} .reasoning-head`);
  await head.waitFor();
  const [sign, words] = await head.evaluate((e) => [".chevron", ".words"].map((name) => e.querySelector(name).getBoundingClientRect()));
  assert.ok(sign.bottom > words.top, "the words are beside their sign");
  await page.goto(`${dev.root}/decisions`);
  await page.locator(".entry .chip").first().waitFor();
  assert.ok(await page.locator(".entry .chip").evaluateAll((all) => all.every((e) => e.offsetHeight >= 24)), "a finger finds the tools");
}, { width: 360 });

await finish(() => Promise.all([dev, few, keyed, bare].map((s) => s.stop())));
