/* config_mask.c - the settings of masking: groups of rules, and patterns of the user.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

static bool config_read_groups(struct config_build *b, const struct json_node *list)
{
    const struct json *doc = &b->source->doc;

    b->c->mask_groups = list ? 0 : MASK_DEFAULT;
    for (const struct json_node *n = list ? json_first(doc, list) : NULL; n;
         n = json_next(doc, list, n)) {
        unsigned groups;
        const char *near;
        str name;

        if (!json_text(doc, n, &b->c->arena, &name))
            return false;
        groups = mask_group_find(name);
        near = groups ? NULL : config_nearest(name, mask_group_names);
        if (!groups)
            return config_wrong(b,
                                n,
                                "no group \"" STR_FMT "\"%s%s%s",
                                STR_ARG(str_slice(name, 0, 40)),
                                near ? ", did you mean \""
                                     : ": credentials, private_keys, cards, kubernetes_secrets, "
                                       "email, phone, iban, ssn, ip or all",
                                near ? near : "",
                                near ? "\"?" : "");
        b->c->mask_groups |= groups;
    }
    return true;
}

static str config_mask_text_at(struct config_build *b, const struct json_node *object,
                               const char *name)
{
    const struct json_node *v = json_find(&b->source->doc, object, str_c(name));
    str s = STR("");

    return v && json_text(&b->source->doc, v, &b->c->arena, &s) ? arena_dup(&b->c->arena, s)
                                                                : STR("");
}

static bool config_read_pattern(struct config_build *b, const struct json_node *v)
{
    const struct json *doc = &b->source->doc;
    struct mask_pattern *p = &b->c->mask_patterns[b->c->mask_pattern_count];
    const struct json_node *at = json_find(doc, v, STR("name"));
    bool enabled;
    struct err e;

    *p = (struct mask_pattern){config_mask_text_at(b, v, "name"),
                               config_mask_text_at(b, v, "pattern"),
                               config_mask_text_at(b, v, "replacement")};
    if (!config_check_name(b, at, p->name))
        return false;
    for (size_t i = 0; i < b->c->mask_pattern_count; i++)
        if (str_eq(b->c->mask_patterns[i].name, p->name))
            return config_wrong(b, at, "there are two patterns with this name: rename one");
    if (!mask_pattern_check(p, &e))
        return config_wrong(b, json_find(doc, v, STR("pattern")), "%s", e.text);
    if (!json_bool(json_find(doc, v, STR("enabled")), &enabled) || enabled)
        b->c->mask_pattern_count++;
    return true;
}

bool config_mask_patterns_read(struct config_build *b, const struct json_node *list)
{
    const struct json *doc = &b->source->doc;
    size_t n = json_count(doc, list);

    if (n > MASK_PATTERNS_MAX)
        return config_wrong(b, list, "at most %d patterns", MASK_PATTERNS_MAX);
    b->c->mask_patterns = arena_zero(&b->c->arena, n + 1, sizeof b->c->mask_patterns[0]);
    b->c->mask_pattern_count = 0;
    for (const struct json_node *one = list ? json_first(doc, list) : NULL; one;
         one = json_next(doc, list, one))
        if (!config_read_pattern(b, one))
            return false;
    return true;
}

bool config_mask_read(struct config_build *b, const struct json_node *v)
{
    const struct json *doc = &b->source->doc;

    return config_read_groups(b, json_find(doc, v, STR("pattern_groups"))) &&
           config_mask_patterns_read(b, json_find(doc, v, STR("custom_patterns")));
}
