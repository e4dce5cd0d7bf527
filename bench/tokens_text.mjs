// A megabyte of mixed text for the token bench: half English, two fifths code, the rest other
// scripts. node tokens_text.mjs SOURCE_ROOT > text
//
// The English is made from words and sentence patterns below; the code and some of the prose is the
// repository's own. Made from a fixed seed: the same tree gives the same text.
// SPDX-License-Identifier: Apache-2.0
import { readFileSync, readdirSync } from 'node:fs'
import { join } from 'node:path'

const root = process.argv[2]
const SIZE = 1_000_000

let state = 20250101
function random(below) {
  state = (Math.imul(state, 1664525) + 1013904223) >>> 0
  return Math.floor((state / 2 ** 32) * below)
}
const pick = (list) => list[random(list.length)]
const list = (text) => text.trim().split(/\s+/)

const nouns = list(`time year people way day man thing woman life child world school state family
  student group country problem hand part place case week company system program question work
  government number night point home water room mother area money story fact month lot right study
  book eye job word business issue side kind head house service friend father power hour game line
  end member law car city community name president team minute idea body information back parent
  face others level office door health person art war history party result change morning reason
  research girl guy moment air teacher force education server request response cluster deployment
  incident latency budget token model provider stream answer reasoning tool agent workflow policy
  customer order refund shipment warehouse replica database index query transaction timeout retry
  dashboard engineer operator runbook certificate gateway header payload schema checkpoint`)
const verbs = list(`takes makes knows gets sees finds gives tells works calls tries asks needs feels
  becomes leaves puts means keeps lets begins seems helps talks turns starts shows hears plays runs
  moves likes lives believes holds brings happens writes provides sits stands loses pays meets
  includes continues sets learns changes leads understands watches follows stops creates speaks reads
  allows adds spends grows opens walks wins offers remembers considers appears buys waits serves
  sends expects builds stays falls cuts reaches kills remains suggests raises passes sells requires
  reports decides pulls returns explains hopes develops carries breaks receives agrees supports`)
const adjectives = list(`good new first last long great little own other old right big high different
  small large next early young important few public bad same able political whole real better best
  free strong possible sure certain clear recent special difficult available likely short single
  medical current wrong private past foreign fine common poor natural significant similar hot dead
  central happy serious ready simple left physical general environmental financial blue democratic
  dark various entire close legal religious cold final main green nice huge popular traditional
  cultural distributed idempotent eventual concurrent resilient observable deterministic asynchronous`)
const adverbs = list(`never always often usually quickly slowly carefully finally recently already
  simply clearly really probably actually especially immediately eventually certainly exactly`)
const names = list(`Anna Boris Chen Dmitri Elena Farah Greta Hassan Ingrid Jamal Keiko Luis Maria Noah
  Olga Pedro Quentin Rosa Sven Tomoko Ursula Viktor Wanda Xiao Yusuf Zara Lisbon Nairobi Osaka Toronto`)
const patterns = [
  () => `The ${pick(adjectives)} ${pick(nouns)} ${pick(verbs)} the ${pick(nouns)} of a ${pick(adjectives)} ${pick(nouns)}.`,
  () => `${pick(names)} ${pick(adverbs)} ${pick(verbs)} that every ${pick(nouns)} ${pick(verbs)}, and we don't know why.`,
  () => `"It's not the ${pick(nouns)}," said ${pick(names)}, "but the ${pick(nouns)} that ${pick(verbs)} it."`,
  () => `In ${1900 + random(125)}, about ${random(100)}% of each ${pick(nouns)} was ${pick(adjectives)}; they've since fallen to ${random(1000)},${100 + random(900)}.`,
  () => `If a ${pick(nouns)} ${pick(verbs)} before the ${pick(nouns)} (or after it), then a ${pick(adjectives)} ${pick(nouns)} ${pick(adverbs)} ${pick(verbs)}.`,
  () => `I'll tell you what ${pick(names)} ${pick(verbs)}: ${pick(adjectives)} ${pick(nouns)}, ${pick(adjectives)} ${pick(nouns)} and no ${pick(nouns)} at all!`,
  () => `What does the ${pick(nouns)}'s ${pick(nouns)} have to do with ${pick(adjectives)} ${pick(nouns)} - or with ${pick(names)}?`,
]
const others = [
  'Der schnelle Läufer überquert die schmale Brücke, bevor es regnet; größere Umwege lohnen sich nicht.',
  'Où est la bibliothèque ? Elle a été déplacée près de la gare, à côté du café où l’on déjeune.',
  'Мы проверили журнал событий, но причина задержки пока не найдена.',
  '系统在夜间重新启动，因此部分请求没有得到回答。请稍后再试。',
  '昨日のデプロイの後、応答時間が少し長くなりました。原因を調べています。',
  '어제 배포한 뒤에 응답 시간이 조금 길어졌습니다.',
  'تمت إعادة تشغيل الخدمة بنجاح بعد التحديث الأخير.',
  'हमने कल रात सेवा को फिर से चालू किया और सब कुछ ठीक है।',
  'El año pasado la compañía abrió tres oficinas más; ¿quién lo habría dicho?',
  'Η υπηρεσία λειτουργεί ξανά κανονικά από το πρωί.',
  'All good now 🎉👍🏽 — thanks to the on-call team 🧑‍🚒🚀 (temperature 21 °C, ½ load, π ≈ 3.14159)',
]

function* files(folder) {
  const entries = readdirSync(folder, { withFileTypes: true })
  for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
    const path = join(folder, entry.name)
    if (/^(\.|node_modules$|build|package-lock)/.test(entry.name)) continue
    if (entry.isDirectory()) yield* files(path)
    else if (/\.(c|h|mjs|md|ts|tsx|build|sql)$/.test(entry.name)) yield path
  }
}
const code = [...files(root)].map((path) => readFileSync(path, 'utf8')).join('\n').split('\n')

let text = ''
let size = 0
let line = 0
while (size < SIZE) {
  const kind = random(100)
  let part = ''
  if (kind < 50) part = Array.from({ length: 3 + random(5) }, () => pick(patterns)()).join(' ') + '\n\n'
  else if (kind < 92) {
    const n = 8 + random(14)
    for (let i = 0; i < n; i++) part += code[line++ % code.length] + '\n'
  } else part = pick(others) + '\n'
  text += part
  size += Buffer.byteLength(part)
}
process.stdout.write(Buffer.from(text).subarray(0, SIZE - 3).toString().replace(/\ufffd+$/, '') + '\n')
