/* policy_samples.c - see policy_samples.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "policy_samples.h"

#include <zlib.h>

static void put_u16(struct buf *b, unsigned v)
{
    buf_add_c(b, (char)(v & 0xFF));
    buf_add_c(b, (char)(v >> 8 & 0xFF));
}

static void put_u32(struct buf *b, uint32_t v)
{
    put_u16(b, v & 0xFFFF);
    put_u16(b, v >> 16);
}

static void deflated(str text, int bits, struct buf *out)
{
    z_stream z = {0};
    char piece[4096];

    deflateInit2(&z, 6, Z_DEFLATED, bits, 8, Z_DEFAULT_STRATEGY);
    memcpy(&z.next_in, &text.p, sizeof text.p);
    z.avail_in = (uInt)text.n;
    do {
        z.next_out = (Bytef *)piece;
        z.avail_out = sizeof piece;
        deflate(&z, Z_FINISH);
        buf_add(out, (str){piece, sizeof piece - z.avail_out});
    } while (z.avail_out == 0);
    deflateEnd(&z);
}

static void put_header(const struct sample_part *p, str packed, struct buf *out)
{
    uint32_t crc = (uint32_t)crc32_z(0, (const Bytef *)p->text.p, p->text.n) + p->bad_crc;

    put_u16(out, 20);
    put_u16(out, p->flags);
    put_u16(out, p->stored ? 0 : 8);
    put_u32(out, 0); /* time */
    put_u32(out, crc);
    put_u32(out, (uint32_t)packed.n);
    put_u32(out, p->claims ? p->claims : (uint32_t)p->text.n);
    put_u16(out, (unsigned)strlen(p->name));
    put_u16(out, 0);
}

void sample_zip(const struct sample_part *parts, size_t n, struct buf *out)
{
    struct buf directory, packed;
    size_t at;

    buf_init(&directory, 1 << 20);
    buf_init(&packed, (size_t)16 << 20);
    for (size_t i = 0; i < n; i++) {
        uint32_t local = (uint32_t)out->n;

        buf_reset(&packed);
        if (parts[i].stored)
            buf_add(&packed, parts[i].text);
        else
            deflated(parts[i].text, -15, &packed);
        buf_add(out, STR("PK\x03\x04"));
        put_header(&parts[i], buf_str(&packed), out);
        buf_add(out, str_c(parts[i].name));
        buf_add(out, buf_str(&packed));
        buf_add(&directory, STR("PK\x01\x02"));
        put_u16(&directory, 20);
        put_header(&parts[i], buf_str(&packed), &directory);
        put_u32(&directory, 0); /* comment, disk */
        put_u16(&directory, 0);
        put_u32(&directory, 0);
        put_u32(&directory, local);
        buf_add(&directory, str_c(parts[i].name));
    }
    at = out->n;
    buf_add(out, buf_str(&directory));
    buf_add(out, STR("PK\x05\x06"));
    put_u32(out, 0);
    put_u16(out, (unsigned)n);
    put_u16(out, (unsigned)n);
    put_u32(out, (uint32_t)directory.n);
    put_u32(out, (uint32_t)at);
    put_u16(out, 0);
    buf_release(&directory);
    buf_release(&packed);
}

#define STYLE(id, name, more)                                                                      \
    "<w:style w:type=\"paragraph\" w:styleId=\"" id "\"><w:name w:val=\"" name "\"/>" more         \
    "</w:style>"

void sample_docx(const char *body, struct buf *out)
{
    static const char styles[] = "<?xml version=\"1.0\"?><w:styles>" STYLE("Titel", "Title", "")
        STYLE("berschrift1", "heading 1", "") STYLE("berschrift2", "heading 2", "")
            STYLE("Mine", "My heading", "<w:basedOn w:val=\"berschrift2\"/>")
                STYLE("Part", "Part", "<w:pPr><w:outlineLvl w:val=\"2\"/></w:pPr>")
                    STYLE("List",
                          "List Bullet",
                          "<w:pPr><w:numPr><w:numId w:val=\"3\"/></w:numPr></w:pPr>")
                        STYLE("TOC1", "toc 1", "") "</w:styles>";
    static const char notes[] = "<w:footnotes><w:footnote w:id=\"1\"><w:p><w:r><w:t>Except on "
                                "</w:t></w:r><w:r><w:t>Sundays."
                                "</w:t></w:r></w:p></w:footnote></w:footnotes>";
    struct sample_part parts[] = {
        {.name = "[Content_Types].xml", .text = STR("<Types/>")},
        {.name = "word/styles.xml", .text = str_c(styles)},
        {.name = "word/footnotes.xml", .text = str_c(notes), .stored = true},
        {.name = "word/document.xml"}};
    struct buf xml;

    buf_init(&xml, (size_t)16 << 20);
    buf_add(&xml,
            STR("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<w:document xmlns:w=\"w\"><w:body>"));
    buf_add(&xml, str_c(body));
    buf_add(&xml, STR("<w:sectPr/></w:body></w:document>"));
    parts[3].text = buf_str(&xml);
    sample_zip(parts, COUNT_OF(parts), out);
    buf_release(&xml);
}

