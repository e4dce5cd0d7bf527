// diff.ts - two texts line by line: what stayed, what went, what came. SPDX-License-Identifier: Apache-2.0
export interface Line {
  kind: "same" | "added" | "removed";
  text: string;
}

const LINES_MAX = 2000; // a longer text counts as new, because the table grows with the square

export function diff(from: string, to: string): Line[] {
  const a = from.split("\n"), b = to.split("\n");
  if (!from) return b.map((text) => ({ kind: "added", text }));
  if (a.length > LINES_MAX || b.length > LINES_MAX) return [...a.map((text): Line => ({ kind: "removed", text })), ...b.map((text): Line => ({ kind: "added", text }))];
  const width = b.length + 1;
  const common = new Uint16Array((a.length + 1) * width); // of what begins at each pair of lines
  const at = (i: number, j: number) => common[i * width + j] ?? 0;
  for (let i = a.length - 1; i >= 0; i--)
    for (let j = b.length - 1; j >= 0; j--) common[i * width + j] = a[i] === b[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
  const out: Line[] = [];
  let i = 0, j = 0;
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) out.push({ kind: "same", text: a[i++] ?? "" }), j++;
    else if (i < a.length && (j === b.length || at(i + 1, j) >= at(i, j + 1))) out.push({ kind: "removed", text: a[i++] ?? "" });
    else out.push({ kind: "added", text: b[j++] ?? "" });
  }
  return out;
}
