/* run.c - a run of the optimizer on an application: evaluates, reflects, and stores every answer.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <pthread.h>

#include "agent/extract.h"
#include "agent/history.h"
#include "apps/tune/folder.h"
#include "base/json_get.h"
#include "base/rand.h"
#include "optimize/budget.h"
#include "optimize/reflector.h"
#include "optimize/run.h"

#define LINES_MAX ((size_t)64 << 20)
#define REPLY_ARENA ((size_t)64 << 20)

struct tune {
    const struct tune_options *o;
    struct arena *arena;
    struct tune_env env;
    struct tune_kept *kept;
    struct registry *registry;
    struct tune_row row;
    bool fresh;                            /* the row is not in the store yet */
    const char *train_folder, *val_folder; /* val_folder NULL: the training cases */
    str cases;                             /* their digests */
    str model, reflection_model, parent_id, seed, frontier, reflector; /* the model that reflects */
    struct prompt parent; /* the prompt in force, which is the seed */
    struct tune_example *train, *val;
    size_t train_count, val_count;
    struct buf lines;
    int64_t line_count;
    uint64_t began_ns;
    pthread_mutex_t lock; /* of grading */
    struct optimize_component *components;
    str *objectives, *names, *examples;
    size_t objective_count, name_count, example_count;
};

static int64_t tune_now_us(const struct tune *t)
{
    return clock_wall_ms(t->o->host->clock) * 1000;
}

/* ---- the stored state ---- */

static bool tune_run_flush(struct tune *t, struct err *e)
{
    if (t->lines.n == 0)
        return true;
    if (buf_full(&t->lines))
        return err_set(e, ERR_LIMIT, "a line of the run is longer than %zu bytes", LINES_MAX);
    if (!tune_kept_add(t->kept, t->row.id, t->line_count, buf_str(&t->lines), tune_now_us(t), e))
        return false;
    for (size_t i = 0; i < t->lines.n; i++)
        t->line_count += t->lines.p[i] == '\n';
    buf_reset(&t->lines);
    return true;
}

/* Answers of a model are stored at once; the events that follow from them can wait. */
static bool tune_keep_line(void *ctx, str line, struct err *e)
{
    struct tune *t = ctx;

    buf_add(&t->lines, line);
    return (!str_starts(line, STR("{\"grade\"")) && !str_starts(line, STR("{\"answer\""))) ||
           tune_run_flush(t, e);
}

static bool tune_keep_sync(void *ctx, struct err *e)
{
    struct tune *t = ctx;

    t->row.updated_us = tune_now_us(t);
    assert(t->row.id.n > 0 && t->row.updated_us >= 0);
    return tune_run_flush(t, e) && tune_kept_put(t->kept, &t->row, e);
}

/* ---- evaluation: a few at once ---- */

struct work {
    struct tune *t;
    struct optimize_batch *batches;
    size_t n, batch, place; /* the next to evaluate; under the lock */
};

static bool tune_run_take(struct work *w, struct optimize_batch **batch, size_t *place)
{
    for (; w->batch < w->n; w->batch++, w->place = 0) {
        struct optimize_batch *b = &w->batches[w->batch];

        assert(w->place <= b->n);
        while (w->place < b->n && b->grades[w->place].done)
            w->place++;
        if (w->place == b->n)
            continue;
        *batch = b;
        *place = w->place++;
        return true;
    }
    return false;
}

static bool tune_run_is_stopped(void *ctx)
{
    const struct tune *t = ctx;

    return (t->o->stop && *t->o->stop) || *t->o->host->leave;
}

