#include "tests/soak/known_texts.h"

#include <algorithm>
#include <iterator>
#include <random>
#include <set>
#include <utility>

#include "absl/strings/str_cat.h"
#include "absl/strings/str_join.h"
#include "client/grpc_status.h"

namespace attune::testing {
namespace {

// Words that also a vocabulary of a few dozen entries has.
constexpr const char* kWords[] = {"the", "cat", "cats", "sat", "on", "a", "mat"};
constexpr int kWordCount = static_cast<int>(std::size(kWords));

// No two are the same: the first words are the digits of `number`.
std::string MakeText(int number) {
  std::vector<std::string> words;
  for (int rest = number + 1; rest > 0; rest /= kWordCount) {
    words.emplace_back(kWords[rest % kWordCount]);
  }
  std::minstd_rand random(static_cast<unsigned>(number) + 1);
  const unsigned more = random() % 40;
  for (unsigned i = 0; i < more; ++i) words.emplace_back(kWords[random() % kWordCount]);
  return absl::StrJoin(words, " ");
}

absl::StatusOr<std::vector<float>> AskForVector(v1::EncoderService::Stub& stub,
                                                const std::string& text) {
  v1::EncodeRequest request;
  request.mutable_texts()->add_values(text);
  grpc::ClientContext context;
  v1::EncodeResponse response;
  const grpc::Status status = stub.Encode(&context, request, &response);
  if (!status.ok()) return ToAbslStatus(status);
  const auto& values = response.embeddings(0).values();
  return std::vector<float>(values.begin(), values.end());
}

}  // namespace

absl::StatusOr<std::string> AskForMap(v1::EncoderService::Stub& stub, grpc::ClientContext& context,
                                      const std::string& text) {
  v1::AttentionMapRequest request;
  request.mutable_query()->set_text(text);
  request.mutable_query()->add_layers(0);
  v1::AttentionMapResponse response;
  const grpc::Status status = stub.AttentionMap(&context, request, &response);
  if (!status.ok()) return ToAbslStatus(status);
  return std::move(*response.mutable_data());
}

absl::StatusOr<KnownTexts> KnownTexts::Ask(v1::EncoderService::Stub& stub, int count) {
  KnownTexts known;
  std::set<std::vector<float>> seen;
  for (int i = 0; i < count; ++i) {
    known.texts_.push_back(MakeText(i));
    absl::StatusOr<std::vector<float>> vector = AskForVector(stub, known.text(i));
    if (!vector.ok()) return vector.status();
    if (!seen.insert(*vector).second) {
      return absl::FailedPreconditionError(
          absl::StrCat("the vector of \"", known.text(i), "\" is that of another text, too"));
    }
    known.vectors_.push_back(*std::move(vector));
    grpc::ClientContext context;
    absl::StatusOr<std::string> map = AskForMap(stub, context, known.text(i));
    if (!map.ok()) return map.status();
    known.maps_.push_back(*std::move(map));
  }
  return known;
}

bool KnownTexts::IsVectorOf(int i, const v1::Embedding& embedding) const {
  const std::vector<float>& vector = vectors_[static_cast<size_t>(i)];
  return std::equal(vector.begin(), vector.end(), embedding.values().begin(),
                    embedding.values().end());
}

}  // namespace attune::testing
