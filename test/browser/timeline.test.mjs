// timeline.test.mjs - sessions of coding agents and long runs: the new part of each request, results with
// their calls, sub-agents; 500 steps, of which only a few are drawn. SPDX-License-Identifier: Apache-2.0
import { LONG_STEPS } from "../../dashboard/dev/fixtures.mjs";
import { start } from "../../dashboard/dev/server.mjs";
import { assert, eachLook, finish, holds, isTooWide, json, LOOKS, shot, sleep, test, until } from "./kit.mjs";

const root = process.env.DASH_ROOT, agents = process.env.DASH_AGENTS;
const dev = await start({ total: 10_000 });
const STEPS = LONG_STEPS - 1;
const NODES_MAX = 2500;
const nodes = (page) => page.evaluate(() => document.querySelectorAll("*").length);

async function open(page, path) {
  await page.goto(dev.root + path);
  await page.locator("li.event").first().waitFor();
  await until("data", async () => (await page.locator(".loading").count()) === 0);
}

// ---- a coding agent ----

test("turns fold, and the system prompt and the tools stand once", async ({ page }) => {
  await open(page, "/sessions/coding-agent");
  const turns = page.locator("li.turn");
  assert.deepEqual((await page.locator(".turn-title").allInnerTexts()), ["Why does the date test fail on Sundays?", "Fix it."]);
  assert.equal(await page.locator("li.event").count(), 5);
  await turns.first().locator("button").click();
  await until("the first turn is folded", async () => (await page.locator("li.event").count()) === 2);
  assert.equal(await turns.first().locator("button").getAttribute("aria-expanded"), "false");
  await turns.first().locator("button").click();
  assert.equal(await page.locator("main").getByText("System prompt", { exact: true }).count(), 1);
  await page.getByText("System prompt", { exact: true }).click();
  await page.getByText("You are a coding agent.").waitFor();
  assert.match(await page.locator(".given").first().innerText(), /Tools offered\s*4/);
});

test("a request shows what was new in it, and each call its result", async ({ page }) => {
  await open(page, "/sessions/coding-agent");
  const step = (id) => page.locator(`li.event[id="${id}"]`);
  const first = step("code-0").locator(".toolcall").first();
  await first.getByText("int week_day(struct tm *t)").waitFor();
  assert.match(await first.innerText(), /asks for Read[\s\S]*\/repo\/src\/date\.c/);
  await step("code-1").getByText("date_test: FAILED on Sunday").waitFor();
  assert.equal(await step("code-1").locator(".badge.bad").innerText(), "error");
  assert.equal(await step("code-1").getByText("Prompt", { exact: true }).count(), 0, "the prompt stands with the first step of its turn");
  await step("code-2").getByText("New in this request").click();
  const fresh = step("code-2").locator(".new-part");
  await until("what is new", async () => /4 messages as before[\s\S]*The todo list is empty[\s\S]*1 tool result/.test(await fresh.innerText()));
  assert.doesNotMatch(await fresh.innerText(), /Why does the date test/, "not the whole prompt again");
  await step("code-3").getByText("New in this request").click();
  await until("the system prompt changed", async () => /system prompt is another[\s\S]*\+ Run the tests/.test(await step("code-3").innerText()));
  assert.match(await step("code-3").locator(".usage").innerText(), /from cache\s*19,750/);
});

test("reasoning stands once: the decision below it names the tools", async ({ page }) => {
  await open(page, "/sessions/coding-agent");
  const step = page.locator('li.event[id="code-1"]');
  assert.equal(await step.locator(".decision").innerText(), "[TOOL_CALL] Bash");
  await step.locator(".reasoning-head").click();
  await step.getByText("the code subtracts one").first().waitFor();
  assert.equal((await step.innerText()).split("the code subtracts one").length - 1, 1);
});

test("a sub-agent is below the call that started it, and leads back", async ({ page }) => {
  await open(page, "/sessions/coding-agent");
  const child = page.locator('li.event[id="code-0"] .subagent');
  await child.getByText("Its steps").click();
  await child.locator(".child li").first().waitFor();
  assert.match(await child.innerText(), /Find all callers of week_day\(\)[\s\S]*1 call/);
  await child.locator("a").first().click();
  await until("its page", () => page.url().endsWith("/sessions/sub-agent"));
  await page.getByText("Sub-agent of").waitFor();
  await page.getByRole("link", { name: "coding-agent" }).click();
  await page.locator('li.event.marked[id="code-0"]').waitFor();
});

