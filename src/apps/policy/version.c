/* version.c - see version.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/version.h"

#define NAMES_MAX 120 /* bytes of an error that the names of versions may take */

bool policy_is_day(str s)
{
    char time[32];
    int64_t ms;

    (void)snprintf(time, sizeof time, STR_FMT "T00:00:00Z", STR_ARG(str_slice(s, 0, 10)));
    return s.n == 10 && clock_parse(str_c(time), &ms);
}

str policy_today(const struct clock *c, char out[POLICY_DAY_SIZE])
{
    char now[CLOCK_TEXT_SIZE];

    (void)snprintf(out, POLICY_DAY_SIZE, "%.10s", clock_format(clock_wall_ms(c), now).p);
    assert(out[4] == '-' && strlen(out) == POLICY_DAY_SIZE - 1);
    return str_c(out);
}

static bool policy_version_same_text(str a, str b)
{
    return a.n > 0 && str_eq_nocase(a, b);
}

bool policy_is_version(const struct policy_doc *d, str id)
{
    size_t n = 0;

    while (n < d->id.n && d->id.p[n] != '@' && d->id.p[n] != ':')
        n++;
    return policy_version_same_text(d->id, id) ||
           policy_version_same_text(str_slice(d->id, 0, n), id);
}

/* A date may be followed by a time. */
static str policy_version_day(str date)
{
    return str_slice(str_trim(date), 0, 10);
}

bool policy_in_force(const struct policy_doc *d, str day)
{
    str start = policy_version_day(d->tree.effective_start);
    str end = policy_version_day(d->tree.effective_end);

    return (start.n == 0 || str_cmp(start, day) <= 0) && (end.n == 0 || str_cmp(day, end) <= 0);
}

/* Below 0 if a began first; one that names no day began before all others. */
static int policy_version_order(const struct policy_doc *a, const struct policy_doc *b)
{
    return str_cmp(policy_version_day(a->tree.effective_start),
                   policy_version_day(b->tree.effective_start));
}

/* Of two documents that fit alike: the one that is spelled exactly like the id, with *other NULL;
 * otherwise a, with *other b. */
static const struct policy_doc *policy_version_of_two(const struct policy_doc *a,
                                                      const struct policy_doc *b, str id,
                                                      const struct policy_doc **other)
{
    assert(a != b);
    if (policy_version_same_text(a->id, id))
        return a;
    *other = policy_version_same_text(b->id, id) ? NULL : b;
    return *other ? a : b;
}

const struct policy_doc *policy_version_on(const struct policy_doc *const *docs, size_t n, str id,
                                           str day, struct policy_version_others *others)
{
    const struct policy_doc *best = NULL;

    *others = (struct policy_version_others){0, NULL};
    for (size_t i = 0; i < n; i++) {
        int order;

        if (!policy_is_version(docs[i], id))
            continue;
        others->count++;
        if (!policy_in_force(docs[i], day))
            continue;
        order = best ? policy_version_order(docs[i], best) : 1;
        if (order > 0) {
            best = docs[i];
            others->same_day = NULL;
        } else if (order == 0) {
            best = policy_version_of_two(best, docs[i], id, &others->same_day);
        }
    }
    return best;
}

void policy_version_names(const struct policy_doc *const *docs, size_t n, str id, struct buf *out)
{
    size_t began = out->n, left = 0;

    for (size_t i = 0; i < n; i++) {
        str start, end;

        if (!policy_is_version(docs[i], id))
            continue;
        if (out->n - began > NAMES_MAX - 50) {
            left++;
            continue;
        }
        start = policy_version_day(docs[i]->tree.effective_start);
        end = policy_version_day(docs[i]->tree.effective_end);
        buf_printf(out,
                   "%s" STR_FMT,
                   out->n > began ? ", " : "",
                   STR_ARG(str_slice(policy_doc_version(docs[i]), 0, 40)));
        if (start.n && end.n)
            buf_printf(out, " (" STR_FMT " to " STR_FMT ")", STR_ARG(start), STR_ARG(end));
        else if (start.n || end.n)
            buf_printf(
                out, " (%s " STR_FMT ")", start.n ? "from" : "to", STR_ARG(start.n ? start : end));
    }
    assert(left < n || n == 0);
    if (left)
        buf_printf(out, " and %zu more", left);
}

