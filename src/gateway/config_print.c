/* config_print.c - prints the configuration in force as valid YAML, each value with its source.
 *
 * A text with ${VAR} in it is shown as it was written, a password in a URL and the values of
 * headers not at all, and of a key's digest only its front.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

#include "base/sha256.h"
#include "gateway/provider.h"

#define COMMENT_COLUMN 48
#define DIGEST_SHOWN 8

struct printer {
    const struct config *c;
    const struct json *doc;
    struct buf *out;
    struct buf line;
};

static str config_print_raw_of(const struct printer *p, const struct json_node *v)
{
    return v ? p->c->source->yaml.marks[v - p->doc->nodes].raw : STR("");
}

/* Prints a line: its level, its text, and its source; v NULL is a default. */
static void config_print_put_line(struct printer *p, unsigned level, const struct json_node *v)
{
    size_t start = p->out->n, used;

    for (unsigned i = 0; i < level; i++)
        buf_add(p->out, STR("  "));
    buf_add(p->out, buf_str(&p->line));
    buf_add_c(p->out, ' ');
    for (used = p->out->n - start; used < COMMENT_COLUMN; used++)
        buf_add_c(p->out, ' ');
    if (v)
        buf_printf(p->out, "# " STR_FMT ":%u\n", STR_ARG(p->c->path), config_line(p->c->source, v));
    else
        buf_add(p->out, STR("# default\n"));
    buf_reset(&p->line);
}

static void config_print_put_head(struct printer *p, unsigned level, str name, bool quoted)
{
    for (unsigned i = 0; i < level; i++)
        buf_add(p->out, STR("  "));
    if (quoted)
        json_quote(p->out, name);
    else
        buf_add(p->out, name);
    buf_add(p->out, STR(":\n"));
}

/* As a double-quoted scalar; a plain "${" would be filled in when it is read again. */
static void config_print_add_text(struct printer *p, str text)
{
    struct buf b;
    size_t at = 0, found;

    buf_init(&b, text.n * 2 + 16);
    while ((found = str_find(str_slice(text, at, text.n), STR("${"))) != STR_NONE) {
        buf_add(&b, str_slice(text, at, at + found));
        buf_add(&b, STR("$${"));
        at += found + 2;
    }
    buf_add(&b, str_slice(text, at, text.n));
    json_quote(&p->line, buf_str(&b));
    buf_release(&b);
}

/* user:password@ becomes user:***@. */
void config_mask_url(str url, struct buf *out)
{
    size_t scheme = str_find(url, STR("://")), colon = STR_NONE, at = STR_NONE;

    for (size_t i = scheme == STR_NONE ? url.n : scheme + 3; i < url.n && url.p[i] != '/'; i++) {
        if (url.p[i] == ':' && colon == STR_NONE)
            colon = i;
        if (url.p[i] == '@')
            at = i;
    }
    if (colon == STR_NONE || at == STR_NONE || colon > at) {
        buf_add(out, url);
        return;
    }
    buf_add(out, str_slice(url, 0, colon + 1));
    buf_add(out, STR("***"));
    buf_add(out, str_slice(url, at, url.n));
}

static void config_add_url(struct printer *p, str url)
{
    struct buf b;

    buf_init(&b, url.n + 16);
    config_mask_url(url, &b);
    config_print_add_text(p, buf_str(&b));
    buf_release(&b);
}

static void config_print_add_value(struct printer *p, const struct config_row *row,
                                   const void *from, const struct json_node *v)
{
    if (config_print_raw_of(p, v).n > 0)
        json_quote(&p->line, config_print_raw_of(p, v));
    else if (row->type == CONFIG_IS_TEXT || row->type == CONFIG_IS_STORE)
        config_add_url(p, *(const str *)(const void *)((const char *)from + row->at));
    else
        config_row_show(row, from, &p->line);
}

/* Rows whose paths have the same beginning are printed together, below it. */
static void config_put_rows(struct printer *p, const struct config_rows *rows,
                            const struct json_node *object, const void *from, unsigned level)
{
    str open = STR("");

    for (size_t i = 0; i < rows->n; i++) {
        const struct config_row *row = &rows->rows[i];
        str path = str_c(row->path);
        size_t dot = str_find(path, STR("."));
        str head = dot == STR_NONE ? STR("") : str_slice(path, 0, dot);
        str name = dot == STR_NONE ? path : str_slice(path, dot + 1, path.n);
        const struct json_node *v = config_at(p->doc, object, row->path);

        if (config_row_unset(row, v))
            continue;
        if (head.n > 0 && !str_eq(head, open))
            config_print_put_head(p, level, head, false);
        open = head;
        buf_printf(&p->line, STR_FMT ": ", STR_ARG(name));
        config_print_add_value(p, row, from, v);
        config_print_put_line(p, level + (head.n > 0), v);
    }
}

