/* config_apps.c - the settings of applications that are more than a single value.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

str config_text(struct config_build *b, const struct json_node *v)
{
    str s = STR("");

    if (!v)
        return s;
    if (json_text(&b->source->doc, v, &b->c->arena, &s))
        return arena_dup(&b->c->arena, s);
    return v->kind == JSON_STRING ? STR("") : arena_dup(&b->c->arena, json_raw(&b->source->doc, v));
}

static bool config_add_document(struct config_build *b, const struct json_node *id,
                                const struct json_node *file)
{
    struct config_policy *p = &b->c->policy;
    struct config_document *d = &p->documents[p->document_count++];

    d->id = config_text(b, id);
    return config_resolve(b, id, config_text(b, file), &d->file);
}

static bool config_read_documents(struct config_build *b, const struct json_node *all)
{
    const struct json *doc = &b->source->doc;
    struct config_policy *p = &b->c->policy;
    size_t n = 0;

    JSON_FOREACH(k, doc, all)
        n += json_value(k)->kind == JSON_ARRAY ? json_count(doc, json_value(k)) : 1;
    if (n > CONFIG_DOCUMENTS_MAX)
        return config_wrong(b, all, "at most %d documents", CONFIG_DOCUMENTS_MAX);
    p->documents = arena_zero(&b->c->arena, n + 1, sizeof p->documents[0]);
    JSON_FOREACH(k, doc, all) {
        const struct json_node *v = json_value(k);

        if (v->kind != JSON_ARRAY && !config_add_document(b, k, v))
            return false;
        JSON_FOREACH(file, doc, v)
            if (!config_add_document(b, k, file))
                return false;
    }
    return true;
}

static bool config_read_domains(struct config_build *b, const struct json_node *list)
{
    const struct json *doc = &b->source->doc;
    struct config_incidents *c = &b->c->incidents;
    size_t n = json_count(doc, list);

    if (n > CONFIG_DOCUMENTS_MAX)
        return config_wrong(b, list, "at most %d domains", CONFIG_DOCUMENTS_MAX);
    c->domains = arena_zero(&b->c->arena, n + 1, sizeof c->domains[0]);
    for (const struct json_node *v = json_first(doc, list); v; v = json_next(doc, list, v))
        c->domains[c->domain_count++] = config_text(b, v);
    return true;
}

/* A secret is in the environment, never in the file. */
static bool config_check_secret(struct config_build *b, const struct json_node *root,
                                const char *path)
{
    const struct json_node *v = config_at(&b->source->doc, root, path);
    str name = config_text(b, v);

    if (!name.n)
        return true;
    if (!config_is_variable(name))
        return config_wrong(
            b, v, "must be the name of an environment variable, not the secret itself");
    if (!getenv(name.p))
        config_warn(b,
                    v,
                    "the environment variable " STR_FMT
                    " is not set; webhooks of this sender will be refused",
                    STR_ARG(config_shown_variable(b, name)));
    return true;
}

bool config_apps_read(struct config_build *b, const struct json_node *root)
{
    const struct json_node *documents = config_at(&b->source->doc, root, "policy.documents");
    const struct json_node *domains = config_at(&b->source->doc, root, "incidents.runbook_domains");
    const struct json_node *notify = config_at(&b->source->doc, root, "incidents.notify");

    return (!documents || config_read_documents(b, documents)) &&
           (!domains || config_read_domains(b, domains)) &&
           config_check_secret(b, root, "incidents.pagerduty_secret_env") &&
           config_check_secret(b, root, "incidents.grafana_secret_env") &&
           config_notify_read(b, notify);
}
