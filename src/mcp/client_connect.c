/* client_connect.c - finds out a server's era and connects: starts the process, the session and the
 * listener.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/log.h"
#include "mcp/client_state.h"

#include <unistd.h>

#define PROBE_MS 5000 /* a server that is silent for this long is of the legacy era */
#define MINUTE_NS (60000ull * CLOCK_NS_PER_MS)

static void mcp_set_era(struct mcp_client *c, enum mcp_era era, str version)
{
    assert(version.n < sizeof c->version);
    pthread_mutex_lock(&c->lock);
    c->era = era;
    (void)snprintf(c->version, sizeof c->version, STR_FMT, STR_ARG(str_slice(version, 0, 31)));
    pthread_mutex_unlock(&c->lock);
}

static bool mcp_is_modern_error(int64_t code)
{
    return code == MCP_HEADER_MISMATCH || code == MCP_MISSING_CAPABILITY ||
           code == MCP_UNSUPPORTED_VERSION;
}

bool mcp_lists_version(str json, str key, str version)
{
    const struct json_node *list;
    struct json doc;
    struct err e;
    bool found = false;

    json_init(&doc);
    if (json.n && json_parse(&doc, json, &e)) {
        list = json_find(&doc, json_root(&doc), key);
        JSON_FOREACH_ITEM(v, &doc, list)
            found = found || json_is(&doc, v, version);
    }
    json_release(&doc);
    return found;
}

static bool mcp_tells_changes(str json)
{
    const struct json_node *flag;
    struct json doc;
    struct err e;
    bool tells = false;

    if (json_open(&doc, json, &e)) {
        flag = json_pointer(&doc, STR("/capabilities/tools/listChanged"));
        tells = flag && flag->kind == JSON_TRUE;
    }
    json_release(&doc);
    return tells;
}

struct mcp_pipe *mcp_client_take_pipe(struct mcp_client *c)
{
    struct mcp_pipe *p;

    for (;;) { /* calls that wait for a dead server get an error and return */
        pthread_mutex_lock(&c->lock);
        if (c->users == 0)
            break;
        pthread_mutex_unlock(&c->lock);
        (void)usleep(1000);
    }
    p = c->pipe;
    c->pipe = NULL;
    pthread_mutex_unlock(&c->lock);
    return p;
}

static bool mcp_client_spawn_server(struct mcp_client *c, struct err *e)
{
    static const char *const usual[] = {"PATH=/usr/local/bin:/usr/bin:/bin", NULL};
    struct mcp_pipe_spec spec = {
        .argv = c->o.argv, .env = c->o.env ? c->o.env : usual, .cwd = c->o.cwd};
    uint64_t now = clock_mono_ns(&clock_real);
    struct mcp_pipe *p;

    if (c->restarts_ns[0] && now - c->restarts_ns[0] < MINUTE_NS)
        return err_set(
            e, ERR_UPSTREAM, "the MCP server has ended %d times in a minute", MCP_RESTARTS_MAX);
    memmove(c->restarts_ns, c->restarts_ns + 1, (MCP_RESTARTS_MAX - 1) * sizeof c->restarts_ns[0]);
    c->restarts_ns[MCP_RESTARTS_MAX - 1] = now;
    p = mcp_client_take_pipe(c);
    assert(!c->pipe);
    if (p)
        mcp_pipe_free(p);
    p = mcp_pipe_new(c->io, &spec, mcp_on_other, c, e);
    pthread_mutex_lock(&c->lock);
    c->pipe = p;
    pthread_mutex_unlock(&c->lock);
    return p != NULL;
}

static bool mcp_begin_legacy(struct mcp_client *c, struct mcp_exchange *x, struct err *e)
{
    str version = c->o.version.n ? c->o.version : STR(MCP_LEGACY), got;
    struct buf b;
    struct json doc;
    bool ok;

    mcp_set_era(c, MCP_ERA_LEGACY, STR(""));
    x->method = STR("initialize");
    x->name = STR("");
    buf_init(&b, 65536);
    buf_add(&b, STR("{\"protocolVersion\":"));
    (void)json_quote(&b, version);
    buf_add(&b, STR(",\"clientInfo\":" MCP_CLIENT_INFO ",\"capabilities\":"));
    mcp_put_client_capabilities(c, &b);
    buf_add_c(&b, '}');
    ok = mcp_exchange_new(c, x, buf_str(&b), e);
    buf_release(&b);
    if (ok && x->is_error)
        ok = err_set(e,
                     x->status == 401 || x->status == 403 ? ERR_AUTH : ERR_UPSTREAM,
                     "initialize: " STR_FMT,
                     STR_ARG(str_slice(x->text, 0, 180)));
    if (!ok)
        return false;
    ok = json_open(&doc, x->result, e);
    got = ok ? mcp_member(&doc, json_root(&doc), STR("protocolVersion"), x->arena) : STR("");
    json_release(&doc);
    if (!mcp_legacy_version(got))
        return err_set(e,
                       ERR_UPSTREAM,
                       "the MCP server wants version \"" STR_FMT "\", which we do not speak",
                       STR_ARG(str_slice(got, 0, 30)));
    mcp_set_era(c, MCP_ERA_LEGACY, got);
    return mcp_notify(c,
                      STR("{\"jsonrpc\":\"2.0\",\"method\":\"notifications/initialized\"}"),
                      STR("notifications/initialized"),
                      mcp_deadline(x->idle_ms, x->end_ns),
                      x->cancel,
                      e);
}

