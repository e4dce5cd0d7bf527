/* Stores answers and events line by line and replays them; run.h explains the idea.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/run.h"

#include "base/json.h"
#include "base/utf8.h"
#include "optimize/internal.h"

#define LINE_MAX_SIZE ((size_t)1 << 30)

struct optimize_run {
    struct optimize_task task; /* the caller's */
    struct optimize *engine;   /* with our adapter and sink */
    struct optimize_keeper keeper;
    str kept;      /* stored lines that are not replayed yet */
    size_t row;    /* replayed lines */
    double time_s; /* of the last session */
    struct buf line;
    struct json doc;
    struct optimize_batch *batches; /* being evaluated */
    struct optimize_ask *asks;
    struct err err; /* the first error of a callback */
    bool failed;
};

/* ---- lines ---- */

size_t optimize_kept_size(str kept)
{
    return str_find_last(kept, '\n') + 1;
}

/* The next stored line, with its newline; empty when all are replayed. */
static str optimize_run_peek(const struct optimize_run *r)
{
    const char *end = r->kept.n ? memchr(r->kept.p, '\n', r->kept.n) : NULL;

    return end ? str_slice(r->kept, 0, (size_t)(end - r->kept.p) + 1) : STR("");
}

static void optimize_run_advance(struct optimize_run *r)
{
    assert(r->kept.n > 0);
    r->kept = str_slice(r->kept, optimize_run_peek(r).n, r->kept.n);
    r->row++;
}

static bool optimize_run_fail_line(struct optimize_run *r, struct err *e)
{
    return err_input(e, "line %zu of the stored run cannot be read", r->row + 1);
}

/* Stores r->line. */
static bool optimize_run_keep(struct optimize_run *r, struct err *e)
{
    return buf_ok(&r->line, "a line of the run", e) &&
           r->keeper.add(r->keeper.ctx, buf_str(&r->line), e);
}

/* The same for callbacks, which return nothing: the adapter's next call reports the error. */
static void optimize_keep_or_fail(struct optimize_run *r)
{
    if (!r->failed)
        r->failed = !optimize_run_keep(r, &r->err);
}

/* The stored text must equal the used one, so it becomes valid UTF-8 before both. */
static void optimize_make_clean(struct arena *a, str *text)
{
    struct buf b;

    if (utf8_valid(*text))
        return;
    buf_init(&b, text->n * 3 + 1);
    (void)utf8_copy(&b, *text);
    *text = arena_move_buf(a, &b);
}

/* ---- the run's inputs ---- */

static void optimize_head_settings(struct json_out *o, const struct optimize_settings *s)
{
    const uint64_t numbers[] = {
        s->selection,
        s->top_k,
        s->frontier,
        s->pick,
        s->minibatch,
        s->acceptance,
        s->merge,
        s->max_merges,
        s->merge_overlap,
        s->cache,
        s->parents,
        s->batches,
        s->keep,
        s->keep_count,
        s->metric_calls,
        s->skip_perfect,
        s->stop_all,
        s->reference,
    };

    json_member_array(o, "settings");
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        json_out_u64(o, numbers[i]);
    json_out_double(o, s->epsilon);
    json_out_double(o, s->perfect_score);
    for (size_t i = 0; i < s->stop_count; i++) {
        json_out_u64(o, s->stops[i].kind);
        json_out_double(o, s->stops[i].limit);
    }
    json_out_end(o);
}

static void optimize_run_head(const struct optimize_task *t, struct buf *out)
{
    struct json_out o;

    json_out_init_object(&o, out);
    json_member_u64(&o, "run", 1);
    json_member_str(&o, "name", t->name);
    json_member_str(&o, "seed", t->seed);
    json_member_u64(&o, "train", t->train_count);
    json_member_u64(&o, "val", t->val_count);
    json_member_bool(&o, "val_is_train", t->val_is_train);
    optimize_head_settings(&o, &t->settings);
    json_member_texts(&o, "objectives", t->objectives, t->objective_count);
    json_member_array(&o, "components");
    for (size_t i = 0; i < t->component_count; i++) {
        json_out_str(&o, t->components[i].name);
        json_out_str(&o, t->components[i].seed);
    }
    json_out_end(&o);
    json_out_end(&o);
    buf_add_c(out, '\n');
}