static const struct policy_doc *policy_version_named(const struct policy_doc *const *docs, size_t n,
                                                     const struct policy_want *w,
                                                     const struct policy_doc **second)
{
    const struct policy_doc *first = NULL;

    *second = NULL;
    for (size_t i = 0; i < n; i++)
        if (policy_is_version(docs[i], w->id) &&
            (str_eq(docs[i]->tree.version, w->version) ||
             (w->version.n >= 12 && str_starts(str_c(docs[i]->tree.hash), w->version)))) {
            first = first ? policy_version_of_two(first, docs[i], w->id, second) : docs[i];
        }
    return first;
}

/* Documents of different ids that are versions of one: only the whole id tells them apart. */
static bool policy_version_refuse_two(const struct policy_doc *a, const struct policy_doc *b,
                                      const struct policy_want *w, struct err *e)
{
    return err_input(e,
                     "\"" STR_FMT "\" and \"" STR_FMT "\" are both %s \"" STR_FMT
                     "\"%s; name one of them",
                     STR_ARG(str_slice(a->id, 0, 60)),
                     STR_ARG(str_slice(b->id, 0, 60)),
                     w->version.n ? "version" : "versions of",
                     STR_ARG(str_slice(w->version.n ? w->version : w->id, 0, 40)),
                     w->version.n ? "" : " that began on the same day");
}

/* The reason for a refusal, with the versions that exist. */
static bool policy_version_refuse(const struct policy_doc *const *docs, size_t n,
                                  const struct policy_want *w, const struct policy_doc *named,
                                  struct err *e)
{
    struct buf have;

    assert(!named || w->version.n > 0);
    buf_init(&have, 4096);
    policy_version_names(docs, n, w->id, &have);
    if (w->version.n && !named)
        err_input(e,
                  "\"" STR_FMT "\" has no version \"" STR_FMT "\"; there are: " STR_FMT,
                  STR_ARG(str_slice(w->id, 0, 40)),
                  STR_ARG(str_slice(w->version, 0, 40)),
                  STR_ARG(buf_str(&have)));
    else
        err_input(e,
                  "%s" STR_FMT "%s of \"" STR_FMT "\" %s in force on " STR_FMT
                  "; there are: " STR_FMT,
                  named ? "version \"" : "no version",
                  STR_ARG(str_slice(named ? w->version : STR(""), 0, 40)),
                  named ? "\"" : "",
                  STR_ARG(str_slice(w->id, 0, 40)),
                  named ? "was not" : "is",
                  STR_ARG(w->as_of.n ? w->as_of : w->today),
                  STR_ARG(buf_str(&have)));
    buf_release(&have);
    return false;
}

/* member: the member of the case's metadata that a refusal is about. */
static bool policy_version_search(const struct policy_doc *const *docs, size_t n,
                                  const struct policy_want *w, const struct policy_doc **out,
                                  const char **member, struct err *e)
{
    struct policy_version_others others;

    *member = w->version.n && !w->as_of.n ? "policy_version_id" : "as_of_date";
    *out = policy_version_on(docs, n, w->id, w->as_of.n ? w->as_of : w->today, &others);
    if (w->as_of.n && !policy_is_day(w->as_of))
        return err_input(e,
                         "\"" STR_FMT "\" is no day; write it as YYYY-MM-DD",
                         STR_ARG(str_slice(w->as_of, 0, 40)));
    if (w->version.n && others.count) {
        *out = policy_version_named(docs, n, w, &others.same_day);
        if (!*out || (w->as_of.n && !policy_in_force(*out, w->as_of)))
            return policy_version_refuse(docs, n, w, *out, e);
    }
    assert(!*out || (others.count > 0 && policy_is_version(*out, w->id)));
    if (*out && others.same_day) {
        *member = "policy_document_id";
        return policy_version_refuse_two(*out, others.same_day, w, e);
    }
    return *out || !others.count || policy_version_refuse(docs, n, w, NULL, e);
}

bool policy_version_find(const struct policy_doc *const *docs, size_t n,
                         const struct policy_want *w, const struct policy_doc **out, struct err *e)
{
    const char *member;

    return policy_version_search(docs, n, w, out, &member, e);
}

