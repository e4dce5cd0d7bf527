/* threads.c - threads of agents: a table selects the operation on the loop, and a thread of the
 * pool executes it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/thread_json.h"
#include "gateway/config_build.h"
#include "serve/history_job.h"
#include "serve/methods.h"

#define LIST_USUAL 100

/* Use of the job's fields here: id is the thread, words the checkpoint, name the namespace; body is
 * the request's body, or the metadata filter of a list. */

static struct thread_asker serve_threads_asker(const struct history_job *j)
{
    return (struct thread_asker){.key = j->key, .all = j->all, .now_us = j->asker.now_us};
}

static struct threads *serve_threads_get_store(const struct history_job *j)
{
    assert(j->worker->daemon->threads);
    return j->worker->daemon->threads;
}

/* The caller releases the arena. */
static void serve_threads_room(struct arena *a, size_t body)
{
    arena_init(a, 2 * THREAD_TUPLE_MAX + 2 * body);
}

static bool serve_threads_is_id(str id)
{
    return id.n > 0 && id.n <= THREAD_ID_MAX;
}

/* ---- output ---- */

/* The reasons of an order are a channel of its thread. */
static void serve_threads_hide_reasons(struct thread_tuple *t)
{
    static const str channel = STR_INIT("reasoning");
    size_t values = 0, writes = 0;

    if (!thread_is_order(t->metadata))
        return;
    for (size_t i = 0; i < t->value_count; i++)
        if (!str_eq(t->values[i].channel, channel))
            t->values[values++] = t->values[i];
    for (size_t i = 0; i < t->write_count; i++)
        if (!str_eq(t->writes[i].channel, channel))
            t->writes[writes++] = t->writes[i];
    t->value_count = values;
    t->write_count = writes;
}

static bool serve_threads_write_one(struct history_job *j, const struct thread_tuple *at,
                                    void (*write)(struct json_out *, const struct thread_tuple *),
                                    struct json_out *o, struct err *e)
{
    struct thread_asker who = serve_threads_asker(j);
    struct thread_tuple t;
    struct arena a;
    bool ok;

    assert(at->thread.n > 0);
    serve_threads_room(&a, 0);
    ok = threads_get(serve_threads_get_store(j),
                     &who,
                     (struct thread_key){at->thread, at->ns, at->id},
                     &a,
                     &t,
                     e);
    if (ok && j->asker.hide_reasoning)
        serve_threads_hide_reasons(&t);
    if (ok)
        write(o, &t);
    arena_release(&a);
    return ok;
}

static bool serve_ask_tuple(struct history_job *j, struct err *e)
{
    struct thread_tuple at = {.thread = j->id, .ns = j->name, .id = j->words};
    struct json_out o;

    assert(j->id.n > 0 && j->words.n > 0);
    if (str_eq(at.id, STR("latest")))
        at.id = STR("");
    json_out_init(&o, &j->out);
    return serve_threads_write_one(j, &at, thread_json_tuple, &o, e) && json_out_ok(&o, e);
}

static bool serve_ask_state(struct history_job *j, struct err *e)
{
    struct thread_tuple at = {.thread = j->id, .ns = j->name, .id = j->words};
    struct json_out o;

    assert(j->id.n > 0);
    json_out_init(&o, &j->out);
    return serve_threads_write_one(j, &at, thread_json_state, &o, e) && json_out_ok(&o, e);
}

/* A thread that was deleted meanwhile is left out. */
static bool serve_write_list(struct history_job *j, const struct thread_tuple *list, size_t n,
                             struct err *e)
{
    struct json_out o;

    json_out_init_object(&o, &j->out);
    json_member_array(&o, "checkpoints");
    for (size_t i = 0; i < n; i++)
        if (!serve_threads_write_one(j, &list[i], thread_json_tuple, &o, e) &&
            e->code != ERR_NOT_FOUND)
            return false;
    json_out_close(&o, 2);
    return json_out_ok(&o, e);
}

static bool serve_threads_ask_list(struct history_job *j, struct err *e)
{
    struct thread_asker who = serve_threads_asker(j);
    struct thread_filter f = {.thread = j->id,
                              .ns = j->what ? &j->name : NULL,
                              .before = j->words,
                              .metadata = buf_str(&j->body),
                              .count_max = (size_t)j->page.limit};
    struct thread_list list;
    struct arena a;
    bool ok;

    assert(j->page.limit > 0);
    serve_threads_room(&a, 0);
    ok = threads_list(serve_threads_get_store(j), &who, &f, &a, &list, e) &&
         serve_write_list(j, list.items, list.count, e);
    arena_release(&a);
    return ok;
}

