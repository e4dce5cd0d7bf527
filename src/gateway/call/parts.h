/* parts.h - the structs that make up a call, for its own files: see internal.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/call.h"
#include "gateway/call/record.h"
#include "gateway/call/state.h"
#include "gateway/defer.h"
#include "gateway/pipe/pipe.h"
#include "gateway/upstream.h"
#include "net/frames.h"
#include "wire/defer_events.h"

#define CALL_ARENA_MAX ((size_t)256 << 20)  /* bodies are bounded where they enter */
#define CALL_ARENA_SPARE ((size_t)96 << 20) /* memory that one event of the largest size may need */
#define CALL_ARENA_WHOLE 8000               /* enough for most replies in one piece */
#define CALL_ARENA_STREAM ((size_t)1152)    /* enough for most streams that are split, */
#define CALL_ARENA_RECORD ((size_t)336)  /* and for thoughts and segments, if they are recorded */
#define CALL_HEAD_SIZE 512               /* free space before the body, for the head */
#define CALL_BODY_MAX ((size_t)64 << 20) /* of the body that is written for the provider */
#define CALL_TARGET_MAX 4096             /* path and query for the provider */
#define CALL_HEADERS_MAX 16384
#define CALL_LINES_MAX (CALL_TARGET_MAX + CALL_HEADERS_MAX)
#define CALL_FRAME_MAX ((size_t)32 << 20) /* one event, or one whole reply */
#define CALL_ERROR_MAX 65536              /* bytes of a provider's error body */
#define CALL_THOUGHT_MAX 65536            /* bytes of reasoning that a second call gets */
#define CALL_THOUGHT_SOME 8192            /* the same if the call has no cap */
#define CALL_THOUGHTS_MAX 2               /* pieces of it that the reply may lend */
#define CALL_COMMENTS_MAX 16384           /* bytes before the first event; the rest is dropped */
#define CALL_CHAIN_MAX 16
#define CALL_NO_RECORDING "no_recording" /* a replay found no recording: a retry is useless */

enum call_phase {
    CALL_FIRST,
    CALL_CUT,    /* a second call that continues after the cap */
    CALL_REPAIR, /* a second call for an answer that the first reply did not have */
};

/* Parameters that the current provider has refused, and is asked without; bits. */
enum call_without {
    CALL_WITHOUT_TEMPERATURE = 1 << 0,
    CALL_WITHOUT_TOP_P = 1 << 1,
    CALL_WITHOUT_BOUND = 1 << 2,     /* the maximum of output tokens that the gateway adds */
    CALL_WITHOUT_PARAMS = 1 << 3,    /* the configured reasoning_params */
    CALL_WITHOUT_USUAL_WAY = 1 << 4, /* Gemini, Anthropic: the model's default of level and
                                        budget */
    CALL_WITHOUT_REASONING = 1 << 5, /* every reasoning parameter, reasoning_params too */
    CALL_WITHOUT_CONTROL = 1 << 6,   /* the parameter that lets the gateway end its reasoning */
    CALL_WITHOUT_PREFILL = 1 << 7,   /* a second call quotes the reasoning instead */
    CALL_WITHOUT_USAGE = 1 << 8,     /* a stream is not asked for its usage */
    CALL_WITHOUT_CONFLICT = 1 << 9,  /* not both temperature and top_p; each alone is fine */
};

struct call_made;
struct call_kept;
struct call_history;
struct call_control;

/* How much the client has received. It decides whether the gateway may retry. */
enum call_received {
    CALL_RECEIVED_NOTHING,
    CALL_RECEIVED_EARLIER, /* part of an earlier phase, or bytes that our caller sent */
    CALL_RECEIVED_REPLY,   /* part of this phase */
};

struct call_client {
    const struct call_sink *sink; /* NULL once the client has left */
    void *ctx;
    enum call_received received;
    bool hides; /* reasoning is not for the client */
    bool paused;
    bool left_waiting; /* the client left while a provider worked: the input is billed */
};

/* The current provider, and how it is asked. */
struct call_attempt {
    const struct wire *wire; /* the provider's dialect */
    enum call_phase phase;
    unsigned tries;        /* with this provider in this phase */
    int64_t budget;        /* reasoning tokens that the provider was allowed; -1: no budget */
    bool streams;          /* a stream was asked for */
    bool relays;           /* the client gets its frames unchanged */
    bool bounded;          /* the body has a maximum of output tokens that the gateway added */
    bool prefilled;        /* the body ends in reasoning to continue from */
    bool sets_level;       /* the body has a level that is not the client's own parameter */
    bool guessed;          /* usage was dropped from the request for an error that names nothing */
    bool breaker_pending;  /* the breaker let the attempt pass and waits for the outcome */
    uint8_t effort;        /* the level in place of a refused one, or NOT_GIVEN */
    uint8_t efforts_tried; /* in place of a refused one */
    uint8_t restarts;      /* from the first call, after a second one failed */
    uint16_t without;      /* enum call_without: what the provider refuses */
    uint16_t learning;     /* the same bits, found in this call */
    size_t replayed;       /* replies so far: selects among recordings of the same request */
    const char *refusal_code, *refusal_param; /* for a request that cannot be translated; or NULL */
    str dropped; /* the parameters that the provider's dialect does not have, for the client */
};

