// gateway.test.mjs - the dashboard on real records: calls go through a gateway to the test provider, and the
// pages are examined during and after them. SPDX-License-Identifier: Apache-2.0
import { XSS } from "../../dashboard/dev/fixtures.mjs";
import { assert, call, eachLook, finish, isTooWide, json, loaded, LOOKS, NARROW, recorded, shot, sleep, test, until, WEATHER } from "./kit.mjs";

const root = process.env.DASH_ROOT;
const keyed = process.env.DASH_KEYED;
const forgetful = process.env.DASH_FORGETFUL;
const provider = process.env.DASH_PROVIDER;
const DISPLAY = '[data-testid="reasoning-display"]';
const NAV = ["Overview", "Live", "Sessions", "Agents", "Incidents", "Policy", "Orders", "Optimizer", "Decisions", "Reasoning", "Providers and levels", "Keys", "System"];
let n = 0;
const fresh = (name) => `${name}-${process.pid}-${++n}`;
const live = (page) => until("the socket", async () => (await page.locator(".side .status.good").isVisible()) && (await page.locator("main h1").isVisible()));
const ended = (session, calls = 1) => recorded(root, session, { calls });

test("the pages are links in the navigation, and each has its address", async ({ page }) => {
  await page.goto(`${root}/`);
  await page.locator("nav a").first().waitFor();
  assert.deepEqual((await page.locator("aside nav a").allInnerTexts()).map((t) => t.trim()), NAV);
  for (const name of NAV) {
    await page.locator("aside nav a", { hasText: name }).click();
    await page.locator("main h1", { hasText: name }).waitFor();
    const again = page.url();
    await page.goto(again);
    await page.locator("main h1", { hasText: name }).waitFor();
  }
  await page.goBack();
  await page.locator("main h1").waitFor();
}, { complaints: [/404.*\/api\/v1\/(incidents|policy|prompts|orders)/] }); // from applications that are off

test("a call is in the list, opens, and has an address of its own", async ({ page }) => {
  const session = fresh("listed");
  const { id } = await call(root, "think", { session, said: "why is the sky blue today?" });
  await ended(session);
  await page.goto(`${root}/sessions`);
  await page.locator(`a[href="/sessions/${session}"]`).click();
  await until("its address", () => page.url() === `${root}/sessions/${session}`);
  const event = page.locator(`[id="${id}"]`);
  await event.waitFor();
  assert.match(await event.innerText(), /You said: why is the sky blue today\?/);
  const display = event.locator(DISPLAY);
  assert.equal(await display.getAttribute("data-state"), "shown");
  assert.equal(await display.locator("button").getAttribute("aria-expanded"), "false");
  assert.ok(!(await display.innerText()).includes("ponder"), "folded: no word of it is there");
  await display.locator("button").first().click();
  assert.match(await display.innerText(), /Let me ponder this/);
  assert.match(await display.innerText(), /R cap: 128/);
  await shot(page, "gateway-session");
  await page.goto(`${root}/sessions/${session}#${id}`);
  await page.locator(`[id="${id}"].marked`).waitFor();
  await event.getByText("Whole request and reply").click();
  await until("the request", async () => /why is the sky blue today/.test(await event.locator(".disclosed").last().innerText()));
});

const STATES = [
  ["think", "shown", {}],
  ["tagged", "shown", {}],
  ["long-think", "cut", {}],
  ["plain", "none", {}],
  ["cut", "unclosed", {}],
];
for (const [model, state, more] of STATES)
  test(`what ${model} thought is shown as ${state}`, async ({ page }) => {
    const session = fresh(model);
    await call(root, model, { session, ...more });
    await ended(session);
    await page.goto(`${root}/sessions/${session}`);
    const display = page.locator(DISPLAY).first();
    await display.waitFor();
    const seen = await page.locator(DISPLAY).evaluateAll((all) => all.map((e) => e.dataset.state));
    assert.ok(seen.includes(state), `${seen} for ${JSON.stringify((await json(`${root}/api/v1/history/sessions/${session}`)).chronological_timeline[0].details)}`);
    await shot(page, `gateway-${model}`);
  });

