/* Prints the tokens of texts; test/e2e compares them with the reference implementation.
 *
 *     tokens_dump o200k_base < texts
 *
 * Each text is its size in bytes as a decimal number, a newline, and the bytes. Each line of output
 * has the ids of a text in decimal, separated by spaces.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "tokens/tokens.h"

#define SIZE_LIMIT ((size_t)64 << 20)

static void dump(const struct tokens_vocab *v, str text)
{
    struct tokens_list l;

    tokens_list_init(&l, SIZE_LIMIT);
    tokens_encode(v, text, &l);
    if (tokens_count(v, text) != l.n)
        base_die("the count is not the number of ids");
    for (size_t i = 0; i < l.n; i++)
        printf(i ? " %u" : "%u", (unsigned)l.ids[i]);
    putchar('\n');
    tokens_list_release(&l);
}

int main(int argc, char **argv)
{
    const struct tokens_vocab *v = argc == 2 ? tokens_vocab_find(str_c(argv[1])) : NULL;
    char line[32];

    if (!v)
        base_die("use: tokens_dump VOCABULARY < texts");
    while (fgets(line, sizeof line, stdin)) {
        size_t size = strtoul(line, NULL, 10);
        char *text = base_alloc(size + 1);

        if (size > SIZE_LIMIT || fread(text, 1, size, stdin) != size)
            base_die("a text is cut short");
        dump(v, (str){text, size});
        free(text);
    }
    return 0;
}
