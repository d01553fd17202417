#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/cli/commands.h"
#include "client/cli/json.h"
#include "client/cli/table.h"

namespace attune::cli {
namespace {

Json QualityToJson(const v1::Quality& quality) {
  return {{"texts", quality.texts()},
          {"mean_cosine", quality.mean_cosine()},
          {"min_cosine", quality.min_cosine()},
          {"max_difference", quality.max_difference()},
          {"neighbours", quality.neighbours()},
          {"mean_overlap", quality.mean_overlap()},
          {"worst_overlap", quality.worst_overlap()}};
}

Json ModelToJson(const v1::GetModelResponse& model) {
  const v1::Limits& limits = model.limits();
  Json json = {
      {"name", model.name()},
      {"revision", model.revision()},
      {"family", model.family()},
      {"layers", model.layers()},
      {"heads", model.heads()},
      {"head_dim", model.head_dim()},
      {"hidden", model.hidden()},
      {"vocab_size", model.vocab_size()},
      {"max_tokens", model.max_tokens()},
      {"trained_max_tokens", model.trained_max_tokens()},
      {"max_positions", model.max_positions()},
      {"dimension", model.dimension()},
      {"pooling", std::vector<std::string>(model.pooling().begin(), model.pooling().end())},
      {"normalize", model.normalize()},
      {"precision", model.precision()},
      {"precision_reason", model.precision_reason()},
      {"kernels", model.kernels()},
      {"isa", model.isa()},
      {"onednn_version", model.onednn_version()},
      {"server_version", model.server_version()},
      {"limits",
       {{"max_message_bytes", limits.max_message_bytes()},
        {"max_texts", limits.max_texts()},
        {"max_text_bytes", limits.max_text_bytes()},
        {"max_attention_reply_bytes", limits.max_attention_reply_bytes()}}}};
  // Measured for a reduced precision only.
  if (model.has_quality()) json["quality"] = QualityToJson(model.quality());
  return json;
}

std::string ValueText(const Json& value) {
  if (value.is_string()) return value.get<std::string>();
  if (value.is_boolean()) return value.get<bool>() ? "yes" : "no";
  if (value.is_array()) return absl::StrJoin(value.get<std::vector<std::string>>(), " + ");
  return DumpJson(value);
}

// The same names as in JSON, one a line.
std::string ModelToText(const Json& model) {
  Table table({{.name = ""}, {.name = ""}});
  for (const auto& [name, value] : model.items()) {
    if (!value.is_object()) {
      table.AddRow({name, ValueText(value)});
      continue;
    }
    // The names of limits speak for themselves; "texts" of "quality" does not.
    const std::string prefix = name == "limits" ? "" : name + ".";
    for (const auto& [part, number] : value.items()) {
      table.AddRow({prefix + part, ValueText(number)});
    }
  }
  return table.ToString();
}

class InfoCommand : public Command {
 public:
  explicit InfoCommand(CLI::App& parent)
      : Command(parent, "info", "Show which model the server serves, and its limits",
                "Examples:\n"
                "  attune info\n"
                "  attune info --format json --server 10.0.0.7:50051") {
    flags().Add("-f,--format", format_, "How to print it").OneOf({"table", "json"}).ShowDefault();
  }

  absl::Status Run() override {
    const auto client = Connect();
    if (!client.ok()) return client.status();
    const absl::StatusOr<v1::GetModelResponse> model = (*client)->GetModel();
    if (!model.ok()) return model.status();
    const Json json = ModelToJson(*model);
    return Print(format_ == "json" ? absl::StrCat(DumpJson(json, 2), "\n") : ModelToText(json));
  }

 private:
  std::string format_ = "table";
};

}  // namespace

std::unique_ptr<Command> MakeInfoCommand(CLI::App& parent) {
  return std::make_unique<InfoCommand>(parent);
}

}  // namespace attune::cli
