/* storage_info.c - see kept.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/storage_info.h"

#include "gateway/config_build.h"

#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#define DAY_MS ((uint64_t)24 * 3600 * 1000)
#define FILES_MAX 100000 /* of a journal; it has a file for each 64 MB */

/* The absolute path; for a file that does not exist yet, relative to the working directory. */
static str kept_absolute(const char *path, struct arena *a)
{
    char *real = realpath(path, NULL), here[FILE_PATH_MAX];
    str out = str_c(path);

    if (real)
        out = arena_dup(a, str_c(real));
    else if (path[0] != '/' && getcwd(here, sizeof here))
        out = arena_printf(a, "%s/%s", here, path);
    else
        out = arena_dup(a, out);
    free(real);
    return out;
}

static int64_t kept_folder_bytes(const char *path)
{
    DIR *dir = opendir(path);
    struct dirent *entry;
    int64_t bytes = 0;
    size_t n = 0;

    if (!dir)
        return 0;
    while ((entry = readdir(dir)) && n++ < FILES_MAX) {
        struct stat st;

        if (fstatat(dirfd(dir), entry->d_name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
            S_ISREG(st.st_mode))
            bytes += st.st_size;
    }
    closedir(dir);
    return bytes;
}

/* The rows of `retention` that are set, in the words of the file. */
static str kept_retention(const struct config *c, struct arena *a)
{
    static const char front[] = "retention.";
    struct buf out;

    buf_init(&out, 4096);
    for (size_t i = 0; i < config_top_rows.n; i++) {
        const struct config_row *row = &config_top_rows.rows[i];
        const void *at = (const char *)c + row->at;

        if (!str_starts(str_c(row->path), str_c(front)) ||
            (row->type == CONFIG_IS_SIZE ? *(const size_t *)at == 0 : *(const uint64_t *)at == 0))
            continue;
        buf_printf(&out, "%s%s ", out.n ? ", " : "", row->path + sizeof front - 1);
        if (row->type == CONFIG_IS_MS && *(const uint64_t *)at % DAY_MS == 0)
            buf_printf(&out, "%llud", (unsigned long long)(*(const uint64_t *)at / DAY_MS));
        else
            config_row_show(row, c, &out);
    }
    return arena_move_buf(a, &out);
}

static str kept_url(str url, struct arena *a)
{
    struct buf out;

    buf_init(&out, url.n + 64);
    config_mask_url(url, &out);
    return arena_move_buf(a, &out);
}

bool storage_info_read(const struct config *c, struct reader *r, struct arena *a,
                       struct storage_info *out, struct err *e)
{
    static const str names[] = {STR_INIT("none"), STR_INIT("summary"), STR_INIT("text")};
    char path[FILE_PATH_MAX], journal[FILE_PATH_MAX];

    assert((size_t)c->keep < COUNT_OF(names));
    if (!store_places(c->store_url, c->spool, path, journal, e))
        return false;
    *out =
        (struct storage_info){.reasoning = names[c->keep],
                              .masked = c->masking,
                              .where = path[0] ? kept_absolute(path, a) : kept_url(c->store_url, a),
                              .bytes = -1,
                              .journal = kept_absolute(journal, a),
                              .journal_bytes = kept_folder_bytes(journal),
                              .retention = kept_retention(c, a)};
    return !r || query_size(r, &out->bytes, e);
}
