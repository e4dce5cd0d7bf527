/* server_list.c - the lists of a server, and notifications of their changes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/serving.h"

#define LIST_TTL "300000" /* ms, for lists that do not change at run time */

static const struct {
    unsigned bit;
    const char *filter, *method;
} changes[] = {
    {MCP_TOOLS_CHANGED, "toolsListChanged", "notifications/tools/list_changed"},
    {MCP_PROMPTS_CHANGED, "promptsListChanged", "notifications/prompts/list_changed"},
    {MCP_RESOURCES_CHANGED, "resourcesListChanged", "notifications/resources/list_changed"},
};

static void mcp_server_list_put(struct json_out *o, const char *key, const char *text)
{
    if (!text)
        return;
    json_member_str(o, key, str_c(text));
}

static void mcp_server_list_put_json(struct json_out *o, const char *key, const char *json)
{
    if (!json)
        return;
    json_member_raw(o, key, str_c(json));
}

static void mcp_server_list_put_part(struct json_out *o, const char *name, bool changing,
                                     bool subscribe)
{
    json_member_object(o, name);
    if (subscribe)
        mcp_server_list_put_json(o, "subscribe", "true");
    if (changing)
        mcp_server_list_put_json(o, "listChanged", "true");
    json_out_end(o);
}

void mcp_put_capabilities(const struct mcp_server *s, struct json_out *o)
{
    json_out_object(o);
    mcp_server_list_put_part(o, "tools", s->changes, false);
    if (s->prompts)
        mcp_server_list_put_part(o, "prompts", s->changes, false);
    if (s->resources)
        mcp_server_list_put_part(o, "resources", s->changes, s->changes);
    if (s->logs)
        mcp_server_list_put_json(o, "logging", "{}");
    if (s->completes)
        mcp_server_list_put_json(o, "completions", "{}");
    json_out_end(o);
}

void mcp_reply(struct mcp_answer *r, struct buf *result, bool cached)
{
    struct buf out;

    assert(result->n > 0 && result->p[0] == '{');
    if (!r->session) {
        if (result->n > 1)
            buf_add_c(result, ',');
        buf_add(result, STR("\"resultType\":\"complete\",\"_meta\":{\"" MCP_META_SERVER));
        buf_add(result, STR("\":{\"name\":\"rationale\",\"version\":\"" RATIONALE_VERSION "\"}}"));
        if (cached)
            buf_add(result, STR(",\"ttlMs\":" LIST_TTL ",\"cacheScope\":\"private\""));
    }
    buf_add_c(result, '}');
    buf_init(&out, 2 * MCP_MESSAGE_MAX);
    mcp_emit_result(&out, r->id, buf_str(result));
    if (buf_full(result) || buf_full(&out))
        mcp_reply_error(r, 200, MCP_INTERNAL_ERROR, STR("the result is too large"), STR(""));
    else
        r->channel->end(r->channel, 200, buf_str(&out));
    buf_release(&out);
}

void mcp_reply_error(struct mcp_answer *r, int status, int code, str text, str data)
{
    struct buf out;

    buf_init(&out, MCP_MESSAGE_MAX);
    mcp_emit_error(&out, r->id, code, text, data);
    r->channel->end(r->channel, status, buf_str(&out));
    buf_release(&out);
}

struct list {
    struct buf b;
    struct json_out o;
};

/* Lists are sent whole, so a cursor is never one of ours. */
static bool list_begin(struct list *l, struct mcp_answer *r, const char *name)
{
    if (json_find(r->doc, r->message->params, STR("cursor"))) {
        mcp_reply_error(r, 200, MCP_INVALID_PARAMS, STR("there is no such cursor"), STR(""));
        return false;
    }
    buf_init(&l->b, MCP_MESSAGE_MAX);
    json_out_init_object(&l->o, &l->b);
    json_member_array(&l->o, name);
    return true;
}

static void list_end(struct list *l, struct mcp_answer *r)
{
    json_out_end(&l->o);
    mcp_reply(r, &l->b, true);
    buf_release(&l->b);
}

void mcp_list_tools(struct mcp_answer *r)
{
    struct list l;

    if (!list_begin(&l, r, "tools"))
        return;
    for (size_t i = 0; i < r->server->tool_count; i++) {
        const struct mcp_tool *t = r->server->tools[i].tool;

        json_out_object(&l.o);
        mcp_server_list_put(&l.o, "name", t->name);
        mcp_server_list_put(&l.o, "title", t->title);
        mcp_server_list_put(&l.o, "description", t->description);
        mcp_server_list_put_json(
            &l.o, "inputSchema", t->input ? t->input : "{\"type\":\"object\"}");
        mcp_server_list_put_json(&l.o, "outputSchema", t->output);
        mcp_server_list_put_json(&l.o, "annotations", t->annotations);
        json_out_end(&l.o);
    }
    list_end(&l, r);
}

void mcp_list_prompts(struct mcp_answer *r)
{
    struct list l;

    if (!list_begin(&l, r, "prompts"))
        return;
    for (size_t i = 0; i < MCP_SETS_MAX && r->server->o.sets[i]; i++)
        for (size_t k = 0; k < r->server->o.sets[i]->prompt_count; k++) {
            const struct mcp_prompt *p = &r->server->o.sets[i]->prompts[k];

            json_out_object(&l.o);
            mcp_server_list_put(&l.o, "name", p->name);
            mcp_server_list_put(&l.o, "title", p->title);
            mcp_server_list_put(&l.o, "description", p->description);
            mcp_server_list_put_json(&l.o, "arguments", p->arguments);
            json_out_end(&l.o);
        }
    list_end(&l, r);
}

