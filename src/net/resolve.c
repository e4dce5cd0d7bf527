/* resolve.c - see resolve.h.
 *
 * Ownership: a job is a name being looked up, with a list of asks, all protected by one lock. A
 * finished job posts its asks to their loops, still under the lock; from then on an ask belongs to
 * its loop. So resolver_drop, under the lock, finds an ask either in its job, and removes it, or
 * posted, and only marks it. Nothing is posted to a loop after its asks are dropped.
 *
 * getaddrinfo cannot be interrupted. So the threads are detached, and the last user, a thread or
 * resolver_free, frees the resolver.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/resolve.h"

#include "net/stream.h"

#include <arpa/inet.h>
#include <netdb.h>
#include <signal.h>
#include <sys/socket.h>

#define THREADS_MAX 64
#define THREAD_STACK_SIZE ((size_t)512 * 1024)

struct job {
    char host[RESOLVE_HOST_MAX + 1];
    struct resolver_ask *asks;
    struct job *next;
};

struct resolver_ask {
    struct loop_task task; /* first posted, then called */
    struct resolver *resolver;
    struct loop *loop;
    struct job *job; /* NULL once it was posted */
    struct resolver_ask *next;
    void (*on_answer)(void *ctx, const struct resolve_addrs *addrs, const struct err *e);
    void *ctx;
    bool ok, dropped;
    struct resolve_addrs addrs;
    struct err err;
};

struct memory {
    char host[RESOLVE_HOST_MAX + 1];
    uint64_t until_ns;
    struct resolve_addrs addrs;
};

struct resolver {
    struct resolver_options options;
    pthread_mutex_t lock;
    pthread_cond_t more;
    unsigned uses; /* threads, and the owner */
    bool stopping;
    struct job *waiting, **waiting_end; /* in the order they came */
    struct job *running;
    size_t job_count;
    size_t memory_count;
    struct memory memory[RESOLVE_MEMORY_MAX];
};

/* Addresses. */

bool resolve_literal(str host, struct resolve_addrs *out)
{
    struct resolve_addr a = {0};
    char text[INET6_ADDRSTRLEN];

    if (host.n >= sizeof text)
        return false;
    memcpy(text, host.p, host.n);
    text[host.n] = 0;
    if (inet_pton(AF_INET, text, &a.at.v4.sin_addr) == 1) {
        a.at.v4.sin_family = AF_INET;
        a.size = sizeof a.at.v4;
    } else {
        if (inet_pton(AF_INET6, text, &a.at.v6.sin6_addr) != 1)
            return false;
        a.at.v6.sin6_family = AF_INET6;
        a.size = sizeof a.at.v6;
    }
    out->n = 1;
    out->addr[0] = a;
    return true;
}

void resolve_set_port(struct resolve_addr *a, unsigned port)
{
    assert(port <= UINT16_MAX);
    if (a->at.any.sa_family == AF_INET)
        a->at.v4.sin_port = htons((uint16_t)port);
    else
        a->at.v6.sin6_port = htons((uint16_t)port);
}

void resolve_take_turns(struct resolve_addrs *addrs)
{
    assert(addrs->n <= RESOLVE_ADDRS_MAX);
    for (size_t i = 1; i < addrs->n; i++) {
        size_t j = i;
        struct resolve_addr found;

        while (j < addrs->n &&
               addrs->addr[j].at.any.sa_family == addrs->addr[i - 1].at.any.sa_family)
            j++;
        if (j == addrs->n)
            return;
        found = addrs->addr[j];
        memmove(&addrs->addr[i + 1], &addrs->addr[i], (j - i) * sizeof found);
        addrs->addr[i] = found;
    }
}

