/* run.h - the loop: think, act, observe, until there is an answer.
 *
 *     struct agent_options o = {.run = id, .model_name = ..., .system = ..., .user = ...,
 *                               .tools = box, .ask = agent_ask_gateway(gl), .log = log, ...};
 *     if (!agent_run(&o, &arena, &result, e)) ...      e: the log failed; the run can be resumed
 *
 * Plain sequential code on the caller's thread. Each model call and each tool call is an effect:
 * an intent goes into the log before it, its result behind it. Called again with the same run id,
 * after a crash or an approval, it goes the same way over the results that are there, and on from
 * where they end; nothing that was done is done again. An effect whose end is not known follows its
 * tool: what reads only or may be repeated is, the rest is asked about or has failed.
 *
 * Whatever a call comes to (bad arguments, no such tool, time-out, cancel), the model is told in
 * the tool's message, and the history stays valid. A limit ends the run with a reason of its own
 * and what there is so far.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "agent/log.h"
#include "agent/results.h"
#include "agent/tool.h"
#include "gateway/ask.h"
#include "mask/mask.h"

#define AGENT_ITERATIONS 10
#define AGENT_TOKENS 6000
#define AGENT_RESULT_SHOWN 16384             /* bytes of a result that the model is shown */
#define AGENT_OBSERVATION 500                /* characters of one in the trace, dots and all */
#define AGENT_UNKNOWN_SEQ ((int64_t)1 << 40) /* and that of an effect: asks how that one ended */
#define AGENT_SAID_SEQ ((int64_t)1 << 41)    /* and that of a client's call: what the user added */
#define AGENT_REPEATS 3                      /* the same calls so often in a row are a loop */
#define AGENT_CORRECTIONS 3 /* times a model is told what is wrong with its output */
#define AGENT_NOTE_MAX 2000 /* characters of the note of a person who decides */
#define AGENT_WHY_SIZE 600  /* characters of the reason that a person is shown */

/* Who answers. The reply's texts live in the arena. False: reply->error says why. */
struct agent_ask {
    bool (*ask)(void *ctx, const struct ask_request *q, const _Atomic bool *cancel, struct arena *a,
                struct ask_reply *reply);
    void *ctx;
};

/* Calls through the gateway of this process. */
struct agent_ask agent_ask_gateway(struct gateway_loop *gl);

struct agent_limits {
    unsigned iterations; /* 0: AGENT_ITERATIONS */
    int64_t tokens;      /* 0: AGENT_TOKENS; -1: none */
    bool tokens_hard;    /* else passing it is only noted */
    double cost_usd;     /* 0: none */
    uint64_t time_ms;    /* 0: none; from the run's first beginning */
};

struct agent_step {
    unsigned step;   /* from 1 */
    str action;      /* name(k='v', ...), or "answer" */
    str observation; /* cut; whole in the log */
    str tool;        /* or "" */
    bool ok;
};

struct agent_result;

struct agent_options {
    str run, app, session;
    str title;    /* what the record names the session; "": what the prompt asks */
    str key;      /* whose: the name of the client's key, or "" */
    bool defined; /* model and level are an agent's definition's: see gateway/ask.h */
    str input;    /* JSON for whoever begins it again; "" if the log has it */
    str model_name, level, system, user;
    str messages; /* JSON, comma separated, between system and user; or "" */
    str extra;    /* members for the request, such as "\"temperature\":0"; or "" */
    struct toolbox *tools;
    struct agent_ask ask;
    struct agent_limits limits;
    const struct agent_result *before; /* work for this run that is done already (a guard of its
                                          input): its usage counts as the run's; NULL: none */
    const char *insist;  /* said, twice at most, when there is a text but no call; NULL: the
                                text is the answer */
    bool say_success;    /* a call's error is {"success": false, "error": ...} */
    bool conclude;       /* at a limit one more call, without tools, for what there is */
    str output;          /* JSON Schema of the answer; or "": any text */
    bool part;           /* of something larger, which tells the record of the session */
    bool keep_reasoning; /* in the log */
    bool replay;         /* from the log alone: what is not there is an error */
    size_t result_shown; /* 0: AGENT_RESULT_SHOWN */
    struct agent_results *results; /* results.h: large ones can be searched; NULL: they cannot */
    struct agent_log *log;         /* NULL: nothing outlives the process */
    const struct mask *mask;       /* of results, before anybody sees them; NULL: none */
    struct store *store;           /* for those who read about it afterwards; NULL: none */
    const struct clock *clock;
    const _Atomic bool *cancel; /* NULL: never */
    const _Atomic bool *leave;  /* cancelled because the process ends: the run stays running */
    /* Tells each step as it is made, on the run's thread; may be NULL. */
    void (*on_step)(void *ctx, const struct agent_step *s);
    /* After each row of the log is on disk, on whichever thread; may be NULL. */
    void (*on_effect)(void *ctx, const struct agent_effect *f);
    /* Before the end of a run that finished, was stopped or failed goes to disk: may change the
     * result (a guard denies it, another agent goes on). The changed result is an effect: once it
     * is in the log, settle is not called again. A result that waits is not logged, so settle is
     * called again when the run is. False: the run is broken. May be NULL. */
    bool (*settle)(void *ctx, struct arena *a, struct agent_result *out, struct err *e);
    void *ctx;
};

