/* Error messages: places, values and names.
 *
 * Places are computed only here, from the tapes: a value's path is found by descending from the
 * root to the child whose part of the tape contains it, so a successful check tracks no paths.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/schema/check.h"

#define TEXT_MAX 2048
#define NAME_SHOWN_MAX 48 /* bytes of a name or value in a sentence */
#define PLACE_SHOWN_MAX 100
#define NEAR_MAX 48 /* bytes of names that are compared */
#define KNOWN_SHOWN_MAX 8

/* The first bytes of a text, but whole characters. */
static str schema_report_cut(str s, size_t n)
{
    if (n >= s.n)
        return s;
    while (n > 0 && ((unsigned char)s.p[n] & 0xc0) == 0x80)
        n--;
    return (str){s.p, n};
}

/* ---- places ---- */

static void schema_add_token(struct buf *out, const struct json *doc, const struct json_node *key)
{
    struct schema_text name;

    schema_text_get(&name, doc, key);
    buf_add_c(out, '/');
    for (size_t i = 0; i < name.s.n; i++) {
        if (name.s.p[i] == '~')
            buf_add(out, STR("~0"));
        else if (name.s.p[i] == '/')
            buf_add(out, STR("~1"));
        else
            buf_add_c(out, name.s.p[i]);
    }
    schema_text_release(&name);
}

/* The JSON Pointer from one value down to another that is in it; a key's is that of its value.
 * Returns how many values were passed on the way. */
static uint64_t schema_report_add_path(struct buf *out, const struct json *doc,
                                       const struct json_node *from, const struct json_node *to)
{
    const struct json_node *v = from;
    uint64_t passed = 1;

    assert(from <= to && to < from + from->span);
    while (v != to) {
        const struct json_node *child = json_first(doc, v), *value;
        bool object = v->kind == JSON_OBJECT;
        size_t index = 0;

        for (;; child = json_next(doc, v, child), index++) {
            assert(child); /* one of them has it in its part of the tape */
            value = object ? json_value(child) : child;
            if (to < value + value->span)
                break;
        }
        v = value;
        passed += index + 1;
        if (object)
            schema_add_token(out, doc, child);
        else
            buf_printf(out, "/%zu", index);
        if (child == to)
            break;
    }
    return passed;
}

static void schema_path_init(struct buf *b, const struct json *doc)
{
    buf_init(b, doc->src.n * 4 + 4096);
}

static uint64_t schema_add_schema_place(struct buf *out, const struct schema_doc *doc,
                                        const struct json_node *at)
{
    if (doc->uri.n > 0) {
        buf_add(out, doc->uri);
        buf_add_c(out, '#');
    }
    return schema_report_add_path(out, &doc->json, json_root(&doc->json), at);
}

bool schema_wrong(struct err *e, const struct schema_doc *doc, const struct json_node *at,
                  const char *fmt, ...)
{
    char what[200];
    struct buf place;
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    schema_path_init(&place, &doc->json);
    schema_add_schema_place(&place, doc, at);
    err_input(e,
              "schema%s" STR_FMT ": %s",
              place.n ? " " : "",
              STR_ARG(schema_report_cut(buf_str(&place), PLACE_SHOWN_MAX)),
              what);
    if (strncmp(what, "must ", 5) == 0) {
        struct err plain = *e;

        err_input(e, "%s, got %s", plain.text, schema_show(&doc->json, at).p);
    }
    buf_release(&place);
    return false;
}

/* ---- words ---- */

/* Truncates after a whole character, and adds dots. */
static struct schema_word schema_report_word(str s)
{
    str shown = schema_report_cut(s, NAME_SHOWN_MAX);
    struct schema_word w;

    snprintf(w.p, sizeof w.p, STR_FMT "%s", STR_ARG(shown), shown.n < s.n ? "..." : "");
    return w;
}

struct schema_word schema_quote(str name)
{
    struct schema_word w;
    struct buf quoted;

    buf_init(&quoted, name.n * 6 + 2);
    json_quote(&quoted, name);
    w = schema_report_word(buf_str(&quoted));
    buf_release(&quoted);
    return w;
}

