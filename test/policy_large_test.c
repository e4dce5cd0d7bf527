/* policy_large_test.c - documents, facts and criteria of any size take bounded time and memory.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/fact_tools.h"
#include "apps/policy/format/format.h"
#include "apps/policy/heuristic.h"
#include "apps/policy/scope.h"
#include "policy_samples.h"
#include "test.h"

static void check_too_large(str bytes, const char *name, const char *why)
{
    struct policy_tree t;
    struct arena a;
    struct err e = {0};

    arena_init(&a, POLICY_ARENA_MAX);
    CHECK_F(!policy_tree_any(bytes, str_c(name), &a, &t, &e), "not refused: %s", why);
    CHECK_F(strstr(e.text, why) != NULL, "\"%s\", not \"%s\"", e.text, why);
    arena_release(&a);
}

static void add_repeated(struct buf *out, const char *text, size_t n)
{
    for (size_t i = 0; i < n; i++)
        buf_add(out, str_c(text));
}

/* Each "|" in a cell takes two bytes, so the cell is too large. The document must be refused, not
 * read without the cell. */
TEST(a_cell_or_paragraph_that_does_not_fit_is_refused)
{
    struct buf b;

    buf_init(&b, (size_t)64 << 20);
    buf_add(&b, STR("<html><table><tr><td>Rule</td></tr><tr><td>"));
    add_repeated(&b, "|", (size_t)17 << 20);
    buf_add(&b, STR("</td></tr></table></html>"));
    check_too_large(buf_str(&b), "doc", "larger than");
    buf_reset(&b);
    buf_add(&b, STR("<html><p>"));
    add_repeated(&b, "word ", (size_t)7 << 20);
    buf_add(&b, STR("</p></html>"));
    check_too_large(buf_str(&b), "doc", "larger than");
    buf_release(&b);
}

static void docx_with(const char *name, const struct buf *part, const struct buf *body,
                      struct buf *out)
{
    const struct sample_part parts[] = {{.name = name, .text = buf_str(part)},
                                        {.name = "word/document.xml", .text = buf_str(body)}};

    buf_reset(out);
    sample_zip(parts, COUNT_OF(parts), out);
}

/* Small compressed files: the time must not be the number of styles or notes times the number of
 * references to them. */
TEST(a_docx_file_with_endless_styles_and_notes_is_read_in_time)
{
    struct buf part, body, b;
    struct policy_tree t;
    struct arena a;
    struct err e;

    buf_init(&part, (size_t)32 << 20);
    buf_init(&body, (size_t)32 << 20);
    buf_init(&b, (size_t)32 << 20);
    buf_add(&part, STR("<w:styles>"));
    for (int i = 0; i < 9999; i++)
        buf_printf(&part,
                   "<w:style w:styleId=\"s%d\"><w:name w:val=\"n\"/><w:basedOn w:val=\"s%d\"/>"
                   "</w:style>",
                   i,
                   i - 1);
    buf_add(&part, STR("</w:styles>"));
    buf_add(&body, STR("<w:document><w:body>"));
    add_repeated(&body, "<w:p><w:pPr><w:pStyle w:val=\"s9998\"/></w:pPr></w:p>", 200000);
    buf_add(&body, STR("<w:p><w:r><w:t>x</w:t></w:r></w:p></w:body></w:document>"));
    docx_with("word/styles.xml", &part, &body, &b);
    arena_init(&a, POLICY_ARENA_MAX);
    CHECK_F(policy_tree_any(buf_str(&b), STR("doc"), &a, &t, &e), "%s", e.text);
    CHECK_STR(t.nodes[0].text, "x");
    arena_release(&a);

    buf_reset(&part);
    buf_reset(&body);
    buf_add(&part, STR("<w:footnotes><w:footnote w:id=\"1\"><w:p><w:r><w:t>"));
    add_repeated(&part, "word ", 200000);
    buf_add(&part, STR("</w:t></w:r></w:p></w:footnote></w:footnotes>"));
    buf_add(&body, STR("<w:document><w:body>"));
    add_repeated(&body, "<w:p><w:r><w:footnoteReference w:id=\"1\"/></w:r></w:p>", 100000);
    buf_add(&body, STR("</w:body></w:document>"));
    docx_with("word/footnotes.xml", &part, &body, &b);
    check_too_large(buf_str(&b), "doc", "larger than");
    buf_release(&part);
    buf_release(&body);
    buf_release(&b);
}

/* Verifies a case with one field of `n` copies of a text, against a criterion with as many. */
static void verify_repeated(const struct policy_doc *d, const char *name, const char *text,
                            const char *criterion, size_t n)
{
    struct buf json, asked;
    struct policy_result r;
    struct policy_case c;
    struct arena a;
    struct err e;

    buf_init(&json, POLICY_CASE_MAX);
    buf_init(&asked, POLICY_CASE_MAX);
    buf_printf(&json,
               "{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[{\"field_name\":\"%s\","
               "\"confidence\":1,\"value\":\"",
               name);
    for (size_t i = 0; i < n; i++) {
        buf_add(&json, str_c(text));
        buf_add(&asked, str_c(criterion));
    }
    buf_add(&json, STR("\"}]}"));
    arena_init(&a, POLICY_ARENA_MAX);
    CHECK_F(policy_case_read(buf_str(&json), &a, &c, &e), "%s", e.text);
    CHECK_F(
        policy_heuristic(d, &c, asked.n ? buf_str(&asked) : STR("age"), &a, &r, &e), "%s", e.text);
    CHECK_INT(r.status, POLICY_UNCERTAIN);
    arena_release(&a);
    buf_release(&json);
    buf_release(&asked);
}

