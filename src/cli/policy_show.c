/* policy_show.c - what `rationale policy` prints. See policy.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/policy.h"

#include "base/json_get.h"
#include "cli/history.h"
#include "cli/table.h"

#define SHOWN 300 /* characters of a line */

bool policy_show_json(struct policy_cmd *p)
{
    if (!p->args->value[POLICY_JSON])
        return false;
    (void)policy_show_raw(p);
    return true;
}

int policy_show_raw(struct policy_cmd *p)
{
    assert(p->reply.p);
    cli_put_json(p->cli, p->reply);
    file_out_add(&p->cli->out, STR("\n"));
    return CLI_OK;
}

str policy_reply_text(struct policy_cmd *p, const char *pointer)
{
    const struct json_node *v = p->root ? json_pointer(&p->doc, str_c(pointer)) : NULL;
    str text;

    assert(pointer[0] == '/');
    return v && json_text(&p->doc, v, &p->arena, &text) ? arena_dup(&p->arena, text) : STR("");
}

static int64_t policy_reply_number(struct policy_cmd *p, const char *name)
{
    return json_get_i64(&p->doc, p->root, name, 0);
}

/* A member for a terminal: a text, or the JSON of anything else. */
static const char *policy_cell(struct policy_cmd *p, const struct json_node *v, const char *name)
{
    const struct json_node *m = json_find(&p->doc, v, str_c(name));
    str text = STR("");

    assert(name);
    if (m && m->kind != JSON_NULL && !json_text(&p->doc, m, &p->arena, &text))
        text = json_raw(&p->doc, m);
    return history_line(&p->arena, text, SHOWN).p;
}

/* Prints a list of the reply, each row by `show`; returns the number of rows. */
static size_t policy_each(struct policy_cmd *p, const char *name,
                          void (*show)(struct policy_cmd *, const struct json_node *))
{
    size_t n = 0;

    assert(name && show);
    JSON_FOREACH(v, &p->doc, json_find(&p->doc, p->root, str_c(name))) {
        show(p, v);
        n++;
    }
    return n;
}

/* ---- versions ---- */

int policy_show_versions(struct policy_cmd *p)
{
    static const struct table_column columns[] = {{"DOCUMENT", TABLE_TEXT, 0},
                                                  {"VERSION", TABLE_TEXT, 0},
                                                  {"FROM", TABLE_TEXT, 0},
                                                  {"TO", TABLE_TEXT, 0},
                                                  {"IN FORCE", TABLE_TEXT, 0}};
    static const char *const names[] = {"id", "version", "effective_from", "effective_to"};
    struct table t;

    if (policy_show_json(p))
        return CLI_OK;
    table_begin(&t, p->cli, columns, COUNT_OF(columns));
    JSON_FOREACH(v, &p->doc, json_find(&p->doc, p->root, STR("documents"))) {
        for (size_t i = 0; i < COUNT_OF(names); i++)
            table_add(&t, str_c(policy_cell(p, v, names[i])));
        table_add(&t, json_get_true(&p->doc, v, "in_force") ? STR("yes") : STR(""));
    }
    table_end(&t);
    return CLI_OK;
}

/* ---- re-verification ---- */

void policy_show_progress(struct policy_cmd *p)
{
    if (!p->root)
        return;
    if (!p->progress.shown)
        p->progress =
            progress_begin("reverify", "cases", (uint64_t)policy_reply_number(p, "total"));
    progress_set(&p->progress, (uint64_t)policy_reply_number(p, "done"));
    progress_note(
        &p->progress,
        arena_printf(&p->arena, "flipped: %lld", (long long)policy_reply_number(p, "flipped")));
}

static void policy_change_row(struct policy_cmd *p, const struct json_node *v)
{
    const struct json_node *was = json_find(&p->doc, v, STR("old"));
    const struct json_node *is = json_find(&p->doc, v, STR("new"));
    const char *error = policy_cell(p, v, "error");

    if (*error) {
        file_out_printf(&p->cli->out, "%s  failed: %s\n", policy_cell(p, v, "case_id"), error);
        return;
    }
    file_out_printf(&p->cli->out,
                    "%s%s  %s%s\n  %s (version %s) -> %s (version %s)%s\n  section: %s\n"
                    "  was: %s\n  now: %s\n",
                    cli_bold(p->cli),
                    policy_cell(p, v, "case_id"),
                    policy_cell(p, v, "criterion_id"),
                    cli_plain(p->cli),
                    policy_cell(p, was, "status"),
                    policy_cell(p, was, "version"),
                    policy_cell(p, is, "status"),
                    policy_cell(p, is, "version"),
                    strcmp(policy_cell(p, is, "masked"), "true") == 0
                        ? "; values of the case are masked in the store"
                        : "",
                    policy_cell(p, is, "section"),
                    policy_cell(p, was, "rationale"),
                    policy_cell(p, is, "rationale"));
}

