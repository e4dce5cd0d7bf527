/* orders_customer_filter_test.c - no reasoning passes the filter, however the text is divided.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/orders/customer_filter.h"
#include "base/buf.h"
#include "test.h"

static const struct {
    const char *text, *said, *thought;
} cases[] = {
    {"<reasoning>why</reasoning>Hello", "Hello", "why"},
    {"Hello", "Hello", ""},
    {"", "", ""},
    /* nested */
    {"<reasoning>a<reasoning>b</reasoning>c</reasoning>Hello", "Hello", "abc"},
    {"<think>a<reasoning>b</reasoning>c</think>Hello", "Hello", "abc"},
    /* never closed */
    {"<reasoning>secret and more", "", "secret and more"},
    {"Hello <reasoning>secret", "Hello", "secret"},
    {"<reasoning>a</reasoning>Hi<reasoning>b", "Hi", "a"},
    {"<reasoning>a<reasoning>b</reasoning>c", "", "abc"},
    /* truncated in the tag */
    {"Hello <reas", "Hello", ""},
    {"Hello </reasoning", "Hello", ""},
    {"Hello <reasoning", "Hello", ""},
    {"Hello <inner_th", "Hello", ""},
    {"Hello </", "Hello", ""},
    {"Hello <", "Hello", ""},
    {"Hello [TH", "Hello", ""},
    {"Hello [", "Hello", ""},
    {"Hello &lt;rea", "Hello", ""},
    /* other names, cases, attributes, prefixes */
    {"<think>x</think>Hello", "Hello", "x"},
    {"<thinking>x</thinking>Hello", "Hello", "x"},
    {"<Reasoning>x</REASONING>Hello", "Hello", "x"},
    {"<analysis>x</analysis>Hello", "Hello", "x"},
    {"<scratchpad>x</scratchpad>Hello", "Hello", "x"},
    {"<inner_thoughts>x</inner_thoughts>Hello", "Hello", "x"},
    {"<x:thinking>x</x:thinking>Hello", "Hello", "x"},
    {"<reasoning type=\"short\">x</reasoning>Hello", "Hello", "x"},
    {"< reasoning >x< / reasoning >Hello", "Hello", "x"},
    {"<reasoning\n>x</reasoning\n>Hello", "Hello", "x"},
    {"<reasoning/>Hello", "Hello", ""},
    {"<reasoning />Hello", "Hello", ""},
    {"[THINK]x[/THINK]Hello", "Hello", "x"},
    {"<|START_THINKING|>x<|END_THINKING|>Hello", "Hello", "x"},
    {"[REASONING]x[/REASONING]Hello", "Hello", "x"},
    {"<reasoning a='>' b=\"</reasoning>\">x</reasoning>Hello", "Hello", "x"},
    /* with other bracket characters, and with invisible characters between the letters */
    {"\xE2\x97\x81think\xE2\x96\xB7x\xE2\x97\x81/think\xE2\x96\xB7Hello", "Hello", "x"},
    {"\xEF\xBC\x9Creasoning\xEF\xBC\x9Ex\xEF\xBC\x9C/reasoning\xEF\xBC\x9EHello", "Hello", "x"},
    {"&lt;reasoning&gt;x&lt;/reasoning&gt;Hello", "Hello", "x"},
    {"<rea\xC2\xADsoning>x</rea\xE2\x80\x8Bsoning>Hello", "Hello", "x"},
    {"<|channel>thought\nx<channel|>Hello", "Hello", "thought\nx"},
    {"Fish & chips, \xE2\x80\xB9Harbor\xE2\x80\xBA \xE2\x80\x94 it\xE2\x80\x99s &lt;b&gt; "
     "\xE2\x96\xB6",
     "Fish & chips, \xE2\x80\xB9Harbor\xE2\x80\xBA \xE2\x80\x94 it\xE2\x80\x99s &lt;b&gt; "
     "\xE2\x96\xB6",
     ""},
    {"<tool_call>{\"name\":\"f\"}</tool_call>Hello", "Hello", "{\"name\":\"f\"}"},
    {"<|channel|>analysis<|message|>x<|end|><|start|>assistant<|channel|>final<|message|>Hello<|"
     "return|>",
     "Hello",
     "x"},
    /* in code and quotes */
    {"```\n<reasoning>x</reasoning>\n```Hello", "```\n\n```Hello", "x"},
    {"`<reasoning>`x`</reasoning>`Hello", "``Hello", "`x`"},
    {"\"<reasoning>x</reasoning>\"", "\"\"", "x"},
    /* closers without openers */
    {"x</reasoning>Hello", "Hello", "x"},
    {"<reasoning>a</reasoning>Hi</reasoning> there", "Hi there", "a"},
    {"</think></think>Hello", "Hello", ""},
    /* closers of another name: they count only where no other closer follows */
    {"<reasoning>x</thinking>Hello", "Hello", "x"},
    {"Hi <reasoning>x</thinking>there", "Hi there", "x"},
    {"[THINK]x</reasoning>Hello", "Hello", "x"},
    {"<think>x<|END_THINKING|>Hello", "Hello", "x"},
    {"<|START_THINKING|>x</think>Hello", "Hello", "x"},
    {"<think>a </reasoning> b</think>Hello", "Hello", "a  b"},
    {"<think>a<reasoning>b</reasoning>c</thinking>Hello", "Hello", "abc"},
    {"<reasoning>a</think>secret</think>Hello", "Hello", "a"},
    {"<think>a</tool>secret", "", "asecret"},
    /* comments */
    {"<!-- x -->Hello", "Hello", "x"},
    {"Hi <!-- <b> a - b -- c > --> there", "Hi  there", "a - b -- c >"},
    {"&lt;!-- x --&gt;Hello", "Hello", "x"},
    {"<!-- secret", "", "secret"},
    {"Hello <!-", "Hello", ""},
    {"<!-- a --!>Hello --> there", "Hello --> there", "a"},
    {"<!---->Hello", "Hello", ""},
    /* several, doubled brackets, no space */
    {"<reasoning>a</reasoning>Hi <reasoning>b</reasoning>there", "Hi there", "a"},
    {"<reasoning></reasoning><reasoning>b</reasoning>Hi", "Hi", "b"},
    {"<<reasoning>x</reasoning>Hello", "<Hello", "x"},
    {"<reasoning>x<</reasoning>Hello", "Hello", "x"},
    {"<reasoning<reasoning>x</reasoning></reasoning>Hello", "Hello", "x"},
    {"<reasoning>1 < 2 <b>x</reasoning>Hello", "Hello", "1 < 2 x"},
    /* tags that form from the remains of others */
    {"<<think>x</think>reasoning>secret", "", "x"},
    {"</<b>reasoning>Hello", "Hello", ""},
    {"<<b>reasoning>x</reasoning>Hello", "Hello", "x"},
    /* text that is no tag stays; of other tags only the tag itself is removed */
    {"1 < 2, I <3 it, a<b", "1 < 2, I <3 it, a<b", ""},
    {"<answer>Hello</answer>", "Hello", ""},
    {"Mail <lane@example.com> [sic] [1]", "Mail <lane@example.com> [sic] [1]", ""},
    {"Gr\xC3\xBC\xC3\x9F"
     "e <reasoning>\xE2\x98\x95</reasoning>\xF0\x9F\x8D\x94",
     "Gr\xC3\xBC\xC3\x9F"
     "e \xF0\x9F\x8D\x94",
     "\xE2\x98\x95"},
};

