/* bfcl_test.c - the functions of a public leaderboard of tool calls are converted through every
 * dialect and back. The toolbox accepts their listed answers, and refuses the same answers with an
 * error in them.
 *
 * A listed answer gives the accepted values of each parameter; "" among them means that the
 * parameter may be omitted. Members of nested objects are listed in the same way.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "agent/tool.h"
#include "base/file.h"
#include "base/json.h"
#include "base/map.h"
#include "tool_help.h"

#define FILE_MAX ((size_t)16 << 20)
#define PARAMETERS_MAX 64

/* Entries whose listed answers violate their own schemas: another spelling of an enum, a wrong
 * type, a variable's name instead of a list, a missing required parameter. */
static const char *const at_odds[] = {
    "multiple_76",           "parallel_88",           "parallel_152",
    "parallel_multiple_12",  "parallel_multiple_21",  "parallel_multiple_26",
    "parallel_multiple_87",  "parallel_multiple_94",  "parallel_multiple_119",
    "parallel_multiple_143", "parallel_multiple_173", "parallel_multiple_194",
    "simple_java_26",        "simple_java_35",        "simple_java_38",
    "simple_java_45",        "simple_java_58",        "simple_java_69",
    "simple_java_72",        "simple_java_82",        "simple_java_87",
    "simple_java_88",        "simple_javascript_5",   "simple_javascript_9",
    "simple_javascript_11",  "simple_javascript_15",  "simple_javascript_19",
    "simple_javascript_32",  "simple_javascript_37",  "simple_javascript_39",
    "simple_python_17",      "simple_python_149",     "simple_python_200",
    "simple_python_307",     "simple_python_358",
};

struct counts {
    size_t entries, functions, through, loose, renamed, answers, taken, odd;
    size_t missing, wrong_type, unknown, not_in_enum;
};

/* The arguments of a call as JSON texts; an empty text means that the argument is omitted. */
struct arguments {
    str names[PARAMETERS_MAX], values[PARAMETERS_MAX];
    size_t n;
};

static struct counts all;
static struct arena arena;

static void write_arguments(const struct arguments *x, struct buf *out)
{
    bool first = true;

    buf_reset(out);
    buf_add_c(out, '{');
    for (size_t i = 0; i < x->n; i++) {
        if (!x->values[i].n)
            continue;
        buf_add(out, first ? STR("") : STR(","));
        (void)json_quote(out, x->names[i]);
        buf_add_c(out, ':');
        buf_add(out, x->values[i]);
        first = false;
    }
    buf_add_c(out, '}');
}

/* ---- listed answers ---- */

static void write_listed(const struct json *doc, const struct json_node *v, struct json_out *o);

static void write_listed_object(const struct json *doc, const struct json_node *v,
                                struct json_out *o)
{
    json_out_object(o);
    for (const struct json_node *k = json_first(doc, v); k; k = json_next(doc, v, k)) {
        const struct json_node *x = json_value(k);
        str key;

        if (x->kind == JSON_ARRAY && json_first(doc, x))
            x = json_first(doc, x);
        if (json_is(doc, x, STR("")) || !json_text(doc, k, &arena, &key))
            continue;
        json_out_key(o, key);
        write_listed(doc, x, o);
    }
    json_out_end(o);
}

static void write_listed(const struct json *doc, const struct json_node *v, struct json_out *o)
{
    if (v->kind == JSON_OBJECT) {
        write_listed_object(doc, v, o);
    } else if (v->kind == JSON_ARRAY) {
        json_out_array(o);
        for (const struct json_node *x = json_first(doc, v); x; x = json_next(doc, v, x))
            write_listed(doc, x, o);
        json_out_end(o);
    } else {
        json_out_raw(o, json_raw(doc, v));
    }
}

/* The value as JSON; "" if the parameter may be omitted. */
static str listed_value(const struct json *doc, const struct json_node *v)
{
    struct json_out o;
    struct buf b;
    str text;

    if (!v || json_is(doc, v, STR("")))
        return STR("");
    buf_init(&b, FILE_MAX);
    json_out_init(&o, &b);
    write_listed(doc, v, &o);
    text = arena_dup(&arena, buf_str(&b));
    buf_release(&b);
    return text;
}

/* ---- one call ---- */

static bool taken(struct toolbox *b, const struct tool *t, const struct arguments *x,
                  struct buf *why)
{
    struct buf text;
    bool ok;

    buf_init(&text, FILE_MAX);
    buf_reset(why);
    write_arguments(x, &text);
    ok = toolbox_check(b, t, buf_str(&text), why);
    buf_release(&text);
    return ok;
}

