// kit.mjs - tests in a browser: each starts with an empty tab and empty storage, and fails if the page
// reports an error, throws, or sends a request to another server.
//
//     test("what it claims", async ({ page, root }) => { ... });
//     test("...", async (t) => { ... }, { width: 360, dark: true, complaints: [/a pattern/] });
//     test("...", async (t) => { ... }, { ownTab: true }); // for init scripts: a tab keeps them
//     await finish();
//
// With BROWSER_SLOW=N in the environment the browser computes N times slower, and each reply of the server is
// delayed: a test that passes then does not depend on the machine's load.
//
// SPDX-License-Identifier: Apache-2.0
import assert from "node:assert/strict";
import { existsSync, readFileSync } from "node:fs";
import { chromium } from "../../dashboard/node_modules/playwright-core/index.mjs";

export { assert };
export const PATIENCE = 60_000; // allows for a busy machine; tests of speed have limits of their own
const tests = [];
const words = process.argv.slice(2);
const shots = process.env.ARTEFACTS ?? "/tmp";
const slow = Number(process.env.BROWSER_SLOW ?? 1);

export function test(name, run, options = {}) {
  tests.push({ name, run, options });
}

const picture = (page, name, options) => page.screenshot({ path: `${shots}/${name}.png`, ...options });
// A screenshot for people, with BROWSER_SHOTS=1. No test uses them, and drawing all takes a fifth of the
// time.
export const shot = (...args) => (process.env.BROWSER_SHOTS ? picture(...args) : undefined);
export const sleep = (ms) => new Promise((r) => setTimeout(r, ms));

// Both themes at both widths. A test that should load its pages at the narrow width has the options NARROW.
export const LOOKS = [[360, false], [360, true], [1280, true], [1280, false]].map(([width, dark]) => ({ width, dark, height: width === 360 ? 740 : 860, name: `${dark ? "dark" : "light"}-${width}` }));
export const NARROW = { width: LOOKS[0].width, height: LOOKS[0].height };

// Runs f in each look of the open page, and then restores the light theme and the width. Reloading the page
// for each look would take most of the time.
export async function eachLook(page, f, looks = LOOKS) {
  const before = page.viewportSize();
  for (const look of looks) {
    await page.setViewportSize({ width: look.width, height: look.height });
    await page.emulateMedia({ colorScheme: look.dark ? "dark" : "light" });
    await settled(page);
    await f(look);
  }
  await page.setViewportSize(before);
  await page.emulateMedia({ colorScheme: "light" });
}

// Charts are redrawn in the frame after a change of width, and a fading colour is not final yet.
async function settled(page) {
  await page.evaluate(() => new Promise((r) => requestAnimationFrame(() => requestAnimationFrame(r))));
  await until("the end of the animations", () => page.evaluate(() => document.getAnimations().every((a) => a.effect.getComputedTiming().endTime === Infinity)));
}

// Waits until the page has its heading and all of its data.
export async function loaded(page) {
  await page.locator("main h1").waitFor();
  await until("data", async () => (await page.locator(".loading").count()) === 0);
}

export const isTooWide = (page) => page.evaluate(() => document.documentElement.scrollWidth > innerWidth);

const axe = readFileSync(new URL("../../dashboard/node_modules/axe-core/axe.min.js", import.meta.url), "utf8");

// The violations that axe finds, as text.
export async function faults(page) {
  await settled(page);
  if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axe);
  return page.evaluate(async () => (await window.axe.run(document, { resultTypes: ["violations"] })).violations.map((v) => `${v.id}: ${v.nodes.slice(0, 4).map((x) => `${x.target.join(" ")} ${x.any[0]?.message ?? ""}`).join(", ")}`));
}

// A promise that a test resolves with open().
export function gate() {
  let open;
  const opened = new Promise((r) => (open = r));
  return { opened, open };
}

// Waits until the function returns a true value; on a time-out reports the last error or value.
export async function until(what, f, ms = PATIENCE) {
  const end = Date.now() + ms;
  let last;
  while (Date.now() < end) {
    try {
      last = await f();
      if (last) return last;
    } catch (e) {
      last = e;
    }
    await sleep(40);
  }
  throw new Error(`${what} did not come; last: ${String(last?.message ?? last)}`);
}

// Waits until f's assertions pass: a page draws events with a delay.
export const holds = (what, f) => until(what, async () => {
  await f();
  return true;
});

export async function json(url, init) {
  const reply = await fetch(url, init);
  assert.ok(reply.ok, `${url}: ${reply.status} ${await reply.clone().text()}`);
  return reply.json();
}