/* True: connected, modern. False with ERR_NONE: the server is of the legacy era. */
static bool mcp_client_probe_era(struct mcp_client *c, struct mcp_exchange *x, struct err *e)
{
    bool ok;

    assert(c->o.url.n || c->pipe);
    e->code = ERR_NONE;
    mcp_set_era(c, MCP_ERA_MODERN, STR(MCP_MODERN));
    x->method = STR("server/discover");
    x->idle_ms = PROBE_MS;
    ok = mcp_exchange_new(c, x, STR("{}"), e);
    if (!ok) {
        bool silent = !c->o.url.n && (e->code == ERR_TIMEOUT || !mcp_pipe_alive(c->pipe));

        if (silent && mcp_pipe_alive(c->pipe))
            e->code = ERR_NONE;
        else if (silent && mcp_client_spawn_server(c, e)) /* the server ended when it was asked */
            e->code = ERR_NONE;
        return false;
    }
    if (!x->is_error) {
        c->tells_changes = mcp_tells_changes(x->result);
        return mcp_lists_version(x->result, STR("supportedVersions"), STR(MCP_MODERN));
    }
    if (x->status == 401 || x->status == 403)
        return err_set(e, ERR_AUTH, STR_FMT, STR_ARG(str_slice(x->text, 0, 200)));
    if (x->code == MCP_UNSUPPORTED_VERSION)
        return mcp_lists_version(x->data, STR("supported"), STR(MCP_MODERN));
    return mcp_is_modern_error(x->code);
}

/* Over HTTP, changes arrive on a separate stream; on stdio, on a request that stays open. */
static void mcp_begin_listening(struct mcp_client *c, struct mcp_exchange *x)
{
    bool legacy = mcp_client_era(c) == MCP_ERA_LEGACY;
    struct buf params, out;
    struct err e;

    assert(mcp_client_era(c) != MCP_ERA_UNKNOWN);
    if (c->o.url.n && (legacy || c->tells_changes))
        mcp_listen_start(c);
    if (c->o.url.n || legacy || !c->tells_changes)
        return;
    buf_init(&params, 65536);
    buf_init(&out, 65536);
    mcp_put_params(
        c, STR("{\"notifications\":{\"toolsListChanged\":true}}"), STR("\"listen\""), &params);
    mcp_emit_request(&out, STR("\"listen\""), STR("subscriptions/listen"), buf_str(&params));
    if (!mcp_notify(c, buf_str(&out), STR(""), mcp_deadline(x->idle_ms, x->end_ns), x->cancel, &e))
        log_debug("mcp server is not listened to", LOG_ERR(&e));
    buf_release(&out);
    buf_release(&params);
}

/* A program that starts slowly, for example because npx downloads it, answers the probe late. If it
 * is modern, it refuses the `initialize` that followed, and the client probes it again. */
static bool mcp_find_era(struct mcp_client *c, struct mcp_exchange *x, struct err *e)
{
    uint64_t idle_ms = x->idle_ms;
    struct err again;
    bool ok = mcp_client_probe_era(c, x, e), silent = !ok && e->code == ERR_NONE && !x->is_error;

    x->idle_ms = idle_ms;
    if (!ok && e->code == ERR_NONE)
        ok = mcp_begin_legacy(c, x, e);
    if (!ok && silent && !c->o.url.n && mcp_pipe_alive(c->pipe))
        ok = mcp_client_probe_era(c, x, &again);
    x->idle_ms = idle_ms;
    return ok;
}

static bool connect_now(struct mcp_client *c, uint64_t end_ns, const _Atomic bool *cancel,
                        struct err *e)
{
    struct arena a;
    struct mcp_exchange x = {.name = STR(""), .end_ns = end_ns, .cancel = cancel, .arena = &a};
    uint64_t now = clock_mono_ns(&clock_real);
    bool ok = true;

    arena_init(&a, 4 * MCP_MESSAGE_MAX);
    x.idle_ms = end_ns > now ? (end_ns - now) / CLOCK_NS_PER_MS : 0;
    mcp_listen_stop(c);
    assert(!c->listener);
    pthread_mutex_lock(&c->lock);
    c->session[0] = 0;
    pthread_mutex_unlock(&c->lock);
    if (!c->o.url.n && (!c->pipe || !mcp_pipe_alive(c->pipe)))
        ok = mcp_client_spawn_server(c, e);
    if (ok && c->era == MCP_ERA_MODERN) {
        mcp_set_era(c, MCP_ERA_MODERN, STR(MCP_MODERN));
    } else if (ok && c->era == MCP_ERA_LEGACY) {
        ok = mcp_begin_legacy(c, &x, e);
    } else if (ok) {
        ok = mcp_find_era(c, &x, e);
        if (!ok)
            mcp_set_era(c, MCP_ERA_UNKNOWN, STR(""));
    }
    pthread_mutex_lock(&c->lock);
    c->ready = ok;
    pthread_mutex_unlock(&c->lock);
    if (ok) {
        atomic_store(&c->stale, true);
        mcp_begin_listening(c, &x);
    }
    arena_release(&a);
    return ok;
}

static bool mcp_is_ready(struct mcp_client *c)
{
    bool ready;

    pthread_mutex_lock(&c->lock);
    ready = c->ready && (c->o.url.n || (c->pipe && mcp_pipe_alive(c->pipe)));
    pthread_mutex_unlock(&c->lock);
    return ready;
}

bool mcp_ready(struct mcp_client *c, uint64_t end_ns, const _Atomic bool *cancel, struct err *e)
{
    bool ok;

    if (mcp_is_ready(c))
        return true;
    if (!mcp_lock_until(&c->connecting, end_ns, cancel, e))
        return false;
    ok = mcp_is_ready(c) || connect_now(c, end_ns, cancel, e);
    pthread_mutex_unlock(&c->connecting);
    return ok;
}

bool mcp_client_connect(struct mcp_client *c, int64_t timeout_ms, struct err *e)
{
    return mcp_ready(c, clock_deadline_ns(&clock_real, timeout_ms), NULL, e);
}