static void must_refuse(struct toolbox *b, const struct tool *t, const struct arguments *x,
                        str name, size_t *count)
{
    struct buf why;

    buf_init(&why, FILE_MAX);
    CHECK_F(!taken(b, t, x, &why), STR_FMT ": " STR_FMT, STR_ARG(t->name), STR_ARG(name));
    CHECK_F(str_find(buf_str(&why), name) != STR_NONE,
            "nothing of " STR_FMT " in: " STR_FMT,
            STR_ARG(name),
            STR_ARG(buf_str(&why)));
    buf_release(&why);
    ++*count;
}

/* A value of a wrong type; "" if the schema allows every type. */
static str wrong_for(const struct json *doc, const struct json_node *schema)
{
    static const struct {
        const char *type, *wrong;
    } rows[] = {{"string", "17"},
                {"integer", "\"seventeen\""},
                {"number", "\"seventeen\""},
                {"boolean", "\"yes\""},
                {"array", "{\"0\":1}"},
                {"object", "[1]"}};
    const struct json_node *type = json_find(doc, schema, STR("type"));

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (json_is(doc, type, str_c(rows[i].type)))
            return str_c(rows[i].wrong);
    return STR("");
}

static bool is_required(const struct json *doc, str name)
{
    const struct json_node *list = json_find(doc, json_root(doc), STR("required"));

    for (const struct json_node *x = json_first(doc, list); x; x = json_next(doc, list, x))
        if (json_is(doc, x, name))
            return true;
    return false;
}

static void mutate_one(struct toolbox *b, const struct tool *t, const struct json *schema,
                       struct arguments *x, size_t i)
{
    const struct json_node *props = json_find(schema, json_root(schema), STR("properties"));
    const struct json_node *p = json_find(schema, props, x->names[i]);
    str kept = x->values[i], wrong = p ? wrong_for(schema, p) : STR("");

    if (is_required(schema, x->names[i])) {
        x->values[i] = STR("");
        must_refuse(b, t, x, x->names[i], &all.missing);
    }
    if (wrong.n) {
        x->values[i] = wrong;
        must_refuse(b, t, x, x->names[i], &all.wrong_type);
    }
    if (json_find(schema, p, STR("enum"))) {
        x->values[i] = STR("\"no such word\"");
        must_refuse(b, t, x, x->names[i], &all.not_in_enum);
    }
    x->values[i] = kept;
}

static void mutate(struct toolbox *b, const struct tool *t, struct arguments *x)
{
    struct json schema;
    struct err e;

    json_init(&schema);
    CHECK(json_parse(&schema, t->schema, &e));
    for (size_t i = 0; i < x->n; i++)
        mutate_one(b, t, &schema, x, i);
    x->names[x->n] = STR("nobody_named_this");
    x->values[x->n++] = STR("1");
    must_refuse(b, t, x, STR("/nobody_named_this"), &all.unknown);
    x->n--;
    json_release(&schema);
}

static void try_call(struct toolbox *b, const struct tool *t, struct arguments *x, bool *odd)
{
    struct buf why;
    size_t i;

    buf_init(&why, FILE_MAX);
    all.answers++;
    for (i = 0; i < x->n && x->values[i].n; i++)
        continue;
    if (taken(b, t, x, &why)) {
        all.taken++;
        mutate(b, t, x);
    } else {
        CHECK_F(why.n > 0, "refused without a word");
        *odd = true;
    }
    buf_release(&why);
}

/* Tries each listed value of each parameter once, with the first listed values of the others. */
static void try_answer(struct toolbox *b, const struct tool *t, const struct json *doc,
                       const struct json_node *listed, bool *odd)
{
    struct arguments x = {.n = 0};
    size_t i = 0;

    for (const struct json_node *k = json_first(doc, listed); k; k = json_next(doc, listed, k)) {
        CHECK(x.n < PARAMETERS_MAX - 1 && json_text(doc, k, &arena, &x.names[x.n]));
        x.values[x.n++] = listed_value(doc, json_first(doc, json_value(k)));
    }
    try_call(b, t, &x, odd);
    for (const struct json_node *k = json_first(doc, listed); k; k = json_next(doc, listed, k)) {
        const struct json_node *list = json_value(k), *v = json_first(doc, list);
        str first = x.values[i];

        while (v && (v = json_next(doc, list, v))) {
            x.values[i] = listed_value(doc, v);
            try_call(b, t, &x, odd);
        }
        x.values[i++] = first;
    }
}

/* ---- one entry ---- */