TEST(a_customer_sees_no_tag_and_no_thought)
{
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct arena a;
        str said, thought;

        arena_init(&a, 65536);
        customer_filter_text(str_c(cases[i].text), &a, &said, &thought);
        CHECK_F(str_eq(said, str_c(cases[i].said)),
                "%s: said \"" STR_FMT "\"",
                cases[i].text,
                STR_ARG(said));
        CHECK_F(str_eq(thought, str_c(cases[i].thought)),
                "%s: thought \"" STR_FMT "\"",
                cases[i].text,
                STR_ARG(thought));
        arena_release(&a);
    }
}

static const struct {
    const char *text, *said, *thought;
} untagged[] = {
    /* a label at the start of a line, to the end of its paragraph */
    {"Reasoning: they want tea.\n\nOne tea, got it.", "One tea, got it.", "they want tea."},
    {"**Reasoning:** they want tea.\n\nOne tea.", "One tea.", "they want tea."},
    {"**Reasoning**: x\n\nOne tea.", "One tea.", "x"},
    {"### Reasoning\nx\ny\n\nOne tea.", "One tea.", "x\ny"},
    {"__My internal thoughts__:\n\nx\n\nOne tea.", "One tea.", "x"},
    {"Thought: x\n\nHi", "Hi", "x"},
    {"thinking: x\n\nHi", "Hi", "x"},
    {"Analysis: x\r\n\r\nHi", "Hi", "x"},
    {"Chain of thought: x\n\nHi", "Hi", "x"},
    {"Thought 1: x\n\nHi", "Hi", "x"},
    {"Reasoning (internal): x\n\nHi", "Hi", "x"},
    {"Reasoning \xE2\x80\x94 x\n\nHi", "Hi", "x"},
    {"- Reasoning: x\n\nHi", "Hi", "x"},
    {"> *Reasoning:* x\n\nHi", "Hi", "x"},
    {"Hi!\n\nReasoning: x", "Hi!", "x"},
    {"Hi!\nReasoning: x", "Hi!", "x"},
    {"Reasoning: x and\ny", "", "x and\ny"},
    /* or up to the answer's label */
    {"Reasoning: x\nAnswer: Hi", "Hi", "x"},
    {"Reasoning: x\n\ny\n\n**Answer:** Hi", "Hi", "x\n\ny"},
    {"Reasoning: x. Answer: Hi", "Hi", "x."},
    {"Reasoning: the best answer: wait\n\nHi", "Hi", "the best answer: wait"},
    {"**Thinking:** x **Reply:** Hi", "", "x **Reply:** Hi"},
    {"**Thinking:** x. **Reply:** Hi", "Hi", "x. **"},
    {"Thought: x\nAction: look\nObservation: y\nFinal Answer: Hi",
     "Hi",
     "x\nAction: look\nObservation: y"},
    {"They want tea.\n\nFinal answer: Hi", "Hi", "They want tea."},
    {"<think>x</think>Tea.\nFinal answer: Hi", "Tea.\nHi", "x"},
    /* in parentheses */
    {"Sure! (reasoning: they (both) want tea) Anything else?",
     "Sure!  Anything else?",
     "they (both) want tea"},
    {"(Thinking: x) Hi", "Hi", "x"},
    {"[Internal reasoning: x [y]] Hi", "Hi", "x [y]"},
    {"Hi (reasoning: x", "Hi", "x"},
    /* JSON */
    {"{\"reasoning\": \"x\", \"reply\": \"Hi\"}", "Hi", "x"},
    {"{\n  \"thought\": \"x\",\n  \"answer\": \"Hi \\\"you\\\"\"\n}", "Hi \"you\"", "x"},
    {"```json\n{\"chain_of_thought\": \"x\", \"message\": \"Hi\"}\n```", "Hi", "x"},
    {"{'analysis': 'x', 'response': 'Hi'}", "Hi", "x"},
    {"{\"rationale\": \"x\"}", "", "x"},
    {"{\"reasoning\": {\"reply\": \"x\"}, \"items\": 1}", "", ""},
    {"{\"output\": {\"thinking\": \"x\", \"finalAnswer\": \"Hi\"}}", "Hi", "x"},
    {"{\"reply\": \"Hi\", \"reasoning\": \"x", "", ""},
    {"Here: {\"reasoning\": \"x\", \"reply\": \"Hi\"} ok", "Here: Hi ok", "x"},
    {"{\"reasoning\":\"x\",\"reply\":\"\\u003cthink\\u003ey\\u003c/think\\u003eHi\"}", "Hi", "y"},
    /* with tags around or inside the label */
    {"<answer>Reasoning: x\n\nHi</answer>", "Hi", "x"},
    {"Rea<b>soning: x\n\nHi", "Hi", "x"},
    {"<th(reasoning: a)ink>secret", "", "secret"},
    /* no label */
    {"The reason: we are closed.", "The reason: we are closed.", ""},
    {"Reasoning is hard.\n\nHi", "Reasoning is hard.\n\nHi", ""},
    {"Thinking of a tea? Sure: one tea.", "Thinking of a tea? Sure: one tea.", ""},
    {"My reasoning was: one tea.", "My reasoning was: one tea.", ""},
    {"Good thought: one tea.", "Good thought: one tea.", ""},
    {"Tea (the reason: it's cold) and {sugar}", "Tea (the reason: it's cold) and {sugar}", ""},
    {"Answer: one tea", "Answer: one tea", ""},
    {"{\"total\": \"$3\"}", "{\"total\": \"$3\"}", ""},
    {"- one tea\n- **two** coffees: $5", "- one tea\n- **two** coffees: $5", ""},
    {"Thought", "Thought", ""},
    {"a -- b --> c <!x", "a -- b --> c <!x", ""},
};

