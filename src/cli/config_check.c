/* `rationale config check`: the configuration, and the files that it names.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/config_check.h"
#include "cli/config_start.h"

#include "apps/incidents/incident.h"
#include "apps/orders/menu.h"
#include "apps/policy/docs.h"
#include "apps/policy/version.h"
#include "apps/tune/folder.h"
#include "gateway/config_build.h"

#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#define PROBLEMS_MAX 200
#define NOTES_MAX 8
#define ARENA_MAX ((size_t)256 << 20)

struct problem {
    unsigned line;
    str setting, what;
    const char *fix; /* "" if the text names it */
    str file;        /* the file of an agent, if the problem is there; or "" */
};

struct check {
    struct arena arena;
    const struct config *config; /* NULL while it is read */
    struct problem at[PROBLEMS_MAX];
    size_t n;
    bool more;                /* more problems than there is room for */
    unsigned documents_line;  /* of the newest policy.documents */
    bool documents_are_wrong; /* a single document has a problem */
    str notes[NOTES_MAX];     /* warnings in addition to those of the configuration */
    size_t note_count;
};

/* Sorts the problems by line. */
static void check_add(struct check *k, const struct problem *p)
{
    size_t at = k->n;

    assert(k->n <= PROBLEMS_MAX && p->fix);
    if (k->n == PROBLEMS_MAX) {
        k->more = true;
        return;
    }
    for (; at > 0 && k->at[at - 1].line > p->line; at--)
        k->at[at] = k->at[at - 1];
    k->at[at] = (struct problem){.line = p->line,
                                 .setting = arena_dup(&k->arena, p->setting),
                                 .what = arena_dup(&k->arena, p->what),
                                 .fix = p->fix,
                                 .file = arena_dup(&k->arena, p->file)};
    k->n++;
}

static void check_on_problem(void *ctx, const struct config_problem *p)
{
    check_add(ctx, &(struct problem){p->line, p->setting, p->what, "", p->file});
}

/* ---- one file each ---- */

/* Whether a file or folder exists, can be read, and is of the right kind. */
static bool check_opens(const char *path, bool folder, struct err *e)
{
    struct stat st;

    assert(path);
    if (stat(path, &st) != 0 || access(path, R_OK) != 0)
        return err_sys(e, "%s", path);
    if (S_ISDIR(st.st_mode) != folder)
        return err_input(e, "%s: this is %s", path, folder ? "no folder" : "a folder");
    return true;
}

/* A file that will be written: checks the file, or the nearest existing folder above it. */
static bool check_writable(const char *path, struct err *e)
{
    char at[FILE_PATH_MAX];
    char *slash;

    (void)snprintf(at, sizeof at, "%s", path);
    while (access(at, W_OK) != 0) {
        slash = strrchr(at, '/');
        if (errno != ENOENT || !slash)
            return err_sys(e, "%s: %s cannot be written", path, at);
        slash[slash == at] = '\0';
    }
    return true;
}

static bool check_file(const struct config *c, const char *path, struct arena *a, struct err *e)
{
    (void)c;
    (void)a;
    return check_opens(path, false, e);
}

static bool check_folder(const struct config *c, const char *path, struct arena *a, struct err *e)
{
    (void)c;
    (void)a;
    return check_opens(path, true, e);
}

static bool check_written(const struct config *c, const char *path, struct arena *a, struct err *e)
{
    (void)c;
    (void)a;
    return check_writable(path, e);
}

/* The daemon creates the file of recordings, but not its folder. */
static bool check_record(const struct config *c, const char *path, struct arena *a, struct err *e)
{
    const char *slash = strrchr(path, '/');
    char folder[FILE_PATH_MAX];

    (void)c;
    (void)a;
    (void)snprintf(
        folder, sizeof folder, "%.*s", slash ? (int)(slash - path) + 1 : 1, slash ? path : ".");
    return check_opens(folder, true, e) && check_writable(path, e);
}

