/* query_bench.c - how long a question takes: a million calls and decisions, 100,000 sessions.
 *
 *     query_bench [DECISIONS [SESSIONS [FILE]]]        FILE is kept, and used if it is there
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "base/rand.h"
#include "store/db.h"
#include "store/query.h"

#include <unistd.h>

#define ROUNDS 20
#define TARGET_MS 100
#define DAY_MS ((int64_t)86400000)
#define CALL_MS 605 /* a million in a week */

static const char *const words[] = {
    "the",     "user",  "wants",   "two",      "coffees", "because", "order",  "menu",     "lookup",
    "confirm", "price", "pending", "previous", "result",  "failed",  "retry",  "needs",    "facts",
    "policy",  "claim", "pod",     "restarts", "memory",  "limit",   "exceed", "namespace"};

static void die(const struct err *e)
{
    (void)fprintf(stderr, "query_bench: %s\n", e->text);
    exit(1);
}

static void run(struct db *db, const char *sql, const struct db_value *args, size_t n)
{
    struct err e;

    if (!db_run(db, sql, args, n, &e))
        die(&e);
}

static str sentence(struct rand *r, struct buf *b, unsigned i)
{
    bool tool = i % 4 != 0;

    buf_reset(b);
    if (tool)
        buf_printf(b, "[TOOL_CALL] tool_%u: ", i % 100);
    else
        buf_add(b, STR("[DIRECT] "));
    for (unsigned w = 0; w < 12; w++)
        buf_printf(b, "%s ", words[rand_below(r, COUNT_OF(words))]);
    buf_printf(b, "item%u", i / 10);
    return buf_str(b);
}

static void decision_add(struct db *db, struct rand *r, struct buf *b, unsigned i)
{
    char id[32], session[32], tools[32], tool[16];

    (void)snprintf(id, sizeof id, "call-%u", i);
    (void)snprintf(session, sizeof session, "session-%u", i / 10);
    (void)snprintf(tools, sizeof tools, "[\"tool_%u\"]", i % 100);
    (void)snprintf(tool, sizeof tool, "tool_%u", i % 100);
    struct db_value args[] = {db_int((int64_t)i + 1),
                              db_text(str_c(id)),
                              db_text(str_c(session)),
                              db_int((int64_t)i * 1000),
                              db_text(i % 4 ? STR("TOOL_CALL") : STR("DIRECT")),
                              db_text(str_c(tools)),
                              db_text(i % 7 ? STR("large") : STR("small")),
                              db_text(sentence(r, b, i))};
    struct db_value pair[] = {db_text(str_c(tool)), db_int((int64_t)i + 1)};

    run(db, "INSERT INTO decisions VALUES ($1, $2, $3, $4, $5, $6, $7, $8)", args, COUNT_OF(args));
    run(db, "INSERT INTO decisions_text (rowid, entry) VALUES ($1, $8)", args, COUNT_OF(args));
    if (i % 4)
        run(db, "INSERT INTO decision_tools VALUES ($1, $2)", pair, 2);
}

static void session_add(struct db *db, unsigned i)
{
    char id[32], title[64];

    (void)snprintf(id, sizeof id, "session-%u", i);
    (void)snprintf(title, sizeof title, "what about item%u", i);
    struct db_value args[] = {db_text(str_c(id)),
                              db_int((int64_t)i * 10000),
                              db_text(str_c(title)),
                              db_text(i % 50 ? STR("completed") : STR("failed")),
                              db_text(i % 20 ? STR("team-a") : STR("team-b"))};

    run(db,
        "INSERT INTO alert_sessions (session_id, started_at_us, completed_at_us, title, status, "
        "key_name, agent_type, alert_type, model) VALUES ($1, $2, $2, $3, $4, $5, 'gateway', "
        "'openai', 'large')",
        args,
        COUNT_OF(args));
}

