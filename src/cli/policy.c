/* `rationale policy`: manages versions, verifies cases again, proposes criteria and facts by a
 * model, and lists results that wait for a person.
 *
 * Every verb is one request of the API: to the daemon if one runs, otherwise handled in this
 * process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/policy.h"

#include "apps/policy/format/format.h"
#include "cli/daemon.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define ARENA_MAX ((size_t)1 << 30)
#define OUT_MAX ((size_t)256 << 20)
#define FILE_MAX_BYTES ((size_t)8 << 20)
#define POLL_US 100000

static const struct cli_option options[] = {
    [POLICY_CONFIG] = {"config", 'c', "FILE", NULL, "the configuration (default: rationale.yaml)"},
    [POLICY_DOCUMENT] = {"document", 'd', "ID", NULL, "the policy's document"},
    [POLICY_VERSION] =
        {"policy-version", 0, "NAME", NULL, "reverify, criteria, facts, proposals: this version"},
    [POLICY_AS_OF] =
        {"as-of", 0, "DAY", NULL, "reverify, criteria: in force on that day (YYYY-MM-DD)"},
    [POLICY_CASE] = {"case", 0, "ID", NULL, "facts, proposals: the case that facts are of"},
    [POLICY_DOC_ID] =
        {"doc-id", 0, "ID", NULL, "facts: the case document's id (default: file name)"},
    [POLICY_SECTION] =
        {"section", 0, "NAME", NULL, "criteria, review: only this section of the policy"},
    [POLICY_CONTROLLER] = {"controller",
                           0,
                           "WHICH",
                           "heuristic react",
                           "reverify: who decides (default: who did before)"},
    [POLICY_STATE] = {"state",
                      0,
                      "STATE",
                      "open done proposed confirmed rejected",
                      "review, proposals: only those in this state"},
    [POLICY_STATUS] = {"status", 's', "STATUS", "met missing uncertain", "review: the verdict"},
    [POLICY_REASON] = {"reason", 'r', "TEXT", NULL, "confirm, reject, review: why"},
    [POLICY_MODEL] = {"model", 'm', "NAME", NULL, "criteria, facts: the model to ask"},
    [POLICY_OUT] = {"out", 'o', "DIR", NULL, "labels: a folder for the labelled cases"},
    [POLICY_JSON] = {"json", 0, NULL, NULL, "the reply as JSON"},
};

/* ---- a request ---- */

/* In this process: by the same routes that a daemon serves. */
static bool policy_ask_here(struct policy_cmd *p, const char *method, str path, str body,
                            struct err *e)
{
    str query = path, front = str_cut(&query, '?');
    struct app_reply r = {.status = 200, .type = "application/json"};
    struct app_match match = {0};
    struct app_request q = {.method = str_c(method),
                            .path = front,
                            .query = query,
                            .body = body,
                            .type = STR("application/json"),
                            .key = STR("cli"),
                            .subject = STR(""),
                            .operator_ = true,
                            .sees_reasoning = true,
                            .arena = &p->newest};

    assert(method && path.n && path.p[0] == '/');
    if (!p->app) {
        if (!app_local_open(p->config_file, &p->local, e) ||
            !app_policy.open(&p->local.host, &p->app, e))
            return false;
    }
    if (!apps_route(q.method, q.path, &match, NULL) || match.app != &app_policy || !match.route)
        return err_set(e, ERR_SYSTEM, "there is no such route");
    for (size_t i = 0; i < APP_PARTS_MAX; i++)
        q.parts[i] = match.parts[i];
    buf_init(&r.body, OUT_MAX);
    app_answer(p->app, &match, &q, &r);
    p->status = r.status;
    p->reply = arena_move_buf(&p->newest, &r.body);
    return true;
}