enum agent_end {
    AGENT_FINISHED, /* an answer, or a finish that was accepted */
    AGENT_STOPPED,  /* by a limit; reason says which */
    AGENT_FAILED,   /* the model could not be asked */
    AGENT_CANCELLED,
    AGENT_WAITING, /* for a person's word on a call, or for results of the caller's tools */
};

const char *agent_end_name(enum agent_end end);

struct agent_pending {
    int64_t seq;
    str tool, arguments;
    str why; /* the model's reason, or "approval" if it gave none; "unknown": the call may have been
                carried out already */
};

struct agent_result {
    enum agent_end end;
    str reason; /* "", max_iterations_reached, token_budget_exceeded, cost_limit_exceeded,
                   time_limit_exceeded, loop_detected, llm_error, rate_limit_exceeded, cancelled,
                   approval_needed, client_tools, output_invalid, replay_mismatch */
    str detail; /* in words */
    str text;   /* the answer, or the last thing that was said */
    str finish; /* JSON: the accepted arguments, or the answer valid by o->output; or "" */
    struct agent_step *steps;
    size_t step_count;
    unsigned iterations, model_calls, tool_calls;
    int64_t input_tokens, output_tokens, reasoning_tokens;
    double cost_usd;   /* of what is known */
    int64_t spent_ms;  /* as of settle: its time without waiting for people or for its caller */
    int64_t waited_ms; /* and the waiting */
    bool over_budget, concluded, resumed;
    str messages; /* the whole history, a JSON array */
    struct agent_pending pending;
};

/* Counts, tokens and costs of `from` too. */
void agent_result_add_usage(struct agent_result *to, const struct agent_result *from);

bool agent_run(const struct agent_options *o, struct arena *a, struct agent_result *out,
               struct err *e) MUST_USE;

/* The run again, from its log alone: the same steps and result, without its application, its tools
 * or a model. ERR_NOT_FOUND: there is no such run, or its log ends before the run did; then *out
 * has the steps up to there. */
bool agent_replay(struct agent_log *log, str run, struct arena *a, struct agent_result *out,
                  struct err *e) MUST_USE;

enum agent_word { AGENT_APPROVE, AGENT_DENY, AGENT_CHANGE };

struct agent_decision {
    enum agent_word word;
    str arguments; /* of CHANGE: a JSON object */
    str note;      /* for the record; the model is told the note of DENY; or "" */
    str who;
    const struct mask *mask; /* of the note; NULL: none */
    int64_t now_us;
};
/* A person decides on a call that waits; then the run is to be called again. ERR_NOT_FOUND: nothing
 * waits there. ERR_INPUT: the call was decided on already. ERR_CONFLICT: the run has ended. */
bool agent_answer(struct agent_log *log, str run, int64_t seq, const struct agent_decision *d,
                  struct err *e) MUST_USE;

/* Whether a call that waits may have these arguments, by the schema of its tool in the run's log.
 * ERR_INPUT: they are wrong, and how. */
bool agent_check_change(struct agent_log *log, str run, int64_t seq, str arguments,
                        struct err *e) MUST_USE;

/* The result of a call that the run's caller carries out (TOOL_CLIENT), by the call's id, which is
 * the effect's key; then the run is to be called again. `result`: JSON or text, masked by `mask` if
 * that is not NULL. Idempotent: the first result stays, and *already says that there was one.
 * ERR_NOT_FOUND: the run has no such call. ERR_CONFLICT: the run has ended without the result. */
struct agent_client_result {
    str run, call_id, result;
    str said; /* by the user after the result: a message of the conversation; or "" */
    bool failed;
    const struct mask *mask;
    int64_t now_us;
};
/* How many calls wait for their results. */
size_t agent_client_open(const struct agent_effect *all, size_t n);
bool agent_client_result(struct agent_log *log, const struct agent_client_result *r, bool *already,
                         struct err *e) MUST_USE;

/* A note about the run, JSON, that whoever calls agent_run keeps in its log: written once, before
 * the run. The note that is in the log already, or the one given if there is none, is in *out. If
 * its member "guarded" is true, the events of the run do not show an answer before the run has
 * ended. With `text` empty the note is only read, and *out is "" if there is none. */
bool agent_run_note(struct agent_log *log, str run, str text, struct arena *a, str *out,
                    struct err *e) MUST_USE;
