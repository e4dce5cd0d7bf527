/* run_state.h - a run as its own files see it: run.c the loop, limits.c its limits, turn.c the
 * calls of one turn, ids.c their ids, effect.c the way over the log, replay.c what it was given,
 * tell.c what the record is told, work.c a run without the loop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/history.h"
#include "agent/run.h"
#include "base/map.h"
#include "base/schema.h"

#define RUN_STEPS_MAX 4096
#define RUN_LOOP_MAX 4 /* turns of one round of a loop */
#define RUN_LOOP_TURNS (RUN_LOOP_MAX * (AGENT_REPEATS + 1))
#define REPLAY_SEQ (-1) /* of the note with what the run was given */
#define CALLER_SEQ (-2) /* of the note that the caller of agent_run keeps */

struct run {
    const struct agent_options *o;
    struct arena *arena; /* what goes into the result */
    struct agent_result *out;
    struct history history;
    struct agent_effect *logged; /* what the log had when the run began */
    size_t logged_count;
    int64_t seq;                 /* of the next effect */
    struct agent_effect held[2]; /* done, and going to disk with the next intent; texts in arena */
    size_t held_count, steps_max;
    bool concluding; /* the last call, without tools and without the limit of time */
    bool looped;     /* it is a loop, which can be gone over by its log alone */
    bool ended;      /* the row said so when the run began */
    str was;         /* in a replay: the reason of the run's end, as its row has it */
    int64_t created_us;
    int64_t waited_us; /* for people and for tools of the caller: no part of the run's time */
    struct buf tools;  /* JSON of the tools */
    str reply_id;      /* of the model call whose tools run */
    struct map ids;    /* of calls so far */
    uint64_t called[RUN_LOOP_TURNS]; /* digests of the calls of the last turns, the newest first */
    unsigned repeats;
    struct schema *output; /* compiled, of o->output; or NULL */
    unsigned corrections;  /* of the output, so far */
    str why;               /* what the model said with the calls at hand, or thought */
    bool broken;           /* the log failed: err says why */
    struct err err;
    pthread_mutex_t lock; /* of broken and err, while tools run */
};

/* ids.c */
void ids_init(struct run *r);
void ids_release(struct run *r);
/* Calls whose ids are empty or were there before get others, and names that no provider takes
 * become some that all do: the same ones when the run goes over its log again. */
void ids_settle(struct run *r, struct ask_reply *reply);

/* effect.c */
enum known { KNOWN_NOT, KNOWN_DONE, KNOWN_BEGUN };

/* What the log says of the effect `seq`; *out is set for DONE and BEGUN. Another key at this place
 * breaks the run: it does not go the way it went. */
enum known effect_find(struct run *r, int64_t seq, str kind, str key, struct agent_effect **out);
/* What the log has at this place, or NULL. */
struct agent_effect *effect_at(const struct run *r, int64_t seq);
/* A replay comes to an end that the run did not have: false. */
bool effect_missing(struct run *r, int64_t seq);
/* The same for its key alone: what a digest of the parts is. In the run's arena. */
/* As the log may have it; on the run's thread. */
str effect_masked(struct run *r, str json);
str effect_key(struct run *r, int64_t seq, str kind, str name, str asked);
/* Done, and nothing follows from it before the next row is put: goes to disk with that. On the
 * run's own thread. */
void effect_hold(struct run *r, const struct agent_effect *f);
/* What is held and these, at once; on the run's own thread. `row` or NULL. */
bool effect_flush(struct run *r, const struct agent_effect *effects, size_t n,
                  const struct agent_row *row);
/* These alone, on any thread. False: the run is broken. */
bool effect_put(struct run *r, const struct agent_effect *effects, size_t n);
/* Whether the log had something there when the run began. */
bool effect_logged(const struct run *r, int64_t seq);
bool run_break(struct run *r, const struct err *e);
/* A run that waits is running again, before the word or the result that it waits for is put: if the
 * process ends in between, the run is taken up at the next start and waits once more. ERR_CONFLICT:
 * the run has ended. */
bool run_wake(struct agent_log *log, str run, struct arena *a, int64_t now_us, struct err *e);
int64_t run_now_us(const struct run *r);
bool run_cancelled(const struct run *r);

/* replay.c: the effect that says what the run was given; its text in `out`, released by the
 * caller. */
struct agent_effect replay_note(struct run *r, struct buf *out);

/* output.c: the answer by the schema of the options. */
bool output_init(struct run *r);
void output_release(struct run *r);
/* The schema for the model, behind the system prompt. */
void output_describe(const struct run *r, struct buf *out);
/* Whether the text has a valid answer, which is then in out->finish. If not, *why is a message for
 * the model, in the arena. */
bool output_check(struct run *r, str text, str *why);

/* settle.c: the result as it is when guards and handoffs are done with it. */
void run_settle(struct run *r);
/* Whether the effect is that result. */
bool settle_is(const struct agent_effect *f);

/* tell.c */
void tell_begin(const struct run *r);
void tell_end(const struct run *r);
void tell_tool(const struct run *r, const struct agent_effect *f, str parent, str server);

/* run.c: false if the run is over or broken. */
bool run_open(struct run *r);
/* told: its result for the row; "" is made of what is known. */
bool run_close(struct run *r, str told);
/* One model call, from the log or made. */
bool run_think(struct run *r, str body, str level, struct ask_reply *reply);

/* The run has failed or was cancelled; returns false. */
bool run_fail(struct run *r, const struct chat_error *error);

/* limits.c: false if the run is over. */
bool run_within(struct run *r);
/* A limit ends the run; returns false. */
bool run_stop(struct run *r, const char *reason, str detail);
bool run_stop_late(struct run *r);
bool run_is_late(const struct run *r);
/* Since its first beginning, without the time that it waited for people or for its caller. */
int64_t run_spent_ms(const struct run *r);
/* What the limit of time leaves, at least 1; 0: there is no limit. */
int64_t run_time_left_ms(const struct run *r);

/* turn.c: false if the run is over, broken or waits. */
bool turn_act(struct run *r, const struct ask_reply *reply);
/* The same for who has no history: the results, whole, by call. */
struct agent_done;
bool turn_do(struct run *r, const struct ask_reply *reply, struct agent_done *out);
void run_step(struct run *r, str action, str observation, str tool, bool ok);
str run_cut(struct run *r, str text, size_t size_max, const char *what);
