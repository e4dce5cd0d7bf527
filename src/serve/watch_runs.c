/* watch_runs.c - the table of runs, and the routes that open and count them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/watch_runs.h"

#include "base/sha256.h"
#include "serve/internal.h"

#include <signal.h>
#include <unistd.h>

#define RUN_ARENA_MAX ((size_t)1 << 20)
#define UNUSED_MS 60000 /* how long a temporary daemon waits for its first run */
#define URL_MAX 2048

/* A run that a connection holds open. */
struct watch_hold {
    struct exchange *ex;
    struct watch_run *run;
    struct watch_hold *next;
    char login[65]; /* the code of its link; "": none */
};

struct watch_runs {
    pthread_mutex_t lock; /* protects `runs`, `count` and `over` */
    struct watch_run *runs[WATCH_RUNS_MAX];
    size_t count;
    bool temporary, over; /* over: the daemon is about to end, and accepts no more runs */
    struct loop_timer unused;
};

struct watch_runs *watch_runs_new(bool temporary)
{
    struct watch_runs *all = base_alloc(sizeof *all);

    memset(all, 0, sizeof *all);
    pthread_mutex_init(&all->lock, NULL);
    all->temporary = temporary;
    return all;
}

void watch_run_release(struct watch_run *r)
{
    assert(r->refs > 0);
    if (atomic_fetch_sub(&r->refs, 1) > 1)
        return;
    arena_release(&r->arena);
    free(r);
}

void watch_runs_free(struct watch_runs *all)
{
    if (!all)
        return;
    for (size_t i = 0; i < all->count; i++)
        watch_run_release(all->runs[i]);
    pthread_mutex_destroy(&all->lock);
    free(all);
}

void watch_runs_stop(struct watch_runs *all)
{
    pthread_mutex_lock(&all->lock);
    all->over = true;
    pthread_mutex_unlock(&all->lock);
}

/* Ends a temporary daemon without runs: SIGTERM drains it, as if a person had sent the signal. */
static void watch_runs_end_unused(void *ctx)
{
    struct watch_runs *all = ctx;
    bool ends;

    pthread_mutex_lock(&all->lock);
    ends = all->temporary && all->count == 0 && !all->over;
    all->over |= ends;
    pthread_mutex_unlock(&all->lock);
    if (ends)
        (void)kill(getpid(), SIGTERM);
}

void watch_runs_begin(struct worker *w)
{
    struct watch_runs *all = w->daemon->watch_runs;

    if (!all->temporary)
        return;
    loop_timer_init(&all->unused, watch_runs_end_unused, all);
    loop_timer_set(w->gl.loop, &all->unused, UNUSED_MS);
}

struct watch_run *watch_run_find(struct watch_runs *all, str id)
{
    struct watch_run *found = NULL;

    if (id.n != WATCH_RUN_ID_SIZE - 1)
        return NULL;
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < all->count; i++)
        if (mem_equal_ct(all->runs[i]->id, id.p, id.n))
            found = all->runs[i];
    if (found)
        atomic_fetch_add(&found->refs, 1);
    pthread_mutex_unlock(&all->lock);
    return found;
}

bool watch_run_target(const struct watch_run *r, const struct watched_upstream *u,
                      struct client_url *out)
{
    struct err e;

    for (size_t i = 0; i < r->target_count; i++)
        if (r->targets[i].upstream == u) {
            *out = r->targets[i].url;
            return true;
        }
    return client_url_parse(str_c(u->url), out, &e);
}

static bool watch_runs_add(struct watch_runs *all, struct watch_run *r)
{
    bool room;

    assert(r->refs == 1);
    pthread_mutex_lock(&all->lock);
    room = all->count < WATCH_RUNS_MAX && !all->over;
    if (room)
        all->runs[all->count++] = r;
    pthread_mutex_unlock(&all->lock);
    return room;
}

static void watch_runs_remove(struct watch_runs *all, struct watch_run *r)
{
    pthread_mutex_lock(&all->lock);
    for (size_t i = 0; i < all->count; i++)
        if (all->runs[i] == r) {
            all->runs[i] = all->runs[--all->count];
            break;
        }
    pthread_mutex_unlock(&all->lock);
    watch_run_release(r);
    watch_runs_end_unused(all);
}

/* ---- opening ---- */

static struct watch_run *watch_run_new(const struct exchange *ex)
{
    struct watch_run *r = base_alloc(sizeof *r);
    unsigned char bytes[(WATCH_RUN_ID_SIZE - 1) / 2];

    memset(r, 0, sizeof *r);
    arena_init(&r->arena, RUN_ARENA_MAX);
    r->refs = 1;
    r->key_name = ex->key ? arena_dup(&r->arena, ex->key->name) : STR("");
    rand_os(bytes, sizeof bytes);
    for (size_t i = 0; i < sizeof bytes; i++)
        (void)snprintf(r->id + 2 * i, 3, "%02x", bytes[i]);
    return r;
}

