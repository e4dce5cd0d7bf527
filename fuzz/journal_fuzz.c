/* The frames and rows of the journal: arbitrary bytes are read safely. If one byte of a journal is
 * changed, exactly the record with this byte is lost.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "store/frame.h"
#include "store/row.h"

#define FRAMES_MAX 16
#define SALT 0x5EED5A17u

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* A row of any other table: if it is accepted, it survives writing and reading. */
static void check_table(const struct row_table *t, str bytes, void *row, void *again, size_t size)
{
    struct buf b;
    size_t n;
    char *p;

    memset(row, 0, size);
    memset(again, 0, size);
    if (!row_get(t, bytes, row))
        return;
    n = row_size(t, row);
    buf_init(&b, n + 1);
    p = buf_room(&b, n);
    assert(p);
    row_put(t, row, p);
    assert(row_get(t, (str){p, n}, again) && row_size(t, again) == n);
    buf_release(&b);
}

static void check_tables(str bytes)
{
    struct store_session sessions[2];
    struct store_tool tools[2];
    struct store_note notes[2];

    check_table(&row_sessions, bytes, &sessions[0], &sessions[1], sizeof sessions[0]);
    check_table(&row_tools, bytes, &tools[0], &tools[1], sizeof tools[0]);
    check_table(&row_notes, bytes, &notes[0], &notes[1], sizeof notes[0]);
}

/* An accepted row is written as it was read, except bools and unknown fields. */
static void check_rows(str bytes)
{
    struct store_call call, again;
    struct store_piece piece;
    struct buf b;

    check_tables(bytes);
    buf_init(&b, 2 * bytes.n + 4096);
    if (row_call_get(bytes, &call)) {
        size_t n = row_call_size(&call);
        char *p = buf_room(&b, n);

        assert(p && n <= bytes.n + 4096);
        row_call_put(&call, p);
        assert(row_call_get((str){p, n}, &again) && row_call_size(&again) == n);
        assert(str_eq(call.id, again.id) && str_eq(call.attempts, again.attempts));
        assert(call.complete == again.complete && call.started_ms == again.started_ms);
    }
    buf_reset(&b);
    if (row_piece_get(bytes, &piece)) {
        char *p = buf_room(&b, bytes.n);

        assert(p && row_piece_size(&piece) == bytes.n);
        row_piece_put(&piece, p);
        assert(memcmp(p, bytes.p, bytes.n) == 0);
    }
    buf_release(&b);
}

/* Reads bytes as a reader of the journal does and checks each good frame; returns their number. */
static size_t walk(str bytes, uint32_t salt, const str *known, size_t known_count)
{
    size_t at = 0, count = 0, next = 0;

    while (at < bytes.n) {
        str rest = str_slice(bytes, at, bytes.n);
        struct frame f;

        switch (frame_get(rest, salt, at, &f)) {
        case FRAME_GOOD:
            assert(f.size <= rest.n && f.body.n == f.size - FRAME_HEAD_SIZE);
            while (known && next < known_count && !str_eq(known[next], f.body))
                next++;
            assert(!known || next++ < known_count);
            count++;
            at += f.size;
            break;
        case FRAME_BAD_BODY:
            assert(f.size <= rest.n);
            at += f.size;
            break;
        default:
            at += 1 + frame_find(str_slice(rest, 1, rest.n), salt, at + 1);
            if (at + FRAME_HEAD_SIZE > bytes.n)
                return count;
        }
    }
    return count;
}

/* The input is cut into bodies, each a frame; then one byte is changed. */
static void check_damage(str input, size_t where, char how)
{
    str known[FRAMES_MAX];
    size_t count = 0, lost;
    struct buf b;

    buf_init(&b, input.n + FRAMES_MAX * FRAME_HEAD_SIZE);
    for (size_t at = 0; at < input.n && count < FRAMES_MAX;) {
        size_t n = (unsigned char)input.p[at] % 50;
        str body = str_slice(input, at, at + n + 1);
        char *p = buf_room(&b, FRAME_HEAD_SIZE + body.n);

        assert(p);
        frame_put(p, FRAME_CALL, body.n);
        memcpy(p + FRAME_HEAD_SIZE, body.p, body.n);
        buf_wrote(&b, frame_seal(p, SALT, b.n));
        known[count++] = body;
        at += body.n;
    }
    assert(walk(buf_str(&b), SALT, known, count) == count);
    if (b.n > 0 && how) {
        b.p[where % b.n] ^= how;
        lost = count - walk(buf_str(&b), SALT, known, count);
        assert(lost == 1);
    }
    (void)walk(str_slice(buf_str(&b), 0, where % (b.n + 1)), SALT, known, count);
    buf_release(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    str bytes = {(const char *)data, size};
    struct frame_segment head;
    size_t where;

    if (size == 0)
        return 0;
    (void)frame_segment_get(bytes, &head);
    (void)walk(bytes, SALT, NULL, 0);
    check_rows(bytes);
    if (size < 4)
        return 0;
    where = (size_t)data[0] << 8 | data[1];
    check_damage(str_slice(bytes, 3, size), where, (char)data[2]);
    return 0;
}
