/* SPDX-License-Identifier: Apache-2.0 */
#include "base/json.h"
#include "mask/internal.h"
#include "test.h"

static struct mask *masker(unsigned groups)
{
    struct mask_options o = {.groups = groups};
    struct mask *m;
    struct err e;

    CHECK_F(mask_new(&o, &m, &e), "%s", e.text);
    return m;
}

static void check_text(const struct mask *m, const char *in, const char *want)
{
    struct mask_counts counts = {.all = 0};
    struct buf out;
    bool found;

    buf_init(&out, 1 << 20);
    found = mask_text(m, str_c(in), &out, &counts);
    CHECK_F(found == (want != NULL),
            "%s: %s " STR_FMT,
            in,
            found ? "masked:" : "not masked",
            STR_ARG(buf_str(&out)));
    if (want && !str_eq(buf_str(&out), str_c(want)))
        fail_msg("%s\n became " STR_FMT "\n not %s", in, STR_ARG(buf_str(&out)), want);
    buf_release(&out);
}

struct sample {
    const char *in, *want; /* NULL: unchanged */
};

static void check_all(unsigned groups, const struct sample *samples, size_t n)
{
    struct mask *m = masker(groups);

    for (size_t i = 0; i < n; i++)
        check_text(m, samples[i].in, samples[i].want);
    mask_free(m);
}

#define CHECK_ALL(groups, samples) check_all(groups, samples, COUNT_OF(samples))

static const struct sample keys[] = {
    {"sk-abcdefGHIJ0123456789", "[MASKED:api_key]"},
    {"use sk-ant-api03-abc_DEF-0123456789-xyz now", "use [MASKED:api_key] now"},
    {"(sk-proj-AbCd1234EfGh5678)", "([MASKED:api_key])"},
    {"line\\nsk-ant-REDACTED\\n", "line\\n[MASKED:api_key]\\n"},
    {"k=AIzaSyA1234567890abcdefghijklmnopqrstu.", "k=[MASKED:api_key]."},
    {"ghp_0123456789abcdefghijABCDEFGHIJ012345", "[MASKED:api_key]"},
    {"github_pat_11ABCDEFG0abcdefghij_klmnopqrstuvwxyz", "[MASKED:api_key]"},
    {"xoxb-123456789012-abcdefABCDEF", "[MASKED:api_key]"},
    {"id AKIAIOSFODNN7EXAMPLE here", "id [MASKED:api_key] here"},
    {"glpat-abcdefghij0123456789", "[MASKED:api_key]"},
    {"hf_abcdefghijABCDEFGHIJ01", "[MASKED:api_key]"},
    {"url: https://hooks.slack.com/services/T01ABCDEF/B02ABCDEFGH/abcDEF123ghiJKL456mnoPQ7, x",
     "url: https://[MASKED:api_key], x"},
    {"https://hooks.slack.com/services/ has the docs", NULL},
    {"sk_live_0123456789abcdef", "[MASKED:api_key]"},
    {"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2lnbmF0dXJlLWhlcmU x", "[MASKED:jwt] x"},
    {"AKIAIOSFODNN7EXAMPLE, wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY.", "[MASKED:api_key]."},
    {"AKIAIOSFODNN7EXAMPLE\\nwJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY", "[MASKED:api_key]"},
    {"access key AKIAIOSFODNN7EXAMPLE wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY.",
     "access key [MASKED:api_key]."},
    {"task-list-of-things-to-do", NULL},
    {"the risk-based approach of disk-utils", NULL},
    {"sk-learn", NULL},
    {"a bearer of bad news, basic understanding of tokens", NULL},
    {"Bearer abc123def456", "Bearer [MASKED:authorization]"},
    {"bearer eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0In0.c2ln", "bearer [MASKED:authorization]"},
    {"Basic dXNlcjpwYXNzd29yZA==", "Basic [MASKED:authorization]"},
    {"send Basic dXNlcjpwYXNzd29y.", "send Basic [MASKED:authorization]."},
    {"Authorization: Basic dXNlcjpwYXNzd29yZA==\nHost: x",
     "Authorization: [MASKED:authorization]\nHost: x"},
    {"-H 'Authorization: Token zzz999' url", "-H 'Authorization: [MASKED:authorization]' url"},
    {"Cookie: a=b; session=1234\r\n", "Cookie: [MASKED:cookie]\r\n"},
    {"postgres://app:s3cr3t@db:5432/x", "postgres://app:[MASKED:password]@db:5432/x"},
    {"{\"a\":\"postgres:\\/\\/app:s3cr3t@db:5432\\/x\"} in words",
     "{\"a\":\"postgres:\\/\\/app:[MASKED:password]@db:5432\\/x\"} in words"},
    {"C:\\/\\x and a:\\/\\/b", NULL},
    {"redis://:hunter2@cache", "redis://:[MASKED:password]@cache"},
    {"mongodb+srv://u:p@ss@host/db", "mongodb+srv://u:[MASKED:password]@host/db"},
    {"https://example.com:8080/a@b", NULL},
    {"https://example.com/path?x=1", NULL},
    {"curl -u admin:hunter2 https://x", "curl -u admin:[MASKED:password] https://x"},
    {"https://x/?key=abcdef123456&q=1", "https://x/?key=[MASKED:api_key]&q=1"},
    {"https://b.s3.example/o?X-Amz-Expires=60&X-Amz-Signature=0a1b2c3d4e5f&x=1",
     "https://b.s3.example/o?X-Amz-Expires=60&X-Amz-Signature=[MASKED:api_key]&x=1"},
    {"https://q/o?Signature=0a1b2c3d4e5f", "https://q/o?Signature=[MASKED:api_key]"},
    {"https://g/o?X-Goog-Signature=0a1b2c3d4e5f", "https://g/o?X-Goog-Signature=[MASKED:api_key]"},
    {"https://x/?designation=Berlin&signatory=somebody&x=1", NULL},
    {"https://x/?a=1&signature=0a1b2c3d4e5f", "https://x/?a=1&signature=[MASKED:api_key]"},
    {"the X-Amz-Signature=0a1b2c3d4e5f of no URL", NULL},
    {"git clone https://x1y2z3x1y2z3x1y2z3x1@git.example:8443/a",
     "git clone https://[MASKED:password]@git.example:8443/a"},
    {"ssh://git@git.example/a and https://a-name-of-a-whole-department@git.example/a", NULL},
};

