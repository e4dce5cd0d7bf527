/* Events as JSON: a row for each kind with its fields in order, a function for each field.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "optimize/internal.h"

#define FIELDS_MAX 9

/* ---- values ---- */

/* Digits and a decimal exponent, as "1.5e-05" has them, without the exponent. */
static void optimize_event_spread(struct buf *out, str text, size_t e_at)
{
    str digits = str_slice(text, 0, e_at);
    bool negative = digits.n > 0 && digits.p[0] == '-';
    long shift = strtol(text.p + e_at + 1, NULL, 10);

    assert(e_at < text.n);
    if (negative) {
        buf_add_c(out, '-');
        digits = str_slice(digits, 1, digits.n);
    }
    if (shift < 0)
        buf_add(out, STR("0."));
    for (long i = shift; i < -1; i++)
        buf_add_c(out, '0');
    for (size_t i = 0; i < digits.n; i++)
        if (digits.p[i] != '.')
            buf_add_c(out, digits.p[i]);
    for (long i = (long)digits.n - (digits.n > 1 ? 2 : 1); i < shift; i++)
        buf_add_c(out, '0');
}

/* A number of few digits, which most scores are: the fewest decimals whose quotient is the number.
 * Up to 15 digits no other decimal of that length reads back as it. */
static bool optimize_event_put_short_number(struct buf *out, double v)
{
    double a = v < 0 ? -v : v, power = 10;

    for (int decimals = 1; decimals <= 18 && a * power < 1e15; decimals++) {
        uint64_t m = (uint64_t)(a * power + 0.5), whole;

        if ((double)m / power != a) {
            power *= 10;
            continue;
        }
        whole = (uint64_t)a;
        for (int i = 0; i < decimals; i++)
            whole *= 10;
        buf_printf(out,
                   "%s%llu.%0*llu",
                   v < 0 ? "-" : "",
                   (unsigned long long)a,
                   decimals,
                   (unsigned long long)(m - whole));
        return true;
    }
    return false;
}

void optimize_number(struct buf *out, double v)
{
    struct json_out o;
    struct buf b;
    size_t e_at;

    if (v > -1e15 && v < 1e15 && v == (double)(int64_t)v) { /* 0 and 1: most of them */
        if (v < 0)
            buf_add_c(out, '-');
        buf_add_u64(out, (uint64_t)(v < 0 ? -v : v));
        return;
    }
    if (optimize_event_put_short_number(out, v))
        return;
    buf_init(&b, 64);
    json_out_init(&o, &b);
    json_out_double(&o, v);
    buf_add_c(&b, '\0');
    assert(b.p && b.n > 1);
    e_at = str_find(buf_str(&b), STR("e"));
    if (e_at == STR_NONE)
        buf_add(out, str_slice(buf_str(&b), 0, b.n - 1));
    else
        optimize_event_spread(out, buf_str(&b), e_at);
    buf_release(&b);
}

static void optimize_event_number(struct json_out *o, double v)
{
    json_out_raw(o, STR("")); /* the comma */
    optimize_number(o->buf, v);
}

static void optimize_event_numbers(struct json_out *o, const double *v, size_t n)
{
    json_out_array(o);
    for (size_t i = 0; i < n; i++)
        optimize_event_number(o, v[i]);
    json_out_end(o);
}

static void optimize_event_integers(struct json_out *o, const uint32_t *v, size_t n)
{
    json_out_array(o);
    for (size_t i = 0; i < n; i++)
        json_out_u64(o, v[i]);
    json_out_end(o);
}

static str optimize_event_component(const struct optimize *o, size_t component)
{
    assert(component < o->task.component_count);
    return o->task.components[component].name;
}

/* ---- fields ---- */

typedef void field(struct json_out *o, const struct optimize_event *ev);

/* A function that writes a field with one call. */
#define FIELD_WRITER(name, call)                                                                   \
    static void optimize_event_put_##name(struct json_out *o, const struct optimize_event *ev)     \
    {                                                                                              \
        call;                                                                                      \
    }
