#include "client/cli/table.h"

#include "gmock/gmock.h"

namespace attune::cli {
namespace {

TEST(TableTest, AlignsColumnsByDisplayWidth) {
  Table table({{.name = "token"}, {.name = "id", .align = Align::kRight}});
  table.AddRow({"没", "7"});
  table.AddRow({"cat", "12345"});
  EXPECT_EQ(table.ToString(),
            "token     id\n"
            "没         7\n"
            "cat    12345\n");
}

TEST(TableTest, HasNoHeaderWithoutNames) {
  Table table({{.name = ""}, {.name = ""}});
  table.AddRow({"name", "value"});
  EXPECT_EQ(table.ToString(), "name  value\n");
}

TEST(TableTest, CutsLongCellsAndEscapesControls) {
  Table table({{.name = "text", .max_width = 6}});
  table.AddRow({"abcdefgh"});
  table.AddRow({"a\x1b"});
  EXPECT_EQ(table.ToString(),
            "text\n"
            "abcde…\n"
            "a\\u{1…\n");
}

TEST(TableTest, FillsMissingCellsAndTrimsTrailingSpaces) {
  Table table({{.name = "a"}, {.name = "b"}});
  table.AddRow({"x"});
  EXPECT_EQ(table.ToString(), "a  b\nx\n");
}

}  // namespace
}  // namespace attune::cli
