/* orders.c - the optimizer on orders: an example is an utterance with the order expected of it, an
 * evaluation the conversation with a candidate as the system prompt, scored by orders/score.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/prompt.h"
#include "apps/orders/score.h"
#include "apps/tune/folder.h"

#define OUT_MAX ((size_t)1 << 20)
#define CASE_ARENA_MAX ((size_t)1 << 30) /* memory for one case while it is read */

enum { ORDER, PROTOCOL, REAL, SCORES };
static const char *const objectives[] = {"order", "protocol", "real", NULL};
static const double weights[SCORES] = {0.6, 0.2, 0.2};
static const char *const advice[SCORES] = {
    "whether the order is what was asked for: items, quantities, sizes, modifiers",
    "whether each item was looked up before it was added",
    "whether all that was added is on the menu",
};

static bool orders_begin(const struct tune_env *env, struct arena *a, void **out, struct err *e)
{
    str path = env->setup->config->orders.menu;
    struct menu *menu;

    (void)a;
    if (!path.n)
        return err_input(e, "the configuration has no orders.menu");
    if (!menu_load(path.p, &menu, e))
        return false;
    *out = menu;
    return true;
}

static void orders_done(void *app)
{
    menu_free(app);
}

/* A case on one line, as orders_eval_run expects it: in valid JSON a line ends only where a space
 * may be. An unreadable case would have no score with any prompt. */
static bool tune_orders_read_case(const struct menu *menu, const struct tune_file *f,
                                  struct arena *scratch, struct arena *a, str *out, struct err *e)
{
    struct orders_eval_case *c = arena_zero(scratch, 1, sizeof *c);
    char *line = arena_alloc(a, f->text.n + 1);

    if (!orders_eval_read(menu, f->text, scratch, c, e))
        return err_prefix(e, STR_FMT ": ", STR_ARG(f->name));
    for (size_t i = 0; i < f->text.n; i++)
        line[i] = f->text.p[i] == '\n' ? ' ' : f->text.p[i];
    *out = (str){line, f->text.n};
    return true;
}

static bool orders_load(void *app, const char *folder, struct arena *a, struct tune_example **out,
                        size_t *n, struct err *e)
{
    struct tune_file *files;
    struct arena scratch;
    bool ok = true;

    if (!tune_folder(folder, a, &files, n, e))
        return false;
    *out = arena_zero(a, *n + 1, sizeof **out);
    arena_init(&scratch, CASE_ARENA_MAX);
    for (size_t i = 0; ok && i < *n; i++) {
        struct tune_example *x = &(*out)[i];

        x->id = files[i].name;
        ok = tune_has_room(a, e) && tune_orders_read_case(app, &files[i], &scratch, a, &x->text, e);
        arena_reset(&scratch);
    }
    arena_release(&scratch);
    return ok;
}

/* ---- grading ---- */

struct seen {
    struct orders_eval_result r;
    bool unasked;
    struct buf got;
};

static void tune_orders_on_case(void *ctx, const struct orders_eval_result *r)
{
    struct seen *s = ctx;
    struct json_out o;

    assert(r->failed.n > 0 || r->got);
    s->r.score = r->score;
    s->r.failed = STR("");
    s->unasked = r->failed.n > 0;
    json_out_init(&o, &s->got);
    if (r->failed.n > 0)
        json_out_str(&o, r->failed);
    else
        order_write(&o, r->got, false);
}

static void tune_orders_put_trace(const struct seen *s, str said, struct json_out *o)
{
    const double score[SCORES] = {s->r.score.order, s->r.score.protocol, s->r.score.real};
    char line[160];

    json_member_raw(o, "Inputs", said);
    json_member_raw(o, "Generated Outputs", s->got.n ? buf_str(&s->got) : STR("null"));
    json_member_object(o, "Feedback");
    for (size_t i = 0; i < SCORES; i++) {
        (void)snprintf(line, sizeof line, "%.2f: %s", score[i], advice[i]);
        json_member_str(o, objectives[i], str_c(line));
    }
}

static void tune_grade_seen(const struct seen *s, str said, struct arena *a,
                            struct optimize_grade *out)
{
    const double score[SCORES] = {s->r.score.order, s->r.score.protocol, s->r.score.real};
    struct json_text t;

    assert(out->objective_count == 0);
    out->objective_count = SCORES;
    for (uint32_t i = 0; i < SCORES; i++) {
        out->score += weights[i] * score[i];
        out->objective[i] = i;
        out->value[i] = score[i];
    }
    json_text_begin(&t, OUT_MAX);
    tune_orders_put_trace(s, said, &t.o);
    out->trace = json_text_end(&t, a, STR("{}"));
}

static void orders_grade(const struct tune_env *env, const str *texts, const struct tune_example *x,
                         struct arena *a, struct optimize_grade *out)
{
    struct orders_options opts = {.prompt = texts[0], .model = env->model};
    struct seen seen = {0};
    struct orders *o = NULL;
    struct orders_eval sums;
    struct err e;
    bool ok;

    buf_init(&seen.got, OUT_MAX);
    ok = orders_open(env->host, &opts, &o, &e) &&
         orders_eval_run(
             o,
             &(struct orders_eval_source){
                 .text = x->text, .path = x->id.p, .on_case = tune_orders_on_case, .ctx = &seen},
             &sums,
             &e);
    orders_close(o);
    if (!ok) {
        buf_reset(&seen.got);
        (void)json_quote(&seen.got, str_c(e.text));
    }
    tune_grade_seen(&seen, x->text, a, out);
    if (seen.unasked)
        out->unasked = arena_dup(a, buf_str(&seen.got));
    buf_release(&seen.got);
}

/* Placeholders that the program fills in, and names of tools. */
static const char names[] =
    "{{location_name}} {{menu_items}} {{current_order}} lookup_menu_item add_item_to_order "
    "remove_item change_item get_current_order finalize_order";

const struct tune_app tune_orders = {.name = "orders",
                                     .prompt = &orders_built_in,
                                     .objectives = objectives,
                                     .names = names,
                                     .open = orders_begin,
                                     .close = orders_done,
                                     .load = orders_load,
                                     .grade = orders_grade};