static bool nothing(void *ctx, const struct tool_call *c, struct buf *out, struct err *e)
{
    (void)ctx, (void)c, (void)out, (void)e;
    return true;
}

static void add_functions(struct toolbox *b, const struct json *doc, const struct json_node *list)
{
    for (const struct json_node *f = json_first(doc, list); f; f = json_next(doc, list, f)) {
        struct tool t = {.flags = TOOL_STRICT, .run = nothing};
        const struct tool *added;
        struct err e;

        CHECK(json_text(doc, json_find(doc, f, STR("name")), &arena, &t.name));
        CHECK(json_text(doc, json_find(doc, f, STR("description")), &arena, &t.description));
        t.schema = json_raw(doc, json_find(doc, f, STR("parameters")));
        all.functions++;
        if (toolbox_find(b, t.name))
            continue;
        if (!toolbox_add(b, &t, &e))
            fail_msg("%s", e.text);
        added = toolbox_find(b, t.name);
        all.loose += added->loose;
        all.renamed += !str_eq(added->called, added->name);
    }
}

static void write_calls(struct buf *out, struct toolbox *b, const struct json *doc,
                        const struct json_node *truth)
{
    struct buf text;
    int n = 0;

    buf_init(&text, FILE_MAX);
    for (const struct json_node *g = json_first(doc, truth); g; g = json_next(doc, truth, g)) {
        const struct json_node *k = json_first(doc, g);
        struct json_out o;
        str name;

        CHECK(k);
        CHECK(json_text(doc, k, &arena, &name));
        buf_reset(&text);
        json_out_init(&o, &text);
        write_listed(doc, json_value(k), &o);
        buf_printf(
            out, "%s{\"id\":\"call_%d\",\"type\":\"function\",\"function\":{", n ? "," : "", n);
        buf_printf(
            out, "\"name\":\"" STR_FMT "\",\"arguments\":", STR_ARG(toolbox_find(b, name)->called));
        (void)json_quote(out, buf_str(&text));
        buf_add(out, STR("}}"));
        n++;
    }
    buf_release(&text);
}

/* Converts the tools and, if an answer is listed, its calls with results. */
static void check_entry_dialects(struct toolbox *b, const struct json *doc,
                                 const struct json_node *truth)
{
    size_t n = json_count(doc, truth);
    struct buf body;

    buf_init(&body, FILE_MAX);
    buf_add(&body, STR("{\"model\":\"m\",\"tools\":"));
    toolbox_write(b, &body);
    buf_add(&body, STR(",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}"));
    if (n) {
        buf_add(&body, STR(",{\"role\":\"assistant\",\"content\":null,\"tool_calls\":["));
        write_calls(&body, b, doc, truth);
        buf_add(&body, STR("]}"));
        for (size_t i = 0; i < n; i++)
            buf_printf(
                &body, ",{\"role\":\"tool\",\"tool_call_id\":\"call_%zu\",\"content\":\"ok\"}", i);
    }
    buf_add(&body, STR("]}"));
    all.through += check_dialects(buf_str(&body));
    buf_release(&body);
}

/* Converts the functions as listed, with their non-standard type names. */
static void check_raw_dialects(const struct json *doc, const struct json_node *list)
{
    struct buf body;

    buf_init(&body, FILE_MAX);
    buf_add(&body,
            STR("{\"model\":\"m\",\"messages\":[{\"role\":\"user\",\"content\":\"hi\"}],"
                "\"tools\":["));
    for (const struct json_node *f = json_first(doc, list); f; f = json_next(doc, list, f)) {
        buf_add(&body, f == json_first(doc, list) ? STR("") : STR(","));
        buf_printf(
            &body, "{\"type\":\"function\",\"function\":" STR_FMT "}", STR_ARG(json_raw(doc, f)));
    }
    buf_add(&body, STR("]}"));
    all.through += check_dialects(buf_str(&body));
    buf_release(&body);
}

static bool is_at_odds(str id)
{
    for (size_t i = 0; i < COUNT_OF(at_odds); i++)
        if (str_eq(id, str_c(at_odds[i])))
            return true;
    return false;
}

static void try_entry(struct toolbox *b, str id, const struct json *doc,
                      const struct json_node *truth)
{
    bool odd = false;

    for (const struct json_node *g = json_first(doc, truth); g; g = json_next(doc, truth, g))
        for (const struct json_node *k = json_first(doc, g); k; k = json_next(doc, g, k)) {
            const struct tool *t;
            str name;

            CHECK(json_text(doc, k, &arena, &name));
            t = toolbox_find(b, name);
            CHECK_F(t, STR_FMT ": no " STR_FMT, STR_ARG(id), STR_ARG(name));
            try_answer(b, t, doc, json_value(k), &odd);
        }
    CHECK_F(odd == is_at_odds(id), STR_FMT " %d", STR_ARG(id), odd);
    all.odd += odd;
}