static void tune_run_grade_example(struct work *w, struct optimize_batch *b, size_t place)
{
    struct tune *t = w->t;
    const struct tune_example *x = b->split == OPTIMIZE_TRAIN ? t->train : t->val;
    struct optimize_grade g = {.trace = STR("")};
    struct arena a;

    assert(place < b->n && !b->grades[place].done);
    pthread_mutex_unlock(&t->lock);
    arena_init(&a, REPLY_ARENA);
    t->o->app->grade(&t->env, b->texts, &x[b->ids[place]], &a, &g);
    pthread_mutex_lock(&t->lock);
    if (!tune_run_is_stopped(t)) { /* else it was interrupted, and its score means nothing */
        g.trace = b->traces ? arena_dup(b->arena, g.trace) : STR("");
        g.unasked = arena_dup(b->arena, g.unasked);
        b->grades[place] = g;
        if (!g.unasked.n) /* else tune_settle_unasked decides */
            optimize_graded(b, place);
    }
    arena_release(&a);
}

static void *tune_run_work_thread(void *arg)
{
    struct work *w = arg;
    struct optimize_batch *b;
    size_t place;

    pthread_mutex_lock(&w->t->lock);
    while (!tune_run_is_stopped(w->t) && tune_run_take(w, &b, &place))
        tune_run_grade_example(w, b, place);
    pthread_mutex_unlock(&w->t->lock);
    return NULL;
}

static bool tune_run_evaluate(void *ctx, struct optimize_batch *batches, size_t n, struct err *e)
{
    struct tune *t = ctx;
    struct work w = {.t = t, .batches = batches, .n = n};
    pthread_t threads[TUNE_THREADS];

    for (size_t i = 0; i < TUNE_THREADS; i++)
        if (pthread_create(&threads[i], NULL, tune_run_work_thread, &w) != 0)
            base_die("no thread could be started");
    for (size_t i = 0; i < TUNE_THREADS; i++)
        pthread_join(threads[i], NULL);
    if (tune_run_is_stopped(t))
        return err_set(e, ERR_CANCELLED, "the run was interrupted; resume it with --resume");
    return tune_settle_unasked(batches, n, t->row.candidates == 0, e);
}

/* ---- reflection ---- */

static str tune_reflection_body(str model, str prompt, struct arena *a)
{
    struct history h;

    history_init(&h, 2 * REFLECTOR_PROMPT_MAX);
    history_text(&h, "user", prompt);
    return history_body(&h, model, STR(""), a);
}

static bool tune_run_complete(void *ctx, const struct optimize_ask *ask, str prompt,
                              struct reflector_reply *reply, struct err *e)
{
    struct tune *t = ctx;
    struct ask_request q = {.body = tune_reflection_body(t->reflector, prompt, ask->arena),
                            .route = STR("optimize"),
                            .session = t->env.session,
                            .id = STR(""),
                            .level = STR("")};
    struct ask_reply r;

    if (!ask_wait(ask_begin(t->o->host->gl, &q), ask->arena, &r))
        return err_set(e,
                       ERR_UPSTREAM,
                       "the reflection failed: " STR_FMT,
                       STR_ARG(str_slice(r.error.message, 0, 160)));
    agent_extract_reply(&r, ask->arena);
    reply->text = r.text;
    reply->cost = r.cost_usd > 0 ? r.cost_usd : 0;
    return true;
}

static void tune_on_verdict(void *ctx, const struct optimize_ask *ask, enum reflector_verdict v,
                            str what)
{
    static const char *const words[] = {[REFLECTOR_EMPTY] = "was empty",
                                        [REFLECTOR_COPIES] = "copies an example",
                                        [REFLECTOR_LOSES] = "loses a name",
                                        [REFLECTOR_TOO_LONG] = "is too long"};
    struct tune *t = ctx;
    char line[300];

    if (v == REFLECTOR_GOOD || !t->o->on_note)
        return;
    assert((size_t)v < COUNT_OF(words));
    (void)snprintf(line,
                   sizeof line,
                   "a proposal for " STR_FMT " %s and is dropped" STR_FMT STR_FMT,
                   STR_ARG(t->components[ask->component].name),
                   words[v],
                   STR_ARG(what.n ? STR(": ") : STR("")),
                   STR_ARG(str_slice(what, 0, 100)));
    t->o->on_note(t->o->ctx, line);
}

