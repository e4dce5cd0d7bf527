/* client_serve.c - answers requests of a server: roots, sampling, elicitation, ping.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/log.h"
#include "mcp/client_state.h"

void mcp_put_client_capabilities(const struct mcp_client *c, struct buf *b)
{
    const struct {
        bool has;
        const char *json;
    } parts[] = {{c->o.roots != NULL, "\"roots\":{}"},
                 {c->o.sample != NULL, "\"sampling\":{}"},
                 {c->o.elicit != NULL, "\"elicitation\":{}"}};
    bool some = false;

    buf_add_c(b, '{');
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if (parts[i].has) {
            buf_printf(b, "%s%s", some ? "," : "", parts[i].json);
            some = true;
        }
    buf_add_c(b, '}');
}

static void mcp_put_roots(const struct mcp_client *c, struct buf *result)
{
    struct json_out o;

    assert(c->o.roots);
    json_out_init_object(&o, result);
    json_member_array(&o, "roots");
    for (size_t i = 0; c->o.roots[i]; i++) {
        json_out_object(&o);
        json_member_str(&o, "uri", str_c(c->o.roots[i]));
        json_out_end(&o);
    }
    json_out_end(&o);
    json_out_end(&o);
}

bool mcp_fulfil(struct mcp_client *c, str method, str params, struct buf *result, struct err *e)
{
    if (str_eq(method, STR("ping"))) {
        buf_add(result, STR("{}"));
        return true;
    }
    if (str_eq(method, STR("roots/list")) && c->o.roots) {
        mcp_put_roots(c, result);
        return true;
    }
    if (str_eq(method, STR("sampling/createMessage")) && c->o.sample)
        return c->o.sample(c->o.ctx, params, result, e);
    if (str_eq(method, STR("elicitation/create")) && c->o.elicit)
        return c->o.elicit(c->o.ctx, params, result, e);
    return err_set(e, ERR_NOT_FOUND, "this client does not do that");
}

void mcp_answer_server(struct mcp_client *c, const struct json *doc, const struct mcp_message *m,
                       struct buf *out)
{
    struct buf result;
    struct err e;

    assert(m->kind == MCP_REQUEST && m->id.n > 0);
    buf_init(&result, MCP_MESSAGE_MAX);
    if (mcp_fulfil(c, m->method, m->params ? json_raw(doc, m->params) : STR("{}"), &result, &e) &&
        buf_ok(&result, "the answer", &e))
        mcp_emit_result(out, m->id, buf_str(&result));
    else
        mcp_emit_error(out,
                       m->id,
                       e.code == ERR_NOT_FOUND ? MCP_METHOD_NOT_FOUND : MCP_INTERNAL_ERROR,
                       str_c(e.text),
                       STR(""));
    buf_release(&result);
}

static bool mcp_is_list_change(str method)
{
    return str_eq(method, STR("notifications/tools/list_changed"));
}

void mcp_on_other(void *ctx, str line)
{
    struct mcp_client *c = ctx;
    struct mcp_message m;
    struct mcp_fault fault;
    struct arena a;
    struct json doc;
    struct buf out;
    struct err e;

    arena_init(&a, 4 * MCP_MESSAGE_MAX);
    json_init(&doc);
    buf_init(&out, 2 * MCP_MESSAGE_MAX);
    if (mcp_read(&doc, line, &a, &m, &fault)) {
        if (m.kind == MCP_NOTIFICATION && mcp_is_list_change(m.method))
            atomic_store(&c->stale, true);
        if (m.kind == MCP_REQUEST) {
            mcp_answer_server(c, &doc, &m, &out);
            if (!mcp_notify(
                    c, buf_str(&out), STR(""), clock_deadline_ns(&clock_real, 5000), NULL, &e))
                log_debug("mcp server did not take an answer", LOG_ERR(&e));
        }
    }
    buf_release(&out);
    json_release(&doc);
    arena_release(&a);
}

static void mcp_client_serve_progress(const struct mcp_call *call, const struct json *doc,
                                      const struct json_node *params, struct arena *a)
{
    double progress = 0, total = 0;

    if (!call || !call->on_progress ||
        !json_double(doc, json_find(doc, params, STR("progress")), &progress))
        return;
    if (!json_double(doc, json_find(doc, params, STR("total")), &total))
        total = 0;
    call->on_progress(call->ctx, progress, total, mcp_member(doc, params, STR("message"), a));
}

/* Keeps the reply for the caller, if its arena has room for the copy and for what the caller
 * decodes from it. */
