/* suite.mjs - the requirements for every SDK as a table; each SDK has a driver.
 *
 * A driver turns a question into calls of its SDK, and the results into one form:
 *
 *     name         of the suite
 *     dialect      the kind of upstream with the same dialect
 *     ask(q)       q: {model, prompt, stream, show, think, tools, max, signal, key, bad, history}
 *                  returns {text, reasoning, calls: [{id, name, args}], stop, usage: {input, output,
 *                  reasoning}, seen: all received data, history: what to send back}
 *     answer(r, results)   the history with the results of r.calls
 *     refuses      {400, 401, 404, 429, 500: a function that checks the SDK's error}
 *     extras       tests of this SDK; through: those that make sense only with a gateway
 *     blind        it cannot see reasoning; keeps: it sends reasoning back itself;
 *                  noStreamTools, noStreamUsage: it cannot read them as this dialect streams them
 *
 * In direct mode the SDK connects to the provider: only the same dialect is tested, without the
 * gateway's additions.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import assert from 'node:assert/strict';
import {readFileSync} from 'node:fs';

export const ROOT = process.env.SDK_ROOT;
export const PROVIDER = process.env.SDK_PROVIDER;
export const KEY = process.env.SDK_KEY;
export const DIRECT = process.env.DIRECT === '1';
export const SHOW = {'x-rationale-reasoning': 'show'};
const models = JSON.parse(readFileSync(new URL('models.json', import.meta.url), 'utf8'));
const PATIENCE_MS = 60000;
const AT_ONCE = 4;

export const MARK = 'ponder';
export const SCHEMA = {
    type: 'object',
    properties: {city: {type: 'string', description: 'which city'}, note: {type: 'string'}},
    required: ['city'],
};
export const TOOLS = [
    {name: 'get_weather', description: 'The weather in a city', schema: SCHEMA},
    {name: 'get_time', description: 'The time in a city', schema: SCHEMA},
];

let nonce = 0;
export const prompt = () => `question ${process.pid}-${++nonce}. «é»`;
export const answerTo = (p) => `You said: ${p} Grüße, 世界 🌍.`;

/* The name under which an upstream of that kind has this behaviour. */
export function model(kind, slug) {
    const script = models.good[slug] ?? models.bad[slug];
    assert.ok(script, `models.json has no ${slug}`);
    if (!DIRECT) return `${kind}-${slug}`;
    return kind === 'openai' && /think|refuse/.test(script) && !script.includes('as:')
        ? `${script}+as:both` : script;
}

/* The provider's log entries that contain this text. */
export async function logged(text) {
    return (await fetch(`${PROVIDER}/__log?has=${encodeURIComponent(text)}`)).json();
}

export const sleep = (ms) => new Promise((done) => setTimeout(done, ms));

async function fails(promise) {
    try {
        await promise;
    } catch (e) {
        return e;
    }
    return null;
}

/* ---- requirements for each kind of upstream ---- */

const results = (r) => r.calls.map((c, i) => `result ${i} of ${c.name} is sunny`);

async function toolTrip(t, stream, slug, count) {
    const q = {model: t.model(slug), prompt: prompt(), stream, tools: TOOLS};
    const r = await t.ask(q);
    assert.equal(r.calls.length, count, JSON.stringify(r.seen).slice(0, 2000));
    assert.deepEqual(r.calls.map((c) => c.name), TOOLS.slice(0, count).map((x) => x.name));
    assert.deepEqual(r.calls.map((c) => c.args.city), ['Paris', 'Tōkyō'].slice(0, count));
    assert.ok(r.calls.every((c) => c.args.note.startsWith('for "question')), 'arguments are whole');
    assert.equal(new Set(r.calls.map((c) => c.id)).size, count, 'ids differ');
    const back = await t.ask({...q, history: t.driver.answer(r, results(r), q)});
    assert.equal(back.text, `The tools said: ${results(r).join(' | ')}.`);
    assert.equal(back.stop, 'end');
}

async function shown(t, stream, slug) {
    const q = {model: t.model(slug), prompt: prompt(), stream, show: true, think: true};
    const r = await t.ask(q);
    assert.equal(r.text, answerTo(q.prompt));
    assert.match(r.reasoning, /^Let me ponder this\. .*So I know\.$/s);
}

