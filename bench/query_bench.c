/* query_bench.c - how long the questions of the history API take, on a store that the engine wrote.
 *
 *     query_bench [CALLS [FILE [NAME]]]
 *     tools/postgres-run sh -c 'query_bench 100000 $(printf "$RATIONALE_TEST_POSTGRES" postgres)'
 *
 * FILE is kept, and used if it is there; it may be the URL of a PostgreSQL database. With NAME only
 * questions that have it in theirs are asked.
 *
 * Ten calls are a session. Their texts are prose of a skewed vocabulary, 1.2 kB a call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "base/rand.h"
#include "store/engine.h"
#include "store/frame.h"
#include "store/query.h"
#include "store/row.h"

#include <time.h>
#include <unistd.h>

#define ROUNDS 100
#define TARGET_MS 50
#define DAY_MS ((int64_t)86400000)
#define FIRST_MS (100 * DAY_MS)
#define WEEK_MS (7 * DAY_MS)
#define VOCABULARY 20000u

static void die(const struct err *e)
{
    (void)fprintf(stderr, "query_bench: %s\n", e->text);
    exit(1);
}

/* ---- a store ---- */

struct filling {
    struct engine *en;
    struct rand rand;
    struct buf asked, answer, reasoning, decision, tools, record;
    unsigned calls;
    bool open;
};

/* Few words are common, most are rare. */
static void prose(struct filling *f, struct buf *b, unsigned words)
{
    for (unsigned i = 0; i < words; i++) {
        double x = (double)rand_below(&f->rand, 1000000) / 1e6;
        unsigned n = (unsigned)(x * x * x * VOCABULARY);

        for (unsigned k = n + 676; k; k /= 26)
            buf_add_c(b, (char)('a' + k % 26));
        buf_add_c(b, i % 12 == 11 ? '.' : ' ');
    }
}

static void texts_make(struct filling *f, unsigned i)
{
    struct buf *all[] = {&f->asked, &f->answer, &f->reasoning, &f->decision, &f->tools};

    for (size_t k = 0; k < COUNT_OF(all); k++)
        buf_reset(all[k]);
    buf_printf(&f->asked, "what about item%u ", i / 10);
    prose(f, &f->asked, 15);
    prose(f, &f->answer, 120);
    if (i % 3 == 0)
        prose(f, &f->reasoning, 80);
    if (i % 4)
        buf_printf(&f->decision, "[TOOL_CALL] tool_%u: because ", i % 100);
    else
        buf_add(&f->decision, STR("[DIRECT] because "));
    prose(f, &f->decision, 12);
    if (i % 4)
        buf_printf(&f->tools, "[\"tool_%u\"]", i % 100);
}

static struct store_call call_make(struct filling *f, unsigned i, char names[4][32])
{
    struct store_call c = store_call_none;
    int64_t step = WEEK_MS / f->calls;

    texts_make(f, i);
    (void)snprintf(names[0], 32, "call-%u", i);
    (void)snprintf(names[1], 32, "session-%u", i / 10);
    (void)snprintf(names[2], 32, "model-%u", i / 10 % 8);
    (void)snprintf(names[3], 32, "team-%u", i / 10 % 500 == 7 ? 9 : i / 10 % 5);
    c.id = str_c(names[0]);
    c.session_id = str_c(names[1]);
    c.model = str_c(names[2]);
    c.key_name = str_c(names[3]);
    c.provider = STR("p");
    c.dialect = STR("openai");
    c.started_ms = FIRST_MS + (int64_t)i * step;
    c.ended_ms = c.started_ms + 900 + i % 5000;
    c.answer_ms = c.started_ms + 300;
    c.reasoning_ms = i % 3 ? -1 : c.started_ms + 100;
    c.status = i % 500 ? 200 : 500;
    c.complete = true;
    c.has_reasoning = i % 3 == 0;
    c.state = c.has_reasoning ? STR("complete") : STR("none");
    c.level = STR("low");
    c.input_tokens = 100;
    c.output_tokens = i % 900;
    c.reasoning_tokens = c.has_reasoning ? i % 300 : 0;
    c.cost_usd = 0.001;
    c.asked = buf_str(&f->asked);
    c.answer = buf_str(&f->answer);
    c.reasoning = buf_str(&f->reasoning);
    c.decision = buf_str(&f->decision);
    c.tools = buf_str(&f->tools);
    return c;
}

