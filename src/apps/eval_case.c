/* eval_case.c - reads cases from their folders.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/eval_case.h"
#include "apps/eval.h"
#include "base/file.h"
#include "gateway/yaml.h"

#include <dirent.h>
#include <sys/stat.h>

#define FILE_MAX ((size_t)10 << 20)
#define TEXT_MAX ((size_t)16 << 20)

static const char *const marks[] = {
    "test_case.yaml", "alert.json", "investigate_request.json", NULL};

const char *eval_path(struct arena *a, const char *folder, const char *name)
{
    return arena_printf(a, "%s/%s", folder, name).p;
}

static bool eval_is_case(struct arena *a, const char *folder)
{
    for (size_t i = 0; marks[i]; i++)
        if (file_exists(eval_path(a, folder, marks[i])))
            return true;
    return false;
}

void eval_fault(struct eval_faults *faults, struct arena *a, const char *fmt, ...)
{
    char text[600];
    va_list args;

    assert(faults->n <= EVAL_FAULTS_MAX);
    if (faults->n == EVAL_FAULTS_MAX)
        return;
    va_start(args, fmt);
    (void)vsnprintf(text, sizeof text, fmt, args);
    va_end(args);
    faults->at[faults->n++] = arena_dup(a, str_c(text));
}

/* ---- test_case.yaml ---- */

/* Cases of HolmesGPT contain shell scripts: their ${...} is not a variable of ours. */
static str eval_no_variables(struct arena *a, str text)
{
    struct buf out;
    size_t at;

    buf_init(&out, TEXT_MAX);
    while ((at = str_find(text, STR("${"))) != STR_NONE) {
        bool escaped = at > 0 && text.p[at - 1] == '$';

        buf_add(&out, str_slice(text, 0, at));
        buf_add(&out, escaped ? STR("${") : STR("$${"));
        text = str_slice(text, at + 2, text.n);
    }
    buf_add(&out, text);
    return arena_move_buf(a, &out);
}

static void eval_case_add_text(struct arena *a, const struct json *doc, const struct json_node *v,
                               struct score_texts *list)
{
    str text;

    assert(list->at && list->n <= EVAL_FACTS_MAX);
    if (list->n == EVAL_FACTS_MAX || !v)
        return;
    if (json_text(doc, v, a, &text)) {
        if (str_trim(text).n)
            list->at[list->n++] = arena_dup(a, str_trim(text));
    } else if (v->kind == JSON_NUMBER) {
        list->at[list->n++] = arena_dup(a, json_raw(doc, v));
    }
}

/* A text, or a list of them. */
static void eval_add_texts(struct arena *a, const struct json *doc, const struct json_node *v,
                           struct score_texts *list)
{
    if (!list->at)
        list->at = arena_zero(a, EVAL_FACTS_MAX, sizeof *list->at);
    if (!v || v->kind != JSON_ARRAY) {
        eval_case_add_text(a, doc, v, list);
        return;
    }
    JSON_FOREACH(x, doc, v)
        eval_case_add_text(a, doc, x, list);
}

/* A misspelt or empty cause would score every report 0. */
static bool eval_case_check_points(struct eval_loading *l, const char *path, const char *name,
                                   const struct score_texts *list, const struct json_node *v)
{
    if (v && !list->n)
        eval_fault(l->faults, l->arena, "%s: %s must be a text or a list of texts", path, name);
    for (size_t i = 0; i < list->n; i++)
        if (!score_point_is_usable(list->at[i])) {
            eval_fault(l->faults,
                       l->arena,
                       "%s: %s: \"" STR_FMT "\" has no word that can be found in a report",
                       path,
                       name,
                       STR_ARG(list->at[i]));
            return false;
        }
    return !v || list->n;
}

/* The weight of the case: a number, or {"expected_score": N}. */
static double eval_weight_of(const struct json *doc, const struct json_node *root)
{
    const struct json_node *v =
        json_find(doc, json_find(doc, root, STR("evaluation")), STR("correctness"));
    double weight;

    if (v && v->kind == JSON_OBJECT)
        v = json_find(doc, v, STR("expected_score"));
    return json_double(doc, v, &weight) && weight >= 0 && weight <= 1000 ? weight : 1;
}

/* The first of several ways to ask the same question. */
static void eval_case_read_question(struct eval_loading *l, const struct json *doc,
                                    const struct json_node *v)
{
    if (v && v->kind == JSON_ARRAY)
        v = json_first(doc, v);
    (void)!json_text(doc, v, l->arena, &l->question);
}

static void eval_case_read_expected(struct eval_loading *l, const struct json *doc)
{
    const struct json_node *root = json_root(doc);
    const struct json_node *sections = json_find(doc, root, STR("expected_sections"));
    struct score_texts tools = {.n = 0};
    struct eval_case *c = l->out;
    struct score_texts *facts = &c->expected.facts;

    assert(!facts->at && !c->tools); /* a case is read once */
    eval_add_texts(l->arena, doc, json_find(doc, root, STR("expected_output")), facts);
    if (sections && sections->kind == JSON_OBJECT)
        JSON_FOREACH(k, doc, sections)
            eval_add_texts(l->arena, doc, json_value(k), facts);
    eval_add_texts(l->arena, doc, json_find(doc, root, STR("expected_tools")), &tools);
    c->tools = tools.at;
    c->tool_count = tools.n;
    c->weight = eval_weight_of(doc, root);
    eval_case_read_question(l, doc, json_find(doc, root, STR("user_prompt")));
    (void)!json_text(doc, json_find(doc, root, STR("runbook")), l->arena, &l->runbook);
    l->question = arena_dup(l->arena, l->question);
    l->runbook = arena_dup(l->arena, l->runbook);
    if (json_find(doc, root, STR("alert")))
        l->alert = arena_dup(l->arena, json_raw(doc, json_find(doc, root, STR("alert"))));
}

