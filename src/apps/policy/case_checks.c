/* case_checks.c - see case_checks.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/case_checks.h"

#include "apps/policy/fact_tools.h"
#include "apps/policy/heuristic.h"
#include "base/clock.h"
#include "base/ctype.h"

#define SENTENCE_MAX (4 * POLICY_CASE_MAX) /* it repeats at most two names and two values */

/* What the name and the value of a field say about dates, read once for all pairs of fields. */
struct case_date {
    int64_t ms;
    bool valid;
    unsigned first, then; /* bits of date_orders */
};

struct qa {
    const struct policy_case *c;
    struct arena sentence;   /* of the issue that is written */
    struct case_date *dates; /* of each field */
    struct json_out *o;
    size_t issues;
};

/* Reports an issue of at most two fields; a missing one is NULL. */
static void case_issue_add(struct qa *q, const char *type, const char *severity, str what,
                           const struct policy_field *f, const struct policy_field *g)
{
    const struct policy_field *fields[] = {f, g};
    struct json_out *o = q->o;

    q->issues++;
    assert(f || !g);
    json_out_object(o);
    json_member_str(o, "issue_type", str_c(type));
    json_member_str(o, "description", what);
    json_member_str(o, "severity", str_c(severity));
    json_member_array(o, "affected_fields");
    for (size_t i = 0; i < COUNT_OF(fields); i++)
        if (fields[i] && !(i && g == f))
            json_out_str(o, fields[i]->name);
    json_out_end(o);
    json_member_array(o, "evidence");
    for (size_t i = 0; i < COUNT_OF(fields); i++) {
        if (!fields[i])
            continue;
        json_out_object(o);
        policy_place_json(fields[i]->doc_id, fields[i]->page, o);
        json_member_raw(o, "value", fields[i]->raw);
        json_out_end(o);
    }
    json_out_close(o, 2);
    arena_reset(&q->sentence);
}

/* ---- names ---- */

/* Whether a key has this word, between underscores. */
static bool policy_case_check_has_word(str key, const char *word)
{
    str w = str_c(word);

    for (size_t at = 0; at + w.n <= key.n; at++)
        if (str_eq(str_slice(key, at, at + w.n), w) && (at == 0 || key.p[at - 1] == '_') &&
            (at + w.n == key.n || key.p[at + w.n] == '_'))
            return true;
    return false;
}

static bool check_has_any(str key, const char *const *words, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (policy_case_check_has_word(key, words[i]))
            return true;
    return false;
}

/* ---- codes ---- */

/* Five digits, or four and a letter (categories II and III, and HCPCS the other way around). */
static bool policy_case_check_is_cpt(str s)
{
    size_t digits = 0;

    if (s.n != 5)
        return false;
    for (size_t i = 0; i < s.n; i++)
        digits += char_is_digit(s.p[i]);
    return digits == 5 || (digits == 4 && (char_is_letter(s.p[0]) || char_is_letter(s.p[4])));
}

static void check_code(struct qa *q, const struct policy_field *f, const struct policy_value *v,
                       bool icd, bool cpt)
{
    str s = str_trim(v->text);

    assert(icd || cpt);
    if (v->kind == POLICY_LIST) {
        for (size_t i = 0; i < v->count && !buf_full(q->o->buf); i++)
            check_code(q, f, &v->items[i], icd, cpt);
        return;
    }
    if ((v->kind != POLICY_TEXT && v->kind != POLICY_NUMBER) || !s.n)
        return;
    if ((icd && !policy_is_icd10(s)) || (cpt && !policy_case_check_is_cpt(s)))
        case_issue_add(q,
                       "invalid_code",
                       "high",
                       arena_printf(&q->sentence,
                                    STR_FMT " is \"" STR_FMT "\", which has not the form of %s",
                                    STR_ARG(f->name),
                                    STR_ARG(str_slice(s, 0, 60)),
                                    icd ? "an ICD-10 code" : "a CPT code"),
                       f,
                       NULL);
}

static void check_codes(struct qa *q, const struct policy_field *f)
{
    bool icd =
        policy_case_check_has_word(f->key, "icd10") || policy_case_check_has_word(f->key, "icd");
    bool cpt = policy_case_check_has_word(f->key, "cpt");

    if (icd || cpt)
        check_code(q, f, &f->value, icd, cpt);
}

/* ---- dates ---- */

static bool check_read_date(str s, int64_t *ms)
{
    char day[32];

    s = str_trim(s);
    if (s.n == 10) {
        (void)snprintf(day, sizeof day, STR_FMT "T00:00:00Z", STR_ARG(s));
        return clock_parse(str_c(day), ms);
    }
    return clock_parse(s, ms);
}

static bool check_is_date_name(str key)
{
    static const char *const words[] = {"date", "dob"};

    return check_has_any(key, words, COUNT_OF(words));
}

static const struct {
    const char *first[3], *then[4];
} date_orders[] = {
    {{"start", "begin", "from"}, {"end", "until", "to", "stop"}},
    {{"birth", "dob", "born"}, {"service", "visit", "exam", "start"}},
    {{"onset", "injury", "onset"}, {"service", "exam", "request", "visit"}},
};

static struct case_date *case_dates_read(const struct policy_case *c, struct arena *a)
{
    struct case_date *all = arena_zero(a, c->field_count + 1, sizeof *all);

