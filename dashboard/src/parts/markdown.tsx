// markdown.tsx - what a model wrote, shown: elements made from the tree, never from markup. Pictures
// are not loaded, links lead nowhere until one has seen where. SPDX-License-Identifier: Apache-2.0
import { Fragment, h, type ComponentChildren } from "preact";
import { useEffect, useMemo, useRef, useState } from "preact/hooks";
import { blocks, followable, type Block, type Inline } from "../markdown";
import { Copy, Text } from "./basics";
import { confirmLink } from "./link";

// Longer text is shown as it stands: it was not written to be read.
const MARKDOWN_MAX = 300_000;

function Leave({ url, children }: { url: string; children: ComponentChildren }) {
  const to = followable(url);
  if (!to) return <>{children} <span class="address">(<Text>{url}</Text>)</span></>;
  return <button type="button" class="link" title={to} onClick={() => confirmLink(to)}>{children}</button>;
}

function Words({ of }: { of: Inline[] }) {
  return <>{of.map((n) => <Word n={n} />)}</>;
}

function Word({ n }: { n: Inline }) {
  switch (n.kind) {
    case "text":
      return <Text>{n.text}</Text>;
    case "code":
      return <code><Text>{n.text}</Text></code>;
    case "break":
      return <br />;
    case "link":
      return <Leave url={n.url}><Words of={n.inner} /></Leave>;
    case "image":
      return <span class="picture"><Leave url={n.url}>picture: <Text>{n.text || "no description"}</Text></Leave></span>;
    default:
      return h(n.kind, null, <Words of={n.inner} />);
  }
}

function Blocks({ of }: { of: Block[] }) {
  return <>{of.map((b) => <One b={b} />)}</>;
}

function Item({ of }: { of: Block[] }) {
  const [first] = of;
  if (of.length === 1 && first?.kind === "paragraph") return <li><Words of={first.inner} /></li>;
  return <li><Blocks of={of} /></li>;
}

function One({ b }: { b: Block }) {
  switch (b.kind) {
    case "paragraph":
      return <p><Words of={b.inner} /></p>;
    case "heading":
      // One inside of a list or quotation is no heading of the page.
      return b.rank ? h(`h${b.rank}`, { class: `level-${b.level}` }, <Words of={b.inner} />) : <p class={`level-${b.level}`}><strong><Words of={b.inner} /></strong></p>;
    case "rule":
      return <hr />;
    case "code":
      return <Code text={b.text} language={b.language} />;
    case "quote":
      return <blockquote><Blocks of={b.blocks} /></blockquote>;
    case "list":
      return b.ordered
        ? <ol start={b.start}>{b.items.map((i) => <Item of={i} />)}</ol>
        : <ul>{b.items.map((i) => <Item of={i} />)}</ul>;
    case "table":
      return (
        <div class="wide">
          <table>
            <thead><tr>{b.head.map((c) => <th><Words of={c} /></th>)}</tr></thead>
            <tbody>{b.rows.map((r) => <tr>{r.map((c) => <td><Words of={c} /></td>)}</tr>)}</tbody>
          </table>
        </div>
      );
  }
}

function Code({ text, language }: { text: string; language: string }) {
  return (
    <div class="fenced">
      <div class="fenced-head"><span>{language}</span><Copy text={text} /></div>
      <pre tabIndex={text.split("\n").some((l) => l.length > 36) ? 0 : undefined}><Text>{text}</Text></pre>
    </div>
  );
}

// Headings are below those of the page they stand in, and none skips a rank, whatever the model wrote.
function ranked(tree: Block[]): Block[] {
  const levels = tree.flatMap((b) => (b.kind === "heading" ? [b.level] : []));
  const least = Math.min(...levels);
  let last = 2;
  for (const b of tree) if (b.kind === "heading") b.rank = last = Math.min(6, last + 1, b.level - least + 3);
  return tree;
}

export function Markdown({ text, dim = false }: { text: string; dim?: boolean }) {
  const tree = useMemo(() => (text.length > MARKDOWN_MAX ? null : ranked(blocks(text))), [text]);
  return (
    <div class={`markdown ${dim ? "dim" : ""}`} dir="auto">
      {tree ? <Fragment><Blocks of={tree} /></Fragment> : <pre class="code"><Text>{text}</Text></pre>}
    </div>
  );
}

// ---- text of a hundred pages ----

const LONG_MIN = 24_000, CHUNK_SIZE = 8_000;

// Cut at empty lines outside of code, so that each part can be drawn alone.
function chunks(text: string): string[] {
  const out: string[] = [];
  let fenced = false, size = 0, part: string[] = [];
  for (const line of text.split("\n")) {
    if (/^\s*(```|~~~)/.test(line)) fenced = !fenced;
    part.push(line);
    size += line.length + 1;
    if ((size > CHUNK_SIZE && !fenced && !line.trim()) || size > 4 * CHUNK_SIZE) {
      out.push(part.join("\n"));
      part = [];
      size = 0;
    }
  }
  return part.length ? [...out, part.join("\n")] : out;
}

// Drawn while it is near the window; else a box of its height.
function Chunk({ text, dim }: { text: string; dim: boolean }) {
  const box = useRef<HTMLDivElement>(null);
  const height = useRef(Math.ceil(text.length / 90) * 24);
  const [near, setNear] = useState(false);
  useEffect(() => {
    const see = new IntersectionObserver(([e]) => {
      if (e && !e.isIntersecting && e.boundingClientRect.height) height.current = e.boundingClientRect.height;
      setNear(Boolean(e?.isIntersecting));
    }, { rootMargin: "800px" });
    if (box.current) see.observe(box.current);
    return () => see.disconnect();
  }, []);
  return <div ref={box} style={near ? {} : { height: `${height.current}px` }}>{near ? <Markdown text={text} dim={dim} /> : null}</div>;
}

export function LongMarkdown({ text, dim = false }: { text: string; dim?: boolean }) {
  const parts = useMemo(() => (text.length > LONG_MIN ? chunks(text) : null), [text]);
  return parts ? <div class="long">{parts.map((p) => <Chunk text={p} dim={dim} />)}</div> : <Markdown text={text} dim={dim} />;
}
