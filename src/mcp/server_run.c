/* server_run.c - runs tools, prompts and resources, and sends requests for input in the form of the
 * client's era.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mcp/serving.h"

#define URI_ECHO_MAX 65536 /* a longer one is not repeated in an error */

/* ---- sending an answer ---- */

static void mcp_put_caps(unsigned caps, struct buf *b)
{
    static const struct {
        unsigned cap;
        const char *name;
    } names[] = {
        {MCP_SAMPLING, "sampling"}, {MCP_ELICITATION, "elicitation"}, {MCP_ROOTS, "roots"}};
    bool some = false;

    buf_add(b, STR("{\"requiredCapabilities\":{"));
    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (caps & names[i].cap) {
            buf_printf(b, "%s\"%s\":{}", some ? "," : "", names[i].name);
            some = true;
        }
    buf_add(b, STR("}}"));
}

static void mcp_refuse_lacking(struct mcp_answer *r, unsigned caps)
{
    struct buf data;

    buf_init(&data, 256);
    mcp_put_caps(caps, &data);
    mcp_reply_error(r,
                    r->session ? 200 : 400,
                    MCP_MISSING_CAPABILITY,
                    STR("this needs a capability that the client did not declare"),
                    buf_str(&data));
    buf_release(&data);
}

static void mcp_reply_input_required(struct mcp_answer *r)
{
    struct buf result, out;

    assert(!r->session);
    buf_init(&result, MCP_MESSAGE_MAX);
    buf_init(&out, 2 * MCP_MESSAGE_MAX);
    buf_add(&result, STR("{\"resultType\":\"input_required\""));
    if (r->input_count) {
        buf_add(&result, STR(",\"inputRequests\":{"));
        buf_add(&result, buf_str(&r->inputs));
        buf_add_c(&result, '}');
    }
    if (r->state.n) {
        buf_add(&result, STR(",\"requestState\":"));
        (void)json_quote(&result, mcp_state_seal(r, mcp_run_name(r), r->state));
    }
    buf_add_c(&result, '}');
    mcp_emit_result(&out, r->id, buf_str(&result));
    r->channel->end(r->channel, 200, buf_str(&out));
    buf_release(&out);
    buf_release(&result);
}

void mcp_turn_free(struct mcp_turn *t)
{
    buf_release(&t->inputs);
    arena_release(&t->arena);
    free(t);
}

/* Legacy era: each question is a request on the stream; the call waits for the replies. */
static void mcp_ask_on_stream(struct mcp_answer *r)
{
    struct mcp_session *p = r->session;
    struct mcp_turn *t = base_alloc(sizeof *t);
    struct json doc;
    struct buf out;
    struct err e;
    str wrapped;

    assert(p);
    assert(r->input_count > 0);
    *t = (struct mcp_turn){.channel = r->channel, .session = p};
    arena_init(&t->arena, 4 * MCP_MESSAGE_MAX);
    buf_init(&t->inputs, MCP_MESSAGE_MAX);
    t->id = arena_dup(&t->arena, r->id);
    t->method = arena_dup(&t->arena, r->message->method);
    t->params = arena_dup(&t->arena, json_raw(r->doc, r->message->params));
    t->state = arena_dup(&t->arena, r->state);
    t->questions = arena_zero(&t->arena, r->input_count, sizeof *t->questions);
    t->next = p->turns;
    p->turns = t;
    buf_init(&out, 2 * MCP_MESSAGE_MAX);
    wrapped = arena_join(r->arena, STR("{"), buf_str(&r->inputs), STR("}"));
    if (!json_open(&doc, wrapped, &e))
        base_die("a tool asked in JSON that is none: %s", e.text);
    t->unanswered = t->question_count = r->input_count;
    for (size_t i = 0; i < r->input_count; i++) {
        const struct json_node *q = json_find(&doc, json_root(&doc), r->keys[i]);

        t->questions[i].key = arena_dup(&t->arena, r->keys[i]);
        t->questions[i].id = arena_printf(&t->arena, "%llu", (unsigned long long)++p->asked);
        buf_reset(&out);
        mcp_emit_request(&out,
                         t->questions[i].id,
                         mcp_member(&doc, q, STR("method"), r->arena),
                         json_raw(&doc, json_find(&doc, q, STR("params"))));
        t->channel->send(t->channel, buf_str(&out));
    }
    buf_release(&out);
    json_release(&doc);
}

