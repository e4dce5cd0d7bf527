/* config_tree.c - a part of the file as JSON in one line, for displays of the configuration.
 *
 * A text with ${VAR} in it is shown as it was written; values of headers and of the environment of
 * a program are not shown at all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

const char *const config_tree_sections[] = {
    "agents", "tools", "workflows", "incidents.notify", NULL};

static void config_tree_text(const struct json *doc, const struct json_node *v, struct json_out *o)
{
    struct arena a;
    struct buf b;
    str text, front;

    arena_init(&a, YAML_JSON_MAX);
    buf_init(&b, YAML_JSON_MAX);
    if (json_text(doc, v, &a, &text))
        for (;; text = str_slice(text, front.n + 2, text.n)) {
            front = str_slice(text, 0, str_find(text, STR("${")));
            buf_add(&b, front);
            if (front.n == text.n)
                break;
            buf_add(&b, STR("$${")); /* so that reading it again does not fill it in */
        }
    json_out_str(o, buf_str(&b));
    buf_release(&b);
    arena_release(&a);
}

static void config_tree_write_node(const struct config_source *s, const struct json_node *v,
                                   bool hidden, struct json_out *o)
{
    const struct json *doc = &s->doc;
    str raw = s->yaml.marks[v - doc->nodes].raw;

    if (v->kind == JSON_ARRAY || v->kind == JSON_OBJECT) {
        if (v->kind == JSON_ARRAY)
            json_out_array(o);
        else
            json_out_object(o);
        for (const struct json_node *c = json_first(doc, v); c; c = json_next(doc, v, c)) {
            bool object = v->kind == JSON_OBJECT;

            if (object)
                json_out_key(o, str_slice(json_raw(doc, c), 1, c->size - 1));
            config_tree_write_node(s,
                                   object ? json_value(c) : c,
                                   hidden || json_is(doc, c, STR("headers")) ||
                                       json_is(doc, c, STR("env")),
                                   o);
        }
        json_out_end(o);
    } else if (hidden || raw.n > 0) {
        json_out_str(o, hidden ? STR("***") : raw);
    } else if (v->kind == JSON_STRING) {
        config_tree_text(doc, v, o);
    } else {
        json_out_raw(o, json_raw(doc, v));
    }
}

void config_tree_write(const struct config_source *s, const struct json_node *v, struct buf *out)
{
    struct json_out o;

    json_out_init(&o, out);
    config_tree_write_node(s, v, false, &o);
}
