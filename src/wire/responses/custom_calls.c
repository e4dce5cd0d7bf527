/* custom_calls.c - calls of tools that take a text. Other dialects have them as functions with
 * that text as their one argument, which is whole when the call is closed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/encode.h"

const struct responses_call_words *responses_call_words(const struct responses_call *c)
{
    static const struct responses_call_words function = {"fc",
                                                         "function_call",
                                                         "arguments",
                                                         "response.function_call_arguments.delta",
                                                         "response.function_call_arguments.done"},
                                             custom = {"ctc",
                                                       "custom_tool_call",
                                                       "input",
                                                       "response.custom_tool_call_input.delta",
                                                       "response.custom_tool_call_input.done"};

    return c->custom ? &custom : &function;
}

void responses_unwrap(struct wire_encoder *en, struct responses_call *c)
{
    struct rope_mark start = {NULL, 0};
    struct buf quoted;
    struct json doc;
    struct err e;
    str text;

    if (!c->arguments.n)
        return;
    buf_init(&quoted, JSON_SIZE_MAX);
    json_init(&doc);
    buf_add_c(&quoted, '"');
    rope_copy(&c->arguments, start, &quoted);
    buf_add_c(&quoted, '"');
    if (!buf_full(&quoted) && json_parse(&doc, buf_str(&quoted), &e) &&
        json_text(&doc, json_root(&doc), en->arena, &text)) {
        text = part_custom_input(arena_text_dup(en->arena, text), en->arena);
        c->arguments = (struct rope){0};
        buf_reset(&quoted);
        rope_add(&c->arguments, en->arena, json_escaped(&quoted, text));
    }
    json_release(&doc);
    buf_release(&quoted);
}
