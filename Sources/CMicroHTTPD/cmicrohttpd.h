// libmicrohttpd, the HTTP server library. Its functions with a variable number of arguments, which Swift cannot call,
// get inline ones beside them here.
#ifndef CMICROHTTPD_H
#define CMICROHTTPD_H
#include <microhttpd.h>
#endif