static const struct json_node *config_print_member(const struct printer *p,
                                                   const struct json_node *v, const char *name)
{
    return json_find(p->doc, v, str_c(name));
}

/* A value of the file, in one line as JSON, which is YAML too. */
static void config_print_as_written(struct printer *p, const struct json_node *object,
                                    const char *name, unsigned level)
{
    const struct json_node *v = config_print_member(p, object, name);

    if (!v)
        return;
    buf_printf(&p->line, "%s: ", name);
    if (config_print_raw_of(p, v).n > 0)
        json_quote(&p->line, config_print_raw_of(p, v));
    else
        buf_add(&p->line, json_raw(p->doc, v));
    config_print_put_line(p, level, v);
}

/* ---- the parts ---- */

/* Any part of the values may be from the environment, so only the names are printed. */
static void config_put_params(struct printer *p, const struct json_node *object)
{
    const struct json_node *v = config_print_member(p, object, "reasoning_params");
    bool filled = false;

    for (uint32_t i = 0; v && i < v->span; i++)
        filled |= config_print_raw_of(p, v + i).n > 0;
    if (!filled) {
        config_print_as_written(p, object, "reasoning_params", 2);
        return;
    }
    buf_add(&p->line, STR("reasoning_params: {} # with values from the environment"));
    config_print_put_line(p, 2, v);
}

static void config_put_provider(struct printer *p, const struct config_provider *one,
                                const struct json_node *v)
{
    static const char *const given[] = {
        "api_key_env", "api_key_file", "format", "open", "close", "models", "fallback", "prices"};
    const struct json_node *kind = config_print_member(p, v, "kind"),
                           *url = config_print_member(p, v, "base_url");

    config_print_put_head(p, 1, one->name, true);
    buf_printf(&p->line, "kind: %s", one->replay ? "replay" : chat_dialect_name(one->dialect));
    config_print_put_line(p, 2, kind);
    if (one->replay) {
        url = url ? url : config_print_member(p, v, "cassette");
        buf_add(&p->line, STR("cassette: "));
    } else {
        buf_add(&p->line, STR("base_url: "));
    }
    if (config_print_raw_of(p, url).n > 0)
        json_quote(&p->line, config_print_raw_of(p, url));
    else
        config_print_add_text(p, one->replay ? one->cassette : one->base_url);
    config_print_put_line(p, 2, url);
    for (size_t i = 0; i < COUNT_OF(given); i++)
        config_print_as_written(p, v, given[i], 2);
    config_put_params(p, v);
    config_put_rows(p, &config_provider_rows, v, one, 2);
}

static void config_print_put_key(struct printer *p, const struct config_key *k,
                                 const struct json_node *v)
{
    static const char *const given[] = {"models", "levels"};
    char hex[SHA256_HEX_SIZE];

    sha256_hex(k->sha256, hex);
    buf_printf(&p->line, "- name: \"" STR_FMT "\"", STR_ARG(k->name));
    config_print_put_line(p, 1, config_print_member(p, v, "name"));
    if (config_print_member(p, v, "key_env")) {
        config_print_as_written(p, v, "key_env", 2);
    } else {
        buf_printf(&p->line, "sha256: \"%.*s...\"", DIGEST_SHOWN, hex);
        config_print_put_line(p, 2, config_print_member(p, v, "sha256"));
    }
    for (size_t i = 0; i < COUNT_OF(given); i++)
        config_print_as_written(p, v, given[i], 2);
    for (size_t i = 0; i < config_key_rows.n; i++) {
        const struct config_rows one = {&config_key_rows.rows[i], 1};

        if (config_print_member(p, v, one.rows->path))
            config_put_rows(p, &one, v, k, 2);
    }
}

static void config_put_presets(struct printer *p, const struct json_node *root)
{
    static const char *const given[] = {"show", "repair_starved"};
    const struct json_node *all = config_at(p->doc, root, "llm.reasoning_presets");

    config_print_put_head(p, 0, STR("llm"), false);
    config_print_put_head(p, 1, STR("reasoning_presets"), false);
    for (size_t i = 0; i < COUNT_OF(p->c->presets); i++) {
        const struct json_node *v = json_find(p->doc, all, p->c->presets[i].name);

        config_print_put_head(p, 2, p->c->presets[i].name, false);
        config_put_rows(p, &config_preset_rows, v, &p->c->presets[i], 3);
        for (size_t j = 0; j < COUNT_OF(given); j++)
            config_print_as_written(p, v, given[j], 3);
    }
}

