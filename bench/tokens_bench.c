/* Measures how fast tokens are counted: tokens_bench TEXT prints lines of name and number. Times
 * are CPU time.
 *
 *     o200k_base count      MB/s, the whole text, best of some rounds
 *     o200k_base encode     the same with the ids
 *     o200k_base feed4096   the counter, in pieces of 4096 bytes
 *     o200k_base feed4      in pieces of four bytes, the count asked for after each
 *     o200k_base word_ms    100 KB of random letters without a space, milliseconds
 *     o200k_base blank_ms   100 KB of spaces
 *     o200k_base tokens     of the text
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/tokens.h"

#define TEXT_MAX ((size_t)16 << 20)
#define WORD_SIZE ((size_t)100 * 1024)
#define ROUNDS 25

enum way { COUNT, ENCODE, FEED4096, FEED4 };

static double now_ms(void)
{
    struct timespec t;

    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

static size_t feed(const struct tokens_vocab *v, str text, size_t size, bool ask)
{
    struct tokens_counter c;
    size_t n = 0;

    tokens_counter_init(&c, v, &(struct tokens_windows){.whole = {0}});
    for (size_t at = 0; at < text.n; at += size) {
        tokens_counter_feed(&c, str_slice(text, at, at + size));
        if (ask)
            n = tokens_counter_count(&c);
    }
    return ask ? n : tokens_counter_count(&c);
}

static size_t run(const struct tokens_vocab *v, str text, enum way way)
{
    struct tokens_list ids;
    size_t n;

    switch (way) {
    case COUNT:
        return tokens_count(v, text);
    case ENCODE:
        tokens_list_init(&ids, text.n);
        tokens_encode(v, text, &ids);
        n = ids.n;
        tokens_list_release(&ids);
        return n;
    case FEED4096:
        return feed(v, text, 4096, false);
    case FEED4:
        return feed(v, text, 4, true);
    }
    return 0;
}

/* Milliseconds of the best round. */
static double best_ms(const struct tokens_vocab *v, str text, enum way way)
{
    double best = 1e9;

    for (int i = 0; i < ROUNDS; i++) {
        double from = now_ms(), took;

        if (run(v, text, way) == 0)
            base_die("no tokens");
        took = now_ms() - from;
        best = took < best ? took : best;
    }
    return best;
}

static void bench(const struct tokens_vocab *v, str text)
{
    static const char *const names[] = {"count", "encode", "feed4096", "feed4"};
    const char *vocab = tokens_vocab_name(v).p;
    char *word = base_alloc(WORD_SIZE);
    uint32_t seed = 1;

    for (size_t way = 0; way < COUNT_OF(names); way++)
        printf("%s %s %.1f\n",
               vocab,
               names[way],
               (double)text.n / best_ms(v, text, (enum way)way) / 1e3);
    for (size_t i = 0; i < WORD_SIZE; i++) {
        seed = seed * 1664525 + 1013904223;
        word[i] = (char)('a' + (seed >> 16) % 26);
    }
    printf("%s word_ms %.1f\n", vocab, best_ms(v, (str){word, WORD_SIZE}, COUNT));
    memset(word, ' ', WORD_SIZE);
    printf("%s blank_ms %.1f\n", vocab, best_ms(v, (str){word, WORD_SIZE}, COUNT));
    printf("%s tokens %zu\n", vocab, tokens_count(v, text));
    free(word);
}

int main(int argc, char **argv)
{
    FILE *f = argc == 2 ? fopen(argv[1], "rb") : NULL;
    char *p = base_alloc(TEXT_MAX);
    str text;

    if (!f)
        base_die("use: tokens_bench TEXT");
    text = (str){p, fread(p, 1, TEXT_MAX, f)};
    fclose(f);
    for (size_t i = 0; tokens_vocab_at(i); i++)
        bench(tokens_vocab_at(i), text);
    free(p);
    return 0;
}
