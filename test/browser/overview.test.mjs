// overview.test.mjs - the first page, comparison, marks of a search, pages that do not exist, and the message
// for an unreachable provider. SPDX-License-Identifier: Apache-2.0
import { start } from "../../dashboard/dev/server.mjs";
import { assert, call, eachLook, faults, finish, holds, isTooWide, json, loaded, NARROW, recorded, shot, test, until } from "./kit.mjs";

const root = process.env.DASH_ROOT, keyed = process.env.DASH_KEYED;
const dev = await start({ total: 40 });
let n = 0;
const fresh = (name) => `${name}-${process.pid}-${++n}`;
const ended = (session, calls = 1) => recorded(root, session, { calls });
const sum = async (page, label) => Number((await page.locator(".figure", { hasText: label }).locator("dd").innerText()).replace(/[^\d]/g, ""));

test("the numbers are those of the calls, and a click on a chart leaves the calls of its time", async ({ page }) => {
  const session = fresh("seen"), failing = fresh("failing");
  await call(root, "plain", { session });
  await call(root, "broken", { session: failing });
  await ended(session);
  await ended(failing);
  const now = await json(`${root}/api/v1/overview?by=model`);
  assert.ok(now.total.calls >= 2 && now.total.failed >= 1);
  assert.equal(now.groups.reduce((a, g) => a + g.calls, 0), now.total.calls);
  assert.equal(now.total.series.calls.reduce((a, b) => a + b, 0), now.total.calls);
  await page.goto(`${root}/`);
  await page.locator('[data-chart="Calls"] svg rect.c0').first().waitFor();
  await holds("all calls", async () => assert.equal(await sum(page, "Calls"), now.total.calls));
  assert.ok((await page.locator('[data-chart="Calls"] .tick').count()) > 4, "the axes have numbers and times");
  await page.locator(`a[href^="/sessions/${session}#"]`).first().waitFor();
  // The last bucket has the calls, the first has none.
  const slider = page.getByRole("slider", { name: "Calls: choose a time" });
  await slider.focus();
  await page.keyboard.press("Home");
  await until("the address", () => /at=/.test(page.url()));
  await page.getByText("No calls are like that in this time.").waitFor();
  await page.keyboard.press("End");
  await page.locator(`a[href^="/sessions/${session}#"]`).first().waitFor();
  const chosen = page.url();
  await page.goto(chosen);
  await page.locator("svg .pick.chosen").first().waitFor();
  await page.locator(`a[href^="/sessions/${session}#"]`).first().waitFor();
  await page.getByRole("button", { name: "failed", exact: true }).click();
  await until("only those that failed", async () => (await page.locator(".calllist tbody tr").count()) > 0 && (await page.locator(".calllist tbody .status.good").count()) === 0);
  assert.match(page.url(), /outcome=failed/);
  await page.locator(".calllist tbody tr", { hasText: "broken" }).first().getByText("provider error", { exact: true }).waitFor();
  await page.locator(".attention li", { hasText: /^Provider bad: its last (call|\d+ calls) failed/ }).waitFor();
  const chart = page.locator('[data-chart="Calls"] svg');
  await chart.click({ position: { x: Number(await chart.getAttribute("width")) - 14, y: 60 } });
  await until("a second click takes it away", () => !/at=/.test(page.url()));
});

