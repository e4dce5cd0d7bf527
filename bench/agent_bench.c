/* Measures the time of an agent's step without its model and its tool, and the memory of many runs.
 *
 *     agent_bench [FOLDER]              a folder on the disk to measure; /tmp by default
 *
 * A run has ten steps: the model calls a tool, which returns at once, and the last step is an
 * answer. Model and tool are functions, so the bench measures the loop: it builds the request's
 * body, keeps the history, checks arguments, traces, and syncs two rows of the log for each call
 * before the run continues. bench/agent.mjs measures the same graph in LangGraph, for JavaScript
 * and for Python, and prints all figures.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/run.h"
#include "base/json.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#define STEPS 10u
#define STACK_SIZE ((size_t)256 << 10)

struct bench {
    struct toolbox *tools;
    struct agent_log *log; /* NULL: in memory only */
    const char *name;
    unsigned each; /* runs of a thread, one after the other */
    _Atomic unsigned next, failed;
    pthread_barrier_t start;
};

struct model {
    unsigned asked;
};

/* Nine calls, then the answer. */
static bool ask(void *ctx, const struct ask_request *q, const _Atomic bool *cancel, struct arena *a,
                struct ask_reply *reply)
{
    struct model *m = ctx;

    (void)q, (void)cancel;
    *reply = (struct ask_reply){.id = STR("call"),
                                .text = STR(""),
                                .reasoning = STR(""),
                                .usage = chat_usage_none,
                                .recorded = true,
                                .cost_usd = -1};
    if (++m->asked == STEPS) {
        reply->text = STR("All of it is done, and this is what came of it.");
        return true;
    }
    reply->calls = arena_zero(a, 1, sizeof *reply->calls);
    reply->call_count = 1;
    reply->calls[0] = (struct ask_call){arena_printf(a, "call_%u", m->asked),
                                        STR("look_up"),
                                        arena_printf(a, "{\"place\":\"node %u\"}", m->asked)};
    return true;
}

static bool look_up(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)c, (void)e;
    buf_add(out, STR("{\"state\":\"ready\",\"load\":0.25}"));
    return true;
}

static bool one_run(struct bench *b, unsigned n)
{
    struct model m = {0};
    struct agent_result r;
    struct arena a;
    struct err e;
    bool ok;

    arena_init(&a, (size_t)64 << 20);
    struct agent_options o = {.run = arena_printf(&a, "%s-%u", b->name, n),
                              .app = STR("bench"),
                              .session = STR(""),
                              .input = STR("{}"),
                              .model_name = STR("a-model"),
                              .level = STR(""),
                              .system = STR("You look things up until you know what is going on."),
                              .user = STR("What is going on?"),
                              .messages = STR(""),
                              .extra = STR(""),
                              .tools = b->tools,
                              .ask = {ask, &m},
                              .limits = {.tokens = -1},
                              .log = b->log,
                              .clock = &clock_real};

    ok = agent_run(&o, &a, &r, &e) && r.end == AGENT_FINISHED && r.step_count == STEPS;
    arena_release(&a);
    return ok;
}

static void *work(void *arg)
{
    struct bench *b = arg;

    (void)pthread_barrier_wait(&b->start);
    for (unsigned i = 0; i < b->each; i++)
        if (!one_run(b, atomic_fetch_add(&b->next, 1)))
            atomic_fetch_add(&b->failed, 1);
    return NULL;
}

static double cpu_us(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) * 1e6 +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec);
}

/* The peak memory of the process in MB. */
static double peak_mb(void)
{
    struct rusage u;

    (void)getrusage(RUSAGE_SELF, &u);
    return (double)u.ru_maxrss / 1024;
}

/* `runs` at once in `each` rounds. One line of JSON for each: bench/agent.mjs reads them. */
static bool measure(struct bench *b, const char *name, unsigned runs, unsigned each)
{
    pthread_t *threads = base_alloc(runs * sizeof *threads);
    double cpu, wall, steps = (double)runs * each * STEPS;
    pthread_attr_t attr;
    uint64_t began;

    b->name = name;
    b->each = each;
    atomic_store(&b->next, 0);
    (void)pthread_barrier_init(&b->start, NULL, runs + 1);
    (void)pthread_attr_init(&attr);
    (void)pthread_attr_setstacksize(&attr, STACK_SIZE);
    for (unsigned i = 0; i < runs; i++)
        if (pthread_create(&threads[i], &attr, work, b) != 0)
            base_die("no thread could be started");
    cpu = cpu_us();
    began = clock_mono_ns(&clock_real);
    (void)pthread_barrier_wait(&b->start);
    for (unsigned i = 0; i < runs; i++)
        (void)pthread_join(threads[i], NULL);
    wall = (double)(clock_mono_ns(&clock_real) - began) / 1000;
    cpu = cpu_us() - cpu;
    (void)pthread_barrier_destroy(&b->start);
    (void)pthread_attr_destroy(&attr);
    free(threads);
    printf("{\"name\":\"%s\",\"runs\":%u,\"step_us\":%.2f,\"step_cpu_us\":%.2f,\"peak_mb\":%.1f}\n",
           name,
           runs * each,
           wall / steps,
           cpu / steps,
           peak_mb());
    return atomic_load(&b->failed) == 0;
}

static bool add_tool(struct toolbox *t, struct err *e)
{
    return toolbox_add(
        t,
        &(struct tool){.name = STR("look_up"),
                       .description = STR("What a place is like right now."),
                       .schema = STR("{\"type\":\"object\",\"properties\":{\"place\":{\"type\":"
                                     "\"string\"}},\"required\":[\"place\"]}"),
                       .flags = TOOL_PURE,
                       .run = look_up},
        e);
}

int main(int argc, char **argv)
{
    char dir[256], url[300], command[300];
    struct bench b = {0};
    struct err e;
    bool ok;

    (void)snprintf(dir, sizeof dir, "%s/agent_bench.XXXXXX", argc > 1 ? argv[1] : "/tmp");
    if (!mkdtemp(dir)) {
        perror(dir);
        return 1;
    }
    b.tools = toolbox_new(&clock_real);
    (void)snprintf(url, sizeof url, "sqlite:%s/r.db", dir);
    if (!add_tool(b.tools, &e) || !agent_log_open(str_c(url), &b.log, &e)) {
        fprintf(stderr, "%s\n", e.text);
        return 1;
    }
    /* the largest last: the peak is of the whole process */
    ok = measure(&b, "warm", 8, 1) && measure(&b, "durable-1", 1, 100) &&
         measure(&b, "durable-64", 64, 20) && measure(&b, "durable-1000", 1000, 1);
    agent_log_close(b.log);
    b.log = NULL;
    ok = ok && measure(&b, "memory-1", 1, 100) && measure(&b, "memory-1000", 1000, 1);
    toolbox_free(b.tools);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    return system(command) == 0 && ok ? 0 : 1;
}
