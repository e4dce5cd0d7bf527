/* SPDX-License-Identifier: Apache-2.0 */
#include "gateway/metrics.h"

#include "base/map.h"
#include "gateway/metrics_cells.h"

#define ID_MAX (METRICS_LABELS_MAX * (METRICS_LABEL_MAX + 1))
#define ARENA_MAX ((size_t)8 << 20)
#define SHARDS_MAX 4096u
#define CELL_COUNT(type) (sizeof(struct type) / sizeof(uint64_t))
#define MS 1000000ull

static const char *const names[METRICS_SET_COUNT][METRICS_LABELS_MAX] = {
    [METRICS_BY_ROUTE_MODEL] = {"route", "provider", "model"},
    [METRICS_BY_MODEL] = {"provider", "model"},
    [METRICS_BY_ROUTE] = {"route"},
    [METRICS_BY_RULE] = {"rule"},
};

const size_t metrics_cell_counts[METRICS_SET_COUNT] = {
    [METRICS_BY_ROUTE_MODEL] = CELL_COUNT(metrics_route_model),
    [METRICS_BY_MODEL] = CELL_COUNT(metrics_model),
    [METRICS_BY_ROUTE] = CELL_COUNT(metrics_route),
    [METRICS_BY_RULE] = CELL_COUNT(metrics_rule),
};

const struct metrics_bounds metrics_seconds = {1000 * MS,
                                               16,
                                               {50 * MS,
                                                100 * MS,
                                                250 * MS,
                                                500 * MS,
                                                1000 * MS,
                                                2000 * MS,
                                                3000 * MS,
                                                5000 * MS,
                                                10000 * MS,
                                                20000 * MS,
                                                30000 * MS,
                                                60000 * MS,
                                                120000 * MS,
                                                180000 * MS,
                                                300000 * MS,
                                                600000 * MS}};
const struct metrics_bounds metrics_overhead = {1000 * MS,
                                                13,
                                                {MS / 20,
                                                 MS / 10,
                                                 MS / 4,
                                                 MS / 2,
                                                 MS,
                                                 5 * MS / 2,
                                                 5 * MS,
                                                 10 * MS,
                                                 25 * MS,
                                                 50 * MS,
                                                 100 * MS,
                                                 250 * MS,
                                                 1000 * MS}};
const struct metrics_bounds metrics_tokens = {
    1, 13, {32, 64, 128, 256, 512, 1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072}};
const struct metrics_bounds metrics_ratio = {
    10000, 10, {1000, 2000, 3000, 4000, 5000, 6000, 7000, 8000, 9000, 10000}};

const char *const metrics_cut_actions[METRICS_CUT_ACTIONS] = {
    "prefill", "restate", "control", "truncate", "native", "none"};

/* ---- label sets ---- */

static void metrics_show(enum metrics_set set, const str *values, struct buf *labels)
{
    assert(set < METRICS_SET_COUNT);
    buf_init(labels, 8 * ID_MAX);
    for (size_t i = 0; i < METRICS_LABELS_MAX && names[set][i]; i++)
        metrics_label(labels, names[set][i], values[i]);
    assert(!buf_full(labels));
}

static void metrics_add_key(struct metrics *m, enum metrics_set set, uint64_t hash, str id,
                            str labels)
{
    struct metrics_registry *r = &m->registries[set];
    size_t at = atomic_load_explicit(&r->count, memory_order_relaxed);

    assert(at <= METRICS_SERIES_MAX);
    r->keys[at] =
        (struct metrics_key){hash, arena_dup(&m->arena, id), arena_dup(&m->arena, labels).p};
    atomic_store_explicit(&r->count, at + 1, memory_order_release);
}

/* Values that are not the same may look the same, once cut and cleaned: then they are one. */
static bool metrics_find_key(const struct metrics_registry *r, str labels, size_t *at,
                             size_t *count)
{
    *count = atomic_load_explicit(&r->count, memory_order_acquire);
    for (*at = 0; *at < *count; (*at)++)
        if (str_eq(str_c(r->keys[*at].labels), labels))
            return true;
    *at = 0;
    return false;
}

/* The index of a set of labels that this thread has not met; 0, "other", once there are too many.
 */