/* False with ERR_NOT_FOUND if no daemon has the store. */
static bool policy_ask_daemon(struct policy_cmd *p, const char *method, str path, str body,
                              struct err *e)
{
    struct daemon_link d;
    str reply;
    bool ok = daemon_open(&d, p->config, e) && daemon_ask(&d, method, path, body, e) &&
              daemon_body(&d, &reply, e);

    if (ok) {
        p->status = d.status;
        p->reply = arena_dup(&p->newest, reply);
    }
    daemon_close(&d);
    return ok;
}

int policy_request(struct policy_cmd *p, const char *method, str path, str body)
{
    struct err e = {0}, daemon = {0};

    assert(method && path.n && path.p[0] == '/');
    arena_reset(&p->newest);
    p->reply = STR("");
    p->root = NULL;
    if (p->app || !policy_ask_daemon(p, method, path, body, &daemon)) {
        if (!p->app && daemon.code != ERR_NOT_FOUND)
            return cli_complain(CLI_UNREACHABLE, "%s", daemon.text);
        if (!policy_ask_here(p, method, path, body, &e))
            return e.code == ERR_INPUT || e.code == ERR_NOT_FOUND ? cli_fail_config(&e)
                                                                  : daemon_complain(&daemon, &e);
    }
    p->root = json_parse(&p->doc, p->reply, &e) ? json_root(&p->doc) : NULL;
    if (p->status < 300)
        return CLI_OK;
    if (p->status == 401 || p->status == 403)
        return cli_complain(CLI_AUTH, "the daemon needs an operator's key: set RATIONALE_KEY");
    return cli_complain(str_eq(policy_reply_text(p, "/detail/error"), STR("not_configured"))
                            ? CLI_CONFIG
                        : p->status == 409 || p->status == 404 ? CLI_NEGATIVE
                        : p->status >= 500                     ? CLI_UNREACHABLE
                                                               : CLI_USAGE,
                        STR_FMT,
                        STR_ARG(daemon_reply_message(&p->arena, p->reply)));
}

/* ---- texts of requests ---- */

void policy_add_query(struct buf *path, const char *name, const char *value)
{
    assert(path->n > 0);
    if (!value || !*value)
        return;
    buf_printf(path, "%c%s=", memchr(path->p, '?', path->n) ? '&' : '?', name);
    buf_add_percent(path, str_c(value), "");
}

void policy_add_member(struct json_out *o, const char *name, const char *value)
{
    if (value)
        json_member_str(o, name, str_c(value));
}

/* ---- verbs that change something ---- */

static int policy_cmd_reverify(struct policy_cmd *p, const char *document)
{
    const char *const *v = p->args->value;
    struct json_out o;
    str path;
    int code;

    json_out_init_object(&o, &p->body);
    json_member_str(&o, "document_id", str_c(document));
    policy_add_member(&o, "version", v[POLICY_VERSION]);
    policy_add_member(&o, "as_of_date", v[POLICY_AS_OF]);
    policy_add_member(&o, "controller", v[POLICY_CONTROLLER]);
    json_out_end(&o);
    code = policy_request(p, "POST", STR("/api/v1/policy/reverify"), buf_str(&p->body));
    if (code != CLI_OK)
        return code;
    path = arena_join(
        &p->arena, STR("/api/v1/policy/reverify/"), policy_reply_text(p, "/id"), STR(""));
    while (code == CLI_OK && str_eq(policy_reply_text(p, "/status"), STR("running"))) {
        policy_show_progress(p);
        usleep(POLL_US);
        code = policy_request(p, "GET", path, STR(""));
    }
    progress_end(&p->progress);
    return code == CLI_OK ? policy_show_reverify(p) : code;
}