static void on_entry(str line, const struct map *answers)
{
    struct toolbox *b = toolbox_new(&clock_real);
    struct json doc, answer;
    const struct json_node *list, *truth = NULL;
    struct map_entry *found;
    struct err e;
    str id;

    json_init(&doc);
    json_init(&answer);
    CHECK(json_parse(&doc, line, &e));
    CHECK(json_text(&doc, json_find(&doc, json_root(&doc), STR("id")), &arena, &id));
    list = json_find(&doc, json_root(&doc), STR("function"));
    add_functions(b, &doc, list);
    found = map_find(answers, id);
    if (found) {
        CHECK(json_parse(&answer, *(str *)found->value.ptr, &e));
        truth = json_find(&answer, json_root(&answer), STR("ground_truth"));
        try_entry(b, id, &answer, truth);
    }
    check_raw_dialects(&doc, list);
    check_entry_dialects(b, &answer, truth);
    all.entries++;
    json_release(&doc);
    json_release(&answer);
    toolbox_free(b);
}

static bool next_line(str *rest, str *line)
{
    size_t end = str_find(*rest, STR("\n"));

    if (!rest->n)
        return false;
    *line = str_slice(*rest, 0, end == STR_NONE ? rest->n : end);
    *rest = str_slice(*rest, end == STR_NONE ? rest->n : end + 1, rest->n);
    return true;
}

static void read_answers(const char *path, struct arena *a, struct map *out)
{
    struct json doc;
    struct err e;
    str text, line, id, *kept;

    json_init(&doc);
    if (file_read(a, path, FILE_MAX, &text, &e))
        while (next_line(&text, &line)) {
            CHECK(json_parse(&doc, line, &e));
            CHECK(json_text(&doc, json_find(&doc, json_root(&doc), STR("id")), a, &id));
            kept = arena_alloc(a, sizeof *kept);
            *kept = line;
            CHECK(map_set(out, id, MAP_PTR(kept), &e));
        }
    json_release(&doc);
}

static void on_file(const char *root, const char *name)
{
    char path[4400];
    struct arena a;
    struct map answers;
    struct err e;
    str text, line;

    arena_init(&a, FILE_MAX);
    map_init(&answers, NULL, 10000);
    (void)snprintf(path, sizeof path, "%s/answers/BFCL_v4_%s.json", root, name);
    read_answers(path, &a, &answers);
    (void)snprintf(path, sizeof path, "%s/BFCL_v4_%s.json", root, name);
    if (!file_read(&a, path, FILE_MAX, &text, &e))
        fail_msg("%s", e.text);
    while (next_line(&text, &line)) {
        on_entry(line, &answers);
        arena_reset(&arena);
    }
    map_release(&answers);
    arena_release(&a);
}

TEST(listed_functions_go_through_every_dialect_and_listed_answers_are_told_from_wrong_ones)
{
    static const char *const files[] = {"irrelevance",
                                        "multiple",
                                        "parallel",
                                        "parallel_multiple",
                                        "simple_java",
                                        "simple_javascript",
                                        "simple_python"};
    const char *found = test_corpora("bfcl");
    char root[4096];

    if (!found)
        return;
    (void)snprintf(root, sizeof root, "%s", found);
    arena_init(&arena, (size_t)1 << 28);
    for (size_t i = 0; i < COUNT_OF(files); i++)
        on_file(root, files[i]);
    arena_release(&arena);
    print_message("bfcl: %zu entries, %zu functions (%zu in loose words, %zu names made over), "
                  "%zu passes through dialects\n",
                  all.entries,
                  all.functions,
                  all.loose,
                  all.renamed,
                  all.through);
    print_message("bfcl: %zu answers, %zu taken, %zu entries at odds with themselves; refused: %zu "
                  "missing, %zu of a wrong type, %zu unknown, %zu out of an enum\n",
                  all.answers,
                  all.taken,
                  all.odd,
                  all.missing,
                  all.wrong_type,
                  all.unknown,
                  all.not_in_enum);
    CHECK_INT(all.odd, COUNT_OF(at_odds));
    CHECK(all.taken > 3500 && all.missing > 6000 && all.wrong_type > 6000 && all.not_in_enum > 300);
}

TEST_MAIN(T(listed_functions_go_through_every_dialect_and_listed_answers_are_told_from_wrong_ones))