int policy_show_reverify(struct policy_cmd *p)
{
    int64_t cases = policy_reply_number(p, "done"), criteria = policy_reply_number(p, "criteria");
    int64_t flipped = policy_reply_number(p, "flipped");
    int code = flipped ? CLI_NEGATIVE : CLI_OK;

    if (!p->root)
        return CLI_INTERNAL;
    if (str_eq(policy_reply_text(p, "/status"), STR("failed")))
        code = cli_complain(CLI_INTERNAL, "it failed: %s", policy_cell(p, p->root, "error"));
    if (policy_show_json(p))
        return code;
    (void)policy_each(p, "changes", policy_change_row);
    file_out_printf(&p->cli->out,
                    "%lld case%s, %lld criteri%s: %lld flipped, %lld failed\n",
                    (long long)cases,
                    cases == 1 ? "" : "s",
                    (long long)criteria,
                    criteria == 1 ? "on" : "a",
                    (long long)flipped,
                    (long long)policy_reply_number(p, "failed"));
    return code;
}

/* ---- proposals ---- */

static void policy_proposal_row(struct policy_cmd *p, const struct json_node *v)
{
    const char *value = policy_cell(p, v, "value");
    const char *section = policy_cell(p, v, "section");

    file_out_printf(&p->cli->out,
                    "%s  %-9s  %s%s%s\n    %s%sp. %s: \"%s\"\n",
                    policy_cell(p, v, "id"),
                    policy_cell(p, v, "state"),
                    policy_cell(p, v, "name"),
                    *value ? " = " : "",
                    value,
                    section,
                    *section ? ", " : "",
                    policy_cell(p, v, "page"),
                    policy_cell(p, v, "quote"));
}

int policy_show_proposals(struct policy_cmd *p)
{
    if (!policy_show_json(p) && !policy_each(p, "proposals", policy_proposal_row))
        file_out_add(&p->cli->out, STR("nothing is proposed\n"));
    return CLI_OK;
}

static void policy_failure_row(struct policy_cmd *p, const struct json_node *v)
{
    (void)cli_complain(
        CLI_OK, "part %s gave nothing: %s", policy_cell(p, v, "part"), policy_cell(p, v, "reason"));
}

int policy_show_extracted(struct policy_cmd *p)
{
    const struct json_node *dropped = json_find(&p->doc, p->root, STR("dropped"));
    size_t n;

    if (policy_show_json(p))
        return CLI_OK;
    n = policy_each(p, "proposals", policy_proposal_row);
    (void)policy_each(p, "failures", policy_failure_row);
    if (p->root)
        file_out_printf(
            &p->cli->out,
            "%zu proposed; dropped: %lld whose quote is not in the text, %lld invalid, "
            "%lld twice\nconfirm those that are right: rationale policy confirm ID...\n",
            n,
            (long long)json_get_i64(&p->doc, dropped, "quote_not_found", 0),
            (long long)json_get_i64(&p->doc, dropped, "invalid", 0),
            (long long)json_get_i64(&p->doc, dropped, "duplicate", 0));
    return CLI_OK;
}

/* ---- reviews ---- */

static void policy_queue_row(struct policy_cmd *p, const struct json_node *v)
{
    const struct json_node *review = json_find(&p->doc, v, STR("review"));

    file_out_printf(&p->cli->out,
                    "%s\n  %s  %s  %s (%s)  version %s\n  %s\n",
                    policy_cell(p, v, "result_id"),
                    policy_cell(p, v, "case_id"),
                    policy_cell(p, v, "criterion_id"),
                    policy_cell(p, v, "status"),
                    policy_cell(p, v, "reason_code"),
                    policy_cell(p, v, "policy_version"),
                    policy_cell(p, v, "rationale"));
    if (review && review->kind == JSON_OBJECT)
        file_out_printf(&p->cli->out,
                        "  %s by %s: %s\n",
                        policy_cell(p, review, "status"),
                        policy_cell(p, review, "decided_by"),
                        policy_cell(p, review, "reason"));
}

int policy_show_queue(struct policy_cmd *p)
{
    if (!policy_show_json(p) && !policy_each(p, "results", policy_queue_row))
        file_out_add(&p->cli->out, STR("nothing waits\n"));
    return CLI_OK;
}

/* ---- labels ---- */

static int policy_label_write(struct policy_cmd *p, size_t n, str text)
{
    char path[4096];
    struct err e;

    assert(p->args->value[POLICY_OUT] && n > 0);
    if (snprintf(path, sizeof path, "%s/review-%05zu.json", p->args->value[POLICY_OUT], n) >=
        (int)sizeof path)
        return cli_complain(CLI_USAGE, "--out: the path is too long");
    return file_write_atomic(path, text, 0666, &e) ? CLI_OK : cli_fail(&e);
}

int policy_show_labels(struct policy_cmd *p, size_t *n)
{
    bool files = p->args->value[POLICY_OUT] != NULL;
    int code = CLI_OK;

    JSON_FOREACH(v, &p->doc, json_find(&p->doc, p->root, STR("cases"))) {
        ++*n;
        if (!files) {
            cli_put_json(p->cli, json_raw(&p->doc, v));
            file_out_add(&p->cli->out, STR("\n"));
        } else if (code == CLI_OK) {
            code = policy_label_write(p, *n, json_raw(&p->doc, v));
        }
    }
    return code;
}
