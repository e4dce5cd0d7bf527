/* Heads and chunked bodies of arbitrary bytes: spans stay inside the input, no control character
 * passes, a learnt front contains nothing that the whole head lacks, and cuts change neither bytes
 * nor verdict.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/http1_again.h"

#include "base/buf.h"

#define HEAD_MAX 4096
#define OUT_MAX (1 << 16)

/* A head is read alike with and without a front that was learnt from another head. */
static void check_again(str text, size_t cut)
{
    static struct http1_again again;
    static struct http1_head h, plain;
    struct http1_fault fault = {0}, other = {0};
    size_t used = 0, used_plain = 0;
    const str order[] = {text, text, str_slice(text, 0, cut), text};

    again = (struct http1_again){0};
    for (size_t i = 0; i < sizeof order / sizeof order[0]; i++) {
        enum http1_result want = http1_request(order[i], HEAD_MAX, &plain, &used_plain, &other);
        enum http1_result got = http1_request_again(&again, order[i], HEAD_MAX, &h, &used, &fault);

        assert(got == want && fault.status == other.status);
        if (got != HTTP1_DONE)
            continue;
        assert(used == used_plain && h.field_count == plain.field_count);
        assert(memcmp(&h, &plain, offsetof(struct http1_head, fields)) == 0);
        assert(memcmp(h.fields, plain.fields, h.field_count * sizeof h.fields[0]) == 0);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_span(str s, str whole)
{
    assert(str_eq(s, STR("/")) || s.n == 0 || (s.p >= whole.p && s.p + s.n <= whole.p + whole.n));
    for (size_t i = 0; i < s.n; i++)
        assert(((unsigned char)s.p[i] >= 0x20 || s.p[i] == '\t') && s.p[i] != 0x7F);
}

static void check_head(const struct http1_head *h, str whole)
{
    const str spans[] = {h->method, h->target, h->path, h->query, h->host, h->reason};

    for (size_t i = 0; i < COUNT_OF(spans); i++)
        check_span(spans[i], whole);
    for (size_t i = 0; i < h->field_count; i++) {
        check_span(h->fields[i].name, whole);
        check_span(h->fields[i].value, whole);
        assert(http1_is_token(h->fields[i].name));
        assert(str_eq(str_trim(h->fields[i].value), h->fields[i].value));
    }
    if (h->is_request)
        assert(http1_is_token(h->method) && h->path.n > 0 && h->framing != HTTP1_TO_CLOSE);
    assert(h->framing != HTTP1_CHUNKED || h->minor == 1);
    assert(!(http1_has(h, STR("content-length")) && http1_has(h, STR("transfer-encoding"))));
}

static void on_bytes(void *ctx, str bytes)
{
    assert(bytes.n > 0);
    buf_add(ctx, bytes);
}

static void check_chunked(str text, size_t step)
{
    struct http1_head h = {.framing = HTTP1_CHUNKED};
    struct http1_body whole, cut;
    struct buf a, b, copy;
    size_t used, sum = 0;

    buf_init(&a, OUT_MAX);
    buf_init(&b, OUT_MAX);
    http1_body_init(&whole, &h);
    http1_body_init(&cut, &h);
    cut.joins = true; /* of a copy: what is read stays as it is */
    buf_init(&copy, text.n);
    buf_add(&copy, text);
    used = http1_body_feed(&whole, text, (struct http1_sink){on_bytes, &a});
    while (sum < text.n && !cut.done && !cut.fault.status) {
        str piece = str_slice(buf_str(&copy), sum, sum + step);
        size_t n = http1_body_feed(&cut, piece, (struct http1_sink){on_bytes, &b});

        assert(n == piece.n || cut.done || cut.fault.status);
        sum += n;
    }
    assert(sum == used && cut.done == whole.done && cut.fault.status == whole.fault.status);
    assert(str_eq(buf_str(&a), buf_str(&b)));
    buf_release(&a);
    buf_release(&b);
    buf_release(&copy);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct http1_head h, part;
    struct http1_fault fault, early;
    size_t used = 0, used_early = 0, cut;
    enum http1_result got, front;
    str text;

    if (size < 2)
        return 0;
    text = (str){(const char *)data + 2, size - 2};
    cut = (size_t)data[0] * 256 + data[1];
    cut = text.n ? cut % text.n : 0;

    check_again(text, cut);
    got = http1_request(text, HEAD_MAX, &h, &used, &fault);
    front = http1_request(str_slice(text, 0, cut), HEAD_MAX, &part, &used_early, &early);
    if (got == HTTP1_DONE) {
        check_head(&h, text);
        assert(http1_head_end(text, 0) == used);
        assert(front == (cut < used ? HTTP1_MORE : HTTP1_DONE));
    }
    assert(front != HTTP1_BAD || got == HTTP1_BAD);
    assert(front != HTTP1_DONE || (got == HTTP1_DONE && used == used_early));
    assert(http1_head_end(text, cut) == http1_head_end(text, 0) ||
           http1_head_end(str_slice(text, 0, cut), 0) != STR_NONE);

    got = http1_reply(text, HEAD_MAX, data[0] & 1, &h, &used, &fault);
    front = http1_reply(str_slice(text, 0, cut), HEAD_MAX, data[0] & 1, &part, &used_early, &early);
    if (got == HTTP1_DONE) {
        check_head(&h, text);
        assert(front == (cut < used ? HTTP1_MORE : HTTP1_DONE));
    }
    assert(front != HTTP1_BAD || got == HTTP1_BAD);

    check_chunked(text, 1 + data[0] % 7);
    return 0;
}