/* "" if the documents are of more than one id. */
static str policy_version_only_id(const struct policy_doc *const *docs, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (!str_eq(docs[i]->id, docs[0]->id))
            return STR("");
    return n ? docs[0]->id : STR("");
}

static bool policy_version_of_case(const struct policy_doc *const *docs, size_t n,
                                   const struct policy_want *w, const struct policy_doc **out,
                                   struct err *e)
{
    const char *member;

    return policy_version_search(docs, n, w, out, &member, e) ||
           err_prefix(e, "case_bundle.metadata.%s: ", member);
}

bool policy_case_doc(const struct policy_case *c, const struct policy_doc *const *docs, size_t n,
                     str today, const struct policy_doc **out, struct err *e)
{
    struct policy_want w = {.id = c->policy_document_id,
                            .version = c->policy_version_id,
                            .as_of = c->as_of_date,
                            .today = today};
    bool known = false;

    if (!w.id.n) {
        for (size_t i = 0; i < n; i++)
            known |= policy_is_version(docs[i], c->policy_id);
        w.id = known ? c->policy_id : policy_version_only_id(docs, n);
    }
    return policy_version_of_case(docs, n, &w, out, e);
}

bool policy_file_doc(const struct policy_case *c, const struct policy_doc *doc, str today,
                     const struct policy_doc **out, struct err *e)
{
    struct policy_want w = {
        .id = doc->id, .version = c->policy_version_id, .as_of = c->as_of_date, .today = today};

    return policy_versions_check(&doc, 1, e) && policy_version_of_case(&doc, 1, &w, out, e);
}

/* ---- at load ---- */

static bool policy_version_check_day(const struct policy_doc *d, const char *name, str date,
                                     struct err *e)
{
    return date.n == 0 || policy_is_day(policy_version_day(date)) ||
           err_input(e,
                     STR_FMT ": %s: \"" STR_FMT "\" is no day; write it as YYYY-MM-DD",
                     STR_ARG(d->id),
                     name,
                     STR_ARG(str_slice(date, 0, 40)));
}

static bool policy_version_check_pair(const struct policy_doc *a, const struct policy_doc *b,
                                      struct err *e)
{
    assert(a != b);
    if (!str_eq(a->id, b->id))
        return true;
    if (str_eq(policy_doc_version(a), policy_doc_version(b)))
        return err_input(e,
                         STR_FMT ": two files have the version \"" STR_FMT
                                 "\"; give each its own in its front matter (version)",
                         STR_ARG(a->id),
                         STR_ARG(str_slice(policy_doc_version(a), 0, 40)));
    if (policy_version_order(a, b) == 0)
        return err_input(e,
                         STR_FMT ": versions \"" STR_FMT "\" and \"" STR_FMT
                                 "\" begin on the same day; give each its own effective_from",
                         STR_ARG(a->id),
                         STR_ARG(str_slice(policy_doc_version(a), 0, 40)),
                         STR_ARG(str_slice(policy_doc_version(b), 0, 40)));
    return true;
}

bool policy_versions_check(const struct policy_doc *const *docs, size_t n, struct err *e)
{
    for (size_t i = 0; i < n; i++) {
        const struct policy_tree *t = &docs[i]->tree;

        if (!policy_version_check_day(docs[i], "effective_from", t->effective_start, e) ||
            !policy_version_check_day(docs[i], "effective_to", t->effective_end, e))
            return false;
        if (t->effective_start.n && t->effective_end.n &&
            str_cmp(policy_version_day(t->effective_start), policy_version_day(t->effective_end)) >
                0)
            return err_input(
                e, STR_FMT ": effective_from is after effective_to", STR_ARG(docs[i]->id));
        for (size_t k = 0; k < i; k++)
            if (!policy_version_check_pair(docs[k], docs[i], e))
                return false;
    }
    return true;
}

void policy_version_json(const struct policy_doc *d, bool in_force, struct json_out *o)
{
    json_member_str(o, "version", policy_doc_version(d));
    json_member_str(o, "hash", str_c(d->tree.hash));
    json_member_str_or_null(o, "effective_from", policy_version_day(d->tree.effective_start));
    json_member_str_or_null(o, "effective_to", policy_version_day(d->tree.effective_end));
    json_member_bool(o, "in_force", in_force);
}
