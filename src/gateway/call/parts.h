/* parts.h - what a call is made of, for its own files: see internal.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/map.h"
#include "gateway/call.h"
#include "gateway/call/state.h"
#include "gateway/defer.h"
#include "gateway/pipe.h"
#include "gateway/talk.h"
#include "gateway/upstream.h"
#include "live/hub.h"
#include "net/frames.h"
#include "wire/hold.h"

#define CALL_ARENA_MAX ((size_t)256 << 20)  /* bodies are bounded where they enter */
#define CALL_ARENA_SPARE ((size_t)96 << 20) /* what one event of the largest size may need */
#define CALL_ARENA_WHOLE 8000               /* what a reply in one piece mostly needs */
#define CALL_HEAD_SIZE 512                  /* kept free before it, for the head */
#define CALL_BODY_MAX ((size_t)64 << 20)    /* written for the upstream */
#define CALL_TARGET_MAX 4096                /* path and query of the upstream */
#define CALL_HEADERS_MAX 16384
#define CALL_LINES_MAX (CALL_TARGET_MAX + CALL_HEADERS_MAX)
#define CALL_FRAME_MAX ((size_t)32 << 20) /* one event, or one whole reply */
#define CALL_ERROR_MAX 65536              /* of an upstream's error body */
#define CALL_THOUGHT_MAX 65536            /* reasoning that a second call is given */
#define CALL_THOUGHT_SOME 8192            /* the same without a cap */
#define CALL_THOUGHTS_MAX 2               /* that are not copied as long as they lie there */
#define CALL_COMMENTS_MAX 16384           /* before the first event; more of them are dropped */
#define CALL_CHAIN_MAX 16
#define CALL_NO_RECORDING "no_recording" /* of a replay that has none: trying again is no use */

enum call_phase {
    CALL_FIRST,
    CALL_CUT,    /* going on behind a budget that was spent */
    CALL_REPAIR, /* asking again for an answer that was starved */
};

#define CALL_FRONT_MAX 336 /* of an answer, for its entry in the decision log */
#define CALL_SEGMENTS_MAX 256

enum call_segment_kind { CALL_SEG_REASONING, CALL_SEG_ANSWER, CALL_SEG_TOOL };

/* A stretch of the reply. `at` and `size` are bytes of the text of its kind, as it is kept; of a
 * tool call `at` is its number. */
struct call_segment {
    struct call_segment *next;
    enum call_segment_kind kind;
    size_t at, size;
    uint64_t start_ns, end_ns;
    int64_t tokens;
    bool opaque;
};

struct call_record {
    struct call_segment *first, *last;
    size_t count;
    size_t seen;            /* events of the frame at hand that were looked at */
    size_t kept[2];         /* bytes of reasoning and answer, masked, pieces included */
    int64_t thought_tokens; /* of the stretches that are over */
    struct buf raw;         /* more of the text at hand, not masked yet */
    size_t tools;
    char front[CALL_FRONT_MAX];
    size_t front_n;
    struct talk talk;
};

/* What those who watch know of it; and what is made when somebody looks, or at the end. */
struct call_show {
    struct hub_call *live; /* or NULL */
    enum hub_state state;
    bool thought, called;
    bool ended;         /* its end is made */
    bool gathers, lent; /* what is said waits to be lent; or is */
    bool opened;        /* there is something of `shown` to be released */
    uint64_t think_ns, status_ns;
    int64_t thought_ms;
};
struct call_shown {
    enum chat_level level; /* that it began with, */
    int64_t cap;           /* and its cap */
    struct hub_lent lent;
    struct mask_stream masks[HUB_TEXT_COUNT];
    struct arena arena; /* for the same */
    struct hub_end end;
};

#define CALL_MASKED_MAX 4 /* the model here and upstream, who asks, what is asked */

struct call_masked {
    str raw, masked;
};

/* What the provider at hand has refused, and is asked without; bits. */
enum call_without {
    CALL_WITHOUT_TEMPERATURE = 1 << 0,
    CALL_WITHOUT_TOP_P = 1 << 1,
    CALL_WITHOUT_BOUND = 1 << 2,     /* the maximum of output tokens that we add */
    CALL_WITHOUT_PARAMS = 1 << 3,    /* the configured reasoning_params */
    CALL_WITHOUT_USUAL_WAY = 1 << 4, /* Gemini, Anthropic: the model's usual of level and budget */
    CALL_WITHOUT_REASONING = 1 << 5, /* every reasoning parameter, reasoning_params too */
    CALL_WITHOUT_CONTROL = 1 << 6,   /* what lets us end its reasoning */
    CALL_WITHOUT_PREFILL = 1 << 7,   /* a second call quotes what was thought instead */
    CALL_WITHOUT_USAGE = 1 << 8,     /* a stream is not asked for its usage */
    CALL_WITHOUT_CONFLICT = 1 << 9,  /* not both temperature and top_p; each alone is fine */
};

struct call_made;
struct call_kept;
struct call_history;
struct call_control;

/* What of a running call is on record already. */
struct call_pieces {
    uint32_t count;
    bool let_go;                /* texts that were put are not held any more */
    size_t answer, reasoning;   /* so much of what is held is put */
    uint64_t put_ns, let_go_ns; /* when that was; 0: never */
    struct loop_timer timer;    /* for text that nothing comes behind */
};

