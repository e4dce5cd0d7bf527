/* repeat_frame.c - frames known by their bytes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/repeat_frame.h"

#include "wire/wire.h"

#define ROOM_STEP 16 /* bytes: frames of about one size share one allocation, */
#define ROOM_HEAD 8  /* and malloc's own bytes fill its last step */

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

static void repeat_frame_emit(struct wire_decoder *d, struct wire_frame *f, str text)
{
    const struct repeat_event *like = &d->repeat.event;
    struct chat_event ev = {.kind = like->kind,
                            .dialect = like->dialect,
                            .summary = like->summary,
                            .choice = like->choice,
                            .block = like->block,
                            .text = text,
                            .id = STR(""),
                            .name = STR("")};

    f->again = d;
    f->shape = d->repeat.shape;
    d->wire->again(d, &ev);
    wire_emit(d, &ev);
}

bool repeat_frame_decode(struct wire_decoder *d, struct wire_frame *f)
{
    const struct repeat_frame *e = &d->repeat;
    size_t around = (size_t)e->before + e->after;
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
    repeat_frame_emit(d, f, text);
    return true;
}

bool repeat_frame_next(const struct wire_decoder *d, str bytes, str *text, size_t *size)
{
    const struct repeat_frame *e = &d->repeat;
    const str field = STR("data: ");
    size_t front = field.n + e->before, around = front + e->after + 2;
    const char *from = bytes.p + front, *end;

    if (!e->before || !e->line || bytes.n <= around || !str_starts(bytes, field) ||
        memcmp(bytes.p + field.n, e->bytes, e->before) != 0)
        return false;
    end = memchr(from, '"', bytes.n - around + 1);
    if (!end || memcmp(end, e->bytes + e->before, e->after) != 0 || end[e->after] != '\n' ||
        end[e->after + 1] != '\n')
        return false;
    *text = (str){from, (size_t)(end - from)};
    *size = around + text->n;
    assert(*size <= bytes.n);
    return text->n > 0 && json_plain(*text);
}

void repeat_frame_decode_row(struct wire_decoder *d, struct wire_frame *f, str text)
{
    assert(!d->deaf && d->repeat.line && f->raw.n > text.n);
    f->name = f->data = STR("");
    d->text_ended = 0;
    repeat_frame_emit(d, f, text);
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
    e->room = (uint16_t)((size + ROOM_HEAD + ROOM_STEP - 1) / ROOM_STEP * ROOM_STEP - ROOM_HEAD);
    free(e->bytes);
    e->bytes = base_alloc(e->room);
}

bool repeat_frame_knows_head(struct wire_decoder *d, str head)
{
    struct repeat_frame *e = &d->repeat;

    assert(!e->before); /* repeat_frame_forget was called */
    if (e->head && e->head == head.n && memcmp(e->bytes, head.p, head.n) == 0)
        return true;
    e->head = 0;
    if (head.n > REPEAT_FRAME_MAX)
        return false;
    repeat_frame_make_room(e, head.n);
    memcpy(e->bytes, head.p, head.n);
    e->head = (uint16_t)head.n;
    return false;
}

/* Whether the frame is "data: ", its data, which is one line then, and an empty line. */
static bool repeat_frame_is_line(const struct wire_frame *f)
{
    const size_t field = sizeof "data: " - 1;

    return f->raw.n == field + f->data.n + 2 && f->data.p == f->raw.p + field &&
           str_starts(f->raw, STR("data: ")) && str_ends(f->raw, STR("\n\n"));
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
    if (e->head > before)
        e->head = 0;
    repeat_frame_make_room(e, before + (f->data.n - end));
    e->before = (uint16_t)before;
    e->after = (uint16_t)(f->data.n - end);
    e->line = repeat_frame_is_line(f);
    memcpy(e->bytes, f->data.p, before);
    memcpy(e->bytes + before, f->data.p + end, e->after);
    return ++e->shape;
}
