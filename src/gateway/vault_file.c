/* vault_file.c - see vault_file.h. A file is a sequence of replies: the size of the reply, then
 * each fragment with its size before it. Sizes are 64 bits, in the byte order of the machine. In a
 * file, the age of a fragment is the wall time in milliseconds when it was added.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/vault_file.h"

#include "base/file.h"
#include "base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#define DAY_MS ((int64_t)86400 * 1000)

struct vault_file {
    const struct clock *clock;
    uint8_t secret[VAULT_SECRET_SIZE];
    char path[FILE_PATH_MAX], old[FILE_PATH_MAX];
    pthread_mutex_t lock;
    int fd; /* -1: not open yet */
    size_t size;
    int64_t begun_ms; /* wall time of the first reply in it */
    bool warned;
};

/* ---- writing ---- */

static void vault_file_close_fd(struct vault_file *f)
{
    if (f->fd >= 0)
        close(f->fd);
    f->fd = -1;
}

/* The next reply tries again. */
static void vault_file_fail(struct vault_file *f, int why)
{
    if (!f->warned)
        log_warn("the vault cannot be written: signatures of reasoning are lost at a restart",
                 LOG_TEXT("file", f->path),
                 LOG_TEXT("why", strerror(why)));
    f->warned = true;
    vault_file_close_fd(f);
}

static bool vault_file_begin(struct vault_file *f, size_t more)
{
    int64_t now = clock_wall_ms(f->clock);

    if (f->size > 0 && (f->size + more > VAULT_FILE_MAX || now - f->begun_ms > DAY_MS / 2)) {
        vault_file_close_fd(f);
        if (rename(f->path, f->old) < 0 && errno != ENOENT)
            return false;
        f->size = 0;
    }
    if (f->size == 0)
        f->begun_ms = now;
    if (f->fd < 0)
        f->fd = open(f->path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    return f->fd >= 0;
}

static void vault_file_write(struct vault_file *f, str reply)
{
    ssize_t n;
    int why;

    if (!vault_file_begin(f, reply.n)) {
        vault_file_fail(f, errno);
        return;
    }
    assert(f->fd >= 0);
    n = write(f->fd, reply.p, reply.n);
    if (n == (ssize_t)reply.n) {
        f->size += reply.n;
        return;
    }
    why = n < 0 ? errno : ENOSPC;
    (void)!ftruncate(f->fd, (off_t)f->size);
    vault_file_fail(f, why);
}

static bool vault_file_encode(const struct vault_file *f, const struct vault_fragment *fragments,
                              size_t n, struct buf *out)
{
    uint64_t size = 0;
    int64_t now = clock_wall_ms(f->clock);

    buf_add(out, (str){(const char *)&size, sizeof size});
    for (size_t i = 0; i < n; i++) {
        struct vault_fragment one = fragments[i];
        size_t from = out->n;

        one.call.age_ns = (uint64_t)now;
        buf_add(out, (str){(const char *)&size, sizeof size});
        if (!vault_seal(f->secret, &one, out))
            return false;
        assert(out->n >= from + sizeof size);
        size = out->n - from - sizeof size;
        memcpy(out->p + from, &size, sizeof size);
    }
    size = out->n - sizeof size;
    memcpy(out->p, &size, sizeof size);
    return true;
}

void vault_file_add(struct vault_file *f, const struct vault_fragment *fragments, size_t n)
{
    struct buf reply;

    if (!f || n == 0)
        return;
    buf_init(&reply, VAULT_FILE_MAX);
    if (vault_file_encode(f, fragments, n, &reply)) {
        pthread_mutex_lock(&f->lock);
        vault_file_write(f, buf_str(&reply));
        pthread_mutex_unlock(&f->lock);
    }
    buf_release(&reply);
}

void vault_file_forget(struct vault_file *f)
{
    if (!f)
        return;
    pthread_mutex_lock(&f->lock);
    vault_file_close_fd(f);
    f->size = 0;
    (void)unlink(f->path);
    (void)unlink(f->old);
    pthread_mutex_unlock(&f->lock);
}

/* ---- reading ---- */

/* The times of a file's first and last fragment, and the size of its whole replies. */
struct vault_file_span {
    int64_t first_ms, last_ms;
    size_t size;
};

/* Whether all fragments of the reply are undamaged. With a vault, they are put into it. */
static bool vault_file_read_reply(const struct vault_file *f, struct vault *v, str reply,
                                  struct vault_file_span *s)
{
    struct vault_fragment one;
    struct buf plain;
    str sealed;
    bool ok = true;

    buf_init(&plain, VAULT_FILE_MAX);
    while (ok && vault_take_part(&reply, &sealed)) {
        int64_t age_ms;

        ok = vault_unseal(f->secret, sealed, &plain, &one);
        if (!ok || !v)
            continue;
        s->last_ms = (int64_t)one.call.age_ns;
        s->first_ms = s->first_ms ? s->first_ms : s->last_ms;
        age_ms = clock_wall_ms(f->clock) - s->last_ms;
        one.call.age_ns = age_ms > 0 ? (uint64_t)age_ms * CLOCK_NS_PER_MS : 0;
        if (age_ms < DAY_MS)
            vault_put(v, one.origin, &one.call, one.name, one.text);
    }
    buf_release(&plain);
    return ok && reply.n == 0;
}

/* Reads a file into the vault. One whose last fragment is too old is deleted. */
static struct vault_file_span vault_file_read(const struct vault_file *f, const char *path,
                                              struct vault *v)
{
    struct vault_file_span s = {0};
    struct arena a;
    struct err e;
    str all, rest, reply;

    arena_init(&a, 2 * VAULT_FILE_MAX);
    if (!file_read(&a, path, VAULT_FILE_MAX, &all, &e)) {
        if (e.code != ERR_NOT_FOUND)
            log_warn("the vault cannot be read: signatures of earlier reasoning are lost",
                     LOG_TEXT("why", e.text));
        all = STR("");
    }
    rest = all;
    while (vault_take_part(&rest, &reply))
        if (vault_file_read_reply(f, NULL, reply, &s))
            (void)vault_file_read_reply(f, v, reply, &s);
    assert(rest.n <= all.n);
    s.size = all.n - rest.n;
    if (clock_wall_ms(f->clock) - s.last_ms > DAY_MS) {
        (void)unlink(path);
        s = (struct vault_file_span){0};
    }
    arena_release(&a);
    return s;
}

struct vault_file *vault_file_open(const char *dir, const uint8_t secret[VAULT_SECRET_SIZE],
                                   const struct clock *clock, struct vault *v)
{
    struct vault_file *f = base_alloc(sizeof *f);
    struct vault_file_span s;

    *f = (struct vault_file){.clock = clock, .fd = -1};
    memcpy(f->secret, secret, sizeof f->secret);
    (void)snprintf(f->path, sizeof f->path, "%.4000s/vault", dir);
    (void)snprintf(f->old, sizeof f->old, "%.4000s/vault.old", dir);
    pthread_mutex_init(&f->lock, NULL);
    (void)vault_file_read(f, f->old, v);
    s = vault_file_read(f, f->path, v);
    f->size = s.size;
    f->begun_ms = s.first_ms;
    if (s.size > 0 && truncate(f->path, (off_t)s.size) < 0)
        vault_file_fail(f, errno);
    return f;
}

void vault_file_close(struct vault_file *f)
{
    if (!f)
        return;
    vault_file_close_fd(f);
    pthread_mutex_destroy(&f->lock);
    free(f);
}