static int policy_cmd_extract(struct policy_cmd *p, const char *kind, const char *what)
{
    const char *const *v = p->args->value;
    const char *slash = strrchr(what, '/');
    bool facts = strcmp(kind, "facts") == 0;
    struct json_out o;
    struct err e;
    str text;
    int code;

    assert(facts || strcmp(kind, "criteria") == 0);
    json_out_init_object(&o, &p->body);
    json_member_str(&o, "kind", str_c(kind));
    if (facts) {
        if (!v[POLICY_CASE])
            return cli_complain(
                CLI_USAGE, "policy facts extract needs --case ID: the case that the facts are of");
        if (!file_read(&p->arena, what, FILE_MAX_BYTES, &text, &e))
            return cli_fail(&e);
        if (!policy_text_any(text, str_c(what), &p->arena, &text, &e))
            return cli_complain(CLI_USAGE, "%s: %s", what, e.text);
        policy_add_member(&o, "case_id", v[POLICY_CASE]);
        policy_add_member(&o,
                          "doc_id",
                          v[POLICY_DOC_ID] ? v[POLICY_DOC_ID]
                          : slash          ? slash + 1
                                           : what);
        json_member_str(&o, "text", text);
    } else {
        json_member_str(&o, "document_id", str_c(what));
        policy_add_member(&o, "version", v[POLICY_VERSION]);
        policy_add_member(&o, "as_of_date", v[POLICY_AS_OF]);
        policy_add_member(&o, "section", v[POLICY_SECTION]);
    }
    policy_add_member(&o, "model", v[POLICY_MODEL]);
    json_out_end(&o);
    code = policy_request(p, "POST", STR("/api/v1/policy/extract"), buf_str(&p->body));
    return code == CLI_OK ? policy_show_extracted(p) : code;
}

static int policy_cmd_decide(struct policy_cmd *p, const char *state)
{
    struct json_out o;
    int code;

    assert(p->args->word_count > 0);
    if (p->args->word_count < 2)
        return cli_complain(CLI_USAGE,
                            "policy %s needs the IDs of proposals: rationale policy %s ID...",
                            p->args->words[0],
                            p->args->words[0]);
    json_out_init_object(&o, &p->body);
    json_member_str(&o, "state", str_c(state));
    policy_add_member(&o, "reason", p->args->value[POLICY_REASON]);
    json_member_array(&o, "ids");
    for (int i = 1; i < p->args->word_count; i++)
        json_out_str(&o, str_c(p->args->words[i]));
    json_out_close(&o, 2);
    code = policy_request(p, "POST", STR("/api/v1/policy/proposals"), buf_str(&p->body));
    return code == CLI_OK ? policy_show_proposals(p) : code;
}

static int policy_cmd_review(struct policy_cmd *p)
{
    const char *const *v = p->args->value;
    struct json_out o;
    int code;

    if (p->args->word_count < 2) {
        buf_add(&p->body, STR("/api/v1/policy/review"));
        policy_add_query(&p->body, "state", v[POLICY_STATE]);
        policy_add_query(&p->body, "document_id", v[POLICY_DOCUMENT]);
        code = policy_request(p, "GET", buf_str(&p->body), STR(""));
        return code == CLI_OK ? policy_show_queue(p) : code;
    }
    if (!v[POLICY_STATUS] || !v[POLICY_REASON])
        return cli_complain(CLI_USAGE,
                            "a verdict needs a status and a reason: rationale policy review "
                            "RESULT_ID --status STATUS --reason TEXT");
    json_out_init_object(&o, &p->body);
    json_member_str(&o, "result_id", str_c(p->args->words[1]));
    policy_add_member(&o, "status", v[POLICY_STATUS]);
    policy_add_member(&o, "reason", v[POLICY_REASON]);
    policy_add_member(&o, "section", v[POLICY_SECTION]);
    json_out_end(&o);
    code = policy_request(p, "POST", STR("/api/v1/policy/review"), buf_str(&p->body));
    if (code == CLI_OK && !policy_show_json(p))
        file_out_printf(&p->cli->out,
                        "%s: %s to %s\n",
                        p->args->words[1],
                        policy_reply_text(p, "/status").p,
                        v[POLICY_STATUS]);
    return code;
}

