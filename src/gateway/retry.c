/* retry.c - transient or not, and for how long.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "gateway/retry.h"

bool retry_transient(int status)
{
    return status == 0 || status == 408 || status == 409 || status == 425 || status == 429 ||
           status >= 500;
}

uint64_t retry_wait_ms(struct rand *r, uint64_t base_ms, unsigned n, int64_t retry_after)
{
    uint64_t wait = base_ms << (n > 1 ? (n < 8 ? n - 1 : 7) : 0);
    uint64_t quarter = wait / 4;

    wait = wait - quarter + rand_below(r, 2 * quarter + 1);
    if (retry_after >= 0 && (uint64_t)retry_after > wait)
        wait = (uint64_t)retry_after;
    return wait;
}

/* "12", "1.5": to milliseconds; false if it is no such number. */
static bool retry_parse_seconds(str s, int64_t *ms)
{
    int64_t whole = 0, part = 0, scale = 100;
    size_t i = 0;

    if (s.n == 0 || s.n > 12)
        return false;
    for (; i < s.n && s.p[i] >= '0' && s.p[i] <= '9'; i++)
        whole = whole * 10 + (s.p[i] - '0');
    if (i == 0)
        return false;
    if (i < s.n && s.p[i++] != '.')
        return false;
    for (; i < s.n; i++) {
        if (s.p[i] < '0' || s.p[i] > '9')
            return false;
        part += (s.p[i] - '0') * scale;
        scale /= 10;
    }
    *ms = whole * 1000 + part;
    return true;
}

/* A date of HTTP in any of its three forms; NULL if it is none. */
static const char *retry_date_end(const char *date, struct tm *tm)
{
    static const char *const forms[] = {
        "%a, %d %b %Y %H:%M:%S GMT", "%A, %d-%b-%y %H:%M:%S GMT", "%a %b %d %H:%M:%S %Y"};
    const char *end = NULL;

    for (size_t i = 0; i < COUNT_OF(forms) && (!end || *end); i++) {
        memset(tm, 0, sizeof *tm);
        end = strptime(date, forms[i], tm);
    }
    return end;
}

int64_t retry_after_ms(str retry_after, str ms_text, int64_t now_wall_ms)
{
    char date[40];
    struct tm tm;
    const char *end;
    uint64_t exact;
    int64_t ms;

    ms_text = str_trim(ms_text);
    retry_after = str_trim(retry_after);
    if (str_u64(ms_text, &exact) && exact < INT32_MAX)
        return (int64_t)exact;
    if (retry_parse_seconds(retry_after, &ms))
        return ms;
    if (retry_after.n == 0 || retry_after.n >= sizeof date)
        return -1;
    memcpy(date, retry_after.p, retry_after.n);
    date[retry_after.n] = '\0';
    end = retry_date_end(date, &tm);
    if (!end || *end)
        return -1;
    ms = (int64_t)timegm(&tm) * 1000 - now_wall_ms;
    return ms > 0 ? ms : 0;
}
