/* images.c - see images.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/images.h"

#include "wire/internal.h"

#define PICTURE_SIZE_MAX ((size_t)256 << 20)

struct picture {
    str mime, data; /* base64 */
};

bool image_needs_conversion(const struct chat_event *ev, enum chat_dialect to)
{
    if (ev->dialect == to || (ev->kind != CHAT_OPAQUE && ev->kind != CHAT_EXTRA))
        return false;
    if (ev->kind == CHAT_EXTRA)
        return ev->dialect == CHAT_OPENAI && str_eq(ev->name, STR("message.images"));
    if (ev->dialect == CHAT_GEMINI)
        return !ev->summary && (str_find(ev->text, STR("\"inlineData\"")) != STR_NONE ||
                                str_find(ev->text, STR("\"inline_data\"")) != STR_NONE);
    return ev->dialect == CHAT_RESPONSES &&
           str_find(ev->text, STR("\"image_generation_call\"")) != STR_NONE;
}

static void image_put(const struct picture *p, const struct chat_event *of, enum chat_dialect to,
                      struct chat_sink sink)
{
    struct chat_event ev = *of;
    struct buf url, out;

    assert(to == CHAT_OPENAI || to == CHAT_GEMINI);
    if (!p->data.n || !str_starts(p->mime, STR("image/")))
        return;
    buf_init(&url, PICTURE_SIZE_MAX);
    buf_init(&out, PICTURE_SIZE_MAX);
    if (to == CHAT_OPENAI) {
        buf_printf(&url, "data:" STR_FMT ";base64,", STR_ARG(p->mime));
        buf_add(&url, p->data);
        buf_add(&out, STR("[{\"type\":\"image_url\",\"image_url\":{\"url\":"));
        (void)json_quote(&out, buf_str(&url));
        buf_add(&out, STR("}}]"));
    } else {
        buf_add(&out, STR("{\"inlineData\":{\"mimeType\":"));
        (void)json_quote(&out, p->mime);
        buf_add(&out, STR(",\"data\":"));
        (void)json_quote(&out, p->data);
        buf_add(&out, STR("}}"));
    }
    ev.kind = to == CHAT_OPENAI ? CHAT_EXTRA : CHAT_OPAQUE;
    ev.name = to == CHAT_OPENAI ? STR("message.images") : STR("");
    ev.dialect = to;
    ev.node = NULL;
    ev.text = buf_str(&out);
    if (!buf_full(&out) && !buf_full(&url))
        sink.on_event(sink.ctx, &ev);
    buf_release(&url);
    buf_release(&out);
}

/* data:MIME;base64,DATA */
static struct picture image_from_url(str url)
{
    static const str mark = STR_INIT(";base64,");
    size_t at = str_find(url, mark);

    if (!str_starts(url, STR("data:")) || at == STR_NONE)
        return (struct picture){STR(""), STR("")};
    return (struct picture){str_slice(url, sizeof "data:" - 1, at),
                            str_slice(url, at + mark.n, url.n)};
}

static struct picture image_from_part(const struct json *doc, const struct json_node *part,
                                      struct arena *a)
{
    const struct json_node *blob = json_get(doc, part, "inlineData");
    str mime;

    if (!blob)
        blob = json_get(doc, part, "inline_data");
    mime = json_get_text(doc, blob, "mimeType", a);
    return (struct picture){mime.n ? mime : json_get_text(doc, blob, "mime_type", a),
                            json_get_text(doc, blob, "data", a)};
}

static struct picture image_from_item(const struct json *doc, const struct json_node *item,
                                      struct arena *a)
{
    str format = json_get_text(doc, item, "output_format", a);

    if (!json_get_is(doc, item, "type", "image_generation_call"))
        return (struct picture){STR(""), STR("")};
    return (struct picture){
        arena_printf(a, "image/" STR_FMT, STR_ARG(format.n ? format : STR("png"))),
        json_get_text(doc, item, "result", a)};
}

void image_convert(const struct chat_event *ev, enum chat_dialect to, struct chat_sink sink)
{
    const struct json_node *root;
    struct picture p;
    struct arena a;
    struct json doc;
    struct err e;

    arena_init(&a, PICTURE_SIZE_MAX);
    root = json_open(&doc, ev->text, &e) ? json_root(&doc) : NULL;
    if (ev->kind == CHAT_EXTRA) {
        JSON_FOREACH(v, &doc, root) {
            p = image_from_url(json_get_text(&doc, json_get(&doc, v, "image_url"), "url", &a));
            image_put(&p, ev, to, sink);
        }
    } else if (root) {
        p = ev->dialect == CHAT_GEMINI ? image_from_part(&doc, root, &a)
                                       : image_from_item(&doc, root, &a);
        image_put(&p, ev, to, sink);
    }
    json_release(&doc);
    arena_release(&a);
}
