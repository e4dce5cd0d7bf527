/* incident_bench.c - see incident_bench.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "incident_bench.h"

#include "base/file.h"

#include <unistd.h>

/* ---- an engine that waits until it may end ---- */

struct stub_engine *stub_engine(void)
{
    static struct stub_engine only = {.lock = PTHREAD_MUTEX_INITIALIZER};

    return &only;
}

static bool stub_run(const struct incident_options *o, struct arena *a, struct incident_report *out,
                     struct err *e)
{
    struct timespec nap = {.tv_nsec = 2000000};

    (void)e;
    pthread_mutex_lock(&stub.lock);
    if (++stub.running > stub.most)
        stub.most = stub.running;
    (void)snprintf(stub.last, sizeof stub.last, STR_FMT, STR_ARG(o->alert.id));
    stub.begun++; /* set last: the test reads the other fields after it */
    pthread_mutex_unlock(&stub.lock);
    o->on_progress(
        o->ctx,
        &(struct incident_progress){40, STR("looking \"closely\""), STR("KubernetesAgent")});
    o->on_progress(o->ctx, &(struct incident_progress){20, STR("writing"), STR("KubernetesAgent")});
    pthread_mutex_lock(&stub.lock);
    while (!stub.open && !stub.may && !atomic_load(o->cancel)) {
        pthread_mutex_unlock(&stub.lock);
        (void)nanosleep(&nap, NULL);
        pthread_mutex_lock(&stub.lock);
    }
    if (stub.may)
        stub.may--;
    stub.running--;
    pthread_mutex_unlock(&stub.lock);
    *out = (struct incident_report){.end = INCIDENT_COMPLETED,
                                    .markdown =
                                        arena_join(a, STR("# Report\n\n"), o->alert.data, STR("")),
                                    .final_analysis = STR("it was the disk"),
                                    .summary = STR("disk"),
                                    .error = STR(""),
                                    .reason = STR(""),
                                    .model_calls = 2,
                                    .tool_calls = 1,
                                    .input_tokens = 10,
                                    .output_tokens = 5,
                                    .reasoning_tokens = 3,
                                    .duration_ms = 7,
                                    .tools = STR("[\"describe\"]"),
                                    .stages = STR("[{\"name\":\"one\",\"status\":\"done\"}]")};
    if (atomic_load(o->cancel))
        out->end = atomic_load(o->host->leave) ? INCIDENT_LEFT : INCIDENT_CANCELLED;
    if (stub.waits)
        out->end = INCIDENT_WAITING;
    if (stub.fails) {
        out->end = INCIDENT_FAILED;
        out->error = STR("the model said no");
        out->reason = STR("llm_error");
    }
    return true;
}

static bool stub_assigned(const struct incident_setup *s, str type, str *agent,
                          const char *const **servers)
{
    static const char *const list[] = {"kubernetes-server", NULL};

    (void)s;
    *agent = STR("KubernetesAgent");
    *servers = list;
    return str_eq(type, STR("kubernetes")) || str_eq(type, STR("disk"));
}

static bool stub_stages(const struct incident_setup *s, struct agent_log *log, str run, str type,
                        struct buf *out, struct err *e)
{
    (void)s;
    (void)log;
    (void)run;
    (void)type;
    (void)e;
    buf_add(out, STR("[{\"name\":\"one\",\"status\":\"running\"}]"));
    return true;
}

static bool stub_chat(const struct incident_options *o, str question, struct arena *a,
                      struct incident_answer *out, struct err *e)
{
    (void)e;
    *out = (struct incident_answer){.run = STR("r/chat/1"),
                                    .question = question,
                                    .text = arena_join(a, o->alert.id, STR(": "), question),
                                    .pending = STR("")};
    return true;
}

static const char *const types[] = {"disk", "kubernetes", NULL};

/* ---- a host ---- */

