// Asking a server for attention maps, and reading what it sends.
#ifndef ATTUNE_TESTS_SUPPORT_ATTENTION_MAPS_H_
#define ATTUNE_TESTS_SUPPORT_ATTENTION_MAPS_H_

#include <cstring>
#include <string>
#include <vector>

#include "google/protobuf/text_format.h"
#include "gtest/gtest.h"
#include "tests/support/test_server.h"

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

}  // namespace attune::testing

#endif  // ATTUNE_TESTS_SUPPORT_ATTENTION_MAPS_H_
