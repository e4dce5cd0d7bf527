/* policy_format_test.c - policies in HTML, DOCX and PDF are converted to trees.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/format/format.h"

#include "apps/policy/heuristic.h"
#include "policy_samples.h"
#include "test.h"

#include <signal.h>
#include <unistd.h>

/* Each node as "LEVEL:TITLE@FIRST-LAST{TEXT}", lines of a text separated by "/". */
static str outline_of(const struct policy_tree *t, struct arena *a)
{
    struct buf b;
    str out;

    buf_init(&b, 1 << 22);
    for (uint32_t i = 0; i < t->node_count; i++) {
        const struct policy_node *n = &t->nodes[i];

        buf_printf(&b, "%s%u:" STR_FMT, i ? " " : "", (unsigned)n->level, STR_ARG(n->title));
        if (t->has_pages)
            buf_printf(&b, "@%u-%u", (unsigned)n->start_index, (unsigned)n->end_index);
        buf_add(&b, STR("{"));
        for (size_t k = 0; k < n->text.n; k++)
            buf_add_c(&b, (char)(n->text.p[k] == '\n' ? '/' : n->text.p[k]));
        buf_add(&b, STR("}"));
    }
    out = arena_dup(a, buf_str(&b));
    buf_release(&b);
    return out;
}

/* As in the program: a confined reader may exit before it has read its whole file. */
static __attribute__((constructor)) void ignore_broken_pipes(void)
{
    (void)signal(SIGPIPE, SIG_IGN);
}

static void check_outline(str bytes, const char *name, const char *want)
{
    struct policy_tree t;
    struct arena a;
    struct err e;
    str got;

    arena_init(&a, POLICY_ARENA_MAX);
    CHECK_F(policy_tree_any(bytes, str_c(name), &a, &t, &e), "%s: %s", want, e.text);
    got = outline_of(&t, &a);
    CHECK_F(str_eq(got, str_c(want)), "got  " STR_FMT "\nwant %s", STR_ARG(got), want);
    arena_release(&a);
}

static void check_refused(str bytes, const char *name, const char *why)
{
    struct policy_tree t;
    struct arena a;
    struct err e = {0};

    arena_init(&a, POLICY_ARENA_MAX);
    CHECK_F(!policy_tree_any(bytes, str_c(name), &a, &t, &e), "not refused: %s", why);
    CHECK_F(strstr(e.text, why) != NULL, "\"%s\", not \"%s\"", e.text, why);
    arena_release(&a);
}

/* ---- HTML ---- */

