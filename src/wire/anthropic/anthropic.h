/* anthropic.h - shared by the files of the Anthropic dialect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/map.h"
#include "wire/assemble_reply.h"
#include "wire/json_replace.h"
#include "wire/settings.h"

#define ANTHROPIC_OPEN_MAX 16 /* blocks of a stream that may be open at once */

bool anthropic_read(const struct json *doc, struct arena *a, struct chat_request *out,
                    struct err *e) MUST_USE;
/* `count`: a request to count tokens, which needs no max_tokens. */
bool anthropic_read_numbers(const struct request_reader *r, const struct json_node *root,
                            bool count) MUST_USE;
/* Reads thinking and output format. */
bool anthropic_read_settings(const struct request_reader *r, const struct json_node *root) MUST_USE;
void anthropic_write(const struct chat_request *r, struct buf *out);
void anthropic_patch(const struct json *doc, const struct wire_plan *plan,
                     struct json_edits *edits);
void anthropic_decode(struct wire_decoder *d, const struct wire_frame *f);
void anthropic_decode_whole(struct wire_decoder *d, const struct wire_frame *f);
void anthropic_decode_end(struct wire_decoder *d);
void anthropic_encode(struct wire_encoder *en, const struct chat_event *ev);
void anthropic_relay(struct wire_encoder *en, const struct wire_frame *f,
                     const struct chat_event *events, size_t n, bool touched);
void anthropic_write_error(const struct chat_error *error, struct buf *out);
void anthropic_read_error(const struct json *doc, struct arena *a, struct chat_error *out);

/* Writes the object {"type":..., "message":...} of "error", with the provider's or our names. */
void anthropic_error_body(const struct chat_error *error, struct json_out *o);

/* The stop reason in Anthropic's spelling, and the meaning of one. */
str anthropic_stop_name(enum chat_stop stop, str name);
enum chat_stop anthropic_stop_of(str name);

/* How a model is asked to think. */
enum anthropic_think {
    ANTHROPIC_BUDGET,   /* thinking.enabled with budget_tokens */
    ANTHROPIC_ADAPTIVE, /* thinking.adaptive and output_config.effort */
    ANTHROPIC_ALWAYS,   /* the same, and it cannot be switched off */
    ANTHROPIC_NEVER,    /* the model does not think */
};
struct anthropic_model {
    enum anthropic_think think;
    int max_tokens;   /* of a request whose client gives none: the API requires it */
    bool xhigh;       /* supports effort xhigh */
    bool no_sampling; /* refuses temperature, top_p, top_k */
    bool omits;       /* omits the text of thinking unless asked for it */
    bool unknown;     /* an alias, or another maker's: it may need the other way */
};
struct anthropic_model anthropic_model_of(str model);
/* The vault's name for a thinking block without a signature. */
#define ANTHROPIC_UNSIGNED "unsigned_thinking"
/* For the plan's model, or the body's if the plan has none. */
struct anthropic_model anthropic_model_for(const struct json *doc, const struct wire_plan *plan);
void anthropic_patch_thinking(const struct json *doc, const struct wire_plan *plan,
                              struct json_edits *ed);
/* Whether thinking will be on in the body after the plan. */
bool anthropic_will_think(const struct json *doc, const struct wire_plan *plan);
/* Whether thinking is switched off: by the plan, or by a body that the plan does not change. */
bool anthropic_thinking_disabled(const struct json *doc, const struct wire_plan *plan);
/* Whether the body forces a tool call. */
bool anthropic_forced(const struct json *doc, const struct wire_plan *plan);
/* Removes thinking blocks, and puts those of the vault back. */
void anthropic_patch_history(const struct json *doc, const struct wire_plan *plan,
                             struct json_edits *ed);

/* ---- the decoder's state ---- */

enum anthropic_kind { KIND_TEXT, KIND_THINK, KIND_REDACTED, KIND_CALL, KIND_OPAQUE };

struct anthropic_block {
    int64_t index; /* the provider's index */
    uint32_t block;
    enum anthropic_kind kind;
    bool used, fed;
    struct anthropic_thought *thought; /* of THINK, while it can be kept */
    struct arena_text held;            /* OPAQUE: the block as it began; CALL: its first input */
    struct arena_text more;            /* OPAQUE: additions to one of its members */
    bool more_text;                    /* `more` is text of "content", not JSON of "input" */
};

