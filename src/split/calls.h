/* calls.h - reads the tool calls in a piece of tool markup.
 *
 * The splitter passes tool markup on unchanged, because a stream cannot wait for it. When a block
 * is complete, this reads its calls:
 *
 *     split_calls(SPLIT_CALLS_JSON, STR(""), raw, &arena, (struct split_call_sink){on_call, ctx});
 *
 * Each model family writes calls in its own way; a style is one such way, and a format names its
 * style. A reader is lenient about sloppy output (a missing close tag, a line end in a JSON string,
 * arguments as JSON in a string) and strict where a guess could call the wrong tool:
 *
 *   - `arguments` is always one JSON object. If the markup has it as one, it is passed unchanged,
 *     including the spelling of numbers.
 *   - A call that is cut gives no call. One that is whole does, though its block may be cut.
 *   - Text without quotes or type (TAGGED, INVOKE, FUNCTION, GEMMA) is a number, true, false, null,
 *     an object or a list if it is one in JSON, else a string: without the tool's schema, digits
 *     are a number. Where a family's template prints Python's True, False, None, lists and dicts
 *     (<function=...>, FUNCTION), these count too. M3 never means null by "null".
 *   - Entities are decoded only in FUNCTION (which is XML, including CDATA) and in KIMI_K3's
 *     attributes: no other template writes any.
 *   - BODY: a text that is not a JSON object, such as code for a built-in tool, becomes
 *     {"input": "the text"}; a text that begins like an object but is invalid gives no call.
 *   - If a member or parameter occurs twice, both are passed on; JSON readers take the last.
 *
 * Promises: it never fails and never loops on any bytes. Markup that it does not understand gives
 * no call for that part, and the result is false. Time is linear in the markup.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"

#define SPLIT_CALL_NAME_MAX 256 /* bytes; a longer name is no call */

enum split_call_style {
    SPLIT_CALLS_NONE,
    SPLIT_CALLS_BODY,     /* the text is the arguments, the recipient is the name: Harmony */
    SPLIT_CALLS_TAGGED,   /* <tool_call>: JSON, or <function=f><parameter=k>, or f<arg_key>k */
    SPLIT_CALLS_JSON,     /* an object or a list of objects between markers */
    SPLIT_CALLS_INVOKE,   /* <invoke name="f"><parameter name="k">, plain, DSML, atem, M3 */
    SPLIT_CALLS_DEEPSEEK, /* <｜tool▁call▁begin｜>f<｜tool▁sep｜>{...} */
    SPLIT_CALLS_KIMI_K2,  /* <|tool_call_begin|>functions.f:0<|tool_call_argument_begin|>{...} */
    SPLIT_CALLS_KIMI_K3,  /* <|open|>call tool="f"<|sep|><|open|>argument key="k" type="number" */
    SPLIT_CALLS_MISTRAL,  /* [TOOL_CALLS]f[ARGS]{...}, or [TOOL_CALLS][{...}] */
    SPLIT_CALLS_GEMMA,    /* <|tool_call>call:f{k:<|"|>v<|"|>}<tool_call|> */
    SPLIT_CALLS_PYTHONIC, /* [f(k="v", n=1)] */
    SPLIT_CALLS_FUNCTION, /* <function name="f"><param name="k">v</param></function> */
    SPLIT_CALLS_APERTUS,  /* [{"f": {...}}] */
    SPLIT_CALLS_SOLAR,    /* <|tool_call:begin|>id<|tool_call:name|>f<|tool_call:args|>{...} */
    SPLIT_CALLS_COUNT
};

/* Both are lent for the callback; they point into the markup or the arena. */
struct split_call {
    str name;
    str arguments;
};

struct split_call_sink {
    void (*on_call)(void *ctx, const struct split_call *call);
    void *ctx;
};

/* `raw` is one complete block with its markers, or several; `recipient` is the tool that a header
 * named, or empty. True if there was a call and all of the markup was understood. The arena is
 * scratch: at most a small multiple of the markup's size (SPLIT_CALLS_ARENA_MAX). */
#define SPLIT_CALLS_ARENA_MAX(size) (32 * (size) + 16384)
bool split_calls(enum split_call_style style, str recipient, str raw, struct arena *a,
                 struct split_call_sink sink);