static bool watch_run_add_target(struct exchange *ex, struct watch_run *r,
                                 const struct json_node *name, const struct json_node *value)
{
    struct watch_target *t = &r->targets[r->target_count];
    struct arena *a = server_arena(ex->x);
    str text = STR(""), url;
    struct err e;

    assert(r->targets);
    if (!json_text(&ex->doc, name, a, &text) || !(t->upstream = watched_upstream_find(text))) {
        exchange_fail(ex,
                      400,
                      "unknown_upstream",
                      "upstreams: \"" STR_FMT "\" is not known",
                      STR_ARG(str_slice(text, 0, WATCHED_NAME_MAX)));
        return false;
    }
    if (!json_text(&ex->doc, value, a, &url) || url.n > URL_MAX ||
        !client_url_parse(arena_dup(&r->arena, url), &t->url, &e)) {
        exchange_fail(ex,
                      400,
                      "invalid_url",
                      "upstreams: %s must be an http or https URL without "
                      "user, query and fragment",
                      t->upstream->name);
        return false;
    }
    r->target_count++;
    return true;
}

static bool watch_run_read(struct exchange *ex, struct watch_run *r)
{
    const struct json_node *all;

    if (!exchange_json(ex))
        return false;
    if (json_root(&ex->doc)->kind != JSON_OBJECT) {
        exchange_fail(ex, 400, "invalid_request", "body: must be an object, such as {}");
        return false;
    }
    all = json_find(&ex->doc, json_root(&ex->doc), STR("upstreams"));
    if (!all)
        return true;
    if (all->kind != JSON_OBJECT || json_count(&ex->doc, all) > WATCHED_NAME_MAX) {
        exchange_fail(ex, 400, "invalid_request", "upstreams: must be an object of names and URLs");
        return false;
    }
    if (json_count(&ex->doc, all) > 0 && !api_operator(ex)) {
        exchange_fail(ex,
                      403,
                      "operator_needed",
                      "upstreams: only a key with role operator may name addresses");
        return false;
    }
    r->targets = arena_zero(&r->arena, json_count(&ex->doc, all) + 1, sizeof *r->targets);
    JSON_FOREACH(k, &ex->doc, all)
        if (!watch_run_add_target(ex, r, k, json_value(k)))
            return false;
    return true;
}

static void watch_hold_end(struct watch_hold *h)
{
    struct worker *w = h->ex->worker;
    struct watch_hold **at = &w->watch_holds;

    assert(w->watch_holds);
    while (*at != h)
        at = &(*at)->next;
    *at = h->next;
    if (h->login[0])
        login_code_drop(w->daemon->login, str_c(h->login));
    watch_runs_remove(w->daemon->watch_runs, h->run);
}

static void watch_hold_on_gone(struct exchange *ex)
{
    watch_hold_end(ex->job);
}

void watch_runs_drain(struct worker *w)
{
    while (w->watch_holds) {
        struct watch_hold *h = w->watch_holds;
        struct exchange *ex = h->ex;
        struct server_exchange *x = ex->x;

        watch_hold_end(h);
        exchange_done(ex);
        server_leave(x);
    }
}

static void watch_hold_begin(struct exchange *ex, struct watch_run *r)
{
    struct watch_hold *h = arena_alloc(server_arena(ex->x), sizeof *h);
    char line[WATCH_RUN_ID_SIZE + 128];
    int n;

    assert(!ex->job);
    *h = (struct watch_hold){ex, r, ex->worker->watch_holds, ""};
    if (ex->key)
        (void)login_code_new(ex->worker->daemon->login, ex->key, h->login);
    n = snprintf(line, sizeof line, "{\"run\":\"%s\",\"login\":\"%s\"}\n", r->id, h->login);
    assert(n > 0 && (size_t)n < sizeof line);
    ex->worker->watch_holds = h;
    ex->job = h;
    ex->on_gone = watch_hold_on_gone;
    ex->status = 200;
    exchange_header(ex, STR("content-type"), STR("application/x-ndjson"));
    api_protect(ex);
    server_head(ex->x, 200, ex->headers, ex->header_count);
    server_write(ex->x, (str){line, (size_t)n});
}

void watch_open_handle(struct exchange *ex)
{
    struct watch_run *r;

    r = watch_run_new(ex);
    if (!watch_run_read(ex, r)) {
        watch_run_release(r);
    } else if (!watch_runs_add(ex->worker->daemon->watch_runs, r)) {
        watch_run_release(r);
        exchange_fail(ex,
                      503,
                      "no_room",
                      "the gateway is about to end, or %d agents are watched already",
                      WATCH_RUNS_MAX);
    } else {
        watch_hold_begin(ex, r);
    }
}

void watch_count_handle(struct exchange *ex)
{
    struct watch_run *r = watch_run_find(ex->worker->daemon->watch_runs, ex->rest);
    char body[80];
    int n;

    if (!r) {
        exchange_fail(ex, 404, "not_found", "no agent is watched under this id");
        return;
    }
    n = snprintf(body,
                 sizeof body,
                 "{\"calls\":%llu,\"tool_calls\":%llu}",
                 (unsigned long long)r->calls,
                 (unsigned long long)r->tool_calls);
    watch_run_release(r);
    assert(n > 0 && (size_t)n < sizeof body);
    exchange_reply(ex, 200, STR("application/json"), (str){body, (size_t)n});
}
