// shots.mjs - the pictures of docs/reference/dashboard.md, taken of a demo: node dev/shots.mjs ROOT OUT
// With paths after it, each of these pages in both themes, wide and narrow: node dev/shots.mjs ROOT OUT / /sessions
// SPDX-License-Identifier: Apache-2.0
import { chromium } from "playwright-core";

const [root, out, ...paths] = process.argv.slice(2);
const browser = await chromium.launch({ executablePath: process.env.CHROMIUM ?? "/usr/bin/chromium", args: ["--no-sandbox", "--disable-gpu"] });
const open = async (width, height, colorScheme) => (await browser.newContext({ viewport: { width, height }, colorScheme })).newPage();
const shot = (page, name) => page.screenshot({ path: `${out}/${name}.png` });

if (paths.length) {
  for (const [width, height] of [[1280, 860], [390, 844]])
    for (const theme of ["light", "dark"]) {
      const page = await open(width, height, theme);
      for (const path of paths) {
        await page.goto(root + path);
        await page.locator("h1").first().waitFor();
        await page.waitForLoadState("networkidle");
        await shot(page, `${path.replace(/\W+/g, "-").slice(1) || "overview"}-${width}-${theme}`);
      }
    }
  await browser.close();
  process.exit();
}

const page = await open(1120, 760, "light");
await page.goto(`${root}/live`);
await page.locator("#questions button").nth(2).waitFor();
for (const n of [1, 2, 3, 0]) {
  await page.locator("#questions button").nth(n).click();
  await page.locator("article.call .stream.reasoning:not(:empty)").first().waitFor();
  await page.waitForTimeout(n ? 500 : 3500);
  if (n === 0) await shot(page, "page");
  await page.locator('article.call[aria-busy="false"]').first().waitFor({ timeout: 60_000 });
  await page.waitForFunction(() => !document.querySelector('article.call[aria-busy="true"]'), null, { timeout: 60_000 });
}
await page.locator("article.call").first().getByRole("link", { name: "Open" }).click();
await page.locator("li.event").first().waitFor();
await page.locator(".reasoning-head").first().click();
await page.evaluate(() => window.scrollTo(0, 0));
await page.waitForTimeout(400);
await shot(page, "dashboard-session");
const dark = await open(1120, 620, "dark");
await dark.goto(`${root}/reasoning`);
await dark.locator("tbody tr").first().waitFor();
await dark.waitForTimeout(300);
await shot(dark, "dashboard-reasoning");
const narrow = await open(360, 740, "dark");
await narrow.goto(`${root}/decisions`);
await narrow.locator(".entry").first().waitFor();
await narrow.waitForTimeout(300);
await shot(narrow, "dashboard-decisions");
await browser.close();
