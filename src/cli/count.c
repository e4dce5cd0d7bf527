/* `rationale count`: counts the tokens of a text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "cli/cli.h"
#include "tokens/tokens.h"

#define READ_SIZE ((size_t)64 << 10)
#define IDS_SIZE_MAX ((size_t)256 << 20) /* of a text whose ids are listed */

enum { VOCAB, IDS, JSON };

static const struct cli_option options[] = {
    [VOCAB] =
        {"vocab", 'v', "NAME", "o200k_base cl100k_base", "the vocabulary (default: o200k_base)"},
    [IDS] = {"ids", 0, NULL, NULL, "print the ids instead of their number"},
    [JSON] = {"json", 0, NULL, NULL, "an object: vocab, bytes, tokens and, with --ids, ids"},
};

struct total {
    size_t bytes, tokens;
};

/* Counts as it reads, so that a text may be of any size. */
static bool count_input(struct cli_input *in, const struct tokens_vocab *v, struct total *out,
                        struct err *e)
{
    struct tokens_windows windows;
    struct tokens_counter c;
    char *piece = base_alloc(READ_SIZE);
    size_t n = 1;
    bool ok = true;

    tokens_counter_init(&c, v, &windows);
    out->bytes = 0;
    while (n > 0 && (ok = cli_read(in, piece, READ_SIZE, &n, e))) {
        tokens_counter_feed(&c, (str){piece, n});
        out->bytes += n;
    }
    out->tokens = tokens_counter_count(&c);
    free(piece);
    return ok;
}

static void count_write_ids(struct cli *cli, const struct tokens_list *ids, const char *between)
{
    assert(ids->n == 0 || ids->ids);
    for (size_t i = 0; i < ids->n; i++)
        file_out_printf(&cli->out, "%s%u", i ? between : "", ids->ids[i]);
}

static void count_write_result(struct cli *cli, const struct tokens_vocab *v, const struct total *t,
                               const struct tokens_list *ids, bool json)
{
    struct file_out *out = &cli->out;

    assert(!ids || ids->n == t->tokens);
    if (!json && ids) {
        count_write_ids(cli, ids, " ");
        file_out_add(out, STR("\n"));
    } else if (!json) {
        file_out_printf(out, "%zu\n", t->tokens);
    } else {
        file_out_printf(out,
                        "{\"vocab\":\"" STR_FMT "\",\"bytes\":%zu,\"tokens\":%zu",
                        STR_ARG(tokens_vocab_name(v)),
                        t->bytes,
                        t->tokens);
        if (ids) {
            file_out_add(out, STR(",\"ids\":["));
            count_write_ids(cli, ids, ",");
            file_out_add(out, STR("]"));
        }
        file_out_add(out, STR("}\n"));
    }
}

static int count_run_ids(struct cli *cli, struct cli_input *in, const struct tokens_vocab *v,
                         bool json)
{
    struct tokens_list ids;
    struct arena a;
    struct err e;
    str text;
    bool ok;

    arena_init(&a, IDS_SIZE_MAX * 2 + 4096);
    ok = file_read_fd(&a, in->fd, IDS_SIZE_MAX, &text, &e) || err_prefix(&e, "%s: ", in->name);
    if (ok) {
        struct total t = {.bytes = text.n};

        tokens_list_init(&ids, text.n * 3 + 1); /* an invalid byte becomes three bytes */
        tokens_encode(v, text, &ids);
        t.tokens = ids.n;
        count_write_result(cli, v, &t, &ids, json);
        tokens_list_release(&ids);
    }
    arena_release(&a);
    return ok ? CLI_OK : cli_fail(&e);
}

static int count_run(struct cli *cli, const struct cli_args *args)
{
    const char *name = args->value[VOCAB] ? args->value[VOCAB] : "o200k_base";
    const struct tokens_vocab *v = tokens_vocab_find(str_c(name));
    bool json = args->value[JSON] != NULL;
    struct total t;
    struct err e;
    struct cli_input in;
    int code = CLI_OK;

    assert(v); /* the choices of the option are the vocabularies */
    if (!cli_open(cli, args, &in, &e))
        return cli_fail(&e);
    if (args->value[IDS])
        code = count_run_ids(cli, &in, v, json);
    else if (count_input(&in, v, &t, &e))
        count_write_result(cli, v, &t, NULL, json);
    else
        code = cli_fail(&e);
    cli_close(&in);
    return code;
}

const struct cli_command cli_count = {
    .name = "count",
    .summary = "count the tokens of a text",
    .words = "[FILE]",
    .about =
        "Reads FILE, or standard input, and prints how many tokens it has, exactly as OpenAI's "
        "tokenizers count them. Text that looks like a control token is counted as text; bytes "
        "that are not UTF-8 count as the replacement character.",
    .examples = "  rationale count prompt.txt\n"
                "  git diff | rationale count --vocab cl100k_base\n"
                "  printf 'hello world' | rationale count --ids\n",
    .options = options,
    .option_count = COUNT_OF(options),
    .word_max = 1,
    .run = count_run,
};
