// measure.mjs - run by tools/check-pages: the time until each page is usable, and the frames dropped while it
// scrolls. SPDX-License-Identifier: Apache-2.0
import { chromium } from "../../dashboard/node_modules/playwright-core/index.mjs";

const { CHROMIUM, DASH_ROOT: root, REPORT } = process.env;
const TRIES = 6, READY_MS = 1000, SCROLLED_PX = 12_000, FRAME_MS = 1000 / 60;
const PAGES = [
  ["/", "table.rows tbody tr"], ["/sessions", "tbody tr"], ["/decisions", ".entry"], ["/reasoning", "tbody tr"],
  ["/sessions/long", "li.event"], ["/sessions/huge", "li.event", ".reasoning-head"],
];

const browser = await chromium.launch({ executablePath: CHROMIUM, args: ["--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--disable-background-networking"] });
const page = await (await browser.newContext({ viewport: { width: 1280, height: 860 } })).newPage();

// Waits until the page shows its main content and the main thread accepts input: a frame after the last long
// task.
async function ready(path, selector) {
  await page.goto("about:blank");
  await page.goto(root + path, { waitUntil: "commit" });
  return page.evaluate((wanted) => new Promise((done) => {
    setTimeout(() => done(Infinity), 20_000);
    const look = () => (document.querySelector(wanted) ? requestAnimationFrame(() => setTimeout(() => done(performance.now()), 0)) : requestAnimationFrame(look));
    look();
  }), selector);
}

// The number of frames that were late by a whole frame or more while the page scrolls at a constant speed.
async function dropped() {
  return page.evaluate(({ px, frame }) => new Promise((done) => {
    let last = 0, late = 0, n = 0;
    const step = (t) => {
      if (last && t - last > 2.5 * frame) late++;
      last = t;
      window.scrollBy(0, 60);
      if (++n * 60 < px) requestAnimationFrame(step);
      else done(late);
    };
    requestAnimationFrame(step);
  }), { px: SCROLLED_PX, frame: FRAME_MS });
}

// The same for a page of that height with text only: the frames that the machine itself drops.
async function droppedByText(height) {
  await page.goto("about:blank");
  await page.setContent(`<body style="height: ${height}px">${"<p>A line of text.</p>".repeat(1000)}`);
  return dropped();
}

let bad = 0;
await ready("/sessions", "tbody tr"); // warms up the browser
for (const [path, selector, click] of PAGES) {
  let ms = Infinity, late = Infinity, text = Infinity, nodes = 0;
  for (let i = 0; i < TRIES && (ms > READY_MS || late > 0); i++) {
    ms = Math.min(ms, await ready(path, selector));
    if (click) await page.locator(click).first().click();
    late = Math.min(late, await dropped());
    let height;
    [height, nodes] = await page.evaluate(() => [document.documentElement.scrollHeight, document.querySelectorAll("*").length]);
    text = Math.min(text, await droppedByText(height));
  }
  const good = ms <= READY_MS && late === 0;
  bad += !good;
  console.log(`${good ? "ok    " : "FAILED"} ${path.padEnd(28)} interactive in ${String(Math.round(ms)).padStart(5)} ms, ${late} frames dropped (${text} by a page of text), ${nodes} elements`);
}
await browser.close();
process.exit(bad && !REPORT ? 1 : 0);
