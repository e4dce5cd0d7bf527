/* query_bench.c - how long the questions of the history API take, on a store that the engine wrote.
 *
 *     query_bench [CALLS [FILE [NAME]]]
 *     tools/postgres-run sh -c 'query_bench 100000 $(printf "$RATIONALE_TEST_POSTGRES" postgres)'
 *
 * FILE is kept, and used if it is there; it may be the URL of a PostgreSQL database. With NAME the
 * bench asks only questions whose name contains it, each QUERY_BENCH_ROUNDS times (environment;
 * 100).
 *
 * Ten calls are a session. Their texts are prose of a skewed vocabulary, 1.2 kB a call.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "base/rand.h"
#include "query_questions.h"
#include "store/engine.h"
#include "store/frame.h"
#include "store/row.h"

#include <time.h>
#include <unistd.h>

#define ROUNDS 100
#define ROUNDS_MAX 10000
#define TARGET_MS 50
#define TOO_LONG 1000 /* bytes of a cursor */
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

/* Whether an earlier run has filled it, perhaps that of an earlier version. */
static bool store_is_filled(str url)
{
    struct engine_options o = {.url = url, .spool = STR(""), .head_path = NULL};
    struct query_asker a = {.key_name = STR("")};
    struct engine *migrated;
    struct reader *r;
    struct buf out;
    struct err e;
    bool is;

    if (!engine_open(&o, &migrated, &e))
        die(&e);
    engine_close(migrated);
    if (!reader_open(url, &r, &e))
        die(&e);
    buf_init(&out, QUERY_OUT_MAX);
    is = query_call(r, &a, STR("call-0"), &out, &e);
    buf_release(&out);
    reader_close(r);
    return is;
}

/* ---- questions ---- */

static str text_of(const char *text)
{
    return str_c(text ? text : "");
}

struct asking {
    struct reader *r;
    const struct question *q;
    unsigned calls;
    char cursor[TOO_LONG]; /* "": the first page */
    struct buf *out;
};

static struct query_filter filter_of(const struct question *q, unsigned n, char words[64],
                                     char id[32])
{
    struct query_filter f = query_filter_none;

    f.search = text_of(q->words);
    if (f.search.n && f.search.p[f.search.n - 1] == '#') {
        (void)snprintf(words, 64, "%.*s%u", (int)f.search.n - 1, f.search.p, n / 10);
        f.search = str_c(words);
    }
    f.tool = text_of(q->tool);
    f.model = text_of(q->model);
    f.kind = text_of(q->decision);
    f.key = text_of(q->key_filter);
    f.agent_type = text_of(q->agent);
    f.alert_type = text_of(q->alert);
    f.subject = text_of(q->subject);
    if (q->status) {
        f.status[0] = str_c(q->status);
        f.status_count = 1;
    }
    if (q->reasoning)
        f.has_reasoning = q->reasoning == WITH_REASONING;
    if (q->of_session)
        f.session_id = str_c(id);
    f.start_us = q->from_ms ? (FIRST_MS + q->from_ms) * 1000 : -1;
    f.end_us = q->to_ms ? (FIRST_MS + q->to_ms) * 1000 : -1;
    return f;
}

/* The first step, or the one after some. */
static bool export_ask(const struct asking *x, const struct query_asker *a,
                       const struct query_filter *f, struct err *e)
{
    struct query_export export;
    bool ok = true;

    query_export_init(&export, x->q->format, f);
    for (unsigned i = 0; ok && !export.done && i <= x->q->after; i++) {
        buf_reset(x->out);
        ok = query_export_step(x->r, a, &export, x->out, e);
    }
    query_export_release(&export);
    return ok;
}

static bool ask_list(const struct asking *x, const struct query_asker *a,
                     const struct query_filter *f, struct err *e)
{
    const struct question *q = x->q;
    struct query_page p = {.limit = 50,
                           .page = q->page ? q->page : 1,
                           .cursor = str_c(x->cursor),
                           .sort = text_of(q->sort)};
    struct query_calls calls = {.filter = *f, .outcome = text_of(q->outcome), .page = p};

    if (q->kind == SESSIONS)
        return query_sessions(x->r, a, f, &p, x->out, e);
    return q->kind == CALLS ? query_call_list(x->r, a, &calls, x->out, e)
                            : query_decisions(x->r, a, f, &p, x->out, e);
}

static bool ask_one(const struct asking *x, const struct query_asker *a, str id, struct err *e)
{
    switch (x->q->kind) {
    case SESSION:
        return query_session(x->r, a, id, x->out, e);
    case SESSION_DECISIONS:
        return query_session_decisions(x->r, a, id, x->out, e);
    case SESSION_SEGMENTS:
        return query_session_segments(x->r, a, id, x->out, e);
    case CALL:
        return query_call(x->r, a, id, x->out, e);
    case CALL_NEW:
        return query_call_new(x->r, a, id, x->out, e);
    default:
        return query_call_segments(x->r, a, id, x->out, e);
    }
}

static bool ask_sums(const struct asking *x, const struct query_asker *a,
                     const struct query_filter *f, struct err *e)
{
    struct query_overview overview = {.filter = *f, .by = text_of(x->q->by)};
    int64_t size;

    switch (x->q->kind) {
    case USAGE:
        return query_usage(x->r, a, str_c(x->q->by), f, x->out, e);
    case OVERVIEW:
        return query_overview(x->r, a, &overview, x->out, e);
    case REASONING:
        return query_reasoning(x->r, a, f, x->out, e);
    case OPTIONS:
        return query_filter_options(x->r, a, x->out, e);
    case METRICS:
        return query_metrics(x->r, a, x->out, e);
    case ACTIVE:
        return query_active(x->r, a, x->out, e);
    case AUDIT:
        return query_audit(x->r, 100, x->out, e);
    default:
        return query_size(x->r, &size, e);
    }
}