static void commit(struct filling *f, unsigned i)
{
    struct err e;

    if (f->open && !engine_commit(f->en, (struct journal_place){1, i + 1}, &e))
        die(&e);
    f->open = false;
}

static void put(struct filling *f, unsigned i)
{
    char names[4][32];
    struct store_call c = call_make(f, i, names);
    size_t size = row_call_size(&c);
    struct err e;

    buf_reset(&f->record);
    row_call_put(&c, buf_room(&f->record, size));
    buf_wrote(&f->record, size);
    if (f->open && engine_full(f->en))
        commit(f, i);
    if ((!f->open && !engine_begin(f->en, false, &e)) ||
        !engine_put(f->en, FRAME_CALL, buf_str(&f->record), &e))
        die(&e);
    f->open = true;
}

static void fill(str url, unsigned calls)
{
    struct engine_options o = {.url = url, .spool = STR(""), .head_path = NULL};
    struct filling f = {.calls = calls};
    size_t orphans; /* none: but from then on it is known which calls have pieces */
    struct buf *bufs[] = {&f.asked, &f.answer, &f.reasoning, &f.decision, &f.tools, &f.record};
    struct err e;

    if (!engine_open(&o, &f.en, &e))
        die(&e);
    if (!engine_begin(f.en, true, &e) || !engine_put_orphans(f.en, &orphans, &e) ||
        !engine_commit(f.en, (struct journal_place){1, 0}, &e))
        die(&e);
    rand_init(&f.rand, 1);
    for (size_t i = 0; i < COUNT_OF(bufs); i++)
        buf_init(bufs[i], 65536);
    for (unsigned i = 0; i < calls; i++)
        put(&f, i);
    commit(&f, calls);
    for (size_t i = 0; i < COUNT_OF(bufs); i++)
        buf_release(bufs[i]);
    engine_close(f.en);
}

/* Whether an earlier run has filled it. */
static bool store_is_filled(str url)
{
    struct query_asker a = {.key_name = STR("")};
    struct reader *r;
    struct buf out;
    struct err e;
    bool is;

    if (!reader_open(url, &r, &e))
        return false;
    buf_init(&out, QUERY_OUT_MAX);
    is = query_call(r, &a, STR("call-0"), &out, &e);
    buf_release(&out);
    reader_close(r);
    return is;
}

/* ---- questions ---- */

enum kind {
    SESSIONS,
    SESSION,
    CALL,
    DECISIONS,
    SEARCH,
    USAGE,
    REASONING,
    OPTIONS,
    METRICS,
    ACTIVE
};

struct question {
    const char *name;
    enum kind kind;
    const char *key, *tool, *model, *decision, *sort, *by;
    const char *words; /* one that ends in '#' is another one each time */
    int64_t page;
    int64_t from_ms; /* after the first call; 0: no condition */
};

