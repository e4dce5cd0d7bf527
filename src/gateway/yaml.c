/* yaml.c - libyaml's events into JSON text.
 *
 * Every node that goes out is a node of the tape that json_parse makes of it, in the same order;
 * that is why one array of marks is enough to tell lines later.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/yaml.h"

#include "base/ctype.h"
#include "base/json.h"
#include "base/map.h"

#include <yaml.h>

struct level {
    bool mapping;
    bool at_value; /* of a mapping: the key is out, its value comes next */
};

struct reader {
    struct arena *arena;
    struct buf json, scratch;
    struct json_out out;
    struct yaml_mark *marks;
    size_t count, cap;
    struct level levels[YAML_DEPTH_MAX];
    unsigned depth;
    unsigned line; /* of the event at hand */
    size_t filled; /* bytes of all values with something filled in */
    bool document; /* one has begun */
    struct err *e;
};

static void gateway_yaml_mark(struct reader *r, str raw)
{
    assert(r->count <= r->cap);
    r->marks = base_grow(r->marks, r->count, &r->cap, sizeof *r->marks);
    r->marks[r->count++] = (struct yaml_mark){r->line, raw};
}

/* ---- scalars ---- */

static bool yaml_is_name(char c)
{
    return char_is_digit(c) || c == '_' || ((c | 32) >= 'a' && (c | 32) <= 'z');
}

static size_t yaml_count_digits(str s, size_t at)
{
    size_t n = 0;

    while (at + n < s.n && char_is_digit(s.p[at + n]))
        n++;
    return n;
}

/* 0x1F and 0o17. */
static bool yaml_based_number(str s, struct buf *out)
{
    unsigned base = s.n > 2 && s.p[0] == '0' ? s.p[1] == 'x' ? 16 : s.p[1] == 'o' ? 8 : 0 : 0;
    uint64_t value = 0;

    if (!base)
        return false;
    for (size_t i = 2; i < s.n; i++) {
        char c = s.p[i];
        unsigned digit = char_is_digit(c)                     ? (unsigned)(c - '0')
                         : (c | 32) >= 'a' && (c | 32) <= 'f' ? (unsigned)((c | 32) - 'a' + 10)
                                                              : 99;

        if (digit >= base || value > (UINT64_MAX - digit) / base)
            return false;
        value = value * base + digit;
    }
    buf_printf(out, "%llu", (unsigned long long)value);
    return true;
}

/* A number of the core schema, as JSON writes it; all that is well written stays as it is. */
static bool yaml_number(str s, struct buf *out)
{
    size_t at = s.n > 0 && (s.p[0] == '-' || s.p[0] == '+'), whole, fraction = 0, zeros = 0;
    bool dot, negative = at && s.p[0] == '-';

    if (yaml_based_number(s, out))
        return true;
    whole = yaml_count_digits(s, at);
    dot = at + whole < s.n && s.p[at + whole] == '.';
    if (dot)
        fraction = yaml_count_digits(s, at + whole + 1);
    if (whole + fraction == 0)
        return false;
    while (zeros + 1 < whole && s.p[at + zeros] == '0')
        zeros++;
    if (negative)
        buf_add_c(out, '-');
    buf_add(out, whole ? str_slice(s, at + zeros, at + whole) : STR("0"));
    if (fraction)
        buf_add(out, str_slice(s, at + whole, at + whole + 1 + fraction));
    at += whole + dot + fraction;
    if (at < s.n && (s.p[at] | 32) == 'e') {
        size_t sign = at + 1 < s.n && (s.p[at + 1] == '-' || s.p[at + 1] == '+');
        size_t n = yaml_count_digits(s, at + 1 + sign);

        if (n == 0)
            return false;
        buf_add(out, str_slice(s, at, at + 1 + sign + n));
        at += 1 + sign + n;
    }
    return at == s.n;
}

static bool yaml_is_one_of(str s, const char *const *words)
{
    for (; *words; words++)
        if (str_eq(s, str_c(*words)))
            return true;
    return false;
}

