// policy.test.mjs - the policy page: results that need a review, versions, re-verification and proposals.
// SPDX-License-Identifier: Apache-2.0
import { assert, eachLook, faults, finish, isTooWide, json, LOOKS, NARROW, shot, test, until } from "./kit.mjs";

const root = process.env.DASH_POLICY;
const headers = { "content-type": "application/json" };
let n = 0;

const post = (path, body) => json(`${root}${path}`, { method: "POST", headers, body: JSON.stringify(body) });

// Verifies a case with a new name; the model's verdict is met at any age.
async function review(criterion, { age = 20, model = false, ...metadata } = {}) {
  const case_id = `case-${++n}`;
  const field = (field_name, value, page) => ({ field_name, value, confidence: 0.95, doc_id: "note-1", page });
  await post("/reason/auth-review", {
    case_bundle: { case_id, policy_id: "plan", fields: [field("age", age, 1), field("city", "Trento", 3)], metadata: { policy_document_id: "plan", criteria: [criterion], ...metadata } },
    options: { controller: model ? "react" : "heuristic" },
  });
  return case_id;
}

const waiting = (page, id) => page.locator("section.queue li.verdict", { hasText: id });

// Reviews all results that earlier tests left waiting.
async function clear() {
  const { results } = await json(`${root}/api/v1/policy/review?limit=100`);
  for (const r of results) await post("/api/v1/policy/review", { result_id: r.result_id, status: "uncertain", reason: "of an earlier test" });
}

test("readers that disagree: the sentence in its page beside the fact, light and dark, wide and narrow", async ({ page }) => {
  await clear();
  const id = await review("age", { model: true });
  await page.goto(`${root}/policy`);
  const card = waiting(page, id);
  await card.getByText("readers_disagree").waitFor();
  await card.locator("mark").waitFor();
  assert.equal(await card.locator("mark").innerText(), "The patient must be 25 years of age or older.");
  assert.match(await card.locator(".page").innerText(), /plan 3, page 1/);
  assert.match(await card.locator(".case-facts .used").innerText(), /age\s*20/);
  assert.equal(await card.locator(".case-facts .used").count(), 1, "the city is not what it is about");
  assert.match(await card.locator(".readers").innerText(), /model says\s*met.*rules say\s*missing/s);
  await page.getByRole("heading", { name: "Rollout" }).waitFor();
  const order = await page.locator("h2").allInnerTexts();
  const at = (name) => order.findIndex((t) => t.startsWith(name));
  assert.ok(at("To review") < at("Verdicts") && at("Verdicts") < at("Rollout"), `verdicts come first: ${order}`);
  await eachLook(page, async (look) => {
    assert.ok(!(await isTooWide(page)), `nothing is wider than the page, ${look.name}`);
    await shot(page, `policy-review-${look.name}`, { fullPage: true });
    assert.deepEqual(await faults(page), [], look.name);
  });
}, NARROW);

test("the session of a case names its prompt, and leads to it", async ({ page }) => {
  const id = await review("age", { model: true });
  const [{ session_id, prompt_id }] = (await json(`${root}/api/v1/policy/results?case_id=${id}`)).results;
  await page.goto(`${root}/sessions/${session_id}`);
  const link = page.locator("p.facts").getByRole("link", { name: prompt_id });
  await link.waitFor();
  assert.equal(await page.getByText("Metadata").count(), 0, "it is all that the metadata has");
  await link.click();
  await page.getByText(prompt_id).first().waitFor();
});

test("how a verdict was made is told in sentences and named fields", async ({ page }) => {
  const id = await review("age", { model: true });
  await page.goto(`${root}/policy?find=${id}`);
  const card = page.locator("ol.verdicts > li", { hasText: id }).filter({ has: page.getByRole("button", { name: /How it was decided/ }) });
  await card.getByRole("button", { name: /How it was decided/ }).click();
  const words = await card.locator(".trace").innerText();
  assert.match(words, /searched the policy: .+\s+section\s+\w.* · p\. \d/);
  assert.match(words, /asked for a fact of the case: age\s+value\s+20/);
  assert.match(words, /proposed a verdict: status met/);
  assert.doesNotMatch(words, /[{}[\]]|success|pi_search|facts_get|=/);
});

