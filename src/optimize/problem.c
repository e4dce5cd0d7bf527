/* The evaluator and the reflector that a problem file describes.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "optimize/problem.h"

#define FNV_START 2166136261u
#define FNV_PRIME 16777619u

/* ---- words ---- */

/* The next piece between spaces that is not empty; false at the end. */
static bool optimize_problem_next_word(str *rest, str *word)
{
    size_t from = 0, to;

    while (from < rest->n && rest->p[from] == ' ')
        from++;
    for (to = from; to < rest->n && rest->p[to] != ' '; to++)
        ;
    *word = str_slice(*rest, from, to);
    *rest = str_slice(*rest, to, rest->n);
    return word->n > 0;
}

static bool optimize_problem_has_word(str text, str word)
{
    str w;

    while (optimize_problem_next_word(&text, &w))
        if (str_eq(w, word))
            return true;
    return false;
}

static bool optimize_is_in(const str *texts, const struct problem_word *w)
{
    return optimize_problem_has_word(texts[w->component], w->word);
}

static int64_t optimize_problem_count_words(str text)
{
    int64_t n = 0;
    str w;

    while (optimize_problem_next_word(&text, &w))
        n++;
    return n;
}

/* ---- the evaluator ---- */

/* The cost of too many words. */
static int64_t optimize_length_cost(const struct problem *p, const str *texts)
{
    int64_t cost = 0;

    for (size_t c = 0; c < p->component_count; c++) {
        int64_t beyond = optimize_problem_count_words(texts[c]) - p->length_limit;

        if (beyond > 0)
            cost += beyond * p->length_cost;
    }
    return cost;
}

static void optimize_problem_add_up(const struct problem *p, const struct problem_example *x,
                                    const str *texts, int64_t u[OPTIMIZE_OBJECTIVES_MAX])
{
    memcpy(u, x->base, sizeof x->base);
    for (size_t i = 0; i < x->need_count; i++)
        if (optimize_is_in(texts, &x->needs[i].at))
            u[x->needs[i].objective] += x->needs[i].weight;
    for (size_t i = 0; i < x->hurt_count; i++)
        if (optimize_is_in(texts, &x->hurts[i].at))
            u[x->hurts[i].objective] -= x->hurts[i].weight;
    for (size_t i = 0; i < p->conflict_count; i++) {
        const struct problem_conflict *c = &p->conflicts[i];

        if (optimize_is_in(texts, &c->a) && optimize_is_in(texts, &c->b) &&
            !(c->has_unless && optimize_is_in(texts, &c->unless)))
            u[c->objective] -= c->cost;
    }
    if (p->has_length)
        u[p->length_objective] -= optimize_length_cost(p, texts);
}

void problem_grade(const struct problem *p, const struct problem_example *x, const str *texts,
                   struct optimize_grade *out)
{
    int64_t u[OPTIMIZE_OBJECTIVES_MAX], sum = 0;

    optimize_problem_add_up(p, x, texts, u);
    *out = (struct optimize_grade){.trace = STR("")};
    for (uint32_t i = 0; i < x->objective_count; i++) {
        uint32_t k = x->objective[i];

        u[k] = u[k] < 0 ? 0 : u[k] > p->unit ? p->unit : u[k];
        sum += p->share[k] * u[k];
        if (p->report_objectives) {
            out->objective[out->objective_count] = k;
            out->value[out->objective_count++] = (double)u[k] / (double)p->unit;
        }
    }
    out->score = (double)sum / ((double)p->unit * (double)x->share_sum);
}

/* ---- the reflector ---- */

struct words {
    str *list;
    size_t n;
};

static uint32_t optimize_problem_hash(uint32_t h, str bytes)
{
    for (size_t i = 0; i < bytes.n; i++)
        h = (h ^ (unsigned char)bytes.p[i]) * FNV_PRIME;
    return h;
}

static uint32_t optimize_hash_number(uint32_t h, const char *before, uint64_t n)
{
    char text[24];

    h = optimize_problem_hash(h, str_c(before));
    (void)snprintf(text, sizeof text, "%llu", (unsigned long long)n);
    return optimize_problem_hash(h, str_c(text));
}

static uint32_t optimize_hash_of(const struct problem *p, const struct optimize_ask *ask)
{
    uint32_t h = optimize_problem_hash(FNV_START, p->salt);

    h = optimize_problem_hash(optimize_problem_hash(h, STR("/")),
                              p->components[ask->component].name);
    h = optimize_problem_hash(optimize_problem_hash(h, STR("/")), ask->texts[ask->component]);
    h = optimize_problem_hash(h, STR("/"));
    for (size_t i = 0; i < ask->n; i++)
        h = optimize_hash_number(h, i ? "," : "", ask->ids[i]);
    return p->counter ? optimize_hash_number(h, "/", ask->serial) : h;
}

static struct words optimize_problem_split(struct arena *a, str text)
{
    struct words w = {.list = arena_alloc(a, (text.n / 2 + 2) * sizeof(str))};

    while (optimize_problem_next_word(&text, &w.list[w.n]))
        w.n++;
    return w;
}

static bool optimize_problem_has(const struct words *w, str word)
{
    for (size_t i = 0; i < w->n; i++)
        if (str_eq(w->list[i], word))
            return true;
    return false;
}

