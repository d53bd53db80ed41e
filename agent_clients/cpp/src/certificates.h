// Certificates of authorities: read as PEM or DER, kept as DER, handed to gRPC as PEM.
#pragma once

#include <string>

namespace reglue {

/// The certificates in a file, PEM or DER; of several, DER one after another. Throws UsageError.
std::string read_authority(const std::string& path);

/// `der`, if it is one certificate or more; `what` is what holds it. Throws UsageError.
std::string checked_authority(std::string der, const std::string& what);

/// As PEM, all of them.
std::string to_pem(const std::string& der);

}  // namespace reglue
