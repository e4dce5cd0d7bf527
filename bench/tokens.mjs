// The token counter beside gpt-tokenizer, on the same text, in one run:
//
//     node bench/tokens.mjs TOKENS_BENCH SOURCE_ROOT
//
// Both are measured in CPU time and by their best round, so what else the machine does matters less.
// SPDX-License-Identifier: Apache-2.0
import { execFileSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'

const [, , bench, root] = process.argv
const packageDir = join(root, 'tools/vocab/node_modules/gpt-tokenizer')
const folder = mkdtempSync(join(tmpdir(), 'rationale-tokens-'))
const path = join(folder, 'text')
const options = { disallowedSpecial: new Set() }
const ROUNDS = 8

function best(run) {
  let least = Infinity
  for (let i = 0; i < ROUNDS; i++) {
    const from = process.cpuUsage()
    run()
    const { user, system } = process.cpuUsage(from)
    least = Math.min(least, (user + system) / 1e3)
  }
  return least
}

try {
  writeFileSync(path, execFileSync(process.execPath, [join(root, 'bench/tokens_text.mjs'), root],
    { maxBuffer: 1 << 26 }))
  const text = readFileSync(path, 'utf8')
  const size = Buffer.byteLength(text)
  const ours = {}
  for (const line of execFileSync(bench, [path]).toString().trim().split('\n')) {
    const [vocab, name, value] = line.split(' ')
    ours[vocab] ??= {}
    ours[vocab][name] = Number(value)
  }
  for (const [vocab, row] of Object.entries(ours)) {
    const { encode, countTokens } = await import(pathToFileURL(join(packageDir, `esm/encoding/${vocab}.js`)))
    const count = size / best(() => countTokens(text, options)) / 1e3
    const ids = size / best(() => encode(text, options)) / 1e3
    const times = (a, b) => `${(a / b).toFixed(1)} times`
    if (countTokens(text, options) !== row.tokens) throw new Error(`${vocab}: the counts differ`)
    console.log(`${vocab}: ${size} bytes of mixed text, ${row.tokens} tokens
  count     ${row.count} MB/s, gpt-tokenizer ${count.toFixed(1)}: ${times(row.count, count)}
  encode    ${row.encode} MB/s, gpt-tokenizer ${ids.toFixed(1)}: ${times(row.encode, ids)}
  fed in pieces of 4096 bytes        ${row.feed4096} MB/s
  of 4 bytes, counted after each     ${row.feed4} MB/s
  100 KB of letters without a space  ${row.word_ms} ms, of spaces ${row.blank_ms} ms`)
  }
} finally {
  rmSync(folder, { recursive: true })
}
