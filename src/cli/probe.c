/* probe.c - see probe.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/probe.h"

#include "gateway/provider.h"

#define REPLY_MAX ((size_t)16 << 20)
#define HEAD_MAX SECRET_SIZE_MAX
#define RESOLVERS 8
#define FIX_NETWORK "check the network, and whether a firewall or proxy is in the way"

/* Where a dialect lists its models, and the form of the list. */
static const struct listing {
    const char *path;   /* appended to the path of the base URL */
    const char *list;   /* the member with the models; some hosts send only the array */
    const char *name;   /* the member of a model with its name */
    const char *prefix; /* a prefix of names in the list that requests do not have */
    const char *next;   /* a member that says that the list continues */
} listings[] = {
    [CHAT_OPENAI] = {"/models", "data", "id", "", "has_more"},
    [CHAT_RESPONSES] = {"/models", "data", "id", "", "has_more"},
    [CHAT_ANTHROPIC] = {"/v1/models?limit=1000", "data", "id", "", "has_more"},
    [CHAT_GEMINI] = {"/v1beta/models?pageSize=1000", "models", "name", "models/", "nextPageToken"},
    [CHAT_MISTRAL] = {"/models", "data", "id", "", "has_more"},
    [CHAT_OLLAMA] = {"/api/tags", "models", "name", "", "next"},
};

struct probe_call {
    struct probe *to;
    struct probing *all;
    struct client_call *call; /* NULL: the probe has ended */
    struct buf body;
    uint64_t began_ns;
};

struct probing {
    struct loop *loop;
    struct client *client;
    struct arena *arena;
    struct loop_timer deadline;
    struct probe_call *calls;
    size_t n, open;
};

/* ---- the result ---- */

static void probe_fail(struct probe *p, enum probe_state state, const char *why, const char *fix)
{
    assert(state != PROBE_GOOD && state != PROBE_SKIPPED && why && fix);
    p->state = state;
    p->fix = fix;
    (void)snprintf(p->why, sizeof p->why, "%s", why);
}

/* Advice, by the error text of net/. */
static const char *probe_advice(const struct err *e)
{
    static const struct {
        const char *word, *fix;
    } advice[] = {
        {"is not found", "check the host in base_url, and that this machine can resolve names"},
        {"no address", "check the host in base_url, and that this machine can resolve names"},
        {"was refused", "start it, or correct host and port in base_url"},
        {"no route", FIX_NETWORK},
        {"not trusted", "give the certificate of its authority in ca_file"},
        {"has expired", "its certificate must be renewed; check this machine's clock too"},
        {"not valid yet", "check this machine's clock"},
        {"the certificate", "write base_url with the name that the certificate is for"},
        {"does not speak TLS", "write http:// in base_url if it speaks plain HTTP"},
        {"HTTP/1.1", "check the port in base_url: something else answers there"},
    };

    for (size_t i = 0; i < COUNT_OF(advice); i++)
        if (strstr(e->text, advice[i].word))
            return advice[i].fix;
    return e->code == ERR_TIMEOUT ? FIX_NETWORK : "check base_url and the network";
}

/* Whether a listed name serves a configured one: the same name; for Ollama, the name with the
 * default tag; for hosts that date their models, an alias without the date. */
static bool probe_serves(str listed, str wanted)
{
    str rest;

    if (!str_starts(listed, wanted))
        return false;
    rest = str_slice(listed, wanted.n, listed.n);
    return rest.n == 0 || str_eq(rest, STR(":latest")) ||
           (rest.n >= 9 && rest.p[0] == '-' && rest.p[1] == '2' && rest.p[2] == '0');
}

static void probe_compare(struct probe *p, const str *names, struct arena *a)
{
    const struct config_provider *of = p->provider;

    p->missing = arena_zero(a, of->model_count + 1, sizeof *p->missing);
    for (size_t i = 0; i < of->model_count && !p->more && p->listed > 0; i++) {
        bool found = false;

        for (size_t j = 0; j < p->listed && !found; j++)
            found = probe_serves(names[j], of->models[i].upstream);
        if (!found)
            p->missing[p->missing_count++] = of->models[i].upstream;
    }
    assert(p->missing_count <= of->model_count);
}

static bool probe_is_more(const struct json *doc, const struct json_node *v)
{
    bool flag;

    return v && (json_bool(v, &flag) ? flag : v->kind == JSON_STRING && json_raw(doc, v).n > 2);
}