TEST(reasoning_without_tags_is_recognised)
{
    for (size_t i = 0; i < COUNT_OF(untagged); i++) {
        struct arena a;
        str said, thought;

        arena_init(&a, 65536);
        customer_filter_text(str_c(untagged[i].text), &a, &said, &thought);
        CHECK_F(str_eq(said, str_c(untagged[i].said)),
                "%s: said \"" STR_FMT "\"",
                untagged[i].text,
                STR_ARG(said));
        CHECK_F(str_eq(thought, str_c(untagged[i].thought)),
                "%s: thought \"" STR_FMT "\"",
                untagged[i].text,
                STR_ARG(thought));
        arena_release(&a);
    }
}

/* The output: text for the customer, reasoning, and the positions of closers. */
struct got {
    struct buf said, thought, closes;
};

static void on_run(void *ctx, bool thought, str run)
{
    struct got *g = ctx;

    CHECK(run.n > 0);
    buf_add(thought ? &g->thought : &g->said, run);
}

static void on_close(void *ctx, bool stray)
{
    struct got *g = ctx;

    buf_printf(&g->closes, "%zu,%zu,%d;", g->said.n, g->thought.n, stray);
}

static void got_init(struct got *g)
{
    buf_init(&g->said, 65536);
    buf_init(&g->thought, 65536);
    buf_init(&g->closes, 65536);
}

