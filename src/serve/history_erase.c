/* history_erase.c - erases records and returns a receipt; shows the audit log, which keeps each
 * erasure.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"
#include "gateway/share.h"
#include "serve/history_job.h"
#include "serve/methods.h"

/* ---- erasing ---- */

static bool history_ask_erase(struct history_job *j, struct err *e)
{
    struct gateway *g = &j->worker->daemon->gateway;
    struct store *s = g->store;
    struct store_receipt got;

    assert(j->id.n > 0);
    gateway_share_forget(g, j->what == STORE_ERASE_SESSION ? j->id : STR(""));
    if (!store_erase(s, (enum store_erase_what)j->what, j->id, j->words, &got, e))
        return false;
    if (j->what == STORE_ERASE_SESSION && got.sessions + got.interactions + got.runs == 0)
        return err_set(e,
                       ERR_NOT_FOUND,
                       "there is no session \"" STR_FMT "\"",
                       STR_ARG(str_slice(j->id, 0, 120)));
    receipt_write(&got, &j->out);
    return true;
}

static void serve_history_erase_erase(struct exchange *ex, enum store_erase_what what, str name)
{
    struct history_job *j = history_job_new(ex, history_ask_erase);

    if (!j)
        return;
    j->what = (int)what;
    j->id = arena_dup(&j->arena, name);
    j->words = arena_dup(&j->arena, ex->key ? ex->key->name : STR("local"));
    history_job_post(j);
}

void session_delete_handle(struct exchange *ex)
{
    str id;

    if (!api_operators_only(ex) || !params_are(ex, ""))
        return;
    if (str_find(ex->rest, STR("/")) != STR_NONE) {
        exchange_fail_method(ex);
        return;
    }
    if (!params_decode(server_arena(ex->x), ex->rest, false, &id)) {
        exchange_fail(ex, 404, "unknown_url", "no session can have such an id");
        return;
    }
    serve_history_erase_erase(ex, STORE_ERASE_SESSION, id);
}

void erase_handle(struct exchange *ex)
{
    struct arena *a = server_arena(ex->x);
    const struct json_node *root;
    str session = STR(""), subject = STR("");
    bool has_session, has_subject;
    struct err e;

    if (!api_operators_only(ex) || !params_are(ex, "") || !exchange_json(ex))
        return;
    root = json_root(&ex->doc);
    if (root->kind == JSON_OBJECT &&
        !config_check_members(&ex->doc, root, "session_id subject", &e)) {
        exchange_fail(ex, 422, "invalid_parameter", "%s", e.text);
        return;
    }
    has_session = json_text(&ex->doc, json_find(&ex->doc, root, STR("session_id")), a, &session);
    has_subject = json_text(&ex->doc, json_find(&ex->doc, root, STR("subject")), a, &subject);
    if (has_session == has_subject || session.n + subject.n == 0)
        api_invalid(ex,
                    422,
                    has_subject ? "subject" : "session_id",
                    STR(""),
                    "string",
                    "must be given, or else subject: one of the two, and not empty");
    else if (session.n + subject.n > PARAMS_TEXT_MAX)
        api_invalid(ex,
                    422,
                    has_subject ? "subject" : "session_id",
                    str_slice(has_subject ? subject : session, 0, 100),
                    "string",
                    arena_printf(a, "must be at most %d bytes", PARAMS_TEXT_MAX).p);
    else
        serve_history_erase_erase(ex,
                                  has_session ? STORE_ERASE_SESSION : STORE_ERASE_SUBJECT,
                                  has_session ? session : subject);
}

/* ---- the audit log ---- */

static bool history_ask_audit(struct history_job *j, struct err *e)
{
    assert(j->page.limit > 0);
    return query_audit(j->reader, j->page.limit, &j->out, e);
}

void audit_handle(struct exchange *ex)
{
    struct history_job *j;
    struct params p;

    if (!api_operators_only(ex))
        return;
    j = history_job_begin(ex, &p, history_ask_audit);
    if (!j)
        return;
    j->page.limit = params_i64(&p, "limit", 50, 1, QUERY_LIMIT_MAX);
    history_job_go(j, &p);
}

static bool history_ask_verify(struct history_job *j, struct err *e)
{
    return query_audit_verify(
        j->reader, store_head_path(j->worker->daemon->gateway.store), &j->out, e);
}

void audit_verify_handle(struct exchange *ex)
{
    struct history_job *j;

    if (!api_operators_only(ex) || !params_are(ex, "") || !exchange_members(ex, ""))
        return;
    j = history_job_new(ex, history_ask_verify);
    if (j)
        history_job_post(j);
}
