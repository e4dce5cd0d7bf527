// demo.test.mjs - the demo as a new user sees it: its questions, asked from the Live page.
// SPDX-License-Identifier: Apache-2.0
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { assert, finish, json, shot, test, until } from "./kit.mjs";

const root = process.env.DASH_DEMO;
const DISPLAY = '[data-testid="reasoning-display"]';
const questions = JSON.parse(readFileSync(new URL("../../example/demo/questions.json", import.meta.url), "utf8"));
const QUIET = [/501.*\/generate/];
const settled = (card) => until("the end", async () => (await card.getAttribute("aria-busy")) === "false", 60_000);

async function choose(page, id) {
  await page.goto(`${root}/live`);
  await page.locator("#questions button").first().waitFor();
  assert.equal(await page.locator("#questions button").count(), questions.length);
  const before = await page.locator("article.call").evaluateAll((all) => all.map((e) => e.dataset.call));
  await page.locator("#questions button").nth(questions.findIndex((q) => q.id === id)).click();
  return until("a new call", async () => {
    const now = await page.locator("article.call").evaluateAll((all) => all.map((e) => e.dataset.call));
    const fresh = now.find((c) => !before.includes(c));
    return fresh && page.locator(`article.call[data-call="${fresh}"]`);
  });
}

test("a question of the demo thinks before one's eyes, then answers", async ({ page }) => {
  const card = await choose(page, "incident");
  await until("thinking", async () => /Thinking… \d+ s/.test(await card.innerText()));
  await until("its words", async () => /waiting instead/.test(await card.locator(".stream.reasoning").innerText()));
  await shot(page, "demo-thinking");
  await until("the answer", async () => /Roll back/.test(await card.innerText()), 60_000);
  assert.match(await card.locator(DISPLAY).innerText(), /Thought for \d+ m?s · 190 tokens · 74 % of cap/);
  await settled(card);
  assert.equal(await card.locator(`${DISPLAY} button`).first().getAttribute("aria-expanded"), "false");
  await card.locator(`${DISPLAY} button`).first().click();
  assert.match(await card.innerText(), /Little's law/);
  await shot(page, "demo-answered");
  assert.equal(await page.locator("article.call").count(), 1, "asked here and told live is one call, not two");
  const id = await card.getAttribute("data-call");
  await card.getByRole("link", { name: "Open" }).click();
  await page.locator(`li.event[id="${id}"]`).waitFor();
  const kept = page.locator(`li.event[id="${id}"] ${DISPLAY}`);
  assert.equal(await kept.getAttribute("data-state"), "shown");
  await kept.locator("button").first().click();
  assert.match(await kept.innerText(), /Little's law/);
  await shot(page, "demo-session");
  await page.locator("aside nav a", { hasText: "Decisions" }).click();
  await page.locator(`.why[href$="#${id}"]`).waitFor();
  await shot(page, "demo-decisions");
});

test("on a small budget it is cut, and says so", async ({ page }) => {
  const card = await choose(page, "budget");
  await settled(card);
  assert.match(await card.innerText(), /128 tokens · stopped at the cap of 128/);
  assert.equal(await card.locator(DISPLAY).getAttribute("data-state"), "cut");
}, { complaints: QUIET, width: 390, dark: true });

test("a tool it asks for is shown", async ({ page }) => {
  const card = await choose(page, "order");
  await settled(card);
  assert.match(await card.innerText(), /change_address/);
  assert.match(await card.innerText(), /Graz/);
}, { complaints: QUIET, width: 390 });

test("what was not recorded is refused in words that help", async ({ page }) => {
  await page.goto(`${root}/live`);
  await page.locator("#questions button").first().waitFor();
  await page.fill("#prompt", "Hello?");
  await page.keyboard.press("Enter");
  await until("why", async () => /no recording of this request/.test(await page.locator("main").innerText()));
  assert.match(await page.locator("#ask .problem").innerText(), /choose one of the questions above/);
}, { complaints: QUIET });

test("the command to copy works as it is pasted", async ({ page }) => {
  await page.goto(`${root}/live`);
  await page.locator("#questions button").first().waitFor();
  const line = await until("the command", async () => {
    const text = await page.locator("pre.code").first().innerText({ timeout: 500 }).catch(() => "");
    return text.includes(questions[0].model) && text;
  }, 60_000);
  const { stdout } = await promisify(execFile)("sh", ["-c", line]);
  assert.match(stdout, /"finish_reason":"stop"/);
  assert.doesNotMatch(stdout, /no_recording/);
}, { complaints: QUIET });

// ---- prepared data of the demo ----

test("an incident: its stages, its report, how it was decided", async ({ page }) => {
  await page.goto(`${root}/incidents`);
  await page.locator("table.rows a[data-item]", { hasText: "PodCrashLooping" }).first().click();
  await page.locator("main h1", { hasText: "PodCrashLooping" }).waitFor();
  await page.getByText("db-primary.shop.svc").first().waitFor();
  assert.match(await page.locator(".stages").innerText(), /PodAgent[\s\S]*done/);
  await until("its calls", async () => (await page.locator("li.event").count()) >= 4);
  await page.locator("li.event", { hasText: "example-thinker" }).first().waitFor();
  await shot(page, "demo-incident", { fullPage: true });
  await page.getByRole("textbox", { name: "Question" }).fill("Which change caused it, and who made it?");
  await page.getByRole("button", { name: "Ask" }).click();
  await until("an answer", async () => /deploy-bot/.test(await page.locator(".talk").innerText()), 60_000);
});

test("a verdict: its section, its evidence, its steps", async ({ page }) => {
  await page.goto(`${root}/policy`);
  const verdict = page.locator(".verdict").first();
  await verdict.waitFor();
  assert.match(await verdict.innerText(), /met[\s\S]*conservative_treatment[\s\S]*Clinical requirements > Conservative treatment/);
  await verdict.getByText("How it was decided").click();
  await verdict.getByText("searched the policy").first().waitFor();
  await page.getByRole("heading", { name: "Lumbar Spine MRI Coverage" }).waitFor();
  await page.getByRole("button", { name: "Version 2026.1" }).click();
  await page.locator(".tree code").first().waitFor();
  await shot(page, "demo-policy", { fullPage: true });
  await page.getByRole("button", { name: "50 %" }).click();
  await until("it holds at once", async () => (await (await fetch(`${root}/api/v1/policy/rollout`)).json()).react_ab_test_ratio === 0.5);
  await until("and is shown", async () => (await page.getByRole("button", { name: "50 %" }).getAttribute("aria-pressed")) === "true");
});

test("an order: what was said, what is on it, and why", async ({ page }) => {
  await page.goto(`${root}/orders`);
  await page.locator("a[data-item]", { hasText: "demo" }).first().click();
  await page.locator(".ticket li").first().waitFor();
  assert.equal(await page.locator(".ticket li").count(), 3);
  assert.match(await page.locator(".ticket").innerText(), /finalised[\s\S]*Smokehouse Burger[\s\S]*13\.80/);
  assert.match(await page.locator(".dialogue").innerText(), /Wonderful, thank you/);
  assert.doesNotMatch(await page.locator(".dialogue").innerText(), /think>/);
  await until("why", async () => /add_item_to_order/.test(await page.locator(".decided").allInnerTexts()));
  await shot(page, "demo-order", { fullPage: true });
});

test("the address of a run leads to the page of its application", async ({ page }) => {
  const { runs } = await json(`${root}/api/v1/runs`);
  const places = { incidents: "/incidents/", orders: "/orders/", policy: "/sessions/policy-" };
  for (const [app, place] of Object.entries(places)) {
    const run = runs.find((r) => r.app === app);
    await page.goto(`${root}/runs/${encodeURIComponent(run.run_id)}`);
    await until(place, async () => page.url().startsWith(root + place));
    await until("it is there", async () => !(await page.locator(".loading, [role=alert]").count()));
  }
}, { complaints: [/404.*\/api\/v1\/runs\/.*\/events/] }); // no agent has this run

test("the address of a run of an order whose id has a slash leads to the order", async ({ page }) => {
  const [text] = JSON.parse(readFileSync(new URL("../../example/demo/tour.json", import.meta.url), "utf8")).order;
  const said = await fetch(`${root}/api/v1/orders/lane%2F1/say`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ text }) });
  assert.equal(said.status, 200);
  await page.goto(`${root}/runs/${encodeURIComponent("orders:lane/1")}`);
  await until("the order", async () => page.url() === `${root}/orders/lane%2F1`);
  await page.locator(".dialogue > li.customer").first().waitFor();
}, { complaints: [/404.*\/api\/v1\/runs\/.*\/events/] });

