// `attune export-html` as a user runs it, against a scripted server.
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "gmock/gmock.h"
#include "tests/client/attention_parts.h"
#include "tests/client/cli/program_fixture.h"

namespace attune {
namespace {

using ::attune::testing::CountingMap;
using ::attune::testing::FakeEncoder;
using ::attune::testing::kError;
using ::attune::testing::kOk;
using ::attune::testing::kUsage;
using ::attune::testing::ProgramResult;
using ::attune::testing::ProgramTest;
using ::attune::testing::StreamParts;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::StartsWith;

class ExportHtmlCommandTest : public ProgramTest {
 protected:
  // The server streams a map of so many tokens.
  void Serve(uint64_t layers, uint64_t tokens) {
    server_.encoder().attention_stream = [this, layers, tokens](const v1::AttentionQuery& query,
                                                                FakeEncoder::StreamWriter& writer) {
      seen_ = query;
      v1::AttentionMapResponse map = CountingMap(layers, 1, tokens, tokens);
      for (uint32_t i = 0; i < tokens; ++i) {
        map.add_tokens()->set_text("<b>");
        map.add_queries(i);
        map.add_keys(i);
      }
      map.set_truncated(true);
      for (const auto& part : StreamParts(map, 64)) {
        if (!writer.Write(part)) break;
      }
      return grpc::Status::OK;
    };
  }

  v1::AttentionQuery seen_;
};

TEST_F(ExportHtmlCommandTest, WritesOneFileAndSaysSo) {
  Serve(2, 3);
  const std::string path = folder_.Path("page.html");
  const ProgramResult result =
      Attune({"export-html", "some <i>text</i>", "--ablate", "1/0", "-o", path});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(result.out, IsEmpty());
  EXPECT_THAT(result.err,
              AllOf(HasSubstr(absl::StrCat("wrote ", path)), HasSubstr("KiB; open it in a browser"),
                    HasSubstr("1 of 1 texts had too many tokens")));
  EXPECT_TRUE(seen_.statistics());
  EXPECT_EQ(seen_.encoding(), v1::ATTENTION_ENCODING_F16);
  EXPECT_THAT(
      Content(path),
      AllOf(StartsWith("<!doctype html>"), HasSubstr("<bdi>some &lt;i&gt;text&lt;/i&gt;</bdi>"),
            HasSubstr("<dt>switched off</dt><dd>layer 1 head 0 (zero)</dd>")));
}

TEST_F(ExportHtmlCommandTest, WritesToStandardOutputForAPipe) {
  Serve(1, 2);
  const ProgramResult result = Attune({"export-html", "t", "--matrix", "rollout"});
  ASSERT_EQ(result.exit_code, kOk) << result.err;
  EXPECT_THAT(result.out, StartsWith("<!doctype html>"));
  EXPECT_FALSE(seen_.statistics()) << "a matrix without heads has none";
}

TEST_F(ExportHtmlCommandTest, RefusesAPageOfMoreThan32MiBWithTheReason) {
  Serve(30, 512);
  const std::string path = File("page.html", "old");
  const ProgramResult result = Attune({"export-html", "t", "-o", path});
  EXPECT_EQ(result.exit_code, kError);
  EXPECT_THAT(result.err, AllOf(HasSubstr("would have more than 40.0 MiB, and is at most 32 MiB"),
                                HasSubstr("--layer"), HasSubstr("INVALID_ARGUMENT")));
  EXPECT_EQ(Content(path), "old");
}

TEST_F(ExportHtmlCommandTest, WrongUsageSaysWhatWouldDo) {
  EXPECT_THAT(Attune({"export-html", "t", "--matrix", "none"}).err,
              HasSubstr("--matrix none has no map"));
  const ProgramResult result = Attune({"export-html", "t"}, {.on_terminal = true});
  EXPECT_EQ(result.exit_code, kUsage);
  EXPECT_THAT(absl::StrCat(result.err, result.out), HasSubstr("--output FILE"));
}

}  // namespace
}  // namespace attune
