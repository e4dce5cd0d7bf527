"""The Markdown of the manual, as HTML: the part of the language that its pages use.

    page = Page(text)           page.title, page.headings, page.blocks
    page.html(link, picture)    link(target) and picture(source) give the addresses, or None

Blocks are headings, paragraphs, lists, tables, quotations, code and comments. Inside of them are code, links,
pictures, bold and italic text. Text that the reader does not understand stays as it is, escaped.
"""
# SPDX-License-Identifier: Apache-2.0
import html
import re
from dataclasses import dataclass, field

ITEM = re.compile(r"( *)([-*]|\d+\.) +(.*)")
COMMENT = re.compile(r"<!--(.*?)-->", re.S)
PICTURE = re.compile(r'!\[([^\]]*)\]\(([^)\s]+)\)|<img src="([^"]+)" alt="([^"]*)"[^>]*>')
LINK = re.compile(r"\[((?:[^\[\]]|\[[^\]]*\])*)\]\(([^)\s]+)\)")


@dataclass
class Block:
    kind: str  # heading, text, list, table, quote, code, comment
    line: int
    text: str = ""
    level: int = 0  # of a heading
    info: str = ""  # of code: the words after its fence; "" if the block is indented
    anchor: str = ""  # of a heading
    items: list = field(default_factory=list)  # of a list: (text, blocks below it); of a table: rows of cells
    ordered: bool = False


def slug(text):
    """The anchor of a heading, as GitHub makes it."""
    text = LINK.sub(r"\1", text).replace("`", "").strip().lower()
    return re.sub(r"[^\w\- ]", "", text).replace(" ", "-")


def plain(text):
    """A text without its marks, for titles and the search."""
    text = LINK.sub(r"\1", PICTURE.sub(lambda m: m[1] or m[4] or "", text))
    return re.sub(r"\*\*|`", "", text)


def cells(line):
    return [c.strip().replace("\\|", "|") for c in re.split(r"(?<!\\)\|", line.strip()[1:-1])]


class Reader:
    def __init__(self, lines, first=1):
        self.lines, self.first, self.i = lines, first, 0
        self.blocks = []

    def take(self, wanted):
        """The following lines as long as they are wanted."""
        start = self.i
        while self.i < len(self.lines) and wanted(self.lines[self.i]):
            self.i += 1
        return self.lines[start:self.i]

    def add(self, kind, at, **more):
        self.blocks.append(Block(kind, self.first + at, **more))

    def fence(self, line, at):
        self.i += 1
        text = self.take(lambda l: not l.startswith("```"))
        if self.i == len(self.lines):
            raise ValueError(f"line {self.first + at}: a block of code without an end")
        self.i += 1
        self.add("code", at, text="\n".join(text) + "\n", info=line[3:].strip())

    def indented(self, at):
        while self.i < len(self.lines) and (self.lines[self.i].startswith("    ") or not self.lines[self.i]):
            self.i += 1
        text = "\n".join(l[4:] for l in self.lines[at:self.i]).rstrip("\n")
        self.add("code", at, text=text + "\n")

    def comment(self, at):
        while "-->" not in self.lines[self.i]:
            self.i += 1
        self.i += 1
        self.add("comment", at, text=COMMENT.search("\n".join(self.lines[at:self.i]))[1].strip())

    def list(self, first, at):
        depth, items = len(first[1]), []
        ordered = first[2] not in "-*"
        while self.i < len(self.lines) and (m := ITEM.match(self.lines[self.i])) and len(m[1]) == depth:
            start = self.i
            self.i += 1
            inner = depth + 2 if not ordered else depth + 3
            body = self.take(lambda l: l.startswith(" " * inner) or
                             (not l and self.more_below(inner)))
            below = Reader([m[3]] + [l[inner:] for l in body], self.first + start).read()
            items.append(below)
            if self.i < len(self.lines) and not self.lines[self.i]:
                after = self.lines[self.i + 1] if self.i + 1 < len(self.lines) else ""
                if (n := ITEM.match(after)) and len(n[1]) == depth:
                    self.i += 1
        self.add("list", at, items=items, ordered=ordered)

    def more_below(self, inner):
        """Whether an empty line is inside of a list item: the next line is indented like the item."""
        after = self.lines[self.i + 1] if self.i + 1 < len(self.lines) else ""
        return after.startswith(" " * inner)

    def table(self, at):
        rows = [cells(l) for l in self.take(lambda l: l.startswith("|"))]
        if len(rows) < 2 or not all(re.fullmatch(r":?-+:?", c) for c in rows[1]):
            raise ValueError(f"line {self.first + at}: a table without its second line")
        if len({len(r) for r in rows}) != 1:
            raise ValueError(f"line {self.first + at}: the rows of this table differ in their number of cells")
        self.add("table", at, items=[rows[0]] + rows[2:])

    def read(self):
        while self.i < len(self.lines):
            at, line = self.i, self.lines[self.i]
            if not line.strip():
                self.i += 1
            elif m := re.match(r"(#+) (.*)", line):
                self.i += 1
                self.add("heading", at, text=m[2], level=len(m[1]))
            elif line.startswith("```"):
                self.fence(line, at)
            elif line.startswith("    "):
                self.indented(at)
            elif line.startswith("<!--"):
                self.comment(at)
            elif m := ITEM.match(line):
                self.list(m, at)
            elif line.startswith("|"):
                self.table(at)
            elif line.startswith(">"):
                quoted = [l.removeprefix(">").removeprefix(" ") for l in self.take(lambda l: l.startswith(">"))]
                self.add("quote", at, items=Reader(quoted, self.first + at).read())
            else:
                text = self.take(lambda l: l.strip() and not re.match(r"```|\||#+ |<!--", l)
                                 and not (ITEM.match(l) and l != line))
                self.add("text", at, text="\n".join(text))
        return self.blocks


