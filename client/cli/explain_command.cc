#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_format.h"
#include "client/cli/commands.h"
#include "client/cli/json.h"
#include "client/cli/table.h"
#include "client/cli/token_json.h"
#include "client/cli/truncation_flag.h"

namespace attune::cli {
namespace {

constexpr int kTokenWidth = 24;

// The shares of pairs of tokens [first, second], row-major.
struct Shares {
  std::vector<std::string> first = {};
  std::vector<std::string> second = {};
  std::vector<float> values = {};

  float at(size_t i, size_t j) const { return values[i * second.size() + j]; }
};

absl::StatusOr<Shares> ReadShares(const v1::ExplainSimilarityResponse& response) {
  Shares shares;
  for (const v1::Token& token : response.first_tokens()) shares.first.push_back(token.text());
  for (const v1::Token& token : response.second_tokens()) shares.second.push_back(token.text());
  const auto& values = response.contributions().values();
  shares.values.assign(values.begin(), values.end());
  if (shares.values.size() != shares.first.size() * shares.second.size()) {
    return absl::InternalError(absl::StrCat("the server sent ", shares.values.size(),
                                            " contributions for ", shares.first.size(), " and ",
                                            shares.second.size(), " tokens"));
  }
  return shares;
}

// Numbers of the `count` values that are largest, whatever their sign.
template <typename Value>
std::vector<size_t> Largest(const std::vector<Value>& values, size_t count) {
  std::vector<size_t> order(values.size());
  std::iota(order.begin(), order.end(), size_t{0});
  count = std::min(count, order.size());
  std::partial_sort(order.begin(), order.begin() + static_cast<std::ptrdiff_t>(count), order.end(),
                    [&values](size_t a, size_t b) {
                      const auto size_a = std::abs(values[a]);
                      const auto size_b = std::abs(values[b]);
                      return size_a != size_b ? size_a > size_b : a < b;
                    });
  order.resize(count);
  return order;
}

std::string ShareText(double share) { return absl::StrFormat("%+.4f", share); }

std::string PairTable(const Shares& shares, size_t count) {
  Table table({{.name = "share", .align = Align::kRight},
               {.name = "first", .max_width = kTokenWidth},
               {.name = "second", .max_width = kTokenWidth}});
  for (const size_t pair : Largest(shares.values, count)) {
    table.AddRow({ShareText(shares.values[pair]), shares.first[pair / shares.second.size()],
                  shares.second[pair % shares.second.size()]});
  }
  return table.ToString();
}

// What each token adds with all tokens of the other text.
std::string TokenTable(const std::string& name, const std::vector<std::string>& tokens,
                       const std::vector<double>& sums, size_t count) {
  Table table(
      {{.name = "share", .align = Align::kRight}, {.name = name, .max_width = kTokenWidth}});
  for (const size_t token : Largest(sums, count)) {
    table.AddRow({ShareText(sums[token]), tokens[token]});
  }
  return table.ToString();
}

std::string ExplanationToText(const v1::ExplainSimilarityResponse& response, const Shares& shares,
                              size_t count) {
  std::vector<double> first(shares.first.size());
  std::vector<double> second(shares.second.size());
  for (size_t i = 0; i < first.size(); ++i) {
    for (size_t j = 0; j < second.size(); ++j) {
      first[i] += shares.at(i, j);
      second[j] += shares.at(i, j);
    }
  }
  return absl::StrCat(
      absl::StrFormat("cosine %.4f, the sum of the shares of %d pairs of tokens\n\n",
                      response.cosine(), shares.values.size()),
      PairTable(shares, count), "\n", TokenTable("first", shares.first, first, count), "\n",
      TokenTable("second", shares.second, second, count));
}

std::string ExplanationToJson(const v1::ExplainSimilarityRequest& request,
                              const v1::ExplainSimilarityResponse& response, const Shares& shares) {
  Json json = {{"first", request.first()},
               {"second", request.second()},
               {"cosine", response.cosine()},
               {"first_truncated", response.first_truncated()},
               {"second_truncated", response.second_truncated()},
               {"beyond_trained_length", response.beyond_trained_length()},
               {"model", response.provenance().model()},
               {"model_revision", response.provenance().model_revision()},
               {"first_tokens", Json::array()},
               {"second_tokens", Json::array()}};
  for (const v1::Token& token : response.first_tokens()) {
    json["first_tokens"].push_back(TokenToJson(token));
  }
  for (const v1::Token& token : response.second_tokens()) {
    json["second_tokens"].push_back(TokenToJson(token));
  }
  // Written straight to text: as Json values the numbers would take ten times the memory.
  std::string out = DumpJson(json);
  out.back() = ',';
  out += "\"contributions\":";
  AppendMatrix(shares.values, shares.second.size(), out);
  return absl::StrCat(out, "}\n");
}

class ExplainCommand : public Command {
 public:
  explicit ExplainCommand(CLI::App& parent)
      : Command(
            parent, "explain", "Show which tokens of two texts carry their similarity",
            "Each pair of tokens has a share of the cosine of the two vectors; all shares add up "
            "to it.\nA negative share makes the texts less similar.\n\n"
            "Examples:\n"
            "  attune explain \"a cat sleeps\" \"a kitten naps\"\n"
            "  attune explain \"a cat sleeps\" \"a kitten naps\" --format json > shares.json") {
    flags().Add("first", first_, "The first text").Required();
    flags().Add("second", second_, "The second text").Required();
    truncation_.AddTo(flags());
    flags().Add("-n,--top", top_, "Rows of each table").Positive().ShowDefault();
    flags()
        .Add("-f,--format", format_, "Tables of the largest shares, or JSON with all")
        .OneOf({"table", "json"})
        .ShowDefault();
  }

  absl::Status Run() override;

 private:
  std::string first_;
  std::string second_;
  TruncationFlags truncation_;
  size_t top_ = 10;
  std::string format_ = "table";
};

absl::Status ExplainCommand::Run() {
  const auto client = Connect();
  if (!client.ok()) return client.status();
  v1::ExplainSimilarityRequest request;
  request.set_first(first_);
  request.set_second(second_);
  truncation_.SetOn(request);
  const absl::StatusOr<v1::ExplainSimilarityResponse> response =
      (*client)->ExplainSimilarity(request);
  if (!response.ok()) return response.status();
  const absl::StatusOr<Shares> shares = ReadShares(*response);
  if (!shares.ok()) return shares.status();
  size_t cut = response->first_truncated() ? 1 : 0;
  if (response->second_truncated()) ++cut;
  truncation_.WarnAboutCuts(cut, 2);
  truncation_.WarnAboutLength(response->beyond_trained_length() ? 1 : 0, 2);
  return Print(format_ == "json" ? ExplanationToJson(request, *response, *shares)
                                 : ExplanationToText(*response, *shares, top_));
}

}  // namespace

std::unique_ptr<Command> MakeExplainCommand(CLI::App& parent) {
  return std::make_unique<ExplainCommand>(parent);
}

}  // namespace attune::cli
