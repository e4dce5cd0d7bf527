/* tool.h - the tools that a model may call: checks their arguments and makes the calls.
 *
 *     struct toolbox *b = toolbox_new(&clock_real);
 *     if (!toolbox_add(b, &tool, e)) ...                  e: the schema is wrong
 *     toolbox_write(b, &body);                            the "tools" of Chat Completions
 *     toolbox_run(b, calls, n, &options);                 all of them at once, results in order
 *     toolbox_free(b);
 *
 * Each call runs on its own thread, unless its tool is pure, and is abandoned after its tool's
 * timeout: the tool may continue, but its result is dropped. A transient failure (except
 * ERR_TIMEOUT) is retried as often as the row says. Results of cacheable tools are cached by name
 * and arguments, whatever the order of their members, as long as the box lives.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/buf.h"
#include "base/clock.h"

#define TOOL_TIMEOUT_MS 12000
#define TOOL_COUNT_MAX 512
#define TOOL_NAME_MAX 1024 /* bytes; the name for the model has at most 64 */
#define TOOL_RESULT_MAX ((size_t)8 << 20)
#define TOOL_CALLS_MAX 64                           /* calls that run at once */
#define TOOL_REPORTS "The tool reports an error:\n" /* begins a reported result, for the model */

enum tool_flag {
    TOOL_CACHEABLE = 1,
    TOOL_READ_ONLY = 2,     /* may run again if its outcome is unknown */
    TOOL_IDEMPOTENT = 4,    /* likewise */
    TOOL_APPROVAL = 8,      /* a person has to approve each call */
    TOOL_FINISH = 16,       /* its success ends the run; its arguments are the result */
    TOOL_PURE = 32,         /* fast and never blocks: runs on the caller's thread */
    TOOL_STRICT = 64,       /* only members that the schema names, even if it does not say so */
    TOOL_SAYS_STRICT = 128, /* asks the provider to keep the model to the schema */
    TOOL_CLIENT = 256, /* the run's caller makes the call, and the run waits for its result: run
                          is NULL (agent_client_result) */
};

/* What to do if the process ended between the start and the end of a call. */
enum tool_unknown { TOOL_UNKNOWN_FAIL, TOOL_UNKNOWN_ASK, TOOL_UNKNOWN_RETRY };

struct tool_call {
    str id, name;
    str arguments; /* one JSON object, valid by the tool's schema */
    str key;       /* equal for the same call of the same run, also after a restart */
    str session;
    uint64_t deadline_ns;       /* monotonic */
    const _Atomic bool *cancel; /* true: nobody waits any more */
    bool *reported; /* set by a tool that returns true: its result describes an error of its own */
};

struct tool {
    str name, description, schema; /* schema: JSON; "" accepts any object */
    str accepts; /* checks arguments, if it demands less than the model's schema: strict schemas
                    require even members that may be null; "": schema */
    str server;  /* its server, for the record; may be empty */
    str own;     /* its name at the server, for the record; "": name */
    unsigned flags;
    enum tool_unknown unknown;
    unsigned timeout_ms;  /* 0: TOOL_TIMEOUT_MS */
    unsigned retries;     /* retries after a transient failure */
    unsigned calls_a_min; /* 0: no limit */
    /* Writes the result, JSON or text, to out. False: e has the reason, worded for the model; a
     * code for which err_retry is true is a transient failure. Any thread, several at once. */
    bool (*run)(void *ctx, const struct tool_call *call, struct buf *out, struct err *e);
    void *ctx;
    /* Set by toolbox_add. */
    str called; /* its name for the model: the name, or a form of it that every provider accepts */
    bool loose; /* the schema used types of a programming language, and was translated */
};

struct toolbox;

struct toolbox *toolbox_new(const struct clock *clock); /* lent */
/* Waits for abandoned calls. */
void toolbox_free(struct toolbox *b);
/* Copies the texts. ERR_INPUT: the name is taken or invalid, or the schema does not compile. A
 * schema that is not a JSON Schema but uses "dict", "float" or "ArrayList" is translated (see
 * tool_schema.c). A name that providers do not accept, such as "math.hypot", gets another one
 * in the request: up to 64 of A-Z a-z 0-9 _ - and a digest of the name, whatever else is in the
 * box. */
bool toolbox_add(struct toolbox *b, const struct tool *t, struct err *e) MUST_USE;
/* By its name, or by its name for the model. */
const struct tool *toolbox_find(const struct toolbox *b, str name);
/* Writes the tools in the order they were added. */
void toolbox_write(const struct toolbox *b, struct buf *out);
size_t toolbox_count(const struct toolbox *b);
const struct tool *toolbox_at(const struct toolbox *b, size_t i);

/* Whether the arguments, JSON text as a model wrote it, are valid for the tool; `why` gives the
 * model the path and the reason. An empty text is an empty object. */
bool toolbox_check(const struct toolbox *b, const struct tool *t, str arguments,
                   struct buf *why) MUST_USE;

/* Members sorted by name, numbers and texts in one spelling, no white space: the same for equal
 * arguments. */
void tool_canonical(struct buf *out, str arguments);

struct tool_result {
    struct tool_call call;
    const struct tool *tool;
    bool ok, cached, skip; /* skip: the call is not made */
    bool reported;         /* not ok, and `out` is the tool's own description of the error */
    unsigned tries;
    struct buf out; /* released by the caller */
    struct err err;
    int64_t started_us, ended_us; /* wall */
};

struct tool_batch {
    struct tool_result *results;
    size_t n;
    const _Atomic bool *cancel;
    int64_t timeout_ms; /* of the run: longer calls are abandoned; 0: no limit */
    /* Called when each call ends, on its thread or the caller's; may be NULL. */
    void (*on_end)(void *ctx, struct tool_result *r);
    void *ctx;
};

void toolbox_run(struct toolbox *b, struct tool_batch *batch);
