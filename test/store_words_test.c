/* SPDX-License-Identifier: Apache-2.0 */
#include "base/buf.h"
#include "store/db_sqlite.h"
#include "test.h"

#define LONG 70000

static sqlite3 *open_one(bool ours)
{
    sqlite3 *db;

    CHECK(sqlite3_open(":memory:", &db) == SQLITE_OK);
    if (ours)
        db_sqlite_words(db);
    CHECK(sqlite3_exec(db,
                       "CREATE VIRTUAL TABLE t USING fts5 (a, tokenize = 'unicode61');"
                       "CREATE VIRTUAL TABLE v USING fts5vocab (t, instance)",
                       NULL,
                       NULL,
                       NULL) == SQLITE_OK);
    return db;
}

/* All words of a text and where they stand, a line each. */
static void words_of(sqlite3 *db, str text, struct buf *out)
{
    sqlite3_stmt *st;

    CHECK(sqlite3_exec(db, "DELETE FROM t", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_prepare_v2(db, "INSERT INTO t VALUES (?)", -1, &st, NULL) == SQLITE_OK);
    sqlite3_bind_text(st, 1, text.p, (int)text.n, SQLITE_STATIC);
    CHECK(sqlite3_step(st) == SQLITE_DONE);
    sqlite3_finalize(st);
    CHECK(sqlite3_prepare_v2(
              db, "SELECT term, \"offset\" FROM v ORDER BY \"offset\"", -1, &st, NULL) ==
          SQLITE_OK);
    buf_reset(out);
    while (sqlite3_step(st) == SQLITE_ROW)
        buf_printf(
            out, "%s %d\n", (const char *)sqlite3_column_text(st, 0), sqlite3_column_int(st, 1));
    sqlite3_finalize(st);
}

static void check_same(sqlite3 *theirs, sqlite3 *ours, str text)
{
    struct buf a, b;

    buf_init(&a, 1 << 24);
    buf_init(&b, 1 << 24);
    words_of(theirs, text, &a);
    words_of(ours, text, &b);
    CHECK_F(str_eq(buf_str(&a), buf_str(&b)),
            "%.60s\n" STR_FMT "not\n" STR_FMT,
            text.p,
            STR_ARG(str_slice(buf_str(&a), 0, 400)),
            STR_ARG(str_slice(buf_str(&b), 0, 400)));
    buf_release(&a);
    buf_release(&b);
}

TEST(words_are_those_of_unicode61)
{
    static const char *const texts[] = {
        "",
        " ",
        "a",
        "Hello, World!",
        "The QUICK brown fox; it's 4 o'clock, snake_case and kebab-case.",
        "no separators but 12345678 exactly8 bytes ninebytes",
        "@[`{/:",
        "trailing ",
        " leading",
        "tabs\tand\nlines\r\n\x01\x7f",
        "\xC3\x84rger mit Umlauten, CAF\xC3\x89 and na\xC3\xAFve",
        "mixed \xE6\x97\xA5\xE6\x9C\xAC\xE8\xAA\x9E text",
        "broken \xFF utf8 \xC3",
    };
    sqlite3 *theirs = open_one(false), *ours = open_one(true);
    char *text = base_alloc(LONG);

    for (size_t i = 0; i < COUNT_OF(texts); i++)
        check_same(theirs, ours, str_c(texts[i]));
    for (size_t i = 0; i < LONG; i++)
        text[i] = i % 40000 == 39999 ? ' ' : (char)('A' + i % 26);
    check_same(theirs, ours, (str){text, LONG});
    check_same(theirs, ours, (str){text, 65536});
    check_same(theirs, ours, (str){text, 1000});
    for (size_t i = 0; i < 256; i++)
        text[i] = (char)(i % 128);
    check_same(theirs, ours, (str){text, 256});
    for (size_t from = 0; from < 24; from++)
        for (size_t n = 0; n < 24; n++)
            check_same(theirs, ours, (str){text + 40 + from, n});
    free(text);
    sqlite3_close(theirs);
    sqlite3_close(ours);
}

TEST_MAIN(T(words_are_those_of_unicode61))
