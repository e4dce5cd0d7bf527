/* scores.c - the scores of a candidate: its mean, its objectives, and which of them have failed.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/tune/tune.h"

#include <math.h>

#define SCORES_MAX ((size_t)16 << 10)

static bool tune_below_floor(const struct tune_app *app, double mean, size_t objective)
{
    return app->floors && mean >= 0 && mean < app->floors[objective];
}

static void tune_put_objectives(const struct tune_app *app, const struct optimize *engine,
                                size_t candidate, struct json_out *o)
{
    json_member_object(o, "objectives");
    for (size_t i = 0; app->objectives[i]; i++) {
        double mean = optimize_objective(engine, candidate, i);

        json_member_double(o, app->objectives[i], mean < 0 ? NAN : mean); /* null */
    }
    json_out_end(o);
    json_member_array(o, "below_floor");
    for (size_t i = 0; app->objectives[i]; i++)
        if (tune_below_floor(app, optimize_objective(engine, candidate, i), i))
            json_out_str(o, str_c(app->objectives[i]));
    json_out_end(o);
}

str tune_scores_json(const struct tune_app *app, const struct optimize *engine, size_t candidate,
                     const struct tune_row *row, size_t case_count, struct arena *a)
{
    struct json_text t;

    assert(candidate < optimize_count(engine));
    json_text_begin(&t, SCORES_MAX);
    json_member_double(&t.o, "score", row->best_score);
    json_member_double(&t.o, "parent", row->seed_score);
    json_member_i64(&t.o, "calls", row->calls);
    json_member_i64(&t.o, "cases", (int64_t)case_count);
    tune_put_objectives(app, engine, candidate, &t.o);
    return json_text_end(&t, a, STR("{}"));
}

str tune_scores_failed(const struct tune_app *app, const struct optimize *engine, size_t candidate,
                       struct arena *a)
{
    str out = STR("");

    assert(candidate < optimize_count(engine));
    for (size_t i = 0; app->objectives[i]; i++) {
        double mean = optimize_objective(engine, candidate, i);

        if (tune_below_floor(app, mean, i))
            out = arena_printf(a,
                               STR_FMT "%s%s %.2f is below %.2f",
                               STR_ARG(out),
                               out.n ? ", " : "",
                               app->objectives[i],
                               mean,
                               app->floors[i]);
    }
    return out;
}

str tune_components_json(const struct tune_app *app, const struct optimize *engine,
                         size_t candidate, struct arena *a)
{
    struct json_text s;

    json_text_begin(&s, 2 * PROMPT_SIZE_MAX);
    for (size_t i = 0; i < app->prompt->count; i++) {
        json_out_key(&s.o, str_c(app->prompt->parts[i].name));
        json_out_str(&s.o, optimize_text(engine, candidate, i));
    }
    return json_text_end(&s, a, STR("{}"));
}

bool tune_settle_unasked(struct optimize_batch *batches, size_t n, bool seed, struct err *e)
{
    bool blame = n > 0;
    str why = STR("");

    for (size_t i = 0; i < n; i++) {
        blame = blame && (seed || batches[i].traces);
        for (size_t k = 0; k < batches[i].n; k++) {
            blame = blame && !batches[i].grades[k].done;
            why = batches[i].grades[k].unasked;
        }
    }
    if (blame && why.n)
        return err_set(e,
                       ERR_UPSTREAM,
                       "the model could not be asked: " STR_FMT,
                       STR_ARG(str_slice(why, 0, 300)));
    for (size_t i = 0; i < n; i++)
        for (size_t k = 0; k < batches[i].n; k++)
            if (!batches[i].grades[k].done)
                optimize_graded(&batches[i], k);
    return true;
}
