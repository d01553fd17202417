#include <fstream>
#include <iostream>
#include <iterator>

#include "absl/strings/str_cat.h"
#include "client/cli/attend_json.h"
#include "client/cli/commands.h"
#include "client/cli/matrix_text.h"
#include "client/cli/terminal.h"

namespace attune::cli {
namespace {

absl::StatusOr<std::string> ReadAll(const std::string& path) {
  std::ifstream file;
  if (path != "-") {
    file.open(path, std::ios::binary);
    if (!file) return absl::ErrnoToStatus(errno, absl::StrCat("cannot open ", path));
  }
  std::istream& in = path == "-" ? std::cin : file;
  std::string text{std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
  if (in.bad()) return absl::ErrnoToStatus(errno, absl::StrCat("cannot read ", path));
  return text;
}

// One step of the mechanism, or nothing if the reply does not have it.
std::string StepText(absl::string_view title, const v1::Matrix& matrix, int width) {
  if (matrix.values().empty()) return "";
  return absl::StrCat(MatrixText(title, matrix.values(), matrix.rows(), matrix.cols(), width),
                      "\n");
}

// A step that each head has a matrix [seq, seq] of.
std::string HeadsText(absl::string_view title, const v1::Matrix& matrix, int width) {
  const size_t seq = matrix.cols();
  if (seq == 0 || matrix.rows() == seq) return StepText(title, matrix, width);
  const absl::Span<const float> values = matrix.values();
  std::string text;
  for (size_t head = 0; head * seq < matrix.rows(); ++head) {
    absl::StrAppend(&text,
                    MatrixText(absl::StrCat(title, ", head ", head),
                               values.subspan(head * seq * seq, seq * seq), seq, seq, width),
                    "\n");
  }
  return text;
}

std::string ScoreTitle(const v1::AttendRequest& request) {
  switch (request.score()) {
    case v1::ATTEND_SCORE_DOT:
      return "scores = Q K^T";
    case v1::ATTEND_SCORE_ADDITIVE:
      return "scores = w . tanh(q + k)";
    default:
      return "scores = Q K^T / sqrt(head_dim)";
  }
}

std::string WeightsTitle(const v1::AttendRequest& request) {
  if (request.has_given_weights()) return "weights, as given";
  const bool relu = request.normalizer() == v1::ATTEND_NORMALIZER_RELU;
  const char* masked = request.mask().kind_case() == v1::AttendMask::KIND_NOT_SET ? "" : ", masked";
  return absl::StrCat(relu ? "weights = max(0, scores)" : "weights = softmax(scores)", masked,
                      "; row: from, column: to");
}

std::string StepsToText(const v1::AttendRequest& request, const v1::AttendResponse& response,
                        int width) {
  const char* x = request.position() == v1::ATTEND_POSITION_SINUSOIDAL ? "(X + positions)" : "X";
  const auto projection = [x](const char* name, bool projected, const char* matrix) {
    return projected ? absl::StrCat(name, " = ", x, " ", matrix) : absl::StrCat(name, " = ", x);
  };
  const char* outputs =
      request.has_output_projection() ? "outputs = (weights V) W_o" : "outputs = weights V";
  return absl::StrCat(
      StepText("X, the vectors", request.vectors(), width),
      StepText(projection("Q", request.has_query_projection(), "W_q"), response.queries(), width),
      StepText(projection("K", request.has_key_projection(), "W_k"), response.keys(), width),
      StepText(projection("V", request.has_value_projection(), "W_v"), response.values(), width),
      HeadsText(ScoreTitle(request), response.scores(), width),
      HeadsText(WeightsTitle(request), response.weights(), width),
      StepText(outputs, response.outputs(), width));
}

class AttendCommand : public Command {
 public:
  explicit AttendCommand(CLI::App& parent)
      : Command(
            parent, "attend",
            "Run the attention mechanism on vectors of your own and show every step",
            "FILE is a JSON object. Only \"vectors\" must be there; a matrix is an array of "
            "rows:\n"
            "  {\"vectors\": [[1, 0], [0, 1]], \"query_projection\": .., \"key_projection\": .., "
            "\"value_projection\": ..,\n"
            "   \"output_projection\": .., \"additive_vector\": [..], \"given_weights\": .., "
            "\"heads\": 1,\n"
            "   \"score\": \"scaled_dot|dot|additive\", \"normalizer\": \"softmax|relu\", "
            "\"position\": \"none|sinusoidal\",\n"
            "   \"mask\": \"none\" | \"causal\" | {\"window\": {\"left\": 1, \"right\": 1}} | "
            "{\"graph\": [[0, 1], ..]}}\n\n"
            "Examples:\n"
            "  attune attend --example a     # plain dot products of three vectors\n"
            "  attune attend --example b     # queries, keys and values by projection\n"
            "  echo '{\"vectors\": [[1,0],[0,1]], \"mask\": \"causal\"}' | attune attend -") {
    const Flag file = flags().Add("file", path_, "The request as JSON; - is standard input");
    flags().Add("--example", example_, "Use a built-in request").OneOf({"a", "b"}).Excludes(file);
    flags()
        .Add("-f,--format", format_, "How to print the steps")
        .OneOf({"table", "json"})
        .ShowDefault();
    flags().Check([this] {
      if (!path_.empty() || !example_.empty()) return absl::OkStatus();
      path_ = std::string("-");
      return StdinIsTerminal()
                 ? absl::InvalidArgumentError("no request: name a FILE, or try --example a")
                 : absl::OkStatus();
    });
  }

  absl::Status Run() override {
    const absl::StatusOr<v1::AttendRequest> request = Request();
    if (!request.ok()) return request.status();
    const auto client = Connect();
    if (!client.ok()) return client.status();
    const absl::StatusOr<v1::AttendResponse> response = (*client)->Attend(*request);
    if (!response.ok()) return response.status();
    return Print(format_ == "json" ? absl::StrCat(AttendResponseToJson(*response), "\n")
                                   : StepsToText(*request, *response, TerminalWidth()));
  }

 private:
  absl::StatusOr<v1::AttendRequest> Request() const {
    if (!example_.empty()) return AttendExample(example_);
    const absl::StatusOr<std::string> text = ReadAll(path_);
    if (!text.ok()) return text.status();
    absl::StatusOr<v1::AttendRequest> request = AttendRequestFromJson(*text);
    if (request.ok()) return request;
    return absl::InvalidArgumentError(
        absl::StrCat(path_ == "-" ? "standard input" : path_, ": ", request.status().message()));
  }

  std::string path_;
  std::string example_;
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeAttendCommand(CLI::App& parent) {
  return std::make_unique<AttendCommand>(parent);
}

}  // namespace attune::cli
