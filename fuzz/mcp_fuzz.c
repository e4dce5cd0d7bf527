/* Input from an MCP peer: a message, the result of a tool, a schema with headers, a challenge.
 * Accepted input survives writing and reading; refused input has an error.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base64.h"
#include "base/utf8.h"
#include "mcp/auth_parts.h"
#include "mcp/content.h"
#include "mcp/header.h"
#include "mcp/name.h"
#include "mcp/rpc.h"

#define ARENA_MAX ((size_t)64 << 20)
#define SHOWN_MAX 100

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_message(str text, struct arena *a)
{
    struct mcp_message m, again;
    struct mcp_fault fault;
    struct json doc, doc2;
    struct buf b;

    json_init(&doc);
    json_init(&doc2);
    buf_init(&b, MCP_MESSAGE_MAX * 2);
    if (!mcp_read(&doc, text, a, &m, &fault)) {
        assert(fault.why.text[0]);
        mcp_emit_fault(&b, &fault);
        assert(mcp_read(&doc2, buf_str(&b), a, &again, &fault) && again.kind == MCP_ERROR);
    } else {
        str params = m.params ? json_raw(&doc, m.params) : STR("");

        if (m.kind == MCP_REQUEST)
            mcp_emit_request(&b, m.id, m.method, params);
        else if (m.kind == MCP_NOTIFICATION)
            mcp_emit_notification(&b, m.method, params);
        else if (m.kind == MCP_RESULT)
            mcp_emit_result(&b, m.id, json_raw(&doc, m.result));
        else
            mcp_emit_error(&b, m.id, m.code, m.text, m.data ? json_raw(&doc, m.data) : STR(""));
        assert(!memchr(b.p, '\n', b.n) && !memchr(b.p, '\r', b.n));
        assert(mcp_read(&doc2, buf_str(&b), a, &again, &fault));
        assert(again.kind == m.kind && str_eq(again.id, m.id) && str_eq(again.method, m.method) &&
               again.code == m.code && str_eq(again.text, m.text));
    }
    buf_release(&b);
    json_release(&doc2);
    json_release(&doc);
}

static void check_result(str text, struct arena *a)
{
    struct mcp_result r;
    struct buf b;
    struct err e;

    if (!mcp_result_read(text, a, &r, &e)) {
        assert(e.text[0]);
        return;
    }
    buf_init(&b, SHOWN_MAX + 200);
    mcp_result_text(&r, SHOWN_MAX, &b);
    assert(!buf_full(&b) && utf8_valid(buf_str(&b)));
    buf_release(&b);
}

static void check_schema(str text, struct arena *a)
{
    struct mcp_mirrors m;
    struct json doc;
    struct buf b, back;
    struct err e;

    json_init(&doc);
    buf_init(&b, 4 * text.n + 100);
    buf_init(&back, 4 * text.n + 100);
    if (json_parse(&doc, text, &e) && mcp_mirrors_read(&doc, json_root(&doc), a, &m, &e))
        for (size_t i = 0; i < m.n; i++) {
            str value;

            if (!mcp_mirror_value(&m.at[i], &doc, json_root(&doc), a, &value))
                continue;
            buf_reset(&b);
            buf_reset(&back);
            mcp_header_value(&b, value);
            assert(mcp_header_read(buf_str(&b), &back) && str_eq(buf_str(&back), value));
        }
    buf_release(&back);
    buf_release(&b);
    json_release(&doc);
}

static void check_texts(str text, struct arena *a)
{
    struct buf b, back;
    struct mcp_names n;
    struct err e;
    str name, server, tool, value;

    buf_init(&b, 8 * text.n + 100);
    buf_init(&back, 8 * text.n + 100);
    (void)mcp_challenge_param(text, STR("scope"), a);
    (void)mcp_query_param(text, STR("code"), a, &value);
    (void)mcp_url_is_safe(text);
    (void)mcp_url_path(text);
    buf_add(&b, STR("x?"));
    mcp_form_add(&b, STR("k"), text);
    if (text.n)
        assert(mcp_query_param(buf_str(&b), STR("k"), a, &value) && str_eq(value, text));
    buf_reset(&b);
    mcp_header_value(&b, text);
    assert(mcp_header_read(buf_str(&b), &back) && str_eq(buf_str(&back), text));
    buf_reset(&back);
    if (base64_decode(text, &back)) {
        buf_reset(&b);
        base64_add(&b, buf_str(&back));
        assert(str_eq(buf_str(&b), text));
    }
    mcp_names_init(&n, a);
    server = str_slice(text, 0, text.n / 2);
    tool = str_slice(text, text.n / 2, text.n);
    assert(mcp_names_add(&n, server, tool, &name, &e) && name.n >= 1 && name.n <= MCP_NAME_MAX);
    assert(mcp_names_find(&n, name, &server, &tool) && server.n + tool.n == text.n);
    mcp_names_release(&n);
    buf_release(&back);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str text = {(const char *)data, size};
    struct arena a;

    arena_init(&a, ARENA_MAX);
    check_message(text, &a);
    check_result(text, &a);
    check_schema(text, &a);
    check_texts(text, &a);
    arena_release(&a);
    return 0;
}