TEST(keys_are_known_by_their_form)
{
    CHECK_ALL(MASK_DEFAULT, keys);
}

static const struct sample assignments[] = {
    {"password=hunter2", "password=[MASKED:password]"},
    {"DB_PASSWORD=hunter2\nX=1", "DB_PASSWORD=[MASKED:password]\nX=1"},
    {"  password: correct horse battery staple\n  user: x\n",
     "  password: [MASKED:password]\n  user: x\n"},
    {"password: \"a b c\" # why", "password: \"[MASKED:password]\" # why"},
    {"{\"password\": \"hunter2\", \"n\": 1", "{\"password\": \"[MASKED:password]\", \"n\": 1"},
    {"{\\\"password\\\":\\\"hunter2\\\",\\\"n\\\":1}",
     "{\\\"password\\\":\\\"[MASKED:password]\\\",\\\"n\\\":1}"},
    {"x '{\"apiKey\": \"abc-def\"}'", "x '{\"apiKey\": \"[MASKED:api_key]\"}'"},
    {"api_key = 'abcdef123'", "api_key = '[MASKED:api_key]'"},
    {"API key: abcdef123456", "API key: [MASKED:api_key]"},
    {"Server=db;User=sa;Password=p;w!d;Encrypt=yes",
     "Server=db;User=sa;Password=[MASKED:password];Encrypt=yes"},
    {"AccountKey=abcDEF123/+==;EndpointSuffix=x", "AccountKey=[MASKED:secret];EndpointSuffix=x"},
    {"aws_secret_access_key = wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY",
     "aws_secret_access_key = [MASKED:secret]"},
    {"{\"q\":\"access_token\\u003dabc123 x", "{\"q\":\"access_token\\u003d[MASKED:token] x"},
    {"password\\u003a hunter2", "password\\u003a [MASKED:password]"},
    {"https://x/y?access_token=abc123&b=2", "https://x/y?access_token=[MASKED:token]&b=2"},
    {"tool --password hunter2 --verbose", "tool --password [MASKED:password] --verbose"},
    {"tool --api-key=k12345", "tool --api-key=[MASKED:api_key]"},
    {"<password>hunter2</password>", "<password>[MASKED:password]</password>"},
    {"the password is hunter2, use it", "the password is [MASKED:password], use it"},
    {"**Password:** hunter2", "**Password:** [MASKED:password]"},
    {"- name: DB_PASSWORD\n  value: hunter2\n",
     "- name: DB_PASSWORD\n  value: [MASKED:password]\n"},
    {"X-Api-Key: 0123456789\n", "X-Api-Key: [MASKED:api_key]\n"},
    {"token: Bearer abcdef", "token: [MASKED:token]"},
    {"password: |\n  hunter2\nuser: x", "password: |\n  [MASKED:password]\nuser: x"},
    {"a:\n  token: |-\n    one two # 3\n\n      four\n    five  \n  user: x",
     "a:\n  token: |-\n    [MASKED:token]  \n  user: x"},
    {"password: >\nhunter2\nuser: x", "password: >\n[MASKED:password]\nuser: x"},
    {"password hunter2x", "password [MASKED:password]"},
    {"password -> hunter2", "password -> [MASKED:password]"},
    {"password\xEF\xBC\x9Ahunter2\nx", "password\xEF\xBC\x9A[MASKED:password]\nx"},
    {"token \xEF\xBC\x9D abc123def x", "token \xEF\xBC\x9D [MASKED:token] x"},
    {"password protected, api key rotation", NULL},
    {"the password is required", NULL},
    {"max_tokens: 4096, total_tokens = 12", NULL},
    {"\"max_tokens\": 4096", NULL},
    {"tokens per second", NULL},
    {"password = get_password()", NULL},
    {"token = os.environ[\"TOKEN\"]", NULL},
    {"password: ${DB_PASSWORD}", NULL},
    {"def login(password: str, token: Optional): pass", NULL},
    {"a secret: the sauce", NULL},
    {"compass: north", NULL},
};

