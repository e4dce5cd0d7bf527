/* Masking: a stream gives the same as the whole text; JSON stays JSON; rules that work on the form
 * of a secret leave masked text alone; nothing crashes.
 *
 * The first byte gives the cut, the rest is the text.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "base/json.h"
#include "mask/mask.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static struct mask *masker(void)
{
    static const struct mask_pattern p[] = {
        {STR_INIT("patient"), STR_INIT("\\bPAT-\\d{6}\\b"), STR_INIT("")}};
    struct mask_options o = {MASK_ALL, p, 1};
    struct mask *m;
    struct err e;

    if (!mask_new(&o, &m, &e))
        abort();
    return m;
}

static void pieces(const struct mask *m, str text, size_t each, struct buf *out)
{
    struct mask_stream s;

    mask_stream_init(&s, m);
    for (size_t at = 0; at < text.n; at += each)
        mask_stream_feed(&s, str_slice(text, at, at + each), out, NULL);
    mask_stream_finish(&s, out, NULL);
    mask_stream_release(&s);
}

/* A manifest whose kind comes late may be recognized only in the whole text. */
static bool has_manifest(str text)
{
    return str_find(text, STR("kind")) != STR_NONE || str_find(text, STR("apiVer")) != STR_NONE;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct mask *m;
    struct buf whole, cut, json;
    struct json doc;
    struct err e;
    str text;

    if (size < 2 || size > 3000)
        return 0;
    if (!m)
        m = masker();
    text = (str){(const char *)data + 1, size - 1};
    buf_init(&whole, 1 << 20);
    buf_init(&cut, 1 << 20);
    buf_init(&json, 1 << 20);
    if (!mask_text(m, text, &whole, NULL))
        buf_add(&whole, text);
    pieces(m, text, 1 + data[0] % 40, &cut);
    if (!has_manifest(text) && !str_eq(buf_str(&whole), buf_str(&cut)))
        abort();
    json_init(&doc);
    /* A number alone is masked as text. */
    if (json_parse(&doc, text, &e) && json_root(&doc)->kind != JSON_NUMBER &&
        mask_json(m, text, &json, NULL) && !buf_full(&json) &&
        !json_parse(&doc, buf_str(&json), &e))
        abort();
    json_release(&doc);
    buf_release(&whole);
    buf_release(&cut);
    buf_release(&json);
    return 0;
}
