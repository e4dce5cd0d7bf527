/* stage.c - see stage.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/stage.h"

#define STACK_SIZE ((size_t)1 << 20)
#define TEXT_MAX ((size_t)32 << 20)

struct stage_worker {
    void (*work)(void *agent);
    void *agent;
    pthread_t thread;
    bool started;
};

static void *agent_stage_thread(void *arg)
{
    struct stage_worker *w = arg;

    w->work(w->agent);
    return NULL;
}

void agent_stage_work(const struct agent_stage *s)
{
    struct stage_worker workers[AGENT_STAGE_MAX];
    size_t side = s->count < AGENT_STAGE_MAX ? s->count : AGENT_STAGE_MAX;
    pthread_attr_t attr;

    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_SIZE);
    for (size_t i = 0; i < side; i++) {
        struct stage_worker *w = &workers[i];

        *w = (struct stage_worker){.work = s->work, .agent = (char *)s->agents + i * s->size};
        w->started =
            s->parallel && i && pthread_create(&w->thread, &attr, agent_stage_thread, w) == 0;
    }
    pthread_attr_destroy(&attr);
    for (size_t i = 0; i < s->count; i++)
        if (i >= side || !workers[i].started)
            s->work((char *)s->agents + i * s->size);
    for (size_t i = 0; i < side; i++)
        if (workers[i].started)
            pthread_join(workers[i].thread, NULL);
}

static str agent_stage_join(const struct agent_finding *f, size_t n, struct arena *a)
{
    struct buf all;

    buf_init(&all, TEXT_MAX);
    for (size_t i = 0; i < n; i++) {
        if (!f[i].ok)
            continue;
        if (n > 1)
            buf_printf(&all, "%s### " STR_FMT "\n\n", all.n ? "\n\n" : "", STR_ARG(f[i].name));
        buf_add(&all, f[i].result->finish.n ? f[i].result->finish : f[i].result->text);
    }
    return arena_move_buf(a, &all);
}

/* Which result decides the stage: an agent that can be resumed comes before one that failed. */
static int agent_stage_weight(const struct agent_finding *f)
{
    return !f || f->ok                         ? 0
           : f->result->end == AGENT_WAITING   ? 3
           : f->result->end == AGENT_CANCELLED ? 2
                                               : 1;
}

bool agent_stage_judge(const struct agent_finding *f, size_t n, bool all, struct arena *a,
                       struct agent_result *out, struct err *e)
{
    const struct agent_finding *failed = NULL;
    const struct agent_result *r;
    size_t ok = 0;

    for (size_t i = 0; i < n; i++) {
        if (f[i].broken) {
            *e = *f[i].broken;
            return false;
        }
        agent_result_add_usage(out, f[i].result);
        ok += f[i].ok;
        if (agent_stage_weight(&f[i]) > agent_stage_weight(failed))
            failed = &f[i];
    }
    assert(ok <= n && (ok == n) == !failed);
    out->end = AGENT_FINISHED;
    out->text = agent_stage_join(f, n, a);
    out->finish = n == 1 ? arena_dup(a, f[0].result->finish) : STR("");
    if (!failed || (ok && !all && agent_stage_weight(failed) == 1))
        return true;
    r = failed->result;
    out->end = r->end == AGENT_FINISHED ? AGENT_FAILED : r->end;
    out->reason = r->reason.n ? arena_dup(a, r->reason) : STR("no_answer");
    out->detail = arena_join(
        a, failed->name, STR(": "), r->detail.n ? r->detail : STR("the model gave no answer"));
    return true;
}