TEST(values_are_known_by_their_names)
{
    CHECK_ALL(MASK_DEFAULT, assignments);
}

/* The scanner excludes a name by its last letters first; it must not exclude any of these. */
static const char secret_names[] =
    "password passwords passwd passphrase passcode passwort kennwort pwd pass dbpass "
    "userpass sshpass rootpass adminpass pin pincode cvv cvc otp secret secrets secretvalue "
    "secretstring secretkey secretkeybase secretaccesskey credential credentials privatekey "
    "signingkey encryptionkey masterkey accountkey sharedkey sharedaccesskey "
    "sharedaccesssignature storagekey sessionkey connectionstring token tokenvalue jwt "
    "apikey apikeys accesskey authkey servicekey subscriptionkey licensekey authorization "
    "auth xauth cookie setcookie motdepasse contrasena senha wachtwoord ";

TEST(no_name_of_a_secret_is_overlooked)
{
    char spelled[64];
    size_t rule;
    bool number;

    for (const char *p = secret_names; *p; p += strcspn(p, " ") + 1) {
        str name = {p, strcspn(p, " ")};

        CHECK_F(mask_name_is_secret(name, &rule, &number), STR_FMT, STR_ARG(name));
        (void)snprintf(spelled, sizeof spelled, STR_FMT "_12", STR_ARG(name));
        CHECK_F(mask_name_is_secret(str_c(spelled), &rule, &number), "%s", spelled);
        spelled[0] = (char)(spelled[0] & ~32);
        CHECK_F(mask_name_is_secret(str_c(spelled), &rule, &number), "%s", spelled);
    }
    CHECK(mask_name_is_secret(STR("API_K-E_Y"), &rule, &number));
    CHECK(mask_name_is_secret(STR("my_pass"), &rule, &number));
    CHECK(mask_name_is_secret(STR("myPass"), &rule, &number));
    CHECK(!mask_name_is_secret(STR("monkeys"), &rule, &number));
    CHECK(!mask_name_is_secret(STR("1234"), &rule, &number));
    CHECK(!mask_name_is_secret(STR("___"), &rule, &number));
}

/* All SIMD levels must find the same positions and the same candidate rules. */
TEST(leads_are_found_alike_at_every_level)
{
    static const char letters[] = "sk-_passwordtokenghAKIeyJ.:/0123456789 \"@=\xC3\xD0\xBF\xB0";
    struct mask *m = masker(MASK_ALL);
    char text[700];
    uint64_t seed = 1;

    for (unsigned round = 0; round < 20000; round++) {
        str s = {text, round % (round % 50 ? 100 : sizeof text)};

        for (size_t i = 0; i < s.n; i++) {
            seed = seed * 6364136223846793005u + 1442695040888963407u;
            text[i] = letters[(seed >> 33) % (sizeof letters - 1)];
        }
        for (size_t from = 0; from <= s.n; from += 1 + s.n / 3) {
            struct mask_leads plain = m->leads;
            struct mask_hits hits, plain_hits;
            const struct mask_hit *hit, *wanted;
            size_t at = from;

            plain.level = SIMD_WORD;
            mask_hits_init(&plain_hits, from);
            mask_hits_init(&hits, from);
            do {
                wanted = mask_hits_next(&plain, s, at, &plain_hits);
                hit = mask_hits_next(&m->leads, s, at, &hits);
                CHECK(!wanted == !hit);
                CHECK(!hit || (hit->end == wanted->end && hit->ends == wanted->ends));
                at = hit ? hit->end + 1 + round % 7 : at;
            } while (hit);
        }
    }
    mask_free(m);
}