// A call through the gateway; reads the whole reply.
export async function call(root, model, { session, key, stream = true, said = `question of ${model}`, show = false, tools, effort = "low" } = {}) {
  const reply = await fetch(`${root}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", ...(session && { "x-rationale-session": session }), ...(key && { authorization: `Bearer ${key}` }), ...(show && { "x-rationale-reasoning": "show" }) },
    body: JSON.stringify({ model, stream, reasoning_effort: effort, messages: [{ role: "user", content: said }], ...(tools && { tools }) }),
  });
  const id = reply.headers.get("x-rationale-id");
  const text = await reply.text().catch(() => "");
  return { status: reply.status, id, text };
}

// Waits until so many calls of the session are recorded and none is running: a reply ends before its record
// is complete.
export const recorded = (root, session, { calls = 1, key } = {}) => until(`the record of ${session}`, async () => {
  const { status, llm_interaction_count } = await json(`${root}/api/v1/history/sessions/${session}`, key && { headers: { authorization: `Bearer ${key}` } });
  return status !== "in_progress" && llm_interaction_count >= calls;
});

export const WEATHER = [{ type: "function", function: { name: "get_weather", parameters: { type: "object", properties: { city: { type: "string" } } } } }];

async function openTab(browser) {
  const context = await browser.newContext({ permissions: ["clipboard-read", "clipboard-write"] });
  const page = await context.newPage();
  page.setDefaultTimeout(PATIENCE);
  return { context, page, devtools: await context.newCDPSession(page) };
}

// Resets the tab: empty, without listeners, routes, cookies and storage. A new tab for each test would start
// three processes.
async function cleanTab({ context, page, devtools }, asked) {
  for (const event of ["console", "pageerror", "request", "response", "dialog"]) page.removeAllListeners(event);
  await page.unrouteAll({ behavior: "ignoreErrors" });
  await page.goto("about:blank");
  await page.mouse.move(0, 0);
  const origins = [...asked].map((u) => new URL(u)).filter((u) => u.protocol === "http:").map((u) => u.origin);
  for (const origin of new Set(origins)) await devtools.send("Storage.clearDataForOrigin", { origin, storageTypes: "all" });
  await context.clearCookies();
}

async function one(tab, t) {
  const { width = 1280, height = 860, dark = false, complaints = [] } = t.options;
  const { context, page } = tab;
  const said = [], asked = new Set();
  await page.setViewportSize({ width, height });
  await page.emulateMedia({ colorScheme: dark ? "dark" : "light" });
  page.on("console", (m) => ["error", "warning"].includes(m.type()) && said.push(`${m.text()} ${m.location().url}`));
  page.on("pageerror", (e) => said.push(String(e.stack ?? e)));
  page.on("request", (r) => asked.add(r.url()));
  page.on("dialog", (d) => {
    said.push(`a dialog: ${d.message()}`);
    void d.dismiss();
  });
  await slowDown(tab);
  try {
    await t.run({ page, context, said, asked });
    const bad = said.filter((s) => !complaints.some((c) => c.test(s)));
    assert.deepEqual(bad, [], "the page complained");
    const hosts = [...asked].map((u) => new URL(u)).filter((u) => !["127.0.0.1"].includes(u.hostname) && u.protocol !== "data:" && u.protocol !== "about:");
    assert.deepEqual(hosts.map(String), [], "the page asked somebody else");
  } catch (e) {
    await picture(page, `failed-${t.name.replace(/\W+/g, "-").slice(0, 60)}`).catch(() => undefined);
    throw e;
  }
  await cleanTab(tab, asked);
}

// Simulates a busy machine: slower, with replies delayed by varying times.
async function slowDown({ page, devtools }) {
  if (slow <= 1) return;
  await devtools.send("Emulation.setCPUThrottlingRate", { rate: slow });
  await page.route("**/api/**", async (route) => {
    await sleep(Math.random() * 100 * slow);
    await route.fallback().catch(() => undefined); // the page may have closed
  });
}

export async function finish(after) {
  const chosen = tests.filter((t) => !words.length || words.some((w) => t.name.includes(w)));
  const path = process.env.CHROMIUM || ["/usr/bin/chromium", "/usr/bin/chromium-browser"].find(existsSync);
  const browser = await chromium.launch({ executablePath: path, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking", "--disable-component-update"] });
  const failed = [];
  let tab = null;
  console.log(`[==========] Running ${chosen.length} test(s).`);
  for (const t of chosen) {
    const from = Date.now();
    if (t.options.ownTab) await tab?.context.close();
    if (t.options.ownTab || !tab) tab = await openTab(browser);
    let again = false; // whether the next test can reuse the tab
    try {
      await one(tab, t);
      again = !t.options.ownTab;
      console.log(`[       OK ] ${t.name} (${Date.now() - from} ms)`);
    } catch (e) {
      failed.push(t.name);
      console.log(`[  FAILED  ] ${t.name}\n${String(e.stack ?? e)}`);
    }
    if (!again) {
      await tab.context.close();
      tab = null;
    }
  }
  await browser.close();
  await after?.();
  console.log(`[  PASSED  ] ${chosen.length - failed.length} test(s).`);
  if (failed.length) console.log(`[  FAILED  ] ${failed.length} test(s), listed below:\n${failed.join("\n")}`);
  process.exit(failed.length ? 1 : 0);
}
