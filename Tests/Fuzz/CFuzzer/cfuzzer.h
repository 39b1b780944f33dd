// libFuzzer, which comes with the Swift toolchain and is linked by `scripts/fuzz` only.
#ifndef CFUZZER_H
#define CFUZZER_H
#include <stddef.h>
#include <stdint.h>

// Runs the fuzzer as its own `main` would. Returns the exit code.
int LLVMFuzzerRunDriver(int *argc, char ***argv, int (*run)(const uint8_t *bytes, size_t count));
#endif
