/* wire_run.h - decodes a recorded reply and writes its events as text.
 *
 * One line per event, with consecutive texts of a block joined, so that two runs are equal if their
 * texts are:
 *
 *     start "resp_1" "gpt-5"
 *     reasoning 0 "I think"
 *     call 1 "call_1" "f"
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/file.h"
#include "net/frames.h"
#include "test.h"
#include "wire/wire.h"

#define RUN_SIZE_MAX ((size_t)64 << 20)

struct run {
    struct arena arena;
    struct wire_decoder d;
    struct buf events;  /* as above */
    struct buf content; /* only the content that a reader of the reply sees */
    struct buf all;     /* all texts joined */
    struct buf relayed, encoded;
    struct wire_encoder relay, encode;
    struct chat_request request;
    struct chat_event kept[4096]; /* of the current frame */
    size_t kept_count;
    struct chat_usage kept_usage;
    int last_kind;
    uint32_t last_block;
    int error_status; /* 0: no error */
    bool hide;        /* removes reasoning from relayed frames */
    bool ended, stream;
};

static inline bool run_joins(enum chat_event_kind kind)
{
    return kind == CHAT_TEXT || kind == CHAT_REASONING || kind == CHAT_REFUSAL ||
           kind == CHAT_ARGUMENTS;
}

static inline void run_line(struct buf *out, const struct chat_event *ev, bool joins)
{
    if (joins) {
        out->n -= 2; /* the closing quote and the newline */
    } else {
        buf_printf(out, "%s", chat_event_name(ev->kind));
        if (ev->choice)
            buf_printf(out, " choice %u", ev->choice);
        if (run_joins(ev->kind) || ev->kind == CHAT_CALL || ev->kind == CHAT_OPAQUE ||
            ev->kind == CHAT_SIGNATURE || ev->kind == CHAT_REDACTED)
            buf_printf(out, " %u", ev->block);
        if (ev->kind == CHAT_STOP)
            buf_printf(out, " %s", chat_stop_name(ev->stop));
        if (ev->kind == CHAT_USAGE)
            buf_printf(out,
                       " %lld %lld %lld %lld",
                       (long long)ev->usage->input,
                       (long long)ev->usage->output,
                       (long long)ev->usage->reasoning,
                       (long long)ev->usage->cache_read);
        if (ev->kind == CHAT_ERROR)
            buf_printf(out,
                       " %d " STR_FMT ": " STR_FMT,
                       ev->error->status,
                       STR_ARG(ev->error->type),
                       STR_ARG(ev->error->message));
        if (ev->id.n) {
            buf_add_c(out, ' ');
            json_quote(out, ev->id);
        }
        if (ev->name.n) {
            buf_add_c(out, ' ');
            json_quote(out, ev->name);
        }
    }
    if (run_joins(ev->kind) || ev->kind == CHAT_OPAQUE || ev->kind == CHAT_KEEP ||
        ev->kind == CHAT_SIGNATURE || ev->kind == CHAT_EXTRA || ev->kind == CHAT_REDACTED) {
        size_t at = out->n;

        if (!joins)
            buf_add_c(out, ' ');
        json_quote(out, ev->text);
        if (joins) { /* drop the opening quote */
            memmove(out->p + at, out->p + at + 1, out->n - at - 1);
            out->n--;
        }
    }
    buf_add_c(out, '\n');
}

static inline void run_on_event(void *ctx, const struct chat_event *ev)
{
    struct run *r = ctx;
    bool joins = r->last_kind == (int)ev->kind && r->last_block == ev->block && run_joins(ev->kind);

    assert(ev->text.p || ev->text.n == 0);
    if (r->kept_count < COUNT_OF(r->kept)) {
        r->kept[r->kept_count] = *ev;
        if (ev->kind == CHAT_USAGE) { /* valid only during the call */
            r->kept_usage = *ev->usage;
            r->kept[r->kept_count].usage = &r->kept_usage;
        }
        r->kept_count++;
    }
    run_line(&r->events, ev, joins);
    if (run_joins(ev->kind) || ev->kind == CHAT_CALL || ev->kind == CHAT_OPAQUE)
        run_line(&r->content, ev, joins);
    buf_add(&r->all, ev->text.p ? ev->text : STR(""));
    if (!run_joins(ev->kind))
        buf_add_c(&r->all, '\n');
    if (ev->kind == CHAT_ERROR)
        r->error_status = ev->error->status;
    r->ended |= ev->kind == CHAT_END;
    r->last_kind = (int)ev->kind;
    r->last_block = ev->block;
    wire_encode(&r->encode, ev);
}

static inline void run_frame(void *ctx, const struct frames_frame *frame)
{
    struct run *r = ctx;
    struct wire_frame f = {.name = frame->name, .data = frame->data, .raw = frame->raw};
    size_t n = 0;

    r->kept_count = 0;
    if (r->stream)
        wire_decode(&r->d, &f);
    else
        wire_decode_whole(&r->d, &f);
    for (size_t i = 0; i < r->kept_count; i++)
        if (!r->hide || (r->kept[i].kind != CHAT_REASONING && r->kept[i].kind != CHAT_SIGNATURE &&
                         r->kept[i].kind != CHAT_REDACTED))
            r->kept[n++] = r->kept[i];
    wire_relay(&r->relay, &f, r->kept, n, n != r->kept_count);
}

static inline void run_init(struct run *r, const struct wire *w, bool stream)
{
    struct buf *bufs[] = {&r->events, &r->content, &r->all, &r->relayed, &r->encoded};

    memset(r, 0, sizeof *r);
    r->last_kind = -1;
    r->stream = stream;
    arena_init(&r->arena, RUN_SIZE_MAX);
    for (size_t i = 0; i < COUNT_OF(bufs); i++)
        buf_init(bufs[i], RUN_SIZE_MAX);
    r->request = (struct chat_request){.model = STR("asked"), .budget_tokens = -1};
    wire_decoder_init(&r->d, w, &r->arena, (struct chat_sink){run_on_event, r});
    wire_encoder_init(&r->relay, w, &r->request, stream, &r->arena, &r->relayed);
    wire_encoder_init(&r->encode, w, &r->request, stream, &r->arena, &r->encoded);
    r->encode.id = STR("abc");
}

/* Feeds bytes in pieces of a size (0: all at once), or a whole body. */
static inline void run_feed(struct run *r, str bytes, size_t piece)
{
    enum frames_kind kind = !r->stream                                 ? FRAMES_WHOLE
                            : r->d.wire->stream_framing == WIRE_NDJSON ? FRAMES_LINES
                                                                       : FRAMES_SSE;
    struct frames f;

    frames_init(&f, kind, RUN_SIZE_MAX, (struct frames_sink){run_frame, r});
    piece = piece ? piece : bytes.n;
    for (size_t at = 0; at < bytes.n; at += piece)
        frames_feed(&f, str_slice(bytes, at, at + piece));
    frames_finish(&f);
    if (r->stream)
        wire_decode_end(&r->d);
    frames_release(&f);
}

static inline void run_release(struct run *r)
{
    struct buf *bufs[] = {&r->events, &r->content, &r->all, &r->relayed, &r->encoded};

    wire_decoder_release(&r->d);
    for (size_t i = 0; i < COUNT_OF(bufs); i++)
        buf_release(bufs[i]);
    arena_release(&r->arena);
}
