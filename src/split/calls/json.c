/* SPDX-License-Identifier: Apache-2.0 */
#include "split/calls/internal.h"

size_t calls_json_size(str s)
{
    size_t depth = 0;
    bool quoted = false;

    if (s.n == 0 || !calls_is_one_of(s.p[0], "{["))
        return 0;
    for (size_t i = 0; i < s.n; i++) {
        char ch = s.p[i];

        if (quoted) {
            if (ch == '\\')
                i++;
            else if (ch == '"')
                quoted = false;
        } else if (ch == '"') {
            quoted = true;
        } else if (ch == '{' || ch == '[') {
            depth++;
        } else if (ch == '}' || ch == ']') {
            assert_slow(depth > 0);
            if (--depth == 0)
                return i + 1;
        }
    }
    return 0;
}

/* Models write line ends and tabs into strings unescaped; other errors are not repaired. */
static str calls_json_escape_controls(struct calls *c, str text)
{
    bool quoted = false;
    struct buf b;

    buf_init(&b, 6 * text.n + 1);
    for (size_t i = 0; i < text.n; i++) {
        char ch = text.p[i];

        if (quoted && (unsigned char)ch < ' ') {
            buf_printf(&b, "\\u%04x", (unsigned)ch);
            continue;
        }
        buf_add_c(&b, ch);
        if (ch == '"')
            quoted = !quoted;
        else if (quoted && ch == '\\' && i + 1 < text.n && (unsigned char)text.p[i + 1] >= ' ')
            buf_add_c(&b, text.p[++i]);
    }
    return arena_move_buf(c->arena, &b);
}

bool calls_json_parse(struct calls *c, struct json *doc, str text)
{
    bool raw_control = false;
    struct err e;

    if (json_parse(doc, text, &e))
        return true;
    for (size_t i = 0; i < text.n && !raw_control; i++)
        raw_control = (unsigned char)text.p[i] < ' ';
    return raw_control && json_parse(doc, calls_json_escape_controls(c, text), &e);
}

bool calls_arguments(struct calls *c, str *out)
{
    size_t end, n;
    str span;

    calls_space(c);
    end = calls_seek(c, &c->end, c->at);
    assert(c->at <= end && end <= c->raw.n);
    if (end == c->at && end < c->raw.n) {
        *out = STR("{}");
        return true;
    }
    n = c->objects_cut ? 0 : calls_json_size(calls_rest(c));
    if (n > 0) {
        span = str_slice(c->raw, c->at, c->at + n);
    } else {
        if (calls_peek(c) == '{')
            c->objects_cut = true;
        span = str_trim(str_slice(c->raw, c->at, end));
    }
    if (calls_json_parse(c, &c->doc, span) && json_root(&c->doc)->kind == JSON_OBJECT) {
        *out = json_raw(&c->doc, json_root(&c->doc));
        c->at = n > 0 ? c->at + n : end;
        return true;
    }
    calls_doubt(c);
    c->at = end;
    return false;
}

/* Arguments may be an object, an object in a string, or not there at all. */
static bool calls_arguments_of(struct calls *c, const struct json_node *v, str *out)
{
    str text;

    if (!v || v->kind == JSON_NULL) {
        *out = STR("{}");
        return true;
    }
    if (v->kind == JSON_OBJECT) {
        *out = json_raw(&c->doc, v);
        return true;
    }
    if (!json_text(&c->doc, v, c->arena, &text))
        return false;
    text = str_trim(text);
    if (text.n == 0) {
        *out = STR("{}");
        return true;
    }
    if (!calls_json_parse(c, &c->inner, text) || json_root(&c->inner)->kind != JSON_OBJECT)
        return false;
    *out = json_raw(&c->inner, json_root(&c->inner));
    return true;
}

static const struct json_node *
calls_json_find_any(const struct json *doc, const struct json_node *v, const char *const *keys)
{
    const struct json_node *found = NULL;

    for (; *keys && !found; keys++)
        found = json_find(doc, v, str_c(*keys));
    return found;
}

