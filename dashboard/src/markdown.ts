// markdown.ts - Markdown of models, read into a tree. It has no notion of HTML: what is not Markdown
// is text. Time is linear in the text, depth is bounded. SPDX-License-Identifier: Apache-2.0

export type Inline =
  | { kind: "text"; text: string }
  | { kind: "code"; text: string }
  | { kind: "strong" | "em" | "del"; inner: Inline[] }
  | { kind: "link"; url: string; inner: Inline[] }
  | { kind: "image"; url: string; text: string }
  | { kind: "break" };

export type Block =
  | { kind: "paragraph"; inner: Inline[] }
  | { kind: "heading"; level: number; rank?: number; inner: Inline[] }
  | { kind: "code"; language: string; text: string }
  | { kind: "quote"; blocks: Block[] }
  | { kind: "list"; ordered: boolean; start: number; items: Block[][] }
  | { kind: "table"; head: Inline[][]; rows: Inline[][][] }
  | { kind: "rule" };

const DEPTH_MAX = 8;
const TABLE_COLUMNS_MAX = 30;
const DIVIDER_MAX = 1000;

function endWithout(text: string, letters: string): string {
  let n = text.length;
  while (n > 0 && letters.includes(text[n - 1] ?? "")) n--;
  return text.slice(0, n);
}

// ---- inside a line ----

const LINK = /!?\[([^[\]\n]{0,500})\]\(\s{0,4}<?([^\s()<>]{1,2000}(?:\([^\s()<>]{0,500}\))?)>?(?:\s{1,4}"[^"\n]{0,300}")?\s{0,4}\)/y;
const ANGLE = /<(https?:\/\/[^\s<>]{1,2000}|mailto:[^\s<>]{1,300})>/y;
const BARE = /https?:\/\/[^\s<>"'`|\\^{}[\]]{1,2000}/y;
const PLAIN = /[^\\`*_~![<h\n]+/y;
const MARKS: [string, "strong" | "em" | "del"][] = [["**", "strong"], ["__", "strong"], ["~~", "del"], ["*", "em"], ["_", "em"]];

function sticky(re: RegExp, text: string, at: number): RegExpExecArray | null {
  re.lastIndex = at;
  return re.exec(text);
}

class Line {
  private out: Inline[] = [];
  private words = "";
  private at = 0;
  private lost = new Set<string>(); // marks that are not closed from here on

  constructor(private readonly text: string, private readonly depth: number, private readonly linked: boolean) {}

  read(): Inline[] {
    // A link's own words hold no other link.
    const links = this.linked ? [] : [this.link, this.angle, this.bare];
    const steps = [this.plain, this.escape, this.newline, this.code, ...links, this.mark];
    while (this.at < this.text.length) {
      if (!steps.some((step) => step.call(this))) this.words += this.text[this.at++];
    }
    this.flush();
    return this.out;
  }

  private flush(): void {
    if (this.words) this.out.push({ kind: "text", text: this.words });
    this.words = "";
  }

  private put(node: Inline, size: number): true {
    this.flush();
    this.out.push(node);
    this.at += size;
    return true;
  }

  private plain(): boolean {
    const found = sticky(PLAIN, this.text, this.at);
    if (!found) return false;
    this.words += found[0];
    this.at += found[0].length;
    return true;
  }

  private escape(): boolean {
    const next = this.text[this.at + 1];
    if (this.text[this.at] !== "\\" || !next || !/[!-/:-@[-`{-~]/.test(next)) return false;
    this.words += next;
    this.at += 2;
    return true;
  }

  private newline(): boolean {
    if (this.text[this.at] !== "\n") return false;
    if (this.text.slice(Math.max(0, this.at - 2), this.at) !== "  ") {
      this.words += "\n";
      this.at++;
      return true;
    }
    this.words = this.words.trimEnd();
    return this.put({ kind: "break" }, 1);
  }

  private code(): boolean {
    if (this.text[this.at] !== "`") return false;
    let n = 1;
    while (this.text[this.at + n] === "`") n++;
    const fence = "`".repeat(n);
    const end = this.close(fence, this.at + n);
    if (end < 0) {
      this.words += fence;
      this.at += n;
      return true;
    }
    const inner = this.text.slice(this.at + n, end);
    return this.put({ kind: "code", text: / .* /.test(inner) && inner.trim() ? inner.replace(/^ | $/g, "") : inner }, end + n - this.at);
  }

  // Where the mark stands next, or -1; asked once for a mark that is not there.
  private close(mark: string, from: number): number {
    if (this.lost.has(mark)) return -1;
    const end = this.text.indexOf(mark, from);
    if (end < 0) this.lost.add(mark);
    return end;
  }

  private link(): boolean {
    const c = this.text[this.at];
    if (c !== "[" && !(c === "!" && this.text[this.at + 1] === "[")) return false;
    const found = sticky(LINK, this.text, this.at);
    if (!found) return false;
    const [all, label = "", url = ""] = found;
    if (c === "!") return this.put({ kind: "image", url, text: label }, all.length);
    return this.put({ kind: "link", url, inner: inlines(label, this.depth + 1, true) }, all.length);
  }

  private angle(): boolean {
    const found = this.text[this.at] === "<" ? sticky(ANGLE, this.text, this.at) : null;
    if (!found) return false;
    const url = found[1] ?? "";
    return this.put({ kind: "link", url, inner: [{ kind: "text", text: url }] }, found[0].length);
  }

  private bare(): boolean {
    const found = this.text[this.at] === "h" ? sticky(BARE, this.text, this.at) : null;
    if (!found) return false;
    const url = endWithout(found[0], ".,;:!?*_~)");
    return this.put({ kind: "link", url, inner: [{ kind: "text", text: url }] }, url.length);
  }

  private mark(): boolean {
    for (const [mark, kind] of MARKS) {
      if (!this.text.startsWith(mark, this.at)) continue;
      const from = this.at + mark.length;
      const word = mark[0] === "_" && /\w/.test(this.text[this.at - 1] ?? "");
      const end = word || /\s/.test(this.text[from] ?? " ") || this.depth >= DEPTH_MAX ? -1 : this.close(mark, from + 1);
      if (end < 0 || /\s/.test(this.text[end - 1] ?? "")) {
        this.words += mark;
        this.at = from;
        return true;
      }
      return this.put({ kind, inner: inlines(this.text.slice(from, end), this.depth + 1, this.linked) }, end + mark.length - this.at);
    }
    return false;
  }
}

