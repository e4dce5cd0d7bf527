/* SPDX-License-Identifier: Apache-2.0 */
#include "base/blake2bp.h"
#include "test.h"

#define SIZE_MAX_TESTED 20000

typedef void digest_fn(str bytes, uint8_t out[BLAKE2BP_SIZE]);

static digest_fn *const ways[] = {blake2bp_of, blake2bp_of_plain};

/* Byte i is i % 251. The digests are those of Python's hashlib.blake2b with the parameters of the
 * leaves (fanout=4, depth=2, inner_size=64, node_offset and last_node of each) and of the root. */
TEST(blake2bp_gives_the_digests_of_another_implementation_for_every_kind_of_end)
{
    static const struct {
        size_t size;
        const char *digest;
    } cases[] = {
        {0,
         "b5ef811a8038f70b628fa8b294daae7492b1ebe343a80eaabbf1f6ae664dd67b"
         "9d90b0120791eab81dc96985f28849f6a305186a85501b405114bfa678df9380"},
        {1,
         "a139280e72757b723e6473d5be59f36e9d50fc5cd7d4585cbc09804895a36c52"
         "1242fb2789f85cb9e35491f31d4a6952f9d8e097aef94fa1ca0b12525721f03d"},
        {127,
         "ea64b003a135766121cfbccbdc08dca2402926be78cea3d0a7253d9ec9e63b8a"
         "cdd994559917e0e03b5e155f944d7198d99245a794ce19c9b4df4da4a3399334"},
        {128,
         "05ad0f271faf7e361320518452813ff9fb9976ac378050b6eefb05f7867b577b"
         "8f14475794cff61b2bc062d346a7c65c6e0067c60a374af7940f10aa449d5fb9"},
        {129,
         "b545880294afa153f8b9f49c73d952b5d1228f1a1ab5ebcb05ff79e560c030f7"
         "500fe256a40b6a0e6cb3d42acd4b98595c5b51eaec5ad69cd40f1fc16d2d5f50"},
        {384,
         "09cc835dfaebf712deddaac8b82b8ffed362ded979de2a763cac68967f9b0e19"
         "958e4f6770bc0a80b37a01fdeb07a3490251c11bd7ed7b5464bc9097a6a98044"},
        {385,
         "a74b673ec1fd6b9d100fd6dd3dbcd46b970d0c3fb7ab46f2a925042386b9002d"
         "590c41ea0efba8b0007172b6ee2ea7ecd8d86edc409f612272842f2aae4ff719"},
        {511,
         "c86d92d70ab59ba357a987bd6f90e938a8ed5a8541bb387648a992f11063bfa9"
         "b339562efaccb7553c9e4af5f02b16a73b51c2665d9e817bfc94c5b192b43a5f"},
        {512,
         "61c4dabacdfb1352185aae9dbc04b348af681478b0c4aa7291c7bab11783e8af"
         "e05830d87b6e003bbd95a08d9db6b053f12e75602fd5f1c1f49d39cd6c12b40b"},
        {513,
         "c62cf13185f8eb971737218c9ae187f6447dfd286d206c7d42f442c719527c59"
         "d4655ca5829bf3912d284b916f5bdaa36672363bdca29b0ed2047ba98404a2ad"},
        {1024,
         "1d37eac00a55afe13b8affbf6c3fd60e3608ef9479bb48e88a26a7fc5667a8c5"
         "7845ecdc1e9e4b45a03bae187a150af93fb09be6cd96ccd954cbbe30c9be7d25"},
        {1025,
         "628ba9706b121c0e05d24c9d72538d22e8e6f6d5ab99ba04b95744e8e4e878b4"
         "353d10a354a44788f8b867550b64af60a71ca33290e67d24d8b811a7a8b3f644"},
        {1152,
         "c406d69c4faea3f64463a5e9672b9e6127363a1405cc3e77f2a7700ee5d50f53"
         "c0d81cb09a0deed9a0ba0dd75096c8c4e084c41d54d1907dbfcdb75de439ec18"},
        {4300,
         "159be876b76980e86175cb7e354aa3906b8a29e39452e0949b386cb9c04b6d33"
         "bb5330db7e16bb49af3d8c33ccf4e5773381b8dc9f20dad92a99b400fb102cfa"},
        {20000,
         "587ead6ab21221f23f66a0a2f2f73b12c8ed33c9a5bf2c44b0ffcbe52dcfea3f"
         "124f28299ac31eff1fb7bd7eeda362a4091327dccd0f591ccc3cd58b2acd4795"},
    };
    static char bytes[SIZE_MAX_TESTED];

    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (char)(i % 251);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        for (size_t k = 0; k < COUNT_OF(ways); k++) {
            char hex[2 * BLAKE2BP_SIZE + 1];
            uint8_t digest[BLAKE2BP_SIZE];

            ways[k]((str){bytes, cases[i].size}, digest);
            for (size_t at = 0; at < BLAKE2BP_SIZE; at++)
                (void)snprintf(hex + 2 * at, 3, "%02x", digest[at]);
            CHECK_STR(str_c(hex), cases[i].digest);
        }
}

TEST_MAIN(T(blake2bp_gives_the_digests_of_another_implementation_for_every_kind_of_end))
