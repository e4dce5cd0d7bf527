// incidents.test.mjs - an investigation with a tool that needs approval, answered on its page.
// SPDX-License-Identifier: Apache-2.0
import { assert, finish, holds, json, shot, test, until } from "./kit.mjs";

const root = process.env.DASH_ASKING;
const headers = { "content-type": "application/json" };
let n = 0;

// Sends an alert whose agent waits for an approval, and opens its page.
async function asked(page) {
  const alert = { alert_type: "DiskFull", runbook: "runbook.md", severity: "critical", data: { host: "db-3", mount: "/var/lib/postgresql", used_percent: 97, n: ++n } };
  const { alert_id } = await json(`${root}/alerts`, { method: "POST", headers, body: JSON.stringify(alert) });
  await page.goto(`${root}/incidents/${alert_id}`);
  const card = page.locator("section.approval");
  await card.waitFor();
  return { id: alert_id, card };
}
const state = (id) => json(`${root}/processing-status/${id}`);

for (const dark of [false, true])
  test(`a call that waits is shown with what it would do, and approved (${dark ? "dark" : "light"})`, async ({ page }) => {
    const { id, card } = await asked(page);
    await until("it waits", async () => (await state(id)).status === "waiting");
    assert.match(await card.innerText(), /May it call .*disk_usage/s);
    assert.match(await card.innerText(), /db-3/);
    await shot(page, `incidents-approval-${dark ? "dark" : "light"}`, { fullPage: true });
    await card.getByRole("button", { name: "Approve" }).click();
    await card.waitFor({ state: "detached" });
    await until("the end", async () => (await state(id)).status === "completed");
    await page.locator("section.report", { hasText: "71G" }).waitFor();
  }, { dark });

test("a denied call is not made, and the agent goes on without it", async ({ page }) => {
  const { id, card } = await asked(page);
  await card.getByRole("button", { name: "Deny" }).click();
  await card.waitFor({ state: "detached" });
  await until("the end", async () => (await state(id)).status === "completed");
  assert.doesNotMatch((await state(id)).result, /71G/, "what only that call would have told");
});

test("an answer that comes too late is told where it was given", async ({ page }) => {
  const { id, card } = await asked(page);
  const [p] = (await json(`${root}/api/v1/incidents/${id}`)).pending;
  await page.route("**/answer", async (route) => {
    await fetch(`${root}/api/v1/runs/${encodeURIComponent(p.run_id)}/answer`, { method: "POST", headers, body: JSON.stringify({ seq: p.seq, word: "approve" }) });
    await route.continue();
  });
  await card.getByRole("button", { name: "Approve" }).click();
  await card.waitFor({ state: "detached" });
  await until("the end", async () => (await state(id)).status === "completed");
}, { complaints: [/409.*answer/] });

test("the alerts of a group are shown with their state and how often they were seen", async ({ page }) => {
  const one = (fingerprint, status) => ({ status, fingerprint, labels: { alertname: "DiskFull", host: fingerprint }, annotations: {}, startsAt: "2026-05-01T10:00:00Z", endsAt: "2026-05-01T10:30:00Z" });
  const post = (...alerts) => json(`${root}/alerts`, { method: "POST", headers, body: JSON.stringify({ version: "4", groupKey: "browser", alerts }) });
  const { alerts: [{ alert_id }] } = await post(one("aaaa", "firing"), one("bbbb", "firing"));
  await post(one("aaaa", "firing"), one("bbbb", "resolved"));
  await page.goto(`${root}/incidents/${alert_id}`);
  const rows = page.locator("section[aria-label=Alerts] tbody tr");
  await holds("both alerts", async () => {
    assert.match(await rows.nth(0).innerText(), /DiskFull[\s\S]*aaaa[\s\S]*firing[\s\S]*2 times/);
    assert.match(await rows.nth(1).innerText(), /bbbb[\s\S]*resolved[\s\S]*once/);
  });
  await shot(page, "incidents-alerts", { fullPage: true });
});

await finish();
