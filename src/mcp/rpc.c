/* rpc.c - parses messages strictly, and writes each on one line.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/rpc.h"

static bool mcp_rpc_fail(struct mcp_fault *f, enum mcp_code code, const char *why)
{
    f->code = code;
    return err_input(&f->why, "%s", why);
}

/* A string or an integer in canonical form; other values are not ids. */
static bool mcp_rpc_read_id(const struct json *doc, const struct json_node *v, struct arena *a,
                            str *out)
{
    struct buf b;
    str text;
    int64_t n;

    if (v->size > MCP_ID_MAX)
        return false;
    if (v->kind == JSON_NUMBER && !v->escaped && json_i64(doc, v, &n)) {
        *out = arena_printf(a, "%lld", (long long)n);
        return true;
    }
    if (!json_text(doc, v, a, &text))
        return false;
    buf_init(&b, MCP_ID_MAX * 6 + 2);
    (void)json_quote(&b, text);
    *out = arena_dup(a, buf_str(&b));
    assert(out->n >= 2);
    buf_release(&b);
    return true;
}

static bool mcp_rpc_read_reply(const struct json *doc, const struct json_node *root,
                               struct arena *a, struct mcp_message *m, struct mcp_fault *f)
{
    const struct json_node *result = json_find(doc, root, STR("result")),
                           *error = json_find(doc, root, STR("error"));

    if (!result == !error)
        return mcp_rpc_fail(f,
                            MCP_INVALID_REQUEST,
                            result ? "a reply has both a result and an error"
                                   : "a message has neither a method nor a result nor an error");
    if (result) {
        if (result->kind != JSON_OBJECT || m->id.n == 0)
            return mcp_rpc_fail(
                f, MCP_INVALID_REQUEST, "a result must be an object and have an id");
        m->kind = MCP_RESULT;
        m->result = result;
        return true;
    }
    m->kind = MCP_ERROR;
    if (!json_i64(doc, json_find(doc, error, STR("code")), &m->code) ||
        !json_text(doc, json_find(doc, error, STR("message")), a, &m->text))
        return mcp_rpc_fail(
            f, MCP_INVALID_REQUEST, "an error must have an integer code and a message");
    m->data = json_find(doc, error, STR("data"));
    return true;
}

static bool mcp_rpc_read_call(const struct json *doc, const struct json_node *root,
                              const struct json_node *method, struct arena *a,
                              struct mcp_message *m, struct mcp_fault *f)
{
    if (method->size > MCP_METHOD_MAX || !json_text(doc, method, a, &m->method) || !m->method.n)
        return mcp_rpc_fail(f, MCP_INVALID_REQUEST, "the method must be a short text");
    if (json_find(doc, root, STR("result")) || json_find(doc, root, STR("error")))
        return mcp_rpc_fail(f, MCP_INVALID_REQUEST, "a message is either a call or a reply");
    m->kind = m->id.n ? MCP_REQUEST : MCP_NOTIFICATION;
    m->params = json_find(doc, root, STR("params"));
    if (m->params && m->params->kind != JSON_OBJECT)
        return mcp_rpc_fail(f, MCP_INVALID_PARAMS, "params must be an object");
    return true;
}

bool mcp_read(struct json *doc, str text, struct arena *a, struct mcp_message *out,
              struct mcp_fault *fault)
{
    const struct json_node *root, *id, *method;
    struct mcp_message m = {.id = STR(""), .method = STR(""), .text = STR("")};

