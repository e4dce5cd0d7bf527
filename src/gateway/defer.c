/* defer.c - copies of frames and events, and the fronts of the texts in them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/defer.h"

#define DEFER_ARENA_MAX ((size_t)512 << 20) /* for the last frame, which is bounded as all are */

struct defer_event {
    struct defer_event *next;
    struct chat_event event;
    uint32_t node;  /* its number in the frame's JSON, if the event has one */
    bool was_piped; /* the event came out of the pipe before it was deferred */
};

struct defer_frame {
    struct defer_frame *next;
    struct wire_frame frame;
    struct defer_event *events, **last_event;
    bool has_doc, touched;
};

/* A choice whose text had not decided when its first bytes came. */
struct defer_choice {
    struct defer_choice *next;
    uint32_t choice, block;
    bool waits, plain;
    size_t n;
    char front[SPLIT_FRONT_MAX];
};

struct defer {
    struct pipe *pipe;
    struct wire_decoder *decoder;
    struct arena arena;
    struct defer_frame *frames, **last_frame;
    struct defer_frame *current; /* gets the events that come, or gives its own; or NULL */
    struct defer_frame *next;    /* for defer_next */
    struct defer_choice *choices;
    size_t count, size, waiting;
    bool announced; /* the pipe knows which texts are plain */
};

/* ---- copies ---- */

/* The current frame. */
static struct defer_frame *defer_current_frame(struct defer *d)
{
    struct defer_frame *f = d->current;

    if (f)
        return f;
    f = arena_zero(&d->arena, 1, sizeof *f);
    f->last_event = &f->events;
    *d->last_frame = f;
    d->last_frame = &f->next;
    d->current = f;
    return f;
}

static const struct chat_usage *defer_copy_usage(struct defer *d, const struct chat_usage *from)
{
    struct chat_usage *u = arena_alloc(&d->arena, sizeof *u);

    *u = *from;
    u->raw = arena_dup(&d->arena, from->raw);
    return u;
}

static const struct chat_error *defer_copy_error(struct defer *d, const struct chat_error *from)
{
    struct chat_error *e = arena_alloc(&d->arena, sizeof *e);
    str *const texts[] = {&e->type, &e->message, &e->code, &e->param, &e->raw, &e->id};

    *e = *from;
    for (size_t i = 0; i < COUNT_OF(texts); i++)
        *texts[i] = arena_dup(&d->arena, *texts[i]);
    return e;
}

static void defer_copy_event(struct defer *d, const struct chat_event *ev, bool was_piped)
{
    struct defer_frame *f = defer_current_frame(d);
    struct defer_event *copy = arena_alloc(&d->arena, sizeof *copy);

    *copy = (struct defer_event){.event = *ev, .was_piped = was_piped};
    copy->event.text = arena_dup(&d->arena, ev->text);
    copy->event.id = arena_dup(&d->arena, ev->id);
    copy->event.name = arena_dup(&d->arena, ev->name);
    copy->event.from = NULL;
    if (ev->kind == CHAT_USAGE)
        copy->event.usage = defer_copy_usage(d, ev->usage);
    if (ev->kind == CHAT_ERROR)
        copy->event.error = defer_copy_error(d, ev->error);
    assert(!ev->node || (ev->node >= d->decoder->doc.nodes &&
                         ev->node < d->decoder->doc.nodes + d->decoder->doc.n));
    if (ev->node)
        copy->node = (uint32_t)(ev->node - json_root(&d->decoder->doc));
    *f->last_event = copy;
    f->last_event = &copy->next;
}

/* The data of most frames is a part of their bytes, and relays make use of that. */
static void defer_copy_frame(struct defer *d, const struct wire_frame *from)
{
    struct defer_frame *to = defer_current_frame(d);
    struct wire_frame *f = &to->frame;
    uintptr_t raw = (uintptr_t)from->raw.p, data = (uintptr_t)from->data.p;

    *f = *from;
    f->name = arena_dup(&d->arena, from->name);
    f->raw = arena_dup(&d->arena, from->raw);
    if (data >= raw && data + from->data.n <= raw + from->raw.n)
        f->data = str_slice(f->raw, data - raw, data - raw + from->data.n);
    else
        f->data = arena_dup(&d->arena, from->data);
    f->doc = NULL;
    to->has_doc = from->doc;
}

struct defer *defer_new(struct pipe *p, struct wire_decoder *decoder)
{
    struct defer *d = base_alloc(sizeof *d);

    *d = (struct defer){.pipe = p, .decoder = decoder};
    arena_init(&d->arena, DEFER_ARENA_MAX);
    d->last_frame = &d->frames;
    defer_current_frame(d)->touched = p->touched;
    for (size_t i = 0; i < p->count; i++)
        defer_copy_event(d, &p->events[i], true);
    return d;
}