static void mcp_client_serve_keep(struct mcp_exchange *x, const struct json *doc,
                                  const struct mcp_message *m)
{
    str data = m->data ? json_raw(doc, m->data) : STR(""),
        result = m->result ? json_raw(doc, m->result) : STR("");
    size_t size = m->text.n + data.n + result.n;

    assert(m->kind == MCP_RESULT || m->kind == MCP_ERROR);
    x->is_error = m->kind == MCP_ERROR;
    x->code = m->code;
    x->too_large = arena_left(x->arena) < 4 * size + MCP_ARENA_ROOM;
    if (x->too_large) {
        x->is_error = true;
        x->code = 0;
        x->text = STR("the MCP server's reply is too large for the memory of this call");
        return;
    }
    x->text = arena_dup(x->arena, m->text);
    x->data = arena_dup(x->arena, data);
    x->result = arena_dup(x->arena, result);
}

bool mcp_handle(struct mcp_client *c, struct mcp_exchange *x, str json, uint64_t *deadline_ns)
{
    struct mcp_message m;
    struct mcp_fault fault;
    struct arena a; /* of this message: a call may get any number of them */
    struct json doc;
    struct buf out;
    struct err e;
    bool done = false;

    assert(x->id.n > 0);
    arena_init(&a, 4 * MCP_MESSAGE_MAX);
    json_init(&doc);
    if (!mcp_read(&doc, json, &a, &m, &fault)) {
        log_debug("mcp server sent an invalid message", LOG_TEXT("why", fault.why.text));
        done = (!c->o.url.n && mcp_is_broken_reply(json, &fault)) || /* HTTP asks again */
               (str_eq(fault.id, x->id) && !json_find(&doc, json_root(&doc), STR("method")));
        if (done) {
            x->is_error = true;
            x->code = 0;
            x->text =
                arena_printf(x->arena, "the MCP server's reply is invalid: %s", fault.why.text);
        }
    } else if (m.kind == MCP_NOTIFICATION) {
        if (mcp_is_list_change(m.method))
            atomic_store(&c->stale, true);
        if (str_eq(m.method, STR("notifications/progress"))) {
            mcp_client_serve_progress(x->call, &doc, m.params, &a);
            *deadline_ns = mcp_deadline(x->idle_ms, x->end_ns);
        }
    } else if (m.kind == MCP_REQUEST) {
        buf_init(&out, 2 * MCP_MESSAGE_MAX);
        mcp_answer_server(c, &doc, &m, &out);
        *deadline_ns = mcp_deadline(x->idle_ms, x->end_ns);
        if (!mcp_notify(c, buf_str(&out), STR(""), *deadline_ns, x->cancel, &e))
            log_debug("mcp server did not take an answer", LOG_ERR(&e));
        buf_release(&out);
    } else if (str_eq(m.id, x->id) || (m.kind == MCP_ERROR && m.id.n == 0)) {
        done = true;
        mcp_client_serve_keep(x, &doc, &m);
    }
    json_release(&doc);
    arena_release(&a);
    return done;
}

static void mcp_put_defaults(const struct json *doc, const struct json_node *properties,
                             struct buf *result)
{
    bool some = false;

    assert(json_is_object(properties));
    JSON_FOREACH(k, doc, properties) {
        const struct json_node *value = json_find(doc, json_value(k), STR("default"));

        if (!value)
            continue;
        if (some)
            buf_add_c(result, ',');
        buf_add(result, json_raw(doc, k));
        buf_add_c(result, ':');
        buf_add(result, json_raw(doc, value));
        some = true;
    }
}

bool mcp_elicit_defaults(str params, struct buf *result, struct err *e)
{
    const struct json_node *schema, *properties;
    struct json doc;
    bool ok;

    ok = json_open(&doc, params, e);
    if (ok) {
        schema = json_find(&doc, json_root(&doc), STR("requestedSchema"));
        properties = json_find(&doc, schema, STR("properties"));
        buf_add(result, STR("{\"action\":\"accept\",\"content\":{"));
        if (json_is_object(properties))
            mcp_put_defaults(&doc, properties, result);
        buf_add(result, STR("}}"));
    }
    json_release(&doc);
    return ok;
}
