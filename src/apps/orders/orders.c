/* orders.c - see orders.h: opening and closing, and one turn at a time per thread.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/orders_state.h"

#include "base/utf8.h"
#include "gateway/publish.h"

#define BUSY_MAX 100000
#define ARENA_MAX ((size_t)512 << 20)
#define STEP_ARENA_MAX ((size_t)1 << 30) /* the state, and everything derived from it */

/* ---- after a crash ---- */

/* A turn to resume. */
struct orders_left {
    struct job_link link;
    str thread, key; /* stored after the struct */
};

static void orders_left_run(void *orders, struct job_link *job)
{
    const struct orders_left *l = (const struct orders_left *)job;
    struct thread_asker who =
        orders_asker(orders, l->key, true); /* as operator: allowed in any thread */
    struct orders_said said = {.who = &who, .thread = l->thread};
    struct orders_turn turn;
    struct arena a;
    struct err e;

    arena_init(&a, ARENA_MAX);
    if (!orders_resume(orders, &said, &a, &turn, &e))
        log_warn("an order cannot be resumed", LOG_STR("thread", l->thread), LOG_ERR(&e));
    arena_release(&a);
}

static void orders_left_free(struct job_link *job)
{
    free(job);
}

void orders_resume_left(struct orders *o, str thread, str key)
{
    struct orders_left *l = base_alloc(sizeof *l + thread.n + key.n);
    char *texts = (char *)(l + 1);

    memcpy(texts, thread.p, thread.n);
    memcpy(texts + thread.n, key.p, key.n);
    *l = (struct orders_left){.thread = {texts, thread.n}, .key = {texts + thread.n, key.n}};
    if (!job_queue_add(&o->left, &l->link, 0))
        orders_left_free(&l->link);
}

/* ---- opening ---- */

static bool order_orders_open_parts(struct orders *o, const struct orders_options *opts,
                                    struct err *e)
{
    struct setup *setup = gateway_setup(o->host.gateway);
    bool ok =
        o->host.threads || err_input(e, "orders need a store: the configuration says store: none");

    o->chosen_menu = opts->menu ? arena_dup(&o->arena, str_c(opts->menu)) : STR("");
    o->chosen_model = opts->model.n ? arena_dup(&o->arena, opts->model) : STR("");
    o->prompt = opts->prompt;
    ok = ok && shop_new(o, setup->config, &o->shop, e) &&
         registry_open(setup->config->store_url, o->host.clock, &o->registry, e);
    setup_release(setup);
    return ok;
}

bool orders_open(const struct app_host *h, const struct orders_options *opts, struct orders **out,
                 struct err *e)
{
    struct orders *o = base_alloc(sizeof *o);

    memset(o, 0, sizeof *o);
    o->host = *h;
    o->ask = opts->ask.ask ? opts->ask : agent_ask_gateway(h->gl);
    arena_init(&o->arena, 65536);
    pthread_mutex_init(&o->lock, NULL);
    job_queue_init(&o->left, orders_left_run, orders_left_free, o);
    map_init(&o->busy, NULL, BUSY_MAX);
    if (!order_orders_open_parts(o, opts, e)) {
        orders_close(o);
        return false;
    }
    *out = o;
    return true;
}

void orders_close(struct orders *o)
{
    if (!o)
        return;
    job_queue_release(&o->left);
    assert(map_count(&o->busy) == 0);
    registry_close(o->registry);
    shop_release(o->shop);
    map_release(&o->busy);
    pthread_mutex_destroy(&o->lock);
    arena_release(&o->arena);
    free(o);
}

struct thread_asker orders_asker(const struct orders *o, str key, bool all)
{
    return (struct thread_asker){
        .key = key, .all = all, .now_us = clock_wall_ms(o->host.clock) * 1000, .order = true};
}

/* ---- one turn at a time ---- */

static bool order_orders_claim(struct orders *o, str thread, struct err *e)
{
    bool ok;

    pthread_mutex_lock(&o->lock);
    if (map_find(&o->busy, thread))
        ok = err_set(e,
                     ERR_CANCELLED,
                     "a turn of the thread \"" STR_FMT "\" is being taken: wait for its end",
                     STR_ARG(thread));
    else
        ok = map_set(&o->busy, thread, MAP_U64(1), e);
    pthread_mutex_unlock(&o->lock);
    return ok;
}

static void order_orders_give_back(struct orders *o, str thread)
{
    pthread_mutex_lock(&o->lock);
    assert(map_find(&o->busy, thread));
    (void)map_remove(&o->busy, thread);
    pthread_mutex_unlock(&o->lock);
}

/* ---- events ---- */

static str order_orders_run_id(str thread, struct arena *a)
{
    return arena_join(a, STR("orders:"), thread, STR(""));
}