static bool resolver_system_lookup(void *ctx, const char *host, struct resolve_addrs *out,
                                   struct err *e)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *list = NULL;
    int code;

    (void)ctx;
    tls_load_authorities(); /* the connection that follows is nearly always encrypted */
    code = getaddrinfo(host, NULL, &hints, &list);
    if (code != 0)
        return err_set(e,
                       ERR_UPSTREAM,
                       "the host %s is not found: %s",
                       host,
                       code == EAI_SYSTEM ? "the system failed" : gai_strerror(code));
    out->n = 0;
    for (struct addrinfo *i = list; i && out->n < RESOLVE_ADDRS_MAX; i = i->ai_next) {
        struct resolve_addr *a = &out->addr[out->n];

        if (i->ai_addrlen > sizeof a->at)
            continue;
        *a = (struct resolve_addr){.size = i->ai_addrlen};
        memcpy(&a->at, i->ai_addr, i->ai_addrlen);
        out->n++;
    }
    freeaddrinfo(list);
    if (out->n == 0)
        return err_set(e, ERR_UPSTREAM, "the host %s has no address", host);
    resolve_take_turns(out);
    return true;
}

/* Memory. All of it under the lock. */

static bool resolver_is_host(const char *kept, str host)
{
    return strlen(kept) == host.n && memcmp(kept, host.p, host.n) == 0;
}

static struct memory *resolve_find(struct resolver *r, str host)
{
    for (size_t i = 0; i < r->memory_count; i++)
        if (resolver_is_host(r->memory[i].host, host))
            return &r->memory[i];
    return NULL;
}

static void resolve_remember(struct resolver *r, const char *host,
                             const struct resolve_addrs *addrs)
{
    struct memory *m = resolve_find(r, str_c(host));

    assert(r->memory_count <= RESOLVE_MEMORY_MAX);
    if (!m && r->memory_count < RESOLVE_MEMORY_MAX) {
        m = &r->memory[r->memory_count++];
    } else if (!m) {
        m = &r->memory[0];
        for (size_t i = 1; i < RESOLVE_MEMORY_MAX; i++)
            if (r->memory[i].until_ns < m->until_ns)
                m = &r->memory[i];
    }
    memcpy(m->host, host, strlen(host) + 1);
    m->until_ns = clock_deadline_ns(r->options.clock, RESOLVE_MEMORY_MS);
    m->addrs = *addrs;
}

bool resolver_known(struct resolver *r, str host, struct resolve_addrs *out)
{
    struct memory *m;
    bool known;

    pthread_mutex_lock(&r->lock);
    m = resolve_find(r, host);
    known = m && clock_mono_ns(r->options.clock) < m->until_ns;
    if (known)
        *out = m->addrs;
    pthread_mutex_unlock(&r->lock);
    return known;
}

void resolver_forget(struct resolver *r, str host)
{
    struct memory *m;

    pthread_mutex_lock(&r->lock);
    m = resolve_find(r, host);
    assert(!m || r->memory_count > 0);
    if (m)
        *m = r->memory[--r->memory_count];
    pthread_mutex_unlock(&r->lock);
}

/* Asks. */

static void resolver_on_posted(void *ctx)
{
    struct resolver_ask *ask = ctx;

    if (!ask->dropped)
        ask->on_answer(ask->ctx, ask->ok ? &ask->addrs : NULL, ask->ok ? NULL : &ask->err);
    free(ask);
}

static struct job *resolver_find_job(struct job *list, str host)
{
    for (; list; list = list->next)
        if (resolver_is_host(list->host, host))
            return list;
    return NULL;
}

static struct job *resolver_add_job(struct resolver *r, str host)
{
    struct job *j = base_alloc(sizeof *j);

    assert(host.n < sizeof j->host && !*r->waiting_end);
    *j = (struct job){0};
    memcpy(j->host, host.p, host.n);
    *r->waiting_end = j;
    r->waiting_end = &j->next;
    r->job_count++;
    pthread_cond_signal(&r->more);
    return j;
}

struct resolver_ask *resolver_ask(struct resolver *r, struct loop *l, str host,
                                  void (*on_answer)(void *ctx, const struct resolve_addrs *addrs,
                                                    const struct err *e),
                                  void *ctx)
{
    struct resolver_ask *ask = base_alloc(sizeof *ask);
    struct job *j = NULL;

    *ask = (struct resolver_ask){.resolver = r, .loop = l, .on_answer = on_answer, .ctx = ctx};
    loop_task_init(&ask->task, resolver_on_posted, ask);
    pthread_mutex_lock(&r->lock);
    if (host.n == 0 || host.n > RESOLVE_HOST_MAX || memchr(host.p, 0, host.n)) {
        err_input(&ask->err, "a host name has 1 to %d bytes", RESOLVE_HOST_MAX);
    } else {
        j = resolver_find_job(r->running, host);
        if (!j)
            j = resolver_find_job(r->waiting, host);
        if (!j && r->job_count < RESOLVE_PENDING_MAX)
            j = resolver_add_job(r, host);
        if (!j)
            err_set(&ask->err, ERR_LIMIT, "too many host names are being looked up");
    }
    if (j) {
        ask->job = j;
        ask->next = j->asks;
        j->asks = ask;
    } else {
        loop_post(l, &ask->task);
    }
    pthread_mutex_unlock(&r->lock);
    return ask;
}

