/* piece_out.c - what the writers of requests share.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/piece.h"

void piece_put(struct json_out *o, const char *key, str text)
{
    if (text.n == 0)
        return;
    json_out_key(o, str_c(key));
    json_out_str(o, text);
}

void piece_put_raw(struct json_out *o, const char *key, str json)
{
    if (json.n == 0)
        return;
    json_out_key(o, str_c(key));
    json_out_raw(o, json);
}

void piece_value(struct json_out *o, str json, bool sse)
{
    if (!sse || !memchr(json.p, '\n', json.n)) {
        json_out_raw(o, json);
        return;
    }
    json_out_raw(o, STR("")); /* the comma, if there must be one */
    sse_data(o->buf, json);
}

void piece_object(struct json_out *o, str json, bool sse)
{
    struct json doc;
    struct err e;

    json_init(&doc);
    if (str_trim(json).n == 0) {
        json_out_raw(o, STR("{}"));
    } else if (json_parse(&doc, json, &e) && json_root(&doc)->kind == JSON_OBJECT) {
        piece_value(o, json_raw(&doc, json_root(&doc)), sse);
    } else {
        json_out_object(o);
        piece_put(o, "arguments", json);
        json_out_end(o);
    }
    json_release(&doc);
}

void piece_schema(struct json_out *o, str schema)
{
    struct json doc;
    struct err e;
    struct buf b;

    json_init(&doc);
    if (schema.n == 0 || !json_parse(&doc, schema, &e) || json_root(&doc)->kind != JSON_OBJECT) {
        json_out_raw(o, STR("{\"type\":\"object\"}"));
    } else if (json_find(&doc, json_root(&doc), STR("type"))) {
        json_out_raw(o, schema);
    } else {
        buf_init(&b, schema.n + 64);
        json_splice_set(&doc, json_root(&doc), STR("type"), STR("\"object\""), &b);
        json_out_raw(o, buf_str(&b));
        buf_release(&b);
    }
    json_release(&doc);
}

bool piece_data_url(str url, str *mime, str *data)
{
    size_t comma = str_find(url, STR(","));
    str head;

    if (!str_starts(url, STR("data:")) || comma == STR_NONE)
        return false;
    head = str_slice(url, 5, comma);
    if (!str_ends(head, STR(";base64")))
        return false;
    head = str_slice(head, 0, str_find(head, STR(";")));
    *mime = head;
    *data = str_slice(url, comma + 1, url.n);
    return true;
}

static int sextet(char c)
{
    if (c >= 'A' && c <= 'Z')
        return c - 'A';
    if (c >= 'a' && c <= 'z')
        return c - 'a' + 26;
    if (c >= '0' && c <= '9')
        return c - '0' + 52;
    if (c == '+' || c == '-')
        return 62;
    return c == '/' || c == '_' ? 63 : -1;
}

bool piece_base64(str data, struct buf *out)
{
    uint32_t bits = 0;
    unsigned have = 0;

    for (size_t i = 0; i < data.n; i++) {
        int v = sextet(data.p[i]);

        if (data.p[i] == '=' || data.p[i] == '\n' || data.p[i] == '\r')
            continue;
        if (v < 0)
            return false;
        bits = (bits << 6 | (uint32_t)v) & 0xFFFFFFu;
        have += 6;
        if (have >= 8) {
            have -= 8;
            buf_add_c(out, (char)(uint8_t)(bits >> have));
        }
    }
    return true;
}

double piece_number(str json)
{
    struct json doc;
    struct err e;
    double x = 0;

    json_init(&doc);
    if (!json_parse(&doc, json, &e) || !json_double(&doc, json_root(&doc), &x))
        x = 0;
    json_release(&doc);
    return x;
}
