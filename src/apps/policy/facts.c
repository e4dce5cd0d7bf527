/* facts.c - the facts of a case, asked by name. See case.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/result.h"
#include "base/ctype.h"

#include <math.h>

static bool policy_in_key(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c & 0x80);
}

str policy_key(struct arena *a, str name)
{
    char *p = arena_alloc(a, name.n + 1);
    size_t n = 0;

    for (size_t i = 0; i < name.n; i++) {
        char c = char_to_lower(name.p[i]);

        if (policy_in_key(c))
            p[n++] = c;
        else if (n > 0 && p[n - 1] != '_')
            p[n++] = '_';
    }
    while (n > 0 && p[n - 1] == '_')
        n--;
    assert(n <= name.n);
    return (str){p, n};
}

/* The next character of a name's key, or 0 at its end. */
static char policy_key_next(str s, size_t *i, bool begun)
{
    size_t at = *i;

    assert(at <= s.n);
    while (at < s.n && !policy_in_key(char_to_lower(s.p[at])))
        at++;
    if (at == s.n) {
        *i = at;
        return 0;
    }
    if (begun && at > *i) {
        *i = at;
        return '_';
    }
    *i = at + 1;
    return char_to_lower(s.p[at]);
}

static bool policy_facts_is_key(str key, str name)
{
    size_t at = 0;

    for (size_t i = 0; i < key.n; i++)
        if (policy_key_next(name, &at, i > 0) != key.p[i])
            return false;
    return key.n > 0 && policy_key_next(name, &at, true) == 0;
}

const struct policy_field *policy_fact(const struct policy_case *c, str name)
{
    for (size_t i = 0; i < c->field_count; i++)
        if (policy_facts_is_key(c->fields[i].key, name))
            return &c->fields[i];
    return NULL;
}

static void policy_field_json(const struct policy_field *f, struct json_out *o)
{
    json_member_raw(o, "value", f->raw);
    json_member_double(o, "confidence", f->confidence);
    policy_place_json(f->doc_id, f->page, o);
    policy_box_json(f->has_bbox ? f->bbox : NULL, o);
    if (f->field_class.n > 0)
        json_member_str(o, "field_class", f->field_class);
}

static void policy_conflicts_json(const struct policy_case *c, const struct policy_field *f,
                                  struct json_out *o)
{
    bool begun = false;

    assert(f >= c->fields && f < c->fields + c->field_count);
    for (const struct policy_field *g = f + 1; g < c->fields + c->field_count; g++) {
        if (!str_eq(g->key, f->key) || policy_value_equal(&g->value, &f->value))
            continue;
        if (!begun)
            json_member_array(o, "conflicts");
        begun = true;
        json_out_object(o);
        policy_field_json(g, o);
        json_out_end(o);
    }
    if (begun)
        json_out_end(o);
}

static void policy_miss_json(const struct policy_case *c, str name, struct json_out *o)
{
    json_member_str(o, "error", STR("field_not_found"));
    json_member_str(o, "field_name", name);
    json_member_array(o, "available_fields");
    for (size_t i = 0; i < c->field_count; i++)
        if (policy_fact(c, c->fields[i].key) == &c->fields[i])
            json_out_str(o, c->fields[i].name);
    json_out_end(o);
}

void policy_fact_json(const struct policy_case *c, str name, struct json_out *o)
{
    const struct policy_field *f = policy_fact(c, name);

    json_out_object(o);
    json_member_bool(o, "success", f != NULL);
    if (f) {
        json_member_str(o, "field_name", f->name);
        policy_field_json(f, o);
        policy_conflicts_json(c, f, o);
    } else {
        policy_miss_json(c, name, o);
    }
    json_out_end(o);
}

static bool policy_facts_same_text(str a, str b)
{
    return str_eq_nocase(str_trim(a), str_trim(b));
}

/* A text that is a number, or yes or no. */
static struct policy_value policy_facts_plainly(const struct policy_value *v)
{

    struct policy_value out = *v;
    char digits[64], *end;
    str s = str_trim(v->text);

    if (v->kind != POLICY_TEXT || s.n == 0 || s.n >= sizeof digits)
        return out;
    if (str_is_one_of_nocase(s, "yes true y no false n")) {
        out.kind = POLICY_BOOL;
        out.yes = str_is_one_of_nocase(s, "yes true y");
        return out;
    }
    if (!strchr("0123456789.+-", s.p[0]))
        return out;
    memcpy(digits, s.p, s.n);
    digits[s.n] = 0;
    out.number = strtod(digits, &end);
    if (*end == 0 && isfinite(out.number))
        out.kind = POLICY_NUMBER;
    return out;
}

bool policy_value_equal(const struct policy_value *a, const struct policy_value *b)
{
    struct policy_value x = policy_facts_plainly(a), y = policy_facts_plainly(b);

    if (x.kind != y.kind)
        return false;
    switch (x.kind) {
    case POLICY_NULL:
        return true;
    case POLICY_BOOL:
        return x.yes == y.yes;
    case POLICY_NUMBER:
        return fabs(x.number - y.number) <= 1e-9 * fmax(fabs(x.number), fabs(y.number));
    case POLICY_TEXT:
        return policy_facts_same_text(x.text, y.text);
    case POLICY_LIST:
    case POLICY_MAP:
        break;
    }
    if (x.count != y.count)
        return false;
    for (size_t i = 0; i < x.count; i++)
        if (!policy_value_equal(&x.items[i], &y.items[i]))
            return false;
    return true;
}