/* ---- verbs that show something ---- */

static int policy_cmd_list(struct policy_cmd *p, const char *path, int (*show)(struct policy_cmd *))
{
    const char *const *v = p->args->value;
    int code;

    assert(path[0] == '/' && show);
    buf_add(&p->body, str_c(path));
    policy_add_query(&p->body, "state", v[POLICY_STATE]);
    policy_add_query(&p->body, "document_id", v[POLICY_DOCUMENT]);
    policy_add_query(&p->body, "version", v[POLICY_VERSION]);
    policy_add_query(&p->body, "case_id", v[POLICY_CASE]);
    code = policy_request(p, "GET", buf_str(&p->body), STR(""));
    return code == CLI_OK ? show(p) : code;
}

static int policy_cmd_labels(struct policy_cmd *p)
{
    const char *const *v = p->args->value;
    str cursor = STR("");
    size_t n = 0;
    int code;

    if (v[POLICY_OUT] && mkdir(v[POLICY_OUT], 0777) != 0 && errno != EEXIST)
        return cli_complain(CLI_USAGE, "%s: %s", v[POLICY_OUT], strerror(errno));
    do {
        buf_reset(&p->body);
        buf_add(&p->body, STR("/api/v1/policy/labels"));
        policy_add_query(&p->body, "document_id", v[POLICY_DOCUMENT]);
        policy_add_query(&p->body, "cursor", cursor.p);
        code = policy_request(p, "GET", buf_str(&p->body), STR(""));
        if (code == CLI_OK)
            code = policy_show_labels(p, &n);
        cursor = policy_reply_text(p, "/next_cursor");
    } while (code == CLI_OK && cursor.n);
    if (v[POLICY_OUT] && code == CLI_OK)
        file_out_printf(
            &p->cli->out, "%zu labelled case%s in %s\n", n, n == 1 ? "" : "s", v[POLICY_OUT]);
    return code;
}

static const char *policy_verb(size_t index)
{
    static const char *const verbs[] = {"versions",
                                        "reverify",
                                        "criteria",
                                        "facts",
                                        "proposals",
                                        "confirm",
                                        "reject",
                                        "review",
                                        "labels"};

    return index < COUNT_OF(verbs) ? verbs[index] : NULL;
}

/* The number of words a line may have, including its verb. */
static int policy_words_max(const char *verb, const char *second)
{
    if (strcmp(verb, "confirm") == 0 || strcmp(verb, "reject") == 0)
        return CLI_WORDS_MAX;
    if (strcmp(verb, "criteria") == 0 || strcmp(verb, "facts") == 0)
        return strcmp(second, "case") == 0 ? 2 : 3;
    return strcmp(verb, "review") == 0 || strcmp(verb, "reverify") == 0 ? 2 : 1;
}

