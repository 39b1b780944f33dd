// libcrypto of OpenSSL, on which SQLCipher stands, for Swift: SHA-256 with the instructions that the processor has for
// it. libsodium's is four times slower and would take longer than the encryption.
#ifndef CCRYPTO_H
#define CCRYPTO_H
#include <openssl/evp.h>
#endif
