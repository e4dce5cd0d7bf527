/* Splits what arrives on standard input: reasoning dimmed, answer plain, tokens counted live.
 *
 *     cc -o split_stream split_stream.c $(pkg-config --cflags --libs rationale)
 *     printf '<think>2 and 2</think>4' | ./split_stream
 *     ./split_stream qwen3 inside < reply.txt
 *
 * The text goes to standard output, the count to standard error. For the archive instead of the
 * shared library:
 *
 *     cc -static -o split_stream split_stream.c $(pkg-config --static --cflags --libs rationale)
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include <rationale.h>

#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* What the callback needs to know, handed through the library as its context. */
struct show {
    struct rationale_counter *tokens[2]; /* of the reasoning and of the answer */
    bool dim;                            /* whether the terminal is dimmed now */
    bool colors;
};

static void set_dim(struct show *show, bool dim)
{
    if (show->colors && show->dim != dim)
        fputs(dim ? "\033[2m" : "\033[0m", stdout);
    show->dim = dim;
}

/* A run of text of one kind. It is lent: to keep it, copy it. */
static void on_run(void *context, enum rationale_kind kind, const char *text, size_t size)
{
    struct show *show = context;

    if (kind != RATIONALE_REASONING && kind != RATIONALE_ANSWER)
        return; /* markers, and calls of tools */
    rationale_counter_feed(show->tokens[kind], text, size);
    set_dim(show, kind == RATIONALE_REASONING);
    fwrite(text, 1, size, stdout);
}

static void say_count(const struct show *show, const char *end)
{
    fprintf(stderr,
            "reasoning: %zu tokens, answer: %zu tokens%s",
            rationale_counter_count(show->tokens[RATIONALE_REASONING]),
            rationale_counter_count(show->tokens[RATIONALE_ANSWER]),
            end);
}

/* Reads until the end, each piece as soon as it is there, however it was cut. */
static void pump(struct rationale_split *split, struct show *show)
{
    bool live = isatty(STDERR_FILENO) && !isatty(STDOUT_FILENO);
    char piece[4096];
    ssize_t n;

    while ((n = read(STDIN_FILENO, piece, sizeof piece)) > 0) {
        rationale_split_feed(split, piece, (size_t)n);
        fflush(stdout);
        if (live)
            say_count(show, "\r");
    }
    rationale_split_finish(split);
    set_dim(show, false);
    fflush(stdout);
}

int main(int argc, char **argv)
{
    static const char *const states[] = {"none", "complete", "unclosed"};
    struct rationale_error error;
    struct show show = {.colors = isatty(STDOUT_FILENO)};
    struct rationale_split_options options = {
        .format = argc > 1 ? argv[1] : NULL,
        .inside = argc > 2 && strcmp(argv[2], "inside") == 0,
        .on_run = on_run,
        .context = &show,
    };
    struct rationale_split *split = rationale_split_new(&options, &error);

    if (!split) {
        fprintf(stderr, "split_stream: %s\n", error.text);
        return 2;
    }
    for (size_t i = 0; i < 2; i++)
        show.tokens[i] = rationale_counter_new("o200k_base", NULL);

    pump(split, &show);
    if (show.colors)
        fputc('\n', stdout);
    fprintf(stderr, "reasoning is %s; ", states[rationale_split_state(split)]);
    say_count(&show, "\n");

    for (size_t i = 0; i < 2; i++)
        rationale_counter_free(show.tokens[i]);
    rationale_split_free(split);
    return 0;
}
