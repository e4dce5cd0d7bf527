/* agents.test.mjs - OpenAI's Agents SDK on Chat Completions; of reasoning members it reads only
 * `reasoning`.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import assert from 'node:assert/strict';
import {createRequire} from 'node:module';
import {Agent, OpenAIProvider, Runner, setTracingDisabled, tool, withTrace} from '@openai/agents';
import {KEY, ROOT, SHOW, TOOLS, prompt, run} from './suite.mjs';

setTracingDisabled(true);
/* The SDK has its own copy of the openai package, whose error classes it throws. */
const own = createRequire(createRequire(import.meta.url).resolve('@openai/agents'));
const {OpenAI} = own('openai');

const provider = (q) => new OpenAIProvider({useResponses: false, openAIClient: new OpenAI({
    baseURL: `${ROOT}/v1`, apiKey: q.key ?? KEY, maxRetries: 0,
    defaultHeaders: q.show ? SHOW : {}})});
const input = (q) => q.bad ? [] : q.history ?? [{type: 'message', role: 'user', content: q.prompt}];

function request(q) {
    return {
        systemInstructions: q.bad ? undefined : 'Be brief.', input: input(q), outputType: 'text',
        handoffs: [], tracing: false, signal: q.signal,
        modelSettings: {...(q.max && {maxTokens: q.max}),
                        ...(q.think && {reasoning: {effort: 'high'}})},
        tools: (q.tools ?? []).map((t) => ({type: 'function', name: t.name, strict: false,
                                            description: t.description, parameters: t.schema})),
    };
}

function result(r, seen, q) {
    const of = (type) => r.output.filter((i) => i.type === type);
    const calls = of('function_call').map((c) => ({id: c.callId, name: c.name,
                                                   args: JSON.parse(c.arguments)}));
    const finish = seen.map((e) => e.event?.choices?.[0]?.finish_reason ??
        e.providerData?.choices?.[0]?.finish_reason).filter(Boolean).at(-1);
    const details = [r.usage.outputTokensDetails ?? {}].flat()[0] ?? {};
    return {text: of('message').flatMap((m) => m.content.map((c) => c.text ?? '')).join(''),
            reasoning: of('reasoning').flatMap((i) => i.rawContent.map((c) => c.text)).join(''),
            calls, stop: calls.length ? 'tool' : finish === 'length' ? 'length' : 'end', seen,
            usage: {input: r.usage.inputTokens, output: r.usage.outputTokens,
                    reasoning: details.reasoning_tokens},
            history: [...input(q), ...r.output]};
}

async function ask(q) {
    const model = await provider(q).getModel(q.model);
    if (!q.stream) {
        const r = await withTrace('test', () => model.getResponse(request(q)));
        return result(r, [r], q);
    }
    const seen = [];
    let last, size = 0;
    for await (const e of model.getStreamedResponse(request(q))) {
        seen.push(e);
        if (e.type === 'output_text_delta') size += e.delta.length;
        if (e.type === 'response_done') last = e.response;
        if (size > 20) q.abort?.();
    }
    return result(last, seen, q);
}

run({
    name: 'agents', dialect: 'openai', others: ['anthropic', 'gemini'],
    keeps: true,
    ask,
    answer: (r, results) => [...r.history, ...r.calls.map((c, i) => ({
        type: 'function_call_result', callId: c.id, name: c.name, status: 'completed',
        output: {type: 'text', text: results[i]}}))],
    refuses: {
        400: (e) => e instanceof OpenAI.BadRequestError,
        401: (e) => e instanceof OpenAI.AuthenticationError,
        404: (e) => e instanceof OpenAI.NotFoundError,
        429: (e) => e instanceof OpenAI.RateLimitError,
        500: (e) => e instanceof OpenAI.InternalServerError,
    },
    extras: {
        'an agent runs its tool and ends': async (t) => {
            const asked = [];
            const agent = new Agent({
                name: 'weather', instructions: 'Be brief.', model: t.model('think-tools'),
                tools: [tool({...TOOLS[0], parameters: {...TOOLS[0].schema,
                                                        additionalProperties: true},
                              strict: false, execute: async (a) => {
                    asked.push(a.city);
                    return 'sunny';
                }})],
            });
            for (const stream of [false, true]) {
                const runner = new Runner({modelProvider: provider({}), tracingDisabled: true});
                const done = await runner.run(agent, prompt(), {stream});
                if (stream) await done.completed;
                assert.equal(done.finalOutput, 'The tools said: sunny.');
            }
            assert.deepEqual(asked, ['Paris', 'Paris']);
        },
    },
});
