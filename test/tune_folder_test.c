/* tune_folder_test.c - the labelled cases of a folder.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "apps/tune/folder.h"
#include "base/file.h"
#include "test.h"

#include <unistd.h>

static void folder_put(const char *dir, const char *name, str text)
{
    char path[128];
    FILE *f;

    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    f = fopen(path, "w");
    CHECK(f && fwrite(text.p, 1, text.n, f) == text.n);
    CHECK_INT(fclose(f), 0);
}

TEST(cases_are_files_and_lines_in_the_order_of_their_names)
{
    char dir[64], command[96];
    struct tune_file *files;
    struct arena a;
    struct err e;
    size_t n;

    (void)snprintf(dir, sizeof dir, "%s/tune_folder.XXXXXX", test_tmp());
    CHECK(mkdtemp(dir));
    folder_put(dir, "b.json", STR("{\n}\n"));
    folder_put(dir, "a.jsonl", STR("{}\n\n {\"x\":1} \n[]"));
    folder_put(dir, "c.txt", STR("no case"));
    arena_init(&a, (size_t)1 << 30);
    CHECK_F(tune_folder(dir, &a, &files, &n, &e), "%s", e.text);
    CHECK_INT(n, 4);
    CHECK_STR(files[0].name, "a.jsonl:1");
    CHECK_STR(files[1].name, "a.jsonl:3");
    CHECK_STR(files[1].text, "{\"x\":1}");
    CHECK_STR(files[2].text, "[]");
    CHECK_STR(files[3].name, "b.json");
    CHECK_STR(files[3].text, "{\n}\n");
    arena_release(&a);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    CHECK_INT(system(command), 0);
}

TEST(cases_that_do_not_fit_are_refused)
{
    char dir[64], command[96], name[24];
    struct tune_file *files;
    struct buf text;
    struct arena a;
    struct err e;
    size_t n;

    (void)snprintf(dir, sizeof dir, "%s/tune_folder.XXXXXX", test_tmp());
    CHECK(mkdtemp(dir));
    buf_init(&text, TUNE_FILE_MAX);
    while (!buf_full(&text) && text.n < TUNE_FILE_MAX)
        buf_add_c(&text, ' ');
    for (int i = 0; i < 6; i++) {
        (void)snprintf(name, sizeof name, "%d.json", i);
        folder_put(dir, name, buf_str(&text));
    }
    arena_init(&a, 2 * TUNE_CASE_MAX + 4 * TUNE_FILE_MAX);
    CHECK(!tune_folder(dir, &a, &files, &n, &e));
    CHECK_INT(e.code, ERR_LIMIT);
    CHECK_F(strstr(e.text, "320 MiB of memory"), "%s", e.text);
    arena_release(&a);
    buf_release(&text);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    CHECK_INT(system(command), 0);
}

TEST(a_run_keeps_the_digest_of_its_cases)
{
    const struct tune_row row = {.id = STR("first")};
    char dir[64], inner[80], command[96];
    str cases = STR("");
    struct arena a;
    struct err e;

    (void)snprintf(dir, sizeof dir, "%s/tune_folder.XXXXXX", test_tmp());
    CHECK(mkdtemp(dir));
    (void)snprintf(inner, sizeof inner, "%s/case", dir);
    CHECK(file_mkdirs(inner, 0700, &e));
    folder_put(dir, "a.jsonl", STR("{}\n"));
    folder_put(inner, "alert.json", STR("{}"));
    arena_init(&a, 1 << 20);
    CHECK(tune_keep_cases(&row, dir, NULL, &a, &cases, &e));
    CHECK_INT(cases.n, 64);
    folder_put(dir, ".hidden", STR("x"));
    folder_put(inner, "alert.json~", STR("x"));
    CHECK_F(tune_keep_cases(&row, dir, NULL, &a, &cases, &e), "%s", e.text);
    CHECK(!tune_keep_cases(&row, dir, inner, &a, &cases, &e)); /* other cases decide */
    folder_put(inner, "alert.json", STR("[]"));
    CHECK(!tune_keep_cases(&row, dir, NULL, &a, &cases, &e));
    CHECK(str_find(str_c(e.text), STR("have changed since run first was started")) != STR_NONE);
    folder_put(inner, "alert.json", STR("{}"));
    CHECK(tune_keep_cases(&row, dir, NULL, &a, &cases, &e));
    folder_put(inner, "facts.txt", STR(""));
    CHECK(!tune_keep_cases(&row, dir, NULL, &a, &cases, &e));
    arena_release(&a);
    (void)snprintf(command, sizeof command, "rm -rf %s", dir);
    CHECK_INT(system(command), 0);
}

TEST_MAIN(T(a_run_keeps_the_digest_of_its_cases),
          T(cases_are_files_and_lines_in_the_order_of_their_names),
          T(cases_that_do_not_fit_are_refused))
