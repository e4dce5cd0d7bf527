/* Compares the speed of the splitter with memchr over the same text, in one run.
 *
 * The text is what reasoning models write: prose, Markdown, some code with "<" in it, a little that
 * is not ASCII. Each contestant gets the same text; the best of the rounds counts, the rounds
 * alternate.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/buf.h"
#include "base/clock.h"
#include "split/split.h"

#define TEXT_SIZE ((size_t)16 << 20)
#define ROUNDS 9

static const char paragraph[] =
    "The user wants to know why the rollout stalled. Let me look at the events first: three pods "
    "are "
    "in `CrashLoopBackOff`, and the fourth never got scheduled because the node has a taint.\n\n"
    "1. The probe fails after 12 s, so the container is killed before it has warmed its cache.\n"
    "2. Memory is fine: the limit is 512 MiB and the peak was 318 MiB, i.e. 62 %.\n"
    "3. The image did not change; only the config map did, and `timeout_ms` went from 3000 to "
    "300.\n\n"
    "So the likely cause is the time-out. If x < 300 the first request cannot finish, and since "
    "retries are off there is no second one. I should say that plainly, and how sure I am.\n\n"
    "```c\nfor (size_t i = 0; i < n && list[i] <= limit; i++)\n    sum += list[i] << 1;\n```\n\n"
    "Bleibt die Frage, ob das überall gilt: in der zweiten Region — dort läuft noch die alte "
    "Fassung — tritt es nicht auf. Das stützt die Vermutung.\n\n";

static size_t seen; /* the bytes that the sinks got, so that the compiler cannot drop the work */

static void on_run(void *ctx, enum split_kind kind, str run)
{
    (void)ctx;
    seen += run.n + (size_t)kind;
}

static void split_pieces(const struct split_format *f, str text, size_t step)
{
    struct split sp;

    split_init(&sp, f, false, (struct split_sink){on_run, NULL, NULL});
    for (size_t at = 0; at < text.n; at += step)
        split_feed(&sp, str_slice(text, at, at + step));
    split_finish(&sp);
    seen += sp.size[SPLIT_REASONING];
}

static void count_byte(str text)
{
    for (const char *p = text.p, *end = text.p + text.n; (p = memchr(p, '<', (size_t)(end - p)));
         p++)
        seen++;
}

struct contest {
    const char *name;
    const char *format; /* NULL: memchr */
    size_t step;
    uint64_t best_ns;
};

static void run_once(struct contest *c, str text)
{
    uint64_t from = clock_mono_ns(&clock_real), took;

    if (c->format)
        split_pieces(split_format_find(str_c(c->format)), text, c->step);
    else
        count_byte(text);
    took = clock_mono_ns(&clock_real) - from;
    if (c->best_ns == 0 || took < c->best_ns)
        c->best_ns = took;
}

int main(void)
{
    struct contest contests[] = {
        {"memchr '<'", NULL, 0, 0},
        {"think, whole", "think", TEXT_SIZE * 2, 0},
        {"think, 4-byte pieces", "think", 4, 0},
        {"qwen3, whole", "qwen3", TEXT_SIZE * 2, 0},
        {"qwen3, 4-byte pieces", "qwen3", 4, 0},
        {"mistral, whole", "mistral", TEXT_SIZE * 2, 0},
        {"harmony, whole", "harmony", TEXT_SIZE * 2, 0},
        {"harmony, 4-byte pieces", "harmony", 4, 0},
        {"minimax_m3, whole", "minimax_m3", TEXT_SIZE * 2, 0},
    };
    struct buf b;

    buf_init(&b, TEXT_SIZE * 2);
    buf_add(&b, STR("<think>"));
    while (b.n < TEXT_SIZE / 2)
        buf_add(&b, str_c(paragraph));
    buf_add(&b, STR("</think>"));
    while (b.n < TEXT_SIZE)
        buf_add(&b, str_c(paragraph));
    for (int round = 0; round < ROUNDS; round++)
        for (size_t i = 0; i < COUNT_OF(contests); i++)
            run_once(&contests[i], buf_str(&b));
    printf("split: %zu MB of reasoning and answer, best of %d\n\n", b.n >> 20, ROUNDS);
    printf("%-24s %10s %14s\n", "", "MB/s", "time : memchr");
    for (size_t i = 0; i < COUNT_OF(contests); i++)
        printf("%-24s %10.0f %14.1f\n",
               contests[i].name,
               (double)b.n * 1e3 / (double)contests[i].best_ns,
               (double)contests[i].best_ns / (double)contests[0].best_ns);
    buf_release(&b);
    return seen == 0;
}