static const struct question questions[] = {
    {.name = "sessions: first page", .kind = SESSIONS},
    {.name = "sessions: page 1000", .kind = SESSIONS, .page = 1000},
    {.name = "sessions: of a key", .kind = SESSIONS, .key = "team-3"},
    {.name = "sessions: of a rare key", .kind = SESSIONS, .key = "team-9"},
    {.name = "sessions: of a model", .kind = SESSIONS, .model = "model-3"},
    {.name = "sessions: of a model nobody has", .kind = SESSIONS, .model = "none"},
    {.name = "sessions: by cost", .kind = SESSIONS, .sort = "-cost_usd"},
    {.name = "sessions: with a tool", .kind = SESSIONS, .tool = "tool_7"},
    {.name = "sessions: with a tool nobody has", .kind = SESSIONS, .tool = "none"},
    {.name = "sessions: a rare word", .kind = SESSIONS, .words = "item#"},
    {.name = "sessions: a common word", .kind = SESSIONS, .words = "aab"},
    {.name = "sessions: a part of an id", .kind = SESSIONS, .words = "ion-#"},
    {.name = "session: one", .kind = SESSION},
    {.name = "call: one", .kind = CALL},
    {.name = "decisions: newest", .kind = DECISIONS},
    {.name = "decisions: of a kind", .kind = DECISIONS, .decision = "DIRECT"},
    {.name = "decisions: of a model", .kind = DECISIONS, .model = "model-3"},
    {.name = "decisions: of a model and a kind",
     .kind = DECISIONS,
     .model = "model-3",
     .decision = "DIRECT"},
    {.name = "decisions: of a tool", .kind = DECISIONS, .tool = "tool_7"},
    {.name = "decisions: of a tool nobody has", .kind = DECISIONS, .tool = "none"},
    {.name = "decisions: of a key", .kind = DECISIONS, .key = "team-3"},
    {.name = "decisions: of a rare key", .kind = DECISIONS, .key = "team-9"},
    {.name = "decisions: of a tool, with words",
     .kind = DECISIONS,
     .tool = "tool_7",
     .words = "because"},
    {.name = "decisions: a common word", .kind = DECISIONS, .words = "because"},
    {.name = "decisions: the front of a word", .kind = DECISIONS, .words = "becau"},
    {.name = "search: a rare word", .kind = SEARCH, .words = "item#"},
    {.name = "search: a word nobody has", .kind = SEARCH, .words = "zzyzx#"},
    {.name = "search: the front of a word", .kind = SEARCH, .words = "ite"},
    {.name = "search: a common word", .kind = SEARCH, .words = "aab"},
    {.name = "search: three words that meet rarely", .kind = SEARCH, .words = "caab dcab ebab"},
    {.name = "search: two words that meet rarely", .kind = SEARCH, .words = "zcb item"},
    {.name = "search: a rare word of another key",
     .kind = SEARCH,
     .words = "reasoning:item#",
     .key = "team-9"},
    {.name = "search: a common word of a rare key",
     .kind = SEARCH,
     .words = "aab",
     .key = "team-9"},
    {.name = "usage by model: all", .kind = USAGE, .by = "model"},
    {.name = "usage by day: from some minute on", .kind = USAGE, .by = "day", .from_ms = 1234567},
    {.name = "usage by model: a day",
     .kind = USAGE,
     .by = "model",
     .from_ms = 6 * DAY_MS + 1234567},
    {.name = "usage by model: of a key", .kind = USAGE, .by = "model", .key = "team-3"},
    {.name = "reasoning: all", .kind = REASONING},
    {.name = "reasoning: a day", .kind = REASONING, .from_ms = 6 * DAY_MS + 1234567},
    {.name = "filter options", .kind = OPTIONS},
    {.name = "filter options: of a key", .kind = OPTIONS, .key = "team-3"},
    {.name = "metrics", .kind = METRICS},
    {.name = "metrics: of a key", .kind = METRICS, .key = "team-3"},
    {.name = "active", .kind = ACTIVE},
};

static str text_of(const char *text)
{
    return str_c(text ? text : "");
}

static bool ask(struct reader *r, const struct question *q, unsigned n, struct buf *out,
                struct err *e)
{
    struct query_asker a = {.key_name = text_of(q->key), .now_us = (FIRST_MS + WEEK_MS) * 1000};
    struct query_page p = {
        .limit = 50, .page = q->page ? q->page : 1, .cursor = STR(""), .sort = text_of(q->sort)};
    struct query_filter f = query_filter_none;
    char words[64], id[32];