static void list_resources(struct mcp_answer *r, bool templates)
{
    struct list l;

    if (!list_begin(&l, r, templates ? "resourceTemplates" : "resources"))
        return;
    for (size_t i = 0; i < MCP_SETS_MAX && r->server->o.sets[i]; i++)
        for (size_t k = 0; k < r->server->o.sets[i]->resource_count; k++) {
            const struct mcp_resource *p = &r->server->o.sets[i]->resources[k];

            if (templates != (strchr(p->uri, '{') != NULL))
                continue;
            json_out_object(&l.o);
            mcp_server_list_put(&l.o, templates ? "uriTemplate" : "uri", p->uri);
            mcp_server_list_put(&l.o, "name", p->name);
            mcp_server_list_put(&l.o, "title", p->title);
            mcp_server_list_put(&l.o, "description", p->description);
            mcp_server_list_put(&l.o, "mimeType", p->mime);
            json_out_end(&l.o);
        }
    list_end(&l, r);
}

void mcp_list_resources(struct mcp_answer *r)
{
    list_resources(r, false);
}

void mcp_list_templates(struct mcp_answer *r)
{
    list_resources(r, true);
}

/* ---- changes ---- */

static void mcp_server_acknowledge_listen(struct mcp_turn *t)
{
    struct json_out o;
    struct buf params, out;

    assert(t->channel && t->uri_count <= MCP_SUBSCRIPTIONS_MAX);
    buf_init(&params, MCP_MESSAGE_MAX);
    buf_init(&out, MCP_MESSAGE_MAX);
    json_out_init_object(&o, &params);
    json_member_object(&o, "_meta");
    json_out_key(&o, STR(MCP_META_SUBSCRIPTION));
    json_out_raw(&o, t->id);
    json_out_end(&o);
    json_member_object(&o, "notifications");
    for (size_t i = 0; i < COUNT_OF(changes); i++)
        if (t->changes & changes[i].bit)
            mcp_server_list_put_json(&o, changes[i].filter, "true");
    if (t->uri_count) {
        json_member_texts(&o, "resourceSubscriptions", t->uris, t->uri_count);
    }
    json_out_end(&o);
    json_out_end(&o);
    mcp_emit_notification(&out, STR("notifications/subscriptions/acknowledged"), buf_str(&params));
    t->channel->send(t->channel, buf_str(&out));
    buf_release(&params);
    buf_release(&out);
}

void mcp_do_listen(struct mcp_answer *r)
{
    const struct json *doc = r->doc;
    const struct json_node *filter = json_find(doc, r->message->params, STR("notifications")),
                           *uris = json_find(doc, filter, STR("resourceSubscriptions"));
    struct mcp_turn *t = base_alloc(sizeof *t);

    assert(!r->session);
    *t = (struct mcp_turn){.channel = r->channel, .state = STR("")};
    arena_init(&t->arena, 2 * MCP_MESSAGE_MAX);
    buf_init(&t->inputs, MCP_MESSAGE_MAX);
    t->id = arena_dup(&t->arena, r->id);
    for (size_t i = 0; i < COUNT_OF(changes) && r->server->changes; i++) {
        const struct json_node *wanted = json_find(doc, filter, str_c(changes[i].filter));

        if (wanted && wanted->kind == JSON_TRUE)
            t->changes |= changes[i].bit;
    }
    if (r->server->resources && r->server->changes && json_is_array(uris)) {
        t->uris = arena_zero(&t->arena, MCP_SUBSCRIPTIONS_MAX, sizeof *t->uris);
        for (const struct json_node *v = json_first(doc, uris);
             v && t->uri_count < MCP_SUBSCRIPTIONS_MAX;
             v = json_next(doc, uris, v)) {
            str uri;

            if (json_text(doc, v, r->arena, &uri))
                t->uris[t->uri_count++] = arena_dup(&t->arena, uri);
        }
    }
    t->next = r->server->listeners;
    r->server->listeners = t;
    mcp_server_acknowledge_listen(t);
}

void mcp_server_changed(struct mcp_server *s, unsigned bits)
{
    atomic_fetch_or(&s->pending, bits);
}

void mcp_notify_changes(struct mcp_server *s)
{
    unsigned pending = atomic_exchange(&s->pending, 0);
    struct buf out, params;

    buf_init(&out, MCP_MESSAGE_MAX);
    buf_init(&params, MCP_MESSAGE_MAX);
    for (size_t i = 0; pending && i < COUNT_OF(changes); i++) {
        str method = str_c(changes[i].method);

        if (!(pending & changes[i].bit))
            continue;
        for (struct mcp_turn *t = s->listeners; t; t = t->next) {
            if (!(t->changes & changes[i].bit))
                continue;
            buf_reset(&out);
            buf_reset(&params);
            buf_add(&params, STR("{\"_meta\":{\"" MCP_META_SUBSCRIPTION "\":"));
            buf_add(&params, t->id);
            buf_add(&params, STR("}}"));
            mcp_emit_notification(&out, method, buf_str(&params));
            t->channel->send(t->channel, buf_str(&out));
        }
        buf_reset(&out);
        mcp_emit_notification(&out, method, STR(""));
        for (struct mcp_session *p = s->sessions; p; p = p->next)
            if (p->stream)
                p->stream->send(p->stream, buf_str(&out));
    }
    buf_release(&params);
    buf_release(&out);
}