test("a failed call is seen as one, and found by its status", async ({ page }) => {
  const session = fresh("broken");
  await call(root, "broken", { session });
  await ended(session);
  await page.goto(`${root}/sessions`);
  await page.locator(".chips button", { hasText: "failed" }).click();
  await page.locator(`a[href="/sessions/${session}"]`).waitFor();
  assert.match(page.url(), /status=failed/);
  await until("only those", async () => (await page.locator("tbody .status").allInnerTexts()).every((t) => t === "failed"));
  await page.locator(`a[href="/sessions/${session}"]`).click();
  await page.locator(".event.bad").waitFor();
  assert.match(await page.locator(".event.bad").innerText(), /always answers 500/);
});

test("words are found, and lead to the call", async ({ page }) => {
  const session = fresh("found"), word = `xylophone${process.pid}`;
  const { id } = await call(root, "think", { session, said: `tell me of the ${word} please` });
  await ended(session);
  await page.goto(`${root}/sessions`);
  await page.locator("[data-search]").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type(word);
  const hit = page.locator(`.hit[href$="#${id}"]`).first();
  await hit.waitFor();
  assert.match(page.url(), new RegExp(`search=${word}`));
  const file = await fetch(root + (await page.getByRole("link", { name: "Export CSV" }).getAttribute("href")));
  assert.equal(file.status, 200);
  assert.equal((await file.text()).split('"llm_interaction"').length, 2, "the call that was found");
  await hit.click();
  await until("the call", () => page.url() === `${root}/sessions/${session}#${id}`);
});

test("a tool that was asked for is in the timeline", async ({ page }) => {
  const session = fresh("tools");
  await call(root, "tools", { session, tools: WEATHER });
  await ended(session);
  await page.goto(`${root}/sessions/${session}`);
  await page.locator(".toolcall").waitFor();
  assert.match(await page.locator(".toolcall").innerText(), /asks for get_weather/);
});

test("reasoning per model and level: tokens, cap, how much of it", async ({ page }) => {
  const session = fresh("stat");
  await call(root, "long-think", { session });
  await ended(session);
  let early = null;
  await page.route("**/api/v1/reasoning", async (route) => {
    await sleep(200);
    early = await page.locator("section[aria-label='Usage and cost']").count();
    await route.fallback();
  });
  await page.goto(`${root}/reasoning`);
  const row = page.locator("tbody tr", { hasText: "long-think" }).first();
  await row.waitFor();
  assert.equal(early, 0, "the part below waits, so that it does not jump");
  assert.match(await row.innerText(), /R cap: 128/);
  await row.locator(".histogram i.full").waitFor();
  await page.locator("section[aria-label='Usage and cost'] tbody tr").first().waitFor();
  await page.locator(".chip", { hasText: "by level" }).click();
  await page.locator("section[aria-label='Usage and cost'] td", { hasText: "low" }).first().waitFor();
  await shot(page, "gateway-reasoning");
});

test("hostile text that went through the gateway is text here too", async ({ page, asked }) => {
  const session = fresh("hostile");
  for (const said of [XSS.slice(0, 16).join("\n\n"), XSS.slice(16).join("\n\n")]) await call(root, "echo", { session, said });
  await ended(session, 2);
  for (const path of [`/sessions/${session}`, "/sessions", "/decisions", "/"]) {
    await page.goto(root + path);
    await page.locator("main a").first().waitFor();
    await page.evaluate(() => document.querySelectorAll(".disclose[aria-expanded=false]").forEach((b) => b.click()));
    await sleep(300);
    assert.equal(await page.evaluate(() => window.pwned), undefined);
    assert.equal(await page.locator("main script, main img, main iframe, main style, main form:not(#ask)").count(), 0);
  }
  assert.ok(![...asked].some((u) => u.includes("leak.invalid")));
});

test("a session is erased when asked twice, and the audit log has it", async ({ page }) => {
  const session = fresh("gone");
  await call(root, "think", { session });
  await ended(session);
  await page.goto(`${root}/sessions/${session}`);
  await page.getByRole("button", { name: "Erase" }).first().click();
  await page.locator("dialog[open]").getByRole("button", { name: "Keep it" }).click();
  assert.equal((await fetch(`${root}/api/v1/history/sessions/${session}`)).status, 200);
  await page.getByRole("button", { name: "Erase" }).first().click();
  await page.locator("dialog[open] button.danger").click();
  await until("the list", () => page.url().endsWith("/sessions"));
  assert.equal((await fetch(`${root}/api/v1/history/sessions/${session}`)).status, 404);
  await page.goto(`${root}/system`);
  await page.getByText("Verify the chain").click();
  await page.getByText(/The chain holds/).waitFor();
  await page.getByText("Newest entries").click();
  await page.getByText("erase session").first().waitFor();
});

