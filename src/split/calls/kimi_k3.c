/* SPDX-License-Identifier: Apache-2.0
 *
 * Kimi K3 writes tags of special tokens around names, so text needs no escapes:
 *
 *     <|open|>call tool="f" index="1"<|sep|>
 *         <|open|>argument key="k" type="number"<|sep|>1<|close|>argument<|sep|>
 *     <|close|>call<|sep|>
 *
 * Instead of arguments a call may hold one <|open|>json type="object"<|sep|>{...}. Only values of
 * attributes are escaped (&amp; and &quot;). A <|sep|> that is missing before the next token is
 * understood.
 */
#include "split/calls/internal.h"

struct k3 {
    struct calls *c;
    struct calls_find token, argument_end, json_end;
    str name;      /* of the call that is open */
    str arguments; /* if they were written as one JSON object */
    bool open, bad, made;
};

static const str tag_open = {"<|open|>", 8}, tag_close = {"<|close|>", 9}, tag_sep = {"<|sep|>", 7};

/* The text after the open or close token, up to its <|sep|>. */
static str tag_header(struct k3 *k)
{
    struct calls *c = k->c;
    size_t from = c->at;

    c->at = calls_seek(c, &k->token, from);
    calls_eat(c, tag_sep);
    return str_trim(str_slice(c->raw, from, calls_seek(c, &k->token, from)));
}

/* The text of an element up to its closing tag, which is skipped. */
static bool element_text(struct k3 *k, struct calls_find *end, str *out)
{
    struct calls *c = k->c;
    size_t from = c->at, at = calls_seek(c, end, from);

    assert(from <= at && end->needle.n > 0);
    *out = str_slice(c->raw, from, at);
    if (at == c->raw.n) {
        c->at = at;
        return false;
    }
    c->at = at + end->needle.n;
    calls_eat(c, tag_sep);
    return true;
}

static void calls_drop_call(struct k3 *k)
{
    if (k->open)
        calls_doubt(k->c);
    k->open = false;
}

static void calls_kimi_k3_begin_call(struct k3 *k, str attrs)
{
    str name;

    calls_drop_call(k);
    k->open = true;
    k->made = false;
    k->arguments = STR("");
    k->bad = !calls_attr(attrs, STR("tool"), &name);
    k->name = k->bad ? STR("") : calls_unescape(k->c, name);
    calls_make(k->c);
}

static void calls_read_argument(struct k3 *k, str attrs)
{
    struct calls *c = k->c;
    str key, type = STR("string"), text;
    struct err e;

    assert(k->open);
    if (!element_text(k, &k->argument_end, &text) || !calls_attr(attrs, STR("key"), &key)) {
        k->bad = true;
        return;
    }
    if (k->bad)
        return;
    calls_attr(attrs, STR("type"), &type);
    json_out_key(&c->out, calls_unescape(c, key));
    if (str_eq(type, STR("string")))
        json_out_str(&c->out, text);
    else if (json_parse(&c->inner, text, &e))
        json_out_raw(&c->out, str_trim(text));
    else
        k->bad = true;
    k->made = true;
}

static void calls_kimi_k3_read_json(struct k3 *k)
{
    str text;

    assert(k->open);
    if (!element_text(k, &k->json_end, &text) || k->arguments.n > 0 ||
        !calls_json_parse(k->c, &k->c->doc, text) || json_root(&k->c->doc)->kind != JSON_OBJECT)
        k->bad = true;
    else
        k->arguments = json_raw(&k->c->doc, json_root(&k->c->doc));
}

static void calls_kimi_k3_end_call(struct k3 *k)
{
    if (!k->open || k->bad || (k->made && k->arguments.n > 0))
        calls_doubt(k->c);
    else if (k->arguments.n > 0)
        calls_give(k->c, k->name, k->arguments);
    else
        calls_finish_object(k->c, k->name);
    k->open = false;
}

static void calls_open_tag(struct k3 *k)
{
    str header = tag_header(k);

    if (calls_is_tag(header, STR("call")))
        calls_kimi_k3_begin_call(k, str_slice(header, 4, header.n));
    else if (calls_is_tag(header, STR("argument")) && k->open)
        calls_read_argument(k, str_slice(header, 8, header.n));
    else if (calls_is_tag(header, STR("json")) && k->open)
        calls_kimi_k3_read_json(k);
    else if (!calls_is_tag(header, STR("tools")))
        calls_doubt(k->c);
}

static void calls_close_tag(struct k3 *k)
{
    str header = tag_header(k);

    if (calls_is_tag(header, STR("call")))
        calls_kimi_k3_end_call(k);
    else if (calls_is_tag(header, STR("argument")) || calls_is_tag(header, STR("json")))
        calls_doubt(k->c);
    else
        calls_drop_call(k);
}

void calls_kimi_k3(struct calls *c)
{
    struct k3 k = {
        .c = c,
        .token.needle = STR("<|"),
        .argument_end.needle = STR("<|close|>argument"),
        .json_end.needle = STR("<|close|>json"),
    };

    while (calls_space(c), !calls_done(c)) {
        if (calls_eat(c, tag_open)) {
            calls_open_tag(&k);
        } else if (calls_eat(c, tag_close)) {
            calls_close_tag(&k);
        } else if (!calls_eat_mark(c)) {
            calls_doubt(c);
            k.bad = true;
            c->at = calls_seek(c, &k.token, c->at + 1);
        }
    }
    calls_drop_call(&k);
}
