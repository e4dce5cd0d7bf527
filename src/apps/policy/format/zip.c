/* zip.c - see zip.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/format/zip.h"

#include <zlib.h>

#define END_SIZE 22
#define END_COMMENT_MAX 65535
#define ENTRY_SIZE 46
#define LOCAL_SIZE 30
#define PIECE 65536

enum { ZIP_STORED = 0, ZIP_DEFLATED = 8, ZIP_ENCRYPTED = 1 };

struct zip_entry {
    str name;
    unsigned flags, method;
    uint32_t crc, packed, size, local;
    size_t next; /* in the directory */
};

static uint32_t zip_u16(str s, size_t at)
{
    assert_slow(at + 1 < s.n);
    return (uint32_t)(unsigned char)s.p[at] | (uint32_t)(unsigned char)s.p[at + 1] << 8;
}

static uint32_t zip_u32(str s, size_t at)
{
    return zip_u16(s, at) | zip_u16(s, at + 2) << 16;
}

static bool zip_damaged(struct err *e, const char *what)
{
    return err_input(e, "the archive is damaged: %s", what);
}

static bool zip_entry_at(const struct zip *z, size_t at, struct zip_entry *out)
{
    str d = z->directory;
    size_t name;

    if (at + ENTRY_SIZE > d.n || zip_u32(d, at) != 0x02014b50)
        return false;
    name = zip_u16(d, at + 28);
    *out = (struct zip_entry){.flags = zip_u16(d, at + 8),
                              .method = zip_u16(d, at + 10),
                              .crc = zip_u32(d, at + 16),
                              .packed = zip_u32(d, at + 20),
                              .size = zip_u32(d, at + 24),
                              .local = zip_u32(d, at + 42)};
    out->next = at + ENTRY_SIZE + name + zip_u16(d, at + 30) + zip_u16(d, at + 32);
    assert(out->next > at);
    if (out->next > d.n)
        return false;
    out->name = str_slice(d, at + ENTRY_SIZE, at + ENTRY_SIZE + name);
    return true;
}

static bool zip_find_end(str bytes, size_t *end)
{
    size_t from = bytes.n > END_SIZE + END_COMMENT_MAX ? bytes.n - END_SIZE - END_COMMENT_MAX : 0;

    for (size_t at = bytes.n >= END_SIZE ? bytes.n - END_SIZE + 1 : 0; at > from; at--)
        if (zip_u32(bytes, at - 1) == 0x06054b50 &&
            at - 1 + END_SIZE + zip_u16(bytes, at - 1 + 20) == bytes.n) {
            *end = at - 1;
            return true;
        }
    return false;
}

/* The compressed bytes of a part, whose local header must be where the directory says. */
static bool zip_packed(const struct zip *z, const struct zip_entry *entry, str *out, struct err *e)
{
    size_t at = entry->local, from, name;

    if (at > z->bytes.n || z->bytes.n - at < LOCAL_SIZE || zip_u32(z->bytes, at) != 0x04034b50)
        return zip_damaged(e, "a part is not where it should be");
    name = zip_u16(z->bytes, at + 26);
    from = at + LOCAL_SIZE + name + zip_u16(z->bytes, at + 28);
    if (from > z->bytes.n || z->bytes.n - from < entry->packed ||
        !str_eq(str_slice(z->bytes, at + LOCAL_SIZE, at + LOCAL_SIZE + name), entry->name))
        return zip_damaged(e, "a part is cut off");
    assert(from + entry->packed <= z->bytes.n);
    *out = str_slice(z->bytes, from, from + entry->packed);
    return true;
}

bool zip_open(struct zip *z, str bytes, struct err *e)
{
    size_t end, from, size, at = 0;
    struct zip_entry entry;
    str packed;

    *z = (struct zip){.bytes = bytes};
    if (!zip_find_end(bytes, &end))
        return zip_damaged(e, "its end is missing");
    z->count = zip_u16(bytes, end + 10);
    size = zip_u32(bytes, end + 12);
    from = zip_u32(bytes, end + 16);
    if (zip_u16(bytes, end + 4) != 0 || z->count == 0xFFFF || from == 0xFFFFFFFF)
        return err_input(e, "the archive is split or of the ZIP64 kind, which is not read");
    if (from > end || size > end - from || z->count > ZIP_PARTS_MAX)
        return zip_damaged(e, "its directory is not where it should be");
    z->directory = str_slice(bytes, from, from + size);
    for (unsigned i = 0; i < z->count; i++, at = entry.next) {
        if (!zip_entry_at(z, at, &entry))
            return zip_damaged(e, "its directory ends early");
        if (!zip_packed(z, &entry, &packed, e))
            return false;
    }
    return true;
}

static bool zip_find(const struct zip *z, str name, struct zip_entry *out)
{
    size_t at = 0;

    for (unsigned i = 0; i < z->count && zip_entry_at(z, at, out); i++, at = out->next)
        if (str_eq(out->name, name))
            return true;
    return false;
}

bool zip_has(const struct zip *z, str name)
{
    struct zip_entry entry;

    return zip_find(z, name, &entry);
}

static bool zip_inflate(str packed, struct buf *out, struct err *e)
{
    z_stream s = {0};
    int rc;

    assert(packed.n <= UINT32_MAX && out->n <= out->size_max);
    if (inflateInit2(&s, -15) != Z_OK)
        base_die("inflate: no memory");
    memcpy(&s.next_in, &packed.p, sizeof packed.p); /* zlib does not write through this pointer */
    s.avail_in = (uInt)packed.n;
    do {
        size_t room = out->size_max - out->n < PIECE ? out->size_max - out->n : PIECE;
        char *p = room > 0 ? buf_room(out, room) : NULL;

        if (!p) {
            inflateEnd(&s);
            return err_set(e, ERR_LIMIT, "a part is larger than %zu bytes", out->size_max);
        }
        s.next_out = (Bytef *)p;
        s.avail_out = (uInt)room;
        rc = inflate(&s, Z_NO_FLUSH);
        buf_wrote(out, room - s.avail_out);
    } while (rc == Z_OK);
    inflateEnd(&s);
    return (rc == Z_STREAM_END && s.avail_in == 0) || zip_damaged(e, "a part cannot be unpacked");
}

bool zip_read(const struct zip *z, str name, size_t size_max, struct buf *out, struct err *e)
{
    struct zip_entry entry;
    str packed = STR("");
    uint32_t crc;

    if (!zip_find(z, name, &entry))
        return err_set(e, ERR_NOT_FOUND, "the archive has no part \"" STR_FMT "\"", STR_ARG(name));
    if (entry.flags & ZIP_ENCRYPTED)
        return err_input(e, "the archive is encrypted; save it without a password");
    if (entry.method != ZIP_STORED && entry.method != ZIP_DEFLATED)
        return err_input(e, "a part is packed in a way that is not read (%u)", entry.method);
    if (entry.size > size_max)
        return err_set(e, ERR_LIMIT, "a part is larger than %zu bytes", size_max);
    if (!zip_packed(z, &entry, &packed, e))
        return false;
    buf_init(out, (size_t)entry.size + 1); /* one byte more shows a wrong size */
    if (entry.method == ZIP_STORED)
        buf_add(out, packed);
    if (entry.method == ZIP_DEFLATED && !zip_inflate(packed, out, e)) {
        buf_release(out);
        return false;
    }
    crc = (uint32_t)crc32_z(0, (const Bytef *)buf_str(out).p, out->n);
    if (buf_full(out) || out->n != entry.size || crc != entry.crc) {
        buf_release(out);
        return zip_damaged(e, "the checksum of a part is wrong");
    }
    return true;
}