/* The certificate and its key, and whether they match. */
static bool check_pair(const struct config *c, const char *path, struct arena *a, struct err *e)
{
    struct tls *t;

    if (!check_file(c, path, a, e) || !check_opens(c->tls_key.p, false, e))
        return false;
    t = tls_server_new(path, c->tls_key.p, e);
    if (t)
        tls_free(t);
    return t != NULL;
}

static bool check_authorities(const struct config *c, const char *path, struct arena *a,
                              struct err *e)
{
    struct tls *t = check_file(c, path, a, e) ? tls_client_new(path, e) : NULL;

    if (t)
        tls_free(t);
    return t != NULL;
}

static bool check_cassette(const struct config *c, const char *path, struct arena *a, struct err *e)
{
    struct cassette *one;

    if (!check_file(c, path, a, e) || !cassette_load(path, &one, e))
        return false;
    cassette_free(one);
    return true;
}

static bool check_agents(const struct config *c, const char *path, struct arena *a, struct err *e)
{
    struct incident_setup *s;

    if (!check_file(c, path, a, e) || !incident_setup_load(path, c->incidents.runbooks.p, &s, e))
        return false;
    incident_setup_free(s);
    return true;
}

static bool check_menu(const struct config *c, const char *path, struct arena *a, struct err *e)
{
    struct menu *m;

    if (!check_file(c, path, a, e) || !menu_load(path, &m, e))
        return false;
    menu_free(m);
    return true;
}

static bool check_document(const struct config *c, const char *path, struct arena *a, struct err *e)
{
    const struct policy_doc *one;
    struct policy_doc *d;
    bool ok;

    if (!check_file(c, path, a, e) || !policy_doc_load("document", path, &d, e))
        return false;
    one = d;
    ok = policy_versions_check(&one, 1, e) || err_prefix(e, "%s: ", path);
    policy_doc_free(d);
    return ok;
}

static bool check_cases(const struct config *c, const char *path, struct arena *a, struct err *e)
{
    struct tune_file *files;
    struct arena cases;
    struct json doc;
    size_t n;
    bool ok;

    arena_init(&cases, TUNE_ARENA_MAX);
    ok = check_folder(c, path, a, e) && tune_folder(path, &cases, &files, &n, e);
    json_init(&doc);
    if (ok && n == 0)
        ok = err_input(e, "%s: there are no .json or .jsonl files in it", path);
    for (size_t i = 0; ok && i < n; i++)
        if (!json_parse(&doc, files[i].text, e))
            ok = err_prefix(e, "%s/" STR_FMT ": ", path, STR_ARG(files[i].name));
    json_release(&doc);
    arena_release(&cases);
    return ok;
}

/* ---- all of them ---- */

static const struct checker {
    const char *name;
    bool (*look)(const struct config *c, const char *path, struct arena *a, struct err *e);
    const char *fix; /* if it cannot be opened; other errors say what to change */
} checkers[] = {
    {"tls.cert", check_pair, "give the certificate chain and its private key, both in PEM"},
    {"tls.key", NULL, ""},
    {"ca_file", check_authorities, "give a file of certificates in PEM"},
    {"store", check_written, "let this user write there, or name another place"},
    {"spool", check_written, "let this user write there, or name another place"},
    {"record",
     check_record,
     "make the folder and let this user write there, or name another place"},
    {"cassette", check_cassette, "write the path of a recording (see record)"},
    {"api_key_file", check_file, "write the key to this file, readable by this user only"},
    {"incidents.agents", check_agents, "write the path of the file with your agents"},
    {"incidents.runbooks", check_folder, "write the path of a folder of runbooks"},
    {"policy.documents",
     check_document,
     "write the path of a policy (Markdown, PDF, DOCX, HTML, JSON)"},
    {"policy.train", check_cases, "write the path of a folder of labelled cases"},
    {"policy.val", check_cases, "write the path of a folder of labelled cases"},
    {"orders.menu", check_menu, "write the path of a menu (JSON)"},
    {"agents_folder", check_folder, "write the path of a folder with a file for each agent"},
};

