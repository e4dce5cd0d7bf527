/* log.h - the effect log: the effects of a run, recorded before and after they happen.
 *
 *     struct agent_log *l;
 *     if (!agent_log_open("sqlite:rationale.db", &l, e)) ...
 *     agent_log_put(l, effects, n, e)          any thread; returns once they are safe
 *     agent_log_read(l, run, &arena, &list, &n, e)
 *     agent_log_close(l);
 *
 * An effect is put as an intent, with its idempotency key, before it happens, and again with its
 * result. Puts are idempotent: an existing result stays unchanged. Concurrent puts of many runs are
 * written to disk together, in one transaction of one writer thread.
 *
 * The caller chooses how safe an effect is when its put returns (enum agent_care). If an effect is
 * safe, so are all earlier puts. Reads see all puts.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/arena.h"
#include "base/err.h"

struct agent_log;

enum agent_state { AGENT_INTENT, AGENT_DONE };

/* What survives if the process or machine fails right after a put. */
enum agent_care {
    AGENT_ON_DISK, /* survives a power failure */
    AGENT_SAFE,    /* survives the process, even if it is killed */
    AGENT_LATER,   /* may be lost: nobody waits, because it can be done again */
};

struct agent_effect {
    str run;
    int64_t seq; /* in the run, from 0 */
    str kind;    /* "model", "tool", "client" (a tool of the run's caller), "approval", "note" */
    str name;    /* of the model or tool */
    str key;     /* idempotency key: contains a digest of the request */
    str request; /* short form: arguments of a tool */
    str result;  /* when done: JSON or text; for an approval request: the reason */
    bool failed; /* the result says why */
    enum agent_care care;
    enum agent_state state;
    int64_t started_us, ended_us;
    bool outside; /* from outside the run, such as a decision: any daemon may put it */
};

/* A run: its task, and how it ended. `status`: running, waiting, done, stopped, failed, cancelled.
 * Another put replaces status, reason, result and the time. */
struct agent_row {
    str id, app, session_id, status, reason;
    str key;    /* name of the key that started it, or "" */
    str input;  /* JSON with all that is needed to start it again */
    str result; /* JSON, or "" */
    str from;   /* for a put: replaces an existing row only if it has this status; "": always */
    str daemon; /* when read: the daemon that it belongs to, or "" */
    int64_t created_us, updated_us;
    enum agent_care care;
};

bool agent_log_open(str url, struct agent_log **out, struct err *e) MUST_USE;
/* Read only, also while another process writes: puts fail. */
bool agent_log_open_read(str url, struct agent_log **out, struct err *e) MUST_USE;
void agent_log_close(struct agent_log *l); /* NULL is allowed */

bool agent_log_put(struct agent_log *l, const struct agent_effect *effects, size_t n,
                   struct err *e) MUST_USE;
/* Puts both in one transaction: all or nothing. */
bool agent_log_put_with(struct agent_log *l, const struct agent_effect *effects, size_t n,
                        const struct agent_row *row, struct err *e) MUST_USE;
bool agent_log_run_put(struct agent_log *l, const struct agent_row *row, struct err *e) MUST_USE;

/* Ordered by seq; texts in the arena. */
bool agent_log_read(struct agent_log *l, str run, struct arena *a, struct agent_effect **out,
                    size_t *n, struct err *e) MUST_USE;
/* One effect. ERR_NOT_FOUND if it does not exist. */
bool agent_log_effect_get(struct agent_log *l, str run, int64_t seq, struct arena *a,
                          struct agent_effect *out, struct err *e) MUST_USE;
/* ERR_NOT_FOUND if it does not exist. */
bool agent_log_run_get(struct agent_log *l, str id, struct arena *a, struct agent_row *out,
                       struct err *e) MUST_USE;
/* The question that a run waits for: an approval without a decision. ERR_NOT_FOUND if the run
 * waits for none. */
bool agent_log_question(struct agent_log *l, str run, struct arena *a, struct agent_effect *out,
                        struct err *e) MUST_USE;

#define AGENT_LIST_MAX 1000

/* An empty text is no condition. `key`: only runs that this key started. */
struct agent_filter {
    str id, status, app, key, session;
    size_t offset, count_max; /* 0: AGENT_LIST_MAX */
    bool whole;               /* with input and result */
};
/* Newest first. */
bool agent_log_list(struct agent_log *l, const struct agent_filter *f, struct arena *a,
                    struct agent_row **out, size_t *n, struct err *e) MUST_USE;
struct agent_rows {
    struct agent_row *at;
    size_t n;
};
/* The parts of a run, RUN/..., oldest first; with input and result. `session` is the run's. */
bool agent_log_parts(struct agent_log *l, str run, str session, struct arena *a,
                     struct agent_rows *out, struct err *e) MUST_USE;
/* Whether a session of the record, or of another run, belongs to another key. */
bool agent_log_session_taken(struct agent_log *l, str session, str key, bool *taken,
                             struct err *e) MUST_USE;
/* The runs that were running when the process ended; only those of `app` if that is not empty, and
 * of this daemon or nobody. Oldest first. */
bool agent_log_unfinished(struct agent_log *l, str app, struct arena *a, struct agent_row **out,
                          size_t *n, struct err *e) MUST_USE;

/* ---- several daemons: log_share.c ---- */

struct bus;

/* Several daemons share the log. A run belongs to the daemon that started it, or that took over its
 * work: only that one resumes it, and no other can put an effect that is not `outside`. Call it
 * before the first put; `bus` is lent. Without this call all runs belong to this process. */
void agent_log_share(struct agent_log *l, str daemon, struct bus *bus);
bool agent_log_is_shared(const struct agent_log *l);
/* Gives this daemon the unfinished runs without an owner: all of them, or those that another daemon
 * released. The runs of an alert belong to the daemon of the alert. */
bool agent_log_adopt(struct agent_log *l, bool released, struct err *e) MUST_USE;
/* Releases all unfinished runs of this daemon: another one adopts and resumes them. */
bool agent_log_release(struct agent_log *l, struct err *e) MUST_USE;
/* Whether the run belongs to this daemon. If it belongs to another one, that daemon is to do
 * `word`, "resume" or "cancel": it looks at once if the bus works, else within a second. */
bool agent_log_hand(struct agent_log *l, str run, const char *word, bool *mine,
                    struct err *e) MUST_USE;
/* Whether it belongs to another daemon. */
bool agent_log_elsewhere(const struct agent_log *l, const struct agent_row *row);
/* Whether another daemon runs an agent of this key in the thread. `thread` is a part of its input:
 * "thread":NAME as JSON. */
bool agent_log_thread_busy(struct agent_log *l, str key, str thread, bool *busy,
                           struct err *e) MUST_USE;
/* The runs that others handed to this daemon, oldest first; each is returned once. The word is in
 * `from`. */
#define AGENT_DUE_MAX 256
#define AGENT_DUE_TOPIC "due" /* of the bus: work for the daemons is due */
bool agent_log_due(struct agent_log *l, struct arena *a, struct agent_row **out, size_t *n,
                   struct err *e) MUST_USE;
