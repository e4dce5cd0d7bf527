/* eval_alert.c - reads the alert of a case, in our form or HolmesGPT's, its runbook and recordings.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/eval_case.h"
#include "apps/incidents/webhook.h"
#include "mcp/replay.h"

#include <dirent.h>

#define FILE_MAX ((size_t)10 << 20)
#define DATA_MAX ((size_t)32 << 20)
#define RUNBOOK_MAX ((size_t)1 << 20)
#define KEY_MAX 200

/* ---- files ---- */

/* False: the file does not exist, or a fault. The text and *doc are in the arena. */
static bool eval_alert_read_json(struct eval_loading *l, const char *name, struct json *doc)
{
    const char *path = eval_path(l->arena, l->out->folder, name);
    struct err e;
    str text;

    assert(!doc->n);
    if (!file_exists(path))
        return false;
    if (!file_read(l->arena, path, FILE_MAX, &text, &e))
        eval_fault(l->faults, l->arena, "%s", e.text);
    else if (!json_parse(doc, text, &e))
        eval_fault(l->faults, l->arena, "%s: %s", path, e.text);
    else if (json_root(doc)->kind != JSON_OBJECT)
        eval_fault(l->faults, l->arena, "%s: must be an object", path);
    else
        return true;
    return false;
}

static str eval_alert_text_at(struct eval_loading *l, const struct json *doc,
                              const struct json_node *v, const char *key)
{
    str text;

    if (!json_text(doc, json_find(doc, v, str_c(key)), l->arena, &text))
        return STR("");
    return str_trim(text);
}

/* ---- our own form ---- */

/* The runbook of a case may be a file in its folder, or be missing. */
static bool eval_has_all_else(const struct alert_faults *faults)
{
    return faults->n == 1 && str_eq(faults->at[0].field, STR("runbook"));
}

static bool eval_alert_take_alert(struct eval_loading *l, const struct json *doc, const char *path)
{
    struct alert_faults *faults = arena_zero(l->arena, 1, sizeof *faults);
    struct webhook hook;
    struct alert own;
    const struct alert *alert = &own;
    bool ok;

    if (webhook_source(doc)) {
        ok = webhook_read(doc, 0, l->arena, &hook, faults);
        alert = ok && hook.n ? &hook.alerts[0] : NULL;
    } else {
        ok =
            alert_read(doc, json_root(doc), 0, l->arena, &own, faults) || eval_has_all_else(faults);
    }
    if (!ok || !alert) {
        eval_fault(l->faults,
                   l->arena,
                   "%s: " STR_FMT " " STR_FMT,
                   path,
                   STR_ARG(faults->n ? faults->at[0].field : STR("alerts")),
                   STR_ARG(faults->n ? faults->at[0].message : STR("is empty")));
        return false;
    }
    assert(alert->data.n > 0);
    l->out->alert = (struct incident_alert){.id = l->out->name,
                                            .alert_type = alert->alert_type,
                                            .severity = alert->severity,
                                            .environment = alert->environment,
                                            .runbook = STR(""),
                                            .data = alert->data,
                                            .timestamp_us = alert->timestamp_us};
    if (!l->runbook.n)
        l->runbook = alert->runbook;
    return true;
}

static bool eval_read_own(struct eval_loading *l, bool *there)
{
    const char *path = eval_path(l->arena, l->out->folder, "alert.json");
    struct json doc;
    struct err e;
    bool ok = false;

    *there = l->alert.n || file_exists(path);
    json_init(&doc);
    if (l->alert.n)
        ok = json_parse(&doc, l->alert, &e) &&
             eval_alert_take_alert(l, &doc, eval_path(l->arena, l->out->folder, "test_case.yaml"));
    else if (*there)
        ok = eval_alert_read_json(l, "alert.json", &doc) && eval_alert_take_alert(l, &doc, path);
    json_release(&doc);
    assert(!ok || *there);
    return ok;
}

/* ---- a request to investigate ---- */

static void eval_copy_member(struct json_out *o, const struct json *doc, const struct json_node *v,
                             const char *key)
{
    const struct json_node *m = json_find(doc, v, str_c(key));

    if (!m || m->kind == JSON_NULL || json_is(doc, m, STR("")) ||
        (m->kind >= JSON_ARRAY && m->span == 1))
        return;
    json_member_raw(o, key, json_raw(doc, m));
}