static bool optimize_run_begin(struct optimize_run *r, struct err *e)
{
    assert(r->row == 0);
    buf_reset(&r->line);
    optimize_run_head(&r->task, &r->line);
    if (r->kept.n == 0)
        return optimize_run_keep(r, e);
    if (!str_eq(optimize_run_peek(r), buf_str(&r->line)))
        return err_input(e, "the stored run was started with another task or other settings");
    optimize_run_advance(r);
    return true;
}

/* ---- grades ---- */

static void optimize_write_grade(struct optimize_run *r, const struct optimize_batch *b,
                                 size_t place)
{
    const struct optimize_grade *g = &b->grades[place];

    assert(b >= r->batches && place < b->n && g->objective_count <= OPTIMIZE_OBJECTIVES_MAX);
    buf_reset(&r->line);
    buf_printf(&r->line, "{\"grade\":[%zu,%zu],\"score\":", (size_t)(b - r->batches), place);
    optimize_number(&r->line, g->score);
    if (g->objective_count > 0)
        buf_add(&r->line, STR(",\"objectives\":["));
    for (uint32_t i = 0; i < g->objective_count; i++) {
        buf_printf(&r->line, "%s[%u,", i ? "," : "", g->objective[i]);
        optimize_number(&r->line, g->value[i]);
        buf_add_c(&r->line, ']');
    }
    if (g->objective_count > 0)
        buf_add_c(&r->line, ']');
    if (g->cost > 0) {
        buf_add(&r->line, STR(",\"cost\":"));
        optimize_number(&r->line, g->cost);
    }
    if (g->trace.n > 0) {
        buf_add(&r->line, STR(",\"trace\":"));
        (void)json_quote(&r->line, g->trace);
    }
    buf_add(&r->line, STR("}\n"));
}

static void optimize_on_graded(void *ctx, struct optimize_batch *b, size_t place)
{
    struct optimize_run *r = ctx;
    struct err refused;

    assert(place < b->n);
    /* The engine ends the run with this error. Stored, the grade could come back as another one:
     * a line has no NaN. A resumed run has the example graded again. */
    if (!trial_check_grade(r->engine, &b->grades[place], b->ids[place], &refused))
        return;
    optimize_make_clean(b->arena, &b->grades[place].trace);
    optimize_write_grade(r, b, place);
    optimize_keep_or_fail(r);
}

/* The member's number, or 0 if it is missing. */
static double optimize_run_number_at(const struct json *doc, const char *pointer)
{
    double v = 0;

    return json_double(doc, json_pointer(doc, str_c(pointer)), &v) ? v : 0;
}

static bool optimize_index_at(const struct json *doc, const char *pointer, size_t limit,
                              size_t *out)
{
    int64_t v;

    if (!json_i64(doc, json_pointer(doc, str_c(pointer)), &v) || v < 0 || (uint64_t)v >= limit)
        return false;
    *out = (size_t)v;
    return true;
}

static bool optimize_run_read_objectives(const struct json *doc, struct optimize_grade *g)
{
    const struct json_node *list = json_pointer(doc, STR("/objectives"));

    JSON_FOREACH(x, doc, list) {
        int64_t k;

        if (g->objective_count == OPTIMIZE_OBJECTIVES_MAX ||
            !json_i64(doc, json_at(doc, x, 0), &k) ||
            !json_double(doc, json_at(doc, x, 1), &g->value[g->objective_count]) || k < 0 ||
            k >= OPTIMIZE_OBJECTIVES_MAX)
            return false;
        g->objective[g->objective_count++] = (uint32_t)k;
    }
    return true;
}

static bool optimize_play_grade(struct optimize_run *r, size_t n, struct err *e)
{
    struct optimize_grade g = {.trace = STR(""), .done = true};
    const struct json_node *trace;
    size_t batch, place;

    if (!json_parse(&r->doc, optimize_run_peek(r), e) ||
        !optimize_index_at(&r->doc, "/grade/0", n, &batch) ||
        !optimize_index_at(&r->doc, "/grade/1", r->batches[batch].n, &place) ||
        !optimize_run_read_objectives(&r->doc, &g))
        return optimize_run_fail_line(r, e);
    assert(batch < n && place < r->batches[batch].n);
    g.score = optimize_run_number_at(&r->doc, "/score");
    g.cost = optimize_run_number_at(&r->doc, "/cost");
    trace = json_pointer(&r->doc, STR("/trace"));
    if (trace && !json_text(&r->doc, trace, r->batches[batch].arena, &g.trace))
        return optimize_run_fail_line(r, e);
    r->batches[batch].grades[place] = g;
    optimize_run_advance(r);
    return true;
}