/* False after a fault. */
static bool eval_case_read_cause(struct eval_loading *l, const struct json *doc, const char *path)
{
    struct score_expected *x = &l->out->expected;
    const struct {
        const char *name;
        struct score_texts *list;
    } all[] = {{"cause", &x->cause}, {"object", &x->object}, {"not_cause", &x->not_cause}};

    assert(x->facts.at); /* after eval_case_read_expected, which checks it */
    for (size_t i = 0; i < COUNT_OF(all); i++) {
        const struct json_node *v = json_find(doc, json_root(doc), str_c(all[i].name));

        eval_add_texts(l->arena, doc, v, all[i].list);
        if (!eval_case_check_points(l, path, all[i].name, all[i].list, v))
            return false;
    }
    if (x->facts.n || x->cause.n)
        return true;
    eval_fault(l->faults, l->arena, "%s:1: has no cause and no expected_output", path);
    return false;
}

static bool eval_read_test_case(struct eval_loading *l)
{
    const char *path = eval_path(l->arena, l->out->folder, "test_case.yaml");
    struct yaml y = {0};
    struct json doc;
    struct err e;
    bool ok = false;
    str text;

    if (!file_exists(path)) {
        eval_fault(l->faults, l->arena, "%s: is missing", path);
        return false;
    }
    json_init(&doc);
    if (!file_read(l->arena, path, YAML_SIZE_MAX, &text, &e))
        eval_fault(l->faults, l->arena, "%s", e.text);
    else if (!yaml_read(eval_no_variables(l->arena, text), l->arena, &y, &e))
        eval_fault(l->faults, l->arena, "%s:%u: %s", path, y.line, e.text);
    else if (!json_parse(&doc, y.json, &e) || json_root(&doc)->kind != JSON_OBJECT)
        eval_fault(l->faults, l->arena, "%s:1: must be a mapping", path);
    else {
        eval_case_read_expected(l, &doc);
        ok = eval_case_read_cause(l, &doc, path);
    }
    json_release(&doc);
    return ok;
}

/* ---- folders ---- */

static int eval_case_by_name(const void *a, const void *b)
{
    return str_cmp(((const struct eval_case *)a)->name, ((const struct eval_case *)b)->name);
}

static str eval_last_part(const char *folder)
{
    str path = str_c(folder);
    while (path.n > 1 && path.p[path.n - 1] == '/')
        path.n--;
    return str_slice(path, str_find_last(path, '/') + 1, path.n);
}

static bool eval_load_one(const struct eval_source *s, struct arena *a, const char *folder,
                          struct eval_case *out, struct eval_faults *faults)
{
    struct eval_loading l = {.source = s,
                             .arena = a,
                             .out = out,
                             .faults = faults,
                             .question = STR(""),
                             .runbook = STR(""),
                             .alert = STR("")};

    *out = (struct eval_case){.name = arena_dup(a, eval_last_part(folder)),
                              .folder = folder,
                              .runbook = STR(""),
                              .evidence = STR(""),
                              .weight = 1};
    return eval_read_test_case(&l) && eval_read_alert(&l) && eval_count_recordings(&l);
}

static bool eval_load_folder(const struct eval_source *s, struct arena *a, struct eval_case *list,
                             size_t *n, struct eval_faults *faults, struct err *e)
{
    DIR *dir = opendir(s->folder);
    struct dirent *d;

    if (!dir)
        return err_sys(e, "open the folder \"%s\"", s->folder);
    while ((d = readdir(dir)) && *n < EVAL_CASES_MAX) {
        const char *folder = eval_path(a, s->folder, d->d_name);

        if (d->d_name[0] == '.' || (s->only && strcmp(s->only, d->d_name) != 0) ||
            !eval_is_case(a, folder))
            continue;
        if (eval_load_one(s, a, folder, &list[*n], faults))
            ++*n;
    }
    closedir(dir);
    assert(*n <= EVAL_CASES_MAX);
    qsort(list, *n, sizeof *list, eval_case_by_name);
    return true;
}

bool eval_load(const struct eval_source *s, struct arena *a, struct eval_case **out, size_t *n,
               struct eval_faults *faults, struct err *e)
{
    *out = arena_zero(a, EVAL_CASES_MAX, sizeof **out);
    *n = 0;
    if (eval_is_case(a, s->folder))
        *n += eval_load_one(s, a, s->folder, &(*out)[0], faults);
    else if (!eval_load_folder(s, a, *out, n, faults, e))
        return false;
    if (*n)
        return true;
    if (faults->n)
        return err_input(e, STR_FMT, STR_ARG(faults->at[0]));
    if (s->only)
        return err_set(e, ERR_NOT_FOUND, "%s has no case \"%s\"", s->folder, s->only);
    return err_input(e, "%s has no cases: folders with a test_case.yaml and recordings", s->folder);
}