static const struct sample blocks[] = {
    {"a\n-----BEGIN RSA PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123\nabc=\n-----END RSA PRIVATE "
     "KEY-----\nb",
     "a\n[MASKED:private_key]\nb"},
    {"-----BEGIN PRIVATE KEY-----\\nMIIEpAIBAAKCAQEA0123\\n-----END PRIVATE KEY-----\\n",
     "[MASKED:private_key]\\n"},
    {"x -----BEGIN OPENSSH PRIVATE KEY-----\nb3BlbnNzaC1rZXktdjEAAAAA\ncut",
     "x [MASKED:private_key]"},
    {"-----BEGIN ENCRYPTED PRIVATE KEY-----\nMII", "[MASKED:private_key]"},
    {"-----BEGIN RSA PRIVATE KEY-----\nProc-Type: 4,ENCRYPTED\nDEK-Info: x\n\nabc\n-----END RSA "
     "PRIVATE KEY-----",
     "[MASKED:private_key]"},
    {"-----BEGIN PGP PRIVATE KEY BLOCK-----\n\nlQOYBF0123456789abcdef\n-----END PGP PRIVATE KEY "
     "BLOCK-----",
     "[MASKED:private_key]"},
    {"-----BEGIN CERTIFICATE-----\nMIIEpAIBAAKCAQEA0123\n-----END CERTIFICATE-----", NULL},
    {"it begins with -----BEGIN PRIVATE KEY----- and then", NULL},
    /* after a name of a secret */
    {"private_key: -----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123\n-----END PRIVATE KEY-----\nx",
     "private_key: [MASKED:private_key]\nx"},
    {"private_key: |\n  -----BEGIN PRIVATE KEY-----\n  MIIEpAIBAAKCAQEA0123\n  -----END PRIVATE "
     "KEY-----\nx: y",
     "private_key: |\n  [MASKED:private_key]\nx: y"},
    {"A_PASSWORD=\"-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123\n-----END PRIVATE "
     "KEY-----\"\n",
     "A_PASSWORD=\"[MASKED:private_key]\"\n"},
    {"KEY_SECRET=\"-----BEGIN PRIVATE KEY-----\nMIIEpAIBAAKCAQEA0123\" x=1",
     "KEY_SECRET=\"[MASKED:secret]\" x=1"},
};

TEST(private_keys_go_to_their_end)
{
    CHECK_ALL(MASK_DEFAULT, blocks);
}

static const struct sample cards[] = {
    {"pay 4111111111111111 now", "pay [MASKED:card] now"},
    {"4111 1111 1111 1111", "[MASKED:card]"},
    {"4111-1111-1111-1111, 12/29", "[MASKED:card], 12/29"},
    {"3782 822463 10005", "[MASKED:card]"},
    {"5555555555554444 5105105105105100", "[MASKED:card] [MASKED:card]"},
    {"4111\xC2\xA0"
     "1111\xC2\xA0"
     "1111\xC2\xA0"
     "1111",
     "[MASKED:card]"},
    {"4111.1111.1111.1111", "[MASKED:card]"},
    {"4111111111111112", NULL},
    {"1731664776123456", NULL},
    {"0.4111111111111111", NULL},
    {"41111111111111111111111111", NULL},
    {"2024-11-15 10:20:30.123456", NULL},
};

TEST(cards_are_known_by_their_check_digit)
{
    CHECK_ALL(MASK_DEFAULT, cards);
}

static const struct sample people[] = {
    {"write to anna.b+c@mail.example.org.", "write to [MASKED:email]."},
    {"<a@b.de>", "<[MASKED:email]>"},
    {"user @home, a@b", NULL},
    {"call +49 30 1234567 today", "call [MASKED:phone] today"},
    {"(555) 010-9999 or 555-010-9999", "[MASKED:phone] or [MASKED:phone]"},
    {"+15550109999", "[MASKED:phone]"},
    {"IBAN DE89 3704 0044 0532 0130 00 bank", "IBAN [MASKED:iban] bank"},
    {"GB82WEST12345698765432", "[MASKED:iban]"},
    {"DE89370400440532013001", NULL},
    {"ssn 123-45-6789.", "ssn [MASKED:ssn]."},
    {"666-45-6789 000-12-3456", NULL},
    {"from 192.168.1.10:80", "from [MASKED:ip]:80"},
    {"fe80::1 and 2001:db8::8a2e:370:7334.", "[MASKED:ip] and [MASKED:ip]."},
    {"version 1.2.3, at 10:30:15", NULL},
    {"std::vector a::b", NULL},
};

