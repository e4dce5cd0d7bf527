/* Measures how many records a second pass the journal, and the time that one takes its caller.
 *
 *     store_bench [FOLDER]              a folder on the disk to measure; /tmp by default
 *
 * Calls are of varied prose: words of a vocabulary, the common ones more often, so that they pack
 * about as well as English does. CPU is that of the whole process until the tables have caught up;
 * disk is all files of the store after its close.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "base/clock.h"
#include "store/store.h"

#include <dirent.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define RECORDS 50000u
#define POOL 1000u /* different calls: many more than a block has */
#define VOCABULARY 30000u
#define REASONING_PART 2u /* one part in so many is reasoning */
#define THREADS 4u
#define FLIGHT_MAX 512u /* open tickets of a thread, at most */

struct flight {
    struct store_ticket ticket; /* first: the store gives it back */
    struct runner *owner;
};

/* The texts of a call. */
struct said {
    struct buf request, reply, asked, reasoning, answer;
};

struct runner {
    struct store *store;
    unsigned index, count;
    const struct said *pool;
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
    const struct said *said = &r->pool[(n * 7919u + r->index) % POOL];
    struct store_call row = store_call_none;

    row.id = (str){id, (size_t)snprintf(id, 40, "%08x-%08x-%012x", r->index, n, n * 7u)};
    row.session_id = (str){session, (size_t)snprintf(session, 40, "%08x-%08x", r->index, n)};
    row.route = STR("/v1/chat/completions");
    row.provider = STR("bench");
    row.model = row.upstream_model = STR("a-model-of-some-kind");
    row.started_ms = 1700000000000 + n;
    row.status = 200;
    row.complete = row.stream = true;
    row.ended_ms = row.started_ms + 900;
    row.has_reasoning = true;
    row.request = buf_str(&said->request);
    row.reply = buf_str(&said->reply);
    row.asked = buf_str(&said->asked);
    row.reasoning = buf_str(&said->reasoning);
    row.answer = buf_str(&said->answer);
    row.decision = STR("[DIRECT] the rollout waits for pods of node seven");
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

static uint64_t chance(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return *state >> 33;
}

static void add_prose(struct buf *b, uint64_t *state, size_t size)
{
    static const char *const parts[] = {"ra",
                                        "ti",
                                        "on",
                                        "ing",
                                        "per",
                                        "so",
                                        "le",
                                        "der",
                                        "un",
                                        "ca",
                                        "mo",
                                        "st",
                                        "en",
                                        "al",
                                        "tor",
                                        "is"};
    size_t end = b->n + size;

    while (b->n < end) {
        uint64_t word = chance(state) % VOCABULARY;

        word = word * (chance(state) % VOCABULARY) / VOCABULARY; /* the low ones more often */
        word = word * (chance(state) % VOCABULARY) / VOCABULARY;
        do
            buf_add(b, str_c(parts[word % COUNT_OF(parts)]));
        while (word /= COUNT_OF(parts));
        buf_add(b, chance(state) % 11 ? STR(" ") : STR(". "));
    }
}

static void say(struct said *s, uint64_t *state, size_t size)
{
    buf_init(&s->request, 1 << 20);
    buf_init(&s->reply, 1 << 20);
    buf_init(&s->asked, 1 << 20);
    buf_init(&s->reasoning, 1 << 20);
    buf_init(&s->answer, 1 << 20);
    add_prose(&s->asked, state, 400);
    add_prose(&s->reasoning, state, size / REASONING_PART);
    add_prose(&s->answer, state, size - size / REASONING_PART);
    buf_printf(&s->request,
               "{\"model\":\"a-model\",\"messages\":[{\"role\":\"user\",\"content\":\"" STR_FMT
               "\"}],\"stream\":true}",
               STR_ARG(buf_str(&s->asked)));
    buf_printf(
        &s->reply,
        "{\"id\":\"chatcmpl-%016llx\",\"object\":\"chat.completion\",\"choices\":[{\"index\":0,"
        "\"message\":{\"role\":\"assistant\",\"reasoning_content\":\"" STR_FMT
        "\",\"content\":\"" STR_FMT "\"},\"finish_reason\":\"stop\"}]}",
        (unsigned long long)chance(state),
        STR_ARG(buf_str(&s->reasoning)),
        STR_ARG(buf_str(&s->answer)));
}

static double cpu_us(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

static double files_size(const char *dir)
{
    DIR *d = opendir(dir);
    struct dirent *de;
    double size = 0;

    while (d && (de = readdir(d))) {
        char path[600];
        struct stat st;

        (void)snprintf(path, sizeof path, "%.200s/%.255s", dir, de->d_name);
        if (stat(path, &st) == 0 && S_ISREG(st.st_mode))
            size += (double)st.st_size;
        (void)unlink(path);
    }
    if (d)
        closedir(d);
    return size;
}

static bool measure(const char *dir, enum store_durability mode, unsigned threads,
                    const struct said *pool)
{
    static struct runner runners[THREADS];
    char url[256];
    struct store_options o = {.durability = mode, .clock = &clock_real};
    struct store_health h;
    uint64_t began_ns, took_ns, put_ns = 0;
    unsigned failed = 0;
    double used_us;
    struct err e;

    o.url = (str){url, (size_t)snprintf(url, sizeof url, "sqlite:%s/%d-%u.db", dir, mode, threads)};
    o.queue_size_max = (size_t)64 << 20;
    o.journal_size_max = (uint64_t)8 << 30;
    if (!store_open(&o, &runners[0].store, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return false;
    }
    used_us = cpu_us();
    began_ns = clock_mono_ns(&clock_real);
    for (unsigned i = 0; i < threads; i++) {
        struct runner *r = &runners[i];

        r->store = runners[0].store;
        r->index = i;
        r->count = RECORDS / threads;
        r->pool = pool;
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
    used_us = cpu_us() - used_us;
    printf(" %8.0f rows/s into the tables, %u refused",
           (double)h.stored * 1e9 / (double)took_ns,
           failed);
    store_close(runners[0].store);
    printf(" %6.1f us of CPU and %5.0f bytes of disk each\n",
           used_us / (double)h.stored,
           files_size(dir) / (double)h.stored);
    return true;
}

static bool measure_size(const char *dir, size_t size)
{
    static struct said pool[POOL];
    uint64_t state = 1;
    bool ok = true;

    for (unsigned i = 0; i < POOL; i++)
        say(&pool[i], &state, size);
    printf("calls of 400 bytes asked and %zu said\n", size);
    for (unsigned i = 0; ok && i < 4; i++)
        ok = measure(dir, i < 2 ? STORE_DURABLE : STORE_FAST, i % 2 ? THREADS : 1, pool);
    for (unsigned i = 0; i < POOL; i++) {
        buf_release(&pool[i].request);
        buf_release(&pool[i].reply);
        buf_release(&pool[i].asked);
        buf_release(&pool[i].reasoning);
        buf_release(&pool[i].answer);
    }
    return ok;
}

int main(int argc, char **argv)
{
    char dir[200], rm[240];
    bool ok;

    (void)snprintf(dir, sizeof dir, "%.150s/store_bench.XXXXXX", argc > 1 ? argv[1] : "/tmp");
    if (!mkdtemp(dir))
        return 1;
    (void)setvbuf(stdout, NULL, _IOLBF, 0);
    ok = measure_size(dir, 2000) && measure_size(dir, 16000);
    (void)snprintf(rm, sizeof rm, "rm -rf %s", dir);
    return system(rm) == 0 && ok ? 0 : 1;
}
