/* memory.c - the conversation of a thread: the user's messages and the agent's answers.
 *
 * The messages are the channel "messages" of the thread, as Chat Completions has them. A run adds
 * its own when it ends, and the checkpoint's metadata names the run, so that a run that is resumed
 * at its very end does not add them twice.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agents/runner_state.h"

#define CHANNEL "messages"
#define MEMORY_ARENA (THREAD_TUPLE_MAX / 4 * 5 + ((size_t)1 << 20))

static struct thread_asker memory_asker(const struct agents_job *j)
{
    return (struct thread_asker){
        .key = j->q.key, .all = !j->q.key.n, .now_us = clock_wall_ms(j->runner->host.clock) * 1000};
}

/* The list without its brackets; "" if the value is not a list. A client may have stored any bytes,
 * and they become part of the request to the model. */
static str memory_items(str list, struct arena *a)
{
    struct json doc;
    struct err ignored;
    str items = STR("");

    if (json_open(&doc, list, &ignored) && json_root(&doc)->kind == JSON_ARRAY) {
        list = json_raw(&doc, json_root(&doc));
        items = arena_dup(a, str_trim(str_slice(list, 1, list.n - 1)));
    }
    json_release(&doc);
    return items;
}

static bool memory_get(struct agents_job *j, struct arena *scratch, struct thread_tuple *out,
                       bool *found, struct err *e)
{
    struct thread_asker who = memory_asker(j);

    assert(j->q.thread.n && j->runner->host.threads);
    *found = threads_get(j->runner->host.threads,
                         &who,
                         (struct thread_key){j->q.thread, STR(""), STR("")},
                         scratch,
                         out,
                         e);
    return *found || e->code == ERR_NOT_FOUND;
}

bool agents_memory_claim(struct agents_job *j, struct err *e)
{
    struct thread_asker who = memory_asker(j);

    if (!j->q.thread.n)
        return true;
    if (!j->runner->host.threads)
        return err_input(e, "thread: nothing is on record, so there are no threads");
    return threads_claim(j->runner->host.threads, &who, j->q.thread, e);
}

bool agents_memory_read(struct agents_job *j, struct arena *a, str *messages, struct err *e)
{
    struct thread_tuple t;
    struct arena scratch;
    bool ok, found;

    *messages = STR("");
    if (!j->q.thread.n)
        return true;
    arena_init(&scratch, MEMORY_ARENA);
    ok = memory_get(j, &scratch, &t, &found, e);
    for (size_t i = 0; ok && found && i < t.value_count; i++)
        if (str_eq(t.values[i].channel, STR(CHANNEL)))
            *messages = memory_items(t.values[i].bytes, a);
    arena_release(&scratch);
    return ok;
}

/* Whether this run wrote a checkpoint of the thread. Other runs may have added later ones. */
static bool memory_has(struct agents_job *j, bool *has, struct err *e)
{
    const str ns = STR("");
    struct thread_filter f = {.thread = j->q.thread, .ns = &ns, .before = STR(""), .count_max = 1};
    struct thread_asker who = memory_asker(j);
    struct thread_list found;
    struct json_out o;
    struct buf metadata;
    struct arena a;
    bool ok;

    assert(j->q.run.n && j->q.thread.n);
    arena_init(&a, MEMORY_ARENA);
    buf_init(&metadata, 65536);
    json_out_init_object(&o, &metadata);
    json_member_str(&o, "run_id", j->q.run);
    json_out_end(&o);
    f.metadata = buf_str(&metadata);
    ok = json_out_ok(&o, e) && threads_list(j->runner->host.threads, &who, &f, &a, &found, e);
    *has = ok && found.count > 0;
    buf_release(&metadata);
    arena_release(&a);
    return ok;
}

static void memory_write_message(struct json_out *o, const char *role, str text)
{
    json_out_object(o);
    json_member_str(o, "role", str_c(role));
    json_member_str(o, "content", text);
    json_out_end(o);
}

static bool memory_put(struct agents_job *j, str input, str answer, struct arena *a, struct err *e)
{
    struct thread_asker who = memory_asker(j);
    struct thread_update u = {.thread = j->q.thread,
                              .ns = STR(""),
                              .from = STR(""),
                              .reducers = STR("{\"" CHANNEL "\":\"append\"}")};
    struct buf values, metadata;
    struct json_out o;
    bool ok;
    str id;

    assert(j->q.run.n && j->q.thread.n);
    buf_init(&values, AGENTS_TEXT_MAX);
    buf_init(&metadata, 65536);
    json_out_init_object(&o, &values);
    json_member_array(&o, CHANNEL);
    memory_write_message(&o, "user", input);
    memory_write_message(&o, "assistant", answer);
    json_out_close(&o, 2);
    ok = json_out_ok(&o, e);
    u.values = agents_job_masked(j, buf_str(&values), a);
    json_out_init_object(&o, &metadata);
    json_member_str(&o, "source", STR("update"));
    json_member_str(&o, "run_id", j->q.run);
    json_member_str(&o, "agent", j->q.name);
    json_out_end(&o);
    u.metadata = buf_str(&metadata);
    ok = ok && threads_update(j->runner->host.threads, &who, &u, a, &id, e);
    buf_release(&values);
    buf_release(&metadata);
    return ok;
}

bool agents_memory_add(struct agents_job *j, str input, str answer, struct arena *a, struct err *e)
{
    bool has;

    if (!j->q.thread.n || !j->runner->host.threads)
        return true;
    return memory_has(j, &has, e) && (has || memory_put(j, input, answer, a, e));
}
