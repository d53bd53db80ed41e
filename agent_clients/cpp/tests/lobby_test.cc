#include "net/join/lobby.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>

#include "net/streams/streams.h"
#include "readme.h"
#include "reglue/errors.h"

namespace reglue {
namespace {

using Proof = std::string (*)(const std::string&, const std::string&, std::uint64_t);

void expect_vector(const std::string& name, Proof proof) {
  auto vector = tests::entries(name);
  const std::string secret = tests::bytes(vector["secret"]);
  EXPECT_EQ(proof(secret, vector["session"], std::stoull(vector["answered"])),
            tests::bytes(vector["proof"]));
  EXPECT_NE(proof(secret, vector["session"], 1), tests::bytes(vector["proof"]));
}

TEST(Proofs, HelloIsThatOfTheProtocolsVector) { expect_vector("text hello", hello_proof); }

TEST(Proofs, UnixSocketIsThatOfTheProtocolsVector) {
  expect_vector("text unix socket", unix_socket_proof);
}

TEST(Backoff, WaitsLongerEachTimeUpToFiveSeconds) {
  Backoff pauses;
  EXPECT_DOUBLE_EQ(pauses.next().count(), 0.05);
  EXPECT_DOUBLE_EQ(pauses.next().count(), 0.08);
  for (int i = 0; i < 20; ++i) pauses.next();
  EXPECT_DOUBLE_EQ(pauses.next().count(), 5.0);
}

TEST(Join, AGlueThatIsNotThereIsUnreachable) {
  const JoinString nobody{"127.0.0.1:1", "token", "", ""};
  Options silent;
  silent.log = [](const std::string&) {};
  const Log log(silent);
  const Interrupt interrupt;
  Joining joining(nobody, v1::ROLE_AGENT, "test", std::chrono::milliseconds(1), log, interrupt);
  EXPECT_THROW(joining.ticket(std::nullopt), Unreachable);
}

TEST(Route, AMessageLimitBeyondGrpcsOwnBecomesGrpcs) {
  Route route;
  EXPECT_EQ(route.max_message_bytes(), kHubMessageBytes);
  for (const std::uint32_t most : {1000U, 1U << 31U, UINT32_MAX}) {
    route.ticket.set_max_message_bytes(most);
    EXPECT_EQ(route.max_message_bytes(), std::min<std::size_t>(most, INT32_MAX));
  }
}

TEST(Route, ReconnectsForAsLongAsTheGlueWaits) {
  Route route;
  EXPECT_EQ(route.reconnect_window().count(), 0);
  route.ticket.set_reconnect_window_us(600'000'000);
  EXPECT_EQ(route.reconnect_window(), std::chrono::minutes(10));
  for (const std::uint64_t window_us : {1UL << 63, UINT64_MAX}) {
    route.ticket.set_reconnect_window_us(window_us);
    EXPECT_EQ(route.reconnect_window(), limited(std::chrono::milliseconds::max()));
  }
}

}  // namespace
}  // namespace reglue