static size_t turn_count(const struct mcp_session *p)
{
    size_t n = 0;

    for (const struct mcp_turn *t = p->turns; t; t = t->next)
        n++;
    return n;
}

void mcp_finish(struct mcp_answer *r, const char *items)
{
    struct buf b;

    if (r->lacking) {
        mcp_refuse_lacking(r, r->lacking);
        return;
    }
    if (buf_full(&r->items) || buf_full(&r->inputs)) {
        mcp_reply_error(r, 200, MCP_INTERNAL_ERROR, STR("the result is too large"), STR(""));
        return;
    }
    if (r->input_count || r->state.n) {
        if (!r->session)
            mcp_reply_input_required(r);
        else if (turn_count(r->session) >= MCP_TURNS_MAX)
            mcp_reply_error(r, 200, MCP_INTERNAL_ERROR, STR("too much is asked already"), STR(""));
        else if (r->input_count)
            mcp_ask_on_stream(r);
        else
            mcp_reply_error(r, 200, MCP_INTERNAL_ERROR, STR("nothing is asked"), STR(""));
        return;
    }
    buf_init(&b, MCP_MESSAGE_MAX);
    buf_printf(&b, "{\"%s\":[", items);
    buf_add(&b, buf_str(&r->items));
    buf_add_c(&b, ']');
    if (r->structured.n) {
        buf_add(&b, STR(",\"structuredContent\":"));
        buf_add(&b, r->structured);
    }
    if (r->is_error)
        buf_add(&b, STR(",\"isError\":true"));
    mcp_reply(r, &b, str_eq(r->message->method, STR("resources/read")));
    buf_release(&b);
}

bool mcp_open_ask(struct mcp_answer *r, struct mcp_ask *ask)
{
    const struct json_node *params = r->message->params,
                           *inputs = json_find(r->doc, params, STR("inputResponses")),
                           *state = json_find(r->doc, params, STR("requestState"));
    str sealed;

    *ask = (struct mcp_ask){.server = r->server,
                            .doc = r->doc,
                            .params = params,
                            .arguments = json_find(r->doc, params, STR("arguments")),
                            .inputs = inputs,
                            .state = r->turn ? r->turn->state : STR(""),
                            .uri = STR(""),
                            .caps = r->caps,
                            .who = r->channel->who,
                            .arena = r->arena};
    if (r->session && !r->turn)
        ask->inputs = NULL; /* does not exist in this era */
    if (ask->inputs && inputs->kind != JSON_OBJECT) {
        mcp_reply_error(
            r, 200, MCP_INVALID_PARAMS, STR("inputResponses must be an object"), STR(""));
        return false;
    }
    JSON_FOREACH(k, r->doc, ask->inputs)
        if (json_value(k)->kind != JSON_OBJECT) {
            mcp_reply_error(
                r, 200, MCP_INVALID_PARAMS, STR("an input response must be an object"), STR(""));
            return false;
        }
    if (r->session || !state)
        return true;
    if (json_text(r->doc, state, r->arena, &sealed) &&
        mcp_state_open(r, mcp_run_name(r), sealed, &ask->state))
        return true;
    mcp_reply_error(r,
                    200,
                    MCP_INVALID_PARAMS,
                    STR("requestState: not issued by this server, or expired: call the tool again"),
                    STR(""));
    return false;
}