test("a person's verdict with a reason leaves the queue and is on the verdict", async ({ page }) => {
  await clear();
  const id = await review("posture");
  await page.goto(`${root}/policy`);
  const card = waiting(page, id);
  await card.getByRole("button", { name: "Record the verdict" }).click();
  await card.getByText("Choose a verdict and say why.").waitFor();
  await card.getByLabel("missing").check();
  await card.getByLabel("Reason").fill("the note says nothing of it");
  await card.getByRole("button", { name: "Record the verdict" }).click();
  await card.waitFor({ state: "detached" });
  const verdict = page.locator("main > ol.verdicts > li.verdict, ol.verdicts > li.verdict", { hasText: id }).last();
  await verdict.getByText("changed it from uncertain to missing").waitFor();
  await verdict.getByText("the note says nothing of it").first().waitFor();
  const { cases } = await json(`${root}/api/v1/policy/labels`);
  const made = cases.find((c) => c.case_id === id);
  assert.deepEqual(made.expect.map((x) => [x.criterion_id, x.status]), [["posture", "missing"]]);
  await verdict.getByRole("button", { name: "Review it again" }).click();
  await verdict.locator(".said").getByText("the note says nothing of it").waitFor();
});

test("a verdict that fails to be recorded keeps what was typed", async ({ page }) => {
  await clear();
  const id = await review("posture");
  await page.goto(`${root}/policy`);
  const card = waiting(page, id);
  await page.route("**/api/v1/policy/review", (route) => (route.request().method() === "POST" ? route.fulfill({ status: 503, contentType: "application/json", body: '{"detail":{"error":"unavailable","message":"the store is away"}}' }) : route.continue()));
  await card.getByRole("radio", { name: "met", exact: true }).check();
  await card.getByLabel("Reason").fill("seen");
  await card.getByRole("button", { name: "Record the verdict" }).click();
  await card.getByText("the store is away").waitFor();
  assert.equal(await card.getByLabel("Reason").inputValue(), "seen");
}, { complaints: [/503.*review/] });

test("versions, and what flips when cases are verified again, light and dark, wide and narrow", async ({ page }) => {
  await clear();
  const id = await review("age", { age: 20, policy_version_id: "1" });
  await page.goto(`${root}/policy`);
  const doc = page.locator("section.document");
  await doc.getByText("2021-01-01 to 2022-12-31").waitFor();
  await doc.getByText("in force", { exact: true }).waitFor();
  await eachLook(page, async (look) => {
    const cut = await doc.locator("select").evaluate((e) => {
      const [is, copy] = [e.offsetWidth, e.cloneNode(true)];
      copy.style.cssText = "position: absolute; width: auto; max-width: none";
      e.after(copy);
      const whole = copy.offsetWidth;
      copy.remove();
      return Math.min(whole, e.closest("section").clientWidth / 2) - is;
    });
    assert.ok(cut < 2, `the select has room for its text: ${cut} px are missing, ${look.name}`);
  });
  await doc.locator("select").selectOption("2");
  await doc.getByRole("button", { name: "Verify the cases again" }).click();
  const flip = doc.locator(".flips li", { hasText: id });
  await flip.waitFor();
  assert.match(await flip.innerText(), /was\s*met\s*version 1.*18 years.*is\s*missing\s*version 2.*21 years/s);
  await until("the end", async () => (await doc.locator(".reverified").innerText()).includes("done"));
  await eachLook(page, async (look) => {
    assert.ok(!(await isTooWide(page)), `nothing is wider than the page, ${look.name}`);
    await doc.scrollIntoViewIfNeeded();
    await shot(page, `policy-reverify-${look.name}`);
    assert.deepEqual(await faults(page), [], look.name);
  });
}, NARROW);

test("criteria that a model proposes are confirmed or rejected, light and dark", async ({ page }) => {
  const { proposals } = await json(`${root}/api/v1/policy/proposals?state=proposed`);
  if (proposals.length) await post("/api/v1/policy/proposals", { ids: proposals.map((p) => p.id), state: "rejected" });
  await page.goto(`${root}/policy`);
  const card = page.locator("section[aria-label=Proposals]");
  await card.getByRole("button", { name: "Propose criteria of plan" }).click();
  await card.getByText("2 proposed; dropped: 1 quote not found, 2 invalid, 1 duplicate").waitFor();
  const row = card.locator("li", { hasText: "minimum_age" });
  assert.match(await row.innerText(), /Coverage > Age.*The patient must be 25 years/s);
  await eachLook(page, async (look) => {
    await shot(page, `policy-proposals-${look.name}`, { fullPage: true });
    assert.deepEqual(await faults(page), [], look.name);
  }, LOOKS.filter((look) => look.width > NARROW.width));
  await row.getByRole("button", { name: "Confirm minimum_age" }).click();
  await row.waitFor({ state: "detached" });
  await card.getByRole("button", { name: "Reject referral" }).click();
  await card.locator("li").waitFor({ state: "detached" });
  const got = (await json(`${root}/api/v1/policy/proposals?document_id=plan`)).proposals.slice(-2);
  assert.deepEqual(got.map((p) => [p.name, p.state]), [["minimum_age", "confirmed"], ["referral", "rejected"]]);
});

await finish();
