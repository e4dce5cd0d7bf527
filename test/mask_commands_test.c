/* mask_commands_test.c - passwords in commands and statements, addresses of webhooks, and names in
 * other languages.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "mask/mask.h"
#include "test.h"

struct sample {
    const char *in, *want; /* NULL: unchanged */
};

static void check_all(const struct sample *samples, size_t n)
{
    struct mask_options o = {.groups = MASK_DEFAULT};
    struct mask *m;
    struct buf out;
    struct err e;

    CHECK_F(mask_new(&o, &m, &e), "%s", e.text);
    buf_init(&out, 1 << 16);
    for (size_t i = 0; i < n; i++) {
        const char *want = samples[i].want ? samples[i].want : "";

        buf_reset(&out);
        (void)mask_text(m, str_c(samples[i].in), &out, NULL);
        if (!str_eq(buf_str(&out), str_c(want)))
            fail_msg("%s\n became " STR_FMT, samples[i].in, STR_ARG(buf_str(&out)));
    }
    buf_release(&out);
    mask_free(m);
}

static const struct sample commands[] = {
    {"mysql -uroot -phunter2 shop", "mysql -uroot -p[MASKED:password] shop"},
    {"$ mysqldump -h db -u root -psecret shop > x",
     "$ mysqldump -h db -u root -p[MASKED:password] shop > x"},
    {"kubectl exec db-0 -- mariadb -p'hunt er2' -e 'select 1'",
     "kubectl exec db-0 -- mariadb -p'[MASKED:password]' -e 'select 1'"},
    {"sshpass -p hunter2 ssh a@b", "sshpass -p [MASKED:password] ssh a@b"},
    {"sshpass -p 'secret' ssh a@b", "sshpass -p '[MASKED:password]' ssh a@b"},
    {"docker login -u a -p dckr1234 registry", "docker login -u a -p [MASKED:password] registry"},
    {"mongosh -u admin -p hunter2 --quiet", "mongosh -u admin -p [MASKED:password] --quiet"},
    {"redis-cli -h r -a hunter2 ping", "redis-cli -h r -a [MASKED:password] ping"},
    {"ldapsearch -x -w hunter2 -b dc", "ldapsearch -x -w [MASKED:password] -b dc"},
    {"curl --user=a:hunter2 x", "curl --user=a:[MASKED:password] x"},
    {"docker run --name mongo -p 80:81/tcp -p 127.0.0.1:1:2 mongo:7 -a 1 && ls -a b1 -w c2", NULL},
    {"CREATE USER 'a'@'%' IDENTIFIED BY 'hunter2';",
     "CREATE USER 'a'@'%' IDENTIFIED BY '[MASKED:password]';"},
    {"alter user a identified with caching_sha2_password by \"secret\"",
     "alter user a identified with caching_sha2_password by \"[MASKED:password]\""},
    {"{\\\"q\\\":\\\"CREATE USER a IDENTIFIED BY 'hunter2'\\\"",
     "{\\\"q\\\":\\\"CREATE USER a IDENTIFIED BY '[MASKED:password]'\\\""},
    {"mysql -u root -p shop, mysql -P 3306, mysql -p\nmkdir -p a1/b2; mysql -p$PW -p\"$PW\"", NULL},
    {"docker run --name mysql -p3306:3306 -p 80:80 mysql:8; ssh -p 2222 a@b; nc -p 99", NULL},
    {"use sshpass -p to pass a password, or `sshpass -p`; sshpass -p \"$PW\" ssh", NULL},
    {"rows are identified by 'id', users identified by \"e-mail\" or identified by hash1", NULL},
    {"CREATE USER a IDENTIFIED BY a; CREATE USER b IDENTIFIED WITH sha2", NULL},
};

TEST(passwords_in_commands_are_masked)
{
    check_all(commands, COUNT_OF(commands));
}