static void got_release(struct got *g)
{
    buf_release(&g->said);
    buf_release(&g->thought);
    buf_release(&g->closes);
}

static void feed_cut(struct got *g, str text, size_t i, size_t j)
{
    struct customer_filter v;

    got_init(g);
    customer_filter_init(&v, (struct customer_filter_sink){on_run, on_close, g});
    customer_filter_feed(&v, str_slice(text, 0, i));
    customer_filter_feed(&v, str_slice(text, i, j));
    customer_filter_feed(&v, str_slice(text, j, text.n));
    customer_filter_finish(&v);
}

TEST(the_filter_does_not_see_the_cuts)
{
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        str text = str_c(cases[c].text);
        struct got whole, cut;

        feed_cut(&whole, text, text.n, text.n);
        for (size_t i = 0; i <= text.n; i++)
            for (size_t j = i; j <= text.n; j++) {
                feed_cut(&cut, text, i, j);
                CHECK_F(str_eq(buf_str(&cut.said), buf_str(&whole.said)) &&
                            str_eq(buf_str(&cut.thought), buf_str(&whole.thought)) &&
                            str_eq(buf_str(&cut.closes), buf_str(&whole.closes)),
                        "%s cut at %zu and %zu",
                        cases[c].text,
                        i,
                        j);
                got_release(&cut);
            }
        got_release(&whole);
    }
}

TEST(byte_by_byte_is_the_same)
{
    for (size_t c = 0; c < COUNT_OF(cases); c++) {
        str text = str_c(cases[c].text);
        struct got whole, bytes;
        struct customer_filter v;

        feed_cut(&whole, text, 0, 0);
        got_init(&bytes);
        customer_filter_init(&v, (struct customer_filter_sink){on_run, on_close, &bytes});
        for (size_t i = 0; i < text.n; i++)
            customer_filter_feed(&v, str_slice(text, i, i + 1));
        customer_filter_finish(&v);
        CHECK(str_eq(buf_str(&bytes.said), buf_str(&whole.said)));
        CHECK(str_eq(buf_str(&bytes.thought), buf_str(&whole.thought)));
        got_release(&whole);
        got_release(&bytes);
    }
}

/* No sequence of these pieces lets a tag, or text inside the outermost pair, through. */
TEST(no_mix_of_pieces_shows_a_tag)
{
    static const char *const pieces[] = {"<reasoning>",
                                         "</reasoning>",
                                         "<think>",
                                         "</think>",
                                         "x",
                                         "```",
                                         "<",
                                         ">",
                                         "</",
                                         "reasoning>"};
    static const char *const never[] = {"<reasoning", "</reasoning", "<think", "</think"};

    for (unsigned n = 0; n < 100000; n++) {
        char text[128] = "";
        size_t at = 0;
        struct arena a;
        str said, thought;

        for (unsigned k = n; k > 0; k /= 10)
            at += (size_t)snprintf(text + at, sizeof text - at, "%s", pieces[k % 10]);
        arena_init(&a, 65536);
        customer_filter_text((str){text, at}, &a, &said, &thought);
        for (size_t i = 0; i < COUNT_OF(never); i++)
            CHECK_F(str_find(said, str_c(never[i])) == STR_NONE, "%s", text);
        arena_release(&a);
    }
}

TEST_MAIN(T(a_customer_sees_no_tag_and_no_thought), T(reasoning_without_tags_is_recognised),
          T(the_filter_does_not_see_the_cuts), T(byte_by_byte_is_the_same),
          T(no_mix_of_pieces_shows_a_tag))
