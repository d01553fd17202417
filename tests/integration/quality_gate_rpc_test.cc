// A server whose model loses too much in int8.

#include <algorithm>
#include <filesystem>

#include "engine/ops/precision_probe.h"
#include "gmock/gmock.h"
#include "gtest/gtest.h"
#include "tests/support/status_matchers.h"
#include "tests/support/temp_dir.h"
#include "tests/support/test_server.h"
#include "tests/support/tiny_model.h"

namespace attune {
namespace {

using ::attune::testing::EncodeValues;
using ::attune::testing::IsOk;
using ::attune::testing::SafetensorsBytes;
using ::attune::testing::StatusIs;
using ::attune::testing::TempDir;
using ::attune::testing::TensorToWrite;
using ::attune::testing::TestOptions;
using ::attune::testing::TinyModel;
using ::attune::testing::TinyModelOptions;
using ::attune::testing::TinyTensor;
using ::attune::testing::TinyTensors;
using ::testing::AllOf;
using ::testing::HasSubstr;

// One dimension of the first layer's output is a thousand times the others, so that a row's scale
// leaves them no step of their own; the last norm then drops that dimension and its constants.
void MakeOutlier(TinyTensor& tensor) {
  if (tensor.name == "encoder.layer.0.output.LayerNorm.weight") tensor.values[0] = 1024;
  if (tensor.name == "encoder.layer.1.output.LayerNorm.weight") tensor.values[0] = 0;
  if (tensor.name == "encoder.layer.1.output.LayerNorm.bias") {
    std::fill(tensor.values.begin(), tensor.values.end(), 0.0f);
  }
}

class QualityGateServerTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::vector<TensorToWrite> tensors;
    for (TinyTensor& tensor : TinyTensors(TinyModelOptions{})) {
      MakeOutlier(tensor);
      tensors.push_back({tensor.name, "F32", tensor.shape, EncodeValues("F32", tensor.values)});
    }
    model_.dir().Write("model.safetensors", SafetensorsBytes(tensors));
    options_ = TestOptions(model_.path());
  }

  absl::Status Start(const std::string& precision) {
    options_.precision = precision;
    const absl::StatusOr<std::unique_ptr<Server>> server = Server::Bind(options_);
    return server.ok() ? (*server)->Load() : server.status();
  }

  const TinyModel model_;
  ServerOptions options_;
};

TEST_F(QualityGateServerTest, RefusesToStartInAPrecisionThatFailsTheGate) {
  const absl::Status supported = CheckPrecisionSupported(Precision::kInt8);
  if (!supported.ok()) GTEST_SKIP() << supported;
  const TempDir cache;
  options_.quality_cache = cache.path();
  const auto refused =
      StatusIs(absl::StatusCode::kFailedPrecondition,
               AllOf(HasSubstr("--precision int8 is refused"), HasSubstr("(at least 0.997)"),
                     HasSubstr("use --precision f32 or auto")));
  EXPECT_THAT(Start("int8"), refused);
  // A remembered failure is one all the same.
  EXPECT_FALSE(std::filesystem::is_empty(cache.path()));
  EXPECT_THAT(Start("int8"), refused);
}

TEST_F(QualityGateServerTest, TheSameModelServesInF32AndByAutomaticChoice) {
  EXPECT_THAT(Start("f32"), IsOk());
  EXPECT_THAT(Start("auto"), IsOk());
}

}  // namespace
}  // namespace attune
