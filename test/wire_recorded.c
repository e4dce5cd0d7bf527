/* Checks the recorded traffic of one dialect.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

static size_t on_reply(void *ctx, const struct exchange *x)
{
    const struct recorded *r = ctx;
    enum frames_kind kind =
        str_find(x->type, STR("event-stream")) != STR_NONE ? FRAMES_SSE : FRAMES_WHOLE;
    char id[256];

    if (!r->speaks(x->uri) || x->status != 200)
        return 0;
    snprintf(id, sizeof id, STR_FMT, STR_ARG(x->id));
    check_decoding(r->wire, id, x->reply, kind, r->keys);
    check_passing(r->wire, id, x->reply, kind);
    return 1;
}

static size_t on_request(void *ctx, const struct exchange *x)
{
    const struct recorded *r = ctx;
    struct buf first, body, second;
    char id[256];

    if (!r->speaks(x->uri) || x->request.n == 0)
        return 0;
    snprintf(id, sizeof id, STR_FMT, STR_ARG(x->id));
    buf_init(&first, HELP_SIZE_MAX);
    buf_init(&body, HELP_SIZE_MAX);
    buf_init(&second, HELP_SIZE_MAX);
    read_to(r->wire, x->request, &first, &body);
    CHECK_F(first.p[0] != '!', "%s: " STR_FMT, id, STR_ARG(buf_str(&first)));
    read_to(r->wire, buf_str(&body), &second, NULL);
    check_same(id, "read again", buf_str(&second), buf_str(&first));
    buf_release(&first);
    buf_release(&body);
    buf_release(&second);
    return 1;
}

static size_t each(const struct recorded *r, size_t (*on)(void *ctx, const struct exchange *x))
{
    struct recorded copy = *r;
    size_t n = 0;

    for (size_t i = 0; r->files[i]; i++)
        n += each_exchange(r->files[i], on, &copy);
    return n;
}

void check_recorded_replies(const struct recorded *r)
{
    print_message("%zu replies\n", each(r, on_reply));
}

void check_recorded_requests(const struct recorded *r)
{
    print_message("%zu requests\n", each(r, on_request));
}
