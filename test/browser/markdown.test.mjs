// markdown.test.mjs - the Markdown parser without a page: the trees it builds; no text makes it slow or nest
// deeply. SPDX-License-Identifier: Apache-2.0
import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import { assert, finish, test } from "./kit.mjs";

const home = fileURLToPath(new URL("../../dashboard/", import.meta.url));
const folder = mkdtempSync(join(tmpdir(), "markdown-"));
const load = async (name) => {
  const out = join(folder, `${name}.mjs`);
  execFileSync(join(home, "node_modules/.bin/esbuild"), [`${home}src/${name}.ts`, "--bundle", "--format=esm", `--outfile=${out}`, "--log-level=error"]);
  return import(pathToFileURL(out));
};
const { blocks, inlines, followable } = await load("markdown");
const { pieces, plain } = await load("visible");
const { duration, time } = await load("format");

// A tree as one line: kinds and texts.
function show(n) {
  if (Array.isArray(n)) return n.map(show).join("");
  if (typeof n === "string") return n;
  if (n.kind === "text") return n.text;
  if (n.kind === "break") return "/";
  if (n.kind === "code" && n.language === undefined) return `\`${n.text}\``;
  const inner = show(n.inner ?? n.blocks ?? n.items ?? n.text ?? []);
  return `<${[`${n.kind}${n.level ?? ""}`, n.url, inner].filter(Boolean).join(" ")}>`;
}

const INLINE = {
  "plain words": "plain words",
  "**bold** and *em* and ~~gone~~": "<strong bold> and <em em> and <del gone>",
  "__bold__ but snake_case_name stays": "<strong bold> but snake_case_name stays",
  "2 * 3 * 4": "2 * 3 * 4",
  "**open": "**open",
  "`code **not bold**`": "`code **not bold**`",
  "``a ` b``": "`a ` b`",
  "[words](https://example.com/a_(b))": "<link https://example.com/a_(b) words>",
  "[**bold**](https://example.com)": "<link https://example.com <strong bold>>",
  "[https://a.example](https://b.example)": "<link https://b.example https://a.example>",
  "see https://example.com/x, then": "see <link https://example.com/x https://example.com/x>, then",
  "<https://example.com>": "<link https://example.com https://example.com>",
  "![alt](https://example.com/p.png)": "<image https://example.com/p.png alt>",
  "\\*not em\\*": "*not em*",
  "<b>no tags</b>": "<b>no tags</b>",
  "a  \nb": "a/b",
};
test("inside a line", async () => {
  for (const [text, want] of Object.entries(INLINE)) assert.equal(show(inlines(text)), want, text);
});

const BLOCK = {
  "one\n\ntwo": "<paragraph one><paragraph two>",
  "# Title #\ntext": "<heading1 Title><paragraph text>",
  "- a\n- b\n  - c": "<list <paragraph a><paragraph b><list <paragraph c>>>",
  "1. a\n\n2. b": "<list <paragraph a><paragraph b>>",
  "> quoted\n> more\n\nout": "<quote <paragraph quoted\nmore>><paragraph out>",
  "```js\n# no heading\n```\nafter": "<code # no heading><paragraph after>",
  "```\nnever closed": "<code never closed>",
  "---": "<rule>",
  "text\n- item": "<paragraph text><list <paragraph item>>",
  "#no heading": "<paragraph #no heading>",
};
test("lines into blocks", async () => {
  for (const [text, want] of Object.entries(BLOCK)) assert.equal(show(blocks(text)), want, text);
  const [table] = blocks("| a | b |\n|---|:-:|\n| 1 | 2 \\| 3 |\n");
  assert.equal(table.kind, "table");
  assert.deepEqual([table.head.map(show), table.rows.map((r) => r.map(show))], [["a", "b"], [["1", "2 | 3"]]]);
});

test("no text makes it slow", async () => {
  const n = 20_000;
  const bad = ["*", "**a ", "_a ", "`", "`` ` ", "[", "![", "[](", "](", "<", "<http://", "http://a)", "> ", "- ", "1. ", "#", "# ", " ", "\t", "|", "|-", "| a |\n|---|\n", "~~a ", "\\", "```\n", "\n", "  \n", "h", "*a_b~~c`", "[a](b ", "> - ", "    - x\n", "&lt;"];
  for (const piece of bad)
    for (const text of [piece.repeat(n), `${piece.repeat(n)}x`, `x ${piece.repeat(n)}\n${piece.repeat(10)}`]) {
      const from = process.cpuUsage();
      blocks(text);
      const took = process.cpuUsage(from).user / 1000; // CPU time: other processes do not count
      assert.ok(took < 1500, `${JSON.stringify(piece)} took ${Math.round(took)} ms`);
    }
});

test("no address but the web's and mail can be followed", async () => {
  for (const url of ["javascript:alert(1)", " javascript:alert(1)", "JAVASCRIPT:alert(1)", "java\nscript:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "blob:x", "/relative", "//host/x", "about:blank", "ws://x"])
    assert.equal(followable(url), null, url);
  assert.equal(followable("https://example.com/a b"), "https://example.com/a%20b");
  assert.match(followable("https://\u0430pple.example/"), /xn--/);
});

test("what cannot be seen is written out, and the rest stays", async () => {
  assert.equal(plain("a\u202eb\u0000c\r\nd\te"), "a⟨U+202E⟩b⟨U+0000⟩c\nd\te");
  assert.equal(plain("👩‍👩‍👧 می‌خواهم é"), "👩‍👩‍👧 می‌خواهم é");
  assert.deepEqual(pieces("x\u{e0041}y"), [{ text: "x", control: false }, { text: "U+E0041", control: true }, { text: "y", control: false }]);
});

test("durations have the words of the commands, and a time of another year has its year", async () => {
  const words = { 0: "0 ms", 999: "999 ms", 1049: "1.0 s", 9960: "10.0 s", 59_940: "59.9 s", 59_960: "1 min 0 s", 3599_400: "59 min 59 s", 3599_600: "1 h 0 min", 7199_000: "2 h 0 min", 86_399_000: "1 d 0 h", 180_000_000: "2 d 2 h" };
  for (const [ms, want] of Object.entries(words)) assert.equal(duration(Number(ms)), want, ms);
  const now = new Date(), last = new Date(now.getFullYear() - 1, 5, 7, 8, 9, 10);
  assert.equal(time(last.getTime() * 1000), `7 Jun ${now.getFullYear() - 1}, 08:09:10`);
});

await finish(() => rmSync(folder, { recursive: true }));