void defer_free(struct defer *d)
{
    if (!d)
        return;
    arena_release(&d->arena);
    free(d);
}

/* ---- fronts ---- */

bool defer_starts(struct pipe *p, const struct chat_event *ev)
{
    const struct split_format *picked;

    return ev->kind == CHAT_TEXT && ev->text.n && pipe_is_picking(p, ev->choice) &&
           split_pick(ev->text, true, &picked) == SPLIT_PART_MATCH;
}

static void defer_decide(struct defer *d, struct defer_choice *c, bool more)
{
    const struct split_format *picked;
    enum split_match found;

    if (!c->waits)
        return;
    assert(c->n <= sizeof c->front && d->waiting > 0);
    found = pipe_split_pick_front(&d->pipe->options, (str){c->front, c->n}, more, &picked);
    if (found == SPLIT_PART_MATCH)
        return;
    c->plain = found == SPLIT_NO_MATCH;
    c->waits = false;
    d->waiting--;
}

static struct defer_choice *defer_find_choice(struct defer *d, const struct chat_event *ev)
{
    struct defer_choice *c = d->choices;

    while (c && c->choice != ev->choice)
        c = c->next;
    if (c || ev->kind != CHAT_TEXT || !ev->text.n || !pipe_is_picking(d->pipe, ev->choice))
        return c;
    c = arena_zero(&d->arena, 1, sizeof *c);
    c->choice = ev->choice;
    c->block = ev->block;
    c->waits = true;
    c->next = d->choices;
    d->choices = c;
    d->waiting++;
    return c;
}

/* Whether no text of its block comes after the event: those for which the pipe ends a text. */
static bool defer_ends_text(const struct defer_choice *c, const struct chat_event *ev)
{
    const unsigned kinds = 1u << CHAT_REASONING | 1u << CHAT_CALL | 1u << CHAT_ARGUMENTS |
                           1u << CHAT_REFUSAL | 1u << CHAT_OPAQUE | 1u << CHAT_STOP;

    if (ev->kind == CHAT_TEXT)
        return ev->block != c->block;
    return kinds >> ev->kind & 1 && !citation_is_beside_text(ev);
}

void defer_add_event(struct defer *d, const struct chat_event *ev)
{
    struct defer_choice *c = defer_find_choice(d, ev);

    defer_copy_event(d, ev, false);
    if (ev->kind == CHAT_END || ev->kind == CHAT_ERROR)
        defer_end(d);
    if (!c || !c->waits)
        return;
    if (defer_ends_text(c, ev)) {
        defer_decide(d, c, false);
    } else if (ev->kind == CHAT_TEXT) {
        str some = str_slice(ev->text, 0, sizeof c->front - c->n);

        assert(some.n <= sizeof c->front - c->n);
        memcpy(c->front + c->n, some.p, some.n);
        c->n += some.n;
        defer_decide(d, c, true);
    }
}

bool defer_add_frame(struct defer *d, const struct wire_frame *f)
{
    assert(!d->announced);
    defer_copy_frame(d, f);
    d->current = NULL;
    d->next = d->frames;
    d->count++;
    d->size += f->raw.n;
    return d->waiting == 0 || d->count >= DEFER_FRAMES_MAX || d->size >= DEFER_SIZE_MAX;
}

void defer_end(struct defer *d)
{
    for (struct defer_choice *c = d->choices; c; c = c->next)
        defer_decide(d, c, false);
}

/* ---- back into the pipe ---- */

bool defer_next(struct defer *d, struct wire_frame *f)
{
    struct wire_decoder *decoder = d->decoder;
    struct err e;

    for (struct defer_choice *c = d->choices; c && !d->announced; c = c->next)
        if (c->plain)
            pipe_set_plain(d->pipe, c->choice);
    d->announced = true;
    d->current = d->next;
    if (!d->current)
        return false;
    d->next = d->current->next;
    *f = d->current->frame;
    if (d->current->has_doc && json_parse(&decoder->doc, f->data, &e))
        f->doc = &decoder->doc;
    pipe_begin(d->pipe);
    d->pipe->touched = d->current->touched;
    return true;
}

void defer_feed(struct defer *d, struct chat_sink to)
{
    const struct json_node *root = d->current->has_doc ? json_root(&d->decoder->doc) : NULL;

    for (struct defer_event *e = d->current->events; e; e = e->next) {
        if (e->event.node)
            e->event.node = root ? root + e->node : NULL;
        if (e->was_piped)
            pipe_push(d->pipe, &e->event);
        else
            to.on_event(to.ctx, &e->event);
    }
}