void bench_open(struct bench *b)
{
    struct incidents_engine engine = {
        .engine = {.run = stub_run, .assigned = stub_assigned, .stages = stub_stages},
        .chat = stub_chat,
        .types = types};
    char path[512];
    struct err e;

    (void)snprintf(path, sizeof path, "%s/rationale.yaml", b->place.dir);
    CHECK_F(app_local_open(path, &b->local, &e), "%s", e.text);
    CHECK_F(incidents_open(&b->local.host, &engine, &b->in, &e), "%s", e.text);
}

void bench_close(struct bench *b)
{
    incidents_close(b->in);
    app_local_close(&b->local);
}

void bench_new(struct bench *b, const char *incidents)
{
    char path[512], text[2048];
    struct err e;

    stub.running = stub.most = stub.begun = stub.may = 0;
    stub.open = stub.fails = stub.waits = false;
    memset(b, 0, sizeof *b);
    place_init(&b->place);
    (void)snprintf(path, sizeof path, "%s/a.md", b->place.dir);
    CHECK_F(file_write_atomic(path, STR("# Runbook"), 0600, &e), "%s", e.text);
    (void)snprintf(path, sizeof path, "%s/rationale.yaml", b->place.dir);
    (void)snprintf(text,
                   sizeof text,
                   "store: %s\nspool: %s\n"
                   "providers:\n  none:\n    kind: openai\n    base_url: http://127.0.0.1:9/v1\n"
                   "    models: {m: m}\n"
                   "incidents:\n  runbooks: %s\n%s",
                   b->place.url,
                   b->place.spool,
                   b->place.dir,
                   incidents);
    CHECK_F(file_write_atomic(path, str_c(text), 0600, &e), "%s", e.text);
    bench_open(b);
}

void bench_end(struct bench *b)
{
    stub.open = true;
    bench_close(b);
    place_release(&b->place);
}

/* ---- requests ---- */

static struct answer *asks_with(struct bench *b, route *fn, struct app_request q)
{
    struct answer *a = base_alloc(sizeof *a);
    struct json body;
    struct err e;

    memset(a, 0, sizeof *a);
    json_init(&body);
    if (json_parse(&body, q.body, &e))
        q.json = &body; /* app_answer does this for some routes */
    arena_init(&a->arena, (size_t)256 << 20);
    buf_init(&a->reply.body, (size_t)64 << 20);
    a->reply.status = 200;
    q.query = q.subject = STR("");
    q.arena = &a->arena;
    fn(b->in, &q, &a->reply);
    json_release(&body);
    json_init(&a->doc);
    CHECK_F(json_parse(&a->doc, buf_str(&a->reply.body), &e),
            "%s: " STR_FMT,
            e.text,
            STR_ARG(buf_str(&a->reply.body)));
    return a;
}

struct answer *asks_as(struct bench *b, route *fn, const char *part, str body, const char *key,
                       bool operator_)
{
    return asks_with(
        b,
        fn,
        (struct app_request){
            .body = body, .parts = {str_c(part)}, .key = str_c(key), .operator_ = operator_});
}

struct answer *asks_signed(struct bench *b, const char *body, const char *signature)
{
    return asks_with(
        b,
        intake_alert,
        (struct app_request){.body = str_c(body), .key = STR(""), .signature = str_c(signature)});
}

struct answer *asks(struct bench *b, route *fn, const char *part, const char *body)
{
    return asks_as(b, fn, part, str_c(body), "", true);
}

const struct json_node *at(const struct answer *a, const char *path)
{
    const struct json_node *v = json_root(&a->doc);
    str rest = str_c(path);

    while (v && rest.n) {
        size_t dot = str_find(rest, STR("."));
        str head = str_slice(rest, 0, dot);
        uint64_t i;

        rest = dot == STR_NONE ? STR("") : str_slice(rest, dot + 1, rest.n);
        if (v->kind == JSON_ARRAY && str_u64(head, &i)) {
            const struct json_node *x = json_first(&a->doc, v);

            while (x && i--)
                x = json_next(&a->doc, v, x);
            v = x;
        } else {
            v = json_find(&a->doc, v, head);
        }
    }
    return v;
}

