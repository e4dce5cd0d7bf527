// Our token ids against those of the reference package, id by id, on texts of every kind.
//
//     node tokens_reference.mjs TOKENS_DUMP SOURCE_ROOT [SEED [ROUNDS]]
//
// The texts are made here from a seed, and taken from the repository's own files and from the
// package's own test plans. Random bytes are decoded as a browser does, since the reference takes
// strings only; we get the bytes.
//
// The reference loses byte order marks in its own vocabulary, so texts with one are not compared;
// test/tokens_test.c has ids for them.
//
// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from 'node:child_process'
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [, , dump, root, seedText = '1', roundsText = '1'] = process.argv
const vocabDir = join(root, 'tools/vocab')
const packageDir = join(vocabDir, 'node_modules/gpt-tokenizer')
const names = ['o200k_base', 'cl100k_base']

let state = BigInt(seedText) * 0x9e3779b97f4a7c15n + 1n
function random(below) {
  state ^= (state << 13n) & 0xffffffffffffffffn
  state ^= state >> 7n
  state ^= (state << 17n) & 0xffffffffffffffffn
  return Number((state >> 11n) % BigInt(below))
}
const pick = (list) => list[random(list.length)]
const times = (n, make) => Array.from({ length: n }, make)

// Where node knows another Unicode than our table, only what both call the same is tried.
function knownAlike() {
  const kinds = new Map()
  const lines = readFileSync(join(vocabDir, 'classes.txt'), 'utf8').split('\n')
  const version = /Unicode (\S+)\./.exec(lines[0])[1]
  if (version === process.versions.unicode) return () => true
  for (const line of lines.filter((l) => l && !l.startsWith('#'))) {
    const [first, last, kind] = line.split(' ')
    for (let p = parseInt(first, 16), i = 0; p <= parseInt(last, 16); p++, i++)
      kinds.set(p, kind[i % kind.length])
  }
  console.log(`Unicode: ours ${version}, node's ${process.versions.unicode}`)
  const pattern = {
    R: /^\s$/u, S: /^(?!\ufeff)\s$/u, U: /^[\p{Lu}\p{Lt}]$/u, L: /^\p{Ll}$/u, B: /^[\p{Lm}\p{Lo}]$/u,
    M: /^\p{M}$/u, N: /^\p{N}$/u,
  }
  return (point) => {
    const kind = kinds.get(point)
    const text = String.fromCodePoint(point)
    return kind ? pattern[kind].test(text) : !/^(?!\ufeff)[\s\p{L}\p{M}\p{N}]$/u.test(text)
  }
}
const alike = knownAlike()
const seen = new Map()
function allAlike(text) {
  for (const character of text) {
    const point = character.codePointAt(0)
    if (!seen.has(point)) seen.set(point, alike(point))
    if (!seen.get(point)) return false
  }
  return true
}

const words = `the of and to in is that for it as was with be by on not he his but at are this have
  from or had an they which one you were all her she there would their we him been has when who will
  no more if out so up said what its about than into them can only other time new some could these
  two may first then do any like my now over such our man me even most made after also well many
  before must years where much your way down should because long each just state those people too
  mr good make world still see men work life get between never under through great back own last
  antidisestablishmentarianism tokenizer latency kubernetes rollback JSON HTTP XMLHttpRequest
  getElementById snake_case_name camelCase don't I'll we're they've it's I'd I'm O'Neill rock'n'roll
  DON'T WE'LL naïve façade Zürich 3.14159 2024-01-31 42 1000000 0xDEADBEEF a_b c++ C# <|endoftext|>
  `.split(/\s+/)
const joints = [' ', ' ', ' ', ' ', ' ', ', ', '. ', '\n', '\n\n', '  ', '\t', '; ', ' - ', '"', '']
const english = () => times(5 + random(200), () => pick(words) + pick(joints)).join('')

// Class by class, what the split patterns treat differently, in dense mixtures.
const edges = [
  ' ', ' ', ' ', '\n', '\r', '\r\n', '\t', '\v', '\f', '\u00a0', '\u3000', '\u2028', '\u0085',
  'a', 'z', 's', 't', 'll', 'A', 'B', 'S', 'LL', 'é', 'É', 'ſ', 'ǅ', 'ʰ', 'ª', '中', 'ا',
  'ห', '\u0301', '\u0e31', '\ufe0f', '1', '9', '123', '٣', '½', 'Ⅷ', '!', '/', '//', "'", "'", "'s",
  "'ll", "'RE", "'Ve", "'l", '-', '=', '_', '亚洲', 'AV', 'don', 'I', '😀', '❤', '\u200d', '\u0000', '\u001f', '<|', '\ufffd',
]
const dense = () => times(1 + random(14), () => pick(edges)).join('')

