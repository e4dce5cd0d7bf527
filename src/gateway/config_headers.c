/* config_headers.c - headers that the configuration gives to requests of ours.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

static bool config_header_token(str s)
{
    static const char marks[] = "!#$%&'*+-.^_`|~";
    bool ok = s.n > 0;

    for (size_t i = 0; ok && i < s.n; i++)
        ok = (s.p[i] >= '0' && s.p[i] <= '9') || ((s.p[i] | 32) >= 'a' && (s.p[i] | 32) <= 'z') ||
             memchr(marks, s.p[i], sizeof marks - 1);
    return ok;
}

static bool config_header_value(str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < ' ' && s.p[i] != '\t') || s.p[i] == 0x7f)
            return false;
    return true;
}

/* Whether a header says where a request ends or how its connection is used. The client writes these
 * itself; a second one would make the server split the bytes of the connection at another place. */
static bool config_header_framing(str name)
{
    return str_is_one_of_nocase(
        name,
        "connection content-length expect host keep-alive proxy-connection te "
        "trailer transfer-encoding upgrade");
}

bool config_header_lines(struct config_build *b, const struct json_node *v, struct buf *out)
{
    const struct json *doc = &b->source->doc;

    for (const struct json_node *k = json_first(doc, v); k; k = json_next(doc, v, k)) {
        str name, value;

        if (!json_text(doc, k, &b->c->arena, &name) ||
            !json_text(doc, json_value(k), &b->c->arena, &value))
            continue;
        if (!config_header_token(name) || !config_header_value(value))
            return config_wrong(
                b, k, "not a valid header: write a name without spaces, and a value in one line");
        if (config_header_framing(name))
            return config_wrong(
                b, k, "the client writes this header itself, from the url and the body: remove it");
        buf_add(out, name);
        buf_add(out, STR(": "));
        buf_add(out, value);
        buf_add(out, STR("\r\n"));
    }
    return !buf_full(out) || config_wrong(b, v, "these headers are too long");
}

bool config_headers_read(struct config_build *b, const struct json_node *v, struct secret *out)
{
    struct buf lines;
    struct err e;
    bool ok;

    buf_init(&lines, SECRET_SIZE_MAX);
    ok = config_header_lines(b, v, &lines);
    if (ok && lines.n > 0 && !secret_init(out, buf_str(&lines), &e))
        ok = config_wrong(b, v, "%s", e.text);
    if (lines.n > 0)
        secret_wipe(lines.p, lines.n);
    buf_release(&lines);
    return ok;
}