/* The words that the examples need here and the text does not have, each once; at most max. */
static struct words optimize_problem_list_unmet(const struct problem *p,
                                                const struct optimize_ask *ask, size_t max)
{
    struct words out = {0};
    size_t room = 0;

    for (size_t i = 0; i < ask->n; i++)
        room += p->train[ask->ids[i]].need_count;
    out.list = arena_alloc(ask->arena, room * sizeof(str) + 1);
    for (size_t i = 0; i < ask->n; i++) {
        const struct problem_example *x = &p->train[ask->ids[i]];

        for (size_t k = 0; k < x->need_count && out.n < max; k++) {
            str word = x->needs[k].at.word;

            if (x->needs[k].at.component == ask->component && !optimize_problem_has(&out, word) &&
                !optimize_problem_has_word(ask->texts[ask->component], word))
                out.list[out.n++] = word;
        }
    }
    return out;
}

/* The place of the first word that an example blames, or 0: the first word is never blamed. */
static size_t optimize_problem_find_blamed(const struct problem *p, const struct optimize_ask *ask,
                                           const struct words *have)
{
    for (size_t i = 0; i < ask->n; i++) {
        const struct problem_example *x = &p->train[ask->ids[i]];

        for (size_t k = 0; k < x->hurt_count; k++)
            for (size_t w = 1; w < have->n && x->hurts[k].at.component == ask->component; w++)
                if (str_eq(have->list[w], x->hurts[k].at.word))
                    return w;
    }
    return 0;
}

/* The words but the one at `without` (SIZE_MAX: all), and more words after them. */
static str optimize_problem_join(struct arena *a, const struct words *have, size_t without,
                                 const struct words *more)
{
    size_t size = 0, n = 0;
    char *out;

    for (size_t i = 0; i < have->n; i++)
        size += have->list[i].n + 1;
    for (size_t i = 0; i < more->n; i++)
        size += more->list[i].n + 1;
    out = arena_alloc(a, size + 1);
    for (size_t i = 0; i < have->n + more->n; i++) {
        str w = i < have->n ? have->list[i] : more->list[i - have->n];

        if (i == without)
            continue;
        if (n > 0)
            out[n++] = ' ';
        memcpy(out + n, w.p, w.n);
        n += w.n;
    }
    return (str){out, n};
}

static const struct words nothing = {0};

bool problem_reflect(const struct problem *p, const struct optimize_ask *ask, str *out)
{
    uint32_t h = optimize_hash_of(p, ask);
    enum problem_action action = p->actions[h % p->action_count];
    size_t g = h / p->action_count;
    struct words have = optimize_problem_split(ask->arena, ask->texts[ask->component]);
    struct words more = {0};
    size_t without = SIZE_MAX;

    switch (action) {
    case PROBLEM_NONE:
        return false;
    case PROBLEM_ECHO:
        *out = ask->texts[ask->component];
        return true;
    case PROBLEM_NOISE:
        more = (struct words){&p->noise[g % p->noise_count], 1};
        if (optimize_problem_has(&have, more.list[0]))
            return false;
        break;
    case PROBLEM_DROP:
        if (have.n < 2)
            return false;
        without = 1 + g % (have.n - 1);
        break;
    case PROBLEM_CUT:
        without = optimize_problem_find_blamed(p, ask, &have);
        if (without > 0)
            break;
        without = SIZE_MAX;
        /* fall through */
    default:
        more = optimize_problem_list_unmet(p, ask, action == PROBLEM_ADD_ALL ? SIZE_MAX : 1);
        if (more.n == 0)
            return false;
        if (action == PROBLEM_SWAP && have.n >= 2)
            without = have.n - 1;
    }
    *out = optimize_problem_join(ask->arena, &have, without, more.n ? &more : &nothing);
    return true;
}

/* ---- as an adapter ---- */

static bool optimize_problem_evaluate(void *ctx, struct optimize_batch *batches, size_t n,
                                      struct err *e)
{
    const struct problem *p = ctx;

    (void)e;
    for (size_t i = 0; i < n; i++) {
        struct optimize_batch *b = &batches[i];
        const struct problem_example *from = b->split == OPTIMIZE_VAL ? p->val : p->train;

        for (size_t k = 0; k < b->n; k++) {
            if (b->grades[k].done)
                continue;
            problem_grade(p, &from[b->ids[k]], b->texts, &b->grades[k]);
            optimize_graded(b, k);
        }
    }
    return true;
}

static bool optimize_problem_propose(void *ctx, struct optimize_ask *asks, size_t n, struct err *e)
{
    const struct problem *p = ctx;

    (void)e;
    for (size_t i = 0; i < n; i++) {
        if (asks[i].done)
            continue;
        asks[i].has_text = problem_reflect(p, &asks[i], &asks[i].text);
        optimize_answered(&asks[i]);
    }
    return true;
}

struct optimize_adapter problem_adapter(struct problem *p)
{
    return (struct optimize_adapter){
        .evaluate = optimize_problem_evaluate, .propose = optimize_problem_propose, .ctx = p};
}

struct optimize_task problem_task(struct problem_run *run)
{
    struct problem *p = &run->problem;

    return (struct optimize_task){
        .settings = run->settings,
        .name = p->name,
        .components = p->components,
        .component_count = p->component_count,
        .objectives = p->objectives,
        .objective_count = p->report_objectives ? p->objective_count : 0,
        .train_count = p->train_count,
        .val_count = p->val_count,
        .val_is_train = p->val_is_train,
        .seed = run->seed,
        .adapter = problem_adapter(p),
    };
}