test("files and commands are listed with the steps that touched them", async ({ page }) => {
  await open(page, "/sessions/coding-agent");
  await page.getByText("Files touched").click();
  assert.match(await page.locator(".touched").innerText(), /\/repo\/src\/date\.c\s*2 times/);
  await page.getByText("Commands run").click();
  await page.locator(".touched a", { hasText: "make test" }).click();
  await page.locator('li.event.marked[id="code-1"]').waitFor();
});

test("a conversation through the gateway has the results of its tools", async ({ page }) => {
  const session = `conversation-${process.pid}`;
  const tools = [{ name: "get_weather", input_schema: { type: "object", properties: { city: { type: "string" } } } }];
  const send = async (messages) => {
    const r = await fetch(`${root}/v1/messages`, { method: "POST", headers: { "content-type": "application/json", "x-rationale-session": session, "anthropic-version": "2023-06-01" }, body: JSON.stringify({ model: "tools", max_tokens: 900, system: "Be a weather man.", tools, messages }) });
    assert.equal(r.status, 200, await r.clone().text());
    return { id: r.headers.get("x-rationale-id"), ...(await r.json()) };
  };
  const asked = [{ role: "user", content: "What is it like outside?" }];
  const one = await send(asked);
  const use = one.content.find((c) => c.type === "tool_use");
  await send([...asked, { role: "assistant", content: one.content }, { role: "user", content: [{ type: "tool_result", tool_use_id: use.id, content: "sunny, 21 degrees" }] }]);
  await until("the record", async () => (await json(`${root}/api/v1/history/sessions/${session}`)).llm_interaction_count === 2);
  await page.goto(`${root}/sessions/${session}`);
  const call = page.locator(`li.event[id="${one.id}"] .toolcall`);
  await call.getByText("sunny, 21 degrees").waitFor();
  await page.getByText("System prompt", { exact: true }).click();
  await page.getByText("Be a weather man.").waitFor();
});

// ---- 500 steps ----

for (const width of [1280, 360])
  test(`of ${STEPS} steps only what is near is drawn, light and dark, at ${width}`, async ({ page }) => {
    const looks = LOOKS.filter((look) => look.width === width);
    const drawnFew = async () => assert.ok((await nodes(page)) < NODES_MAX, `${await nodes(page)} elements`);
    await open(page, "/sessions/long-run");
    await eachLook(page, async (look) => {
      await drawnFew();
      await shot(page, `long-run-${look.name}`);
    }, looks);
    const height = await page.evaluate(() => document.documentElement.scrollHeight);
    assert.ok(height < 60_000, `${height} px`);
    for (let i = 0; i < 12; i++) {
      await page.mouse.wheel(0, 2500);
      await page.evaluate(() => new Promise(requestAnimationFrame));
      await drawnFew();
    }
    await eachLook(page, async (look) => {
      await until("rows are drawn where one is", async () => (await page.locator("li.event").count()) > 5);
      assert.ok(!(await isTooWide(page)), `too wide, ${look.name}`);
      await shot(page, `long-run-below-${look.name}`);
    }, looks);
  }, { width, height: width === 360 ? 740 : 860 });

test("the time axis has a lane for each model and tool, ticks and a legend", async ({ page }) => {
  await open(page, "/sessions/long-run");
  const axis = page.locator(".axis");
  assert.deepEqual(await axis.locator(".axis-names span").allInnerTexts(), ["r1-small", "search_code", "run_tests", "list_dir", "read_file", "edit_file"]);
  assert.match(await axis.locator(".axis-legend").innerText(), /a model writes[\s\S]*it thinks[\s\S]*a tool works[\s\S]*failed/);
  assert.match(await axis.locator(".axis-ticks").innerText(), /^0\n10 min\n[\s\S]*49 min/);
  assert.ok((await axis.evaluate((e) => e.querySelectorAll("*").length)) < 150);
  const lanes = axis.locator("svg");
  const box = await lanes.boundingBox();
  await lanes.click({ position: { x: box.width * 0.5, y: 10 } });
  await until("a step of the middle", async () => /long-1[12]\d/.test(await page.evaluate(() => document.activeElement?.id ?? "")));
});

test("the outline stays, follows, and leads", async ({ page }) => {
  await open(page, "/sessions/long-run");
  const outline = page.locator("nav.outline");
  assert.ok((await outline.locator("a").count()) < 80);
  await page.mouse.move(500, 700);
  await page.mouse.wheel(0, 9000);
  await until("it follows", async () => /→|search|read|run|edit|list|Part/.test(await outline.locator("[aria-current]").innerText()));
  assert.ok(await outline.isVisible());
  const top = (await outline.boundingBox()).y;
  assert.ok(top >= 0 && top < 200, `${top}`);
  // The outline scrolls by itself while the page still scrolls.
  const last = outline.locator('a[href="#long-249"]');
  await until("the last step", async () => {
    await outline.locator(".outline-box").evaluate((e) => (e.scrollTop = e.scrollHeight));
    if (await last.count()) await last.click({ timeout: 1000 });
    return (await page.evaluate(() => document.activeElement?.id)) === "long-249";
  });
});