static bool yaml_plain(struct reader *r, str s)
{
    static const char *const nulls[] = {"", "~", "null", "Null", "NULL", NULL};
    static const char *const trues[] = {"true", "True", "TRUE", NULL};
    static const char *const falses[] = {"false", "False", "FALSE", NULL};
    static const char *const unusable[] = {".inf",
                                           ".Inf",
                                           ".INF",
                                           "+.inf",
                                           "+.Inf",
                                           "+.INF",
                                           "-.inf",
                                           "-.Inf",
                                           "-.INF",
                                           ".nan",
                                           ".NaN",
                                           ".NAN",
                                           NULL};

    buf_reset(&r->scratch);
    if (yaml_is_one_of(s, nulls))
        json_out_null(&r->out);
    else if (yaml_is_one_of(s, trues))
        json_out_bool(&r->out, true);
    else if (yaml_is_one_of(s, falses))
        json_out_bool(&r->out, false);
    else if (yaml_is_one_of(s, unusable))
        return err_input(r->e, STR_FMT " is not a finite number", STR_ARG(s));
    else if (yaml_number(s, &r->scratch))
        json_out_raw(&r->out, buf_str(&r->scratch));
    else
        json_out_str(&r->out, s);
    return true;
}

/* The value of ${NAME...: how many bytes the name has, 0 after an error. */
static size_t yaml_fill_in(struct reader *r, str s, size_t at)
{
    char name[128];
    const char *value;
    size_t n = 0;

    assert(at <= s.n);
    while (at + n < s.n && yaml_is_name(s.p[at + n]))
        n++;
    if (n == 0 || n >= sizeof name || char_is_digit(s.p[at]) || at + n == s.n ||
        s.p[at + n] != '}') {
        err_input(r->e,
                  "${ must be followed by the name of an environment variable and }; "
                  "write $${ for a plain ${");
        return 0;
    }
    memcpy(name, s.p + at, n);
    name[n] = '\0';
    value = getenv(name);
    if (!value) {
        err_input(r->e, "the environment variable %s is not set", name);
        return 0;
    }
    if (strlen(value) > YAML_VALUE_MAX) {
        err_set(r->e, ERR_LIMIT, "the environment variable %s is too long", name);
        return 0;
    }
    buf_add(&r->scratch, str_c(value));
    return n;
}

/* s with ${VAR} replaced; `raw` is the text as it was written, if it had one. */
static bool yaml_expand_variables(struct reader *r, str s, str *out, str *raw)
{
    size_t at = 0, found;

    *out = s;
    *raw = STR("");
    if (str_find(s, STR("${")) == STR_NONE)
        return true;
    buf_reset(&r->scratch);
    while ((found = str_find(str_slice(s, at, s.n), STR("${"))) != STR_NONE) {
        size_t name;

        found += at;
        if (found > at && s.p[found - 1] == '$') {
            buf_add(&r->scratch, str_slice(s, at, found - 1));
            buf_add(&r->scratch, STR("${"));
            at = found + 2;
            continue;
        }
        buf_add(&r->scratch, str_slice(s, at, found));
        name = yaml_fill_in(r, s, found + 2);
        if (!name)
            return false;
        at = found + 2 + name + 1;
        *raw = s;
    }
    assert(at <= s.n);
    buf_add(&r->scratch, str_slice(s, at, s.n));
    if (!buf_ok(&r->scratch, "a value with ${...} filled in is", r->e))
        return false;
    r->filled += r->scratch.n + raw->n;
    if (r->filled > YAML_JSON_MAX)
        return err_set(r->e, ERR_LIMIT, "with all ${...} filled in it is too large");
    *raw = arena_dup(r->arena, *raw);
    *out = arena_dup(r->arena, buf_str(&r->scratch));
    return true;
}

static bool yaml_key(struct reader *r, str s, bool is_plain)
{
    if (is_plain && str_eq(s, STR("<<")))
        return err_input(r->e, "merge keys (<<) are not taken: write the values out");
    gateway_yaml_mark(r, STR(""));
    json_out_key(&r->out, s);
    return true;
}

