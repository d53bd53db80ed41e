// OpenSSL's objects, owned.
#pragma once

#include <openssl/ssl.h>

#include <memory>

namespace reglue {

struct OpensslDeleter {
  void operator()(SSL_CTX* context) const { SSL_CTX_free(context); }
  void operator()(SSL* tls) const { SSL_free(tls); }
  void operator()(BIO* bio) const { BIO_free(bio); }
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(EVP_PKEY* key) const { EVP_PKEY_free(key); }
};
template <class T>
using OpensslPtr = std::unique_ptr<T, OpensslDeleter>;

}  // namespace reglue