/* ---- input ---- */

static bool serve_threads_put(struct history_job *j, const struct json *doc, struct arena *a,
                              struct err *e)
{
    struct thread_tuple t = {.thread = j->id, .ns = j->name, .id = j->words};
    struct thread_asker who = serve_threads_asker(j);

    return thread_json_put(doc, a, &t, e) && threads_put(serve_threads_get_store(j), &who, &t, e);
}

static bool serve_threads_put_writes(struct history_job *j, const struct json *doc, struct arena *a,
                                     struct err *e)
{
    struct thread_tuple t = {.thread = j->id, .ns = j->name, .id = j->words};
    struct thread_asker who = serve_threads_asker(j);

    return thread_json_writes(doc, a, &t, e) &&
           threads_put_writes(serve_threads_get_store(j), &who, &t, e);
}

static bool serve_with_body(struct history_job *j,
                            bool (*take)(struct history_job *, const struct json *, struct arena *,
                                         struct err *),
                            struct err *e)
{
    struct json doc;
    struct arena a;
    bool ok;

    serve_threads_room(&a, j->body.n);
    ok = json_open(&doc, buf_str(&j->body), e);
    if (!ok)
        history_job_refuse_json(e);
    else if (json_root(&doc)->kind != JSON_OBJECT)
        ok = err_input(e, "body: must be a JSON object");
    ok = ok && take(j, &doc, &a, e);
    arena_release(&a);
    json_release(&doc);
    return ok;
}

static bool threads_write_place(struct history_job *j, struct err *e)
{
    struct json_out o;

    json_out_init_object(&o, &j->out);
    json_member_str(&o, "thread_id", j->id);
    json_member_str(&o, "ns", j->name);
    json_member_str(&o, "checkpoint_id", j->words);
    json_out_end(&o);
    return json_out_ok(&o, e);
}

static bool serve_ask_put(struct history_job *j, struct err *e)
{
    assert(j->id.n > 0 && j->words.n > 0);
    return serve_with_body(j, serve_threads_put, e) && threads_write_place(j, e);
}

static bool serve_ask_put_writes(struct history_job *j, struct err *e)
{
    assert(j->id.n > 0 && j->words.n > 0);
    return serve_with_body(j, serve_threads_put_writes, e) && threads_write_place(j, e);
}

static bool serve_threads_update_state(struct history_job *j, const struct json *doc,
                                       struct arena *a, struct err *e)
{
    struct thread_update u = {.thread = j->id, .ns = j->name};
    struct thread_asker who = serve_threads_asker(j);
    str id;

    if (!thread_json_update(doc, a, &u, e) ||
        !threads_update(serve_threads_get_store(j), &who, &u, a, &id, e))
        return false;
    j->words = arena_dup(&j->arena, id);
    return true;
}

static bool serve_ask_update(struct history_job *j, struct err *e)
{
    assert(j->id.n > 0);
    return serve_with_body(j, serve_threads_update_state, e) && threads_write_place(j, e);
}

static bool serve_threads_prune(struct history_job *j, const struct json *doc, struct arena *a,
                                struct err *e)
{
    struct thread_asker who = serve_threads_asker(j);
    size_t removed;
    int64_t keep;

    (void)a;
    if (!config_check_members(doc, json_root(doc), "keep", e))
        return false;
    if (!json_i64(doc, json_find(doc, json_root(doc), STR("keep")), &keep) || keep < 1)
        return err_input(e, "keep: must say how many checkpoints, at least 1");
    if (!threads_prune(serve_threads_get_store(j), &who, j->id, (size_t)keep, &removed, e))
        return false;
    buf_printf(&j->out, "{\"removed\":%zu}", removed);
    return true;
}

static bool serve_ask_prune(struct history_job *j, struct err *e)
{
    assert(j->id.n > 0);
    return serve_with_body(j, serve_threads_prune, e);
}

static bool serve_ask_delete(struct history_job *j, struct err *e)
{
    struct thread_asker who = serve_threads_asker(j);

    assert(j->id.n > 0);
    if (!threads_delete(serve_threads_get_store(j), &who, j->id, e))
        return false;
    buf_add(&j->out, STR("{\"deleted\":true}"));
    return true;
}

/* ---- the table of paths after a thread's id ---- */

struct view {
    const char *method;
    const char *path[3]; /* "*": the id of a checkpoint */
    history_ask *ask;
};