TEST(people_are_masked_when_asked_for)
{
    CHECK_ALL(MASK_ALL, people);
    for (size_t i = 0; i < COUNT_OF(people); i++) {
        const struct sample none = {people[i].in, NULL};

        if (people[i].in[0] != '4')
            check_all(MASK_DEFAULT, &none, 1);
    }
}

#define K8S "[MASKED:kubernetes_secret]"

static const struct sample manifests[] = {
    {"apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  a: Yg==\n  c: |\n    x\n    y: "
     "z\n  d: \"q\"\ntype: Opaque\n",
     "apiVersion: v1\nkind: Secret\nmetadata:\n  name: db\ndata:\n  a: " K8S "\n  c: |\n    " K8S
     "\n    " K8S "\n  d: " K8S "\ntype: Opaque\n"},
    {"apiVersion: v1\ndata:\n  a: Yg==\nkind: Secret\n",
     "apiVersion: v1\ndata:\n  a: " K8S "\nkind: Secret\n"},
    {"kind: \"Secret\"\nstringData: {a: b, c: d}\n---\nkind: ConfigMap\ndata:\n  a: b\n",
     "kind: \"Secret\"\nstringData: " K8S "\n---\nkind: ConfigMap\ndata:\n  a: b\n"},
    {"apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    a: Yg==\n  kind: Secret\n- "
     "apiVersion: "
     "v1\n  data:\n    a: b\n  kind: ConfigMap\nkind: List\n",
     "apiVersion: v1\nitems:\n- apiVersion: v1\n  data:\n    a: " K8S
     "\n  kind: Secret\n- apiVersion: v1\n  data:\n    a: b\n  kind: ConfigMap\nkind: List\n"},
    {"kind: SecretList\nitems:\n- data:\n    a: Yg==\n  metadata:\n    name: x\n",
     "kind: SecretList\nitems:\n- data:\n    a: " K8S "\n  metadata:\n    name: x\n"},
    {"kind: Secret\\ndata:\\n  a: Yg==\\ntype: Opaque",
     "kind: Secret\\ndata:\\n  a: " K8S "\\ntype: Opaque"},
    {"kind: Secret\nmetadata:\n  annotations:\n    "
     "kubectl.kubernetes.io/last-applied-configuration: "
     "|\n      {\"data\":{\"a\":\"Yg==\"}}\n  name: x\n",
     "kind: Secret\nmetadata:\n  annotations:\n    "
     "kubectl.kubernetes.io/last-applied-configuration: "
     "|\n      " K8S "\n  name: x\n"},
    {"got {\"kind\":\"Secret\",\"data\":{\"a\":\"Yg==\",\"b\":\"c\"},\"n\":\"o\"} ok",
     "got {\"kind\":\"Secret\",\"data\":{\"a\":\"" K8S "\",\"b\":\"" K8S "\"},\"n\":\"o\"} ok"},
    {"{\\\"data\\\": {\\\"a\\\": \\\"Yg==\\\"}, \\\"kind\\\": \\\"Secret\\\"",
     "{\\\"data\\\": {\\\"a\\\": \\\"" K8S "\\\"}, \\\"kind\\\": \\\"Secret\\\""},
    {"kind: ConfigMap\ndata:\n  a: b\n", NULL},
    {"this kind: Secret things", NULL},
    {"kind: Secrets\ndata:\n  a: b\n", NULL},
};

TEST(kubernetes_secrets_lose_their_values)
{
    CHECK_ALL(MASK_DEFAULT, manifests);
}

static void check_json(const struct mask *m, const char *in, const char *want)
{
    struct buf out;
    bool found;

    buf_init(&out, 1 << 20);
    found = mask_json(m, str_c(in), &out, NULL);
    CHECK_F(found == (want != NULL), "%s: " STR_FMT, in, STR_ARG(buf_str(&out)));
    if (want && !str_eq(buf_str(&out), str_c(want)))
        fail_msg("%s\n became " STR_FMT "\n not %s", in, STR_ARG(buf_str(&out)), want);
    buf_release(&out);
}