void mcp_do_call(struct mcp_answer *r)
{
    str name = mcp_member(r->doc, r->message->params, STR("name"), r->arena);
    const struct mcp_ready_tool *t = mcp_tool_find(r->server, name);
    struct mcp_ask ask;
    struct err e;

    if (!t) {
        str why =
            name.n
                ? arena_join(r->arena, STR("there is no tool "), str_slice(name, 0, 100), STR(""))
                : STR("params.name must be the name of a tool");

        mcp_reply_error(r, 200, MCP_INVALID_PARAMS, why, STR(""));
        return;
    }
    if (!mcp_open_ask(r, &ask))
        return;
    if (t->tool->needs & ~r->caps) {
        mcp_refuse_lacking(r, t->tool->needs & ~r->caps);
        return;
    }
    if (ask.arguments && ask.arguments->kind != JSON_OBJECT) {
        mcp_reply_error(r, 200, MCP_INVALID_PARAMS, STR("arguments must be an object"), STR(""));
        return;
    }
    if (t->schema) {
        struct json none;
        bool ok;

        json_init(&none);
        ok = ask.arguments ? schema_check(t->schema, r->doc, ask.arguments, &e)
                           : json_parse(&none, STR("{}"), &e) &&
                                 schema_check(t->schema, &none, json_root(&none), &e);
        json_release(&none);
        if (!ok) {
            mcp_answer_fail(r, "the arguments are not as the schema has them: %s", e.text);
            mcp_finish(r, "content");
            return;
        }
    }
    if (r->server->hands && !r->turn) {
        if (!mcp_hands_take(r->server->hands, r, t))
            mcp_reply_error(r, 503, MCP_INTERNAL_ERROR, STR("too many calls at once"), STR(""));
        return;
    }
    t->tool->run(t->ctx, &ask, r);
    mcp_finish(r, "content");
}

void mcp_do_prompt(struct mcp_answer *r)
{
    str name = mcp_member(r->doc, r->message->params, STR("name"), r->arena);
    struct mcp_ask ask;

    for (size_t i = 0; i < MCP_SETS_MAX && r->server->o.sets[i]; i++)
        for (size_t k = 0; k < r->server->o.sets[i]->prompt_count; k++) {
            const struct mcp_prompt *p = &r->server->o.sets[i]->prompts[k];

            if (!str_eq(name, str_c(p->name)))
                continue;
            if (mcp_open_ask(r, &ask)) {
                p->run(r->server->o.sets[i]->ctx, &ask, r);
                mcp_finish(r, "messages");
            }
            return;
        }
    mcp_reply_error(r, 200, MCP_INVALID_PARAMS, STR("there is no such prompt"), STR(""));
}

/* Whether the client asked for this URI, or for one that this template with one {name} matches. */
static bool uri_matches(str pattern, str uri)
{
    size_t open = str_find(pattern, STR("{")), close = str_find(pattern, STR("}"));
    str head = str_slice(pattern, 0, open), tail = str_slice(pattern, close + 1, pattern.n), rest;

    if (open == STR_NONE)
        return str_eq(pattern, uri);
    if (!str_starts(uri, head) || !str_ends(uri, tail) || uri.n <= head.n + tail.n)
        return false;
    rest = str_slice(uri, head.n, uri.n - tail.n);
    return !memchr(rest.p, '/', rest.n);
}

void mcp_do_read(struct mcp_answer *r)
{
    const struct json_node *asked = json_find(r->doc, r->message->params, STR("uri"));
    str uri = mcp_member(r->doc, r->message->params, STR("uri"), r->arena), data;
    struct mcp_ask ask;

    for (size_t i = 0; i < MCP_SETS_MAX && r->server->o.sets[i]; i++)
        for (size_t k = 0; k < r->server->o.sets[i]->resource_count; k++) {
            const struct mcp_resource *p = &r->server->o.sets[i]->resources[k];

            if (!uri_matches(str_c(p->uri), uri))
                continue;
            if (mcp_open_ask(r, &ask)) {
                ask.uri = uri;
                p->run(r->server->o.sets[i]->ctx, &ask, r);
                mcp_finish(r, "contents");
            }
            return;
        }
    data = asked && asked->size <= URI_ECHO_MAX
               ? arena_join(r->arena, STR("{\"uri\":"), json_raw(r->doc, asked), STR("}"))
               : STR("");
    mcp_reply_error(r,
                    200,
                    r->session ? MCP_RESOURCE_NOT_FOUND : MCP_INVALID_PARAMS,
                    STR("there is no such resource"),
                    data);
}

/* ---- legacy era: replies ---- */

