// What a peer needs to join: address, token and trusted authority, in one string.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include "reglue/options.h"

namespace reglue {

/// As a string, the join string, it is `reglue://HOST:PORT?ca=…&name=…&token=…`. Where there is no
/// network, `unix:/PATH` stands for HOST:PORT: a Unix socket at which the glue's gRPC answers.
struct JoinString {
  std::string address;    // host:port, or unix:/path
  std::string token;
  std::string authority;  // DER of its certificate, or of several; empty: no TLS
  std::string tls_name;   // the name in the server's certificate; empty: the address's
};

/// From a join string, `host:port` or `unix:/path`, and the other options, which override it;
/// address and token default to REGLUE_ADDRESS and REGLUE_TOKEN of the environment. Throws
/// UsageError.
JoinString join_string_of(const Options& options);

/// The entries of a join string. Refuses unknown ones: one may name an authority to
/// trust. Throws UsageError.
JoinString parse_join_string(std::string_view text);

/// Host and port of `host:port`; an IPv6 host is in brackets. Throws UsageError.
std::pair<std::string, std::uint16_t> split_address(std::string_view address);

/// The path of `unix:/path`; none of another address.
std::optional<std::string> socket_path(std::string_view address);

/// The name that the glue's certificate is to have: the join string's, else the address's. Of a
/// Unix socket it is `localhost`, as gRPC has it.
std::string wanted_name(const JoinString& join_string);

/// The certificates in a file, PEM or DER; of several, DER one after another. Throws UsageError.
std::string read_authority(const std::string& path);

/// `der`, if it is one certificate or more; `what` is what holds it. Throws UsageError.
std::string checked_authority(std::string der, const std::string& what);

/// The peer's own certificate, for a glue that asks for one.
struct OwnCertificate {
  std::string path, pem;  // its file, and what that holds: the certificate and its key
};

/// The one that REGLUE_CERT names; both fields are empty if it is not set. Throws UsageError for a
/// file that cannot be read, or whose key is missing, encrypted or another certificate's.
OwnCertificate own_certificate();

/// As PEM, all of them.
std::string to_pem(const std::string& der);

}  // namespace reglue