test("the number of errors leads to the failed calls, with the keyboard alone and in words", async ({ page }) => {
  const failing = fresh("failing");
  const { id } = await call(root, "broken", { session: failing });
  await ended(failing);
  await page.goto(`${root}/`);
  const errors = page.locator(".figure", { hasText: "Errors" });
  await holds("the number and its share are apart", async () => assert.match(await errors.locator("dd").evaluate((e) => e.textContent), /^\d+, \d/));
  await errors.getByRole("link", { name: /: show the calls that failed$/ }).press("Enter");
  await until("the calls", () => page.url().endsWith("?outcome=failed#calls"));
  await until("the focus", () => page.evaluate(() => document.activeElement.id === "calls"));
  await page.locator(`.calllist a[href$="#${id}"]`).waitFor();
  await page.keyboard.press("j");
  await page.keyboard.press("Enter");
  const entry = page.locator(`li.event[id="${id}"]`);
  await entry.locator(".problem", { hasText: /^provider error(, status \d+)?: .*500/ }).waitFor();
  assert.equal(await entry.getByText("cut short").count(), 0, "there was no reply that could be cut short");
  await page.evaluate(() => Object.defineProperty(navigator, "clipboard", { value: undefined, configurable: true })); // plain HTTP
  await entry.getByRole("link", { name: /link to this entry$/ }).click();
  await page.getByRole("link", { name: "copied: link to this entry" }).waitFor();
  await page.getByTestId("announcer").getByText("The link to this entry is copied.").waitFor({ state: "attached" });
  await page.goBack();
  await until("the calls again", () => page.url().endsWith("?outcome=failed#calls"));
  await page.goBack();
  await until("all of them", () => page.url() === `${root}/`);
});

test("by model, key and application: a row filters everything, and the address has it", async ({ page }) => {
  const session = fresh("grouped");
  await call(root, "plain", { session });
  await ended(session);
  await page.goto(`${root}/?by=model`);
  await page.getByRole("table", { name: "By model" }).getByRole("link", { name: "plain", exact: true }).click();
  await until("the filter", () => new URL(page.url()).searchParams.get("model") === "plain");
  await until("only its calls", async () => {
    const under = await page.locator(".calllist .under").allInnerTexts();
    return under.length > 0 && under.every((t) => t.startsWith("plain"));
  });
  await page.getByRole("button", { name: "by application" }).click();
  await page.getByRole("table", { name: "By application" }).getByRole("link", { name: "gateway" }).waitFor();
  await page.getByRole("button", { name: "model: plain ×" }).click();
  await until("no filter", () => !new URL(page.url()).searchParams.get("model"));
});

test("older calls stay below until another filter is chosen", async ({ page }) => {
  for (let i = 0; i < 22; i++) await call(root, "plain", { session: fresh("older") });
  await until("the record", async () => (await json(`${root}/api/v1/history/interactions?model=plain&limit=22`)).calls.length === 22);
  await page.goto(`${root}/?model=plain`);
  const rows = page.locator(".calllist tbody tr");
  await page.locator("[data-next]").click();
  await until("the second page", async () => (await rows.count()) > 20);
  await page.getByRole("button", { name: "starved", exact: true }).click();
  await page.getByText("No calls are like that in this time.").waitFor();
  assert.equal(await rows.count(), 0);
});

test("a range of one's own, in a time zone with a name", async ({ page }) => {
  await page.goto(`${dev.root}/`);
  const zone = await page.evaluate(() => Intl.DateTimeFormat().resolvedOptions().timeZone);
  await page.locator("header .quiet strong", { hasText: zone }).waitFor();
  await page.locator(".range select").first().selectOption("custom");
  await page.getByLabel("From", { exact: true }).fill("2026-03-28T22:00");
  await page.getByLabel("To", { exact: true }).fill("2026-03-28T21:00");
  await page.getByRole("button", { name: "Show" }).click();
  await page.getByText("The first time must be before the second.").waitFor();
  await page.getByLabel("To", { exact: true }).fill("2026-03-30T22:00");
  await page.getByRole("button", { name: "Show" }).click();
  await until("the address", () => new URL(page.url()).searchParams.has("to"));
  const q = new URL(page.url()).searchParams;
  assert.equal(Date.parse(q.get("from")), await page.evaluate(() => new Date("2026-03-28T22:00").getTime()));
  await page.reload();
  assert.equal(await page.getByLabel("From", { exact: true }).inputValue(), "2026-03-28T22:00");
  await page.locator(".range select").first().selectOption("7d");
  await until("the span", () => /range=7d/.test(page.url()) && !/from=/.test(page.url()));
});

test("what needs a person is on top, with a link", async ({ page }) => {
  await page.goto(`${dev.root}/`);
  const item = page.locator(".attention li", { hasText: "waits for approval" });
  await item.waitFor();
  await item.getByRole("link").click();
  await page.getByRole("heading", { name: "Agents" }).waitFor();
});

