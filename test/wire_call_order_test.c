/* Calls whose arguments arrive interleaved, divided anywhere: each call is emitted whole, one after
 * the other.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire_help.h"

#define CALLS 5
#define ROUNDS 400

static const char *const arguments[CALLS] = {
    "{\"a\":1}",
    "{\"b\":[1,\"}\",{\"c\":\"\\\\\\\"\"}]}",
    "{}",
    "{\"text\":\"{[ \\u00e9 ]}\",\"deep\":{\"er\":{}}}",
    "{ \"spaced\" : [ ] }",
};

static void say(struct wire_encoder *en, enum chat_event_kind kind, uint32_t block, str text)
{
    static const str ids[CALLS] = {
        STR_INIT("id0"), STR_INIT("id1"), STR_INIT("id2"), STR_INIT("id3"), STR_INIT("id4")};
    struct chat_event ev = {.kind = kind,
                            .block = block,
                            .text = text,
                            .id = STR(""),
                            .name = STR(""),
                            .stop = CHAT_STOP_TOOL};

    if (kind == CHAT_CALL)
        ev.id = ev.name = ids[block % CALLS];
    wire_encode(en, &ev);
}

/* Emits pieces in random order, but those of one call in sequence; some texts come in between. */
static void say_by_turns(struct wire_encoder *en, uint64_t *seed)
{
    size_t at[CALLS] = {0}, left = CALLS, words = 3;
    uint32_t begun = 0;

    while (left > 0) {
        uint64_t r = *seed = *seed * 6364136223846793005u + 1442695040888963407u;
        uint32_t i = (uint32_t)(r >> 33) % CALLS;
        str all = str_c(arguments[i]);
        size_t size = 1 + (size_t)(r >> 50) % 4;

        if (words && (r >> 20) % 16 == 0) {
            say(en, CHAT_TEXT, CALLS + (uint32_t)words--, STR("word"));
        } else if (i >= begun && begun < CALLS) {
            say(en, CHAT_CALL, begun++, STR(""));
        } else if (i < begun && at[i] < all.n) {
            str piece = str_slice(all, at[i], at[i] + size);

            say(en, CHAT_ARGUMENTS, i, piece);
            at[i] += piece.n;
            left -= at[i] == all.n;
        }
    }
}

static void check_round(const struct wire *w, enum frames_kind kind, uint64_t seed)
{
    struct pass *p = malloc(sizeof *p);
    struct notes n;
    char want[200];

    assert(p);
    pass_init(p, w, w, true);
    say(&p->en, CHAT_START, 0, STR(""));
    say_by_turns(&p->en, &seed);
    say(&p->en, CHAT_STOP, 0, STR(""));
    say(&p->en, CHAT_END, 0, STR(""));
    notes_init(&n);
    decode_to(w, buf_str(&p->out), kind, 0, &n);
    for (int i = 0; i < CALLS; i++) {
        size_t at;

        (void)snprintf(want, sizeof want, " id%d id%d\narguments 0.", i, i);
        at = str_find(buf_str(&n.all), str_c(want));
        CHECK(at != STR_NONE);
        (void)snprintf(want, sizeof want, ": %s\n", arguments[i]);
        at += str_find(str_slice(buf_str(&n.all), at, n.all.n), STR(": "));
        CHECK(str_starts(str_slice(buf_str(&n.all), at, n.all.n), str_c(want)));
    }
    CHECK(n.errors == 0 && n.ends == 1);
    notes_release(&n);
    pass_release(p);
    free(p);
}

TEST(calls_by_turns_arrive_whole_in_every_dialect)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        check_round(wire_get(CHAT_OPENAI), FRAMES_SSE, seed);
        check_round(wire_get(CHAT_ANTHROPIC), FRAMES_SSE, seed);
        check_round(wire_get(CHAT_GEMINI), FRAMES_SSE, seed);
        check_round(wire_get(CHAT_OLLAMA), FRAMES_LINES, seed);
    }
}

/* Anthropic's blocks: a block gets no event after its end, and none starts before the previous one
 * ended. */