static const struct sample trees[] = {
    {"{\"a\": \"sk-abcdefGHIJ0123456789\" , \"b\":1}", "{\"a\": \"[MASKED:api_key]\" , \"b\":1}"},
    {"{\"a\":\"\\u0073k-abcdefGHIJ0123456789\"}", "{\"a\":\"[MASKED:api_key]\"}"},
    {"{\"a\":\"\\u0073k-abcdefGHIJ0123456789 cut", "{\"a\":\"[MASKED:api_key] cut"},
    {"[{\"a\":\"{\\\"b\\\":\\\"\\\\u0073k-abcdefGHIJ0123456789 pwd=x1y2z3 cut",
     "[{\"a\":\"{\"b\":\"[MASKED:api_key] pwd=[MASKED:password] cut"},
    {"{\"a\":\"\\u0041 \\q \\u12", NULL},
    {"{\"a\":\"postgres:\\/\\/u:pw@h\"}", "{\"a\":\"postgres://u:[MASKED:password]@h\"}"},
    {"{\"password\":\"x\",\"pin\":1234}",
     "{\"password\":\"[MASKED:password]\",\"pin\":\"[MASKED:password]\"}"},
    {"{\"CONTRASE\\u00d1A\":1}", "{\"CONTRASE\\u00d1A\":\"[MASKED:password]\"}"},
    {"{\"\\u0070assword\":\"x\"}", "{\"\\u0070assword\":\"[MASKED:password]\"}"},
    {"{\"args\":\"{\\\"apiKey\\\":\\\"x y\\\"}\"}",
     "{\"args\":\"{\\\"apiKey\\\":\\\"[MASKED:api_key]\\\"}\"}"},
    {"{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"token\\\\\\\":\\\\\\\"x y\\\\\\\"}\\\"}\"}",
     "{\"a\":\"{\\\"b\\\":\\\"{\\\\\\\"token\\\\\\\":\\\\\\\"[MASKED:token]\\\\\\\"}\\\"}\"}"},
    {"{\"properties\":{\"password\":{\"type\":\"string\"}},\"max_tokens\":100}", NULL},
    {"{\"card\":4111111111111111}", "{\"card\":\"[MASKED:card]\"}"},
    {"{\"sk-abcdefGHIJ0123456789\":1}", "{\"[MASKED:api_key]\":1}"},
    {"{\"headers\":{\"Authorization\":\"x\",\"X-API-Key\":\"y\"}}",
     "{\"headers\":{\"Authorization\":\"[MASKED:authorization]\",\"X-API-Key\":\"[MASKED:api_key]"
     "\"}}"},
    {"{\"env\":[{\"name\":\"DB_PASSWORD\",\"value\":\"x\"},{\"name\":\"N\",\"value\":\"y\"}]}",
     "{\"env\":[{\"name\":\"DB_PASSWORD\",\"value\":\"[MASKED:password]\"},{\"name\":\"N\","
     "\"value\":\"y\"}]}"},
    {"{\"kind\":\"Secret\",\"data\":{\"a\":\"Yg==\",\"n\":1},\"metadata\":{\"name\":\"s\"}}",
     "{\"kind\":\"Secret\",\"data\":{\"a\":\"[MASKED:kubernetes_secret]\",\"n\":\"[MASKED:"
     "kubernetes_secret]\"},\"metadata\":{\"name\":\"s\"}}"},
    {"{\"kind\":\"List\",\"items\":[{\"kind\":\"ConfigMap\",\"data\":{\"a\":\"Yg==\"}},{"
     "\"stringData\":{\"a\":\"b\"},\"kind\":\"Secret\"}]}",
     "{\"kind\":\"List\",\"items\":[{\"kind\":\"ConfigMap\",\"data\":{\"a\":\"Yg==\"}},{"
     "\"stringData\":{\"a\":\"[MASKED:kubernetes_secret]\"},\"kind\":\"Secret\"}]}"},
    {"{\"kind\":\"SecretList\",\"items\":[{\"data\":{\"a\":\"Yg==\"}}]}",
     "{\"kind\":\"SecretList\",\"items\":[{\"data\":{\"a\":\"[MASKED:kubernetes_secret]\"}}]}"},
    {"{\"token\":\"Hello\",\"logprob\":-0.1}", NULL},
    {"{\"signature\":\"EqQBCgIYAhIM1gbcDa9GJwZA2b3hGgxBdjrkzLoky3dl1pkiMOYdspassword0123456789=\"}",
     NULL},
    {"[1, 2", NULL},
    {"[\"data:image/png;base64,iVBORw0KGgo/sk+AAAA==\"]", NULL},
    {"[\"data:image/png;base64,iVBORw0KGgo= password=hunter2\"]",
     "[\"data:image/png;base64,iVBORw0KGgo= password=[MASKED:password]\"]"},
    {"[\"data: password=hunter2 ;base64,AAAA\"]",
     "[\"data: password=[MASKED:password] ;base64,AAAA\"]"},
    {"plain sk-abcdefGHIJ0123456789", "plain [MASKED:api_key]"},
    {"\"sk-abcdefGHIJ0123456789\"", "\"[MASKED:api_key]\""},
    {"", NULL},
};

