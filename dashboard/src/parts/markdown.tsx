// markdown.tsx - what a model wrote, shown: elements made from the tree, never from markup. Pictures
// are not loaded, links lead nowhere until one has seen where. SPDX-License-Identifier: Apache-2.0
import { Fragment, h, type ComponentChildren } from "preact";
import { useMemo } from "preact/hooks";
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
      // Below the headings of the page it stands in.
      return h(`h${Math.min(6, b.level + 3)}`, { class: `level-${b.level}` }, <Words of={b.inner} />);
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
      <pre><Text>{text}</Text></pre>
    </div>
  );
}

export function Markdown({ text, dim = false }: { text: string; dim?: boolean }) {
  const tree = useMemo(() => (text.length > MARKDOWN_MAX ? null : blocks(text)), [text]);
  return (
    <div class={`markdown ${dim ? "dim" : ""}`} dir="auto">
      {tree ? <Fragment><Blocks of={tree} /></Fragment> : <pre class="code"><Text>{text}</Text></pre>}
    </div>
  );
}
