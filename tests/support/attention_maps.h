// Asking a server for attention maps, and reading what it sends.
#ifndef ATTUNE_TESTS_SUPPORT_ATTENTION_MAPS_H_
#define ATTUNE_TESTS_SUPPORT_ATTENTION_MAPS_H_

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune::testing {

template <typename Value>
std::vector<Value> ValuesOf(const std::string& bytes) {
  std::vector<Value> values(bytes.size() / sizeof(Value));
  std::memcpy(values.data(), bytes.data(), values.size() * sizeof(Value));
  return values;
}

struct MapResult {
  grpc::Status status;
  v1::AttentionMapResponse response;

  std::vector<float> Data() const { return ValuesOf<float>(response.data()); }
};

inline MapResult MapAttention(TestServer& server, const v1::AttentionQuery& query) {
  v1::AttentionMapRequest request;
  *request.mutable_query() = query;
  MapResult result;
  const auto context = WithDeadline();
  result.status = server.stub().AttentionMap(context.get(), request, &result.response);
  return result;
}

// The query as protobuf's text format writes it.
inline MapResult MapAttention(TestServer& server, const std::string& query) {
  v1::AttentionQuery message;
  EXPECT_TRUE(google::protobuf::TextFormat::ParseFromString(query, &message)) << query;
  return MapAttention(server, message);
}

// A server whose tiny model has so many layers and heads.
class AttentionServerTest : public ::testing::Test {
 protected:
  AttentionServerTest(int64_t layers, int64_t heads)
      : model_(Options(layers, heads)), server_(TestOptions(model_.path())) {}

  static TinyModelOptions Options(int64_t layers, int64_t heads) {
    TinyModelOptions options;
    options.layers = layers;
    options.heads = heads;
    return options;
  }

  TinyModel model_;
  TestServer server_;
};

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_ATTENTION_MAPS_H_
