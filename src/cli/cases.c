/* cases.c - see cases.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cases.h"

#include <dirent.h>
#include <sys/stat.h>

#include "cli/cli.h"

#define LINES_MAX ((size_t)1 << 30)

typedef void on_case(void *ctx, const char *name, str text);

static bool cases_is_folder(const char *path)
{
    struct stat st;

    return stat(path, &st) == 0 && S_ISDIR(st.st_mode);
}

static bool cases_is_lines(const char *path)
{
    return str_ends(str_c(path), STR(".jsonl"));
}

void cases_init(struct cases *c, const char *const *words, size_t n)
{
    assert(n > 0);
    *c = (struct cases){words, n, n > 1};
    for (size_t i = 0; i < n; i++)
        c->many |= cases_is_folder(words[i]) || cases_is_lines(words[i]);
}

static bool cases_each_line(const char *path, str text, on_case *fn, void *ctx)
{
    struct progress p = progress_begin("cases", "lines", cli_count_lines(text));
    char name[FILE_PATH_MAX + 32];

    for (size_t number = 1; text.n; number++) {
        str line = str_trim(str_cut(&text, '\n'));

        (void)snprintf(name, sizeof name, "%s:%zu", path, number);
        if (line.n)
            fn(ctx, name, line);
        progress_set(&p, number);
    }
    progress_end(&p);
    return true;
}

static bool cases_each_file(const char *path, on_case *fn, void *ctx, struct err *e)
{
    struct arena a;
    str text;
    bool ok;

    arena_init(&a, LINES_MAX + 4096);
    ok = file_read(&a, path, LINES_MAX, &text, e);
    if (ok && cases_is_lines(path))
        ok = cases_each_line(path, text, fn, ctx);
    else if (ok)
        fn(ctx, path, text);
    arena_release(&a);
    return ok;
}

static bool cases_list(const char *path, struct arena *a, const char ***out, size_t *n,
                       struct err *e)
{
    DIR *dir = opendir(path);
    struct dirent *d;
    const char **names = NULL;
    size_t cap = 0;
    bool ok = true;

    if (!dir)
        return err_sys(e, "open %s", path);
    *n = 0;
    while (ok && (d = readdir(dir))) {
        str name = str_c(d->d_name);

        if (name.p[0] == '.' || !(str_ends(name, STR(".json")) || cases_is_lines(d->d_name)))
            continue;
        if (*n == CASES_FILES_MAX) {
            ok = err_set(e,
                         ERR_LIMIT,
                         "%s: it has more than %d files of cases; make several folders of it",
                         path,
                         CASES_FILES_MAX);
            continue;
        }
        names = base_grow(names, *n, &cap, sizeof names[0]);
        names[(*n)++] = arena_printf(a, "%s/%s", path, d->d_name).p;
    }
    (void)closedir(dir);
    if (*n)
        qsort(names, *n, sizeof names[0], str_order_names);
    assert(*n <= CASES_FILES_MAX);
    *out = names;
    return ok;
}

static bool cases_each_in(const char *path, on_case *fn, void *ctx, struct err *e)
{
    const char **names = NULL;
    struct progress p;
    struct arena a;
    size_t n = 0;
    bool ok;

    arena_init(&a, (size_t)1 << 30);
    ok = cases_list(path, &a, &names, &n, e);
    if (ok && !n)
        ok = err_set(e, ERR_NOT_FOUND, "%s: no case (*.json, *.jsonl) is in it", path);
    p = progress_begin("cases", "files", n);
    for (size_t i = 0; ok && i < n; i++) {
        progress_set(&p, i);
        ok = cases_each_file(names[i], fn, ctx, e);
    }
    progress_end(&p);
    free(names);
    arena_release(&a);
    return ok;
}

bool cases_each(struct cases *c, on_case *fn, void *ctx, struct err *e)
{
    assert(c->n > 0);
    for (size_t i = 0; i < c->n; i++)
        if (!(cases_is_folder(c->words[i]) ? cases_each_in(c->words[i], fn, ctx, e)
                                           : cases_each_file(c->words[i], fn, ctx, e)))
            return false;
    return true;
}