/* Each turn is a run, so that the next process finds turns that did not end. */
static bool orders_put_run(struct turn *t, str status, str reason, struct err *e)
{
    struct json_text input;
    struct agent_row row = {.app = STR("orders"),
                            .session_id = t->s->thread,
                            .key = t->who.key,
                            .status = status,
                            .reason = reason,
                            .result = STR(""),
                            .created_us = t->who.now_us,
                            .updated_us = clock_wall_ms(t->o->host.clock) * 1000};

    if (!t->o->host.log)
        return true;
    json_text_begin(&input, 65536);
    json_member_str(&input.o, "thread_id", t->s->thread);
    json_member_str(&input.o, "key", t->who.key);
    row.id = order_orders_run_id(t->s->thread, t->arena);
    row.input = json_text_end(&input, t->arena, STR("{}"));
    return agent_log_run_put(t->o->host.log, &row, e);
}

static void order_orders_put_session(struct turn *t, str status, str analysis, str error)
{
    int64_t now = clock_wall_ms(t->o->host.clock) * 1000;
    bool over = !str_eq(status, STR("in_progress"));
    struct store_session s = {.id = t->s->thread,
                              .alert_id = STR(""),
                              .agent_type = STR("orders"),
                              .alert_type = STR(""),
                              .status = status,
                              .alert_data = STR(""),
                              .session_metadata = STR(""),
                              .error_message = error,
                              .final_analysis = analysis,
                              /* The owner of the conversation, not the current speaker. */
                              .key_name = t->s->step <= 0 ? t->who.key : STR(""),
                              .started_us = t->s->step <= 0 ? t->who.now_us : -1,
                              .completed_us = over ? now : -1};

    if (t->o->host.gateway->records)
        publish_session(t->o->host.gateway->store, t->o->host.gateway->hub, &s);
}

/* ---- the run of a turn ---- */

static bool order_orders_run(struct turn *t, struct err *e)
{
    bool failed, ok;

    assert(t->s->head.n > 0); /* the customer's message is on disk */
    if (!orders_put_run(t, STR("running"), STR(""), e))
        return false;
    order_orders_put_session(t, STR("in_progress"), STR(""), STR(""));
    ok = graph_run(t, e);
    if (!ok)
        return false;
    failed = t->out->end == ORDERS_FAILED;
    order_orders_put_session(t,
                             failed ? STR("failed") : STR("completed"),
                             failed ? STR("") : t->out->reply,
                             failed ? t->out->why : STR(""));
    if (failed && t->o->host.leave && atomic_load(t->o->host.leave))
        return true; /* the run stays "running", so the next process resumes it */
    return orders_put_run(
        t, failed ? STR("failed") : STR("done"), failed ? STR("llm_error") : STR(""), e);
}

static bool turn_begin(struct turn *t, str thread, struct err *e)
{
    struct rand_ids *ids = &t->o->host.gateway->ids;
    char id[RAND_ID_SIZE];

    assert(!t->shop && !t->box && !t->own);
    *t->out = (struct orders_turn){.reply = STR(""), .why = STR(""), .retry_after_ms = -1};
    arena_init(&t->steps[0], STEP_ARENA_MAX);
    arena_init(&t->steps[1], STEP_ARENA_MAX);
    buf_init(&t->sent, STEP_ARENA_MAX);
    arena_init(&t->run, STEP_ARENA_MAX);
    t->box = toolbox_new(t->o->host.clock);
    t->arena = &t->steps[0];
    t->s = &t->state;
    json_init(&t->messages);
    t->shop = shop_hold(t->o);
    t->menu = t->shop->menu;
    t->setup = gateway_setup(t->o->host.gateway);
    if (!state_read(t->o->host.threads, &t->who, thread, t->arena, t->s, e)) {
        if (e->code != ERR_NOT_FOUND)
            return false;
        state_new(thread, rand_id(ids, id), t->arena, t->s);
    }
    if (!state_menu(t->o->host.threads, t->s, t->shop->menu, t->arena, &t->own, e))
        return false;
    t->menu = t->own ? t->own : t->shop->menu;
    return graph_look(t, e) && tools_add(t->box, &t->tools, e);
}

/* The current state, for the caller. */
static bool turn_end(struct turn *t, str thread, bool ok, struct err *e)
{
    struct err missing;

    assert(t->shop && t->setup && t->box);
    if (ok && !state_read(t->o->host.threads, &t->who, thread, t->kept, &t->out->state, &missing) &&
        missing.code != ERR_NOT_FOUND) {
        *e = missing;
        ok = false;
    }
    facts_release(&t->facts);
    json_release(&t->messages);
    setup_release(t->setup);
    menu_free(t->own);
    shop_release(t->shop);
    arena_release(&t->steps[0]);
    arena_release(&t->steps[1]);
    arena_release(&t->run);
    toolbox_free(t->box);
    buf_release(&t->sent);
    return ok;
}

static str order_orders_clean(struct arena *a, str text)
{
    struct buf out;
    str all;

    buf_init(&out, 3 * text.n + 16);
    (void)utf8_copy(&out, text);
    all = utf8_trim(arena_dup(a, buf_str(&out)));
    buf_release(&out);
    return all;
}

/* ---- a turn ---- */

/* Any opaque text of visible characters, which JSON and the store keep as it is. */
static bool orders_key_ok(str key, struct err *e)
{
    bool ok = key.n <= ORDERS_KEY_MAX;

    for (size_t i = 0; i < key.n && ok; i++)
        ok = key.p[i] >= ' ' && key.p[i] <= '~';
    return ok || err_input(e,
                           "Idempotency-Key: use at most %d printable ASCII characters",
                           ORDERS_KEY_MAX);
}