static void check_one(void *ctx, const struct config_file *f)
{
    static const struct checker any = {"", check_file, "write the path of a file that is there"};
    struct check *k = ctx;
    const struct checker *c = &any;
    char path[FILE_PATH_MAX];
    struct err e;

    assert(k->config && f->name);
    for (size_t i = 0; i < COUNT_OF(checkers); i++)
        if (strcmp(checkers[i].name, f->name) == 0)
            c = &checkers[i];
    if (!c->look)
        return;
    (void)snprintf(path, sizeof path, STR_FMT, STR_ARG(f->file));
    k->documents_line = c->look == check_document ? f->line : k->documents_line;
    if (c->look(k->config, path, &k->arena, &e))
        return;
    k->documents_are_wrong |= c->look == check_document;
    check_add(k,
              &(struct problem){
                  f->line, f->setting, str_c(e.text), e.code == ERR_INPUT ? "" : c->fix, STR("")});
}

/* Versions of one document must differ, which a single file does not show. */
static void check_document_versions(struct check *k, struct config *c)
{
    static const char setting[] = "policy.documents";
    const struct config_policy *p = &c->policy;
    struct policy_docs *docs;
    bool several = false;
    struct err e;

    assert(k->config == c);
    for (size_t i = 1; i < p->document_count; i++)
        several |= str_eq(p->documents[i].id, p->documents[i - 1].id);
    if (!several || k->documents_are_wrong)
        return;
    if (policy_docs_load(c, &docs, &e))
        policy_docs_release(docs);
    else
        check_add(k,
                  &(struct problem){k->documents_line,
                                    str_c(setting),
                                    str_slice(str_c(e.text), strlen(setting) + 1, strlen(e.text)),
                                    "",
                                    STR("")});
}

/* ---- whether serve would start ---- */

struct check_line {
    const char *setting;
    unsigned line;
};

static void check_find_line(void *ctx, const struct config_item *item)
{
    struct check_line *l = ctx;

    if (str_eq(item->path, str_c(l->setting)))
        l->line = item->line;
}

static unsigned check_line_of(const struct check *k, const char *setting)
{
    struct check_line l = {setting, 0};

    assert(k->config && setting);
    config_each(k->config, check_find_line, &l);
    return l.line;
}

static void check_on_refusal(void *ctx, const char *setting, const char *what, const char *fix)
{
    struct check *k = ctx;

    check_add(
        k, &(struct problem){check_line_of(k, setting), str_c(setting), str_c(what), fix, STR("")});
}

static void check_on_note(void *ctx, const char *setting, const char *what)
{
    struct check *k = ctx;
    unsigned line = check_line_of(k, setting);

    assert(k->note_count <= NOTES_MAX);
    if (k->note_count < NOTES_MAX)
        k->notes[k->note_count++] =
            line ? arena_printf(&k->arena,
                                STR_FMT ":%u: %s: %s",
                                STR_ARG(k->config->path),
                                line,
                                setting,
                                what)
                 : arena_printf(&k->arena, "%s%s%s", setting, setting[0] ? ": " : "", what);
}

/* ---- output ---- */

/* "FILE:LINE: setting: what; fix". */
static str problem_text(struct check *k, const char *path, const struct problem *p)
{
    struct buf b;

    assert(p->fix);
    buf_init(&b, 1 << 16);
    if (p->file.n)
        buf_add(&b, p->file);
    else if (p->line || str_find(p->what, str_c(path)) == STR_NONE)
        buf_printf(&b, "%s", path);
    if (p->line)
        buf_printf(&b, ":%u", p->line);
    if (p->setting.n)
        buf_printf(&b, ": " STR_FMT, STR_ARG(p->setting));
    buf_printf(
        &b, "%s" STR_FMT "%s%s", b.n ? ": " : "", STR_ARG(p->what), p->fix[0] ? ": " : "", p->fix);
    return arena_move_buf(&k->arena, &b);
}