    for (size_t i = 0; i < c->field_count; i++) {
        const struct policy_field *f = &c->fields[i];
        struct case_date *d = &all[i];

        d->valid = check_is_date_name(f->key) && f->value.kind == POLICY_TEXT &&
                   check_read_date(f->value.text, &d->ms);
        for (unsigned k = 0; d->valid && k < COUNT_OF(date_orders); k++) {
            d->first |= (unsigned)check_has_any(f->key, date_orders[k].first, 3) << k;
            d->then |= (unsigned)check_has_any(f->key, date_orders[k].then, 4) << k;
        }
    }
    return all;
}

static void check_order(struct qa *q, const struct policy_field *a, const struct policy_field *b)
{
    case_issue_add(q,
                   "dates_out_of_order",
                   "high",
                   arena_printf(&q->sentence,
                                STR_FMT " (" STR_FMT ") is after " STR_FMT " (" STR_FMT ")",
                                STR_ARG(a->name),
                                STR_ARG(a->value.text),
                                STR_ARG(b->name),
                                STR_ARG(b->value.text)),
                   a,
                   b);
}

static void check_dates(struct qa *q, const struct policy_field *f)
{
    const struct case_date *d = &q->dates[f - q->c->fields];

    assert(f >= q->c->fields && f < q->c->fields + q->c->field_count);
    if (!check_is_date_name(f->key) || f->value.kind != POLICY_TEXT || !str_trim(f->value.text).n)
        return;
    if (!d->valid) {
        case_issue_add(q,
                       "invalid_date",
                       "medium",
                       arena_printf(&q->sentence,
                                    STR_FMT " is \"" STR_FMT "\", which is no date (YYYY-MM-DD)",
                                    STR_ARG(f->name),
                                    STR_ARG(str_slice(f->value.text, 0, 60))),
                       f,
                       NULL);
        return;
    }
    for (size_t i = 0; i < q->c->field_count && !buf_full(q->o->buf); i++)
        if (q->dates[i].valid && d->ms > q->dates[i].ms && (d->first & q->dates[i].then))
            check_order(q, f, &q->c->fields[i]);
}

static void check_effective(struct qa *q)
{
    int64_t start, end;

    if (check_read_date(q->c->effective_start, &start) &&
        check_read_date(q->c->effective_end, &end) && start > end)
        case_issue_add(q,
                       "dates_out_of_order",
                       "high",
                       STR("effective_start is after effective_end"),
                       NULL,
                       NULL);
}

/* ---- fields ---- */

static void check_twins(struct qa *q, size_t at)
{
    const struct policy_field *f = &q->c->fields[at], *g;

    assert(at < q->c->field_count);
    for (size_t i = at + 1; i < q->c->field_count; i++) {
        g = &q->c->fields[i];
        if (!str_eq(f->key, g->key))
            continue;
        if (policy_value_equal(&f->value, &g->value))
            case_issue_add(q,
                           "duplicate_field",
                           "low",
                           arena_printf(&q->sentence, STR_FMT " is there twice", STR_ARG(f->name)),
                           f,
                           g);
        else
            case_issue_add(q,
                           "conflicting_fields",
                           "high",
                           arena_printf(&q->sentence,
                                        STR_FMT " is " STR_FMT " in one place and " STR_FMT
                                                " in another",
                                        STR_ARG(f->name),
                                        STR_ARG(str_slice(f->raw, 0, 80)),
                                        STR_ARG(str_slice(g->raw, 0, 80))),
                           f,
                           g);
        return; /* the next pair is reported when its first field is checked */
    }
}

static void check_field(struct qa *q, const struct policy_field *f)
{
    bool empty = f->value.kind == POLICY_NULL ||
                 (f->value.kind == POLICY_TEXT && !str_trim(f->value.text).n);

    if (empty)
        case_issue_add(q,
                       "missing_value",
                       "medium",
                       arena_printf(&q->sentence, STR_FMT " has no value", STR_ARG(f->name)),
                       f,
                       NULL);
    if (f->confidence < POLICY_FACT_FLOOR)
        case_issue_add(q,
                       "low_confidence_field",
                       "high",
                       arena_printf(&q->sentence,
                                    STR_FMT " was read with confidence %.2f, below %.2f",
                                    STR_ARG(f->name),
                                    f->confidence,
                                    POLICY_FACT_FLOOR),
                       f,
                       NULL);
    if (!f->doc_id.n)
        case_issue_add(q,
                       "missing_evidence",
                       "medium",
                       arena_printf(&q->sentence,
                                    STR_FMT " has no doc_id: its document is unknown",
                                    STR_ARG(f->name)),
                       f,
                       NULL);
    check_codes(q, f);
    check_dates(q, f);
}

void policy_case_check(const struct policy_case *c, const struct policy_doc *doc, struct arena *a,
                       struct json_out *o)
{
    struct qa q = {.c = c, .dates = case_dates_read(c, a), .o = o};

    arena_init(&q.sentence, SENTENCE_MAX);
    json_out_object(o);
    json_member_array(o, "issues");
    if (!doc)
        case_issue_add(&q,
                       "missing_policy_document",
                       "high",
                       STR("the case names no policy document that is known here"),
                       NULL,
                       NULL);
    if (!c->field_count)
        case_issue_add(&q, "no_fields", "high", STR("the case has no fields"), NULL, NULL);
    /* A reply that is full is refused as a whole, so nothing more is looked for. */
    for (size_t i = 0; i < c->field_count && !buf_full(o->buf); i++) {
        check_field(&q, &c->fields[i]);
        check_twins(&q, i);
    }
    check_effective(&q);
    json_out_end(o);
    json_member_bool(o, "clean", q.issues == 0);
    json_out_end(o);
    arena_release(&q.sentence);
}
