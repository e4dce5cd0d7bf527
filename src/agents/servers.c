/* servers.c - the MCP servers of a process: one for each source, shared by all runs.
 *
 * A server outlives the configuration that named it if the next one has the same source, so its
 * settings are copied here.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/servers.h"

#include "agent/mcp_tools.h"

#define SERVER_ARENA ((size_t)1 << 20)

struct agents_server {
    struct agents_server *next;
    struct arena arena;
    str digest;
    struct secret headers;
    struct mcp_client *client;
    unsigned refs;
    bool retired; /* not in the current configuration: freed when no run uses it */
};

struct agents_servers {
    pthread_mutex_t lock; /* protects the members below */
    struct mcp_io *io;
    struct agents_server *first;
    /* The sources of the current configuration; unknown before the first reload. Runs with an older
     * configuration may use others. */
    struct arena arena;
    str *digests;
    size_t digest_count;
    bool reloaded;
};

struct agents_servers *agents_servers_new(void)
{
    struct agents_servers *s = base_alloc(sizeof *s);

    *s = (struct agents_servers){0};
    arena_init(&s->arena, SERVER_ARENA);
    pthread_mutex_init(&s->lock, NULL);
    return s;
}

static void agents_server_free(struct agents_server *v)
{
    assert(v->refs == 0);
    if (v->client)
        mcp_client_free(v->client);
    secret_release(&v->headers);
    arena_release(&v->arena);
    free(v);
}

void agents_servers_free(struct agents_servers *s)
{
    if (!s)
        return;
    while (s->first) {
        struct agents_server *v = s->first;

        s->first = v->next;
        agents_server_free(v);
    }
    if (s->io)
        mcp_io_free(s->io);
    arena_release(&s->arena);
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* Removes servers that are retired and unused from the list; under the lock. */
static struct agents_server *agents_servers_sweep(struct agents_servers *s)
{
    struct agents_server **at = &s->first, *out = NULL;

    while (*at) {
        struct agents_server *v = *at;

        if (v->refs == 0 && v->retired) {
            *at = v->next;
            v->next = out;
            out = v;
        } else {
            at = &v->next;
        }
    }
    return out;
}

static void agents_servers_free_list(struct agents_server *list)
{
    while (list) {
        struct agents_server *next = list->next;

        agents_server_free(list);
        list = next;
    }
}

/* Whether the current configuration lacks the source; under the lock. */
static bool agents_servers_retired(const struct agents_servers *s, str digest)
{
    assert(s->reloaded || !s->digest_count);
    for (size_t i = 0; i < s->digest_count; i++)
        if (str_eq(s->digests[i], digest))
            return false;
    return s->reloaded;
}

void agents_servers_reload(struct agents_servers *s, const struct config *c)
{
    struct agents_server *gone;

    pthread_mutex_lock(&s->lock);
    arena_reset(&s->arena);
    s->digest_count = c->agents->tools_count;
    s->digests = arena_zero(&s->arena, s->digest_count + 1, sizeof *s->digests);
    for (size_t i = 0; i < s->digest_count; i++)
        s->digests[i] = arena_dup(&s->arena, c->agents->tools[i].digest);
    s->reloaded = true;
    for (struct agents_server *v = s->first; v; v = v->next)
        v->retired = agents_servers_retired(s, v->digest);
    gone = agents_servers_sweep(s);
    pthread_mutex_unlock(&s->lock);
    agents_servers_free_list(gone);
}

/* Under the lock. */
static struct mcp_io *agents_servers_open_io(struct agents_servers *s, const struct config *c,
                                             struct err *e)
{
    if (!s->io)
        s->io = mcp_io_new(c->ca_file.n ? c->ca_file.p : NULL, e);
    return s->io;
}

struct mcp_io *agents_servers_io(struct agents_servers *s, const struct config *c, struct err *e)
{
    struct mcp_io *io;

    pthread_mutex_lock(&s->lock);
    io = agents_servers_open_io(s, c, e);
    pthread_mutex_unlock(&s->lock);
    return io;
}

static const char *const *agents_server_copy(struct arena *a, const char *const *list)
{
    const char **out;
    size_t n = 0;

    while (list[n])
        n++;
    out = arena_zero(a, n + 1, sizeof *out);
    for (size_t i = 0; i < n; i++)
        out[i] = arena_dup(a, str_c(list[i])).p;
    return out;
}

static struct agents_server *agents_server_new(struct mcp_io *io, const struct config_tools *t,
                                               struct err *e)
{
    struct agents_server *v = base_alloc(sizeof *v);
    struct mcp_client_options o = {.url = STR(""), .headers = STR("")};

    assert(t->kind == CONFIG_TOOLS_MCP);
    *v = (struct agents_server){.refs = 0};
    arena_init(&v->arena, SERVER_ARENA);
    v->digest = arena_dup(&v->arena, t->digest);
    if (secret_reveal(&t->headers).n == 0 ||
        secret_init(&v->headers, secret_reveal(&t->headers), e)) {
        o.headers = secret_reveal(&v->headers);
        if (t->argv) {
            o.argv = mcp_server_argv(agents_server_copy(&v->arena, t->argv), &v->arena);
            o.env = agents_server_copy(&v->arena, t->env);
            o.cwd = arena_dup(&v->arena, str_c(t->cwd)).p;
        } else {
            o.url = arena_dup(&v->arena, t->url);
        }
        v->client = mcp_client_new(io, &o, e);
    }
    if (v->client)
        return v;
    agents_server_free(v);
    return NULL;
}

struct agents_server *agents_server_take(struct agents_servers *s, const struct config *c,
                                         const struct config_tools *t, struct err *e)
{
    struct agents_server *v;
    struct mcp_io *io;

    pthread_mutex_lock(&s->lock);
    for (v = s->first; v && !str_eq(v->digest, t->digest);)
        v = v->next;
    if (!v) {
        io = agents_servers_open_io(s, c, e);
        v = io ? agents_server_new(io, t, e) : NULL;
        if (v) {
            v->retired = agents_servers_retired(s, v->digest);
            v->next = s->first;
            s->first = v;
        }
    }
    assert(!v || v->client);
    if (v)
        v->refs++;
    pthread_mutex_unlock(&s->lock);
    return v;
}

void agents_server_give(struct agents_servers *s, struct agents_server *v)
{
    struct agents_server *gone;

    if (!v)
        return;
    pthread_mutex_lock(&s->lock);
    assert(v->refs > 0);
    v->refs--;
    gone = agents_servers_sweep(s);
    pthread_mutex_unlock(&s->lock);
    agents_servers_free_list(gone);
}

struct mcp_client *agents_server_client(const struct agents_server *v)
{
    return v ? v->client : NULL;
}
