/* SPDX-License-Identifier: Apache-2.0 */
#include "base/schema/internal.h"

/* Far more than schemas of SCHEMA_SIZE_MAX can need: BUILD_MAX is reached before. */
#define ARENA_MAX ((size_t)2 << 30)
#define BUILD_MAX ((uint64_t)96 << 20) /* bytes and steps of compiling */

struct schema *schema_new(void)
{
    struct schema *s = base_alloc(sizeof *s);

    *s = (struct schema){.build_left = BUILD_MAX, .work_max = SCHEMA_WORK_MAX};
    arena_init(&s->arena, ARENA_MAX);
    return s;
}

void schema_free(struct schema *s)
{
    if (!s)
        return;
    for (size_t i = 0; i < s->regex_count; i++)
        schema_regex_free(s->regexes[i]);
    free(s->regexes);
    for (struct schema_doc *doc = s->docs; doc; doc = doc->next)
        json_release(&doc->json);
    arena_release(&s->arena);
    free(s);
}

void schema_work_set(struct schema *s, uint64_t work_max)
{
    s->work_max = work_max;
}

void schema_keep_regex(struct schema *s, struct schema_regex *r)
{
    s->regexes =
        base_grow(s->regexes, s->regex_count, &s->regex_cap, sizeof(struct schema_regex *));
    s->regexes[s->regex_count++] = r;
}

bool schema_add(struct schema *s, str uri, str text, struct err *e)
{
    struct schema_doc *doc;

    assert(!s->root);
    if (uri.n == 0 || uri.n > SCHEMA_URI_MAX || str_find(uri, STR("#")) != STR_NONE)
        return err_input(e,
                         "a schema document needs a URI without fragment, of at most %d bytes",
                         SCHEMA_URI_MAX);
    return schema_doc_new(s, uri, text, &doc, e);
}

bool schema_compile(struct schema *s, str text, struct err *e)
{
    struct schema_node *root;
    struct schema_doc *doc;

    assert(!s->root);
    if (!schema_doc_new(s, STR(""), text, &doc, e))
        return false;
    for (struct schema_doc *d = s->docs; d; d = d->next)
        if (!schema_doc_scan(s, d, e))
            return false;
    if (!schema_node_get(s, doc, json_root(&doc->json), &root, e))
        return false;
    if (!schema_rules_make(s, e) || !schema_loops_check(s, e))
        return false;
    s->root = root;
    return true;
}
