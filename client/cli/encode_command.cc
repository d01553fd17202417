#include <cstdio>
#include <map>
#include <string>
#include <vector>

#include "absl/strings/str_cat.h"
#include "absl/strings/strip.h"
#include "client/cli/commands.h"
#include "client/cli/embedding_writer.h"
#include "client/cli/input_flags.h"
#include "client/cli/progress_line.h"
#include "client/cli/terminal.h"
#include "client/cli/truncation_flag.h"

namespace attune::cli {
namespace {

const std::map<std::string, v1::Pooling>& Poolings() {
  static const auto* const kPoolings = new std::map<std::string, v1::Pooling>{
      {"model", v1::POOLING_UNSPECIFIED}, {"mean", v1::POOLING_MEAN},
      {"cls", v1::POOLING_CLS},           {"max", v1::POOLING_MAX},
      {"last", v1::POOLING_LAST_TOKEN},   {"weighted-mean", v1::POOLING_WEIGHTED_MEAN},
      {"none", v1::POOLING_NONE},
  };
  return *kPoolings;
}

std::vector<std::string> PoolingNames() {
  std::vector<std::string> names;
  for (const auto& [name, pooling] : Poolings()) names.push_back(name);
  return names;
}

class EncodeCommand : public Command {
 public:
  explicit EncodeCommand(CLI::App& parent);
  absl::Status Run() override;

 private:
  absl::Status CheckUsage();
  v1::EncodeOptions Options() const;
  absl::StatusOr<std::unique_ptr<EmbeddingWriter>> Writer(OutputFile& out) const;

  InputFlags input_;
  TruncationFlags truncation_;
  std::string format_;  // "": see Writer
  std::string output_;
  std::string pooling_ = "model";
  bool token_ids_ = false;
  bool pairs_ = false;
  bool no_normalize_ = false;
  bool similarity_ = false;
};

EncodeCommand::EncodeCommand(CLI::App& parent)
    : Command(parent, "encode", "Turn texts into vectors",
              "Examples:\n"
              "  attune encode --similarity \"a cat sleeps\" \"a kitten naps\" \"stocks fell\"\n"
              "  attune encode --input texts.txt --format npy --output vectors.npy\n"
              "  attune encode --input docs.jsonl > vectors.jsonl\n"
              "  echo \"some text\" | attune encode --format table\n"
              "  attune encode --pair \"how are you\" \"fine\"     # one vector for both texts\n"
              "  attune encode --token-ids \"101 7592 102\"") {
  input_.AddTo(flags());
  Flag format =
      flags()
          .Add("-f,--format", format_,
               "jsonl: every value; npy: a float32 array; table: a glance (default: table "
               "on a terminal, else jsonl)")
          .OneOf({"jsonl", "table", "npy"});
  flags().Add("-o,--output", output_, "Write to FILE instead of standard output").Takes("FILE");
  flags()
      .AddSwitch("--similarity", similarity_, "Print the cosine of every pair instead")
      .Excludes(format);
  flags()
      .Add("--pooling", pooling_, "How token vectors become one; model is the model's own")
      .OneOf(PoolingNames())
      .ShowDefault();
  flags().AddSwitch("--no-normalize", no_normalize_, "Do not scale vectors to length 1");
  truncation_.AddTo(flags());
  Flag token_ids =
      flags().AddSwitch("--token-ids", token_ids_,
                        "Inputs are token ids, taken as they are; in JSON lines, \"token_ids\"");
  flags()
      .AddSwitch(
          "--pair", pairs_,
          "Inputs are pairs of texts, read together: two arguments, a line with a tab between "
          "them, or in JSON lines \"text\" and \"text_pair\"")
      .Excludes(token_ids);
  flags().Check([this] { return CheckUsage(); });
}

absl::Status EncodeCommand::CheckUsage() {
  if (pooling_ == "none" && (similarity_ || format_ == "npy" || format_ == "table")) {
    return absl::InvalidArgumentError(
        "--pooling none gives a vector per token; use --format jsonl");
  }
  if (token_ids_) input_.kind = InputKind::kTokenIds;
  if (pairs_) input_.kind = InputKind::kTextPair;
  return input_.ChooseInput();
}

v1::EncodeOptions EncodeCommand::Options() const {
  v1::EncodeOptions options;
  truncation_.SetOn(options);
  options.set_pooling(Poolings().at(pooling_));
  if (no_normalize_) options.set_normalize(false);
  return options;
}

absl::StatusOr<std::unique_ptr<EmbeddingWriter>> EncodeCommand::Writer(OutputFile& out) const {
  const bool per_token = pooling_ == "none";
  if (similarity_) return MakeSimilarityWriter(out);
  if (format_ == "npy") return MakeNpyWriter(out);
  const bool for_a_person = format_.empty() && out.is_stdout() && StdoutIsTerminal() && !per_token;
  if (format_ == "table" || for_a_person) return MakeTableWriter(out);
  return MakeJsonLinesWriter(out, per_token);
}

absl::Status EncodeCommand::Run() {
  const auto client = Connect();
  if (!client.ok()) return client.status();
  const auto source = InputSource::Open(input_);
  if (!source.ok()) return source.status();
  absl::StatusOr<OutputFile> out = OutputFile::Open(output_);
  if (!out.ok()) return out.status();
  const auto writer = Writer(*out);
  if (!writer.ok()) return writer.status();

  EncodeAllProgress done;
  absl::Status status;
  {
    // On a terminal the results themselves show the progress.
    ProgressLine line(stderr, StderrIsTerminal() && !(out->is_stdout() && StdoutIsTerminal()));
    EncodeAllOptions options{.encode = Options()};
    options.on_progress = [&](const EncodeAllProgress& progress) {
      done = progress;
      line.Update({.texts = progress.items,
                   .tokens = progress.tokens,
                   .input_bytes = (*source)->bytes_read(),
                   .total_input_bytes = (*source)->total_bytes()});
    };
    status = (*client)->EncodeAll([&] { return (*source)->Next(); },
                                  [&](EncodedItem item) {
                                    (*source)->Delivered();
                                    return (*writer)->Write(item);
                                  },
                                  options);
  }
  if (const std::optional<size_t> index = FailedInputIndex(status)) {
    // The place says more than the number of the input.
    absl::string_view what = status.message();
    absl::ConsumePrefix(&what, absl::StrCat("input ", *index, ": "));
    return absl::Status(status.code(), absl::StrCat((*source)->Place(*index), ": ", what));
  }
  if (status.ok()) status = (*writer)->Finish();
  if (status.ok()) status = out->Commit();
  if (status.ok()) {
    truncation_.WarnAboutCuts(done.truncated, done.items);
    truncation_.WarnAboutLength(done.beyond_trained_length, done.items);
  }
  return status;
}

}  // namespace

std::unique_ptr<Command> MakeEncodeCommand(CLI::App& parent) {
  return std::make_unique<EncodeCommand>(parent);
}

}  // namespace attune::cli
