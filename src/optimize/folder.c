/* A folder with the stored run: one file, append-only, locked by one process.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/file.h"
#include "optimize/run.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

static bool optimize_folder_add(void *ctx, str line, struct err *e)
{
    const struct optimize_folder *f = ctx;

    while (line.n > 0) {
        ssize_t n = write(f->fd, line.p, line.n);

        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return err_sys(e, "cannot write the run");
        line = str_slice(line, (size_t)n, line.n);
    }
    return true;
}

static bool optimize_sync_file(void *ctx, struct err *e)
{
    const struct optimize_folder *f = ctx;

    return fdatasync(f->fd) == 0 || err_sys(e, "cannot bring the run to disk");
}

bool optimize_folder_open(const char *path, struct arena *a, struct optimize_folder *out, str *kept,
                          struct err *e)
{
    str file = arena_join(a, str_c(path), STR("/run.jsonl"), STR(""));
    int fd;

    if (!file_mkdirs(path, 0777, e))
        return false;
    fd = open(file.p, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0666);
    if (fd < 0)
        return err_sys(e, "cannot open \"%s\"", file.p);
    if (flock(fd, LOCK_EX | LOCK_NB) != 0) {
        err_input(e, "another process uses the run in \"%s\"", path);
        goto fail;
    }
    if (!file_read_fd(a, fd, OPTIMIZE_KEPT_MAX, kept, e) && !err_prefix(e, "%s: ", file.p))
        goto fail;
    kept->n = optimize_kept_size(*kept);
    if (ftruncate(fd, (off_t)kept->n) != 0) {
        err_sys(e, "cannot cut \"%s\"", file.p);
        goto fail;
    }
    out->fd = fd;
    return true;
fail:
    close(fd);
    return false;
}

struct optimize_keeper optimize_folder_keeper(struct optimize_folder *f)
{
    return (struct optimize_keeper){
        .add = optimize_folder_add, .sync = optimize_sync_file, .ctx = f};
}

void optimize_folder_close(struct optimize_folder *f)
{
    close(f->fd);
}
