// libcrypto of OpenSSL stays usable until the process has ended.
//
// By default, exit() runs a function of libcrypto that frees all its objects. Threads continue to run during exit(). A
// thread that encrypts a page at this time (SQLCipher), or uses TLS (libcurl, libpq), would then crash. The operating
// system frees the memory anyway.
#include "crypto_lifetime.h"

#if defined(__linux__)
#include <openssl/crypto.h>

// Runs before main(), because only the first call of libcrypto decides this.
__attribute__((constructor)) static void fieldvault_keep_libcrypto(void) {
  OPENSSL_init_crypto(OPENSSL_INIT_NO_ATEXIT, NULL);
}
#endif
