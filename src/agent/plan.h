/* plan.h - calls as JSON in text: how the prompt asks for them, and how they are read.
 *
 *     {"reason": "...", "tools": [{"tool": "stock.search", "parameters": {"q": "Emma"}}]}
 *     {"answer": "..."}
 *     {"continue": false, "reason": "..."}                     for a caller who asks for it
 *
 * Models write them with other words around them, as a list or as one call, and with other names
 * of members: all of these forms are read.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/ask.h"

#define PLAN_CALLS_MAX 64

/* Which JSON is accepted: calls, and also an answer, a list without calls, or "continue". */
enum plan_form { PLAN_ANSWER, PLAN_FIRST, PLAN_NEXT };

struct plan_call {
    str server; /* or "" */
    str tool, arguments, reason;
    str written; /* the name to look for: SERVER.TOOL, or TOOL */
};

struct plan {
    struct plan_call calls[PLAN_CALLS_MAX];
    size_t n;
    bool more; /* there are calls, and "continue" is not false */
    str reason;
    bool answers;
    str answer; /* "" if there is no answer */
};

/* Instructions for the prompt. */
extern const char plan_how[];

/* Writes an assistant's message in this form; `calls` as in Chat Completions, or NULL. */
void plan_write(const struct json *doc, const struct json_node *calls, str said, struct arena *a,
                struct buf *out);
/* Turns the text of a reply into calls, with the reason as its text, or into the answer; a text
 * without such an object is the answer. The ids of calls are made from `turn`. False: the text has
 * none, and stays as it is. */
bool plan_read(struct ask_reply *reply, enum plan_form form, size_t turn, struct arena *a);
/* False: the text has no such JSON; e has the error of the best candidate. */
bool plan_parse(str text, enum plan_form form, struct arena *a, struct plan *out,
                struct err *e) MUST_USE;