static bool tune_run_propose(void *ctx, struct optimize_ask *asks, size_t n, struct err *e)
{
    struct tune *t = ctx;
    struct reflector r = {.template = STR(""),
                          .complete = tune_run_complete,
                          .examples = t->examples,
                          .example_count = t->example_count,
                          .names = t->names,
                          .name_count = t->name_count,
                          .on_verdict = tune_on_verdict,
                          .ctx = t};

    return reflector_propose(&r, asks, n, e);
}

static double tune_run_elapsed_s(void *ctx)
{
    const struct tune *t = ctx;

    return (double)(clock_mono_ns(t->o->host->clock) - t->began_ns) / 1e9;
}

static bool tune_run_uses(void *ctx, const struct optimize_grade *g, size_t component)
{
    const struct tune *t = ctx;

    return !t->o->app->uses || t->o->app->uses(&t->env, t->components[component].name, g->trace);
}

/* ---- setting up ---- */

static void tune_run_on_event(void *ctx, const struct optimize_event *ev)
{
    struct tune *t = ctx;
    size_t n = optimize_count(ev->run);

    t->row.calls = (int64_t)optimize_calls(ev->run);
    t->row.candidates = (int64_t)n;
    if (n > 0 && ev->kind >= OPTIMIZE_EV_ITERATION) {
        t->row.seed_score = optimize_mean(ev->run, 0);
        t->row.best_score = optimize_mean(ev->run, optimize_best(ev->run));
    }
    if (t->o->sink.on_event)
        t->o->sink.on_event(t->o->sink.ctx, ev);
}

static size_t tune_run_list_of(struct tune *t, const char *const *from, str **out)
{
    size_t n = 0;

    for (; from && from[n]; n++)
        ;
    *out = arena_zero(t->arena, n + 1, sizeof **out);
    for (size_t i = 0; i < n; i++)
        (*out)[i] = str_c(from[i]);
    return n;
}

/* A resumed run uses the texts it started with, not the prompt now in force. */
static bool tune_run_seed(struct tune *t, struct err *e)
{
    const struct prompt_built_in *b = t->o->app->prompt;

    prompt_built_in(b, t->arena, &t->parent);
    if (t->parent_id.n == 0)
        registry_in_force(t->registry, b, t->arena, &t->parent);
    else if (!str_eq(t->parent_id, t->parent.id))
        return registry_get(t->registry, t->parent_id, t->arena, &t->parent, e);
    return true;
}

/* Texts of the cases, which no prompt may copy. */
static void tune_run_list_case_texts(struct tune *t)
{
    size_t n = t->train_count;

    for (size_t i = 0; i < t->train_count; i++)
        n += t->train[i].part_count;
    t->examples = arena_zero(t->arena, n + 1, sizeof *t->examples);
    for (size_t i = 0; i < t->train_count; i++) {
        const struct tune_example *x = &t->train[i];

        t->examples[t->example_count++] = x->text;
        for (size_t k = 0; k < x->part_count; k++)
            t->examples[t->example_count++] = x->parts[k];
    }
    assert(t->example_count <= n);
}

static void tune_run_list_components(struct tune *t)
{
    const struct prompt_built_in *b = t->o->app->prompt;
    str names = str_c(t->o->app->names);

    t->components = arena_zero(t->arena, b->count, sizeof *t->components);
    for (size_t i = 0; i < b->count; i++)
        t->components[i] = (struct optimize_component){
            str_c(b->parts[i].name), prompt_text(&t->parent, b, b->parts[i].name, t->arena)};
    t->objective_count = tune_run_list_of(t, t->o->app->objectives, &t->objectives);
    t->names = arena_zero(t->arena, names.n + 1, sizeof *t->names);
    while (names.n > 0)
        t->names[t->name_count++] = str_cut(&names, ' ');
    tune_run_list_case_texts(t);
}

static bool tune_run_load(struct tune *t, const char *folder, struct tune_example **out, size_t *n,
                          struct err *e)
{
    if (!t->o->app->load(t->env.app, folder, t->arena, out, n, e))
        return err_prefix(e, "%s: ", folder);
    return *n > 0 || err_input(e, "%s: has no labelled cases", folder);
}

