// demo.test.mjs - what a newcomer meets: the demo's questions, asked from the Live page. SPDX-License-Identifier: Apache-2.0
import { readFileSync } from "node:fs";
import { assert, finish, shot, test, until } from "./kit.mjs";

const root = process.env.DASH_DEMO;
const DISPLAY = '[data-testid="reasoning-display"]';
const questions = JSON.parse(readFileSync(new URL("../../example/demo/questions.json", import.meta.url), "utf8"));
const QUIET = [/501.*\/generate/];
const settled = (card) => until("the end", async () => (await card.getAttribute("aria-busy")) === "false", 60_000);

async function choose(page, id) {
  await page.goto(`${root}/`);
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
  assert.match(await card.locator(DISPLAY).innerText(), /Thought for \d+ s · 190 tokens · 74 % of cap/);
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
  await page.goto(`${root}/`);
  await page.locator("#questions button").first().waitFor();
  await page.fill("#prompt", "Hello?");
  await page.keyboard.press("Enter");
  await until("why", async () => /no recording of this request/.test(await page.locator("main").innerText()));
  assert.match(await page.locator("#ask .problem").innerText(), /choose one of the questions above/);
}, { complaints: QUIET });

await finish();
