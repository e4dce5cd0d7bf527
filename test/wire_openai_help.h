/* wire_openai_help.h - events of a reply as text, so that tests can compare them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "net/frames.h"
#include "test.h"
#include "wire/internal.h"

#define HELP_MAX ((size_t)64 << 20)
#define UNUSED __attribute__((unused))

struct said {
    struct buf lines;              /* one line per event */
    struct buf text[CHAT_END + 1]; /* joined by kind; calls with id and name */
    struct buf blocks;             /* content, joined by block */
    enum chat_event_kind last;
    uint32_t last_block, last_choice;
    struct chat_usage usage;
    size_t errors, stops, ends, starts;
    enum chat_stop stop;
    int status;

    /* If not NULL, frames are also passed on to this encoder. */
    struct wire_decoder d;
    struct wire_encoder *relay;
    bool touch;
    struct chat_event *events;
    size_t n;
    struct arena arena;
};

static UNUSED void said_block(struct said *s, const struct chat_event *ev)
{
    bool joins = s->last == ev->kind && s->last_block == ev->block &&
                 s->last_choice == ev->choice && ev->kind != CHAT_CALL;

    if (ev->kind < CHAT_TEXT || ev->kind > CHAT_ARGUMENTS)
        return;
    if (!joins)
        buf_printf(&s->blocks,
                   "\n%s %u.%u " STR_FMT " " STR_FMT ": ",
                   chat_event_name(ev->kind),
                   ev->choice,
                   ev->block,
                   STR_ARG(ev->id),
                   STR_ARG(ev->name));
    buf_add(&s->blocks, ev->text);
    s->last = ev->kind;
    s->last_block = ev->block;
    s->last_choice = ev->choice;
}

static UNUSED void said_on_event(void *ctx, const struct chat_event *ev)
{
    struct said *s = ctx;

    buf_printf(&s->lines, "%s %u.%u ", chat_event_name(ev->kind), ev->choice, ev->block);
    buf_printf(&s->lines, STR_FMT " " STR_FMT ": ", STR_ARG(ev->id), STR_ARG(ev->name));
    if (ev->kind == CHAT_ERROR)
        buf_printf(&s->lines, "%d " STR_FMT, ev->error->status, STR_ARG(ev->error->message));
    buf_add(&s->lines, ev->text);
    buf_add_c(&s->lines, '\n');
    said_block(s, ev);
    if (ev->kind == CHAT_CALL)
        buf_printf(
            &s->text[CHAT_CALL], STR_FMT "=" STR_FMT ";", STR_ARG(ev->id), STR_ARG(ev->name));
    buf_add(&s->text[ev->kind], ev->text);
    if (ev->kind == CHAT_USAGE)
        chat_usage_merge(&s->usage, ev->usage);
    if (ev->kind == CHAT_ERROR)
        s->status = ev->error->status;
    if (ev->kind == CHAT_STOP && ev->choice == 0)
        s->stop = ev->stop;
    s->errors += ev->kind == CHAT_ERROR;
    s->stops += ev->kind == CHAT_STOP;
    s->ends += ev->kind == CHAT_END;
    s->starts += ev->kind == CHAT_START;
    if (s->events && s->n < 100000) {
        s->events[s->n] = *ev;
        if (ev->kind == CHAT_USAGE) { /* valid only during the call */
            struct chat_usage *u = arena_alloc(&s->arena, sizeof *u);

            *u = *ev->usage;
            s->events[s->n].usage = u;
        }
        s->n++;
    }
}

static UNUSED void said_init(struct said *s, const struct wire *w)
{
    *s = (struct said){.last = CHAT_END, .usage = chat_usage_none};
    buf_init(&s->lines, HELP_MAX);
    buf_init(&s->blocks, HELP_MAX);
    for (size_t i = 0; i < COUNT_OF(s->text); i++)
        buf_init(&s->text[i], HELP_MAX);
    arena_init(&s->arena, HELP_MAX * 4);
    wire_decoder_init(&s->d, w, &s->arena, (struct chat_sink){said_on_event, s});
}

static UNUSED void said_release(struct said *s)
{
    wire_decoder_release(&s->d);
    buf_release(&s->lines);
    buf_release(&s->blocks);
    for (size_t i = 0; i < COUNT_OF(s->text); i++)
        buf_release(&s->text[i]);
    arena_release(&s->arena);
}

static UNUSED void said_on_frame(void *ctx, const struct frames_frame *frame)
{
    struct said *s = ctx;
    struct wire_frame f = {.name = frame->name, .data = frame->data, .raw = frame->raw};

    s->n = 0;
    wire_decode(&s->d, &f);
    if (s->relay)
        wire_relay(s->relay, &f, s->events, s->n, s->touch);
}

/* Decodes a stream in pieces of a size. */
static UNUSED void said_stream(struct said *s, str bytes, size_t size)
{
    struct frames fr;

    frames_init(&fr, FRAMES_SSE, HELP_MAX, (struct frames_sink){said_on_frame, s});
    for (size_t at = 0; at < bytes.n; at += size)
        frames_feed(&fr, str_slice(bytes, at, at + size));
    frames_finish(&fr);
    frames_release(&fr);
    wire_decode_end(&s->d);
}

static UNUSED void said_whole(struct said *s, str body)
{
    struct wire_frame f = {.name = STR(""), .data = body, .raw = body};

    s->n = 0;
    wire_decode_whole(&s->d, &f);
    if (s->relay)
        wire_relay(s->relay, &f, s->events, s->n, s->touch);
}

static UNUSED str said_text(const struct said *s, enum chat_event_kind kind)
{
    return buf_str(&s->text[kind]);
}

/* An encoder with its output, for a request that includes usage. */
struct telling {
    struct chat_request request;
    struct wire_encoder en;
    struct arena arena;
    struct buf out;
};

static UNUSED void telling_init(struct telling *t, const struct wire *w, bool stream)
{
    arena_init(&t->arena, HELP_MAX * 8);
    buf_init(&t->out, HELP_MAX);
    t->request = (struct chat_request){.model = STR("m"), .stream = stream, .stream_usage = true};
    wire_encoder_init(&t->en, w, &t->request, stream, &t->arena, &t->out);
}

static UNUSED void telling_release(struct telling *t)
{
    arena_release(&t->arena);
    buf_release(&t->out);
}

static UNUSED void telling_on_event(void *ctx, const struct chat_event *ev)
{
    struct telling *t = ctx;

    wire_encode(&t->en, ev);
}
