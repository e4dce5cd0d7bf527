/* folder.c - the labelled cases of a folder, and texts as a version of a prompt.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "apps/tune/folder.h"
#include "base/file.h"
#include "base/sha256.h"

#define DIGEST_DEPTH 4 /* levels of folders */

static int tune_folder_wanted(const struct dirent *d)
{
    return str_ends(str_c(d->d_name), STR(".json")) || str_ends(str_c(d->d_name), STR(".jsonl"));
}

static bool tune_folder_add(struct tune_file **list, size_t *n, struct arena *a, str name, str text,
                            struct err *e)
{
    assert(*n <= TUNE_EXAMPLES_MAX);
    if (*n == TUNE_EXAMPLES_MAX)
        return err_set(e, ERR_LIMIT, "more than %d cases", TUNE_EXAMPLES_MAX);
    (*list)[(*n)++] = (struct tune_file){arena_dup(a, name), text};
    return true;
}

/* Each line of a .jsonl file is a case. */
static bool tune_add_lines(struct tune_file **list, size_t *n, struct arena *a, str name, str text,
                           struct err *e)
{
    for (size_t line = 1; text.n > 0; line++) {
        str one = str_trim(str_cut(&text, '\n'));
        if (one.n > 0 &&
            !tune_folder_add(
                list, n, a, arena_printf(a, STR_FMT ":%zu", STR_ARG(name), line), one, e))
            return false;
    }
    return true;
}

bool tune_has_room(const struct arena *a, struct err *e)
{
    return arena_fits(a, 2 * TUNE_CASE_MAX, 0) ||
           err_set(e,
                   ERR_LIMIT,
                   "the labelled cases need more than the %zu MiB of memory that a run has; "
                   "use fewer or smaller ones",
                   a->size_max >> 20);
}

static bool tune_folder_read_one(const char *folder, const char *name, struct arena *a,
                                 struct tune_file **list, size_t *n, struct err *e)
{
    str path = arena_printf(a, "%s/%s", folder, name), text;

    if (!tune_has_room(a, e) || !file_read(a, path.p, TUNE_FILE_MAX, &text, e))
        return false;
    return str_ends(path, STR("l")) ? tune_add_lines(list, n, a, str_c(name), text, e)
                                    : tune_folder_add(list, n, a, str_c(name), text, e);
}

bool tune_folder(const char *folder, struct arena *a, struct tune_file **out, size_t *n,
                 struct err *e)
{
    struct dirent **names;
    int count = scandir(folder, &names, tune_folder_wanted, alphasort);
    bool ok = true;

    if (count < 0)
        return err_sys(e, "cannot be read");
    *out = arena_zero(a, TUNE_EXAMPLES_MAX, sizeof **out);
    *n = 0;
    for (int i = 0; i < count; i++) {
        ok = ok && tune_folder_read_one(folder, names[i]->d_name, a, out, n, e);
        free(names[i]);
    }
    free((void *)names);
    assert(*n <= TUNE_EXAMPLES_MAX);
    return ok;
}

/* ---- the digest ---- */

static int tune_digest_wanted(const struct dirent *d)
{
    return d->d_name[0] != '.' && !str_ends(str_c(d->d_name), STR("~"));
}

/* Adds a file's name, bytes and size. A file that cannot be read counts by its name; if it is a
 * case, loading the cases has reported it. */
static void tune_digest_file(struct sha256 *all, const char *path, size_t name_at)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    char block[16384];
    uint64_t size = 0;
    struct stat s;
    ssize_t n;

    assert(name_at <= strlen(path));
    sha256_feed(all, (str){path + name_at, strlen(path + name_at) + 1});
    if (fd >= 0 && fstat(fd, &s) == 0 && S_ISREG(s.st_mode))
        while ((n = read(fd, block, sizeof block)) > 0) {
            sha256_feed(all, (str){block, (size_t)n});
            size += (uint64_t)n;
        }
    sha256_feed(all, (str){(const char *)&size, sizeof size});
    if (fd >= 0)
        (void)close(fd);
}

/* Adds a file, or all files of a folder that is not too deep. */
static void tune_digest_add(struct sha256 *all, const char *path, size_t name_at, size_t depth)
{
    struct dirent **names = NULL;
    int count = depth > 0 ? scandir(path, &names, tune_digest_wanted, alphasort) : -1;
    char inner[FILE_PATH_MAX];

    if (count < 0)
        tune_digest_file(all, path, name_at);
    for (int i = 0; i < count; i++) {
        (void)snprintf(inner, sizeof inner, "%s/%s", path, names[i]->d_name);
        tune_digest_add(all, inner, name_at < strlen(inner) ? name_at : 0, depth - 1);
        free(names[i]);
    }
    free((void *)names);
}

bool tune_keep_cases(const struct tune_row *row, const char *train, const char *val,
                     struct arena *a, str *cases, struct err *e)
{
    const char *const folders[] = {train, val};
    uint8_t digest[SHA256_SIZE];
    char hex[SHA256_HEX_SIZE];
    struct sha256 all;

    sha256_init(&all);
    for (size_t i = 0; i < COUNT_OF(folders) && folders[i]; i++)
        tune_digest_add(&all, folders[i], strlen(folders[i]), DIGEST_DEPTH);
    sha256_finish(&all, digest);
    if (cases->n && !str_eq(*cases, sha256_hex(digest, hex)))
        return err_input(e,
                         "the cases in %s%s%s have changed since run " STR_FMT
                         " was started: restore them, or start another run",
                         train,
                         val ? " and " : "",
                         val ? val : "",
                         STR_ARG(row->id));
    *cases = arena_dup(a, sha256_hex(digest, hex));
    return true;
}

bool tune_prompt(const struct prompt_built_in *b, const str *texts, struct arena *a,
                 struct prompt *out, struct err *e)
{
    struct json_text t;

    *out = (struct prompt){.name = str_c(b->name), .state = PROMPT_DRAFT};
    assert(b->count > 0);
    json_text_begin(&t, 8 * PROMPT_SIZE_MAX);
    for (size_t i = 0; i < b->count; i++)
        json_member_str(&t.o, b->parts[i].name, texts[i]);
    return prompt_settle(
        out->name, json_text_end(&t, a, STR("")), a, &out->components, &out->id, e);
}
