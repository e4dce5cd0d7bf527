/* cassette_write.c - a cassette's lines, and bytes that are no text as base64.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/cassette_internal.h"

#include "base/base64.h"
#include "base/utf8.h"

#define BODY_MAX ((size_t)1 << 30)

void cassette_head(enum chat_dialect d, struct buf *out)
{
    buf_printf(out, "{\"cassette\":1,\"kind\":\"%s\"}\n", chat_dialect_name(d));
}

/* JSON on one line: white space between tokens goes, all else stays as it is written. */
static void cassette_add_compact(str json, struct buf *out)
{
    bool text = false;

    for (size_t i = 0; i < json.n; i++) {
        char c = json.p[i];

        if (!text && (c == ' ' || c == '\n' || c == '\r' || c == '\t'))
            continue;
        buf_add_c(out, c);
        if (text && c == '\\')
            buf_add_c(out, json.p[++i]);
        else if (c == '"')
            text = !text;
    }
}

static void cassette_add_body(str body, struct buf *out)
{
    struct json doc;
    struct buf quoted;

    json_init(&doc);
    buf_init(&quoted, BODY_MAX);
    cassette_body(body, &doc, &quoted);
    cassette_add_compact(json_raw(&doc, json_root(&doc)), out);
    buf_release(&quoted);
    json_release(&doc);
}

void cassette_line(const struct cassette_call *call, struct buf *out)
{
    buf_add(out, STR("{\"request\":{\"path\":"));
    json_quote(out, call->path);
    buf_add(out, STR(",\"body\":"));
    cassette_add_body(call->body, out);
    buf_printf(out, "},\"status\":%d,\"type\":", call->status);
    json_quote(out, call->type);
    buf_add(out, STR(",\"pieces\":["));
    for (size_t i = 0; i < call->piece_count; i++) {
        const struct cassette_piece *p = &call->pieces[i];

        buf_printf(out, "%s[%llu,", i ? "," : "", (unsigned long long)p->after_ms);
        if (utf8_valid(p->bytes)) {
            json_quote(out, p->bytes);
        } else {
            buf_add(out, STR("{\"b64\":\""));
            base64_add(out, p->bytes);
            buf_add(out, STR("\"}"));
        }
        buf_add_c(out, ']');
    }
    buf_add(out, STR("]}\n"));
}
