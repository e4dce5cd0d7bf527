/* customer_json.c - see customer_json.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/customer_json.h"

#include "apps/orders/customer_tag.h"
#include "base/ctype.h"
#include "base/json_loose.h"

#define ARENA_SIZE ((size_t)1 << 20)

/* ---- where it ends ---- */

struct json_scan {
    size_t size; /* size of the object, or of the text if it is never closed */
    bool thinks; /* it has a member for reasoning */
};

/* After the string that begins at `at`; a backslash escapes. */
static size_t json_scan_string(str s, size_t at)
{
    assert(at < s.n);
    char quote = s.p[at++];

    while (at < s.n && s.p[at] != quote)
        at += s.p[at] == '\\' ? 2 : 1;
    return at < s.n ? at + 1 : s.n;
}

static bool json_scan_is_key(str s, size_t at)
{
    while (at < s.n && char_is_space(s.p[at]))
        at++;
    return at < s.n && s.p[at] == ':';
}

static void json_scan_object(str s, struct json_scan *out)
{
    size_t depth = 0, at = 0;

    assert(s.n > 0 && s.p[0] == '{');
    *out = (struct json_scan){s.n, false};
    while (at < s.n) {
        char c = s.p[at];

        if (c == '"' || (c == '\'' && depth < 2)) {
            size_t end = json_scan_string(s, at);

            if (json_scan_is_key(s, end))
                out->thinks |= customer_tag_thinks(str_slice(s, at + 1, end - 1));
            at = end;
            continue;
        }
        depth += c == '{';
        at++;
        if (c == '}' && --depth == 0) {
            out->size = at;
            return;
        }
    }
}

/* ---- its texts ---- */

/* In the order in which they are looked for. */
static const char json_replies[] =
    "reply answer final_answer response final_response final message speech say text content "
    "customer_message output utterance";

static bool json_key_is(const struct json *doc, const struct json_node *key, str name)
{
    str raw = json_raw(doc, key);
    size_t k = 0;

    for (size_t i = 1; i + 1 < raw.n; i++) {
        char c = raw.p[i];

        if (c == '_' || c == '-' || c == ' ')
            continue;
        while (k < name.n && name.p[k] == '_')
            k++;
        if (k == name.n || name.p[k++] != char_to_lower(c))
            return false;
    }
    return k == name.n;
}

static bool json_key_thinks(const struct json *doc, const struct json_node *key)
{
    return customer_tag_thinks(json_raw(doc, key));
}

/* The reply in an object, or in one of its objects; NULL: it has none. */
static const struct json_node *json_find_reply(const struct json *doc, const struct json_node *o)
{
    const struct json_node *key, *found = NULL;

    for (str rest = str_c(json_replies); rest.n;) {
        str name = str_cut(&rest, ' ');

        for (key = json_first(doc, o); key; key = json_next(doc, o, key))
            if (json_value(key)->kind == JSON_STRING && json_key_is(doc, key, name))
                return json_value(key);
    }
    for (key = json_first(doc, o); key && !found; key = json_next(doc, o, key))
        if (json_value(key)->kind == JSON_OBJECT && !json_key_thinks(doc, key))
            found = json_find_reply(doc, json_value(key));
    return found;
}

/* The texts of members that speak of thinking. */
static void json_hide(const struct json *doc, const struct json_node *reply, struct arena *a,
                      struct buf *hidden)
{
    str text;

    for (uint32_t i = 1; i < doc->n; i++) {
        const struct json_node *v = &doc->nodes[i];

        /* If the node is a key, its value is next on the tape. */
        if (v == reply || v + 1 == reply || i + 1 == doc->n || !json_text(doc, v, a, &text) ||
            !customer_tag_thinks(text) || !json_text(doc, v + 1, a, &text))
            continue;
        buf_add(hidden, text);
        buf_add_c(hidden, '\n');
    }
}

size_t customer_json_strip(str text, struct buf *said, struct buf *hidden)
{
    const struct json_node *reply;
    struct json_scan scan;
    struct arena a;
    struct json doc;
    struct buf plain;
    struct err e;
    str words;

    json_scan_object(text, &scan);
    if (!scan.thinks)
        return 0;
    buf_init(&plain, 8 * scan.size + 64);
    arena_init(&a, 4 * scan.size + ARENA_SIZE);
    json_init(&doc);
    if (json_loose(str_slice(text, 0, scan.size), json_loose_object, NULL, &plain, &e) &&
        json_parse(&doc, buf_str(&plain), &e)) {
        reply = json_find_reply(&doc, json_root(&doc));
        if (reply && json_text(&doc, reply, &a, &words))
            buf_add(said, words);
        json_hide(&doc, reply, &a, hidden);
    }
    assert(scan.size <= text.n);
    json_release(&doc);
    arena_release(&a);
    buf_release(&plain);
    return scan.size;
}
