// visible.ts - text of others made harmless to look at: what would steer the eye or hide words
// (controls, bidi overrides, invisible letters) is written out. SPDX-License-Identifier: Apache-2.0

// C0 without tab and line feed, DEL, C1, marks and overrides of direction, invisible separators, and
// the tag letters that spell ASCII nobody sees. The joiners of emoji and of Persian stay.
const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u00ad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb]|[\u{e0000}-\u{e007f}]/gu;

function code(c: string): string {
  return `U+${(c.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, "0")}`;
}

export interface Piece {
  text: string;
  control: boolean;
}

export function pieces(raw: string): Piece[] {
  const text = raw.replace(/\r\n/g, "\n");
  const out: Piece[] = [];
  let at = 0;
  for (const found of text.matchAll(HIDDEN)) {
    if (found.index > at) out.push({ text: text.slice(at, found.index), control: false });
    out.push({ text: code(found[0]), control: true });
    at = found.index + found[0].length;
  }
  if (at < text.length) out.push({ text: text.slice(at), control: false });
  return out;
}

// The same in one string, for text that is appended as it comes.
export function plain(raw: string): string {
  return raw.replace(/\r\n/g, "\n").replace(HIDDEN, (c) => `⟨${code(c)}⟩`);
}
