/* ollama.test.mjs - Ollama's SDK.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import assert from 'node:assert/strict';
import {Ollama} from 'ollama';
import {KEY, ROOT, SHOW, run} from './suite.mjs';

const STOPS = {stop: 'end', length: 'length'};

function body(q) {
    return {
        model: q.model,
        messages: q.bad ? [{role: 'nobody', content: 'x'}] : q.history ?? [
            {role: 'system', content: 'Be brief.'}, {role: 'user', content: q.prompt}],
        ...(q.tools && {tools: q.tools.map((t) => ({type: 'function', function: {
            name: t.name, description: t.description, parameters: t.schema}}))}),
        ...(q.max && {options: {num_predict: q.max}}),
        ...(q.think && {think: true}),
    };
}

function result(message, last, seen, q) {
    const calls = (message.tool_calls ?? []).map((c, i) => ({
        id: c.id ?? `nth ${i}`, name: c.function.name, args: c.function.arguments}));
    return {text: message.content, reasoning: message.thinking ?? '', calls,
            stop: calls.length ? 'tool' : STOPS[last.done_reason], seen,
            usage: {input: last.prompt_eval_count, output: last.eval_count},
            history: [...body(q).messages, message]};
}

async function ask(q) {
    const headers = {authorization: `Bearer ${q.key ?? KEY}`, ...(q.show && SHOW)};
    const ollama = new Ollama({host: ROOT, headers});
    if (!q.stream) {
        const r = await ollama.chat({...body(q), stream: false});
        return result(r.message, r, [r], q);
    }
    const seen = [], message = {role: 'assistant', content: ''};
    let last;
    for await (const r of await ollama.chat({...body(q), stream: true})) {
        seen.push(r);
        message.content += r.message.content;
        if (r.message.thinking) message.thinking = (message.thinking ?? '') + r.message.thinking;
        if (r.message.tool_calls) (message.tool_calls ??= []).push(...r.message.tool_calls);
        if (r.done) last = r;
        if (message.content.length > 20 && q.abort) {
            q.abort();
            ollama.abort();
        }
    }
    if (!last) throw new Error('the stream has no end');
    return result(message, last, seen, q);
}

const status = (n) => (e) => e.name === 'ResponseError' && e.status_code === n;

run({
    name: 'ollama', dialect: 'ollama', others: ['openai', 'anthropic', 'gemini'],
    keeps: true,
    reasoningUsage: false, /* its protocol has no such number */
    ask,
    answer: (r, results) => [...r.history, ...r.calls.map((c, i) => ({
        role: 'tool', tool_name: c.name, tool_call_id: c.id, content: results[i]}))],
    refuses: {
        400: status(400),
        /* A real Ollama has no keys. */
        401: (e) => status(401)(e),
        404: status(404),
        429: status(429),
        500: (e) => e.name === 'ResponseError' && e.status_code >= 500,
    },
    through: {
        'the models are listed, and one is described': async (t) => {
            const ollama = new Ollama({host: ROOT, headers: {authorization: `Bearer ${KEY}`}});
            const {models} = await ollama.list();
            const found = models.find((m) => m.name === t.model('plain'));
            assert.ok(found && found.details && found.digest, JSON.stringify(found));
            const one = await ollama.show({model: t.model('plain')});
            assert.ok(one.capabilities.includes('completion') && one.details && one.model_info);
            assert.deepEqual((await ollama.ps()).models, []);
        },
    },
});