static void turn_fail(struct mcp_turn *t, str why)
{
    struct buf result, out;

    buf_init(&result, MCP_MESSAGE_MAX);
    buf_init(&out, 2 * MCP_MESSAGE_MAX);
    buf_add(&result, STR("{\"content\":[{\"type\":\"text\",\"text\":"));
    (void)json_quote(&result, why);
    buf_add(&result, STR("}],\"isError\":true}"));
    if (str_eq(t->method, STR("tools/call")))
        mcp_emit_result(&out, t->id, buf_str(&result));
    else
        mcp_emit_error(&out, t->id, MCP_INTERNAL_ERROR, why, STR(""));
    t->channel->end(t->channel, 200, buf_str(&out));
    buf_release(&out);
    buf_release(&result);
}

/* All questions are answered: runs the same request again, with the answers. */
static void run_again(struct mcp_server *s, struct mcp_turn *t)
{
    struct mcp_message m = {.kind = MCP_REQUEST, .id = t->id, .method = t->method};
    struct json before, doc;
    struct mcp_answer r;
    struct arena a;
    struct buf b;
    struct err e;

    assert(t->unanswered == 0);
    arena_init(&a, 4 * MCP_MESSAGE_MAX);
    buf_init(&b, 2 * MCP_MESSAGE_MAX);
    json_init(&doc);
    if (json_open(&before, t->params, &e)) {
        str all = arena_join(&a, STR("{"), buf_str(&t->inputs), STR("}"));

        json_splice_set(&before, json_root(&before), STR("inputResponses"), all, &b);
    }
    if (!json_parse(&doc, buf_str(&b), &e)) { /* the answers are two levels deeper here */
        turn_fail(t, STR("the client's answers are nested too deeply"));
        goto out;
    }
    m.params = json_root(&doc);
    r = (struct mcp_answer){.server = s,
                            .session = t->session,
                            .channel = t->channel,
                            .doc = &doc,
                            .message = &m,
                            .arena = &a,
                            .turn = t};
    mcp_answer_init(&r);
    if (str_eq(t->method, STR("tools/call")))
        mcp_do_call(&r);
    else if (str_eq(t->method, STR("prompts/get")))
        mcp_do_prompt(&r);
    else
        mcp_do_read(&r);
    mcp_answer_release(&r);
out:
    json_release(&doc);
    json_release(&before);
    buf_release(&b);
    arena_release(&a);
}

static void mcp_unlink_turn(struct mcp_session *p, const struct mcp_turn *t)
{
    struct mcp_turn **at = &p->turns;

    assert(p->turns);
    while (*at != t)
        at = &(*at)->next;
    *at = t->next;
}

static struct mcp_turn *turn_asking(struct mcp_session *p, str id, struct mcp_question **q)
{
    for (struct mcp_turn *t = p->turns; t; t = t->next)
        for (size_t i = 0; i < t->question_count; i++)
            if (str_eq(t->questions[i].id, id) && !t->questions[i].answered) {
                *q = &t->questions[i];
                return t;
            }
    return NULL;
}

void mcp_turn_answer(struct mcp_server *s, struct mcp_session *session, const struct json *doc,
                     const struct mcp_message *m)
{
    struct mcp_question *q = NULL;
    struct mcp_turn *t = turn_asking(session, m->id, &q);

    if (!t)
        return; /* not requested, or no longer */
    if (m->kind == MCP_ERROR) {
        struct arena a;

        arena_init(&a, 2 * MCP_MESSAGE_MAX);
        mcp_unlink_turn(session, t);
        turn_fail(t, arena_join(&a, STR("the client could not answer: "), m->text, STR("")));
        mcp_turn_free(t);
        arena_release(&a);
        return;
    }
    if (t->inputs.n)
        buf_add_c(&t->inputs, ',');
    (void)json_quote(&t->inputs, q->key);
    buf_add_c(&t->inputs, ':');
    buf_add(&t->inputs, json_raw(doc, m->result));
    assert(t->unanswered > 0 && t->unanswered <= t->question_count);
    q->answered = true;
    if (--t->unanswered)
        return;
    mcp_unlink_turn(session, t);
    if (buf_full(&t->inputs))
        turn_fail(t, STR("the client's answers are too large"));
    else
        run_again(s, t);
    mcp_turn_free(t);
}
