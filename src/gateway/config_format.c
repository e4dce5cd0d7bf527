/* config_format.c - how a provider marks reasoning in its text: format, open and close.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"
#include "gateway/provider.h"

#define FORMATS_MAX 128

static const char *format_nearest(str id)
{
    const char *names[FORMATS_MAX + 3] = {"auto", "none"};
    size_t n = 0;

    for (; n < FORMATS_MAX && split_format_at(n); n++)
        names[n + 2] = split_format_at(n)->id;
    names[n + 2] = NULL;
    return config_nearest(id, names);
}

/* A copy of the format, with the markers of another one (or NULL) beside its own. The index of
 * their first bytes is built here, not for each reply. */
static const struct split_format *format_copy(struct config_build *b, const struct split_format *f,
                                              const struct split_format *also)
{
    struct split_format *copy = arena_alloc(&b->c->arena, sizeof *copy);
    struct split_index *index = arena_alloc(&b->c->arena, sizeof *index);

    *copy = *f;
    copy->also = also;
    split_index_init(index, copy);
    copy->index = index;
    return copy;
}

static bool format_read_id(struct config_build *b, struct config_provider *p,
                           const struct json_node *v)
{
    str id = config_string(b, v);
    const char *near;

    if (str_eq(id, STR("none")))
        return true;
    p->format = split_format_find(id);
    if (p->format)
        return true;
    near = format_nearest(id);
    return config_wrong(b,
                        v,
                        "no format \"" STR_FMT "\"%s%s%s",
                        STR_ARG(str_slice(id, 0, 40)),
                        near ? ", did you mean \"" : "; `rationale split --formats` lists them",
                        near ? near : "",
                        near ? "\"?" : "");
}

static bool format_read_pair(struct config_build *b, struct config_provider *p,
                             const struct json_node *v)
{
    const struct json_node *open = config_member(b, v, "open");
    const struct json_node *close = config_member(b, v, "close");
    struct err e;

    if (!open || !close)
        return config_wrong(b, open ? open : close, "open and close belong together: give both");
    if (config_member(b, v, "format"))
        return config_wrong(b, open, "give either format or open and close");
    p->pair = arena_zero(&b->c->arena, 1, sizeof *p->pair);
    if (!split_pair_init(p->pair, config_string(b, open), config_string(b, close), &e))
        return config_wrong(b, open, "%s", e.text);
    p->format = &p->pair->format;
    return true;
}

bool config_format_read(struct config_build *b, struct config_provider *p,
                        const struct json_node *v)
{
    const struct json_node *format = config_member(b, v, "format");
    bool pair = config_member(b, v, "open") || config_member(b, v, "close");

    if (!format && !pair && !provider_separates(p->url.host))
        p->format = split_format_auto();
    if (format && !format_read_id(b, p, format))
        return false;
    if (pair && !format_read_pair(b, p, v))
        return false;
    if (p->starts_in_reasoning && !p->format)
        config_warn(b,
                    config_member(b, v, "starts_in_reasoning"),
                    "starts_in_reasoning has no effect: without a format nothing says where the "
                    "reasoning ends; set format");
    p->asked_format = p->format ? format_copy(b, p->format, split_format_asked())
                                : format_copy(b, split_format_asked(), NULL);
    if (p->format)
        p->format = format_copy(b, p->format, NULL);
    return true;
}
