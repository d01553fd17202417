#include "client/bearer_token.h"

#include <algorithm>
#include <utility>

#include "absl/strings/ascii.h"
#include "absl/strings/str_cat.h"

namespace attune {
namespace {

using grpc::experimental::ClientInterceptorFactoryInterface;
using grpc::experimental::ClientRpcInfo;
using grpc::experimental::InterceptionHookPoints;
using grpc::experimental::Interceptor;
using grpc::experimental::InterceptorBatchMethods;

class AddAuthorization final : public Interceptor {
 public:
  explicit AddAuthorization(const std::string& value) : value_(value) {}

  void Intercept(InterceptorBatchMethods* methods) override {
    if (methods->QueryInterceptionHookPoint(InterceptionHookPoints::PRE_SEND_INITIAL_METADATA)) {
      methods->GetSendInitialMetadata()->insert({"authorization", value_});
    }
    methods->Proceed();
  }

 private:
  const std::string value_;
};

class AddAuthorizationFactory final : public ClientInterceptorFactoryInterface {
 public:
  explicit AddAuthorizationFactory(std::string value) : value_(std::move(value)) {}

  Interceptor* CreateClientInterceptor(ClientRpcInfo* /*info*/) override {
    return new AddAuthorization(value_);
  }

 private:
  const std::string value_;
};

}  // namespace

absl::Status CheckToken(absl::string_view token) {
  const auto is_visible = [](char c) { return absl::ascii_isgraph(static_cast<unsigned char>(c)); };
  if (std::all_of(token.begin(), token.end(), is_visible)) return absl::OkStatus();
  return absl::InvalidArgumentError("the token has characters other than visible ASCII");
}

std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> BearerTokenInterceptors(
    const std::string& token) {
  std::vector<std::unique_ptr<ClientInterceptorFactoryInterface>> interceptors;
  if (!token.empty()) {
    interceptors.push_back(
        std::make_unique<AddAuthorizationFactory>(absl::StrCat("Bearer ", token)));
  }
  return interceptors;
}

}  // namespace attune
