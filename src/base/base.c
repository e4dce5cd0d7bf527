/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"

#include <sys/mman.h>

void base_assert_failed(const char *file, int line)
{
    base_die("%s:%d: a fault in the program, please report it", file, line);
}

void base_die(const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    fputs("rationale: fatal: ", stderr);
    vfprintf(stderr, fmt, ap);
    fputc('\n', stderr);
    va_end(ap);
    abort();
}

void *base_alloc(size_t size)
{
    return base_realloc(NULL, size);
}

void *base_alloc_zero(size_t size)
{
    void *p = calloc(1, size ? size : 1);

    if (!p)
        base_die("out of memory asking for %zu bytes", size);
    return p;
}

void *base_realloc(void *p, size_t size)
{
    void *q = realloc(p, size ? size : 1);

    if (!q)
        base_die("out of memory asking for %zu bytes", size);
    return q;
}

void *base_reserve(size_t size)
{
    void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (p == MAP_FAILED)
        base_die("out of memory asking for %zu bytes", size);
    return p;
}

void base_unreserve(void *p, size_t size)
{
    if (p)
        (void)munmap(p, size);
}

void *base_grow(void *list, size_t n, size_t *max, size_t size)
{
    assert(n <= *max && !list == !*max);
    if (n < *max)
        return list;
    *max = *max ? 2 * *max : 64;
    return base_realloc(list, *max * size);
}