/* Drops a warning if a problem was found in the same line: both say the same. */
static bool check_is_reported(struct check *k, const char *path, str warning)
{
    for (size_t i = 0; i < k->n; i++)
        if (str_starts(warning, arena_printf(&k->arena, "%s:%u: ", path, k->at[i].line)))
            return true;
    return false;
}

static void check_write_problem(struct json_out *o, const struct problem *p)
{
    assert(p->fix);
    json_out_object(o);
    json_member_i64_or_null(o, "line", p->line ? (int64_t)p->line : -1);
    json_member_str(o, "setting", p->setting);
    if (p->file.n)
        json_member_str(o, "file", p->file);
    json_member_str(o, "what", p->what);
    json_member_str(o, "fix", str_c(p->fix));
    json_out_end(o);
}

static void config_check_write_json(struct check *k, struct cli *cli, const char *path)
{
    struct json_text t;

    assert(k->n <= PROBLEMS_MAX && k->note_count <= NOTES_MAX);
    json_text_begin(&t, (size_t)16 << 20);
    json_member_bool(&t.o, "ok", k->n == 0);
    json_member_str(&t.o, "file", str_c(path));
    json_member_str_or_null(&t.o, "error", k->n ? problem_text(k, path, &k->at[0]) : STR(""));
    json_member_array(&t.o, "problems");
    for (size_t i = 0; i < k->n; i++)
        check_write_problem(&t.o, &k->at[i]);
    json_out_end(&t.o);
    json_member_array(&t.o, "warnings");
    for (size_t i = 0; k->config && i < k->config->warning_count; i++)
        if (!check_is_reported(k, path, k->config->warnings[i]))
            json_out_str(&t.o, k->config->warnings[i]);
    for (size_t i = 0; i < k->note_count; i++)
        json_out_str(&t.o, k->notes[i]);
    cli_put_json_text(cli, &t);
}

static void config_check_write_text(struct check *k, struct cli *cli, const char *path)
{
    assert(k->n <= PROBLEMS_MAX && k->note_count <= NOTES_MAX);
    for (size_t i = 0; i < k->n; i++) {
        str text = problem_text(k, path, &k->at[i]);

        cli_complain(CLI_CONFIG, STR_FMT "%s", STR_ARG(text), cli_config_advice(text));
    }
    if (k->more)
        cli_complain(CLI_CONFIG, "%s: there are more than %d problems", path, PROBLEMS_MAX);
    for (size_t i = 0; k->config && i < k->config->warning_count; i++)
        if (!check_is_reported(k, path, k->config->warnings[i]))
            cli_complain(CLI_OK, "warning: " STR_FMT, STR_ARG(k->config->warnings[i]));
    for (size_t i = 0; i < k->note_count; i++)
        cli_complain(CLI_OK, "warning: " STR_FMT, STR_ARG(k->notes[i]));
    if (k->n == 0)
        file_out_printf(&cli->out, "%s: ok\n", path);
}

int config_check(struct cli *cli, const char *path, bool json)
{
    struct check *k = base_alloc(sizeof *k);
    struct config_problem_sink sink = {check_on_problem, k};
    struct config *c = NULL;
    char whole[FILE_PATH_MAX];
    struct err e;
    int code;

    *k = (struct check){0};
    arena_init(&k->arena, ARENA_MAX);
    if (config_absolute(path, whole, &e))
        path = whole;
    if (config_load_each(path, &sink, &c, &e)) {
        k->config = c;
        config_files(c, check_one, k);
        check_document_versions(k, c);
        if (k->n == 0)
            config_start_check(
                path, c, &(struct config_start_sink){check_on_refusal, check_on_note, k});
    }
    if (json)
        config_check_write_json(k, cli, path);
    else
        config_check_write_text(k, cli, path);
    code = k->n ? CLI_CONFIG : CLI_OK;
    config_release(c);
    arena_release(&k->arena);
    free(k);
    return code;
}
