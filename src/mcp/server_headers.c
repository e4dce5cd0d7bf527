/* server_headers.c - headers of a modern request must have the same values as its body.
 *
 * A proxy may route or refuse requests by their headers alone, so a body with other values would
 * bypass it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/serving.h"
#include "net/http1.h"

#define SAFE_INTEGER_MAX 9007199254740991.0

static bool header_is(const struct http1_head *head, str name, str want)
{
    struct buf b;
    bool same;

    assert(name.n > 0);
    if (!http1_has(head, name))
        return false;
    buf_init(&b, MCP_MESSAGE_MAX);
    same = mcp_header_read(http1_find(head, name), &b) && str_eq(buf_str(&b), want);
    buf_release(&b);
    return same;
}

/* Compares integers as numbers: 42.0 equals 42. If a double cannot hold them, the texts must be
 * equal. */
static bool mcp_headers_same_number(str header, str want)
{
    char *end, text[64];
    double x;

    if (header.n == 0 || header.n >= sizeof text || want.n >= sizeof text)
        return false;
    for (size_t i = 0; i < header.n; i++)
        if (!memchr("0123456789+-.eE", header.p[i], 15))
            return false;
    memcpy(text, header.p, header.n);
    text[header.n] = 0;
    x = strtod(text, &end);
    if (*end != 0 || x > SAFE_INTEGER_MAX || x < -SAFE_INTEGER_MAX)
        return false;
    memcpy(text, want.p, want.n);
    text[want.n] = 0;
    return x == strtod(text, NULL);
}

static const char *mcp_headers_check_params(const struct mcp_server *s,
                                            const struct http1_head *head, const struct json *doc,
                                            const struct mcp_message *m, struct arena *a)
{
    const struct mcp_ready_tool *t = mcp_tool_find(s, mcp_member(doc, m->params, STR("name"), a));

    for (size_t i = 0; t && i < t->mirrors.n; i++) {
        const struct mcp_mirror *mirror = &t->mirrors.at[i];
        const struct json_node *args = json_find(doc, m->params, STR("arguments"));
        const struct json_node *v = mcp_mirror_find(mirror, doc, args);
        str name = arena_join(a, STR("mcp-param-"), mirror->header, STR("")), want;

        if (!mcp_mirror_value(mirror, doc, args, a, &want)) {
            if (http1_has(head, name))
                return "a Mcp-Param header has no matching argument";
        } else if (!header_is(head, name, want) &&
                   !(v->kind == JSON_NUMBER &&
                     mcp_headers_same_number(http1_find(head, name), want))) {
            return "a Mcp-Param header is missing or is not as the argument";
        }
    }
    return NULL;
}

const char *mcp_check_headers(const struct mcp_server *s, const struct http1_head *head,
                              const struct json *doc, const struct mcp_message *m, struct arena *a)
{
    const struct json_node *meta = json_find(doc, m->params, STR("_meta"));
    bool call = str_eq(m->method, STR("tools/call")),
         named = call || str_eq(m->method, STR("prompts/get"));
    str uri = STR("uri");

    assert(m->kind == MCP_REQUEST);
    if (!header_is(
            head, STR("mcp-protocol-version"), mcp_member(doc, meta, STR(MCP_META_VERSION), a)))
        return "the MCP-Protocol-Version header is missing or is not as _meta has it";
    if (!http1_has(head, STR("mcp-method")) ||
        !str_eq(http1_find(head, STR("mcp-method")), m->method))
        return "the Mcp-Method header is missing or is not the method";
    if ((named || str_eq(m->method, STR("resources/read"))) &&
        !header_is(head, STR("mcp-name"), mcp_member(doc, m->params, named ? STR("name") : uri, a)))
        return "the Mcp-Name header is missing or is not the name";
    return call ? mcp_headers_check_params(s, head, doc, m, a) : NULL;
}
