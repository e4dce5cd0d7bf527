/* server.c - the core: a table of methods, sessions, and notifications of changes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/server.h"

#include "mcp/serving.h"

#define LEGACY 1u
#define MODERN 2u
#define SERVER_ARENA_MAX ((size_t)16 << 20)

static const char *const level_names[] = {
    "debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"};

static enum mcp_level mcp_level_of(const struct json *doc, const struct json_node *name)
{
    for (size_t i = 0; i < COUNT_OF(level_names); i++)
        if (json_is(doc, name, str_c(level_names[i])))
            return (enum mcp_level)i;
    return MCP_LOG_OFF;
}

static unsigned mcp_caps_of(const struct json *doc, const struct json_node *v)
{
    return (json_find(doc, v, STR("sampling")) ? MCP_SAMPLING : 0u) |
           (json_find(doc, v, STR("elicitation")) ? MCP_ELICITATION : 0u) |
           (json_find(doc, v, STR("roots")) ? MCP_ROOTS : 0u);
}

/* ---- making one ---- */

static bool mcp_ready_tool(struct mcp_server *s, const struct mcp_set *set,
                           const struct mcp_tool *t, struct err *e)
{
    struct mcp_ready_tool *r = &s->tools[s->tool_count];
    struct json doc;
    bool ok;

    if (mcp_tool_find(s, str_c(t->name)))
        return err_input(e, "two tools are called %s", t->name);
    *r = (struct mcp_ready_tool){.tool = t, .ctx = set->ctx};
    s->tool_count++;
    if (!t->input)
        return true;
    r->schema = schema_new();
    if (!schema_compile(r->schema, str_c(t->input), e))
        return err_prefix(e, "tool %s: ", t->name);
    ok = json_open(&doc, str_c(t->input), e) &&
         mcp_mirrors_read(&doc, json_root(&doc), &s->arena, &r->mirrors, e);
    json_release(&doc);
    return ok || err_prefix(e, "tool %s: ", t->name);
}

struct mcp_server *mcp_server_new(const struct mcp_server_options *o, struct err *e)
{
    struct mcp_server *s = base_alloc(sizeof *s);
    size_t n = 0;

    *s = (struct mcp_server){.o = *o, .clock = o->clock ? o->clock : &clock_real};
    arena_init(&s->arena, SERVER_ARENA_MAX);
    rand_ids_init(&s->ids, s->clock);
    rand_os(s->key, sizeof s->key);
    for (size_t i = 0; i < MCP_SETS_MAX && o->sets[i]; i++)
        n += o->sets[i]->tool_count;
    s->tools = arena_zero(&s->arena, n, sizeof *s->tools);
    for (size_t i = 0; i < MCP_SETS_MAX && o->sets[i]; i++) {
        const struct mcp_set *set = o->sets[i];

        s->prompts = s->prompts || set->prompt_count;
        s->resources = s->resources || set->resource_count;
        s->changes = s->changes || set->changes;
        s->logs = s->logs || set->logs;
        s->completes = s->completes || set->completes;
        for (size_t k = 0; k < set->tool_count; k++)
            if (!mcp_ready_tool(s, set, &set->tools[k], e)) {
                mcp_server_free(s);
                return NULL;
            }
    }
    return s;
}

void mcp_server_free(struct mcp_server *s)
{
    while (s->sessions)
        mcp_session_end(s, s->sessions);
    while (s->listeners) {
        struct mcp_turn *t = s->listeners;

        s->listeners = t->next;
        mcp_turn_free(t);
    }
    for (size_t i = 0; i < s->tool_count; i++)
        schema_free(s->tools[i].schema);
    rand_ids_release(&s->ids);
    arena_release(&s->arena);
    free(s);
}

const struct mcp_ready_tool *mcp_tool_find(const struct mcp_server *s, str name)
{
    for (size_t i = 0; i < s->tool_count; i++)
        if (str_eq(name, str_c(s->tools[i].tool->name)))
            return &s->tools[i];
    return NULL;
}

/* ---- sessions ---- */

struct mcp_session *mcp_session_find(struct mcp_server *s, str id, const void *who)
{
    for (struct mcp_session *p = s->sessions; p; p = p->next)
        if (str_eq(id, str_c(p->id)) && p->who == who) {
            p->used_ns = clock_mono_ns(s->clock);
            return p;
        }
    return NULL;
}

