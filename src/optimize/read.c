/* SPDX-License-Identifier: Apache-2.0 */
#include "optimize/read.h"

#include "base/utf8.h"

#include <math.h>

#define SHOWN_MAX 40 /* bytes of a wrong value in a message */
#define MEMBERS_MAX 32

struct read_at read_root(struct read *r, const struct json *doc, struct arena *a)
{
    *r = (struct read){.doc = doc, .arena = a};
    return (struct read_at){.r = r, .node = json_root(doc), .name = STR("")};
}

bool read_ok(const struct read *r, struct err *e)
{
    if (r->failed)
        *e = r->err;
    return !r->failed;
}

/* The way to a value; the root itself has no words for it. */
static void optimize_read_add_path(const struct read_at *at, struct buf *out)
{
    if (!at->up)
        return;
    optimize_read_add_path(at->up, out);
    if (at->name.n == 0)
        buf_printf(out, "[%zu]", at->index);
    else
        buf_printf(out, "%s" STR_FMT, out->n ? "." : "", STR_ARG(at->name));
}

void read_fail(const struct read_at *at, const char *fmt, ...)
{
    char said[200];
    struct buf path;
    va_list args;

    if (at->r->failed)
        return;
    va_start(args, fmt);
    (void)vsnprintf(said, sizeof said, fmt, args);
    va_end(args);
    buf_init(&path, 4096);
    optimize_read_add_path(at, &path);
    err_input(&at->r->err, STR_FMT "%s%s", STR_ARG(buf_str(&path)), path.n ? ": " : "", said);
    buf_release(&path);
    at->r->failed = true;
}

/* Whether there is a value to read. */
static bool optimize_read_has_value(const struct read_at *at)
{
    return !at->r->failed && at->node;
}

static bool optimize_is_kind(const struct read_at *at, enum json_kind kind)
{
    return optimize_read_has_value(at) && at->node->kind == kind;
}

/* "must be X, not `the value`" */
static void optimize_read_wrong(const struct read_at *at, const char *want)
{
    str raw;
    bool cut;

    assert(want);
    if (!optimize_read_has_value(at))
        return;
    raw = json_raw(at->r->doc, at->node);
    cut = raw.n > SHOWN_MAX;
    raw = utf8_cut_size(raw, SHOWN_MAX);
    read_fail(at, "must be %s, not " STR_FMT "%s", want, STR_ARG(raw), cut ? "..." : "");
}

/* ---- objects ---- */

static size_t optimize_read_times(const struct read_at *at, str name)
{
    const struct json *doc = at->r->doc;
    size_t n = 0;

    JSON_FOREACH(k, doc, at->node)
        n += json_is(doc, k, name);
    return n;
}

static bool optimize_is_known(const struct read_at *at, const struct json_node *key,
                              const str *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (json_is(at->r->doc, key, names[i]))
            return true;
    return false;
}

void read_members_named(const struct read_at *at, const str *names, size_t count)
{
    const struct json *doc = at->r->doc;

    assert(names || !count);
    if (!optimize_is_kind(at, JSON_OBJECT)) {
        optimize_read_wrong(at, "an object");
        return;
    }
    for (size_t i = 0; i < count; i++) {
        size_t n = optimize_read_times(at, names[i]);

        if (n != 1)
            read_fail(at, "%s \"" STR_FMT "\"", n ? "has twice" : "has no", STR_ARG(names[i]));
    }
    JSON_FOREACH(k, doc, at->node)
        if (!optimize_is_known(at, k, names, count)) {
            str raw = utf8_cut_size(json_raw(doc, k), SHOWN_MAX);

            read_fail(at, "has an unknown member " STR_FMT, STR_ARG(raw));
        }
}

void read_members(const struct read_at *at, const char *words)
{
    str names[MEMBERS_MAX], rest = str_c(words);
    size_t n = 0;

    while (rest.n > 0) {
        assert(n < MEMBERS_MAX);
        names[n++] = str_cut(&rest, ' ');
    }
    read_members_named(at, names, n);
}

struct read_at read_member(const struct read_at *at, const char *name)
{
    struct read_at out = {.r = at->r, .up = at, .name = str_c(name)};