static void call_add(struct db *db, unsigned i)
{
    char id[32], session[32], model[16], key[16];

    (void)snprintf(id, sizeof id, "call-%u", i);
    (void)snprintf(session, sizeof session, "session-%u", i / 10);
    (void)snprintf(model, sizeof model, "model-%u", i % 8);
    (void)snprintf(key, sizeof key, "team-%u", i % 5);
    struct db_value args[] = {db_text(str_c(id)),
                              db_text(str_c(session)),
                              db_text(str_c(model)),
                              db_text(str_c(key)),
                              db_int(DAY_MS * 100 + (int64_t)i * CALL_MS),
                              i % 3 ? db_null() : db_int(DAY_MS * 100 + (int64_t)i * CALL_MS),
                              db_int(DAY_MS * 100 + (int64_t)i * CALL_MS + i % 5000),
                              db_int(i % 3 == 0),
                              db_int(i % 900),
                              db_real(0.001)};

    run(db,
        "INSERT INTO llm_interactions (interaction_id, session_id, model, key_name, started_ms,"
        " reasoning_ms, answer_ms, has_reasoning, reasoning_tokens, output_tokens, cost_usd, "
        "status,"
        " complete, provider, answer) VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $9, $10, 200, 1,"
        " 'p', 'an answer of some length, as they are, and then some more of it')",
        args,
        COUNT_OF(args));
}

/* As the engine would have kept them up. */
static void sums_add(struct db *db)
{
    struct buf sql;

    buf_init(&sql, 16384);
    buf_printf(&sql,
               "INSERT INTO usage_hours SELECT i.started_ms / 3600000, i.model, i.provider,"
               " i.key_name, '', 0, count(*), 0, 0, sum(i.output_tokens), sum(i.reasoning_tokens),"
               " 0, 0, 0, sum(i.has_reasoning), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, count(*),"
               " sum(i.cost_usd) FROM llm_interactions i GROUP BY 1, 2, 3, 4");
    buf_add_c(&sql, '\0');
    run(db, sql.p, NULL, 0);
    buf_release(&sql);
}

static void fill(str url, unsigned decisions, unsigned sessions)
{
    struct db *db;
    struct rand r;
    struct buf b;
    struct err e;

    if (!db_open(url, DB_WRITE, &db, &e) || !db_begin(db, false, &e))
        die(&e);
    rand_init(&r, 1);
    buf_init(&b, 4096);
    for (unsigned i = 0; i < decisions; i++)
        decision_add(db, &r, &b, i);
    for (unsigned i = 0; i < decisions; i++)
        call_add(db, i);
    sums_add(db);
    for (unsigned i = 0; i < sessions; i++)
        session_add(db, i);
    if (!db_commit(db, &e))
        die(&e);
    buf_release(&b);
    db_close(db);
}

#define WEEK_US (DAY_MS * 100000 + 1234567890)
#define TODAY_US (DAY_MS * 106000 + 1234567890)

struct question {
    const char *name;
    struct query_filter f;
    const char *key;
    bool decisions;
    int64_t page;
    const char *sums; /* by what; or "reasoning" */
};

static bool ask(struct reader *r, const struct question *q, struct buf *out, struct err *e)
{
    struct query_asker a = {.key_name = str_c(q->key), .now_us = 1};
    struct query_page p = {
        .limit = 50, .page = q->page ? q->page : 1, .cursor = STR(""), .sort = STR("")};

    buf_reset(out);
    if (q->sums)
        return strcmp(q->sums, "reasoning") == 0
                   ? query_reasoning(r, &a, &q->f, out, e)
                   : query_usage(r, &a, str_c(q->sums), &q->f, out, e);
    return q->decisions ? query_decisions(r, &a, &q->f, &p, out, e)
                        : query_sessions(r, &a, &q->f, &p, out, e);
}

static void measure(struct reader *r, const struct question *q, struct buf *out)
{
    uint64_t best = UINT64_MAX, all = 0;
    struct err e;

    for (unsigned i = 0; i < ROUNDS; i++) {
        uint64_t from = clock_mono_ns(&clock_real), took;

        if (!ask(r, q, out, &e))
            die(&e);
        took = clock_mono_ns(&clock_real) - from;
        all += took;
        best = took < best ? took : best;
    }
    printf("  %-44s %8.2f ms, the best of %d %8.2f ms%s\n",
           q->name,
           (double)all / ROUNDS / 1e6,
           ROUNDS,
           (double)best / 1e6,
           best / 1000000 >= TARGET_MS ? "  SLOW" : "");
}

