/* unrequested_usage.c - removes usage that the gateway requested and the client did not.
 *
 * The gateway asks every stream for its usage: stream_options.include_usage. The provider then adds
 * a last chunk without choices, which carries the usage, and some add `"usage": null` to all other
 * chunks. A client without the flag gets neither, so its stream is the one that the provider would
 * have sent to it. A chunk with any other content stays unchanged: providers that report usage
 * without being asked put it into the last chunk of a choice, or beside other members.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/openai/encode.h"

static bool openai_usage_is_unrequested(const struct wire_encoder *en)
{
    return en->stream && !en->request->stream_usage;
}

/* Null, or an object or array with nothing in it, or an empty text. */
static bool openai_unrequested_is_empty(const struct json_node *v)
{
    if (v->kind == JSON_OBJECT || v->kind == JSON_ARRAY)
        return v->span == 1;
    return v->kind == JSON_NULL || (v->kind == JSON_STRING && v->size == 2);
}

static bool openai_unrequested_frames_usage(const struct json *doc, const struct json_node *key)
{
    static const char names[] = "id object created model choices usage system_fingerprint "
                                "service_tier obfuscation";

    return json_is_one_of(doc, key, names) || openai_unrequested_is_empty(json_value(key));
}

bool openai_unrequested_chunk(const struct wire_encoder *en, const struct json *doc)
{
    const struct json_node *root = doc ? json_root(doc) : NULL;
    const struct json_node *choices, *usage;

    if (!openai_usage_is_unrequested(en) || !json_is_object(root))
        return false;
    choices = json_find(doc, root, STR("choices"));
    usage = json_find(doc, root, STR("usage"));
    if ((choices && !openai_unrequested_is_empty(choices)) || !json_is_object(usage))
        return false;
    JSON_FOREACH(k, doc, root)
        if (!openai_unrequested_frames_usage(doc, k))
            return false;
    return true;
}

/* The bytes of `"usage": null` in the data of a chunk, with one comma. False: it has none. */
static bool openai_unrequested_find_null(const struct json *doc, size_t *from, size_t *to)
{
    const struct json_node *root = json_root(doc), *before = NULL;

    JSON_FOREACH(k, doc, root) {
        const struct json_node *v = json_value(k), *next;

        if (v->kind != JSON_NULL || !json_is(doc, k, STR("usage"))) {
            before = v;
            continue;
        }
        next = json_next(doc, root, k);
        *from = before ? before->at + before->size : k->at;
        *to = before || !next ? v->at + v->size : next->at;
        return true;
    }
    return false;
}

void openai_unrequested_edit(const struct wire_encoder *en, const struct json *doc,
                             struct json_edits *ed)
{
    const struct json_node *usage = json_find(doc, json_root(doc), STR("usage"));

    if (openai_usage_is_unrequested(en) && usage && usage->kind == JSON_NULL)
        json_edit_remove(ed, json_root(doc), STR("usage"));
}

/* The received frame without some bytes of its data. */
static void openai_unrequested_write(struct wire_encoder *en, const struct wire_frame *f,
                                     size_t from, size_t to)
{
    uintptr_t raw = (uintptr_t)f->raw.p, data = (uintptr_t)f->data.p;

    assert(from <= to && to <= f->data.n);
    if (data >= raw && data + f->data.n <= raw + f->raw.n) {
        buf_add(en->out, str_slice(f->raw, 0, data - raw + from));
        buf_add(en->out, str_slice(f->raw, data - raw + to, f->raw.n));
    } else { /* the data came in several lines */
        size_t begin;

        sse_begin(en->out, f->name);
        begin = en->out->n;
        buf_add(en->out, str_slice(f->data, 0, from));
        buf_add(en->out, str_slice(f->data, to, f->data.n));
        sse_end_lines(en->out, begin);
    }
}

void openai_unrequested_pass(struct wire_encoder *en, const struct wire_frame *f)
{
    struct openai_encoding *s = en->state;
    size_t from = 0, to = 0;
    bool object = f->doc && json_root(f->doc)->kind == JSON_OBJECT;

    if (openai_usage_is_unrequested(en) && object &&
        openai_unrequested_find_null(f->doc, &from, &to))
        openai_unrequested_write(en, f, from, to);
    else
        buf_add(en->out, f->raw);
    s->null_shape = f->shape;
    s->null_size = to - from;
    s->null_from = from;
    s->null_left = f->data.n - from;
}

/* A row of frames: all at once if none of them has the bytes, or else one after the other. */
static void openai_unrequested_row(struct wire_encoder *en, const struct wire_frame *f)
{
    const struct openai_encoding *s = en->state;
    const str end = STR("\n\n");
    struct wire_frame one = *f;

    assert(f->again && !f->data.n);
    if (!openai_usage_is_unrequested(en) || (s->null_shape == f->shape && !s->null_size)) {
        buf_add(en->out, f->raw);
        return;
    }
    for (str rest = f->raw; rest.n > 0; rest = str_slice(rest, one.raw.n, rest.n)) {
        one.raw = str_slice(rest, 0, str_find(rest, end) + end.n);
        one.data = str_slice(one.raw, sizeof "data: " - 1, one.raw.n - end.n);
        openai_relay(en, &one, NULL, 0, false);
    }
}

bool openai_unrequested_again(struct wire_encoder *en, const struct wire_frame *f)
{
    const struct openai_encoding *s = en->state;
    size_t from = s->null_from;

    if (!f->data.n) {
        openai_unrequested_row(en, f);
        return true;
    }
    if (openai_usage_is_unrequested(en) && s->null_shape != f->shape)
        return false;
    if (!openai_usage_is_unrequested(en) || !s->null_size) {
        buf_add(en->out, f->raw);
        return true;
    }
    if (from >= f->again->repeat.before) /* after the text, which may have another size now */
        from = f->data.n - s->null_left;
    openai_unrequested_write(en, f, from, from + s->null_size);
    return true;
}