TEST(no_block_begins_before_the_one_before_has_ended)
{
    for (uint64_t seed = 1; seed <= ROUNDS; seed++) {
        struct pass *p = malloc(sizeof *p);
        uint64_t s = seed;
        int running = 0;
        str out;

        assert(p);
        pass_init(p, wire_get(CHAT_ANTHROPIC), wire_get(CHAT_ANTHROPIC), true);
        say_by_turns(&p->en, &s);
        say(&p->en, CHAT_END, 0, STR(""));
        out = buf_str(&p->out);
        for (size_t at; (at = str_find(out, STR("event: content_block_"))) != STR_NONE;) {
            out = str_slice(out, at + 21, out.n);
            running += str_starts(out, STR("start")) ? 1 : str_starts(out, STR("stop")) ? -1 : 0;
            CHECK(running == (str_starts(out, STR("stop")) ? 0 : 1));
        }
        CHECK(running == 0);
        pass_release(p);
        free(p);
    }
}

/* Buffered events take memory until the reply ends. If the memory is exhausted, they are emitted
 * out of order, but none is lost. */
TEST(events_that_wait_do_not_exhaust_the_memory)
{
    struct pass *p = malloc(sizeof *p);
    size_t bytes = 0;

    assert(p);
    pass_init(p, wire_get(CHAT_ANTHROPIC), wire_get(CHAT_ANTHROPIC), true);
    arena_release(&p->arena);
    arena_init(&p->arena, (size_t)4 << 20);
    wire_encoder_init(&p->en, wire_get(CHAT_ANTHROPIC), &p->request, true, &p->arena, &p->out);
    say(&p->en, CHAT_START, 0, STR(""));
    for (uint32_t round = 0; round < 10; round++) {
        say(&p->en, CHAT_CALL, 2 * round, STR(""));
        say(&p->en, CHAT_CALL, 2 * round + 1, STR(""));
        for (int i = 0; i < 5000; i++)
            say(&p->en, CHAT_ARGUMENTS, 2 * round + 1, STR("{~"));
    }
    say(&p->en, CHAT_STOP, 0, STR(""));
    say(&p->en, CHAT_END, 0, STR(""));
    for (size_t i = 0; i < p->out.n; i++)
        bytes += p->out.p[i] == '~';
    CHECK_INT(bytes, 50000);
    pass_release(p);
    free(p);
}

/* Gemini and Ollama write a call as a whole, so the encoder buffers it until the next event. */
TEST(complete_calls_are_written_before_an_error_and_a_cut_one_is_not)
{
    static const enum chat_dialect dialects[] = {CHAT_GEMINI, CHAT_OLLAMA, CHAT_ANTHROPIC};

    for (size_t i = 0; i < COUNT_OF(dialects); i++) {
        const struct wire *w = wire_get(dialects[i]);
        struct chat_error error = wire_error(503, "UNAVAILABLE", "the host is busy");
        struct pass *p = malloc(sizeof *p);
        str out;

        assert(p);
        pass_init(p, w, w, true);
        say(&p->en, CHAT_START, 0, STR(""));
        say(&p->en, CHAT_CALL, 0, STR(""));
        say(&p->en, CHAT_CALL, 1, STR(""));
        say(&p->en, CHAT_ARGUMENTS, 0, STR("{\"a\":0"));
        say(&p->en, CHAT_CALL, 2, STR(""));
        say(&p->en, CHAT_ARGUMENTS, 2, STR("{\"a\":2}"));
        say(&p->en, CHAT_ARGUMENTS, 1, STR("{\"a\":1}"));
        say(&p->en, CHAT_TEXT, 3, STR("word"));
        wire_encode(&p->en, &(struct chat_event){.kind = CHAT_ERROR, .error = &error});
        out = buf_str(&p->out);
        CHECK(str_find(out, STR("id1")) < str_find(out, STR("id2")));
        CHECK(str_find(out, STR("id2")) < str_find(out, STR("word")));
        CHECK(str_find(out, STR("word")) < str_find(out, STR("busy")));
        CHECK(str_find(out, STR("busy")) != STR_NONE);
        CHECK_INT(str_find(out, STR("id0")) == STR_NONE, dialects[i] != CHAT_ANTHROPIC);
        pass_release(p);
        free(p);
    }
}

TEST_MAIN(T(complete_calls_are_written_before_an_error_and_a_cut_one_is_not),
          T(calls_by_turns_arrive_whole_in_every_dialect),
          T(no_block_begins_before_the_one_before_has_ended),
          T(events_that_wait_do_not_exhaust_the_memory))
