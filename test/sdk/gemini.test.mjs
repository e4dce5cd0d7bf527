/* gemini.test.mjs - Google's SDK.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import assert from 'node:assert/strict';
import {ApiError, GoogleGenAI} from '@google/genai';
import {KEY, ROOT, SHOW, run} from './suite.mjs';

const STOPS = {STOP: 'end', MAX_TOKENS: 'length'};

function params(q) {
    return {
        model: q.model,
        contents: q.bad ? [{role: 'nobody', parts: [{text: 'x'}]}]
            : q.history ?? [{role: 'user', parts: [{text: q.prompt}]}],
        config: {
            systemInstruction: 'Be brief.',
            httpOptions: {headers: q.show ? SHOW : {}},
            abortSignal: q.signal,
            ...(q.tools && {tools: [{functionDeclarations: q.tools.map((t) => ({
                name: t.name, description: t.description, parametersJsonSchema: t.schema}))}]}),
            ...(q.max && {maxOutputTokens: q.max}),
            ...(q.think && {thinkingConfig: {includeThoughts: true, thinkingBudget: 4000}}),
        },
    };
}

function result(parts, finish, u, seen, q) {
    const calls = parts.filter((p) => p.functionCall).map((p, i) => ({
        id: p.functionCall.id ?? `nth ${i}`, given: p.functionCall.id, name: p.functionCall.name,
        args: p.functionCall.args}));
    return {text: parts.filter((p) => !p.thought).map((p) => p.text ?? '').join(''),
            reasoning: parts.filter((p) => p.thought).map((p) => p.text ?? '').join(''),
            calls, stop: calls.length ? 'tool' : STOPS[finish], seen,
            usage: {input: u?.promptTokenCount, reasoning: u?.thoughtsTokenCount,
                    output: (u?.candidatesTokenCount ?? 0) + (u?.thoughtsTokenCount ?? 0)},
            history: [...params(q).contents, {role: 'model', parts}]};
}

async function ask(q) {
    const ai = new GoogleGenAI({apiKey: q.key ?? KEY, httpOptions: {baseUrl: ROOT}});
    if (!q.stream) {
        const r = await ai.models.generateContent(params(q));
        const c = r.candidates[0];
        return result(c.content.parts, c.finishReason, r.usageMetadata, [r], q);
    }
    const seen = [], parts = [];
    let finish, usage, size = 0;
    for await (const r of await ai.models.generateContentStream(params(q))) {
        seen.push(r);
        const c = r.candidates?.[0];
        parts.push(...c?.content?.parts ?? []);
        finish = c?.finishReason ?? finish;
        usage = r.usageMetadata ?? usage;
        size += parts.at(-1)?.text?.length ?? 0;
        if (size > 20) q.abort?.();
    }
    if (!finish) throw new Error('the stream has no end');
    return result(parts, finish, usage, seen, q);
}

const status = (n) => (e) => e instanceof ApiError && e.status === n;

run({
    name: 'gemini', dialect: 'gemini', others: ['openai', 'anthropic', 'responses'],
    keeps: true,
    ask,
    answer: (r, results) => [...r.history, {role: 'user', parts: r.calls.map((c, i) => ({
        functionResponse: {...(c.given && {id: c.given}), name: c.name,
                           response: {output: results[i]}}}))}],
    refuses: {400: status(400), 401: status(401), 404: status(404), 429: status(429),
              500: (e) => e instanceof ApiError && e.status >= 500},
    through: {
        'the models are listed, and one is described': async (t) => {
            const {models} = new GoogleGenAI({apiKey: KEY, httpOptions: {baseUrl: ROOT}});
            const names = [];
            for await (const m of await models.list({config: {pageSize: 5}})) names.push(m.name);
            assert.ok(names.includes(`models/${t.model('plain')}`), names.join(' '));
            const one = await models.get({model: t.model('plain')});
            assert.equal(one.name, `models/${t.model('plain')}`);
            assert.ok(one.displayName && one.version);
        },
    },
});
