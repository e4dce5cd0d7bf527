/* anthropic.test.mjs - the Anthropic SDK's Messages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import {KEY, ROOT, SHOW, TOOLS, answerTo, prompt, run} from './suite.mjs';

const client = (key = KEY) => new Anthropic({baseURL: ROOT, apiKey: key, maxRetries: 0});
const STOPS = {end_turn: 'end', max_tokens: 'length', tool_use: 'tool'};

function body(q) {
    return {
        model: q.model,
        max_tokens: q.max ?? 8000,
        system: 'Be brief.',
        messages: q.bad ? [{role: 'nobody', content: 'x'}]
            : q.history ?? [{role: 'user', content: q.prompt}],
        ...(q.tools && {tools: q.tools.map((t) => ({
            name: t.name, description: t.description, input_schema: t.schema}))}),
        ...(q.think && {thinking: {type: 'enabled', budget_tokens: 4000}}),
    };
}

function result(m, seen, q) {
    const of = (type) => m.content.filter((b) => b.type === type);
    for (const b of of('thinking')) assert.ok(b.signature, 'a thinking block is signed');
    return {text: of('text').map((b) => b.text).join(''),
            reasoning: of('thinking').map((b) => b.thinking).join(''),
            calls: of('tool_use').map((b) => ({id: b.id, name: b.name, args: b.input})),
            stop: STOPS[m.stop_reason], seen,
            usage: {input: m.usage.input_tokens, output: m.usage.output_tokens,
                    reasoning: m.usage.output_tokens_details?.thinking_tokens},
            history: [...body(q).messages, {role: 'assistant', content: m.content}]};
}

/* Blocks must begin and end one after the other, numbered from 0. */
function checkOrder(seen) {
    let open = -1, next = 0;
    for (const e of seen) {
        if (e.type === 'content_block_start') {
            assert.equal(open, -1, 'one block at a time');
            assert.equal(e.index, next++);
            open = e.index;
        } else if (e.type === 'content_block_delta') assert.equal(e.index, open);
        else if (e.type === 'content_block_stop') {
            assert.equal(e.index, open);
            open = -1;
        }
    }
    assert.equal(seen[0].type, 'message_start');
    assert.equal(seen.at(-1).type, 'message_stop');
}

async function ask(q) {
    const options = {headers: q.show ? SHOW : {}, signal: q.signal};
    const api = client(q.key).messages;
    if (!q.stream) {
        const m = await api.create(body(q), options);
        return result(m, [m], q);
    }
    const seen = [];
    let size = 0;
    const stream = api.stream(body(q), options);
    for await (const e of stream) {
        seen.push(structuredClone(e));
        size += e.delta?.text?.length ?? 0;
        if (size > 20) q.abort?.();
    }
    checkOrder(seen);
    return result(await stream.finalMessage(), seen, q);
}

run({
    name: 'anthropic', dialect: 'anthropic', others: ['openai', 'gemini', 'responses'],
    keeps: true,
    ask,
    answer: (r, results) => [...r.history, {role: 'user', content: r.calls.map((c, i) => ({
        type: 'tool_result', tool_use_id: c.id, content: results[i]}))}],
    refuses: {
        400: (e) => e instanceof Anthropic.BadRequestError,
        401: (e) => e instanceof Anthropic.AuthenticationError,
        404: (e) => e instanceof Anthropic.NotFoundError,
        429: (e) => e instanceof Anthropic.RateLimitError,
        500: (e) => e instanceof Anthropic.InternalServerError,
    },
    extras: {
        'tokens are counted beforehand': async (t) => {
            const n = await client().messages.countTokens({
                model: t.model('plain'), messages: [{role: 'user', content: 'one two three four'}]});
            assert.ok(n.input_tokens >= 4, JSON.stringify(n));
        },
    },
    through: {
        'the models are listed, and one is described': async (t) => {
            const ids = [];
            for await (const m of client().models.list({limit: 5})) ids.push(m.id);
            assert.ok(ids.includes(t.model('plain')), ids.join(' '));
            const one = await client().models.retrieve(t.model('plain'));
            assert.equal(one.lifecycle, 'active');
        },
        'a program that drops thinking blocks goes on all the same': async (t) => {
            const q = {model: t.model('keeps'), prompt: prompt(), tools: TOOLS};
            const r = await ask(q);
            const last = r.history.at(-1);
            last.content = last.content.filter((b) => b.type !== 'thinking');
            const back = await ask({...q, history: [...r.history, {role: 'user', content: [
                {type: 'tool_result', tool_use_id: r.calls[0].id, content: 'fine'}]}]});
            assert.equal(back.text, 'The tools said: fine.');
        },
        'the tool runner goes on without a thread': async () => {
            for (const [model, stream] of [['openai-tools', false], ['gemini-think-tools', true]]) {
                const runner = client().beta.messages.toolRunner({
                    model, max_tokens: 4000, stream, messages: [{role: 'user', content: prompt()}],
                    tools: [{name: TOOLS[0].name, description: 'x', input_schema: TOOLS[0].schema,
                             type: 'custom', parse: (a) => a, run: (a) => `sunny in ${a.city}`}]});
                const last = await runner.runUntilDone();
                assert.equal(last.content.at(-1).text, 'The tools said: sunny in Paris.');
            }
        },
        'our own signatures do no harm when they come back': async (t) => {
            const model = 'openai-think-tools';
            const q = {model, prompt: prompt(), tools: TOOLS, show: true, think: true};
            const r = await ask(q);
            const back = await ask({...q, history: [...r.history, {role: 'user', content: [
                {type: 'tool_result', tool_use_id: r.calls[0].id, content: 'fine'}]}]});
            assert.equal(back.text, 'The tools said: fine.');
            const other = prompt();
            const moved = await ask({model: t.model('plain'), history: [
                {role: 'user', content: 'hi'},
                {role: 'assistant', content: [r.history.at(-1).content[0], {type: 'text', text: 'a'}]},
                {role: 'user', content: other}]});
            assert.equal(moved.text, answerTo(other));
        },
    },
});