struct call_link {
    const struct config_provider *provider;
    const struct config_model *model;
};

#define CALL_LINE 64 /* bytes, of the processor's cache: a call begins with one */

/* A call lies between two steps for longer than its lines stay in the cache. What every step needs
 * stands together, in the first two of them, and what few calls need is not touched by others. */
struct call {
    struct loop_task task;
    struct gateway_loop *gl;
    const struct config *config;
    const struct call_sink *sink; /* NULL once the client has left */

    void *ctx;
    enum call_state state;
    const struct wire *wire; /* the upstream's dialect */
    enum call_phase phase;
    enum chat_stop stop;
    int status;     /* for the record */
    unsigned tries; /* made with the provider at hand in this phase */
    int64_t budget; /* of reasoning, in tokens, that it was told to keep itself; -1: none */
    bool hide;
    bool recorded;         /* there is a record */
    bool bounded;          /* the body has a maximum of output tokens that we added */
    bool prefilled;        /* the body ends in what was thought, to go on from */
    bool stream_up, relay; /* the upstream was asked to stream; its frames go on as they are */
    bool decoder_live;     /* the decoder holds memory */
    bool lasts;            /* what the reply says lies there until call_reply_own */
    bool frames_live;      /* the frames do */
    bool failed_frame;     /* the frame at hand held an error */
    bool stop_seen, end_seen;
    bool begun;        /* the client was given something */
    bool phase_begun;  /* the same in this phase */
    bool left_waiting; /* the client left while a provider worked on the call: its input counts */
    bool paused;
    bool troubled;     /* what failures need is made: call_trouble */
    bool clean;        /* nothing of the body is masked, and so none of its texts */
    bool breaker_open; /* breaker_pass was asked and waits for an answer */
    bool stored_failed;
    bool sets_level;            /* the body has a level that is not the client\'s own words */
    bool guessed;               /* the usage request was dropped for an error that names nothing */
    uint16_t without, learning; /* enum call_without: what it refused; and did in this call */
    uint8_t effort, efforts;    /* the level in place of a refused one, or NOT_GIVEN; such tries */
    uint8_t masked_count, thoughts_count;
    uint8_t chain_count, at; /* the provider at hand */
    uint8_t anew;            /* so often it began anew behind a second call */
    uint32_t made_count;     /* see below */

    struct loop_timer timer;
    struct limits_want wanted; /* of its key, for what it is about to be */
    int64_t input_tokens;      /* call_count_input's; 0: not counted yet */
    size_t replayed;           /* calls that a cassette has answered */
    size_t path_size;          /* of the lines: the target without the client's query */
    int64_t dropped;           /* tokens of reasoning that earlier replies thought beyond the cap */
    size_t target_size;        /* of the lines */

    struct arena arena;
    struct call_made *made;             /* tool calls of the reply, the newest first */
    struct call_kept *kept, *kept_last; /* what the vault gets for them, in order */

    struct call_show show;
    str known;                               /* headers that stand before the others */
    const struct http1_field *reply_headers; /* that the client may see, of the attempt at hand */
    size_t reply_header_count;

    struct chat_usage phase_usage;
    struct call_history *history; /* the tool calls of the request; NULL: not made yet */
    struct call_control *control; /* its reasoning can be ended so; or NULL */

    struct defer *deferred; /* frames that wait for the front of a text; or NULL */
    struct piece comments;  /* of an event stream before its first event, as they came */
    struct buf lines;       /* the target of the upstream request, then its headers */
    struct buf body;
    struct buf thought; /* reasoning so far, for a second call: see call_thought */
    str breaker_name;   /* provider and model; empty until it is asked for, as the next */
    str origin;         /* the same for whom: what the vault keeps things under */
    const char *refusal_code, *refusal_param; /* of a request that cannot be asked so; or NULL */
    void *memory;                             /* that it lies in, */
    size_t size;                              /* and how much that is */

    /* Not zeroed with the rest: each is made before it is used. */
    _Alignas(CALL_LINE) struct call_request in;
    struct level level;
    struct call_link chain[CALL_CHAIN_MAX];
    struct summary sum; /* its front from the start, the rest by call_summarize */
    _Alignas(CALL_LINE) struct pipe pipe;
    struct frames frames;
    struct wire_decoder decoder;
    str thoughts[CALL_THOUGHTS_MAX];      /* where the last of the reasoning lies */
    struct wire_frame whole;              /* a reply in one piece */
    _Alignas(CALL_LINE) struct hold held; /* what it says */
    struct upstream upstream;
    struct call_shown shown;
    struct call_masked masked[CALL_MASKED_MAX];

    /* What failures need. */
    struct chat_error error;
    struct buf error_body;
    struct buf attempts;   /* JSON of what was tried */
    int error_status;      /* of the upstream's reply, and */
    int64_t error_wait_ms; /* when to come again; -1: not told */

    /* Where something is recorded. */
    struct call_record record;
    struct mask_stream mask_answer, mask_reasoning;
    struct buf answer, reasoning; /* masked, as far as policy allows, not put yet */
    struct buf calls;             /* JSON of tool calls */
    str request;                  /* masked; empty: not made yet */
    uint64_t mask_ns;             /* that patterns of the user's own have left for this call */
    struct mask_job *mask_job;    /* under way in another thread, or NULL */
    struct call_pieces pieces;
    struct store_ticket ticket;
    struct err store_err;
};
