/* SPDX-License-Identifier: Apache-2.0
 *
 * Arbitrary UTF-8 as the text of a reply; the first three bytes pick the format, whether reasoning
 * is hidden, and the cuts. The events are the same for every cut; none of them is reasoning if it
 * is hidden; a text in which "auto" finds no marker passes unchanged.
 */
#include "base/rand.h"
#include "base/utf8.h"
#include "gateway/pipe/pipe.h"

#define TEXT_MAX ((size_t)1 << 12)

struct pipe_result {
    struct buf text;
    bool answered, reasoned, plain;
    unsigned flags;
};

static void pipe_fuzz_drain(struct pipe *p, struct pipe_result *r, int *last)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct chat_event *ev = &p->events[i];

        if ((int)ev->kind != *last)
            buf_printf(&r->text, "[%s]", chat_event_name(ev->kind));
        *last = (int)ev->kind;
        assert(!p->options.hide || ev->kind != CHAT_REASONING);
        buf_add(&r->text, ev->name);
        buf_add(&r->text, ev->text);
    }
}

static void pipe_fuzz_run(const struct pipe_options *o, str text, unsigned seed,
                          struct pipe_result *r)
{
    struct arena arena;
    struct rand rand;
    struct pipe p;
    int last = -1;

    rand_init(&rand, seed);
    arena_init(&arena, (size_t)64 << 20);
    buf_init(&r->text, (size_t)16 << 20);
    pipe_init(&p, o, &arena);
    for (size_t at = 0, to; at < text.n; at = to) {
        to = seed ? at + 1 + (size_t)rand_below(&rand, 1 + rand_below(&rand, 40)) : text.n;
        while (to < text.n && (text.p[to] & 0xC0) == 0x80)
            to++;
        pipe_begin(&p);
        pipe_feed(&p,
                  &(struct chat_event){.kind = CHAT_TEXT,
                                       .text = str_slice(text, at, to),
                                       .id = STR(""),
                                       .name = STR("")});
        pipe_fuzz_drain(&p, r, &last);
        to = to < text.n ? to : text.n;
    }
    pipe_begin(&p);
    pipe_flush(&p);
    pipe_fuzz_drain(&p, r, &last);
    r->answered = p.cap.answered;
    r->reasoned = p.reasoning.any;
    r->plain = !pipe_may_split(&p);
    r->flags = p.split.flags;
    pipe_release(&p);
    arena_release(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct split_format *f;
    struct pipe_options o = {
        .cap = -1, .id = STR("x"), .vocab = tokens_vocab_find(STR("o200k_base"))};
    struct pipe_result whole, cut;
    struct split_format both;
    size_t count = 0;
    str text;

    if (size < 4 || size > TEXT_MAX)
        return 0;
    text = (str){(const char *)data + 3, size - 3};
    if (!utf8_valid(text))
        return 0;
    while (split_format_at(count))
        count++;
    f = split_format_at(data[0] % (count * 2));
    both = f ? *f : *split_format_auto();
    if (data[1] & 1)
        both.also = split_format_asked();
    o.format = &both;
    o.hide = data[1] & 2;
    o.inside = data[1] & 4;
    pipe_fuzz_run(&o, text, 0, &whole);
    pipe_fuzz_run(&o, text, 1 + data[2], &cut);
    assert(str_eq(buf_str(&whole.text), buf_str(&cut.text)));
    assert(whole.answered == cut.answered && whole.reasoned == cut.reasoned);
    assert(whole.flags == cut.flags && whole.plain == cut.plain);
    assert(!whole.plain || (whole.text.n == text.n + strlen("[text]") && !whole.reasoned));
    buf_release(&whole.text);
    buf_release(&cut.text);
    return 0;
}
