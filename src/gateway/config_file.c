/* config_file.c - files that the configuration names. A relative path is relative to the folder of
 * the configuration file, whatever the working directory is.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/config_build.h"

#include <unistd.h>

#define PATH_SHOWN_MAX 120
#define SPOOL_FOLDER "rationale.spool" /* of a store that is no file */

bool config_absolute(const char *path, char out[FILE_PATH_MAX], struct err *e)
{
    size_t n = 0;

    while (str_starts(str_c(path), STR("./")))
        path += 2;
    if (path[0] != '/') {
        if (!getcwd(out, FILE_PATH_MAX - 1))
            return err_sys(e, "the working directory");
        n = strlen(out);
        if (n > 1)
            out[n++] = '/';
    }
    if (n + strlen(path) >= FILE_PATH_MAX)
        return err_input(e, "a path longer than %d bytes", FILE_PATH_MAX);
    memcpy(out + n, path, strlen(path) + 1);
    return true;
}

void config_set_path(struct config *c, const char *path)
{
    str all = str_c(path);
    const char *slash = strrchr(path, '/');

    c->folder = slash ? arena_dup(&c->arena, (str){path, (size_t)(slash - path) + 1}) : STR("");
    c->path = arena_dup(&c->arena, all);
    if (all.n > PATH_SHOWN_MAX)
        c->path = arena_join(
            &c->arena, STR("..."), str_slice(all, all.n - PATH_SHOWN_MAX, all.n), STR(""));
}

bool config_resolve(struct config_build *b, const struct json_node *v, str path, str *out)
{
    const char *home = getenv("HOME");
    str folder = b->folder.n ? b->folder : b->c->folder;

    if (str_eq(path, STR("~")) || str_starts(path, STR("~/"))) {
        if (!home || home[0] != '/')
            return config_wrong(b, v, "~ needs the variable HOME: write the whole path");
        *out = arena_join(&b->c->arena, str_c(home), str_slice(path, 1, path.n), STR(""));
        return true;
    }
    while (str_starts(path, STR("./")))
        path = str_slice(path, 2, path.n);
    *out = path.n == 0 || path.p[0] == '/' ? arena_dup(&b->c->arena, path)
                                           : arena_join(&b->c->arena, folder, path, STR(""));
    return true;
}

static str config_sqlite_file(str url)
{
    str path = str_slice(url, 7, url.n);

    return str_starts(path, STR("//")) ? str_slice(path, 2, path.n) : path;
}

bool config_resolve_store(struct config_build *b, const struct json_node *v, str url, str *out)
{
    str path;

    *out = arena_dup(&b->c->arena, url);
    if (!str_starts(url, STR("sqlite:")) || str_starts(config_sqlite_file(url), STR(":memory:")) ||
        config_sqlite_file(url).n == 0)
        return true;
    if (!config_resolve(b, v, config_sqlite_file(url), &path))
        return false;
    *out = arena_join(&b->c->arena, STR("sqlite:"), path, STR(""));
    return true;
}

/* Paths were relative to the working directory once: a store that is there and not here
 * would silently give way to an empty one. */
static void config_warn_moved(struct config_build *b, const struct json_node *v, const char *file)
{
    char here[FILE_PATH_MAX];
    const char *name = strrchr(file, '/');
    str folder = b->c->folder;
    struct err e;

    if (folder.n == 0 || !str_starts(str_c(file), folder) || file_exists(file) || !name)
        return;
    if (config_absolute(file + folder.n, here, &e) && strcmp(here, file) != 0 && file_exists(here))
        config_warn(
            b,
            v,
            "the store is %s, which does not exist; %s does: write its whole path, or move it",
            file,
            here);
}

bool config_check_store(struct config_build *b, const struct json_node *root)
{
    str url = b->c->store_url;
    const struct json_node *v = config_at(&b->source->doc, root, "store");
    bool postgres = str_starts(url, STR("postgres://")) || str_starts(url, STR("postgresql://"));

    if (b->c->durability == STORE_REPLICATED && !postgres)
        return config_wrong(b,
                            config_at(&b->source->doc, root, "durability"),
                            "replicated needs a store that is PostgreSQL: set store to"
                            " postgres://USER@HOST/DB, or durability to durable");
    if (str_eq(url, STR("none")))
        return true;
    if (postgres)
        return b->c->spool.n > 0 || config_resolve(b, v, STR(SPOOL_FOLDER), &b->c->spool);
    if (!str_starts(url, STR("sqlite:")) || url.n <= 7)
        return config_wrong(b, v, "must be sqlite:PATH, postgres://USER@HOST/DB or none");
    config_warn_moved(b, v, url.p + 7);
    return true;
}

/* ---- which files there are ---- */

struct file_lister {
    const struct config *c;
    void (*fn)(void *ctx, const struct config_file *f);
    void *ctx;
};

static void config_report_file(struct file_lister *l, const char *name, str file,
                               const struct json_node *v)
{
    struct config_file f = {.name = name, .file = file};
    struct buf setting;

    if (file.n == 0)
        return;
    buf_init(&setting, YAML_JSON_MAX);
    if (v)
        config_path(&l->c->source->doc, v, &setting);
    f.setting = v ? buf_str(&setting) : str_c(name);
    f.line = v ? config_line(l->c->source, v) : 0;
    l->fn(l->ctx, &f);
    buf_release(&setting);
}

static void config_report_rows(struct file_lister *l, const struct config_rows *rows,
                               const struct json_node *object, const void *from)
{
    for (size_t i = 0; i < rows->n; i++) {
        const struct config_row *row = &rows->rows[i];
        const struct json_node *v = config_at(&l->c->source->doc, object, row->path);
        str text = STR("");

        if (row->type == CONFIG_IS_PATH || row->type == CONFIG_IS_STORE)
            text = *(const str *)(const void *)((const char *)from + row->at);
        if (row->type == CONFIG_IS_STORE)
            text = str_starts(text, STR("sqlite:")) ? str_slice(text, 7, text.n) : STR("");
        config_report_file(l, row->path, text, v);
    }
}

static void config_report_provider(struct file_lister *l, const struct config_provider *p,
                                   const struct json_node *v)
{
    const struct json *doc = &l->c->source->doc;
    const struct json_node *cassette = json_find(doc, v, STR("cassette"));

    config_report_rows(l, &config_provider_rows, v, p);
    config_report_file(l, "api_key_file", p->key_file, json_find(doc, v, STR("api_key_file")));
    config_report_file(
        l, "cassette", p->cassette, cassette ? cassette : json_find(doc, v, STR("base_url")));
}

void config_files(const struct config *c, void (*fn)(void *ctx, const struct config_file *f),
                  void *ctx)
{
    struct file_lister l = {c, fn, ctx};
    const struct json *doc = &c->source->doc;
    const struct json_node *root = json_root(doc), *providers, *documents;

    config_report_rows(&l, &config_top_rows, root, c);
    providers = json_find(doc, root, STR("providers"));
    for (size_t i = 0; i < c->provider_count; i++)
        config_report_provider(
            &l, &c->providers[i], json_find(doc, providers, c->providers[i].name));
    documents = config_at(doc, root, "policy.documents");
    for (size_t i = 0; i < c->policy.document_count; i++) {
        const struct config_document *d = &c->policy.documents[i];

        config_report_file(&l, "policy.documents", d->file, json_find(doc, documents, d->id));
    }
}