struct schema_word schema_show(const struct json *doc, const struct json_node *v)
{
    if (v->kind == JSON_ARRAY)
        return schema_report_word(v->span == 1 ? STR("[]") : STR("an array"));
    if (v->kind == JSON_OBJECT)
        return schema_report_word(v->span == 1 ? STR("{}") : STR("an object"));
    return schema_report_word(json_raw(doc, v));
}

const char *schema_kind_name(const struct json_node *v)
{
    static const char *const names[] = {
        [JSON_NULL] = "null",
        [JSON_FALSE] = "boolean",
        [JSON_TRUE] = "boolean",
        [JSON_NUMBER] = "number",
        [JSON_STRING] = "string",
        [JSON_ARRAY] = "array",
        [JSON_OBJECT] = "object",
    };

    assert(v->kind < COUNT_OF(names));
    return names[v->kind];
}

struct schema_word schema_types_name(unsigned types)
{
    static const struct {
        unsigned bit;
        const char *name;
    } names[] = {
        {1u << JSON_STRING, "string"},
        {1u << JSON_NUMBER, "number"},
        {SCHEMA_TYPE_INTEGER, "integer"},
        {1u << JSON_TRUE, "boolean"},
        {1u << JSON_ARRAY, "array"},
        {1u << JSON_OBJECT, "object"},
        {1u << JSON_NULL, "null"},
    };
    struct schema_word w = {""};
    size_t n = 0;

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *between;

        if (!(types & names[i].bit))
            continue;
        types &= ~names[i].bit & ~(1u << JSON_FALSE);
        between = n == 0 ? "" : types ? ", " : " or ";
        n += (size_t)snprintf(w.p + n, sizeof w.p - n, "%s%s", between, names[i].name);
        assert(n < sizeof w.p);
    }
    return w;
}

/* ---- problems ---- */

/* Working out a place takes time too. If it was the last there was, the next step notices. */
static void schema_report_charge(struct schema_check *c, uint64_t passed)
{
    c->work -= passed / 4 < c->work ? passed / 4 : c->work;
}

static void schema_report_add(struct schema_check *c, const struct schema_fault *f, str text)
{
    const struct schema_doc *doc = f->node->resource->doc;
    struct schema_problem p = {
        .kind = f->kind, .text = text, .name = f->name, .nearest = f->nearest, .value = f->v};
    struct buf path, keyword;

    schema_path_init(&path, c->doc);
    schema_path_init(&keyword, &doc->json);
    schema_report_charge(c, schema_report_add_path(&path, c->doc, c->root, f->v));
    schema_report_charge(c, schema_add_schema_place(&keyword, doc, f->node->at));
    if (f->keyword)
        buf_printf(&keyword, "/%s", f->keyword);
    p.path = buf_str(&path);
    p.keyword = buf_str(&keyword);
    if (!p.name.p)
        p.name = STR("");
    if (!p.nearest.p)
        p.nearest = STR("");
    if (!c->failed)
        err_set(c->e,
                f->kind == SCHEMA_LIMIT ? ERR_LIMIT : ERR_INPUT,
                STR_FMT "%s" STR_FMT "%s" STR_FMT "%s",
                STR_ARG(schema_report_cut(p.path, PLACE_SHOWN_MAX)),
                p.path.n ? ": " : "",
                STR_ARG(p.text),
                p.keyword.n ? " (schema " : "",
                STR_ARG(p.keyword),
                p.keyword.n ? ")" : "");
    c->failed = true;
    if (c->sink) {
        c->sink->on_problem(c->sink->ctx, &p);
        c->report_count++;
        if (c->sink->problems_max && c->report_count >= c->sink->problems_max)
            c->halted = true;
    }
    buf_release(&path);
    buf_release(&keyword);
}

/* The problem as a clause of a longer sentence. */
static void schema_report_explain(struct schema_check *c, const struct schema_fault *f, str text)
{
    struct buf path;

    schema_path_init(&path, c->doc);
    schema_report_charge(c, schema_report_add_path(&path, c->doc, c->root, f->v));
    buf_reset(c->explain);
    if (path.n > 0 && path.n < c->explain->size_max / 2)
        buf_printf(c->explain, STR_FMT ": ", STR_ARG(buf_str(&path)));
    buf_add(c->explain, schema_report_cut(text, c->explain->size_max - c->explain->n));
    buf_release(&path);
}