static bool tune_run_load_cases(struct tune *t, struct err *e)
{
    if (!t->train_folder)
        return err_input(e, "a folder of labelled cases is needed: --train");
    if (!tune_run_load(t, t->train_folder, &t->train, &t->train_count, e))
        return false;
    assert(t->train_count > 0 && t->train_count <= TUNE_EXAMPLES_MAX);
    t->val = t->train;
    t->val_count = t->train_count;
    return (!t->val_folder || tune_run_load(t, t->val_folder, &t->val, &t->val_count, e)) &&
           tune_keep_cases(&t->row, t->train_folder, t->val_folder, t->arena, &t->cases, e);
}

static str tune_run_new_id(struct tune *t)
{
    char id[RAND_ID_SIZE];

    return arena_join(t->arena, STR("opt-"), rand_id(&t->o->host->gateway->ids, id), STR(""));
}

/* For people; the data to resume from is in the run's first line. */
static str tune_run_input_of(struct tune *t)
{
    struct json_text s;

    json_text_begin(&s, 8 * PROMPT_SIZE_MAX);
    json_member_str(&s.o, "train", str_c(t->train_folder));
    json_member_str(&s.o, "val", str_c(t->val_folder ? t->val_folder : ""));
    json_member_str(&s.o, "cases", t->cases);
    json_member_str(&s.o, "model", t->env.model);
    json_member_str(&s.o, "told_model", t->env.chosen_model);
    json_member_str(&s.o, "reflection_model", t->reflector);
    json_member_str(&s.o, "parent", t->parent.id);
    json_member_str(&s.o, "seed", t->seed);
    json_member_str(&s.o, "frontier", t->frontier);
    json_member_object(&s.o, "texts");
    for (size_t i = 0; i < t->o->app->prompt->count; i++) {
        json_out_key(&s.o, t->components[i].name);
        json_out_str(&s.o, t->components[i].seed);
    }
    return json_text_end(&s, t->arena, STR("{}"));
}

/* The settings that the run started with; models, and the folders of the cases, may be others. */
static bool tune_run_read_input(struct tune *t, struct err *e)
{
    const struct json_node *root;
    str seed = STR(""), frontier = STR("");
    struct json doc;
    bool ok = json_open(&doc, t->row.input, e);

    root = json_root(&doc);
    if (ok) {
        str val = json_copy_text(&doc, root, "val", t->arena);

        if (!t->train_folder) {
            t->train_folder = json_copy_text(&doc, root, "train", t->arena).p;
            t->val_folder = val.n ? val.p : NULL;
        }
        t->env.chosen_model =
            t->model.n ? t->model : json_copy_text(&doc, root, "told_model", t->arena);
        t->model = t->model.n ? t->model : json_copy_text(&doc, root, "model", t->arena);
        t->reflection_model = t->reflection_model.n
                                  ? t->reflection_model
                                  : json_copy_text(&doc, root, "reflection_model", t->arena);
        t->cases = json_copy_text(&doc, root, "cases", t->arena);
        t->parent_id = json_copy_text(&doc, root, "parent", t->arena);
        seed = json_copy_text(&doc, root, "seed", t->arena);
        frontier = json_copy_text(&doc, root, "frontier", t->arena);
    }
    json_release(&doc);
    if (!ok)
        return err_prefix(e, "the run's stored settings: ");
    return tune_kept_setting(&t->row, "--seed", seed, &t->seed, e) &&
           tune_kept_setting(&t->row, "--frontier", frontier, &t->frontier, e);
}

static bool tune_run_keep_budget(struct tune *t, struct err *e)
{
    long long asked = (long long)t->o->budget, begun = (long long)t->row.budget;
    str given = asked ? arena_printf(t->arena, "%lld", asked) : STR("");
    str budget = begun ? arena_printf(t->arena, "%lld", begun) : STR("");

    return tune_kept_setting(&t->row, "--budget", budget, &given, e);
}

