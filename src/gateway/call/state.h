/* state.h - what a call is made of, for its own files: see internal.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/map.h"
#include "gateway/call.h"
#include "gateway/pipe.h"
#include "gateway/talk.h"
#include "gateway/upstream.h"
#include "live/hub.h"
#include "net/frames.h"
#include "wire/hold.h"

#define CALL_ARENA_MAX ((size_t)256 << 20)  /* bodies are bounded where they enter */
#define CALL_ARENA_SPARE ((size_t)96 << 20) /* what one event of the largest size may need */
#define CALL_ARENA_WHOLE 8000               /* what a reply in one piece mostly needs */
#define CALL_BODY_MAX ((size_t)64 << 20)    /* written for the upstream */
#define CALL_FRAME_MAX ((size_t)32 << 20)   /* one event, or one whole reply */
#define CALL_ERROR_MAX 65536                /* of an upstream's error body */
#define CALL_THOUGHT_MAX 65536              /* reasoning that a second call is given */
#define CALL_THOUGHT_SOME 8192              /* the same without a cap */
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
    bool on;
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
    uint64_t think_ns, status_ns;
    int64_t thought_ms;
};
struct call_shown {
    struct mask_stream masks[HUB_TEXT_COUNT];
    struct arena arena; /* for the same */
    struct hub_end end;
};

#define CALL_MASKED_MAX 4 /* the model here and upstream, who asks, what is asked */

struct call_masked {
    str raw, masked;
};

struct call_made;
struct call_kept;

/* What of a running call is on record already. */
struct call_pieces {
    uint32_t count;
    bool let_go;                /* texts that were put are not held any more */
    size_t answer, reasoning;   /* so much of what is held is put */
    uint64_t put_ns, let_go_ns; /* when that was; 0: never */
    struct loop_timer timer;    /* for text that nothing comes behind */
};

struct call {
    size_t size; /* of its memory */
    struct gateway_loop *gl;
    const struct config *config;
    const struct call_sink *sink; /* NULL once the client has left */
    void *ctx;
    struct arena arena;
    bool hide;

    size_t chain_count, at; /* the provider at hand */
    enum call_phase phase;
    unsigned tries;          /* made with this provider in this phase */
    bool unsampled;          /* without the preset's sampling: it refused that */
    bool plain;              /* without reasoning parameters at all: it refused them */
    const struct wire *wire; /* the upstream's dialect */
    bool stream_up, relay;   /* the upstream was asked to stream; its frames go on as they are */
    size_t replayed;         /* calls that a cassette has answered */

    bool live; /* the upstream may call back */
    struct buf body, headers, target;
    str known;                 /* headers that stand before the others */
    struct upstream_head head; /* its type in the arena */
    struct buf error_body;
    bool decoding;     /* the decoder is in use, and the frames are */
    bool frames_live;  /* the frames hold memory */
    bool failed_frame; /* the frame at hand held an error */
    struct chat_error error;
    const char *refusal_code, *refusal_param; /* of a request that cannot be asked so; or NULL */
    bool stop_seen, end_seen;
    enum chat_stop stop;
    struct chat_usage phase_usage;

    bool begun;                   /* the client was given something */
    bool done, paused;            /* done: on its way to the record */
    struct buf thought;           /* reasoning so far, for a second call */
    struct buf answer, reasoning; /* for the record, masked, as far as policy allows, not put yet */
    struct map *keys;             /* of the vault, by the ids in the request; NULL: not made yet */
    str request;                  /* for the record, masked; empty: not made yet */
    bool clean;                   /* nothing of the body is masked, and so none of its texts */
    struct call_masked masked[CALL_MASKED_MAX];
    struct call_pieces pieces;
    struct buf calls;    /* JSON of tool calls, for the record */
    struct buf attempts; /* JSON of what was tried */
    struct loop_timer timer;
    struct loop_task task;
    struct store_ticket ticket;
    bool stored_failed;

    struct call_show show;
    bool breaker_open;      /* breaker_pass was asked and waits for an answer */
    str breaker_name;       /* provider and model; empty until it is asked for, as the next */
    str origin;             /* the same for whom: what the vault keeps things under */
    struct call_made *made; /* tool calls of the reply, the newest first */
    size_t made_count;
    struct call_kept *kept, **kept_last; /* what the vault gets for them */
    int64_t estimated_tokens;
    int status; /* for the record */

    /* Not zeroed with the rest: each is made before it is used. */
    struct call_shown shown;
    struct call_record record; /* all of it where something is recorded, else what is off */
    struct mask_stream mask_answer, mask_reasoning; /* where something is recorded */
    struct call_request in;
    struct level level;
    struct summary sum;
    struct pipe pipe;
    struct upstream upstream;
    struct frames frames;
    struct wire_decoder decoder;
    struct wire_frame whole; /* a reply in one piece */
    struct hold held;        /* what it says */
    const struct config_provider *chain[CALL_CHAIN_MAX];
    const struct config_model *chain_model[CALL_CHAIN_MAX];
    struct err store_err;
};