FIELD_WRITER(problem, json_out_str(o, ev->run->task.name))
FIELD_WRITER(train, json_out_u64(o, ev->run->task.train_count))
FIELD_WRITER(val, json_out_u64(o, ev->run->task.val_count))
FIELD_WRITER(iteration, json_out_u64(o, ev->iteration))
FIELD_WRITER(candidate, json_out_u64(o, ev->candidate))
FIELD_WRITER(parents, optimize_event_integers(o, ev->parents, ev->parent_count))
FIELD_WRITER(ancestor, json_out_u64(o, ev->ancestor))
FIELD_WRITER(scores, optimize_event_numbers(o, ev->scores, ev->n))
FIELD_WRITER(mean, optimize_event_number(o, ev->mean))
FIELD_WRITER(yes, json_out_bool(o, ev->yes))
FIELD_WRITER(calls, json_out_u64(o, ev->calls))
FIELD_WRITER(ids, optimize_event_integers(o, ev->ids, ev->n))
FIELD_WRITER(after, optimize_event_number(o, ev->after))
FIELD_WRITER(reason, json_out_str(o, str_c(ev->reason)))
FIELD_WRITER(candidate_count, json_out_u64(o, ev->run->count))

/* As Python prints the number: no zeros before it, and no minus before 0. */
static void optimize_event_put_seed(struct json_out *o, const struct optimize_event *ev)
{
    str s = ev->run->task.seed;
    bool negative = s.n > 0 && s.p[0] == '-';

    s = str_slice(s, negative, s.n);
    while (s.n > 1 && s.p[0] == '0')
        s = str_slice(s, 1, s.n);
    json_out_raw(o, negative && !str_eq(s, STR("0")) ? STR("-") : STR(""));
    buf_add(o->buf, s);
}

static void optimize_event_put_component_names(struct json_out *o, const struct optimize_event *ev)
{
    json_out_array(o);
    for (size_t i = 0; i < ev->run->task.component_count; i++)
        json_out_str(o, optimize_event_component(ev->run, i));
    json_out_end(o);
}

static void optimize_event_put_parent_scores(struct json_out *o, const struct optimize_event *ev)
{
    assert(ev->parent_scores[0] && ev->parent_scores[1]);
    json_out_array(o);
    optimize_event_numbers(o, ev->parent_scores[0], ev->n);
    optimize_event_numbers(o, ev->parent_scores[1], ev->n);
    json_out_end(o);
}

static void optimize_event_put_objectives(struct json_out *o, const struct optimize_event *ev)
{
    const struct optimize *run = ev->run;
    const struct candidate *c = &run->candidates[ev->candidate];

    assert(ev->candidate < run->count && run->objective_seen <= OPTIMIZE_OBJECTIVES_MAX);
    json_out_object(o);
    for (size_t i = 0; i < run->objective_seen; i++) {
        uint32_t k = run->objective_order[i];

        if (c->count_objective[k] == 0)
            continue;
        json_out_key(o, run->task.objectives[k]);
        optimize_event_number(o, c->sum_objective[k] / c->count_objective[k]);
    }
    json_out_end(o);
}

static void optimize_event_put_texts(struct json_out *o, const struct optimize_event *ev)
{
    assert(ev->texts);
    json_out_object(o);
    for (size_t i = 0; i < ev->run->task.component_count; i++)
        if (ev->texts[i].p) {
            json_out_key(o, optimize_event_component(ev->run, i));
            json_out_str(o, ev->texts[i]);
        }
    json_out_end(o);
}

static void optimize_event_put_names(struct json_out *o, const struct optimize_event *ev)
{
    assert(ev->ids || ev->n == 0);
    json_out_array(o);
    for (size_t i = 0; i < ev->n; i++)
        json_out_str(o, optimize_event_component(ev->run, ev->ids[i]));
    json_out_end(o);
}

static void optimize_event_put_before(struct json_out *o, const struct optimize_event *ev)
{
    assert(ev->parent_count <= 2);
    if (ev->parent_count == 2)
        optimize_event_numbers(o, ev->before, 2);
    else
        optimize_event_number(o, ev->before[0]);
}

/* "3", "speed", "val:3", "objective:speed", "3:speed" */
static void optimize_event_put_key(struct json_out *out, const struct optimize *o,
                                   const struct front_key *k)
{
    bool hybrid = o->task.settings.frontier == OPTIMIZE_HYBRID;
    struct buf b;

    assert(k->objective == FRONT_NONE || k->objective < o->task.objective_count);
    buf_init(&b, OPTIMIZE_TEXT_MAX);
    if (k->example != FRONT_NONE)
        buf_printf(&b, "%s%u", hybrid ? "val:" : "", k->example);
    if (k->objective != FRONT_NONE) {
        buf_add(&b, k->example != FRONT_NONE ? STR(":") : hybrid ? STR("objective:") : STR(""));
        buf_add(&b, o->task.objectives[k->objective]);
    }
    json_out_str(out, buf_str(&b));
    buf_release(&b);
}

