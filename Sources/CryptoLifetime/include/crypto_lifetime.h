// Empty: programs link this module and call nothing.
#ifndef FIELDVAULT_CRYPTO_LIFETIME_H
#define FIELDVAULT_CRYPTO_LIFETIME_H
#endif