TEST(html_gives_sections_items_and_rows)
{
    static const struct {
        const char *text, *want;
    } cases[] = {
        {"<html><body><h1>A &amp; B</h1><p>One\n two.</p><p>Three.", "1:A & B{One two.//Three.}"},
        {"<!DOCTYPE html><title>T&eacute;st</title><p>x", "0:T\xC3\xA9st{x}"},
        {"<html><h2>A</h2>a<h3>B</h3>b<h2>C</h2>c", "2:A{a} 3:B{b} 2:C{c}"},
        {"<html><H1 class='x > y'>A<br>b <em>c</em></H1>t", "1:A b c{t}"},
        {"<html><p>a<script>if (1<2) '</p>';</script>b<style>p{}</style>c", "0:doc{abc}"},
        {"<html>a<!-- <h1>no</h1> -->b &lt;h1&gt; &#65;&#x42; &nope; &#xD800; 1 < 2 & 3",
         "0:doc{ab <h1> AB &nope; &#xD800; 1 < 2 & 3}"},
        {"<html>Bring:<ul><li>one<ul><li>inner</ul><li><p>two</ul><ol start=3><li>x<li>y</ol>z",
         "0:doc{Bring://- one/  - inner/- two/3. x/4. y/z}"},
        {"<html><table><tr><th>Plan<th>Fee</tr><tr><td>gold<td>2<br>0</table>after",
         "0:doc{| Plan | Fee |/|---|---|/| gold | 2 0 |//after}"},
        {"<html><table><tr><td rowspan=2>a<td>b</tr><tr><td>c|d</tr><tr><td colspan=2>e</table>",
         "0:doc{| a | b |/|---|---|/|  | c\xC2\xA6"
         "d |/| e |  |}"},
        {"<html><table><tr><td>a<table><tr><td>in<td>ner</table>b<td>c</table>",
         "0:doc{| a in ner b | c |/|---|---|}"},
        {"<html><p>a&nbsp;b&shy;c d\xC2\xA0"
         "e",
         "0:doc{a bc d e}"},
        {"<html><p>| no row</p><p>&gt; no quote</p><p>``` no fence",
         "0:doc{\\| no row//\\> no quote//\\``` no fence}"},
        {"<html><h1></h1><h1> </h1>x", "0:doc{x}"},
        {"<html><p>Up to 65<sup>1</sup> years, 10<sup>3</sup> m<SUB>2</SUB>.",
         "0:doc{Up to 65^1 years, 10^3 m_2.}"},
        {"<html>\xE2\x80\xA2 one<p>\xC2\xB7&nbsp; two<p>\xE2\x80\x93 three<p>x \xC2\xB7 "
         "y<p>\xE2\x80\x93"
         "5 C",
         "0:doc{- one/- two/- three/x \xC2\xB7 y//\xE2\x80\x93"
         "5 C}"},
        /* as Microsoft Word saves it */
        {"<html xmlns:o=\"urn:schemas-microsoft-com:office:office\"><head><!--[if gte mso 9]><xml>"
         "<o:a>1</o:a></xml><![endif]--><style><!-- p {} --></style></head><body lang=EN-US><h1>A"
         "<o:p></o:p></h1><p class=MsoNormal>Bring:<o:p></o:p></p><p class=MsoListParagraph "
         "style='mso-list:l0'><![if !supportLists]><span style='font-family:Symbol'><span>\xC2\xB7"
         "<span style='font:7.0pt \"Times New Roman\"'>&nbsp;&nbsp; </span></span></span><![endif]>"
         "a pass<o:p></o:p></p><![if !supportEmptyParas]>&nbsp;<![endif]><?xml:namespace prefix = o"
         " /><p>Done.</p></body></html>",
         "1:A{Bring://- a pass/Done.}"},
        {"\xEF\xBB\xBF <?xml version='1.0'?>\n<html xmlns='x'><body><h1>A</h1>a</body></html>",
         "1:A{a}"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_outline(str_c(cases[i].text), "doc", cases[i].want);
    /* Only the file name decides between HTML and Markdown for a fragment of a page. */
    check_outline(STR("<h1>A</h1>\n\n# B\n"), "a.html", "1:A{# B}");
    check_outline(STR("<h1>A</h1>\n\n# B\n"), "a.md", "0:a.md{<h1>A</h1>} 1:B{}");
}

TEST(damaged_html_is_refused)
{
    static const struct {
        const char *text, *why;
    } cases[] = {
        {"<html><p>a<!-- b", "a comment does not end; save the page again"},
        {"<html><p>a<script>b", "a script or a style does not end"},
        {"<html><p>a<b class=\"c", "a tag does not end"},
        {"<html><p>a<b", "a tag does not end"},
        {"<html>a\xFF", "not UTF-8 (byte 7); save the page as UTF-8"},
        {"<html><!DOCTYPE x [<!ENTITY a 'b'>]>", "declares entities of its own"},
        {"<html><p>a<![CDATA[b]]>", "declares entities of its own"},
        {"<html><p>a<![if !mso", "a condition does not end"},
        {"<html><p>The fee is <del>20</del> 30.", "text that is struck out; remove it"},
        {"<html><p>The fee is <s>20</s> 30.", "text that is struck out"},
        {"<html><p>The fee is <STRIKE>20</STRIKE> 30.", "text that is struck out"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_refused(str_c(cases[i].text), "doc", cases[i].why);
}

/* ---- DOCX ---- */

#define P(text) "<w:p><w:r><w:t>" text "</w:t></w:r></w:p>"
#define STYLED(style, text)                                                                        \
    "<w:p><w:pPr><w:pStyle w:val=\"" style "\"/></w:pPr><w:r><w:t>" text "</w:t></w:r></w:p>"
#define CELL(text) "<w:tc><w:tcPr/>" P(text) "</w:tc>"
#define RUN(properties, text)                                                                      \
    "<w:r><w:rPr>" properties "</w:rPr><w:t xml:space=\"preserve\">" text "</w:t></w:r>"
#define BREAK "<w:r><w:lastRenderedPageBreak/></w:r>"

TEST(docx_gives_sections_items_rows_notes_and_pages)
{
    static const struct {
        const char *body, *want;
    } cases[] = {
        {STYLED("Titel", "Rental") STYLED("berschrift1", "A &amp; B") P("One.") P("Two.")
             STYLED("Mine", "C") P("Three.") STYLED("Part", "D") P("Four."),
         "1:Rental{} 1:A & B{One.//Two.} 2:C{Three.} 3:D{Four.}"},
        {P("Bring:") STYLED("List", "one") "<w:p><w:pPr><w:numPr><w:ilvl w:val=\"1\"/><w:numId "
                                           "w:val=\"3\"/></w:numPr></w:pPr><w:r><w:t>two</w:t>"
                                           "</w:r></w:p>" P("Done."),
         "0:doc{Bring://- one/  - two/Done.}"},
        {"<w:tbl><w:tr>" CELL("Plan") CELL("Fee") "</w:tr><w:tr>" CELL("gold")
             CELL("20") "</w:tr><w:tr><w:tc><w:tcPr><w:gridSpan w:val=\"2\"/></w:tcPr>" P(
                 "both") "</w:tc></w:tr></w:tbl>" P("x"),
         "0:doc{| Plan | Fee |/|---|---|/| gold | 20 |/| both |  |//x}"},
        {"<w:p><w:r><w:t xml:space=\"preserve\">The shop is </w:t></w:r><w:r><w:rPr><w:b/></w:rPr>"
         "<w:t>open</w:t></w:r><w:r><w:tab/><w:t>daily.</w:t></w:r><w:r><w:footnoteReference "
         "w:id=\"1\"/></w:r></w:p>" P("It has a door."),
         "0:doc{The shop is open daily.//Except on Sundays.//It has a door.}"},
        {"<w:p><w:r><w:rPr><w:vanish/></w:rPr><w:t>hidden</w:t></w:r><w:r><w:rPr><w:vanish "
         "w:val=\"0\"/></w:rPr><w:t>shown</w:t></w:r><w:r><w:instrText>PAGE</w:instrText></w:r>"
         "</w:p>" STYLED("TOC1", "A 3"),
         "0:doc{shown}"},
        {STYLED("berschrift1", "A")
             P("One.") "<w:p>" BREAK "<w:r><w:t>Two.</w:t></w:r></w:p>"
                       "<w:p><w:pPr><w:pStyle w:val=\"berschrift1\"/></w:pPr>" BREAK
                       "<w:r><w:t>B</w:t></w:r></w:p>" P(
                           "Three.") "<w:p><w:r><w:t>Four </w:t></w:r>" BREAK
                                     "<w:r><w:t>five.</w:t></w:r></w:p>",
         "1:A@1-2{One.//Two.} 1:B@3-4{Three.//Four five.}"},
        {"<w:p>" RUN("", "65") RUN("<w:vertAlign w:val=\"superscript\"/>", "1")
             RUN("<w:vertAlign w:val=\"baseline\"/>", " years, CO")
                 RUN("<w:vertAlign w:val=\"subscript\"/>", "2")
                     RUN("<w:strike w:val=\"0\"/><w:dstrike w:val=\"false\"/>", ".") "</w:p>",
         "0:doc{65^1 years, CO_2.}"},
        {P("One.") "<w:p><w:r><w:br w:type=\"page\"/></w:r></w:p>" STYLED("berschrift1", "A")
             P("Two."),
         "0:doc@1-1{One.} 1:A@2-2{Two.}"},
        {"<w:p><mc:AlternateContent><mc:Choice><w:txbxContent>" P("Box.") "</w:txbxContent></"
                                                                          "mc:Choice><mc:Fallback><"
                                                                          "w:pict>" P(
                                                                              "Box.") "</w:pict></"
                                                                                      "mc:Fallback>"
                                                                                      "</"
                                                                                      "mc:"
                                                                                      "AlternateCon"
                                                                                      "tent></"
                                                                                      "w:p>" P("Aft"
                                                                                               "er"
                                                                                               "."),
         "0:doc{Box.//After.}"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct buf b;

        buf_init(&b, (size_t)16 << 20);
        sample_docx(cases[i].body, &b);
        check_outline(buf_str(&b), "doc", cases[i].want);
        buf_release(&b);
    }
}

TEST(a_docx_file_that_cannot_be_read_whole_is_refused)
{
    static const struct {
        const char *body, *why;
    } cases[] = {
        {"<w:p><w:ins w:id=\"1\"><w:r><w:t>new</w:t></w:r></w:ins></w:p>",
         "has tracked changes; accept or reject them"},
        {"<w:p><w:del w:id=\"1\"><w:r><w:delText>old</w:delText></w:r></w:del></w:p>",
         "has tracked changes"},
        {"<w:p>" RUN("", "The fee is ") RUN("<w:strike/>", "20") "</w:p>",
         "has text that is struck out; remove it"},
        {"<w:p>" RUN("<w:dstrike w:val=\"1\"/>", "20") "</w:p>", "has text that is struck out"},
        {"<w:p><w:r><w:sym w:font=\"Symbol\" w:char=\"F0B3\"/></w:r></w:p>",
         "has signs of a symbol font; replace them by characters"},
        {"<w:altChunk r:id=\"x\"/>", "has parts of other files"},
        {"<w:p>", "is damaged: it ends early"},
        {"</w:body></w:document></w:p>", "a tag is closed that is not open"},
        {"<w:p", "a tag does not end"},
        {"<!DOCTYPE x [<!ENTITY a \"b\">]>", "declares entities of its own"},
        {"\xFF", "is not UTF-8"},
    };
    static const char doc[] = "<w:document><w:body>" P("x") "</w:body></w:document>";
    static char zeros[1 << 20];
    const struct {
        struct sample_part part;
        const char *why;
    } parts[] = {
        {{.name = "word/document.xml", .text = str_c(doc), .flags = 1},
         "encrypted; save it without"},
        {{.name = "word/document.xml", .text = str_c(doc), .bad_crc = true},
         "the checksum of a part is wrong"},
        {{.name = "word/document.xml", .text = {zeros, sizeof zeros}, .claims = 100},
         "larger than"},
        {{.name = "word/document.xml", .text = str_c(doc), .claims = 1u << 30}, "larger than"},
        {{.name = "word/document.xml", .text = STR("<html/>")}, "has no body that is known here"},
        {{.name = "xl/workbook.xml", .text = STR("<x/>")}, "an archive and no Word document"},
    };
    struct buf b;

    buf_init(&b, (size_t)16 << 20);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        buf_reset(&b);
        sample_docx(cases[i].body, &b);
        check_refused(buf_str(&b), "doc", cases[i].why);
    }
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        buf_reset(&b);
        sample_zip(&parts[i].part, 1, &b);
        check_refused(buf_str(&b), "doc", parts[i].why);
    }
    buf_release(&b);
}

TEST(a_docx_file_cut_anywhere_or_with_any_byte_changed_is_refused_or_whole)
{
    static const char want[] = "1:A{One.}";
    struct policy_tree t;
    struct arena a;
    struct err e;
    struct buf b;

    buf_init(&b, 1 << 20);
    sample_docx(STYLED("berschrift1", "A") P("One."), &b);
    check_outline(buf_str(&b), "doc", want);
    arena_init(&a, POLICY_ARENA_MAX);
    for (size_t n = 4; n < b.n; n++, arena_reset(&a))
        CHECK_F(!policy_tree_any(str_slice(buf_str(&b), 0, n), STR("doc"), &a, &t, &e),
                "cut at %zu",
                n);
    for (size_t i = 4; i < b.n; i++, arena_reset(&a)) {
        b.p[i] = (char)(b.p[i] ^ 0x55);
        if (policy_tree_any(buf_str(&b), STR("doc"), &a, &t, &e))
            CHECK_F(t.node_count == 1 && str_eq(t.nodes[0].text, STR("One.")), "byte %zu", i);
        b.p[i] = (char)(b.p[i] ^ 0x55);
    }
    arena_release(&a);
    buf_release(&b);
}

/* ---- PDF ---- */

static const struct sample_line rental[] = {
    {72, 770, 9, "Tenants Association, version 7"},
    {72, 720, 20, "Rental policy"},
    {72, 690, 12, "This document describes who may rent in the house of the association. It says"},
    {72, 676, 12, "the terms."},
    {72, 640, 16, "Deposit"},
    {72, 620, 12, "A deposit of at least 50 euros must be paid. The tenant may pay it"},
    {300, 30, 9, "Page 1 of 3"},
    {0, 0, 0, NULL},
    {72, 770, 9, "Tenants Association, version 7"},
    {72, 720, 12, "in two parts."},
    {72, 680, 16, "Age of the applicant on the date"},
    {72, 662, 16, "of the application"},
    {72, 640, 12, "The applicant must be 18 or older."},
    {300, 30, 9, "Page 2 of 3"},
    {0, 0, 0, NULL},
    {72, 770, 9, "Tenants Association, version 7"},
    {72, 720, 16, "Fees"},
    {72, 690, 12, "Plan"},
    {200, 690, 12, "Maximum fee"},
    {72, 676, 12, "gold"},
    {200, 676, 12, "20 euros"},
    {72, 662, 12, "silver"},
    {200, 662, 12, "5 euros"},
    {300, 30, 9, "Page 3 of 3"},
    {0, 0, 0, NULL},
};

#define RENTAL                                                                                     \
    "0:doc@1-1{Tenants Association, version 7} "                                                   \
    "1:Rental policy@1-3{This document describes who may rent in the house of the association. "   \
    "It "                                                                                          \
    "says/the terms.} "                                                                            \
    "2:Deposit@1-2{A deposit of at least 50 euros must be paid. The tenant may pay it/in two "     \
    "parts.} "                                                                                     \
    "2:Age of the applicant on the date of the application@2-2{The applicant must be 18 or "       \
    "older.} "                                                                                     \
    "2:Fees@3-3{| Plan | Maximum fee |/|---|---|/| gold | 20 euros |/| silver | 5 euros |}"

TEST(pdf_gives_sections_pages_and_rows)
{
    struct buf b;

    buf_init(&b, 1 << 20);
    for (int kind = SAMPLE_PLAIN; kind <= SAMPLE_COMPRESSED; kind++) {
        buf_reset(&b);
        sample_pdf(rental, COUNT_OF(rental), (enum sample_pdf)kind, &b);
        check_outline(buf_str(&b), "doc", RENTAL);
    }
    buf_release(&b);
}

/* Pages of three lines each: a header, a text and a footer. */
struct margin_page {
    const char *header, *text, *footer;
};

static void margin_pdf(const struct margin_page *pages, size_t n, struct buf *out)
{
    struct sample_line lines[24];
    size_t count = 0;

    for (size_t i = 0; i < n && pages[i].text; i++) {
        const char *rest = pages[i].text;
        static char copy[16][120];
        static size_t copies;

        if (pages[i].header)
            lines[count++] = (struct sample_line){72, 770, 9, pages[i].header};
        for (int y = 400; *rest; y -= 14) {
            size_t size = strcspn(rest, "/");
            char *line = copy[copies++ % COUNT_OF(copy)];

            (void)snprintf(line, sizeof copy[0], "%.*s", (int)size, rest);
            lines[count++] = (struct sample_line){72, y, 12, line};
            rest += size + (rest[size] == '/');
        }
        if (pages[i].footer)
            lines[count++] = (struct sample_line){72, 30, 9, pages[i].footer};
        lines[count++] = (struct sample_line){0, 0, 0, NULL};
    }
    sample_pdf(lines, count, SAMPLE_PLAIN, out);
}

static const struct {
    struct margin_page pages[4];
    const char *want;
} margins[] = {
    /* A footer or a header between two halves of a sentence. */
    {{{NULL, "The applicant must be at least", "House rules"},
      {NULL, "18 years old.", "House rules"}},
     "0:doc@1-2{House rules//The applicant must be at least/18 years old.}"},
    {{{"House rules", "The tenant must ask the", "Draft"},
      {"House rules", "Board of the house.", "Draft"}},
     "0:doc@1-2{House rules//Draft//The tenant must ask the/Board of the house.}"},
    {{{NULL, "It must be paid.", NULL},
      {"House rules", "The fee is", "2"},
      {"House rules", "20 euros.", "3"}},
     "0:doc@1-3{House rules//It must be paid.//The fee is/20 euros.}"},
    {{{NULL, "The fee is", "House rules, page 11"}, {NULL, "20 euros.", "House rules, page 12"}},
     "0:doc@1-2{House rules, page 11//The fee is/20 euros.}"},
    {{{NULL, "The fee is", "House rules 1"}, {NULL, "20 euros.", "House rules 2"}},
     "0:doc@1-2{House rules 1//The fee is/20 euros.}"},
    {{{NULL, "One.", "Rules 11"}, {NULL, "Two.", "Rules 12"}, {NULL, "Three.", "Rules 13"}},
     "0:doc@1-3{Rules 11//One.//Two.//Three.}"},
    /* Page numbers. */
    {{{NULL, "The fee is", "- 1 -"}, {NULL, "20 euros.", "- 2 -"}},
     "0:doc@1-2{The fee is/20 euros.}"},
    {{{NULL, "The fee is", "p. 65"}, {NULL, "20 euros.", "p. 66"}},
     "0:doc@1-2{The fee is/20 euros.}"},
    {{{NULL, "One.", "65"}, {NULL, "Two.", "66"}, {NULL, "Three.", "67"}},
     "0:doc@1-3{One.//Two.//Three.}"},
    /* Increasing numbers that are no page numbers. */
    {{{NULL, "One.", "The age limit is 65"}, {NULL, "Two.", "The age limit is 66"}},
     "0:doc@1-2{One.//The age limit is 65/Two.//The age limit is 66}"},
    {{{NULL, "The age limit is", "65"}, {NULL, "years. In Rome it is", "66"}},
     "0:doc@1-2{The age limit is//65/years. In Rome it is//66}"},
    {{{NULL, "One.", "At most 30 days"}, {NULL, "Two.", "At most 60 days"}},
     "0:doc@1-2{One.//At most 30 days/Two.//At most 60 days}"},
    /* A line that occurs once is no header. */
    {{{NULL, "One.", "Pets are not allowed."}, {NULL, "Two.", NULL}},
     "0:doc@1-2{One.//Pets are not allowed.//Two.}"},
    /* Words hyphenated at a line end are joined; a compound and a name stay. */
    {{{NULL, "The tenant is ex-/empt from it.", NULL}}, "0:doc@1-1{The tenant is exempt from it.}"},
    {{{NULL, "The tenant is ex-", "House"}, {NULL, "empt from it.", "House"}},
     "0:doc@1-2{House//The tenant is exempt from it.}"},
    {{{NULL, "A fee of 20-/30 euros, or Baden-/Baden.", NULL}},
     "0:doc@1-1{A fee of 20-/30 euros, or Baden-/Baden.}"},
    {{{NULL, "The tenant is ex-", "house"}, {NULL, "Empt is a name.", "house"}},
     "0:doc@1-2{house//The tenant is ex-/Empt is a name.}"},
    /* A paragraph may continue after a page break, also with a capital letter, or may end there. */
    {{{NULL, "It needs the consent of", NULL}, {NULL, "Ms Miller.", NULL}},
     "0:doc@1-2{It needs the consent of/Ms Miller.}"},
    {{{NULL, "It needs consent.", NULL}, {NULL, "Pets do not.", NULL}},
     "0:doc@1-2{It needs consent.//Pets do not.}"},
};

TEST(margins_of_a_pdf_neither_tear_sentences_nor_take_rules_away)
{
    /* The last lines of two paragraphs, at the height of a footer. */
    static const struct sample_line low[] = {
        {72, 86, 12, "The deposit is at most three months"},
        {72, 72, 12, "of the rent, and it must be paid before the"},
        {72, 58, 12, "first day of the month."},
        {0, 0, 0, NULL},
        {72, 86, 12, "The last rent is at most four months"},
        {72, 72, 12, "of the rent, and it must be paid before the"},
        {72, 58, 12, "first day of the month."},
        {0, 0, 0, NULL},
    };
    struct buf b;

    buf_init(&b, 1 << 20);
    for (size_t i = 0; i < COUNT_OF(margins); i++) {
        buf_reset(&b);
        margin_pdf(margins[i].pages, COUNT_OF(margins[i].pages), &b);
        check_outline(buf_str(&b), "doc", margins[i].want);
    }
    buf_reset(&b);
    sample_pdf(low, COUNT_OF(low), SAMPLE_PLAIN, &b);
    check_outline(buf_str(&b),
                  "doc",
                  "0:doc@1-2{The deposit is at most three months/of the rent, and it must be paid "
                  "before the/first day of the month.//The last rent is at most four months/of the "
                  "rent, and it must be paid before the/first day of the month.}");
    buf_release(&b);
}

TEST(a_pdf_rule_is_cited_with_its_page)
{
    static const struct sample_line plain[] = {
        {72, 720, 20, "Rental policy"},
        {72, 640, 16, "Deposit"},
        {72, 620, 12, "A deposit of at least 50 euros must be paid."},
        {0, 0, 0, NULL},
        {72, 720, 16, "Age of the applicant"},
        {72, 690, 12, "The applicant must be 18 or older."},
        {0, 0, 0, NULL},
    };
    struct policy_result r;
    struct policy_doc *d;
    struct policy_case c;
    struct arena a;
    struct buf b;
    struct err e;

    buf_init(&b, 1 << 20);
    arena_init(&a, POLICY_ARENA_MAX);
    sample_pdf(plain, COUNT_OF(plain), SAMPLE_COMPRESSED, &b);
    CHECK_F(policy_doc_parse(STR("p"), STR("p.pdf"), buf_str(&b), &d, &e), "%s", e.text);
    CHECK(policy_case_read(STR("{\"case_id\":\"c\",\"policy_id\":\"p\",\"fields\":[{\"field_name\":"
                               "\"age\",\"value\":16,\"confidence\":0.9}]}"),
                           &a,
                           &c,
                           &e));
    CHECK(policy_heuristic(d, &c, STR("age"), &a, &r, &e));
    CHECK_INT(r.status, POLICY_MISSING);
    CHECK(r.citation.page_count == 1 && r.citation.pages[0] == 2);
    CHECK_STR(r.citation.section, "Rental policy > Age of the applicant");
    policy_doc_free(d);
    arena_release(&a);
    buf_release(&b);
}

TEST(a_pdf_file_that_cannot_be_read_whole_is_refused)
{
    static const struct sample_line pictures[] = {{1, 0, 0, NULL}, {1, 0, 0, NULL}};
    static const struct sample_line mixed[] = {
        {72, 700, 12, "One page of text."}, {0, 0, 0, NULL}, {1, 0, 0, NULL}};
    static const struct sample_line blank[] = {
        {72, 700, 12, "One page of text."}, {0, 0, 0, NULL}, {0, 0, 0, NULL}};
    struct buf b;

    buf_init(&b, 1 << 20);
    sample_pdf(rental, COUNT_OF(rental), SAMPLE_ENCRYPTED, &b);
    check_refused(buf_str(&b), "doc", "the PDF is encrypted; save it without a password");
    buf_reset(&b);
    sample_pdf(pictures, COUNT_OF(pictures), SAMPLE_PLAIN, &b);
    check_refused(buf_str(&b), "doc", "has no text: its pages are pictures; run text recognition");
    buf_reset(&b);
    sample_pdf(mixed, COUNT_OF(mixed), SAMPLE_PLAIN, &b);
    check_refused(buf_str(&b), "doc", "page 2 of the PDF is a picture without text");
    buf_reset(&b);
    sample_pdf(blank, COUNT_OF(blank), SAMPLE_PLAIN, &b);
    check_outline(buf_str(&b), "doc", "0:doc@1-1{One page of text.}");
    check_refused(STR("%PDF-1.4\nnothing at all"), "doc", "the PDF is damaged");
    buf_release(&b);
}

TEST(a_pdf_file_cut_anywhere_is_refused_or_whole)
{
    struct policy_tree t;
    struct arena a;
    struct err e;
    struct buf b;

    buf_init(&b, 1 << 20);
    sample_pdf(rental, COUNT_OF(rental), SAMPLE_COMPRESSED, &b);
    arena_init(&a, POLICY_ARENA_MAX);
    for (size_t n = 8; n < b.n; n += 1 + b.n / 60, arena_reset(&a))
        if (policy_tree_any(str_slice(buf_str(&b), 0, n), STR("doc"), &a, &t, &e))
            CHECK_F(str_eq(outline_of(&t, &a), STR(RENTAL)), "cut at %zu of %zu", n, b.n);
    arena_release(&a);
    buf_release(&b);
}

TEST(without_poppler_a_pdf_names_the_package)
{
    char *path = strdup(getenv("PATH"));

    setenv("PATH", "/nowhere", 1);
    check_refused(STR("%PDF-1.4\n"), "doc", "not installed: install the package poppler-utils");
    setenv("PATH", path, 1);
    free(path);
}

/* ---- others ---- */

TEST(a_file_of_another_kind_is_refused_by_name)
{
    static const struct {
        const char *bytes;
        size_t size;
        const char *why;
    } cases[] = {
        {"\xD0\xCF\x11\xE0\xA1\xB1\x1A\xE1xx", 10, "an old Word file or an encrypted one"},
        {"{\\rtf1 x}", 9, "an RTF file; save it as .docx"},
        {"\x89PNG\r\n", 6, "a picture; run text recognition"},
        {"\xFF\xD8\xFF\xE0", 4, "a picture"},
        {"\x1F\x8B\x08", 3, "compressed; unpack it first"},
        {"\xFF\xFE#\0", 4, "UTF-16 text; save it as UTF-8"},
        {"PK\x03\x04xx", 6, "the archive is damaged: its end is missing"},
        {"\x01\x02\xFE", 3, "line 1: a byte that is not text"},
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        check_refused((str){cases[i].bytes, cases[i].size}, "doc.md", cases[i].why);
}

TEST_MAIN(T(html_gives_sections_items_and_rows), T(damaged_html_is_refused),
          T(docx_gives_sections_items_rows_notes_and_pages),
          T(a_docx_file_that_cannot_be_read_whole_is_refused),
          T(a_docx_file_cut_anywhere_or_with_any_byte_changed_is_refused_or_whole),
          T(pdf_gives_sections_pages_and_rows),
          T(margins_of_a_pdf_neither_tear_sentences_nor_take_rules_away),
          T(a_pdf_rule_is_cited_with_its_page), T(a_pdf_file_that_cannot_be_read_whole_is_refused),
          T(a_pdf_file_cut_anywhere_is_refused_or_whole),
          T(without_poppler_a_pdf_names_the_package), T(a_file_of_another_kind_is_refused_by_name))