static bool yaml_scalar(struct reader *r, const yaml_event_t *ev)
{
    str s = {(const char *)ev->data.scalar.value, ev->data.scalar.length}, raw;
    struct level *l = r->depth ? &r->levels[r->depth - 1] : NULL;
    bool is_plain = ev->data.scalar.style == YAML_PLAIN_SCALAR_STYLE;

    if (memchr(s.p, 0, s.n))
        return err_input(r->e, "a text may not have a NUL in it");
    if (l && l->mapping && !l->at_value) {
        l->at_value = true;
        return yaml_key(r, s, is_plain);
    }
    if (!yaml_expand_variables(r, s, &s, &raw))
        return false;
    gateway_yaml_mark(r, raw);
    if (l)
        l->at_value = false;
    if (is_plain)
        return yaml_plain(r, s);
    json_out_str(&r->out, s);
    return true;
}

/* ---- events ---- */

static bool yaml_open_level(struct reader *r, bool mapping)
{
    struct level *l = r->depth ? &r->levels[r->depth - 1] : NULL;

    if (l && l->mapping && !l->at_value)
        return err_input(r->e, "a key must be a plain name, not a list or a mapping");
    if (r->depth == YAML_DEPTH_MAX)
        return err_set(r->e, ERR_LIMIT, "nested deeper than %d levels", YAML_DEPTH_MAX);
    if (l)
        l->at_value = false;
    gateway_yaml_mark(r, STR(""));
    r->levels[r->depth++] = (struct level){mapping, false};
    if (mapping)
        json_out_object(&r->out);
    else
        json_out_array(&r->out);
    return true;
}

static bool yaml_begin_document(struct reader *r)
{
    if (r->document)
        return err_input(r->e, "a second document: there may be only one in the file");
    r->document = true;
    return true;
}

static bool yaml_refuse_marks(struct reader *r, const yaml_char_t *anchor, const yaml_char_t *tag)
{
    if (anchor)
        return err_input(r->e, "anchors and aliases are not taken: write the value out");
    if (tag)
        return err_input(r->e, "tags (!...) are not taken: write the value alone");
    return true;
}

static bool yaml_take(struct reader *r, const yaml_event_t *ev)
{
    r->line = (unsigned)ev->start_mark.line + 1;
    switch (ev->type) {
    case YAML_DOCUMENT_START_EVENT:
        return yaml_begin_document(r);
    case YAML_ALIAS_EVENT:
        return yaml_refuse_marks(r, ev->data.alias.anchor, NULL);
    case YAML_SCALAR_EVENT:
        return yaml_refuse_marks(r, ev->data.scalar.anchor, ev->data.scalar.tag) &&
               yaml_scalar(r, ev);
    case YAML_MAPPING_START_EVENT:
        return yaml_refuse_marks(r, ev->data.mapping_start.anchor, ev->data.mapping_start.tag) &&
               yaml_open_level(r, true);
    case YAML_SEQUENCE_START_EVENT:
        return yaml_refuse_marks(r, ev->data.sequence_start.anchor, ev->data.sequence_start.tag) &&
               yaml_open_level(r, false);
    case YAML_MAPPING_END_EVENT:
    case YAML_SEQUENCE_END_EVENT:
        assert(r->depth > 0);
        r->depth--;
        json_out_end(&r->out);
        return true;
    default:
        return true;
    }
}

/* Whether a tab is in the indentation of the line, counted from 1. */
static bool yaml_tab_indents(str text, unsigned line)
{
    while (line-- > 1)
        text = str_slice(text, str_find(text, STR("\n")) + 1, text.n);
    while (text.n && *text.p == ' ')
        text = str_slice(text, 1, text.n);
    return text.n && *text.p == '\t';
}

/* A byte that no YAML file may have, after `before`. */
static bool yaml_unreadable(struct reader *r, str before, const char *problem)
{
    size_t newline;

    r->line = 1;
    while ((newline = str_find(before, STR("\n"))) != STR_NONE) {
        before = str_slice(before, newline + 1, before.n);
        r->line++;
    }
    return err_input(r->e,
                     "byte %zu: %s; save the file as UTF-8, without control characters",
                     before.n + 1,
                     problem);
}

