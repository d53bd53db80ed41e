#include "text.h"

#include <gtest/gtest.h>

namespace reglue {
namespace {

TEST(Text, OfAnyScriptIsUtf8) {
  EXPECT_TRUE(is_utf8(""));
  EXPECT_TRUE(is_utf8(u8"aé€😀\u0800\uD7FF\U0010FFFF"));
}

TEST(Text, ThatIsCutOrOverlongOrASurrogateIsNot) {
  for (const char* text : {"\x80", "\xC3", "\xE2\x82", "\xC0\xAF", "\xE0\x80\x80", "\xED\xA0\x80",
                           "\xF0\x80\x80\x80", "\xF4\x90\x80\x80", "\xFF"}) {
    EXPECT_FALSE(is_utf8(text));
  }
}

TEST(Text, IsCutByCharactersAndCleanedOfOtherBytes) {
  EXPECT_EQ(clean(u8"aé€😀b", 4), u8"aé€😀");
  EXPECT_EQ(clean("a\xFF" "b", 9), "a?b");
}

}  // namespace
}  // namespace reglue