// ---- live ----

// A call whose model pauses twice in its reasoning, each time until go(), so that nothing depends on timing.
// `thinks` waits for the nth pause.
async function held(session, f, model = "held-think") {
  const done = call(root, model, { session, said: `watch ${session} think`, effort: "high" });
  const go = () => fetch(`${provider}/__go?has=${session}`, { method: "POST" });
  const thinks = (nth) => until("it thinks", async () => (await json(`${provider}/__log?has=${session}`)).some((e) => e.held === nth));
  try {
    return await f({ done, go, thinks });
  } finally {
    await go();
    await go();
    await done;
  }
}
const cardOf = (page, session) => page.locator("article.call", { hasText: session });
const textOf = (card) => card.locator(".stream.reasoning").evaluate((e) => e.textContent);

test("a call is seen while it thinks, and settles when it answers", async ({ page }) => {
  await page.goto(`${root}/live`);
  await live(page);
  const session = fresh("live");
  await held(session, async ({ done, go }) => {
    const card = cardOf(page, session);
    await until("it thinks", async () => /Thinking… \d+ s/.test(await card.innerText()));
    await until("its words", async () => /ponder/.test(await textOf(card)));
    const before = (await textOf(card)).length;
    await go();
    await until("more of them", async () => (await textOf(card)).length > before);
    assert.match(await card.innerText(), /held-think/);
    assert.match(await card.innerText(), /R cap: 512/);
    assert.doesNotMatch(await card.innerText(), /\d tokens?\b/, "a count that its text has passed");
    await shot(page, "gateway-live-thinking");
    await go();
    await until("it settled", async () => /Thought for \d+ m?s · (about )?\d+ tokens · \d+ % of cap/.test(await card.innerText()));
    const { id } = await done;
    assert.equal(await card.getAttribute("data-call"), id);
    await until("done", async () => (await card.getAttribute("aria-busy")) === "false");
    await until("all of the answer", async () => (await card.innerText()).includes(`You said: watch ${session} think`));
    await shot(page, "gateway-live-done");
    await card.getByRole("link", { name: "Open" }).click();
    await until("its record", () => page.url() === `${root}/sessions/${session}#${id}`);
    await page.locator(`[id="${id}"]`).waitFor();
  });
});

test("who comes late sees what was thought before", async ({ page }) => {
  const session = fresh("late");
  await held(session, async ({ done, go, thinks }) => {
    await thinks(1);
    await page.goto(`${root}/sessions/${session}`);
    const card = cardOf(page, session);
    await until("from its first word", async () => /Let me ponder this/.test(await textOf(card)));
    await go();
    await go();
    await done;
    await page.locator("li.event").first().waitFor();
    await until("the card gave way to the record", async () => (await page.locator("article.call").count()) === 0);
  });
});

test("the same on the Live page", async ({ page }) => {
  const session = fresh("late");
  await held(session, async ({ go, thinks }) => {
    await thinks(1);
    await page.goto(`${root}/live`);
    const card = cardOf(page, session);
    await until("from its first word", async () => /Let me ponder this/.test(await textOf(card)));
    assert.match(await until("it is counted", async () => /Running\s+[1-9]\d*\s*,\s*sessions?/.exec(await page.locator(".figures").innerText())?.[0]), /[^1]\s*,\s*sessions|\b1\s*,\s*session$/);
    const before = (await textOf(card)).length;
    await go();
    await until("more of it", async () => (await textOf(card)).length > before);
    assert.equal((await textOf(card)).match(/ponder/g).length, 1, "and nothing twice");
  });
});

// The number of changes of the text, and of frames, while f ran.
async function drawn(page, locator, f) {
  await locator.evaluate((card) => {
    window.drawn = { changes: 0, frames: 0 };
    new MutationObserver(() => window.drawn.changes++).observe(card, { subtree: true, childList: true, characterData: true });
    const frame = () => {
      window.drawn.frames++;
      requestAnimationFrame(frame);
    };
    requestAnimationFrame(frame);
  });
  await f();
  return page.evaluate(() => window.drawn);
}

