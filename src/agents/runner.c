/* runner.c - see runner.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/runner_state.h"

#define LOOK_MS 50
#define BROKEN_LOOKS 20   /* times LOOK_MS: until a run is resumed after a failure of PostgreSQL */
#define ELSEWHERE_LOOKS 4 /* times LOOK_MS: until another daemon's log is read again */
#define STACK_SIZE ((size_t)2 << 20)

/* ---- the table of active runs; under the lock ---- */

static struct agents_job *runner_find(struct agents_runner *r, str run)
{
    for (struct agents_job *j = r->jobs; j; j = j->next)
        if (str_eq(j->q.run, run))
            return j;
    return NULL;
}

static bool runner_thread_is_busy(struct agents_runner *r, const struct agents_request *q)
{
    for (struct agents_job *j = r->jobs; j; j = j->next)
        if (q->thread.n && str_eq(j->q.thread, q->thread) && str_eq(j->q.key, q->key))
            return true;
    return false;
}

static void runner_remove(struct agents_runner *r, struct agents_job *j)
{
    struct agents_job **at = &r->jobs;

    assert(r->job_count > 0 && runner_find(r, j->q.run) == j);
    while (*at != j)
        at = &(*at)->next;
    *at = j->next;
    r->job_count--;
}

static void runner_wait_a_little(struct agents_runner *r)
{
    (void)clock_cond_wait(&r->changed, &r->lock, clock_deadline_ns(&clock_real, LOOK_MS));
}

/* ---- a job ---- */

static void agents_runner_job_free(struct agents_job *j)
{
    setup_release(j->setup);
    arena_release(&j->arena);
    free(j);
}

static struct agents_job *agents_runner_job_new(struct agents_runner *r,
                                                const struct agents_request *q)
{
    struct agents_job *j = base_alloc(sizeof *j);
    char made[RAND_ID_SIZE];
    struct buf input;

    memset(j, 0, sizeof *j);
    j->runner = r;
    j->setup = gateway_setup(r->host.gateway);
    arena_init(&j->arena, (size_t)256 << 20);
    j->q = (struct agents_request){
        .run = q->run.n ? arena_dup(&j->arena, q->run)
                        : arena_dup(&j->arena, rand_id(&r->host.gateway->ids, made)),
        .name = arena_dup(&j->arena, q->name),
        .workflow = q->workflow,
        .input = arena_dup(&j->arena, q->input),
        .content = q->content.n ? arena_dup(&j->arena, q->content) : STR(""),
        .instructions = q->instructions.n ? arena_dup(&j->arena, q->instructions) : STR(""),
        .messages = arena_dup(&j->arena, q->messages),
        .thread = arena_dup(&j->arena, q->thread),
        .session = arena_dup(&j->arena, q->session),
        .metadata = arena_dup(&j->arena, q->metadata),
        .tools = arena_dup(&j->arena, q->tools),
        .key = arena_dup(&j->arena, q->key)};
    j->session = j->q.session.n ? j->q.session : j->q.thread.n ? j->q.thread : j->q.run;
    assert(j->q.run.n && j->session.n);
    buf_init(&input, AGENTS_TEXT_MAX);
    agents_request_write(&j->q, &input);
    j->input = buf_full(&input) ? STR("") : agents_job_masked(j, buf_str(&input), &j->arena);
    buf_release(&input);
    return j;
}

/* The row is stored before the run starts, so that a crash cannot lose the run. */
static bool job_put_row(struct agents_job *j, struct err *e)
{
    struct agents_runner *r = j->runner;
    int64_t now_us = clock_wall_ms(r->host.clock) * 1000;
    struct agent_row row = {.id = j->q.run,
                            .app = STR(AGENTS_APP),
                            .session_id = j->session,
                            .key = j->q.key,
                            .status = STR("running"),
                            .reason = STR(""),
                            .input = j->input,
                            .result = STR(""),
                            .created_us = now_us,
                            .updated_us = now_us,
                            .care = AGENT_SAFE};

    assert(j->input.n && !j->begun);
    return !r->host.log || agent_log_run_put(r->host.log, &row, e);
}