    fault->id = STR("");
    if (text.n > MCP_MESSAGE_MAX)
        return mcp_rpc_fail(fault, MCP_INVALID_REQUEST, "the message is too large");
    if (!json_parse(doc, text, &fault->why)) {
        fault->code = MCP_PARSE_ERROR;
        return false;
    }
    root = json_root(doc);
    if (root->kind != JSON_OBJECT)
        return mcp_rpc_fail(fault, MCP_INVALID_REQUEST, "a message must be one object; no batches");
    id = json_find(doc, root, STR("id"));
    method = json_find(doc, root, STR("method"));
    if (id && !(id->kind == JSON_NULL && !method) && !mcp_rpc_read_id(doc, id, a, &m.id))
        return mcp_rpc_fail(fault, MCP_INVALID_REQUEST, "an id must be a short text or an integer");
    fault->id = m.id;
    if (!json_is(doc, json_find(doc, root, STR("jsonrpc")), STR("2.0")))
        return mcp_rpc_fail(fault, MCP_INVALID_REQUEST, "\"jsonrpc\" must be \"2.0\"");
    if (method ? !mcp_rpc_read_call(doc, root, method, a, &m, fault)
               : !mcp_rpc_read_reply(doc, root, a, &m, fault))
        return false;
    assert(m.id.n > 0 || m.kind == MCP_NOTIFICATION || m.kind == MCP_ERROR);
    *out = m;
    return true;
}

bool mcp_is_broken_reply(str text, const struct mcp_fault *fault)
{
    return fault->code == MCP_PARSE_ERROR && str_starts(str_trim(text), STR("{\"jsonrpc\"")) &&
           str_find(text, STR("\"method\"")) == STR_NONE;
}

/* JSON strings contain no line breaks, so each one is between tokens. */
static void mcp_one_line(struct buf *out, size_t from)
{
    for (size_t i = from; i < out->n; i++)
        if (out->p[i] == '\n' || out->p[i] == '\r')
            out->p[i] = ' ';
}

static size_t mcp_rpc_begin(struct buf *out)
{
    size_t from = out->n;

    buf_add(out, STR("{\"jsonrpc\":\"2.0\""));
    return from;
}

static void mcp_rpc_member(struct buf *out, str name, str json)
{
    buf_add(out, STR(",\""));
    buf_add(out, name);
    buf_add(out, STR("\":"));
    buf_add(out, json);
}

static void mcp_rpc_end(struct buf *out, size_t from)
{
    buf_add_c(out, '}');
    mcp_one_line(out, from);
}

static void mcp_rpc_put_call(struct buf *out, str method, str params)
{
    buf_add(out, STR(",\"method\":"));
    (void)json_quote(out, method);
    if (params.n)
        mcp_rpc_member(out, STR("params"), params);
}

void mcp_emit_request(struct buf *out, str id, str method, str params)
{
    size_t from = mcp_rpc_begin(out);

    assert(id.n > 0);
    mcp_rpc_member(out, STR("id"), id);
    mcp_rpc_put_call(out, method, params);
    mcp_rpc_end(out, from);
}

void mcp_emit_notification(struct buf *out, str method, str params)
{
    size_t from = mcp_rpc_begin(out);

    mcp_rpc_put_call(out, method, params);
    mcp_rpc_end(out, from);
}

void mcp_emit_result(struct buf *out, str id, str result)
{
    size_t from = mcp_rpc_begin(out);

    assert(id.n > 0);
    mcp_rpc_member(out, STR("id"), id);
    mcp_rpc_member(out, STR("result"), result);
    mcp_rpc_end(out, from);
}

void mcp_emit_error(struct buf *out, str id, int64_t code, str text, str data)
{
    size_t from = mcp_rpc_begin(out);

    mcp_rpc_member(out, STR("id"), id.n ? id : STR("null"));
    buf_printf(out, ",\"error\":{\"code\":%lld,\"message\":", (long long)code);
    (void)json_quote(out, text);
    if (data.n)
        mcp_rpc_member(out, STR("data"), data);
    buf_add_c(out, '}');
    mcp_rpc_end(out, from);
}

void mcp_emit_fault(struct buf *out, const struct mcp_fault *fault)
{
    assert(fault->why.code != ERR_NONE);
    mcp_emit_error(out, fault->id, fault->code, str_c(fault->why.text), STR(""));
}

str mcp_member(const struct json *doc, const struct json_node *v, str key, struct arena *a)
{
    str text;

    return json_text(doc, json_find(doc, v, key), a, &text) ? text : STR("");
}

const char *mcp_legacy_version(str version)
{
    static const char *const known[] = {"2024-11-05", "2025-03-26", "2025-06-18", MCP_LEGACY};

    for (size_t i = 0; i < COUNT_OF(known); i++)
        if (str_eq(version, str_c(known[i])))
            return known[i];
    return NULL;
}
