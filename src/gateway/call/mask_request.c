/* mask_request.c - masks the request for the record, before the first attempt.
 *
 * The loop masks it if that is quick, else another thread does: a slow pattern of the user's own
 * delays its own request and no other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/call/internal.h"

#define TRY_NS (2 * CLOCK_NS_PER_MS)
#define SPARE ((size_t)64 << 10)

/* Lives until its thread is done with it, whether the call does or not. */
struct call_mask_job {
    struct mask_job job; /* first */
    struct call *call;   /* NULL: it was cancelled */
    struct setup *setup;
    char *body;
};

static void call_mask_keep(struct call *c, const struct mask_job *j)
{
    assert(c->recorded);
    c->record.mask_ns = j->budget.left_ns;
    c->record.request = !j->found           ? arena_dup(&c->arena, j->body)
                        : buf_full(&j->out) ? STR("\"" MASK_LEFT_OUT "\"")
                                            : arena_dup(&c->arena, buf_str(&j->out));
    call_mask_count(c, &j->counts);
}

static void call_mask_done(void *ctx)
{
    struct call_mask_job *j = ctx;
    struct call *c = j->call;

    assert(!c || (c->state == CALL_MASKING && c->record.mask_job == &j->job));
    if (c) {
        c->record.mask_job = NULL;
        call_mask_keep(c, &j->job);
    }
    buf_release(&j->job.out);
    setup_release(j->setup);
    free(j->body);
    free(j);
    if (c)
        call_attempt(c);
}

static void call_mask_send(struct call *c, str body)
{
    struct call_mask_job *j = base_alloc(sizeof *j);

    assert(!c->record.mask_job);
    assert(c->state == CALL_PLANNED);
    *j = (struct call_mask_job){.call = c, .setup = c->in.setup, .body = str_copy(body)};
    setup_retain(j->setup);
    j->job = (struct mask_job){.loop = c->gl->loop,
                               .mask = c->in.setup->mask,
                               .body = {j->body, body.n},
                               .budget = {c->record.mask_ns, false}};
    buf_init(&j->job.out, 4 * body.n + SPARE);
    loop_task_init(&j->job.done, call_mask_done, j);
    c->record.mask_job = &j->job;
    call_enter_state(c, CALL_MASKING);
    mask_work_add(c->gl->gateway->mask_work, &j->job);
}

bool call_mask_request(struct call *c)
{
    const struct mask *m = c->in.setup->mask;
    struct mask_job tried = {.found = false};
    struct mask_budget b;
    uint64_t given;
    str body;

    assert(c->state == CALL_PLANNED);
    if (!c->recorded || !m || !mask_has_patterns(m) || c->record.request.n || !c->in.body.n ||
        c->in.body.n > CALL_REQUEST_KEEP_MAX)
        return true;
    given = c->record.mask_ns < TRY_NS ? c->record.mask_ns : TRY_NS;
    b = (struct mask_budget){given, false};
    body = call_record_body(c);
    buf_init(&tried.out, 4 * body.n + SPARE);
    mask_budget_set(&b);
    tried.found = mask_json(m, body, &tried.out, &tried.counts);
    mask_budget_set(NULL);
    if (b.over) {
        call_mask_send(c, body);
    } else {
        tried.body = body;
        assert(b.left_ns <= given && given <= c->record.mask_ns);
        tried.budget.left_ns = c->record.mask_ns - (given - b.left_ns);
        call_mask_keep(c, &tried);
    }
    buf_release(&tried.out);
    return !b.over;
}

void call_mask_request_cancel(struct call *c)
{
    assert(c->state == CALL_MASKING);
    if (!c->recorded || !c->record.mask_job)
        return;
    ((struct call_mask_job *)(void *)c->record.mask_job)->call = NULL;
    c->record.mask_job = NULL;
    c->record.request = STR("\"" MASK_LEFT_OUT "\""); /* not on the loop either */
}