static bool job_run_agent(struct agents_job *j, struct arena *a, struct agent_result *out,
                          struct err *e)
{
    const struct config_agent *d = agents_find(j->setup->config, j->q.name);
    struct agents_part p = {.job = j,
                            .agent = d,
                            .run = j->q.run,
                            .input = j->q.input,
                            .messages = j->q.messages,
                            .root = true,
                            .limits = agents_limits_none,
                            .arena = a};
    str before;

    if (!d)
        return agents_part_end(&p,
                               out,
                               AGENT_FAILED,
                               "agent_not_found",
                               arena_printf(a,
                                            "the configuration does not have the agent \"" STR_FMT
                                            "\" any more, and the run cannot continue without it",
                                            STR_ARG(j->q.name)),
                               e);
    if (!agents_memory_read(j, a, &before, e))
        return false;
    if (before.n && p.messages.n)
        p.messages = arena_join(a, before, STR(","), p.messages);
    else if (before.n)
        p.messages = before;
    return agents_part_run(&p, out, e);
}

/* If the run does not fit into the log now, it never will. */
static void job_fail(struct agents_job *j, struct arena *a, struct agent_result *out,
                     const struct err *why)
{
    struct agents_part p = {.job = j, .run = j->q.run, .root = true, .arena = a};
    bool astray = why->code == ERR_INPUT || why->code == ERR_NOT_FOUND || why->code == ERR_LIMIT;
    struct err e;

    if (!j->broken) /* logged once, until it works again */
        log_warn("a run of an agent cannot continue",
                 LOG_STR("run", j->q.run),
                 LOG_STR("agent", j->q.name),
                 LOG_ERR(why));
    *out = (struct agent_result){.end = AGENT_CANCELLED, .reason = STR("left")};
    if (astray)
        (void)!agents_part_end(&p,
                               out,
                               AGENT_FAILED,
                               str_starts(str_c(why->text), STR("replay_mismatch"))
                                   ? "replay_mismatch"
                                   : "cannot_resume",
                               arena_dup(a, str_c(why->text)),
                               &e);
}

/* Whether the run waits for a person or its caller. */
static bool job_work(struct agents_job *j)
{
    const struct config_workflow *w =
        j->q.workflow ? agents_find_workflow(j->setup->config, j->q.name) : NULL;
    struct agent_result out;
    struct arena a;
    struct err e;
    bool ok;

    arena_init(&a, AGENTS_ARENA);
    if (j->q.workflow)
        ok = agents_workflow_run(j, w, &a, &out, &e);
    else
        ok = job_run_agent(j, &a, &out, &e);
    if (!ok)
        job_fail(j, &a, &out, &e);
    j->broken = !ok && e.code == ERR_SYSTEM && j->runner->host.log &&
                agent_log_is_shared(j->runner->host.log);
    if (out.end == AGENT_CANCELLED && !str_eq(out.reason, STR("left")))
        agents_parts_cancel(j->runner, j->q.run, j->session);
    arena_release(&a);
    return out.end == AGENT_WAITING;
}

/* Under the lock. A run continues from its log
 *   - if an answer, a result or a cancel arrived while it was about to wait;
 *   - if PostgreSQL failed, after a pause, because no other daemon resumes a run of this one;
 *   - if another daemon took it over and handed it back before this thread had left it. */
static bool job_goes_on(struct agents_job *j, bool waits)
{
    struct agents_runner *r = j->runner;
    bool back = atomic_load(&j->left) && j->again && !atomic_load(&r->leaving);

    if (back) {
        atomic_store(&j->left, false);
        atomic_store(&j->stop, false);
    }
    for (int i = 0; j->broken && i < BROKEN_LOOKS && !atomic_load(&j->left); i++)
        runner_wait_a_little(r);
    if (atomic_load(&j->left))
        return false;
    if (back || j->broken || !atomic_load(&j->stop))
        return back || j->broken || (waits && j->again);
    waits = waits && !j->ending;
    j->ending = true;
    return waits;
}

static void runner_begin_oldest(struct agents_runner *r);