test("a provider that refuses connections is said to be out of reach", async ({ page }) => {
  const down = process.env.DASH_DOWN;
  await until("the look", async () => (await json(`${down}/api/v1/providers`)).providers.every((p) => p.probe.state !== "unknown"));
  const { providers } = await json(`${down}/api/v1/providers`);
  assert.equal(providers.find((p) => p.name === "gone").probe.state, "unreachable");
  assert.equal(providers.find((p) => p.name === "test").probe.state, "reachable");
  assert.deepEqual((await json(`${down}/health`)).services.providers, { reachable: 1, unreachable: 1, unknown: 0 });
  await page.goto(`${down}/`);
  await page.locator(".attention li.bad", { hasText: "Provider gone cannot be reached: the connection was refused" }).getByRole("link").click();
  const card = page.locator(".provider", { hasText: "gone" }).first();
  await card.getByText("cannot be reached").waitFor();
  await page.locator(".provider", { hasText: "test" }).getByText("reachable", { exact: true }).waitFor();
  await shot(page, "provider-out-of-reach");
});

test("two calls and two sessions are compared from their lists", async ({ page }) => {
  const one = fresh("left"), two = fresh("right");
  await call(root, "plain", { session: one, said: "the first line\nthe second line\nthe same end" });
  await call(root, "think", { session: two, said: "the first line\na changed line\nthe same end" });
  await ended(one);
  await ended(two);
  await page.goto(`${root}/sessions`);
  for (const s of [one, two]) await page.locator("tr", { has: page.locator(`a[href="/sessions/${s}"]`) }).getByRole("checkbox").check();
  await page.getByRole("link", { name: "Compare the two sessions" }).click();
  await page.locator("tr.differs", { hasText: "model" }).first().waitFor();
  await page.locator(".textdiff", { hasText: "steps" }).first().waitFor();
  await page.goto(`${root}/`);
  for (const s of [one, two]) await page.locator("tr", { has: page.locator(`a[href^="/sessions/${s}#"]`) }).getByRole("checkbox").check();
  await page.getByRole("link", { name: "Compare the two calls" }).click();
  await page.locator("tr.differs", { has: page.getByRole("rowheader", { name: "model", exact: true }) }).waitFor();
  for (const name of await page.locator(".compared th[scope=row], .textdiff h3").allInnerTexts()) assert.doesNotMatch(name, /_|llm|usd|interaction|reasoning content/, "a label, not a column");
  const prompt = page.locator(".textdiff", { hasText: "prompt" }).first();
  await prompt.locator("td.removed", { hasText: "the second line" }).waitFor();
  await prompt.locator("td.added", { hasText: "a changed line" }).waitFor();
  await page.getByRole("button", { name: "Swap" }).click();
  await prompt.locator("td.added", { hasText: "the second line" }).waitFor();
  await shot(page, "compare-calls", { fullPage: true });
});

test("a session, a call and a run lead to Compare", async ({ page }) => {
  const [one, two] = [fresh("pair"), fresh("pair")];
  const { id: first } = await call(root, "plain", { session: one, said: "the first question" });
  const { id: second } = await call(root, "plain", { session: one, said: "the second question" });
  await call(root, "plain", { session: two, said: "the other session" });
  await ended(one, 2);
  await ended(two);
  await page.goto(`${root}/sessions/${one}`);
  await page.locator(`li.event[id="${second}"]`).getByRole("link", { name: "compare with the call before" }).click();
  await page.locator(".textdiff", { hasText: "prompt" }).first().locator("td.added", { hasText: "the second question" }).waitFor();
  assert.equal(new URL(page.url()).search, `?kind=call&a=${first}&b=${second}`);
  await page.goto(`${root}/sessions/${one}`);
  await page.getByRole("link", { name: "Compare", exact: true }).click();
  await page.getByRole("region", { name: "The other" }).getByRole("link", { name: "the other session" }).click();
  await page.locator("tr.differs", { has: page.getByRole("rowheader", { name: "model calls" }) }).waitFor();
  const agents = process.env.DASH_AGENTS;
  const start = () => json(`${agents}/api/v1/agents/librarian/runs`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ input: "Is Dune here?" }) });
  const [{ run_id: before }, { run_id: run }] = [await start(), await start()];
  await page.goto(`${agents}/runs/${encodeURIComponent(run)}`);
  await page.getByRole("link", { name: "compare", exact: true }).click();
  await page.getByRole("region", { name: "The other" }).getByRole("link", { name: before }).click();
  await page.locator("tr.differs").first().waitFor();
  await shot(page, "compare-runs", { fullPage: true });
});

