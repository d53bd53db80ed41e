// An agent over plain gRPC stubs. It takes the first of the legal actions.
#include <grpcpp/grpcpp.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>

#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <stdexcept>
#include <thread>
#include <vector>

#include "reglue/v1/agent.grpc.pb.h"
#include "reglue/v1/lobby.grpc.pb.h"

namespace v1 = reglue::v1;

// Bytes of an element; throws at a dtype of a later version.
size_t ElementBytes(const v1::TensorSpec& tensor) {
  static const std::map<int, size_t> sizes = {
      {v1::DTYPE_BOOL, 1},   {v1::DTYPE_UINT8, 1},  {v1::DTYPE_INT8, 1},   {v1::DTYPE_UINT16, 2},
      {v1::DTYPE_INT16, 2},  {v1::DTYPE_UINT32, 4}, {v1::DTYPE_INT32, 4},  {v1::DTYPE_FLOAT32, 4},
      {v1::DTYPE_UINT64, 8}, {v1::DTYPE_INT64, 8},  {v1::DTYPE_FLOAT64, 8}};
  return sizes.at(tensor.dtype());
}

// Bytes of a row; throws at a shape that no message can hold.
size_t RowBytes(const v1::TensorSpec& tensor) {
  double bytes = static_cast<double>(ElementBytes(tensor));
  for (auto axis : tensor.shape()) bytes *= axis;
  if (bytes > 1u << 31) throw std::runtime_error("a shape that no message can hold");
  return static_cast<size_t>(bytes);
}

// The policy: `turn.observations(i)` holds rows of ends, then of steps, then of starts.
v1::Actions Act(const v1::TaskSpec& spec, const v1::Turn& turn) {
  v1::Actions actions;
  for (const auto& tensor : spec.actions()) {
    const int64_t first = tensor.discrete().start();  // zero is in every other domain
    const std::string element(reinterpret_cast<const char*>(&first), ElementBytes(tensor));
    std::string rows(RowBytes(tensor) * (turn.step_slots_size() + turn.start_slots_size()), '\0');
    for (size_t at = 0; first != 0 && at < rows.size(); at += element.size())
      rows.replace(at, element.size(), element);
    actions.add_actions(rows);
  }
  return actions;
}

void Check(const v1::TaskSpec& spec, const v1::Turn& turn) {
  const int judged = turn.end_slots_size() + turn.step_slots_size();
  const size_t rows = judged + turn.start_slots_size();
  const bool withheld = turn.phase() == v1::PHASE_EVALUATE && !spec.rewards_in_evaluation();
  bool fits = v1::Phase_IsValid(turn.phase()) && spec.slots() > 0 &&
              turn.observations_size() == spec.observations_size() &&
              (withheld || turn.rewards().size() == 8u * judged);
  for (int i = 0; fits && i < turn.observations_size(); ++i)
    fits = turn.observations(i).size() == rows * RowBytes(spec.observations(i));
  for (int kind : turn.end_kinds()) fits = fits && v1::EndKind_IsValid(kind);
  for (const auto* slots : {&turn.end_slots(), &turn.step_slots(), &turn.start_slots()})
    for (auto slot : *slots) fits = fits && slot < spec.slots();
  if (!fits) throw std::runtime_error("a turn before init, or one that does not fit the TaskSpec");
}

// What a join string says: the glue's address, a token, and the authority and name for TLS.
struct Place {
  std::string address, token, ca, name;

  // Reads `host:port`, or a join string.
  explicit Place(std::string text) : address(text) {
    if (const char* given = std::getenv("REGLUE_TOKEN")) token = given;
    if (text.find("://") == std::string::npos) return;
    const size_t begin = text.find("://") + 3, query = std::min(text.find('?'), text.size());
    address = text.substr(begin, query - begin);
    if (!address.empty() && address.back() == '/') address.pop_back();
    if (query == text.size()) return;
    std::istringstream entries(text.substr(query + 1) + "&");
    for (std::string entry; std::getline(entries, entry, '&');) {
      const size_t is = std::min(entry.find('='), entry.size());
      const std::string key = entry.substr(0, is), value = Decoded(entry.substr(is));
      std::string* field = key == "token"  ? &token
                           : key == "ca"   ? &ca
                           : key == "name" ? &name
                                           : nullptr;
      if (!field || (value.empty() && field == &ca))
        throw std::runtime_error("a join string that was cut, or of a later version");
      *field = value;
    }
  }

  std::shared_ptr<grpc::Channel> Dial(const std::string& to, grpc::ChannelArguments options) const {
    if (ca.empty())
      return grpc::CreateCustomChannel(to, grpc::InsecureChannelCredentials(), options);
    grpc::SslCredentialsOptions trusted;
    trusted.pem_root_certs = Pem();
    if (!name.empty()) options.SetSslTargetNameOverride(name);
    return grpc::CreateCustomChannel(to, grpc::SslCredentials(trusted), options);
  }

  // The value behind a `=`: percent-encoded, and `+` is a space.
  static std::string Decoded(const std::string& text) {
    std::string out;
    for (size_t i = 1; i < text.size(); ++i) {
      const bool is_encoded = text[i] == '%';
      out += is_encoded       ? static_cast<char>(std::stoi(text.substr(i + 1, 2), nullptr, 16))
             : text[i] == '+' ? ' '
                              : text[i];
      i += is_encoded ? 2 : 0;
    }
    return out;
  }