/* If the run does not continue, it is removed from the table. */
static bool job_again(struct agents_job *j, bool waits)
{
    struct agents_runner *r = j->runner;
    bool again;

    pthread_mutex_lock(&r->lock);
    assert(runner_find(r, j->q.run) == j && j->begun && r->begun_count > 0);
    again = job_goes_on(j, waits);
    j->again = false;
    j->version++;
    if (!again) {
        runner_remove(r, j);
        r->begun_count--;
        agents_runner_job_free(
            j); /* under the lock: once the table is empty, the runner may be freed */
        runner_begin_oldest(r);
    }
    pthread_cond_broadcast(&r->changed);
    pthread_mutex_unlock(&r->lock);
    return again;
}

static void *job_thread(void *arg)
{
    struct agents_job *j = arg;

    while (job_again(j, job_work(j)))
        ;
    return NULL;
}

/* Under the lock. The job's own thread ends it, even if others wait for it. If no thread can be
 * started, the end of another job starts it. */
static void job_begin(struct agents_job *j)
{
    pthread_attr_t attr;
    pthread_t thread;

    assert(j->ready && !j->begun);
    assert(j->session.n && j->q.run.n);
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
    j->begun = pthread_create(&thread, &attr, job_thread, j) == 0;
    j->runner->begun_count += j->begun;
    pthread_attr_destroy(&attr);
    if (!j->runner->begun_count)
        base_die("no thread could be started");
    if (!j->begun)
        log_warn("a run waits for a thread: none can be started now", LOG_STR("run", j->q.run));
}

/* Under the lock: starts the job that has waited longest for another one to end. */
static void runner_begin_oldest(struct agents_runner *r)
{
    struct agents_job *oldest = NULL;

    for (struct agents_job *j = r->jobs; j; j = j->next)
        if (j->ready && !j->begun)
            oldest = j;
    if (oldest)
        job_begin(oldest);
}

/* The job is in the table, and its run in the log. A resumed run may have to wait until another one
 * ends, unless it is resumed only to end. */
static void job_make_ready(struct agents_job *j)
{
    struct agents_runner *r = j->runner;

    pthread_mutex_lock(&r->lock);
    assert(!j->ready && !j->begun);
    j->ready = true;
    if (r->begun_count < AGENTS_ACTIVE_MAX || atomic_load(&j->stop))
        job_begin(j);
    pthread_mutex_unlock(&r->lock);
}

/* A resumed run enters in any case: its thread may have got another run while it waited, and the
 * answer or cancel that resumes it is not sent again. */
static bool job_enter(struct agents_job *j, bool resumed, struct err *e)
{
    struct agents_runner *r = j->runner;
    bool ok = true;

    pthread_mutex_lock(&r->lock);
    if (atomic_load(&r->leaving))
        ok = err_set(e, ERR_CANCELLED, "the process ends");
    else if (runner_find(r, j->q.run) || (!resumed && runner_thread_is_busy(r, &j->q)))
        ok = err_set(e, ERR_CANCELLED, "a run is active in this thread: wait for its end");
    else if (!resumed && r->job_count >= AGENTS_ACTIVE_MAX)
        ok = err_set(e, ERR_LIMIT, "%d runs of agents are active: come again", AGENTS_ACTIVE_MAX);
    if (ok) {
        assert(!j->next && !j->begun);
        j->next = r->jobs;
        r->jobs = j;
        r->job_count++;
    }
    pthread_mutex_unlock(&r->lock);
    return ok;
}

/* A session belongs to one key. A run that names another key's gets a session of its own, so that
 * neither key reads the other's words there. */
static bool job_choose_session(struct agents_job *j, struct err *e)
{
    struct agents_runner *r = j->runner;
    bool taken = false;

    if (!j->q.key.n || !r->host.log || str_eq(j->session, j->q.run))
        return true;
    /* Checks the active runs first: a run that ends in between is then found in the log. */
    pthread_mutex_lock(&r->lock);
    for (struct agents_job *o = r->jobs; o; o = o->next)
        taken = taken || (str_eq(o->session, j->session) && !str_eq(o->q.key, j->q.key));
    pthread_mutex_unlock(&r->lock);
    if (!taken && !agent_log_session_taken(r->host.log, j->session, j->q.key, &taken, e))
        return false;
    pthread_mutex_lock(&r->lock);
    if (taken)
        j->session = j->q.run;
    pthread_mutex_unlock(&r->lock);
    return true;
}

/* A thread has one run at a time, also if another daemon runs it. Two runs that start within a
 * moment on two daemons are not detected. */
