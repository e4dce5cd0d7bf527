// axe.test.mjs - axe finds no fault on any page, light and dark, wide and narrow; and screen readers announce
// the page and its changes. SPDX-License-Identifier: Apache-2.0
import { start } from "../../dashboard/dev/server.mjs";
import { assert, call, eachLook, faults, finish, json, loaded, LOOKS, NARROW, shot, sleep, test, until, WEATHER } from "./kit.mjs";

const { DASH_ROOT: root, DASH_ASKING: asking, DASH_AGENTS: agents, DASH_POLICY: policy, DASH_DEMO: demo } = process.env;
const headers = { "content-type": "application/json" };
const dev = await start({ total: 300 });

// Creates one session, one ended and one waiting incident, and one run, so that each page has data.
async function made() {
  if (made.all) return made.all;
  const session = `axe-${process.pid}`;
  await call(root, "tools", { session, tools: WEATHER });
  await call(root, "broken", { session });
  const alert = (n) => json(`${asking}/alerts`, { method: "POST", headers, body: JSON.stringify({ alert_type: "DiskFull", runbook: "runbook.md", severity: "critical", data: { host: "db-3", mount: "/var/lib/postgresql", used_percent: 97, n: `axe ${n}` } }) });
  const [over, waits] = [(await alert(1)).alert_id, (await alert(2)).alert_id];
  const incident = (id) => json(`${asking}/api/v1/incidents/${id}`);
  const [p] = await until("the question", async () => (await incident(over)).pending.length && (await incident(over)).pending);
  await json(`${asking}/api/v1/runs/${encodeURIComponent(p.run_id)}/answer`, { method: "POST", headers, body: JSON.stringify({ seq: p.seq, word: "approve" }) });
  await until("the end", async () => (await incident(over)).status === "completed");
  const { run_id } = await json(`${agents}/api/v1/agents/librarian/runs`, { method: "POST", headers, body: JSON.stringify({ input: "Is Dune here?" }) });
  await until("the end of the run", async () => (await json(`${agents}/api/v1/runs/${run_id}`)).status === "done");
  return (made.all = { session, over, waits, run: run_id });
}

const PAGES = (m) => [
  ...["/", "/sessions", "/sessions?search=checkout", "/sessions/agent-run", "/sessions/long-run", "/sessions/coding-agent", "/sessions/xss", "/sessions/nobody", "/agents", "/decisions", "/reasoning", "/providers", "/keys", "/system"].map((p) => [dev.root, p]),
  [root, `/sessions/${m.session}`], [asking, "/incidents"], [asking, `/incidents/${m.over}`], [asking, `/incidents/${m.waits}`], [asking, "/sessions"],
  [agents, "/agents"], [agents, "/agents/librarian"], [agents, "/workflows/triage"], [agents, `/runs/${encodeURIComponent(m.run)}`],
  [policy, "/policy"], [demo, "/orders"], [demo, "/optimize"],
];

test("axe finds nothing on any page, light and dark, wide and narrow", async ({ page }) => {
  const found = [];
  for (const [at, path] of PAGES(await made())) {
    await page.goto(at + path);
    await loaded(page);
    await page.evaluate(() => document.querySelectorAll("main .disclose[aria-expanded=false], main .reasoning-head[aria-expanded=false]").forEach((b, i) => i < 12 && b.click()));
    await loaded(page);
    await eachLook(page, async (look) => {
      const bad = await faults(page);
      if (bad.length) found.push(`${path}, ${look.name}: ${bad.join("; ")}`);
      if (path.startsWith("/incidents/")) await shot(page, `incident-${look.name}`, { fullPage: true });
    }, LOOKS.filter((look) => look.width > NARROW.width || !look.dark));
  }
  assert.deepEqual(found, []);
}, { ...NARROW, complaints: [/40[34]/] });

test("a change of the page is said, and the focus is in it", async ({ page }) => {
  await page.goto(`${dev.root}/sessions`);
  await page.locator("tbody tr").first().waitFor();
  const said = page.getByTestId("announcer");
  assert.equal(await said.innerText(), "", "nothing is said before anything has changed");
  // The next page's code loads late: the previous page's name must not be announced again.
  const heard = await page.evaluateHandle(() => {
    const words = [];
    new MutationObserver(() => words.push(document.querySelector('[data-testid="announcer"]').textContent)).observe(document.body, { characterData: true, childList: true, subtree: true });
    return words;
  });
  await page.route(/\/page\/decisions-/, async (route) => {
    await sleep(1000);
    await route.continue();
  });
  await page.locator('aside nav a[href="/decisions"]').click();
  await until("its name", async () => (await said.innerText()) === "Decisions");
  assert.deepEqual([...new Set(await heard.jsonValue())].filter(Boolean), ["Decisions"]);
  assert.equal(await page.evaluate(() => document.activeElement?.id), "main");
});

test("what happens in a session is said", async ({ page }) => {
  const whole = await json(`${dev.root}/api/v1/history/sessions/state-shown`);
  dev.state.sessions.said = { ...whole, session_id: "said", status: "in_progress", llm_interaction_count: 1 };
  await page.goto(`${dev.root}/sessions/said`);
  await page.locator("li.event").first().waitFor();
  const said = page.getByTestId("announcer");
  dev.state.sessions.said = { ...whole, session_id: "said", status: "completed", llm_interaction_count: 1 };
  await until("the end", async () => {
    dev.push("session_said", { type: "session_status_change", session_id: "said", status: "completed" });
    return (await said.innerText()) === "The session is completed.";
  });
});

await finish(() => dev.stop());
