#include "certificates.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <fstream>
#include <memory>
#include <sstream>
#include <vector>

#include "reglue/errors.h"

namespace reglue {

namespace {

struct Free {
  void operator()(X509* certificate) const { X509_free(certificate); }
  void operator()(BIO* bio) const { BIO_free(bio); }
};
using Certificate = std::unique_ptr<X509, Free>;
using Bio = std::unique_ptr<BIO, Free>;

/// The certificates that stand one after another; none if anything else stands there.
std::vector<Certificate> parsed(const std::string& der) {
  std::vector<Certificate> found;
  auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const unsigned char* end = at + der.size();
  while (at < end) {
    Certificate next(d2i_X509(nullptr, &at, end - at));
    if (!next) {
      ERR_clear_error();
      return {};
    }
    found.push_back(std::move(next));
  }
  return found;
}

std::string encoded(X509& certificate) {
  unsigned char* bytes = nullptr;
  const int size = i2d_X509(&certificate, &bytes);
  std::string der(reinterpret_cast<char*>(bytes), size > 0 ? static_cast<std::size_t>(size) : 0);
  OPENSSL_free(bytes);
  return der;
}

/// As DER; empty if there is no certificate.
std::string from_pem(const std::string& pem) {
  const Bio bio(BIO_new_mem_buf(pem.data(), static_cast<int>(pem.size())));
  std::string der;
  while (const Certificate next{PEM_read_bio_X509(bio.get(), nullptr, nullptr, nullptr)}) {
    der += encoded(*next);
  }
  ERR_clear_error();
  return der;
}

}  // namespace

std::string read_authority(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf())) {
    throw UsageError(path + " cannot be read: give the file of the authority's certificate");
  }
  const std::string der = from_pem(content.str());
  return checked_authority(der.empty() ? content.str() : der, path);
}

std::string checked_authority(std::string der, const std::string& what) {
  if (parsed(der).empty()) {
    throw UsageError(what +
                     " is no certificate: wanted that of an authority, whole, in PEM or DER");
  }
  return der;
}

std::string to_pem(const std::string& der) {
  const Bio bio(BIO_new(BIO_s_mem()));
  for (const Certificate& each : parsed(der)) PEM_write_bio_X509(bio.get(), each.get());
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio.get(), &text);
  return {text, static_cast<std::size_t>(size)};
}

}  // namespace reglue