export function inlines(text: string, depth = 0, linked = false): Inline[] {
  return depth > DEPTH_MAX ? [{ kind: "text", text }] : new Line(text, depth, linked).read();
}

// ---- lines into blocks ----

const FENCE = /^ {0,3}(`{3,}|~{3,})\s*([^`\n]{0,60})/;
const HEADING = /^ {0,3}(#{1,6})\s(.*)$/;
const RULE = /^ {0,3}([-*_])\s*(?:\1\s*){2,}$/;
const ITEM = /^( {0,9})([-*+]|\d{1,9}[.)])(\s+|$)(.*)$/;
const QUOTE = /^ {0,3}> ?(.*)$/;
const DIVIDER = /^ {0,3}\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/;

class Lines {
  private at = 0;
  private out: Block[] = [];

  constructor(private readonly lines: string[], private readonly depth: number) {}

  read(): Block[] {
    const steps = [this.blank, this.fence, this.heading, this.rule, this.quote, this.list, this.table, this.paragraph];
    while (this.at < this.lines.length) steps.some((step) => step.call(this));
    return this.out;
  }

  private get line(): string {
    return this.lines[this.at] ?? "";
  }

  private put(b: Block): true {
    this.out.push(b);
    return true;
  }

  private blank(): boolean {
    if (this.line.trim()) return false;
    this.at++;
    return true;
  }

  private fence(): boolean {
    const found = FENCE.exec(this.line);
    if (!found) return false;
    const mark = found[1] ?? "```";
    const body: string[] = [];
    this.at++;
    while (this.at < this.lines.length) {
      const line = this.lines[this.at++] ?? "";
      if (line.trim().startsWith(mark) && line.trim().replaceAll(mark[0] ?? "`", "") === "") break;
      body.push(line);
    }
    return this.put({ kind: "code", language: (found[2] ?? "").trim().split(/\s/)[0] ?? "", text: body.join("\n") });
  }

  private heading(): boolean {
    const found = HEADING.exec(this.line);
    if (!found) return false;
    this.at++;
    return this.put({ kind: "heading", level: (found[1] ?? "#").length, inner: inlines(endWithout(found[2] ?? "", " #").trimStart()) });
  }

