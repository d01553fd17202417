// Plain-text tables: a header, rows, columns two spaces apart.
#ifndef ATTUNE_CLIENT_CLI_TABLE_H_
#define ATTUNE_CLIENT_CLI_TABLE_H_

#include <string>
#include <vector>

namespace attune::cli {

enum class Align { kLeft, kRight };

struct Column {
  std::string name;
  Align align = Align::kLeft;
  // Longer cells are cut, with "…". 0: as wide as the widest cell.
  int max_width = 0;
};

// Thread-compatible.
class Table {
 public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}

  // One cell per column, in any bytes: they are made printable.
  void AddRow(const std::vector<std::string>& cells);

  // Lines ending in '\n', without trailing spaces. No header if no column has a name.
  std::string ToString() const;

 private:
  std::string FormatRow(const std::vector<std::string>& cells,
                        const std::vector<int>& widths) const;

  std::vector<Column> columns_;
  std::vector<std::vector<std::string>> rows_;
};

}  // namespace attune::cli

#endif  // ATTUNE_CLIENT_CLI_TABLE_H_