  // `ca` holds certificates, one after another, in URL-safe base64 without padding.
  std::string Pem() const {
    std::string text = ca + std::string((4 - ca.size() % 4) % 4, '=');
    for (char& c : text) c = c == '-' ? '+' : c == '_' ? '/' : c;
    std::vector<unsigned char> der(text.size());
    const auto* from = reinterpret_cast<const unsigned char*>(text.data());
    const int size = EVP_DecodeBlock(der.data(), from, static_cast<int>(text.size()));
    std::unique_ptr<BIO, int (*)(BIO*)> out(BIO_new(BIO_s_mem()), BIO_free);
    const unsigned char* at = der.data();
    while (X509* each = d2i_X509(nullptr, &at, size - (at - der.data()))) {
      PEM_write_bio_X509(out.get(), each);
      X509_free(each);
    }
    char* pem = nullptr;
    const long length = BIO_get_mem_data(out.get(), &pem);
    return std::string(pem, length);
  }
};

v1::Ticket Join(const Place& place) {
  v1::JoinRequest request;
  request.set_major(1);
  request.set_role(v1::ROLE_AGENT);
  request.set_token(place.token);
  request.set_name("minimal");
  for (int tries = 0;; ++tries) {
    grpc::ClientContext context;
    context.set_deadline(std::chrono::system_clock::now() + std::chrono::seconds(10));
    v1::Ticket ticket;
    auto status =
        v1::LobbyService::NewStub(place.Dial(place.address, {}))->Join(&context, request, &ticket);
    if (status.ok()) return ticket;
    bool busy =
        status.error_code() == grpc::UNAVAILABLE || status.error_code() == grpc::RESOURCE_EXHAUSTED;
    if (!busy || tries == 300) throw std::runtime_error(status.error_message());
    std::this_thread::sleep_for(std::chrono::milliseconds(200));
  }
}

v1::AgentReply Hello(const v1::Ticket& ticket) {
  const std::string text = "reglue.v1 hello " + ticket.session() + " 0";  // 0: none answered
  unsigned char proof[EVP_MAX_MD_SIZE];
  unsigned int size = 0;
  HMAC(EVP_sha256(), ticket.secret().data(), static_cast<int>(ticket.secret().size()),
       reinterpret_cast<const unsigned char*>(text.data()), text.size(), proof, &size);
  v1::AgentReply reply;
  auto* hello = reply.mutable_hello();
  hello->set_major(1);
  hello->set_sdk("minimal C++");
  hello->set_agent("First");
  hello->set_partial_turns(true);
  hello->set_adapts(true);
  hello->set_episodic(true);
  hello->set_session(ticket.session());
  hello->set_proof(proof, size);
  return reply;
}

v1::AgentReply Answer(v1::TaskSpec& spec, const v1::AgentCall& call) {
  v1::AgentReply reply;
  reply.set_seq(call.seq());
  switch (call.call_case()) {
    case v1::AgentCall::kInit:
      spec = call.init().spec();
      for (const auto* tensors : {&spec.observations(), &spec.actions()})
        for (const auto& tensor : *tensors) RowBytes(tensor);
      [[fallthrough]];
    case v1::AgentCall::kFreeze:
    case v1::AgentCall::kAdaptBegin:
    case v1::AgentCall::kAdapt:
    case v1::AgentCall::kCleanup: reply.mutable_done(); return reply;
    case v1::AgentCall::kTurn:
      Check(spec, call.turn());
      *reply.mutable_actions() = Act(spec, call.turn());
      return reply;
    case v1::AgentCall::kMessage: reply.mutable_message(); return reply;
    default: throw std::runtime_error("a call of a later version");
  }
}

int main() try {
  const Place place(std::getenv("REGLUE_ADDRESS"));
  const auto ticket = Join(place);
  grpc::ChannelArguments limits;
  limits.SetMaxReceiveMessageSize(ticket.max_message_bytes());
  limits.SetMaxSendMessageSize(ticket.max_message_bytes());
  auto channel = place.Dial(ticket.address().empty() ? place.address : ticket.address(), limits);
  grpc::ClientContext context;
  context.AddMetadata("reglue-session", ticket.session());
  auto stream = v1::AgentService::NewStub(channel)->Session(&context);
  stream->Write(Hello(ticket));

  v1::TaskSpec spec;
  v1::AgentCall call;
  while (stream->Read(&call)) {
    if (call.has_farewell()) stream->WritesDone();
    if (call.has_farewell() || call.has_refusal()) continue;  // neither is answered
    try {
      stream->Write(Answer(spec, call));
    } catch (const std::exception& error) {
      v1::AgentReply reply;
      reply.set_seq(call.seq());
      reply.mutable_fault()->set_what(error.what());
      stream->Write(reply);
      stream->Read(&call);  // the farewell
      throw;
    }
  }
  const auto status = stream->Finish();
  if (!status.ok()) throw std::runtime_error(status.error_message());
} catch (const std::exception& error) {
  std::cerr << error.what() << "\n";
  return 1;
}