static size_t metrics_meet_key(struct metrics *m, enum metrics_set set, uint64_t hash, str id,
                               const str *values)
{
    struct metrics_registry *r = &m->registries[set];
    struct buf labels;
    size_t count, at;

    metrics_show(set, values, &labels);
    if (!metrics_find_key(r, buf_str(&labels), &at, &count) && count <= METRICS_SERIES_MAX) {
        pthread_mutex_lock(&m->lock);
        if (!metrics_find_key(r, buf_str(&labels), &at, &count) && count <= METRICS_SERIES_MAX) {
            metrics_add_key(m, set, hash, id, buf_str(&labels));
            at = count;
        }
        pthread_mutex_unlock(&m->lock);
    }
    buf_release(&labels);
    return at;
}

static void *metrics_cell_at(struct metrics_table *t, enum metrics_set set, size_t at)
{
    assert(at <= METRICS_SERIES_MAX);
    _Atomic uint64_t *cell = atomic_load_explicit(&t->cells[at], memory_order_relaxed);
    size_t count = metrics_cell_counts[set];

    if (cell)
        return cell;
    cell = base_alloc(count * sizeof cell[0]);
    for (size_t i = 0; i < count; i++)
        atomic_init(&cell[i], 0);
    atomic_store_explicit(&t->cells[at], cell, memory_order_release);
    return cell;
}

static NOINLINE void *metrics_add_cell(struct metrics_shard *s, enum metrics_set set, uint64_t hash,
                                       str id, const str *values)
{
    struct metrics_table *t = &s->tables[set];
    size_t at = metrics_meet_key(s->all, set, hash, id, values), slot = hash % METRICS_SLOTS;

    assert(at <= METRICS_SERIES_MAX);
    /* A set of labels without an entry is looked up again the next time. */
    if (at > 0 && str_eq(s->all->registries[set].keys[at].id, id)) {
        while (t->slots[slot])
            slot = (slot + 1) % METRICS_SLOTS;
        t->slots[slot] = (uint16_t)(at + 1);
    }
    return metrics_cell_at(t, set, at);
}

/* The counters of this thread for a set of labels. */
static void *metrics_cell(struct metrics_shard *s, enum metrics_set set, const str *values)
{
    const struct metrics_registry *r = &s->all->registries[set];
    struct metrics_table *t = &s->tables[set];
    char bytes[ID_MAX];
    str id = {bytes, 0};
    uint64_t hash;

    for (size_t i = 0; i < METRICS_LABELS_MAX && names[set][i]; i++) {
        size_t n = values[i].n < METRICS_LABEL_MAX ? values[i].n : METRICS_LABEL_MAX;

        memcpy(bytes + id.n, n ? values[i].p : "", n);
        id.n += n;
        bytes[id.n++] = '\0';
    }
    assert(id.n <= sizeof bytes);
    hash = map_hash(s->all->seed, id);
    for (size_t i = hash % METRICS_SLOTS; t->slots[i]; i = (i + 1) % METRICS_SLOTS) {
        size_t at = t->slots[i] - 1u;

        if (r->keys[at].hash == hash && str_eq(r->keys[at].id, id))
            return metrics_cell_at(t, set, at);
    }
    return metrics_add_cell(s, set, hash, id, values);
}

/* ---- counting ---- */

static uint64_t metrics_known(int64_t n)
{
    return n > 0 ? (uint64_t)n : 0;
}