test("one of the two that does not exist is said to be missing", async ({ page }) => {
  await page.goto(`${root}/compare?kind=call&a=nobody&b=nothing`);
  await page.locator(".problem").first().waitFor();
}, { complaints: [/404/] });

test("the words of a search are marked where they are found", async ({ page }) => {
  const word = `zeppelin${process.pid}`, session = fresh("marked");
  await call(root, "plain", { session, said: `what of the ${word} now` });
  await ended(session);
  await page.goto(`${root}/sessions?search=${word}`);
  await page.locator(".hit mark", { hasText: word }).first().waitFor();
  await page.locator("tbody mark", { hasText: word }).first().waitFor();
  await page.goto(`${root}/decisions?q=${word}`);
  await page.locator("main h1").waitFor();
});

test("an address that does not exist is a page for people and JSON for programs", async ({ page }) => {
  const reply = await page.goto(`${root}/no/such/page`);
  assert.equal(reply.status(), 404);
  await page.getByRole("heading", { name: "There is no such page" }).waitFor();
  await page.getByText("/no/such/page").waitFor();
  assert.equal(await page.getByRole("main").getByRole("link", { name: "Manual" }).getAttribute("href"), "/docs");
  await page.getByRole("main").getByRole("link", { name: "Overview" }).click();
  await page.getByRole("heading", { name: "Overview" }).waitFor();
  const program = await fetch(`${root}/no/such/page`, { headers: { accept: "application/json" } });
  assert.equal(program.status, 404);
  assert.equal((await program.json()).error.code, "unknown_url");
  const api = await fetch(`${root}/api/v1/nothing`, { headers: { accept: "text/html" } });
  assert.match(api.headers.get("content-type"), /json/);
}, { complaints: [/404/] });

test("the filters of a list are in its address", async ({ page }) => {
  await page.goto(`${keyed}/keys`);
  await page.fill("#key", process.env.KEY_OPERATOR);
  await page.getByRole("button", { name: "Log in" }).click();
  await page.locator("tbody tr").nth(2).waitFor();
  await page.fill("[data-search]", "hidden");
  await until("one is left", async () => (await page.locator("tbody tr").count()) === 1);
  assert.match(page.url(), /find=hidden/);
  await page.reload();
  await until("still", async () => (await page.locator("tbody tr").count()) === 1);
  await page.goto(`${keyed}/system?find=breaker`);
  await page.locator(".config code", { hasText: "breaker.open" }).waitFor();
}, { complaints: [/401/, /WebSocket/] });

test("axe finds nothing, light and dark, wide and narrow", async ({ page }) => {
  for (const path of ["/", "/?by=model&range=7d", "/?from=2026-11-01T00:00Z&to=2026-11-08T00:00Z&tz=UTC", "/compare?kind=session&a=agent-run&b=state-shown", "/compare", "/compare?kind=session&b=agent-run", "/nowhere", "/providers"]) {
    await page.goto(dev.root + path);
    await loaded(page);
    await eachLook(page, async (look) => {
      assert.deepEqual(await faults(page), [], `${path}, ${look.name}`);
      assert.ok(!(await isTooWide(page)), `${path} is too wide, ${look.name}`);
      await shot(page, `overview-${path.replace(/\W+/g, "-")}-${look.name}`, { fullPage: true });
    });
  }
}, { ...NARROW, complaints: [/404.*nowhere/] });

await finish(() => dev.stop());