static void eval_write_data(struct eval_loading *l, const struct json *request,
                            const struct json *issue)
{
    static const char *const keys[] = {"title", "description", "source", "subject", "context"};
    struct json_text t;

    assert(json_root(request) || l->question.n);
    json_text_begin(&t, DATA_MAX);
    for (size_t i = 0; i < COUNT_OF(keys); i++)
        eval_copy_member(&t.o, request, json_root(request), keys[i]);
    if (json_root(issue) && json_root(issue)->span > 1)
        json_member_raw(&t.o, "issue", issue->src);
    if (l->question.n)
        json_member_str(&t.o, "question", l->question);
    l->out->alert.data = json_text_end(&t, l->arena, STR("{}"));
}

static str eval_severity_of(struct eval_loading *l, const struct json *issue)
{
    const struct json_node *root = json_root(issue);
    const struct json_node *raw = json_find(issue, root, STR("raw"));
    str severity =
        eval_alert_text_at(l, issue, json_find(issue, raw ? raw : root, STR("labels")), "severity");

    return severity.n ? severity : STR("warning");
}

static str eval_alert_type_of(struct eval_loading *l, const struct json *request)
{
    const struct json_node *root = json_root(request);
    str type =
        eval_alert_text_at(l, request, json_find(request, root, STR("context")), "issue_type");

    if (!type.n)
        type = eval_alert_text_at(l, request, root, "title");
    while (type.n && type.p[type.n - 1] == '.')
        type.n--;
    return type.n ? arena_dup(l->arena, type) : STR("question");
}

static bool eval_read_request(struct eval_loading *l)
{
    struct json request, issue;
    bool ok;

    json_init(&request);
    json_init(&issue);
    ok = eval_alert_read_json(l, "investigate_request.json", &request);
    (void)!eval_alert_read_json(l, "issue_data.json", &issue);
    if (ok || l->question.n) {
        l->out->alert = (struct incident_alert){.id = l->out->name,
                                                .alert_type = eval_alert_type_of(l, &request),
                                                .severity = eval_severity_of(l, &issue),
                                                .environment = STR("production"),
                                                .runbook = STR("")};
        eval_write_data(l, &request, &issue);
        ok = true;
    } else {
        eval_fault(l->faults,
                   l->arena,
                   "%s: has no alert: alert.json, investigate_request.json or user_prompt",
                   l->out->folder);
    }
    json_release(&request);
    json_release(&issue);
    return ok;
}

/* ---- runbooks ---- */

