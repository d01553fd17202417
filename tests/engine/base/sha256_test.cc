#include "engine/base/sha256.h"

#include <algorithm>
#include <string>

#include "gtest/gtest.h"

namespace attune {
namespace {

// The examples of FIPS 180-4's test vectors (NIST CAVP).
TEST(Sha256Test, MatchesThePublishedVectors) {
  EXPECT_EQ(Sha256Hex(""), "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
  EXPECT_EQ(Sha256Hex("abc"), "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
  EXPECT_EQ(Sha256Hex("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq"),
            "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
  EXPECT_EQ(Sha256Hex(std::string(1'000'000, 'a')),
            "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
}

TEST(Sha256Test, PiecesGiveTheDigestOfTheWhole) {
  const std::string text(1'000, 'x');
  for (size_t piece : {1u, 63u, 64u, 65u, 999u}) {
    Sha256 hash;
    for (size_t at = 0; at < text.size(); at += piece) {
      hash.Update(absl::string_view(text).substr(at, piece));
    }
    EXPECT_EQ(hash.HexDigest(), Sha256Hex(text)) << piece;
  }
}

}  // namespace
}  // namespace attune
