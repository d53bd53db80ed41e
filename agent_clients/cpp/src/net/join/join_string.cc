#include "net/join/join_string.h"

#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/x509.h>

#include <algorithm>
#include <charconv>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <vector>

#include "net/join/openssl_deleter.h"
#include "net/streams/unix_socket_stream.h"
#include "reglue/errors.h"
#include "text.h"

namespace reglue {

namespace {

constexpr std::string_view kScheme = "reglue://";
constexpr std::string_view kForm = "reglue://HOST:PORT?ca=…&name=…&token=…";

using Query = std::map<std::string, std::string>;

/// `text`, or its beginning if it may be a token.
std::string part(std::string_view text) {
  constexpr std::size_t kMost = 20;  // characters: a token that a glue makes has 32
  return std::string(text.size() <= kMost ? text : text.substr(0, 4)) +
         (text.size() <= kMost ? "" : "...");
}

/// The part of a string that an error may repeat: at most its host, as it may hold a token.
std::string without_secrets(std::string_view text) {
  const std::size_t colon = text.rfind("://");
  const std::string_view scheme = text.substr(0, colon == text.npos ? 0 : colon);
  std::string_view host = text.substr(colon == text.npos ? 0 : colon + 3);
  host = host.substr(0, host.find_first_of("?#/&="));
  host = host.substr(host.rfind('@') == host.npos ? 0 : host.rfind('@') + 1);
  const std::string visible = part(scheme) + (colon == text.npos ? "" : "://") + part(host);
  return "'" + visible + (visible.size() == text.size() ? "'" : "...'");
}

/// Without blanks around it, and the byte order mark that some editors write before a text.
std::string trimmed(std::string_view text) {
  constexpr std::string_view kBlank = " \t\r\n";
  constexpr std::string_view kMark = "\xEF\xBB\xBF";
  const std::size_t first = text.find_first_not_of(kBlank);
  if (first == text.npos) return "";
  text = text.substr(first, text.find_last_not_of(kBlank) - first + 1);
  if (text.substr(0, kMark.size()) == kMark) text.remove_prefix(kMark.size());
  return std::string(text);
}

/// `address`, if it is valid.
std::string dialled(std::string_view address) {
  if (const auto path = socket_path(address)) {
    if (path->size() > kLongestPath) {
      throw UsageError("got a Unix socket's path of " + std::to_string(path->size()) +
                       " bytes, wanted " + std::to_string(kLongestPath) + " at most");
    }
    return std::string(address);
  }
  if (split_address(address).second == 0) {
    throw UsageError("got address " + without_secrets(address) +
                     ", wanted the port that the glue listens on");
  }
  return std::string(address);
}

[[noreturn]] void throw_no_join_string(std::string_view text) {
  throw UsageError("got join string " + without_secrets(text) + ", wanted " + std::string(kForm));
}

int digit(char c, int base) {
  int value = 0;
  const auto [end, error] = std::from_chars(&c, &c + 1, value, base);
  return error == std::errc() && end == &c + 1 ? value : -1;
}

/// Percent-encoded, as in a form.
std::string unquoted(std::string_view text, std::string_view whole) {
  std::string plain;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '%') {
      plain += text[i] == '+' ? ' ' : text[i];
      continue;
    }
    if (i + 2 >= text.size() || digit(text[i + 1], 16) < 0 || digit(text[i + 2], 16) < 0) {
      throw_no_join_string(whole);
    }
    plain += static_cast<char>(16 * digit(text[i + 1], 16) + digit(text[i + 2], 16));
    i += 2;
  }
  return plain;
}

Query query_of(std::string_view query, std::string_view whole) {
  Query entries;
  while (!query.empty()) {
    const std::string_view pair = query.substr(0, query.find('&'));
    query.remove_prefix(std::min(pair.size() + 1, query.size()));
    const std::size_t equals = pair.find('=');
    if (equals == pair.npos) throw_no_join_string(whole);
    const std::string name = unquoted(pair.substr(0, equals), whole);
    const bool is_known = name == "ca" || name == "name" || name == "token";
    if (!is_known || !entries.emplace(name, unquoted(pair.substr(equals + 1), whole)).second) {
      throw UsageError("got a join string with " + without_secrets(name) +
                       ", wanted ca, name and token, each once");
    }
  }
  return entries;
}

/// URL-safe base64 without padding.
std::string decoded(std::string_view text) {
  constexpr std::string_view kAlphabet =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
  std::string bytes;
  std::uint32_t bits = 0;
  int held = 0;
  for (const char c : text.substr(0, text.find_last_not_of('=') + 1)) {
    const std::size_t value = kAlphabet.find(c);
    if (value == kAlphabet.npos) return "";  // which makes no certificate
    bits = bits << 6 | static_cast<std::uint32_t>(value);
    held += 6;
    if (held >= 8) {
      held -= 8;
      bytes += static_cast<char>(bits >> held & 0xFF);
    }
  }
  return bytes;
}

}  // namespace

