/* front_matter.c - front matter. See front_matter.h.
 *
 * Only lines "name: value" are read, because front matter labels a document and is not a
 * configuration.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/front_matter.h"
#include "apps/policy/line.h"

static str policy_front_matter_unquote(str s)
{
    s = str_trim(s);
    if (s.n >= 2 && (s.p[0] == '"' || s.p[0] == '\'')) {
        const char *end = memchr(s.p + 1, s.p[0], s.n - 1);

        if (end)
            return (str){s.p + 1, (size_t)(end - s.p) - 1};
    }
    for (size_t i = 1; i < s.n; i++)
        if (s.p[i] == '#' && (s.p[i - 1] == ' ' || s.p[i - 1] == '\t'))
            return str_trim(str_slice(s, 0, i));
    return s.n > 0 && s.p[0] == '#' ? str_slice(s, 0, 0) : s;
}

static bool policy_pair_of(str line, str *name, str *value)
{
    size_t colon = str_find(line, STR(":"));

    if (colon == STR_NONE || colon == 0 || line.p[0] == ' ' || line.p[0] == '\t' ||
        line.p[0] == '-' || line.p[0] == '#')
        return false;
    if (colon + 1 < line.n && line.p[colon + 1] != ' ' && line.p[colon + 1] != '\t')
        return false;
    *name = policy_front_matter_unquote(str_slice(line, 0, colon));
    *value = policy_front_matter_unquote(str_slice(line, colon + 1, line.n));
    return true;
}

/* False: the line has no place in the tree, or is a text that may say anything. */
static bool policy_front_matter_take(struct policy_tree *t, str name, str value, struct arena *a)
{
    const struct {
        const char *name;
        str *into;
    } rows[] = {
        {"title", &t->title},
        {"description", &t->doc_description},
        {"doc_description", &t->doc_description},
        {"version", &t->version},
        {"effective_start", &t->effective_start},
        {"effective_from", &t->effective_start},
        {"effective_end", &t->effective_end},
        {"effective_to", &t->effective_end},
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (str_eq(name, str_c(rows[i].name))) {
            *rows[i].into = arena_dup(a, value);
            return !str_ends(name, STR("description"));
        }
    return false;
}

/* The index after the front matter, or 0. Lines without any pair are a text between two rulers, not
 * front matter. */
static size_t front_end(str text, size_t at)
{
    bool pairs = false, other = false;

    while (at < text.n) {
        size_t next = at;
        str line = line_next(text, &next), name, value;
        str bare = str_trim(line);

        if (line.n > 0 && line.p[0] != ' ' && line.p[0] != '\t' &&
            (str_eq(bare, STR("---")) || str_eq(bare, STR("..."))))
            return pairs || !other ? next : 0;
        if (policy_pair_of(line, &name, &value))
            pairs = true;
        else if (bare.n > 0 && bare.p[0] != '#')
            other = true;
        at = next;
    }
    return 0;
}

size_t policy_front_matter(str text, struct arena *a, struct policy_tree *t)
{
    size_t at = 0, next, end;
    str first = line_next(text, &at), name, value;

    if (!str_starts(first, STR("---")) || !str_eq(str_trim(first), STR("---")))
        return 0;
    end = front_end(text, at);
    for (next = at; at < end; at = next) {
        str line = str_trim(line_next(text, &next));

        if (!(policy_pair_of(line, &name, &value) && policy_front_matter_take(t, name, value, a)) &&
            line.n > 0 && t->front_other.n == 0 && next < end)
            t->front_other = arena_dup(a, line);
    }
    assert(end <= text.n);
    return end;
}