static bool job_thread_is_free(struct agents_job *j, struct err *e)
{
    struct buf part;
    bool busy = false, ok = true;

    if (!j->runner->host.log || !j->q.thread.n)
        return true;
    buf_init(&part, AGENTS_TEXT_MAX);
    buf_add(&part, STR("\"thread\":"));
    (void)json_quote(&part, j->q.thread);
    ok = agent_log_thread_busy(j->runner->host.log, j->q.key, buf_str(&part), &busy, e);
    buf_release(&part);
    return ok && (!busy || err_set(e,
                                   ERR_CANCELLED,
                                   "a run is active in this thread, on another daemon: wait for"
                                   " its end"));
}

static void job_leave(struct agents_job *j)
{
    pthread_mutex_lock(&j->runner->lock);
    assert(!j->ready);
    runner_remove(j->runner, j);
    pthread_mutex_unlock(&j->runner->lock);
    agents_runner_job_free(j);
}

/* ---- the runner ---- */

bool agents_start(struct agents_runner *r, const struct agents_request *q, struct arena *a,
                  str *run, struct err *e)
{
    struct agents_job *j = agents_runner_job_new(r, q);

    bool ok = agents_request_check(&j->q, j->setup->config, e);

    if (ok && !j->input.n) /* a text with many quotes or control characters is longer as JSON */
        ok = err_input(e, "the request has more than %zu bytes as JSON", AGENTS_TEXT_MAX);
    if (!ok || !agents_memory_claim(j, e) || !job_enter(j, false, e)) {
        agents_runner_job_free(j);
        return false;
    }
    *run = arena_dup(a, j->q.run);
    if (!job_thread_is_free(j, e) || !job_choose_session(j, e) || !job_put_row(j, e)) {
        job_leave(j);
        return false;
    }
    job_make_ready(j);
    return true;
}

/* Under the lock. A job that waits for a thread gets one, so that it can end. */
static void job_stop(struct agents_job *j)
{
    atomic_store(&j->stop, true);
    if (j->ready && !j->begun)
        job_begin(j);
}

/* Makes an active run end, or read its answers again. False: the run is not active. */
static bool runner_mark_active(struct agents_runner *r, str root, bool stop)
{
    struct agents_job *active;

    pthread_mutex_lock(&r->lock);
    active = runner_find(r, root);
    if (active && stop)
        job_stop(active);
    else if (active)
        active->again = true;
    pthread_mutex_unlock(&r->lock);
    return active != NULL;
}

static void runner_resume_root(struct agents_runner *r, const struct agent_row *row, bool stop)
{
    struct agents_request q;
    struct agents_job *j;
    struct arena a;
    struct err e;

    arena_init(&a, 8 * row->input.n + 65536);
    if (!agents_request_read(row->input, &a, &q, &e)) {
        log_warn("the input of a run cannot be read", LOG_STR("run", row->id), LOG_ERR(&e));
        arena_release(&a);
        return;
    }
    q.run = row->id;
    j = agents_runner_job_new(r, &q);
    j->session = arena_dup(&j->arena, row->session_id);
    j->stop = stop ||
              (str_eq(row->status, STR("running")) && str_eq(row->reason, STR(AGENT_CANCEL_ASKED)));
    arena_release(&a);
    if (job_enter(j, true, &e)) {
        job_make_ready(j);
        return;
    }
    /* Another thread may have resumed it since it was looked up. */
    if (!runner_mark_active(r, row->id, stop))
        log_warn("a run cannot continue now", LOG_STR("run", row->id), LOG_ERR(&e));
    agents_runner_job_free(j);
}

/* Resumes a run that is not active. `stop`: only to end it as cancelled. */
static void runner_resume(struct agents_runner *r, str root, bool stop)
{
    struct agent_row whole;
    struct arena a;
    struct err e;
    bool mine;

    if (runner_mark_active(r, root, stop) || !r->host.log)
        return;
    arena_init(&a, (size_t)256 << 20);
    if (!agent_log_run_get(r->host.log, root, &a, &whole, &e) ||
        !agent_log_hand(r->host.log, root, stop ? "cancel" : "resume", &mine, &e))
        log_warn("a run cannot be read", LOG_STR("run", root), LOG_ERR(&e));
    else if (!mine)
        log_info("a run continues in another daemon", LOG_STR("run", root));
    else if (str_eq(whole.status, STR("running")) || str_eq(whole.status, STR("waiting")))
        runner_resume_root(r, &whole, stop); /* a run that has ended stays ended */
    else if (str_eq(whole.status, STR("cancelled")))
        agents_parts_cancel(r, root, whole.session_id);
    arena_release(&a);
}

