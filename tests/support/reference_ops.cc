#include "tests/support/reference_ops.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <utility>

namespace attune::testing {
namespace {

DoubleMatrix Add(const DoubleMatrix& a, const DoubleMatrix& b) {
  DoubleMatrix sum = a;
  for (size_t i = 0; i < sum.values.size(); ++i) sum.values[i] += b.values[i];
  return sum;
}

// Rows of softmax(queries keys^T / sqrt(head_dim)) for one head; 0 outside the window.
DoubleMatrix HeadWeights(const DoubleMatrix& qkv, int64_t hidden, int64_t head, int64_t head_dim,
                         const AttentionWindow& window) {
  DoubleMatrix weights(qkv.rows, qkv.rows);
  for (int64_t i = 0; i < qkv.rows; ++i) {
    const int64_t begin = i > window.before ? i - window.before : 0;
    const int64_t end = qkv.rows - 1 - i > window.after ? i + window.after + 1 : qkv.rows;
    double max = -HUGE_VAL;
    for (int64_t j = begin; j < end; ++j) {
      double dot = 0;
      for (int64_t d = head * head_dim; d < (head + 1) * head_dim; ++d) {
        dot += qkv.at(i, d) * qkv.at(j, hidden + d);
      }
      weights.at(i, j) = dot / std::sqrt(static_cast<double>(head_dim));
      max = std::max(max, weights.at(i, j));
    }
    double sum = 0;
    for (int64_t j = begin; j < end; ++j) sum += std::exp(weights.at(i, j) - max);
    for (int64_t j = begin; j < end; ++j) {
      weights.at(i, j) = std::exp(weights.at(i, j) - max) / sum;
    }
  }
  return weights;
}

}  // namespace

DoubleMatrix ReferenceLinear(const DoubleMatrix& src, ConstMatrixView weights,
                             absl::Span<const float> bias) {
  DoubleMatrix dst(src.rows, weights.rows);
  for (int64_t i = 0; i < dst.rows; ++i) {
    for (int64_t j = 0; j < dst.cols; ++j) {
      double sum = bias[static_cast<size_t>(j)];
      for (int64_t k = 0; k < src.cols; ++k) sum += src.at(i, k) * weights.at(j, k);
      dst.at(i, j) = sum;
    }
  }
  return dst;
}

ReferenceAttention ReferenceSelfAttention(const DoubleMatrix& qkv, int64_t heads,
                                          const AttentionWindow& window) {
  const int64_t hidden = qkv.cols / 3;
  const int64_t head_dim = hidden / heads;
  ReferenceAttention result;
  result.dst = DoubleMatrix(qkv.rows, hidden);
  for (int64_t head = 0; head < heads; ++head) {
    DoubleMatrix weights = HeadWeights(qkv, hidden, head, head_dim, window);
    for (int64_t i = 0; i < qkv.rows; ++i) {
      for (int64_t d = head * head_dim; d < (head + 1) * head_dim; ++d) {
        for (int64_t j = 0; j < qkv.rows; ++j) {
          result.dst.at(i, d) += weights.at(i, j) * qkv.at(j, 2 * hidden + d);
        }
      }
    }
    result.weights.push_back(std::move(weights));
  }
  return result;
}

DoubleMatrix ReferenceLayerNorm(const DoubleMatrix& src, absl::Span<const float> gamma,
                                absl::Span<const float> beta, double epsilon) {
  DoubleMatrix dst(src.rows, src.cols);
  const auto count = static_cast<double>(src.cols);
  for (int64_t i = 0; i < src.rows; ++i) {
    double mean = 0;
    for (int64_t j = 0; j < src.cols; ++j) mean += src.at(i, j) / count;
    double variance = 0;
    for (int64_t j = 0; j < src.cols; ++j) {
      variance += (src.at(i, j) - mean) * (src.at(i, j) - mean) / count;
    }
    for (int64_t j = 0; j < src.cols; ++j) {
      const auto column = static_cast<size_t>(j);
      dst.at(i, j) =
          (src.at(i, j) - mean) / std::sqrt(variance + epsilon) * gamma[column] + beta[column];
    }
  }
  return dst;
}

double ReferenceActivation(Activation activation, double x) {
  switch (activation) {
    case Activation::kGelu:
      return 0.5 * x * std::erfc(-x / std::numbers::sqrt2);
    case Activation::kGeluTanh:
      return 0.5 * x *
             (1 + std::tanh(std::sqrt(2 / std::numbers::pi) * (x + 0.044715 * x * x * x)));
    case Activation::kRelu:
      return std::max(x, 0.0);
    case Activation::kSilu:
      return x / (1 + std::exp(-x));
  }
  return 0;
}

std::vector<double> ReferencePool(PoolingMode mode, const DoubleMatrix& tokens) {
  const auto seq = static_cast<double>(tokens.rows);
  std::vector<double> pooled(static_cast<size_t>(tokens.cols));
  for (int64_t j = 0; j < tokens.cols; ++j) {
    double sum = 0;
    double weighted_sum = 0;
    double max = tokens.at(0, j);
    for (int64_t i = 0; i < tokens.rows; ++i) {
      sum += tokens.at(i, j);
      weighted_sum += static_cast<double>(i + 1) * tokens.at(i, j);
      max = std::max(max, tokens.at(i, j));
    }
    double& result = pooled[static_cast<size_t>(j)];
    switch (mode) {
      case PoolingMode::kCls:
        result = tokens.at(0, j);
        break;
      case PoolingMode::kMax:
        result = max;
        break;
      case PoolingMode::kMean:
        result = sum / seq;
        break;
      case PoolingMode::kMeanSqrtLen:
        result = sum / std::sqrt(seq);
        break;
      case PoolingMode::kWeightedMean:
        result = weighted_sum / (seq * (seq + 1) / 2);
        break;
      case PoolingMode::kLastToken:
        result = tokens.at(tokens.rows - 1, j);
        break;
    }
  }
  return pooled;
}

ReferenceEncoding ReferenceEncode(const ModelConfig& config, const ModelWeights& weights,
                                  absl::Span<const int32_t> token_ids,
                                  absl::Span<const int32_t> type_ids,
                                  const AttentionWindow& window) {
  const auto norm = [&](const DoubleMatrix& src, const LayerNormWeights& layer) {
    return ReferenceLayerNorm(src, layer.gamma.span(), layer.beta.span(),
                              config.layer_norm_epsilon);
  };
  const auto linear = [](const DoubleMatrix& src, const LinearWeights& layer) {
    return ReferenceLinear(src, layer.weights.view(), layer.bias.span());
  };

  DoubleMatrix embedded(static_cast<int64_t>(token_ids.size()), config.hidden);
  for (int64_t i = 0; i < embedded.rows; ++i) {
    for (int64_t j = 0; j < embedded.cols; ++j) {
      const auto token = static_cast<size_t>(i);
      embedded.at(i, j) =
          static_cast<double>(weights.word_embeddings.view().at(token_ids[token], j)) +
          weights.type_embeddings.view().at(type_ids[token], j) +
          weights.position_embeddings.view().at(i, j);
    }
  }

  ReferenceEncoding result;
  result.hidden.push_back(norm(embedded, weights.embedding_norm));
  for (const LayerWeights& layer : weights.layers) {
    DoubleMatrix hidden = result.hidden.back();
    ReferenceAttention attention =
        ReferenceSelfAttention(linear(hidden, layer.qkv), config.heads, window);
    hidden = norm(Add(hidden, linear(attention.dst, layer.attention_output)), layer.attention_norm);
    DoubleMatrix ffn = linear(hidden, layer.ffn_input);
    for (double& value : ffn.values) value = ReferenceActivation(config.activation, value);
    hidden = norm(Add(hidden, linear(ffn, layer.ffn_output)), layer.ffn_norm);
    result.hidden.push_back(std::move(hidden));
    result.weights.push_back(std::move(attention.weights));
  }
  return result;
}

}  // namespace attune::testing