static bool optimize_all_graded(const struct optimize_batch *b, size_t n)
{
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < b[i].n; k++)
            if (!b[i].grades[k].done)
                return false;
    return true;
}

/* An error of storing in a callback becomes the error of the current call. */
static bool optimize_met_no_error(const struct optimize_run *r, struct err *e)
{
    if (r->failed)
        *e = r->err;
    return !r->failed;
}

static bool optimize_run_evaluate(void *ctx, struct optimize_batch *batches, size_t n,
                                  struct err *e)
{
    struct optimize_run *r = ctx;
    const struct optimize_adapter *inner = &r->task.adapter;

    assert(n > 0);
    if (!optimize_met_no_error(r, e))
        return false;
    r->batches = batches;
    while (str_starts(optimize_run_peek(r), STR("{\"grade\":")))
        if (!optimize_play_grade(r, n, e))
            return false;
    if (optimize_all_graded(batches, n))
        return true;
    if (r->kept.n > 0)
        return optimize_run_fail_line(r, e);
    for (size_t i = 0; i < n; i++) {
        batches[i].on_graded = optimize_on_graded;
        batches[i].ctx = r;
    }
    return inner->evaluate(inner->ctx, batches, n, e) && optimize_met_no_error(r, e);
}

/* ---- answers ---- */

static void optimize_on_answered(void *ctx, struct optimize_ask *ask)
{
    struct optimize_run *r = ctx;

    assert(ask >= r->asks);
    buf_reset(&r->line);
    buf_printf(&r->line, "{\"answer\":%zu,\"text\":", (size_t)(ask - r->asks));
    if (ask->has_text) {
        optimize_make_clean(ask->arena, &ask->text);
        (void)json_quote(&r->line, ask->text);
    } else {
        buf_add(&r->line, STR("null"));
    }
    if (ask->cost > 0) {
        buf_add(&r->line, STR(",\"cost\":"));
        optimize_number(&r->line, ask->cost);
    }
    buf_add(&r->line, STR("}\n"));
    optimize_keep_or_fail(r);
}

static bool optimize_play_answer(struct optimize_run *r, size_t n, struct err *e)
{
    const struct json_node *text;
    struct optimize_ask *ask;
    size_t i;

    if (!json_parse(&r->doc, optimize_run_peek(r), e) ||
        !optimize_index_at(&r->doc, "/answer", n, &i))
        return optimize_run_fail_line(r, e);
    ask = &r->asks[i];
    text = json_pointer(&r->doc, STR("/text"));
    if (!text)
        return optimize_run_fail_line(r, e);
    ask->has_text = text->kind == JSON_STRING;
    if (ask->has_text && !json_text(&r->doc, text, ask->arena, &ask->text))
        return optimize_run_fail_line(r, e);
    ask->cost = optimize_run_number_at(&r->doc, "/cost");
    ask->done = true;
    optimize_run_advance(r);
    return true;
}

static bool optimize_run_propose(void *ctx, struct optimize_ask *asks, size_t n, struct err *e)
{
    struct optimize_run *r = ctx;
    const struct optimize_adapter *inner = &r->task.adapter;
    size_t open = 0;

    assert(n > 0);
    if (!optimize_met_no_error(r, e))
        return false;
    r->asks = asks;
    while (str_starts(optimize_run_peek(r), STR("{\"answer\":")))
        if (!optimize_play_answer(r, n, e))
            return false;
    for (size_t i = 0; i < n; i++) {
        open += !asks[i].done;
        asks[i].on_answered = optimize_on_answered;
        asks[i].ctx = r;
    }
    if (open == 0)
        return true;
    if (r->kept.n > 0)
        return optimize_run_fail_line(r, e);
    return inner->propose(inner->ctx, asks, n, e) && optimize_met_no_error(r, e);
}

/* ---- the world ---- */

