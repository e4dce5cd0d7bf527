/* SPDX-License-Identifier: Apache-2.0 */
#include "base/err.h"

#include <errno.h>

static const struct {
    const char *name;
    int http_status;
    bool retry;
} meaning[ERR_CODE_COUNT] = {
    [ERR_NONE] = {"none", 200, false},
    [ERR_INPUT] = {"input", 400, false},
    [ERR_AUTH] = {"auth", 401, false},
    [ERR_NOT_FOUND] = {"not_found", 404, false},
    [ERR_CONFLICT] = {"conflict", 409, false},
    [ERR_LIMIT] = {"limit", 429, false},
    [ERR_UPSTREAM] = {"upstream", 502, true},
    [ERR_TIMEOUT] = {"timeout", 504, true},
    [ERR_CANCELLED] = {"cancelled", 499, false},
    [ERR_SYSTEM] = {"system", 500, false},
};

/* vsnprintf may cut within a character; the incomplete character is removed. */
static void err_end_at_character(char *text)
{
    size_t n = strlen(text), i = n;

    while (i > 0 && n - i < 3 && ((unsigned char)text[i - 1] & 0xC0) == 0x80)
        i--;
    if (i == 0)
        return;

    unsigned char lead = (unsigned char)text[i - 1];
    size_t want = lead >= 0xF0 ? 4 : lead >= 0xE0 ? 3 : lead >= 0xC0 ? 2 : 1;

    if (n - (i - 1) < want)
        text[i - 1] = '\0';
}

PRINTF_LIKE(2, 0) static void set_text(struct err *e, const char *fmt, va_list ap)
{
    int n = vsnprintf(e->text, sizeof e->text, fmt, ap);

    if (n >= (int)sizeof e->text)
        err_end_at_character(e->text);
}

bool err_set(struct err *e, enum err_code code, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    e->code = code;
    set_text(e, fmt, ap);
    va_end(ap);
    return false;
}

bool err_sys(struct err *e, const char *fmt, ...)
{
    int why = errno;
    char what[sizeof e->text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(what, sizeof what, fmt, ap);
    va_end(ap);
    return err_set(
        e, ERR_SYSTEM, "%s: %s", what, strerrordesc_np(why) ? strerrordesc_np(why) : "?");
}

bool err_prefix(struct err *e, const char *fmt, ...)
{
    char before[sizeof e->text], after[sizeof e->text];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(before, sizeof before, fmt, ap);
    va_end(ap);
    memcpy(after, e->text, sizeof after);
    return err_set(e, e->code, "%s%s", before, after);
}

const char *err_name(enum err_code code)
{
    assert(code < ERR_CODE_COUNT);
    return meaning[code].name;
}

int err_http_status(enum err_code code)
{
    assert(code < ERR_CODE_COUNT);
    return meaning[code].http_status;
}

bool err_retry(enum err_code code)
{
    assert(code < ERR_CODE_COUNT);
    return meaning[code].retry;
}
