/* prompt.c - one version of a prompt: its id, its texts, and those that are compiled in.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/registry.h"

#include "agent/tool.h"
#include "base/sha256.h"

#define ID_DIGITS 12

const char *prompt_state_name(enum prompt_state s)
{
    return NAME_OF(s, "draft", "approved", "active", "retired");
}

/* ---- a version's id ---- */

static bool app_prompt_is_word(str s, const char *more)
{
    for (size_t i = 0; i < s.n; i++) {
        char c = s.p[i];

        if (!((c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || (c && strchr(more, c))))
            return false;
    }
    return s.n > 0 && s.n <= PROMPT_NAME_MAX;
}

static bool prompt_check_components(const struct json *doc, struct arena *a, struct err *e)
{
    const struct json_node *root = json_root(doc);
    size_t n = json_count(doc, root), size = 0;
    str key, text;

    if (root->kind != JSON_OBJECT || n == 0 || n > PROMPT_COMPONENTS_MAX)
        return err_input(e,
                         "a version is a JSON object of 1 to %d texts, such as {\"system_prompt\": "
                         "\"...\"}",
                         PROMPT_COMPONENTS_MAX);
    JSON_FOREACH(k, doc, root) {
        if (!json_text(doc, k, a, &key) ||
            !app_prompt_is_word(key, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_.-"))
            return err_input(e, "a component's name has letters, digits, _ . and -");
        if (json_find(doc, root, key) != json_value(k))
            return err_input(e, STR_FMT ": is there twice", STR_ARG(key));
        if (!json_text(doc, json_value(k), a, &text) || memchr(text.p, '\0', text.n))
            return err_input(e, STR_FMT ": must be a text without NULs", STR_ARG(key));
        size += text.n;
    }
    return size <= PROMPT_SIZE_MAX ||
           err_set(e, ERR_LIMIT, "a version has at most %zu bytes of text", PROMPT_SIZE_MAX);
}

static str app_prompt_id_of(str name, str canonical, struct arena *a)
{
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];

    assert(name.n > 0 && name.n <= PROMPT_NAME_MAX && canonical.n > 0);
    sha256_of(canonical, digest);
    return arena_join(a, name, STR("@"), str_slice(sha256_hex(digest, hex), 0, ID_DIGITS));
}

bool prompt_settle(str name, str components, struct arena *a, str *canonical, str *id,
                   struct err *e)
{
    struct json doc;
    struct buf out;
    bool ok;

    if (!app_prompt_is_word(name, "_-"))
        return err_input(
            e, "a prompt's name has 1 to %d lower case letters, digits, _ and -", PROMPT_NAME_MAX);
    if (components.n > 6 * PROMPT_SIZE_MAX)
        return err_set(e, ERR_LIMIT, "a version has at most %zu bytes of text", PROMPT_SIZE_MAX);
    buf_init(&out, 8 * PROMPT_SIZE_MAX);
    ok = json_open(&doc, components, e) && prompt_check_components(&doc, a, e);
    if (ok) {
        tool_canonical(&out, components);
        ok = buf_ok(&out, "the version", e);
    }
    if (ok) {
        *canonical = arena_dup(a, buf_str(&out));
        *id = app_prompt_id_of(name, *canonical, a);
    }
    buf_release(&out);
    json_release(&doc);
    return ok;
}

void prompt_built_in(const struct prompt_built_in *b, struct arena *a, struct prompt *out)
{
    struct json_text json;
    struct err e;

    assert(b->count > 0 && b->count <= PROMPT_COMPONENTS_MAX);
    *out = (struct prompt){.name = str_c(b->name),
                           .state = PROMPT_ACTIVE,
                           .built_in = true,
                           .parent = STR(""),
                           .run_id = STR(""),
                           .scores = STR(""),
                           .created_by = STR(""),
                           .approved_by = STR(""),
                           .moved_by = STR("")};
    json_text_begin(&json, 8 * PROMPT_SIZE_MAX);
    for (size_t i = 0; i < b->count; i++)
        json_member_str(&json.o, b->parts[i].name, str_c(b->parts[i].text));
    if (!prompt_settle(
            out->name, json_text_end(&json, a, STR("")), a, &out->components, &out->id, &e))
        base_die("the prompt %s: %s", b->name, e.text);
}

/* ---- texts ---- */

str prompt_text(const struct prompt *p, const struct prompt_built_in *b, const char *component,
                struct arena *a)
{
    struct json doc;
    struct err e;
    str text = STR("");
    bool there;

    there = json_open(&doc, p->components, &e) &&
            json_text(&doc, json_find(&doc, json_root(&doc), str_c(component)), a, &text);
    if (there)
        text = arena_dup(a, text);
    json_release(&doc);
    for (size_t i = 0; !there && b && i < b->count; i++)
        if (strcmp(b->parts[i].name, component) == 0)
            return str_c(b->parts[i].text);
    return text;
}

void prompt_write(const struct prompt *p, bool components, struct json_out *o)
{
    assert(!components || p->components.n > 0); /* registry_list omits them */
    json_out_object(o);
    json_member_str_or_null(o, "id", p->id);
    json_member_str_or_null(o, "name", p->name);
    json_member_str_or_null(o, "state", str_c(prompt_state_name(p->state)));
    json_member_bool(o, "built_in", p->built_in);
    if (components)
        json_member_raw(o, "components", p->components);
    json_member_str_or_null(o, "parent", p->parent);
    json_member_str_or_null(o, "run_id", p->run_id);
    json_member_raw(o, "scores", p->scores.n ? p->scores : STR("null"));
    json_member_i64_or_null(o, "created_us", p->created_us ? p->created_us : -1);
    json_member_str_or_null(o, "created_by", p->created_by);
    json_member_i64_or_null(o, "approved_us", p->approved_us ? p->approved_us : -1);
    json_member_str_or_null(o, "approved_by", p->approved_by);
    json_member_i64_or_null(o, "moved_us", p->moved_us ? p->moved_us : -1);
    json_member_str_or_null(o, "moved_by", p->moved_by);
    json_out_end(o);
}