class Page:
    def __init__(self, text):
        self.blocks = Reader(text.split("\n")).read()
        self.headings, seen = [b for b in self.blocks if b.kind == "heading"], {}
        for b in self.headings:
            base = slug(b.text)
            b.anchor = base if base not in seen else f"{base}-{seen[base]}"
            seen[base] = seen.get(base, 0) + 1
        self.title = plain(self.headings[0].text) if self.headings else ""
        self.anchors = {b.anchor for b in self.headings}

    def html(self, link, picture):
        return Writer(link, picture).blocks(self.blocks)

    def sections(self):
        """(anchor, title, plain text) of each heading, for the search."""
        found = []
        for b in self.blocks:
            if b.kind == "heading":
                found.append([b.anchor, plain(b.text), ""])
            elif found:
                found[-1][2] += " " + block_text(b)
        return found

    def links(self):
        """Every link and picture with its line."""
        return [(line, t) for b in self.blocks for line, t in block_links(b)]


def block_parts(b):
    """The texts of a block, one level deep, and the blocks below it."""
    if b.kind == "table":
        return [c for row in b.items for c in row], []
    if b.kind == "list":
        return [], [x for item in b.items for x in item]
    if b.kind == "quote":
        return [], b.items
    return ([b.text] if b.kind in ("text", "heading", "code") else []), []


def block_raw(b):
    """The text of a block with its marks, without code blocks."""
    texts, below = block_parts(b)
    return "\n".join([] if b.kind == "code" else texts) + "\n".join(block_raw(x) for x in below)


def block_text(b):
    texts, below = block_parts(b)
    return " ".join([plain(t) for t in texts] + [block_text(x) for x in below])


def block_links(b):
    texts, below = block_parts(b)
    found = []
    if b.kind != "code":
        for t in texts:
            t = re.sub(r"(`+)(?!`).*?\1", "", t)
            found += [(b.line, m[2] or m[3]) for m in PICTURE.finditer(t)]
            found += [(b.line, m[2]) for m in LINK.finditer(PICTURE.sub("", t))]
    return found + [f for x in below for f in block_links(x)]


class Writer:
    def __init__(self, link, picture):
        self.link, self.picture = link, picture

    def inline(self, text):
        kept = []

        def keep(made):
            kept.append(made)
            return f"\0{len(kept) - 1}\0"

        def picture(m):
            source, alt = self.picture(m[2] or m[3]), html.escape(m[1] or m[4] or "")
            return keep(f'<img src="{html.escape(source)}" alt="{alt}">' if source else
                        f'<span class="picture">Picture: {alt}</span>')

        def link(m):
            target = self.link(m[2])
            return (keep(f'<a href="{html.escape(target)}">') + m[1] + keep("</a>")) if target else m[1]

        text = re.sub(r"(`+)(?!`)(.+?)(?<!`)\1(?!`)",
                      lambda m: keep(f"<code>{html.escape(m[2].strip(' ') or m[2])}</code>"), text, flags=re.S)
        text = LINK.sub(link, PICTURE.sub(picture, text))
        text = re.sub(r"<(https?://[^>\s]+)>", r"\1", text)
        text = re.sub(r"\\([*_`\[\]<>|\\])", lambda m: keep(html.escape(m[1])), text)
        text = html.escape(text, quote=False)
        text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", text, flags=re.S)
        text = re.sub(r"(?<![*\w])\*([^*\s][^*]*?)\*(?![*\w])", r"<em>\1</em>", text, flags=re.S)
        while "\0" in text:
            text = re.sub("\0(\\d+)\0", lambda m: kept[int(m[1])], text)
        return text

    def block(self, b, tight=False):
        if b.kind == "heading":
            return (f'<h{b.level} id="{b.anchor}">{self.inline(b.text)}'
                    + (f'<a class="anchor" href="#{b.anchor}" aria-label="Link to this section">#</a>'
                       if b.level > 1 else "") + f"</h{b.level}>")
        if b.kind == "text":
            return self.inline(b.text) if tight else f"<p>{self.inline(b.text)}</p>"
        if b.kind == "code":
            text = html.escape(b.text, quote=False)
            if b.info == "console":  # a selection leaves prompts out, so that commands can be pasted
                text = re.sub(r"^\$ ", '<span class="prompt">$ </span>', text, flags=re.M)
            return f"<pre><code>{text}</code></pre>"
        if b.kind == "quote":
            return f"<blockquote>{self.blocks(b.items)}</blockquote>"
        if b.kind == "table":
            return self.table(b)
        if b.kind == "list":
            tag = "ol" if b.ordered else "ul"
            items = "".join(f"<li>{self.blocks(i, True)}</li>" for i in b.items)
            return f"<{tag}>{items}</{tag}>"
        return ""

    def table(self, b):
        head, *rows = b.items
        top = "<thead><tr>" + "".join(f"<th>{self.inline(c)}</th>" for c in head) + "</tr></thead>"
        body = "".join("<tr>" + "".join(f"<td>{self.inline(c)}</td>" for c in row) + "</tr>" for row in rows)
        return f'<div class="wide"><table>{top if any(head) else ""}<tbody>{body}</tbody></table></div>'

    def blocks(self, blocks, tight=False):
        first = blocks[0] if blocks else None
        return "\n".join(self.block(b, tight and b is first) for b in blocks)
