/* wire_help.h - shared by the tests of the dialects: events as text, recordings fed in pieces,
 * replies encoded and passed on.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/file.h"
#include "net/frames.h"
#include "test.h"
#include "wire/internal.h"

#define HELP_SIZE_MAX ((size_t)64 << 20)

/* ---- events as text: "kind choice.block id name: text", texts of one block joined ---- */

struct notes {
    struct buf all;   /* every event */
    struct buf bag;   /* every text, unquoted */
    struct buf cites; /* citations; a whole reply has no order between them and the text */
    bool content;     /* only content, without generated ids */
    bool no_thought;  /* without reasoning */
    enum chat_event_kind last;
    uint32_t last_choice, last_block, renumbered;
    int errors, ends;
};

void note(void *ctx, const struct chat_event *ev);

void notes_init(struct notes *n);

void notes_release(struct notes *n);

/* ---- feeding ---- */

struct feed {
    struct wire_decoder d;
    bool whole;
    void (*after)(void *ctx, const struct wire_frame *f); /* after each decoded frame; or NULL */
    void *ctx;
};

/* Decodes a frame; ctx is a struct feed. */
void feed_frame(void *ctx, const struct frames_frame *frame);

/* Feeds the bytes in pieces of a size (0: all at once) through `frames` into the decoder. */
void feed_bytes(struct feed *f, str bytes, enum frames_kind kind, size_t piece);

void decode_to(const struct wire *w, str bytes, enum frames_kind kind, size_t piece,
               struct notes *n);

/* ---- encoding decoded events, or passing frames on ---- */

#define EVENTS_MAX 512

struct pass {
    struct feed feed;
    struct arena arena;
    struct buf out;
    struct wire_encoder en;
    struct chat_request request;
    bool relay, hide;
    struct chat_event events[EVENTS_MAX];
    size_t n;
    bool touched;
};

void pass_event(void *ctx, const struct chat_event *ev);

void pass_frame(void *ctx, const struct wire_frame *f);

void pass_init(struct pass *p, const struct wire *from, const struct wire *to, bool stream);

void pass_release(struct pass *p);

/* ---- requests as text ---- */

/* Reads a body; returns its dump by dump_request, or "!" and the error. */
void read_to(const struct wire *w, str body, struct buf *out, struct buf *again);

void patch_to(const struct wire *w, const char *body, const struct wire_plan *plan,
              struct buf *out);

/* check_refused: reading the body must fail with this error. check_deferred: reading succeeds, and
 * this is the error for providers of other dialects. */
#define check_refused(w, body, why) check_read_error(w, body, "! ", why)
#define check_deferred(w, body, why) check_read_error(w, body, "? ", why)
void check_read_error(const struct wire *w, const char *body, const char *mark, const char *why);
/* Applies a plan to a body and compares the result. */
void check_patch(const struct wire *w, const char *body, const struct wire_plan *plan,
                 const char *want);

/* An event as if decoded from another dialect. */
struct chat_event event(enum chat_event_kind kind, uint32_t block, const char *text);

#define PLAN(...)                                                                                  \
    &(struct wire_plan)                                                                            \
    {                                                                                              \
        .budget_tokens = -1, __VA_ARGS__                                                           \
    }

/* A plan without changes. */
struct wire_plan no_plan(void);

#define CHECK_HAS(text, part)                                                                      \
    do {                                                                                           \
        str text_ = (text);                                                                        \
                                                                                                   \
        if (str_find(text_, str_c(part)) == STR_NONE)                                              \
            fail_msg("no %s in " STR_FMT, part, STR_ARG(text_));                                   \
    } while (0)
#define CHECK_NOT(text, part)                                                                      \
    do {                                                                                           \
        str text_ = (text);                                                                        \
                                                                                                   \
        if (str_find(text_, str_c(part)) != STR_NONE)                                              \
            fail_msg("%s in " STR_FMT, part, STR_ARG(text_));                                      \
    } while (0)

/* ---- recordings ---- */

void check_same(const char *id, const char *what, str got, str want);

/* Checks decoding: no error, an end, the same events for every division, no text lost. */
void check_decoding(const struct wire *w, const char *id, str bytes, enum frames_kind kind,
                    const char *const *keys);

/* Checks that encoding and decoding again give the same content; that passing on gives the same
 * bytes; and that passing on with hidden reasoning drops only the reasoning. */
void check_passing(const struct wire *w, const char *id, str bytes, enum frames_kind kind);

/* A dialect for check_recorded_replies: which addresses use it, and the members that must not be
 * lost. */
struct recorded {
    const struct wire *wire;
    bool (*speaks)(str uri);
    const char *const *keys;
    const char *const *files; /* names in provider-traffic; NULL at the end */
};
/* Decodes and passes on each successful reply of those files; reads, writes and reads again each
 * request. */
void check_recorded_replies(const struct recorded *r);
void check_recorded_requests(const struct recorded *r);

/* The parts of a line of recorded traffic. */
struct exchange {
    str id, uri, request, reply, type;
    int64_t status;
};

/* Calls `on` for each line of provider-traffic/NAME.jsonl. */
size_t each_exchange(const char *name, size_t (*on)(void *ctx, const struct exchange *x),
                     void *ctx);

/* Calls `on` for each file of provider-streams/FOLDER whose name ends in `ending`. */
size_t each_file(const char *folder, const char *ending, size_t (*on)(const char *id, str body));

/* Converts lines of JSON to SSE events. */
void lines_to_sse(str lines, bool named, struct buf *out);
