/* langchain.test.mjs - LangChain's ChatOpenAI; of reasoning members it reads only
 * reasoning_content.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import {AIMessageChunk, HumanMessage, SystemMessage, ToolMessage} from '@langchain/core/messages';
import {ChatOpenAI} from '@langchain/openai';
import OpenAI from 'openai';
import {KEY, ROOT, SHOW, run} from './suite.mjs';

const STOPS = {stop: 'end', length: 'length', tool_calls: 'tool'};

function chat(q) {
    const llm = new ChatOpenAI({
        model: q.model, apiKey: q.key ?? KEY, maxRetries: 0, streamUsage: true,
        configuration: {baseURL: `${ROOT}/v1`, defaultHeaders: q.show ? SHOW : {}},
        ...(q.max && {maxTokens: q.max}),
        ...(q.think && {modelKwargs: {reasoning_effort: 'high'}}),
    });
    return q.tools ? llm.bindTools(q.tools.map((t) => ({type: 'function', function: {
        name: t.name, description: t.description, parameters: t.schema}}))) : llm;
}

const messages = (q) => q.bad ? [] : q.history ?? [new SystemMessage('Be brief.'),
                                                   new HumanMessage(q.prompt)];

function result(m, seen, q) {
    const u = m.usage_metadata;
    return {text: m.text, reasoning: m.additional_kwargs.reasoning_content ?? '',
            calls: m.tool_calls.map((c) => ({id: c.id, name: c.name, args: c.args})),
            stop: STOPS[m.response_metadata.finish_reason], seen,
            usage: {input: u?.input_tokens, output: u?.output_tokens,
                    reasoning: u?.output_token_details?.reasoning},
            history: [...messages(q), m]};
}

async function ask(q) {
    if (!q.stream) {
        const m = await chat(q).invoke(messages(q));
        return result(m, [m], q);
    }
    const seen = [];
    let all = new AIMessageChunk('');
    for await (const chunk of await chat(q).stream(messages(q), {signal: q.signal})) {
        seen.push(chunk);
        all = all.concat(chunk);
        if (all.text.length > 20) q.abort?.();
    }
    return result(all, seen, q);
}

run({
    name: 'langchain', dialect: 'openai', others: ['anthropic', 'gemini'],
    ask,
    answer: (r, results) => [...r.history, ...r.calls.map((c, i) => new ToolMessage({
        tool_call_id: c.id, content: results[i]}))],
    refuses: {
        400: (e) => e instanceof OpenAI.BadRequestError,
        401: (e) => e instanceof OpenAI.AuthenticationError,
        404: (e) => e instanceof OpenAI.NotFoundError,
        429: (e) => e instanceof OpenAI.RateLimitError,
        500: (e) => e instanceof OpenAI.InternalServerError,
    },
});