test("next error, cut and tool: by key and by button, said as well", async ({ page }) => {
  await open(page, "/sessions/long-run");
  const at = () => page.evaluate(() => document.activeElement?.id ?? "");
  await page.keyboard.press("e");
  await until("the first error", async () => (await at()) === "long-tool-41");
  await holds("it is said", async () => assert.equal(await page.getByTestId("announcer").innerText(), "Step 84 of 499: run_tests, failed"));
  await page.keyboard.press("e");
  await until("the second", async () => (await at()) === "long-tool-101");
  await page.keyboard.press("Shift+E");
  await until("back", async () => (await at()) === "long-tool-41");
  await page.keyboard.press("c");
  await until("the next cut", async () => (await at()) === "long-82");
  await page.keyboard.press("t");
  await until("the next tool", async () => (await at()) === "long-tool-82");
  await page.getByRole("button", { name: /^Errors/ }).click();
  await until("by button", async () => (await at()) === "long-tool-101");
  await holds("below the bar and in sight", async () => {
    const { y } = await page.locator('[id="long-tool-101"]').boundingBox();
    assert.ok(y > 20 && y < 300, String(y));
  });
});

test("a link to a step in the middle leads there, open", async ({ page }) => {
  await open(page, "/sessions/long-run#long-180");
  const step = page.locator('li.event.marked[id="long-180"]');
  await step.waitFor();
  await until("in sight", async () => ((await step.boundingBox())?.y ?? -1) >= 0 && (await step.boundingBox()).y < 400);
  assert.equal(await step.locator(".fold").getAttribute("aria-expanded"), "true");
  assert.ok((await nodes(page)) < NODES_MAX);
});

test("100 kB of reasoning is drawn a part at a time", async ({ page }) => {
  await open(page, "/sessions/long-run#long-100");
  const step = page.locator('li.event[id="long-100"]');
  await step.locator(".reasoning-head").click();
  await step.getByText("Step 3.", { exact: true }).waitFor();
  assert.ok((await nodes(page)) < NODES_MAX, `${await nodes(page)} elements`);
  for (let i = 0; i < 10; i++) {
    await page.mouse.wheel(0, 2000);
    await page.evaluate(() => new Promise(requestAnimationFrame));
    assert.ok((await nodes(page)) < NODES_MAX, `${await nodes(page)} elements`);
  }
});

test("steps fold one by one and all at once", async ({ page }) => {
  await open(page, "/sessions/long-run");
  const first = page.locator('li.event[id="long-0"]');
  assert.match(await first.innerText(), /→ search_code\s+src\/pool_0\.c/);
  await first.locator(".fold").click();
  await first.locator(".usage").waitFor();
  await first.locator(".fold").click();
  await first.locator(".usage").waitFor({ state: "detached" });
  await page.getByRole("button", { name: "Open steps" }).click();
  await first.locator(".usage").waitFor();
  assert.ok((await nodes(page)) < NODES_MAX, `${await nodes(page)} elements`);
});

test("a session that is slow to load is not loaded again without a pause while its calls run", async ({ page }) => {
  await open(page, "/sessions/long-run");
  let loads = 0;
  page.on("request", (r) => (loads += Number(r.url().endsWith("/history/sessions/long-run"))));
  dev.state.slow = 500;
  try {
    for (let i = 0; i < 30; i++) {
      dev.tell({ type: "llm_interaction", interaction_id: `again-${i}`, session_id: "long-run", success: true, status: 200 });
      await sleep(200);
    }
    assert.ok(loads >= 1 && loads <= 4, `${loads} loads in 6 s`);
  } finally {
    dev.state.slow = 0;
  }
});

// ---- links in both directions ----

test("a run, its session and each of their steps lead to one another", async ({ page }) => {
  const run = await json(`${agents}/api/v1/agents/librarian/runs`, { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify({ input: "Is Dune here?" }) });
  await page.goto(`${agents}/sessions/${run.session_id}`);
  const step = page.locator("li.event.model").first();
  await step.waitFor();
  const id = await step.getAttribute("id");
  await step.getByRole("link", { name: "run", exact: true }).click();
  await page.locator(`article.run li.event.marked[id="${id}"]`).waitFor();
  await page.locator(`[id="${id}"]`).getByRole("link", { name: "call" }).click();
  await page.locator(`li.event.marked[id="${id}"]`).waitFor();
  assert.ok(page.url().includes("/sessions/"));
});

await finish(() => dev.stop());