test("a fast one is drawn once a frame at most", async ({ page }) => {
  await page.goto(`${root}/live`);
  await live(page);
  const session = fresh("fast");
  const { changes, frames } = await held(session, async ({ done, go }) => {
    const card = cardOf(page, session);
    await until("it thinks", async () => /Thinking…/.test(await card.innerText()));
    return drawn(page, card, async () => {
      await go();
      await done;
    });
  }, "fast-think");
  assert.ok(changes > 0 && changes <= 2 * frames, `${changes} changes in ${frames} frames`); // text, and its scroll
});

// ---- size ----

test("100,000 sessions on record are filtered and paged", async ({ page }) => {
  await page.goto(`${process.env.DASH_MANY}/sessions`);
  await page.locator("tbody tr").first().waitFor();
  assert.match(await page.locator(".pager").innerText(), /1 to 25 of 100,000 sessions/);
  await page.locator("[data-next]").click();
  await until("the next page", async () => /26 to 50/.test(await page.locator(".pager").innerText()));
  await page.locator(".chips button", { hasText: "failed" }).click();
  await until("the failed ones", async () => /of 5,883 sessions/.test(await page.locator(".pager").innerText()));
});

// ---- permissions ----

test("with keys: a login, then what that key may see", async ({ page }) => {
  const [mine, other] = [fresh("mine"), fresh("other")];
  await call(keyed, "think", { session: mine, key: process.env.KEY_VIEWER });
  await call(keyed, "think", { session: other, key: process.env.KEY_OPERATOR });
  for (const session of [mine, other]) await recorded(keyed, session, { key: process.env.KEY_OPERATOR });
  const sockets = [];
  page.on("websocket", (s) => sockets.push(s));
  await page.goto(`${keyed}/sessions`);
  await page.getByText("A key is needed").waitFor();
  await page.getByText("not logged in").waitFor();
  await page.fill("#key", "sk-nobody");
  await page.click("#key-form button");
  await page.locator("#key-error").waitFor();
  await sleep(1000);
  assert.equal(sockets.length, 1, "without a login the page does not go on asking for live updates");
  page.removeAllListeners("websocket");
  await page.fill("#key", process.env.KEY_VIEWER);
  await page.click("#key-form button");
  await page.locator(`a[href="/sessions/${mine}"]`).waitFor();
  assert.equal(await page.locator(`a[href="/sessions/${other}"]`).count(), 0);
  assert.equal(await page.evaluate(() => document.cookie), "");
  await page.reload();
  await page.locator(`a[href="/sessions/${mine}"]`).waitFor();
  await live(page);
  await page.goto(`${keyed}/live`);
  await page.fill("#prompt", "may I ask with the cookie?");
  await page.getByRole("button", { name: "Ask" }).click();
  await until("an answer", async () => /You said: may I ask with the cookie/.test(await page.locator("article.call").first().innerText()));
  await page.goto(`${keyed}/system`); // complains of a request that is refused
  await page.getByText("shown to the key of an operator").waitFor();
  assert.equal(await page.getByRole("heading", { name: /Configuration|Audit log/ }).count(), 0);
  await page.getByRole("button", { name: "Log out" }).click();
  await page.getByText("A key is needed").waitFor();
  await page.reload();
  await page.getByText("A key is needed").waitFor();
}, { complaints: [/401/, /WebSocket/, /404/] });

test("the page of keys says who decides about reasoning", async ({ page }) => {
  await page.goto(`${keyed}/keys`);
  await page.fill("#key", process.env.KEY_OPERATOR);
  await page.click("#key-form button");
  const row = (name) => page.locator("tbody tr", { hasText: name });
  await row("viewer").waitFor();
  assert.match(await row("viewer").innerText(), /as asked/);
  assert.match(await row("hidden").innerText(), /hide/);
}, { complaints: [/401/, /WebSocket/] });

