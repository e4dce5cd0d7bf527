/* base.h - attributes and banned functions, for every file.
 *
 * Each header of base includes it, so other files need not. It includes the standard headers before
 * the ban, because a banned name may not even be declared after it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include <assert.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* The caller must use the result. */
#define MUST_USE __attribute__((warn_unused_result))
#define PRINTF_LIKE(fmt, args) __attribute__((format(printf, fmt, args)))
#define NORETURN __attribute__((noreturn))
#define NOINLINE __attribute__((noinline)) /* keeps a rare path out of a frequent one */
#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* Whether this build has a sanitizer: gcc defines a macro for each, clang has __has_feature. */
#ifdef __has_feature
#define BUILD_FEATURE(name) __has_feature(name)
#else
#define BUILD_FEATURE(name) 0
#endif
#if defined(__SANITIZE_THREAD__) || BUILD_FEATURE(thread_sanitizer)
#define BUILD_THREAD_SANITIZER 1
#else
#define BUILD_THREAD_SANITIZER 0
#endif
#if BUILD_THREAD_SANITIZER || defined(__SANITIZE_ADDRESS__) || BUILD_FEATURE(address_sanitizer) || \
    BUILD_FEATURE(memory_sanitizer)
#define BUILD_MEMORY_CHECKED 1 /* each free and each access is checked */
#else
#define BUILD_MEMORY_CHECKED 0
#endif

/* An assert states what the program's own logic guarantees: the order of states, indexes below
 * counts, offsets within lengths. It never judges input (of a client, a model, a file, a database
 * or the configuration), which gets an error instead, and it has no side effects.
 *
 * assert is part of every build, release builds too (meson's b_ndebug is false): a few
 * instructions, and none for each byte. It reports file and line, not its text and function, which
 * would be 200 kB of the program. assert_slow is for checks that walk a structure or are in
 * a loop over bytes: only builds with meson's debug option have it, among them all with sanitizers
 * and the fuzz targets. */
#undef assert
void base_assert_failed(const char *file, int line) NORETURN __attribute__((cold));
#define assert(x) ((x) ? (void)0 : base_assert_failed(__FILE__, __LINE__))
#ifdef RATIONALE_ASSERT_SLOW
#define assert_slow(x) assert(x)
#else
#define assert_slow(x) ((void)(0 && (x)))
#endif

/* Appends a node to a list that is linked by `next`: its first and last node, NULL if empty. */
#define LIST_APPEND(first, last, node)                                                             \
    (*((last) ? &(last)->next : &(first)) = (node), (last) = (node))

/* The name at an index, such as a value of an enum: NAME_OF(end, "completed", "failed"). */
#define NAME_OF(index, ...)                                                                        \
    base_name_of((size_t)(index),                                                                  \
                 (const char *const[]){__VA_ARGS__},                                               \
                 COUNT_OF(((const char *const[]){__VA_ARGS__})))
static inline const char *base_name_of(size_t index, const char *const *names, size_t n)
{
    assert(index < n);
    return names[index];
}

/* Out of memory, or an invariant is broken: reports it on stderr and aborts. */
void base_die(const char *fmt, ...) PRINTF_LIKE(1, 2) NORETURN;

/* malloc and realloc that never return NULL: every size is bounded before it gets here. */
void *base_alloc(size_t size) MUST_USE;
void *base_realloc(void *p, size_t size) MUST_USE;
/* Makes room for one more element in a list of n elements that has room for *max: returns the list,
 * or a larger copy and its *max. An empty list is NULL, its *max 0. */
void *base_grow(void *list, size_t n, size_t *max, size_t size) MUST_USE;
/* Zeros. Pages of a large piece take memory when they are first used. */
void *base_alloc_zero(size_t size) MUST_USE;
/* Zeros, as pages of their own, for megabytes that are rarely used in full: malloc may fill
 * what it returns (MALLOC_PERTURB_), and then all pages take memory. base_unreserve frees it. */
void *base_reserve(size_t size) MUST_USE;
void base_unreserve(void *p, size_t size);

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok atoi atol atof
#pragma GCC poison gmtime localtime asctime ctime tmpnam mktemp