void mcp_session_end(struct mcp_server *s, struct mcp_session *session)
{
    struct mcp_session **at = &s->sessions;

    assert(s->session_count > 0);
    while (*at != session)
        at = &(*at)->next;
    *at = session->next;
    s->session_count--;
    while (session->turns) {
        struct mcp_turn *t = session->turns;

        session->turns = t->next;
        mcp_turn_free(t);
    }
    map_release(&session->subscriptions);
    arena_release(&session->arena);
    free(session);
}

struct mcp_session *mcp_session_new(struct mcp_server *s, const void *who)
{
    struct mcp_session *p, *oldest = NULL;

    assert(!s->sessions == !s->session_count);
    for (p = s->sessions; p && s->session_count >= MCP_SESSIONS_MAX; p = p->next)
        if (!p->turns && !p->stream && (!oldest || p->used_ns < oldest->used_ns))
            oldest = p;
    if (oldest)
        mcp_session_end(s, oldest);
    if (s->session_count >= 2 * MCP_SESSIONS_MAX)
        return NULL;
    p = base_alloc(sizeof *p);
    *p = (struct mcp_session){.who = who,
                              .version = MCP_LEGACY,
                              .level = MCP_LOG_INFO,
                              .used_ns = clock_mono_ns(s->clock)};
    rand_id(&s->ids, p->id);
    arena_init(&p->arena, (size_t)1 << 20);
    map_init(&p->subscriptions, NULL, MCP_SUBSCRIPTIONS_MAX);
    p->next = s->sessions;
    s->sessions = p;
    s->session_count++;
    return p;
}

/* ---- methods ---- */

static void mcp_begin_initialize(struct mcp_answer *r)
{
    const struct json_node *params = r->message->params;
    str asked = mcp_member(r->doc, params, STR("protocolVersion"), r->arena);
    struct json_out o;
    struct buf b;

    assert(r->session);
    if (mcp_legacy_version(asked))
        r->session->version = mcp_legacy_version(asked);
    r->session->caps = mcp_caps_of(r->doc, json_find(r->doc, params, STR("capabilities")));
    buf_init(&b, MCP_MESSAGE_MAX);
    json_out_init_object(&o, &b);
    json_member_str(&o, "protocolVersion", str_c(r->session->version));
    json_out_key(&o, STR("capabilities"));
    mcp_put_capabilities(r->server, &o);
    json_member_raw(
        &o, "serverInfo", STR("{\"name\":\"rationale\",\"version\":\"" RATIONALE_VERSION "\"}"));
    if (r->server->o.instructions) {
        json_member_str(&o, "instructions", str_c(r->server->o.instructions));
    }
    mcp_reply(r, &b, false);
    buf_release(&b);
}

static void mcp_server_discover(struct mcp_answer *r)
{
    struct json_out o;
    struct buf b;

    assert(!r->session);
    buf_init(&b, MCP_MESSAGE_MAX);
    json_out_init_object(&o, &b);
    json_member_array(&o, "supportedVersions");
    json_out_str(&o, STR(MCP_MODERN));
    json_out_end(&o);
    json_out_key(&o, STR("capabilities"));
    mcp_put_capabilities(r->server, &o);
    if (r->server->o.instructions) {
        json_member_str(&o, "instructions", str_c(r->server->o.instructions));
    }
    mcp_reply(r, &b, true);
    buf_release(&b);
}

static void mcp_reply_empty(struct mcp_answer *r)
{
    struct buf b;

    buf_init(&b, MCP_MESSAGE_MAX);
    buf_add_c(&b, '{');
    mcp_reply(r, &b, false);
    buf_release(&b);
}

static void mcp_set_level(struct mcp_answer *r)
{
    const struct json_node *name = json_find(r->doc, r->message->params, STR("level"));
    enum mcp_level level = mcp_level_of(r->doc, name);

    assert(r->session);
    if (level == MCP_LOG_OFF) {
        mcp_reply_error(r, 200, MCP_INVALID_PARAMS, STR("there is no such level"), STR(""));
        return;
    }
    r->session->level = level;
    mcp_reply_empty(r);
}

static void mcp_server_subscribe(struct mcp_answer *r)
{
    struct mcp_session *p = r->session;
    str uri = mcp_member(r->doc, r->message->params, STR("uri"), r->arena);
    struct err e;

    assert(r->session);
    if (str_eq(r->message->method, STR("resources/unsubscribe")))
        (void)map_remove(&p->subscriptions, uri);
    else if (uri.n == 0 || arena_left(&p->arena) < 2 * uri.n + 64 ||
             !map_set(&p->subscriptions, arena_dup(&p->arena, uri), MAP_U64(1), &e)) {
        mcp_reply_error(r, 200, MCP_INVALID_PARAMS, STR("cannot subscribe to that"), STR(""));
        return;
    }
    mcp_reply_empty(r);
}