TEST(facts_and_criteria_without_end_are_read_in_bounded_time_and_memory)
{
    struct policy_doc *d;
    struct buf text;
    struct err e;

    buf_init(&text, 1 << 20);
    buf_add(&text, STR("# Age\n\n"));
    for (int i = 0; i < 120; i++)
        buf_printf(&text, "The age must be at least %d years.\n\n", 18 + i);
    CHECK(policy_doc_parse(STR("p"), STR("p.md"), buf_str(&text), &d, &e));
    verify_repeated(d, "age", "7 ", "", 200000);
    verify_repeated(d, "age", ", ", ", ", 60000);
    verify_repeated(d, "age", "may ", "the age ", 20000);
    verify_repeated(d, "age", "7 ", "the age ", 250000);
    policy_doc_free(d);
    buf_release(&text);
}

TEST(many_sentences_below_long_titles_fit_into_memory)
{
    struct policy_doc *d;
    struct buf text;
    struct err e;

    buf_init(&text, (size_t)8 << 20);
    buf_add(&text, STR("# The age"));
    for (int i = 0; i < 150; i++)
        buf_add(&text, STR(" of who"));
    buf_add(&text, STR("\n\n"));
    for (int i = 0; i < 120000; i++)
        buf_add(&text, STR("So it is.\n\n"));
    CHECK(policy_doc_parse(STR("p"), STR("p.md"), buf_str(&text), &d, &e));
    verify_repeated(d, "age", "7", "age", 1);
    policy_doc_free(d);
    buf_release(&text);
}

/* Each rule of the section is compared with each rule of the criterion. */
TEST(many_rules_of_one_section_fit_into_memory)
{
    struct policy_result r;
    struct policy_doc *d;
    struct policy_case c;
    struct arena a;
    struct buf text;
    struct err e;

    buf_init(&text, (size_t)1 << 20);
    buf_add(&text, STR("# Service\n\n## General requirements and rules of the policy\n\n"));
    for (int i = 0; i < 700; i++)
        buf_printf(&text,
                   i < 350 ? "The applicant must have a q%c%cz.\n\n"
                           : "The x%c%cz is required.\n\n",
                   'a' + i % 25,
                   'a' + i / 25 % 14);
    buf_add(&text, STR("## Part\n\nThe guide is required.\n"));
    CHECK(policy_doc_parse(STR("p"), STR("p.md"), buf_str(&text), &d, &e));
    arena_init(&a, POLICY_ARENA_MAX);
    CHECK(
        policy_case_read(STR("{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[]}"), &a, &c, &e));
    CHECK_F(policy_heuristic(d, &c, STR("applicant"), &a, &r, &e), "%s", e.text);
    CHECK_STR(r.reason_code, "missing_evidence"); /* the document was read whole */
    CHECK_F(a.size < (size_t)8 << 20, "%zu bytes", a.size);
    arena_release(&a);
    policy_doc_free(d);
    buf_release(&text);
}

/* A large document leaves SCOPE_ROOM of the arena to all other data. */
TEST(the_names_of_many_facts_fit_into_memory)
{
    struct policy_result r;
    struct policy_doc *d;
    struct policy_case c;
    struct arena a;
    struct buf json;
    struct err e;

    buf_init(&json, POLICY_CASE_MAX);
    buf_add(&json, STR("{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":["));
    for (int i = 0; i < POLICY_FIELDS_MAX; i++) {
        buf_add(&json, i ? STR(",{\"field_name\":\"") : STR("{\"field_name\":\""));
        add_repeated(&json, "(", 1000);
        buf_add(&json, STR("\",\"confidence\":1,\"value\":7}"));
    }
    buf_add(&json, STR("]}"));
    arena_init(&a, POLICY_ARENA_MAX);
    CHECK(
        policy_doc_parse(STR("p"), STR("p.md"), STR("# Age\n\nThe minimum age is 18.\n"), &d, &e));
    CHECK_F(policy_case_read(buf_str(&json), &a, &c, &e), "%s", e.text);
    CHECK_F(policy_heuristic(d, &c, STR("age"), &a, &r, &e), "%s", e.text);
    CHECK_STR(r.reason_code, "missing_evidence");
    CHECK_F(a.size < SCOPE_ROOM, "%zu bytes", a.size);
    arena_release(&a);
    policy_doc_free(d);
    buf_release(&json);
}

TEST(references_in_a_document_of_many_sections_fit_into_memory)
{
    struct policy_doc *d;
    struct json_out o;
    struct arena a;
    struct buf text;
    struct err e;

    buf_init(&text, (size_t)4 << 20);
    for (int i = 0; i < 10000; i++)
        buf_printf(&text, "# Rule %d of the plan\n\nThe age: see section Nowhere.\n", i);
    CHECK(policy_doc_parse(STR("p"), STR("p.md"), buf_str(&text), &d, &e));
    arena_init(&a, POLICY_ARENA_MAX);
    buf_reset(&text);
    json_out_init(&o, &text);
    policy_xref(d, STR("age"), &a, &o);
    CHECK(strstr(text.p, "\"references\":[{"));
    CHECK_F(a.size < (size_t)32 << 20, "%zu bytes", a.size);
    arena_release(&a);
    policy_doc_free(d);
    buf_release(&text);
}

TEST_MAIN(T(a_cell_or_paragraph_that_does_not_fit_is_refused),
          T(a_docx_file_with_endless_styles_and_notes_is_read_in_time),
          T(many_sentences_below_long_titles_fit_into_memory),
          T(many_rules_of_one_section_fit_into_memory), T(the_names_of_many_facts_fit_into_memory),
          T(references_in_a_document_of_many_sections_fit_into_memory),
          T(facts_and_criteria_without_end_are_read_in_bounded_time_and_memory))
