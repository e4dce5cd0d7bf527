/* openai.h - shared by the files of Chat Completions and the related dialects (mistral, cohere,
 * generate).
 *
 *   openai.c        the row, paths, errors
 *   fields.c        names of members
 *   read.c          a client's body: messages; read_options.c: all its other members
 *   write.c         a request as a body
 *   patch.c         the gateway's plan as edits; thinking.c: reasoning parameters of each host
 *   decode.c        replies to events; calls.c: tool calls; extras.c: members without an event, and
 *                   those to be sent back with a call; usage.c: usage and stop reasons
 *   encode.c        events to streams; whole.c: to bodies
 *   relay.c         frames passed on; relay_whole.c: bodies; relay_calls.c: the calls in chunks
 *
 * A member without a specific event is an EXTRA, whose name gives the place: "citations" is a
 * member of the reply, "choice.logprobs" of the choice, "message.annotations" of its message (or
 * delta), and "call.extra_content" of the tool call in its block. OPAQUE is a content chunk (its
 * name is "content") or a tool call that is not a function ("tool_calls"). KEEP has a JSON value:
 * its name is a member of the message ("reasoning_content", "reasoning_details") or, after "call.",
 * of the call; "thinking" is a list of Mistral's chunks.
 *
 * USAGE may come after STOP: STOP is emitted with the frame that has finish_reason, so that a
 * relayed frame can be edited according to its own events.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "wire/internal.h"
#include "wire/openai/fields.h"
#include "wire/settings.h"

#define OPENAI_HELD_MAX ((size_t)2 << 20)   /* bytes of reasoning kept for the vault */
#define OPENAI_WHOLE_MAX ((size_t)64 << 20) /* bytes of a whole reply made from events */
#define OPENAI_CHOICES_MAX 128
#define OPENAI_DETAILS_MAX 256
#define OPENAI_EXTRAS_MAX 128 /* unknown members: of one object, and distinct names in all */

/* Whether it is null, "", [], {} or an object of such. */
bool openai_empty(const struct json *doc, const struct json_node *v);

/* ---- requests ---- */

bool openai_read(const struct json *doc, struct arena *a, struct chat_request *out, struct err *e);
bool openai_read_messages(const struct request_reader *r, const struct json_node *list) MUST_USE;
extern const struct settings openai_settings;
/* m: the openai_request_fields of the body. */
bool openai_read_options(const struct request_reader *r, const struct json_fields *m) MUST_USE;
bool openai_read_thinking(const struct request_reader *r, const struct json_fields *m) MUST_USE;

void openai_write(const struct chat_request *r, struct buf *out);
void openai_write_kin(const struct chat_request *r, bool mistral, struct buf *out);
/* Writes the messages; images of tool results that no tool message can hold follow the last result.
 * Ids are converted if the provider requires its own form. */
void openai_write_messages(const struct chat_request *r, bool mistral, struct json_out *o);

void openai_patch(const struct json *doc, const struct wire_plan *plan, struct json_edits *edits);
void openai_patch_kin(const struct json *doc, const struct wire_plan *plan, bool mistral,
                      struct json_edits *edits);
void openai_patch_thinking(const struct json *doc, const struct wire_plan *plan, bool mistral,
                           struct json_edits *edits);
/* Removes every reasoning parameter that a body may have, in all spellings. */
void openai_drop_thinking(const struct json *doc, struct json_edits *edits);

/* ---- replies ---- */

enum openai_now { OPENAI_NOTHING, OPENAI_TEXT, OPENAI_THOUGHT, OPENAI_REFUSAL, OPENAI_CALL };

struct openai_call {
    int64_t index; /* the provider's index; -1 if it sends none */
    uint32_t block;
    bool said;   /* CALL was emitted */
    bool argued; /* and some of its ARGUMENTS */
    bool custom; /* its input is a text, which becomes one argument */
    str id;
    struct arena_text name;
    struct openai_call *next;
};

struct openai_detail {
    str first; /* the first piece, unchanged */
    str type, signature;
    int64_t index;
    size_t pieces;
    struct arena_text text;
    struct openai_detail *next;
};

/* Details of reasoning that arrive in pieces, merged as they must be sent back. */
struct openai_details {
    struct openai_detail *first, *last;
    size_t count;
    bool full;
};

/* A member that must be sent back with a call that has not come yet. */
struct openai_owed {
    str name, json;
    struct openai_owed *next;
};

struct openai_choice {
    uint32_t index, blocks, block;
    enum openai_now now;
    struct openai_call *calls, *last;
    bool called; /* a call of any kind was made */
    bool stopping, stopped;
    enum chat_stop stop;
    str stop_name;
    const char *spelling; /* the member's name of its reasoning, or NULL */
    struct arena_text thought, signature;
    struct openai_details *details; /* OPENAI_DETAIL_COUNT lists; NULL: the reply has none */
    struct openai_owed *owed;
    size_t owed_size;
    struct openai_choice *next;
};

struct openai_extra {
    uint64_t name, value; /* hashes */
};

#define OPENAI_EXTRAS_TOLD 32

