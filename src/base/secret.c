/* SPDX-License-Identifier: Apache-2.0 */
#include "base/secret.h"

#include "base/sha256.h"

#include <sys/mman.h>
#include <sys/resource.h>

/* Locking and leaving out of dumps work by the page, so each secret has whole ones. */
struct secret_page {
    size_t mapped, n;
    char bytes[];
};

bool secret_init(struct secret *s, str bytes, struct err *e)
{
    size_t mapped = sizeof *s->page + bytes.n + 1;
    struct secret_page *page;

    if (bytes.n > SECRET_SIZE_MAX)
        return err_set(e, ERR_LIMIT, "a secret of more than %d bytes", SECRET_SIZE_MAX);
    page = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        base_die("out of memory for a secret");
    (void)mlock(page, mapped); /* may be refused: then the memory could be swapped out */
    (void)madvise(page, mapped, MADV_DONTDUMP);
    page->mapped = mapped;
    page->n = bytes.n;
    memcpy(page->bytes, bytes.p, bytes.n);
    s->page = page;
    return true;
}

void secret_release(struct secret *s)
{
    if (!s->page)
        return;
    secret_wipe(s->page->bytes, s->page->n);
    munmap(s->page, s->page->mapped);
    s->page = NULL;
}

str secret_reveal(const struct secret *s)
{
    return s->page ? (str){s->page->bytes, s->page->n} : STR("");
}

bool secret_equal(const struct secret *s, str given)
{
    str own = secret_reveal(s);

    return own.n > 0 && own.n == given.n && mem_equal_ct(own.p, given.p, own.n);
}

void secret_wipe(void *bytes, size_t size)
{
    explicit_bzero(bytes, size);
}

/* Not 0, because a limit of 0 does not hold for dumps that are piped to a program (systemd's,
 * apport's). For these the kernel takes 1 as "no dump", and it is smaller than any dump file. */
void secret_no_dumps(void)
{
    if (setrlimit(RLIMIT_CORE, &(struct rlimit){1, 1}) != 0) /* there may be a lower one already */
        (void)setrlimit(RLIMIT_CORE, &(struct rlimit){0, 0});
}
