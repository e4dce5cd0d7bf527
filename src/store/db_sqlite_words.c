/* db_sqlite_words.c - words of plain text, as FTS5's own unicode61 makes them, in a fifth of the
 * time.
 *
 * unicode61 reads each character as if it might be any of Unicode's. Text of ASCII alone, which
 * most is, has words of letters and digits, taken in small letters; all other text is left to
 * unicode61. It has its name, because the words are the same ones: who opens the store without this
 * program reads and writes the same index.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "store/db_sqlite.h"

#define NAME "unicode61"
#define TEXT_MAX 65536 /* longer ones are left to unicode61 */
#define STEP 8

/* What FTS5 has under that name. */
struct words_base {
    fts5_tokenizer methods;
    void *ctx;
};

struct words {
    struct words_base base;
    Fts5Tokenizer *theirs;
    char text[TEXT_MAX + STEP]; /* in small letters, 0 for what stands between words */
};

typedef int on_word(void *ctx, int flags, const char *word, int n, int from, int to);

static struct words *of(Fts5Tokenizer *t)
{
    return (struct words *)(void *)t;
}

static void words_delete(Fts5Tokenizer *t)
{
    struct words *w = of(t);

    if (w->theirs)
        w->base.methods.xDelete(w->theirs);
    free(w);
}

static int words_create(void *ctx, const char **args, int n, Fts5Tokenizer **out)
{
    struct words *w = base_alloc(sizeof *w);
    int got;

    w->base = *(const struct words_base *)ctx;
    w->theirs = NULL;
    got = w->base.methods.xCreate(w->base.ctx, args, n, &w->theirs);
    if (got != SQLITE_OK)
        words_delete((Fts5Tokenizer *)(void *)w);
    else
        *out = (Fts5Tokenizer *)(void *)w;
    return got;
}

/* The small letters and digits that n bytes are in words, 0 for each other. False: some byte is not
 * of ASCII. */
static bool fold(const char *from, size_t n, char *to)
{
    unsigned char any = 0;

    for (size_t i = 0; i < n; i++) {
        unsigned char c = (unsigned char)from[i], small = c | 32;
        bool letter = (unsigned char)(small - 'a') < 26, digit = (unsigned char)(c - '0') < 10;

        any |= c;
        to[i] = (char)(letter ? small : digit ? c : 0);
    }
    return any < 0x80;
}

/* Where the next 0 stands; there is one in the STEP bytes behind the text. */
static size_t word_end(const char *text, size_t at)
{
    uint64_t some, zeros;

    for (;; at += STEP) {
        memcpy(&some, text + at, sizeof some);
#if __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
        some = __builtin_bswap64(some);
#endif
        zeros = (some - 0x0101010101010101u) & ~some & 0x8080808080808080u;
        if (zeros)
            return at + (size_t)__builtin_ctzll(zeros) / 8;
    }
}

static int words_of(Fts5Tokenizer *t, void *ctx, int flags, const char *text, int n, on_word *on)
{
    struct words *w = of(t);
    int got = SQLITE_OK;

    if (!text || n <= 0 || n > TEXT_MAX || !fold(text, (size_t)n, w->text))
        return w->base.methods.xTokenize(w->theirs, ctx, flags, text, n, on);
    memset(w->text + n, 0, STEP);
    for (size_t from = 0, to; got == SQLITE_OK; from = to) {
        while (from < (size_t)n && !w->text[from])
            from++;
        if (from == (size_t)n)
            break;
        to = word_end(w->text, from);
        got = on(ctx, 0, w->text + from, (int)(to - from), (int)from, (int)to);
    }
    return got == SQLITE_DONE ? SQLITE_OK : got;
}

/* The way to FTS5 that its documentation has: a statement with a pointer to be filled in. */
static fts5_api *api_of(sqlite3 *db)
{
    fts5_api *api = NULL;
    sqlite3_stmt *st;

    if (sqlite3_prepare_v2(db, "SELECT fts5(?1)", -1, &st, NULL) != SQLITE_OK)
        return NULL;
    sqlite3_bind_pointer(st, 1, (void *)&api, "fts5_api_ptr", NULL);
    sqlite3_step(st);
    sqlite3_finalize(st);
    return api;
}

void db_sqlite_words(sqlite3 *db)
{
    fts5_tokenizer ours = {words_create, words_delete, words_of};
    fts5_api *api = api_of(db);
    struct words_base *base;

    if (!api)
        return; /* who has no FTS5 will hear of it */
    base = base_alloc(sizeof *base);
    if (api->xFindTokenizer(api, NAME, &base->ctx, &base->methods) != SQLITE_OK ||
        api->xCreateTokenizer(api, NAME, base, &ours, free) != SQLITE_OK)
        free(base);
}