/* ---- PDF ---- */

struct objects {
    struct buf *out;
    size_t at[64];
    unsigned n;
};

static unsigned object(struct objects *o, str text)
{
    o->at[++o->n] = o->out->n;
    buf_printf(o->out, "%u 0 obj\n", o->n);
    buf_add(o->out, text);
    buf_add(o->out, STR("\nendobj\n"));
    return o->n;
}

static unsigned stream(struct objects *o, str text, bool compressed)
{
    struct buf packed, all;
    unsigned id;

    buf_init(&packed, 1 << 20);
    buf_init(&all, 1 << 20);
    if (compressed)
        deflated(text, 15, &packed);
    else
        buf_add(&packed, text);
    buf_printf(
        &all, "<</Length %zu%s>>stream\n", packed.n, compressed ? "/Filter/FlateDecode" : "");
    buf_add(&all, buf_str(&packed));
    buf_add(&all, STR("\nendstream"));
    id = object(o, buf_str(&all));
    buf_release(&packed);
    buf_release(&all);
    return id;
}

static void put_line(const struct sample_line *l, struct buf *out)
{
    buf_printf(out, "/F1 %d Tf 1 0 0 1 %d %d Tm (", l->size, l->x, l->y);
    for (const char *p = l->text; *p; p++) {
        if (strchr("()\\", *p))
            buf_add_c(out, '\\');
        buf_add_c(out, *p);
    }
    buf_add(out, STR(") Tj "));
}

static unsigned page(struct objects *o, str content, bool picture, bool compressed)
{
    unsigned text = stream(o, content, compressed), id;
    struct buf b;

    buf_init(&b, 1 << 16);
    buf_printf(&b,
               "<</Type/Page/Parent 2 0 R/MediaBox[0 0 612 792]/Resources<</Font<</F1 3 0 R>>%s>>"
               "/Contents %u 0 R>>",
               picture ? "/XObject<</I 4 0 R>>" : "",
               text);
    id = object(o, buf_str(&b));
    buf_release(&b);
    return id;
}

static void put_trailer(struct objects *o, enum sample_pdf kind)
{
    size_t at = o->out->n;

    buf_printf(o->out, "xref\n0 %u\n0000000000 65535 f \n", o->n + 1);
    for (unsigned i = 1; i <= o->n; i++)
        buf_printf(o->out, "%010zu 00000 n \n", o->at[i]);
    buf_printf(o->out,
               "trailer<</Size %u/Root 1 0 R%s>>\nstartxref\n%zu\n%%%%EOF\n",
               o->n + 1,
               kind == SAMPLE_ENCRYPTED
                   ? "/ID[<0123456789ABCDEF><0123456789ABCDEF>]/Encrypt<</Filter/Standard/V 1/R 2"
                     "/P -4/O(01234567890123456789012345678901)"
                     "/U(98765432109876543210987654321098)>>"
                   : "",
               at);
}

void sample_pdf(const struct sample_line *lines, size_t n, enum sample_pdf kind, struct buf *out)
{
    struct objects o = {.out = out};
    unsigned pages[16], count = 0, first = 5;
    bool picture = false;
    struct buf content, kids;

    buf_init(&content, 1 << 20);
    buf_init(&kids, 1 << 16);
    for (size_t i = 0; i < n; i++)
        count += !lines[i].text;
    for (unsigned i = 0; i < count; i++) /* each page has two objects, after four common ones */
        buf_printf(&kids, "%u 0 R ", first + 2 * i + 1);
    buf_add(out, STR("%PDF-1.4\n"));
    object(&o, STR("<</Type/Catalog/Pages 2 0 R>>"));
    buf_add_c(&kids, 0);
    buf_printf(&content, "<</Type/Pages/Count %u/Kids[%s]>>", count, kids.p);
    object(&o, buf_str(&content));
    object(&o, STR("<</Type/Font/Subtype/Type1/BaseFont/Helvetica>>"));
    object(&o,
           STR("<</Type/XObject/Subtype/Image/Width 2/Height 2/ColorSpace/DeviceGray"
               "/BitsPerComponent 8/Length 4>>stream\n\x10\x20\x30\x40\nendstream"));
    buf_reset(&content);
    buf_add(&content, STR("BT "));
    count = 0;
    for (size_t i = 0; i < n; i++) {
        if (lines[i].text) {
            put_line(&lines[i], &content);
            continue;
        }
        picture = lines[i].x == 1;
        buf_add(&content, picture ? STR("ET q 500 0 0 700 50 50 cm /I Do Q") : STR("ET"));
        pages[count++] = page(&o, buf_str(&content), picture, kind == SAMPLE_COMPRESSED);
        assert(pages[count - 1] == first + 2 * count - 1);
        buf_reset(&content);
        buf_add(&content, STR("BT "));
    }
    put_trailer(&o, kind);
    buf_release(&content);
    buf_release(&kids);
}