static bool yaml_parse_failed(struct reader *r, const yaml_parser_t *p, str text)
{
    const char *problem = p->problem ? p->problem : "it could not be read";

    if (p->error == YAML_READER_ERROR) /* its mark is not set */
        return yaml_unreadable(r, str_slice(text, 0, p->problem_offset), problem);
    r->line = (unsigned)p->problem_mark.line + 1;
    if (yaml_tab_indents(text, r->line))
        return err_input(r->e, "a tab indents this line: YAML wants spaces");
    return err_input(r->e,
                     "column %zu: %s%s%s; check indentation, quotes and brackets here and in the "
                     "line above",
                     p->problem_mark.column + 1,
                     problem,
                     p->context ? " " : "",
                     p->context ? p->context : "");
}

static bool yaml_pump(struct reader *r, str text)
{
    yaml_parser_t parser;
    yaml_event_t ev;
    bool ok = true, more = true;

    if (!yaml_parser_initialize(&parser))
        base_die("out of memory");
    yaml_parser_set_encoding(&parser, YAML_UTF8_ENCODING);
    yaml_parser_set_input_string(&parser, (const unsigned char *)text.p, text.n);
    while (ok && more) {
        if (!yaml_parser_parse(&parser, &ev)) {
            ok = yaml_parse_failed(r, &parser, text);
            break;
        }
        more = ev.type != YAML_STREAM_END_EVENT;
        ok = yaml_take(r, &ev);
        yaml_event_delete(&ev);
    }
    yaml_parser_delete(&parser);
    if (ok && !r->document) {
        r->line = 1;
        return err_input(r->e, "the file is empty: write the settings into it");
    }
    return ok;
}

/* ---- repeated keys ---- */

static bool yaml_unique_keys(struct reader *r, const struct json *doc, const struct json_node *v)
{
    struct map seen;
    bool ok = true;

    map_init(&seen, NULL, doc->n);
    for (const struct json_node *k = json_first(doc, v); ok && k; k = json_next(doc, v, k)) {
        struct map_entry *first;
        str name = STR("");

        if (!json_text(doc, k, r->arena, &name))
            continue;
        first = map_find(&seen, name);
        assert((size_t)(k - doc->nodes) < r->count);
        r->line = r->marks[k - doc->nodes].line;
        ok = first ? err_input(r->e,
                               "\"" STR_FMT "\" is given twice, first in line %llu",
                               STR_ARG(str_slice(name, 0, 64)),
                               (unsigned long long)first->value.u64)
                   : map_set(&seen, name, MAP_U64(r->line), r->e);
    }
    map_release(&seen);
    return ok;
}

static bool yaml_check_keys(struct reader *r)
{
    struct json doc;
    bool ok;

    ok = json_open(&doc, buf_str(&r->json), r->e);
    assert(!ok || doc.n == r->count);
    for (uint32_t i = 0; ok && i < doc.n; i++)
        if (doc.nodes[i].kind == JSON_OBJECT && doc.nodes[i].span > 3)
            ok = yaml_unique_keys(r, &doc, &doc.nodes[i]);
    json_release(&doc);
    return ok;
}

bool yaml_read(str text, struct arena *a, struct yaml *out, struct err *e)
{
    struct reader r = {.arena = a, .e = e, .line = 1};
    bool ok;

    buf_init(&r.json, YAML_JSON_MAX);
    buf_init(&r.scratch, YAML_JSON_MAX / 4);
    json_out_init(&r.out, &r.json);
    if (text.n > YAML_SIZE_MAX)
        ok = err_set(e, ERR_LIMIT, "larger than %zu bytes", YAML_SIZE_MAX);
    else
        ok = yaml_pump(&r, text) && json_out_ok(&r.out, e) && yaml_check_keys(&r);
    out->line = r.line;
    if (ok) {
        out->json = arena_dup(a, buf_str(&r.json));
        out->count = r.count;
        out->marks = arena_zero(a, r.count, sizeof *out->marks);
        memcpy(out->marks, r.marks, r.count * sizeof *out->marks);
    }
    free(r.marks);
    buf_release(&r.scratch);
    buf_release(&r.json);
    return ok;
}
