/* pack - checks the rank files and packs them and the Unicode classes for the binary.
 *
 *     pack o200k_base.tiktoken cl100k_base.tiktoken classes.txt vocab.bin vocab.c
 *
 * vocab.bin has the parts one after another; vocab.c names their places in it and takes it in with
 * .incbin. The layout, and what each part is for, is in src/tokens/layout.h. A rank file has
 * a line a token: its bytes in base64, a space, its rank, which is its id. What the module relies
 * on is checked here, once, instead of at every start.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/build.h"

#include <zlib.h>

#define COUNT_MAX TOKENS_NONE
#define BYTES_MAX (1U << 21) /* what fits into tokens_info */
#define POINTS 0x110000
#define BLOCK (1 << TOKENS_POINT_BITS)

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
    uint32_t at[COUNT_MAX + 1];                 /* where each token's bytes begin */
    uint32_t left[COUNT_MAX], right[COUNT_MAX]; /* as struct tokens_packed has them */
    struct tokens_build tables;
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
        uint8_t *to = v->tables.bytes + v->at[v->count];
        size_t size;

        if (!space || strtoul(space + 1, NULL, 10) != v->count)
            die("a line is not bytes and the next rank", v->path);
        if (v->count == COUNT_MAX || v->at[v->count] + sizeof line > BYTES_MAX)
            die("too many tokens", v->path);
        size = base64(line, (size_t)(space - line), to);
        if (size == 0 || size > TOKENS_SIZE_MAX || (size == 1) != (v->count < TOKENS_SINGLE))
            die("a token has a length the tables cannot hold", v->path);
        if (size == 1)
            v->left[v->count] = *to;
        v->count++;
        v->at[v->count] = v->at[v->count - 1] + (uint32_t)size;
    }
    fclose(f);
    if (v->count < TOKENS_SINGLE)
        die("has not every byte", v->path);
}

static uint32_t rank(const struct vocab *v, const uint8_t *p, size_t size)
{
    return tokens_build_find(&v->tables, p, size);
}

static void make_tables(struct vocab *v)
{
    struct tokens_build *b = &v->tables;
    size_t slots, buckets;

    b->bits = tokens_build_bits(v->count);
    slots = (size_t)1 << b->bits;
    buckets = slots / 4;
    b->shorts = zeroed(buckets, sizeof *b->shorts);
    b->maybe = zeroed(buckets, sizeof *b->maybe);
    b->words = zeroed(slots, sizeof *b->words);
    b->info = zeroed(v->count, sizeof *b->info);
    b->ends = zeroed((size_t)1 << TOKENS_ENDS_BITS, sizeof *b->ends);
    b->single = zeroed(256, 1);
    memset(b->words, 0xFF, slots * sizeof *b->words);
    for (size_t i = 0; i < buckets; i++)
        memset(b->shorts[i].word, 0xFF, sizeof b->shorts[i].word);
    for (uint32_t id = 0; id < v->count; id++) {
        if (rank(v, b->bytes + v->at[id], size_of(v, id)) != TOKENS_NEVER)
            die("the same bytes twice", v->path);
        b->info[id] = tokens_info(v->at[id], size_of(v, id), TOKENS_NONE, TOKENS_NONE);
        tokens_build_add(b, id);
    }
}

static void free_tables(struct tokens_build *b)
{
    free(b->shorts);
    free(b->maybe);
    free(b->words);
    free(b->info);
    free(b->ends);
    free(b->single);
    free(b->bytes);
}

/* Merges the bytes of a token as if they were a piece, always the lowest rank and of equals the
 * leftmost. The last merge has the halves. */
static void split(struct vocab *v, uint32_t id)
{
    const uint8_t *p = v->tables.bytes + v->at[id];
    size_t n = size_of(v, id), start[TOKENS_SIZE_MAX + 1];

    for (size_t i = 0; i <= n; i++)
        start[i] = i;
    while (n > 1) {
        uint32_t best = TOKENS_NEVER;
        size_t at = 0;

        for (size_t i = 0; i + 2 <= n; i++) {
            uint32_t r = rank(v, p + start[i], start[i + 2] - start[i]);

            if (r < best)
                best = r, at = i;
        }
        if (best == TOKENS_NEVER)
            die("a token is not what its own bytes merge into", v->path);
        if (n == 2) {
            v->left[id] = rank(v, p, start[1]);
            v->right[id] = rank(v, p + start[1], start[2] - start[1]);
            /* bpe.c walks the merges of a token back in the order of their ranks. */
            if (v->left[id] >= id || v->right[id] >= id)
                die("a token ranks before a part of it", v->path);
        }
        memmove(start + at + 1, start + at + 2, (n - at - 1) * sizeof start[0]);
        n--;
    }
}

/* The two ids that each token is merged from, packed. */
static void pack_tokens(const struct vocab *v, const char *name)
{
    size_t n = TOKENS_PLANES * (size_t)v->count;
    uLongf size = compressBound(n);
    uint8_t *all = zeroed(n, 1), *packed = zeroed(size, 1);

    for (uint32_t id = 0; id < v->count; id++)
        for (unsigned plane = 0; plane < TOKENS_PLANES; plane++)
            all[(size_t)plane * v->count + id] =
                (uint8_t)((plane < 3 ? v->left : v->right)[id] >> plane % 3 * 8);
    if (compress2(packed, &size, all, n, Z_BEST_COMPRESSION) != Z_OK)
        die("cannot be packed", v->path);
    put(name, "_packed", "uint8_t", packed, size);
    fprintf(code,
            "const struct tokens_packed tokens_packed_%s = {.packed = %s_packed,\n"
            "    .packed_size = %zu, .bytes_size = %zu, .count = %u};\n",
            name,
            name,
            (size_t)size,
            (size_t)v->at[v->count],
            v->count);
    free(all);
    free(packed);
}

static void pack_vocab(const char *path, const char *name)
{
    struct vocab *v = zeroed(1, sizeof *v);

    v->path = path;
    v->tables.bytes = zeroed(BYTES_MAX + 8, 1);
    read_ranks(v);
    make_tables(v);
    for (uint32_t id = TOKENS_SINGLE; id < v->count; id++)
        split(v, id);
    pack_tokens(v, name);
    free_tables(&v->tables);
    free(v);
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
