/* ask.c - requests of viewers.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "live/ask.h"

#include "base/ctype.h"
#include "base/json.h"
#include "base/utf8.h"

static const struct {
    const char *type;
    enum ask_kind kind;
    bool channel;
} types[] = {
    {"subscribe", ASK_SUBSCRIBE, true},
    {"unsubscribe", ASK_UNSUBSCRIBE, true},
    {"ping", ASK_PING, false},
};

static bool ask_set_error(const char **code, const char *what)
{
    *code = what;
    return false;
}

static bool ask_read_channel(const struct json *doc, struct arena *a, struct ask *out,
                             const char **code, struct err *e)
{
    const struct json_node *v = json_find(doc, json_root(doc), STR("channel"));
    str text;

    if (!json_text(doc, v, a, &text) || !text.n) {
        err_input(e, "\"channel\" must be the name of a channel");
        return ask_set_error(code, "invalid_message");
    }
    if (text.n > sizeof out->channel) {
        err_input(e, "no channel has a name of %zu bytes", text.n);
        return ask_set_error(code, "unknown_channel");
    }
    memcpy(out->channel, text.p, text.n);
    out->channel_size = text.n;
    return true;
}

static bool ask_read_message(const struct json *doc, struct arena *a, struct ask *out,
                             const char **code, struct err *e)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *type = json_find(doc, root, STR("type"));

    if (root->kind != JSON_OBJECT || !type || type->kind != JSON_STRING) {
        err_input(e, "a message is an object with a \"type\": subscribe, unsubscribe, ping");
        return ask_set_error(code, "invalid_message");
    }
    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (json_is(doc, type, str_c(types[i].type))) {
            out->kind = types[i].kind;
            return !types[i].channel || ask_read_channel(doc, a, out, code, e);
        }
    err_input(e,
              "the type " STR_FMT " is not known: subscribe, unsubscribe, ping",
              STR_ARG(utf8_cut_size(json_raw(doc, type), 60)));
    return ask_set_error(code, "unknown_type");
}

bool ask_parse(str text, struct ask *out, const char **code, struct err *e)
{
    struct ask ask = {0};
    struct arena a;
    struct json doc;
    bool ok;

    json_init(&doc);
    arena_init(&a, 4 * ASK_MESSAGE_MAX);
    if (text.n > ASK_MESSAGE_MAX) {
        err_set(e, ERR_LIMIT, "a message may have %zu bytes", ASK_MESSAGE_MAX);
        ok = ask_set_error(code, "message_too_large");
    } else if (!json_parse(&doc, text, e)) {
        ok = ask_set_error(code, "invalid_json");
    } else {
        ok = ask_read_message(&doc, &a, &ask, code, e);
    }
    if (ok)
        *out = ask;
    arena_release(&a);
    json_release(&doc);
    return ok;
}

str ask_channel(const struct ask *a)
{
    assert(a->channel_size <= sizeof a->channel);
    return (str){a->channel, a->channel_size};
}

bool ask_unescape(str in, struct ask_value *out)
{
    size_t n = 0;

    for (size_t i = 0; i < in.n; i++) {
        char c = in.p[i];

        if (n == sizeof out->text)
            return false;
        if (c == '%') {
            if (i + 2 >= in.n || char_hex_value(in.p[i + 1]) < 0 || char_hex_value(in.p[i + 2]) < 0)
                return false;
            c = (char)(char_hex_value(in.p[i + 1]) << 4 | char_hex_value(in.p[i + 2]));
            i += 2;
        } else if (c == '+') {
            c = ' ';
        }
        out->text[n++] = c;
    }
    out->size = n;
    return utf8_valid((str){out->text, n});
}

bool ask_query_next(str *query, str *name, str *value)
{
    while (query->n) {
        *value = str_cut(query, '&');
        if (!value->n)
            continue;
        *name = str_cut(value, '=');
        return true;
    }
    return false;
}
