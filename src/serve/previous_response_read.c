/* previous_response_read.c - reads a response back from the record.
 *
 * The id of a response is that of its call, and the record has the request and the reply of each
 * call. So a thread of the pool reads a conversation from its last response back to its first, and
 * puts it into memory as if it had stayed there. It reads only calls of the same key and of this
 * dialect, with a complete reply, and not those with store: false. Secrets that are masked in the
 * record stay masked.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/ctype.h"
#include "base/json_get.h"
#include "serve/history_job.h"
#include "store/daemons.h"

#include <unistd.h>

#define PREFIX STR("resp_")
#define ID_SIZE 36
#define CHAIN_MAX 1024 /* responses of one conversation */
#define ARRIVES_WITHIN_MS 3000
#define ARRIVES_LOOK_US 50000
#define ACQUAINTED_MS 10000 /* a daemon that just started may not know the others yet */
#define READ_SIZE_MAX ((size_t)32 << 20)

/* The id of the call that produced a response, or "" if it is not one of ours. */
static str previous_call_of(str id)
{
    str rest = str_starts(id, PREFIX) ? str_slice(id, PREFIX.n, id.n) : STR("");

    if (rest.n != ID_SIZE)
        return STR("");
    for (size_t i = 0; i < rest.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;

        if (dash ? rest.p[i] != '-' : !strchr("0123456789abcdef", rest.p[i]) || !rest.p[i])
            return STR("");
    }
    return rest;
}

/* ---- on a thread ---- */

static void previous_write_answer(struct json_out *o, str text)
{
    if (text.n == 0)
        return;
    json_out_object(o);
    json_member_str(o, "type", STR("message"));
    json_member_str(o, "role", STR("assistant"));
    json_member_array(o, "content");
    json_out_object(o);
    json_member_str(o, "type", STR("output_text"));
    json_member_str(o, "text", text);
    json_out_close(o, 3);
}

static void previous_response_write_call(struct json_out *o, const struct json *doc,
                                         const struct json_node *call, struct arena *a)
{
    json_out_object(o);
    json_member_str(o, "type", STR("function_call"));
    json_member_str(o, "call_id", json_get_text(doc, call, "id", a));
    json_member_str(o, "name", json_get_text(doc, call, "name", a));
    json_member_str(o, "arguments", json_get_text(doc, call, "arguments", a));
    json_out_end(o);
}

static void previous_response_write_items(struct json_out *o, const struct json *doc,
                                          struct arena *a)
{
    const struct json_node *row = json_root(doc);
    const struct json_node *request = json_get(doc, row, "request");
    const struct json_node *calls = json_get(doc, row, "tool_calls");
    str asked = exchange_items_of(doc, json_get(doc, request, "input"), a);

    json_member_array(o, "items");
    if (asked.n)
        json_out_raw(o, asked);
    previous_write_answer(o, json_get_text(doc, row, "response", a));
    JSON_FOREACH_ITEM(v, doc, calls)
        previous_response_write_call(o, doc, v, a);
    json_out_end(o);
}

/* Whether a request may continue from a call: by its key, its dialect and its result. */
static bool previous_is_usable(const struct history_job *j, const struct json *doc, struct arena *a)
{
    const struct json_node *row = json_root(doc);
    const struct json_node *request = json_get(doc, row, "request");
    const struct json_node *store = json_get(doc, request, "store");
    const struct json_node *complete = json_get(doc, row, "complete");

    return str_eq(json_get_text(doc, row, "key_name", a), j->key) &&
           json_get_is(doc, row, "dialect", "responses") &&
           json_get_count(doc, row, "status") == 200 && complete && complete->kind == JSON_TRUE &&
           request && request->kind == JSON_OBJECT && !(store && store->kind == JSON_FALSE) &&
           !json_get(doc, request, "left_out") && !json_get(doc, request, "conversation") &&
           !json_get(doc, request, "prompt");
}

/* One response as {id, previous, session, items}; *previous is in the job's arena. */
static bool previous_read_one(struct history_job *j, str id, struct json_out *o, str *previous,
                              struct err *e)
{
    struct arena scratch;
    struct json doc;
    struct buf row;
    bool ok;

