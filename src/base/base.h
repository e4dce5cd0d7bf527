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

/* Out of memory, or an invariant is broken: reports it on stderr and aborts. */
void base_die(const char *fmt, ...) PRINTF_LIKE(1, 2) NORETURN;

/* malloc and realloc that never return NULL: every size is bounded before it gets here. */
void *base_alloc(size_t size) MUST_USE;
void *base_realloc(void *p, size_t size) MUST_USE;
/* Zeros. Pages of a large piece take memory when they are first used. */
void *base_alloc_zero(size_t size) MUST_USE;

#pragma GCC poison strcpy strcat strncpy strncat sprintf vsprintf strtok atoi atol atof
#pragma GCC poison gmtime localtime asctime ctime tmpnam mktemp
