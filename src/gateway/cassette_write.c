/* cassette_write.c - a cassette's lines, and bytes that are no text as base64.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/cassette_internal.h"

#include "base/utf8.h"

#define BODY_MAX ((size_t)1 << 30)

static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

void cassette_b64_encode(str bytes, struct buf *out)
{
    for (size_t at = 0; at < bytes.n; at += 3) {
        size_t n = bytes.n - at < 3 ? bytes.n - at : 3;
        uint32_t v = 0;
        char four[4] = {'=', '=', '=', '='};

        for (size_t i = 0; i < 3; i++)
            v = v << 8 | (i < n ? (unsigned char)bytes.p[at + i] : 0);
        for (size_t i = 0; i <= n; i++)
            four[i] = alphabet[v >> (18 - 6 * i) & 63];
        buf_add(out, (str){four, 4});
    }
}

/* Whole groups of four, padded; bits that are left over must be zero. */
bool cassette_b64_decode(str text, struct arena *a, str *out)
{
    char *bytes = arena_alloc(a, text.n / 4 * 3 + 1);
    size_t n = 0;

    if (text.n % 4)
        return false;
    for (size_t at = 0; at < text.n; at += 4) {
        size_t pad = at + 4 < text.n         ? 0
                     : text.p[at + 3] != '=' ? 0
                     : text.p[at + 2] != '=' ? 1
                                             : 2;
        uint32_t v = 0;

        for (size_t i = 0; i < 4; i++) {
            const char *found = memchr(alphabet, text.p[at + i], sizeof alphabet - 1);

            if (!found && i < 4 - pad)
                return false;
            v = v << 6 | (i < 4 - pad ? (uint32_t)(found - alphabet) : 0);
        }
        if (pad && v & (pad == 1 ? 0xff : 0xffff))
            return false;
        for (size_t i = 0; i < 3 - pad; i++)
            bytes[n++] = (char)(v >> (16 - 8 * i) & 0xff);
    }
    assert(n <= text.n / 4 * 3);
    bytes[n] = '\0';
    *out = (str){bytes, n};
    return true;
}

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
            cassette_b64_encode(p->bytes, out);
            buf_add(out, STR("\"}"));
        }
        buf_add_c(out, ']');
    }
    buf_add(out, STR("]}\n"));
}
