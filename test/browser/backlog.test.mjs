// backlog.test.mjs - a gateway whose tables lag behind its journal: another process holds the database's
// lock, and calls fill the journal beyond its soft limit. SPDX-License-Identifier: Apache-2.0
import { spawn } from "node:child_process";
import { once } from "node:events";
import { assert, call, eachLook, finish, isTooWide, json, NARROW, shot, test, until } from "./kit.mjs";

const root = process.env.DASH_BEHIND;
const store = process.env.DASH_BEHIND_STORE;
const SOFT_MARK = (1 << 20) / 4;
// The message while the taker waits for the lock, and after it has given up for now.
const WHY = /The record is degraded: (the tables are behind: [\d.]+ MB in about \d+ records wait in the journal, the oldest for \d+ s|database: database is locked)/;
const TEXT = "the quick brown fox ".repeat(1500);
const LOCK = `
import sqlite3, sys
db = sqlite3.connect(sys.argv[1], isolation_level=None, timeout=120)
db.execute("BEGIN IMMEDIATE")
print("locked", flush=True)
sys.stdin.read()
db.execute("ROLLBACK")
`;
const health = () => json(`${root}/health`);

// While f runs, the tables are locked and the journal is beyond its soft limit; f may end that earlier. A
// single client does not reach the hard limit: its first call beyond the soft limit waits.
async function behind(f) {
  const lock = spawn(process.env.PYTHON ?? "python3", ["-c", LOCK, store], { stdio: ["pipe", "pipe", "inherit"] });
  const release = () => lock.stdin.end();
  let over = false, client;
  try {
    await once(lock.stdout, "data");
    client = (async () => {
      while (!over) assert.equal((await call(root, "plain", { said: TEXT })).status, 200);
    })();
    await until("a backlog", async () => (await health()).pending_bytes > SOFT_MARK);
    over = true;
    await until("an old record", async () => (await health()).pending_seconds > 0);
    await f(release);
  } finally {
    over = true;
    release();
    await client;
    await until("healthy again", async () => (await health()).pending_records === 0);
  }
}

test("a backlog is shown while it is there, light and dark, wide and narrow", async ({ page }) => {
  await page.goto(`${root}/`);
  await until("the socket", () => page.locator(".side .status.good").isVisible());
  const banner = page.getByTestId("health-banner");
  assert.equal(await banner.count(), 0);
  await behind(async (release) => {
    await banner.getByText(WHY).waitFor();
    await eachLook(page, async (look) => {
      await banner.getByText(WHY).waitFor();
      await shot(page, `backlog-live-${look.name}`);
    });
    await banner.getByRole("link", { name: "System" }).click();
    const record = page.getByTestId("record");
    await record.getByText(/^\d+ records, the oldest for \d/).waitFor();
    await record.getByText(/^[\d.]+ KiB of 1\.0 MiB$/).waitFor();
    await record.getByText("degraded").waitFor();
    const bar = record.getByRole("img");
    const [, percent] = /^The journal holds .* of 1\.0 MiB, (\d+) % of its ceiling$/.exec(await bar.getAttribute("aria-label"));
    assert.ok(Number(percent) >= 25 && Number(percent) <= 100, percent);
    const kept = page.getByTestId("kept"); // needs no tables
    await kept.getByText(/history\.db$/).waitFor();
    await kept.getByText(/^[\d.]+ .*B; journal files /).waitFor();
    assert.equal(await page.getByText("Nothing is on record yet.").count(), 0); // the audit log needs the tables
    const first = await record.innerText();
    await until("newer figures", async () => (await record.innerText()) !== first);
    await eachLook(page, async (look) => {
      assert.ok(await record.evaluate((e) => e.scrollWidth <= e.clientWidth), `the card is too wide, ${look.name}`);
      assert.ok(!(await isTooWide(page)), `System is too wide, ${look.name}`);
      await page.evaluate(() => window.scrollTo(0, 0));
      await shot(page, `backlog-system-${look.name}`);
    });
    release();
    await until("the banner goes by itself", async () => (await banner.count()) === 0);
    await record.getByText("healthy", { exact: true }).waitFor();
  });
}, NARROW);

await finish();
