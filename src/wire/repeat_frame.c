/* repeat_frame.c - frames known by their bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/repeat_frame.h"

#include "wire/wire.h"

#define ROOM_STEP 16 /* bytes: frames of about one size share one allocation */

/* A text with escapes: the bytes between its quotes must be one complete string. */
static bool repeat_frame_spelled(struct wire_decoder *d, const struct wire_frame *f, str *text)
{
    str quoted = str_slice(f->data, (size_t)d->repeat.before - 1, f->data.n - d->repeat.after + 1);
    struct err e;

    assert(d->repeat.before > 0 && d->repeat.after > 0); /* the quotes */
    arena_reset(&d->scratch);
    return json_parse(&d->doc, quoted, &e) &&
           json_text(&d->doc, json_root(&d->doc), &d->scratch, text);
}

bool repeat_frame_decode(struct wire_decoder *d, struct wire_frame *f)
{
    const struct repeat_frame *e = &d->repeat;
    size_t around = (size_t)e->before + e->after;
    struct chat_event ev;
    str text;

    if (!e->before || f->data.n <= around || f->name.n ||
        memcmp(f->data.p, e->bytes, e->before) != 0 ||
        memcmp(f->data.p + f->data.n - e->after, e->bytes + e->before, e->after) != 0)
        return false;
    assert(d->wire->again && around <= REPEAT_FRAME_MAX);
    assert(e->bytes);
    text = str_slice(f->data, e->before, f->data.n - e->after);
    if (!json_plain(text) && !repeat_frame_spelled(d, f, &text))
        return false;
    ev = (struct chat_event){.kind = e->event.kind,
                             .dialect = e->event.dialect,
                             .summary = e->event.summary,
                             .choice = e->event.choice,
                             .block = e->event.block,
                             .text = text,
                             .id = STR(""),
                             .name = STR("")};
    f->again = d;
    f->shape = e->shape;
    d->wire->again(d, &ev);
    wire_emit(d, &ev);
    return true;
}

void repeat_frame_forget(struct wire_decoder *d)
{
    d->repeat.before = d->repeat.after = 0;
    d->repeat.events = 0;
}

void repeat_frame_note_event(struct wire_decoder *d, const struct chat_event *ev)
{
    bool known = ev->node && !ev->id.n && !ev->name.n;

    if (d->repeat.events++ > 0)
        return;
    d->repeat.event = (struct repeat_event){.kind = ev->kind,
                                            .dialect = ev->dialect,
                                            .summary = ev->summary,
                                            .choice = ev->choice,
                                            .block = ev->block,
                                            .before = known ? ev->node->at + 1 : 0,
                                            .text = ev->text};
}

/* Not in the arena, where a larger frame would leave the room of the smaller one unused. */
static void repeat_frame_make_room(struct repeat_frame *e, size_t size)
{
    assert(!e->room == !e->bytes);
    if (size <= e->room)
        return;
    e->room = (uint16_t)((size + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP);
    free(e->bytes);
    e->bytes = base_alloc(e->room);
}

unsigned repeat_frame_learn(struct wire_decoder *d, const struct wire_frame *f)
{
    struct repeat_frame *e = &d->repeat;
    size_t before = e->event.before, end = before + e->event.text.n;

    if (!d->wire->again || e->events != 1 || d->deaf || f->name.n || !before ||
        (e->event.kind != CHAT_TEXT && e->event.kind != CHAT_REASONING))
        return 0;
    /* Only a text without escapes points into the frame. */
    if (e->event.text.p != f->data.p + before || before + (f->data.n - end) > REPEAT_FRAME_MAX)
        return 0;
    assert(end <= f->data.n);
    repeat_frame_make_room(e, before + (f->data.n - end));
    e->before = (uint16_t)before;
    e->after = (uint16_t)(f->data.n - end);
    memcpy(e->bytes, f->data.p, before);
    memcpy(e->bytes + before, f->data.p + end, e->after);
    return ++e->shape;
}