void resolver_drop(struct resolver_ask *ask)
{
    struct resolver *r = ask->resolver;
    struct resolver_ask **at;
    bool posted;

    pthread_mutex_lock(&r->lock);
    posted = !ask->job;
    if (!posted) {
        for (at = &ask->job->asks; *at != ask; at = &(*at)->next)
            assert(*at);
        *at = ask->next;
    }
    pthread_mutex_unlock(&r->lock);
    if (posted)
        ask->dropped = true;
    else
        free(ask);
}

/* Threads. */

static struct job *resolve_next_job(struct resolver *r)
{
    struct job *j = r->waiting;

    assert(j && r->job_count > 0);
    r->waiting = j->next;
    if (!r->waiting)
        r->waiting_end = &r->waiting;
    j->next = r->running;
    r->running = j;
    return j;
}

static void resolver_end_job(struct resolver *r, struct job *j, const struct resolve_addrs *addrs,
                             const struct err *e)
{
    struct job **at = &r->running;
    struct resolver_ask *ask, *next;

    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    assert(r->job_count > 0);
    r->job_count--;
    if (addrs)
        resolve_remember(r, j->host, addrs);
    for (ask = j->asks; ask; ask = next) {
        next = ask->next;
        ask->job = NULL;
        ask->ok = addrs != NULL;
        if (addrs)
            ask->addrs = *addrs;
        else
            ask->err = *e;
        loop_post(ask->loop, &ask->task);
    }
    free(j);
}

/* With the lock held; it is gone afterwards. */
static void resolve_leave(struct resolver *r)
{
    bool last = --r->uses == 0;
    struct job *j, *next;

    pthread_mutex_unlock(&r->lock);
    if (!last)
        return;
    for (j = r->waiting; j; j = next) {
        next = j->next;
        free(j);
    }
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->more);
    free(r);
}

static void *resolve_run(void *ctx)
{
    struct resolver *r = ctx;

    pthread_mutex_lock(&r->lock);
    for (;;) {
        struct resolve_addrs addrs;
        struct job *j;
        struct err e;
        bool ok;

        while (!r->waiting && !r->stopping)
            pthread_cond_wait(&r->more, &r->lock);
        if (r->stopping)
            break;
        j = resolve_next_job(r);
        pthread_mutex_unlock(&r->lock);
        ok = r->options.lookup(r->options.ctx, j->host, &addrs, &e);
        pthread_mutex_lock(&r->lock);
        resolver_end_job(r, j, ok ? &addrs : NULL, &e);
    }
    resolve_leave(r);
    return NULL;
}

/* Detached and without signals; 0, or the error of pthread_create. */
static int resolve_start_thread(void *(*run)(void *ctx), void *ctx)
{
    sigset_t all, before;
    pthread_attr_t attr;
    pthread_t thread;
    int code;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    if (pthread_attr_init(&attr) != 0)
        base_die("a thread's attributes cannot be made");
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    pthread_attr_setstacksize(&attr, THREAD_STACK_SIZE);
    code = pthread_create(&thread, &attr, run, ctx);
    pthread_attr_destroy(&attr);
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    return code;
}

static bool resolve_err_from_code(int code, struct err *e)
{
    return code == 0 || err_set(e,
                                ERR_SYSTEM,
                                "a thread to look up names cannot be made: %s",
                                strerrordesc_np(code));
}