static bool tune_run_row_of(struct tune *t, struct err *e)
{
    const struct tune_options *o = t->o;
    bool there;

    if (o->run.n > TUNE_ID_MAX)
        return err_input(e, "the id of a run has at most %d bytes", TUNE_ID_MAX);
    if (o->resume && o->run.n == 0)
        return err_input(e, "the id of the run to resume is missing");
    there = o->run.n > 0 && tune_kept_get(t->kept, o->run, t->arena, &t->row, e);
    if (!there && (o->resume || (o->run.n > 0 && e->code != ERR_NOT_FOUND)))
        return false;
    if (there && !str_eq(t->row.app, str_c(o->app->name)))
        return err_input(e,
                         "run " STR_FMT " is of the application " STR_FMT,
                         STR_ARG(t->row.id),
                         STR_ARG(t->row.app));
    if (!there)
        t->row = (struct tune_row){.id = o->run.n ? o->run : tune_run_new_id(t),
                                   .app = str_c(o->app->name),
                                   .prompt_id = STR(""),
                                   .best_score = -1,
                                   .seed_score = -1,
                                   .created_us = tune_now_us(t)};
    t->fresh = !there;
    t->row.status = STR("running");
    t->row.reason = STR("");
    t->env.run = t->env.session = t->row.id;
    return !there || (tune_run_keep_budget(t, e) && tune_run_read_input(t, e));
}

static bool tune_run_choose_models(struct tune *t, struct err *e)
{
    const struct config *c = t->env.setup->config;

    return app_model(c, t->model, &t->env.model, e) &&
           app_model(
               c, t->reflection_model.n ? t->reflection_model : t->env.model, &t->reflector, e);
}

/* ---- the end ---- */

/* The best candidate enters the registry as a draft, which a person approves. */
static bool tune_run_save_draft(struct tune *t, const struct optimize *engine, struct err *e)
{
    size_t best = optimize_best(engine);
    struct prompt_new p = {.name = str_c(t->o->app->name),
                           .parent = t->parent.id,
                           .run_id = t->row.id,
                           .who = STR("optimize")};
    str failed;

    if (best == 0)
        return true;
    assert(best < optimize_count(engine));
    p.components = tune_components_json(t->o->app, engine, best, t->arena);
    p.scores = tune_scores_json(t->o->app, engine, best, &t->row, t->val_count, t->arena);
    failed = tune_scores_failed(t->o->app, engine, best, t->arena);
    if (failed.n && t->o->on_note)
        t->o->on_note(t->o->ctx, arena_printf(t->arena, "the draft: " STR_FMT, STR_ARG(failed)).p);
    return registry_put(t->registry, &p, t->arena, &t->row.prompt_id, e);
}

static bool tune_run_go(struct tune *t, struct optimize_task *task, struct tune_result *out,
                        struct err *e)
{
    struct optimize_run *run = NULL;
    struct optimize_keeper keeper = {tune_keep_line, tune_keep_sync, t};
    struct err ignored;
    str kept;
    bool ok;

    assert(t->row.id.n > 0 && t->lines.n == 0 && t->row.input.n > 0);
    if (!tune_kept_lines(t->kept, t->row.id, t->arena, &kept, &t->line_count, e))
        return false;
    ok = optimize_run_new(task, kept, keeper, &run, e);
    if (!ok && (t->fresh || t->o->resume)) /* a stored row stays, so its run can be resumed */
        return !t->fresh &&
               err_prefix(e, "run " STR_FMT " cannot be resumed: ", STR_ARG(t->row.id));
    ok = tune_kept_put(t->kept, &t->row, ok ? e : &ignored) && ok && optimize_run_go(run, e);
    out->finished = ok && !optimize_interrupted(optimize_run_engine(run));
    if (out->finished)
        ok = tune_run_save_draft(t, optimize_run_engine(run), e);
    if (out->finished || (!ok && e->code != ERR_CANCELLED)) {
        t->row.status = ok ? STR("finished") : STR("failed");
        t->row.reason = ok ? STR("") : arena_dup(t->arena, str_c(e->text));
        ok = tune_keep_sync(t, ok ? e : &ignored) && ok;
    }
    optimize_run_free(run);
    if (!ok && e->code == ERR_CANCELLED && tune_run_is_stopped(t))
        ok = true; /* interrupted, not failed */
    *out = (struct tune_result){.run = t->row.id,
                                .prompt_id = t->row.prompt_id,
                                .seed_score = t->row.seed_score,
                                .best_score = t->row.best_score,
                                .calls = (uint64_t)t->row.calls,
                                .candidates = (uint64_t)t->row.candidates,
                                .finished = out->finished && ok};
    return ok;
}

