/* mask.c - creates a masker, and the names of its rules.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/internal.h"

#include "base/arena.h"

#define PLACEHOLDER "[MASKED:" STR_FMT "]"

/* Writes names and placeholders of all rules into one piece of memory. */
static void mask_name_rules(struct mask *m, const struct mask_options *o)
{
    struct buf b;
    size_t at = 0;

    m->rule_count = MASK_RULE_COUNT + o->pattern_count;
    buf_init(&b, (size_t)1 << 20);
    for (size_t i = 0; i < m->rule_count; i++) {
        const struct mask_pattern *p =
            i < MASK_RULE_COUNT ? NULL : &o->patterns[i - MASK_RULE_COUNT];
        str name = p ? p->name : str_c(mask_rule_names[i]);

        buf_add(&b, name);
        m->names[i].n = b.n - at;
        at = b.n;
        if (p && p->replacement.n)
            buf_add(&b, p->replacement);
        else
            buf_printf(&b, PLACEHOLDER, STR_ARG(name));
        m->placeholders[i].n = b.n - at;
        at = b.n;
    }
    assert(!buf_full(&b));
    m->texts = b.p;
    at = 0;
    for (size_t i = 0; i < m->rule_count; i++) {
        m->names[i].p = m->texts + at;
        at += m->names[i].n;
        m->placeholders[i].p = m->texts + at;
        at += m->placeholders[i].n;
    }
}

bool mask_new(const struct mask_options *o, struct mask **out, struct err *e)
{
    struct mask *m;

    if (o->pattern_count > MASK_PATTERNS_MAX)
        return err_set(e, ERR_LIMIT, "at most %d patterns", MASK_PATTERNS_MAX);
    m = base_alloc(sizeof *m);
    memset(m, 0, sizeof *m);
    m->groups = o->groups;
    mask_leads_init(&m->leads, o->groups);
    if (!mask_customs_new(m, o, e)) {
        mask_free(m);
        return false;
    }
    mask_name_rules(m, o);
    *out = m;
    return true;
}

void mask_free(struct mask *m)
{
    if (!m)
        return;
    mask_customs_free(m);
    mask_leads_release(&m->leads);
    free(m->texts);
    free(m);
}

size_t mask_rule_count(const struct mask *m)
{
    return m->rule_count;
}

str mask_rule_name(const struct mask *m, size_t rule)
{
    assert(rule < m->rule_count);
    return m->names[rule];
}

bool mask_minds_counts(const struct mask *m)
{
    /* These rules look for names and forms that numbers do not have; a card number has more
     * digits. */
    unsigned none = MASK_CREDENTIALS | MASK_PRIVATE_KEYS | MASK_CARDS | MASK_KUBERNETES;

    return m->custom_count || (m->groups & ~none);
}
