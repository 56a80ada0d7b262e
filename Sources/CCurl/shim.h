#pragma once
#include <curl/curl.h>

// Functions with a variable number of arguments do not reach Swift: one for each kind of argument.

static inline CURLcode tidemark_curl_set_number(CURL *handle, CURLoption option, long value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode tidemark_curl_set_large(CURL *handle, CURLoption option, curl_off_t value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode tidemark_curl_set_text(CURL *handle, CURLoption option, const char *value) {
  return curl_easy_setopt(handle, option, value);
}

static inline CURLcode tidemark_curl_set_pointer(CURL *handle, CURLoption option, const void *value) {
  return curl_easy_setopt(handle, option, value);
}

typedef size_t (*tidemark_curl_writer)(char *bytes, size_t size, size_t count, void *context);
typedef int (*tidemark_curl_progress)(void *context, curl_off_t, curl_off_t, curl_off_t, curl_off_t);

static inline CURLcode tidemark_curl_set_writer(CURL *handle, CURLoption option, tidemark_curl_writer writer) {
  return curl_easy_setopt(handle, option, writer);
}

static inline CURLcode tidemark_curl_set_progress(CURL *handle, tidemark_curl_progress progress) {
  return curl_easy_setopt(handle, CURLOPT_XFERINFOFUNCTION, progress);
}

static inline CURLcode tidemark_curl_status(CURL *handle, long *status) {
  return curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, status);
}

// A share's connections are those of all handles that have it.
static inline CURLSHcode tidemark_curl_share_connection(void *share) {
  return curl_share_setopt(share, CURLSHOPT_SHARE, CURL_LOCK_DATA_CONNECT);
}

// The next handle whose transfer is over: how it went, its CURLOPT_PRIVATE, and the status of the answer. NULL if there is none.
static inline CURL *tidemark_curl_multi_next(CURLM *multi, CURLcode *code, char **context, long *status) {
  int left = 0;
  CURLMsg *message = NULL;
  while ((message = curl_multi_info_read(multi, &left)) != NULL) {
    if (message->msg != CURLMSG_DONE) continue;
    *code = message->data.result;
    curl_easy_getinfo(message->easy_handle, CURLINFO_PRIVATE, context);
    curl_easy_getinfo(message->easy_handle, CURLINFO_RESPONSE_CODE, status);
    return message->easy_handle;
  }
  return NULL;
}
