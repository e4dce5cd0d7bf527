/* record.h - the parts of a call's row in the record, and what watchers of the call see.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "gateway/gateway.h"

#define CALL_FRONT_MAX 336 /* bytes of an answer for its entry in the decision log */
#define CALL_SEGMENTS_MAX 256

enum call_segment_kind { CALL_SEG_REASONING, CALL_SEG_ANSWER, CALL_SEG_TOOL };

/* A section of the reply. `at` and `size` are bytes of the recorded text of its kind; for a tool
 * call, `at` is its number. */
struct call_segment {
    struct call_segment *next;
    enum call_segment_kind kind;
    size_t at, size;
    uint64_t start_ns, end_ns;
    int64_t tokens;
    bool opaque;
};

/* Texts of the request or the configuration, and their masked forms. */
#define CALL_MASKED_MAX 4 /* model here and upstream, user, question */

struct call_masks {
    bool body_clean; /* nothing in the body is masked, so none of its texts is */
    uint8_t count;
    struct call_masked {
        str raw, masked;
    } * texts; /* up to CALL_MASKED_MAX; in the call's arena; NULL: none */
};

/* How much of a running call has been written to the store. */
struct call_pieces {
    uint32_t count;
    bool let_go;                /* texts are freed once they are written */
    size_t answer, reasoning;   /* bytes of the buffers that were written */
    uint64_t put_ns, let_go_ns; /* last write, last freeing; 0: no text yet */
    struct loop_timer timer;    /* writes the rest if no more text comes */
};

/* Initialized by call_record_init; used only if something is recorded. */
struct call_record {
    struct call_segment *first, *last;
    size_t count;
    size_t seen;            /* events of the current frame that were processed */
    size_t kept[2];         /* bytes of reasoning and answer, masked, including pieces */
    int64_t thought_tokens; /* of finished segments */
    size_t tools;
    char *front; /* of the answer: CALL_FRONT_MAX bytes in the call's arena; NULL: no answer yet */
    size_t front_n;
    struct conversation conversation;
    struct call_pieces pieces;

    /* Not zeroed. */
    struct buf raw;               /* more of the current text, not masked yet */
    struct buf answer, reasoning; /* masked, as far as policy allows, not written yet */
    struct buf tool_calls;        /* JSON */
    struct mask_stream mask_answer, mask_reasoning;
    str request;               /* masked; empty: not computed yet */
    uint64_t mask_ns;          /* time that the user's patterns have left for this call */
    struct mask_job *mask_job; /* CALL_MASKING: in another thread; else NULL */
    struct store_ticket ticket;
    struct err *store_err; /* NULL: the row is stored */
};

/* The state that watchers know; texts are made when a viewer comes, or at the end. */
struct call_live {
    struct hub_call *hub; /* or NULL */
    enum hub_state state;
    bool thought, called;
    bool gathers, lent; /* texts are collected to be lent to the hub; or are lent */
    bool batches;       /* texts wait in gl->live_text, */
    enum hub_text kind; /* and are of this kind */
    uint64_t think_ns, status_ns;
    int64_t thought_ms;
    enum chat_level level;         /* the level at the start of the call */
    int64_t cap;                   /* the cap at the start of the call */
    struct call_live_masks *masks; /* NULL: no viewer has seen a text */
    struct hub_lent *texts;        /* of a whole reply; in the call's arena; or NULL */
    struct hub_end *end;           /* in the call's arena; NULL: not made yet */
};

/* Masks the texts that watchers see. Most calls have no watcher, and an open stream keeps its
 * memory for long, so this is allocated for the first one. */
struct call_live_masks {
    struct mask_stream streams[HUB_TEXT_COUNT];
    struct arena arena;
    uint64_t left_ns; /* time that the user's patterns have left for shown text */
};