#define FILTER(...)                                                                                \
    {                                                                                              \
        .agent_type = STR_INIT(""), .alert_type = STR_INIT(""), .search = STR_INIT(""),            \
        .model = STR_INIT(""), .key = STR_INIT(""), .tool = STR_INIT(""), .kind = STR_INIT(""),    \
        .session_id = STR_INIT(""), .subject = STR_INIT(""), .has_reasoning = -1, .start_us = -1,  \
        .end_us = -1, __VA_ARGS__                                                                  \
    }

#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Woverride-init"
static const struct question questions[] = {
    {"decisions: why was this tool called", FILTER(.tool = STR_INIT("tool_7")), "", true, 0, NULL},
    {"decisions: this tool, and these words",
     FILTER(.tool = STR_INIT("tool_7"), .search = STR_INIT("memory limit")),
     "",
     true,
     0,
     NULL},
    {"decisions: a rare word", FILTER(.search = STR_INIT("item4242")), "", true, 0, NULL},
    {"decisions: common words", FILTER(.search = STR_INIT("the user wants")), "", true, 0, NULL},
    {"decisions: the front of a common word",
     FILTER(.search = STR_INIT("coff")),
     "",
     true,
     0,
     NULL},
    {"decisions: a tool nobody has", FILTER(.tool = STR_INIT("none")), "", true, 0, NULL},
    {"decisions: no tool at all", FILTER(.kind = STR_INIT("DIRECT")), "", true, 0, NULL},
    {"decisions: newest", FILTER(.kind = STR_INIT("")), "", true, 0, NULL},
    {"sessions: first page", FILTER(.kind = STR_INIT("")), "", false, 0, NULL},
    {"sessions: page 1000", FILTER(.kind = STR_INIT("")), "", false, 1000, NULL},
    {"sessions: first page of a key", FILTER(.kind = STR_INIT("")), "team-b", false, 0, NULL},
    {"sessions: search for a part of an id",
     FILTER(.search = STR_INIT("ion-4242")),
     "",
     false,
     0,
     NULL},
    {"usage by model: all", FILTER(.start_us = -1), "", false, 0, "model"},
    {"usage by day: a week from some minute on", FILTER(.start_us = WEEK_US), "", false, 0, "day"},
    {"usage by model: a day from some minute on",
     FILTER(.start_us = TODAY_US),
     "",
     false,
     0,
     "model"},
    {"usage by model: a week of a key", FILTER(.start_us = WEEK_US), "team-3", false, 0, "model"},
    {"reasoning: all", FILTER(.start_us = -1), "", false, 0, "reasoning"},
    {"reasoning: a week", FILTER(.start_us = WEEK_US), "", false, 0, "reasoning"},
    {"reasoning: a day", FILTER(.start_us = TODAY_US), "", false, 0, "reasoning"},
};
#pragma GCC diagnostic pop

int main(int argc, char **argv)
{
    uint64_t decisions = 1000000, sessions = 100000, from = clock_mono_ns(&clock_real);
    char dir[] = "/tmp/query_bench.XXXXXX", url[512], rm[96];
    struct reader *r;
    struct buf out;
    struct err e;

    if ((argc > 1 && !str_u64(str_c(argv[1]), &decisions)) ||
        (argc > 2 && !str_u64(str_c(argv[2]), &sessions)) || !mkdtemp(dir))
        return 2;
    if (argc > 3)
        (void)snprintf(url, sizeof url, "sqlite:%s", argv[3]);
    else
        (void)snprintf(url, sizeof url, "sqlite:%s/h.db", dir);
    if (argc <= 3 || access(argv[3], F_OK) != 0)
        fill(str_c(url), (unsigned)decisions, (unsigned)sessions);
    printf("questions to %llu decisions and %llu sessions (made in %.0f s)\n",
           (unsigned long long)decisions,
           (unsigned long long)sessions,
           (double)(clock_mono_ns(&clock_real) - from) / 1e9);
    if (!reader_open(str_c(url), &r, &e))
        die(&e);
    buf_init(&out, QUERY_OUT_MAX);
    for (size_t i = 0; i < COUNT_OF(questions); i++)
        measure(r, &questions[i], &out);
    buf_release(&out);
    reader_close(r);
    (void)snprintf(rm, sizeof rm, "rm -rf %s", dir);
    return system(rm) == 0 ? 0 : 1;
}