TEST(json_stays_json)
{
    struct mask *m = masker(MASK_DEFAULT);

    for (size_t i = 0; i < COUNT_OF(trees); i++)
        check_json(m, trees[i].in, trees[i].want);
    mask_free(m);
}

/* Members of generated bodies: without secrets, with secrets, and with similar texts. */
static const char *const members[] = {
    "\"max_tokens\": 2048",
    "\"prompt_tokens\":12345,\"total_tokens\" : 99",
    "\"token\":\"abc\"",
    "\"to_ken\":\"abc\"",
    "\"token\":{\"type\":\"string\"}",
    "\"token\":\"x\",\"logprob\":-1.5",
    "\"content\":\"#n00000001 and 4111 1111 1111 1112\"",
    "\"content\":\"4111 1111 1111 1111\"",
    "\"content\":\"4111\\n1111 1111 1111 1111\"",
    "\"n\":4111111111111111",
    "\"n\":[1234,5678,9012,3456,4111.1111]",
    "\"name\":\"password\"",
    "\"name\":\"DB_PASSWORD\",\"value\":\"x y\"",
    "\"value\":\"x\"",
    "\"text\":\"my token\"",
    "\"text\":\"my token is abcdef123\"",
    "\"text\":\"a \\\"quoted\\\" word\\\\\"",
    "\"pass\\tword\":\"x\"",
    "\"\\u0070assword\":\"x\"",
    "\"args\":\"{\\\"apiKey\\\":\\\"x y\\\"}\"",
    "\"args\":\"{\\\"city\\\":\\\"x y\\\"}\"",
    "\"kind\":\"Secret\",\"data\":{\"a\":\"Yg==\"}",
    "\"kind\":\"Pod\",\"data\":{\"a\":\"Yg==\"}",
    "\"a\":\"sk-abcdefGHIJ0123456789\"",
    "\"url\":\"postgres:\\/\\/u:pw@h\"",
    "\"pin\":1234,\"b\":null",
    "\"\":\"\",\"t\":true",
};

/* In a clean document, no string alone contains a secret. Checking bytes and checking the tree give
 * the same result. */
static void clean_by_itself(const struct mask *m, const struct json *doc)
{
    struct arena arena;
    struct buf out;
    str text;

    CHECK(mask_json_clean(m, doc->src) == mask_json_doc_clean(m, doc));
    if (!mask_json_clean(m, doc->src))
        return;
    arena_init(&arena, 1 << 20);
    buf_init(&out, 1 << 20);
    for (size_t i = 0; i < doc->n; i++)
        if (json_text(doc, &doc->nodes[i], &arena, &text))
            CHECK_F(!mask_text(m, text, &out, NULL), STR_FMT, STR_ARG(text));
    buf_release(&out);
    arena_release(&arena);
}

static void same_as_walked(const struct mask *fast, const struct mask *slow, str body)
{
    struct buf out[3];
    struct json doc;
    bool found[3];
    struct err e;

    for (size_t i = 0; i < COUNT_OF(out); i++)
        buf_init(&out[i], 1 << 20);
    json_init(&doc);
    CHECK_F(json_parse(&doc, body, &e), STR_FMT, STR_ARG(body));
    found[0] = mask_json_doc(slow, &doc, &out[0], NULL);
    found[1] = mask_json_doc(fast, &doc, &out[1], NULL);
    found[2] = mask_json_sound(fast, body, &out[2], NULL);
    clean_by_itself(fast, &doc);
    for (size_t i = 1; i < COUNT_OF(out); i++)
        CHECK_F(found[i] == found[0] && str_eq(buf_str(&out[i]), buf_str(&out[0])),
                STR_FMT "\n walked: " STR_FMT "\n not: " STR_FMT,
                STR_ARG(body),
                STR_ARG(buf_str(&out[0])),
                STR_ARG(buf_str(&out[i])));
    for (size_t i = 0; i < COUNT_OF(out); i++)
        buf_release(&out[i]);
    json_release(&doc);
}