async function hidden(t, stream, slug) {
    const q = {model: t.model(slug), prompt: prompt(), stream};
    const r = await t.ask(q);
    assert.equal(r.text, answerTo(q.prompt));
    assert.ok(!JSON.stringify(r.seen).includes(MARK), `reasoning got out: ${JSON.stringify(r.seen)}`);
}

const each = {
    'says the answer': async (t) => {
        const q = {model: t.model('plain'), prompt: prompt()};
        const r = await t.ask(q);
        assert.equal(r.text, answerTo(q.prompt));
        assert.equal(r.stop, 'end');
        assert.ok(r.usage.input > 0 && r.usage.output > 0, JSON.stringify(r.usage));
    },
    'streams the answer': async (t) => {
        const q = {model: t.model('plain'), prompt: prompt(), stream: true};
        const r = await t.ask(q);
        assert.equal(r.text, answerTo(q.prompt));
        assert.equal(r.stop, 'end');
        assert.ok(r.seen.length > 3, `only ${r.seen.length} pieces: it was not streamed`);
        if (!t.driver.noStreamUsage)
            assert.ok(r.usage.input > 0 && r.usage.output > 0, JSON.stringify(r.usage));
    },
    'stops at the limit of tokens': async (t) => {
        const r = await t.ask({model: t.model('long'), prompt: prompt(), max: 40});
        assert.equal(r.stop, 'length');
        assert.ok(r.text.length < 400, r.text);
    },
    'calls a tool and hears the result': (t) => toolTrip(t, false, 'tools', 1),
    'calls a tool in a stream': (t) => toolTrip(t, true, 'tools', 1),
    'calls two tools at once': (t) => toolTrip(t, false, 'parallel', 2),
    'calls two tools at once in a stream': (t) => toolTrip(t, true, 'parallel', 2),
    'thinks, calls a tool and hears the result': (t) => toolTrip(t, true, 'think-tools', 1),
    'shows reasoning': (t) => shown(t, false, 'think'),
    'shows reasoning in a stream': (t) => shown(t, true, 'think'),
    'asks the provider for the reasoning it shows': (t) => shown(t, true, 'asks'),
    'reads a stream of single bytes': (t) => shown(t, true, 'drip'),
    'counts reasoning in the usage': async (t) => {
        for (const stream of [false, true]) {
            const r = await t.ask({model: t.model('think'), prompt: prompt(), stream, show: true,
                                   think: true});
            assert.ok(r.usage.reasoning > 3 && r.usage.reasoning <= r.usage.output,
                      JSON.stringify(r.usage));
        }
    },
    'hides reasoning': (t) => hidden(t, false, 'think'),
    'hides reasoning in a stream': (t) => hidden(t, true, 'think'),
    'hides what stands in tags': async (t) => {
        await hidden(t, false, 'think-tags');
        await hidden(t, true, 'think-tags');
    },
    /* The provider refuses a tool result unless the reasoning of its call comes back unchanged. */
    'brings back what was thought before a tool call': async (t) => {
        await toolTrip(t, false, 'keeps', 1);
        if (!t.driver.noStreamTools) await toolTrip(t, true, 'keeps', 1);
    },
    'sees that a stream was cut': async (t) => {
        for (const slug of ['cut', 'reset', 'mid']) {
            const e = await fails(t.ask({model: t.model(slug), prompt: prompt(), stream: true}));
            assert.ok(e, `${slug}: the SDK took it for whole`);
        }
    },
    'ends the upstream when it is aborted': async (t) => {
        const p = prompt(), mark = p.split(' ')[1]; /* the prompt may be escaped in several ways */
        const control = new AbortController();
        let at = 0;
        const abort = () => {
            at ||= Date.now();
            control.abort();
        };
        await fails(t.ask({model: t.model('endless'), prompt: p, stream: true, abort,
                           signal: control.signal}));
        assert.ok(at, 'nothing came before the abort');
        for (let i = 0; i < 1500; i++) {
            const [entry] = await logged(mark);
            if (entry?.closed_ms) {
                const ms = entry.closed_ms - at;
                console.log(`  ${t.name}: upstream closed ${ms.toFixed(1)} ms after the abort`);
                return;
            }
            await sleep(20);
        }
        assert.fail('the provider still holds the connection');
    },
    'keeps 16 streams apart': async (t) => {
        const all = Array.from({length: 16}, () => ({model: t.model('busy'), prompt: prompt(),
                                                     stream: true}));
        const replies = await Promise.all(all.map((q) => t.ask(q)));
        replies.forEach((r, i) => assert.ok(r.text.startsWith(answerTo(all[i].prompt)), r.text));
        assert.equal(new Set(replies.map((r) => r.text.split(' ').length)).size, 1);
    },
};