static void tune_run_set_budget(struct tune *t, struct optimize_settings *s)
{
    s->metric_calls = t->o->budget ? t->o->budget : (uint64_t)t->row.budget; /* as at the start */
    if (s->metric_calls == 0)
        s->metric_calls =
            optimize_budget_auto(s, OPTIMIZE_LIGHT, t->o->app->prompt->count, t->val_count);
    t->row.budget = (int64_t)s->metric_calls;
}

static bool run_with(struct tune *t, struct tune_result *out, struct err *e)
{
    struct optimize_task task = {.name = str_c(t->o->app->name),
                                 .adapter = {tune_run_evaluate,
                                             tune_run_propose,
                                             tune_run_elapsed_s,
                                             tune_run_is_stopped,
                                             t,
                                             tune_run_uses},
                                 .sink = {tune_run_on_event, t}};

    if (!tune_run_row_of(t, e) || !tune_run_choose_models(t, e) || !tune_run_load_cases(t, e) ||
        !tune_run_seed(t, e))
        return false;
    assert(t->train_count > 0 && t->val_count > 0 && t->row.id.n <= TUNE_ID_MAX);
    tune_run_list_components(t);
    task.seed = t->seed = t->seed.n ? t->seed : STR("0");
    t->frontier = t->frontier.n ? t->frontier : STR("hybrid");
    task.settings = tune_settings(t->frontier);
    task.val_is_train = !t->val_folder;
    tune_run_set_budget(t, &task.settings);
    t->row.input = tune_run_input_of(t);
    task.components = t->components;
    task.component_count = t->o->app->prompt->count;
    task.objectives = t->objectives;
    task.objective_count = t->objective_count;
    task.train_count = t->train_count;
    task.val_count = t->val_count;
    return tune_run_go(t, &task, out, e);
}

bool tune_run(const struct tune_options *o, struct arena *a, struct tune_result *out, struct err *e)
{
    struct tune t = {.o = o,
                     .arena = a,
                     .train_folder = o->train,
                     .val_folder = o->val,
                     .model = o->model,
                     .reflection_model = o->reflection_model,
                     .cases = STR(""),
                     .parent_id = STR(""),
                     .seed = o->seed,
                     .frontier = o->frontier};
    struct setup *held = gateway_setup(o->host->gateway);
    str url = held->config->store_url;
    bool ok;

    *out = (struct tune_result){.run = STR(""), .prompt_id = STR("")};
    t.env = (struct tune_env){
        .host = o->host, .setup = held, .chosen_model = o->model, .cancel = o->stop};
    t.began_ns = clock_mono_ns(o->host->clock);
    pthread_mutex_init(&t.lock, NULL);
    buf_init(&t.lines, LINES_MAX);
    ok = tune_kept_open(url, &t.kept, e) && registry_open(url, o->host->clock, &t.registry, e) &&
         o->app->open(&t.env, a, &t.env.app, e);
    if (ok) {
        ok = run_with(&t, out, e);
        o->app->close(t.env.app);
    }
    registry_close(t.registry);
    tune_kept_close(t.kept);
    buf_release(&t.lines);
    pthread_mutex_destroy(&t.lock);
    setup_release(held);
    return ok;
}
