/* SPDX-License-Identifier: Apache-2.0 */
#include "base/rand.h"
#include "store/crc32c.h"
#include "store/frame.h"
#include "store/row.h"
#include "test.h"

TEST(crc32c_is_the_one_of_rfc_3720)
{
    char zeros[32] = {0}, ones[32], up[32], text[200];
    struct rand r;

    memset(ones, 0xFF, sizeof ones);
    for (int i = 0; i < 32; i++)
        up[i] = (char)i;
    CHECK(crc32c(0, (str){zeros, 32}) == 0x8A9136AA);
    CHECK(crc32c(0, (str){ones, 32}) == 0x62A8AB43);
    CHECK(crc32c(0, (str){up, 32}) == 0x46DD794E);
    CHECK(crc32c(0, STR("123456789")) == 0xE3069283);
    rand_init(&r, 7);
    for (size_t i = 0; i < sizeof text; i++)
        text[i] = (char)rand_u64(&r);
    for (size_t n = 0; n <= sizeof text; n++) {
        str whole = {text, n};
        uint32_t sum = crc32c(0, str_slice(whole, 0, n / 3));

        CHECK(crc32c(0, whole) == crc32c_plain(0, whole));
        CHECK(crc32c(sum, str_slice(whole, n / 3, n)) == crc32c(0, whole));
    }
}

TEST(a_frame_is_good_only_where_it_was_sealed)
{
    char bytes[FRAME_HEAD_SIZE + 5];
    struct frame f;

    frame_put(bytes, FRAME_CALL, 5);
    memcpy(bytes + FRAME_HEAD_SIZE, "hello", 5);
    CHECK_INT(frame_seal(bytes, 99, 640), sizeof bytes);
    CHECK_INT(frame_get((str){bytes, sizeof bytes}, 99, 640, &f), FRAME_GOOD);
    CHECK(f.type == FRAME_CALL && f.size == sizeof bytes);
    CHECK_STR(f.body, "hello");
    CHECK_INT(frame_get((str){bytes, sizeof bytes}, 98, 640, &f), FRAME_BAD_HEAD);
    CHECK_INT(frame_get((str){bytes, sizeof bytes}, 99, 641, &f), FRAME_BAD_HEAD);
    for (size_t n = 0; n < sizeof bytes; n++)
        CHECK_INT(frame_get((str){bytes, n}, 99, 640, &f), FRAME_SHORT);
    bytes[FRAME_HEAD_SIZE] ^= 1;
    CHECK_INT(frame_get((str){bytes, sizeof bytes}, 99, 640, &f), FRAME_BAD_BODY);
}

static struct store_call full_call(void)
{
    struct store_call c = store_call_none;
    static const char letters[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";
    size_t n = 0;

    for (size_t i = 0; i < row_field_count; i++)
        if (row_fields[i].kind <= ROW_BODY) {
            *row_text(&c, &row_fields[i]) = (str){letters + n, 1 + n % 5};
            n++;
        }
    c.started_ms = 1;
    c.first_ms = 2;
    c.ended_ms = INT64_MAX;
    c.status = -7;
    c.complete = c.reasoning_exact = true;
    c.cost_usd = 0.125;
    return c;
}

TEST(a_row_is_read_as_it_was_written_or_not_at_all)
{
    struct store_call c = full_call(), back;
    struct store_piece piece = {STR("id"), 7, STR("answer"), STR("some text"), 99}, piece_back;
    char bytes[1024], more[1024];
    size_t size = row_call_size(&c);

    CHECK(size < sizeof bytes);
    row_call_put(&c, bytes);
    CHECK(row_call_get((str){bytes, size}, &back));
    CHECK_INT(row_call_size(&back), size);
    row_call_put(&back, more);
    CHECK(memcmp(bytes, more, size) == 0);
    CHECK(back.status == -7 && back.complete && !back.stream && back.ended_ms == INT64_MAX);
    for (size_t n = 0; n < size; n++)
        CHECK(!row_call_get((str){bytes, n}, &back));
    CHECK(!row_call_get((str){bytes, size + 1}, &back));

    size = row_piece_size(&piece);
    row_piece_put(&piece, bytes);
    CHECK(row_piece_get((str){bytes, size}, &piece_back));
    CHECK(piece_back.n == 7 && str_eq(piece_back.bytes, piece.bytes) && piece_back.time_ms == 99);
    for (size_t n = 0; n < size; n++) /* without the time it is a piece of an earlier version */
        CHECK(row_piece_get((str){bytes, n}, &piece_back) == (n == size - 8));
    CHECK(row_piece_get((str){bytes, size - 8}, &piece_back) && piece_back.time_ms == 0);
}

/* A journal from a version with one field less, and one from a version with one field more. */
TEST(a_row_with_fewer_or_more_fields_is_read)
{
    struct store_call c = full_call(), back;
    char bytes[1024];
    size_t size = row_call_size(&c), last = 4 + c.talk.n;

    row_call_put(&c, bytes);
    bytes[0] = (char)(row_field_count - 1);
    CHECK(row_call_get((str){bytes, size - last}, &back));
    CHECK(back.talk.n == 0 && str_eq(back.step, c.step));
    bytes[0] = (char)(row_field_count + 1);
    CHECK(row_call_get((str){bytes, size + 9}, &back));
    CHECK(str_eq(back.talk, c.talk));
}

TEST_MAIN(T(crc32c_is_the_one_of_rfc_3720), T(a_frame_is_good_only_where_it_was_sealed),
          T(a_row_is_read_as_it_was_written_or_not_at_all),
          T(a_row_with_fewer_or_more_fields_is_read))
