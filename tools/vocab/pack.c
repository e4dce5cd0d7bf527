/* pack - turns the rank files and the Unicode classes into tables that the binary holds as they
 * are.
 *
 *     pack o200k_base.tiktoken cl100k_base.tiktoken classes.txt vocab.bin vocab.c
 *
 * vocab.bin has the tables one behind another; vocab.c names their places in it and takes it in
 * with .incbin. The layout, and what each table is for, is in src/tokens/layout.h. A rank file has
 * a line a token: its bytes in base64, a space, its rank, which is its id. What the module relies
 * on is checked here, once, instead of at every start.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/layout.h"

#define COUNT_MAX TOKENS_NONE
#define BYTES_MAX (1U << 21) /* what fits into tokens_info */
#define POINTS 0x110000
#define BLOCK (1 << TOKENS_POINT_BITS)
#define NEVER UINT32_MAX /* the rank of bytes that are no token */

static FILE *bin, *code;
static size_t bin_size;

static NORETURN void die(const char *what, const char *where)
{
    fprintf(stderr, "pack: %s: %s\n", where, what);
    exit(1);
}

static void *zeroed(size_t n, size_t size)
{
    void *p = calloc(n, size);

    if (!p)
        die("out of memory", "calloc");
    return p;
}

/* One table into vocab.bin, at a cache line, and its name into vocab.c. */
static void put(const char *vocab, const char *name, const char *type, const void *p, size_t size)
{
    static const char zeros[64];
    size_t pad = (64 - bin_size % 64) % 64;

    if (fwrite(zeros, 1, pad, bin) != pad || fwrite(p, 1, size, bin) != size)
        die("cannot write", "vocab.bin");
    bin_size += pad;
    fprintf(code, "TABLE(%s%s, %s, \"%zu\", \"%zu\")\n", vocab, name, type, bin_size, size);
    bin_size += size;
}

struct vocab {
    const char *path;
    uint32_t count;
    uint32_t at[COUNT_MAX + 1]; /* where each token's bytes begin in `bytes` */
    uint8_t bytes[BYTES_MAX + 8];
    uint8_t single[256];
    uint32_t left[COUNT_MAX], right[COUNT_MAX];
    struct tokens_bucket *shorts;
    uint64_t *maybe;
    uint32_t *words;
    unsigned bits;
};

static uint32_t size_of(const struct vocab *v, uint32_t id)
{
    return v->at[id + 1] - v->at[id];
}

