/* thread_json.c - see thread_json.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/thread_json.h"

#include "base/base64.h"
#include "base/json_get.h"
#include "gateway/config_build.h"

#define TYPE_MAX 64

/* Other kinds than objects are refused where they are read. */
static bool thread_json_check_members(const struct json *doc, const struct json_node *v,
                                      const char *names, struct err *e)
{
    return !v || v->kind != JSON_OBJECT || config_check_members(doc, v, names, e);
}

static bool agent_thread_json_read_value(const struct json *doc, const struct json_node *v,
                                         struct arena *a, str *type, str *bytes, struct err *e)
{
    const struct json_node *json = json_find(doc, v, STR("json"));
    str text;
    struct buf b;
    bool ok;

    if (!thread_json_check_members(doc, v, "type json base64", e))
        return false;
    if (!json_text(doc, json_find(doc, v, STR("type")), a, type) || !type->n ||
        type->n > TYPE_MAX || memchr(type->p, 0, type->n))
        return err_input(
            e, "type: of a value must be a text of 1 to %d bytes without a NUL", TYPE_MAX);
    if (json) {
        *bytes = json_raw(doc, json);
        return true;
    }
    if (!json_text(doc, json_find(doc, v, STR("base64")), a, &text))
        return err_input(e, "json: must be in a value, or else base64");
    buf_init(&b, text.n + 4);
    ok = base64_decode(text, &b);
    *bytes = ok ? arena_dup(a, buf_str(&b)) : STR("");
    buf_release(&b);
    return ok || err_input(e, "base64: of a value is none");
}

/* The text of an object, {} if it is absent. */
static bool thread_read_object(const struct json *doc, const char *name, bool needed, str *out,
                               struct err *e)
{
    const struct json_node *v = json_find(doc, json_root(doc), str_c(name));

    if (v ? v->kind != JSON_OBJECT : needed)
        return err_input(e, "%s: must be an object", name);
    *out = v ? json_raw(doc, v) : STR("{}");
    return true;
}

static bool agent_thread_json_read_values(const struct json *doc, struct arena *a,
                                          struct thread_tuple *out, struct err *e)
{
    const struct json_node *all = json_find(doc, json_root(doc), STR("values"));
    size_t n = all ? json_count(doc, all) : 0;

    if (all && all->kind != JSON_OBJECT)
        return err_input(e, "values: must be an object");
    if (n > THREAD_CHANNELS_MAX)
        return err_input(e, "values: more than %d", THREAD_CHANNELS_MAX);
    out->values = arena_zero(a, n + 1, sizeof *out->values);
    JSON_FOREACH(key, doc, all) {
        struct thread_value *v = &out->values[out->value_count++];

        assert(out->value_count <= n);
        if (!json_text(doc, key, a, &v->channel) || v->channel.n > THREAD_ID_MAX ||
            memchr(v->channel.p, 0, v->channel.n))
            return err_input(e, "values: the name of a channel is too long, or has a NUL");
        v->empty = json_value(key)->kind == JSON_NULL;
        v->type = v->bytes = STR("");
        if (!v->empty &&
            !agent_thread_json_read_value(doc, json_value(key), a, &v->type, &v->bytes, e))
            return false;
    }
    return true;
}

/* A checkpoint's id, or "" if it is absent or null. */
static bool thread_json_read_id(const struct json *doc, const char *name, struct arena *a, str *out,
                                struct err *e)
{
    const struct json_node *v = json_get(doc, json_root(doc), name);

    *out = STR("");
    return !v ||
           (json_text(doc, v, a, out) && out->n <= THREAD_ID_MAX && !memchr(out->p, 0, out->n)) ||
           err_input(e, "%s: must be an id, or null", name);
}

bool thread_json_put(const struct json *doc, struct arena *a, struct thread_tuple *out,
                     struct err *e)
{
    return thread_json_check_members(
               doc, json_root(doc), "parent_id checkpoint metadata values", e) &&
           thread_json_read_id(doc, "parent_id", a, &out->parent, e) &&
           thread_read_object(doc, "checkpoint", true, &out->checkpoint, e) &&
           thread_read_object(doc, "metadata", false, &out->metadata, e) &&
           agent_thread_json_read_values(doc, a, out, e);
}

bool thread_json_writes(const struct json *doc, struct arena *a, struct thread_tuple *out,
                        struct err *e)
{
    const struct json_node *root = json_root(doc), *all = json_find(doc, root, STR("writes"));
    str task;

