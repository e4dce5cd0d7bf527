/* tool.h - what a model may call: rows of tools, their arguments checked, their calls carried out.
 *
 *     struct toolbox *b = toolbox_new(&clock_real);
 *     if (!toolbox_add(b, &tool, e)) ...                  e: the schema is wrong
 *     toolbox_write(b, &body);                            the "tools" of Chat Completions
 *     toolbox_run(b, calls, n, &options);                 all of them at once, results in order
 *     toolbox_free(b);
 *
 * A call is carried out on a thread of its own, unless its tool is pure, and given up after its
 * tool's time: what the tool then still does is its own affair, and its result is dropped. What
 * fails in passing (ERR_TIMEOUT apart) is tried again as often as the row says. Results of tools
 * that say so are kept by name and arguments, whatever the order of their members, as long as the
 * box lives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <stdatomic.h>

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"
#include "base/err.h"
#include "base/str.h"

#define TOOL_TIMEOUT_MS 12000
#define TOOL_COUNT_MAX 512
#define TOOL_NAME_MAX 1024 /* bytes; what the model calls it has at most 64 */
#define TOOL_RESULT_MAX ((size_t)8 << 20)
#define TOOL_CALLS_MAX 64 /* carried out at once */

enum tool_flag {
    TOOL_CACHEABLE = 1,
    TOOL_READ_ONLY = 2,  /* may run again when its end is unknown */
    TOOL_IDEMPOTENT = 4, /* likewise */
    TOOL_APPROVAL = 8,   /* a person is asked first */
    TOOL_FINISH = 16,    /* its success ends the run, with its arguments as the result */
    TOOL_PURE = 32,      /* quick and without waiting: runs on the caller's thread */
    TOOL_STRICT = 64,    /* no members but those that the schema names, also where it is silent */
    TOOL_SAYS_STRICT = 128, /* the provider is told to keep the model to the schema */
    TOOL_CLIENT = 256, /* the caller of the run carries it out, and the run waits for its result:
                          run is NULL (agent_client_result) */
};

/* What to do when a process ended between the beginning and the end of a call. */
enum tool_unknown { TOOL_UNKNOWN_FAIL, TOOL_UNKNOWN_ASK, TOOL_UNKNOWN_RETRY };

struct tool_call {
    str id, name;
    str arguments; /* one JSON object, valid by the tool's schema */
    str key;       /* the same for the same call of the same run, also after a restart */
    str session;
    uint64_t deadline_ns;       /* monotonic */
    const _Atomic bool *cancel; /* true: nobody waits any more */
};

struct tool {
    str name, description, schema; /* schema: JSON; "" takes any object */
    str accepts; /* what arguments are checked by, where that is less than what a model is told:
                    strict schemas require even what may be null; "" is schema */
    str server;  /* whose it is, for the record; may be left out */
    unsigned flags;
    enum tool_unknown unknown;
    unsigned timeout_ms;  /* 0: TOOL_TIMEOUT_MS */
    unsigned retries;     /* more tries after one that failed in passing */
    unsigned calls_a_min; /* 0: as many as one likes */
    /* The result, JSON or text, into out. False: e says why, in words for the model; codes for
     * which err_retry is true have failed in passing. Any thread, several at once. */
    bool (*run)(void *ctx, const struct tool_call *call, struct buf *out, struct err *e);
    void *ctx;
    /* Set by toolbox_add. */
    str called; /* what the model calls it: the name, or one made of it that every provider takes */
    bool loose; /* the schema was in the words of a programming language, and was translated */
};

struct toolbox;

struct toolbox *toolbox_new(const struct clock *clock); /* lent */
/* Calls that were given up are waited for. */
void toolbox_free(struct toolbox *b);
/* Copies the texts. ERR_INPUT: the name is taken or no name, or the schema does not compile.
 *
 * A schema that is no JSON Schema but says "dict", "float" or "ArrayList" is translated (see
 * tool_schema.c). A name that providers do not take, such as "math.hypot", is called by another in
 * the request: up to 64 of A-Z a-z 0-9 _ - and a digest of the name, whatever else is in the box.
 */
bool toolbox_add(struct toolbox *b, const struct tool *t, struct err *e) MUST_USE;
/* By its name, or by what the model calls it. */
const struct tool *toolbox_find(const struct toolbox *b, str name);
/* In the order they were added. */
void toolbox_write(const struct toolbox *b, struct buf *out);
size_t toolbox_count(const struct toolbox *b);
const struct tool *toolbox_at(const struct toolbox *b, size_t i);

/* Whether the arguments, JSON text as a model wrote it, may be given to the tool; `why` says to the
 * model what is wrong and where. No text at all is an empty object. */
bool toolbox_check(const struct toolbox *b, const struct tool *t, str arguments,
                   struct buf *why) MUST_USE;

/* Members in order of their names, numbers and texts in one spelling, no white space: the same for
 * equal arguments. */
void tool_canonical(struct buf *out, str arguments);

struct tool_result {
    struct tool_call call;
    const struct tool *tool;
    bool ok, cached, skip; /* skip: is not carried out */
    unsigned tries;
    struct buf out; /* released by the caller */
    struct err err;
    int64_t started_us, ended_us; /* wall */
};

struct tool_batch {
    struct tool_result *results;
    size_t n;
    const _Atomic bool *cancel;
    int64_t timeout_ms; /* of the run: calls that last longer are given up; 0: none */
    /* As each one ends, on its thread or the caller's; may be NULL. */
    void (*on_end)(void *ctx, struct tool_result *r);
    void *ctx;
};

void toolbox_run(struct toolbox *b, struct tool_batch *batch);