static uint64_t metrics_subtract_saturating(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

static void metrics_count_request(struct metrics_route_model *m, const struct summary *c)
{
    int class = c->status / 100;

    if (class < 0 || class >= METRICS_CLASSES)
        class = 0;
    metrics_add(&m->requests[class][c->stream], 1);
    metrics_observe(
        &m->duration, &metrics_seconds, metrics_subtract_saturating(c->end_ns, c->start_ns));
}

static void metrics_count_tokens(struct metrics_model *m, const struct chat_usage *u)
{
    uint64_t read = metrics_known(u->cache_read), write = metrics_known(u->cache_write);

    metrics_add(&m->tokens[METRICS_INPUT],
                metrics_subtract_saturating(metrics_known(u->input), read + write));
    metrics_add(&m->tokens[METRICS_CACHE_READ], read);
    metrics_add(&m->tokens[METRICS_CACHE_WRITE], write);
    metrics_add(&m->tokens[METRICS_ANSWER],
                metrics_subtract_saturating(metrics_known(u->output), metrics_known(u->reasoning)));
    metrics_add(&m->tokens[METRICS_REASONING], metrics_known(u->reasoning));
}

static void metrics_count_model(struct metrics_model *m, const struct summary *c)
{
    size_t level = (size_t)c->level < CHAT_LEVEL_COUNT ? (size_t)c->level : 0;
    uint64_t tokens = metrics_known(c->usage.reasoning);

    metrics_count_tokens(m, &c->usage);
    if (c->cost_usd > 0 && c->cost_usd < 1e9)
        metrics_add(&m->cost[c->cost_from_provider], (uint64_t)(c->cost_usd * 1e9 + 0.5));
    if (c->starved)
        metrics_add(&m->starved[c->repaired], 1);
    if (c->reasoning_ns && c->reasoning_end_ns)
        metrics_observe(&m->reasoning[level],
                        &metrics_seconds,
                        metrics_subtract_saturating(c->reasoning_end_ns, c->reasoning_ns));
    if (c->usage.reasoning >= 0 && (tokens > 0 || c->source != SUMMARY_NONE))
        metrics_observe(&m->reasoning_tokens[level], &metrics_tokens, tokens);
    if (c->usage.reasoning >= 0 && c->cap > 0)
        metrics_observe(&m->cap_ratio[level],
                        &metrics_ratio,
                        (uint64_t)((double)tokens / (double)c->cap * 10000));
}

static void metrics_count_totals(struct metrics_totals *t, const struct summary *c)
{
    size_t action = 0;

    if (c->stream && c->reasoning_ns)
        metrics_observe(&t->first[0],
                        &metrics_seconds,
                        metrics_subtract_saturating(c->reasoning_ns, c->start_ns));
    if (c->stream && c->answer_ns)
        metrics_observe(
            &t->first[1], &metrics_seconds, metrics_subtract_saturating(c->answer_ns, c->start_ns));
    while ((c->cut || c->cut_upstream) && action + 1 < METRICS_CUT_ACTIONS &&
           !str_eq(c->cut_action, str_c(metrics_cut_actions[action])))
        action++;
    assert(action < METRICS_CUT_ACTIONS);
    if (c->cut)
        metrics_add(&t->cut[0][action], 1);
    if (c->cut_upstream)
        metrics_add(&t->cut[1][action], 1);
    if ((size_t)c->source < SUMMARY_SOURCE_COUNT)
        metrics_add(&t->source[c->source], 1);
    for (size_t i = 0; i < SPLIT_FLAG_COUNT && c->anomalies; i++)
        if (c->anomalies >> i & 1)
            metrics_add(&t->anomalies[i], 1);
}

static bool metrics_is_recent(const struct metrics_recent *r, const str said[METRICS_LABELS_MAX])
{
    for (size_t i = 0; i < METRICS_LABELS_MAX; i++)
        if (!str_eq((str){r->text[i], r->size[i]}, said[i]))
            return false;
    return r->route;
}

/* The cells of a call; those of the last similar call are cached. */
static struct metrics_recent *metrics_cells_of(struct metrics_shard *s, str route, str provider,
                                               str model)
{
    const str said[METRICS_LABELS_MAX] = {route, provider, model};
    struct metrics_recent *r = &s->recent[(route.n + provider.n + 3 * model.n) % METRICS_RECENT];

    if (metrics_is_recent(r, said))
        return r;
    r->route = metrics_cell(s, METRICS_BY_ROUTE, &route);
    r->route_model = metrics_cell(s, METRICS_BY_ROUTE_MODEL, said);
    r->model = NULL;
    for (size_t i = 0; i < METRICS_LABELS_MAX; i++) {
        bool fits = said[i].n <= METRICS_LABEL_MAX;

        r->size[i] = fits ? said[i].n : SIZE_MAX; /* never equal */
        memcpy(r->text[i], said[i].p, fits ? said[i].n : 0);
    }
    return r;
}

void metrics_begin(struct metrics_shard *s)
{
    metrics_add(&s->totals.begun, 1);
}

void metrics_done(struct metrics_shard *s, const struct summary *c)
{
    /* The name of an unknown model is the client's text, and must not become a label. */
    bool served = c->provider.n > 0;
    str provider = served ? c->provider : STR("none"), model = served ? c->model : STR("none");
    uint64_t took_ns = metrics_subtract_saturating(c->end_ns, c->start_ns);
    struct metrics_recent *cells = metrics_cells_of(s, c->route, provider, model);

    metrics_add(&s->totals.done, 1);
    metrics_count_request(cells->route_model, c);
    metrics_observe(&cells->route->overhead,
                    &metrics_overhead,
                    metrics_subtract_saturating(took_ns, c->upstream_wait_ns));
    if (served && !cells->model)
        cells->model = metrics_cell(s, METRICS_BY_MODEL, (const str[]){provider, model});
    if (served)
        metrics_count_model(cells->model, c);
    metrics_count_totals(&s->totals, c);
}

void metrics_redacted(struct metrics_shard *s, str rule, uint64_t n)
{
    struct metrics_rule *cells = metrics_cell(s, METRICS_BY_RULE, &rule);

    metrics_add(&cells->redactions, n);
}

void metrics_refused(struct metrics_shard *s, str route, int status, bool stream, uint64_t took_ns)
{
    struct summary c = {.status = status, .stream = stream, .end_ns = took_ns};

    metrics_count_request(
        metrics_cell(s, METRICS_BY_ROUTE_MODEL, (const str[]){route, STR("none"), STR("none")}),
        &c);
}

void metrics_reject(struct metrics_shard *s, enum metrics_rejected why)
{
    assert(why < METRICS_REJECTED_COUNT);
    metrics_add(&s->totals.rejected[why], 1);
}

/* ---- the whole ---- */

struct metrics *metrics_new(unsigned shards)
{
    static const str other[METRICS_LABELS_MAX] = {
        STR_INIT("other"), STR_INIT("other"), STR_INIT("other")};
    struct metrics *m;
    size_t size;

    assert(shards > 0 && shards <= SHARDS_MAX);
    size = sizeof *m + shards * sizeof m->shards[0];
    m = base_alloc_zero(size);
    pthread_mutex_init(&m->lock, NULL);
    pthread_mutex_init(&m->source_lock, NULL);
    arena_init(&m->arena, ARENA_MAX);
    rand_os(m->seed, sizeof m->seed);
    m->start_ms = metrics_process_start();
    m->shard_count = shards;
    for (unsigned i = 0; i < shards; i++)
        m->shards[i].all = m;
    for (size_t set = 0; set < METRICS_SET_COUNT; set++) {
        struct buf labels;

        metrics_show((enum metrics_set)set, other, &labels);
        metrics_add_key(m, (enum metrics_set)set, 0, STR(""), buf_str(&labels));
        buf_release(&labels);
    }
    return m;
}

void metrics_free(struct metrics *m)
{
    if (!m)
        return;
    for (unsigned i = 0; i < m->shard_count; i++)
        for (size_t set = 0; set < METRICS_SET_COUNT; set++)
            for (size_t k = 0; k <= METRICS_SERIES_MAX; k++)
                free(atomic_load(&m->shards[i].tables[set].cells[k]));
    arena_release(&m->arena);
    pthread_mutex_destroy(&m->lock);
    pthread_mutex_destroy(&m->source_lock);
    free(m);
}

void metrics_source_add(struct metrics *m, void (*write)(void *ctx, struct metrics_text *t),
                        void *ctx)
{
    pthread_mutex_lock(&m->source_lock);
    assert(m->source_count < METRICS_SOURCES_MAX);
    m->sources[m->source_count++] = (struct metrics_source){write, ctx};
    pthread_mutex_unlock(&m->source_lock);
}

void metrics_source_remove(struct metrics *m, const void *ctx)
{
    pthread_mutex_lock(&m->source_lock);
    for (size_t i = 0; i < m->source_count; i++)
        if (m->sources[i].ctx == ctx) {
            m->sources[i] = m->sources[--m->source_count];
            break;
        }
    pthread_mutex_unlock(&m->source_lock);
}

struct metrics_shard *metrics_shard(struct metrics *m, unsigned index)
{
    assert(index < m->shard_count);
    return &m->shards[index];
}
