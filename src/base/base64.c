/* base64.c - base64 both ways.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/base64.h"

static const char standard[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
static const char for_url[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

static void base64_encode(struct buf *out, str bytes, const char *alphabet, bool pad)
{
    const unsigned char *p = (const unsigned char *)bytes.p;

    for (size_t i = 0; i < bytes.n; i += 3) {
        size_t left = bytes.n - i;
        unsigned v = (unsigned)p[i] << 16 | (left > 1 ? (unsigned)p[i + 1] << 8 : 0) |
                     (left > 2 ? p[i + 2] : 0u);
        char four[4] = {alphabet[v >> 18],
                        alphabet[v >> 12 & 63],
                        left > 1 ? alphabet[v >> 6 & 63] : '=',
                        left > 2 ? alphabet[v & 63] : '='};

        buf_add(out, (str){four, pad || left > 2 ? 4 : left + 1});
    }
}

void base64_add(struct buf *out, str bytes)
{
    base64_encode(out, bytes, standard, true);
}

void base64_add_url(struct buf *out, str bytes)
{
    base64_encode(out, bytes, for_url, false);
}

bool base64_decode(str text, struct buf *out)
{
    size_t before = out->n, data = text.n;
    unsigned held = 0, bits = 0;

    if (text.n % 4 != 0)
        return false;
    while (data > 0 && text.n - data < 2 && text.p[data - 1] == '=')
        data--;
    for (size_t i = 0; i < data; i++) {
        int v = base64_digit(text.p[i]);

        if (v < 0 || text.p[i] == '-' || text.p[i] == '_') {
            out->n = before;
            return false;
        }
        held = (held << 6 | (unsigned)v) & 0xffffff;
        bits += 6;
        if (bits >= 8) {
            bits -= 8;
            buf_add_c(out, (char)(held >> bits & 255));
            assert(bits < 8);
        }
    }
    if (held & ((1u << bits) - 1)) { /* the unused bits of the last byte must be 0 */
        out->n = before;
        return false;
    }
    return !buf_full(out);
}