/* Seconds of all sessions together. */
static double optimize_run_elapsed_s(void *ctx)
{
    struct optimize_run *r = ctx;
    double now_s;
    struct err e;

    if (str_starts(optimize_run_peek(r), STR("{\"time\":")) &&
        json_parse(&r->doc, optimize_run_peek(r), &e)) {
        r->time_s = optimize_run_number_at(&r->doc, "/time");
        optimize_run_advance(r);
        return r->time_s;
    }
    now_s = r->time_s + r->task.adapter.elapsed_s(r->task.adapter.ctx);
    if (r->kept.n > 0 && !r->failed)
        r->failed = !optimize_run_fail_line(r, &r->err);
    buf_set(&r->line, STR("{\"time\":"));
    optimize_number(&r->line, now_s);
    buf_add(&r->line, STR("}\n"));
    optimize_keep_or_fail(r);
    return now_s;
}

/* While lines are left to replay, the run was not stopped. */
static bool asked_to_stop(void *ctx)
{
    struct optimize_run *r = ctx;
    const struct optimize_adapter *inner = &r->task.adapter;

    return r->failed ||
           (r->kept.n == 0 && inner->asked_to_stop && inner->asked_to_stop(inner->ctx));
}

static bool optimize_run_uses(void *ctx, const struct optimize_grade *g, size_t component)
{
    const struct optimize_adapter *inner = &((struct optimize_run *)ctx)->task.adapter;

    assert(inner->uses);
    return inner->uses(inner->ctx, g, component);
}

static void optimize_sync_lines(struct optimize_run *r)
{
    if (!r->failed && r->keeper.sync)
        r->failed = !r->keeper.sync(r->keeper.ctx, &r->err);
}

static void optimize_keep_event(struct optimize_run *r, const struct optimize_event *ev)
{
    buf_reset(&r->line);
    optimize_event_json(ev, &r->line);
    if (r->kept.n == 0) {
        optimize_keep_or_fail(r);
        if (ev->kind == OPTIMIZE_EV_END || ev->kind == OPTIMIZE_EV_FINISH)
            optimize_sync_lines(r);
    } else if (!str_eq(optimize_run_peek(r), buf_str(&r->line)) && !r->failed) {
        r->failed = true;
        err_input(
            &r->err,
            "line %zu of the stored run is not the event that follows from the lines before it",
            r->row + 1);
    }
}

static void optimize_run_on_event(void *ctx, const struct optimize_event *ev)
{
    struct optimize_run *r = ctx;
    bool replayed = r->kept.n > 0;

    if (r->failed)
        return;
    if (ev->kind != OPTIMIZE_EV_FINISH || !optimize_interrupted(ev->run))
        optimize_keep_event(r, ev);
    if (!r->failed && r->task.sink.on_event)
        r->task.sink.on_event(r->task.sink.ctx, ev);
    if (replayed && !r->failed)
        optimize_run_advance(r);
}

/* ---- life ---- */

bool optimize_run_new(const struct optimize_task *task, str kept, struct optimize_keeper keeper,
                      struct optimize_run **out, struct err *e)
{
    struct optimize_run *r = base_alloc(sizeof *r);
    struct optimize_task ours = *task;

    assert(optimize_kept_size(kept) == kept.n);
    *r = (struct optimize_run){.task = *task, .keeper = keeper, .kept = kept};
    buf_init(&r->line, LINE_MAX_SIZE);
    json_init(&r->doc);
    ours.adapter = (struct optimize_adapter){
        .evaluate = optimize_run_evaluate,
        .propose = optimize_run_propose,
        .elapsed_s = task->adapter.elapsed_s ? optimize_run_elapsed_s : NULL,
        .asked_to_stop = asked_to_stop,
        .ctx = r,
        .uses = task->adapter.uses ? optimize_run_uses : NULL,
    };
    ours.sink = (struct optimize_sink){optimize_run_on_event, r};
    if (optimize_new(&ours, &r->engine, e) && optimize_run_begin(r, e)) {
        *out = r;
        return true;
    }
    optimize_run_free(r);
    return false;
}

void optimize_run_free(struct optimize_run *r)
{
    if (!r)
        return;
    optimize_free(r->engine);
    buf_release(&r->line);
    json_release(&r->doc);
    free(r);
}

bool optimize_run_go(struct optimize_run *r, struct err *e)
{
    bool ok = optimize_run(r->engine, e);

    if (!optimize_met_no_error(r, e))
        return false;
    if (ok && r->kept.n > 0)
        return err_input(e, "the stored run continues at line %zu, after its end", r->row + 1);
    return ok;
}

const struct optimize *optimize_run_engine(const struct optimize_run *r)
{
    return r->engine;
}
