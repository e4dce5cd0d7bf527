// What the split patterns need to know of Unicode, as ranges: node tools/vocab/classes.mjs > tools/vocab/classes.txt
//
// Asked of the regular expressions of node itself, because the reference tokenizer asks them too. The
// byte order mark is white space to ECMAScript only; the reference cannot encode it and OpenAI's own
// pattern does not take it for white space, so neither do we.
// SPDX-License-Identifier: Apache-2.0
const kinds = [
  ['R', /^[\r\n]$/u],
  ['S', /^(?!\ufeff)\s$/u],
  ['U', /^[\p{Lu}\p{Lt}]$/u],
  ['L', /^\p{Ll}$/u],
  ['B', /^[\p{Lm}\p{Lo}]$/u],
  ['M', /^\p{M}$/u],
  ['N', /^\p{N}$/u],
]

function kindOf(point) {
  if (point >= 0xd800 && point < 0xe000) return '.'
  const text = String.fromCodePoint(point)
  return kinds.find(([, pattern]) => pattern.test(text))?.[0] ?? '.'
}

// Runs of one kind; then runs of single U and L in turn become one range of kind UL or LU.
const ranges = []
for (let point = 0; point < 0x110000; point++) {
  const kind = kindOf(point)
  const last = ranges.at(-1)
  if (last?.kind === kind) last.last = point
  else ranges.push({ first: point, last: point, kind })
}
const joined = []
for (const range of ranges) {
  const last = joined.at(-1)
  const single = range.first === range.last && (range.kind === 'U' || range.kind === 'L')
  if (single && last?.single && last.last + 1 === range.first && last.tail !== range.kind) {
    if (last.kind.length === 1) last.kind += range.kind
    last.last = range.last
    last.tail = range.kind
  } else {
    joined.push({ ...range, single, tail: range.kind })
  }
}

const hex = (point) => point.toString(16).toUpperCase().padStart(4, '0')
console.log(`# Made by tools/vocab/classes.mjs from Unicode ${process.versions.unicode}. First, last, kind:
# R CR and LF, S other white space, U Lu and Lt, L Ll, B Lm and Lo, M marks, N numbers; UL and LU
# take turns; what is not listed is none of these. White space is ECMAScript's \\s without U+FEFF.`)
for (const range of joined)
  if (range.kind !== '.') console.log(hex(range.first), hex(range.last), range.kind)
