#include "client/cli/html_page.h"

#include <regex>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/json.h"
#include "gmock/gmock.h"
#include "tests/client/attention_parts.h"
#include "tests/support/status_matchers.h"

namespace attune::cli {
namespace {

using ::attune::testing::CountingMap;
using ::attune::testing::IsOk;
using ::attune::testing::StatusIs;
using ::testing::AllOf;
using ::testing::HasSubstr;
using ::testing::Not;

const std::string kHostile = "</script><img src=x onerror=alert(1)> & \"{{attune}}\" \xe2\x80\xa8";

v1::AttentionMapResponse MapOf(const std::vector<std::string>& tokens, uint64_t layers = 1) {
  v1::AttentionMapResponse map = CountingMap(layers, 2, tokens.size(), tokens.size());
  for (const std::string& token : tokens) map.add_tokens()->set_text(token);
  for (uint32_t i = 0; i < tokens.size(); ++i) {
    map.add_queries(i);
    map.add_keys(i);
  }
  map.mutable_provenance()->set_model(kHostile);
  return map;
}

// What is in the script element of that id.
std::string EmbeddedText(const std::string& page, const std::string& id) {
  const std::string begin = absl::StrCat("<script type=\"application/json\" id=\"", id, "\">");
  const size_t at = page.find(begin) + begin.size();
  return page.substr(at, page.find("</script>", at) - at);
}

Json Embedded(const std::string& page, const std::string& id) {
  return Json::parse(EmbeddedText(page, id));
}

TEST(HtmlPageTest, HoldsTheCallItsReplyAndTheDataForBertViz) {
  v1::AttentionQuery query;
  query.set_text("cat");
  query.add_layers(0);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string page, MakeHtmlPage(query, MapOf({"a", "b"}), true));
  const Json exchange = Embedded(page, "attune");
  EXPECT_EQ(exchange["request"]["query"]["text"], "cat");
  EXPECT_EQ(exchange["response"]["shape"], Json::parse(R"(["1", "2", "2", "2"])"));
  EXPECT_EQ(exchange["response"]["heads"], Json::parse("[0, 1]"));
  EXPECT_EQ(Embedded(page, "bertviz")["attention"][0]["attn"][0][1],
            Json::parse("[[4, 5], [6, 7]]"));
}

TEST(HtmlPageTest, NothingThatWasTypedIsEverHtml) {
  v1::AttentionQuery query;
  query.mutable_text_pair()->set_first(kHostile);
  query.mutable_text_pair()->set_second(kHostile);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string page,
                              MakeHtmlPage(query, MapOf({kHostile, "b"}), true));
  EXPECT_THAT(page, AllOf(Not(HasSubstr("<img")),
                          HasSubstr("&lt;/script&gt;&lt;img src=x onerror=alert(1)&gt; &amp; "
                                    "&quot;{{attune}}&quot;")));
  for (const char* id : {"attune", "bertviz"}) {
    EXPECT_THAT(EmbeddedText(page, id), AllOf(Not(HasSubstr("<")), Not(HasSubstr("\xe2\x80\xa8"))));
  }
  EXPECT_EQ(Embedded(page, "attune")["response"]["tokens"][0]["text"], kHostile);
  EXPECT_EQ(Embedded(page, "bertviz")["attention"][0]["left_text"][0], kHostile);
}

TEST(HtmlPageTest, LoadsNothingAndRunsOnlyItsOwnScript) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string page, MakeHtmlPage({}, MapOf({"a"}), true));
  EXPECT_THAT(page, HasSubstr("default-src 'none'; img-src data:; style-src 'unsafe-inline'; "
                              "script-src 'sha256-"));
  const std::regex address("(src|href)=\"(?!data:)");
  EXPECT_FALSE(std::regex_search(page, address));
  for (const char* placeholder : {"{{title}}", "{{style}}", "{{script}}", "{{script-sha256}}",
                                  "{{text}}", "{{facts}}", "{{bertviz}}"}) {
    EXPECT_THAT(page, Not(HasSubstr(placeholder)));
  }
}

TEST(HtmlPageTest, ShowsTokenIdsWhereThereIsNoText) {
  v1::AttentionQuery query;
  for (const uint32_t id : {101u, 102u}) query.mutable_token_ids()->add_values(id);
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string page, MakeHtmlPage(query, MapOf({"a"}), true));
  EXPECT_THAT(page, HasSubstr("<bdi>token ids 101 102</bdi>"));
}

TEST(HtmlPageTest, DataForBertVizCanBeLeftOut) {
  ATTUNE_ASSERT_OK_AND_ASSIGN(const std::string page, MakeHtmlPage({}, MapOf({"a"}), false));
  EXPECT_EQ(Embedded(page, "bertviz"), Json());
}

TEST(HtmlPageTest, RefusesWhatIsLargerThan32MiBAndSaysWhatToLeaveOut) {
  const std::vector<std::string> tokens(512, "word");
  const v1::AttentionMapResponse fits = MapOf(tokens, 10);
  EXPECT_THAT(MakeHtmlPage({}, fits, false), IsOk());
  EXPECT_THAT(MakeHtmlPage({}, fits, true),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("at most 32 MiB"), HasSubstr("--no-bertviz"))));
  EXPECT_THAT(MakeHtmlPage({}, MapOf(tokens, 13), false),
              StatusIs(absl::StatusCode::kInvalidArgument, HasSubstr("would have 34.")));
}

TEST(HtmlPageTest, KnowsFromTheHeaderWhatCannotFit) {
  v1::AttentionMapResponse header;
  header.set_encoding(v1::ATTENTION_ENCODING_F16);
  for (const uint64_t size : {12, 12, 512, 512}) header.add_shape(size);
  EXPECT_THAT(CheckFitsHtmlPage(header),
              StatusIs(absl::StatusCode::kInvalidArgument,
                       AllOf(HasSubstr("more than 96.0 MiB"), HasSubstr("--layer -1"))));
  header.set_shape(0, 3);
  EXPECT_THAT(CheckFitsHtmlPage(header), IsOk());
}

TEST(HtmlPageTest, RefusesAReplyThatIsNoMap) {
  EXPECT_THAT(MakeHtmlPage({}, {}, true), StatusIs(absl::StatusCode::kInternal, ::testing::_));
}

}  // namespace
}  // namespace attune::cli
