/* query_absent.c - explains why a call has no reasoning.
 *
 * no_reply: no reply came from a model. none_given: the model gave none.
 * provider_keeps_it: the provider billed or sealed it and sent no text. not_kept, summary_only:
 * `reasoning.keep` was none or summary when the call was recorded.
 * hidden_from_key: the asker may not know whether there is any.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "store/query_build.h"

#define RECENT_MAX 1000 /* calls that a search which found nothing looks at */

static bool absent_is_policy(str why)
{
    return why.n == 0 || str_eq(why, STR("not_kept")) || str_eq(why, STR("summary_only"));
}

void absent_write(const struct query_asker *a, const struct db_value *v, struct json_out *o)
{
    str why = v->type == DB_TEXT ? v->s : STR("");

    if (a->hide_reasoning && absent_is_policy(why))
        why = STR("hidden_from_key");
    json_member_str_or_null(o, "reasoning_absent", why);
}

/* ---- of a search ---- */

/* The first one that any of the calls has is the answer. */
static const char *const absent_order[] = {
    "", "summary_only", "not_kept", "provider_keeps_it", "none_given", "no_reply"};

struct absent_tally {
    size_t best; /* into absent_order; its size: there are no calls */
};

static bool absent_on_call(void *ctx, const struct db_value *v, size_t n)
{
    struct absent_tally *t = ctx;
    str why = v[0].type == DB_TEXT ? v[0].s : STR("");

    assert(n == 1 && t->best <= COUNT_OF(absent_order));
    for (size_t i = 0; i < t->best; i++)
        if (str_eq(why, str_c(absent_order[i])))
            t->best = i;
    return t->best > 0;
}

bool absent_write_search(struct reader *r, const struct query_asker *a, bool found,
                         struct json_out *o, struct err *e)
{
    struct absent_tally t = {.best = COUNT_OF(absent_order)};
    struct sql q;
    bool ok = true;

    if (!found && !a->hide_reasoning) {
        sql_begin(&q,
                  "SELECT " REASONING_ABSENT " FROM llm_interactions i WHERE i.call_n IN "
                  "(SELECT call_n FROM llm_interactions ORDER BY call_n DESC");
        sql_limit(&q, RECENT_MAX, 0);
        sql_add(&q, ")");
        q.where = true;
        sql_key_scope(&q, a);
        ok = sql_query(r, &q, (struct db_rows){absent_on_call, &t}, e);
    }
    json_out_key(o, STR("reasoning_absent"));
    if (!found && a->hide_reasoning)
        json_out_str(o, STR("hidden_from_key"));
    else if (!found && t.best > 0 && t.best < COUNT_OF(absent_order))
        json_out_str(o, str_c(absent_order[t.best]));
    else
        json_out_null(o);
    return ok;
}