static int base64_value(char c)
{
    static const char digits[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    const char *hit = c ? strchr(digits, c) : NULL;

    return hit ? (int)(hit - digits) : -1;
}

static size_t base64(const char *text, size_t n, uint8_t *out)
{
    uint32_t bits = 0;
    unsigned held = 0;
    size_t size = 0;

    for (size_t i = 0; i < n && text[i] != '='; i++) {
        int value = base64_value(text[i]);

        if (value < 0)
            die("not base64", text);
        bits = bits << 6 | (uint32_t)value;
        held += 6;
        if (held >= 8) {
            held -= 8;
            out[size++] = (uint8_t)(bits >> held);
        }
    }
    return size;
}

static void read_ranks(struct vocab *v)
{
    FILE *f = fopen(v->path, "r");
    char line[1024];

    if (!f)
        die("cannot read; run make, or tools/vocab/fetch", v->path);
    while (fgets(line, sizeof line, f)) {
        char *space = strchr(line, ' ');
        uint8_t *to = v->bytes + v->at[v->count];
        size_t size;

        if (!space || strtoul(space + 1, NULL, 10) != v->count)
            die("a line is not bytes and the next rank", v->path);
        if (v->count == COUNT_MAX || v->at[v->count] + sizeof line > BYTES_MAX)
            die("too many tokens", v->path);
        size = base64(line, (size_t)(space - line), to);
        if (size == 0 || size > TOKENS_SIZE_MAX || (size == 1) != (v->count < TOKENS_SINGLE))
            die("a token has a length the tables cannot hold", v->path);
        if (size == 1)
            v->single[to[0]] = (uint8_t)v->count;
        v->count++;
        v->at[v->count] = v->at[v->count - 1] + (uint32_t)size;
    }
    fclose(f);
    if (v->count < TOKENS_SINGLE)
        die("has not every byte", v->path);
}

/* Where the bytes are in their bucket; false: they are not, and `at` is where they may be put, or
 * TOKENS_BUCKET if it is full. */
static bool short_find(const struct vocab *v, uint64_t word, struct tokens_bucket **b, size_t *at)
{
    *b = v->shorts + tokens_short_at(word, tokens_short_mask(v->bits)) / sizeof **b;
    for (*at = 0; *at < TOKENS_BUCKET && (*b)->word[*at] != UINT64_MAX; ++*at)
        if ((*b)->word[*at] == word)
            return true;
    return false;
}

/* The same for words, where there always is one. */
static bool word_find(const struct vocab *v, const uint8_t *p, size_t size, size_t *at)
{
    for (*at = tokens_word_at(tokens_hash(p, size), v->bits); v->words[*at] != TOKENS_EMPTY;
         *at = (*at + 1) & (((size_t)1 << v->bits) - 1)) {
        uint32_t id = v->words[*at] & TOKENS_NONE;

        if (size_of(v, id) == size && memcmp(v->bytes + v->at[id], p, size) == 0)
            return true;
    }
    return false;
}

static uint32_t rank(const struct vocab *v, const uint8_t *p, size_t size)
{
    struct tokens_bucket *b = NULL;
    size_t at;

    if (size <= 8 && short_find(v, tokens_word(p, size, size), &b, &at))
        return b->id[at];
    return word_find(v, p, size, &at) ? v->words[at] & TOKENS_NONE : NEVER;
}

static void add(struct vocab *v, uint32_t id)
{
    const uint8_t *p = v->bytes + v->at[id];
    size_t size = size_of(v, id), at = TOKENS_BUCKET;
    uint64_t hash = tokens_hash(p, size);
    struct tokens_bucket *b = NULL;

    if (rank(v, p, size) != NEVER)
        die("the same bytes twice", v->path);
    v->maybe[tokens_maybe_at(hash, v->bits)] |= tokens_maybe_bits(hash);
    if (size <= 8)
        short_find(v, tokens_word(p, size, size), &b, &at);
    if (at < TOKENS_BUCKET) {
        b->word[at] = tokens_word(p, size, size);
        b->id[at] = id;
    } else {
        word_find(v, p, size, &at);
        v->words[at] = tokens_slot(hash, id);
    }
}

/* The tokens come in the order of their ranks, so what finds its bucket full is rare. */
static void make_words(struct vocab *v)
{
    size_t slots, buckets;

    while ((size_t)1 << v->bits < v->count / 2)
        v->bits++;
    slots = (size_t)1 << v->bits;
    buckets = slots / 4;
    v->shorts = zeroed(buckets, sizeof *v->shorts);
    v->maybe = zeroed(buckets, sizeof *v->maybe);
    v->words = zeroed(slots, sizeof *v->words);
    memset(v->words, 0xFF, slots * sizeof *v->words);
    for (size_t i = 0; i < buckets; i++)
        memset(v->shorts[i].word, 0xFF, sizeof v->shorts[i].word);
    for (uint32_t id = 0; id < v->count; id++)
        add(v, id);
}

/* Merges the bytes of a token as if they were a piece, always the lowest rank and of equals the
 * leftmost. The last merge has the halves. */
static void split(struct vocab *v, uint32_t id)
{
    const uint8_t *p = v->bytes + v->at[id];
    size_t n = size_of(v, id), start[TOKENS_SIZE_MAX + 1];

    for (size_t i = 0; i <= n; i++)
        start[i] = i;
    v->left[id] = v->right[id] = TOKENS_NONE;
    while (n > 1) {
        uint32_t best = NEVER;
        size_t at = 0;

        for (size_t i = 0; i + 2 <= n; i++) {
            uint32_t r = rank(v, p + start[i], start[i + 2] - start[i]);

            if (r < best)
                best = r, at = i;
        }
        if (best == NEVER)
            die("a token is not what its own bytes merge into", v->path);
        if (n == 2) {
            v->left[id] = rank(v, p, start[1]);
            v->right[id] = rank(v, p + start[1], start[2] - start[1]);
        }
        memmove(start + at + 1, start + at + 2, (n - at - 1) * sizeof start[0]);
        n--;
    }
}

static void make_info(struct vocab *v, uint64_t *info)
{
    for (uint32_t id = 0; id < v->count; id++) {
        if (id >= TOKENS_SINGLE)
            split(v, id);
        else
            v->left[id] = v->right[id] = TOKENS_NONE;
        info[id] = tokens_info(v->at[id], size_of(v, id), v->left[id], v->right[id]);
        /* bpe.c walks the merges of a token back in the order of their ranks. */
        if (id >= TOKENS_SINGLE && (v->left[id] >= id || v->right[id] >= id))
            die("a token ranks before a part of it", v->path);
    }
}

static void pack_twos(const struct vocab *v, const char *name)
{
    uint32_t *twos = zeroed(1 << 16, sizeof *twos);

    for (unsigned i = 0; i < 1 << 16; i++) {
        const uint8_t two[] = {(uint8_t)(i >> 8), (uint8_t)i};

        twos[i] = rank(v, two, sizeof two);
    }
    put(name, "_twos", "uint32_t", twos, sizeof *twos << 16);
    free(twos);
}

static void pack_vocab(const char *path, const char *name)
{
    struct vocab *v = zeroed(1, sizeof *v);
    uint64_t *info = zeroed(COUNT_MAX, sizeof *info);
    uint64_t *ends = zeroed((size_t)1 << TOKENS_ENDS_BITS, sizeof *ends);

    v->path = path;
    read_ranks(v);
    make_words(v);
    make_info(v, info);
    for (uint32_t id = 0; id < v->count; id++)
        if (size_of(v, id) >= 3)
            ends[tokens_ends_at(v->bytes + v->at[id + 1] - 3)] |= tokens_ends_bit(size_of(v, id));
    put(name, "_shorts", "struct tokens_bucket", v->shorts, sizeof *v->shorts << (v->bits - 2));
    put(name, "_maybe", "uint64_t", v->maybe, sizeof *v->maybe << (v->bits - 2));
    put(name, "_words", "uint32_t", v->words, sizeof *v->words << v->bits);
    put(name, "_info", "uint64_t", info, v->count * sizeof *info);
    put(name, "_ends", "uint64_t", ends, sizeof *ends << TOKENS_ENDS_BITS);
    put(name, "_bytes", "uint8_t", v->bytes, v->at[v->count] + 8);
    put(name, "_single", "uint8_t", v->single, sizeof v->single);
    pack_twos(v, name);
    fprintf(code,
            "#define T(table) .table = %s_##table\n"
            "const struct tokens_table tokens_table_%s = {.count = %u, .bits = %u,\n"
            "    T(shorts), T(words), T(maybe), T(info), T(ends), T(bytes), T(single),\n"
            "    T(twos)};\n"
            "#undef T\n",
            name,
            name,
            v->count,
            v->bits);
    free(v->shorts);
    free(v->words);
    free(v->maybe);
    free(v);
    free(info);
    free(ends);
}

static uint8_t class_of(char letter, const char *path)
{
    switch (letter) {
    case 'R':
        return TOKENS_NEWLINE;
    case 'S':
        return TOKENS_SPACE;
    case 'U':
        return TOKENS_UPPER;
    case 'L':
        return TOKENS_LOWER;
    case 'B':
        return TOKENS_LETTER;
    case 'M':
        return TOKENS_MARK;
    case 'N':
        return TOKENS_NUMBER;
    default:
        die("a kind nobody knows", path);
    }
}

static void read_classes(const char *path, uint8_t *kinds)
{
    FILE *f = fopen(path, "r");
    char line[256];

    if (!f)
        die("cannot read", path);
    while (fgets(line, sizeof line, f)) {
        char *p = line;
        unsigned long first, last;
        size_t letters;

        if (line[0] == '#')
            continue;
        first = strtoul(p, &p, 16);
        last = strtoul(p, &p, 16);
        letters = strcspn(p + 1, "\n");
        if (*p != ' ' || letters == 0 || first > last || last >= POINTS)
            die("a line is not first, last, kind", path);
        for (unsigned long point = first; point <= last; point++)
            kinds[point] = class_of(p[1 + (point - first) % letters], path);
    }
    fclose(f);
}

/* Two stages: equal blocks of code points are kept once. */
static void pack_classes(const char *path)
{
    uint8_t *kinds = zeroed(POINTS, 1), *kept = zeroed(256, BLOCK), *blocks;
    size_t n = 0;

    blocks = zeroed(POINTS / BLOCK, 1);
    read_classes(path, kinds);
    for (size_t b = 0; b < POINTS / BLOCK; b++) {
        size_t same = 0;

        while (same < n && memcmp(kept + same * BLOCK, kinds + b * BLOCK, BLOCK) != 0)
            same++;
        if (same == 256)
            die("more than 256 different blocks", path);
        if (same == n)
            memcpy(kept + n++ * BLOCK, kinds + b * BLOCK, BLOCK);
        blocks[b] = (uint8_t)same;
    }
    put("", "tokens_class_blocks", "uint8_t", blocks, POINTS / BLOCK);
    put("", "tokens_class_kinds", "uint8_t", kept, n * BLOCK);
    free(kinds);
    free(kept);
    free(blocks);
}

int main(int argc, char **argv)
{
    char *path;

    if (argc != 6)
        die("o200k_base.tiktoken cl100k_base.tiktoken classes.txt vocab.bin vocab.c", "use");
    bin = fopen(argv[4], "wb");
    code = fopen(argv[5], "w");
    path = realpath(argv[4], NULL);
    if (!bin || !code || !path)
        die("cannot write", argv[4]);
    fprintf(
        code,
        "/* Made by tools/vocab/pack. SPDX-License-Identifier: Apache-2.0 */\n"
        "#include \"tokens/layout.h\"\n"
        "#define TABLE(name, type, from, size) \\\n"
        "    extern const type name[] __attribute__((visibility(\"hidden\"))); \\\n"
        "    __asm__(\".pushsection .rodata, \\\"a\\\", %%progbits\\n\" \\\n"
        "            \".balign 64\\n.globl \" #name \"\\n.hidden \" #name \"\\n\" \\\n"
        "            \".type \" #name \", %%object\\n.size \" #name \", \" size \"\\n\" \\\n"
        "            #name \":\\n.incbin \\\"%s\\\", \" from \", \" size \"\\n.popsection\\n\");\n",
        path);
    pack_vocab(argv[1], "o200k");
    pack_vocab(argv[2], "cl100k");
    pack_classes(argv[3]);
    free(path);
    if (fclose(bin) != 0 || fclose(code) != 0)
        die("cannot write", argv[4]);
    return 0;
}