    if (!thread_json_check_members(doc, root, "task_id writes", e))
        return false;
    if (!json_text(doc, json_find(doc, root, STR("task_id")), a, &task) || !task.n ||
        task.n > THREAD_ID_MAX || memchr(task.p, 0, task.n))
        return err_input(e, "task_id: must be an id");
    if (!all || all->kind != JSON_ARRAY || json_count(doc, all) > THREAD_WRITES_MAX)
        return err_input(e, "writes: must be a list of at most %d", THREAD_WRITES_MAX);
    out->writes = arena_zero(a, json_count(doc, all) + 1, sizeof *out->writes);
    JSON_FOREACH(i, doc, all) {
        struct thread_write *w = &out->writes[out->write_count];

        w->task = task;
        if (!thread_json_check_members(doc, i, "channel value", e))
            return err_prefix(e, "writes[%zu].", out->write_count);
        if (!json_text(doc, json_find(doc, i, STR("channel")), a, &w->channel) ||
            w->channel.n > THREAD_ID_MAX || memchr(w->channel.p, 0, w->channel.n))
            return err_input(e, "channel: of a write must be the name of one");
        w->idx = thread_special(w->channel, (int64_t)out->write_count++);
        if (!agent_thread_json_read_value(
                doc, json_find(doc, i, STR("value")), a, &w->type, &w->bytes, e))
            return false;
    }
    return true;
}

bool thread_json_update(const struct json *doc, struct arena *a, struct thread_update *out,
                        struct err *e)
{
    return thread_json_check_members(
               doc, json_root(doc), "checkpoint_id values reducers metadata", e) &&
           thread_json_read_id(doc, "checkpoint_id", a, &out->from, e) &&
           thread_read_object(doc, "values", true, &out->values, e) &&
           thread_read_object(doc, "reducers", false, &out->reducers, e) &&
           thread_read_object(doc, "metadata", false, &out->metadata, e);
}

/* Bytes sent as base64 may claim to be JSON but be invalid for our parser: half a surrogate, for
 * example. */
static bool agent_thread_json_is_json(str type, str bytes)
{
    struct json doc;
    struct err ignored;
    bool ok;

    if (!str_eq(type, STR("json")))
        return false;
    ok = json_open(&doc, bytes, &ignored);
    json_release(&doc);
    return ok;
}

static void agent_thread_json_write_value(struct json_out *o, str type, str bytes)
{
    struct buf b;

    json_out_object(o);
    json_member_str(o, "type", type);
    if (agent_thread_json_is_json(type, bytes)) {
        json_member_raw(o, "json", bytes);
    } else {
        buf_init(&b, bytes.n / 3 * 4 + 8);
        base64_add(&b, bytes);
        json_member_str(o, "base64", buf_str(&b));
        buf_release(&b);
    }
    json_out_end(o);
}

static void thread_write_place(struct json_out *o, const struct thread_tuple *t)
{
    json_member_str(o, "thread_id", t->thread);
    json_member_str(o, "ns", t->ns);
    json_member_str(o, "checkpoint_id", t->id);
    json_member_str_or_null(o, "parent_id", t->parent);
    json_member_raw(o, "metadata", t->metadata);
}

void thread_json_state(struct json_out *o, const struct thread_tuple *t)
{
    json_out_object(o);
    thread_write_place(o, t);
    json_member_object(o, "values");
    for (size_t i = 0; i < t->value_count; i++) {
        json_out_key(o, t->values[i].channel);
        if (agent_thread_json_is_json(t->values[i].type, t->values[i].bytes))
            json_out_raw(o, t->values[i].bytes);
        else
            agent_thread_json_write_value(o, t->values[i].type, t->values[i].bytes);
    }
    json_out_close(o, 2);
}

void thread_json_tuple(struct json_out *o, const struct thread_tuple *t)
{
    json_out_object(o);
    thread_write_place(o, t);
    json_member_raw(o, "checkpoint", t->checkpoint);
    json_member_object(o, "values");
    for (size_t i = 0; i < t->value_count; i++) {
        json_out_key(o, t->values[i].channel);
        agent_thread_json_write_value(o, t->values[i].type, t->values[i].bytes);
    }
    json_out_end(o);
    json_member_array(o, "writes");
    for (size_t i = 0; i < t->write_count; i++) {
        json_out_object(o);
        json_member_str(o, "task_id", t->writes[i].task);
        json_member_i64(o, "idx", t->writes[i].idx);
        json_member_str(o, "channel", t->writes[i].channel);
        json_out_key(o, STR("value"));
        agent_thread_json_write_value(o, t->writes[i].type, t->writes[i].bytes);
        json_out_end(o);
    }
    json_out_close(o, 2);
}
