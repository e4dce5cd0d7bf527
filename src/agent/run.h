/* run.h - the agent loop: think, act, observe, until there is an answer.
 *
 *     struct agent_options o = {.run = id, .model_name = ..., .system = ..., .user = ...,
 *                               .tools = box, .ask = agent_ask_gateway(gl), .log = log, ...};
 *     if (!agent_run(&o, &arena, &result, e)) ...      e: the log failed; the run can be resumed
 *
 * The loop is sequential code on the caller's thread. Each model call and each tool call is an
 * effect: its intent is logged before it, its result after it. If agent_run is called again with
 * the same run id, after a crash or an approval, it repeats the same steps with the logged results
 * and continues where they end; no logged effect is repeated. If the outcome of a tool call is
 * unknown, the tool's flags decide: a read-only or repeatable call is repeated, for any other a
 * person is asked or it counts as failed.
 *
 * Whatever the outcome of a call (bad arguments, no such tool, timeout, cancel), the model gets it
 * in the tool's message, and the history stays valid. A limit ends the run with its own reason and
 * the results so far.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/log.h"
#include "agent/results.h"
#include "gateway/ask.h"

#define AGENT_ITERATIONS 10
#define AGENT_TOKENS 6000
#define AGENT_RESULT_SHOWN 16384             /* bytes of a result that the model sees */
#define AGENT_OBSERVATION 500                /* characters of one in the trace, with dots */
#define AGENT_UNKNOWN_SEQ ((int64_t)1 << 40) /* plus an effect's: asks how it ended */
#define AGENT_SAID_SEQ ((int64_t)1 << 41)    /* plus a client call's: the user's addition */
#define AGENT_REPEATS 3                      /* the same calls this often in a row are a loop */
#define AGENT_CORRECTIONS 3                  /* retries with the errors of an invalid output */
#define AGENT_NOTE_MAX 2000                  /* characters of the note of a person who decides */
#define AGENT_WHY_SIZE 600                   /* characters of the reason that a person sees */

/* Makes the model calls. The reply's texts are in the arena. False: reply->error says why. */
struct agent_ask {
    bool (*ask)(void *ctx, const struct ask_request *q, const _Atomic bool *cancel, struct arena *a,
                struct ask_reply *reply);
    void *ctx;
};

/* Calls through the gateway of this process. */
struct agent_ask agent_ask_gateway(struct gateway_loop *gl);

struct agent_limits {
    unsigned iterations; /* 0: AGENT_ITERATIONS */
    int64_t tokens;      /* 0: AGENT_TOKENS; -1: no limit */
    bool tokens_hard;    /* otherwise exceeding it is only noted */
    double cost_usd;     /* 0: no limit */
    uint64_t time_ms;    /* 0: no limit; counted from the run's first start */
    unsigned repeats;    /* the same calls this often in a row are allowed; 0: AGENT_REPEATS; from
                            16 on: no limit */
};

struct agent_step {
    unsigned step;   /* from 1 */
    str action;      /* name(k='v', ...), or "answer" */
    str observation; /* truncated; the log has all of it */
    str tool;        /* or "" */
    str thought;     /* the model's reasoning in this turn, or its text beside the calls; on the
                        first step of the turn, masked; "" on the others */
    bool ok;
};

/* One call of a reply and its result. */
struct agent_done {
    const struct tool *tool; /* NULL: no tool has this name */
    bool ok;
    str result; /* whole; for a failed call {"error": ...} */
};

struct agent_result;

struct agent_options {
    str run, app, session;
    str agent, stage; /* names for the record; agent "": the app; stage "": none */
    str title;        /* the session's title in the record; "": taken from the prompt */
    str key;          /* name of the client key it belongs to, or "" */
    bool defined;     /* an agent's definition set model and level: see gateway/ask.h */
    str input;        /* JSON to start the run again; "" if the log has it */
    str model_name, level, system, user;
    str messages; /* JSON, separated by commas, between system and user; or "" */
    str extra;    /* members for the request, such as "\"temperature\":0"; or "" */
    struct toolbox *tools;
    struct agent_ask ask;
    struct agent_limits limits;
    const struct agent_result *before; /* earlier work for this run (a guard of its input), whose
                                          usage counts as the run's; NULL: none */
    const char *insist;  /* sent, at most twice, after a text without a call; or NULL */
    bool say_success;    /* a call's error is written as {"success": false, "error": ...} */
    bool conclude;       /* at a limit, one more call without tools for an answer */
    str output;          /* JSON Schema of the answer; or "": any text */
    bool part;           /* part of a larger run, which records the session */
    bool keep_reasoning; /* in the log */
    bool replay;         /* uses only the log: a missing effect is an error */
    size_t result_shown; /* 0: AGENT_RESULT_SHOWN */
    struct agent_results *results; /* results.h: large results can be searched; NULL: they cannot */
    struct agent_log *log;         /* NULL: nothing survives the process */
    const struct mask *mask;       /* for results, before anybody sees them; NULL: none */
    struct store *store;           /* for the record of the run; NULL: none */
    struct hub *hub;               /* for live viewers of its tool calls; NULL: none */
    const struct clock *clock;
    const _Atomic bool *cancel; /* NULL: never */
    const _Atomic bool *leave;  /* set when the process ends: the run stays in the state running */
    /* Called for each step, on the run's thread; may be NULL. */
    void (*on_step)(void *ctx, const struct agent_step *s);
    /* Called after each row of the log is on disk, on any thread; may be NULL. */
    void (*on_effect)(void *ctx, const struct agent_effect *f);
    /* Called before the end of a run that finished, was stopped or failed is logged. It may change
     * the result (a guard denies it, another agent continues). The changed result is an effect:
     * once it is logged, settle is not called again. A waiting result is not logged, so settle is
     * called again with the run. False: the run is broken. May be NULL. */
    bool (*settle)(void *ctx, struct arena *a, struct agent_result *out, struct err *e);
    /* The next three are for a caller that stores the conversation itself, for example in a thread,
     * so the run has no log. Called on the run's thread. False: the run is broken. May be NULL. */
    /* Writes the messages of each model call, JSON separated by commas, in place of the history. */
    bool (*write_messages)(void *ctx, struct buf *out, struct err *e);
    /* Called with each reply, except a conclusion, before its calls are made. *finished = true: the
     * reply, which has no calls, is the answer, even if it is empty. */
    bool (*on_reply)(void *ctx, const struct ask_reply *reply, bool *finished, struct err *e);
    /* Called with the results of a reply's calls, in the order of the calls. *finished = true ends
     * the run. */
    bool (*on_results)(void *ctx, const struct ask_reply *reply, const struct agent_done *done,
                       bool *finished, struct err *e);
    void *ctx;
};