static void calls_give_one_named(struct calls *c, const struct json_node *v)
{
    static const char *const names[] = {"name", "tool_name", "function", NULL};
    static const char *const values[] = {"arguments", "parameters", "args", "input", NULL};
    const struct json_node *function = json_find(&c->doc, v, STR("function"));
    str name, arguments;

    assert(c->doc.n > 0);
    if (json_is_object(function))
        v = function;
    if (json_text(&c->doc, calls_json_find_any(&c->doc, v, names), c->arena, &name) &&
        calls_arguments_of(c, calls_json_find_any(&c->doc, v, values), &arguments))
        calls_give(c, name, arguments);
    else
        calls_doubt(c);
}

static void calls_each_call(struct calls *c, void (*give)(struct calls *, const struct json_node *))
{
    const struct json_node *root = json_root(&c->doc);

    if (root->kind != JSON_ARRAY) {
        give(c, root);
        return;
    }
    JSON_FOREACH(v, &c->doc, root)
        give(c, v);
}

void calls_give_named(struct calls *c)
{
    calls_each_call(c, calls_give_one_named);
}

/* {"f": {...}}: the key is the name. A model that falls back on the common spelling is understood
 * too: there the value of "name" is no object. */
static void calls_give_one_keyed(struct calls *c, const struct json_node *v)
{
    const struct json_node *key = json_first(&c->doc, v);

    if (v->kind != JSON_OBJECT || !key || json_find(&c->doc, v, STR("arguments"))) {
        calls_give_one_named(c, v);
        return;
    }
    for (; key; key = json_next(&c->doc, v, key)) {
        str name, arguments;

        if (json_text(&c->doc, key, c->arena, &name) &&
            calls_arguments_of(c, json_value(key), &arguments))
            calls_give(c, name, arguments);
        else
            calls_doubt(c);
    }
}

static void calls_give_keyed(struct calls *c)
{
    calls_each_call(c, calls_give_one_keyed);
}

/* After an invalid object it is unknown which text is inside a string, so the rest is skipped up to
 * the marker that ends it. */
static void calls_object_step(struct calls *c)
{
    size_t n = c->objects_cut ? 0 : calls_json_size(calls_rest(c));
    size_t end = n > 0 ? c->at + n : calls_seek(c, &c->end, c->at);

    assert(calls_peek(c) == '{' && c->at < end && end <= c->raw.n);
    if (n == 0)
        c->objects_cut = true;
    if (calls_json_parse(c, &c->doc, str_trim(str_slice(c->raw, c->at, end)))) {
        c->at = end;
        c->give_object(c);
        return;
    }
    calls_doubt(c);
    c->spoilt = true;
    c->at = calls_seek(c, &c->end, c->at);
}

/* A list that is cut or spoilt is stepped into, so that the calls in it which are whole count. */
static void calls_list_step(struct calls *c)
{
    size_t n = c->lists_cut ? 0 : calls_json_size(calls_rest(c));

    assert(calls_peek(c) == '[' && n <= c->raw.n - c->at);
    if (n > 0 && calls_json_parse(c, &c->doc, str_slice(c->raw, c->at, c->at + n))) {
        c->at += n;
        c->give_object(c);
        return;
    }
    c->lists_cut = true;
    calls_doubt(c);
    c->at++;
}

bool calls_json_step(struct calls *c)
{
    switch (calls_peek(c)) {
    case '[':
        calls_list_step(c);
        return true;
    case '{':
        calls_object_step(c);
        return true;
    case ']':
        if (!c->lists_cut)
            calls_doubt(c);
        c->at++;
        return true;
    case ',':
    case ';':
        c->at++;
        return true;
    default:
        return calls_eat(c, STR("```json")) || calls_eat(c, STR("```"));
    }
}

void calls_json(struct calls *c)
{
    while (calls_space(c), !calls_done(c)) {
        if (calls_json_step(c) || calls_eat_mark(c))
            continue;
        calls_doubt(c);
        c->at++;
        while (!calls_done(c) && calls_peek(c) != '<')
            c->at++;
    }
}

void calls_apertus(struct calls *c)
{
    c->give_object = calls_give_keyed;
    calls_json(c);
}
