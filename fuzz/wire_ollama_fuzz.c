/* Arbitrary bytes as requests and replies of this dialect; see wire_fuzz.h.
 *
 * SPDX-License-Identifier: Apache-2.0
 */
#include "wire/ollama/ollama.h"
#include "wire_fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    return fuzz_wire(&wire_ollama, data, size);
}