function point() {
  for (;;) {
    const p = random(4) ? random(0x3000) : random(3) ? random(0x20000) : random(0x110000)
    if ((p < 0xd800 || p > 0xdfff) && alike(p)) return String.fromCodePoint(p)
  }
}
const blocks = [
  0x00c0, 0x0370, 0x0400, 0x0530, 0x0590, 0x0600, 0x0900, 0x0980, 0x0b80, 0x0e00, 0x0f00, 0x10a0,
  0x1100, 0x1200, 0x1780, 0x1e00, 0x1f00, 0x2000, 0x2190, 0x2200, 0x2600, 0x3040, 0x30a0, 0x4e00,
  0x5b00, 0x9000, 0xac00, 0xc800, 0xff00, 0x10400, 0x1d400, 0x1f1e6, 0x1f300, 0x1f600, 0x20000,
]
function script() {
  const base = pick(blocks)
  const letter = () => {
    const p = base + random(96)
    return alike(p) ? String.fromCodePoint(p) : 'x'
  }
  return times(3 + random(40), () => times(1 + random(9), letter).join('') + pick(joints)).join('')
}
const emoji = () =>
  times(1 + random(20), () =>
    pick(['👩‍👩‍👧‍👦', '🏳️‍🌈', '👍🏽', '🇩🇪', '1️⃣', '☂️', '🧑‍💻', 'ok ', 'é', 'e\u0301', ' ', '\n'])).join('')
const unicode = () => times(1 + random(60), point).join('')
const bytes = () => Buffer.from(times(1 + random(300), () => random(256)))
const torn = () => {
  const whole = Buffer.from(script() + emoji())
  return whole.subarray(random(4), whole.length - random(4))
}
const letters = 'abcdefghijklmnopqrstuvwxyz'
function long() {
  const n = 65 + random(1500)
  const alphabet = pick([letters, letters.toUpperCase(), 'ab', 'a', ' ', '\n', ' \n', '=', '-/', 'aA',
    '中文字', '中A', 'ก\u0e31', '\u3000', '#\n', 'é', '😀', letters + letters.toUpperCase(), 'ACGT', '!?'])
  const set = [...alphabet]
  return times(n, () => pick(set)).join('') + pick(['', 'x', ' x', '!', "'s", "'l", "'", '\n', '1'])
}

function* files(folder) {
  for (const entry of readdirSync(folder, { withFileTypes: true })) {
    const path = join(folder, entry.name)
    if (/^(\.|node_modules$|venv$|build)/.test(entry.name)) continue
    if (entry.isDirectory()) yield* files(path)
    else if (entry.isFile()) yield path
  }
}
const rounds = Number(roundsText)
// In one round the seed chooses an eighth of the files: the reference needs most of a minute for all, and
// one is much like another. Eight rounds read them all.
const code = () => [...files(root)].filter((_, i) => (i + Number(seedText)) % 8 < rounds)
  .map((path) => readFileSync(path)).filter((b) => b.length < 200000)

const suites = {
  english: times(300 * rounds, english),
  code: code(),
  dense: times(30000 * rounds, dense),
  unicode: times(2000 * rounds, unicode),
  scripts: times(800 * rounds, script),
  emoji: times(300 * rounds, emoji),
  bytes: times(2000 * rounds, bytes),
  torn: times(500 * rounds, torn),
  long: times(300 * rounds, long),
}

function ours(name, buffers) {
  const input = Buffer.concat(buffers.flatMap((b) => [Buffer.from(`${b.length}\n`), b]))
  const run = spawnSync(dump, [name], { input, maxBuffer: 1 << 30 })
  if (run.status !== 0) throw new Error(`${dump}: ${run.stderr}`)
  return run.stdout.toString().split('\n').slice(0, -1)
}

function plans(name) {
  const text = readFileSync(join(packageDir, 'data/TestPlans.txt'), 'utf8')
  const pattern = /EncodingName: (\S+)\r?\nSample: ([^]*?)\r?\nEncoded: \[([^\]]*)\]/g
  return [...text.matchAll(pattern)].filter((m) => m[1] === name)
    .map((m) => ({ sample: m[2], ids: m[3].replaceAll(',', '') }))
}

let failed = 0
function report(name, suite, text, want, got) {
  if (failed++ < 5)
    console.log(`${name} ${suite}: ${JSON.stringify(text.slice(0, 300))}\n  reference ${want}\n  ours      ${got}`)
}

const decoder = new TextDecoder('utf-8', { ignoreBOM: true })
for (const name of names) {
  const url = pathToFileURL(join(packageDir, 'esm/encoding', `${name}.js`))
  const { encode } = await import(url)

  const cases = plans(name)
  ours(name, cases.map((c) => Buffer.from(c.sample))).forEach((got, i) => {
    if (got !== cases[i].ids) report(name, 'plans', cases[i].sample, cases[i].ids, got)
  })
  console.log(`${name} plans: ${cases.length} texts`)

  for (const [suite, texts] of Object.entries(suites)) {
    const buffers = texts.map((t) => (typeof t === 'string' ? Buffer.from(t) : t))
    const lines = ours(name, buffers)
    let tokens = 0
    let skipped = 0
    buffers.forEach((buffer, i) => {
      const text = decoder.decode(buffer)
      if (text.includes('\ufeff') || !allAlike(text)) {
        skipped++
        return
      }
      const want = encode(text, { disallowedSpecial: new Set() })
      tokens += want.length
      if (lines[i] !== want.join(' ')) report(name, suite, text, want.join(' '), lines[i])
    })
    const size = buffers.reduce((sum, b) => sum + b.length, 0)
    console.log(`${name} ${suite}: ${buffers.length} texts, ${size} bytes, ${tokens} ids` +
      (skipped ? `, ${skipped} not compared` : ''))
  }
}
console.log(failed ? `${failed} texts differ` : 'all ids equal')
process.exit(failed ? 1 : 0)
