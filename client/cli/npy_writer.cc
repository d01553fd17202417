#include "client/cli/npy_writer.h"

#include <fcntl.h>

#include <array>
#include <bit>
#include <cerrno>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "absl/strings/str_join.h"
#include "absl/strings/string_view.h"

namespace attune::cli {
namespace {

static_assert(std::endian::native == std::endian::little, "rows are written as they are in memory");

absl::Status WriteBytes(std::FILE* file, absl::string_view bytes) {
  if (std::fwrite(bytes.data(), 1, bytes.size(), file) != bytes.size()) {
    return absl::ErrnoToStatus(errno, "cannot write the .npy array");
  }
  return absl::OkStatus();
}

// Whether earlier bytes can be overwritten; not so in a pipe, nor after `>>`.
bool CanRewind(std::FILE* file) {
  const int flags = fcntl(fileno(file), F_GETFL);
  return flags != -1 && (flags & O_APPEND) == 0 && std::fseek(file, 0, SEEK_CUR) == 0;
}

}  // namespace

std::string NpyHeader(absl::Span<const uint64_t> shape) {
  constexpr size_t kPrefixBytes = 10;  // magic, version, length of the dictionary
  constexpr uint8_t kDictionaryBytes = kNpyHeaderBytes - kPrefixBytes;
  std::string header("\x93NUMPY\x01\x00", 8);
  header.push_back(static_cast<char>(kDictionaryBytes));
  header.push_back('\0');
  absl::StrAppendFormat(&header, "{'descr': '<f4', 'fortran_order': False, 'shape': (%s), }",
                        absl::StrJoin(shape, ", "));
  header.resize(kNpyHeaderBytes - 1, ' ');
  header.push_back('\n');
  return header;
}

absl::StatusOr<NpyWriter> NpyWriter::Create(std::FILE* out) {
  if (CanRewind(out)) {
    const long start = std::ftell(out);
    if (absl::Status status = WriteBytes(out, NpyHeader({0, 0})); !status.ok()) return status;
    return NpyWriter(out, nullptr, start);
  }
  std::unique_ptr<std::FILE, CloseFile> spool(std::tmpfile());
  if (spool == nullptr) {
    return absl::ErrnoToStatus(errno, "cannot create a temporary file for the .npy array");
  }
  return NpyWriter(out, std::move(spool), 0);
}

absl::Status NpyWriter::AddRow(absl::Span<const float> row) {
  if (rows_ > 0 && row.size() != cols_) {
    return absl::InvalidArgumentError(absl::StrCat("row ", rows_, " has ", row.size(),
                                                   " values, the rows before it have ", cols_));
  }
  cols_ = row.size();
  ++rows_;
  return WriteBytes(
      spool_ != nullptr ? spool_.get() : out_,
      absl::string_view(reinterpret_cast<const char*>(row.data()), row.size() * sizeof(float)));
}

absl::Status NpyWriter::Finish() {
  const std::string header = NpyHeader({rows_, cols_});
  if (spool_ == nullptr) {
    if (std::fseek(out_, start_, SEEK_SET) != 0) {
      return absl::ErrnoToStatus(errno, "cannot rewind to the .npy header");
    }
    if (absl::Status status = WriteBytes(out_, header); !status.ok()) return status;
    if (std::fseek(out_, 0, SEEK_END) != 0 || std::fflush(out_) != 0) {
      return absl::ErrnoToStatus(errno, "cannot write the .npy array");
    }
    return absl::OkStatus();
  }
  if (absl::Status status = WriteBytes(out_, header); !status.ok()) return status;
  std::rewind(spool_.get());
  std::array<char, 1 << 16> buffer;
  while (const size_t bytes = std::fread(buffer.data(), 1, buffer.size(), spool_.get())) {
    absl::Status status = WriteBytes(out_, absl::string_view(buffer.data(), bytes));
    if (!status.ok()) return status;
  }
  if (std::ferror(spool_.get()) != 0 || std::fflush(out_) != 0) {
    return absl::ErrnoToStatus(errno, "cannot write the .npy array");
  }
  return absl::OkStatus();
}

}  // namespace attune::cli