static int policy_cmd_act(struct policy_cmd *p)
{
    const struct cli_args *args = p->args;
    const char *word = args->word_count ? args->words[0] : "versions";
    const char *second = args->word_count > 1 ? args->words[1] : "";

    if (args->word_count > policy_words_max(word, second))
        return cli_too_many(args->command, args->words[policy_words_max(word, second)]);
    if (strcmp(word, "versions") == 0)
        return policy_cmd_list(p, "/api/v1/policy/documents", policy_show_versions);
    if (strcmp(word, "review") == 0)
        return policy_cmd_review(p);
    if (strcmp(word, "labels") == 0)
        return policy_cmd_labels(p);
    if (strcmp(word, "proposals") == 0)
        return policy_cmd_list(p, "/api/v1/policy/proposals", policy_show_proposals);
    if (strcmp(word, "confirm") == 0 || strcmp(word, "reject") == 0)
        return policy_cmd_decide(p, word[0] == 'c' ? "confirmed" : "rejected");
    if (strcmp(word, "reverify") == 0)
        return args->word_count == 2
                   ? policy_cmd_reverify(p, second)
                   : cli_complain(CLI_USAGE,
                                  "policy reverify needs a document: rationale policy reverify "
                                  "DOCUMENT");
    if ((strcmp(word, "criteria") == 0 || strcmp(word, "facts") == 0) &&
        strcmp(second, "extract") == 0)
        return args->word_count == 3 ? policy_cmd_extract(p, word, args->words[2])
                                     : cli_complain(CLI_USAGE,
                                                    "policy %s extract needs %s: rationale policy "
                                                    "%s extract %s",
                                                    word,
                                                    word[0] == 'c' ? "a document" : "a file",
                                                    word,
                                                    word[0] == 'c' ? "DOCUMENT" : "FILE --case ID");
    if (strcmp(word, "facts") == 0 && strcmp(second, "case") == 0)
        return args->value[POLICY_CASE] && args->value[POLICY_DOCUMENT]
                   ? policy_cmd_list(p, "/api/v1/policy/proposals/case", policy_show_raw)
                   : cli_complain(CLI_USAGE,
                                  "policy facts case needs a case and a document: rationale policy "
                                  "facts case --case ID --document ID");
    return cli_complain(CLI_USAGE,
                        "policy %s needs a second word: rationale policy %s",
                        word,
                        word[0] == 'c' ? "criteria extract DOCUMENT"
                                       : "facts extract FILE --case ID, or facts case --case ID "
                                         "--document ID");
}

static int policy_cmd_run(struct cli *cli, const struct cli_args *args)
{
    struct policy_cmd p = {.cli = cli, .args = args};
    struct err e;
    int code;

    progress_enable();
    p.config_file = args->value[POLICY_CONFIG] ? args->value[POLICY_CONFIG] : CLI_CONFIG_FILE;
    if (!config_load(p.config_file, &p.config, &e))
        return cli_fail_config(&e);
    arena_init(&p.arena, ARENA_MAX);
    arena_init(&p.newest, ARENA_MAX);
    json_init(&p.doc);
    buf_init(&p.body, OUT_MAX);
    code = policy_cmd_act(&p);
    if (p.app)
        app_policy.close(p.app);
    if (p.local.local)
        app_local_close(&p.local);
    buf_release(&p.body);
    json_release(&p.doc);
    arena_release(&p.arena);
    arena_release(&p.newest);
    config_release(p.config);
    return code;
}

const struct cli_command cli_policy = {
    .name = "policy",
    .summary = "versions, re-verification, proposals and reviews of policies",
    .words = "[VERB ...]",
    .values = policy_verb,
    .about =
        "versions lists the documents with their versions and effective dates. reverify DOCUMENT "
        "verifies the document's cases again and shows which verdicts flipped: by --policy-version "
        "or --as-of, else by the version that each case names, or the one in force today.\n\n"
        "criteria extract DOCUMENT lets a model propose the criteria of a policy with the "
        "sentences that set them; facts extract FILE --case ID proposes the facts that a document "
        "of a case states. proposals lists them, confirm ID... and reject ID... decide. Nothing "
        "that is not confirmed is used. facts case --case ID --document ID prints a case of the "
        "confirmed facts.\n\n"
        "review lists the results that wait for a person; review RESULT_ID --status STATUS "
        "--reason TEXT decides one. labels prints what was decided as labelled cases, or writes "
        "them to --out DIR, for rationale optimize --app policy.\n\n"
        "Exit code 1: verdicts flipped, or there is no such thing.",
    .examples = "  rationale policy versions\n"
                "  rationale policy reverify lumbar --policy-version 2026.2\n"
                "  rationale policy criteria extract lumbar\n"
                "  rationale policy review policy-0192/0 --status met --reason 'age is on page 2'\n"
                "  rationale policy labels --out cases/\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = CLI_WORDS_MAX,
    .run = policy_cmd_run,
};
