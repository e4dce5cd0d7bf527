/* agent_model.test.mjs - an agent used as a model through the official SDKs of OpenAI, Anthropic
 * and Google: whole and streamed, with its reasoning hidden and shown.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
import assert from 'node:assert/strict';
import Anthropic from '@anthropic-ai/sdk';
import {GoogleGenAI} from '@google/genai';
import OpenAI from 'openai';
import {DIRECT, KEY, MARK, ROOT, answerTo, prompt} from './suite.mjs';

const MODEL = 'agent/helper';
const headers = (show) => ({'x-rationale-reasoning': show ? 'show' : 'hide'});

async function openai(p, stream, show) {
    const client = new OpenAI({baseURL: `${ROOT}/v1`, apiKey: KEY, defaultHeaders: headers(show)});
    const body = {model: MODEL, messages: [{role: 'user', content: p}]};
    let text = '', reasoning = '';
    if (!stream) {
        const m = (await client.chat.completions.create(body)).choices[0].message;
        return {text: m.content, reasoning: m.reasoning_content ?? m.reasoning ?? ''};
    }
    for await (const c of await client.chat.completions.create({...body, stream: true})) {
        const d = c.choices[0]?.delta ?? {};
        text += d.content ?? '';
        reasoning += d.reasoning_content ?? d.reasoning ?? '';
    }
    return {text, reasoning};
}

async function responses(p, stream, show) {
    const client = new OpenAI({baseURL: `${ROOT}/v1`, apiKey: KEY, defaultHeaders: headers(show)});
    const r = stream ? await client.responses.stream({model: MODEL, input: p}).finalResponse()
        : await client.responses.create({model: MODEL, input: p});
    return {text: r.output_text, reasoning: JSON.stringify(r.output.filter((i) => i.type === 'reasoning'))};
}

async function anthropic(p, stream, show) {
    const client = new Anthropic({baseURL: ROOT, apiKey: KEY, defaultHeaders: headers(show)});
    const body = {model: MODEL, max_tokens: 1000, messages: [{role: 'user', content: p}]};
    const m = stream ? await client.messages.stream(body).finalMessage() : await client.messages.create(body);
    return {text: m.content.filter((b) => b.type === 'text').map((b) => b.text).join(''),
            reasoning: m.content.filter((b) => b.type === 'thinking').map((b) => b.thinking).join('')};
}

async function gemini(p, stream, show) {
    const client = new GoogleGenAI({apiKey: KEY, httpOptions: {baseUrl: ROOT, headers: headers(show)}});
    const body = {model: MODEL, contents: p};
    const parts = [];
    if (stream)
        for await (const c of await client.models.generateContentStream(body))
            parts.push(...(c.candidates?.[0]?.content?.parts ?? []));
    else
        parts.push(...(await client.models.generateContent(body)).candidates[0].content.parts);
    return {text: parts.filter((x) => !x.thought).map((x) => x.text ?? '').join(''),
            reasoning: parts.filter((x) => x.thought).map((x) => x.text ?? '').join('')};
}

const wanted = process.argv.slice(2);
const failed = [];
let done = 0;

for (const [name, ask] of Object.entries({openai, responses, anthropic, gemini}))
    for (const stream of [false, true])
        for (const show of [false, true]) {
            const title = `${name}, ${stream ? 'streamed' : 'whole'}, reasoning ${show ? 'shown' : 'hidden'}`;

            if (DIRECT || (wanted.length && !wanted.some((w) => title.includes(w)))) continue;
            console.log(`[ RUN      ] ${title}`);
            done++;
            try {
                const p = prompt(), got = await ask(p, stream, show);

                assert.equal(got.text, answerTo(p));
                assert.equal(got.reasoning.includes(MARK), show, got.reasoning);
                console.log(`[       OK ] ${title}`);
            } catch (e) {
                failed.push(title);
                console.log(e, `\n[  FAILED  ] ${title}`);
            }
        }
console.log(`[  PASSED  ] ${done - failed.length} tests.`);
if (failed.length) console.log(`[  FAILED  ] ${failed.length} tests, listed below:\n${failed.join('\n')}`);
process.exit(failed.length ? 1 : 0);
