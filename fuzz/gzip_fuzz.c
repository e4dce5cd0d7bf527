/* Compressed bodies of arbitrary bytes: cuts change neither the unpacked bytes nor the verdict,
 * gzip_unpack returns the same as the pieces, no result exceeds its limit, and packed bytes can be
 * unpacked.
 *
 * The first byte chooses the coding, the limit and the size of the pieces; the rest is the body.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "net/gzip.h"

#define OUT_MAX ((size_t)1 << 20)
#define SMALL_MAX ((size_t)100)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum verdict { WHOLE, CUT_SHORT, BAD, TOO_LARGE };

static enum verdict verdict_of(enum gzip_progress p, const struct err *e)
{
    if (p != GZIP_FAILED)
        return WHOLE;
    assert(e->text[0] && (e->code == ERR_INPUT || e->code == ERR_LIMIT));
    return e->code == ERR_LIMIT ? TOO_LARGE : BAD;
}

static enum verdict unpack_pieces(str coding, str packed, size_t piece, size_t size_max,
                                  struct buf *out)
{
    struct gzip_unpacker *u = gzip_unpacker_open(coding, size_max);
    enum gzip_progress p = GZIP_WAITS;
    enum verdict v;
    struct err e;

    for (size_t at = 0; at < packed.n && p == GZIP_WAITS; at += piece) {
        gzip_unpacker_feed(u, str_slice(packed, at, at + piece));
        do {
            p = gzip_unpacker_step(u, &e);
            buf_add(out, buf_str(gzip_unpacker_plain(u)));
            buf_reset(gzip_unpacker_plain(u));
        } while (p == GZIP_MORE);
    }
    assert(p != GZIP_DONE && out->n <= size_max);
    v = verdict_of(p, &e);
    if (v == WHOLE && !gzip_unpacker_is_whole(u))
        v = CUT_SHORT;
    gzip_unpacker_free(u);
    return v;
}

/* An empty body is a complete stream, but not a gzip file. */
static void check_whole(str packed, size_t size_max, enum verdict want, str plain)
{
    enum verdict v = WHOLE;
    struct buf out;
    struct err e;

    buf_init(&out, size_max);
    if (!gzip_unpack(packed, &out, &e))
        v = verdict_of(GZIP_FAILED, &e);
    assert(v == (want == CUT_SHORT || packed.n == 0 ? BAD : want));
    assert(v != WHOLE || str_eq(buf_str(&out), plain));
    buf_release(&out);
}

static void check_packed(str text, size_t piece)
{
    struct gzip *g = gzip_new();
    struct buf packed, out;

    buf_init(&packed, OUT_MAX);
    buf_init(&out, OUT_MAX);
    gzip_pack(g, text, &packed);
    assert(unpack_pieces(STR("gzip"), buf_str(&packed), piece, OUT_MAX, &out) == WHOLE);
    assert(str_eq(buf_str(&out), text));
    buf_release(&packed);
    buf_release(&out);
    gzip_free(g);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct buf whole, cut;
    enum verdict v;
    size_t piece, size_max;
    str coding, text;

    if (size < 1)
        return 0;
    coding = data[0] & 1 ? STR("deflate") : STR("gzip");
    size_max = data[0] & 2 ? SMALL_MAX : OUT_MAX;
    piece = (size_t)1 + data[0] / 4;
    text = (str){(const char *)data + 1, size - 1};
    buf_init(&whole, OUT_MAX);
    buf_init(&cut, OUT_MAX);
    v = unpack_pieces(coding, text, text.n + 1, size_max, &whole);
    assert(unpack_pieces(coding, text, piece, size_max, &cut) == v);
    assert(str_eq(buf_str(&whole), buf_str(&cut)));
    if (!(data[0] & 1))
        check_whole(text, size_max, v, buf_str(&whole));
    check_packed(text, piece);
    buf_release(&whole);
    buf_release(&cut);
    return 0;
}