static bool probe_read_list(struct probe_call *k)
{
    const struct listing *l = &listings[k->to->provider->dialect];
    struct arena *a = k->all->arena;
    const struct json_node *root, *list;
    struct json doc;
    struct err e;
    str *names, name;
    bool ok;

    assert(k->to->listed == 0);
    ok = json_open(&doc, buf_str(&k->body), &e);
    root = ok ? json_root(&doc) : NULL;
    list = ok && root->kind == JSON_OBJECT ? json_find(&doc, root, str_c(l->list)) : root;
    ok = ok && list && list->kind == JSON_ARRAY;
    names = arena_zero(a, (ok ? json_count(&doc, list) : 0) + 1, sizeof *names);
    JSON_FOREACH(v, &doc, ok ? list : NULL)
        if (v->kind == JSON_OBJECT &&
            json_text(&doc, json_find(&doc, v, str_c(l->name)), a, &name)) {
            size_t front = str_starts(name, str_c(l->prefix)) ? strlen(l->prefix) : 0;

            names[k->to->listed++] = arena_dup(a, str_slice(name, front, name.n));
        }
    if (ok && root->kind == JSON_OBJECT)
        k->to->more = probe_is_more(&doc, json_find(&doc, root, str_c(l->next)));
    if (ok)
        probe_compare(k->to, names, a);
    json_release(&doc);
    return ok;
}

static void probe_judge(struct probe_call *k)
{
    struct probe *p = k->to;
    char why[64];

    assert(p->state == PROBE_SKIPPED);
    (void)snprintf(why, sizeof why, "it answers %d", p->status);
    if (p->status == 401 || p->status == 403)
        probe_fail(p,
                   PROBE_REFUSED_KEY,
                   why,
                   secret_reveal(&p->provider->key).n
                       ? "the key is wrong, expired or of another account: replace it"
                       : "it wants a key: set api_key_env or api_key_file");
    else if (p->status == 404 || p->status == 405)
        probe_fail(p,
                   PROBE_UNLISTED,
                   "it answers, but has no list of models there",
                   "check the path of base_url (such as /v1); some providers have no such list");
    else if (p->status >= 500)
        probe_fail(p, PROBE_BAD_REPLY, why, "the provider is in trouble: try again later");
    else if (p->status == 429)
        probe_fail(p, PROBE_BAD_REPLY, why, "its rate limit or quota is used up");
    else if (p->status < 200 || p->status >= 300)
        probe_fail(p, PROBE_BAD_REPLY, why, "check base_url: this address leads elsewhere");
    else if (!probe_read_list(k))
        probe_fail(p,
                   PROBE_BAD_REPLY,
                   "its reply is not a list of models",
                   "check base_url and kind: another service answers there");
    else
        p->state = PROBE_GOOD;
}

/* ---- asking ---- */

static void probe_close(struct probe_call *k)
{
    assert(k->all->open > 0);
    k->call = NULL;
    k->to->took_ms = (clock_mono_ns(&clock_real) - k->began_ns) / 1000000;
    if (--k->all->open == 0)
        loop_stop(k->all->loop);
}

static void probe_on_head(void *ctx, const struct http1_head *head)
{
    struct probe_call *k = ctx;

    k->to->status = head->status;
}

static void probe_on_bytes(void *ctx, str bytes)
{
    struct probe_call *k = ctx;

    buf_add(&k->body, bytes); /* a body that is too long fails to parse as JSON */
}

static void probe_on_end(void *ctx)
{
    struct probe_call *k = ctx;

    probe_judge(k);
    probe_close(k);
}

static void probe_on_error(void *ctx, const struct err *e, bool sent)
{
    struct probe_call *k = ctx;
    const char *colon = strstr(e->text, ": ");

    (void)sent;
    /* The sentence begins with "upstream HOST: ", and the finding with the provider's name. */
    probe_fail(k->to, PROBE_UNREACHABLE, colon ? colon + 2 : e->text, probe_advice(e));
    probe_close(k);
}

static void probe_on_deadline(void *ctx)
{
    struct probing *all = ctx;

    for (size_t i = 0; i < all->n; i++) {
        struct probe_call *k = &all->calls[i];

        if (!k->call)
            continue;
        client_cancel(k->call);
        probe_fail(k->to,
                   PROBE_UNREACHABLE,
                   k->to->status ? "its reply does not end" : "no reply within 5 s",
                   FIX_NETWORK);
        probe_close(k);
    }
}

