/* again.c - see http1_again.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/http1/internal.h"

#define MISSES 64  /* clients that have little in common take turns: nothing is learnt each time */
#define HITS 65536 /* a front that does may not be the longest */
#define SIZE_MIN 32

static size_t http1_in_common(str a, str b)
{
    size_t n = a.n < b.n ? a.n : b.n, at = 0;

    while (at < n && a.p[at] == b.p[at])
        at++;
    return at;
}

/* The number of bytes up to the end of the last complete line. */
static size_t http1_whole_lines(str s)
{
    const char *lf = s.n ? memrchr(s.p, '\n', s.n) : NULL;

    return lf ? (size_t)(lf - s.p) + 1 : 0;
}

static bool http1_is_credential(str name)
{
    static const str names[] = {STR_INIT("authorization"),
                                STR_INIT("proxy-authorization"),
                                STR_INIT("cookie"),
                                STR_INIT("set-cookie"),
                                STR_INIT("x-api-key"),
                                STR_INIT("x-goog-api-key"),
                                STR_INIT("api-key")};

    for (size_t i = 0; i < COUNT_OF(names); i++)
        if (http1_same(name, names[i]))
            return true;
    return false;
}

/* A head up to its last line's end, or to the first line that has a credential. */
static str http1_again_cut_credentials(const struct http1_head *h, str head)
{
    assert(head.n > 0);
    for (size_t i = 0; i < h->field_count; i++)
        if (http1_is_credential(h->fields[i].name))
            return (str){head.p, (size_t)(h->fields[i].name.p - head.p)};
    return str_slice(head, 0, head.n - 1); /* the empty line is not whole without this */
}

/* Learns the common prefix of this head and the last one, if it is long enough. */
static void http1_again_learn(struct http1_again *a, str head, bool is_request)
{
    size_t size;

    assert(a->last <= sizeof a->bytes && a->size <= a->last);
    head = str_slice(head, 0, sizeof a->bytes);
    size = http1_whole_lines((str){head.p, http1_in_common(head, (str){a->bytes, a->last})});
    a->misses = a->last ? MISSES : 0;
    a->hits = HITS;
    memcpy(a->bytes, head.p, head.n);
    a->last = head.n;
    a->size = size >= SIZE_MIN && http1_front(a, size, is_request) ? size : 0;
    assert(a->size <= a->last);
}

/* Whether these bytes begin with the front that is known. */
static bool http1_again_begins(struct http1_again *a, str bytes, size_t size_max)
{
    assert(a->size <= a->last && a->last <= sizeof a->bytes);
    if (!a->size || a->size > bytes.n || a->size > size_max || !a->hits ||
        memcmp(bytes.p, a->bytes, a->size) != 0)
        return false;
    a->hits--;
    return true;
}

/* A head that did not: one may be learnt from it. */
static void http1_again_note_miss(struct http1_again *a, const struct http1_head *h, str head)
{
    if (a->misses && (a->hits || !a->size))
        a->misses--;
    else
        http1_again_learn(a, http1_again_cut_credentials(h, head), h->is_request);
}

enum http1_result http1_request_again(struct http1_again *a, str bytes, size_t size_max,
                                      struct http1_head *out, size_t *used,
                                      struct http1_fault *fault)
{
    enum http1_result got;

    if (http1_again_begins(a, bytes, size_max))
        return http1_from(
            a, bytes, (struct http1_reply_rules){.size_max = size_max}, out, used, fault);
    got = http1_request(bytes, size_max, out, used, fault);
    if (got == HTTP1_DONE)
        http1_again_note_miss(a, out, str_slice(bytes, 0, *used));
    return got;
}

enum http1_result http1_reply_again(struct http1_again *a, str bytes,
                                    struct http1_reply_rules rules, struct http1_head *out,
                                    size_t *used, struct http1_fault *fault)
{
    enum http1_result got;

    if (http1_again_begins(a, bytes, rules.size_max))
        return http1_from(a, bytes, rules, out, used, fault);
    got = http1_reply(bytes, rules.size_max, rules.no_body, out, used, fault);
    if (got == HTTP1_DONE)
        http1_again_note_miss(a, out, str_slice(bytes, 0, *used));
    return got;
}
