/* err.h - why something failed: a code for the program, a sentence for the person.
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
 * The caller owns the struct and may leave it uninitialised. On success nobody touches it.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#pragma once

#include "base/base.h"

enum err_code {
    ERR_NONE,
    ERR_INPUT,     /* what was given is wrong */
    ERR_AUTH,      /* who asks may not */
    ERR_NOT_FOUND, /* what was named is not there */
    ERR_CONFLICT,  /* it is there, in a state that does not allow this */
    ERR_LIMIT,     /* a ceiling was reached */
    ERR_UPSTREAM,  /* the model's side failed */
    ERR_TIMEOUT,
    ERR_CANCELLED,
    ERR_SYSTEM, /* the machine's side failed: disk, memory map, descriptor */
    ERR_CODE_COUNT
};

struct err {
    enum err_code code;
    char text[240];
};

/* Both return false, so that a failing path reads: return err_set(e, ...). A sentence that is too
 * long is cut at a character. err_sys adds what errno says. */
bool err_set(struct err *e, enum err_code code, const char *fmt, ...) PRINTF_LIKE(3, 4);
bool err_sys(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

/* Puts words before the sentence that is there: "config.yaml: " + "line 3: ...". Returns false. */
bool err_prefix(struct err *e, const char *fmt, ...) PRINTF_LIKE(2, 3);

const char *err_name(enum err_code code);
int err_http_status(enum err_code code);
bool err_retry(enum err_code code);