/* Whether an earlier request with this key stored its text, and only the reply is missing. */
static bool turn_find_repeat(struct turn *t, str key, str text, bool *repeated, struct err *e)
{
    const struct json *doc = &t->messages;
    const struct json_node *found = NULL, *last = NULL;

    *repeated = false;
    if (!key.n)
        return true;
    JSON_FOREACH(m, doc, json_root(doc)) {
        if (!json_is(doc, json_find(doc, m, STR("role")), STR("user")))
            continue;
        last = m;
        if (json_is(doc, json_find(doc, m, STR("idempotency_key")), key))
            found = m;
    }
    if (!found)
        return true;
    if (!json_is(doc,
                 json_find(doc, found, STR("content")),
                 mask_text_kept(t->setup->mask, text, t->arena)))
        return err_set(e,
                       ERR_CONFLICT,
                       "Idempotency-Key: an earlier request to this thread had this key and "
                       "another text: use a new key for each text");
    if (found != last)
        return err_set(e,
                       ERR_CONFLICT,
                       "Idempotency-Key: the text of this key was said, and the conversation has "
                       "continued: read the thread for the reply");
    *repeated = true;
    return true;
}

/* Whether the process ended before it could report the end of the turn. */
static bool order_orders_is_unreported(struct turn *t, bool *unreported, struct err *e)
{
    struct agent_row row;
    struct err missing;

    *unreported = false;
    if (!t->o->host.log || t->s->head.n == 0)
        return true;
    if (agent_log_run_get(t->o->host.log,
                          order_orders_run_id(t->s->thread, t->arena),
                          t->arena,
                          &row,
                          &missing)) {
        *unreported = str_eq(row.status, STR("running"));
        return true;
    }
    if (missing.code != ERR_NOT_FOUND)
        *e = missing;
    return missing.code == ERR_NOT_FOUND;
}

/* Runs the thread's last turn to its end. *open: it had not ended. */
static bool turn_continue(struct turn *t, bool *open, struct err *e)
{
    if (!order_orders_is_unreported(t, open, e))
        return false;
    *open = *open || graph_is_open(t);
    return !*open || order_orders_run(t, e);
}

static bool turn_repeat(struct turn *t, struct err *e)
{
    bool open;

    if (t->watch && t->watch->on_step)
        t->watch->on_step(t->watch->ctx, NODE_INPUT); /* it is on disk */
    return turn_continue(t, &open, e) && (open || graph_run(t, e));
}

bool orders_run_turn(struct orders *o, const struct orders_said *said, struct arena *a,
                     struct orders_turn *out, struct err *e)
{
    struct turn t = {.o = o, .who = *said->who, .watch = said->watch, .kept = a, .out = out};
    str thread = said->thread, text = said->text, key = said->idempotency_key;
    bool ok, repeated;

    if (!state_thread_ok(thread, e) || !orders_key_ok(key, e))
        return false;
    if (text.n > ORDERS_TEXT_MAX)
        return err_input(e, "the text is longer than %d bytes", ORDERS_TEXT_MAX);
    text = order_orders_clean(a, text);
    if (text.n == 0)
        return err_input(e, "nothing was said");
    if (!order_orders_claim(o, thread, e))
        return false;
    ok = turn_begin(&t, thread, e) && turn_find_repeat(&t, key, text, &repeated, e);
    if (ok && repeated)
        ok = turn_repeat(&t, e);
    else if (ok)
        ok = node_settle(&t, e) && node_input(&t, text, key, e) && order_orders_run(&t, e);
    ok = turn_end(&t, thread, ok, e);
    order_orders_give_back(o, thread);
    return ok;
}

bool orders_resume(struct orders *o, const struct orders_said *said, struct arena *a,
                   struct orders_turn *out, struct err *e)
{
    struct turn t = {.o = o, .who = *said->who, .watch = said->watch, .kept = a, .out = out};
    str thread = said->thread;
    bool ok, open = false;

    if (!state_thread_ok(thread, e) || !order_orders_claim(o, thread, e))
        return false;
    ok = turn_begin(&t, thread, e) && turn_continue(&t, &open, e);
    if (!open)
        out->end = ORDERS_NOTHING;
    ok = turn_end(&t, thread, ok, e);
    order_orders_give_back(o, thread);
    return ok;
}

bool orders_state(struct orders *o, const struct thread_asker *who, str thread, struct arena *a,
                  struct orders_state *out, struct err *e)
{
    return state_thread_ok(thread, e) && state_read(o->host.threads, who, thread, a, out, e);
}

bool orders_list(struct orders *o, const struct thread_asker *who, size_t max, struct arena *a,
                 struct json_out *to, struct err *e)
{
    return state_list(o->host.threads, who, max, a, to, e);
}

bool orders_forget(struct orders *o, const struct thread_asker *who, str thread, struct err *e)
{
    return threads_delete(o->host.threads, who, thread, e);
}