    f.search = text_of(q->words);
    if (f.search.n && f.search.p[f.search.n - 1] == '#') {
        (void)snprintf(words, sizeof words, "%.*s%u", (int)f.search.n - 1, f.search.p, n / 10);
        f.search = str_c(words);
    }
    if (q->kind == CALL)
        (void)snprintf(id, sizeof id, "call-%u", n);
    else
        (void)snprintf(id, sizeof id, "session-%u", n / 10);
    f.tool = text_of(q->tool);
    f.model = text_of(q->model);
    f.kind = text_of(q->decision);
    f.start_us = q->from_ms ? (FIRST_MS + q->from_ms) * 1000 : -1;
    buf_reset(out);
    switch (q->kind) {
    case SESSIONS:
        return query_sessions(r, &a, &f, &p, out, e);
    case SESSION:
        return query_session(r, &a, str_c(id), out, e);
    case CALL:
        return query_call(r, &a, str_c(id), out, e);
    case DECISIONS:
        return query_decisions(r, &a, &f, &p, out, e);
    case SEARCH:
        return query_search(r, &a, f.search, 50, out, e);
    case USAGE:
        return query_usage(r, &a, str_c(q->by), &f, out, e);
    case REASONING:
        return query_reasoning(r, &a, &f, out, e);
    case OPTIONS:
        return query_filter_options(r, &a, out, e);
    case METRICS:
        return query_metrics(r, &a, out, e);
    case ACTIVE:
        return query_active(r, &a, out, e);
    }
    return false;
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* Where others use the machine, this tells what it would take alone. */
static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static void measure(struct reader *r, const struct question *q, unsigned calls, struct buf *out)
{
    uint64_t took[ROUNDS], cpu = cpu_ns();
    struct rand rand;
    struct err e;

    rand_init(&rand, 7);
    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t from = clock_mono_ns(&clock_real);

        if (!ask(r, q, (unsigned)rand_below(&rand, calls), out, &e))
            die(&e);
        took[i] = clock_mono_ns(&clock_real) - from;
    }
    cpu = (cpu_ns() - cpu) / ROUNDS;
    qsort(took, ROUNDS, sizeof *took, by_size);
    printf("  %-40s cpu %8.2f ms  p50 %8.2f ms  p99 %8.2f ms%s\n",
           q->name,
           (double)cpu / 1e6,
           (double)took[ROUNDS / 2] / 1e6,
           (double)took[ROUNDS - 2] / 1e6,
           took[ROUNDS - 2] / 1000000 >= TARGET_MS ? "  SLOW" : "");
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    uint64_t calls = 1000000, from = clock_mono_ns(&clock_real);
    char dir[] = "/tmp/query_bench.XXXXXX", url[512], rm[96];
    struct reader *r;
    struct buf out;
    struct err e;

    if ((argc > 1 && (!str_u64(str_c(argv[1]), &calls) || calls < 100 || calls > 100000000)) ||
        !mkdtemp(dir))
        return 2;
    if (argc > 2)
        (void)snprintf(url,
                       sizeof url,
                       "%s%s",
                       str_starts(str_c(argv[2]), STR("postgres")) ? "" : "sqlite:",
                       argv[2]);
    else
        (void)snprintf(url, sizeof url, "sqlite:%s/h.db", dir);
    if (!store_is_filled(str_c(url)))
        fill(str_c(url), (unsigned)calls);
    printf("questions to %llu calls in %llu sessions (made in %.0f s)\n",
           (unsigned long long)calls,
           (unsigned long long)calls / 10,
           (double)(clock_mono_ns(&clock_real) - from) / 1e9);
    if (!reader_open(str_c(url), &r, &e))
        die(&e);
    buf_init(&out, QUERY_OUT_MAX);
    for (size_t i = 0; i < COUNT_OF(questions); i++)
        if (argc <= 3 || strstr(questions[i].name, argv[3]))
            measure(r, &questions[i], (unsigned)calls, &out);
    buf_release(&out);
    reader_close(r);
    (void)snprintf(rm, sizeof rm, "rm -rf %s", dir);
    return system(rm) == 0 ? 0 : 1;
}
