/* codes.c - codes of diagnoses and procedures: their form, and whether a policy lists them. See
 * fact_tools.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/fact_tools.h"
#include "apps/policy/scope.h"
#include "base/ctype.h"

#define CODES_MAX 50
#define CODE_SIZE_MAX 16

bool policy_is_icd10(str s)
{
    if (s.n < 3 || !char_is_letter(s.p[0]) || !char_is_digit(s.p[1]) ||
        !(char_is_digit(s.p[2]) || char_is_letter(s.p[2])))
        return false;
    if (s.n == 3)
        return true;
    if (s.p[3] == '.')
        s = str_slice(s, 1, s.n);
    if (s.n < 4 || s.n > 7)
        return false;
    for (size_t i = 3; i < s.n; i++)
        if (!char_is_letter(s.p[i]) && !char_is_digit(s.p[i]))
            return false;
    return true;
}

/* ICD-10-CM, in capitals: the third character is a digit, A or B. */
static bool policy_codes_is_icd10(str s)
{
    return policy_is_icd10(s) && (char_is_digit(s.p[2]) || s.p[2] == 'A' || s.p[2] == 'B');
}

/* CPT: five digits, or four and the letter of its category. */
static bool policy_codes_is_cpt(str s)
{
    if (s.n != 5)
        return false;
    for (size_t i = 0; i < 4; i++)
        if (!char_is_digit(s.p[i]))
            return false;
    return char_is_digit(s.p[4]) || (s.p[4] && strchr("FTUM", s.p[4]));
}

/* "M54.x" lists all codes that begin so, "72141-72158" those between. */
static bool code_listed_at(const struct word *w, size_t n, const char *code)
{
    size_t size = strlen(w[0].lower);

    assert(n > 0);
    if (strcmp(w[0].lower, code) == 0)
        return true;
    if (!strpbrk(w[0].lower, "0123456789") || n < 3)
        return false;
    if (word_is(&w[1], ".") && word_among(&w[2], "x xx *"))
        return strncmp(code, w[0].lower, size) == 0 && (code[size] == 0 || code[size] == '.');
    return word_among(&w[1], "- to through") && w[0].lower[0] == w[2].lower[0] &&
           strpbrk(w[2].lower, "0123456789") && strcmp(code, w[0].lower) >= 0 &&
           strncmp(code, w[2].lower, strlen(w[2].lower)) <= 0;
}

/* The first sentence that lists it. */
static const struct reading *policy_codes_find_listing(const struct scope *s, str code)
{
    struct word w;

    word_set(&w, code);
    for (size_t i = 0; s && i < s->n; i++)
        for (size_t k = 0; k < s->all[i].n; k++)
            if (code_listed_at(s->all[i].w + k, s->all[i].n - k, w.lower))
                return &s->all[i];
    return NULL;
}

struct codes {
    const struct scope *scope;
    struct arena *arena;
    struct json_out *o;
    bool valid;
    size_t n;
};

static void code_json(struct codes *c, str given, const char *system, bool (*is)(str))
{
    char upper[CODE_SIZE_MAX];
    size_t n = 0;
    const struct reading *r;
    str code;
    bool valid;

    for (; n < given.n && n < sizeof upper; n++)
        upper[n] = (char)(given.p[n] >= 'a' && given.p[n] <= 'z' ? given.p[n] - 32 : given.p[n]);
    assert(n <= given.n && n <= sizeof upper && c->n < CODES_MAX);
    code = arena_dup(c->arena, (str){upper, n});
    valid = given.n <= sizeof upper && is(code);
    c->valid = c->valid && valid;
    json_out_object(c->o);
    json_member_str(c->o, "system", str_c(system));
    json_member_str(c->o, "code", given);
    json_member_bool(c->o, "valid_format", valid);
    r = valid ? policy_codes_find_listing(c->scope, code) : NULL;
    json_member_bool(c->o, "listed", r != NULL);
    json_member_str_or_null(c->o, "node_id", r ? r->node->node_id : STR(""));
    json_member_str(c->o, "section", r ? r->node->title_path : STR(""));
    json_out_end(c->o);
}

/* Codes separated by commas, semicolons or spaces. */
static void codes_json(struct codes *c, str list, const char *system, bool (*is)(str))
{
    for (size_t i = 0; i < list.n && c->n < CODES_MAX;) {
        size_t to = i;

        while (to < list.n && !memchr(",; \t\n", list.p[to], 5))
            to++;
        if (to > i) {
            code_json(c, str_slice(list, i, to), system, is);
            c->n++;
        }
        i = to + 1;
    }
}

void policy_codes(const struct policy_doc *d, str icd10, str cpt, struct arena *a,
                  struct json_out *o)
{
    struct codes c = {.arena = a, .o = o, .valid = true};
    bool any = str_trim(icd10).n > 0 || str_trim(cpt).n > 0;

    if (d && any)
        c.scope = scope_of(d, a);
    json_out_object(o);
    json_member_bool(o, "success", any);
    if (!any)
        json_member_str(o, "error", STR("missing_code"));
    json_member_array(o, "codes");
    codes_json(&c, icd10, "icd10", policy_codes_is_icd10);
    codes_json(&c, cpt, "cpt", policy_codes_is_cpt);
    json_out_end(o);
    json_member_bool(o, "valid", any && c.valid);
    json_out_end(o);
}
