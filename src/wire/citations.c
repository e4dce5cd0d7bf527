/* citations.c - see citations.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/citations.h"

#include "base/json_get.h"
#include "wire/json_write.h"

#define CITE_SIZE_MAX ((size_t)8 << 20)

static void citation_add_line(struct buf *out, str json)
{
    size_t at = out->n;

    buf_add(out, json);
    json_join_lines(out, at);
}

/* All members but the type, in a box of that name. */
static void citation_add_boxed(const struct json *doc, const struct json_node *v, struct buf *out)
{
    bool first = true;

    assert(v->kind == JSON_OBJECT && out->n > 0);
    buf_add(out,
            out->n > 1 ? STR(",{\"type\":\"url_citation\",\"url_citation\":{")
                       : STR("{\"type\":\"url_citation\",\"url_citation\":{"));
    JSON_FOREACH(k, doc, v) {
        if (json_is(doc, k, STR("type")))
            continue;
        if (!first)
            buf_add_c(out, ',');
        first = false;
        buf_add(out, json_raw(doc, k));
        buf_add_c(out, ':');
        citation_add_line(out, json_raw(doc, json_value(k)));
    }
    buf_add(out, STR("}}"));
}

str citations_to_chat(str annotations, struct arena *a)
{
    const struct json_node *root;
    str text = STR("");
    struct json doc;
    struct buf out;
    struct err e;

    buf_init(&out, CITE_SIZE_MAX);
    if (json_open(&doc, annotations, &e) && json_root(&doc)->kind == JSON_ARRAY) {
        root = json_root(&doc);
        buf_add_c(&out, '[');
        JSON_FOREACH(v, &doc, root)
            if (v->kind == JSON_OBJECT && json_get_is(&doc, v, "type", "url_citation"))
                citation_add_boxed(&doc, v, &out);
        buf_add_c(&out, ']');
        if (out.n > 2 && !buf_full(&out))
            text = arena_text_dup(a, buf_str(&out));
    }
    json_release(&doc);
    buf_release(&out);
    return text;
}

bool citation_to_chat(const struct chat_event *ev, struct arena *a, struct chat_event *out)
{
    *out = *ev;
    out->dialect = CHAT_OPENAI;
    if (ev->kind == CHAT_EXTRA)
        return str_eq(ev->name, STR("choice.logprobs"));
    if (ev->dialect != CHAT_RESPONSES || ev->kind != CHAT_OPAQUE ||
        !str_eq(ev->name, STR("annotations")))
        return false;
    out->kind = CHAT_EXTRA;
    out->name = STR("message.annotations");
    out->text = citations_to_chat(ev->text, a);
    return out->text.n > 0;
}

bool citation_write(const struct json *doc, const struct json_node *v, struct buf *out)
{
    const struct json_node *box = json_get(doc, v, "url_citation");
    str raw;

    if (v->kind != JSON_OBJECT)
        return false;
    if (!json_is_object(box)) {
        citation_add_line(out, json_raw(doc, v));
        return json_get(doc, v, "type") != NULL;
    }
    raw = json_raw(doc, box);
    buf_add(out,
            json_first(doc, box) ? STR("{\"type\":\"url_citation\",")
                                 : STR("{\"type\":\"url_citation\""));
    citation_add_line(out, str_slice(raw, 1, raw.n));
    return true;
}

str citation_tokens(str json, struct arena *a)
{
    const struct json_node *list;
    str raw, text = STR("");
    struct json doc;
    struct buf out;
    struct err e;

    buf_init(&out, CITE_SIZE_MAX);
    if (json_open(&doc, json, &e)) {
        list = json_get(&doc, json_root(&doc), "content");
        raw = list ? json_raw(&doc, list) : STR("");
        if (json_is_array(list) && json_first(&doc, list))
            citation_add_line(&out, str_slice(raw, 1, raw.n - 1));
        if (!buf_full(&out))
            text = arena_text_dup(a, buf_str(&out));
    }
    json_release(&doc);
    buf_release(&out);
    return text;
}
