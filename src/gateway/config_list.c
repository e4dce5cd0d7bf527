/* config_list.c - lists the values in force, each with its source.
 *
 * As in config_print.c, a text with ${VAR} in it is shown as it was written, a password in a URL
 * and the values of headers not at all.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

#include "base/sha256.h"

#define DIGEST_SHOWN 8
#define PATH_MAX_SIZE 1024

struct lister {
    const struct config *c;
    const struct json *doc;
    void (*fn)(void *ctx, const struct config_item *item);
    void *ctx;
    struct buf path, value;
};

static str config_list_raw_of(const struct lister *l, const struct json_node *v)
{
    return v ? l->c->source->yaml.marks[v - l->doc->nodes].raw : STR("");
}

static void config_list_add(struct lister *l, const struct json_node *v)
{
    struct config_item item = {.path = buf_str(&l->path),
                               .value = buf_str(&l->value),
                               .origin = !v                           ? "default"
                                         : config_list_raw_of(l, v).n ? "env"
                                                                      : "file",
                               .line = v ? config_line(l->c->source, v) : 0};

    l->fn(l->ctx, &item);
    buf_reset(&l->path);
    buf_reset(&l->value);
}

static void config_list_add_row(struct lister *l, const char *front, const struct config_row *row,
                                const struct json_node *object, const void *from)
{
    const struct json_node *v = config_at(l->doc, object, row->path);

    buf_printf(&l->path, "%s%s", front, row->path);
    if (config_list_raw_of(l, v).n)
        buf_add(&l->value, config_list_raw_of(l, v));
    else if (row->secret)
        buf_add(&l->value, STR("***"));
    else if (row->type == CONFIG_IS_TEXT || row->type == CONFIG_IS_STORE)
        config_mask_url(*(const str *)(const void *)((const char *)from + row->at), &l->value);
    else
        config_row_show(row, from, &l->value);
    config_list_add(l, v);
}

static void config_list_add_rows(struct lister *l, const char *front,
                                 const struct config_rows *rows, const struct json_node *object,
                                 const void *from, bool given_only)
{
    for (size_t i = 0; i < rows->n; i++)
        if (config_at(l->doc, object, rows->rows[i].path) ||
            (!given_only && !config_row_unset(&rows->rows[i], NULL)))
            config_list_add_row(l, front, &rows->rows[i], object, from);
}

/* Values of the file that are no rows, as JSON; those filled in from the environment by name. */
static void config_list_add_named(struct lister *l, const char *front, const char *const *names,
                                  size_t n, const struct json_node *object)
{
    for (size_t i = 0; i < n; i++) {
        const struct json_node *v = json_find(l->doc, object, str_c(names[i]));
        bool filled = false;

        for (uint32_t j = 0; v && j < v->span; j++)
            filled |= config_list_raw_of(l, v + j).n > 0;
        if (!v)
            continue;
        buf_printf(&l->path, "%s%s", front, names[i]);
        if (filled)
            buf_add(&l->value, config_list_raw_of(l, v).n ? config_list_raw_of(l, v) : STR("***"));
        else
            buf_add(&l->value, json_raw(l->doc, v));
        config_list_add(l, v);
    }
}

/* "providers.NAME."; names are short, by config_check_name. */
static void front_make(char front[160], const char *list, str name)
{
    size_t n = strlen(list);

    assert(n + name.n + 2 <= 160);
    memcpy(front, list, n);
    memcpy(front + n, name.p, name.n);
    memcpy(front + n + name.n, ".", 2);
}

static void config_list_add_provider(struct lister *l, const struct config_provider *p,
                                     const struct json_node *v)
{
    static const char *const given[] = {"api_key_env",
                                        "api_key_file",
                                        "format",
                                        "open",
                                        "close",
                                        "models",
                                        "fallback",
                                        "prices",
                                        "reasoning_params"};
    const struct json_node *url = json_find(l->doc, v, STR("base_url"));
    char front[160];

    front_make(front, "providers.", p->name);
    buf_printf(&l->path, "%skind", front);
    buf_add(&l->value, p->replay ? STR("replay") : str_c(chat_dialect_name(p->dialect)));
    config_list_add(l, json_find(l->doc, v, STR("kind")));
    if (!p->replay) {
        buf_printf(&l->path, "%sbase_url", front);
        if (config_list_raw_of(l, url).n)
            buf_add(&l->value, config_list_raw_of(l, url));
        else
            config_mask_url(p->base_url, &l->value);
        config_list_add(l, url);
    }
    config_list_add_named(l, front, given, COUNT_OF(given), v);
    config_list_add_rows(l, front, &config_provider_rows, v, p, false);
}