static void config_print_put_headers(struct printer *p, const struct json_node *root)
{
    const struct json_node *v = config_at(p->doc, root, "otlp.headers");

    if (!v || json_count(p->doc, v) == 0)
        return;
    config_print_put_head(p, 1, STR("headers"), false);
    for (const struct json_node *k = json_first(p->doc, v); k; k = json_next(p->doc, v, k)) {
        buf_printf(&p->line, STR_FMT ": \"***\"", STR_ARG(json_raw(p->doc, k)));
        config_print_put_line(p, 2, k);
    }
}

/* An object of objects: a line for each. */
static void config_put_tree(struct printer *p, const struct json_node *all, str name,
                            unsigned level)
{
    if (!all || json_count(p->doc, all) == 0)
        return;
    config_print_put_head(p, level, name, false);
    for (const struct json_node *k = json_first(p->doc, all); k; k = json_next(p->doc, all, k)) {
        buf_printf(&p->line, STR_FMT ": ", STR_ARG(json_raw(p->doc, k)));
        config_tree_write(p->c->source, json_value(k), &p->line);
        config_print_put_line(p, level + 1, k);
    }
}

static void config_put_top(struct printer *p, const struct json_node *root)
{
    const struct json_node *listen = config_print_member(p, root, "listen");
    bool six = str_find(p->c->listen_host, STR(":")) != STR_NONE;
    struct buf address;

    buf_init(&address, p->c->listen_host.n + 16);
    buf_printf(&address,
               six ? "[" STR_FMT "]:%u" : STR_FMT ":%u",
               STR_ARG(p->c->listen_host),
               p->c->listen_port);
    buf_add(&p->line, STR("listen: "));
    json_quote(&p->line,
               config_print_raw_of(p, listen).n > 0 ? config_print_raw_of(p, listen)
                                                    : buf_str(&address));
    buf_release(&address);
    config_print_put_line(p, 0, listen);
    for (size_t i = 0; i < config_top_rows.n; i++) {
        size_t n = 1;
        struct config_rows some = {&config_top_rows.rows[i], 1};
        str head = str_c(some.rows->path);

        head = str_slice(head, 0, str_find(head, STR(".")));
        while (i + n < config_top_rows.n &&
               str_find(str_c(some.rows->path), STR(".")) != STR_NONE &&
               str_starts(str_c(some.rows[n].path), head))
            n++;
        some.n = n;
        config_put_rows(p, &some, root, p->c, 0);
        if (str_eq(head, STR("otlp")))
            config_print_put_headers(p, root);
        if (str_eq(head, STR("data_masking"))) {
            config_print_as_written(
                p, config_print_member(p, root, "data_masking"), "pattern_groups", 1);
            config_print_as_written(
                p, config_print_member(p, root, "data_masking"), "custom_patterns", 1);
        }
        if (str_eq(head, STR("incidents"))) {
            config_print_as_written(
                p, config_print_member(p, root, "incidents"), "runbook_domains", 1);
            config_put_tree(p, config_at(p->doc, root, "incidents.notify"), STR("notify"), 1);
        }
        if (str_eq(head, STR("policy")))
            config_print_as_written(p, config_print_member(p, root, "policy"), "documents", 1);
        i += n - 1;
    }
}

/* Agents, tools and workflows. */
static void config_put_trees(struct printer *p, const struct json_node *root)
{
    for (const char *const *name = config_tree_sections; *name; name++)
        config_put_tree(p, config_print_member(p, root, *name), str_c(*name), 0);
}

void config_print(const struct config *c, struct buf *out)
{
    const struct json *doc = &c->source->doc;
    struct printer p = {c, doc, out, {0}};
    const struct json_node *root = json_root(doc), *all = json_find(doc, root, STR("providers"));
    const struct json_node *keys = json_find(doc, root, STR("keys"));

    buf_init(&p.line, YAML_JSON_MAX);
    config_put_top(&p, root);
    config_put_presets(&p, root);
    config_print_put_head(&p, 0, STR("providers"), false);
    for (size_t i = 0; i < c->provider_count; i++)
        config_put_provider(&p, &c->providers[i], json_find(doc, all, c->providers[i].name));
    if (c->key_count > 0) {
        config_print_put_head(&p, 0, STR("keys"), false);
        for (size_t i = 0; i < c->key_count; i++)
            config_print_put_key(&p, &c->keys[i], json_at(doc, keys, i));
    } else {
        buf_add(&p.line, STR("keys: []"));
        config_print_put_line(&p, 0, keys);
    }
    config_put_trees(&p, root);
    buf_release(&p.line);
}
