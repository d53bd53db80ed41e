// The last answers of a session, for calls that come again, and the memory of the next one.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>

namespace reglue {

template <class Reply>
class Remembered {
 public:
  /// The answer that is written next. It holds an old one, whose memory can be used again.
  Reply& next() { return answers_[next_].reply; }

  /// next() has become the answer to call `seq`.
  void keep(std::uint64_t seq) {
    answers_[next_].seq = seq;
    next_ = (next_ + 1) % kWindow;
  }

  /// The answer to call `seq`; null if it is not remembered.
  const Reply* find(std::uint64_t seq) const {
    for (const Answer& each : answers_) {
      if (seq > 0 && each.seq == seq) return &each.reply;
    }
    return nullptr;
  }

  void forget() {
    for (Answer& each : answers_) each.seq = 0;
  }

 private:
  static constexpr std::size_t kWindow = 8;  // as many calls may be under way at once

  struct Answer {
    std::uint64_t seq = 0;  // 0: none
    Reply reply;
  };

  std::array<Answer, kWindow> answers_;
  std::size_t next_ = 0;
};

}  // namespace reglue