static void optimize_event_put_front(struct json_out *o, const struct optimize_event *ev)
{
    const struct front *f = &ev->run->front;

    json_out_array(o);
    for (size_t k = 0; k < f->key_count; k++) {
        json_out_array(o);
        optimize_event_put_key(o, ev->run, &f->keys[k]);
        optimize_event_number(o, f->keys[k].best);
        json_out_array(o);
        for (uint32_t c = front_next(f, k, 0); c != FRONT_NONE; c = front_next(f, k, c + 1))
            json_out_u64(o, c);
        json_out_close(o, 2);
    }
    json_out_end(o);
}

/* ---- the table ---- */

/* clang-format off */
/* A field whose name is that of its writer. */
#define FIELD(name) {#name, optimize_event_put_##name}

static const struct {
    const char *name;
    struct {
        const char *name;
        field *put;
    } fields[FIELDS_MAX];
} rows[] = {
    [OPTIMIZE_EV_START] = {"start", {FIELD(problem), FIELD(seed),
        {"components", optimize_event_put_component_names}, FIELD(train), FIELD(val)}},
    [OPTIMIZE_EV_NOTICE] = {"notice", {{"text", optimize_event_put_reason}}},
    [OPTIMIZE_EV_VALSET] = {"valset", {FIELD(iteration), FIELD(candidate), FIELD(parents),
        FIELD(scores), FIELD(objectives), FIELD(mean), {"best", optimize_event_put_yes},
        FIELD(calls)}},
    [OPTIMIZE_EV_ITERATION] = {"iteration", {FIELD(iteration)}},
    [OPTIMIZE_EV_MERGE_NONE] = {"merge_none", {FIELD(iteration)}},
    [OPTIMIZE_EV_MERGE] = {"merge", {FIELD(iteration), FIELD(parents), FIELD(ancestor),
        FIELD(texts), FIELD(ids), FIELD(parent_scores), FIELD(scores)}},
    [OPTIMIZE_EV_MERGE_ACCEPTED] = {"merge_accepted", {FIELD(iteration), FIELD(candidate),
        FIELD(parents), FIELD(before), FIELD(after)}},
    [OPTIMIZE_EV_MERGE_REJECTED] = {"merge_rejected", {FIELD(iteration), FIELD(parents),
        FIELD(before), FIELD(after)}},
    [OPTIMIZE_EV_SELECTED] = {"selected", {FIELD(iteration), FIELD(candidate), FIELD(mean)}},
    [OPTIMIZE_EV_MINIBATCH] = {"minibatch", {FIELD(iteration), FIELD(ids)}},
    [OPTIMIZE_EV_PARENT_SCORES] = {"parent_scores", {FIELD(iteration), FIELD(candidate),
        FIELD(scores)}},
    [OPTIMIZE_EV_SKIPPED] = {"skipped", {FIELD(iteration), FIELD(candidate)}},
    [OPTIMIZE_EV_COMPONENTS] = {"components", {FIELD(iteration), FIELD(names)}},
    [OPTIMIZE_EV_PROPOSED] = {"proposed", {FIELD(iteration), FIELD(texts)}},
    [OPTIMIZE_EV_CHILD_SCORES] = {"child_scores", {FIELD(iteration), FIELD(parents),
        FIELD(scores)}},
    [OPTIMIZE_EV_REJECTED] = {"rejected", {FIELD(iteration), FIELD(before), FIELD(after),
        FIELD(reason)}},
    [OPTIMIZE_EV_FRONT] = {"front", {FIELD(iteration), FIELD(front)}},
    [OPTIMIZE_EV_ACCEPTED] = {"accepted", {FIELD(iteration), FIELD(candidate), FIELD(parents),
        FIELD(before), FIELD(after)}},
    [OPTIMIZE_EV_END] = {"end", {FIELD(iteration), {"accepted", optimize_event_put_yes},
        FIELD(calls)}},
    [OPTIMIZE_EV_FINISH] = {"finish", {{"best", optimize_event_put_candidate}, FIELD(mean),
        FIELD(texts), {"candidates", optimize_event_put_candidate_count},
        {"iterations", optimize_event_put_iteration}, FIELD(calls)}},
};
/* clang-format on */

void optimize_event_json(const struct optimize_event *ev, struct buf *out)
{
    struct json_out o;

    assert((size_t)ev->kind < COUNT_OF(rows));
    json_out_init_object(&o, out);
    json_member_str(&o, "event", str_c(rows[ev->kind].name));
    for (size_t i = 0; i < FIELDS_MAX && rows[ev->kind].fields[i].name; i++) {
        json_out_key(&o, str_c(rows[ev->kind].fields[i].name));
        rows[ev->kind].fields[i].put(&o, ev);
    }
    json_out_end(&o);
    buf_add_c(out, '\n');
}