JoinString join_string_of(const Options& options) {
  const std::string address =
      trimmed(options.address.empty() ? environment_variable("REGLUE_ADDRESS") : options.address);
  if (address.empty()) {
    throw UsageError("no address: give host:port or a join string, or set REGLUE_ADDRESS");
  }
  JoinString whole;
  if (address.find("://") != address.npos) {
    whole = parse_join_string(address);
  } else {
    whole.address = dialled(address);
  }
  if (!options.token.empty()) whole.token = options.token;
  if (whole.token.empty()) whole.token = environment_variable("REGLUE_TOKEN");
  if (!is_utf8(whole.token)) throw UsageError("got a token that is no UTF-8, wanted UTF-8");
  if (!options.ca.empty()) whole.authority = read_authority(options.ca);
  if (!options.tls_name.empty()) whole.tls_name = options.tls_name;
  if (!whole.tls_name.empty() && whole.authority.empty()) {
    throw UsageError("got TLS name " + without_secrets(whole.tls_name) +
                     " and no authority to trust: give the whole join string, or the "
                     "authority's certificate (Options::ca)");
  }
  return whole;
}

JoinString parse_join_string(std::string_view text) {
  if (text.substr(0, kScheme.size()) != kScheme) throw_no_join_string(text);
  const std::string_view rest = text.substr(kScheme.size());
  const std::size_t mark = rest.find('?');
  std::string_view place = rest.substr(0, mark);
  if (!place.empty() && place.back() == '/') place.remove_suffix(1);
  const std::string_view query = mark == rest.npos ? "" : rest.substr(mark + 1);
  const bool is_cut = mark != rest.npos && query.empty();  // the missing part may be the authority
  if (is_cut || rest.find('#') != rest.npos) throw_no_join_string(text);
  const Query entries = query_of(query, text);
  JoinString join_string{dialled(place), "", "", ""};
  for (const auto& [name, value] : entries) {
    if (name == "token") join_string.token = value;
    if (name == "name") join_string.tls_name = value;
    if (name == "ca") {  // an empty one must not allow a connection without TLS
      join_string.authority = checked_authority(decoded(value), "the join string's ca");
    }
  }
  return join_string;
}

std::optional<std::string> socket_path(std::string_view address) {
  constexpr std::string_view kUnix = "unix:/";
  constexpr std::string_view kTaken =  // by gRPC, as it stands
      "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._~/+,@=:-";
  if (address.substr(0, kUnix.size()) != kUnix || address.size() == kUnix.size()) return {};
  if (address.find_first_not_of(kTaken) != address.npos) return {};
  return std::string(address.substr(kUnix.size() - 1));
}

std::string wanted_name(const JoinString& join_string) {
  if (!join_string.tls_name.empty()) return join_string.tls_name;
  if (socket_path(join_string.address)) return "localhost";
  const auto [host, port] = split_address(join_string.address);
  const std::size_t first = host.find_first_not_of('[');
  return host.substr(first, host.find(']') - first);
}

std::pair<std::string, std::uint16_t> split_address(std::string_view address) {
  const std::size_t colon = address.rfind(':');
  const std::string_view host = address.substr(0, std::min(colon, address.size()));
  const std::string_view digits = colon == address.npos ? "" : address.substr(colon + 1);
  std::uint16_t port = 0;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), port);
  const bool is_port =
      !digits.empty() && error == std::errc() && end == digits.data() + digits.size();
  const bool is_bracketed = host.size() > 2 && host.front() == '[' && host.back() == ']';
  const std::string_view inner = is_bracketed ? host.substr(1, host.size() - 2) : host;
  const bool is_host = !inner.empty() && inner.find_first_of(" \t\r\n/?#@[]") == inner.npos &&
                       (inner.find(':') != inner.npos) == is_bracketed;
  if (!is_port || !is_host) {
    throw UsageError("got address " + without_secrets(address) +
                     ", wanted host:port such as 127.0.0.1:4096");
  }
  return {std::string(host), port};
}

namespace {

using Certificate = OpensslPtr<X509>;
using Bio = OpensslPtr<BIO>;

/// The certificates, one after another; none if there are other bytes.
std::vector<Certificate> parsed(const std::string& der) {
  std::vector<Certificate> certificates;
  auto* at = reinterpret_cast<const unsigned char*>(der.data());
  const unsigned char* end = at + der.size();
  while (at < end) {
    Certificate next(d2i_X509(nullptr, &at, end - at));
    if (!next) {
      ERR_clear_error();
      return {};
    }
    certificates.push_back(std::move(next));
  }
  return certificates;
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

/// Whether the key is that of the first certificate. It does not prompt for a passphrase.
bool is_certificate_with_key(const std::string& pem) {
  const auto no_passphrase = [](char*, int, int, void*) { return -1; };
  const int size = static_cast<int>(pem.size());
  const Bio certificates(BIO_new_mem_buf(pem.data(), size));
  const Bio keys(BIO_new_mem_buf(pem.data(), size));
  const Certificate certificate(PEM_read_bio_X509(certificates.get(), nullptr, nullptr, nullptr));
  const OpensslPtr<EVP_PKEY> key(
      PEM_read_bio_PrivateKey(keys.get(), nullptr, no_passphrase, nullptr));
  const bool fits = certificate && key && X509_check_private_key(certificate.get(), key.get()) == 1;
  ERR_clear_error();
  return fits;
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

OwnCertificate own_certificate() {
  const std::string path = environment_variable("REGLUE_CERT");
  if (path.empty()) return {};
  std::ifstream file(path, std::ios::binary);
  std::ostringstream content;
  if (!file || !(content << file.rdbuf())) {
    throw UsageError("REGLUE_CERT: " + path + " cannot be read");
  }
  const std::string pem = content.str();
  if (!is_certificate_with_key(pem)) {
    throw UsageError("REGLUE_CERT: " + path +
                     " holds no certificate with its key: wanted both, in PEM, without a "
                     "passphrase");
  }
  return {path, pem};
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
