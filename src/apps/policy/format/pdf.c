/* pdf.c - a policy in PDF: read by pdftotext of poppler, in a confined process. See format.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/policy/format/pdf.h"

#include "base/proc.h"

#define ERRORS_MAX ((size_t)1 << 20)
#define IMAGES_MAX ((size_t)16 << 20)

/* Runs a program of poppler on the file, which it reads from its input. */
static bool pdf_run(const char *const *argv, str bytes, size_t out_max, struct proc_result *r,
                    struct err *e)
{
    static const char *const env[] = {"LC_ALL=C.UTF-8", NULL};
    const struct proc_confine confine = {FORMAT_PDF_MEMORY, FORMAT_PDF_TIMEOUT_MS / 1000};
    const struct proc_spec spec = {.argv = argv, .env = env, .cwd = "/", .confine = &confine};
    const struct proc_limits limits = {.in = bytes,
                                       .out_max = out_max,
                                       .err_max = ERRORS_MAX,
                                       .timeout_ms = FORMAT_PDF_TIMEOUT_MS};

    if (proc_run(&spec, &limits, r, e))
        return true;
    if (e->code == ERR_NOT_FOUND)
        return err_set(e,
                       ERR_NOT_FOUND,
                       "PDF is read with the program %s, which is not installed: install the "
                       "package poppler-utils",
                       argv[0]);
    if (e->code == ERR_TIMEOUT)
        return err_set(e,
                       ERR_TIMEOUT,
                       "the PDF takes more than %d s to read; save it again, or in parts",
                       FORMAT_PDF_TIMEOUT_MS / 1000);
    if (e->code == ERR_LIMIT)
        return err_set(e, ERR_LIMIT, "the PDF has too much text; save it in parts");
    return err_prefix(e, "the PDF cannot be read: ");
}

static bool pdf_says(const struct proc_result *r, const char *what)
{
    return str_find(buf_str(&r->err), str_c(what)) != STR_NONE;
}

/* A part that poppler could not read would be missing, so any error refuses the file. */
static bool pdf_is_whole(const struct proc_result *r, struct err *e)
{
    char status[PROC_STATUS_SIZE];

    if (pdf_says(r, "assword"))
        return err_input(e, "the PDF is encrypted; save it without a password, and use that file");
    if (pdf_says(r, "opying of text"))
        return err_input(e, "the PDF does not allow its text to be read; ask its author");
    if (!proc_status_ok(r->status) && r->status.signaled)
        return err_input(e,
                         "the PDF is damaged or too large (its reader was " STR_FMT
                         "); save it again, or in parts",
                         STR_ARG(proc_status_text(r->status, status)));
    if (!proc_status_ok(r->status) || pdf_says(r, "Syntax Error") || pdf_says(r, "Internal Error"))
        return err_input(e, "the PDF is damaged; save or print it again as PDF");
    return true;
}

/* Rows of `pdfimages -list` begin with the page. */
static bool pdf_is_scanned(str list, const struct policy_pdf_pages *pages, uint32_t *page)
{
    while (list.n > 0) {
        str line = str_trim(str_cut(&list, '\n'));
        uint64_t n = 0;

        for (size_t i = 0; i < line.n && line.p[i] >= '0' && line.p[i] <= '9' && n < 1000000; i++)
            n = 10 * n + (uint64_t)(line.p[i] - '0');
        for (size_t i = 0; i < pages->empty_count; i++)
            if (n == pages->empty[i]) {
                *page = pages->empty[i];
                return true;
            }
    }
    return false;
}

/* A page without text is blank, or a picture of text that nobody has read. */
static bool pdf_check_pages(str bytes, const struct policy_pdf_pages *pages, struct err *e)
{
    static const char *const argv[] = {"pdfimages", "-list", "-", NULL};
    struct proc_result r;
    uint32_t page = 0;
    bool ok;

    assert(pages->empty_count <= pages->count && (pages->empty || !pages->empty_count));
    if (pages->empty_count == pages->count)
        return err_input(e,
                         "the PDF has no text: its pages are pictures; run text recognition on it "
                         "(for example ocrmypdf), and use that file");
    if (pages->empty_count == 0)
        return true;
    if (!pdf_run(argv, bytes, IMAGES_MAX, &r, e))
        return false;
    ok = !pdf_is_scanned(buf_str(&r.out), pages, &page) ||
         err_input(e,
                   "page %u of the PDF is a picture without text; run text recognition on it (for "
                   "example ocrmypdf), and use that file",
                   page);
    proc_result_release(&r);
    return ok;
}

bool policy_tree_pdf(str bytes, str name, struct arena *a, struct policy_tree *out, struct err *e)
{
    static const char *const argv[] = {
        "pdftotext", "-bbox-layout", "-enc", "UTF-8", "-", "-", NULL};
    struct policy_pdf_pages pages = {0};
    struct proc_result r;
    bool ok;

    if (!pdf_run(argv, bytes, FORMAT_PDF_OUT_MAX, &r, e))
        return false;
    ok = pdf_is_whole(&r, e) &&
         policy_pdf_layout(&(struct policy_pdf){buf_str(&r.out), bytes, name}, a, out, &pages, e) &&
         pdf_check_pages(bytes, &pages, e);
    free(pages.empty);
    proc_result_release(&r);
    return ok;
}
