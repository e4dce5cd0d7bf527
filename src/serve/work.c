/* work.c - a queue of jobs, threads that start when jobs wait, and a thread that checks their
 * deadlines.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "serve/work.h"

#define THREADS_MAX 64
#define LOOK_MS 250

struct work {
    str url;
    struct store *store;
    struct log *log;
    pthread_mutex_t lock;
    pthread_cond_t more, ended; /* ended: signalled when the watcher should end */
    struct work_job *first, **last;
    struct work_job *running[THREADS_MAX];
    size_t waiting;
    _Atomic bool stop;
    unsigned threads, started, idle; /* the largest number of threads */
    pthread_t thread[THREADS_MAX], watcher;
    _Atomic unsigned index; /* for starting a thread */
};

static struct work_job *serve_work_take(struct work *w, unsigned at)
{
    struct work_job *j;

    assert(at < THREADS_MAX && !w->running[at]);
    pthread_mutex_lock(&w->lock);
    w->idle++;
    while (!w->first && !w->stop)
        pthread_cond_wait(&w->more, &w->lock);
    assert(w->idle > 0);
    w->idle--;
    j = w->first;
    if (j) {
        w->first = j->next;
        if (!w->first)
            w->last = &w->first;
        assert(w->waiting > 0);
        w->waiting--;
        w->running[at] = j;
    }
    pthread_mutex_unlock(&w->lock);
    return j;
}

static void reader_set(struct work *w, struct work_job *j, struct reader *r)
{
    pthread_mutex_lock(&w->lock);
    assert(!j->reader != !r); /* set once, then reset */
    j->reader = r;
    j->until_ns = clock_deadline_ns(&clock_real, WORK_MS);
    pthread_mutex_unlock(&w->lock);
}

struct work_waiting {
    struct work *w;
    struct work_job *j;
};

static bool work_is_wanted(void *ctx)
{
    const struct work_waiting *x = ctx;

    return !x->j->cancelled && !x->w->stop;
}

/* Waits until the tables have all calls that were acknowledged before. */
static bool work_settle(struct work *w, struct work_job *j, struct err *e)
{
    struct work_waiting x = {w, j};
    struct err why;

    assert(w->store);
    if (!j->settled && !j->cancelled)
        j->settled = store_settle_while(w->store, WORK_SETTLE_MS, work_is_wanted, &x, &why);
    if (j->settled || j->cancelled)
        return true;
    if (why.code == ERR_LIMIT)
        return err_set(e,
                       ERR_SYSTEM,
                       "the newest calls cannot be put into the tables, so the answer would lack "
                       "them: %s",
                       why.text);
    return err_set(e,
                   ERR_TIMEOUT,
                   "the newest calls are not in the tables yet, so the answer would lack them: ask "
                   "again later (%s)",
                   why.text);
}

/* The reader is opened when it is first needed, and again after a failure. */
static void serve_work_run(struct work *w, unsigned at, struct work_job *j, struct reader **r)
{
    struct err e;

    if (w->url.n == 0) {
        j->run(j, NULL, NULL);
    } else if (!work_settle(w, j, &e)) {
        j->run(j, NULL, &e);
    } else if (!*r && !reader_open(w->url, r, &e)) {
        *r = NULL;
        j->run(j, NULL, &e);
    } else {
        reader_set(w, j, *r);
        j->run(j, *r, NULL);
        reader_set(w, j, NULL);
    }
    pthread_mutex_lock(&w->lock);
    assert(w->running[at] == j && !j->reader);
    w->running[at] = NULL;
    pthread_mutex_unlock(&w->lock);
    loop_post(j->loop, &j->task);
}

static void *serve_work_thread(void *arg)
{
    struct work *w = arg;
    unsigned at = w->index++;
    struct reader *r = NULL;
    struct work_job *j;
    struct log_scope scope;

    log_scope_enter(&scope, w->log, STR(""));
    while ((j = serve_work_take(w, at)))
        serve_work_run(w, at, j, &r);
    reader_close(r);
    log_scope_leave(&scope);
    return NULL;
}

/* Starts a thread if none is free for the job that was added last. The first thread always exists,
 * so a job waits at worst. */
static void serve_work_start_thread(struct work *w)
{
    assert(w->started > 0 && w->started <= w->threads);
    if (w->idle < w->waiting && w->started < w->threads &&
        pthread_create(&w->thread[w->started], NULL, serve_work_thread, w) == 0)
        w->started++;
}

static void *watch_thread(void *arg)
{
    struct work *w = arg;

    pthread_mutex_lock(&w->lock);
    while (!w->stop) {
        uint64_t now = clock_mono_ns(&clock_real);

        for (unsigned i = 0; i < w->threads; i++) {
            struct work_job *j = w->running[i];

            if (j && j->reader && (j->cancelled || now > j->until_ns))
                reader_interrupt(j->reader);
        }
        (void)clock_cond_wait(&w->ended, &w->lock, now + LOOK_MS * CLOCK_NS_PER_MS);
    }
    pthread_mutex_unlock(&w->lock);
    return NULL;
}

struct work *work_new(str url, struct store *store, unsigned threads, struct log *log)
{
    struct work *w = base_alloc(sizeof *w);

    assert(threads > 0 && threads <= THREADS_MAX);
    *w = (struct work){.url = url, .store = store, .log = log, .threads = threads};
    w->last = &w->first;
    pthread_mutex_init(&w->lock, NULL);
    pthread_cond_init(&w->more, NULL);
    clock_cond_init(&w->ended);
    w->started = 1;
    if (pthread_create(&w->thread[0], NULL, serve_work_thread, w) != 0 ||
        pthread_create(&w->watcher, NULL, watch_thread, w) != 0)
        base_die("no thread could be started");
    return w;
}

void work_stop(struct work *w)
{
    pthread_mutex_lock(&w->lock);
    w->stop = true;
    pthread_cond_broadcast(&w->more);
    pthread_cond_broadcast(&w->ended);
    pthread_mutex_unlock(&w->lock);
    for (unsigned i = 0; i < w->started; i++)
        pthread_join(w->thread[i], NULL);
    pthread_join(w->watcher, NULL);
    assert(!w->idle);
}

void work_free(struct work *w)
{
    if (!w)
        return;
    if (!w->stop)
        work_stop(w);
    pthread_cond_destroy(&w->ended);
    pthread_cond_destroy(&w->more);
    pthread_mutex_destroy(&w->lock);
    free(w);
}

static void work_on_loop(void *ctx)
{
    struct work_job *j = ctx;

    assert(!j->reader);
    j->done(j);
}

bool work_post(struct work *w, struct loop *l, struct work_job *j)
{
    bool room;

    assert(j->run && j->done);
    j->loop = l;
    j->next = NULL;
    j->reader = NULL;
    loop_task_init(&j->task, work_on_loop, j);
    pthread_mutex_lock(&w->lock);
    room = w->waiting < WORK_QUEUE_MAX && !w->stop;
    if (room) {
        assert(!*w->last && !w->first == !w->waiting);
        *w->last = j;
        w->last = &j->next;
        w->waiting++;
        serve_work_start_thread(w);
        pthread_cond_signal(&w->more);
    }
    pthread_mutex_unlock(&w->lock);
    return room;
}

void work_cancel(struct work *w, struct work_job *j)
{
    pthread_mutex_lock(&w->lock);
    j->cancelled = true;
    if (j->reader)
        reader_interrupt(j->reader);
    pthread_mutex_unlock(&w->lock);
}