/* A block of thinking that must be sent back with the calls after it. */
struct anthropic_thought {
    struct anthropic_thought *next;
    bool redacted, lost;
    struct arena_text text, signature;
};

struct anthropic_decoder {
    struct anthropic_block open[ANTHROPIC_OPEN_MAX];
    struct anthropic_thought *first, *last; /* since the previous call */
    bool after_call;                        /* the thoughts already belong to a call */
    size_t kept_size, kept_given;
    int64_t input, cache_read, cache_write; /* of usage; -1: unknown */
    bool usage_begun, whole, called;
};

void anthropic_emit(struct wire_decoder *d, enum chat_event_kind kind, uint32_t block, str id,
                    str name, str text);
struct anthropic_block *anthropic_block_find(struct wire_decoder *d, int64_t index);
/* Reads the start of a content block; NULL if too many are open. */
struct anthropic_block *anthropic_block_begin(struct wire_decoder *d, const struct json *doc,
                                              const struct json_node *v, int64_t index);
void anthropic_block_delta(struct wire_decoder *d, const struct json *doc,
                           const struct json_node *root);
void anthropic_block_end(struct wire_decoder *d, struct anthropic_block *b);
/* Ends all open blocks, in the order in which they began. */
void anthropic_blocks_end(struct wire_decoder *d);

/* ---- the encoder's state, which encode and relay share ---- */

enum anthropic_open { OPEN_NONE, OPEN_TEXT, OPEN_THINK, OPEN_CALL };

#define ANTHROPIC_ANY_BLOCK UINT32_MAX /* the open block gets the number of the next event */
#define ANTHROPIC_CALLS_MAX 64         /* calls whose late arguments still find their block */

struct anthropic_slot {
    int64_t in; /* the provider's index */
    uint32_t out;
    enum anthropic_open kind; /* OPEN_NONE: a block that only Anthropic understands */
    bool used, dropped, own;  /* own: we opened the block that is now open for it */
    bool cut;                 /* part of it was left out */
};

struct anthropic_encoder {
    bool started, finished;
    uint32_t next; /* the index of the next block */
    enum anthropic_open open;
    uint32_t open_block, open_index;
    bool open_relayed; /* the provider sent its start, and will send its stop */
    bool dropped;      /* a block of the provider was, so the numbers of later blocks change */
    bool is_signed;
    struct assembled_reply gather; /* whole: everything; streamed: usage, stop, extras */
    struct {
        uint32_t block, index;
    } calls[ANTHROPIC_CALLS_MAX];
    size_t call_count;

    struct anthropic_slot slots[ANTHROPIC_OPEN_MAX];
    struct arena_text
        held;          /* the start of a text block that may yet turn out to be something else */
    size_t held_start; /* bytes of it that are the start: pings may follow */
    int64_t held_index;
    bool holding, held_emptied;
};

void anthropic_close(struct wire_encoder *en);
/* An event comes while the start of a text block is held back: writes the start, or drops it. */
void anthropic_settle_held(struct wire_encoder *en, const struct chat_event *ev);
/* Writes our signature for the open thinking block. */
void anthropic_sign(struct wire_encoder *en);
void anthropic_signature(const struct wire_encoder *en, uint32_t index, struct buf *out);
/* Writes a block as in a whole body. */
void anthropic_block_json(const struct wire_encoder *en, const struct assembled_block *b,
                          uint32_t index, struct json_out *o);
/* Whole bodies: writes the content again from raw blocks and events. */
void anthropic_relay_whole(struct wire_encoder *en, const struct wire_frame *f,
                           const struct chat_event *events, size_t n);

/* anthropic_ids.c */
struct anthropic_ids {
    struct arena arena;
    struct map map; /* by id: number of calls and results so far */
};

void anthropic_ids_init(struct anthropic_ids *ids);
void anthropic_ids_release(struct anthropic_ids *ids);
/* Writes the member "id" of a call, and "tool_use_id" of a result; `turn` is the same for the calls
 * of one turn and for no others. */
void anthropic_put_call_id(struct anthropic_ids *ids, struct json_out *o, str id, size_t turn);
void anthropic_put_result_id(struct anthropic_ids *ids, struct json_out *o, str id);
