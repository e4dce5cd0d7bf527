/* relay_held.c - frames of a Responses stream that announce a text, and wait for it.
 *
 * A part of reasoning may turn out to be hidden: then the frame that begins it is dropped. A
 * message may begin with reasoning that is found in its text: then that reasoning is the earlier
 * item, as in a whole reply, and the frames that begin the message follow it. No text is held back.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/responses/relay.h"

#define HELD_SIZE_MAX ((size_t)64 << 10)

/* ---- a part of reasoning ---- */

void responses_held_begin(struct responses_relay *r)
{
    struct responses_encoder *s = r->s;

    assert(s->held_size == 0);
    if (r->f->raw.n > HELD_SIZE_MAX) {
        responses_relay_frame_out(r);
        return;
    }
    if (!s->held) {
        s->held = arena_alloc(r->en->arena, HELD_SIZE_MAX);
        s->held_cap = HELD_SIZE_MAX;
    }
    responses_relay_edit_numbers(r);
    if (r->ed.n == 0) {
        memcpy(s->held, r->f->raw.p, r->f->raw.n);
        s->held_size = r->f->raw.n;
    } else {
        size_t at = r->en->out->n, size;

        responses_relay_frame_out(r);
        size = r->en->out->n - at;
        s->held_size = size <= s->held_cap ? size : 0;
        memcpy(s->held, r->en->out->p + at, s->held_size);
        r->en->out->n = s->held_size ? at : r->en->out->n;
    }
}

void responses_held_out(struct responses_relay *r)
{
    assert(r->s->held && r->s->held_size <= r->s->held_cap);
    buf_add(r->en->out, (str){r->s->held, r->s->held_size});
    r->s->held_size = 0;
}

/* ---- a message ---- */

bool responses_opening_is_of(const struct responses_relay *r)
{
    return r->s->opening_count > 0 &&
           responses_index(r->doc, r->root, "output_index", 0) == r->s->opening_index;
}

void responses_opening_add(struct responses_relay *r)
{
    struct responses_encoder *s = r->s;
    struct responses_opening *o = &s->opening[s->opening_count];

    assert(s->opening_count < RESPONSES_OPENING_MAX);
    arena_text_reset(&o->bytes);
    arena_text_add_max(&o->bytes, r->en->arena, r->f->name, HELD_SIZE_MAX);
    arena_text_add_max(&o->bytes, r->en->arena, r->f->data, HELD_SIZE_MAX);
    arena_text_add_max(&o->bytes, r->en->arena, r->f->raw, HELD_SIZE_MAX);
    if (o->bytes.full) {
        responses_opening_out(r);
        responses_relay_frame_out(r);
        return;
    }
    o->name = r->f->name.n;
    o->data = r->f->data.n;
    s->opening_index = responses_index(r->doc, r->root, "output_index", 0);
    s->opening_count++;
    s->shift--; /* like a dropped frame, until it is written */
}

/* It gets the next free number. */
static void responses_opening_write(struct responses_relay *r)
{
    struct responses_encoder *s = r->s;
    uint32_t index = responses_index(r->doc, r->root, "output_index", 0);
    int64_t n;

    assert(s->opening_count > 0 && s->shift < INT64_MAX);
    if (responses_relay_number(r, &n) && (uint64_t)n != s->sequence)
        responses_relay_edit_number(r, "sequence_number", (int64_t)s->sequence);
    if (responses_moved(s, index) != index)
        responses_relay_edit_number(r, "output_index", responses_moved(s, index));
    s->sequence++;
    s->shift++;
    responses_relay_write(r);
}

void responses_opening_out(struct responses_relay *r)
{
    struct responses_encoder *s = r->s;

    for (size_t i = 0; i < s->opening_count; i++) {
        const struct responses_opening *o = &s->opening[i];
        str bytes = arena_text_str(&o->bytes);
        struct wire_frame f = {.name = str_slice(bytes, 0, o->name),
                               .data = str_slice(bytes, o->name, o->name + o->data),
                               .raw = str_slice(bytes, o->name + o->data, bytes.n)};
        struct responses_relay of = *r;
        struct json doc;
        struct err e;

        json_init(&doc);
        of.f = &f;
        of.doc = &doc;
        if (json_parse(&doc, f.data, &e)) { /* as it did before */
            of.root = json_root(&doc);
            json_edits_init(&of.ed, &doc, r->arena);
            responses_opening_write(&of);
        }
        json_release(&doc);
    }
    assert(s->opening_count <= RESPONSES_OPENING_MAX && s->seen_max >= -1);
    if (s->opening_count && (int64_t)s->opening_index > s->seen_max)
        s->seen_max = s->opening_index;
    s->opening_count = 0;
}