static bool ask(const struct asking *x, unsigned n, struct err *e)
{
    const struct question *q = x->q;
    const struct query_running running = {.interaction_id = STR("call-new"),
                                          .session_id = STR("session-5"),
                                          .started_us = (FIRST_MS + WEEK_MS) * 1000};
    struct query_asker a = {.key_name = text_of(q->key),
                            .now_us = (FIRST_MS + WEEK_MS) * 1000,
                            .running = &running,
                            .running_count = q->running};
    char words[64], id[32], session[32];
    struct query_filter f;

    (void)snprintf(session, sizeof session, "session-%u", n / 10);
    (void)snprintf(id, sizeof id, "call-%u", n);
    f = filter_of(q, n, words, session);
    buf_reset(x->out);
    switch (q->kind) {
    case SESSIONS:
    case CALLS:
    case DECISIONS:
        return ask_list(x, &a, &f, e);
    case SESSION:
    case SESSION_DECISIONS:
    case SESSION_SEGMENTS:
        return ask_one(x, &a, str_c(session), e);
    case CALL:
    case CALL_NEW:
    case CALL_SEGMENTS:
        return ask_one(x, &a, str_c(id), e);
    case SEARCH:
        return query_search(x->r, &a, f.search, 50, x->out, e);
    case EXPORT:
        return export_ask(x, &a, &f, e);
    default:
        return ask_sums(x, &a, &f, e);
    }
}

/* Skips some pages: the question continues at the cursor of the last one. */
static void skip_pages(struct asking *x)
{
    static const str name = STR_INIT("\"next_cursor\":\"");
    struct err e;

    x->cursor[0] = '\0';
    for (unsigned i = 0; i < x->q->after && x->q->kind != EXPORT; i++) {
        str rest, all;
        size_t at, end;

        if (!ask(x, 0, &e))
            die(&e);
        all = buf_str(x->out);
        at = str_find(all, name);
        rest = str_slice(all, at == STR_NONE ? all.n : at + name.n, all.n);
        end = str_find(rest, STR("\""));
        if (end == STR_NONE || end >= TOO_LONG)
            return; /* that was the last page */
        memcpy(x->cursor, rest.p, end);
        x->cursor[end] = '\0';
    }
}

static int by_size(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

    return (x > y) - (x < y);
}

/* CPU time: the same when others use the machine. PostgreSQL is another process and not included.
 */
static uint64_t cpu_ns(void)
{
    struct timespec t;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

static unsigned rounds_count(void)
{
    const char *text = getenv("QUERY_BENCH_ROUNDS");
    uint64_t n = ROUNDS;

    if (text && (!str_u64(str_c(text), &n) || n < 3 || n > ROUNDS_MAX))
        exit(2);
    return (unsigned)n;
}

static double ms_of(const uint64_t *ns, unsigned rounds, unsigned percent)
{
    unsigned at = (rounds * percent + 99) / 100;

    return (double)ns[at - (at > 0)] / 1e6;
}

static void measure(struct asking *x, bool here)
{
    static uint64_t took[ROUNDS_MAX], cpu[ROUNDS_MAX];
    unsigned rounds = rounds_count();
    struct rand rand;
    struct err e;

    rand_init(&rand, 7);
    skip_pages(x);
    for (unsigned i = 0; i < rounds; i++) {
        uint64_t from = clock_mono_ns(&clock_real), from_cpu = cpu_ns();

        if (!ask(x, (unsigned)rand_below(&rand, x->calls), &e))
            die(&e);
        cpu[i] = cpu_ns() - from_cpu;
        took[i] = clock_mono_ns(&clock_real) - from;
    }
    qsort(took, rounds, sizeof *took, by_size);
    qsort(cpu, rounds, sizeof *cpu, by_size);
    printf("  %-48s cpu %8.2f p99 %8.2f ms  time %8.2f p99 %8.2f ms%s\n",
           x->q->name,
           ms_of(cpu, rounds, 50),
           ms_of(cpu, rounds, 99),
           ms_of(took, rounds, 50),
           ms_of(took, rounds, 99),
           ms_of(here ? cpu : took, rounds, 99) >= TARGET_MS ? "  SLOW" : "");
    (void)fflush(stdout);
}

int main(int argc, char **argv)
{
    uint64_t calls = 1000000, from = clock_mono_ns(&clock_real);
    char dir[] = "/tmp/query_bench.XXXXXX", url[512], rm[96];
    struct asking x = {.out = NULL};
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
    if (!reader_open(str_c(url), &x.r, &e))
        die(&e);
    buf_init(&out, QUERY_OUT_MAX);
    x.out = &out;
    x.calls = (unsigned)calls;
    for (size_t i = 0; i < question_count; i++)
        if (argc <= 3 || strstr(questions[i].name, argv[3])) {
            x.q = &questions[i];
            measure(&x, str_starts(str_c(url), STR("sqlite:")));
        }
    buf_release(&out);
    reader_close(x.r);
    (void)snprintf(rm, sizeof rm, "rm -rf %s", dir);
    return system(rm) == 0 ? 0 : 1;
}