static str runner_root(str run)
{
    return str_slice(run, 0, str_find(run, STR("/")));
}

void agents_resume(struct agents_runner *r, const struct agent_row *row)
{
    runner_resume(r, runner_root(row->id), false);
}

void agents_end(struct agents_runner *r, str run)
{
    runner_resume(r, runner_root(run), true);
}

bool agents_cancel(struct agents_runner *r, str run)
{
    return runner_mark_active(r, runner_root(run), true);
}

void agents_lost(struct agents_runner *r)
{
    pthread_mutex_lock(&r->lock);
    for (struct agents_job *j = r->jobs; j; j = j->next) {
        atomic_store(&j->left, true);
        atomic_store(&j->stop, true);
    }
    pthread_mutex_unlock(&r->lock);
}

/* Whether another daemon runs it. Then the caller reads its log at intervals. */
static bool runner_wait_elsewhere(struct agents_runner *r, str run, const _Atomic bool *cancel)
{
    struct agent_row row;
    struct arena a;
    struct err e;
    bool elsewhere;

    if (!r->host.log)
        return false;
    arena_init(&a, (size_t)256 << 20);
    elsewhere = agent_log_run_get(r->host.log, run, &a, &row, &e) &&
                agent_log_elsewhere(r->host.log, &row) && str_eq(row.status, STR("running"));
    arena_release(&a);
    for (int i = 0; elsewhere && i < ELSEWHERE_LOOKS; i++) {
        if ((cancel && atomic_load(cancel)) || (r->host.leave && atomic_load(r->host.leave)))
            break;
        pthread_mutex_lock(&r->lock);
        runner_wait_a_little(r);
        pthread_mutex_unlock(&r->lock);
    }
    return elsewhere;
}

bool agents_wait(struct agents_runner *r, str run, uint64_t *version, const _Atomic bool *cancel)
{
    struct agents_job *j;

    pthread_mutex_lock(&r->lock);
    while ((j = runner_find(r, run)) && j->version == *version) {
        if ((cancel && atomic_load(cancel)) || (r->host.leave && atomic_load(r->host.leave)))
            break;
        runner_wait_a_little(r);
    }
    if (j)
        *version = j->version;
    pthread_mutex_unlock(&r->lock);
    return j || runner_wait_elsewhere(r, run, cancel);
}

void agents_wait_gone(struct agents_runner *r, str run)
{
    pthread_mutex_lock(&r->lock);
    while (runner_find(r, run))
        runner_wait_a_little(r);
    pthread_mutex_unlock(&r->lock);
}

struct agents_runner *agents_runner_new(const struct agents_host *h)
{
    struct agents_runner *r = base_alloc(sizeof *r);

    memset(r, 0, sizeof *r);
    r->host = *h;
    r->servers = agents_servers_new();
    pthread_mutex_init(&r->lock, NULL);
    clock_cond_init(&r->changed);
    return r;
}

void agents_runner_reload(struct agents_runner *r)
{
    struct setup *s = gateway_setup(r->host.gateway);

    agents_servers_reload(r->servers, s->config);
    setup_release(s);
}

void agents_runner_free(struct agents_runner *r)
{
    if (!r)
        return;
    atomic_store(&r->leaving, true);
    pthread_mutex_lock(&r->lock);
    for (struct agents_job *j = r->jobs; j; j = j->next) {
        atomic_store(&j->left, true);
        atomic_store(&j->stop, true);
    }
    while (r->jobs)
        runner_wait_a_little(r);
    pthread_mutex_unlock(&r->lock);
    assert(!r->job_count && !r->begun_count);
    agents_servers_free(r->servers);
    pthread_mutex_destroy(&r->lock);
    pthread_cond_destroy(&r->changed);
    free(r);
}