struct openai_decoding {
    struct openai_choice *choices, *last;
    size_t count;
    struct openai_choice only;   /* the first: most replies have one */
    struct openai_extra *extras; /* already emitted, up to OPENAI_EXTRAS_TOLD */
    size_t extra_count, extras_max;
    struct chat_usage usage;
    bool usage_known;
    bool whole;                     /* not a stream: each call is complete */
    const struct json_node *failed; /* a choice of this frame that failed, or NULL */
    str id;
};

void openai_decode(struct wire_decoder *d, const struct wire_frame *f);
void openai_decode_whole(struct wire_decoder *d, const struct wire_frame *f);
void openai_decode_end(struct wire_decoder *d);
void openai_again(struct wire_decoder *d, const struct chat_event *ev);

static inline struct chat_event
openai_event(const struct wire_decoder *d, const struct openai_choice *c, enum chat_event_kind kind)
{
    return (struct chat_event){.kind = kind,
                               .choice = c ? c->index : 0,
                               .block = c ? c->block : 0,
                               .text = STR(""),
                               .id = STR(""),
                               .name = STR(""),
                               .dialect = d->wire->dialect};
}
/* The block for content of this kind: the current one, or a new one. False if there are too
 * many. */
bool openai_block(struct wire_decoder *d, struct openai_choice *c, enum openai_now now) MUST_USE;
void openai_emit(struct wire_decoder *d, struct openai_choice *c, enum openai_now now,
                 const struct json_node *text, bool summary);
void openai_content(struct wire_decoder *d, struct openai_choice *c, const struct json_node *v);
void openai_calls(struct wire_decoder *d, struct openai_choice *c, const struct json_node *v);
/* The choice with this index, or the first if `index` is missing; NULL after an error. */
struct openai_choice *openai_choice(struct wire_decoder *d, const struct json_node *index);
void openai_decode_call(struct wire_decoder *d, struct openai_choice *c,
                        const struct json_node *call);
void openai_decode_function(struct wire_decoder *d, struct openai_choice *c,
                            const struct json_node *call);
/* Emits CALL for a call if that was not done; NULL: for all open calls. */
void openai_emit_calls(struct wire_decoder *d, struct openai_choice *c, struct openai_call *only);

/* Ends the arguments of custom calls, at the end of the choice. */
void openai_close_calls(struct wire_decoder *d, struct openai_choice *c);

void openai_details_add(struct openai_details *list, const struct json *doc,
                        const struct json_node *detail, struct arena *a, struct arena *scratch);
void openai_details_write(const struct openai_details *list, struct arena *a, struct buf *out);
/* Emits everything that must be sent back with the calls of this choice, as KEEP. */
void openai_keep(struct wire_decoder *d, struct openai_choice *c);
enum openai_place { OPENAI_REPLY, OPENAI_CHOICE, OPENAI_MESSAGE, OPENAI_TOOL_CALL };
#define OPENAI_THOUGHTS                                                                            \
    (JSON_FIELD_BIT(OPENAI_AT_REASONING_CONTENT) | JSON_FIELD_BIT(OPENAI_AT_REASONING) |           \
     JSON_FIELD_BIT(OPENAI_AT_REASONING_TEXT) | JSON_FIELD_BIT(OPENAI_AT_THINKING))
/* Reads the members of v; `odd` is the first that may have no specific event. */
void openai_members(const struct json *doc, const struct json_node *v, enum openai_place place,
                    struct json_fields *out);
/* Emits the members of v without a specific event, from the key `first` on: EXTRA, and KEEP for
 * those that hold a signature. For a tool call, with the call. */
void openai_extras(struct wire_decoder *d, struct openai_choice *c, const struct json_node *v,
                   const struct json_node *first, enum openai_place place,
                   struct openai_call *call);
/* Whether the list contains readable reasoning. */
bool openai_details_visible(const struct json *doc, const struct json_node *list);
/* Whether a chunk of a content list is reasoning, by its type. */
bool openai_is_thought_chunk(const struct json *doc, const struct json_node *chunk);

void openai_usage(const struct json *doc, const struct json_node *v, struct chat_usage *out);
void openai_emit_usage(struct wire_decoder *d, struct chat_usage *last, bool *known,
                       const struct chat_usage *now);
enum chat_stop openai_stop(str name);
uint64_t openai_hash(uint64_t h, str s);
#define OPENAI_HASH_SEED 14695981039346656037ull

/* ---- errors ---- */

void openai_write_error(const struct chat_error *error, struct buf *out);
/* The error's own type, or the one for its status. */
str openai_error_type(const struct chat_error *error);
str openai_error_code(const struct chat_error *error); /* or "" */
void openai_read_error(const struct json *doc, struct arena *a, struct chat_error *out);
/* Emits the error of a body or a frame that is one. */
void openai_emit_error(struct wire_decoder *d, const struct json *doc, const char *otherwise);
/* Emits the error of a choice whose finish_reason says that it failed. */
void openai_emit_choice_error(struct wire_decoder *d, const struct json_node *choice);