  private rule(): boolean {
    if (!RULE.test(this.line)) return false;
    this.at++;
    return this.put({ kind: "rule" });
  }

  private quote(): boolean {
    if (this.depth >= DEPTH_MAX || !QUOTE.test(this.line)) return false;
    const body: string[] = [];
    for (let found; (found = QUOTE.exec(this.line)); this.at++) body.push(found[1] ?? "");
    return this.put({ kind: "quote", blocks: new Lines(body, this.depth + 1).read() });
  }

  private list(): boolean {
    const first = ITEM.exec(this.line);
    if (this.depth >= DEPTH_MAX || !first) return false;
    const indent = (first[1] ?? "").length;
    const ordered = /\d/.test(first[2] ?? "");
    const items: string[][] = [];
    for (let found; (found = ITEM.exec(this.line)) && (found[1] ?? "").length <= indent + 1 && /\d/.test(found[2] ?? "") === ordered; ) {
      const width = (found[1] ?? "").length + (found[2] ?? "").length + 1;
      const body = [found[4] ?? ""];
      this.at++;
      this.inside(width, indent, body);
      items.push(body);
    }
    return this.put({ kind: "list", ordered, start: parseInt(first[2] ?? "1", 10) || 1, items: items.map((i) => new Lines(i, this.depth + 1).read()) });
  }

  // The lines that belong to an item: indented ones, and those that go on its paragraph.
  private inside(width: number, indent: number, body: string[]): void {
    while (this.at < this.lines.length) {
      const line = this.line;
      const deep = /^ */.exec(line)?.[0].length ?? 0;
      if (!line.trim()) {
        const next = this.lines[this.at + 1] ?? "";
        if (!next.trim() || (/^ */.exec(next)?.[0].length ?? 0) <= indent) return void this.skipTo(next);
        body.push("");
      } else if (deep > indent + 1) body.push(line.slice(Math.min(deep, width)));
      else if (ITEM.test(line) || HEADING.test(line) || FENCE.test(line) || RULE.test(line) || QUOTE.test(line)) return;
      else body.push(line.trim());
      this.at++;
    }
  }

  // A blank line between two items of one list does not end it.
  private skipTo(next: string): void {
    if (ITEM.test(next)) this.at++;
  }

  private table(): boolean {
    const next = this.lines[this.at + 1];
    if (!this.line.includes("|") || !next?.includes("-") || next.length > DIVIDER_MAX || !DIVIDER.test(next)) return false;
    const head = cells(this.line);
    if (head.length < 2 || head.length !== cells(next).length) return false;
    const rows: Inline[][][] = [];
    for (this.at += 2; this.at < this.lines.length && this.line.includes("|"); this.at++) rows.push(cells(this.line).map((c) => inlines(c)));
    return this.put({ kind: "table", head: head.map((c) => inlines(c)), rows });
  }

  private paragraph(): boolean {
    const body = [this.line];
    for (this.at++; this.at < this.lines.length; this.at++) {
      const line = this.line;
      if (!line.trim() || FENCE.test(line) || HEADING.test(line) || QUOTE.test(line) || RULE.test(line)) break;
      if (this.depth < DEPTH_MAX && ITEM.test(line) && !/^ {0,3}\d{1,9}[.)]/.test(line)) break;
      if (/^ {0,3}1[.)]\s/.test(line) && this.depth < DEPTH_MAX) break;
      body.push(line.trimStart());
    }
    return this.put({ kind: "paragraph", inner: inlines(body.join("\n")) });
  }
}

function cells(line: string): string[] {
  const inner = line.trim().replace(/^\||\|$/g, "");
  return inner.split(/(?<!\\)\|/).slice(0, TABLE_COLUMNS_MAX).map((c) => c.trim().replaceAll("\\|", "|"));
}

export function blocks(text: string): Block[] {
  return new Lines(text.replace(/\r\n?/g, "\n").replaceAll("\t", "    ").split("\n"), 0).read();
}

// An address that may be followed, whole and in ASCII; else null.
export function followable(url: string): string | null {
  try {
    const u = new URL(url);
    return ["http:", "https:", "mailto:"].includes(u.protocol) ? u.href : null;
  } catch {
    return null;
  }
}
