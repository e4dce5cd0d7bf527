/* log.h - the effect log: what a run has done to the world, written before and after.
 *
 *     struct agent_log *l;
 *     if (!agent_log_open("sqlite:rationale.db", &l, e)) ...
 *     agent_log_put(l, effects, n, e)          any thread; returns once they are safe
 *     agent_log_read(l, run, &arena, &list, &n, e)
 *     agent_log_close(l);
 *
 * An effect is put as an intent, with its idempotency key, before anything happens, and again with
 * its result. Putting is idempotent: a result that is there stays as it is. Puts of many runs that
 * come at once go to disk together, in one transaction of one writer thread.
 *
 * How safe an effect is when its put returns is up to who puts it (enum agent_care); what is safe
 * is so with all that was put before it, and reading sees all that was put.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"
#include "base/str.h"

struct agent_log;

enum agent_state { AGENT_INTENT, AGENT_DONE };

/* What happens to a put if the end comes right behind it. */
enum agent_care {
    AGENT_ON_DISK, /* it outlives the machine's power */
    AGENT_SAFE,    /* it outlives the process, whoever kills it */
    AGENT_LATER,   /* it is on its way: nobody waits, because it can as well be made again */
};

struct agent_effect {
    str run;
    int64_t seq; /* in the run, from 0 */
    str kind;    /* "model", "tool", "client" (a tool of the run's caller), "approval", "note" */
    str name;    /* of the model or tool */
    str key;     /* idempotency key: also says what was asked, by a digest */
    str request; /* in short: arguments of a tool */
    str result;  /* of one that is done: JSON or text; of an approval that is asked: why */
    bool failed; /* its result says why */
    enum agent_care care;
    enum agent_state state;
    int64_t started_us, ended_us;
};

/* A run: what it is to do, and how it ended. `status`: running, waiting, done, stopped, failed,
 * cancelled. Putting again replaces status, reason, result and the time. */
struct agent_row {
    str id, app, session_id, status, reason;
    str key;    /* the name of the key that started it, or "" */
    str input;  /* JSON: enough to begin it again */
    str result; /* JSON, or "" */
    str from; /* of a put: a row that is there is replaced only if this is its status; "": always */
    int64_t created_us, updated_us;
    enum agent_care care;
};

bool agent_log_open(str url, struct agent_log **out, struct err *e) MUST_USE;
/* To look at only, also while another process writes: puts fail. */
bool agent_log_open_read(str url, struct agent_log **out, struct err *e) MUST_USE;
void agent_log_close(struct agent_log *l); /* NULL: nothing */

bool agent_log_put(struct agent_log *l, const struct agent_effect *effects, size_t n,
                   struct err *e) MUST_USE;
/* Both at once: all of it, or nothing. */
bool agent_log_put_with(struct agent_log *l, const struct agent_effect *effects, size_t n,
                        const struct agent_row *row, struct err *e) MUST_USE;
bool agent_log_run_put(struct agent_log *l, const struct agent_row *row, struct err *e) MUST_USE;

/* In the order of seq; texts in the arena. */
bool agent_log_read(struct agent_log *l, str run, struct arena *a, struct agent_effect **out,
                    size_t *n, struct err *e) MUST_USE;
/* One of them. ERR_NOT_FOUND if there is none. */
bool agent_log_effect_get(struct agent_log *l, str run, int64_t seq, struct arena *a,
                          struct agent_effect *out, struct err *e) MUST_USE;
/* ERR_NOT_FOUND if there is none. */
bool agent_log_run_get(struct agent_log *l, str id, struct arena *a, struct agent_row *out,
                       struct err *e) MUST_USE;
/* The question that a run waits with: an approval without its word. ERR_NOT_FOUND if there is
 * none. */
bool agent_log_question(struct agent_log *l, str run, struct arena *a, struct agent_effect *out,
                        struct err *e) MUST_USE;

#define AGENT_LIST_MAX 1000

/* Empty: whatever it is. `key`: only runs that this key started. */
struct agent_filter {
    str id, status, app, key, session;
    size_t offset, count_max; /* 0: AGENT_LIST_MAX */
    bool whole;               /* with input and result */
};
/* Newest first. */
bool agent_log_list(struct agent_log *l, const struct agent_filter *f, struct arena *a,
                    struct agent_row **out, size_t *n, struct err *e) MUST_USE;
/* The parts of a run, RUN/..., the oldest first; with input and result. `session` is the run's. */
bool agent_log_parts(struct agent_log *l, str run, str session, struct arena *a,
                     struct agent_row **out, size_t *n, struct err *e) MUST_USE;
/* Whether a session of the record, or of another run, belongs to another key. */
bool agent_log_session_taken(struct agent_log *l, str session, str key, bool *taken,
                             struct err *e) MUST_USE;
/* Those that were running when the process ended, and of one app if that is not empty; the oldest
 * first. */
bool agent_log_unfinished(struct agent_log *l, str app, struct arena *a, struct agent_row **out,
                          size_t *n, struct err *e) MUST_USE;
