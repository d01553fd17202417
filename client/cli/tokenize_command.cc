#include <utility>
#include <vector>

#include "absl/strings/str_cat.h"
#include "client/cli/commands.h"
#include "client/cli/display.h"
#include "client/cli/input_flags.h"
#include "client/cli/json.h"
#include "client/cli/table.h"
#include "client/cli/token_json.h"
#include "client/cli/truncation_flag.h"

namespace attune::cli {
namespace {

constexpr int kMaxTokenWidth = 32;
// A token with its offsets takes many times the bytes of its text, so requests stay small.
constexpr size_t kMaxRequestTexts = 64;
constexpr size_t kMaxRequestBytes = 32 << 10;

std::string RangeText(uint32_t begin, uint32_t end) {
  return begin == end ? "" : absl::StrCat(begin, "-", end);
}

std::string TokensToTable(const v1::TokenizedText& text) {
  Table table({{.name = "#", .align = Align::kRight},
               {.name = "token", .max_width = kMaxTokenWidth},
               {.name = "id", .align = Align::kRight},
               {.name = "bytes", .align = Align::kRight},
               {.name = "code points", .align = Align::kRight},
               {.name = "word", .align = Align::kRight}});
  int number = 0;
  for (const v1::Token& token : text.tokens()) {
    table.AddRow({absl::StrCat(number++), token.text(), absl::StrCat(token.id()),
                  RangeText(token.byte_begin(), token.byte_end()),
                  RangeText(token.code_point_begin(), token.code_point_end()),
                  token.word() < 0 ? "" : absl::StrCat(token.word())});
  }
  return table.ToString();
}

std::string TokensToJsonLine(const std::string& text, const v1::TokenizedText& tokenized) {
  Json json = {{"text", text}, {"truncated", tokenized.truncated()}, {"tokens", Json::array()}};
  for (const v1::Token& token : tokenized.tokens()) json["tokens"].push_back(TokenToJson(token));
  return absl::StrCat(DumpJson(json), "\n");
}

class TokenizeCommand : public Command {
 public:
  explicit TokenizeCommand(CLI::App& parent)
      : Command(parent, "tokenize", "Show how the model's tokenizer reads a text",
                "Examples:\n"
                "  attune tokenize \"Unbelievable!\"\n"
                "  attune tokenize --input texts.txt --format jsonl > tokens.jsonl") {
    input_.AddTo(flags());
    truncation_.AddTo(flags());
    flags().Add("-f,--format", format_, "How to print it").OneOf({"table", "jsonl"}).ShowDefault();
    flags().AddSwitch("--no-specials", no_specials_, "Leave out [CLS], [SEP] and the like");
    flags().Check([this] { return input_.ChooseInput(); });
  }

  absl::Status Run() override;

 private:
  // Reads inputs until a request is full or the source has ended.
  absl::StatusOr<v1::TokenizeRequest> NextRequest(InputSource& source) const;
  std::string Format(const std::string& text, const v1::TokenizedText& tokenized) const;

  InputFlags input_;
  TruncationFlags truncation_;
  std::string format_ = "table";
  bool no_specials_ = false;
};

absl::StatusOr<v1::TokenizeRequest> TokenizeCommand::NextRequest(InputSource& source) const {
  v1::TokenizeRequest request;
  request.set_without_special_tokens(no_specials_);
  truncation_.SetOn(request);
  v1::TextList& texts = *request.mutable_texts();
  size_t bytes = 0;
  while (static_cast<size_t>(texts.values_size()) < kMaxRequestTexts && bytes < kMaxRequestBytes) {
    absl::StatusOr<std::optional<EncodeInput>> input = source.Next();
    if (!input.ok()) return input.status();
    if (!*input) break;
    bytes += std::get<std::string>(**input).size();
    texts.add_values(std::get<std::string>(**std::move(input)));
  }
  return request;
}

std::string TokenizeCommand::Format(const std::string& text,
                                    const v1::TokenizedText& tokenized) const {
  if (format_ == "jsonl") return TokensToJsonLine(text, tokenized);
  return absl::StrCat(Printable(text), "\n", TokensToTable(tokenized), "\n");
}

absl::Status TokenizeCommand::Run() {
  const auto client = Connect();
  if (!client.ok()) return client.status();
  const auto source = InputSource::Open(input_);
  if (!source.ok()) return source.status();
  size_t texts = 0;
  size_t cut = 0;
  while (true) {
    const absl::StatusOr<v1::TokenizeRequest> request = NextRequest(**source);
    if (!request.ok()) return request.status();
    const int asked = request->texts().values_size();
    if (asked == 0) break;
    const absl::StatusOr<v1::TokenizeResponse> response = (*client)->Tokenize(*request);
    if (!response.ok()) return response.status();
    if (response->texts_size() != asked) {
      return absl::InternalError(
          absl::StrCat("the server answered ", response->texts_size(), " of ", asked, " texts"));
    }
    for (int i = 0; i < asked; ++i) {
      const v1::TokenizedText& tokenized = response->texts(i);
      absl::Status status = Print(Format(request->texts().values(i), tokenized));
      if (!status.ok()) return status;
      ++texts;
      if (tokenized.truncated()) ++cut;
    }
  }
  truncation_.WarnAboutCuts(cut, texts);
  return absl::OkStatus();
}

}  // namespace

std::unique_ptr<Command> MakeTokenizeCommand(CLI::App& parent) {
  return std::make_unique<TokenizeCommand>(parent);
}

}  // namespace attune::cli