/* Claims that some SDKs cannot prove. */
const only = {
    'calls a tool in a stream': (d) => !d.noStreamTools,
    'calls two tools at once in a stream': (d) => !d.noStreamTools,
    'thinks, calls a tool and hears the result': (d) => !d.noStreamTools,
    'shows reasoning': (d) => !d.blind,
    'shows reasoning in a stream': (d) => !d.blind,
    'asks the provider for the reasoning it shows': (d) => !d.blind,
    'reads a stream of single bytes': (d) => !d.blind,
    'counts reasoning in the usage': (d) => d.reasoningUsage !== false,
    'hides reasoning': () => !DIRECT,
    'hides reasoning in a stream': () => !DIRECT,
    'hides what stands in tags': () => !DIRECT,
    'brings back what was thought before a tool call': (d) => !DIRECT || Boolean(d.keeps),
};

/* ---- requirements for any upstream ---- */

const refusals = {
    400: (t) => t.ask({model: t.model('plain'), prompt: prompt(), bad: true}),
    401: (t) => t.ask({model: t.model('plain'), prompt: prompt(), key: 'wrong'}),
    404: (t) => t.ask({model: 'no-such-model', prompt: prompt()}),
    429: (t) => t.ask({model: t.model('e429'), prompt: prompt()}),
    500: (t) => t.ask({model: t.model('e500'), prompt: prompt()}),
};

function tests(driver) {
    const kinds = DIRECT ? [driver.dialect] : [driver.dialect, ...driver.others];
    const out = [];
    for (const kind of kinds) {
        const t = {driver, kind, model: (slug) => model(kind, slug), ask: (q) => driver.ask(q)};
        for (const [claim, run] of Object.entries(each))
            if (only[claim]?.(driver) ?? true) out.push([`${kind}: ${claim}`, run, t]);
        for (const status of Object.keys(refusals))
            for (const stream of [false, true])
                out.push([`${kind}: error ${status} is the SDK's own${stream ? ', streamed' : ''}`,
                          async () => {
                    const ask = (q) => driver.ask({...q, stream});
                    const e = await fails(refusals[status]({...t, ask}));
                    assert.ok(e, 'no error');
                    assert.ok(driver.refuses[status](e),
                              `${e.constructor.name} ${e.status ?? ''}: ${e.message}`);
                }, t]);
    }
    const t = {driver, kind: driver.dialect, model: (slug) => model(driver.dialect, slug),
               ask: (q) => driver.ask(q)};
    const extras = {...driver.extras, ...(DIRECT ? {} : driver.through)};
    for (const [claim, run] of Object.entries(extras)) out.push([claim, run, t]);
    return out;
}

/* Runs a driver's tests, AT_ONCE in parallel, and ends the process. Arguments select tests by
 * part of the name. */
export async function run(driver) {
    const chosen = tests(driver).filter(([claim]) =>
        process.argv.slice(2).every((word) => claim.includes(word)));
    const lost = [];
    let next = 0, passed = 0;
    const work = async () => {
        while (next < chosen.length) {
            const [claim, test, t] = chosen[next++];
            const name = `${driver.name}: ${claim}`;
            let timer;
            const late = new Promise((_, no) => {
                timer = setTimeout(() => no(new Error(`took over ${PATIENCE_MS} ms`)), PATIENCE_MS);
            });
            try {
                await Promise.race([test({...t, name}), late]);
                passed++;
            } catch (e) {
                lost.push(name);
                console.log(`not ok: ${name}\n${e.stack ?? e}`.replaceAll('\n', '\n    '));
            } finally {
                clearTimeout(timer);
            }
        }
    };
    await Promise.all(Array.from({length: AT_ONCE}, work));
    console.log(`[  PASSED  ] ${passed} tests.`);
    if (lost.length)
        console.log([`[  FAILED  ] ${lost.length} tests, listed below:`, ...lost].join('\n'));
    process.exit(lost.length || !chosen.length ? 1 : 0);
}
