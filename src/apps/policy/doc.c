/* doc.c - a document from its file to its index. See search.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/format/format.h"
#include "apps/policy/fts.h"
#include "apps/policy/scope.h"
#include "base/file.h"

static size_t policy_doc_text_size(const struct policy_tree *t)
{
    size_t n = 0;

    for (uint32_t i = 0; i < t->node_count; i++)
        n += t->nodes[i].text.n;
    return n;
}

static bool policy_read_doc(struct policy_doc *d, str name, str text, struct err *e)
{
    if (!policy_tree_any(text, name, &d->arena, &d->tree, e) || !fts_open(&d->tree, &d->index, e))
        return false;
    assert(d->index && d->tree.node_count <= POLICY_NODES_MAX && !d->scope);
    if (policy_doc_text_size(&d->tree) <= SCOPE_KEPT_MAX)
        d->scope = scope_of(d, &d->arena);
    return true;
}

bool policy_doc_parse(str id, str name, str text, struct policy_doc **out, struct err *e)
{
    struct policy_doc *d = base_alloc(sizeof *d);

    memset(d, 0, sizeof *d);
    arena_init(&d->arena, POLICY_ARENA_MAX);
    d->id = arena_dup(&d->arena, id);
    if (!policy_read_doc(d, name, text, e)) {
        policy_doc_free(d);
        return false;
    }
    assert(d->index && d->id.p);
    *out = d;
    return true;
}

/* A file's name without the extension. */
static str policy_stem_of(str name)
{
    size_t dot = str_find_last(name, '.');

    return dot > 0 && dot != STR_NONE ? str_slice(name, 0, dot) : name;
}

/* A file without text was not written to its end: no case could be decided by it. */
static bool policy_doc_has_text(const struct policy_doc *d, struct err *e)
{
    return d->tree.node_count > 0 ||
           err_set(e, ERR_INPUT, "has no text; save the policy again, with its sections");
}

bool policy_doc_load(const char *id, const char *path, struct policy_doc **out, struct err *e)
{
    struct policy_doc *d = NULL;
    const char *slash = strrchr(path, '/');
    str name = str_c(slash ? slash + 1 : path), text;
    struct arena scratch;
    bool ok;

    arena_init(&scratch, POLICY_SIZE_MAX + ((size_t)1 << 20));
    ok = file_read(&scratch, path, POLICY_SIZE_MAX, &text, e) &&
         ((policy_doc_parse(id ? str_c(id) : policy_stem_of(name), name, text, &d, e) &&
           policy_doc_has_text(d, e)) ||
          err_prefix(e, "%s: ", path));
    arena_release(&scratch);
    if (ok)
        *out = d;
    else
        policy_doc_free(d);
    return ok;
}

void policy_doc_free(struct policy_doc *d)
{
    if (!d)
        return;
    fts_close(d->index);
    arena_release(&d->arena);
    free(d);
}

str policy_doc_cited(const struct policy_doc *d, str asked)
{
    return asked.n > 0 ? asked : d->id;
}

str policy_doc_version(const struct policy_doc *d)
{
    assert(strlen(d->tree.hash) == sizeof d->tree.hash - 1);
    return d->tree.version.n > 0 ? d->tree.version : (str){d->tree.hash, 12};
}
