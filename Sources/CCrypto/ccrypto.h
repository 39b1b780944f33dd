// libcrypto of OpenSSL, which SQLCipher uses, for Swift: SHA-256 with the instructions of the processor. The SHA-256 of
// libsodium is four times slower and would take longer than the encryption.
#ifndef CCRYPTO_H
#define CCRYPTO_H
#include <openssl/evp.h>
#endif