enum agent_end {
    AGENT_FINISHED, /* an answer, or an accepted finish call */
    AGENT_STOPPED,  /* by a limit; `reason` names it */
    AGENT_FAILED,   /* the model call failed */
    AGENT_CANCELLED,
    AGENT_WAITING, /* for a person's decision, or for results of the caller's tools */
};

const char *agent_end_name(enum agent_end end);

struct agent_pending {
    int64_t seq;
    str tool, arguments;
    str why; /* the model's reason, or "approval" if it gave none; "unknown": the call may
                already have been made */
};

struct agent_result {
    enum agent_end end;
    str reason; /* "", max_iterations_reached, token_budget_exceeded, cost_limit_exceeded,
                   time_limit_exceeded, memory_limit_exceeded, loop_detected, llm_error,
                   rate_limit_exceeded, cancelled, approval_needed, client_tools, output_invalid,
                   replay_mismatch */
    str detail; /* the reason as a sentence */
    str text;   /* the answer, or the last text */
    str finish; /* JSON: the accepted arguments, or the answer valid by o->output; or "" */
    struct agent_step *steps;
    size_t step_count;
    unsigned iterations, model_calls, tool_calls;
    int64_t input_tokens, output_tokens, reasoning_tokens;
    double cost_usd;   /* of the calls whose cost is known */
    int64_t spent_ms;  /* until settle: its time without waiting for people or the caller */
    int64_t waited_ms; /* and the waiting time */
    bool over_budget, concluded, resumed;
    str messages; /* the whole history, a JSON array */
    struct agent_pending pending;
};

/* Adds the counts, tokens and costs of `from`. */
void agent_result_add_usage(struct agent_result *to, const struct agent_result *from);

bool agent_run(const struct agent_options *o, struct arena *a, struct agent_result *out,
               struct err *e) MUST_USE;

/* Replays the run from its log alone: the same steps and result, without its application, its tools
 * or a model. ERR_NOT_FOUND: there is no such run, or its log ends before the run did; then *out
 * has the steps so far. */
bool agent_replay(struct agent_log *log, str run, struct arena *a, struct agent_result *out,
                  struct err *e) MUST_USE;

enum agent_word { AGENT_APPROVE, AGENT_DENY, AGENT_CHANGE };

struct agent_decision {
    enum agent_word word;
    str arguments; /* of CHANGE: a JSON object */
    str note;      /* for the record; the model gets the note of DENY; or "" */
    str who;
    const struct mask *mask; /* for the note; NULL: none */
    int64_t now_us;
};
/* Records a person's decision on a waiting call; then the run has to be called again.
 * ERR_NOT_FOUND: no such call waits. ERR_INPUT: the call was already decided. ERR_CONFLICT: the run
 * has ended. */
bool agent_answer(struct agent_log *log, str run, int64_t seq, const struct agent_decision *d,
                  struct err *e) MUST_USE;

/* Checks new arguments of a waiting call by its tool's schema in the run's log. ERR_INPUT has the
 * error. */
bool agent_check_change(struct agent_log *log, str run, int64_t seq, str arguments,
                        struct err *e) MUST_USE;

/* Records that a running run is to end as cancelled: the reason of its row until it has ended. If
 * the process ends first, the next one ends the run instead of resuming it. */
#define AGENT_CANCEL_ASKED "cancelled"
bool agent_keep_cancel(struct agent_log *log, str run, int64_t now_us, struct err *e) MUST_USE;

/* Records the result of a call that the run's caller makes (TOOL_CLIENT), by the call's id, which
 * is the effect's key; then the run has to be called again. `result`: JSON or text, masked by
 * `mask` if that is not NULL. Idempotent: the first result stays, and *already is true.
 * ERR_NOT_FOUND: the run has no such call. ERR_CONFLICT: the run has ended without the result. */
struct agent_client_result {
    str run, call_id, result;
    str said; /* the user's message after the result, for the conversation; or "" */
    bool failed;
    const struct mask *mask;
    int64_t now_us;
};
/* The number of calls that wait for their results. */
size_t agent_client_open(const struct agent_effect *all, size_t n);
bool agent_client_result(struct agent_log *log, const struct agent_client_result *r, bool *already,
                         struct err *e) MUST_USE;

/* A note about the run, JSON, that the caller of agent_run keeps in its log: written once,
 * before the run. *out is the logged note, or `text` if none is logged. If its member "guarded"
 * is true, the events of the run show no answer before the run has ended. If `text` is empty,
 * the note is only read; *out is "" if no note is logged. */
bool agent_run_note(struct agent_log *log, str run, str text, struct arena *a, str *out,
                    struct err *e) MUST_USE;