    if (optimize_read_has_value(at))
        out.node = json_find(at->r->doc, at->node, out.name);
    if (optimize_read_has_value(at) && !out.node)
        read_fail(at, "has no \"%s\"", name);
    return out;
}

/* ---- arrays ---- */

size_t read_count(const struct read_at *at, size_t min, size_t max)
{
    size_t n;

    assert(min <= max);
    if (!optimize_is_kind(at, JSON_ARRAY)) {
        optimize_read_wrong(at, "a list");
        return 0;
    }
    n = json_count(at->r->doc, at->node);
    if (n >= min && n <= max)
        return n;
    read_fail(at, "has %zu elements; it must have %zu to %zu", n, min, max);
    return 0;
}

bool read_next(const struct read_at *array, struct read_at *element)
{
    const struct json *doc = array->r->doc;
    bool first = element->up != array;

    if (!optimize_is_kind(array, JSON_ARRAY))
        return false;
    if (first)
        *element = (struct read_at){.r = array->r, .up = array, .name = STR("")};
    else
        element->index++;
    element->node =
        first ? json_first(doc, array->node) : json_next(doc, array->node, element->node);
    return element->node != NULL;
}

/* ---- values ---- */

bool read_is_null(const struct read_at *at)
{
    return optimize_is_kind(at, JSON_NULL);
}

bool read_is_text(const struct read_at *at)
{
    return optimize_is_kind(at, JSON_STRING);
}

bool read_is_object(const struct read_at *at)
{
    return optimize_is_kind(at, JSON_OBJECT);
}

bool read_bool(const struct read_at *at)
{
    bool out = false;

    if (optimize_read_has_value(at) && !json_bool(at->node, &out))
        optimize_read_wrong(at, "true or false");
    return out;
}

str read_text(const struct read_at *at)
{
    str out = STR("");

    if (!optimize_read_has_value(at))
        return out;
    if (!json_text(at->r->doc, at->node, at->r->arena, &out)) {
        optimize_read_wrong(at, "a text");
        return STR("");
    }
    for (size_t i = 0; i < out.n; i++)
        if ((unsigned char)out.p[i] >= 0x80) {
            optimize_read_wrong(at, "ASCII");
            return STR("");
        }
    return out;
}

/* Digits, and a minus before them: no fraction, no exponent. */
static bool optimize_is_integer(const struct read_at *at)
{
    return optimize_is_kind(at, JSON_NUMBER) && !at->node->escaped;
}

int64_t read_integer(const struct read_at *at, int64_t min, int64_t max)
{
    int64_t out = 0;
    char want[80];

    assert(min <= max);
    if (optimize_is_integer(at) && json_i64(at->r->doc, at->node, &out) && out >= min && out <= max)
        return out;
    (void)snprintf(
        want, sizeof want, "a whole number, %lld to %lld", (long long)min, (long long)max);
    optimize_read_wrong(at, want);
    return min;
}

double read_number(const struct read_at *at)
{
    double out = 0;

    if (optimize_read_has_value(at) && (!json_double(at->r->doc, at->node, &out) || !isfinite(out)))
        optimize_read_wrong(at, "a number");
    return out;
}

str read_integer_text(const struct read_at *at)
{
    if (optimize_is_integer(at))
        return json_raw(at->r->doc, at->node);
    optimize_read_wrong(at, "a whole number");
    return STR("0");
}

size_t read_choice(const struct read_at *at, const char *words)
{
    str text = STR(""), rest = str_c(words);
    char want[160] = "";
    size_t place = STR_NONE;

    if (optimize_read_has_value(at) && json_text(at->r->doc, at->node, at->r->arena, &text))
        place = str_place(text, words);
    if (place != STR_NONE)
        return place;
    for (size_t n = 0; rest.n > 0 && n < sizeof want; n = strlen(want)) {
        str word = str_cut(&rest, ' ');

        (void)snprintf(
            want + n, sizeof want - n, "%s" STR_FMT, n ? ", " : "one of ", STR_ARG(word));
    }
    optimize_read_wrong(at, want);
    return 0;
}