bool schema_fail(struct schema_check *c, const struct schema_fault *f, const char *fmt, ...)
{
    char text[TEXT_MAX];
    va_list ap;

    if (c->quiet || c->halted)
        return false;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (!c->explain) {
        schema_report_add(c, f, str_c(text));
        return false;
    }
    schema_report_explain(c, f, str_c(text));
    return false;
}

bool schema_halt(struct schema_check *c, const char *fmt, ...)
{
    struct schema_fault f = {.node = c->s->root, .v = c->root, .kind = SCHEMA_LIMIT};
    char text[TEXT_MAX];
    va_list ap;

    if (c->halted)
        return false;
    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    if (c->frame) {
        f.node = c->frame->node;
        f.v = c->frame->v;
    }
    schema_report_add(c, &f, str_c(text));
    c->halted = true;
    return false;
}

/* ---- unknown names ---- */

/* Upper and lower case, "-" and "_" are easily confused, and so the same here. */
static char schema_report_fold(char c)
{
    return c == '-' ? '_' : c >= 'A' && c <= 'Z' ? (char)(c | 0x20) : c;
}

/* How many characters must be put in, left out or changed to make one of the other. */
static size_t schema_report_distance(str a, str b)
{
    size_t row[NEAR_MAX + 1];

    assert(a.n <= NEAR_MAX && b.n <= NEAR_MAX);
    for (size_t j = 0; j <= b.n; j++)
        row[j] = j;
    for (size_t i = 1; i <= a.n; i++) {
        size_t corner = row[0];

        row[0] = i;
        for (size_t j = 1; j <= b.n; j++) {
            size_t change =
                corner + (schema_report_fold(a.p[i - 1]) != schema_report_fold(b.p[j - 1]));
            size_t step = (row[j] < row[j - 1] ? row[j] : row[j - 1]) + 1;

            corner = row[j];
            row[j] = change < step ? change : step;
        }
    }
    return row[b.n];
}

/* The known name most like this one, or "". It costs steps, but never the last ones. */
static str schema_report_nearest(struct schema_check *c, const struct schema_rule *members,
                                 str name)
{
    size_t best = name.n < 3 ? 0 : name.n < 5 ? 1 : name.n < 9 ? 2 : 3;
    uint64_t cost = members ? members->count * 64 : 0;
    str found = STR("");

    if (!members || name.n > NEAR_MAX || cost > c->work / 2)
        return found;
    c->work -= cost;
    for (size_t i = 0; i < members->count; i++) {
        str known = members->named[i].name;
        size_t d;

        if (known.n > NEAR_MAX || known.n > name.n + best || name.n > known.n + best)
            continue;
        d = schema_report_distance(name, known);
        if (d < best || (d == best && found.n == 0)) {
            best = d;
            found = known;
        }
    }
    return found;
}

bool schema_fail_unknown(struct schema_check *c, const struct schema_fault *f,
                         const struct json_node *key)
{
    const struct schema_rule *members = schema_rule_find(f->node, SCHEMA_OP_MEMBERS);
    struct schema_fault named = *f;
    size_t known = members && members->count <= KNOWN_SHOWN_MAX ? members->count : 0;
    struct schema_text name;
    struct buf hint;

    if (c->quiet)
        return false;
    schema_text_get(&name, c->doc, key);
    buf_init(&hint, TEXT_MAX / 2);
    named.name = name.s;
    named.nearest = schema_report_nearest(c, members, name.s);
    if (named.nearest.n > 0)
        buf_printf(&hint, ", did you mean %s?", schema_quote(named.nearest).p);
    for (size_t i = 0; named.nearest.n == 0 && i < known; i++)
        buf_printf(
            &hint, "%s%s", i ? ", " : "; known are ", schema_quote(members->named[i].name).p);
    schema_fail(
        c, &named, "unknown property %s" STR_FMT, schema_quote(name.s).p, STR_ARG(buf_str(&hint)));
    buf_release(&hint);
    schema_text_release(&name);
    return false;
}