static const struct view views[] = {
    {"GET", {"checkpoints", NULL, NULL}, serve_threads_ask_list},
    {"GET", {"checkpoints", "*", NULL}, serve_ask_tuple},
    {"PUT", {"checkpoints", "*", NULL}, serve_ask_put},
    {"PUT", {"checkpoints", "*", "writes"}, serve_ask_put_writes},
    {"GET", {"state", NULL, NULL}, serve_ask_state},
    {"POST", {"state", NULL, NULL}, serve_ask_update},
    {"POST", {"prune", NULL, NULL}, serve_ask_prune},
    {"DELETE", {NULL, NULL, NULL}, serve_ask_delete},
};

/* Splits at slashes and decodes; false if there are too many parts, or one is not UTF-8. */
static bool serve_threads_split(struct arena *a, str path, str *parts, size_t max, size_t *n)
{
    assert(max > 0);
    for (*n = 0;;) {
        size_t slash = str_find(path, STR("/"));

        if (*n == max || !params_decode(a, str_slice(path, 0, slash), false, &parts[*n]))
            return false;
        ++*n;
        if (slash == STR_NONE)
            return true;
        path = str_slice(path, slash + 1, path.n);
    }
}

static bool view_fits(const struct view *v, const str *parts, size_t n)
{
    assert(n <= COUNT_OF(v->path));
    for (size_t i = 0; i < COUNT_OF(v->path); i++) {
        if ((v->path[i] != NULL) != (i < n))
            return false;
        if (i < n && strcmp(v->path[i], "*") != 0 && !str_eq(parts[i], str_c(v->path[i])))
            return false;
    }
    return true;
}

static bool serve_has_param(const struct params *p, const char *name)
{
    assert(p->n <= PARAMS_MAX);
    for (size_t i = 0; i < p->n; i++)
        if (str_eq(p->at[i].name, str_c(name)))
            return true;
    return false;
}

static struct history_job *serve_threads_begin(struct exchange *ex, history_ask *ask)
{
    if (ex->worker->daemon->threads)
        return history_job_new(ex, ask);
    exchange_fail(ex, 503, "history_disabled", "nothing is on record, threads neither");
    return NULL;
}

static void serve_threads_go(struct exchange *ex, struct history_job *j)
{
    struct params p;
    str metadata;

    params_init(&p, ex, &j->arena);
    j->what = serve_has_param(&p, "ns");
    j->name = params_text(&p, "ns");
    if (j->name.n > THREAD_ID_MAX)
        params_wrong(&p, "ns", "string", "must be at most %d bytes", THREAD_ID_MAX);
    if (j->ask == serve_threads_ask_list) {
        j->words = params_text(&p, "before");
        j->page.limit = params_i64(&p, "limit", LIST_USUAL, 1, THREAD_LIST_MAX);
        metadata = params_text(&p, "metadata");
        buf_add(&j->body, metadata);
    } else if (j->ask == serve_ask_state) {
        j->words = params_text(&p, "checkpoint_id");
    } else {
        buf_add(&j->body, server_body(ex->x));
    }
    history_job_go(j, &p);
}

void thread_handle(struct exchange *ex)
{
    const char *method = ex->route->method;
    str parts[4];
    struct history_job *j;
    size_t n;

    if (!serve_threads_split(server_arena(ex->x), ex->rest, parts, COUNT_OF(parts), &n) ||
        !serve_threads_is_id(parts[0]) || (n > 2 && !serve_threads_is_id(parts[2]))) {
        exchange_fail(ex, 404, "unknown_url", "no thread or checkpoint can have such an id");
        return;
    }
    for (size_t i = 0; i < COUNT_OF(views); i++) {
        if (strcmp(views[i].method, method) != 0 || !view_fits(&views[i], parts + 1, n - 1))
            continue;
        j = serve_threads_begin(ex, views[i].ask);
        if (!j)
            return;
        j->id = arena_dup(&j->arena, parts[0]);
        if (n > 2)
            j->words = arena_dup(&j->arena, parts[2]);
        serve_threads_go(ex, j);
        return;
    }
    exchange_fail_method(ex);
}

void thread_methods(str path, str rest, struct arena *a, struct buf *out)
{
    str parts[4];
    size_t n;

    (void)path;
    if (!serve_threads_split(a, rest, parts, COUNT_OF(parts), &n))
        return;
    for (size_t i = 0; i < COUNT_OF(views); i++)
        if (view_fits(&views[i], parts + 1, n - 1))
            route_add_method(out, views[i].method);
}

void checkpoints_handle(struct exchange *ex)
{
    struct history_job *j = serve_threads_begin(ex, serve_threads_ask_list);

    if (j)
        serve_threads_go(ex, j);
}
