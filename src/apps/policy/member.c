/* member.c - members of JSON objects, read strictly. See member.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/member.h"

#include <math.h>

#include "apps/policy/tree.h"
#include "base/json_get.h"

size_t member_into(struct member *m, const char *name)
{
    size_t at = strlen(m->path);

    assert(at < sizeof m->path);
    snprintf(m->path + at, sizeof m->path - at, "%s%s", at > 0 ? "." : "", name);
    return at;
}

size_t member_into_at(struct member *m, size_t index)
{
    size_t at = strlen(m->path);

    assert(at < sizeof m->path);
    snprintf(m->path + at, sizeof m->path - at, "[%zu]", index);
    return at;
}

void member_back(struct member *m, size_t at)
{
    assert_slow(at <= strlen(m->path)); /* the path only grew since */
    m->path[at] = 0;
}

bool member_wrong(struct member *m, const char *name, const char *what)
{
    if (!m->failed)
        err_input(m->e, "%s%s%s: %s", m->path, m->path[0] && *name ? "." : "", name, what);
    m->failed = true;
    return false;
}

bool member_wrong_kind(struct member *m, const char *name, const char *want,
                       const struct json_node *found)
{
    static const char *const kinds[] = {[JSON_NULL] = "null",
                                        [JSON_FALSE] = "false",
                                        [JSON_TRUE] = "true",
                                        [JSON_NUMBER] = "a number",
                                        [JSON_STRING] = "a string",
                                        [JSON_ARRAY] = "a list",
                                        [JSON_OBJECT] = "an object"};
    char what[120];

    assert(found->kind < COUNT_OF(kinds));
    snprintf(what, sizeof what, "%s is expected, not %s", want, kinds[found->kind]);
    return member_wrong(m, name, what);
}

const struct json_node *member_find(const struct member *m, const struct json_node *v,
                                    const char *name)
{
    return m->failed ? NULL : json_get(m->doc, v, name);
}

const struct json_node *member_enter(struct member *m, const struct json_node *v, const char *name,
                                     bool must, size_t *at)
{
    const struct json_node *found = member_kind(m, v, name, JSON_OBJECT);

    if (found)
        *at = member_into(m, name);
    else if (must)
        member_wrong(m, name, "is missing");
    return found;
}

bool member_text(struct member *m, const struct json_node *v, const char *name, bool must, str *out)
{
    const struct json_node *found = member_find(m, v, name);

    if (!found)
        return !must || member_wrong(m, name, "is missing");
    if (!json_text(m->doc, found, m->arena, out))
        return member_wrong_kind(m, name, "a string", found);
    if (must && str_trim(*out).n == 0)
        return member_wrong(m, name, "is empty");
    return true;
}

bool member_id(struct member *m, const struct json_node *v, const char *name, bool must, str *out)
{
    return member_text(m, v, name, must, out) &&
           (out->n <= MEMBER_ID_MAX || member_wrong(m, name, "has more than 4096 bytes"));
}

bool member_bool(struct member *m, const struct json_node *v, const char *name, bool *out)
{
    const struct json_node *found = member_find(m, v, name);

    if (!found || json_bool(found, out))
        return true;
    return member_wrong_kind(m, name, "true or false", found);
}

bool member_between(struct member *m, const struct json_node *v, const char *name, double low,
                    double high, double *out)
{
    const struct json_node *found = member_find(m, v, name);
    char what[80];

    if (!found)
        return true;
    if (json_double(m->doc, found, out) && *out >= low && *out <= high)
        return true;
    snprintf(what, sizeof what, "a number from %g to %g is expected", low, high);
    return member_wrong(m, name, what);
}

bool member_page(struct member *m, const struct json_node *v, const char *name, bool must,
                 uint32_t *out)
{
    const struct json_node *found = member_find(m, v, name);
    int64_t n;

    if (!found)
        return !must || member_wrong(m, name, "is missing");
    if (!json_i64(m->doc, found, &n) || n < 1 || n > POLICY_PAGE_MAX)
        return member_wrong(m, name, "a page is a whole number from 1");
    *out = (uint32_t)n;
    return true;
}

bool member_box(struct member *m, const struct json_node *v, const char *name, bool *has,
                double out[4])
{
    const struct json_node *found = member_find(m, v, name);
    size_t i = 0;

    if (!found)
        return true;
    if (found->kind != JSON_ARRAY || json_count(m->doc, found) != 4)
        return member_wrong(m, name, "a list of exactly 4 numbers is expected");
    for (const struct json_node *n = json_first(m->doc, found); n;
         n = json_next(m->doc, found, n), i++)
        if (!json_double(m->doc, n, &out[i]) || !isfinite(out[i]))
            return member_wrong(m, name, "a list of exactly 4 numbers is expected");
    *has = true;
    return true;
}

const struct json_node *member_kind(struct member *m, const struct json_node *v, const char *name,
                                    enum json_kind kind)
{
    const struct json_node *found = member_find(m, v, name);

    if (!found || found->kind == kind)
        return found;
    member_wrong_kind(m, name, kind == JSON_ARRAY ? "a list" : "an object", found);
    return NULL;
}
