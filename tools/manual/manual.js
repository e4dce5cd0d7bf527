// manual.js - the search and the colours of the manual. SPDX-License-Identifier: Apache-2.0
const THEME = "rationale.theme"; // the dashboard uses the same
const NEXT = { auto: "light", light: "dark", dark: "auto" };
const SHOWN = 30;
const box = document.getElementById("search");
const found = document.getElementById("found");
const button = document.getElementById("theme");

function storedTheme() {
  try {
    return localStorage.getItem(THEME) ?? "auto";
  } catch {
    return "auto";
  }
}

function applyTheme(theme) {
  const root = document.documentElement;
  if (theme === "light" || theme === "dark") root.dataset.theme = theme;
  else delete root.dataset.theme;
  button.textContent = theme[0].toUpperCase() + theme.slice(1);
  button.setAttribute("aria-label", `Colours: ${theme}`);
}

// The index: pages, sections, and a map from each word to its sections. It is read once, at the first search.
let index;
async function readIndex() {
  const got = await (await fetch("/docs/search.json")).json();
  const words = new Map();
  for (const entry of got.words.split(" ")) {
    const [word, numbers] = entry.split(":");
    let at = 0;
    words.set(word, numbers.split(",").map((n) => (at += parseInt(n, 36))));
  }
  return { ...got, words };
}

// Sections that have every word of the query, or a word that begins with it; those with the words in the title first.
function findSections({ pages, sections, words }, query) {
  const asked = query.toLowerCase().match(/[a-z0-9]+(?:[_.-][a-z0-9]+)*/g) ?? [];
  const hits = asked.map((q) => {
    const all = new Map();
    for (const [word, where] of words) {
      if (!word.startsWith(q)) continue;
      for (const n of where) all.set(n, Math.max(all.get(n) ?? 0, word === q ? 2 : 1));
    }
    return all;
  });
  if (!hits.length) return [];
  const scored = [];
  for (const n of hits[0].keys()) {
    if (!hits.every((h) => h.has(n))) continue;
    const [page, anchor, title] = sections[n];
    const head = `${title} ${pages[page][1]}`.toLowerCase();
    const score = hits.reduce((sum, h, i) => sum + h.get(n) + (head.includes(asked[i]) ? 4 : 0), 0);
    scored.push({ score, n, page: pages[page], anchor, title });
  }
  return scored.sort((a, b) => b.score - a.score || a.n - b.n);
}

function draw(query, results) {
  const made = [];
  const note = document.createElement("p");
  note.textContent = results.length ? `${results.length} section${results.length === 1 ? "" : "s"}` : `Nothing in the manual has all words of “${query}”.`;
  made.push(note);
  const list = document.createElement("ol");
  for (const r of results.slice(0, SHOWN)) {
    const item = document.createElement("li");
    const link = document.createElement("a");
    link.href = `/docs/${r.page[0]}#${r.anchor}`;
    link.textContent = r.title === r.page[1] ? r.title : `${r.page[1]} › ${r.title}`;
    link.addEventListener("click", () => (found.hidden = true));
    item.append(link);
    list.append(item);
  }
  made.push(list);
  found.replaceChildren(...made);
}

async function search() {
  const query = box.value.trim();
  found.hidden = !query;
  if (!query) return;
  index ??= readIndex();
  try {
    const results = findSections(await index, query);
    if (box.value.trim() === query) draw(query, results);
  } catch {
    index = undefined;
    found.textContent = "The gateway does not answer.";
  }
}

applyTheme(storedTheme());
button.hidden = false;
button.addEventListener("click", () => {
  const next = NEXT[storedTheme()] ?? "auto";
  try {
    localStorage.setItem(THEME, next);
  } catch {
    // a browser without storage forgets the choice
  }
  applyTheme(next);
});
box.addEventListener("input", search);
box.form.addEventListener("submit", (e) => {
  e.preventDefault();
  found.querySelector("a")?.click();
});
document.addEventListener("keydown", (e) => {
  if (e.key === "/" && !/^(INPUT|TEXTAREA)$/.test(document.activeElement?.tagName ?? "")) {
    e.preventDefault();
    box.focus();
  } else if (e.key === "Escape") {
    found.hidden = true;
    box.blur();
  }
});
