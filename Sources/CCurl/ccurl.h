// libcurl, with wrappers for functions with a variable number of arguments, which Swift cannot call.
#ifndef CCURL_H
#define CCURL_H

#include <curl/curl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>

typedef size_t (*ccurl_callback)(char *bytes, size_t size, size_t count, void *context);
typedef int (*ccurl_seek_callback)(void *context, curl_off_t offset, int origin);

typedef struct {
  // The URL of the proxy; empty for none.
  const char *proxy;
  // PEM-encoded certificates of the accepted authorities; a count of 0 for those of the system. Copied.
  const void *authorities;
  size_t authorities_count;
  int decompresses;
  // Must stay valid until the request ends.
  struct curl_slist *headers;
  // -1 for a request without a body.
  long body_count;
  // The timeout for name resolution, connection and TLS handshake. The caller implements all other limits.
  long connect_milliseconds;
  ccurl_callback on_header;
  ccurl_callback on_body;
  ccurl_callback on_read;
  ccurl_seek_callback on_seek;
  void *context;
} ccurl_request;

// Prepares a handle for one request. Returns 0, or curl's code.
static inline CURLcode ccurl_prepare(CURL *easy, const char *url, const char *method, const ccurl_request *request) {
  CURLcode code = CURLE_OK;
#define CCURL_SET(option, value) \
  if (code == CURLE_OK) code = curl_easy_setopt(easy, option, value)
  CCURL_SET(CURLOPT_URL, url);
#if LIBCURL_VERSION_NUM >= 0x075500
  CCURL_SET(CURLOPT_PROTOCOLS_STR, "http,https");
#else
  CCURL_SET(CURLOPT_PROTOCOLS, (long)(CURLPROTO_HTTP | CURLPROTO_HTTPS));
#endif
  CCURL_SET(CURLOPT_PATH_AS_IS, 1L);  // what was checked is what is asked for
  CCURL_SET(CURLOPT_FOLLOWLOCATION, 0L);
  CCURL_SET(CURLOPT_HTTP09_ALLOWED, 0L);
  CCURL_SET(CURLOPT_NOSIGNAL, 1L);
  CCURL_SET(CURLOPT_TCP_KEEPALIVE, 1L);
  if (request->decompresses) CCURL_SET(CURLOPT_ACCEPT_ENCODING, "");  // all that this libcurl can
  CCURL_SET(CURLOPT_CONNECTTIMEOUT_MS, request->connect_milliseconds);
  // Set in any case, so that libcurl reads no variables of the environment.
  CCURL_SET(CURLOPT_PROXY, request->proxy);
  CCURL_SET(CURLOPT_NOPROXY, "");
  // The response of a proxy to CONNECT is not the server's.
  CCURL_SET(CURLOPT_SUPPRESS_CONNECT_HEADERS, 1L);
  if (request->authorities_count) {
#if LIBCURL_VERSION_NUM < 0x074D00
    return CURLE_NOT_BUILT_IN;
#else
    struct curl_blob authorities = {(void *)request->authorities, request->authorities_count, CURL_BLOB_COPY};
    CCURL_SET(CURLOPT_CAINFO_BLOB, &authorities);
#endif
  }
#if LIBCURL_VERSION_NUM >= 0x075700
  // Ending a request does not wait for a name server that does not respond.
  CCURL_SET(CURLOPT_QUICK_EXIT, 1L);
#endif
  if (!strcmp(method, "HEAD")) CCURL_SET(CURLOPT_NOBODY, 1L);
  if (request->body_count >= 0) {
    // The request is a POST with another name, so that a body of any method is read and has a length.
    CCURL_SET(CURLOPT_POST, 1L);
    CCURL_SET(CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)request->body_count);
    CCURL_SET(CURLOPT_READFUNCTION, request->on_read);
    CCURL_SET(CURLOPT_READDATA, request->context);
    CCURL_SET(CURLOPT_SEEKFUNCTION, request->on_seek);
    CCURL_SET(CURLOPT_SEEKDATA, request->context);
    CCURL_SET(CURLOPT_UPLOAD_BUFFERSIZE, 262144L);
  }
  if (strcmp(method, "HEAD")) CCURL_SET(CURLOPT_CUSTOMREQUEST, method);
  CCURL_SET(CURLOPT_HTTPHEADER, request->headers);
  CCURL_SET(CURLOPT_HEADERFUNCTION, request->on_header);
  CCURL_SET(CURLOPT_HEADERDATA, request->context);
  CCURL_SET(CURLOPT_WRITEFUNCTION, request->on_body);
  CCURL_SET(CURLOPT_WRITEDATA, request->context);
  CCURL_SET(CURLOPT_PRIVATE, request->context);
#undef CCURL_SET
  return code;
}

// Returns the status with which the proxy responded to CONNECT; 0 if it did not respond.
static inline long ccurl_connect_status(CURL *easy) {
  long status = 0;
  return curl_easy_getinfo(easy, CURLINFO_HTTP_CONNECTCODE, &status) == CURLE_OK ? status : 0;
}

// Returns the path of the system's authorities that this libcurl reads by default; NULL without one.
static inline const char *ccurl_authorities_file(void) {
#if LIBCURL_VERSION_NUM >= 0x075400
  return curl_version_info(CURLVERSION_NOW)->cainfo;
#else
  return NULL;
#endif
}

// Returns the context of the next finished request and its curl code; NULL without a finished request.
static inline void *ccurl_next_done(CURLM *multi, CURLcode *result) {
  int left;
  CURLMsg *message;
  while ((message = curl_multi_info_read(multi, &left))) {
    if (message->msg != CURLMSG_DONE) continue;
    char *context = 0;
    *result = message->data.result;
    if (curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, &context) == CURLE_OK) return context;
  }
  return 0;
}

// Blocks all signals on the calling thread. The program's handlers run on other threads, and writing to a closed
// connection returns an error instead of SIGPIPE.
static inline void ccurl_block_signals(void) {
  sigset_t all;
  sigfillset(&all);
  pthread_sigmask(SIG_BLOCK, &all, 0);
}

#endif