static void mcp_server_complete(struct mcp_answer *r)
{
    struct buf b;

    buf_init(&b, MCP_MESSAGE_MAX);
    buf_add(&b, STR("{\"completion\":{\"values\":[],\"total\":0,\"hasMore\":false}"));
    mcp_reply(r, &b, false);
    buf_release(&b);
}

enum part { ALWAYS, PROMPTS, RESOURCES, LOGS, COMPLETES };

static const struct {
    str name;
    unsigned eras;
    enum part part;
    void (*run)(struct mcp_answer *r);
} methods[] = {
    {STR_INIT("initialize"), LEGACY, ALWAYS, mcp_begin_initialize},
    {STR_INIT("ping"), LEGACY, ALWAYS, mcp_reply_empty},
    {STR_INIT("server/discover"), MODERN, ALWAYS, mcp_server_discover},
    {STR_INIT("subscriptions/listen"), MODERN, ALWAYS, mcp_do_listen},
    {STR_INIT("tools/list"), LEGACY | MODERN, ALWAYS, mcp_list_tools},
    {STR_INIT("tools/call"), LEGACY | MODERN, ALWAYS, mcp_do_call},
    {STR_INIT("prompts/list"), LEGACY | MODERN, PROMPTS, mcp_list_prompts},
    {STR_INIT("prompts/get"), LEGACY | MODERN, PROMPTS, mcp_do_prompt},
    {STR_INIT("resources/list"), LEGACY | MODERN, RESOURCES, mcp_list_resources},
    {STR_INIT("resources/templates/list"), LEGACY | MODERN, RESOURCES, mcp_list_templates},
    {STR_INIT("resources/read"), LEGACY | MODERN, RESOURCES, mcp_do_read},
    {STR_INIT("resources/subscribe"), LEGACY, RESOURCES, mcp_server_subscribe},
    {STR_INIT("resources/unsubscribe"), LEGACY, RESOURCES, mcp_server_subscribe},
    {STR_INIT("logging/setLevel"), LEGACY, LOGS, mcp_set_level},
    {STR_INIT("completion/complete"), LEGACY | MODERN, COMPLETES, mcp_server_complete},
};

static bool mcp_has_part(const struct mcp_server *s, enum part part)
{
    const bool has[] = {true, s->prompts, s->resources, s->logs, s->completes};

    assert((size_t)part < COUNT_OF(has));
    return has[part];
}

static void mcp_server_dispatch(struct mcp_answer *r)
{
    unsigned era = r->session ? LEGACY : MODERN;

    for (size_t i = 0; i < COUNT_OF(methods); i++)
        if (str_eq(r->message->method, methods[i].name) && (methods[i].eras & era) &&
            mcp_has_part(r->server, methods[i].part)) {
            methods[i].run(r);
            return;
        }
    mcp_reply_error(
        r, r->session ? 200 : 404, MCP_METHOD_NOT_FOUND, STR("no such method"), STR(""));
}

bool mcp_is_modern(const struct json *doc, const struct mcp_message *m)
{
    const struct json_node *meta = json_find(doc, m->params, STR("_meta"));

    return json_find(doc, meta, STR(MCP_META_VERSION)) ||
           json_find(doc, meta, STR(MCP_META_CAPABILITIES));
}

bool mcp_check_meta(const struct json *doc, const struct mcp_message *m, struct mcp_channel *c)
{
    const struct json_node *meta = json_find(doc, m->params, STR("_meta")),
                           *version = json_find(doc, meta, STR(MCP_META_VERSION)),
                           *caps = json_find(doc, meta, STR(MCP_META_CAPABILITIES));
    struct buf out, data;

    if (json_is_object(caps) && json_is(doc, version, STR(MCP_MODERN)))
        return true;
    buf_init(&out, MCP_MESSAGE_MAX);
    buf_init(&data, MCP_MESSAGE_MAX);
    if (!version || version->kind != JSON_STRING || version->size > MCP_METHOD_MAX ||
        !json_is_object(caps)) {
        mcp_emit_error(
            &out,
            m->id,
            MCP_INVALID_PARAMS,
            STR("_meta must have " MCP_META_VERSION ", a short text, and " MCP_META_CAPABILITIES),
            STR(""));
    } else {
        buf_add(&data, STR("{\"supported\":[\"" MCP_MODERN "\"],\"requested\":"));
        buf_add(&data, json_raw(doc, version));
        buf_add_c(&data, '}');
        mcp_emit_error(&out,
                       m->id,
                       MCP_UNSUPPORTED_VERSION,
                       STR("this protocol version is not spoken here"),
                       buf_str(&data));
    }
    c->end(c, 400, buf_str(&out));
    buf_release(&data);
    buf_release(&out);
    return false;
}

