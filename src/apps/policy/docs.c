/* docs.c - the documents of the configuration in force, loaded once and shared by who uses them.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/docs.h"

#include "apps/policy/version.h"

struct policy_docs {
    struct config *config;
    struct policy_doc **list;
    size_t n;
    _Atomic unsigned refs;
};

void policy_docs_release(struct policy_docs *d)
{
    if (!d || atomic_fetch_sub(&d->refs, 1) > 1)
        return;
    assert(atomic_load(&d->refs) == 0);
    for (size_t i = 0; i < d->n; i++)
        policy_doc_free(d->list[i]);
    free(d->list);
    config_release(d->config);
    free(d);
}

struct policy_docs *policy_docs_hold(struct policy_docs *d)
{
    assert(atomic_load(&d->refs) > 0);
    atomic_fetch_add(&d->refs, 1);
    return d;
}

bool policy_docs_load(struct config *c, struct policy_docs **out, struct err *e)
{
    const struct config_policy *p = &c->policy;
    struct policy_docs *d = base_alloc(sizeof *d);

    *d = (struct policy_docs){.config = config_retain(c), .refs = 1};
    d->list = base_alloc((p->document_count + 1) * sizeof d->list[0]);
    for (; d->n < p->document_count; d->n++) {
        const struct config_document *doc = &p->documents[d->n];

        if (!policy_doc_load(doc->id.p, doc->file.p, &d->list[d->n], e)) {
            err_prefix(e, "policy.documents." STR_FMT ": ", STR_ARG(doc->id));
            policy_docs_release(d);
            return false;
        }
    }
    if (!policy_versions_check(policy_docs_all(d), d->n, e)) {
        err_prefix(e, "policy.documents.");
        policy_docs_release(d);
        return false;
    }
    *out = d;
    return true;
}

bool policy_docs_of(const struct policy_docs *d, const struct config *c)
{
    return d->config == c;
}

struct config *policy_docs_config(struct policy_docs *d)
{
    return d->config;
}

size_t policy_docs_count(const struct policy_docs *d)
{
    return d ? d->n : 0;
}

const struct policy_doc *policy_docs_at(const struct policy_docs *d, size_t i)
{
    assert(i < d->n);
    return d->list[i];
}

const struct policy_doc *policy_docs_find(const struct policy_docs *d, str id)
{
    for (size_t i = 0; d && i < d->n; i++)
        if (str_eq(d->list[i]->id, id))
            return d->list[i];
    return NULL;
}

const struct policy_doc *const *policy_docs_all(const struct policy_docs *d)
{
    return d ? (const struct policy_doc *const *)d->list : NULL;
}