/* The head of the request for the provider, until it is sent. */
struct call_lines {
    struct buf text;               /* the target, then the headers */
    size_t path_size, target_size; /* of the path, and of the path with the client's query */
    str known;                     /* headers that go before the others */
};

struct call_reply {
    enum chat_stop stop;
    bool stop_seen, end_seen, error_seen; /* error_seen: in the current frame */
    bool lasts;                           /* its texts stay in place until call_reply_own */
    /* A part of the answer has come, or the client has bytes of ours. Until then the client's bytes
     * wait, so that another attempt can follow. */
    bool speaks;
    struct chat_usage usage;           /* of this phase */
    const struct http1_field *headers; /* those that the client may see */
    size_t header_count;
    struct defer *deferred; /* frames that wait until the start of a text is known; or NULL */
    /* Comments of an event stream before its first event, unchanged; or NULL. */
    struct arena_text *comments;
};

/* Reasoning so far, for a second call, the record and errors that quote it: see
 * call_get_reasoning. */
struct call_thought {
    struct buf text;
    str lent[CALL_THOUGHTS_MAX]; /* the end of it, still in the reply */
    uint8_t lent_count;
};

/* Tool calls of the reply, and what the vault gets for them. */
struct call_tools {
    struct call_made *made; /* newest first */
    uint32_t made_count;
    struct call_kept *kept, *kept_last;
    struct call_history *history; /* the tool calls of the request; NULL: none, or not read yet */
};

/* Made by call_make_failure, for calls that fail or have notes in the record. */
struct call_failure {
    struct chat_error error;
    struct buf body;
    struct buf attempts; /* JSON */
    int status;          /* of the provider's error reply */
    int64_t wait_ms;     /* its Retry-After; -1: none */
    bool no_retry;       /* its x-should-retry is false */
    bool quotes;         /* its message quotes reasoning, which the client may see */
};

struct call_link {
    const struct config_provider *provider;
    const struct config_model *model;
};

/* The providers that can be asked, in order. */
struct call_chain {
    uint8_t count, at;
    str breaker_name;        /* current provider and model; empty until first used */
    str origin;              /* key, provider and model: the vault's origin; likewise */
    struct call_link *links; /* in the call's arena */
};

#define CALL_LINE 64 /* bytes of a cache line */

/* Between two steps a call falls out of the CPU cache. Members that every step needs come first. */
struct call {
    struct loop_task task;
    struct gateway_loop *gl;
    const struct config *config;
    enum call_state state;
    bool recorded;
    bool exact; /* `memory` is malloc's, of just its size; else of spare.h */
    struct call_client client;
    struct call_attempt attempt;
    struct call_reply reply;
    struct loop_timer timer;   /* the timer of the current state */
    struct limits_want wanted; /* reserved from the limits of its key */
    int64_t input_tokens;      /* result of call_count_input; 0: not counted yet */
    struct arena arena;
    struct call_tools tools;
    struct call_live live;
    struct call_control *control; /* ends the provider's reasoning; NULL: not possible */
    struct call_failure *failure; /* NULL: nothing has failed */
    struct buf sent;              /* the body that was written for the provider */
    struct call_thought *thought; /* NULL: nothing may need it */
    int64_t dropped_tokens;       /* of reasoning beyond the cap, in earlier replies */
    struct call_masks masks;
    void *memory; /* the allocation that holds the call, and its size */
    size_t size;

    /* Not zeroed: each member is initialized before use. */
    struct call_request in;
    struct level level;
    struct call_chain chain;
    struct summary_collected sum;
    struct summary *summary;      /* all of it, in the call's arena; NULL until call_summarize */
    struct wire_frame *whole;     /* a reply in one piece, */
    struct deferred_events *held; /* and its events */
    struct pipe pipe;
    struct frames frames;        /* in use if its sink is set */
    struct wire_decoder decoder; /* in use if its wire is set */
    struct upstream upstream;
    struct call_record record; /* the last member: see call_size_used */
};

static inline const struct config_provider *call_provider(const struct call *c)
{
    return c->chain.links[c->chain.at].provider;
}

static inline const struct config_model *call_model(const struct call *c)
{
    return c->chain.links[c->chain.at].model;
}

static inline bool call_is_reading(const struct call *c)
{
    return CALL_READING & 1u << c->state;
}

/* The monotonic time at which the loop's current round began. */
static inline uint64_t call_now_ns(const struct call *c)
{
    return loop_now_ns(c->gl->loop);
}
