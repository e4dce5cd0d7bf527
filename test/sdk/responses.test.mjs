/* responses.test.mjs - the OpenAI SDK's Responses.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import assert from 'node:assert/strict';
import OpenAI from 'openai';
import {KEY, ROOT, SHOW, answerTo, prompt, run} from './suite.mjs';

const client = (key = KEY) => new OpenAI({baseURL: `${ROOT}/v1`, apiKey: key, maxRetries: 0});

function body(q) {
    return {
        model: q.model,
        instructions: 'Be brief.',
        store: false,
        input: q.bad ? [{role: 'nobody', content: 'x'}]
            : q.history ?? [{role: 'user', content: [{type: 'input_text', text: q.prompt}]}],
        ...(q.tools && {tools: q.tools.map((t) => ({
            type: 'function', name: t.name, description: t.description, parameters: t.schema,
            strict: false}))}),
        ...(q.max && {max_output_tokens: q.max}),
        ...(q.think && {reasoning: {effort: 'high', summary: 'auto'}}),
        include: ['reasoning.encrypted_content'],
    };
}

function result(r, seen, q) {
    const calls = r.output.filter((i) => i.type === 'function_call').map((i) => ({
        id: i.call_id, name: i.name, args: JSON.parse(i.arguments)}));
    const reasoning = r.output.filter((i) => i.type === 'reasoning').flatMap((i) =>
        [...i.summary, ...(i.content ?? [])].map((s) => s.text)).join('');
    const stop = r.status === 'incomplete' ? 'length' : calls.length ? 'tool' : 'end';
    const u = r.usage;
    return {text: r.output_text, reasoning, calls, stop, seen,
            usage: {input: u.input_tokens, output: u.output_tokens,
                    reasoning: u.output_tokens_details?.reasoning_tokens},
            history: [...body(q).input, ...r.output]};
}

/* The order of events on which the SDK and other programs rely. */
function checkOrder(seen) {
    const open = new Set();
    seen.forEach((e, i) => {
        assert.equal(e.sequence_number, i, 'events are numbered');
        if (e.type === 'response.output_item.added') open.add(e.output_index);
        else if (e.type === 'response.output_item.done') assert.ok(open.delete(e.output_index));
        else if (e.output_index !== undefined) assert.ok(open.has(e.output_index), e.type);
    });
    assert.equal(open.size, 0);
    assert.equal(seen[0].type, 'response.created');
}

async function ask(q) {
    const options = {headers: q.show ? SHOW : {}, signal: q.signal};
    const api = client(q.key).responses;
    if (!q.stream) {
        const r = await api.create(body(q), options);
        return result(r, [r], q);
    }
    const seen = [];
    let last, text = '', thought = '';
    for await (const e of await api.create({...body(q), stream: true}, options)) {
        seen.push(e);
        if (e.type === 'error' || e.type === 'response.failed') throw new Error(JSON.stringify(e));
        if (e.type === 'response.output_text.delta') text += e.delta;
        if (e.type === 'response.reasoning_summary_text.delta') thought += e.delta;
        if (e.type === 'response.completed' || e.type === 'response.incomplete') last = e.response;
        if (text.length > 20) q.abort?.();
    }
    assert.ok(last, 'the stream has no end');
    checkOrder(seen);
    last.output_text ??= last.output.filter((i) => i.type === 'message')
        .flatMap((i) => i.content.map((c) => c.text ?? '')).join('');
    const r = result(last, seen, q);
    assert.equal(text, r.text);
    assert.equal(thought, r.reasoning);
    return r;
}

run({
    name: 'responses', dialect: 'responses', others: ['openai', 'anthropic', 'gemini'],
    keeps: true,
    ask,
    answer: (r, results) => [...r.history, ...r.calls.map((c, i) => ({
        type: 'function_call_output', call_id: c.id, output: results[i]}))],
    refuses: {
        400: (e) => e instanceof OpenAI.BadRequestError,
        401: (e) => e instanceof OpenAI.AuthenticationError,
        404: (e) => e instanceof OpenAI.NotFoundError,
        429: (e) => e instanceof OpenAI.RateLimitError,
        500: (e) => e instanceof OpenAI.InternalServerError,
    },
    extras: {
        'the stream helper gives the final response': async (t) => {
            const p = prompt();
            const stream = client().responses.stream({model: t.model('think'), input: p});
            assert.equal((await stream.finalResponse()).output_text, answerTo(p));
        },
    },
    through: {
        'a program that drops reasoning items goes on all the same': async (t) => {
            const q = {model: t.model('keeps'), prompt: prompt(), tools: [
                {name: 'get_weather', description: 'x', schema: {type: 'object', properties: {}}}]};
            const r = await ask(q);
            const history = r.history.filter((i) => i.type !== 'reasoning');
            const back = await ask({...q, history: [...history, {
                type: 'function_call_output', call_id: r.calls[0].id, output: 'fine'}]});
            assert.equal(back.text, 'The tools said: fine.');
        },
    },
});
