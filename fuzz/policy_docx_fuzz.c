/* Arbitrary bytes as a DOCX file, and as the body of one, because a fuzzer does not find checksums.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy_format_fuzz.h"

#include "apps/policy/format/zip.h"
#include "base/buf.h"

#include <zlib.h>

static void put(struct buf *b, uint64_t v, unsigned bytes)
{
    for (; bytes > 0; bytes--, v >>= 8)
        buf_add_c(b, (char)(v & 0xFF));
}

/* An archive with the one part that a document must have, stored. */
static void pack(str xml, struct buf *b)
{
    static const char name[] = "word/document.xml";
    uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)xml.p, xml.n);
    size_t directory;

    for (int local = 1; local >= 0; local--) {
        if (!local)
            directory = b->n;
        buf_add(b, local ? STR("PK\x03\x04") : STR("PK\x01\x02"));
        put(b, 20, local ? 2 : 4); /* version; flags follow */
        put(b, 0, local ? 8 : 6);
        put(b, 0, local ? 0 : 2);
        put(b, crc, 4);
        put(b, xml.n, 4);
        put(b, xml.n, 4);
        put(b, sizeof name - 1, 2);
        put(b, 0, local ? 2 : 16);
        buf_add(b, str_c(name));
        if (local)
            buf_add(b, xml);
    }
    put(b, 0x06054b50, 4);
    put(b, 0, 4);
    put(b, 0x00010001, 4);
    put(b, b->n - 12 - directory, 4);
    put(b, directory, 4);
    put(b, 0, 2);
}

static void check(str bytes)
{
    struct policy_tree t;
    struct arena a;
    struct err e = {0};

    arena_init(&a, POLICY_ARENA_MAX);
    if (policy_tree_docx(bytes, STR("n"), &a, &t, &e))
        format_check_tree(&t);
    else if (!e.text[0])
        abort();
    arena_release(&a);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str bytes = {(const char *)data, size};
    struct buf b;
    struct zip z;
    struct err e;

    check(bytes);
    buf_init(&b, size + 4096);
    pack(bytes, &b);
    if (!zip_open(&z, buf_str(&b), &e))
        abort();
    check(buf_str(&b));
    buf_release(&b);
    return 0;
}
