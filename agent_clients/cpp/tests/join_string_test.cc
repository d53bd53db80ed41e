#include "net/join/join_string.h"

#include <gtest/gtest.h>
#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/evp.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
#include <openssl/x509.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <memory>

#include "readme.h"
#include "reglue/errors.h"

namespace reglue {
namespace {

std::string vector() {
  std::string text = tests::block("text join-string");
  text.erase(std::remove(text.begin(), text.end(), '\n'), text.end());
  return text;
}

std::string sha256(const std::string& content) {
  std::string digest(SHA256_DIGEST_LENGTH, '\0');
  SHA256(reinterpret_cast<const unsigned char*>(content.data()), content.size(),
         reinterpret_cast<unsigned char*>(digest.data()));
  return digest;
}

Options at(const std::string& address) {
  Options options;
  options.address = address;
  return options;
}

TEST(JoinString, OfTheProtocolIsReadWhole) {
  auto entries = tests::entries("text join-string-entries");
  const JoinString join_string = parse_join_string(vector());
  EXPECT_EQ(join_string.address, entries["address"]);
  EXPECT_EQ(join_string.tls_name, entries["name"]);
  EXPECT_EQ(join_string.token, entries["token"]);
  EXPECT_EQ(sha256(join_string.authority), tests::bytes(entries["sha256"]));
}

TEST(JoinString, EntriesComeInAnyOrder) {
  const JoinString join_string = parse_join_string("reglue://host:1/?token=a+b%20c&name=d");
  EXPECT_EQ(join_string.token, "a b c");
  EXPECT_EQ(join_string.tls_name, "d");
  EXPECT_TRUE(join_string.authority.empty());
}

TEST(JoinString, MayNameAUnixSocket) {
  const JoinString join_string = parse_join_string("reglue://unix:/run/reglue-1/lobby?token=a");
  EXPECT_EQ(join_string.address, "unix:/run/reglue-1/lobby");
  EXPECT_EQ(socket_path(join_string.address), "/run/reglue-1/lobby");
  EXPECT_EQ(join_string.token, "a");
  EXPECT_EQ(wanted_name(join_string), "localhost");
  EXPECT_EQ(join_string_of(at("unix:/lobby")).address, "unix:/lobby");
}

TEST(JoinString, IsWantedByTheNameOfItsAddress) {
  EXPECT_EQ(wanted_name({"[::1]:80", "", "", ""}), "::1");
  EXPECT_EQ(wanted_name({"host:80", "", "", ""}), "host");
  EXPECT_EQ(wanted_name({"unix:/lobby", "", "", "reglue"}), "reglue");
}

class BadJoinString : public ::testing::TestWithParam<std::string> {};

TEST_P(BadJoinString, IsRefused) { EXPECT_THROW(parse_join_string(GetParam()), UsageError); }

INSTANTIATE_TEST_SUITE_P(
    All, BadJoinString,
    ::testing::Values("http://host:1", "reglue://host", "reglue://host:0", "reglue://host:65536",
                      "reglue://:1", "reglue://a b:1", "reglue://host:1?", "reglue://host:1?ca=",
                      "reglue://host:1?ca=AAAA", "reglue://host:1?ca=!", "reglue://host:1?token",
                      "reglue://host:1?token=a&token=b", "reglue://host:1?later=1",
                      "reglue://host:1?token=%4", "reglue://host:1?token=%zz",
                      "reglue://host:1?token=a#b", "reglue://2001:db8::7:1", "reglue://[]:1",
                      vector().substr(0, 200), "reglue://host:1/path",
                      "reglue://unix:", "reglue://unix:/", "reglue://unix:a", "reglue://unix:/a b",
                      "reglue://unix:/a%20b", "reglue://unix:/" + std::string(107, 'a')));

TEST(JoinString, NoMessageRepeatsAToken) {
  const std::string token = "nv0FQqLDsyS1ze8dM3xkXIw7TQGfZ4Jb";
  for (const std::string& text :
       {token, token + ":", token + "://hub:80", "reglue://" + token + "@hub",
        "reglue://hub:80/" + token, "reglue://hub:80?" + token, "reglue://hub:80?" + token + "=",
        "reglue://hub:80?token=" + token + "&token=" + token,
        "reglue://hub:80?token=" + token + "#x", "reglue://hub?token=" + token,
        "reglue://hub:80?token=" + token + "%zz"}) {
    try {
      join_string_of(at(text));
      ADD_FAILURE() << text;
    } catch (const UsageError& error) {
      EXPECT_EQ(std::string(error.what()).find(token.substr(0, 8)), std::string::npos);
    }
  }
}

TEST(JoinString, OptionsOverrideTheJoinString) {
  Options options = at(vector());
  options.token = "other";
  options.tls_name = "else";
  const JoinString join_string = join_string_of(options);
  EXPECT_EQ(join_string.token, "other");
  EXPECT_EQ(join_string.tls_name, "else");
}

TEST(JoinString, TheTokenDefaultsToTheEnvironments) {
  setenv("REGLUE_TOKEN", "of the environment", 1);
  EXPECT_EQ(join_string_of(at("127.0.0.1:1")).token, "of the environment");
  EXPECT_EQ(join_string_of(at("reglue://127.0.0.1:1?token=own")).token, "own");
  unsetenv("REGLUE_TOKEN");
}

TEST(JoinString, MayBeginWithAByteOrderMark) {
  const std::string mark = "\xEF\xBB\xBF";
  EXPECT_EQ(join_string_of(at(mark + "reglue://host:1?token=own\r\n")).token, "own");
  EXPECT_EQ(join_string_of(at(" " + mark + "host:1")).address, "host:1");
}

TEST(JoinString, ATlsNameWithoutAnAuthorityIsRefused) {
  Options options = at("127.0.0.1:1");
  options.tls_name = "reglue";
  EXPECT_THROW(join_string_of(options), UsageError);
}

TEST(JoinString, NoAddressIsRefused) {
  unsetenv("REGLUE_ADDRESS");
  EXPECT_THROW(join_string_of(Options()), UsageError);
}

TEST(JoinString, AnAuthorityComesFromAFileOfEitherKind) {
  const std::string der = parse_join_string(vector()).authority;
  for (const std::string& content : {der, to_pem(der), der + der, to_pem(der) + to_pem(der)}) {
    const std::string path =
        ::testing::TempDir() + "reglue-authority-" + std::to_string(::getpid());
    std::ofstream(path, std::ios::binary) << content;
    Options options = at("127.0.0.1:1");
    options.ca = path;
    const std::string read = join_string_of(options).authority;
    std::remove(path.c_str());
    EXPECT_EQ(read.substr(0, der.size()), der);
    EXPECT_EQ(read.size() % der.size(), 0U);
  }
}

TEST(JoinString, AFileOfNoCertificateIsRefused) {
  Options options = at("127.0.0.1:1");
  options.ca = "/dev/null";
  EXPECT_THROW(join_string_of(options), UsageError);
  options.ca = "/no/such/file";
  EXPECT_THROW(join_string_of(options), UsageError);
}

using Key = std::unique_ptr<EVP_PKEY, decltype(&EVP_PKEY_free)>;
using Bio = std::unique_ptr<BIO, decltype(&BIO_free)>;

Key new_key() { return Key(EVP_EC_gen("P-256"), EVP_PKEY_free); }

std::string content(BIO* bio) {
  char* text = nullptr;
  const long size = BIO_get_mem_data(bio, &text);
  return {text, static_cast<std::size_t>(size)};
}

std::string certificate_of(EVP_PKEY* key) {
  const std::unique_ptr<X509, decltype(&X509_free)> made(X509_new(), X509_free);
  X509_gmtime_adj(X509_getm_notBefore(made.get()), 0);
  X509_gmtime_adj(X509_getm_notAfter(made.get()), 3600);
  X509_set_pubkey(made.get(), key);
  X509_sign(made.get(), key, EVP_sha256());
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_X509(bio.get(), made.get());
  return content(bio.get());
}

std::string pem_of(EVP_PKEY* key, const char* passphrase = nullptr) {
  const Bio bio(BIO_new(BIO_s_mem()), BIO_free);
  PEM_write_bio_PKCS8PrivateKey(bio.get(), key, passphrase ? EVP_aes_128_cbc() : nullptr,
                                passphrase, passphrase ? 6 : 0, nullptr, nullptr);
  return content(bio.get());
}

/// What own_certificate() returns for a file with that content, or the text of its error.
std::string own_certificate_in(const std::string& held) {
  const std::string path = ::testing::TempDir() + "reglue-own-" + std::to_string(::getpid());
  std::ofstream(path, std::ios::binary) << held;
  setenv("REGLUE_CERT", path.c_str(), 1);
  std::string outcome;
  try {
    outcome = own_certificate().pem;
  } catch (const UsageError& error) {
    outcome = error.what();
  }
  unsetenv("REGLUE_CERT");
  std::remove(path.c_str());
  return outcome;
}

TEST(OwnCertificate, IsReadWithItsKeyInEitherOrder) {
  EXPECT_EQ(own_certificate().pem, "");
  const Key key = new_key();
  const std::string one = certificate_of(key.get()) + pem_of(key.get());
  const std::string other = pem_of(key.get()) + certificate_of(key.get());
  EXPECT_EQ(own_certificate_in(one), one);
  EXPECT_EQ(own_certificate_in(other), other);
}

TEST(OwnCertificate, ThatIsUnusableIsRefusedWithoutAskingForAPassphrase) {
  const Key key = new_key(), another = new_key();
  const std::string certificate = certificate_of(key.get());
  for (const std::string& held :
       {certificate, pem_of(key.get()), certificate + pem_of(another.get()),
        certificate + pem_of(key.get(), "secret"), certificate + "-----BEGIN PRIVATE KEY-----\n",
        std::string("no PEM")}) {
    const std::string message = own_certificate_in(held);
    EXPECT_NE(message.find("holds no certificate with its key"), message.npos) << held;
  }
}

TEST(OwnCertificate, ThatCannotBeReadIsRefused) {
  for (const char* path : {"/no/such/file", "/"}) {
    setenv("REGLUE_CERT", path, 1);
    EXPECT_THROW(own_certificate(), UsageError);
  }
  unsetenv("REGLUE_CERT");
}

}  // namespace
}  // namespace reglue
