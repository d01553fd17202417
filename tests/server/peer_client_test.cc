#include "server/peer_client.h"

#include "gtest/gtest.h"

namespace attune {
namespace {

TEST(PeerClientTest, IsTheAddressWithoutThePort) {
  EXPECT_EQ(ClientOfPeer("ipv4:10.0.0.1:4711"), "10.0.0.1");
  EXPECT_EQ(ClientOfPeer("ipv6:[fe80::1]:4711"), "fe80::1");
  EXPECT_EQ(ClientOfPeer("ipv6:%5B::1%5D:4711"), "::1");
}

TEST(PeerClientTest, IsThePeerWhereThereIsNoPort) {
  EXPECT_EQ(ClientOfPeer("unix:/run/attune.sock"), "unix:/run/attune.sock");
  EXPECT_EQ(ClientOfPeer(""), "");
}

}  // namespace
}  // namespace attune