// Takes an order; returns the partial texts of the last answer that were displayed before it was complete.
async function takeOrder(page, said) {
  await page.goto(`${root}/orders`);
  await page.getByRole("button", { name: "Take an order" }).click();
  await page.locator(".menu li").first().waitFor();
  await page.locator(".menu li button", { hasText: "Falafel Wrap" }).click();
  const box = page.getByRole("textbox", { name: "What the customer says" });
  await until("its words", async () => (await box.inputValue()) === "One Falafel Wrap, please");
  for (const [i, text] of said.entries()) {
    await box.fill(text);
    await page.keyboard.press("Enter");
    await page.locator(".dialogue > li.customer").nth(i).waitFor();
    await until("the end", async () => (await page.locator(".dialogue [aria-busy=true]").count()) === 0 && (await box.isEnabled()));
  }
  const words = (await page.locator(".dialogue > li.counter p").last().innerText()).trim();
  return (await page.evaluate(() => [...window.seen])).filter((s) => s && s !== words && words.startsWith(s));
}

test("an order taken here: words come as they are said, and the ticket grows", async ({ page }) => {
  const said = JSON.parse(readFileSync(new URL("../../example/demo/tour.json", import.meta.url), "utf8")).order.slice(0, 2);
  await page.addInitScript(() => {
    // Records the text after every change; polling from outside would miss some.
    window.seen = new Set();
    new MutationObserver(() => {
      const last = [...document.querySelectorAll(".dialogue > li.counter p")].at(-1);
      if (last) window.seen.add(last.innerText.trim());
    }).observe(document, { childList: true, characterData: true, subtree: true });
  });
  let parts = [];
  for (let tries = 0; tries < 5 && !parts.length; tries++) parts = await takeOrder(page, said); // a slow page may draw all at once
  assert.ok(parts.length, "never a part of an answer");
  assert.equal(await page.locator(".ticket li").count(), 3);
  assert.equal(await page.locator(".dialogue > li.customer").count(), 2);
  assert.ok((await page.locator(".decided").count()) >= 3);
  await shot(page, "demo-order-taken");
}, { ownTab: true, complaints: [/404.*\/api\/v1\/orders\//] }); // the order does not exist yet

for (const [path, dark] of [["incidents", true], ["policy", false], ["orders/demo", true], ["optimize", false]])
  test(`${path} fits a phone`, async ({ page }) => {
    await page.goto(`${root}/${path}`);
    await page.locator("main h1").waitFor();
    await until("it is there", async () => !(await page.locator(".loading").count()));
    assert.ok(await page.evaluate(() => document.documentElement.scrollWidth <= innerWidth), "no sideways scrolling");
    await shot(page, `demo-${path.replace("/", "-")}-360`);
  }, { width: 360, dark });

await finish();
