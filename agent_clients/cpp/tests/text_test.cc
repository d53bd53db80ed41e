#include "text.h"

#include <gtest/gtest.h>

#include <fstream>
#include <nlohmann/json.hpp>

#include "log.h"
#include "net/streams/streams.h"
#include "reglue/errors.h"

namespace reglue {
namespace {

TEST(Text, OfAnyScriptIsUtf8) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8("aé€😀\u0800\uD7FF\U0010FFFF"));
}

TEST(Text, ThatIsCutOrOverlongOrASurrogateIsNot) {
  for (const char* text : {"\x80", "\xC3", "\xE2\x82", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80",
                           "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

TEST(Text, IsCutByCharactersAndCleanedOfOtherBytes) {
  EXPECT_EQ(clean("aé€😀b", 4), "aé€😀");
  EXPECT_EQ(clean("a\xFF"
                  "b",
                  9),
            "a?b");
}

/// Of tests/reglue/printable_words.json: the same cases in every language.
nlohmann::json cases() {
  return nlohmann::json::parse(
      std::ifstream(REGLUE_PROTO_DIR "/../tests/reglue/printable_words.json"));
}

std::string repeated(const std::string& text, int times) {
  std::string all;
  for (int i = 0; i < times; ++i) all += text;
  return all;
}

TEST(Words, OfAGlueAreCutAndLoseControlCharacters) {
  for (const auto& each : cases()) {
    const std::string words = repeated(each["told"], each.value("times", 1));
    const std::string printed = repeated(each["shown"], each.value("shown_times", 1));
    EXPECT_EQ(glue_text(words), printed) << each["what"];
    EXPECT_EQ(StreamEnded(words).what(), printed) << each["what"];
  }
}

TEST(Words, InErrorsAndLogsLoseControlCharacters) {
  std::string logged;
  Options options;
  options.log = [&](const std::string& line) { logged = line; };
  for (const auto& each : cases()) {
    if (each.contains("times")) continue;
    const std::string words = each["told"], printed = each["shown"];
    EXPECT_EQ(SessionLost(words).what(), printed) << each["what"];
    EXPECT_EQ(OutOfDomain(words, words).what(), "got " + printed + ", wanted " + printed);
    Log(options).warning(words);
    EXPECT_EQ(logged, printed) << each["what"];
  }
}

}  // namespace
}  // namespace reglue