static const struct sample webhooks[] = {
    {"curl https://discord.com/api/webhooks/123456789012345678/abcDEF-123_ghiJKL456mnoPQ7abcDEF x",
     "curl https://[MASKED:api_key] x"},
    {"https://discordapp.com/api/webhooks/123456789012345678/abcDEF-123_ghiJKL456mnoPQ7?wait=true",
     "https://[MASKED:api_key]?wait=true"},
    {"https://a.webhook.office.com/webhookb2/0a1b2c3d-0a1b-1@0a1b2c3d/IncomingWebhook/0a1b2c3d/4e",
     "https://a.[MASKED:api_key]"},
    {"https://discord.com/api/webhooks/{webhook.id}/{webhook.token} and discord.com/api", NULL},
    {"https://api.telegram.org/bot123456789:AAabcDEF-123_ghiJKL456mnoPQ7/sendMessage?chat_id=1",
     "https://[MASKED:api_key]?chat_id=1"},
    {"https://api.telegram.org/bot{token}/getMe, see core.telegram.org/bots/api", NULL},
};

TEST(addresses_of_webhooks_are_masked)
{
    check_all(webhooks, COUNT_OF(webhooks));
}

static const struct sample languages[] = {
    {"contrase\xC3\xB1"
     "a: hunter2",
     "contrase\xC3\xB1"
     "a: [MASKED:password]"},
    {"LA_CONTRASE\xC3\x91"
     "A=hunter2 x",
     "LA_CONTRASE\xC3\x91"
     "A=[MASKED:password] x"},
    {"DB_CONTRASENA=hunter2\nSENHA: \"x y\"",
     "DB_CONTRASENA=[MASKED:password]\nSENHA: \"[MASKED:password]\""},
    {"MOT_DE_PASSE=hunter2 motDePasse='x y'",
     "MOT_DE_PASSE=[MASKED:password] motDePasse='[MASKED:password]'"},
    {"Mot de passe : hunter2\nx", "Mot de passe : [MASKED:password]\nx"},
    {"\xD0\xBF\xD0\xB0\xD1\x80\xD0\xBE\xD0\xBB\xD1\x8C: hunter2",
     "\xD0\xBF\xD0\xB0\xD1\x80\xD0\xBE\xD0\xBB\xD1\x8C: [MASKED:password]"},
    {"x \xD0\x9F\xD0\xB0\xD1\x80\xD0\xBE\xD0\xBB\xD1\x8C - hunter2", NULL},
    {"\"\xD0\x9F\xD0\xB0\xD1\x80\xD0\xBE\xD0\xBB\xD1\x8C\": \"x y\"",
     "\"\xD0\x9F\xD0\xB0\xD1\x80\xD0\xBE\xD0\xBB\xD1\x8C\": \"[MASKED:password]\""},
    {"\xE5\xAF\x86\xE7\xA0\x81\xEF\xBC\x9Ahunter2",
     "\xE5\xAF\x86\xE7\xA0\x81\xEF\xBC\x9A[MASKED:password]"},
    {"wachtwoord: hunter2\n\xEB\xB9\x84\xEB\xB0\x80\xEB\xB2\x88\xED\x98\xB8: hunter2",
     "wachtwoord: [MASKED:password]\n"
     "\xEB\xB9\x84\xEB\xB0\x80\xEB\xB2\x88\xED\x98\xB8: [MASKED:password]"},
    {"\xE3\x83\x91\xE3\x82\xB9\xE3\x83\xAF\xE3\x83\xBC\xE3\x83\x89\xEF\xBC\x9Ahunter2",
     "\xE3\x83\x91\xE3\x82\xB9\xE3\x83\xAF\xE3\x83\xBC\xE3\x83\x89\xEF\xBC\x9A[MASKED:password]"},
    {"Das Passwort ist hunter2, le mot de passe est hunter2",
     "Das Passwort ist [MASKED:password], le mot de passe est [MASKED:password]"},
    {"Das Passwort ist erforderlich, le mot de passe est requis", NULL},
    {"Passwort: hunter2", "Passwort: [MASKED:password]"},
    {"la contrase\xC3\xB1"
     "a es obligatoria; le mot de passe est requis; desenha: a1b2c3",
     NULL},
};

TEST(names_of_passwords_in_other_languages_are_known)
{
    check_all(languages, COUNT_OF(languages));
}

TEST_MAIN(T(passwords_in_commands_are_masked), T(addresses_of_webhooks_are_masked),
          T(names_of_passwords_in_other_languages_are_known))