static void config_list_add_key(struct lister *l, const struct config_key *k,
                                const struct json_node *v)
{
    static const char *const given[] = {"key_env", "models", "levels"};
    const struct json_node *digest = json_find(l->doc, v, STR("sha256"));
    char front[160], hex[SHA256_HEX_SIZE];

    front_make(front, "keys.", k->name);
    if (digest) {
        sha256_hex(k->sha256, hex);
        buf_printf(&l->path, "%ssha256", front);
        buf_printf(&l->value, "%.*s...", DIGEST_SHOWN, hex);
        config_list_add(l, digest);
    }
    config_list_add_named(l, front, given, COUNT_OF(given), v);
    config_list_add_rows(l, front, &config_key_rows, v, k, true);
}

static void config_list_add_listen(struct lister *l, const struct json_node *root)
{
    const struct json_node *v = json_find(l->doc, root, STR("listen"));
    bool six = str_find(l->c->listen_host, STR(":")) != STR_NONE;

    buf_add(&l->path, STR("listen"));
    if (config_list_raw_of(l, v).n)
        buf_add(&l->value, config_list_raw_of(l, v));
    else
        buf_printf(&l->value,
                   "%s" STR_FMT "%s:%u",
                   six ? "[" : "",
                   STR_ARG(l->c->listen_host),
                   six ? "]" : "",
                   l->c->listen_port);
    config_list_add(l, v);
}

static void config_list_add_trees(struct lister *l, const struct json_node *root)
{
    for (const char *const *name = config_tree_sections; *name; name++) {
        const struct json_node *all = config_at(l->doc, root, *name);

        for (const struct json_node *k = json_first(l->doc, all); k;
             k = json_next(l->doc, all, k)) {
            buf_printf(&l->path,
                       "%s." STR_FMT,
                       *name,
                       STR_ARG(str_slice(json_raw(l->doc, k), 1, k->size - 1)));
            config_tree_write(l->c->source, json_value(k), &l->value);
            config_list_add(l, k);
        }
    }
}

void config_each(const struct config *c, void (*fn)(void *ctx, const struct config_item *item),
                 void *ctx)
{
    struct lister l = {.c = c, .doc = &c->source->doc, .fn = fn, .ctx = ctx};
    const struct json_node *root = json_root(l.doc);
    const struct json_node *presets = config_at(l.doc, root, "llm.reasoning_presets");
    const struct json_node *providers = json_find(l.doc, root, STR("providers"));
    const struct json_node *keys = json_find(l.doc, root, STR("keys"));
    char front[160];

    buf_init(&l.path, PATH_MAX_SIZE);
    buf_init(&l.value, YAML_JSON_MAX);
    config_list_add_listen(&l, root);
    config_list_add_rows(&l, "", &config_top_rows, root, c, false);
    for (size_t i = 0; i < COUNT_OF(c->presets); i++) {
        front_make(front, "llm.reasoning_presets.", c->presets[i].name);
        config_list_add_rows(&l,
                             front,
                             &config_preset_rows,
                             json_find(l.doc, presets, c->presets[i].name),
                             &c->presets[i],
                             false);
    }
    for (size_t i = 0; i < c->provider_count; i++)
        config_list_add_provider(
            &l, &c->providers[i], json_find(l.doc, providers, c->providers[i].name));
    for (size_t i = 0; i < c->key_count; i++)
        config_list_add_key(&l, &c->keys[i], json_at(l.doc, keys, i));
    config_list_add_trees(&l, root);
    buf_release(&l.path);
    buf_release(&l.value);
}