void mcp_answer_init(struct mcp_answer *r)
{
    const struct json *doc = r->doc;
    const struct json_node *meta = json_find(doc, r->message->params, STR("_meta")),
                           *token = json_find(doc, meta, STR("progressToken"));

    assert(r->message->kind == MCP_REQUEST);
    r->id = r->message->id;
    r->progress = r->structured = r->state = STR("");
    if (r->session) {
        r->caps = r->session->caps;
        r->level = r->session->level;
    } else {
        r->caps = mcp_caps_of(doc, json_find(doc, meta, STR(MCP_META_CAPABILITIES)));
        r->level = mcp_level_of(doc, json_find(doc, meta, STR(MCP_META_LOG_LEVEL)));
    }
    if (token && (token->kind == JSON_STRING || token->kind == JSON_NUMBER))
        r->progress = json_raw(doc, token);
    buf_init(&r->items, MCP_MESSAGE_MAX);
    buf_init(&r->inputs, MCP_MESSAGE_MAX);
}

void mcp_answer_release(struct mcp_answer *r)
{
    buf_release(&r->items);
    buf_release(&r->inputs);
}

void mcp_take(struct mcp_server *s, struct mcp_session *session, const struct json *doc,
              const struct mcp_message *m, struct mcp_channel *c)
{
    struct arena a;
    struct mcp_answer r = {
        .server = s, .session = session, .channel = c, .doc = doc, .message = m, .arena = &a};

    assert(m->kind == MCP_REQUEST);
    if (!session && !mcp_check_meta(doc, m, c))
        return;
    arena_init(&a, 4 * MCP_MESSAGE_MAX);
    mcp_answer_init(&r);
    mcp_server_dispatch(&r);
    mcp_answer_release(&r);
    arena_release(&a);
    mcp_notify_changes(s);
}

void mcp_hear(struct mcp_server *s, struct mcp_session *session, const struct json *doc,
              const struct mcp_message *m)
{
    const struct json_node *id;
    struct arena a;
    str text;

    if (m->kind == MCP_RESULT || m->kind == MCP_ERROR) {
        if (session)
            mcp_turn_answer(s, session, doc, m);
        mcp_notify_changes(s);
        return;
    }
    if (!str_eq(m->method, STR("notifications/cancelled")))
        return;
    arena_init(&a, MCP_MESSAGE_MAX);
    id = json_find(doc, m->params, STR("requestId"));
    if (id && id->kind == JSON_NUMBER)
        mcp_cancel(s, session, json_raw(doc, id));
    else if (json_text(doc, id, &a, &text)) {
        struct buf b;

        buf_init(&b, MCP_MESSAGE_MAX);
        (void)json_quote(&b, text);
        mcp_cancel(s, session, buf_str(&b));
        buf_release(&b);
    }
    arena_release(&a);
}

/* ---- requests that end early ---- */

static void mcp_drop_turns(struct mcp_turn **at, const struct mcp_channel *c, str id)
{
    while (*at) {
        struct mcp_turn *t = *at;

        if (c ? t->channel == c : str_eq(t->id, id)) {
            *at = t->next;
            if (!c)
                t->channel->end_cancelled(t->channel);
            mcp_turn_free(t);
        } else {
            at = &t->next;
        }
    }
}

void mcp_gone(struct mcp_server *s, struct mcp_channel *c)
{
    mcp_hands_gone(s->hands, c);
    mcp_drop_turns(&s->listeners, c, STR(""));
    for (struct mcp_session *p = s->sessions; p; p = p->next) {
        mcp_drop_turns(&p->turns, c, STR(""));
        if (p->stream == c)
            p->stream = NULL;
    }
}

void mcp_cancel(struct mcp_server *s, struct mcp_session *session, str id)
{
    mcp_drop_turns(session ? &session->turns : &s->listeners, NULL, id);
    if (session)
        mcp_hands_cancel(s->hands, session, id);
}
