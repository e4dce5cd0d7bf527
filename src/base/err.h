/* err.h - the reason of a failure: a code for the program, a sentence for the person.
 *
 *     bool thing_open(const char *path, struct err *e)
 *     {
 *         int fd = open(path, O_RDONLY | O_CLOEXEC);
 *
 *         if (fd < 0)
 *             return err_sys(e, "open %s", path);
 *         ...
 *     }
 *
 * The caller owns the struct and may leave it uninitialised. A function that succeeds does not
 * change it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/base.h"

enum err_code {
    ERR_NONE,
    ERR_INPUT,     /* the input is invalid */
    ERR_AUTH,      /* the caller lacks permission */
    ERR_NOT_FOUND, /* the named thing does not exist */
    ERR_CONFLICT,  /* it exists, but its state does not allow this */
    ERR_LIMIT,     /* a limit was reached */
    ERR_UPSTREAM,  /* the provider failed */
    ERR_TIMEOUT,
    ERR_CANCELLED,
    ERR_SYSTEM, /* the operating system failed: disk, memory map, descriptor */
    ERR_CODE_COUNT
};

struct err {
    enum err_code code;
    char text[240];
};

/* All return false, so that a failing path reads: return err_set(e, ...). A sentence that is too
 * long is truncated between characters. err_sys appends the text of errno; err_input sets
 * ERR_INPUT. */
bool err_set(struct err *e, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool err_sys(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);
#define err_input(e, ...) err_set(e, ERR_INPUT, __VA_ARGS__)

/* Adds a prefix to the sentence: "config.yaml: " + "line 3: ...". Returns false. */
bool err_prefix(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

const char *err_name(enum err_code code);
int err_http_status(enum err_code code);
bool err_retry(enum err_code code);
