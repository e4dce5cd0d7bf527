// manual.test.mjs - the manual at /docs: reached from the dashboard, searched, in both themes. SPDX-License-Identifier: Apache-2.0
import { assert, finish, shot, test, until } from "./kit.mjs";

const root = process.env.DASH_DEMO;
const results = (page) => page.locator("#found a");

test("the dashboard leads to the manual, and a search to a section of it", async ({ page }) => {
  await page.goto(`${root}/`);
  await page.getByRole("link", { name: "Manual" }).click();
  await page.getByRole("heading", { level: 1, name: "The manual of Rationale" }).waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("retention age");
  await until("results", async () => (await results(page).count()) > 0);
  await shot(page, "manual-search");
  const first = results(page).first();
  const target = await first.getAttribute("href");
  await page.keyboard.press("Enter");
  await until("the section", async () => page.url() === root + target);
  assert.match(await page.locator("main").innerText(), /retention/);
  assert.equal(await page.locator("nav a[aria-current=page]").count(), 1);
});

test("a search without a hit says so, and Escape closes it", async ({ page }) => {
  await page.goto(`${root}/docs/reference/gateway`);
  await page.locator("#search").fill("zebra crossing");
  await until("the sentence", async () => /Nothing in the manual has all words of “zebra crossing”/.test(await page.locator("#found").innerText()));
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#found").isVisible(), false);
});

test("the theme is the dashboard's", async ({ page }) => {
  await page.goto(`${root}/docs/reference/gateway`);
  const ground = () => page.evaluate(() => getComputedStyle(document.body).backgroundColor);
  const light = await ground();
  await page.locator("#theme").click();
  await page.locator("#theme").click();
  assert.equal(await page.locator("#theme").innerText(), "Dark");
  assert.notEqual(await ground(), light);
  await page.goto(`${root}/system`);
  await page.locator("aside").waitFor();
  assert.equal(await page.evaluate(() => document.documentElement.dataset.theme), "dark");
});

test("on a phone no page is wider than the screen", async ({ page }) => {
  await page.goto(`${root}/docs`);
  const pages = await page.locator("nav a").evaluateAll((all) => all.map((a) => a.getAttribute("href")));
  assert.ok(pages.length > 20);
  for (const path of pages) {
    await page.goto(root + path);
    const wide = await page.evaluate(() => document.documentElement.scrollWidth - innerWidth);
    assert.ok(wide <= 0, `${path} is ${wide} px too wide`);
  }
  await shot(page, "manual-phone");
}, { width: 360, dark: true });

await finish();