/* Only letters and digits, in lower case: names of alerts and files are compared this way. */
static size_t eval_alert_key_of(str name, char out[KEY_MAX])
{
    size_t n = 0;

    for (size_t i = 0; i < name.n && n < KEY_MAX; i++) {
        char c = name.p[i];

        if (c >= 'A' && c <= 'Z')
            c = (char)(c | 0x20);
        if ((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9'))
            out[n++] = c;
    }
    assert(n <= name.n && n <= KEY_MAX);
    return n;
}

static bool eval_alert_same_key(str a, str b)
{
    char ka[KEY_MAX], kb[KEY_MAX];
    size_t na = eval_alert_key_of(a, ka), nb = eval_alert_key_of(b, kb);

    return na && na == nb && memcmp(ka, kb, na) == 0;
}

/* NAME.md, or GROUP-NAME.md. */
static bool eval_alert_is_of(str file, str name)
{
    size_t dash;

    if (!str_ends(file, STR(".md")))
        return false;
    file = str_slice(file, 0, file.n - 3);
    dash = str_find(file, STR("-"));
    return eval_alert_same_key(file, name) ||
           (dash != STR_NONE && eval_alert_same_key(str_slice(file, dash + 1, file.n), name));
}

static bool eval_read_named(struct eval_loading *l, str name, str *out)
{
    const char *path = NULL;
    struct dirent *d;
    struct err e;
    DIR *dir = l->source->runbooks && name.n ? opendir(l->source->runbooks) : NULL;

    while (dir && (d = readdir(dir)))
        if (eval_alert_is_of(str_c(d->d_name), name))
            path = eval_path(l->arena, l->source->runbooks, d->d_name);
    if (dir)
        closedir(dir);
    return path && file_read(l->arena, path, RUNBOOK_MAX, out, &e);
}

/* The last part of the address that is not empty. */
static str eval_last_of_url(str url)
{
    while (url.n && url.p[url.n - 1] == '/')
        url.n--;
    url = str_slice(url, str_find_last(url, '/') + 1, url.n);
    return str_ends(url, STR(".md")) ? str_slice(url, 0, url.n - 3) : url;
}

/* A file in the case's folder or in the folder of runbooks. */
static bool eval_read_file_named(struct eval_loading *l, str name, str *out)
{
    const char *folders[] = {l->out->folder, l->source->runbooks};
    const char *z = arena_dup(l->arena, name).p;
    struct err e;

    if (!name.n || name.p[0] == '/' || str_find(name, STR("..")) != STR_NONE ||
        str_find(name, STR("://")) != STR_NONE)
        return false;
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        if (folders[i] && file_exists(eval_path(l->arena, folders[i], z)))
            return file_read(l->arena, eval_path(l->arena, folders[i], z), RUNBOOK_MAX, out, &e);
    return false;
}

static void eval_add_instructions(struct eval_loading *l, struct buf *out)
{
    const struct json_node *list;
    struct json doc;
    str text;

    json_init(&doc);
    if (eval_alert_read_json(l, "resource_instructions.json", &doc)) {
        list = json_find(&doc, json_root(&doc), STR("instructions"));
        JSON_FOREACH(v, &doc, list)
            if (json_text(&doc, v, l->arena, &text))
                buf_printf(out, "- " STR_FMT "\n", STR_ARG(text));
        list = json_find(&doc, json_root(&doc), STR("documents"));
        JSON_FOREACH(v, &doc, list) {
            str url = eval_alert_text_at(l, &doc, v, "url");

            if (url.n)
                buf_printf(out, "- See " STR_FMT "\n", STR_ARG(url));
            if (eval_read_named(l, eval_last_of_url(url), &text))
                buf_printf(out, "\n" STR_FMT "\n", STR_ARG(text));
        }
    }
    json_release(&doc);
}

static void eval_alert_read_runbook(struct eval_loading *l)
{
    struct buf out;
    str text;

    assert(!l->out->runbook.n && l->out->alert.data.n > 0);
    buf_init(&out, 4 * RUNBOOK_MAX);
    if (eval_read_file_named(l, l->runbook, &text) ||
        eval_read_file_named(l, STR("runbook.md"), &text))
        buf_add(&out, text);
    else
        eval_add_instructions(l, &out);
    if (!out.n && (eval_read_named(l, eval_last_of_url(l->runbook), &text) ||
                   eval_read_named(l, l->out->alert.alert_type, &text)))
        buf_add(&out, text);
    l->out->runbook = arena_move_buf(l->arena, &out);
}

bool eval_read_alert(struct eval_loading *l)
{
    bool there;

    if (!eval_read_own(l, &there) && (there || !eval_read_request(l)))
        return false;
    eval_alert_read_runbook(l);
    return true;
}

/* The texts that a report could quote. */
static void eval_add_evidence(struct eval_loading *l, const struct replay *r)
{
    struct eval_case *c = l->out;
    struct buf all;

    buf_init(&all, SCORE_EVIDENCE_MAX);
    buf_printf(&all, STR_FMT "\n" STR_FMT "\n", STR_ARG(c->alert.data), STR_ARG(c->runbook));
    for (size_t i = 0; r && i < replay_count(r) && all.n + 1 < SCORE_EVIDENCE_MAX; i++) {
        buf_add(&all, str_slice(replay_output(r, i), 0, SCORE_EVIDENCE_MAX - all.n - 1));
        buf_add_c(&all, '\n');
    }
    c->evidence = arena_move_buf(l->arena, &all);
}

/* Reports unreadable recordings before the run. A case may have no recordings: it tests whether an
 * agent says that it has no tools. */
bool eval_count_recordings(struct eval_loading *l)
{
    struct replay *r;
    struct err e;

    assert(!l->out->served && !l->out->recordings);
    if (!replay_open(l->out->folder, &r, &e)) {
        if (e.code != ERR_NOT_FOUND)
            eval_fault(l->faults, l->arena, "%s", e.text);
        eval_add_evidence(l, NULL);
        return e.code == ERR_NOT_FOUND;
    }
    for (size_t i = 0; replay_fault(r, i); i++)
        eval_fault(l->faults, l->arena, "%s/%s", l->out->folder, replay_fault(r, i));
    l->out->recordings = replay_count(r);
    l->out->served = true;
    eval_add_evidence(l, r);
    replay_close(r);
    return true;
}
