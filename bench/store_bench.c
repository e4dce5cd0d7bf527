/* How fast records go through the journal, and what one costs its caller.
 *
 *     store_bench [FOLDER]              on the disk that is to be measured; /tmp if not told
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/clock.h"
#include "store/store.h"

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#define BODY_SIZE 1450u /* twice, with the rest of a row about 3 KB */
#define TEXT_SIZE 300u  /* of the answer, which is found by its words */
#define RECORDS 50000u
#define THREADS 4u
#define FLIGHT_MAX 512u /* tickets a thread may have open */

struct flight {
    struct store_ticket ticket; /* first: the store gives it back */
    struct runner *owner;
};

struct runner {
    struct store *store;
    unsigned index, count;
    char *body;
    uint64_t put_ns;
    _Atomic unsigned open, failed;
    struct flight flights[FLIGHT_MAX];
    pthread_t thread;
};

static void on_stored(struct store_ticket *t, const struct err *e)
{
    struct runner *r = ((struct flight *)(void *)t)->owner;

    if (e)
        atomic_fetch_add(&r->failed, 1);
    atomic_fetch_sub(&r->open, 1);
}

static struct store_call row_of(const struct runner *r, char id[40], char session[40], unsigned n)
{
    struct store_call row = store_call_none;

    row.id = (str){id, (size_t)snprintf(id, 40, "%08x-%08x-%012x", r->index, n, n * 7u)};
    row.session_id = (str){session, (size_t)snprintf(session, 40, "%08x-%08x", r->index, n / 10)};
    row.route = STR("/v1/chat/completions");
    row.provider = STR("bench");
    row.model = row.upstream_model = STR("a-model-of-some-kind");
    row.started_ms = 1700000000000 + n;
    row.status = 200;
    row.complete = row.stream = true;
    row.request = row.reply = (str){r->body, BODY_SIZE};
    row.asked = STR("why did the rollout stall on node seven");
    row.answer = (str){r->body, TEXT_SIZE};
    row.decision = STR("[TOOL_CALL] get_pods: the rollout waits for pods of node seven");
    row.tools = STR("[\"get_pods\"]");
    row.segments = STR("[{\"kind\":\"reasoning\",\"at\":0,\"size\":0,\"tokens\":40,\"exact\":true},"
                       "{\"kind\":\"answer\",\"at\":0,\"size\":300,\"tokens\":80}]");
    return row;
}

static void *run(void *arg)
{
    struct runner *r = arg;

    for (unsigned n = 0; n < r->count; n++) {
        struct flight *f = &r->flights[n % FLIGHT_MAX];
        char id[40], session[40];
        struct store_call row = row_of(r, id, session, n);
        uint64_t began_ns;

        while (atomic_load(&r->open) >= FLIGHT_MAX / 2)
            usleep(50);
        atomic_fetch_add(&r->open, 1);
        f->owner = r;
        f->ticket.fn = on_stored;
        began_ns = clock_mono_ns(&clock_real);
        store_call_put(r->store, &row, &f->ticket);
        r->put_ns += clock_mono_ns(&clock_real) - began_ns;
    }
    while (atomic_load(&r->open) > 0)
        usleep(50);
    return NULL;
}

static void fill(char *body)
{
    static const char words[] =
        "{\"role\":\"user\",\"content\":\"why did the rollout stall on node ";

    for (size_t i = 0; i < BODY_SIZE; i++)
        body[i] = i % 97 == 0 ? (char)('a' + i / 97 % 26) : words[i % (sizeof words - 1)];
}

static bool measure(const char *dir, enum store_durability mode, unsigned threads)
{
    static struct runner runners[THREADS];
    char url[256], body[BODY_SIZE];
    struct store_options o = {.durability = mode, .clock = &clock_real};
    struct store_health h;
    uint64_t began_ns, took_ns, put_ns = 0;
    unsigned failed = 0;
    struct err e;

    o.url = (str){url, (size_t)snprintf(url, sizeof url, "sqlite:%s/%d-%u.db", dir, mode, threads)};
    o.queue_size_max = (size_t)64 << 20;
    o.journal_size_max = (uint64_t)8 << 30;
    if (!store_open(&o, &runners[0].store, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return false;
    }
    fill(body);
    began_ns = clock_mono_ns(&clock_real);
    for (unsigned i = 0; i < threads; i++) {
        struct runner *r = &runners[i];

        r->store = runners[0].store;
        r->index = i;
        r->count = RECORDS / threads;
        r->body = body;
        r->put_ns = 0;
        atomic_store(&r->failed, 0);
        if (pthread_create(&r->thread, NULL, run, r) != 0)
            return false;
    }
    for (unsigned i = 0; i < threads; i++) {
        pthread_join(runners[i].thread, NULL);
        put_ns += runners[i].put_ns;
        failed += atomic_load(&runners[i].failed);
    }
    took_ns = clock_mono_ns(&clock_real) - began_ns;
    store_health(runners[0].store, &h);
    printf("%-8s %u thread%s %9.0f records/s %7.0f ns a put %6.1f records a group",
           mode == STORE_DURABLE ? "durable" : "fast",
           threads,
           threads > 1 ? "s," : ", ",
           (double)h.stored * 1e9 / (double)took_ns,
           (double)put_ns / RECORDS,
           (double)h.stored / (double)(h.commits ? h.commits : 1));
    began_ns = clock_mono_ns(&clock_real);
    if (!store_settle(runners[0].store, 600000, &e))
        fprintf(stderr, "%s\n", e.text);
    took_ns += clock_mono_ns(&clock_real) - began_ns;
    printf(" %8.0f rows/s into the tables, %u refused\n",
           (double)h.stored * 1e9 / (double)took_ns,
           failed);
    store_close(runners[0].store);
    return true;
}

int main(int argc, char **argv)
{
    char dir[200], rm[240];
    bool ok = true;

    (void)snprintf(dir, sizeof dir, "%.150s/store_bench.XXXXXX", argc > 1 ? argv[1] : "/tmp");
    if (!mkdtemp(dir))
        return 1;
    for (unsigned i = 0; ok && i < 4; i++)
        ok = measure(dir, i < 2 ? STORE_DURABLE : STORE_FAST, i % 2 ? THREADS : 1);
    (void)snprintf(rm, sizeof rm, "rm -rf %s", dir);
    return system(rm) == 0 && ok ? 0 : 1;
}
