/* run_state.h - a run's internals: run.c the loop, limits.c its limits, turn.c the calls of one
 * turn, ids.c their ids, effect.c the replay of the log, replay.c the run's inputs, record.c the
 * record, work.c a run without the loop.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/history.h"
#include "agent/run.h"
#include "base/map.h"
#include "base/schema.h"

#define RUN_STEPS_MAX 4096
#define RUN_LOOP_MAX 4 /* turns in one round of a loop */
#define RUN_LOOP_TURNS (RUN_LOOP_MAX * (AGENT_REPEATS + 1))
/* What a model and a reader get instead of the result of a call that was interrupted. */
#define AGENT_END_UNKNOWN                                                                          \
    "its end is unknown: the process ended while it ran; it may have been done, and was not run "  \
    "again"
#define REPLAY_SEQ (-1) /* of the note with the run's inputs */
#define CALLER_SEQ (-2) /* of the note that the caller of agent_run keeps */

struct run {
    const struct agent_options *o;
    struct arena *arena; /* holds everything in the result */
    struct agent_result *out;
    struct history history;
    struct agent_effect *logged; /* the log's effects when the run began */
    size_t logged_count;
    int64_t seq;                 /* the number of the next effect */
    struct agent_effect held[2]; /* done, and written with the next intent; texts in arena */
    size_t held_count, steps_max;
    bool concluding;                 /* the last call, without tools and without the time limit */
    bool looped;                     /* uses the loop, so its log alone is enough to replay it */
    bool ended;                      /* its row said so when the run began */
    str was, was_status;             /* in a replay: the run's reason and status in its row */
    int64_t created_us, ended_us;    /* ended: 0 until the end */
    int64_t waited_us;               /* for people and the caller's tools, which does not count */
    struct buf tools;                /* JSON of the tools */
    str reply_id;                    /* of the model call whose tools are running */
    struct map ids;                  /* of calls so far */
    uint64_t called[RUN_LOOP_TURNS]; /* digests of the calls of the last turns, newest first */
    struct schema *output;           /* compiled o->output; or NULL */
    unsigned corrections;            /* attempts at the output so far */
    str thought;                     /* of the current turn, until a step gets it */
    str why;                         /* the model's text with the current calls, or its reasoning */
    str what;                        /* the purpose of the next model call, in words */
    bool quiet;                      /* of that call: see ask.h */
    struct call_reader reader;       /* of the next model call's reply, for the decision log */
    bool broken;                     /* the log failed: err says why */
    struct err err;
    pthread_mutex_t lock; /* protects broken and err while tools run */
};

/* ids.c */
void ids_init(struct run *r);
void ids_release(struct run *r);
/* Replaces call ids that are empty or were used before, and names that no provider accepts. The
 * result is the same when the run replays its log. */
void ids_settle(struct run *r, struct ask_reply *reply);

/* effect.c */
enum known { KNOWN_NOT, KNOWN_DONE, KNOWN_BEGUN };

/* Finds the effect `seq` in the log; *out is set for DONE and BEGUN. Another key at this place
 * breaks the run, because it takes another course than before. */
enum known effect_find(struct run *r, int64_t seq, str kind, str key, struct agent_effect **out);
/* The log's effect with this number, or NULL. */
struct agent_effect *effect_at(const struct run *r, int64_t seq);
/* The replay reaches an effect that the log does not have: returns false. */
bool effect_missing(struct run *r, int64_t seq);
/* Masks JSON for the log; on the run's thread. */
str effect_masked(struct run *r, str json);
/* The key of an effect: a digest of its parts. In the run's arena. */
str effect_key(struct run *r, int64_t seq, str kind, str name, str asked);
/* Holds a finished effect until the next put, with which it is written, because nothing depends on
 * it before. On the run's own thread. */
void effect_hold(struct run *r, const struct agent_effect *f);
/* Writes the held effects and these in one put; on the run's own thread. `row` or NULL. */
bool effect_flush(struct run *r, const struct agent_effect *effects, size_t n,
                  const struct agent_row *row);
/* Writes this one alone, on any thread. False: the run is broken. */
bool effect_put(struct run *r, const struct agent_effect *f);
/* Whether the log had this effect when the run began. */
bool effect_logged(const struct run *r, int64_t seq);
bool run_break(struct run *r, const struct err *e);
/* Sets a waiting run to running, before the decision or result that it waits for is put: if the
 * process ends in between, the next start resumes the run and it waits again. ERR_CONFLICT: the run
 * has ended. */
bool run_wake(struct agent_log *log, str run, struct arena *a, int64_t now_us, struct err *e);
int64_t run_now_us(const struct run *r);
bool run_cancelled(const struct run *r);

/* replay.c: the effect with the run's inputs; its text is in `out`, which the caller releases. */
struct agent_effect replay_note(struct run *r, struct buf *out);

/* output.c: checks the answer by the schema of the options. */
bool output_init(struct run *r);
void output_release(struct run *r);
/* Appends the schema for the model to the system prompt. */
void output_describe(const struct run *r, struct buf *out);
/* Whether the text has a valid answer, which is then in out->finish. If not, *why is a message for
 * the model, in the arena. */
bool output_check(struct run *r, str text, str *why);

/* settle.c: the result after guards and handoffs. */
void run_settle(struct run *r);
/* Whether the effect is that result. */
bool settle_is(const struct agent_effect *f);

/* record.c */
void agent_record_begin(const struct run *r);
void agent_record_end(const struct run *r);
/* The purpose of a call, for the record; in the arena. */
str agent_record_step(const struct run *r, str what, struct arena *a);
/* A call of a tool begins; ends with the effect f. `at_us`: its place among the calls of its turn.
 * On any thread. */
void agent_record_tool_start(const struct run *r, const struct tool *tool, str id, int64_t at_us);
void agent_record_tool(const struct run *r, const struct tool *tool, const struct agent_effect *f,
                       int64_t at_us);

/* run.c: false if the run is over or broken. */
bool run_open(struct run *r);
/* told: the row's result; "": made from the known results. */
bool run_close(struct run *r, str report);
/* One model call, from the log or made now. */
bool run_think(struct run *r, str body, str level, struct ask_reply *reply);

/* Sets that the run has failed or was cancelled; returns false. */
bool run_fail(struct run *r, const struct chat_error *error);

/* limits.c: false if the run is over. */
bool run_within(struct run *r);
/* Notes the calls of a turn; they end the run if they repeat the last turns too often. */
bool run_makes_progress(struct run *r, const struct ask_reply *reply);
/* A limit ends the run; returns false. */
bool run_stop(struct run *r, const char *reason, str detail);
bool run_stop_late(struct run *r);
/* Likewise for a history that is full. */
bool run_stop_full(struct run *r);
/* Time, memory and a cancel are not in the log: whether this is a replay of a run that one of them
 * ended here. Sets the run's end. */
bool run_replay_ends(struct run *r);
bool run_is_late(const struct run *r);
/* Since its first start, without the time that it waited for people or its caller. */
int64_t run_spent_ms(const struct run *r);
/* The rest of the time limit, at least 1; 0: no limit. */
int64_t run_time_left_ms(const struct run *r);

/* turn.c: false if the run is over, broken or waits. */
bool turn_act(struct run *r, const struct ask_reply *reply);
/* The same for callers without a history: the whole results, by call. */
bool turn_do(struct run *r, const struct ask_reply *reply, struct agent_done *out);
void run_step(struct run *r, str action, str observation, str tool, bool ok);
str run_cut(struct run *r, str text, size_t size_max, const char *what);
