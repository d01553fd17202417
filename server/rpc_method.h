#ifndef ATTUNE_SERVER_RPC_METHOD_H_
#define ATTUNE_SERVER_RPC_METHOD_H_

#include <array>

#include "absl/strings/string_view.h"

namespace attune {

// What a call can ask for, whichever transport brought it. The closed set by which calls are
// counted: whatever is not of attune.v1.EncoderService is kOther.
enum class RpcMethod {
  kEncode,
  kStreamEncode,
  kAttentionMap,
  kStreamAttentionMap,
  kHeadStatistics,
  kExplainSimilarity,
  kAttend,
  kTokenize,
  kGetModel,
  kOther,
};

inline constexpr std::array kRpcMethods = {
    RpcMethod::kEncode,         RpcMethod::kStreamEncode,
    RpcMethod::kAttentionMap,   RpcMethod::kStreamAttentionMap,
    RpcMethod::kHeadStatistics, RpcMethod::kExplainSimilarity,
    RpcMethod::kAttend,         RpcMethod::kTokenize,
    RpcMethod::kGetModel,       RpcMethod::kOther,
};

// As in the service's definition, "Encode"; "_OTHER" for kOther.
constexpr absl::string_view RpcMethodName(RpcMethod method) {
  switch (method) {
    case RpcMethod::kEncode:
      return "Encode";
    case RpcMethod::kStreamEncode:
      return "StreamEncode";
    case RpcMethod::kAttentionMap:
      return "AttentionMap";
    case RpcMethod::kStreamAttentionMap:
      return "StreamAttentionMap";
    case RpcMethod::kHeadStatistics:
      return "HeadStatistics";
    case RpcMethod::kExplainSimilarity:
      return "ExplainSimilarity";
    case RpcMethod::kAttend:
      return "Attend";
    case RpcMethod::kTokenize:
      return "Tokenize";
    case RpcMethod::kGetModel:
      return "GetModel";
    case RpcMethod::kOther:
      break;
  }
  return "_OTHER";
}

}  // namespace attune

#endif  // ATTUNE_SERVER_RPC_METHOD_H_
