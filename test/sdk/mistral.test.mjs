/* mistral.test.mjs - Mistral's SDK, which uses the gateway's /v1/chat/completions.
 *
 * It reads thinking chunks but not reasoning_content, so through the gateway it shows no
 * reasoning. In streamed tool calls it requires the name in every piece, and it does not request
 * usage as OpenAI's dialect demands. So this suite covers text, streamed or whole, and whole
 * tool calls.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import assert from 'node:assert/strict';
import {Mistral} from '@mistralai/mistralai';
import {MistralError} from '@mistralai/mistralai/models/errors';
import {DIRECT, KEY, ROOT, SHOW, run} from './suite.mjs';

const serverURL = DIRECT ? `${ROOT}/mistral` : ROOT;
const STOPS = {stop: 'end', length: 'length', tool_calls: 'tool'};

function body(q) {
    return {
        model: q.model,
        messages: q.bad ? [] : q.history ?? [{role: 'system', content: 'Be brief.'},
                                             {role: 'user', content: q.prompt}],
        ...(q.tools && {tools: q.tools.map((t) => ({type: 'function', function: {
            name: t.name, description: t.description, parameters: t.schema}}))}),
        ...(q.max && {maxTokens: q.max}),
        ...(q.think && {reasoningEffort: 'high'}),
    };
}

const chunks = (content) => typeof content === 'string' ? [{type: 'text', text: content}]
    : content ?? [];
const texts = (content) => chunks(content).filter((c) => c.type === 'text').map((c) => c.text)
    .join('');
const thoughts = (content) => chunks(content).filter((c) => c.type === 'thinking')
    .flatMap((c) => c.thinking.map((t) => t.text)).join('');
const argsOf = (a) => typeof a === 'string' ? JSON.parse(a) : a;

function result(message, finish, u, seen, q) {
    const calls = (message.toolCalls ?? []).map((c) => ({
        id: c.id, name: c.function.name, args: argsOf(c.function.arguments)}));
    return {text: texts(message.content), reasoning: thoughts(message.content), calls,
            stop: STOPS[finish], seen, usage: {input: u?.promptTokens, output: u?.completionTokens},
            history: [...body(q).messages, message]};
}

async function ask(q) {
    const mistral = new Mistral({apiKey: q.key ?? KEY, serverURL, retryConfig: {strategy: 'none'}});
    const options = {fetchOptions: {headers: q.show ? SHOW : {}, signal: q.signal}};
    if (!q.stream) {
        const r = await mistral.chat.complete(body(q), options);
        const c = r.choices[0];
        return result({role: 'assistant', content: c.message.content, ...(c.message.toolCalls && {
            toolCalls: c.message.toolCalls})}, c.finishReason, r.usage, [r], q);
    }
    const seen = [], all = [], calls = [];
    let finish, usage, size = 0;
    for await (const {data} of await mistral.chat.stream(body(q), options)) {
        seen.push(data);
        usage = data.usage ?? usage;
        const c = data.choices[0];
        if (!c) continue;
        finish = c.finishReason ?? finish;
        all.push(...chunks(c.delta.content));
        size += texts(c.delta.content).length;
        for (const call of c.delta.toolCalls ?? []) {
            const at = call.index ?? 0;
            calls[at] ??= {id: call.id, type: 'function', function: {name: call.function.name,
                                                                     arguments: ''}};
            const a = call.function.arguments;
            calls[at].function.arguments += typeof a === 'string' ? a : JSON.stringify(a);
        }
        if (size > 20) q.abort?.();
    }
    if (!finish) throw new Error('the stream has no end');
    return result({role: 'assistant', content: all, ...(calls.length && {toolCalls: calls})},
                  finish, usage, seen, q);
}

const status = (n) => (e) => e instanceof MistralError && e.statusCode === n;

run({
    name: 'mistral', dialect: 'mistral', others: ['openai', 'anthropic'],
    keeps: DIRECT,
    blind: !DIRECT,
    reasoningUsage: false,
    noStreamTools: !DIRECT,
    noStreamUsage: !DIRECT,
    ask,
    answer: (r, results) => [...r.history, ...r.calls.map((c, i) => ({
        role: 'tool', toolCallId: c.id, name: c.name, content: results[i]}))],
    refuses: {400: status(400), 401: status(401), 404: status(404), 429: status(429),
              500: (e) => e instanceof MistralError && e.statusCode >= 500},
    through: {
        'the models are listed, and one is described': async (t) => {
            const {models} = new Mistral({apiKey: KEY, serverURL});
            const ids = (await models.list()).data.map((m) => m.id);
            assert.ok(ids.includes(t.model('plain')), ids.join(' '));
            const one = await models.retrieve({modelId: t.model('plain')});
            assert.equal(one.id, t.model('plain'));
            assert.ok(one.capabilities.completionChat);
        },
    },
});