/* `slow` has a custom pattern, which disables the fast check. */
TEST(a_body_that_is_told_to_be_clean_is)
{
    static const unsigned groups[] = {MASK_DEFAULT, MASK_ALL, MASK_CREDENTIALS, MASK_KUBERNETES};
    struct mask_pattern never = {STR("never"), STR("\\x01\\x02\\x01"), STR("")};

    for (size_t g = 0; g < COUNT_OF(groups); g++) {
        struct mask_options o = {groups[g], &never, 1};
        struct mask *fast = masker(groups[g]), *slow;
        struct err e;

        CHECK_F(mask_new(&o, &slow, &e), "%s", e.text);
        for (size_t i = 0; i < COUNT_OF(members); i++)
            for (size_t k = 0; k < COUNT_OF(members); k++) {
                char body[512];
                int n = snprintf(
                    body, sizeof body, "{%s,\"messages\": [{%s}]}", members[i], members[k]);

                same_as_walked(fast, slow, (str){body, (size_t)n});
            }
        mask_free(fast);
        mask_free(slow);
    }
}

TEST(patterns_of_the_user_replace_what_they_match)
{
    struct mask_pattern p[] = {
        {STR("patient"), STR("\\bPAT-\\d{6}\\b"), STR("")},
        {STR("ward"), STR("ward [A-Z]"), STR("<ward>")},
    };
    struct mask_options o = {0, p, 2};
    struct mask *m;
    struct err e;

    CHECK_F(mask_new(&o, &m, &e), "%s", e.text);
    check_text(m, "PAT-123456 in ward B, PAT-12", "[MASKED:patient] in <ward>, PAT-12");
    check_text(m, "bytes \xff PAT-123456 \xc3", "bytes \xff [MASKED:patient] \xc3");
    check_json(m, "{\"a\":\"PAT\\u002d123456\"}", "{\"a\":\"[MASKED:patient]\"}");
    mask_free(m);
}

TEST(a_pattern_at_its_limit_masks_the_rest)
{
    struct mask_pattern p = {STR("slow"), STR("(a+)+$"), STR("")};
    struct mask_options o = {0, &p, 1};
    char text[4000];
    struct mask *m;
    struct buf out;
    struct err e;

    memset(text, 'a', sizeof text);
    memcpy(text, "safe ", 5);
    text[sizeof text - 1] = '!';
    CHECK_F(mask_new(&o, &m, &e), "%s", e.text);
    buf_init(&out, 1 << 20);
    CHECK(mask_text(m, (str){text, sizeof text}, &out, NULL));
    CHECK(str_ends(buf_str(&out), STR("[MASKED:slow]")));
    CHECK(str_find(buf_str(&out), STR("aaaa")) == STR_NONE);
    buf_release(&out);
    mask_free(m);
}

TEST(bad_patterns_are_refused)
{
    static const struct {
        str name, pattern;
        const char *why;
    } bad[] = {
        {STR_INIT("a b"), STR_INIT("x"), "a name has"},
        {STR_INIT(""), STR_INIT("x"), "a name has"},
        {STR_INIT("a"), STR_INIT(""), "a pattern has"},
        {STR_INIT("a"), STR_INIT("(x"), "not a regular expression"},
        {STR_INIT("a"), STR_INIT("x*"), "the empty text"},
    };

    for (size_t i = 0; i < COUNT_OF(bad); i++) {
        struct mask_pattern p = {bad[i].name, bad[i].pattern, STR("")};
        struct err e;

        CHECK(!mask_pattern_check(&p, &e));
        CHECK_F(str_find(str_c(e.text), str_c(bad[i].why)) != STR_NONE, "%s", e.text);
    }
}

TEST_MAIN(T(keys_are_known_by_their_form), T(values_are_known_by_their_names),
          T(no_name_of_a_secret_is_overlooked), T(leads_are_found_alike_at_every_level),
          T(private_keys_go_to_their_end), T(cards_are_known_by_their_check_digit),
          T(people_are_masked_when_asked_for), T(kubernetes_secrets_lose_their_values),
          T(json_stays_json), T(a_body_that_is_told_to_be_clean_is),
          T(patterns_of_the_user_replace_what_they_match), T(a_pattern_at_its_limit_masks_the_rest),
          T(bad_patterns_are_refused))