    assert(previous_call_of(id).n == ID_SIZE);
    json_init(&doc);
    buf_init(&row, QUERY_OUT_MAX);
    arena_init(&scratch, QUERY_OUT_MAX);
    ok = query_call(j->reader, &j->asker, previous_call_of(id), &row, e) &&
         json_parse(&doc, buf_str(&row), e) &&
         (previous_is_usable(j, &doc, &scratch) ||
          err_set(e, ERR_NOT_FOUND, "a request cannot continue from this response"));
    if (ok) {
        *previous = arena_dup(&j->arena,
                              json_get_text(&doc,
                                            json_get(&doc, json_root(&doc), "request"),
                                            "previous_response_id",
                                            &scratch));
        json_out_object(o);
        json_member_str(o, "id", id);
        json_member_str(o, "previous", *previous);
        json_member_str(o, "session", json_get_text(&doc, json_root(&doc), "session_id", &scratch));
        previous_response_write_items(o, &doc, &scratch);
        json_out_end(o);
    }
    arena_release(&scratch);
    buf_release(&row);
    json_release(&doc);
    return ok;
}

/* Another daemon may still have the call in its journal, so the query waits for it. The first 12
 * digits of an id are its time in ms. */
static bool previous_may_arrive(const struct history_job *j, str id)
{
    const struct daemon *d = j->worker->daemon;
    struct daemons *all = store_daemons(d->gateway.store);
    int64_t made_ms = 0, now_ms = clock_wall_ms(d->gateway.clock);

    assert(id.n == ID_SIZE);
    for (size_t i = 0, n = 0; n < 12; i++)
        if (id.p[i] != '-') {
            made_ms = made_ms * 16 + char_hex_value(id.p[i]);
            n++;
        }
    return all && (daemons_others(all) || now_ms - d->started_ms < ACQUAINTED_MS) &&
           now_ms - made_ms < ARRIVES_WITHIN_MS;
}

static bool previous_read_chain(struct history_job *j, struct err *e)
{
    struct json_out o;
    str id = j->id;

    assert(j->id.n > 0);
    buf_reset(&j->out);
    json_out_init(&o, &j->out);
    json_out_array(&o);
    for (size_t n = 0; id.n; n++) {
        if (n == CHAIN_MAX || j->out.n > READ_SIZE_MAX || !previous_call_of(id).n)
            return err_set(e, ERR_NOT_FOUND, "the response before it is not recorded");
        if (!previous_read_one(j, id, &o, &id, e))
            return false;
    }
    json_out_end(&o);
    return json_out_ok(&o, e);
}

static bool previous_read_all(struct history_job *j, struct err *e)
{
    bool ok;

    while (!(ok = previous_read_chain(j, e)) && e->code == ERR_NOT_FOUND &&
           previous_may_arrive(j, previous_call_of(j->id)))
        (void)usleep(ARRIVES_LOOK_US);
    return ok;
}

/* ---- on the loop ---- */

static void previous_put_all(struct exchange *ex, str list)
{
    struct arena *a = server_arena(ex->x);
    struct json doc;
    struct err e;

    if (json_open(&doc, list, &e))
        JSON_FOREACH(v, &doc, json_root(&doc))
            previous_response_put(
                ex->worker->daemon->gateway.previous_responses,
                &(struct previous_response){
                    .who = ex->key ? ex->key->name : STR(""),
                    .id = json_get_text(&doc, v, "id", a),
                    .previous = json_get_text(&doc, v, "previous", a),
                    .session = json_get_text(&doc, v, "session", a),
                    .items = exchange_items_of(&doc, json_get(&doc, v, "items"), a)});
    json_release(&doc);
}

/* Continues to read the request in any case; if the response is still unknown, the request is
 * refused later. */
static void previous_read_answer(struct history_job *j)
{
    struct exchange *ex = j->ex;

    assert(ex && !j->posted);
    if (!j->ok && j->err.code != ERR_NOT_FOUND) {
        history_job_fail(j);
        return;
    }
    if (j->ok)
        previous_put_all(ex, buf_str(&j->out));
    ex->on_gone = NULL;
    ex->job = NULL;
    history_job_free(j);
    chat_read_on(ex);
}

bool exchange_read_previous(struct exchange *ex)
{
    struct history_job *j;

    if (ex->previous.read || !previous_call_of(ex->previous.id).n || !ex->worker->daemon->work)
        return false;
    ex->previous.read = true;
    j = history_job_new(ex, previous_read_all);
    j->answer = previous_read_answer;
    j->id = arena_dup(&j->arena, ex->previous.id);
    j->asker.key_name = j->key; /* an operator, too, continues only from its own calls */
    history_job_post(j);
    return true;
}