bool says(const struct answer *a, const char *path, const char *want)
{
    return json_is(&a->doc, at(a, path), str_c(want));
}

void done(struct answer *a)
{
    json_release(&a->doc);
    buf_release(&a->reply.body);
    arena_release(&a->arena);
    free(a);
}

/* Sends an alert with this number in it; writes its id to `out`. */
int sends(struct bench *b, int n, const char *want, char out[RAND_ID_SIZE])
{
    char body[200];
    struct answer *a;
    str id;
    int code;

    (void)snprintf(
        body, sizeof body, "{\"alert_type\":\"disk\",\"runbook\":\"a.md\",\"data\":{\"n\":%d}}", n);
    a = asks(b, intake_alert, "", body);
    code = a->reply.status;
    if (want)
        CHECK_F(says(a, "status", want), STR_FMT, STR_ARG(buf_str(&a->reply.body)));
    if (out && json_text(&a->doc, at(a, "alert_id"), &a->arena, &id))
        (void)snprintf(out, RAND_ID_SIZE, STR_FMT, STR_ARG(id));
    done(a);
    return code;
}

void waits_for(struct bench *b, const char *id, const char *state)
{
    struct timespec nap = {.tv_nsec = 5000000};

    for (int i = 0; i < 4000; i++) {
        struct answer *a = asks(b, status_processing, id, "");
        bool there = says(a, "status", state);

        done(a);
        if (there)
            return;
        (void)nanosleep(&nap, NULL);
    }
    fail_msg("%s does not become %s", id, state);
}

void waits_for_begun(unsigned n)
{
    struct timespec nap = {.tv_nsec = 2000000};

    for (int i = 0; i < 10000 && stub.begun < n; i++)
        (void)nanosleep(&nap, NULL);
    CHECK_F(stub.begun >= n, "%u have begun, not %u", stub.begun, n);
}

void waits_for_calm(struct bench *b)
{
    struct timespec nap = {.tv_nsec = 2000000};
    struct queue_counts c;

    queue_counts(b->in->queue, &c);
    for (int i = 0; i < 30000 && c.waiting + c.running; i++) {
        (void)nanosleep(&nap, NULL);
        queue_counts(b->in->queue, &c);
    }
    CHECK_F(!c.waiting && !c.running, "%zu wait and %zu run", c.waiting, c.running);
}

/* ---- webhooks ---- */

int posts(struct bench *b, const char *body, int alert, const char *status, char id[RAND_ID_SIZE])
{
    struct answer *a = asks(b, intake_alert, "", body);
    char path[40];
    str text = STR("");
    int code = a->reply.status;

    (void)snprintf(path, sizeof path, "alerts.%d.status", alert);
    CHECK_F(says(a, path, status), "%s: " STR_FMT, status, STR_ARG(buf_str(&a->reply.body)));
    (void)snprintf(path, sizeof path, "alerts.%d.alert_id", alert);
    (void)!json_text(&a->doc, at(a, path), &a->arena, &text);
    (void)snprintf(id, RAND_ID_SIZE, STR_FMT, STR_ARG(text));
    done(a);
    return code;
}

int64_t answer_number(const struct answer *a, const char *path)
{
    int64_t n = -1;

    return json_i64(&a->doc, at(a, path), &n) ? n : -1;
}

void alert_is(struct bench *b, const char *id, int alert, const char *state, int seen)
{
    struct answer *a = asks(b, status_one, id, "");
    char path[40];

    (void)snprintf(path, sizeof path, "alerts.%d.state", alert);
    CHECK_ANSWER(a, 200, path, state);
    (void)snprintf(path, sizeof path, "alerts.%d.seen", alert);
    CHECK_INT(answer_number(a, path), seen);
    done(a);
}