static void probe_start(struct probing *all, struct probe_call *k)
{
    static const struct client_handler handler = {
        .on_head = probe_on_head,
        .on_bytes = probe_on_bytes,
        .on_end = probe_on_end,
        .on_error = probe_on_error,
    };
    const struct config_provider *p = k->to->provider;
    struct client_request r = {.url = &p->url, .method = STR("GET"), .connect_ms = PROBE_MS};
    struct buf target, lines;

    assert((size_t)p->dialect < COUNT_OF(listings));
    buf_init(&target, 8192);
    buf_printf(&target, STR_FMT "%s", STR_ARG(p->url.path), listings[p->dialect].path);
    buf_init(&lines, HEAD_MAX + 1024);
    buf_add(&lines, STR("user-agent: rationale/" RATIONALE_VERSION "\r\n"));
    buf_add(&lines, STR("accept: application/json\r\naccept-encoding: identity\r\n"));
    buf_add(&lines, str_c(p->row->extra_headers));
    if (secret_reveal(&p->key).n) {
        buf_printf(&lines, "%s: %s", p->row->auth_header, p->row->auth_prefix);
        buf_add(&lines, secret_reveal(&p->key));
        buf_add(&lines, STR("\r\n"));
    }
    r.target = buf_str(&target);
    r.headers = buf_str(&lines);
    k->began_ns = clock_mono_ns(&clock_real);
    all->open++;
    k->call = client_start(all->client, &r, &handler, k);
    if (lines.n)
        secret_wipe(lines.p, lines.n);
    buf_release(&lines);
    buf_release(&target);
}

static void probe_all(struct probing *all, const struct config *c, struct probe *out)
{
    all->calls = arena_zero(all->arena, c->provider_count + 1, sizeof *all->calls);
    for (size_t i = 0; i < c->provider_count; i++) {
        const struct config_provider *p = &c->providers[i];
        struct probe_call *k = &all->calls[all->n];

        out[i] = (struct probe){.provider = p, .fix = ""};
        if (p->replay || p->key_missing.n)
            continue;
        *k = (struct probe_call){.to = &out[i], .all = all};
        buf_init(&k->body, REPLY_MAX);
        all->n++;
        probe_start(all, k);
    }
    loop_timer_init(&all->deadline, probe_on_deadline, all);
    loop_timer_set(all->loop, &all->deadline, PROBE_MS);
    if (all->open > 0)
        loop_run(all->loop);
    loop_timer_clear(all->loop, &all->deadline);
    for (size_t i = 0; i < all->n; i++)
        buf_release(&all->calls[i].body);
}

bool probe_run(const struct config *c, struct probe *out, struct arena *a, struct err *e)
{
    struct probing all = {.arena = a};
    struct tls *tls = tls_client_new(c->ca_file.n ? c->ca_file.p : NULL, e);
    struct resolver *resolver = tls ? resolver_new(RESOLVERS, e) : NULL;
    bool ok;

    all.loop = resolver ? loop_new(&clock_real, e) : NULL;
    ok = all.loop != NULL;
    if (ok) {
        all.client = client_new(all.loop, resolver, tls);
        probe_all(&all, c, out);
        client_free(all.client);
        loop_free(all.loop);
    }
    if (resolver)
        resolver_free(resolver);
    if (tls)
        tls_free(tls);
    return ok;
}

/* ---- as JSON ---- */

static void probe_write_one(struct json_out *o, const struct probe *p)
{
    static const char *const states[] = {
        "skipped", "ok", "unlisted", "unauthorised", "bad_reply", "unreachable"};
    bool answered = p->state != PROBE_SKIPPED && p->state != PROBE_UNREACHABLE;

    assert((size_t)p->state < COUNT_OF(states));
    json_out_object(o);
    json_member_str(o, "name", p->provider->name);
    json_member_str(o, "state", str_c(states[p->state]));
    if (p->state == PROBE_SKIPPED)
        json_member_null(o, "reachable");
    else
        json_member_bool(o, "reachable", answered);
    if (p->state == PROBE_GOOD || p->state == PROBE_REFUSED_KEY)
        json_member_bool(o, "authorised", p->state == PROBE_GOOD);
    else
        json_member_null(o, "authorised");
    json_member_i64_or_null(o, "status", p->status ? p->status : -1);
    json_member_i64_or_null(o, "latency_ms", answered ? (int64_t)p->took_ms : -1);
    json_member_u64(o, "models_listed", p->listed);
    json_member_texts(o, "models_missing", p->missing, p->missing_count);
    json_member_str_or_null(o, "error", str_c(p->why));
    json_out_end(o);
}

void probe_write(struct json_out *o, const struct probe *all, size_t n)
{
    assert(n == 0 || all);
    json_out_array(o);
    for (size_t i = 0; i < n; i++)
        probe_write_one(o, &all[i]);
    json_out_end(o);
}
