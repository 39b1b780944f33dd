// libcrypto of OpenSSL, which SQLCipher uses, for Swift. SHA-256 with the instructions of the processor: that of libsodium is
// four times slower and would take longer than the encryption. Signatures of RSA and ECDSA, which libsodium lacks.
#ifndef CCRYPTO_H
#define CCRYPTO_H
#include <openssl/core_names.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/params.h>
#include <openssl/rsa.h>
// The macro of libcrypto, which Swift does not import.
enum ccrypto_selection { ccrypto_public_key = EVP_PKEY_PUBLIC_KEY };
#endif