test("a login link logs in once, and the address does not keep it", async ({ page }) => {
  const session = fresh("linked"), stop = new AbortController();
  await call(keyed, "think", { session, key: process.env.KEY_OPERATOR });
  await recorded(keyed, session, { key: process.env.KEY_OPERATOR });
  const run = await fetch(`${keyed}/api/v1/watch`, { method: "POST", signal: stop.signal, headers: { authorization: `Bearer ${process.env.KEY_OPERATOR}`, "content-type": "application/json" }, body: "{}" });
  const { login } = JSON.parse(new TextDecoder().decode((await run.body.getReader().read()).value));
  await page.goto(`${keyed}/sessions#login=${login}`);
  await page.locator(`a[href="/sessions/${session}"]`).waitFor();
  assert.equal(page.url(), `${keyed}/sessions`);
  await page.goto(`${keyed}/#login=${login}`); // used; the cookie is still valid
  await live(page);
  assert.equal(await page.locator("#key-form").count(), 0);
  await page.context().clearCookies();
  await page.goto(`${keyed}/sessions#login=${login}`);
  await page.getByText("A key is needed").waitFor();
  stop.abort();
}, { complaints: [/401/, /WebSocket/] });

test("a key that may not see reasoning is told so", async ({ page }) => {
  const session = fresh("hidden");
  await call(keyed, "think", { session, key: process.env.KEY_HIDDEN });
  await recorded(keyed, session, { key: process.env.KEY_HIDDEN });
  await page.goto(`${keyed}/sessions/${session}`);
  await page.getByText("A key is needed").waitFor();
  await page.fill("#key", process.env.KEY_HIDDEN);
  await page.click("#key-form button");
  const display = page.locator(DISPLAY).first();
  await display.waitFor();
  assert.equal(await display.getAttribute("data-state"), "hidden");
  assert.ok(!(await page.content()).includes("ponder"));
  await display.locator("button").first().click();
  await display.getByText("This key may not see reasoning").waitFor();
  await shot(page, "gateway-hidden");
}, { complaints: [/401/, /WebSocket/] });

test("where no reasoning is kept, the page says why, light and dark", async ({ page }) => {
  const shots = (name) => eachLook(page, (look) => shot(page, `forgetful-${name}-${look.name}`), LOOKS.filter((look) => look.width > NARROW.width));
  const session = fresh("forgotten");
  await call(forgetful, "think", { session });
  await recorded(forgetful, session);
  await page.goto(`${forgetful}/sessions/${session}`);
  const display = page.locator(DISPLAY).first();
  await display.getByText("not kept").waitFor();
  assert.equal(await display.getAttribute("data-state"), "hidden");
  await display.locator("button").first().click();
  await display.getByText("reasoning.keep was none when this call was recorded").waitFor();
  await shots("session");
  await page.goto(`${forgetful}/sessions?search=reasoning%3Aponder`);
  await page.getByTestId("reasoning-absent").getByText("Set it to text").waitFor();
  await shots("search");
  await page.goto(`${forgetful}/decisions`);
  await page.getByTestId("reasoning-absent").getByText("without reasoning").waitFor();
  await shots("decisions");
  await page.goto(`${forgetful}/system`);
  const kept = page.getByTestId("kept");
  await kept.getByText("not kept; reasoning.keep: text keeps it").waitFor();
  await kept.getByText(/history\.db$/).waitFor();
  await kept.getByText(/^[\d.]+ .*B; journal files /).waitFor();
  await kept.getByText("not set, so records stay until you erase them; set retention.age").waitFor();
  await shots("system");
});

test("on real records no page is too wide, light and dark, wide and narrow", async ({ page }) => {
  for (const path of ["/", "/live", "/sessions", "/decisions", "/reasoning", "/providers", "/keys", "/system"]) {
    await page.goto(root + path);
    await loaded(page);
    await eachLook(page, async (look) => {
      await shot(page, `gateway-${path.slice(1) || "overview"}-${look.name}`);
      assert.ok(!(await isTooWide(page)), `${path} is too wide, ${look.name}`);
      const outside = await page.evaluate(() => [...document.querySelectorAll("main table.rows :is(td, td *)")].filter((e) => !e.closest(".wide") && e.getBoundingClientRect().right > e.closest("table").getBoundingClientRect().right + 1).map((e) => e.textContent));
      assert.deepEqual(outside, [], `${path} cuts cells, ${look.name}`);
    });
  }
}, NARROW);

await finish();