static bool resolve_start_threads(struct resolver *r, struct err *e)
{
    unsigned threads = r->options.threads ? r->options.threads : 1;
    int code = 0;

    pthread_mutex_lock(&r->lock);
    for (unsigned i = 0; i < threads && i < THREADS_MAX && code == 0; i++) {
        code = resolve_start_thread(resolve_run, r);
        if (code == 0)
            r->uses++;
    }
    pthread_mutex_unlock(&r->lock);
    return resolve_err_from_code(code, e);
}

struct resolver *resolver_new_by(const struct resolver_options *o, struct err *e)
{
    struct resolver *r = base_alloc_zero(sizeof *r);

    r->options = *o;
    if (!r->options.lookup)
        r->options.lookup = resolver_system_lookup;
    if (!r->options.clock)
        r->options.clock = &clock_real;
    r->waiting_end = &r->waiting;
    r->uses = 1;
    pthread_mutex_init(&r->lock, NULL);
    pthread_cond_init(&r->more, NULL);
    if (resolve_start_threads(r, e))
        return r;
    resolver_free(r);
    return NULL;
}

struct resolver *resolver_new(unsigned threads, struct err *e)
{
    return resolver_new_by(&(struct resolver_options){.threads = threads}, e);
}

void resolver_free(struct resolver *r)
{
    if (!r)
        return;
    pthread_mutex_lock(&r->lock);
    r->stopping = true;
    pthread_cond_broadcast(&r->more);
    resolve_leave(r);
}

/* One name, for a thread that waits. */

#define LOOK_MS 50 /* how often the wait looks at *cancel */

struct lookup {
    resolver_lookup *fn;
    void *ctx;
    char host[RESOLVE_HOST_MAX + 1];
    pthread_mutex_t lock;
    pthread_cond_t done;
    unsigned uses; /* the thread of the lookup, and the thread that waits */
    bool ended, ok;
    struct resolve_addrs addrs;
    struct err err;
};

/* With the lock held; it is gone afterwards. */
static void lookup_leave(struct lookup *l)
{
    bool last = --l->uses == 0;

    assert(l->uses < 2);
    pthread_mutex_unlock(&l->lock);
    if (!last)
        return;
    pthread_mutex_destroy(&l->lock);
    pthread_cond_destroy(&l->done);
    free(l);
}

static void *lookup_run(void *ctx)
{
    struct lookup *l = ctx;
    bool ok = l->fn(l->ctx, l->host, &l->addrs, &l->err);

    pthread_mutex_lock(&l->lock);
    l->ok = ok;
    l->ended = true;
    pthread_cond_signal(&l->done);
    lookup_leave(l);
    return NULL;
}

/* Locked. False: the time is over, or it is cancelled. */
static bool lookup_wait(struct lookup *l, const struct stream_until *until, struct err *e)
{
    while (!l->ended) {
        if (until->cancel && atomic_load(until->cancel))
            return err_set(e, ERR_CANCELLED, "interrupted");
        if (clock_left_ms(&clock_real, until->deadline_ns) == 0)
            return err_set(e, ERR_TIMEOUT, "the host %s is not found in time", l->host);
        (void)clock_cond_wait(&l->done, &l->lock, clock_deadline_ns(&clock_real, LOOK_MS));
    }
    return true;
}

bool resolve_wait(resolver_lookup *lookup, void *ctx, str host, const struct stream_until *until,
                  struct resolve_addrs *out, struct err *e)
{
    struct lookup *l;
    int code;
    bool ok;

    if (resolve_literal(host, out))
        return true;
    l = base_alloc(sizeof *l);
    *l = (struct lookup){.fn = lookup ? lookup : resolver_system_lookup, .ctx = ctx, .uses = 2};
    assert(host.n <= RESOLVE_HOST_MAX);
    memcpy(l->host, host.p, host.n);
    pthread_mutex_init(&l->lock, NULL);
    clock_cond_init(&l->done);
    pthread_mutex_lock(&l->lock);
    code = resolve_start_thread(lookup_run, l);
    if (code != 0)
        l->uses--;
    ok = resolve_err_from_code(code, e) && lookup_wait(l, until, e);
    if (ok && l->ok)
        *out = l->addrs;
    else if (ok)
        *e = l->err;
    ok = ok && l->ok;
    lookup_leave(l);
    return ok;
}
