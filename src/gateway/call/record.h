/* record.h - what a call leaves behind: the parts of its row, and what those who watch it see.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/conversation.h"
#include "gateway/gateway.h"
#include "live/hub.h"

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

/* Texts of the request or the configuration, and what masking made of them. */
#define CALL_MASKED_MAX 4 /* the model here and upstream, who asks, what is asked */

struct call_masks {
    bool body_clean; /* nothing of the body is masked, and so none of its texts */
    uint8_t count;
    struct {
        str raw, masked;
    } texts[CALL_MASKED_MAX];
};

/* How much of a running call is on record already. */
struct call_pieces {
    uint32_t count;
    bool let_go;                /* texts are freed as they are put */
    size_t answer, reasoning;   /* bytes of the buffers that were put */
    uint64_t put_ns, let_go_ns; /* when that was; 0: never */
    struct loop_timer timer;    /* puts the rest if nothing more comes */
};

/* Made by call_record_init, and used only where something is recorded. */
struct call_record {
    struct call_segment *first, *last;
    size_t count;
    size_t seen;            /* events of the frame at hand that were looked at */
    size_t kept[2];         /* bytes of reasoning and answer, masked, pieces included */
    int64_t thought_tokens; /* of the segments that have ended */
    size_t tools;
    char front[CALL_FRONT_MAX];
    size_t front_n;
    struct conversation conversation;
    struct call_pieces pieces;

    /* Not zeroed. */
    struct buf raw;               /* more of the text at hand, not masked yet */
    struct buf answer, reasoning; /* masked, as far as policy allows, not put yet */
    struct buf tool_calls;        /* JSON */
    struct mask_stream mask_answer, mask_reasoning;
    str request;               /* masked; empty: not made yet */
    uint64_t mask_ns;          /* that patterns of the user's own have left for this call */
    struct mask_job *mask_job; /* CALL_MASKING: in another thread; else NULL */
    struct store_ticket ticket;
    struct err store_err; /* ERR_NONE: the row is stored */
};

/* What those who watch know of it; and what is made when somebody looks, or at the end. */
struct call_live {
    struct hub_call *hub; /* or NULL */
    enum hub_state state;
    bool thought, called;
    bool ended;         /* its end is made */
    bool gathers, lent; /* what is said waits to be lent; or is */
    bool opened;        /* there is something of `live_texts` to be released */
    uint64_t think_ns, status_ns;
    int64_t thought_ms;
};
struct call_live_texts {
    enum chat_level level; /* that it began with, */
    int64_t cap;           /* and its cap */
    struct hub_lent lent;
    struct mask_stream masks[HUB_TEXT_COUNT];
    struct arena arena; /* for the same */
    uint64_t mask_ns;   /* that patterns of the user's own have left for what is shown */
    struct hub_end end;
};
